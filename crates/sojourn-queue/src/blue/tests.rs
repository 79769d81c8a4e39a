//! BLUE against the paper's rules and against the laws of every discipline.

use super::{Blue, DESCRIPTOR};
use crate::testing::{Recorder, build, limit, link, live, lives, packet, params, probe};
use crate::{Discipline, DropReason, Ecn};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Amount, Span, Stream, Time};

fn blue(changes: &[(&str, Value)]) -> Blue<u32> {
    Blue::new(&params(&DESCRIPTOR, "ns1", changes), &link(10_000), Stream::new(1, "queue")).unwrap()
}

fn number(name: &'static str, value: f64) -> (&'static str, Value) {
    (name, Value::Number(value))
}

fn packets(name: &'static str, packets: f64) -> (&'static str, Value) {
    (name, Value::Amount(Amount::Packets(packets)))
}

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

fn assert_close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "found {found}, expected {expected}");
}

/// Losses every 10 ms for a second: p grows once in 100 ms, from the first loss on.
#[test]
fn losses_raise_the_probability_once_in_a_freeze_time() {
    let mut blue = blue(&[packets("limit", 3.0), number("increase", 0.01)]);
    blue.idle_since = None;
    let mut sink = Recorder::default();
    (0..3).for_each(|number| blue.enqueue(packet(1500, number), at(500), &mut sink));
    for (millis, probability) in
        [(500, 0.01), (510, 0.01), (599, 0.01), (600, 0.02), (699, 0.02), (750, 0.03), (849, 0.03)]
    {
        blue.enqueue(packet(1500, 9), at(millis), &mut sink);
        assert_close(blue.marking.p, probability);
    }
    assert!(sink.drops.iter().all(|&(_, reason)| reason == DropReason::Overflow));
    assert_eq!(sink.drops.len(), 7);
    for millis in (1000..30_000).step_by(100) {
        blue.enqueue(packet(1500, 9), at(millis), &mut sink);
    }
    assert_eq!(blue.marking.p, 1.0);
}

#[test]
fn silence_lowers_the_probability_once_in_a_freeze_time() {
    let mut blue = blue(&[number("increase", 0.5), number("decrease", 0.1)]);
    blue.marking.p = 0.9;
    blue.marking.frozen_until = at(110);
    blue.idle_since = None;
    let mut sink = Recorder::default();
    assert!(blue.dequeue(at(100), &mut sink).is_none());
    // A link that is still idle is not idle anew.
    assert!(blue.dequeue(at(140), &mut sink).is_none());
    let mut after = |millis| {
        blue.enqueue(packet(1500, 0), at(millis), &mut sink);
        while blue.dequeue(at(millis), &mut sink).is_some() {}
        blue.marking.p
    };
    // Changes at 110, 210, 310 and 410 ms.
    assert_close(after(149), 0.8);
    assert_close(after(209), 0.8);
    assert_close(after(211), 0.7);
    assert_close(after(409), 0.6);
    assert_close(after(410), 0.5);
    assert_close(after(509), 0.5);
    assert_close(after(10_000), 0.0);
}

/// As in the paper's rules, a change that ends at zero is a change: the next has to wait.
#[test]
fn an_idle_start_freezes_too() {
    let mut blue = blue(&[packets("limit", 1.0)]);
    let mut sink = Recorder::default();
    (0..2).for_each(|number| blue.enqueue(packet(1500, number), at(250), &mut sink));
    assert_eq!((sink.drops.len(), blue.marking.p), (1, 0.0));
    blue.enqueue(packet(1500, 2), at(300), &mut sink);
    assert_close(blue.marking.p, 0.0025);
}

#[test]
fn a_busy_link_keeps_its_probability() {
    let mut blue = blue(&[]);
    blue.marking.p = 0.5;
    let mut sink = Recorder::default();
    while blue.packets() == 0 {
        blue.enqueue(packet(1500, 0), at(0), &mut sink);
    }
    let probability = blue.marking.p;
    for millis in 1..1000 {
        blue.enqueue(packet(1500, 0), at(millis), &mut sink);
        if blue.packets() > 1 {
            blue.dequeue(at(millis), &mut sink);
        }
    }
    assert_eq!(blue.marking.p, probability);
}

