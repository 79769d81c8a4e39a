//! Compound TCP against ns-2's module.

use super::DESCRIPTOR;
use crate::script::{BASE_RTT, Round, Script, ack, params};
use crate::{Ack, Control, Repair, Signal, laws};
use Round::{Loss, Queue, Timeout};
use sojourn_core::registry::Value;
use sojourn_core::{Span, Time};

fn script(preset: &str, changes: &[(&str, Value)]) -> Script {
    Script::new(&params(&DESCRIPTOR, preset, changes))
}

fn delay_window(script: &Script) -> f64 {
    let mut found = None;
    script.control.probe(&mut |_, value| found = Some(value));
    found.expect("a probe")
}

#[track_caller]
fn same(found: &str, expected: &str) {
    assert_eq!(found, expected, "\nfound:\n{found}\nexpected:\n{expected}");
}

/// In congestion avoidance with a window of `window`, all of it Reno's.
fn avoiding(window: f64) -> Script {
    let mut script = script("ns2", &[]);
    script.begin(2.0 * window);
    script.now += BASE_RTT;
    script.congestion(Signal::Loss);
    assert_eq!((script.window(), script.control.slow_start_threshold()), (window, window));
    script
}

/// A round of `samples` acknowledgements with `out` segments out; the first ends the round before.
fn round(script: &mut Script, out: f64, samples: u32, rtt: Span) {
    script.now += rtt;
    for number in 0..samples {
        let ack = ack(script.now, out, Span::ZERO);
        let sent = if number == 0 { ack.sent } else { Time::ZERO };
        script.control.on_ack(&Ack { sent, rtt: Some(rtt), ..ack });
    }
}

/// The delay window after a round with `out` segments and `rtt`, from `rounds` rounds without a queue before.
fn after(rounds: u32, out: f64, millis: u64) -> f64 {
    let mut script = avoiding(100.0);
    (0..=rounds).for_each(|_| round(&mut script, 100.0, 4, BASE_RTT));
    // What ends the round of interest is the first acknowledgement after it.
    round(&mut script, out, 1, BASE_RTT);
    let before = delay_window(&script);
    assert_eq!(before, 2.0 * f64::from(rounds + 1), "100^0.75 = 31.6, 31/8 = 3.9, less 1");
    let rtt = Span::from_millis(millis);
    (0..3).for_each(|_| {
        let ack = ack(script.now, out, Span::ZERO);
        script.control.on_ack(&Ack { sent: Time::ZERO, rtt: Some(rtt), ..ack });
    });
    script.now += rtt;
    let late = ack(script.now, 100.0, Span::ZERO);
    script.control.on_ack(&Ack { rtt: Some(rtt), ..late });
    delay_window(&script) - before
}

/// floor(floor(out^0.75)/8) - 1, so nothing below 41 segments.
#[test]
fn without_a_queue_the_delay_window_grows_with_a_power_of_the_window() {
    for (out, expected) in [(10.0, 0.0), (40.0, 0.0), (41.0, 1.0), (100.0, 2.0), (1000.0, 21.0)] {
        let mut script = avoiding(100.0);
        round(&mut script, out, 4, BASE_RTT);
        assert_eq!(delay_window(&script), 0.0, "a round that congestion began is not judged");
        round(&mut script, out, 4, BASE_RTT);
        assert_eq!(delay_window(&script), expected, "{out}");
    }
}

/// Of 200 segments at twice the least RTT 100 wait. From 30 on, all that wait are taken away.
#[test]
fn from_gamma_waiting_segments_on_the_delay_window_shrinks() {
    // 60 at 100 ms: 30 wait. 59 at 100 ms: 29.5, and floor(59^0.75 / 8) - 1 is 1.
    assert_eq!(after(20, 59.0, 100), 1.0);
    assert_eq!(after(20, 60.0, 100), -30.0);
    // 50 at 150 ms: floor(2 x 50/3)/2 = 16.5, so 33.5 wait and 42 - 33.5 is rounded down.
    assert_eq!(after(20, 50.0, 150), -34.0);
    assert_eq!(after(3, 60.0, 100), -8.0, "no less than nothing");
}

