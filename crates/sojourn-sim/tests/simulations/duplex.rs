//! Data in both directions of one connection.

use crate::common::{close, group, outcome, run, scenario, text};
use sojourn_scenario::Scenario;
use sojourn_sim::{PacketEvent, Wanted};
use sojourn_transport::SegmentKind;

/// Two groups on the same connections over two links with these keys.
fn both_ways(links: &str, transport: &str, up: &str, down: &str) -> Scenario {
    let group = |name: &str, more: &str| {
        format!("[[group]]\nname = \"{name}\"\nrtt = \"40 ms\"\ntransport = {transport}\n{more}\n")
    };
    let links = format!("bottleneck = {{ {links} }}\nreverse = {{ {links} }}");
    let down = format!("direction = \"reverse\"\nconnections_of = \"up\"\n{down}");
    scenario(&format!("duration = \"20 s\"\nwarmup = \"10 s\"\n{links}\n{}{}", group("up", up), group("down", &down)))
}

const BULK: &str = "control = \"newreno\"\nstart = \"0 s\"";
const TRANSPORTS: [&str; 3] = ["\"rfc\"", "\"ns2\"", "\"linux\""];

/// Much is acknowledged by data. Each second segment could be acknowledged alone, as by two connections, or none.
#[test]
fn bulk_both_ways_has_few_acknowledgements_of_its_own() {
    let links = "rate = \"10 Mbit/s\", queue = { kind = \"droptail\", limit = \"100000 packets\" }";
    for transport in ["\"rfc\"", "\"linux\""] {
        let record = run(&both_ways(links, transport, BULK, BULK));
        for name in ["up", "down"] {
            let goodput = group(&record, name).goodput_mbps;
            let [least, most] = [1500.0 + 52.0 / 2.0, 1500.0].map(|bytes| 10.0 * 1448.0 / bytes);
            assert!(goodput > least && goodput < most + 0.001, "{transport} {name}: {goodput}");
            assert_eq!(group(&record, name).retransmissions, Some(0), "{transport} {name}");
        }
    }
}

/// The other way says nothing: all is as if it were not there.
#[test]
fn a_silent_other_way_changes_nothing() {
    for transport in TRANSPORTS {
        let links = "rate = \"10 Mbit/s\", queue = { kind = \"droptail\", limit = \"20 packets\" }, loss = 0.001";
        let both = both_ways(links, transport, BULK, "control = \"newreno\"\nstart = \"19.999 s\"");
        let mut alone = both.clone();
        alone.groups.pop();
        let (both, alone) = (run(&both), run(&alone));
        assert_eq!(format!("{:?}", both.bottleneck), format!("{:?}", alone.bottleneck), "{transport}");
        assert_eq!(format!("{:?}", both.groups["up"]), format!("{:?}", alone.groups["up"]), "{transport}");
    }
}

/// Requests of a segment each 100 ms and answers 30 ms after them: Linux delays acknowledgements by 40 ms, and so each goes with the
/// next data, but for the quick ones at the start.
#[test]
fn acknowledgements_of_a_conversation_go_with_its_data() {
    let links = "rate = \"100 Mbit/s\"";
    let writes = |start| {
        let traffic = "traffic = { kind = \"messages\", size = \"200 B\", every = \"100 ms\" }";
        format!("control = \"cubic\"\nstart = \"{start}\"\n{traffic}")
    };
    // A request comes 20 ms after its writing and an answer is written 30 ms later; the next request is as late.
    let talk = both_ways(links, "\"linux\"", &writes("0 s"), &writes("50 ms"));
    let wanted = Wanted { packets: true, ..Wanted::default() };
    let found = outcome(&talk, &wanted);
    let rows = found.packets.unwrap().rows;
    let kinds =
        |kind| rows.iter().filter(|row| row.event == PacketEvent::Departure && row.packet.body.kind == kind).count();
    assert_eq!((kinds(SegmentKind::Syn), kinds(SegmentKind::DataAck)), (1, 200));
    assert!(kinds(SegmentKind::Ack) <= 2, "{} acknowledgements alone", kinds(SegmentKind::Ack));
    for name in ["up", "down"] {
        let game = group(&found.record, name);
        assert_eq!(game.fct_ms.unwrap().count, 100, "{name}");
        close(game.fct_ms.unwrap().p99.unwrap(), 20.0 + 252.0 * 8.0 / 100e3, 0.03);
    }
}

