//! FQ-CoDel against RFC 8290 and the kernel's source, against a plain rendering that scans, and against the laws.

use super::DESCRIPTOR;
use crate::laws::{Event, lead, mixed_lives, packet_of};
use crate::testing::{Recorder, build, limit, link, params, probe};
use crate::{Discipline, DropReason, Ecn, Queue};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Amount, Span, Time};
use std::collections::{BTreeMap, VecDeque};

const PERFECT: (&str, Value) = ("perfect", Value::Boolean(true));

fn fq_codel(preset: &str, changes: &[(&str, Value)]) -> Queue<u32> {
    build(&params(&DESCRIPTOR, preset, changes), &link(10_000)).unwrap()
}

/// Offers `packets` packets of `bytes` bytes of a flow at once; their numbers are the flow's.
fn offer(queue: &mut Queue<u32>, sink: &mut Recorder, flow: u32, packets: u32, bytes: u32) {
    for _ in 0..packets {
        queue.enqueue(packet_of(flow, bytes, flow, Ecn::NotEct), Time::ZERO, sink);
    }
}

fn send(queue: &mut Queue<u32>, packets: usize) -> Vec<u32> {
    let mut sink = Recorder::default();
    (0..packets).map(|_| queue.dequeue(Time::ZERO, &mut sink).unwrap().body).collect()
}

#[test]
fn flows_take_turns_of_a_quantum() {
    let mut queue = fq_codel("linux", &[PERFECT]);
    let mut sink = Recorder::default();
    offer(&mut queue, &mut sink, 0, 10, 1500);
    offer(&mut queue, &mut sink, 1, 20, 500);
    // A quantum is 1500 B: one packet of the first, three of the second.
    assert_eq!(send(&mut queue, 12), [0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1]);
}

/// Quantum 1514: after a packet of 1500 B 14 B are left, and one more packet may go; then 1486 B are owed and the next
/// quantum leaves 28.
#[test]
fn the_rfc_s_quantum_is_a_little_more_than_a_packet() {
    let mut queue = fq_codel("rfc", &[PERFECT]);
    let mut sink = Recorder::default();
    offer(&mut queue, &mut sink, 0, 10, 1500);
    offer(&mut queue, &mut sink, 1, 10, 1514);
    assert_eq!(send(&mut queue, 10), [0, 0, 1, 0, 1, 0, 1, 0, 1, 0]);
}

#[test]
fn a_sparse_flow_goes_first() {
    for preset in ["rfc", "linux", "ns3"] {
        let mut queue = fq_codel(preset, &[PERFECT]);
        let mut sink = Recorder::default();
        offer(&mut queue, &mut sink, 0, 50, 1500);
        offer(&mut queue, &mut sink, 1, 50, 1500);
        send(&mut queue, 20);
        assert_eq!((probe(&queue, "new_queues"), probe(&queue, "old_queues")), (0.0, 2.0));
        offer(&mut queue, &mut sink, 2, 1, 100);
        assert_eq!(probe(&queue, "new_queues"), 1.0);
        assert_eq!(send(&mut queue, 1), [2]);
        // The queue is found empty only now: it goes behind the old ones, and its next packet with it.
        assert_ne!(send(&mut queue, 1), [2]);
        offer(&mut queue, &mut sink, 2, 1, 100);
        assert_eq!((probe(&queue, "new_queues"), probe(&queue, "old_queues")), (0.0, 3.0));
        assert!(send(&mut queue, 4).contains(&2), "{preset}");
    }
}

#[test]
fn flows_that_collide_share_a_queue() {
    let mut queue = fq_codel("linux", &[("flows", Value::Integer(1))]);
    let mut sink = Recorder::default();
    for _ in 0..3 {
        offer(&mut queue, &mut sink, 0, 1, 1500);
        offer(&mut queue, &mut sink, 1, 2, 1500);
    }
    assert_eq!(send(&mut queue, 9), [0, 1, 1, 0, 1, 1, 0, 1, 1]);
}

