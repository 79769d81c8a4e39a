//! What idle time does to RED's average: as in ns-2, as in Floyd and Jacobson, or as in Linux.

use super::number::Number;
#[cfg(not(feature = "std"))]
use sojourn_core::Float as _;
use sojourn_core::Span;

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

impl Ageing {
    /// `average`, in which a sample has the given weight, after `idle` time without work.
    pub(super) fn age(self, average: Number, weight: f64, idle: Span) -> Number {
        let keep = 1.0 - weight;
        match self {
            Ageing::Steps(rate) => average.times(power(keep, (rate * idle.as_secs_f64()) as u64)),
            Ageing::Curve(rate) => average.times(libm::pow(keep, rate * idle.as_secs_f64())),
            Ageing::Table(table) => table.age(average, idle),
            Ageing::None => average,
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
    fn age(&self, average: Number, idle: Span) -> Number {
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
    use crate::red::average::Average;

    fn average_of(value: f64, weight: f64, ageing: Ageing) -> Average {
        let mut average = Average::new(weight, ageing);
        average.set(value);
        average
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

    /// avpkt 1000 at 10 Mbit/s with Wlog 3: 800 us are 12500 ticks, the slope is 0.1335/12500 and
    /// 31/slope = 2.9 million needs cells of 2^13.
    #[test]
    fn the_table_of_tc_is_reproduced() {
        let table = Table::new(1.0 / 8.0, 1.25e6, 1000.0).unwrap();
        assert_eq!(table.cell_log, 13);
        assert!((table.slope - 0.133_531_39 / 12_500.0).abs() < 1e-12);
        let after = |micros| table.age(Number::Real(1024.0), Span::from_micros(micros)).value();
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
