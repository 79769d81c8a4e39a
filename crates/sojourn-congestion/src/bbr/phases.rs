//! When the pipe is full, has been drained, and when the next phase of the cycle begins.

use super::{Bbr, CYCLE, Mode};
use crate::control::{Ack, RateSample};
use sojourn_core::Time;

/// The cycle begins at a random phase, but not with draining: so many to choose from (`bbr_cycle_rand`).
const FIRST_PHASES: u64 = 7;
/// Growth of bandwidth that shows that the pipe is not yet full (`bbr_full_bw_thresh`).
const FULL_GROWTH: f64 = 1.25;
/// Round trips without it that show that it is (`bbr_full_bw_cnt`).
const FULL_ROUNDS: u32 = 3;

impl Bbr {
    /// `bbr_update_cycle_phase`.
    #[inline]
    pub(super) fn update_cycle(&mut self, ack: &Ack) {
        if self.mode == Mode::ProbeBandwidth && self.phase_ends(ack) {
            self.next_phase(ack.now);
        }
    }

    /// `bbr_is_next_cycle_phase`.
    #[inline]
    pub(super) fn phase_ends(&self, ack: &Ack) -> bool {
        let full_length = self.least_rtt.get().is_some_and(|rtt| ack.now.since(self.phase_began) > rtt);
        let (gain, _) = self.gains();
        if gain == 1.0 {
            return full_length;
        }
        let in_network = self.in_network(ack.flight, ack.rate.as_ref().and_then(|sample| sample.held));
        if gain > 1.0 {
            // A lossy path may never hold as much as is aimed at.
            full_length && (self.newly_lost > 0 || in_network >= self.in_flight(gain))
        } else {
            full_length || in_network <= self.in_flight(1.0)
        }
    }

    fn next_phase(&mut self, now: Time) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_began = now;
    }

    /// `bbr_reset_probe_bw_mode`.
    pub(super) fn enter_probe_bandwidth(&mut self, now: Time) {
        self.mode = Mode::ProbeBandwidth;
        self.phase = CYCLE.len() - 1 - self.random.below(FIRST_PHASES) as usize;
        self.next_phase(now);
    }

    /// `bbr_check_full_bw_reached`.
    #[inline]
    pub(super) fn check_full(&mut self, app_limited: bool) {
        if self.full || !self.rounds.starts() || app_limited {
            return;
        }
        if self.bandwidth.get() >= self.full_bandwidth * FULL_GROWTH {
            self.full_bandwidth = self.bandwidth.get();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= FULL_ROUNDS;
    }

    /// `bbr_check_drain`.
    #[inline]
    pub(super) fn check_drain(&mut self, now: Time, sample: &RateSample) {
        // With the gain that the last acknowledgement left.
        let in_network = match sample.held {
            Some(_) => self.in_network(f64::from(sample.in_flight), sample.held),
            None => f64::from(sample.in_flight),
        };
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            self.threshold = self.in_flight(1.0);
        }
        if self.mode == Mode::Drain && in_network <= self.in_flight(1.0) {
            self.enter_probe_bandwidth(now);
        }
    }
}
