//! LEDBAT against RFC 6817, against the modules' arithmetic, and against its own laws.

use super::DESCRIPTOR;
use crate::script::{BASE_DELAY_NANOS, BASE_RTT, Round, Script, ack, params};
use crate::{Ack, Congestion, Control, Signal};
use Round::{Idle, Loss, Mark, Queue, Timeout};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Span, Time};

fn script(preset: &str, changes: &[(&str, Value)]) -> Script {
    Script::new(&params(&DESCRIPTOR, preset, changes))
}

/// A flow with a window of about `window`, which has seen the path without a queue.
fn grown(preset: &str, window: f64, changes: &[(&str, Value)]) -> Script {
    let mut script = script(preset, changes);
    while script.window() < window {
        script.round(Queue(0));
    }
    script
}

fn millis(millis: u64) -> Span {
    Span::from_millis(millis)
}

/// Compares tables.
#[track_caller]
fn same(found: &str, expected: &str) {
    assert_eq!(found, expected, "\nfound:\n{found}\nexpected:\n{expected}");
}

// Worked numbers.

/// Window 10, all of it acknowledged in one round trip.
#[test]
fn one_round_trip_at_each_delay() {
    for (queue, change) in [(0, 1.0), (50, 0.5), (100, 0.0), (200, -1.0), (300, -2.0)] {
        let mut script = window_ten();
        script.whole_window(10, millis(queue));
        assert!((script.window() - 10.0 - change).abs() < 1e-12, "{queue} ms: {}", script.window());
    }
}

/// A flow with a window of exactly 10 and a base delay.
fn window_ten() -> Script {
    let changes = [("initial_window", Value::Number(10.0)), ("filter", Value::Integer(1))];
    let mut script = script("rfc", &changes);
    // An acknowledgement in recovery is measured and moves nothing.
    let ack = ack(script.now, 10.0, Span::ZERO);
    script.begin(10.0);
    script.control.on_ack(&Ack { in_recovery: true, ..ack });
    assert_eq!(script.window(), 10.0);
    script
}

#[test]
fn the_gains_of_growth_and_decrease_are_apart() {
    for (queue, change) in [(0, 0.5), (200, -3.0)] {
        let changes = [("gain", Value::Number(0.5)), ("decrease_gain", Value::Number(3.0))];
        let initial = [("initial_window", Value::Number(10.0)), ("filter", Value::Integer(1))];
        let mut script = script("rfc", &[&changes[..], &initial].concat());
        script.begin(10.0);
        let first = ack(script.now, 10.0, Span::ZERO);
        script.control.on_ack(&Ack { in_recovery: true, ..first });
        script.whole_window(10, millis(queue));
        assert!((script.window() - 10.0 - change).abs() < 1e-12, "{queue} ms: {}", script.window());
    }
}

// Tables of the window over round trips.

#[test]
fn the_rfc_over_round_trips() {
    let rounds = [
        vec![Queue(0); 10],
        vec![Queue(50); 6],
        vec![Queue(100); 3],
        vec![Queue(200); 4],
        vec![Loss(100)],
        vec![Queue(0); 4],
        vec![Mark(0), Timeout],
        vec![Queue(0); 4],
        vec![Queue(400); 8],
        vec![Idle(3)],
        vec![Queue(0); 3],
    ]
    .concat();
    same(
        &script("rfc", &[]).table(&rounds),
        "queue 0 ms: 2 3 4 4 5 6 7 8 8 9\n\
         queue 50 ms: 10 10 11 11 12 12\n\
         queue 100 ms: 12 12 12\n\
         queue 200 ms: 12 11 9 9\n\
         loss at 100 ms: 4\n\
         queue 0 ms: 5 6 6 7\n\
         mark at 0 ms: 4\n\
         timeout: 1\n\
         queue 0 ms: 2 2 3 4\n\
         queue 400 ms: 4 2 2 2 2 2 2 2\n\
         idle 3 s: 2\n\
         queue 0 ms: 2 3 4",
    );
}