#[test]
fn the_fattest_flow_loses_half_from_its_head() {
    let mut queue = fq_codel("linux", &[PERFECT, limit(Amount::Packets(100.0))]);
    let mut sink = Recorder::default();
    // 60 packets of 1500 B are more bytes than 40 of 2000 B less one.
    for number in 0..60 {
        queue.enqueue(packet_of(0, 1500, number, Ecn::NotEct), Time::ZERO, &mut sink);
    }
    offer(&mut queue, &mut sink, 1, 40, 1500);
    assert!(sink.drops.is_empty(), "100 fit");
    offer(&mut queue, &mut sink, 2, 1, 40);
    assert_eq!(sink.drops, (0..30).map(|number| (number, DropReason::Overflow)).collect::<Vec<_>>());
    assert_eq!(queue.packets(), 71);
}

#[test]
fn a_batch_is_no_larger_than_allowed() {
    let dropped = |batch| {
        let changes = [PERFECT, limit(Amount::Packets(1000.0)), ("drop_batch", Value::Integer(batch))];
        let mut queue = fq_codel("linux", &changes);
        let mut sink = Recorder::default();
        offer(&mut queue, &mut sink, 0, 1001, 1500);
        sink.drops.len()
    };
    assert_eq!(dropped(1), 1);
    assert_eq!(dropped(64), 64);
    // Half of 1501500 B are 500.5 packets.
    assert_eq!(dropped(10_000), 501);
}

#[test]
fn most_bytes_count_not_most_packets() {
    let mut queue = fq_codel("linux", &[PERFECT, limit(Amount::Packets(100.0))]);
    let mut sink = Recorder::default();
    offer(&mut queue, &mut sink, 0, 80, 100);
    offer(&mut queue, &mut sink, 1, 21, 1500);
    assert!(sink.drops.len() == 11 && sink.drops.iter().all(|drop| drop.0 == 1), "{:?}", sink.drops);
}

#[test]
fn memory_is_a_second_limit() {
    let memory = ("memory_limit", Value::Amount(Amount::Bytes(30_000.0)));
    let mut queue = fq_codel("linux", &[PERFECT, memory]);
    let mut sink = Recorder::default();
    offer(&mut queue, &mut sink, 0, 20, 1500);
    assert!(sink.drops.is_empty());
    offer(&mut queue, &mut sink, 0, 1, 1500);
    assert_eq!(sink.drops.len(), 11, "half of 31500 B are 10.5 packets");
    assert_eq!(queue.bytes(), 15_000);
}

/// In milliseconds: how long after its first signal a queue sends its second one.
fn second_signal(changes: &[(&str, Value)], overflow: bool) -> u64 {
    let exact =
        [PERFECT, ("root", Value::Choice("exact")), limit(Amount::Packets(1000.0)), ("drop_batch", Value::Integer(9))];
    let mut queue = fq_codel("rfc", &[&exact[..], changes].concat());
    let mut sink = Recorder::default();
    offer(&mut queue, &mut sink, 0, 1000 + u32::from(overflow), 1500);
    let (mut times, mut seen) = (Vec::new(), sink.drops.len());
    for ms in 1..400 {
        queue.dequeue(Time::ZERO + Span::from_millis(ms), &mut sink).unwrap();
        times.extend((seen..sink.drops.len()).map(|_| ms));
        seen = sink.drops.len();
    }
    assert!(sink.drops.iter().all(|drop| drop.1 == if drop.0 == 0 { drop.1 } else { DropReason::Early }));
    times[1] - times[0]
}

#[test]
fn overflows_make_codel_press_harder_in_linux() {
    let counts = [("overflow_counts", Value::Boolean(true))];
    assert_eq!(second_signal(&counts, false), 100);
    assert_eq!(second_signal(&[], true), 100);
    // Nine packets were dropped: the state is entered with count 9, and 100/3 is 33.3.
    assert_eq!(second_signal(&counts, true), 34);
}

