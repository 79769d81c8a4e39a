//! CUBIC against RFC 9438, Linux 6.1 and ns-3.37.

use super::DESCRIPTOR;
use crate::script::{BASE_RTT, Round, Script, ack, params};
use crate::{Ack, AnyControl, Congestion, Control, Path, Repair, Signal, Unused, laws};
use Round::{Idle, Loss, Mark, Queue, Timeout};
use sojourn_core::registry::Value;
use sojourn_core::{Span, Stream, Time};

const HYSTART_OFF: (&str, Value) = ("hystart", Value::Choice("off"));
const COUNT_SEGMENTS: (&str, Value) = ("count", Value::Choice("segments"));
/// Linux's rules without its clock.
const WHOLE: (&str, Value) = ("arithmetic", Value::Choice("whole"));
const FRIENDLY_OFF: (&str, Value) = ("friendly", Value::Choice("off"));

fn script(preset: &str, changes: &[(&str, Value)]) -> Script {
    Script::new(&params(&DESCRIPTOR, preset, changes))
}

/// A flow that lost a segment at a window of `window`, all of it in flight.
fn after_loss(preset: &str, changes: &[(&str, Value)], window: f64) -> Script {
    let mut script = script(preset, changes);
    script.begin(window);
    script.congestion(Signal::Loss);
    script
}

fn give(script: &mut Script, change: impl Fn(Ack) -> Ack) {
    let ack = ack(script.now, script.window(), Span::ZERO);
    script.control.on_ack(&change(ack));
}

fn probe(script: &Script, name: &str) -> f64 {
    let mut found = None;
    script.control.probe(&mut |key, value| found = found.or((key == name).then_some(value)));
    found.expect("a probe of that name")
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 5e-4, "found {found}, expected {expected}");
}

#[track_caller]
fn same(found: &str, expected: &str) {
    assert_eq!(found, expected, "\nfound:\n{found}\nexpected:\n{expected}");
}

/// K = cbrt(0.3 W_max/C): part H of the digest.
#[test]
fn k_is_the_time_back_to_the_window_before_the_loss() {
    for (window, k) in [(10.0, 1.957), (100.0, 4.217), (1000.0, 9.086)] {
        let mut script = after_loss("rfc", &[], window);
        close(script.window(), 0.7 * window);
        give(&mut script, |ack| ack);
        close(probe(&script, "k_s"), k);
        close(probe(&script, "w_max_segments"), window);
    }
}

/// From 700 back to 1000 segments in K = 9.086 s, slowest there, and as fast again afterwards.
#[test]
fn the_window_follows_the_cubic_function() {
    let mut script = after_loss("rfc", &[], 1000.0);
    give(&mut script, |ack| ack);
    let began = script.now;
    let mut table = Vec::new();
    for _ in 0..16 {
        while script.now.since(began) < Span::from_secs(1 + table.len() as u64) {
            script.round(Queue(0));
        }
        table.push(script.window().round() as u32);
        let time = script.now.since(began).as_secs_f64();
        let w_cubic = |time: f64| 0.4 * (time - 9.0856).powi(3) + 1000.0;
        assert!(script.window() >= w_cubic(time) - 0.5, "at {time} s");
        assert!(script.window() <= w_cubic(time + 0.05) + 0.5, "at {time} s");
    }
    assert_eq!(table, [792, 861, 912, 949, 974, 989, 997, 1000, 1000, 1000, 1003, 1010, 1025, 1049, 1085, 1135]);
}

/// Equation 4 with alpha = 9/17, and 1 from the window before the loss on.
#[test]
fn the_window_is_at_least_renos() {
    let mut script = after_loss("rfc", &[], 10.0);
    let mut estimate = 7.0;
    let mut window = 7.0;
    for _ in 0..200 {
        script.now += Span::from_millis(1);
        give(&mut script, |ack| Ack { newly_acked: 2, ..ack });
        estimate += if estimate >= 10.0 { 1.0 } else { 9.0 / 17.0 } * 2.0 / window;
        window = script.window();
        assert!((probe(&script, "w_est_segments") - estimate).abs() < 1e-9);
        assert_eq!(window, probe(&script, "w_est_segments"), "the cubic function is below within 0.2 s");
    }
    assert!(estimate > 15.0, "both alphas were seen: {estimate}");
    let mut script = after_loss("rfc", &[("friendly", Value::Choice("constant"))], 10.0);
    let mut estimate = 7.0;
    for _ in 0..200 {
        let window = script.window();
        give(&mut script, |ack| ack);
        estimate += 9.0 / 17.0 / window;
    }
    assert!(estimate > 12.0 && (probe(&script, "w_est_segments") - estimate).abs() < 1e-9);
}

