//! A run that somebody takes forward step by step.

use crate::build::build;
use crate::changes::{apply, time_of};
use crate::clock::Stopwatch;
use crate::ends::Ends;
use crate::flow::{Endpoints, Flow};
use crate::network::BOTTLENECK;
use crate::outcome::{Monitor, Outcome, Stopped};
use crate::outside::{Departure, Glimpse, OutsidePacket};
use crate::packets::PacketLog;
use crate::series::{Recorder, Series};
use crate::summary::record;
use crate::wanted::Wanted;
use crate::world::World;
use sojourn_core::{Time, plugin};
use sojourn_queue::{Dscp, FlowKey};
use sojourn_scenario::{Direction, Group, Program, Scenario, Traffic};
use std::borrow::Borrow;

/// Events between two looks at the monitor: a few milliseconds of work.
const EVENTS_PER_LOOK: u64 = 50_000;

/// One run of a scenario: advanced to any instants, in any number of steps, it leaves the same bytes.
///
/// `S` is the scenario itself, an `Arc` of it or a reference, as the caller needs it.
#[derive(Debug)]
pub struct Session<S> {
    scenario: S,
    seed: u64,
    world: World,
    /// Changes made so far.
    changed: usize,
    stopwatch: Stopwatch,
}

impl Session<Scenario> {
    /// The run ends now, whatever its scenario says.
    pub fn end_now(&mut self) {
        self.scenario.keys.duration = self.world.now.since(Time::ZERO);
    }
}

impl<S: Borrow<Scenario>> Session<S> {
    /// The run of `scenario` with seed `seed` before its first event.
    pub fn new(scenario: S, seed: u64, wanted: &Wanted) -> Session<S> {
        let stopwatch = Stopwatch::start();
        // What a scenario did that was only checked on this thread is not this run's.
        plugin::take_failure();
        let mut world = build(scenario.borrow(), seed, wanted);
        world.start();
        Session { scenario, seed, world, changed: 0, stopwatch }
    }

    /// What is run.
    pub fn scenario(&self) -> &Scenario {
        self.scenario.borrow()
    }

    /// The present of the run. Events before it have been processed; those at this instant have not.
    pub fn now(&self) -> Time {
        self.world.now
    }

    /// When the run ends.
    pub fn end(&self) -> Time {
        Time::ZERO + self.scenario().duration
    }

    /// Processes the events before `until`, or before the [end](Session::end) where that is earlier.
    ///
    /// # Errors
    /// [`Stopped`] where the monitor was told to stop, after which the session can go on, or where a plug-in failed.
    pub fn advance(&mut self, until: Time, monitor: &Monitor) -> Result<(), Stopped> {
        let (warmup, until) = (Time::ZERO + self.scenario().warmup, until.min(self.end()));
        if !self.world.measuring && until >= warmup {
            self.process(warmup, monitor)?;
            self.world.begin_measuring();
            self.world.turn_phases();
        }
        self.process(until, monitor)
    }

    /// The time series of the bins that have ended since the last call; `None` where none were wanted.
    pub fn take_series(&mut self) -> Option<Series> {
        self.world.recorder.as_mut().map(Recorder::take)
    }

    /// Advances to the end. What the run leaves, without the series that were taken before.
    ///
    /// # Errors
    /// As [`advance`](Session::advance).
    pub fn finish(mut self, monitor: &Monitor) -> Result<Outcome, Stopped> {
        self.advance(self.end(), monitor)?;
        self.world.assert_conservation();
        self.end_bin();
        let record = record(self.scenario(), self.seed, &self.world, self.stopwatch.elapsed_s());
        let decisions = self.world.ends.as_mut().and_then(Ends::take_decisions);
        Ok(Outcome {
            record,
            series: self.take_series(),
            packets: self.take_packets(),
            decisions,
            transfers: self.world.transfers.take(),
        })
    }

    /// The flows that carry packets of programs: the number of each, the way it travels and what it asks of its packets.
    pub fn outside(&self) -> Vec<(usize, Direction, Program)> {
        let groups = &self.scenario().groups;
        let flows = self.world.flows.iter().enumerate();
        let program = |(number, flow): (usize, &Flow)| match &groups[flow.group as usize].traffic {
            Traffic::Program(program) => Some((number, flow.direction, program.clone())),
            _ => None,
        };
        flows.filter_map(program).collect()
    }

    /// The flows of other people's stacks: the number of each, its group, and when it starts. Before the run's first event.
    pub fn stacks(&self) -> Vec<(usize, &Group, Time)> {
        let groups = &self.scenario().groups;
        let flows = self.world.flows.iter().enumerate();
        let stack = |(number, flow): (usize, &Flow)| {
            let start = flow.application.as_ref().map_or(Time::ZERO, |application| application.next);
            Some((number, &groups[flow.group as usize], start)).filter(|(_, group, _)| group.stack.is_some())
        };
        flows.filter_map(stack).collect()
    }