/// A flow with two packets in its queue beside one with a hundred: when one is taken, one remains.
#[test]
fn the_guard_looks_at_all_queues_or_at_one() {
    let drops = |changes: &[(&str, Value)]| {
        let mut queue = fq_codel("rfc", &[&[PERFECT], changes].concat());
        let mut sink = Recorder::default();
        offer(&mut queue, &mut sink, 0, 100, 1500);
        offer(&mut queue, &mut sink, 1, 2, 1500);
        for step in 1..300 {
            let now = Time::ZERO + Span::from_millis(10 * step);
            let drops = sink.drops.len();
            let sent = queue.dequeue(now, &mut sink).unwrap().body;
            // Another of the same flow for each that has gone.
            for flow in sink.drops[drops..].iter().map(|drop| drop.0).chain([sent]).collect::<Vec<_>>() {
                queue.enqueue(packet_of(flow, 1500, flow, Ecn::NotEct), now, &mut sink);
            }
        }
        [0, 1].map(|flow| sink.drops.iter().filter(|drop| drop.0 == flow).count())
    };
    let [long, short] = drops(&[]);
    assert!(long > 10 && short > 10, "{long} {short}");
    let [long, short] = drops(&[("min_bytes_in", Value::Choice("queue"))]);
    assert!(long > 10 && short == 0, "{long} {short}");
}

#[test]
fn each_queue_has_its_own_controller() {
    let mut queue = fq_codel("rfc", &[PERFECT]);
    let mut sink = Recorder::default();
    let mut now = Time::ZERO;
    // Flow 0 stands; flow 1 sends one packet every 10 ms, which is less than its share.
    for step in 0..1000 {
        if step % 10 == 0 {
            queue.enqueue(packet_of(1, 1500, 1, Ecn::NotEct), now, &mut sink);
        }
        while queue.packets() < 50 {
            queue.enqueue(packet_of(0, 1500, 0, Ecn::NotEct), now, &mut sink);
        }
        queue.dequeue(now, &mut sink);
        now += Span::from_millis(1);
    }
    assert!(sink.drops.len() > 20);
    assert!(sink.drops.iter().all(|drop| drop.0 == 0), "{:?}", sink.drops);
}

#[test]
fn wrong_combinations_name_the_parameter() {
    let fault = |changes: &[_]| build(&params(&DESCRIPTOR, "linux", changes), &link(10_000)).err();
    assert_eq!(fault(&[]), None);
    assert_eq!(fault(&[("target", Value::Span(Span::from_millis(100)))]), Some("target"));
    assert_eq!(fault(&[limit(Amount::Bytes(1000.0))]), Some("limit"));
    assert_eq!(fault(&[("memory_limit", Value::Amount(Amount::Bytes(1000.0)))]), Some("memory_limit"));
}

/// sch_fq_codel.c with plain containers and scans, without CoDel: no packet here waits for longer than target.
#[derive(Default)]
struct Linux {
    flows: BTreeMap<u32, (VecDeque<(u32, u64)>, i64)>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    drops: Vec<u32>,
    limit: usize,
    batch: usize,
}

impl Linux {
    fn backlog(&self, flow: u32) -> u64 {
        self.flows[&flow].0.iter().map(|packet| packet.1).sum()
    }

    fn enqueue(&mut self, flow: u32, number: u32, bytes: u32) {
        let (queue, deficit) = self.flows.entry(flow).or_default();
        queue.push_back((number, u64::from(bytes)));
        if !self.new.contains(&flow) && !self.old.contains(&flow) {
            self.new.push_back(flow);
            *deficit = 1500;
        }
        if self.flows.values().map(|(queue, _)| queue.len()).sum::<usize>() <= self.limit {
            return;
        }
        // Bucket numbers are those of first appearance, which is the order of flows here.
        let (mut fattest, mut most) = (0, 0);
        for &flow in self.flows.keys() {
            if self.backlog(flow) > most {
                (fattest, most) = (flow, self.backlog(flow));
            }
        }
        let (mut dropped, mut packets) = (0, 0);
        loop {
            let (number, bytes) = self.flows.get_mut(&fattest).unwrap().0.pop_front().unwrap();
            self.drops.push(number);
            dropped += bytes;
            packets += 1;
            if packets >= self.batch || dropped >= most / 2 {
                break;
            }
        }
    }

