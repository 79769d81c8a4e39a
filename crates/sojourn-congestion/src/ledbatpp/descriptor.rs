//! What LEDBAT++ is and what can be set.

use sojourn_core::Span;
use sojourn_core::registry::{Descriptor, Kind, Linux, Parameter, Preset, Value};

/// What `ledbatpp` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "ledbatpp",
    summary: "LEDBAT++: LEDBAT on round-trip delay, with multiplicative decrease and slowdowns that let newcomers see the empty path",
    sources: &["draft-irtf-iccrg-ledbat-plus-plus", "RFC 6817", "RFC 9840"],
    parameters: &[
        Parameter {
            name: "target",
            kind: Kind::Span { min: Span::from_micros(100), max: Span::from_secs(10) },
            default: Value::Span(Span::from_millis(60)),
            description: "queueing delay of the round trip aimed at (TARGET)",
        },
        Parameter {
            name: "initial_window",
            kind: Kind::OrAuto(&Kind::Number { min: 1.0, max: 1e6 }),
            default: Value::Auto,
            description: "first window in segments, but no larger than the transport's; auto is the transport's",
        },
        Parameter {
            name: "gain_divisor",
            kind: Kind::Integer { min: 1, max: 1000 },
            default: Value::Integer(16),
            description: "most by which GAIN is reduced: GAIN = 1/min(gain_divisor, ceil(2 target/base delay))",
        },
        Parameter {
            name: "decrease",
            kind: Kind::Number { min: 0.0, max: 1000.0 },
            default: Value::Number(1.0),
            description: "part of the window by which a round trip at twice the target reduces it (the draft's constant of the multiplicative decrease), never more than half of the window",
        },
        Parameter {
            name: "min_window",
            kind: Kind::Number { min: 1.0, max: 1e6 },
            default: Value::Number(2.0),
            description: "smallest window in segments, which slowdowns have too; a timeout leaves 1",
        },
        Parameter {
            name: "slow_start_exit",
            kind: Kind::Number { min: 0.01, max: 10.0 },
            default: Value::Number(0.75),
            description: "part of target at which queueing delay ends the first slow start",
        },
        Parameter {
            name: "slowdowns",
            kind: Kind::Boolean,
            default: Value::Boolean(true),
            description: "whether the flow slows down from time to time to find the base delay",
        },
        Parameter {
            name: "first_slowdown",
            kind: Kind::Number { min: 0.0, max: 1e6 },
            default: Value::Number(2.0),
            description: "round trips between the end of the first slow start and the first slowdown",
        },
        Parameter {
            name: "slowdown_length",
            kind: Kind::Number { min: 0.0, max: 1000.0 },
            default: Value::Number(2.0),
            description: "round trips that the window stays at its smallest in a slowdown, before slow start brings it back",
        },
        Parameter {
            name: "slowdown_interval",
            kind: Kind::Number { min: 0.0, max: 1e6 },
            default: Value::Number(9.0),
            description: "time from the end of a slowdown to the next one, over the time that it took until the window was back: 9 costs at most a tenth of the capacity",
        },
        Parameter {
            name: "base_history",
            kind: Kind::Integer { min: 1, max: 1000 },
            default: Value::Integer(10),
            description: "minima of a minute each that are kept for the base delay (BASE_HISTORY)",
        },
        Parameter {
            name: "filter",
            kind: Kind::Integer { min: 1, max: 1000 },
            default: Value::Integer(4),
            description: "last samples whose minimum is the current delay (CURRENT_FILTER)",
        },
    ],
    presets: &[
        Preset { name: "draft", summary: "draft-irtf-iccrg-ledbat-plus-plus", values: &[] },
        Preset {
            name: "draft-01",
            summary: "revision 01 of the draft, section 4.1: a first window of 2 segments",
            values: &[("initial_window", Value::Number(2.0))],
        },
    ],
    linux: Linux::Absent("Linux has no LEDBAT++"),
    low_priority: true,
    ..Descriptor::PLAIN
};
