//! What Vegas is and what can be set.

use crate::reno;
use sojourn_core::registry::{Descriptor, Form, Kind, Linux, Parameter, Preset, Value};

/// What `vegas` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "vegas",
    summary: "delay-based best-effort TCP: keeps a few of its own segments in the queue",
    sources: &[
        "Brakmo and Peterson, TCP Vegas: End to End Congestion Avoidance on a Global Internet, JSAC 13(8), 1995",
        "Linux net/ipv4/tcp_vegas.c",
        "ns-2.35 tcp/tcp-vegas.cc and tcp/linux/src/tcp_vegas.c",
        "ns-3 src/internet/model/tcp-vegas.cc",
    ],
    parameters: &[
        reno::ARITHMETIC,
        Parameter {
            name: "alpha",
            kind: Kind::Number { min: 0.0, max: 1e6 },
            default: Value::Number(2.0),
            description: "queued segments below which the window grows by one per round trip",
        },
        Parameter {
            name: "beta",
            kind: Kind::Number { min: 0.0, max: 1e6 },
            default: Value::Number(4.0),
            description: "queued segments above which the window shrinks by one per round trip; at least alpha",
        },
        Parameter {
            name: "gamma",
            kind: Kind::Number { min: 0.0, max: 1e6 },
            default: Value::Number(1.0),
            description: "queued segments above which slow start ends",
        },
        Parameter {
            name: "backlog",
            kind: Kind::Choice(&["base", "rtt", "rtt-halves", "flight"]),
            default: Value::Choice("base"),
            description: "how queued segments are told from window w, round trip r and base b: w(r - b)/b rounded down (Linux); w less w b/r rounded down (ns-3), or down to halves (Linux 2.6.22); or (r - b)/r of what is in flight, to the nearest (ns-2)",
        },
        Parameter {
            name: "decides_on",
            kind: Kind::Choice(&["present", "round-before"]),
            default: Value::Choice("present"),
            description: "what a decision judges and moves: the present window, or what was there and in flight when the round trip before began, so that a window moves in every other round trip (Linux 2.6.22)",
        },
        Parameter {
            name: "round_rtt",
            kind: Kind::Choice(&["least", "mean"]),
            default: Value::Choice("least"),
            description: "the round-trip time of a round: its least sample, or the mean of all (ns-2)",
        },
        Parameter {
            name: "least_samples",
            kind: Kind::Integer { min: 1, max: 1000 },
            default: Value::Integer(3),
            description: "samples that a round needs for a decision; with fewer the acknowledgement that ends it counts as Reno's",
        },
        BASE_RTT,
        Parameter {
            name: "slow_start",
            kind: Kind::Choice(&["every-round", "every-other"]),
            default: Value::Choice("every-round"),
            description: "whether slow start doubles in every round trip, or holds still in every other to measure (ns-2 and the paper)",
        },
        Parameter {
            name: "slow_start_exit",
            kind: Kind::Choice(&["rate", "eighth"]),
            default: Value::Choice("rate"),
            description: "the window after slow start: what the measured rate fills without a queue, and one more; or an eighth less (ns-2)",
        },
        Parameter {
            name: "loss",
            kind: Kind::Choice(&["half", "three-quarters", "one-less"]),
            default: Value::Choice("half"),
            description: "what a loss leaves of the window: half (Linux), three quarters (ns-2), or the slow-start threshold but at least one less (ns-3)",
        },
    ],
    presets: &[
        Preset { name: "linux", summary: "Linux tcp_vegas", values: &[("arithmetic", Value::Choice("whole"))] },
        Preset {
            name: "linux-2.6.22",
            summary: "Linux 2.6.22 tcp_vegas, which ns-2.35's Agent/TCP/Linux runs: its window moves in every other round trip",
            values: &[("backlog", Value::Choice("rtt-halves")), ("decides_on", Value::Choice("round-before"))],
        },
        Preset {
            name: "ns2",
            summary: "ns-2.35 Agent/TCP/Vegas: 1 and 3 segments, mean round trips, slow start in every other",
            values: &[
                ("alpha", Value::Number(1.0)),
                ("beta", Value::Number(3.0)),
                ("backlog", Value::Choice("flight")),
                ("round_rtt", Value::Choice("mean")),
                ("least_samples", Value::Integer(1)),
                ("slow_start", Value::Choice("every-other")),
                ("slow_start_exit", Value::Choice("eighth")),
                ("loss", Value::Choice("three-quarters")),
                ("base_rtt", Value::Choice("connection")),
            ],
        },
        Preset {
            name: "ns3",
            summary: "ns-3 TcpVegas: queued segments after the paper, and hardly any answer to loss",
            values: &[
                ("backlog", Value::Choice("rtt")),
                ("loss", Value::Choice("one-less")),
                ("base_rtt", Value::Choice("connection")),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form { name: "vegas", module: "tcp_vegas", ..Form::PLAIN }]),
    ..Descriptor::PLAIN
};

/// Which round trips the base RTT is the least of.
pub(crate) const BASE_RTT: Parameter = Parameter {
    name: "base_rtt",
    kind: Kind::Choice(&["since-start", "connection"]),
    default: Value::Choice("since-start"),
    description: "the base RTT: the least since data was last sent with nothing in flight, so that a pause forgets the path (Linux), or the least of the connection (ns-2, ns-3)",
};
