//! Round-trip time estimation and the retransmission timeout (RFC 6298).

use crate::options::{Constants, RtoOptions};
use sojourn_core::Span;
use std::sync::Arc;

/// SRTT, RTTVAR and what follows from them.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    constants: Arc<Constants>,
    /// Not beside `max`: read as one, they would have to be waited for just after each was written.
    min: Span,
    smoothed: Span,
    variance: Span,
    max: Span,
    backoff: u32,
    /// What follows from all that: asked for with each acknowledgement, where only one in a round trip may give a sample.
    timeout: Span,
    /// Where the variance is made of it.
    peak: Option<Box<Peak>>,
}

/// The peak of the deviation in the present round trip, of which Linux makes the variance (`tcp_rtt_estimator`).
#[derive(Clone, Copy, Debug, Default)]
struct Peak {
    /// Mean deviation (`mdev_us`, which counts it four times).
    deviation: Span,
    /// Its peak in this round trip, at least a quarter of `min_rto` (`mdev_max_us`).
    most: Span,
    /// The round trip ends when this segment is acknowledged (`rtt_seq`).
    until: u32,
}

/// Doublings after which the back-off stops growing; `max_rto` bounds the timeout long before.
const MAX_BACKOFF: u32 = 16;

/// The timeout with which data begins after a lost SYN (RFC 6298 rule 5.7).
const AFTER_LOST_SYN: Span = Span::from_secs(3);

impl RttEstimator {
    /// An estimator without samples.
    pub fn new(constants: Arc<Constants>) -> RttEstimator {
        let mut estimator = RttEstimator {
            peak: constants.rto.timers.follow_peaks().then(Box::default),
            constants,
            smoothed: Span::ZERO,
            variance: Span::ZERO,
            min: Span::MAX,
            max: Span::ZERO,
            backoff: 0,
            timeout: Span::ZERO,
        };
        estimator.renew_timeout();
        estimator
    }

    /// Notes a round-trip time for the extremes only; the timeout keeps its value.
    #[inline]
    pub fn observe(&mut self, rtt: Span) {
        self.min = self.min.min(rtt);
        self.max = self.max.max(rtt);
    }

    /// Takes a sample (RFC 6298 equations 2.2 and 2.3), which also ends the back-off (Karn). All below segment `first` is
    /// acknowledged, all below `next` was sent.
    #[inline(never)]
    pub fn sample(&mut self, rtt: Span, first: u32, next: u32) {
        self.backoff = 0;
        self.smooth(rtt, first, next);
        self.renew_timeout();
    }

    #[inline]
    fn smooth(&mut self, rtt: Span, first: u32, next: u32) {
        if self.smoothed.is_zero() {
            self.smoothed = rtt;
            self.variance = rtt / 2;
            if self.peak.is_some() {
                self.begin_peaks(next);
            }
            return;
        }
        if self.peak.is_some() {
            return self.sample_peak(rtt, first, next);
        }
        let deviation = self.smoothed.saturating_sub(rtt) + rtt.saturating_sub(self.smoothed);
        self.variance = (self.variance * 3 + deviation) / 4;
        self.smoothed = (self.smoothed * 7 + rtt) / 8;
    }

    #[inline(never)]
    fn begin_peaks(&mut self, next: u32) {
        let Some(peak) = &mut self.peak else { return };
        peak.deviation = self.variance;
        self.variance = self.variance.max(self.constants.rto.min / 4);
        peak.most = self.variance;
        peak.until = next;
    }

    /// As in Linux: the variance rises to the peak of the deviation at once, and falls to it by a quarter per round trip.
    #[inline(never)]
    fn sample_peak(&mut self, rtt: Span, first: u32, next: u32) {
        let Some(peak) = &mut self.peak else { return };
        let deviation = peak.deviation;
        let error = self.smoothed.saturating_sub(rtt) + rtt.saturating_sub(self.smoothed);
        let falls = rtt < self.smoothed;
        self.smoothed = (self.smoothed * 7 + rtt) / 8;
        // Where times fall and the deviation would rise, an eighth of that counts.
        let rise = error.saturating_sub(deviation) / if falls { 32 } else { 4 };
        peak.deviation = deviation + rise - deviation.saturating_sub(error) / 4;
        if peak.deviation > peak.most {
            peak.most = peak.deviation;
            self.variance = self.variance.max(peak.most);
        }
        if first > peak.until {
            self.variance = self.variance - self.variance.saturating_sub(peak.most) / 4;
            peak.until = next;
            peak.most = self.constants.rto.min / 4;
        }
    }

    /// The connection was accepted after its SYN was lost: what follows times out after 3 s at least until
    /// there is a sample (RFC 6298 rule 5.7).
    pub fn forget_lost_syn(&mut self) {
        self.backoff = 0;
        let rto = &mut Arc::make_mut(&mut self.constants).rto;
        rto.initial = rto.initial.max(AFTER_LOST_SYN);
        self.renew_timeout();
    }

