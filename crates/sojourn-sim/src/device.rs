//! What waits in a host before its network card, and what the card takes of it.
//!
//! A queue discipline gives packets to the card, which has a ring of descriptors and, beside it, byte queue limits. What the card has
//! sent counts until the card reports it, at once or together with what follows within a while (interrupt coalescing).

use crate::Packet;
use crate::flow::Flow;
use sojourn_core::{Span, Stream, Time};
use sojourn_queue::{Discipline, DropReason, LinkProperties, Queue, Sink};
use sojourn_scenario::HostQueue;
use sojourn_transport::{ByteLimit, Segment};

/// The queue of a host and its network card, which several connections may share.
#[derive(Debug)]
pub struct Device {
    qdisc: Queue<Segment>,
    ring: u32,
    byte_limit: Option<ByteLimit>,
    completions: Span,
    /// Packets that the card has and has not reported.
    taken: u32,
    /// The flows and bytes of those that it has sent.
    sent: Vec<(u32, u32)>,
    /// When it reports them.
    pub reports_at: Time,
}

/// Counts what the discipline drops and marks; the flows of what it drops.
struct Counter<'a> {
    flows: &'a mut [Flow],
    dropped: &'a mut Vec<u32>,
}

impl Sink<Segment> for Counter<'_> {
    fn dropped(&mut self, packet: &Packet, _reason: DropReason) {
        self.flows[packet.flow as usize].on_drop(packet);
        self.dropped.push(packet.flow);
    }

    fn marked(&mut self, packet: &Packet) {
        self.flows[packet.flow as usize].counts.on_mark(packet);
    }
}

impl Device {
    /// An idle one before a link.
    pub fn new(spec: &HostQueue, link: &LinkProperties, random: Stream) -> Device {
        let qdisc = Queue::build(&spec.qdisc, link, random).expect("these are constants");
        Device {
            qdisc,
            ring: spec.ring,
            byte_limit: spec.byte_limits.then(ByteLimit::default),
            completions: spec.completions,
            taken: 0,
            sent: Vec::new(),
            reports_at: Time::NEVER,
        }
    }

    /// Packets that wait for the card.
    pub fn packets(&self) -> usize {
        self.qdisc.packets()
    }

    /// A packet arrives at the discipline. `dropped` gets the flow of each packet that it drops.
    pub fn arrive(&mut self, packet: Packet, flows: &mut [Flow], dropped: &mut Vec<u32>, now: Time) {
        self.qdisc.enqueue(packet, now, &mut Counter { flows, dropped });
    }

    /// The next packet that the card takes, if it has room and there is one.
    pub fn take(&mut self, flows: &mut [Flow], dropped: &mut Vec<u32>, now: Time) -> Option<Packet> {
        let has_room = self.taken < self.ring && self.byte_limit.as_ref().is_none_or(ByteLimit::has_room);
        let packet = if has_room { self.qdisc.dequeue(now, &mut Counter { flows, dropped })? } else { return None };
        self.taken += 1;
        if let Some(limit) = &mut self.byte_limit {
            limit.on_queued(packet.bytes);
        }
        Some(packet)
    }

    /// The card has sent a packet. When it will report that, where it does not do so yet.
    pub fn on_sent(&mut self, packet: &Packet, now: Time) {
        self.sent.push((packet.flow, packet.bytes));
        if self.sent.len() == 1 {
            self.reports_at = now + self.completions;
        }
    }

    /// The card reports all that it has sent; the flows of these packets.
    pub fn report(&mut self, now: Time) -> Vec<u32> {
        self.reports_at = Time::NEVER;
        self.taken -= self.sent.len() as u32;
        if let Some(limit) = &mut self.byte_limit {
            limit.on_completed(self.sent.iter().map(|&(_, bytes)| u64::from(bytes)).sum(), now);
        }
        self.sent.drain(..).map(|(flow, _)| flow).collect()
    }
}
