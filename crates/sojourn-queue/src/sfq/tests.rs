//! SFQ against the numbers of its sources, against independent renderings of two of them, and against the laws of
//! every discipline.

use super::DESCRIPTOR;
use crate::testing::flows::{Fate, FlowStep, flow_lives, live_flows, offer_flows, packet_of};
use crate::testing::{Recorder, build, drain, limit, link, params, probe};
use crate::{Discipline, Queue};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Amount, Span, Time};
use std::collections::{BTreeMap, VecDeque};

const PERFECT: (&str, Value) = ("perfect", Value::Boolean(true));
const HEAD: (&str, Value) = ("drop", Value::Choice("head"));

fn sfq(preset: &str, changes: &[(&str, Value)]) -> Queue<u32> {
    build(&params(&DESCRIPTOR, preset, changes), &link(10_000)).unwrap()
}

fn packets(packets: u32) -> (&'static str, Value) {
    limit(Amount::Packets(f64::from(packets)))
}

fn integer(name: &'static str, value: u64) -> (&'static str, Value) {
    (name, Value::Integer(value))
}

/// `each` full-size packets of each of `flows` flows, in turns.
fn in_turns(flows: u32, each: u32) -> Vec<(u32, u32)> {
    (0..each).flat_map(|_| (0..flows).map(|flow| (flow, 1500))).collect()
}

// ns-2.

/// Half of what is left: a flow alone gets 13 of 40 places, two get 10 each. Ten get 3 each, since a fourth is above
/// the fair share of 40/16 once fewer than 16 places are left; of sixteen, three get a third packet.
#[test]
fn ns2_refuses_arrivals_by_its_share() {
    let held = |flows| offer_flows(&mut sfq("ns2", &[PERFECT]), &in_turns(flows, 50)).0.len();
    assert_eq!([1, 2, 10, 16].map(held), [13, 20, 30, 35]);
}

#[test]
fn ns2_sends_packet_by_packet() {
    let sizes = [(0, 1500), (0, 1500), (0, 1500), (1, 40), (1, 40), (1, 40), (2, 500)];
    assert_eq!(offer_flows(&mut sfq("ns2", &[PERFECT]), &sizes).0, [0, 1, 2, 0, 1, 0, 1]);
}

/// ns-2.35's `enque` and `deque` with its integers.
#[derive(Default)]
struct Ns2 {
    buckets: BTreeMap<u32, VecDeque<u32>>,
    round: VecDeque<u32>,
}

impl Ns2 {
    fn arrive(&mut self, flow: u32, number: u32) -> Option<Fate> {
        let (maxqueue, buckets) = (40, 16);
        let occupied: usize = self.buckets.values().map(VecDeque::len).sum();
        let used = self.buckets.get(&flow).map_or(0, VecDeque::len);
        let left = maxqueue - occupied;
        if used >= left >> 1 || (left < buckets && used > maxqueue / buckets) || left == 0 {
            return Some(Fate::Dropped(number));
        }
        if used == 0 {
            self.round.push_back(flow);
        }
        self.buckets.entry(flow).or_default().push_back(number);
        None
    }

    fn ask(&mut self) -> Option<Fate> {
        let flow = self.round.pop_front()?;
        let queue = self.buckets.get_mut(&flow)?;
        let number = queue.pop_front()?;
        if !queue.is_empty() {
            self.round.push_back(flow);
        }
        Some(Fate::Left(number))
    }
}

// Linux.

/// `sfq_enqueue`, `sfq_drop` and `sfq_dequeue` with lists that are searched, for flows that do not collide.
struct Linux {
    limit: usize,
    depth: usize,
    flows: usize,
    quantum: i64,
    head: bool,
    slots: BTreeMap<u32, (VecDeque<(u32, u32)>, i64)>,
    round: VecDeque<u32>,
    /// Flows by when their depth last changed, the latest last.
    linked: Vec<u32>,
}

impl Linux {
    fn link(&mut self, flow: u32) {
        self.linked.retain(|&other| other != flow);
        self.linked.push(flow);
    }

    fn take(&mut self, flow: u32, head: bool) -> (u32, u32) {
        let queue = &mut self.slots.get_mut(&flow).unwrap().0;
        let packet = if head { queue.pop_front() } else { queue.pop_back() }.unwrap();
        self.link(flow);
        packet
    }

    fn arrive(&mut self, flow: u32, bytes: u32, number: u32) -> Vec<Fate> {
        let depth = self.slots.get(&flow).map_or(0, |slot| slot.0.len());
        if depth == 0 && self.round.len() == self.flows {
            return vec![Fate::Dropped(number)];
        }
        if depth >= self.depth {
            if !self.head {
                return vec![Fate::Dropped(number)];
            }
            let queue = &mut self.slots.get_mut(&flow).unwrap().0;
            queue.push_back((number, bytes));
            return vec![Fate::Dropped(queue.pop_front().unwrap().0)];
        }
        self.slots.entry(flow).or_default().0.push_back((number, bytes));
        self.link(flow);
        if depth == 0 {
            self.round.push_back(flow);
            self.slots.get_mut(&flow).unwrap().1 = self.quantum;
        }
        let lengths = |flow: &u32| self.slots[flow].0.len();
        if self.slots.values().map(|slot| slot.0.len()).sum::<usize>() <= self.limit {
            return vec![];
        }
        // The last of the greatest.
        let longest = *self.linked.iter().max_by_key(|flow| lengths(flow)).unwrap();
        if lengths(&longest) > 1 {
            return vec![Fate::Dropped(self.take(longest, self.head).0)];
        }
        let next = self.round.pop_front().unwrap();
        vec![Fate::Dropped(self.take(next, self.head).0)]
    }