#[test]
fn the_ns2_module_over_round_trips() {
    let rounds = [
        vec![Queue(0); 10],
        vec![Queue(50); 6],
        vec![Queue(100); 3],
        vec![Queue(200); 4],
        vec![Loss(100)],
        vec![Queue(0); 4],
        vec![Mark(0), Timeout],
        vec![Queue(0); 4],
        vec![Queue(400); 8],
        vec![Idle(3)],
        vec![Queue(0); 3],
    ]
    .concat();
    same(
        &script("ns2", &[]).table(&rounds),
        "queue 0 ms: 3 4 5 6 7 8 9 10 11 12\n\
         queue 50 ms: 12 13 13 14 14 15\n\
         queue 100 ms: 15 15 15\n\
         queue 200 ms: 14 13 12 11\n\
         loss at 100 ms: 5\n\
         queue 0 ms: 6 7 8 9\n\
         mark at 0 ms: 5\n\
         timeout: 1\n\
         queue 0 ms: 2 3 4 5\n\
         queue 400 ms: 3 1 1 1 1 1 1 1\n\
         idle 3 s: 1\n\
         queue 0 ms: 2 3 4",
    );
}

#[test]
fn slow_start_ends_with_loss_or_delay() {
    let rounds =
        [vec![Queue(0); 3], vec![Queue(60); 2], vec![Queue(95); 2], vec![Loss(95)], vec![Queue(0); 3]].concat();
    same(
        &script("ns3", &[]).table(&rounds),
        "queue 0 ms: 4 8 16\n\
         queue 60 ms: 32 64\n\
         queue 95 ms: 128 256\n\
         loss at 95 ms: 256\n\
         queue 0 ms: 256 257 258",
    );
    same(
        &script("rfc", &[("slow_start", Value::Choice("until-delay"))]).table(&rounds),
        "queue 0 ms: 4 8 16\n\
         queue 60 ms: 32 64\n\
         queue 95 ms: 67 67\n\
         loss at 95 ms: 33\n\
         queue 0 ms: 34 35 36",
    );
}

/// The module's own integers: cnt in milliseconds, window times target as its top.
#[test]
fn whole_segments_move_as_the_module_s_counter() {
    struct Module {
        window: i64,
        count: i64,
    }
    impl Module {
        fn ack(&mut self, queue: i64) {
            let offset = (100 - queue).min(100);
            let sum = self.count + offset;
            if sum >= 0 {
                self.count = sum;
                if self.count >= self.window * 100 {
                    self.window += 1;
                    self.count = 0;
                }
            } else if self.window > 1 {
                self.window -= 1;
                self.count = (self.window - 1) * 100;
            } else {
                self.count = 0;
            }
        }
    }
    let mut module = Module { window: 2, count: 0 };
    let mut script = script("ns2", &[("filter", Value::Integer(1))]);
    // The first sample is the base delay.
    let delays =
        (0..5000u64).map(|step| if step == 0 { 0 } else { (step * step / 7 + step / 3) % 230 * (step / 1000 % 2) });
    for queue in delays {
        script.now += millis(1);
        let ack = ack(script.now, script.window(), millis(queue));
        script.control.on_ack(&ack);
        module.ack(queue as i64);
        assert_eq!(script.window(), module.window as f64);
    }
    assert!(module.window > 10);
}

// Single rules.

#[test]
fn the_window_stays_within_what_was_in_flight() {
    let mut script = grown("rfc", 10.0, &[]);
    script.now += millis(50);
    let ack = ack(script.now, script.window(), Span::ZERO);
    script.control.on_ack(&Ack { flight: 4.0, ..ack });
    assert_eq!(script.window(), 5.0);
    script.control.on_ack(&Ack { flight: 0.0, ..ack });
    assert_eq!(script.window(), 2.0, "the floor is stronger");
}

#[test]
fn an_unused_window_does_not_grow_but_shrinks() {
    for preset in ["rfc", "ns2"] {
        let mut script = grown(preset, 10.0, &[]);
        let before = script.window();
        for _ in 0..20 {
            script.now += millis(50);
            let ack = ack(script.now, 100.0, Span::ZERO);
            script.control.on_ack(&Ack { window_limited: false, ..ack });
        }
        assert_eq!(script.window(), before, "{preset}");
    }
    let mut script = window_ten();
    script.now += millis(50);
    let ack = ack(script.now, 100.0, millis(200));
    script.control.on_ack(&Ack { window_limited: false, newly_acked: 10, ..ack });
    assert_eq!(script.window(), 9.0);
}

