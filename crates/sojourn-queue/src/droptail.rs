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
use sojourn_core::registry::declare::{choice, integer};
use sojourn_core::registry::{Advice, Descriptor, Form, Linux, ParameterError, Params, Preset, Setting, Unit, Value};
use sojourn_core::{Amount, Stream, Time, choices, parameters};

choices! {
    /// Which packet a full buffer drops.
    enum Drop {
        /// The arrival.
        Tail = "tail",
        /// The oldest.
        Head = "head",
    }
    /// What has to fit into a limit in bytes.
    enum Room {
        /// The arrival.
        Packet = "packet",
        /// A full-size packet in its place.
        FullPacket = "full-packet",
    }
}

parameters! {
    /// What can be set.
    struct Settings {
        limit: Amount = limit(Amount::Packets(1000.0)),
        /// which packet a full buffer drops: the arrival (tail) or the oldest (head)
        drop: Drop = choice(Drop::Tail.value()),
        /// places of a packet limit that stay empty: ns-2 refuses the arrival that would fill the last one
        reserve: u64 = integer(0, 0..=1),
        /// what has to fit into a limit in bytes or time: the arrival, or a full-size packet in its place
        room: Room = choice(Room::Packet.value()),
    }
}

/// What `droptail` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "droptail",
    summary: "first in, first out; a full buffer refuses the arrival",
    sources: &["Linux net/sched/sch_fifo.c", "ns-2.35 queue/drop-tail.cc"],
    parameters: &Settings::LIST,
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
            settings: &[Setting::option("limit", "limit", Unit::Packets), Setting::is("drop", Drop::Head.value())],
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
    /// The least room that an arrival needs, whatever its size.
    least_room_bytes: u32,
}

impl<B: Copy> DropTail<B> {
    /// A queue with the given parameters.
    ///
    /// # Errors
    /// A limit that holds no packet at all, and room for a full-size packet asked of a limit in packets.
    pub fn new(params: &Params, link: &LinkProperties, _random: Stream) -> Result<Self, ParameterError> {
        let settings = Settings::of(params);
        let limit = match Limit::new(settings.limit, link) {
            Limit::Packets(packets) => Limit::Packets(packets - settings.reserve),
            bytes => bytes,
        };
        if matches!(limit, Limit::Packets(0)) {
            return Err(ParameterError::new("limit", "at least 2 packets, of which `reserve` keeps one empty"));
        }
        let limit = limit.for_full_packets("limit", link)?;
        let full_packet = settings.room == Room::FullPacket;
        if full_packet && matches!(limit, Limit::Packets(_)) {
            return Err(ParameterError::new("room", "`packet` with a limit in packets, which counts all sizes alike"));
        }
        let least_room_bytes = if full_packet { link.packet_bytes } else { 0 };
        Ok(DropTail { queue: Fifo::default(), limit, drop_head: settings.drop == Drop::Head, least_room_bytes })
    }

    #[inline]
    fn has_room_for(&self, packet: &Packet<B>) -> bool {
        self.limit.has_room(&self.queue, packet.bytes.max(self.least_room_bytes))
    }

    /// [`enqueue`](Discipline::enqueue) of a packet that is read where it lies.
    #[inline(always)]
    pub(crate) fn admit<S: Sink<B>>(&mut self, packet: &Packet<B>, now: Time, sink: &mut S) {
        while self.drop_head && !self.has_room_for(packet) {
            let Some(oldest) = self.queue.pop() else { break };
            sink.dropped(&oldest, DropReason::Overflow);
        }
        if self.has_room_for(packet) {
            self.queue.push(packet).enqueued = now;
        } else {
            sink.dropped({ *packet }.arrived(now), DropReason::Overflow);
        }
    }

    /// [`dequeue`](Discipline::dequeue) to `place`; whether there was a packet.
    #[inline(always)]
    pub(crate) fn give(&mut self, place: &mut Packet<B>) -> bool {
        self.queue.pop_to(place)
    }
}

impl<B: Copy> Discipline<B> for DropTail<B> {
    #[inline]
    fn enqueue<S: Sink<B>>(&mut self, packet: Packet<B>, now: Time, sink: &mut S) {
        self.admit(&packet, now, sink);
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
        self.least_room_bytes = fresh.least_room_bytes;
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
