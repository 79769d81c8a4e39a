//! Links: traces, chains, return paths, access links, jitter, loss, limits.

use crate::common::{close, dumbbell, group, outcome, over_trace, recorded, run, scenario, series};
use sojourn_core::registry::Holds;
use sojourn_queue::DESCRIPTORS;
use sojourn_sim::Wanted;

const OVERLOAD: &str = "name = \"a\"\nrtt = \"20 ms\"\ntraffic = { kind = \"cbr\", rate = \"50 Mbit/s\" }";
const BULK: &str = "name = \"a\"\ncontrol = \"newreno\"\nrtt = \"20 ms\"";

/// Four opportunities per 10 ms are 4.8 Mbit/s, whole or in parts.
#[test]
fn a_trace_gives_its_throughput() {
    for packet in ["1500 B", "500 B", "700 B", "4000 B"] {
        let cbr = format!(
            "name = \"a\"\nrtt = \"20 ms\"\ntraffic = {{ kind = \"cbr\", rate = \"50 Mbit/s\", packet = \"{packet}\" }}"
        );
        let mut scenario = over_trace("10 s", &[2, 5, 5, 10], &[&cbr]);
        scenario.keys.warmup = sojourn_core::Span::from_secs(1);
        let record = run(&scenario);
        close(record.bottleneck.utilization.unwrap(), 1.0, 0.001);
        let bits = record.bottleneck.departures as f64 * 8.0 * packet.trim_end_matches(" B").parse::<f64>().unwrap();
        close(bits / 9.0, 4.8e6, 0.01e6);
    }
}

/// A host with one flow against a host with ten, at either end: half of the link for each, where hosts share. It is
/// over before any queue overflows and BLUE takes part.
#[test]
fn hosts_share_under_cake() {
    let share = |isolation: &str, hosts: &str| {
        let cake = format!("rate = \"20 Mbit/s\"\nqueue = {{ kind = \"cake\", isolation = \"{isolation}\" }}");
        let flows = |name: &str, flows: u32, megabits: u32, hosts: &str| {
            let traffic = format!("traffic = {{ kind = \"cbr\", rate = \"{megabits} Mbit/s\" }}");
            format!("name = \"{name}\"\nrtt = \"20 ms\"\nflows = {flows}\n{traffic}\n{hosts}")
        };
        let record = run(&dumbbell("3 s", &cake, &[&flows("one", 1, 15, ""), &flows("ten", 10, 3, hosts)]));
        group(&record, "one").share.unwrap()
    };
    close(share("triple-isolate", "hosts = 1"), 0.5, 0.01);
    close(share("dual-srchost", "hosts = 1"), 0.5, 0.01);
    close(share("dual-dsthost", "receiver_hosts = 1"), 0.5, 0.01);
    close(share("dual-srchost", "receiver_hosts = 1"), 1.0 / 11.0, 0.01);
    close(share("triple-isolate", "hosts = 5"), 1.0 / 6.0, 0.01);
    close(share("triple-isolate", ""), 1.0 / 11.0, 0.01);
}

/// The recording repeats: packets leave at its times, over and over.
#[test]
fn a_trace_repeats() {
    let scenario = over_trace("1 s", &[3, 3, 7], &[OVERLOAD]);
    let mut counts = [0; 7];
    let log = outcome(&scenario, &Wanted { packets: true, ..Wanted::default() }).packets.unwrap();
    for row in log.rows.iter().filter(|row| row.event == sojourn_sim::PacketEvent::Departure) {
        // Leaves the queue when its predecessor has been sent.
        assert_eq!(row.time.as_nanos() % 1_000_000 * u64::from(row.packet.body.number > 0), 0);
        counts[(row.time.as_nanos() / 1_000_000 % 7) as usize] += 1;
    }
    assert!(counts[3] >= 2 * counts[0] - 2 && counts[0] > 140, "{counts:?}");
    assert_eq!([1, 2, 4, 5, 6].map(|place| counts[place]), [0; 5]);
}

