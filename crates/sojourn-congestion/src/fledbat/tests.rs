//! fLEDBAT against the paper's equation, and against its own laws.

use super::DESCRIPTOR;
use crate::script::{BASE_RTT, Round, Script, ack, params};
use crate::{Ack, Congestion, Control, Signal};
use Round::{Idle, Loss, Mark, Queue, Timeout};
use proptest::prelude::*;
use sojourn_core::registry::{Descriptor, Value};
use sojourn_core::{Span, Time};
use std::collections::VecDeque;

fn script(changes: &[(&str, Value)]) -> Script {
    Script::new(&params(&DESCRIPTOR, "paper", changes))
}

fn millis(millis: u64) -> Span {
    Span::from_millis(millis)
}

/// Compares tables.
#[track_caller]
fn same(found: &str, expected: &str) {
    assert_eq!(found, expected, "\nfound:\n{found}\nexpected:\n{expected}");
}

/// A flow with a window of 20 that knows the empty path.
fn twenty() -> Script {
    let mut script = script(&[("filter", Value::Integer(1))]);
    script.begin(20.0);
    let first = ack(script.now, 20.0, Span::ZERO);
    script.control.on_ack(&Ack { in_recovery: true, ..first });
    assert_eq!(script.window(), 20.0);
    script
}

/// alpha/window, less 5 x (delay - 100)/100 above the target.
#[test]
fn one_acknowledgement_at_each_delay() {
    for (queue, change) in [(0, 0.05), (50, 0.05), (100, 0.05), (101, 0.0), (110, -0.45), (200, -4.95), (400, -14.95)] {
        let mut script = twenty();
        script.now += millis(1);
        let ack = ack(script.now, 20.0, millis(queue));
        script.control.on_ack(&ack);
        assert!((script.window() - 20.0 - change).abs() < 1e-12, "{queue} ms: {}", script.window());
    }
}

#[test]
fn an_acknowledgement_of_many_segments_counts_for_all() {
    for (queue, change) in [(0, 0.2), (110, -1.8)] {
        let mut script = twenty();
        script.now += millis(1);
        let ack = ack(script.now, 20.0, millis(queue));
        script.control.on_ack(&Ack { newly_acked: 4, ..ack });
        assert!((script.window() - 20.0 - change).abs() < 1e-12, "{queue} ms: {}", script.window());
    }
}

#[test]
fn an_unused_window_and_a_recovery_grow_nothing() {
    let mut script = twenty();
    let plain = ack(script.now, 20.0, Span::ZERO);
    for ack in
        [Ack { window_limited: false, ..plain }, Ack { marked: true, ..plain }, Ack { in_recovery: true, ..plain }]
    {
        script.control.on_ack(&ack);
        assert_eq!(script.window(), 20.0);
    }
    let late = ack(script.now, 20.0, millis(110));
    script.control.on_ack(&Ack { window_limited: false, ..late });
    assert!(script.window() < 20.0, "an unused window shrinks all the same");
}

#[test]
fn losses_halve_once_per_round_trip_and_never_below_the_floor() {
    let mut script = twenty();
    for (pause, window) in [(0, 10.0), (49, 10.0), (1, 5.0), (50, 2.5), (50, 2.0), (50, 2.0)] {
        script.now += millis(pause);
        script.congestion(Signal::Loss);
        assert_eq!(script.window(), window);
    }
    script.congestion(Signal::Timeout { repeated: false });
    assert_eq!(script.window(), 1.0);
    script.now += millis(50);
    script.congestion(Signal::Ecn);
    assert_eq!(script.window(), 1.0);
}

const STORY: &[&[Round]] = &[
    &[Queue(0); 8],
    &[Queue(100); 8],
    &[Queue(105); 4],
    &[Queue(150); 2],
    &[Loss(0)],
    &[Queue(0); 4],
    &[Mark(0), Timeout],
    &[Queue(0); 4],
    &[Idle(3)],
    &[Queue(0); 4],
];

#[test]
fn the_paper_over_round_trips() {
    same(
        &script(&[]).table(&STORY.concat()),
        "queue 0 ms: 2 3 4 5 6 7 7 8\n\
         queue 100 ms: 9 10 11 12 13 14 15 16\n\
         queue 105 ms: 13 11 9 8\n\
         queue 150 ms: 2 2\n\
         loss at 0 ms: 2\n\
         queue 0 ms: 2 3 4 5\n\
         mark at 0 ms: 3\n\
         timeout: 1\n\
         queue 0 ms: 2 2 3 4\n\
         idle 3 s: 2\n\
         queue 0 ms: 2 3 4 5",
    );
}

