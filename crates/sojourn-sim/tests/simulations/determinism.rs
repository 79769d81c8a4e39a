//! A run is a function of scenario and seed; sources of randomness do not touch each other.

use crate::common::{dumbbell, outcome, run, series, text};
use sojourn_core::Span;
use sojourn_scenario::Scenario;
use sojourn_sim::{Monitor, Stopped, Wanted, run_all, simulate};

const ALL: Wanted = Wanted {
    bin: Some(Span::from_millis(70)),
    packets: true,
    probes: true,
    transfers: true,
    decisions: false,
    delays: true,
};

fn busy(groups: &[&str]) -> Scenario {
    let bottleneck = "rate = \"5 Mbit/s\"\nloss = 0.005\njitter = { kind = \"normal\", mean = \"3 ms\", sd = \"3 ms\", reorder = true }\n\
                      queue = { kind = \"red\", limit = \"100 packets\" }";
    dumbbell("6 s", bottleneck, groups)
}

const TCP: &str =
    "name = \"tcp\"\ncontrol = \"newreno\"\nflows = 3\nrtt = \"30 ms\"\nstart = { uniform = [\"0 s\", \"1 s\"] }";
const ON_OFF: &str = "name = \"on-off\"\ncontrol = \"ledbat\"\nflows = 2\nrtt = \"50 ms\"\n\
                      traffic = { kind = \"on-off\", on = \"0.5 s\", off = \"0.5 s\" }";

fn everything(scenario: &Scenario) -> String {
    let outcome = outcome(scenario, &ALL);
    format!("{}\n{:?}\n{:?}", text(&outcome.record), outcome.series, outcome.packets)
}

#[test]
fn the_same_bytes_twice() {
    let mut scenario = busy(&[TCP, ON_OFF]);
    let found = everything(&scenario);
    assert_eq!(found, everything(&scenario));
    scenario.keys.seed += 1;
    assert_ne!(found, everything(&scenario));
}

#[test]
fn any_number_of_jobs_and_any_order() {
    let scenario = busy(&[TCP, ON_OFF]);
    let records = |seeds: &[u64], jobs| -> Vec<String> {
        let outcomes = run_all(&scenario, seeds, jobs, &Wanted::default(), &Monitor::default()).unwrap();
        outcomes.iter().map(|outcome| text(&outcome.record)).collect()
    };
    let one = records(&[1, 2, 3, 4, 5], 1);
    for jobs in [0, 2, 3, 16] {
        assert_eq!(one, records(&[1, 2, 3, 4, 5], jobs), "{jobs} jobs");
    }
    let mut backwards = records(&[5, 4, 3, 2, 1], 2);
    backwards.reverse();
    assert_eq!(one, backwards);
}

/// Looking changes nothing, however one looks.
#[test]
fn probes_change_nothing() {
    let scenario = busy(&[TCP, ON_OFF]);
    let plain = text(&run(&scenario));
    for bin in [None, Some(1), Some(333), Some(100_000)] {
        for packets in [false, true] {
            let wanted = Wanted {
                bin: bin.map(Span::from_millis),
                packets,
                probes: packets,
                transfers: packets,
                decisions: false,
                delays: true,
            };
            let mut record = outcome(&scenario, &wanted).record;
            for group in record.groups.values_mut() {
                assert!(group.delay_ms.take().and(group.pdv_ms.take()).and(group.startup_ms.take()).is_some());
            }
            assert_eq!(plain, text(&record), "{wanted:?}");
        }
    }
}

/// A group that joins late draws from its own streams: until then all others do what they did.
#[test]
fn a_further_group_reshuffles_nothing() {
    let late = "name = \"late\"\ncontrol = \"newreno\"\nflows = 2\nrtt = \"30 ms\"\nstart = { uniform = [\"4 s\", \"4.5 s\"] }";
    let delivered = |groups: &[&str]| {
        let flows = series(&busy(groups), 100).flows;
        let group = groups.iter().position(|group| *group == TCP).unwrap() as u32;
        let rows = flows.time_s.iter().zip(&flows.group).zip(&flows.delivered_bytes);
        rows.filter(|((time, of), _)| **time < 3.95 && **of == group).map(|(_, bytes)| *bytes).collect::<Vec<u64>>()
    };
    let without = delivered(&[TCP, ON_OFF]);
    assert_eq!(without, delivered(&[TCP, ON_OFF, late]));
    assert_eq!(without, delivered(&[late, TCP, ON_OFF]), "nor does the order of groups");
    assert!(without.iter().sum::<u64>() > 1_000_000);
}

#[test]
fn runs_can_be_interrupted() {
    let monitor = Monitor::default();
    let scenario = busy(&[TCP]);
    assert!(simulate(&scenario, 1, &Wanted::default(), &monitor).is_ok());
    assert_eq!(monitor.simulated(), Span::from_secs(6));
    monitor.stop();
    assert_eq!(simulate(&scenario, 1, &Wanted::default(), &monitor).err(), Some(Stopped::Asked));
    assert_eq!(run_all(&scenario, &[1, 2], 2, &Wanted::default(), &monitor).err(), Some(Stopped::Asked));
}
