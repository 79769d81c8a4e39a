//! What probes of a path need: trains at exact times, policers and shapers on the path, and the rows of both ends.

use crate::common::{close, dumbbell, group, outcome, run};
use sojourn_core::Time;
use sojourn_scenario::Scenario;
use sojourn_sim::{PacketEvent, PacketRow, Wanted};
use std::collections::BTreeSet;

fn rows(scenario: &Scenario) -> Vec<PacketRow> {
    outcome(scenario, &Wanted { packets: true, ..Wanted::default() }).packets.expect("packets were wanted").rows
}

/// The times in us at which `event` befell packets, each with its delay or sojourn time in us.
fn times(rows: &[PacketRow], event: PacketEvent) -> Vec<(u64, u64)> {
    let chosen = rows.iter().filter(|row| row.event == event);
    chosen.map(|row| (row.time.as_nanos() / 1_000, row.sojourn.as_nanos() / 1_000)).collect()
}

/// 1500 B at 12 Mbit/s take 1 ms, and half of the base RTT is 10 ms.
#[test]
fn a_train_is_sent_to_the_nanosecond_and_received_dispersed() {
    let train = "name = \"a\"\nrtt = \"20 ms\"\nstart = \"100 ms\"\n\
                 traffic = { kind = \"train\", count = 3, every = \"50 ms\", repeat = 2 }";
    let rows = rows(&dumbbell("1 s", "rate = \"12 Mbit/s\"", &[train]));
    let sent = [100_000, 100_000, 100_000, 150_000, 150_000, 150_000].map(|at| (at, 0));
    assert_eq!(times(&rows, PacketEvent::Send), sent);
    let received: Vec<_> =
        [100_000, 150_000].iter().flat_map(|at| [11_000, 12_000, 13_000].map(|delay| (at + delay, delay))).collect();
    assert_eq!(times(&rows, PacketEvent::Receive), received);
    assert!(rows.is_sorted_by_key(|row| row.time));
}

/// Every packet that was sent has been received, was dropped, or is on its way; none is twice anywhere.
#[test]
fn both_ends_together_account_for_every_packet() {
    let tcp = "name = \"tcp\"\nflows = 2\ncontrol = \"cubic\"\nrtt = \"20 ms\"";
    let train = "name = \"train\"\nrtt = \"30 ms\"\n\
                 traffic = { kind = \"train\", count = 40, packet = \"150 B\", every = \"200 ms\" }";
    let link = "rate = \"5 Mbit/s\"\nqueue = { kind = \"droptail\", limit = \"20 packets\" }";
    let rows = rows(&dumbbell("5 s", link, &[tcp, train]));
    let seen = |event: PacketEvent| {
        let forward = rows.iter().filter(|row| row.event == event && !row.packet.body.kind.travels_back());
        let names: Vec<_> =
            forward.map(|row| (row.packet.flow, row.packet.body.stamp, row.packet.body.number)).collect();
        let set: BTreeSet<_> = names.iter().copied().collect();
        assert_eq!(set.len(), names.len(), "{event:?}");
        set
    };
    let (sent, received, dropped) = (seen(PacketEvent::Send), seen(PacketEvent::Receive), seen(PacketEvent::Drop));
    assert!(received.is_subset(&sent) && dropped.is_subset(&sent) && received.is_disjoint(&dropped));
    assert!(dropped.len() > 50, "{}", dropped.len());
    let on_its_way: Vec<_> = sent.iter().filter(|name| !received.contains(name) && !dropped.contains(name)).collect();
    let recent = Time::from_nanos(4_900_000_000);
    assert!(on_its_way.len() < 40 && on_its_way.iter().all(|name| name.1 > recent), "{on_its_way:?}");
}

