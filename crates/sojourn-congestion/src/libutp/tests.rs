//! libutp's control against the library's arithmetic, and against its own laws.

use super::DESCRIPTOR;
use super::drift::Drift;
use crate::script::{BASE_DELAY_NANOS, BASE_RTT, Round, Script, ack, params};
use crate::{Ack, AnyControl, Congestion, Control, Path, Signal};
use Round::{Idle, Loss, Mark, Queue, Timeout};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Span, Stream, Time};

/// Payload of the script's packets.
const PACKET: f64 = 1460.0;

fn script(changes: &[(&str, Value)]) -> Script {
    Script::new(&params(&DESCRIPTOR, "libutp", changes))
}

fn millis(millis: u64) -> Span {
    Span::from_millis(millis)
}

/// Compares tables.
#[track_caller]
fn same(found: &str, expected: &str) {
    assert_eq!(found, expected, "\nfound:\n{found}\nexpected:\n{expected}");
}

fn bytes(script: &Script) -> f64 {
    let mut window = 0.0;
    script.control.probe(&mut |name, value| {
        if name == "window_bytes" {
            window = value;
        }
    });
    window
}

fn queueing_ms(script: &Script) -> f64 {
    let mut queueing = f64::NAN;
    script.control.probe(&mut |name, value| {
        if name == "queueing_delay_ms" {
            queueing = value;
        }
    });
    queueing
}

/// A flow without slow start that has grown to ten packets or a little more on an empty path.
fn ten_packets(changes: &[(&str, Value)]) -> Script {
    let base = [("slow_start", Value::Boolean(false)), ("filter", Value::Integer(1))];
    let mut script = script(&[&base[..], changes].concat());
    while bytes(&script) < 10.0 * PACKET {
        script.round(Queue(0));
    }
    script
}

/// A whole window of bytes acknowledged at once: 3000 B at no delay, none at 100 ms, 1500 B less at 150 ms.
#[test]
fn one_round_trip_at_each_delay() {
    for (queue, change) in [(0, 3000.0), (50, 1500.0), (100, 0.0), (150, -1500.0), (300, -6000.0)] {
        let mut script = ten_packets(&[]);
        let before = bytes(&script);
        let packets = (before / PACKET).floor();
        script.whole_window(packets as u32, millis(queue));
        let expected = (before + change * packets * PACKET / before).floor();
        assert!((bytes(&script) - expected).abs() <= 1.0, "{queue} ms: {} from {before}", bytes(&script));
    }
}

/// In slow start a window's worth of acknowledgements adds a packet, or what step 2 adds if that is more.
#[test]
fn slow_start_adds_the_larger_of_a_packet_and_the_gain() {
    for (queue, change) in [(0, 3000.0), (20, 2400.0), (60, PACKET), (90, PACKET)] {
        let mut script = script(&[("filter", Value::Integer(1))]);
        script.whole_window(1, Span::ZERO);
        let before = bytes(&script);
        let packets = before / PACKET;
        script.now += millis(1);
        let plain = ack(script.now, packets, millis(queue));
        script.control.on_ack(&plain);
        assert_eq!(bytes(&script), (before + change / packets).floor(), "{queue} ms");
    }
}

#[test]
fn slow_start_ends_beyond_90_percent_of_the_target_or_at_the_threshold() {
    let mut flow = script(&[("filter", Value::Integer(1))]);
    flow.whole_window(1, Span::ZERO);
    let before = bytes(&flow);
    assert!(flow.control.slow_start_threshold() > 700.0);
    flow.whole_window(1, millis(91));
    assert_eq!(bytes(&flow), before, "the acknowledgement that ends slow start moves nothing");
    assert_eq!(flow.control.slow_start_threshold(), before / PACKET);
    // A timeout begins it again, with the old threshold.
    flow.congestion(Signal::Timeout { repeated: false });
    assert_eq!((bytes(&flow), flow.control.slow_start_threshold()), (PACKET, before / PACKET));
    for _ in 0..20 {
        flow.whole_window(1, millis(80));
    }
    assert!(bytes(&flow) > before, "beyond the threshold it is LEDBAT again");
    assert!(bytes(&flow) < before + 20.0 * 600.0);
}

#[test]
fn a_loss_halves_at_most_every_100_ms() {
    let mut script = ten_packets(&[]);
    let before = bytes(&script);
    script.congestion(Signal::Loss);
    assert_eq!(bytes(&script), (before / 2.0).floor());
    script.now += millis(99);
    script.congestion(Signal::Ecn);
    assert_eq!(bytes(&script), (before / 2.0).floor());
    script.now += millis(1);
    script.congestion(Signal::Loss);
    assert_eq!(bytes(&script), ((before / 2.0).floor() / 2.0).floor());
}

