//! What FQ-Yield is and what can be set.

use crate::codel::law;
use crate::flows;
use sojourn_core::registry::{Descriptor, Kind, Parameter, Value};
use sojourn_core::{Amount, Span};

/// What `fq_yield` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "fq_yield",
    summary: "FQ-CoDel that finds out which flows yield to delay, and serves those after the others",
    sources: &["Sojourn's own", "RFC 8290", "RFC 6817"],
    parameters: &[
        flows::limit_of_all(Amount::Packets(10_240.0)),
        flows::FLOWS,
        flows::PERFECT_FOR_STUDY,
        flows::QUANTUM,
        flows::EMPTY_NEW,
        flows::DROP_BATCH,
        law::TARGET,
        law::INTERVAL,
        law::MIN_BYTES,
        law::ecn(true),
        law::AFTER_MARK,
        law::ROOT,
        law::CLOCK,
        law::CE_THRESHOLD,
        law::CE_THRESHOLD_FOR,
        Parameter {
            name: "deferral",
            kind: DELAY,
            default: Value::Span(Span::from_millis(150)),
            description: "how long each packet of a flow waits while the flow is probed: above the largest target of LEDBAT (100 ms), below the least retransmission timeout (200 ms in Linux)",
        },
        Parameter {
            name: "max_deferral",
            kind: DELAY,
            default: Value::Span(Span::from_millis(600)),
            description: "the longest that a packet of a flow that yields waits for its fair turn; at least deferral, from which it grows by half at a time",
        },
        Parameter {
            name: "pause",
            kind: PAUSE,
            default: Value::Span(Span::from_secs(8)),
            description: "time until a flow that did not yield is probed again; it doubles each time",
        },
        Parameter {
            name: "max_pause",
            kind: PAUSE,
            default: Value::Span(Span::from_secs(64)),
            description: "the longest of these pauses; at least pause",
        },
    ],
    ..Descriptor::PLAIN
};

const DELAY: Kind = Kind::Span { min: Span::from_millis(1), max: Span::from_secs(10) };
const PAUSE: Kind = Kind::Span { min: Span::from_millis(100), max: Span::from_secs(10_000) };
