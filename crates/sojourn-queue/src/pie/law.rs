//! PIE's controller for one queue (RFC 8033 section 4), whatever holds the packets.
//!
//! [`PieLaw`] is what does not change, [`PieController`] the state of a queue. Each part of the RFC has its file, which names
//! where RFC 8034 (DOCSIS), Linux and ns-3 depart from it: the measured [`delay`], the [`probability`] that an update computes,
//! the [`burst`] allowance and the [`decision`] about an arrival.

mod burst;
mod decision;
mod delay;
mod descriptor;
mod probability;
mod rate;

pub(crate) use descriptor::*;

use crate::{Backlog, Dscp, LinkProperties, Packet};
use burst::{Burst, BurstLaw};
use decision::{Arrival, DecisionLaw};
use delay::{Delay, Estimator};
use probability::{Delays, ProbabilityLaw};
pub(crate) use rate::THRESHOLD as RATE_THRESHOLD;
use sojourn_core::registry::ParameterError;
use sojourn_core::{Span, Stream, Time};

/// What does not change: shared by all queues of a discipline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PieLaw {
    interval: Span,
    estimator: Estimator,
    probability: ProbabilityLaw,
    burst: BurstLaw,
    decision: DecisionLaw,
    /// How many times the probability a packet marked LE meets.
    le_factor: f64,
}

impl PieLaw {
    /// The law that is `declared`, on `link`.
    ///
    /// # Errors
    /// An alpha of zero.
    pub(crate) fn new(declared: &Parameters, link: &LinkProperties) -> Result<PieLaw, ParameterError> {
        let mean_packet = f64::from(declared.mean_packet.unwrap_or(link.packet_bytes));
        let probability = ProbabilityLaw::new(declared, mean_packet)?;
        Ok(PieLaw {
            interval: declared.update,
            estimator: Estimator::new(declared, link),
            burst: BurstLaw::new(declared),
            decision: DecisionLaw::new(declared, probability.target, mean_packet),
            probability,
            le_factor: 1.0,
        })
    }

    /// The same, but a packet marked LE meets `factor` times the probability.
    pub(crate) fn with_le_factor(self, factor: f64) -> PieLaw {
        PieLaw { le_factor: factor, ..self }
    }

    /// The time between two updates.
    pub(crate) fn update(&self) -> Span {
        self.interval
    }
}

/// The state of one queue's controller.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct PieController {
    /// The drop probability.
    p: f64,
    /// The delay of the latest update, in seconds.
    updated: f64,
    delay: Delay,
    burst: Burst,
    /// What the probabilities have added up to since the last hit, where decisions are de-randomised.
    accumulated: f64,
    /// The same for packets marked LE, where these meet another probability: else they would use up the others' luck.
    accumulated_le: f64,
}

/// What becomes of an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Pass,
    Mark,
    Drop,
}

impl PieController {
    /// A packet arrives that there is room for. `wakes` says whether enough waits for the controller to become active.
    #[inline]
    pub(crate) fn arrival<B>(
        &mut self,
        law: &PieLaw,
        packet: &Packet<B>,
        backlog: Backlog,
        wakes: bool,
        random: &mut Stream,
    ) -> Verdict {
        if wakes {
            self.burst.wake(&law.burst);
        }
        let le = law.le_factor != 1.0 && packet.dscp == Dscp::LE;
        if !self.burst.is_over() || !self.is_hit(law, packet.bytes, le, backlog, random) {
            return Verdict::Pass;
        }
        let (factor, accumulated) = self.class(law, le);
        *accumulated = 0.0;
        self.burst.signalled(&law.burst);
        if law.decision.marks(packet, self.p * factor) { Verdict::Mark } else { Verdict::Drop }
    }

    /// How many times the probability a packet meets, by whether it is marked LE, and what its class has accumulated.
    #[inline]
    fn class(&mut self, law: &PieLaw, le: bool) -> (f64, &mut f64) {
        if le { (law.le_factor, &mut self.accumulated_le) } else { (1.0, &mut self.accumulated) }
    }

    #[inline]
    fn is_hit(&mut self, law: &PieLaw, bytes: u32, le: bool, backlog: Backlog, random: &mut Stream) -> bool {
        let delay = match law.decision.low_delay_of {
            LowDelayOf::Update => self.updated,
            LowDelayOf::Departure => self.delay.of_departure(law.estimator).unwrap_or(self.updated),
        };
        let p = self.p;
        let (factor, accumulated) = self.class(law, le);
        law.decision.is_hit(p, factor, accumulated, Arrival { bytes, delay, backlog }, random)
    }

    /// An arrival found no room.
    #[inline]
    pub(crate) fn overflow(&mut self) {
        (self.accumulated, self.accumulated_le) = (0.0, 0.0);
    }

    /// A packet leaves; `backlog` remains.
    #[inline]
    pub(crate) fn departure<B>(&mut self, law: &PieLaw, packet: &Packet<B>, backlog: Backlog, now: Time) {
        self.delay.departure(law.estimator, packet, backlog, now);
        self.burst.departure(&law.burst, now);
    }

    /// The periodic update (`calculate_drop_prob`); `backlog` waits.
    pub(crate) fn update(&mut self, law: &PieLaw, backlog: Backlog) {
        let estimate = self.delay.estimate(law.estimator, backlog);
        let delay = Delays { now: estimate.unwrap_or(0.0), before: self.updated };
        self.updated = delay.now;
        self.p = if self.burst.holds_probability(&law.burst) {
            0.0
        } else {
            law.probability.next(self.p, delay, backlog.bytes == 0)
        };
        let calm = estimate.is_some() && self.p == 0.0 && law.probability.is_calm(delay);
        self.burst.update(&law.burst, calm, law.interval);
        if calm {
            self.delay.forget_rate();
        }
    }

    /// Adds to the accumulated probability.
    #[cfg(test)]
    pub(crate) fn accumulate(&mut self, probability: f64) {
        self.accumulated += probability;
    }

    /// As after an update that found a delay of a second and left the probability at `p`.
    #[cfg(test)]
    pub(crate) fn set_probability(&mut self, p: f64) {
        (self.p, self.updated) = (p, 1.0);
    }

    /// The accumulated probability.
    #[cfg(test)]
    pub(crate) fn accumulated(&self) -> f64 {
        self.accumulated
    }

    /// The drop probability.
    pub(crate) fn probability(&self) -> f64 {
        self.p
    }

    /// The delay of the latest update, in seconds.
    pub(crate) fn delay(&self) -> f64 {
        self.updated
    }

    /// The burst allowance that is left.
    pub(crate) fn burst(&self, law: &PieLaw) -> Span {
        self.burst.left(&law.burst)
    }
}

#[cfg(test)]
mod tests;