/// Grows neither where the application is slow nor at a full buffer, but shrinks.
#[test]
fn an_application_that_is_slow_for_a_second_stops_growth() {
    let mut script = ten_packets(&[]);
    let before = bytes(&script);
    let give = |script: &mut Script, pause, queue| {
        script.now += pause;
        let plain = ack(script.now, 10.0, queue);
        script.control.on_ack(&Ack { window_limited: false, ..plain });
        bytes(script)
    };
    let after = give(&mut script, millis(1000), Span::ZERO);
    assert!(after > before);
    assert_eq!(give(&mut script, millis(1), Span::ZERO), after);
    assert!(give(&mut script, millis(1), millis(200)) < after);
}

#[test]
fn the_send_buffer_bounds_the_window() {
    let mut flow = ten_packets(&[("send_buffer_bytes", Value::Integer(16_000))]);
    flow.table(&[Queue(0); 5]);
    assert_eq!(bytes(&flow), 16_000.0);
    let path = Path { mss_bytes: 1460, header_bytes: 52, smallest_packet_bytes: 52, initial_window: 2.0, sack: true };
    let changes = [("send_buffer_bytes", Value::Integer(1500)), ("min_window_bytes", Value::Integer(2000))];
    let built = AnyControl::build(&params(&DESCRIPTOR, "libutp", &changes), &path, Stream::new(1, "control"));
    assert_eq!(built.unwrap_err().parameter, "send_buffer_bytes");
}

/// Down to 10 B, where nothing goes out until the timer has gone off: then the flow starts anew with one packet.
#[test]
fn below_a_packet_the_flow_waits_for_the_timeout() {
    let mut script = ten_packets(&[("slow_start", Value::Boolean(true))]);
    assert!(!script.control.waits_for_timeout());
    for _ in 0..1000 {
        script.now += millis(1);
        let late = ack(script.now, 10.0, millis(150));
        script.control.on_ack(&late);
    }
    assert_eq!((bytes(&script), script.control.waits_for_timeout()), (10.0, true));
    let alone = ack(script.now, 1.0, millis(150));
    script.control.on_ack(&alone);
    assert_eq!(bytes(&script), 10.0, "an acknowledgement is no timeout");
    script.congestion(Signal::Timeout { repeated: false });
    assert_eq!((script.window(), script.control.waits_for_timeout()), (1.0, false));
    // Slow start, which the delay of 150 ms ends at once.
    script.control.on_ack(&alone);
    assert_eq!((bytes(&script), script.control.slow_start_threshold()), (PACKET, 1.0));
}

#[test]
fn no_delay_is_longer_than_the_round_trip() {
    let mut script = ten_packets(&[]);
    let late = ack(script.now, 10.0, millis(80));
    script.control.on_ack(&Ack { rtt: Some(millis(60)), ..late });
    assert_eq!(queueing_ms(&script), 60.0);
    // The base was raised by the other 20 ms.
    script.control.on_ack(&ack(script.now, 10.0, millis(80)));
    assert_eq!(queueing_ms(&script), 60.0);
}

/// The way back becomes faster by 6 ms while this way becomes slower by 6 ms: the clocks ran apart.
#[test]
fn a_falling_base_of_the_way_back_raises_this_one() {
    for (correction, back_ms, expected) in [(true, 6, 0.0), (false, 6, 6.0), (true, 11, 11.0)] {
        let mut script = ten_packets(&[("skew_correction", Value::Boolean(correction))]);
        let skewed = ack(script.now, 10.0, millis(0));
        let delay = BASE_DELAY_NANOS + back_ms * 1_000_000;
        script.control.on_ack(&Ack { one_way_delay_nanos: Some(delay), ..skewed });
        assert_eq!(queueing_ms(&script), expected, "{correction} {back_ms}");
    }
}

/// A delay that falls by 480 ms per 5 s: after one slot the estimate is an eighth of that, and so on.
#[test]
fn a_clock_that_runs_away_is_fined() {
    let mut drift = Drift::new();
    let mut fines = Vec::new();
    for tenth in 0..2000u64 {
        let now = Time::ZERO + millis(100 * tenth);
        drift.sample(-9_600_000 * tenth as i64, now);
        if tenth % 500 == 499 {
            fines.push(drift.penalty_nanos() / 1_000_000);
        }
    }
    // In the end (480 - 200)/7 ms.
    assert_eq!(fines.last(), Some(&39));
    assert!(fines.is_sorted());
    let mut honest = Drift::new();
    for tenth in 0..2000u64 {
        honest.sample(-3_900_000 * tenth as i64, Time::ZERO + millis(100 * tenth));
        assert_eq!(honest.penalty_nanos(), 0);
    }
}

