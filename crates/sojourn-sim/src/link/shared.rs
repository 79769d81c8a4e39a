//! A link that a medium serves: it has several queues, and packets leave them when the medium takes them.

use super::{Counter, Link, note_sojourn};
use crate::Packet;
use crate::flow::Flow;
use crate::packets::PacketEvent;
use crate::times::Coarse;
use sojourn_core::{Span, Time};
use sojourn_queue::{Backlog, Discipline, Queue, Sink};
use sojourn_transport::Segment;

/// What a link has of a medium that serves it.
#[derive(Debug)]
pub struct Shared {
    /// The queues beside the link's first one.
    others: Vec<Queue<Segment>>,
    /// From the queue to the other side of those that got there in the measured part.
    pub access: Coarse,
    /// When a queue that had packets and gave none lets the next one go.
    pub ready: Time,
}

impl Shared {
    /// With `others` beside the link's first queue.
    pub fn new(others: Vec<Queue<Segment>>) -> Shared {
        Shared { others, access: Coarse::default(), ready: Time::NEVER }
    }

    /// How many queues there are.
    pub fn queues(&self) -> usize {
        self.others.len() + 1
    }

    /// Packets in the queues beside the first one.
    pub fn other_packets(&self) -> usize {
        self.others.iter().map(Discipline::packets).sum()
    }

    /// When one of the other queues wants its clock to run.
    pub fn timer(&self) -> Option<Time> {
        self.others.iter().filter_map(Discipline::timer).min()
    }

    /// Runs the clocks of all queues whose time has come.
    pub fn on_timer(&mut self, first: &mut Queue<Segment>, now: Time, sink: &mut impl Sink<Segment>) {
        for queue in std::iter::once(first).chain(&mut self.others) {
            if queue.timer().is_some_and(|time| time <= now) {
                queue.on_timer(now, sink);
            }
        }
    }
}

impl Link {
    /// A packet arrives at the queue `index` of a link that a medium serves.
    pub fn arrive_at(&mut self, index: usize, packet: &Packet, flows: &mut [Flow], now: Time) {
        self.meter.pass(now);
        if let Some(special) = &mut self.special {
            special.note(PacketEvent::Arrival, packet, now);
        }
        self.meter.arrived(packet.bytes);
        self.with_queue(index, flows, |queue, sink| queue.enqueue(*packet, now, sink));
    }

    /// The medium takes the next packet of the queue `index`.
    pub fn take(&mut self, index: usize, flows: &mut [Flow], now: Time) -> Option<Packet> {
        self.meter.pass(now);
        let (packet, waits) = self.with_queue(index, flows, |queue, sink| {
            let packet = queue.dequeue(now, sink);
            let waits = if packet.is_none() { queue.ready_at(now) } else { None };
            (packet, waits)
        });
        if let (Some(ready), Some(shared)) = (waits, &mut self.shared) {
            // A shaper, which says when it is ready; never at once, lest nothing else happens.
            shared.ready = shared.ready.min(ready.max(now + Span::from_nanos(1)));
        }
        let packet = packet?;
        let sojourn = now.since(packet.enqueued);
        self.meter.departed(&packet, sojourn);
        note_sojourn(&packet, sojourn, flows);
        if let Some(special) = &mut self.special {
            special.note(PacketEvent::Departure, &packet, now);
        }
        Some(packet)
    }

    /// What waits in the queue `index`.
    pub fn backlog_of(&self, index: usize) -> Backlog {
        let other = index.checked_sub(1).and_then(|other| self.shared.as_ref()?.others.get(other));
        other.unwrap_or(&self.queue).backlog()
    }

    /// A packet has crossed the medium, `access` after it left the queue.
    pub fn crossed(&mut self, packet: &Packet, access: Span) {
        self.meter.totals.sent_bytes += u64::from(packet.bytes);
        if let Some(shared) = &mut self.shared {
            shared.access.record(access);
        }
    }

    /// Does `work` at the queue `index`.
    fn with_queue<T>(
        &mut self,
        index: usize,
        flows: &mut [Flow],
        work: impl FnOnce(&mut Queue<Segment>, &mut Counter<'_>) -> T,
    ) -> T {
        let Link { queue, shared, meter, special, .. } = self;
        let shared = shared.as_mut().expect("a medium serves the link");
        let mut sink = Counter { meter, special, flows, purges: false };
        let queue = match index.checked_sub(1) {
            None => queue,
            Some(other) => &mut shared.others[other],
        };
        work(queue, &mut sink)
    }
}
