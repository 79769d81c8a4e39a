//! Access links: framing, noise and what protects from it, shared media, profiles.

use crate::common::{close, dumbbell, group, run, scenario};

const BULK: &str = "name = \"up\"\ncontrol = \"newreno\"\nrtt = \"40 ms\"";
const LIMIT: &str = "queue = { limit = \"60 packets\" }";

/// A packet of 1500 bytes, 1448 of them payload, takes whole cells of 53 bytes: the goodput is what the cells leave.
#[test]
fn goodput_over_atm_is_the_arithmetic_of_cells() {
    for (framing, wire_bytes) in [
        ("\"pppoa-vcmux\"", 32.0 * 53.0),
        ("\"pppoe-llcsnap\"", 33.0 * 53.0),
        ("\"bridged-ptm\"", 1522.0 + 24.0),
        ("\"ethernet\"", 1538.0),
        ("{ overhead = 44, cells = \"atm\" }", 33.0 * 53.0),
    ] {
        let keys = format!("rate = \"854 kbit/s\"\nframing = {framing}\n{LIMIT}");
        let mut scenario = dumbbell("120 s", &keys, &[BULK]);
        scenario.warmup = sojourn_core::Span::from_secs(20);
        let options = sojourn_transport_options(&scenario);
        let record = run(&scenario);
        let expected = 0.854 * f64::from(options.payload_bytes) / wire_bytes;
        assert_eq!(options.payload_bytes + options.header_bytes, 1500);
        let goodput = group(&record, "up").goodput_mbps;
        close(goodput / expected, 1.0, 0.005);
        close(record.bottleneck.utilization.unwrap(), 1.0, 0.002);
    }
}

fn sojourn_transport_options(scenario: &sojourn_scenario::Scenario) -> sojourn_transport::Options {
    sojourn_transport::Options::new(&scenario.groups[0].transport).expect("they were checked")
}

/// Queues count bytes as IP sees them, and a limit in time is the time that full-size packets need on the wire.
#[test]
fn a_buffer_in_time_is_that_long_with_framing() {
    let cbr = "name = \"a\"\nrtt = \"1 ms\"\ntraffic = { kind = \"cbr\", rate = \"5 Mbit/s\", packet = \"1500 B\" }";
    let keys = "rate = \"1696 kbit/s\"\nframing = \"pppoa-vcmux\"\nqueue = { limit = \"160 ms\" }";
    let record = run(&dumbbell("10 s", keys, &[cbr]));
    // 1500 bytes take 8 ms, so 20 of them wait.
    assert_eq!(record.bottleneck.queue_bytes.max, 20 * 1500);
    close(record.bottleneck.queue_ms.max.unwrap(), 160.0, 8.0);
}

/// A link without framing is one that is framed with nothing.
#[test]
fn raw_framing_changes_nothing() {
    let with = |framing: &str| {
        let text =
            format!("duration = \"5 s\"\n[bottleneck]\nrate = \"3 Mbit/s\"\n{framing}\n{LIMIT}\n[[group]]\n{BULK}\n");
        crate::common::text(&run(&scenario(&text)))
    };
    assert_eq!(with(""), with("framing = \"raw\""));
}
