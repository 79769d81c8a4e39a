//! Vegas against the formulas of its sources, and against its own laws.

use super::DESCRIPTOR;
use crate::script::{BASE_RTT, Round, Script, ack, in_fractions, params};
use crate::{Ack, AnyControl, Congestion, Control, Path, Repair, Signal, Start, Unused};
use Round::{Idle, Loss, Mark, Queue, Timeout};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Span, Stream};

fn script(preset: &str, changes: &[(&str, Value)]) -> Script {
    Script::new(&in_fractions(&DESCRIPTOR, preset, changes))
}

fn millis(millis: u64) -> Span {
    Span::from_millis(millis)
}

/// Compares tables.
#[track_caller]
fn same(found: &str, expected: &str) {
    assert_eq!(found, expected, "\nfound:\n{found}\nexpected:\n{expected}");
}

/// A flow past slow start with a window of 20 and a base RTT of 50 ms lives through a round with the given queues in
/// milliseconds; by how much the window changes when the round ends.
fn after_round(preset: &str, changes: &[(&str, Value)], queues: &[u64]) -> f64 {
    let mut script = script(preset, changes);
    script.begin(if preset == "ns3" { 21.0 } else { 40.0 });
    script.congestion(Signal::Loss);
    let ended = |script: &mut Script, queue| {
        script.now += millis(1000);
        ack(script.now, 20.0, queue)
    };
    let first = ended(&mut script, Span::ZERO);
    script.control.on_ack(&Ack { window_limited: false, ..first });
    assert_eq!(script.window(), 20.0);
    for (number, &queue) in queues.iter().enumerate() {
        let late = ack(script.now, 20.0, millis(queue));
        if number + 1 < queues.len() {
            script.control.on_ack(&late);
            assert_eq!(script.window(), 20.0, "between the ends of rounds nothing moves");
        } else {
            script.control.on_ack(&Ack { sent: script.now, ..late });
        }
    }
    script.window() - 20.0
}

/// Window 20 and base 50 ms. Linux: 20 x queue/50; ns-3: 20 less floor(20 x 50/(50 + queue)).
#[test]
fn the_backlog_decides_once_per_round_trip() {
    for (preset, queue, change) in [
        ("linux", 4, 1.0),
        ("linux", 5, 0.0),
        ("linux", 12, 0.0),
        ("linux", 13, -1.0),
        ("ns3", 2, 1.0),
        ("ns3", 3, 0.0),
        ("ns3", 12, 0.0),
        ("ns3", 13, -1.0),
    ] {
        assert_eq!(after_round(preset, &[], &[queue; 4]), change, "{preset} {queue} ms");
    }
}

/// Linux 2.6.22 starts from the window of the round before, one more or less, and moves by one towards that: after a
/// loss it first rises towards the window before, then it moves in every other round. In halves 20 less
/// 20 x 50/(50 + queue) is 1.5 at 4 ms, where whole segments would be 2, and 4.5 at 14 ms.
#[test]
fn a_lagging_window_moves_in_every_other_round() {
    for (queue, windows) in
        [(4, [21.0, 21.0, 22.0, 22.0, 23.0, 23.0, 24.0]), (14, [21.0, 20.0, 20.0, 19.0, 19.0, 18.0, 18.0])]
    {
        let mut script = script("linux-2.6.22", &[]);
        script.now += millis(1000);
        script.begin(40.0);
        script.congestion(Signal::Loss);
        // The base RTT.
        script.control.on_ack(&Ack { sent: sojourn_core::Time::ZERO, ..ack(script.now, 20.0, Span::ZERO) });
        let found = windows.map(|_| {
            script.now += millis(1000);
            for ends in [false, false, true] {
                let ack = ack(script.now, 20.0, millis(queue));
                let sent = if ends { script.now } else { sojourn_core::Time::ZERO };
                script.control.on_ack(&Ack { sent, ..ack });
            }
            script.window()
        });
        assert_eq!(found, windows, "{queue} ms");
    }
}

/// ns-2 rounds (r - b)/r of the flight: 20 x 4/54 is 1, 20 x 9/59 is 3, 20 x 11/61 is 4.
#[test]
fn ns2_counts_the_flight_to_the_nearest() {
    let half = ("loss", Value::Choice("half"));
    for (queue, change) in [(1, 1.0), (2, 0.0), (9, 0.0), (11, -1.0)] {
        assert_eq!(after_round("ns2", &[half], &[queue; 4]), change, "{queue} ms");
    }
}

