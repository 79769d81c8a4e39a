//! What BBR is and what can be set.

use sojourn_core::Span;
use sojourn_core::registry::{Descriptor, Form, Kind, Linux, Parameter, Preset, Value};

/// What `bbr` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "bbr",
    summary: "BBR version 1: paces at the largest delivery rate of ten round trips and keeps about two bandwidth-delay products in flight, whatever is lost or marked",
    sources: &["Linux net/ipv4/tcp_bbr.c", "ns-3 src/internet/model/tcp-bbr.cc"],
    parameters: &[
        Parameter {
            name: "startup_gain",
            kind: Kind::Number { min: 1.0, max: 10.0 },
            default: Value::Number(739.0 / 256.0),
            description: "pacing and window gain of startup (bbr_high_gain): 2/ln 2, least that doubles the rate per round trip",
        },
        Parameter {
            name: "drain_gain",
            kind: Kind::Number { min: 0.01, max: 1.0 },
            default: Value::Number(88.0 / 256.0),
            description: "pacing gain while the queue of startup drains (bbr_drain_gain), the inverse of startup_gain",
        },
        Parameter {
            name: "window_gain",
            kind: Kind::Number { min: 1.0, max: 10.0 },
            default: Value::Number(2.0),
            description: "bandwidth-delay products in flight at most in steady state (bbr_cwnd_gain)",
        },
        Parameter {
            name: "bandwidth_rounds",
            kind: Kind::Integer { min: 1, max: 1000 },
            default: Value::Integer(10),
            description: "round trips over which the largest delivery rate is the bandwidth (bbr_bw_rtts)",
        },
        Parameter {
            name: "min_rtt_window",
            kind: Kind::Span { min: Span::from_millis(100), max: Span::from_secs(3600) },
            default: Value::Span(Span::from_secs(10)),
            description: "how long a least round-trip time is trusted; then the flow empties the path (bbr_min_rtt_win_sec)",
        },
        Parameter {
            name: "min_rtt_renewal",
            kind: Kind::Choice(&["lower", "equal"]),
            default: Value::Choice("lower"),
            description: "which round-trip time renews that trust: only a lower one (Linux), or an equal one too (ns-3), which in a simulation without jitter puts emptying the path off",
        },
        Parameter {
            name: "probe_rtt_duration",
            kind: Kind::Span { min: Span::from_millis(1), max: Span::from_secs(10) },
            default: Value::Span(Span::from_millis(200)),
            description: "how long the path is kept empty, with at most 4 segments in flight (bbr_probe_rtt_mode_ms)",
        },
        Parameter {
            name: "tick",
            kind: Kind::Span { min: Span::ZERO, max: Span::from_millis(10) },
            default: Value::Span(Span::ZERO),
            description: "the kernel's tick in which both of these are counted (10 ms in user-mode Linux, 4 ms in Debian's own kernel, 1 ms in some); 0 s is exact",
        },
        Parameter {
            name: "pacing_margin",
            kind: Kind::Number { min: 0.0, max: 0.5 },
            default: Value::Number(0.01),
            description: "part by which pacing stays below the bandwidth (bbr_pacing_margin_percent)",
        },
        Parameter {
            name: "quantum",
            kind: Kind::OrAuto(&Kind::Integer { min: 1, max: 127 }),
            default: Value::Auto,
            description: "segments that a host hands over at once, three times of which the window has room for; auto is Linux's rule: what is paced in 1/1024 s, at least 2 from 1.2 Mbit/s on. Segments are sent one by one all the same",
        },
        Parameter {
            name: "policer",
            kind: Kind::Boolean,
            default: Value::Boolean(true),
            description: "look for a token-bucket policer (two intervals of like rate with a fifth lost) and keep to its rate for 48 round trips (lt_bw)",
        },
    ],
    presets: &[
        Preset {
            name: "linux",
            summary: "Linux 6 tcp_bbr; departure times count where the transport tells them (pacing_slack)",
            values: &[],
        },
        Preset {
            name: "ns3",
            summary: "ns-3 TcpBbr's constants; not its faults: it takes the initial window over 1 ms or one RTT for a first bandwidth, and measures aggregation in whole seconds",
            values: &[
                ("startup_gain", Value::Number(2.89)),
                ("drain_gain", Value::Number(1.0 / 2.89)),
                ("min_rtt_renewal", Value::Choice("equal")),
                ("quantum", Value::Integer(1)),
                ("policer", Value::Boolean(false)),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form { name: "bbr", module: "tcp_bbr", ..Form::PLAIN }]),
    ..Descriptor::PLAIN
};
