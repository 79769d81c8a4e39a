//! CDG against the formulas of its sources, and against its own laws.

use super::DESCRIPTOR;
use crate::script::{BASE_RTT, Round, Script, ack, in_fractions, params};
use crate::{Ack, AnyControl, Congestion, Control, Path, Signal, Stage, Unused};
use Round::{Idle, Loss, Mark, Queue, Timeout};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Span, Stream, Time};

/// Backs off for certain where a gradient is positive.
const CERTAIN: (&str, Value) = ("scale", Value::Span(Span::from_nanos(1)));
/// Never backs off.
const NEVER: (&str, Value) = ("scale", Value::Span(Span::from_secs(10)));

fn script(preset: &str, changes: &[(&str, Value)]) -> Script {
    let mut script = Script::new(&in_fractions(&DESCRIPTOR, preset, changes));
    // Segments that are acknowledged at first were sent after the run began.
    script.now += Span::from_secs(1);
    script
}

fn millis(millis: u64) -> Span {
    Span::from_millis(millis)
}

/// Compares tables.
#[track_caller]
fn same(found: &str, expected: &str) {
    assert_eq!(found, expected, "\nfound:\n{found}\nexpected:\n{expected}");
}

/// An acknowledgement of `acked` segments, now, the newest of which took `rtt`.
fn sample(script: &mut Script, acked: u32, rtt: Span) {
    let sent = Time::from_nanos(script.now.as_nanos() - rtt.as_nanos());
    let plain = ack(script.now, script.window(), Span::ZERO);
    script.control.on_ack(&Ack { newly_acked: acked, advanced: acked, rtt: Some(rtt), sent, marked: true, ..plain });
}

/// A round of the given round-trip times in microseconds, in which marks keep the window from growing.
fn round(script: &mut Script, rtts: &[u64]) -> f64 {
    for (number, &rtt) in rtts.iter().enumerate() {
        let rtt = Span::from_micros(rtt);
        script.now += if number + 1 == rtts.len() { rtt } else { millis(1) };
        sample(script, 1, rtt);
    }
    script.window()
}

/// The first round begins: an acknowledgement without a sample.
fn begin(script: &mut Script) {
    script.now += millis(1);
    let plain = ack(script.now, script.window(), Span::ZERO);
    script.control.on_ack(&Ack { rtt: None, sent: script.now, window_limited: false, ..plain });
}

/// A flow past slow start with a window of 20, whose last round had 50 to 60 ms.
fn twenty(preset: &str, changes: &[(&str, Value)]) -> Script {
    let mut script = script(preset, changes);
    script.begin(40.0);
    script.congestion(Signal::Ecn);
    begin(&mut script);
    round(&mut script, &[50_000, 60_000]);
    assert_eq!(script.window(), 20.0);
    script
}

fn shown(script: &Script, wanted: &str) -> f64 {
    let mut found = f64::NAN;
    script.control.probe(&mut |name, value| {
        if name == wanted {
            found = value;
        }
    });
    found
}

/// The receiver's timer is no queue: after acknowledgements of several segments, one of a single segment may lower the
/// least round-trip time and no more, as often as there were others, up to five times.
#[test]
fn delayed_acknowledgements_are_filtered() {
    let gradients = |several: u64, single: u64, last: u64| {
        let mut script = twenty("freebsd", &[]);
        for (acked, count, rtt) in [(2, several, 55), (1, single, 150)] {
            for _ in 0..count {
                script.now += millis(1);
                sample(&mut script, acked, millis(rtt));
            }
        }
        script.now += millis(last);
        sample(&mut script, 1, millis(last));
        (8.0 * shown(&script, "gradient_least_ms"), 8.0 * shown(&script, "gradient_greatest_ms"))
    };
    // The round before had 50 to 60 ms.
    assert_eq!(gradients(0, 0, 150), (100.0, 90.0));
    assert_eq!(gradients(1, 0, 150), (5.0, -5.0));
    assert_eq!(gradients(1, 0, 45), (-5.0, -5.0));
    assert_eq!(gradients(1, 1, 150), (5.0, 90.0));
    assert_eq!(gradients(2, 1, 150), (5.0, -5.0));
    assert_eq!(gradients(9, 4, 150), (5.0, -5.0));
    assert_eq!(gradients(9, 5, 150), (5.0, 90.0));
}

