//! What holds for every loss-based control, whatever happens to it: for the tests.

use crate::script::{Script, ack, params};
use crate::{Ack, Congestion, Control, Repair, Signal, Unused};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use sojourn_core::Span;
use sojourn_core::registry::Descriptor;

/// What may happen to a flow.
#[derive(Clone, Copy, Debug)]
enum Event {
    Ack { acked: u32, flight: u32, limited: bool, recovery: bool, marked: bool, queue: u64 },
    Signal(Signal, u32),
    Recovered(u32),
    Start(u64, Unused),
    Undo,
}

fn unused() -> impl Strategy<Value = Unused> {
    prop_oneof![
        Just(Unused::Keep),
        (1u32..11).prop_map(|window| Unused::Restart { window: f64::from(window) }),
        (1u32..11, 1u32..9).prop_map(|(window, times)| Unused::Halve { window: f64::from(window), times }),
        (1u32..99).prop_map(|used| Unused::Average { used: f64::from(used) }),
    ]
}

fn events() -> impl Strategy<Value = Vec<(u64, Event)>> {
    let signal = prop_oneof![
        Just(Signal::Loss),
        Just(Signal::Ecn),
        any::<bool>().prop_map(|repeated| Signal::Timeout { repeated }),
    ];
    let often = prop::bool::weighted(0.9);
    let seldom = prop::bool::weighted(0.1);
    let event = prop_oneof![
        60 => (0u32..4, 0u32..100, often, seldom, seldom, 0u64..200).prop_map(
            |(acked, flight, limited, recovery, marked, queue)| Event::Ack { acked, flight, limited, recovery, marked, queue }
        ),
        2 => (signal, 0u32..100).prop_map(|(signal, flight)| Event::Signal(signal, flight)),
        2 => (0u32..100).prop_map(Event::Recovered),
        1 => (0u64..5000, unused()).prop_map(|(millis, unused)| Event::Start(millis, unused)),
        1 => Just(Event::Undo),
    ];
    prop::collection::vec((0u64..100, event), 1..400)
}

/// `most`, but nothing without new data, in recovery, on marks and while the window is not used.
pub(crate) fn only_when_used(ack: &Ack, most: f64) -> f64 {
    if ack.may_open() { most } else { 0.0 }
}

/// Leads every preset of `descriptor` through random events.
///
/// - The window is finite and at least 1.
/// - An acknowledgement grows it by at most what `growth` says of it and the window before.
/// - A signal never opens it beyond 2; a timeout leaves 1 and a threshold of at least 2.
/// - Sending that starts again leaves what the transport says at most, and no lower threshold than that.
/// - A reduction that is taken back gives the window back.
/// - The same events make the same windows.
pub(crate) fn hold(descriptor: &'static Descriptor, growth: impl Fn(&Ack, f64) -> f64) {
    for preset in descriptor.presets {
        TestRunner::default()
            .run(&events(), |events| {
                prop_assert_eq!(
                    lead(descriptor, preset.name, &events, &growth)?,
                    lead(descriptor, preset.name, &events, &growth)?
                );
                Ok(())
            })
            .unwrap_or_else(|error| panic!("{} {}: {error}", descriptor.name, preset.name));
    }
}

fn lead(
    descriptor: &'static Descriptor,
    preset: &str,
    events: &[(u64, Event)],
    growth: impl Fn(&Ack, f64) -> f64,
) -> Result<Vec<u64>, TestCaseError> {
    let params = params(descriptor, preset, &[]);
    // In whole segments a step is gathered over several acknowledgements; what Illinois gathered at its least alpha, 38/128,
    // may count at its largest, 10.
    let whole = descriptor.parameters.iter().any(|parameter| parameter.name == "arithmetic")
        && params.read::<&str>("arithmetic") != "fractions";
    let step = match (whole, descriptor.name) {
        (false, _) => 0.0,
        (true, "illinois") => 34.0,
        (true, _) => 1.0,
    };
    let mut script = Script::new(&params);
    let mut windows = Vec::new();
    // A recovery ends before acknowledgements count again.
    let mut repairing = false;
    let mut reduced_from = None;
    for &(millis, event) in events {
        script.now += Span::from_millis(millis);
        let before = script.window();
        match event {
            Event::Ack { acked, flight, limited, recovery, marked, queue } => {
                let ack = Ack {
                    newly_acked: acked,
                    delivered: acked,
                    flight: f64::from(flight),
                    window_limited: limited,
                    in_recovery: recovery,
                    marked,
                    ..ack(script.now, before, Span::from_millis(queue))
                };
                script.control.on_ack(&ack);
                repairing &= recovery;
                let grown = script.window() - before;
                prop_assert!(grown <= growth(&ack, before) + step + 1e-9, "{event:?} at {before}: {grown}");
            }
            Event::Signal(signal, flight) => {
                let flight = f64::from(flight).min(before);
                if signal != (Signal::Timeout { repeated: true }) {
                    reduced_from = Some((before, script.control.slow_start_threshold()));
                }
                let smoothed_rtt = Span::from_millis(50);
                script.control.on_congestion(&Congestion {
                    now: script.now,
                    signal,
                    flight,
                    pipe: flight,
                    smoothed_rtt,
                    stage: crate::Stage::New,
                });
                repairing = signal == Signal::Loss;
                prop_assert!(script.window() <= before.max(2.0), "{event:?} at {before}");
                if matches!(signal, Signal::Timeout { .. }) {
                    prop_assert_eq!(script.window(), 1.0);
                }
                prop_assert!(script.control.slow_start_threshold() >= 2.0);
            }
            Event::Recovered(flight) if repairing => {
                repairing = false;
                script.recovered(Repair::Partial, f64::from(flight));
                prop_assert!(script.window() <= script.control.slow_start_threshold());
            }
            Event::Recovered(_) => {}
            Event::Start(millis, unused) => {
                repairing = false;
                let threshold = script.control.slow_start_threshold();
                script.start(Span::from_millis(millis), unused);
                let (most, least_threshold) = unused.left(before, threshold);
                prop_assert!(script.window() <= most, "{event:?} at {before}: {}", script.window());
                prop_assert!(
                    script.control.slow_start_threshold() >= least_threshold,
                    "{event:?} forgets the threshold"
                );
            }
            Event::Undo => {
                repairing = false;
                let Some((window, threshold)) = reduced_from.take() else { continue };
                script.undo(window, threshold);
                prop_assert!(script.window() >= window.floor() && script.window() <= before.max(window));
            }
        }
        prop_assert!(script.window() >= 1.0 && script.window().is_finite(), "{event:?}: {}", script.window());
        windows.push(script.window().to_bits());
    }
    Ok(windows)
}
