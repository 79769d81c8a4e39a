//! The checked values that describe a [`Scenario`]: the way back from it to text.

use crate::fields::{Chosen, Fields, Item};
use crate::format::{CLASS, Form, SCENARIO, Section};
use crate::node::Origin;
use crate::{
    Capacity, Change, Direction, Group, GroupChange, Hop, Jitter, Link, Moments, Pace, Phase, Place, Reach, Scenario,
    Shape, Sizes, Station, Traffic, Which,
};
use sojourn_core::registry::{Class, Params, Value};
use sojourn_core::{Rate, Span};
use sojourn_media::cell::Quality;
use sojourn_queue::{Dscp, Ecn};
use std::sync::Arc;

/// The values of a whole file.
pub(crate) fn scenario(scenario: &Scenario) -> Fields {
    let mut fields = Fields::new(&SCENARIO, Origin::Unknown);
    fields.put("name", Item::Text(scenario.name.clone()));
    fields.put("duration", span(scenario.duration));
    fields.put("warmup", span(scenario.warmup));
    fields.put("seed", integer(scenario.seed));
    fields.put("runs", integer(u64::from(scenario.runs)));
    if !scenario.plugins.is_empty() {
        fields.put("plugins", Item::List(scenario.plugins.iter().cloned().map(Item::Text).collect()));
    }
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
        fields.put("phase", Item::Tables(scenario.phases.iter().map(phase).collect()));
    }
    fields
}

