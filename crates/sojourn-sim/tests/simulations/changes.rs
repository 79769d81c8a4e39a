//! Links that change while a run goes on.

use crate::common::{dumbbell, group, run, series, text};
use sojourn_core::registry::{Descriptor, Holds};
use sojourn_core::{Span, Time};
use sojourn_queue::DESCRIPTORS;
use sojourn_scenario::{Base, Scenario};
use sojourn_sim::{Monitor, PacketEvent, Session, Wanted, capacity_bytes};

const TCP: &str = "name = \"tcp\"\ncontrol = \"cubic\"\nflows = 4\nrtt = \"40 ms\"";

/// Ten seconds at 10 Mbit/s before `queue`, with changes.
fn changing(queue: &str, changes: &[&str]) -> Scenario {
    let changes: String = changes.iter().map(|change| format!("[[change]]\n{change}\n")).collect();
    let bottleneck = format!("rate = \"10 Mbit/s\"\nqueue = {queue}\n{changes}");
    dumbbell("10 s", &bottleneck, &[TCP])
}

/// What happens again does so at its interval, to the end of the run, and in the order of time.
#[test]
fn a_change_that_happens_again_is_many_changes() {
    let again = changing(
        "\"droptail\"",
        &[
            "name = \"slow\"\nat = \"2 s\"\nevery = \"4 s\"\nbottleneck.rate = \"2 Mbit/s\"",
            "at = \"4 s\"\nevery = \"4 s\"\nbottleneck.rate = \"10 Mbit/s\"",
        ],
    );
    let times: Vec<_> = again.changes.iter().map(|change| (change.at, change.name.as_deref())).collect();
    let s = Span::from_secs;
    assert_eq!(times, [(s(2), Some("slow")), (s(4), None), (s(6), None), (s(8), None)]);
    for (from, to, rate) in [(1.0, 2.0, 10.0), (2.1, 4.0, 2.0), (4.1, 6.0, 10.0), (6.1, 8.0, 2.0), (8.1, 10.0, 10.0)] {
        let found = mbps(&again, from, to);
        assert!((found / rate - 1.0).abs() < 0.01, "{found} Mbit/s from {from} s on");
    }
    let written = Scenario::parse(&again.to_toml(), None, &Base::Nowhere, &[]).expect("what is written can be read");
    assert_eq!(text(&run(&written.scenario)), text(&run(&again)));
}

fn mbps(scenario: &Scenario, from_s: f64, to_s: f64) -> f64 {
    let queues = series(scenario, 100).queues;
    let rows = queues.time_s.iter().zip(&queues.sent_bytes);
    let sent: u64 = rows.filter(|(time, _)| (from_s..to_s - 0.05).contains(*time)).map(|(_, bytes)| bytes).sum();
    sent as f64 * 8.0 / (to_s - from_s) / 1e6
}

#[test]
fn the_rate_in_force_is_what_the_link_sends() {
    let scenario = changing(
        "\"droptail\"",
        &["at = \"4 s\"\nbottleneck.rate = \"2 Mbit/s\"", "at = \"7 s\"\nbottleneck.rate = \"20 Mbit/s\""],
    );
    for (from, to, rate) in [(2.0, 4.0, 10.0), (4.1, 7.0, 2.0), (7.1, 8.0, 20.0)] {
        let found = mbps(&scenario, from, to);
        assert!((found / rate - 1.0).abs() < 0.01, "{found} Mbit/s from {from} s, not {rate}");
    }
    let capacity = capacity_bytes(&scenario, 0, Time::ZERO, Time::ZERO + scenario.duration);
    assert_eq!(capacity, (10.0 * 4.0 + 2.0 * 3.0 + 20.0 * 3.0) * 1e6 / 8.0);
    let part = capacity_bytes(&scenario, 0, Time::ZERO + Span::from_secs(3), Time::ZERO + Span::from_secs(5));
    assert_eq!(part, 12e6 / 8.0);
    let used = run(&scenario).bottleneck.utilization.unwrap();
    assert!((0.9..=1.0).contains(&used), "{used}");
}

