//! Veno against Linux and ns-3.

use super::DESCRIPTOR;
use crate::script::{BASE_RTT, Round, Script, ack, in_fractions, params};
use crate::{Ack, Congestion, Control, Repair, Signal, Unused, laws};
use Round::{Loss, Mark, Queue, Timeout};
use sojourn_core::Span;
use sojourn_core::registry::Value;

fn script(preset: &str, changes: &[(&str, Value)]) -> Script {
    Script::new(&in_fractions(&DESCRIPTOR, preset, changes))
}

/// A flow that begins a second later than time itself, so that its first segment was sent a whole round trip before.
fn later(preset: &str) -> Script {
    let mut script = script(preset, &[]);
    script.now += Span::from_secs(1);
    script
}

#[track_caller]
fn same(found: &str, expected: &str) {
    assert_eq!(found, expected, "\nfound:\n{found}\nexpected:\n{expected}");
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "found {found}, expected {expected}");
}

/// An acknowledgement of one segment after `queue` milliseconds of queueing delay.
fn give(script: &mut Script, queue: u64) {
    give_changed(script, queue, |ack| ack);
}

fn give_changed(script: &mut Script, queue: u64, change: impl Fn(Ack) -> Ack) {
    script.now += Span::from_millis(1);
    let ack = ack(script.now, script.window(), Span::from_millis(queue));
    script.control.on_ack(&change(ack));
}

fn backlog(script: &Script) -> f64 {
    let mut found = None;
    script.control.probe(&mut |name, value| found = found.or((name == "backlog_segments").then_some(value)));
    found.expect("a probe")
}

/// In congestion avoidance with a window of a little more than 20 and three samples of 50 ms.
fn avoiding(preset: &str, changes: &[(&str, Value)]) -> Script {
    let mut script = script(preset, changes);
    script.now += Span::from_secs(1);
    script.begin(25.0);
    script.congestion(Signal::Loss);
    close(script.window(), 20.0);
    (0..3).for_each(|_| give(&mut script, 0));
    assert_eq!(backlog(&script), 0.0);
    script
}

/// Of 20 segments 20 q/(50 + q) wait: 1.8, 2.46, 2.76, 5 and 10, rounded up to halves or to whole ones.
#[test]
fn the_queue_is_told_from_round_trip_times() {
    for (queue, half, whole) in [(0, 0.0, 0.0), (5, 2.0, 2.0), (7, 2.5, 3.0), (8, 3.0, 3.0), (50, 10.0, 10.0)] {
        for (preset, expected) in [("linux", half), ("ns3", whole)] {
            let mut script = avoiding(preset, &[]);
            give(&mut script, queue);
            assert_eq!(backlog(&script), expected, "{preset} {queue} ms");
        }
    }
}

/// The least since the window last could grow: that of the latest acknowledgement as a rule.
#[test]
fn each_acknowledgement_judges_anew() {
    let mut script = avoiding("linux", &[]);
    give(&mut script, 50);
    assert_eq!(backlog(&script), 10.0);
    give(&mut script, 0);
    assert_eq!(backlog(&script), 0.0);
    // One that cannot open the window does not judge; its sample counts with the next.
    give_changed(&mut script, 5, |ack| Ack { window_limited: false, ..ack });
    assert_eq!(backlog(&script), 0.0);
    give(&mut script, 50);
    assert_eq!(backlog(&script), 2.0);
    // One in recovery is forgotten for this purpose, but not for the least RTT.
    give_changed(&mut script, 5, |ack| Ack { in_recovery: true, ..ack });
    give(&mut script, 50);
    assert_eq!(backlog(&script), 10.0);
    give_changed(&mut script, 5, |ack| Ack { window_limited: false, ..ack });
    script.congestion(Signal::Ecn);
    script.begin(20.0);
    script.now += Span::from_secs(1);
    for expected in [0.0, 0.0, 10.0] {
        give(&mut script, if expected > 0.0 { 50 } else { 0 });
        assert_eq!(backlog(&script) > 0.0, expected > 0.0, "two samples are too few");
    }
}

