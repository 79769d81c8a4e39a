//! SCReAM against the draft's formulas.

use super::{BELOW_WINDOW, DESCRIPTOR, OVERHEAD, Scream, alpha_after, nearness};
use crate::script::{ack, params};
use crate::{Ack, Congestion, Control, EcnUse, Path, Signal, Stage};
use proptest::prelude::*;
use sojourn_core::{Span, Stream, Time};

fn scream(preset: &str) -> Scream {
    let path = Path { mss_bytes: 1000, header_bytes: 52, smallest_packet_bytes: 52, initial_window: 10.0, sack: true };
    Scream::new(&params(&DESCRIPTOR, preset, &[]), &path, Stream::new(1, "control")).unwrap()
}

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// An acknowledgement of one segment of `flight`, after `rtt`, of which `queue` is queueing delay.
fn answer(now: Time, rtt: u64, queue: u64, flight: f64, marked: bool) -> Ack {
    let rtt = Span::from_millis(rtt);
    let sent = Time::from_nanos(now.as_nanos().saturating_sub(rtt.as_nanos()));
    Ack { rtt: Some(rtt), smoothed_rtt: rtt, marked, sent, flight, ..ack(now, flight, Span::from_millis(queue)) }
}

fn congestion(now: Time, signal: Signal) -> Congestion {
    Congestion { now, signal, flight: 1.0, pipe: 1.0, smoothed_rtt: Span::from_millis(50), stage: Stage::New }
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "found {found}, expected {expected}");
}

#[test]
fn alpha_attacks_fast_and_decays_slowly() {
    close(alpha_after(0.0, 1.0), 0.125);
    close(alpha_after(0.125, 0.5), 0.171_875);
    close(alpha_after(0.5, 0.0), 0.5 * 127.0 / 128.0);
    close(alpha_after(0.5, 0.4), 0.5 * 127.0 / 128.0);
}

#[test]
fn the_inflection_point_slows_down() {
    close(nearness(110.0, 100.0), 0.64);
    close(nearness(90.0, 100.0), 0.64);
    close(nearness(100.0, 100.0), 0.1);
    close(nearness(120.0, 100.0), 1.0);
}

/// The window begins at 3000 B; three of it may be in flight, and the target rate is below it.
#[test]
fn a_flow_begins_with_3000_bytes() {
    let mut flow = scream("draft");
    close(flow.window(), 3.0 * OVERHEAD);
    assert_eq!(flow.pacing_rate(), None);
    flow.on_ack(&answer(at(50), 50, 0, 3.0, false));
    // 1 / 3, 2 % of the window's 3 segments more.
    close(flow.window, 3.0 + 1.0 / 3.0 * 1.06);
    let small = 1.0 / flow.window - 0.1;
    let expected = flow.window * 8000.0 / 0.05 * (1.0 - small.min(0.2)) / BELOW_WINDOW;
    let rate = flow.pacing_rate().unwrap().bits_per_second() as f64;
    assert!((rate - expected).abs() < 1.0, "{rate} {expected}");
}

#[test]
fn losses_marks_and_delay_take_what_the_draft_says() {
    let mut flow = scream("draft");
    flow.on_ack(&answer(at(50), 50, 0, 100.0, false));
    flow.window = 100.0;
    flow.on_congestion(&congestion(at(100), Signal::Loss));
    close(flow.window, 70.0);
    flow.on_congestion(&congestion(at(110), Signal::Loss));
    close(flow.window, 70.0);
    flow.on_congestion(&congestion(at(130), Signal::Loss));
    close(flow.window, 49.0);
    // An echo of a mark leaves 0.8.
    flow.lost = false;
    flow.on_congestion(&congestion(at(160), Signal::Ecn));
    close(flow.window, 49.0 * 0.8);
    // 45 ms are half of the way from half the target to the target: a quarter, and half of that at an RTT of 50 ms.
    flow.average = Span::from_millis(45);
    close(flow.virtual_alpha(), 0.5);
    flow.react(at(200), 1.0);
    close(flow.window, 49.0 * 0.8 * 0.875);
}

