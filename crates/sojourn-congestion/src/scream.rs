//! SCReAM version 2: a window for media in real time, from delay, losses and marks (draft-ietf-ccwg-rfc8298bis-screamv2).
//!
//! 1. Alpha moves towards the part of segments that was marked, up by an eighth and down by 1/128 each.
//! 2. The queueing delay is averaged; from half the target on it counts as marks would.
//! 3. At most once in a round trip, or in 25 ms if that is shorter, the reference window shrinks: to 0.7 for a loss, by half of
//!    alpha for marks (to 0.8 where the receiver only echoes them), by half of what the delay says.
//! 4. What was acknowledged without a mark opens the window, by a segment in a round trip and, long after congestion, by 2 %
//!    more. Near the window at which congestion came last it grows slower.
//! 5. Three reference windows may be in flight, so that a large frame need not wait.
//!
//! The encoder is not here. A source that always has data stands for one that makes frames of the same size at exactly the
//! target bit rate, so segments are paced at that rate; a media queue, frames and what SCReAM does about them are left out, as
//! are its optional parts: jitter filter, policers, undershoot and competing flows. After a timeout, of which the draft says
//! nothing, the reference window is the smallest.

mod descriptor;
#[cfg(test)]
mod tests;

pub use descriptor::DESCRIPTOR;

use crate::control::{Ack, AppLimited, Congestion, Control, EcnUse, Path, Signal, Start};
use crate::rounds::Rounds;
use descriptor::Parameters;
use sojourn_core::registry::{ParameterError, Params};
use sojourn_core::{Rate, Span, Stream, Time};

/// MIN_REF_WND, in bytes.
const LEAST_BYTES: f64 = 3000.0;
/// VIRTUAL_RTT.
const VIRTUAL_RTT: Span = Span::from_millis(25);
/// Alpha is updated after this time or a round trip.
const ALPHA_EVERY: Span = Span::from_millis(10);
/// L4S_AVG_G_UP and L4S_AVG_G_DOWN.
const GAINS: [f64; 2] = [1.0 / 8.0, 1.0 / 128.0];
/// QDELAY_AVG_G.
const DELAY_GAIN: f64 = 1.0 / 4.0;
/// BETA_LOSS and BETA_ECN.
const LEFT_BY_LOSS: f64 = 0.7;
const LEFT_BY_ECHO: f64 = 0.8;
/// MUL_INCREASE_FACTOR.
const MULTIPLICATIVE: f64 = 0.02;
/// POST_CONGESTION_DELAY_RTT, and the round trips after which a window was not used.
const LONG_AFTER: u64 = 100;
/// BYTES_IN_FLIGHT_HEAD_ROOM.
const HEADROOM: f64 = 1.5;
/// REF_WND_OVERHEAD_MAX, which is what the draft's formula gives without its jitter filter.
const OVERHEAD: f64 = 3.0;
/// What the target bit rate is below reference window over round trip.
const BELOW_WINDOW: f64 = 1.2;

/// The state of SCReAM.
#[derive(Clone, Debug)]
pub struct Scream {
    /// ref_wnd, in segments.
    window: f64,
    /// ref_wnd_i: the window when congestion was met, and whether the next congestion sets it.
    inflection: f64,
    sets_inflection: bool,
    alpha: f64,
    alpha_updated: Option<Time>,
    delivered: f64,
    marked: f64,
    /// The most in flight in this round trip and the last one.
    flights: [f64; 2],
    rounds: Rounds,
    /// The least one-way delay, with the offset of the clocks in it.
    base_nanos: Option<i64>,
    delay: Span,
    average: Span,
    average_updated: Option<Time>,
    /// Whether there was a loss or a mark since the last reaction.
    lost: bool,
    hit: bool,
    congested: Option<Time>,
    reacted: Option<Time>,
    smoothed_rtt: Span,
    least: f64,
    mss_bytes: f64,
    l4s: bool,
    target: Span,
}

