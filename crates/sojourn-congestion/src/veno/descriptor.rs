//! What Veno is and what can be set.

use crate::reno;
use crate::vegas::BASE_RTT;
use sojourn_core::registry::{Descriptor, Form, Kind, Linux, Parameter, Preset, Value};

/// What `veno` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "veno",
    summary: "Reno for wireless links: a loss without a queue costs a fifth of the window instead of half",
    sources: &[
        "Fu and Liew, TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks, JSAC 21(2), 2003",
        "Linux net/ipv4/tcp_veno.c",
        "ns-3 src/internet/model/tcp-veno.cc",
    ],
    parameters: &[
        reno::ARITHMETIC,
        Parameter {
            name: "beta",
            kind: Kind::Number { min: 0.0, max: 1e6 },
            default: Value::Number(3.0),
            description: "queued segments from which the path counts as congested",
        },
        Parameter {
            name: "chance_leaves",
            kind: Kind::Number { min: 0.5, max: 1.0 },
            default: Value::Number(0.8),
            description: "part of the window that a loss leaves while the path is not congested",
        },
        Parameter {
            name: "grain",
            kind: Kind::Choice(&["half", "whole"]),
            default: Value::Choice("half"),
            description: "segments to whose multiple the queue is rounded up: half a one (Linux) or one (ns-3)",
        },
        Parameter {
            name: "growth",
            kind: Kind::Choice(&["by-queue", "reno"]),
            default: Value::Choice("by-queue"),
            description: "whether the window grows at half Reno's pace while the path is congested, or always as Reno's (ns-3)",
        },
        Parameter {
            name: "loss_of",
            kind: Kind::Choice(&["window", "flight"]),
            default: Value::Choice("window"),
            description: "what a loss leaves a part of: the congestion window (Linux) or the data in flight (ns-3)",
        },
        BASE_RTT,
    ],
    presets: &[
        Preset { name: "linux", summary: "Linux tcp_veno", values: &[("arithmetic", Value::Choice("whole"))] },
        Preset {
            name: "ns3",
            summary: "ns-3 TcpVeno, whose samples never suffice to grow more slowly",
            values: &[
                ("grain", Value::Choice("whole")),
                ("growth", Value::Choice("reno")),
                ("loss_of", Value::Choice("flight")),
                ("base_rtt", Value::Choice("connection")),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form { name: "veno", module: "tcp_veno", ..Form::PLAIN }]),
    ..Descriptor::PLAIN
};
