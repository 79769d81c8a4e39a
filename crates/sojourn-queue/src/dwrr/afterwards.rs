//! Deficit round robin as in RFC 8290: a class is charged once its packet has left.

use crate::classful::{ClassScheduler, ClassSet};
use alloc::vec;
use alloc::vec::Vec;

/// Classes in the order of the file. A class sends while its counter is above zero; each packet is then taken off it.
#[derive(Debug)]
pub(super) struct ChargeAfterwards {
    quanta: Vec<i64>,
    /// Deficit counters; below zero by at most a packet.
    pub(super) deficits: Vec<i64>,
    /// The class that is being served.
    current: usize,
}

impl ChargeAfterwards {
    /// No class has packets.
    pub(super) fn new(quanta: impl Iterator<Item = u64>) -> ChargeAfterwards {
        let quanta: Vec<_> = quanta.map(|bytes| bytes as i64).collect();
        ChargeAfterwards { deficits: vec![0; quanta.len()], current: quanta.len().saturating_sub(1), quanta }
    }
}

impl ClassScheduler for ChargeAfterwards {
    /// A class that is no candidate has a counter of at most zero.
    #[inline]
    fn next(&mut self, candidates: ClassSet) -> usize {
        while self.deficits[self.current] <= 0 {
            self.current = candidates.after(self.current);
            self.deficits[self.current] += self.quanta[self.current];
        }
        self.current
    }

    #[inline]
    fn sent(&mut self, class: usize, bytes: u32) {
        self.deficits[class] -= i64::from(bytes);
    }

    /// A class that sends nothing cannot save its quantum.
    #[inline]
    fn gave_nothing(&mut self, class: usize) {
        self.deficits[class] = self.deficits[class].min(0);
    }

    #[inline]
    fn emptied(&mut self, class: usize) {
        self.deficits[class] = 0;
    }
}
