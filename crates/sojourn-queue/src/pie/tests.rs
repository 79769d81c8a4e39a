//! PIE as a queue: limits, timers, activation, the loop closed, and the laws.

use super::DESCRIPTOR;
use crate::laws::{lead, mixed_lives};
use crate::testing::{Recorder, build, drain, history, limit, link, packet, packet_with, params, probe};
use crate::{Discipline, DropReason, Queue};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Amount, Span, Stream, Time};

fn pie(preset: &str, changes: &[(&str, Value)]) -> Queue<u32> {
    build(&params(&DESCRIPTOR, preset, changes), &link(10_000)).unwrap()
}

/// Lets packets of 1500 B arrive at random at `load` times the rate of 10 Mbit/s for so many seconds, answering to no
/// drops; returns the mean delay of the second half in milliseconds and what was dropped.
fn flood(queue: &mut Queue<u32>, load: f64, seconds: u64) -> (f64, Recorder) {
    let mut random = Stream::new(3, "arrivals");
    let mut sink = Recorder::default();
    let (mut arrival, mut departure, mut now, mut number) = (Time::ZERO, Time::ZERO, Time::ZERO, 0);
    let (end, middle) = (Time::ZERO + Span::from_secs(seconds), Time::ZERO + Span::from_secs(seconds / 2));
    let (mut delays, mut updates) = (0.0, 0.0);
    while now < end {
        let timer = queue.timer().unwrap();
        now = arrival.min(departure).min(timer);
        if now == timer {
            queue.on_timer(now, &mut sink);
            if now > middle {
                delays += probe(queue, "delay_ms");
                updates += 1.0;
            }
        } else if now == arrival {
            queue.enqueue(packet(1500, number), now, &mut sink);
            number += 1;
            arrival = now + Span::from_secs_f64(random.exponential(0.0012 / load));
        } else {
            let sent = queue.dequeue(now, &mut sink).is_some();
            departure = if sent { now + Span::from_micros(1200) } else { arrival };
        }
    }
    (delays / updates, sink)
}

#[test]
fn updates_come_on_time() {
    for (preset, micros) in [("rfc", 15_000), ("linux", 15_000), ("docsis", 16_000)] {
        let mut queue = pie(preset, &[]);
        for step in 1..4u64 {
            let due = Time::ZERO + Span::from_micros(step * micros);
            assert_eq!(queue.timer(), Some(due));
            queue.on_timer(due, &mut Recorder::default());
        }
    }
}

/// At a load of 1.06 at least 5.7 % have to go; swings about the target, of which the lower halves end at an empty queue,
/// make it a little more.
#[test]
fn an_unresponsive_load_is_held_near_the_target() {
    for (preset, target) in [("rfc", 15.0), ("linux", 15.0), ("docsis", 10.0)] {
        for estimator in ["timestamp", "departure-rate", "link-rate"] {
            let mut queue = pie(preset, &[("estimator", Value::Choice(estimator))]);
            let (delay, sink) = flood(&mut queue, 1.06, 100);
            let dropped = sink.drops.iter().filter(|drop| drop.1 == DropReason::Early).count() as f64;
            let share = dropped / (100.0 / 0.0012 * 1.06);
            assert!((0.0566..0.075).contains(&share), "{preset} {estimator}: {share}");
            assert!((0.9..1.7).contains(&(delay / target)), "{preset} {estimator}: {delay} ms");
        }
    }
}

#[test]
fn a_light_load_is_left_alone() {
    for preset in ["rfc", "linux", "ns3", "docsis"] {
        let mut queue = pie(preset, &[limit(Amount::Packets(1000.0))]);
        let (_, sink) = flood(&mut queue, 0.5, 30);
        assert!(sink.drops.is_empty(), "{preset}: {:?}", sink.drops);
    }
}

/// 200 packets at once are 240 ms; within the allowance of 150 ms none of what follows is dropped.
#[test]
fn a_burst_passes_unhurt() {
    let mut queue = pie("rfc", &[]);
    let mut sink = Recorder::default();
    let mut number = 0;
    for step in 0..200u64 {
        let now = Time::ZERO + Span::from_micros(step * 1200);
        while let Some(time) = queue.timer().filter(|&time| time <= now) {
            queue.on_timer(time, &mut sink);
        }
        for _ in 0..if step == 0 { 200 } else { 1 } {
            queue.enqueue(packet(1500, number), now, &mut sink);
            number += 1;
        }
        queue.dequeue(now, &mut sink);
        if now < Time::ZERO + Span::from_millis(150) {
            assert!(sink.drops.is_empty(), "at {now:?}");
        }
    }
    assert!(probe(&queue, "drop_probability") > 0.0);
}

#[test]
fn docsis_wakes_at_a_third_of_the_buffer() {
    for (waiting, wakes) in [(32, false), (33, true)] {
        let mut queue = pie("docsis", &[limit(Amount::Packets(99.0))]);
        let mut sink = Recorder::default();
        for number in 0..waiting {
            queue.enqueue(packet(1500, number), Time::ZERO, &mut sink);
        }
        // 38 or 40 ms wait for long enough that the probability is high.
        (0..100).for_each(|_| queue.on_timer(queue.timer().unwrap(), &mut sink));
        assert!(probe(&queue, "drop_probability") > 0.5);
        for number in 0..50 {
            queue.enqueue(packet(1500, number), Time::ZERO, &mut sink);
            while queue.packets() > waiting as usize {
                queue.dequeue(Time::ZERO, &mut sink);
            }
        }
        assert_eq!(!sink.drops.is_empty(), wakes, "{waiting} waited");
        assert_eq!(probe(&queue, "burst_allowance_ms"), 142.0);
    }
}

