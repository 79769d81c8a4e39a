//! The checked values that describe a [`Scenario`]: the way back from it to text.

use crate::declare::Table;
use crate::families::CLASS;
use crate::fields::{Chosen, Fields, Item};
use crate::form::{Form, Section};
use crate::format::SCENARIO;
use crate::group::OF_OWN_ENDS;
use crate::node::Origin;
use crate::{Change, Group, GroupChange, Hop, Link, Moments, Scenario, Stack, Station, Which};
use sojourn_core::Span;
use sojourn_core::registry::{Class, Params, Value};
use sojourn_media::cell::Quality;
use sojourn_queue::Dscp;

/// The values of a whole file.
pub(crate) fn scenario(scenario: &Scenario) -> Fields {
    let mut fields = scenario.keys.fields();
    fields.put("name", Item::Text(scenario.name.clone()));
    fields.put("bottleneck", Item::Table(link(&scenario.bottleneck, new_table(&SCENARIO, "bottleneck"))));
    if let Some(reverse) = &scenario.reverse {
        fields.put("reverse", Item::Table(link(reverse, new_table(&SCENARIO, "reverse"))));
    }
    if !scenario.hops.is_empty() {
        fields.put("hop", Item::Tables(scenario.hops.iter().map(hop).collect()));
    }
    if !scenario.stations.is_empty() {
        fields.put("station", Item::Tables(scenario.stations.iter().map(station).collect()));
    }
    fields.put("group", Item::Tables(scenario.groups.iter().map(|one| group(one, scenario)).collect()));
    if !scenario.changes.is_empty() {
        fields.put(
            "change",
            Item::Tables(scenario.changes.iter().map(|one| change(one, &scenario.hops, &scenario.groups)).collect()),
        );
    }
    if !scenario.phases.is_empty() {
        fields.put("phase", Item::Tables(scenario.phases.iter().map(Table::fields).collect()));
    }
    fields
}

fn change(change: &Change, hops: &[Hop], groups: &[Group]) -> Fields {
    let mut fields = new_table(&SCENARIO, "change");
    if let Some(name) = &change.name {
        fields.put("name", Item::Text(name.clone()));
    }
    fields.put("at", span(change.at));
    let mut of_hops = Vec::new();
    for one in &change.links {
        let key = match one.which {
            Which::Bottleneck => "bottleneck",
            Which::Reverse => "reverse",
            Which::Hop(_) => "hop",
            Which::Station => unreachable!("stations do not change"),
        };
        let mut part = new_table(fields.section, key);
        let whole = link(&one.link, new_table(fields.section, key));
        for &name in &one.keys {
            part.put(name, whole.item(name).expect("a change names what a link has").clone());
        }
        match one.which {
            Which::Hop(index) => {
                part.put("name", Item::Text(hops[index].name.clone()));
                of_hops.push(part);
            }
            _ => fields.put(key, Item::Table(part)),
        }
    }
    if !of_hops.is_empty() {
        fields.put("hop", Item::Tables(of_hops));
    }
    let of_group = |one: &GroupChange| {
        let mut part = new_table(fields.section, "group");
        part.put("name", Item::Text(groups[one.group].name.clone()));
        if let Some(control) = &one.control {
            part.put("control", params(control));
        }
        if let Some(rtt) = &one.rtt {
            part.put("rtt", per_flow(rtt));
        }
        let links = one.rerouted.iter().flat_map(|one| [("path", &one.path), ("back", &one.back)]);
        for (key, links) in links.filter(|(_, links)| !links.is_empty()) {
            part.put(key, Item::List(links.iter().cloned().map(Item::Text).collect()));
        }
        part
    };
    if !change.groups.is_empty() {
        fields.put("group", Item::Tables(change.groups.iter().map(of_group).collect()));
    }
    fields
}

/// An empty table for the key `key` of `section`.
fn new_table(section: &Section, key: &str) -> Fields {
    match section.key(key).map(|key| &key.form) {
        Some(Form::Table(inner) | Form::Tables(inner) | Form::PerFlow { table: Some(inner), .. }) => {
            Fields::new(inner, Origin::Unknown)
        }
        Some(Form::Part(part)) => Fields::new(part.of, Origin::Unknown),
        other => unreachable!("{key} is no table but {other:?}"),
    }
}

fn span(span: Span) -> Item {
    Item::Value(Value::Span(span))
}

fn integer(integer: u64) -> Item {
    Item::Value(Value::Integer(integer))
}

fn number(number: f64) -> Item {
    Item::Value(Value::Number(number))
}

