//! The least round-trip time, and emptying the path to measure it.

use super::{Bbr, Mode};
use crate::control::RateSample;
use crate::path_model::MIN_PIPE;
use sojourn_core::{Span, Time};

/// What a clock of whole microseconds makes of `rtt`, which ends `now`.
fn in_whole_micros(now: Time, rtt: Span) -> Span {
    Span::from_micros(now.as_nanos() / 1000 - now.as_nanos().saturating_sub(rtt.as_nanos()) / 1000)
}

impl Bbr {
    /// `bbr_update_min_rtt`, with the time of an empty path.
    #[inline]
    pub(super) fn update_least_rtt(&mut self, now: Time, rtt: Option<Span>, sample: &RateSample) {
        // The tick began no later than now: mostly a division less.
        let expired = self.least_rtt.expired(now) && self.least_rtt.expired(self.at_tick(now));
        // A lone segment per round trip: its acknowledgement was probably delayed.
        let delayed = sample.prior_delivered + 1 == sample.total_delivered;
        // The kernel's clock counts microseconds: it may find a round-trip time shorter than it is by less than one.
        let least = self.least_rtt.get().map_or(Span::MAX, |least| least + Span::from_micros(1));
        if let Some(rtt) = rtt.filter(|rtt| expired || *rtt < least) {
            let rtt = in_whole_micros(now, rtt);
            let renewed = self.least_rtt.get().is_none_or(|least| {
                rtt < least || (rtt == least && self.settings.renewed_by_equal) || (expired && !delayed)
            });
            if renewed {
                self.least_rtt.set(rtt, self.at_tick(now));
            }
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.save_window();
            self.mode = Mode::ProbeRtt;
            self.probe_rtt_ends = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(now, sample);
        }
        self.idle_restart = false;
    }

    fn probe_rtt(&mut self, now: Time, sample: &RateSample) {
        self.muted.extend(sample.total_delivered, sample.in_flight);
        match self.probe_rtt_ends {
            None if f64::from(sample.in_flight) <= MIN_PIPE => {
                self.probe_rtt_ends = Some(self.at_tick(now) + self.settings.probe_rtt_duration);
                self.probe_rtt_round_done = false;
                self.rounds.restart(sample.total_delivered);
            }
            None => {}
            Some(_) => {
                self.probe_rtt_round_done |= self.rounds.starts();
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_done(now);
                }
            }
        }
    }

    /// `bbr_check_probe_rtt_done`.
    pub(super) fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt_ends.is_some_and(|ends| self.at_tick(now) > ends) {
            self.leave_probe_rtt(now);
        }
    }

    /// The tick that began last (`tcp_jiffies32`).
    #[inline]
    pub(super) fn at_tick(&self, now: Time) -> Time {
        match self.settings.tick.as_nanos() {
            0 => now,
            tick => Time::from_nanos(now.as_nanos() / tick * tick),
        }
    }

    /// `bbr_reset_mode`.
    fn leave_probe_rtt(&mut self, now: Time) {
        self.least_rtt.renew(self.at_tick(now));
        self.window = self.window.max(self.prior_window);
        if self.full {
            self.enter_probe_bandwidth(now);
        } else {
            self.mode = Mode::Startup;
        }
    }
}
