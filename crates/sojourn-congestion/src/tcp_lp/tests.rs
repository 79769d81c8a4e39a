//! TCP-LP against the paper's rules, against Linux's integers, and against its own laws.

use super::DESCRIPTOR;
use super::delay::{Arithmetic, Delays, Level};
use crate::script::{BASE_RTT, Round, Script, ack, in_fractions, params};
use crate::{Ack, AnyControl, Congestion, Control, Path, Repair, Signal};
use Round::{Idle, Loss, Mark, Queue, Timeout};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Span, Stream, Time};

/// The clocks of the script differ by 3 s; this puts them together.
const SAME_CLOCK: (&str, Value) = ("clock_offset", Value::Span(Span::from_secs(3)));

/// Indications count from the start.
const AT_ONCE: (&str, Value) = ("indicates_from", Value::Choice("start"));

fn script(preset: &str, changes: &[(&str, Value)]) -> Script {
    Script::new(&in_fractions(&DESCRIPTOR, preset, changes))
}

/// An acknowledgement `pause` later with `queue` of delay; the window afterwards.
fn give(script: &mut Script, pause: Span, queue: Span) -> f64 {
    script.now += pause;
    let ack = ack(script.now, script.window(), queue);
    script.control.on_ack(&ack);
    script.window()
}

fn millis(millis: u64) -> Span {
    Span::from_millis(millis)
}

/// Compares tables.
#[track_caller]
fn same(found: &str, expected: &str) {
    assert_eq!(found, expected, "\nfound:\n{found}\nexpected:\n{expected}");
}

// Worked numbers.

const PAPER: Arithmetic =
    Arithmetic { tick_nanos: 1, offset_ticks: 0, wraps: false, smoothing: 8, percent: 15, second_highest: false };

/// Delays of so many milliseconds.
fn delays(arithmetic: Arithmetic, samples: &[i64]) -> Delays {
    let mut delays = Delays::new(arithmetic, false);
    for sample in samples {
        delays.sample(Time::ZERO, sample * 1_000_000);
    }
    delays
}

/// Least 10 ms, greatest 60 ms: the threshold is 10 + 0.15 x 50.
#[test]
fn the_threshold_lies_at_15_percent_of_the_range() {
    let mut seen = delays(PAPER, &[10, 60]);
    assert_eq!((seen.threshold(), seen.smoothed()), (Some(17_500_000), Some(16_250_000)));
    assert_eq!(seen.level(), Some(Level::Below));
    // (7 x 16.25 + 60)/8.
    seen.sample(Time::ZERO, 60_000_000);
    assert_eq!((seen.smoothed(), seen.level()), (Some(21_718_750), Some(Level::Above)));
    assert_eq!(delays(PAPER, &[]).level(), None);
    assert_eq!(delays(PAPER, &[10]).level(), Some(Level::At));
}

#[test]
fn modules_hold_the_highest_delay_back() {
    let held = Arithmetic { second_highest: true, ..PAPER };
    for (samples, most) in [(&[10][..], 10), (&[10, 60], 10), (&[10, 60, 40], 40), (&[10, 60, 40, 70], 60)] {
        let threshold = 10_000_000 + (most - 10) * 150_000;
        assert_eq!(delays(held, samples).threshold(), Some(threshold), "{samples:?}");
    }
}

/// Least = smoothed and greatest = twice that: 15 % more delay is needed.
#[test]
fn a_reset_lifts_the_threshold_by_15_percent() {
    let mut seen = delays(PAPER, &[10, 60, 60]);
    seen.restart_extremes();
    assert_eq!(seen.threshold(), Some(21_718_750 + 21_718_750 * 15 / 100));
    // In whole milliseconds less than 7 leave no room: 15 x 6 / 100 = 0.
    let mut coarse = delays(Arithmetic { tick_nanos: 1_000_000, ..PAPER }, &[6]);
    coarse.restart_extremes();
    assert_eq!((coarse.threshold(), coarse.level()), (Some(6), Some(Level::At)));
}

/// 32 bits hold eight times a delay of up to 149 hours; an offset between clocks is a delay like any other.
#[test]
fn registers_of_32_bits_forget_the_high_bits() {
    let ticks = Arithmetic { tick_nanos: 1_000_000, wraps: true, ..PAPER };
    let at = |offset_ticks| delays(Arithmetic { offset_ticks, ..ticks }, &[25]);
    assert_eq!(at(1 << 28).smoothed(), Some((1 << 28) + 25));
    assert_eq!(at(1 << 29).smoothed(), Some(25));
    assert_eq!(at(1 << 29).threshold(), Some((1 << 29) + 25));
    assert_eq!(at(-30).threshold(), Some((1 << 32) - 5));
}