/// By hand: averages of the slots -100, -400 and -700 ms from the first sample, each over two samples.
#[test]
fn the_drift_is_a_rolling_average_of_slots() {
    let mut drift = Drift::new();
    let mut give = |ms: i64, at_ms: u64| {
        drift.sample((5_000 + ms) * 1_000_000, Time::ZERO + millis(at_ms));
        drift.penalty_nanos()
    };
    assert_eq!(give(0, 0), 0);
    assert_eq!(give(-16_000, 5_000), 0, "a slot ends after 5 s");
    // Three samples: -0, -16, -16 s; on average -10.667 s, of which an eighth counts: (1333.3 - 200)/7.
    assert_eq!(give(-16_000, 5_001) / 1_000, 161_904);
    // The next slot's average is -16 s: (7 x 1333.3 + 5333.3)/8 = 1833.3.
    assert_eq!(give(-16_000, 10_001) / 1_000, 233_333);
}

const STORY: &[&[Round]] = &[
    &[Queue(0); 6],
    &[Queue(50); 4],
    &[Queue(95); 3],
    &[Queue(200); 4],
    &[Loss(100)],
    &[Queue(0); 4],
    &[Mark(0), Timeout],
    &[Queue(0); 4],
    &[Idle(3)],
    &[Queue(0); 3],
];

#[test]
fn the_library_over_round_trips() {
    same(
        &script(&[]).table(&STORY.concat()),
        "queue 0 ms: 3 4 6 8 9 11\n\
         queue 50 ms: 12 13 14 15\n\
         queue 95 ms: 15 15 15\n\
         queue 200 ms: 14 12 9 7\n\
         loss at 100 ms: 3\n\
         queue 0 ms: 5 6 8 10\n\
         mark at 0 ms: 6\n\
         timeout: 1\n\
         queue 0 ms: 3 4 5 7\n\
         idle 3 s: 3\n\
         queue 0 ms: 4 6 8",
    );
}

/// Twice RFC 6817's growth, for as long as windows are in packets of 1460 B.
#[test]
fn it_grows_by_two_packets_where_ledbat_grows_by_one() {
    let mut flow = ten_packets(&[]);
    let before = bytes(&flow);
    flow.table(&[Queue(0); 10]);
    let growth = (bytes(&flow) - before) / PACKET;
    assert!((18.0..=20.6).contains(&growth), "{growth}");
}

proptest! {
    #[test]
    fn the_window_obeys_its_bounds(events in prop::collection::vec((0u64..300, 0u64..400, 1u32..4, 0u8..60), 1..400)) {
        let mut script = script(&[]);
        for (pause, queue, acked, kind) in events {
            script.now += millis(pause);
            let before = bytes(&script);
            let signal = match kind {
                0 => Some(Signal::Loss),
                1 => Some(Signal::Ecn),
                2 => Some(Signal::Timeout { repeated: false }),
                _ => None,
            };
            if let Some(signal) = signal {
                let flight = script.window().floor();
                script.control.on_congestion(&Congestion { now: script.now, signal, flight, pipe: flight, smoothed_rtt: BASE_RTT, stage: crate::Stage::New });
            } else {
                let plain = ack(script.now, script.window(), millis(queue));
                script.control.on_ack(&Ack { newly_acked: acked, ..plain });
                prop_assert!(bytes(&script) <= before.max(PACKET) + 3000.0, "no more than the gain at once");
            }
            prop_assert!(before == 0.0 || (10.0..=1_048_576.0).contains(&bytes(&script)));
            prop_assert!(script.window() > 0.0 && script.window().is_finite());
        }
    }

    /// Clocks may differ by any constant.
    #[test]
    fn offsets_between_clocks_cancel(
        offset in -4_000_000_000_000_000i64..4_000_000_000_000_000,
        queues in prop::collection::vec(0u64..300, 1..300),
    ) {
        let (mut plain, mut shifted) = (script(&[]), script(&[]));
        for queue in queues {
            for (script, offset) in [(&mut plain, 0), (&mut shifted, offset)] {
                script.now += millis(7);
                let ack = ack(script.now, script.window(), millis(queue));
                let delay = ack.one_way_delay_nanos.map(|nanos| nanos + offset);
                script.control.on_ack(&Ack { one_way_delay_nanos: delay, ..ack });
            }
            prop_assert_eq!(bytes(&plain), bytes(&shifted));
        }
    }
}
