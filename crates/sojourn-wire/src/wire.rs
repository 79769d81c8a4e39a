//! The event loop.

use crate::budget::Budget;
use crate::capture::Capture;
use crate::clock::now;
use crate::error::{Fault, WireError};
use crate::ping::Ping;
use crate::plan::{FlowPlan, Kind, Plan, Role};
use crate::poll::{Endpoint, PollSet};
use crate::report::Report;
use crate::{cbr, sys, tables, tcp, udp};
use sojourn_core::plugin::{self, Failure};
use sojourn_core::{Span, Time};
use std::ops::Range;

/// Longest sleep between two questions whether to go on. A signal interrupts a sleep, so this only bounds what one that
/// arrives just before a sleep must wait.
const LOOK_EVERY: Span = Span::from_millis(500);

/// Does what `plan` says, until its end; `go_on` is asked now and then, and after a signal, whether to.
///
/// # Errors
/// What makes the run worthless, and [`Fault::Stopped`] where the caller did not want to go on.
pub fn run(plan: &Plan, go_on: &mut dyn FnMut() -> bool) -> Result<Report, WireError> {
    let end = plan.timeline().end;
    if end <= now() {
        return Err(WireError::input(format!("start_at_s is {}: the run lies in the past", plan.start_at_s)));
    }
    sys::wake_on_time().map_err(|error| WireError::failed(format!("setting up timers: {error}")))?;
    // What a plug-in did on this thread before is not this run's.
    plugin::take_failure();
    let mut endpoints = endpoints(plan)?;
    if let Some(file) = &plan.ready {
        std::fs::write(file, []).map_err(|error| WireError::failed(format!("ready {}: {error}", file.display())))?;
    }
    let mut set = PollSet::default();
    for turn in 0.. {
        let ranges = gather(&endpoints, &mut set);
        let next = endpoints.iter().map(|endpoint| endpoint.next()).min().unwrap_or(Time::NEVER).min(end);
        let interrupted = sleep(&mut set, next)?;
        if interrupted && !go_on() {
            return Err(WireError { fault: Fault::Stopped, message: "the run was stopped".into() });
        }
        let time = now();
        for (endpoint, range) in in_turn(&mut endpoints, &ranges, turn) {
            let ready = &set.entries[range.clone()];
            if endpoint.next() <= time || ready.iter().any(|entry| entry.revents != 0) {
                endpoint.act(time, ready)?;
            }
        }
        if let Some(failure) = plugin::take_failure() {
            let now = Time::ZERO + failure.now.since(plan.timeline().start);
            return Err(WireError::failed(Failure { now, ..failure }.to_string()));
        }
        if time >= end {
            break;
        }
    }
    let mut report = Report::default();
    endpoints.into_iter().for_each(|endpoint| endpoint.report(&mut report));
    Ok(report)
}

/// The endpoints with their sockets, each first in its turn: what a budget has room for goes to whoever acts first.
fn in_turn<'a>(
    endpoints: &'a mut [Box<dyn Endpoint>],
    ranges: &'a [Range<usize>],
    turn: usize,
) -> impl Iterator<Item = (&'a mut Box<dyn Endpoint>, &'a Range<usize>)> {
    let first = turn % endpoints.len().max(1);
    let (before, from) = endpoints.split_at_mut(first);
    from.iter_mut().zip(&ranges[first..]).chain(before.iter_mut().zip(&ranges[..first]))
}

/// Collects the sockets of all endpoints; which are whose.
fn gather(endpoints: &[Box<dyn Endpoint>], set: &mut PollSet) -> Vec<Range<usize>> {
    set.entries.clear();
    let mut own = |endpoint: &dyn Endpoint| {
        let first = set.entries.len();
        endpoint.wait(set);
        first..set.entries.len()
    };
    endpoints.iter().map(|endpoint| own(endpoint.as_ref())).collect()
}

/// Sleeps until `next`, or until a socket is ready; whether the caller should be asked to go on.
fn sleep(set: &mut PollSet, next: Time) -> Result<bool, WireError> {
    let patience = next.since(now());
    match sys::wait(&mut set.entries, patience.min(LOOK_EVERY)) {
        Ok(is_ready) => Ok(!is_ready && patience > LOOK_EVERY),
        Err(error) if error.kind() == std::io::ErrorKind::Interrupted => Ok(true),
        Err(error) => Err(WireError::failed(format!("waiting for sockets: {error}"))),
    }
}

fn endpoints(plan: &Plan) -> Result<Vec<Box<dyn Endpoint>>, WireError> {
    let (line, budget) = (plan.timeline(), Budget::open(plan.budget.as_ref())?);
    let senders = plan.flows.iter().filter(|flow| flow.kind == Kind::Tcp && flow.role == Role::Send).count();
    let mut all: Vec<Box<dyn Endpoint>> = Vec::new();
    // Captures first: they miss nothing.
    for capture in &plan.captures {
        all.push(Box::new(Capture::new(capture, &line)?));
    }
    for flow in &plan.flows {
        if let (Some(budget), Role::Send) = (&plan.budget, flow.role) {
            tables::check_pace(flow, budget)?;
        }
        all.push(endpoint(flow, plan, budget, senders)?);
    }
    for (number, ping) in plan.pings.iter().enumerate() {
        all.push(Box::new(Ping::new(ping, &line, number)?));
    }
    Ok(all)
}

/// One end of `flow`, one of `senders` over TCP.
fn endpoint(flow: &FlowPlan, plan: &Plan, budget: Budget, senders: usize) -> Result<Box<dyn Endpoint>, WireError> {
    let line = plan.timeline();
    Ok(match (flow.kind, flow.role) {
        (Kind::Tcp, Role::Send) => Box::new(tcp::Sender::new(flow, &line, (budget, senders), plan.common_clock)?),
        (Kind::Tcp, Role::Receive) => Box::new(tcp::Receiver::new(flow, &line, budget)?),
        (Kind::Cbr, Role::Send) => Box::new(cbr::Sender::new(flow, &line, budget)?),
        (Kind::Cbr, Role::Receive) => Box::new(cbr::Receiver::new(flow, &line)?),
        (Kind::Udp, Role::Send) => Box::new(udp::Sender::new(flow, &line, budget, plan.common_clock)?),
        (Kind::Udp, Role::Receive) => Box::new(udp::Receiver::new(flow, &line, budget)?),
    })
}
