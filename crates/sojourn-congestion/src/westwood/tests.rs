//! Westwood+ against Linux 6.1 and ns-3.37.

use super::DESCRIPTOR;
use crate::script::{Round, Script, ack, in_fractions};
use crate::{Ack, Congestion, Control, Repair, Signal, laws};
use Round::{Loss, Mark, Queue, Timeout};
use sojourn_core::Span;
use sojourn_core::registry::Value;

fn script(preset: &str, changes: &[(&str, Value)]) -> Script {
    Script::new(&in_fractions(&DESCRIPTOR, preset, changes))
}

/// An acknowledgement of `acked` segments after `millis`, with an RTT of `rtt` milliseconds.
fn give(script: &mut Script, millis: u64, acked: u32, rtt: u64) {
    give_changed(script, millis, acked, rtt, |ack| ack);
}

fn give_changed(script: &mut Script, millis: u64, acked: u32, rtt: u64, change: impl Fn(Ack) -> Ack) {
    script.now += Span::from_millis(millis);
    let ack = ack(script.now, script.window(), Span::from_millis(rtt - 50));
    script.control.on_ack(&change(Ack { newly_acked: acked, delivered: acked, ..ack }));
}

fn probe(script: &Script, name: &str) -> f64 {
    let mut found = None;
    script.control.probe(&mut |key, value| found = found.or((key == name).then_some(value)));
    found.expect("a probe of that name")
}

fn bandwidth(script: &Script) -> f64 {
    probe(script, "bandwidth_segments_per_s")
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6 * expected.max(1.0), "found {found}, expected {expected}");
}

#[track_caller]
fn same(found: &str, expected: &str) {
    assert_eq!(found, expected, "\nfound:\n{found}\nexpected:\n{expected}");
}

/// A flow that has had a window of 60 and a rate of 800 segments per second for four seconds: 40 fill the path.
fn steady(preset: &str) -> Script {
    let mut script = script(preset, &[]);
    script.begin(60.0);
    for _ in 0..3200 {
        script.now += Span::from_micros(1250);
        let ack = ack(script.now, 60.0, Span::ZERO);
        script.control.on_ack(&Ack { window_limited: false, ..ack });
    }
    assert!((probe(&script, "pipe_segments") - 40.0).abs() < 1.0);
    script
}

/// A sample ends with the first acknowledgement later than an RTT, which is the first of the next; the first fills both
/// stages, then 7/8 of each stay.
#[test]
fn linux_filters_in_two_stages() {
    let mut script = script("linux", &[]);
    script.now += Span::from_millis(100);
    // Time counts from when the first segment was sent, at 0 ms; its acknowledgement at 100 ms does not count.
    give(&mut script, 0, 7, 100);
    give(&mut script, 0, 10, 100);
    assert_eq!(bandwidth(&script), 0.0, "100 ms are not more than an RTT");
    give(&mut script, 100, 4, 100);
    close(bandwidth(&script), 50.0); // 10 in 200 ms
    give(&mut script, 50, 6, 100);
    give(&mut script, 75, 1, 100);
    // 4 + 6 in 125 ms: 80. First stage (7 x 50 + 80)/8 = 53.75, second (7 x 50 + 53.75)/8.
    close(bandwidth(&script), 50.46875);
    give(&mut script, 125, 1, 100);
    // 1 in 125 ms: 8. First stage (7 x 53.75 + 8)/8 = 48.03125.
    close(bandwidth(&script), (7.0 * 50.46875 + 48.03125) / 8.0);
}

/// In ticks Linux counts from what the first acknowledgement covers (`first_ack`), and so takes that for a duplicate, which is
/// worth a segment: 11 in 20 ticks instead of 10 in 200 ms.
#[test]
fn in_ticks_the_first_acknowledgement_is_a_duplicate() {
    for (tick, expected) in [(0, 50.0), (10, 55.0)] {
        let mut script = script("linux", &[("tick", Value::Span(Span::from_millis(tick)))]);
        script.now += Span::from_millis(100);
        let ten = |ack: Ack| Ack { advanced: 10, ..ack };
        give_changed(&mut script, 0, 10, 100, ten);
        give_changed(&mut script, 0, 10, 100, ten);
        give_changed(&mut script, 100, 10, 100, ten);
        close(bandwidth(&script), expected);
    }
}

