//! Rules that keep the packets of a run within the memory of a machine.

use super::links::{Held, held, packet_bytes};
use super::report::element_path;
use super::traffic::{connections, steady};
use crate::check::join;
use crate::derived::mean_rate;
use crate::diagnostic::{Fault, Reporter};
use crate::fields::Fields;
use crate::stations::nominal;
use sojourn_core::registry::Value;
use sojourn_core::{Rate, Span};
use sojourn_transport::Options;

/// Most packets in one place: a few GB.
const MAX_PACKETS: f64 = 3e7;

/// Checks queues, delays, first windows and what access links pile up.
pub(super) fn check(scenario: &Fields, reporter: &mut Reporter<'_>) {
    let full = f64::from(packet_bytes(scenario));
    for key in ["bottleneck", "reverse"] {
        if let Some(link) = scenario.table(key) {
            self::link(link, key, scenario, full, reporter);
        }
    }
    for (index, hop) in scenario.tables("hop").iter().enumerate() {
        link(hop, &element_path("hop", index, hop), scenario, full, reporter);
    }
    for (index, station) in scenario.tables("station").iter().enumerate() {
        let Some((rate, chosen)) = nominal(station, scenario).zip(station.chosen("queue")) else { continue };
        let path = join(&element_path("station", index, station), "queue");
        queue(&Held { chosen, origin: station.origin_of("queue"), path }, rate, full, reporter);
    }
    for (index, group) in scenario.tables("group").iter().enumerate() {
        let path = element_path("group", index, group);
        first_windows(group, &path, reporter);
        access(group, &path, reporter);
    }
}

/// Checks one link that a change has made.
pub(super) fn changed(one: &Fields, path: &str, scenario: &Fields, reporter: &mut Reporter<'_>) {
    link(one, path, scenario, f64::from(packet_bytes(scenario)), reporter);
}

fn link(link: &Fields, path: &str, scenario: &Fields, full: f64, reporter: &mut Reporter<'_>) {
    let Some(rate) = mean_rate(link, scenario) else { return };
    let delay = link.span("delay").unwrap_or(Span::ZERO);
    let travelling = rate.bytes_in(delay) / full;
    if travelling > MAX_PACKETS {
        let found = Fault::new(format!("\"{delay}\" at {rate}, which is {travelling:.0e} packets under way"));
        reporter.error(link.origin_of("delay"), &join(path, "delay"), found, allowed());
    }
    if let Some(chosen) = link.chosen("queue") {
        let top = Held { chosen, origin: link.origin_of("queue"), path: join(path, "queue") };
        queue(&top, rate, full, reporter);
    }
}

fn queue(queue: &Held<'_>, rate: Rate, full: f64, reporter: &mut Reporter<'_>) {
    let Held { chosen, origin, path } = queue;
    for held in held(chosen, *origin, path) {
        self::queue(&held, rate, full, reporter);
    }
    let has_limit = chosen.params.descriptor().parameter("limit").is_some();
    let Some(Value::Amount(limit)) = has_limit.then(|| chosen.params.get("limit")) else { return };
    let waiting = limit.bytes(rate, full) / full;
    if waiting > MAX_PACKETS {
        let found = Fault::new(format!("\"{limit}\", which is {waiting:.0e} packets"));
        reporter.error(*origin, &join(path, "limit"), found, allowed());
    }
}

fn first_windows(group: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    let (Some(flows), Some(chosen)) = (connections(group), group.chosen("transport")) else { return };
    let Ok(options) = Options::new(&chosen.params) else { return };
    let burst = flows as f64 * f64::from(options.initial_window);
    if burst > MAX_PACKETS {
        let found = Fault::new(format!("{} for {flows} flows, which is {burst:.0e} packets", options.initial_window));
        reporter.error(group.origin_of("transport"), &join(path, "transport.initial_window"), found, allowed());
    }
}

/// Access links have no limit: what comes faster than they send piles up for the whole run.
fn access(group: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    let Some(access) = group.rate("access_rate") else { return };
    let Some(steady) = steady(group) else { return };
    let bits = (steady.packet_bytes * 8.0 * steady.per_second).round() as u64;
    if bits > access.bits_per_second() {
        let rate = Rate::from_bits_per_second(bits).expect("above that of a link");
        let found = Fault::new(format!("\"{rate}\" behind an access link of {access}"));
        let has_rate = group.table("traffic").is_some_and(|traffic| traffic.section.key("rate").is_some());
        let key = join(path, if has_rate { "traffic.rate" } else { "traffic" });
        reporter.error(group.origin_of("traffic"), &key, found, format!("at most the access link's {access}"));
    }
}

fn allowed() -> String {
    format!("at most {MAX_PACKETS:.0e} packets in one place")
}
