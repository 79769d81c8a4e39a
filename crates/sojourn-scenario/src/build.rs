//! Makes a [`Scenario`] from checked values.

use crate::changes::{Resolved, ResolvedLink};
use crate::declare::Table;
use crate::derived::{CHECKED, connections_of, defaults, last_unsaid_start, per_flow, rtts, traffic_in_bytes};
use crate::fields::{Chosen, Fields, Item, as_span};
use crate::group::{Group, GroupKeys, Moments, Stack};
use crate::link::{Hop, LINK, Link, LinkKeys};
use crate::stations::{in_air, names, nominal, nominal_of_all, rate_name};
use crate::traffic::{Arrivals, Bulk, Call, Padding, Traffic, Transfers};
use crate::{Change, LinkChange, Scenario, Station, routes};
use sojourn_core::Span;

/// The scenario that `fields` describe; `name` is its name where they give none.
pub(crate) fn scenario(fields: &Fields, changes: &[Resolved], name: &str) -> Scenario {
    Scenario {
        keys: table(fields),
        name: fields.text("name").unwrap_or(name).to_owned(),
        bottleneck: link(fields.table("bottleneck").expect(CHECKED), fields),
        reverse: fields.table("reverse").map(|one| link(one, fields)),
        hops: fields.tables("hop").iter().map(|one| hop(one, fields)).collect(),
        stations: fields.tables("station").iter().flat_map(|one| stations(one, fields)).collect(),
        groups: fields.tables("group").iter().map(|one| group(one, fields)).collect(),
        changes: changes.iter().map(|one| change(one, fields)).collect(),
        phases: fields.tables("phase").iter().map(table).collect(),
    }
}

fn change(change: &Resolved, scenario: &Fields) -> Change {
    let link =
        |one: &ResolvedLink| LinkChange { which: one.which, keys: one.keys.clone(), link: link(&one.fields, scenario) };
    Change {
        name: change.name.clone(),
        at: change.at,
        links: change.links.iter().map(link).collect(),
        groups: change.groups.clone(),
    }
}

fn span(fields: &Fields, key: &str) -> Span {
    fields.span(key).expect(CHECKED)
}

fn link(fields: &Fields, scenario: &Fields) -> Link {
    let keys: LinkKeys = table(fields);
    let has_own = keys.trace.is_some() || keys.rate.is_some();
    let shared_rate = (!has_own).then(|| nominal_of_all(scenario).expect(CHECKED));
    Link { shared_rate, keys }
}

/// A link with this queue, and otherwise with what a file means that says nothing.
fn plain_link(queue: Chosen) -> LinkKeys {
    let mut fields = defaults(&LINK);
    fields.put("queue", Item::Chosen(queue));
    table(&fields)
}

/// The stations of one table.
fn stations(fields: &Fields, scenario: &Fields) -> Vec<Station> {
    let setup = crate::stations::air(scenario).expect(CHECKED);
    let station = |name| Station {
        name,
        rate: rate_name(fields),
        streams: fields.integer("streams").expect(CHECKED) as u32,
        air: in_air(fields, &setup).expect(CHECKED),
        link: Link {
            shared_rate: Some(nominal(fields, scenario).expect(CHECKED)),
            keys: plain_link(fields.chosen("queue").expect(CHECKED).clone()),
        },
    };
    names(fields).into_iter().map(station).collect()
}

fn hop(fields: &Fields, scenario: &Fields) -> Hop {
    Hop { keys: table(fields), link: link(fields, scenario) }
}

fn group(fields: &Fields, scenario: &Fields) -> Group {
    let keys = table::<GroupKeys>(fields).resolved();
    let start = fields.item("start");
    let stack = |name: &str| Stack { name: name.to_owned(), control: fields.text("control").map(str::to_owned) };
    Group {
        control: fields.chosen("control").map(|chosen| chosen.params.clone()),
        stack: fields.text("stack").map(stack),
        traffic: traffic(fields, scenario),
        rtt: rtts(fields),
        start: start.map_or_else(|| unsaid_start(fields, scenario, keys.flows), |start| moments(start, keys.flows)),
        stop: fields.item("stop").map(|stop| moments(stop, keys.flows)),
        connections_of: connections_of(fields, scenario),
        routes: routes::of_group(fields, scenario).expect(CHECKED),
        keys,
    }
}

/// When the `flows` flows of a group start that does not say it.
fn unsaid_start(group: &Fields, scenario: &Fields, flows: u32) -> Moments {
    match last_unsaid_start(group, scenario) {
        Some(last) if !last.is_zero() => Moments::Uniform(Span::ZERO, last),
        _ => Moments::At(vec![Span::ZERO; flows as usize]),
    }
}

fn moments(item: &Item, flows: u32) -> Moments {
    let Item::Table(table) = item else { return Moments::At(per_flow(item, flows)) };
    match table.item("uniform") {
        Some(Item::Values(ends)) => Moments::Uniform(as_span(ends[0]), as_span(ends[1])),
        other => unreachable!("uniform holds {other:?}"),
    }
}

/// The table that `fields` are.
fn table<T: Table>(fields: &Fields) -> T {
    T::read(fields).expect(CHECKED)
}

fn traffic(group: &Fields, scenario: &Fields) -> Traffic {
    let fields = &traffic_in_bytes(group).expect(CHECKED);
    match fields.section.name {
        "bulk" => Traffic::Bulk(table(fields)),
        "on-off" if span(fields, "off").is_zero() => Traffic::Bulk(Bulk { size_bytes: None }),
        "on-off" => Traffic::OnOff(table(fields)),
        "cbr" => Traffic::Cbr(table(fields)),
        "ping" => Traffic::Ping(table(fields)),
        "train" => Traffic::Train(table(fields)),
        "voip" => Traffic::Voip(table::<Call>(fields).into()),
        "video" => Traffic::Video(table(fields)),
        "transfers" => {
            let Arrivals { sizes, connections, .. } = table(fields);
            Traffic::Transfers(Transfers {
                interval: routes::interval(fields, group, scenario).expect(CHECKED),
                sizes,
                connections,
            })
        }
        "web" => Traffic::Web(table(fields)),
        "messages" => Traffic::Messages(table(fields)),
        "padding" => Traffic::Padding(Padding::Steady(table(fields))),
        "adaptive-padding" => Traffic::Padding(Padding::Adaptive(table(fields))),
        "program" => Traffic::Program(table(fields)),
        other => match crate::outside::custom(fields) {
            Some(custom) => Traffic::Custom(custom),
            None => unreachable!("no traffic is called {other}"),
        },
    }
}
