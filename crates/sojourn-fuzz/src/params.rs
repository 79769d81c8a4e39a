//! Parameters of algorithms, within what their descriptors allow.

use crate::tape::Tape;
use sojourn_core::registry::{Class, Descriptor, Holds, Kind, Members, Params, Value};
use sojourn_core::{Amount, Rate, Span};

/// Most of what counts things, so that a run stays short.
const MOST: u64 = 5_000;
/// Least bytes of a turn: below it a scheduler turns round very often for each packet.
const MIN_QUANTUM: u64 = 40;

/// An algorithm with a preset, and a few values of its own where the tape says so.
pub(crate) fn algorithm(tape: &mut Tape<'_>, descriptors: &[&'static Descriptor]) -> Params {
    let descriptor = descriptors[tape.below(descriptors.len())];
    let mut params = params(tape, descriptor);
    match descriptor.holds {
        Holds::Nothing => {}
        Holds::One => params.child = Some(Box::new(held(tape, descriptors))),
        Holds::Classes(of_class) => {
            let members = |dscp: &[u8]| Members { dscp: dscp.to_vec(), ..Members::default() };
            params.classes = [("voice", members(&[46, 44])), ("middle", members(&[10])), ("rest", Members::default())]
                .into_iter()
                .map(|(name, members)| Class {
                    parent: None,
                    name: name.to_owned(),
                    members,
                    params: self::params(tape, of_class),
                    queue: held(tape, descriptors),
                })
                .collect();
        }
    }
    params
}

/// An algorithm that holds no other.
fn held(tape: &mut Tape<'_>, descriptors: &[&'static Descriptor]) -> Params {
    let plain: Vec<_> =
        descriptors.iter().copied().filter(|descriptor| matches!(descriptor.holds, Holds::Nothing)).collect();
    let descriptor = plain[tape.below(plain.len())];
    params(tape, descriptor)
}

fn params(tape: &mut Tape<'_>, descriptor: &'static Descriptor) -> Params {
    let preset = (!descriptor.presets.is_empty() && tape.flag()).then(|| tape.below(descriptor.presets.len()));
    let mut params = Params::new(descriptor, preset.map(|index| &descriptor.presets[index]));
    if !descriptor.parameters.is_empty() {
        for _ in 0..tape.below(4) {
            let parameter = &descriptor.parameters[tape.below(descriptor.parameters.len())];
            let least = if parameter.name == "quantum" { MIN_QUANTUM } else { 0 };
            params.set(parameter.name, value(tape, &parameter.kind, least));
        }
    }
    params
}

fn value(tape: &mut Tape<'_>, kind: &Kind, least: u64) -> Value {
    match *kind {
        Kind::Span { min, max } => Value::Span(min + between(tape, max.saturating_sub(min))),
        Kind::Rate => Value::Rate(Rate::from_bits_per_second(1000 << tape.below(20)).expect("not zero")),
        Kind::Amount { min_packets, whole } => Value::Amount(amount(tape, min_packets, whole)),
        Kind::Number { min, max } => Value::Number(min + (max.min(1e6) - min) * tape.share().powi(3)),
        Kind::Integer { min, max } => {
            let min = min.max(least);
            Value::Integer(min + u64::from(tape.word()) % (max.min(min + MOST) - min + 1))
        }
        Kind::Boolean => Value::Boolean(tape.flag()),
        Kind::Choice(words) => Value::Choice(tape.one_of(words)),
        Kind::OrAuto(_) if tape.flag() => Value::Auto,
        Kind::OrAuto(inner) => value(tape, inner, least),
    }
}

/// Short spans more often than long ones.
fn between(tape: &mut Tape<'_>, most: Span) -> Span {
    most.mul_f64(tape.share().powi(4))
}

fn amount(tape: &mut Tape<'_>, min_packets: f64, whole: bool) -> Amount {
    match tape.below(3) {
        0 => {
            let packets = min_packets + f64::from(tape.word() % 2000) / if whole { 1.0 } else { 8.0 };
            Amount::Packets(packets)
        }
        1 => Amount::Bytes(f64::from(tape.word()) * 8.0 + 1500.0),
        _ => Amount::Time(Span::from_micros(u64::from(tape.word()) * 16 + 1000)),
    }
}
