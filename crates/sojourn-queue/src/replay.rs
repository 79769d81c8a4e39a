//! Recorded arrivals and transmissions, replayed through a discipline: what becomes of each packet.
//!
//! A recording of a real queue says when packets came, and when the link asked for one. Given the same, a discipline that
//! follows the same rules drops and marks the same packets and lets the others out in the same order. Where chance
//! decides, the link asks when the packet before it has been sent instead: a queue that dropped other packets is asked at
//! other times.

#[cfg(test)]
mod tests;

use crate::{Body, Discipline, DropReason, Dscp, Ecn, FlowKey, Packet, Protocol, Queue, Sink};
use alloc::vec;
use alloc::vec::Vec;
use sojourn_core::{Rate, Serializer, Time};

/// A packet of a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// When it came.
    pub at: Time,
    /// Its flow: no two flows share a key.
    pub flow: u16,
    /// Bytes on the wire.
    pub bytes: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its code point.
    pub dscp: Dscp,
}

/// A moment at which the link asked for a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Opportunity {
    /// When.
    pub at: Time,
    /// How many packets had come before it: decides where an arrival has the same time.
    pub arrivals: usize,
}

/// When the link asks.
#[derive(Clone, Copy, Debug)]
pub enum Service<'a> {
    /// When it was recorded.
    Recorded(&'a [Opportunity]),
    /// When the packet before has been sent at this rate, as a device does: also where nothing waits, once. Arrivals of
    /// the same time come first.
    Device(Rate),
    /// As a device, but only where something waits: so does HTB.
    Shaper(Rate),
}

/// What became of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fate {
    /// Whether and when it left.
    pub end: End,
    /// Whether it was marked on its way.
    pub marked: bool,
}

/// How a packet's stay in a queue ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// It is there yet.
    Waits,
    /// It was sent.
    Left {
        /// When.
        at: Time,
        /// How many had been sent before.
        place: usize,
    },
    /// It was dropped.
    Dropped {
        /// When.
        at: Time,
        /// Why.
        reason: DropReason,
    },
}

/// The number of a packet in its recording, as a body.
#[derive(Clone, Copy, Debug)]
pub struct Number(usize);

impl Body for Number {}

/// The fates of `arrivals`, which are in the order of time, in `queue`.
pub fn replay(queue: &mut Queue<Number>, arrivals: &[Arrival], service: Service<'_>) -> Vec<Fate> {
    let unknown = Fate { end: End::Waits, marked: false };
    let mut run =
        Run { queue, arrivals, arrived: 0, sent: 0, record: Record(vec![unknown; arrivals.len()], Time::ZERO) };
    match service {
        Service::Recorded(opportunities) => run.recorded(opportunities),
        Service::Device(rate) => run.wire(rate, true),
        Service::Shaper(rate) => run.wire(rate, false),
    }
    run.record.0
}

struct Run<'a> {
    queue: &'a mut Queue<Number>,
    arrivals: &'a [Arrival],
    arrived: usize,
    sent: usize,
    record: Record,
}

/// What is known of each packet, and what time it is.
struct Record(Vec<Fate>, Time);

impl Sink<Number> for Record {
    fn dropped(&mut self, packet: &Packet<Number>, reason: DropReason) {
        self.0[packet.body.0].end = End::Dropped { at: self.1, reason };
    }

    fn marked(&mut self, packet: &Packet<Number>) {
        self.0[packet.body.0].marked = true;
    }
}

impl Run<'_> {
    fn recorded(&mut self, opportunities: &[Opportunity]) {
        for opportunity in opportunities {
            while self.arrived < opportunity.arrivals {
                self.arrive();
            }
            self.ask(opportunity.at);
        }
        while self.arrived < self.arrivals.len() {
            self.arrive();
        }
    }

    /// A wire that sends one packet after the other; `asks_in_vain` when it falls free and nothing waits.
    fn wire(&mut self, rate: Rate, asks_in_vain: bool) {
        let mut serializer = Serializer::new(rate);
        let mut free_at = Time::ZERO;
        let mut knows_empty = true;
        loop {
            let next = self.arrivals.get(self.arrived).map(|arrival| arrival.at);
            let from = free_at.max(self.record.1);
            let asks = self.queue.packets() > 0 || (asks_in_vain && !knows_empty);
            let ready = asks.then(|| self.queue.ready_at(from).unwrap_or(from));
            match (next, ready) {
                (Some(at), ready) if ready.is_none_or(|ready| at <= ready) => self.arrive(),
                (_, Some(at)) => {
                    let sent = self.ask(at);
                    knows_empty = sent.is_none();
                    free_at = sent.map_or(free_at, |bytes| at + serializer.transmit(bytes));
                }
                (_, None) => return,
            }
        }
    }

    fn arrive(&mut self) {
        let arrival = self.arrivals[self.arrived];
        self.pass_to(arrival.at);
        let packet = arrival.packet(self.arrived);
        self.arrived += 1;
        self.queue.enqueue(packet, arrival.at, &mut self.record);
    }

    /// The bytes of the packet that the queue gave, if any.
    fn ask(&mut self, at: Time) -> Option<u32> {
        self.pass_to(at);
        let packet = self.queue.dequeue(at, &mut self.record)?;
        self.record.0[packet.body.0].end = End::Left { at, place: self.sent };
        self.sent += 1;
        Some(packet.bytes)
    }

    /// Time goes on; the discipline's own clock comes before what happens at the same time.
    fn pass_to(&mut self, at: Time) {
        while let Some(due) = self.queue.timer().filter(|&due| due <= at) {
            self.record.1 = due;
            self.queue.on_timer(due, &mut self.record);
        }
        self.record.1 = at;
    }
}

impl Arrival {
    fn packet(self, number: usize) -> Packet<Number> {
        let key = FlowKey {
            source: 1.into(),
            destination: 2.into(),
            source_port: self.flow,
            destination_port: 1,
            protocol: Protocol::Udp,
        };
        Packet {
            flow: u32::from(self.flow),
            bytes: self.bytes,
            enqueued: self.at,
            key,
            ecn: self.ecn,
            dscp: self.dscp,
            class: 0,
            body: Number(number),
        }
    }
}
