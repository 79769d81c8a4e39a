//! The departure rate, from how long a queue takes to send 16 KB (RFC 8033 section 5.2).

use sojourn_core::Time;

/// Bytes that have to wait for a measurement to begin, and that it is made over (DQ_THRESHOLD, 2^14).
pub(crate) const THRESHOLD: u64 = 16_384;

/// A moving average of the rate at which a long queue is emptied.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct RateEstimator {
    /// When the measurement under way began, and what has left since.
    measuring: Option<(Time, u64)>,
    average: Option<f64>,
}

impl RateEstimator {
    /// A packet of `bytes` bytes leaves and `backlog` bytes remain; a new measurement weighs `weight`.
    #[inline]
    pub(crate) fn departure(&mut self, bytes: u32, backlog: u64, now: Time, weight: f64) {
        if self.measuring.is_none() {
            // The packet that leaves now took its time before now: it is not counted.
            self.measuring = (backlog >= THRESHOLD).then_some((now, 0));
            return;
        }
        let Some((since, sent)) = &mut self.measuring else { return };
        *sent += u64::from(bytes);
        let elapsed = now.since(*since);
        if *sent < THRESHOLD || elapsed.is_zero() {
            return;
        }
        let rate = *sent as f64 / elapsed.as_secs_f64();
        self.average = Some(self.average.map_or(rate, |average| average + weight * (rate - average)));
        self.measuring = (backlog >= THRESHOLD).then_some((now, 0));
    }

    /// The rate, once there has been a measurement.
    pub(crate) fn bytes_per_second(&self) -> Option<f64> {
        self.average
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::Span;

    /// Packets of 1500 B leave so many microseconds apart from a queue of so many bytes.
    fn drain(estimator: &mut RateEstimator, start: u64, micros: u64, packets: u64, backlog: u64, weight: f64) -> u64 {
        for packet in 0..packets {
            let now = Time::ZERO + Span::from_micros(start + packet * micros);
            estimator.departure(1500, backlog, now, weight);
        }
        start + packets * micros
    }

    #[test]
    fn a_steady_link_is_measured_exactly() {
        let mut estimator = RateEstimator::default();
        drain(&mut estimator, 0, 1200, 11, 100_000, 0.25);
        assert_eq!(estimator.bytes_per_second(), None, "10 packets are 15 000 B");
        drain(&mut estimator, 11 * 1200, 1200, 1, 100_000, 0.25);
        assert!((estimator.bytes_per_second().unwrap() - 1_250_000.0).abs() < 1e-3);
    }

    #[test]
    fn short_queues_are_not_measured() {
        let mut estimator = RateEstimator::default();
        drain(&mut estimator, 0, 1200, 1000, THRESHOLD - 1, 0.25);
        assert_eq!(estimator.bytes_per_second(), None);
        drain(&mut estimator, 2_000_000, 1200, 12, THRESHOLD, 0.25);
        assert!(estimator.bytes_per_second().is_some());
    }

    #[test]
    fn a_new_rate_is_approached_by_the_weight() {
        for weight in [0.125, 0.5] {
            let mut estimator = RateEstimator::default();
            let start = drain(&mut estimator, 0, 1200, 12, 100_000, weight);
            // Eleven more packets at half the rate; the first gap belongs to the measurement that ended.
            drain(&mut estimator, start + 1200, 2400, 11, 100_000, weight);
            let rate = estimator.bytes_per_second().unwrap();
            assert!((rate - 1_250_000.0 + weight * 625_000.0).abs() < 1e-3, "{rate}");
        }
    }
}
