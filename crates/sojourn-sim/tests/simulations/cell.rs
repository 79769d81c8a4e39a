//! A bottleneck that is a cell: rates through the whole simulator, laws, and whose queue delays whom.

use crate::common::{close, group, outcome, run, scenario, text};
use sojourn_scenario::Scenario;
use sojourn_sim::Wanted;

/// A cell with `medium` beside its kind, `queue`, stations and groups, one text each.
fn cell(duration: &str, medium: &str, queue: &str, stations: &[&str], groups: &[String]) -> Scenario {
    let stations: String = stations.iter().map(|text| format!("[[station]]\n{text}\n")).collect();
    let groups: String = groups.iter().map(|text| format!("[[group]]\n{text}\n")).collect();
    scenario(&format!(
        "duration = \"{duration}\"\nwarmup = \"2 s\"\n[bottleneck]\nmedium = {{ {medium} }}\nqueue = {queue}\n{stations}{groups}"
    ))
}

const LTE: &str = "kind = \"lte\", bler = 0";
const LONG: &str = "{ kind = \"droptail\", limit = \"1000 packets\" }";

fn udp(name: &str, station: &str, direction: &str, rate: &str) -> String {
    format!(
        "name = \"{name}\"\nstation = \"{station}\"\ndirection = \"{direction}\"\nrtt = \"2 ms\"\n\
         traffic = {{ kind = \"cbr\", rate = \"{rate}\", packet = \"1028 B\" }}"
    )
}

fn tcp(name: &str, station: &str, direction: &str) -> String {
    format!(
        "name = \"{name}\"\nstation = \"{station}\"\ndirection = \"{direction}\"\nrtt = \"20 ms\"\ncontrol = \"cubic\""
    )
}

/// What transport blocks of 36696 bits each millisecond leave for packets of 1000 bytes.
#[test]
fn one_flow_of_datagrams_gets_what_the_blocks_carry() {
    let expected = 36.68 * 1000.0 / 1032.0;
    for direction in ["forward", "reverse"] {
        let groups = [udp("a", "s", direction, "60 Mbit/s")];
        let record = run(&cell("6 s", LTE, LONG, &["name = \"s\"\ncqi = 15"], &groups));
        close(group(&record, "a").goodput_mbps / expected, 1.0, 0.01);
        let station = &record.stations["s"];
        let air = if direction == "forward" { station.air_down } else { station.air_up };
        close(air, 1.0, 0.01);
    }
}

/// A queue belongs to a station: a neighbour's download takes rate, one's own takes delay as well.
#[test]
fn a_neighbours_download_adds_hardly_any_delay() {
    let delay = |downloader: &str| {
        let stations = ["name = \"own\"\ncqi = 12", "name = \"other\"\ncqi = 12"];
        let mut groups = vec![udp("call", "own", "forward", "64 kbit/s")];
        if !downloader.is_empty() {
            groups.push(tcp("download", downloader, "forward"));
        } else {
            groups.push(udp("still", "other", "forward", "1 kbit/s"));
        }
        let record = run(&cell("12 s", LTE, LONG, &stations, &groups));
        group(&record, "call").queue_ms.p99.expect("packets came")
    };
    let (idle, other, own) = (delay(""), delay("other"), delay("own"));
    assert!(idle <= 1.0 && other < 6.0, "{idle} idle, {other} beside a neighbour");
    assert!(own > 20.0 * other, "{own} beside one's own, {other} beside a neighbour's");
}

/// An AQM in a station's own queue bounds its own delay only.
#[test]
fn each_station_has_an_aqm_of_its_own() {
    let stations = ["name = \"a\"\ncqi = 15", "name = \"b\"\ncqi = 5"];
    let groups = [tcp("a", "a", "forward"), tcp("b", "b", "forward")];
    let record = run(&cell("20 s", LTE, "\"codel\"", &stations, &groups));
    for name in ["a", "b"] {
        let delay = group(&record, name).queue_ms.mean.expect("packets came");
        assert!((1.0..25.0).contains(&delay), "{name}: {delay} ms");
    }
    // Each has half of the subframes: 36.7 and 7.0 Mbit/s alone.
    assert!(group(&record, "a").goodput_mbps > 13.0 && group(&record, "b").goodput_mbps > 2.4);
}

/// Everything at once: nothing is lost from the count, and the same scenario gives the same bytes, as its canonical text does.
#[test]
fn runs_repeat_whatever_the_cell_is_like() {
    for medium in [
        "kind = \"lte\"",
        "kind = \"lte\", preset = \"prescheduled\", scheduler = \"rr\", bandwidth = \"1.4 MHz\"",
        "kind = \"lte\", rlc = \"um\", bler = 0.02, tries = 1",
        "kind = \"5g\", bandwidth = \"20 MHz\"",
        "kind = \"5g\", preset = \"5g-20mhz-fdd\", scheduler = \"rr\", processes = 1",
    ] {
        let stations = ["name = \"s\"\ncount = 3\nsnr_db = 20\nspeed_kmh = 20\nshadowing_db = 4\nqueue = \"fq_codel\""];
        let groups = [
            tcp("down", "s", "forward") + "\nflows = 3",
            tcp("up", "s", "reverse") + "\nflows = 2\ndscp = \"ef\"",
            udp("calls", "s-1", "reverse", "1 Mbit/s"),
            "name = \"pad\"\nstation = \"s-2\"\ndirection = \"reverse\"\nrtt = \"10 ms\"\ntraffic = { kind = \"padding\", rate = \"50 packets/s\" }".to_owned(),
        ];
        let mut one = cell("8 s", medium, "{ kind = \"cake\", bandwidth = \"3 Mbit/s\" }", &stations, &groups);
        let wanted = Wanted { bin: Some(sojourn_core::Span::from_millis(100)), ..Wanted::default() };
        let first = outcome(&one, &wanted);
        assert_eq!(text(&first.record), text(&run(&one)), "{medium}");
        let (down, up) = (group(&first.record, "down").goodput_mbps, group(&first.record, "up").goodput_mbps);
        assert!(down > 0.05 && up > 0.05, "{medium}: {down} down, {up} up");
        one = scenario(&one.to_toml());
        assert_eq!(text(&first.record), text(&run(&one)), "the canonical text of {medium}");
    }
}

/// Another station that is silent changes nothing for the others, channels that fade included.
#[test]
fn a_silent_station_changes_nothing() {
    let goodput = |stations: &[&str]| {
        let groups = [tcp("a", "s", "forward"), tcp("b", "s", "reverse")];
        let record = run(&cell("6 s", "kind = \"lte\"", LONG, stations, &groups));
        (group(&record, "a").goodput_mbps, group(&record, "b").goodput_mbps)
    };
    let station = "name = \"s\"\nsnr_db = 15\nspeed_kmh = 10\nshadowing_db = 6";
    assert_eq!(goodput(&[station]), goodput(&[station, "name = \"other\"\ncqi = 3"]));
}
