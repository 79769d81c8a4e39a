//! What happens at both ends of a connection: packets arrive, timers go off, packets are sent.

use super::World;
use super::duplex;
use crate::Packet;
use crate::flow::{Endpoints, Flow, Outgoing};
use crate::outside::OutsidePacket;
use sojourn_core::{Span, Time};
use sojourn_queue::Ecn;
use sojourn_transport::{Ability, Arrival, EcnFlags, Segment, SegmentKind, Transmit};

impl World {
    /// A packet has reached the end of a line, which is the endpoint it travels to.
    #[inline(always)]
    pub(super) fn deliver(&mut self, line: usize) {
        let packet = self.lines.first(line);
        let index = packet.flow as usize;
        let flow = &mut self.flows[index];
        flow.counts.left += 1;
        if let Some(log) = &mut self.ends {
            log.add_received(packet, self.now);
        }
        if flow.is_past(packet) {
            return self.forget_first(line);
        }
        // Read where they lie.
        match packet.body.kind {
            SegmentKind::Ack => {
                let rtt = flow.sender().on_ack(&packet.body, self.now);
                self.forget_first(line);
                self.after_ack(index, rtt);
            }
            SegmentKind::Data => {
                let arrival = flow.receive(packet, self.now);
                self.forget_first(line);
                self.after_data(index, &arrival);
            }
            _ => {
                let packet = self.leave_line(line);
                self.deliver_other(index, &packet);
            }
        }
    }

    /// A packet of a program has reached the end of its way.
    #[inline(never)]
    pub(super) fn leave_for_outside(&mut self, packet: &Packet) {
        let flow = &mut self.flows[packet.flow as usize];
        flow.counts.left += 1;
        if let Some(log) = &mut self.ends {
            log.add_received(packet, self.now);
        }
        let Endpoints::Outside(outside) = &mut flow.endpoints else { unreachable!("programs have lines of their own") };
        let payload_bytes = outside.on_arrival(packet, self.now);
        if !packet.body.kind.travels_back() {
            flow.counts.on_delay(self.now.since(packet.body.stamp));
            flow.counts.delivered_bytes += u64::from(payload_bytes);
        }
    }

    /// A packet from outside enters the network, as one of the flow `index`.
    pub fn enter_from_outside(&mut self, index: usize, given: &OutsidePacket) {
        let now = self.now;
        let flow = &mut self.flows[index];
        let Endpoints::Outside(outside) = &mut flow.endpoints else { unreachable!("programs have flows of their own") };
        outside.enter(given);
        let OutsidePacket { token, bytes, key, ecn, dscp, travels_back, .. } = *given;
        let kind = if travels_back { SegmentKind::Echo } else { SegmentKind::Datagram };
        let next = flow.packet_out(index as u32, Outgoing::new(kind, token, 0), now);
        let packet = Packet { bytes, key, ecn, dscp, ..next };
        if travels_back {
            let (entrance, line) = flow.way_in(flow.direction.opposite());
            self.enter(entrance, line, &packet);
        } else {
            self.set_out(index, packet);
        }
    }

    #[inline(never)]
    fn deliver_other(&mut self, index: usize, packet: &Packet) {
        match packet.body.kind {
            SegmentKind::Data | SegmentKind::Ack => unreachable!("dealt with"),
            SegmentKind::DataAck => self.on_data_with_ack(index, packet),
            SegmentKind::Syn => self.on_syn(index, &packet.body),
            SegmentKind::SynAck => self.on_syn_ack(index, &packet.body),
            SegmentKind::Datagram => self.on_datagram(index, packet),
            SegmentKind::Request => self.on_request(index, packet.body.number),
            SegmentKind::Ping => {
                self.on_datagram(index, packet);
                self.echo(index, packet);
            }
            SegmentKind::Probe => {
                self.flows[index].counts.others += 1;
                self.echo(index, packet);
            }
            SegmentKind::Echo => self.on_echo(index, packet),
        }
    }

