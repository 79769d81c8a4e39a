//! When and what a sender sends: windows, pacing, the application.

use super::network::{Network, network};
use sojourn_congestion::Control;
use sojourn_core::registry::Value;
use sojourn_core::{Amount, Span, Stream};

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
    let options = [("pacing", Value::Number(2.0)), ("handshake", Value::Choice("true"))];
    let mut path = network(&options, &[]);
    path.send_forever().run(145);
    assert_eq!(sends(&path)[1..], [100, 105, 110, 115, 120, 125, 130, 135, 140, 145], "{}", path.table());
    path.run(3000);
    assert!(path.window() > 100.0, "a paced flow grows");
}

/// Random pauses: the first acknowledgement after a burst begins one of 0 to 40 ms, and at its end goes all that the window
/// allows. A lost segment is sent again at once.
#[test]
fn random_pauses() {
    let mut path = network(&[("receive_window", Value::Amount(Amount::Packets(20.0)))], &[]);
    path.sender = path.sender.with_jitter(Span::from_millis(40), Stream::new(1, "jitter"));
    path.drops = Box::new(|number, nth| (number, nth) == (100, 0));
    path.send_forever().run(20_000);
    let at = |line: &String| line.trim().split(' ').next().unwrap().parse::<u64>().unwrap();
    let times = sends(&path);
    assert_eq!(times[..11], [[0; 10].as_slice(), &times[10..11]].concat(), "nothing is sent before the pause is over");
    let bursts: Vec<u64> = path.log.iter().filter(|line| line.contains("timer")).map(at).collect();
    assert!(bursts.len() > 100, "{}", path.table());
    let acks: Vec<u64> = path.log.iter().filter(|line| line.contains("ack ")).map(at).collect();
    let mut pauses = Vec::new();
    for pair in bursts.windows(2) {
        let heard = acks[acks.partition_point(|&ack| ack <= pair[0])];
        pauses.push((pair[1] - heard.min(pair[1])) as f64);
    }
    let mean = pauses.iter().sum::<f64>() / pauses.len() as f64;
    assert!((mean - 20.0).abs() < 3.0, "{mean}");
    assert!(pauses.iter().all(|&pause| pause <= 41.0), "{pauses:?}");
    let answered = path.log.iter().find(|line| line.contains("ack ") && !line.contains(": |"));
    assert!(answered.is_some_and(|line| line.contains(": 100again ")), "{answered:?}");
}

/// Without data to send after it there is one pause, not one after the other.
#[test]
fn one_pause_without_data() {
    let mut path = network(&[], &[]);
    path.sender = path.sender.with_jitter(Span::from_millis(40), Stream::new(1, "jitter"));
    path.send_segments(5).run(10_000);
    path.assert_complete(5);
    assert_eq!(path.log.iter().filter(|line| line.contains("timer")).count(), 1, "{}", path.table());
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
    let threshold = path.threshold();
    path.sender.supply_forever();
    path.transmit("resume");
    assert_eq!((path.window(), path.threshold()), (7.0, threshold), "RW = min(IW, cwnd), and a threshold that stays");
    assert_eq!(path.sender.board.outstanding(), 7);
    path.run(5300);
    assert!(path.receiver.next() > sent + 7);
    assert!(path.payload_bytes.iter().all(|&bytes| bytes == 1448));
}

/// Nothing is asked of the network before the application has data.
#[test]
fn silence_without_data() {
    let mut path = network(&[("handshake", Value::Choice("true"))], &[]);
    path.transmit("nothing");
    path.run(10_000);
    assert_eq!(path.log.len(), 1);
    assert!(path.times_sent.is_empty());
}

/// A window below one segment: single segments, further apart than a round trip.
#[test]
fn less_than_one_segment() {
    let mut path = network(&[("initial_window", Value::Integer(1))], &[]);
    path.sender.rtt.sample(Span::from_millis(100), 0, 0);
    path.sender.supply_forever();
    path.sender.pace(path.now, 0.25);
    assert_eq!(path.sender.pacing.next_at().as_nanos(), 400_000_000);
    path.transmit("too early");
    assert_eq!(sends(&path), Vec::<u64>::new());
    path.run(400);
    assert_eq!(sends(&path), [400]);
}

/// RFC 5681 section 4.1 and Linux: what more than a timeout without sending leaves of a window of 40 with a threshold of 30.
#[test]
fn a_pause_leaves_what_the_rule_says() {
    for (rule, pause, expected) in [
        ("restart", 900, (40.0, 30.0)),
        ("restart", 1500, (10.0, 30.0)),
        ("decay", 900, (40.0, 30.0)),
        ("decay", 1500, (20.0, 30.0)),
        ("decay", 2500, (10.0, 30.0)),
        ("decay", 60_000, (10.0, 30.0)),
        ("keep", 60_000, (40.0, 30.0)),
    ] {
        let mut path = network(&[("after_idle", Value::Choice(rule))], &[]);
        path.send_segments(20).run(400);
        path.sender.control.set_window(40.0, 30.0);
        let last = path.times_sent.len() as u64;
        assert_eq!(last, 20);
        let sent = path.log.iter().rfind(|line| line.contains(" 19 ")).expect("the last segment");
        let sent: u64 = sent.split_whitespace().next().unwrap().parse().unwrap();
        path.run(sent + pause);
        path.sender.supply(1448 * 100);
        path.transmit("again");
        assert_eq!((path.window(), path.threshold()), expected, "{rule} after {pause} ms\n{}", path.table());
        assert_eq!(f64::from(path.sender.board.outstanding()), expected.0);
    }
}

/// Linux: a window of which the application uses a part stays as long as acknowledgements come (`tcp_cong_avoid` takes them
/// for its use).
#[test]
fn a_window_used_in_part_stays_while_acknowledgements_come() {
    for (rule, most, expected) in [("decay", 12, (40.0, 5.0)), ("restart", 12, (40.0, 5.0)), ("decay", 40, (40.0, 5.0))]
    {
        let mut path = network(&[("after_idle", Value::Choice(rule))], &[]);
        path.sender.supply_forever();
        path.sender.stop_supply();
        path.sender.control.set_window(40.0, 5.0);
        let mut supplied = 0;
        while path.now < sojourn_core::Time::ZERO + Span::from_millis(1900) && path.window() >= 40.0 {
            let outstanding = path.sender.board.outstanding();
            supplied += u64::from(most - outstanding.min(most));
            path.sender.supply(1448 * supplied);
            path.transmit("supply");
            let next = path.now.as_nanos() / 1_000_000 + 10;
            path.run(next);
        }
        let reached = (path.window().min(40.0), path.threshold());
        assert_eq!(reached, expected, "{rule} {most}");
    }
}
