//! SFB against Linux's rules step by step and against the laws of every discipline.

use super::bins::{Bins, CERTAIN, LEVELS, Steps};
use super::{DESCRIPTOR, Sfb};
use crate::testing::flows::{flow_lives, live_flows, packet_of};
use crate::testing::{Recorder, build, limit, link, params, probe};
use crate::{Discipline, DropReason, Ecn};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Amount, Span, Stream, Time};

fn sfb(changes: &[(&str, Value)]) -> Sfb<u32> {
    Sfb::new(&params(&DESCRIPTOR, "tc", changes), &link(10_000), Stream::new(1, "queue")).unwrap()
}

fn number(name: &'static str, value: f64) -> (&'static str, Value) {
    (name, Value::Number(value))
}

fn integer(name: &'static str, value: u64) -> (&'static str, Value) {
    (name, Value::Integer(value))
}

fn span(name: &'static str, secs: u64) -> (&'static str, Value) {
    (name, Value::Span(Span::from_secs(secs)))
}

fn at(secs: u64) -> Time {
    Time::ZERO + Span::from_secs(secs)
}

/// The greatest probability, in steps of 1/65535.
fn learned(sfb: &Sfb<u32>) -> u32 {
    (sfb.sets[sfb.active].probabilities().0 * f64::from(CERTAIN)).round() as u32
}

/// tc rounds to 1/65535: 1/2000 is 33 and 1/20000 is 3; the kernel's own 1/1000 is 66 and 1/6000 is 11.
#[test]
fn steps_are_those_of_tc() {
    assert_eq!(format!("{:?}", Steps::new(0.0005, 0.00005, 20)), "Steps { increment: 33, decrement: 3, target: 20 }");
    assert_eq!(
        format!("{:?}", Steps::new(0.001, 1.0 / 6000.0, 20)),
        "Steps { increment: 66, decrement: 11, target: 20 }"
    );
}

