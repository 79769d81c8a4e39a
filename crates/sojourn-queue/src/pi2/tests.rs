//! PI2: the controller's arithmetic, the square, the coupling, and the laws.

use super::DESCRIPTOR;
use super::law::{self, Dice, Pi2Controller, Pi2Law, Sum};
use crate::laws::{lead, mixed_lives, packet_of};
use crate::testing::{Recorder, build, history, limit, link, packet_with, params, probe};
use crate::{Discipline, DropReason, Ecn, Packet, Queue};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Amount, Span, Stream, Time};

fn pi2(preset: &str, changes: &[(&str, Value)]) -> Queue<u32> {
    build(&params(&DESCRIPTOR, preset, changes), &link(10_000)).unwrap()
}

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

#[test]
fn the_controller_adds_what_the_rfc_says() {
    let mut controller = Pi2Controller::new(
        Pi2Law::new(&law::Parameters::of(&params(&DESCRIPTOR, "rfc", &[])), false).unwrap(),
        Time::ZERO,
    );
    // Delays in ms and p' after each: 0.16 x (delay - 15 ms) + 3.2 x (delay - last).
    let mut expected = 0.0;
    for (delay, last) in [(25u64, 0u64), (25, 25), (40, 25), (10, 40), (60, 10)] {
        controller.update(Span::from_millis(delay));
        let [delay, last] = [delay, last].map(|ms| ms as f64 / 1000.0);
        expected = f64::max(expected + 0.16 * (delay - 0.015) + 3.2 * (delay - last), 0.0);
        assert!((controller.base() - expected).abs() < 1e-12);
        assert!((controller.classic() - expected * expected).abs() < 1e-12);
        assert!((controller.scalable() - 2.0 * expected).abs() < 1e-12);
    }
    assert!(expected > 0.1);
    for _ in 0..20 {
        controller.update(Span::from_secs(2));
    }
    assert_eq!(controller.base(), 1.0);
    for _ in 0..200 {
        controller.update(Span::ZERO);
    }
    assert_eq!(controller.base(), 0.0);
}

/// p_C is 25 % where p_CL is 100 %.
#[test]
fn the_square_meets_the_coupling_at_a_quarter() {
    let mut controller = Pi2Controller::new(
        Pi2Law::new(&law::Parameters::of(&params(&DESCRIPTOR, "rfc", &[])), true).unwrap(),
        Time::ZERO,
    );
    for _ in 0..20 {
        controller.update(Span::from_secs(2));
    }
    assert_eq!((controller.base(), controller.classic(), controller.scalable()), (0.5, 0.25, 1.0));
}

#[test]
fn updates_come_every_16_ms_and_see_the_head() {
    let mut queue = pi2("rfc", &[]);
    let mut sink = Recorder::default();
    queue.enqueue(packet_of(0, 1500, 0, Ecn::NotEct), at(1), &mut sink);
    queue.enqueue(packet_of(0, 1500, 1, Ecn::NotEct), at(9), &mut sink);
    assert_eq!(queue.timer(), Some(at(16)));
    queue.on_timer(at(16), &mut sink);
    assert!((probe(&queue, "delay_ms") - 15.0).abs() < 1e-9);
    assert_eq!(queue.timer(), Some(at(32)));
    queue.dequeue(at(17), &mut sink);
    queue.dequeue(at(17), &mut sink);
    queue.on_timer(at(32), &mut sink);
    assert_eq!(probe(&queue, "delay_ms"), 0.0);
}

#[test]
fn decisions_come_at_their_rate() {
    for (spread, tolerance) in [("recur", 1e-4), ("random", 0.01)] {
        let params = params(&DESCRIPTOR, "rfc", &[("spread", Value::Choice(spread))]);
        let (mut dice, mut sum) =
            (Dice::new(law::Parameters::of(&params).spread, Stream::new(1, "pi2")), Sum::default());
        let rate = |hits: usize| hits as f64 / 20_000.0;
        let plain = rate((0..20_000).filter(|_| dice.hit(0.3, &mut sum)).count());
        assert!((plain - 0.3).abs() < tolerance, "{spread} {plain}");
        let square = rate((0..20_000).filter(|_| dice.hit_square(0.3, &mut sum)).count());
        assert!((square - 0.09).abs() < tolerance, "{spread} {square}");
        assert_eq!((0..100).filter(|_| dice.hit(2.0, &mut sum)).count(), 100);
    }
    // recur spreads evenly: every fourth.
    let mut dice = Dice::new(law::Spread::Recur, Stream::new(1, "pi2"));
    let mut sum = Sum::default();
    let hits: Vec<bool> = (0..8).map(|_| dice.hit(0.25, &mut sum)).collect();
    assert_eq!(hits, [false, false, false, true, false, false, false, true]);
}

/// Brings p' to a value by updates and sends 2000 packets; (drops, marks).
fn fates(ecn: Ecn, base: f64, changes: &[(&str, Value)]) -> (usize, usize) {
    let roomy = [limit(Amount::Packets(1e6)), ("alpha", Value::Number(1.0)), ("beta", Value::Number(0.0))];
    let mut queue = pi2("linux", &[&roomy[..], changes].concat());
    let mut sink = Recorder::default();
    for number in 0..2100 {
        queue.enqueue(packet_of(0, 1500, number, ecn), Time::ZERO, &mut sink);
    }
    // The step is the delay less 15 ms.
    let delay = Span::from_secs_f64(base + 0.015);
    queue.on_timer(Time::ZERO + delay, &mut sink);
    assert!((probe(&queue, "base_probability") - base).abs() < 1e-9);
    while queue.packets() > 100 {
        queue.dequeue(Time::ZERO + delay, &mut sink);
    }
    assert!(sink.drops.iter().all(|drop| drop.1 == DropReason::Early));
    (sink.drops.len(), sink.marks.len())
}