/// An overloaded recorded link of 10 s under each discipline that stands alone, with a timer or an estimate of the rate
/// or without.
fn under_each_discipline(opportunities_ms: &[u64], check: impl Fn(&str, &sojourn_sim::Record)) {
    for queue in DESCRIPTORS.iter().filter(|queue| matches!(queue.holds, Holds::Nothing)) {
        let link = format!("rate = \"1 Mbit/s\"\nqueue = \"{}\"", queue.name);
        let tcp = "name = \"tcp\"\ncontrol = \"newreno\"\nrtt = \"20 ms\"";
        check(queue.name, &run(&recorded(dumbbell("10 s", &link, &[OVERLOAD, tcp]), opportunities_ms)));
    }
}

/// All chances of a minute at its end: one packet waits on the wire and all others behind it, so that there is neither a
/// delay nor a use of what could not be used.
#[test]
fn a_link_without_any_capacity_has_no_quantiles() {
    under_each_discipline(&[60_000; 1000], |name, record| {
        let link = &record.bottleneck;
        assert!(link.arrivals > 0 && link.departures <= 1, "{name}: {link:?}");
        assert_eq!(link.utilization, None, "{name}");
        let ms = &record.groups["tcp"].queue_ms;
        assert_eq!([ms.mean, ms.p10, ms.p25, ms.p50, ms.p75, ms.p90, ms.p99, ms.max], [None; 8], "{name}");
    });
}

/// Four seconds of 1.2 Mbit/s, five of nothing: it goes on after the pause, and the recording begins anew after its end.
#[test]
fn a_link_may_pause_for_seconds() {
    let times: Vec<u64> = (0..400).map(|number| 10 * number).chain([9_000]).collect();
    under_each_discipline(&times, |name, record| {
        let link = &record.bottleneck;
        close(link.utilization.unwrap(), 1.0, 0.05);
        assert!(link.queue_ms.max.unwrap() < 10e3 && link.queue_ms.mean.unwrap().is_finite(), "{name}: {link:?}");
    });
}

