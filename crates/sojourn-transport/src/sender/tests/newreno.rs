//! RFC 5681, RFC 6582 and RFC 3042: recovery without SACK.

use super::network::{Network, assert_table, first, network, these};
use sojourn_core::registry::Value;

const NO_SACK: (&str, Value) = ("sack", Value::Choice("false"));

fn reno(window: u64) -> Network {
    network(&[NO_SACK, ("initial_window", Value::Integer(window))], &[])
}

/// RFC 5681 section 3.1: one segment more for each acknowledgement; then, from the threshold on, one per
/// round trip.
#[test]
fn slow_start_and_avoidance() {
    let mut path =
        network(&[NO_SACK, ("initial_window", Value::Integer(2))], &[("initial_threshold", Value::Number(4.0))]);
    path.send_forever().run(350);
    assert_table(
        &path.table(),
        "
        0 start: 0 1 | 2.00
        101 ack 1: 2 3 | 3.00
        102 ack 2: 4 5 | 4.00
        202 ack 3: 6 | 4.25
        203 ack 4: 7 | 4.49
        204 ack 5: 8 | 4.71
        205 ack 6: 9 | 4.92
        303 ack 7: 10 11 | 5.12
        304 ack 8: 12 | 5.32
        305 ack 9: 13 | 5.51
        306 ack 10: 14 | 5.69
    ",
    );
}

/// RFC 5681 section 3.2, RFC 6582: one loss in a window of 10.
#[test]
fn one_loss() {
    let mut path = reno(10);
    path.drops = first(&[0]);
    path.send_segments(30).run(100_000);
    assert_table(
        &path.table(),
        "
        0 start: 0-lost 1 2 3 4 5 6 7 8 9 | 10.00
        102 ack 0: 10 | 10.00
        103 ack 0: 11 | 10.00
        104 ack 0: 0again | 5.00 recovery
        105 ack 0: | 5.00 recovery
        106 ack 0: | 5.00 recovery
        107 ack 0: | 5.00 recovery
        108 ack 0: | 5.00 recovery
        109 ack 0: 12 | 5.00 recovery
        110 ack 0: 13 | 5.00 recovery
        203 ack 0: 14 | 5.00 recovery
        204 ack 0: 15 | 5.00 recovery
        205 ack 12: 16 | 5.00
        210 ack 13: 17 | 5.20
        211 ack 14: 18 | 5.39
        304 ack 15: 19 | 5.58
        305 ack 16: 20 | 5.76
        306 ack 17: 21 | 5.93
        311 ack 18: 22 23 | 6.10
        312 ack 19: 24 | 6.26
        405 ack 20: 25 | 6.42
        406 ack 21: 26 | 6.58
        407 ack 22: 27 | 6.73
        412 ack 23: 28 | 6.88
        413 ack 24: 29 | 7.02
        414 ack 25: | 7.02
        506 ack 26: | 7.02
        507 ack 27: | 7.02
        508 ack 28: | 7.02
        513 ack 29: | 7.02
        514 ack 30: | 7.02
    ",
    );
    path.assert_complete(30);
    assert_eq!(path.sender.counts.retransmissions, 1);
}

/// RFC 6582 section 3.2 step 3: each partial acknowledgement repairs the next hole, one per round trip.
#[test]
fn three_losses_take_three_round_trips() {
    let mut path = reno(10);
    path.drops = first(&[2, 4, 6]);
    path.send_segments(20).run(100_000);
    assert_table(
        &path.table(),
        "
        0 start: 0 1 2-lost 3 4-lost 5 6-lost 7 8 9 | 10.00
        101 ack 1: 10 11 | 11.00
        102 ack 2: 12 13 | 12.00
        104 ack 2: 14 | 12.00
        106 ack 2: 15 | 12.00
        108 ack 2: 2again | 6.00 recovery
        109 ack 2: | 6.00 recovery
        110 ack 2: | 6.00 recovery
        202 ack 2: | 6.00 recovery
        203 ack 2: | 6.00 recovery
        204 ack 2: | 6.00 recovery
        205 ack 2: 16 | 6.00 recovery
        206 ack 2: 17 | 6.00 recovery
        207 ack 2: 18 | 6.00 recovery
        209 ack 4: 4again 19 | 6.00 recovery
        306 ack 4: | 6.00 recovery
        307 ack 4: | 6.00 recovery
        308 ack 4: | 6.00 recovery
        310 ack 6: 6again | 6.00 recovery
        311 ack 6: | 6.00 recovery
        411 ack 20: | 2.00
    ",
    );
    path.assert_complete(20);
}

