//! Flows whose host holds them back (TCP small queues), and hosts with a queue before their network card.

use super::World;
use crate::Packet;
use crate::flow::{Endpoints, Flow};
use sojourn_core::Time;

impl Flow {
    /// Whether it has to wait until something of it has left its host.
    #[inline(never)]
    pub(super) fn is_held_back(&mut self, now: Time) -> bool {
        let (Some(host), Endpoints::Transport(sender, _)) = (&mut self.host, &mut self.endpoints) else { return false };
        let held = host.small.holds_back(sender);
        if held {
            sender.on_held_back(now);
        }
        held
    }
}

impl World {
    /// A packet of a flow goes to its access link, which is a line of its own, by way of the host's queue where it has one.
    #[inline]
    pub(super) fn enter_host(&mut self, index: usize, line: usize, packet: Packet) {
        let Some(host) = &mut self.flows[index].host else { return self.enter_line(line, &packet) };
        host.small.on_queued();
        if let Some(device) = host.device {
            return self.queue_in_host(index, device, line, packet);
        }
        self.enter_line(line, &packet);
    }

    /// A packet of a flow has left on its access link.
    #[inline]
    pub(super) fn on_left_host(&mut self, packet: &Packet) {
        let flow = packet.flow as usize;
        if let Some(device) = self.flows[flow].host.as_ref().and_then(|host| host.device) {
            return self.on_sent_by_card(device, packet);
        }
        self.release(flow);
    }

    /// The memory of a packet is free again: its flow may go on, where it waits for that.
    fn release(&mut self, flow: usize) {
        if self.flows[flow].host.as_mut().is_some_and(|host| host.small.on_left()) {
            self.transmit(flow);
        }
    }
}

impl World {
    /// A packet of flow `index`, which is sending, arrives at its host's queue.
    fn queue_in_host(&mut self, index: usize, device: usize, line: usize, packet: Packet) {
        let mut dropped = Vec::new();
        self.devices[device].arrive(packet, &mut self.flows, &mut dropped, self.now);
        self.give_to_card(device, line, &mut dropped);
        for flow in dropped {
            match &mut self.flows[flow as usize].host {
                // It goes on by itself.
                Some(host) if flow as usize == index => {
                    host.small.on_left();
                }
                _ => self.release(flow as usize),
            }
        }
    }

    /// The card takes what it has room for.
    fn give_to_card(&mut self, device: usize, line: usize, dropped: &mut Vec<u32>) {
        while let Some(packet) = self.devices[device].take(&mut self.flows, dropped, self.now) {
            self.enter_line(line, &packet);
        }
    }

    /// A card has sent a packet.
    fn on_sent_by_card(&mut self, device: usize, packet: &Packet) {
        let card = &mut self.devices[device];
        let waited = card.reports_at;
        card.on_sent(packet, self.now);
        let reports_at = card.reports_at;
        if reports_at <= self.now {
            self.on_card_reports(device);
        } else if reports_at != waited {
            self.agenda.set_timer((self.flows.len() + self.links.len() + device) as u32, reports_at);
        }
    }

    /// A card reports what it has sent. First it takes more of what waits, then flows that were held back go on (in Linux the
    /// softirqs of the network card and of tasklets).
    pub(super) fn on_card_reports(&mut self, device: usize) {
        let mut free = self.devices[device].report(self.now);
        let Some(line) = free.first().and_then(|&flow| self.flows[flow as usize].access.get()) else { return };
        self.give_to_card(device, line as usize, &mut free);
        for flow in free {
            self.release(flow as usize);
        }
    }
}
