//! Numbers worked out by hand. Packets have 1500 B on the wire unless said otherwise.

use crate::common::{close, dumbbell, group, run, scenario};

/// No handshake and no delayed acknowledgements, so that the arithmetic is short.
const PLAIN: &str = "transport = { handshake = false, ack_every = 1 }";

/// One packet: 12 ms on the wire at 1 Mbit/s and 10 ms to get there; the acknowledgement takes 10 ms back.
#[test]
fn one_packet() {
    let record = run(&dumbbell(
        "1 s",
        "rate = \"1 Mbit/s\"",
        &[&format!(
            "name = \"a\"\ncontrol = \"newreno\"\nrtt = \"20 ms\"\n{PLAIN}\ntraffic = {{ kind = \"bulk\", size = \"1448 B\" }}"
        )],
    ));
    let a = group(&record, "a");
    close(a.fct_ms.unwrap().mean.unwrap(), 22.0, 1e-9);
    close(a.rtt_ms.mean.unwrap(), 32.0, 1e-9);
    assert_eq!(record.flows[0].delivered_bytes, 1448);
    close(record.bottleneck.utilization.unwrap(), 0.012, 1e-12);
    assert_eq!((record.bottleneck.arrivals, record.bottleneck.departures, record.bottleneck.drops), (1, 1, 0));
    close(record.bottleneck.queue_packets.mean, 0.0, 0.0);
    close(record.bottleneck.queue_ms.max.unwrap(), 0.0, 0.0);
}

