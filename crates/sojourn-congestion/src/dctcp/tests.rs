//! DCTCP against RFC 8257, Linux 6.1 and ns-3.37.

use super::DESCRIPTOR;
use crate::script::{BASE_RTT, Round, Script, ack, in_fractions};
use crate::{Ack, Congestion, Control, Repair, Signal, Stage, laws};
use Round::{Idle, Loss, Mark, Queue, Timeout};
use sojourn_core::Span;
use sojourn_core::registry::Value;

fn script(preset: &str, changes: &[(&str, Value)]) -> Script {
    Script::new(&in_fractions(&DESCRIPTOR, preset, changes))
}

fn alpha(script: &Script) -> f64 {
    let mut found = None;
    script.control.probe(&mut |_, value| found = Some(value));
    found.expect("a probe")
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "found {found}, expected {expected}");
}

#[track_caller]
fn same(found: &str, expected: &str) {
    assert_eq!(found, expected, "\nfound:\n{found}\nexpected:\n{expected}");
}

/// A window of `segments` acknowledgements, the last `marked` of them with an echo. The first ends the window before.
fn window_of(script: &mut Script, segments: u32, marked: u32) {
    script.now += BASE_RTT;
    for number in 0..segments {
        let ack = ack(script.now, script.window(), Span::ZERO);
        let (sent, advanced) = if number == 0 { (ack.sent, u32::MAX) } else { (sojourn_core::Time::ZERO, 0) };
        script.control.on_ack(&Ack {
            sent,
            advanced,
            marked: number >= segments - marked,
            window_limited: false,
            ..ack
        });
    }
}

/// The first acknowledgement of a flow makes a window of its own.
fn begun(preset: &str, changes: &[(&str, Value)]) -> Script {
    let mut script = script(preset, changes);
    script.now += BASE_RTT;
    script
}

/// Alpha after n windows without a mark is (15/16)^n: 0.724 after five (part H of the digest).
#[test]
fn alpha_fades_by_a_sixteenth() {
    let mut script = begun("rfc", &[]);
    for windows in 1..=20 {
        window_of(&mut script, 10, 0);
        close(alpha(&script), (15.0f64 / 16.0).powi(windows));
        if windows == 5 {
            assert!((alpha(&script) - 0.724).abs() < 5e-4);
        }
    }
}

/// (1 - g) alpha + g M, M by segments: the acknowledgement that ends a window counts in it.
#[test]
fn alpha_moves_towards_the_marked_part() {
    let mut script = begun("rfc", &[("initial_alpha", Value::Number(0.0))]);
    window_of(&mut script, 10, 4);
    close(alpha(&script), 0.0);
    window_of(&mut script, 10, 0);
    close(alpha(&script), 0.4 / 16.0);
    window_of(&mut script, 10, 10);
    let third = 15.0 / 16.0 * 0.4 / 16.0 + 0.1 / 16.0;
    close(alpha(&script), third);
    window_of(&mut script, 1, 0);
    close(alpha(&script), 15.0 / 16.0 * third + 0.9 / 16.0);
    let mut script = begun("rfc", &[("initial_alpha", Value::Number(0.0)), ("gain", Value::Number(0.5))]);
    window_of(&mut script, 4, 3);
    let last = ack(script.now + BASE_RTT, script.window(), Span::ZERO);
    script.control.on_ack(&Ack { newly_acked: 4, delivered: 4, ..last });
    close(alpha(&script), 0.5 * 3.0 / 7.0);
}

/// A flow whose first acknowledgements report nothing new has no marked part yet.
#[test]
fn nothing_acknowledged_is_no_window() {
    let mut script = begun("rfc", &[]);
    let empty = ack(script.now, script.window(), Span::ZERO);
    script.control.on_ack(&Ack { newly_acked: 0, delivered: 0, ..empty });
    close(alpha(&script), 1.0);
}

/// RFC 8257 section 3.3 step 4: what goes beyond `WindowEnd` ends a window. Linux (`dctcp_update_alpha`): what reaches it.
#[test]
fn windows_end_beyond_what_was_sent_or_with_it() {
    for (end, reached) in [("beyond", false), ("reached", true)] {
        let mut script = begun("linux", &[("window_end", Value::Choice(end))]);
        let first = Ack { advanced: 2, outstanding: 8, ..ack(script.now, 10.0, Span::ZERO) };
        script.control.on_ack(&first);
        close(alpha(&script), 15.0 / 16.0);
        let then = Ack { now: script.now + BASE_RTT, ..first };
        script.control.on_ack(&Ack { advanced: 6, outstanding: 6, ..then });
        close(alpha(&script), 15.0 / 16.0);
        script.control.on_ack(&Ack { advanced: 2, outstanding: 8, ..then });
        close(alpha(&script), if reached { 900.0 / 1024.0 } else { 15.0 / 16.0 });
        script.control.on_ack(&Ack { sent: first.now, advanced: 2, outstanding: 8, ..then });
        close(alpha(&script), 900.0 / 1024.0);
    }
}

