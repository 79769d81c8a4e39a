//! A medium in the world: its queues are links, and its exchanges events.

use super::World;
use crate::Packet;
use crate::air::Air;
use crate::flow::Flow;
use crate::link::Link;
use crate::network::BOTTLENECK;
use sojourn_core::Time;
use sojourn_media::{ACCESS_POINT, Device, Medium};
use sojourn_queue::Backlog;
use sojourn_transport::Segment;

/// What the medium has above it.
struct Above<'a> {
    links: &'a mut [Link],
    flows: &'a mut [Flow],
    first_station: usize,
    crossed: &'a mut Vec<(usize, Packet)>,
    waiting: &'a mut Vec<usize>,
    now: Time,
}

impl Above<'_> {
    fn link(&self, device: Device) -> usize {
        if device == ACCESS_POINT { BOTTLENECK } else { self.first_station + device - 1 }
    }
}

impl sojourn_media::Above<Segment> for Above<'_> {
    fn take(&mut self, device: Device, queue: usize, now: Time) -> Option<Packet> {
        let index = self.link(device);
        let link = &mut self.links[index];
        let packet = link.take(queue, self.flows, now);
        if packet.is_none() && link.shared.as_ref().is_some_and(|shared| shared.ready != Time::NEVER) {
            self.waiting.push(index);
        }
        packet
    }

    fn backlog(&self, device: Device, queue: usize) -> Backlog {
        self.links[self.link(device)].backlog_of(queue)
    }

    fn station(&self, packet: &Packet) -> usize {
        self.flows[packet.flow as usize].station as usize
    }

    fn delivered(&mut self, device: Device, packet: Packet, taken: Time) {
        let index = self.link(device);
        self.links[index].crossed(&packet, self.now.since(taken));
        self.crossed.push((index, packet));
    }

    fn given_up(&mut self, device: Device, packet: Packet) {
        let index = self.link(device);
        self.links[index].lose(&packet, self.flows);
    }
}

impl World {
    /// A packet arrives at a link that the medium serves; of a station's links the first one stands for all.
    #[inline(never)]
    pub fn arrive_shared(&mut self, index: usize, packet: &Packet) {
        let air = self.air.as_ref().expect("a medium serves the link");
        let station = self.flows[packet.flow as usize].station as usize;
        let (link, device) =
            if index == BOTTLENECK { (index, ACCESS_POINT) } else { (air.first_station + station, station + 1) };
        let queue = air.medium.queue_of(device, station, packet.dscp);
        self.links[link].arrive_at(queue, packet, &mut self.flows, self.now);
        self.offer(device, queue);
        self.links[link].measure_peak();
    }

    /// A queue of `link` that let nothing go may do so now.
    pub fn serve_shared(&mut self, link: usize) {
        let Some(air) = &self.air else { return };
        let device = if link == BOTTLENECK { ACCESS_POINT } else { link - air.first_station + 1 };
        self.agenda.set(link, Time::NEVER);
        let Some(shared) = &mut self.links[link].shared else { return };
        shared.ready = Time::NEVER;
        for queue in 0..shared.queues() {
            self.offer(device, queue);
        }
    }

    /// Tells the medium that something waits.
    fn offer(&mut self, device: Device, queue: usize) {
        let now = self.now;
        self.with_air(now, |medium, above| medium.offer(device, queue, now, above));
    }

    /// An exchange has ended.
    pub fn on_air(&mut self) {
        self.events += 1;
        let now = self.now;
        self.with_air(now, |medium, above| medium.act(now, above));
        let Some(air) = &mut self.air else { return };
        let mut crossed = std::mem::take(&mut air.crossed);
        for (link, packet) in crossed.drain(..) {
            if !self.links[link].loses(&packet, &mut self.flows) {
                self.leave_link(link, &packet);
            }
        }
        if let Some(air) = &mut self.air {
            air.crossed = crossed;
        }
    }

    /// Lets the medium do `work` at `now`, and notes when it wants to be called again.
    fn with_air(&mut self, now: Time, work: impl FnOnce(&mut Medium<Segment>, &mut Above<'_>)) {
        let slot = self.air_slot();
        let World { air, links, flows, agenda, .. } = self;
        let Some(air) = air else { return };
        let Air { medium, first_station, crossed, waiting, set, .. } = &mut **air;
        let mut above = Above { links, flows, first_station: *first_station, crossed, waiting, now };
        work(medium, &mut above);
        for link in waiting.drain(..) {
            if let Some(shared) = &links[link].shared {
                agenda.set(link, shared.ready);
            }
        }
        if *set != medium.next() {
            *set = medium.next();
            agenda.set(slot, *set);
        }
    }
}
