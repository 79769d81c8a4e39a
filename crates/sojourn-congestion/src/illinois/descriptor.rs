//! What TCP Illinois is and what can be set.

use crate::reno;
use sojourn_core::registry::{Descriptor, Form, Kind, Linux, Parameter, Preset, Value};

/// A part of the largest queueing delay.
const PART: Kind = Kind::Number { min: 0.0, max: 1.0 };

/// What `illinois` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "illinois",
    summary: "best-effort TCP for fast long paths: loss says when, delay says by how much the window grows and shrinks",
    sources: &[
        "Liu, Basar and Srikant, TCP-Illinois: A Loss and Delay-Based Congestion Control Algorithm for High-Speed Networks, 2006",
        "Linux net/ipv4/tcp_illinois.c",
        "ns-3 src/internet/model/tcp-illinois.cc",
    ],
    parameters: &[
        reno::ARITHMETIC,
        Parameter {
            name: "alpha_min",
            kind: Kind::Number { min: 1e-6, max: 1e6 },
            default: Value::Number(0.3),
            description: "segments by which the window grows in a round trip at the largest delay; at most alpha_max",
        },
        Parameter {
            name: "alpha_max",
            kind: Kind::Number { min: 1e-6, max: 1e6 },
            default: Value::Number(10.0),
            description: "the same without delay",
        },
        Parameter {
            name: "beta_min",
            kind: PART,
            default: Value::Number(0.125),
            description: "part of the window that a loss takes at little delay; at most beta_max",
        },
        Parameter { name: "beta_max", kind: PART, default: Value::Number(0.5), description: "the same at much delay" },
        Parameter {
            name: "alpha_delay",
            kind: Kind::Number { min: 0.0, max: 0.99 },
            default: Value::Number(0.01),
            description: "part of the largest queueing delay up to which alpha is alpha_max (eta1)",
        },
        Parameter {
            name: "beta_delay_min",
            kind: PART,
            default: Value::Number(0.1),
            description: "part of the largest queueing delay up to which beta is beta_min (eta2); at most beta_delay_max",
        },
        Parameter {
            name: "beta_delay_max",
            kind: PART,
            default: Value::Number(0.8),
            description: "part of the largest queueing delay from which beta is beta_max (eta3)",
        },
        Parameter {
            name: "theta",
            kind: Kind::Integer { min: 1, max: 1_000_000 },
            default: Value::Integer(5),
            description: "round trips of little delay before alpha is alpha_max again",
        },
        Parameter {
            name: "window_threshold",
            kind: Kind::Number { min: 0.0, max: 1e6 },
            default: Value::Number(15.0),
            description: "segments below which the window grows and shrinks as Reno's (W_thresh)",
        },
        Parameter {
            name: "loss_of",
            kind: Kind::Choice(&["window", "flight"]),
            default: Value::Choice("window"),
            description: "what a loss takes a part of: the congestion window (Linux) or the data in flight (ns-3)",
        },
    ],
    presets: &[
        Preset { name: "linux", summary: "Linux tcp_illinois", values: &[("arithmetic", Value::Choice("whole"))] },
        Preset {
            name: "ns3",
            summary: "ns-3 TcpIllinois: follows the delay with the smallest windows too",
            values: &[("window_threshold", Value::Number(0.0)), ("loss_of", Value::Choice("flight"))],
        },
    ],
    linux: Linux::Kernel(&[Form { name: "illinois", module: "tcp_illinois", ..Form::PLAIN }]),
    ..Descriptor::PLAIN
};
