//! When timers go off.

use super::Timers;
use sojourn_core::{Span, Time};

/// Levels of the timer wheel beside the last one, and how many ticks the first holds (`LVL_DEPTH`, `LVL_SIZE`).
const WHEEL_LEVELS: u32 = 8;
const FIRST_BUCKETS: u64 = 63;

impl Timers {
    /// Clock granularity G of RFC 6298.
    pub fn granularity(self) -> Span {
        Span::from_millis(if self == Timers::Ns2 { 10 } else { 1 })
    }

    /// Whether the smallest timeout bounds the variance term only, which follows the peak of the deviation.
    #[inline]
    pub fn follow_peaks(self) -> bool {
        matches!(self, Timers::Linux26 | Timers::Linux)
    }

    /// When a timer goes off that is started at `now` for `wait`, in a host that counts in `tick`s.
    #[inline]
    pub(crate) fn expiry(self, now: Time, wait: Span, tick: Span) -> Time {
        if tick.is_zero() || !self.follow_peaks() {
            return at_tick(now + wait, tick);
        }
        let began = now.as_nanos() / tick.as_nanos();
        let ticks = wait.as_nanos().div_ceil(tick.as_nanos());
        let due = if self == Timers::Linux { wheel_expiry(began, ticks) } else { began + ticks + 1 };
        Time::from_nanos(due.saturating_mul(tick.as_nanos()))
    }
}

/// The moment at which a timer that is due at `due` goes off: the first whole multiple of `tick` that is not earlier.
#[inline]
pub(crate) fn at_tick(due: Time, tick: Span) -> Time {
    match tick.as_nanos() {
        0 => due,
        tick => Time::from_nanos(due.as_nanos().div_ceil(tick).saturating_mul(tick)),
    }
}

/// Ticks after which a timer goes off that is started at the tick `now` for `ticks`, in the timer wheel of Linux
/// (`calc_wheel_index`): each of its levels has an eighth of the resolution of the one before and begins where that one's
/// buckets do not suffice. Nothing goes off early, so the next bucket is taken.
fn wheel_expiry(now: u64, ticks: u64) -> u64 {
    let level = (0..WHEEL_LEVELS).find(|level| ticks < FIRST_BUCKETS << (3 * level)).unwrap_or(WHEEL_LEVELS);
    let resolution = 3 * level;
    (((now + ticks) >> resolution) + 1) << resolution
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux (`calc_wheel_index`): below 63 ticks the next one, from there on whole 8 ticks of the clock, from 504 on whole 64.
    #[test]
    fn long_waits_end_with_a_bucket_of_the_wheel() {
        let found = [(10, 5), (10, 62), (10, 63), (17, 63), (10, 503), (10, 504), (63, 504), (0, 4031), (0, 4032)];
        let expected = [16, 73, 80, 88, 520, 576, 576, 4032, 4096];
        assert_eq!(found.map(|(now, ticks)| wheel_expiry(now, ticks)), expected);
    }
}
