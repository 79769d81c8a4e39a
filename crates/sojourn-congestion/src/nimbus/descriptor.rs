//! What Nimbus is and what can be set.

use sojourn_core::Span;
use sojourn_core::registry::{Descriptor, Kind, Linux, Parameter, Preset, Value};

/// What `nimbus` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "nimbus",
    summary: "Nimbus as a scavenger: pulses of its rate show whether others answer, to whom it yields; else it takes what they leave",
    sources: &[
        "Goyal, Narayan, Cangialosi, Narayana, Alizadeh and Balakrishnan, Elasticity Detection: A Building Block for Internet Congestion Control, SIGCOMM 2022 (arXiv 1802.08730)",
        "ccp-project/nimbus src/lib.rs, the authors' code",
    ],
    parameters: &[
        Parameter {
            name: "capacity",
            kind: Kind::OrAuto(&Kind::Rate),
            default: Value::Auto,
            description: "rate of the bottleneck (mu); auto takes the largest rate of arrivals in the last minute",
        },
        Parameter {
            name: "frequency",
            kind: Kind::Number { min: 1.0, max: 20.0 },
            default: Value::Number(5.0),
            description: "pulses of a second (f_p), in whole fifths",
        },
        Parameter {
            name: "pulse",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            default: Value::Number(0.25),
            description: "height of a pulse over the capacity; a third of that is the least rate while it fills the link",
        },
        Parameter {
            name: "elastic",
            kind: Kind::Number { min: 0.0, max: 1e6 },
            default: Value::Number(2.0),
            description: "elasticity from which others count as elastic (eta_thresh)",
        },
        Parameter {
            name: "alpha",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            default: Value::Number(0.8),
            description: "part of the spare capacity that the rate takes up at once (BasicDelay)",
        },
        Parameter {
            name: "beta",
            kind: Kind::Number { min: 0.0, max: 10.0 },
            default: Value::Number(0.5),
            description: "part of the capacity by which the rate answers a queue that is a round trip off its target (BasicDelay)",
        },
        Parameter {
            name: "target",
            kind: Kind::Span { min: Span::from_micros(100), max: Span::from_secs(10) },
            default: Value::Span(Span::from_micros(12_500)),
            description: "queueing delay that it keeps, so that the link stays busy (d_t)",
        },
        Parameter {
            name: "rest",
            kind: Kind::Span { min: Span::from_millis(100), max: Span::from_secs(3600) },
            default: Value::Span(Span::from_secs(10)),
            description: "how long it yields before it looks again, on average: uniform from half of that to one and a half (Sojourn's own)",
        },
    ],
    presets: &[Preset {
        name: "paper",
        summary: "pulses, elasticity and BasicDelay of the paper; yielding is Sojourn's",
        values: &[],
    }],
    low_priority: true,
    linux: Linux::Absent("Linux has no Nimbus"),
    ..Descriptor::PLAIN
};
