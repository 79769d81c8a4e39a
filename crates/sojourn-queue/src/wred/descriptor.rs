//! What WRED is and what can be set.

use crate::red::descriptor::{TC_BANDWIDTH, of_red as red};
use sojourn_core::Amount;
use sojourn_core::registry::{Descriptor, Kind, Linux, Parameter, Preset, Value};

const fn threshold(name: &'static str, packets: f64, description: &'static str) -> Parameter {
    let kind = Kind::Amount { min_packets: 0.0, whole: false };
    Parameter { name, kind, default: Value::Amount(Amount::Packets(packets)), description }
}

const fn max_p(name: &'static str, probability: f64, description: &'static str) -> Parameter {
    Parameter { name, kind: Kind::Number { min: 1e-6, max: 1.0 }, default: Value::Number(probability), description }
}

/// Thresholds are those of the example scripts of ns-2's diffserv module.
const PARAMETERS: &[Parameter] = &[
    red("limit"),
    Parameter {
        name: "limit_of",
        kind: Kind::Choice(&["queue", "precedence"]),
        default: Value::Choice("queue"),
        description: "what the limit is for: all that waits, or the packets of each precedence, so that up to three times the limit may wait (Linux with grio)",
    },
    Parameter {
        name: "full_is_sampled",
        kind: Kind::Boolean,
        default: Value::Boolean(true),
        description: "whether an arrival that finds no room enters the average and counts (Linux), or is dropped before anything else happens (ns-2)",
    },
    Parameter {
        name: "others",
        kind: Kind::Choice(&["green", "yellow", "red"]),
        default: Value::Choice("green"),
        description: "precedence of packets whose DSCP names none: AFx1 is green, AFx2 yellow, AFx3, LE and CS1 are red (the default DP of gred)",
    },
    Parameter {
        name: "average",
        kind: Kind::Choice(&["shared", "own", "better", "sum"]),
        default: Value::Choice("shared"),
        description: "what a precedence compares with its thresholds: the average of the whole queue (WRED), of its own packets (ns-2 RIO-D, gred), of its own and all better ones (RIO, ns-2 RIO-C), or the sum of its own average and those of the better ones that have packets (gred with grio)",
    },
    red("unit"),
    red("mean_packet"),
    threshold("min_green", 20.0, "average at which green packets begin to be dropped"),
    threshold("max_green", 40.0, "average at which the drop probability of green packets reaches max_p_green"),
    max_p("max_p_green", 0.02, "drop probability of green packets as the average reaches max_green"),
    threshold("min_yellow", 10.0, "average at which yellow packets begin to be dropped"),
    threshold("max_yellow", 20.0, "average at which the drop probability of yellow packets reaches max_p_yellow"),
    max_p("max_p_yellow", 0.1, "drop probability of yellow packets as the average reaches max_yellow"),
    threshold("min_red", 5.0, "average at which red packets begin to be dropped"),
    threshold("max_red", 10.0, "average at which the drop probability of red packets reaches max_p_red"),
    max_p("max_p_red", 0.2, "drop probability of red packets as the average reaches max_red"),
    red("weight"),
    red("auto_weight"),
    red("burst"),
    red("arithmetic"),
    Parameter { default: Value::Boolean(false), ..red("gentle") },
    red("spread"),
    red("ageing"),
    red("bandwidth"),
    red("ecn"),
    red("harddrop"),
];

/// What `wred` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "wred",
    summary: "RED with three drop precedences by DSCP: each has thresholds of its own in one first-in first-out queue",
    sources: &[
        "Clark and Fang 1998, Explicit Allocation of Best-Effort Packet Delivery Service",
        "RFC 2597",
        "RFC 8622",
        "Linux net/sched/sch_gred.c",
        "iproute2 tc/q_gred.c and its example afcbq",
        "ns-2.35 diffserv/dsredq.cc",
    ],
    parameters: PARAMETERS,
    presets: &[
        Preset {
            name: "ns2",
            summary: "ns-2.35's diffserv RED in its mode RIO-C, with the thresholds of its example scripts and a weight of 0.002",
            values: &[
                ("limit", Value::Amount(Amount::Packets(50.0))),
                ("full_is_sampled", Value::Boolean(false)),
                ("average", Value::Choice("better")),
                ("weight", Value::Number(0.002)),
            ],
        },
        Preset {
            name: "linux",
            summary: "sch_gred with grio, set up as in iproute2's example afcbq: one pair of thresholds, 15 and 45 KiB, for all precedences, which differ in probability and in whose packets count. As there, a limit of 60 KiB for each precedence",
            values: &[
                ("limit", Value::Amount(Amount::Bytes(61_440.0))),
                ("limit_of", Value::Choice("precedence")),
                ("average", Value::Choice("sum")),
                ("unit", Value::Choice("bytes")),
                ("mean_packet", Value::Integer(1000)),
                ("min_green", Value::Amount(Amount::Bytes(15_360.0))),
                ("max_green", Value::Amount(Amount::Bytes(46_080.0))),
                ("max_p_green", Value::Number(0.02)),
                ("min_yellow", Value::Amount(Amount::Bytes(15_360.0))),
                ("max_yellow", Value::Amount(Amount::Bytes(46_080.0))),
                ("max_p_yellow", Value::Number(0.04)),
                ("min_red", Value::Amount(Amount::Bytes(15_360.0))),
                ("max_red", Value::Amount(Amount::Bytes(46_080.0))),
                ("max_p_red", Value::Number(0.06)),
                ("auto_weight", Value::Choice("burst")),
                ("burst", Value::Integer(20)),
                ("spread", Value::Choice("threshold")),
                ("ageing", Value::Choice("table")),
                ("bandwidth", Value::Rate(TC_BANDWIDTH)),
            ],
        },
        Preset {
            name: "cisco",
            summary: "Cisco IOS, DSCP-based: minima of 32, 28 and 24 packets, maxima of 40, one in ten, a weight of 2^-9. There default traffic begins at 20 packets, the first to be dropped; here it is red. How IOS spreads drops and ages its average is not published",
            values: &[
                ("others", Value::Choice("red")),
                ("min_green", Value::Amount(Amount::Packets(32.0))),
                ("max_green", Value::Amount(Amount::Packets(40.0))),
                ("max_p_green", Value::Number(0.1)),
                ("min_yellow", Value::Amount(Amount::Packets(28.0))),
                ("max_yellow", Value::Amount(Amount::Packets(40.0))),
                ("max_p_yellow", Value::Number(0.1)),
                ("min_red", Value::Amount(Amount::Packets(24.0))),
                ("max_red", Value::Amount(Amount::Packets(40.0))),
                ("max_p_red", Value::Number(0.1)),
                ("weight", Value::Number(1.0 / 512.0)),
            ],
        },
    ],
    linux: Linux::Absent(
        "gred takes a packet's precedence from a mark that only dsmark could set, which the testbed does not build",
    ),
    ..Descriptor::PLAIN
};
