//! Adaptive RED: its steps against the sources' rules, its automatic values, and the laws.

use super::DESCRIPTOR;
use crate::laws::{lead, mixed_lives};
use crate::testing::{Recorder, build, limit, link, packet, params, probe};
use crate::{Discipline, Queue};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Amount, Span, Time};

/// Thresholds of 10 and 30 packets and an average that is the queue of the moment: the band is from 18 to 22.
fn ared(changes: &[(&str, Value)]) -> Queue<u32> {
    let amount = |packets| Value::Amount(Amount::Packets(packets));
    let plain = [
        ("min", amount(10.0)),
        ("max", amount(30.0)),
        ("weight", Value::Number(1.0)),
        ("ageing", Value::Choice("none")),
        ("max_p", Value::Number(0.1)),
    ];
    build(&params(&DESCRIPTOR, "default", &[&plain[..], changes].concat()), &link(10_000)).unwrap()
}

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// Lets the queue have just this many packets, whatever is dropped.
fn fill(queue: &mut Queue<u32>, packets: usize, now: Time) {
    let mut sink = Recorder::default();
    while queue.packets() > packets {
        queue.dequeue(now, &mut sink);
    }
    while queue.packets() < packets {
        queue.enqueue(packet(1500, 0), now, &mut sink);
    }
    // The average is that of the queue that the next arrival finds.
    while queue.packets() == packets {
        queue.enqueue(packet(1500, 0), now, &mut sink);
        if queue.packets() > packets {
            queue.dequeue(now, &mut sink);
            return;
        }
    }
}

/// max_p after one step from `max_p` with an average of `packets`.
fn step(max_p: f64, packets: usize) -> f64 {
    let mut queue = ared(&[("max_p", Value::Number(max_p))]);
    fill(&mut queue, packets, at(1));
    queue.on_timer(at(500), &mut Recorder::default());
    probe(&queue, "max_p")
}

#[test]
fn steps_of_the_paper() {
    // max_p before; average; max_p after.
    for (before, packets, after) in [
        (0.1, 23, 0.11),
        (0.1, 22, 0.1),
        (0.1, 20, 0.1),
        (0.1, 18, 0.1),
        (0.1, 17, 0.09),
        (0.1, 0, 0.09),
        (0.02, 25, 0.025),
        (0.04, 25, 0.05),
        (0.5, 25, 0.51),
        (0.51, 25, 0.51),
        (0.01, 5, 0.009),
        (0.009, 5, 0.009),
    ] {
        let found = step(before, packets);
        assert!((found - after).abs() < 1e-12, "{before} at {packets}: {found}");
    }
}

#[test]
fn the_timer_runs_whether_anything_arrives_or_not() {
    let mut queue = ared(&[]);
    for round in 1..=3u32 {
        assert_eq!(queue.timer(), Some(at(u64::from(round) * 500)));
        queue.on_timer(at(u64::from(round) * 500), &mut Recorder::default());
        assert!((probe(&queue, "max_p") - 0.1 * 0.9f64.powi(round as i32)).abs() < 1e-12);
    }
}

/// ns-2: more than an interval after the last step that was taken, and only then.
#[test]
fn or_steps_are_taken_at_arrivals() {
    let mut queue = ared(&[("clock", Value::Choice("arrivals"))]);
    assert_eq!(queue.timer(), None);
    let mut sink = Recorder::default();
    let mut seen = |queue: &mut Queue<u32>, millis, waiting: usize| {
        while queue.packets() > waiting {
            queue.dequeue(at(millis), &mut sink);
        }
        queue.enqueue(packet(1500, 0), at(millis), &mut sink);
        (probe(queue, "max_p") * 1e6).round() / 1e6
    };
    assert_eq!(seen(&mut queue, 400, 0), 0.1);
    assert_eq!(seen(&mut queue, 500, 0), 0.1, "not later than an interval");
    assert_eq!(seen(&mut queue, 501, 0), 0.09);
    assert_eq!(seen(&mut queue, 1001, 0), 0.09);
    assert_eq!(seen(&mut queue, 3000, 0), 0.081, "one step, however long it was");
    assert_eq!(seen(&mut queue, 3001, 0), 0.081);
}

/// An arrival whose average lies in the band takes no step, so the next one may.
#[test]
fn where_no_step_is_taken_the_time_goes_on() {
    let mut queue =
        ared(&[("clock", Value::Choice("arrivals")), ("max_p", Value::Number(1e-6)), ("bottom", Value::Number(0.0))]);
    let mut sink = Recorder::default();
    for number in 0..21 {
        queue.enqueue(packet(1500, number), at(0), &mut sink);
    }
    assert_eq!(queue.packets(), 21);
    queue.dequeue(at(600), &mut sink);
    queue.enqueue(packet(1500, 0), at(600), &mut sink);
    assert_eq!(probe(&queue, "max_p"), 1e-6);
    while queue.packets() > 5 {
        queue.dequeue(at(601), &mut sink);
    }
    queue.enqueue(packet(1500, 0), at(601), &mut sink);
    assert!((probe(&queue, "max_p") - 0.9e-6).abs() < 1e-15);
}

