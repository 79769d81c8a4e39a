//! Distributions of sizes and of counts: the same laws, of payload bytes or of numbers of things.

use crate::declare::Held;
use crate::fields::{Fields, Item};
use crate::form::{Form, Key, Presence, Section, Select};
use crate::node::Origin;
use sojourn_core::registry::{Kind, Value};

/// A distribution of sizes in payload bytes, or of numbers of things.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Sizes {
    /// All the same.
    Fixed(u64),
    /// Pareto between two bounds.
    Pareto {
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
        /// The exponent of the tail.
        shape: f64,
    },
    /// Log-normal; what lies above the largest has its size.
    LogNormal {
        /// Half of them are smaller.
        median: u64,
        /// Standard deviation of the logarithm.
        sigma: f64,
        /// The largest.
        max: u64,
    },
    /// So many units, 1 to `most`, the k-th with a probability that falls as k^-exponent.
    Zipf {
        /// Bytes of a unit.
        unit: u64,
        /// The largest number of units.
        most: u64,
        /// How fast the probability falls.
        exponent: f64,
    },
}

impl Sizes {
    /// The largest of them.
    pub fn largest(&self) -> u64 {
        match *self {
            Sizes::Fixed(size) => size,
            Sizes::Pareto { max, .. } | Sizes::LogNormal { max, .. } => max,
            Sizes::Zipf { unit, most, .. } => unit.saturating_mul(most),
        }
    }

    /// Their mean in bytes; that of the log-normal without its cut.
    pub fn mean(&self) -> f64 {
        match *self {
            Sizes::Fixed(size) => size as f64,
            Sizes::Pareto { min, max, shape } => {
                let (low, high) = (min as f64, max as f64);
                let kept = 1.0 - libm::pow(low / high, shape);
                if (shape - 1.0).abs() < 1e-9 {
                    low / kept * libm::log(high / low)
                } else {
                    low / kept * shape / (shape - 1.0) * (1.0 - libm::pow(low / high, shape - 1.0))
                }
            }
            Sizes::LogNormal { median, sigma, .. } => median as f64 * libm::exp(sigma * sigma / 2.0),
            Sizes::Zipf { unit, most, exponent } => unit as f64 * powers(most, exponent - 1.0) / powers(most, exponent),
        }
    }
}

/// The sum of k^-exponent for k from 1 to `most`: its first terms, and an integral in place of the others.
fn powers(most: u64, exponent: f64) -> f64 {
    const TERMS: u64 = 10_000;
    let sum: f64 = (1..=most.min(TERMS)).map(|k| libm::pow(k as f64, -exponent)).sum();
    if most <= TERMS {
        return sum;
    }
    let (from, to) = (TERMS as f64 + 0.5, most as f64 + 0.5);
    let rest = 1.0 - exponent;
    let tail =
        if rest.abs() < 1e-9 { libm::log(to / from) } else { (libm::pow(to, rest) - libm::pow(from, rest)) / rest };
    sum + tail
}

impl Held for Sizes {
    /// Sizes in packets must have been [made bytes](Fields::in_bytes) before.
    fn from_item(item: Option<&Item>) -> Option<Sizes> {
        let Item::Table(fields) = item? else { return None };
        let whole = |key| match fields.item(key)? {
            Item::Bytes(whole) | Item::Value(Value::Integer(whole)) => Some(*whole),
            _ => None,
        };
        Some(match fields.section.name {
            "fixed" => Sizes::Fixed(whole(fields.section.own[0].name)?),
            "pareto" => Sizes::Pareto { min: whole("min")?, max: whole("max")?, shape: fields.number("shape")? },
            "log-normal" => {
                Sizes::LogNormal { median: whole("median")?, sigma: fields.number("sigma")?, max: whole("max")? }
            }
            "zipf" => Sizes::Zipf {
                unit: if fields.section.key("unit").is_some() { whole("unit")? } else { 1 },
                most: whole("most")?,
                exponent: fields.number("exponent")?,
            },
            other => unreachable!("no distribution is called {other}"),
        })
    }

    fn to_item(&self, form: &Form) -> Option<Item> {
        let Form::Select(select) = form else { unreachable!("a distribution is a choice, not {form:?}") };
        let kind = match self {
            Sizes::Fixed(_) => "fixed",
            Sizes::Pareto { .. } => "pareto",
            Sizes::LogNormal { .. } => "log-normal",
            Sizes::Zipf { .. } => "zipf",
        };
        let section = select.kind(kind)?;
        let mut fields = Fields::new(section, Origin::Unknown);
        match *self {
            Sizes::Fixed(size) => put_whole(&mut fields, section.own[0].name, size),
            Sizes::Pareto { min, max, shape } => {
                put_whole(&mut fields, "min", min);
                put_whole(&mut fields, "max", max);
                fields.put("shape", Item::Value(Value::Number(shape)));
            }
            Sizes::LogNormal { median, sigma, max } => {
                put_whole(&mut fields, "median", median);
                put_whole(&mut fields, "max", max);
                fields.put("sigma", Item::Value(Value::Number(sigma)));
            }
            Sizes::Zipf { unit, most, exponent } => {
                put_whole(&mut fields, "unit", unit);
                put_whole(&mut fields, "most", most);
                fields.put("exponent", Item::Value(Value::Number(exponent)));
            }
        }
        Some(Item::Table(fields))
    }
}

/// Gives `key` a size or a number of things, as its form says; counts have no key for a unit.
fn put_whole(fields: &mut Fields, key: &'static str, whole: u64) {
    match fields.section.key(key).map(|key| &key.form) {
        Some(Form::Payload { .. }) => fields.put(key, Item::Bytes(whole)),
        Some(_) => fields.put(key, Item::Value(Value::Integer(whole))),
        None => {}
    }
}

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

#[cfg(test)]
mod tests {
    use super::Sizes;

    #[track_caller]
    fn close(sizes: Sizes, expected: f64) {
        let found = sizes.mean();
        assert!((found / expected - 1.0).abs() < 1e-3, "{sizes:?}: {found}, expected {expected}");
    }

    /// Pareto 1 to 100 of shape 2: 2 (1 - 1/100) / (1 - 1/10^4); of shape 1: ln 100 / 0.99. Zipf: 3 / (1 + 1/2 + 1/3).
    #[test]
    fn means_by_hand() {
        close(Sizes::Fixed(7), 7.0);
        close(Sizes::Pareto { min: 1, max: 100, shape: 2.0 }, 2.0 * 0.99 / 0.9999);
        close(Sizes::Pareto { min: 1, max: 100, shape: 1.0 }, 100f64.ln() / 0.99);
        close(Sizes::LogNormal { median: 10, sigma: 2.0, max: 1 << 40 }, 10.0 * 2f64.exp());
        close(Sizes::Zipf { unit: 10, most: 3, exponent: 1.0 }, 30.0 * 6.0 / 11.0);
        // The sums of 10^6 terms of k^-0.7 and of k^-1.7.
        close(Sizes::Zipf { unit: 1, most: 1_000_000, exponent: 1.7 }, 207.541 / 2.05420);
    }
}
