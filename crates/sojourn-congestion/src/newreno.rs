//! NewReno: additive increase, multiplicative decrease (RFC 5681, with the recovery of RFC 6582).
//!
//! The window rules of RFC 5681 section 3.1 and the exit rule of RFC 6582 section 3.2 step 3 are here;
//! which segments are lost and when to retransmit is the transport's business.

#[cfg(test)]
mod tests;

use crate::advice;
use crate::control::{Ack, Congestion, Control, Path, Recovered, Signal};
use crate::hystart::{self, SlowStart};
use crate::reno::{self, Arithmetic, Reno};
use alloc::vec::Vec;
use sojourn_core::Stream;
use sojourn_core::registry::declare::{Field, choice, integer, number_in, or_auto, unless_auto};
use sojourn_core::registry::{Advice, Descriptor, Form, Linux, ParameterError, Params, Preset, Value};
use sojourn_core::{choices, parameters};

parameters! {
    /// What can be set.
    struct Parameters {
        slow_start_limit: Option<u64> = SLOW_START_LIMIT,
        count: Count = COUNT,
        halve: Halve = HALVE,
        arithmetic: Arithmetic = reno::ARITHMETIC,
        /// slow-start threshold before the first loss, in segments; auto is no threshold
        initial_threshold: Option<f64> = or_auto(&number_in(2.0..=1e9)),
        hystart: hystart::Only = hystart::ONLY,
        /// part of the window that a congestion mark leaves (beta_ecn of RFC 8511: 0.8; 0.7 to 0.85 is its range); auto
        /// is half, as for a loss
        abe: Option<f64> = or_auto(&number_in(0.5..=0.99)),
    }
}

/// What `newreno` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "newreno",
    summary: "slow start, congestion avoidance, halving on loss: standard best-effort TCP",
    sources: &[
        "RFC 5681",
        "RFC 6582",
        "RFC 3465",
        "RFC 9406",
        "RFC 8511",
        "Linux net/ipv4/tcp_cong.c",
        "ns-2.35 tcp/tcp.cc",
        "ns-3.37 src/internet/model/tcp-congestion-ops.cc",
    ],
    parameters: &Parameters::LIST,
    presets: &[
        Preset { name: "rfc", summary: "RFC 5681", values: &[] },
        Preset {
            name: "abe",
            summary: "RFC 8511, alternative backoff with ECN: a mark leaves 0.8 of the window",
            values: &[("abe", Value::Number(0.8))],
        },
        Preset {
            name: "linux",
            summary: "Linux reno: counts every acknowledged segment, halves the window, in whole segments",
            values: &[
                ("slow_start_limit", Value::Auto),
                ("halve", Halve::Window.value()),
                ("arithmetic", Arithmetic::Whole.value()),
            ],
        },
        Preset {
            name: "ns2",
            summary: "ns-2.35 Agent/TCP/Newreno: counts acknowledgements, halves the window",
            values: &[("count", Count::Acks.value()), ("halve", Halve::Window.value())],
        },
        Preset {
            name: "ns3",
            summary: "ns-3.37 TcpNewReno: counts acknowledgements, halves what SACK leaves in flight",
            values: &[("count", Count::Acks.value()), ("halve", Halve::Pipe.value())],
        },
    ],
    linux: Linux::Kernel(&[Form { name: "reno", module: "", ..Form::PLAIN }]),
    ..Descriptor::PLAIN
};

/// A parameter of [`Growth`].
pub(crate) const SLOW_START_LIMIT: Field<Option<u64>> = unless_auto(&integer(1, 1..=1_000_000)).described(
    "most segments by which one acknowledgement may open the window in slow start (L of RFC 3465); auto is no limit",
);

/// A parameter of [`Growth`].
pub(crate) const COUNT: Field<Count> = choice(Count::Segments.value()).described(
    "what congestion avoidance counts: acknowledged segments (RFC 5681, equation 3 with byte counting) or acknowledgements",
);

choices! {
    /// What congestion avoidance counts.
    pub(crate) enum Count { Segments = "segments", Acks = "acks" }
}

/// What a loss halves.
pub(crate) const HALVE: Field<Halve> = choice(Halve::Flight.value()).described(
    "what a loss halves: the data in flight (RFC 5681, equation 4), the congestion window, or what is in flight without what selective acknowledgements report (ns-3)",
);

choices! {
    /// As [`HALVE`] says.
    pub(crate) enum Halve { Flight = "flight", Window = "window", Pipe = "pipe" }
}

impl Halve {
    /// The segments of which a signal leaves a part, in a window of `window`.
    pub(crate) fn of(self, event: &Congestion, window: f64) -> f64 {
        match self {
            Halve::Flight => event.flight,
            Halve::Window => window,
            Halve::Pipe => event.pipe,
        }
    }
}