/// The base may be forgotten while the filter still holds a sample below the new one.
#[test]
fn a_delay_below_the_base_counts_as_no_queue() {
    let memory = [("base_history", Value::Integer(1)), ("base_period", Value::Span(millis(10)))];
    let mut script = script("rfc", &[&memory[..], &[("initial_window", Value::Number(10.0))]].concat());
    script.begin(10.0);
    for (at, queue) in [(9, 0), (11, 50)] {
        script.now = Time::ZERO + millis(at);
        let ack = ack(script.now, 10.0, millis(queue));
        script.control.on_ack(&Ack { in_recovery: at == 9, newly_acked: 10, ..ack });
    }
    script.control.probe(&mut |name, value| assert!(name != "queueing_delay_ms" || value == -50.0));
    assert_eq!(script.window(), 11.0);
}

#[test]
fn losses_halve_once_in_a_round_trip() {
    for signal in [Signal::Loss, Signal::Ecn] {
        let mut script = grown("rfc", 16.0, &[]);
        let before = script.window();
        script.congestion(signal);
        assert_eq!(script.window(), before / 2.0);
        script.now += millis(49);
        script.congestion(Signal::Loss);
        assert_eq!(script.window(), before / 2.0);
        script.now += millis(1);
        script.congestion(Signal::Loss);
        assert_eq!(script.window(), before / 4.0);
        for _ in 0..5 {
            script.now += millis(50);
            script.congestion(Signal::Loss);
        }
        assert_eq!(script.window(), 2.0);
        script.congestion(Signal::Timeout { repeated: false });
        assert_eq!(script.window(), 1.0);
        script.now += millis(50);
        script.congestion(Signal::Loss);
        assert_eq!(script.window(), 1.0, "a loss never raises the window");
    }
}

#[test]
fn whole_segments_are_halved_to_whole_segments() {
    let mut script = grown("ns2", 9.0, &[]);
    assert_eq!(script.window(), 9.0);
    script.congestion(Signal::Loss);
    assert_eq!(script.window(), 4.0);
}

#[test]
fn silence_restarts_where_it_is_asked_to() {
    // The acknowledgement that ends the silence already counts again, and the module's counter survives.
    for (preset, expected) in [("linux", 2.0), ("ns2", 10.0)] {
        let mut script = grown(preset, 10.0, &[]);
        script.now += millis(51);
        let ack = ack(script.now, script.window(), Span::ZERO);
        script.control.on_ack(&ack);
        assert_eq!(script.window(), expected, "{preset}");
    }
}

#[test]
fn one_acknowledgement_takes_no_more_than_allowed() {
    for (preset, changes, most) in
        [("ns2", vec![], 1.0), ("rfc", vec![("max_decrease", Value::Number(0.25))], 0.25), ("rfc", vec![], 10.0)]
    {
        let filter = vec![("filter", Value::Integer(1))];
        let mut script = grown(preset, 20.0, &[changes, filter].concat());
        let before = script.window();
        script.now += millis(10_000);
        let ack = ack(script.now, before, millis(20_000));
        script.control.on_ack(&ack);
        let taken = before - script.window();
        assert!(taken > 0.0 && taken <= most + 1e-9, "{preset}: {taken}");
    }
}

#[test]
fn without_delays_the_window_stands_still() {
    let mut script = script("rfc", &[]);
    for _ in 0..100 {
        script.now += millis(10);
        let ack = ack(script.now, script.window(), Span::ZERO);
        script.control.on_ack(&Ack { one_way_delay_nanos: None, ..ack });
    }
    assert_eq!(script.window(), 2.0);
    script.control.probe(&mut |name, value| assert!(value.is_nan(), "{name} is not known"));
}

#[test]
fn probes_show_delays_in_milliseconds() {
    let mut script = script("rfc", &[("filter", Value::Integer(1))]);
    script.whole_window(1, Span::ZERO);
    script.whole_window(1, millis(40));
    let mut shown = Vec::new();
    script.control.probe(&mut |name, value| shown.push((name, value)));
    let base = BASE_DELAY_NANOS as f64 / 1e6;
    assert_eq!(shown, [("base_delay_ms", base), ("queueing_delay_ms", 40.0), ("off_target", 0.6)]);
}

