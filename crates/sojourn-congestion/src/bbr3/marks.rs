//! The answer to congestion marks of Google's kernel (`ecn = "alpha"`), on which the draft leaves the choice open.
//!
//! Each round trip moves alpha towards the part of segments that was marked. Outside probes a round trip with marks leaves
//! 1 - factor * alpha of the short-term bound of what is in flight. A probe half of whose segments were marked went too high,
//! and two such round trips end Startup. When marks have ceased, the next probe does not wait. All that only on short paths:
//! elsewhere marks mean nothing to it.

use super::descriptor::{Ecn, Parameters};
use super::{Bbr3, Seen};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use sojourn_core::Span;

/// Alpha of a new flow (`bbr_ecn_alpha_init`): it answers the first marks in full.
const FIRST_ALPHA: f64 = 1.0;
/// Round trips above the threshold, one after the other, that end Startup (`bbr_full_ecn_cnt`).
const STARTUP_ROUNDS: u32 = 2;
/// Part of the long-term bound that the first round trip of a probe after marks tries (`bbr_ecn_reprobe_gain`).
const REPROBE_GAIN: f64 = 0.5;

/// What does not change.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// `bbr_ecn_alpha_gain`.
    gain: f64,
    /// `bbr_ecn_factor`.
    factor: f64,
    /// `bbr_ecn_thresh`.
    threshold: f64,
    /// `bbr_ecn_max_rtt_us`; zero for any.
    max_rtt: Span,
}

/// What is known of marks.
pub(super) type Marks = Box<Known>;

/// What is known of marks, if they are to be answered.
pub(super) fn of(declared: &Parameters) -> Option<Marks> {
    let rules = Rules {
        gain: declared.ecn_gain,
        factor: declared.ecn_factor,
        threshold: declared.ecn_threshold,
        max_rtt: declared.ecn_max_rtt,
    };
    (declared.ecn == Ecn::Alpha).then(|| Known::new(rules))
}

/// Takes the rules of `fresh`.
pub(super) fn retune(marks: &mut Option<Marks>, fresh: &Option<Marks>) {
    if let Some((marks, fresh)) = marks.as_mut().zip(fresh.as_ref()) {
        marks.rules = fresh.rules;
    }
}

/// The part of segments that is marked, smoothed over round trips; NaN where nobody asks.
pub(super) fn alpha(marks: &Option<Marks>) -> f64 {
    marks.as_ref().map_or(f64::NAN, |marks| marks.alpha)
}

/// The same, laid out.
#[derive(Clone, Debug)]
pub(super) struct Known {
    rules: Rules,
    alpha: f64,
    /// Whether the path was ever short enough (`ecn_eligible`).
    counts: bool,
    /// Segments that were marked, of all delivered (`tp->delivered_ce`).
    total: u64,
    /// How many had been delivered and marked when alpha last moved.
    measured: (u64, u64),
    /// How many had been delivered and marked when each marked acknowledgement came, back to the newest segment's sending.
    history: VecDeque<(u64, u64)>,
    /// Whether one came in this round trip (`ecn_in_round`) ...
    in_round: bool,
    /// ... and in this cycle of probing (`ecn_in_cycle`), and a loss (`loss_in_cycle`).
    in_cycle: bool,
    loss_in_cycle: bool,
    /// Round trips of Startup above the threshold (`startup_ecn_rounds`).
    startup_rounds: u32,
    /// What will have been delivered when the last mark that was answered has been for a round trip (`high_seq`).
    answered_until: u64,
}

impl Known {
    /// Of a connection that has seen none.
    fn new(rules: Rules) -> Marks {
        Box::new(Known {
            rules,
            alpha: FIRST_ALPHA,
            counts: false,
            total: 0,
            measured: (0, 0),
            history: VecDeque::new(),
            in_round: false,
            in_cycle: false,
            loss_in_cycle: false,
            startup_rounds: 0,
            answered_until: 0,
        })
    }

