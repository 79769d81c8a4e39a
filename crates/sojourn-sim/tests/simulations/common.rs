//! Scenarios from text, and their records.

use sojourn_core::Span;
use sojourn_scenario::{Base, Scenario, Trace};
use sojourn_sim::{GroupRecord, Monitor, Outcome, Record, Wanted, simulate};
use std::sync::Arc;

/// The scenario of a text; panics with its problems.
pub fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, None, &Base::Nowhere, &[]).unwrap_or_else(|problems| panic!("{problems}\n{text}")).scenario
}

/// A bottleneck and groups: what most tests need. `bottleneck` are its keys, `groups` one text per group.
pub fn dumbbell(duration: &str, bottleneck: &str, groups: &[&str]) -> Scenario {
    let groups: String = groups.iter().map(|group| format!("[[group]]\n{group}\n")).collect();
    scenario(&format!("duration = \"{duration}\"\n[bottleneck]\n{bottleneck}\n{groups}"))
}

/// As [`dumbbell`], over a recorded link.
pub fn over_trace(duration: &str, opportunities_ms: &[u64], groups: &[&str]) -> Scenario {
    recorded(dumbbell(duration, "rate = \"1 Mbit/s\"", groups), opportunities_ms)
}

/// The scenario with a recorded link as its bottleneck.
pub fn recorded(mut scenario: Scenario, opportunities_ms: &[u64]) -> Scenario {
    let trace = Trace { name: "test".into(), opportunities_ms: opportunities_ms.to_vec() };
    scenario.bottleneck.keys.trace = Some(Arc::new(trace));
    scenario
}

pub fn run(scenario: &Scenario) -> Record {
    outcome(scenario, &Wanted::default()).record
}

pub fn outcome(scenario: &Scenario, wanted: &Wanted) -> Outcome {
    simulate(scenario, scenario.seed, wanted, &Monitor::default()).expect("nobody interrupts")
}

pub fn series(scenario: &Scenario, bin_ms: u64) -> sojourn_sim::Series {
    let wanted = Wanted { bin: Some(Span::from_millis(bin_ms)), ..Wanted::default() };
    outcome(scenario, &wanted).series.expect("a series was wanted")
}

pub fn group<'a>(record: &'a Record, name: &str) -> &'a GroupRecord {
    &record.groups[name]
}

/// A record as text, without what the machine had to do with it.
pub fn text(record: &Record) -> String {
    let mut json = serde_json::to_value(record).expect("a record is JSON");
    json.as_object_mut().expect("an object").remove("wall_s");
    json.to_string()
}

#[track_caller]
pub fn close(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "found {found}, expected {expected} within {tolerance}");
}
