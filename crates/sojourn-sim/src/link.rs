//! A link with its queue.

mod forks;
mod shared;
mod special;

pub use forks::{Forks, Step};
pub use shared::Shared;
pub use special::Special;

use crate::Packet;
use crate::flow::{Flow, is_data};
use crate::meter::Meter;
use crate::meter::Reading;
use crate::opportunities::Opportunities;
use crate::packets::PacketEvent;
use crate::record::LinkRecord;
use sojourn_core::{Optional, Rate, Serializer, Span, Time};
use sojourn_queue::{Discipline, DropReason, Queue, Sink};
use sojourn_scenario::Direction;
use sojourn_transport::{Segment, SegmentKind};

/// How a link sends.
#[derive(Debug)]
pub enum Service {
    /// At a constant rate.
    Fixed(Serializer),
    /// As recorded.
    Recorded(Opportunities),
    /// When the medium takes packets from it.
    Shared,
}

impl Service {
    /// The rate, where it has one.
    fn rate(&self) -> Option<Rate> {
        match self {
            Service::Fixed(serializer) => Some(serializer.rate()),
            Service::Recorded(_) | Service::Shared => None,
        }
    }
}

/// A link, the queue before it and the instruments at both.
#[derive(Debug)]
pub struct Link {
    /// Which way its packets travel.
    pub direction: Direction,
    /// The next link of that direction, where it is the same for all.
    next: Option<usize>,
    /// Where packets go behind it, where routes part or their packets travel different ways.
    forks: Option<Box<Forks>>,
    /// The line for the link's own delay and jitter, where it has any.
    pub line: Option<usize>,
    /// Whether all flows are told how long their data waits here.
    is_main: bool,
    /// Whether all packets go from here straight to their flow's own line.
    is_last: bool,
    /// The instruments.
    pub meter: Meter,
    queue: Queue<Segment>,
    service: Service,
    /// What few links have, where this one does.
    pub special: Option<Box<Special>>,
    /// Whether a packet is on the wire. The next field holds it, or else the last one that was there.
    is_sending: bool,
    on_wire: Packet,
    /// Bytes that it occupies.
    wire_bytes: u32,
    /// When the packet on the wire will have been sent.
    wire_free_at: Time,
    /// The end of the packet that was on the wire when the rate changed, and the rate at which it is sent, if by a rate.
    begun: Option<(Time, Option<Rate>)>,
    /// When the discipline's own clock runs next, as the agenda has it.
    pub armed: Time,
    /// What it has of a medium that serves it, where one does.
    pub shared: Option<Box<Shared>>,
}

/// Counts what a queue drops and marks at the instant up to which the meter has been brought.
struct Counter<'a> {
    meter: &'a mut Meter,
    special: &'a mut Option<Box<Special>>,
    flows: &'a mut [Flow],
    /// Whether a queue is given up: nobody will see a mark. A sink of its own for that would be all disciplines once more.
    purges: bool,
}

impl Sink<Segment> for Counter<'_> {
    #[inline]
    fn dropped(&mut self, packet: &Packet, _reason: DropReason) {
        self.meter.dropped(packet);
        self.flows[packet.flow as usize].on_drop(packet);
        if let Some(special) = self.special {
            special.note(PacketEvent::Drop, packet, self.meter.read_at());
        }
    }

    #[inline]
    fn marked(&mut self, packet: &Packet) {
        if self.purges {
            return;
        }
        self.meter.marked(packet);
        self.flows[packet.flow as usize].counts.on_mark(packet);
        if let Some(special) = self.special {
            special.note(PacketEvent::Mark, packet, self.meter.read_at());
        }
    }
}

/// Empties `queue`. A shaper may have to be asked at later times.
fn purge(queue: &mut Queue<Segment>, now: Time, sink: &mut Counter<'_>) {
    let mut at = now;
    while queue.packets() > 0 {
        match queue.dequeue(at, sink) {
            Some(packet) => sink.dropped(&packet, DropReason::Overflow),
            None => at = queue.ready_at(at).unwrap_or(at),
        }
    }
}

