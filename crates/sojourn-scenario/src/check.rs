//! Checks a tree of values against the [format](crate::format), key by key.

use crate::diagnostic::{Fault, Reporter, nearest, quote};
use crate::fields::{Fields, Item, as_rate, as_span};
use crate::form::{Form, Key, Part, Presence, Section, Select};
use crate::node::{Data, Entry, Node, Origin, Table};
use crate::quantity::PACE;
use crate::trace::Base;
use crate::{ready, source, trace, value};
use sojourn_core::registry::{FlowGroup, Kind};
use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::sync::Arc;

/// What checking needs beside the values.
pub(crate) struct Checker<'a, 'r> {
    pub reporter: &'r mut Reporter<'a>,
    pub base: &'a Base,
    /// The groups of the scenario with their flows.
    pub groups: &'a [FlowGroup],
}

/// The key `name` in the table `path`.
pub(crate) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

impl Checker<'_, '_> {
    /// Checks the table `node` of `section`. What is wrong is reported and left out.
    pub fn section(&mut self, section: &'static Section, node: &Node, path: &str) -> Fields {
        self.table(section, &[], node, path)
    }

    /// As [`Checker::section`]; `also` are keys that the table may have besides, and that others look at.
    fn table(&mut self, section: &'static Section, also: &[&'static str], node: &Node, path: &str) -> Fields {
        let empty = Table::default();
        let table = node.as_table().unwrap_or_else(|| {
            let fault = node.unexpected();
            self.reporter.error(node.origin, path, fault, "a table");
            &empty
        });
        let mut fields = Fields::new(section, node.origin);
        if node.as_table().is_none() {
            return fields;
        }
        self.unknown_keys(section, also, table, path);
        self.exclusive_keys(section, table, node.origin, path);
        for key in section.keys() {
            self.key(key, table, node.origin, path, &mut fields);
        }
        fields
    }

    fn key(&mut self, key: &'static Key, table: &Table, origin: Origin, path: &str, fields: &mut Fields) {
        let path = join(path, key.name);
        let unneeded = key.presence.unneeded_reason(table);
        let given = table.entry(key.name);
        let (node, origin) = match (given, &key.presence) {
            (Some(entry), _) => {
                if let Some(reason) = unneeded {
                    let found = Fault::new(entry.value.shown());
                    self.reporter.error(entry_origin(entry), &path, found, format!("no {}: {reason}", key.name));
                }
                (&entry.value, entry_origin(entry))
            }
            (None, Presence::Optional(_) | Presence::OptionalBeside { .. }) => return,
            (None, Presence::RequiredWithout(other)) if table.get(other).is_some() => return,
            (None, Presence::RequiredUnless { .. }) if unneeded.is_some() || key.form.is_foreign(table) => return,
            (None, Presence::Required | Presence::RequiredWithout(_) | Presence::RequiredUnless { .. }) => {
                self.reporter.error(origin, &path, Fault::new("nothing"), format!("{} (required)", allowed(&key.form)));
                return;
            }
            (None, Presence::Default(text)) => (&source::value_or_text(text, Origin::Unknown), origin),
        };
        if let Some(item) = self.form(&key.form, node, &path, table) {
            match given {
                Some(_) => fields.set(key.name, item, origin),
                None => fields.set_default(key.name, item, origin),
            }
        }
    }

    /// Checks a value against its form; `siblings` is the table it stands in.
    pub fn form(&mut self, form: &'static Form, node: &Node, path: &str, siblings: &Table) -> Option<Item> {
        let simple = match form {
            Form::Value(kind) => value::read(kind, node).map(Item::Value),
            Form::Bytes { min, max } => value::bytes(node, *min, *max).map(Item::Bytes),
            Form::PacketRate { min, max } => value::packet_rate(node, *min, *max).map(Item::PacketRate),
            Form::Payload { max } => value::payload(node, *max),
            Form::Offset(most) => value::offset(node, *most).map(Item::Offset),
            Form::Text => value::text(node).map(Item::Text),
            Form::Name { reserved } => value::name(node, reserved).map(Item::Text),
            Form::Dscp => value::dscp(node).map(Item::Dscp),
            Form::Addresses => value::addresses(node).map(Item::Addresses),
            Form::Trace => return self.trace(node, path),
            Form::Range(kind) => return self.range(kind, node, path),
            Form::Ladder { most } => return self.ladder(form, *most, node, path),
            Form::PerFlow { kind, table } => return self.per_flow(form, kind, *table, node, path),
            Form::Select(select) => return self.select(select, node, path),
            Form::Group => self.group(node).map(Item::Group),
            Form::OneOrMore(inner) => return self.one_or_more(form, inner, node, path, siblings),
            Form::Algorithm(_) if form.is_foreign(siblings) => value::text(node).map(Item::Text),
            Form::Algorithm(family) => return self.algorithm(family, node, path, siblings).map(Item::Chosen),
            Form::Table(section) => return Some(Item::Table(self.section(section, node, path))),
            Form::Part(part) => {
                self.part(part, node, path);
                // What it says is checked together with what it changes.
                return Some(Item::Table(Fields::new(part.of, node.origin)));
            }
            Form::Tables(section) => {
                let tables = self.tables(section, &[], node, path)?;
                return Some(Item::Tables(tables.into_iter().map(|table| table.fields).collect()));
            }
        };
        let allowed = || if form.is_foreign(siblings) { value::TEXT.to_owned() } else { allowed(form) };
        self.reported(simple, node, path, allowed)
    }

    fn reported<T>(
        &mut self,
        result: Result<T, Fault>,
        node: &Node,
        path: &str,
        allowed: impl FnOnce() -> String,
    ) -> Option<T> {
        result.map_err(|fault| self.reporter.error(node.origin, path, fault, allowed())).ok()
    }

    fn unknown_keys(&mut self, section: &'static Section, also: &[&'static str], table: &Table, path: &str) {
        let names: Vec<_> = also.iter().copied().chain(section.keys().map(|key| key.name)).collect();
        for entry in table.entries.iter().filter(|entry| !names.contains(&entry.key.as_str())) {
            let meant = self.reporter.nearest(&entry.key, &names);
            let hint = if meant.is_none() { section.owner(&entry.key) } else { None };
            let found = hint.unwrap_or_else(|| "an unknown key".to_owned());
            let path = join(path, &printable(&entry.key));
            self.reporter.error(entry_origin(entry), &path, Fault::near(found, meant), names.join(", "));
        }
    }

    fn exclusive_keys(&mut self, section: &Section, table: &Table, origin: Origin, path: &str) {
        let keys = section.exclusive();
        let given: Vec<_> = keys.iter().filter_map(|key| table.entry(key)).collect();
        let shared = has_shared_medium(table);
        match given[..] {
            [_, ..] | [] if keys.is_empty() => {}
            [] if shared => {}
            [first, ..] if shared => {
                let found = format!("{} beside a medium that stations share", first.key);
                let path = join(path, &first.key);
                self.reporter.error(
                    entry_origin(first),
                    &path,
                    Fault::new(found),
                    "no rate or trace: each [[station]] has its own",
                );
            }
            [] => {
                let found = format!("neither {}", keys.join(" nor "));
                self.reporter.error(origin, path, Fault::new(found), format!("one of {}", keys.join(", ")));
            }
            [_, second, ..] => {
                let found = format!("both {}", keys.join(" and "));
                let origin = entry_origin(second);
                self.reporter.error(origin, path, Fault::new(found), format!("one of {}", keys.join(", ")));
            }
            _ => {}
        }
    }

    fn trace(&mut self, node: &Node, path: &str) -> Option<Item> {
        let Some(name) = node.as_text() else {
            return self.reported(Err(node.unexpected()), node, path, || allowed(&Form::Trace));
        };
        match name.strip_prefix(ready::PREFIX) {
            Some(ready_name) => {
                let names = || ready::trace_names().collect::<Vec<_>>();
                let Some(found) = ready::trace(ready_name) else {
                    let meant = nearest(ready_name, names()).map(|meant| format!("{}{meant}", ready::PREFIX));
                    let allowed = names().iter().map(|name| format!("{}{name}", ready::PREFIX)).collect::<Vec<_>>();
                    self.reporter.error(node.origin, path, Fault::near(quote(name), meant), allowed.join(", "));
                    return None;
                };
                Some(Item::Trace(found))
            }
            None => match trace::open(name, self.base) {
                Ok(trace) => Some(Item::Trace(Arc::new(trace))),
                Err(error) => {
                    self.reporter.error(node.origin, path, Fault::new(error.found), error.allowed);
                    None
                }
            },
        }
    }

    fn range(&mut self, kind: &'static Kind, node: &Node, path: &str) -> Option<Item> {
        let allowed = || format!("two times, the first not after the second, each {}", value::allowed(kind));
        let ends = match &node.data {
            Data::List(ends) if ends.len() == 2 => ends,
            Data::List(ends) => {
                let fault = Fault::new(format!("a list of {}", ends.len()));
                return self.reported(Err(fault), node, path, allowed);
            }
            _ => return self.reported(Err(node.unexpected()), node, path, allowed),
        };
        let values = self.values(kind, ends, path)?;
        if as_span(values[0]) > as_span(values[1]) {
            let fault = Fault::new(format!("{} before {}", ends[0].shown(), ends[1].shown()));
            return self.reported(Err(fault), node, path, allowed);
        }
        Some(Item::Values(values))
    }

    fn ladder(&mut self, form: &Form, most: usize, node: &Node, path: &str) -> Option<Item> {
        let rungs = match &node.data {
            Data::List(rungs) if (1..=most).contains(&rungs.len()) => rungs,
            Data::List(rungs) => {
                let fault = Fault::new(format!("a list of {}", rungs.len()));
                return self.reported(Err(fault), node, path, || allowed(form));
            }
            _ => return self.reported(Err(node.unexpected()), node, path, || allowed(form)),
        };
        let values = self.values(&Kind::Rate, rungs, path)?;
        let rates = values.iter().map(|&value| as_rate(value).bits_per_second());
        match rates.clone().zip(rates.skip(1)).position(|(one, next)| one >= next) {
            Some(place) => {
                let fault = Fault::new(format!("{} before {}", rungs[place].shown(), rungs[place + 1].shown()));
                self.reported(Err(fault), node, path, || allowed(form))
            }
            None => Some(Item::Values(values)),
        }
    }

    fn values(
        &mut self,
        kind: &'static Kind,
        nodes: &[Node],
        path: &str,
    ) -> Option<Vec<sojourn_core::registry::Value>> {
        let checked: Vec<_> = nodes
            .iter()
            .map(|node| self.reported(value::read(kind, node), node, path, || value::allowed(kind)))
            .collect();
        checked.into_iter().collect()
    }

    fn per_flow(
        &mut self,
        form: &Form,
        kind: &'static Kind,
        table: Option<&'static Section>,
        node: &Node,
        path: &str,
    ) -> Option<Item> {
        match (&node.data, table) {
            (Data::List(nodes), _) if !nodes.is_empty() => self.values(kind, nodes, path).map(Item::Values),
            (Data::Table(_), Some(section)) => Some(Item::Table(self.section(section, node, path))),
            (Data::Table(_) | Data::List(_), _) => self.reported(Err(node.unexpected()), node, path, || allowed(form)),
            _ => self.reported(value::read(kind, node), node, path, || allowed(form)).map(Item::Value),
        }
    }

    fn select(&mut self, select: &'static Select, node: &Node, path: &str) -> Option<Item> {
        let table = select.expanded(node);
        let Some(entries) = table.as_table() else {
            return self.reported(Err(node.unexpected()), node, path, || allowed_select(select));
        };
        let kind_path = join(path, "kind");
        let Some(word) = entries.get("kind") else {
            let allowed = select.names().collect::<Vec<_>>().join(", ");
            self.reporter.error(node.origin, &kind_path, Fault::new("nothing"), allowed);
            return None;
        };
        let names = || select.names().collect::<Vec<_>>();
        let name = self.reported(value::word(word, names()), word, &kind_path, || names().join(", "))?;
        let section = select.kind(name).expect("a word of the list has a kind");
        Some(Item::Table(self.table(section, &["kind"], &table, path)))
    }

    /// Checks a list of tables, addressed by their names; `also` as for a single one.
    pub fn tables<'n>(
        &mut self,
        section: &'static Section,
        also: &[&'static str],
        node: &'n Node,
        path: &str,
    ) -> Option<Vec<Element<'n>>> {
        let Data::List(nodes) = &node.data else {
            return self.reported(Err(node.unexpected()), node, path, || format!("a list of tables, [[{path}]]"));
        };
        let mut seen = HashMap::new();
        let mut all = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            let name = node.as_table().and_then(|table| table.get("name"));
            let known = name.and_then(Node::as_text).filter(|name| value::is_name(name));
            let path = join(path, &known.map_or_else(|| index.to_string(), str::to_owned));
            if let (Some(known), Some(name)) = (known, name) {
                self.duplicate(&mut seen, known, name.origin, &join(&path, "name"));
            }
            all.push(Element { fields: self.table(section, also, node, &path), node, path });
        }
        Some(all)
    }

    fn group(&self, node: &Node) -> Result<FlowGroup, Fault> {
        let Some(name) = node.as_text() else { return Err(node.unexpected()) };
        let names = || self.groups.iter().map(|group| group.name.as_str());
        let found = self.groups.iter().find(|group| group.name == name).cloned();
        found.ok_or_else(|| Fault::near(format!("{}, which is no group", quote(name)), nearest(name, names())))
    }

    fn one_or_more(
        &mut self,
        form: &'static Form,
        inner: &'static Form,
        node: &Node,
        path: &str,
        siblings: &Table,
    ) -> Option<Item> {
        let nodes = match &node.data {
            Data::List(nodes) if nodes.is_empty() => {
                return self.reported(Err(Fault::new("an empty list")), node, path, || allowed(form));
            }
            Data::List(nodes) => nodes.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let items: Vec<_> = nodes.iter().map(|node| self.form(inner, node, path, siblings)).collect();
        items.into_iter().collect::<Option<_>>().map(Item::List)
    }

    /// Checks that only what can change is named.
    fn part(&mut self, part: &'static Part, node: &Node, path: &str) {
        let nodes = match &node.data {
            Data::List(nodes) if part.listed => nodes.as_slice(),
            Data::Table(_) if !part.listed => std::slice::from_ref(node),
            _ => return self.reporter.error(node.origin, path, node.unexpected(), allowed(&Form::Part(part))),
        };
        let names: Vec<_> = part.all_keys().map(|key| key.name).collect();
        for (index, node) in nodes.iter().enumerate() {
            let Some(table) = node.as_table() else {
                self.reporter.error(node.origin, path, node.unexpected(), "a table");
                continue;
            };
            let path = if part.listed { join(path, &index.to_string()) } else { path.to_owned() };
            if part.listed && table.get("name").is_none() {
                let key = join(&path, "name");
                self.reporter.error(
                    node.origin,
                    &key,
                    Fault::new("nothing"),
                    format!("the name of a {} (required)", part.of.name),
                );
            }
            let exclusive = part.of.exclusive();
            if let [_, second, ..] = exclusive.iter().filter_map(|key| table.entry(key)).collect::<Vec<_>>()[..] {
                let found = format!("both {}", exclusive.join(" and "));
                let allowed = format!("one of {}", exclusive.join(", "));
                self.reporter.error(entry_origin(second), &path, Fault::new(found), allowed);
            }
            for entry in table.entries.iter().filter(|entry| !names.contains(&entry.key.as_str())) {
                let fixed = part.of.key(&entry.key).is_some();
                let meant = if fixed { None } else { self.reporter.nearest(&entry.key, &names) };
                let found = if fixed { "a key that cannot change while a run goes on" } else { "an unknown key" };
                let path = join(&path, &printable(&entry.key));
                self.reporter.error(entry_origin(entry), &path, Fault::near(found, meant), names.join(", "));
            }
        }
    }

    fn duplicate<'n>(&mut self, seen: &mut HashMap<&'n str, Origin>, name: &'n str, origin: Origin, path: &str) {
        match seen.entry(name) {
            Slot::Occupied(first) => {
                let found =
                    format!("{} a second time, after the one{}", quote(name), self.reporter.place(*first.get()));
                self.reporter.error(origin, path, Fault::new(found), "a name of its own for each");
            }
            Slot::Vacant(place) => {
                place.insert(origin);
            }
        }
    }
}

