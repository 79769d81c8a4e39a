//! What losses say of the path: bounds for a long time from probes, for a short time from everything else.

use super::{Bbr3, MIN_PIPE, Seen, State};
use crate::control::Lost;
use sojourn_core::Time;

/// The bounds, and the deliveries of a round trip with losses that they are taken from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// BBR.inflight_longterm.
    pub(super) long_term: f64,
    /// BBR.inflight_shortterm.
    pub(super) short_term: f64,
    /// BBR.bw_shortterm.
    pub(super) bandwidth: f64,
    /// BBR.inflight_latest.
    pub(super) latest_in_flight: f64,
    /// BBR.bw_latest.
    pub(super) latest_bandwidth: f64,
    /// BBR.is_loss_in_round.
    loss_in_round: bool,
    /// BBR.loss_round_delivered.
    round_ends: u64,
    /// BBR.loss_round_start.
    round_starts: bool,
    /// Separate ranges of segments lost in the round trip.
    ranges: u32,
    /// What there was before the first loss of a round trip, should that turn out to be none.
    undo: Before,
}

/// `SaveStateUponLoss()`.
#[derive(Clone, Copy, Debug)]
struct Before {
    /// BBR.undo_state.
    state: State,
    /// BBR.undo_bw_shortterm.
    bandwidth: f64,
    /// BBR.undo_inflight_shortterm.
    short_term: f64,
    /// BBR.undo_inflight_longterm.
    long_term: f64,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            long_term: f64::INFINITY,
            short_term: f64::INFINITY,
            bandwidth: f64::INFINITY,
            latest_in_flight: 0.0,
            latest_bandwidth: 0.0,
            loss_in_round: false,
            round_ends: 0,
            round_starts: false,
            ranges: 0,
            undo: Before { state: State::Startup, bandwidth: 0.0, short_term: 0.0, long_term: 0.0 },
        }
    }
}

impl Bounds {
    /// `ResetShortTermModel()`.
    pub(super) fn forget_short_term(&mut self) {
        self.short_term = f64::INFINITY;
        self.bandwidth = f64::INFINITY;
    }

    /// `ResetCongestionSignals()`.
    pub(super) fn forget_signals(&mut self) {
        self.loss_in_round = false;
        self.latest_bandwidth = 0.0;
        self.latest_in_flight = 0.0;
    }

    /// `AdvanceLatestDeliverySignals()`.
    #[inline]
    pub(super) fn advance_latest(&mut self, seen: &Seen<'_>) {
        if self.round_starts {
            self.latest_bandwidth = seen.rate;
            self.latest_in_flight = f64::from(seen.sample.delivered);
        }
    }
}

impl Bbr3 {
    /// `UpdateLatestDeliverySignals()`.
    #[inline]
    pub(super) fn update_latest_delivery(&mut self, seen: &Seen<'_>) {
        let bounds = &mut self.bounds;
        bounds.latest_bandwidth = bounds.latest_bandwidth.max(seen.rate);
        bounds.latest_in_flight = bounds.latest_in_flight.max(f64::from(seen.sample.delivered));
        bounds.round_starts = seen.sample.prior_delivered >= bounds.round_ends;
        if bounds.round_starts {
            bounds.round_ends = self.delivered;
        }
    }

    /// The rest of `UpdateCongestionSignals()`, and `AdaptLowerBoundsFromCongestion()`.
    #[inline]
    pub(super) fn update_congestion_signals(&mut self) {
        if !self.bounds.round_starts {
            return;
        }
        let bound = if self.marks.is_some() { self.bound_of_marks() } else { f64::INFINITY };
        if !self.state.accelerates() {
            if self.bounds.loss_in_round {
                self.lower_short_term();
            }
            self.bounds.short_term = self.bounds.short_term.min(bound);
        }
        self.bounds.loss_in_round = false;
    }

    /// `InitLowerBounds()` and `LossLowerBounds()`: toward what was delivered in the last round trip.
    pub(super) fn lower_short_term(&mut self) {
        let beta = self.settings.beta;
        let bounds = &mut self.bounds;
        if bounds.bandwidth == f64::INFINITY {
            bounds.bandwidth = self.max_bandwidth.get();
        }
        if bounds.short_term == f64::INFINITY {
            bounds.short_term = self.window;
        }
        bounds.bandwidth = bounds.latest_bandwidth.max(beta * bounds.bandwidth);
        bounds.short_term = bounds.latest_in_flight.max(beta * bounds.short_term);
    }

