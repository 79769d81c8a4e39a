//! Weighted fair queueing: classes share the link as if each had a part of its own, in proportion to their weights.
//!
//! The ideal (GPS) serves all classes at once, bit by bit. It is emulated by start-time fair queueing (Goyal, Vin and Cheng
//! 1996): the next packet of a class starts at the virtual time at which its last one ended, or now if the class had
//! none; it takes its bytes divided by the class's weight; the smallest start goes first, and its start is what the virtual
//! clock shows. Over any time in which two classes have packets, their bytes per weight differ by at most a largest packet
//! per weight of each. Among equal starts the first class goes first.
//!
//! Parekh and Gallager's WFQ orders by the end of packets in the fluid model, and self-clocked fair queueing by the end
//! of packets on the clock of the packet in service; both need the size of a packet that may yet be dropped by the queue
//! it waits in. Starts need no sizes, and a class of small weight does not wait for its own packet's length.

#[cfg(test)]
mod tests;

use crate::classful::{self, ClassScheduler, ClassSet, Classful, impl_by_classes};
use crate::{Body, LinkProperties};
use alloc::vec;
use alloc::vec::Vec;
use sojourn_core::registry::{Descriptor, Holds, Linux, ParameterError, Params};
use sojourn_core::{Stream, parameters};

/// What `wfq` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "wfq",
    summary: "weighted fair queueing by start times: classes get shares of the bytes, packet by packet",
    sources: &[
        "Goyal, Vin and Cheng 1996, Start-time fair queueing",
        "Parekh and Gallager 1993, A generalized processor sharing approach to flow control",
        "RITE deliverable 2.1 section 2.2",
    ],
    parameters: &[classful::LIMIT.parameter("limit")],
    holds: Holds::Classes(&CLASS),
    linux: Linux::Absent("Linux has no finish times, only turns and rates"),
    ..Descriptor::PLAIN
};

parameters! {
    /// What can be set of a class.
    struct ClassParameters {
        /// the class's share of the bytes among the classes that have packets
        weight: u32 = classful::WEIGHT,
    }
}

static CLASS: Descriptor = Descriptor { name: "class", parameters: &ClassParameters::LIST, ..Descriptor::PLAIN };

/// Queues that share the link by their weights.
#[derive(Debug)]
pub struct Wfq<B>(Classful<B, StartTimeFair>);

impl<B: Body> Wfq<B> {
    /// Empty queues with the given parameters.
    ///
    /// # Errors
    /// Classes or limits that contradict each other.
    pub fn new(params: &Params, link: &LinkProperties, random: Stream) -> Result<Self, ParameterError> {
        let scheduler = StartTimeFair::new(classful::weights(params));
        Ok(Wfq(Classful::new(params, &params.classes, scheduler, link, random)?))
    }
}

impl_by_classes!(Wfq);

/// Units of virtual time in which a class of weight 1 sends a byte. A quotient by a weight is cut off at 2^-32 of a byte.
const UNITS: u128 = 1 << 32;

/// Virtual times. With 128 bits they do not overflow in any run.
#[derive(Debug)]
struct StartTimeFair {
    weights: Vec<u64>,
    /// The start of each class's next packet; where it has none, the end of its last.
    starts: Vec<u128>,
    /// The start of the packet that was sent last.
    clock: u128,
    /// The latest end of all packets sent.
    latest_end: u128,
    /// Classes that have packets.
    waiting: usize,
}

impl StartTimeFair {
    fn new(weights: impl Iterator<Item = u64>) -> StartTimeFair {
        let weights: Vec<_> = weights.collect();
        StartTimeFair { starts: vec![0; weights.len()], weights, clock: 0, latest_end: 0, waiting: 0 }
    }
}

impl ClassScheduler for StartTimeFair {
    /// Classes are few, so a look at each of them is quicker than a heap.
    #[inline]
    fn next(&mut self, candidates: ClassSet) -> usize {
        candidates.iter().min_by_key(|&class| self.starts[class]).expect("there is a candidate")
    }

    #[inline]
    fn sent(&mut self, class: usize, bytes: u32) {
        self.clock = self.starts[class];
        self.starts[class] += u128::from(bytes) * UNITS / u128::from(self.weights[class]);
        self.latest_end = self.latest_end.max(self.starts[class]);
    }

    /// A class that sends nothing cannot save its turn.
    #[inline]
    fn gave_nothing(&mut self, class: usize) {
        self.starts[class] = self.starts[class].max(self.clock);
    }

    #[inline]
    fn backlogged(&mut self, class: usize) {
        self.waiting += 1;
        self.starts[class] = self.starts[class].max(self.clock);
    }

    /// When nobody has packets any more, all that was owed is forgotten.
    #[inline]
    fn emptied(&mut self, _class: usize) {
        self.waiting -= 1;
        if self.waiting == 0 {
            self.clock = self.latest_end;
        }
    }
}
