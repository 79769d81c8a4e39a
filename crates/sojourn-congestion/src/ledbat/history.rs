//! What LEDBAT remembers of delays: the base delay over minutes, the current delay over samples (RFC 6817 section 2.4.2).
//!
//! Delays are differences of two clocks in nanoseconds: only differences between them mean anything.

use alloc::boxed::Box;
use alloc::vec;
use sojourn_core::choices;
use sojourn_core::{Span, Time};

/// Minima of the one-way delay, each over one period.
#[derive(Clone, Debug)]
pub(crate) struct BaseDelay {
    period: Span,
    rollover: Rollover,
    forget_silence: bool,
    /// Minima of the periods before the current one, a ring.
    minima: Box<[i64]>,
    oldest: usize,
    /// The least of `minima`.
    least_before: i64,
    current: i64,
    /// When the current period began; `None` before the first sample.
    began: Option<Time>,
    /// The last instant of the current period: most samples come before, and a division is dear.
    until: Time,
}

choices! {
    /// When a new period begins.
    pub(crate) enum Rollover {
        /// At full periods of the clock.
        Clock = "clock",
        /// At the first sample more than a period after the last beginning.
        Elapsed = "elapsed",
    }
}

/// No delay yet.
const INFINITY: i64 = i64::MAX;

impl BaseDelay {
    /// A memory of `length` periods, at least one.
    pub(crate) fn new(length: usize, period: Span, rollover: Rollover, forget_silence: bool) -> BaseDelay {
        BaseDelay {
            period,
            rollover,
            forget_silence,
            minima: vec![INFINITY; length.max(1) - 1].into_boxed_slice(),
            oldest: 0,
            least_before: INFINITY,
            current: INFINITY,
            began: None,
            until: Time::ZERO,
        }
    }

    /// The least delay remembered; `None` before the first sample.
    #[inline]
    pub(crate) fn nanos(&self) -> Option<i64> {
        self.began.map(|_| self.current.min(self.least_before))
    }

    /// A delay was measured (update_base_delay).
    #[inline]
    pub(crate) fn sample(&mut self, delay_nanos: i64, now: Time) {
        if now > self.until || self.began.is_none() {
            self.begin(now);
        }
        self.current = self.current.min(delay_nanos);
    }

    /// A period begins.
    #[inline(never)]
    fn begin(&mut self, now: Time) {
        if let Some(began) = self.began {
            let periods = self.periods_since(began, now);
            self.roll(if self.forget_silence { periods } else { 1 });
        }
        self.began = Some(now);
        self.until = self.last_of_period(now);
    }

    /// All that is remembered was `nanos` too low: clocks run apart (libutp).
    pub(crate) fn raise(&mut self, nanos: i64) {
        let raised = |delay: i64| if delay == INFINITY { INFINITY } else { delay + nanos };
        self.minima.iter_mut().for_each(|delay| *delay = raised(*delay));
        self.least_before = raised(self.least_before);
        self.current = raised(self.current);
    }

    /// The last instant of the period that begins at `began`.
    fn last_of_period(&self, began: Time) -> Time {
        let period = self.period.as_nanos();
        match self.rollover {
            Rollover::Clock => Time::from_nanos((began.as_nanos() / period + 1).saturating_mul(period) - 1),
            Rollover::Elapsed => began + self.period,
        }
    }

    /// Periods that have ended since the one that began at `began`, which is one of them.
    fn periods_since(&self, began: Time, now: Time) -> u64 {
        let (period, elapsed) = (self.period.as_nanos(), now.since(began).as_nanos());
        match self.rollover {
            Rollover::Clock => now.as_nanos() / period - began.as_nanos() / period,
            Rollover::Elapsed => elapsed.saturating_sub(1) / period,
        }
    }

    /// Ends the current period and lets `periods - 1` silent ones follow.
    fn roll(&mut self, periods: u64) {
        let mut ended = core::mem::replace(&mut self.current, INFINITY);
        for _ in 0..periods.min(self.minima.len() as u64 + 1) {
            if let Some(slot) = self.minima.get_mut(self.oldest) {
                *slot = core::mem::replace(&mut ended, INFINITY);
                self.oldest = (self.oldest + 1) % self.minima.len();
            }
        }
        self.least_before = self.minima.iter().copied().min().unwrap_or(INFINITY);
    }
}

/// The minimum of the last samples of the one-way delay.
#[derive(Clone, Debug)]
pub(crate) struct CurrentDelay {
    samples: Box<[(Time, i64)]>,
    next: usize,
    filled: usize,
    within_rtt: bool,
}

impl CurrentDelay {
    /// A filter over `length` samples, at least one; with `within_rtt` only over those of the last round trip.
    pub(crate) fn new(length: usize, within_rtt: bool) -> CurrentDelay {
        let samples = vec![(Time::ZERO, INFINITY); length.max(1)].into_boxed_slice();
        CurrentDelay { samples, next: 0, filled: 0, within_rtt }
    }

    /// Forgets all samples.
    pub(crate) fn clear(&mut self) {
        self.filled = 0;
        self.next = 0;
    }