impl Scream {
    /// A control with the given parameters.
    ///
    /// # Errors
    /// None: all combinations work.
    pub fn new(params: &Params, path: &Path, _random: Stream) -> Result<Scream, ParameterError> {
        let declared = Parameters::of(params);
        let mss_bytes = f64::from(path.mss_bytes);
        let least = LEAST_BYTES / mss_bytes;
        Ok(Scream {
            window: least,
            inflection: 1.0 / mss_bytes,
            sets_inflection: true,
            alpha: 0.0,
            alpha_updated: None,
            delivered: 0.0,
            marked: 0.0,
            flights: [0.0; 2],
            rounds: Rounds::default(),
            base_nanos: None,
            delay: Span::ZERO,
            average: Span::ZERO,
            average_updated: None,
            lost: false,
            hit: false,
            congested: None,
            reacted: None,
            smoothed_rtt: Span::ZERO,
            least,
            mss_bytes,
            l4s: declared.l4s,
            target: declared.target,
        })
    }

    /// What decisions are apart at least.
    fn pause(&self) -> Span {
        VIRTUAL_RTT.min(self.smoothed_rtt)
    }

    fn is_due(&self, last: Option<Time>, now: Time, every: Span) -> bool {
        last.is_none_or(|last| now.since(last) >= every)
    }

    /// bytes_in_flight and its maxima.
    fn count_flight(&mut self, ack: &Ack) {
        if self.rounds.ends(ack) {
            self.flights = [0.0, self.flights[0]];
        }
        self.flights[0] = self.flights[0].max(ack.flight);
    }

    fn used(&self) -> f64 {
        self.flights[0].max(self.flights[1])
    }

    /// Step 1, "Receiving ECN-CE for L4S".
    fn count_marks(&mut self, ack: &Ack) {
        self.delivered += f64::from(ack.delivered);
        self.marked += f64::from(ack.marked_segments());
        if self.delivered == 0.0 || !self.is_due(self.alpha_updated, ack.now, ALPHA_EVERY.min(self.smoothed_rtt)) {
            return;
        }
        self.alpha = alpha_after(self.alpha, self.marked / self.delivered);
        self.alpha_updated = Some(ack.now);
        self.delivered = 0.0;
        self.marked = 0.0;
    }

    /// Step 2, "Detecting Increased Queue Delay".
    fn measure_delay(&mut self, ack: &Ack) {
        self.delay = match (ack.one_way_delay_nanos, ack.rtt) {
            (Some(nanos), _) => {
                let base = self.base_nanos.map_or(nanos, |base| base.min(nanos));
                self.base_nanos = Some(base);
                Span::from_nanos((nanos - base) as u64)
            }
            (None, Some(rtt)) => rtt.saturating_sub(ack.min_rtt),
            (None, None) => self.delay,
        };
        if self.is_due(self.average_updated, ack.now, self.pause()) {
            self.average = if self.delay < self.average {
                self.delay
            } else {
                self.delay.mul_f64(DELAY_GAIN) + self.average.mul_f64(1.0 - DELAY_GAIN)
            };
            self.average_updated = Some(ack.now);
        }
    }

    /// l4s_alpha_v: what the delay stands for in marks.
    fn virtual_alpha(&self) -> f64 {
        let half = self.target.mul_f64(0.5);
        self.average.saturating_sub(half).ratio(half).min(1.0)
    }

    /// Step 3, "Reference Window Reduction"; `nearness` is to the inflection point.
    fn react(&mut self, now: Time, nearness: f64) {
        if self.lost || self.hit {
            self.congested = Some(now);
        }
        let virtual_alpha = self.virtual_alpha();
        if !self.is_due(self.reacted, now, self.pause()) || !(self.lost || self.hit || virtual_alpha > 0.0) {
            return;
        }
        if self.sets_inflection {
            self.inflection = self.window;
            self.sets_inflection = false;
        }
        // A path that is longer than the virtual round trip reacts more often than once in a round trip.
        let rarer = self.smoothed_rtt.ratio(VIRTUAL_RTT).max(1.0);
        if self.lost {
            self.window *= LEFT_BY_LOSS;
        } else if self.hit && !self.l4s {
            self.window *= LEFT_BY_ECHO;
        } else if self.hit {
            let mut part = self.alpha / 2.0 / rarer;
            if self.delay < self.target.mul_f64(0.25) {
                part *= nearness.max(0.25);
            }
            let long = self.smoothed_rtt.max(VIRTUAL_RTT) * LONG_AFTER;
            if self.reacted.is_none_or(|reacted| now.since(reacted) > long) && self.flights[1] > 0.0 {
                self.window = self.window.min(self.flights[1]);
            }
            self.window *= 1.0 - part;
        } else {
            self.window *= 1.0 - virtual_alpha / 2.0 / rarer;
        }
        self.window = self.window.max(self.least);
        self.reacted = Some(now);
        self.lost = false;
        self.hit = false;
    }

