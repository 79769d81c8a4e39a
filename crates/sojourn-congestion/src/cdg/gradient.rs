//! Gradients of the least and greatest round-trip time from round to round.

use alloc::boxed::Box;
use alloc::vec;

/// Least and greatest of something, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Extremes {
    pub(super) least: i64,
    pub(super) greatest: i64,
}

impl Extremes {
    fn minus(self, other: Extremes) -> Extremes {
        Extremes { least: self.least - other.least, greatest: self.greatest - other.greatest }
    }
}

/// The last gradients, and the round before.
#[derive(Clone, Debug)]
pub(super) struct Gradients {
    ring: Box<[Extremes]>,
    next: usize,
    filled: usize,
    sum: Extremes,
    before: Option<Extremes>,
}

const NONE: Extremes = Extremes { least: 0, greatest: 0 };

impl Gradients {
    pub(super) fn new(samples: usize) -> Gradients {
        Gradients { ring: vec![NONE; samples].into_boxed_slice(), next: 0, filled: 0, sum: NONE, before: None }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.ring.fill(NONE);
        (self.next, self.filled, self.sum, self.before) = (0, 0, NONE, None);
    }

    /// A round with these round-trip times ended: its gradient, from the second round on.
    pub(super) fn round(&mut self, round: Extremes) -> Option<Extremes> {
        let gradient = round.minus(self.before.replace(round)?);
        let oldest = core::mem::replace(&mut self.ring[self.next], gradient);
        self.next = (self.next + 1) % self.ring.len();
        self.filled = (self.filled + 1).min(self.ring.len());
        self.sum.least += gradient.least - oldest.least;
        self.sum.greatest += gradient.greatest - oldest.greatest;
        Some(gradient)
    }

    /// A round in which the flow itself backed off: only its end counts.
    pub(super) fn skip(&mut self, round: Extremes) {
        self.before = Some(round);
    }

    /// The sum of the last gradients.
    pub(super) fn sum(&self) -> Extremes {
        self.sum
    }

    /// Over how many gradients the sum is an average, missing ones taken as zero or left out.
    pub(super) fn count(&self, extrapolate: bool) -> f64 {
        (if extrapolate { self.filled.max(1) } else { self.ring.len() }) as f64
    }
}
