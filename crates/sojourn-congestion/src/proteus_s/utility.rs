//! The utility of a scavenger (`CalculateUtilityScavenger`), and what it does not count because it may be noise.

use super::descriptor::Parameters;
use super::interval::{Line, Statistics};

/// Intervals over which trends are looked for (`kRttHistoryLen`).
const HISTORY: usize = 6;
/// Weight of the newest value in moving averages (`kAlpha`).
const NEW: f64 = 0.1;
/// Below so small a part of the smallest trend the averages begin anew (`kBeta`).
const ABNORMAL: f64 = 100.0;
/// Deviations from the average that a trend may have (`kInflationToleranceGainHigh` and `Low`).
const TREND_GAIN: f64 = 2.0;
/// The same for the deviation within an interval, which must also be longer than this, in seconds.
const DEVIATION_GAIN: f64 = 4.0;
const LEAST_DEVIATION: f64 = 1e-3;
/// Part of intervals with too much deviation after which it is the usual one (`kTrendingResetIntervalRatio`).
const RESET: f64 = 0.95;
/// What counts as nothing, in seconds: 1e-6 of the authors' microseconds.
const NOTHING: f64 = 1e-12;
/// Growth of the round-trip time over an interval of STARTING that does not count, in seconds.
const STARTING_GROWTH: f64 = 1e-3;

/// Computes utilities; remembers what is usual on the path.
#[derive(Clone, Debug)]
pub(super) struct Utility {
    weights: Weights,
    /// Standard deviation of the round-trip time in the last interval, in seconds; NaN before the first.
    pub(super) deviation: f64,
    means: History,
    trend: Trend,
    fluctuation: Fluctuation,
}

#[derive(Clone, Copy, Debug)]
struct Weights {
    exponent: f64,
    latency: f64,
    loss: f64,
    deviation: f64,
}

/// Values of the last intervals, the oldest first.
#[derive(Clone, Copy, Default, Debug)]
struct History {
    values: [f64; HISTORY],
    count: usize,
}

impl History {
    fn push(&mut self, value: f64) {
        self.values.rotate_left(1);
        self.values[HISTORY - 1] = value;
        self.count = (self.count + 1).min(HISTORY);
    }

    /// Change from one interval to the next, once there are enough.
    fn trend(&self) -> Option<f64> {
        let mut line = Line::default();
        for (index, value) in self.values.iter().enumerate() {
            line.add(index as f64, *value);
        }
        (self.count == HISTORY).then(|| line.slope())
    }
}

/// How the mean round-trip time usually changes between intervals ("trending gradient"), in seconds.
#[derive(Clone, Copy, Default, Debug)]
struct Trend {
    average: f64,
    deviation: f64,
    least: f64,
    last: f64,
}

impl Trend {
    /// `DetermineToleranceInflation`: whether `trend` is out of the ordinary.
    fn is_unusual(&mut self, trend: f64) -> bool {
        let size = trend.abs();
        if self.least < NOTHING || size < self.least / ABNORMAL {
            *self = Trend { average: 0.0, deviation: size, least: size, last: trend };
            return false;
        }
        let unusual = (trend - self.average).abs() > TREND_GAIN * self.deviation;
        if !unusual {
            self.deviation = self.deviation * (1.0 - NEW) + (trend - self.last).abs() * NEW;
            self.average = self.average * (1.0 - NEW) + trend * NEW;
            self.last = trend;
        }
        self.least = self.least.min(size);
        unusual
    }
}

/// How much the round-trip time usually deviates within an interval ("trending deviation"), in seconds.
#[derive(Clone, Copy, Default, Debug)]
struct Fluctuation {
    average: f64,
    deviation: f64,
    /// Moving average of the part of intervals with more.
    exceeded: f64,
}

impl Fluctuation {
    /// `DetermineToleranceDeviation`: whether `deviation` is out of the ordinary.
    fn is_unusual(&mut self, deviation: f64) -> bool {
        self.exceeded *= 1.0 - NEW;
        if self.average < NOTHING {
            self.average = deviation;
            self.deviation = 0.5 * deviation;
            return false;
        }
        let unusual = deviation > self.average + DEVIATION_GAIN * self.deviation && deviation > LEAST_DEVIATION;
        if unusual {
            self.exceeded += NEW;
        } else {
            self.deviation = self.deviation * (1.0 - NEW) + (deviation - self.average).abs() * NEW;
            self.average = self.average * (1.0 - NEW) + deviation * NEW;
        }
        if self.exceeded > RESET {
            *self = Fluctuation::default();
        }
        unusual
    }
}

impl Utility {
    pub(super) fn new(declared: &Parameters) -> Utility {
        Utility {
            weights: Weights {
                exponent: declared.exponent,
                latency: declared.latency,
                loss: declared.loss,
                deviation: declared.deviation,
            },
            deviation: f64::NAN,
            means: History::default(),
            trend: Trend::default(),
            fluctuation: Fluctuation::default(),
        }
    }

    /// Takes the weights of `fresh`.
    pub(super) fn retune(&mut self, fresh: &Utility) {
        self.weights = fresh.weights;
    }

    /// The utility of an interval: `PrepareStatistics` and `CalculateUtilityScavenger`.
    pub(super) fn of(&mut self, seen: &Statistics) -> f64 {
        self.deviation = seen.deviation;
        let explained = seen.error < seen.gradient.abs();
        let (mut growing, mut deviating) = (explained, explained);
        self.means.push(seen.mean);
        if let Some(trend) = self.means.trend() {
            if self.trend.is_unusual(trend) {
                growing |= trend > 0.0;
                deviating = true;
            }
            deviating |= self.fluctuation.is_unusual(seen.deviation);
        }
        let mut gradient = if growing { seen.gradient.max(0.0) } else { 0.0 };
        if seen.starting {
            deviating = false;
            if gradient * seen.duration < STARTING_GROWTH {
                gradient = 0.0;
            }
        }
        self.weights.utility(seen.rate_mbps, seen.loss, gradient, if deviating { seen.deviation } else { 0.0 })
    }
}

