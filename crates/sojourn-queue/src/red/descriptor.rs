//! What RED is and what can be set.

use crate::fifo::limit;
use sojourn_core::registry::{Auto, Descriptor, Form, Kind, Linux, Parameter, Preset, Setting, Unit, Value};
use sojourn_core::{Amount, Rate, Span};

/// `tc red` and its kin assume this rate where none is given.
pub(crate) const TC_BANDWIDTH: Rate = Rate::from_bits_per_second(10_000_000).expect("not zero");

/// `ns3::RedQueueDisc::LinkBandwidth` where it is not set.
const NS3_BANDWIDTH: Rate = Rate::from_bits_per_second(1_500_000).expect("not zero");

/// All parameters of RED; those of Adaptive RED begin with them.
pub(crate) const PARAMETERS: &[Parameter] = &[
    limit(Amount::Packets(1000.0)).parameter("limit"),
    Parameter {
        name: "limit_counts",
        kind: Kind::Choice(&["packets", "full-packets", "mean-packets"]),
        default: Value::Choice("packets"),
        description: "what a limit in packets stands for: packets of any size, or the bytes of that many full-size packets (Linux: the child is a bfifo) or of that many packets of mean_packet bytes (ns-2)",
    },
    Parameter {
        name: "limit_rule",
        kind: Kind::Choice(&["fit", "below"]),
        default: Value::Choice("fit"),
        description: "who may enter: an arrival that fits, or any arrival while what waits is below the limit, which it may then exceed (ns-2)",
    },
    Parameter {
        name: "limit_restarts_count",
        kind: Kind::Boolean,
        default: Value::Boolean(true),
        description: "whether an overflow restarts the count of arrivals since the last drop (ns-2 does, Linux does not)",
    },
    Parameter {
        name: "unit",
        kind: Kind::Choice(&["packets", "bytes"]),
        default: Value::Choice("packets"),
        description: "in what the queue, its average and the thresholds are measured",
    },
    Parameter {
        name: "mean_packet",
        kind: Kind::OrAuto(&Kind::Integer { min: 1, max: 65_535 }),
        default: Value::Auto,
        description: "bytes of a typical packet (avpkt, mean_pktsize): what a threshold in packets, an idle transmission time and a scaled drop refer to; auto is the link's full-size packet",
    },
    Parameter {
        name: "min",
        kind: Kind::OrAuto(&Kind::Amount { min_packets: 0.0, whole: false }),
        default: Value::Auto,
        description: "average queue at which dropping begins (min_th)",
    },
    Parameter {
        name: "max",
        kind: Kind::OrAuto(&Kind::Amount { min_packets: 0.0, whole: false }),
        default: Value::Auto,
        description: "average queue at which the drop probability reaches max_p (max_th); auto is 3 times min where min is given",
    },
    Parameter {
        name: "auto_thresholds",
        kind: Kind::Choice(&["delay", "limit"]),
        default: Value::Choice("delay"),
        description: "the rule for auto: min is half of target_delay's worth of packets but at least 5 and max 3 times min (ns-2, Adaptive RED), or max is a quarter of limit and min a third of max (tc)",
    },
    Parameter {
        name: "target_delay",
        kind: Kind::Span { min: Span::from_micros(1), max: Span::from_secs(10) },
        default: Value::Span(Span::from_millis(5)),
        description: "queueing delay aimed at by the rule delay (targetdelay_)",
    },
    Parameter {
        name: "max_p",
        kind: Kind::Number { min: 1e-6, max: 1.0 },
        default: Value::Number(0.1),
        description: "drop probability as the average reaches max",
    },
    Parameter {
        name: "weight",
        kind: Kind::OrAuto(&Kind::Number { min: 1e-9, max: 1.0 }),
        default: Value::Auto,
        description: "weight of a new sample in the average (w_q); 1 is the queue of the moment",
    },
    Parameter {
        name: "auto_weight",
        kind: Kind::Choice(&["rtt", "second", "burst"]),
        default: Value::Choice("rtt"),
        description: "the rule for auto, with C typical packets a second: 1 - exp(-1/(10 rtt C)) with rtt of 0.1 s or, if longer, 3 times the link's delay (ns-2, q_weight_ -1), 1 - exp(-1/C) (Adaptive RED), or the largest power of 1/2 that lets a burst pass (tc)",
    },
    Parameter {
        name: "burst",
        kind: Kind::OrAuto(&Kind::Integer { min: 1, max: 10_000_000 }),
        default: Value::Auto,
        description: "packets of a burst that the rule burst lets pass; auto is (2 min + max)/(3 mean_packet)",
    },
    Parameter {
        name: "arithmetic",
        kind: Kind::Choice(&["real", "whole"]),
        default: Value::Choice("real"),
        description: "how averages are computed: as real numbers, or as Linux does, in whole units of the weight, of which whole packets or bytes are forgotten and count above min; a weight must then be a power of 1/2",
    },
    Parameter {
        name: "gentle",
        kind: Kind::Boolean,
        default: Value::Boolean(true),
        description: "whether the probability rises on from max_p at max to 1 at 2 max, instead of jumping to 1",
    },
    Parameter {
        name: "forced",
        kind: Kind::Boolean,
        default: Value::Boolean(true),
        description: "whether every arrival is dropped once the probability is 1; if not the spreading still decides (ns-2 with use_mark_p_)",
    },
    Parameter {
        name: "spread",
        kind: Kind::Choice(&["uniform", "wait", "threshold", "none"]),
        default: Value::Choice("uniform"),
        description: "gaps between drops at probability p: uniform from 1 to 1/p by p/(1 - count p) (Floyd and Jacobson, method 2), from 1/p to 2/p (ns-2 wait_), uniform by one random number for each gap (Linux), or geometric (method 1)",
    },
    Parameter {
        name: "by_size",
        kind: Kind::Choice(&["no", "before-spread", "after-spread"]),
        default: Value::Choice("no"),
        description: "whether the probability is multiplied by size/mean_packet: not at all (RFC 7141 advises so), before the spreading (Floyd and Jacobson), or after it and with count in units of mean_packet (ns-2 bytes_)",
    },
    Parameter {
        name: "first_is_free",
        kind: Kind::Boolean,
        default: Value::Boolean(false),
        description: "whether the first arrival above min passes without a test, as does any that finds no more than one unit waiting (ns-2)",
    },
    Parameter {
        name: "idle_from",
        kind: Kind::Choice(&["wire", "queue"]),
        default: Value::Choice("wire"),
        description: "when idle time begins: when the wire falls silent (ns-2, Linux) or when nothing waits any more (Floyd and Jacobson)",
    },
    Parameter {
        name: "ageing",
        kind: Kind::Choice(&["steps", "curve", "table", "none"]),
        default: Value::Choice("steps"),
        description: "the average after m idle transmission times: (1-w)^m in whole packets and then the sample (ns-2), (1-w)^m with a real m and no sample (Floyd and Jacobson), the table of powers of 1/2 that tc computes (Linux), or only the sample",
    },
    Parameter {
        name: "bandwidth",
        kind: Kind::OrAuto(&Kind::Rate),
        default: Value::Auto,
        description: "rate at which idle time is counted in packets; auto is the link's",
    },
    Parameter {
        name: "ecn",
        kind: Kind::Boolean,
        default: Value::Boolean(false),
        description: "whether ECN-capable packets are marked instead of dropped early",
    },
    Parameter {
        name: "harddrop",
        kind: Kind::Boolean,
        default: Value::Boolean(false),
        description: "with ecn: whether forced drops hit ECN-capable packets too (tc harddrop)",
    },
    Parameter {
        name: "nodrop",
        kind: Kind::Boolean,
        default: Value::Boolean(false),
        description: "with ecn: whether packets that cannot be marked pass instead of being dropped early (tc nodrop)",
    },
    Parameter {
        name: "mark_p",
        kind: Kind::OrAuto(&Kind::Number { min: 0.0, max: 1.0 }),
        default: Value::Auto,
        description: "with ecn: probability from which on ECN-capable packets are dropped all the same (ns-2 mark_p_); auto is never",
    },
];

