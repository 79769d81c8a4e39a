use sojourn_core::registry::{Params, Value};
use sojourn_core::*;
use sojourn_scenario::*;
use sojourn_sim::*;
fn main() {
    let a: Vec<f64> = std::env::args().skip(1).map(|a| a.parse().unwrap()).collect();
    let (mbps, limit, rtt, n, dur) = (a[0], a[1], a[2], a[3] as u32, a[4]);
    let mut queue = Params::new(&sojourn_queue::droptail::DESCRIPTOR, None);
    queue.set("limit", Value::Amount(Amount::Packets(limit)));
    let group = |name: &str| Group {
        name: name.into(),
        flows: n,
        control: Some(Params::new(
            &sojourn_congestion::newreno::DESCRIPTOR,
            sojourn_congestion::newreno::DESCRIPTOR.preset("ns2"),
        )),
        transport: Params::new(&sojourn_transport::DESCRIPTOR, sojourn_transport::DESCRIPTOR.preset("ns2")),
        traffic: Traffic::Bulk { size_bytes: None },
        rtt: vec![Span::from_secs_f64(rtt / 1e3); n as usize],
        access_rate: None,
        start: Start::Uniform(Span::ZERO, Span::from_millis(100)),
        stop: None,
        direction: Direction::Forward,
        dscp: Default::default(),
        clock_offset_nanos: 0,
        clock_skew_ppm: 0.0,
    };
    let scenario = Scenario {
        name: "q".into(),
        duration: Span::from_secs_f64(dur),
        warmup: Span::from_secs_f64(dur / 6.0),
        seed: 1,
        runs: 1,
        bottleneck: Link {
            capacity: Capacity::Fixed(Rate::from_bits_per_second((mbps * 1e6) as u64).unwrap()),
            delay: Span::ZERO,
            jitter: None,
            loss: 0.0,
            queue,
        },
        reverse: None,
        hops: vec![],
        groups: vec![group("a"), group("b")],
    };
    for seed in 1..4 {
        let o = simulate(&scenario, seed, &Wanted::default(), &Monitor::default()).unwrap();
        let r = &o.record;
        let pk = r.bottleneck.departures as f64 * 1.2;
        println!(
            "util {:.4} q {:.2} max {} ms {:?} drops {} arr {} share {:.3} jain {:.3} rtx {:?} to {:?} events {} wall {:.4} ns/pkt {:.1}",
            r.bottleneck.utilization.unwrap(),
            r.bottleneck.queue_packets.mean,
            r.bottleneck.queue_packets.max,
            r.bottleneck.queue_ms.mean,
            r.bottleneck.drops,
            r.bottleneck.arrivals,
            r.groups["a"].share.unwrap(),
            r.jain.unwrap(),
            r.groups["a"].retransmissions,
            r.groups["a"].timeouts,
            r.events,
            r.wall_s,
            r.wall_s * 1e9 / pk
        );
    }
}
