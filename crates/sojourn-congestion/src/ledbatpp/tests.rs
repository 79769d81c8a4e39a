//! LEDBAT++ against the draft's formulas, and against its own laws.

use super::DESCRIPTOR;
use crate::script::{BASE_RTT, Round, Script, ack, params};
use crate::{Ack, Congestion, Control, Signal};
use Round::{Idle, Loss, Mark, Queue, Timeout};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Span, Time};

const NO_SLOWDOWNS: (&str, Value) = ("slowdowns", Value::Boolean(false));

fn script(changes: &[(&str, Value)]) -> Script {
    Script::new(&params(&DESCRIPTOR, "draft", changes))
}

fn millis(millis: u64) -> Span {
    Span::from_millis(millis)
}

/// Compares tables.
#[track_caller]
fn same(found: &str, expected: &str) {
    assert_eq!(found, expected, "\nfound:\n{found}\nexpected:\n{expected}");
}

/// An acknowledgement after a path of `base` without a queue and with `queue`.
fn on_path(now: Time, base: Span, queue: Span) -> Ack {
    Ack { rtt: Some(base + queue), smoothed_rtt: base + queue, min_rtt: base, ..ack(now, 20.0, queue) }
}

/// A flow past slow start with a window of 20 on a path of `base`, one delay sample for the filter.
fn twenty(base: Span) -> Script {
    let mut script = script(&[NO_SLOWDOWNS, ("filter", Value::Integer(1))]);
    script.begin(40.0);
    let first = on_path(script.now, base, Span::ZERO);
    script.control.on_ack(&Ack { in_recovery: true, ..first });
    script.congestion(Signal::Loss);
    assert_eq!(script.window(), 20.0);
    script
}

/// Draft 01, section 4.1: no more than 2 segments, and no more than the transport allows; the default leaves it to the
/// transport. Base 60 ms, so that GAIN is 1/2: each acknowledged segment adds 1/2.
#[test]
fn draft_01_begins_with_two_segments() {
    for (preset, transport, window) in [("draft", 10.0, 10.0), ("draft-01", 10.0, 2.0), ("draft-01", 1.0, 1.0)] {
        let mut flow = Script::seeded(&params(&DESCRIPTOR, preset, &[]), transport, 1);
        assert_eq!(flow.window(), window, "{preset}, {transport}");
        let ack = on_path(flow.now, millis(60), Span::ZERO);
        flow.control.on_ack(&Ack { newly_acked: 2, ..ack });
        assert_eq!(flow.window(), window + 1.0, "{preset}, {transport}");
    }
}

/// Draft 01 in segments of 1448 B: 3 acknowledged in slow start with a base of 10 ms, and in congestion avoidance one at
/// 10 ms and one at 180 ms of queue with a base of 20 ms. Section 4.2: GAIN is 1/12 and 1/6. Section 4.1: 10 segments
/// become 10 + 3/12. Section 4.3: 10 + 1/6/10, and then half a segment less, as 180 ms are three times the target.
/// ns-3's class has 14842, 14504 and 13780 B.
#[test]
fn the_steps_of_ns3_to_the_byte() {
    let mut flow = script(&[NO_SLOWDOWNS, ("filter", Value::Integer(1))]);
    let give = |flow: &mut Script, base, queue, newly_acked| {
        let ack = on_path(flow.now, millis(base), millis(queue));
        flow.control.on_ack(&Ack { newly_acked, ..ack });
        (flow.window() * 1448.0).floor()
    };
    let measured = on_path(flow.now, millis(10), Span::ZERO);
    flow.control.on_ack(&Ack { in_recovery: true, ..measured });
    flow.control.set_window(10.0, 100.0);
    assert_eq!(give(&mut flow, 10, 10, 3), 14842.0);
    let mut flow = twenty(millis(20));
    flow.control.set_window(10.0, 10.0);
    assert_eq!(give(&mut flow, 20, 10, 1), 14504.0);
    assert_eq!(give(&mut flow, 20, 180, 1), 13780.0);
}