    /// An acknowledgement, `marked` of whose segments carried a mark.
    fn count(&mut self, marked: u32, seen: &Seen<'_>) {
        if marked == 0 {
            return;
        }
        self.total += u64::from(marked);
        let delivered = seen.sample.total_delivered;
        self.history.push_back((delivered, self.total));
        if delivered > self.answered_until {
            self.answered_until = delivered + u64::from(seen.sample.in_flight);
        }
    }

    /// `bbr_update_ecn_alpha()`: the part of the last round trip's segments that was marked.
    fn measure(&mut self, total: u64, least_rtt: Option<Span>) -> Option<f64> {
        self.counts |= self.rules.max_rtt.is_zero() || least_rtt.is_some_and(|rtt| rtt <= self.rules.max_rtt);
        let delivered = total - self.measured.0;
        if !self.counts || delivered == 0 {
            return None;
        }
        let part = (self.total - self.measured.1) as f64 / delivered as f64;
        self.alpha += self.rules.gain * (part - self.alpha);
        self.measured = (total, self.total);
        Some(part)
    }

    /// Segments of the sample that were marked (`rs->delivered_ce`).
    fn of_sample(&mut self, seen: &Seen<'_>) -> u64 {
        let prior = seen.sample.prior_delivered;
        while self.history.get(1).is_some_and(|&(delivered, _)| delivered <= prior) {
            self.history.pop_front();
        }
        let before = self.history.front().filter(|&&(delivered, _)| delivered <= prior);
        // The first entry is never given up before another takes its place, so that without one nothing was marked.
        self.total - before.map_or(0, |&(_, total)| total)
    }
}

impl Bbr3 {
    /// What the marks of an acknowledgement change, after its round trip was counted.
    pub(super) fn update_marks(&mut self, seen: &Seen<'_>, marked: u32) {
        let least_rtt = self.least_rtt.get();
        let Some(marks) = &mut self.marks else { return };
        marks.count(marked, seen);
        let part = if self.rounds.starts() { marks.measure(seen.sample.total_delivered, least_rtt) } else { None };
        marks.in_round |= marks.counts && marked > 0;
        marks.in_cycle |= marks.of_sample(seen) > 0;
        marks.loss_in_cycle |= seen.sample.lost > 0;
        let Some(part) = part.filter(|_| !self.full.ever) else { return };
        marks.startup_rounds = if part >= marks.rules.threshold { marks.startup_rounds + 1 } else { 0 };
        if marks.startup_rounds >= STARTUP_ROUNDS {
            self.end_startup();
        }
    }

    /// The short-term bound that a round trip with marks leaves (`bbr_ecn_lower_bounds()`); infinite without.
    pub(super) fn bound_of_marks(&mut self) -> f64 {
        let Some(marks) = self.marks.as_mut().filter(|marks| marks.in_round) else { return f64::INFINITY };
        marks.in_round = false;
        let bound = self.bounds.short_term;
        let bound = if bound == f64::INFINITY { self.window } else { bound };
        bound * (1.0 - marks.rules.factor * marks.alpha)
    }

    /// `bbr_reset_congestion_signals()`.
    pub(super) fn forget_marks(&mut self) {
        if let Some(marks) = &mut self.marks {
            marks.in_round = false;
            marks.in_cycle = false;
            marks.loss_in_cycle = false;
        }
    }

    /// Whether the sample has so many marks that too much was in flight.
    pub(super) fn marks_are_too_many(&mut self, seen: &Seen<'_>) -> bool {
        let Some(marks) = self.marks.as_mut().filter(|marks| marks.counts) else { return false };
        marks.of_sample(seen) as f64 > marks.rules.threshold * f64::from(seen.sample.delivered)
    }

