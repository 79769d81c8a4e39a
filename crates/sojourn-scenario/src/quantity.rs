//! Numbers with units.

use crate::diagnostic::{Fault, nearest, quote};
use crate::node::{Data, Node};

/// A dimension and the units it is written in.
#[derive(Debug)]
pub(crate) struct Dimension {
    /// With its article: `a time`.
    pub noun: &'static str,
    /// A typical value.
    pub example: &'static str,
    /// The unit of tables of numbers.
    pub basic: &'static str,
    /// Units and their size in the smallest one.
    pub units: &'static [(&'static str, u64)],
    /// What people write instead, and the unit they mean.
    aliases: &'static [(&'static str, &'static str)],
}

/// Lengths of time, in nanoseconds.
pub(crate) static TIME: Dimension = Dimension {
    noun: "a time",
    example: "50 ms",
    basic: "s",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("\u{b5}s", 1_000),
        ("\u{3bc}s", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
    aliases: &[("sec", "s"), ("secs", "s"), ("second", "s"), ("seconds", "s"), ("msec", "ms"), ("usec", "us")],
};

/// Rates, in bits per second.
pub(crate) static RATE: Dimension = Dimension {
    noun: "a rate",
    example: "10 Mbit/s",
    basic: "bit/s",
    units: &[
        ("bit/s", 1),
        ("kbit/s", 1_000),
        ("Mbit/s", 1_000_000),
        ("Gbit/s", 1_000_000_000),
        ("Tbit/s", 1_000_000_000_000),
    ],
    aliases: &[
        ("bps", "bit/s"),
        ("b/s", "bit/s"),
        ("kbps", "kbit/s"),
        ("kb/s", "kbit/s"),
        ("kbit", "kbit/s"),
        ("mbps", "Mbit/s"),
        ("mb/s", "Mbit/s"),
        ("mbit", "Mbit/s"),
        ("gbps", "Gbit/s"),
        ("gb/s", "Gbit/s"),
        ("gbit", "Gbit/s"),
    ],
};

/// Sizes, in bytes.
pub(crate) static SIZE: Dimension = Dimension {
    noun: "a size",
    example: "1500 B",
    basic: "B",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ],
    aliases: &[("byte", "B"), ("bytes", "B"), ("k", "kB"), ("m", "MB")],
};

/// Numbers of packets.
pub(crate) static COUNT: Dimension = Dimension {
    noun: "a number of packets",
    example: "500 packets",
    basic: "packets",
    units: &[("packets", 1), ("packet", 1)],
    aliases: &[("p", "packets"), ("pkt", "packets"), ("pkts", "packets"), ("segments", "packets")],
};

/// Rates of packets, in packets per second.
pub(crate) static PACE: Dimension = Dimension {
    noun: "a rate of packets",
    example: "125 packets/s",
    basic: "packets/s",
    units: &[("packets/s", 1), ("packet/s", 1)],
    aliases: &[("pps", "packets/s"), ("p/s", "packets/s"), ("pkt/s", "packets/s"), ("1/s", "packets/s")],
};

static ALL: [&Dimension; 5] = [&TIME, &RATE, &SIZE, &COUNT, &PACE];

/// The units of `dimensions` in ASCII, from small to large.
pub(crate) fn unit_names(dimensions: &[&'static Dimension]) -> Vec<&'static str> {
    dimensions.iter().flat_map(|one| one.units).map(|&(unit, _)| unit).filter(|unit| unit.is_ascii()).collect()
}

/// A number with a unit, before it is rounded to a whole number of the smallest unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantity<'a> {
    pub dimension: &'static Dimension,
    pub negative: bool,
    number: Decimal,
    /// The number's digits, without sign.
    text: &'a str,
    unit: u64,
}

impl Quantity<'_> {
    /// In the smallest unit, rounded to the nearest; `None` where it does not fit.
    pub fn integer(&self) -> Option<u64> {
        self.number.times(self.unit)
    }

    /// In the smallest unit, for amounts that may be fractions.
    pub fn float(&self) -> f64 {
        self.text.parse::<f64>().expect("a decimal is a float") * self.unit as f64
    }
}