#[test]
fn three_samples_make_a_judgement() {
    for (samples, expected) in [(2, 0.0), (3, 2.0)] {
        let mut script = avoiding(100.0);
        round(&mut script, 100.0, 1, BASE_RTT);
        // The round's own samples, and the one that ends it.
        round(&mut script, 100.0, 1, BASE_RTT);
        for _ in 0..samples - 1 {
            let ack = ack(script.now, 100.0, Span::ZERO);
            script.control.on_ack(&Ack { sent: Time::ZERO, ..ack });
        }
        assert_eq!(delay_window(&script), 0.0);
        round(&mut script, 100.0, 1, BASE_RTT);
        assert_eq!(delay_window(&script), expected, "{samples}");
    }
}

/// Half of the sum stays, all of it Reno's.
#[test]
fn a_loss_halves_the_sum() {
    let mut script = avoiding(100.0);
    (0..12).for_each(|_| round(&mut script, 100.0, 4, BASE_RTT));
    let reno = script.window() - delay_window(&script);
    assert!(reno > 100.0 && delay_window(&script) == 22.0);
    script.congestion(Signal::Loss);
    assert_eq!((script.window(), delay_window(&script)), (61.0, 0.0));
    assert_eq!(script.control.slow_start_threshold(), 61.0);
    (0..62).for_each(|_| round(&mut script, 100.0, 4, BASE_RTT));
    let reno = script.window() - delay_window(&script);
    assert!(reno > 62.0 && delay_window(&script) == 122.0);
    script.congestion(Signal::Loss);
    assert_eq!(delay_window(&script), 0.0);
    assert_eq!(script.window(), 92.0);
    let mut script = avoiding(10.0);
    script.congestion(Signal::Timeout { repeated: false });
    assert_eq!((script.window(), script.control.slow_start_threshold()), (1.0, 5.0));
    script.congestion(Signal::Timeout { repeated: true });
    assert_eq!((script.window(), script.control.slow_start_threshold()), (1.0, 5.0));
    script.congestion(Signal::Timeout { repeated: false });
    assert_eq!(script.control.slow_start_threshold(), 2.0);
}

/// Congestion avoidance adds a segment per window of both parts, by acknowledgements in ns-2 and by segments by default.
#[test]
fn renos_part_grows_by_one_in_the_whole_window() {
    for (preset, expected) in [("ns2", 0.01), ("default", 0.02)] {
        let mut script = script(preset, &[]);
        script.begin(200.0);
        script.congestion(Signal::Loss);
        let plain = ack(script.now, 100.0, Span::ZERO);
        script.control.on_ack(&Ack { newly_acked: 2, ..plain });
        assert!((script.window() - 100.0 - expected).abs() < 1e-12, "{preset}");
    }
}

/// The delay window makes four segments a round of one; 40 ms of queue hold it at nothing.
#[test]
fn round_by_round() {
    let rounds =
        [vec![Queue(0); 6], vec![Loss(0)], vec![Queue(0); 8], vec![Queue(40); 6], vec![Timeout], vec![Queue(0); 7]]
            .concat();
    same(
        &script("ns2", &[]).table(&rounds),
        "queue 0 ms: 4 8 16 32 64 129\nloss at 0 ms: 130\nqueue 0 ms: 130 131 135 139 143 148 153 158\nqueue 40 ms: 163 139 140 141 142 143\ntimeout: 1\nqueue 0 ms: 2 4 8 16 32 64 72",
    );
}

#[test]
fn leaving_recovery_sends_no_burst() {
    for (flight, expected) in [(0.0, 2.0), (3.0, 4.0), (100.0, 50.0)] {
        let mut script = avoiding(50.0);
        script.recovered(Repair::Partial, flight);
        assert_eq!(script.window(), expected);
    }
}

#[test]
fn the_laws_hold() {
    // With at most 99 segments out the delay window gains at most 2.
    laws::hold(&DESCRIPTOR, |ack, _| laws::only_when_used(ack, f64::from(ack.newly_acked) + 2.0));
}