    fn ask(&mut self) -> Option<Fate> {
        loop {
            let flow = *self.round.front()?;
            let slot = self.slots.get_mut(&flow).unwrap();
            if slot.1 <= 0 {
                slot.1 += self.quantum;
                self.round.rotate_left(1);
                continue;
            }
            let (number, bytes) = self.take(flow, true);
            let slot = self.slots.get_mut(&flow).unwrap();
            if slot.0.is_empty() {
                self.round.pop_front();
            } else {
                slot.1 -= i64::from(bytes);
            }
            return Some(Fate::Left(number));
        }
    }
}

proptest! {
    /// Packet by packet.
    #[test]
    fn decides_as_ns2_does(life in flow_lives(12)) {
        let fates = live_flows(&mut sfq("ns2", &[PERFECT]), &life, |_| ())?;
        let (mut ns2, mut number) = (Ns2::default(), 0);
        let expected: Vec<Fate> = life.iter().filter_map(|step| match *step {
            FlowStep::Arrive(flow, _) => { number += 1; ns2.arrive(flow, number - 1) }
            FlowStep::Ask => ns2.ask(),
            FlowStep::Wait(_) => None,
        }).collect();
        prop_assert_eq!(fates, expected);
    }

    #[test]
    fn decides_as_linux_does(
        life in flow_lives(12), most in 1u32..40, depth in 1u64..20, flows in 1u64..14, quantum in 256u64..3000, head: bool,
    ) {
        let drop = ("drop", Value::Choice(if head { "head" } else { "tail" }));
        let changes =
            [packets(most), integer("depth", depth), integer("flows", flows), integer("quantum", quantum), drop, PERFECT];
        let fates = live_flows(&mut sfq("linux", &changes), &life, |_| ())?;
        let mut linux = Linux {
            limit: most as usize,
            depth: depth as usize,
            flows: flows as usize,
            quantum: quantum as i64,
            head,
            slots: BTreeMap::new(),
            round: VecDeque::new(),
            linked: Vec::new(),
        };
        let mut number = 0;
        let expected: Vec<Fate> = life.iter().flat_map(|step| match *step {
            FlowStep::Arrive(flow, bytes) => { number += 1; linux.arrive(flow, bytes, number - 1) }
            FlowStep::Ask => linux.ask().into_iter().collect(),
            FlowStep::Wait(_) => vec![],
        }).collect();
        prop_assert_eq!(fates, expected);
    }
}

/// A fast flow pays for its own queue, and for the place of a slow one.
#[test]
fn linux_evicts_from_the_longest() {
    let arrivals: Vec<_> = [(0, 1500); 10].into_iter().chain([(1, 1500), (2, 1500), (1, 1500)]).collect();
    let (left, dropped) = offer_flows(&mut sfq("linux", &[packets(10), PERFECT]), &arrivals);
    assert_eq!(dropped, [0, 0, 0]);
    assert_eq!(left, [0, 1, 2, 0, 1, 0, 0, 0, 0, 0]);
}

#[test]
fn the_tail_or_the_head_is_dropped() {
    let kept = |changes: &[_]| {
        let (mut queue, mut sink) = (sfq("linux", changes), Recorder::default());
        (0..5).for_each(|number| queue.enqueue(packet_of(0, 1500, number), Time::ZERO, &mut sink));
        drain(&mut queue)
    };
    assert_eq!(kept(&[packets(3)]), [0, 1, 2]);
    assert_eq!(kept(&[packets(3), HEAD]), [2, 3, 4]);
    assert_eq!(kept(&[integer("depth", 3)]), [0, 1, 2]);
    assert_eq!(kept(&[integer("depth", 3), HEAD]), [2, 3, 4]);
}

#[test]
fn a_quantum_is_a_turn_of_bytes() {
    let sizes: Vec<_> = (0..24).map(|_| (0, 500)).chain((0..8).map(|_| (1, 1500))).collect();
    let (left, _) = offer_flows(&mut sfq("linux", &[PERFECT]), &sizes);
    // Three small packets or a large one, over and over.
    assert_eq!(left.chunks(4).map(<[u32]>::to_vec).collect::<Vec<_>>(), vec![vec![0, 0, 0, 1]; 8]);
}

// Hashing.

#[test]
fn flows_that_collide_share_a_queue() {
    let mut queue = sfq("linux", &[integer("buckets", 1)]);
    assert_eq!(offer_flows(&mut queue, &in_turns(3, 3)).0, [0, 1, 2, 0, 1, 2, 0, 1, 2]);
    let mut sink = Recorder::default();
    (0..4).for_each(|flow| queue.enqueue(packet_of(flow, 1500, flow), Time::ZERO, &mut sink));
    assert_eq!((probe(&queue, "active_buckets"), probe(&queue, "longest_bucket_packets")), (1.0, 4.0));
}

