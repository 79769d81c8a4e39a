//! Rules of what applications send.

use super::report::element_path;
use crate::check::join;
use crate::declare::Table;
use crate::derived::{counts, sizes};
use crate::diagnostic::{Fault, Reporter};
use crate::fields::{Fields, Item};
use crate::routes::{interval, main_link};
use crate::traffic::{Call, INTERVAL, Train, UNRESPONSIVE};
use crate::{Sizes, Voip};
use sojourn_core::Span;
use sojourn_core::registry::Value;

/// Packets at a constant rate.
pub(super) struct Steady {
    /// Bytes of each.
    pub packet_bytes: f64,
    /// How many there are in a second.
    pub per_second: f64,
}

/// What a flow of the group sends whatever happens to it; nothing where it responds to congestion.
pub(super) fn steady(group: &Fields) -> Option<Steady> {
    let traffic = group.table("traffic")?;
    match traffic.section.name {
        "cbr" => {
            let packet_bytes = traffic.bytes("packet")? as f64;
            Some(Steady { packet_bytes, per_second: traffic.rate("rate")?.bytes_per_second() / packet_bytes })
        }
        "ping" => Some(Steady {
            packet_bytes: traffic.bytes("packet")? as f64,
            per_second: 1.0 / traffic.span("every")?.as_secs_f64(),
        }),
        "train" => {
            // Of one train alone all packets count, as if it came each second.
            let every = traffic.span("every").unwrap_or(Span::from_secs(1));
            let train = Train::read(traffic)?;
            let per_second = train.mean_packets() / every.as_secs_f64();
            Some(Steady { packet_bytes: f64::from(train.packet_bytes), per_second })
        }
        "voip" => {
            let voip = Voip::from(Call::read(traffic)?);
            Some(Steady { packet_bytes: f64::from(voip.packet_bytes()), per_second: 1.0 / voip.frame.as_secs_f64() })
        }
        "padding" => {
            let packet_bytes = traffic.bytes("packet")? as f64;
            let continuous = traffic.packet_rate("rate")?;
            let in_bursts = traffic.integer("burst").zip(traffic.span("every"));
            let per_second = in_bursts.map_or(continuous, |(packets, every)| packets as f64 / every.as_secs_f64());
            Some(Steady { packet_bytes, per_second })
        }
        "adaptive-padding" => {
            let probes = 1.0 / traffic.span("probe")?.as_secs_f64();
            let per_second = traffic.packet_rate("most")? + probes;
            Some(Steady { packet_bytes: traffic.bytes("packet")? as f64, per_second })
        }
        _ => None,
    }
}

/// How many connections the flows of a group may have at once, all together.
pub(super) fn connections(group: &Fields) -> Option<u64> {
    let of_flow = match group.table("traffic") {
        Some(traffic) if traffic.section.key("connections").is_some() => match traffic.item("connections")? {
            Item::Value(Value::Integer(connections)) => *connections,
            _ => 1,
        },
        _ => 1,
    };
    Some(group.integer("flows")?.saturating_mul(of_flow))
}

/// Checks the traffic of all groups.
pub(super) fn check(scenario: &Fields, reporter: &mut Reporter<'_>) {
    for (index, group) in scenario.tables("group").iter().enumerate() {
        let Some(traffic) = group.table("traffic") else { continue };
        let path = join(&element_path("group", index, group), "traffic");
        match traffic.section.name {
            "voip" => {
                together(traffic, "talk", "pause", "talk spurts need silences between them", &path, reporter);
                if traffic.choice("codec") == Some("opus") {
                    let why = "ITU-T G.113 has neither for opus, and the E-model needs both";
                    together(traffic, "ie", "bpl", why, &path, reporter);
                }
            }
            "video" => buffer(traffic, &path, reporter),
            "transfers" => {
                bounds(traffic, group, &path, reporter);
                arrivals(scenario, group, traffic, &path, reporter);
            }
            "train" => trains(traffic, &path, reporter),
            "padding" => bursts(traffic, &path, reporter),
            "web" => bounds(traffic, group, &path, reporter),
            _ => {}
        }
    }
}

/// Two keys of which neither says anything without the other.
fn together(
    traffic: &Fields,
    one: &'static str,
    other: &'static str,
    why: &str,
    path: &str,
    reporter: &mut Reporter<'_>,
) {
    let (given, missing) = match (traffic.slot(one), traffic.slot(other)) {
        (Some(_), None) => (one, other),
        (None, Some(_)) => (other, one),
        _ => return,
    };
    let found = Fault::new(format!("{given} without {missing}"));
    reporter.error(traffic.origin_of(given), &join(path, given), found, format!("both or neither: {why}"));
}

/// A burst has a length, and ends before the next one begins.
fn bursts(padding: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    together(padding, "burst", "every", "bursts come again and again", path, reporter);
    let (Some(rate), Some(packets), Some(every)) =
        (padding.packet_rate("rate"), padding.integer("burst"), padding.span("every"))
    else {
        return;
    };
    let length = Span::from_secs_f64(packets as f64 / rate);
    if length > every {
        let found = Fault::new(format!("{packets} at {rate} packets/s, which take {length}"));
        let allowed = format!("bursts that end within {every}, when the next one begins");
        reporter.error(padding.origin_of("burst"), &join(path, "burst"), found, allowed);
    }
}