// The inference phase.

#[test]
fn an_indication_halves_waits_and_a_second_leaves_one() {
    let mut script = script("paper", &[AT_ONCE]);
    script.table(&[Queue(0), Queue(0), Queue(0)]);
    assert_eq!(script.window(), 16.0);
    // 40 ms of queue: the smoothed delay rises by 5 ms, the threshold by 6, then the former by 4.4 more.
    assert_eq!(give(&mut script, millis(1), millis(40)), 17.0);
    assert_eq!(give(&mut script, millis(1), millis(40)), 8.5);
    assert_eq!(script.control.slow_start_threshold(), 8.5);
    // For a round trip of 90 ms indications are ignored; then the next one leaves one segment.
    assert_eq!(give(&mut script, millis(89), millis(40)), 8.5);
    assert_eq!(give(&mut script, millis(1), millis(40)), 1.0);
    // The queue goes away, the smoothed delay follows, but for 3 round trips of 50 ms nothing grows.
    for _ in 0..29 {
        assert_eq!(give(&mut script, millis(5), millis(0)), 1.0);
    }
    assert_eq!(give(&mut script, millis(4), millis(0)), 1.0);
    assert_eq!(give(&mut script, millis(1), millis(0)), 2.0);
    assert_eq!(give(&mut script, millis(1), millis(0)), 2.5);
}

/// Linux: half of 17 segments, and what an acknowledgement adds; within the phase one is left.
#[test]
fn in_linux_an_indication_grows_too() {
    let windows = |indication| {
        let always = ("once_per_rtt", Value::Boolean(false));
        let mut script = script("paper", &[AT_ONCE, always, ("indication", Value::Choice(indication))]);
        script.table(&[Queue(0), Queue(0), Queue(0)]);
        give(&mut script, millis(1), millis(40));
        [(); 2].map(|()| give(&mut script, millis(1), millis(40)))
    };
    assert_eq!(windows("cuts"), [8.5, 1.0]);
    assert_eq!(windows("grows-too"), [8.5 + 1.0 / 8.5, 1.0]);
}

/// Until then the range of delays is not known, and slow start goes on.
#[test]
fn in_the_paper_indications_count_after_the_first_loss() {
    let rounds = [vec![Queue(0); 3], vec![Queue(40); 2], vec![Loss(40)], vec![Queue(40); 2]].concat();
    same(
        &script("paper", &[]).table(&rounds),
        "queue 0 ms: 4 8 16\nqueue 40 ms: 32 64\nloss at 40 ms: 64\nqueue 40 ms: 32 1",
    );
}

#[test]
fn a_loss_hides_indications_for_a_round_trip_and_begins_no_inference() {
    let mut script = script("paper", &[AT_ONCE]);
    script.table(&[Queue(0), Queue(0), Queue(0)]);
    give(&mut script, millis(1), millis(40));
    script.congestion(Signal::Loss);
    assert_eq!(script.window(), 8.5);
    assert!(give(&mut script, millis(89), millis(40)) > 8.5, "no inference phase");
    assert!((4.3..4.4).contains(&give(&mut script, millis(1), millis(40))), "an indication halves again");
}

#[test]
fn where_indications_count_always_two_in_a_row_leave_one() {
    let mut script = script("paper", &[AT_ONCE, ("once_per_rtt", Value::Boolean(false))]);
    script.table(&[Queue(0), Queue(0), Queue(0)]);
    give(&mut script, millis(1), millis(40));
    assert_eq!(give(&mut script, millis(1), millis(40)), 8.5);
    assert_eq!(give(&mut script, millis(1), millis(40)), 1.0);
}

#[test]
fn in_recovery_delays_are_measured_and_nothing_moves() {
    let mut script = script("paper", &[AT_ONCE]);
    script.table(&[Queue(0), Queue(0), Queue(0)]);
    for _ in 0..10 {
        script.now += millis(1);
        let late = ack(script.now, 16.0, millis(40));
        script.control.on_ack(&Ack { in_recovery: true, ..late });
    }
    assert_eq!(script.window(), 16.0);
    assert_eq!(give(&mut script, millis(1), millis(40)), 8.0);
}

