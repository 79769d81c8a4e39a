//! Changes while a run goes on, each as the complete links and controls that are in force from then on.

use crate::check::{Checker, entry_origin, join, printable};
use crate::declare::Table as _;
use crate::diagnostic::{Fault, nearest};
use crate::fields::{Fields, Item};
use crate::form::{Form, Part, Section};
use crate::format::SCENARIO;
use crate::node::{Data, Node, Origin, Table};
use crate::stations::has_air;
use crate::types::Rerouted;
use crate::{GroupChange, GroupKeys, Which, derived, overrides, routes, rules};
use sojourn_core::Span;

/// Most changes of a scenario, those that happen again counted each time.
const MOST: usize = 10_000;

/// A change whose links and controls are complete.
pub(crate) struct Resolved {
    pub name: Option<String>,
    pub at: Span,
    pub links: Vec<ResolvedLink>,
    pub groups: Vec<GroupChange>,
}

/// A link as it is after a change.
pub(crate) struct ResolvedLink {
    pub which: Which,
    /// What the change names of it.
    pub keys: Vec<&'static str>,
    pub fields: Fields,
}

/// The changes of the file `root`, whose other values are `base`, in order of time. Each is checked by the rules for links as
/// a part of the file that it makes.
pub(crate) fn resolve(checker: &mut Checker<'_, '_>, mut root: Node, base: &Fields) -> Vec<Resolved> {
    let list = match &mut root.data {
        Data::Table(table) => table.entries.iter_mut().find(|entry| entry.key == "change"),
        _ => None,
    };
    let Some(Data::List(nodes)) = list.map(|entry| std::mem::replace(&mut entry.value.data, Data::Boolean(false)))
    else {
        return Vec::new();
    };
    let Some(duration) = base.span("duration") else { return Vec::new() };
    let mut order: Vec<(Span, usize, bool)> = (base.tables("change").iter().enumerate())
        .flat_map(|(index, change)| occasions(change, duration).map(move |(at, again)| (at, index, again)))
        .take(MOST + 1)
        .collect();
    if order.len() > MOST {
        let found = Fault::new(format!("more than {MOST} changes, counting each repetition"));
        checker.reporter.error(base.origin_of("change"), "change", found, format!("at most {MOST}"));
        return Vec::new();
    }
    order.sort_by_key(|&(at, ..)| at);
    let mut present = Present { root, fields: base.clone() };
    let mut changes = Vec::new();
    for (at, index, again) in order {
        let fields = &base.tables("change")[index];
        let name = fields.text("name").map(str::to_owned);
        let path = join("change", &name.clone().unwrap_or_else(|| index.to_string()));
        at_a_time_of_the_run(checker, duration, fields, at, &path);
        let (links, groups) = present.change(checker, nodes[index].as_table(), &path);
        if !checker.reporter.problems.is_empty() {
            // The next one would only repeat what is wrong.
            return Vec::new();
        }
        changes.push(Resolved { name: name.filter(|_| !again), at, links, groups });
    }
    changes
}

/// When a change happens in a run of `duration`, and whether it has happened before.
fn occasions(change: &Fields, duration: Span) -> impl Iterator<Item = (Span, bool)> + use<> {
    let (first, every) = (change.span("at"), change.span("every"));
    let next = move |&at: &Span| every.map(|every| at + every).filter(|&at| at < duration);
    std::iter::successors(first, next).enumerate().map(|(number, at)| (at, number > 0))
}

fn at_a_time_of_the_run(checker: &mut Checker<'_, '_>, duration: Span, change: &Fields, at: Span, path: &str) {
    if at >= duration {
        let found = Fault::new(format!("\"{at}\""));
        checker.reporter.error(change.origin_of("at"), &join(path, "at"), found, "a time before the end of the run");
    }
}

/// The file as changes so far have made it.
struct Present {
    root: Node,
    fields: Fields,
}

impl Present {
    fn change(
        &mut self,
        checker: &mut Checker<'_, '_>,
        change: Option<&Table>,
        path: &str,
    ) -> (Vec<ResolvedLink>, Vec<GroupChange>) {
        let (mut links, mut groups) = (Vec::new(), Vec::new());
        // What happens at one instant must not depend on the order in which a file says it.
        for (key, part) in parts() {
            let Some(entry) = change.and_then(|table| table.entry(key)) else { continue };
            let path = join(path, &entry.key);
            if !part.listed {
                links.extend(self.main(checker, part, &entry.value, entry_origin(entry), &path));
                continue;
            }
            let Data::List(nodes) = &entry.value.data else { continue };
            for node in nodes {
                if key == "group" {
                    groups.extend(self.group(checker, part, node, &path));
                } else {
                    links.extend(self.hop(checker, part, node, &path));
                }
            }
        }
        (links, groups)
    }

