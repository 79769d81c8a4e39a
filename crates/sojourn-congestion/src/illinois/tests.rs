//! TCP Illinois against Linux and ns-3.

use super::DESCRIPTOR;
use crate::script::{BASE_RTT, Round, Script, ack, in_fractions, params};
use crate::{Ack, AnyControl, Congestion, Control, Path, Repair, Signal, Unused, laws};
use Round::{Loss, Mark, Queue, Timeout};
use sojourn_core::registry::Value;
use sojourn_core::{Span, Stream, Time};

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

fn probe(script: &Script, wanted: &str) -> f64 {
    let mut found = None;
    script.control.probe(&mut |name, value| found = found.or((name == wanted).then_some(value)));
    found.expect("a probe")
}

fn alpha_beta(script: &Script) -> (f64, f64) {
    (probe(script, "alpha_segments"), probe(script, "beta"))
}

/// An acknowledgement after `queue` milliseconds of queueing delay that does not open the window; with `ends` it ends
/// the round.
fn sample(script: &mut Script, queue: u64, ends: bool) {
    let rtt = BASE_RTT + Span::from_millis(queue);
    script.now += rtt;
    let ack = ack(script.now, script.window(), Span::from_millis(queue));
    // The round-trip time that counts is between these two; a later start has been seen by no round yet.
    let (marked, advanced) = (!ends, 1_000_000);
    script.control.on_ack(&Ack { window_limited: false, marked, advanced, ..ack });
}

/// A window of 100 on a path whose delay has been between 0 and 100 ms, with nothing in the present round.
fn seasoned(preset: &str, changes: &[(&str, Value)]) -> Script {
    let mut script = script(preset, changes);
    script.begin(100.0);
    sample(&mut script, 0, true);
    sample(&mut script, 100, true);
    script
}

/// alpha = 10/(1 + (97/3) (d_a - 1 ms)/(99 ms)): 1 % is the end of the flat part, and 0.3 the end of the range.
#[test]
fn alpha_falls_with_the_delay() {
    let slope = 9.7 / 0.3 / 99.0;
    for (delay, expected) in
        [(0, 0.3), (1, 0.3), (2, 10.0 / (1.0 + slope)), (34, 10.0 / (1.0 + 33.0 * slope)), (100, 0.3)]
    {
        let mut script = seasoned("linux", &[]);
        close(alpha_beta(&script).0, 0.3);
        sample(&mut script, delay, true);
        close(alpha_beta(&script).0, expected);
    }
    // 33 ms are a third of what is left of the range: 10/(1 + 97/9).
    close(10.0 / (1.0 + 33.0 * slope), 90.0 / 106.0);
}

/// Linux (`tcp_illinois_acked`): what an acknowledgement covers cumulatively opens the window, although SACK told of all but one
/// of it before.
#[test]
fn what_is_acknowledged_cumulatively_opens_a_whole_window() {
    for (advanced, opened) in [(1, 0.0), (30, 15.0)] {
        let mut script = Script::new(&params(&DESCRIPTOR, "linux", &[]));
        script.begin(40.0);
        script.congestion(Signal::Ecn);
        let before = script.window();
        script.now += BASE_RTT;
        // Alpha is 10.
        let end = ack(script.now, before, Span::ZERO);
        script.control.on_ack(&Ack { advanced, ..end });
        assert_eq!(script.window(), before + opened, "{advanced} of {before}");
    }
}

/// 1/8 up to 10 %, 1/2 from 80 % on.
#[test]
fn beta_rises_with_the_delay() {
    for (delay, expected) in [(0, 0.125), (10, 0.125), (45, 0.3125), (80, 0.5), (100, 0.5)] {
        let mut script = seasoned("linux", &[]);
        sample(&mut script, delay, true);
        close(alpha_beta(&script).1, expected);
    }
}

/// A round's delay is the mean of its samples.
#[test]
fn a_round_is_judged_by_its_mean() {
    let mut script = seasoned("linux", &[]);
    for delay in [0, 20, 100] {
        sample(&mut script, delay, false);
    }
    assert_eq!(alpha_beta(&script), (0.3, 0.5));
    sample(&mut script, 60, true);
    close(alpha_beta(&script).1, 0.3125);
    sample(&mut script, 80, true);
    close(alpha_beta(&script).1, 0.5);
}

