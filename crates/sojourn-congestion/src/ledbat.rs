//! LEDBAT: low extra delay background transport (RFC 6817).
//!
//! For each acknowledgement, in the order of the RFC's section 2.4.2:
//! 1. its one-way delay enters the base delay (the least of the last minutes) and the current delay (the least of the
//!    last samples); their difference is the queueing delay;
//! 2. off_target = (target - queueing delay)/target, so 1 without a queue, 0 at the target, and negative beyond;
//! 3. the window moves by gain x off_target x acknowledged/window;
//! 4. it is kept at or below what is in flight plus an allowed increase, and at or above a floor.
//!
//! A loss or an ECN mark halves the window once per round trip; a timeout leaves one segment. Delays are differences of
//! two clocks, of which only differences are used: a constant offset between the clocks cancels. Skew is not corrected
//! (the RFC's appendix leaves it open): it looks like a base delay that falls or rises with time.
//!
//! With `target_part` the target follows the delay at which packets are lost (`ceiling.rs`). That is Sojourn's own.
//!
//! The RFC has no phase of recovery; here, as in implementations of TCP, acknowledgements during recovery are
//! measured but do not move the window.

mod ceiling;
mod descriptor;
pub(crate) mod history;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::vec::Vec;
pub use descriptor::DESCRIPTOR;
use descriptor::{Arithmetic, Count, Parameters, SilentPeriods, SlowStart};
#[cfg(not(feature = "std"))]
use sojourn_core::Float as _;

use crate::advice;
use crate::control::{Ack, Congestion, Control, Path, Signal, Start, Undo};
use ceiling::Ceiling;
use history::{BaseDelay, CurrentDelay};
use sojourn_core::registry::{Advice, ParameterError, Params};
use sojourn_core::{Span, Stream, Time};

/// Fewest segments that a loss leaves: MIN_CWND of the RFC, and equation 4 of RFC 5681 where the floor is lower.
const MIN_AFTER_LOSS: f64 = 2.0;

/// A target that follows the queue is no less than what can be set.
const LEAST_TARGET: Span = Span::from_micros(100);

/// The state of RFC 6817.
#[derive(Clone, Debug)]
pub struct Ledbat {
    window: f64,
    threshold: f64,
    in_slow_start: bool,
    steps: Steps,
    base: BaseDelay,
    current: CurrentDelay,
    queueing_nanos: Option<i64>,
    reduced: Option<Time>,
    heard: Option<Time>,
    /// Where the target follows the queue.
    ceiling: Option<Box<Ceiling>>,
    settings: Settings,
}

/// What does not change.
#[derive(Clone, Debug)]
struct Settings {
    target_nanos: f64,
    gain: f64,
    decrease_gain: f64,
    allowed_increase: f64,
    initial_window: f64,
    min_window: f64,
    max_decrease: f64,
    count_acks: bool,
    slow_start: bool,
    /// Part of the target that ends slow start.
    slow_start_exit: f64,
    tick_nanos: i64,
    silence_restarts: bool,
}

/// How the window moves.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Steps {
    /// In fractions of a segment.
    Fractions,
    /// In whole segments: the sum of off_target since the last step, from 0 to the window.
    Whole(f64),
}

impl Ledbat {
    /// A control with the given parameters.
    ///
    /// # Errors
    /// None: all combinations work.
    pub fn new(params: &Params, path: &Path, _random: Stream) -> Result<Ledbat, ParameterError> {
        let declared = Parameters::of(params);
        let gain = declared.gain;
        let settings = Settings {
            target_nanos: declared.target.as_nanos() as f64,
            gain,
            decrease_gain: declared.decrease_gain.unwrap_or(gain),
            allowed_increase: declared.allowed_increase.unwrap_or(f64::INFINITY),
            initial_window: declared.initial_window.unwrap_or(f64::INFINITY),
            min_window: declared.min_window,
            max_decrease: declared.max_decrease.unwrap_or(f64::INFINITY),
            count_acks: declared.count == Count::Acks,
            slow_start: declared.slow_start != SlowStart::Off,
            slow_start_exit: match declared.slow_start {
                SlowStart::UntilDelay => declared.slow_start_exit,
                SlowStart::Off | SlowStart::UntilLoss => f64::INFINITY,
            },
            tick_nanos: declared.tick.as_nanos() as i64,
            silence_restarts: declared.silence_restarts,
        };
        let mut ledbat = Ledbat {
            window: 0.0,
            threshold: f64::INFINITY,
            in_slow_start: false,
            steps: if declared.arithmetic == Arithmetic::Whole { Steps::Whole(0.0) } else { Steps::Fractions },
            base: BaseDelay::new(
                declared.base_history as usize,
                declared.base_period,
                declared.base_rollover,
                declared.silent_periods == SilentPeriods::Forget,
            ),
            current: CurrentDelay::new(declared.filter as usize, declared.filter_within_rtt),
            queueing_nanos: None,
            reduced: None,
            heard: None,
            ceiling: declared.target_part.map(|part| Box::new(Ceiling::new(part))),
            settings,
        };
        ledbat.begin(path.initial_window);
        Ok(ledbat)
    }