/// The samples of before a loss say nothing of after it.
#[test]
fn a_loss_forgets_the_round() {
    let mut script = avoiding("linux", &[]);
    give_changed(&mut script, 0, |ack| Ack { window_limited: false, ..ack });
    script.congestion(Signal::Loss);
    give(&mut script, 50);
    assert_eq!(backlog(&script), 8.0, "of 16");
}

#[test]
fn two_samples_are_too_few() {
    let mut script = script("linux", &[]);
    script.now += Span::from_secs(1);
    script.begin(20.0);
    for (queue, expected) in [(0, 0.0), (50, 0.0), (50, 11.0)] {
        give(&mut script, queue);
        assert_eq!(backlog(&script), expected);
    }
}

/// 1/w below beta, half of it from beta on; in ns-3 1/w at any delay.
#[test]
fn a_congested_window_grows_at_half_pace() {
    for (preset, queue, part) in [("linux", 7, 1.0), ("linux", 8, 0.5), ("ns3", 50, 1.0)] {
        let mut script = avoiding(preset, &[]);
        let before = script.window();
        give(&mut script, queue);
        close(script.window(), before + part / before);
    }
    let mut slow_start = script("linux", &[]);
    (0..3).for_each(|_| give(&mut slow_start, 0));
    slow_start.now += Span::from_secs(1);
    let before = slow_start.window();
    (0..9).for_each(|_| give(&mut slow_start, 100));
    assert!(backlog(&slow_start) >= 3.0);
    assert_eq!(slow_start.window(), before + 9.0, "slow start knows no delay");
}

/// 4/5 below beta, half from beta on, of the window or of what is in flight.
#[test]
fn a_loss_without_a_queue_costs_a_fifth() {
    for (preset, queue, leaves, base) in
        [("linux", 7, 0.8, None), ("linux", 8, 0.5, None), ("ns3", 5, 0.8, Some(10.0)), ("ns3", 7, 0.5, Some(10.0))]
    {
        for signal in [Signal::Loss, Signal::Ecn, Signal::Timeout { repeated: false }] {
            let mut script = avoiding(preset, &[]);
            give(&mut script, queue);
            let kept = leaves * base.unwrap_or(script.window());
            let event = Congestion {
                now: script.now,
                signal,
                flight: 10.0,
                pipe: 10.0,
                smoothed_rtt: BASE_RTT,
                stage: crate::Stage::New,
            };
            script.control.on_congestion(&event);
            close(script.control.slow_start_threshold(), kept);
            let timeout = matches!(signal, Signal::Timeout { .. });
            close(script.window(), if timeout { 1.0 } else { kept });
        }
    }
}

#[test]
fn values_can_be_chosen() {
    let mut script = avoiding("linux", &[("beta", Value::Number(10.5))]);
    give(&mut script, 50);
    let before = script.window();
    script.congestion(Signal::Loss);
    close(script.window(), before * 0.8);
    let mut script = self::script("linux", &[("chance_leaves", Value::Number(0.9))]);
    script.begin(20.0);
    script.congestion(Signal::Loss);
    close(script.window(), 18.0);
}

