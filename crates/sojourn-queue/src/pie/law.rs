//! PIE's controller for one queue (RFC 8033 section 4), whatever holds the packets.

mod descriptor;
mod rate;

pub(crate) use descriptor::*;

use crate::{Backlog, LinkProperties, Packet};
use rate::RateEstimator;
pub(crate) use rate::THRESHOLD as RATE_THRESHOLD;
use sojourn_core::registry::{ParameterError, Params, Value};
use sojourn_core::{Span, Stream, Time};

/// Below this probability and half of target nothing is dropped (RFC 8033 section 4.1).
const LOW_PROBABILITY: f64 = 0.2;
/// From this probability on one step adds no more than [`CAPPED_STEP`] (RFC 8033 section 5.5).
const CAPPED_FROM: f64 = 0.1;
/// The largest step up, and what a very long delay adds (Linux, RFC 8034).
const CAPPED_STEP: f64 = 0.02;
/// De-randomised: accumulated probability below which nothing is dropped (RFC 8033 section 5.4, PROB_LOW).
const PROB_LOW: f64 = 0.85;
/// De-randomised: accumulated probability from which the next packet is dropped.
const PROB_HIGH: f64 = 8.5;
/// The smallest packet that RFC 8034 reckons with, which bounds its probability (MIN_PKTSIZE).
const DOCSIS_MIN_PACKET: f64 = 64.0;

/// What does not change: shared by all queues of a discipline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PieLaw {
    /// Delays and their thresholds are in seconds.
    target: f64,
    update: Span,
    alpha: f64,
    beta: f64,
    tuning: Tuning,
    decay: f64,
    decay_below: f64,
    decay_with_backlog: bool,
    boost_above: f64,
    cap: bool,
    burst: Span,
    burst_begins: BurstBegins,
    burst_falls: BurstFalls,
    hold: bool,
    quiet: Span,
    estimator: Estimator,
    rate_weight: f64,
    guard: Guard,
    guard_delay: GuardDelay,
    mean_packet: f64,
    by_size: bool,
    derandomize: bool,
    ecn: bool,
    mark_p: f64,
}

/// How a step depends on the probability it starts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tuning {
    Rfc8033,
    Rfc8034,
}

/// What the burst allowance is reduced by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BurstFalls {
    Updates,
    Departures,
}

/// How the delay is measured.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Estimator {
    Timestamp,
    DepartureRate,
    /// Backlog over a known rate, in bytes per second.
    LinkRate(f64),
}

/// What the burst allowance waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BurstBegins {
    Arrival,
    Drop,
}

/// The backlog that is left alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Guard {
    AtMostTwo,
    BelowTwo,
    TwoPackets,
}

/// The delay that has to be low for packets to be left alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum GuardDelay {
    Updated,
    Latest,
}

impl PieLaw {
    /// The law that `params` of a descriptor that lists the constants of this module describe.
    pub(crate) fn new(params: &Params, link: &LinkProperties) -> Result<PieLaw, ParameterError> {
        let (alpha, beta) = (params.number("alpha"), params.number("beta"));
        if alpha == 0.0 {
            let rule = "above 0: it alone draws the delay to the target; beta only resists changes";
            return Err(ParameterError::new("alpha", rule));
        }
        let target = params.span("target").as_secs_f64();
        Ok(PieLaw {
            target,
            update: params.span("update"),
            alpha,
            beta,
            tuning: if params.choice("tuning") == "rfc8034" { Tuning::Rfc8034 } else { Tuning::Rfc8033 },
            decay: params.number("decay"),
            decay_below: match params.get("decay_below") {
                Value::Span(span) => span.as_secs_f64(),
                _ => target / 2.0,
            },
            decay_with_backlog: params.boolean("decay_with_backlog"),
            boost_above: match params.get("boost_above") {
                Value::Span(span) => span.as_secs_f64(),
                _ => f64::INFINITY,
            },
            cap: params.boolean("cap"),
            burst: params.span("burst"),
            burst_begins: if params.choice("burst_begins") == "drop" {
                BurstBegins::Drop
            } else {
                BurstBegins::Arrival
            },
            burst_falls: match params.choice("burst_falls") {
                "departures" => BurstFalls::Departures,
                _ => BurstFalls::Updates,
            },
            hold: params.boolean("hold"),
            quiet: params.span("quiet"),
            estimator: match params.choice("estimator") {
                "departure-rate" => Estimator::DepartureRate,
                "link-rate" => Estimator::LinkRate(link.rate.bytes_per_second()),
                _ => Estimator::Timestamp,
            },
            rate_weight: params.number("rate_weight"),
            guard: match params.choice("guard") {
                "below" => Guard::BelowTwo,
                "packets" => Guard::TwoPackets,
                _ => Guard::AtMostTwo,
            },
            guard_delay: match params.choice("guard_delay") {
                "latest" => GuardDelay::Latest,
                _ => GuardDelay::Updated,
            },
            mean_packet: match params.get("mean_packet") {
                Value::Integer(bytes) => bytes as f64,
                _ => f64::from(link.packet_bytes),
            },
            by_size: params.boolean("by_size"),
            derandomize: params.boolean("derandomize"),
            ecn: params.boolean("ecn"),
            mark_p: params.number("mark_p"),
        })
    }

