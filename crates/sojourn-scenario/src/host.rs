//! What a sending host does between a connection and its access link, and the receiving one with what arrives.

use crate::declare::{flag, held, integer, span, table, word};
use crate::form::Select;
use sojourn_core::registry::{Params, Value};
use sojourn_core::{Amount, Span, choices};
use sojourn_transport::{BurstLimits, Sender};

pub(crate) static HOST: Select = Select { kinds: &[&LINUX], added: None, short: None };

choices! {
    /// What is paced.
    pub enum Paced {
        /// Controls that ask for it.
        Control = "control",
        /// Every connection.
        Fq = "fq",
    }
    /// A queue discipline of a host, with Linux's constants.
    pub enum Qdisc {
        /// An endless FIFO, which is all in the card.
        None = "none",
        /// `pfifo_fast`, of whose three bands all packets of a connection take one: 1000 packets.
        PfifoFast = "pfifo_fast",
        /// `codel`.
        Codel = "codel",
        /// `fq_codel`.
        FqCodel = "fq_codel",
    }
}

held! { Paced: |this| this.value(), Qdisc: |this| this.value() }

table! {
    /// TCP small queues of Linux since 3.6: no connection has more waiting in its own host than it sends in a short time.
    /// Where asked for, segments leave in bursts, which the network card cuts (TSO), the receiver takes
    /// together what arrives together (GRO), and a queue discipline waits before a network card
    pub struct Host = LINUX, "linux" => {
        /// how much of a connection may wait for the access link, as a time at the rate at which it would be
        /// paced: 2 windows per smoothed round trip below half of the slow-start threshold, 1.2 above
        small_queue: Span = span(Span::ZERO..=Span::from_secs(1)).or("1 ms", "2 ms"),
        /// so many packets may wait in any case, or bursts of the present length
        small_queue_packets: u32 = integer(1..=10_000).or("2", "4"),
        /// most segments that are handed to the network card at once, half of the window at most; Linux: 45 of
        /// 1448 B, which are 64 KiB. A shorter burst waits where the next acknowledgement is due within 1 ms
        burst: u32 = integer(1..=1000).or("1", "45"),
        /// a burst is what is sent in this time at the rate of small_queue, or at the control's own (tcp_pacing_shift,
        /// 2^-10 s), and more where the base RTT is below 16 ms
        burst_time: Span = span(Span::ZERO..=Span::from_secs(1)).or("977 us", "500 us"),
        /// segments of the shortest burst where window and data allow it (tcp_min_tso_segs)
        burst_least: u32 = integer(1..=1000).or("2", "1"),
        /// what is paced, burst by burst: controls that ask for it (control), or every connection, by the
        /// host's queue discipline fq at the rate of small_queue (fq)
        pacing: Paced = word().or("control", "fq"),
        /// for how long the receiver waits for more of a burst, that is for segments in order that were sent in the
        /// same millisecond, to take and acknowledge them as one; 0 s: not at all
        receive_offload: Span = span(Span::ZERO..=Span::from_secs(1)).or("0 s", "50 us"),
        /// what waits before the network card: an endless FIFO, which is all in the card (none), or a queue discipline
        /// with Linux's constants, from which the card takes what it has room for
        qdisc: Qdisc = word().or("none", "fq_codel"),
        /// most packets that the card takes from the qdisc
        ring: Option<u32> = integer(1..=65_536).unless("256", "64"),
        /// whether the card takes no more bytes from the qdisc than keep it busy (BQL of Linux since 3.3)
        byte_limits: Option<bool> = flag().unless("true", "false"),
        /// how long after the first packet the card reports what it has sent (interrupt coalescing, as ethtool's
        /// tx-usecs): only then does the card take more, and does a connection that was held back go on
        completions: Option<Span> = span(Span::ZERO..=Span::from_secs(1)).unless("0 s", "50 us"),
    }
}

impl Copy for Host {}

/// What waits in a host before its network card, and how the card takes it.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct HostQueue {
    /// The discipline with its parameters.
    pub qdisc: Params,
    /// Most packets that the card takes.
    pub ring: u32,
    /// Whether the card takes no more bytes than keep it busy (byte queue limits).
    pub byte_limits: bool,
    /// How long after the first packet the card reports what it has sent.
    pub completions: Span,
}

impl Qdisc {
    /// The discipline with its parameters; nothing where there is none.
    fn params(self) -> Option<Params> {
        let (name, preset) = match self {
            Qdisc::None => return None,
            Qdisc::PfifoFast => ("droptail", None),
            Qdisc::Codel => ("codel", Some("linux")),
            Qdisc::FqCodel => ("fq_codel", Some("linux")),
        };
        let descriptor = sojourn_queue::find(name).expect("it is registered");
        let preset = preset.and_then(|preset| descriptor.presets.iter().find(|known| known.name == preset));
        let mut params = Params::new(descriptor, preset);
        if self == Qdisc::PfifoFast {
            // txqueuelen.
            params.set("limit", Value::Amount(Amount::Packets(1000.0)));
        }
        Some(params)
    }
}

impl Host {
    /// With a qdisc, what is not said of its card has a value.
    pub(crate) fn resolved(self) -> Host {
        let Some(queue) = self.queue() else { return self };
        let HostQueue { ring, byte_limits, completions, .. } = queue;
        Host { ring: Some(ring), byte_limits: Some(byte_limits), completions: Some(completions), ..self }
    }

    /// The queue before the network card, where there is one. What is not said of the card is as in Linux's drivers, and
    /// each packet is reported at once.
    pub fn queue(&self) -> Option<HostQueue> {
        Some(HostQueue {
            qdisc: self.qdisc.params()?,
            ring: self.ring.unwrap_or(256),
            byte_limits: self.byte_limits.unwrap_or(true),
            completions: self.completions.unwrap_or(Span::ZERO),
        })
    }

    /// Whether every connection is paced, not only those whose control asks for it.
    pub fn paces_all(&self) -> bool {
        self.pacing == Paced::Fq
    }

    /// `sender` as it sends in this host.
    #[must_use]
    pub fn bursting(&self, sender: Sender) -> Sender {
        if self.burst == 1 && !self.paces_all() {
            return sender;
        }
        sender.with_bursts(BurstLimits {
            most: self.burst,
            least: self.burst_least,
            time: self.burst_time,
            paced: self.paces_all(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declare::Table;
    use crate::derived::defaults;
    use crate::fields::Item;
    use crate::form::Presence;

    /// What the keys of the card say that their absence means is what they are then.
    #[test]
    fn what_is_not_said_of_a_card_is_what_its_keys_say() {
        let mut fields = defaults(&LINUX);
        fields.put("qdisc", Item::Value(Qdisc::FqCodel.value()));
        let resolved = Host::read(&fields).expect("all keys are there").resolved().fields();
        for name in ["ring", "byte_limits", "completions"] {
            let Some(Presence::Optional(meaning)) = LINUX.key(name).map(|key| &key.presence) else { panic!("{name}") };
            let Some(Item::Value(found)) = resolved.item(name) else { panic!("{name} is resolved") };
            assert_eq!(found.to_string(), *meaning, "{name}");
        }
    }
}
