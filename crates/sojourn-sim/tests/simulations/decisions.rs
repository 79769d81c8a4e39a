//! What senders decide, as it is seen from outside, against what the record counts.

use crate::common::{dumbbell, outcome, text};
use proptest::prelude::*;
use sojourn_core::{Span, Stream};
use sojourn_scenario::random;
use sojourn_sim::{Decision, DecisionLog, Monitor, Wanted, simulate};
use sojourn_transport::Phase;
use std::collections::{HashMap, HashSet};

const WANTED: Wanted =
    Wanted { bin: None, packets: false, probes: false, transfers: false, decisions: true, delays: false };

/// Packets are numbered from 0 on; what is acknowledged or lost was sent; nothing is acknowledged twice, nor lost twice.
fn check(log: &DecisionLog) {
    let mut sent: HashMap<(u32, u16), u64> = HashMap::new();
    let mut settled = HashSet::new();
    assert!(log.rows.is_sorted_by_key(|row| row.time));
    for row in &log.rows {
        let of = (row.connection, row.port);
        let next = sent.entry(of).or_default();
        match &row.decision {
            Decision::Sent { number, .. } => {
                assert_eq!(number, next);
                *next += 1;
            }
            Decision::Acknowledged(ranges) => {
                assert!(ranges.is_sorted() && ranges.iter().all(|[first, last]| first <= last && last < next));
                for number in ranges.iter().flat_map(|&[first, last]| first..=last) {
                    assert!(settled.insert((of, number, "acknowledged")), "{number} was acknowledged before");
                }
            }
            Decision::Lost { number, .. } => assert!(number < next),
            Decision::Phase(_) | Decision::Metrics { .. } => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Watching changes nothing.
    #[test]
    fn a_run_that_is_watched_is_the_same(seed in any::<u64>()) {
        let scenario = random::scenario(&mut Stream::new(seed, "watched simulations"));
        let run = |wanted| simulate(&scenario, seed, &wanted, &Monitor::default()).expect("nobody interrupts");
        let (plain, watched) = (run(Wanted::default()), run(WANTED));
        prop_assert_eq!(text(&plain.record), text(&watched.record));
        check(&watched.decisions.expect("they were wanted"));
    }
}

#[test]
fn what_is_decided_is_what_is_counted() {
    for transport in ["rfc", "linux", "ns2"] {
        let group = format!("name = \"a\"\ncontrol = \"newreno\"\nrtt = \"40 ms\"\ntransport = \"{transport}\"");
        let path = "rate = \"10 Mbit/s\"\nloss = 0.01\nqueue = { kind = \"droptail\", limit = \"20 packets\" }";
        let found = outcome(&dumbbell("60 s", path, &[&group]), &WANTED);
        let log = found.decisions.expect("they were wanted");
        check(&log);
        let own = || log.rows.iter().map(|row| &row.decision);
        let again = own().filter(|one| matches!(one, Decision::Sent { again: true, .. })).count();
        assert_eq!(Some(again as u64), found.record.groups["a"].retransmissions, "{transport}");
        let lost = own().filter(|one| matches!(one, Decision::Lost { .. })).count();
        assert!(lost > 50 && again <= lost + 20, "{transport}: {lost} lost, {again} sent again");
        // After a timeout all is taken for lost, also what arrives; without SACK nobody hears that it did.
        assert!(lost <= again + 20 || transport == "ns2", "{transport}: {lost} lost, {again} sent again");
        let recoveries = own().filter(|one| **one == Decision::Phase(Phase::Recovery)).count();
        assert!(recoveries > 20, "{transport}: {recoveries}");
    }
}

/// Linux restarts from a smaller window after an idle time (`tcp_cwnd_restart`): that is told before the first packet, not with
/// the first acknowledgement.
#[test]
fn a_window_after_an_idle_time_is_told_before_what_is_sent() {
    let traffic = "traffic = { kind = \"on-off\", times = \"fixed\", on = \"1 s\", off = \"3 s\" }";
    let group = format!("name = \"a\"\ncontrol = \"newreno\"\nrtt = \"40 ms\"\ntransport = \"linux\"\n{traffic}");
    let path = "rate = \"10 Mbit/s\"\nqueue = { kind = \"droptail\", limit = \"100 packets\" }";
    let log = outcome(&dumbbell("20 s", path, &[&group]), &WANTED).decisions.expect("they were wanted");
    let (mut last_sent, mut windows, mut restarts) = (None, Vec::new(), 0);
    for row in &log.rows {
        match &row.decision {
            Decision::Metrics { view, .. } => windows.push((row.time, view.window_bytes)),
            Decision::Sent { .. } => {
                if last_sent.is_some_and(|last| row.time.since(last) > Span::from_secs(2)) {
                    let [.., (_, before), (told, now)] = windows[..] else { panic!("{windows:?}") };
                    assert!(
                        told == row.time && now < before,
                        "{before} B, and {now} B at {told:?} before {:?}",
                        row.time
                    );
                    restarts += 1;
                }
                last_sent = Some(row.time);
            }
            _ => {}
        }
    }
    assert_eq!(restarts, 4);
}
