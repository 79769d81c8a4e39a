//! Whether marks come from a classic AQM (RFC 9331 section 4.3, item 3): its queue is longer, and varies by more, than that of an
//! L4S queue. The score, its constants and the fallback are those of `tcp_prague.c` 0.6 with `prague_ecn_fallback` 1, which
//! follows arXiv:1911.00710. Logarithms are exact here; the module's are of whole numbers and carry what is left over.

use sojourn_core::Span;

/// The deviation of an L4S queue's round-trip times, in us; the module's V0.
const DEVIATION_US: f64 = 750.0;
/// The depth of an L4S queue, in us; the module's D0.
const DEPTH_US: f64 = 2000.0;
/// What a doubling of either adds to the score; V and D.
const WEIGHT: f64 = 0.5;
/// Up to here the marks are those of an L4S queue; L_STICKY.
const SCALABLE: f64 = 8.0;
/// From here on they are surely a classic AQM's; CLASSIC_ECN.
const CLASSIC: f64 = SCALABLE + 1.0;
/// How far the score rises, so that it takes as long to fall; C_STICKY.
const MOST: f64 = CLASSIC + SCALABLE;
/// The least alpha of marks that are surely a classic AQM's: 1/2 + 1/8.
const CLASSIC_ALPHA: f64 = 0.625;
/// Largest gain, as a power of 1/2; that of a flow without a mark so far.
const MOST_SHIFT: i32 = 18;

/// The state of the detection.
#[derive(Clone, Debug)]
pub(super) struct Monitor {
    score: f64,
    smoothed_us: f64,
    deviation_us: f64,
    /// The gain of the smoothed round-trip time, as a power of 1/2; that of the deviation is half of it.
    shift: i32,
}

impl Monitor {
    pub(super) fn new() -> Monitor {
        Monitor { score: 0.0, smoothed_us: 0.0, deviation_us: 1.0, shift: MOST_SHIFT }
    }

    /// 0 to 17: above 8 the marks may be a classic AQM's, from 9 on they surely are.
    pub(super) fn score(&self) -> f64 {
        self.score
    }

    /// A round-trip time was measured.
    #[inline]
    pub(super) fn on_rtt(&mut self, rtt: Span) {
        let rtt_us = rtt.as_nanos() as f64 / 1e3;
        if self.smoothed_us == 0.0 {
            self.smoothed_us = rtt_us;
            return;
        }
        let error = rtt_us - self.smoothed_us;
        let gain = libm::ldexp(1.0, -self.shift);
        self.smoothed_us += error * gain;
        self.deviation_us += (error.abs() - self.deviation_us) * gain / 2.0;
    }

    /// A window is about to be reduced: the gain follows from the slow-start threshold, in segments, so that one sawtooth is
    /// averaged over.
    pub(super) fn on_reduction(&mut self, threshold: f64) {
        let log = libm::floor(libm::log2(threshold.max(1.0)).min(f64::from(MOST_SHIFT))) as i32;
        self.shift = (log + log / 2 + 1).min(MOST_SHIFT);
    }

    /// A round trip ended, on a path that marks.
    pub(super) fn on_round(&mut self, min_rtt: Span) {
        if self.smoothed_us == 0.0 {
            return;
        }
        self.score += WEIGHT * libm::log2(self.deviation_us.max(1.0) / DEVIATION_US);
        // A short queue says nothing: that of a classic AQM is short at times.
        let depth_us = self.smoothed_us - min_rtt.as_nanos() as f64 / 1e3;
        self.score += WEIGHT * libm::log2((depth_us / DEPTH_US).max(1.0));
        self.score = self.score.clamp(0.0, MOST);
    }

    /// The alpha of a reduction: at least so much that flows that answer the marks as Reno keep their share.
    pub(super) fn alpha(&self, alpha: f64) -> f64 {
        alpha.max(CLASSIC_ALPHA * (self.score.min(CLASSIC) - SCALABLE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    /// A monitor after many round-trip times that swing around `middle_ms` by `swing_ms`, with a threshold of 16 segments: gains
    /// of 2^-7 and 2^-8.
    fn after_swings(middle_ms: u64, swing_ms: u64) -> Monitor {
        let mut monitor = Monitor::new();
        monitor.on_reduction(16.0);
        for _ in 0..2000 {
            monitor.on_rtt(millis(middle_ms + swing_ms));
            monitor.on_rtt(millis(middle_ms - swing_ms));
        }
        monitor
    }

    #[test]
    fn the_gain_follows_from_the_threshold() {
        for (threshold, shift) in
            [(1.0, 1), (2.0, 2), (16.0, 7), (70.0, 10), (4095.0, 17), (1e9, 18), (f64::INFINITY, 18)]
        {
            let mut monitor = Monitor::new();
            monitor.on_reduction(threshold);
            assert_eq!(monitor.shift, shift, "{threshold}");
        }
    }

    /// 6 ms of deviation are 3 doublings of 750 us, 8 ms of queue 2 of 2 ms: 2.5 a round trip, so that the 4th comes to 10.
    #[test]
    fn a_queue_that_swings_and_stands_is_a_classic_aqm_after_four_rounds() {
        let mut monitor = after_swings(48, 6);
        for round in 1..=10 {
            monitor.on_round(millis(40));
            let expected = (2.5 * f64::from(round)).min(MOST);
            assert!((monitor.score() - expected).abs() < 0.05, "round {round}: {}", monitor.score());
        }
        assert_eq!(monitor.alpha(0.1), 0.625);
        assert_eq!(monitor.alpha(0.9), 0.9, "more marks take more");
    }

    /// The deviation of a steady queue falls to 1 us, which is 9.55 halvings of 750 us.
    #[test]
    fn a_steady_queue_takes_the_score_back_at_once_even_if_it_is_long() {
        let mut monitor = after_swings(48, 6);
        (0..10).for_each(|_| monitor.on_round(millis(40)));
        (0..4000).for_each(|_| monitor.on_rtt(millis(48)));
        monitor.on_round(millis(40));
        assert!((monitor.score() - (MOST - 4.775 + 1.0)).abs() < 0.05, "{}", monitor.score());
        (0..4).for_each(|_| monitor.on_round(millis(40)));
        assert_eq!(monitor.score(), 0.0);
        assert_eq!(monitor.alpha(0.1), 0.1);
    }

    #[test]
    fn between_the_two_the_least_alpha_rises_in_proportion() {
        let mut monitor = Monitor::new();
        for (score, alpha) in [(7.9, 0.05), (8.0, 0.05), (8.4, 0.25), (9.0, 0.625), (17.0, 0.625)] {
            monitor.score = score;
            assert!((monitor.alpha(0.05) - alpha).abs() < 1e-9, "{score}");
        }
    }

    #[test]
    fn without_a_round_trip_time_there_is_no_score() {
        let mut monitor = Monitor::new();
        monitor.on_round(Span::MAX);
        assert_eq!(monitor.score(), 0.0);
    }
}
