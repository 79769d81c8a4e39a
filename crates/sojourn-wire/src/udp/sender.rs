//! The sending end of a flow on its socket.

use super::connection::{AllArrived, Connection};
use super::format::{Data, Message, datagram_bytes, path};
use crate::bins::Samples;
use crate::budget::{Budget, Purpose};
use crate::clock::Timeline;
use crate::error::WireError;
use crate::log::{Name, PacketLog};
use crate::plan::FlowPlan;
use crate::poll::{Endpoint, Interest, PollSet, can_read};
use crate::report::{FlowReport, Report};
use crate::socket::{bind, connect, explain, ip_bytes, open, would_wait};
use crate::sys::{self, Batch};
use crate::tables;
use socket2::{Socket, Type};
use sojourn_congestion::AnyControl;
use sojourn_core::registry::Params;
use sojourn_core::{Serializer, Span, Stream, Time};
use sojourn_scenario::Group;
use sojourn_traffic::{Action, Application, Arrived};
use sojourn_transport::{Options, SenderCounts};
use std::io::{Error, ErrorKind};

/// Answers that one system call may take, and their bytes.
const BATCH: (usize, usize) = (64, 256);
/// What the kernel may hold of a flow on its own machine: the queue under test decides what is dropped, not this.
const SEND_BUFFER_BYTES: i32 = 8 << 20;
/// How far the bound on the rate may be overdrawn: what a window gives at once.
const BURST: Span = Span::from_millis(10);

/// Sends the connections of a flow, one at a time.
pub struct Sender {
    flow: FlowPlan,
    common_clock: bool,
    socket: Socket,
    options: Options,
    control: Params,
    application: Application,
    connection: Option<Connection>,
    connections: u32,
    /// Bytes of the application's supply.
    supplied_bytes: u64,
    /// Payload bytes and counters of the connections that are over.
    past: (u64, SenderCounts),
    samples: Samples,
    completions: Vec<(f64, u64)>,
    log: Option<Box<PacketLog>>,
    batch: Batch,
    /// The session's.
    budget: Budget,
    /// The flow's own.
    bound: Option<Bound>,
    /// When it acted last: its deadlines are seen from there.
    now: Time,
    problem: Option<String>,
}

/// The plan's bound on the rate.
struct Bound {
    serializer: Serializer,
    /// When all that was sent would have left at that rate.
    until: Time,
}

impl Bound {
    fn allows(&self, now: Time) -> bool {
        self.until <= now + BURST
    }

    fn spend(&mut self, bytes: u64, now: Time) {
        self.until = self.until.max(now) + self.serializer.transmit(bytes as u32);
    }

    /// When it allows again, where it does not at `now`.
    fn next(&self, now: Time) -> Option<Time> {
        (!self.allows(now)).then(|| now + self.until.since(now + BURST))
    }
}

/// The transport options of `flow`, whose tables are those of `group`.
pub fn check(flow: &FlowPlan, group: &Group) -> Result<Options, WireError> {
    let refuse = |text: &str| Err(WireError::input(format!("flow {}: {text}", flow.id)));
    let options = Options::new(&group.transport).map_err(|error| {
        WireError::input(format!("flow {}: transport.{}: allowed is {}", flow.id, error.parameter, error.rule))
    })?;
    if !options.handshake.is_wanted() {
        return refuse(
            "transport.handshake is false; over UDP it must be true: the receiver answers who shows the token",
        );
    }
    if options.ecn.counts() {
        return refuse("transport.ecn is accecn; over UDP acknowledgements echo marks: true or accurate");
    }
    if flow.ecn && !options.ecn.is_on() {
        return refuse("ecn is true, and transport.ecn is false; over UDP the transport decides");
    }
    Ok(options)
}

