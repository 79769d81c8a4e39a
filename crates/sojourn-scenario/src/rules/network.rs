//! Rules of the ways that packets take: where links lie, and how flows cross them.

use super::report::{element_path, is_faulty};
use crate::check::join;
use crate::diagnostic::{Fault, Reporter};
use crate::fields::Fields;
use crate::routes::{self, Network, Wrong, is_network, named, shown};
use crate::stations::{has_air, names};
use crate::value::{NAME, is_name};
use crate::{Route, Which};
use std::collections::{HashMap, HashSet};

/// The keys of a group that say where it goes in a network.
const OF_NETWORK: [&str; 4] = ["from", "to", "path", "back"];

/// Checks all links and groups.
pub(super) fn check(scenario: &Fields, reporter: &mut Reporter<'_>) {
    let before = reporter.problems.list().len();
    homes(scenario, reporter);
    if is_network(scenario) {
        nodes(scenario, reporter);
    } else {
        chain(scenario, reporter);
    }
    if !is_network(scenario) || reporter.problems.list().len() > before {
        return;
    }
    let network = Network::of(scenario);
    let groups = scenario.tables("group");
    let mut all = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let path = element_path("group", index, group);
        if group.slot("enters").is_some() {
            let found = Fault::new("an entrance to a chain where links form a network");
            reporter.error(group.origin_of("enters"), &join(&path, "enters"), found, "from: the node to enter at");
        }
        match network.routes(group) {
            Ok(routes) => all.push(routes),
            Err(wrong) => report(wrong, group, &path, reporter),
        }
    }
    if all.len() == groups.len() {
        both_ways(groups, &all, reporter);
        apart(scenario, &all, reporter);
    }
}

/// Checks the way that a change gives a group, which was `before`.
pub(super) fn rerouted(before: &Fields, group: &Fields, path: &str, scenario: &Fields, reporter: &mut Reporter<'_>) {
    let key = if group.slot("path").is_some() { "path" } else { "back" };
    let mut error = |found: &str, allowed: &str| {
        reporter.error(group.origin_of(key), &join(path, key), Fault::new(found), allowed);
    };
    let name = before.text("name");
    let has_other = || scenario.tables("group").iter().any(|other| other.text("connections_of") == name);
    if !is_network(scenario) {
        error("another way where links form a chain", "links between nodes (from and to)");
    } else if before.slot("connections_of").is_some() || has_other() {
        error("another way of connections that carry data both ways", "no change of path or back");
    } else if let Err(wrong) = routes::of_group(group, scenario) {
        report(wrong, group, path, reporter);
    }
}

/// Reports that a group has no route.
fn report((key, found, allowed): Wrong, group: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    if !is_faulty(&OF_NETWORK, path, reporter) {
        reporter.error(group.origin_of(key), &join(path, key), found, allowed);
    }
}

fn link_path(which: Which, link: &Fields) -> String {
    match which {
        Which::Hop(index) => element_path("hop", index, link),
        Which::Reverse => "reverse".to_owned(),
        Which::Bottleneck | Which::Station => "bottleneck".to_owned(),
    }
}

/// Lines of homes are those of several links.
fn homes(scenario: &Fields, reporter: &mut Reporter<'_>) {
    for (index, hop) in scenario.tables("hop").iter().enumerate().filter(|(_, hop)| hop.slot("lines").is_some()) {
        let path = join(&element_path("hop", index, hop), "lines");
        reporter.error(
            hop.origin_of("lines"),
            &path,
            Fault::new("lines without a count"),
            "a count of links beside it",
        );
    }
}

/// What only links and groups of a network may say; what every hop of a chain must.
fn chain(scenario: &Fields, reporter: &mut Reporter<'_>) {
    for (index, hop) in scenario.tables("hop").iter().enumerate().filter(|(_, hop)| hop.slot("at").is_none()) {
        let path = join(&element_path("hop", index, hop), "at");
        if !reporter.problems.list().iter().any(|problem| problem.key == path) {
            let allowed = "before, after (required); or from and to at all links, which then form a network";
            reporter.error(hop.origin, &path, Fault::new("nothing"), allowed);
        }
    }
    for (index, group) in scenario.tables("group").iter().enumerate() {
        for key in OF_NETWORK.into_iter().filter(|key| group.slot(key).is_some()) {
            let found = Fault::new(format!("{key} where links form a chain"));
            let allowed = format!("no {key}; or from and to at all links, which then form a network");
            reporter.error(group.origin_of(key), &join(&element_path("group", index, group), key), found, allowed);
        }
    }
}