/// 2 x 60/base, rounded up, at most 16 (draft 01, section 4.2).
#[test]
fn the_gain_falls_with_the_base_delay() {
    for (base, divisor) in
        [(6, 16.0), (7, 16.0), (10, 12.0), (20, 6.0), (30, 4.0), (59, 3.0), (60, 2.0), (120, 1.0), (500, 1.0)]
    {
        let mut script = twenty(millis(base));
        let ack = on_path(script.now, millis(base), Span::ZERO);
        script.control.on_ack(&Ack { newly_acked: 20, ..ack });
        assert!((script.window() - 20.0 - 1.0 / divisor).abs() < 1e-12, "{base} ms: {}", script.window());
    }
}

/// Draft 01, section 4.3, with base 60 ms and window 20: gain 1/2; at 66 ms 0.5 - 20 x 0.1, at 120 ms no more than half.
#[test]
fn the_decrease_is_multiplicative() {
    for (queue, change) in
        [(30, 0.5), (57, 0.5), (60, 0.5), (66, -1.5), (75, -4.5), (90, -9.5), (91, -9.83), (120, -10.0), (600, -10.0)]
    {
        let mut script = twenty(millis(60));
        let ack = on_path(script.now, millis(60), millis(queue));
        script.control.on_ack(&Ack { newly_acked: 20, ..ack });
        assert!((script.window() - 20.0 - change).abs() < 0.01, "{queue} ms: {}", script.window());
    }
}

/// One of twenty acknowledgements has a twentieth of the effect; many at once no more than the whole.
#[test]
fn a_change_is_spread_over_the_window() {
    for (acked, change) in [(1, -0.5), (20, -10.0), (40, -10.0)] {
        let mut script = twenty(millis(60));
        let ack = on_path(script.now, millis(60), millis(120));
        script.control.on_ack(&Ack { newly_acked: acked, ..ack });
        assert!((script.window() - 20.0 - change).abs() < 1e-12, "{acked}: {}", script.window());
    }
}

/// Draft 01, section 4.5.
#[test]
fn the_least_of_four_samples_counts() {
    let mut script = twenty(millis(60));
    let mut flow = Script::new(&params(&DESCRIPTOR, "draft", &[NO_SLOWDOWNS]));
    for flow in [&mut script, &mut flow] {
        flow.begin(40.0);
        flow.congestion(Signal::Timeout { repeated: false });
        flow.congestion(Signal::Timeout { repeated: true });
        for queue in [0, 90, 90, 90] {
            let ack = on_path(flow.now, millis(60), millis(queue));
            flow.control.on_ack(&Ack { in_recovery: true, ..ack });
        }
    }
    let mut queueing = Vec::new();
    for flow in [&script, &flow] {
        flow.control.probe(&mut |name, value| {
            if name == "queueing_delay_ms" {
                queueing.push(value);
            }
        });
    }
    assert_eq!(queueing, [90.0, 0.0]);
}

/// Draft 01, section 4.1.
#[test]
fn the_first_slow_start_ends_beyond_three_quarters_of_the_target() {
    for (queue, grows) in [(45, true), (46, false)] {
        let mut flow = script(&[("filter", Value::Integer(1))]);
        flow.whole_window(2, Span::ZERO);
        let before = flow.window();
        flow.whole_window(2, millis(queue));
        assert_eq!(flow.window() > before, grows, "{queue} ms");
        assert_eq!(flow.control.slow_start_threshold().is_finite(), !grows);
    }
    // Later ones do not: after a timeout it grows by gain per segment, whatever the delay.
    let mut flow = twenty(millis(60));
    flow.congestion(Signal::Timeout { repeated: false });
    let ack = on_path(flow.now, millis(60), millis(300));
    flow.control.on_ack(&ack);
    assert_eq!((flow.window(), flow.control.slow_start_threshold()), (1.5, 10.0));
    flow.control.on_ack(&Ack { newly_acked: 100, ..ack });
    assert_eq!(flow.window(), 10.0, "up to the threshold");
    flow.control.on_ack(&ack);
    assert!(flow.window() < 10.0);
}

