//! The simulated world of one run: the event loop, and the way of a packet through links and lines.
//!
//! Functions that every packet passes are inlined into one piece of code.

mod air;
mod applications;
pub mod duplex;
mod ends;
mod gateway;
mod host;
mod instruments;

pub use instruments::{GroupMeter, TransferRow};

use crate::Packet;
use crate::agenda::Agenda;
use crate::air::Air;
use crate::ends::Ends;
use crate::flow::Flow;
use crate::gateway::Gateway;
use crate::line::{LineEnd, Lines};
use crate::link::Link;
use crate::phases::Phases;
use crate::series::Recorder;
use sojourn_core::{Optional, Span, Time};
use sojourn_scenario::Direction;
use sojourn_transport::SegmentKind;
use std::collections::HashMap;

/// For changes that make routes, by their index: the connection, the number of its route, and where packets of either way enter.
pub type Reroutes = HashMap<usize, Vec<(usize, u32, [Optional; 2])>>;

/// Everything that exists in a run.
#[derive(Debug)]
pub struct World {
    /// The present.
    pub now: Time,
    /// Events processed.
    pub events: u64,
    /// All links: the bottleneck first.
    pub links: Vec<Link>,
    /// All delay lines.
    pub lines: Lines,
    /// Those that flows take after a change: by where packets travel, and how long.
    pub other_lines: HashMap<(Direction, Span, LineEnd), usize>,
    /// The routes that flows take after a change, by its index.
    pub reroutes: Reroutes,
    /// All connections of all flows.
    pub flows: Vec<Flow>,
    /// The instruments of each group.
    pub groups: Vec<GroupMeter>,
    /// The queues of hosts before their network cards, where they have any.
    pub devices: Vec<crate::device::Device>,
    /// The medium that the bottleneck shares with stations, where it does.
    pub air: Option<Box<Air>>,
    /// What follows the line with the rates of its shapers, where anything does.
    pub gateway: Option<Box<Gateway>>,
    /// Fills the time series, where they are wanted.
    pub recorder: Option<Recorder>,
    /// What is seen at both ends of flows, where that is wanted.
    pub ends: Option<Ends>,
    /// A row for each transfer, where they are wanted.
    pub transfers: Option<Vec<TransferRow>>,
    /// Pending events: a slot for each link, each line and the air; timers of flows, then of disciplines, then of network cards.
    pub agenda: Agenda,
    /// Parts of the run that have results of their own.
    pub phases: Phases,
    /// Whether the warm-up is over.
    pub measuring: bool,
}

impl World {
    /// Slot of `line`.
    #[inline]
    fn line_slot(&self, line: usize) -> usize {
        self.links.len() + line
    }

    /// Slots that `links` links, `lines` lines and the air, where there is any, need.
    pub fn slots(links: usize, lines: usize, has_air: bool) -> usize {
        links + lines + usize::from(has_air)
    }

    /// Slot of the air, where there is any.
    pub fn air_slot(&self) -> usize {
        self.line_slot(self.lines.len())
    }

    /// Sets the first timer of every flow and discipline.
    pub fn start(&mut self) {
        for flow in 0..self.flows.len() {
            self.arm(flow);
        }
        for link in 0..self.links.len() {
            self.arm_discipline(link);
        }
    }

    /// Processes events until `until`, or until `budget` of them are done. Whether `until` was reached.
    pub fn run(&mut self, until: Time, budget: u64) -> bool {
        let last = self.events + budget;
        loop {
            let (time, slot) = self.agenda.next();
            if time >= until {
                self.now = until;
                return true;
            }
            if self.events >= last {
                return false;
            }
            self.now = time;
            // Most are exits of lines.
            match slot.checked_sub(self.links.len()).filter(|&line| line < self.lines.len()) {
                Some(line) => self.on_exit(line),
                None => self.step(slot),
            }
        }
    }

    #[inline(never)]
    fn step(&mut self, slot: usize) {
        let links = self.links.len();
        if slot < links {
            self.on_sent(slot);
        } else if self.air.is_some() && slot == self.air_slot() {
            self.on_air();
        } else {
            let owner = self.agenda.take_timer() as usize;
            match owner.checked_sub(self.flows.len()) {
                None => self.on_timer(owner),
                Some(link) if link < links => self.on_discipline(link),
                Some(device) => self.on_card_reports(device - links),
            }
        }
    }

    /// A link has sent a packet, or its discipline wants to be asked again.
    #[inline(always)]
    fn on_sent(&mut self, index: usize) {
        self.events += 1;
        let (now, first_line_slot) = (self.now, self.line_slot(0));
        let World { links, lines, flows, agenda, .. } = self;
        let link = &mut links[index];
        let Some(packet) = link.on_wire().filter(|packet| link.ends_way_of(packet)) else {
            return self.on_sent_far(index);
        };
        // Moved from where it lies to its place on the line.
        let line = flows[packet.flow as usize].line(link.direction);
        if lines.push(line, packet, now) {
            agenda.set(first_line_slot + line, lines.next_time(line));
        }
        link.finish();
        let next = link.serve(flows, now);
        agenda.set(index, next);
    }

