//! What libutp's control is and what can be set.

use sojourn_core::Span;
use sojourn_core::registry::{Descriptor, Form, Kind, Linux, Parameter, Preset, Value};

/// What `libutp` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "libutp",
    summary: "LEDBAT as BitTorrent's library does it: in bytes, about twice RFC 6817's gain, wary of drifting clocks",
    sources: &["libutp utp_internal.cpp, github.com/bittorrent/libutp, 2018", "BEP 29, uTorrent transport protocol"],
    parameters: &[
        Parameter {
            name: "target",
            kind: Kind::Span { min: Span::from_micros(100), max: Span::from_secs(10) },
            default: Value::Span(Span::from_millis(100)),
            description: "queueing delay aimed at (CCONTROL_TARGET)",
        },
        Parameter {
            name: "gain_bytes",
            kind: Kind::Number { min: 1.0, max: 1e9 },
            default: Value::Number(3000.0),
            description: "bytes by which the window grows in a round trip without queueing delay (MAX_CWND_INCREASE_BYTES_PER_RTT)",
        },
        Parameter {
            name: "min_window_bytes",
            kind: Kind::Integer { min: 1, max: 1_000_000_000 },
            default: Value::Integer(10),
            description: "smallest window in bytes (MIN_WINDOW_SIZE); below a packet the flow waits for the transport's timeout",
        },
        Parameter {
            name: "send_buffer_bytes",
            kind: Kind::Integer { min: 1500, max: 100_000_000_000 },
            default: Value::Integer(1024 * 1024),
            description: "largest window in bytes, and the first slow-start threshold (opt_sndbuf)",
        },
        Parameter {
            name: "slow_start",
            kind: Kind::Boolean,
            default: Value::Boolean(true),
            description: "whether a flow begins with slow start, which in libutp adds at least one packet per round trip",
        },
        Parameter {
            name: "slow_start_exit",
            kind: Kind::Number { min: 0.01, max: 10.0 },
            default: Value::Number(0.9),
            description: "part of target at which queueing delay ends slow start",
        },
        Parameter {
            name: "decay_interval",
            kind: Kind::Span { min: Span::ZERO, max: Span::from_secs(10) },
            default: Value::Span(Span::from_millis(100)),
            description: "time after a halving in which losses are not answered (MAX_WINDOW_DECAY)",
        },
        Parameter {
            name: "rate_limit_after",
            kind: Kind::Span { min: Span::ZERO, max: Span::from_secs(3600) },
            default: Value::Span(Span::from_secs(1)),
            description: "time since the window last limited sending after which it no longer grows outside slow start",
        },
        Parameter {
            name: "base_history",
            kind: Kind::Integer { min: 1, max: 1000 },
            default: Value::Integer(13),
            description: "minima of a minute each that are kept for the base delay (DELAY_BASE_HISTORY)",
        },
        Parameter {
            name: "filter",
            kind: Kind::Integer { min: 1, max: 1000 },
            default: Value::Integer(3),
            description: "last samples whose minimum is the queueing delay (CUR_DELAY_SIZE)",
        },
        Parameter {
            name: "skew_correction",
            kind: Kind::Boolean,
            default: Value::Boolean(true),
            description: "whether the base delay is raised by up to 10 ms when that of the way back falls, and to what the round-trip time allows",
        },
        Parameter {
            name: "drift_penalty",
            kind: Kind::Boolean,
            default: Value::Boolean(true),
            description: "whether a delay that falls by more than 200 ms in 5 s, as no honest clock's does, counts as extra delay",
        },
    ],
    presets: &[Preset { name: "libutp", summary: "the library as published", values: &[] }],
    linux: Linux::Program(Form { name: "libutp", module: "", ..Form::PLAIN }),
    low_priority: true,
    ..Descriptor::PLAIN
};
