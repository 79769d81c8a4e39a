//! The keys of flows, and the lines of links.

use super::*;
use sojourn_queue::{FlowKey, Host};
use sojourn_scenario::Base;
use std::collections::HashSet;

fn keys(groups: &str) -> Vec<FlowKey> {
    let text = format!("duration = \"1 s\"\nbottleneck.rate = \"1 Mbit/s\"\n{groups}");
    let scenario = Scenario::parse(&text, None, &Base::Nowhere, &[]).expect("a scenario").scenario;
    build(&scenario, 1, &Wanted::default()).flows.iter().map(|flow| flow.key).collect()
}

fn group(name: &str, flows: u32, keys: &str) -> String {
    format!("[[group]]\nname = \"{name}\"\ncontrol = \"newreno\"\nrtt = \"1 ms\"\nflows = {flows}\n{keys}\n")
}

#[test]
fn every_flow_has_hosts_of_its_own_unless_told_otherwise() {
    for (number, key) in (0..).zip(keys(&(group("a", 2, "") + &group("b", 3, "")))) {
        assert_eq!((key.source, key.destination), (Host::new(number), Host::new(number)));
        assert_eq!((key.source_port, key.destination_port), (40_000, 5_001));
    }
}

#[test]
fn flows_are_dealt_out_to_the_hosts_of_their_group() {
    let keys = keys(&(group("a", 1, "") + &group("b", 5, "hosts = 2") + &group("c", 4, "receiver_hosts = 3")));
    let ends: Vec<_> = keys.iter().map(|key| (key.source.number(), key.destination.number())).collect();
    let expected = [(0, 0), (1, 1), (2, 2), (1, 3), (2, 4), (1, 5), (6, 6), (7, 7), (8, 8), (9, 6)];
    assert_eq!(ends, expected);
    assert_eq!(keys[1..6].iter().map(|key| key.source_port - 40_000).collect::<Vec<_>>(), [0, 0, 1, 1, 2]);
}

#[test]
fn no_two_flows_have_the_same_key() {
    for (hosts, receivers) in [(1, 1), (2, 3), (4, 6), (6, 4), (12, 1), (1, 12), (40_000, 7)] {
        let flows = 60_000;
        let group = group("a", flows, &format!("hosts = {hosts}\nreceiver_hosts = {receivers}"));
        let keys = keys(&group);
        assert_eq!(keys.iter().collect::<HashSet<_>>().len(), flows as usize, "{hosts} to {receivers}");
    }
    let keys = keys(&(group("a", 60_000, "") + &group("b", 60_000, "hosts = 1")));
    assert_eq!(keys.iter().collect::<HashSet<_>>().len(), 120_000, "more than 16 bits tell apart");
}

/// Links to homes share a line where their delays are the same and nothing lies behind them.
#[test]
fn links_that_lead_to_the_same_place_share_a_line() {
    let lines = |delays: &str, keys: &str| {
        let text = format!(
            "duration = \"1 s\"\nbottleneck = {{ rate = \"1 Gbit/s\", from = \"a\", to = \"b\" }}\n\
             [[hop]]\nname = \"down\"\ncount = 100\nfrom = \"b\"\nto = \"home-*\"\nrate = \"10 Mbit/s\"\ndelay = {delays}\n{keys}\n\
             [[group]]\nname = \"tcp\"\nflows = 100\nfrom = \"a\"\nto = \"home-*\"\ncontrol = \"newreno\"\nrtt = \"10 ms\"\n"
        );
        let scenario = Scenario::parse(&text, None, &Base::Nowhere, &[]).expect("a scenario").scenario;
        build(&scenario, 1, &Wanted::default()).lines.len()
    };
    // Flows have one line each way.
    assert_eq!(lines("\"5 ms\"", ""), 3);
    assert_eq!(lines("[\"5 ms\", \"6 ms\"]", ""), 4);
    assert_eq!(lines("\"5 ms\"", "jitter = { kind = \"uniform\", max = \"1 ms\" }"), 102);
}