/// Two flows with a target of 25 ms share a link of a segment per 1.2 ms, 50 ms away; the second begins after 20 s.
/// What the second delivers in the last 60 of 120 s, over what the first does.
fn latecomer(descriptor: &'static Descriptor) -> f64 {
    const SLOT: Span = Span::from_micros(1200);
    let params = params(descriptor, "default", &[("target", Value::Span(millis(25)))]);
    let mut flows = [Script::new(&params), Script::new(&params)];
    let (mut flight, mut delivered) = ([0.0, 0.0], [0.0, 0.0]);
    // Waiting segments, and acknowledgements on their way: whose, the delay met, and when they arrive.
    let (mut queue, mut acks) = (VecDeque::new(), VecDeque::new());
    let mut now = Time::ZERO;
    while now < Time::ZERO + Span::from_secs(120) {
        now += SLOT;
        while let Some(&(flow, wait, at)) = acks.front()
            && at <= now
        {
            acks.pop_front();
            let script: &mut Script = &mut flows[flow];
            let ack = ack(at, script.window(), wait);
            script.control.on_ack(&ack);
            flight[flow] -= 1.0;
            delivered[flow] += f64::from(u8::from(now.as_secs_f64() > 60.0));
        }
        for flow in 0..if now.as_secs_f64() < 20.0 { 1 } else { 2 } {
            while flight[flow] + 1.0 <= flows[flow].window() {
                queue.push_back((flow, now));
                flight[flow] += 1.0;
            }
        }
        if let Some((flow, since)) = queue.pop_front() {
            acks.push_back((flow, now.since(since), now + BASE_RTT));
        }
    }
    delivered[1] / delivered[0]
}

#[test]
fn a_latecomer_pushes_ledbat_away_but_not_the_fair_one() {
    let ratio = latecomer(&crate::ledbat::DESCRIPTOR);
    assert!(ratio > 5.0, "LEDBAT: {ratio}");
    let ratio = latecomer(&DESCRIPTOR);
    assert!((0.8..1.25).contains(&ratio), "fLEDBAT: {ratio}");
}

proptest! {
    #[test]
    fn the_window_obeys_its_bounds(events in prop::collection::vec((0u64..100, 0u64..300, 1u32..4, 0u8..60), 1..600)) {
        let mut script = script(&[]);
        for (pause, queue, acked, kind) in events {
            script.now += millis(pause);
            let before = script.window();
            let signal = match kind {
                0 => Some(Signal::Loss),
                1 => Some(Signal::Ecn),
                2 => Some(Signal::Timeout { repeated: false }),
                _ => None,
            };
            if let Some(signal) = signal {
                let flight = before.floor();
                script.control.on_congestion(&Congestion { now: script.now, signal, flight, pipe: flight, smoothed_rtt: BASE_RTT, stage: crate::Stage::New });
                prop_assert!(script.window() <= before);
            } else {
                let plain = ack(script.now, before, millis(queue));
                script.control.on_ack(&Ack { newly_acked: acked, ..plain });
                prop_assert!(script.window() <= (before + f64::from(acked) / before).max(2.0) + 1e-9);
            }
            prop_assert!(script.window() >= 1.0 && script.window().is_finite());
        }
    }

    /// Clocks may differ by any constant.
    #[test]
    fn offsets_between_clocks_cancel(
        offset in -4_000_000_000_000_000i64..4_000_000_000_000_000,
        queues in prop::collection::vec(0u64..300, 1..300),
    ) {
        let (mut plain, mut shifted) = (script(&[]), script(&[]));
        for queue in queues {
            for (script, offset) in [(&mut plain, 0), (&mut shifted, offset)] {
                script.now += millis(7);
                let ack = ack(script.now, script.window(), millis(queue));
                let delay = ack.one_way_delay_nanos.map(|nanos| nanos + offset);
                script.control.on_ack(&Ack { one_way_delay_nanos: delay, ..ack });
            }
            prop_assert_eq!(plain.window().to_bits(), shifted.window().to_bits());
        }
    }
}
