//! What can be set of Prague.

use sojourn_core::registry::{Descriptor, Kind, Linux, Parameter, Preset, Value};
use sojourn_core::{Rate, Span};

/// What `prague` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "prague",
    summary: "DCTCP for the Internet: ECT(1), little dependence on the round-trip time, paced fractional windows; for L4S queues",
    sources: &[
        "draft-briscoe-iccrg-prague-congestion-control-04, through implementations of it",
        "RFC 9331",
        "L4STeam Linux net/ipv4/tcp_prague.c 0.7",
        "Chromium quiche prague_sender.cc",
    ],
    parameters: &[
        Parameter {
            name: "gain",
            kind: Kind::Number { min: 1.0 / 1024.0, max: 1.0 },
            default: Value::Number(1.0 / 16.0),
            description: "weight of the last round's marked part in alpha (g)",
        },
        Parameter {
            name: "first_mark",
            kind: Kind::Choice(&["alpha", "halves"]),
            default: Value::Choice("alpha"),
            description: "what a flow's first mark does: sets alpha to 1, or halves the window and leaves alpha to grow from 0",
        },
        Parameter {
            name: "virtual_rtt",
            kind: Kind::Span { min: Span::ZERO, max: Span::from_millis(100) },
            default: Value::Span(Span::from_millis(25)),
            description: "round-trip time that flows with a shorter one behave as if they had (RTT_VIRT_MIN); 0 s is none",
        },
        Parameter {
            name: "transition",
            kind: Kind::Integer { min: 0, max: 1_000_000 },
            default: Value::Integer(500),
            description: "rounds outside slow start after which the virtual round trip counts",
        },
        Parameter {
            name: "spacing",
            kind: Kind::Choice(&["time", "rounds"]),
            default: Value::Choice("time"),
            description: "how far apart reductions are at least: a virtual round trip, or as many whole round trips as last that long (the module hears of marks once per round trip)",
        },
        Parameter {
            name: "loss_credit",
            kind: Kind::Boolean,
            default: Value::Boolean(true),
            description: "whether a loss within a (virtual) round trip of a mark first gives back what the mark took",
        },
        Parameter {
            name: "min_rate",
            kind: Kind::OrAuto(&Kind::Rate),
            default: Value::Auto,
            description: "payload rate down to which the window's fractions, and pacing with them, may fall below two segments; auto keeps two",
        },
    ],
    presets: &[
        Preset { name: "draft", summary: "draft 04, as Chromium has it with Reno's increase", values: &[] },
        Preset {
            name: "linux",
            summary: "the L4S team's Linux module 0.7: virtual round trip after 4 rounds, down to 100 kbit/s",
            values: &[
                ("first_mark", Value::Choice("halves")),
                ("transition", Value::Integer(4)),
                ("spacing", Value::Choice("rounds")),
                ("loss_credit", Value::Boolean(false)),
                ("min_rate", Value::Rate(MIN_RATE)),
            ],
        },
    ],
    linux: Linux::Absent("Prague lives in the L4S team's own kernel"),
    ..Descriptor::PLAIN
};

/// `MINIMUM_RATE` of the module.
const MIN_RATE: Rate = match Rate::from_bits_per_second(100_000) {
    Some(rate) => rate,
    None => unreachable!(),
};
