//! Distributions of times.

use sojourn_core::Span;

/// Bits that tell neighbouring buckets apart: 1 part in 1024.
const PRECISION_BITS: u32 = 10;

/// How often each of some consecutive buckets was hit: those between the lowest and the highest hit, and up to `GRAIN`
/// more at either end, so that a distribution that grows bucket by bucket is not moved each time.
#[derive(Clone, Debug, Default)]
struct Buckets<Count, const GRAIN: usize> {
    counts: Vec<Count>,
    /// The bucket that `counts` begins with.
    first: usize,
}

impl<Count: Copy + Default + Into<u64>, const GRAIN: usize> Buckets<Count, GRAIN> {
    /// The count of `bucket`, where there is room for it.
    #[inline]
    fn find(&mut self, bucket: usize) -> Option<&mut Count> {
        self.counts.get_mut(bucket.wrapping_sub(self.first))
    }

    /// The count of `bucket`.
    fn count(&mut self, bucket: usize) -> &mut Count {
        if bucket.wrapping_sub(self.first) >= self.counts.len() {
            self.widen(bucket);
        }
        &mut self.counts[bucket - self.first]
    }

    /// The count of `bucket`, where it may never have been hit.
    fn get(&self, bucket: usize) -> Count {
        self.counts.get(bucket.wrapping_sub(self.first)).copied().unwrap_or_default()
    }

    /// Makes room for the buckets of another distribution: at once, where they would come one by one.
    fn make_room(&mut self, other: &Self) {
        if let Some(more) = other.counts.len().checked_sub(1) {
            self.count(other.first);
            self.count(other.first + more);
        }
    }

    /// Makes room for `bucket`.
    #[cold]
    fn widen(&mut self, bucket: usize) {
        let (low, high) = (bucket / GRAIN * GRAIN, (bucket / GRAIN + 1) * GRAIN);
        if self.counts.is_empty() {
            self.first = low;
        }
        if low < self.first {
            let more = self.first - low;
            self.counts.reserve_exact(more);
            self.counts.splice(0..0, std::iter::repeat_n(Count::default(), more));
            self.first = low;
        }
        if let more @ 1.. = (high - self.first).saturating_sub(self.counts.len()) {
            self.counts.reserve_exact(more);
            self.counts.resize(high - self.first, Count::default());
        }
    }

    /// Writes into `places` the buckets of the hits with these ranks, which rise; hits are numbered from 1, the lowest
    /// first. One way through the buckets finds all of them.
    fn find_ranks(&self, ranks: &[u64], places: &mut [Option<usize>]) {
        let mut sought = ranks.iter().zip(places).peekable();
        let mut below = 0;
        for (index, part) in self.counts.chunks(PART).enumerate() {
            let upto = below + part.iter().map(|&count| count.into()).sum::<u64>();
            while let Some((&rank, found)) = sought.next_if(|&(&rank, _)| rank <= upto) {
                let mut hits = below;
                let inside = part.iter().position(|&count| {
                    hits += count.into();
                    hits >= rank
                });
                *found = inside.map(|place| self.first + index * PART + place);
            }
            below = upto;
        }
    }
}

/// Buckets whose hits are added up before one is looked for among them.
const PART: usize = 64;

/// The rank of a quantile among `count` times, numbered from 1.
fn rank(count: u64, fraction: f64) -> u64 {
    ((count as f64 * fraction).ceil() as u64).max(1)
}

/// Counts times in buckets whose width grows with the time: exact below 2048 ns, then to one part in
/// 1024. Recording is a shift and an addition, which is why this is not a general histogram library:
/// it happens twice for every packet, and one such library took a tenth of the whole run.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// Grows by whole doublings of the time.
    buckets: Buckets<u64, { 1 << PRECISION_BITS }>,
    count: u64,
    /// Bits of a bucket's number that it does without.
    left_out: u32,
}

impl Times {
    /// One that tells 1 part in 64 apart and takes a sixteenth of the room: for instruments of which there are very many.
    pub fn small() -> Times {
        Times { left_out: PRECISION_BITS - 6, ..Times::default() }
    }

    /// Adds a time.
    #[inline]
    pub fn record(&mut self, time: Span) {
        let bucket = bucket(time.as_nanos()) >> self.left_out;
        match self.buckets.find(bucket) {
            Some(count) => *count += 1,
            None => *self.buckets.count(bucket) += 1,
        }
        self.count += 1;
    }

