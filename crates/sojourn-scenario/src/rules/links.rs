//! Rules of links.

use super::access;
use super::report::{element_path, parameter_error, unwise};
use super::size::slower;
use super::traffic::{is_unresponsive, steady};
use crate::check::join;
use crate::derived::mean_rate;
use crate::diagnostic::{Fault, Reporter};
use crate::fields::{Chosen, ChosenClass, Fields};
use crate::node::Origin;
use crate::routes::is_network;
use crate::stations::{has_air, nominal};
use crate::value::FASTEST;
use sojourn_core::{Span, Stream, Time};
use sojourn_queue::framing::Framing;
use sojourn_queue::{LinkProperties, Queue};
use sojourn_transport::Options;

/// A loss above which hardly anything gets through.
const HEAVY_LOSS: f64 = 0.5;

/// Checks the bottleneck, the return link and all hops.
pub(super) fn check(scenario: &Fields, reporter: &mut Reporter<'_>) {
    let packet_bytes = packet_bytes(scenario);
    for key in ["bottleneck", "reverse"] {
        if let Some(link) = scenario.table(key) {
            self::link(link, key, scenario, packet_bytes, reporter);
        }
    }
    for (index, hop) in scenario.tables("hop").iter().enumerate() {
        let path = element_path("hop", index, hop);
        link(hop, &path, scenario, packet_bytes, reporter);
        let has_reverse = scenario.slot("reverse").is_some() || has_air(scenario) || is_network(scenario);
        if hop.choice("direction") == Some("reverse") && !has_reverse {
            let found = Fault::new("\"reverse\" without a section [reverse]");
            let allowed = "forward, or reverse with a [reverse] link that it lies beside";
            reporter.error(hop.origin_of("direction"), &join(&path, "direction"), found, allowed);
        }
    }
    for (index, station) in scenario.tables("station").iter().enumerate() {
        let Some((rate, chosen)) = nominal(station, scenario).zip(station.chosen("queue")) else { continue };
        let path = join(&element_path("station", index, station), "queue");
        let properties = LinkProperties { rate, delay: Span::ZERO, packet_bytes, since: Time::ZERO };
        queue(chosen, station.origin_of("queue"), &path, &properties, reporter);
    }
}

/// Checks one link that a change has made.
pub(super) fn changed(one: &Fields, path: &str, scenario: &Fields, reporter: &mut Reporter<'_>) {
    link(one, path, scenario, packet_bytes(scenario), reporter);
}

/// Bytes on the wire of the largest packets of all groups.
pub(super) fn packet_bytes(scenario: &Fields) -> u32 {
    const USUAL: u32 = 1500;
    scenario.tables("group").iter().filter_map(group_packet_bytes).max().unwrap_or(USUAL)
}

fn group_packet_bytes(group: &Fields) -> Option<u32> {
    if is_unresponsive(group)? {
        return steady(group).map(|steady| steady.packet_bytes as u32);
    }
    let options = Options::new(&group.chosen("transport")?.params).ok()?;
    Some(options.payload_bytes + options.header_bytes)
}

fn link(link: &Fields, path: &str, scenario: &Fields, packet_bytes: u32, reporter: &mut Reporter<'_>) {
    let Some(rate) = mean_rate(link, scenario) else { return };
    if rate.bits_per_second() > FASTEST {
        let found = Fault::new(format!("a recorded link of {rate}"));
        reporter.error(link.origin_of("trace"), &join(path, "trace"), found, "at most 1 Tbit/s on average");
    }
    if link.number("loss").is_some_and(|loss| loss >= HEAVY_LOSS) {
        let found = format!("a loss of {}", link.number("loss").unwrap_or_default());
        reporter.warning(link.origin_of("loss"), &join(path, "loss"), found, "hardly anything gets through");
    }
    access::check(link, path, reporter);
    policer(link, path, packet_bytes, reporter);
    remark(link, path, reporter);
    let Some(chosen) = link.chosen("queue") else { return };
    let framing = link.chosen("framing").map(|chosen| Framing::of(&chosen.params));
    let rate = framing.map_or(rate, |framing| framing.packet_rate(rate, packet_bytes));
    let rate = link.table("shaper").and_then(|shaper| shaper.rate("rate")).map_or(rate, |shaped| slower(shaped, rate));
    let properties = LinkProperties { rate, delay: access::latency(link), packet_bytes, since: Time::ZERO };
    queue(chosen, link.origin_of("queue"), &join(path, "queue"), &properties, reporter);
}

/// A policer whose bucket holds less than a packet passes none of that size.
fn policer(link: &Fields, path: &str, packet_bytes: u32, reporter: &mut Reporter<'_>) {
    let Some(policer) = link.table("policer") else { return };
    if let Some(burst) = policer.bytes("burst").filter(|&burst| burst < u64::from(packet_bytes)) {
        let found = format!("a burst of {burst} B with packets of {packet_bytes} B");
        let path = join(&join(path, "policer"), "burst");
        reporter.warning(policer.origin_of("burst"), &path, found, "none of these packets passes");
    }
}

/// A table that remarks nothing was meant to remark something.
fn remark(link: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    let Some(remark) = link.table("remark") else { return };
    if remark.slot("dscp").is_none() && remark.slot("ecn").is_none() {
        let found = "neither dscp nor ecn".to_owned();
        reporter.warning(link.origin_of("remark"), &join(path, "remark"), found, "packets keep their code points");
    }
}

/// Builds a discipline once, to see whether its parameters fit together, after all that it holds; `false` where one of
/// them does not.
fn queue(
    chosen: &Chosen,
    origin: Origin,
    path: &str,
    properties: &LinkProperties,
    reporter: &mut Reporter<'_>,
) -> bool {
    let mut valid = true;
    for held in held(chosen, origin, path) {
        valid &= queue(held.chosen, held.origin, &held.path, properties, reporter);
    }
    if !valid {
        return false;
    }
    match Queue::<()>::build(&chosen.params, properties, Stream::new(0, "check")) {
        Err(error) => {
            parameter_error(reporter, chosen, origin, path, &error);
            false
        }
        Ok(_) => {
            let advice = Queue::<()>::advice(&chosen.params, properties);
            unwise(reporter, chosen, origin, path, &advice);
            true
        }
    }
}

/// A discipline that another holds, and where it stands.
pub(super) struct Held<'a> {
    pub chosen: &'a Chosen,
    pub origin: Origin,
    pub path: String,
}

/// What the discipline `chosen` at `path` holds itself.
pub(super) fn held<'a>(chosen: &'a Chosen, origin: Origin, path: &str) -> Vec<Held<'a>> {
    let child = chosen.child.iter().map(|child| Held {
        chosen: child,
        origin: chosen.origin("child").unwrap_or(origin),
        path: join(path, "child"),
    });
    let list = join(path, "class");
    let of_class = |(index, class): (usize, &'a ChosenClass)| {
        let path = join(&element_path(&list, index, &class.fields), "queue");
        Some(Held { chosen: class.fields.chosen("queue")?, origin: class.fields.origin_of("queue"), path })
    };
    child.chain(chosen.classes.iter().enumerate().filter_map(of_class)).collect()
}
