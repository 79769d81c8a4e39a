//! What applications ask for and are told.

use super::{TransferRow, World};
use crate::flow::{Endpoints, FIRST_PORT, Request};
use sojourn_traffic::{Action, Arrived, Fetch};
use sojourn_transport::{Segment, SegmentKind};

impl World {
    /// All that the application has supplied to a connection has arrived.
    pub fn on_arrived(&mut self, index: usize) {
        let lead = self.flows[index].lead as usize;
        let delivered_bytes = self.flows[index].counts.delivered_bytes;
        let flow = &mut self.flows[lead];
        let application = flow.application.as_mut().expect("the first connection has the application");
        let arrived = Arrived { connection: (index - lead) as u32, delivered_bytes };
        let Some(answer) = application.on_arrived(self.now, arrived) else { return };
        if let (Some(completed), Some(log)) = (answer.completed, &mut self.transfers) {
            log.push(TransferRow { end: self.now, group: flow.group, index: flow.index, completed });
        }
        if self.measuring {
            let meter = &mut self.groups[flow.group as usize];
            answer.completed.into_iter().for_each(|completed| meter.on_completed(completed));
            answer.page.into_iter().for_each(|time| meter.on_page(time));
        }
        if answer.action != Action::Nothing {
            let acted = self.perform(lead, answer.action);
            self.transmit(acted);
        }
        self.arm(lead);
    }

    /// More has arrived of a connection whose application writes messages.
    #[inline(never)]
    pub fn on_messages(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        let in_order_bytes = flow.in_order_bytes();
        let application = flow.application.as_mut().expect("who writes messages has one connection");
        while let Some(completed) = application.next_whole(self.now, in_order_bytes) {
            if let Some(log) = &mut self.transfers {
                log.push(TransferRow { end: self.now, group: flow.group, index: flow.index, completed });
            }
            if self.measuring {
                self.groups[flow.group as usize].on_completed(completed);
            }
        }
    }

    /// A request has come to the sender.
    pub(super) fn on_request(&mut self, index: usize, number: u32) {
        let flow = &mut self.flows[index];
        let Some(past) = &mut flow.past else { return };
        let Some(request) = past.request.take_if(|request| request.number == number) else { return };
        let Endpoints::Transport(sender, _) = &mut flow.endpoints else { unreachable!("only transports are asked") };
        sender.supply(request.fetch.bytes);
        self.transmit(index);
    }

    /// Does what the application of the flow that begins with connection `lead` asks, up to sending. The connection
    /// that it was about.
    pub(super) fn perform(&mut self, lead: usize, action: Action) -> usize {
        match action {
            Action::Connect { connection, bytes } => return self.connect(lead + connection as usize, bytes),
            Action::Fetch(fetch) => return self.fetch(lead, fetch),
            Action::Pause => {
                self.pause(lead);
                return lead;
            }
            Action::Nothing | Action::Endless | Action::Supply { .. } => {}
        }
        let now = self.now;
        match &mut self.flows[lead].endpoints {
            Endpoints::Transport(sender, _) => match action {
                Action::Endless => sender.supply_forever(),
                Action::Supply { bytes } => sender.supply(bytes),
                Action::Nothing | Action::Connect { .. } | Action::Fetch(_) | Action::Pause => {}
            },
            Endpoints::Datagrams(datagrams) => datagrams.perform(action, now),
            Endpoints::Padding(padding) => padding.perform(action, now),
            Endpoints::Outside(outside) => {
                if let Action::Supply { bytes } = action {
                    outside.supplied_bytes = bytes;
                }
            }
        }
        lead
    }

    /// Nothing new is sent on any connection of a flow.
    fn pause(&mut self, lead: usize) {
        let now = self.now;
        for flow in self.flows[lead..].iter_mut().take_while(|flow| flow.lead as usize == lead) {
            if let Some(past) = &mut flow.past {
                past.request = None;
            }
            match &mut flow.endpoints {
                Endpoints::Transport(sender, _) => sender.stop_supply(),
                Endpoints::Datagrams(datagrams) => datagrams.perform(Action::Pause, now),
                Endpoints::Padding(padding) => padding.perform(Action::Pause, now),
                Endpoints::Outside(_) => {}
            }
        }
    }