/// A window that a long RTT led ahead waits for the cubic function and for the estimate.
#[test]
fn the_window_never_falls() {
    for friendly in ["off", "rising"] {
        let mut script = after_loss("rfc", &[("friendly", Value::Choice(friendly))], 100.0);
        give(&mut script, |ack| ack);
        script.now += Span::from_secs(1);
        let mut last = script.window();
        // W(1 s + 2 s) is 99.3, W(1 s) is 86.7; the estimate comes to 92.
        for number in 0..4000 {
            let rtt = Span::from_secs(if number < 1000 { 2 } else { 0 });
            give(&mut script, |ack| Ack { smoothed_rtt: rtt, ..ack });
            assert!(script.window() >= last, "{friendly} {number}");
            last = script.window();
        }
        assert!(last > 99.0 && last < 100.0, "{last}");
        let estimate = probe(&script, "w_est_segments");
        assert!(estimate > 87.0 && estimate < last);
    }
}

/// cwnd += (target - cwnd)/cwnd, target at most 1.5 cwnd: with K far past.
#[test]
fn an_acknowledgement_closes_a_part_of_the_gap() {
    let grow = |changes: &[(&str, Value)], secs: u64, acked: u32| {
        let mut script = after_loss("rfc", &[&[FRIENDLY_OFF], changes].concat(), 100.0);
        give(&mut script, |ack| ack);
        let before = script.window();
        script.now += Span::from_secs(secs);
        give(&mut script, |ack| Ack { newly_acked: acked, ..ack });
        (before, script.window() - before)
    };
    // 50 ms ahead of 4 s: 0.4 (4.05 - 4.217163)^3 + 100.
    let target = 0.4 * (4.05f64 - 4.217_163).powi(3) + 100.0;
    let (before, step) = grow(&[], 4, 2);
    close(step, (target - before) / before);
    let (before, step) = grow(&[COUNT_SEGMENTS], 4, 2);
    close(step, 2.0 * (target - before) / before);
    close(grow(&[], 60, 1).1, 0.5);
}

/// The function is read one RTT ahead: the smoothed one, or the least since the last timeout.
#[test]
fn the_cubic_function_is_read_ahead() {
    for (lookahead, ahead) in [("smoothed-rtt", 0.250), ("least-rtt", 0.050)] {
        let mut script = after_loss("rfc", &[FRIENDLY_OFF, ("lookahead", Value::Choice(lookahead))], 1000.0);
        give(&mut script, |ack| ack);
        let before = script.window();
        let late = ack(script.now, before, Span::from_millis(200));
        script.control.on_ack(&late);
        let target = 0.4 * (ahead - 9.085_603f64).powi(3) + 1000.0;
        close(script.window() - before, (target - before) / before);
    }
}

/// Section 4.7: a loss at 70, below the last at 100, aims at 70 (1 + 0.7)/2.
#[test]
fn fast_convergence_aims_lower() {
    for (fast, expected) in [(true, 59.5), (false, 70.0)] {
        let mut script = after_loss("rfc", &[("fast_convergence", Value::Boolean(fast))], 100.0);
        script.congestion(Signal::Loss);
        close(script.window(), 49.0);
        give(&mut script, |ack| ack);
        close(probe(&script, "w_max_segments"), expected);
    }
    let mut script = after_loss("linux", &[], 100.0);
    assert_eq!(script.window(), 70.0, "100 x 717/1024, whole");
    script.congestion(Signal::Loss);
    give(&mut script, |ack| ack);
    assert_eq!(probe(&script, "w_max_segments"), 59.0, "70 x 1741/2048, whole");
}

