//! Reads TOML and JSON text into [nodes](crate::node).

use crate::diagnostic::{Fault, Reporter};
use crate::node::{Data, Entry, Node, Origin, Table};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// Reads a TOML document; its syntax errors go to `reporter`.
pub(crate) fn toml(text: &str, reporter: &mut Reporter<'_>) -> Node {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = Lines::new(text);
    let (document, mut errors) = DeTable::parse_recoverable(text);
    errors.sort_by_key(|error| error.span().map(|span| span.start));
    let mut last_line = None;
    for error in &errors {
        let origin = error.span().map_or(Origin::Unknown, |span| lines.origin(span.start));
        let line = origin.line();
        if line.is_some() && line == last_line {
            // What follows in the same line is a consequence of the first mistake in it.
            continue;
        }
        last_line = line;
        reporter.error(origin, "", Fault::new(syntax(error.message())), "TOML (https://toml.io)");
    }
    let origin = |start| lines.origin(start);
    Node::new(Data::Table(table(document.get_ref(), &origin)), Origin::Unknown)
}

fn syntax(message: &str) -> String {
    format!("text that is not TOML ({})", message.trim().replace('\n', ", "))
}

/// Reads one TOML value, such as the right side of an override; the text itself where it is not one.
pub(crate) fn value_or_text(text: &str, origin: Origin) -> Node {
    match DeValue::parse(text.trim()) {
        Ok(parsed) if !matches!(parsed.get_ref(), DeValue::Datetime(_)) => node(&parsed, &|_| origin),
        _ => Node::text(text.trim(), origin),
    }
}

/// Whether `text` is a TOML value as it stands, and not a text without quotes.
pub(crate) fn is_toml_value(text: &str) -> bool {
    DeValue::parse(text).is_ok()
}

type Place<'a> = dyn Fn(usize) -> Origin + 'a;

fn node(value: &Spanned<DeValue<'_>>, place: &Place<'_>) -> Node {
    let data = match value.get_ref() {
        DeValue::String(text) => Data::Text(text.to_string()),
        DeValue::Integer(integer) => i128::from_str_radix(integer.as_str(), integer.radix())
            .map_or_else(|_| Data::Other(crate::diagnostic::shorten(integer.as_str())), Data::Integer),
        DeValue::Float(float) => {
            float.as_str().parse().map_or_else(|_| Data::Other(crate::diagnostic::shorten(float.as_str())), Data::Float)
        }
        DeValue::Boolean(boolean) => Data::Boolean(*boolean),
        DeValue::Datetime(datetime) => Data::Other(format!("the date or time {datetime}")),
        DeValue::Array(array) => Data::List(list(array, place)),
        DeValue::Table(entries) => Data::Table(table(entries, place)),
    };
    Node::new(data, place(value.span().start))
}

fn list(array: &DeArray<'_>, place: &Place<'_>) -> Vec<Node> {
    array.iter().map(|value| node(value, place)).collect()
}

fn table(entries: &DeTable<'_>, place: &Place<'_>) -> Table {
    let mut sorted: Vec<_> = entries.iter().collect();
    sorted.sort_by_key(|(key, _)| key.span().start);
    let entry = |(key, value): (&Spanned<_>, &Spanned<_>)| Entry {
        key: ToString::to_string(key.get_ref()),
        origin: place(key.span().start),
        value: node(value, place),
    };
    Table { entries: sorted.into_iter().map(entry).collect() }
}

/// Longest line whose characters are counted, so that a huge line does not take forever.
const LONGEST_COUNTED: usize = 4096;

/// Where the lines of a text start.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Lines<'a> {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(index, _)| index + 1)).collect();
        Lines { text, starts }
    }

    fn origin(&self, offset: usize) -> Origin {
        let line = self.starts.partition_point(|&start| start <= offset);
        let start = self.starts[line - 1];
        let before = self.text.get(start..offset).unwrap_or("");
        // Characters where people would count them, bytes in lines that no one looks at.
        let column = if before.len() <= LONGEST_COUNTED { before.chars().count() } else { before.len() };
        Origin::File { line: line as u32, column: column as u32 + 1 }
    }
}

/// Reads a JSON object; `null` stands for an absent key. Its syntax error goes to `reporter`.
pub(crate) fn json(text: &str, reporter: &mut Reporter<'_>) -> Node {
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(value) => json_node(value),
        Err(error) => {
            let origin = Origin::File { line: error.line() as u32, column: error.column() as u32 };
            reporter.error(origin, "", Fault::new(format!("text that is not JSON ({error})")), "JSON (RFC 8259)");
            Node::new(Data::Table(Table::default()), Origin::Unknown)
        }
    }
}

fn json_node(value: serde_json::Value) -> Node {
    use serde_json::Value;
    let data = match value {
        Value::Null => Data::Other("null".to_owned()),
        Value::Bool(boolean) => Data::Boolean(boolean),
        Value::Number(number) => match number.as_i128() {
            Some(integer) => Data::Integer(integer),
            None => number.as_f64().map_or_else(|| Data::Other(number.to_string()), Data::Float),
        },
        Value::String(text) => Data::Text(text),
        Value::Array(values) => Data::List(values.into_iter().map(json_node).collect()),
        Value::Object(entries) => Data::Table(Table {
            entries: entries
                .into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| Entry { key, origin: Origin::Unknown, value: json_node(value) })
                .collect(),
        }),
    };
    Node::new(data, Origin::Unknown)
}
