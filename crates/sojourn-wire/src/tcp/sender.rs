//! The sending end of a flow.

use super::{Answer, ENDLESS, LENGTH_BYTES};
use crate::bins::Samples;
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
    end: Time,
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
    connected: bool,
    /// The part of a message's length that is still to be written.
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
        !self.connected || !self.length.is_empty() || (self.left_bytes > 0 && !self.paused)
    }

    fn supply(&mut self, bytes: u64) {
        self.length.extend(bytes.to_le_bytes());
        self.left_bytes = if bytes == ENDLESS { ENDLESS } else { bytes - LENGTH_BYTES as u64 };
        self.total_bytes = self.total_bytes.saturating_add(bytes);
        self.is_whole = false;
    }

    /// Looks at what the kernel knows.
    fn look(&mut self) {
        if let Ok(info) = sys::tcp_info(&self.socket) {
            self.timeouts.look(&info);
            self.info = Some(info);
        }
    }
}

impl Sender {
    /// A sender of `flow`, which connects when its application starts.
    pub fn new(flow: &FlowPlan, line: &Timeline, common_clock: bool) -> Result<Sender, WireError> {
        let traffic = tables::group(flow)?.traffic;
        let life = flow.life(line);
        let pauses = matches!(traffic, Traffic::OnOff { .. }) || life.1 < line.end;
        let sender = Sender {
            control: control_name(flow)?,
            common_clock,
            end: line.end,
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
        sys::set(&socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, self.unsent_bytes).map_err(failed)?;
        // The port is chosen with the peer: so one that a connection to another peer had can be used again at once.
        sys::set(&socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1).map_err(failed)?;
        if let Some(rate) = self.flow.max_rate()? {
            // The kernel then paces whatever the control is; a rate above what fits is no bound for any link here.
            let bytes_per_s = i32::try_from(rate.bits_per_second() / 8).unwrap_or(i32::MAX).max(1);
            sys::set(&socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, bytes_per_s).map_err(failed)?;
        }
        // Closing gives up what is under way: a run that is over leaves nothing behind.
        socket.set_linger(Some(std::time::Duration::ZERO)).map_err(failed)?;
        Ok(socket)
    }

    /// Replaces the connection by a fresh one.
    fn connect(&mut self) -> Result<&mut Connection, WireError> {
        self.disconnect();
        let socket = self.socket()?;
        bind(&self.flow, &socket, 0)?;
        connect(&self.flow, &socket)?;
        Ok(self.connection.insert(Connection {
            socket,
            connected: false,
            length: Vec::new(),
            left_bytes: 0,
            paused: false,
            answer: Vec::new(),
            total_bytes: 0,
            is_whole: false,
            timeouts: Timeouts::default(),
            info: None,
        }))
    }

    /// Ends the connection, if there is one, and keeps its counters.
    fn disconnect(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        connection.look();
        if connection.is_whole {
            // Nothing is under way: the usual end. If it fails, the connection ends the other way.
            let _ = connection.socket.set_linger(None);
        }
        let Some(info) = connection.info else { return };
        self.counters.retransmissions += u64::from(info.retransmissions);
        self.counters.timeouts += info.timeouts.map_or(connection.timeouts.seen, u64::from);
        // Linux counts the SYN.
        self.counters.acked_bytes += info.acked_bytes.saturating_sub(1);
    }

    fn perform(&mut self, action: Action) -> Result<(), WireError> {
        match action {
            Action::Nothing => {}
            Action::Endless if self.is_endless() => self.set_paused(false),
            Action::Endless => self.message(ENDLESS)?,
            Action::Supply { bytes, .. } => {
                let more = bytes - self.supplied_bytes;
                self.supplied_bytes = bytes;
                self.message(more.max(LENGTH_BYTES as u64))?;
            }
            Action::Connect { bytes, .. } => {
                self.supplied_bytes += bytes;
                self.connect()?.supply(bytes.max(LENGTH_BYTES as u64));
            }
            Action::Fetch(_) => unreachable!("the plan was refused: see tables::one_connection"),
            // Whether its window is new after a pause is the kernel's to decide: see the module.
            Action::Pause => self.set_paused(true),
            Action::Resume => self.set_paused(false),
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

    /// The socket can be written: it is connected, or has room.
    fn on_writable(&mut self) -> Result<(), WireError> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        if !connection.connected {
            if let Some(error) = connection.socket.take_error().ok().flatten() {
                return Err(explain(&self.flow, &format!("connecting {}", receiver(&self.flow)), &error));
            }
            connection.connected = true;
        }
        match write(connection, &self.zeros) {
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
            connection.look();
        }
        let info = self.connection.as_ref().filter(|connection| connection.connected).and_then(|open| open.info);
        let rtt = info.map(|info| info.rtt).filter(|rtt| !rtt.is_zero());
        self.samples.take(now, rtt, info.map(|info| f64::from(info.cwnd_packets)));
    }
}

/// Writes what the connection has to say, until there is no room.
fn write(connection: &mut Connection, zeros: &[u8]) -> std::io::Result<()> {
    let had_something = connection.wants_to_write();
    while !connection.length.is_empty() {
        let written = connection.socket.send(&connection.length)?;
        connection.length.drain(..written);
    }
    while connection.left_bytes > 0 && !connection.paused {
        let most = connection.left_bytes.min(zeros.len() as u64) as usize;
        let written = connection.socket.send(&zeros[..most])?;
        if connection.left_bytes != ENDLESS {
            connection.left_bytes -= written as u64;
        }
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
        self.application.next.min(self.samples.next()).min(self.end)
    }

    fn wait(&self, set: &mut PollSet) {
        let Some(connection) = &self.connection else { return };
        if connection.wants_to_write() { set.both(&connection.socket) } else { set.readable(&connection.socket) }
    }

    fn act(&mut self, now: Time, ready: &[Interest]) -> Result<(), WireError> {
        if ready.iter().any(can_write) {
            self.on_writable()?;
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
            delivered_bytes: None,
            completions: Some(completions),
            sent_bytes: Some(counters.acked_bytes),
            retransmissions: Some(counters.retransmissions),
            timeouts: Some(counters.timeouts),
            rtt_ms: Some(samples.rtt_ms),
            cwnd_packets: Some(samples.cwnd_packets),
            problem,
        });
    }
}