    /// A change of the bottleneck or the return link.
    fn main(
        &mut self,
        checker: &mut Checker<'_, '_>,
        part: &'static Part,
        node: &Node,
        origin: Origin,
        path: &str,
    ) -> Option<ResolvedLink> {
        let name = part.of.name;
        if has_air(&self.fields) {
            let found = Fault::new("a change of a medium that stations share");
            checker.reporter.error(origin, path, found, "changes of links with a rate or a trace");
            return None;
        }
        let Some(link) = child(&mut self.root, name) else {
            let found = Fault::new("a change of a link that is not there");
            checker.reporter.error(origin, path, found, format!("no change, or a section [{name}]"));
            return None;
        };
        let (keys, fields) = merged(checker, part.of, link, node.as_table()?, path);
        self.fields.set(name, Item::Table(fields.clone()), origin);
        rules::changed(&fields, path, &self.fields, checker.reporter);
        rules::shaper_changed(path, &keys, origin, &self.fields, checker.reporter);
        let which = if name == "reverse" { Which::Reverse } else { Which::Bottleneck };
        Some(ResolvedLink { which, keys, fields })
    }

    fn hop(
        &mut self,
        checker: &mut Checker<'_, '_>,
        part: &'static Part,
        node: &Node,
        path: &str,
    ) -> Option<ResolvedLink> {
        let Element { index, path, keys, fields } = self.element(checker, part, "hop", node, path)?;
        rules::changed(&fields, &path, &self.fields, checker.reporter);
        Some(ResolvedLink { which: Which::Hop(index), keys, fields })
    }

    fn group(
        &mut self,
        checker: &mut Checker<'_, '_>,
        part: &'static Part,
        node: &Node,
        path: &str,
    ) -> Option<GroupChange> {
        let before = self.fields.tables("group").to_vec();
        let Element { index, path, keys, fields } = self.element(checker, part, "group", node, path)?;
        rules::retuned(&before, index, &fields, &path, checker.reporter);
        let control = fields.chosen("control").filter(|_| keys.contains(&"control"));
        let is_rerouted = keys.iter().any(|key| ["path", "back"].contains(key));
        let rerouted = is_rerouted.then(|| self.rerouted(checker, &before[index], &fields, &path)).flatten();
        Some(GroupChange {
            group: index,
            rerouted,
            control: control.map(|control| control.params.clone()),
            rtt: keys.contains(&"rtt").then(|| derived::rtts(&fields)),
        })
    }

    /// The way of the group `fields`, which was `before` it names another one.
    fn rerouted(
        &self,
        checker: &mut Checker<'_, '_>,
        before: &Fields,
        fields: &Fields,
        path: &str,
    ) -> Option<Rerouted> {
        rules::rerouted(before, fields, path, &self.fields, checker.reporter);
        let GroupKeys { path, back, .. } = GroupKeys::read(fields)?;
        Some(Rerouted { path, back, routes: routes::of_group(fields, &self.fields).ok()? })
    }

    /// Makes the change `node` of one of the tables `list`, which it addresses by its name.
    fn element(
        &mut self,
        checker: &mut Checker<'_, '_>,
        part: &'static Part,
        list: &str,
        node: &Node,
        path: &str,
    ) -> Option<Element> {
        let table = node.as_table()?;
        let name = table.get("name")?;
        let mut all = self.fields.tables(list).to_vec();
        let names: Vec<_> = all.iter().map(|one| one.text("name").unwrap_or_default()).collect();
        let Some(index) = name.as_text().and_then(|name| names.iter().position(|known| *known == name)) else {
            let meant = name.as_text().and_then(|name| nearest(name, names.iter().copied())).map(str::to_owned);
            let found = Fault::near(format!("{}, which is no {list}", name.shown()), meant);
            let allowed = if names.is_empty() { format!("no {list}, there is none") } else { names.join(", ") };
            checker.reporter.error(name.origin, &join(path, "name"), found, allowed);
            return None;
        };
        let path = join(path, &printable(names[index]));
        let Data::List(nodes) = &mut child(&mut self.root, list)?.data else { return None };
        let (keys, fields) = merged(checker, part.of, &mut nodes[index], table, &path);
        all[index] = fields.clone();
        self.fields.set(list, Item::Tables(all), node.origin);
        Some(Element { index, path, keys, fields })
    }
}

/// One of a list of tables, changed.
struct Element {
    index: usize,
    path: String,
    /// What the change names of it.
    keys: Vec<&'static str>,
    fields: Fields,
}

/// The keys of a change that are parts of links, and what they are parts of.
fn parts() -> impl Iterator<Item = (&'static str, &'static Part)> {
    let Some(Form::Tables(change)) = SCENARIO.key("change").map(|key| &key.form) else {
        unreachable!("changes are a list of tables");
    };
    change.keys().filter_map(|key| match &key.form {
        Form::Part(part) => Some((key.name, *part)),
        _ => None,
    })
}

fn child<'n>(root: &'n mut Node, key: &str) -> Option<&'n mut Node> {
    let Data::Table(table) = &mut root.data else { return None };
    table.entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.value)
}

/// Puts `part` into `link`: the keys that it names, and the values of the whole.
fn merged(
    checker: &mut Checker<'_, '_>,
    section: &'static Section,
    link: &mut Node,
    part: &Table,
    path: &str,
) -> (Vec<&'static str>, Fields) {
    overrides::merge(section, link, part, checker.reporter, path);
    let named = |key: &&'static crate::form::Key| key.name != "name" && part.get(key.name).is_some();
    let keys = section.keys().filter(named).map(|key| key.name).collect();
    (keys, checker.section(section, link, path))
}