/// Draft 01, section 4.4. Slow start ends at t; slowdown at t + 2 RTT, two segments until t + 4 RTT, and back. The path has 100 ms, so that
/// gain is 1/2.
#[test]
fn slowdowns_come_after_nine_times_their_length() {
    let rtt = millis(100);
    let mut flow = script(&[("filter", Value::Integer(1))]);
    flow.begin(20.0);
    let at = |flow: &mut Script, ms: u64, queue: u64| {
        flow.now = Time::ZERO + millis(1000 + ms);
        let ack = on_path(flow.now, rtt, millis(queue));
        flow.control.on_ack(&Ack { smoothed_rtt: rtt, ..ack });
        flow.window()
    };
    assert_eq!(at(&mut flow, 0, 0), 20.5);
    assert_eq!(at(&mut flow, 10, 50), 20.5, "slow start ends");
    assert!(at(&mut flow, 209, 0) > 20.5);
    assert_eq!(at(&mut flow, 210, 0), 2.0, "two round trips later the first slowdown");
    let threshold = flow.control.slow_start_threshold();
    assert!((20.5..20.6).contains(&threshold));
    assert_eq!(at(&mut flow, 300, 0), 2.0);
    assert_eq!(at(&mut flow, 409, 0), 2.0);
    assert_eq!(at(&mut flow, 410, 0), 2.0, "the end of two round trips");
    assert_eq!(at(&mut flow, 411, 0), 2.5, "slow start with gain");
    for ms in 412..460 {
        at(&mut flow, ms, 0);
    }
    // 36 and a bit halves of a segment: back after the acknowledgement at 448 ms.
    let mut last = 0.0;
    for ms in 460..2500 {
        // The slowdown took from 210 to 448 ms; the next one is due 9 x 238 ms later, at 2590 ms.
        last = at(&mut flow, ms, 0);
        assert!(last > threshold, "at {ms}");
    }
    for ms in 2500..2590 {
        last = at(&mut flow, ms, 0);
    }
    assert!(last > threshold);
    assert_eq!(at(&mut flow, 2590, 0), 2.0);
}

#[test]
fn slowdowns_can_be_switched_off() {
    let mut flow = script(&[NO_SLOWDOWNS]);
    flow.begin(40.0);
    flow.congestion(Signal::Loss);
    for _ in 0..10_000 {
        flow.now += millis(10);
        let ack = on_path(flow.now, millis(60), Span::ZERO);
        flow.control.on_ack(&ack);
        assert!(flow.window() >= 20.0);
    }
}

#[test]
fn a_loss_in_a_slowdown_ends_it() {
    let mut flow = script(&[("filter", Value::Integer(1))]);
    flow.begin(20.0);
    let give = |flow: &mut Script, pause: u64, queue: u64| {
        flow.now += millis(pause);
        let ack = on_path(flow.now, millis(100), millis(queue));
        flow.control.on_ack(&Ack { smoothed_rtt: millis(100), ..ack });
        flow.window()
    };
    give(&mut flow, 100, 0);
    give(&mut flow, 100, 50);
    assert_eq!(give(&mut flow, 200, 0), 2.0);
    flow.now += millis(50);
    flow.congestion(Signal::Loss);
    assert_eq!((flow.window(), flow.control.slow_start_threshold()), (2.0, 2.0));
    // The next one after nine times the 50 ms.
    assert!(give(&mut flow, 449, 0) > 2.0);
    assert_eq!(give(&mut flow, 1, 0), 2.0);
}

