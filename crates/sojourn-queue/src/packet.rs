//! What a discipline sees of a packet.

use sojourn_core::Time;

/// A packet: the header fields that disciplines read, and a body that they only carry.
#[derive(Clone, Copy, Debug)]
pub struct Packet<B> {
    /// Index of the flow, for per-flow accounting; disciplines that hash use [`key`](Packet::key).
    pub flow: u32,
    /// Bytes on the wire.
    pub bytes: u32,
    /// When the packet entered the queue, set by the discipline.
    pub enqueued: Time,
    /// What a router would hash.
    pub key: FlowKey,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
    /// The differentiated services code point of the IP header.
    pub dscp: Dscp,
    /// Which of the discipline's [classes](crate::Discipline::classes) holds it; set by disciplines that have any.
    pub class: u8,
    /// What the sender and receiver exchange.
    pub body: B,
}

impl<B> Packet<B> {
    /// A packet of flow `flow` with `bytes` bytes on the wire. Its hosts and ports are 0, it is not ECN-capable, and it has
    /// the default code point, until the caller sets these fields.
    pub fn new(flow: u32, bytes: u32, body: B) -> Packet<B> {
        let (key, ecn, dscp) = (FlowKey::default(), Ecn::default(), Dscp::default());
        Packet { flow, bytes, enqueued: Time::ZERO, key, ecn, dscp, class: 0, body }
    }

    /// The same packet, which came to a queue at `now`.
    pub(crate) fn arrived(&mut self, now: Time) -> &Self {
        self.enqueued = now;
        self
    }
}

/// The 5-tuple of a flow, in small numbers instead of addresses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct FlowKey {
    /// Sending host.
    pub source: Host,
    /// Receiving host.
    pub destination: Host,
    /// Port at the sending host.
    pub source_port: u16,
    /// Port at the receiving host.
    pub destination_port: u16,
    /// Transport protocol.
    pub protocol: Protocol,
}

/// The number of a host, in no more bytes than a packet has room for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Host([u8; 3]);

impl Host {
    /// Host `number`.
    ///
    /// # Panics
    /// Where it does not fit into three bytes.
    pub fn new(number: u32) -> Host {
        let [low, middle, high, 0] = number.to_le_bytes() else { panic!("host {number}") };
        Host([low, middle, high])
    }

    /// Its number.
    #[inline]
    pub fn number(self) -> u32 {
        let [low, middle, high] = self.0;
        u32::from_le_bytes([low, middle, high, 0])
    }
}

impl From<u16> for Host {
    fn from(number: u16) -> Host {
        Host::new(u32::from(number))
    }
}

impl core::fmt::Debug for Host {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.number().fmt(f)
    }
}

impl FlowKey {
    /// The key of packets that travel the other way.
    pub fn reversed(self) -> FlowKey {
        FlowKey {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
            protocol: self.protocol,
        }
    }
}

/// Transport protocol of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Protocol {
    /// TCP, number 6.
    #[default]
    Tcp,
    /// UDP, number 17.
    Udp,
}

/// The ECN field of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Ecn {
    /// 00: the endpoints do not speak ECN.
    #[default]
    NotEct,
    /// 01: ECN-capable, code point 1; the identifier of scalable senders in RFC 9331.
    Ect1,
    /// 10: ECN-capable, code point 0.
    Ect0,
    /// 11: congestion experienced.
    Ce,
}

impl Ecn {
    /// Whether a router may mark instead of dropping.
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }
}

/// A differentiated services code point (RFC 2474), 0 to 63.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Dscp(u8);

impl Dscp {
    /// Default forwarding.
    pub const DEFAULT: Dscp = Dscp(0);
    /// Lower Effort (RFC 8622).
    pub const LE: Dscp = Dscp(1);
    /// Non-Queue-Building (RFC 9956).
    pub const NQB: Dscp = Dscp(45);

    /// The code points with a name: default, Lower Effort (RFC 8622), class selectors (RFC 2474),
    /// assured forwarding (RFC 2597), voice admit (RFC 5865), non-queue-building (RFC 9956) and expedited forwarding
    /// (RFC 3246).
    pub const NAMES: &'static [(&'static str, u8)] = &[
        ("default", 0),
        ("le", 1),
        ("cs1", 8),
        ("af11", 10),
        ("af12", 12),
        ("af13", 14),
        ("cs2", 16),
        ("af21", 18),
        ("af22", 20),
        ("af23", 22),
        ("cs3", 24),
        ("af31", 26),
        ("af32", 28),
        ("af33", 30),
        ("cs4", 32),
        ("af41", 34),
        ("af42", 36),
        ("af43", 38),
        ("cs5", 40),
        ("va", 44),
        ("nqb", 45),
        ("ef", 46),
        ("cs6", 48),
        ("cs7", 56),
    ];

    /// The code point with this number, if it fits into six bits.
    pub fn from_number(number: u64) -> Option<Dscp> {
        u8::try_from(number).ok().filter(|&number| number < 64).map(Dscp)
    }

    /// The code point with this name.
    pub fn from_name(name: &str) -> Option<Dscp> {
        Dscp::NAMES.iter().find(|(known, _)| *known == name).map(|&(_, number)| Dscp(number))
    }

    /// Its number, 0 to 63.
    pub fn number(self) -> u8 {
        self.0
    }

    /// Its name, where it has one.
    pub fn name(self) -> Option<&'static str> {
        Dscp::NAMES.iter().find(|(_, number)| *number == self.0).map(|&(name, _)| name)
    }
}
