//! Makes a [`Scenario`] from checked values.

use crate::ReceiverControl;
use crate::changes::{Resolved, ResolvedLink};
use crate::derived::{
    CHECKED, connections_of, counts, direction, enters, interval, is_shared, last_unsaid_start, per_flow, place, rtts,
    sizes, voip,
};
use crate::fields::{Fields, Item, as_rate, as_span};
use crate::stations::{in_air, names, nominal, nominal_of_all, of_group, rate_name};
use crate::{
    Bucket, Capacity, Change, EcnRemark, Group, Hop, Host, HostQueue, Jitter, Link, LinkChange, Moments, Phase, Qdisc,
    Remark, Scenario, Shape, Station,
};
use crate::{Messages, Pace, Padding, Reach, Traffic, Train, Video, Web};
use sojourn_core::Span;
use sojourn_queue::Ecn;
use std::sync::Arc;

/// The scenario that `fields` describe; `name` is its name where they give none.
pub(crate) fn scenario(fields: &Fields, changes: &[Resolved], name: &str) -> Scenario {
    Scenario {
        name: fields.text("name").unwrap_or(name).to_owned(),
        duration: span(fields, "duration"),
        warmup: span(fields, "warmup"),
        seed: fields.integer("seed").expect(CHECKED),
        runs: fields.integer("runs").expect(CHECKED) as u32,
        plugins: fields.texts("plugins").map(str::to_owned).collect(),
        bottleneck: link(fields.table("bottleneck").expect(CHECKED), fields),
        reverse: fields.table("reverse").map(|one| link(one, fields)),
        hops: fields.tables("hop").iter().map(|one| hop(one, fields)).collect(),
        stations: fields.tables("station").iter().flat_map(|one| stations(one, fields)).collect(),
        groups: fields.tables("group").iter().map(|one| group(one, fields)).collect(),
        changes: changes.iter().map(|one| change(one, fields)).collect(),
        phases: fields.tables("phase").iter().map(phase).collect(),
    }
}

fn phase(fields: &Fields) -> Phase {
    Phase {
        name: fields.text("name").expect(CHECKED).to_owned(),
        from: span(fields, "from"),
        to: span(fields, "to"),
        every: fields.span("every"),
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
    let params = |key| fields.chosen(key).map(|chosen| chosen.params.clone());
    Link {
        capacity: capacity(fields, scenario),
        framing: params("framing"),
        medium: params("medium"),
        delay: span(fields, "delay"),
        jitter: fields.table("jitter").map(jitter),
        loss: fields.number("loss").expect(CHECKED),
        noise: params("noise"),
        protection: params("protection"),
        policer: fields.table("policer").map(bucket),
        shaper: fields.table("shaper").map(bucket),
        remark: fields.table("remark").map(remark),
        queue: params("queue").expect(CHECKED),
    }
}

fn bucket(fields: &Fields) -> Bucket {
    Bucket { rate: fields.rate("rate").expect(CHECKED), burst_bytes: fields.bytes("burst").expect(CHECKED) }
}

fn remark(fields: &Fields) -> Remark {
    Remark { dscp: fields.dscp("dscp"), ecn: fields.choice("ecn").and_then(EcnRemark::from_name) }
}

fn capacity(fields: &Fields, scenario: &Fields) -> Capacity {
    match fields.item("trace") {
        Some(Item::Trace(trace)) => Capacity::Recorded(Arc::clone(trace)),
        _ if is_shared(fields) => Capacity::Shared(nominal_of_all(scenario).expect(CHECKED)),
        _ => Capacity::Fixed(fields.rate("rate").expect(CHECKED)),
    }
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
            capacity: Capacity::Shared(nominal(fields, scenario).expect(CHECKED)),
            framing: None,
            medium: None,
            delay: Span::ZERO,
            jitter: None,
            loss: 0.0,
            noise: None,
            protection: None,
            policer: None,
            shaper: None,
            remark: None,
            queue: fields.chosen("queue").expect(CHECKED).params.clone(),
        },
    };
    names(fields).into_iter().map(station).collect()
}

