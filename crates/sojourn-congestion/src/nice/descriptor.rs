//! What NICE is and what can be set.

use sojourn_core::registry::{Descriptor, Kind, Linux, Parameter, Preset, Value};

/// What `nice` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "nice",
    summary: "TCP Nice: Vegas that halves when many round trips of a window are long, down to a fraction of a segment",
    sources: &[
        "Venkataramani, Kokku and Dahlin, TCP Nice: A Mechanism for Background Transfers, OSDI 2002",
        "Brakmo and Peterson, TCP Vegas: End to End Congestion Avoidance on a Global Internet, JSAC 13(8), 1995",
    ],
    parameters: &[
        Parameter {
            name: "threshold",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            default: Value::Number(0.1),
            description: "part of the range from least to greatest round-trip time beyond which a packet met congestion",
        },
        Parameter {
            name: "fraction",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            default: Value::Number(0.5),
            description: "part of a window's packets of which more must have met congestion for the window to be halved",
        },
        Parameter {
            name: "min_window",
            kind: Kind::Number { min: 1e-4, max: 1e6 },
            default: Value::Number(1.0 / 48.0),
            description: "smallest window in segments; below 1 single segments go out further apart than a round trip",
        },
        Parameter {
            name: "alpha",
            kind: Kind::Number { min: 0.0, max: 1e6 },
            default: Value::Number(1.0),
            description: "queued segments below which the window grows by one per round trip (Vegas)",
        },
        Parameter {
            name: "beta",
            kind: Kind::Number { min: 0.0, max: 1e6 },
            default: Value::Number(3.0),
            description: "queued segments above which the window shrinks by one per round trip (Vegas); at least alpha",
        },
        Parameter {
            name: "gamma",
            kind: Kind::Number { min: 0.0, max: 1e6 },
            default: Value::Number(1.0),
            description: "queued segments above which slow start ends (Vegas)",
        },
    ],
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