/// Linux (`tcp_cdg_acked`): what is reported behind a hole was not delayed, and counts for nothing of this.
#[test]
fn what_is_reported_behind_a_hole_was_not_delayed() {
    for (selective, greatest) in [(false, -5.0), (true, 90.0)] {
        let mut script = twenty("freebsd", &[]);
        for (acked, rtt) in [(2, 55), (1, 150)] {
            script.now += millis(1);
            let sent = Time::from_nanos(script.now.as_nanos() - millis(rtt).as_nanos());
            let plain = Ack { rtt: Some(millis(rtt)), sent, marked: true, ..ack(script.now, 20.0, Span::ZERO) };
            script.control.on_ack(&Ack {
                newly_acked: acked,
                advanced: acked,
                selective: selective && acked == 1,
                ..plain
            });
        }
        script.now += millis(55);
        sample(&mut script, 2, millis(55));
        assert_eq!(8.0 * shown(&script, "gradient_greatest_ms"), greatest);
    }
}

/// Linux (`tcp_cdg_init` leaves what `tcp_cdg_acked` has entered before): the handshake took 40 ms, the first data 50 ms, the
/// next 52 ms.
#[test]
fn linux_counts_the_handshake_to_the_first_round() {
    for (first, gradient) in [("data", 2.0), ("handshake", 12.0)] {
        let mut script = script("linux", &[NEVER, ("first_round", Value::Choice(first))]);
        script.control.on_connected(script.now, millis(40));
        for rtt in [50, 52] {
            script.now += millis(rtt);
            sample(&mut script, 2, millis(rtt));
        }
        assert_eq!(shown(&script, "gradient_least_ms"), gradient, "{first}");
    }
}

/// Linux (`tcp_init_cwnd_reduction`): segments that were acknowledged before a back-off from 20 to 14 do not open the window
/// after it.
#[test]
fn a_back_off_counts_anew() {
    let mut script = Script::new(&params(&DESCRIPTOR, "linux", &[CERTAIN]));
    script.now += Span::from_secs(1);
    script.begin(40.0);
    script.congestion(Signal::Ecn);
    begin(&mut script);
    round(&mut script, &[50_000, 60_000]);
    let opening = |script: &Script| Ack { rtt: None, sent: Time::ZERO, ..ack(script.now, script.window(), Span::ZERO) };
    script.control.on_ack(&Ack { newly_acked: 19, ..opening(&script) });
    assert_eq!(round(&mut script, &[51_000, 60_000]), 14.0);
    round(&mut script, &[51_000, 60_000]);
    script.control.on_ack(&opening(&script));
    assert_eq!(script.window(), 14.0);
}

/// Linux (`tcp_cwnd_restart`): the event comes also where the window is no larger than what a restart leaves.
#[test]
fn a_restart_forgets_also_at_a_small_window() {
    for (unused, sum) in [(Unused::Keep, 2.0), (Unused::Halve { window: 30.0, times: 1 }, 0.0)] {
        let mut script = twenty("linux", &[NEVER]);
        round(&mut script, &[52_000, 60_000]);
        script.start(Span::from_secs(1), unused);
        assert_eq!(script.window(), 20.0);
        assert_eq!(shown(&script, "gradient_least_ms"), sum, "{unused:?}");
    }
}