/// At least 50 ms of a sample; the RTT is that of the acknowledgement before.
#[test]
fn linux_samples_no_less_than_50_ms() {
    for (min, expected) in [(50, 0.0), (20, 100.0)] {
        let mut script = script("linux", &[("min_interval", Value::Span(Span::from_millis(min)))]);
        let fast = |ack: Ack| Ack { rtt: Some(Span::from_millis(10)), ..ack };
        give_changed(&mut script, 0, 1, 50, |ack| Ack { sent: ack.now, ..fast(ack) });
        give_changed(&mut script, 10, 5, 50, fast);
        give_changed(&mut script, 40, 1, 50, fast);
        close(bandwidth(&script), expected); // 5 in 50 ms
    }
    let mut script = script("linux", &[]);
    give_changed(&mut script, 0, 1, 50, |ack| Ack { sent: ack.now, ..ack });
    give(&mut script, 10, 5, 100);
    give(&mut script, 90, 1, 60);
    assert_eq!(bandwidth(&script), 0.0, "100 ms after an RTT of 100 ms");
    give(&mut script, 1, 1, 100);
    close(bandwidth(&script), 6.0 / 0.101);
}

/// An RTT from the first acknowledgement on, whose segments count; 0.1 of the mean of two samples, from zero on.
#[test]
fn ns3_filters_by_tustin() {
    let mut script = script("ns3", &[]);
    give(&mut script, 10, 2, 50);
    give(&mut script, 49, 3, 80);
    assert_eq!(bandwidth(&script), 0.0);
    give(&mut script, 1, 4, 60);
    close(bandwidth(&script), 0.1 * 100.0 / 2.0); // 5 in 50 ms
    give(&mut script, 60, 1, 50);
    // 4 in 60 ms.
    let sample = 4.0 / 0.060;
    close(bandwidth(&script), 0.9 * 5.0 + 0.1 * (sample + 100.0) / 2.0);
    let mut none = self::script("ns3", &[("filter", Value::Choice("none"))]);
    give(&mut none, 10, 2, 50);
    give(&mut none, 50, 1, 50);
    close(bandwidth(&none), 40.0);
}

/// Linux: Reno's half until the repair ends, then bandwidth x least RTT.
#[test]
fn linux_applies_the_estimate_after_the_repair() {
    let mut script = steady("linux");
    let pipe = probe(&script, "pipe_segments");
    close(pipe, bandwidth(&script) * 0.050);
    script.congestion(Signal::Loss);
    assert_eq!((script.window(), script.control.slow_start_threshold()), (30.0, 30.0));
    give_changed(&mut script, 0, 1, 50, |ack| Ack { in_recovery: true, ..ack });
    assert_eq!(script.window(), 30.0);
    for _ in 0..2 {
        give_changed(&mut script, 0, 1, 50, |ack| Ack { window_limited: false, ..ack });
        close(script.window(), pipe);
        close(script.control.slow_start_threshold(), pipe);
    }
}

/// The same after a mark, when what was sent after the answer is acknowledged.
#[test]
fn linux_applies_the_estimate_a_round_trip_after_a_mark() {
    let mut script = steady("linux");
    script.congestion(Signal::Ecn);
    give_changed(&mut script, 49, 1, 50, |ack| Ack { marked: true, ..ack });
    assert_eq!(script.window(), 30.0);
    give_changed(&mut script, 1, 1, 50, |ack| Ack { window_limited: false, in_recovery: true, ..ack });
    assert_eq!(script.window(), 30.0);
    give_changed(&mut script, 0, 1, 50, |ack| Ack { window_limited: false, ..ack });
    close(script.window(), probe(&script, "pipe_segments"));
    assert!(script.window() > 34.0);
}

#[test]
fn ns3_applies_the_estimate_at_once() {
    let mut script = script("ns3", &[]);
    script.table(&[Queue(0); 6]);
    let pipe = probe(&script, "pipe_segments");
    assert!(pipe > 2.0 && pipe < script.window());
    script.congestion(Signal::Loss);
    close(script.window(), pipe);
    script.congestion(Signal::Ecn);
    close(script.window(), pipe);
    script.recovered(Repair::Partial, 0.0);
    assert_eq!(script.window(), 2.0, "no burst");
    script.congestion(Signal::Loss);
    assert_eq!(script.window(), 2.0, "never above the window");
    // ns-3 leaves recovery at the threshold, whatever the window was (TcpSocketBase::ProcessAck).
    give_changed(&mut script, 0, 1, 50, |ack| Ack { in_recovery: true, ..ack });
    assert_eq!(script.window(), 2.0);
    let after = script.control.slow_start_threshold();
    give_changed(&mut script, 0, 1, 50, |ack| Ack { window_limited: false, ..ack });
    assert!(after > 2.0);
    close(script.window(), after);
    close(script.control.slow_start_threshold(), after);
}

/// Without SACK the transport says when the repair ends.
#[test]
fn leaving_recovery_sends_no_burst() {
    for (flight, expected) in [(0.0, 2.0), (3.0, 4.0)] {
        let mut script = steady("linux");
        script.congestion(Signal::Loss);
        let pipe = probe(&script, "pipe_segments");
        script.recovered(Repair::Partial, flight);
        assert_eq!(script.window(), expected);
        close(script.control.slow_start_threshold(), pipe);
        give_changed(&mut script, 1, 1, 50, |ack| Ack { window_limited: false, ..ack });
        assert_eq!(script.window(), expected, "the estimate is applied once");
    }
}

