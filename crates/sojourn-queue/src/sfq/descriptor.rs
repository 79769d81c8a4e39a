//! What SFQ is and what can be set.

use crate::fifo::limit;
use crate::flows::{self, End};
use sojourn_core::registry::{Auto, Descriptor, Form, Kind, Linux, Parameter, Preset, Setting, Unit, Value};
use sojourn_core::{Amount, Span};

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
    parameters: &[
        Parameter {
            description: "packets of all flows together; bytes or a time mean that many full-size packets",
            ..limit(Amount::Packets(127.0)).parameter("limit")
        },
        Parameter {
            name: "overflow",
            kind: Kind::Choice(&["evict", "refuse"]),
            default: Value::Choice("evict"),
            description: "what a full buffer drops: a packet of the longest bucket, or the arrival (ns-2) if its bucket holds half as many packets as places are left, or more than limit/buckets once fewer places than buckets are left",
        },
        Parameter {
            name: "drop",
            kind: Kind::Choice(End::NAMES),
            default: Value::Choice("tail"),
            description: "which end of a bucket loses a packet, where the longest one or one with `depth` packets does (tc headdrop)",
        },
        Parameter {
            name: "depth",
            kind: Kind::OrAuto(&Kind::Integer { min: 1, max: 10_000_000 }),
            default: Value::Integer(127),
            description: "packets that one bucket may hold; auto is any number",
        },
        Parameter {
            name: "flows",
            kind: Kind::OrAuto(&Kind::Integer { min: 1, max: 10_000_000 }),
            default: Value::Integer(128),
            description: "buckets that may hold packets at once, arrivals for others being dropped; auto is any number",
        },
        Parameter {
            description: "buckets that flows are hashed onto (tc divisor, there a power of two)",
            ..flows::BUCKETS
        },
        Parameter {
            name: "turn",
            kind: Kind::Choice(&["bytes", "packet"]),
            default: Value::Choice("bytes"),
            description: "what a bucket may send before the next: quantum bytes, or one packet of any size (McKenney, ns-2)",
        },
        Parameter {
            name: "quantum",
            kind: Kind::OrAuto(&Kind::Integer { min: 256, max: 1_048_576 }),
            default: Value::Auto,
            description: "bytes that a bucket may send in a turn; what it sends beyond is taken from the next turn, and what it saves is kept while it is not empty; auto is the link's full-size packet",
        },
        Parameter {
            name: "perturb",
            kind: Kind::Span { min: Span::ZERO, max: Span::from_secs(1_000_000) },
            default: Value::Span(Span::ZERO),
            description: "time between changes of the hash, which move waiting packets to their new buckets; 0 s is never",
        },
        flows::PERFECT_FOR_STUDY,
    ],
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
                ("overflow", Value::Choice("refuse")),
                ("depth", Value::Auto),
                ("flows", Value::Auto),
                ("buckets", Value::Integer(16)),
                ("turn", Value::Choice("packet")),
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
