//! The sending end of a flow.

use super::account::{Account, Allowance, SETTLE_EVERY, payload_rate};
use super::{Answer, ENDLESS, LENGTH_BYTES, TOKEN_BYTES};
use crate::bins::Samples;
use crate::budget::Budget;
use crate::clock::{Timeline, now};
use crate::error::WireError;
use crate::plan::FlowPlan;
use crate::poll::{Endpoint, Interest, PollSet, can_read, can_write};
use crate::report::{FlowReport, Report};
use crate::socket::{bind, check_ecn, connect, explain, open, receiver, set_control, would_wait};
use crate::sys::{self, TcpInfo};
use crate::tables;
use socket2::{Socket, Type};
use sojourn_core::Time;
use sojourn_scenario::Traffic;
use sojourn_traffic::{Action, Application, Arrived, Completed};
use std::io::{Error, Read};

/// Bytes that one system call may give.
const WRITE_BYTES: usize = 256 << 10;
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
    zeros: Vec<u8>,
    problem: Option<String>,
}

struct Connection {
    socket: Socket,
    /// Whether the other side was asked for it: the budget may not have had room for that yet.
    requested: bool,
    connected: bool,
    account: Account,
    /// When the budget has room again for what it lacked room for.
    waits_until: Option<Time>,
    /// When it is next compared with what the kernel has sent.
    settles_at: Time,
    /// What is still to be written of the token and of a message's length.
    length: Vec<u8>,
    /// Bytes of the message behind its length that are still to be written.
    left_bytes: u64,
    paused: bool,
    /// What was read of an answer.
    answer: Vec<u8>,
    /// Bytes of all its messages.
    total_bytes: u64,
    /// Whether all of them were received.
    is_whole: bool,
    timeouts: Timeouts,
    /// The last that was known.
    info: Option<TcpInfo>,
}

/// Counters of the connections that are over.
#[derive(Default)]
struct Counters {
    retransmissions: u64,
    timeouts: u64,
    acked_bytes: u64,
}

/// Timeouts seen by one who looks now and then, where the kernel does not count them.
#[derive(Default)]
struct Timeouts {
    seen: u64,
    last: (bool, u8),
}

impl Timeouts {
    fn look(&mut self, info: &TcpInfo) {
        let (was_in_loss, before) = self.last;
        let more = u64::from(info.consecutive_timeouts.saturating_sub(before));
        let entered = u64::from(info.in_loss && !was_in_loss);
        self.seen += more.max(entered);
        self.last = (info.in_loss, info.consecutive_timeouts);
    }
}

impl Connection {
    fn wants_to_write(&self) -> bool {
        self.waits_until.is_none() && (!self.connected || self.has_more())
    }

    fn has_more(&self) -> bool {
        !self.length.is_empty() || (self.left_bytes > 0 && !self.paused)
    }

    fn supply(&mut self, bytes: u64) {
        self.length.extend(bytes.to_le_bytes());
        self.left_bytes = if bytes == ENDLESS { ENDLESS } else { bytes - LENGTH_BYTES as u64 };
        self.total_bytes = self.total_bytes.saturating_add(bytes);
        self.is_whole = false;
    }

    /// Looks at what the kernel knows, and pays for what it has sent.
    fn look(&mut self, now: Time) {
        if let Ok(info) = sys::tcp_info(&self.socket) {
            self.timeouts.look(&info);
            self.info = Some(info);
            if self.requested {
                self.account.settle(&info, now);
            }
        }
    }

    /// Whether the kernel has nothing more to send.
    fn is_drained(&self) -> bool {
        self.info.is_some_and(|info| info.unacknowledged == 0 && info.unsent_bytes == 0)
    }

    /// When it wants to be woken, whatever its socket says.
    fn next(&self) -> Time {
        let settles_at = if self.account.is_bounded() { self.settles_at } else { Time::NEVER };
        self.waits_until.unwrap_or(Time::NEVER).min(settles_at)
    }

    /// How much of `wanted` bytes may be written; notes until when there is to be waited.
    fn allowed(&mut self, wanted: u64, now: Time) -> u64 {
        if !self.account.is_bounded() {
            return wanted;
        }
        self.look(now);
        let Some(info) = &self.info else { return 0 };
        match self.account.allowance(info, wanted, now) {
            Allowance::Bytes(bytes) => bytes,
            Allowance::Held => 0,
            Allowance::From(time) => {
                self.waits_until = Some(time);
                0
            }
        }
    }

    fn wrote(&mut self, bytes: usize, now: Time) {
        if let Some(info) = self.info.as_ref().filter(|_| self.account.is_bounded()) {
            self.account.write(info, bytes as u64, now);
        }
    }
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
            zeros: vec![0; WRITE_BYTES],
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
        self.connection = Some(Connection {
            socket,
            requested: false,
            connected: false,
            account: Account::new(self.budget, self.senders),
            waits_until: None,
            settles_at: self.now,
            length: self.flow.token.map_or(Vec::new(), |token| token.to_le_bytes().to_vec()),
            left_bytes: 0,
            paused: false,
            answer: Vec::new(),
            total_bytes: 0,
            is_whole: false,
            timeouts: Timeouts::default(),
            info: None,
        });
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
        self.counters.timeouts += info.timeouts.map_or(connection.timeouts.seen, u64::from);
        // Linux counts the SYN.
        let besides = 1 + self.flow.token.map_or(0, |_| TOKEN_BYTES as u64);
        self.counters.acked_bytes += info.acked_bytes.saturating_sub(besides);
    }

    fn perform(&mut self, action: Action) -> Result<(), WireError> {
        match action {
            Action::Nothing => {}
            Action::Endless if self.is_endless() => self.set_paused(false),
            Action::Endless => self.message(ENDLESS)?,
            Action::Supply { bytes } => {
                let more = bytes - self.supplied_bytes;
                self.supplied_bytes = bytes;
                self.message(more.max(LENGTH_BYTES as u64))?;
            }
            Action::Connect { bytes, .. } => {
                self.supplied_bytes += bytes.unwrap_or(0);
                self.connect()?.supply(bytes.map_or(ENDLESS, |bytes| bytes.max(LENGTH_BYTES as u64)));
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
        match write(connection, &self.zeros, now) {
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

/// Writes what the connection has to say, until there is no room, in the socket or in the budget.
fn write(connection: &mut Connection, zeros: &[u8], now: Time) -> std::io::Result<()> {
    let had_something = connection.has_more();
    while !connection.length.is_empty() {
        let most = connection.allowed(connection.length.len() as u64, now) as usize;
        if most == 0 {
            return Ok(());
        }
        let written = connection.socket.send(&connection.length[..most])?;
        connection.length.drain(..written);
        connection.wrote(written, now);
    }
    while connection.left_bytes > 0 && !connection.paused {
        let most = connection.allowed(connection.left_bytes.min(zeros.len() as u64), now) as usize;
        if most == 0 {
            return Ok(());
        }
        let written = connection.socket.send(&zeros[..most])?;
        if connection.left_bytes != ENDLESS {
            connection.left_bytes -= written as u64;
        }
        connection.wrote(written, now);
        if written < most {
            return Ok(());
        }
    }
    // The last segment of a message goes although it is not full; within it Nagle's rule fills segments.
    if had_something && connection.left_bytes == 0 {
        connection.socket.set_tcp_nodelay(true)?;
        connection.socket.set_tcp_nodelay(false)?;
    }
    Ok(())
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
