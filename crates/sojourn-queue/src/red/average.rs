//! The average queue: a moving average sampled by arrivals, and its ageing while the link is idle.

use sojourn_core::Span;

/// An exponentially weighted moving average of the queue.
#[derive(Debug)]
pub(crate) struct Average {
    kept: Kept,
    weight: f64,
    ageing: Ageing,
}

/// In what an average is kept.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Kept {
    /// A real number.
    Real(f64),
    /// Linux (`red_calc_qavg`): a whole number of units of the weight, which is 2^-`log`. What a sample takes of the
    /// average is cut to whole packets or bytes, so that the average comes out up to one of them too high.
    Whole { scaled: u64, log: u32 },
}

/// What idle time does to the average. Rates are in typical packets per second.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Ageing {
    /// ns-2: as if as many whole packets as fit into the idle time had found the queue empty; then the sample.
    Steps(f64),
    /// Floyd and Jacobson: as if idle time over transmission time of them had; no sample.
    Curve(f64),
    /// Linux: a power of 1/2 from a table; no sample.
    Table(Table),
    /// Nothing.
    None,
}

impl Average {
    /// An average that starts at zero, a real number.
    pub(crate) fn new(weight: f64, ageing: Ageing) -> Average {
        Average { kept: Kept::Real(0.0), weight, ageing }
    }

    /// An average that starts at zero, in whole units of its weight, which is 2^-`log`.
    pub(crate) fn whole(log: u32, ageing: Ageing) -> Average {
        Average { kept: Kept::Whole { scaled: 0, log }, weight: libm::exp2(-f64::from(log)), ageing }
    }

    /// An average that never moves.
    #[cfg(test)]
    pub(crate) fn standing(value: f64) -> Average {
        Average { kept: Kept::Real(value), weight: 0.0, ageing: Ageing::None }
    }

    /// The weight of a new sample.
    pub(crate) fn weight(&self) -> f64 {
        self.weight
    }

    /// Makes it so much.
    #[cfg(test)]
    pub(crate) fn set(&mut self, value: f64) {
        self.kept = self.kept.with(value);
    }

    /// The average.
    #[inline]
    pub(crate) fn value(&self) -> f64 {
        self.kept.value()
    }

    /// An arrival finds `waiting` in the queue, after `idle` time without work, if there was any.
    #[inline]
    pub(crate) fn sample(&mut self, waiting: f64, idle: Option<Span>) {
        let Some(idle) = idle else { return self.blend(waiting) };
        if self.weight >= 1.0 {
            // (1-w)^m says nothing about the queue of the moment where m is 0.
            return self.blend(waiting);
        }
        self.kept = self.kept_after(idle);
        if matches!(self.ageing, Ageing::Steps(_) | Ageing::None) {
            self.blend(waiting);
        }
    }

    /// What the average would be after `idle` time without work, if it has been idle, before a sample.
    pub(super) fn aged(&self, idle: Option<Span>) -> f64 {
        idle.map_or(self.kept, |idle| self.kept_after(idle)).value()
    }

    fn kept_after(&self, idle: Span) -> Kept {
        let keep = 1.0 - self.weight;
        match self.ageing {
            Ageing::Steps(rate) => self.kept.times(power(keep, (rate * idle.as_secs_f64()) as u64)),
            Ageing::Curve(rate) => self.kept.times(libm::pow(keep, rate * idle.as_secs_f64())),
            Ageing::Table(table) => table.age(self.kept, idle),
            Ageing::None => self.kept,
        }
    }

    /// A sample; `waiting` is whole.
    #[inline]
    fn blend(&mut self, waiting: f64) {
        match &mut self.kept {
            Kept::Real(value) => *value = *value * (1.0 - self.weight) + self.weight * waiting,
            Kept::Whole { scaled, log } => *scaled = *scaled - (*scaled >> *log) + waiting as u64,
        }
    }
}

impl Kept {
    #[inline]
    fn value(self) -> f64 {
        match self {
            Kept::Real(value) => value,
            Kept::Whole { scaled, log } => scaled as f64 / (1u64 << log) as f64,
        }
    }