impl Link {
    /// An idle link.
    pub fn new(direction: Direction, queue: Queue<Segment>, service: Service, special: Special) -> Link {
        Link {
            direction,
            next: None,
            forks: None,
            line: None,
            is_main: false,
            is_last: false,
            meter: Meter::new(&queue.classes()),
            queue,
            service,
            special: special.acts().then(|| Box::new(special)),
            is_sending: false,
            on_wire: Packet::new(0, 0, Segment::new(SegmentKind::Data, 0, Time::ZERO)),
            wire_bytes: 0,
            wire_free_at: Time::ZERO,
            begun: None,
            armed: Time::NEVER,
            shared: None,
        }
    }

    /// Where packets go behind it, on these routes of which it is a part.
    pub fn lay(&mut self, routes: &[(u32, Step)]) {
        let Some(&(_, first)) = routes.first() else { return };
        let forks = routes.iter().any(|&(_, step)| step != first).then(|| Box::new(Forks::new(routes)));
        self.is_main = forks.is_none() && first.is_main;
        self.is_last = forks.is_none() && first.next.is_none() && self.line.is_none();
        (self.direction, self.next, self.forks) = (first.way, first.next.get().map(|next| next as usize), forks);
    }

    /// Where packets of flows with this route go behind it: the next link where there is one, and which way they travel.
    #[inline]
    pub fn behind(&self, route: u32) -> (Option<usize>, Direction) {
        match &self.forks {
            None => (self.next, self.direction),
            Some(forks) => {
                let step = forks.of(route);
                (step.next.get().map(|next| next as usize), step.way)
            }
        }
    }

    /// Where all packets go behind it, and which way they travel, where routes do not part.
    pub fn behind_all(&self) -> Option<(Optional, Direction)> {
        self.forks.is_none().then(|| (self.next.map(|next| next as u32).into(), self.direction))
    }

    /// What few links have, which this one has from now on.
    pub fn special(&mut self) -> &mut Special {
        self.special.get_or_insert_default()
    }

    /// Packets in the queue and on the wire.
    pub fn packets(&self) -> usize {
        let others = self.shared.as_ref().map_or(0, |shared| shared.other_packets());
        self.queue.packets() + others + usize::from(self.is_sending)
    }

    /// The packet on the wire.
    #[inline]
    pub fn on_wire(&self) -> Option<&Packet> {
        self.is_sending.then_some(&self.on_wire)
    }

    /// A packet arrives at the queue.
    #[inline(always)]
    pub fn arrive(&mut self, packet: &Packet, flows: &mut [Flow], now: Time) {
        if self.special.is_some() {
            return self.arrive_specially(packet, flows, now);
        }
        self.admit(packet, flows, now);
    }

    /// A packet arrives that may be rewritten or dropped before the queue sees it, or is asked room for.
    #[inline(never)]
    fn arrive_specially(&mut self, packet: &Packet, flows: &mut [Flow], now: Time) {
        let Some(special) = &mut self.special else { return };
        let packet = &special.remarked(packet);
        special.note(PacketEvent::Arrival, packet, now);
        if !special.admits(packet, now) {
            return self.police(&Packet { enqueued: now, ..*packet }, flows, now);
        }
        self.admit(packet, flows, now);
        self.on_backlog(now);
    }

    /// A packet has arrived as the queue is to see it.
    #[inline(always)]
    fn admit(&mut self, packet: &Packet, flows: &mut [Flow], now: Time) {
        self.meter.pass(now);
        self.meter.arrived(packet.bytes);
        let mut sink = Counter { meter: &mut self.meter, special: &mut self.special, flows, purges: false };
        self.queue.enqueue_from(packet, now, &mut sink);
        self.check_backlog();
    }

    /// The policer drops a packet that has arrived: no class of the queue has seen it.
    #[cold]
    fn police(&mut self, packet: &Packet, flows: &mut [Flow], now: Time) {
        self.meter.totals.arrivals += 1;
        self.meter.totals.drops += 1;
        flows[packet.flow as usize].on_drop(packet);
        if let Some(special) = &mut self.special {
            special.note(PacketEvent::Drop, packet, now);
        }
    }