/// Section 4.6: flight x beta; at least 2 after a loss, 1 after a mark, 2 as threshold.
#[test]
fn a_reduction_keeps_beta_of_the_flight() {
    let reduced = |preset: &str, window: f64, flight: f64, signal: Signal| {
        let mut script = script(preset, &[]);
        script.begin(window);
        let event = Congestion {
            now: script.now,
            signal,
            flight,
            pipe: flight,
            smoothed_rtt: BASE_RTT,
            stage: crate::Stage::New,
        };
        script.control.on_congestion(&event);
        (script.window(), script.control.slow_start_threshold())
    };
    assert_eq!(reduced("rfc", 20.0, 10.0, Signal::Loss), (7.0, 7.0));
    assert_eq!(reduced("rfc", 20.0, 10.0, Signal::Ecn), (7.0, 7.0));
    assert_eq!(reduced("linux", 20.0, 10.0, Signal::Loss), (14.0, 14.0));
    assert_eq!(reduced("ns3", 21.0, 10.0, Signal::Loss), (14.0, 14.0));
    assert_eq!(reduced("rfc", 2.0, 2.0, Signal::Loss), (2.0, 2.0));
    assert_eq!(reduced("rfc", 2.0, 2.0, Signal::Ecn), (1.4, 2.0));
    assert_eq!(reduced("rfc", 1.0, 1.0, Signal::Ecn), (1.0, 2.0));
    assert_eq!(reduced("abe", 20.0, 20.0, Signal::Ecn), (17.0, 17.0));
    assert_eq!(reduced("abe", 20.0, 20.0, Signal::Loss), (14.0, 14.0));
    assert_eq!(reduced("abe", 20.0, 20.0, Signal::Timeout { repeated: false }), (1.0, 14.0));
    assert_eq!(reduced("rfc", 20.0, 10.0, Signal::Timeout { repeated: false }), (1.0, 7.0));
}

/// Section 4.8: K is 0 and the function starts at the window that slow start reached; Reno's estimate rises by 1 only
/// from the window before the timeout on.
#[test]
fn after_a_timeout_the_cubic_function_starts_at_the_threshold() {
    let mut script = after_loss("rfc", &[], 100.0);
    script.round(Timeout);
    assert_eq!(script.control.slow_start_threshold(), 49.0);
    script.congestion(Signal::Timeout { repeated: true });
    assert_eq!(script.control.slow_start_threshold(), 49.0, "only the first timeout lowers it");
    same(&script.table(&[Queue(0); 9]), "queue 0 ms: 2 4 8 16 32 49 49 50 50");
    assert_eq!(probe(&script, "k_s"), 0.0);
    close(probe(&script, "w_max_segments"), 49.0);
    close(probe(&script, "w_est_segments"), script.window());
    // The window before the timeout was 70: from there on alpha is 1.
    while probe(&script, "w_est_segments") < 70.0 {
        let (window, estimate) = (script.window(), probe(&script, "w_est_segments"));
        give(&mut script, |ack| ack);
        close((probe(&script, "w_est_segments") - estimate) * window, 9.0 / 17.0);
    }
    let (window, estimate) = (script.window(), probe(&script, "w_est_segments"));
    give(&mut script, |ack| ack);
    close((probe(&script, "w_est_segments") - estimate) * window, 1.0);
}

/// Time in which the application limits sending is left out, unless it counts.
#[test]
fn idle_time_is_left_out() {
    for (idle, time) in [("left-out", 2.0), ("counts", 4.0)] {
        let changes = [FRIENDLY_OFF, COUNT_SEGMENTS, ("idle_time", Value::Choice(idle))];
        let mut script = after_loss("rfc", &changes, 100.0);
        give(&mut script, |ack| ack);
        for limited in [true, false, false, true] {
            script.now += Span::from_secs(1);
            let before = script.window();
            give(&mut script, |ack| Ack { window_limited: limited, ..ack });
            let grown = script.window() - before;
            assert_eq!(grown > 0.0, limited);
            if script.now == Time::from_nanos(4_000_000_000) {
                let target = 0.4 * (time + 0.05f64 - 4.217_163).powi(3) + 100.0;
                close(grown, (target - before) / before);
            }
        }
    }
}

