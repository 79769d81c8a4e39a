//! A parameter: what it may hold, and what it holds.

use crate::{Amount, Rate, Span};

/// One thing that can be set.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The key in a scenario file.
    pub name: &'static str,
    /// What it may hold.
    pub kind: Kind,
    /// Its value where the file and the preset are silent.
    pub default: Value,
    /// What it means, in one sentence, with the source's own term.
    pub description: &'static str,
}

/// What a parameter may hold. All bounds are inclusive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    /// A length of time.
    Span {
        /// Shortest allowed.
        min: Span,
        /// Longest allowed.
        max: Span,
    },
    /// A data rate.
    Rate,
    /// An amount of data: packets, bytes, or time at the link's rate.
    Amount {
        /// Fewest packets allowed.
        min_packets: f64,
        /// Whether packets must be whole, as in a buffer's limit.
        whole: bool,
    },
    /// A plain number.
    Number {
        /// Smallest allowed.
        min: f64,
        /// Largest allowed.
        max: f64,
    },
    /// A whole number.
    Integer {
        /// Smallest allowed.
        min: u64,
        /// Largest allowed.
        max: u64,
    },
    /// `true` or `false`.
    Boolean,
    /// One of a few words.
    Choice(&'static [&'static str]),
    /// The inner kind, or the word `auto`.
    OrAuto(&'static Kind),
}

/// What a parameter holds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    /// A length of time.
    Span(Span),
    /// A data rate.
    Rate(Rate),
    /// An amount of data.
    Amount(Amount),
    /// A plain number.
    Number(f64),
    /// A whole number.
    Integer(u64),
    /// `true` or `false`.
    Boolean(bool),
    /// One of the words of the parameter's [`Kind::Choice`].
    Choice(&'static str),
    /// To be computed from the link by the algorithm's own rule.
    Auto,
}

impl Parameter {
    /// The one of `list` that is called `name`.
    ///
    /// # Panics
    /// While compiling, where there is none.
    pub const fn of(list: &[Parameter], name: &str) -> Parameter {
        list[place_of(list, name)]
    }
}

/// `list` with other defaults, for descriptors that share parameters.
///
/// # Panics
/// While compiling, where no parameter is called so.
pub const fn with_defaults<const N: usize>(mut list: [Parameter; N], defaults: &[(&str, Value)]) -> [Parameter; N] {
    let mut index = 0;
    while index < defaults.len() {
        list[place_of(&list, defaults[index].0)].default = defaults[index].1;
        index += 1;
    }
    list
}

/// The place in `list` of what is called `name`.
const fn place_of(list: &[Parameter], name: &str) -> usize {
    let mut index = 0;
    while !is_same(list[index].name, name) {
        index += 1;
    }
    index
}

const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut index = 0;
    while index < a.len() && index < b.len() && a[index] == b[index] {
        index += 1;
    }
    index == a.len() && index == b.len()
}

/// As a scenario file writes it, without quotes.
impl core::fmt::Display for Value {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Value::Span(span) => span.fmt(f),
            Value::Rate(rate) => rate.fmt(f),
            Value::Amount(amount) => amount.fmt(f),
            Value::Number(number) => number.fmt(f),
            Value::Integer(integer) => integer.fmt(f),
            Value::Boolean(boolean) => boolean.fmt(f),
            Value::Choice(choice) => f.write_str(choice),
            Value::Auto => f.write_str("auto"),
        }
    }
}
