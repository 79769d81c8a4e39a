//! What Nimbus is and what can be set.

use sojourn_core::Rate;
use sojourn_core::Span;
use sojourn_core::parameters;
use sojourn_core::registry::declare::{number, rate_or_auto, span};
use sojourn_core::registry::{Descriptor, Linux, Preset};

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        /// rate of the bottleneck (mu); auto takes the largest rate of arrivals in the last minute
        capacity: Option<Rate> = rate_or_auto(),
        /// pulses of a second (f_p), in whole fifths
        frequency: f64 = number(5.0, 1.0..=20.0),
        /// height of a pulse over the capacity; a third of that is the least rate while it fills the link
        pulse: f64 = number(0.25, 0.0..=1.0),
        /// elasticity from which others count as elastic (eta_thresh)
        elastic: f64 = number(2.0, 0.0..=1e6),
        /// part of the spare capacity that the rate takes up at once (BasicDelay)
        alpha: f64 = number(0.8, 0.0..=1.0),
        /// part of the capacity by which the rate answers a queue that is a round trip off its target (BasicDelay)
        beta: f64 = number(0.5, 0.0..=10.0),
        /// queueing delay that it keeps, so that the link stays busy (d_t)
        target: Span = span(Span::from_micros(12_500), Span::from_micros(100)..=Span::from_secs(10)),
        /// how long it yields before it looks again, on average: uniform from half of that to one and a half (Sojourn's
        /// own)
        rest: Span = span(Span::from_secs(10), Span::from_millis(100)..=Span::from_secs(3600)),
    }
}

/// What `nimbus` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "nimbus",
    summary: "Nimbus as a scavenger: pulses of its rate show whether others answer, to whom it yields; else it takes what they leave",
    sources: &[
        "Goyal, Narayan, Cangialosi, Narayana, Alizadeh and Balakrishnan, Elasticity Detection: A Building Block for Internet Congestion Control, SIGCOMM 2022 (arXiv 1802.08730)",
        "ccp-project/nimbus src/lib.rs, the authors' code",
    ],
    parameters: &Parameters::LIST,
    presets: &[Preset {
        name: "paper",
        summary: "pulses, elasticity and BasicDelay of the paper; yielding is Sojourn's",
        values: &[],
    }],
    low_priority: true,
    linux: Linux::Absent("Linux has no Nimbus"),
    ..Descriptor::PLAIN
};
