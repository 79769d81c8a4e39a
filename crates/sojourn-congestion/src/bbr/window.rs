//! How much may be in flight: the bandwidth-delay product with room for what hosts hold, and the window on its way there.

use super::{Bbr, Mode, ROUNDING_EPSILON, Repair};
use crate::control::RateSample;
use crate::path_model::MIN_PIPE;
use crate::rounding::{rounded_down, rounded_up};
use sojourn_core::Span;

/// Time at the bandwidth that bounds the window's allowance for aggregation (`bbr_extra_acked_max_us`).
const EXTRA_TIME: Span = Span::from_millis(100);
/// Window where no round-trip time is known, and deliveries before which it grows freely (`TCP_INIT_CWND`).
const INITIAL_WINDOW: f64 = 10.0;
/// Bytes per second from which on two segments are sent at once (`bbr_min_tso_rate`).
const TWO_AT_ONCE: f64 = 1_200_000.0 / 8.0;
/// Parts of a second whose bytes are sent at once (`sk_pacing_shift`).
const QUANTA_PER_SECOND: f64 = 1024.0;
/// Most bytes sent at once (`GSO_LEGACY_MAX_SIZE`, less one and the kernel's room for headers).
const LARGEST_QUANTUM: f64 = 65_536.0 - 1.0 - 320.0;

impl Bbr {
    /// `bbr_bdp`: rounded up, for rounding down would feed back.
    #[inline]
    fn product(&self, bandwidth: f64, gain: f64) -> f64 {
        match self.least_rtt.seconds() {
            None => INITIAL_WINDOW,
            Some(seconds) => rounded_up(bandwidth * seconds * gain - ROUNDING_EPSILON),
        }
    }

    /// `bbr_tso_segs_goal`.
    #[inline]
    pub(super) fn quantum(&self) -> f64 {
        self.settings.quantum.unwrap_or_else(|| {
            let rate = self.pacing.bytes_per_second();
            let least = if rate < TWO_AT_ONCE { 1.0 } else { 2.0 };
            let bytes = (rate / QUANTA_PER_SECOND).min(LARGEST_QUANTUM);
            rounded_down(bytes / self.settings.segment_bytes).max(least)
        })
    }

    /// `bbr_quantization_budget`: room for what end hosts hold, an even number for delayed acknowledgements, and two
    /// more so that probing queues something on a small path too.
    #[inline]
    fn budget(&self, segments: f64) -> f64 {
        let even = rounded_up((segments + 3.0 * self.quantum()) / 2.0) * 2.0;
        if self.mode == Mode::ProbeBandwidth && self.phase == 0 { even + 2.0 } else { even }
    }

    /// `bbr_inflight`.
    #[inline]
    pub(super) fn in_flight(&self, gain: f64) -> f64 {
        self.budget(self.product(self.bandwidth.get(), gain))
    }

    /// `bbr_packets_in_net_at_edt`: what is left of `in_flight` when pacing lets the next quantum go, which counts where more is
    /// to be in flight.
    #[inline]
    pub(super) fn in_network(&self, in_flight: f64, held: Option<Span>) -> f64 {
        let (gain, _) = self.gains();
        let then = if gain > 1.0 { in_flight + self.quantum() } else { in_flight };
        match held {
            Some(held) => (then - rounded_down(self.estimate() * held.as_secs_f64())).max(0.0),
            None => then,
        }
    }

    /// `bbr_save_cwnd`.
    pub(super) fn save_window(&mut self) {
        let untouched = self.repair[1] == Repair::None && self.mode != Mode::ProbeRtt;
        self.prior_window = if untouched { self.window } else { self.prior_window.max(self.window) };
    }

    /// `bbr_ack_aggregation_cwnd`.
    #[inline]
    fn allowance(&self) -> f64 {
        if !self.full {
            return 0.0;
        }
        self.extra.get().min(rounded_down(self.estimate() * EXTRA_TIME.as_secs_f64()))
    }

    /// What `bbr_set_cwnd` lets the window grow to.
    #[inline]
    fn target(&mut self, gain: f64) -> f64 {
        let probes = self.mode == Mode::ProbeBandwidth && self.phase == 0;
        let flags = f64::from(u8::from(self.full) * 2 + u8::from(probes));
        let seconds = self.least_rtt.seconds().unwrap_or(f64::NAN);
        let numbers = [self.estimate(), gain, seconds, self.extra.get(), self.pacing.bytes_per_second(), flags];
        if let Some(target) = self.target.get(&numbers) {
            return target;
        }
        let target = self.budget(self.product(self.estimate(), gain) + self.allowance());
        self.target.keep(&numbers, target)
    }

    /// `bbr_set_cwnd`.
    #[inline]
    pub(super) fn set_window(&mut self, sample: &RateSample, gain: f64) {
        let acked = f64::from(sample.newly_delivered);
        if !self.recover_or_restore(sample, acked) {
            let target = self.target(gain);
            if self.full {
                self.window = (self.window + acked).min(target);
            } else if self.window < target || (self.delivered as f64) < INITIAL_WINDOW {
                self.window += acked;
            }
            self.window = self.window.max(MIN_PIPE);
        }
        if self.mode == Mode::ProbeRtt {
            self.window = self.window.min(MIN_PIPE);
        }
    }

    /// `bbr_set_cwnd_to_recover_or_restore`: whether as much is to be sent as is delivered.
    #[inline]
    fn recover_or_restore(&mut self, sample: &RateSample, acked: f64) -> bool {
        let in_flight = f64::from(sample.in_flight);
        if self.newly_lost > 0 {
            self.window = (self.window - f64::from(self.newly_lost)).max(1.0);
        }
        if !sample.repairing {
            self.repair[0] = Repair::None;
        }
        let [now, before] = self.repair;
        self.repair[1] = now;
        if now == Repair::Recovery && before != Repair::Recovery {
            self.conserving = true;
            self.rounds.restart(sample.total_delivered);
            self.window = in_flight + acked;
        } else if now == Repair::None && before != Repair::None {
            self.window = self.window.max(self.prior_window);
            self.conserving = false;
        }
        if self.conserving {
            self.window = self.window.max(in_flight + acked);
        }
        self.conserving
    }
}
