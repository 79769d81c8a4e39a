//! Pages of a browser, and flows of several connections.

use crate::common::{close, dumbbell, group, outcome, over_trace, run, scenario, series, text};
use sojourn_sim::{Fct, Record, Wanted};

const FAST: &str = "rate = \"100 Mbit/s\"";

fn web(traffic: &str) -> String {
    format!("name = \"web\"\ncontrol = \"newreno\"\nrtt = \"40 ms\"\ntraffic = {{ kind = \"web\", {traffic} }}")
}

fn pages(record: &Record) -> Fct {
    group(record, "web").page_ms.unwrap()
}

/// A request, the handshake and one packet of data cross the network four times, 80 ms; over a kept connection a
/// request and a packet, 40 ms. Beside it there are 0.12 ms of a packet on the wire.
#[test]
fn pages_in_round_trips() {
    for (traffic, page_ms) in [
        ("objects = 1, size = \"1448 B\"", 80.0),
        // In sequence.
        ("objects = 3, size = \"1448 B\", connections = 1", 80.0 + 40.0 + 40.0),
        ("objects = 3, size = \"1448 B\", connections = 1, reuse = false", 3.0 * 80.0),
        // The first alone, then the others at once: one over the kept connection, five over fresh ones.
        ("objects = 7, size = \"1448 B\"", 80.0 + 80.0),
        ("objects = 2, size = \"1448 B\"", 80.0 + 40.0),
        ("objects = 7, size = \"1448 B\", reuse = false", 80.0 + 80.0),
        // Seven others over six connections: the kept one is free again first.
        ("objects = 8, size = \"1448 B\"", 80.0 + 80.0),
        // Twelve others: six, two of them over the kept one, then five over the others that are open by then.
        ("objects = 13, size = \"1448 B\"", 80.0 + 80.0 + 40.0),
    ] {
        let record = run(&dumbbell("20 s", FAST, &[&web(traffic)]));
        let found = pages(&record);
        close(found.mean.unwrap(), page_ms, 2.0);
        close(found.p50.unwrap(), page_ms, 2.0);
        close(found.p90.unwrap(), page_ms, 2.0);
        assert_eq!(found.count, (20e3 / found.mean.unwrap()) as u64, "{traffic}: back to back");
    }
}

/// Objects have completion times of their own, and their bytes are all that is delivered.
#[test]
fn objects_are_transfers() {
    let traffic = "objects = 5, size = \"1000 B\", reuse = false";
    let record = run(&dumbbell("20 s", FAST, &[&web(traffic)]));
    let objects = group(&record, "web").fct_ms.unwrap();
    assert_eq!(objects.count / 5, pages(&record).count);
    close(objects.mean.unwrap(), 80.0, 0.5);
    assert_eq!(record.flows[0].delivered_bytes / 1000, objects.count);
    // Over kept connections they fill whole packets.
    let kept = run(&dumbbell("20 s", FAST, &[&web("objects = 5, size = \"1000 B\"")]));
    assert_eq!(kept.flows[0].delivered_bytes, 1448 * group(&kept, "web").fct_ms.unwrap().count);
}

/// Exponential think times with a mean of 2 s between pages of 80 ms: 4000 s are 1923 pages, within four standard deviations.
#[test]
fn think_times() {
    let record = run(&dumbbell("4000 s", FAST, &[&web("objects = 1, size = \"100 B\", think = \"2 s\"")]));
    let pages = pages(&record).count as f64;
    close(pages, 4000.0 / 2.08, 4.0 * (4000.0f64 / 2.08).sqrt());
}

/// A request waits in the queue of its direction: 20 packets of an upload at 1 Mbit/s are 240 ms.
#[test]
fn requests_wait_in_the_queue() {
    let text = |load: &str| {
        format!(
            "duration = \"60 s\"\nwarmup = \"10 s\"\n[bottleneck]\nrate = \"1 Mbit/s\"\nqueue = {{ kind = \"droptail\", limit = \"20 packets\" }}\n\
             [reverse]\nrate = \"10 Mbit/s\"\n[[group]]\n{}\ndirection = \"reverse\"\n{load}",
            web("objects = 1, size = \"1448 B\", request = \"500 B\"")
        )
    };
    let alone = pages(&run(&scenario(&text(""))));
    // 552 B of request and a SYN-ACK on the uplink, 1500 B and a SYN on the downlink.
    close(alone.mean.unwrap(), 80.0 + 4.4 + 0.42 + 1.2 + 0.04, 0.3);
    let upload = "[[group]]\nname = \"up\"\ntraffic = { kind = \"cbr\", rate = \"990 kbit/s\" }\nrtt = \"10 ms\"";
    let beside = pages(&run(&scenario(&text(upload))));
    assert!(beside.mean.unwrap() > alone.mean.unwrap() + 10.0, "{beside:?} {alone:?}");
}