    /// `CheckStartupHighLoss()`: a whole round trip of repair that lost much in many places. Without SACK one loss a
    /// round trip is all that can be seen.
    #[inline]
    pub(super) fn startup_loses_much(&mut self, seen: &Seen<'_>) -> bool {
        let many = if self.settings.sack {
            self.bounds.round_starts && self.bounds.ranges >= self.settings.startup_losses
        } else {
            self.bounds.ranges > 0
        };
        if self.bounds.round_starts {
            self.bounds.ranges = 0;
        }
        many && seen.sample.repairing && self.sample_is_too_high(seen)
    }

    /// `IsInflightTooHigh()` of a sample.
    #[inline]
    pub(super) fn sample_is_too_high(&mut self, seen: &Seen<'_>) -> bool {
        self.is_too_high(seen.sample.lost as f64, f64::from(seen.sample.tx_in_flight))
            || (self.marks.is_some() && self.marks_are_too_many(seen))
    }

    /// `NoteLoss()`.
    pub(super) fn note_loss(&mut self) {
        if !self.bounds.loss_in_round {
            self.bounds.round_ends = self.delivered;
            self.save_window();
            let bounds = &mut self.bounds;
            bounds.undo = Before {
                state: self.state,
                bandwidth: bounds.bandwidth,
                short_term: bounds.short_term,
                long_term: bounds.long_term,
            };
        }
        self.bounds.loss_in_round = true;
    }

    /// `HandleSpuriousLossDetection()`.
    pub(super) fn forget_loss(&mut self) {
        let bounds = &mut self.bounds;
        let before = bounds.undo;
        bounds.loss_in_round = false;
        bounds.bandwidth = bounds.bandwidth.max(before.bandwidth);
        bounds.short_term = bounds.short_term.max(before.short_term);
        bounds.long_term = bounds.long_term.max(before.long_term);
        self.full.restart(0.0);
        if self.state == State::ProbeRtt || self.state == before.state {
            return;
        }
        match before.state {
            State::Startup => self.state = State::Startup,
            State::Up => self.start_up(self.bounds.latest_bandwidth),
            _ => {}
        }
    }

    /// `HandleLostPacket()`.
    pub(super) fn handle_lost(&mut self, lost: &Lost) {
        self.delivered = lost.total_delivered;
        self.note_loss();
        self.bounds.ranges += u32::from(lost.new_range);
        if !self.probing.samples {
            return;
        }
        let (many, tx_in_flight) = (lost.lost as f64, f64::from(lost.tx_in_flight));
        if !self.is_too_high(many, tx_in_flight) {
            return;
        }
        let app_limited = lost.app_limited || self.muted.covers(lost.prior_delivered);
        let fitted = (!app_limited).then(|| self.in_flight_at_loss(many, tx_in_flight));
        self.handle_too_high(fitted, lost.now);
    }

    /// `HandleInflightTooHigh()`, once per probe; `fitted` in flight where the application did not limit it.
    pub(super) fn handle_too_high(&mut self, fitted: Option<f64>, now: Time) {
        self.probing.too_high = true;
        self.probing.samples = false;
        if let Some(fitted) = fitted {
            self.bounds.long_term = fitted.max(self.target_in_flight() * self.settings.beta);
        }
        if self.state == State::Up {
            self.start_down(now);
        }
    }

    /// `IsInflightTooHigh()`.
    #[inline]
    pub(super) fn is_too_high(&self, lost: f64, tx_in_flight: f64) -> bool {
        lost > tx_in_flight * self.settings.loss_threshold || (lost > 0.0 && !self.settings.sack)
    }

    /// `InflightAtLoss()`: what was in flight when losses passed the threshold. A prefix of a segment cannot be negative
    /// (so does Google's kernel).
    pub(super) fn in_flight_at_loss(&self, lost: f64, tx_in_flight: f64) -> f64 {
        let threshold = self.settings.loss_threshold;
        let (before, lost_before) = (tx_in_flight - 1.0, lost - 1.0);
        before + ((threshold * before - lost_before) / (1.0 - threshold)).max(0.0)
    }

    /// `InflightWithHeadroom()`.
    #[inline]
    pub(super) fn with_headroom(&self) -> f64 {
        let most = self.bounds.long_term;
        if most == f64::INFINITY { most } else { (most - (self.settings.headroom * most).max(1.0)).max(MIN_PIPE) }
    }
}
