//! What the values of a scenario must be to each other.

mod access;
mod cell;
mod groups;
mod links;
mod media;
mod memory;
mod network;
mod phases;
mod report;
mod shaper;
mod size;
mod traffic;
mod ways;

use crate::diagnostic::{Fault, Reporter};
use crate::fields::Fields;
use crate::format::MAX_FLOWS_IN_ALL;
use crate::node::Origin;

/// Checks everything that concerns more than one key.
pub(crate) fn check(scenario: &Fields, reporter: &mut Reporter<'_>) {
    times(scenario, reporter);
    counts(scenario, reporter);
    groups::check(scenario, reporter);
    traffic::check(scenario, reporter);
    media::check(scenario, reporter);
    links::check(scenario, reporter);
    network::check(scenario, reporter);
    memory::check(scenario, reporter);
    phases::check(scenario, reporter);
    shaper::check(scenario, reporter);
    size::check(scenario, reporter);
}

/// Checks a link at `path` that a change has made, as it is in `scenario` now.
pub(crate) fn changed(link: &Fields, path: &str, scenario: &Fields, reporter: &mut Reporter<'_>) {
    links::changed(link, path, scenario, reporter);
    memory::changed(link, path, scenario, reporter);
    size::check(scenario, reporter);
}

/// Checks what the change of a shaper names: see `shaper::changed`.
pub(crate) fn shaper_changed(
    path: &str,
    keys: &[&'static str],
    at: Origin,
    scenario: &Fields,
    reporter: &mut Reporter<'_>,
) {
    shaper::changed(path, keys, at, scenario, reporter);
}

/// Checks the group at `path` that a change has made of number `index` of the groups `before`.
pub(crate) fn retuned(before: &[Fields], index: usize, group: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    groups::retuned(before, index, group, path, reporter);
}

/// Checks the way that a change gives the group at `path`, which was `before`.
pub(crate) fn rerouted(before: &Fields, group: &Fields, path: &str, scenario: &Fields, reporter: &mut Reporter<'_>) {
    network::rerouted(before, group, path, scenario, reporter);
}

fn times(scenario: &Fields, reporter: &mut Reporter<'_>) {
    let (Some(duration), Some(warmup)) = (scenario.span("duration"), scenario.span("warmup")) else { return };
    if warmup >= duration {
        let found = Fault::new(format!("\"{warmup}\" with a duration of {duration}"));
        reporter.error(scenario.origin_of("warmup"), "warmup", found, "a time before the end of the run");
    }
}

fn counts(scenario: &Fields, reporter: &mut Reporter<'_>) {
    if let (Some(seed), Some(runs)) = (scenario.integer("seed"), scenario.integer("runs")) {
        let most = i64::MAX as u64;
        if seed.checked_add(runs - 1).is_none_or(|last| last > most) {
            let found = Fault::new(format!("{seed} with {runs} runs"));
            reporter.error(scenario.origin_of("seed"), "seed", found, format!("seeds up to {most} for all runs"));
        }
    }
    if scenario.slot("group").is_some() && scenario.tables("group").is_empty() {
        reporter.error(scenario.origin_of("group"), "group", Fault::new("none"), "at least one [[group]]");
    }
    let flows: u64 = scenario.tables("group").iter().filter_map(traffic::connections).sum();
    if flows > MAX_FLOWS_IN_ALL {
        let found = Fault::new(format!("{flows} flows in all groups together, counting each connection"));
        reporter.error(scenario.origin_of("group"), "group", found, format!("at most {MAX_FLOWS_IN_ALL} flows"));
    }
}
