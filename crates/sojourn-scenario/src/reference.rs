//! The reference of the scenario file, for the user guide: a page of its sections, and others of what can be named there.

use crate::families::{CONTROLS, FRAMINGS, MEDIA, NOISES, PROTECTIONS, QUEUES, SHAPERS, TRANSPORTS};
use crate::form::{Family, Form, Key, Presence, Section, Select};
use crate::format::SCENARIO;
use crate::quantity::{COUNT, Dimension, PACE, RATE, SIZE, TIME, unit_names};
use crate::{ready, source, value, write};
use sojourn_core::registry::Descriptor;
use std::fmt::Write as _;

/// The pages in Markdown, with their places below docs/. The guide holds copies, which a test keeps current.
pub fn reference_pages() -> Vec<(&'static str, String)> {
    let pages = PAGES.iter().map(|page| (page.place, of_families(page)));
    std::iter::once(("guide/scenario.md", file())).chain(pages).collect()
}

/// A page of families.
struct Page {
    place: &'static str,
    title: &'static str,
    families: &'static [&'static Family],
}

const PAGES: [Page; 5] = [
    Page { place: "reference/queues.md", title: "Queue disciplines: parameters and presets", families: &[&QUEUES] },
    Page {
        place: "reference/controls.md",
        title: "Congestion controls: parameters and presets",
        families: &[&CONTROLS],
    },
    Page { place: "reference/transport.md", title: "Transport: parameters and presets", families: &[&TRANSPORTS] },
    Page {
        place: "reference/shapers.md",
        title: "Controllers of a gateway's shapers: parameters",
        families: &[&SHAPERS],
    },
    Page {
        place: "reference/access.md",
        title: "Access lines and media: parameters",
        families: &[&FRAMINGS, &MEDIA, &NOISES, &PROTECTIONS],
    },
];
const GENERATED: &str =
    "<!-- Generated from the format's description in crates/sojourn-scenario. Do not edit by hand. -->\n";

/// The page of the file's sections.
fn file() -> String {
    let mut page = String::new();
    introduction(&mut page);
    quantities(&mut page);
    let mut done = Vec::new();
    section(&mut page, &SCENARIO, "The top of the file", &mut done);
    page
}

fn of_families(page: &Page) -> String {
    let mut text = format!("# {}\n\n{GENERATED}", page.title);
    text.push_str("\nThe sections that name these are in [the scenario file](../guide/scenario.md).\n");
    for &one in page.families {
        family(&mut text, one, page.families.len() > 1);
    }
    text
}

const INTRODUCTION: &str = "\
# The scenario file

<!-- Generated from the format's description in crates/sojourn-scenario. Do not edit by hand. -->

A scenario is a TOML file: a bottleneck, a queue discipline, and groups of flows that cross it. The same keys
make up a JSON document or a Python dictionary.

`sojourn check FILE` reads a file without running it, and names every problem with its line, the key, what was
found, what is allowed and the nearest valid name. `sojourn schema` prints the JSON Schema, with which editors
complete and check a file as it is written.

What the keys can name has pages of its own: [queue disciplines](../reference/queues.md),
[congestion controls](../reference/controls.md), [the transport](../reference/transport.md), [access lines and
media](../reference/access.md).
";

const OVERRIDES: &str = "\
## Overrides

`--set KEY=VALUE` changes one value of a file. The key has dots; groups and hops are addressed by name, or from 0
by their place in the file. Text needs no quotes:

```sh
sojourn run first.toml --set bottleneck.rate=4Mbit/s --set group.background.control=newreno --set hop.0.loss=0.01
```

A bare word chooses another queue discipline for the same buffer: it keeps the `limit` that the file gives. A table is all that
there is then. A group's `title` that names its control names the new one where the control is changed.

Classes of a queue are addressed by name or place as well: `bottleneck.queue.class.voice.weight=2`.

Setting `queue`, `control`, `traffic` and the like replaces the whole table; setting a key inside of it keeps the
others. Setting `trace` removes `rate`, and the other way round.
";

fn introduction(page: &mut String) {
    page.push_str(INTRODUCTION);
    let first = ready().iter().find(|ready| ready.name == "first").expect("there is a first scenario");
    let _ = writeln!(page, "\n```toml\n{}```\n\n{OVERRIDES}", first.text);
}