    /// How many times were recorded.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.buckets.counts.fill(0);
        self.count = 0;
    }

    /// Adds all times of another distribution, each less `by`, than which none of them is shorter.
    pub fn add_less(&mut self, other: &Times, by: Span) {
        for (own, &count) in (other.buckets.first..).zip(&other.buckets.counts).filter(|(_, count)| **count > 0) {
            let time = other.middle(own).saturating_sub(by.as_nanos());
            *self.buckets.count(bucket(time) >> self.left_out) += count;
            self.count += count;
        }
    }

    /// Adds the times that `later` has and `earlier`, the same distribution before, did not have.
    pub fn add_since(&mut self, later: &Times, earlier: &Times) {
        self.left_out = later.left_out;
        for (bucket, &count) in (later.buckets.first..).zip(&later.buckets.counts) {
            let more = count - earlier.buckets.get(bucket);
            if more > 0 {
                *self.buckets.count(bucket) += more;
                self.count += more;
            }
        }
    }

    /// The smallest times that at least these fractions of all times do not exceed, as the middles of their
    /// buckets; `None` where there are none. The fractions rise.
    pub fn quantiles<const N: usize>(&self, fractions: [f64; N]) -> [Option<Span>; N] {
        let mut places = [None; N];
        self.buckets.find_ranks(&fractions.map(|fraction| rank(self.count, fraction)), &mut places);
        places.map(|place| place.map(|bucket| Span::from_nanos(self.middle(bucket))))
    }

    /// The middle of the times in one of its buckets.
    fn middle(&self, bucket: usize) -> u64 {
        if self.left_out == 0 { middle(bucket) } else { middle_of_many(bucket, self.left_out) }
    }

    /// The mean of this fraction of all times, the shortest, each as the middle of its bucket; `None` where there are none.
    pub fn trimmed_mean(&self, fraction: f64) -> Option<Span> {
        if self.count == 0 {
            return None;
        }
        let kept = rank(self.count, fraction);
        let (mut left, mut nanos) = (kept, 0u128);
        for (bucket, &count) in (self.buckets.first..).zip(&self.buckets.counts) {
            let taken = count.min(left);
            nanos += u128::from(self.middle(bucket)) * u128::from(taken);
            left -= taken;
            if left == 0 {
                break;
            }
        }
        Some(Span::from_nanos((nanos / u128::from(kept)) as u64))
    }
}

/// Bits of a bucket's number that a [`Coarse`] distribution does without: what is left tells 1 part in 16 apart.
const COARSE_BITS: u32 = PRECISION_BITS - 4;

/// The times that packets of one flow spent in a queue. There may be very many flows: its buckets are
/// 1 part in 16 wide, and there are only as many as lie between its shortest and its longest time.
/// Count, sum and maximum are exact, and so is how many times were zero.
#[derive(Clone, Debug, Default)]
pub struct Coarse {
    /// There are few hundred buckets, so growing one by one soon comes to an end.
    buckets: Buckets<u32, 1>,
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
        // Beyond the range of a u32 a bucket is full; only quantiles could notice.
        match self.buckets.find(bucket) {
            Some(count) => *count = count.saturating_add(1),
            None => *self.buckets.count(bucket) += 1,
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
        self.buckets.make_room(&other.buckets);
        for (bucket, &count) in (other.buckets.first..).zip(&other.buckets.counts) {
            let own = self.buckets.count(bucket);
            *own = own.saturating_add(count);
        }
    }

