//! What TCP-LP is and what can be set.

use crate::{newreno, reno};
use sojourn_core::Span;
use sojourn_core::registry::{Descriptor, Form, Kind, Linux, Parameter, Preset, Value, joined};

/// What the module does, wherever it runs.
const MODULE: &[(&str, Value)] = &[
    ("indicates_from", Value::Choice("start")),
    ("once_per_rtt", Value::Boolean(false)),
    ("indicates", Value::Choice("reached")),
    ("extremes", Value::Choice("reset")),
    ("greatest", Value::Choice("second")),
    ("resume", Value::Choice("slow-start")),
    ("halve", Value::Choice("window")),
    ("tick", Value::Span(Span::from_millis(1))),
    ("registers", Value::Choice("32-bit")),
];

/// What the kernel adds: its timestamps, its arithmetic, the order of its steps.
const KERNEL: &[(&str, Value)] = &[
    ("delay_from", Value::Choice("echo")),
    ("remote_clock", Value::Choice("estimated")),
    ("clock_offset", Value::Auto),
    ("arithmetic", Value::Choice("whole")),
    ("indication", Value::Choice("grows-too")),
];

static LINUX: [(&str, Value); MODULE.len() + KERNEL.len()] = joined(&[MODULE, KERNEL]);

/// What `tcp_lp` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "tcp_lp",
    summary: "TCP Low Priority: Reno that takes growing one-way delay as early congestion, halves, watches, and stops at one segment",
    sources: &[
        "Kuzmanovic and Knightly, TCP-LP: A Distributed Algorithm for Low Priority Data Transfer, INFOCOM 2003",
        "Linux 6.1 net/ipv4/tcp_lp.c",
        "ns-3 src/internet/model/tcp-lp.cc",
    ],
    parameters: &[
        reno::ARITHMETIC,
        Parameter {
            name: "threshold",
            kind: Kind::Number { min: 0.01, max: 1.0 },
            default: Value::Number(0.15),
            description: "part of the range from least to greatest one-way delay, in hundredths, beyond which the smoothed delay indicates congestion (delta)",
        },
        Parameter {
            name: "smoothing",
            kind: Kind::Integer { min: 1, max: 1024 },
            default: Value::Integer(8),
            description: "samples over which one-way delay is smoothed: a new one weighs 1/smoothing (gamma = 1/8)",
        },
        Parameter {
            name: "inference",
            kind: Kind::Number { min: 0.0, max: 1000.0 },
            default: Value::Number(3.0),
            description: "round trips after an indication during which the window does not grow and another indication leaves one segment (inference phase)",
        },
        Parameter {
            name: "indicates_from",
            kind: Kind::Choice(&["first-loss", "start"]),
            default: Value::Choice("first-loss"),
            description: "since when indications count: slow start learns the range of delays until the first loss (paper), or from the first sample on (modules)",
        },
        Parameter {
            name: "once_per_rtt",
            kind: Kind::Boolean,
            default: Value::Boolean(true),
            description: "whether indications within a round trip after a reaction, or after a loss, are ignored (paper); modules react to each",
        },
        Parameter {
            name: "indicates",
            kind: Kind::Choice(&["above", "reached"]),
            default: Value::Choice("above"),
            description: "whether the smoothed delay must exceed the threshold or reach it (Linux)",
        },
        Parameter {
            name: "extremes",
            kind: Kind::Choice(&["keep", "reset"]),
            default: Value::Choice("keep"),
            description: "what an indication does to least and greatest delay: nothing (paper), or they become the smoothed delay and twice that (modules)",
        },
        Parameter {
            name: "greatest",
            kind: Kind::Choice(&["highest", "second"]),
            default: Value::Choice("highest"),
            description: "the greatest delay: the highest seen (paper), or the highest but one (modules)",
        },
        Parameter {
            name: "indication",
            kind: Kind::Choice(&["cuts", "grows-too"]),
            default: Value::Choice("cuts"),
            description: "whether the acknowledgement with which the inference phase begins only lowers the window, or then opens it like any other (Linux)",
        },
        Parameter {
            name: "resume",
            kind: Kind::Choice(&["avoidance", "slow-start"]),
            default: Value::Choice("avoidance"),
            description: "how a window grows after an indication: by one segment per round trip (paper), or as the slow-start threshold says, which modules leave where it was",
        },
        Parameter {
            name: "inference_holds",
            kind: Kind::Choice(&["growth", "avoidance"]),
            default: Value::Choice("growth"),
            description: "what the inference phase stops: all growth, or only congestion avoidance and not slow start (ns-3)",
        },
        newreno::HALVE,
        Parameter {
            name: "delay_from",
            kind: Kind::Choice(&["segment", "echo"]),
            default: Value::Choice("segment"),
            description: "what one-way delay counts from: when the segment that was acknowledged was sent, or the time that the acknowledgement echoes (RFC 7323), which stays that of the last segment before a hole until the hole is filled (modules)",
        },
        Parameter {
            name: "tick",
            kind: Kind::Span { min: Span::from_nanos(1), max: Span::from_secs(1) },
            default: Value::Span(Span::from_nanos(1)),
            description: "granularity of the timestamps whose difference is the one-way delay; modules have 1 ms",
        },
        Parameter {
            name: "remote_clock",
            kind: Kind::Choice(&["known", "estimated"]),
            default: Value::Choice("known"),
            description: "whether the rate of the receiver's timestamps is known, or estimated from every two acknowledgements as in Linux, where it errs when they are about a tick apart",
        },
        Parameter {
            name: "clock_offset",
            kind: Kind::OrAuto(&Kind::Span { min: Span::ZERO, max: Span::from_secs(4_294_967) }),
            default: Value::Span(Span::ZERO),
            description: "time by which the receiver's timestamps are ahead; auto is any 32-bit number of ticks at random, as Linux gives every connection since 4.10",
        },
        Parameter {
            name: "registers",
            kind: Kind::Choice(&["wide", "32-bit"]),
            default: Value::Choice("wide"),
            description: "whether sums of delays are exact, or wrap in unsigned 32-bit registers as in modules",
        },
    ],
    presets: &[
        Preset { name: "paper", summary: "Kuzmanovic and Knightly", values: &[] },
        Preset {
            name: "linux",
            summary: "Linux tcp_lp: milliseconds with a random offset in 32 bits, extremes reset by every indication",
            values: &LINUX,
        },
        Preset {
            name: "ns2",
            summary: "ns-2.35 Agent/TCP/Linux with the module of Linux 2.6.22: both ends read one clock, and no duplicate acknowledgement, which would echo an old time, reaches the module",
            values: MODULE,
        },
        Preset {
            name: "ns3",
            summary: "ns-3 TcpLp: as Linux, but with one clock, an indication only above the threshold, and slow start during inference",
            values: &[
                ("indicates_from", Value::Choice("start")),
                ("once_per_rtt", Value::Boolean(false)),
                ("extremes", Value::Choice("reset")),
                ("greatest", Value::Choice("second")),
                ("resume", Value::Choice("slow-start")),
                ("inference_holds", Value::Choice("avoidance")),
                ("halve", Value::Choice("pipe")),
                ("delay_from", Value::Choice("echo")),
                ("tick", Value::Span(Span::from_millis(1))),
                ("registers", Value::Choice("32-bit")),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form { name: "lp", module: "tcp_lp", ..Form::PLAIN }]),
    low_priority: true,
    ..Descriptor::PLAIN
};
