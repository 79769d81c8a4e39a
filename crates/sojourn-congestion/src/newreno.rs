//! NewReno: additive increase, multiplicative decrease (RFC 5681, with the recovery of RFC 6582).
//!
//! The window rules of RFC 5681 section 3.1 and the exit rule of RFC 6582 section 3.2 step 3 are here;
//! which segments are lost and when to retransmit is the transport's business.

#[cfg(test)]
mod tests;

use crate::control::{Ack, Congestion, Control, Path, Signal};
use sojourn_core::Stream;
use sojourn_core::registry::{Descriptor, Kind, Parameter, ParameterError, Params, Preset, Value};

/// What `newreno` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "newreno",
    summary: "slow start, congestion avoidance, halving on loss: standard best-effort TCP",
    sources: &["RFC 5681", "RFC 6582", "RFC 3465", "Linux net/ipv4/tcp_cong.c", "ns-2.35 tcp/tcp.cc"],
    parameters: &[
        Parameter {
            name: "slow_start_limit",
            kind: Kind::OrAuto(&Kind::Integer { min: 1, max: 1_000_000 }),
            default: Value::Integer(1),
            description: "most segments by which one acknowledgement may open the window in slow start (L of RFC 3465); auto is no limit",
        },
        Parameter {
            name: "count",
            kind: Kind::Choice(&["segments", "acks"]),
            default: Value::Choice("segments"),
            description: "what congestion avoidance counts: acknowledged segments (RFC 5681, equation 3 with byte counting) or acknowledgements",
        },
        Parameter {
            name: "halve",
            kind: Kind::Choice(&["flight", "window"]),
            default: Value::Choice("flight"),
            description: "what a loss halves: the data in flight (RFC 5681, equation 4) or the congestion window",
        },
        Parameter {
            name: "initial_threshold",
            kind: Kind::OrAuto(&Kind::Number { min: 2.0, max: 1e9 }),
            default: Value::Auto,
            description: "slow-start threshold before the first loss, in segments; auto is no threshold",
        },
    ],
    presets: &[
        Preset { name: "rfc", summary: "RFC 5681", values: &[] },
        Preset {
            name: "linux",
            summary: "Linux reno: counts every acknowledged segment, halves the window",
            values: &[("slow_start_limit", Value::Auto), ("halve", Value::Choice("window"))],
        },
        Preset {
            name: "ns2",
            summary: "ns-2.35 Agent/TCP/Newreno: counts acknowledgements, halves the window",
            values: &[("count", Value::Choice("acks")), ("halve", Value::Choice("window"))],
        },
    ],
};

/// Fewest segments that a loss leaves as threshold (RFC 5681 equation 4).
const LEAST_THRESHOLD: f64 = 2.0;

/// The state of RFC 5681.
#[derive(Debug)]
pub struct NewReno {
    window: f64,
    threshold: f64,
    initial_threshold: f64,
    slow_start_limit: f64,
    count_acks: bool,
    halve_window: bool,
}

impl NewReno {
    /// A control with the given parameters.
    ///
    /// # Errors
    /// None: all combinations work.
    pub fn new(params: &Params, path: &Path, _random: Stream) -> Result<NewReno, ParameterError> {
        let number_or_infinite = |name| match params.get(name) {
            Value::Number(number) => number,
            Value::Integer(integer) => integer as f64,
            _ => f64::INFINITY,
        };
        let initial_threshold = number_or_infinite("initial_threshold");
        Ok(NewReno {
            window: path.initial_window,
            threshold: initial_threshold,
            initial_threshold,
            slow_start_limit: number_or_infinite("slow_start_limit"),
            count_acks: params.choice("count") == "acks",
            halve_window: params.choice("halve") == "window",
        })
    }
}

impl Control for NewReno {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if ack.newly_acked == 0 || ack.in_recovery || ack.marked || !ack.window_limited {
            return;
        }
        let acked = f64::from(ack.newly_acked);
        if self.window < self.threshold {
            self.window += acked.min(self.slow_start_limit);
        } else {
            self.window += if self.count_acks { 1.0 } else { acked } / self.window;
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let outstanding = if self.halve_window { self.window } else { event.flight };
        let halved = (outstanding / 2.0).max(LEAST_THRESHOLD);
        match event.signal {
            Signal::Loss | Signal::Ecn => {
                self.threshold = halved;
                self.window = halved;
            }
            Signal::Timeout { repeated } => {
                if !repeated {
                    self.threshold = halved;
                }
                self.window = 1.0;
            }
        }
    }

    /// RFC 6582 section 3.2, step 3 (1): no more than one segment at once after a full acknowledgement.
    fn on_recovered(&mut self, flight: f64) {
        self.window = self.threshold.min(flight.max(1.0) + 1.0);
    }

    fn on_restart(&mut self, initial_window: f64) {
        self.window = initial_window;
        self.threshold = self.initial_threshold;
    }

    #[inline]
    fn window(&self) -> f64 {
        self.window
    }

    #[inline]
    fn slow_start_threshold(&self) -> f64 {
        self.threshold
    }
}
