//! What WRED is and what can be set.

use crate::red::descriptor::{Ageing, AutoWeight, Measure, Rule, TC_BANDWIDTH, of_red as red};
use sojourn_core::registry::declare::{amount, choice, flag, number};
use sojourn_core::registry::{Descriptor, Linux, Parameter, Preset, Value, joined};
use sojourn_core::{Amount, choices, parameters};

choices! {
    /// What a limit is for.
    pub(super) enum LimitOf { Queue = "queue", Precedence = "precedence" }
    /// A precedence, from the best.
    pub(super) enum Colour { Green = "green", Yellow = "yellow", Red = "red" }
    /// What the average of a precedence counts.
    pub(super) enum Scope {
        /// All packets, in one average.
        Shared = "shared",
        /// Its own.
        Own = "own",
        /// Its own and those of all better precedences.
        Better = "better",
        /// Its own, but it is compared together with the averages of better precedences.
        Sum = "sum",
    }
}

parameters! {
    /// What RED has not, but for the thresholds.
    pub(super) struct Own {
        /// what the limit is for: all that waits, or the packets of each precedence, so that up to three times the limit may
        /// wait (Linux with grio)
        limit_of: LimitOf = choice(LimitOf::Queue.value()),
        /// whether an arrival that finds no room enters the average and counts (Linux), or is dropped before anything else
        /// happens (ns-2)
        full_is_sampled: bool = flag(true),
        /// precedence of packets whose DSCP names none: AFx1 is green, AFx2 yellow, AFx3, LE and CS1 are red (the default DP of
        /// gred)
        others: Colour = choice(Colour::Green.value()),
        /// what a precedence compares with its thresholds: the average of the whole queue (WRED), of its own packets (ns-2
        /// RIO-D, gred), of its own and all better ones (RIO, ns-2 RIO-C), or the sum of its own average and those of the
        /// better ones that have packets (gred with grio)
        average: Scope = choice(Scope::Shared.value()),
    }
}

const fn threshold(name: &'static str, packets: f64, description: &'static str) -> Parameter {
    amount(Amount::Packets(packets), 0.0, false).described(description).parameter(name)
}

const fn max_p(name: &'static str, probability: f64, description: &'static str) -> Parameter {
    number(probability, 1e-6..=1.0).described(description).parameter(name)
}

/// Of RED what is as there, and thresholds, which are those of the example scripts of ns-2's diffserv module.
const OF_RED: [Parameter; 21] = [
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

static PARAMETERS: [Parameter; 1 + Own::LIST.len() + OF_RED.len()] = joined(&[&[red("limit")], &Own::LIST, &OF_RED]);

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
    parameters: &PARAMETERS,
    presets: &[
        Preset {
            name: "ns2",
            summary: "ns-2.35's diffserv RED in its mode RIO-C, with the thresholds of its example scripts and a weight of 0.002",
            values: &[
                ("limit", Value::Amount(Amount::Packets(50.0))),
                ("full_is_sampled", Value::Boolean(false)),
                ("average", Scope::Better.value()),
                ("weight", Value::Number(0.002)),
            ],
        },
        Preset {
            name: "linux",
            summary: "sch_gred with grio, set up as in iproute2's example afcbq: one pair of thresholds, 15 and 45 KiB, for all precedences, which differ in probability and in whose packets count. As there, a limit of 60 KiB for each precedence",
            values: &[
                ("limit", Value::Amount(Amount::Bytes(61_440.0))),
                ("limit_of", LimitOf::Precedence.value()),
                ("average", Scope::Sum.value()),
                ("unit", Measure::Bytes.value()),
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
                ("auto_weight", AutoWeight::Burst.value()),
                ("burst", Value::Integer(20)),
                ("spread", Rule::Threshold.value()),
                ("ageing", Ageing::Table.value()),
                ("bandwidth", Value::Rate(TC_BANDWIDTH)),
            ],
        },
        Preset {
            name: "cisco",
            summary: "Cisco IOS, DSCP-based: minima of 32, 28 and 24 packets, maxima of 40, one in ten, a weight of 2^-9. There default traffic begins at 20 packets, the first to be dropped; here it is red. How IOS spreads drops and ages its average is not published",
            values: &[
                ("others", Colour::Red.value()),
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
