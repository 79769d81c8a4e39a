//! Reads single values: what a [`Kind`] allows, and what a message says of it.

use crate::addresses::Addresses;
use crate::diagnostic::{Fault, nearest};
use crate::fields::Item;
use crate::node::{Data, Node};
use crate::quantity::{self, COUNT, Dimension, PACE, RATE, SIZE, TIME};
use sojourn_core::registry::{Kind, Value};
use sojourn_core::{Amount, Rate, Span};
use sojourn_queue::Dscp;

/// The fastest link: 1 Tbit/s.
pub(crate) const FASTEST: u64 = 1_000_000_000_000;
/// The largest buffers and thresholds: more than any machine has.
const MAX_PACKETS: f64 = 1e9;
const MAX_BYTES: f64 = 1e12;
const LONGEST_QUEUE: Span = Span::from_secs(3600);

/// What `kind` allows, with an example.
pub(crate) fn allowed(kind: &Kind) -> String {
    match kind {
        Kind::Span { min, max } => format!("a time from {min} to {max}, such as \"{}\"", example_span(*min, *max)),
        Kind::Rate => format!("a rate from 1 bit/s to 1 Tbit/s, such as \"{}\"", RATE.example),
        Kind::Amount { min_packets, whole } => {
            let whole = if *whole { "whole " } else { "" };
            format!(
                "at least {min_packets} {whole}packets, or bytes, or a time at the link's rate, \
                 such as \"500 packets\", \"64 kB\" or \"20 ms\""
            )
        }
        Kind::Number { min, max } => format!("a number from {min} to {max}"),
        Kind::Integer { min, max } => format!("a whole number from {min} to {max}"),
        Kind::Boolean => "true, false".to_owned(),
        Kind::Choice(words) => words.join(", "),
        Kind::OrAuto(inner) => format!("{}, or \"auto\"", allowed(inner)),
    }
}

fn example_span(min: Span, max: Span) -> Span {
    let typical = if max > LONGEST_QUEUE { Span::from_secs(10) } else { Span::from_millis(50) };
    if (min..=max).contains(&typical) { typical } else { max }
}

/// Reads a value of `kind`.
pub(crate) fn read(kind: &Kind, node: &Node) -> Result<Value, Fault> {
    match kind {
        Kind::Span { min, max } => {
            let span = span(node)?;
            within(span, *min, *max, node).map(Value::Span)
        }
        Kind::Rate => rate(node).map(Value::Rate),
        Kind::Amount { min_packets, whole } => amount(node, *min_packets, *whole).map(Value::Amount),
        Kind::Number { min, max } => number(node, *min, *max).map(Value::Number),
        Kind::Integer { min, max } => match &node.data {
            Data::Integer(integer) => {
                let integer = u64::try_from(*integer).map_err(|_| node.unexpected())?;
                within(integer, *min, *max, node).map(Value::Integer)
            }
            _ => Err(node.unexpected()),
        },
        Kind::Boolean => match &node.data {
            Data::Boolean(boolean) => Ok(Value::Boolean(*boolean)),
            _ => Err(node.unexpected()),
        },
        Kind::Choice(words) => choice(node, words).map(Value::Choice),
        Kind::OrAuto(_) if node.as_text() == Some("auto") => Ok(Value::Auto),
        Kind::OrAuto(inner) => read(inner, node),
    }
}

fn within<T: PartialOrd + Copy>(value: T, min: T, max: T, node: &Node) -> Result<T, Fault> {
    if min <= value && value <= max { Ok(value) } else { Err(node.unexpected()) }
}

/// A length of time.
pub(crate) fn span(node: &Node) -> Result<Span, Fault> {
    let nanos = quantity::read(node, &[&TIME], false)?.integer().ok_or_else(|| node.unexpected())?;
    Ok(Span::from_nanos(nanos))
}

/// A rate.
pub(crate) fn rate(node: &Node) -> Result<Rate, Fault> {
    let bits = quantity::read(node, &[&RATE], false)?.integer().unwrap_or(u64::MAX);
    within(bits, 1, FASTEST, node)?;
    Rate::from_bits_per_second(bits).ok_or_else(|| node.unexpected())
}

