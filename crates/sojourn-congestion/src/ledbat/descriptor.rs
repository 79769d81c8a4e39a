//! What LEDBAT is and what can be set.

use sojourn_core::Span;
use sojourn_core::registry::{Descriptor, Kind, Linux, Parameter, Preset, Value};

/// What `ledbat` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "ledbat",
    summary: "low extra delay background transport: keeps the queueing delay it sees at a target and yields to other traffic",
    sources: &[
        "RFC 6817",
        "draft-shalunov-ledbat-congestion-00",
        "TCP-LEDBAT src/tcp_ledbat.c, S. Valenti's module for Linux and for TCP-Linux in ns-2",
        "ns-3 src/internet/model/tcp-ledbat.cc",
    ],
    parameters: &[
        Parameter {
            name: "target",
            kind: Kind::Span { min: Span::from_micros(100), max: Span::from_secs(10) },
            default: Value::Span(Span::from_millis(100)),
            description: "queueing delay aimed at (TARGET); the RFC allows at most 100 ms",
        },
        Parameter {
            name: "target_part",
            kind: Kind::OrAuto(&Kind::Number { min: 0.01, max: 1.0 }),
            default: Value::Auto,
            description: "part of the delay at losses and marks that is aimed at where it is less than target; auto is target alone, as in the RFC",
        },
        Parameter {
            name: "gain",
            kind: Kind::Number { min: 1e-6, max: 100.0 },
            default: Value::Number(1.0),
            description: "segments by which the window grows in a round trip without queueing delay (GAIN); the RFC allows at most 1, the growth of TCP",
        },
        Parameter {
            name: "decrease_gain",
            kind: Kind::OrAuto(&Kind::Number { min: 1e-6, max: 1000.0 }),
            default: Value::Auto,
            description: "the gain above the target, which the RFC allows to be higher; auto is gain",
        },
        Parameter {
            name: "allowed_increase",
            kind: Kind::OrAuto(&Kind::Number { min: 1e-6, max: 1e6 }),
            default: Value::Number(1.0),
            description: "segments by which the window may exceed what was in flight (ALLOWED_INCREASE); auto is no such bound, as in modules of TCP, which only ask that the window limited sending",
        },
        Parameter {
            name: "initial_window",
            kind: Kind::OrAuto(&Kind::Number { min: 1.0, max: 1e6 }),
            default: Value::Number(2.0),
            description: "first window in segments (INIT_CWND), but no larger than the transport's; auto is the transport's",
        },
        Parameter {
            name: "min_window",
            kind: Kind::Number { min: 1.0, max: 1e6 },
            default: Value::Number(2.0),
            description: "smallest window in segments (MIN_CWND), except after a timeout, which leaves 1",
        },
        Parameter {
            name: "arithmetic",
            kind: Kind::Choice(&["fractions", "whole"]),
            default: Value::Choice("fractions"),
            description: "whether the window moves in fractions of a segment, or in whole ones by a counter that a decrease sets to one acknowledgement below its top (modules of Linux and ns-2)",
        },
        Parameter {
            name: "count",
            kind: Kind::Choice(&["segments", "acks"]),
            default: Value::Choice("segments"),
            description: "what a step of the window is weighted with: the acknowledged segments, or one for each acknowledgement (the RFC allows both)",
        },
        Parameter {
            name: "max_decrease",
            kind: Kind::OrAuto(&Kind::Number { min: 1e-6, max: 1e6 }),
            default: Value::Auto,
            description: "most segments by which one acknowledgement may shrink the window; auto is no bound. Whole arithmetic never takes more than 1",
        },
        Parameter {
            name: "slow_start",
            kind: Kind::Choice(&["off", "until-loss", "until-delay"]),
            default: Value::Choice("off"),
            description: "whether a flow begins with slow start (RFC 5681), and whether queueing delay ends it as loss does; the RFC leaves slow start to the implementation",
        },
        Parameter {
            name: "slow_start_exit",
            kind: Kind::Number { min: 0.01, max: 10.0 },
            default: Value::Number(0.9),
            description: "part of target at which until-delay ends slow start (libutp: 0.9)",
        },
        Parameter {
            name: "base_history",
            kind: Kind::Integer { min: 1, max: 1000 },
            default: Value::Integer(10),
            description: "minima kept for the base delay (BASE_HISTORY)",
        },
        Parameter {
            name: "base_period",
            kind: Kind::Span { min: Span::from_millis(1), max: Span::from_secs(86_400) },
            default: Value::Span(Span::from_secs(60)),
            description: "time over which each of those minima is taken",
        },
        Parameter {
            name: "base_rollover",
            kind: Kind::Choice(&["clock", "elapsed"]),
            default: Value::Choice("clock"),
            description: "when a new period begins: at each full period of the clock (RFC), or at the first sample more than a period after the last beginning (modules)",
        },
        Parameter {
            name: "silent_periods",
            kind: Kind::Choice(&["skip", "forget"]),
            default: Value::Choice("skip"),
            description: "what periods without a sample do: nothing, as in the RFC's pseudocode, or push out a minimum each",
        },
        Parameter {
            name: "filter",
            kind: Kind::Integer { min: 1, max: 1000 },
            default: Value::Integer(4),
            description: "last samples whose minimum is the current delay (CURRENT_FILTER); 1 is no filter",
        },
        Parameter {
            name: "filter_within_rtt",
            kind: Kind::Boolean,
            default: Value::Boolean(true),
            description: "whether samples older than a round trip leave the filter (RFC); modules keep them",
        },
        Parameter {
            name: "tick",
            kind: Kind::Span { min: Span::from_nanos(1), max: Span::from_secs(1) },
            default: Value::Span(Span::from_nanos(1)),
            description: "granularity of delay samples, which are rounded down to it",
        },
        Parameter {
            name: "silence_restarts",
            kind: Kind::Boolean,
            default: Value::Boolean(false),
            description: "whether the window is 1 after more than a smoothed round trip without acknowledgement",
        },
    ],
    presets: &[
        Preset { name: "rfc", summary: "RFC 6817", values: &[] },
        Preset {
            name: "dynamic",
            summary: "RFC 6817 with a target that follows the queue: a quarter of the delay at losses. Sojourn's own",
            values: &[("target_part", Value::Number(0.25))],
        },
        Preset {
            name: "ns2",
            summary: "Valenti's module before 2012, with a target of 100 ms: whole segments, floor 1, no slow start",
            values: &[
                ("allowed_increase", Value::Auto),
                ("initial_window", Value::Auto),
                ("min_window", Value::Number(1.0)),
                ("arithmetic", Value::Choice("whole")),
                ("count", Value::Choice("acks")),
                ("base_history", Value::Integer(6)),
                ("base_rollover", Value::Choice("elapsed")),
                ("filter", Value::Integer(3)),
                ("filter_within_rtt", Value::Boolean(false)),
                ("tick", Value::Span(Span::from_millis(1))),
            ],
        },
        Preset {
            name: "linux",
            summary: "Valenti's module since 2012: longer memory, and window 1 after a silent round trip",
            values: &[
                ("allowed_increase", Value::Auto),
                ("initial_window", Value::Auto),
                ("min_window", Value::Number(1.0)),
                ("arithmetic", Value::Choice("whole")),
                ("count", Value::Choice("acks")),
                ("base_rollover", Value::Choice("elapsed")),
                ("filter_within_rtt", Value::Boolean(false)),
                ("tick", Value::Span(Span::from_millis(1))),
                ("silence_restarts", Value::Boolean(true)),
            ],
        },
        Preset {
            name: "ns3",
            summary: "ns-3 TcpLedbat: slow start until a loss, 9 minima and 3 samples for the 10 and 4 it is told",
            values: &[
                ("initial_window", Value::Auto),
                ("slow_start", Value::Choice("until-loss")),
                ("base_history", Value::Integer(9)),
                ("base_rollover", Value::Choice("elapsed")),
                ("filter", Value::Integer(3)),
                ("filter_within_rtt", Value::Boolean(false)),
                ("tick", Value::Span(Span::from_millis(1))),
            ],
        },
    ],
    linux: Linux::Absent("Linux has no LEDBAT"),
    low_priority: true,
    ..Descriptor::PLAIN
};
