//! The links that packets cross: all of a chain, or those of the shortest way through a network.
//!
//! Links form a network where they say between which nodes they lie. A flow takes the fewest links from one node to another,
//! and of several such ways the one whose links stand first in the file.

mod network;

pub(crate) use network::Network;

use crate::derived::{direction, mean_rate, place, sizes};
use crate::diagnostic::Fault;
use crate::fields::Fields;
use crate::stations::{self, has_air};
use crate::{Direction, Place, Route, Which};
use sojourn_core::{Rate, Span};

/// Stands in names of nodes and links for the number of the flow, or of the link where a table is for several.
pub(crate) const NUMBER: char = '*';
/// Names that a message shows of many.
const SHOWN: usize = 12;

/// Why a group has no route: the key, what was found and what is allowed.
pub(crate) type Wrong = (&'static str, Fault, String);

/// The links of a scenario that have a table of their own, with their names, in the order of its record.
pub(crate) fn named(scenario: &Fields) -> impl Iterator<Item = (&str, Which, &Fields)> {
    let mains = [("bottleneck", Which::Bottleneck), ("reverse", Which::Reverse)];
    let mains = mains.into_iter().filter_map(|(key, which)| Some((key, which, scenario.table(key)?)));
    let hops = scenario.tables("hop").iter().enumerate();
    mains.chain(hops.map(|(index, hop)| (hop.text("name").unwrap_or_default(), Which::Hop(index), hop)))
}

/// Whether links say between which nodes they lie.
pub(crate) fn is_network(scenario: &Fields) -> bool {
    named(scenario).any(|(.., link)| link.slot("from").is_some() || link.slot("to").is_some())
}

/// The table of a link, where it has one of its own.
pub(crate) fn link(which: Which, scenario: &Fields) -> Option<&Fields> {
    match which {
        Which::Bottleneck => scenario.table("bottleneck"),
        Which::Reverse => scenario.table("reverse"),
        Which::Hop(index) => scenario.tables("hop").get(index),
        Which::Station => None,
    }
}

/// The routes of the flows of `group`: one for all of them, or one for each.
pub(crate) fn of_group(group: &Fields, scenario: &Fields) -> Result<Vec<Route>, Wrong> {
    if is_network(scenario) { Network::of(scenario).routes(group) } else { Ok(chain(group, scenario)) }
}

/// The link at which the data of `group` enters a chain, where it says one that is there.
pub(crate) fn enters(group: &Fields, scenario: &Fields) -> Option<Which> {
    let name = group.text("enters")?;
    links(direction(group), scenario).find(|(known, _)| *known == name).map(|(_, which)| which)
}

/// The links of a chain that packets which travel in `direction` cross, by their names and in that order.
pub(crate) fn links(direction: Direction, scenario: &Fields) -> impl Iterator<Item = (&str, Which)> {
    let main = match direction {
        Direction::Forward => ("bottleneck", Which::Bottleneck),
        Direction::Reverse => ("reverse", Which::Reverse),
    };
    let at = move |wanted: Place| {
        let hops = scenario.tables("hop").iter().enumerate();
        let hops = hops.filter(move |(_, hop)| self::direction(hop) == direction && place(hop) == wanted);
        hops.filter_map(|(index, hop)| Some((hop.text("name")?, Which::Hop(index))))
    };
    at(Place::Before).chain(std::iter::once(main)).chain(at(Place::After))
}

/// The routes of the flows of `group` in a chain: all links of either direction, its data those from where it enters on. There
/// is one for each of its stations.
fn chain(group: &Fields, scenario: &Fields) -> Vec<Route> {
    let (direction, first) = (direction(group), enters(group, scenario));
    let of = |direction| {
        let stations = (direction == Direction::Reverse && has_air(scenario)).then_some(Which::Station);
        let links = links(direction, scenario).map(|(_, which)| which);
        stations.into_iter().chain(links.filter(|&which| which != Which::Reverse || scenario.slot("reverse").is_some()))
    };
    let there: Vec<_> = of(direction).skip_while(|&which| first.is_some_and(|first| first != which)).collect();
    let main = there.iter().copied().find(|which| !matches!(which, Which::Hop(_)));
    let route = |station| Route { there: there.clone(), back: of(direction.opposite()).collect(), main, station };
    match stations::of_group(group, scenario) {
        stations if stations.is_empty() => vec![route(None)],
        stations => stations.into_iter().map(|station| route(Some(station))).collect(),
    }
}

/// The links that the data of any flow of `group` crosses, where it has a route; a station is the table of its own.
pub(crate) fn crossed<'f>(group: &Fields, scenario: &'f Fields) -> impl Iterator<Item = &'f Fields> {
    let routes = of_group(group, scenario).unwrap_or_default();
    let mut links: Vec<(Which, Option<usize>)> = routes
        .iter()
        .flat_map(|route| route.there.iter().map(|&which| (which, route.station.filter(|_| which == Which::Station))))
        .collect();
    links.sort_unstable();
    links.dedup();
    links.into_iter().filter_map(|(which, station)| match station {
        Some(station) => stations::table(station, scenario),
        None => link(which, scenario),
    })
}

/// The rate, or mean rate, of the main link of the group's data.
pub(crate) fn main_link(group: &Fields, scenario: &Fields) -> Option<Rate> {
    let main = if is_network(scenario) {
        match of_group(group, scenario).ok()?.first()?.main? {
            // Up and down share it.
            Which::Station => scenario.table("bottleneck"),
            main => link(main, scenario),
        }
    } else {
        let is_upload = direction(group) == Direction::Reverse && !has_air(scenario);
        scenario.table(if is_upload { "reverse" } else { "bottleneck" })
    };
    mean_rate(main?, scenario)
}

/// The mean time between the arrivals at a flow of the transfers `fields` of `group`, where it is valid.
pub(crate) fn interval(fields: &Fields, group: &Fields, scenario: &Fields) -> Option<Span> {
    if let Some(interval) = fields.span("interval") {
        return Some(interval);
    }
    let bytes_per_second = fields.number("load")? * main_link(group, scenario)?.bytes_per_second();
    let seconds = sizes(group)?.mean() * group.integer("flows")? as f64 / bytes_per_second;
    // A load of nothing has no interval, but it was refused.
    seconds.is_finite().then(|| Span::from_secs_f64(seconds))
}

/// The names in `names`, of which there may be many, for a message.
pub(crate) fn shown<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<_> = names.into_iter().collect();
    let more = names.len().saturating_sub(SHOWN);
    let first = names[..names.len() - more].join(", ");
    if more > 0 { format!("{first} and {more} more") } else { first }
}