/// 12 packets at once through a bucket of 4.5 packets: four pass. At 12 Mbit/s half a millisecond later half a packet
/// has come, and with the half that was left one more passes.
#[test]
fn a_policer_drops_what_is_beyond_its_burst() {
    let train =
        "name = \"a\"\nrtt = \"20 ms\"\ntraffic = { kind = \"train\", count = 12, every = \"500 us\", repeat = 2 }";
    let policed = "rate = \"100 Mbit/s\"\npolicer = { rate = \"12 Mbit/s\", burst = \"6750 B\" }";
    let scenario = dumbbell("1 s", policed, &[train]);
    let rows = rows(&scenario);
    let numbers = |event| -> Vec<u32> {
        rows.iter().filter(|row| row.event == event).map(|row| row.packet.body.number).collect()
    };
    assert_eq!(numbers(PacketEvent::Receive), [0, 1, 2, 3, 12]);
    assert_eq!(numbers(PacketEvent::Drop).len(), 19);
    let link = run(&scenario).bottleneck;
    assert_eq!((link.arrivals, link.departures, link.drops), (24, 5, 19));
}

/// Overload by half of a policer and of a shaper: both let their rate pass, one with loss and no delay, the other with
/// delay and, while its queue has room, no loss.
#[test]
fn a_policer_costs_packets_and_a_shaper_time() {
    let cbr = "name = \"a\"\nrtt = \"20 ms\"\ntraffic = { kind = \"cbr\", rate = \"15 Mbit/s\" }";
    let record = |part: &str| {
        let link = format!(
            "rate = \"100 Mbit/s\"\n{part} = {{ rate = \"10 Mbit/s\", burst = \"15 kB\" }}\n\
             queue = {{ kind = \"droptail\", limit = \"10000 packets\" }}"
        );
        let mut scenario = dumbbell("10 s", &link, &[cbr]);
        scenario.keys.warmup = sojourn_core::Span::from_secs(1);
        run(&scenario)
    };
    let (policed, shaped) = (record("policer"), record("shaper"));
    for record in [&policed, &shaped] {
        close(group(record, "a").goodput_mbps, 10.0 * 1472.0 / 1500.0, 0.01);
    }
    close(policed.bottleneck.drop_rate.unwrap(), 1.0 / 3.0, 0.001);
    assert!(policed.bottleneck.queue_ms.max.unwrap() < 0.001, "nothing waits behind a policer of less than the link");
    assert_eq!(shaped.bottleneck.drops, 0);
    // After 10 s of 5 Mbit/s too much there are 50 Mbit, which take 5 s.
    close(shaped.bottleneck.queue_ms.max.unwrap(), 10_000.0 / 3.0, 10.0);
}

/// A bucket of 3000 B at 1.2 Mbit/s: three packets go at 12 Mbit/s, since 150 B come each ms and the third may leave a
/// debt. From then on one goes each 10 ms.
#[test]
fn a_shaper_lets_its_burst_go_and_then_its_rate() {
    let train = "name = \"a\"\nrtt = \"20 ms\"\ntraffic = { kind = \"train\", count = 6 }";
    let shaped = "rate = \"12 Mbit/s\"\nshaper = { rate = \"1.2 Mbit/s\", burst = \"3000 B\" }";
    let rows = rows(&dumbbell("1 s", shaped, &[train]));
    let left: Vec<u64> = times(&rows, PacketEvent::Departure).iter().map(|(at, _)| *at).collect();
    // The third packet leaves a debt of 1200 B, as 300 B have come by then.
    assert_eq!(left, [0, 1_000, 2_000, 10_000, 20_000, 30_000]);
}

/// An idle shaper saves no more than its burst, and wakes nobody.
#[test]
fn an_idle_shaper_is_a_link_without_one() {
    let cbr = "name = \"a\"\nrtt = \"20 ms\"\ntraffic = { kind = \"cbr\", rate = \"1 Mbit/s\" }";
    let plain = run(&dumbbell("5 s", "rate = \"10 Mbit/s\"", &[cbr]));
    let shaped =
        run(&dumbbell("5 s", "rate = \"10 Mbit/s\"\nshaper = { rate = \"5 Mbit/s\", burst = \"3000 B\" }", &[cbr]));
    assert_eq!(crate::common::text(&plain), crate::common::text(&shaped));
}
