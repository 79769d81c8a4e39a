//! fLEDBAT: LEDBAT made fair by multiplicative decrease (Carofiglio, Muscariello, Rossi, Testa and Valenti,
//! "Rethinking the low extra delay background transport protocol", arXiv 1010.5623).
//!
//! For each acknowledged segment, with the queueing delay less the target as delta:
//! 1. the window grows by alpha/window, as Reno's, whatever the delay;
//! 2. above the target it also shrinks by zeta x delta/target.
//!
//! LEDBAT's decrease is a step per round trip, so two flows keep the difference between their windows, and a newcomer
//! that takes the others' queue for the path pushes them away. Here the decrease has a share of every acknowledgement:
//! a larger window loses more per round trip, and what it loses in the round trip before it notices drains the queue, so
//! that newcomers see the path. That needs a target that such a drain can empty: with zeta 5, 10 Mbit/s and 50 ms two
//! flows share evenly at a target of 25 ms; at 50 ms it depends on when the newcomer comes, and at 100 ms it wins as it
//! does with LEDBAT.
//!
//! Delays are LEDBAT's: one way, least of the last samples over the least of the last minutes. A loss or mark halves,
//! at most once per round trip; a timeout leaves one segment. There is no slow start.

#[cfg(test)]
mod tests;

use crate::advice;
use crate::control::{Ack, Congestion, Control, Path, Signal, Start};
use crate::ledbat::history::{BaseDelay, CurrentDelay, Rollover};
use alloc::vec::Vec;
use sojourn_core::parameters;
use sojourn_core::registry::declare::{integer, number, span};
use sojourn_core::registry::{Advice, Descriptor, Linux, ParameterError, Params, Preset};
use sojourn_core::{Span, Stream, Time};

parameters! {
    /// What can be set.
    struct Parameters {
        /// queueing delay aimed at (tau)
        target: Span = span(Span::from_millis(100), Span::from_micros(100)..=Span::from_secs(10)),
        /// segments by which the window grows in a round trip (alpha)
        alpha: f64 = number(1.0, 1e-6..=100.0),
        /// segments that an acknowledged one takes from the window at twice the target (zeta); the authors study 0.1 to
        /// 10
        zeta: f64 = number(5.0, 0.0..=1000.0),
        /// smallest window in segments, except after a timeout, which leaves 1 (MIN_CWND of RFC 6817)
        min_window: f64 = number(2.0, 1.0..=1e6),
        /// minima of a minute each that are kept for the base delay (BASE_HISTORY)
        base_history: u64 = integer(10, 1..=1000),
        /// last samples, of the last round trip, whose minimum is the current delay (CURRENT_FILTER)
        filter: u64 = integer(4, 1..=1000),
    }
}

/// What `fledbat` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "fledbat",
    summary: "fair LEDBAT: grows as Reno below and above the target, and loses a share of every acknowledgement above it",
    sources: &[
        "Carofiglio, Muscariello, Rossi, Testa and Valenti, Rethinking the low extra delay background transport protocol, arXiv 1010.5623",
        "RFC 6817",
    ],
    parameters: &Parameters::LIST,
    presets: &[Preset { name: "paper", summary: "alpha 1 and zeta 5 with RFC 6817's delays", values: &[] }],
    linux: Linux::Absent("Linux has no LEDBAT"),
    low_priority: true,
    ..Descriptor::PLAIN
};

/// Length of a period of the base delay.
const BASE_PERIOD: Span = Span::from_secs(60);

/// The state of fLEDBAT.
#[derive(Clone, Debug)]
pub struct FairLedbat {
    window: f64,
    base: BaseDelay,
    current: CurrentDelay,
    queueing_nanos: Option<i64>,
    reduced: Option<Time>,
    target_nanos: f64,
    alpha: f64,
    zeta: f64,
    min_window: f64,
}

impl FairLedbat {
    /// A control with the given parameters.
    ///
    /// # Errors
    /// None: all combinations work.
    pub fn new(params: &Params, path: &Path, _random: Stream) -> Result<FairLedbat, ParameterError> {
        let declared = Parameters::of(params);
        Ok(FairLedbat {
            window: path.initial_window,
            base: BaseDelay::new(declared.base_history as usize, BASE_PERIOD, Rollover::Clock, false),
            current: CurrentDelay::new(declared.filter as usize, true),
            queueing_nanos: None,
            reduced: None,
            target_nanos: declared.target.as_nanos() as f64,
            alpha: declared.alpha,
            zeta: declared.zeta,
            min_window: declared.min_window,
        })
    }
}

impl Control for FairLedbat {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(delay) = ack.one_way_delay_nanos {
            self.base.sample(delay, ack.now);
            let current = self.current.sample(delay, ack.now, ack.smoothed_rtt);
            self.queueing_nanos = self.base.nanos().map(|base| current - base);
        }
        let Some(queueing) = self.queueing_nanos.filter(|_| !ack.in_recovery) else { return };
        let excess = (queueing as f64 / self.target_nanos - 1.0).max(0.0);
        let step = (self.alpha / self.window - self.zeta * excess) * f64::from(ack.newly_acked);
        if step <= 0.0 || (ack.window_limited && !ack.marked) {
            self.window = (self.window + step).max(self.min_window);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        match event.signal {
            Signal::Loss | Signal::Ecn => {
                // At most once per round trip.
                if self.reduced.is_some_and(|reduced| event.now.since(reduced) < event.smoothed_rtt) {
                    return;
                }
                self.reduced = Some(event.now);
                self.window = self.window.min((self.window / 2.0).max(self.min_window));
            }
            Signal::Timeout { .. } => self.window = 1.0,
        }
    }

    fn on_start(&mut self, start: &Start) {
        start.unused.leave_of(self);
        self.current.clear();
    }

    fn set_window(&mut self, window: f64, _threshold: f64) {
        self.window = window;
    }

    #[inline]
    fn window(&self) -> f64 {
        self.window
    }

    /// There is no slow start.
    #[inline]
    fn slow_start_threshold(&self) -> f64 {
        self.window
    }

    fn advice(params: &Params) -> Vec<Advice> {
        let zeta = "no delay makes the window smaller: a flow behaves as Reno without slow start";
        advice::long_target(params)
            .into_iter()
            .chain(advice::outside(params, "zeta", f64::MIN_POSITIVE, f64::INFINITY, zeta))
            .collect()
    }

    fn probe(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let millis = |nanos: Option<i64>| nanos.map_or(f64::NAN, |nanos| nanos as f64 / 1e6);
        visit("base_delay_ms", millis(self.base.nanos()));
        visit("queueing_delay_ms", millis(self.queueing_nanos));
    }

    fn retune(&mut self, fresh: &FairLedbat) {
        (self.target_nanos, self.min_window) = (fresh.target_nanos, fresh.min_window);
        (self.alpha, self.zeta) = (fresh.alpha, fresh.zeta);
    }

    fn fixed() -> Option<&'static [&'static str]> {
        Some(&["base_history", "filter"])
    }
}
