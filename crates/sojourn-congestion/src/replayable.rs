//! Random decisions of a control, which a replay can set to what was recorded.

use sojourn_core::Stream;

/// Random numbers, or one that is fixed.
#[derive(Clone, Debug)]
pub(crate) struct ReplayableRandom {
    random: Stream,
    /// In place of random numbers from 0 to 1.
    fixed: Option<f64>,
}

impl ReplayableRandom {
    /// From `random`.
    pub(crate) fn new(random: Stream) -> ReplayableRandom {
        ReplayableRandom { random, fixed: None }
    }

    /// Each number is `fixed` from now on, from 0 to below 1; random again with `None`.
    pub(crate) fn fix(&mut self, fixed: Option<f64>) {
        self.fixed = fixed;
    }

    /// True with the given probability.
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        match self.fixed {
            Some(fixed) => fixed < probability,
            None => self.random.chance(probability),
        }
    }

    /// One of the numbers below `count`.
    pub(crate) fn below(&mut self, count: u64) -> u64 {
        match self.fixed {
            Some(fixed) => (fixed * count as f64) as u64,
            None => self.random.bits() % count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_draws_replace_random_ones_for_a_while() {
        let drawn = |fixed: &[Option<f64>]| {
            let mut random = ReplayableRandom::new(Stream::new(1, "control"));
            fixed.iter().map(|&fixed| (random.fix(fixed), random.below(7)).1).collect::<Vec<_>>()
        };
        assert_eq!(drawn(&[Some(0.0), Some(3.5 / 7.0), Some(6.9 / 7.0)]), [0, 3, 6]);
        // None is used up meanwhile.
        assert_eq!(drawn(&[None, Some(0.0), None])[2], drawn(&[None, None])[1]);
        let mut random = ReplayableRandom::new(Stream::new(1, "control"));
        random.fix(Some(0.0));
        assert_eq!([random.chance(0.01), random.chance(0.0)], [true, false]);
    }
}
