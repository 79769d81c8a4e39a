//! Runs a scenario file without Python: what profilers are pointed at.
//!
//! `cargo run --release --example run -- FILE [dotted.key=value ...]`

use sojourn_scenario::Scenario;
use sojourn_sim::{Monitor, Wanted, simulate};
use std::path::Path;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("usage: run FILE [dotted.key=value ...]");
    let overrides: Vec<String> = arguments.collect();
    let loaded = Scenario::load(Path::new(&file), &overrides).unwrap_or_else(|error| panic!("{error}"));
    let scenario = loaded.scenario;
    for seed in (scenario.seed..).take(scenario.runs as usize) {
        let outcome = simulate(&scenario, seed, &Wanted::default(), &Monitor::default()).expect("nobody interrupts");
        let record = outcome.record;
        let queue = &record.bottleneck;
        println!(
            "seed {seed}: utilization {:.4}, queue {:.2} packets, {} arrivals, {} drops, {} events, {:.2} ms, {:.1} ns/packet, {} bytes delivered",
            queue.utilization.unwrap_or(f64::NAN),
            queue.queue_packets.mean,
            queue.arrivals,
            queue.drops,
            record.events,
            record.wall_s * 1e3,
            record.wall_s * 1e9 / queue.departures as f64,
            record.flows.iter().map(|flow| flow.delivered_bytes).sum::<u64>(),
        );
        for (name, group) in &record.groups {
            println!(
                "  {name}: share {:.4}, drop rate {:.4}, retransmissions {:?}, timeouts {:?}, jain {:.3}",
                group.share.unwrap_or(f64::NAN),
                group.drop_rate.unwrap_or(f64::NAN),
                group.retransmissions,
                group.timeouts,
                group.jain.unwrap_or(f64::NAN),
            );
        }
    }
}