/// Behind a hole the echoed time stays that of the last segment before it (RFC 7323 section 4.3), so that the modules'
/// delay grows by the time that the hole lasts; the segment's own does not.
#[test]
fn modules_take_the_time_of_a_hole_for_delay() {
    for (from, expected) in [("segment", BASE_RTT.as_millis_f64() / 2.0), ("echo", 38.75)] {
        let changes = [("delay_from", Value::Choice(from)), ("clock_offset", Value::Span(Span::ZERO))];
        let mut script = script("paper", &changes);
        let shown = |script: &Script| {
            let mut found = f64::NAN;
            script.control.probe(&mut |name, value| found = if name == "smoothed_delay_ms" { value } else { found });
            found
        };
        script.now += millis(1000);
        let plain = ack(script.now, 2.0, Span::ZERO);
        script.control.on_ack(&plain);
        let before = shown(&script);
        // 110 ms later, and the echo has not moved: 7/8 of the old and 1/8 of 110 ms more.
        script.now += millis(110);
        script.control.on_ack(&Ack { echoed: plain.echoed, ..ack(script.now, 2.0, Span::ZERO) });
        assert!((shown(&script) - before - (expected - 25.0)).abs() < 1e-6, "{from}: {}", shown(&script) - before);
    }
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut script = script("paper", &[AT_ONCE]);
    let full = ack(script.now, 2.0, Span::ZERO);
    script.control.on_ack(&Ack { window_limited: false, ..full });
    script.control.on_ack(&Ack { marked: true, ..full });
    assert_eq!(script.window(), 2.0);
}

#[test]
fn a_loss_halves_the_flight_or_the_window() {
    for (preset, left) in [("paper", 4.0), ("linux", 8.0), ("ns3", 4.0)] {
        let mut script = script(preset, &[("inference", Value::Number(0.0))]);
        script.begin(16.0);
        let event = Congestion {
            now: script.now,
            signal: Signal::Loss,
            flight: 8.0,
            pipe: 8.0,
            smoothed_rtt: BASE_RTT,
            stage: crate::Stage::New,
        };
        script.control.on_congestion(&event);
        assert_eq!(script.window(), left, "{preset}");
        script.control.on_congestion(&Congestion { signal: Signal::Timeout { repeated: false }, ..event });
        assert_eq!((script.window(), script.control.slow_start_threshold()), (1.0, 4.0), "{preset}");
        script.control.on_congestion(&Congestion { signal: Signal::Timeout { repeated: true }, ..event });
        assert_eq!(script.control.slow_start_threshold(), 4.0, "a repeated timeout leaves the threshold");
        script.recovered(Repair::Partial, 0.0);
        assert_eq!(script.window(), 2.0);
    }
}

#[test]
fn an_estimated_clock_needs_whole_ticks_per_second() {
    let build = |tick| {
        let changes = [("tick", Value::Span(tick))];
        let path =
            Path { mss_bytes: 1460, header_bytes: 52, smallest_packet_bytes: 52, initial_window: 2.0, sack: true };
        AnyControl::build(&params(&DESCRIPTOR, "linux", &changes), &path, Stream::new(1, "control"))
    };
    assert!(build(millis(4)).is_ok());
    assert_eq!(build(millis(3)).unwrap_err().parameter, "tick");
}

// Tables of the window over round trips.

const STORY: &[&[Round]] = &[
    &[Queue(0); 4],
    &[Loss(60)],
    &[Queue(5); 3],
    &[Queue(40); 4],
    &[Queue(0); 2],
    &[Loss(0)],
    &[Queue(0); 4],
    &[Mark(0)],
    &[Timeout],
    &[Queue(0); 4],
    &[Queue(40); 3],
    &[Idle(3)],
    &[Queue(0); 3],
];

#[test]
fn the_paper_over_round_trips() {
    same(
        &script("paper", &[]).table(&STORY.concat()),
        "queue 0 ms: 4 8 16 32\n\
         loss at 60 ms: 32\n\
         queue 5 ms: 32 33 34\n\
         queue 40 ms: 17 1 1 1\n\
         queue 0 ms: 1 1\n\
         loss at 0 ms: 2\n\
         queue 0 ms: 1 1 1 1\n\
         mark at 0 ms: 2\n\
         timeout: 1\n\
         queue 0 ms: 1 1 1 1\n\
         queue 40 ms: 1 1 1\n\
         idle 3 s: 1\n\
         queue 0 ms: 1 1 1",
    );
}