/// Alpha of a half takes a quarter at 25 ms and below, half of that at 50 ms; near the inflection point a quarter of it.
#[test]
fn marks_take_half_of_alpha() {
    for (rtt, nearness, left) in [(20, 1.0, 75.0), (50, 1.0, 87.5), (50, 0.1, 96.875)] {
        let mut flow = scream("l4s");
        flow.on_ack(&answer(at(50), rtt, 0, 100.0, false));
        flow.window = 100.0;
        flow.alpha = 0.5;
        flow.hit = true;
        flow.reacted = Some(at(50));
        flow.react(at(100), nearness);
        close(flow.window, left);
    }
}

/// A window that was not used for 100 round trips is what was in flight before marks count.
#[test]
fn an_unused_window_is_corrected_first() {
    let mut flow = scream("l4s");
    flow.on_ack(&answer(at(50), 50, 0, 10.0, false));
    flow.flights = [10.0, 10.0];
    flow.window = 100.0;
    flow.alpha = 0.5;
    flow.hit = true;
    flow.react(at(100), 1.0);
    close(flow.window, 8.75);
}

/// It grows to 1 + 1.5 times what is in flight and no further.
#[test]
fn a_window_follows_what_is_in_flight() {
    let mut flow = scream("draft");
    for round in 1..2_000 {
        flow.on_ack(&answer(at(50 * round), 50, 0, 10.0, false));
    }
    assert!(flow.window <= 16.0 && flow.window > 15.0, "{}", flow.window);
}

/// Two marks in a round trip take about the segment that it gains: at alpha = 2 / window.
#[test]
fn two_marks_in_a_round_trip_are_the_equilibrium() {
    let mut flow = scream("l4s");
    flow.window = 100.0;
    flow.inflection = 50.0;
    flow.congested = Some(at(0));
    let (mut now, mut least, mut most) = (0, f64::INFINITY, 0.0f64);
    for round in 0..400 {
        for segment in 0..50u64 {
            now = 25 * (round + 1);
            flow.on_ack(&Ack {
                delivered: 2,
                newly_acked: 2,
                unmarked: 1,
                ..answer(at(now), 25, 0, 100.0, segment < 2)
            });
        }
        if round > 200 {
            least = least.min(flow.window);
            most = most.max(flow.window);
        }
    }
    assert!(least > 40.0 && most < 220.0, "{least} {most} at {now}");
}

#[test]
fn without_l4s_it_asks_for_no_marks() {
    assert_eq!((scream("draft").ecn(), scream("l4s").ecn()), (EcnUse::Optional, EcnUse::Scalable));
    let mut flow = scream("l4s");
    flow.on_classic_feedback();
    assert_eq!(flow.ecn(), EcnUse::Optional);
}

proptest! {
    /// Whatever comes, the window is at least 3000 B, and grows by no more than a segment and 2 % for a window of acknowledgements.
    #[test]
    fn windows_are_sane(
        l4s in any::<bool>(),
        steps in prop::collection::vec((0u64..60, 0u64..200, 1.0..300.0f64, any::<bool>(), 0u8..12), 1..400),
    ) {
        let mut flow = scream(if l4s { "l4s" } else { "draft" });
        let mut now = 1;
        for (pause, queue, flight, marked, what) in steps {
            now += pause;
            let before = flow.window;
            match what {
                0 => flow.on_congestion(&congestion(at(now), Signal::Loss)),
                1 => flow.on_congestion(&congestion(at(now), Signal::Ecn)),
                2 => flow.on_congestion(&congestion(at(now), Signal::Timeout { repeated: false })),
                _ => flow.on_ack(&answer(at(now), 50 + queue, queue, flight, marked)),
            }
            prop_assert!(flow.window >= 3.0 && flow.window.is_finite());
            prop_assert!(flow.window <= before + 1.0 / before + 0.02 + 1e-9);
        }
    }
}
