//! Checks the choice of an algorithm and its parameters against the registry.

use crate::check::{Checker, Element, allowed, entry_origin, join, printable};
use crate::diagnostic::{Fault, Reporter};
use crate::fields::{Chosen, ChosenClass};
use crate::form::{Family, Form, Section};
use crate::node::{Data, Entry, Node, Origin, Table};
use crate::value;
use sojourn_core::registry::{Descriptor, Parameter, Params, Preset};

impl Checker<'_, '_> {
    /// Checks `node` as an algorithm of `family`; `siblings` is the table it stands in.
    pub fn algorithm(&mut self, family: &'static Family, node: &Node, path: &str, siblings: &Table) -> Option<Chosen> {
        let expanded = family.expanded(node);
        let Some(table) = expanded.as_table() else {
            let allowed = format!("one of {}, or a table", family.words().join(", "));
            self.reporter.error(node.origin, path, node.unexpected(), allowed);
            return None;
        };
        let descriptor = member(self.reporter, family, node, table, path)?;
        let preset = preset(self.reporter, descriptor, table, path);
        let implied = || family.preset_of.and_then(|key| siblings.get(key)).and_then(preset_word);
        let preset = match preset {
            Ok(Some(preset)) => Some(preset),
            Ok(None) => implied().and_then(|name| descriptor.preset(name)),
            Err(()) => None,
        };
        let mut chosen = Chosen::new(Params::new(descriptor, preset));
        let valid = parameters(self.reporter, family, &mut chosen, table, path);
        let held = self.held(family, &mut chosen, table, node.origin, path);
        (valid && held.is_some()).then_some(chosen)
    }

    /// Checks what the algorithm holds; `None` where something was wrong.
    fn held(
        &mut self,
        family: &'static Family,
        chosen: &mut Chosen,
        table: &Table,
        origin: Origin,
        path: &str,
    ) -> Option<()> {
        let Some(key) = family.held(chosen.params.descriptor()) else { return Some(()) };
        let path = join(path, key.name);
        let entry = table.entry(key.name);
        match &key.form {
            Form::Algorithm(inner) => {
                let Some(entry) = entry else {
                    let allowed = format!("{} (required)", allowed(&key.form));
                    self.reporter.error(origin, &path, Fault::new("nothing"), allowed);
                    return None;
                };
                let child = self.algorithm(inner, &entry.value, &path, table)?;
                chosen.hold(child, entry_origin(entry));
            }
            Form::Tables(section) => {
                // Whether there may be none is for the discipline to say.
                let Some(entry) = entry else { return Some(()) };
                chosen.classes_at(entry_origin(entry));
                self.classes(section, chosen, &entry.value, &path)?;
            }
            other => unreachable!("nothing is held as {other:?}"),
        }
        Some(())
    }

    fn classes(&mut self, section: &'static Section, chosen: &mut Chosen, node: &Node, path: &str) -> Option<()> {
        let descriptor = chosen.params.descriptor().class().expect("only algorithms with classes are asked");
        let names: Vec<_> = descriptor.parameters.iter().map(|parameter| parameter.name).collect();
        let problems = self.reporter.problems.list().len();
        for Element { fields, node, path } in self.tables(section, &names, node, path)? {
            let mut own = Chosen::new(Params::new(descriptor, None));
            for entry in node.as_table().into_iter().flat_map(|table| &table.entries) {
                if let Some(parameter) = descriptor.parameter(&entry.key) {
                    set(self.reporter, &mut own, parameter, entry, &join(&path, parameter.name));
                }
            }
            if self.reporter.problems.list().len() == problems {
                chosen.add(ChosenClass { fields, own });
            }
        }
        (self.reporter.problems.list().len() == problems).then_some(())
    }
}

/// The preset that the value of a key names, as a word or in a table.
fn preset_word(node: &Node) -> Option<&str> {
    node.as_text().or_else(|| node.as_table()?.get("preset")?.as_text())
}

fn member(
    reporter: &mut Reporter<'_>,
    family: &'static Family,
    node: &Node,
    table: &Table,
    path: &str,
) -> Option<&'static Descriptor> {
    if !family.choice {
        return family.built_in.first().copied();
    }
    let path = join(path, "kind");
    let names = family.words();
    match table.get("kind") {
        Some(word) => match value::word(word, names.iter().copied()) {
            Ok(name) => family.member(name),
            Err(fault) => {
                reporter.error(word.origin, &path, fault, names.join(", "));
                None
            }
        },
        None => family.default.and_then(|name| family.member(name)).or_else(|| {
            reporter.error(node.origin, &path, Fault::new("nothing"), format!("{} (required)", names.join(", ")));
            None
        }),
    }
}

