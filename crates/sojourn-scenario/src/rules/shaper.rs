//! Rules of what follows a line with a gateway's shapers.

use super::links::packet_bytes;
use super::report::parameter_error;
use crate::check::join;
use crate::diagnostic::{Fault, Reporter, nearest};
use crate::fields::Fields;
use crate::link::Which;
use crate::node::Origin;
use crate::routes;
use sojourn_queue::framing::Framing;
use sojourn_shaper::{AnyController, Gateway};

/// Where a controller's shapers come from.
const ACCESS: &str = "with [access] and its key gateway there are all of them";

/// Checks that there are two shapers, a line behind them, and pings that cross both.
pub(super) fn check(scenario: &Fields, reporter: &mut Reporter<'_>) {
    let Some(shaper) = scenario.table("shaper") else { return };
    let at = scenario.origin_of("shaper");
    let Some(gateway) = gateway(scenario, at, reporter) else { return };
    if scenario.tables("hop").is_empty() {
        let found = Fault::new("no line whose rate the shapers could follow");
        reporter.error(at, "shaper", found, format!("at least one [[hop]] beside the shapers; {ACCESS}"));
    }
    pings(shaper, scenario, reporter);
    if let Some(chosen) = shaper.chosen("controller")
        && let Err(error) = AnyController::build(&chosen.params, &gateway)
    {
        parameter_error(reporter, chosen, shaper.origin_of("controller"), "shaper.controller", &error);
    }
}

/// The two shapers.
fn gateway(scenario: &Fields, at: Origin, reporter: &mut Reporter<'_>) -> Option<Gateway> {
    let packet_bytes = packet_bytes(scenario);
    let mut shaper = |name: &str| {
        let rate = scenario.table(name).and_then(|link| Some((link, link.rate("rate")?)));
        if rate.is_none() {
            let found = Fault::new(format!("no [{name}] with a rate"));
            reporter.error(at, "shaper", found, format!("[bottleneck] and [reverse] with a rate each; {ACCESS}"));
        }
        let (link, rate) = rate?;
        let framing = link.chosen("framing").map(|chosen| Framing::of(&chosen.params));
        Some((rate, framing.map_or(packet_bytes, |framing| framing.bytes(packet_bytes))))
    };
    let (one, other) = shaper("bottleneck").zip(shaper("reverse"))?;
    Some(Gateway { base: [one.0, other.0], packet_bytes: [one.1, other.1] })
}

fn pings(shaper: &Fields, scenario: &Fields, reporter: &mut Reporter<'_>) {
    let Some(name) = shaper.text("pings") else { return };
    let mut error = |found: Fault, allowed: String| {
        reporter.error(shaper.origin_of("pings"), &join("shaper", "pings"), found, allowed);
    };
    let is_ping = |group: &&Fields| group.table("traffic").is_some_and(|traffic| traffic.section.name == "ping");
    let groups = scenario.tables("group");
    let Some(group) = groups.iter().find(|group| group.text("name") == Some(name)) else {
        let names: Vec<_> = groups.iter().filter(is_ping).filter_map(|group| group.text("name")).collect();
        let meant = nearest(name, names.iter().copied()).map(str::to_owned);
        let allowed = match &names[..] {
            [] => "a [[group]] with traffic = \"ping\"".to_owned(),
            names => names.join(", "),
        };
        return error(Fault::near(format!("{name:?}, which is no group"), meant), allowed);
    };
    if !is_ping(&group) {
        return error(
            Fault::new(format!("{name:?}, whose traffic is no ping")),
            "a group with traffic = \"ping\"".into(),
        );
    }
    let crosses = |which: Which| {
        let routes = routes::of_group(group, scenario).unwrap_or_default();
        routes.iter().all(|route| route.there.iter().chain(&route.back).any(|&link| link == which))
    };
    if !(crosses(Which::Bottleneck) && crosses(Which::Reverse)) {
        let found = Fault::new(format!("{name:?}, whose pings pass a shaper by"));
        error(found, "a group whose pings cross [bottleneck] and [reverse]".to_owned());
    }
}

/// Checks that a change of the link at `path` leaves to the controller what it sets: `keys` are those that the change names.
pub(super) fn changed(path: &str, keys: &[&'static str], at: Origin, scenario: &Fields, reporter: &mut Reporter<'_>) {
    let set = keys.iter().find(|key| ["rate", "trace", "queue"].contains(key));
    if let Some(key) = set.filter(|_| scenario.slot("shaper").is_some()) {
        let found = Fault::new(format!("a change of {key} where a controller sets the shaper's rate"));
        reporter.error(at, &join(path, key), found, "changes of the line, which is a [[hop]]");
    }
}
