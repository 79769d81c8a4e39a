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
        scenario.keys.warmup = sojourn_core::Span::from_secs(20);
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

const CABLE: &str = "medium = \"docsis\"";
const FIBRE: &str = "medium = \"gpon\"";

/// A packet each 7.3 ms, alone, or each 1.1 ms, in each other's company: each waits until its request goes out, and for
/// its own grant.
#[test]
fn every_packet_waits_for_its_grant() {
    for (medium, least, most) in [(CABLE, 4.0, 6.0), (FIBRE, 0.5, 2.5)] {
        for kilobits in [109, 729] {
            let traffic = format!("traffic = {{ kind = \"cbr\", rate = \"{kilobits} kbit/s\", packet = \"100 B\" }}");
            let cbr = format!("name = \"a\"\nrtt = \"1 ms\"\n{traffic}");
            let record = run(&dumbbell("20 s", &format!("rate = \"10 Mbit/s\"\n{medium}"), &[&cbr]));
            let queue = &record.bottleneck.queue_ms;
            // Packets come at all times of an interval alike; the second under a grant waits 0.08 ms for the first.
            close(queue.mean.unwrap(), (least + most) / 2.0, 0.08);
            assert!(queue.max.unwrap() <= most + 0.16, "{medium}: {queue:?}");
            assert_eq!(record.bottleneck.drops, 0);
        }
    }
}

/// What waits has been granted long ago: the wire never rests.
#[test]
fn a_backlogged_link_loses_nothing_to_its_grants() {
    let goodput = |medium: &str| {
        let keys = format!("rate = \"10 Mbit/s\"\n{medium}\nqueue = {{ limit = \"100 packets\" }}");
        let mut scenario = dumbbell("30 s", &keys, &[BULK]);
        scenario.keys.warmup = sojourn_core::Span::from_secs(10);
        let record = run(&scenario);
        close(record.bottleneck.utilization.unwrap(), 1.0, 0.001);
        group(&record, "up").goodput_mbps
    };
    let dedicated = goodput("");
    assert_eq!(goodput("medium = \"dedicated\""), dedicated);
    for medium in [CABLE, FIBRE, "medium = { kind = \"docsis\", requests = \"single\" }"] {
        close(goodput(medium) / dedicated, 1.0, 0.002);
    }
}

/// A flow too slow to keep the grants coming: the loop is part of its round-trip time.
#[test]
fn the_grant_is_part_of_the_round_trip() {
    let rtt = |medium: &str| {
        let tcp =
            "name = \"a\"\ncontrol = \"newreno\"\nrtt = \"20 ms\"\ntransport = { receive_window = \"2 packets\" }";
        let record = run(&dumbbell("20 s", &format!("rate = \"100 Mbit/s\"\n{medium}"), &[tcp]));
        group(&record, "a").rtt_ms.mean.unwrap()
    };
    let dedicated = rtt("");
    let cable = rtt(CABLE) - dedicated;
    assert!((4.0..=6.1).contains(&cable), "{cable}");
    let slower = rtt("medium = { kind = \"docsis\", grant_delay = \"10 ms\" }") - dedicated;
    assert!((10.0..=12.1).contains(&slower), "{slower}");
}

/// Frames of 1 ms on a busy wire, and a burst of 0.1 ms in each 10 ms: it meets a frame that begins 1 ms before it ends,
/// or in its time, 11 of 100.
#[test]
fn unprotected_noise_loses_what_is_on_the_wire() {
    let record = noisy("");
    let lost = record.bottleneck.drops as f64 / record.bottleneck.departures as f64;
    close(lost, 0.11, 0.002);
    close(record.bottleneck.utilization.unwrap(), 1.0, 0.001);
}

fn noisy(protection: &str) -> sojourn_sim::Record {
    let cbr =
        "name = \"a\"\nrtt = \"20 ms\"\ntraffic = { kind = \"cbr\", rate = \"11.99 Mbit/s\", packet = \"1500 B\" }";
    let keys = format!("rate = \"12 Mbit/s\"\nnoise = \"rein\"\n{protection}\nqueue = {{ limit = \"1000 packets\" }}");
    let mut scenario = dumbbell("40 s", &keys, &[cbr]);
    scenario.keys.warmup = sojourn_core::Span::from_secs(20);
    run(&scenario)
}

