//! The window of Reno, for controls that only add to it: what kernels offer their modules as `tcp_reno_*`.
//!
//! The rules are those of [`newreno`](crate::newreno) with every acknowledged segment counted.

use crate::control::{Recovered, Signal};

/// Fewest segments that a loss leaves as threshold (RFC 5681 equation 4).
pub(crate) const LEAST_THRESHOLD: f64 = 2.0;

/// A window and a slow-start threshold in segments.
#[derive(Clone, Debug)]
pub(crate) struct Reno {
    pub(crate) window: f64,
    pub(crate) threshold: f64,
}

impl Reno {
    /// A flow that begins with slow start.
    pub(crate) fn new(window: f64) -> Reno {
        Reno { window, threshold: f64::INFINITY }
    }

    #[inline]
    pub(crate) fn in_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// Slow start, or additive increase of one segment per window.
    #[inline]
    pub(crate) fn grow(&mut self, acked: f64) {
        self.window += if self.in_slow_start() { acked } else { acked / self.window };
    }

    /// The answer of RFC 5681 to a signal, of which a loss leaves `kept` segments (half of something).
    pub(crate) fn reduce(&mut self, signal: Signal, kept: f64) {
        let kept = kept.max(LEAST_THRESHOLD);
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
    }

    /// A repair ended.
    pub(crate) fn recovered(&mut self, recovered: &Recovered) {
        self.window = recovered.window(self.window, self.threshold);
    }
}
