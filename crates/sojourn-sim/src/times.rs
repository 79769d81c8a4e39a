//! A distribution of times.

use sojourn_core::Span;

/// Bits that tell neighbouring buckets apart: 1 part in 1024.
const PRECISION_BITS: u32 = 10;

/// Counts times in buckets whose width grows with the time: exact below 2048 ns, then to one part in
/// 1024. Recording is a shift and an addition, which is why this is not a general histogram library:
/// it happens twice for every packet, and one such library took a tenth of the whole run.
#[derive(Clone, Debug, Default)]
pub struct Times {
    counts: Vec<u64>,
    count: u64,
}

impl Times {
    /// Adds a time.
    #[inline]
    pub fn record(&mut self, time: Span) {
        let bucket = bucket(time.as_nanos());
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.count += 1;
    }

    /// How many times were recorded.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        self.count = 0;
    }

    /// The smallest time that at least `fraction` of all times do not exceed, as the middle of its
    /// bucket; `None` where there are none.
    pub fn quantile(&self, fraction: f64) -> Option<Span> {
        let rank = ((self.count as f64 * fraction).ceil() as u64).max(1);
        let mut below = 0;
        let bucket = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        })?;
        Some(Span::from_nanos(middle(bucket)))
    }
}

/// The bucket of a time: its leading bits and how far they are from the unit.
#[inline]
fn bucket(nanos: u64) -> usize {
    let shift = (63 - (nanos | 1).leading_zeros()).saturating_sub(PRECISION_BITS);
    ((shift as usize) << PRECISION_BITS) + (nanos >> shift) as usize
}

/// The middle of the times in a bucket.
fn middle(bucket: usize) -> u64 {
    let shift = (bucket >> PRECISION_BITS).saturating_sub(1);
    let leading = bucket - (shift << PRECISION_BITS);
    ((leading as u64) << shift) + ((1u64 << shift) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_of_a_ramp() {
        let mut times = Times::default();
        assert_eq!(times.quantile(0.5), None);
        for millis in 1..=1000 {
            times.record(Span::from_millis(millis));
        }
        for (fraction, millis) in [(0.0, 1.0), (0.5, 500.0), (0.9, 900.0), (0.99, 990.0), (1.0, 1000.0)] {
            let found = times.quantile(fraction).unwrap().as_millis_f64();
            assert!((found / millis - 1.0).abs() < 1.0 / 1024.0, "{fraction}: {found}");
        }
        times.clear();
        assert_eq!((times.count(), times.quantile(0.5)), (0, None));
    }

    proptest! {
        #[test]
        fn a_bucket_is_narrow_and_buckets_are_in_order(nanos in 0u64..1 << 60, more in 0u64..1 << 50) {
            let found = middle(bucket(nanos));
            prop_assert!(found.abs_diff(nanos) <= nanos >> PRECISION_BITS);
            prop_assert!(bucket(nanos) <= bucket(nanos + more));
        }
    }
}