/// While the delay has always been small alpha is 10; once it was not, the fifth round of little delay restores it, and
/// rounds of much delay between do not make the count start anew.
#[test]
fn theta_rounds_of_little_delay_restore_alpha() {
    let mut script = script("linux", &[]);
    script.begin(100.0);
    sample(&mut script, 0, true);
    assert_eq!(alpha_beta(&script), (10.0, 0.125));
    sample(&mut script, 100, true);
    for delay in [0, 0, 0, 100, 0] {
        sample(&mut script, delay, true);
        close(alpha_beta(&script).0, 0.3);
    }
    sample(&mut script, 0, true);
    assert_eq!(alpha_beta(&script).0, 10.0);
    sample(&mut script, 0, true);
    assert_eq!(alpha_beta(&script).0, 10.0);
    sample(&mut script, 100, true);
    sample(&mut script, 0, true);
    close(alpha_beta(&script).0, 0.3);
}

#[test]
fn small_windows_are_renos() {
    for (window, expected) in [(14.9, (1.0, 0.5)), (15.0, (10.0, 0.125))] {
        let mut script = script("linux", &[]);
        script.begin(window);
        sample(&mut script, 0, true);
        assert_eq!(alpha_beta(&script), expected);
    }
    let mut ns3 = script("ns3", &[]);
    sample(&mut ns3, 0, true);
    assert_eq!(alpha_beta(&ns3), (10.0, 0.125));
}

/// alpha segments for each window, one for each acknowledged one in slow start.
#[test]
fn the_window_grows_by_alpha() {
    let mut script = seasoned("linux", &[]);
    let full = |script: &mut Script, sent| {
        let ack = ack(script.now, 100.0, Span::ZERO);
        script.control.on_ack(&Ack { newly_acked: 2, sent, ..ack });
    };
    full(&mut script, Time::ZERO);
    assert_eq!(script.window(), 102.0);
    script.congestion(Signal::Loss);
    close(script.window(), 51.0);
    full(&mut script, Time::ZERO);
    close(script.window(), 51.0 + 0.3 * 2.0 / 51.0);
}

/// beta of the window or of what is in flight.
#[test]
fn a_loss_takes_beta() {
    for (preset, outstanding) in [("linux", 100.0), ("ns3", 60.0)] {
        for (delay, leaves) in [(0, 0.875), (45, 0.6875), (100, 0.5)] {
            for signal in [Signal::Loss, Signal::Ecn, Signal::Timeout { repeated: false }] {
                let mut script = seasoned(preset, &[]);
                sample(&mut script, delay, true);
                let event = Congestion {
                    now: script.now,
                    signal,
                    flight: 60.0,
                    pipe: 60.0,
                    smoothed_rtt: BASE_RTT,
                    stage: crate::Stage::New,
                };
                script.control.on_congestion(&event);
                close(script.control.slow_start_threshold(), outstanding * leaves);
                let timeout = matches!(signal, Signal::Timeout { .. });
                close(script.window(), if timeout { 1.0 } else { outstanding * leaves });
            }
        }
    }
}

/// A timeout makes alpha and beta Reno's and begins a round, which lasts until more is acknowledged than had been sent by then;
/// that the delay was large is forgotten.
#[test]
fn a_timeout_makes_it_reno() {
    let mut script = seasoned("ns3", &[]);
    sample(&mut script, 60, false);
    script.congestion(Signal::Timeout { repeated: false });
    assert_eq!(alpha_beta(&script), (1.0, 0.5));
    let late = ack(script.now, 1.0, Span::ZERO);
    script.control.on_ack(&Ack { window_limited: false, ..late });
    assert_eq!(alpha_beta(&script), (1.0, 0.5), "what was sent before it ends no round");
    // The one segment that was left of it has been sent again since.
    script.control.on_ack(&Ack { sent: script.now, window_limited: false, ..late });
    assert_eq!(alpha_beta(&script), (1.0, 0.5), "nor does what was sent again");
    sample(&mut script, 0, true);
    assert_eq!(alpha_beta(&script), (10.0, 0.125), "the samples of before do not count, nor does theta");
}

