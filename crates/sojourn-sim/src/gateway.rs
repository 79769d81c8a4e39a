//! A gateway's shapers, whose rates follow the line.

use crate::link::Service;
use crate::network::{BOTTLENECK, nth, place, queue, service};
use sojourn_core::registry::Value;
use sojourn_core::{Rate, Span, Stream, Time};
use sojourn_queue::Queue;
use sojourn_scenario::{Capacity, Direction, Link, Scenario, Which};
use sojourn_shaper::{AnyController, BothWays, Controller, Reply, Seen};
use sojourn_transport::Segment;

/// The parameter by which a discipline shapes itself.
const OWN_RATE: &str = "bandwidth";

/// The controller of both shapers, what it has been told, and what it has set.
#[derive(Debug)]
pub struct Gateway {
    controller: AnyController,
    interval: Span,
    /// When it is asked next.
    next: Time,
    /// The group whose pings it sees, the first of its flows, and the direction in which these leave.
    group: u32,
    first_flow: usize,
    direction: Direction,
    replies: Vec<Reply>,
    shapers: BothWays<Shaper>,
    /// Bytes of a full-size packet.
    packet_bytes: u32,
}

/// What changes of a shaper.
#[derive(Debug)]
pub struct Step {
    /// Its place among the links.
    pub place: usize,
    /// How it sends from now on.
    pub service: Service,
    /// Its queue with the new rate, where the queue shapes.
    pub queue: Option<Queue<Segment>>,
}

/// One of the shapers.
#[derive(Debug)]
struct Shaper {
    /// Its place among the links.
    place: usize,
    name: String,
    /// The link at its present rate.
    link: Link,
    /// The rates so far, each since when.
    rates: Vec<(Time, Rate)>,
    /// That of a queue with another rate, which takes over what the present one has drawn.
    random: Stream,
}

impl Gateway {
    /// The gateway of a scenario that has a controller; `first_flow` is the number of the first connection of a group.
    pub fn new(scenario: &Scenario, seed: u64, first_flow: impl Fn(usize) -> usize) -> Option<Gateway> {
        let declared = scenario.shaper.as_ref()?;
        let shapers = [BOTTLENECK, place(scenario, Which::Reverse)].map(|place| {
            let (name, link) = nth(scenario, place);
            let Capacity::Fixed(rate) = link.capacity() else { unreachable!("a checked shaper has a rate") };
            let random = Stream::new(seed, &format!("shaper.{name}.queue"));
            Shaper { place, name: name.to_owned(), link: link.clone(), rates: vec![(Time::ZERO, rate)], random }
        });
        let packet_bytes = scenario.largest_packet_bytes();
        let about = sojourn_shaper::Gateway {
            base: shapers.each_ref().map(Shaper::rate),
            packet_bytes: shapers
                .each_ref()
                .map(|shaper| shaper.link.framing().map_or(packet_bytes, |framing| framing.bytes(packet_bytes))),
        };
        let group = scenario.groups.iter().position(|group| group.name == declared.pings);
        let group = group.expect("a checked controller's pings are a group");
        Some(Gateway {
            controller: AnyController::build(&declared.controller, &about)
                .expect("the scenario's parameters were checked"),
            interval: declared.interval,
            next: Time::ZERO + declared.interval,
            group: group as u32,
            first_flow: first_flow(group),
            direction: scenario.groups[group].direction,
            replies: Vec::new(),
            shapers,
            packet_bytes,
        })
    }

    /// When its controller is asked next.
    pub fn next(&self) -> Time {
        self.next
    }

    /// A ping of flow `flow` of a group has been answered; it took so long to the reflector and back.
    pub fn on_reply(&mut self, group: u32, flow: usize, there: Span, back: Span, now: Time) {
        if group == self.group {
            let delays = if self.direction == Direction::Forward { [there, back] } else { [back, there] };
            self.replies.push(Reply { at: now, reflector: (flow - self.first_flow) as u32, delays });
        }
    }

    /// Bytes that the shaper at `place` among the links could send from `from` to `to`; `None` of another link.
    pub fn capacity_bytes(&self, place: usize, from: Time, to: Time) -> Option<f64> {
        let rates = &self.shapers.iter().find(|shaper| shaper.place == place)?.rates;
        let ends = rates.iter().skip(1).map(|&(at, _)| at).chain([to]);
        let sent = rates.iter().zip(ends).map(|(&(since, rate), end)| {
            let (since, end) = (since.max(from), end.min(to));
            if since < end { rate.bytes_in(end.since(since)) } else { 0.0 }
        });
        Some(sent.sum())
    }

    /// Shows rate and state of the shaper at `place` among the links, if it is one.
    pub fn probe(&self, place: usize, visit: &mut dyn FnMut(&str, f64)) {
        let Some(way) = self.shapers.iter().position(|shaper| shaper.place == place) else { return };
        visit("shaper_mbps", self.shapers[way].rate().bits_per_second() as f64 / 1e6);
        self.controller.probe(way, visit);
    }

    /// The places of the shapers among the links.
    pub fn places(&self) -> BothWays<usize> {
        self.shapers.each_ref().map(|shaper| shaper.place)
    }

    /// Asks the controller `now`, when the shapers have sent so much, what is to change.
    pub fn step(&mut self, sent_bytes: BothWays<u64>, now: Time) -> Vec<Step> {
        let rates = self.controller.step(&Seen { now, replies: &self.replies, sent_bytes });
        self.replies.clear();
        self.next = now + self.interval;
        let changed = self.shapers.iter_mut().zip(rates).filter(|(shaper, rate)| shaper.rate() != *rate);
        changed.map(|(shaper, rate)| shaper.at(rate, self.packet_bytes, now)).collect()
    }
}

impl Shaper {
    fn rate(&self) -> Rate {
        self.rates.last().expect("it begins with one").1
    }

    /// What changes of the link where it sends at `rate` from `now` on: a discipline that shapes itself does, too.
    fn at(&mut self, rate: Rate, packet_bytes: u32, now: Time) -> Step {
        self.rates.push((now, rate));
        self.link.keys.rate = Some(rate);
        let params = &self.link.keys.queue;
        let shapes = params.descriptor().parameter(OWN_RATE).is_some();
        let shapes = shapes && matches!(params.get(OWN_RATE), Value::Rate(_));
        let queue = shapes.then(|| {
            self.link.keys.queue.set(OWN_RATE, Value::Rate(rate));
            queue(&self.name, &self.link, packet_bytes, self.random.clone(), now)
        });
        Step { place: self.place, service: service(&self.link.capacity(), now), queue }
    }
}