/// What data acknowledges may be lost with it, and tells of losses as any acknowledgement does.
#[test]
fn losses_both_ways_are_repaired() {
    for transport in TRANSPORTS {
        let links = "rate = \"10 Mbit/s\", queue = { kind = \"droptail\", limit = \"30 packets\" }, loss = 0.02";
        let size = "traffic = { kind = \"bulk\", size = \"1448000 B\" }";
        let mut both = both_ways(links, transport, &format!("{BULK}\n{size}"), &format!("{BULK}\n{size}"));
        both.keys.warmup = sojourn_core::Span::ZERO;
        let found = run(&both);
        for flow in &found.flows {
            assert_eq!(flow.delivered_bytes, 1_448_000, "{transport}");
        }
        for name in ["up", "down"] {
            let retransmissions = group(&found, name).retransmissions.unwrap();
            // About 20 of 1000 are lost on the way.
            assert!((10..120).contains(&retransmissions), "{transport} {name}: {retransmissions}");
        }
    }
}

/// Marks are echoed by data: neither way has to send anything again.
#[test]
fn marks_are_echoed_by_data() {
    let links = "rate = \"10 Mbit/s\", queue = { kind = \"codel\", ecn = true }";
    for transport in ["{ preset = \"linux\", ecn = true }", "{ preset = \"linux\", ecn = \"accecn\" }"] {
        let record = run(&both_ways(links, transport, BULK, BULK));
        for (name, link) in [("up", &record.bottleneck), ("down", record.reverse.as_ref().unwrap())] {
            assert!(link.marks > 5, "{transport} {name}: {link:?}");
            assert_eq!(group(&record, name).retransmissions, Some(0), "{transport} {name}");
            assert!(group(&record, name).goodput_mbps > 7.0, "{transport} {name}");
        }
    }
}

/// Both ways are the same connection to a queue that tells connections apart, and the same seed gives the same.
#[test]
fn both_ways_are_one_connection() {
    let links = "rate = \"10 Mbit/s\", queue = \"fq_codel\"";
    let scenario = both_ways(links, "\"linux\"", BULK, BULK);
    assert_eq!(text(&run(&scenario)), text(&run(&scenario)));
    let wanted = Wanted { packets: true, ..Wanted::default() };
    let rows = outcome(&scenario, &wanted).packets.unwrap().rows;
    let keys: std::collections::HashSet<_> =
        rows.iter().filter(|row| row.event == PacketEvent::Departure).map(|row| row.packet.key).collect();
    assert_eq!(keys.len(), 1, "data and acknowledgements that cross the bottleneck: {keys:?}");
}

/// Both ways pause and go on, at times of their own, with and without a handshake, and where its packets are lost.
#[test]
fn both_ways_pause_and_go_on() {
    let pauses = |on: &str, start: &str| {
        let traffic = format!("{{ kind = \"on-off\", times = \"fixed\", on = \"{on}\", off = \"3 s\" }}");
        format!("control = \"cubic\"\nstart = \"{start}\"\ntraffic = {traffic}")
    };
    for transport in ["{ preset = \"linux\" }", "{ preset = \"linux\", handshake = false }", "{ preset = \"rfc\" }"] {
        for seed in 1..=6 {
            let links = "rate = \"10 Mbit/s\", queue = \"fq_codel\", loss = 0.03";
            let mut both = both_ways(links, transport, &pauses("1 s", "0 s"), &pauses("2 s", "1.5 s"));
            both.keys.seed = seed;
            let record = run(&both);
            for flow in &record.flows {
                // Measured from 10 s on: two of each one's times on and more.
                assert!(flow.delivered_bytes > 50_000, "{transport} {seed}: {}", flow.delivered_bytes);
            }
        }
    }
}
