//! What FQ-Yield is and what can be set.

use crate::codel::law;
use crate::flows::{self, Turns};
use sojourn_core::registry::declare::span;
use sojourn_core::registry::{Descriptor, Parameter, joined};
use sojourn_core::{Amount, Span, parameters};

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        limit: Amount = flows::limit_of_all(Amount::Packets(10_240.0)),
        drop_batch: u32 = flows::DROP_BATCH,
        ecn: bool = law::ecn(true),
        /// how long each packet of a flow waits while the flow is probed: above the largest target of LEDBAT (100 ms), below
        /// the least retransmission timeout (200 ms in Linux)
        deferral: Span = span(Span::from_millis(150), Span::from_millis(1)..=Span::from_secs(10)),
        /// the longest that a packet of a flow that yields waits for its fair turn; at least deferral, from which it grows by
        /// half at a time
        max_deferral: Span = span(Span::from_millis(600), Span::from_millis(1)..=Span::from_secs(10)),
        /// time until a flow that did not yield is probed again; it doubles each time
        pause: Span = span(Span::from_secs(8), Span::from_millis(100)..=Span::from_secs(10_000)),
        /// the longest of these pauses; at least pause
        max_pause: Span = span(Span::from_secs(64), Span::from_millis(100)..=Span::from_secs(10_000)),
    }
}

static PARAMETERS: [Parameter; Turns::LIST.len() + law::Parameters::LIST.len() + Parameters::LIST.len()] =
    joined(&[&Parameters::LIST, &Turns::LIST, &law::Parameters::LIST]);

/// What `fq_yield` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "fq_yield",
    summary: "FQ-CoDel that finds out which flows yield to delay, and serves those after the others",
    sources: &["Sojourn's own", "RFC 8290", "RFC 6817"],
    parameters: &PARAMETERS,
    ..Descriptor::PLAIN
};
