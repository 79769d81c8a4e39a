//! The clock and the run's place on it.

use sojourn_core::{Span, Time};

/// CLOCK_MONOTONIC.
pub fn now() -> Time {
    Time::from_nanos(crate::sys::monotonic_nanos())
}

/// When a run starts and ends, and its bins.
#[derive(Clone, Copy, Debug)]
pub struct Timeline {
    /// Its first moment.
    pub start: Time,
    /// Its last one.
    pub end: Time,
    /// Length of a bin.
    pub bin: Span,
}

impl Timeline {
    /// How many bins it has; the last one may be shorter.
    pub fn bins(&self) -> usize {
        self.end.since(self.start).as_nanos().div_ceil(self.bin.as_nanos()) as usize
    }

    /// The bin of `time`, where it lies in the run.
    pub fn bin_of(&self, time: Time) -> Option<usize> {
        let inside = self.start <= time && time < self.end;
        inside.then(|| (time.since(self.start).as_nanos() / self.bin.as_nanos()) as usize)
    }

    /// When bin `index` is over.
    pub fn end_of(&self, index: usize) -> Time {
        let nanos = self.bin.as_nanos() * (index as u64 + 1);
        (self.start + Span::from_nanos(nanos)).min(self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bin_may_be_short() {
        let at = |millis: u64| Time::from_nanos(millis * 1_000_000);
        let line = Timeline { start: at(1000), end: at(1250), bin: Span::from_millis(100) };
        assert_eq!(line.bins(), 3);
        assert_eq!(
            [at(999), at(1000), at(1099), at(1100), at(1249), at(1250)].map(|time| line.bin_of(time)),
            [None, Some(0), Some(0), Some(1), Some(2), None]
        );
        assert_eq!([0, 1, 2].map(|index| line.end_of(index)), [at(1100), at(1200), at(1250)]);
    }
}
