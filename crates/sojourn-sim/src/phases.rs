//! Parts of a run that have results of their own: differences between what the instruments read at both ends of a window.
//! So packets pay nothing for them.

use crate::flow::Counts;
use crate::meter::Reading;
use sojourn_core::{Span, Time};
use sojourn_scenario::Scenario;

/// All phases of a run, in the order of the scenario.
#[derive(Default, Debug)]
pub struct Phases(Vec<Phase>);

/// A phase, and what was measured in it so far.
#[derive(Debug)]
struct Phase {
    /// When its windows begin and end: the present one, or else the next one, comes first.
    windows: std::iter::Peekable<std::vec::IntoIter<(Time, Time)>>,
    /// What the instruments read when the present window began; `None` between windows.
    begun: Option<Instruments>,
    /// What was measured in all windows that are over.
    sum: Instruments,
}

/// What all instruments read, or what they measured between two readings.
#[derive(Default, Debug)]
pub struct Instruments {
    /// One for each link of the world.
    pub links: Vec<Reading>,
    /// One for each group.
    pub groups: Vec<Counted>,
    /// How long a shared medium was in use.
    pub busy: Span,
}

/// What is counted of a group's data.
#[derive(Clone, Copy, Default, Debug)]
pub struct Counted {
    /// Payload bytes that arrived for the first time.
    pub delivered_bytes: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
}

impl Phases {
    /// Those of a scenario, before its run.
    pub fn new(scenario: &Scenario) -> Phases {
        let phase = |phase: &sojourn_scenario::Phase| {
            let windows: Vec<_> =
                phase.windows(scenario.duration).map(|(from, to)| (Time::ZERO + from, Time::ZERO + to)).collect();
            Phase { windows: windows.into_iter().peekable(), begun: None, sum: Instruments::default() }
        };
        Phases(scenario.phases.iter().map(phase).collect())
    }

    /// When the next window begins or ends.
    pub fn next(&mut self) -> Time {
        let edge = |phase: &mut Phase| match (phase.windows.peek(), &phase.begun) {
            (None, _) => Time::NEVER,
            (Some(&(from, _)), None) => from,
            (Some(&(_, to)), Some(_)) => to,
        };
        self.0.iter_mut().map(edge).min().unwrap_or(Time::NEVER)
    }

    /// What was measured in each.
    pub fn measured(&self) -> impl Iterator<Item = &Instruments> {
        self.0.iter().map(|phase| &phase.sum)
    }

    /// Ends and begins the windows that do so `now`, when instruments read what `read` gives.
    pub fn turn(&mut self, now: Time, mut read: impl FnMut() -> Instruments) {
        for phase in &mut self.0 {
            if let Some(begun) = phase.begun.take_if(|_| phase.windows.peek().is_some_and(|&(_, to)| to == now)) {
                phase.sum.add_since(&read(), &begun);
                phase.windows.next();
            }
            if phase.windows.peek().is_some_and(|&(from, _)| from == now) {
                phase.begun = Some(read());
            }
        }
    }
}

impl Instruments {
    /// Adds what was measured between two readings.
    fn add_since(&mut self, later: &Instruments, earlier: &Instruments) {
        self.links.resize_with(later.links.len(), Reading::default);
        self.groups.resize_with(later.groups.len(), Counted::default);
        for (sum, (later, earlier)) in self.links.iter_mut().zip(later.links.iter().zip(&earlier.links)) {
            sum.add_since(later, earlier);
        }
        for (sum, (later, earlier)) in self.groups.iter_mut().zip(later.groups.iter().zip(&earlier.groups)) {
            sum.delivered_bytes += later.delivered_bytes - earlier.delivered_bytes;
            sum.sent += later.sent - earlier.sent;
            sum.drops += later.drops - earlier.drops;
            sum.marks += later.marks - earlier.marks;
        }
        self.busy += later.busy - earlier.busy;
    }
}

impl Counted {
    /// Adds what a connection has counted.
    pub fn add(&mut self, counts: &Counts) {
        self.delivered_bytes += counts.delivered_bytes;
        self.sent += counts.sent;
        self.drops += counts.drops;
        self.marks += counts.marks;
    }
}
