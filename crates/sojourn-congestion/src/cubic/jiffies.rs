//! How Linux reckons with time in CUBIC (`bictcp_update` of tcp_cubic.c): a clock of ticks, 1024ths of a second, and a growth
//! that is kept while nothing has changed.

use super::descriptor::Arithmetic;
#[cfg(not(feature = "std"))]
use sojourn_core::Float as _;
use sojourn_core::registry::ParameterError;
use sojourn_core::{Span, Time};

/// Parts of a second in which the cubic function is read (`BICTCP_HZ`).
const PARTS: f64 = 1024.0;
/// Parts of a second for which the growth of an unchanged window is kept.
const KEPT_PARTS: u64 = 32;
const SECOND: Span = Span::from_secs(1);

/// The kernel's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jiffies {
    tick: Span,
}

/// The growth that was last reckoned.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kept {
    /// `last_cwnd`.
    pub(super) window: f64,
    /// `last_time`.
    pub(super) at: Time,
    /// `cnt`: acknowledged segments for one more in the window.
    pub(super) count: f64,
}

/// What of it still holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Holds {
    /// Nothing.
    Nothing,
    /// What the cubic function says: in the same tick.
    Function,
    /// All of it: the window is the same, and little time has passed.
    All,
}

impl Jiffies {
    /// Those of arithmetic = "kernel".
    ///
    /// # Errors
    /// A tick for other arithmetic.
    pub(super) fn new(arithmetic: Arithmetic, tick: Span) -> Result<Option<Jiffies>, ParameterError> {
        if arithmetic == Arithmetic::Kernel {
            return Ok(Some(Jiffies { tick }));
        }
        if tick.is_zero() {
            return Ok(None);
        }
        Err(ParameterError::new("tick", "0 s where arithmetic is fractions or whole: only the kernel's counts ticks"))
    }

    /// The tick that began last.
    #[inline]
    pub(super) fn at(self, time: Time) -> Time {
        match self.tick.as_nanos() {
            0 => time,
            tick => Time::from_nanos(time.as_nanos() / tick * tick),
        }
    }

    /// Whole ticks, rounded up (`usecs_to_jiffies`).
    pub(super) fn up(self, span: Span) -> Span {
        match self.tick.as_nanos() {
            0 => span,
            tick => self.tick * span.as_nanos().div_ceil(tick),
        }
    }

    /// For how long the growth of an unchanged window is kept (HZ / 32 in whole ticks).
    fn keeps(self) -> Span {
        match self.tick.as_nanos() {
            0 => SECOND / KEPT_PARTS,
            tick => self.tick * (SECOND.as_nanos() / tick / KEPT_PARTS),
        }
    }
}

/// Seconds in whole parts. The kernel's K is that of an approximated root, which is up to a thousandth shorter.
pub(super) fn parts(secs: f64) -> f64 {
    (secs * PARTS).floor() / PARTS
}

impl Kept {
    /// What holds for a `window` at `now`.
    pub(super) fn holds(&self, window: f64, now: Time, jiffies: Jiffies) -> Holds {
        if self.window == window && now.since(self.at) <= jiffies.keeps() {
            Holds::All
        } else if now == self.at {
            Holds::Function
        } else {
            Holds::Nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN: Jiffies = Jiffies { tick: Span::from_millis(10) };

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_clock_shows_the_tick_that_began_and_waits_for_the_next() {
        assert_eq!((TEN.at(at(19)), TEN.at(at(20))), (at(10), at(20)));
        let up = |millis| TEN.up(Span::from_millis(millis));
        assert_eq!((up(20), up(21)), (Span::from_millis(20), Span::from_millis(30)));
        let exact = Jiffies { tick: Span::ZERO };
        assert_eq!((exact.at(at(19)), exact.up(Span::from_millis(21))), (at(19), Span::from_millis(21)));
    }

    /// HZ / 32 is 3 ticks with HZ = 100, and the third one is still in.
    #[test]
    fn an_unchanged_window_keeps_its_growth() {
        let kept = Kept { window: 20.0, at: at(100), count: 7.0 };
        assert_eq!(kept.holds(20.0, at(130), TEN), Holds::All);
        assert_eq!(kept.holds(20.0, at(140), TEN), Holds::Nothing);
        assert_eq!(kept.holds(21.0, at(100), TEN), Holds::Function);
        assert_eq!(kept.holds(21.0, at(110), TEN), Holds::Nothing);
    }

    #[test]
    fn seconds_are_counted_in_1024ths() {
        assert_eq!(parts(2.9 / PARTS), 2.0 / PARTS);
    }
}