    /// The receiver has got a data packet.
    #[inline(always)]
    fn after_data(&mut self, index: usize, arrival: &Arrival) {
        match &arrival.ack {
            Some(ack) => self.send_back(index, ack, 0),
            None => self.arm(index),
        }
        self.after_arrival(index, arrival.is_new);
    }

    /// The application gets what has arrived. After the acknowledgement, which belongs to this connection and not to one that may
    /// replace it.
    #[inline(always)]
    fn after_arrival(&mut self, index: usize, is_new: bool) {
        if is_new && self.flows[index].has_messages {
            self.on_messages(index);
        }
        if is_new && self.flows[index].has_all() {
            self.on_arrived(index);
        }
    }

    /// Data has arrived where data of the same connection is sent from: what it acknowledges, then what it brings, then what may
    /// be sent, and an acknowledgement of its own only where that took none along (Linux `tcp_rcv_established`).
    fn on_data_with_ack(&mut self, index: usize, packet: &Packet) {
        let now = self.now;
        duplex::open(&mut self.flows, index, now);
        let Some(duplex) = &mut self.flows[index].duplex else { unreachable!("data goes both ways") };
        let (other, ack) = (duplex.other, duplex.take(packet));
        if let Some(ack) = ack {
            let rtt = self.flows[other].sender().on_ack_with_data(&ack, now);
            self.note_rtt(other, rtt);
        }
        let flow = &mut self.flows[index];
        let data = Packet { bytes: packet.bytes - packet.body.option_bytes(), ..*packet };
        let arrival = flow.receive(&data, now);
        if let Some(duplex) = &mut flow.duplex {
            duplex.owed = arrival.ack;
        }
        self.transmit(other);
        if let Some(ack) = self.flows[index].duplex.as_mut().and_then(|duplex| duplex.owed.take()) {
            self.send_back(index, &ack, 0);
        }
        self.arm(index);
        self.after_arrival(index, arrival.is_new);
    }

    fn on_datagram(&mut self, index: usize, packet: &Packet) {
        let flow = &mut self.flows[index];
        let delay = self.now.since(packet.body.stamp);
        flow.counts.on_delay(delay);
        if let Some(listener) = &mut flow.listener
            && let Some(time) = listener.on_packet(packet.body.number, delay)
            && self.measuring
        {
            self.groups[flow.group as usize].delay.record(time);
        }
        flow.counts.delivered_bytes += u64::from(packet.bytes - flow.header_bytes);
    }

    /// The receiver sends back what has come.
    fn echo(&mut self, index: usize, probe: &Packet) {
        let payload_bytes = probe.bytes - self.flows[index].header_bytes;
        let mut echo = Segment::new(SegmentKind::Echo, probe.body.number, probe.body.stamp);
        echo.delay_nanos = self.now.since(probe.body.stamp).as_nanos() as i64;
        self.send_back(index, &echo, payload_bytes);
    }

    /// The answer to a probe or a ping.
    fn on_echo(&mut self, index: usize, echo: &Packet) {
        let rtt = self.now.since(echo.body.stamp);
        let flow = &mut self.flows[index];
        flow.counts.on_rtt(rtt);
        if self.measuring {
            self.groups[flow.group as usize].rtt.record(rtt);
        }
        if let Endpoints::Padding(padding) = &mut flow.endpoints {
            padding.on_echo(rtt);
        }
        if let Some(gateway) = &mut self.gateway {
            let there = Span::from_nanos(echo.body.delay_nanos as u64);
            gateway.on_reply(self.flows[index].group, index, there, rtt - there, self.now);
        }
    }

    /// The sender has got an acknowledgement, which has told it a round-trip time or not: sends what it lets go.
    #[inline(always)]
    fn after_ack(&mut self, index: usize, rtt: Option<Span>) {
        self.note_rtt(index, rtt);
        self.send_all(index);
        let deadline = self.flows[index].deadline_of_sender(self.now);
        self.arm_for(index, deadline);
    }