/// The packet on the wire keeps its end: one packet of 1500 B takes 12 ms at 1 Mbit/s, the next 1.2 ms.
#[test]
fn the_packet_on_the_wire_is_sent_as_it_began() {
    let text = "duration = \"1 s\"\nbottleneck.rate = \"1 Mbit/s\"\n\
                [[group]]\nname = \"train\"\nrtt = \"2 ms\"\n\
                traffic = { kind = \"train\", count = 3, packet = \"1500 B\", spacing = \"0 s\" }\n\
                [[change]]\nat = \"5 ms\"\nbottleneck.rate = \"10 Mbit/s\"\n";
    let scenario = Scenario::parse(text, None, &Base::Nowhere, &[]).unwrap_or_else(|error| panic!("{error}")).scenario;
    let wanted = Wanted { packets: true, ..Wanted::default() };
    let outcome = Session::new(&scenario, 1, &wanted).finish(&Monitor::default()).unwrap();
    let rows = outcome.packets.unwrap().rows;
    let departures = rows.iter().filter(|row| row.event == PacketEvent::Departure);
    let times: Vec<_> = departures.map(|row| row.time.as_nanos()).collect();
    assert_eq!(times, [0, 12_000_000, 13_200_000]);
}

#[test]
fn a_recording_begins_with_its_change() {
    let scenario = changing("\"droptail\"", &["at = \"4 s\"\nbottleneck.trace = \"ready:synthetic-lte\""]);
    let start = changing("\"droptail\"", &[]);
    let lte = capacity_bytes(&scenario, 0, Time::ZERO + Span::from_secs(4), Time::ZERO + Span::from_secs(6));
    let alone = format!("duration = \"10 s\"\nbottleneck.trace = \"ready:synthetic-lte\"\n[[group]]\n{TCP}\n");
    let alone = Scenario::parse(&alone, None, &Base::Nowhere, &[]).unwrap().scenario;
    assert_eq!(lte, capacity_bytes(&alone, 0, Time::ZERO, Time::ZERO + Span::from_secs(2)));
    assert_eq!(mbps(&scenario, 0.0, 4.0), mbps(&start, 0.0, 4.0));
    let used = run(&scenario).bottleneck.utilization.unwrap();
    assert!((0.8..=1.01).contains(&used), "{used}");
}

/// What changes to what it is already changes nothing but the count of events.
#[test]
fn a_change_to_the_same_changes_nothing() {
    let same = "at = \"5 s\"\nbottleneck = { rate = \"10 Mbit/s\", loss = 0.001, queue = {} }";
    for queue in ["\"droptail\"", "\"codel\"", "\"cobalt\"", "\"pie\"", "\"fq_codel\"", "\"fq_pie\"", "\"cake\""] {
        let lossy = format!("{queue}\nloss = 0.001");
        let (with, without) = (run(&changing(&lossy, &[same])), run(&changing(&lossy, &[])));
        assert_eq!(text(&with), text(&without), "{queue}");
    }
}

/// Linux's `pfifo` keeps what is there, `codel` drops from the head what is more than the limit.
#[test]
fn a_lower_limit_is_kept_as_in_linux() {
    let long = |kind: &str| {
        changing(
            &format!("{{ kind = \"{kind}\", limit = \"400 packets\" }}"),
            &["at = \"5 s\"\nbottleneck.queue.limit = \"20 packets\""],
        )
    };
    let waiting = |scenario: &Scenario, time: f64| {
        let queues = series(scenario, 100).queues;
        let row = queues.time_s.iter().position(|&start| (start - time).abs() < 1e-6).unwrap();
        queues.queue_packets[row]
    };
    assert!(waiting(&long("droptail"), 4.9) > 100.0);
    assert!(waiting(&long("droptail"), 5.0) > 20.0, "a FIFO drops nothing that waits");
    assert!(waiting(&long("droptail"), 9.0) <= 20.0);
    assert!(waiting(&long("codel"), 5.0) <= 20.0);
}

/// `one` as a file names it, with `inner` inside where it holds others.
fn written(one: &Descriptor, inner: &str) -> String {
    match one.holds {
        Holds::Nothing => format!("\"{}\"", one.name),
        Holds::One => format!("{{ kind = \"{}\", child = \"{inner}\" }}", one.name),
        Holds::Classes(_) => {
            format!("{{ kind = \"{}\", class = [{{ name = \"rest\", queue = \"{inner}\" }}] }}", one.name)
        }
    }
}

/// Whether a change to the parameters that it has already leaves a discipline as it is.
fn keeps(one: &Descriptor) -> bool {
    let queue = written(one, "droptail");
    let changed = changing(&queue, &["at = \"5 s\"\nbottleneck.queue = {}"]);
    text(&run(&changed)) == text(&run(&changing(&queue, &[])))
}

