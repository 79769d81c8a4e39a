//! The multi-stage filter: which flows send much, in a fixed number of counters.

use alloc::vec;
use alloc::vec::Vec;
use sojourn_core::{Span, Time};

/// Counter arrays (HHF_ARRAYS_CNT).
const ARRAYS: usize = 4;
/// Bits of a hash that choose a counter of an array (HHF_BIT_MASK_LEN).
const BITS: u32 = 10;
/// Counters of an array (HHF_ARRAYS_LEN).
const LENGTH: usize = 1 << BITS;

/// Bytes by hash, in several arrays at once.
#[derive(Debug)]
pub(super) struct Filter {
    arrays: Vec<[Counter; LENGTH]>,
    /// Counters of earlier rounds are zero.
    round: u64,
    begun: Time,
    reset_timeout: Span,
    admit_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Counter {
    round: u64,
    bytes: u64,
}

impl Filter {
    pub(super) fn new(reset_timeout: Span, admit_bytes: u64) -> Filter {
        let arrays = vec![[Counter { round: 0, bytes: 0 }; LENGTH]; ARRAYS];
        Filter { arrays, round: 0, begun: Time::ZERO, reset_timeout, admit_bytes }
    }

    /// Begins anew if it is time.
    #[inline]
    pub(super) fn refresh(&mut self, now: Time) {
        if now > self.begun + self.reset_timeout {
            self.round += 1;
            self.begun = now;
        }
    }

    /// Whether `flow` has sent too much with these `bytes`. If not they are counted.
    #[inline]
    pub(super) fn catches(&mut self, flow: u32, bytes: u32) -> bool {
        let round = self.round;
        let places = places(flow);
        let counted = |counter: Counter| if counter.round == round { counter.bytes } else { 0 };
        let sums = self.arrays.iter().zip(places).map(|(array, place)| counted(array[place]) + u64::from(bytes));
        let min = sums.min().unwrap_or(0);
        if min > self.admit_bytes {
            return true;
        }
        for (array, place) in self.arrays.iter_mut().zip(places) {
            array[place] = Counter { round, bytes: counted(array[place]).max(min) };
        }
        false
    }
}

/// The counters of a flow: three parts of its hash, and what is left of it over all of them.
#[inline]
fn places(flow: u32) -> [usize; ARRAYS] {
    let part = |index: u32| (flow >> (BITS * index)) as usize & (LENGTH - 1);
    let (a, b, c) = (part(0), part(1), part(2));
    [a, b, c, a ^ b ^ c ^ (flow >> (3 * BITS)) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter() -> Filter {
        Filter::new(Span::from_millis(40), 10_000)
    }

    fn of(a: u32, b: u32, c: u32) -> u32 {
        a | (b << 10) | (c << 20)
    }

    #[test]
    fn a_hash_is_cut_in_three_and_folded() {
        assert_eq!(places(of(1, 2, 4)), [1, 2, 4, 7]);
        assert_eq!(places(u32::MAX), [1023, 1023, 1023, 1023 ^ 3]);
        assert_eq!(places(5), [5, 0, 0, 5]);
    }

    #[test]
    fn a_flow_is_caught_by_the_byte_above_the_threshold() {
        let mut filter = filter();
        assert!((0..10).all(|_| !filter.catches(77, 1000)), "10 000 B are not too much");
        assert!(filter.catches(77, 1));
        // What catches is not counted: others that share counters are not charged for it.
        assert!(filter.catches(77, 1));
        assert!(!filter.catches(77, 0));
    }

    /// Three flows share one counter each with the fourth; only what all of its counters have counts.
    #[test]
    fn a_flow_is_as_heavy_as_its_smallest_counter() {
        let mut filter = filter();
        for other in [of(1, 50, 60), of(51, 2, 61), of(52, 62, 4)] {
            assert!(!filter.catches(other, 9_000));
        }
        let flow = of(1, 2, 4);
        assert!(!filter.catches(flow, 4_000));
        let bytes = |array: usize, place: usize| filter.arrays[array][place].bytes;
        assert_eq!([bytes(0, 1), bytes(1, 2), bytes(2, 4), bytes(3, 7)], [9_000, 9_000, 9_000, 4_000]);
        assert!(!filter.catches(flow, 6_000));
        let bytes = |array: usize, place: usize| filter.arrays[array][place].bytes;
        assert_eq!([bytes(0, 1), bytes(1, 2), bytes(2, 4), bytes(3, 7)], [10_000; 4]);
    }

    #[test]
    fn counters_begin_anew_after_more_than_the_timeout() {
        let mut filter = filter();
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        assert!(!filter.catches(77, 10_000));
        filter.refresh(at(40));
        assert!(filter.catches(77, 1));
        filter.refresh(at(40) + Span::from_nanos(1));
        assert!(!filter.catches(77, 10_000));
        // The next round is counted from there.
        filter.refresh(at(80));
        assert!(filter.catches(77, 1));
    }
}
