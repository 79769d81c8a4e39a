//! The average queue: a moving average sampled by arrivals, and its ageing while the link is idle.

use sojourn_core::Span;

/// An exponentially weighted moving average of the queue.
#[derive(Debug)]
pub(crate) struct Average {
    value: f64,
    weight: f64,
    ageing: Ageing,
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
    /// An average that starts at zero.
    pub(crate) fn new(weight: f64, ageing: Ageing) -> Average {
        Average { value: 0.0, weight, ageing }
    }

    /// An average that never moves.
    #[cfg(test)]
    pub(crate) fn standing(value: f64) -> Average {
        Average { value, weight: 0.0, ageing: Ageing::None }
    }

    /// The weight of a new sample.
    pub(crate) fn weight(&self) -> f64 {
        self.weight
    }

    /// Makes it so much.
    #[cfg(test)]
    pub(crate) fn set(&mut self, value: f64) {
        self.value = value;
    }

    /// The average.
    #[inline]
    pub(crate) fn value(&self) -> f64 {
        self.value
    }

    /// An arrival finds `waiting` in the queue, after `idle` time without work, if there was any.
    #[inline]
    pub(crate) fn sample(&mut self, waiting: f64, idle: Option<Span>) {
        let Some(idle) = idle else { return self.blend(waiting) };
        if self.weight >= 1.0 {
            // (1-w)^m says nothing about the queue of the moment where m is 0.
            return self.blend(waiting);
        }
        self.value = self.aged(Some(idle));
        if matches!(self.ageing, Ageing::Steps(_) | Ageing::None) {
            self.blend(waiting);
        }
    }

    /// What the average would be after `idle` time without work, if it has been idle, before a sample.
    pub(super) fn aged(&self, idle: Option<Span>) -> f64 {
        let Some(idle) = idle else { return self.value };
        let keep = 1.0 - self.weight;
        match self.ageing {
            Ageing::Steps(rate) => self.value * power(keep, (rate * idle.as_secs_f64()) as u64),
            Ageing::Curve(rate) => self.value * libm::pow(keep, rate * idle.as_secs_f64()),
            Ageing::Table(table) => table.age(self.value, idle),
            Ageing::None => self.value,
        }
    }

    #[inline]
    fn blend(&mut self, waiting: f64) {
        self.value = self.value * (1.0 - self.weight) + self.weight * waiting;
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
const MOST_HALVINGS: f64 = 31.0;
/// Scheduler ticks per microsecond: `/proc/net/psched` says 1000/64.
const TICKS_PER_MICROSECOND: f64 = 15.625;

impl Table {
    /// The table for a weight, a rate in bytes per second and a packet size (`tc_red_eval_idle_damping`);
    /// `None` where `tc` finds no cell length.
    pub(crate) fn new(weight: f64, bytes_per_second: f64, mean_packet: f64) -> Option<Table> {
        let micros = (1e6 * mean_packet / bytes_per_second).floor();
        let ticks = (micros * TICKS_PER_MICROSECOND).floor();
        let slope = -libm::log1p(-weight) / ticks;
        let longest = MOST_HALVINGS / slope;
        let cell_log = (0..32).find(|&log| longest / ((1u64 << log) as f64) < 512.0)?;
        Some(Table { cell_log, slope })
    }

    /// `average` after `idle` time (`red_calc_qavg_from_idle_time`).
    fn age(&self, average: f64, idle: Span) -> f64 {
        let micros = (idle.as_nanos() / 1000).min((CELLS - 1) << self.cell_log);
        let cell = micros >> self.cell_log;
        let halvings = if cell == CELLS - 1 {
            MOST_HALVINGS
        } else {
            (((cell << self.cell_log) as f64) * self.slope).floor().min(MOST_HALVINGS)
        };
        if halvings > 0.0 {
            return average / (1u64 << (halvings as u32)) as f64;
        }
        // Before the first halving the kernel goes down along a line, as far as one half.
        let loss = micros as f64 / (1u64 << self.cell_log) as f64;
        average * (1.0 - loss).max(0.5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut average = Average { value: 5.0, weight: 0.002, ageing: Ageing::Curve(1000.0) };
        average.sample(0.0, Some(Span::from_secs(1)));
        assert!((average.value() - 0.675).abs() < 0.0005, "{}", average.value());

        // ns-2 counts the arrival as one packet more.
        let mut average = Average { value: 5.0, weight: 0.002, ageing: Ageing::Steps(1000.0) };
        average.sample(0.0, Some(Span::from_secs(1)));
        assert!((average.value() - 0.675 * 0.998).abs() < 0.0005, "{}", average.value());
    }

    #[test]
    fn whole_packets_only_in_steps() {
        let mut average = Average { value: 8.0, weight: 0.5, ageing: Ageing::Steps(1000.0) };
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
        let after = |micros| table.age(1024.0, Span::from_micros(micros));
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
                let mut average = Average { value: 10.0, weight: 1.0 / 64.0, ageing };
                average.sample(0.0, Some(Span::from_millis(millis)));
                assert!(average.value() <= last && average.value() >= 0.0, "{ageing:?} at {millis} ms");
                last = average.value();
            }
        }
    }
}
