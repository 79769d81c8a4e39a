//! What the record says against the log of packets.

use crate::common::{close, dumbbell, outcome, run};
use sojourn_core::{Span, Time};
use sojourn_sim::{ClassRecord, Outcome, PacketEvent, QueueMs, Wanted};
use sojourn_transport::SegmentKind;

const WANTED: Wanted = Wanted {
    bin: Some(Span::from_millis(10)),
    packets: true,
    probes: true,
    transfers: true,
    decisions: false,
    delays: true,
};

fn mixed(queue: &str) -> Outcome {
    let cbr =
        "name = \"cbr\"\nrtt = \"20 ms\"\ntraffic = { kind = \"cbr\", rate = \"500 kbit/s\", packet = \"300 B\" }";
    let tcp = "name = \"tcp\"\ncontrol = \"newreno\"\nflows = 3\nrtt = \"30 ms\"";
    outcome(&dumbbell("10 s", &format!("rate = \"5 Mbit/s\"\nqueue = {queue}"), &[tcp, cbr]), &WANTED)
}

const QUEUES: [&str; 3] = [
    "{ kind = \"droptail\", limit = \"30 packets\" }",
    "{ kind = \"droptail\", limit = \"40 kB\", drop = \"head\" }",
    "{ kind = \"red\", limit = \"60 packets\" }",
];

/// Means, maxima, quantiles and counts, recomputed from the rows.
#[test]
fn the_record_is_what_the_packets_did() {
    for queue in QUEUES {
        let Outcome { record, packets, .. } = mixed(queue);
        let (mut waiting, mut bytes, mut last) = (0_i64, 0_i64, Time::ZERO);
        let (mut packet_nanos, mut byte_nanos) = (0_i128, 0_i128);
        let mut sojourns = vec![];
        let mut counts = [0; PacketEvent::NAMES.len()];
        let end = Time::ZERO + Span::from_secs(10);
        let rows = packets.unwrap().rows;
        for row in &rows {
            let nanos = i128::from(row.time.since(last).as_nanos());
            packet_nanos += i128::from(waiting) * nanos;
            byte_nanos += i128::from(bytes) * nanos;
            last = row.time;
            counts[row.event as usize] += 1;
            let sign = match row.event {
                PacketEvent::Arrival => 1,
                PacketEvent::Departure | PacketEvent::Drop => -1,
                PacketEvent::Mark | PacketEvent::Send | PacketEvent::Receive => 0,
            };
            waiting += sign;
            bytes += sign * i64::from(row.packet.bytes);
            assert!(waiting >= 0 && bytes >= 0);
            if row.event == PacketEvent::Departure {
                sojourns.push(row.sojourn.as_millis_f64());
            }
        }
        let rest = i128::from(end.since(last).as_nanos());
        packet_nanos += i128::from(waiting) * rest;
        byte_nanos += i128::from(bytes) * rest;
        let link = &record.bottleneck;
        close(link.queue_packets.mean, packet_nanos as f64 / 10e9, 1e-9);
        close(link.queue_bytes.mean, byte_nanos as f64 / 10e9, 1e-6);
        assert_eq!([link.arrivals, link.departures, link.drops, link.marks], counts[..4]);
        is_distribution_of(&link.queue_ms, &sojourns, 1000.0);
        let of_data = |wanted: &dyn Fn(u32) -> bool| -> Vec<f64> {
            let is_data = |kind| matches!(kind, SegmentKind::Data | SegmentKind::Datagram);
            let departures = rows.iter().filter(|row| row.event == PacketEvent::Departure);
            let chosen = departures.filter(|row| is_data(row.packet.body.kind) && wanted(row.packet.flow));
            chosen.map(|row| row.sojourn.as_millis_f64()).collect()
        };
        for (number, flow) in (0..).zip(&record.flows) {
            is_distribution_of(&flow.queue_ms, &of_data(&|flow| flow == number), 32.0);
        }
        is_distribution_of(&record.groups["tcp"].queue_ms, &of_data(&|flow| flow < 3), 32.0);
        is_distribution_of(&record.groups["cbr"].queue_ms, &of_data(&|flow| flow == 3), 32.0);
        let dropped: u64 = record.flows.iter().map(|flow| flow.drops).sum();
        assert_eq!(dropped, link.drops, "every drop is somebody's");
    }
}

