//! SQF against worked examples, against a rendering that searches, and against the laws of every discipline.

use super::DESCRIPTOR;
use crate::testing::flows::{Fate, FlowStep, flow_lives, live_flows, offer_flows, packet_of};
use crate::testing::{Recorder, build, drain, limit, link, params, probe};
use crate::{Discipline, Queue};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Amount, Time};
use std::collections::{BTreeMap, VecDeque};

fn sqf(preset: &str, changes: &[(&str, Value)]) -> Queue<u32> {
    build(&params(&DESCRIPTOR, preset, changes), &link(10_000)).unwrap()
}

const HEAD: (&str, Value) = ("drop", Value::Choice("head"));

#[test]
fn the_fewest_bytes_are_served_first() {
    // Flow 1 has more packets but fewer bytes than flow 0, and once it is served it is shorter still.
    let arrivals = [(0, 1500), (0, 1500), (1, 500), (1, 500), (1, 500), (2, 1000)];
    assert_eq!(offer_flows(&mut sqf("paper", &[]), &arrivals).0, [2, 1, 1, 1, 0, 0]);
}

/// Voice among bulk: each of its packets is the next to be sent.
#[test]
fn a_slow_flow_never_waits_for_a_long_queue() {
    let (mut queue, mut sink) = (sqf("paper", &[]), Recorder::default());
    (0..300).for_each(|number| queue.enqueue(packet_of(number % 3, 1500, number), Time::ZERO, &mut sink));
    for _ in 0..20 {
        queue.dequeue(Time::ZERO, &mut sink);
        queue.enqueue(packet_of(9, 200, 1000), Time::ZERO, &mut sink);
        assert_eq!(queue.dequeue(Time::ZERO, &mut sink).unwrap().flow, 9);
    }
}

/// Among equals the one that was served the longest ago is next: here the one that came first.
#[test]
fn equal_queues_take_turns() {
    let (mut queue, mut sink) = (sqf("paper", &[]), Recorder::default());
    let mut order = Vec::new();
    (0..3).for_each(|flow| queue.enqueue(packet_of(flow, 1000, flow), Time::ZERO, &mut sink));
    for _ in 0..6 {
        let flow = queue.dequeue(Time::ZERO, &mut sink).unwrap().flow;
        queue.enqueue(packet_of(flow, 1000, flow), Time::ZERO, &mut sink);
        order.push(flow);
    }
    assert_eq!(order, [0, 1, 2, 0, 1, 2]);
}

#[test]
fn the_most_bytes_pay_for_the_buffer() {
    let bytes = limit(Amount::Bytes(5000.0));
    let arrivals = [(0, 1500), (0, 1500), (1, 500), (1, 500), (1, 500), (1, 500)];
    assert_eq!(offer_flows(&mut sqf("paper", &[bytes]), &arrivals), (vec![1, 1, 1, 1, 0, 0], vec![]));
    let arrivals = [&arrivals[..], &[(2, 200)]].concat();
    assert_eq!(offer_flows(&mut sqf("paper", &[bytes]), &arrivals).1, [0]);
}

#[test]
fn the_tail_or_the_head_is_dropped() {
    let kept = |changes: &[_]| {
        let (mut queue, mut sink) = (sqf("paper", changes), Recorder::default());
        (0..5).for_each(|number| queue.enqueue(packet_of(0, 1500, number), Time::ZERO, &mut sink));
        drain(&mut queue)
    };
    assert_eq!(kept(&[limit(Amount::Packets(3.0))]), [0, 1, 2]);
    assert_eq!(kept(&[limit(Amount::Packets(3.0)), HEAD]), [2, 3, 4]);
}

#[test]
fn flows_that_collide_share_a_queue() {
    let mut queue = sqf("paper", &[("perfect", Value::Boolean(false)), ("buckets", Value::Integer(1))]);
    assert_eq!(offer_flows(&mut queue, &[(0, 1500), (1, 40), (0, 1500), (2, 40)]).0, [0, 1, 0, 2]);
}

