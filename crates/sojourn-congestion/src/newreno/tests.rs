//! NewReno against RFC 5681 and RFC 6582.

use super::DESCRIPTOR;
use crate::script::{Round, Script, ack, in_fractions};
use crate::{Ack, Control, Repair, Signal};
use Round::{Idle, Loss, Mark, Queue, Timeout};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Span, Time};

fn script(preset: &str, changes: &[(&str, Value)]) -> Script {
    Script::new(&in_fractions(&DESCRIPTOR, preset, changes))
}

/// In congestion avoidance from the start.
const AVOIDANCE: (&str, Value) = ("initial_threshold", Value::Number(2.0));

fn give(script: &mut Script, change: impl Fn(Ack) -> Ack) {
    let ack = ack(script.now, script.window(), Span::ZERO);
    script.control.on_ack(&change(ack));
}

#[test]
fn slow_start_doubles_and_avoidance_adds_one() {
    let rounds = [vec![Queue(0); 4], vec![Loss(0)], vec![Queue(0); 8]].concat();
    same(
        &script("rfc", &[]).table(&rounds),
        "queue 0 ms: 4 8 16 32\nloss at 0 ms: 32\nqueue 0 ms: 32 33 34 35 36 37 38 39",
    );
}

#[test]
fn a_timeout_starts_again_and_slow_start_ends_at_half() {
    let rounds = [vec![Queue(0); 3], vec![Timeout], vec![Queue(0); 6]].concat();
    same(&script("rfc", &[]).table(&rounds), "queue 0 ms: 4 8 16\ntimeout: 1\nqueue 0 ms: 2 4 8 8 9 10");
}

#[test]
fn a_mark_halves_as_a_loss_does() {
    let rounds = [vec![Queue(0); 3], vec![Mark(0)], vec![Queue(0); 3]].concat();
    same(&script("rfc", &[]).table(&rounds), "queue 0 ms: 4 8 16\nmark at 0 ms: 16\nqueue 0 ms: 16 17 18");
}

#[test]
fn after_idling_slow_start_ends_at_the_threshold_of_before() {
    let rounds = [vec![Queue(0); 3], vec![Loss(0), Idle(5)], vec![Queue(0); 5]].concat();
    same(
        &script("rfc", &[]).table(&rounds),
        "queue 0 ms: 4 8 16\nloss at 0 ms: 16\nidle 5 s: 2\nqueue 0 ms: 4 8 16 16 17",
    );
}

/// RFC 9406: 20 ms more delay in the fifth round are a rise; five rounds of a quarter, then congestion avoidance.
#[test]
fn hystart_leaves_slow_start_before_a_loss() {
    let rounds = [vec![Queue(0); 4], vec![Queue(20); 8]].concat();
    let mut script = script("rfc", &[("hystart", Value::Choice("rfc9406"))]);
    same(&script.table(&rounds), "queue 0 ms: 4 8 16 32\nqueue 20 ms: 60 75 94 117 146 172 173 174");
}

/// Only before the first congestion, and when the flow begins as new.
#[test]
fn later_slow_starts_are_standard() {
    let rounds = [
        vec![Queue(0); 8],
        vec![Loss(0), Timeout],
        vec![Queue(0); 5],
        vec![Queue(40), Idle(5)],
        vec![Queue(0); 4],
        vec![Queue(20); 2],
    ]
    .concat();
    let mut script = script("rfc", &[("hystart", Value::Choice("rfc9406"))]);
    same(
        &script.table(&rounds),
        "queue 0 ms: 4 8 16 32 64 128 256 512\nloss at 0 ms: 512\ntimeout: 1\nqueue 0 ms: 2 4 8 16 32\nqueue 40 ms: 64\nidle 5 s: 2\nqueue 0 ms: 4 8 16 32\nqueue 20 ms: 64 128",
    );
}

/// Compares tables.
#[track_caller]
fn same(found: &str, expected: &str) {
    assert_eq!(found, expected, "\nfound:\n{found}\nexpected:\n{expected}");
}