#[test]
fn linux_over_round_trips() {
    same(
        &script("linux", &[SAME_CLOCK]).table(&STORY.concat()),
        "queue 0 ms: 4 3 3 3\n\
         loss at 60 ms: 2\n\
         queue 5 ms: 1 1 1\n\
         queue 40 ms: 1 1 1 1\n\
         queue 0 ms: 2 1\n\
         loss at 0 ms: 2\n\
         queue 0 ms: 1 1 1 1\n\
         mark at 0 ms: 2\n\
         timeout: 1\n\
         queue 0 ms: 2 1 1 1\n\
         queue 40 ms: 1 1 1\n\
         idle 3 s: 1\n\
         queue 0 ms: 2 1 1",
    );
}

#[test]
fn ns3_over_round_trips() {
    same(
        &script("ns3", &[SAME_CLOCK]).table(&STORY.concat()),
        "queue 0 ms: 4 8 16 32\n\
         loss at 60 ms: 8\n\
         queue 5 ms: 1 1 1\n\
         queue 40 ms: 2 1 2 4\n\
         queue 0 ms: 1 1\n\
         loss at 0 ms: 2\n\
         queue 0 ms: 1 1 1 1\n\
         mark at 0 ms: 2\n\
         timeout: 1\n\
         queue 0 ms: 2 2 3 4\n\
         queue 40 ms: 2 1 2\n\
         idle 3 s: 2\n\
         queue 0 ms: 1 1 1",
    );
}

/// tcp_lp.c in its own integers, without the window.
#[derive(Default)]
struct Module {
    smoothed: u32,
    least: u32,
    most: u32,
    reserve: u32,
    hertz: u32,
    remote: u32,
    local: u32,
    last: u32,
}

/// What the module makes of an acknowledgement.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Verdict {
    Grow,
    Hold,
    Halve,
    One,
}

impl Module {
    fn ack(&mut self, now: u32, remote: u32, local: u32) -> Verdict {
        let mut scaled = i64::from(self.hertz << 6);
        if self.remote != 0 && self.local != 0 && remote != self.remote && local != self.local {
            let measured =
                i64::from(1000u32.wrapping_mul(remote.wrapping_sub(self.remote)) / local.wrapping_sub(self.local));
            scaled = if scaled > 0 { scaled + (measured - (scaled >> 6)) } else { measured << 6 };
        }
        (self.remote, self.local) = (remote, local);
        self.hertz = (scaled >> 6) as u32;
        if let Some(factor) = 1000u32.checked_div(self.hertz) {
            let delay = remote.wrapping_mul(factor).wrapping_sub(local);
            if delay > 0 {
                self.delay(delay);
            }
        }
        let inference = 3 * (now - local);
        let within_inference = self.last != 0 && now - self.last < inference;
        if self.smoothed >> 3 < self.least.wrapping_add(15u32.wrapping_mul(self.most.wrapping_sub(self.least)) / 100) {
            return if within_inference { Verdict::Hold } else { Verdict::Grow };
        }
        (self.least, self.most, self.reserve) = (self.smoothed >> 3, self.smoothed >> 2, self.smoothed >> 2);
        self.last = now;
        if within_inference { Verdict::One } else { Verdict::Halve }
    }

    fn delay(&mut self, delay: u32) {
        self.least = self.least.min(delay);
        if delay > self.most {
            if delay > self.reserve {
                self.most = if self.reserve == 0 { delay } else { self.reserve };
                self.reserve = delay;
            } else {
                self.most = delay;
            }
        }
        self.smoothed = if self.smoothed == 0 {
            delay << 3
        } else {
            (i64::from(self.smoothed) + i64::from(delay) - i64::from(self.smoothed >> 3)) as u32
        };
    }
}

