//! Weighted round robin: a class's turn is so many packets.
//!
//! Classes take turns in the order of the file. A class sends up to `weight` packets and is then behind all others; one
//! that runs empty loses the rest of its turn. Packets are counted, not bytes: the class with larger packets gets more of
//! the link, and whoever wants shares of bytes takes `dwrr` or `wfq`.

#[cfg(test)]
mod tests;

use crate::classful::{self, Classful, Set, Turns, impl_by_classes};
use crate::{Body, LinkProperties};
use sojourn_core::Stream;
use sojourn_core::registry::{Descriptor, Holds, Linux, Parameter, ParameterError, Params};

/// What `wrr` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "wrr",
    summary: "weighted round robin: classes take turns of so many packets",
    sources: &[
        "Katevenis, Sidiropoulos and Courcoubetis 1991, Weighted round-robin cell multiplexing in a general-purpose ATM switch chip",
        "RITE deliverable 2.1 section 2.2",
    ],
    parameters: &[classful::LIMIT],
    holds: Holds::Classes(&CLASS),
    linux: Linux::Absent("Linux has turns of bytes only"),
    ..Descriptor::PLAIN
};

static CLASS: Descriptor = Descriptor {
    name: "class",
    parameters: &[Parameter { description: "packets of the class's turn", ..classful::WEIGHT }],
    ..Descriptor::PLAIN
};

/// Queues that take turns of so many packets.
#[derive(Debug)]
pub struct Wrr<B>(Classful<B, PacketTurns>);

impl<B: Body> Wrr<B> {
    /// Empty queues with the given parameters.
    ///
    /// # Errors
    /// Classes or limits that contradict each other.
    pub fn new(params: &Params, link: &LinkProperties, random: Stream) -> Result<Self, ParameterError> {
        let turns = PacketTurns::new(classful::weights(params));
        Ok(Wrr(Classful::new(params, &params.classes, turns, link, random)?))
    }
}

impl_by_classes!(Wrr);

/// Turns of so many packets.
#[derive(Debug)]
struct PacketTurns {
    weights: Vec<u64>,
    /// The class whose turn it is.
    current: usize,
    /// Packets that it may still send.
    remaining: u64,
}

impl PacketTurns {
    fn new(weights: impl Iterator<Item = u64>) -> PacketTurns {
        let weights: Vec<_> = weights.collect();
        PacketTurns { current: weights.len().saturating_sub(1), weights, remaining: 0 }
    }

    #[inline]
    fn end_turn_of(&mut self, class: usize) {
        if class == self.current {
            self.remaining = 0;
        }
    }
}

impl Turns for PacketTurns {
    /// A class that may not be asked has nothing remaining.
    #[inline]
    fn next(&mut self, candidates: Set) -> usize {
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
    fn passed(&mut self, class: usize) {
        self.end_turn_of(class);
    }

    #[inline]
    fn left(&mut self, class: usize) {
        self.end_turn_of(class);
    }
}
