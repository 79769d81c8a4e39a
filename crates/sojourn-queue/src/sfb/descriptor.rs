//! What SFB is and what can be set.

use crate::fifo::limit;
use sojourn_core::registry::{Descriptor, Form, Kind, Linux, Parameter, Preset, Setting, Unit, Value};
use sojourn_core::{Amount, Span};

/// What `sfb` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "sfb",
    summary: "stochastic fair BLUE: probabilities in a Bloom filter single out the flows that do not respond",
    sources: &[
        "Feng, Kandlur, Saha and Shin 2001, Stochastic Fair Blue",
        "Linux net/sched/sch_sfb.c",
        "iproute2 tc/q_sfb.c",
    ],
    parameters: &[
        limit(Amount::Packets(1000.0)).parameter("limit"),
        Parameter {
            name: "target",
            kind: Kind::Integer { min: 1, max: 1_000_000 },
            default: Value::Integer(20),
            description: "packets in a bin from which on its probability grows (bin_size)",
        },
        Parameter {
            name: "max",
            kind: Kind::Integer { min: 1, max: 1_000_000 },
            default: Value::Integer(25),
            description: "packets in all bins of a flow from which on its arrivals are dropped",
        },
        Parameter {
            name: "increment",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            default: Value::Number(0.0005),
            description: "what an arrival at a bin that holds target packets adds to its probability (d1), rounded to 1/65535",
        },
        Parameter {
            name: "decrement",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            default: Value::Number(0.000_05),
            description: "what an arrival at an empty bin takes from its probability (d2), rounded to 1/65535",
        },
        Parameter {
            name: "penalty_rate",
            kind: Kind::Number { min: 0.0, max: 1e9 },
            default: Value::Number(10.0),
            description: "packets a second that all flows with a probability of 1 together may send; 0 is none after the first burst",
        },
        Parameter {
            name: "penalty_burst",
            kind: Kind::Integer { min: 0, max: 1_000_000 },
            default: Value::Integer(20),
            description: "of these, packets that may come at once; 0 is none at all",
        },
        Parameter {
            name: "rehash",
            kind: Kind::Span { min: Span::ZERO, max: Span::from_secs(1_000_000) },
            default: Value::Span(Span::from_secs(600)),
            description: "time after which the second set of bins, with another hash, takes over; 0 s is never",
        },
        Parameter {
            name: "warmup",
            kind: Kind::Span { min: Span::ZERO, max: Span::from_secs(1_000_000) },
            default: Value::Span(Span::from_secs(60)),
            description: "how long before that it learns of flows with a probability of 1 (db)",
        },
        Parameter {
            name: "ecn",
            kind: Kind::Boolean,
            default: Value::Boolean(true),
            description: "whether ECN-capable packets are marked instead of dropped early (Linux always does)",
        },
    ],
    presets: &[
        Preset {
            name: "tc",
            summary: "tc sfb: steps of 1/2000 and 1/20000; 1000 packets, which Linux takes from the interface",
            values: &[],
        },
        Preset {
            name: "linux",
            summary: "sch_sfb without tc's defaults: steps of 1/1000 and 1/6000",
            values: &[("increment", Value::Number(0.001)), ("decrement", Value::Number(1.0 / 6000.0))],
        },
    ],
    linux: Linux::Kernel(&[Form {
        name: "sfb",
        module: "sch_sfb",
        settings: &[
            Setting::option("limit", "limit", Unit::Packets),
            Setting::option("target", "target", Unit::Number),
            Setting::option("max", "max", Unit::Number),
            Setting::option("increment", "increment", Unit::Number),
            Setting::option("decrement", "decrement", Unit::Number),
            Setting::option("penalty_rate", "penalty_rate", Unit::Number),
            Setting::option("penalty_burst", "penalty_burst", Unit::Number),
            Setting::option("rehash", "rehash", Unit::Millis),
            Setting::option("warmup", "db", Unit::Millis),
        ],
        ..Form::PLAIN
    }]),
    ..Descriptor::PLAIN
};
