//! What SQF is and what can be set.

use crate::flows::{self, End};
use sojourn_core::registry::declare::choice;
use sojourn_core::registry::{Descriptor, Linux, Preset, Value};
use sojourn_core::{Amount, parameters};

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        limit: Amount = flows::limit_of_all(Amount::Packets(1000.0)),
        /// which end of the queue with the most bytes pays for an overflow
        drop: End = choice(End::Tail.value()),
        buckets: u32 = flows::BUCKETS,
        perfect: bool = flows::PERFECT,
    }
}

/// What `sqf` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "sqf",
    summary: "shortest queue first: the flow with the fewest bytes waiting sends, the one with the most pays for the buffer",
    sources: &[
        "Bonald and Muscariello 2009, Shortest queue first: implicit service differentiation through per-flow scheduling",
        "Carofiglio and Muscariello 2010, On the impact of TCP and per-flow scheduling on Internet performance",
        "Guillemin and Simonian 2013, Analysis of the Shortest Queue First service discipline with two classes",
    ],
    parameters: &Parameters::LIST,
    presets: &[Preset {
        name: "paper",
        summary: "a queue for each flow",
        values: &[("perfect", Value::Boolean(true))],
    }],
    linux: Linux::Absent("nobody has written it for Linux"),
    ..Descriptor::PLAIN
};