impl Weights {
    /// `rate` in Mbit/s, `gradient` in seconds per second, `deviation` in seconds.
    fn utility(&self, rate: f64, loss: f64, gradient: f64, deviation: f64) -> f64 {
        let penalty = self.latency * gradient + self.loss * loss + self.deviation * deviation;
        libm::pow(rate, self.exponent) - rate * penalty
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proteus_s::DESCRIPTOR;
    use crate::script::params;

    fn utility() -> Utility {
        Utility::new(&Parameters::of(&params(&DESCRIPTOR, "uspace", &[])))
    }

    fn seen(rate_mbps: f64) -> Statistics {
        Statistics {
            rate_mbps,
            loss: 0.0,
            duration: 0.05,
            gradient: 0.0,
            error: 0.0,
            mean: 0.05,
            deviation: 0.0,
            starting: false,
        }
    }

    /// 10 Mbit/s: 10^0.9 = 7.943; 1 % of loss costs 11.35 / 10, 1 ms/s of growth 900 / 100, 1 ms of deviation 1500 / 100.
    #[test]
    fn worked_numbers() {
        let weights = utility().weights;
        let near =
            |found: f64, expected: f64| assert!((found - expected).abs() < 1e-3, "{found} instead of {expected}");
        near(weights.utility(10.0, 0.0, 0.0, 0.0), 7.943);
        near(weights.utility(10.0, 0.01, 0.0, 0.0), 7.943 - 1.135);
        near(weights.utility(10.0, 0.0, 0.001, 0.0), 7.943 - 9.0);
        near(weights.utility(10.0, 0.0, 0.0, 0.001), 7.943 - 15.0);
        near(weights.utility(0.0, 0.5, 1.0, 1.0), 0.0);
    }

    /// A gradient counts where it explains more than it leaves, and a falling round-trip time is no gain.
    #[test]
    fn noise_within_an_interval_does_not_count() {
        let of = |gradient, error| utility().of(&Statistics { gradient, error, deviation: 0.002, ..seen(10.0) });
        let clean = of(0.0, 0.0);
        assert_eq!(of(0.01, 0.011), clean);
        assert!((clean - of(0.01, 0.009) - (90.0 + 30.0)).abs() < 1e-9);
        // The deviation counts there, whatever the sign.
        assert!((clean - of(-0.01, 0.009) - 30.0).abs() < 1e-9);
    }

    /// In STARTING the deviation never counts, and growth only from 1 ms within the interval on.
    #[test]
    fn starting_tolerates_more() {
        let of = |gradient| utility().of(&Statistics { gradient, deviation: 0.002, starting: true, ..seen(10.0) });
        assert_eq!(of(0.019), of(0.0));
        assert!((of(0.0) - of(0.021) - 900.0 * 0.21).abs() < 1e-9);
    }

    /// A trend over six intervals counts where it leaves what is usual by two deviations.
    #[test]
    fn trends_between_intervals() {
        let mut trend = Trend::default();
        assert!(!trend.is_unusual(0.001), "the first is the usual one");
        assert!(!trend.is_unusual(-0.0015) && !trend.is_unusual(0.0015));
        assert!(trend.is_unusual(0.004) && trend.is_unusual(-0.004));
        let kept = trend;
        assert!(trend.is_unusual(0.004));
        assert_eq!((trend.average, trend.deviation), (kept.average, kept.deviation), "what is unusual is not learnt");
        assert!(!trend.is_unusual(0.000_009), "a hundredth of the least begins anew");
        assert_eq!(trend.deviation, 0.000_009);

        let mut history = History::default();
        for value in [1.0, 2.0, 3.0, 4.0, 5.0] {
            history.push(value);
            assert_eq!(history.trend(), None);
        }
        history.push(6.0);
        assert_eq!(history.trend(), Some(1.0));
        history.push(7.0);
        assert_eq!(history.trend(), Some(1.0));
    }

    /// Deviation counts beyond the average and four times its own deviation, and from 1 ms on; where it never ends it is usual.
    #[test]
    fn deviation_between_intervals() {
        let mut usual = Fluctuation::default();
        assert!(!usual.is_unusual(0.0001) && !usual.is_unusual(0.0009));
        assert!(usual.is_unusual(0.01));
        let exceeded = (0..100).take_while(|_| usual.is_unusual(0.01)).count();
        // 1 - 0.9^n exceeds 0.95 with the 29th in a row, which is the 28th here; then all begins anew.
        assert_eq!(exceeded, 28);
        assert!(!usual.is_unusual(0.01));
    }

    /// A jump of the mean that nothing within the intervals shows: the seventh interval pays for it.
    #[test]
    fn a_trend_makes_the_deviation_count() {
        let mut utility = utility();
        let quiet = Statistics { error: 1.0, deviation: 0.0005, ..seen(10.0) };
        let means = [0.05, 0.0501, 0.05, 0.0501, 0.05, 0.0501, 0.05, 0.0501];
        let free: Vec<f64> = means.iter().map(|mean| utility.of(&Statistics { mean: *mean, ..quiet })).collect();
        assert!(free.iter().all(|one| (one - 7.943).abs() < 1e-3), "{free:?}");
        let paid = utility.of(&Statistics { mean: 0.06, ..quiet });
        assert!((7.943 - 7.5 - paid).abs() < 1e-3, "{paid}");
    }
}