/// Part of the window that a loss leaves.
const LOSS_LEAVES: f64 = 0.5;

/// How Reno opens its window, for the controls that differ from it in other things.
#[derive(Clone, Debug)]
pub(crate) struct Growth {
    slow_start_limit: f64,
    count_acks: bool,
}

impl Growth {
    /// As [`SLOW_START_LIMIT`] and [`COUNT`] say.
    pub(crate) fn new(slow_start_limit: Option<u64>, count: Count) -> Growth {
        Growth {
            slow_start_limit: slow_start_limit.map_or(f64::INFINITY, |limit| limit as f64),
            count_acks: count == Count::Acks,
        }
    }

    /// By how much an acknowledgement of `acked` segments opens the window in slow start.
    #[inline]
    pub(crate) fn slow_start(&self, acked: f64) -> f64 {
        acked.min(self.slow_start_limit)
    }

    /// The same in congestion avoidance.
    #[inline]
    pub(crate) fn avoidance(&self, acked: f64, window: f64) -> f64 {
        if self.count_acks { 1.0 / window } else { acked / window }
    }

    /// The same on either side of the threshold.
    #[inline]
    pub(crate) fn step(&self, acked: f64, window: f64, threshold: f64) -> f64 {
        if window < threshold { self.slow_start(acked) } else { self.avoidance(acked, window) }
    }

    /// The same done to `reno`.
    #[inline]
    pub(crate) fn open(&self, reno: &mut Reno, acked: f64) {
        if reno.is_whole() {
            reno.grow(acked);
        } else {
            reno.window += self.step(acked, reno.window, reno.threshold);
        }
    }

    /// Congestion avoidance done to `reno`.
    #[inline]
    fn avoid(&self, reno: &mut Reno, acked: f64) {
        if reno.is_whole() {
            if acked > 0.0 {
                reno.step(reno.window, acked);
            }
        } else {
            reno.window += self.avoidance(acked, reno.window);
        }
    }
}

/// Refuses to count acknowledgements in whole arithmetic, whose step comes after so many acknowledged segments.
pub(crate) fn count_segments_where_whole(arithmetic: Arithmetic, count: Count) -> Result<(), ParameterError> {
    if arithmetic == Arithmetic::Whole && count == Count::Acks {
        return Err(ParameterError::new(
            "count",
            "segments where arithmetic is whole: its step comes after so many acknowledged segments",
        ));
    }
    Ok(())
}

/// The state of RFC 5681.
#[derive(Clone, Debug)]
pub struct NewReno {
    reno: Reno,
    growth: Growth,
    halve: Halve,
    mark_leaves: f64,
    slow_start: SlowStart,
}

impl NewReno {
    /// A control with the given parameters.
    ///
    /// # Errors
    /// Whole segments with what only fractions can do.
    pub fn new(params: &Params, path: &Path, _random: Stream) -> Result<NewReno, ParameterError> {
        let declared = Parameters::of(params);
        let mut reno = Reno::with(declared.arithmetic, path.initial_window);
        reno.threshold = declared.initial_threshold.unwrap_or(f64::INFINITY);
        count_segments_where_whole(declared.arithmetic, declared.count)?;
        Ok(NewReno {
            reno,
            growth: Growth::new(declared.slow_start_limit, declared.count),
            halve: declared.halve,
            mark_leaves: declared.abe.unwrap_or(LOSS_LEAVES),
            slow_start: SlowStart::new(declared.hystart.into()),
        })
    }
}

impl Control for NewReno {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if !ack.may_open() {
            return;
        }
        let mut acked = f64::from(ack.newly_acked);
        if self.reno.in_slow_start() {
            if self.slow_start.is_over(ack, self.reno.window) {
                self.reno.threshold = self.reno.window;
            }
            let growth = self.slow_start.growth(self.growth.slow_start(acked));
            if !self.reno.is_whole() {
                self.reno.window += growth;
                return;
            }
            acked -= growth - self.reno.slow_start(growth);
        }
        self.growth.avoid(&mut self.reno, acked);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let outstanding = self.halve.of(event, self.reno.window);
        let leaves = if event.signal == Signal::Ecn { self.mark_leaves } else { LOSS_LEAVES };
        self.reno.reduce(event.signal, outstanding * leaves);
        self.slow_start.on_congestion(matches!(event.signal, Signal::Timeout { .. }));
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
        advice::abe(params).into_iter().collect()
    }

    fn retune(&mut self, fresh: &NewReno) {
        self.growth = fresh.growth.clone();
        (self.halve, self.mark_leaves) = (fresh.halve, fresh.mark_leaves);
    }

    fn fixed() -> Option<&'static [&'static str]> {
        Some(&["arithmetic", "initial_threshold", "hystart"])
    }
}