/// Linux: alpha in 1/1024, less a sixteenth rounded down and 0 below 16/1024; the marked part rounded down too.
#[test]
fn linux_keeps_alpha_in_1024ths() {
    let mut script = begun("linux", &[("initial_alpha", Value::Number(100.0 / 1024.0))]);
    let mut found = Vec::new();
    for _ in 0..40 {
        window_of(&mut script, 10, 0);
        found.push((alpha(&script) * 1024.0) as u32);
    }
    assert_eq!(found[..8], [94, 89, 84, 79, 75, 71, 67, 63]);
    let last = found.iter().position(|&parts| parts == 0).expect("zero in the end");
    assert_eq!(found[last - 1], 15);
    let mut script = begun("linux", &[("initial_alpha", Value::Number(0.0))]);
    window_of(&mut script, 9, 1);
    window_of(&mut script, 1, 0);
    // 1 of 9: 1024/16/9 = 7.1.
    close(alpha(&script), 7.0 / 1024.0);
    let mut script = begun("linux", &[]);
    window_of(&mut script, 9, 9);
    window_of(&mut script, 9, 9);
    close(alpha(&script), 1.0);
}

/// Linux: a loss in the middle of a reduction halves what that has left so far (`dctcp_state`); one that a probe has repaired is
/// answered as a mark (`tcp_process_tlp_ack`). RFC 8257 section 3.5 halves either time.
#[test]
fn what_a_loss_leaves_in_a_reduction_and_after_a_probe() {
    let left = |preset: &str, stage: Stage| {
        let mut script = script(preset, &[("initial_alpha", Value::Number(0.25))]);
        script.begin(20.0);
        script.control.on_congestion(&Congestion {
            now: script.now,
            signal: Signal::Loss,
            flight: 16.0,
            pipe: 16.0,
            smoothed_rtt: BASE_RTT,
            stage,
        });
        script.window()
    };
    let stages = [Stage::New, Stage::Reducing { window: 24.0 }, Stage::Repaired];
    assert_eq!(stages.map(|stage| left("linux", stage)), [10.0, 12.0, 17.5]);
    assert_eq!(stages.map(|stage| left("rfc", stage)), [8.0, 8.0, 8.0]);
}

/// A mark leaves 1 - alpha/2, and 2 segments; a loss half, in ns-3 as much as a mark.
#[test]
fn marks_leave_more_than_losses() {
    let left = |preset: &str, alpha: f64, window: f64, flight: f64, signal: Signal| {
        let mut script = script(preset, &[("initial_alpha", Value::Number(alpha))]);
        script.begin(window);
        script.control.on_congestion(&Congestion {
            now: script.now,
            signal,
            flight,
            pipe: flight,
            smoothed_rtt: BASE_RTT,
            stage: Stage::New,
        });
        (script.window(), script.control.slow_start_threshold())
    };
    assert_eq!(left("rfc", 1.0, 20.0, 16.0, Signal::Ecn), (10.0, 10.0));
    assert_eq!(left("rfc", 0.25, 20.0, 16.0, Signal::Ecn), (17.5, 17.5));
    assert_eq!(left("rfc", 0.0, 20.0, 16.0, Signal::Ecn), (20.0, 20.0));
    assert_eq!(left("rfc", 1.0, 3.0, 3.0, Signal::Ecn), (2.0, 2.0));
    assert_eq!(left("rfc", 0.25, 20.0, 16.0, Signal::Loss), (8.0, 8.0));
    assert_eq!(left("rfc", 0.25, 3.0, 3.0, Signal::Loss), (2.0, 2.0));
    assert_eq!(left("linux", 0.25, 20.0, 16.0, Signal::Loss), (10.0, 10.0));
    assert_eq!(left("ns3", 0.25, 20.0, 16.0, Signal::Loss), (17.5, 17.5));
    assert_eq!(left("rfc", 0.25, 20.0, 16.0, Signal::Timeout { repeated: false }), (1.0, 8.0));
    assert_eq!(left("ns3", 0.25, 20.0, 16.0, Signal::Timeout { repeated: false }), (1.0, 17.5));
    assert_eq!(left("rfc", 0.25, 20.0, 16.0, Signal::Timeout { repeated: true }), (1.0, f64::INFINITY));
}