    /// As [`Times::quantiles`].
    pub fn quantiles<const N: usize>(&self, fractions: [f64; N]) -> [Option<Span>; N] {
        let zeros = u64::from(self.zeros);
        let total = zeros + self.buckets.counts.iter().map(|&count| u64::from(count)).sum::<u64>();
        let ranks = fractions.map(|fraction| rank(total, fraction));
        let mut places = [None; N];
        self.buckets.find_ranks(&ranks.map(|rank| rank.saturating_sub(zeros).max(1)), &mut places);
        std::array::from_fn(|index| {
            if total > 0 && ranks[index] <= zeros {
                return Some(Span::ZERO);
            }
            places[index].map(|bucket| Span::from_nanos(middle_of_many(bucket, COARSE_BITS)).min(self.max))
        })
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

/// The middle of the times in all buckets whose numbers without `left_out` bits are this one.
fn middle_of_many(bucket: usize, left_out: u32) -> u64 {
    let (low, high) = (lowest(bucket << left_out), lowest((bucket + 1) << left_out));
    low + (high - low) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_of_a_ramp() {
        let mut times = Times::default();
        assert_eq!(times.quantiles([0.5]), [None]);
        for millis in 1..=1000 {
            times.record(Span::from_millis(millis));
        }
        let found = times.quantiles([0.0, 0.5, 0.9, 0.99, 1.0]).map(|time| time.unwrap().as_millis_f64());
        for (found, millis) in found.into_iter().zip([1.0, 500.0, 900.0, 990.0, 1000.0]) {
            assert!((found / millis - 1.0).abs() < 1.0 / 1024.0, "{found} for {millis}");
        }
        times.clear();
        assert_eq!((times.count(), times.quantiles([0.5])), (0, [None]));
    }

    #[test]
    fn a_small_distribution_is_a_sixteenth_as_fine() {
        let (mut small, mut full) = (Times::small(), Times::default());
        for micros in 1..=100_000 {
            small.record(Span::from_micros(micros));
            full.record(Span::from_micros(micros));
        }
        for (found, exact) in small.quantiles([0.01, 0.5, 0.99]).into_iter().zip(full.quantiles([0.01, 0.5, 0.99])) {
            let (found, exact) = (found.unwrap().as_secs_f64(), exact.unwrap().as_secs_f64());
            assert!((found / exact - 1.0).abs() < 1.0 / 64.0, "{found} for {exact}");
        }
        assert!(small.buckets.counts.len() * 8 <= full.buckets.counts.len());
        let mut since = Times::default();
        since.add_since(&small, &Times::small());
        assert_eq!(since.quantiles([0.5]), small.quantiles([0.5]));
    }

    #[test]
    fn a_trimmed_mean_leaves_the_longest_out() {
        let mut times = Times::default();
        assert_eq!(times.trimmed_mean(0.95), None);
        for millis in [[10; 19].as_slice(), &[5000]].concat() {
            times.record(Span::from_millis(millis));
        }
        let near = |found: Option<Span>, millis: f64| {
            let found = found.unwrap().as_millis_f64();
            assert!((found / millis - 1.0).abs() < 1.0 / 1024.0, "{found} for {millis}");
        };
        near(times.trimmed_mean(0.95), 10.0);
        near(times.trimmed_mean(1.0), 259.5);
    }

    #[test]
    fn a_coarse_distribution_holds_only_the_buckets_between_its_times() {
        let mut times = Coarse::default();
        assert_eq!((times.quantiles([0.5]), times.buckets.counts.capacity()), ([None], 0));
        for millis in [0, 0, 50, 97, 60] {
            times.record(Span::from_millis(millis));
        }
        // One doubling of 16 buckets, and both ends.
        assert_eq!(times.buckets.counts.len(), 17);
        // A quantile is no more than the maximum.
        assert_eq!(times.quantiles([0.4, 1.0]), [Some(Span::ZERO), Some(Span::from_millis(97))]);
        times.clear();
        assert_eq!((times.count(), times.quantiles([0.5])), (0, [None]));
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
            let found = times.quantiles([fraction])[0].unwrap().as_nanos();
            // Below 2048 ns a bucket is 64 ns wide.
            prop_assert!(found.abs_diff(exact) <= (exact / 32).max(32), "found {found}, exact {exact}");
            prop_assert_eq!(times.count(), nanos.len() as u64);
            prop_assert_eq!(times.nanos(), nanos.iter().map(|&nanos| u128::from(nanos)).sum::<u128>());
            prop_assert_eq!(times.max().as_nanos(), *sorted.last().unwrap());
        }

        /// In whatever order they came, and however many are asked for at once: as of the sorted times, within a bucket.
        #[test]
        fn quantiles_are_those_of_the_sorted_times(
            nanos in prop::collection::vec(prop_oneof![0u64..10_000, 0u64..1 << 40, Just(0)], 1..300),
            mut fractions in prop::array::uniform3(0.0..=1.0f64),
        ) {
            fractions.sort_by(f64::total_cmp);
            let mut times = Times::default();
            nanos.iter().for_each(|&nanos| times.record(Span::from_nanos(nanos)));
            let mut sorted = nanos.clone();
            sorted.sort_unstable();
            for (fraction, found) in fractions.into_iter().zip(times.quantiles(fractions)) {
                let exact = sorted[((nanos.len() as f64 * fraction).ceil() as usize).max(1) - 1];
                prop_assert_eq!(found, Some(Span::from_nanos(middle(bucket(exact)))));
            }
        }
    }
}