    /// A delay was measured (update_current_delay): the filtered delay, given the round-trip time, zero where it is unknown.
    #[inline]
    pub(crate) fn sample(&mut self, delay_nanos: i64, now: Time, rtt: Span) -> i64 {
        self.samples[self.next] = (now, delay_nanos);
        self.next = if self.next + 1 == self.samples.len() { 0 } else { self.next + 1 };
        self.filled = (self.filled + 1).min(self.samples.len());
        // Until the ring is full its first entries are the samples; then all are.
        let samples = self.samples[..self.filled].iter();
        let least = if self.within_rtt && !rtt.is_zero() {
            samples.filter(|(taken, _)| now.since(*taken) <= rtt).map(|(_, delay)| *delay).min()
        } else {
            samples.map(|(_, delay)| *delay).min()
        };
        least.unwrap_or(delay_nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(secs: f64) -> Time {
        Time::ZERO + Span::from_secs_f64(secs)
    }

    fn base(length: usize, rollover: Rollover, forget: bool) -> BaseDelay {
        BaseDelay::new(length, Span::from_secs(60), rollover, forget)
    }

    #[test]
    fn a_lower_base_is_believed_at_once_a_higher_one_after_the_history() {
        let mut base = base(10, Rollover::Clock, false);
        assert_eq!(base.nanos(), None);
        base.sample(50, at(1.0));
        base.sample(40, at(2.0));
        assert_eq!(base.nanos(), Some(40));
        // The route changes after 30 s. Minute 0 is forgotten when minute 10 begins.
        for second in 30..700 {
            base.sample(90, at(f64::from(second)));
            let expected = if second < 600 { 40 } else { 90 };
            assert_eq!(base.nanos(), Some(expected), "at {second} s");
        }
        base.sample(-7, at(700.0));
        assert_eq!(base.nanos(), Some(-7), "clocks may differ by any amount");
    }

    #[test]
    fn periods_begin_at_full_minutes_or_when_one_has_passed() {
        for (rollover, forgotten_at) in [(Rollover::Clock, 60.0), (Rollover::Elapsed, 110.1)] {
            let mut base = base(1, rollover, false);
            base.sample(10, at(50.0));
            for tenth in 501..1200 {
                let now = f64::from(tenth) / 10.0;
                base.sample(20, at(now));
                assert_eq!(base.nanos(), Some(if now < forgotten_at { 10 } else { 20 }), "{rollover:?} at {now}");
            }
        }
    }

    #[test]
    fn silent_periods_count_where_they_are_asked_to() {
        for (forget, expected) in [(false, 10), (true, 20)] {
            let mut base = base(3, Rollover::Clock, forget);
            base.sample(10, at(1.0));
            base.sample(20, at(3600.0));
            assert_eq!(base.nanos(), Some(expected));
        }
        // Two silent minutes of three do not push out the first.
        let mut base = base(4, Rollover::Clock, true);
        base.sample(10, at(1.0));
        base.sample(20, at(181.0));
        assert_eq!(base.nanos(), Some(10));
        base.sample(20, at(241.0));
        assert_eq!(base.nanos(), Some(20));
    }

    #[test]
    fn the_filter_is_the_minimum_of_the_last_samples() {
        let mut filter = CurrentDelay::new(3, false);
        let found = [5, 7, 9, 8, 6, 10].map(|delay| filter.sample(delay, Time::ZERO, Span::ZERO));
        assert_eq!(found, [5, 5, 5, 7, 6, 6]);
        filter.clear();
        assert_eq!(filter.sample(99, Time::ZERO, Span::ZERO), 99);
    }

    #[test]
    fn samples_older_than_a_round_trip_do_not_count() {
        let rtt = Span::from_millis(100);
        for (within, expected) in [(true, 9), (false, 5)] {
            let mut filter = CurrentDelay::new(4, within);
            filter.sample(5, at(0.0), rtt);
            filter.sample(9, at(0.05), rtt);
            assert_eq!(filter.sample(12, at(0.1), rtt), 5, "exactly a round trip old");
            assert_eq!(filter.sample(12, at(0.101), rtt), expected);
        }
        let mut filter = CurrentDelay::new(4, true);
        filter.sample(5, at(0.0), rtt);
        assert_eq!(filter.sample(12, at(5.0), rtt), 12, "the newest always counts");
    }

    #[test]
    fn a_raised_base_is_forgotten_as_any_other() {
        let mut base = base(2, Rollover::Elapsed, false);
        base.raise(5);
        assert_eq!(base.nanos(), None);
        base.sample(10, at(0.0));
        base.sample(30, at(61.0));
        base.raise(5);
        assert_eq!(base.nanos(), Some(15));
        base.sample(50, at(122.0));
        assert_eq!(base.nanos(), Some(35));
    }

    proptest! {
        /// Against a list of all samples.
        #[test]
        fn the_base_is_the_least_of_the_last_minutes(
            length in 1usize..12,
            samples in prop::collection::vec((0u64..200, -1000i64..1000), 1..200),
        ) {
            let mut base = base(length, Rollover::Clock, true);
            let (mut now, mut all) = (0, Vec::new());
            for (pause, delay) in samples {
                now += pause;
                all.push((now / 60, delay));
                base.sample(delay, Time::ZERO + Span::from_secs(now));
                let remembered = all.iter().filter(|(minute, _)| minute + length as u64 > now / 60);
                prop_assert_eq!(base.nanos(), remembered.map(|(_, delay)| *delay).min());
            }
        }
    }
}