/// Where a round counts by its mean, one quick acknowledgement does not hide a queue.
#[test]
fn a_round_counts_by_its_least_or_its_mean() {
    for (rtt, change) in [("least", 1.0), ("mean", -1.0)] {
        assert_eq!(after_round("linux", &[("round_rtt", Value::Choice(rtt))], &[40, 0, 40, 40]), change, "{rtt}");
    }
}

#[test]
fn a_round_with_too_few_samples_counts_as_reno() {
    assert_eq!(after_round("linux", &[], &[40, 40, 40]), -1.0);
    assert!((after_round("linux", &[], &[40, 40]) - 0.05).abs() < 1e-12);
}

/// With more than gamma segments queued, the window becomes what the rate fills, 20 x 50/60, and one more.
#[test]
fn slow_start_leaves_at_the_rate() {
    for (exit, left) in [("rate", 17.0), ("eighth", 17.5)] {
        let mut script = script("linux", &[("slow_start_exit", Value::Choice(exit))]);
        script.begin(20.0);
        script.now += millis(1000);
        let first = ack(script.now, 20.0, Span::ZERO);
        for number in 0..4 {
            let late = ack(script.now, 20.0, millis(10));
            let sent = if number == 3 { script.now } else { late.sent };
            script
                .control
                .on_ack(&Ack { window_limited: false, ..if number == 0 { first } else { Ack { sent, ..late } } });
        }
        assert_eq!((script.window(), script.control.slow_start_threshold() <= left), (left, true), "{exit}");
    }
}

#[test]
fn a_loss_leaves_what_the_source_says() {
    for (preset, kept) in [("linux", 8.0), ("ns2", 12.0), ("ns3", 15.0)] {
        let mut script = script(preset, &[]);
        script.begin(16.0);
        script.congestion(Signal::Loss);
        assert_eq!((script.window(), script.control.slow_start_threshold()), (kept, kept), "{preset}");
        script.recovered(Repair::Partial, 3.0);
        assert_eq!(script.window(), 4.0);
        script.begin(16.0);
        script.congestion(Signal::Timeout { repeated: false });
        let threshold = if preset == "ns3" { 15.0 } else { 8.0 };
        assert_eq!((script.window(), script.control.slow_start_threshold()), (1.0, threshold), "{preset}");
    }
}

#[test]
fn an_unused_window_and_a_recovery_grow_nothing() {
    for changes in [&[][..], &[("gamma", Value::Number(1000.0))]] {
        let mut script = script("linux", changes);
        for number in 0..100 {
            script.now += millis(50);
            let plain = ack(script.now, 2.0, Span::ZERO);
            script.control.on_ack(&Ack { window_limited: number % 2 == 0, in_recovery: number % 2 == 0, ..plain });
            script.control.on_ack(&Ack { marked: true, ..plain });
        }
        assert_eq!(script.window(), 2.0);
    }
}

/// After idling a longer path is not a queue.
#[test]
fn idling_forgets_the_base() {
    let mut flow = script("linux", &[]);
    flow.table(&[Queue(0), Idle(3), Queue(80), Queue(80), Queue(80)]);
    assert_eq!(flow.window(), 16.0);
}

#[test]
fn alpha_must_not_exceed_beta() {
    let path = Path { mss_bytes: 1460, header_bytes: 52, smallest_packet_bytes: 52, initial_window: 2.0, sack: true };
    let changes = [("alpha", Value::Number(5.0))];
    let built = AnyControl::build(&params(&DESCRIPTOR, "linux", &changes), &path, Stream::new(1, "control"));
    assert_eq!(built.unwrap_err().parameter, "alpha");
}

const STORY: &[&[Round]] = &[
    &[Queue(0); 6],
    &[Queue(2); 4],
    &[Queue(10); 4],
    &[Loss(10)],
    &[Queue(0); 4],
    &[Mark(0)],
    &[Timeout],
    &[Queue(0); 6],
    &[Queue(40); 4],
    &[Idle(3)],
    &[Queue(0); 4],
];

#[test]
fn linux_over_round_trips() {
    same(
        &script("linux", &[]).table(&STORY.concat()),
        "queue 0 ms: 4 8 16 32 64 128\n\
         queue 2 ms: 256 375 374 373\n\
         queue 10 ms: 372 371 370 369\n\
         loss at 10 ms: 184\n\
         queue 0 ms: 184 185 186 187\n\
         mark at 0 ms: 94\n\
         timeout: 1\n\
         queue 0 ms: 2 4 8 16 32 48\n\
         queue 40 ms: 47 47 46 45\n\
         idle 3 s: 2\n\
         queue 0 ms: 4 8 16 32",
    );
}

