//! How much may be in flight: the bandwidth-delay product with room for what hosts hold, and the window on its way there.

use super::{Bbr3, State};
use crate::path_model::MIN_PIPE;
use sojourn_core::Span;

/// Time whose bytes are sent at once (C.send_quantum) ...
const QUANTUM: Span = Span::from_millis(1);
/// ... and the most of them.
const LARGEST_QUANTUM: f64 = 65_536.0;

impl Bbr3 {
    /// `BDPMultiple()`.
    #[inline]
    pub(super) fn product(&self, bandwidth: f64, gain: f64) -> f64 {
        match self.least_rtt.seconds() {
            None => self.settings.initial_window,
            Some(seconds) => gain * bandwidth * seconds,
        }
    }

    /// C.send_quantum.
    #[inline]
    pub(super) fn quantum(&self) -> f64 {
        let bytes = (self.pacing.bytes_per_second() * QUANTUM.as_secs_f64()).min(LARGEST_QUANTUM);
        (bytes / self.settings.segment_bytes).max(2.0)
    }

    /// `QuantizationBudget()`, with TCP's offload budget.
    #[inline]
    pub(super) fn budget(&self, segments: f64) -> f64 {
        let room = segments.max(3.0 * self.quantum()).max(MIN_PIPE);
        if self.state == State::Up { room + 2.0 } else { room }
    }

    /// `Inflight(bw, 1.0)`.
    #[inline]
    pub(super) fn in_flight_at(&self, bandwidth: f64) -> f64 {
        self.budget(self.product(bandwidth, 1.0))
    }

    /// `TargetInflight()`.
    #[inline]
    pub(super) fn target_in_flight(&self) -> f64 {
        self.product(self.bandwidth, 1.0).min(self.window)
    }

    /// `SaveCwnd()`.
    pub(super) fn save_window(&mut self) {
        let untouched = !self.repairing && self.state != State::ProbeRtt;
        self.prior_window = if untouched { self.window } else { self.prior_window.max(self.window) };
    }

    /// `RestoreCwnd()`.
    pub(super) fn restore_window(&mut self) {
        self.window = self.window.max(self.prior_window);
    }

    /// `ProbeRTTCwnd()`.
    #[inline]
    pub(super) fn probe_rtt_window(&self) -> f64 {
        self.product(self.bandwidth, self.settings.probe_rtt_gain).max(MIN_PIPE)
    }

    /// `SetCwnd()`.
    #[inline]
    pub(super) fn set_window(&mut self, newly: f64) {
        let (_, gain) = self.gains();
        let most = self.budget(self.product(self.bandwidth, gain) + self.extra.get());
        if self.full.ever {
            self.window = (self.window + newly).min(most);
        } else if self.window < most || (self.delivered as f64) < self.settings.initial_window {
            self.window += newly;
        }
        self.window = self.window.max(MIN_PIPE);
        if self.state == State::ProbeRtt {
            self.window = self.window.min(self.probe_rtt_window());
        }
        self.window = self.window.min(self.cap());
    }

    /// The bound of `BoundCwndForModel()`.
    #[inline]
    fn cap(&self) -> f64 {
        let long_term = match self.state {
            State::Startup | State::Drain => f64::INFINITY,
            State::Down | State::Refill | State::Up => self.bounds.long_term,
            State::Cruise | State::ProbeRtt => self.with_headroom(),
        };
        long_term.min(self.bounds.short_term).max(MIN_PIPE)
    }
}