#[test]
fn a_code_corrects_what_is_short_enough() {
    let loss = |corrects: &str| {
        let record = noisy(&format!("protection = {{ kind = \"interleaving\", corrects = \"{corrects}\" }}"));
        record.bottleneck.drops as f64 / record.bottleneck.departures as f64
    };
    assert_eq!(loss("100 us"), 0.0);
    // All that is sent in the 8 ms before the burst, and in it: 91 of 100.
    close(loss("99 us"), 0.91, 0.002);
}

/// Noise is delay, and rate: 11 of 100 frames are sent twice, and 11 of 100 of those again.
#[test]
fn retransmission_turns_noise_into_delay() {
    let call = "name = \"a\"\nrtt = \"20 ms\"\ntraffic = \"voip\"";
    let delays = |protection: &str| {
        let keys = format!("rate = \"2 Mbit/s\"\n{protection}");
        let record = run(&dumbbell("100 s", &keys, &[call]));
        assert_eq!(group(&record, "a").voip.unwrap().loss, Some(0.0));
        let delay = group(&record, "a").voip.unwrap().delay_ms;
        (delay.min.unwrap(), delay.max.unwrap())
    };
    let (least, most) = delays("");
    close(least, 10.8, 0.02);
    close(most, 10.8, 0.02);
    // Bursts drift through the frames of speech.
    let noise = "noise = { kind = \"rein\", period = \"9700 us\" }\nprotection = { kind = \"retransmission\", delay = \"1 ms\" }";
    let (least, most) = delays(noise);
    // Those hit come a round trip of 4 ms and a transmission of 0.8 ms later.
    close(least, 11.8, 0.02);
    assert!((16.58..=11.8 + 16.02).contains(&most), "{most}");

    let record = noisy("protection = \"retransmission\"");
    // The queue is full: what is sent again is missing from what is sent.
    close(record.bottleneck.utilization.unwrap(), 1.0 - 0.11, 0.015);
    let late = record.bottleneck.drops;
    assert!(late > 0, "the queue overflows, since retransmissions take part of the rate");
}

#[test]
fn shared_media_and_noise_are_deterministic() {
    for profile in ["docsis", "gpon", "vdsl2-ginp"] {
        let noise = if profile == "vdsl2-ginp" { "bottleneck.noise = \"pein\"" } else { "" };
        let text = format!("duration = \"3 s\"\naccess.profile = \"{profile}\"\n{noise}\n[[group]]\n{BULK}\n");
        let once = crate::common::text(&run(&scenario(&text)));
        assert_eq!(once, crate::common::text(&run(&scenario(&text))), "{profile}");
    }
}

/// Packets of 12 ms, one each 13 ms: there is time for each only where it is asked for while the one before is sent.
#[test]
fn a_packet_is_asked_for_while_another_is_sent() {
    let cbr = "name = \"a\"\nrtt = \"1 ms\"\ntraffic = { kind = \"cbr\", rate = \"923 kbit/s\", packet = \"1500 B\" }";
    let record = run(&dumbbell("20 s", &format!("rate = \"1 Mbit/s\"\n{CABLE}"), &[cbr]));
    close(record.bottleneck.queue_ms.mean.unwrap(), 5.1, 0.3);
    close(record.bottleneck.utilization.unwrap(), 0.923, 0.002);
}

/// To everything that is sent, an interleaver is so much longer a way.
#[test]
fn an_interleaver_is_a_delay() {
    let with = |keys: &str| {
        let video = "name = \"a\"\ncontrol = \"cubic\"\nrtt = \"20 ms\"\ntraffic = \"video\"";
        let text = format!(
            "duration = \"20 s\"\nbottleneck = {{ rate = \"5 Mbit/s\", {LIMIT} }}\nreverse = {{ rate = \"1 Mbit/s\", {LIMIT}, {keys} }}\n\
             [[group]]\n{video}\n"
        );
        crate::common::text(&run(&scenario(&text)))
    };
    assert_eq!(
        with("delay = \"30 ms\""),
        with("delay = \"5 ms\", protection = { kind = \"interleaving\", delay = \"25 ms\" }")
    );
}
