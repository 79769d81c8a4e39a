//! DRR against the numbers of its sources, against an independent rendering of ns-2's, and against the laws of every
//! discipline.

use super::DESCRIPTOR;
use crate::testing::flows::{Fate, FlowStep, flow_lives, live_flows, offer_flows, packet_of};
use crate::testing::{Recorder, build, drain, limit, link, params, probe};
use crate::{Discipline, Queue};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Amount, Time};
use std::collections::{BTreeMap, VecDeque};

const PERFECT: (&str, Value) = ("perfect", Value::Boolean(true));
const HEAD: (&str, Value) = ("drop", Value::Choice("head"));

fn drr(preset: &str, changes: &[(&str, Value)]) -> Queue<u32> {
    build(&params(&DESCRIPTOR, preset, changes), &link(10_000)).unwrap()
}

fn bytes(bytes: u32) -> (&'static str, Value) {
    limit(Amount::Bytes(f64::from(bytes)))
}

fn quantum(bytes: u64) -> (&'static str, Value) {
    ("quantum", Value::Integer(bytes))
}

// Turns.

/// The example of the paper's figures 2 and 3: quantum 500; the first queue holds 200, 750 and 20, the others start with
/// 500. In its first turn the first queue sends 200 and keeps 300; in its second it has 800, sends 750 and 20.
#[test]
fn a_deficit_is_kept_for_the_next_turn() {
    let arrivals = [(0, 200), (0, 750), (0, 20), (1, 500), (1, 500), (2, 200), (2, 600), (2, 100)];
    let (left, dropped) = offer_flows(&mut drr("per-flow", &[quantum(500)]), &arrivals);
    // Flow 2 keeps 300 of its first turn, then sends 600 of 800 and 100 of the 200 that remain.
    assert_eq!((left, dropped), (vec![0, 1, 2, 0, 0, 1, 2, 2], vec![]));
}

/// A packet of 1500 B needs six turns of 250 B, in which the other flow sends 6 times 250 B.
#[test]
fn turns_may_be_smaller_than_packets() {
    let arrivals: Vec<_> = [(0, 1500)].into_iter().chain([(1, 250); 8]).collect();
    assert_eq!(offer_flows(&mut drr("ns2", &[PERFECT]), &arrivals).0, [1, 1, 1, 1, 1, 0, 1, 1, 1]);
}

#[test]
fn the_usual_turn_is_a_full_size_packet() {
    let sizes: Vec<_> = [(0, 1500); 2].into_iter().chain([(1, 500); 6]).collect();
    assert_eq!(offer_flows(&mut drr("per-flow", &[]), &sizes).0, [0, 1, 1, 1, 0, 1, 1, 1]);
}

#[test]
fn an_empty_bucket_forgets_its_deficit() {
    let mut queue = drr("per-flow", &[quantum(1500)]);
    assert_eq!(offer_flows(&mut queue, &[(0, 100)]).0, [0]);
    // 1400 B saved would let flow 0 send three packets at first.
    assert_eq!(offer_flows(&mut queue, &[(0, 900), (0, 900), (0, 900), (1, 900)]).0, [0, 1, 0, 0]);
}

// Overflow.

/// 25,000 B are 16 packets of 1500 B, however they are spread.
#[test]
fn ns2_holds_sixteen_packets() {
    for flows in [1, 2, 10] {
        let arrivals: Vec<_> = (0..100).map(|number| (number % flows, 1500)).collect();
        assert_eq!(offer_flows(&mut drr("ns2", &[PERFECT]), &arrivals).0.len(), 16);
    }
}

#[test]
fn the_fattest_pays_in_bytes() {
    // Flow 1 has more packets, flow 0 more bytes.
    let arrivals = [(0, 1500), (0, 1500), (1, 500), (1, 500), (1, 500), (1, 500), (2, 1000)];
    let (_, dropped) = offer_flows(&mut drr("per-flow", &[bytes(5000)]), &arrivals);
    assert_eq!(dropped, [0]);
    // One large arrival may cost several packets: first of the one of two equals whose turn comes first, then its own.
    let arrivals = [(0, 400), (0, 400), (0, 400), (1, 600), (2, 1200)];
    assert_eq!(offer_flows(&mut drr("per-flow", &[bytes(1800)]), &arrivals).1, [0, 2]);
}

#[test]
fn the_tail_or_the_head_is_dropped() {
    let kept = |changes: &[_]| {
        let (mut queue, mut sink) = (drr("per-flow", changes), Recorder::default());
        (0..5).for_each(|number| queue.enqueue(packet_of(0, 1500, number), Time::ZERO, &mut sink));
        drain(&mut queue)
    };
    assert_eq!(kept(&[limit(Amount::Packets(3.0))]), [0, 1, 2]);
    assert_eq!(kept(&[limit(Amount::Packets(3.0)), HEAD]), [2, 3, 4]);
}

#[test]
fn a_limit_that_holds_nothing_is_refused() {
    let fault = |amount| build(&params(&DESCRIPTOR, "ns2", &[limit(amount)]), &link(10_000)).err();
    assert_eq!(fault(Amount::Bytes(1499.0)), Some("limit"));
    assert_eq!(fault(Amount::Bytes(1500.0)), None);
}

#[test]
fn flows_that_collide_share_a_turn() {
    let mut queue = drr("ns2", &[("buckets", Value::Integer(1))]);
    assert_eq!(offer_flows(&mut queue, &[(0, 1000), (1, 1000), (2, 1000), (0, 1000)]).0, [0, 1, 2, 0]);
}

