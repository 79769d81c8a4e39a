//! LEDBAT as in libutp, BitTorrent's library.
//!
//! For each acknowledgement, in the order of `apply_ccontrol`:
//! 1. the queueing delay is the least of the last three samples over the base delay, but no more than the round-trip
//!    time, plus a penalty for a clock that drifts;
//! 2. the gain is 3000 B x (target - delay)/target x acknowledged/window; no gain where the window has not limited
//!    sending for a second;
//! 3. in slow start the window grows by a packet x acknowledged/window if that is more, until the threshold or 0.9 of
//!    the target ends it. As the factor is a share of the window, this is one packet per round trip and not a doubling:
//!    near an empty queue step 2 is the faster;
//! 4. the window is kept between 10 B and the send buffer, in whole bytes.
//!
//! A loss or mark halves, at most every 100 ms; a timeout leaves one packet and slow start, with the old threshold.
//! There is no phase of recovery: acknowledgements always move the window. Below one packet nothing is sent until the
//! transport's timer has gone off, counted from the last acknowledgement; then the flow starts anew with one packet.
//! What is not kept: several halvings within one recovery of the transport; the decay of an idle connection's window by
//! a third per timeout, of which only the end is kept: one packet.

mod descriptor;
mod drift;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;
pub use descriptor::DESCRIPTOR;
use descriptor::Parameters;
#[cfg(not(feature = "std"))]
use sojourn_core::Float as _;

use crate::advice;
use crate::control::{Ack, AppLimited, Congestion, Control, Path, Signal, Start};
use crate::ledbat::history::{BaseDelay, CurrentDelay, Rollover};
use crate::rounding::rounded_down;
use drift::Drift;
use sojourn_core::registry::{Advice, ParameterError, Params};
use sojourn_core::{Span, Stream, Time};

/// Length of a period of the base delay.
const BASE_PERIOD: Span = Span::from_secs(60);
/// Largest correction for clocks that run apart.
const MAX_SKEW_NANOS: i64 = 10_000_000;

/// The state of libutp's control.
#[derive(Clone, Debug)]
pub struct Libutp {
    /// The window in whole bytes (max_window).
    bytes: f64,
    /// The same in packets.
    window: f64,
    threshold: f64,
    in_slow_start: bool,
    base: BaseDelay,
    /// The base delay of the way back, as this sender's clock sees it.
    base_back: BaseDelay,
    /// Filters delays that are already over the base.
    current: CurrentDelay,
    drift: Option<Drift>,
    queueing_nanos: Option<i64>,
    limited: Option<Time>,
    halved: Option<Time>,
    settings: Settings,
}

/// What does not change.
#[derive(Clone, Debug)]
struct Settings {
    packet: f64,
    target_nanos: f64,
    gain: f64,
    min_window: f64,
    max_window: f64,
    slow_start: bool,
    slow_start_exit_nanos: f64,
    decay_interval: Span,
    rate_limit_after: Span,
    skew_correction: bool,
}

impl Libutp {
    /// A control with the given parameters.
    ///
    /// # Errors
    /// A send buffer that does not hold the smallest window, or a packet.
    pub fn new(params: &Params, path: &Path, _random: Stream) -> Result<Libutp, ParameterError> {
        let declared = Parameters::of(params);
        let target_nanos = declared.target.as_nanos() as f64;
        let settings = Settings {
            packet: f64::from(path.mss_bytes),
            target_nanos,
            gain: declared.gain_bytes,
            min_window: declared.min_window_bytes as f64,
            max_window: declared.send_buffer_bytes as f64,
            slow_start: declared.slow_start,
            slow_start_exit_nanos: declared.slow_start_exit * target_nanos,
            decay_interval: declared.decay_interval,
            rate_limit_after: declared.rate_limit_after,
            skew_correction: declared.skew_correction,
        };
        if settings.max_window < settings.min_window.max(settings.packet) {
            return Err(ParameterError::new(
                "send_buffer_bytes",
                "must hold min_window_bytes and a full packet: the window can be no larger than this buffer",
            ));
        }
        let history = || BaseDelay::new(declared.base_history as usize, BASE_PERIOD, Rollover::Elapsed, false);
        Ok(Libutp {
            bytes: settings.packet,
            window: 1.0,
            threshold: settings.max_window,
            in_slow_start: settings.slow_start,
            base: history(),
            base_back: history(),
            current: CurrentDelay::new(declared.filter as usize, false),
            drift: declared.drift_penalty.then(Drift::new),
            queueing_nanos: None,
            limited: None,
            halved: None,
            settings,
        })
    }

    /// Step 1: the queueing delay, before the penalty and the limit of the round-trip time.
    #[inline]
    fn sample(&mut self, delay: i64, ack: &Ack) -> Option<i64> {
        if self.settings.skew_correction
            && let Some(rtt) = ack.rtt
        {
            let before = self.base_back.nanos();
            self.base_back.sample(rtt.as_nanos() as i64 - delay, ack.now);
            if let (Some(before), Some(after)) = (before, self.base_back.nanos())
                && (1..=MAX_SKEW_NANOS).contains(&(before - after))
            {
                self.base.raise(before - after);
            }
        }
        self.base.sample(delay, ack.now);
        if let Some(drift) = &mut self.drift {
            drift.sample(delay, ack.now);
        }
        let over_base = delay - self.base.nanos()?;
        Some(self.current.sample(over_base, ack.now, Span::ZERO))
    }

