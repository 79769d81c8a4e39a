//! What can be set of SCReAM.

use sojourn_core::Span;
use sojourn_core::registry::{Descriptor, Kind, Linux, Parameter, Preset, Value};

/// What `scream` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "scream",
    summary: "SCReAM version 2: a window for media in real time that answers delay, losses and marks",
    sources: &["draft-ietf-ccwg-rfc8298bis-screamv2", "RFC 8298"],
    parameters: &[
        Parameter {
            name: "l4s",
            kind: Kind::Boolean,
            default: Value::Boolean(false),
            description: "whether packets are sent ECT(1) and marks answered in proportion (IS_L4S); otherwise a mark leaves 0.8 of the window",
        },
        Parameter {
            name: "target",
            kind: Kind::Span { min: Span::from_millis(1), max: Span::from_secs(10) },
            default: Value::Span(Span::from_millis(60)),
            description: "queueing delay that counts as if all were marked; from half of it on the window shrinks (QDELAY_TARGET_LO)",
        },
    ],
    presets: &[
        Preset { name: "draft", summary: "the draft's recommended constants, without its optional parts", values: &[] },
        Preset {
            name: "l4s",
            summary: "the same for L4S: ECT(1), with counts of marks",
            values: &[("l4s", Value::Boolean(true))],
        },
    ],
    linux: Linux::Absent("no kernel has SCReAM; it lives in applications"),
    ..Descriptor::PLAIN
};