/// One of a list of tables.
pub(crate) struct Element<'n> {
    pub fields: Fields,
    pub node: &'n Node,
    pub path: String,
}

impl Presence {
    /// Why the key must be absent, where something else in `table` says so.
    fn unneeded_reason(&self, table: &Table) -> Option<&'static str> {
        match self {
            Presence::RequiredUnless { key, kinds, reason } => {
                let other = table.get(key)?;
                let word = other.as_text().or_else(|| other.as_table()?.get("kind")?.as_text());
                kinds.contains(&word?).then_some(reason)
            }
            Presence::OptionalBeside { .. } if has_shared_medium(table) => Some("the air is no wire"),
            Presence::OptionalBeside { key, reason, .. } => table.get(key).is_none().then_some(reason),
            _ => None,
        }
    }
}

/// Where an entry stands: the place of an override lies in its value.
pub(crate) fn entry_origin(entry: &Entry) -> Origin {
    match entry.value.origin {
        Origin::Override(_) => entry.value.origin,
        _ => entry.origin,
    }
}

/// A user's key as a part of a dotted key: bare where TOML lets it be bare.
pub(crate) fn printable(key: &str) -> String {
    if !key.is_empty() && key.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter)) {
        crate::diagnostic::shorten(key)
    } else {
        quote(key)
    }
}

