//! The queueing delay: three ways to measure it (RFC 8033 sections 4.3 and 5.2, RFC 8034 section 4.2).

use super::descriptor::{Parameters, Source};
use super::rate::RateEstimator;
use crate::{Backlog, LinkProperties, Packet};
use sojourn_core::{Span, Time};

/// How the delay is measured.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Estimator {
    /// What the latest departure had waited.
    Timestamp,
    /// Backlog over the departure rate, of which a new measurement weighs so much.
    DepartureRate { weight: f64 },
    /// Backlog over a known rate, in bytes per second.
    LinkRate(f64),
}

/// What one queue's estimator remembers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Delay {
    /// What the latest departure had waited, with timestamps.
    pub(super) latest: Span,
    pub(super) rate: RateEstimator,
}

impl Estimator {
    pub(super) fn new(declared: &Parameters, link: &LinkProperties) -> Estimator {
        match declared.estimator {
            Source::DepartureRate => Estimator::DepartureRate { weight: declared.rate_weight },
            Source::LinkRate => Estimator::LinkRate(link.rate.bytes_per_second()),
            Source::Timestamp => Estimator::Timestamp,
        }
    }
}

impl Default for Delay {
    fn default() -> Self {
        Delay { latest: Span::ZERO, rate: RateEstimator::default() }
    }
}

impl Delay {
    /// A packet leaves; `backlog` remains.
    #[inline]
    pub(super) fn departure<B>(&mut self, estimator: Estimator, packet: &Packet<B>, backlog: Backlog, now: Time) {
        match estimator {
            Estimator::Timestamp => {
                self.latest = if backlog.bytes == 0 { Span::ZERO } else { now.since(packet.enqueued) };
            }
            Estimator::DepartureRate { weight } => self.rate.departure(packet.bytes, backlog.bytes, now, weight),
            Estimator::LinkRate(_) => {}
        }
    }

    /// The delay in seconds while `backlog` waits; `None` while the departure rate is not known.
    pub(super) fn estimate(&self, estimator: Estimator, backlog: Backlog) -> Option<f64> {
        match estimator {
            Estimator::Timestamp => Some(self.latest.as_secs_f64()),
            Estimator::DepartureRate { .. } => self.rate.bytes_per_second().map(|rate| backlog.bytes as f64 / rate),
            Estimator::LinkRate(rate) => Some(backlog.bytes as f64 / rate),
        }
    }

    /// The delay of the latest departure in seconds, where departures have one.
    #[inline]
    pub(super) fn of_departure(&self, estimator: Estimator) -> Option<f64> {
        (estimator == Estimator::Timestamp).then(|| self.latest.as_secs_f64())
    }

    /// Forgets the departure rate.
    pub(super) fn forget_rate(&mut self) {
        self.rate = RateEstimator::default();
    }
}