/// Each link of a direction has its own queue, and the slowest has all of it.
#[test]
fn a_chain_of_links() {
    let record = run(&scenario(&format!(
        "duration = \"10 s\"
        [bottleneck]
        rate = \"10 Mbit/s\"
        [[hop]]
        name = \"before\"
        at = \"before\"
        rate = \"5 Mbit/s\"
        queue = {{ kind = \"droptail\", limit = \"50 packets\" }}
        [[hop]]
        name = \"after\"
        at = \"after\"
        rate = \"20 Mbit/s\"
        delay = \"1 ms\"
        [[group]]\n{BULK}"
    )));
    let (before, main, after) = (&record.hops["before"], &record.bottleneck, &record.hops["after"]);
    assert!(before.queue_packets.mean > 10.0 && before.drops > 0);
    assert!(main.queue_packets.mean < 0.01 && after.queue_packets.mean < 0.01);
    assert_eq!((main.drops, after.drops), (0, 0));
    assert!(before.departures >= main.arrivals && main.departures >= after.arrivals);
    close(main.utilization.unwrap(), before.utilization.unwrap() / 2.0, 0.01);
    close(after.utilization.unwrap(), before.utilization.unwrap() / 4.0, 0.01);
}

/// Two links of the same rate in a row, and data that enters before each of them: the second is full of both.
#[test]
fn data_may_enter_at_a_later_link() {
    let record = run(&scenario(
        "duration = \"20 s\"
        bottleneck.rate = \"10 Mbit/s\"
        [[hop]]
        name = \"second\"
        at = \"after\"
        rate = \"10 Mbit/s\"
        [[group]]
        name = \"through\"
        rtt = \"50 ms\"
        traffic = { kind = \"cbr\", rate = \"4 Mbit/s\" }
        [[group]]
        name = \"late\"
        rtt = \"50 ms\"
        enters = \"second\"
        traffic = { kind = \"cbr\", rate = \"4 Mbit/s\" }
        [[group]]
        name = \"early\"
        rtt = \"50 ms\"
        enters = \"bottleneck\"
        traffic = { kind = \"cbr\", rate = \"1 Mbit/s\" }",
    ));
    close(record.bottleneck.utilization.unwrap(), 0.5, 0.01);
    close(record.hops["second"].utilization.unwrap(), 0.9, 0.01);
    assert_eq!(record.groups["late"].queue_ms.mean, None, "it never waits at the bottleneck");
    assert!(record.groups["early"].queue_ms.mean.is_some());
}

/// Acknowledgements queue behind the data of an upload.
#[test]
fn acknowledgements_share_the_return_link() {
    let text = |upload: &str| {
        format!(
            "duration = \"20 s\"
            bottleneck = {{ rate = \"10 Mbit/s\", queue = {{ kind = \"droptail\", limit = \"20 packets\" }} }}
            reverse = {{ rate = \"1 Mbit/s\", queue = {{ kind = \"droptail\", limit = \"50 packets\" }} }}
            [[group]]\n{BULK}\n{upload}"
        )
    };
    let alone = run(&scenario(&text("")));
    let upload = "[[group]]\nname = \"up\"\ncontrol = \"newreno\"\nrtt = \"20 ms\"\ndirection = \"reverse\"";
    let both = run(&scenario(&text(upload)));
    let rtt = |record: &_| group(record, "a").rtt_ms.mean.unwrap();
    // Up to 50 packets of 12 ms each are ahead of an acknowledgement.
    assert!(rtt(&alone) < 60.0 && rtt(&both) > 250.0, "{} {}", rtt(&alone), rtt(&both));
    assert!(both.reverse.as_ref().unwrap().queue_ms.max.unwrap() <= 600.0 + 12.0);
    assert!(both.reverse.unwrap().utilization.unwrap() > 0.9);
    for name in ["a", "up"] {
        close(both.groups[name].share.unwrap(), 1.0, 0.0);
    }
}

/// An access link spaces packets: ten of 1.2 ms each, then 0.12 ms on the bottleneck and 10 ms of path.
#[test]
fn an_access_link_spaces_packets() {
    let record = run(&dumbbell(
        "1 s",
        "rate = \"100 Mbit/s\"",
        &["name = \"a\"\ncontrol = \"newreno\"\nflows = 2\nrtt = \"20 ms\"\naccess_rate = \"10 Mbit/s\"\n\
           start = \"0 s\"\ntransport = { handshake = false }\ntraffic = { kind = \"bulk\", size = \"14480 B\" }"],
    ));
    // The second flow has an access link of its own; its last packet waits for the first one's.
    close(group(&record, "a").fct_ms.unwrap().mean.unwrap(), 22.12 + 0.06, 1e-9);
    assert_eq!(record.bottleneck.queue_packets.max, 1);
}

/// Jitter delays; without reordering a sender notices nothing else, with it duplicates look like losses.
#[test]
fn jitter_with_and_without_reordering() {
    let run = |reorder: bool, kind: &str| {
        run(&dumbbell(
            "10 s",
            &format!("rate = \"10 Mbit/s\"\njitter = {{ {kind}, reorder = {reorder} }}"),
            &["name = \"a\"\ncontrol = \"newreno\"\nrtt = \"20 ms\"\ntransport = { receive_window = \"20 packets\" }"],
        ))
    };
    for kind in ["kind = \"uniform\", max = \"20 ms\"", "kind = \"normal\", mean = \"10 ms\", sd = \"5 ms\""] {
        let (ordered, disordered) = (run(false, kind), run(true, kind));
        assert_eq!(group(&ordered, "a").retransmissions, Some(0));
        assert!(group(&disordered, "a").retransmissions.unwrap() > 10);
        assert_eq!((ordered.bottleneck.drops, disordered.bottleneck.drops), (0, 0));
        let rtt = group(&ordered, "a").rtt_ms.mean.unwrap();
        assert!((28.0..60.0).contains(&rtt), "{rtt}");
    }
}

/// Uniform jitter from 0 to 10 ms adds 5 ms in the mean where nothing waits for anything.
#[test]
fn jitter_has_its_mean() {
    let scenario = dumbbell(
        "50 s",
        "rate = \"10 Mbit/s\"\njitter = { kind = \"uniform\", max = \"10 ms\" }",
        &["name = \"a\"\nrtt = \"20 ms\"\ntraffic = { kind = \"cbr\", rate = \"500 kbit/s\" }"],
    );
    let delay = series(&scenario, 50_000).flows.one_way_delay_ms[0];
    close(delay, 1.2 + 10.0 + 5.0, 0.3);
}

/// The loss rate is the configured one within four standard deviations.
#[test]
fn random_loss_has_its_rate() {
    for loss in [0.001, 0.02, 0.3] {
        let record = run(&dumbbell(
            "60 s",
            &format!("rate = \"10 Mbit/s\"\nloss = {loss}"),
            &["name = \"a\"\nrtt = \"20 ms\"\ntraffic = { kind = \"cbr\", rate = \"5 Mbit/s\" }"],
        ));
        let sent = record.bottleneck.departures as f64;
        close(record.bottleneck.drop_rate.unwrap(), loss, 4.0 * (loss * (1.0 - loss) / sent).sqrt());
        close(record.bottleneck.utilization.unwrap(), 0.5, 0.001);
        let delivered = 1.0 - group(&record, "a").goodput_mbps / (5.0 * 1472.0 / 1500.0);
        close(delivered, record.bottleneck.drop_rate.unwrap(), 0.001);
    }
}

/// Limits in packets, bytes and time at the link's rate: 10 ms at 10 Mbit/s are 12 500 B, 8 packets.
#[test]
fn limits() {
    for (limit, packets) in [("8 packets", 8), ("12500 B", 8), ("10 ms", 8), ("12000 B", 8), ("11999 B", 7)] {
        let queue = format!("rate = \"10 Mbit/s\"\nqueue = {{ kind = \"droptail\", limit = \"{limit}\" }}");
        let record = run(&dumbbell("1 s", &queue, &[OVERLOAD]));
        assert_eq!(record.bottleneck.queue_packets.max, packets, "{limit}");
        close(record.bottleneck.queue_ms.max.unwrap(), 1.2 * packets as f64, 1.2);
    }
}

/// Marks instead of drops from end to end: RED marks, receivers echo, senders slow down.
#[test]
fn ecn_with_red() {
    let run = |ecn: bool| {
        run(&dumbbell(
            "30 s",
            &format!("rate = \"10 Mbit/s\"\nqueue = {{ kind = \"red\", limit = \"200 packets\", ecn = {ecn} }}"),
            &[&format!("{BULK}\nflows = 4\ntransport = {{ ecn = {ecn} }}\nstart = {{ uniform = [\"0 s\", \"1 s\"] }}")],
        ))
    };
    let (marked, dropped) = (run(true), run(false));
    assert!(marked.bottleneck.marks > 100 && dropped.bottleneck.marks == 0);
    assert!(marked.bottleneck.drops * 5 < dropped.bottleneck.drops, "{:?}", marked.bottleneck);
    assert!(group(&marked, "a").mark_rate.unwrap() > 0.001);
    assert!(group(&marked, "a").retransmissions.unwrap() * 5 < group(&dropped, "a").retransmissions.unwrap());
    for record in [&marked, &dropped] {
        assert!(record.bottleneck.utilization.unwrap() > 0.9);
        assert!(record.bottleneck.queue_ms.mean.unwrap() < 60.0);
    }
}