impl Select {
    /// `node` as a table, where it is a short form of one.
    pub fn expanded(&self, node: &Node) -> Node {
        let is_kind = |text: &str| self.kind(text).is_some() || self.short.is_none();
        let entry = |key: &str, value: Node| Entry { key: key.to_owned(), origin: node.origin, value };
        let entries = match (&node.data, self.short) {
            (Data::Table(_) | Data::List(_), _) => return node.clone(),
            (Data::Text(text), _) if is_kind(text) => vec![entry("kind", node.clone())],
            (_, Some((kind, key))) => {
                vec![entry("kind", Node::text(kind, node.origin)), entry(key, node.clone())]
            }
            _ => return node.clone(),
        };
        Node::new(Data::Table(Table { entries }), node.origin)
    }
}

/// What a form allows, in words.
pub(crate) fn allowed(form: &Form) -> String {
    match form {
        Form::Value(kind) => value::allowed(kind),
        Form::Bytes { min, max } => format!("a size from {min} B to {max} B, such as \"1500 B\""),
        Form::PacketRate { min, max } => {
            format!("a rate of packets from {min} to {max} packets/s, such as \"{}\"", PACE.example)
        }
        Form::Payload { max } => {
            format!("a size from 1 B to {max} B or in packets, such as \"100 kB\" or \"10 packets\"")
        }
        Form::Offset(most) => format!("a time from -{most} to {most}, such as \"-5 s\""),
        Form::Text => value::TEXT.to_owned(),
        Form::Name { reserved } => format!("{}, except {}", value::NAME, reserved.join(", ")),
        Form::Trace => "a file name, or ready:NAME".to_owned(),
        Form::Dscp => {
            let names: Vec<_> = sojourn_queue::Dscp::NAMES.iter().map(|&(name, _)| name).collect();
            format!("a number from 0 to 63, or one of {}", names.join(", "))
        }
        Form::Addresses => value::ADDRESSES.to_owned(),
        Form::Group => "the name of a group of this scenario".to_owned(),
        Form::OneOrMore(inner) => format!("{}; or a list of them", allowed(inner)),
        Form::Range(kind) => format!("two values, each {}", value::allowed(kind)),
        Form::Ladder { most } => {
            format!("up to {most} rates, each above the one before, such as [\"1 Mbit/s\", \"3 Mbit/s\"]")
        }
        Form::PerFlow { kind, table } => {
            let table = table.map_or("", |_| ", or a table such as { uniform = [\"0 s\", \"0.1 s\"] }");
            format!("{}, or a list of one for each flow{table}", value::allowed(kind))
        }
        Form::Select(select) => allowed_select(select),
        Form::Algorithm(family) => format!("one of {}, or a table", family.words().join(", ")),
        Form::Table(section) => format!("a table [{}]", section.name),
        Form::Tables(section) => format!("at least one [[{}]]", section.name),
        Form::Part(part) => {
            let keys: Vec<_> = part.all_keys().map(|key| key.name).collect();
            format!("{} with any of {}", if part.listed { "a list of tables" } else { "a table" }, keys.join(", "))
        }
    }
}

fn allowed_select(select: &Select) -> String {
    let short = match select.short {
        Some((kind, key)) => {
            let key = select.kind(kind).and_then(|section| section.key(key)).expect("a short form names a key");
            format!("{}, or ", allowed(&key.form))
        }
        None => String::new(),
    };
    let names: Vec<_> = select.names().map(|name| format!("\"{name}\"")).collect();
    if select.short.is_some() {
        format!("{short}a table with kind = {}", names.join(" or "))
    } else {
        format!("{}, or a table with one of them as its kind", names.join(", "))
    }
}

/// Whether the table of a link gives it a medium that stations share, so that it has no rate of its own.
fn has_shared_medium(link: &Table) -> bool {
    let Some(medium) = link.get("medium") else { return false };
    let word = medium.as_text().or_else(|| medium.as_table()?.get("kind")?.as_text());
    word.is_some_and(|word| sojourn_media::NAMES.contains(&word))
}