    /// The first window of a flow, or of one that was idle.
    fn begin(&mut self, transport_initial_window: f64) {
        self.window = self.settings.initial_window.min(transport_initial_window);
        if self.steps != Steps::Fractions {
            self.window = self.window.floor().max(1.0);
        }
        self.threshold = f64::INFINITY;
        self.in_slow_start = self.settings.slow_start;
        self.restart_count();
    }

    fn restart_count(&mut self) {
        if let Steps::Whole(count) = &mut self.steps {
            *count = 0.0;
        }
    }

    /// Step 1: the queueing delay after this acknowledgement; `None` before the first sample.
    #[inline]
    fn queueing_nanos(&mut self, ack: &Ack) -> Option<i64> {
        if let Some(nanos) = ack.one_way_delay_nanos {
            let delay = match self.settings.tick_nanos {
                1 => nanos,
                tick => nanos - nanos.rem_euclid(tick),
            };
            self.base.sample(delay, ack.now);
            let current = self.current.sample(delay, ack.now, ack.smoothed_rtt);
            let base = self.base.nanos();
            self.queueing_nanos = base.map(|base| current - base);
            if let (Some(ceiling), Some(base)) = (&mut self.ceiling, base) {
                ceiling.sample(delay - base, ack.now, ack.smoothed_rtt);
            }
        }
        self.queueing_nanos
    }

    /// TARGET, or less where it follows the queue.
    #[inline]
    fn target_nanos(&self) -> f64 {
        let most = self.settings.target_nanos;
        match &self.ceiling {
            Some(ceiling) => ceiling.target_nanos(most, LEAST_TARGET.as_nanos() as f64),
            None => most,
        }
    }

    /// Step 2: 1 without a queue, 0 at the target; never above 1, however the delays were filtered.
    #[inline]
    fn off_target(&self, queueing_nanos: i64) -> f64 {
        (1.0 - queueing_nanos as f64 / self.target_nanos()).min(1.0)
    }

    /// Steps 3 and 4 in fractions of a segment.
    #[inline]
    fn move_by_fractions(&mut self, off_target: f64, acked: f64, ack: &Ack) {
        let settings = &self.settings;
        let gain = if off_target > 0.0 { settings.gain } else { settings.decrease_gain };
        let step = (gain * off_target * acked / self.window).max(-settings.max_decrease);
        if step <= 0.0 || ack.window_limited {
            self.window += step;
        }
        self.window = self.window.min(ack.flight + settings.allowed_increase).max(settings.min_window);
    }

    /// Steps 3 and 4 as the modules do them: one segment more when the sum of off_target reaches the window, one less
    /// when it falls below zero; the sum is then one short of the new window.
    #[inline]
    fn move_by_segments(&mut self, count: f64, off_target: f64, acked: f64, ack: &Ack) {
        if !ack.window_limited {
            return;
        }
        let settings = &self.settings;
        let gain = if off_target > 0.0 { settings.gain } else { settings.decrease_gain };
        let sum = count + (gain * off_target).min(1.0) * acked;
        let mut count = sum.max(0.0);
        if sum >= self.window {
            count = 0.0;
            self.window = (self.window + 1.0).min(ack.flight + settings.allowed_increase);
        } else if sum < 0.0 && self.window > settings.min_window {
            self.window = (self.window - 1.0).max(settings.min_window);
            count = self.window - 1.0;
        }
        self.steps = Steps::Whole(count);
    }
}