/// Dimensions, and what is written in them.
fn quantities(page: &mut String) {
    page.push_str(
        "## Quantities\n\nQuantities are texts with a number and a unit; a number without one is an error.\n\n",
    );
    page.push_str("| Quantity | Units | Example |\n|---|---|---|\n");
    for dimension in [&TIME, &RATE, &SIZE, &COUNT, &PACE] {
        let Dimension { noun, example, .. } = dimension;
        let noun = noun.strip_prefix("a ").unwrap_or(noun);
        let _ = writeln!(page, "| {noun} | {} | `\"{example}\"` |", code_list(&unit_names(&[dimension])));
    }
    page.push_str(
        "\nAn amount, such as the limit of a buffer, is a number of packets, a size, or a time at the link's rate.\n",
    );
}

fn code_list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// A table of the keys of `section`, then those of the tables in it; `done` names those already described.
fn section(page: &mut String, section: &'static Section, title: &str, done: &mut Vec<&'static str>) {
    let _ = writeln!(page, "\n## {title}\n\n{}", section.description);
    let known = section.base.is_some_and(|base| done.contains(&base.name));
    if known && section.own.is_empty() {
        page.push_str("\nIt has the keys of `[bottleneck]`.\n");
    } else {
        let shown = if known { section.own } else { section.base.map_or(section.own, |base| base.own) };
        keys(page, shown, section.exclusive());
        if known {
            page.push_str("\nBeside these it has the keys of `[bottleneck]`.\n");
        }
    }
    done.extend(section.base.map(|base| base.name));
    for key in section.keys() {
        inner(page, key, done);
    }
}

fn inner(page: &mut String, key: &'static Key, done: &mut Vec<&'static str>) {
    match &key.form {
        // A policer of one link is like that of another.
        Form::Table(inner) if !done.contains(&inner.name) => {
            done.push(inner.name);
            section(page, inner, &format!("`[{}]`", inner.name), done);
        }
        Form::Tables(inner) => section(page, inner, &format!("`[[{}]]`", inner.name), done),
        Form::Select(choice) if !done.contains(&key.name) => {
            done.push(key.name);
            select(page, key.name, choice, done);
        }
        Form::PerFlow { table: Some(table), .. } if !done.contains(&table.name) => {
            done.push(table.name);
            let _ = writeln!(page, "\n### Random {}\n\n{}.", table.name, table.description);
            keys(page, table.own, &[]);
        }
        _ => {}
    }
}

fn select(page: &mut String, name: &str, choice: &Select, done: &mut Vec<&'static str>) {
    let _ = writeln!(page, "\n### `{name}`");
    for kind in choice.kinds {
        let _ = writeln!(page, "\n`kind = \"{}\"`: {}.", kind.name, kind.description);
        keys(page, kind.own, kind.exclusive());
        for key in kind.keys() {
            inner(page, key, done);
        }
    }
}

fn keys(page: &mut String, keys: impl IntoIterator<Item = &'static Key>, exclusive: &[&str]) {
    page.push_str("\n| Key | Value | Default | Meaning | Example |\n|---|---|---|---|---|\n");
    for key in keys {
        let default = match key.presence {
            Presence::Required => "required".to_owned(),
            Presence::Default(text) => format!("`{}`", toml_of(text)),
            Presence::Optional(_) if exclusive.contains(&key.name) => {
                format!("one of {} is required", code_list(exclusive))
            }
            Presence::Optional(meaning) => meaning.to_owned(),
            Presence::OptionalBeside { key, meaning, reason } => format!("{meaning}; only with `{key}`: {reason}"),
            Presence::RequiredWithout(other) => format!("required without `{other}`"),
            Presence::RequiredUnless { key: other, kinds, reason } => {
                let except = format!("required, except with {other} {}: {reason}", code_list(kinds));
                match key.form.foreign_beside() {
                    Some(stack) => format!("{except}; or with `{stack}`"),
                    None => except,
                }
            }
        };
        let cells = [
            format!("`{}`", key.name),
            brief(&key.form),
            default,
            key.description.to_owned(),
            format!("`{} = {}`", key.name, toml_of(key.example)),
        ];
        row(page, &cells);
    }
}

fn row(page: &mut String, cells: &[String]) {
    let cells: Vec<_> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    let _ = writeln!(page, "| {} |", cells.join(" | "));
}

/// A default or an example as TOML writes it.
fn toml_of(text: &str) -> String {
    if source::is_toml_value(text) {
        text.to_owned()
    } else {
        write::toml_value(&write::Written::Text(text.to_owned()))
    }
}