fn amount(node: &Node, min_packets: f64, whole: bool) -> Result<Amount, Fault> {
    let quantity = quantity::read(node, &[&COUNT, &SIZE, &TIME], false)?;
    let number = quantity.float();
    if whole && number.fract() != 0.0 && !std::ptr::eq(quantity.dimension, &TIME) {
        return Err(Fault::new(format!("{}, which is not a whole number", node.shown())));
    }
    let least = if min_packets > 0.0 { 1.0 } else { 0.0 };
    if std::ptr::eq(quantity.dimension, &COUNT) {
        within(number, min_packets, MAX_PACKETS, node).map(Amount::Packets)
    } else if std::ptr::eq(quantity.dimension, &SIZE) {
        within(number, least, MAX_BYTES, node).map(Amount::Bytes)
    } else {
        let least = Span::from_nanos(least as u64);
        within(span(node)?, least, LONGEST_QUEUE, node).map(Amount::Time)
    }
}

fn number(node: &Node, min: f64, max: f64) -> Result<f64, Fault> {
    let number = match &node.data {
        Data::Integer(integer) => *integer as f64,
        Data::Float(float) => *float,
        _ => return Err(node.unexpected()),
    };
    // Minus zero is zero: both are written the same way.
    within(number, min, max, node).map(|number| number + 0.0)
}

