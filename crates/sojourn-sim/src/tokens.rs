//! Token buckets: what a policer lets pass, and what a shaper lets go. Integers only, so that nothing is rounded.

use sojourn_core::{Span, Time};
use sojourn_scenario::Bucket;

/// What a bit is in the unit of the level: a rate in bit/s times a time in ns gives such parts without a division.
const PARTS_PER_BIT: i128 = 1_000_000_000;

/// A bucket and what it holds.
#[derive(Debug)]
pub struct Tokens {
    bits_per_second: i128,
    full: i128,
    level: i128,
    /// When the level was right.
    at: Time,
}

/// The tokens that `bytes` take.
fn parts(bytes: u64) -> i128 {
    i128::from(bytes) * 8 * PARTS_PER_BIT
}

impl Tokens {
    /// A full bucket.
    pub fn new(bucket: Bucket) -> Tokens {
        let full = parts(bucket.burst_bytes);
        Tokens { bits_per_second: i128::from(bucket.rate.bits_per_second()), full, level: full, at: Time::ZERO }
    }

    /// The same as another bucket. What it holds it keeps in time, as Linux does (`htb_change_class` sets no tokens, which
    /// are in ns): a debt is paid when it would have been.
    pub fn change(&mut self, bucket: Bucket, now: Time) {
        self.fill(now);
        let before = std::mem::replace(self, Tokens { at: now, ..Tokens::new(bucket) });
        self.level = (before.level * self.bits_per_second / before.bits_per_second).min(self.full);
    }

    fn fill(&mut self, now: Time) {
        let come = i128::from(now.since(self.at).as_nanos()) * self.bits_per_second;
        self.level = (self.level + come).min(self.full);
        self.at = now;
    }

    /// Takes the tokens of a packet, if there are enough: whether there were.
    pub fn admit(&mut self, bytes: u32, now: Time) -> bool {
        self.fill(now);
        let left = self.level - parts(u64::from(bytes));
        let admitted = left >= 0;
        if admitted {
            self.level = left;
        }
        admitted
    }

    /// When a packet may go that wants to at `now`: at once unless there is a debt, which must be paid first.
    pub fn free_at(&mut self, now: Time) -> Time {
        self.fill(now);
        let wait = (-self.level.min(0) as u128).div_ceil(self.bits_per_second as u128);
        now + Span::from_nanos(wait as u64)
    }

    /// A packet goes at `now`, for which there may be too few tokens.
    pub fn spend(&mut self, bytes: u32, now: Time) {
        self.fill(now);
        self.level -= parts(u64::from(bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sojourn_core::Rate;

    const fn millis(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// 8 kbit/s: a byte each millisecond.
    fn byte_each_ms(burst_bytes: u64) -> Tokens {
        Tokens::new(Bucket { rate: Rate::from_bits_per_second(8_000).unwrap(), burst_bytes })
    }

    #[test]
    fn a_policer_admits_a_burst_and_then_its_rate() {
        let mut policer = byte_each_ms(300);
        assert_eq!([0, 0, 0, 0].map(|at| policer.admit(100, millis(at))), [true, true, true, false]);
        // What was dropped has cost nothing: 100 bytes are there at 100 ms and not a nanosecond before.
        assert!(!policer.admit(100, millis(100) - Span::from_nanos(1)));
        assert!(policer.admit(100, millis(100)));
        // A bucket does not overflow.
        assert_eq!([9_000; 4].map(|at| policer.admit(100, millis(at))), [true, true, true, false]);
        assert!(!policer.admit(301, millis(90_000)), "more than the burst never passes");
    }

    #[test]
    fn a_shaper_goes_into_debt_for_one_packet_and_pays_it() {
        let mut shaper = byte_each_ms(250);
        for _ in 0..3 {
            assert_eq!(shaper.free_at(millis(0)), millis(0));
            shaper.spend(100, millis(0));
        }
        // 300 of 250 bytes are gone: 50 ms of debt.
        assert_eq!(shaper.free_at(millis(0)), millis(50));
        assert_eq!(shaper.free_at(millis(20)), millis(50));
        assert_eq!(shaper.free_at(millis(50)), millis(50));
        shaper.spend(100, millis(50));
        assert_eq!(shaper.free_at(millis(60)), millis(150));
    }

    #[test]
    fn a_changed_bucket_keeps_its_time() {
        let bucket = |rate, burst_bytes| Bucket { rate: Rate::from_bits_per_second(rate).unwrap(), burst_bytes };
        let mut shaper = byte_each_ms(250);
        shaper.spend(300, millis(0));
        // 50 ms of debt, of which 20 are over; at twice the rate it is paid no earlier.
        shaper.change(bucket(16_000, 250), millis(20));
        assert_eq!(shaper.free_at(millis(20)), millis(50));
        // A bucket that becomes smaller overflows.
        shaper.change(bucket(16_000, 10), millis(9_000));
        shaper.spend(30, millis(9_000));
        assert_eq!(shaper.free_at(millis(9_000)), millis(9_010));
    }

    proptest! {
        /// In any time no more passes than the burst and what came, and a policer that dropped had too little.
        #[test]
        fn no_more_passes_than_came(packets in prop::collection::vec((0u64..50, 1u32..400), 1..200)) {
            let mut policer = byte_each_ms(500);
            let (mut now_ms, mut passed) = (0, 0);
            for (gap_ms, bytes) in packets {
                now_ms += gap_ms;
                if policer.admit(bytes, millis(now_ms)) {
                    passed += u64::from(bytes);
                }
                prop_assert!(passed <= 500 + now_ms);
            }
        }
    }
}