/// Mean and maximum are exact, quantiles to one part in `precision`.
#[track_caller]
fn is_distribution_of(found: &QueueMs, times: &[f64], precision: f64) {
    let mut sorted = times.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |fraction: f64| sorted[(sorted.len() as f64 * fraction).ceil() as usize - 1];
    close(found.mean.unwrap(), sorted.iter().sum::<f64>() / sorted.len() as f64, 1e-6);
    close(found.max.unwrap(), at(1.0), 1e-9);
    let low = [(found.p10, 0.1), (found.p25, 0.25), (found.p50, 0.5)];
    for (found, fraction) in low.into_iter().chain([(found.p75, 0.75), (found.p90, 0.9), (found.p99, 0.99)]) {
        close(found.unwrap(), at(fraction), at(fraction) / precision + 1e-4);
    }
}

/// Data is timed in the queue of its direction's main link: a flow that travels back in the reverse link's.
/// Acknowledgements that wait there are nobody's; the warm-up counts for nothing.
#[test]
fn flows_are_timed_at_their_own_link() {
    let groups = [
        "name = \"there\"\ncontrol = \"newreno\"\nrtt = \"20 ms\"",
        "name = \"back\"\ndirection = \"reverse\"\ncontrol = \"newreno\"\nrtt = \"20 ms\"",
    ];
    let queue = "queue = { kind = \"droptail\", limit = \"20 packets\" }";
    let bottleneck = format!("rate = \"10 Mbit/s\"\n{queue}\n[reverse]\nrate = \"1 Mbit/s\"\n{queue}");
    let mut both = dumbbell("20 s", &bottleneck, &groups);
    both.keys.warmup = Span::from_secs(10);
    let record = outcome(&both, &Wanted::default()).record;
    let (there, back) = (&record.groups["there"].queue_ms, &record.groups["back"].queue_ms);
    // 20 full packets take 24 ms on the bottleneck, 240 ms on the reverse link.
    assert!(there.max.unwrap() <= 24.0 && back.p50.unwrap() > 50.0, "{there:?} {back:?}");
    assert!(record.bottleneck.queue_ms.max.unwrap() >= there.max.unwrap());
    assert!(record.reverse.unwrap().queue_ms.max.unwrap() >= back.max.unwrap());
    let mut over =
        dumbbell("2 s", &format!("rate = \"10 Mbit/s\"\n{queue}"), &[&format!("{}\nstop = \"0.5 s\"", groups[0])]);
    over.keys.warmup = Span::from_secs(1);
    assert_eq!(outcome(&over, &Wanted::default()).record.flows[0].queue_ms.max, None);
}

/// A discipline with queues inside says what happened in each; together they are the whole.
#[test]
fn classes_add_up_to_the_link() {
    let Outcome { record, .. } = mixed("{ kind = \"dualpi2\" }");
    let link = &record.bottleneck;
    assert_eq!(link.classes.keys().collect::<Vec<_>>(), ["classic", "low"]);
    let sum = |of: fn(&ClassRecord) -> u64| link.classes.values().map(of).sum::<u64>();
    assert!(link.drops > 0);
    assert_eq!(sum(|class| class.departures), link.departures);
    assert_eq!(sum(|class| class.drops), link.drops);
    assert_eq!(sum(|class| class.marks), link.marks);
    // Nobody here sends ECT(1).
    assert_eq!((link.classes["low"].departures, link.classes["low"].queue_ms.mean), (0, None));
    close(link.classes["classic"].queue_ms.mean.unwrap(), link.queue_ms.mean.unwrap(), 1e-9);
    assert!(mixed(QUEUES[0]).record.bottleneck.classes.is_empty());
}

/// A packet that goes straight to the wire never waits; a full queue holds its limit.
#[test]
fn the_maximum_counts_what_waits() {
    let paced = "name = \"a\"\nrtt = \"20 ms\"\ntraffic = { kind = \"cbr\", rate = \"1 Mbit/s\", packet = \"1250 B\" }";
    let idle = outcome(&dumbbell("1 s", "rate = \"10 Mbit/s\"", &[paced]), &Wanted::default()).record.bottleneck;
    assert!(idle.departures > 90);
    assert_eq!((idle.queue_packets.max, idle.queue_bytes.max), (0, 0));
    assert_eq!(mixed(QUEUES[0]).record.bottleneck.queue_packets.max, 30);
}

