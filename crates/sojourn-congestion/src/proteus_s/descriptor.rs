//! What Proteus-S is and what can be set.

use sojourn_core::Rate;
use sojourn_core::registry::{Descriptor, Kind, Linux, Parameter, Preset, Value};

const MIN_RATE: Rate = match Rate::from_bits_per_second(500_000) {
    Some(rate) => rate,
    None => unreachable!(),
};

/// What `proteus_s` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "proteus_s",
    summary: "PCC Proteus as a scavenger: a rate that climbs a utility, from which the deviation of the round-trip time is taken",
    sources: &[
        "Meng, Schiff, Godfrey and Schapira, PCC Proteus: Scavenger Transport And Beyond, SIGCOMM 2020",
        "PCC-Uspace src/pcc, the authors' code",
    ],
    parameters: &[
        Parameter {
            name: "exponent",
            kind: Kind::Number { min: 0.01, max: 1.0 },
            default: Value::Number(0.9),
            description: "power of the rate in Mbit/s that is the gain (t, kSendingRateExponent)",
        },
        Parameter {
            name: "latency",
            kind: Kind::Number { min: 0.0, max: 1e6 },
            default: Value::Number(900.0),
            description: "penalty per Mbit/s for a round-trip time that grows, per second of it in a second (b, kLatencyCoefficient)",
        },
        Parameter {
            name: "loss",
            kind: Kind::Number { min: 0.0, max: 1e6 },
            default: Value::Number(11.35),
            description: "penalty per Mbit/s for the part of packets that are lost (c, kVivaceLossCoefficient)",
        },
        Parameter {
            name: "deviation",
            kind: Kind::Number { min: 0.0, max: 1e6 },
            default: Value::Number(1500.0),
            description: "penalty per Mbit/s for the standard deviation of the round-trip time, per second (d, kRttDeviationCoefficient); 0 leaves the utility of a primary flow",
        },
        Parameter {
            name: "min_rate",
            kind: Kind::Rate,
            default: Value::Rate(MIN_RATE),
            description: "lowest rate, below which it begins again (kMinSendingRate)",
        },
    ],
    presets: &[Preset { name: "uspace", summary: "PCC-Uspace with its utility function Scavenger", values: &[] }],
    low_priority: true,
    linux: Linux::Absent("Linux has no Proteus"),
    ..Descriptor::PLAIN
};
