//! S2n-quic's endpoint without I/O: its provider hands the endpoint over instead of running it, and queues and time are ours.

use s2n_quic::provider::{io, random};
use s2n_quic_core::endpoint::Endpoint;
use s2n_quic_core::inet::{
    ExplicitCongestionNotification, IpV4Address, SocketAddress, SocketAddressV4, datagram::Header,
};
use s2n_quic_core::io::{rx, tx};
use s2n_quic_core::path::RemoteAddress;
use s2n_quic_core::time::{Clock, NoopClock, Timestamp};
use sojourn_core::Stream;
use sojourn_endpoint::{Ecn, Span, Time};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::rc::Rc;
use std::task::Context;
use std::time::Duration;

/// A datagram and its UDP and IP headers fit into an Ethernet frame, which is also the largest MTU that s2n-quic probes.
const MOST_BYTES: usize = 1500;
const NANOS_PER_MICRO: u64 = 1000;

/// Where each end thinks the other one is.
pub fn address() -> SocketAddress {
    SocketAddressV4::new(IpV4Address::new([127, 0, 0, 1]), 443).into()
}

/// S2n-quic's time, which has microseconds. It does not begin at zero, where it has no instant.
pub fn timestamp(time: Time) -> Timestamp {
    NoopClock.get_time() + Duration::from_micros(time.as_nanos() / NANOS_PER_MICRO)
}

/// The simulation's time.
pub fn time(timestamp: Timestamp) -> Time {
    Time::ZERO + Span::from_nanos((timestamp - NoopClock.get_time()).as_micros() as u64 * NANOS_PER_MICRO)
}

/// An endpoint of s2n-quic, whatever its providers are.
pub trait Engine {
    /// Takes in what has arrived.
    fn receive(&mut self, inbox: &mut Inbox, now: Timestamp);
    /// Takes in what the application did, does what is due, and writes all that may be sent now.
    fn work(&mut self, context: &mut Context<'_>, outbox: &mut Outbox, now: Timestamp);
    /// When something is due next.
    fn timeout(&self) -> Option<Timestamp>;
}

impl<E: Endpoint<PathHandle = RemoteAddress>> Engine for E {
    fn receive(&mut self, inbox: &mut Inbox, now: Timestamp) {
        Endpoint::receive(self, inbox, &now);
    }

    fn work(&mut self, context: &mut Context<'_>, outbox: &mut Outbox, now: Timestamp) {
        // An endpoint ends with its client or server, which live as long as it does.
        let _ = self.poll_wakeups(context, &now);
        self.transmit(outbox, &now);
    }

    fn timeout(&self) -> Option<Timestamp> {
        Endpoint::timeout(self)
    }
}

/// The provider: the endpoint is here after the start.
#[derive(Clone, Default)]
pub struct Handover(Rc<RefCell<Option<Box<dyn Engine>>>>);

impl Handover {
    /// The endpoint, once.
    pub fn take(&self) -> Box<dyn Engine> {
        self.0.take().expect("it has started")
    }
}

impl io::Provider for Handover {
    type PathHandle = RemoteAddress;
    type Error = Infallible;

    fn start<E: Endpoint<PathHandle = RemoteAddress>>(self, endpoint: E) -> Result<SocketAddress, Infallible> {
        self.0.replace(Some(Box::new(endpoint)));
        Ok(address())
    }
}

/// A datagram that has arrived.
pub struct Inbox(pub Option<(Ecn, Vec<u8>)>);

impl rx::Queue for Inbox {
    type Handle = RemoteAddress;

    fn for_each<F: FnMut(Header<RemoteAddress>, &mut [u8])>(&mut self, mut on_packet: F) {
        if let Some((ecn, mut datagram)) = self.0.take() {
            on_packet(Header { path: address().into(), ecn: codepoint(ecn) }, &mut datagram);
        }
    }

    fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

/// Datagrams to be sent.
#[derive(Default)]
pub struct Outbox(pub VecDeque<(Ecn, Vec<u8>)>);

impl tx::Queue for Outbox {
    type Handle = RemoteAddress;
    const SUPPORTS_ECN: bool = true;

    fn push<M: tx::Message<Handle = RemoteAddress>>(&mut self, mut message: M) -> Result<tx::Outcome, tx::Error> {
        let mut datagram = vec![0; MOST_BYTES];
        let len = message.write_payload(tx::PayloadBuffer::new(&mut datagram), 0)?;
        datagram.truncate(len);
        self.0.push_back((field(message.ecn()), datagram));
        Ok(tx::Outcome { len, index: 0 })
    }

    fn capacity(&self) -> usize {
        usize::MAX
    }
}

/// S2n-quic's randomness, of the run's seed.
pub struct Seeded(pub Stream);

impl random::Provider for Seeded {
    type Generator = Seeded;
    type Error = Infallible;

    fn start(self) -> Result<Seeded, Infallible> {
        Ok(self)
    }
}

impl random::Generator for Seeded {
    fn public_random_fill(&mut self, room: &mut [u8]) {
        room.fill_with(|| self.0.bits() as u8);
    }

    fn private_random_fill(&mut self, room: &mut [u8]) {
        self.public_random_fill(room);
    }
}

fn codepoint(ecn: Ecn) -> ExplicitCongestionNotification {
    match ecn {
        Ecn::NotEct => ExplicitCongestionNotification::NotEct,
        Ecn::Ect0 => ExplicitCongestionNotification::Ect0,
        Ecn::Ect1 => ExplicitCongestionNotification::Ect1,
        Ecn::Ce => ExplicitCongestionNotification::Ce,
    }
}

fn field(codepoint: ExplicitCongestionNotification) -> Ecn {
    match codepoint {
        ExplicitCongestionNotification::NotEct => Ecn::NotEct,
        ExplicitCongestionNotification::Ect0 => Ecn::Ect0,
        ExplicitCongestionNotification::Ect1 => Ecn::Ect1,
        ExplicitCongestionNotification::Ce => Ecn::Ce,
    }
}