/// The list of the reference page.
#[test]
fn these_keep_their_packets_and_all_others_are_replaced() {
    let kept: Vec<_> = DESCRIPTORS.iter().filter(|one| keeps(one)).map(|one| one.name).collect();
    assert_eq!(kept, ["droptail", "codel", "cobalt", "pie", "fq_codel", "fq_pie", "cake"]);
}

/// Every kind gives way to every other: what waits is dropped, nothing is lost from the books, and clocks start then.
#[test]
fn any_queue_takes_the_place_of_any_other() {
    for (index, from) in DESCRIPTORS.iter().enumerate() {
        let to = DESCRIPTORS[(index + 7) % DESCRIPTORS.len()];
        let change = format!("at = \"5 s\"\nbottleneck.queue = {}", written(to, "pie"));
        let scenario = changing(&written(from, "pie"), &[&change]);
        let record = run(&scenario);
        let used = record.bottleneck.utilization.unwrap();
        assert!(used > 0.7, "{used} with {} and then {}", from.name, to.name);
        assert!(group(&record, "tcp").goodput_mbps > 7.0, "{} and then {}", from.name, to.name);
    }
}

#[test]
fn what_waits_in_a_replaced_queue_is_dropped() {
    let scenario =
        changing("{ kind = \"droptail\", limit = \"400 packets\" }", &["at = \"5 s\"\nbottleneck.queue = \"red\""]);
    let queues = series(&scenario, 100).queues;
    let row = queues.time_s.iter().position(|&start| (start - 5.0).abs() < 1e-6).unwrap();
    assert!(queues.drops[row] as f64 >= queues.queue_packets[row - 1] * 0.5, "{} drops", queues.drops[row]);
    assert!(queues.queue_packets[row] < 0.5 * queues.queue_packets[row - 1]);
}

/// A discipline that comes later has its first update one interval after it came, not thousands at once.
#[test]
fn clocks_start_with_their_discipline() {
    let wanted = Wanted { bin: Some(Span::from_millis(10)), probes: true, ..Wanted::default() };
    let scenario = changing("\"droptail\"", &["at = \"5 s\"\nbottleneck.queue = \"pie\""]);
    let outcome = Session::new(&scenario, 1, &wanted).finish(&Monitor::default()).unwrap();
    let probes = outcome.series.unwrap().queue_probes.probes;
    let burst = probes.names.iter().position(|name| name == "burst_allowance_ms").unwrap() as u32;
    let first = probes.name.iter().position(|&name| name == burst).unwrap();
    assert!((probes.time_s[first] - 5.0).abs() < 1e-9);
    assert!(probes.value[first] > 100.0, "{} ms of its burst are left", probes.value[first]);
}

/// The classes of every queue that there was.
#[test]
fn classes_of_replaced_queues_stay_in_the_record() {
    let scenario =
        changing("{ kind = \"cake\", preset = \"diffserv4\" }", &["at = \"5 s\"\nbottleneck.queue = \"dualpi2\""]);
    let classes = run(&scenario).bottleneck.classes;
    let names: Vec<_> = classes.keys().map(String::as_str).collect();
    assert!(names.len() > 2, "{names:?}");
    let departures: u64 = classes.values().map(|class| class.departures).sum();
    assert_eq!(departures, run(&scenario).bottleneck.departures);
}

/// One datagram of 1250 B each 100 ms, one way: 1 ms of transmission, the link's delay and half of the RTT.
#[test]
fn a_path_becomes_longer_and_shorter() {
    let scenario = dumbbell(
        "10 s",
        "rate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n\
         [[change]]\nat = \"2 s\"\nbottleneck.delay = \"50 ms\"\n\
         [[change]]\nat = \"4 s\"\nbottleneck.delay = \"0 s\"\n\
         [[change]]\nat = \"6 s\"\ngroup = [{ name = \"cbr\", rtt = \"61 ms\" }]\n\
         [[change]]\nat = \"8 s\"\ngroup = [{ name = \"cbr\", rtt = \"20 ms\" }]\n",
        &["name = \"cbr\"\nrtt = \"20 ms\"\ntraffic = { kind = \"cbr\", rate = \"100 kbit/s\", packet = \"1250 B\" }"],
    );
    let flows = series(&scenario, 500).flows;
    let at = |time_s: f64| {
        let row = flows.time_s.iter().position(|&time| time == time_s).expect("bins begin at multiples of 0.5 s");
        flows.one_way_delay_ms[row]
    };
    for (time_s, expected) in [(0.5, 21.0), (2.5, 61.0), (4.5, 11.0), (6.5, 31.5), (8.5, 11.0)] {
        assert!((at(time_s) - expected).abs() < 1e-9, "{} ms at {time_s} s, not {expected}", at(time_s));
    }
    let written = Scenario::parse(&scenario.to_toml(), None, &Base::Nowhere, &[]).expect("what is written can be read");
    assert_eq!(text(&run(&written.scenario)), text(&run(&scenario)));
}

