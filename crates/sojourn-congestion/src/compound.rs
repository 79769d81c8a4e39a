//! Compound TCP, as the module of TCP-Linux in ns-2 does it.
//!
//! The window is that of Reno plus a delay window. Once per round trip, from the round's least RTT, the least ever and
//! the segments that were out:
//! 1. diff, the segments that wait in queues, is out x (1 - least ever/least of the round);
//! 2. below gamma of them the delay window grows by alpha x out^k - 1;
//! 3. from gamma on it shrinks by zeta x diff.
//!
//! The module's arithmetic is whole: diff in halves, the rest rounded down, so that the delay window does not grow
//! below 41 segments. A loss halves the sum and takes the delay window: the module keeps it only where both parts fit
//! into the half, that is where they are equal, which is not kept here. The module also lets it grow in slow start. After a
//! repair the module takes all that was sent since the last round for one window, which is not kept either.

#[cfg(test)]
mod tests;

use crate::control::{Ack, Congestion, Control, Path, Recovered, Repair, Signal, Start};
use crate::newreno::Count;
use crate::newreno::{self, Growth};
use crate::reno::MIN_THRESHOLD;
use crate::rounds::Rounds;
#[cfg(not(feature = "std"))]
use sojourn_core::Float as _;
use sojourn_core::parameters;
use sojourn_core::registry::declare::number;
use sojourn_core::registry::{Descriptor, Linux, ParameterError, Params, Preset, Value};
use sojourn_core::{Span, Stream};

parameters! {
    /// What can be set.
    struct Parameters {
        slow_start_limit: Option<u64> = newreno::SLOW_START_LIMIT,
        count: Count = newreno::COUNT,
        /// growth of the delay window in a round trip is alpha x window^k - 1
        alpha: f64 = number(0.125, 0.0..=10.0),
        /// exponent of that growth
        k: f64 = number(0.75, 0.0..=1.0),
        /// segments in queues from which the delay window shrinks
        gamma: f64 = number(30.0, 0.5..=1e6),
        /// part of those segments by which it then shrinks in a round trip
        zeta: f64 = number(1.0, 0.0..=10.0),
    }
}

/// What `compound` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "compound",
    summary: "Reno's window plus one that grows fast while the delay is small: best-effort TCP of former Windows systems",
    sources: &["ns-2.35 tcp/linux/src/tcp_compound.c"],
    parameters: &Parameters::LIST,
    presets: &[Preset {
        name: "ns2",
        summary: "ns-2.35 Agent/TCP/Linux with compound, which counts acknowledgements",
        values: &[("count", Value::Choice("acks"))],
    }],
    linux: Linux::Absent("Linux dropped Compound before 6.1"),
    ..Descriptor::PLAIN
};

/// RTT samples of a round that may all be of delayed acknowledgements.
const DOUBTFUL_SAMPLES: u32 = 2;

/// The state of Compound TCP.
#[derive(Clone, Debug)]
pub struct Compound {
    /// Reno's part (cwnd).
    loss_window: f64,
    /// dwnd, in whole segments.
    delay_window: f64,
    threshold: f64,
    rounds: Rounds,
    /// Segments out when the round began.
    out: f64,
    /// Least RTT of the round.
    least: Span,
    samples: u32,
    growth: Growth,
    alpha: f64,
    k: f64,
    gamma: f64,
    zeta: f64,
}

impl Compound {
    /// A control with the given parameters.
    ///
    /// # Errors
    /// None: all combinations work.
    pub fn new(params: &Params, path: &Path, _random: Stream) -> Result<Compound, ParameterError> {
        let declared = Parameters::of(params);
        Ok(Compound {
            loss_window: path.initial_window,
            delay_window: 0.0,
            threshold: f64::INFINITY,
            rounds: Rounds::default(),
            out: 0.0,
            least: Span::MAX,
            samples: 0,
            growth: Growth::new(declared.slow_start_limit, declared.count),
            alpha: declared.alpha,
            k: declared.k,
            gamma: declared.gamma,
            zeta: declared.zeta,
        })
    }

    /// Steps 1 to 3, at the end of a round.
    fn judge(&mut self, base: Span) {
        let diff = self.out - (2.0 * self.out * base.ratio(self.least)).floor() / 2.0;
        self.delay_window = if diff < self.gamma {
            let step = (self.alpha * libm::pow(self.out, self.k).floor()).floor() - 1.0;
            self.delay_window + step.max(0.0)
        } else {
            (self.delay_window - self.zeta * diff).floor().max(0.0)
        };
    }

    fn forget_round(&mut self) {
        self.least = Span::MAX;
        self.samples = 0;
    }

    /// A window of `window`, without a delay window.
    fn fall_back(&mut self, window: f64) {
        self.loss_window = window;
        self.delay_window = 0.0;
    }
}

impl Control for Compound {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.least = self.least.min(rtt);
            self.samples += 1;
        }
        if !ack.may_open() {
            return;
        }
        let acked = f64::from(ack.newly_acked);
        self.loss_window += if self.loss_window < self.threshold {
            self.growth.slow_start(acked)
        } else {
            self.growth.avoidance(acked, self.window())
        };
        if self.rounds.ends(ack) {
            if self.samples > DOUBTFUL_SAMPLES {
                self.judge(ack.min_rtt);
            }
            self.out = ack.flight;
            self.forget_round();
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let half = (self.window() / 2.0).floor().max(MIN_THRESHOLD);
        match event.signal {
            Signal::Loss | Signal::Ecn => {
                self.threshold = half;
                self.fall_back(half);
            }
            Signal::Timeout { repeated } => {
                if !repeated {
                    self.threshold = half;
                }
                self.fall_back(1.0);
            }
        }
        self.rounds.restart(event.now);
        self.out = 0.0;
        self.forget_round();
    }

    fn on_recovered(&mut self, recovered: &Recovered) {
        if recovered.repair == Repair::Partial {
            self.fall_back(recovered.window(self.window(), self.threshold));
        }
    }

    /// What was measured of the round before is old.
    fn on_start(&mut self, start: &Start) {
        start.unused.leave_of(self);
        self.rounds.restart(start.now);
        self.out = 0.0;
        self.forget_round();
    }

    fn set_window(&mut self, window: f64, threshold: f64) {
        self.fall_back(window);
        self.threshold = threshold;
    }

    #[inline]
    fn window(&self) -> f64 {
        self.loss_window + self.delay_window
    }

    #[inline]
    fn slow_start_threshold(&self) -> f64 {
        self.threshold
    }

    fn probe(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("delay_window_segments", self.delay_window);
    }

    fn retune(&mut self, fresh: &Compound) {
        self.growth = fresh.growth.clone();
        (self.alpha, self.k, self.gamma, self.zeta) = (fresh.alpha, fresh.k, fresh.gamma, fresh.zeta);
    }

    fn fixed() -> Option<&'static [&'static str]> {
        Some(&[])
    }
}