    /// Whether marks have been the only congestion of this cycle and have ceased for a round trip
    /// (`bbr_check_time_to_probe_bw()` in state Open): doublings that the growth of the next probe begins with.
    pub(super) fn probe_after_marks(&self, seen: &Seen<'_>) -> Option<u32> {
        let marks = self.marks.as_ref().filter(|marks| marks.counts && marks.in_cycle && !marks.loss_in_cycle)?;
        if !seen.orderly || seen.sample.total_delivered <= marks.answered_until {
            return None;
        }
        // As the kernel counts: whole segments, and no bound is the largest number.
        Some(((self.bounds.long_term * REPROBE_GAIN) as u32).checked_ilog2().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use crate::bbr3::tests::{at, bbr, bbr_mut, go_to};
    use crate::bbr3::{Bbr3, DESCRIPTOR, State};
    use crate::path_model::path::Pipe;
    use crate::{Control, EcnUse, RateSample, Signal};
    use alloc::vec::Vec;
    use sojourn_core::Span;
    use sojourn_core::registry::Value;

    fn pipe(changes: &[(&str, Value)]) -> Pipe {
        let ecn = ("ecn", Value::Choice("alpha"));
        Pipe::new(&DESCRIPTOR, "draft", &[&[ecn], changes].concat())
    }

    /// On a path of 50 ms, where marks mean nothing unless they do on any path.
    fn anywhere() -> Pipe {
        pipe(&[("ecn_max_rtt", Value::Span(Span::ZERO))])
    }

    fn marks(control: &Bbr3) -> &super::Known {
        control.marks.as_deref().unwrap()
    }

    /// A round trip of 10 segments, of which the last `marked` carry a mark. Each is faster than the one before.
    fn ten(pipe: &mut Pipe, marked: u32) {
        let prior = pipe.delivered;
        for index in 0..10 {
            pipe.delivered += 1;
            let sample = RateSample {
                delivered: 10,
                interval: pipe.rtt / (1 + prior / 10),
                prior_delivered: prior,
                total_delivered: pipe.delivered,
                newly_delivered: 1,
                tx_in_flight: 10,
                in_flight: 10,
                ..RateSample::default()
            };
            pipe.ack_with(Some(pipe.rtt), 10, sample, index + marked >= 10);
        }
    }

    /// The first acknowledgement of a round trip ends the one before. One without a mark leaves 15/16 of alpha.
    #[test]
    fn alpha_moves_by_a_sixteenth_per_round_trip() {
        let mut pipe = anywhere();
        let mut alphas = Vec::new();
        for marked in [0, 5, 0, 0] {
            ten(&mut pipe, marked);
            alphas.push(pipe.shown("alpha"));
        }
        // The third holds the marks of the second: 0.87890625 * 15/16 + 5/10 / 16.
        let expected = [0.9375, 0.878_906_25, 0.855_224_609_375, 0.801_773_071_289_062_5];
        assert!(alphas.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12), "{alphas:?}");
    }

    /// A short-term bound that starts at the window and loses a third of alpha, once in a round trip with marks; the bandwidth
    /// has none.
    #[test]
    fn a_round_trip_with_marks_lowers_what_is_in_flight() {
        let mut pipe = anywhere();
        go_to(&mut pipe, State::Cruise);
        let control = bbr_mut(&mut pipe);
        control.window = 90.0;
        let marks = control.marks.as_mut().unwrap();
        (marks.alpha, marks.in_round) = (0.5, true);
        assert!((control.bound_of_marks() - 75.0).abs() < 1e-9);
        assert_eq!(control.bound_of_marks(), f64::INFINITY, "once");
        control.bounds.short_term = 60.0;
        control.marks.as_mut().unwrap().in_round = true;
        assert!((control.bound_of_marks() - 50.0).abs() < 1e-9);

        pipe.marked_acks = 1000;
        (0..3).for_each(|_| pipe.round(0));
        assert!(bbr(&pipe).bounds.short_term < 60.0, "{:?}", bbr(&pipe).bounds);
        assert_eq!(bbr(&pipe).bounds.bandwidth, f64::INFINITY);
    }

    /// Half of the segments in two round trips, one after the other; less does not.
    #[test]
    fn startup_ends_after_two_round_trips_of_many_marks() {
        let rounds = |pattern: &[u32]| {
            let mut pipe = anywhere();
            pipe.bandwidth = 1e6;
            pattern.iter().for_each(|&marked| ten(&mut pipe, marked));
            // The next one's first acknowledgement tells of the last.
            ten(&mut pipe, 0);
            bbr(&pipe).state == State::Startup
        };
        assert!(rounds(&[5]));
        assert!(!rounds(&[5, 5]));
        assert!(rounds(&[5, 4, 5]));
        assert!(rounds(&[4, 4, 4]));
    }

    /// More than half of a probe's segments: what was in flight becomes the long-term bound, if 0.7 of the target are not more.
    #[test]
    fn a_probe_with_many_marks_went_too_high() {
        let mut pipe = anywhere();
        go_to(&mut pipe, State::Up);
        pipe.marked_acks = 1000;
        pipe.round(0);
        assert_eq!(bbr(&pipe).state, State::Down);
        assert!(bbr(&pipe).probing.too_high);
        let bound = bbr(&pipe).bounds.long_term;
        assert!((35.0..120.0).contains(&bound), "{bound}");
    }

    /// When marks have ceased for a round trip the next probe begins, with growth of half of the bound: 2^5 of 64 segments.
    #[test]
    fn the_next_probe_does_not_wait_when_marks_cease() {
        let mut pipe = anywhere();
        go_to(&mut pipe, State::Cruise);
        bbr_mut(&mut pipe).bounds.long_term = 64.0;
        pipe.marked_acks = 1000;
        pipe.round(0);
        pipe.round(0);
        assert!(matches!(bbr(&pipe).state, State::Down | State::Cruise));
        assert!(marks(bbr(&pipe)).in_cycle);
        pipe.marked_acks = 0;
        pipe.round(0);
        assert_eq!(bbr(&pipe).state, State::Refill);
        let control = bbr_mut(&mut pipe);
        control.window = 64.0;
        control.start_up(1000.0);
        assert_eq!(control.probing.up_acked_per_step(), 2.0);
    }

    /// 50 ms are too long for Google's constant, 5 ms are not; a mark is no loss either way.
    #[test]
    fn marks_mean_nothing_on_long_paths() {
        let bounded = |rtt: u64| {
            let mut pipe = pipe(&[]);
            pipe.rtt = Span::from_millis(rtt);
            pipe.bandwidth = 20_000.0;
            pipe.control.on_connected(pipe.now, pipe.rtt);
            go_to(&mut pipe, State::Cruise);
            pipe.signal(Signal::Ecn, 50);
            pipe.marked_acks = 1;
            pipe.round(0);
            pipe.round(0);
            bbr(&pipe).bounds.short_term < f64::INFINITY
        };
        assert!(!bounded(6));
        assert!(bounded(5));
    }

    /// Marks are counted over the life of the newest segment.
    #[test]
    fn a_sample_has_the_marks_since_its_segment_was_sent() {
        let mut pipe = anywhere();
        let sample = |pipe: &mut Pipe, prior: u64, marked: bool| {
            pipe.delivered += 4;
            let sample = RateSample {
                delivered: (pipe.delivered - prior) as u32,
                interval: pipe.rtt,
                prior_delivered: prior,
                total_delivered: pipe.delivered,
                newly_delivered: 4,
                ..RateSample::default()
            };
            pipe.ack_with(Some(pipe.rtt), 10, sample, marked);
            let now = pipe.now;
            let seen =
                super::Seen { now, sample: &sample, rate: 0.0, app_limited: false, in_flight: 0.0, orderly: true };
            bbr_mut(pipe).marks.as_mut().unwrap().of_sample(&seen)
        };
        assert_eq!(sample(&mut pipe, 0, true), 4);
        assert_eq!(sample(&mut pipe, 0, false), 4);
        assert_eq!(sample(&mut pipe, 0, true), 8);
        assert_eq!(sample(&mut pipe, 4, true), 8, "the first 4 were marked before it was sent");
        assert_eq!(sample(&mut pipe, 12, false), 4);
        assert_eq!(sample(&mut pipe, 16, false), 0);
        assert_eq!(sample(&mut pipe, 16, true), 4);
    }

    #[test]
    fn it_asks_for_exact_marks_of_ect1() {
        assert_eq!(anywhere().control.ecn(), EcnUse::Scalable);
        assert_eq!(at(State::Startup).control.ecn(), EcnUse::Optional);
    }
}