/// What a key may hold, in a few words.
fn brief(form: &Form) -> String {
    match form {
        Form::Value(kind) => value::brief(kind),
        Form::Bytes { .. } => "size".to_owned(),
        Form::PacketRate { .. } => "rate of packets".to_owned(),
        Form::Payload { .. } => "size or packets".to_owned(),
        Form::Offset(_) => "time, may be negative".to_owned(),
        Form::Text => "text".to_owned(),
        Form::Name { .. } => format!("name: {}", value::NAME),
        Form::Trace => "file, or `ready:NAME`".to_owned(),
        Form::Dscp => "name or number".to_owned(),
        Form::Addresses => "address, or address/bits".to_owned(),
        Form::Group => "name of a group".to_owned(),
        Form::OneOrMore(inner) => format!("{}; or a list", brief(inner)),
        Form::Range(kind) => format!("two of: {}", value::brief(kind)),
        Form::Ladder { .. } => "list of rates".to_owned(),
        Form::PerFlow { kind, table } => {
            let table = if table.is_some() { ", or table" } else { "" };
            format!("{}, list of them{table}", value::brief(kind))
        }
        Form::Select(choice) => {
            let short = choice.short.and_then(|(kind, key)| choice.kind(kind)?.key(key));
            let short = short.map_or_else(String::new, |key| format!("{}, or ", brief(&key.form)));
            format!("{short}kind, or table: {}", code_list(&choice.names().collect::<Vec<_>>()))
        }
        Form::Algorithm(family) => format!("word or table: {}", code_list(&family.words())),
        Form::Table(_) => "table".to_owned(),
        Form::Tables(_) => "list of tables".to_owned(),
        Form::Part(part) => {
            let keys: Vec<_> = part.all_keys().map(|key| key.name).collect();
            format!("{} of {}", if part.listed { "list of tables" } else { "table" }, code_list(&keys))
        }
    }
}

fn family(page: &mut String, family: &'static Family, titled: bool) {
    if titled {
        let _ = writeln!(page, "\n## {}", family.title);
    }
    if let Some(nested) = family.nested {
        page.push_str("\nSome hold others, under a key that is not a parameter:\n");
        keys(page, [&nested.child, &nested.class], &[]);
        if let Form::Tables(class) = &nested.class.form {
            let _ = writeln!(page, "\n## `[[{}]]`\n\n{}", class.name, class.description);
            keys(page, class.own, &[]);
        }
    }
    for member in family.built_in.iter().copied() {
        descriptor(page, member, family.choice, if titled { "###" } else { "##" });
        match family.held(member).map(|key| key.name) {
            Some(key) if member.class().is_none() => {
                let _ = writeln!(page, "\nIt holds one other, its `{key}`.");
            }
            Some(key) => {
                let _ = writeln!(page, "\nIt holds one other for each `{key}`.");
            }
            None => {}
        }
        if let Some(class) = member.class().filter(|class| !class.parameters.is_empty()) {
            page.push_str("\n| Of each class | Value | Default | Meaning |\n|---|---|---|---|\n");
            parameters(page, class);
        }
    }
}

fn descriptor(page: &mut String, descriptor: &Descriptor, titled: bool, level: &str) {
    if titled {
        let _ = writeln!(page, "\n{level} `{}`", descriptor.name);
    }
    let _ = writeln!(page, "\n{}. Sources: {}.", capitalised(descriptor.summary), descriptor.sources.join("; "));
    if !descriptor.parameters.is_empty() {
        page.push_str("\n| Parameter | Value | Default | Meaning |\n|---|---|---|---|\n");
    }
    parameters(page, descriptor);
    if !descriptor.presets.is_empty() {
        page.push_str("\n| Preset | What it is | Values that differ |\n|---|---|---|\n");
    }
    for preset in descriptor.presets {
        let set = |(name, one): &(&str, _)| format!("`{name} = {}`", write::toml_value(&write::value(*one)));
        let values: Vec<_> = preset.values.iter().map(set).collect();
        row(page, &[format!("`{}`", preset.name), preset.summary.to_owned(), values.join(", ")]);
    }
}

fn parameters(page: &mut String, descriptor: &Descriptor) {
    for parameter in descriptor.parameters {
        let cells = [
            format!("`{}`", parameter.name),
            value::brief(&parameter.kind),
            format!("`{}`", write::toml_value(&write::value(parameter.default))),
            parameter.description.to_owned(),
        ];
        row(page, &cells);
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
