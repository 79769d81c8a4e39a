//! Rules of a medium that stations share, and of its stations.

use super::cell::fading;
use super::report::{element_path, is_faulty, parameter_error};
use crate::check::join;
use crate::diagnostic::{Fault, Reporter, nearest, quote};
use crate::fields::Fields;
use crate::link::is_shared;
use crate::routes::is_network;
use crate::stations::quality;
use crate::stations::{air, has_air, has_one, mode, named, names, rate_name};
use sojourn_media::wifi::{self, MAX_STREAMS};
use sojourn_media::{MAX_STATIONS, Setup};
use std::collections::HashSet;

/// Checks the medium, the stations, and which groups name them.
pub(super) fn check(scenario: &Fields, reporter: &mut Reporter<'_>) {
    elsewhere(scenario, reporter);
    if !has_air(scenario) {
        // A link without any of these was refused for what it says of its medium.
        let link = scenario.table("bottleneck");
        let has_rate = link.is_some_and(|link| link.slot("rate").is_some() || link.slot("trace").is_some());
        if has_rate {
            without_air(scenario, reporter);
        }
        return;
    }
    around(scenario, reporter);
    parameters(scenario, reporter);
    stations(scenario, reporter);
    if !is_network(scenario) {
        groups(scenario, reporter);
    }
}

/// Only the bottleneck can be an access point.
fn elsewhere(scenario: &Fields, reporter: &mut Reporter<'_>) {
    let hops = scenario.tables("hop").iter().enumerate();
    let others = scenario.table("reverse").map(|link| (link, "reverse".to_owned())).into_iter();
    for (link, path) in others.chain(hops.map(|(index, hop)| (hop, element_path("hop", index, hop)))) {
        if link.chosen("medium").is_some_and(|medium| is_shared(&medium.params)) {
            let found = Fault::new(format!("a shared medium in {path}"));
            let allowed = "the medium of [bottleneck], which carries both directions";
            reporter.error(link.origin_of("medium"), &join(&path, "medium"), found, allowed);
        }
    }
}

/// Stations need air.
fn without_air(scenario: &Fields, reporter: &mut Reporter<'_>) {
    let media: Vec<_> = Setup::DESCRIPTORS.iter().map(|shared| shared.name).collect();
    let needs =
        || format!("no stations, or a [bottleneck] with a medium that they share ({}) and no rate", media.join(", "));
    if scenario.slot("station").is_some() {
        let found = Fault::new("stations without a medium that they share");
        reporter.error(scenario.origin_of("station"), "station", found, needs());
    }
    for (index, group) in
        scenario.tables("group").iter().enumerate().filter(|(_, group)| group.slot("station").is_some())
    {
        let path = join(&element_path("group", index, group), "station");
        let names: Vec<_> = named(group).map(quote).collect();
        let found = Fault::new(format!("{} without a medium that stations share", names.join(", ")));
        reporter.error(group.origin_of("station"), &path, found, needs());
    }
}

/// The other links are wired, and lie on the wire's side of the access point.
fn around(scenario: &Fields, reporter: &mut Reporter<'_>) {
    if scenario.slot("reverse").is_some() {
        let found = Fault::new("a return link beside a medium that stations share");
        reporter.error(
            scenario.origin_of("reverse"),
            "reverse",
            found,
            "no [reverse]: the medium carries both directions",
        );
    }
    for (key, why) in [
        ("framing", "the standard says what frames and preambles take"),
        ("policer", "it would stand on a wire, a [[hop]]"),
        ("shaper", "it would stand on a wire, a [[hop]]"),
    ] {
        let Some(link) = scenario.table("bottleneck").filter(|link| link.slot(key).is_some()) else { continue };
        let found = Fault::new(format!("{key} beside a medium that stations share"));
        reporter.error(link.origin_of(key), &join("bottleneck", key), found, format!("no {key}: {why}"));
    }
    for (index, hop) in scenario.tables("hop").iter().enumerate() {
        let forward = hop.choice("direction") != Some("reverse");
        let Some(at) = hop.choice("at").filter(|&at| (at == "before") != forward) else { continue };
        let path = join(&element_path("hop", index, hop), "at");
        let found = Fault::new(format!("\"{at}\", between the medium and its stations"));
        let allowed = if forward { "before: on the wire's side" } else { "after: on the wire's side" };
        reporter.error(hop.origin_of("at"), &path, found, allowed);
    }
}