/// One of `words`, of which `true` and `false` are written without quotes.
fn choice(node: &Node, words: &[&'static str]) -> Result<&'static str, Fault> {
    let Data::Boolean(flag) = node.data else {
        return word(node, words.iter().copied().filter(|word| as_flag(word).is_none()));
    };
    words.iter().copied().find(|word| as_flag(word) == Some(flag)).ok_or_else(|| node.unexpected())
}

/// What a word of a choice is where it is written as a flag.
pub(crate) fn as_flag(word: &str) -> Option<bool> {
    word.parse().ok()
}

/// One of `words`.
pub(crate) fn word(node: &Node, words: impl IntoIterator<Item = &'static str> + Clone) -> Result<&'static str, Fault> {
    let Some(text) = node.as_text() else { return Err(node.unexpected()) };
    match words.clone().into_iter().find(|word| *word == text) {
        Some(word) => Ok(word),
        None => Err(Fault::near(node.shown(), nearest(text, words))),
    }
}

/// A size in whole bytes.
pub(crate) fn bytes(node: &Node, min: u64, max: u64) -> Result<u64, Fault> {
    let quantity = quantity::read(node, &[&SIZE], false)?;
    if quantity.float().fract() != 0.0 {
        return Err(Fault::new(format!("{}, which is not a whole number of bytes", node.shown())));
    }
    within(quantity.integer().unwrap_or(u64::MAX), min, max, node)
}

/// Payload in bytes or full packets.
pub(crate) fn payload(node: &Node, max: u64) -> Result<Item, Fault> {
    let quantity = quantity::read(node, &[&SIZE, &COUNT], false)?;
    if !std::ptr::eq(quantity.dimension, &COUNT) {
        return bytes(node, 1, max).map(Item::Bytes);
    }
    if quantity.float().fract() != 0.0 {
        return Err(Fault::new(format!("{}, which is not a whole number", node.shown())));
    }
    // As many as there may be bytes, in the smallest packets.
    within(quantity.integer().unwrap_or(u64::MAX), 1, max, node).map(Item::FullPackets)
}

/// Packets per second.
pub(crate) fn packet_rate(node: &Node, min: f64, max: f64) -> Result<f64, Fault> {
    within(quantity::read(node, &[&PACE], false)?.float(), min, max, node)
}

/// A time that may be negative, in nanoseconds.
pub(crate) fn offset(node: &Node, most: Span) -> Result<i64, Fault> {
    let quantity = quantity::read(node, &[&TIME], true)?;
    let nanos = within(quantity.integer().unwrap_or(u64::MAX), 0, most.as_nanos(), node)? as i64;
    Ok(if quantity.negative { -nanos } else { nanos })
}

/// A differentiated services code point, by name or number.
pub(crate) fn dscp(node: &Node) -> Result<Dscp, Fault> {
    match &node.data {
        Data::Integer(number) => {
            u64::try_from(*number).ok().and_then(Dscp::from_number).ok_or_else(|| node.unexpected())
        }
        _ => {
            let name = word(node, Dscp::NAMES.iter().map(|&(name, _)| name))?;
            Dscp::from_name(name).ok_or_else(|| node.unexpected())
        }
    }
}

/// An address, or all addresses that begin alike.
pub(crate) fn addresses(node: &Node) -> Result<Addresses, Fault> {
    node.as_text().and_then(|text| text.parse().ok()).ok_or_else(|| node.unexpected())
}

/// What [`addresses`] allows.
pub(crate) const ADDRESSES: &str =
    "an IPv4 or IPv6 address, or one and the number of its first bits, such as \"192.0.2.0/24\"";

/// Free text.
pub(crate) fn text(node: &Node) -> Result<String, Fault> {
    const LONGEST: usize = 200;
    match node.as_text() {
        Some(text) if is_line(text) && text.chars().count() <= LONGEST => Ok(text.to_owned()),
        _ => Err(node.unexpected()),
    }
}

/// What [`text`] allows.
pub(crate) const TEXT: &str = "a text of 1 to 200 characters on one line";

/// Whether `text` is one line that is not blank.
pub(crate) fn is_line(text: &str) -> bool {
    !text.trim().is_empty() && !text.chars().any(char::is_control)
}

/// A name that keys and records can contain.
pub(crate) fn name(node: &Node, reserved: &[&str]) -> Result<String, Fault> {
    let Some(text) = node.as_text() else { return Err(node.unexpected()) };
    if reserved.contains(&text) {
        return Err(Fault::new(format!("{}, which is reserved", node.shown())));
    }
    if is_name(text) { Ok(text.to_owned()) } else { Err(node.unexpected()) }
}

/// What [`name`] allows.
pub(crate) const NAME: &str = "a letter, then up to 39 letters, digits, \"-\" and \"_\"";
/// [`NAME`] as a regular expression.
pub(crate) const NAME_PATTERN: &str = "^[A-Za-z][A-Za-z0-9_-]{0,39}$";

/// Whether `text` is a letter, then up to 39 letters, digits, hyphens and underscores.
pub(crate) fn is_name(text: &str) -> bool {
    text.len() <= 40
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|other| other.is_ascii_alphanumeric() || "-_".contains(other))
}

/// What `kind` is called in listings.
pub(crate) fn kind_name(kind: &Kind) -> &'static str {
    match kind {
        Kind::Span { .. } => "time",
        Kind::Rate => "rate",
        Kind::Amount { .. } => "amount",
        Kind::Number { .. } => "number",
        Kind::Integer { .. } => "integer",
        Kind::Boolean => "boolean",
        Kind::Choice(_) => "choice",
        Kind::OrAuto(inner) => kind_name(inner),
    }
}

/// The units that values of `kind` are written with, where they are.
pub(crate) fn units(kind: &Kind) -> Option<String> {
    let dimensions: &[&Dimension] = match kind {
        Kind::Span { .. } => &[&TIME],
        Kind::Rate => &[&RATE],
        Kind::Amount { .. } => &[&COUNT, &SIZE, &TIME],
        Kind::OrAuto(inner) => return units(inner),
        Kind::Number { .. } | Kind::Integer { .. } | Kind::Boolean | Kind::Choice(_) => return None,
    };
    Some(quantity::unit_names(dimensions).join(", "))
}

/// What `kind` allows, in a few words for a table of keys.
pub(crate) fn brief(kind: &Kind) -> String {
    match kind {
        Kind::Span { .. } | Kind::Rate | Kind::Boolean => kind_name(kind).to_owned(),
        Kind::Amount { .. } => "packets, size or time".to_owned(),
        Kind::Number { min, max } => format!("number, {min} to {max}"),
        Kind::Integer { min, max } => format!("whole number, {min} to {max}"),
        Kind::Choice(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" or "),
        Kind::OrAuto(inner) => format!("{}, or `auto`", brief(inner)),
    }
}
