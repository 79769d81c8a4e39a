//! What DRR is and what can be set.

use crate::flows::{self, End};
use sojourn_core::registry::declare::{choice, integer_in, or_auto};
use sojourn_core::registry::{Auto, Descriptor, Form, Linux, Preset, Setting, Unit, Value};
use sojourn_core::{Amount, parameters};

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        limit: Amount = flows::limit_of_all(Amount::Packets(1000.0)),
        /// which end of the bucket with the most bytes pays for an overflow (ns-2: head)
        drop: End = choice(End::Tail.value()),
        buckets: u32 = flows::BUCKETS,
        /// bytes that a turn adds to what a bucket may send; below a packet's size it takes several turns to send one, each of
        /// which costs time; auto is the link's full-size packet
        quantum: Option<u32> = or_auto(&integer_in(1..=1_048_576)),
        perfect: bool = flows::PERFECT,
    }
}

/// What `drr` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "drr",
    summary: "deficit round robin: hashed flows take turns of equally many bytes, and the fattest pays for the buffer",
    sources: &[
        "Shreedhar and Varghese 1995, Efficient Fair Queuing using Deficit Round Robin",
        "ns-2.35 queue/drr.cc",
        "Linux net/sched/sch_drr.c",
    ],
    parameters: &Parameters::LIST,
    presets: &[
        Preset {
            name: "per-flow",
            summary: "a queue for each flow and turns of one full-size packet, as Linux's drr with a class and a filter for each flow; but with one limit for all of them, while there each class has its own",
            values: &[("perfect", Value::Boolean(true))],
        },
        Preset {
            name: "ns2",
            summary: "ns-2.35: 25,000 B whatever the link's limit says, 10 buckets, turns of 250 B, drops at the head. It hashes the source node's address only: flows of one node are one, and with even node numbers about half of the buckets stay empty; here the seed decides who collides",
            values: &[
                ("limit", Value::Amount(Amount::Bytes(25_000.0))),
                ("drop", End::Head.value()),
                ("buckets", Value::Integer(10)),
                ("quantum", Value::Integer(250)),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form {
        name: "drr",
        module: "sch_drr",
        settings: &[
            Setting::option("limit", "limit", Unit::Packets),
            Setting::auto("quantum", "quantum", Unit::Number, Auto::FullPacket),
            Setting::is("perfect", Value::Boolean(true)),
        ],
        remarks: &["each flow's queue has the whole limit for itself: there is no buffer that the flows share"],
        ..Form::PLAIN
    }]),
    ..Descriptor::PLAIN
};
