//! Which round-trip time the estimator takes, and which one a control is told: Vegas shows the least it was told.

use super::network::{Network, first, network_of, preset, these};
use sojourn_core::Span;
use sojourn_core::registry::Value;

/// Two segments are acknowledged at once. A handshake of 100 ms sets the pace, so they are sent 50 ms apart.
fn delayed(segments: u64, more: &[(&str, Value)]) -> Network {
    let mut changes = vec![
        ("handshake", Value::Choice("true")),
        ("ack_every", Value::Integer(2)),
        ("initial_window", Value::Integer(2)),
        ("pacing", Value::Number(1.0)),
    ];
    changes.extend_from_slice(more);
    let mut path = network_of("vegas", &changes, &[]);
    path.send_segments(segments);
    path
}

fn extremes(path: &Network) -> (Span, Span) {
    (path.sender.rtt().min(), path.sender.rtt().max())
}

/// RFC 7323 section 4.3: segment 0 is sent at 100 ms and 1 at 150 ms; their acknowledgement leaves when 1 arrives and is
/// back at 251 ms. It echoes the time of 0, and the timeout allows for the wait: SRTT is (7 x 100 + 151) / 8 ms. The
/// network was as fast as 101 ms.
#[test]
fn a_control_is_told_of_the_newest_segment() {
    let mut path = delayed(2, &[]);
    path.run(10_000);
    assert_eq!(path.rtts, [151.0]);
    assert_eq!(path.sender.rtt().smoothed(), Span::from_micros(106_375));
    assert_eq!(path.shown("base_rtt_ms"), 101.0);
    assert_eq!(extremes(&path), (Span::from_millis(100), Span::from_millis(101)));
    path.assert_complete(2);
}

/// Nobody can tell a segment that waited for nothing but the receiver's timer from one in a queue: 101 + 100 ms.
#[test]
fn a_lone_segment_waits_for_the_timer() {
    let mut path = delayed(1, &[]);
    path.run(10_000);
    assert_eq!((path.rtts.clone(), path.shown("base_rtt_ms")), (vec![201.0], 201.0));
}

/// Without timestamps one segment is timed at a time (RFC 6298 section 4), here 0, while a control is told of 1.
#[test]
fn without_timestamps_the_oldest_is_timed() {
    let mut path = delayed(2, &[("timestamps", Value::Boolean(false))]);
    path.run(10_000);
    assert_eq!(path.sender.rtt().smoothed(), Span::from_micros(106_375));
    assert_eq!(path.shown("base_rtt_ms"), 101.0);
}

/// The timestamp that a retransmission brings back says how long that one took, but a control is told nothing of a
/// segment that was sent twice, nor does it count as an extreme.
#[test]
fn a_retransmission_tells_a_control_nothing() {
    let mut path = network_of("vegas", &[("initial_window", Value::Integer(1))], &[]);
    path.drops = these(&[(0, 0)]);
    path.send_segments(1).run(100_000);
    assert_eq!(path.rtts, [101.0]);
    assert!(path.shown("base_rtt_ms").is_nan());
    assert_eq!(extremes(&path), (Span::MAX, Span::ZERO));
}

/// Linux (`tcp_ack_update_rtt`): the acknowledgement of 2 is the first that arrives, and the oldest segment that it covers was
/// sent 50 ms before 2. The timestamp is that of 2, because the receiver has acknowledged the others.
#[test]
fn the_oldest_segment_tells_the_round_trip() {
    let last = |changes: &[(&str, Value)]| {
        let mut path = preset("linux", changes);
        path.ack_drops = Box::new(|ack| ack < 2);
        path.send_segments(2).run(50);
        path.send_segments(3).run(1000);
        path.assert_complete(3);
        path.rtts.clone()
    };
    assert_eq!(last(&[("timers", Value::Choice("linux-2.6"))]), [101.0]);
    assert_eq!(last(&[]), [151.0]);
}

/// The same behind a hole: there the newest of what is reported is what the control hears. Of what was sent again only the
/// timestamp tells, in whole milliseconds.
#[test]
fn what_is_reported_behind_a_hole_tells_a_round_trip() {
    let mut path = preset("linux", &[]);
    path.drops = first(&[0]);
    path.ack_drops = Box::new(|ack| ack < 1);
    path.send_segments(2).run(50);
    path.send_segments(3).run(1000);
    path.assert_complete(3);
    // 1 and 2 behind the hole, then 0, which is sent again when they are reported and reordering was waited for.
    assert_eq!(path.rtts[0], 151.0, "{}", path.table());
    assert_eq!(path.sender.rtt().min().as_millis_f64(), 101.0, "{}", path.table());
    assert_eq!(path.rtts[1].fract(), 0.0, "{}", path.table());
}

/// Linux since 4.20 tells BBR when pacing lets the next segment go; so it takes more for drained.
#[test]
fn departures_are_told() {
    let held = |timers| {
        let mut path = network_of("bbr", &[("timers", Value::Choice(timers))], &[]);
        path.send_forever().run(3000);
        let now = sojourn_core::Time::ZERO + Span::from_secs(3);
        (path.sender.present(now).held, path.sender.pacing.next_at().since(now))
    };
    assert_eq!(held("rfc").0, None);
    let (told, gap) = held("linux");
    assert_eq!(told, Some(gap));
    assert!(gap > Span::ZERO);
}
