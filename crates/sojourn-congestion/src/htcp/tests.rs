//! H-TCP against its formulas and Linux.

use super::DESCRIPTOR;
use crate::script::{BASE_RTT, Script, ack, in_fractions, params};
use crate::{Ack, Control, Repair, Signal, laws};
use sojourn_core::registry::Value;
use sojourn_core::{Span, Time};

fn script(changes: &[(&str, Value)]) -> Script {
    Script::new(&in_fractions(&DESCRIPTOR, "linux", changes))
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "found {found}, expected {expected}");
}

fn alpha_beta(script: &Script) -> (f64, f64) {
    let mut found = [f64::NAN; 2];
    let mut place = 0;
    script.control.probe(&mut |_, value| {
        found[place] = value;
        place += 1;
    });
    (found[0], found[1])
}

/// One acknowledged segment after a queueing delay, `after` the last one.
fn acked(script: &mut Script, after: Span, queue: Span) {
    script.now += after;
    let window = script.window();
    script.control.on_ack(&ack(script.now, window, queue));
}

/// In congestion avoidance with a window of 100 segments, on a path of `rtt`; the first segment was sent at time zero.
fn quiet_on(rtt: Span, changes: &[(&str, Value)]) -> Script {
    let mut script = script(changes);
    script.begin(100.0);
    script.control.set_window(100.0, 50.0);
    script.now += rtt;
    let first = ack(script.now, 100.0, Span::ZERO);
    script.control.on_ack(&Ack { rtt: Some(rtt), sent: Time::ZERO, window_limited: false, ..first });
    script
}

fn quiet(changes: &[(&str, Value)]) -> Script {
    quiet_on(BASE_RTT, changes)
}

const UNSCALED: (&str, Value) = ("rtt_scaling", Value::Boolean(false));
const UNWATCHED: (&str, Value) = ("bandwidth_switch", Value::Boolean(false));

/// 1 + 10 D + (D/2)^2 for D seconds beyond the first: 1 at 1 s, 11.25 at 2 s, 22 at 3 s, 106.25... at 11 s.
#[test]
fn growth_follows_the_time_since_the_last_loss() {
    for (seconds, factor) in [(0.5, 1.0), (1.0, 1.0), (1.5, 6.0625), (2.0, 11.25), (3.0, 22.0), (11.0, 126.0)] {
        let mut script = quiet(&[UNSCALED]);
        acked(&mut script, Span::from_secs_f64(seconds) - BASE_RTT, Span::ZERO);
        close(alpha_beta(&script).0, factor);
        close(script.window(), 100.0 + factor / 100.0);
    }
}

/// The factor is divided by 100 ms over the RTT within 1/2 and 10, and at least 1: with 50 ms by 2, with 400 ms by 1/2.
#[test]
fn growth_is_reckoned_for_an_rtt_of_100_ms() {
    for (rtt_ms, expected) in [(5, 2.2), (50, 11.0), (100, 22.0), (200, 44.0), (400, 44.0), (1, 2.2)] {
        let rtt = Span::from_millis(rtt_ms);
        let mut script = quiet_on(rtt, &[]);
        script.now += Span::from_secs(3) - rtt;
        let ack = ack(script.now, 100.0, Span::ZERO);
        script.control.on_ack(&Ack { rtt: Some(rtt), ..ack });
        close(alpha_beta(&script).0, expected);
    }
    let mut early = quiet(&[]);
    acked(&mut early, BASE_RTT, Span::ZERO);
    close(alpha_beta(&early).0, 1.0);
}

/// The first loss leaves half; later ones the least RTT over the largest, here 50 over 60 and 70 ms.
#[test]
fn a_loss_leaves_what_empties_the_queue() {
    let mut script = quiet(&[UNWATCHED]);
    for queue in [0, 10, 20] {
        acked(&mut script, BASE_RTT, Span::from_millis(queue));
    }
    script.congestion(Signal::Loss);
    close(alpha_beta(&script).1, 0.5);
    // The largest RTT fades: 50 + 0.95 * 20 ms.
    script.congestion(Signal::Loss);
    close(alpha_beta(&script).1, 50.0 / 69.0);
    let window = script.window();
    script.congestion(Signal::Loss);
    close(script.window(), window * 50.0 / (50.0 + 0.95 * 0.95 * 20.0));
    // With a larger beta the window grows more slowly, by as much as it falls less.
    close(alpha_beta(&script).0, 2.0 * (1.0 - 50.0 / 68.05));
}

/// beta lies between 1/2 and 0.8, and follows RTTs above 10 ms only.
#[test]
fn beta_has_bounds() {
    for (queues, beta) in [(&[0, 2][..], 0.8), (&[0, 20, 40, 60, 80, 100][..], 0.5)] {
        let mut script = quiet(&[UNWATCHED]);
        queues.iter().for_each(|&queue| acked(&mut script, BASE_RTT, Span::from_millis(queue)));
        script.congestion(Signal::Loss);
        script.congestion(Signal::Loss);
        close(alpha_beta(&script).1, beta);
    }
    for (rtt_ms, beta) in [(10, 0.5), (11, 0.8)] {
        let mut short = quiet_on(Span::from_millis(rtt_ms), &[UNWATCHED]);
        short.congestion(Signal::Loss);
        short.congestion(Signal::Loss);
        close(alpha_beta(&short).1, beta);
    }
}