/// RFC 6582 section 4, the impatient variant: only the first partial acknowledgement restarts the timer, so
/// that a recovery of many holes ends in a timeout.
#[test]
fn many_losses_end_in_a_timeout() {
    let mut path = reno(24);
    path.drops = first(&(0..18).collect::<Vec<u32>>());
    path.send_segments(24).run(100_000);
    assert_eq!(path.sender.counts.timeouts, 1);
    let timeout = path.log.iter().position(|line| line.contains("timeout")).unwrap();
    let partial = |line: &&String| line.contains("recovery") && line.contains("again");
    let first_partial = path.log.iter().filter(partial).nth(1).unwrap().clone();
    // The entry at 151 + ..., then one hole per round trip of 101 ms; the timer runs for 1 s from the first.
    let millis = |line: &str| line.trim().split(' ').next().unwrap().parse::<u64>().unwrap();
    assert_eq!(millis(&path.log[timeout]), millis(&first_partial) + 1000);
    path.assert_complete(24);
}

/// RFC 6582 section 4.1, the careful variant: after a timeout, duplicates of what was sent twice do nothing.
#[test]
fn after_a_timeout_duplicates_do_not_start_recovery() {
    let mut path = reno(8);
    // All acknowledgements of the first flight but its repair are lost on the way back.
    path.ack_drops = Box::new(|index| index < 8);
    path.send_segments(12).run(100_000);
    path.assert_complete(12);
    assert!(!path.table().contains("recovery"), "{}", path.table());
    assert_eq!(path.sender.counts.timeouts, 1);
}

/// RFC 3042: one new segment for each of the first two duplicates, none for a third unless recovery.
#[test]
fn limited_transmit() {
    for (enabled, expected) in [(true, vec![10, 11]), (false, vec![])] {
        let mut path = network(
            &[
                NO_SACK,
                ("initial_window", Value::Integer(3)),
                ("disorder", Value::Choice(if enabled { "limited-transmit" } else { "none" })),
            ],
            &[("initial_threshold", Value::Number(2.0))],
        );
        path.drops = first(&[0]);
        path.send_forever().run(154);
        let sent: Vec<u32> = path.times_sent.keys().copied().filter(|&number| number >= 3).collect();
        assert_eq!(sent.len(), expected.len(), "{}", path.table());
    }
}

/// RFC 5681 equation 4: what limited transmit sent is not halved.
#[test]
fn limited_transmit_does_not_count_in_the_flight() {
    let mut path = reno(10);
    path.drops = first(&[0]);
    path.send_forever().run(160);
    assert_eq!(path.threshold(), 5.0, "{}", path.table());
}

/// RFC 5681 section 3.2: the flight, not the window, is halved; two segments at least.
#[test]
fn half_of_the_flight() {
    let mut path = reno(20);
    path.drops = first(&[0]);
    path.send_segments(8).run(100_000);
    assert_eq!(path.threshold(), 4.0);
    let mut path = reno(20);
    path.drops = first(&[0]);
    path.send_segments(4).run(100_000);
    assert_eq!(path.threshold(), 2.0, "{}", path.table());
}

/// A retransmission that is lost again is left to the timer.
#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    let mut path = reno(10);
    path.drops = these(&[(0, 0), (0, 1)]);
    path.send_segments(30).run(100_000);
    assert_eq!((path.sender.counts.timeouts, path.times_sent[&0]), (1, 3));
    path.assert_complete(30);
}
