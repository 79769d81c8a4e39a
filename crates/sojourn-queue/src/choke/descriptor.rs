//! What CHOKe is and what can be set.

use crate::red::descriptor::{Ageing, Arithmetic, AutoThresholds, AutoWeight, Measure, Rule, of_red as red};
use sojourn_core::registry::declare::integer;
use sojourn_core::registry::{Auto, Descriptor, Form, Linux, Parameter, Preset, Setting, Unit, Value};
use sojourn_core::{Amount, parameters};

/// What of RED is not CHOKe's to set: everything is counted in packets, and automatic values are those of tc.
pub(super) static RED_IN_PACKETS: Preset = Preset {
    name: "choke",
    summary: "tc choke",
    values: &[
        ("unit", Measure::Packets.value()),
        ("auto_thresholds", AutoThresholds::Limit.value()),
        ("auto_weight", AutoWeight::Burst.value()),
    ],
};

parameters! {
    /// What RED has not.
    pub(super) struct Own {
        /// packets drawn for each arrival, one after the other from what is left; those of its flow are dropped with it
        draws: u64 = integer(1, 1..=1000),
    }
}

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
        red("limit"),
        Parameter {
            description: "average queue above which arrivals are compared and dropped; auto is a third of max",
            ..red("min")
        },
        Parameter {
            description: "average queue at which the drop probability reaches max_p; auto is 3 times min where min is given, else a quarter of limit",
            ..red("max")
        },
        Own::LIST[0],
        Parameter {
            default: Value::Number(0.02),
            description: "RED's drop probability as the average reaches max",
            ..red("max_p")
        },
        Parameter { default: Value::Boolean(false), ..red("gentle") },
        Parameter {
            description: "weight of a new sample in the average (w_q); auto is the largest power of 1/2 that lets a burst pass",
            ..red("weight")
        },
        Parameter {
            description: "packets of a burst that an automatic weight lets pass; auto is (2 min + max)/3",
            ..red("burst")
        },
        Parameter {
            description: "how averages are computed, as in red: as real numbers, or as Linux does, in whole units of the weight, of which whole packets are forgotten and count above min; a weight must then be a power of 1/2",
            ..red("arithmetic")
        },
        Parameter {
            default: Value::Integer(1000),
            description: "bytes of a typical packet (avpkt): what an idle transmission time and a threshold in bytes or time refer to; auto is the link's full-size packet",
            ..red("mean_packet")
        },
        Parameter { default: Rule::Threshold.value(), ..red("spread") },
        Parameter { default: Ageing::Table.value(), ..red("ageing") },
        red("bandwidth"),
        Parameter {
            description: "whether RED marks ECN-capable packets instead of dropping them; those of a match are dropped",
            ..red("ecn")
        },
        Parameter {
            description: "with ecn: whether the average above max drops ECN-capable packets too",
            ..red("harddrop")
        },
    ],
    presets: &[
        Preset {
            name: "linux",
            summary: "sch_choke with tc's rules, which ask for a limit and a bandwidth: 1000 packets and the link's rate. Linux draws up to three times where it hits a place of its ring that is empty, and then takes the head; here each draw is uniform over the packets. An average of exactly max belongs to the ramp there, and here to what is above it",
            values: &[("arithmetic", Arithmetic::Whole.value())],
        },
        Preset {
            name: "paper",
            summary: "Pan, Prabhakar and Psounis: 300 packets, thresholds of 100 and 200; the rest of RED as Floyd and Jacobson have it",
            values: &[
                ("limit", Value::Amount(Amount::Packets(300.0))),
                ("min", Value::Amount(Amount::Packets(100.0))),
                ("max", Value::Amount(Amount::Packets(200.0))),
                ("weight", Value::Number(0.002)),
                ("spread", Rule::Uniform.value()),
                ("ageing", Ageing::Curve.value()),
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