/// Linux (`tcp_process_tlp_ack`): a loss that a probe has repaired begins and ends a reduction at once, and what was measured
/// until then is only what the next round is compared with: 60 ms with 54 ms, and not the least of both with 50 ms.
#[test]
fn linux_leaves_a_round_out_when_a_probe_has_repaired() {
    for (stage, gradient) in [(Stage::New, 4.0), (Stage::Repaired, 6.0)] {
        let mut script = twenty("linux", &[NEVER]);
        let now = script.now;
        let (signal, smoothed_rtt) = (Signal::Loss, BASE_RTT);
        script.control.on_congestion(&Congestion { now, signal, flight: 1.0, pipe: 1.0, smoothed_rtt, stage });
        round(&mut script, &[54_000, 60_000]);
        assert_eq!(shown(&script, "gradient_least_ms"), gradient, "{stage:?}");
    }
}

/// While a loss is under repair round-trip times are measured, but no round ends; an acknowledgement without one ends a
/// round as any other.
#[test]
fn repairs_measure_but_end_no_round() {
    let repair = |repair: bool| {
        let mut script = twenty("paper", &[]);
        script.now += millis(58);
        let sent = Time::from_nanos(script.now.as_nanos() - 58_000_000);
        let plain = ack(script.now, script.window(), Span::ZERO);
        let last = Ack { newly_acked: 2, rtt: Some(millis(58)), sent, marked: true, ..plain };
        if repair {
            script.control.on_ack(&Ack { in_recovery: true, rtt: Some(millis(54)), sent: script.now, ..last });
        }
        script.control.on_ack(&last);
        script.control.on_ack(&Ack { rtt: None, sent: script.now, ..last });
        8.0 * shown(&script, "gradient_least_ms")
    };
    assert_eq!((repair(false), repair(true)), (8.0, 4.0));
}

/// Linux (`CA_EVENT_COMPLETE_CWR`): what was measured until a repair ends is only what the next round is compared with.
#[test]
fn linux_leaves_repairs_out_of_the_gradients() {
    for (repairs, gradients) in [("count", [4.0, 4.0]), ("left-out", [0.0, 4.0])] {
        let mut script = twenty("linux", &[NEVER, ("repairs", Value::Choice(repairs))]);
        script.now += millis(58);
        let sent = Time::from_nanos(script.now.as_nanos() - 58_000_000);
        let plain = ack(script.now, script.window(), Span::ZERO);
        let last = Ack { newly_acked: 2, rtt: Some(millis(58)), sent, marked: true, ..plain };
        script.control.on_ack(&Ack { in_recovery: true, rtt: Some(millis(54)), sent: script.now, ..last });
        script.control.on_ack(&last);
        let first = shown(&script, "gradient_least_ms");
        script.control.on_ack(&Ack { sent: script.now, ..last });
        script.now += millis(62);
        script.control.on_ack(&Ack { rtt: Some(millis(62)), sent: script.now, ..last });
        assert_eq!([first, shown(&script, "gradient_least_ms")], gradients, "{repairs}");
    }
}

/// The queue is not full while delays fall, and a loss is tolerated; what was known of it ends with the repair.
#[test]
fn linux_forgets_the_queue_when_a_repair_ends() {
    for (repairs, tolerated) in [("count", true), ("left-out", false)] {
        let tolerance = ("tolerance", Value::Boolean(true));
        let mut script = twenty("linux", &[NEVER, tolerance, ("repairs", Value::Choice(repairs))]);
        for least in [49_000, 48_000, 47_000] {
            round(&mut script, &[least + 9_000, least]);
        }
        let before = script.window();
        script.congestion(Signal::Loss);
        assert_eq!(script.window(), before, "{repairs}: tolerated");
        let plain = ack(script.now, before, Span::ZERO);
        for in_recovery in [true, false] {
            script.control.on_ack(&Ack { rtt: None, in_recovery, marked: true, ..plain });
        }
        script.congestion(Signal::Loss);
        assert_eq!(script.window() == before, tolerated, "{repairs}");
    }
}

