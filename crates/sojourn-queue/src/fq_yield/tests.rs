//! FQ-Yield against senders that yield, push or pretend, in a small closed loop, and against what it promises everybody.

use super::{DESCRIPTOR, FqYield};
use crate::laws::packet_of;
use crate::testing::{Recorder, build, limit, link, params, probe};
use crate::{Discipline, Ecn, Queue};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Amount, Span, Time};
use std::collections::VecDeque;

const PERFECT: (&str, Value) = ("perfect", Value::Boolean(true));
/// A full packet on the link, which takes 1.2 ms for it.
const PACKET: u32 = 1500;
const SLOT: Span = Span::from_micros(1200);
const RTT: Span = Span::from_millis(50);
/// At a quarter of the link 24 packets are 50 ms on the way and 65 ms of backlog.
const PRETENDED: f64 = 24.0;

fn fq_yield(changes: &[(&str, Value)]) -> Queue<u32> {
    build(&params(&DESCRIPTOR, "default", &[&[PERFECT], changes].concat()), &link(10_000)).unwrap()
}

/// How a sender sets its window.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// As NewReno: a segment more each round trip, half after a loss.
    Greedy,
    /// As LEDBAT with a target of 100 ms and a floor of two segments.
    Scavenger,
    /// It has so large a window that there is always a backlog, whatever is lost.
    Fixed,
    /// It has a window that is worth a fair share and some backlog, and sends nothing for so long when delayed for more
    /// than 100 ms.
    Pauses(Span),
    /// As `Pauses`, but its window is two while it is delayed.
    Shrinks,
}

struct Sender {
    kind: Kind,
    window: f64,
    in_flight: u32,
    paused_until: Time,
    halved: Time,
    /// When the acknowledgement of each packet arrives, and how long the packet waited.
    acknowledgements: VecDeque<(Time, Span)>,
    /// How long it has been deferred.
    deferred: Span,
}

impl Sender {
    fn new(kind: Kind) -> Sender {
        let window = match kind {
            Kind::Greedy | Kind::Scavenger => 10.0,
            Kind::Fixed => 300.0,
            Kind::Pauses(_) | Kind::Shrinks => PRETENDED,
        };
        let (paused_until, halved) = (Time::ZERO, Time::ZERO);
        Sender {
            kind,
            window,
            in_flight: 0,
            paused_until,
            halved,
            acknowledgements: VecDeque::new(),
            deferred: Span::ZERO,
        }
    }

    fn on_acknowledgement(&mut self, waited: Span, now: Time) {
        self.in_flight -= 1;
        let too_long = waited > Span::from_millis(100);
        match self.kind {
            Kind::Greedy => self.window += 1.0 / self.window,
            Kind::Scavenger => {
                let off_target = 1.0 - waited.as_nanos() as f64 / 100e6;
                self.window = (self.window + off_target / self.window).max(2.0);
            }
            Kind::Fixed => {}
            Kind::Pauses(pause) if too_long => self.paused_until = now + pause,
            Kind::Pauses(_) => {}
            Kind::Shrinks => self.window = if too_long { 2.0 } else { PRETENDED },
        }
    }

    fn on_loss(&mut self, now: Time) {
        self.in_flight -= 1;
        if matches!(self.kind, Kind::Greedy | Kind::Scavenger) && now.since(self.halved) > RTT {
            (self.window, self.halved) = ((self.window / 2.0).max(2.0), now);
        }
    }
}

/// Senders around a queue and a link of 10 Mbit/s.
struct Loop {
    queue: Queue<u32>,
    senders: Vec<Sender>,
    now: Time,
    /// Slots in which nothing was sent although packets waited.
    held_slots: u32,
}

impl Loop {
    fn new(queue: Queue<u32>, kinds: &[Kind]) -> Loop {
        let senders = kinds.iter().map(|&kind| Sender::new(kind)).collect();
        Loop { queue, senders, now: Time::ZERO, held_slots: 0 }
    }

