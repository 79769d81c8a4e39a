//! The average queue: an exponentially weighted moving average, sampled by arrivals.

use super::ageing::Ageing;
use super::number::Number;
use sojourn_core::Span;

/// An exponentially weighted moving average of the queue.
#[derive(Debug)]
pub(crate) struct Average {
    number: Number,
    weight: f64,
    ageing: Ageing,
}

impl Average {
    /// An average that starts at zero, a real number.
    pub(crate) fn new(weight: f64, ageing: Ageing) -> Average {
        Average { number: Number::Real(0.0), weight, ageing }
    }

    /// An average that starts at zero, in whole units of its weight, which is 2^-`log`.
    pub(crate) fn whole(log: u32, ageing: Ageing) -> Average {
        Average { number: Number::FixedPoint { scaled: 0, log }, weight: libm::exp2(-f64::from(log)), ageing }
    }

    /// An average that never moves.
    #[cfg(test)]
    pub(crate) fn standing(value: f64) -> Average {
        Average { number: Number::Real(value), weight: 0.0, ageing: Ageing::None }
    }

    /// The weight of a new sample.
    pub(crate) fn weight(&self) -> f64 {
        self.weight
    }

    /// Makes it so much.
    #[cfg(test)]
    pub(crate) fn set(&mut self, value: f64) {
        self.number = self.number.with(value);
    }

    /// The average.
    #[inline]
    pub(crate) fn value(&self) -> f64 {
        self.number.value()
    }

    /// An arrival finds `waiting` in the queue, after `idle` time without work, if there was any.
    #[inline]
    pub(crate) fn sample(&mut self, waiting: f64, idle: Option<Span>) {
        let Some(idle) = idle else { return self.blend(waiting) };
        if self.weight >= 1.0 {
            // (1-w)^m says nothing about the queue of the moment where m is 0.
            return self.blend(waiting);
        }
        self.number = self.after_idle(idle);
        if matches!(self.ageing, Ageing::Steps(_) | Ageing::None) {
            self.blend(waiting);
        }
    }

    /// What the average would be after `idle` time without work, if it has been idle, before a sample.
    pub(super) fn aged(&self, idle: Option<Span>) -> f64 {
        idle.map_or(self.number, |idle| self.after_idle(idle)).value()
    }

    fn after_idle(&self, idle: Span) -> Number {
        self.ageing.age(self.number, self.weight, idle)
    }

    /// A sample; `waiting` is whole.
    #[inline]
    fn blend(&mut self, waiting: f64) {
        match &mut self.number {
            Number::Real(value) => *value = *value * (1.0 - self.weight) + self.weight * waiting,
            Number::FixedPoint { scaled, log } => *scaled = *scaled - (*scaled >> *log) + waiting as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// red_calc_qavg_no_idle_time with Wlog 3, by hand: an average of whole eighths, from which only whole packets are
    /// taken. Exactly, seven samples of 1 make 1 - (7/8)^7 = 0.607; ten standing packets leave 10.875 instead of 10.
    #[test]
    fn whole_units_forget_whole_packets() {
        let mut average = Average::whole(3, Ageing::None);
        let mut sample = |waiting, times| {
            for _ in 0..times {
                average.sample(waiting, None);
            }
            average.value()
        };
        assert_eq!(sample(1.0, 7), 0.875, "nothing is taken of less than a packet");
        assert_eq!(sample(1.0, 1), 1.0);
        assert_eq!(sample(10.0, 1), f64::from(8 - 1 + 10) / 8.0);
        assert_eq!(sample(10.0, 100), 10.0);
        assert_eq!(sample(20.0, 1), 11.25);
        assert_eq!(sample(10.0, 100), 10.875, "from above it stays where the whole packets are those that wait");
        assert_eq!(sample(0.0, 100), 0.875);
    }

    #[test]
    fn the_queue_of_the_moment_has_no_memory() {
        for ageing in [Ageing::Steps(10.0), Ageing::Curve(10.0), Ageing::None] {
            let mut average = Average::new(1.0, ageing);
            for (waiting, idle) in [(3.0, None), (0.0, Some(Span::ZERO)), (7.0, Some(Span::from_secs(1)))] {
                average.sample(waiting, idle);
                assert_eq!(average.value(), waiting);
            }
        }
    }
}
