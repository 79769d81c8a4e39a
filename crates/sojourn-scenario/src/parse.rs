//! From text to a [`Scenario`] and back.

use crate::check::Checker;
use crate::diagnostic::{Diagnostic, Diagnostics, Fault, Reporter, quote};
use crate::form::LONGEST;
use crate::format::{MAX_FLOWS_IN_ALL, SCENARIO};
use crate::node::{Data, Node, Origin, Table};
use crate::trace::{Base, regular_size};
use crate::traffic::default_connections;
use crate::{Scenario, access, build, changes, describe, overrides, quantity, repeated, rules, source, value, write};
use sojourn_core::Span;
use sojourn_core::registry::{FlowGroup, Kind, Value};
use sojourn_queue::Dscp;
use std::path::Path;

/// A scenario that can be run, and what is unwise about it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Loaded {
    /// The scenario.
    pub scenario: Scenario,
    /// Legal but unwise settings.
    pub warnings: Vec<Diagnostic>,
}

/// What a scenario without a file is called.
const UNNAMED: &str = "scenario";
/// Largest scenario file that is read.
const LARGEST_FILE: u64 = 8 << 20;

impl Scenario {
    /// Reads a scenario from TOML.
    ///
    /// `file` is what messages call the text, and gives the scenario its name where the text does not;
    /// `base` is where it finds the files it names. `overrides` are `dotted.key=value`: the value is
    /// TOML or, where that fails, a text without quotes; groups and hops are addressed by name or, from
    /// 0, by their place in the file.
    ///
    /// # Errors
    /// All problems of the text and the overrides.
    pub fn parse(text: &str, file: Option<&str>, base: &Base, overrides: &[String]) -> Result<Loaded, Diagnostics> {
        parse(source::toml, text, file, base, overrides)
    }

    /// Reads a scenario from JSON of the same shape; otherwise as [`Scenario::parse`].
    ///
    /// # Errors
    /// All problems of the text and the overrides.
    pub fn parse_json(
        text: &str,
        file: Option<&str>,
        base: &Base,
        overrides: &[String],
    ) -> Result<Loaded, Diagnostics> {
        parse(source::json, text, file, base, overrides)
    }

    /// Reads the scenario in the TOML file `path`.
    ///
    /// # Errors
    /// A file that cannot be read, or all problems of its text and the overrides.
    pub fn load(path: &Path, overrides: &[String]) -> Result<Loaded, Diagnostics> {
        let file = path.display().to_string();
        let text = read(path, &file)?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Scenario::parse(&text, Some(&file), &Base::Folder(folder), overrides)
    }

    /// The scenario as a file with every default spelt out, from which it is read again unchanged.
    pub fn to_toml(&self) -> String {
        write::toml(&write::table(&describe::scenario(self)))
    }

    /// As [`Scenario::to_toml`], in JSON.
    pub fn to_json(&self) -> serde_json::Value {
        write::json(&write::table(&describe::scenario(self)))
    }
}

