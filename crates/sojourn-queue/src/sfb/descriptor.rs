//! What SFB is and what can be set.

use crate::fifo::limit;
use sojourn_core::registry::declare::{flag, integer, number, span};
use sojourn_core::registry::{Descriptor, Form, Linux, Preset, Setting, Unit, Value};
use sojourn_core::{Amount, Span, parameters};

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        limit: Amount = limit(Amount::Packets(1000.0)),
        /// packets in a bin from which on its probability grows (bin_size)
        target: u32 = integer(20, 1..=1_000_000),
        /// packets in all bins of a flow from which on its arrivals are dropped
        max: u32 = integer(25, 1..=1_000_000),
        /// what an arrival at a bin that holds target packets adds to its probability (d1), rounded to 1/65535
        increment: f64 = number(0.0005, 0.0..=1.0),
        /// what an arrival at an empty bin takes from its probability (d2), rounded to 1/65535
        decrement: f64 = number(0.000_05, 0.0..=1.0),
        /// packets a second that all flows with a probability of 1 together may send; 0 is none after the first burst
        penalty_rate: f64 = number(10.0, 0.0..=1e9),
        /// of these, packets that may come at once; 0 is none at all
        penalty_burst: u64 = integer(20, 0..=1_000_000),
        /// time after which the second set of bins, with another hash, takes over; 0 s is never
        rehash: Span = span(Span::from_secs(600), Span::ZERO..=Span::from_secs(1_000_000)),
        /// how long before that it learns of flows with a probability of 1 (db)
        warmup: Span = span(Span::from_secs(60), Span::ZERO..=Span::from_secs(1_000_000)),
        /// whether ECN-capable packets are marked instead of dropped early (Linux always does)
        ecn: bool = flag(true),
    }
}

/// What `sfb` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "sfb",
    summary: "stochastic fair BLUE: probabilities in a Bloom filter single out the flows that do not respond",
    sources: &[
        "Feng, Kandlur, Saha and Shin 2001, Stochastic Fair Blue",
        "Linux net/sched/sch_sfb.c",
        "iproute2 tc/q_sfb.c",
    ],
    parameters: &Parameters::LIST,
    presets: &[
        Preset {
            name: "tc",
            summary: "tc sfb: steps of 1/2000 and 1/20000; 1000 packets, which Linux takes from the interface",
            values: &[],
        },
        Preset {
            name: "linux",
            summary: "sch_sfb without tc's defaults: steps of 1/1000 and 1/6000",
            values: &[("increment", Value::Number(0.001)), ("decrement", Value::Number(1.0 / 6000.0))],
        },
    ],
    linux: Linux::Kernel(&[Form {
        name: "sfb",
        module: "sch_sfb",
        settings: &[
            Setting::option("limit", "limit", Unit::Packets),
            Setting::option("target", "target", Unit::Number),
            Setting::option("max", "max", Unit::Number),
            Setting::option("increment", "increment", Unit::Number),
            Setting::option("decrement", "decrement", Unit::Number),
            Setting::option("penalty_rate", "penalty_rate", Unit::Number),
            Setting::option("penalty_burst", "penalty_burst", Unit::Number),
            Setting::option("rehash", "rehash", Unit::Millis),
            Setting::option("warmup", "db", Unit::Millis),
        ],
        ..Form::PLAIN
    }]),
    ..Descriptor::PLAIN
};