/// Linux's state CWR: no growth before the data sent after the reduction is acknowledged.
#[test]
fn linux_holds_the_window_for_a_round_trip() {
    for (preset, held) in [("rfc", false), ("linux", true), ("ns3", true)] {
        let mut script = script(preset, &[]);
        script.begin(20.0);
        script.now += BASE_RTT;
        script.congestion(Signal::Ecn);
        script.now += BASE_RTT - Span::from_nanos(1);
        let early = ack(script.now, 10.0, Span::ZERO);
        script.control.on_ack(&early);
        assert_eq!(script.window() == 10.0, held, "{preset}");
        let before = script.window();
        let late = ack(script.now + Span::from_nanos(1), 10.0, Span::ZERO);
        script.control.on_ack(&late);
        assert!(script.window() > before);
    }
    let mut script = script("linux", &[]);
    script.begin(20.0);
    script.now += BASE_RTT;
    script.congestion(Signal::Loss);
    let early = ack(script.now, 10.0, Span::ZERO);
    script.control.on_ack(&early);
    assert!(script.window() > 10.0, "a loss is Reno's");
}

/// Alpha fades between the marks, so that the later ones leave more; these rounds echo a mark without counting it.
#[test]
fn round_by_round() {
    let rounds = [
        vec![Queue(0); 5],
        vec![Mark(0)],
        vec![Queue(0); 9],
        vec![Mark(0), Mark(0)],
        vec![Queue(0); 3],
        vec![Loss(0)],
        vec![Queue(0); 3],
        vec![Timeout],
        vec![Queue(0); 6],
    ]
    .concat();
    same(
        &script("rfc", &[]).table(&rounds),
        "queue 0 ms: 4 8 16 32 64\nmark at 0 ms: 84\nqueue 0 ms: 85 86 87 88 89 90 91 92 93\nmark at 0 ms: 77 65\nqueue 0 ms: 66 67 68\nloss at 0 ms: 34\nqueue 0 ms: 35 36 37\ntimeout: 1\nqueue 0 ms: 2 4 8 16 19 20",
    );
    same(
        &script("linux", &[]).table(&rounds),
        "queue 0 ms: 4 8 16 32 64\nmark at 0 ms: 84\nqueue 0 ms: 84 85 86 87 88 89 90 91 92\nmark at 0 ms: 76 63\nqueue 0 ms: 63 64 65\nloss at 0 ms: 33\nqueue 0 ms: 34 35 36\ntimeout: 1\nqueue 0 ms: 2 4 8 16 19 20",
    );
    same(
        &script("ns3", &[]).table(&rounds),
        "queue 0 ms: 4 8 16 32 64\nmark at 0 ms: 84\nqueue 0 ms: 84 85 86 87 88 89 90 91 92\nmark at 0 ms: 76 63\nqueue 0 ms: 63 64 65\nloss at 0 ms: 58\nqueue 0 ms: 59 60 61\ntimeout: 1\nqueue 0 ms: 2 4 8 16 32 55",
    );
}

#[test]
fn the_window_grows_neither_in_recovery_nor_on_marks_nor_unused() {
    let mut script = script("rfc", &[]);
    let plain = ack(script.now, 2.0, Span::ZERO);
    script.control.on_ack(&Ack { in_recovery: true, ..plain });
    script.control.on_ack(&Ack { marked: true, ..plain });
    script.control.on_ack(&Ack { window_limited: false, ..plain });
    assert_eq!(script.window(), 2.0);
}

/// RFC 6582 section 3.2, step 3.
#[test]
fn leaving_recovery_sends_no_burst() {
    for (flight, expected) in [(0.0, 2.0), (3.0, 4.0), (100.0, 10.0)] {
        let mut script = script("rfc", &[]);
        script.begin(20.0);
        script.congestion(Signal::Loss);
        script.recovered(Repair::Partial, flight);
        assert_eq!(script.window(), expected);
    }
}

#[test]
fn the_laws_hold() {
    laws::hold(&DESCRIPTOR, |ack, _| laws::only_when_used(ack, f64::from(ack.newly_acked)));
}

/// What the path marks is known after a pause as before it.
#[test]
fn alpha_survives_a_pause() {
    for preset in ["rfc", "linux", "ns3"] {
        let mut script = script(preset, &[]);
        script.table(&[Queue(0), Mark(0), Queue(0), Queue(0)]);
        let before = alpha(&script);
        script.round(Idle(5));
        assert_eq!(alpha(&script).to_bits(), before.to_bits(), "{preset}");
        assert!(before < 1.0);
    }
}