// ns-2.

/// ns-2.35's `enque` and `deque`, with its list that is searched from the current bucket on.
struct Ns2 {
    limit: u64,
    quantum: u64,
    buckets: BTreeMap<u32, Bucket>,
    /// The current bucket first.
    round: VecDeque<u32>,
}

#[derive(Default)]
struct Bucket {
    packets: VecDeque<(u32, u64)>,
    deficit: u64,
    turn: bool,
}

impl Bucket {
    fn bytes(&self) -> u64 {
        self.packets.iter().map(|&(_, bytes)| bytes).sum()
    }
}

impl Ns2 {
    fn arrive(&mut self, flow: u32, bytes: u32, number: u32) -> Vec<Fate> {
        let bucket = self.buckets.entry(flow).or_default();
        bucket.packets.push_back((number, u64::from(bytes)));
        if bucket.packets.len() == 1 {
            bucket.deficit = 0;
            self.round.push_back(flow);
        }
        let mut fates = vec![];
        while self.buckets.values().map(Bucket::bytes).sum::<u64>() > self.limit {
            let mut fattest = self.round[0];
            for &other in &self.round {
                if self.buckets[&fattest].bytes() < self.buckets[&other].bytes() {
                    fattest = other;
                }
            }
            let bucket = self.buckets.get_mut(&fattest).unwrap();
            fates.push(Fate::Dropped(bucket.packets.pop_front().unwrap().0));
            assert!(!bucket.packets.is_empty(), "see the module's text");
        }
        fates
    }

    fn ask(&mut self) -> Option<Fate> {
        loop {
            let bucket = self.buckets.get_mut(self.round.front()?).unwrap();
            if !bucket.turn {
                bucket.deficit += self.quantum;
                bucket.turn = true;
            }
            let (number, bytes) = bucket.packets[0];
            if bucket.deficit >= bytes {
                bucket.deficit -= bytes;
                bucket.packets.pop_front();
                if bucket.packets.is_empty() {
                    *bucket = Bucket::default();
                    self.round.pop_front();
                }
                return Some(Fate::Left(number));
            }
            bucket.turn = false;
            self.round.rotate_left(1);
        }
    }
}

proptest! {
    /// Packet by packet.
    #[test]
    fn decides_as_ns2_does(life in flow_lives(10), most in 15_001u32..25_001, each in 100u64..3000) {
        let fates = live_flows(&mut drr("ns2", &[bytes(most), quantum(each), PERFECT]), &life, |_| ())?;
        let mut ns2 = Ns2 { limit: u64::from(most), quantum: each, buckets: BTreeMap::new(), round: VecDeque::new() };
        let mut number = 0;
        let expected: Vec<Fate> = life.iter().flat_map(|step| match *step {
            FlowStep::Arrive(flow, bytes) => { number += 1; ns2.arrive(flow, bytes, number - 1) }
            FlowStep::Ask => ns2.ask().into_iter().collect(),
            FlowStep::Wait(_) => vec![],
        }).collect();
        prop_assert_eq!(fates, expected);
    }
}

// Laws.

proptest! {
    #[test]
    fn limits_hold_and_nothing_is_lost(
        amount in prop_oneof![
            (1u32..40).prop_map(|packets| Amount::Packets(f64::from(packets))),
            (1500u32..40_000).prop_map(|bytes| Amount::Bytes(f64::from(bytes))),
        ],
        buckets in 1u64..20, each in 1u64..4000, head: bool, life in flow_lives(20),
    ) {
        let changes = [
            limit(amount),
            ("buckets", Value::Integer(buckets)),
            quantum(each),
            ("drop", Value::Choice(if head { "head" } else { "tail" })),
        ];
        let run = || live_flows(&mut drr("ns2", &changes), &life, |queue| {
            match amount {
                Amount::Packets(packets) => assert!(queue.packets() as f64 <= packets),
                amount => assert!(queue.bytes() as f64 <= amount.bytes(link(10_000).rate, 1500.0)),
            }
            assert!(probe(queue, "active_buckets") <= buckets as f64);
            assert!(probe(queue, "fattest_bucket_bytes") <= queue.bytes() as f64);
            assert_eq!(probe(queue, "active_buckets") > 0.0, queue.packets() > 0);
        });
        prop_assert_eq!(run()?, run()?, "the same stream makes the same decisions");
    }

    /// The paper's theorem: while both are backlogged, what two flows sent differs by less than a quantum and two of the
    /// largest packets.
    #[test]
    fn bytes_are_shared_as_the_paper_says(sizes in prop::collection::vec(40u32..=1500, 4), each in 100u64..4000) {
        let mut queue = drr("per-flow", &[limit(Amount::Packets(10_000.0)), quantum(each)]);
        let mut sink = Recorder::default();
        for number in 0..4000 {
            queue.enqueue(packet_of(number % 4, sizes[number as usize % 4], number), Time::ZERO, &mut sink);
        }
        let mut sent = [0u64; 4];
        while sent.iter().zip(&sizes).all(|(&bytes, &size)| bytes < 1000 * u64::from(size)) {
            let packet = queue.dequeue(Time::ZERO, &mut sink).unwrap();
            sent[packet.flow as usize] += u64::from(packet.bytes);
            let (least, greatest) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
            prop_assert!(greatest - least <= each + 2 * 1500, "{:?}", sent);
        }
    }
}
