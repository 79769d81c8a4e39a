//! LEDBAT++: LEDBAT on round trips that clears its own queue (draft-irtf-iccrg-ledbat-plus-plus).
//!
//! What it changes in RFC 6817, with the sections of revision 01:
//! 1. delays are round-trip times; the queueing delay is the least of the last four over the least of ten minutes (4.5);
//! 2. GAIN = 1/min(16, ceil(2 TARGET/base)): slower than Reno where the base delay is short (4.2);
//! 3. below the target the window grows by GAIN per round trip; above, it changes by
//!    max(GAIN - C x window x (delay/TARGET - 1), -window/2), spread over the round's acknowledgements (4.3);
//! 4. slow start grows by GAIN per segment, and the first one ends also at three quarters of the target (4.1);
//! 5. two round trips after it, a slowdown: two segments for two round trips, then slow start back to the window
//!    before. The next one follows after nine times as long as that took (4.4).
//!
//! A loss or mark halves once per round trip, a timeout leaves one segment and slow start: the draft's introduction has
//! both as in standard TCP. The two segments of 4.3 are taken for a bound of the decrease by delay. Both signals end a
//! slowdown, and of this the draft says nothing. Where it speaks of round trips as time, this is the smoothed round-trip
//! time when that time begins. As in `ledbat`, acknowledgements during recovery are measured but do not move the window.

mod descriptor;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;
pub use descriptor::DESCRIPTOR;
use descriptor::Parameters;

use crate::advice;
use crate::control::{Ack, Congestion, Control, Path, Signal, Start, Undo};
use crate::ledbat::history::{BaseDelay, CurrentDelay, Rollover};
use crate::memo::Memo;
use crate::rounding::rounded_up;
use sojourn_core::registry::{Advice, ParameterError, Params};
use sojourn_core::{Span, Stream, Time};

/// Length of a period of the base delay.
const BASE_PERIOD: Span = Span::from_secs(60);
/// Most of the window that a round trip takes away for delay.
const MAX_DECREASE: f64 = 0.5;

/// The state of LEDBAT++.
#[derive(Clone, Debug)]
pub struct LedbatPlusPlus {
    window: f64,
    threshold: f64,
    phase: Phase,
    /// When the next slowdown is due.
    slowdown_at: Time,
    base: BaseDelay,
    current: CurrentDelay,
    queueing_nanos: Option<i64>,
    /// GAIN, with the base delay that it follows from.
    gain: Memo<1>,
    reduced: Option<Time>,
    /// The phase before that, or before a timeout.
    before: Phase,
    settings: Settings,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The first slow start, which delay ends too.
    FirstSlowStart,
    /// Steps 2 and 3.
    Steady,
    /// At the smallest window, since `began` and until `until`.
    Slowdown { began: Time, until: Time },
    /// Slow start back to the threshold, after a slowdown that began then, or after a timeout.
    Return { began: Option<Time> },
}

/// What does not change.
#[derive(Clone, Debug)]
struct Settings {
    target_nanos: f64,
    gain_divisor: f64,
    decrease: f64,
    min_window: f64,
    slow_start_exit_nanos: f64,
    slowdowns: bool,
    first_slowdown: f64,
    slowdown_length: f64,
    slowdown_interval: f64,
}

impl LedbatPlusPlus {
    /// A control with the given parameters.
    ///
    /// # Errors
    /// None: all combinations work.
    pub fn new(params: &Params, path: &Path, _random: Stream) -> Result<LedbatPlusPlus, ParameterError> {
        let declared = Parameters::of(params);
        let target_nanos = declared.target.as_nanos() as f64;
        let initial_window = declared.initial_window.unwrap_or(f64::INFINITY);
        Ok(LedbatPlusPlus {
            window: initial_window.min(path.initial_window),
            threshold: f64::INFINITY,
            phase: Phase::FirstSlowStart,
            slowdown_at: Time::NEVER,
            base: BaseDelay::new(declared.base_history as usize, BASE_PERIOD, Rollover::Clock, false),
            current: CurrentDelay::new(declared.filter as usize, false),
            queueing_nanos: None,
            gain: Memo::NOTHING,
            reduced: None,
            before: Phase::FirstSlowStart,
            settings: Settings {
                target_nanos,
                gain_divisor: declared.gain_divisor as f64,
                decrease: declared.decrease,
                min_window: declared.min_window,
                slow_start_exit_nanos: declared.slow_start_exit * target_nanos,
                slowdowns: declared.slowdowns,
                first_slowdown: declared.first_slowdown,
                slowdown_length: declared.slowdown_length,
                slowdown_interval: declared.slowdown_interval,
            },
        })
    }

