//! What is measured at both ends: one-way delays, their variation, start-up times, whole trains, and what is lost on the way back.

use crate::common::{close, dumbbell, outcome, run, scenario};
use sojourn_scenario::Scenario;
use sojourn_sim::{GroupRecord, Wanted};

fn measured(scenario: &Scenario) -> std::collections::BTreeMap<String, GroupRecord> {
    outcome(scenario, &Wanted { delays: true, ..Wanted::default() }).record.groups
}

/// 1500 B at 12 Mbit/s take 1 ms.
const LINK: &str = "rate = \"12 Mbit/s\"";

#[test]
fn a_lone_stream_takes_its_path_and_its_time_on_the_wire() {
    let cbr = "name = \"a\"\nrtt = \"40 ms\"\ntraffic = { kind = \"cbr\", rate = \"1 Mbit/s\" }";
    let scenario = dumbbell("2 s", LINK, &[cbr]);
    let groups = measured(&scenario);
    let delay = groups["a"].delay_ms.expect("delays were wanted");
    for found in [delay.min, delay.mean, delay.max] {
        close(found.unwrap(), 21.0, 1e-9);
    }
    let variation = groups["a"].pdv_ms.expect("delays were wanted");
    assert_eq!((variation.mean, variation.max), (Some(0.0), Some(0.0)));
    assert!(groups["a"].startup_ms.is_none(), "nobody waits for a stream to begin");
    assert!(run(&scenario).groups["a"].delay_ms.is_none(), "nobody asked");
}

/// Packets of two flows with different paths: the variation is each flow's own.
#[test]
fn variation_is_beside_the_shortest_of_the_flow() {
    let group = "name = \"a\"\nflows = 2\nrtt = [\"20 ms\", \"200 ms\"]\ntraffic = { kind = \"train\", count = 3, every = \"1 s\" }";
    let start = format!("{group}\nstart = [\"0 s\", \"0.5 s\"]");
    let groups = measured(&dumbbell("4 s", LINK, &[&start]));
    let (delay, variation) = (groups["a"].delay_ms.unwrap(), groups["a"].pdv_ms.unwrap());
    close(delay.min.unwrap(), 11.0, 1e-9);
    close(delay.max.unwrap(), 103.0, 1e-9);
    // Packets of a train wait for none, one and two others.
    close(variation.mean.unwrap(), 1.0, 1e-9);
    close(variation.p50.unwrap(), 1.0, 0.1);
    close(variation.max.unwrap(), 2.0, 0.1);
}

/// A SYN, its answer, and the first data: one and a half round trips, and each packet's time on the wire.
#[test]
fn data_begins_to_come_after_the_handshake() {
    let tcp = "name = \"a\"\ncontrol = \"newreno\"\nrtt = \"40 ms\"\nstart = \"0.5 s\"\ntraffic = { kind = \"bulk\", size = \"100 kB\" }";
    let groups = measured(&dumbbell("4 s", LINK, &[tcp]));
    let startup = groups["a"].startup_ms.expect("data came");
    assert_eq!(startup.count, 1);
    close(startup.mean.unwrap(), 61.0, 0.1);
    let slow = tcp.replace("0.5 s", "0 s");
    let warm = scenario(&format!("duration = \"4 s\"\nwarmup = \"1 s\"\n[bottleneck]\n{LINK}\n[[group]]\n{slow}"));
    assert!(measured(&warm)["a"].startup_ms.is_none(), "it came during the warm-up");
}

/// Each object of a page is asked for once; over a kept connection that takes a round trip.
#[test]
fn each_object_of_a_page_begins_once() {
    let web = "name = \"a\"\ncontrol = \"newreno\"\nrtt = \"40 ms\"\n\
               traffic = { kind = \"web\", objects = 5, size = \"20 kB\", connections = 1, think = \"1 s\" }";
    let groups = measured(&dumbbell("20 s", LINK, &[web]));
    let (startup, ended) = (groups["a"].startup_ms.unwrap(), groups["a"].fct_ms.unwrap());
    assert!(startup.count - ended.count <= 1, "{startup:?} {ended:?}");
    close(startup.p50.unwrap(), 41.0, 1.5);
    assert!(startup.p99.unwrap() > 80.0, "over a fresh connection it is two");
}

#[test]
fn losses_on_the_way_back_are_counted_by_what_they_hit() {
    let text = format!(
        "duration = \"30 s\"\n[bottleneck]\n{LINK}\n[reverse]\nrate = \"12 Mbit/s\"\nloss = 0.2\n[[group]]\nname = \"a\"\n\
         control = \"newreno\"\nrtt = \"40 ms\"\nflows = 50\n[[group]]\nname = \"b\"\nrtt = \"40 ms\"\ntraffic = {{ kind = \"cbr\", rate = \"1 Mbit/s\" }}"
    );
    let record = run(&scenario(&text));
    close(record.groups["a"].ack_drop_rate.unwrap(), 0.2, 0.01);
    // Of 50 SYN-ACKs and those that are sent again a fifth is lost.
    let lost = record.groups["a"].syn_drops.unwrap();
    assert!((4..30).contains(&lost), "{lost}");
    assert_eq!((record.groups["b"].ack_drop_rate, record.groups["b"].syn_drops), (None, None));
}

/// Frames of 12 packets, and each thirtieth of 60, into a buffer of 40: the large ones lose packets, the others do not.
#[test]
fn trains_are_whole_or_broken() {
    let frames = "name = \"a\"\nrtt = \"40 ms\"\ntraffic = { kind = \"train\", count = 12, every = \"50 ms\", large = 60, large_every = 30 }";
    let link = format!("{LINK}\nqueue = {{ kind = \"droptail\", limit = \"40 packets\" }}");
    let groups = measured(&dumbbell("15.01 s", &link, &[frames]));
    let train = groups["a"].train.expect("it sends trains");
    assert_eq!(train.ms.count, 290);
    close(train.broken.unwrap(), 10.0 / 300.0, 1e-9);
    // The last of twelve packets waits for eleven, and all cross the path.
    close(train.ms.p50.unwrap(), 32.0, 0.1);
    let roomy = groups_of("400 packets", frames);
    close(roomy["a"].train.unwrap().ms.p999.unwrap(), 80.0, 0.1);
    assert_eq!(roomy["a"].train.unwrap().broken, Some(0.0));
}

fn groups_of(limit: &str, group: &str) -> std::collections::BTreeMap<String, GroupRecord> {
    measured(&dumbbell("15.01 s", &format!("{LINK}\nqueue = {{ kind = \"droptail\", limit = \"{limit}\" }}"), &[group]))
}
