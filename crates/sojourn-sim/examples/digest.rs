//! A line for each ready scenario and for some random ones, with a hash of all that a run leaves: what must be the same
//! before and after a change that is only to make the engine faster.
//!
//! `cargo run --release --example digest -- [random scenarios, 300 unless told] > before`, the change, the same again, `diff`

use sojourn_core::{Span, Stream};
use sojourn_scenario::{Base, Scenario, random};
use sojourn_sim::{Monitor, Wanted, simulate};
use std::hash::{DefaultHasher, Hasher};

fn main() {
    let seeds = std::env::args().nth(1).map_or(300, |count| count.parse().expect("a number of random scenarios"));
    for ready in sojourn_scenario::ready() {
        let loaded = Scenario::parse(ready.text, None, &Base::Nowhere, &[]).unwrap_or_else(|error| panic!("{error}"));
        let bin = Some(Span::from_millis(100));
        let wanted = Wanted { bin, probes: true, transfers: true, ..Wanted::default() };
        println!("{:016x} {}", digest(&loaded.scenario, &wanted), ready.name);
    }
    for seed in 0..seeds {
        let scenario = random::scenario(&mut Stream::new(seed, "digest"));
        let bin = (seed % 2 == 0).then(|| Span::from_millis(50));
        let wanted = Wanted { bin, packets: seed % 4 < 2, probes: true, transfers: true, ..Wanted::default() };
        println!("{:016x} random scenario {seed}", digest(&scenario, &wanted));
    }
}

fn digest(scenario: &Scenario, wanted: &Wanted) -> u64 {
    let outcome = simulate(scenario, scenario.seed, wanted, &Monitor::default()).expect("nobody interrupts");
    let mut record = serde_json::to_value(&outcome.record).expect("a record is JSON");
    // What the engine has done is no result: how long it took, and how many events.
    for work in ["wall_s", "events"] {
        record.as_object_mut().expect("an object").remove(work);
    }
    let mut hasher = DefaultHasher::new();
    hasher.write(format!("{record}\n{:?}\n{:?}", outcome.series, outcome.transfers).as_bytes());
    for row in outcome.packets.iter().flat_map(|log| &log.rows) {
        let (packet, body) = (&row.packet, &row.packet.body);
        hasher.write(format!("{:?} {:?} {:?}", row.time, row.event, row.sojourn).as_bytes());
        hasher.write(
            format!("{} {} {:?} {} {:?}", packet.flow, packet.bytes, packet.ecn, body.number, body.stamp).as_bytes(),
        );
    }
    hasher.finish()
}
