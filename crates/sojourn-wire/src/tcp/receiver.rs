//! The receiving end of a flow: listens, counts, answers.

use super::account::Account;
use super::sender::control_name;
use super::{Answer, ENDLESS, LENGTH_BYTES, TOKEN_BYTES};
use crate::bins::Bins;
use crate::budget::{Budget, Purpose};
use crate::clock::Timeline;
use crate::error::WireError;
use crate::plan::FlowPlan;
use crate::poll::{Endpoint, Interest, PollSet, can_read};
use crate::report::{FlowReport, Report};
use crate::socket::{bind, check_ecn, explain, open, set_control, would_wait};
use crate::sys;
use socket2::{Socket, Type};
use sojourn_core::Time;
use std::io::{Error, Read};

/// Connections of a flow that may wait to be accepted: it has one at a time.
const BACKLOG: i32 = 16;
/// Connections that have not shown the token, at once: the oldest gives way.
const STRANGERS: usize = 16;
/// Bytes that one system call may take, and where there is a budget.
const READ_BYTES: (usize, usize) = (256 << 10, 32 << 10);
/// What the answers to a read have room for: acknowledgements of each of its segments.
const ANSWER_BYTES: u64 = 32 * 60;

/// Receives the connections of a flow.
pub struct Receiver {
    flow: FlowPlan,
    line: Timeline,
    budget: Budget,
    /// When it acted last.
    now: Time,
    listener: Socket,
    connections: Vec<Connection>,
    bins: Bins,
    buffer: Vec<u8>,
    problem: Option<String>,
}

struct Connection {
    socket: Socket,
    account: Account,
    token: Token,
    messages: Messages,
}

/// What is still to come of the token that a connection begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Token {
    expected: [u8; TOKEN_BYTES],
    seen: usize,
}

impl Token {
    fn new(token: Option<u64>) -> Token {
        let seen = if token.is_some() { 0 } else { TOKEN_BYTES };
        Token { expected: token.unwrap_or(0).to_le_bytes(), seen }
    }

    /// Whether all of it was shown.
    fn is_shown(&self) -> bool {
        self.seen == TOKEN_BYTES
    }

    /// What follows the token in `bytes`, and how many bytes they complete with it: no byte of a token that is not all
    /// there. None where they are another.
    fn strip<'a>(&mut self, bytes: &'a [u8]) -> Option<(&'a [u8], u64)> {
        let was_shown = self.is_shown();
        let (token, rest) = bytes.split_at(bytes.len().min(TOKEN_BYTES - self.seen));
        let is_right = token == &self.expected[self.seen..][..token.len()];
        self.seen += token.len();
        let completed = if was_shown || !self.is_shown() { 0 } else { TOKEN_BYTES };
        is_right.then_some((rest, (rest.len() + completed) as u64))
    }
}

impl Receiver {
    /// Listens for `flow`.
    pub fn new(flow: &FlowPlan, line: &Timeline, budget: Budget) -> Result<Receiver, WireError> {
        check_ecn(flow, None)?;
        let listener = open(flow, Type::STREAM, 0)?;
        let failed = |error: Error| explain(flow, "listening", &error);
        listener.set_reuse_address(true).map_err(failed)?;
        bind(flow, &listener, flow.port)?;
        // A control that needs ECN, such as dctcp, needs it at both ends.
        if let Some(name) = control_name(flow)? {
            set_control(flow, &listener, &name)?;
        }
        listener.listen(BACKLOG).map_err(failed)?;
        Ok(Receiver {
            flow: flow.clone(),
            line: *line,
            budget,
            now: Time::ZERO,
            listener,
            connections: Vec::new(),
            bins: Bins::new(*line),
            buffer: vec![0; if budget.is_bounded() { READ_BYTES.1 } else { READ_BYTES.0 }],
            problem: None,
        })
    }

    /// Takes the connection that waits, if it is the peer's.
    fn accept(&mut self) -> Result<(), WireError> {
        let failed = |error: Error| explain(&self.flow, "accepting", &error);
        let (socket, from) = match self.listener.accept() {
            Ok(accepted) => accepted,
            Err(error) if would_wait(&error) => return Ok(()),
            // It was gone before it was taken.
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionAborted => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        if from.as_socket_ipv4().is_none_or(|from| *from.ip() != self.flow.peer) {
            return Ok(());
        }
        socket.set_nonblocking(true).map_err(failed)?;
        socket.set_tcp_nodelay(true).map_err(failed)?;
        let strangers = self.connections.iter().filter(|connection| !connection.token.is_shown()).count();
        if strangers >= STRANGERS {
            self.connections.remove(self.connections.iter().position(|open| !open.token.is_shown()).unwrap_or(0));
        }
        let token = Token::new(self.flow.token);
        let account = Account::new(self.budget, 1);
        self.connections.push(Connection { socket, account, token, messages: Messages::default() });
        Ok(())
    }

    /// When the budget has room for answers again, where it has none: nothing is read before, so that the sender waits.
    fn waits_until(&self) -> Option<Time> {
        self.budget.next(Purpose::Answer, ANSWER_BYTES, self.now)
    }

    /// Reads once from connection `index`; whether it goes on.
    fn read(&mut self, index: usize, now: Time) -> bool {
        let Connection { socket, account, token, messages } = &mut self.connections[index];
        let outcome = socket.read(&mut self.buffer);
        if let (true, Ok(info)) = (self.budget.is_bounded(), sys::tcp_info(socket)) {
            account.settle(&info, now);
        }
        match outcome {
            Ok(0) => false,
            Ok(bytes) => {
                let Some((rest, counted_bytes)) = token.strip(&self.buffer[..bytes]) else { return false };
                self.bins.add(now, counted_bytes);
                messages.take(rest).into_iter().all(|total_bytes| {
                    // An answer is far smaller than any send buffer, and its peer reads.
                    socket.send(&Answer { total_bytes, stamp: now }.to_bytes()).is_ok()
                })
            }
            Err(error) if would_wait(&error) => true,
            Err(error) => {
                // A sender gives up what it has under way when its run ends.
                if token.is_shown() && now + self.line.bin < self.line.end {
                    let told = explain(&self.flow, "the connection ended early", &error).message;
                    self.problem.get_or_insert(told);
                }
                false
            }
        }
    }
}

impl Endpoint for Receiver {
    fn next(&self) -> Time {
        if self.connections.is_empty() { Time::NEVER } else { self.waits_until().unwrap_or(Time::NEVER) }
    }

