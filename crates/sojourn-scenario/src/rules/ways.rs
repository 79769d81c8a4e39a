//! Rules of groups whose data travels on connections of others, the other way.

use super::report::written;
use crate::check::join;
use crate::derived;
use crate::diagnostic::{Fault, Reporter, nearest};
use crate::fields::{Fields, Item};

/// Traffic that keeps its connection.
const LASTING: [&str; 3] = ["bulk", "on-off", "messages"];
/// What only groups whose data has a connection of its own may have.
const OF_ONE_WAY: [&str; 2] = ["host", "receiver_control"];

/// Checks the group at `path`, number `index` of `groups`.
pub(super) fn check(groups: &[Fields], index: usize, path: &str, reporter: &mut Reporter<'_>) {
    let group = &groups[index];
    let Some(name) = group.text("connections_of") else { return };
    let mut error = |key: &str, found: Fault, allowed: String| {
        reporter.error(group.origin_of(key), &join(path, key), found, allowed);
    };
    let others = || groups.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, other)| other);
    let Some(other) = others().find(|other| other.text("name") == Some(name)) else {
        let names: Vec<_> = others().filter_map(|other| other.text("name")).collect();
        let meant = nearest(name, names.iter().copied()).map(str::to_owned);
        let allowed = if names.is_empty() { "no connections_of: no other group".to_owned() } else { names.join(", ") };
        return error("connections_of", Fault::near(format!("{name:?}, which is no other group"), meant), allowed);
    };
    if other.slot("connections_of").is_some() || others().any(|third| third.text("connections_of") == Some(name)) {
        let found = Fault::new(format!("{name:?}, whose connections carry data both ways already"));
        return error("connections_of", found, "a group whose connections no other uses".to_owned());
    }
    for (group, what) in [(group, "traffic"), (other, "connections_of")] {
        if let Some(kind) = changes_connection(group) {
            let found = Fault::new(format!("{kind} on a connection that carries data both ways"));
            return error(what, found, format!("{}, which keep their connection", LASTING.join(", ")));
        }
    }
    for key in OF_ONE_WAY {
        if group.slot(key).is_some() || other.slot(key).is_some() {
            let found = Fault::new(format!("{key} beside connections_of"));
            let at = if group.slot(key).is_some() { key } else { "connections_of" };
            error(at, found, format!("no {key} where connections carry data both ways"));
        }
    }
    for key in ["hosts", "receiver_hosts"] {
        if group.slot(key).is_some() {
            let found = Fault::new(format!("{key} beside connections_of"));
            error(key, found, format!("no {key}: its hosts are those of {name:?}"));
        }
    }
    for key in ["flows", "rtt", "transport", "station", "clock_offset", "clock_skew_ppm"] {
        if !fits(key, group, other) {
            let found = match group.item(key) {
                Some(Item::Chosen(_)) => format!("another {key} than that of {name:?}"),
                _ => format!("{} where {name:?} has {}", written(group, key), written(other, key)),
            };
            let allowed = if key.starts_with("clock") { "its negative: the clocks are the same" } else { "the same" };
            error(key, Fault::new(found), allowed.to_owned());
        }
    }
    if derived::direction(group) == derived::direction(other) {
        let found = Fault::new(format!("{} as {name:?}", written(group, "direction")));
        error("direction", found, "the opposite direction".to_owned());
    }
}

/// Whether the connections of `groups`' number `index` carry data both ways.
pub(super) fn go_both_ways(groups: &[Fields], index: usize) -> bool {
    let name = groups[index].text("name");
    groups[index].slot("connections_of").is_some() || groups.iter().any(|group| group.text("connections_of") == name)
}

/// The kind of the group's traffic, where that does not keep one connection.
fn changes_connection(group: &Fields) -> Option<&'static str> {
    let traffic = group.table("traffic")?;
    let kind = traffic.section.name;
    let is_lasting = LASTING.contains(&kind) && !(kind == "on-off" && traffic.choice("connection") == Some("fresh"));
    (!is_lasting).then_some(kind)
}

/// Whether `key` of both groups says the same of their connections.
fn fits(key: &str, group: &Fields, other: &Fields) -> bool {
    match (group.item(key), other.item(key)) {
        (Some(Item::Chosen(one)), Some(Item::Chosen(other))) => one.params == other.params,
        (Some(Item::Offset(one)), Some(Item::Offset(other))) => *one == -other,
        _ if key == "clock_skew_ppm" => group.number(key) == other.number(key).map(|skew| -skew),
        _ if key == "rtt" && group.integer("flows") == other.integer("flows") => {
            group.slot(key).is_none() || other.slot(key).is_none() || derived::rtts(group) == derived::rtts(other)
        }
        _ => written(group, key) == written(other, key),
    }
}