fn jitter(fields: &Fields) -> Jitter {
    let shape = match fields.section.name {
        "uniform" => Shape::Uniform(span(fields, "max")),
        "normal" => Shape::Normal(span(fields, "mean"), span(fields, "sd")),
        other => unreachable!("no jitter is called {other}"),
    };
    Jitter { shape, reorder: fields.boolean("reorder").expect(CHECKED) }
}

fn hop(fields: &Fields, scenario: &Fields) -> Hop {
    Hop {
        name: fields.text("name").expect(CHECKED).to_owned(),
        direction: direction(fields),
        place: place(fields),
        link: link(fields, scenario),
    }
}

/// What waits before a host's network card; nothing where the format has no such keys.
fn host_queue(host: &Fields) -> Option<HostQueue> {
    let qdisc = host.choice("qdisc")?;
    let queue = HostQueue::of(Qdisc::ALL.into_iter().find(|known| known.name() == qdisc)?);
    let given = |key: &str| host.slot(key).is_some();
    Some(HostQueue {
        ring: if given("ring") { host.integer("ring").expect(CHECKED) as u32 } else { queue.ring },
        byte_limits: if given("byte_limits") { host.boolean("byte_limits").expect(CHECKED) } else { queue.byte_limits },
        completions: if given("completions") { span(host, "completions") } else { queue.completions },
        ..queue
    })
}

/// Linux scales the window for the largest buffer that it may come to have, 6 MiB (`tcp_rmem`, `tcp_select_initial_window`).
const USUAL_WINDOW_SCALE: u8 = 7;

