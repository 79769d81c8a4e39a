//! From what a Python class declares to a descriptor like those of built-in algorithms.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_core::registry::{Descriptor, Kind, Linux, Origin, Parameter, Params, Preset, Value};
use sojourn_core::{Rate, Span};

/// A parameter as Python declares it: name, kind, default, least and greatest value, words, description.
#[derive(FromPyObject)]
pub struct Declared {
    name: String,
    kind: String,
    default: Plain,
    min: Option<f64>,
    max: Option<f64>,
    words: Vec<String>,
    description: String,
}

/// A value as Python has it: times in ns, rates in bit/s.
#[derive(FromPyObject, Clone)]
pub enum Plain {
    #[pyo3(transparent)]
    Boolean(bool),
    #[pyo3(transparent)]
    Integer(u64),
    #[pyo3(transparent)]
    Number(f64),
    #[pyo3(transparent)]
    Word(String),
}

/// A preset: its name, whose it is, and the values that it sets.
type NamedSet = (String, String, Vec<(String, Plain)>);

/// What a plug-in says of itself.
#[derive(FromPyObject)]
pub struct About {
    name: String,
    summary: String,
    sources: Vec<String>,
    parameters: Vec<Declared>,
    presets: Vec<NamedSet>,
    low_priority: bool,
    origin: String,
    content: String,
}

/// A descriptor stays for the life of the process: scenarios that were read keep theirs when a new one takes the name.
fn forever<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

fn text(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

fn list<T>(values: Vec<T>) -> &'static [T] {
    Box::leak(values.into_boxed_slice())
}

/// The descriptor of a plug-in.
///
/// # Errors
/// A kind that there is not, or a default that is not of its kind.
pub fn descriptor(about: About) -> PyResult<&'static Descriptor> {
    let parameters: Vec<Parameter> = about.parameters.into_iter().map(parameter).collect::<PyResult<_>>()?;
    let parameters = list(parameters);
    let presets: Vec<Preset> = about
        .presets
        .into_iter()
        .map(|(name, summary, values)| {
            let values: Vec<(&'static str, Value)> = values
                .into_iter()
                .map(|(name, plain)| {
                    let parameter = parameters.iter().find(|parameter| parameter.name == name);
                    let parameter = parameter.ok_or_else(|| {
                        PyValueError::new_err(format!("a preset sets {name:?}, which is no parameter"))
                    })?;
                    Ok((parameter.name, value(parameter.name, &parameter.kind, &plain)?))
                })
                .collect::<PyResult<_>>()?;
            Ok(Preset { name: text(name), summary: text(summary), values: list(values) })
        })
        .collect::<PyResult<_>>()?;
    Ok(forever(Descriptor {
        name: text(about.name),
        summary: text(about.summary),
        sources: list(about.sources.into_iter().map(text).collect()),
        parameters,
        presets: list(presets),
        low_priority: about.low_priority,
        linux: Linux::Absent("it is a plug-in, which no kernel has"),
        origin: Origin::Plugin { from: text(about.origin), content: text(about.content) },
        ..Descriptor::PLAIN
    }))
}

fn parameter(declared: Declared) -> PyResult<Parameter> {
    let Declared { name, kind, default, min, max, words, description } = declared;
    let number = |bound: Option<f64>, other: f64| bound.unwrap_or(other);
    let whole = |bound: Option<f64>, other: u64| bound.map_or(other, |bound| bound as u64);
    let kind = match kind.as_str() {
        "time" => Kind::Span { min: Span::from_nanos(whole(min, 0)), max: Span::from_nanos(whole(max, LONGEST_NANOS)) },
        "rate" => Kind::Rate,
        "number" => Kind::Number { min: number(min, -LARGEST), max: number(max, LARGEST) },
        "integer" => Kind::Integer { min: whole(min, 0), max: whole(max, i64::MAX as u64) },
        "flag" => Kind::Boolean,
        "choice" => Kind::Choice(list(words.into_iter().map(text).collect())),
        other => return Err(PyValueError::new_err(format!("{name}: no kind of parameter is called {other:?}"))),
    };
    let default = value(&name, &kind, &default)?;
    Ok(Parameter { name: text(name), kind, default, description: text(description) })
}

/// An hour.
const LONGEST_NANOS: u64 = 3_600_000_000_000;
const LARGEST: f64 = 1e18;

fn value(name: &str, kind: &Kind, plain: &Plain) -> PyResult<Value> {
    let found = match (kind, plain) {
        (Kind::Span { .. }, Plain::Integer(nanos)) => Some(Value::Span(Span::from_nanos(*nanos))),
        (Kind::Rate, Plain::Integer(bits)) => Rate::from_bits_per_second(*bits).map(Value::Rate),
        (Kind::Number { .. }, Plain::Number(number)) => Some(Value::Number(*number)),
        (Kind::Number { .. }, Plain::Integer(integer)) => Some(Value::Number(*integer as f64)),
        (Kind::Integer { .. }, Plain::Integer(integer)) => Some(Value::Integer(*integer)),
        (Kind::Boolean, Plain::Boolean(flag)) => Some(Value::Boolean(*flag)),
        (Kind::Choice(words), Plain::Word(word)) => {
            words.iter().find(|known| *known == word).map(|known| Value::Choice(known))
        }
        _ => None,
    };
    found.ok_or_else(|| PyValueError::new_err(format!("{name}: its default is not a value of its kind")))
}

/// The values of a plug-in's parameters as Python takes them: times in ns, rates in bit/s.
///
/// # Errors
/// None that a user can cause.
pub fn values<'py>(py: Python<'py>, params: &Params) -> PyResult<Bound<'py, PyDict>> {
    let values = PyDict::new(py);
    for (parameter, value) in params.iter() {
        match value {
            Value::Span(span) => values.set_item(parameter.name, span.as_nanos())?,
            Value::Rate(rate) => values.set_item(parameter.name, rate.bits_per_second())?,
            Value::Number(number) => values.set_item(parameter.name, number)?,
            Value::Integer(integer) => values.set_item(parameter.name, integer)?,
            Value::Boolean(flag) => values.set_item(parameter.name, flag)?,
            Value::Choice(word) => values.set_item(parameter.name, word)?,
            Value::Amount(_) | Value::Auto => unreachable!("no plug-in declares such a parameter"),
        }
    }
    Ok(values)
}
