//! A receiver that steers a CUBIC sender by LEDBAT++ (RFC 9840), beside LEDBAT++ at the sender.

use crate::common::{close, dumbbell, group, outcome, run, text};
use sojourn_core::Span;
use sojourn_core::registry::Value;
use sojourn_scenario::Scenario;
use sojourn_sim::{Monitor, Wanted, simulate};

const SENDER: &str = "control = \"ledbatpp\"";
const RECEIVER: &str = "control = \"cubic\"\nreceiver_control = \"ledbatpp\"";
const RATES_MBPS: [u32; 3] = [4, 20, 100];

/// `count` background flows, with as many CUBIC flows where `beside`, and 250 ms of buffer.
fn scenario(background: &str, rate_mbps: u32, count: u32, beside: bool) -> Scenario {
    let common = format!("flows = {count}\nrtt = \"50 ms\"\ntransport = \"linux\"");
    let background = format!("name = \"background\"\n{background}\n{common}");
    let tcp = format!("name = \"tcp\"\ncontrol = \"cubic\"\n{common}");
    let bottleneck = format!("rate = \"{rate_mbps} Mbit/s\"\nqueue = {{ kind = \"droptail\", limit = \"250 ms\" }}");
    let groups = [background.as_str(), tcp.as_str()];
    let mut scenario = dumbbell("60 s", &bottleneck, &groups[..1 + usize::from(beside)]);
    scenario.keys.warmup = Span::from_secs(20);
    scenario
}

/// Alone it uses the link as LEDBAT++ does, slowdowns included, and keeps the queue at its target of 60 ms or below.
#[test]
fn alone_it_fills_the_link() {
    for rate in RATES_MBPS {
        for count in [1, 5] {
            let [sender, receiver] =
                [SENDER, RECEIVER].map(|background| run(&scenario(background, rate, count, false)).bottleneck);
            close(receiver.utilization.unwrap(), sender.utilization.unwrap(), 0.03);
            assert!(receiver.utilization.unwrap() > 0.9, "{rate} Mbit/s, {count} flows");
            assert!(receiver.queue_ms.mean.unwrap() < 70.0, "{rate} Mbit/s, {count} flows");
            assert_eq!(receiver.drops, 0);
        }
    }
}

/// Beside CUBIC it takes what LEDBAT++ takes: means of six runs whose flows start at random within a second. Acknowledgements
/// follow a count: at 4 Mbit/s windows are of two segments, and a sender of its own is slower with Linux's delays.
#[test]
#[ignore = "long: make test-long"]
fn it_yields_to_cubic() {
    for rate in RATES_MBPS {
        let [sender, receiver] = [SENDER, RECEIVER].map(|background| {
            let apart = format!("{background}\nstart = {{ uniform = [\"0 s\", \"1 s\"] }}");
            let mut scenario = scenario(&apart, rate, 5, true);
            for group in &mut scenario.groups {
                group.keys.transport.set("ack_policy", Value::Choice("count"));
            }
            let share = |seed| {
                let done =
                    simulate(&scenario, seed, &Wanted::default(), &Monitor::default()).expect("nobody interrupts");
                group(&done.record, "background").share.unwrap()
            };
            (1..=6).map(share).sum::<f64>() / 6.0
        });
        close(receiver, sender, 0.05);
        assert!(receiver < 0.35, "{rate} Mbit/s: {receiver}");
    }
}

/// LEDBAT on one-way delays: alone it settles at its target of 100 ms, whatever the clocks show.
#[test]
fn with_one_way_delays_clocks_do_not_matter() {
    let of = |clock: &str| {
        let background =
            format!("control = \"cubic\"\nreceiver_control = {{ kind = \"ledbat\", preset = \"rfc\" }}\n{clock}");
        run(&scenario(&background, 4, 5, false)).bottleneck
    };
    let plain = of("");
    close(plain.queue_ms.mean.unwrap(), 100.0, 12.0);
    for offset in ["-5 s", "5 s"] {
        assert_eq!(of(&format!("clock_offset = \"{offset}\"")).queue_ms.mean, plain.queue_ms.mean);
    }
}

/// A sender that goes by one-way delays takes them from both stamps then.
#[test]
fn a_sender_that_goes_by_delay_too() {
    let background = "control = \"ledbat\"\nreceiver_control = \"ledbatpp\"";
    let bottleneck = run(&scenario(background, 20, 1, false)).bottleneck;
    assert!(bottleneck.queue_ms.mean.unwrap() < 70.0 && bottleneck.utilization.unwrap() > 0.85);
}

/// Loss on the way, acknowledgements that share a full link, on-off traffic: all goes on.
#[test]
fn through_losses_and_pauses() {
    let group_of = "name = \"a\"\nflows = 3\nrtt = \"50 ms\"\ncontrol = \"cubic\"\nreceiver_control = \"ledbatpp\"\n\
                    traffic = { kind = \"on-off\", on = \"2 s\", off = \"3 s\" }";
    let scenario = dumbbell("60 s", "rate = \"10 Mbit/s\"\nloss = 0.01", &[group_of]);
    let record = run(&scenario);
    let goodput = group(&record, "a").goodput_mbps;
    assert!(goodput > 1.0, "{goodput}");
    let again = outcome(&scenario, &Wanted::default()).record;
    assert_eq!(text(&record), text(&again));
}