    /// The time between two updates.
    pub(crate) fn update(&self) -> Span {
        self.update
    }

    /// Whether so little waits that nothing is dropped.
    #[inline]
    fn is_guarded(&self, backlog: Backlog) -> bool {
        match self.guard {
            Guard::AtMostTwo => backlog.bytes as f64 <= 2.0 * self.mean_packet,
            Guard::BelowTwo => (backlog.bytes as f64) < 2.0 * self.mean_packet,
            Guard::TwoPackets => backlog.packets <= 2,
        }
    }

    /// What a step is multiplied by, at probability `p` (RFC 8033 section 4.2, RFC 8034 appendix A).
    fn scale(&self, p: f64) -> f64 {
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
        match self.tuning {
            Tuning::Rfc8033 => 1.0,
            Tuning::Rfc8034 if p < 1.0 => 2.0,
            Tuning::Rfc8034 if p < 10.0 => 8.0,
            Tuning::Rfc8034 => 32.0,
        }
    }

    /// The largest probability: 1, or more where it is scaled down for small packets.
    fn max_p(&self) -> f64 {
        match self.tuning {
            Tuning::Rfc8033 => 1.0,
            Tuning::Rfc8034 => PROB_LOW * self.mean_packet / DOCSIS_MIN_PACKET,
        }
    }
}

/// The state of one queue's controller.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct PieController {
    p: f64,
    /// What the latest departure had waited, with timestamps.
    latest: Span,
    /// The delay of the latest update.
    updated: f64,
    accumulated: f64,
    phase: Phase,
    quiet_for: Span,
    rate: RateEstimator,
    last_departure: Option<Time>,
}

/// Where the controller stands with bursts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// There is no congestion; the next arrival, or drop, gets the whole allowance.
    Waiting,
    /// There may be congestion, and the next drop gets the whole allowance (RFC 8034's QUIESCENT).
    Ready,
    /// Nothing is dropped for so long.
    Protected(Span),
    /// The allowance is used up.
    Active,
}

impl Phase {
    /// The whole allowance.
    fn protected(law: &PieLaw) -> Phase {
        if law.burst.is_zero() { Phase::Active } else { Phase::Protected(law.burst) }
    }
}

/// What becomes of an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Pass,
    Mark,
    Drop,
}