fn group(fields: &Fields, scenario: &Fields) -> Group {
    let flows = fields.integer("flows").expect(CHECKED) as u32;
    Group {
        name: fields.text("name").expect(CHECKED).to_owned(),
        title: fields.text("title").map(str::to_owned),
        flows,
        control: fields.chosen("control").map(|chosen| chosen.params.clone()),
        receiver_control: fields.chosen("receiver_control").map(|chosen| ReceiverControl {
            control: chosen.params.clone(),
            window_scale: fields.integer("window_scale").map_or(USUAL_WINDOW_SCALE, |scale| scale as u8),
        }),
        transport: fields.chosen("transport").expect(CHECKED).params.clone(),
        traffic: traffic(fields.table("traffic").expect(CHECKED), fields, scenario),
        rtt: rtts(fields),
        access_rate: fields.rate("access_rate"),
        host: fields.table("host").map(|host| Host {
            small_queue: span(host, "small_queue"),
            small_queue_packets: host.integer("small_queue_packets").expect(CHECKED) as u32,
            burst: host.integer("burst").expect(CHECKED) as u32,
            burst_time: span(host, "burst_time"),
            burst_least: host.integer("burst_least").expect(CHECKED) as u32,
            paces_all: host.choice("pacing") == Some("fq"),
            receive_offload: span(host, "receive_offload"),
            queue: host_queue(host),
        }),
        start: fields
            .item("start")
            .map_or_else(|| unsaid_start(fields, scenario, flows), |start| moments(start, flows)),
        stop: fields.item("stop").map(|stop| moments(stop, flows)),
        direction: direction(fields),
        connections_of: connections_of(fields, scenario),
        enters: enters(fields, scenario),
        stations: of_group(fields, scenario),
        dscp: fields.dscp("dscp").expect(CHECKED),
        hosts: fields.integer("hosts").map(|hosts| hosts as u32),
        receiver_hosts: fields.integer("receiver_hosts").map(|hosts| hosts as u32),
        clock_offset_nanos: match fields.item("clock_offset") {
            Some(Item::Offset(nanos)) => *nanos,
            other => unreachable!("clock_offset holds {other:?}"),
        },
        clock_skew_ppm: fields.number("clock_skew_ppm").expect(CHECKED),
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

fn traffic(fields: &Fields, group: &Fields, scenario: &Fields) -> Traffic {
    match fields.section.name {
        "bulk" => Traffic::Bulk { size_bytes: fields.bytes("size") },
        "on-off" if span(fields, "off").is_zero() => Traffic::Bulk { size_bytes: None },
        "on-off" => Traffic::OnOff {
            on: span(fields, "on"),
            off: span(fields, "off"),
            fixed: fields.choice("times") == Some("fixed"),
            fresh: fields.choice("connection") == Some("fresh"),
        },
        "cbr" => Traffic::Cbr {
            rate: fields.rate("rate").expect(CHECKED),
            packet_bytes: fields.bytes("packet").expect(CHECKED) as u32,
            ecn: datagram_ecn(fields),
        },
        "ping" => {
            Traffic::Ping { every: span(fields, "every"), packet_bytes: fields.bytes("packet").expect(CHECKED) as u32 }
        }
        "train" => Traffic::Train(train(fields)),
        "voip" => Traffic::Voip(voip(fields).expect(CHECKED)),
        "video" => Traffic::Video(video(fields)),
        "transfers" => Traffic::Transfers {
            interval: interval(fields, group, scenario).expect(CHECKED),
            sizes: sizes(fields, group).expect(CHECKED),
            connections: fields.integer("connections").expect(CHECKED) as u32,
        },
        "padding" | "adaptive-padding" => Traffic::Padding(padding(fields)),
        "web" => Traffic::Web(web(fields, group)),
        "messages" => Traffic::Messages(Messages {
            size_bytes: fields.bytes("size").expect(CHECKED),
            every: span(fields, "every"),
        }),
        other => match crate::outside::custom(fields) {
            Some(custom) => Traffic::Custom(custom),
            None => unreachable!("no traffic is called {other}"),
        },
    }
}

fn train(fields: &Fields) -> Train {
    Train {
        count: fields.integer("count").expect(CHECKED) as u32,
        packet_bytes: fields.bytes("packet").expect(CHECKED) as u32,
        spacing: span(fields, "spacing"),
        every: fields.span("every"),
        repeat: fields.integer("repeat").map(|trains| trains as u32),
        large: fields
            .integer("large")
            .zip(fields.integer("large_every"))
            .map(|(packets, every)| (packets as u32, every as u32)),
        ecn: datagram_ecn(fields),
    }
}

fn datagram_ecn(fields: &Fields) -> Ecn {
    match fields.choice("ect") {
        Some("ect0") => Ecn::Ect0,
        Some(_) => Ecn::Ect1,
        None => Ecn::NotEct,
    }
}

fn padding(fields: &Fields) -> Padding {
    let pace = if fields.section.name == "padding" {
        let rate = fields.packet_rate("rate").expect(CHECKED);
        Pace::Steady { rate, bursts: fields.integer("burst").map(|packets| packets as u32).zip(fields.span("every")) }
    } else {
        Pace::Adaptive {
            target: span(fields, "target"),
            most: fields.packet_rate("most").expect(CHECKED),
            duty: fields.number("duty").expect(CHECKED),
            probe: span(fields, "probe"),
        }
    };
    Padding {
        pace,
        packet_bytes: fields.bytes("packet").expect(CHECKED) as u32,
        reach: if fields.choice("reach") == Some("bottleneck") { Reach::Bottleneck } else { Reach::Receiver },
    }
}

fn web(fields: &Fields, group: &Fields) -> Web {
    Web {
        objects: fields.table("objects").and_then(counts).expect(CHECKED),
        sizes: sizes(fields, group).expect(CHECKED),
        connections: fields.integer("connections").expect(CHECKED) as u32,
        reuse: fields.boolean("reuse").expect(CHECKED),
        request_bytes: fields.bytes("request").expect(CHECKED) as u32,
        think: span(fields, "think"),
    }
}

fn video(fields: &Fields) -> Video {
    let ladder = match fields.item("ladder") {
        Some(Item::Values(rates)) => rates.iter().map(|&rate| as_rate(rate)).collect(),
        other => unreachable!("ladder holds {other:?}"),
    };
    Video {
        ladder,
        segment: span(fields, "segment"),
        buffer: span(fields, "buffer"),
        samples: fields.integer("samples").expect(CHECKED) as usize,
        safety: fields.number("safety").expect(CHECKED),
        low_buffer_safety: fields.number("low_buffer_safety").expect(CHECKED),
    }
}