#[test]
fn ns2_over_round_trips() {
    same(
        &script("ns2", &[]).table(&STORY.concat()),
        "queue 0 ms: 2 4 5 8 12 17\n\
         queue 2 ms: 28 37 63 55\n\
         queue 10 ms: 54 53 52 51\n\
         loss at 10 ms: 37\n\
         queue 0 ms: 37 38 39 40\n\
         mark at 0 ms: 31\n\
         timeout: 1\n\
         queue 0 ms: 1 2 3 3 6 8\n\
         queue 40 ms: 7 7 7 7\n\
         idle 3 s: 2\n\
         queue 0 ms: 3 3 4 5",
    );
}

#[test]
fn ns3_over_round_trips() {
    same(
        &script("ns3", &[]).table(&STORY.concat()),
        "queue 0 ms: 4 8 16 32 64 128\n\
         queue 2 ms: 256 375 374 373\n\
         queue 10 ms: 372 371 370 369\n\
         loss at 10 ms: 367\n\
         queue 0 ms: 367 368 369 370\n\
         mark at 0 ms: 367\n\
         timeout: 1\n\
         queue 0 ms: 2 4 8 16 32 64\n\
         queue 40 ms: 71 71 70 69\n\
         idle 3 s: 2\n\
         queue 0 ms: 4 8 16 32",
    );
}

/// On a link of one segment per 1.2 ms with a base RTT of 50 ms: 41.7 segments fill the pipe, 2 to 4 more may wait.
#[test]
fn alone_on_a_link_a_few_segments_wait() {
    for (preset, least, most) in [("linux", 2.0, 5.0), ("ns2", 1.0, 3.5), ("ns3", 2.0, 5.0)] {
        let mut script = script(preset, &[]);
        let mut waiting = 0.0;
        while script.now.as_secs_f64() < 20.0 {
            let segments = script.window().floor() as u64;
            let queue = (Span::from_micros(1200) * segments).saturating_sub(BASE_RTT);
            waiting = queue.ratio(Span::from_micros(1200));
            for _ in 0..segments {
                script.now += (BASE_RTT + queue) / segments;
                let ack = ack(script.now, script.window(), queue);
                script.control.on_ack(&ack);
            }
        }
        assert!((least..=most).contains(&waiting), "{preset}: {waiting}");
    }
}

proptest! {
    #[test]
    fn the_window_obeys_its_bounds(
        preset in prop::sample::select(vec!["linux", "ns2", "ns3"]),
        events in prop::collection::vec((0u64..60, 0u64..300, 0u8..60), 1..400),
    ) {
        let mut script = script(preset, &[]);
        for (pause, queue, kind) in events {
            script.now += millis(pause);
            let (before, threshold) = (script.window(), script.control.slow_start_threshold());
            let signal = match kind {
                0 => Some(Signal::Loss),
                1 => Some(Signal::Ecn),
                2 => Some(Signal::Timeout { repeated: false }),
                _ => None,
            };
            if let Some(signal) = signal {
                let flight = before.floor();
                script.control.on_congestion(&Congestion { now: script.now, signal, flight, pipe: flight, smoothed_rtt: BASE_RTT, stage: crate::Stage::New });
                prop_assert!(script.window() <= before.max(2.0));
            } else {
                let ack = ack(script.now, before, millis(queue));
                script.control.on_ack(&ack);
                prop_assert!(script.window() <= before + 1.0);
                let slow_start = before < threshold;
                prop_assert!(slow_start || script.window() >= before - 1.0, "one segment less at most");
            }
            prop_assert!(script.window() >= 1.0 && script.window().is_finite());
        }
    }
}

/// Linux: sending that starts again in a timeout's repair makes delay decide there too (`tcp_vegas_init`): slow start goes on,
/// but at the threshold nothing grows until the repair is over. Without that start it is Reno.
#[test]
fn a_repair_that_starts_anew_is_led_by_delay() {
    let repaired = |starts: bool| {
        let mut script = Script::new(&params(&DESCRIPTOR, "linux", &[]));
        script.begin(20.0);
        script.now += Span::from_secs(1);
        script.congestion(Signal::Timeout { repeated: false });
        script.control.set_window(1.0, 4.0);
        if starts {
            let (idle, timeout) = (Span::ZERO, Span::from_secs(1));
            let start = Start { now: script.now, idle, timeout, app_limited: false, unused: Unused::Keep };
            script.control.on_restart_of_repair(&start);
        }
        for _ in 0..12 {
            script.now += Span::from_millis(10);
            let ack = ack(script.now, script.window(), Span::ZERO);
            script.control.on_ack(&Ack { orderly: false, ..ack });
        }
        script.window()
    };
    assert_eq!([repaired(true), repaired(false)], [4.0, 6.0]);
}
