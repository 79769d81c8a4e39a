//! What CDG is and what can be set.

use crate::reno;
use sojourn_core::Span;
use sojourn_core::registry::{Descriptor, Form, Kind, Linux, Parameter, Preset, Value};

/// What `cdg` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "cdg",
    summary: "CAIA delay gradient: backs off at random where round-trip times rise from round to round, without any delay threshold",
    sources: &[
        "Hayes and Armitage, Revisiting TCP Congestion Control using Delay Gradients, IFIP Networking 2011",
        "FreeBSD sys/netinet/cc/cc_cdg.c",
        "Linux net/ipv4/tcp_cdg.c",
    ],
    parameters: &[
        reno::ARITHMETIC,
        Parameter {
            name: "backoff",
            kind: Kind::Number { min: 0.01, max: 1.0 },
            default: Value::Number(0.7),
            description: "what a gradient's back-off leaves of the window (beta)",
        },
        Parameter {
            name: "loss_backoff",
            kind: Kind::Number { min: 0.01, max: 1.0 },
            default: Value::Number(0.5),
            description: "what a loss leaves of the window",
        },
        Parameter {
            name: "scale",
            kind: Kind::Span { min: Span::from_nanos(1), max: Span::from_secs(10) },
            default: Value::Span(Span::from_millis(3)),
            description: "average gradient g per round trip at which the flow backs off with probability 1 - 1/e (G): it does so with 1 - exp(-g/G)",
        },
        Parameter {
            name: "samples",
            kind: Kind::Integer { min: 1, max: 256 },
            default: Value::Integer(8),
            description: "gradients that are averaged",
        },
        Parameter {
            name: "first_samples",
            kind: Kind::Choice(&["zeros", "extrapolate"]),
            default: Value::Choice("zeros"),
            description: "how fewer gradients than samples are averaged: as if the missing ones were zero, or over those that are there (Linux)",
        },
        Parameter {
            name: "slow_start_gradient",
            kind: Kind::Choice(&["latest", "average"]),
            default: Value::Choice("latest"),
            description: "whether slow start looks at the latest gradient first, or at the average as later (Linux)",
        },
        Parameter {
            name: "noise",
            kind: Kind::Span { min: Span::ZERO, max: Span::from_secs(1) },
            default: Value::Span(Span::ZERO),
            description: "sum of gradients that does not yet count as a change of the queue (Linux: 32 us)",
        },
        Parameter {
            name: "ineffective",
            kind: Kind::OrAuto(&Kind::Integer { min: 1, max: 1_000_000 }),
            default: Value::Integer(5),
            description: "back-offs without a falling queue after which gradients are ignored, as others do not back off; auto is never, for scavengers",
        },
        Parameter {
            name: "hold",
            kind: Kind::OrAuto(&Kind::Integer { min: 1, max: 1_000_000 }),
            default: Value::Integer(5),
            description: "back-offs that are then ignored before they count again; auto is until the queue falls (Linux)",
        },
        Parameter {
            name: "shadow",
            kind: Kind::Choice(&["off", "until-empty", "keep"]),
            default: Value::Choice("until-empty"),
            description: "the window that losses alone would have left and that a loss restores in part: none, forgotten when the queue empties, or kept (Linux)",
        },
        Parameter {
            name: "tolerance",
            kind: Kind::Boolean,
            default: Value::Boolean(true),
            description: "whether a loss leaves the window where gradients say that the queue is not full",
        },
        Parameter {
            name: "repairs",
            kind: Kind::Choice(&["count", "left-out"]),
            default: Value::Choice("count"),
            description: "what becomes of the round-trip times that are measured while a loss is repaired: they are a part of the round that ends after it, or only what the next round is compared with, and what is known of the queue is forgotten (Linux)",
        },
        Parameter {
            name: "first_round",
            kind: Kind::Choice(&["data", "handshake"]),
            default: Value::Choice("data"),
            description: "whether the first round has the round-trip times of data alone, or the handshake's too (Linux, of the side that connects)",
        },
        Parameter {
            name: "hystart",
            kind: Kind::Choice(&["off", "train", "delay", "both"]),
            default: Value::Choice("off"),
            description: "what ends slow start before gradients do: trains of acknowledgements of half the least RTT, a round's RTT above 9/8 of it, or either (Linux)",
        },
        Parameter {
            name: "tick",
            kind: Kind::Span { min: Span::from_nanos(1), max: Span::from_secs(1) },
            default: Value::Span(Span::from_nanos(1)),
            description: "granularity of round-trip times, which are rounded down to it",
        },
    ],
    presets: &[
        Preset { name: "paper", summary: "the authors' rules with exact round-trip times", values: &[] },
        Preset {
            name: "freebsd",
            summary: "FreeBSD cc_cdg, by the authors, with a clock of 1000 Hz",
            values: &[("tick", Value::Span(Span::from_millis(1)))],
        },
        Preset {
            name: "linux",
            summary: "Linux tcp_cdg: backs off to 724/1024, averages over what is there, hybrid slow start, no loss tolerance",
            values: &[
                ("backoff", Value::Number(724.0 / 1024.0)),
                ("scale", Value::Span(Span::from_nanos(2_976_190))),
                ("first_samples", Value::Choice("extrapolate")),
                ("slow_start_gradient", Value::Choice("average")),
                ("noise", Value::Span(Span::from_micros(32))),
                ("hold", Value::Auto),
                ("shadow", Value::Choice("keep")),
                ("tolerance", Value::Boolean(false)),
                ("repairs", Value::Choice("left-out")),
                ("first_round", Value::Choice("handshake")),
                ("hystart", Value::Choice("both")),
                ("tick", Value::Span(Span::from_micros(1))),
                ("arithmetic", Value::Choice("whole")),
            ],
        },
        Preset {
            name: "scavenger",
            summary: "Linux tcp_cdg as its authors advise for background traffic: without its heuristics for coexistence",
            values: &[
                ("backoff", Value::Number(724.0 / 1024.0)),
                ("scale", Value::Span(Span::from_nanos(2_976_190))),
                ("first_samples", Value::Choice("extrapolate")),
                ("slow_start_gradient", Value::Choice("average")),
                ("noise", Value::Span(Span::from_micros(32))),
                ("ineffective", Value::Auto),
                ("hold", Value::Auto),
                ("shadow", Value::Choice("off")),
                ("tolerance", Value::Boolean(false)),
                ("repairs", Value::Choice("left-out")),
                ("first_round", Value::Choice("handshake")),
                ("hystart", Value::Choice("both")),
                ("tick", Value::Span(Span::from_micros(1))),
                ("arithmetic", Value::Choice("whole")),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form { name: "cdg", module: "tcp_cdg", ..Form::PLAIN }]),
    ..Descriptor::PLAIN
};
