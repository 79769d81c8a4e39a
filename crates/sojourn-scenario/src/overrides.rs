//! Applies `key=value` overrides to a tree of values.

use crate::check::join;
use crate::diagnostic::{Fault, Reporter, nearest, quote};
use crate::form::{Family, Form, Key, Part, Presence, Section, Select};
use crate::format::SCENARIO;
use crate::node::{Data, Entry, Node, Origin, Table};
use crate::source;

/// What the keys of a table mean.
#[derive(Clone, Copy)]
enum Level {
    Section(&'static Section),
    /// Some keys of a section: what is not there is not the default.
    Part(&'static Section),
    Select(&'static Select),
    Family(&'static Family),
}

/// Applies each of `overrides` that is `wanted` to the scenario `root`, in order.
pub(crate) fn apply(root: &mut Node, overrides: &[String], wanted: impl Fn(&str) -> bool, reporter: &mut Reporter<'_>) {
    for (index, text) in overrides.iter().enumerate().filter(|(_, text)| wanted(text)) {
        let origin = Origin::Override(index);
        let Some((key, value)) = text.split_once('=') else {
            reporter.error(origin, "", Fault::new(quote(text)), "KEY=VALUE, such as bottleneck.rate=4Mbit/s");
            continue;
        };
        let segments: Vec<_> = key.split('.').map(str::trim).collect();
        let value = source::value_or_text(value, origin);
        let controls = controls(root);
        if let Err((fault, allowed)) = set(Level::Section(&SCENARIO), root, &segments, value) {
            reporter.error(origin, key.trim(), fault, allowed);
        }
        retitle(root, &controls);
    }
}

/// Sets in the table `node` of `section` what `part` says of it. A table of an algorithm that names none sets single keys.
pub(crate) fn merge(section: &'static Section, node: &mut Node, part: &Table, reporter: &mut Reporter<'_>, path: &str) {
    for Entry { key, origin, value } in part.entries.iter().filter(|entry| entry.key != "name") {
        let chooses = |table: &Table| table.get("kind").is_some() || table.get("preset").is_some();
        let single = match (section.key(key).map(|key| &key.form), value.as_table()) {
            (Some(Form::Algorithm(_)), Some(table)) if !chooses(table) => Some(table),
            (Some(Form::Table(_)), Some(table)) => Some(table),
            _ => None,
        };
        let done = match single {
            None => set(Level::Section(section), node, &[key], value.clone()),
            Some(table) => table
                .entries
                .iter()
                .try_for_each(|entry| set(Level::Section(section), node, &[key, &entry.key], entry.value.clone())),
        };
        if let Err((fault, allowed)) = done {
            reporter.error(*origin, &join(path, key), fault, allowed);
        }
        if let (None, Data::Table(table)) = (single, &mut node.data)
            && let Some(entry) = table.entries.iter_mut().find(|entry| entry.key == *key)
        {
            entry.origin = *origin;
        }
    }
}

/// The name of each group's control, in the order of the groups.
fn controls(root: &Node) -> Vec<Option<String>> {
    groups(root).iter().map(|group| control(group).map(str::to_owned)).collect()
}

fn groups(root: &Node) -> &[Node] {
    match root.as_table().and_then(|table| table.get("group")).map(|list| &list.data) {
        Some(Data::List(groups)) => groups,
        _ => &[],
    }
}

fn control(group: &Node) -> Option<&str> {
    let control = group.as_table()?.get("control")?;
    control.as_text().or_else(|| control.as_table()?.get("kind")?.as_text())
}

/// A title that names the control a group had before, in `controls`, names the one that it has now.
fn retitle(root: &mut Node, controls: &[Option<String>]) {
    let Data::Table(table) = &mut root.data else { return };
    let Some(Node { data: Data::List(groups), .. }) = table.get_mut("group") else { return };
    for (group, before) in groups.iter_mut().zip(controls) {
        let Some(now) = control(group).map(str::to_owned).filter(|now| before.as_ref() != Some(now)) else { continue };
        let Data::Table(table) = &mut group.data else { continue };
        if let Some(title) = table.get_mut("title")
            && title.as_text().zip(before.as_deref()).is_some_and(|(title, before)| title.eq_ignore_ascii_case(before))
        {
            title.data = Data::Text(now);
        }
    }
}

/// The discipline that a bare word chooses, with the limit of the buffer in the table that it replaces, where it has one.
fn with_limit_of(before: Option<&Node>, family: &Family, value: Node) -> Node {
    let kept = || {
        let chosen = family.member(value.as_text()?)?;
        let limit = before?.as_table()?.entry(LIMIT)?;
        chosen.parameter(LIMIT).map(|_| limit.clone())
    };
    let Some(limit) = kept() else { return value };
    let mut table = family.expanded(&value);
    if let Data::Table(table) = &mut table.data {
        table.entries.push(limit);
    }
    table
}

/// The parameter of a discipline that says how much may wait.
const LIMIT: &str = "limit";

type Refusal = (Fault, String);

fn set(level: Level, node: &mut Node, segments: &[&str], value: Node) -> Result<(), Refusal> {
    let origin = value.origin;
    level.make_table(node, origin);
    let Data::Table(table) = &mut node.data else {
        return Err((node.unexpected(), "a table".to_owned()));
    };
    let (first, rest) = segments.split_first().expect("a key has at least one part");
    if rest.is_empty() {
        level.make_way(table, first);
        let value = match level.key(first).map(|key| &key.form) {
            Ok(Form::Algorithm(family)) => with_limit_of(table.get(first), family, value),
            _ => value,
        };
        table.put(first, value);
        return Ok(());
    }
    let key = level.key(first)?;
    let child = table.get_or_insert(key.name, origin, || match level {
        Level::Part(_) => Node::new(Data::Table(Table::default()), origin),
        _ => missing(key, origin),
    });
    match &key.form {
        Form::Table(section) | Form::PerFlow { table: Some(section), .. } => {
            set(Level::Section(section), child, rest, value)
        }
        Form::Select(select) => set(Level::Select(select), child, rest, value),
        Form::Algorithm(family) => set(Level::Family(family), child, rest, value),
        Form::Tables(section) => set_element(section.name, Level::Section(section), child, rest, value),
        Form::Part(part) if part.listed => set_element(part.of.name, Level::Part(part.of), child, rest, value),
        Form::Part(part) => set(Level::Part(part.of), child, rest, value),
        _ => Err((Fault::new(format!("the key {}", quote(rest[0]))), format!("{first} itself, which has no keys"))),
    }
}

/// Sets something in one of the tables of a list, which is addressed by name or index.
fn set_element(noun: &str, level: Level, list: &mut Node, segments: &[&str], value: Node) -> Result<(), Refusal> {
    let Data::List(elements) = &mut list.data else {
        return Err((list.unexpected(), format!("a list of tables, [[{noun}]]")));
    };
    let (address, rest) = segments.split_first().expect("a list is addressed by name or index");
    let names: Vec<_> = elements.iter().map(|element| name_of(element).unwrap_or_default().to_owned()).collect();
    let by_name = names.iter().position(|name| name == address);
    let by_index = || address.parse().ok().filter(|&index| index < elements.len());
    let Some(index) = by_name.or_else(by_index) else {
        let meant = nearest(address, names.iter().map(String::as_str));
        let allowed = if names.is_empty() { format!("no {noun}, there is none") } else { names.join(", ") };
        return Err((Fault::near(format!("{}, which is no {noun}", quote(address)), meant), allowed));
    };
    if rest.is_empty() {
        elements[index] = value;
        return Ok(());
    }
    set(level, &mut elements[index], rest, value)
}

fn name_of(element: &Node) -> Option<&str> {
    element.as_table()?.get("name")?.as_text()
}

/// What an override finds where the file has no such key.
fn missing(key: &Key, origin: Origin) -> Node {
    match (&key.presence, &key.form) {
        (Presence::Default(text), _) => source::value_or_text(text, origin),
        (_, Form::Tables(_) | Form::Part(Part { listed: true, .. })) => Node::new(Data::List(Vec::new()), origin),
        _ => Node::new(Data::Table(Table::default()), origin),
    }
}

impl Level {
    /// Turns the short form of a table into the table.
    fn make_table(self, node: &mut Node, origin: Origin) {
        match self {
            Level::Select(select) => *node = select.expanded(node),
            Level::Family(family) => *node = family.expanded(node),
            // A time alone gives way to a table with random ones.
            Level::Section(section) if section.exclusive().is_empty() && !matches!(node.data, Data::Table(_)) => {
                *node = Node::new(Data::Table(Table::default()), origin);
            }
            Level::Part(_) if !matches!(node.data, Data::Table(_)) => {
                *node = Node::new(Data::Table(Table::default()), origin);
            }
            Level::Section(_) | Level::Part(_) => {}
        }
    }

    /// Removes the keys that the key `name` replaces.
    fn make_way(self, table: &mut Table, name: &str) {
        let section = match self {
            Level::Section(section) | Level::Part(section) => Some(section),
            Level::Select(select) => table.get("kind").and_then(Node::as_text).and_then(|kind| select.kind(kind)),
            Level::Family(_) => None,
        };
        if let Some(section) = section {
            let exclusive = section.exclusive();
            let others = exclusive.iter().filter(|other| exclusive.contains(&name) && **other != name);
            others.for_each(|other| table.remove(other));
        }
    }

    /// The key `name`, which must have keys of its own.
    fn key(self, name: &str) -> Result<&'static Key, Refusal> {
        let refusal = |names: Vec<&'static str>| {
            let meant = nearest(name, names.iter().copied());
            (Fault::near(format!("the unknown key {}", quote(name)), meant), names.join(", "))
        };
        match self {
            Level::Section(section) | Level::Part(section) => {
                section.key(name).ok_or_else(|| refusal(section.keys().map(|key| key.name).collect()))
            }
            Level::Family(family) if family.nested.is_some() && family.owners(name).next().is_none() => {
                family.nested_key(name).ok_or_else(|| refusal(family.nested_keys().map(|key| key.name).collect()))
            }
            Level::Select(_) | Level::Family(_) => {
                Err((Fault::new(format!("a key below {}", quote(name))), "one value for each parameter".to_owned()))
            }
        }
    }
}
