//! What follows from the checked values of several keys.

use crate::declare::Held;
use crate::fields::{Fields, Item, as_span};
use crate::form::{Form, Presence, Section};
use crate::node::Origin;
use crate::stations::nominal_of_all;
use crate::{Direction, Place, Sizes, source, value};
use sojourn_core::{Rate, Span};
use sojourn_transport::Options;

/// What a missing value would mean: the caller has not checked.
pub(crate) const CHECKED: &str = "checked values are complete";

/// The time within which flows start whose groups do not say when: within an RTT of many, so that they still meet in slow start.
const STARTS_WITHIN: Span = Span::from_millis(100);

/// The simple values of a table of `section` that says nothing.
pub(crate) fn defaults(section: &'static Section) -> Fields {
    let mut fields = Fields::new(section, Origin::Unknown);
    for key in section.keys() {
        if let (Form::Value(kind), Presence::Default(text)) = (&key.form, &key.presence) {
            let value = value::read(kind, &source::value_or_text(text, Origin::Unknown));
            fields.put(key.name, Item::Value(value.expect("a default is what the key may hold")));
        }
    }
    fields
}

pub(crate) fn direction(fields: &Fields) -> Direction {
    Direction::from_item(fields.item("direction")).unwrap_or(Direction::Forward)
}

pub(crate) fn place(hop: &Fields) -> Place {
    Place::from_item(hop.item("at")).unwrap_or(Place::After)
}

/// Whether a link has a medium that stations share.
pub(crate) fn is_shared(link: &Fields) -> bool {
    link.chosen("medium").is_some_and(|medium| crate::link::is_shared(&medium.params))
}

/// The rate of a link, the mean rate of a recorded one, or what a shared one has at best.
pub(crate) fn mean_rate(link: &Fields, scenario: &Fields) -> Option<Rate> {
    match link.item("trace") {
        Some(Item::Trace(trace)) => Some(trace.mean_rate()),
        _ if is_shared(link) => nominal_of_all(scenario),
        _ => link.rate("rate"),
    }
}

/// The group, by index, on whose connections the data of `group` travels.
pub(crate) fn connections_of(group: &Fields, scenario: &Fields) -> Option<usize> {
    let name = group.text("connections_of")?;
    scenario.tables("group").iter().position(|other| other.text("name") == Some(name))
}

/// The base round-trip time of each flow of a group whose values are checked.
pub(crate) fn rtts(group: &Fields) -> Vec<Span> {
    per_flow(group.item("rtt").expect(CHECKED), group.integer("flows").expect(CHECKED) as u32)
}

pub(crate) fn per_flow(item: &Item, flows: u32) -> Vec<Span> {
    match item {
        Item::Value(value) => vec![as_span(*value); flows as usize],
        Item::Values(values) => values.iter().map(|&value| as_span(value)).collect(),
        other => unreachable!("one time or one per flow, not {other:?}"),
    }
}

/// The last time at which a flow of `group` starts, which does not say it: before it stops. Where several started at 0 s they would do so in step with
/// every seed, and no run would be an independent sample.
pub(crate) fn last_unsaid_start(group: &Fields, scenario: &Fields) -> Option<Span> {
    let unsaid = scenario.tables("group").iter().filter(|group| group.item("start").is_none());
    let flows = unsaid.map(|group| group.integer("flows")).sum::<Option<u64>>()?;
    let first_stop = bounds(group, "stop").map_or(STARTS_WITHIN, |(first, _)| first / 2);
    Some(if flows < 2 { Span::ZERO } else { STARTS_WITHIN.min(scenario.span("duration")? / 100).min(first_stop) })
}

/// The first and the last possible time of `key`, `start` or `stop`, among the group's flows.
pub(crate) fn bounds(group: &Fields, key: &str) -> Option<(Span, Span)> {
    let values = match group.item(key)? {
        Item::Value(value) => return Some((as_span(*value), as_span(*value))),
        Item::Values(values) => values,
        Item::Table(table) => match table.item("uniform")? {
            Item::Values(range) => range,
            _ => return None,
        },
        _ => return None,
    };
    let spans = values.iter().map(|&value| as_span(value));
    Some((spans.clone().min()?, spans.max()?))
}

/// The traffic of `group` with sizes in bytes, where its transport is valid.
pub(crate) fn traffic_in_bytes(group: &Fields) -> Option<Fields> {
    let options = Options::new(&group.chosen("transport")?.params).ok()?;
    Some(group.table("traffic")?.in_bytes(u64::from(options.payload_bytes)))
}

/// The sizes of the traffic of `group`, where they are valid.
pub(crate) fn sizes(group: &Fields) -> Option<Sizes> {
    Sizes::from_item(traffic_in_bytes(group)?.item("size"))
}

/// The numbers of objects of the pages of `group`, where they are valid.
pub(crate) fn counts(traffic: &Fields) -> Option<Sizes> {
    Sizes::from_item(traffic.item("objects"))
}