fn phase(phase: &Phase) -> Fields {
    let mut fields = new_table(&SCENARIO, "phase");
    fields.put("name", Item::Text(phase.name.clone()));
    fields.put("from", span(phase.from));
    fields.put("to", span(phase.to));
    if let Some(every) = phase.every {
        fields.put("every", span(every));
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

/// An empty table for the kind `kind` of the key `key` of `section`.
fn new_kind(section: &Section, key: &str, kind: &str) -> Fields {
    match section.key(key).map(|key| &key.form) {
        Some(Form::Select(select)) => {
            let inner = select.kind(kind).unwrap_or_else(|| panic!("{key} has no kind {kind}"));
            Fields::new(inner, Origin::Unknown)
        }
        other => unreachable!("{key} is no choice but {other:?}"),
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

fn word(word: &'static str) -> Item {
    Item::Value(Value::Choice(word))
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

fn direction(direction: Direction) -> Item {
    word(match direction {
        Direction::Forward => "forward",
        Direction::Reverse => "reverse",
    })
}

fn link(link: &Link, mut fields: Fields) -> Fields {
    match &link.capacity {
        Capacity::Fixed(rate) => fields.put("rate", rate_item(*rate)),
        Capacity::Recorded(trace) => fields.put("trace", Item::Trace(Arc::clone(trace))),
        // The medium says it.
        Capacity::Shared(_) => {}
    }
    let parts = [
        ("framing", &link.framing),
        ("medium", &link.medium),
        ("noise", &link.noise),
        ("protection", &link.protection),
    ];
    for (key, part) in parts {
        if let Some(part) = part {
            fields.put(key, params(part));
        }
    }
    fields.put("delay", span(link.delay));
    if let Some(jitter) = &link.jitter {
        let described = self::jitter(jitter, fields.section);
        fields.put("jitter", Item::Table(described));
    }
    fields.put("loss", number(link.loss));
    for (key, bucket) in [("policer", link.policer), ("shaper", link.shaper)] {
        if let Some(bucket) = bucket {
            let mut table = new_table(fields.section, key);
            table.put("rate", rate_item(bucket.rate));
            table.put("burst", Item::Bytes(bucket.burst_bytes));
            fields.put(key, Item::Table(table));
        }
    }
    if let Some(remark) = &link.remark {
        let mut table = new_table(fields.section, "remark");
        if let Some(dscp) = remark.dscp {
            table.put("dscp", Item::Dscp(dscp));
        }
        if let Some(ecn) = remark.ecn {
            table.put("ecn", word(ecn.name()));
        }
        fields.put("remark", Item::Table(table));
    }
    fields.put("queue", params(&link.queue));
    fields
}

fn datagram_ecn(ecn: Ecn, fields: &mut Fields) {
    match ecn {
        Ecn::Ect0 => fields.put("ect", word("ect0")),
        Ecn::Ect1 => fields.put("ect", word("ect1")),
        Ecn::NotEct | Ecn::Ce => {}
    }
}

fn jitter(jitter: &Jitter, section: &Section) -> Fields {
    let mut fields = match jitter.shape {
        Shape::Uniform(max) => {
            let mut fields = new_kind(section, "jitter", "uniform");
            fields.put("max", span(max));
            fields
        }
        Shape::Normal(mean, sd) => {
            let mut fields = new_kind(section, "jitter", "normal");
            fields.put("mean", span(mean));
            fields.put("sd", span(sd));
            fields
        }
    };
    fields.put("reorder", Item::Value(Value::Boolean(jitter.reorder)));
    fields
}

fn hop(hop: &Hop) -> Fields {
    let mut fields = link(&hop.link, new_table(&SCENARIO, "hop"));
    fields.put("name", Item::Text(hop.name.clone()));
    fields.put("direction", direction(hop.direction));
    fields.put(
        "at",
        word(match hop.place {
            Place::Before => "before",
            Place::After => "after",
        }),
    );
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
    let mut fields = new_table(&SCENARIO, "group");
    fields.put("name", Item::Text(group.name.clone()));
    if let Some(title) = &group.title {
        fields.put("title", Item::Text(title.clone()));
    }
    fields.put("flows", integer(u64::from(group.flows)));
    fields.put("rtt", per_flow(&group.rtt));
    if let Some(control) = &group.control {
        fields.put("control", params(control));
    }
    if let Some(steering) = &group.receiver_control {
        fields.put("receiver_control", params(&steering.control));
        fields.put("window_scale", integer(u64::from(steering.window_scale)));
    }
    fields.put("transport", params(&group.transport));
    let traffic = self::traffic(&group.traffic, fields.section);
    fields.put("traffic", Item::Table(traffic));
    let start = moments("start", &group.start, fields.section);
    fields.put("start", start);
    if let Some(stop) = &group.stop {
        let stop = moments("stop", stop, fields.section);
        fields.put("stop", stop);
    }
    fields.put("direction", direction(group.direction));
    if let Some(other) = group.connections_of {
        fields.put("connections_of", Item::Text(scenario.groups[other].name.clone()));
    }
    if let Some(link) = group.enters {
        let name = match link {
            Which::Bottleneck => "bottleneck",
            Which::Reverse => "reverse",
            Which::Hop(index) => &scenario.hops[index].name,
        };
        fields.put("enters", Item::Text(name.to_owned()));
    }
    if !group.stations.is_empty() {
        let name = |&place: &usize| Item::Text(scenario.stations[place].name.clone());
        fields.put("station", Item::List(group.stations.iter().map(name).collect()));
    }
    fields.put("dscp", Item::Dscp(group.dscp));
    for (key, hosts) in [("hosts", group.hosts), ("receiver_hosts", group.receiver_hosts)] {
        if let Some(hosts) = hosts {
            fields.put(key, integer(u64::from(hosts)));
        }
    }
    if let Some(rate) = group.access_rate {
        fields.put("access_rate", rate_item(rate));
    }
    if let Some(host) = group.host {
        let mut table = new_kind(fields.section, "host", "linux");
        table.put("small_queue", span(host.small_queue));
        table.put("small_queue_packets", integer(u64::from(host.small_queue_packets)));
        table.put("burst", integer(u64::from(host.burst)));
        table.put("burst_time", span(host.burst_time));
        table.put("burst_least", integer(u64::from(host.burst_least)));
        table.put("pacing", word(if host.paces_all { "fq" } else { "control" }));
        table.put("receive_offload", span(host.receive_offload));
        if let Some(queue) = host.queue {
            table.put("qdisc", word(queue.qdisc.name()));
            table.put("ring", integer(u64::from(queue.ring)));
            table.put("byte_limits", Item::Value(Value::Boolean(queue.byte_limits)));
            table.put("completions", span(queue.completions));
        }
        fields.put("host", Item::Table(table));
    }
    fields.put("clock_offset", Item::Offset(group.clock_offset_nanos));
    fields.put("clock_skew_ppm", number(group.clock_skew_ppm));
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

fn traffic(traffic: &Traffic, section: &Section) -> Fields {
    let kind = |name| new_kind(section, "traffic", name);
    match traffic {
        Traffic::Bulk { size_bytes } => {
            let mut fields = kind("bulk");
            if let Some(bytes) = size_bytes {
                fields.put("size", Item::Bytes(*bytes));
            }
            fields
        }
        Traffic::OnOff { on, off, fixed, fresh } => {
            let mut fields = kind("on-off");
            fields.put("on", span(*on));
            fields.put("off", span(*off));
            fields.put("times", Item::Value(Value::Choice(if *fixed { "fixed" } else { "exponential" })));
            fields.put("connection", Item::Value(Value::Choice(if *fresh { "fresh" } else { "kept" })));
            fields
        }
        Traffic::Cbr { rate, packet_bytes, ecn } => {
            let mut fields = kind("cbr");
            fields.put("rate", rate_item(*rate));
            fields.put("packet", Item::Bytes(u64::from(*packet_bytes)));
            datagram_ecn(*ecn, &mut fields);
            fields
        }
        Traffic::Ping { every, packet_bytes } => {
            let mut fields = kind("ping");
            fields.put("every", span(*every));
            fields.put("packet", Item::Bytes(u64::from(*packet_bytes)));
            fields
        }
        Traffic::Train(train) => {
            let mut fields = kind("train");
            fields.put("count", integer(u64::from(train.count)));
            fields.put("packet", Item::Bytes(u64::from(train.packet_bytes)));
            fields.put("spacing", span(train.spacing));
            if let Some(every) = train.every {
                fields.put("every", span(every));
            }
            if let Some(repeat) = train.repeat {
                fields.put("repeat", integer(u64::from(repeat)));
            }
            if let Some((packets, every)) = train.large {
                fields.put("large", integer(u64::from(packets)));
                fields.put("large_every", integer(u64::from(every)));
            }
            datagram_ecn(train.ecn, &mut fields);
            fields
        }
        Traffic::Voip(voip) => {
            let mut fields = kind("voip");
            fields.put("codec", word(voip.codec.name));
            fields.put("frame", span(voip.frame));
            fields.put("payload", Item::Bytes(u64::from(voip.payload_bytes)));
            if let Some((ie, bpl)) = voip.quality {
                fields.put("ie", number(ie));
                fields.put("bpl", number(bpl));
            }
            fields.put("telr_db", number(voip.echo.telr_db));
            fields.put("wepl_db", number(voip.echo.wepl_db));
            if let Some((talk, pause)) = voip.spurts {
                fields.put("talk", span(talk));
                fields.put("pause", span(pause));
            }
            fields
        }
        Traffic::Transfers { interval, sizes, connections } => {
            let mut fields = kind("transfers");
            fields.put("interval", span(*interval));
            fields.put("size", self::sizes(sizes, fields.section));
            fields.put("connections", integer(u64::from(*connections)));
            fields
        }
        Traffic::Padding(padding) => {
            let mut fields = match padding.pace {
                Pace::Steady { rate, bursts } => {
                    let mut fields = kind("padding");
                    fields.put("rate", Item::PacketRate(rate));
                    if let Some((packets, every)) = bursts {
                        fields.put("burst", integer(u64::from(packets)));
                        fields.put("every", span(every));
                    }
                    fields
                }
                Pace::Adaptive { target, most, duty, probe } => {
                    let mut fields = kind("adaptive-padding");
                    fields.put("target", span(target));
                    fields.put("most", Item::PacketRate(most));
                    fields.put("duty", number(duty));
                    fields.put("probe", span(probe));
                    fields
                }
            };
            fields.put("packet", Item::Bytes(u64::from(padding.packet_bytes)));
            fields.put(
                "reach",
                word(match padding.reach {
                    Reach::Receiver => "receiver",
                    Reach::Bottleneck => "bottleneck",
                }),
            );
            fields
        }
        Traffic::Messages(messages) => {
            let mut fields = kind("messages");
            fields.put("size", Item::Bytes(messages.size_bytes));
            fields.put("every", span(messages.every));
            fields
        }
        Traffic::Web(web) => {
            let mut fields = kind("web");
            fields.put("objects", counts(&web.objects, fields.section));
            fields.put("size", sizes(&web.sizes, fields.section));
            fields.put("connections", integer(u64::from(web.connections)));
            fields.put("reuse", Item::Value(Value::Boolean(web.reuse)));
            fields.put("request", Item::Bytes(u64::from(web.request_bytes)));
            fields.put("think", span(web.think));
            fields
        }
        Traffic::Video(video) => {
            let mut fields = kind("video");
            fields.put("ladder", Item::Values(video.ladder.iter().map(|&rate| Value::Rate(rate)).collect()));
            fields.put("segment", span(video.segment));
            fields.put("buffer", span(video.buffer));
            fields.put("samples", integer(video.samples as u64));
            fields.put("safety", number(video.safety));
            fields.put("low_buffer_safety", number(video.low_buffer_safety));
            fields
        }
        Traffic::Custom(params) => crate::outside::fields(params),
    }
}

/// `sizes` for the key `key` of `section`; a size becomes an item by `item`, and a fixed one is called `fixed`.
fn distribution(sizes: &Sizes, section: &Section, key: &str, fixed: &'static str, item: fn(u64) -> Item) -> Item {
    let kind = |name| new_kind(section, key, name);
    Item::Table(match *sizes {
        Sizes::Fixed(size) => {
            let mut fields = kind("fixed");
            fields.put(fixed, item(size));
            fields
        }
        Sizes::Pareto { min, max, shape } => {
            let mut fields = kind("pareto");
            fields.put("min", item(min));
            fields.put("max", item(max));
            fields.put("shape", number(shape));
            fields
        }
        Sizes::LogNormal { median, sigma, max } => {
            let mut fields = kind("log-normal");
            fields.put("median", item(median));
            fields.put("sigma", number(sigma));
            fields.put("max", item(max));
            fields
        }
        Sizes::Zipf { unit, most, exponent } => {
            let mut fields = kind("zipf");
            if fields.section.key("unit").is_some() {
                fields.put("unit", item(unit));
            }
            fields.put("most", integer(most));
            fields.put("exponent", number(exponent));
            fields
        }
    })
}

fn sizes(sizes: &Sizes, section: &Section) -> Item {
    distribution(sizes, section, "size", "size", Item::Bytes)
}

fn counts(counts: &Sizes, section: &Section) -> Item {
    distribution(counts, section, "objects", "count", integer)
}

/// A rate as a checked value.
fn rate_item(rate: Rate) -> Item {
    Item::Value(Value::Rate(rate))
}
