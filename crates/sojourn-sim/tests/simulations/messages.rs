//! Messages over one connection, and groups that come and go together.

use crate::common::{close, dumbbell, group, outcome, run, scenario};
use sojourn_core::Span;
use sojourn_sim::{Outcome, Wanted};

/// A flow that writes messages, with these keys beside its kind.
fn writer(traffic: &str, more: &str) -> String {
    format!(
        "name = \"game\"\ncontrol = \"cubic\"\nrtt = \"40 ms\"\ntraffic = {{ kind = \"messages\", {traffic} }}\n{more}"
    )
}

fn with_transfers(bottleneck: &str, group: &str) -> Outcome {
    outcome(&dumbbell("20 s", bottleneck, &[group]), &Wanted { transfers: true, ..Wanted::default() })
}

/// Alone a message takes half of the round trip and its time on the wire; the first waits for the handshake as well.
#[test]
fn an_undisturbed_message_takes_as_long_as_its_way() {
    for (size, packets) in [(100, 1), (1448, 1), (1449, 2), (4000, 3)] {
        let writer = writer(&format!("size = \"{size} B\", every = \"100 ms\""), "");
        let found = with_transfers("rate = \"100 Mbit/s\"", &writer);
        let game = group(&found.record, "game");
        let fct = game.fct_ms.unwrap();
        // Written at 0, 0.1 … 19.9 s.
        assert_eq!(fct.count, 200, "{size} B");
        let wire_ms = (size + packets * 52) as f64 * 8.0 / 100e3;
        close(fct.p50.unwrap(), 20.0 + wire_ms, 0.03);
        let rows = found.transfers.unwrap();
        close(rows[0].completed.time.as_millis_f64(), 60.0 + wire_ms, 0.1);
        assert!(rows.iter().all(|row| row.completed.bytes == size));
        assert_eq!(found.record.flows[0].delivered_bytes, 200 * size, "every byte once, and none beside");
        assert_eq!(found.record.bottleneck.departures, 1 + 200 * packets, "nothing waits for more to send");
    }
}

/// What follows a lost message waits until that has been sent again: all arrive, in order, and some late.
#[test]
fn a_lost_message_holds_back_those_behind_it() {
    let writer = writer("size = \"200 B\", every = \"20 ms\"", "");
    let found = with_transfers("rate = \"100 Mbit/s\"\nloss = 0.05", &writer);
    let rows = found.transfers.unwrap();
    let game = group(&found.record, "game");
    assert!(game.retransmissions.unwrap() > 20, "{game:?}");
    // Twenty seconds of 50 messages, less the few that are under way at the end.
    assert!((980..=1000).contains(&rows.len()), "{}", rows.len());
    let written = |number: usize| Span::from_millis(20 * number as u64);
    for (number, row) in rows.iter().enumerate() {
        let took = row.end.since(sojourn_core::Time::ZERO + written(number));
        assert_eq!(row.completed.time, took, "message {number} counts from its own writing");
    }
    assert!(rows.windows(2).all(|pair| pair[0].end <= pair[1].end), "in order");
    let together = rows.windows(2).filter(|pair| pair[0].end == pair[1].end).count();
    assert!(together > 20, "a filled hole lets several go on: {together}");
    let fct = game.fct_ms.unwrap();
    assert!(fct.p50.unwrap() < 25.0 && fct.p99.unwrap() > 60.0, "{fct:?}");
}

/// More than the link carries piles up in the sender's host, from where it leaves in full packets.
#[test]
fn too_many_messages_wait_at_the_sender() {
    let writer = writer("size = \"1 kB\", every = \"4 ms\"", "");
    let found = with_transfers("rate = \"1 Mbit/s\"\nqueue = { kind = \"droptail\", limit = \"20 packets\" }", &writer);
    let game = group(&found.record, "game");
    close(game.goodput_mbps, 1448.0 / 1500.0, 0.03);
    let bytes = found.record.flows[0].delivered_bytes as f64;
    let mean = bytes / found.record.bottleneck.departures as f64;
    assert!(mean > 1350.0, "full packets: {mean} B");
    // Half of what is written in 20 s is delivered by then, so the last message that came was written at about 9.7 s.
    let rows = found.transfers.unwrap();
    close(rows.last().unwrap().completed.time.as_secs_f64(), 10.3, 0.6);
}

/// All flows of a group are on and off together, over a fresh connection each time.
#[test]
fn fixed_times_make_phases_of_load() {
    let record = run(&scenario(
        "duration = \"12 s\"\n[bottleneck]\nrate = \"10 Mbit/s\"\nqueue = \"codel\"\n\
         [[group]]\nname = \"rush\"\ncontrol = \"newreno\"\nflows = 3\nrtt = \"20 ms\"\nstart = \"1 s\"\n\
         traffic = { kind = \"on-off\", times = \"fixed\", on = \"1 s\", off = \"2 s\", connection = \"fresh\" }\n\
         [[phase]]\nname = \"on\"\nfrom = \"1 s\"\nto = \"2 s\"\nevery = \"3 s\"\n\
         [[phase]]\nname = \"off\"\nfrom = \"2200 ms\"\nto = \"4 s\"\nevery = \"3 s\"\n",
    ));
    let [on, off] = ["on", "off"].map(|name| &record.phases[name]);
    assert!(on.bottleneck.utilization.unwrap() > 0.85, "{on:?}");
    assert_eq!(off.bottleneck.arrivals, 0, "{off:?}");
    assert_eq!(off.groups["rush"].goodput_mbps, 0.0);
}