/// In a pause nothing is acknowledged: the cubic function stands still until data is sent again.
#[test]
fn a_pause_without_acknowledgements_is_left_out() {
    for (preset, idle, seconds) in [
        ("rfc", "left-out", 0.5),
        ("rfc", "gaps-left-out", 0.5),
        ("rfc", "counts", 10.5),
        ("linux", "gaps-left-out", 0.5),
    ] {
        let changes = [FRIENDLY_OFF, COUNT_SEGMENTS, ("idle_time", Value::Choice(idle))];
        let mut script = after_loss(preset, &changes, 100.0);
        script.now += Span::from_secs(1);
        give(&mut script, |ack| ack);
        script.now += Span::from_millis(250);
        give(&mut script, |ack| Ack { in_recovery: true, ..ack });
        script.now += Span::from_secs(10);
        script.start(Span::from_secs(10), Unused::Keep);
        script.now += Span::from_millis(250);
        let before = script.window();
        give(&mut script, |ack| Ack { newly_acked: 30, ..ack });
        let (rise, k) = (seconds + 0.05f64 - 4.217_163, 0.4);
        if preset == "rfc" {
            let target = (k * rise.powi(3) + 100.0).clamp(before, 1.5 * before);
            close(script.window() - before, 30.0 * (target - before) / before);
        } else {
            // The target is 81, 11 ahead: a segment for each six acknowledged; with the pause for each two.
            assert_eq!(script.window() - before, 5.0);
        }
    }
}

/// RFC 9438 section 4.9: after a needless reduction K, the origin and the estimate are what they were; Linux gives back
/// window and threshold only.
#[test]
fn a_needless_reduction_gives_the_epoch_back() {
    for (preset, expected) in [("rfc", 100.0), ("linux", 0.0)] {
        let mut script = after_loss(preset, &[], 100.0);
        give(&mut script, |ack| ack);
        let (window, threshold) = (script.window(), script.control.slow_start_threshold());
        script.round(Timeout);
        script.undo(window, threshold);
        assert_eq!((script.window(), script.control.slow_start_threshold()), (window, threshold));
        give(&mut script, |ack| Ack { newly_acked: 0, ..ack });
        let origin = probe(&script, "w_max_segments");
        assert_eq!(if origin.is_nan() { 0.0 } else { origin }, expected, "{preset}");
    }
}

/// At most the limit for each acknowledgement, exactly to the threshold, and the rest is congestion avoidance's.
#[test]
fn slow_start_ends_at_the_threshold() {
    for (limit, expected) in [(Value::Integer(1), 3.0), (Value::Integer(8), 10.0), (Value::Auto, 14.0)] {
        let mut script = script("rfc", &[("slow_start_limit", limit)]);
        give(&mut script, |ack| Ack { newly_acked: 12, ..ack });
        assert_eq!(script.window(), expected);
    }
    let mut script = after_loss("ns3", &[], 10.0);
    script.round(Timeout);
    assert_eq!(script.control.slow_start_threshold(), 4.0);
    give(&mut script, |ack| Ack { newly_acked: 22, ..ack });
    assert_eq!(script.window(), 4.0, "3 opened the window, 19 of 20 for the next step");
    give(&mut script, |ack| ack);
    assert_eq!(script.window(), 5.0);
}

/// RFC 9406: eight samples into the first round 20 ms slower than the last the growth falls to a quarter, and after
/// five such rounds CUBIC goes on from there.
#[test]
fn hystart_ends_slow_start_without_a_loss() {
    let mut script = script("rfc", &[]);
    let rounds = [vec![Queue(0); 4], vec![Queue(20); 8]].concat();
    same(&script.table(&rounds), "queue 0 ms: 4 8 16 32\nqueue 20 ms: 60 75 94 117 146 171 172 173");
    assert_eq!(probe(&script, "k_s"), 0.0);
    // The window then is cwnd_prior: Reno's estimate has alpha 1 from the start.
    let (window, estimate) = (script.window(), probe(&script, "w_est_segments"));
    give(&mut script, |ack| ack);
    close(probe(&script, "w_est_segments") - estimate, 1.0 / window);
}