/// At the end of every bin the discipline and the controls are asked; where nobody wants it, nobody is.
#[test]
fn probes_are_taken_in_every_bin() {
    let Outcome { series, .. } = mixed(QUEUES[2]);
    let series = series.unwrap();
    let (queues, flows) = (&series.queue_probes, &series.flow_probes);
    let rows = |name: &str| {
        let code = queues.probes.names.iter().position(|known| *known == name).unwrap() as u32;
        (0..queues.probes.name.len()).filter(|&row| queues.probes.name[row] == code && queues.link[row] == 0).collect()
    };
    let averages: Vec<usize> = rows("average_packets");
    assert_eq!(averages.len(), 1000);
    assert!(averages.iter().any(|&row| queues.probes.value[row] > 5.0));
    assert_eq!(queues.probes.time_s[averages[1]], 0.01);
    // Every flow with a control in every bin, and not the one without.
    let threshold = flows.probes.names.iter().position(|known| *known == "ssthresh_segments").unwrap() as u32;
    assert_eq!(flows.probes.name.iter().filter(|&&name| name == threshold).count(), 3000);
    assert!(flows.group.iter().all(|&group| group == 0));
    let quiet = outcome(
        &dumbbell("1 s", "rate = \"1 Mbit/s\"", &["name = \"a\"\ncontrol = \"newreno\"\nrtt = \"20 ms\""]),
        &Wanted { probes: false, ..WANTED },
    );
    assert!(quiet.series.unwrap().flow_probes.probes.value.is_empty());
}

/// Little's law: packets waiting are arrivals per second times their time in the queue.
#[test]
fn littles_law() {
    let Outcome { record, .. } = mixed(QUEUES[0]);
    let link = &record.bottleneck;
    let product = link.departures as f64 / 10.0 * link.queue_ms.mean.unwrap() / 1e3;
    // What still waits at the end has not been counted by the second.
    close(link.queue_packets.mean, product, 30.0 * 50e-3 / 10.0 + 1e-9);
}

/// The bins of a series add up to the record.
#[test]
fn series_add_up() {
    let Outcome { record, series, .. } = mixed(QUEUES[2]);
    let series = series.unwrap();
    let (queues, flows) = (&series.queues, &series.flows);
    assert_eq!(queues.time_s.len(), 1000);
    assert_eq!(flows.time_s.len(), 4000);
    let link = &record.bottleneck;
    assert_eq!(queues.arrivals.iter().sum::<u64>(), link.arrivals);
    assert_eq!(queues.departures.iter().sum::<u64>(), link.departures);
    assert_eq!(queues.drops.iter().sum::<u64>(), link.drops);
    let sent = queues.sent_bytes.iter().sum::<u64>() as f64;
    // The packet on the wire at the end counts in the record as far as it has been sent.
    close(link.utilization.unwrap(), sent * 8.0 / 50e6, 1500.0 * 8.0 / 50e6);
    close(queues.queue_packets.iter().sum::<f64>() / 1000.0, link.queue_packets.mean, 1e-9);
    let delivered: u64 = record.flows.iter().map(|flow| flow.delivered_bytes).sum();
    assert_eq!(flows.delivered_bytes.iter().sum::<u64>(), delivered);
    // Every bin can carry 6250 B and what was on the wire before.
    assert!(queues.sent_bytes.iter().all(|&bytes| bytes <= 6250 + 1500));
}

/// A link that is never idle is used to 100 %, not to more, though transmissions end on whole nanoseconds: 101 bytes take
/// 115.4, 83.3 and 244.8 ns. With a warm-up there is a packet on the wire at both ends of the measured time.
#[test]
fn no_link_is_used_to_more_than_all() {
    for rate in ["7 Gbit/s", "9.7 Gbit/s", "3.3 Gbit/s"] {
        let cbr =
            "name = \"a\"\nrtt = \"5 us\"\ntraffic = { kind = \"cbr\", rate = \"12 Gbit/s\", packet = \"101 B\" }";
        for warmup_us in [0, 501] {
            let mut scenario = dumbbell("2 ms", &format!("rate = \"{rate}\""), &[cbr]);
            scenario.keys.warmup = Span::from_micros(warmup_us);
            let used = run(&scenario).bottleneck.utilization.unwrap();
            assert!(used <= 1.0 && used > 1.0 - 1e-6, "{rate}: {used}");
        }
    }
}
