//! Deficit round robin as in Linux (`drr_dequeue`, `ets_qdisc_dequeue`): the deficit has to cover the next packet.

use crate::classful::{ClassScheduler, ClassSet};
use alloc::vec;
use alloc::vec::Vec;

/// Classes in a list that each joins at the end when it gets a packet, with a quantum in its counter. The first sends
/// while the counter covers its next packet; then it gets a quantum more and goes to the end.
#[derive(Debug)]
pub(super) struct ChargeAhead {
    quanta: Vec<u64>,
    /// Deficit counters: bytes that each class may send.
    deficits: Vec<u64>,
    active: Vec<usize>,
}

impl ChargeAhead {
    /// No class has packets.
    pub(super) fn new(quanta: impl Iterator<Item = u64>) -> ChargeAhead {
        let quanta: Vec<_> = quanta.collect();
        ChargeAhead { deficits: vec![0; quanta.len()], active: Vec::with_capacity(quanta.len()), quanta }
    }
}

impl ClassScheduler for ChargeAhead {
    #[inline]
    fn next(&mut self, candidates: ClassSet) -> usize {
        *self.active.iter().find(|&&class| candidates.contains(class)).expect("every class with packets has joined")
    }

    #[inline]
    fn may_send(&mut self, class: usize, bytes: u32) -> bool {
        if u64::from(bytes) <= self.deficits[class] {
            return true;
        }
        self.deficits[class] += self.quanta[class];
        self.active.retain(|&other| other != class);
        self.active.push(class);
        false
    }

    #[inline]
    fn sent(&mut self, class: usize, bytes: u32) {
        self.deficits[class] -= u64::from(bytes);
    }

    #[inline]
    fn backlogged(&mut self, class: usize) {
        self.deficits[class] = self.quanta[class];
        self.active.push(class);
    }

    #[inline]
    fn emptied(&mut self, class: usize) {
        self.active.retain(|&other| other != class);
    }
}