/// Least RTTs of 50, 58, 62 ms: gradients of 8 and 4 ms over 8 rounds, or over the two that are there.
#[test]
fn gradients_are_averaged_over_eight_rounds() {
    for (preset, averages) in [("paper", [1.0, 1.5]), ("linux", [8.0, 6.0])] {
        let mut script = twenty(preset, &[NEVER]);
        for (rtt, average) in [58_000, 62_000].iter().zip(averages) {
            round(&mut script, &[70_000, *rtt]);
            assert_eq!(shown(&script, "gradient_least_ms"), average, "{preset}");
        }
        // Nine rounds later only differences of zero are remembered; of the greatest as well.
        for _ in 0..6 {
            round(&mut script, &[62_000, 70_000]);
            assert!(shown(&script, "gradient_greatest_ms") > 0.0);
        }
        round(&mut script, &[62_000, 70_000]);
        assert_eq!(shown(&script, "gradient_least_ms"), 0.5);
        assert_eq!(shown(&script, "gradient_greatest_ms"), 0.0);
    }
}

/// 1 - exp(-g/G): over many flows with a gradient of 3 ms and G = 3 ms it is 63 %, of 1 ms 28 %.
#[test]
fn the_probability_is_exponential() {
    for (gradient, expected) in [(3_000, 0.632), (1_000, 0.283), (0, 0.0)] {
        let mut backed_off = 0;
        for seed in 0..2000 {
            let changes = [("first_samples", Value::Choice("extrapolate"))];
            let mut script = Script::seeded(&params(&DESCRIPTOR, "paper", &changes), 20.0, seed);
            script.now += Span::from_secs(1);
            begin(&mut script);
            round(&mut script, &[50_000, 60_000]);
            backed_off += u32::from(round(&mut script, &[50_000 + gradient, 60_000]) < 20.0);
        }
        let share = f64::from(backed_off) / 2000.0;
        assert!((share - expected).abs() < 0.035, "{gradient} us: {share}");
    }
}

/// Why the probability is exponential: whether a flow has backed off by the end of a rise depends on how much the delay
/// rose, not on how many round trips it took. Over 3 ms a flow with G = 3 ms holds out with probability 1/e.
#[test]
fn the_probability_over_a_rise_does_not_depend_on_the_round_trip_time() {
    const FLOWS: u64 = 1000;
    const RISE_US: u64 = 3_000;
    let parameters = params(&DESCRIPTOR, "paper", &[]);
    for (base_us, rounds) in [(5_000, 30), (50_000, 3), (150_000, 1)] {
        let mut held_out = 0;
        for seed in 0..FLOWS {
            let mut script = Script::seeded(&parameters, 20.0, seed);
            script.now += Span::from_secs(1);
            script.congestion(Signal::Ecn);
            begin(&mut script);
            // The average of eight gradients knows of the rise until eight rounds later.
            for number in 0..=rounds + 8 {
                round(&mut script, &[base_us + RISE_US * number.min(rounds) / rounds]);
            }
            held_out += u64::from(shown(&script, "backoffs") == 0.0);
        }
        let share = held_out as f64 / FLOWS as f64;
        assert!((share - (-1.0f64).exp()).abs() < 0.05, "{rounds} round trips of {base_us} us: {share}");
    }
}

/// After a back-off the next round is not compared; the one after it is, with that round.
#[test]
fn a_back_off_leaves_a_round_out() {
    for (preset, kept) in [("paper", 14.0), ("linux", 14.140_625)] {
        let mut script = twenty(preset, &[CERTAIN]);
        assert!((round(&mut script, &[51_000, 60_000]) - kept).abs() < 1e-9, "{preset}");
        assert_eq!(script.window(), script.control.slow_start_threshold());
        let after = script.window();
        assert_eq!(round(&mut script, &[70_000, 80_000]), after, "the round that sees the back-off");
        assert!(shown(&script, "gradient_least_ms") < 2.0);
        assert!(round(&mut script, &[71_000, 80_000]) < after);
        // Gradients of 1 ms and 1 ms; the 19 ms between are left out.
        let count = if preset == "linux" { 2.0 } else { 8.0 };
        assert_eq!(shown(&script, "gradient_least_ms"), 2.0 / count, "{preset}");
    }
}

