//! What H-TCP is and what can be set.

use crate::reno;
use sojourn_core::Span;
use sojourn_core::registry::{Descriptor, Form, Kind, Linux, Parameter, Preset, Value};

/// What `htcp` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "htcp",
    summary: "best-effort TCP for fast long paths: the window grows faster the longer nothing was lost, and shrinks by the RTTs",
    sources: &[
        "Leith and Shorten, H-TCP: TCP for high-speed and long-distance networks, PFLDnet 2004",
        "draft-leith-tcp-htcp-06",
        "Linux net/ipv4/tcp_htcp.c",
        "FreeBSD sys/netinet/cc/cc_htcp.c",
    ],
    parameters: &[
        reno::ARITHMETIC,
        Parameter {
            name: "low_speed",
            kind: Kind::Span { min: Span::ZERO, max: Span::from_secs(1_000) },
            default: Value::Span(Span::from_secs(1)),
            description: "time since the last repair in which the window grows as Reno's (Delta_L)",
        },
        Parameter {
            name: "beta_max",
            kind: Kind::Number { min: 0.5, max: 1.0 },
            default: Value::Number(0.8),
            description: "most of the window that a loss leaves; the least is 1/2",
        },
        Parameter {
            name: "adaptive_backoff",
            kind: Kind::Boolean,
            default: Value::Boolean(true),
            description: "whether what a loss leaves follows the RTTs; otherwise it is 1/2",
        },
        Parameter {
            name: "rtt_scaling",
            kind: Kind::Boolean,
            default: Value::Boolean(true),
            description: "whether growth is reckoned for an RTT of 100 ms, so that flows with unequal RTTs grow alike",
        },
        Parameter {
            name: "bandwidth_switch",
            kind: Kind::Boolean,
            default: Value::Boolean(true),
            description: "whether a loss leaves 1/2 where the throughput has changed by more than a fifth since the one before",
        },
    ],
    presets: &[
        Preset {
            name: "linux",
            summary: "Linux tcp_htcp with a clock of 1000 Hz",
            values: &[("arithmetic", Value::Choice("whole"))],
        },
        Preset {
            name: "freebsd",
            summary: "FreeBSD cc_htcp as it comes: the growth only, without adaptive backoff and RTT scaling",
            values: &[
                ("adaptive_backoff", Value::Boolean(false)),
                ("rtt_scaling", Value::Boolean(false)),
                ("bandwidth_switch", Value::Boolean(false)),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form { name: "htcp", module: "tcp_htcp", ..Form::PLAIN }]),
    ..Descriptor::PLAIN
};