/// Losses at random cost little, those of a full queue half; below 3 queued segments the window grows by one a round.
#[test]
fn round_by_round() {
    let rounds = [
        vec![Queue(0); 5],
        vec![Loss(0)],
        vec![Queue(1); 4],
        vec![Loss(1)],
        vec![Queue(20); 6],
        vec![Loss(20)],
        vec![Mark(0)],
        vec![Timeout],
        vec![Queue(0); 6],
    ]
    .concat();
    same(
        &later("linux").table(&rounds),
        "queue 0 ms: 4 8 16 32 64\n\
         loss at 0 ms: 102\n\
         queue 1 ms: 103 104 105 106\n\
         loss at 1 ms: 85\n\
         queue 20 ms: 86 86 87 87 88 88\n\
         loss at 20 ms: 44\n\
         mark at 0 ms: 36\n\
         timeout: 1\n\
         queue 0 ms: 2 4 8 16 30 31",
    );
    same(
        &later("ns3").table(&rounds),
        "queue 0 ms: 4 8 16 32 64\n\
         loss at 0 ms: 102\n\
         queue 1 ms: 103 104 105 106\n\
         loss at 1 ms: 53\n\
         queue 20 ms: 54 55 56 57 58 59\n\
         loss at 20 ms: 30\n\
         mark at 0 ms: 24\n\
         timeout: 1\n\
         queue 0 ms: 2 4 8 16 20 21",
    );
}

#[test]
fn the_window_grows_neither_in_recovery_nor_on_marks_nor_unused() {
    for preset in ["linux", "ns3"] {
        let mut script = script(preset, &[]);
        give_changed(&mut script, 0, |ack| Ack { in_recovery: true, ..ack });
        give_changed(&mut script, 0, |ack| Ack { marked: true, ..ack });
        give_changed(&mut script, 0, |ack| Ack { window_limited: false, ..ack });
        assert_eq!(script.window(), 2.0);
    }
}

#[test]
fn leaving_recovery_sends_no_burst() {
    let mut script = avoiding("linux", &[]);
    script.congestion(Signal::Loss);
    script.recovered(Repair::Partial, 3.0);
    assert_eq!(script.window(), 4.0);
}

#[test]
fn the_laws_hold() {
    laws::hold(&DESCRIPTOR, |ack, _| laws::only_when_used(ack, f64::from(ack.newly_acked)));
}

fn whole() -> Script {
    let mut script = Script::new(&params(&DESCRIPTOR, "linux", &[]));
    script.now += Span::from_secs(1);
    script.begin(20.0);
    script
}

/// Linux: a round trip that was not measured since the last judgement counts as endless, as at the end of a repair.
#[test]
fn what_was_not_measured_takes_for_ever() {
    let mut script = whole();
    script.control.set_window(20.0, 2.0);
    (0..3).for_each(|_| give(&mut script, 0));
    assert_eq!(backlog(&script), 0.0);
    give_changed(&mut script, 0, |ack| Ack { rtt: None, ..ack });
    assert_eq!(backlog(&script), script.window());
    give(&mut script, 0);
    assert_eq!(backlog(&script), 0.0);
    give_changed(&mut script, 0, |ack| Ack { orderly: false, ..ack });
    assert_eq!(backlog(&script), 0.0, "it is Reno");
    give(&mut script, 0);
    assert_eq!(backlog(&script), script.window(), "the least is forgotten when all is in order");
}

/// Linux counts samples from the connection's start: after a pause the first one judges.
#[test]
fn a_pause_forgets_no_samples() {
    let mut script = whole();
    script.control.set_window(20.0, 2.0);
    (0..3).for_each(|_| give(&mut script, 0));
    give(&mut script, 50);
    assert!(backlog(&script) >= 3.0);
    script.start(Span::from_millis(10), Unused::Keep);
    give(&mut script, 50);
    assert_eq!(backlog(&script), 0.0, "its delay is the least since");
}

/// Slow start that ends with nothing left over leaves the count for every other window alone (`done`).
#[test]
fn slow_start_uses_up_what_it_takes() {
    let mut script = whole();
    script.control.set_window(4.0, 2.0);
    (0..3).for_each(|_| give(&mut script, 0));
    // Congested, with more counted than the window.
    (0..8).for_each(|_| give(&mut script, 300));
    let window = script.window();
    script.control.set_window(2.0, 3.0);
    give(&mut script, 300);
    assert_eq!(script.window(), 3.0, "from {window}");
}
