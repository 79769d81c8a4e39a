//! What the file's access line makes of its links.

use super::lines::{Keys, Line, Other, Path, Step, Way};
use super::profiles::{Profile, Settings};
use crate::check::entry_origin;
use crate::diagnostic::{Fault, Reporter, quote};
use crate::form::{Form, Section};
use crate::format::FILLED;
use crate::node::{Data, Entry, Node, Origin, Table};
use crate::{source, value};
use sojourn_core::Span;

/// The link of the way up behind a gateway that shapes, and that of the way down before it.
const MODEM: &str = "modem";
const ISP: &str = "isp";
/// What a line that an override names takes the place of.
const LINKS: [&str; 5] = ["bottleneck", "reverse", "hop", "station", "change"];

/// The access line of a file.
enum Access {
    Profile(&'static Profile),
    Line(&'static Line),
}

/// Removes the links of a file without an access line, whose place the line takes that an override names.
pub(crate) fn make_room(root: &mut Node) {
    if let Data::Table(root) = &mut root.data
        && root.get("access").and_then(Node::as_table).is_some_and(|access| access.get("line").is_some())
    {
        LINKS.iter().for_each(|link| root.remove(link));
    }
}

/// Fills the links that the file's access line is about with what the file leaves out, and adds what comes with the
/// line. A table for an algorithm that does not say which takes the line's, and changes it. What is wrong with the
/// line's own keys is found later. Returns false where no line has the name, so that its links are not there.
pub(crate) fn expand(root: &mut Node, reporter: &mut Reporter<'_>) -> bool {
    let Data::Table(root) = &mut root.data else { return true };
    let Some(access) = root.get("access").and_then(Node::as_table) else { return true };
    let names_line = access.get("line").is_some();
    let Some((line, origin)) = Access::of(access, reporter) else { return !names_line };
    lay(root, &line, origin, reporter);
    true
}

/// Fills the links by a line.
fn lay(root: &mut Table, line: &Access, origin: Origin, reporter: &mut Reporter<'_>) {
    let Some(access) = root.get("access").and_then(Node::as_table) else { return };
    let is_down = match access.get("bottleneck").map(Node::as_text) {
        None | Some(Some("up")) => false,
        Some(Some("down")) => true,
        // The access point is the bottleneck, whose medium carries both directions.
        _ if line.station().is_some() => false,
        Some(_) => return,
    };
    let gateway = access.get("gateway").map_or(line.gateway(), as_number).filter(|&part| part > 0.0);
    let Path { down, up, changes, others } = line.path();
    if line.station().is_some() {
        if let Some(entry) = access.entry("gateway").filter(|_| gateway.is_some()) {
            let fault = Fault::new("a gateway before a medium that stations share");
            reporter.error(
                entry_origin(entry),
                "access.gateway",
                fault,
                "no gateway: its rate follows from the medium",
            );
        }
        return shared(root, line.station(), &down.keys, origin);
    }
    let [forward, reverse] = if is_down { [&down, &up] } else { [&up, &down] };
    let hops = if let Some(part) = gateway {
        for (section, way) in FILLED.into_iter().zip([forward, reverse]) {
            fill_link(root, section, &shaped(way, part), origin);
        }
        let hops = [(MODEM, &up, "after", is_down), (ISP, &down, "before", !is_down)];
        for (name, way, at, is_reverse) in hops {
            push(root, "hop", &hop(name, &way.keys, at, is_reverse), origin);
        }
        Some(if is_down { [ISP, MODEM] } else { [MODEM, ISP] })
    } else {
        for (section, way) in FILLED.into_iter().zip([forward, reverse]) {
            fill_link(root, section, &way.keys, origin);
        }
        None
    };
    let duration = root.get("duration").and_then(|node| value::span(node).ok());
    for step in changes.iter().filter(|step| duration.is_none_or(|duration| Span::from_secs(step.at_s) < duration)) {
        push(root, "change", &changed(step, hops, [forward, reverse]), origin);
    }
    for other in others {
        push(root, "group", &group(other, other.is_down != is_down), origin);
    }
}

impl Access {
    /// The access line that the table names, and where; an unknown line is told to `reporter`.
    fn of(access: &Table, reporter: &mut Reporter<'_>) -> Option<(Access, Origin)> {
        if let Some(entry) = access.entry("line") {
            let name = entry.value.as_text()?;
            let Some(line) = Line::named(name) else {
                let names: Vec<_> = Line::all().iter().map(|line| line.name.as_str()).collect();
                let fault = Fault::near(quote(name), reporter.nearest(name, &names));
                reporter.error(entry.value.origin, "access.line", fault, "a line of `sojourn list lines`");
                return None;
            };
            return Some((Access::Line(line), entry_origin(entry)));
        }
        let entry = access.entry("profile")?;
        let profile = entry.value.as_text().and_then(Profile::named)?;
        Some((Access::Profile(profile), entry_origin(entry)))
    }

    /// The station of a medium that stations share.
    fn station(&self) -> Option<&'static str> {
        match self {
            Access::Profile(profile) => profile.station,
            Access::Line(_) => None,
        }
    }

    fn gateway(&self) -> Option<f64> {
        match self {
            Access::Profile(_) => None,
            Access::Line(line) => line.gateway,
        }
    }

    fn path(&self) -> Path {
        let way = |settings: Settings| Way::of(settings.iter().map(|&(key, value)| (key, value.to_owned())).collect());
        match self {
            Access::Profile(profile) => {
                Path { down: way(profile.down), up: way(profile.up), changes: Vec::new(), others: &[] }
            }
            Access::Line(line) => line.path(),
        }
    }
}

/// Fills the table of a hop, a `section`, with the way to a home, or from it, of a line of the population: home `number` of
/// `count`, which stand for the population as its weights say. What the home's gateway and its people do are no part of that.
/// Returns what changes of it while a run goes on, unless the table has a rate or a delay of its own: when, how often and the keys.
pub(crate) fn of_home(
    section: &'static Section,
    hop: &mut Table,
    is_down: bool,
    [number, count]: [u64; 2],
    origin: Origin,
) -> Vec<(u64, u64, String)> {
    let Path { down, up, changes, .. } = Line::at((number as f64 + 0.5) / count as f64).path();
    let way = if is_down { down } else { up };
    let keeps = ["rate", "trace", "delay"].into_iter().any(|key| hop.get(key).is_some());
    way.keys.iter().for_each(|(key, text)| fill(section, hop, key, text, origin));
    let steps = changes.iter().filter(|_| !keeps);
    steps.map(|step| (step.at_s, step.every_s, way.then(step))).collect()
}

fn as_number(node: &Node) -> Option<f64> {
    match node.data {
        Data::Integer(value) => Some(value as f64),
        Data::Float(value) => Some(value),
        _ => None,
    }
}

/// Fills the bottleneck that carries both directions, and adds its station where the file names none.
fn shared(root: &mut Table, station: Option<&str>, keys: &Keys, origin: Origin) {
    fill_link(root, FILLED[0], keys, origin);
    if let Some(station) = station.filter(|_| root.get("station").is_none()) {
        let value = source::value_or_text(station, origin);
        root.entries.push(Entry { key: "station".to_owned(), origin, value });
    }
}

/// A shaper of the gateway: a part of the line's rate, and CAKE, which is told the rate; both count as the line does.
fn shaped(line: &Way, part: f64) -> Keys {
    let rate = (line.passes as f64 * part).round().max(1.0);
    let framing = line.keys.iter().find(|(key, _)| *key == "framing");
    let link_layer = framing.map_or_else(String::new, |(_, value)| match value.strip_prefix('{') {
        // CAKE calls them as a table of the framing does.
        Some(table) => format!(", {}", table.trim_end_matches('}').trim()),
        None => format!(", link_layer = \"{value}\""),
    });
    let queue = format!("{{ kind = \"cake\", bandwidth = \"{rate} bit/s\"{link_layer} }}");
    [("rate", format!("{rate} bit/s")), ("queue", queue)].into_iter().chain(framing.cloned()).collect()
}

fn hop(name: &str, keys: &Keys, at: &str, is_reverse: bool) -> String {
    let direction = if is_reverse { "reverse" } else { "forward" };
    let keys: String = keys.iter().map(|(key, value)| format!(", {key} = {}", written(value))).collect();
    format!("{{ name = \"{name}\", at = \"{at}\", direction = \"{direction}\"{keys} }}")
}

/// A change of both links of a line, forward and reverse: of two hops, or of the bottleneck and the return link.
fn changed(step: &Step, hops: Option<[&str; 2]>, ways: [&Way; 2]) -> String {
    let [forward, reverse] = ways.map(|way| way.then(step));
    let links = match hops {
        Some([one, other]) => {
            format!("hop = [{{ name = \"{one}\", {forward} }}, {{ name = \"{other}\", {reverse} }}]")
        }
        None => format!("bottleneck = {{ {forward} }}, reverse = {{ {reverse} }}"),
    };
    format!("{{ at = \"{} s\", every = \"{} s\", {links} }}", step.at_s, step.every_s)
}

fn group(other: &Other, is_reverse: bool) -> String {
    let direction = if is_reverse { "reverse" } else { "forward" };
    let keys: String = other.keys.iter().map(|(key, value)| format!(", {key} = {}", written(value))).collect();
    format!("{{ name = \"{}\", direction = \"{direction}\"{keys} }}", other.name)
}

/// A value as TOML has it: a bare text gets its quotes.
fn written(value: &str) -> String {
    if source::is_toml_value(value) { value.to_owned() } else { format!("\"{value}\"") }
}

/// Adds a table, written in one line, to a list of tables.
fn push(root: &mut Table, key: &str, text: &str, origin: Origin) {
    let list = root.get_or_insert(key, origin, || Node::new(Data::List(Vec::new()), origin));
    if let Data::List(list) = &mut list.data {
        list.push(source::value_or_text(text, origin));
    }
}

fn fill_link(root: &mut Table, section: &'static Section, keys: &Keys, origin: Origin) {
    let link = root.get_or_insert(section.name, origin, || Node::new(Data::Table(Table::default()), origin));
    if let Data::Table(link) = &mut link.data {
        keys.iter().for_each(|(key, text)| fill(section, link, key, text, origin));
    }
}

fn fill(section: &'static Section, link: &mut Table, name: &str, text: &str, origin: Origin) {
    let exclusive = section.exclusive();
    if exclusive.contains(&name) && exclusive.iter().any(|other| link.get(other).is_some()) {
        return;
    }
    let value = source::value_or_text(text, origin);
    let Some(given) = link.entries.iter_mut().find(|entry| entry.key == name) else {
        link.entries.push(Entry { key: name.to_owned(), origin, value });
        return;
    };
    let Some(Form::Algorithm(family)) = section.key(name).map(|key| &key.form) else { return };
    let (Data::Table(given), Data::Table(rest)) = (&mut given.value.data, family.expanded(&value).data) else { return };
    let word = family.word_key();
    let same = given.get(word).is_none_or(|word_given| word_given.as_text() == rest.get(word).and_then(Node::as_text));
    if same {
        for entry in rest.entries {
            if given.get(&entry.key).is_none() {
                given.entries.push(entry);
            }
        }
    }
}
