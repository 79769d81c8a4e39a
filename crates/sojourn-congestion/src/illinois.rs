//! TCP Illinois: a loss-based control whose steps depend on delay (Liu, Basar and Srikant 2006), as Linux does it.
//!
//! Once per round trip, with the mean queueing delay of the round d_a and the largest ever seen d_m:
//! 1. a window below the threshold grows and shrinks as Reno's, by alpha 1 and beta 1/2;
//! 2. alpha is largest up to 1 % of d_m, and falls as 1/d_a beyond, to its least at d_m; once it has left its largest
//!    value it takes theta rounds below 1 % to return there;
//! 3. beta is least up to 10 % of d_m, largest from 80 % on, and linear between.
//!
//! The window grows by alpha segments per round trip and a loss takes beta of it. A timeout makes both Reno's, and
//! forgets the round. Least and largest RTT are of the whole connection and never forgotten.
//!
//! With whole arithmetic alpha counts in 128ths and beta in 64ths, as in Linux, whose RTTs above 3.3 s count as that; here
//! they are what they are. ns-3 reckons delays in whole milliseconds, which is not kept, and compares the
//! window in bytes with the threshold in segments: it never is below.

mod descriptor;
#[cfg(test)]
mod tests;

use alloc::format;
pub use descriptor::DESCRIPTOR;
use descriptor::{LossOf, Parameters};
#[cfg(not(feature = "std"))]
use sojourn_core::Float as _;

use crate::control::{Ack, Congestion, Control, Path, Recovered, Signal};
use crate::reno::Reno;
use sojourn_core::registry::{ParameterError, Params};
use sojourn_core::{Span, Stream};

/// Reno's growth per round trip, in segments.
const RENO_ALPHA: f64 = 1.0;
/// What a loss takes of Reno's window.
const RENO_BETA: f64 = 0.5;

/// Whole parts of one in which Linux reckons alpha and beta.
const ALPHA_PARTS: f64 = 128.0;
const BETA_PARTS: f64 = 64.0;

/// The state of Illinois.
#[derive(Clone, Debug)]
pub struct Illinois {
    reno: Reno,
    round: Round,
    least: Span,
    most: Span,
    sum_nanos: u64,
    samples: u64,
    alpha: f64,
    beta: f64,
    /// Rounds with little delay since alpha left its largest value; nothing while it has not.
    low_rounds: Option<u64>,
    settings: Settings,
}

/// A round, which ends when more is acknowledged than had been sent when it began (`end_seq`): what is sent again ends none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Round {
    /// It begins with all that has been sent by the next acknowledgement.
    Begins,
    /// So many segments are left of what had been sent when it began.
    Lasts(u32),
    /// More has been acknowledged.
    Over,
}

impl Round {
    #[inline]
    fn follow(&mut self, ack: &Ack) {
        *self = match *self {
            Round::Begins => Round::Lasts(ack.outstanding),
            Round::Lasts(left) => left.checked_sub(ack.advanced).map_or(Round::Over, Round::Lasts),
            Round::Over => Round::Over,
        };
    }
}

/// What does not change.
#[derive(Clone, Debug)]
struct Settings {
    alpha: (f64, f64),
    beta: (f64, f64),
    alpha_delay: f64,
    beta_delay: (f64, f64),
    theta: u64,
    window_threshold: f64,
    reduces_flight: bool,
}

impl Illinois {
    /// A control with the given parameters.
    ///
    /// # Errors
    /// A least value above the largest.
    pub fn new(params: &Params, path: &Path, _random: Stream) -> Result<Illinois, ParameterError> {
        let declared = Parameters::of(params);
        let range = |(least, low): (&'static str, f64), (most, high): (&str, f64)| {
            let sentence = format!("must not exceed {most}, here {high}: it is the other end of one range");
            if low > high { Err(ParameterError::new(least, sentence)) } else { Ok((low, high)) }
        };
        let settings = Settings {
            alpha: range(("alpha_min", declared.alpha_min), ("alpha_max", declared.alpha_max))?,
            beta: range(("beta_min", declared.beta_min), ("beta_max", declared.beta_max))?,
            alpha_delay: declared.alpha_delay,
            beta_delay: range(
                ("beta_delay_min", declared.beta_delay_min),
                ("beta_delay_max", declared.beta_delay_max),
            )?,
            theta: declared.theta,
            window_threshold: declared.window_threshold,
            reduces_flight: declared.loss_of == LossOf::Flight,
        };
        Ok(Illinois {
            reno: Reno::with(declared.arithmetic, path.initial_window),
            round: Round::Lasts(0),
            least: Span::MAX,
            most: Span::ZERO,
            sum_nanos: 0,
            samples: 0,
            alpha: settings.alpha.1,
            beta: RENO_BETA,
            low_rounds: None,
            settings,
        })
    }

    #[inline]
    fn measure(&mut self, ack: &Ack) {
        if let Some(mut rtt) = ack.rtt {
            if self.reno.is_whole() {
                // Between instants in whole us.
                let now = ack.now.as_nanos();
                rtt = Span::from_micros(now / 1000 - now.saturating_sub(rtt.as_nanos()) / 1000);
            }
            self.least = self.least.min(rtt);
            self.most = self.most.max(rtt);
            self.sum_nanos += rtt.as_nanos();
            self.samples += 1;
        }
    }

