//! NICE against the paper's rules, and against its own laws.

use super::DESCRIPTOR;
use crate::script::{BASE_RTT, Round, Script, ack, params};
use crate::{Ack, AnyControl, Congestion, Control, Path, Repair, Signal};
use Round::{Idle, Loss, Mark, Queue, Timeout};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Span, Stream};

fn script(preset: &str, changes: &[(&str, Value)]) -> Script {
    Script::new(&params(&DESCRIPTOR, preset, changes))
}

fn millis(millis: u64) -> Span {
    Span::from_millis(millis)
}

/// Compares tables.
#[track_caller]
fn same(found: &str, expected: &str) {
    assert_eq!(found, expected, "\nfound:\n{found}\nexpected:\n{expected}");
}

/// A round of a flow with a window of 10 past slow start: round-trip times of the connection from 50 to 150 ms, and
/// `queues` in milliseconds; the window when the round ends.
fn after_round(preset: &str, queues: &[u64]) -> f64 {
    let mut script = script(preset, &[]);
    script.begin(20.0);
    script.congestion(Signal::Loss);
    assert_eq!(script.window(), 10.0);
    script.now += millis(1000);
    for (number, &queue) in [0].iter().chain(queues).enumerate() {
        let last = number == queues.len();
        let plain = Ack { max_rtt: millis(150), window_limited: number > 0, ..ack(script.now, 10.0, millis(queue)) };
        script.control.on_ack(&if last { Ack { sent: script.now, ..plain } } else { plain });
        // The first acknowledgement ends the round before.
        assert!(last || number == 0 || script.window() <= 11.0);
        if number == 0 {
            let window = script.window();
            assert_eq!(window, 10.0);
        }
    }
    script.window()
}

/// Least 50, greatest 150, threshold 0.1: 60 ms is no congestion, 61 is; more than 5 of 10 packets halve.
#[test]
fn more_than_the_fraction_beyond_the_threshold_halves() {
    assert_eq!(after_round("paper", &[0, 0, 0, 0, 11, 11, 11, 11, 11, 11]), 5.0);
    assert_eq!(after_round("paper", &[0, 0, 0, 0, 0, 11, 11, 11, 11, 11]), 11.0, "five of ten are not more than half");
    assert_eq!(after_round("paper", &[0, 10, 10, 10, 10, 10, 10, 10, 10, 10]), 11.0, "at the threshold");
    assert_eq!(after_round("linux", &[0, 0, 0, 0, 0, 0, 0, 11, 11, 11]), 5.0);
    assert_eq!(after_round("linux", &[0, 0, 0, 0, 0, 0, 0, 0, 11, 11]), 11.0);
}

/// Packets count, not acknowledgements: three of two packets each are six of ten.
#[test]
fn an_acknowledgement_of_two_packets_counts_twice() {
    let mut script = script("paper", &[]);
    script.begin(20.0);
    script.congestion(Signal::Loss);
    for number in 0..4 {
        script.now += millis(1000 * (1 - number.min(1)));
        let plain = Ack { newly_acked: 2, max_rtt: millis(150), ..ack(script.now, 10.0, millis(11 * number.min(1))) };
        let sent = if number == 3 { script.now } else { plain.sent };
        script.control.on_ack(&Ack { sent, window_limited: false, ..plain });
    }
    assert_eq!(script.window(), 5.0);
}

/// Otherwise Vegas: 10 x 10/50 = 2 segments lie between alpha and beta.
#[test]
fn without_congestion_vegas_decides() {
    assert_eq!(after_round("paper", &[10; 10]), 10.0);
    assert_eq!(after_round("paper", &[4; 10]), 11.0);
}

#[test]
fn a_range_of_nothing_is_no_congestion() {
    let mut script = script("paper", &[("fraction", Value::Number(0.0)), ("threshold", Value::Number(0.0))]);
    script.table(&[Queue(0), Queue(0)]);
    assert_eq!(script.window(), 8.0);
}

/// 1, 1/2, ... 1/48: each probe is a round of its own. The first one without a queue opens the window by a segment.
#[test]
fn the_window_falls_below_one_segment_and_comes_back() {
    let mut script = script("paper", &[]);
    script.congestion(Signal::Loss);
    assert_eq!(script.window(), 1.0);
    let mut found = Vec::new();
    for _ in 0..7 {
        probe(&mut script, 100);
        found.push(1.0 / script.window());
    }
    for (found, expected) in found.iter().zip([2.0, 4.0, 8.0, 16.0, 32.0, 48.0, 48.0]) {
        assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
    }
    probe(&mut script, 0);
    assert!((script.window() - 1.0 - 1.0 / 48.0).abs() < 1e-9);
}