fn parameters(scenario: &Fields, reporter: &mut Reporter<'_>) {
    let Some(link) = scenario.table("bottleneck") else { return };
    let Some(chosen) = link.chosen("medium") else { return };
    if let Err(error) = Setup::new(&chosen.params) {
        parameter_error(reporter, chosen, link.origin_of("medium"), "bottleneck.medium", &error);
    }
    let has = |key: &str, value: &str| {
        chosen.params.descriptor().parameter(key).is_some() && chosen.params.read::<&str>(key) == value
    };
    for (key, idle, why) in [
        ("driver", has("scheduler", "airtime"), "with the scheduler airtime no driver buffers packets"),
        ("driver", has("scheduler", "aql"), "with the scheduler aql limits in time decide what is below the queues"),
        ("window", has("scheduler", "rr"), "round robin looks at no averages"),
        ("sr_period", has("uplink", "prescheduled"), "nobody requests what is prescheduled"),
        ("first_grant", has("uplink", "prescheduled"), "nobody requests what is prescheduled"),
        ("grant", has("uplink", "prescheduled"), "nobody requests what is prescheduled"),
    ] {
        if let Some(origin) = chosen.origin(key).filter(|_| idle) {
            let path = join("bottleneck.medium", key);
            reporter.warning(origin, &path, chosen.params.get(key).to_string(), format!("it has no effect: {why}"));
        }
    }
}

fn stations(scenario: &Fields, reporter: &mut Reporter<'_>) {
    let tables = scenario.tables("station");
    if tables.is_empty() {
        let origin = scenario.table("bottleneck").map_or(scenario.origin, |link| link.origin_of("medium"));
        let found = Fault::new("no stations to share the medium with");
        reporter.error(origin, "station", found, "at least one [[station]]");
    }
    let mut seen: HashSet<String> =
        scenario.tables("hop").iter().filter_map(|hop| hop.text("name")).map(str::to_owned).collect();
    let mut all = 0;
    for (index, station) in tables.iter().enumerate() {
        let path = element_path("station", index, station);
        match air(scenario) {
            Some(Setup::Wifi(wifi)) => {
                foreign(station, &path, &["cqi"], "it belongs to a cell", reporter);
                if !selection(&wifi, station, &path, reporter) {
                    rate(&wifi, station, &path, reporter);
                }
            }
            Some(Setup::Cell(cell)) => {
                foreign(station, &path, &["rate", "loss", "weight"], "it belongs to WiFi", reporter);
                super::cell::quality(&cell, station, &path, reporter);
            }
            None => {}
        }
        for name in names(station) {
            all += 1;
            if seen.contains(&name) {
                let found = Fault::new(format!("{} a second time", quote(&name)));
                reporter.error(
                    station.origin_of("name"),
                    &join(&path, "name"),
                    found,
                    "a name of its own for each station and hop",
                );
            }
            seen.insert(name);
        }
    }
    if all > MAX_STATIONS {
        let found = Fault::new(format!("{all} stations"));
        reporter.error(scenario.origin_of("station"), "station", found, format!("at most {MAX_STATIONS}"));
    }
}

/// Keys that stations of another medium have.
fn foreign(station: &Fields, path: &str, keys: &[&str], why: &str, reporter: &mut Reporter<'_>) {
    for key in keys.iter().filter(|key| station.slot(key).is_some()) {
        let found = Fault::new(format!("{key} beside this medium"));
        reporter.error(station.origin_of(key), &join(path, key), found, format!("no {key}: {why}"));
    }
}

