//! A bottleneck that shares the air with stations: closed forms through the whole simulator, laws, and what queues do there.

use crate::common::{close, group, outcome, run, scenario, text};
use sojourn_scenario::Scenario;
use sojourn_sim::{Record, Wanted};

/// An access point with `medium` beside `kind = "wifi"`, `queue`, stations and groups, one text each.
fn wifi(duration: &str, medium: &str, queue: &str, stations: &[&str], groups: &[&str]) -> Scenario {
    let tables =
        |name: &str, texts: &[&str]| -> String { texts.iter().map(|text| format!("[[{name}]]\n{text}\n")).collect() };
    let medium = if medium.is_empty() { String::new() } else { format!(", {medium}") };
    scenario(&format!(
        "duration = \"{duration}\"\nwarmup = \"2 s\"\n[bottleneck]\nmedium = {{ kind = \"wifi\"{medium} }}\nqueue = {queue}\n{}{}",
        tables("station", stations),
        tables("group", groups)
    ))
}

const B: &str = "standard = \"802.11b\"";
const G: &str = "standard = \"802.11g\"";
const LONG: &str = "{ kind = \"droptail\", limit = \"1000 packets\" }";

fn udp(name: &str, station: &str, direction: &str, megabits: u32) -> String {
    format!(
        "name = \"{name}\"\nstation = \"{station}\"\ndirection = \"{direction}\"\nrtt = \"2 ms\"\n\
         traffic = {{ kind = \"cbr\", rate = \"{megabits} Mbit/s\", packet = \"1500 B\" }}"
    )
}

fn tcp(name: &str, station: &str, direction: &str) -> String {
    format!(
        "name = \"{name}\"\nstation = \"{station}\"\ndirection = \"{direction}\"\nrtt = \"20 ms\"\ncontrol = \"cubic\""
    )
}

#[track_caller]
fn near(found: f64, expected: f64, tolerance: f64) {
    close(found / expected, 1.0, tolerance);
}

/// What one saturated sender gets, downwards and upwards.
#[test]
fn one_flow_of_datagrams_gets_what_is_left_of_the_air() {
    for (standard, rate, expected) in [
        (B, "1 Mbit/s", 0.895),
        (B, "11 Mbit/s", 6.11),
        (G, "6 Mbit/s", 5.27),
        (G, "24 Mbit/s", 17.28),
        (G, "54 Mbit/s", 29.93),
    ] {
        for direction in ["forward", "reverse"] {
            let station = format!("name = \"s\"\nrate = \"{rate}\"");
            let record = run(&wifi("12 s", standard, LONG, &[&station], &[&udp("a", "s", direction, 60)]));
            near(group(&record, "a").goodput_mbps, expected, 0.01);
            let air = &record.stations["s"];
            let (used, unused) =
                if direction == "forward" { (air.air_down, air.air_up) } else { (air.air_up, air.air_down) };
            assert!(unused == 0.0 && used > 0.5, "{direction}: {air:?}");
            close(record.bottleneck.utilization.unwrap(), used, 1e-3);
        }
    }
}

/// The acknowledgements of TCP contend with its data: about what a closed form with one acknowledgement for two packets gives.
#[test]
fn one_flow_of_tcp_shares_the_air_with_its_acknowledgements() {
    let record = run(&wifi("30 s", G, LONG, &["name = \"s\"\nrate = \"54 Mbit/s\""], &[&tcp("a", "s", "forward")]));
    let goodput = group(&record, "a").goodput_mbps;
    assert!((23.9..=25.3).contains(&goodput), "{goodput}");
}

/// Stations have the same chances: a slow one slows all.
#[test]
fn the_performance_anomaly() {
    for (slow, expected) in [("11 Mbit/s", 3.36), ("1 Mbit/s", 0.76)] {
        let stations =
            ["name = \"fast\"\nrate = \"11 Mbit/s\"".to_owned(), format!("name = \"slow\"\nrate = \"{slow}\"")];
        let stations = stations.each_ref().map(String::as_str);
        let groups = [udp("a", "fast", "reverse", 10), udp("b", "slow", "reverse", 10)];
        let record = run(&wifi("60 s", B, LONG, &stations, &groups.each_ref().map(String::as_str)));
        near(group(&record, "a").goodput_mbps, expected, 0.07);
        near(group(&record, "b").goodput_mbps, expected, 0.07);
    }
}

const FAST_AND_SLOW: [&str; 2] = ["name = \"fast\"\nrate = \"mcs15\"\ncount = 2", "name = \"slow\"\nrate = \"mcs0\""];

/// Datagrams beyond what the medium carries, to all three; at rates that keep them from arriving in step.
fn overload(preset: &str) -> Record {
    let medium = format!("guard = \"400 ns\", preset = \"{preset}\"");
    let groups =
        [udp("a", "fast-0", "forward", 100), udp("b", "fast-1", "forward", 101), udp("c", "slow", "forward", 99)];
    run(&wifi("22 s", &medium, LONG, &FAST_AND_SLOW, &groups.each_ref().map(String::as_str)))
}