/// The repair that a timeout interrupts sets no window.
#[test]
fn a_timeout_ends_a_repair() {
    for signal in [Signal::Loss, Signal::Ecn] {
        let mut script = steady("linux");
        script.congestion(signal);
        script.congestion(Signal::Timeout { repeated: false });
        give_changed(&mut script, 100, 1, 50, |ack| Ack { window_limited: false, ..ack });
        assert_eq!(script.window(), 1.0);
    }
}

/// Threshold from the estimate once, window of 1, and the least RTT is learnt again; by default of Linux only.
#[test]
fn a_timeout_forgets_the_least_rtt() {
    for (preset, least) in [("linux", 0.070), ("ns3", 0.050)] {
        let mut script = script(preset, &[]);
        script.table(&[Queue(0); 6]);
        script.round(Queue(20));
        let pipe = probe(&script, "pipe_segments");
        script.congestion(Signal::Timeout { repeated: false });
        assert_eq!(script.window(), 1.0);
        close(script.control.slow_start_threshold(), pipe);
        give(&mut script, 1, 1, 90);
        close(probe(&script, "pipe_segments"), bandwidth(&script) * least);
        script.congestion(Signal::Timeout { repeated: true });
        close(script.control.slow_start_threshold(), pipe);
    }
    let mut script = script("linux", &[]);
    script.congestion(Signal::Timeout { repeated: false });
    assert_eq!(script.control.slow_start_threshold(), 2.0, "without any estimate");
}

/// On a path of 40 segments a loss leaves them, where NewReno would leave 30. Early in slow start the filters are far
/// behind, and a loss there costs much.
#[test]
fn round_by_round() {
    let rounds =
        [vec![Loss(0)], vec![Queue(0); 6], vec![Mark(0)], vec![Queue(0); 6], vec![Timeout], vec![Queue(0); 8]].concat();
    same(
        &steady("linux").table(&rounds),
        "loss at 0 ms: 40\nqueue 0 ms: 41 42 43 44 45 46\nmark at 0 ms: 23\nqueue 0 ms: 24 42 43 44 45 46\ntimeout: 1\nqueue 0 ms: 2 4 8 16 32 41 42 43",
    );
    same(
        &steady("ns3").table(&rounds),
        "loss at 0 ms: 40\nqueue 0 ms: 41 42 43 43 44 45\nmark at 0 ms: 42\nqueue 0 ms: 43 43 44 45 46 47\ntimeout: 1\nqueue 0 ms: 2 4 8 16 32 44 45 46",
    );
    let early = [vec![Queue(0); 5], vec![Loss(0)], vec![Queue(0); 2]].concat();
    same(&script("linux", &[]).table(&early), "queue 0 ms: 4 8 16 32 64\nloss at 0 ms: 2\nqueue 0 ms: 3 4");
    same(&script("ns3", &[]).table(&early), "queue 0 ms: 4 8 16 32 64\nloss at 0 ms: 6\nqueue 0 ms: 7 8");
}

/// On a path that delivers 1000 segments per second the threshold comes to 50 segments at 50 ms, whatever the window.
#[test]
fn the_estimate_finds_the_capacity() {
    for preset in ["linux", "ns3"] {
        let mut script = script(preset, &[]);
        script.begin(80.0);
        for _ in 0..5000 {
            give_changed(&mut script, 1, 1, 80, |ack| Ack { window_limited: false, ..ack });
        }
        let event = Congestion {
            now: script.now,
            signal: Signal::Loss,
            flight: 80.0,
            pipe: 80.0,
            smoothed_rtt: Span::from_millis(80),
            stage: crate::Stage::New,
        };
        give_changed(&mut script, 1, 1, 50, |ack| Ack { window_limited: false, ..ack });
        give_changed(&mut script, 1, 1, 80, |ack| Ack { window_limited: false, ..ack });
        script.control.on_congestion(&event);
        give_changed(&mut script, 1, 1, 80, |ack| Ack { window_limited: false, ..ack });
        assert!((script.window() - 50.0).abs() < 2.0, "{preset}: {}", script.window());
    }
}

#[test]
fn the_window_grows_neither_in_recovery_nor_on_marks_nor_unused() {
    for preset in ["linux", "ns3"] {
        let mut script = script(preset, &[]);
        give_changed(&mut script, 1, 1, 50, |ack| Ack { in_recovery: true, ..ack });
        give_changed(&mut script, 1, 1, 50, |ack| Ack { marked: true, ..ack });
        give_changed(&mut script, 1, 1, 50, |ack| Ack { window_limited: false, ..ack });
        assert_eq!(script.window(), 2.0);
    }
}

/// The estimate may exceed the window by any amount, when samples were of other times.
#[test]
fn the_laws_hold() {
    laws::hold(&DESCRIPTOR, |_, _| f64::INFINITY);
}