#[test]
fn a_queue_above_the_level_counts_as_a_loss() {
    let mut blue = blue(&[packets("level", 5.0), number("increase", 0.1)]);
    blue.idle_since = None;
    let mut sink = Recorder::default();
    (0..5).for_each(|number| blue.enqueue(packet(1500, number), at(1000), &mut sink));
    assert_eq!(blue.marking.p, 0.0);
    blue.enqueue(packet(1500, 5), at(1000), &mut sink);
    assert_close(blue.marking.p, 0.1);
}

#[test]
fn the_probability_is_that_of_drops_or_marks() {
    let fates = |ecn: bool, field| {
        let mut blue = blue(&[("ecn", Value::Boolean(ecn)), limit(Amount::Packets(20_000.0))]);
        blue.marking.p = 0.3;
        blue.idle_since = None;
        let mut sink = Recorder::default();
        for number in 0..10_000 {
            let mut packet = packet(1500, number);
            packet.ecn = field;
            blue.enqueue(packet, at(0), &mut sink);
        }
        assert!(sink.drops.iter().all(|&(_, reason)| reason == DropReason::Early));
        assert!(
            sink.marks.is_empty() || blue.queue.head().is_some_and(|head| field == head.ecn || head.ecn == Ecn::Ce)
        );
        (sink.drops.len(), sink.marks.len(), blue.packets())
    };
    let (drops, marks, kept) = fates(true, Ecn::NotEct);
    assert!((2850..3150).contains(&drops) && marks == 0 && kept == 10_000 - drops);
    let (drops, marks, kept) = fates(true, Ecn::Ect0);
    assert!(drops == 0 && (2850..3150).contains(&marks) && kept == 10_000);
    let (drops, marks, _) = fates(false, Ecn::Ect0);
    assert!((2850..3150).contains(&drops) && marks == 0);
}

#[test]
fn wrong_combinations_name_the_parameter() {
    let fault = |changes: &[_]| build(&params(&DESCRIPTOR, "ns1", changes), &link(10_000)).err();
    assert_eq!(fault(&[]), None);
    assert_eq!(fault(&[limit(Amount::Bytes(1499.0))]), Some("limit"));
    assert_eq!(fault(&[number("decrease", 0.003)]), Some("decrease"));
    assert_eq!(fault(&[packets("limit", 10.0), packets("level", 11.0)]), Some("level"));
    assert_eq!(fault(&[packets("limit", 10.0), packets("level", 10.0)]), None);
}

/// Twice as many packets as the link carries: p finds the half that must go.
#[test]
fn the_probability_finds_the_overload() {
    let mut blue = blue(&[packets("limit", 20.0), number("increase", 0.01), number("decrease", 0.01)]);
    let (mut sink, mut kept_idle) = (Recorder::default(), 0);
    let mut sum = 0.0;
    for millis in 0..200_000u32 {
        blue.enqueue(packet(1500, millis), at(u64::from(millis)), &mut sink);
        if millis % 2 == 0 && blue.dequeue(at(u64::from(millis)), &mut sink).is_none() {
            kept_idle += 1;
        }
        sum += if millis >= 100_000 { blue.marking.p } else { 0.0 };
    }
    let mean = sum / 100_000.0;
    assert!((0.45..0.55).contains(&mean), "{mean}, idle {kept_idle}");
}

proptest! {
    #[test]
    fn limits_hold_and_nothing_is_lost(most in 1u32..60, increase in 0.001f64..1.0, life in lives()) {
        let changes = [packets("limit", f64::from(most)), number("increase", increase)];
        let run = || live(&mut build(&params(&DESCRIPTOR, "ns1", &changes), &link(10_000)).unwrap(), &life, |queue| {
            assert!(queue.packets() <= most as usize);
            assert!((0.0..=1.0).contains(&probe(queue, "drop_probability")));
        });
        prop_assert_eq!(run()?, run()?, "the same stream makes the same decisions");
    }
}
