//! The simulated world of one run: the event loop.

use crate::Packet;
use crate::agenda::Agenda;
use crate::air::Air;
use crate::build::Dialer;
use crate::flow::{Endpoints, FIRST_PORT, Flow, Request};
use crate::line::{LineEnd, Lines};
use crate::link::Link;
use crate::packets::PacketLog;
use crate::series::Recorder;
use crate::times::{Coarse, Times};
use sojourn_core::{Span, Time};
use sojourn_queue::Ecn;
use sojourn_scenario::Direction;
use sojourn_traffic::{Action, Arrived, Completed, Fetch};
use sojourn_transport::{Segment, SegmentKind, Transmit};
use std::collections::BTreeMap;

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
    /// All connections of all flows.
    pub flows: Vec<Flow>,
    /// The instruments of each group.
    pub groups: Vec<GroupMeter>,
    /// The first link of each direction, where there is one.
    pub entrances: [Option<usize>; 2],
    /// The medium that the bottleneck shares with stations, where it does.
    pub air: Option<Box<Air>>,
    /// Fills the time series, where they are wanted.
    pub recorder: Option<Recorder>,
    /// Rows of packets at both ends, where they are wanted.
    pub ends: Option<PacketLog>,
    /// A row for each transfer, where they are wanted.
    pub transfers: Option<Vec<TransferRow>>,
    /// Pending events: a slot for each link, each line and the air; timers of flows, then of disciplines.
    pub agenda: Agenda,
    /// Whether the warm-up is over.
    pub measuring: bool,
}

/// A transfer that has ended.
#[derive(Clone, Copy, Debug)]
pub struct TransferRow {
    /// When it ended.
    pub end: Time,
    /// Index of its group.
    pub group: u32,
    /// Its flow's place in the group.
    pub index: u32,
    /// Its size and times.
    pub completed: Completed,
}

/// What is measured of a group as a distribution.
#[derive(Debug)]
pub struct GroupMeter {
    /// Round-trip times.
    pub rtt: Times,
    /// Completion times.
    pub fct: Times,
    /// Sum of completion times, in ns.
    pub fct_nanos: u128,
    /// How many of them waited for a connection.
    pub waited: u64,
    /// Completion times by the power of ten that the transfer's bytes reach.
    pub fct_by_size: BTreeMap<u32, Coarse>,
    /// Times of pages.
    pub page: Times,
    /// Sum of times of pages, in ns.
    pub page_nanos: u128,
    /// One-way delays of packets of calls.
    pub delay: Times,
    /// Makes the connections of its flows.
    pub dialer: Dialer,
}

impl GroupMeter {
    /// A transfer has ended.
    fn on_completed(&mut self, completed: Completed) {
        self.fct.record(completed.time);
        self.fct_nanos += u128::from(completed.time.as_nanos());
        self.waited += u64::from(!completed.waited.is_zero());
        self.fct_by_size.entry(completed.bytes.ilog10()).or_default().record(completed.time);
    }