/// Linux's cnt: 1.5 times at most, 20 before the first loss, 100 windows on the plateau.
#[test]
fn whole_windows_grow_after_so_many_segments() {
    // After a timeout without a window to aim at, at the threshold of 4.
    let mut script = after_loss("ns3", &[], 10.0);
    script.table(&[Timeout, Queue(0), Queue(0)]);
    assert_eq!(script.window(), 4.0);
    let steps = |script: &mut Script, count: u32| {
        let before = script.window();
        for number in 1..=count {
            give(script, |ack| ack);
            if script.window() > before {
                return Some(number);
            }
        }
        None
    };
    assert_eq!(steps(&mut script, 100), Some(20));
    // 4 s after a loss at 100: the target is 100 - floor(0.4 x 0.17^3), 30 above the window of 70: cnt is 2.
    let mut script = after_loss("ns3", &[], 100.0);
    give(&mut script, |ack| ack);
    script.now += Span::from_secs(4);
    assert_eq!(steps(&mut script, 100), Some(1), "the acknowledgement before counted");
    assert_eq!(steps(&mut script, 100), Some(2));
    while script.window() < 100.0 {
        steps(&mut script, 20_000).expect("a step");
    }
    assert_eq!(steps(&mut script, 9_999), None);
    assert_eq!(steps(&mut script, 2), Some(1), "100 windows, the target being the window itself");
}

/// On the plateau 3000 segments are acknowledged in vain. Linux makes one step of them when the function moves on; ns-3
/// makes one with each acknowledgement, and with what is left after a loss too.
#[test]
fn credit_of_the_plateau_is_dropped_or_kept() {
    for (credit, grown) in [("dropped", 50.0), ("kept", 100.0)] {
        let mut script = after_loss("ns3", &[("spare_credit", Value::Choice(credit))], 100.0);
        give(&mut script, |ack| ack);
        script.now += Span::from_secs(4);
        while script.window() < 100.0 {
            give(&mut script, |ack| ack);
        }
        (0..3000).for_each(|_| give(&mut script, |ack| ack));
        assert_eq!(script.window(), 100.0, "{credit}");
        script.now += Span::from_secs(20);
        (0..100).for_each(|_| give(&mut script, |ack| ack));
        assert!((script.window() - 100.0 - grown).abs() <= 1.0, "{credit}: {}", script.window());
        script.congestion(Signal::Loss);
        let window = script.window();
        give(&mut script, |ack| ack);
        script.now += Span::from_secs(20);
        (0..100).for_each(|_| give(&mut script, |ack| ack));
        let more = script.window() - window;
        assert!((more - grown).abs() <= 1.0, "{credit}: {more}");
    }
}

/// (W_max - target) is rounded towards W_max: 20 - floor(0.4 x (K - t)^3).
#[test]
fn whole_targets_are_rounded_towards_the_origin() {
    // K = cbrt(6/0.4) = 2.466 s. With 50 ms ahead: 5.64 below, so 5: the target is 15, one above 14: cnt is 14.
    let mut script = after_loss("ns3", &[], 20.0);
    assert_eq!(script.window(), 14.0);
    for _ in 0..13 {
        give(&mut script, |ack| ack);
    }
    assert_eq!(script.window(), 14.0);
    give(&mut script, |ack| ack);
    assert_eq!(script.window(), 15.0);
}

/// Linux: Reno's estimate gains a segment in 15/8 windows; the step is such that one round trip closes the gap.
#[test]
fn whole_windows_are_at_least_renos() {
    // The seventh segment steps towards 8, where the cubic function stays for a while. The estimate gains one segment
    // with the 16th, as 15 are 15/8 of 8, and is above the window with the 31st: cnt is 8, and more than 8 wait.
    for (number, window, estimate) in
        [(6, 7.0, 7.0), (7, 8.0, 7.0), (15, 8.0, 7.0), (16, 8.0, 8.0), (30, 8.0, 8.0), (31, 9.0, 9.0)]
    {
        let mut script = after_loss("linux", &[WHOLE], 10.0);
        let mut off = after_loss("linux", &[WHOLE, FRIENDLY_OFF], 10.0);
        for _ in 0..number {
            give(&mut script, |ack| ack);
            give(&mut off, |ack| ack);
        }
        assert_eq!((script.window(), probe(&script, "w_est_segments")), (window, estimate), "{number}");
        assert_eq!(off.window(), window.min(8.0), "{number}");
    }
}