/// A target of a quarter of 40 ms: 20 ms of queue are one target too much, 10 ms are none.
#[test]
fn a_dynamic_target_is_a_part_of_the_delay_at_losses() {
    let changes = [("initial_window", Value::Number(10.0)), ("filter", Value::Integer(1))];
    for (queue, dynamic, fixed) in [(0, 6.0, 6.0), (10, 5.0, 5.9), (20, 4.0, 5.8), (40, 2.0, 5.6)] {
        for (preset, window) in [("dynamic", dynamic), ("rfc", fixed)] {
            let mut script = script(preset, &changes);
            script.begin(10.0);
            for queue in [0, 40] {
                let first = ack(script.now, 10.0, millis(queue));
                script.control.on_ack(&Ack { in_recovery: true, ..first });
            }
            script.congestion(Signal::Loss);
            assert_eq!(script.window(), 5.0);
            script.whole_window(5, millis(queue));
            assert!((script.window() - window).abs() < 1e-12, "{preset}, {queue} ms: {}", script.window());
        }
    }
}

#[test]
fn a_mark_teaches_the_dynamic_target_and_a_timeout_does_not() {
    let target = |signal| {
        let mut script = script("dynamic", &[("filter", Value::Integer(1))]);
        script.whole_window(1, Span::ZERO);
        script.whole_window(1, millis(40));
        script.congestion(signal);
        let mut target = f64::NAN;
        script.control.probe(&mut |name, value| target = if name == "target_ms" { value } else { target });
        target
    };
    assert_eq!(target(Signal::Ecn), 10.0);
    assert_eq!(target(Signal::Loss), 10.0);
    assert_eq!(target(Signal::Timeout { repeated: false }), 100.0);
}

/// After a change of route to a longer path the flow stays at its floor until the old base is forgotten.
#[test]
fn a_longer_path_is_accepted_after_the_history() {
    let changes = [("base_history", Value::Integer(2)), ("base_period", Value::Span(Span::from_secs(10)))];
    let mut script = grown("rfc", 10.0, &changes);
    while script.now < Time::ZERO + Span::from_secs(19) {
        script.round(Queue(150));
    }
    assert_eq!(script.window(), 2.0);
    while script.now < Time::ZERO + Span::from_secs(30) {
        script.round(Queue(150));
    }
    assert!(script.window() > 10.0);
}

/// On a link of its own, 10 Mbit/s of 1500 B packets, the queue settles at the target.
#[test]
fn alone_on_a_link_the_queue_settles_at_the_target() {
    for preset in ["rfc", "ns2", "linux"] {
        let mut script = script(preset, &[]);
        let packet = Span::from_micros(1200);
        let mut queue = Span::ZERO;
        // A window fills the pipe of 50 ms first, then the queue; rounds last as long as the round trip.
        while script.now < Time::ZERO + Span::from_secs(55) {
            let segments = script.window().floor() as u64;
            queue = (packet * segments).saturating_sub(BASE_RTT);
            for _ in 0..segments {
                script.now += (BASE_RTT + queue) / segments;
                let ack = ack(script.now, script.window(), queue);
                script.control.on_ack(&ack);
            }
        }
        assert!((90.0..=110.0).contains(&queue.as_millis_f64()), "{preset}: {} ms", queue.as_millis_f64());
    }
}

// Laws.

/// An acknowledgement or a signal, after some time.
#[derive(Clone, Copy, Debug)]
struct Event {
    pause_micros: u64,
    queue_micros: u64,
    acked: u32,
    limited: bool,
    recovery: bool,
    signal: Option<Signal>,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let signal = prop_oneof![
        40 => Just(None),
        1 => Just(Some(Signal::Loss)),
        1 => Just(Some(Signal::Ecn)),
        1 => Just(Some(Signal::Timeout { repeated: false })),
    ];
    let pause = prop_oneof![20 => 0u64..20_000, 1 => 0u64..90_000_000];
    let queue = prop_oneof![Just(0u64), 0u64..150_000, 0u64..2_000_000];
    let event = (pause, queue, 1u32..3, prop::bool::weighted(0.9), prop::bool::weighted(0.05), signal).prop_map(
        |(pause_micros, queue_micros, acked, limited, recovery, signal)| Event {
            pause_micros,
            queue_micros,
            acked,
            limited,
            recovery,
            signal,
        },
    );
    prop::collection::vec(event, 1..400)
}