    /// Step 4, "Reference Window Increase".
    fn open(&mut self, ack: &Ack, nearness: f64) {
        let long = self.smoothed_rtt.max(VIRTUAL_RTT) * LONG_AFTER;
        let recovered = self.congested.map_or(1.0, |at| ack.now.since(at).ratio(long).min(1.0));
        let unmarked = f64::from(ack.delivered - ack.marked_segments());
        let additive =
            unmarked / self.window.max(1.0) * self.smoothed_rtt.ratio(VIRTUAL_RTT).min(1.0) * nearness.max(0.25);
        let increment = additive * (1.0 + MULTIPLICATIVE * self.window * recovered * nearness);
        if increment > 0.0 && self.window + increment <= 1.0 + self.used() * HEADROOM {
            self.window += increment;
            self.sets_inflection = true;
        }
    }
}

/// Alpha after so large a part of the segments was marked: a fast attack, a slow decay.
fn alpha_after(alpha: f64, marked: f64) -> f64 {
    let [up, down] = GAINS;
    if marked >= alpha { up * marked + (1.0 - up) * alpha } else { (1.0 - down) * alpha }
}

/// scl_t: 1 far from the inflection point, 0.1 near it.
fn nearness(window: f64, inflection: f64) -> f64 {
    let distance = 8.0 * (window - inflection) / inflection;
    (distance * distance).clamp(0.1, 1.0)
}

impl Control for Scream {
    fn on_ack(&mut self, ack: &Ack) {
        if ack.smoothed_rtt.is_zero() {
            return;
        }
        self.smoothed_rtt = ack.smoothed_rtt;
        self.count_flight(ack);
        self.count_marks(ack);
        self.measure_delay(ack);
        self.hit |= self.l4s && ack.marked;
        let nearness = nearness(self.window, self.inflection);
        self.react(ack.now, nearness);
        self.open(ack, nearness);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        match event.signal {
            Signal::Loss => self.lost = true,
            Signal::Ecn if !self.l4s => self.hit = true,
            Signal::Ecn => return,
            Signal::Timeout { .. } => self.window = self.window.min(self.least),
        }
        self.react(event.now, nearness(self.window, self.inflection));
    }

    fn on_classic_feedback(&mut self) {
        self.l4s = false;
    }

    /// The window follows what was in flight, whoever limited that.
    fn on_start(&mut self, _start: &Start) {}

    fn on_app_limited(&mut self, _limited: &AppLimited) {}

    fn set_window(&mut self, window: f64, _threshold: f64) {
        self.window = window / OVERHEAD;
    }

    /// Step 5.
    fn window(&self) -> f64 {
        self.window * OVERHEAD
    }

    /// There is no slow start.
    fn slow_start_threshold(&self) -> f64 {
        self.window()
    }

    fn is_paced(&self) -> bool {
        true
    }

    /// "Media Rate Control" of a source without frames.
    fn pacing_rate(&self) -> Option<Rate> {
        if self.smoothed_rtt.is_zero() {
            return None;
        }
        let small = ((1.0 / self.window).min(1.0) - 0.1).clamp(0.0, 0.2);
        let target = (1.0 - small) / BELOW_WINDOW * self.window;
        Some(Rate::from_bytes_over(target * self.mss_bytes, self.smoothed_rtt))
    }

    fn leads_reductions(&self) -> bool {
        true
    }

    fn ecn(&self) -> EcnUse {
        if self.l4s { EcnUse::Scalable } else { EcnUse::Optional }
    }

    fn probe(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("reference_window", self.window);
        visit("alpha", self.alpha);
        visit("average_delay_ms", self.average.as_millis_f64());
    }

    fn retune(&mut self, fresh: &Scream) {
        self.target = fresh.target;
    }

    fn fixed() -> Option<&'static [&'static str]> {
        Some(&["l4s"])
    }
}
