//! What SQF is and what can be set.

use crate::flows::End;
use sojourn_core::Amount;
use sojourn_core::registry::{Descriptor, Kind, Linux, Parameter, Preset, Value};

/// What `sqf` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "sqf",
    summary: "shortest queue first: the flow with the fewest bytes waiting sends, the one with the most pays for the buffer",
    sources: &[
        "Bonald and Muscariello 2009, Shortest queue first: implicit service differentiation through per-flow scheduling",
        "Carofiglio and Muscariello 2010, On the impact of TCP and per-flow scheduling on Internet performance",
        "Guillemin and Simonian 2013, Analysis of the Shortest Queue First service discipline with two classes",
    ],
    parameters: &[
        Parameter {
            name: "limit",
            kind: Kind::Amount { min_packets: 1.0, whole: true },
            default: Value::Amount(Amount::Packets(1000.0)),
            description: "what all queues together may hold: packets, bytes, or time at the link's rate",
        },
        Parameter {
            name: "drop",
            kind: Kind::Choice(End::NAMES),
            default: Value::Choice("tail"),
            description: "which end of the queue with the most bytes pays for an overflow",
        },
        Parameter {
            name: "buckets",
            kind: Kind::Integer { min: 1, max: 65_536 },
            default: Value::Integer(1024),
            description: "queues that flows are hashed onto",
        },
        Parameter {
            name: "perfect",
            kind: Kind::Boolean,
            default: Value::Boolean(false),
            description: "whether each flow has a queue of its own instead of one by hash",
        },
    ],
    presets: &[Preset {
        name: "paper",
        summary: "a queue for each flow",
        values: &[("perfect", Value::Boolean(true))],
    }],
    linux: Linux::Absent("nobody has written it for Linux"),
    ..Descriptor::PLAIN
};