/// A single segment goes out now and comes back.
fn probe(script: &mut Script, queue: u64) {
    let sent = script.now;
    script.now += BASE_RTT + millis(queue);
    let plain = ack(script.now, 1.0, millis(queue));
    script.control.on_ack(&Ack { sent, max_rtt: millis(150), ..plain });
    script.now += millis(1);
}

#[test]
fn a_loss_never_opens_a_window() {
    let mut script = script("paper", &[]);
    for (signal, window) in
        [(Signal::Loss, 1.0), (Signal::Ecn, 0.5), (Signal::Timeout { repeated: false }, 0.5), (Signal::Loss, 0.25)]
    {
        script.congestion(signal);
        assert_eq!(script.window(), window, "{signal:?}");
    }
    script.recovered(Repair::Partial, 5.0);
    assert_eq!(script.window(), 0.25);
    script.begin(10.0);
    script.congestion(Signal::Timeout { repeated: false });
    assert_eq!((script.window(), script.control.slow_start_threshold()), (1.0, 5.0));
}

/// Acknowledgements during recovery say nothing about the round.
#[test]
fn recovery_forgets_the_round() {
    let mut script = script("paper", &[]);
    script.begin(20.0);
    script.congestion(Signal::Loss);
    for _ in 0..20 {
        let late = ack(script.now, 10.0, millis(40));
        script.control.on_ack(&Ack { in_recovery: true, max_rtt: millis(150), ..late });
    }
    script.now += millis(1000);
    let fresh = ack(script.now, 10.0, millis(0));
    script.control.on_ack(&Ack { max_rtt: millis(150), ..fresh });
    assert_eq!(script.window(), 11.0);
}

#[test]
fn alpha_must_not_exceed_beta() {
    let path = Path { mss_bytes: 1460, header_bytes: 52, smallest_packet_bytes: 52, initial_window: 2.0, sack: true };
    let changes = [("alpha", Value::Number(5.0))];
    let built = AnyControl::build(&params(&DESCRIPTOR, "paper", &changes), &path, Stream::new(1, "control"));
    assert_eq!(built.unwrap_err().parameter, "alpha");
}

const STORY: &[&[Round]] = &[
    &[Queue(0); 5],
    &[Queue(10); 4],
    &[Queue(0); 2],
    &[Loss(10)],
    &[Queue(0); 4],
    &[Mark(0)],
    &[Timeout],
    &[Queue(0); 3],
    &[Idle(3)],
    &[Queue(0); 2],
];

/// The script tells no greatest RTT but the present one, so any queue is congestion.
#[test]
fn the_paper_over_round_trips() {
    same(
        &script("paper", &[]).table(&STORY.concat()),
        "queue 0 ms: 4 8 16 32 64\n\
         queue 10 ms: 128 101 50 25\n\
         queue 0 ms: 12 13\n\
         loss at 10 ms: 3\n\
         queue 0 ms: 3 4 5 6\n\
         mark at 0 ms: 3\n\
         timeout: 1\n\
         queue 0 ms: 2 3 3\n\
         idle 3 s: 2\n\
         queue 0 ms: 3 3",
    );
}

#[test]
fn the_port_over_round_trips() {
    same(
        &script("linux", &[]).table(&STORY.concat()),
        "queue 0 ms: 4 8 16 32 64\n\
         queue 10 ms: 50 25 12 6\n\
         queue 0 ms: 3 4\n\
         loss at 10 ms: 2\n\
         queue 0 ms: 3 3 4 5\n\
         mark at 0 ms: 3\n\
         timeout: 2\n\
         queue 0 ms: 3 3 4\n\
         idle 3 s: 2\n\
         queue 0 ms: 3 3",
    );
}

proptest! {
    #[test]
    fn the_window_obeys_its_bounds(
        preset in prop::sample::select(vec!["paper", "linux"]),
        events in prop::collection::vec((0u64..300, 0u64..300, 0u8..60), 1..400),
    ) {
        let mut script = script(preset, &[]);
        let floor = if preset == "linux" { 2.0 } else { 1.0 / 48.0 };
        for (pause, queue, kind) in events {
            script.now += millis(pause);
            let (before, threshold) = (script.window(), script.control.slow_start_threshold());
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
                script.control.on_ack(&Ack { max_rtt: millis(350), ..plain });
                prop_assert!(script.window() <= before + 1.0);
                let decrease = (before / 2.0).min(before - 1.0);
                prop_assert!(before < threshold || script.window() >= decrease, "slow start may leave further");
            }
            prop_assert!(script.window() >= floor - 1e-12 && script.window().is_finite());
        }
    }
}