    /// The same kind of number, of another value.
    fn with(self, value: f64) -> Kept {
        match self {
            Kept::Real(_) => Kept::Real(value),
            Kept::Whole { log, .. } => Kept::Whole { scaled: (value * (1u64 << log) as f64) as u64, log },
        }
    }

    fn times(self, factor: f64) -> Kept {
        self.with(self.value() * factor)
    }

    /// Halved so many times.
    fn halved(self, times: u32) -> Kept {
        match self {
            Kept::Real(value) => Kept::Real(value / (1u64 << times) as f64),
            Kept::Whole { scaled, log } => Kept::Whole { scaled: scaled >> times, log },
        }
    }

    /// Less by `parts`/2^`log_of_whole` of itself, but not below one half.
    fn less(self, parts: u64, log_of_whole: u32) -> Kept {
        match self {
            Kept::Real(value) => Kept::Real(value * (1.0 - parts as f64 / (1u64 << log_of_whole) as f64).max(0.5)),
            Kept::Whole { scaled, log } => {
                let loss = (u128::from(scaled) * u128::from(parts)) >> log_of_whole;
                let half = scaled >> 1;
                let scaled = if loss < u128::from(half) { scaled - loss as u64 } else { half };
                Kept::Whole { scaled, log }
            }
        }
    }
}

/// `base` to a whole power, by repeated squaring: the same on every platform.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut result = 1.0;
    while exponent > 0 && result > 0.0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

/// The idle table that `tc` computes and Linux reads, as its formula.
///
/// A cell is 2^`cell_log` long and the last of 256 ends all memory. `tc` fills the table in ticks of the packet
/// scheduler, of 64 ns, while the kernel looks it up in microseconds: on real hosts the average thus
/// ages 15.6 times more slowly than `bandwidth` says. That is what this does too.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Table {
    cell_log: u32,
    /// Halvings per unit of time; `tc` takes the natural logarithm for the binary one.
    slope: f64,
}

/// Cells of the table (RED_STAB_SIZE).
const CELLS: u64 = 256;
/// Most halvings that a cell can hold.
const MAX_HALVINGS: f64 = 31.0;
/// Scheduler ticks per microsecond: `/proc/net/psched` says 1000/64.
const TICKS_PER_MICROSECOND: f64 = 15.625;

impl Table {
    /// The table for a weight, a rate in bytes per second and a packet size (`tc_red_eval_idle_damping`);
    /// `None` where `tc` finds no cell length.
    pub(crate) fn new(weight: f64, bytes_per_second: f64, mean_packet: f64) -> Option<Table> {
        let micros = (1e6 * mean_packet / bytes_per_second).floor();
        let ticks = (micros * TICKS_PER_MICROSECOND).floor();
        let slope = -libm::log1p(-weight) / ticks;
        let longest = MAX_HALVINGS / slope;
        let cell_log = (0..32).find(|&log| longest / ((1u64 << log) as f64) < 512.0)?;
        Some(Table { cell_log, slope })
    }

