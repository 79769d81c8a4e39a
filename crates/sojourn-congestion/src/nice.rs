//! NICE: Vegas that gives way (Venkataramani, Kokku and Dahlin, OSDI 2002).
//!
//! 1. Per acknowledgement: a round-trip time above least + threshold x (greatest - least) counts as congestion.
//! 2. Per round: if more than fraction x window acknowledgements did, the window is halved; otherwise Vegas decides.
//! 3. The window may fall below one segment; the flow then probes with single segments, 1/window round trips apart.
//!
//! Least and greatest are those of the whole connection. The authors' prototype sends pairs below a window of 2, so as
//! not to meet delayed acknowledgements; here single segments go out below 1. It has no rule for a round with few
//! samples: here one sample decides. A loss halves as in Vegas; it never opens a window.

mod descriptor;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;
pub use descriptor::DESCRIPTOR;
use descriptor::Parameters;

use crate::advice;
use crate::control::{Ack, Congestion, Control, Path, Recovered, Signal, Start};
use crate::reno::Reno;
use crate::vegas::{Backlog, Loss, Settings as VegasSettings, Vegas};
use sojourn_core::Stream;
use sojourn_core::registry::{Advice, ParameterError, Params};

/// The state of NICE.
#[derive(Clone, Debug)]
pub struct Nice {
    vegas: Vegas,
    /// Acknowledgements of this round that met congestion.
    congested: f64,
    threshold: f64,
    fraction: f64,
    min_window: f64,
}

impl Nice {
    /// A control with the given parameters.
    ///
    /// # Errors
    /// An alpha above beta.
    pub fn new(params: &Params, path: &Path, _random: Stream) -> Result<Nice, ParameterError> {
        let declared = Parameters::of(params);
        let min_window = declared.min_window;
        let settings = VegasSettings {
            alpha: declared.alpha,
            beta: declared.beta,
            gamma: declared.gamma,
            least_window: min_window,
            least_samples: 1,
            backlog: Backlog::Base,
            mean_rtt: false,
            every_other: false,
            leaves_by_eighth: false,
            lags: false,
            loss: Loss::Half,
            forgets_base: false,
        };
        Ok(Nice {
            vegas: Vegas::with(settings, Reno::new(path.initial_window))?,
            congested: 0.0,
            threshold: declared.threshold,
            fraction: declared.fraction,
            min_window,
        })
    }

    /// Step 1.
    #[inline]
    fn met_congestion(&self, ack: &Ack) -> bool {
        let range = ack.max_rtt.saturating_sub(ack.min_rtt);
        let limit = ack.min_rtt + range.mul_f64(self.threshold);
        ack.rtt.is_some_and(|rtt| rtt > limit)
    }

    fn halve(&mut self) {
        let reno = &mut self.vegas.reno;
        reno.window = reno.window.min((reno.window / 2.0).max(self.min_window));
        reno.threshold = reno.window;
    }
}

impl Control for Nice {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        let ended = self.vegas.measure(ack);
        if ack.in_recovery {
            self.vegas.forget_round();
            self.congested = 0.0;
            return;
        }
        if self.met_congestion(ack) {
            self.congested += f64::from(ack.newly_acked);
        }
        if !ended {
            self.vegas.between(ack);
            return;
        }
        // Step 2.
        if self.congested > self.fraction * self.vegas.reno.window {
            self.halve();
            self.vegas.forget_round();
        } else {
            self.vegas.step(ack);
        }
        self.congested = 0.0;
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let Reno { window, threshold, .. } = self.vegas.reno;
        self.halve();
        if let Signal::Timeout { repeated } = event.signal {
            self.vegas.reno.window = window.min(self.min_window.max(1.0));
            if repeated {
                self.vegas.reno.threshold = threshold;
            }
        }
        self.vegas.restart_round(event);
        self.congested = 0.0;
    }

    fn on_recovered(&mut self, recovered: &Recovered) {
        self.vegas.reno.recovered(recovered);
    }

    fn on_start(&mut self, start: &Start) {
        start.unused.leave_of(self);
        self.vegas.start(start.now);
        self.congested = 0.0;
    }

    fn set_window(&mut self, window: f64, threshold: f64) {
        self.vegas.reno.window = window;
        self.vegas.reno.threshold = threshold;
    }

    #[inline]
    fn window(&self) -> f64 {
        self.vegas.reno.window
    }

    #[inline]
    fn slow_start_threshold(&self) -> f64 {
        self.vegas.reno.threshold
    }

    fn advice(params: &Params) -> Vec<Advice> {
        let fraction = "no round has more acknowledgements than its window: the flow never halves and is Vegas";
        let threshold = "no round trip is longer than the longest: the flow never halves and is Vegas";
        let below_one = 1.0 - f64::EPSILON;
        let fraction = advice::outside(params, "fraction", 0.0, below_one, fraction);
        fraction.into_iter().chain(advice::outside(params, "threshold", 0.0, below_one, threshold)).collect()
    }

    fn probe(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.vegas.show(visit);
        visit("congested_acks", self.congested);
    }

    fn retune(&mut self, fresh: &Nice) {
        self.vegas.retune(&fresh.vegas);
        (self.threshold, self.fraction, self.min_window) = (fresh.threshold, fresh.fraction, fresh.min_window);
    }

    fn fixed() -> Option<&'static [&'static str]> {
        Some(&[])
    }
}
