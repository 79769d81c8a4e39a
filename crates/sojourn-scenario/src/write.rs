//! Writes a scenario as canonical text: every key in the order of the documentation, every default spelt out.

use crate::describe;
use crate::fields::{Fields, Item};
use crate::form::{Family, Form};
use crate::value::as_flag;
use sojourn_core::Span;
use sojourn_core::registry::{Class, Params, Value};
use std::fmt::Write as _;

/// A written value: what TOML and JSON have in common.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Written {
    Text(String),
    Integer(u64),
    Number(f64),
    Boolean(bool),
    List(Vec<Written>),
    /// A table with a heading of its own in TOML.
    Section(Vec<(&'static str, Written)>),
    /// A table in the line of its key in TOML.
    Inline(Vec<(&'static str, Written)>),
}

/// The table that `fields` describe.
pub(crate) fn table(fields: &Fields) -> Vec<(&'static str, Written)> {
    fields.iter().filter_map(|(key, slot)| slot.map(|slot| (key.name, item(&slot.item, &key.form)))).collect()
}

pub(crate) fn item(item: &Item, form: &Form) -> Written {
    match item {
        Item::Value(one) => value(*one),
        Item::Bytes(bytes) => Written::Text(format!("{bytes} B")),
        Item::PacketRate(rate) => Written::Text(format!("{rate} packets/s")),
        Item::FullPackets(packets) => Written::Text(format!("{packets} packets")),
        Item::Offset(nanos) => Written::Text(offset(*nanos)),
        Item::Text(text) => Written::Text(text.clone()),
        Item::Dscp(dscp) => match dscp.name() {
            Some(name) => Written::Text(name.to_owned()),
            None => Written::Integer(u64::from(dscp.number())),
        },
        Item::Addresses(addresses) => Written::Text(addresses.to_string()),
        Item::Group(group) => Written::Text(group.name.clone()),
        Item::List(items) => match form {
            Form::OneOrMore(inner) => Written::List(items.iter().map(|one| self::item(one, inner)).collect()),
            _ => unreachable!("only keys for several values hold a list"),
        },
        Item::Trace(trace) => Written::Text(trace.name.clone()),
        Item::Values(values) => Written::List(values.iter().map(|&one| value(one)).collect()),
        Item::Chosen(chosen) => match form {
            Form::Algorithm(family) => Written::Section(algorithm(&chosen.params, family)),
            _ => unreachable!("only keys for algorithms hold one"),
        },
        Item::Table(fields) => match form {
            Form::Select(_) => Written::Inline(with_kind(fields)),
            Form::PerFlow { .. } => Written::Inline(table(fields)),
            _ => Written::Section(table(fields)),
        },
        Item::Tables(tables) => Written::List(tables.iter().map(|fields| Written::Section(table(fields))).collect()),
    }
}

fn with_kind(fields: &Fields) -> Vec<(&'static str, Written)> {
    let mut entries = table(fields);
    entries.insert(0, ("kind", Written::Text(fields.section.name.to_owned())));
    entries
}

fn algorithm(params: &Params, family: &Family) -> Vec<(&'static str, Written)> {
    let kind = || ("kind", Written::Text(params.descriptor().name.to_owned()));
    let child = params.child.iter().map(|child| ("child", Written::Section(algorithm(child, family))));
    let classes: Vec<_> = params.classes.iter().map(|one| Written::Section(class(one))).collect();
    let classes = (!classes.is_empty()).then_some(("class", Written::List(classes)));
    family.choice.then(kind).into_iter().chain(parameters(params)).chain(child).chain(classes).collect()
}

fn parameters(params: &Params) -> impl Iterator<Item = (&'static str, Written)> {
    params.iter().map(|(parameter, one)| (parameter.name, value(one)))
}

fn class(class: &Class) -> Vec<(&'static str, Written)> {
    let mut entries = table(&describe::class(class));
    entries.extend(parameters(&class.params));
    entries
}

/// A value of a parameter.
pub(crate) fn value(value: Value) -> Written {
    match value {
        Value::Number(number) => Written::Number(number),
        Value::Integer(integer) => Written::Integer(integer),
        Value::Boolean(boolean) => Written::Boolean(boolean),
        Value::Choice(one) => word(one),
        other => Written::Text(other.to_string()),
    }
}

/// A word of a choice, of which `true` and `false` are flags.
pub(crate) fn word(word: &str) -> Written {
    as_flag(word).map_or_else(|| Written::Text(word.to_owned()), Written::Boolean)
}

fn offset(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    format!("{sign}{}", Span::from_nanos(nanos.unsigned_abs()))
}

/// The JSON form of a table.
pub(crate) fn json(entries: &[(&'static str, Written)]) -> serde_json::Value {
    entries.iter().map(|(key, written)| ((*key).to_owned(), json_value(written))).collect()
}

/// The JSON form of a value.
pub(crate) fn json_value(written: &Written) -> serde_json::Value {
    match written {
        Written::Text(text) => text.as_str().into(),
        Written::Integer(integer) => (*integer).into(),
        Written::Number(number) => (*number).into(),
        Written::Boolean(boolean) => (*boolean).into(),
        Written::List(list) => list.iter().map(json_value).collect(),
        Written::Section(entries) | Written::Inline(entries) => json(entries),
    }
}

/// The TOML form of a whole file.
pub(crate) fn toml(entries: &[(&'static str, Written)]) -> String {
    let mut text = String::new();
    toml_table(&mut text, "", entries);
    text
}

/// Writes plain values first, then tables: TOML wants it so.
fn toml_table(text: &mut String, path: &str, entries: &[(&'static str, Written)]) {
    for (key, written) in entries.iter().filter(|(_, written)| !written.has_heading()) {
        let _ = writeln!(text, "{key} = {}", toml_value(written));
    }
    for (key, written) in entries {
        let path = crate::check::join(path, key);
        match written {
            Written::Section(entries) => {
                let _ = writeln!(text, "\n[{path}]");
                toml_table(text, &path, entries);
            }
            Written::List(list) => {
                for element in list {
                    let Written::Section(entries) = element else { continue };
                    let _ = writeln!(text, "\n[[{path}]]");
                    toml_table(text, &path, entries);
                }
            }
            _ => {}
        }
    }
}

impl Written {
    fn has_heading(&self) -> bool {
        match self {
            Written::Section(_) => true,
            Written::List(list) => list.iter().any(Written::has_heading),
            _ => false,
        }
    }
}

/// The TOML form of a value in the line of its key.
pub(crate) fn toml_value(written: &Written) -> String {
    match written {
        Written::Text(text) => toml_text(text),
        Written::Integer(integer) => integer.to_string(),
        Written::Number(number) => format!("{number:?}"),
        Written::Boolean(boolean) => boolean.to_string(),
        Written::List(list) => {
            let elements: Vec<_> = list.iter().map(toml_value).collect();
            format!("[{}]", elements.join(", "))
        }
        Written::Section(entries) | Written::Inline(entries) => {
            let entries: Vec<_> = entries.iter().map(|(key, one)| format!("{key} = {}", toml_value(one))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
    }
}

/// A basic string of TOML 1.0.
fn toml_text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            control if control.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