#[test]
fn a_full_buffer_refuses_the_arrival() {
    let mut queue = pie("ns3", &[]);
    let mut sink = Recorder::default();
    for number in 0..27 {
        queue.enqueue(packet(40, number), Time::ZERO, &mut sink);
    }
    assert_eq!(sink.drops, [(25, DropReason::Overflow), (26, DropReason::Overflow)]);
}

#[test]
fn wrong_combinations_name_the_parameter() {
    let fault = |preset, changes: &[_]| build(&params(&DESCRIPTOR, preset, changes), &link(10_000)).err();
    let rate = ("estimator", Value::Choice("departure-rate"));
    assert_eq!(fault("rfc", &[("alpha", Value::Number(0.0))]), Some("alpha"));
    assert_eq!(fault("rfc", &[limit(Amount::Bytes(1000.0))]), Some("limit"));
    assert_eq!(fault("rfc", &[rate]), None);
    assert_eq!(fault("rfc", &[rate, limit(Amount::Packets(10.0))]), Some("estimator"));
    assert_eq!(fault("rfc", &[rate, limit(Amount::Bytes(16_384.0))]), Some("estimator"));
    assert_eq!(fault("rfc", &[rate, limit(Amount::Bytes(16_385.0))]), None);
}

proptest! {
    #[test]
    fn limits_and_bounds_hold(
        preset in prop::sample::select(vec!["rfc", "linux", "ns3", "docsis"]),
        packets in 1u32..100,
        life in mixed_lives(),
    ) {
        let mut queue = pie(preset, &[limit(Amount::Packets(f64::from(packets)))]);
        let most = if preset == "docsis" { 13.6 } else { 1.0 };
        lead(&mut queue, &life, |queue| {
            assert!(queue.packets() <= packets as usize);
            assert!((0.0..=most).contains(&probe(queue, "drop_probability")));
            assert!((0.0..=150.0).contains(&probe(queue, "burst_allowance_ms")));
        })?;
    }
}

/// What becomes of 20 000 packets of each class at a fixed probability: shares of best effort and of LE that are dropped.
fn dropped_shares(preset: &str, changes: &[(&str, Value)], le: u8, p: f64) -> [f64; 2] {
    let calm =
        [("burst", Value::Span(Span::ZERO)), ("guard_delay", Value::Choice("updated")), limit(Amount::Packets(1e6))];
    let mut queue = pie(preset, &[&calm[..], changes].concat());
    let Queue::Pie(inside) = &mut queue else { panic!("PIE") };
    inside.controller.set_probability(p);
    let mut sink = Recorder::default();
    for number in 0..40_010 {
        queue.enqueue(packet_with(if number % 2 == 0 { 0 } else { le }, 1500, number), Time::ZERO, &mut sink);
    }
    let mut dropped = [0, 0];
    sink.drops.iter().for_each(|&(number, _)| dropped[number as usize % 2] += 1);
    dropped.map(|count| f64::from(count) / 20_000.0)
}

#[test]
fn le_meets_a_multiple_of_the_probability() {
    const LE: u8 = 1;
    let factor = |factor| [("le_factor", Value::Number(factor))];
    for (le, k, p, expected) in [
        (LE, 9.0, 0.02, [0.02, 0.18]),
        (LE, 81.0, 0.005, [0.005, 0.405]),
        (LE, 81.0, 0.3, [0.3, 1.0]),
        (LE, 1.0, 0.2, [0.2, 0.2]),
        (8, 9.0, 0.02, [0.02, 0.02]),
    ] {
        let found = dropped_shares("rfc", &factor(k), le, p);
        for (found, expected) in found.into_iter().zip(expected) {
            assert!((found - expected).abs() < 0.01, "k {k}, p {p}: {found} instead of {expected}");
        }
    }
}

/// De-randomised, 84 best-effort packets are spared at 1 %, whatever is dropped of LE between them.
#[test]
fn what_le_accumulates_is_no_burden_for_the_others() {
    let [alone, _] = dropped_shares("linux", &[("le_factor", Value::Number(81.0))], 0, 0.01);
    let [beside, le] = dropped_shares("linux", &[("le_factor", Value::Number(81.0))], 1, 0.01);
    assert!((beside / (1.0 / 184.0) - 1.0).abs() < 0.1 && (alone / beside - 1.0).abs() < 0.15, "{alone} {beside}");
    // The second packet reaches 0.85, and 0.81 of those are dropped.
    assert!((0.4..0.5).contains(&le), "{le}");
}

#[test]
fn both_classes_wait_in_one_queue() {
    let mut queue = pie("rfc", &[("le_factor", Value::Number(81.0))]);
    let mut sink = Recorder::default();
    for number in 0..20 {
        queue.enqueue(packet_with((number % 2) as u8, 1500, number), Time::ZERO, &mut sink);
    }
    assert_eq!(drain(&mut queue), (0..20).collect::<Vec<_>>());
}

proptest! {
    /// A factor of 1 reads no code point, and a factor without marked packets is none.
    #[test]
    fn without_factor_or_marks_it_is_pie(
        preset in prop::sample::select(vec!["rfc", "linux", "ns3", "docsis"]),
        marked in prop::bool::ANY,
        steps in prop::collection::vec((0u32..8, 0u32..3), 100..600),
    ) {
        let (factor, dscp) = if marked { (1.0, 1) } else { (81.0, 0) };
        let run = |changes: &[(&str, Value)], dscp: u8| {
            history(&mut pie(preset, &[&[limit(Amount::Packets(60.0))], changes].concat()), dscp, &steps)
        };
        prop_assert_eq!(run(&[("le_factor", Value::Number(factor))], dscp), run(&[], 0));
    }
}