fn params(params: &Params) -> Item {
    Item::Chosen(Chosen::new(params.clone()))
}

/// The keys that a class has like every other.
pub(crate) fn class(class: &Class) -> Fields {
    let mut fields = Fields::new(&CLASS, Origin::Unknown);
    fields.put("name", Item::Text(class.name.clone()));
    if let Some(parent) = &class.parent {
        fields.put("parent", Item::Text(parent.clone()));
    }
    let dscp = |&number: &u8| Item::Dscp(Dscp::from_number(u64::from(number)).expect("a class has valid code points"));
    let precedence = |&number: &u8| integer(u64::from(number));
    let lists: [(_, Vec<Item>); 3] = [
        ("dscp", class.members.dscp.iter().map(dscp).collect()),
        ("precedence", class.members.precedence.iter().map(precedence).collect()),
        ("groups", class.members.groups.iter().cloned().map(Item::Group).collect()),
    ];
    for (key, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
        fields.put(key, Item::List(list));
    }
    fields.put("queue", params(&class.queue));
    fields
}

fn link(link: &Link, mut fields: Fields) -> Fields {
    link.keys.write(&mut fields);
    fields
}

fn hop(hop: &Hop) -> Fields {
    let mut fields = link(&hop.link, new_table(&SCENARIO, "hop"));
    hop.keys.write(&mut fields);
    fields
}

fn station(station: &Station) -> Fields {
    let mut fields = new_table(&SCENARIO, "station");
    fields.put("name", Item::Text(station.name.clone()));
    if let Some(rate) = &station.rate {
        fields.put("rate", Item::Text(rate.clone()));
    }
    fields.put("streams", integer(u64::from(station.streams)));
    match &station.air {
        sojourn_media::Station::Wifi(wifi) => {
            if let Some(quality) = wifi.quality {
                fields.put("snr_db", number(quality.mean_db));
                fields.put("speed_kmh", number(quality.speed_kmh));
                fields.put("shadowing_db", number(quality.shadowing_db));
            }
            fields.put("loss", number(wifi.loss));
            fields.put("weight", number(wifi.weight));
        }
        sojourn_media::Station::Cell(cell) => match cell.quality {
            Quality::Cqi(cqi) => fields.put("cqi", integer(u64::from(cqi))),
            Quality::Snr { mean_db, speed_kmh, shadowing_db } => {
                fields.put("snr_db", number(mean_db));
                fields.put("speed_kmh", number(speed_kmh));
                fields.put("shadowing_db", number(shadowing_db));
            }
        },
    }
    fields.put("queue", params(&station.link.queue));
    fields
}

fn group(group: &Group, scenario: &Scenario) -> Fields {
    let mut fields = group.keys.fields();
    if let Some(control) = &group.control {
        fields.put("control", params(control));
    }
    if let Some(Stack { name, control }) = &group.stack {
        fields.put("stack", Item::Text(name.clone()));
        if let Some(control) = control {
            fields.put("control", Item::Text(control.clone()));
        }
        OF_OWN_ENDS.iter().for_each(|key| fields.remove(key));
    }
    fields.put("rtt", per_flow(&group.rtt));
    fields.put("traffic", Item::Table(group.traffic.fields()));
    let start = moments("start", &group.start, fields.section);
    fields.put("start", start);
    if let Some(stop) = &group.stop {
        let stop = moments("stop", stop, fields.section);
        fields.put("stop", stop);
    }
    if let Some(other) = group.connections_of {
        fields.put("connections_of", Item::Text(scenario.groups[other].name.clone()));
    }
    let stations: Vec<_> = group.routes.iter().filter_map(|route| route.station).collect();
    if !stations.is_empty() && scenario.bottleneck.from.is_none() {
        let name = |place: usize| Item::Text(scenario.stations[place].name.clone());
        fields.put("station", Item::List(stations.into_iter().map(name).collect()));
    }
    fields
}

fn per_flow(spans: &[Span]) -> Item {
    match spans {
        [first, rest @ ..] if rest.iter().all(|other| other == first) => span(*first),
        _ => Item::Values(spans.iter().map(|&span| Value::Span(span)).collect()),
    }
}

fn moments(key: &str, moments: &Moments, section: &Section) -> Item {
    match moments {
        Moments::At(times) => per_flow(times),
        Moments::Uniform(low, high) => {
            let mut fields = new_table(section, key);
            fields.put("uniform", Item::Values(vec![Value::Span(*low), Value::Span(*high)]));
            Item::Table(fields)
        }
    }
}