    /// Addresses and ports of the packets of flow `flow`, as its group has them.
    pub fn key(&self, flow: usize) -> FlowKey {
        self.world.flows[flow].key
    }

    /// The code point of the packets of flow `flow`, as its group has it.
    pub fn dscp(&self, flow: usize) -> Dscp {
        self.world.flows[flow].dscp
    }

    /// A packet from outside enters the network now, as one of flow `flow` among those of [`outside`](Session::outside) or
    /// [`stacks`](Session::stacks).
    pub fn enter(&mut self, flow: usize, packet: &OutsidePacket) {
        self.world.enter_from_outside(flow, packet);
    }

    /// The application of flow `flow` has got so many bytes more than what packets said they carry.
    pub fn credit(&mut self, flow: usize, bytes: u64) {
        let size_bytes = match &self.scenario().groups[self.world.flows[flow].group as usize].traffic {
            Traffic::Bulk(bulk) => bulk.size_bytes,
            _ => None,
        };
        let counts = &mut self.world.flows[flow].counts;
        let before = counts.delivered_bytes;
        counts.delivered_bytes += bytes;
        let now = counts.delivered_bytes;
        if self.world.flows[flow].has_messages {
            self.world.on_messages(flow);
        }
        if size_bytes.is_some_and(|size_bytes| (before..now).contains(&(size_bytes - 1))) {
            self.world.on_arrived(flow);
        }
    }

    /// What the application of flow `flow` has written so far, where it says how much.
    pub fn supplied_bytes(&self, flow: usize) -> u64 {
        match &self.world.flows[flow].endpoints {
            Endpoints::Outside(outside) => outside.supplied_bytes,
            _ => 0,
        }
    }

    /// What has become of the packets of flow `flow` since this was asked before, in order, added to `all`.
    pub fn take_departures(&mut self, flow: usize, all: &mut Vec<Departure>) {
        if let Endpoints::Outside(outside) = &mut self.world.flows[flow].endpoints {
            outside.take(all);
        }
    }

    /// What has happened to flow `flow` so far.
    pub fn glimpse(&self, flow: usize) -> Glimpse {
        let flow = &self.world.flows[flow];
        let counts = &flow.counts;
        let waited = flow.sojourn.as_ref().map_or((0, 0), |sojourn| (sojourn.nanos(), sojourn.count()));
        Glimpse { delivered_bytes: counts.delivered_bytes, drops: counts.drops, waited }
    }

    /// When something happens next of itself.
    pub fn next_event(&mut self) -> Time {
        let bin_end = self.world.recorder.as_ref().map_or(Time::NEVER, Recorder::bin_end);
        let change_at = time_of(self.scenario.borrow(), self.changed);
        self.world.agenda.next().0.min(bin_end).min(change_at).min(self.phase_at()).min(self.world.gateway_at())
    }

    /// The rows of packets, where they were wanted.
    fn take_packets(&mut self) -> Option<PacketLog> {
        let mut packets = self.world.links[BOTTLENECK].special.as_mut()?.log.take()?;
        packets.merge(self.world.ends.take()?.into_rows()?);
        Some(packets)
    }

    /// Processes events up to `until`, ending bins and making changes on the way.
    fn process(&mut self, until: Time, monitor: &Monitor) -> Result<(), Stopped> {
        while self.world.now < until {
            let bin_end = self.world.recorder.as_ref().map_or(Time::NEVER, Recorder::bin_end);
            let change_at = time_of(self.scenario.borrow(), self.changed);
            let (phase_at, gateway_at) = (self.phase_at(), self.world.gateway_at());
            let before = self.world.now;
            let reached =
                self.world.run(until.min(bin_end).min(change_at).min(phase_at).min(gateway_at), EVENTS_PER_LOOK);
            monitor.note(self.world.now.since(before));
            if monitor.is_stopped() {
                return Err(Stopped::Asked);
            }
            if let Some(failure) = plugin::take_failure() {
                return Err(Stopped::Failed(failure));
            }
            if cfg!(debug_assertions) {
                self.world.assert_conservation();
            }
            if reached && self.world.now == bin_end {
                self.end_bin();
            }
            if reached && self.world.now == phase_at {
                self.world.turn_phases();
            }
            while reached && self.world.now == time_of(self.scenario.borrow(), self.changed) {
                apply(self.scenario.borrow(), self.seed, self.changed, &mut self.world);
                self.changed += 1;
            }
            if reached && self.world.now == gateway_at {
                self.world.step_gateway();
            }
        }
        Ok(())
    }

    /// When the next window of a phase begins or ends, in the measured part of the run.
    fn phase_at(&mut self) -> Time {
        if self.world.measuring { self.world.phases.next() } else { Time::NEVER }
    }

    /// Reads all instruments; the present bin of the series ends.
    fn end_bin(&mut self) {
        let world = &mut self.world;
        world.read_instruments();
        if let Some(recorder) = &mut world.recorder {
            recorder.end_bin(&world.links, &world.flows, world.gateway.as_deref(), world.now);
        }
    }
}