    #[inline(always)]
    fn note_rtt(&mut self, index: usize, rtt: Option<Span>) {
        let flow = &mut self.flows[index];
        if let Some(rtt) = rtt {
            flow.counts.on_rtt(rtt);
            if self.measuring {
                self.groups[flow.group as usize].rtt.record(rtt);
            }
        }
    }

    fn on_syn(&mut self, index: usize, syn: &Segment) {
        self.flows[index].counts.others += 1;
        let now = self.now;
        let answer = self.flows[index].receiver().on_syn(syn, now);
        if let Some(duplex) = &self.flows[index].duplex {
            let other = duplex.other;
            self.flows[other].sender().on_syn(now);
        }
        self.send_back(index, &answer, 0);
    }

    fn on_syn_ack(&mut self, index: usize, answer: &Segment) {
        let now = self.now;
        let flow = &mut self.flows[index];
        if let Endpoints::Transport(sender, _) = &mut flow.endpoints {
            // RFC 9331 section 4.2: ECT(1) says that both ends have accurate feedback.
            match sender.on_answer(answer.ecn) {
                Some(Ability::Classic) => flow.ecn = Ecn::Ect0,
                Some(Ability::Nothing) => flow.ecn = Ecn::NotEct,
                Some(Ability::Counts) | None => {}
            }
            flow.flags = sender.data_flags();
            sender.on_syn_ack(now, answer.stamp);
        }
        self.transmit(index);
    }

    /// The timer of a flow has gone off: mostly because the next packet may be sent.
    #[inline(never)]
    pub(super) fn on_timer(&mut self, index: usize) {
        let now = self.now;
        let flow = &mut self.flows[index];
        flow.armed = Time::NEVER;
        let others = flow.deadline_of_others();
        if others <= now {
            self.events += 1;
            return self.on_timer_of_others(index);
        }
        if let Endpoints::Transport(sender, _) = &mut flow.endpoints
            && sender.is_due(now)
        {
            self.events += 1;
            sender.on_timer(now);
            self.send_all(index);
        }
        let deadline = self.flows[index].deadline_of_sender(now).min(others);
        self.arm_for(index, deadline);
    }

    /// The same where it was not only the sender that waited for it.
    #[inline(never)]
    fn on_timer_of_others(&mut self, index: usize) {
        let now = self.now;
        if let Some(application) = self.flows[index].application.as_mut().filter(|application| application.next <= now)
        {
            let action = application.act(now);
            let acted = self.perform(index, action);
            if acted != index {
                self.transmit(acted);
            }
        }
        if let Some(request) = self.flows[index].request().filter(|request| request.again <= now) {
            request.repeat(now);
            self.send_request(index);
        }
        if let Endpoints::Transport(sender, receiver) = &mut self.flows[index].endpoints {
            sender.on_timer(now);
            if let Some(ack) = receiver.on_timer(now) {
                self.send_back(index, &ack, 0);
            }
        }
        self.transmit(index);
    }

    /// Sends all that a flow may send now.
    #[inline(never)]
    pub(super) fn transmit(&mut self, index: usize) {
        self.send_all(index);
        self.arm(index);
    }

    #[inline(always)]
    fn send_all(&mut self, index: usize) {
        let now = self.now;
        if let Some(log) = &mut self.ends {
            log.look(index, &self.flows[index], now);
        }
        loop {
            let flow = &mut self.flows[index];
            if flow.host.is_some() && flow.is_held_back(now) {
                break;
            }
            let Some(next) = next_outgoing(flow, now) else { break };
            let is_last = flow.host.is_none() && flow.is_spent(now);
            let mut packet = flow.packet_out(index as u32, next, now);
            if flow.duplex.is_some() {
                duplex::attach(&mut self.flows, index, &mut packet, now);
            }
            let flow = &mut self.flows[index];
            if let Some(log) = &mut self.ends {
                log.add_sent(flow, &packet, now);
            }
            match flow.access.get() {
                Some(line) => self.enter_host(index, line as usize, packet),
                None => {
                    let (entrance, line) = flow.way_in(flow.direction);
                    self.enter(entrance, line, &packet);
                }
            }
            if is_last {
                break;
            }
        }
    }