    /// Replaces a connection by a fresh one.
    fn dial(&mut self, index: usize) {
        let lead = self.flows[index].lead as usize;
        let past = self.flows[lead].past.get_or_insert_default();
        past.connections += 1;
        let number = past.connections;
        let mut port = FIRST_PORT.wrapping_add(number as u16);
        // After 2^16 connections ports come again: not one that another connection of the flow has.
        while number > u64::from(u16::MAX) && self.has_port(lead, port) {
            port = port.wrapping_add(1);
        }
        let now = self.now;
        let flow = &mut self.flows[index];
        if let Endpoints::Transport(sender, _) = &mut flow.endpoints {
            sender.close(now);
        }
        let (sender, receiver) = self.groups[flow.group as usize].dialer.dial(flow.index, number);
        flow.connect(Endpoints::Transport(sender, receiver), port);
    }

    fn has_port(&self, lead: usize, port: u16) -> bool {
        let mut connections = self.flows[lead..].iter().take_while(|flow| flow.lead as usize == lead);
        connections.any(|flow| flow.key.destination_port == port)
    }

    /// Sends `bytes`, or without end, over a fresh connection.
    fn connect(&mut self, index: usize, bytes: Option<u64>) -> usize {
        self.dial(index);
        if let Endpoints::Transport(sender, _) = &mut self.flows[index].endpoints {
            match bytes {
                Some(bytes) => sender.supply(bytes),
                None => sender.supply_forever(),
            }
        }
        index
    }

    /// The receiver asks for what `fetch` says.
    fn fetch(&mut self, lead: usize, fetch: Fetch) -> usize {
        let index = lead + fetch.connection as usize;
        if fetch.fresh {
            self.dial(index);
        }
        let flow = &mut self.flows[index];
        let past = flow.past.get_or_insert_default();
        past.requests = past.requests.wrapping_add(1);
        past.request = Some(Request::new(past.requests, fetch, self.now));
        if let Some(ends) = &mut self.ends {
            ends.add_request(index, flow.key.destination_port, self.now);
        }
        self.send_request(index);
        index
    }

    /// Sends the request that a connection has.
    pub(super) fn send_request(&mut self, index: usize) {
        let Some(request) = self.flows[index].request().copied() else { return };
        self.flows[index].counts.others += 1;
        let segment = Segment::new(SegmentKind::Request, request.number, self.now);
        self.send_back(index, &segment, request.fetch.request_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Packet;
    use crate::build::build;
    use crate::flow::Outgoing;
    use crate::wanted::Wanted;
    use sojourn_core::Time;
    use sojourn_scenario::{Base, Direction, Scenario};

    /// Data and acknowledgements of an earlier connection reach its port, where nobody listens any more.
    #[test]
    fn connections_do_not_mix() {
        let text = "duration = \"1 s\"\nbottleneck.rate = \"1 Mbit/s\"\n\
                    [[group]]\nname = \"a\"\ncontrol = \"newreno\"\nrtt = \"1 ms\"\ntransport = { preset = \"ns2\", handshake = false }\n";
        let scenario = Scenario::parse(text, None, &Base::Nowhere, &[]).expect("a scenario").scenario;
        let mut world = build(&scenario, 1, &Wanted::default());
        let packet = |world: &mut World, kind, number, payload_bytes| {
            let flow = &mut world.flows[0];
            match kind {
                SegmentKind::Ack => flow.packet_back(0, &Segment::new(kind, number, Time::ZERO), payload_bytes),
                _ => flow.packet_out(0, Outgoing::new(kind, number, payload_bytes), Time::ZERO),
            }
        };
        // By a line on which nothing else is.
        let deliver = |world: &mut World, packet: &Packet| {
            let line = world.flows[0].line(Direction::Forward);
            world.enter_line(line, packet);
            world.deliver(line);
        };
        world.connect(0, Some(10_000));
        let late_data = packet(&mut world, SegmentKind::Data, 0, 1000);
        let late_ack = packet(&mut world, SegmentKind::Ack, 1, 0);
        world.connect(0, Some(10_000));
        deliver(&mut world, &late_data);
        assert_eq!(world.flows[0].counts.delivered_bytes, 0);
        let data = packet(&mut world, SegmentKind::Data, 0, 1000);
        deliver(&mut world, &data);
        assert_eq!(world.flows[0].counts.delivered_bytes, 1000);
        world.transmit(0);
        let sent = world.flows[0].counts.sent;
        deliver(&mut world, &late_ack);
        assert_eq!(world.flows[0].counts.sent, sent, "an old acknowledgement opens no window");
        let ack = packet(&mut world, SegmentKind::Ack, 1, 0);
        deliver(&mut world, &ack);
        assert!(world.flows[0].counts.sent > sent);
    }
}
