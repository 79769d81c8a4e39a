//! Weighted round robin: a class may send so many packets in each round.
//!
//! Classes are served in the order of the file. A class sends up to `weight` packets and is then behind all others; one
//! that runs empty loses the rest of its share of the round. Packets are counted, not bytes: the class with larger packets gets more of
//! the link, and whoever wants shares of bytes takes `dwrr` or `wfq`.

#[cfg(test)]
mod tests;

use crate::classful::{self, ClassScheduler, ClassSet, Classful, impl_by_classes};
use crate::{Body, LinkProperties};
use alloc::vec::Vec;
use sojourn_core::registry::{Descriptor, Holds, Linux, ParameterError, Params};
use sojourn_core::{Stream, parameters};

/// What `wrr` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "wrr",
    summary: "weighted round robin: classes take turns of so many packets",
    sources: &[
        "Katevenis, Sidiropoulos and Courcoubetis 1991, Weighted round-robin cell multiplexing in a general-purpose ATM switch chip",
        "RITE deliverable 2.1 section 2.2",
    ],
    parameters: &[classful::LIMIT.parameter("limit")],
    holds: Holds::Classes(&CLASS),
    linux: Linux::Absent("Linux has turns of bytes only"),
    ..Descriptor::PLAIN
};

parameters! {
    /// What can be set of a class.
    struct ClassParameters {
        /// packets of the class's turn
        weight: u32 = classful::WEIGHT,
    }
}

static CLASS: Descriptor = Descriptor { name: "class", parameters: &ClassParameters::LIST, ..Descriptor::PLAIN };

/// Queues that share the link by weighted round robin.
#[derive(Debug)]
pub struct Wrr<B>(Classful<B, WeightedRoundRobin>);

impl<B: Body> Wrr<B> {
    /// Empty queues with the given parameters.
    ///
    /// # Errors
    /// Classes or limits that contradict each other.
    pub fn new(params: &Params, link: &LinkProperties, random: Stream) -> Result<Self, ParameterError> {
        let scheduler = WeightedRoundRobin::new(classful::weights(params));
        Ok(Wrr(Classful::new(params, &params.classes, scheduler, link, random)?))
    }
}

impl_by_classes!(Wrr);

/// Rounds in which each class may send its weight in packets.
#[derive(Debug)]
struct WeightedRoundRobin {
    weights: Vec<u64>,
    /// The class that is being served.
    current: usize,
    /// Packets that it may still send.
    remaining: u64,
}

impl WeightedRoundRobin {
    fn new(weights: impl Iterator<Item = u64>) -> WeightedRoundRobin {
        let weights: Vec<_> = weights.collect();
        WeightedRoundRobin { current: weights.len().saturating_sub(1), weights, remaining: 0 }
    }

    #[inline]
    fn end_service_of(&mut self, class: usize) {
        if class == self.current {
            self.remaining = 0;
        }
    }
}

impl ClassScheduler for WeightedRoundRobin {
    /// A class that is no candidate has nothing remaining.
    #[inline]
    fn next(&mut self, candidates: ClassSet) -> usize {
        if self.remaining == 0 {
            self.current = candidates.after(self.current);
            self.remaining = self.weights[self.current];
        }
        self.current
    }

    #[inline]
    fn sent(&mut self, _class: usize, _bytes: u32) {
        self.remaining -= 1;
    }

    #[inline]
    fn gave_nothing(&mut self, class: usize) {
        self.end_service_of(class);
    }

    #[inline]
    fn emptied(&mut self, class: usize) {
        self.end_service_of(class);
    }
}