    /// Step 1.
    #[inline]
    fn measure(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            let delay = rtt.as_nanos() as i64;
            self.base.sample(delay, ack.now);
            let current = self.current.sample(delay, ack.now, Span::ZERO);
            self.queueing_nanos = self.base.nanos().map(|base| current - base);
        }
    }

    /// Step 2.
    #[inline]
    fn gain(&mut self) -> f64 {
        let base = [self.base_nanos()];
        self.gain.get(&base).unwrap_or_else(|| self.gain.keep(&base, self.gain_at(base[0])))
    }

    /// The same on a path of that base delay.
    fn gain_at(&self, base: f64) -> f64 {
        1.0 / rounded_up(2.0 * self.settings.target_nanos / base).min(self.settings.gain_divisor).max(1.0)
    }

    #[inline]
    fn base_nanos(&self) -> f64 {
        self.base.nanos().unwrap_or(1).max(1) as f64
    }

    /// Step 3, for `acked` of a window's acknowledgements.
    #[inline]
    fn adjust(&mut self, queueing: f64, acked: f64, limited: bool) {
        let gain = self.gain();
        let settings = &self.settings;
        let excess = queueing / settings.target_nanos - 1.0;
        let change = if excess <= 0.0 {
            gain
        } else {
            (gain - settings.decrease * self.window * excess).max(-MAX_DECREASE * self.window)
        };
        if change <= 0.0 || limited {
            self.window += change * (acked / self.window).min(1.0);
        }
        self.window = self.window.max(settings.min_window);
    }

    /// Step 4; whether the threshold was reached.
    #[inline]
    fn slow_start(&mut self, acked: f64, limited: bool) -> bool {
        if limited {
            self.window = (self.window + acked * self.gain()).min(self.threshold);
        }
        self.window >= self.threshold
    }

    fn after(&self, now: Time, rtt: Span, factor: f64) -> Time {
        if self.settings.slowdowns { now + rtt.mul_f64(factor) } else { Time::NEVER }
    }

    /// The first slow start is over.
    fn settle(&mut self, now: Time, rtt: Span) {
        self.phase = Phase::Steady;
        self.slowdown_at = self.after(now, rtt, self.settings.first_slowdown);
    }

    /// Slow start brought the window back, or a loss ended the attempt.
    fn end_return(&mut self, now: Time, began: Option<Time>) {
        self.phase = Phase::Steady;
        if let Some(began) = began {
            self.slowdown_at = self.after(now, now.since(began), self.settings.slowdown_interval);
        }
    }

    /// Step 5.
    fn slow_down(&mut self, now: Time, rtt: Span) {
        self.threshold = self.window;
        self.window = self.settings.min_window.min(self.window);
        self.phase = Phase::Slowdown { began: now, until: now + rtt.mul_f64(self.settings.slowdown_length) };
    }
}

impl Control for LedbatPlusPlus {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.measure(ack);
        let Some(queueing) = self.queueing_nanos.filter(|_| !ack.in_recovery) else { return };
        let (queueing, acked) = (queueing as f64, f64::from(ack.newly_acked));
        let limited = ack.window_limited && !ack.marked;
        match self.phase {
            Phase::FirstSlowStart => {
                if queueing > self.settings.slow_start_exit_nanos {
                    self.threshold = self.window;
                    self.settle(ack.now, ack.smoothed_rtt);
                } else if self.slow_start(acked, limited) {
                    self.settle(ack.now, ack.smoothed_rtt);
                }
            }
            Phase::Steady if ack.now >= self.slowdown_at => self.slow_down(ack.now, ack.smoothed_rtt),
            Phase::Steady => self.adjust(queueing, acked, limited),
            Phase::Slowdown { began, until } => {
                if ack.now >= until {
                    self.phase = Phase::Return { began: Some(began) };
                }
            }
            Phase::Return { began } => {
                if self.slow_start(acked, limited) {
                    self.end_return(ack.now, began);
                }
            }
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if event.signal == Signal::Loss || event.signal == Signal::Ecn {
            // At most once per round trip.
            if self.reduced.is_some_and(|reduced| event.now.since(reduced) < event.smoothed_rtt) {
                return;
            }
            self.reduced = Some(event.now);
        }
        if event.signal != (Signal::Timeout { repeated: true }) {
            self.before = self.phase;
        }
        let halved = self.window.min((self.window / 2.0).max(self.settings.min_window));
        match self.phase {
            Phase::FirstSlowStart => self.settle(event.now, event.smoothed_rtt),
            Phase::Steady => {}
            Phase::Slowdown { began, .. } => self.end_return(event.now, Some(began)),
            Phase::Return { began } => self.end_return(event.now, began),
        }
        match event.signal {
            Signal::Loss | Signal::Ecn => {
                self.window = halved;
                self.threshold = halved;
            }
            Signal::Timeout { repeated } => {
                if !repeated {
                    self.threshold = halved;
                }
                self.window = 1.0;
                self.phase = Phase::Return { began: None };
            }
        }
    }

    /// Slow start brings the window back.
    fn on_start(&mut self, start: &Start) {
        if start.unused.leave_of(self) && self.phase == Phase::Steady {
            self.phase = Phase::Return { began: None };
        }
        self.current.clear();
    }

    /// A slow start or a slowdown that a needless reduction ended goes on.
    fn on_undo(&mut self, undo: &Undo) {
        self.set_window(self.window.max(undo.window), self.threshold.max(undo.threshold));
        self.phase = self.before;
    }

    fn set_window(&mut self, window: f64, threshold: f64) {
        self.window = window;
        self.threshold = threshold;
    }

    #[inline]
    fn window(&self) -> f64 {
        self.window
    }

    /// Above the window only in slow start and where one will follow.
    #[inline]
    fn slow_start_threshold(&self) -> f64 {
        if self.phase == Phase::Steady { self.threshold.min(self.window) } else { self.threshold }
    }

    fn advice(params: &Params) -> Vec<Advice> {
        advice::long_target(params).into_iter().collect()
    }

    fn probe(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let millis = |nanos: Option<i64>| nanos.map_or(f64::NAN, |nanos| nanos as f64 / 1e6);
        visit("base_delay_ms", millis(self.base.nanos()));
        visit("queueing_delay_ms", millis(self.queueing_nanos));
        visit("gain", self.gain_at(self.base_nanos()));
    }

    fn retune(&mut self, fresh: &LedbatPlusPlus) {
        self.settings = fresh.settings.clone();
        self.gain = Memo::NOTHING;
    }

    fn fixed() -> Option<&'static [&'static str]> {
        Some(&["initial_window", "base_history", "filter"])
    }
}