impl Sender {
    /// A sender of `flow`, which connects when its application starts.
    pub fn new(flow: &FlowPlan, line: &Timeline, budget: Budget, common_clock: bool) -> Result<Sender, WireError> {
        let group = tables::group(flow)?;
        let options = check(flow, &group)?;
        let Some(control) = group.control else {
            return Err(WireError::input(format!("flow {}: a flow over udp needs a control", flow.id)));
        };
        let socket = open(flow, Type::DGRAM, 0)?;
        let failed = |error: Error| explain(flow, "setting up its socket", &error);
        if sys::set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, SEND_BUFFER_BYTES).is_err() {
            sys::set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUF, SEND_BUFFER_BYTES).map_err(failed)?;
        }
        bind(flow, &socket, 0)?;
        connect(flow, &socket)?;
        let life = flow.life(line);
        let sender = Sender {
            common_clock,
            log: PacketLog::of(flow, line, &socket)?,
            socket,
            application: tables::application(flow, &group.traffic, options.payload_bytes, life),
            options,
            control,
            flow: flow.clone(),
            connection: None,
            connections: 0,
            supplied_bytes: 0,
            past: (0, SenderCounts::default()),
            samples: Samples::new(*line),
            completions: Vec::new(),
            batch: Batch::new(BATCH.0, BATCH.1),
            budget,
            bound: flow.max_rate()?.map(|rate| Bound { serializer: Serializer::new(rate), until: Time::ZERO }),
            now: Time::ZERO,
            problem: None,
        };
        sender.control(1)?;
        Ok(sender)
    }

    /// The control of connection `number`.
    fn control(&self, number: u32) -> Result<AnyControl, WireError> {
        let stream = Stream::new(self.flow.seed, &format!("flow.{}.control.{number}", self.flow.id));
        let mut control = AnyControl::build(&self.control, &path(&self.options), stream).map_err(|error| {
            WireError::input(format!("flow {}: control.{}: allowed is {}", self.flow.id, error.parameter, error.rule))
        })?;
        if let AnyControl::Custom(custom) = &mut control {
            custom.belongs_to(format!("flow {}", self.flow.id));
        }
        Ok(control)
    }

    /// Replaces the connection by a fresh one.
    fn connect(&mut self) -> Result<&mut Connection, WireError> {
        self.disconnect();
        self.connections += 1;
        let transport = sojourn_transport::Sender::new(&self.options, self.control(self.connections)?);
        let place = (self.flow.token.unwrap_or(0), self.connections);
        Ok(self.connection.insert(Connection::new(transport, &self.options, place, self.now)))
    }

    fn disconnect(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        connection.close(self.now);
        let (bytes, counts) = &mut self.past;
        *bytes += connection.acknowledged_bytes();
        counts.retransmissions += connection.counts().retransmissions;
        counts.timeouts += connection.counts().timeouts;
    }

    fn perform(&mut self, action: Action) -> Result<(), WireError> {
        if let Action::Connect { bytes, .. } = action {
            self.supplied_bytes += bytes.unwrap_or(0);
            let connection = self.connect()?;
            match bytes {
                Some(bytes) => connection.supply(bytes),
                None => connection.supply_forever(),
            }
            return Ok(());
        }
        if self.connection.is_none() && matches!(action, Action::Endless | Action::Supply { .. }) {
            self.connect()?;
        }
        let Some(connection) = &mut self.connection else { return Ok(()) };
        match action {
            Action::Nothing | Action::Connect { .. } => {}
            Action::Fetch(_) => unreachable!("the plan was refused: see tables::one_connection"),
            Action::Endless => connection.supply_forever(),
            Action::Supply { bytes } => {
                self.supplied_bytes = bytes;
                connection.supply(bytes);
            }
            Action::Pause => connection.pause(),
        }
        Ok(())
    }

    fn receive(&mut self, now: Time) -> Result<(), WireError> {
        match self.batch.receive(&self.socket) {
            Ok(_) => {}
            Err(error) if would_wait(&error) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                self.note(&error);
                return Ok(());
            }
            Err(error) => return Err(explain(&self.flow, "receiving", &error)),
        }
        let connection = &mut self.connection;
        let arrived: Vec<AllArrived> =
            self.batch.iter().filter_map(|(_, bytes)| connection.as_mut()?.on_datagram(bytes, now)).collect();
        arrived.into_iter().try_for_each(|arrived| self.on_arrived(arrived, now))
    }

    fn on_arrived(&mut self, arrived: AllArrived, now: Time) -> Result<(), WireError> {
        let at = if self.common_clock { arrived.at.min(now) } else { now };
        let all = Arrived { connection: 0, delivered_bytes: self.past.0 + arrived.bytes };
        let Some(answer) = self.application.on_arrived(at, all) else { return Ok(()) };
        self.completions.extend(answer.completed.map(|completed| (completed.time.as_secs_f64(), completed.bytes)));
        self.perform(answer.action)
    }

    /// IP bytes of a full datagram.
    fn largest_bytes(&self) -> u64 {
        ip_bytes(datagram_bytes(&self.options))
    }

    /// Sends all that may be sent now, in as few system calls as can be.
    fn transmit(&mut self, now: Time) -> Result<(), WireError> {
        let mut datagrams = Vec::new();
        let largest_bytes = self.largest_bytes();
        let Some(connection) = &mut self.connection else { return Ok(()) };
        while self.bound.as_ref().is_none_or(|bound| bound.allows(now))
            && largest_bytes <= self.budget.room(Purpose::Data, now)
        {
            let Some((message, ecn)) = connection.poll_transmit(now) else { break };
            let bytes = message.to_bytes();
            let size = ip_bytes(bytes.len());
            if let (Some(log), Message::Data(Data { head, .. })) = (&mut self.log, &message) {
                log.on_sent(Name { number: head.number, stamp: head.stamp }, size);
            }
            self.budget.spend(size, now);
            if let Some(bound) = &mut self.bound {
                bound.spend(size, now);
            }
            datagrams.push((bytes, self.flow.dscp << 2 | ecn as u8));
        }
        self.send(&datagrams)
    }

    fn send(&mut self, mut datagrams: &[(Vec<u8>, u8)]) -> Result<(), WireError> {
        while !datagrams.is_empty() {
            match sys::send_all(&self.socket, datagrams) {
                Ok(count) => datagrams = &datagrams[count.max(1)..],
                // What the kernel has no room for is lost, as in a full queue.
                Err(error) if would_wait(&error) || error.raw_os_error() == Some(libc::ENOBUFS) => return Ok(()),
                // That is about an earlier datagram, and none of these was sent; it is told once.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => self.note(&error),
                Err(error) => return Err(explain(&self.flow, "sending", &error)),
            }
        }
        Ok(())
    }

    fn note(&mut self, error: &Error) {
        self.problem.get_or_insert_with(|| explain(&self.flow, "sending", error).message);
    }

    fn sample(&mut self, now: Time) {
        let connection = self.connection.as_ref();
        self.samples.take(now, connection.and_then(Connection::rtt), connection.map(Connection::window));
    }
}

