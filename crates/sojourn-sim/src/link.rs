//! A link with its queue.

mod shared;

pub use shared::Shared;

use crate::Packet;
use crate::flow::{Flow, is_data};
use crate::grants::Grants;
#[cfg(feature = "phases")]
use crate::meter::Reading;
use crate::meter::{ClassMeter, Meter};
use crate::noise::{Fate, NoisyWire};
use crate::opportunities::Opportunities;
use crate::packets::{PacketEvent, PacketLog};
use crate::record::LinkRecord;
use crate::tokens::Tokens;
use sojourn_core::{Rate, Serializer, Span, Stream, Time};
use sojourn_queue::framing::Framing;
use sojourn_queue::{Discipline, DropReason, Queue, Sink};
use sojourn_scenario::{Direction, Remark};
use sojourn_transport::Segment;
use std::collections::BTreeMap;

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
    /// The next link of that direction.
    pub next: Option<usize>,
    /// The line for the link's own delay and jitter, where it has any.
    pub line: Option<usize>,
    /// Random loss after transmission: probability and stream.
    pub loss: Option<(f64, Stream)>,
    /// Whether it is the bottleneck or the reverse link, where flows are told how long their packets wait.
    pub is_main: bool,
    /// The instruments.
    pub meter: Meter,
    /// Those of the queues inside, where the discipline has any.
    classes: Vec<ClassMeter>,
    /// Those of classes that a discipline before had.
    past_classes: BTreeMap<String, ClassMeter>,
    /// Rows of packets, where they are wanted.
    pub log: Option<PacketLog>,
    queue: Queue<Segment>,
    /// What packets occupy on the wire, where it is not what IP sees.
    pub framing: Option<Framing>,
    service: Service,
    /// When its packets may be sent, where they wait for grants.
    pub grants: Option<Grants>,
    /// What it writes into packets before the queue, where it does.
    pub remark: Option<Remark>,
    /// What drops packets before the queue, where anything does.
    pub policer: Option<Tokens>,
    /// What keeps packets in the queue, where anything does.
    pub shaper: Option<Tokens>,
    /// Impulse noise, where it may do harm.
    pub noise: Option<Box<NoisyWire>>,
    on_wire: Option<Packet>,
    /// Bytes that it occupies.
    wire_bytes: u32,
    /// Since when it is on the wire.
    wire_taken_at: Time,
    /// Whether noise has spoilt the packet just sent for good.
    spoilt: bool,
    /// When the packet on the wire will have been sent.
    wire_free_at: Time,
    /// The end of the packet that was on the wire when the rate changed, and the rate at which it is sent, if by a rate.
    begun: Option<(Time, Option<Rate>)>,
    /// When the discipline's own clock runs next, as the agenda has it.
    pub armed: Time,
    /// How far it may fall behind the present, where it may.
    pub lag: Option<Lag>,
    /// What it has of a medium that serves it, where one does.
    pub shared: Option<Box<Shared>>,
}

/// A link whose packets reach nobody for a while after they were sent may be served later than they are: when one arrives
/// at it, when somebody looks at it, and at the latest when the first packet could be missed. It is then served at the
/// instants at which it would have been.
#[derive(Debug)]
pub struct Lag {
    /// The least time from the end of a packet on this link to the next event that it leads to.
    pub most: Span,
    /// When the wire is free, or the discipline wants to be asked again.
    due: Time,
    /// When the agenda has the link at the latest: no later than the most after it is due.
    woken: Time,
}

impl Lag {
    /// Idle.
    pub fn new(most: Span) -> Lag {
        Lag { most, due: Time::NEVER, woken: Time::NEVER }
    }

    /// The instant up to `until` at which the link has to be served.
    #[inline]
    pub fn due(&self, until: Time) -> Option<Time> {
        (self.due <= until).then_some(self.due)
    }

    /// The link is due at `due`. When the agenda has to be told, if it does not wake the link by then.
    #[inline]
    pub fn set(&mut self, due: Time) -> Option<Time> {
        self.due = due;
        let earlier = due < self.woken && due + self.most < self.woken;
        earlier.then(|| self.wake())
    }

    /// When to wake the link.
    pub fn wake(&mut self) -> Time {
        self.woken = if self.due == Time::NEVER { Time::NEVER } else { self.due + self.most };
        self.woken
    }
}

