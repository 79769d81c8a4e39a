//! How much all endpoints of a session may send together: a token bucket that several processes share.
//!
//! What is shared is one number in a file that each process maps: until when all that was sent so far would keep a link of
//! that rate busy (the theoretical arrival time of the generic cell rate algorithm, ITU-T I.371). It is changed by compare
//! and exchange, so a process that is stopped or killed holds nobody up.
//!
//! Bytes are those of IP packets, headers included. A third of the burst is for data. Answers, without which data of the
//! other side would be lost, may use another third. The last third is what a kernel may hold of TCP's data: it was paid
//! for when it was written, and leaves when the peer lets it.

use crate::error::WireError;
use crate::plan::BudgetPlan;
use crate::sys;
use sojourn_core::{Rate, Span, Time};
use std::sync::atomic::{AtomicU64, Ordering};

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// What is to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Data, and requests for connections.
    Data,
    /// Answers to the other side's data.
    Answer,
}

/// What a session may still send; without a bucket, anything.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    bucket: Option<Bucket>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    busy_until: &'static AtomicU64,
    rate: Rate,
    /// A third of the burst.
    third_bytes: u64,
}

impl Budget {
    /// No bound.
    pub const UNBOUNDED: Budget = Budget { bucket: None };

    /// The budget of a plan.
    ///
    /// # Errors
    /// The rate is zero, or the file cannot be mapped.
    pub fn open(plan: Option<&BudgetPlan>) -> Result<Budget, WireError> {
        let Some(BudgetPlan { rate_bps, burst_bytes, file }) = plan else { return Ok(Budget::UNBOUNDED) };
        let rate = Rate::from_bits_per_second(*rate_bps)
            .ok_or_else(|| WireError::input(format!("budget.rate_bps is {rate_bps}; allowed is 1 and more")))?;
        let busy_until = sys::shared_word(file)
            .map_err(|error| WireError::failed(format!("budget.file {}: {error}", file.display())))?;
        Ok(Budget { bucket: Some(Bucket { busy_until, rate, third_bytes: burst_bytes / 3 }) })
    }

    /// Whether there is a bound at all.
    pub fn is_bounded(&self) -> bool {
        self.bucket.is_some()
    }

    /// The bytes of TCP's data that the kernel may hold unsent, of all connections of the session together.
    pub fn held_bytes(&self) -> u64 {
        self.bucket.map_or(u64::MAX, |bucket| bucket.third_bytes)
    }

    /// The bytes that may be sent now.
    pub fn room(&self, purpose: Purpose, now: Time) -> u64 {
        self.bucket.map_or(u64::MAX, |bucket| bucket.room(purpose, now))
    }

    /// Takes `bytes` if there is room for them; whether there was.
    pub fn take(&self, purpose: Purpose, bytes: u64, now: Time) -> bool {
        self.bucket.is_none_or(|bucket| bucket.take(purpose, bytes, now))
    }

    /// Counts `bytes` that were sent already.
    pub fn spend(&self, bytes: u64, now: Time) {
        if let Some(bucket) = self.bucket {
            bucket.spend(bytes, now);
        }
    }

    /// When there will be room for `bytes`, where there is none at `now`; more than ever has room counts as all that has.
    pub fn next(&self, purpose: Purpose, bytes: u64, now: Time) -> Option<Time> {
        let bucket = self.bucket?;
        let bytes = bytes.min(bucket.depth_bytes(purpose));
        if bytes <= bucket.room(purpose, now) {
            return None;
        }
        let spare = bucket.time_of(bucket.depth_bytes(purpose) - bytes);
        let wait = Span::from_nanos(bucket.busy_for(now).as_nanos().saturating_sub(spare.as_nanos()));
        // What division cuts off is less than a byte's time.
        Some(now + wait + bucket.time_of(1) + Span::from_nanos(1))
    }
}

impl Bucket {
    fn depth_bytes(&self, purpose: Purpose) -> u64 {
        match purpose {
            Purpose::Data => self.third_bytes,
            Purpose::Answer => 2 * self.third_bytes,
        }
    }

