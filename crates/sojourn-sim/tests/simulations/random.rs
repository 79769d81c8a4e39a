//! Every random scenario that is valid runs, ends, conserves packets and says sensible things.

use crate::common::text;
use proptest::prelude::*;
use sojourn_core::{Span, Stream, Time};
use sojourn_scenario::{Capacity, Direction, Scenario, random};
use sojourn_sim::{LinkRecord, Monitor, Record, Wanted, capacity_bytes, named_links, simulate};
use std::time::{Duration, Instant};

/// Far more than any of these needs, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(300);

/// Fails as `work` does, and names the seed where it does not end.
fn in_time(seed: u64, work: impl FnOnce() + Send + 'static) {
    let worker = std::thread::spawn(work);
    let since = Instant::now();
    while !worker.is_finished() {
        assert!(since.elapsed() < PATIENCE, "seed {seed} does not end");
        std::thread::sleep(Duration::from_millis(1));
    }
    worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

fn simulated(scenario: &Scenario, wanted: &Wanted) -> sojourn_sim::Outcome {
    simulate(scenario, scenario.seed, wanted, &Monitor::default()).expect("nobody interrupts")
}

fn finite(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::Number(number) => number.as_f64().is_some_and(|number| number.is_finite() && number >= 0.0),
        serde_json::Value::Array(values) => values.iter().all(finite),
        serde_json::Value::Object(values) => values.values().all(finite),
        _ => true,
    }
}

fn check_link(name: &str, link: &LinkRecord, slack: f64) {
    assert!(link.utilization.is_none_or(|utilization| utilization <= 1.0 + slack), "{name}: {link:?}, slack {slack}");
    assert!(link.queue_packets.mean <= link.queue_packets.max as f64 + 1e-9);
    assert!(link.queue_bytes.mean <= link.queue_bytes.max as f64 + 1e-6);
    let ms = &link.queue_ms;
    let quantiles = [ms.p10, ms.p25, ms.p50, ms.p75, ms.p90, ms.p99];
    if let Some(max) = ms.max {
        assert!(quantiles.is_sorted() && ms.p99.unwrap() <= max * 1.001 + 1e-6, "{ms:?}");
        assert!(ms.mean.unwrap() <= max + 1e-9);
    }
    for value in quantiles.into_iter().chain([ms.mean, ms.max]) {
        assert_eq!(value.is_some(), link.departures > 0, "a quantile of no packets is null: {ms:?}");
    }
}

fn check(scenario: &Scenario, record: &Record) {
    assert!(finite(&serde_json::to_value(record).unwrap()), "{record:?}");
    let measured = scenario.duration - scenario.warmup;
    let records = [Some(&record.bottleneck), record.reverse.as_ref()].into_iter().flatten();
    let records = records.chain(scenario.hops.iter().map(|hop| &record.hops[&hop.name]));
    for (index, ((name, _, spec), link)) in named_links(scenario).into_iter().zip(records).enumerate() {
        let slack = match &spec.capacity() {
            // Times are whole nanoseconds, at both ends of what is measured.
            Capacity::Fixed(_) if scenario.changes.is_empty() => 4e-9 / measured.as_secs_f64(),
            // What the medium was in use is all that there can be.
            Capacity::Shared(_) => 0.0,
            // A packet that began before measuring did, or before a change, counts as a whole.
            _ => {
                let (from, to) = (Time::ZERO + scenario.warmup, Time::ZERO + scenario.duration);
                let packets = 1.0 + scenario.changes.len() as f64;
                packets * f64::from(scenario.largest_packet_bytes() + 28) / capacity_bytes(scenario, index, from, to)
            }
        };
        check_link(name, link, slack);
    }
    for direction in [Direction::Forward, Direction::Reverse] {
        let shares: Vec<f64> = scenario
            .groups
            .iter()
            .filter(|group| group.direction == direction)
            .filter_map(|group| record.groups[&group.name].share)
            .collect();
        assert!(shares.is_empty() || (shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{shares:?}");
    }
    for group in record.groups.values() {
        assert!(group.jain.is_none_or(|jain| (0.0..=1.0 + 1e-9).contains(&jain)));
    }
}

fn run_and_check(seed: u64) {
    let scenario = random::scenario(&mut Stream::new(seed, "random simulations"));
    let record = simulated(&scenario, &Wanted::default()).record;
    check(&scenario, &record);
    if seed.is_multiple_of(4) {
        let wanted = Wanted { bin: Some(Span::from_millis(50)), packets: true, ..Wanted::default() };
        let again = simulated(&scenario, &wanted).record;
        assert_eq!(text(&record), text(&again));
    }
}

/// Seeds that once did not end: a control looped for ever.
#[test]
fn seeds_that_hung_end() {
    for seed in [1_004_341, 2_019_330] {
        in_time(seed, move || run_and_check(seed));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn random_scenarios_run(seed in any::<u64>()) {
        in_time(seed, move || run_and_check(seed));
    }
}
