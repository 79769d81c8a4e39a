//! The sending end of a flow.

use super::account::{Account, SETTLE_EVERY, payload_rate};
use super::connection::Connection;
use super::{Answer, ENDLESS};
use crate::bins::Samples;
use crate::budget::Budget;
use crate::clock::{Timeline, now};
use crate::error::WireError;
use crate::plan::FlowPlan;
use crate::poll::{Endpoint, Interest, PollSet, can_read, can_write};
use crate::report::{FlowReport, Report};
use crate::socket::{bind, check_ecn, connect, explain, open, receiver, set_control, would_wait};
use crate::sys;
use crate::tables;
use socket2::{Socket, Type};
use sojourn_core::Time;
use sojourn_scenario::Traffic;
use sojourn_traffic::{Action, Application, Arrived, Completed};
use std::io::{Error, Read};

/// Unsent bytes the kernel may hold of a flow that pauses, and of one that does not: what it holds is sent whatever the
/// application does, and what it has too little of costs system calls.
const UNSENT_BYTES: (i32, i32) = (8 << 10, 128 << 10);
/// TCP payload of a full segment on Ethernet with time stamps: what an application may think of.
const SEGMENT_BYTES: u32 = 1448;

/// Sends the connections of a flow, one at a time.
pub struct Sender {
    flow: FlowPlan,
    control: Option<String>,
    common_clock: bool,
    budget: Budget,
    /// Flows over TCP that share it.
    senders: usize,
    end: Time,
    /// When it acted last.
    now: Time,
    application: Application,
    unsent_bytes: i32,
    connection: Option<Connection>,
    /// Bytes of the application's supply that were made messages.
    supplied_bytes: u64,
    samples: Samples,
    counters: Counters,
    completions: Vec<(f64, u64)>,
    problem: Option<String>,
}

/// Counters of the connections that are over.
#[derive(Default)]
struct Counters {
    retransmissions: u64,
    timeouts: u64,
    acked_bytes: u64,
}

impl Sender {
    /// A sender of `flow`, which connects when its application starts.
    pub fn new(
        flow: &FlowPlan,
        line: &Timeline,
        (budget, senders): (Budget, usize),
        common_clock: bool,
    ) -> Result<Sender, WireError> {
        let traffic = tables::group(flow)?.traffic;
        let life = flow.life(line);
        let pauses = matches!(traffic, Traffic::OnOff { .. }) || life.1 < line.end;
        let sender = Sender {
            control: control_name(flow)?,
            common_clock,
            budget,
            senders,
            end: line.end,
            now: Time::ZERO,
            application: tables::application(flow, &traffic, SEGMENT_BYTES, life),
            unsent_bytes: if pauses { UNSENT_BYTES.0 } else { UNSENT_BYTES.1 },
            flow: flow.clone(),
            connection: None,
            supplied_bytes: 0,
            samples: Samples::new(*line),
            counters: Counters::default(),
            completions: Vec::new(),
            problem: None,
        };
        check_ecn(flow, sender.control.as_deref())?;
        // A control that the kernel does not have is told before the run, not when the flow starts.
        sender.socket()?;
        Ok(sender)
    }

    fn socket(&self) -> Result<Socket, WireError> {
        let socket = open(&self.flow, Type::STREAM, 0)?;
        if let Some(name) = &self.control {
            set_control(&self.flow, &socket, name)?;
        }
        let failed = |error: Error| explain(&self.flow, "setting up its socket", &error);
        sys::set(&socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, self.unsent_bytes()).map_err(failed)?;
        // The port is chosen with the peer: so one that a connection to another peer had can be used again at once.
        sys::set(&socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1).map_err(failed)?;
        self.pace(&socket, SEGMENT_BYTES).map_err(failed)?;
        // Closing gives up what is under way: a run that is over leaves nothing behind.
        socket.set_linger(Some(std::time::Duration::ZERO)).map_err(failed)?;
        Ok(socket)
    }

    /// What the kernel may hold unsent.
    fn unsent_bytes(&self) -> i32 {
        let held_bytes = Account::new(self.budget, self.senders).held_bytes();
        held_bytes
            .map_or(self.unsent_bytes, |held| self.unsent_bytes.min(i32::try_from(held).unwrap_or(i32::MAX).max(1)))
    }

    /// Has the kernel pace a socket whose segments have that many bytes, whatever its control is, where the flow has a
    /// bound.
    fn pace(&self, socket: &Socket, segment_bytes: u32) -> Result<(), Error> {
        let Some(bits_per_s) = self.flow.max_rate_bps else { return Ok(()) };
        // A rate above what fits is no bound for any link here.
        let bytes_per_s = i32::try_from(payload_rate(bits_per_s / 8, segment_bytes)).unwrap_or(i32::MAX).max(1);
        sys::set(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, bytes_per_s)
    }