    /// How often the timeout was doubled since the last sample.
    pub(crate) fn backoffs(&self) -> u32 {
        self.backoff
    }

    /// Doubles the timeout (RFC 6298 rule 5.5).
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(MAX_BACKOFF);
        self.renew_timeout();
    }

    /// The retransmission timeout, with its back-off.
    #[inline]
    pub fn timeout(&self) -> Span {
        self.timeout
    }

    #[inline]
    fn renew_timeout(&mut self) {
        let RtoOptions { initial, min, max, timers, tick } = self.constants.rto;
        let base = if self.smoothed.is_zero() {
            initial
        } else if timers.follow_peaks() {
            self.smoothed + (self.variance * 4).max(timers.granularity()).max(min)
        } else {
            (self.smoothed + (self.variance * 4).max(timers.granularity())).max(min)
        };
        let base = match tick.as_nanos() {
            0 => base,
            nanos => Span::from_nanos(base.as_nanos().div_ceil(nanos) * nanos),
        };
        self.timeout = (base * (1 << self.backoff)).min(max);
    }

    /// What it shares with others.
    #[inline]
    pub(crate) fn constants(&self) -> &Constants {
        &self.constants
    }

    /// Smallest timeout, or its variance term.
    #[inline]
    pub fn floor(&self) -> Span {
        self.constants.rto.min
    }

    /// SRTT; zero before the first sample.
    #[inline]
    pub fn smoothed(&self) -> Span {
        self.smoothed
    }

    /// RTTVAR.
    pub fn variance(&self) -> Span {
        self.variance
    }

    /// Smallest observed round-trip time.
    #[inline]
    pub fn min(&self) -> Span {
        self.min
    }

    /// Largest observed round-trip time.
    #[inline]
    pub fn max(&self) -> Span {
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Timers;

    const RFC: RtoOptions = RtoOptions {
        initial: Span::from_secs(1),
        min: Span::from_secs(1),
        max: Span::from_secs(60),
        timers: Timers::Rfc,
        tick: Span::ZERO,
    };

    fn estimator(rto: RtoOptions) -> RttEstimator {
        RttEstimator::new(Arc::new(Constants { rto, ..Constants::default() }))
    }

    #[test]
    fn constant_samples_give_the_worked_numbers() {
        let mut estimator = estimator(RtoOptions { min: Span::ZERO, ..RFC });
        assert_eq!(estimator.timeout(), Span::from_secs(1));
        let rtt = Span::from_millis(100);
        estimator.sample(rtt, 0, 0);
        assert_eq!((estimator.smoothed, estimator.variance), (rtt, Span::from_millis(50)));
        assert_eq!(estimator.timeout(), Span::from_millis(300));
        estimator.sample(rtt, 0, 0);
        assert_eq!(estimator.variance, Span::from_micros(37_500));
        estimator.sample(rtt, 0, 0);
        assert_eq!(estimator.variance, Span::from_micros(28_125));
    }

    #[test]
    fn the_floor_is_on_the_whole_or_on_the_variance() {
        let mut rfc = estimator(RFC);
        rfc.sample(Span::from_millis(100), 0, 0);
        assert_eq!(rfc.timeout(), Span::from_secs(1));
        let linux = RtoOptions { min: Span::from_millis(200), timers: Timers::Linux, ..RFC };
        let mut linux = estimator(linux);
        for _ in 0..100 {
            linux.sample(Span::from_millis(100), 0, 0);
        }
        assert_eq!(linux.timeout(), Span::from_millis(300));
    }

    /// Linux counts it in ticks before it is doubled: 62.7 ms of 10 ms twice are 140, not 130.
    #[test]
    fn ticks_are_whole_before_back_off() {
        let tick = Span::from_millis(10);
        let mut estimator = estimator(RtoOptions { min: Span::ZERO, tick, ..RFC });
        estimator.sample(Span::from_micros(20_900), 0, 0);
        assert_eq!(estimator.timeout(), Span::from_millis(70));
        estimator.back_off();
        assert_eq!(estimator.timeout(), Span::from_millis(140));
    }

    #[test]
    fn back_off_doubles_up_to_the_ceiling_and_ends_with_a_sample() {
        let mut estimator = estimator(RFC);
        let mut timeouts = vec![];
        for _ in 0..8 {
            timeouts.push(estimator.timeout().as_secs_f64());
            estimator.back_off();
        }
        assert_eq!(timeouts, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]);
        estimator.sample(Span::from_millis(10), 0, 0);
        assert_eq!(estimator.timeout(), Span::from_secs(1));
    }
}
