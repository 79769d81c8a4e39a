//! What Proteus-S is and what can be set.

use sojourn_core::Rate;
use sojourn_core::parameters;
use sojourn_core::registry::declare::{number, rate};
use sojourn_core::registry::{Descriptor, Linux, Preset};

const MIN_RATE: Rate = match Rate::from_bits_per_second(500_000) {
    Some(rate) => rate,
    None => unreachable!(),
};

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        /// power of the rate in Mbit/s that is the gain (t, kSendingRateExponent)
        exponent: f64 = number(0.9, 0.01..=1.0),
        /// penalty per Mbit/s for a round-trip time that grows, per second of it in a second (b, kLatencyCoefficient)
        latency: f64 = number(900.0, 0.0..=1e6),
        /// penalty per Mbit/s for the part of packets that are lost (c, kVivaceLossCoefficient)
        loss: f64 = number(11.35, 0.0..=1e6),
        /// penalty per Mbit/s for the standard deviation of the round-trip time, per second (d,
        /// kRttDeviationCoefficient); 0 leaves the utility of a primary flow
        deviation: f64 = number(1500.0, 0.0..=1e6),
        /// lowest rate, below which it begins again (kMinSendingRate)
        min_rate: Rate = rate(MIN_RATE),
    }
}

/// What `proteus_s` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "proteus_s",
    summary: "PCC Proteus as a scavenger: a rate that climbs a utility, from which the deviation of the round-trip time is taken",
    sources: &[
        "Meng, Schiff, Godfrey and Schapira, PCC Proteus: Scavenger Transport And Beyond, SIGCOMM 2020",
        "PCC-Uspace src/pcc, the authors' code",
    ],
    parameters: &Parameters::LIST,
    presets: &[Preset { name: "uspace", summary: "PCC-Uspace with its utility function Scavenger", values: &[] }],
    low_priority: true,
    linux: Linux::Absent("Linux has no Proteus"),
    ..Descriptor::PLAIN
};
