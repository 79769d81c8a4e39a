//! Checks the choice of an algorithm and its parameters against the registry.

use crate::check::{join, printable};
use crate::diagnostic::{Fault, Reporter};
use crate::fields::{Chosen, Item};
use crate::format::{Family, Form, Section};
use crate::node::{Data, Entry, Node, Table};
use crate::value;
use sojourn_core::registry::{Descriptor, Params, Preset};

/// Checks `node` as an algorithm of `family`; `siblings` is the table it stands in.
pub(crate) fn check(
    reporter: &mut Reporter<'_>,
    family: &'static Family,
    node: &Node,
    path: &str,
    siblings: &Table,
) -> Option<Item> {
    let expanded = family.expanded(node);
    let Some(table) = expanded.as_table() else {
        reporter.error(
            node.origin,
            path,
            node.unexpected(),
            format!("one of {}, or a table", family.words().join(", ")),
        );
        return None;
    };
    let descriptor = member(reporter, family, node, table, path)?;
    let preset = preset(reporter, descriptor, table, path);
    let implied = || family.preset_of.and_then(|key| siblings.get(key)).and_then(preset_word);
    let preset = match preset {
        Ok(Some(preset)) => Some(preset),
        Ok(None) => implied().and_then(|name| descriptor.preset(name)),
        Err(()) => None,
    };
    let mut chosen = Chosen::new(Params::new(descriptor, preset));
    let valid = parameters(reporter, family, &mut chosen, table, path);
    valid.then_some(Item::Chosen(chosen))
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
        return family.members.first().copied();
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
        let path = join(path, &printable(&entry.key));
        match descriptor.parameter(&entry.key) {
            None => {
                unknown(reporter, family, descriptor, entry, &path);
                valid = false;
            }
            Some(parameter) => match value::read(&parameter.kind, &entry.value) {
                Ok(value) => chosen.set(parameter.name, value, entry.value.origin),
                Err(fault) => {
                    reporter.error(entry.value.origin, &path, fault, value::allowed(&parameter.kind));
                    valid = false;
                }
            },
        }
    }
    valid
}

fn unknown(reporter: &mut Reporter<'_>, family: &Family, descriptor: &Descriptor, entry: &Entry, path: &str) {
    let others: Vec<_> = owners(family, &entry.key).collect();
    let mut names: Vec<_> = if family.choice { vec!["kind"] } else { Vec::new() };
    names.push("preset");
    names.extend(descriptor.parameters.iter().map(|parameter| parameter.name));
    let (found, meant) = if others.is_empty() {
        (format!("an unknown parameter of {}", descriptor.name), reporter.nearest(&entry.key, &names))
    } else {
        (format!("a parameter of {}, which {} does not have", others.join(", "), descriptor.name), None)
    };
    reporter.error(entry.value.origin, path, Fault::near(found, meant), names.join(", "));
}

fn owners<'n>(family: &'n Family, parameter: &'n str) -> impl Iterator<Item = &'static str> + 'n {
    family.members.iter().filter(move |member| member.parameter(parameter).is_some()).map(|member| member.name)
}

/// What to say of a key that `section` does not have but one of its algorithms does.
pub(crate) fn owner(section: &'static Section, key: &str) -> Option<String> {
    section.keys().find_map(|sibling| {
        let Form::Algorithm(family) = &sibling.form else { return None };
        let owner = owners(family, key).next()?;
        Some(format!("a parameter of the {} {owner}, which belongs in the table `{}`", family.noun, sibling.name))
    })
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