/// Neither while a loss is repaired nor on a mark does a round end.
#[test]
fn a_repair_is_no_time_to_judge() {
    for (in_recovery, marked) in [(true, false), (false, true)] {
        let mut script = seasoned("linux", &[]);
        script.now += BASE_RTT;
        let ack = ack(script.now, 100.0, Span::ZERO);
        script.control.on_ack(&Ack { in_recovery, marked, ..ack });
        assert_eq!(alpha_beta(&script), (0.3, 0.5));
        assert_eq!(script.window(), 100.0);
    }
}

#[test]
fn a_restart_keeps_what_is_known_of_the_path() {
    let mut script = seasoned("linux", &[]);
    script.start(Span::from_secs(2), Unused::Restart { window: 50.0 });
    assert_eq!((script.window(), script.control.slow_start_threshold()), (50.0, f64::INFINITY));
    assert_eq!(alpha_beta(&script), (0.3, 0.5));
    sample(&mut script, 45, true);
    close(alpha_beta(&script).1, 0.3125);
}

#[test]
fn leaving_recovery_sends_no_burst() {
    let mut script = seasoned("linux", &[]);
    script.congestion(Signal::Loss);
    script.recovered(Repair::Partial, 3.0);
    assert_eq!(script.window(), 4.0);
}

/// The ends of a range may meet but not cross.
#[test]
fn crossed_ranges_are_refused() {
    let path = Path { mss_bytes: 1460, header_bytes: 52, smallest_packet_bytes: 52, initial_window: 2.0, sack: true };
    for (least, most, same, above) in [
        ("alpha_min", "alpha_max", 10.0, 11.0),
        ("beta_min", "beta_max", 0.5, 0.6),
        ("beta_delay_min", "beta_delay_max", 0.8, 0.9),
    ] {
        let build = |value| {
            let params = params(&DESCRIPTOR, "default", &[(least, Value::Number(value))]);
            AnyControl::build(&params, &path, Stream::new(1, "control"))
        };
        assert!(build(same).is_ok());
        let error = build(above).unwrap_err();
        assert_eq!(error.parameter, least);
        assert!(error.rule.contains(most), "{}", error.rule);
    }
}

/// Ends of ranges that meet divide by nothing.
#[test]
fn a_range_may_be_a_point() {
    let changes = [("beta_delay_min", Value::Number(0.8)), ("alpha_min", Value::Number(10.0))];
    let mut script = seasoned("linux", &changes);
    for (delay, beta) in [(80, 0.125), (81, 0.5)] {
        sample(&mut script, delay, true);
        assert_eq!(alpha_beta(&script), (10.0, beta));
    }
}

/// Concave: ten segments a round while the queue is empty, less than one when it has filled.
#[test]
fn round_by_round() {
    let rounds = [
        vec![Queue(0); 5],
        vec![Loss(50)],
        vec![Queue(0); 10],
        vec![Queue(5); 2],
        vec![Queue(25); 4],
        vec![Loss(50)],
        vec![Mark(2)],
        vec![Timeout],
        vec![Queue(0); 6],
    ]
    .concat();
    same(
        &later("linux").table(&rounds),
        "queue 0 ms: 4 8 16 32 64\n\
         loss at 50 ms: 73\n\
         queue 0 ms: 73 74 75 76 77 78 87 97 106 116\n\
         queue 5 ms: 125 128\n\
         queue 25 ms: 130 131 132 132\n\
         loss at 50 ms: 87\n\
         mark at 2 ms: 43\n\
         timeout: 1\n\
         queue 0 ms: 2 4 8 16 26 34",
    );
    same(
        &later("ns3").table(&rounds),
        "queue 0 ms: 4 8 16 32 64\n\
         loss at 50 ms: 73\n\
         queue 0 ms: 73 74 75 76 77 78 87 97 106 116\n\
         queue 5 ms: 125 128\n\
         queue 25 ms: 130 131 132 132\n\
         loss at 50 ms: 87\n\
         mark at 2 ms: 43\n\
         timeout: 1\n\
         queue 0 ms: 2 4 8 16 26 34",
    );
}

/// alpha_max segments a window, or slow start.
#[test]
fn the_laws_hold() {
    laws::hold(&DESCRIPTOR, |ack, window| {
        let acked = f64::from(ack.newly_acked);
        laws::only_when_used(ack, acked.max(10.0 * acked / window))
    });
}