/// One queue gives all stations the same packets; turns by air time give them the same air.
#[test]
fn a_queue_shares_packets_and_turns_share_the_air() {
    let fifo = overload("ns3");
    let goodputs = ["a", "b", "c"].map(|name| group(&fifo, name).goodput_mbps);
    goodputs.iter().for_each(|&goodput| near(goodput, goodputs[0], 0.02));
    assert!(fifo.stations["slow"].air_down > 0.75, "{:?}", fifo.stations["slow"].air_down);
    let fair = overload("mac80211");
    let air: Vec<f64> = fair.stations.values().map(|station| station.air_down).collect();
    let all: f64 = air.iter().sum();
    air.iter().for_each(|&share| close(share / all, 1.0 / 3.0, 0.01));
    assert!(group(&fair, "a").goodput_mbps > 5.0 * group(&fifo, "a").goodput_mbps);
}

/// Lost frames come again, and nothing overtakes them.
#[test]
fn losses_become_delay() {
    let station = "name = \"s\"\nrate = \"mcs7\"\nloss = 0.2";
    let record = run(&wifi("12 s", "", LONG, &[station], &[&udp("a", "s", "forward", 20)]));
    let access = record.bottleneck.access.expect("a medium serves it");
    near(access.retries as f64 / record.bottleneck.departures as f64, 0.2 / 0.8, 0.1);
    near(group(&record, "a").goodput_mbps, 20.0 * 1472.0 / 1500.0, 0.01);
    assert_eq!(record.bottleneck.drops, access.given_up);
    let none = run(&wifi("12 s", "", LONG, &["name = \"s\"\nrate = \"mcs7\""], &[&udp("a", "s", "forward", 20)]));
    assert_eq!(none.bottleneck.access.map(|access| (access.retries, access.given_up)), Some((0, 0)));
    let delays = [&record, &none].map(|record| record.bottleneck.access.unwrap().ms.p99.unwrap());
    assert!(delays[0] > 2.0 * delays[1], "{delays:?}");
}

/// A call in the category of voice waits for no download of best effort.
#[test]
fn a_code_point_buys_access() {
    let delay = |edca: bool| {
        let call = "name = \"call\"\nstation = \"s\"\nrtt = \"2 ms\"\ndscp = \"cs6\"\ntraffic = \"voip\"";
        let medium = format!("scheduler = \"fifo\", edca = {edca}");
        let groups = [call.to_owned(), udp("bulk", "s", "forward", 100)];
        let record = run(&wifi(
            "12 s",
            &medium,
            LONG,
            &["name = \"s\"\nrate = \"mcs7\""],
            &groups.each_ref().map(String::as_str),
        ));
        group(&record, "call").voip.expect("it is a call").delay_ms.p99.unwrap()
    };
    assert!(delay(true) < 12.0 && delay(false) > 100.0, "{} {}", delay(true), delay(false));
}

/// Both directions, losses, categories, a wired hop and a shaper: packets are counted, and a run is the same each time.
#[test]
fn runs_are_repeatable_in_every_design() {
    for medium in [
        "standard = \"802.11b\", tries = 2",
        "standard = \"802.11g\", scheduler = \"fifo\", driver = 5",
        "edca = true",
        "standard = \"802.11ac\", width = \"80 MHz\", edca = true, scheduler = \"fifo\"",
    ] {
        let rate = if medium.contains("11b") {
            "2 Mbit/s"
        } else if medium.contains("11g") {
            "24 Mbit/s"
        } else {
            "mcs3"
        };
        let stations = [format!("name = \"s\"\ncount = 3\nrate = \"{rate}\"\nloss = 0.3\nqueue = \"fq_codel\"")];
        let mut groups =
            vec![tcp("down", "s", "forward") + "\nflows = 3", tcp("up", "s", "reverse") + "\nflows = 2\ndscp = \"ef\""];
        groups.push(udp("calls", "s-1", "reverse", 1));
        groups.push("name = \"pad\"\nstation = \"s-2\"\ndirection = \"reverse\"\nrtt = \"10 ms\"\ntraffic = { kind = \"padding\", rate = \"50 packets/s\" }".to_owned());
        let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
        let mut one = wifi("8 s", medium, "{ kind = \"cake\", bandwidth = \"3 Mbit/s\" }", &[&stations[0]], &groups);
        let wanted = Wanted { bin: Some(sojourn_core::Span::from_millis(100)), ..Wanted::default() };
        let first = outcome(&one, &wanted);
        assert_eq!(text(&first.record), text(&run(&one)), "{medium}");
        assert!(
            group(&first.record, "down").goodput_mbps > 0.1 && group(&first.record, "up").goodput_mbps > 0.1,
            "{medium}"
        );
        one = scenario(&one.to_toml());
        assert_eq!(text(&first.record), text(&run(&one)), "the canonical text of {medium}");
    }
}

/// Another station that is silent changes nothing for the others.
#[test]
fn a_silent_station_changes_nothing() {
    let goodput = |stations: &[&str]| {
        let groups = [tcp("a", "s", "forward"), tcp("b", "s", "reverse")];
        let record = run(&wifi("6 s", G, LONG, stations, &groups.each_ref().map(String::as_str)));
        (group(&record, "a").goodput_mbps, group(&record, "b").goodput_mbps)
    };
    let station = "name = \"s\"\nrate = \"54 Mbit/s\"";
    assert_eq!(goodput(&[station]), goodput(&[station, "name = \"other\"\nrate = \"6 Mbit/s\""]));
}