/// Two flows in two buckets collide in every other hash, and so for half of the time.
#[test]
fn a_new_hash_ends_a_collision() {
    let mut queue = sfq("linux", &[integer("buckets", 2), ("perturb", Value::Span(Span::from_secs(10)))]);
    let mut sink = Recorder::default();
    (0..10).for_each(|number| queue.enqueue(packet_of(number % 2, 1500, number), Time::ZERO, &mut sink));
    let apart = (1..=400u64)
        .filter(|&turn| {
            let now = Time::ZERO + Span::from_secs(10) * turn;
            assert_eq!(queue.timer(), Some(now));
            queue.on_timer(now, &mut sink);
            probe(&queue, "active_buckets") == 2.0
        })
        .count();
    assert!((160..=240).contains(&apart), "{apart}");
    assert!(sink.drops.is_empty() && queue.packets() == 10);
}

#[test]
fn moved_packets_may_find_no_room() {
    let changes = [integer("buckets", 2), integer("depth", 3), ("perturb", Value::Span(Span::from_secs(10)))];
    let (mut queue, mut sink) = (sfq("linux", &changes), Recorder::default());
    (0..60).for_each(|flow| queue.enqueue(packet_of(flow, 1500, flow), Time::ZERO, &mut sink));
    assert_eq!(queue.packets(), 6);
    sink.drops.clear();
    for _ in 0..10 {
        queue.on_timer(queue.timer().unwrap(), &mut sink);
    }
    assert!(queue.packets() < 6 && queue.packets() >= 3);
    assert_eq!(queue.packets() + sink.drops.len(), 6);
}

// Parameters.

#[test]
fn wrong_combinations_name_the_parameter() {
    let fault = |preset, changes: &[_]| build(&params(&DESCRIPTOR, preset, changes), &link(10_000)).err();
    let perturb = ("perturb", Value::Span(Span::from_secs(10)));
    assert_eq!(fault("linux", &[limit(Amount::Bytes(1499.0))]), Some("limit"));
    assert_eq!(fault("linux", &[limit(Amount::Bytes(1500.0))]), None);
    assert_eq!(fault("ns2", &[packets(1)]), Some("limit"));
    assert_eq!(fault("ns2", &[packets(2)]), None);
    assert_eq!(fault("ns2", &[integer("quantum", 1500)]), Some("quantum"));
    assert_eq!(fault("linux", &[perturb]), None);
    assert_eq!(fault("linux", &[perturb, PERFECT]), Some("perturb"));
}

#[test]
fn a_limit_in_time_is_that_of_full_size_packets() {
    // 10 Mbit/s send 10 packets of 1500 B in 12 ms.
    let mut queue = sfq("linux", &[limit(Amount::Time(Span::from_millis(12)))]);
    assert_eq!(offer_flows(&mut queue, &[(0, 40); 20]).0.len(), 10);
}

// Laws.

proptest! {
    #[test]
    fn limits_hold_and_nothing_is_lost(
        ns2: bool, most in 2u32..60, depth in 1u64..20, flows in 1u64..14, buckets in 1u64..20, head: bool,
        perturb in 0u64..100, life in flow_lives(20),
    ) {
        let changes = [
            packets(most),
            integer("depth", depth),
            integer("flows", flows),
            integer("buckets", buckets),
            ("drop", Value::Choice(if head { "head" } else { "tail" })),
            ("perturb", Value::Span(Span::from_millis(perturb))),
        ];
        let run = || live_flows(&mut sfq(if ns2 { "ns2" } else { "linux" }, &changes), &life, |queue| {
            assert!(queue.packets() <= most as usize);
            assert!(probe(queue, "longest_bucket_packets") <= depth as f64);
            assert!(probe(queue, "active_buckets") <= flows.min(buckets) as f64);
        });
        prop_assert_eq!(run()?, run()?, "the same stream makes the same decisions");
    }

    /// While all flows are backlogged, none has sent more than another by a quantum and a packet.
    #[test]
    fn bytes_are_shared_within_a_quantum(sizes in prop::collection::vec(40u32..=1500, 4), quantum in 1500u64..4000) {
        let mut queue = sfq("linux", &[packets(10_000), integer("depth", 10_000), integer("quantum", quantum), PERFECT]);
        let mut sink = Recorder::default();
        for number in 0..4000 {
            queue.enqueue(packet_of(number % 4, sizes[number as usize % 4], number), Time::ZERO, &mut sink);
        }
        let mut sent = [0u64; 4];
        while sent.iter().zip(&sizes).all(|(&bytes, &size)| bytes < 1000 * u64::from(size)) {
            let packet = queue.dequeue(Time::ZERO, &mut sink).unwrap();
            sent[packet.flow as usize] += u64::from(packet.bytes);
            let (least, greatest) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
            prop_assert!(greatest - least <= quantum + 1500, "{:?}", sent);
        }
    }
}