    /// Replaces the connection by a fresh one.
    fn connect(&mut self) -> Result<&mut Connection, WireError> {
        self.disconnect();
        let socket = self.socket()?;
        let account = Account::new(self.budget, self.senders);
        self.connection = Some(Connection::new(socket, account, self.flow.token, self.now));
        self.request()?;
        Ok(self.connection.as_mut().expect("it was just made"))
    }

    /// Asks the other side for the connection, as soon as the budget has room for that.
    fn request(&mut self) -> Result<(), WireError> {
        let Some(connection) = self.connection.as_mut().filter(|connection| !connection.requested) else {
            return Ok(());
        };
        connection.waits_until = connection.account.open(self.now).err();
        if connection.waits_until.is_some() {
            return Ok(());
        }
        connection.requested = true;
        bind(&self.flow, &connection.socket, 0)?;
        connect(&self.flow, &connection.socket)
    }

    /// Ends the connection, if there is one, and keeps its counters.
    fn disconnect(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        connection.look(self.now);
        // A receiver may say that it has all and take it later; what the kernel would keep for it nobody counts any more.
        if connection.is_whole && connection.is_drained() {
            // Nothing is under way: the usual end. If it fails, the connection ends the other way.
            let _ = connection.socket.set_linger(None);
        }
        let Some(info) = connection.info else { return };
        self.counters.retransmissions += u64::from(info.retransmissions);
        self.counters.timeouts += connection.timeouts(&info);
        // Linux counts the SYN.
        self.counters.acked_bytes += info.acked_bytes.saturating_sub(1);
    }

    fn perform(&mut self, action: Action) -> Result<(), WireError> {
        match action {
            Action::Nothing => {}
            Action::Endless if self.is_endless() => self.set_paused(false),
            Action::Endless => self.message(ENDLESS)?,
            Action::Supply { bytes } => {
                let more = bytes - self.supplied_bytes;
                self.supplied_bytes = bytes;
                self.message(more)?;
            }
            Action::Connect { bytes, .. } => {
                self.supplied_bytes += bytes.unwrap_or(0);
                self.connect()?.supply(bytes.unwrap_or(ENDLESS));
            }
            Action::Fetch(_) => unreachable!("the plan was refused: see tables::one_connection"),
            // Whether its window is new after a pause is the kernel's to decide: see the module.
            Action::Pause => self.set_paused(true),
        }
        Ok(())
    }

    /// Begins a message on the connection, or the first one.
    fn message(&mut self, bytes: u64) -> Result<(), WireError> {
        let connection = match self.connection {
            Some(ref mut connection) => connection,
            None => self.connect()?,
        };
        connection.supply(bytes);
        Ok(())
    }

