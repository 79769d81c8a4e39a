//! Random decisions of a control, which a replay can set to what was recorded.

use sojourn_core::Stream;

/// What lots are drawn from.
#[derive(Clone, Debug)]
pub(crate) struct Lots {
    random: Stream,
    /// In place of random numbers from 0 to 1.
    fixed: Option<f64>,
}

impl Lots {
    /// From `random`.
    pub(crate) fn new(random: Stream) -> Lots {
        Lots { random, fixed: None }
    }

    /// Every lot is `fixed` from now on, from 0 to below 1; random again with `None`.
    pub(crate) fn fix(&mut self, fixed: Option<f64>) {
        self.fixed = fixed;
    }

    /// True with the given probability.
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        match self.fixed {
            Some(lot) => lot < probability,
            None => self.random.chance(probability),
        }
    }

    /// One of the numbers below `count`.
    pub(crate) fn below(&mut self, count: u64) -> u64 {
        match self.fixed {
            Some(lot) => (lot * count as f64) as u64,
            None => self.random.bits() % count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_lots_replace_random_ones_for_a_while() {
        let drawn = |fixed: &[Option<f64>]| {
            let mut lots = Lots::new(Stream::new(1, "control"));
            fixed.iter().map(|&fixed| (lots.fix(fixed), lots.below(7)).1).collect::<Vec<_>>()
        };
        assert_eq!(drawn(&[Some(0.0), Some(3.5 / 7.0), Some(6.9 / 7.0)]), [0, 3, 6]);
        // None is used up meanwhile.
        assert_eq!(drawn(&[None, Some(0.0), None])[2], drawn(&[None, None])[1]);
        let mut lots = Lots::new(Stream::new(1, "control"));
        lots.fix(Some(0.0));
        assert_eq!([lots.chance(0.01), lots.chance(0.0)], [true, false]);
    }
}