#[test]
fn each_kind_of_packet_meets_its_fate() {
    let near = |found: usize, share: f64| (found as f64 / 2000.0 - share).abs() < 0.03;
    let off = [("ecn", Value::Boolean(false))];
    // Code point, p', ecn; share of drops and of marks.
    for (ecn, base, changes, drops, marks) in [
        (Ecn::NotEct, 0.3, &[][..], 0.09, 0.0),
        (Ecn::Ect0, 0.3, &[], 0.0, 0.09),
        (Ecn::Ce, 0.3, &[], 0.0, 0.09),
        (Ecn::Ect1, 0.3, &[], 0.0, 0.6),
        (Ecn::Ect1, 0.3, &off, 0.09, 0.0),
        (Ecn::Ect0, 0.3, &off, 0.09, 0.0),
        // Overload: k p' is at least 1.
        (Ecn::Ect0, 0.6, &[], 0.36, 0.0),
        (Ecn::Ect1, 0.6, &[], 0.36, 0.0),
    ] {
        let found = fates(ecn, base, changes);
        assert!(near(found.0, drops) && near(found.1, marks), "{ecn:?} {base}: {found:?}");
    }
}

/// Packets marked LE meet nine times the drop probability, and three times that of marks: the root of it.
#[test]
fn le_meets_a_multiple_of_the_probability() {
    let fates = |dscp: u8, ecn: Ecn, base: f64, factor: f64| {
        let roomy = [limit(Amount::Packets(1e6)), ("alpha", Value::Number(1.0)), ("beta", Value::Number(0.0))];
        let mut queue = pi2("rfc", &[&roomy[..], &[("le_factor", Value::Number(factor))]].concat());
        let mut sink = Recorder::default();
        for number in 0..2100 {
            queue.enqueue(Packet { ecn, ..packet_with(dscp, 1500, number) }, Time::ZERO, &mut sink);
        }
        let delay = Span::from_secs_f64(base + 0.015);
        queue.on_timer(Time::ZERO + delay, &mut sink);
        let mut sent = Vec::new();
        while queue.packets() > 100 {
            sent.extend(queue.dequeue(Time::ZERO + delay, &mut sink).map(|packet| packet.body));
        }
        assert!(sent.is_sorted(), "one queue for all");
        (sink.drops.len() as f64 / 2000.0, sink.marks.len() as f64 / 2000.0)
    };
    for (dscp, ecn, base, factor, drops, marks) in [
        (1, Ecn::NotEct, 0.1, 9.0, 0.09, 0.0),
        (0, Ecn::NotEct, 0.1, 9.0, 0.01, 0.0),
        (8, Ecn::NotEct, 0.1, 9.0, 0.01, 0.0),
        (1, Ecn::NotEct, 0.1, 1.0, 0.01, 0.0),
        // All go but the last two, which are spared.
        (1, Ecn::NotEct, 0.4, 81.0, 1.049, 0.0),
        (1, Ecn::Ect1, 0.1, 9.0, 0.0, 0.6),
        (0, Ecn::Ect1, 0.1, 9.0, 0.0, 0.2),
    ] {
        let found = fates(dscp, ecn, base, factor);
        assert!((found.0 - drops).abs() < 0.002 && (found.1 - marks).abs() < 0.002, "{dscp} {ecn:?} {base}: {found:?}");
    }
}

#[test]
fn the_last_two_packets_are_spared() {
    let mut queue = pi2("rfc", &[("alpha", Value::Number(1000.0))]);
    let mut sink = Recorder::default();
    for number in 0..6 {
        queue.enqueue(packet_of(0, 1500, number, Ecn::NotEct), Time::ZERO, &mut sink);
    }
    queue.on_timer(at(100), &mut sink);
    assert_eq!(probe(&queue, "base_probability"), 1.0);
    // Those that leave two full-size packets behind are dropped.
    assert_eq!(queue.dequeue(at(100), &mut sink).unwrap().body, 4);
    assert_eq!(sink.drops.len(), 4);
}

#[test]
fn wrong_combinations_name_the_parameter() {
    let fault = |changes: &[_]| build(&params(&DESCRIPTOR, "rfc", changes), &link(10_000)).err();
    assert_eq!(fault(&[]), None);
    assert_eq!(fault(&[("alpha", Value::Number(0.0))]), Some("alpha"));
    assert_eq!(fault(&[limit(Amount::Time(Span::from_millis(1)))]), Some("limit"));
}

proptest! {
    #[test]
    fn limits_hold(preset in prop::sample::select(vec!["rfc", "linux"]), packets in 1u32..60, life in mixed_lives()) {
        let mut queue = pi2(preset, &[limit(Amount::Packets(f64::from(packets)))]);
        lead(&mut queue, &life, |queue| {
            assert!(queue.packets() <= packets as usize);
            assert!((0.0..=1.0).contains(&probe(queue, "base_probability")));
        })?;
    }

    /// A factor of 1 reads no code point, and a factor without marked packets is none.
    #[test]
    fn without_factor_or_marks_it_is_pi2(
        preset in prop::sample::select(vec!["rfc", "linux"]),
        marked in prop::bool::ANY,
        steps in prop::collection::vec((0u32..8, 0u32..3), 100..600),
    ) {
        let (factor, dscp) = if marked { (1.0, 1) } else { (81.0, 0) };
        let run = |changes: &[(&str, Value)], dscp: u8| {
            history(&mut pi2(preset, &[&[limit(Amount::Packets(60.0))], changes].concat()), dscp, &steps)
        };
        prop_assert_eq!(run(&[("le_factor", Value::Number(factor))], dscp), run(&[], 0));
    }
}
