//! What CUBIC is and what can be set.

use crate::hystart;
use sojourn_core::Span;
use sojourn_core::registry::{Descriptor, Form, Kind, Linux, Parameter, Preset, Value};

/// What `cubic` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "cubic",
    summary: "window as a cubic function of the time since the last loss: best-effort TCP of today's systems",
    sources: &["RFC 9438", "RFC 9406", "Linux 6.1 net/ipv4/tcp_cubic.c", "ns-3.37 src/internet/model/tcp-cubic.cc"],
    parameters: &[
        Parameter {
            name: "scale",
            kind: Kind::Number { min: 1e-6, max: 1e3 },
            default: Value::Number(0.4),
            description: "steepness of the cubic function in segments/s^3 (C)",
        },
        Parameter {
            name: "beta",
            kind: Kind::Number { min: 0.1, max: 0.99 },
            default: Value::Number(0.7),
            description: "part of the window that a loss leaves (beta_cubic)",
        },
        Parameter {
            name: "abe",
            kind: Kind::OrAuto(&Kind::Number { min: 0.5, max: 0.99 }),
            default: Value::Auto,
            description: "part of the window that a congestion mark leaves (beta_ecn of RFC 8511: 0.85); auto is beta, as for a loss",
        },
        Parameter {
            name: "reduce",
            kind: Kind::Choice(&["flight", "window"]),
            default: Value::Choice("flight"),
            description: "what a loss reduces: the data in flight (section 4.6) or the congestion window",
        },
        Parameter {
            name: "fast_convergence",
            kind: Kind::Boolean,
            default: Value::Boolean(true),
            description: "aim lower when a loss came below the previous one's window, to make room for newcomers",
        },
        Parameter {
            name: "friendly",
            kind: Kind::Choice(&["off", "constant", "rising"]),
            default: Value::Choice("rising"),
            description: "be at least as fast as Reno: its estimate grows by alpha_cubic in a round trip (constant), and by 1 from the window before the loss on (rising)",
        },
        Parameter {
            name: "lookahead",
            kind: Kind::Choice(&["smoothed-rtt", "least-rtt"]),
            default: Value::Choice("smoothed-rtt"),
            description: "how far ahead the cubic function is read: a smoothed RTT, or the least RTT since the last timeout",
        },
        Parameter {
            name: "count",
            kind: Kind::Choice(&["segments", "acks"]),
            default: Value::Choice("acks"),
            description: "what moves the window towards the cubic function: every acknowledgement (section 4.4) or every segment it covers",
        },
        Parameter {
            name: "arithmetic",
            kind: Kind::Choice(&["fractions", "whole", "kernel"]),
            default: Value::Choice("fractions"),
            description: "whether the window moves in fractions of a segment, or in whole ones after so many acknowledged segments (cnt of Linux), with all quotients rounded down; kernel: the same with time in 1024ths of a second, a growth that is kept for 1/32 s while the window is the same, and no round-trip times in a stage's first second (Linux); whole and kernel always count segments",
        },
        Parameter {
            name: "tick",
            kind: Kind::Span { min: Span::ZERO, max: Span::from_millis(10) },
            default: Value::Span(Span::ZERO),
            description: "with arithmetic = kernel: the tick of the kernel's clock (10 ms in user-mode Linux, 4 ms in Debian's own kernel, 1 ms in some); 0 s is exact",
        },
        Parameter {
            name: "spare_credit",
            kind: Kind::Choice(&["dropped", "kept"]),
            default: Value::Choice("dropped"),
            description: "whole arithmetic: segments that were acknowledged towards a larger number than now holds make one step and are dropped, as at losses (Linux), or are kept, also over losses, and make a step with each acknowledgement (ns-3)",
        },
        Parameter {
            name: "first_growth",
            kind: Kind::OrAuto(&Kind::Integer { min: 2, max: 10_000 }),
            default: Value::Auto,
            description: "while no loss has shown a window to aim at: one segment more for at most so many acknowledged ones; auto is no such rule",
        },
        Parameter {
            name: "idle_time",
            kind: Kind::Choice(&["left-out", "gaps-left-out", "counts"]),
            default: Value::Choice("left-out"),
            description: "time in which the application limited sending: none of it enters the cubic function (left-out, RFC 9438 section 4.2); only that since the last segment was sent does not, where nothing is in flight any more (gaps-left-out, Linux since 4.3); all of it does (counts, ns-3)",
        },
        Parameter {
            name: "undo",
            kind: Kind::Choice(&["all", "window"]),
            default: Value::Choice("all"),
            description: "what comes back when a loss turns out to be none: window, threshold and the place on the cubic function (all, RFC 9438 section 4.9), or window and threshold (window, Linux)",
        },
        Parameter {
            name: "slow_start_limit",
            kind: Kind::OrAuto(&Kind::Integer { min: 1, max: 1_000_000 }),
            default: Value::Integer(8),
            description: "most segments by which one acknowledgement may open the window in slow start (L: 8 in RFC 9406, 1 in RFC 5681); auto is no limit",
        },
        hystart::ANY_PARAMETER,
    ],
    presets: &[
        Preset { name: "rfc", summary: "RFC 9438 with HyStart++", values: &[] },
        Preset {
            name: "abe",
            summary: "as rfc, with RFC 8511, alternative backoff with ECN: a mark leaves 0.85 of the window",
            values: &[("abe", Value::Number(0.85))],
        },
        Preset {
            name: "linux",
            summary: "Linux 6.1: whole segments, constant alpha, reduces the window; with nanoseconds instead of jiffies where tick is 0 s",
            values: &[
                ("scale", Value::Number(410.0 / 1024.0)),
                ("beta", Value::Number(717.0 / 1024.0)),
                ("reduce", Value::Choice("window")),
                ("friendly", Value::Choice("constant")),
                ("lookahead", Value::Choice("least-rtt")),
                ("count", Value::Choice("segments")),
                ("arithmetic", Value::Choice("kernel")),
                ("first_growth", Value::Integer(20)),
                ("idle_time", Value::Choice("gaps-left-out")),
                ("undo", Value::Choice("window")),
                ("slow_start_limit", Value::Auto),
                ("hystart", Value::Choice("linux")),
            ],
        },
        Preset {
            name: "ns3",
            summary: "ns-3.37 TcpCubic: as Linux, but with exact constants, without Reno's estimate, and with credit from the plateau that later opens the window by up to a segment per acknowledgement",
            values: &[
                ("reduce", Value::Choice("window")),
                ("friendly", Value::Choice("off")),
                ("lookahead", Value::Choice("least-rtt")),
                ("count", Value::Choice("segments")),
                ("arithmetic", Value::Choice("whole")),
                ("spare_credit", Value::Choice("kept")),
                ("first_growth", Value::Integer(20)),
                ("idle_time", Value::Choice("counts")),
                ("undo", Value::Choice("window")),
                ("slow_start_limit", Value::Auto),
                ("hystart", Value::Choice("ns3")),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form { name: "cubic", module: "tcp_cubic", ..Form::PLAIN }]),
    ..Descriptor::PLAIN
};
