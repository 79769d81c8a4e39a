//! TCP-LP: TCP Low Priority (Kuzmanovic and Knightly, INFOCOM 2003).
//!
//! For each acknowledgement:
//! 1. its one-way delay enters the smoothed delay and the least and greatest delay of the connection;
//! 2. congestion is indicated where the smoothed delay exceeds least + threshold x (greatest - least), once a first
//!    loss has shown the greatest;
//! 3. a first indication halves the window and begins the inference phase, a few round trips during which the window
//!    does not grow; a further indication in that phase leaves one segment (and prolongs it);
//! 4. without an indication, and outside the phase, the window grows as Reno's.
//!
//! Losses, marks and timeouts are answered as in Reno. Linux's module is a different control under the same name:
//! its reset of the extremes lifts the threshold to 1.15 times the smoothed delay, offset between the clocks
//! included, and its estimate of the receiver's clock makes the delay itself unreliable. Each of its departures is a
//! parameter.

mod delay;
mod descriptor;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;
pub use descriptor::DESCRIPTOR;
use descriptor::{
    DelayFrom, Extremes, Greatest, Indicates, IndicatesFrom, Indication, InferenceHolds, Parameters, Registers,
    RemoteClock, Resume,
};
#[cfg(not(feature = "std"))]
use sojourn_core::Float as _;

use crate::advice;
use crate::control::{Ack, Congestion, Control, Path, Recovered};
use crate::newreno::Halve;
use crate::reno::Reno;
use delay::{Arithmetic, Delays, Level};
use sojourn_core::registry::{Advice, ParameterError, Params};
use sojourn_core::{Span, Stream, Time};

/// Smallest window of the inference phase.
const MIN_WINDOW: f64 = 1.0;

/// The state of TCP-LP.
#[derive(Clone, Debug)]
pub struct TcpLp {
    reno: Reno,
    delays: Delays,
    /// The last indication that was answered: the inference phase began then.
    indicated: Option<Time>,
    /// The last reaction to anything.
    reacted: Option<Time>,
    /// Whether indications count.
    watching: bool,
    settings: Settings,
}

/// What does not change.
#[derive(Clone, Debug)]
struct Settings {
    indicates_when_reached: bool,
    inference: f64,
    once_per_rtt: bool,
    resets_extremes: bool,
    grows_too: bool,
    resumes_in_avoidance: bool,
    holds_slow_start: bool,
    halve: Halve,
    from_echo: bool,
}

impl TcpLp {
    /// A control with the given parameters.
    ///
    /// # Errors
    /// An estimated clock with ticks that do not divide a second.
    pub fn new(params: &Params, path: &Path, mut random: Stream) -> Result<TcpLp, ParameterError> {
        let declared = Parameters::of(params);
        let tick_nanos = declared.tick.as_nanos() as i64;
        let estimate_clock = declared.remote_clock == RemoteClock::Estimated;
        if estimate_clock && 1_000_000_000 % tick_nanos != 0 {
            return Err(ParameterError::new(
                "tick",
                "must divide a second where remote_clock is estimated: Linux's estimate counts whole ticks per second",
            ));
        }
        let offset_ticks = match declared.clock_offset {
            Some(offset) => offset.as_nanos() as i64 / tick_nanos,
            None => i64::from(random.bits() as u32),
        };
        let arithmetic = Arithmetic {
            tick_nanos,
            offset_ticks,
            wraps: declared.registers == Registers::Bits32,
            smoothing: declared.smoothing as i64,
            percent: (declared.threshold * 100.0).round() as i64,
            second_highest: declared.greatest == Greatest::Second,
        };
        Ok(TcpLp {
            reno: Reno::with(declared.arithmetic, path.initial_window),
            delays: Delays::new(arithmetic, estimate_clock),
            indicated: None,
            reacted: None,
            watching: declared.indicates_from == IndicatesFrom::Start,
            settings: Settings {
                indicates_when_reached: declared.indicates == Indicates::Reached,
                inference: declared.inference,
                once_per_rtt: declared.once_per_rtt,
                resets_extremes: declared.extremes == Extremes::Reset,
                grows_too: declared.indication == Indication::GrowsToo,
                resumes_in_avoidance: declared.resume == Resume::Avoidance,
                holds_slow_start: declared.inference_holds == InferenceHolds::Growth,
                halve: declared.halve,
                from_echo: declared.delay_from == DelayFrom::Echo,
            },
        })
    }

