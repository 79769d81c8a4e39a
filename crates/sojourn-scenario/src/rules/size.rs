//! Rules that keep a run within what can be counted and waited for.

use super::report::element_path;
use super::traffic::{is_unresponsive, steady};
use crate::check::join;
use crate::derived::{counts, mean_rate, sizes};
use crate::diagnostic::{Fault, Reporter};
use crate::fields::{Fields, Item, as_rate};
use crate::routes::main_link;
use sojourn_core::{Rate, Span};
use sojourn_transport::Options;

/// Most packets of a run: days of computing.
const MAX_PACKETS: f64 = 1e12;
/// Segment numbers have 31 bits.
const MAX_SEGMENTS: f64 = 2_147_483_647.0;
/// Most simulated seconds of all flows and links together: the simulator keeps the time of an event and whose it
/// is in 64 bits.
const MAX_FLOW_SECONDS: f64 = 2e9;
/// Shortest packet that a link is filled with, for an upper bound of the number of packets.
const SHORT_PACKET_BYTES: f64 = 40.0;

/// Checks that packets and segments can be counted.
pub(super) fn check(scenario: &Fields, reporter: &mut Reporter<'_>) {
    let Some(duration) = scenario.span("duration") else { return };
    packets(scenario, duration, reporter);
    flow_seconds(scenario, duration, reporter);
    for (index, group) in scenario.tables("group").iter().enumerate() {
        segments(scenario, group, &element_path("group", index, group), duration, reporter);
    }
}

fn packets(scenario: &Fields, duration: Span, reporter: &mut Reporter<'_>) {
    let mains = ["bottleneck", "reverse"].into_iter().filter_map(|key| scenario.table(key));
    let links: f64 = mains
        .chain(scenario.tables("hop"))
        .filter_map(|link| mean_rate(link, scenario))
        .map(|rate| rate.bytes_in(duration) / SHORT_PACKET_BYTES)
        .sum();
    let constant: f64 = scenario.tables("group").iter().filter_map(|group| constant_packets(group, duration)).sum();
    let packets = links + constant;
    if packets > MAX_PACKETS {
        let found = Fault::new(format!("\"{duration}\" at rates that may need {packets:.1e} packets"));
        let allowed = format!("durations and rates that need at most {MAX_PACKETS:.0e} packets");
        reporter.error(scenario.origin_of("duration"), "duration", found, allowed);
    }
}

fn flow_seconds(scenario: &Fields, duration: Span, reporter: &mut Reporter<'_>) {
    let flows: u64 = scenario.tables("group").iter().filter_map(|group| group.integer("flows")).sum();
    let stations: u64 = scenario.tables("station").iter().filter_map(|station| station.integer("count")).sum();
    let parts = flows as f64 + scenario.tables("hop").len() as f64 + stations as f64 + 2.0;
    if parts * duration.as_secs_f64() > MAX_FLOW_SECONDS {
        let longest = Span::from_secs_f64((MAX_FLOW_SECONDS / parts).floor());
        let found = Fault::new(format!("\"{duration}\" for {flows} flows"));
        reporter.error(scenario.origin_of("duration"), "duration", found, format!("at most {longest} for so many"));
    }
}

/// Packets that a group sends whatever happens to them.
fn constant_packets(group: &Fields, duration: Span) -> Option<f64> {
    Some(group.integer("flows")? as f64 * steady(group)?.per_second * duration.as_secs_f64())
}

fn segments(scenario: &Fields, group: &Fields, path: &str, duration: Span, reporter: &mut Reporter<'_>) {
    let Some(Ok(options)) = group.chosen("transport").map(|chosen| Options::new(&chosen.params)) else { return };
    let payload = f64::from(options.payload_bytes);
    if let Some((key, bytes)) = group.table("traffic").and_then(|traffic| at_once(traffic, group))
        && bytes / payload > MAX_SEGMENTS
    {
        let found = Fault::new(format!("\"{bytes} B\" in segments of {payload} B"));
        let key = join(path, &format!("traffic.{key}"));
        reporter.error(group.origin_of("traffic"), &key, found, "a transfer of at most 2^31 segments");
    }
    messages(group, path, payload, duration, reporter);
    let Some(link) = main_link(group, scenario) else { return };
    let rate = group.rate("access_rate").map_or(link, |access| slower(access, link));
    if is_unresponsive(group) == Some(false) && rate.bytes_in(duration) / payload > MAX_SEGMENTS {
        let longest = Span::from_secs_f64((MAX_SEGMENTS * payload / rate.bytes_per_second()).floor());
        let found = Fault::new(format!("\"{duration}\", in which a flow of {path} may send over 2^31 segments"));
        reporter.error(scenario.origin_of("duration"), "duration", found, format!("at most {longest} at {rate}"));
    }
}

/// Checks that the messages of a flow can be counted, each of which has segments of its own.
fn messages(group: &Fields, path: &str, payload: f64, duration: Span, reporter: &mut Reporter<'_>) {
    let Some(traffic) = group.table("traffic").filter(|traffic| traffic.section.name == "messages") else { return };
    let (Some(size), Some(every)) = (traffic.bytes("size"), traffic.span("every")) else { return };
    let segments = (size as f64 / payload).ceil();
    let messages = duration.as_secs_f64() / every.as_secs_f64();
    if messages * segments > MAX_SEGMENTS {
        let least = Span::from_secs_f64((duration.as_secs_f64() * segments / MAX_SEGMENTS * 1e6).ceil() / 1e6);
        let found = Fault::new(format!("\"{every}\", with which a flow writes {messages:.1e} messages in {duration}"));
        let key = join(path, "traffic.every");
        reporter.error(traffic.origin_of("every"), &key, found, format!("at least {least}: a flow has 2^31 segments"));
    }
}

/// The most bytes that an application supplies at once, and the key that says so.
fn at_once(traffic: &Fields, group: &Fields) -> Option<(&'static str, f64)> {
    match traffic.section.name {
        "bulk" => Some(("size", traffic.bytes("size")? as f64)),
        "transfers" => Some(("size", sizes(group)?.largest() as f64)),
        // All objects of a page may come over one connection.
        "web" => {
            let objects = counts(traffic)?.largest() as f64;
            Some(("objects", objects * sizes(group)?.largest() as f64))
        }
        "video" => match traffic.item("ladder")? {
            Item::Values(rates) => {
                let bytes = as_rate(*rates.last()?).bytes_in(traffic.span("segment")?);
                Some(("ladder", bytes))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The lower of two rates.
pub(super) fn slower(one: Rate, other: Rate) -> Rate {
    if one.bits_per_second() < other.bits_per_second() { one } else { other }
}