    fn time_of(&self, bytes: u64) -> Span {
        let nanos = u128::from(bytes) * 8 * NANOS_PER_SECOND / u128::from(self.rate.bits_per_second());
        Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX / 4))
    }

    /// For how long what was sent keeps the link busy.
    fn busy_for(&self, now: Time) -> Span {
        Time::from_nanos(self.busy_until.load(Ordering::Relaxed)).since(now)
    }

    fn room(&self, purpose: Purpose, now: Time) -> u64 {
        self.room_at(self.busy_until.load(Ordering::Relaxed), purpose, now)
    }

    /// The room where what was sent keeps the link busy until `until`.
    fn room_at(&self, until: u64, purpose: Purpose, now: Time) -> u64 {
        let depth = self.time_of(self.depth_bytes(purpose));
        let left = u128::from(depth.as_nanos().saturating_sub(until.saturating_sub(now.as_nanos())));
        u64::try_from(left * u128::from(self.rate.bits_per_second()) / (8 * NANOS_PER_SECOND)).unwrap_or(u64::MAX)
    }

    /// Looks whether there is room and takes it in one step: another process may do the same now.
    fn take(&self, purpose: Purpose, bytes: u64, now: Time) -> bool {
        let update = |until| (bytes <= self.room_at(until, purpose, now)).then(|| self.after(until, bytes, now));
        self.busy_until.fetch_update(Ordering::Relaxed, Ordering::Relaxed, update).is_ok()
    }

    /// Until when the link is busy that was busy `until` once `bytes` are sent.
    fn after(&self, until: u64, bytes: u64, now: Time) -> u64 {
        until.max(now.as_nanos()).saturating_add(self.time_of(bytes).as_nanos())
    }

    fn spend(&self, bytes: u64, now: Time) {
        // The closure always gives a value, so this cannot fail.
        let update = |until| Some(self.after(until, bytes, now));
        let _ = self.busy_until.fetch_update(Ordering::Relaxed, Ordering::Relaxed, update);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn budget(rate_bps: u64, burst_bytes: u64) -> Budget {
        let busy_until: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(0)));
        let rate = Rate::from_bits_per_second(rate_bps).expect("a rate");
        Budget { bucket: Some(Bucket { busy_until, rate, third_bytes: burst_bytes / 3 }) }
    }

    #[test]
    fn answers_have_room_where_data_have_none_any_more() {
        let (budget, now) = (budget(8_000_000, 30_000), Time::from_nanos(1_000_000_000));
        assert!(budget.take(Purpose::Data, 10_000, now));
        assert!(!budget.take(Purpose::Data, 1, now));
        assert_eq!(budget.room(Purpose::Answer, now), 10_000);
        assert!(budget.take(Purpose::Answer, 10_000, now) && !budget.take(Purpose::Answer, 1, now));
        assert_eq!(budget.held_bytes(), 10_000);
        // 10,000 bytes take 10 ms; until then there is a debt.
        assert_eq!(budget.room(Purpose::Data, now + Span::from_millis(10)), 0);
        assert_eq!(budget.room(Purpose::Data, now + Span::from_millis(11)), 1_000);
    }

    #[test]
    fn without_a_bucket_anything_goes() {
        let budget = Budget::UNBOUNDED;
        assert!(budget.take(Purpose::Data, u64::MAX, Time::ZERO));
        assert_eq!(budget.next(Purpose::Data, u64::MAX, Time::ZERO), None);
    }

    /// Two that see room for one do not both take it.
    #[test]
    fn of_two_at_once_one_takes_what_is_there_for_one() {
        const ROUNDS: usize = 20_000;
        let budgets: Vec<Budget> = (0..ROUNDS).map(|_| budget(8, 3_000)).collect();
        let (arrived, taken) = (AtomicU64::new(0), AtomicU64::new(0));
        let take = || {
            for (round, budget) in budgets.iter().enumerate() {
                arrived.fetch_add(1, Ordering::SeqCst);
                while arrived.load(Ordering::SeqCst) < 2 * (round as u64 + 1) {
                    std::thread::yield_now();
                }
                let granted = budget.take(Purpose::Data, 1_000, Time::from_nanos(1));
                taken.fetch_add(u64::from(granted), Ordering::SeqCst);
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(take);
            take();
        });
        assert_eq!(taken.into_inner(), ROUNDS as u64);
    }

    proptest! {
        /// Whoever takes what, and when: within no second more than the rate and two thirds of the burst.
        #[test]
        fn no_second_has_more_than_the_rate_and_the_burst(
            wishes in prop::collection::vec((0u64..400_000_000, 1u64..8_000, any::<bool>()), 1..200),
        ) {
            let (budget, mut now, mut taken) = (budget(1_000_000, 60_000), Time::from_nanos(7), vec![]);
            for (wait, bytes, is_answer) in wishes {
                now += Span::from_nanos(wait);
                let purpose = if is_answer { Purpose::Answer } else { Purpose::Data };
                if budget.take(purpose, bytes, now) {
                    taken.push((now, bytes));
                }
                // Where there is no room, there is some at the time that is named.
                if let Some(next) = budget.next(purpose, bytes, now) {
                    prop_assert!(next > now && bytes <= budget.room(purpose, next));
                }
            }
            for &(from, _) in &taken {
                let until = from + Span::from_secs(1);
                let sum: u64 = taken.iter().filter(|(at, _)| (from..until).contains(at)).map(|(_, bytes)| bytes).sum();
                prop_assert!(sum <= 125_000 + 40_000 + 1, "{sum}");
            }
        }
    }
}
