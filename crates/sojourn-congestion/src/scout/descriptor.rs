//! What scout is and what can be set.

use sojourn_core::Span;
use sojourn_core::registry::{Descriptor, Kind, Linux, Parameter, Preset, Value};

/// What `scout` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "scout",
    summary: "a scavenger that asks by short trains of packets whether anybody else has a backlog, and sends while nobody has",
    sources: &["docs/controls/scout.md"],
    parameters: &[
        Parameter {
            name: "target",
            kind: Kind::Span { min: Span::from_micros(10), max: Span::from_millis(100) },
            default: Value::Span(Span::from_millis(1)),
            description: "queueing delay aimed at, beside the time of a full packet on the link",
        },
        Parameter {
            name: "pause",
            kind: Kind::Span { min: Span::from_millis(250), max: Span::from_secs(60) },
            default: Value::Span(Span::from_secs(4)),
            description: "longest pause between two probes",
        },
        Parameter {
            name: "turn",
            kind: Kind::Span { min: Span::from_secs(1), max: Span::from_secs(3600) },
            default: Value::Span(Span::from_secs(30)),
            description: "mean length of a turn, after which the link is left to others of its kind",
        },
    ],
    presets: &[Preset { name: "sojourn", summary: "docs/controls/scout.md", values: &[] }],
    low_priority: true,
    linux: Linux::Absent("Linux has no scout"),
    ..Descriptor::PLAIN
};
