//! How an update moves the drop probability (RFC 8033 section 4.2 `calculate_drop_prob`, RFC 8034 appendix A).

use super::decision::PROB_LOW;
use super::descriptor::{Parameters, Tuning};
use sojourn_core::Span;
use sojourn_core::registry::ParameterError;

/// From this probability on one step adds no more than [`CAPPED_STEP`] (RFC 8033 section 5.5).
const CAPPED_FROM: f64 = 0.1;
/// The largest step up, and what a very long delay adds (Linux, RFC 8034).
const CAPPED_STEP: f64 = 0.02;
/// The smallest packet that RFC 8034 reckons with, which bounds its probability (MIN_PKTSIZE).
const DOCSIS_MIN_PACKET: f64 = 64.0;

/// The control law of the probability. Delays and their thresholds are in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbabilityLaw {
    pub(super) target: f64,
    alpha: f64,
    beta: f64,
    tuning: Tuning,
    max_p: f64,
    /// RFC 8033 section 5.5, Linux, RFC 8034.
    cap: bool,
    /// Linux and RFC 8034; infinite elsewhere.
    boost_above: f64,
    decay: f64,
    decay_below: f64,
    decay_with_backlog: bool,
}

/// The delays of two updates, in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delays {
    pub(super) now: f64,
    pub(super) before: f64,
}

impl Tuning {
    /// What a step is multiplied by, at probability `p`.
    fn scale(self, p: f64) -> f64 {
        const STEPS: [(f64, f64); 6] = [
            (0.000_001, 1.0 / 2048.0),
            (0.000_01, 1.0 / 512.0),
            (0.000_1, 1.0 / 128.0),
            (0.001, 1.0 / 32.0),
            (0.01, 1.0 / 8.0),
            (0.1, 1.0 / 2.0),
        ];
        if let Some((_, scale)) = STEPS.iter().find(|(below, _)| p < *below) {
            return *scale;
        }
        match self {
            Tuning::Rfc8033 => 1.0,
            Tuning::Rfc8034 if p < 1.0 => 2.0,
            Tuning::Rfc8034 if p < 10.0 => 8.0,
            Tuning::Rfc8034 => 32.0,
        }
    }

    /// The largest probability: 1, or more where it is scaled down for small packets.
    fn max_p(self, mean_packet: f64) -> f64 {
        match self {
            Tuning::Rfc8033 => 1.0,
            Tuning::Rfc8034 => PROB_LOW * mean_packet / DOCSIS_MIN_PACKET,
        }
    }
}

impl ProbabilityLaw {
    /// The law that is `declared`, for packets of `mean_packet` bytes.
    ///
    /// # Errors
    /// An alpha of zero.
    pub(super) fn new(declared: &Parameters, mean_packet: f64) -> Result<ProbabilityLaw, ParameterError> {
        let (alpha, beta) = (declared.alpha, declared.beta);
        if alpha == 0.0 {
            let rule = "above 0: it alone draws the delay to the target; beta only resists changes";
            return Err(ParameterError::new("alpha", rule));
        }
        let target = declared.target.as_secs_f64();
        let tuning = declared.tuning;
        Ok(ProbabilityLaw {
            target,
            alpha,
            beta,
            tuning,
            max_p: tuning.max_p(mean_packet),
            cap: declared.cap,
            boost_above: declared.boost_above.map_or(f64::INFINITY, Span::as_secs_f64),
            decay: declared.decay,
            decay_below: declared.decay_below.map_or(target / 2.0, Span::as_secs_f64),
            decay_with_backlog: declared.decay_with_backlog,
        })
    }

    /// The probability that follows `p`; `is_empty` says whether no packet waits.
    pub(super) fn next(&self, p: f64, delay: Delays, is_empty: bool) -> f64 {
        let error = delay.now - self.target;
        let growth = delay.now - delay.before;
        let mut step = (self.alpha * error + self.beta * growth) * self.tuning.scale(p);
        if self.cap && p >= CAPPED_FROM {
            step = step.min(CAPPED_STEP);
        }
        if delay.now > self.boost_above {
            step += CAPPED_STEP;
        }
        let mut next = p + step;
        if self.is_idle(delay) && (self.decay_with_backlog || is_empty) {
            next *= self.decay;
        }
        next.clamp(0.0, self.max_p)
    }

    fn is_idle(&self, delay: Delays) -> bool {
        delay.now < self.decay_below && delay.before < self.decay_below
    }

    /// Whether both delays are below half of target: no congestion, if the probability is zero as well.
    pub(super) fn is_calm(&self, delay: Delays) -> bool {
        delay.now < self.target / 2.0 && delay.before < self.target / 2.0
    }
}