#[test]
fn losses_halve_once_per_round_trip_and_never_below_the_floor() {
    let mut flow = twenty(millis(50));
    flow.now += millis(49);
    flow.congestion(Signal::Ecn);
    assert_eq!(flow.window(), 20.0, "the round trip of the first loss");
    flow.now += millis(1);
    flow.congestion(Signal::Ecn);
    assert_eq!(flow.window(), 10.0);
    for _ in 0..5 {
        flow.now += millis(50);
        flow.congestion(Signal::Loss);
    }
    assert_eq!(flow.window(), 2.0);
    flow.congestion(Signal::Timeout { repeated: false });
    assert_eq!(flow.window(), 1.0);
}

#[test]
fn an_unused_window_and_a_recovery_grow_nothing() {
    let mut flow = script(&[]);
    for number in 0..50 {
        flow.now += millis(1);
        let plain = ack(flow.now, 2.0, Span::ZERO);
        flow.control.on_ack(&Ack { window_limited: number % 2 == 0, in_recovery: number % 2 == 0, ..plain });
        flow.control.on_ack(&Ack { marked: true, ..plain });
    }
    assert_eq!(flow.window(), 2.0);
    let mut flow = twenty(millis(60));
    let ack = on_path(flow.now, millis(60), Span::ZERO);
    flow.control.on_ack(&Ack { window_limited: false, ..ack });
    assert_eq!(flow.window(), 20.0);
    let late = on_path(flow.now, millis(60), millis(120));
    flow.control.on_ack(&Ack { window_limited: false, ..late });
    assert!(flow.window() < 20.0, "an unused window shrinks all the same");
}

const STORY: &[&[Round]] = &[
    &[Queue(0); 8],
    &[Queue(50); 8],
    &[Queue(90); 4],
    &[Loss(0)],
    &[Queue(0); 4],
    &[Mark(0), Timeout],
    &[Queue(0); 6],
    &[Idle(3)],
    &[Queue(0); 4],
];

/// Base 50 ms: the gain is 1/3.
#[test]
fn the_draft_over_round_trips() {
    same(
        &script(&[]).table(&STORY.concat()),
        "queue 0 ms: 2 3 4 5 7 9 12 16\n\
         queue 50 ms: 17 18 2 2 2 3 4 5\n\
         queue 90 ms: 7 9 11 15\n\
         loss at 0 ms: 9\n\
         queue 0 ms: 9 9 10 10\n\
         mark at 0 ms: 5\n\
         timeout: 1\n\
         queue 0 ms: 1 1 2 2 2 2\n\
         idle 3 s: 2\n\
         queue 0 ms: 2 2 3 3",
    );
}

/// On a link of one segment per 1.2 ms with a base RTT of 50 ms the queue stays at the target but for the slowdowns.
#[test]
fn alone_on_a_link_the_queue_nears_the_target_and_is_emptied_again_and_again() {
    let mut flow = script(&[]);
    let (mut most, mut emptied) = (Span::ZERO, 0);
    let mut was_low = true;
    while flow.now.as_secs_f64() < 60.0 {
        let segments = flow.window().floor() as u64;
        let queue = (Span::from_micros(1200) * segments).saturating_sub(BASE_RTT);
        most = most.max(queue);
        let low = flow.window() <= 2.0;
        emptied += u32::from(low && !was_low);
        was_low = low;
        for _ in 0..segments {
            flow.now += (BASE_RTT + queue) / segments;
            let ack = ack(flow.now, flow.window(), queue);
            flow.control.on_ack(&ack);
        }
    }
    assert!((55.0..70.0).contains(&most.as_millis_f64()), "{most:?}");
    assert!((5..20).contains(&emptied), "{emptied}");
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
                prop_assert!(script.window() <= (before + f64::from(acked)).max(2.0), "no faster than slow start");
            }
            prop_assert!(script.window() >= 1.0 && script.window().is_finite());
        }
    }
}
