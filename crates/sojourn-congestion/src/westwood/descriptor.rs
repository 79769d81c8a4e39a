//! What Westwood+ is and what can be set.

use crate::newreno;
use crate::reno;
use sojourn_core::Span;
use sojourn_core::registry::{Descriptor, Form, Kind, Linux, Parameter, Preset, Value};

/// What `westwood` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "westwood",
    summary: "Westwood+: Reno that answers a loss with measured bandwidth times least RTT, made for lossy links",
    sources: &["Linux 6.1 net/ipv4/tcp_westwood.c", "ns-3.37 src/internet/model/tcp-westwood.cc"],
    parameters: &[
        newreno::SLOW_START_LIMIT,
        newreno::COUNT,
        reno::ARITHMETIC,
        Parameter {
            name: "sampling",
            kind: Kind::Choice(&["elapsed", "rtt"]),
            default: Value::Choice("elapsed"),
            description: "over what time segments are counted for a sample of bandwidth: until the first acknowledgement more than an RTT after the last sample (elapsed, Linux), or for one RTT from an acknowledgement on (rtt, ns-3)",
        },
        Parameter {
            name: "min_interval",
            kind: Kind::Span { min: Span::ZERO, max: Span::from_secs(10) },
            default: Value::Span(Span::from_millis(50)),
            description: "shortest time of a sample (TCP_WESTWOOD_RTT_MIN)",
        },
        Parameter {
            name: "filter",
            kind: Kind::Choice(&["none", "two-stage", "tustin"]),
            default: Value::Choice("two-stage"),
            description: "low-pass filter of the samples: two stages that keep 7/8 each, the first sample filling both (Linux), or 0.9 of the estimate and 0.1 of the mean of the last two samples, from zero on (tustin, ns-3)",
        },
        Parameter {
            name: "tick",
            kind: Kind::Span { min: Span::ZERO, max: Span::from_secs(1) },
            default: Value::Span(Span::ZERO),
            description: "the kernel's tick in which times are counted, with whole bytes per tick as bandwidth (10 ms in user-mode Linux); 0 s is exact",
        },
        Parameter {
            name: "apply",
            kind: Kind::Choice(&["at-loss", "after-repair"]),
            default: Value::Choice("after-repair"),
            description: "when the estimate sets threshold and window: the threshold at once, and the window no more than that until losses are repaired or a round trip after a mark, and then as much (ns-3); or both only then, until when they are half the window (Linux)",
        },
        Parameter {
            name: "least_rtt",
            kind: Kind::Choice(&["since-timeout", "ever"]),
            default: Value::Choice("since-timeout"),
            description: "least RTT since the last timeout, so that a longer path is learnt (Linux), or of the connection",
        },
    ],
    presets: &[
        Preset {
            name: "linux",
            summary: "Linux 6.1 westwood, with nanoseconds instead of jiffies where tick is 0 s",
            values: &[("slow_start_limit", Value::Auto), ("arithmetic", Value::Choice("whole"))],
        },
        Preset {
            name: "ns3",
            summary: "ns-3.37 TcpWestwood with ProtocolType WestwoodPlus, on NewReno's growth per acknowledgement",
            values: &[
                ("count", Value::Choice("acks")),
                ("sampling", Value::Choice("rtt")),
                ("min_interval", Value::Span(Span::ZERO)),
                ("filter", Value::Choice("tustin")),
                ("apply", Value::Choice("at-loss")),
                ("least_rtt", Value::Choice("ever")),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form { name: "westwood", module: "tcp_westwood", ..Form::PLAIN }]),
    ..Descriptor::PLAIN
};