/// Counts what a queue drops and marks.
struct Counter<'a> {
    meter: &'a mut Meter,
    classes: &'a mut [ClassMeter],
    log: Option<&'a mut PacketLog>,
    flows: &'a mut [Flow],
    now: Time,
    /// Whether a queue is given up: nobody will see a mark. A sink of its own for that would be all disciplines once more.
    purges: bool,
}

impl Sink<Segment> for Counter<'_> {
    #[inline]
    fn dropped(&mut self, packet: &Packet, _reason: DropReason) {
        self.meter.totals.drops += 1;
        if let Some(class) = self.classes.get_mut(usize::from(packet.class)) {
            class.drops += 1;
        }
        self.flows[packet.flow as usize].counts.on_drop(packet);
        if let Some(log) = &mut self.log {
            log.add(PacketEvent::Drop, packet, self.now);
        }
    }

    #[inline]
    fn marked(&mut self, packet: &Packet) {
        if self.purges {
            return;
        }
        self.meter.totals.marks += 1;
        if let Some(class) = self.classes.get_mut(usize::from(packet.class)) {
            class.marks += 1;
        }
        self.flows[packet.flow as usize].counts.on_mark(packet);
        if let Some(log) = &mut self.log {
            log.add(PacketEvent::Mark, packet, self.now);
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
    pub fn new(direction: Direction, queue: Queue<Segment>, service: Service) -> Link {
        Link {
            direction,
            next: None,
            line: None,
            loss: None,
            is_main: false,
            meter: Meter::new(),
            classes: queue.classes().iter().map(|_| ClassMeter::default()).collect(),
            past_classes: BTreeMap::new(),
            log: None,
            queue,
            framing: None,
            service,
            grants: None,
            remark: None,
            policer: None,
            shaper: None,
            noise: None,
            on_wire: None,
            wire_bytes: 0,
            wire_taken_at: Time::ZERO,
            spoilt: false,
            wire_free_at: Time::ZERO,
            begun: None,
            armed: Time::NEVER,
            lag: None,
            shared: None,
        }
    }

    /// Packets in the queue and on the wire.
    pub fn packets(&self) -> usize {
        let others = self.shared.as_ref().map_or(0, |shared| shared.other_packets());
        self.queue.packets() + others + usize::from(self.on_wire.is_some())
    }

    /// The packet on the wire.
    #[inline]
    pub fn on_wire(&self) -> Option<&Packet> {
        self.on_wire.as_ref()
    }

    /// A packet arrives at the queue.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    pub fn arrive(&mut self, packet: &Packet, flows: &mut [Flow], now: Time) {
        match self.remark {
            None => self.admit(packet, flows, now),
            Some(remark) => self.admit_remarked(remark, packet, flows, now),
        }
    }

    /// A packet arrives whose headers are rewritten before the queue sees it.
    #[cold]
    #[inline(never)]
    fn admit_remarked(&mut self, remark: Remark, packet: &Packet, flows: &mut [Flow], now: Time) {
        let (dscp, ecn) = remark.of(packet.dscp, packet.ecn);
        self.admit(&Packet { dscp, ecn, ..*packet }, flows, now);
    }

    /// A packet has arrived as the queue is to see it.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn admit(&mut self, packet: &Packet, flows: &mut [Flow], now: Time) {
        self.meter.pass(now);
        if let Some(log) = &mut self.log {
            log.add(PacketEvent::Arrival, packet, now);
        }
        if let Some(policer) = &mut self.policer
            && !policer.admit(packet.bytes, now)
        {
            return self.police(Packet { enqueued: now, ..*packet }, flows, now);
        }
        let (meter, classes, log) = (&mut self.meter, &mut self.classes[..], self.log.as_mut());
        let mut sink = Counter { meter, classes, log, flows, now, purges: false };
        self.queue.enqueue(*packet, now, &mut sink);
        self.meter.hold(self.queue.backlog());
        if let Some(grants) = &mut self.grants {
            grants.follow(self.queue.packets(), now);
        }
        self.meter.totals.arrivals += 1;
    }

    /// The policer drops a packet that has arrived: no class of the queue has seen it.
    #[cold]
    fn police(&mut self, packet: Packet, flows: &mut [Flow], now: Time) {
        self.meter.totals.arrivals += 1;
        self.meter.totals.drops += 1;
        flows[packet.flow as usize].counts.on_drop(&packet);
        if let Some(log) = &mut self.log {
            log.add(PacketEvent::Drop, &packet, now);
        }
    }

    /// An arrival has been dealt with: what waits now has waited.
    #[inline]
    pub fn measure_peak(&mut self) {
        self.meter.peak();
    }

    /// The wire is free: puts the next packet on it. When the agenda has to be told that it is due, where it has to be.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    pub fn serve_next(&mut self, flows: &mut [Flow], now: Time) -> Option<Time> {
        let next = self.serve(flows, now);
        self.lag.as_mut().map_or(Some(next), |lag| lag.set(next))
    }

    /// The wire is free: puts the next packet on it. The time at which it is sent, or at which to try again.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn serve(&mut self, flows: &mut [Flow], now: Time) -> Time {
        self.meter.pass(now);
        if let Some(grants) = &mut self.grants {
            grants.follow(self.queue.packets(), now);
            if let Some(granted) = grants.next().filter(|&granted| granted > now) {
                return granted;
            }
        }
        if let Some(shaper) = &mut self.shaper {
            let free_at = shaper.free_at(now);
            if free_at > now {
                return free_at;
            }
        }
        let (meter, classes, log) = (&mut self.meter, &mut self.classes[..], self.log.as_mut());
        let mut sink = Counter { meter, classes, log, flows, now, purges: false };
        self.on_wire = self.queue.dequeue(now, &mut sink);
        self.meter.hold(self.queue.backlog());
        let Some(packet) = &self.on_wire else {
            return self.queue.ready_at(now).unwrap_or(Time::NEVER);
        };
        if let Some(grants) = &mut self.grants {
            grants.take();
            grants.follow(self.queue.packets(), now);
        }
        if let Some(shaper) = &mut self.shaper {
            shaper.spend(packet.bytes, now);
        }
        let sojourn = now.since(packet.enqueued);
        self.meter.departed(sojourn);
        if self.is_main {
            note_sojourn(packet, sojourn, flows);
        }
        if let Some(class) = self.classes.get_mut(usize::from(packet.class)) {
            class.departed(sojourn);
        }
        if let Some(log) = &mut self.log {
            log.add(PacketEvent::Departure, packet, now);
        }
        self.wire_bytes = self.framing.map_or(packet.bytes, |framing| framing.bytes(packet.bytes));
        self.wire_taken_at = now;
        self.wire_free_at = match &mut self.service {
            Service::Fixed(serializer) => now + serializer.transmit(self.wire_bytes),
            Service::Recorded(opportunities) => opportunities.transmit(self.wire_bytes, now),
            Service::Shared => unreachable!("a medium takes packets itself"),
        };
        if let Some(noise) = &mut self.noise {
            self.wire_free_at = noise.end_of(now, self.wire_free_at);
        }
        self.wire_free_at
    }

    /// Bytes of the packet on the wire that have been sent by `now`; a recorded link sends at instants, not bit by bit.
    fn partial_bytes(&self, now: Time) -> f64 {
        let rate = match self.begun {
            Some((end, rate)) if end == self.wire_free_at => rate,
            _ => self.service.rate(),
        };
        match (rate, &self.on_wire) {
            // Where something is sent again first, nothing of this packet is.
            (Some(rate), Some(_)) => {
                (f64::from(self.wire_bytes) - rate.bytes_in(self.wire_free_at.since(now))).max(0.0)
            }
            _ => 0.0,
        }
    }

    /// What was measured up to `now`, on a link that could have carried `capacity_bytes`.
    pub fn record(&self, capacity_bytes: f64, now: Time) -> LinkRecord {
        let past = self.past_classes.iter().map(|(name, meter)| (name.clone(), meter.record()));
        let classes = self.queue.classes().into_iter().zip(self.classes.iter().map(ClassMeter::record));
        let classes = past.chain(classes).collect();
        LinkRecord { classes, ..self.meter.record(capacity_bytes, self.partial_bytes(now), now) }
    }

    /// What the instruments read at `now`, up to which they have been brought.
    #[cfg(feature = "phases")]
    pub fn reading(&self, now: Time) -> Reading {
        self.meter.reading(self.partial_bytes(now))
    }

    /// The packet on the wire has been sent.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    pub fn finish(&mut self) {
        self.on_wire = None;
        self.meter.totals.sent_bytes += u64::from(self.wire_bytes);
        if let Some(noise) = &mut self.noise {
            self.spoilt = noise.pass(self.wire_bytes, self.wire_taken_at, self.wire_free_at) == Fate::Lost;
        }
    }

    /// Whether `packet`, just sent, is lost: to noise, or at random.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    pub fn loses(&mut self, packet: &Packet, flows: &mut [Flow]) -> bool {
        let at_random = self.loss.as_mut().is_some_and(|(probability, random)| random.chance(*probability));
        let lost = at_random || self.spoilt;
        if lost {
            self.lose(packet, flows);
        }
        lost
    }

    /// `packet` is lost on its way over the link.
    pub fn lose(&mut self, packet: &Packet, flows: &mut [Flow]) {
        self.meter.totals.drops += 1;
        if let Some(class) = self.classes.get_mut(usize::from(packet.class)) {
            class.drops += 1;
        }
        flows[packet.flow as usize].counts.on_drop(packet);
    }

    /// When the discipline's own clock wants to run.
    pub fn timer(&self) -> Option<Time> {
        let others = self.shared.iter().filter_map(|shared| shared.timer());
        self.queue.timer().into_iter().chain(others).min()
    }

    /// Runs the discipline's own clock.
    pub fn on_timer(&mut self, flows: &mut [Flow], now: Time) {
        self.meter.pass(now);
        let (meter, classes, log) = (&mut self.meter, &mut self.classes[..], self.log.as_mut());
        let mut sink = Counter { meter, classes, log, flows, now, purges: false };
        match &mut self.shared {
            None => {
                self.queue.on_timer(now, &mut sink);
                self.meter.hold(self.queue.backlog());
            }
            Some(shared) => {
                shared.on_timer(&mut self.queue, now, &mut sink);
                self.meter.hold(shared.backlog());
            }
        }
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
        if let (Some(rate), Some(noise)) = (after, &mut self.noise) {
            noise.change_rate(rate);
        }
        self.service = service;
    }

    /// The queue takes the parameters of `fresh`, or gives way to it and drops what waits. The wire must be served if it is
    /// free.
    pub fn change_queue(&mut self, fresh: Queue<Segment>, flows: &mut [Flow], now: Time) {
        self.meter.pass(now);
        let (meter, classes, log) = (&mut self.meter, &mut self.classes[..], self.log.as_mut());
        let mut sink = Counter { meter, classes, log, flows, now, purges: false };
        if let Some(fresh) = self.queue.retune(fresh, now, &mut sink) {
            let names = self.queue.classes();
            sink.purges = true;
            purge(&mut self.queue, now, &mut sink);
            let before = names.into_iter().zip(self.classes.drain(..));
            self.past_classes.extend(before);
            self.queue = fresh;
            if let Some(packet) = &mut self.on_wire {
                // It belongs to none of the classes that come.
                packet.class = u8::MAX;
            }
            let mut kept = |name: String| self.past_classes.remove(&name).unwrap_or_default();
            self.classes = self.queue.classes().into_iter().map(&mut kept).collect();
        }
        self.meter.hold(self.queue.backlog());
        if let Some(grants) = &mut self.grants {
            grants.follow(self.queue.packets(), now);
        }
    }

    /// Brings the instruments up to `now`.
    pub fn read(&mut self, now: Time) {
        self.meter.pass(now);
    }

    /// Shows the state of the discipline.
    pub fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
        self.queue.probe(visit);
    }

    /// The warm-up is over.
    pub fn begin_measuring(&mut self, now: Time) {
        let partial_bytes = self.partial_bytes(now);
        self.meter.begin(partial_bytes, now);
        self.classes.fill_with(ClassMeter::default);
        self.past_classes.clear();
        if let Some(shared) = &mut self.shared {
            shared.access.clear();
        }
    }
}

/// A packet has left the queue of a main link.
#[cfg_attr(not(target_family = "wasm"), inline(always))]
fn note_sojourn(packet: &Packet, sojourn: Span, flows: &mut [Flow]) {
    if is_data(&packet.body) {
        flows[packet.flow as usize].note_sojourn(sojourn);
    }
}
