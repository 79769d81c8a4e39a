//! Tables that stand for several links.

use crate::diagnostic::{Fault, Reporter};
use crate::form::{Key, LINK_BYTES, MAX_LINKS};
use crate::link::{HOP, WAYS};
use crate::node::{Data, Node, Origin, Table};
use crate::routes::NUMBER;
use crate::{access, source, value};
use sojourn_core::Span;
use std::collections::BTreeMap;

/// Writes each `[[hop]]` with a `count` as so many links. What is wrong with a count is found where the table is checked.
pub(crate) fn expand(root: &mut Node, reporter: &mut Reporter<'_>) {
    let Data::Table(root) = &mut root.data else { return };
    let Some(Node { data: Data::List(hops), .. }) = root.get_mut("hop") else { return };
    let links: u64 = hops.iter().map(|hop| count(hop).unwrap_or(1)).fold(0, u64::saturating_add);
    if links > MAX_LINKS {
        let origin = hops.iter().find(|hop| count(hop).is_some()).map_or(hops[0].origin, |hop| hop.origin);
        let gigabytes = links as f64 * LINK_BYTES / 1e9;
        let found = Fault::new(format!("{links} links, which take at least {gigabytes:.1} GB of memory"));
        reporter.error(origin, "hop", found, format!("at most {MAX_LINKS} links"));
    }
    // One of each is enough to find what else is wrong.
    let most = if links > MAX_LINKS { 1 } else { MAX_LINKS };
    let mut changes = Changes::new();
    *hops = std::mem::take(hops).into_iter().flat_map(|hop| copies(hop, most, &mut changes)).collect();
    add_changes(root, changes);
}

/// What changes of links that are lines of homes: a list of hops with what is another then, by when and how often.
type Changes = BTreeMap<(u64, u64), (Origin, Vec<String>)>;

fn add_changes(root: &mut Table, changes: Changes) {
    let duration = root.get("duration").and_then(|node| value::span(node).ok());
    for ((at_s, every_s), (origin, hops)) in changes {
        if duration.is_some_and(|duration| Span::from_secs(at_s) >= duration) {
            continue;
        }
        let text = format!("{{ at = \"{at_s} s\", every = \"{every_s} s\", hop = [{}] }}", hops.join(", "));
        let list = root.get_or_insert("change", origin, || Node::new(Data::List(Vec::new()), origin));
        if let Data::List(list) = &mut list.data {
            list.push(source::value_or_text(&text, origin));
        }
    }
}

/// How many links the table stands for, where it says so in a way that may be.
fn count(hop: &Node) -> Option<u64> {
    match hop.as_table()?.get("count")?.data {
        Data::Integer(count) => u64::try_from(count).ok().filter(|&count| count > 0),
        _ => None,
    }
}

/// Whether a list as the value of a key of such a table is dealt out to its links: of all but those that tell them apart.
pub(crate) fn is_dealt_out(key: &Key) -> bool {
    !["name", "count", "lines"].contains(&key.name)
}

fn copies(hop: Node, most: u64, changes: &mut Changes) -> Vec<Node> {
    let Some((count, table)) = count(&hop).zip(hop.as_table()) else { return vec![hop] };
    let way = table.get("lines").and_then(Node::as_text).filter(|way| WAYS.contains(way));
    let one = |number| {
        let mut copy = copy(table, number);
        if let Some(way) = way {
            copy.remove("lines");
            let name = copy.get("name").and_then(Node::as_text).unwrap_or_default().to_owned();
            for (at_s, every_s, keys) in access::of_home(&HOP, &mut copy, way == WAYS[0], [number, count], hop.origin) {
                let (_, hops) = changes.entry((at_s, every_s)).or_insert((hop.origin, Vec::new()));
                hops.push(format!("{{ name = \"{name}\", {keys} }}"));
            }
        }
        Node::new(Data::Table(copy), hop.origin)
    };
    (0..count.min(most)).map(one).collect()
}

/// The link `number` of those that `table` stands for.
fn copy(table: &Table, number: u64) -> Table {
    let mut table = table.clone();
    table.remove("count");
    for entry in &mut table.entries {
        if let Data::List(values) = &entry.value.data
            && !values.is_empty()
        {
            entry.value = values[number as usize % values.len()].clone();
        }
        let text = match (entry.key.as_str(), entry.value.as_text()) {
            ("name", Some(text)) => format!("{text}-{number}"),
            ("from" | "to", Some(text)) => text.replace(NUMBER, &number.to_string()),
            _ => continue,
        };
        entry.value.data = Data::Text(text);
    }
    table
}
