//! Distributions of sizes and of counts: the same laws, of payload bytes or of numbers of things.

use super::{Form, Key, Presence, Section, Select};
use sojourn_core::registry::Kind;

pub(super) static SIZES: Select =
    Select { kinds: &[&FIXED, &PARETO, &LOG_NORMAL, &ZIPF], added: None, short: Some(("fixed", "size")) };

pub(super) static COUNTS: Select = Select {
    kinds: &[&FIXED_COUNT, &PARETO_COUNT, &LOG_NORMAL_COUNT, &ZIPF_COUNT],
    added: None,
    short: Some(("fixed", "count")),
};

/// Largest transfer, as that of a bulk flow.
const SIZE: Form = Form::Payload { max: 1_000_000_000_000 };
const COUNT: Form = whole(100_000);

const fn whole(max: u64) -> Form {
    Form::Value(Kind::Integer { min: 1, max })
}

const fn required(name: &'static str, form: Form, description: &'static str, example: &'static str) -> Key {
    Key { name, form, presence: Presence::Required, description, example }
}

const fn law(name: &'static str, description: &'static str, own: &'static [Key]) -> Section {
    Section { name, description, own, base: None, one_of: &[] }
}

const SHAPE: Key = required(
    "shape",
    Form::Value(Kind::Number { min: 0.1, max: 10.0 }),
    "exponent of the tail: the share above x falls as x^-shape",
    "1.2",
);

const fn sigma(example: &'static str) -> Key {
    let form = Form::Value(Kind::Number { min: 0.0, max: 10.0 });
    required("sigma", form, "standard deviation of the natural logarithm", example)
}

const EXPONENT: Key =
    required("exponent", Form::Value(Kind::Number { min: 0.1, max: 10.0 }), "how fast the probability falls", "1.7");

static FIXED: Section = law("fixed", "all of the same size", &[required("size", SIZE, "that size", "100 kB")]);

static FIXED_COUNT: Section = law("fixed", "always as many", &[required("count", COUNT, "that many", "10")]);

static PARETO: Section = law(
    "pareto",
    "Pareto between two bounds; the upper one decides the mean where the shape is near 1",
    &[required("min", SIZE, "smallest size", "10 kB"), required("max", SIZE, "largest size", "10 MB"), SHAPE],
);

static PARETO_COUNT: Section = law(
    "pareto",
    "Pareto between two bounds, rounded down",
    &[required("min", COUNT, "fewest", "2"), required("max", COUNT, "most", "100"), SHAPE],
);

static LOG_NORMAL: Section = law(
    "log-normal",
    "log-normal; what lies above the largest size has that size",
    &[
        required("median", SIZE, "half of the transfers are smaller", "20 kB"),
        sigma("1.5"),
        required("max", SIZE, "largest size", "10 MB"),
    ],
);

static LOG_NORMAL_COUNT: Section = law(
    "log-normal",
    "log-normal, rounded down; what lies above the largest number is that many",
    &[
        required("median", COUNT, "half of the time there are fewer", "8"),
        sigma("1"),
        required("max", COUNT, "most", "100"),
    ],
);

static ZIPF: Section = law(
    "zipf",
    "k units, k from 1 to the largest number, with a probability that falls as k^-exponent",
    &[
        Key {
            name: "unit",
            form: SIZE,
            presence: Presence::Default("1448 B"),
            description: "payload of a unit",
            example: "1 packet",
        },
        required(
            "most",
            whole(1_000_000_000),
            "largest number of units; it decides the mean where the exponent is below 2",
            "10000",
        ),
        EXPONENT,
    ],
);

static ZIPF_COUNT: Section = law(
    "zipf",
    "k, from 1 to the largest number, with a probability that falls as k^-exponent",
    &[required("most", COUNT, "largest number", "100"), EXPONENT],
);
