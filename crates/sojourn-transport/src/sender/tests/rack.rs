//! RFC 8985 sections 3 and 6: loss detection by time (RACK).

use super::network::{Network, assert_table, first, network, these};
use sojourn_core::Amount;
use sojourn_core::registry::Value;

fn by_time(window: u64, changes: &[(&str, Value)]) -> Network {
    let options = [("initial_window", Value::Integer(window)), ("loss_detection", Value::Choice("rack"))];
    network(&[&options[..], changes].concat(), &[])
}

/// The example of section 3.4: P1 to P3 are lost, and P1 again. The probe is P3; what its SACK says repairs P1 and P2, and
/// the SACK of P2, which was sent after P1, that P1 was lost once more. No timeout.
#[test]
fn the_example_of_fast_recovery() {
    let mut path = by_time(4, &[("loss_detection", Value::Choice("rack-tlp"))]);
    path.drops = these(&[(1, 0), (2, 0), (3, 0), (1, 1)]);
    path.send_segments(4).run(100_000);
    assert_table(
        &path.table(),
        "
        0 start: 0 1-lost 2-lost 3-lost | 4.00
        101 ack 1: | 5.00
        305 timer: 3again | 5.00
        406 ack 1 3-3: 1again-lost 2again | 2.00 recovery
        508 ack 1 2-3: 1again | 2.00 recovery
        609 ack 4: | 2.00
    ",
    );
    path.assert_complete(4);
    assert_eq!(path.sender.counts.timeouts, 0);
}

/// The example of section 3.5: one segment is late, and two more are sent just before its timer goes off. By time only the
/// first is lost then; by count all three are sent again.
#[test]
fn the_example_of_the_timeout() {
    let sent_again = |options: &[(&str, Value)]| {
        let mut path = network(&[&[("initial_window", Value::Integer(4))], options].concat(), &[]);
        path.send_segments(4).run(200);
        path.holds = Box::new(|number, nth| if nth == 0 && number == 4 { 930 } else { 0 });
        path.send_segments(5).run(1150);
        path.send_segments(7).run(100_000);
        path.assert_complete(7);
        let mut again: Vec<_> =
            path.times_sent.iter().filter(|(_, times)| **times > 1).map(|(number, _)| *number).collect();
        again.sort_unstable();
        again
    };
    assert_eq!(sent_again(&[("loss_detection", Value::Choice("rack"))]), [4]);
    assert_eq!(sent_again(&[]), [4, 5, 6]);
}

/// Section 6.2 step 4 and section 6.3: with fewer than three segments known to have arrived, one may be late for a quarter of
/// the least round trip: 1 is lost 101 / 4 ms after 2 was acknowledged, by the timer (Linux adds 2 ms). The loss of 3 is
/// found by the acknowledgement of the repair, without any timer: nothing that counts segments can.
#[test]
fn a_quarter_of_a_round_trip_before_a_loss() {
    let mut path = by_time(4, &[]);
    path.drops = first(&[1, 3]);
    path.send_segments(4).run(100_000);
    assert_table(
        &path.table(),
        "
        0 start: 0 1-lost 2 3-lost | 4.00
        101 ack 1: | 5.00
        103 ack 1 2-2: | 5.00
        130 timer: 1again | 2.00 recovery
        231 ack 3: 3again | 2.00 recovery
        332 ack 4: | 2.00
    ",
    );
    path.assert_complete(4);
}

/// The same step: three that have arrived are enough at once while no reordering was seen.
#[test]
fn three_beyond_it_prove_a_loss_at_once() {
    let mut path = by_time(10, &[]);
    path.drops = first(&[2]);
    path.send_segments(10).run(100_000);
    assert_table(
        &path.table(),
        "
        0 start: 0 1 2-lost 3 4 5 6 7 8 9 | 10.00
        101 ack 1: | 11.00
        102 ack 2: | 11.00
        104 ack 2 3-3: | 11.00
        105 ack 2 3-4: | 11.00
        106 ack 2 3-5: 2again | 4.00 recovery
        107 ack 2 3-6: | 4.00 recovery
        108 ack 2 3-7: | 4.00 recovery
        109 ack 2 3-8: | 4.00 recovery
        110 ack 2 3-9: | 4.00 recovery
        207 ack 10: | 4.00
    ",
    );
    path.assert_complete(10);
}

/// A segment that is late by less than the reordering window is not sent again, although two came before it.
#[test]
fn a_small_degree_of_reordering_costs_nothing() {
    let mut path = by_time(4, &[]);
    path.holds = Box::new(|number, nth| if number == 1 && nth == 0 { 20 } else { 0 });
    path.send_segments(4).run(100_000);
    path.assert_complete(4);
    assert_eq!((path.sender.counts.retransmissions, path.window()), (0, 5.0), "{}", path.table());
}

/// How often `late` segments, each by so many ms, are sent again.
fn sent_again(late: &[(u32, u64)], changes: &[(&str, Value)]) -> Vec<u32> {
    let options = [("receive_window", Value::Amount(Amount::Packets(20.0)))];
    let mut path = by_time(20, &[&options[..], changes].concat());
    let held: Vec<(u32, u64)> = late.to_vec();
    path.holds = Box::new(move |number, nth| {
        let found = held.iter().find(|(segment, _)| (*segment, 0) == (number, nth));
        found.map_or(0, |(_, millis)| *millis)
    });
    path.send_segments(400).run(100_000);
    path.assert_complete(400);
    late.iter().map(|(number, _)| path.times_sent[number] - 1).collect()
}

/// Once reordering was seen (RACK.reordering_seen), three beyond a segment prove nothing any more: what is late by 15 ms is
/// waited for.
#[test]
fn seen_reordering_is_waited_for() {
    assert_eq!(sent_again(&[(82, 15)], &[]), [1]);
    assert_eq!(sent_again(&[(2, 2), (82, 15)], &[]), [0, 0]);
}

/// Section 6.2 step 4: reports of needless retransmissions (DSACK) widen the window by a quarter of the least round trip
/// each. What is late by 60 ms of 101 is sent again at 25 and at 51 ms, and no more at 76 ms.
#[test]
fn needless_retransmissions_widen_the_window() {
    let late: Vec<(u32, u64)> = [(2, 2)].into_iter().chain((1..6).map(|time| (60 * time + 2, 60))).collect();
    let reports = [("sack", Value::Choice("dsack")), ("undo", Value::Choice("all"))];
    assert_eq!(sent_again(&late, &reports), [0, 1, 1, 0, 0, 0]);
    assert_eq!(sent_again(&late, &[]), [0, 1, 1, 1, 1, 1]);
}