/// RFC 5681 section 3.1: at most one segment for each acknowledgement; L of RFC 3465 relaxes that.
#[test]
fn an_acknowledgement_of_many_segments_opens_slow_start_by_the_limit() {
    for (limit, expected) in [(Value::Integer(1), 3.0), (Value::Integer(2), 4.0), (Value::Auto, 12.0)] {
        let mut script = script("rfc", &[("slow_start_limit", limit)]);
        give(&mut script, |ack| Ack { newly_acked: 10, ..ack });
        assert_eq!(script.window(), expected);
    }
}

/// Equation 3 with byte counting, or ns-2's count of acknowledgements.
#[test]
fn avoidance_counts_segments_or_acknowledgements() {
    for (preset, expected) in [("rfc", 3.0), ("linux", 3.0), ("ns2", 2.5)] {
        let mut script = script(preset, &[AVOIDANCE]);
        give(&mut script, |ack| Ack { newly_acked: 2, ..ack });
        assert_eq!(script.window(), expected, "{preset}");
    }
}

/// Equation 4: half of what is in flight, at least two segments; Linux and ns-2 halve the window, ns-3 what is left of
/// the flight when SACK has told of two segments.
#[test]
fn a_loss_halves_the_flight_or_the_window() {
    for (preset, expected) in [("rfc", 4.0), ("linux", 8.0), ("ns2", 8.0), ("ns3", 3.0)] {
        let mut script = script(preset, &[]);
        script.table(&[Queue(0), Queue(0), Queue(0)]);
        assert_eq!(script.window(), 16.0);
        let event = crate::Congestion {
            now: script.now,
            signal: Signal::Loss,
            flight: 8.0,
            pipe: 6.0,
            smoothed_rtt: Span::from_millis(50),
            stage: crate::Stage::New,
        };
        script.control.on_congestion(&event);
        assert_eq!(script.window(), expected, "{preset}");
        assert_eq!(script.control.slow_start_threshold(), expected, "{preset}");
    }
    let mut script = script("rfc", &[]);
    script.congestion(Signal::Loss);
    assert_eq!(script.window(), 2.0, "two segments at least");
}

/// The exception after equation 4: a repeated timeout leaves the threshold.
#[test]
fn only_the_first_timeout_lowers_the_threshold() {
    let mut script = script("rfc", &[]);
    script.table(&[Queue(0), Queue(0), Queue(0)]);
    script.congestion(Signal::Timeout { repeated: false });
    assert_eq!((script.window(), script.control.slow_start_threshold()), (1.0, 8.0));
    script.congestion(Signal::Timeout { repeated: true });
    assert_eq!((script.window(), script.control.slow_start_threshold()), (1.0, 8.0));
    script.congestion(Signal::Timeout { repeated: false });
    assert_eq!((script.window(), script.control.slow_start_threshold()), (1.0, 2.0));
}

/// RFC 8511: a mark leaves 0.8, and at least two segments; losses and timeouts are as ever.
#[test]
fn with_abe_a_mark_leaves_more_than_a_loss() {
    let left = |preset: &str, changes: &[(&str, Value)], window: f64, signal: Signal| {
        let mut script = script(preset, changes);
        script.begin(window);
        script.congestion(signal);
        (script.window(), script.control.slow_start_threshold())
    };
    assert_eq!(left("abe", &[], 20.0, Signal::Ecn), (16.0, 16.0));
    assert_eq!(left("abe", &[], 2.0, Signal::Ecn), (2.0, 2.0));
    assert_eq!(left("abe", &[], 20.0, Signal::Loss), (10.0, 10.0));
    assert_eq!(left("abe", &[], 20.0, Signal::Timeout { repeated: false }), (1.0, 10.0));
    assert_eq!(left("rfc", &[], 20.0, Signal::Ecn), (10.0, 10.0));
    assert_eq!(left("linux", &[("abe", Value::Number(0.7))], 20.0, Signal::Ecn), (14.0, 14.0));
}