/// Leads a control through events with a constant added to its delays; calls `check` with the window before and after
/// each acknowledgement.
fn lead(
    script: &mut Script,
    events: &[Event],
    offset_nanos: i64,
    mut check: impl FnMut(f64, f64, &Ack) -> Result<(), TestCaseError>,
) -> Result<Vec<u64>, TestCaseError> {
    let mut windows = Vec::new();
    for event in events {
        script.now += Span::from_micros(event.pause_micros);
        let before = script.window();
        if let Some(signal) = event.signal {
            let flight = before.floor();
            script.control.on_congestion(&Congestion {
                now: script.now,
                signal,
                flight,
                pipe: flight,
                smoothed_rtt: BASE_RTT,
                stage: crate::Stage::New,
            });
            prop_assert!(script.window() <= before);
        } else {
            let plain = ack(script.now, before, Span::from_micros(event.queue_micros));
            let ack = Ack {
                newly_acked: event.acked,
                window_limited: event.limited,
                in_recovery: event.recovery,
                one_way_delay_nanos: plain.one_way_delay_nanos.map(|nanos| nanos + offset_nanos),
                ..plain
            };
            script.control.on_ack(&ack);
            check(before, script.window(), &ack)?;
        }
        windows.push(script.window().to_bits());
    }
    Ok(windows)
}

fn presets() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["rfc", "dynamic", "ns2", "linux"])
}

fn moves_by_fractions(preset: &str) -> bool {
    preset == "rfc" || preset == "dynamic"
}

proptest! {
    #[test]
    fn the_window_obeys_its_bounds(preset in presets(), events in events()) {
        let floor = if moves_by_fractions(preset) { 2.0 } else { 1.0 };
        lead(&mut script(preset, &[]), &events, 0, |before, after, ack| {
            prop_assert!(after.is_finite() && after >= before.min(floor), "{} after {}", after, before);
            if after > before {
                prop_assert!(after <= (ack.flight + 1.0).max(floor) + 1e-9, "growth beyond the flight");
                prop_assert!(ack.window_limited || after <= floor);
                prop_assert!(!ack.in_recovery);
            }
            Ok(())
        })?;
    }

    /// No acknowledgement opens the window by more than it opens NewReno's in congestion avoidance.
    #[test]
    fn no_step_is_larger_than_newreno_s(events in events()) {
        lead(&mut script("rfc", &[]), &events, 0, |before, after, ack| {
            let newreno = before + f64::from(ack.newly_acked) / before;
            prop_assert!(after <= newreno.max(2.0) + 1e-9, "{} after {}", after, before);
            Ok(())
        })?;
    }

    /// The same acknowledgements never bring it ahead of NewReno; whole segments not more than the rounding.
    #[test]
    fn never_ahead_of_newreno(preset in presets(), queues in prop::collection::vec(0u64..120, 1..3000)) {
        let avoidance = [("initial_threshold", Value::Number(2.0))];
        let mut newreno = Script::new(&params(&crate::newreno::DESCRIPTOR, "rfc", &avoidance));
        let mut ledbat = script(preset, &[]);
        for queue in queues {
            ledbat.now += millis(1);
            for control in [&mut newreno.control, &mut ledbat.control] {
                let ack = ack(ledbat.now, control.window(), millis(queue));
                control.on_ack(&ack);
            }
            let rounding = if moves_by_fractions(preset) { 1e-9 } else { 1.0 };
            prop_assert!(ledbat.window() <= newreno.window() + rounding);
        }
    }

    /// Clocks may differ by any constant. The modules' clocks tick, so for them only by whole ticks.
    #[test]
    fn offsets_between_clocks_cancel(preset in presets(), events in events(), ticks in -4_000_000_000i64..4_000_000_000) {
        let offset = if moves_by_fractions(preset) { ticks * 1_000_003 } else { ticks * 1_000_000 };
        let plain = lead(&mut script(preset, &[]), &events, 0, |_, _, _| Ok(()))?;
        let shifted = lead(&mut script(preset, &[]), &events, offset, |_, _, _| Ok(()))?;
        prop_assert_eq!(plain, shifted);
    }

    /// More queueing delay never means a larger window.
    #[test]
    fn more_delay_never_opens_the_window(low in 0u64..500, more in 0u64..500) {
        let after = |queue| {
            let mut script = window_ten();
            script.whole_window(10, millis(queue));
            script.window()
        };
        prop_assert!(after(low + more) <= after(low));
    }
}