/// A round-trip time that is 20 ms longer than all before is taken for chance.
#[test]
fn a_single_long_rtt_does_not_count() {
    for (queue, beta) in [(20, 50.0 / 69.0), (21, 0.8)] {
        let mut script = quiet(&[UNWATCHED]);
        acked(&mut script, BASE_RTT, Span::ZERO);
        acked(&mut script, BASE_RTT, Span::from_millis(queue));
        script.congestion(Signal::Loss);
        script.congestion(Signal::Loss);
        close(alpha_beta(&script).1, beta);
    }
}

/// Leads a flow through `rounds` round trips of a whole window each.
fn rounds(script: &mut Script, rounds: u32, segments: u32) {
    (0..rounds).for_each(|_| script.whole_window(segments, Span::ZERO));
}

/// The throughput must be within a fifth of that before the last loss for beta to be anything but 1/2.
#[test]
fn a_change_of_throughput_resets_beta() {
    for (later, beta) in [(100, 0.8), (119, 0.8), (130, 0.5), (70, 0.5)] {
        let mut script = quiet(&[]);
        // Two losses: the first finds another throughput than none, the second the same.
        for _ in 0..2 {
            rounds(&mut script, 10, 100);
            script.congestion(Signal::Loss);
            script.control.set_window(100.0, 50.0);
            close(alpha_beta(&script).1, 0.5);
        }
        script.control.set_window(f64::from(later), 50.0);
        rounds(&mut script, 2, later);
        script.congestion(Signal::Loss);
        close(alpha_beta(&script).1, beta);
    }
}

/// Time counts from the end of a repair, and what turns out to be no loss does not count.
#[test]
fn the_clock_starts_with_the_end_of_a_repair() {
    let mut script = quiet(&[UNSCALED]);
    script.now += Span::from_secs(5);
    script.congestion(Signal::Loss);
    script.now += Span::from_secs(3);
    script.recovered(Repair::Selective, 50.0);
    script.control.set_window(100.0, 50.0);
    acked(&mut script, Span::from_secs(2), Span::ZERO);
    close(alpha_beta(&script).0, 11.25);

    let mut undone = quiet(&[UNSCALED]);
    undone.now += Span::from_secs(2) - BASE_RTT;
    undone.congestion(Signal::Loss);
    undone.undo(100.0, 50.0);
    acked(&mut undone, Span::from_secs(1), Span::ZERO);
    close(alpha_beta(&undone).0, 22.0);
}

/// In whole segments a step takes what is worth a window, and the acknowledgement that completes it is not counted.
#[test]
fn whole_segments_as_in_linux() {
    let mut script = Script::new(&params(&DESCRIPTOR, "linux", &[]));
    script.begin(4.0);
    script.control.set_window(4.0, 2.0);
    let windows: Vec<f64> = (0..10)
        .map(|_| {
            acked(&mut script, Span::from_millis(1), Span::ZERO);
            script.window()
        })
        .collect();
    assert_eq!(windows, [4.0, 4.0, 4.0, 4.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0]);
    // 128ths: 50 over 69 ms is 92 of them.
    let mut script = Script::new(&params(&DESCRIPTOR, "linux", &[UNWATCHED]));
    script.begin(100.0);
    script.control.set_window(100.0, 50.0);
    for queue in [0, 20] {
        acked(&mut script, BASE_RTT, Span::from_millis(queue));
    }
    script.congestion(Signal::Loss);
    script.congestion(Signal::Loss);
    assert_eq!(alpha_beta(&script).1, 92.0 / 128.0);
    assert_eq!(script.window(), 35.0);
    // 1.5 s beyond the first: 1 + 15 + 0.5625 is 16; 50 ms scale it by 2.
    script.recovered(Repair::Selective, 35.0);
    script.control.set_window(35.0, 35.0);
    let alphas = |script: &mut Script| {
        (0..70).for_each(|_| acked(script, Span::ZERO, Span::ZERO));
        alpha_beta(script).0
    };
    assert_eq!(alphas(&mut script), 2.0 * 36.0 / 128.0);
    script.now += Span::from_millis(2_500);
    assert_eq!(alphas(&mut script), 2.0 * 8.0 * 36.0 / 128.0);
}

/// FreeBSD's, unless told otherwise: half at each loss, and growth by the time alone.
#[test]
fn freebsd_has_the_growth_only() {
    let mut script = Script::new(&params(&DESCRIPTOR, "freebsd", &[]));
    script.begin(100.0);
    script.control.set_window(100.0, 50.0);
    for _ in 0..3 {
        acked(&mut script, BASE_RTT, Span::ZERO);
        script.congestion(Signal::Loss);
        close(alpha_beta(&script).1, 0.5);
    }
    script.recovered(Repair::Selective, 12.0);
    script.control.set_window(12.0, 12.0);
    acked(&mut script, Span::from_secs(2), Span::ZERO);
    close(alpha_beta(&script).0, 11.25);
}

#[test]
fn nothing_is_known_before_the_first_sample() {
    let mut script = script(&[]);
    script.congestion(Signal::Loss);
    assert_eq!(alpha_beta(&script), (1.0, 0.5));
    assert_eq!(script.now, Time::ZERO);
}

/// A factor of 1 + 10 D + (D/2)^2 with the longest time of the laws, scaled by 2 at most, or slow start.
#[test]
fn the_laws_hold() {
    laws::hold(&DESCRIPTOR, |ack, window| {
        let seconds = ack.now.as_nanos() as f64 / 1e9;
        let most = 2.0 * (1.0 + 10.0 * seconds + seconds * seconds / 4.0);
        let acked = f64::from(ack.newly_acked);
        laws::only_when_used(ack, acked.max(most * acked / window).max(1.0))
    });
}