/// The parameter `name` of RED, for its kin.
pub(crate) const fn of_red(name: &str) -> Parameter {
    Parameter::of(PARAMETERS, name)
}

/// What ns-2's RED has otherwise.
pub(crate) const NS2: &[(&str, Value)] = &[
    ("limit", Value::Amount(Amount::Packets(50.0))),
    ("limit_counts", Value::Choice("mean-packets")),
    ("limit_rule", Value::Choice("below")),
    ("unit", Value::Choice("bytes")),
    ("mean_packet", Value::Integer(500)),
    ("forced", Value::Boolean(false)),
    ("spread", Value::Choice("wait")),
    ("by_size", Value::Choice("after-spread")),
    ("first_is_free", Value::Boolean(true)),
    ("mark_p", Value::Number(0.1)),
];

/// What Linux's RED has otherwise.
pub(crate) const LINUX: &[(&str, Value)] = &[
    ("limit_counts", Value::Choice("full-packets")),
    ("limit_restarts_count", Value::Boolean(false)),
    ("unit", Value::Choice("bytes")),
    ("mean_packet", Value::Integer(1000)),
    ("auto_thresholds", Value::Choice("limit")),
    ("max_p", Value::Number(0.02)),
    ("auto_weight", Value::Choice("burst")),
    ("gentle", Value::Boolean(false)),
    ("spread", Value::Choice("threshold")),
    ("ageing", Value::Choice("table")),
    ("bandwidth", Value::Rate(TC_BANDWIDTH)),
];