    /// Bodies are numbers of flows.
    fn slot(&mut self) -> Option<u32> {
        let mut sink = Recorder::default();
        for (flow, sender) in (0..).zip(&mut self.senders) {
            while let Some(&(at, waited)) = sender.acknowledgements.front().filter(|(at, _)| *at <= self.now) {
                sender.acknowledgements.pop_front();
                sender.on_acknowledgement(waited, at);
            }
            while f64::from(sender.in_flight) < sender.window.floor() && sender.paused_until <= self.now {
                sender.in_flight += 1;
                self.queue.enqueue(packet_of(flow, PACKET, flow, Ecn::NotEct), self.now, &mut sink);
            }
        }
        let sent = self.queue.dequeue(self.now, &mut sink);
        for (flow, _) in sink.drops {
            self.senders[flow as usize].on_loss(self.now);
        }
        if let Some(packet) = &sent {
            let waited = self.now.since(packet.enqueued);
            self.senders[packet.flow as usize].acknowledgements.push_back((self.now + RTT, waited));
        }
        for flow in 0..self.senders.len() {
            if inside(&self.queue).flows.get(flow).is_some_and(|flow| flow.deferred.is_some()) {
                self.senders[flow].deferred += SLOT;
            }
        }
        self.now += SLOT;
        sent.map(|packet| packet.flow)
    }

    /// Packets that each sender got through in so many seconds.
    fn run(&mut self, seconds: u64) -> Vec<u32> {
        let mut sent = vec![0; self.senders.len()];
        let end = self.now + Span::from_secs(seconds);
        while self.now < end {
            match self.slot() {
                Some(flow) => sent[flow as usize] += 1,
                None => self.held_slots += u32::from(self.queue.packets() > 0),
            }
        }
        sent
    }
}

fn inside(queue: &Queue<u32>) -> &FqYield<u32> {
    let Queue::FqYield(queue) = queue else { panic!("FQ-Yield") };
    queue
}

fn share(sent: &[u32], flow: usize) -> f64 {
    f64::from(sent[flow]) / f64::from(sent.iter().sum::<u32>())
}

#[test]
fn a_scavenger_is_found_and_served_after_the_others() {
    let kinds = [Kind::Greedy, Kind::Greedy, Kind::Scavenger];
    let mut world = Loop::new(fq_yield(&[]), &kinds);
    world.run(20);
    let sent = world.run(20);
    assert_eq!(probe(&world.queue, "yielding_queues"), 1.0);
    assert!(share(&sent, 2) < 0.05, "{sent:?}");
    // FQ-CoDel gives it a third.
    let mut world = Loop::new(fq_yield(&[("pause", Value::Span(Span::from_secs(9999))), NEVER]), &kinds);
    inside_mut(&mut world.queue).rules.deferral = Span::from_millis(1);
    world.run(20);
    assert!(share(&world.run(20), 2) > 0.25);
}

const NEVER: (&str, Value) = ("max_pause", Value::Span(Span::from_secs(9999)));

fn inside_mut(queue: &mut Queue<u32>) -> &mut FqYield<u32> {
    let Queue::FqYield(queue) = queue else { panic!("FQ-Yield") };
    queue
}

#[test]
fn an_idle_link_belongs_to_those_behind() {
    let mut world = Loop::new(fq_yield(&[]), &[Kind::Greedy, Kind::Greedy, Kind::Scavenger]);
    world.run(30);
    assert_eq!(probe(&world.queue, "yielding_queues"), 1.0);
    // The others stop; ten seconds are left for the window to grow again.
    for sender in &mut world.senders[..2] {
        sender.paused_until = Time::NEVER;
    }
    world.held_slots = 0;
    world.run(10);
    let sent = world.run(10);
    assert_eq!(world.held_slots, 0, "the link is free for it");
    // CoDel halves the window of the only flow now and then, as in FQ-CoDel.
    assert!(sent[2] > 6_600, "{sent:?} of 8333");
    // They come back, and have it again within two seconds.
    for sender in &mut world.senders[..2] {
        (sender.paused_until, sender.window) = (Time::ZERO, 20.0);
    }
    world.run(2);
    let sent = world.run(5);
    assert!(share(&sent, 2) < 0.1, "{sent:?}");
}

/// Greedy flows alone: how long each is deferred, and what that costs it.
#[test]
fn a_flow_that_pushes_loses_little_by_probes() {
    let mut world = Loop::new(fq_yield(&[]), &[Kind::Greedy; 4]);
    let sent = world.run(120);
    assert_eq!(probe(&world.queue, "yielding_queues"), 0.0);
    for (flow, sender) in world.senders.iter().enumerate() {
        // Probes at 1, 9, 25, 57 s and not before 121 s.
        assert!(sender.deferred <= Span::from_millis(150) * 20 * 4, "{} deferred", sender.deferred);
        assert!((0.22..0.28).contains(&share(&sent, flow)), "{sent:?}");
    }
    assert!(world.held_slots < 1000, "the link was kept waiting in {} of 100000 slots", world.held_slots);
}

