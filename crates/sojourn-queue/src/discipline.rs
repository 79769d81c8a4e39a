//! The trait that every discipline implements.

use crate::Packet;
use alloc::string::String;
use alloc::vec::Vec;
use sojourn_core::registry::{Advice, Params};
use sojourn_core::{Rate, Span, Time};

/// A queue discipline: what happens to packets between their arrival and the link.
///
/// All methods take the time. Packets that are dropped or marked, at whichever end and for whatever
/// reason, are reported to the [`Sink`]; nothing vanishes silently. A discipline may hold other
/// disciplines and pass the sink on.
pub trait Discipline<B> {
    /// A packet arrives. It is kept, or reported as dropped; older packets may be dropped in its place.
    fn enqueue<S: Sink<B>>(&mut self, packet: Packet<B>, now: Time, sink: &mut S);

    /// The link is free: the next packet to send. Packets may be dropped here first.
    ///
    /// `None` from a non-empty discipline means that all of it was dropped, or that a shaper is not
    /// [ready](Discipline::ready_at) yet.
    fn dequeue<S: Sink<B>>(&mut self, now: Time, sink: &mut S) -> Option<Packet<B>>;

    /// Bytes of the packet that [`dequeue`](Discipline::dequeue) will give whenever it is asked: known to plain queues
    /// only, since an AQM may drop it then.
    fn next_bytes(&self) -> Option<u32> {
        None
    }

    /// Packets waiting.
    fn packets(&self) -> usize;

    /// Bytes waiting.
    fn bytes(&self) -> u64;

    /// Both at once.
    #[inline]
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets(), bytes: self.bytes() }
    }

    /// When the next packet may leave: now unless the discipline shapes, `None` where nothing waits.
    fn ready_at(&self, now: Time) -> Option<Time> {
        (self.packets() > 0).then_some(now)
    }

    /// When [`on_timer`](Discipline::on_timer) wants to be called next, for disciplines with a clock of their own.
    fn timer(&self) -> Option<Time> {
        None
    }

    /// The time that [`timer`](Discipline::timer) named has come.
    fn on_timer<S: Sink<B>>(&mut self, _now: Time, _sink: &mut S) {}

    /// Takes the parameters of `fresh`, which is empty, and keeps its packets and its state, as `tc qdisc change` does; what
    /// no longer fits may be dropped. A discipline that cannot gives `fresh` back, and nothing has changed.
    fn retune<S: Sink<B>>(&mut self, fresh: Self, _now: Time, _sink: &mut S) -> Option<Self>
    where
        Self: Sized,
    {
        Some(fresh)
    }

    /// Names of the queues inside that a reader would want apart: bands, tins, low latency and classic.
    /// Packets say theirs in [`Packet::class`] from [`enqueue`](Discipline::enqueue) on; empty where there is only one.
    fn classes(&self) -> Vec<String> {
        Vec::new()
    }

    /// What a careful user would not do with these parameters on this link, although it is legal.
    fn advice(_params: &Params, _link: &LinkProperties) -> Vec<Advice>
    where
        Self: Sized,
    {
        Vec::new()
    }

    /// Whether it may mark packets with these parameters: what its flag `ecn` says, where it has one.
    fn marks(params: &Params) -> bool
    where
        Self: Sized,
    {
        params.descriptor().parameter("ecn").is_some_and(|_| params.read::<bool>("ecn"))
    }

    /// Shows the state of the controller, as (name, value) pairs with the unit in the name: the same names every time,
    /// NaN for what is not known.
    fn probe(&self, _visit: &mut dyn FnMut(&str, f64)) {}
}

/// What waits.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Backlog {
    /// Packets.
    pub packets: usize,
    /// Bytes.
    pub bytes: u64,
}

/// Who is told of packets that a discipline drops or marks.
pub trait Sink<B> {
    /// `packet` was dropped and has left the discipline.
    fn dropped(&mut self, packet: &Packet<B>, reason: DropReason);
    /// `packet` was marked with CE and stays in the discipline or is just leaving it.
    fn marked(&mut self, packet: &Packet<B>);
}

/// A sink of whatever kind. Drops and marks are rare enough for a call through a table, and every discipline is there
/// once instead of once per kind of sink.
pub(crate) struct AnySink<'a, B>(pub(crate) &'a mut dyn Sink<B>);

impl<B> Sink<B> for AnySink<'_, B> {
    #[inline]
    fn dropped(&mut self, packet: &Packet<B>, reason: DropReason) {
        self.0.dropped(packet, reason);
    }

    #[inline]
    fn marked(&mut self, packet: &Packet<B>) {
        self.0.marked(packet);
    }
}

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropReason {
    /// No room.
    Overflow,
    /// The discipline's decision, to signal congestion.
    Early,
    /// An acknowledgement that says nothing which a later one of its flow in the queue does not say.
    Redundant,
}

/// What a discipline may know of the link it feeds, for limits in time and for automatic parameters.
#[derive(Clone, Copy, Debug)]
pub struct LinkProperties {
    /// The rate at which it takes the bytes of full-size packets as IP sees them; the mean rate of a recorded link.
    pub rate: Rate,
    /// Its own one-way propagation delay.
    pub delay: Span,
    /// Bytes of a full-size packet as IP sees it.
    pub packet_bytes: u32,
    /// When the discipline takes its place: clocks of its own start then.
    pub since: Time,
}