    /// The window becomes so many bytes.
    #[inline]
    fn set(&mut self, bytes: f64) {
        self.bytes = bytes;
        self.window = bytes / self.settings.packet;
    }

    /// The delay that the window answers to.
    #[inline]
    fn queueing_nanos(&mut self, ack: &Ack) -> Option<i64> {
        if let Some(delay) = ack.one_way_delay_nanos {
            let queueing = self.sample(delay, ack)?;
            let rtt = ack.rtt.map_or(i64::MAX, |rtt| rtt.as_nanos() as i64);
            if self.settings.skew_correction && queueing > rtt {
                self.base.raise(queueing - rtt);
            }
            let penalty = self.drift.as_ref().map_or(0, Drift::penalty_nanos);
            self.queueing_nanos = Some(queueing.min(rtt) + penalty);
        }
        self.queueing_nanos
    }

    /// Step 2.
    #[inline]
    fn gain(&self, queueing: f64, share: f64, now: Time) -> f64 {
        let settings = &self.settings;
        let gain = settings.gain * share * ((settings.target_nanos - queueing) / settings.target_nanos);
        let limited = self.limited.is_some_and(|limited| now.since(limited) <= settings.rate_limit_after);
        if gain > 0.0 && !limited { 0.0 } else { gain }
    }
}

impl Control for Libutp {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if ack.window_limited {
            self.limited = Some(ack.now);
        }
        let Some(queueing) = self.queueing_nanos(ack).map(|nanos| nanos as f64) else { return };
        let settings = &self.settings;
        let acked = f64::from(ack.newly_acked) * settings.packet;
        let share = acked.min(self.bytes) / acked.max(self.bytes);
        let ledbat = (self.bytes + self.gain(queueing, share, ack.now)).max(settings.min_window);
        let ledbat = rounded_down(ledbat);
        if self.in_slow_start {
            // Step 3.
            let slow_start = rounded_down(self.bytes + share * settings.packet);
            if slow_start > self.threshold {
                self.in_slow_start = false;
            } else if queueing > settings.slow_start_exit_nanos {
                self.in_slow_start = false;
                self.threshold = self.bytes;
            } else {
                self.bytes = slow_start.max(ledbat);
            }
        } else {
            self.bytes = ledbat;
        }
        self.set(self.bytes.clamp(settings.min_window, settings.max_window));
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let settings = &self.settings;
        match event.signal {
            Signal::Loss | Signal::Ecn => {
                if self.halved.is_some_and(|halved| event.now.since(halved) < settings.decay_interval) {
                    return;
                }
                self.halved = Some(event.now);
                self.set((self.bytes / 2.0).floor().max(settings.min_window));
                self.in_slow_start = false;
                self.threshold = self.bytes;
            }
            Signal::Timeout { .. } => {
                self.in_slow_start = settings.slow_start;
                self.set(self.settings.packet);
            }
        }
    }

    /// The library's timer goes on without packets, twice as far apart each time, and each time lets the window decay by a
    /// third; what the transport would leave is nothing to it (`UTPSocket::check_timeouts`).
    fn on_start(&mut self, start: &Start) {
        let mut left = start.idle;
        let mut timeout = start.timeout;
        while left >= timeout && self.bytes > self.settings.packet {
            left = left.saturating_sub(timeout);
            timeout = timeout * 2;
            self.set((self.bytes * 2.0 / 3.0).floor().max(self.settings.packet));
        }
    }

    fn on_app_limited(&mut self, _limited: &AppLimited) {}

    fn set_window(&mut self, window: f64, threshold: f64) {
        self.set((window * self.settings.packet).floor().min(self.settings.max_window));
        self.threshold = (threshold * self.settings.packet).min(self.settings.max_window);
    }

    #[inline]
    fn window(&self) -> f64 {
        self.window
    }

    #[inline]
    fn waits_for_timeout(&self) -> bool {
        self.bytes < self.settings.packet
    }

    #[inline]
    fn slow_start_threshold(&self) -> f64 {
        let threshold = if self.in_slow_start { self.threshold } else { self.threshold.min(self.bytes) };
        threshold / self.settings.packet
    }

    fn advice(params: &Params) -> Vec<Advice> {
        advice::long_target(params).into_iter().collect()
    }

    fn probe(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let millis = |nanos: Option<i64>| nanos.map_or(f64::NAN, |nanos| nanos as f64 / 1e6);
        visit("base_delay_ms", millis(self.base.nanos()));
        visit("queueing_delay_ms", millis(self.queueing_nanos));
        visit("window_bytes", self.bytes);
    }

    fn retune(&mut self, fresh: &Libutp) {
        self.settings = fresh.settings.clone();
    }

    fn fixed() -> Option<&'static [&'static str]> {
        Some(&["send_buffer_bytes", "slow_start", "base_history", "filter", "drift_penalty"])
    }
}