    fn dequeue(&mut self) -> Option<u32> {
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let flow = *list.front()?;
            let (queue, deficit) = self.flows.get_mut(&flow).unwrap();
            if *deficit <= 0 {
                *deficit += 1500;
                list.pop_front();
                self.old.push_back(flow);
                continue;
            }
            if let Some((number, bytes)) = queue.pop_front() {
                *deficit -= bytes as i64;
                return Some(number);
            }
            list.pop_front();
            if from_new && !self.old.is_empty() {
                self.old.push_back(flow);
            }
        }
    }
}

proptest! {
    #[test]
    fn schedules_and_drops_as_linux_does(
        steps in prop::collection::vec((0u32..8, prop_oneof![Just(1500u32), 40u32..1500], 0u32..5), 1..600),
        most in 1usize..60,
        batch in 1u64..20,
    ) {
        let changes = [PERFECT, limit(Amount::Packets(most as f64)), ("drop_batch", Value::Integer(batch))];
        let mut queue = fq_codel("linux", &changes);
        let mut linux = Linux { limit: most, batch: batch as usize, ..Linux::default() };
        // Bucket numbers are given in the order of arrival: let flows appear in order.
        let mut sink = Recorder::default();
        for flow in 0..8 {
            queue.enqueue(packet_of(flow, 40, 1_000_000 + flow, Ecn::NotEct), Time::ZERO, &mut sink);
            linux.enqueue(flow, 1_000_000 + flow, 40);
        }
        for (number, (flow, bytes, what)) in (0..).zip(steps) {
            if what < 3 {
                queue.enqueue(packet_of(flow, bytes, number, Ecn::NotEct), Time::ZERO, &mut sink);
                linux.enqueue(flow, number, bytes);
            } else {
                let sent = queue.dequeue(Time::ZERO, &mut sink).map(|packet| packet.body);
                prop_assert_eq!(sent, linux.dequeue());
            }
            prop_assert_eq!(sink.drops.iter().map(|drop| drop.0).collect::<Vec<_>>(), linux.drops.clone());
        }
    }

    #[test]
    fn limits_hold(
        preset in prop::sample::select(vec!["rfc", "linux", "ns3"]),
        packets in 1u32..60,
        memory in 2_000u32..60_000,
        perfect: bool,
        life in mixed_lives(),
    ) {
        let changes = [
            limit(Amount::Packets(f64::from(packets))),
            ("memory_limit", Value::Amount(Amount::Bytes(f64::from(memory)))),
            ("perfect", Value::Boolean(perfect)),
        ];
        let mut queue = fq_codel(preset, &changes);
        lead(&mut queue, &life, |queue| {
            assert!(queue.packets() <= packets as usize && queue.bytes() <= u64::from(memory));
        })?;
    }

    /// With one flow there is nothing to schedule: FQ-CoDel is CoDel.
    #[test]
    fn one_flow_is_under_codel(life in mixed_lives(), waits in 1u32..30_000) {
        let one: Vec<Event> = life
            .iter()
            .flat_map(|event| match *event {
                Event::Arrive(_, bytes, ecn) => [Event::Arrive(0, bytes, ecn), Event::Wait(0)],
                Event::Burst(_, packets) => [Event::Burst(0, packets), Event::Serve(3, waits)],
                other => [other, Event::Wait(0)],
            })
            .collect();
        let plain = params(&crate::codel::DESCRIPTOR, "linux", &[("ecn", Value::Boolean(true)), limit(Amount::Packets(1e6))]);
        let mut plain = build(&plain, &link(10_000)).unwrap();
        let mut fair = fq_codel("linux", &[limit(Amount::Packets(1e6))]);
        prop_assert_eq!(lead(&mut fair, &one, |_| ())?, lead(&mut plain, &one, |_| ())?);
    }
}
