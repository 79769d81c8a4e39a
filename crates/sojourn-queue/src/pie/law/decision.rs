//! The random decision for an arrival (RFC 8033 section 4.1 `drop_early`).

use super::descriptor::{Guard, LowDelayOf, Parameters, Tuning};
use crate::{Backlog, Packet};
use sojourn_core::Stream;

/// Below this probability and half of target nothing is dropped (RFC 8033 section 4.1).
const LOW_PROBABILITY: f64 = 0.2;
/// De-randomised: accumulated probability below which nothing is dropped (RFC 8033 section 5.4, PROB_LOW).
/// RFC 8034: the highest probability that a packet meets, as well.
pub(super) const PROB_LOW: f64 = 0.85;
/// De-randomised: accumulated probability from which the next packet is dropped.
const PROB_HIGH: f64 = 8.5;

/// How the probability decides about an arrival.
#[derive(Clone, Copy, Debug)]
pub(super) struct DecisionLaw {
    /// Delay below which a low probability drops nothing: half of target, in seconds.
    pub(super) low_delay: f64,
    pub(super) low_delay_of: LowDelayOf,
    guard: Guard,
    mean_packet: f64,
    tuning: Tuning,
    by_size: bool,
    derandomize: bool,
    ecn: bool,
    mark_p: f64,
}

/// An arrival that is to be decided about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) bytes: u32,
    /// The delay that [`LowDelayOf`] names, in seconds.
    pub(super) delay: f64,
    /// What waits already.
    pub(super) backlog: Backlog,
}

impl DecisionLaw {
    pub(super) fn new(declared: &Parameters, target: f64, mean_packet: f64) -> DecisionLaw {
        DecisionLaw {
            low_delay: target / 2.0,
            low_delay_of: declared.guard_delay,
            guard: declared.guard,
            mean_packet,
            tuning: declared.tuning,
            by_size: declared.by_size,
            derandomize: declared.derandomize,
            ecn: declared.ecn,
            mark_p: declared.mark_p,
        }
    }

    /// Whether a packet that is hit at probability `p` is marked instead of dropped.
    #[inline]
    pub(super) fn marks<B>(&self, packet: &Packet<B>, p: f64) -> bool {
        self.ecn && packet.ecn.is_capable() && p <= self.mark_p
    }

    /// Whether so little waits that nothing is dropped.
    #[inline]
    fn is_guarded(&self, backlog: Backlog) -> bool {
        match self.guard {
            Guard::AtMost => backlog.bytes as f64 <= 2.0 * self.mean_packet,
            Guard::Below => (backlog.bytes as f64) < 2.0 * self.mean_packet,
            Guard::Packets => backlog.packets <= 2,
        }
    }

    /// Whether `arrival` is dropped or marked at `factor` times the probability `p`. `accumulated` is what the probabilities
    /// have added up to since the last hit, where decisions are de-randomised. What is spared depends on `p` alone, which says
    /// how much congestion there is.
    #[inline]
    pub(super) fn is_hit(
        &self,
        p: f64,
        factor: f64,
        accumulated: &mut f64,
        arrival: Arrival,
        random: &mut Stream,
    ) -> bool {
        let spared = (arrival.delay < self.low_delay && p < LOW_PROBABILITY) || self.is_guarded(arrival.backlog);
        if spared && self.tuning == Tuning::Rfc8033 {
            return false;
        }
        let p = p * factor;
        let mut p = if self.by_size { p * f64::from(arrival.bytes) / self.mean_packet } else { p };
        if self.tuning == Tuning::Rfc8034 {
            p = p.min(PROB_LOW);
        }
        if self.derandomize {
            *accumulated = if p == 0.0 { 0.0 } else { *accumulated + p };
        }
        if spared || (self.derandomize && *accumulated < PROB_LOW) {
            return false;
        }
        (self.derandomize && *accumulated >= PROB_HIGH) || random.chance(p)
    }
}