/// With beta 0.13 Linux's 8/alpha is 3, and 3/8 of one segment none: its own loop would never end.
#[test]
fn the_estimate_grows_at_one_segment_and_a_small_beta() {
    let mut script = after_loss("linux", &[WHOLE, ("beta", Value::Number(0.13))], 10.0);
    script.congestion(Signal::Timeout { repeated: false });
    script.congestion(Signal::Loss);
    script.congestion(Signal::Timeout { repeated: true });
    (0..20).for_each(|_| give(&mut script, |ack| ack));
    let (window, estimate) = (script.window(), probe(&script, "w_est_segments"));
    assert!(window > 2.0 && (window..=21.0).contains(&estimate), "{window}, {estimate}");
}

/// Round by round. Linux and ns-3 agree on the cubic function and are up to a segment ahead of the RFC, by rounding the
/// target towards W_max; after a timeout they add one segment for 20, and ns-3 what it has kept from the plateau.
#[test]
fn the_presets_round_by_round() {
    let rounds = [
        vec![Queue(0); 5],
        vec![Loss(0)],
        vec![Queue(0); 12],
        vec![Mark(0)],
        vec![Queue(0); 12],
        vec![Timeout],
        vec![Queue(0); 8],
        vec![Idle(5)],
        vec![Queue(0); 2],
    ]
    .concat();
    let table = |preset| script(preset, &[HYSTART_OFF]).table(&rounds);
    same(
        &table("rfc"),
        "queue 0 ms: 4 8 16 32 64\nloss at 0 ms: 89\nqueue 0 ms: 90 92 93 94 95 96 97 98 99 100 101 102\nmark at 0 ms: 72\nqueue 0 ms: 72 73 74 74 75 75 76 77 77 78 78 79\ntimeout: 1\nqueue 0 ms: 2 4 8 16 32 55 55 56\nidle 5 s: 2\nqueue 0 ms: 4 8",
    );
    let whole = "queue 0 ms: 4 8 16 32 64\nloss at 0 ms: 89\nqueue 0 ms: 91 92 93 95 96 97 98 99 100 101 102 103\nmark at 0 ms: 72\nqueue 0 ms: 73 74 75 76 76 77 77 78 79 79 80 80\ntimeout: 1\nqueue 0 ms: 2 4 8 16 32 56 59 62\nidle 5 s: 2\nqueue 0 ms: 4 8";
    let linux = |changes: &[(&str, Value)]| script("linux", &[&[HYSTART_OFF], changes].concat()).table(&rounds);
    same(&linux(&[WHOLE]), whole);
    same(
        &table("linux"),
        "queue 0 ms: 4 8 16 32 64\nloss at 0 ms: 89\nqueue 0 ms: 90 92 93 94 95 96 97 99 100 101 102 103\nmark at 0 ms: 72\nqueue 0 ms: 73 74 75 76 76 77 77 78 78 79 79 80\ntimeout: 1\nqueue 0 ms: 2 4 8 16 32 56 59 62\nidle 5 s: 2\nqueue 0 ms: 4 8",
    );
    same(
        &linux(&[("tick", Value::Span(Span::from_millis(10)))]),
        "queue 0 ms: 4 8 16 32 64\nloss at 0 ms: 89\nqueue 0 ms: 90 91 93 94 95 96 97 98 99 100 101 102\nmark at 0 ms: 72\nqueue 0 ms: 73 74 75 75 76 76 77 77 78 79 79 79\ntimeout: 1\nqueue 0 ms: 2 4 8 16 32 55 58 61\nidle 5 s: 2\nqueue 0 ms: 4 8",
    );
    same(&table("ns3"), &whole.replace("32 56 59 62", "32 64 77 81"));
}

#[test]
fn the_window_grows_neither_in_recovery_nor_on_marks_nor_unused() {
    for preset in ["rfc", "linux", "ns3"] {
        let mut script = after_loss(preset, &[], 10.0);
        let window = script.window();
        for _ in 0..100 {
            script.now += Span::from_millis(50);
            give(&mut script, |ack| Ack { in_recovery: true, ..ack });
            give(&mut script, |ack| Ack { marked: true, ..ack });
            give(&mut script, |ack| Ack { window_limited: false, ..ack });
        }
        assert_eq!(script.window(), window, "{preset}");
    }
}

