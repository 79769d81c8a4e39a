//! A receiver that steers (RFC 9840), against the RFC's words. A round trip takes 101 ms here: 50 ms each way and 1 ms for a segment.

use super::network::{Network, assert_table, first, steered, these};
use sojourn_congestion::Control;
use sojourn_core::registry::Value;
use sojourn_core::{Amount, Span};

/// The windows that acknowledgements told, in segments.
fn windows(path: &Network) -> String {
    path.granted.iter().map(|window| format!("{window:.2}")).collect::<Vec<_>>().join(" ")
}

/// What the receiver's control shows as `name`.
fn shown(path: &Network, name: &str) -> f64 {
    let mut found = f64::NAN;
    let visit = &mut |key: &'static str, value: f64| {
        if key == name {
            found = value;
        }
    };
    path.receiver.steers().unwrap().control().probe(visit);
    found
}

fn packets(count: f64) -> Value {
    Value::Amount(Amount::Packets(count))
}

/// LEDBAT++ grows by GAIN = 1/ceil(2 x 60/101) = 1/2 per segment in slow start, from the first sample on. That comes with segment
/// 2, the first to echo an acknowledgement: the first two segments open nothing. The sender's own window of 10 does not matter.
#[test]
fn slow_start_of_ledbatpp() {
    let changes = [("initial_window", Value::Integer(2))];
    let mut path = steered("ledbatpp", 0, &changes);
    path.send_segments(9).run(10_000);
    path.assert_complete(9);
    assert_eq!(windows(&path), "2.00 2.00 2.00 2.50 3.00 3.50 4.00 4.50 5.00 5.50");
    let sent = "0 start: 0 1 | 2.00
        101 ack 1: 2 | 3.00
        102 ack 2: 3 | 3.00
        202 ack 3: 4 | 3.00
        203 ack 4: 5 6 | 3.00
        303 ack 5: 7 | 4.00
        304 ack 6: 8 | 4.00
        305 ack 7: | 4.00
        404 ack 8: | 4.00
        405 ack 9: | 4.00";
    assert_table(&path.table(), sent);
}

/// Section 4.2.1: the first segment with an echo tells the round-trip time; those after it have waited behind it.
#[test]
fn round_trips_are_those_of_the_first_echo() {
    let mut path = steered("ledbatpp", 7, &[]);
    // Each acknowledgement lets two segments go at once, of which the second is sent 1 ms later.
    path.ack_drops = Box::new(|ack| ack % 2 == 0);
    path.send_segments(40).run(60_000);
    path.assert_complete(40);
    assert_eq!(shown(&path, "base_delay_ms"), 101.0);
    assert_eq!(shown(&path, "queueing_delay_ms"), 0.0);
}

/// Section 4.3: a segment below the highest one that was sent after it was lost before; it halves the window once per round trip,
/// however many were lost of it. 4.1.1: the right edge waits until what is out has come.
#[test]
fn losses_halve_once() {
    for lost in [&[12][..], &[12, 14], &[12, 13, 14, 15]] {
        let mut path = steered("ledbatpp", 0, &[("initial_window", Value::Integer(10))]);
        path.drops = first(lost);
        path.send_segments(30).run(60_000);
        path.assert_complete(30);
        let halved = path.granted.windows(2).filter(|pair| pair[1] < pair[0] - 0.01).count();
        let least = path.granted.iter().copied().fold(f64::INFINITY, f64::min);
        let most = path.granted.iter().copied().fold(0.0, f64::max);
        assert!(halved > 0 && least >= (most / 2.0).floor() - 1.0, "{lost:?}: {}", windows(&path));
    }
}

/// Segments that only come late are no retransmissions, and halve nothing.
#[test]
fn reordering_is_no_loss() {
    let mut path = steered("ledbatpp", 0, &[]);
    path.holds = Box::new(|number, _| if number % 7 == 3 { 2 } else { 0 });
    path.send_segments(200).run(60_000);
    path.assert_complete(200);
    assert!(path.times_sent.values().all(|&times| times == 1));
    let windows = windows(&path);
    assert!(path.granted.windows(2).all(|pair| pair[1] >= pair[0] - 3.0), "only what is missing counts: {windows}");
    assert!(*path.granted.last().unwrap() > 12.0, "{windows}");
}