/// Reads a quantity of one of `dimensions`, which must not be negative unless `signed`.
pub(crate) fn read<'a>(node: &'a Node, dimensions: &[&'static Dimension], signed: bool) -> Result<Quantity<'a>, Fault> {
    let text = match &node.data {
        Data::Text(text) => text,
        Data::Integer(_) | Data::Float(_) => {
            return Err(Fault::new(format!("{}, which has no unit", node.shown())));
        }
        _ => return Err(node.unexpected()),
    };
    let shown = quote(text);
    let Some((sign, number_text, number, unit)) = split(text.trim()) else { return Err(Fault::new(shown)) };
    if unit.is_empty() {
        return Err(Fault::new(format!("{shown}, which has no unit")));
    }
    let find = |dimension: &&'static Dimension| {
        dimension.units.iter().find(|(name, _)| *name == unit).map(|&(_, size)| (*dimension, size))
    };
    let Some((dimension, size)) = dimensions.iter().find_map(find) else {
        return Err(match ALL.iter().find_map(find) {
            Some((other, _)) => Fault::new(format!("{shown}, which is {}", other.noun)),
            None => unknown_unit(&shown, text, unit, dimensions),
        });
    };
    let negative = sign == "-" && number.digits > 0;
    if negative && !signed {
        return Err(Fault::new(format!("{shown}, which is negative")));
    }
    Ok(Quantity { dimension, negative, number, text: number_text, unit: size })
}

/// Reads a quantity of any dimension in its basic unit, and names that.
pub(crate) fn basic(node: &Node) -> Option<(f64, &'static str)> {
    let quantity = read(node, &ALL, true).ok()?;
    let basic = quantity.dimension.basic;
    let size = quantity.dimension.units.iter().find(|(name, _)| *name == basic).expect("a unit of its own").1;
    let sign = if quantity.negative { -1.0 } else { 1.0 };
    Some((sign * quantity.float() / size as f64, basic))
}

fn unknown_unit(shown: &str, text: &str, unit: &str, dimensions: &[&'static Dimension]) -> Fault {
    let alias = |dimension: &&Dimension| {
        let same = |(alias, _): &&(&str, &str)| alias.eq_ignore_ascii_case(unit);
        dimension.aliases.iter().find(same).map(|&(_, meant)| meant)
    };
    let mut units = dimensions.iter().flat_map(|dimension| dimension.units).map(|&(name, _)| name);
    let number = text.trim().strip_suffix(unit).unwrap_or("").trim();
    let meant = match (in_bytes(unit), number.parse::<f64>()) {
        // A byte has eight bits.
        (Some(bits), Ok(bytes)) => units.find(|&name| name == bits).map(|name| format!("{} {name}", 8.0 * bytes)),
        _ => dimensions.iter().find_map(alias).or_else(|| nearest(unit, units)).map(|name| format!("{number} {name}")),
    };
    Fault::near(format!("{shown}, whose unit is unknown"), meant)
}

/// The unit in bits for one in bytes: "Mbit/s" for "MB/s".
fn in_bytes(unit: &str) -> Option<String> {
    let prefix = unit.strip_suffix("B/s").or_else(|| unit.strip_suffix("Bps"))?;
    Some(format!("{prefix}bit/s"))
}

/// Sign, digits, number and unit.
fn split(text: &str) -> Option<(&str, &str, Decimal, &str)> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let sign = &text[..text.len() - unsigned.len()];
    let (number, rest) = Decimal::read(unsigned)?;
    Some((sign, &unsigned[..unsigned.len() - rest.len()], number, rest.trim_start()))
}

/// A decimal number as it was written, so that no binary fraction comes between "0.1 s" and 100 ms.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Decimal {
    digits: u128,
    exponent: i64,
}

impl Decimal {
    /// Digits that are kept; what follows is less than any unit can tell.
    const KEPT: u128 = 10u128.pow(23);

