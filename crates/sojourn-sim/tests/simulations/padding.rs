//! Padding, fixed and adaptive.

use crate::common::{close, group, outcome, run, scenario, series};
use sojourn_core::Span;
use sojourn_sim::{Record, Wanted};

/// An uplink of 800 kbit/s, whose upload begins after 20 s, with `queue`; `padding` is its traffic.
fn uplink(queue: &str, upload: &str, padding: &str) -> String {
    format!(
        "duration = \"300 s\"\nwarmup = \"120 s\"\n[bottleneck]\nrate = \"800 kbit/s\"\nqueue = {{ {queue} }}\n\
         [[group]]\nname = \"padding\"\nrtt = \"60 ms\"\ntraffic = {{ {padding} }}\n{upload}"
    )
}

const UPLOAD: &str = "[[group]]\nname = \"up\"\ncontrol = \"newreno\"\nrtt = \"60 ms\"\nstart = \"20 s\"\n";
const PACKETS: &str = "kind = \"droptail\", limit = \"60 packets\"";
const ADAPTIVE: &str = "kind = \"adaptive-padding\", target = \"150 ms\"";

fn sent(record: &Record) -> f64 {
    group(record, "padding").padding.unwrap().packets_per_second
}

fn rests(record: &Record) -> u64 {
    group(record, "padding").padding.unwrap().rests
}

fn delay(record: &Record) -> f64 {
    record.bottleneck.queue_ms.mean.unwrap()
}

fn goodput(record: &Record) -> f64 {
    group(record, "up").goodput_mbps
}

#[test]
fn rates_and_bursts() {
    let record = run(&scenario(&uplink(PACKETS, "", "kind = \"padding\", rate = \"125 packets/s\"")));
    close(sent(&record), 125.0, 0.01);
    close(group(&record, "padding").goodput_mbps, 125.0 * 8e-6, 1e-7);
    close(record.bottleneck.utilization.unwrap(), 125.0 * 29.0 * 8.0 / 800e3, 1e-4);
    let text = uplink(
        PACKETS,
        "",
        "kind = \"padding\", rate = \"250 packets/s\", burst = 100, every = \"1 s\", packet = \"46 B\"",
    );
    let bursts = scenario(&text);
    close(sent(&run(&bursts)), 100.0, 0.01);
    let bins = series(&bursts, 100).queues.sent_bytes;
    assert_eq!(bins[..10], [25 * 46, 25 * 46, 25 * 46, 25 * 46, 0, 0, 0, 0, 0, 0]);
}

/// Packets that die past the bottleneck reach nobody and are not lost; those of a group that flows the other way die
/// past the return link.
#[test]
fn padding_dies_where_it_shall() {
    let padding = |reach: &str| format!("kind = \"padding\", rate = \"100 packets/s\", reach = \"{reach}\"");
    let dies = run(&scenario(&uplink(PACKETS, "", &padding("bottleneck"))));
    assert_eq!((dies.flows[0].delivered_bytes, dies.flows[0].drops), (0, 0));
    assert_eq!(dies.bottleneck.departures, 18_000);
    let hop = "[[hop]]\nname = \"next\"\nat = \"after\"\nrate = \"100 Mbit/s\"\n[reverse]\nrate = \"1 Mbit/s\"\n";
    let text = uplink(PACKETS, hop, &padding("bottleneck"));
    assert_eq!(run(&scenario(&text)).hops["next"].arrivals, 0);
    let back = text.replace("rtt = \"60 ms\"", "rtt = \"60 ms\"\ndirection = \"reverse\"");
    let record = run(&scenario(&back));
    assert_eq!((record.reverse.unwrap().departures, record.flows[0].delivered_bytes), (18_000, 0));
    let reaches = run(&scenario(&text.replace("\"bottleneck\" }", "\"receiver\" }")));
    assert_eq!(reaches.hops["next"].arrivals, 18_000);
}

/// Equation 5 of the paper: with R_U = 125/s beside R_T = 66.7/s a full buffer holds 2.9 times less time.
#[test]
fn padding_shortens_a_queue_of_packets() {
    let without = run(&scenario(&uplink(PACKETS, UPLOAD, "kind = \"padding\", rate = \"0.1 packets/s\"")));
    let with = run(&scenario(&uplink(PACKETS, UPLOAD, "kind = \"padding\", rate = \"125 packets/s\"")));
    let alpha = without.bottleneck.queue_ms.max.unwrap() / with.bottleneck.queue_ms.max.unwrap();
    close(alpha, 1.0 + 125.0 / (800e3 / 8.0 / 1500.0), 0.5);
    assert!(delay(&with) < delay(&without) / 2.0, "{} {}", delay(&with), delay(&without));
    assert!(goodput(&with) > 0.85 * goodput(&without), "{} {}", goodput(&with), goodput(&without));
}