    /// The same where a packet may be lost, crosses other links or the link's own line, or where none was sent.
    #[inline(never)]
    fn on_sent_far(&mut self, index: usize) {
        let link = &mut self.links[index];
        // None where a shaper only asked to be served again.
        if let Some(&packet) = link.on_wire() {
            link.finish();
            if !link.loses_sent(&packet, &mut self.flows) {
                self.leave_link(index, &packet);
            }
        }
        self.serve(index);
    }

    #[inline]
    fn serve(&mut self, index: usize) {
        if self.links[index].shared.is_some() {
            return self.serve_shared(index);
        }
        let next = self.links[index].serve(&mut self.flows, self.now);
        self.agenda.set(index, next);
    }

    fn on_discipline(&mut self, index: usize) {
        self.links[index].armed = Time::NEVER;
        self.events += 1;
        self.links[index].on_timer(&mut self.flows, self.now);
        self.arm_discipline(index);
    }

    fn arm_discipline(&mut self, index: usize) {
        if let Some(time) =
            self.links[index].timer().map(|time| time.max(self.now)).filter(|&time| time != self.links[index].armed)
        {
            self.links[index].armed = time;
            self.agenda.set_timer((self.flows.len() + index) as u32, time);
        }
    }

    /// Somebody has changed the queue of a link.
    pub fn after_change(&mut self, index: usize) {
        self.arm_discipline(index);
        if self.links[index].on_wire().is_none() {
            self.serve(index);
        }
    }

    /// A packet has reached the end of a line.
    #[inline]
    fn on_exit(&mut self, index: usize) {
        self.events += 1;
        match self.lines.end(index) {
            LineEnd::Endpoint => self.deliver(index),
            LineEnd::Network(direction) => {
                let packet = self.leave_line(index);
                let (entrance, line) = self.flows[packet.flow as usize].way_in(direction);
                self.enter(entrance, line, &packet);
                self.on_left_host(&packet);
            }
            LineEnd::Outside => {
                let packet = self.leave_line(index);
                self.leave_for_outside(&packet);
            }
            LineEnd::Beyond(link) => {
                let packet = self.leave_line(index);
                self.go_on(link, &packet);
            }
            // Of all links that share the line.
            LineEnd::Behind(next, way) => self.leave_shared_line(index, next, way),
        }
    }

    /// The packet that has reached the end of a line.
    #[inline]
    fn leave_line(&mut self, index: usize) -> Packet {
        let packet = *self.lines.first(index);
        self.forget_first(index);
        packet
    }

    /// The first packet of a line has been dealt with.
    #[inline(always)]
    fn forget_first(&mut self, index: usize) {
        let next = self.lines.remove_first(index);
        self.agenda.set(self.line_slot(index), next);
    }

    /// A packet arrives at a link.
    #[inline]
    fn arrive(&mut self, index: usize, packet: &Packet) {
        if self.links[index].shared.is_some() {
            return self.arrive_shared(index, packet);
        }
        let (now, link) = (self.now, &mut self.links[index]);
        link.arrive(packet, &mut self.flows, now);
        if link.on_wire().is_none() {
            let next = link.serve(&mut self.flows, now);
            self.agenda.set(index, next);
        }
        self.links[index].measure_peak();
    }

    /// A packet has been sent by a link and not lost: the link's own delay, and on.
    #[inline]
    pub fn leave_link(&mut self, index: usize, packet: &Packet) {
        let link = &self.links[index];
        let Some(line) = link.line else { return self.go_on(index, packet) };
        if let Some(until) = link.held_until() {
            self.lines.hold(line, until);
        }
        self.enter_line(line, packet);
    }

    /// A packet is past a link: to the next one, or down the flow's own line.
    #[inline]
    fn go_on(&mut self, index: usize, packet: &Packet) {
        if packet.body.kind == SegmentKind::Datagram && self.dies(index, packet) {
            return;
        }
        let flow = &self.flows[packet.flow as usize];
        match self.links[index].behind(flow.route) {
            (Some(next), _) => self.arrive(next, packet),
            (None, way) => self.enter_line(flow.line(way), packet),
        }
    }

    /// The packet that has reached the end of a line that several links share.
    #[cold]
    #[inline(never)]
    fn leave_shared_line(&mut self, index: usize, next: Optional, way: Direction) {
        let packet = self.leave_line(index);
        match next.get() {
            Some(next) => self.arrive(next as usize, &packet),
            None => self.enter_line(self.flows[packet.flow as usize].line(way), &packet),
        }
    }

    /// Whether the time to live of a datagram ends past a link.
    fn dies(&mut self, index: usize, packet: &Packet) -> bool {
        let flow = &mut self.flows[packet.flow as usize];
        let dies = flow.dies_past.get() == Some(index as u32);
        flow.counts.left += u64::from(dies);
        dies
    }

    #[inline(always)]
    fn enter_line(&mut self, index: usize, packet: &Packet) {
        if self.lines.push(index, packet, self.now) {
            self.agenda.set(self.line_slot(index), self.lines.next_time(index));
        }
    }

    /// A packet enters the network at the link `entrance`, or where there is none goes down `line`.
    #[inline(always)]
    fn enter(&mut self, entrance: Option<usize>, line: usize, packet: &Packet) {
        match entrance {
            Some(link) => self.arrive(link, packet),
            None => self.enter_line(line, packet),
        }
    }
}
