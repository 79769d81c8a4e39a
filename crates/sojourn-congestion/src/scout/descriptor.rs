//! What scout is and what can be set.

use sojourn_core::Span;
use sojourn_core::parameters;
use sojourn_core::registry::declare::span;
use sojourn_core::registry::{Descriptor, Linux, Preset};

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        /// queueing delay aimed at, beside the time of a full packet on the link
        target: Span = span(Span::from_millis(1), Span::from_micros(10)..=Span::from_millis(100)),
        /// longest pause between two probes
        pause: Span = span(Span::from_secs(4), Span::from_millis(250)..=Span::from_secs(60)),
        /// mean length of a turn, after which the link is left to others of its kind
        turn: Span = span(Span::from_secs(30), Span::from_secs(1)..=Span::from_secs(3600)),
    }
}

/// What `scout` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "scout",
    summary: "a scavenger that asks by short trains of packets whether anybody else has a backlog, and sends while nobody has",
    sources: &["docs/controls/scout.md"],
    parameters: &Parameters::LIST,
    presets: &[Preset { name: "sojourn", summary: "docs/controls/scout.md", values: &[] }],
    low_priority: true,
    linux: Linux::Absent("Linux has no scout"),
    ..Descriptor::PLAIN
};