    /// A page has ended.
    fn on_page(&mut self, time: Span) {
        self.page.record(time);
        self.page_nanos += u128::from(time.as_nanos());
    }
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
                self.settle(until);
                self.now = until;
                return true;
            }
            if self.events >= last {
                return false;
            }
            self.now = time;
            self.step(slot);
        }
    }

    #[inline]
    fn step(&mut self, slot: usize) {
        let links = self.links.len();
        if slot < links {
            self.on_link(slot);
        } else if slot - links < self.lines.len() {
            self.on_exit(slot - links);
        } else if self.air.is_some() && slot == self.air_slot() {
            self.on_air();
        } else {
            let owner = self.agenda.begin_timer() as usize;
            match owner.checked_sub(self.flows.len()) {
                None => self.on_timer(owner),
                Some(link) => self.on_discipline(link),
            }
            self.agenda.end_timer();
        }
    }

    /// A link is due, or woken lest one of its packets be missed.
    #[inline]
    fn on_link(&mut self, index: usize) {
        if self.links[index].lag.is_none() {
            return self.on_sent(index, self.now);
        }
        self.catch_up(index, before(self.now));
        if let Some(lag) = &mut self.links[index].lag {
            self.agenda.set(index, lag.wake());
        }
    }

    /// Serves a link that may lag as it should have been up to `until`, that instant included.
    #[inline]
    fn catch_up(&mut self, index: usize, until: Time) {
        while let Some(at) = self.links[index].lag.as_ref().and_then(|lag| lag.due(until)) {
            self.on_sent(index, at);
        }
    }

    /// A link has sent a packet, or its discipline wants to be asked again.
    #[inline]
    fn on_sent(&mut self, index: usize, at: Time) {
        self.events += 1;
        let link = &mut self.links[index];
        // A shaper may only have asked to be served again.
        let Some(&packet) = link.on_wire() else { return self.serve(index, at) };
        link.finish();
        self.serve(index, at);
        self.leave_link(index, packet, at);
    }

    #[inline]
    fn serve(&mut self, index: usize, at: Time) {
        let link = &mut self.links[index];
        if link.shared.is_some() {
            return self.serve_shared(index, at);
        }
        let next = link.serve(&mut self.flows, at);
        let wanted = link.lag.as_mut().map_or(Some(next), |lag| lag.set(next));
        if let Some(time) = wanted {
            self.agenda.set(index, time);
        }
    }

    fn on_discipline(&mut self, index: usize) {
        if self.links[index].armed != self.now {
            // It was that of a discipline which has been replaced since.
            return;
        }
        self.links[index].armed = Time::NEVER;
        self.events += 1;
        self.catch_up(index, self.now);
        self.links[index].on_timer(&mut self.flows, self.now);
        self.arm_discipline(index);
    }

    fn arm_discipline(&mut self, index: usize) {
        if let Some(time) =
            self.links[index].timer().map(|time| time.max(self.now)).filter(|&time| time != self.links[index].armed)
        {
            self.links[index].armed = time;
            self.agenda.add_timer((self.flows.len() + index) as u32, time);
        }
    }

    /// Somebody has changed the queue of a link.
    pub fn after_change(&mut self, index: usize) {
        self.arm_discipline(index);
        if self.links[index].on_wire().is_none() {
            self.serve(index, self.now);
        }
    }

    /// A packet has reached the end of a line.
    #[inline]
    fn on_exit(&mut self, index: usize) {
        self.events += 1;
        let packet = self.lines.pop(index);
        self.agenda.set(self.line_slot(index), self.lines.next_time(index));
        match self.lines.end(index) {
            LineEnd::Endpoint => self.deliver(packet),
            LineEnd::Answered(back) => self.on_answered(&packet, back),
            LineEnd::Network(direction) => self.enter(direction, packet),
            LineEnd::Beyond(link) => self.go_on(link, packet, self.now),
        }
    }

    /// A packet arrives at a link.
    #[inline]
    fn arrive(&mut self, index: usize, packet: Packet, at: Time) {
        if self.links[index].shared.is_some() {
            return self.arrive_shared(index, packet, at);
        }
        self.catch_up(index, at);
        self.links[index].arrive(packet, &mut self.flows, at);
        if self.links[index].on_wire().is_none() {
            self.serve(index, at);
        }
        self.links[index].measure_peak();
    }

    /// A packet has been sent by a link: loss, the link's own delay, and on.
    #[inline]
    pub fn leave_link(&mut self, index: usize, packet: Packet, at: Time) {
        if self.links[index].loses(&packet, &mut self.flows) {
            return;
        }
        match self.links[index].line {
            Some(line) => {
                if let Some(noise) = &self.links[index].noise {
                    self.lines.hold(line, noise.held_until());
                }
                self.enter_line(line, packet, at);
            }
            None => self.go_on(index, packet, at),
        }
    }

    /// A packet is past a link: to the next one, or down the flow's own line.
    #[inline]
    fn go_on(&mut self, index: usize, packet: Packet, at: Time) {
        if packet.body.kind == SegmentKind::Datagram && self.dies(index, &packet) {
            return;
        }
        match self.links[index].next {
            Some(next) => self.arrive(next, packet, at),
            None => {
                let direction = self.links[index].direction;
                self.enter_line(self.flows[packet.flow as usize].lines[direction as usize], packet, at);
            }
        }
    }

    /// Whether the time to live of a datagram ends past a link.
    fn dies(&mut self, index: usize, packet: &Packet) -> bool {
        let flow = &mut self.flows[packet.flow as usize];
        let dies = flow.dies_past == Some(index);
        flow.counts.left += u64::from(dies);
        dies
    }

    #[inline(always)]
    fn enter_line(&mut self, index: usize, packet: Packet, at: Time) {
        if self.lines.push(index, packet, at) {
            self.agenda.set(self.line_slot(index), self.lines.next_time(index));
        }
    }

    /// A packet enters the network, travelling in `direction`.
    #[inline(always)]
    fn enter(&mut self, direction: Direction, packet: Packet) {
        match self.entrances[direction as usize] {
            Some(link) => self.arrive(link, packet, self.now),
            None => self.enter_line(self.flows[packet.flow as usize].lines[direction as usize], packet, self.now),
        }
    }

    /// Catches up with all that happened before `until` and has been put off, for somebody who looks.
    fn settle(&mut self, until: Time) {
        let last = before(until);
        for link in 0..self.links.len() {
            self.catch_up(link, last);
        }
        for line in 0..self.lines.len() {
            self.answer_all(line, last);
        }
    }

    /// The receivers get the packets that have reached them by `last`; their answers travel on in the same places.
    fn answer_all(&mut self, line: usize, last: Time) {
        let LineEnd::Answered(back) = self.lines.end(line) else { return };
        let World { lines, flows, events, ends, .. } = self;
        lines.visit(line, |exit, packet| {
            let arrival = exit - back;
            if arrival <= last && !packet.body.kind.travels_back() {
                *events += 1;
                if let Some(log) = ends {
                    log.add_received(packet, arrival);
                }
                packet.body = flows[packet.flow as usize].answer(packet, arrival).ack.expect(AT_ONCE);
            }
            arrival <= last
        });
    }

    /// The answer to a packet has reached the sender. The packet was at the receiver `back` ago; unless somebody has looked
    /// since, it is received only now.
    #[inline]
    fn on_answered(&mut self, packet: &Packet, back: Span) {
        let index = packet.flow as usize;
        if packet.body.kind.travels_back() {
            return self.on_answer(index, &packet.body);
        }
        self.events += 1;
        if let Some(log) = &mut self.ends {
            log.add_received(packet, self.now - back);
        }
        let arrival = self.flows[index].answer(packet, self.now - back);
        // Read where it was written: what has just been written in pieces must not be moved as a whole.
        self.on_answer(index, arrival.ack.as_ref().expect(AT_ONCE));
    }

    #[inline]
    fn on_answer(&mut self, index: usize, answer: &Segment) {
        self.flows[index].counts.left += 1;
        match answer.kind {
            SegmentKind::SynAck => self.on_syn_ack(index),
            _ => self.on_ack(index, answer),
        }
    }

    /// A packet has reached the endpoint it travels to.
    #[inline]
    fn deliver(&mut self, packet: Packet) {
        let index = packet.flow as usize;
        self.flows[index].counts.left += 1;
        if let Some(log) = &mut self.ends {
            log.add_received(&packet, self.now);
        }
        if self.flows[index].is_past(&packet) {
            return;
        }
        match packet.body.kind {
            SegmentKind::Data => self.on_data(index, &packet),
            SegmentKind::Ack => self.on_ack(index, &packet.body),
            SegmentKind::Syn => self.on_syn(index, &packet.body),
            SegmentKind::SynAck => self.on_syn_ack(index),
            SegmentKind::Datagram => self.on_datagram(index, &packet),
            SegmentKind::Request => self.on_request(index, packet.body.number),
            SegmentKind::Probe => self.on_probe(index, &packet),
            SegmentKind::Echo => self.on_echo(index, packet.body.stamp),
        }
    }

    #[inline]
    fn on_data(&mut self, index: usize, packet: &Packet) {
        let arrival = self.flows[index].receive(packet, self.now);
        match arrival.ack {
            Some(ack) => self.send_back(index, ack, 0),
            None => self.arm(index),
        }
        // After the acknowledgement, which belongs to this connection and not to one that may replace it.
        if arrival.is_new && self.flows[index].has_all() {
            self.on_arrived(index);
        }
    }

    /// All that the application has supplied to a connection has arrived.
    fn on_arrived(&mut self, index: usize) {
        let lead = self.flows[index].lead;
        let delivered_bytes = self.flows[index].counts.delivered_bytes;
        let flow = &mut self.flows[lead];
        let application = flow.application.as_mut().expect("the first connection has the application");
        let arrived = Arrived { connection: (index - lead) as u32, delivered_bytes };
        let Some(answer) = application.on_arrived(self.now, arrived) else { return };
        if let (Some(completed), Some(log)) = (answer.completed, &mut self.transfers) {
            log.push(TransferRow { end: self.now, group: flow.group as u32, index: flow.index, completed });
        }
        if self.measuring {
            let meter = &mut self.groups[flow.group];
            answer.completed.into_iter().for_each(|completed| meter.on_completed(completed));
            answer.page.into_iter().for_each(|time| meter.on_page(time));
        }
        if answer.action != Action::Nothing {
            let acted = self.perform(lead, answer.action);
            self.transmit(acted);
        }
        self.arm(lead);
    }

    fn on_datagram(&mut self, index: usize, packet: &Packet) {
        let flow = &mut self.flows[index];
        let delay = self.now.since(packet.body.stamp);
        flow.counts.on_delay(delay);
        if let Some(call) = &mut flow.call {
            call.on_packet(delay);
            if self.measuring {
                self.groups[flow.group].delay.record(delay);
            }
        }
        flow.counts.delivered_bytes += u64::from(packet.bytes - flow.header_bytes);
    }

    /// A probe has come to the receiver.
    fn on_probe(&mut self, index: usize, probe: &Packet) {
        let payload_bytes = probe.bytes - self.flows[index].header_bytes;
        self.send_back(index, Segment::new(SegmentKind::Echo, probe.body.number, probe.body.stamp), payload_bytes);
    }

    /// The answer to a probe that was sent at `sent`.
    fn on_echo(&mut self, index: usize, sent: Time) {
        let rtt = self.now.since(sent);
        let flow = &mut self.flows[index];
        flow.counts.on_rtt(rtt);
        if self.measuring {
            self.groups[flow.group].rtt.record(rtt);
        }
        if let Endpoints::Padding(padding) = &mut flow.endpoints {
            padding.on_echo(rtt);
        }
    }

    #[inline]
    fn on_ack(&mut self, index: usize, ack: &Segment) {
        let flow = &mut self.flows[index];
        let Endpoints::Transport(sender, _) = &mut flow.endpoints else { unreachable!("only data is acknowledged") };
        if let Some(rtt) = sender.on_ack(ack, self.now) {
            flow.counts.on_rtt(rtt);
            if self.measuring {
                self.groups[flow.group].rtt.record(rtt);
            }
        }
        self.transmit(index);
    }

    fn on_syn(&mut self, index: usize, syn: &Segment) {
        let answer = self.flows[index].receiver().on_syn(syn);
        self.send_back(index, answer, 0);
    }

    /// A request has come to the sender.
    fn on_request(&mut self, index: usize, number: u32) {
        let flow = &mut self.flows[index];
        let Some(Request { fetch, .. }) = flow.request.take_if(|request| request.number == number) else { return };
        let Endpoints::Transport(sender, _) = &mut flow.endpoints else { unreachable!("only transports are asked") };
        sender.supply(fetch.bytes);
        self.transmit(index);
    }

    fn on_syn_ack(&mut self, index: usize) {
        let now = self.now;
        if let Endpoints::Transport(sender, _) = &mut self.flows[index].endpoints {
            sender.on_syn_ack(now);
        }
        self.transmit(index);
    }

    /// The timer of a flow has gone off.
    fn on_timer(&mut self, index: usize) {
        self.events += 1;
        let now = self.now;
        if self.flows[index].armed != now {
            // An earlier timer has replaced this one since it was set.
            return;
        }
        self.flows[index].armed = Time::NEVER;
        if let Some(application) = self.flows[index].application.as_mut().filter(|application| application.next <= now)
        {
            let action = application.act(now);
            let acted = self.perform(index, action);
            if acted != index {
                self.transmit(acted);
            }
        }
        if let Some(request) = self.flows[index].request.as_mut().filter(|request| request.again <= now) {
            request.repeat(now);
            self.send_request(index);
        }
        if let Endpoints::Transport(sender, receiver) = &mut self.flows[index].endpoints {
            sender.on_timer(now);
            if let Some(ack) = receiver.on_timer(now) {
                self.send_back(index, ack, 0);
            }
        }
        self.transmit(index);
    }

    /// Does what the application of the flow that begins with connection `lead` asks, up to sending. The connection
    /// that it was about.
    fn perform(&mut self, lead: usize, action: Action) -> usize {
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
        }
        lead
    }

    /// Nothing new is sent on any connection of a flow.
    fn pause(&mut self, lead: usize) {
        let now = self.now;
        for flow in self.flows[lead..].iter_mut().take_while(|flow| flow.lead == lead) {
            flow.request = None;
            match &mut flow.endpoints {
                Endpoints::Transport(sender, _) => sender.stop_supply(),
                Endpoints::Datagrams(datagrams) => datagrams.perform(Action::Pause, now),
                Endpoints::Padding(padding) => padding.perform(Action::Pause, now),
            }
        }
    }

    /// Replaces a connection by a fresh one.
    fn dial(&mut self, index: usize) {
        let lead = self.flows[index].lead;
        self.flows[lead].connections += 1;
        let number = self.flows[lead].connections;
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
        let (sender, receiver) = self.groups[flow.group].dialer.dial(flow.index, number);
        flow.connect(Endpoints::Transport(sender, receiver), port);
    }

    fn has_port(&self, lead: usize, port: u16) -> bool {
        let mut connections = self.flows[lead..].iter().take_while(|flow| flow.lead == lead);
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
        flow.requests = flow.requests.wrapping_add(1);
        flow.request = Some(Request::new(flow.requests, fetch, self.now));
        self.send_request(index);
        index
    }

    /// Sends the request that a connection has.
    fn send_request(&mut self, index: usize) {
        let Some(request) = self.flows[index].request else { return };
        let segment = Segment::new(SegmentKind::Request, request.number, self.now);
        self.send_back(index, segment, request.fetch.request_bytes);
    }

    /// Sends all that a flow may send now.
    #[inline]
    fn transmit(&mut self, index: usize) {
        while let Some(packet) = self.next_packet(index) {
            let flow = &self.flows[index];
            if let Some(log) = &mut self.ends {
                log.add_sent(&packet, self.now);
            }
            match flow.access {
                Some(line) => self.enter_line(line, packet, self.now),
                None => self.enter(flow.direction, packet),
            }
        }
        self.arm(index);
    }

    #[inline]
    fn next_packet(&mut self, index: usize) -> Option<Packet> {
        let now = self.now;
        let flow = &mut self.flows[index];
        let id = index as u32;
        match &mut flow.endpoints {
            Endpoints::Transport(sender, _) => match sender.poll_transmit(now)? {
                Transmit::Syn => Some(flow.packet(id, Segment::new(SegmentKind::Syn, 0, now), 0)),
                Transmit::Data { number, payload_bytes, retransmission, cwr } => {
                    let segment = Segment { cwr, ..Segment::new(SegmentKind::Data, number, now) };
                    let mut packet = flow.packet(id, segment, payload_bytes);
                    // RFC 3168 section 6.1.5: retransmissions are not ECN-capable.
                    packet.ecn = if retransmission { Ecn::NotEct } else { flow.ecn };
                    Some(packet)
                }
            },
            Endpoints::Datagrams(datagrams) => {
                let number = datagrams.due(now)?;
                let payload_bytes = datagrams.packet_bytes() - flow.header_bytes;
                Some(flow.packet(id, Segment::new(SegmentKind::Datagram, number, now), payload_bytes))
            }
            Endpoints::Padding(padding) => {
                let (kind, number) = padding.due(now)?;
                let payload_bytes = padding.packet_bytes() - flow.header_bytes;
                Some(flow.packet(id, Segment::new(kind, number, now), payload_bytes))
            }
        }
    }

    /// The receiver of a flow sends `segment` with `payload_bytes`.
    #[inline(always)]
    fn send_back(&mut self, index: usize, segment: Segment, payload_bytes: u32) {
        let flow = &mut self.flows[index];
        let direction = flow.direction.opposite();
        // Made where it goes to, not made and then moved there.
        match self.entrances[direction as usize] {
            Some(link) => {
                let packet = flow.packet_back(index as u32, segment, payload_bytes);
                self.arrive(link, packet, self.now);
            }
            None => {
                let packet = flow.packet_back(index as u32, segment, payload_bytes);
                let line = flow.lines[direction as usize];
                self.enter_line(line, packet, self.now);
            }
        }
    }

    /// Makes sure that the flow's timer goes off no later than its deadline.
    #[inline]
    fn arm(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        let deadline = flow.deadline(self.now);
        if deadline < flow.armed {
            flow.armed = deadline;
            self.agenda.add_timer(index as u32, deadline);
        }
    }

    /// The warm-up is over.
    pub fn begin_measuring(&mut self) {
        self.measuring = true;
        for link in &mut self.links {
            link.begin_measuring(self.now);
        }
        if let Some(air) = &mut self.air {
            air.begin_measuring();
        }
        for flow in &mut self.flows {
            flow.base = flow.counts;
            flow.sojourn.clear();
            if let Some(application) = &mut flow.application {
                application.begin_measuring(self.now);
            }
            if let Some(call) = &mut flow.call {
                call.begin_measuring();
            }
            flow.base_sender = flow.sender_counts().unwrap_or_default();
        }
    }

    /// Brings all instruments up to the present.
    pub fn read_instruments(&mut self) {
        for link in &mut self.links {
            link.read(self.now);
        }
    }

    /// Checks that no packet was made or lost by the simulator.
    ///
    /// # Panics
    /// Where a flow has received more than it sent, or the network holds more or less than the flows
    /// have in it.
    pub fn assert_conservation(&self) {
        let mut in_flight = 0;
        for (index, flow) in self.flows.iter().enumerate() {
            let counts = &flow.counts;
            let here = counts.entered.checked_sub(counts.left + counts.lost);
            in_flight += here.unwrap_or_else(|| panic!("flow {index} got more packets than it sent: {counts:?}"));
        }
        let in_links: usize = self.links.iter().map(Link::packets).sum();
        let in_air = self.air.as_ref().map_or(0, |air| air.packets());
        assert_eq!(
            in_flight,
            (in_links + in_air + self.lines.packets()) as u64,
            "packets in the network at {:?}",
            self.now
        );
    }
}

