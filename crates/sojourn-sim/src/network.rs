//! The links of a scenario as a run has them: their order and names, what they are made of, and what changes of them.

use crate::line::LineEnd;
use crate::link::Service;
use crate::opportunities::Opportunities;
use sojourn_core::{Serializer, Span, Stream, Time};
use sojourn_queue::Queue;
use sojourn_scenario::{self as scenario, Capacity, Change, Direction, Group, LinkChange, Scenario, Which};
use sojourn_transport::Segment;

/// Index of the bottleneck among the links.
pub const BOTTLENECK: usize = 0;

/// The links of a scenario in the order of a world, with the names they have in tables.
pub fn named_links(scenario: &Scenario) -> Vec<(&str, Direction, &scenario::Link)> {
    let main = std::iter::once(("bottleneck", Direction::Forward, &scenario.bottleneck));
    let reverse = scenario.reverse.iter().map(|link| ("reverse", Direction::Reverse, link));
    let hops = scenario.hops.iter().map(|hop| (hop.name.as_str(), hop.direction, &hop.link));
    let stations = scenario.stations.iter().map(|one| (one.name.as_str(), Direction::Reverse, &one.link));
    main.chain(reverse).chain(hops).chain(stations).collect()
}

/// The link in this place among those of a world.
pub fn nth(scenario: &Scenario, place: usize) -> (&str, &scenario::Link) {
    let hop = place.checked_sub(1 + usize::from(scenario.reverse.is_some()));
    let station = hop.and_then(|hop| hop.checked_sub(scenario.hops.len()));
    match (place, &scenario.reverse, hop, station) {
        (BOTTLENECK, ..) => ("bottleneck", &scenario.bottleneck),
        (_, Some(reverse), None, _) => ("reverse", reverse),
        (.., Some(station)) => (&scenario.stations[station].name, &scenario.stations[station].link),
        (_, _, hop, None) => {
            let hop = &scenario.hops[hop.expect("one of the links")];
            (&hop.name, &hop.link)
        }
    }
}

/// The place of a link among those of a world; the first of those of stations.
pub fn place(scenario: &Scenario, which: Which) -> usize {
    match which {
        Which::Bottleneck => 0,
        Which::Reverse => 1,
        Which::Hop(index) => 1 + usize::from(scenario.reverse.is_some()) + index,
        Which::Station => 1 + usize::from(scenario.reverse.is_some()) + scenario.hops.len(),
    }
}

/// The queue of the link `name` from `since` on.
pub fn queue(name: &str, spec: &scenario::Link, packet_bytes: u32, random: Stream, since: Time) -> Queue<Segment> {
    let properties = spec.properties(packet_bytes, since);
    let mut queue = Queue::build(&spec.queue, &properties, random).expect("the scenario's parameters were checked");
    if let Queue::Custom(custom) = &mut queue {
        custom.belongs_to(format!("link {name}"));
    }
    queue
}

/// How a link with `capacity` sends; a recording begins at `since`.
pub fn service(capacity: &Capacity, since: Time) -> Service {
    match capacity {
        Capacity::Fixed(rate) => Service::Fixed(Serializer::new(*rate)),
        Capacity::Recorded(trace) => Service::Recorded(Opportunities::new(trace.clone(), since)),
        Capacity::Shared(_) => Service::Shared,
    }
}

/// The base RTT `rtt` as the delays there and back.
pub fn halves(rtt: Span) -> (Span, Span) {
    (rtt / 2, rtt - rtt / 2)
}

/// The changes of the link `index`, in order of time.
pub fn of_link(scenario: &Scenario, index: usize) -> impl Iterator<Item = (&Change, &LinkChange)> {
    let all = scenario.changes.iter().flat_map(|change| change.links.iter().map(move |link| (change, link)));
    all.filter(move |(_, link)| place(scenario, link.which) == index)
}

/// Whether a change is one of how fast the link sends.
pub fn changes_capacity(link: &LinkChange) -> bool {
    link.keys.iter().any(|key| ["rate", "trace"].contains(key))
}

/// Whether a change is one of what happens behind the link.
pub fn changes_line(link: &LinkChange) -> bool {
    link.keys.iter().any(|key| ["delay", "jitter"].contains(key))
}

/// Where the lines of a group's flows end.
pub fn end_of(group: &Group) -> LineEnd {
    if group.is_outside() { LineEnd::Outside } else { LineEnd::Endpoint }
}