    /// `average` after `idle` time (`red_calc_qavg_from_idle_time`).
    fn age(&self, average: Kept, idle: Span) -> Kept {
        let micros = (idle.as_nanos() / 1000).min((CELLS - 1) << self.cell_log);
        let cell = micros >> self.cell_log;
        let halvings = if cell == CELLS - 1 {
            MAX_HALVINGS
        } else {
            (((cell << self.cell_log) as f64) * self.slope).floor().min(MAX_HALVINGS)
        };
        if halvings > 0.0 {
            return average.halved(halvings as u32);
        }
        // Before the first halving the kernel goes down along a line, as far as one half.
        average.less(micros, self.cell_log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn average_of(value: f64, weight: f64, ageing: Ageing) -> Average {
        Average { kept: Kept::Real(value), weight, ageing }
    }

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

    /// Wlog 3 and the table of `the_table_of_tc_is_reproduced`: what is left is cut to whole eighths.
    #[test]
    fn whole_units_age_in_whole_units() {
        let after = |eighths: f64, micros| {
            let table = Table::new(1.0 / 8.0, 1.25e6, 1000.0).unwrap();
            let mut average = Average::whole(3, Ageing::Table(table));
            average.set(eighths / 8.0);
            average.sample(99.0, Some(Span::from_micros(micros)));
            average.value() * 8.0
        };
        assert_eq!(after(11.0, 0), 11.0, "no sample");
        assert_eq!(after(11.0, 2048), 11.0 - 2.0, "11/4 is cut to 2");
        assert_eq!(after(11.0, 4096), 5.0, "half, which is cut");
        assert_eq!(after(11.0, 90_000), 5.0);
        assert_eq!(after(11.0, 12 << 13), 5.0, "one halving");
        assert_eq!(after(11.0, 23 << 13), 2.0, "two");
        assert_eq!(after(1e6, 10_000_000), 0.0, "31 halvings");
    }

    /// ns-2's and Linux's own loops, for comparison with the closed forms.
    #[test]
    fn squaring_is_repeated_multiplication() {
        for exponent in [0u64, 1, 2, 3, 17, 1000] {
            let slow = (0..exponent).fold(1.0, |product, _| product * 0.998);
            assert!((power(0.998, exponent) - slow).abs() < 1e-12);
        }
        assert_eq!(power(0.998, u64::MAX), 0.0);
    }

    #[test]
    fn a_thousand_idle_packets_leave_0_675_of_5() {
        let mut average = average_of(5.0, 0.002, Ageing::Curve(1000.0));
        average.sample(0.0, Some(Span::from_secs(1)));
        assert!((average.value() - 0.675).abs() < 0.0005, "{}", average.value());

        // ns-2 counts the arrival as one packet more.
        let mut average = average_of(5.0, 0.002, Ageing::Steps(1000.0));
        average.sample(0.0, Some(Span::from_secs(1)));
        assert!((average.value() - 0.675 * 0.998).abs() < 0.0005, "{}", average.value());
    }

    #[test]
    fn whole_packets_only_in_steps() {
        let mut average = average_of(8.0, 0.5, Ageing::Steps(1000.0));
        average.sample(0.0, Some(Span::from_micros(1999)));
        assert_eq!(average.value(), 2.0);
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

    /// avpkt 1000 at 10 Mbit/s with Wlog 3: 800 us are 12500 ticks, the slope is 0.1335/12500 and
    /// 31/slope = 2.9 million needs cells of 2^13.
    #[test]
    fn the_table_of_tc_is_reproduced() {
        let table = Table::new(1.0 / 8.0, 1.25e6, 1000.0).unwrap();
        assert_eq!(table.cell_log, 13);
        assert!((table.slope - 0.133_531_39 / 12_500.0).abs() < 1e-12);
        let after = |micros| table.age(Kept::Real(1024.0), Span::from_micros(micros)).value();
        assert_eq!(after(0), 1024.0);
        assert_eq!(after(2048), 768.0);
        assert_eq!(after(4096), 512.0);
        assert_eq!(after(90_000), 512.0, "cell 10 still holds no halving");
        assert_eq!(after(12 << 13), 512.0, "cell 12: floor(1.05) halvings");
        assert_eq!(after(23 << 13), 256.0, "cell 23: floor(2.01) halvings");
        assert!(after(10_000_000) < 1e-6, "the last cell forgets");
    }

    #[test]
    fn ageing_never_lengthens_the_average() {
        let table = Table::new(1.0 / 64.0, 1.25e6, 1500.0).unwrap();
        for ageing in [Ageing::Steps(800.0), Ageing::Curve(800.0), Ageing::Table(table)] {
            let mut last = f64::INFINITY;
            for millis in 0..3000 {
                let mut average = average_of(10.0, 1.0 / 64.0, ageing);
                average.sample(0.0, Some(Span::from_millis(millis)));
                assert!(average.value() <= last && average.value() >= 0.0, "{ageing:?} at {millis} ms");
                last = average.value();
            }
        }
    }
}
