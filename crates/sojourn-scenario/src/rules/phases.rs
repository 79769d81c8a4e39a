//! Rules for phases that have results of their own.

use super::report::element_path;
use crate::check::join;
use crate::diagnostic::{Fault, Reporter};
use crate::fields::Fields;

/// Most phases: each one that is under way keeps a copy of all distributions.
const MOST: usize = 100;
/// Most windows of all phases together.
const MOST_WINDOWS: u64 = 10_000;

/// Checks that phases lie in the measured part of the run, and that there are not too many.
pub(super) fn check(scenario: &Fields, reporter: &mut Reporter<'_>) {
    let phases = scenario.tables("phase");
    if phases.len() > MOST {
        let found = Fault::new(format!("{} phases", phases.len()));
        reporter.error(scenario.origin_of("phase"), "phase", found, format!("at most {MOST}"));
    }
    for (index, phase) in phases.iter().enumerate() {
        window(phase, &element_path("phase", index, phase), scenario, reporter);
    }
    let windows: u64 = phases.iter().filter_map(|phase| windows(phase, scenario)).sum();
    if windows > MOST_WINDOWS {
        let found = Fault::new(format!("{windows} windows of all phases together, counting each repetition"));
        reporter.error(scenario.origin_of("phase"), "phase", found, format!("at most {MOST_WINDOWS}"));
    }
}

fn window(phase: &Fields, path: &str, scenario: &Fields, reporter: &mut Reporter<'_>) {
    let (Some(duration), Some(warmup)) = (scenario.span("duration"), scenario.span("warmup")) else { return };
    let (Some(from), Some(to)) = (phase.span("from"), phase.span("to")) else { return };
    let mut fault = |key: &str, value, allowed: String| {
        reporter.error(phase.origin_of(key), &join(path, key), Fault::new(format!("\"{value}\"")), allowed);
    };
    if from < warmup {
        fault("from", from, format!("at least the warm-up of {warmup}, before which nothing is measured"));
    }
    if to <= from {
        fault("to", to, format!("a time after {from}, when the phase begins"));
    } else if to > duration {
        fault("to", to, format!("at most {duration}, the end of the run"));
    } else if let Some(every) = phase.span("every").filter(|&every| every < to - from) {
        fault("every", every, format!("at least {}, the length of the phase", to - from));
    }
}

/// How often a phase begins.
fn windows(phase: &Fields, scenario: &Fields) -> Option<u64> {
    let room = scenario.span("duration")?.as_nanos().saturating_sub(phase.span("from")?.as_nanos());
    Some(phase.span("every").map_or(1, |every| room.div_ceil(every.as_nanos())))
}
