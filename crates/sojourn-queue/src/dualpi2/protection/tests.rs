//! Queue protection against RFC 9957's numbers, and what holds of every flow.

use super::{BUCKETS, Bucket, MAX_SCORE, Parameters, Protection, USUAL_AGING};
use crate::dualpi2::{DESCRIPTOR, Native};
use crate::laws::packet_of;
use crate::testing::{link, params};
use crate::{Ecn, Packet};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Span, Stream, Time};

const RAMP: Native = Native::Ramp { from: Span::from_micros(800), width: Span::from_micros(400) };

fn micros(micros: u64) -> Span {
    Span::from_micros(micros)
}

fn at(when: u64) -> Time {
    Time::ZERO + micros(when)
}

/// Protection of a link of 100 Mbit/s with a critical delay of 1 ms.
fn protection() -> Protection {
    let changes = [("protection", Value::Choice("docsis")), ("critical_delay", Value::Span(Span::from_millis(1)))];
    let params = params(&DESCRIPTOR, "rfc", &changes);
    Protection::new(&Parameters::of(&params), RAMP, &link(100_000), &mut Stream::new(1, "queue")).unwrap()
}

fn packet(flow: u32, bytes: u32) -> Packet<u32> {
    packet_of(flow, bytes, 0, Ecn::Ect1)
}

/// With LG_AGING = 19 a byte costs 2^(30 - 19) ns.
#[test]
fn a_byte_costs_2048_nanoseconds() {
    assert_eq!(USUAL_AGING.transmission(1), Span::from_nanos(2048));
    assert_eq!(USUAL_AGING.transmission(1500), micros(3072));
}

/// Full-size packets that all meet congestion cost 3.072 ms each. At 1.2 ms, a score of 4 ms / 1.2 = 3.33 ms is too much.
#[test]
fn delay_times_score_decides() {
    let mut protection = protection();
    let mut offered = |flow, delay, probability, now| {
        protection.sanctions_packet(&packet(flow, 1500), micros(delay), probability, at(now))
    };
    assert!(!offered(1, 1200, 1.0, 0), "1.2 * 3.072 < 1 * 4");
    assert!(offered(1, 1200, 1.0, 0), "1.2 * 6.144 > 1 * 4");
    // 2.81 ms of the score have to drain.
    assert!(offered(1, 1200, 0.0, 2_810));
    assert!(!offered(1, 1200, 0.0, 2_811));
    // Below the critical delay anybody may do anything.
    for _ in 0..100 {
        assert!(!offered(2, 1000, 1.0, 3_000));
    }
    assert!(offered(2, 1001, 0.0, 3_000));
    // A quarter of the bytes cost a quarter.
    for _ in 0..4 {
        assert!(!offered(3, 1200, 0.25, 3_000));
    }
    assert!(offered(3, 1200, 0.25, 3_000));
    assert_eq!(protection.sanctions(), 4);
}

/// The critical delay follows the queue's own marking, and on slow links a ramp that begins at two packets.
#[test]
fn the_critical_delay_is_where_marking_is_certain() {
    for (kilobits, native, expected) in [
        (100_000, RAMP, 1200),
        (10_000, RAMP, 2400 + 400),
        (100_000, Native::Step { above: micros(1000) }, 1000),
        (10_000, Native::Step { above: micros(1000) }, 2400),
    ] {
        let params = params(&DESCRIPTOR, "rfc", &[("protection", Value::Choice("docsis"))]);
        let protection =
            Protection::new(&Parameters::of(&params), native, &link(kilobits), &mut Stream::new(1, "queue")).unwrap();
        assert_eq!(protection.critical_delay, micros(expected), "{kilobits} {native:?}");
    }
}

