//! What NICE is and what can be set.

use sojourn_core::parameters;
use sojourn_core::registry::declare::number;
use sojourn_core::registry::{Descriptor, Linux, Preset, Value};

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        /// part of the range from least to greatest round-trip time beyond which a packet met congestion
        threshold: f64 = number(0.1, 0.0..=1.0),
        /// part of a window's packets of which more must have met congestion for the window to be halved
        fraction: f64 = number(0.5, 0.0..=1.0),
        /// smallest window in segments; below 1 single segments go out further apart than a round trip
        min_window: f64 = number(1.0 / 48.0, 1e-4..=1e6),
        /// queued segments below which the window grows by one per round trip (Vegas)
        alpha: f64 = number(1.0, 0.0..=1e6),
        /// queued segments above which the window shrinks by one per round trip (Vegas); at least alpha
        beta: f64 = number(3.0, 0.0..=1e6),
        /// queued segments above which slow start ends (Vegas)
        gamma: f64 = number(1.0, 0.0..=1e6),
    }
}

/// What `nice` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "nice",
    summary: "TCP Nice: Vegas that halves when many round trips of a window are long, down to a fraction of a segment",
    sources: &[
        "Venkataramani, Kokku and Dahlin, TCP Nice: A Mechanism for Background Transfers, OSDI 2002",
        "Brakmo and Peterson, TCP Vegas: End to End Congestion Avoidance on a Global Internet, JSAC 13(8), 1995",
    ],
    parameters: &Parameters::LIST,
    presets: &[
        Preset { name: "paper", summary: "Venkataramani, Kokku and Dahlin", values: &[] },
        Preset {
            name: "linux",
            summary: "a later port to Linux: a fifth of the packets suffices, on Linux's Vegas, never below 2 segments",
            values: &[
                ("fraction", Value::Number(0.2)),
                ("min_window", Value::Number(2.0)),
                ("alpha", Value::Number(2.0)),
                ("beta", Value::Number(4.0)),
            ],
        },
    ],
    linux: Linux::Absent("Linux has no TCP Nice"),
    low_priority: true,
    ..Descriptor::PLAIN
};