    /// Whether the connection has a message without end.
    fn is_endless(&self) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.left_bytes == ENDLESS)
    }

    fn set_paused(&mut self, paused: bool) {
        if let Some(connection) = &mut self.connection {
            connection.paused = paused;
        }
    }

    /// Settles the connection's account when that is due, and asks for what the budget had no room for; whether there may
    /// be written again.
    fn on_budget(&mut self, now: Time) -> Result<bool, WireError> {
        let Some(connection) = self.connection.as_mut().filter(|connection| connection.account.is_bounded()) else {
            return Ok(false);
        };
        if connection.settles_at <= now {
            connection.look(now);
            connection.settles_at = now + SETTLE_EVERY;
        }
        if connection.waits_until.is_none_or(|until| until > now) {
            return Ok(false);
        }
        connection.waits_until = None;
        let connected = connection.connected;
        self.request()?;
        Ok(connected)
    }

    /// The socket can be written: it is connected, or has room.
    fn on_writable(&mut self, now: Time) -> Result<(), WireError> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        if !connection.connected {
            if let Some(error) = connection.socket.take_error().ok().flatten() {
                return Err(explain(&self.flow, &format!("connecting {}", receiver(&self.flow)), &error));
            }
            connection.connected = true;
            connection.look(now);
            if let (Some(info), true) = (connection.info, self.flow.max_rate_bps.is_some()) {
                let failed = |error: Error| explain(&self.flow, "setting up its socket", &error);
                let connection = self.connection.as_ref().expect("it is there");
                self.pace(&connection.socket, info.segment_bytes).map_err(failed)?;
            }
        }
        let Some(connection) = &mut self.connection else { return Ok(()) };
        match connection.write(now) {
            Ok(()) => Ok(()),
            Err(error) if would_wait(&error) => Ok(()),
            Err(error) => {
                self.lose(&error);
                Ok(())
            }
        }
    }

    /// Reads what there is of answers.
    fn on_readable(&mut self, now: Time) -> Result<(), WireError> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        let mut bytes = [0; 16 * Answer::BYTES];
        match connection.socket.read(&mut bytes) {
            Ok(0) => {
                self.lose(&Error::new(std::io::ErrorKind::UnexpectedEof, "the receiver closed the connection"));
                return Ok(());
            }
            Ok(count) => connection.answer.extend_from_slice(&bytes[..count]),
            Err(error) if would_wait(&error) => return Ok(()),
            Err(error) => {
                self.lose(&error);
                return Ok(());
            }
        }
        while let Some(answer) = self.take_answer() {
            self.on_answer(answer, now)?;
        }
        Ok(())
    }

    fn take_answer(&mut self) -> Option<Answer> {
        let connection = self.connection.as_mut()?;
        let bytes = *connection.answer.first_chunk::<{ Answer::BYTES }>()?;
        connection.answer.drain(..Answer::BYTES);
        Some(Answer::from_bytes(&bytes))
    }

    fn on_answer(&mut self, answer: Answer, now: Time) -> Result<(), WireError> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        connection.is_whole = connection.total_bytes == answer.total_bytes;
        if !connection.is_whole {
            return Ok(());
        }
        let arrived = if self.common_clock { answer.stamp.min(now) } else { now };
        let all = Arrived { connection: 0, delivered_bytes: self.supplied_bytes };
        let Some(answer) = self.application.on_arrived(arrived, all) else { return Ok(()) };
        self.complete(answer.completed);
        self.perform(answer.action)
    }

    fn complete(&mut self, completed: Option<Completed>) {
        if let Some(Completed { time, bytes, .. }) = completed {
            self.completions.push((time.as_secs_f64(), bytes));
        }
    }

    /// The connection is gone before its time: the flow is over.
    fn lose(&mut self, error: &Error) {
        self.disconnect();
        // Where time is real, the receiver may be the first to see the end of the run.
        if now() + self.samples.bin() < self.end {
            self.problem.get_or_insert_with(|| explain(&self.flow, "the connection ended early", error).message);
        }
        self.application.next = Time::NEVER;
    }

    fn sample(&mut self, now: Time) {
        if self.samples.next() > now {
            return;
        }
        if let Some(connection) = &mut self.connection {
            connection.look(now);
        }
        let info = self.connection.as_ref().filter(|connection| connection.connected).and_then(|open| open.info);
        let rtt = info.map(|info| info.rtt).filter(|rtt| !rtt.is_zero());
        self.samples.take(now, rtt, info.map(|info| f64::from(info.cwnd_packets)));
    }
}

/// The kernel's name of the flow's control; the kernel's default where there is none.
pub(super) fn control_name(flow: &FlowPlan) -> Result<Option<String>, WireError> {
    match &flow.control {
        serde_json::Value::Null => Ok(None),
        serde_json::Value::String(name) => Ok(Some(name.clone())),
        other => Err(WireError::input(format!(
            "flow {}: control is {other}; for tcp it is the kernel's name of one, such as \"reno\"",
            flow.id
        ))),
    }
}

impl Endpoint for Sender {
    fn next(&self) -> Time {
        let connection = self.connection.as_ref().map_or(Time::NEVER, Connection::next);
        self.application.next.min(self.samples.next()).min(connection).min(self.end)
    }

    fn wait(&self, set: &mut PollSet) {
        let Some(connection) = self.connection.as_ref().filter(|connection| connection.requested) else { return };
        if connection.wants_to_write() { set.both(&connection.socket) } else { set.readable(&connection.socket) }
    }

    fn act(&mut self, now: Time, ready: &[Interest]) -> Result<(), WireError> {
        self.now = now;
        let is_due = self.on_budget(now)?;
        if is_due || ready.iter().any(can_write) {
            self.on_writable(now)?;
        }
        if ready.iter().any(can_read) && self.connection.as_ref().is_some_and(|connection| connection.connected) {
            self.on_readable(now)?;
        }
        if self.application.next <= now {
            let action = self.application.act(now);
            self.perform(action)?;
        }
        self.sample(now);
        Ok(())
    }

    fn report(mut self: Box<Self>, report: &mut Report) {
        self.disconnect();
        self.samples.finish();
        let Sender { flow, samples, counters, completions, problem, .. } = *self;
        report.flows.push(FlowReport {
            id: flow.id,
            completions: Some(completions),
            sent_bytes: Some(counters.acked_bytes),
            retransmissions: Some(counters.retransmissions),
            timeouts: Some(counters.timeouts),
            rtt_ms: Some(samples.rtt_ms),
            cwnd_packets: Some(samples.cwnd_packets),
            problem,
            ..FlowReport::default()
        });
    }
}