type Reader = fn(&str, &mut Reporter<'_>) -> Node;

fn parse(
    reader: Reader,
    text: &str,
    file: Option<&str>,
    base: &Base,
    overrides: &[String],
) -> Result<Loaded, Diagnostics> {
    let mut reporter = Reporter::new(file.unwrap_or(UNNAMED), overrides);
    let mut root = reader(text, &mut reporter);
    if !reporter.problems.is_empty() {
        // What a parser recovers from broken text only leads to more messages.
        return Err(reporter.finish());
    }
    // What is set of a link is set of the link that the line has filled; what the line adds depends on the duration.
    let of_access = |text: &str| ["access", "duration"].iter().any(|key| text.trim_start().starts_with(key));
    let had_access = root.as_table().is_some_and(|root| root.get("access").is_some());
    overrides::apply(&mut root, overrides, of_access, &mut reporter);
    if !had_access {
        access::make_room(&mut root);
    }
    let has_links = access::expand(&mut root, &mut reporter);
    overrides::apply(&mut root, overrides, |text| !of_access(text), &mut reporter);
    repeated::expand(&mut root, &mut reporter);
    let groups = flow_groups(&root);
    let fields = Checker { reporter: &mut reporter, base, groups: &groups }.section(&SCENARIO, &root, "");
    // What is said beside links that are not there only leads to more messages.
    if has_links {
        rules::check(&fields, &mut reporter);
    }
    if !reporter.problems.is_empty() {
        return Err(reporter.finish());
    }
    let mut checker = Checker { reporter: &mut reporter, base, groups: &groups };
    let changes = changes::resolve(&mut checker, root, &fields);
    if !reporter.problems.is_empty() {
        return Err(reporter.finish());
    }
    let stem = file.and_then(|file| Path::new(file).file_stem()).and_then(|stem| stem.to_str());
    let scenario =
        build::scenario(&fields, &changes, stem.filter(|stem| crate::value::is_line(stem)).unwrap_or(UNNAMED));
    Ok(Loaded { scenario, warnings: reporter.warnings.list().to_vec() })
}

/// The groups that a file names and their flows, which are numbered in its order; what is wrong counts as little as can
/// be, since it will be refused.
fn flow_groups(root: &Node) -> Vec<FlowGroup> {
    let Some(Data::List(groups)) = root.as_table().and_then(|table| table.get("group")).map(|groups| &groups.data)
    else {
        return Vec::new();
    };
    let mut first = 0;
    let mut group = |node: &Node| {
        let table = node.as_table()?;
        let flows = match table.get("flows").map(|flows| &flows.data) {
            Some(Data::Integer(flows)) => u32::try_from(*flows).unwrap_or(0),
            _ => 1,
        };
        let flows = flows.saturating_mul(connections(table));
        let range = first..flows.saturating_add(first).min(MAX_FLOWS_IN_ALL as u32);
        first = range.end;
        Some(FlowGroup { name: table.get("name")?.as_text()?.to_owned(), flows: range })
    };
    groups.iter().filter_map(&mut group).collect()
}

/// How many connections each flow of a group may have at once: the simulator numbers all of them.
fn connections(group: &Table) -> u32 {
    let traffic = group.get("traffic").and_then(Node::as_table);
    let Some((traffic, kind)) = traffic.and_then(|table| Some((table, table.get("kind")?.as_text()?))) else {
        return 1;
    };
    match traffic.get("connections").map(|connections| &connections.data) {
        Some(Data::Integer(connections)) => u32::try_from(*connections).unwrap_or(0),
        _ => default_connections(kind),
    }
}

/// Reads a length of time of at least 1 us, written as in a scenario file; messages call it `what`.
///
/// # Errors
/// Anything else.
pub fn read_time(what: &str, text: &str) -> Result<Span, Diagnostics> {
    let kind = Kind::Span { min: Span::from_micros(1), max: LONGEST };
    match value::read(&kind, &Node::text(text, Origin::Unknown)) {
        Ok(Value::Span(span)) => Ok(span),
        Ok(other) => unreachable!("a time was read as {other:?}"),
        Err(fault) => {
            let mut reporter = Reporter::new(what, &[]);
            reporter.error(Origin::Unknown, "", fault, value::allowed(&kind));
            Err(reporter.finish())
        }
    }
}

/// A number with a unit, in the dimension's basic unit: `s`, `bit/s`, `B` or `packets`; `None` for any other text.
pub fn read_quantity(text: &str) -> Option<(f64, &'static str)> {
    quantity::basic(&Node::text(text, Origin::Unknown))
}

/// The number of the differentiated services code point called `name`; `None` for any other text.
pub fn read_code_point(name: &str) -> Option<u8> {
    Dscp::from_name(name).map(Dscp::number)
}

fn read(path: &Path, file: &str) -> Result<String, Diagnostics> {
    let failed = |found: String, allowed: &str| {
        let mut reporter = Reporter::new(file, &[]);
        reporter.error(Origin::Unknown, "", Fault::new(found), allowed);
        reporter.finish()
    };
    let size = regular_size(path, file).map_err(|error| failed(error.found, &error.allowed))?;
    if size > LARGEST_FILE {
        return Err(failed(format!("a file of {} MiB", size >> 20), "a scenario file of at most 8 MiB"));
    }
    let bytes =
        std::fs::read(path).map_err(|error| failed(format!("{} ({error})", quote(file)), "a file that can be read"))?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.iter().filter(|&&byte| byte == b'\n').count() + 1;
        failed(format!("a byte in line {line} that is not UTF-8"), "text in UTF-8")
    })
}