    /// Steps 1 to 3, at the end of a round.
    fn step(&mut self) {
        if self.reno.window < self.settings.window_threshold {
            self.be_reno();
        } else {
            self.follow_delay();
        }
        self.forget_round();
    }

    fn follow_delay(&mut self) {
        let unit = if self.reno.is_whole() { 1000 } else { 1 };
        let Some(mean) = (self.sum_nanos / unit).checked_div(self.samples) else { return };
        let most = ((self.most - self.least).as_nanos() / unit) as f64;
        let delay = (mean - self.least.as_nanos() / unit) as f64;
        let (alpha, beta) = (self.alpha_at(delay, most), self.beta_at(delay, most));
        self.alpha = self.in_parts(alpha, ALPHA_PARTS);
        self.beta = self.in_parts(beta, BETA_PARTS);
    }

    /// Step 2.
    fn alpha_at(&mut self, delay: f64, most: f64) -> f64 {
        let (least_alpha, most_alpha) = self.settings.alpha;
        let low = self.in_parts(self.settings.alpha_delay * most, 1.0);
        if delay > low {
            // Rounds with little delay before this one still count, as in Linux.
            self.low_rounds = self.low_rounds.or(Some(0));
            // 1/alpha is linear in the delay.
            let least_alpha = self.in_parts(least_alpha, ALPHA_PARTS);
            let slope = (most_alpha - least_alpha) / least_alpha;
            return most_alpha * (most - low) / (most - low + self.in_parts(slope * (delay - low), 1.0));
        }
        self.low_rounds = self.low_rounds.map(|rounds| rounds + 1).filter(|&rounds| rounds < self.settings.theta);
        if self.low_rounds.is_none() { most_alpha } else { self.alpha }
    }

    /// Step 3.
    fn beta_at(&self, delay: f64, most: f64) -> f64 {
        let (least_beta, most_beta) = self.settings.beta;
        let (low, high) = self.settings.beta_delay;
        let (low, high) = (self.in_parts(low * most, 1.0), self.in_parts(high * most, 1.0));
        if delay <= low {
            least_beta
        } else if delay >= high {
            most_beta
        } else {
            least_beta + (most_beta - least_beta) * (delay - low) / (high - low)
        }
    }

    /// A number in whole parts of one in so many, where arithmetic is whole.
    fn in_parts(&self, number: f64, parts: f64) -> f64 {
        // What is whole but for the arithmetic of fractions stays.
        if self.reno.is_whole() { (number * parts + 1e-6).floor() / parts } else { number }
    }

    #[inline]
    fn grow(&mut self, ack: &Ack) {
        let acked = f64::from(ack.newly_acked);
        if !self.reno.is_whole() {
            self.reno.grow(if self.reno.in_slow_start() { acked } else { self.alpha * acked });
        } else if self.reno.in_slow_start() {
            self.reno.slow_start(acked);
        } else {
            // `tcp_illinois_acked`: what is acknowledged cumulatively, although SACK told of it before.
            self.step_whole(f64::from(ack.advanced));
        }
    }

    /// In whole segments: the count of acknowledged ones is worth alpha each and begins anew with each step.
    fn step_whole(&mut self, acked: f64) {
        let (window, alpha) = (self.reno.window, self.alpha);
        let Some(credit) = self.reno.credit() else { return };
        *credit += acked;
        let steps = ((*credit * alpha).floor() / window).floor();
        if steps > 0.0 {
            *credit = 0.0;
            self.reno.window += steps;
        }
    }

    fn be_reno(&mut self) {
        self.alpha = RENO_ALPHA;
        self.beta = RENO_BETA;
    }

    fn forget_round(&mut self) {
        self.sum_nanos = 0;
        self.samples = 0;
    }
}

impl Control for Illinois {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.measure(ack);
        self.round.follow(ack);
        // What only suggests a loss ends no round (`tcp_may_raise_cwnd`).
        if ack.in_recovery || ack.marked || ack.newly_acked == 0 {
            return;
        }
        if self.round == Round::Over {
            self.round = Round::Lasts(ack.outstanding);
            self.step();
        }
        if ack.may_open() {
            self.grow(ack);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let outstanding = if self.settings.reduces_flight { event.flight } else { self.reno.window };
        self.reno.reduce(event.signal, outstanding - self.reno.rounded(outstanding * self.beta));
        if matches!(event.signal, Signal::Timeout { .. }) {
            self.be_reno();
            self.low_rounds = None;
            self.forget_round();
            self.round = Round::Begins;
        }
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

    fn probe(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("alpha_segments", self.alpha);
        visit("beta", self.beta);
    }

    fn retune(&mut self, fresh: &Illinois) {
        let (most, (low, high)) = (self.settings.alpha.1, fresh.settings.alpha);
        self.alpha = if self.alpha == most { high } else { self.alpha.clamp(low, high) };
        self.settings = fresh.settings.clone();
    }

    fn fixed() -> Option<&'static [&'static str]> {
        Some(&["arithmetic"])
    }
}