    /// A packet from outside leaves for its access line, or straight into the network. `send_all` has the same lines: calling this
    /// there costs 1 % of a run's instructions.
    fn set_out(&mut self, index: usize, packet: Packet) {
        let flow = &mut self.flows[index];
        if let Some(log) = &mut self.ends {
            log.add_sent(flow, &packet, self.now);
        }
        match flow.access.get() {
            Some(line) => self.enter_host(index, line as usize, packet),
            None => {
                let (entrance, line) = flow.way_in(flow.direction);
                self.enter(entrance, line, &packet);
            }
        }
    }

    /// The receiver of a flow sends `segment` with `payload_bytes`.
    #[inline(always)]
    pub(super) fn send_back(&mut self, index: usize, segment: &Segment, payload_bytes: u32) {
        let flow = &mut self.flows[index];
        let direction = flow.direction.opposite();
        // Made where it goes to, not made and then moved there.
        match flow.way_in(direction) {
            (Some(link), _) => {
                let packet = flow.packet_back(index as u32, segment, payload_bytes);
                self.arrive(link, &packet);
            }
            (None, line) => {
                let packet = flow.packet_back(index as u32, segment, payload_bytes);
                self.enter_line(line, &packet);
            }
        }
    }

    /// Makes sure that the flow's timer goes off no later than its deadline.
    #[inline]
    pub(super) fn arm(&mut self, index: usize) {
        let deadline = self.flows[index].deadline(self.now);
        self.arm_for(index, deadline);
    }

    #[inline(always)]
    fn arm_for(&mut self, index: usize, deadline: Time) {
        let flow = &mut self.flows[index];
        if deadline < flow.armed {
            flow.armed = deadline;
            self.agenda.set_timer(index as u32, deadline);
        }
    }
}

/// What `flow` sends next, if it may send anything now.
#[inline(always)]
fn next_outgoing(flow: &mut Flow, now: Time) -> Option<Outgoing> {
    let Endpoints::Transport(sender, _) = &mut flow.endpoints else { return next_datagram(flow, now) };
    match sender.poll_transmit(now)? {
        Transmit::Data { number, payload_bytes, retransmission, cwr } => {
            // RFC 3168 section 6.1.5: retransmissions are not ECN-capable.
            let ecn = if retransmission { Ecn::NotEct } else { flow.ecn };
            let flags = if cwr { EcnFlags::CWR } else { flow.flags };
            let echo_nanos = sender.echo_nanos();
            Some(Outgoing { kind: SegmentKind::Data, number, payload_bytes, ecn, flags, echo_nanos })
        }
        Transmit::Syn => {
            flow.counts.others += 1;
            Some(Outgoing { flags: sender.asks(), ..Outgoing::new(SegmentKind::Syn, 0, 0) })
        }
    }
}

/// The same of one without a transport.
#[inline(never)]
fn next_datagram(flow: &mut Flow, now: Time) -> Option<Outgoing> {
    match &mut flow.endpoints {
        Endpoints::Transport(..) => unreachable!("it sends segments"),
        Endpoints::Datagrams(datagrams) => {
            let number = datagrams.due(now)?;
            let payload_bytes = datagrams.packet_bytes() - flow.header_bytes;
            Some(Outgoing { ecn: flow.ecn, ..Outgoing::new(datagrams.kind(), number, payload_bytes) })
        }
        Endpoints::Padding(padding) => {
            let (kind, number) = padding.due(now)?;
            Some(Outgoing::new(kind, number, padding.packet_bytes() - flow.header_bytes))
        }
        Endpoints::Outside(_) => None,
    }
}
