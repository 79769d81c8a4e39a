//! Distributions of sizes and of counts.

use super::{Form, Key, Presence, Section, Select};
use sojourn_core::registry::Kind;

pub(super) static SIZES: Select =
    Select { kinds: &[&FIXED, &PARETO, &LOG_NORMAL, &ZIPF], short: Some(("fixed", "size")) };

/// Largest transfer, as that of a bulk flow.
const SIZE: Form = Form::Payload { max: 1_000_000_000_000 };

static FIXED: Section = Section {
    name: "fixed",
    description: "all of the same size",
    own: &[Key { name: "size", form: SIZE, presence: Presence::Required, description: "that size", example: "100 kB" }],
    base: None,
    one_of: &[],
};

static PARETO: Section = Section {
    name: "pareto",
    description: "Pareto between two bounds; the upper one decides the mean where the shape is near 1",
    own: &[
        Key { name: "min", form: SIZE, presence: Presence::Required, description: "smallest size", example: "10 kB" },
        Key { name: "max", form: SIZE, presence: Presence::Required, description: "largest size", example: "10 MB" },
        Key {
            name: "shape",
            form: SHAPE,
            presence: Presence::Required,
            description: "exponent of the tail: the share above x falls as x^-shape",
            example: "1.2",
        },
    ],
    base: None,
    one_of: &[],
};

static LOG_NORMAL: Section = Section {
    name: "log-normal",
    description: "log-normal; what lies above the largest size has that size",
    own: &[
        Key {
            name: "median",
            form: SIZE,
            presence: Presence::Required,
            description: "half of the transfers are smaller",
            example: "20 kB",
        },
        Key {
            name: "sigma",
            form: SIGMA,
            presence: Presence::Required,
            description: "standard deviation of the natural logarithm",
            example: "1.5",
        },
        Key { name: "max", form: SIZE, presence: Presence::Required, description: "largest size", example: "10 MB" },
    ],
    base: None,
    one_of: &[],
};

static ZIPF: Section = Section {
    name: "zipf",
    description: "k units, k from 1 to the largest number, with a probability that falls as k^-exponent",
    own: &[
        Key {
            name: "unit",
            form: SIZE,
            presence: Presence::Default("1448 B"),
            description: "payload of a unit",
            example: "1 packet",
        },
        Key {
            name: "most",
            form: Form::Value(Kind::Integer { min: 1, max: 1_000_000_000 }),
            presence: Presence::Required,
            description: "largest number of units; it decides the mean where the exponent is below 2",
            example: "10000",
        },
        Key {
            name: "exponent",
            form: EXPONENT,
            presence: Presence::Required,
            description: "how fast the probability falls",
            example: "1.7",
        },
    ],
    base: None,
    one_of: &[],
};

/// Distributions of numbers of things, by the same laws.
pub(super) static COUNTS: Select =
    Select { kinds: &[&FIXED_COUNT, &PARETO_COUNT, &LOG_NORMAL_COUNT, &ZIPF_COUNT], short: Some(("fixed", "count")) };

const COUNT: Form = Form::Value(Kind::Integer { min: 1, max: 100_000 });

static FIXED_COUNT: Section = Section {
    name: "fixed",
    description: "always as many",
    own: &[Key { name: "count", form: COUNT, presence: Presence::Required, description: "that many", example: "10" }],
    base: None,
    one_of: &[],
};

static PARETO_COUNT: Section = Section {
    name: "pareto",
    description: "Pareto between two bounds, rounded down",
    own: &[
        Key { name: "min", form: COUNT, presence: Presence::Required, description: "fewest", example: "2" },
        Key { name: "max", form: COUNT, presence: Presence::Required, description: "most", example: "100" },
        Key {
            name: "shape",
            form: SHAPE,
            presence: Presence::Required,
            description: "exponent of the tail: the share above x falls as x^-shape",
            example: "1.2",
        },
    ],
    base: None,
    one_of: &[],
};

static LOG_NORMAL_COUNT: Section = Section {
    name: "log-normal",
    description: "log-normal, rounded down; what lies above the largest number is that many",
    own: &[
        Key {
            name: "median",
            form: COUNT,
            presence: Presence::Required,
            description: "half of the time there are fewer",
            example: "8",
        },
        Key {
            name: "sigma",
            form: SIGMA,
            presence: Presence::Required,
            description: "standard deviation of the natural logarithm",
            example: "1",
        },
        Key { name: "max", form: COUNT, presence: Presence::Required, description: "most", example: "100" },
    ],
    base: None,
    one_of: &[],
};

static ZIPF_COUNT: Section = Section {
    name: "zipf",
    description: "k, from 1 to the largest number, with a probability that falls as k^-exponent",
    own: &[
        Key { name: "most", form: COUNT, presence: Presence::Required, description: "largest number", example: "100" },
        Key {
            name: "exponent",
            form: EXPONENT,
            presence: Presence::Required,
            description: "how fast the probability falls",
            example: "1.7",
        },
    ],
    base: None,
    one_of: &[],
};

const SHAPE: Form = Form::Value(Kind::Number { min: 0.1, max: 10.0 });
const SIGMA: Form = Form::Value(Kind::Number { min: 0.0, max: 10.0 });
const EXPONENT: Form = Form::Value(Kind::Number { min: 0.1, max: 10.0 });