/// How `tc red` is told.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting::option("limit", "limit", Unit::BytesOfFullPackets),
    Setting::auto("min", "min", Unit::BytesOfMeanPackets, Auto::Omit),
    Setting::auto("max", "max", Unit::BytesOfMeanPackets, Auto::Omit),
    Setting::option("mean_packet", "avpkt", Unit::Number),
    Setting::auto("burst", "burst", Unit::Number, Auto::Omit),
    Setting::option("max_p", "probability", Unit::Number),
    Setting::auto("bandwidth", "bandwidth", Unit::Rate, Auto::LinkRate),
    Setting::flag("ecn", "ecn", ""),
    Setting::flag("harddrop", "harddrop", ""),
    Setting::flag("nodrop", "nodrop", ""),
];

/// What `red` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "red",
    summary: "random early detection: drops or marks at random while the average queue is long",
    sources: &[
        "Floyd and Jacobson 1993, Random Early Detection Gateways for Congestion Avoidance",
        "Floyd, Gummadi and Shenker 2001, Adaptive RED",
        "RFC 3168",
        "Linux net/sched/sch_red.c and include/net/red.h",
        "iproute2 tc/q_red.c and tc/tc_red.c",
        "ns-2.35 queue/red.cc",
        "ns-3 src/traffic-control/model/red-queue-disc.cc",
    ],
    parameters: PARAMETERS,
    presets: &[
        Preset {
            name: "ns2",
            summary: "ns-2.35: automatic thresholds and weight, everything in bytes of a 500 B packet",
            values: NS2,
        },
        Preset {
            name: "linux",
            summary: "tc red with avpkt 1000: thresholds from limit, weight from burst, no gentle region. Linux's average has whole bytes, so that it is up to a byte higher; arithmetic whole is the same to the bit",
            values: LINUX,
        },
        Preset {
            name: "ns3",
            summary: "ns3::RedQueueDisc: 25 packets, thresholds of 5 and 15, idle time counted in packets of 500 B at 1.5 Mbit/s whatever the link. There the count of arrivals runs on through forced drops",
            values: &[
                ("limit", Value::Amount(Amount::Packets(25.0))),
                ("limit_restarts_count", Value::Boolean(false)),
                ("mean_packet", Value::Integer(500)),
                ("min", Value::Amount(Amount::Packets(5.0))),
                ("max", Value::Amount(Amount::Packets(15.0))),
                ("max_p", Value::Number(0.02)),
                ("weight", Value::Number(0.002)),
                ("spread", Value::Choice("wait")),
                ("first_is_free", Value::Boolean(true)),
                ("bandwidth", Value::Rate(NS3_BANDWIDTH)),
                ("harddrop", Value::Boolean(true)),
            ],
        },
        Preset {
            name: "floyd93",
            summary: "Floyd and Jacobson 1993: 5 and 15 packets, weight 0.002, at most 1 in 50",
            values: &[
                ("min", Value::Amount(Amount::Packets(5.0))),
                ("max", Value::Amount(Amount::Packets(15.0))),
                ("max_p", Value::Number(0.02)),
                ("weight", Value::Number(0.002)),
                ("gentle", Value::Boolean(false)),
                ("idle_from", Value::Choice("queue")),
                ("ageing", Value::Choice("curve")),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form { name: "red", module: "sch_red", settings: SETTINGS, ..Form::PLAIN }]),
    ..Descriptor::PLAIN
};
