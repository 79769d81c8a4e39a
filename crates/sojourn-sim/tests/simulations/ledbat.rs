//! LEDBAT's own laws (RFC 6817), as whole simulations.

use crate::common::{dumbbell, group, run, series};
use sojourn_core::Span;

const LEDBAT: &str = "name = \"ledbat\"\ncontrol = \"ledbat\"\nrtt = \"50 ms\"";
const DEEP: &str = "rate = \"10 Mbit/s\"\nqueue = { kind = \"droptail\", limit = \"500 packets\" }";

/// Alone it fills the link and keeps the queue at its target of 100 ms.
#[test]
fn alone_it_settles_at_the_target() {
    let mut scenario = dumbbell("120 s", DEEP, &[LEDBAT]);
    scenario.keys.warmup = Span::from_secs(60);
    let record = run(&scenario);
    let queue = record.bottleneck.queue_ms.mean.unwrap();
    assert!((90.0..110.0).contains(&queue), "{queue} ms");
    assert!(record.bottleneck.utilization.unwrap() > 0.99);
    assert_eq!(record.bottleneck.drops, 0);
}

/// Clocks that are apart change nothing of that.
#[test]
fn a_clock_offset_does_not_matter() {
    let at = |clock: &str| {
        let mut scenario = dumbbell("60 s", DEEP, &[&format!("{LEDBAT}\n{clock}")]);
        scenario.keys.warmup = Span::from_secs(30);
        run(&scenario).bottleneck.queue_ms.mean.unwrap()
    };
    assert_eq!(at(""), at("clock_offset = \"-5 s\""));
    assert_eq!(at(""), at("clock_offset = \"5 s\""));
}

/// Behind NewReno it yields.
#[test]
fn it_yields_to_newreno() {
    let tcp = "name = \"tcp\"\ncontrol = \"newreno\"\nrtt = \"50 ms\"";
    let mut scenario = dumbbell("120 s", DEEP, &[LEDBAT, tcp]);
    scenario.keys.warmup = Span::from_secs(30);
    let share = group(&run(&scenario), "ledbat").share.unwrap();
    assert!(share < 0.1, "{share}");
}

/// The latecomer's advantage: it takes the first one's queue for the base delay, and the link with it.
#[test]
fn the_latecomer_takes_over() {
    let late = "name = \"late\"\ncontrol = \"ledbat\"\nrtt = \"50 ms\"\nstart = \"20 s\"";
    let mut scenario = dumbbell("100 s", DEEP, &[LEDBAT, late]);
    scenario.keys.warmup = Span::from_secs(60);
    let record = run(&scenario);
    let share = group(&record, "late").share.unwrap();
    assert!(share > 0.8, "{share}");
    // It adds its own target to the first one's queue.
    assert!(record.bottleneck.queue_ms.mean.unwrap() > 120.0);
}

/// Never faster than NewReno: from the same window without loss it has delivered no more at any time.
#[test]
fn it_never_ramps_faster_than_newreno() {
    let delivered = |control: &str| {
        let flow = format!("name = \"a\"\ncontrol = {control}\nrtt = \"50 ms\"\ntransport = {{ initial_window = 2 }}");
        let flows = series(&dumbbell("10 s", "rate = \"100 Mbit/s\"", &[&flow]), 50).flows.delivered_bytes;
        flows
            .iter()
            .scan(0, |sum, bytes| {
                *sum += bytes;
                Some(*sum)
            })
            .collect::<Vec<u64>>()
    };
    let ledbat = delivered("\"ledbat\"");
    let slow_start = delivered("\"newreno\"");
    let avoidance = delivered("{ kind = \"newreno\", initial_threshold = 2 }");
    for (place, bytes) in ledbat.iter().enumerate() {
        assert!(*bytes <= slow_start[place], "at bin {place}");
        assert!(*bytes <= avoidance[place] + 2 * 1448, "at bin {place}: {bytes} and {}", avoidance[place]);
    }
    assert!(*ledbat.last().unwrap() > 1_000_000);
}

/// A standing queue of 190 ms is above its target, so it starves; when its history has forgotten the time
/// before, it takes that queue for the base delay and has its share again.
#[test]
fn it_recovers_when_history_expires() {
    // It gives up its own 83 packets of queue by one or two per round trip, so that takes some 20 s.
    // 200 packets at 10 Mbit/s are 240 ms, of which 50 ms are the path.
    let standing = "name = \"tcp\"\ncontrol = \"newreno\"\nrtt = \"50 ms\"\nstart = \"20 s\"\n\
                    transport = { receive_window = \"200 packets\" }";
    let ledbat =
        "name = \"ledbat\"\ncontrol = { kind = \"ledbat\", base_history = 3, base_period = \"30 s\" }\nrtt = \"50 ms\"";
    let flows = series(&dumbbell("200 s", DEEP, &[ledbat, standing]), 1000).flows;
    let rate = |from: f64, to: f64| {
        let rows = flows.time_s.iter().zip(&flows.group).zip(&flows.delivered_bytes);
        let bytes =
            rows.filter(|((time, group), _)| (from..to).contains(*time) && **group == 0).map(|(_, bytes)| bytes);
        bytes.sum::<u64>() as f64 * 8e-6 / (to - from)
    };
    assert!(rate(10.0, 20.0) > 9.0, "alone: {}", rate(10.0, 20.0));
    assert!(rate(60.0, 80.0) < 0.1, "starving: {}", rate(60.0, 80.0));
    assert!(rate(150.0, 190.0) > 2.0, "recovered: {}", rate(150.0, 190.0));
}