/// RFC 6582 section 3.2, step 3: min(ssthresh, max(FlightSize, 1) + 1).
#[test]
fn leaving_recovery_sends_no_burst() {
    for (flight, expected) in [(0.0, 2.0), (3.0, 4.0), (7.0, 8.0), (100.0, 8.0)] {
        let mut script = script("rfc", &[]);
        script.table(&[Queue(0), Queue(0), Queue(0)]);
        script.congestion(Signal::Loss);
        script.recovered(Repair::Partial, flight);
        assert_eq!(script.window(), expected);
        assert_eq!(script.control.slow_start_threshold(), 8.0);
    }
}

#[test]
fn the_window_grows_neither_in_recovery_nor_unused() {
    let mut script = script("rfc", &[]);
    give(&mut script, |ack| Ack { in_recovery: true, ..ack });
    give(&mut script, |ack| Ack { window_limited: false, ..ack });
    assert_eq!(script.window(), 2.0);
}

/// What may happen to a flow.
#[derive(Clone, Copy, Debug)]
enum Event {
    Ack { acked: u32, flight: u32, limited: bool, recovery: bool },
    Signal(Signal, u32),
    Recovered(u32),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let signal = prop_oneof![
        Just(Signal::Loss),
        Just(Signal::Ecn),
        any::<bool>().prop_map(|repeated| Signal::Timeout { repeated }),
    ];
    let event = prop_oneof![
        20 => (1u32..4, 0u32..100, prop::bool::weighted(0.9), prop::bool::weighted(0.1))
            .prop_map(|(acked, flight, limited, recovery)| Event::Ack { acked, flight, limited, recovery }),
        1 => (signal, 0u32..100).prop_map(|(signal, flight)| Event::Signal(signal, flight)),
        1 => (0u32..100).prop_map(Event::Recovered),
    ];
    prop::collection::vec(event, 1..300)
}

proptest! {
    #[test]
    fn the_window_obeys_its_bounds(
        preset in prop::sample::select(vec!["rfc", "abe", "linux", "ns2"]),
        events in events(),
    ) {
        let mut script = script(preset, &[]);
        for event in events {
            script.now += Span::from_millis(1);
            let (before, threshold) = (script.window(), script.control.slow_start_threshold());
            match event {
                Event::Ack { acked, flight, limited, recovery } => {
                    give(&mut script, |ack| Ack {
                        newly_acked: acked,
                        flight: f64::from(flight),
                        window_limited: limited,
                        in_recovery: recovery,
                        ..ack
                    });
                    let growth = script.window() - before;
                    prop_assert!(growth >= 0.0, "an acknowledgement never shrinks the window");
                    let most = if before < threshold { f64::from(acked) } else { f64::from(acked) / before };
                    prop_assert!(growth <= most + 1e-9);
                    prop_assert!(growth == 0.0 || (limited && !recovery));
                }
                Event::Signal(signal, flight) => {
                    let smoothed_rtt = Span::from_millis(50);
                    let flight = f64::from(flight).min(before);
                    script.control.on_congestion(&crate::Congestion { now: script.now, signal, flight, pipe: flight, smoothed_rtt, stage: crate::Stage::New });
                    prop_assert!(script.window() <= before.max(2.0), "a signal never opens the window beyond 2");
                    if matches!(signal, Signal::Timeout { .. }) {
                        prop_assert_eq!(script.window(), 1.0);
                    }
                    prop_assert!(script.control.slow_start_threshold() >= 2.0);
                }
                Event::Recovered(flight) if threshold.is_finite() => {
                    script.recovered(Repair::Partial, f64::from(flight));
                    prop_assert!(script.window() <= threshold);
                }
                Event::Recovered(_) => {}
            }
            prop_assert!(script.window() >= 1.0 && script.window().is_finite());
        }
    }

    /// Two flows on the same path stay the same: there is no randomness in a control.
    #[test]
    fn the_same_signals_make_the_same_window(acks in prop::collection::vec(1u32..4, 1..200)) {
        let run = || {
            let mut script = script("rfc", &[AVOIDANCE]);
            for &acked in &acks {
                script.now = Time::from_nanos(script.now.as_nanos() + 1);
                give(&mut script, |ack| Ack { newly_acked: acked, ..ack });
            }
            script.window().to_bits()
        };
        prop_assert_eq!(run(), run());
    }
}
