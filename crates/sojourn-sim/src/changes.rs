//! What changes while a run goes on.

use crate::flow::Endpoints;
use crate::network::{changes_capacity, changes_line, end_of, halves, nth, place, queue, service};
use crate::tokens::Tokens;
use crate::world::World;
use sojourn_core::registry::Params;
use sojourn_core::{Span, Stream, Time};
use sojourn_scenario::{Direction, Group, Scenario};

/// When the change `index` of a scenario happens.
pub fn time_of(scenario: &Scenario, index: usize) -> Time {
    scenario.changes.get(index).map_or(Time::NEVER, |change| Time::ZERO + change.at)
}

/// Makes the change `index` of the scenario of a run with seed `seed`, at the world's present.
pub fn apply(scenario: &Scenario, seed: u64, index: usize, world: &mut World) {
    for link in &scenario.changes[index].links {
        let place = place(scenario, link.which);
        let (name, _) = nth(scenario, place);
        let random = |of: &str| Stream::new(seed, &format!("change.{index}.link.{name}.{of}"));
        if changes_capacity(link) {
            world.links[place].change_service(service(&link.link.capacity(), world.now));
        }
        if changes_line(link) {
            let line = world.links[place].line.expect("a link whose delay changes has a line");
            world.lines.change(line, link.link.latency(), link.link.jitter, || random("jitter"));
        }
        if link.keys.contains(&"policer") {
            world.links[place].special().policer = link.link.policer.map(Tokens::new);
        }
        if let Some(shaper) = link.link.shaper.filter(|_| link.keys.contains(&"shaper")) {
            match &mut world.links[place].special().shaper {
                Some(tokens) => tokens.change(shaper, world.now),
                none => *none = Some(Tokens::new(shaper)),
            }
            world.after_change(place);
        }
        if link.keys.contains(&"loss") {
            let loss = &mut world.links[place].special().loss;
            let stream = loss.take().map(|(_, stream)| stream);
            let probability = link.link.loss;
            // A stream that has begun goes on, so that a change to the same loss changes nothing.
            *loss = (probability > 0.0).then(|| (probability, stream.unwrap_or_else(|| random("loss"))));
        }
        if link.keys.contains(&"queue") {
            let fresh = queue(name, &link.link, scenario.largest_packet_bytes(), random("queue"), world.now);
            world.links[place].change_queue(fresh, &mut world.flows, world.now);
            world.after_change(place);
        }
    }
    for &(flow, route, entrances) in world.reroutes.get(&index).into_iter().flatten() {
        let flow = &mut world.flows[flow];
        (flow.route, flow.entrances) = (route, entrances);
    }
    for change in &scenario.changes[index].groups {
        if let Some(control) = &change.control {
            retune(change.group, control, world);
        }
        if let Some(rtt) = &change.rtt {
            reroute(change.group, &scenario.groups[change.group], rtt, world);
        }
    }
}

/// Packets of a group's flows take the lines of other round-trip times from now on.
fn reroute(index: usize, group: &Group, rtt: &[Span], world: &mut World) {
    for flow in world.flows.iter_mut().filter(|flow| flow.group as usize == index) {
        let (there, back) = halves(rtt[flow.index as usize]);
        flow.lines = [Direction::Forward, Direction::Reverse].map(|way| {
            let delay = if way == group.direction { there } else { back };
            world.other_lines[&(way, delay, end_of(group))] as u32
        });
    }
}

/// The flows of a group, also those that have not begun, and its later connections take the parameters of another control.
fn retune(group: usize, control: &Params, world: &mut World) {
    let dialer = &mut world.groups[group].dialer;
    dialer.retune(control);
    for flow in world.flows.iter_mut().filter(|flow| flow.group as usize == group) {
        if let Endpoints::Transport(sender, _) = &mut flow.endpoints {
            let (fresh, _) = dialer.dial(flow.index, 0);
            sender.retune(fresh.control());
        }
    }
}
