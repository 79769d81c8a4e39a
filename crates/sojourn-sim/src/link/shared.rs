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
    /// What waits in all of them.
    backlog: Backlog,
    /// From the queue to the other side of those that got there in the measured part.
    pub access: Coarse,
    /// When a queue that had packets and gave none lets the next one go.
    pub ready: Time,
}

impl Shared {
    /// With `others` beside the link's first queue.
    pub fn new(others: Vec<Queue<Segment>>) -> Shared {
        Shared { others, backlog: Backlog::default(), access: Coarse::default(), ready: Time::NEVER }
    }

    /// How many queues there are.
    pub fn queues(&self) -> usize {
        self.others.len() + 1
    }

    /// Packets in the queues beside the first one.
    pub fn other_packets(&self) -> usize {
        self.others.iter().map(Discipline::packets).sum()
    }

    /// What waits in all queues.
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// When one of the other queues wants its clock to run.
    pub fn timer(&self) -> Option<Time> {
        self.others.iter().filter_map(Discipline::timer).min()
    }

    /// Runs the clocks of all queues whose time has come.
    pub fn on_timer(&mut self, first: &mut Queue<Segment>, now: Time, sink: &mut impl Sink<Segment>) {
        for queue in std::iter::once(first).chain(&mut self.others) {
            if queue.timer().is_some_and(|time| time <= now) {
                let before = queue.backlog();
                queue.on_timer(now, sink);
                self.backlog = changed(self.backlog, before, queue.backlog());
            }
        }
    }
}

/// All of the queues where one of them has changed.
fn changed(all: Backlog, before: Backlog, after: Backlog) -> Backlog {
    Backlog { packets: all.packets + after.packets - before.packets, bytes: all.bytes + after.bytes - before.bytes }
}

impl Link {
    /// A packet arrives at the queue `index` of a link that a medium serves.
    pub fn arrive_at(&mut self, index: usize, packet: &Packet, flows: &mut [Flow], now: Time) {
        self.meter.pass(now);
        if let Some(log) = &mut self.log {
            log.add(PacketEvent::Arrival, packet, now);
        }
        self.with_queue(index, flows, now, |queue, sink| queue.enqueue(*packet, now, sink));
        self.meter.totals.arrivals += 1;
    }

    /// The medium takes the next packet of the queue `index`.
    pub fn take(&mut self, index: usize, flows: &mut [Flow], now: Time) -> Option<Packet> {
        self.meter.pass(now);
        let (packet, waits) = self.with_queue(index, flows, now, |queue, sink| {
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
        self.meter.departed(sojourn);
        note_sojourn(&packet, sojourn, flows);
        if let Some(class) = self.classes.get_mut(usize::from(packet.class)) {
            class.departed(sojourn);
        }
        if let Some(log) = &mut self.log {
            log.add(PacketEvent::Departure, &packet, now);
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

    /// Does `work` at the queue `index`, and keeps the account of what waits.
    fn with_queue<T>(
        &mut self,
        index: usize,
        flows: &mut [Flow],
        now: Time,
        work: impl FnOnce(&mut Queue<Segment>, &mut Counter<'_>) -> T,
    ) -> T {
        let Link { queue, shared, meter, classes, log, .. } = self;
        let shared = shared.as_mut().expect("a medium serves the link");
        let mut sink = Counter { meter, classes, log: log.as_mut(), flows, now, purges: false };
        let queue = match index.checked_sub(1) {
            None => queue,
            Some(other) => &mut shared.others[other],
        };
        let before = queue.backlog();
        let done = work(queue, &mut sink);
        let backlog = changed(shared.backlog, before, queue.backlog());
        shared.backlog = backlog;
        self.meter.hold(backlog);
        done
    }
}
