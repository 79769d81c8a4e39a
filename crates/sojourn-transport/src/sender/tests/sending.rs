//! When and what a sender sends: windows, pacing, the application.

use super::network::{Network, network};
use sojourn_core::registry::Value;
use sojourn_core::{Amount, Span};

fn sends(path: &Network) -> Vec<u64> {
    let millis = |line: &String| line.trim().split(' ').next().unwrap().parse().unwrap();
    let sent = |line: &String| {
        let list = line.split(": ").nth(1).unwrap().split('|').next().unwrap();
        list.split_whitespace().count()
    };
    path.log.iter().flat_map(|line| std::iter::repeat_n(millis(line), sent(line))).collect()
}

/// RFC 6928: ten segments at once.
#[test]
fn the_initial_window() {
    let mut path = network(&[], &[]);
    path.send_forever();
    assert_eq!(sends(&path), [0; 10]);
}

/// The receive window limits what is outstanding, and then the congestion window does not grow.
#[test]
fn the_receive_window() {
    let window = Value::Amount(Amount::Packets(4.0));
    let mut path = network(&[("receive_window", window), ("initial_window", Value::Integer(8))], &[]);
    path.send_forever().run(1000);
    assert_eq!(path.sender.board.outstanding(), 4);
    assert_eq!(path.window(), 8.0);
}

/// B7 of the digest: a window that the application does not use does not grow.
#[test]
fn an_unused_window_does_not_grow() {
    let mut path = network(&[("initial_window", Value::Integer(10))], &[]);
    path.send_segments(9).run(1000);
    assert_eq!(path.window(), 10.0);
    path.assert_complete(9);
}

/// The last segment carries the rest.
#[test]
fn a_short_last_segment() {
    let mut path = network(&[], &[]);
    path.sender.supply(3 * 1448 + 1);
    path.transmit("start");
    path.run(1000);
    assert_eq!(path.payload_bytes, [1448, 1448, 1448, 1]);
    path.assert_complete(4);
    let mut path = network(&[], &[]);
    path.sender.supply(2 * 1448);
    path.transmit("start");
    path.run(1000);
    assert_eq!(path.payload_bytes, [1448, 1448]);
    path.assert_complete(2);
}

/// Pacing spreads a window over a round trip: 10 segments, gain 2, 100 ms, so 5 ms apart.
#[test]
fn pacing() {
    let options = [("pacing", Value::Number(2.0)), ("handshake", Value::Boolean(true))];
    let mut path = network(&options, &[]);
    path.send_forever().run(145);
    assert_eq!(sends(&path)[1..], [100, 105, 110, 115, 120, 125, 130, 135, 140, 145], "{}", path.table());
    path.run(3000);
    assert!(path.window() > 100.0, "a paced flow grows");
}

/// An application that stops: what is out is still repaired, and it may come back.
#[test]
fn stop_and_come_back() {
    let mut path = network(&[], &[]);
    path.drops = Box::new(|number, nth| (number, nth) == (4, 0));
    path.send_forever().run(120);
    path.sender.stop_supply();
    let sent = path.sender.board.next();
    path.run(5000);
    path.assert_complete(sent);
    path.sender.restart();
    path.sender.supply_forever();
    assert_eq!((path.window(), path.threshold()), (10.0, f64::INFINITY));
    path.transmit("resume");
    assert_eq!(path.sender.board.outstanding(), 10);
    path.run(5300);
    assert!(path.receiver.next() > sent + 10);
    assert!(path.payload_bytes.iter().all(|&bytes| bytes == 1448));
}

/// Nothing is asked of the network before the application has data.
#[test]
fn silence_without_data() {
    let mut path = network(&[("handshake", Value::Boolean(true))], &[]);
    path.transmit("nothing");
    path.run(10_000);
    assert_eq!(path.log.len(), 1);
    assert!(path.times_sent.is_empty());
}

/// A window below one segment: single segments, further apart than a round trip.
#[test]
fn less_than_one_segment() {
    let mut path = network(&[("initial_window", Value::Integer(1))], &[]);
    path.sender.rtt.sample(Span::from_millis(100));
    path.sender.supply_forever();
    path.sender.pace(path.now, 0.25);
    assert_eq!(path.sender.next_send_at.as_nanos(), 400_000_000);
    path.transmit("too early");
    assert_eq!(sends(&path), Vec::<u64>::new());
    path.run(400);
    assert_eq!(sends(&path), [400]);
}