/// All links of a network lie between two nodes.
fn nodes(scenario: &Fields, reporter: &mut Reporter<'_>) {
    let is_shared = |which| which == Which::Bottleneck && has_air(scenario);
    for (_, which, link) in named(scenario) {
        let path = link_path(which, link);
        let mut error = |key: &str, found: Fault, allowed: &str| {
            reporter.error(link.origin_of(key), &join(&path, key), found, allowed);
        };
        if matches!(which, Which::Hop(_)) && link.slot("at").is_some() {
            error("at", Fault::new("a place in a chain where links form a network"), "no at: from and to say it");
        }
        if is_shared(which) && link.slot("to").is_some() {
            error("to", Fault::new("the end of a medium that stations share"), "no to: it leads to all stations");
        }
        for key in ["from", "to"].into_iter().filter(|key| *key == "from" || !is_shared(which)) {
            match link.text(key) {
                None if link.slot(key).is_none() => {
                    error(key, Fault::new("nothing"), "the name of a node (required: other links have one)");
                }
                Some(name) if !is_name(name) => error(key, Fault::new(format!("{name:?}")), NAME),
                _ => {}
            }
        }
        if let Some(name) = link.text("from").filter(|name| link.text("to") == Some(name)) {
            error("to", Fault::new(format!("{name:?}, where the link begins")), "another node");
        }
    }
    stations(scenario, reporter);
}

/// Stations are nodes with their names, at the end of a medium that they share.
fn stations(scenario: &Fields, reporter: &mut Reporter<'_>) {
    let hub = scenario.table("bottleneck").filter(|_| has_air(scenario)).and_then(|link| link.text("from"));
    for (index, station) in scenario.tables("station").iter().enumerate() {
        let path = element_path("station", index, station);
        if let Some(name) = hub.filter(|hub| names(station).iter().any(|name| name == hub)) {
            let found = Fault::new(format!("{name:?}, from where the medium leads to it"));
            reporter.error(station.origin_of("name"), &join(&path, "name"), found, "another name");
        }
    }
    for (index, group) in
        scenario.tables("group").iter().enumerate().filter(|(_, group)| group.slot("station").is_some())
    {
        let found = Fault::new("a station where links form a network");
        let path = join(&element_path("group", index, group), "station");
        reporter.error(group.origin_of("station"), &path, found, "no station: from or to is its name");
    }
}

/// Data that goes both ways on one connection takes the way of its acknowledgements.
fn both_ways(groups: &[Fields], all: &[Vec<Route>], reporter: &mut Reporter<'_>) {
    for (index, group) in groups.iter().enumerate() {
        let Some(name) = group.text("connections_of") else { continue };
        let Some(other) = groups.iter().position(|other| other.text("name") == Some(name)) else { continue };
        let is_back = |(one, other): (&Route, &Route)| one.there == other.back && one.back == other.there;
        let flows = all[index].len().max(all[other].len());
        let route = |group: usize, flow: usize| &all[group][flow % all[group].len()];
        if !(0..flows).map(|flow| (route(index, flow), route(other, flow))).all(is_back) {
            let found = Fault::new(format!("{name:?}, whose packets take other links"));
            let path = join(&element_path("group", index, group), "connections_of");
            let allowed = "a group whose data takes the way of this one's acknowledgements, and the reverse";
            reporter.error(group.origin_of("connections_of"), &path, found, allowed);
        }
    }
}

/// Links that no packet crosses, and groups that meet none of those at the bottleneck.
fn apart(scenario: &Fields, all: &[Vec<Route>], reporter: &mut Reporter<'_>) {
    let crossed: HashSet<Which> = links_of(all.iter().flatten()).collect();
    let changed = scenario.slot("change").is_some();
    let idle: Vec<_> = named(scenario).filter(|(_, which, _)| !crossed.contains(which) && !changed).collect();
    if let Some((_, which, link)) = idle.first() {
        let found = shown(idle.iter().map(|(name, ..)| *name));
        reporter.warning(link.origin, &link_path(*which, link), found, "no packet crosses it");
    }
    let used: HashSet<usize> = all.iter().flatten().filter_map(|route| route.station).collect();
    let mut first = 0;
    for (index, station) in scenario.tables("station").iter().enumerate() {
        let next = first + names(station).len();
        if !changed && !(first..next).any(|place| used.contains(&place)) {
            super::media::unused(index, station, reporter);
        }
        first = next;
    }
    let mut met = HashSet::from([Which::Bottleneck]);
    let mut left: HashMap<usize, HashSet<Which>> =
        all.iter().enumerate().map(|(group, routes)| (group, links_of(routes).collect())).collect();
    while let Some(&group) = left.iter().find(|(_, links)| !met.is_disjoint(links)).map(|(group, _)| group) {
        met.extend(left.remove(&group).unwrap_or_default());
    }
    let mut islands: Vec<_> = left.into_keys().collect();
    islands.sort_unstable();
    for index in islands {
        let group = &scenario.tables("group")[index];
        let found = "a way on which its packets meet none of those that cross the bottleneck";
        let advice = "a scenario of its own says the same";
        reporter.warning(group.origin, &element_path("group", index, group), found, advice);
    }
}

fn links_of<'r>(routes: impl IntoIterator<Item = &'r Route>) -> impl Iterator<Item = Which> {
    routes.into_iter().flat_map(|route| route.there.iter().chain(&route.back).copied())
}

/// Whether every route of the group takes some time beside that on the wire.
pub(super) fn takes_time(group: &Fields, scenario: &Fields) -> bool {
    let Ok(all) = routes::of_group(group, scenario) else { return true };
    all.iter().all(|route| {
        let mut links = links_of([route]).filter_map(|which| routes::link(which, scenario));
        links.any(|link| !super::access::latency(link).is_zero())
    })
}