/// Checks the channel of a station whose rate is selected, and whether it is one.
fn selection(wifi: &wifi::Setup, station: &Fields, path: &str, reporter: &mut Reporter<'_>) -> bool {
    fading(station, path, "with a rate nothing depends on the channel", reporter);
    let has_both = station.slot("rate").is_some() && station.slot("snr_db").is_some();
    if has_both {
        let found = Fault::new("both rate and snr_db");
        reporter.error(station.origin_of("snr_db"), path, found, "one of rate, snr_db");
    }
    let Some(quality) = quality(station) else {
        return has_both || is_faulty(&["rate", "snr_db"], path, reporter);
    };
    let at = join(path, "snr_db");
    if wifi.air.standard == wifi::Standard::B {
        let found = Fault::new("snr_db beside 802.11b");
        reporter.error(station.origin_of("snr_db"), &at, found, "a rate: those of 802.11b are not selected");
    } else if quality.best_mode(&wifi.air).is_none() {
        let found = Fault::new(format!("{} dB, at which hardly a frame arrives", quality.mean_db));
        let reaches = |db: &i32| wifi::Quality { mean_db: f64::from(*db), ..quality }.best_mode(&wifi.air).is_some();
        let allowed = (-20..=60).find(reaches).map_or("more".to_owned(), |db| format!("at least {db} dB"));
        reporter.error(station.origin_of("snr_db"), &at, found, allowed);
    }
    true
}

/// A rate must be one of the standard's.
fn rate(wifi: &wifi::Setup, station: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    let Some(name) = rate_name(station) else {
        let allowed =
            format!("snr_db, or a rate of {}: {} (required)", wifi.air.standard.word(), wifi.air.rates().join(", "));
        return reporter.error(station.origin, &join(path, "rate"), Fault::new("nothing"), allowed);
    };
    if mode(station, wifi).is_some() {
        return;
    }
    let air = wifi;
    let rates = air.air.rates();
    let standard = air.air.standard.word();
    let path = join(path, "rate");
    let allowed = if rates.contains(&name) {
        let streams = |count: &u32| air.air.mode(&name, *count).is_some();
        let possible: Vec<_> = (1..=MAX_STREAMS).filter(streams).map(|count| count.to_string()).collect();
        let with = if possible.is_empty() {
            "another rate".to_owned()
        } else {
            format!("streams = {}", possible.join(" or "))
        };
        format!("{with}: {standard} leaves this combination out at {} MHz", air.air.width_mhz)
    } else {
        format!("a rate of {standard}: {}", rates.join(", "))
    };
    let others = rates.iter().map(String::as_str).filter(|other| *other != name);
    let meant = if rates.contains(&name) { None } else { nearest(&name, others) };
    let fault = Fault::near(quote(&name), meant);
    reporter.error(station.origin_of("rate"), &path, fault, allowed);
}

/// Every group has stations, and best every station a group.
fn groups(scenario: &Fields, reporter: &mut Reporter<'_>) {
    let tables = scenario.tables("station");
    let mut known: Vec<String> =
        tables.iter().flat_map(|one| one.text("name").map(str::to_owned).into_iter().chain(names(one))).collect();
    known.dedup();
    let mut used = HashSet::new();
    for (index, group) in scenario.tables("group").iter().enumerate() {
        let path = join(&element_path("group", index, group), "station");
        if group.slot("station").is_none() && !known.is_empty() && !has_one(scenario) {
            let found = Fault::new("no station");
            reporter.error(group.origin, &path, found, format!("one of {}", known.join(", ")));
        }
        for name in named(group) {
            used.insert(name);
            if !known.iter().any(|one| one == name) && !known.is_empty() {
                let fault = Fault::near(
                    format!("{}, which is no station", quote(name)),
                    nearest(name, known.iter().map(String::as_str)),
                );
                reporter.error(group.origin_of("station"), &path, fault, known.join(", "));
            }
        }
    }
    for (index, station) in tables.iter().enumerate().filter(|_| !has_one(scenario)) {
        let own = station.text("name").into_iter().map(str::to_owned).chain(names(station));
        if !own.into_iter().any(|name| used.contains(name.as_str())) {
            unused(index, station, reporter);
        }
    }
}

/// Reports that no packet goes to a station or comes from it.
pub(super) fn unused(index: usize, station: &Fields, reporter: &mut Reporter<'_>) {
    let path = element_path("station", index, station);
    reporter.warning(station.origin, &path, "a station that no group names", "nothing is sent to it or by it");
}