/// Nine probes in ten find at most the target and a little, and the upload keeps most of the link.
#[test]
fn the_controller_meets_its_target_in_a_queue_of_packets() {
    for (limit, target) in [("30 packets", 150), ("60 packets", 150), ("120 packets", 200), ("60 packets", 300)] {
        let queue = format!("kind = \"droptail\", limit = \"{limit}\"");
        let padding = format!("kind = \"adaptive-padding\", target = \"{target} ms\"");
        let scenario = scenario(&uplink(&queue, UPLOAD, &padding));
        let record = run(&scenario);
        let probes = group(&record, "padding").rtt_ms;
        println!(
            "{limit} {target} ms: {} ms, probes {probes:?}, {} /s, {}",
            delay(&record),
            sent(&record),
            goodput(&record)
        );
        assert_eq!(rests(&record), 0);
        assert!(
            delay(&record) < f64::from(target) && delay(&record) > 0.3 * f64::from(target),
            "{} ms",
            delay(&record)
        );
        assert!(probes.p99.unwrap() - 60.0 < 1.25 * f64::from(target), "{probes:?}");
        assert!(goodput(&record) > 0.7 * 0.8 * 1448.0 / 1500.0, "{}", goodput(&record));
        assert!(sent(&record) <= 500.0);
    }
}

#[test]
fn the_controller_stays_silent_where_the_queue_is_short() {
    for (queue, upload) in [
        (PACKETS, ""),
        ("kind = \"fq_codel\"", UPLOAD),
        ("kind = \"codel\"", UPLOAD),
        ("kind = \"pie\"", UPLOAD),
        ("kind = \"droptail\", limit = \"8 packets\"", UPLOAD),
    ] {
        let record = run(&scenario(&uplink(queue, upload, ADAPTIVE)));
        println!("{queue}: {} ms, {} /s, {} rests", delay(&record), sent(&record), rests(&record));
        assert!(sent(&record) < 1.0, "{queue}: {} /s", sent(&record));
    }
}

/// A buffer limited in bytes, or an AQM whose own target is longer: padding is tried, given up, and costs little.
#[test]
fn the_controller_gives_up_where_padding_does_not_help() {
    for queue in ["kind = \"droptail\", limit = \"60 kB\"", "kind = \"codel\", target = \"400 ms\", interval = \"2 s\""]
    {
        let nothing = run(&scenario(&uplink(queue, UPLOAD, "kind = \"padding\", rate = \"0.1 packets/s\"")));
        let mut long = scenario(&uplink(queue, UPLOAD, ADAPTIVE));
        long.keys.duration = Span::from_secs(1800);
        let record = run(&long);
        println!(
            "{queue}: {} ms ({} without), {} /s, {} rests, {} of {}",
            delay(&record),
            delay(&nothing),
            sent(&record),
            rests(&record),
            goodput(&record),
            goodput(&nothing)
        );
        assert!(rests(&record) >= 3, "{queue}: {}", rests(&record));
        assert!(sent(&record) < 100.0, "{queue}: {} /s", sent(&record));
        assert!(goodput(&record) > 0.95 * goodput(&nothing), "{queue}: {}", goodput(&record));
    }
}

/// The upload ends in the middle of the run: within ten seconds nothing but probes is sent.
#[test]
fn the_controller_ends_with_the_upload() {
    let upload = format!("{UPLOAD}stop = \"150 s\"\n");
    let scenario = scenario(&uplink(PACKETS, &upload, ADAPTIVE));
    let wanted = Wanted { bin: Some(Span::from_secs(1)), probes: true, ..Wanted::default() };
    let series = outcome(&scenario, &wanted).series.unwrap();
    let rates = &series.flow_probes.probes;
    let code = rates.names.iter().position(|name| name == "padding_packets_per_second").unwrap() as u32;
    let at = |second: usize| {
        let mut rows = rates.name.iter().zip(&rates.value).filter(|(name, _)| **name == code);
        *rows.nth(second).unwrap().1
    };
    assert_eq!(at(15), 0.0, "before the upload");
    assert!(at(140) > 20.0, "{}", at(140));
    assert_eq!(at(165), 0.0, "after it");
}