    /// Step 2, less the indications that are not to be answered.
    #[inline]
    fn congested(&self, now: Time, rtt: Span) -> bool {
        let indicated = match self.delays.level() {
            Some(Level::Above) => true,
            Some(Level::At) => self.settings.indicates_when_reached,
            Some(Level::Below) | None => false,
        };
        let answered = self.settings.once_per_rtt && self.reacted.is_some_and(|reacted| now.since(reacted) < rtt);
        self.watching && indicated && !answered
    }

    #[inline]
    fn in_inference(&self, now: Time, rtt: Span) -> bool {
        let phase = rtt.mul_f64(self.settings.inference);
        self.indicated.is_some_and(|indicated| now.since(indicated) < phase)
    }

    /// Step 3.
    fn yield_to_others(&mut self, now: Time, in_inference: bool) {
        self.reno.window =
            if in_inference { MIN_WINDOW } else { self.reno.rounded(self.reno.window / 2.0).max(MIN_WINDOW) };
        if self.settings.resumes_in_avoidance {
            self.reno.threshold = self.reno.window;
        }
        if self.settings.resets_extremes {
            self.delays.restart_extremes();
        }
        self.indicated = Some(now);
        self.reacted = Some(now);
    }
}

impl Control for TcpLp {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(nanos) = ack.one_way_delay_nanos {
            // An echo from the future is forged; its delay would fit into no register.
            let from = if self.settings.from_echo { ack.echoed.min(ack.now) } else { ack.sent };
            let before = ack.sent.as_nanos() as i64 - from.as_nanos() as i64;
            self.delays.sample(from, before + nanos);
        }
        if ack.in_recovery {
            return;
        }
        let rtt = ack.rtt.unwrap_or(ack.smoothed_rtt);
        let in_inference = self.in_inference(ack.now, rtt);
        if self.congested(ack.now, rtt) {
            self.yield_to_others(ack.now, in_inference);
            // Linux: `tcp_lp_cong_avoid` follows `tcp_lp_pkts_acked`, which found no phase yet.
            if !self.settings.grows_too {
                return;
            }
        }
        let held = in_inference && (self.settings.holds_slow_start || !self.reno.in_slow_start());
        if !held && ack.window_limited && !ack.marked {
            self.reno.grow(f64::from(ack.newly_acked));
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let outstanding = self.settings.halve.of(event, self.reno.window);
        self.reno.reduce(event.signal, outstanding / 2.0);
        self.reacted = Some(event.now);
        self.watching = true;
    }

    fn on_recovered(&mut self, recovered: &Recovered) {
        self.reno.recovered(recovered);
    }

    fn set_window(&mut self, window: f64, threshold: f64) {
        self.reno.set(window, threshold);
    }

    #[inline]
    fn window(&self) -> f64 {
        self.reno.window
    }

    #[inline]
    fn slow_start_threshold(&self) -> f64 {
        self.reno.threshold
    }

    fn advice(params: &Params) -> Vec<Advice> {
        let threshold = "no delay is longer than the longest: the flow never yields and is Reno";
        advice::outside(params, "threshold", 0.0, 1.0 - f64::EPSILON, threshold).into_iter().collect()
    }

    fn probe(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let millis = |ticks: Option<i64>| ticks.map_or(f64::NAN, |ticks| self.delays.millis(ticks));
        visit("smoothed_delay_ms", millis(self.delays.smoothed()));
        visit("threshold_ms", millis(self.delays.threshold()));
        visit("last_indication_s", self.indicated.map_or(f64::NAN, Time::as_secs_f64));
    }

    fn retune(&mut self, fresh: &TcpLp) {
        self.settings = fresh.settings.clone();
        self.delays.retune(&fresh.delays);
    }

    fn fixed() -> Option<&'static [&'static str]> {
        Some(&[
            "arithmetic",
            "smoothing",
            "indicates_from",
            "greatest",
            "tick",
            "remote_clock",
            "clock_offset",
            "registers",
        ])
    }
}