    fn wait(&self, set: &mut PollSet) {
        set.readable(&self.listener);
        if self.waits_until().is_none() {
            self.connections.iter().for_each(|connection| set.readable(&connection.socket));
        }
    }

    fn act(&mut self, now: Time, ready: &[Interest]) -> Result<(), WireError> {
        self.now = now;
        let Some((listener, connections)) = ready.split_first() else { return Ok(()) };
        for index in (0..connections.len()).rev() {
            if can_read(&connections[index]) && self.waits_until().is_none() && !self.read(index, now) {
                // Those who wait keep their order: the oldest stranger gives way first.
                self.connections.remove(index);
            }
        }
        if can_read(listener) { self.accept() } else { Ok(()) }
    }

    fn report(self: Box<Self>, report: &mut Report) {
        let Receiver { flow, bins, problem, .. } = *self;
        let delivered_bytes = Some(bins.into_bytes());
        report.flows.push(FlowReport { id: flow.id, delivered_bytes, problem, ..FlowReport::default() });
    }
}

/// Tells where messages end in a stream of bytes.
#[derive(Default, Debug)]
struct Messages {
    /// The first bytes of a length.
    length: [u8; LENGTH_BYTES],
    length_bytes: usize,
    /// Bytes of the present message that are still to come.
    left_bytes: u64,
    total_bytes: u64,
}

impl Messages {
    /// More bytes have come; the total at the end of each message in them.
    fn take(&mut self, mut bytes: &[u8]) -> Vec<u64> {
        let mut ends = Vec::new();
        while !bytes.is_empty() {
            let taken = if self.left_bytes > 0 { self.body(bytes) } else { self.head(bytes) };
            self.total_bytes += taken as u64;
            bytes = &bytes[taken..];
            if self.left_bytes == 0 && self.length_bytes == 0 {
                ends.push(self.total_bytes);
            }
        }
        ends
    }

    fn body(&mut self, bytes: &[u8]) -> usize {
        let taken = self.left_bytes.min(bytes.len() as u64);
        if self.left_bytes != ENDLESS {
            self.left_bytes -= taken;
        }
        taken as usize
    }

    fn head(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes.len().min(LENGTH_BYTES - self.length_bytes);
        self.length[self.length_bytes..][..taken].copy_from_slice(&bytes[..taken]);
        self.length_bytes += taken;
        if self.length_bytes == LENGTH_BYTES {
            self.length_bytes = 0;
            let length = u64::from_le_bytes(self.length);
            // A peer that claims less than its length has said its message.
            self.left_bytes = if length == ENDLESS { ENDLESS } else { length.saturating_sub(LENGTH_BYTES as u64) };
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_shown_first_however_it_is_cut() {
        let bytes = [&7u64.to_le_bytes()[..], b"data"].concat();
        for piece in [1, 3, 8, 12] {
            let mut token = Token::new(Some(7));
            let (mut rest, mut counted_bytes) = (Vec::new(), 0);
            for piece in bytes.chunks(piece) {
                let (behind, bytes) = token.strip(piece).expect("it is right");
                rest.extend(behind);
                counted_bytes += bytes;
            }
            assert_eq!((rest.as_slice(), counted_bytes), (&b"data"[..], 12), "pieces of {piece}");
            assert!(token.is_shown());
        }
        assert_eq!(Token::new(Some(7)).strip(&[7, 1]), None);
        assert_eq!(Token::new(None).strip(b"data"), Some((&b"data"[..], 4)));
    }

    fn stream(lengths: &[u64]) -> Vec<u8> {
        let message = |&length: &u64| [&length.to_le_bytes()[..], &vec![0; length as usize - LENGTH_BYTES]].concat();
        lengths.iter().flat_map(message).collect()
    }

    /// However the bytes are cut, messages end where they end.
    #[test]
    fn messages_end_where_they_end() {
        let bytes = stream(&[8, 20, 9, 8, 100]);
        for piece in [1, 3, 7, 8, 9, 64, 1000] {
            let mut messages = Messages::default();
            let ends: Vec<u64> = bytes.chunks(piece).flat_map(|piece| messages.take(piece)).collect();
            assert_eq!(ends, [8, 28, 37, 45, 145], "pieces of {piece}");
        }
    }

    #[test]
    fn a_message_without_end_has_none() {
        let mut messages = Messages::default();
        assert_eq!(messages.take(&ENDLESS.to_le_bytes()), [0; 0]);
        assert_eq!(messages.take(&[0; 10_000]), [0; 0]);
        assert_eq!(messages.total_bytes, 10_008);
    }

    #[test]
    fn a_lie_about_the_length_ends_the_message() {
        let mut messages = Messages::default();
        assert_eq!(messages.take(&3u64.to_le_bytes()), [8]);
    }
}