#[test]
fn a_limit_that_holds_nothing_is_refused() {
    let fault = |amount| build(&params(&DESCRIPTOR, "paper", &[limit(amount)]), &link(10_000)).err();
    assert_eq!(fault(Amount::Bytes(1499.0)), Some("limit"));
    assert_eq!(fault(Amount::Bytes(1500.0)), None);
}

/// The rules with queues that are searched.
#[derive(Default)]
struct Searched {
    queues: BTreeMap<u32, VecDeque<(u32, u64)>>,
    /// Flows by when they were served, the latest last.
    served: Vec<u32>,
}

impl Searched {
    fn bytes(&self, flow: u32) -> u64 {
        self.queues[&flow].iter().map(|&(_, bytes)| bytes).sum()
    }

    fn serve(&mut self, flow: u32) {
        self.served.retain(|&other| other != flow);
        if !self.queues[&flow].is_empty() {
            self.served.push(flow);
        }
    }

    fn arrive(&mut self, flow: u32, bytes: u32, number: u32, limit: u64, head: bool) -> Vec<Fate> {
        let queue = self.queues.entry(flow).or_default();
        queue.push_back((number, u64::from(bytes)));
        if queue.len() == 1 {
            self.serve(flow);
        }
        let mut fates = vec![];
        while self.queues.keys().map(|&flow| self.bytes(flow)).sum::<u64>() > limit {
            let mut longest = self.served[0];
            for &other in &self.served {
                if self.bytes(other) > self.bytes(longest) {
                    longest = other;
                }
            }
            let queue = self.queues.get_mut(&longest).unwrap();
            let victim = if head { queue.pop_front() } else { queue.pop_back() };
            fates.push(Fate::Dropped(victim.unwrap().0));
            if queue.is_empty() {
                self.serve(longest);
            }
        }
        fates
    }

    fn ask(&mut self) -> Option<Fate> {
        let shortest = *self.served.iter().min_by_key(|&&flow| self.bytes(flow))?;
        let (number, _) = self.queues.get_mut(&shortest)?.pop_front()?;
        self.serve(shortest);
        Some(Fate::Left(number))
    }
}

proptest! {
    #[test]
    fn decides_as_a_search_would(life in flow_lives(10), most in 1500u32..25_000, head: bool) {
        let changes = [limit(Amount::Bytes(f64::from(most))), ("drop", Value::Choice(if head { "head" } else { "tail" }))];
        let fates = live_flows(&mut sqf("paper", &changes), &life, |_| ())?;
        let (mut searched, mut number) = (Searched::default(), 0);
        let expected: Vec<Fate> = life.iter().flat_map(|step| match *step {
            FlowStep::Arrive(flow, bytes) => {
                number += 1;
                searched.arrive(flow, bytes, number - 1, u64::from(most), head)
            }
            FlowStep::Ask => searched.ask().into_iter().collect(),
            FlowStep::Wait(_) => vec![],
        }).collect();
        prop_assert_eq!(fates, expected);
    }

    #[test]
    fn limits_hold_and_nothing_is_lost(
        amount in prop_oneof![
            (1u32..40).prop_map(|packets| Amount::Packets(f64::from(packets))),
            (1500u32..40_000).prop_map(|bytes| Amount::Bytes(f64::from(bytes))),
        ],
        buckets in 1u64..20, life in flow_lives(20),
    ) {
        let changes = [limit(amount), ("buckets", Value::Integer(buckets)), ("perfect", Value::Boolean(false))];
        let run = || live_flows(&mut sqf("paper", &changes), &life, |queue| {
            match amount {
                Amount::Packets(packets) => assert!(queue.packets() as f64 <= packets),
                amount => assert!(queue.bytes() as f64 <= amount.bytes(link(10_000).rate, 1500.0)),
            }
            let (shortest, longest) = (probe(queue, "shortest_bucket_bytes"), probe(queue, "longest_bucket_bytes"));
            assert!(shortest <= longest && longest <= queue.bytes() as f64);
            assert!(longest * buckets as f64 >= queue.bytes() as f64, "the longest is above the mean");
        });
        prop_assert_eq!(run()?, run()?, "the same stream makes the same decisions");
    }
}
