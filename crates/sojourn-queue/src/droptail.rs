//! DropTail: one first-in first-out queue that refuses what does not fit.
//!
//! The packet limit follows Linux `pfifo` (accept while the count is below the limit), the byte limit
//! `bfifo` (accept while backlog plus packet does not exceed it), `drop = "head"` follows
//! `pfifo_head_drop`. ns-2 keeps one packet fewer for the same number; the preset `ns2` says so.

#[cfg(test)]
mod tests;

use crate::fifo::limit;
use crate::{Discipline, DropReason, Fifo, Limit, LinkProperties, Packet, Sink, advice};
use alloc::vec::Vec;
use sojourn_core::registry::{
    Advice, Descriptor, Form, Kind, Linux, Parameter, ParameterError, Params, Preset, Setting, Unit, Value,
};
use sojourn_core::{Amount, Stream, Time};

/// What `droptail` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "droptail",
    summary: "first in, first out; a full buffer refuses the arrival",
    sources: &["Linux net/sched/sch_fifo.c", "ns-2.35 queue/drop-tail.cc"],
    parameters: &[
        limit(Amount::Packets(1000.0)),
        Parameter {
            name: "drop",
            kind: Kind::Choice(&["tail", "head"]),
            default: Value::Choice("tail"),
            description: "which packet a full buffer drops: the arrival (tail) or the oldest (head)",
        },
        Parameter {
            name: "reserve",
            kind: Kind::Integer { min: 0, max: 1 },
            default: Value::Integer(0),
            description: "places of a packet limit that stay empty: ns-2 refuses the arrival that would fill the last one",
        },
    ],
    presets: &[
        Preset { name: "linux", summary: "pfifo: 1000 packets", values: &[] },
        Preset {
            name: "ns2",
            summary: "ns-2.35: 50 packets, of which 49 can wait",
            values: &[("limit", Value::Amount(Amount::Packets(50.0))), ("reserve", Value::Integer(1))],
        },
    ],
    linux: Linux::Kernel(&[
        Form {
            name: "pfifo",
            module: "",
            settings: &[Setting::option("limit", "limit", Unit::Packets)],
            ..Form::PLAIN
        },
        Form { name: "bfifo", module: "", settings: &[Setting::option("limit", "limit", Unit::Bytes)], ..Form::PLAIN },
        Form {
            name: "pfifo_head_drop",
            module: "",
            settings: &[Setting::option("limit", "limit", Unit::Packets), Setting::is("drop", Value::Choice("head"))],
            ..Form::PLAIN
        },
    ]),
    ..Descriptor::PLAIN
};

/// A first-in first-out queue with a limit.
#[derive(Debug)]
pub struct DropTail<B> {
    queue: Fifo<B>,
    limit: Limit,
    drop_head: bool,
}

impl<B: Copy> DropTail<B> {
    /// A queue with the given parameters.
    ///
    /// # Errors
    /// A limit that holds no packet at all.
    pub fn new(params: &Params, link: &LinkProperties, _random: Stream) -> Result<Self, ParameterError> {
        let limit = match Limit::new(params.amount("limit"), link) {
            Limit::Packets(packets) => Limit::Packets(packets - params.integer("reserve")),
            bytes => bytes,
        };
        if matches!(limit, Limit::Packets(0)) {
            return Err(ParameterError::new("limit", "at least 2 packets, of which `reserve` keeps one empty"));
        }
        let limit = limit.for_full_packets("limit", link)?;
        Ok(DropTail { queue: Fifo::default(), limit, drop_head: params.choice("drop") == "head" })
    }
}

impl<B: Copy> Discipline<B> for DropTail<B> {
    #[inline]
    fn enqueue<S: Sink<B>>(&mut self, mut packet: Packet<B>, now: Time, sink: &mut S) {
        packet.enqueued = now;
        while self.drop_head && !self.limit.has_room(&self.queue, packet.bytes) {
            let Some(oldest) = self.queue.pop() else { break };
            sink.dropped(&oldest, DropReason::Overflow);
        }
        if self.limit.has_room(&self.queue, packet.bytes) {
            self.queue.push(packet);
        } else {
            sink.dropped(&packet, DropReason::Overflow);
        }
    }

    #[inline]
    fn dequeue<S: Sink<B>>(&mut self, _now: Time, _sink: &mut S) -> Option<Packet<B>> {
        self.queue.pop()
    }

    #[inline]
    fn next_bytes(&self) -> Option<u32> {
        self.queue.head().map(|packet| packet.bytes)
    }

    /// Linux's `pfifo` and `bfifo` keep what is too much for a lower limit; the three kinds do not turn into each other.
    fn retune<S: Sink<B>>(&mut self, fresh: Self, _now: Time, _sink: &mut S) -> Option<Self> {
        let same = matches!(
            (self.limit, fresh.limit),
            (Limit::Packets(_), Limit::Packets(_)) | (Limit::Bytes(_), Limit::Bytes(_))
        );
        if !same || self.drop_head != fresh.drop_head {
            return Some(fresh);
        }
        self.limit = fresh.limit;
        None
    }

    #[inline]
    fn packets(&self) -> usize {
        self.queue.packets()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    fn advice(params: &Params, link: &LinkProperties) -> Vec<Advice> {
        advice::plain_buffer(params, link).into_iter().collect()
    }
}
