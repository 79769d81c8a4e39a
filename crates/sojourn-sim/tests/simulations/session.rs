//! A run in steps leaves what a run as a whole does.

use crate::common::{dumbbell, outcome, text};
use sojourn_core::{Span, Stream, Time};
use sojourn_scenario::{Scenario, random};
use sojourn_sim::{Monitor, Outcome, Series, Session, Stopped, Wanted};
use std::sync::Arc;

fn wanted() -> Wanted {
    Wanted {
        bin: Some(Span::from_millis(50)),
        packets: true,
        probes: true,
        transfers: true,
        decisions: false,
        delays: true,
    }
}

/// All that a run leaves; series are given apart, since they may come in pieces.
fn all(outcome: &Outcome, series: &[Series]) -> String {
    let column = |of: &dyn Fn(&Series) -> Vec<String>| series.iter().flat_map(of).collect::<Vec<_>>().join(" ");
    let strings = |values: &[f64]| values.iter().map(f64::to_string).collect::<Vec<_>>();
    let columns = [
        column(&|series| strings(&series.queues.time_s)),
        column(&|series| strings(&series.queues.queue_packets)),
        column(&|series| strings(&series.queues.queue_ms)),
        column(&|series| strings(&series.flows.cwnd_packets)),
        column(&|series| strings(&series.flows.rtt_ms)),
        column(&|series| strings(&series.flows.one_way_delay_ms)),
        column(&|series| series.flows.delivered_bytes.iter().map(u64::to_string).collect()),
        column(&|series| strings(&series.queue_probes.probes.value)),
        column(&|series| strings(&series.flow_probes.probes.value)),
    ];
    format!("{}\n{}\n{:?}\n{:?}", text(&outcome.record), columns.join("\n"), outcome.packets, outcome.transfers)
}

fn whole(scenario: &Scenario) -> String {
    let mut outcome = outcome(scenario, &wanted());
    let series = outcome.series.take().expect("a series was wanted");
    all(&outcome, &[series])
}

/// The series are taken after each step of `step`.
fn in_steps(scenario: Scenario, step: Span) -> String {
    let (seed, monitor, mut series) = (scenario.seed, Monitor::default(), Vec::new());
    let mut session = Session::new(Arc::new(scenario), seed, &wanted());
    while session.now() < session.end() {
        let until = session.now() + step;
        session.advance(until, &monitor).expect("nobody interrupts");
        assert_eq!(session.now(), until.min(session.end()));
        series.extend(session.take_series());
    }
    let mut outcome = session.finish(&monitor).expect("nobody interrupts");
    series.extend(outcome.series.take());
    all(&outcome, &series)
}

const TCP: &str = "name = \"tcp\"\ncontrol = \"newreno\"\nflows = 3\nrtt = \"30 ms\"";

#[test]
fn steps_change_nothing() {
    for seed in 0..40 {
        let scenario = random::scenario(&mut Stream::new(seed, "sessions"));
        let expected = whole(&scenario);
        assert!(in_steps(scenario, Span::from_micros(13_370)) == expected, "seed {seed}");
    }
}

/// Steps that end with the warm-up, with bins, with both and with neither; steps past the end; no step at all.
#[test]
fn any_steps_will_do() {
    let mut scenario = dumbbell("2 s", "rate = \"5 Mbit/s\"", &[TCP]);
    scenario.keys.warmup = Span::from_millis(500);
    let expected = whole(&scenario);
    for millis in [1, 25, 50, 500, 700, 3_000] {
        assert!(in_steps(scenario.clone(), Span::from_millis(millis)) == expected, "{millis} ms");
    }
    let session = Session::new(&scenario, scenario.seed, &wanted());
    let mut outcome = session.finish(&Monitor::default()).expect("nobody interrupts");
    let series = outcome.series.take().expect("a series was wanted");
    assert!(all(&outcome, &[series]) == expected);
}

/// A series holds the bins that have ended, each once.
#[test]
fn series_are_given_once() {
    let scenario = dumbbell("1 s", "rate = \"5 Mbit/s\"", &[TCP]);
    let mut session = Session::new(&scenario, 1, &wanted());
    let bins = |session: &mut Session<&Scenario>| session.take_series().expect("a series was wanted").queues.time_s;
    assert!(bins(&mut session).is_empty());
    session.advance(Time::ZERO + Span::from_millis(149), &Monitor::default()).unwrap();
    assert_eq!(bins(&mut session), [0.0, 0.05]);
    assert!(bins(&mut session).is_empty());
    let rest = session.finish(&Monitor::default()).unwrap().series.unwrap().queues.time_s;
    assert_eq!((rest.len(), rest[0]), (18, 0.1));
    let mut without = Session::new(&scenario, 1, &Wanted::default());
    without.advance(Time::ZERO + Span::from_millis(149), &Monitor::default()).unwrap();
    assert!(without.take_series().is_none());
}

#[test]
fn an_interrupted_session_goes_on() {
    let scenario = dumbbell("1 s", "rate = \"5 Mbit/s\"", &[TCP]);
    let stopped = Monitor::default();
    stopped.stop();
    let mut session = Session::new(&scenario, scenario.seed, &wanted());
    assert_eq!(session.advance(session.end(), &stopped), Err(Stopped::Asked));
    let mut outcome = session.finish(&Monitor::default()).unwrap();
    let series = outcome.series.take().unwrap();
    assert!(all(&outcome, &[series]) == whole(&scenario));
}
