//! Nimbus as a scavenger, as whole simulations: 20 Mbit/s, 50 ms, a DropTail buffer of 250 ms.

use crate::common::{dumbbell, group, run, series};
use sojourn_core::Span;
use sojourn_sim::Record;

const LINK: &str = "rate = \"20 Mbit/s\"\nqueue = { kind = \"droptail\", limit = \"250 ms\" }";
const NIMBUS: &str = "name = \"nimbus\"\ncontrol = \"nimbus\"\nrtt = \"50 ms\"\ntransport = \"linux\"";

fn beside(other: &str) -> Record {
    let mut scenario = dumbbell("60 s", LINK, &[NIMBUS, &format!("name = \"other\"\nrtt = \"50 ms\"\n{other}")]);
    scenario.keys.warmup = Span::from_secs(10);
    run(&scenario)
}

/// Alone it fills the link, with a queue of 12.5 ms.
#[test]
fn alone_it_fills_the_link() {
    let mut scenario = dumbbell("60 s", LINK, &[NIMBUS]);
    scenario.keys.warmup = Span::from_secs(10);
    let bottleneck = run(&scenario).bottleneck;
    assert!(bottleneck.utilization.unwrap() > 0.99);
    let queue = bottleneck.queue_ms.mean.unwrap();
    assert!((10.0..16.0).contains(&queue), "{queue} ms");
}

/// A stream does not answer: it takes what that leaves, whatever that is.
#[test]
fn it_takes_what_a_stream_leaves() {
    for mbps in [2, 6, 10] {
        let record = beside(&format!("traffic = {{ kind = \"cbr\", rate = \"{mbps} Mbit/s\" }}"));
        assert!(record.bottleneck.utilization.unwrap() > 0.95, "{mbps} Mbit/s");
        assert!(record.bottleneck.queue_ms.mean.unwrap() < 20.0, "{mbps} Mbit/s");
    }
}

/// CUBIC and NewReno answer: it leaves them the link.
#[test]
fn it_yields_to_those_who_answer() {
    for control in ["cubic", "newreno"] {
        let record = beside(&format!("control = \"{control}\"\ntransport = \"linux\""));
        let share = group(&record, "nimbus").share.unwrap();
        assert!(share < 0.06, "{control}: {share}");
    }
}

/// CUBIC comes at 20 s and leaves at 40 s: within three seconds it has the link. How soon Nimbus has it again depends on what it
/// last heard of the other: here within 15 seconds, at other times at once.
#[test]
fn it_leaves_and_comes_back() {
    let cubic = "name = \"cubic\"\ncontrol = \"cubic\"\nrtt = \"50 ms\"\ntransport = \"linux\"\nstart = \"20 s\"\nstop = \"40 s\"";
    let flows = series(&dumbbell("75 s", LINK, &[NIMBUS, cubic]), 1000).flows;
    let rate = |from: f64, to: f64| {
        let rows = flows.time_s.iter().zip(&flows.group).zip(&flows.delivered_bytes);
        let own = rows.filter(|((time, group), _)| (from..to).contains(*time) && **group == 0).map(|(_, bytes)| bytes);
        own.sum::<u64>() as f64 * 8e-6 / (to - from)
    };
    assert!(rate(5.0, 20.0) > 19.0, "before: {}", rate(5.0, 20.0));
    assert!(rate(23.0, 40.0) < 1.5, "beside: {}", rate(23.0, 40.0));
    assert!(rate(55.0, 75.0) > 19.0, "after: {}", rate(55.0, 75.0));
}

/// Its own pauses are nobody's answer.
#[test]
fn through_pauses() {
    let group_of = format!("{NIMBUS}\ntraffic = {{ kind = \"on-off\", on = \"5 s\", off = \"5 s\" }}");
    let record = run(&dumbbell("60 s", LINK, &[&group_of]));
    let goodput = group(&record, "nimbus").goodput_mbps;
    assert!(goodput > 8.5, "{goodput}");
}