/// Of three requests in ten that are lost, each is sent again after 1 s, then 2 s, ...: seven pages in ten take 40 ms,
/// two more 1 s longer, and the mean is 0.7 sum 0.3^k (2^k - 1) s = 0.75 s longer.
#[test]
fn lost_requests_are_repeated() {
    let text = format!(
        "duration = \"6000 s\"\n[bottleneck]\n{FAST}\n[reverse]\nrate = \"10 Mbit/s\"\nloss = 0.3\n[[group]]\n{}\n\
         transport = {{ handshake = false }}",
        web("objects = 1, size = \"1448 B\", reuse = false")
    );
    let found = pages(&run(&scenario(&text)));
    close(found.p50.unwrap(), 40.5, 0.5);
    close(found.p90.unwrap(), 1040.5, 1.0);
    close(found.mean.unwrap(), 790.0, 120.0);
}

/// A flow that stops in the middle of a page sends no more, on any connection, and its page has no time.
#[test]
fn a_stop_in_mid_page() {
    let traffic = web("objects = 12, size = \"1 MB\"") + "\nstop = \"1 s\"";
    let scenario = dumbbell("30 s", "rate = \"2 Mbit/s\"", &[&traffic]);
    let record = run(&scenario);
    assert_eq!(pages(&record).count, 0);
    assert_eq!(pages(&record).mean, None);
    let series = series(&scenario, 1000);
    let late: u64 = series.queues.sent_bytes[5..].iter().sum();
    assert_eq!(late, 0, "{:?}", series.queues.sent_bytes);
}

/// A link without capacity for 20 s at a time is a legal link.
#[test]
fn no_capacity_for_seconds() {
    let opportunities: Vec<u64> = (0..1000).chain([20_000]).collect();
    let groups = [&*web("objects = 4, size = \"20 kB\"")];
    let record = run(&over_trace("200 s", &opportunities, &groups));
    assert!(pages(&record).count > 10, "{:?}", pages(&record));
    // Nothing at all in the measured part is null.
    let mut stuck = over_trace("15 s", &opportunities, &groups);
    stuck.keys.warmup = sojourn_core::Span::from_secs(3);
    assert_eq!((pages(&run(&stuck)).count, pages(&run(&stuck)).p99), (0, None));
}

/// The same seed gives the same bytes; what a browser draws does not depend on how many connections it has.
#[test]
fn determinism() {
    let traffic = |more: &str| {
        let sizes = "objects = { kind = \"pareto\", min = 2, max = 30, shape = 1.2 }, \
                     size = { kind = \"log-normal\", median = \"10 kB\", sigma = 1, max = \"1 MB\" }, think = \"1 s\"";
        dumbbell("30 s", "rate = \"5 Mbit/s\"", &[&web(&format!("{sizes}{more}"))])
    };
    assert_eq!(text(&run(&traffic(""))), text(&run(&traffic(""))));
    let first_page =
        |more: &str| outcome(&traffic(more), &Wanted { packets: true, ..Wanted::default() }).packets.unwrap();
    let bytes = |more| first_page(more).rows.iter().take(3).map(|row| row.packet.bytes).collect::<Vec<_>>();
    assert_eq!(bytes(""), bytes(", connections = 1"));
}