proptest! {
    /// A thousand acknowledgements with any delays, gaps and offset between the clocks.
    #[test]
    fn linux_decides_as_its_module(
        seed in any::<u64>(),
        most_gap in 1u64..20,
        most_queue in 1u64..300,
        offset in prop_oneof![0u64..1000, 0u64..4_294_967_000],
    ) {
        let mut random = Stream::new(seed, "acknowledgements");
        let mut below = |limit: u64| (random.uniform() * limit as f64) as u64;
        let mut script = script("linux", &[("clock_offset", Value::Span(millis(offset)))]);
        let mut module = Module { least: u32::MAX, ..Module::default() };
        // The module takes a time stamp of zero for none. Whole milliseconds keep its round trips ours.
        let mut now = 5_000;
        for _ in 0..1_000 {
            now += below(most_gap + 1);
            let queue = below(most_queue);
            let sent = now - 50 - queue;
            let verdict = module.ack(now as u32, ((sent + 25 + queue) as u32).wrapping_add(offset as u32), sent as u32);
            let window = script.window();
            let expected = match verdict {
                Verdict::Grow => window + 1.0,
                Verdict::Hold => window,
                // And then it grows, before the phase is noticed.
                Verdict::Halve => (window / 2.0).max(1.0) + 1.0,
                Verdict::One => 1.0,
            };
            script.now = Time::ZERO + millis(now);
            let plain = ack(script.now, window, millis(queue));
            script.control.on_ack(&Ack { one_way_delay_nanos: Some(1_000_000 * (25 + queue as i64)), ..plain });
            prop_assert_eq!(script.window(), expected, "at {} ms: {:?}", now, verdict);
        }
    }

    #[test]
    fn the_window_obeys_its_bounds(
        preset in prop::sample::select(vec!["paper", "linux", "ns3"]),
        events in prop::collection::vec((0u64..200, 0u64..300, 0u8..60), 1..400),
    ) {
        let mut script = script(preset, &[SAME_CLOCK]);
        for (pause, queue, kind) in events {
            script.now += millis(pause);
            let (before, threshold) = (script.window(), script.control.slow_start_threshold());
            match kind {
                0 => script.congestion(Signal::Loss),
                1 => script.congestion(Signal::Ecn),
                2 => script.congestion(Signal::Timeout { repeated: false }),
                _ => {
                    let growth = give(&mut script, Span::ZERO, millis(queue)) - before;
                    let most = if before < threshold { 1.0 } else { 1.0 / before };
                    prop_assert!(growth <= most + 1e-9, "grew by {}", growth);
                }
            }
            prop_assert!(script.window() >= 1.0 && script.window().is_finite());
        }
    }

    /// In the paper's preset any constant difference between the clocks cancels.
    #[test]
    fn offsets_between_clocks_cancel(
        offset in 0u64..4_000_000,
        queues in prop::collection::vec(0u64..300, 1..300),
    ) {
        let mut plain = script("paper", &[AT_ONCE]);
        let mut shifted = script("paper", &[AT_ONCE, ("clock_offset", Value::Span(Span::from_secs(offset)))]);
        for queue in queues {
            prop_assert_eq!(
                give(&mut plain, millis(7), millis(queue)).to_bits(),
                give(&mut shifted, millis(7), millis(queue)).to_bits()
            );
        }
    }

    /// Whatever time an acknowledgement echoes, nothing overflows, and the window stays sound.
    #[test]
    fn forged_echoes_do_no_harm(
        preset in prop::sample::select(vec!["paper", "linux", "ns2", "ns3"]),
        echoes in prop::collection::vec((any::<u64>(), -(1i64 << 43)..1 << 43), 1..50),
    ) {
        let mut script = script(preset, &[("delay_from", Value::Choice("echo"))]);
        for (echoed, delay_nanos) in echoes {
            script.now += millis(20);
            let plain = ack(script.now, script.window(), Span::ZERO);
            let forged = Ack { echoed: Time::from_nanos(echoed), one_way_delay_nanos: Some(delay_nanos), ..plain };
            script.control.on_ack(&forged);
            prop_assert!(script.window() >= 1.0 && script.window().is_finite());
        }
    }

    /// The same acknowledgements never bring it ahead of NewReno.
    #[test]
    fn never_ahead_of_newreno(queues in prop::collection::vec(0u64..120, 1..2000)) {
        let mut newreno = Script::new(&params(&crate::newreno::DESCRIPTOR, "rfc", &[]));
        let mut low = script("paper", &[AT_ONCE]);
        for queue in queues {
            newreno.now += millis(1);
            let ack = ack(newreno.now, newreno.window(), millis(queue));
            newreno.control.on_ack(&ack);
            prop_assert!(give(&mut low, millis(1), millis(queue)) <= newreno.window());
        }
    }
}