/// What a packet on a line that is [answered](LineEnd::Answered) can rely on.
const AT_ONCE: &str = "a receiver that delays nothing acknowledges each segment";

/// The instant before `time`.
fn before(time: Time) -> Time {
    time - Span::from_nanos(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build;
    use crate::fuse::Events;
    use crate::runs::Wanted;
    use sojourn_scenario::{Base, Scenario};

    /// Data and acknowledgements of an earlier connection reach its port, where nobody listens any more.
    #[test]
    fn connections_do_not_mix() {
        let text = "duration = \"1 s\"\nbottleneck.rate = \"1 Mbit/s\"\n\
                    [[group]]\nname = \"a\"\ncontrol = \"newreno\"\nrtt = \"1 ms\"\ntransport = { preset = \"ns2\", handshake = false }\n";
        let scenario = Scenario::parse(text, None, &Base::Nowhere, &[]).expect("a scenario").scenario;
        let mut world = build(&scenario, 1, &Wanted::default(), Events::Single);
        let packet = |world: &mut World, kind, number, payload_bytes| {
            let segment = Segment::new(kind, number, Time::ZERO);
            let mut packet = world.flows[0].packet(0, segment, payload_bytes);
            if kind == SegmentKind::Ack {
                packet.key = packet.key.reversed();
            }
            packet
        };
        world.connect(0, Some(10_000));
        let late_data = packet(&mut world, SegmentKind::Data, 0, 1000);
        let late_ack = packet(&mut world, SegmentKind::Ack, 1, 0);
        world.connect(0, Some(10_000));
        world.deliver(late_data);
        assert_eq!(world.flows[0].counts.delivered_bytes, 0);
        let data = packet(&mut world, SegmentKind::Data, 0, 1000);
        world.deliver(data);
        assert_eq!(world.flows[0].counts.delivered_bytes, 1000);
        world.transmit(0);
        let sent = world.flows[0].counts.sent;
        world.deliver(late_ack);
        assert_eq!(world.flows[0].counts.sent, sent, "an old acknowledgement opens no window");
        let ack = packet(&mut world, SegmentKind::Ack, 1, 0);
        world.deliver(ack);
        assert!(world.flows[0].counts.sent > sent);
    }
}