/// The base RTT is exact with every part of the path: odd halves, link delays both ways, a return link on
/// which 52 B take 0.416 ms, an access link on which the packet takes 1.2 ms.
#[test]
fn the_base_rtt_is_exact() {
    let record = run(&scenario(&format!(
        "duration = \"1 s\"
        bottleneck = {{ rate = \"1 Mbit/s\", delay = \"3 ms\" }}
        reverse = {{ rate = \"1 Mbit/s\", delay = \"4 ms\" }}
        [[group]]
        name = \"a\"
        control = \"newreno\"
        rtt = \"20.000001 ms\"
        access_rate = \"10 Mbit/s\"
        {PLAIN}
        traffic = {{ kind = \"bulk\", size = \"1448 B\" }}"
    )));
    close(group(&record, "a").rtt_ms.mean.unwrap(), 1.2 + 12.0 + 3.0 + 20.000001 + 0.416 + 4.0, 1e-9);
}

/// A handshake takes one RTT of 52 B packets before the data; a delayed acknowledgement waits for 100 ms.
#[test]
fn a_handshake_and_a_delayed_acknowledgement() {
    let record = run(&dumbbell(
        "1 s",
        "rate = \"1 Mbit/s\"",
        &["name = \"a\"\ncontrol = \"newreno\"\nrtt = \"20 ms\"\ntraffic = { kind = \"bulk\", size = \"1000 B\" }"],
    ));
    let a = group(&record, "a");
    let data_ms = 8.0 * 1.052;
    close(a.fct_ms.unwrap().mean.unwrap(), 0.416 + 20.0 + data_ms + 10.0, 1e-9);
    close(a.rtt_ms.mean.unwrap(), data_ms + 20.0 + 100.0, 1e-9);
}

/// Ten packets at once at 1 Mbit/s: the first is sent, 9, 8, ... 0 wait while each is sent.
#[test]
fn ten_packets_at_once() {
    let record = run(&dumbbell(
        "120 ms",
        "rate = \"1 Mbit/s\"",
        &[&format!("name = \"a\"\ncontrol = \"newreno\"\nrtt = \"200 ms\"\n{PLAIN}")],
    ));
    let queue = &record.bottleneck;
    close(queue.queue_packets.mean, 4.5, 1e-9);
    close(queue.queue_bytes.mean, 4.5 * 1500.0, 1e-6);
    assert_eq!((queue.queue_packets.max, queue.queue_bytes.max), (9, 13_500));
    close(queue.queue_ms.mean.unwrap(), 54.0, 1e-9);
    close(queue.queue_ms.max.unwrap(), 108.0, 1e-9);
    close(queue.queue_ms.p50.unwrap(), 48.0, 0.05);
    close(queue.utilization.unwrap(), 1.0, 1e-9);
}

/// The same with RTT 20 ms and one segment more for each acknowledgement: the first comes after 32 ms, when
/// two more packets join. Over the first 120 ms the ones that came first wait 540 packet ms in all, and those
/// that join at 32, 44, ... 116 ms, two each time, wait until the end.
#[test]
fn slow_start_fills_the_queue() {
    let record = run(&dumbbell(
        "120 ms",
        "rate = \"1 Mbit/s\"",
        &[&format!("name = \"a\"\ncontrol = \"newreno\"\nrtt = \"20 ms\"\n{PLAIN}")],
    ));
    let joined: f64 = (0..8).map(|ack| 2.0 * (120.0 - 32.0 - 12.0 * f64::from(ack))).sum();
    close(record.bottleneck.queue_packets.mean, (540.0 + joined) / 120.0, 1e-9);
}

/// Half the rate: half the utilization, no queue. More than the rate: a full queue, the rest dropped.
#[test]
fn constant_bit_rate() {
    let cbr = |rate: &str| {
        run(&dumbbell(
            "10 s",
            "rate = \"1 Mbit/s\"\nqueue = { kind = \"droptail\", limit = \"10 packets\" }",
            &[&format!("name = \"a\"\nrtt = \"20 ms\"\ntraffic = {{ kind = \"cbr\", rate = \"{rate}\" }}")],
        ))
    };
    let half = cbr("500 kbit/s");
    // The 417th packet is sent from 9.984 s to 9.996 s.
    close(half.bottleneck.utilization.unwrap(), 417.0 * 0.0012, 1e-9);
    close(half.bottleneck.queue_packets.mean, 0.0, 0.0);
    assert_eq!((half.bottleneck.drops, half.bottleneck.arrivals), (0, 417));
    assert_eq!(half.flows[0].delivered_bytes % 1472, 0);
    assert_eq!(group(&half, "a").retransmissions, None);
    let double = cbr("2 Mbit/s");
    close(double.bottleneck.utilization.unwrap(), 1.0, 0.0013);
    // Departures and arrivals coincide, so that 10 always wait once the first 120 ms have filled the queue.
    close(double.bottleneck.queue_packets.mean, 10.0 - 0.5 * 10.0 * 0.12 / 10.0, 0.01);
    close(double.bottleneck.queue_ms.p50.unwrap(), 120.0, 6.1);
    close(group(&double, "a").drop_rate.unwrap(), 0.5, 0.01);
}

/// Many sources with a period of 150 ms, at phases uniform in it, wait less than Poisson arrivals would: M/D/1 has
/// rho^2 / (2 (1 - rho)) waiting, 1.6 at 0.8.
#[test]
fn many_small_sources() {
    let mut mean = 0.0;
    for seed in 0..10 {
        let mut scenario = dumbbell(
            "20 s",
            "rate = \"10 Mbit/s\"",
            &["name = \"a\"\nflows = 100\nrtt = \"20 ms\"\nstart = { uniform = [\"0 s\", \"0.6 s\"] }\n\
               traffic = { kind = \"cbr\", rate = \"80 kbit/s\" }"],
        );
        scenario.keys.seed = seed;
        let record = run(&scenario);
        close(record.bottleneck.utilization.unwrap(), 0.79, 0.01);
        mean += record.bottleneck.queue_packets.mean / 10.0;
    }
    assert!((0.8..1.6).contains(&mean), "{mean}");
}

/// A bulk flow on a link with one bandwidth-delay product of buffer keeps it busy; its queue is between
/// empty and full.
#[test]
fn one_newreno_fills_a_link() {
    let mut scenario = dumbbell(
        "60 s",
        "rate = \"10 Mbit/s\"\nqueue = { kind = \"droptail\", limit = \"50 ms\" }",
        &["name = \"a\"\ncontrol = \"newreno\"\nrtt = \"50 ms\""],
    );
    scenario.keys.warmup = sojourn_core::Span::from_secs(10);
    let record = run(&scenario);
    assert!(record.bottleneck.utilization.unwrap() > 0.98, "{:?}", record.bottleneck);
    assert!(record.bottleneck.queue_ms.max.unwrap() <= 50.0);
    close(group(&record, "a").share.unwrap(), 1.0, 0.0);
    close(group(&record, "a").goodput_mbps, 10.0 * 1448.0 / 1500.0, 0.2);
    assert_eq!(group(&record, "a").timeouts, Some(0));
}
