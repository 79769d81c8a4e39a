//! What CHOKe is and what can be set.

use sojourn_core::Amount;
use sojourn_core::registry::{Auto, Descriptor, Form, Kind, Linux, Parameter, Preset, Setting, Unit, Value};

/// What of RED is not CHOKe's to set: everything is counted in packets, and automatic values are those of tc.
pub(super) static RED_IN_PACKETS: Preset = Preset {
    name: "choke",
    summary: "tc choke",
    values: &[
        ("unit", Value::Choice("packets")),
        ("auto_thresholds", Value::Choice("limit")),
        ("auto_weight", Value::Choice("burst")),
    ],
};

/// What `choke` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "choke",
    summary: "RED that also compares arrivals with packets drawn from the queue and drops both if they are of one flow",
    sources: &[
        "Pan, Prabhakar and Psounis 2000, CHOKe: a stateless active queue management scheme",
        "Tang, Wang and Low 2004, Understanding CHOKe",
        "Linux net/sched/sch_choke.c",
        "iproute2 tc/q_choke.c",
    ],
    parameters: &[
        Parameter {
            name: "limit",
            kind: Kind::Amount { min_packets: 1.0, whole: true },
            default: Value::Amount(Amount::Packets(1000.0)),
            description: "what may wait, besides the packet on the wire: packets, bytes, or time at the link's rate",
        },
        Parameter {
            name: "min",
            kind: Kind::OrAuto(&Kind::Amount { min_packets: 0.0, whole: false }),
            default: Value::Auto,
            description: "average queue above which arrivals are compared and dropped; auto is a third of max",
        },
        Parameter {
            name: "max",
            kind: Kind::OrAuto(&Kind::Amount { min_packets: 0.0, whole: false }),
            default: Value::Auto,
            description: "average queue at which the drop probability reaches max_p; auto is 3 times min where min is given, else a quarter of limit",
        },
        Parameter {
            name: "draws",
            kind: Kind::Integer { min: 1, max: 1000 },
            default: Value::Integer(1),
            description: "packets drawn for each arrival, one after the other from what is left; those of its flow are dropped with it",
        },
        Parameter {
            name: "max_p",
            kind: Kind::Number { min: 1e-6, max: 1.0 },
            default: Value::Number(0.02),
            description: "RED's drop probability as the average reaches max",
        },
        Parameter {
            name: "gentle",
            kind: Kind::Boolean,
            default: Value::Boolean(false),
            description: "whether the probability rises on from max_p at max to 1 at 2 max, instead of jumping to 1",
        },
        Parameter {
            name: "weight",
            kind: Kind::OrAuto(&Kind::Number { min: 1e-9, max: 1.0 }),
            default: Value::Auto,
            description: "weight of a new sample in the average (w_q); auto is the largest power of 1/2 that lets a burst pass",
        },
        Parameter {
            name: "burst",
            kind: Kind::OrAuto(&Kind::Integer { min: 1, max: 10_000_000 }),
            default: Value::Auto,
            description: "packets of a burst that an automatic weight lets pass; auto is (2 min + max)/3",
        },
        Parameter {
            name: "arithmetic",
            kind: Kind::Choice(&["real", "whole"]),
            default: Value::Choice("real"),
            description: "how averages are computed, as in red: as real numbers, or as Linux does, in whole units of the weight, of which whole packets are forgotten and count above min; a weight must then be a power of 1/2",
        },
        Parameter {
            name: "mean_packet",
            kind: Kind::OrAuto(&Kind::Integer { min: 1, max: 65_535 }),
            default: Value::Integer(1000),
            description: "bytes of a typical packet (avpkt): what an idle transmission time and a threshold in bytes or time refer to; auto is the link's full-size packet",
        },
        Parameter {
            name: "spread",
            kind: Kind::Choice(&["uniform", "wait", "threshold", "none"]),
            default: Value::Choice("threshold"),
            description: "how RED's drops are spread, as in red: uniform gaps by p/(1 - count p) (Floyd and Jacobson), by waiting (ns-2) or by one random number for each gap (Linux), or geometric gaps",
        },
        Parameter {
            name: "ageing",
            kind: Kind::Choice(&["steps", "curve", "table", "none"]),
            default: Value::Choice("table"),
            description: "what idle time does to the average, as in red",
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
            description: "whether RED marks ECN-capable packets instead of dropping them; those of a match are dropped",
        },
        Parameter {
            name: "harddrop",
            kind: Kind::Boolean,
            default: Value::Boolean(false),
            description: "with ecn: whether the average above max drops ECN-capable packets too",
        },
    ],
    presets: &[
        Preset {
            name: "linux",
            summary: "sch_choke with tc's rules, which ask for a limit and a bandwidth: 1000 packets and the link's rate. Linux draws up to three times where it hits a place of its ring that is empty, and then takes the head; here each draw is uniform over the packets. An average of exactly max belongs to the ramp there, and here to what is above it",
            values: &[("arithmetic", Value::Choice("whole"))],
        },
        Preset {
            name: "paper",
            summary: "Pan, Prabhakar and Psounis: 300 packets, thresholds of 100 and 200; the rest of RED as Floyd and Jacobson have it",
            values: &[
                ("limit", Value::Amount(Amount::Packets(300.0))),
                ("min", Value::Amount(Amount::Packets(100.0))),
                ("max", Value::Amount(Amount::Packets(200.0))),
                ("weight", Value::Number(0.002)),
                ("spread", Value::Choice("uniform")),
                ("ageing", Value::Choice("curve")),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form {
        name: "choke",
        module: "sch_choke",
        settings: &[
            Setting::option("limit", "limit", Unit::Packets),
            Setting::auto("min", "min", Unit::Packets, Auto::Omit),
            Setting::auto("max", "max", Unit::Packets, Auto::Omit),
            Setting::option("mean_packet", "avpkt", Unit::Number),
            Setting::auto("burst", "burst", Unit::Number, Auto::Omit),
            Setting::option("max_p", "probability", Unit::Number),
            Setting::auto("bandwidth", "bandwidth", Unit::Rate, Auto::LinkRate),
            Setting::flag("ecn", "ecn", ""),
        ],
        ..Form::PLAIN
    }]),
    ..Descriptor::PLAIN
};