/// The greatest counts where the least does not rise. In slow start the latest gradient comes first.
#[test]
fn which_gradient_counts() {
    let mut script = twenty("paper", &[CERTAIN]);
    assert_eq!(round(&mut script, &[50_000, 61_000]), 14.0);
    let mut script = twenty("paper", &[CERTAIN]);
    assert_eq!(round(&mut script, &[50_000, 60_000]), 20.0);
    assert_eq!(round(&mut script, &[49_000, 59_000]), 20.0);
    for (preset, backs_off) in [("paper", true), ("linux", false)] {
        for rtts in [[50_001, 62_000], [50_000, 60_001]] {
            let mut script = script_in_slow_start(preset);
            round(&mut script, &[50_000, 60_000]);
            assert_eq!(round(&mut script, &[40_000, 50_000]), 20.0);
            // The average falls, the latest rises a little.
            round(&mut script, &[40_000, 50_000]);
            let window = round(&mut script, &rtts.map(|rtt| rtt - 10_000));
            assert_eq!(window < 20.0, backs_off, "{preset} {rtts:?}");
        }
    }
}

fn script_in_slow_start(preset: &str) -> Script {
    let mut script = script(preset, &[CERTAIN, ("hystart", Value::Choice("off"))]);
    script.begin(20.0);
    begin(&mut script);
    script
}

/// A round in which the queue rises, and the one that is left out after a back-off.
fn rise(script: &mut Script, level: &mut u64) -> f64 {
    *level += 1_000;
    let before = script.window();
    let window = round(script, &[*level, *level + 10_000]);
    if window < before {
        round(script, &[*level, *level + 10_000]);
    }
    window
}