/// A jitter that a change names at its old value changes nothing; one that begins does, and one of nothing ends it.
#[test]
fn a_jitter_begins_and_ends() {
    let with = |more: &str, change: &str| {
        let changes = ["3 s", "6 s"].iter().zip(change.split('|'));
        let changes: String = changes
            .filter(|(_, jitter)| !jitter.is_empty())
            .map(|(at, jitter)| format!("[[change]]\nat = \"{at}\"\nbottleneck.jitter = \"{jitter}\"\n"))
            .collect();
        let bottleneck = format!("rate = \"10 Mbit/s\"\n{more}\n{changes}");
        let cbr =
            "name = \"cbr\"\nrtt = \"20 ms\"\ntraffic = { kind = \"cbr\", rate = \"1 Mbit/s\", packet = \"1250 B\" }";
        dumbbell("9 s", &bottleneck, &[cbr])
    };
    let always = with("jitter = \"4 ms\"", "");
    assert_eq!(text(&run(&with("jitter = \"4 ms\"", "4 ms|4 ms"))), text(&run(&always)));
    let flows = series(&with("", "4 ms|0 s"), 1000).flows;
    let mean = |time_s: f64| flows.one_way_delay_ms[flows.time_s.iter().position(|&time| time == time_s).unwrap()];
    let means = [1.0, 4.0, 7.0].map(mean);
    assert_eq!([means[0], means[2]], [11.0, 11.0]);
    assert!((means[1] - 13.0).abs() < 0.4, "{} ms beside jitter of 2 ms on average", means[1]);
}

/// Of 8 Mbit/s a policer lets pass its rate, whatever that is; a bucket of 5 kB is full at each change.
#[test]
fn a_policer_changes() {
    let cbr = "name = \"cbr\"\nrtt = \"20 ms\"\ntraffic = { kind = \"cbr\", rate = \"8 Mbit/s\", packet = \"1000 B\" }";
    let bottleneck = "rate = \"10 Mbit/s\"\n\
         [[change]]\nat = \"2 s\"\nbottleneck.policer = { rate = \"2 Mbit/s\", burst = \"5 kB\" }\n\
         [[change]]\nat = \"4 s\"\nbottleneck.policer.rate = \"4 Mbit/s\"\n\
         [[change]]\nat = \"6 s\"\nbottleneck.policer.rate = \"1 Gbit/s\"\n";
    let scenario = dumbbell("8 s", bottleneck, &[cbr]);
    let packets: Vec<u64> = series(&scenario, 2000).queues.sent_bytes.iter().map(|bytes| bytes / 1000).collect();
    for (packets, expected) in packets.into_iter().zip([2000, 500 + 5, 1000 + 5, 2000]) {
        assert!(packets.abs_diff(expected) <= 1, "{packets} of 2000 packets pass, not {expected}");
    }
}

/// The link sends as its shaper allows; what waits for tokens is sent at once where a change makes it go.
#[test]
fn a_shaper_changes() {
    let shaped = |rate: &str| format!("bottleneck.shaper = {{ rate = \"{rate}\", burst = \"3 kB\" }}");
    let changes = [("2 s", "5 Mbit/s"), ("4 s", "100 kbit/s"), ("6 s", "8 Mbit/s")]
        .map(|(at, rate)| format!("at = \"{at}\"\n{}", shaped(rate)));
    let scenario = changing("\"droptail\"", &changes.each_ref().map(String::as_str));
    for (from, to, rate) in [(1.0, 2.0, 10.0), (2.5, 4.0, 5.0), (7.0, 10.0, 8.0)] {
        let found = mbps(&scenario, from, to);
        assert!((found / rate - 1.0).abs() < 0.02, "{found} Mbit/s from {from} s, not {rate}");
    }
    let slow = mbps(&scenario, 4.5, 6.0);
    assert!((slow / 0.1 - 1.0).abs() < 0.1, "{slow} Mbit/s");
    // A packet of 1500 B is a debt of 120 ms at 100 kbit/s, and of as long at any other rate.
    let first = mbps(&scenario, 6.0, 6.2);
    assert!((0.5..8.0).contains(&first), "{first} Mbit/s");
}