/// RFC 6582 section 3.2, step 3.
#[test]
fn leaving_recovery_sends_no_burst() {
    for (flight, expected) in [(0.0, 2.0), (3.0, 4.0), (100.0, 70.0)] {
        let mut script = after_loss("rfc", &[], 100.0);
        script.recovered(Repair::Partial, flight);
        assert_eq!(script.window(), expected);
    }
}

#[test]
fn contradictions_are_refused() {
    let refused = |changes: &[(&str, Value)]| {
        let path =
            Path { mss_bytes: 1460, header_bytes: 52, smallest_packet_bytes: 52, initial_window: 2.0, sack: true };
        let error = AnyControl::build(&params(&DESCRIPTOR, "linux", changes), &path, Stream::new(1, "control"));
        error.expect_err("a contradiction").parameter
    };
    assert_eq!(refused(&[("count", Value::Choice("acks"))]), "count");
    let fractions = [("arithmetic", Value::Choice("fractions")), ("spare_credit", Value::Choice("kept"))];
    assert_eq!(refused(&fractions), "spare_credit");
    assert_eq!(refused(&[("abe", Value::Number(0.69))]), "abe");
    assert_eq!(refused(&[("friendly", Value::Choice("rising"))]), "friendly");
}

/// HyStart++ is for the first slow start, HyStart is there again after a timeout.
#[test]
fn later_slow_starts() {
    let rounds = [vec![Queue(0); 7], vec![Loss(0), Timeout], vec![Queue(0); 4], vec![Queue(40)]].concat();
    let table = script("rfc", &[]).table(&rounds);
    assert!(table.ends_with("queue 0 ms: 2 4 8 16\nqueue 40 ms: 32"), "{table}");
    let mut script = script("linux", &[]);
    script.begin(120.0);
    let table = script.table(&[vec![Queue(0), Timeout], vec![Queue(0); 8]].concat());
    assert!(script.control.slow_start_threshold() < 60.0, "below the 84 that the timeout left");
    same(&table, "queue 0 ms: 184\ntimeout: 1\nqueue 0 ms: 2 4 8 16 32 48 51 53");
}

/// After a timeout the least RTT is learnt again.
#[test]
fn a_timeout_forgets_the_least_rtt() {
    let changes = [FRIENDLY_OFF, ("lookahead", Value::Choice("least-rtt"))];
    let mut script = after_loss("rfc", &changes, 100.0);
    give(&mut script, |ack| ack);
    script.round(Timeout);
    let slow = |ack: Ack| Ack { rtt: Some(Span::from_secs(2)), ..ack };
    while script.window() < script.control.slow_start_threshold() {
        give(&mut script, slow);
    }
    let window = script.window();
    give(&mut script, slow);
    close(script.window() - window, 0.4 * 8.0 / window);
}

/// Fractions may jump to Reno's estimate where acknowledgements are rarer than round trips; so only slow start's bound.
#[test]
fn the_laws_hold() {
    laws::hold(&DESCRIPTOR, |ack, window| laws::only_when_used(ack, f64::from(ack.newly_acked).max(window / 2.0)));
}

/// cnt is never below 2, however far away the target is.
#[test]
fn whole_windows_grow_by_half_at_most() {
    let mut script = after_loss("linux", &[], 100.0);
    give(&mut script, |ack| ack);
    script.now += Span::from_secs(60);
    for _ in 0..19 {
        give(&mut script, |ack| ack);
    }
    assert_eq!(script.window(), 80.0);
}

/// floor(102 x 15/8) = 191: the first 50 and 101 steps of the cubic function are to 102.
#[test]
fn linux_holds_alpha_as_eight_fifteenths() {
    let mut script = after_loss("linux", &[WHOLE], 143.0);
    assert_eq!(script.window(), 100.0);
    for _ in 0..191 {
        give(&mut script, |ack| ack);
    }
    assert_eq!((script.window(), probe(&script, "w_est_segments")), (102.0, 100.0));
    give(&mut script, |ack| ack);
    assert_eq!(probe(&script, "w_est_segments"), 101.0);
}

