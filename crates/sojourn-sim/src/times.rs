//! Distributions of times.

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

/// Bits of a bucket's number that a [`Coarse`] distribution does without: what is left tells 1 part in 16 apart.
const COARSE_BITS: u32 = PRECISION_BITS - 4;

/// The times that packets of one flow spent in a queue. There may be very many flows: its buckets are
/// 1 part in 16 wide, and there are only as many as lie between its shortest and its longest time.
/// Count, sum and maximum are exact, and so is how many times were zero.
#[derive(Clone, Debug, Default)]
pub struct Coarse {
    counts: Vec<u32>,
    /// The bucket that `counts` begins with.
    first: u32,
    zeros: u32,
    count: u64,
    nanos: u128,
    max: Span,
}

impl Coarse {
    /// Adds a time.
    #[inline]
    pub fn record(&mut self, time: Span) {
        self.count += 1;
        if time.is_zero() {
            self.zeros = self.zeros.saturating_add(1);
            return;
        }
        self.nanos += u128::from(time.as_nanos());
        self.max = self.max.max(time);
        let bucket = bucket(time.as_nanos()) >> COARSE_BITS;
        match self.counts.get_mut(bucket.wrapping_sub(self.first as usize)) {
            // Beyond the range of a u32 a bucket is full; only quantiles could notice.
            Some(count) => *count = count.saturating_add(1),
            None => *self.widened(bucket) += 1,
        }
    }

    /// How many times were recorded.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of all times, in ns.
    pub fn nanos(&self) -> u128 {
        self.nanos
    }

    /// The longest time.
    pub fn max(&self) -> Span {
        self.max
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Coarse::default();
    }

    /// Adds all times of another distribution.
    pub fn add(&mut self, other: &Coarse) {
        self.count += other.count;
        self.zeros = self.zeros.saturating_add(other.zeros);
        self.nanos += other.nanos;
        self.max = self.max.max(other.max);
        for (bucket, &count) in (other.first as usize..).zip(&other.counts) {
            let own = self.widened(bucket);
            *own = own.saturating_add(count);
        }
    }

    /// As [`Times::quantile`].
    pub fn quantile(&self, fraction: f64) -> Option<Span> {
        let total = u64::from(self.zeros) + self.counts.iter().map(|&count| u64::from(count)).sum::<u64>();
        let rank = ((total as f64 * fraction).ceil() as u64).max(1);
        let mut below = u64::from(self.zeros);
        if total > 0 && below >= rank {
            return Some(Span::ZERO);
        }
        let place = self.counts.iter().position(|&count| {
            below += u64::from(count);
            below >= rank
        })?;
        let bucket = self.first as usize + place;
        let (low, high) = (lowest(bucket << COARSE_BITS), lowest((bucket + 1) << COARSE_BITS));
        Some(Span::from_nanos(low + (high - low) / 2).min(self.max))
    }

    /// The count of `bucket`, after making room for it. There are few hundred buckets, so this soon comes to an end.
    #[cold]
    fn widened(&mut self, bucket: usize) -> &mut u32 {
        let bucket = bucket as u32;
        if self.counts.is_empty() {
            self.first = bucket;
        }
        if bucket < self.first {
            let more = (self.first - bucket) as usize;
            self.counts.reserve_exact(more);
            self.counts.splice(0..0, std::iter::repeat_n(0, more));
            self.first = bucket;
        }
        let place = (bucket - self.first) as usize;
        if place >= self.counts.len() {
            self.counts.reserve_exact(place + 1 - self.counts.len());
            self.counts.resize(place + 1, 0);
        }
        &mut self.counts[place]
    }
}

/// The bucket of a time: its leading bits and how far they are from the unit.
#[inline]
fn bucket(nanos: u64) -> usize {
    let shift = (63 - (nanos | 1).leading_zeros()).saturating_sub(PRECISION_BITS);
    ((shift as usize) << PRECISION_BITS) + (nanos >> shift) as usize
}

/// How far the times in a bucket are shifted.
fn shift(bucket: usize) -> usize {
    (bucket >> PRECISION_BITS).saturating_sub(1)
}

/// The shortest time in a bucket.
fn lowest(bucket: usize) -> u64 {
    let shift = shift(bucket);
    ((bucket - (shift << PRECISION_BITS)) as u64) << shift
}

/// The middle of the times in a bucket.
fn middle(bucket: usize) -> u64 {
    lowest(bucket) + ((1u64 << shift(bucket)) >> 1)
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

    #[test]
    fn a_coarse_distribution_holds_only_the_buckets_between_its_times() {
        let mut times = Coarse::default();
        assert_eq!((times.quantile(0.5), times.counts.capacity()), (None, 0));
        for millis in [0, 0, 50, 97, 60] {
            times.record(Span::from_millis(millis));
        }
        // One doubling of 16 buckets, and both ends.
        assert_eq!(times.counts.len(), 17);
        assert_eq!(times.quantile(0.4), Some(Span::ZERO));
        assert_eq!(times.quantile(1.0), Some(Span::from_millis(97)), "a quantile is no more than the maximum");
        times.clear();
        assert_eq!((times.count(), times.quantile(0.5)), (0, None));
    }

    proptest! {
        #[test]
        fn a_bucket_is_narrow_and_buckets_are_in_order(nanos in 0u64..1 << 60, more in 0u64..1 << 50) {
            let found = middle(bucket(nanos));
            prop_assert!(found.abs_diff(nanos) <= nanos >> PRECISION_BITS);
            prop_assert!(bucket(nanos) <= bucket(nanos + more));
            prop_assert!(lowest(bucket(nanos)) <= nanos && nanos < lowest(bucket(nanos) + 1));
        }

        /// In whatever order, in one distribution or added up from two: within 1 part in 32 of the exact quantile.
        #[test]
        fn coarse_quantiles_are_near_the_exact_ones(
            nanos in prop::collection::vec(prop_oneof![1 => Just(0), 5 => 0u64..10_000, 5 => 0u64..1 << 40], 1..200),
            split in 0usize..200,
            fraction in 0.0..=1.0f64,
        ) {
            let (one, other) = nanos.split_at(split.min(nanos.len()));
            let distribution = |nanos: &[u64]| {
                let mut times = Coarse::default();
                nanos.iter().for_each(|&nanos| times.record(Span::from_nanos(nanos)));
                times
            };
            let mut times = distribution(one);
            times.add(&distribution(other));
            let mut sorted = nanos.clone();
            sorted.sort_unstable();
            let exact = sorted[((nanos.len() as f64 * fraction).ceil() as usize).max(1) - 1];
            let found = times.quantile(fraction).unwrap().as_nanos();
            // Below 2048 ns a bucket is 64 ns wide.
            prop_assert!(found.abs_diff(exact) <= (exact / 32).max(32), "found {found}, exact {exact}");
            prop_assert_eq!(times.count(), nanos.len() as u64);
            prop_assert_eq!(times.nanos(), nanos.iter().map(|&nanos| u128::from(nanos)).sum::<u128>());
            prop_assert_eq!(times.max().as_nanos(), *sorted.last().unwrap());
        }
    }
}
