//! Events that are left out of the agenda change nothing.

use crate::common::text;
use sojourn_core::{Span, Stream, Time};
use sojourn_queue::Ecn;
use sojourn_scenario::{Base, Scenario, random};
use sojourn_sim::{Monitor, Outcome, PacketEvent, PacketRow, Session, Wanted};

/// All that the run leaves but its packets.
fn words(outcome: &Outcome) -> String {
    format!("{}\n{:?}\n{:?}", text(&outcome.record), outcome.series, outcome.transfers)
}

/// What can be seen of each packet at the bottleneck.
fn packets(outcome: &Outcome) -> impl Iterator<Item = (Time, PacketEvent, Span, u32, u32, Ecn, u32, Time)> {
    let rows = outcome.packets.iter().flat_map(|log| &log.rows);
    rows.map(|PacketRow { time, event, sojourn, packet }| {
        (*time, *event, *sojourn, packet.flow, packet.bytes, packet.ecn, packet.body.number, packet.body.stamp)
    })
}

fn check(name: &str, scenario: &Scenario, wanted: &Wanted) {
    let run = |session: Session<&Scenario>| session.finish(&Monitor::default()).expect("nobody interrupts");
    let fused = run(Session::new(scenario, scenario.seed, wanted));
    let single = run(Session::with_single_events(scenario, scenario.seed, wanted));
    assert!(packets(&fused).eq(packets(&single)), "packets of {name}");
    let (fused, single) = (words(&fused), words(&single));
    if fused != single {
        let differs = fused.bytes().zip(single.bytes()).position(|(one, other)| one != other).unwrap_or(0);
        let near = |text: &str| text.chars().skip(differs.saturating_sub(200)).take(300).collect::<String>();
        panic!("{name} with {wanted:?}:\n{}\nwith single events:\n{}", near(&fused), near(&single));
    }
}

fn random_scenarios(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let scenario = random::scenario(&mut Stream::new(seed, "fused events"));
        let bin = (seed % 2 == 0).then(|| Span::from_micros(20_000 + seed % 97 * 1_009));
        let wanted = Wanted { bin, packets: seed % 4 < 2, probes: true, transfers: true, delays: seed % 3 < 2 };
        check(&format!("random scenario {seed}"), &scenario, &wanted);
    }
}

#[test]
fn ready_scenarios_are_the_same_with_single_events() {
    for ready in sojourn_scenario::ready() {
        let loaded = Scenario::parse(ready.text, None, &Base::Nowhere, &[]).unwrap_or_else(|error| panic!("{error}"));
        let bin = Some(Span::from_millis(100));
        check(
            ready.name,
            &loaded.scenario,
            &Wanted { bin, probes: true, transfers: true, packets: false, delays: true },
        );
    }
}

#[test]
fn random_scenarios_are_the_same_with_single_events() {
    random_scenarios(0..200);
}

/// `cargo test --release -p sojourn-sim fusing -- --ignored`
#[test]
#[ignore = "minutes"]
fn ten_thousand_random_scenarios_are_the_same_with_single_events() {
    random_scenarios(0..10_000);
}