/// A loss at the very window of the one before shows no newcomer.
#[test]
fn fast_convergence_needs_a_smaller_window() {
    let mut script = after_loss("ns3", &[], 10.0);
    while script.window() < 10.0 {
        script.now += Span::from_millis(50);
        give(&mut script, |ack| ack);
    }
    script.congestion(Signal::Loss);
    give(&mut script, |ack| ack);
    assert_eq!(probe(&script, "w_max_segments"), 10.0);
}

/// One segment for 20 while there is no window to aim at, in fractions too.
#[test]
fn first_growth_is_a_floor() {
    let mut script = after_loss("rfc", &[FRIENDLY_OFF, ("first_growth", Value::Integer(20))], 100.0);
    give(&mut script, |ack| ack);
    let aimed = script.window();
    close(aimed, 70.0 + (0.4 * (0.05f64 - 4.217_163).powi(3) + 30.0) / 70.0);
    script.round(Timeout);
    script.table(&[Queue(0); 6]);
    let window = script.window();
    give(&mut script, |ack| Ack { newly_acked: 2, ..ack });
    close(script.window() - window, 0.1);
}

/// Conservative slow start leaves quarters, which whole arithmetic drops.
#[test]
fn whole_windows_are_whole_after_hystart() {
    let mut script = script("linux", &[("hystart", Value::Choice("rfc9406"))]);
    script.table(&[vec![Queue(0); 4], vec![Queue(20); 7]].concat());
    assert!(script.control.slow_start_threshold().is_finite());
    assert_eq!(script.window().fract(), 0.0);
}

#[test]
fn time_zero_is_no_special_time() {
    let mut script = after_loss("rfc", &[], 100.0);
    script.now = Time::ZERO;
    give(&mut script, |ack| ack);
    close(probe(&script, "k_s"), 4.217);
}

/// CUBIC of Linux with ticks of 10 ms in a stage that began with the last acknowledgement.
fn with_ticks() -> Script {
    let tick = [("tick", Value::Span(Span::from_millis(10)))];
    let mut script = Script::new(&params(&DESCRIPTOR, "linux", &tick));
    script.table(&[Queue(0); 6]);
    script.table(&[Loss(0)]);
    let window = script.window();
    script.control.on_ack(&ack(script.now, window, Span::ZERO));
    script
}

fn state(script: &Script) -> &super::Cubic {
    let AnyControl::Cubic(cubic) = &script.control else { panic!("another control") };
    cubic
}

/// `bictcp_acked`: in the first second of a stage no round-trip time counts.
#[test]
fn a_young_stage_takes_no_round_trip_times() {
    let mut script = with_ticks();
    for (millis, expected) in [(500, BASE_RTT), (600, Span::from_millis(20))] {
        script.now += Span::from_millis(millis);
        let short = ack(script.now, script.window(), Span::ZERO);
        script.control.on_ack(&Ack { rtt: Some(Span::from_millis(20)), ..short });
        assert_eq!(state(&script).least_rtt, expected, "{millis} ms later");
    }
}

/// `bictcp_K` is a whole number of 1024ths of a second.
#[test]
fn k_is_in_parts_of_a_second() {
    let script = with_ticks();
    let k = state(&script).epoch.as_ref().expect("a stage").k;
    assert!(k > 0.0 && (k * 1024.0).fract() == 0.0, "{k}");
}

/// `cubictcp_cwnd_event`: a pause is as long as the kernel's clock says.
#[test]
fn a_pause_is_counted_in_ticks() {
    let mut script = with_ticks();
    let began = |script: &Script| state(script).epoch.as_ref().expect("a stage").began;
    let before = began(&script);
    // From 9 ms into a tick to 1 ms into another: three seconds and a tick, though less has passed.
    let tick = Span::from_millis(10);
    let here = script.now.as_nanos() / tick.as_nanos() * tick.as_nanos();
    script.now = Time::from_nanos(here) + Span::from_millis(3021);
    script.start(Span::from_millis(3012), Unused::Keep);
    assert_eq!(began(&script).since(before), Span::from_millis(3020));
}