/// Connections of one flow that are under way together differ in the key that disciplines hash, and share the flow's
/// class, access link, record and row of the series.
#[test]
fn connections_of_a_flow() {
    let text = format!(
        "duration = \"10 s\"\n[bottleneck]\nrate = \"10 Mbit/s\"\n[bottleneck.queue]\nkind = \"prio\"\n\
         [[bottleneck.queue.class]]\nname = \"first\"\ngroups = [\"last\"]\n[[bottleneck.queue.class]]\nname = \"rest\"\n\
         [[group]]\n{}\naccess_rate = \"20 Mbit/s\"\nflows = 2\n[[group]]\nname = \"last\"\nrtt = \"20 ms\"\n\
         traffic = {{ kind = \"cbr\", rate = \"1 Mbit/s\" }}",
        web("objects = 7, size = \"50 kB\"")
    );
    let scenario = scenario(&text);
    let wanted = Wanted {
        packets: true,
        bin: Some(sojourn_core::Span::from_secs(1)),
        probes: true,
        transfers: true,
        decisions: true,
        delays: true,
    };
    let outcome = outcome(&scenario, &wanted);
    let record = &outcome.record;
    assert_eq!(record.flows.len(), 3);
    assert_eq!(outcome.series.unwrap().flows.index.len(), 3 * 10);
    // 1 Mbit/s in packets of 1500 B.
    let first = &record.bottleneck.classes["first"];
    close(first.departures as f64, 833.0, 3.0);
    let rows = outcome.packets.unwrap().rows;
    let early = rows.iter().filter(|row| row.time.as_secs_f64() < 0.5 && row.packet.flow < 6);
    let keys: std::collections::HashSet<_> = early.map(|row| row.packet.key).collect();
    assert!(keys.len() >= 6, "{keys:?}");
}

/// Half of the link in transfers that do not wait for each other: what arrives is what the load says, and no less is
/// delivered.
#[test]
fn a_load_is_a_share_of_the_link() {
    let load = |more: &str| {
        let traffic = format!(
            "kind = \"transfers\", load = 0.5, size = {{ kind = \"zipf\", unit = \"1 packet\", most = 100, exponent = 1.7 }}{more}"
        );
        let web =
            format!("name = \"web\"\ncontrol = \"newreno\"\nrtt = \"40 ms\"\nflows = 2\ntraffic = {{ {traffic} }}");
        dumbbell("1000 s", "rate = \"10 Mbit/s\"\nqueue = { kind = \"droptail\", limit = \"300 packets\" }", &[&web])
    };
    let many = run(&load(", connections = 100"));
    close(group(&many, "web").goodput_mbps, 5.0, 0.15);
    assert_eq!(group(&many, "web").transfers_waited, Some(0));
    // One at a time for each flow: the same arrivals wait for each other.
    let few = run(&load(""));
    assert!(group(&few, "web").transfers_waited.unwrap() > 100);
    let (few, many) = (group(&few, "web").fct_ms.unwrap(), group(&many, "web").fct_ms.unwrap());
    assert!(few.mean.unwrap() > 1.5 * many.mean.unwrap(), "{few:?} {many:?}");
}

/// A table of transfers agrees with the record, and tells which of them waited.
#[test]
fn a_row_for_each_transfer() {
    let traffic = "kind = \"transfers\", interval = \"100 ms\", size = \"20 packets\", connections = 2";
    let web = format!("name = \"web\"\ncontrol = \"newreno\"\nrtt = \"40 ms\"\ntraffic = {{ {traffic} }}");
    let scenario = dumbbell("100 s", FAST, &[&web]);
    let outcome = outcome(&scenario, &Wanted { transfers: true, ..Wanted::default() });
    let (rows, record) = (outcome.transfers.unwrap(), &group(&outcome.record, "web").clone());
    assert_eq!(rows.len() as u64, record.fct_ms.unwrap().count);
    let mean = rows.iter().map(|row| row.completed.time.as_millis_f64()).sum::<f64>() / rows.len() as f64;
    close(mean, record.fct_ms.unwrap().mean.unwrap(), 1e-6);
    let waited = rows.iter().filter(|row| !row.completed.waited.is_zero()).count() as u64;
    assert_eq!(Some(waited), record.transfers_waited);
    assert!(waited > 100 && waited < rows.len() as u64 / 2, "{waited} of {}", rows.len());
    assert!(rows.iter().all(|row| row.completed.bytes == 20 * 1448 && row.completed.waited < row.completed.time));
    assert!(rows.windows(2).all(|pair| pair[0].end <= pair[1].end));
}
