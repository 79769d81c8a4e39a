//! Segments that are sent alone, small ones and full ones: by how much the full ones take longer.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Of each size, so many are sent at least, and at most, before a rate is trusted; and so many of the last ones count.
const FEWEST: usize = 8;
const MOST: usize = 32;
pub(super) const KEPT: usize = 64;
/// Means of its error by which the shortest of them is taken to be off.
const ERRORS: i64 = 2;

/// Delays of segments that were alone, in ns.
#[derive(Clone, Default, Debug)]
pub(super) struct Singles {
    small: VecDeque<i64>,
    full: VecDeque<i64>,
}

impl Singles {
    pub(super) fn hear(&mut self, delay: i64, full: bool) {
        let known = if full { &mut self.full } else { &mut self.small };
        if known.len() == KEPT {
            known.pop_front();
        }
        known.push_back(delay);
    }

    /// Whether more of them would not tell much more.
    pub(super) fn are_enough(&self) -> bool {
        let pairs = self.small.len().min(self.full.len());
        let (Some(small), Some(full)) = (Shortest::of(&self.small), Shortest::of(&self.full)) else { return false };
        let longer = (full.nanos - small.nanos).max(0);
        pairs >= MOST || (pairs >= FEWEST && 2 * (small.error + full.error) <= longer)
    }

    /// By how much a full segment's shortest time exceeds a small one's at most, in ns; none where a clock is too coarse to tell.
    pub(super) fn longer_by(&self) -> Option<f64> {
        if self.full.len() < FEWEST {
            return None;
        }
        let (small, full) = (Shortest::of(&self.small)?, Shortest::of(&self.full)?);
        let longer = (full.nanos - small.nanos).max(0) + small.error;
        (longer > 0).then_some(longer as f64)
    }
}

/// The shortest of n times that vary between zero and J is off by J/n in the mean, and the median less the shortest is J/2.
struct Shortest {
    nanos: i64,
    error: i64,
}

impl Shortest {
    fn of(times: &VecDeque<i64>) -> Option<Shortest> {
        let mut ordered: Vec<i64> = times.iter().copied().collect();
        ordered.sort_unstable();
        let nanos = *ordered.first()?;
        let error = ERRORS * 2 * (ordered[ordered.len() / 2] - nanos) / ordered.len() as i64;
        Some(Shortest { nanos, error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(pairs: impl Iterator<Item = (i64, i64)>) -> Singles {
        let mut singles = Singles::default();
        for (small, full) in pairs {
            singles.hear(small, false);
            singles.hear(full, true);
        }
        singles
    }

    #[test]
    fn eight_pairs_are_enough_where_delays_do_not_vary() {
        let singles = heard((0..7).map(|_| (50_000, 50_600)));
        assert_eq!((singles.are_enough(), singles.longer_by()), (false, None));
        let singles = heard((0..8).map(|_| (50_000, 50_600)));
        assert_eq!((singles.are_enough(), singles.longer_by()), (true, Some(600.0)));
    }

    /// Small ones vary by 1600: the shortest of 16 is taken to be off by twice 2 * 800 / 16.
    #[test]
    fn what_varies_asks_for_more_pairs_and_has_an_error() {
        let pairs = |most| (0..most).map(|number| (50_000 + 100 * (number % 16), 50_300 + 100 * (number % 16)));
        let singles = heard(pairs(16));
        assert_eq!((singles.are_enough(), singles.longer_by()), (false, Some(300.0 + 200.0)));
        assert!(heard(pairs(32)).are_enough());
    }

    #[test]
    fn a_clock_that_is_too_coarse_tells_nothing() {
        assert_eq!(heard((0..40).map(|_| (50_000, 50_000))).longer_by(), None);
    }
}