/// Five back-offs, then five that are ignored (FreeBSD), or all until the queue falls (Linux).
#[test]
fn ineffective_back_offs_stop() {
    for (preset, left, backoffs) in [
        ("paper", 0.7, [1, 2, 3, 4, 5, 5, 5, 5, 5, 5, 6]),
        ("linux", 724.0 / 1024.0, [1, 2, 3, 4, 5, 5, 5, 5, 5, 5, 5]),
        ("scavenger", 724.0 / 1024.0, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
    ] {
        let mut script = twenty(preset, &[CERTAIN]);
        let mut level = 50_000;
        for count in backoffs {
            let expected = (20.0 * libm::pow(left, f64::from(count))).max(2.0);
            let found = rise(&mut script, &mut level);
            assert!((found - expected).abs() < 1e-9, "{preset}: {found} after {count}, not {expected}");
            if found > 2.0 {
                assert_eq!(shown(&script, "backoffs"), f64::from(count), "{preset}: only what is answered counts");
            }
        }
        let last = script.window();
        if preset == "linux" {
            assert_eq!(rise(&mut script, &mut level), last);
            for _ in 0..9 {
                level -= 3_000;
                round(&mut script, &[level, level + 10_000]);
            }
            for _ in 0..9 {
                round(&mut script, &[level, level + 10_000]);
            }
            assert!(rise(&mut script, &mut level) < last, "the queue fell: back-offs count again");
        }
    }
}

/// Least rising and greatest not: full. Both rising, or the greatest falling: not full.
#[test]
fn a_loss_where_the_queue_is_not_full_leaves_the_window() {
    for (rtts, full) in
        [([51_000, 60_000], true), ([51_000, 61_000], false), ([50_000, 59_000], false), ([49_000, 59_000], false)]
    {
        for (preset, tolerant) in [("paper", true), ("linux", false)] {
            let mut script = twenty(preset, &[NEVER, ("shadow", Value::Choice("off"))]);
            round(&mut script, &rtts);
            script.congestion(Signal::Loss);
            let expected = if full || !tolerant { 10.0 } else { 20.0 };
            assert_eq!(script.window(), expected, "{preset} {rtts:?}");
        }
    }
    let mut script = twenty("paper", &[NEVER, ("shadow", Value::Choice("off"))]);
    script.congestion(Signal::Loss);
    assert_eq!(script.window(), 10.0, "an unknown queue");
    let mut script = twenty("paper", &[NEVER, ("shadow", Value::Choice("off"))]);
    round(&mut script, &[49_000, 59_000]);
    script.congestion(Signal::Ecn);
    assert_eq!(script.window(), 10.0, "a mark is no random loss");
}

/// 32 us are noise to Linux.
#[test]
fn noise_is_no_change_of_the_queue() {
    for (noise, full) in [(1, true), (2_000, false)] {
        let changes = [NEVER, ("shadow", Value::Choice("off")), ("noise", Value::Span(Span::from_micros(noise)))];
        let mut script = twenty("paper", &changes);
        round(&mut script, &[50_000, 56_000]);
        round(&mut script, &[51_000, 60_000]);
        script.congestion(Signal::Loss);
        assert_eq!(script.window() < 20.0, full, "{noise}");
    }
}

/// A back-off from 20 to 14 with a shadow of 20: a loss leaves half of 20 and not of 14.
#[test]
fn a_loss_restores_the_shadow() {
    for (shadow, kept) in [("off", 7.0), ("keep", 10.0), ("until-empty", 10.0)] {
        let mut script =
            twenty("paper", &[CERTAIN, ("shadow", Value::Choice(shadow)), ("tolerance", Value::Boolean(false))]);
        assert_eq!(round(&mut script, &[51_000, 60_000]), 14.0);
        script.congestion(Signal::Loss);
        assert_eq!(script.window(), 14.0, "a loss in the round of a back-off");
        round(&mut script, &[51_000, 60_000]);
        script.congestion(Signal::Loss);
        assert_eq!(script.window(), kept, "{shadow}");
    }
}

#[test]
fn an_empty_queue_forgets_the_shadow() {
    for (shadow, left) in [("until-empty", 0.0), ("keep", 20.0)] {
        let mut script = twenty("paper", &[NEVER, ("shadow", Value::Choice(shadow))]);
        assert_eq!(shown(&script, "shadow_window"), 20.0);
        round(&mut script, &[50_000, 59_000]);
        assert_eq!(shown(&script, "shadow_window"), left);
    }
}

#[test]
fn a_back_off_finds_the_shadow_again() {
    let mut script = twenty("paper", &[CERTAIN]);
    round(&mut script, &[50_000, 59_000]);
    assert_eq!(shown(&script, "shadow_window"), 0.0);
    assert_eq!(round(&mut script, &[58_000, 70_000]), 14.0);
    assert_eq!(shown(&script, "shadow_window"), 20.0);
}

#[test]
fn ticks_hide_small_gradients() {
    for (preset, window) in [("paper", 14.0), ("freebsd", 20.0)] {
        let mut script = twenty(preset, &[CERTAIN]);
        assert_eq!(round(&mut script, &[50_900, 60_900]), window, "{preset}");
    }
}

/// Acknowledgements 2 ms apart for 25 ms, half of the path's round trip, or a round 1/8 above the path's.
#[test]
fn hybrid_slow_start_ends_with_a_train_or_a_delay() {
    for (hystart, gap, queue, ends) in [
        ("off", 2, 0, None),
        ("train", 2, 0, Some(14)),
        ("train", 3, 0, None),
        ("delay", 2, 0, None),
        ("delay", 3, 7, Some(9)),
        ("delay", 3, 6, None),
        ("both", 3, 7, Some(9)),
    ] {
        let mut script = script("linux", &[NEVER, ("hystart", Value::Choice(hystart))]);
        let give = |script: &mut Script, first: bool, queue: u64| {
            script.now += if first { BASE_RTT + millis(queue) } else { millis(gap) };
            let plain = ack(script.now, script.window(), millis(queue));
            script.control.on_ack(&plain);
        };
        give(&mut script, true, 0);
        give(&mut script, true, queue);
        let mut ended = None;
        for number in 1..=20 {
            give(&mut script, false, queue);
            if script.control.slow_start_threshold().is_finite() {
                ended = ended.or(Some(number));
            }
        }
        assert_eq!(ended, ends, "{hystart} {gap} {queue}");
    }
}

#[test]
fn only_ineffective_back_offs_are_held() {
    let path = Path { mss_bytes: 1460, header_bytes: 52, smallest_packet_bytes: 52, initial_window: 2.0, sack: true };
    let changes = [("ineffective", Value::Auto)];
    let built = AnyControl::build(&params(&DESCRIPTOR, "paper", &changes), &path, Stream::new(1, "control"));
    assert_eq!(built.unwrap_err().parameter, "hold");
}

const STORY: &[&[Round]] = &[
    &[Queue(0); 4],
    &[Loss(0)],
    &[Queue(0); 4],
    &[Queue(2), Queue(4), Queue(6), Queue(8), Queue(10), Queue(12)],
    &[Queue(12); 6],
    &[Mark(0), Timeout],
    &[Queue(0); 4],
    &[Idle(3)],
    &[Queue(0); 3],
];

#[test]
fn the_paper_over_round_trips() {
    same(
        &script("paper", &[]).table(&STORY.concat()),
        "queue 0 ms: 4 8 16 32\n\
         loss at 0 ms: 32\n\
         queue 0 ms: 32 33 34 35\n\
         queue 2 ms: 36\n\
         queue 4 ms: 37\n\
         queue 6 ms: 38\n\
         queue 8 ms: 27\n\
         queue 10 ms: 27\n\
         queue 12 ms: 28 29 21 21 22 23 24\n\
         mark at 0 ms: 23\n\
         timeout: 1\n\
         queue 0 ms: 2 4 8 12\n\
         idle 3 s: 2\n\
         queue 0 ms: 4 8 12",
    );
}

#[test]
fn linux_over_round_trips() {
    same(
        &script("linux", &[]).table(&STORY.concat()),
        "queue 0 ms: 4 8 16 32\n\
         loss at 0 ms: 32\n\
         queue 0 ms: 32 33 34 35\n\
         queue 2 ms: 36\n\
         queue 4 ms: 37\n\
         queue 6 ms: 38\n\
         queue 8 ms: 27\n\
         queue 10 ms: 28\n\
         queue 12 ms: 29 30 21 22 23 24 25\n\
         mark at 0 ms: 23\n\
         timeout: 1\n\
         queue 0 ms: 2 4 8 12\n\
         idle 3 s: 2\n\
         queue 0 ms: 4 8 12",
    );
}

proptest! {
    #[test]
    fn the_window_obeys_its_bounds(
        preset in prop::sample::select(vec!["paper", "freebsd", "linux", "scavenger"]),
        events in prop::collection::vec((0u64..60, 0u64..300, 0u8..60), 1..400),
    ) {
        let run = || {
            let mut script = script(preset, &[]);
            let mut windows = Vec::new();
            for &(pause, queue, kind) in &events {
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
                    let event = Congestion { now: script.now, signal, flight, pipe: flight, smoothed_rtt: BASE_RTT, stage: crate::Stage::New };
                    script.control.on_congestion(&event);
                    prop_assert!(script.window() <= before.max(2.0));
                } else {
                    let ack = ack(script.now, before, millis(queue));
                    script.control.on_ack(&ack);
                    let most = if before < threshold { 1.0 } else { 1.0 / before };
                    prop_assert!(script.window() <= before + most + 1e-9);
                    prop_assert!(script.window() >= 0.7 * before - 1e-9);
                }
                prop_assert!(script.window() >= 1.0 && script.window().is_finite());
                windows.push(script.window().to_bits());
            }
            Ok(windows)
        };
        prop_assert_eq!(run()?, run()?, "the same stream, the same window");
    }
}