impl Default for PieController {
    fn default() -> Self {
        PieController {
            p: 0.0,
            latest: Span::ZERO,
            updated: 0.0,
            accumulated: 0.0,
            phase: Phase::Waiting,
            quiet_for: Span::ZERO,
            rate: RateEstimator::default(),
            last_departure: None,
        }
    }
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
        if self.phase == Phase::Waiting && wakes {
            self.phase = if law.burst_begins == BurstBegins::Drop { Phase::Ready } else { Phase::protected(law) };
        }
        let decides = matches!(self.phase, Phase::Ready | Phase::Active);
        if !decides || !self.is_hit(law, packet.bytes, backlog, random) {
            return Verdict::Pass;
        }
        self.accumulated = 0.0;
        if self.phase == Phase::Ready {
            self.phase = Phase::protected(law);
        }
        if law.ecn && packet.ecn.is_capable() && self.p <= law.mark_p { Verdict::Mark } else { Verdict::Drop }
    }

    /// The delay of the latest departure, where departures have one; else that of the latest update.
    #[inline]
    fn latest(&self, law: &PieLaw) -> f64 {
        match law.estimator {
            Estimator::Timestamp => self.latest.as_secs_f64(),
            Estimator::DepartureRate | Estimator::LinkRate(_) => self.updated,
        }
    }

    /// The random decision (`drop_early`).
    #[inline]
    fn is_hit(&mut self, law: &PieLaw, bytes: u32, backlog: Backlog, random: &mut Stream) -> bool {
        let delay = match law.guard_delay {
            GuardDelay::Updated => self.updated,
            GuardDelay::Latest => self.latest(law),
        };
        let spared = (delay < law.target / 2.0 && self.p < LOW_PROBABILITY) || law.is_guarded(backlog);
        if spared && law.tuning == Tuning::Rfc8033 {
            return false;
        }
        let mut p = if law.by_size { self.p * f64::from(bytes) / law.mean_packet } else { self.p };
        if law.tuning == Tuning::Rfc8034 {
            p = p.min(PROB_LOW);
        }
        if law.derandomize {
            self.accumulated = if p == 0.0 { 0.0 } else { self.accumulated + p };
        }
        if spared || (law.derandomize && self.accumulated < PROB_LOW) {
            return false;
        }
        (law.derandomize && self.accumulated >= PROB_HIGH) || random.chance(p)
    }

    /// An arrival found no room.
    #[inline]
    pub(crate) fn overflow(&mut self) {
        self.accumulated = 0.0;
    }

    /// A packet leaves; `backlog` remains.
    #[inline]
    pub(crate) fn departure<B>(&mut self, law: &PieLaw, packet: &Packet<B>, backlog: Backlog, now: Time) {
        match law.estimator {
            Estimator::Timestamp => {
                self.latest = if backlog.bytes == 0 { Span::ZERO } else { now.since(packet.enqueued) };
            }
            Estimator::DepartureRate => self.rate.departure(packet.bytes, backlog.bytes, now, law.rate_weight),
            Estimator::LinkRate(_) => {}
        }
        if law.burst_falls == BurstFalls::Departures {
            let elapsed = self.last_departure.map_or(Span::ZERO, |last| now.since(last));
            self.last_departure = Some(now);
            self.reduce_burst(elapsed);
        }
    }

    /// The periodic update (`calculate_drop_prob`); `backlog` waits.
    pub(crate) fn update(&mut self, law: &PieLaw, backlog: Backlog) {
        let (delay, known) = match law.estimator {
            Estimator::Timestamp => (self.latest(law), true),
            Estimator::DepartureRate => match self.rate.bytes_per_second() {
                Some(rate) => (backlog.bytes as f64 / rate, true),
                None => (0.0, false),
            },
            Estimator::LinkRate(rate) => (backlog.bytes as f64 / rate, true),
        };
        let old = std::mem::replace(&mut self.updated, delay);
        let held = match self.phase {
            Phase::Waiting => law.burst_begins == BurstBegins::Arrival,
            Phase::Protected(_) => law.hold,
            Phase::Ready | Phase::Active => false,
        };
        self.p = if held { 0.0 } else { self.step(law, delay, old, backlog) };
        if law.burst_falls == BurstFalls::Updates {
            self.reduce_burst(law.update);
        }
        let calm = known && self.p == 0.0 && delay < law.target / 2.0 && old < law.target / 2.0;
        self.settle(law, calm);
    }

    /// The next probability.
    fn step(&self, law: &PieLaw, delay: f64, old: f64, backlog: Backlog) -> f64 {
        let mut step = (law.alpha * (delay - law.target) + law.beta * (delay - old)) * law.scale(self.p);
        if law.cap && self.p >= CAPPED_FROM {
            step = step.min(CAPPED_STEP);
        }
        if delay > law.boost_above {
            step += CAPPED_STEP;
        }
        let mut p = self.p + step;
        let idle = delay < law.decay_below && old < law.decay_below;
        if idle && (law.decay_with_backlog || backlog.bytes == 0) {
            p *= law.decay;
        }
        p.clamp(0.0, law.max_p())
    }

    #[inline]
    fn reduce_burst(&mut self, elapsed: Span) {
        if let Phase::Protected(left) = self.phase {
            let left = left.saturating_sub(elapsed);
            self.phase = if left.is_zero() { Phase::Active } else { Phase::Protected(left) };
        }
    }

    /// Restores the burst allowance when there has been no congestion for long enough.
    fn settle(&mut self, law: &PieLaw, calm: bool) {
        if law.burst_begins == BurstBegins::Drop {
            self.settle_by_drops(law, calm);
        } else if law.quiet.is_zero() {
            if calm {
                self.phase = Phase::Waiting;
            }
        } else if calm && self.phase == Phase::Active {
            self.quiet_for += law.update;
            if self.quiet_for > law.quiet {
                self.phase = Phase::Waiting;
            }
        }
        if !calm || self.phase == Phase::Waiting {
            self.quiet_for = Span::ZERO;
        }
        if calm {
            self.rate = RateEstimator::default();
            self.last_departure = None;
        }
    }

    /// The same with RFC 8034's three states.
    fn settle_by_drops(&mut self, law: &PieLaw, calm: bool) {
        if calm && self.phase == Phase::Active {
            self.phase = Phase::Ready;
            self.quiet_for = Span::ZERO;
        } else if calm && self.phase == Phase::Ready {
            self.quiet_for += law.update;
            if self.quiet_for > law.quiet {
                self.phase = Phase::Waiting;
            }
        }
    }

    /// Adds to the accumulated probability.
    #[cfg(test)]
    pub(crate) fn accumulate(&mut self, probability: f64) {
        self.accumulated += probability;
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
        match self.phase {
            Phase::Waiting | Phase::Ready => law.burst,
            Phase::Protected(left) => left,
            Phase::Active => Span::ZERO,
        }
    }
}

#[cfg(test)]
mod tests;