/// The last segments of a flight are retransmitted after a timeout, and no higher one came before: nothing shows that.
#[test]
fn a_lost_tail_is_not_seen() {
    let mut path = steered("ledbatpp", 0, &[]);
    path.drops = these(&[(28, 0), (29, 0)]);
    path.send_segments(30).run(60_000);
    path.assert_complete(30);
    assert!(path.granted.windows(2).all(|pair| pair[1] >= pair[0] - 0.01), "{}", windows(&path));
}

/// A sender that pauses echoes an old stamp when it goes on: the pause is no round trip, and the window stays.
#[test]
fn a_pause_is_no_delay() {
    let mut path = steered("ledbatpp", 7, &[]);
    path.send_segments(100).run(10_000);
    let before = *path.granted.last().unwrap();
    path.now += Span::from_secs(20);
    path.send_segments(200).run(60_000);
    path.assert_complete(200);
    // What goes on at once waits behind itself, 1 ms for each segment.
    assert!(shown(&path, "queueing_delay_ms") < 20.0);
    let after = &path.granted[101..];
    assert!(after.iter().all(|&window| window >= before - 0.1), "{before} before: {}", windows(&path));
}

/// A sender that never has more than two segments out does not use what it is granted, which so does not grow.
#[test]
fn an_unused_window_does_not_grow() {
    let mut path = steered("ledbatpp", 0, &[]);
    for round in 1..60 {
        path.send_segments(2 * round).run(200 * round);
    }
    let most = path.granted.iter().copied().fold(0.0, f64::max);
    assert!(most <= 11.0, "{}", windows(&path));
}

/// Section 4.1: the smaller of the buffer and the control's window.
#[test]
fn the_buffer_bounds_the_window() {
    let mut path = steered("ledbatpp", 0, &[("receive_window", packets(6.0))]);
    path.send_segments(100).run(60_000);
    path.assert_complete(100);
    assert!(path.granted.iter().all(|&window| window <= 6.0), "{}", windows(&path));
}

/// RFC 9293: 16 bits of the window without a scale are 65535 B, which hold 45 segments of 1448 B.
#[test]
fn a_window_without_scale_ends_at_64_kib() {
    let mut path = steered("ledbatpp", 0, &[]);
    path.send_segments(3000).run(60_000);
    path.assert_complete(3000);
    let most = path.granted.iter().copied().fold(0.0, f64::max);
    assert_eq!((most * 1448.0).round(), 65_535.0);
}

/// RFC 7323: with a scale of 14 a unit is 16 KiB, 11.3 segments, and no smaller window can be told.
#[test]
fn a_coarse_window_has_few_values() {
    let mut path = steered("ledbatpp", 14, &[("initial_window", Value::Integer(2))]);
    path.send_segments(400).run(60_000);
    path.assert_complete(400);
    let unit = 16_384.0 / 1448.0;
    for &window in &path.granted {
        assert!((window / unit).fract() < 1e-9 && window >= unit, "{}", windows(&path));
    }
}

/// With one-way delays, as LEDBAT has them: clocks and TSval of an acknowledgement that waited do not change them.
#[test]
fn one_way_delays() {
    let mut path = steered("ledbat", 7, &[("ack_every", Value::Integer(2))]);
    path.send_segments(300).run(60_000);
    path.assert_complete(300);
    let least = path.granted.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
    assert!(least > -0.1, "{}", windows(&path));
    // One segment per round trip, and slower at first: a delayed acknowledgement makes a round longer.
    let (grown, rounds) = (path.granted.last().unwrap() - 2.0, path.now.since(sojourn_core::Time::ZERO));
    assert!(grown > 6.0 && rounds > Span::from_secs(2), "{}", windows(&path));
}
