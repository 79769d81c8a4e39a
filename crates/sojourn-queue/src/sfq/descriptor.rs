//! What SFQ is and what can be set.

use crate::fifo::limit;
use crate::flows::{self, End};
use sojourn_core::registry::declare::{choice, integer, integer_in, or_auto, span, unless_auto};
use sojourn_core::registry::{Auto, Descriptor, Form, Linux, Preset, Setting, Unit, Value};
use sojourn_core::{Amount, Span, choices, parameters};

choices! {
    /// Words of `overflow`.
    pub(super) enum Overflow { Evict = "evict", Refuse = "refuse" }
    /// Words of `turn`.
    pub(super) enum Turn { Bytes = "bytes", Packet = "packet" }
}

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        /// packets of all flows together; bytes or a time mean that many full-size packets
        limit: Amount = limit(Amount::Packets(127.0)),
        /// what a full buffer drops: a packet of the longest bucket, or the arrival (ns-2) if its bucket holds half as many
        /// packets as places are left, or more than limit/buckets once fewer places than buckets are left
        overflow: Overflow = choice(Overflow::Evict.value()),
        /// which end of a bucket loses a packet, where the longest one or one with `depth` packets does (tc headdrop)
        drop: End = choice(End::Tail.value()),
        /// packets that one bucket may hold; auto is any number
        depth: Option<usize> = unless_auto(&integer(127, 1..=10_000_000)),
        /// buckets that may hold packets at once, arrivals for others being dropped; auto is any number
        flows: Option<usize> = unless_auto(&integer(128, 1..=10_000_000)),
        /// buckets that flows are hashed onto (tc divisor, there a power of two)
        buckets: u32 = flows::BUCKETS,
        /// what a bucket may send before the next: quantum bytes, or one packet of any size (McKenney, ns-2)
        turn: Turn = choice(Turn::Bytes.value()),
        /// bytes that a bucket may send in a turn; what it sends beyond is taken from the next turn, and what it saves is kept
        /// while it is not empty; auto is the link's full-size packet
        quantum: Option<u32> = or_auto(&integer_in(256..=1_048_576)),
        /// time between changes of the hash, which move waiting packets to their new buckets; 0 s is never
        perturb: Span = span(Span::ZERO, Span::ZERO..=Span::from_secs(1_000_000)),
        perfect: bool = flows::PERFECT_FOR_STUDY,
    }
}

/// What `sfq` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "sfq",
    summary: "stochastic fairness queueing: hashed flows take turns, and the longest queue pays for the buffer",
    sources: &[
        "McKenney 1990, Stochastic Fairness Queueing",
        "Linux net/sched/sch_sfq.c",
        "iproute2 tc/q_sfq.c",
        "ns-2.35 queue/sfq.cc",
    ],
    parameters: &Parameters::LIST,
    presets: &[
        Preset {
            name: "linux",
            summary: "sch_sfq: 127 packets, 128 flows in 1024 buckets, turns of one full-size packet's bytes, drops from the longest",
            values: &[],
        },
        Preset {
            name: "ns2",
            summary: "ns-2.35: 40 packets whatever the link's limit says, 16 buckets, turns of one packet, refuses arrivals. It hashes the two node addresses only: flows between the same two nodes are one, others collide by numbering; here ports count and the seed decides who collides",
            values: &[
                ("limit", Value::Amount(Amount::Packets(40.0))),
                ("overflow", Overflow::Refuse.value()),
                ("depth", Value::Auto),
                ("flows", Value::Auto),
                ("buckets", Value::Integer(16)),
                ("turn", Turn::Packet.value()),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form {
        name: "sfq",
        module: "sch_sfq",
        settings: &[
            Setting::option("limit", "limit", Unit::FullPackets),
            Setting::words("drop", &[("tail", ""), ("head", "headdrop")]),
            Setting::option("depth", "depth", Unit::Number),
            Setting::option("flows", "flows", Unit::Number),
            Setting::option("buckets", "divisor", Unit::Number),
            Setting::auto("quantum", "quantum", Unit::Number, Auto::FullPacket),
            Setting::option("perturb", "perturb", Unit::Seconds),
        ],
        ..Form::PLAIN
    }]),
    ..Descriptor::PLAIN
};