impl Endpoint for Sender {
    fn next(&self) -> Time {
        let connection = self.connection.as_ref().map_or(Time::NEVER, |connection| connection.deadline(self.now));
        let bound = self.bound.as_ref().and_then(|bound| bound.next(self.now)).unwrap_or(Time::NEVER);
        let budget =
            self.connection.as_ref().and_then(|_| self.budget.next(Purpose::Data, self.largest_bytes(), self.now));
        self.application.next.min(self.samples.next()).min(connection).min(bound).min(budget.unwrap_or(Time::NEVER))
    }

    fn wait(&self, set: &mut PollSet) {
        set.readable(&self.socket);
    }

    fn act(&mut self, now: Time, ready: &[Interest]) -> Result<(), WireError> {
        self.now = now;
        if ready.iter().any(can_read) {
            self.receive(now)?;
        }
        if self.application.next <= now {
            let action = self.application.act(now);
            self.perform(action)?;
        }
        if let Some(connection) = &mut self.connection {
            connection.on_timer(now);
        }
        self.transmit(now)?;
        self.sample(now);
        Ok(())
    }

    fn report(mut self: Box<Self>, report: &mut Report) {
        self.disconnect();
        self.samples.finish();
        let Sender { flow, samples, past: (bytes, counts), completions, log, problem, .. } = *self;
        report.flows.push(FlowReport {
            id: flow.id,
            completions: Some(completions),
            sent_bytes: Some(bytes),
            retransmissions: Some(counts.retransmissions),
            timeouts: Some(counts.timeouts),
            rtt_ms: Some(samples.rtt_ms),
            cwnd_packets: Some(samples.cwnd_packets),
            packets: log,
            problem,
            ..FlowReport::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::Rate;

    /// Bytes that a bound of 8 Mbit/s lets through in a second, asked every `millis`.
    fn let_through(millis: u64) -> u64 {
        let rate = Rate::from_bits_per_second(8_000_000).expect("a rate");
        let mut bound = Bound { serializer: Serializer::new(rate), until: Time::ZERO };
        let mut packets = 0;
        for now in (0..1000).step_by(millis as usize).map(|at| Time::ZERO + Span::from_millis(at)) {
            while bound.allows(now) {
                bound.spend(1000, now);
                packets += 1;
            }
            let next = bound.next(now).expect("no more is allowed");
            assert!(next > now && bound.allows(next));
        }
        packets * 1000
    }

    /// 1 MB in a second and 10 ms more; the last packet of each overdraft is sent whole. One who is woken late keeps the
    /// rate up to the overdraft, and what is later than that is lost and not made up for.
    #[test]
    fn a_bound_gives_its_rate_and_a_moment_more() {
        assert_eq!(let_through(1), 999_000 + 10_000 + 1000);
        assert_eq!(let_through(10), 990_000 + 10_000 + 1000);
        assert_eq!(let_through(40), 25 * 11_000);
    }
}