/// 20 packets raise nothing; the 21st to the 25th find 20 to 24 waiting and raise the probability; from then on arrivals
/// are dropped for their number and raise it too.
#[test]
fn long_bins_learn_and_then_drop() {
    let (mut sfb, mut sink) = (sfb(&[number("increment", 0.001)]), Recorder::default());
    let mut steps = Vec::new();
    for number in 0..30 {
        let mut packet = packet_of(1, 1500, number);
        packet.ecn = Ecn::Ect0;
        sfb.enqueue(packet, Time::ZERO, &mut sink);
        steps.push(learned(&sfb) / 66);
    }
    assert_eq!(steps[19..], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    assert_eq!(sfb.packets(), 25);
    assert_eq!(sink.drops, (25..30).map(|number| (number, DropReason::Overflow)).collect::<Vec<_>>());
    assert_eq!(sfb.sets[0].packets(), [25; LEVELS]);
    assert_eq!(sfb.sets[1].packets(), [0; LEVELS]);
}

#[test]
fn empty_bins_unlearn() {
    let (mut sfb, mut sink) = (sfb(&[number("decrement", 0.001)]), Recorder::default());
    let mut packet = packet_of(1, 1500, 0);
    packet.ecn = Ecn::Ect0;
    sfb.sets[0].teach(&packet, 0.25);
    let before = learned(&sfb);
    for rounds in 1..=3 {
        // The second arrival finds the first, and changes nothing.
        (0..2).for_each(|_| sfb.enqueue(packet, Time::ZERO, &mut sink));
        while sfb.dequeue(Time::ZERO, &mut sink).is_some() {}
        assert_eq!(learned(&sfb), before - 66 * rounds);
    }
}

/// Drops and marks of 20,000 arrivals of a flow with this probability in all its bins.
fn fates(probability: f64, capable: bool, changes: &[(&str, Value)]) -> (f64, f64) {
    let changes = [&[number("increment", 0.0), number("decrement", 0.0)], changes].concat();
    let (mut sfb, mut sink) = (sfb(&changes), Recorder::default());
    let mut packet = packet_of(1, 1500, 0);
    packet.ecn = if capable { Ecn::Ect1 } else { Ecn::NotEct };
    sfb.sets[0].teach(&packet, probability);
    for _ in 0..20_000 {
        sfb.enqueue(packet, Time::ZERO, &mut sink);
        if let Some(sent) = sfb.dequeue(Time::ZERO, &mut sink) {
            assert!(sent.ecn == packet.ecn || sent.ecn == Ecn::Ce);
        }
    }
    (sink.drops.len() as f64 / 20_000.0, sink.marks.len() as f64 / 20_000.0)
}

/// Up to one half ECN-capable packets are marked; above, drops begin at twice the excess.
#[test]
fn probabilities_mark_or_drop() {
    let close = |(drops, marks): (f64, f64), expected: (f64, f64)| {
        assert!(
            (drops - expected.0).abs() < 0.012 && (marks - expected.1).abs() < 0.012,
            "{drops} {marks} {expected:?}"
        );
    };
    close(fates(0.3, true, &[]), (0.0, 0.3));
    close(fates(0.3, false, &[]), (0.3, 0.0));
    close(fates(0.3, true, &[("ecn", Value::Boolean(false))]), (0.3, 0.0));
    close(fates(0.5, true, &[]), (0.0, 0.5));
    close(fates(0.7, true, &[]), (0.4, 0.3));
    close(fates(0.7, false, &[]), (0.7, 0.0));
    assert_eq!(fates(0.0, true, &[]), (0.0, 0.0));
}

/// The least of all levels counts: one bin of its own saves a flow.
#[test]
fn a_flow_is_judged_by_its_best_bin() {
    let (mut sfb, mut sink) = (sfb(&[]), Recorder::default());
    (0..40).for_each(|number| sfb.enqueue(packet_of(1, 1500, number), Time::ZERO, &mut sink));
    assert_eq!(sfb.packets(), 25);
    let shares_all =
        |other| sfb.sets[0].places(&packet_of(1, 1500, 0)) == sfb.sets[0].places(&packet_of(other, 1500, 0));
    assert!((2..1000).all(|other| !shares_all(other)));
    sink.drops.clear();
    (2..500).for_each(|other| sfb.enqueue(packet_of(other, 1500, other), Time::ZERO, &mut sink));
    let dropped = sink.drops.iter().filter(|&&(number, _)| number < 10).count();
    assert_eq!(dropped, 0, "the bins of the first few others are not yet long");
}

/// Of two flows that meet on one level only, whichever it is, each has the least of its own bins: there the other's.
#[test]
fn the_least_of_all_levels_counts() {
    let still = Steps::new(0.0, 0.0, 20);
    let flow = packet_of(0, 1500, 0);
    for level in 0..LEVELS {
        let mut bins = Bins::new(&mut Stream::new(1, "bins"));
        let meets = |other: &u32| bins.places(&packet_of(*other, 1500, 0)).shared_with(bins.places(&flow));
        let other = (1..).find(|other| meets(other) == [level]).unwrap();
        let other = packet_of(other, 1500, 0);
        bins.teach(&flow, 0.8);
        bins.teach(&other, 0.3);
        let (places, others) = (bins.places(&flow), bins.places(&other));
        let part = |probability: f64| (probability * f64::from(CERTAIN)) as u32;
        assert_eq!((bins.learn(places, &still), bins.learn(others, &still)), ((part(0.3), 0), (part(0.3), 0)));
        bins.teach(&other, 0.9);
        assert_eq!((bins.learn(places, &still).0, bins.learn(others, &still).0), (part(0.8), part(0.9)));
        (0..3).for_each(|_| bins.add(Some(places)));
        assert_eq!((bins.learn(places, &still).1, bins.learn(others, &still).1), (3, 0));
    }
}

/// A burst of 20, then 10 packets a second, at most 10 s' worth, and never more than the burst at once.
#[test]
fn a_flow_that_does_not_respond_is_fined() {
    let still = [number("increment", 0.0), number("decrement", 0.0)];
    let passed = |times: &[(u64, u32)], changes: &[_]| {
        let (mut sfb, mut sink) = (sfb(&[&still[..], changes].concat()), Recorder::default());
        sfb.sets[0].teach(&packet_of(1, 1500, 0), 1.0);
        let mut passed = Vec::new();
        for &(millis, arrivals) in times {
            let now = Time::ZERO + Span::from_millis(millis);
            (0..arrivals).for_each(|_| sfb.enqueue(packet_of(1, 1500, 0), now, &mut sink));
            passed.push(std::iter::from_fn(|| sfb.dequeue(now, &mut sink)).count());
        }
        assert!(sink.drops.iter().all(|&(_, reason)| reason == DropReason::Early));
        passed
    };
    assert_eq!(passed(&[(0, 22), (1000, 22), (1050, 22), (1150, 22), (9000, 24)], &[]), [20, 10, 0, 1, 20]);
    assert_eq!(passed(&[(0, 24), (60_000, 24)], &[integer("penalty_burst", 1)]), [1, 1]);
    assert_eq!(passed(&[(0, 22), (60_000, 24)], &[number("penalty_rate", 0.5)]), [20, 5]);
    assert_eq!(passed(&[(0, 20), (60_000, 20)], &[integer("penalty_burst", 0)]), [0, 0]);
}

/// The second set learns of the worst flows in the last part of a hash's life, and then decides.
#[test]
fn hashes_take_turns() {
    let still = [number("increment", 0.0), number("decrement", 0.0)];
    let changes = [&still[..], &[span("rehash", 10), span("warmup", 4)]].concat();
    let (mut sfb, mut sink) = (sfb(&changes), Recorder::default());
    sfb.sets[0].teach(&packet_of(1, 1500, 0), 1.0);
    let places = sfb.sets[0].places(&packet_of(1, 1500, 0));
    let mut state = |secs| {
        sfb.enqueue(packet_of(1, 1500, 0), at(secs), &mut sink);
        (sfb.active, sfb.sets[0].packets()[0], sfb.sets[1].packets()[0])
    };
    assert_eq!(state(1), (0, 1, 0));
    assert_eq!(state(6), (0, 2, 0));
    assert_eq!(state(7), (0, 3, 1));
    assert_eq!(state(10), (0, 4, 2));
    // Now the second set decides, where the flow is new: its probability is 0.
    assert_eq!(state(11), (1, 4, 3));
    assert_eq!(state(21), (1, 4, 4));
    assert_eq!(state(22), (0, 5, 4));
    // The set that rests has got another hash meanwhile; packets leave the bins that they were counted in.
    assert_ne!(sfb.sets[0].places(&packet_of(1, 1500, 0)), places);
    while sfb.dequeue(at(22), &mut sink).is_some() {}
    assert_eq!((sfb.sets[0].packets(), sfb.sets[1].packets()), ([0; LEVELS], [0; LEVELS]));
}

#[test]
fn wrong_combinations_name_the_parameter() {
    let fault = |changes: &[_]| build(&params(&DESCRIPTOR, "tc", changes), &link(10_000)).err();
    assert_eq!(fault(&[]), None);
    assert_eq!(fault(&[limit(Amount::Bytes(1499.0))]), Some("limit"));
    assert_eq!(fault(&[integer("target", 25)]), Some("target"));
    assert_eq!(fault(&[integer("target", 24)]), None);
    assert_eq!(fault(&[span("warmup", 600)]), Some("warmup"));
    assert_eq!(fault(&[span("rehash", 0)]), None);
}

proptest! {
    #[test]
    fn limits_hold_and_nothing_is_lost(most in 1u32..60, max in 2u64..10, increment in 0.001f64..1.0, life in flow_lives(20)) {
        let changes = [
            limit(Amount::Packets(f64::from(most))),
            integer("max", max),
            integer("target", max - 1),
            number("increment", increment),
            ("rehash", Value::Span(Span::from_millis(100))),
            ("warmup", Value::Span(Span::from_millis(50))),
        ];
        let params = params(&DESCRIPTOR, "linux", &changes);
        let run = || live_flows(&mut build(&params, &link(10_000)).unwrap(), &life, |queue| {
            assert!(queue.packets() <= most as usize);
            let (greatest, mean) = (probe(queue, "greatest_bin_probability"), probe(queue, "mean_bin_probability"));
            assert!(0.0 <= mean && mean <= greatest && greatest <= 1.0);
        });
        prop_assert_eq!(run()?, run()?, "the same stream makes the same decisions");
    }

    /// Every level counts every packet once, whatever hash it came under.
    #[test]
    fn bins_count_what_waits(steps in prop::collection::vec((0u32..8, any::<bool>()), 1..200)) {
        let (mut sfb, mut sink) = (sfb(&[("rehash", Value::Span(Span::from_millis(10))), span("warmup", 0)]), Recorder::default());
        for (number, (flow, ask)) in (0u32..).zip(steps) {
            let now = Time::ZERO + Span::from_millis(u64::from(number));
            sfb.enqueue(packet_of(flow, 1500, number), now, &mut sink);
            if ask {
                sfb.dequeue(now, &mut sink);
            }
            let (one, other) = (sfb.sets[0].packets(), sfb.sets[1].packets());
            prop_assert!((0..LEVELS).all(|level| (one[level] + other[level]) as usize == sfb.packets()));
        }
    }
}
