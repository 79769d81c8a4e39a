//! Where events are left out of the agenda, because nothing can happen between their causes and them.
//!
//! This is decided once, when a world is built, and changes no result: what is done later than it happens is done in the same
//! order, with the same times, before anybody can notice. Two things can be put off:
//!
//! - A link's service. What a link does between two arrivals concerns nobody until the first packet that it has sent
//!   reaches the end of a delay line. It [may lag](crate::link::Lag) by the shortest of these delays.
//! - A receiver's work. Where nothing delays an acknowledgement and it meets no link on its way, a packet that leaves the
//!   last link travels [there and back](crate::line::LineEnd::Answered) in one line, and is received when its answer arrives.
//!
//! The second must keep the order of answers on the lines back, which they share with those of other flows. It does where all
//! packets reach the receivers at different instants, so these must be told apart by the link that sends them.

use crate::build::{header_bytes, named_links, options};
use crate::changes::of_link;
use crate::flow::Flow;
use crate::line::Line;
use crate::link::{Lag, Link};
use sojourn_core::{Rate, Span};
use sojourn_scenario::{Capacity, Direction, Group, Protection, Scenario, Traffic};
use std::collections::HashSet;

/// Whether events are left out; results are the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Events {
    /// Where that can be.
    Fused,
    /// Each has its own place in the agenda.
    Single,
}

/// Which flows' packets may be answered on the spot.
#[derive(Debug)]
pub struct Answering {
    possible: bool,
    /// Of all flows.
    rtts: HashSet<Span>,
}

impl Answering {
    /// What `scenario` lets be.
    pub fn new(scenario: &Scenario, events: Events) -> Answering {
        let ways_back_are_free = named_links(scenario).iter().all(|&(_, direction, _)| direction == Direction::Forward)
            && scenario.groups.iter().all(|group| group.direction == Direction::Forward);
        let all_are_in_order = named_links(scenario).iter().enumerate().all(|(index, (_, _, link))| {
            link.jitter.is_none()
                && !matches!(link.protection(), Some(Protection::Retransmission { .. }))
                && tells_packets_apart(index, scenario)
        });
        Answering {
            possible: events == Events::Fused && ways_back_are_free && all_are_in_order,
            rtts: scenario.groups.iter().flat_map(|group| group.rtt.iter().copied()).collect(),
        }
    }

    /// Whether packets of a flow of `group` with this base RTT may.
    pub fn includes(&self, group: &Group, rtt: Span) -> bool {
        self.possible
            && !rtt.is_zero()
            && !self.rtts.contains(&sharing_the_way_back(rtt))
            // A transfer's end is the receiver's to see, and so is what comes too late for a connection that another has replaced.
            && matches!(group.traffic, Traffic::Bulk { size_bytes: None } | Traffic::OnOff { fresh: false, .. })
            && options(group).ack_every == 1
            && group.host.is_none_or(|host| host.receive_offload.is_zero())
    }
}

/// The other base RTT with the same whole nanoseconds on the way back.
fn sharing_the_way_back(rtt: Span) -> Span {
    let nanos = rtt.as_nanos();
    Span::from_nanos(if nanos.is_multiple_of(2) { nanos - 1 } else { nanos + 1 })
}

/// Whether no two packets of the scenario's flows can ever leave the link `index` within the same nanosecond.
fn tells_packets_apart(index: usize, scenario: &Scenario) -> bool {
    let smallest_bytes = scenario.groups.iter().map(|group| header_bytes(group, &options(group))).min();
    let least_time = |rate: Rate| rate.transmission(u64::from(smallest_bytes.unwrap_or(0)));
    let slow =
        |link: &sojourn_scenario::Link| matches!(link.capacity, Capacity::Fixed(rate) if !least_time(rate).is_zero());
    let (_, _, base) = named_links(scenario)[index];
    slow(base) && of_link(scenario, index).all(|(_, change)| slow(&change.link))
}

/// Lets the links lag that may.
pub fn let_lag(scenario: &Scenario, links: &mut [Link], lines: &[Line], flows: &[Flow]) {
    for (index, (_, direction, _)) in named_links(scenario).into_iter().enumerate() {
        // Arrivals from a link that comes first at the same instant would have to be told from others.
        let fed = links[..index].iter().any(|link| link.next == Some(index) && link.line.is_none());
        if fed || !tells_packets_apart(index, scenario) {
            continue;
        }
        let delays = match (links[index].line, links[index].next) {
            (Some(line), _) => lines[line].constant_delay(),
            (None, Some(_)) => None,
            (None, None) => flows.iter().map(|flow| lines[flow.line(direction)].constant_delay()).min().flatten(),
        };
        links[index].lag = delays.filter(|delay| !delay.is_zero()).map(Lag::new);
    }
}