/// With an average of 15 ms at a constant queue of an idle link: Linux lets it age, and max_p falls.
#[test]
fn idle_time_ages_what_the_timer_sees() {
    let mut queue = build(
        &params(&DESCRIPTOR, "floyd01", &[("weight", Value::Number(0.5)), ("max_p", Value::Number(0.1))]),
        &link(10_000),
    )
    .unwrap();
    let mut sink = Recorder::default();
    for number in 0..60 {
        queue.enqueue(packet(1500, number), at(0), &mut sink);
    }
    let average = probe(&queue, "average_packets");
    assert!(average > 8.0, "{average}");
    while queue.dequeue(at(1), &mut sink).is_some() {}
    queue.on_timer(at(500), &mut sink);
    assert!((probe(&queue, "max_p") - 0.09).abs() < 1e-12);
    assert_eq!(probe(&queue, "average_packets"), average, "looking does not change it");
}

/// The lowest max_p of each preset at 10 Mbit/s: 0.01; 80000/bandwidth; 8 x 500 x 0.1/bandwidth.
#[test]
fn bottoms_of_the_sources() {
    for (preset, kilobits, bottom) in [
        ("floyd01", 10_000, 0.01),
        ("linux", 10_000, 0.01),
        ("ns2", 1_000, 0.01),
        ("ns2", 10_000, 0.008),
        ("ns2", 100_000, 0.0008),
        ("ns3", 10_000, 0.000_04),
    ] {
        let mut queue = build(&params(&DESCRIPTOR, preset, &[]), &link(kilobits)).unwrap();
        let mut sink = Recorder::default();
        for second in 1..500 {
            let now = Time::ZERO + Span::from_secs(second);
            queue.enqueue(packet(1500, 0), now, &mut sink);
            queue.dequeue(now, &mut sink);
            if queue.timer().is_some() {
                queue.on_timer(now, &mut sink);
            }
        }
        let found = probe(&queue, "max_p");
        assert!(found < bottom && found >= bottom * 0.9 * (1.0 - 1e-12), "{preset} at {kilobits}: {found}");
    }
}

#[test]
fn wrong_combinations_name_the_parameter() {
    let fault = |changes: &[_]| build(&params(&DESCRIPTOR, "floyd01", changes), &link(10_000)).err();
    assert_eq!(fault(&[]), None);
    assert_eq!(fault(&[("bottom", Value::Number(0.5))]), Some("bottom"));
    assert_eq!(fault(&[("bottom", Value::Auto)]), None);
    assert_eq!(fault(&[limit(Amount::Bytes(100.0))]), Some("limit"));
}

proptest! {
    #[test]
    fn max_p_stays_within_its_bounds(
        preset in prop::sample::select(vec!["floyd01", "ns2", "linux", "ns3"]),
        life in mixed_lives(),
    ) {
        let mut queue = build(&params(&DESCRIPTOR, preset, &[]), &link(4_000)).unwrap();
        lead(&mut queue, &life, |queue| {
            let max_p = probe(queue, "max_p");
            assert!((0.009 * 0.01..=0.51).contains(&max_p), "{max_p}");
        })?;
    }
}

/// Arrivals of 100 that are dropped at random with an average of 45, half way through the gentle part, after max_p has
/// fallen from 0.8 to next to nothing.
fn dropped_above(gentle_from: &'static str) -> usize {
    let changes = [
        ("max_p", Value::Number(0.8)),
        ("beta", Value::Number(0.001)),
        ("bottom", Value::Number(0.001)),
        ("top", Value::Number(0.9)),
        ("alpha", Value::Number(0.0)),
        ("spread", Value::Choice("none")),
        ("gentle_from", Value::Choice(gentle_from)),
    ];
    let mut queue = ared(&changes);
    let mut sink = Recorder::default();
    queue.on_timer(at(500), &mut sink);
    assert!(probe(&queue, "max_p") < 0.001);
    fill(&mut queue, 45, at(501));
    let mut sink = Recorder::default();
    let mut drops = 0;
    for number in 0..100 {
        while queue.packets() > 45 {
            queue.dequeue(at(502), &mut sink);
        }
        queue.enqueue(packet(1500, number), at(502), &mut sink);
        drops += usize::from(queue.packets() == 45);
    }
    drops
}

/// From max_p on the way to 1 is half done at 45 packets: 0.5 from nothing, 0.9 from 0.8.
#[test]
fn the_gentle_part_rises_from_max_p_or_from_what_it_was() {
    let (now, initial) = (dropped_above("now"), dropped_above("initial"));
    assert!((35..=65).contains(&now), "{now}");
    assert!((82..=97).contains(&initial), "{initial}");
}