    /// Reads a number at the start of `text`; gives back what follows.
    fn read(text: &str) -> Option<(Decimal, &str)> {
        let (whole, rest) = digits(text);
        let (fraction, rest) = match rest.strip_prefix('.') {
            Some(after) => digits(after),
            None => ("", rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let mut number = Decimal { digits: 0, exponent: 0 };
        whole.bytes().for_each(|digit| number.append(digit, 1));
        fraction.bytes().for_each(|digit| number.append(digit, 0));
        match power(rest) {
            Some((exponent, rest)) => {
                number.exponent += exponent;
                Some((number, rest))
            }
            None => Some((number, rest)),
        }
    }

    /// One more digit; `place` is 1 before the point and 0 behind it.
    fn append(&mut self, digit: u8, place: i64) {
        if self.digits < Decimal::KEPT {
            self.digits = self.digits * 10 + u128::from(digit - b'0');
            self.exponent += place - 1;
        } else {
            self.exponent += place;
        }
    }

    fn times(self, unit: u64) -> Option<u64> {
        let product = self.digits * u128::from(unit);
        if product == 0 {
            return Some(0);
        }
        let power = |exponent: u64| 10u128.checked_pow(u32::try_from(exponent).ok()?);
        let scaled = match power(self.exponent.unsigned_abs()) {
            Some(power) if self.exponent >= 0 => product.checked_mul(power)?,
            Some(power) => product.checked_add(power / 2)? / power,
            None if self.exponent >= 0 => return None,
            None => 0,
        };
        u64::try_from(scaled).ok()
    }
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len()))
}

/// An exponent such as `e6` at the start of `text`.
fn power(text: &str) -> Option<(i64, &str)> {
    let after = text.strip_prefix(['e', 'E'])?;
    let unsigned = after.strip_prefix(['-', '+']).unwrap_or(after);
    let (power, rest) = digits(unsigned);
    let power: i64 = if power.is_empty() { return None } else { power.parse().unwrap_or(1_000_000).min(1_000_000) };
    Some((if after.starts_with('-') { -power } else { power }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Origin;
    use proptest::prelude::*;

    fn time(text: &str) -> Result<u64, String> {
        let node = Node::text(text, Origin::Unknown);
        let quantity = read(&node, &[&TIME], false).map_err(|fault| fault.found)?;
        quantity.integer().ok_or_else(|| "too large".to_owned())
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(time("0.1 s"), Ok(100_000_000));
        assert_eq!(time("9999999.999999999s"), Ok(9_999_999_999_999_999));
        assert_eq!(time("1.5e3 \u{b5}s"), Ok(1_500_000));
        assert_eq!(time(".5 ms"), Ok(500_000));
        assert_eq!(time("0.4 ns"), Ok(0));
        assert_eq!(time("2 min"), Ok(120_000_000_000));
        assert_eq!(time("1e-400 h"), Ok(0));
        assert_eq!(time("0e999999999 s"), Ok(0));
        assert_eq!(time("1e400 s"), Err("too large".to_owned()));
    }

    #[test]
    fn faults_say_what_was_found() {
        for (text, found) in [
            ("10", "\"10\", which has no unit"),
            ("-1 ms", "\"-1 ms\", which is negative"),
            ("10 Mbit/s", "\"10 Mbit/s\", which is a rate"),
            ("3 parsecs", "\"3 parsecs\", whose unit is unknown"),
            ("soon", "\"soon\""),
            ("inf s", "\"inf s\""),
        ] {
            assert_eq!(time(text), Err(found.to_owned()));
        }
    }

    #[test]
    fn bytes_a_second_are_suggested_in_bits() {
        for (text, meant) in [("10 MB/s", "80 Mbit/s"), ("2.5 kBps", "20 kbit/s"), ("10 Mbps", "10 Mbit/s")] {
            let node = Node { data: Data::Text(text.to_owned()), origin: Origin::Unknown };
            let fault = read(&node, &[&RATE], false).unwrap_err();
            assert_eq!(fault.nearest.as_deref(), Some(meant));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_time_or_a_fault(text in ".*") {
            let _ = time(&text);
        }

        #[test]
        fn what_a_span_prints_is_read_back(nanos in 0u64..10_000_000_000_000_000) {
            prop_assert_eq!(time(&sojourn_core::Span::from_nanos(nanos).to_string()), Ok(nanos));
        }
    }
}