/// Whoever pauses or shrinks when delayed, and takes all it can otherwise, gets no more than its fair share.
#[test]
fn pretending_to_yield_gains_nothing() {
    let millis = Span::from_millis;
    for kind in [Kind::Pauses(millis(10)), Kind::Pauses(millis(200)), Kind::Pauses(millis(2000)), Kind::Shrinks] {
        let kinds = [Kind::Fixed, Kind::Fixed, Kind::Fixed, kind];
        let mut world = Loop::new(fq_yield(&[("limit", Value::Amount(Amount::Packets(10_000.0)))]), &kinds);
        let (mut sent, mut honest) = (0, 0);
        for second in 0..60 {
            let one = world.run(1);
            (sent, honest) = (sent + one[3], honest + one[..3].iter().max().unwrap());
            assert!(sent <= honest + 3, "{kind:?} has {sent} packets and an honest flow {honest} after {second} s");
        }
        assert!(f64::from(sent) <= 60.0 * 833.4 / 4.0 * 1.02, "{kind:?} has {sent} packets, a quarter and more");
    }
}

#[test]
fn who_pushes_after_it_has_yielded_is_back_at_once() {
    let mut world = Loop::new(fq_yield(&[]), &[Kind::Greedy, Kind::Greedy, Kind::Scavenger]);
    world.run(30);
    assert!(inside(&world.queue).flows[2].deferred.is_some());
    let turned = world.now;
    world.senders[2].kind = Kind::Fixed;
    world.senders[2].window = 50.0;
    while inside(&world.queue).flows[2].deferred.is_some() {
        world.slot();
        assert!(world.now.since(turned) < Span::from_secs(3), "two rounds of 1.2 s");
    }
    assert!(share(&world.run(3), 2) > 0.3, "its fair share and what the others leave");
}

#[test]
fn greatest_values_below_the_least_are_refused() {
    for (name, nanos) in [("max_deferral", 149), ("max_pause", 7_999)] {
        let changes = [(name, Value::Span(Span::from_millis(nanos)))];
        assert_eq!(build(&params(&DESCRIPTOR, "default", &changes), &link(10_000)).err(), Some(name));
    }
}

/// What happens beside a flow that always has a backlog.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A flow has a backlog of so many packets from now on.
    Keep(u32, usize),
    /// The link sends so many packets.
    Serve(u32),
}

proptest! {
    /// While a flow in front has a backlog, nobody gets more than it does, whatever others do and whoever is deferred: a packet
    /// for the place in the round, one for the turn as a new flow.
    #[test]
    fn nobody_is_served_before_its_fair_turn(
        steps in prop::collection::vec(prop_oneof![
            1 => (1u32..6, 0usize..5).prop_map(|(flow, packets)| Step::Keep(flow, packets)),
            1 => (1u32..6, 0usize..60).prop_map(|(flow, packets)| Step::Keep(flow, packets)),
            2 => (1u32..3000).prop_map(Step::Serve),
        ], 1..40),
        packets in 20.0..2000.0f64,
    ) {
        let mut queue = fq_yield(&[limit(Amount::Packets(packets.floor()))]);
        let (mut now, mut sink) = (Time::ZERO, Recorder::default());
        let mut kept = [3, 2, 0, 0, 0, 0];
        // By how much each flow is ahead of flow 0, and the least of it since that was deferred last.
        let (mut ahead, mut least) = ([0i64; 6], [0i64; 6]);
        for step in steps {
            let packets = match step {
                Step::Keep(flow, packets) => {
                    kept[flow as usize] = packets;
                    continue;
                }
                Step::Serve(packets) => packets,
            };
            for _ in 0..packets {
                for flow in 0..6 {
                    let missing = kept[flow as usize] - inside(&queue).queues.packets_of(flow as usize).min(kept[flow as usize]);
                    for _ in 0..missing {
                        queue.enqueue(packet_of(flow, PACKET, flow, Ecn::NotEct), now, &mut sink);
                    }
                }
                let is_deferred = inside(&queue).flows[0].deferred.is_some();
                let sent = queue.dequeue(now, &mut sink).map(|packet| packet.flow as usize);
                now += SLOT;
                if is_deferred || inside(&queue).flows[0].deferred.is_some() {
                    (ahead, least) = ([0; 6], [0; 6]);
                    continue;
                }
                match sent {
                    Some(0) => (1..6).for_each(|flow| {
                        ahead[flow] -= 1;
                        least[flow] = least[flow].min(ahead[flow]);
                    }),
                    Some(flow) => ahead[flow] += 1,
                    None => prop_assert!(false, "flow 0 is in front and has a backlog"),
                }
                prop_assert!((1..6).all(|flow| ahead[flow] - least[flow] <= 2), "{ahead:?} {least:?}");
            }
        }
    }
}
