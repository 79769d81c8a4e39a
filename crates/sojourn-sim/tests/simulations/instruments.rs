//! What the record says against the log of packets.

use crate::common::{close, dumbbell, outcome};
use sojourn_core::{Span, Time};
use sojourn_sim::{Outcome, PacketEvent, Wanted};

const WANTED: Wanted = Wanted { bin: Some(Span::from_millis(10)), packets: true };

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
        let mut counts = [0; 4];
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
                PacketEvent::Mark => 0,
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
        assert_eq!([link.arrivals, link.departures, link.drops, link.marks], counts);
        sojourns.sort_unstable_by(f64::total_cmp);
        let at = |fraction: f64| sojourns[(sojourns.len() as f64 * fraction).ceil() as usize - 1];
        close(link.queue_ms.mean.unwrap(), sojourns.iter().sum::<f64>() / sojourns.len() as f64, 1e-6);
        close(link.queue_ms.max.unwrap(), at(1.0), 1e-9);
        for (found, fraction) in [(link.queue_ms.p50, 0.5), (link.queue_ms.p90, 0.9), (link.queue_ms.p99, 0.99)] {
            close(found.unwrap(), at(fraction), at(fraction) / 1000.0);
        }
        let dropped: u64 = record.flows.iter().map(|flow| flow.drops).sum();
        assert_eq!(dropped, link.drops, "every drop is somebody's");
    }
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