#[test]
fn who_was_idle_begins_anew() {
    let mut protection = protection();
    let mut offered =
        |probability, now| protection.sanctions_packet(&packet(1, 1500), micros(2_000), probability, at(now));
    assert_eq!((0..100).filter(|_| offered(1.0, 0)).count(), 100, "2 * 3.072 > 1 * 4");
    assert!(offered(0.0, 300_000), "100 packets cost 307.2 ms");
    // Nothing is saved while idle.
    assert!(!offered(0.0, 10_000_000));
    assert!(offered(1.0, 10_000_000), "2 * 3.072 > 1 * 4");
}

/// Hashes that choose bucket `first`, and `second` if that is taken.
fn flow(first: u64, second: u64, rest: u64) -> u64 {
    first | second << 5 | rest << 10
}

#[test]
fn a_flow_keeps_its_bucket_and_finds_another_one() {
    let mut protection = protection();
    let busy = at(1_000);
    let mut claim = |flow: u64, now: Time| {
        protection.pick(flow, now).fill(micros(500), now);
        protection.buckets.iter().rposition(|bucket| bucket.owner == flow).unwrap()
    };
    assert_eq!(claim(flow(3, 7, 1), busy), 3);
    assert_eq!(claim(flow(3, 9, 2), busy), 9, "the first is taken");
    assert_eq!(claim(flow(3, 9, 3), busy), BUCKETS, "both are taken");
    assert_eq!(claim(flow(9, 3, 4), busy), BUCKETS, "shared");
    assert_eq!(claim(flow(3, 9, 2), busy), 9, "still its own");
    // At 1.5 ms the first has drained, but a flow looks for its own before it takes another one.
    assert_eq!(claim(flow(3, 9, 2), at(1_500)), 9);
    assert_eq!(claim(flow(3, 9, 3), at(1_500)), 3);
    // The shared bucket holds what both have filled in.
    assert_eq!(protection.buckets[BUCKETS].expires, at(2_000));
}

proptest! {
    /// No score exceeds 5 s, and below the critical delay nothing happens.
    #[test]
    fn scores_are_bounded(
        steps in prop::collection::vec((0u32..60, 40u32..10_000, 0u64..5_000, 0.0..=1.0f64, 0u64..20_000), 1..400)
    ) {
        let mut protection = protection();
        let mut now = Time::ZERO;
        for (flow, bytes, delay, probability, pause) in steps {
            now += micros(pause);
            let is_sanctioned = protection.sanctions_packet(&packet(flow, bytes), micros(delay), probability, now);
            prop_assert!(!is_sanctioned || delay > 1_000);
            prop_assert!(protection.buckets.iter().all(|bucket| bucket.expires.since(now) <= MAX_SCORE));
        }
    }

    /// A bucket that is filled for ever holds 5 s at most, and drains within them.
    #[test]
    fn sanctions_end(fills in 1usize..5_000) {
        let mut bucket = Bucket::default();
        for _ in 0..fills {
            prop_assert!(bucket.fill(micros(3_072), Time::ZERO) <= MAX_SCORE);
        }
        prop_assert!(bucket.expires <= Time::ZERO + MAX_SCORE);
    }

    /// A flow that sends its packets no faster than AGING has one packet in its bucket at most: with small ones it is never
    /// sanctioned below a delay of 4 ms over that packet's cost, however congested the queue is, whoever else is there.
    #[test]
    fn who_stays_below_aging_is_left_alone(
        bytes in 40u32..1_500,
        slower in 1.0..3.0f64,
        others in prop::collection::vec(100u32..130, 200),
    ) {
        let mut protection = protection();
        let cost = USUAL_AGING.transmission(u64::from(bytes));
        let delay = Span::from_millis(1).mul_f64(4_000.0 / cost.as_nanos() as f64 * 1000.0 * 0.999);
        let mut now = Time::ZERO;
        for other in others {
            prop_assert!(!protection.sanctions_packet(&packet(1, bytes), delay, 1.0, now));
            // In a bucket of its own: not one of those who share.
            if protection.buckets[BUCKETS].owner != protection.hash.bits(&packet(1, bytes)) {
                protection.sanctions_packet(&packet(other, 1_500), delay, 1.0, now);
            }
            now += cost.mul_f64(slower);
        }
    }
}