impl Control for Ledbat {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        let queueing = self.queueing_nanos(ack);
        if self.settings.silence_restarts {
            let silence = ack.now.since(self.heard.replace(ack.now).unwrap_or(ack.now));
            if silence > ack.smoothed_rtt && !ack.smoothed_rtt.is_zero() {
                self.window = 1.0;
            }
        }
        let Some(queueing) = queueing.filter(|_| !ack.in_recovery) else { return };
        let exit_nanos = self.settings.slow_start_exit * self.target_nanos();
        self.in_slow_start &= self.window < self.threshold && queueing as f64 <= exit_nanos;
        let acked = f64::from(if self.settings.count_acks { ack.newly_acked.min(1) } else { ack.newly_acked });
        if self.in_slow_start {
            // RFC 5681: at most one segment for each acknowledgement.
            if ack.window_limited {
                self.window += acked.min(1.0);
            }
            return;
        }
        let off_target = self.off_target(queueing);
        match self.steps {
            Steps::Fractions => self.move_by_fractions(off_target, acked, ack),
            Steps::Whole(count) => self.move_by_segments(count, off_target, acked, ack),
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let floor = self.settings.min_window.max(MIN_AFTER_LOSS);
        let half = if self.steps == Steps::Fractions { self.window / 2.0 } else { (self.window / 2.0).floor() };
        let halved = self.window.min(half.max(floor));
        match event.signal {
            Signal::Loss | Signal::Ecn => {
                // At most once per round trip.
                if self.reduced.is_some_and(|reduced| event.now.since(reduced) < event.smoothed_rtt) {
                    return;
                }
                self.reduced = Some(event.now);
                if let Some(ceiling) = &mut self.ceiling {
                    ceiling.met();
                }
                self.window = halved;
                self.threshold = halved;
                self.in_slow_start = false;
            }
            Signal::Timeout { repeated } => {
                if !repeated {
                    self.threshold = halved;
                }
                self.window = 1.0;
                self.in_slow_start = self.settings.slow_start;
            }
        }
        self.restart_count();
    }

    /// Below the threshold slow start brings the window back, where there is one.
    fn on_start(&mut self, start: &Start) {
        if start.unused.leave_of(self) {
            self.window = self.window.min(self.settings.initial_window);
            self.in_slow_start = self.settings.slow_start && self.window < self.threshold;
            self.restart_count();
        }
        self.current.clear();
    }

    /// A slow start that a needless reduction ended goes on.
    fn on_undo(&mut self, undo: &Undo) {
        self.set_window(self.window.max(undo.window), self.threshold.max(undo.threshold));
        self.in_slow_start |= self.settings.slow_start && undo.window < undo.threshold;
    }

    fn set_window(&mut self, window: f64, threshold: f64) {
        self.window = if self.steps == Steps::Fractions { window } else { window.floor().max(1.0) };
        self.threshold = threshold;
    }

    #[inline]
    fn window(&self) -> f64 {
        self.window
    }

    /// Above the window only in slow start: delay may shrink the window afterwards, which does not begin it again.
    #[inline]
    fn slow_start_threshold(&self) -> f64 {
        if self.in_slow_start { self.threshold } else { self.threshold.min(self.window) }
    }

    fn advice(params: &Params) -> Vec<Advice> {
        let gain = "RFC 6817 allows at most 1: with more the flow grows faster than TCP does";
        let allowed = "growth beyond what is in flight overshoots once there is data again; RFC 6817 recommends 1";
        advice::long_target(params)
            .into_iter()
            .chain(advice::outside(params, "gain", 0.0, 1.0, gain))
            .chain(advice::outside(params, "allowed_increase", 0.0, 1.0, allowed))
            .collect()
    }

    fn probe(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let millis = |nanos: Option<i64>| nanos.map_or(f64::NAN, |nanos| nanos as f64 / 1e6);
        visit("base_delay_ms", millis(self.base.nanos()));
        visit("queueing_delay_ms", millis(self.queueing_nanos));
        visit("off_target", self.queueing_nanos.map_or(f64::NAN, |queueing| self.off_target(queueing)));
        if self.ceiling.is_some() {
            visit("target_ms", self.target_nanos() / 1e6);
        }
    }

    fn retune(&mut self, fresh: &Ledbat) {
        self.settings = fresh.settings.clone();
    }

    fn fixed() -> Option<&'static [&'static str]> {
        Some(&[
            "initial_window",
            "arithmetic",
            "slow_start",
            "target_part",
            "base_history",
            "base_period",
            "base_rollover",
            "silent_periods",
            "filter",
            "filter_within_rtt",
            "tick",
        ])
    }
}
