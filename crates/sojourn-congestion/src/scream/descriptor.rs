//! What can be set of SCReAM.

use sojourn_core::Span;
use sojourn_core::parameters;
use sojourn_core::registry::declare::{flag, span};
use sojourn_core::registry::{Descriptor, Linux, Preset, Value};

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        /// whether packets are sent ECT(1) and marks answered in proportion (IS_L4S); otherwise a mark leaves 0.8 of the
        /// window
        l4s: bool = flag(false),
        /// queueing delay that counts as if all were marked; from half of it on the window shrinks (QDELAY_TARGET_LO)
        target: Span = span(Span::from_millis(60), Span::from_millis(1)..=Span::from_secs(10)),
    }
}

/// What `scream` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "scream",
    summary: "SCReAM version 2: a window for media in real time that answers delay, losses and marks",
    sources: &["draft-ietf-ccwg-rfc8298bis-screamv2", "RFC 8298"],
    parameters: &Parameters::LIST,
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
