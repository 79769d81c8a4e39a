//! The window of Reno, for controls that only add to it: what kernels offer their modules as `tcp_reno_*`.
//!
//! The rules are those of [`newreno`](crate::newreno) with every acknowledged segment counted. With whole arithmetic the
//! window is a number of segments, as in kernels: what has been acknowledged since its last step is counted beside it
//! (`snd_cwnd_cnt` of Linux), and what slow start leaves of an acknowledgement is counted too.

use crate::control::{Recovered, Signal};
#[cfg(not(feature = "std"))]
use sojourn_core::Float as _;
use sojourn_core::choices;
use sojourn_core::registry::declare::{Field, choice};

/// Fewest segments that a loss leaves as threshold (RFC 5681 equation 4).
pub(crate) const MIN_THRESHOLD: f64 = 2.0;

choices! {
    /// In what steps the window moves.
    pub(crate) enum Arithmetic { Fractions = "fractions", Whole = "whole" }
}

/// A parameter of [`Reno`].
pub(crate) const ARITHMETIC: Field<Arithmetic> = choice(Arithmetic::Fractions.value()).described(
    "whether the window moves in fractions of a segment, or in whole ones after so many acknowledged segments, with all quotients rounded down (Linux)",
);

/// No count, for there are no whole segments to wait for.
const FRACTIONS: f64 = -1.0;

/// A window and a slow-start threshold in segments.
#[derive(Clone, Debug)]
pub(crate) struct Reno {
    pub(crate) window: f64,
    pub(crate) threshold: f64,
    /// Acknowledged segments since the last step of a window in whole segments; [`FRACTIONS`] where it has such.
    credit: f64,
}

impl Reno {
    /// A flow that begins with slow start, in fractions.
    pub(crate) fn new(window: f64) -> Reno {
        Reno { window, threshold: f64::INFINITY, credit: FRACTIONS }
    }

    /// A flow that begins with slow start, in steps of `arithmetic`.
    pub(crate) fn with(arithmetic: Arithmetic, window: f64) -> Reno {
        let whole = arithmetic == Arithmetic::Whole;
        Reno { credit: if whole { 0.0 } else { FRACTIONS }, ..Reno::new(window) }
    }

    /// Whether the window moves in whole segments.
    #[inline]
    pub(crate) fn is_whole(&self) -> bool {
        self.credit >= 0.0
    }

    #[inline]
    pub(crate) fn in_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// Slow start, or additive increase of one segment per window.
    #[inline]
    pub(crate) fn grow(&mut self, acked: f64) {
        if self.is_whole() {
            let left = self.slow_start(acked);
            if left > 0.0 {
                self.step(self.window, left);
            }
            return;
        }
        self.window += if self.in_slow_start() { acked } else { acked / self.window };
    }

    /// Slow start up to the threshold; what it leaves of `acked` (`tcp_slow_start`).
    #[inline]
    pub(crate) fn slow_start(&mut self, acked: f64) -> f64 {
        if !self.in_slow_start() {
            return acked;
        }
        let taken = acked.min(self.threshold - self.window);
        self.window += taken;
        acked - taken
    }

    /// In whole segments: one more for every `count` of `acked` and those counted before (`tcp_cong_avoid_ai`).
    #[inline]
    pub(crate) fn step(&mut self, count: f64, acked: f64) {
        if !self.is_whole() {
            return;
        }
        // Gathered for a larger window that no longer holds: at most one segment.
        if self.credit >= count {
            self.credit = 0.0;
            self.window += 1.0;
        }
        self.credit += acked;
        if self.credit >= count {
            let steps = (self.credit / count).floor();
            self.credit -= steps * count;
            self.window += steps;
        }
    }

    /// The count of acknowledged segments of a window in whole segments.
    #[inline]
    pub(crate) fn credit(&mut self) -> Option<&mut f64> {
        self.is_whole().then_some(&mut self.credit)
    }

    /// Sets both, rounded down where arithmetic is whole.
    pub(crate) fn set(&mut self, window: f64, threshold: f64) {
        self.window = self.rounded(window);
        self.threshold = self.rounded(threshold);
    }

    /// A number of segments in this arithmetic.
    #[inline]
    pub(crate) fn rounded(&self, segments: f64) -> f64 {
        if self.is_whole() { segments.floor() } else { segments }
    }

    /// The answer of RFC 5681 to a signal, of which a loss leaves `kept` segments (half of something).
    pub(crate) fn reduce(&mut self, signal: Signal, kept: f64) {
        let kept = self.rounded(kept).max(MIN_THRESHOLD);
        match signal {
            Signal::Loss | Signal::Ecn => {
                self.threshold = kept;
                self.window = kept;
            }
            Signal::Timeout { repeated } => {
                if !repeated {
                    self.threshold = kept;
                }
                self.window = 1.0;
            }
        }
        self.forget_credit();
    }

    /// What was acknowledged since the window's last step counts no more (`tcp_init_cwnd_reduction`).
    pub(crate) fn forget_credit(&mut self) {
        if let Some(credit) = self.credit() {
            *credit = 0.0;
        }
    }

    /// A repair ended.
    pub(crate) fn recovered(&mut self, recovered: &Recovered) {
        self.window = recovered.window(self.window, self.threshold);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(window: f64, threshold: f64) -> Reno {
        let mut reno = Reno::with(Arithmetic::Whole, window);
        reno.threshold = threshold;
        reno
    }

    /// What slow start leaves of an acknowledgement counts for congestion avoidance.
    #[test]
    fn slow_start_stops_at_the_threshold() {
        let mut reno = whole(4.0, 6.0);
        reno.grow(5.0);
        assert_eq!((reno.window, reno.credit), (6.0, 3.0));
    }

    /// A window of w grows by one with exactly w acknowledged segments, however many come at once.
    #[test]
    fn a_step_takes_a_window_of_segments() {
        let mut reno = whole(4.0, 2.0);
        let windows: Vec<f64> = [1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 1.0, 12.0]
            .into_iter()
            .map(|acked| {
                reno.grow(acked);
                reno.window
            })
            .collect();
        assert_eq!(windows, [4.0, 4.0, 4.0, 5.0, 5.0, 5.0, 6.0, 8.0]);
    }

    /// Segments gathered for a larger window make one step and are forgotten.
    #[test]
    fn credit_for_a_larger_window_makes_one_step() {
        let mut reno = whole(100.0, 2.0);
        reno.grow(90.0);
        reno.set(10.0, 2.0);
        reno.grow(1.0);
        assert_eq!((reno.window, reno.credit), (11.0, 1.0));
    }

    #[test]
    fn reductions_round_down_and_forget() {
        let mut reno = whole(77.0, 2.0);
        reno.grow(50.0);
        reno.reduce(Signal::Loss, 77.0 / 2.0);
        assert_eq!((reno.window, reno.threshold, reno.credit), (38.0, 38.0, 0.0));
    }
}