    /// What waits has changed.
    fn on_backlog(&mut self, now: Time) {
        if let Some(special) = &mut self.special {
            special.on_backlog(self.meter.waiting().packets, now);
        }
    }

    /// What the meter holds of what has come and gone is what waits.
    #[inline]
    fn check_backlog(&self) {
        debug_assert!(self.shared.is_some() || self.meter.waiting() == self.queue.backlog());
    }

    /// An arrival has been dealt with: what waits now has waited.
    #[inline]
    pub fn measure_peak(&mut self) {
        self.meter.peak();
    }

    /// The wire is free: puts the next packet on it. The time at which it is sent, or at which to try again.
    #[inline(always)]
    pub fn serve(&mut self, flows: &mut [Flow], now: Time) -> Time {
        self.meter.pass(now);
        if let Some(special) = &mut self.special
            && let Some(until) = special.holds_back(self.meter.waiting().packets, now)
        {
            return until;
        }
        let mut sink = Counter { meter: &mut self.meter, special: &mut self.special, flows, purges: false };
        self.is_sending = self.queue.dequeue_to(&mut self.on_wire, now, &mut sink);
        if !self.is_sending {
            self.check_backlog();
            return self.queue.ready_at(now).unwrap_or(Time::NEVER);
        }
        let packet = &self.on_wire;
        let sojourn = now.since(packet.enqueued);
        self.meter.departed(packet, sojourn);
        let tells = |forks: &Forks| forks.of(flows[packet.flow as usize].route).is_main;
        if self.is_main || self.forks.as_deref().is_some_and(tells) {
            note_sojourn(packet, sojourn, flows);
        }
        self.wire_bytes = match &mut self.special {
            None => packet.bytes,
            Some(special) => special.depart(packet, self.meter.waiting().packets, now),
        };
        self.wire_free_at = match &mut self.service {
            Service::Fixed(serializer) => now + serializer.transmit(self.wire_bytes),
            Service::Recorded(opportunities) => opportunities.transmit(self.wire_bytes, now),
            Service::Shared => unreachable!("a medium takes packets itself"),
        };
        if let Some(special) = &mut self.special {
            self.wire_free_at = special.end_of(now, self.wire_free_at);
        }
        self.check_backlog();
        self.wire_free_at
    }

    /// Bytes of the packet on the wire that have been sent by `now`; a recorded link sends at instants, not bit by bit.
    fn partial_bytes(&self, now: Time) -> f64 {
        let rate = match self.begun {
            Some((end, rate)) if end == self.wire_free_at => rate,
            _ => self.service.rate(),
        };
        match rate {
            // Where something is sent again first, nothing of this packet is.
            Some(rate) if self.is_sending => {
                (f64::from(self.wire_bytes) - rate.bytes_in(self.wire_free_at.since(now))).max(0.0)
            }
            _ => 0.0,
        }
    }

    /// What was measured up to `now`, on a link that could have carried `capacity_bytes`.
    pub fn record(&self, capacity_bytes: f64, now: Time) -> LinkRecord {
        let classes = self.meter.classes.records(self.queue.classes());
        LinkRecord { classes, ..self.meter.record(capacity_bytes, self.partial_bytes(now), now) }
    }

    /// What the instruments read at `now`, up to which they have been brought.
    pub fn reading(&self, now: Time) -> Reading {
        self.meter.reading(self.partial_bytes(now))
    }

    /// Whether nothing can happen to `packet`, which is on the wire, before it is on its flow's own line.
    #[inline]
    pub fn ends_way_of(&self, packet: &Packet) -> bool {
        let arrives = self.special.as_ref().is_none_or(|special| !special.may_lose());
        self.is_last && arrives && packet.body.kind != SegmentKind::Datagram
    }

    /// What is on the wire has been sent.
    #[inline(always)]
    pub fn finish(&mut self) {
        self.is_sending = false;
        self.meter.totals.sent_bytes += u64::from(self.wire_bytes);
    }

