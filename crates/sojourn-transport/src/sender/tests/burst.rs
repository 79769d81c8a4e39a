//! Bursts as Linux makes them: their length, their pace, and which of them wait.

use super::network::{Network, assert_table, network, preset};
use crate::host::SmallQueue;
use crate::sender::BurstLimits;
use sojourn_core::registry::Value;
use sojourn_core::{Span, Time};

const LIMITS: BurstLimits = BurstLimits { most: 45, least: 2, time: Span::from_millis(1), paced: false };

fn with(limits: BurstLimits, mut path: Network) -> Network {
    path.sender = path.sender.with_bursts(limits);
    path
}

/// `tcp_update_pacing_rate`, `tcp_tso_autosize`: before the first sample nothing is paced and half of the window goes at once;
/// then two windows a round trip, in bursts of what goes in 10 ms of that: 2 x 11 segments in 101 ms are 2 in a burst, after
/// which comes a gap of 9.2 ms, and 2 x 20 are 3, with 7.6 ms. Segment 21 ends a piece of the application's data and goes alone.
#[test]
fn pacing_counts_once_for_a_burst() {
    let limits = BurstLimits { time: Span::from_millis(10), paced: true, ..LIMITS };
    let mut path = with(limits, network(&[("initial_window", Value::Integer(10))], &[]));
    path.send_segments(30).run(150);
    assert_table(
        &path.table(),
        "
        0 start: 0 1 2 3 4 5 6 7 8 9 | 10.00
        101 ack 1: 10 11 | 11.00
        102 ack 2: | 12.00
        103 ack 3: | 13.00
        104 ack 4: | 14.00
        105 ack 5: | 15.00
        106 ack 6: | 16.00
        107 ack 7: | 17.00
        108 ack 8: | 18.00
        109 ack 9: | 19.00
        110 ack 10: | 20.00
        110 timer: 12 13 14 | 20.00
        118 timer: 15 16 17 | 20.00
        125 timer: 18 19 20 | 20.00
        133 timer: 21 | 20.00
        136 timer: 22 23 24 | 20.00
        144 timer: 25 26 27 | 20.00
    ",
    );
}

/// `tcp_tso_autosize`: a base RTT below 16 ms lengthens bursts, by half of the longest for each 512 us less.
#[test]
fn a_short_round_trip_lengthens_bursts() {
    let lengths: Vec<u32> = [400, 600, 1100, 100_000]
        .into_iter()
        .map(|micros| {
            let mut path = with(LIMITS, network(&[("initial_window", Value::Integer(2))], &[]));
            path.sender.rtt.observe(Span::from_micros(micros));
            path.sender.rtt.sample(Span::from_millis(100), 0, 0);
            path.sender.burst_segments()
        })
        .collect();
    assert_eq!(lengths, [45, 22, 11, 2]);
}

/// `tcp_cwnd_test`: half of the window, so that two bursts are under way.
#[test]
fn a_burst_is_half_of_the_window() {
    for (window, lengths) in [(1, &[1][..]), (3, &[1, 1, 1]), (10, &[5, 5]), (180, &[45, 45, 45, 45])] {
        let mut path = with(LIMITS, network(&[("initial_window", Value::Integer(window))], &[]));
        path.sender.supply_forever();
        let mut found = vec![];
        let mut length = 0;
        while path.sender.poll_transmit(Time::ZERO).is_some() {
            length += 1;
            if !path.sender.is_in_burst() {
                found.push(std::mem::take(&mut length));
            }
        }
        assert_eq!((length, &found[..]), (0, lengths), "{window}");
    }
}

/// `tcp_xmit_size_goal`: before the first acknowledgement the peer's window is at most 65,535 B, half of which is 22 segments of
/// 1448 B. What is written later has pieces of its own, of 45, even where the one before ended in their middle.
#[test]
fn data_is_cut_where_it_was_written() {
    let lengths = |path: &mut Network| {
        let mut found = vec![];
        let mut length = 0;
        while path.sender.poll_transmit(path.now).is_some() {
            length += 1;
            if !path.sender.is_in_burst() {
                found.push(std::mem::take(&mut length));
            }
        }
        found
    };
    let long = BurstLimits { time: Span::from_secs(1), ..LIMITS };
    let fresh = || with(long, network(&[("initial_window", Value::Integer(180))], &[]));
    let mut path = fresh();
    path.sender.supply(50 * 1448);
    assert_eq!(lengths(&mut path), [22, 22, 6]);
    // More, before anything was acknowledged.
    path.sender.supply(75 * 1448);
    assert_eq!(lengths(&mut path), [22, 3]);
    let mut path = fresh();
    path.send_segments(50).run(1000);
    path.sender.supply(150 * 1448);
    assert_eq!(lengths(&mut path), [45, 45, 10]);
}

/// What waits in the host for as long as it takes to send two bursts holds the third back, but no burst in its middle.
#[test]
fn small_queues_hold_bursts_back() {
    let mut path = with(LIMITS, network(&[("initial_window", Value::Integer(30))], &[]));
    path.sender.rtt.sample(Span::from_millis(100), 0, 0);
    path.sender.supply_forever();
    let limits = BurstLimits { least: 4, ..LIMITS };
    path.sender = path.sender.with_bursts(limits);
    let mut host = SmallQueue::new(Span::ZERO, 2);
    let mut sent = 0;
    while !host.holds_back(&path.sender) && path.sender.poll_transmit(Time::ZERO).is_some() {
        host.on_queued();
        sent += 1;
    }
    assert_eq!(sent, 12);
    assert!(host.on_left() && !host.on_left());
}

/// `tcp_tso_should_defer`: while acknowledgements come one by one, each lets two segments go, which wait where something was sent
/// within 1 ms. At 112 ms the next acknowledgement is that of 12, sent at 101 ms, which is too far away to wait for.
#[test]
fn short_bursts_wait_for_the_next_acknowledgement() {
    let limits = BurstLimits { least: 8, ..LIMITS };
    let mut path = with(limits, preset("linux", &[("initial_window", Value::Integer(12))]));
    path.send_segments(40).run(112);
    assert_table(
        &path.table(),
        "
        0 start: 0 1 2 3 4 5 6 7 8 9 10 11 | 12.00
        101 ack 1: 12 13 | 13.00
        102 ack 2: | 14.00
        103 ack 3: 14 15 16 17 | 15.00
        104 ack 4: | 16.00
        105 ack 5: 18 19 20 21 | 17.00
        106 ack 6: | 18.00
        107 ack 7: 22 23 24 25 | 19.00
        108 ack 8: | 20.00
        109 ack 9: 26 27 28 29 | 21.00
        110 ack 10: | 22.00
        111 ack 11: 30 31 32 33 | 23.00
        112 ack 12: 34 35 | 24.00
    ",
    );
}

/// Everything arrives, in the same number of segments.
#[test]
fn bursts_lose_nothing() {
    for name in ["rfc", "linux", "linux-2.6", "ns2"] {
        for paced in [false, true] {
            let mut path = with(BurstLimits { paced, ..LIMITS }, preset(name, &[]));
            path.drops = super::network::first(&[3, 20, 21, 22, 57]);
            path.send_segments(99).run(100_000);
            path.assert_complete(99);
        }
    }
}