/// The preset that the table asks for; an error is reported.
fn preset(
    reporter: &mut Reporter<'_>,
    descriptor: &'static Descriptor,
    table: &Table,
    path: &str,
) -> Result<Option<&'static Preset>, ()> {
    let Some(word) = table.get("preset") else { return Ok(None) };
    let names = || descriptor.presets.iter().map(|preset| preset.name);
    match value::word(word, names()) {
        Ok(name) => Ok(descriptor.preset(name)),
        Err(fault) => {
            let allowed = names().collect::<Vec<_>>().join(", ");
            let allowed = if allowed.is_empty() { "no preset".to_owned() } else { allowed };
            reporter.error(word.origin, &join(path, "preset"), fault, allowed);
            Err(())
        }
    }
}

/// Sets all parameters that the table gives; `false` where one of them was wrong.
fn parameters(
    reporter: &mut Reporter<'_>,
    family: &'static Family,
    chosen: &mut Chosen,
    table: &Table,
    path: &str,
) -> bool {
    let descriptor = chosen.params.descriptor();
    let mut valid = true;
    for entry in &table.entries {
        if entry.key == "preset" || (family.choice && entry.key == "kind") {
            continue;
        }
        if family.held(descriptor).is_some_and(|key| key.name == entry.key) {
            continue;
        }
        let path = join(path, &printable(&entry.key));
        match descriptor.parameter(&entry.key) {
            Some(parameter) => valid &= set(reporter, chosen, parameter, entry, &path),
            None if family.nested_key(&entry.key).is_some() => {
                holds_none(reporter, family, descriptor, entry, &path);
                valid = false;
            }
            None => {
                unknown(reporter, family, descriptor, entry, &path);
                valid = false;
            }
        }
    }
    valid
}

/// Sets a parameter; `false` where its value was wrong.
fn set(reporter: &mut Reporter<'_>, chosen: &mut Chosen, parameter: &Parameter, entry: &Entry, path: &str) -> bool {
    match value::read(&parameter.kind, &entry.value) {
        Ok(value) => {
            chosen.set(parameter.name, value, entry.value.origin);
            true
        }
        Err(fault) => {
            reporter.error(entry.value.origin, path, fault, value::allowed(&parameter.kind));
            false
        }
    }
}

/// What is said of classes or a child of an algorithm that has none.
fn holds_none(reporter: &mut Reporter<'_>, family: &Family, descriptor: &Descriptor, entry: &Entry, path: &str) {
    let has = |member: &&'static Descriptor| family.held(member).is_some_and(|key| key.name == entry.key);
    let others: Vec<_> = family.members().filter(has).map(|member| member.name).collect();
    let found = format!("a {} of {}, which has none", entry.key, descriptor.name);
    let allowed = format!("no {}; a {} with one is {}", entry.key, family.noun, others.join(", "));
    reporter.error(entry_origin(entry), path, Fault::new(found), allowed);
}

fn unknown(reporter: &mut Reporter<'_>, family: &Family, descriptor: &Descriptor, entry: &Entry, path: &str) {
    let others: Vec<_> = family.owners(&entry.key).collect();
    let mut names: Vec<_> = if family.choice { vec!["kind"] } else { Vec::new() };
    names.push("preset");
    names.extend(descriptor.parameters.iter().map(|parameter| parameter.name));
    names.extend(family.held(descriptor).map(|key| key.name));
    let (found, meant) = if others.is_empty() {
        (format!("an unknown parameter of {}", descriptor.name), reporter.nearest(&entry.key, &names))
    } else {
        (format!("a parameter of {}, which {} does not have", others.join(", "), descriptor.name), None)
    };
    reporter.error(entry.value.origin, path, Fault::near(found, meant), names.join(", "));
}

impl Family {
    /// `node` as a table, where it is the short form of one.
    pub fn expanded(&self, node: &Node) -> Node {
        match &node.data {
            Data::Text(_) => {
                let entry = Entry { key: self.word_key().to_owned(), origin: node.origin, value: node.clone() };
                Node::new(Data::Table(Table { entries: vec![entry] }), node.origin)
            }
            _ => node.clone(),
        }
    }
}