    /// Whether `packet`, just sent, is lost: to noise, or at random.
    pub fn loses_sent(&mut self, packet: &Packet, flows: &mut [Flow]) -> bool {
        let Some(special) = &mut self.special else { return false };
        let spoilt = special.spoils(self.wire_bytes, self.wire_free_at);
        let lost = special.loses_at_random() || spoilt;
        if lost {
            self.lose(packet, flows);
        }
        lost
    }

    /// Before when no packet may arrive behind the link.
    #[inline]
    pub fn held_until(&self) -> Option<Time> {
        self.special.as_ref()?.held_until()
    }

    /// Whether `packet`, which has crossed a medium, is lost at random after it.
    pub fn loses(&mut self, packet: &Packet, flows: &mut [Flow]) -> bool {
        let lost = self.special.as_mut().is_some_and(|special| special.loses_at_random());
        if lost {
            self.lose(packet, flows);
        }
        lost
    }

    /// `packet` is lost on its way over the link.
    pub fn lose(&mut self, packet: &Packet, flows: &mut [Flow]) {
        self.meter.lost(packet);
        flows[packet.flow as usize].on_drop(packet);
    }

    /// When the discipline's own clock wants to run.
    pub fn timer(&self) -> Option<Time> {
        let others = self.shared.iter().filter_map(|shared| shared.timer());
        self.queue.timer().into_iter().chain(others).min()
    }

    /// Runs the discipline's own clock.
    pub fn on_timer(&mut self, flows: &mut [Flow], now: Time) {
        self.meter.pass(now);
        let mut sink = Counter { meter: &mut self.meter, special: &mut self.special, flows, purges: false };
        match &mut self.shared {
            None => self.queue.on_timer(now, &mut sink),
            Some(shared) => shared.on_timer(&mut self.queue, now, &mut sink),
        }
        self.check_backlog();
    }

    /// The link sends by `service` after the packet that is on the wire.
    pub fn change_service(&mut self, service: Service) {
        let (before, after) = (self.service.rate(), service.rate());
        if before.is_some() && before == after {
            return;
        }
        // A second change during a packet does not make it a packet of the first one's rate.
        if self.begun.is_none_or(|(end, _)| end != self.wire_free_at) {
            self.begun = Some((self.wire_free_at, before));
        }
        if let (Some(rate), Some(special)) = (after, &mut self.special)
            && let Some(noise) = &mut special.noise
        {
            noise.change_rate(rate);
        }
        self.service = service;
    }

    /// The queue takes the parameters of `fresh`, or gives way to it and drops what waits. The wire must be served if it is
    /// free.
    pub fn change_queue(&mut self, fresh: Queue<Segment>, flows: &mut [Flow], now: Time) {
        self.meter.pass(now);
        let mut sink = Counter { meter: &mut self.meter, special: &mut self.special, flows, purges: false };
        if let Some(fresh) = self.queue.retune(fresh, now, &mut sink) {
            let names = self.queue.classes();
            sink.purges = true;
            purge(&mut self.queue, now, &mut sink);
            self.queue = fresh;
            // What is on the wire belongs to none of the classes that come.
            self.on_wire.class = u8::MAX;
            self.meter.classes.change(names, self.queue.classes());
        }
        self.check_backlog();
        self.on_backlog(now);
    }

    /// Brings the instruments up to `now`.
    pub fn read(&mut self, now: Time) {
        self.meter.read(now);
    }

    /// Shows the state of the discipline.
    pub fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
        self.queue.probe(visit);
    }

    /// The warm-up is over.
    pub fn begin_measuring(&mut self, now: Time) {
        let partial_bytes = self.partial_bytes(now);
        self.meter.begin(partial_bytes, now);
        if let Some(shared) = &mut self.shared {
            shared.access.clear();
        }
    }
}

/// A packet has left the queue of its flow's main link.
#[inline(always)]
fn note_sojourn(packet: &Packet, sojourn: Span, flows: &mut [Flow]) {
    if is_data(&packet.body) {
        flows[packet.flow as usize].note_sojourn(sojourn);
    }
}