/// A train ends before the next begins.
fn trains(train: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    let (Some(every), Some(count), Some(spacing)) =
        (train.span("every"), train.integer("count"), train.span("spacing"))
    else {
        return;
    };
    let count = count.max(train.integer("large").unwrap_or(count));
    let length_s = (count - 1) as f64 * spacing.as_secs_f64();
    if length_s >= every.as_secs_f64() {
        let found =
            Fault::new(format!("\"{every}\" with trains of {count} packets {spacing} apart, {length_s:.6} s long"));
        reporter.error(train.origin_of("every"), &join(path, "every"), found, "more than a train's length");
    }
}

/// While one segment plays the next must have room.
fn buffer(video: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    let (Some(buffer), Some(segment)) = (video.span("buffer"), video.span("segment")) else { return };
    let least = Span::from_nanos(2 * segment.as_nanos());
    if buffer < least {
        let found = Fault::new(format!("\"{buffer}\" with segments of {segment}"));
        let allowed = format!("at least {least}: room for the segment that plays and the one that is on its way");
        reporter.error(video.origin_of("buffer"), &join(path, "buffer"), found, allowed);
    }
}

/// The smallest or middle size of a distribution must be below its largest, and so must numbers of things.
fn bounds(traffic: &Fields, group: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    if let Some(size) = traffic.table("size") {
        ascending(size, sizes(group), &join(path, "size"), "size", " B", reporter);
    }
    if traffic.section.key("objects").is_some()
        && let Some(objects) = traffic.table("objects")
    {
        ascending(objects, counts(traffic), &join(path, "objects"), "number", "", reporter);
    }
}

fn ascending(fields: &Fields, sizes: Option<Sizes>, path: &str, noun: &str, unit: &str, reporter: &mut Reporter<'_>) {
    let (key, low, high) = match sizes {
        Some(Sizes::Pareto { min, max, .. }) => ("min", min, max),
        Some(Sizes::LogNormal { median, max, .. }) => ("median", median, max),
        Some(Sizes::Fixed(_) | Sizes::Zipf { .. }) | None => return,
    };
    if low >= high {
        let found = Fault::new(format!("{low}{unit} with a max of {high}{unit}"));
        reporter.error(fields.origin_of(key), &join(path, key), found, format!("a {noun} below max"));
    }
}

/// Most transfers of a run: those that wait are remembered.
const MAX_TRANSFERS: f64 = 3e7;

/// Transfers must be few enough to be remembered, and should not bring more than the link can carry.
fn arrivals(scenario: &Fields, group: &Fields, transfers: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    let key = if transfers.slot("load").is_some() { "load" } else { "interval" };
    let (path, origin) = (join(path, key), transfers.origin_of(key));
    if let Some(load) = transfers.number("load").filter(|&load| load <= 0.0 || load > 1.0) {
        let allowed = "above 0 and at most 1, the whole link; for more than it can carry give an interval";
        return reporter.error(origin, &path, Fault::new(load.to_string()), allowed);
    }
    let (Some(interval), Some(flows)) = (interval(transfers, group, scenario), group.integer("flows")) else { return };
    let found = |what: String| {
        let given = if key == "load" {
            transfers.number("load").unwrap_or_default().to_string()
        } else {
            format!("\"{interval}\"")
        };
        format!("{given} for {flows} flows, which is {what}")
    };
    if !INTERVAL.contains(&interval) {
        let (min, max) = (INTERVAL.start(), INTERVAL.end());
        let found = found(format!("a transfer every {interval} for each"));
        return reporter.error(origin, &path, Fault::new(found), format!("loads with intervals from {min} to {max}"));
    }
    let per_second = flows as f64 / interval.as_secs_f64();
    let count = scenario.span("duration").map_or(0.0, |duration| per_second * duration.as_secs_f64());
    if count > MAX_TRANSFERS {
        let allowed = format!("at most {MAX_TRANSFERS:.0e} transfers in a run");
        return reporter.error(origin, &path, Fault::new(found(format!("{count:.0e} transfers"))), allowed);
    }
    let (Some(rate), Some(sizes)) = (main_link(group, scenario), sizes(group)) else { return };
    let load = sizes.mean() * per_second / rate.bytes_per_second();
    // A load that was asked for is within the link.
    if key == "interval" && load >= 1.0 {
        let found = format!("{:.0} transfers per second, {load:.1} times what the link carries", per_second.max(1.0));
        reporter.warning(origin, &path, found, "more and more transfers will wait");
    }
}

/// Whether the group's traffic does not respond to congestion.
pub(super) fn is_unresponsive(group: &Fields) -> Option<bool> {
    group.table("traffic").map(|traffic| UNRESPONSIVE.contains(&traffic.section.name))
}
