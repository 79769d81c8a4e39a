//! The receiving end of a flow on its socket.

use super::answering::Answering;
use super::format::datagram_bytes;
use super::sender::check;
use crate::bins::Bins;
use crate::budget::{Budget, Purpose};
use crate::clock::Timeline;
use crate::error::WireError;
use crate::log::{Name, PacketLog, is_marked};
use crate::plan::FlowPlan;
use crate::poll::{Endpoint, Interest, PollSet, can_read};
use crate::report::{FlowReport, Report};
use crate::socket::{bind, explain, ip_bytes, open, would_wait};
use crate::sys::{self, Batch};
use crate::tables;
use socket2::{Socket, Type};
use sojourn_core::Time;
use std::io::{Error, ErrorKind};

/// Datagrams that one system call may take.
const BATCH: usize = 64;

/// Receives the connections of a flow.
pub struct Receiver {
    flow: FlowPlan,
    budget: Budget,
    socket: Socket,
    answering: Answering,
    batch: Batch,
    bins: Bins,
    log: Option<Box<PacketLog>>,
}

impl Receiver {
    /// Listens for `flow`.
    pub fn new(flow: &FlowPlan, line: &Timeline, budget: Budget) -> Result<Receiver, WireError> {
        let group = tables::group(flow)?;
        let options = check(flow, &group)?;
        let socket = open(flow, Type::DGRAM, 0)?;
        let failed = |error: Error| explain(flow, "setting up its socket", &error);
        sys::set(&socket, libc::IPPROTO_IP, libc::IP_RECVTOS, 1).map_err(failed)?;
        bind(flow, &socket, flow.port)?;
        Ok(Receiver {
            flow: flow.clone(),
            budget,
            log: PacketLog::of(flow, line, &socket)?,
            socket,
            batch: Batch::new(BATCH, datagram_bytes(&options)),
            answering: Answering::new(options, flow.token.unwrap_or(0)),
            bins: Bins::new(*line),
        })
    }

    fn receive(&mut self, now: Time) -> Result<(), WireError> {
        match self.batch.receive(&self.socket) {
            Ok(_) => {}
            Err(error) if would_wait(&error) || is_gone(&error) => return Ok(()),
            Err(error) => return Err(explain(&self.flow, "receiving", &error)),
        }
        let mut answers = Vec::new();
        for (seen, bytes) in self.batch.iter() {
            let Some(from) = seen.from.filter(|from| *from.ip() == self.flow.peer) else { continue };
            let outcome = self.answering.on_datagram(bytes, is_marked(seen), from, now);
            if let (Some(log), Some(head)) = (&mut self.log, outcome.segment) {
                let name = Name { number: head.number, stamp: head.stamp };
                log.on_arrived(name, ip_bytes(seen.bytes), seen, now);
            }
            self.bins.add(now, outcome.new_bytes);
            answers.extend(outcome.answer);
        }
        answers.into_iter().try_for_each(|answer| self.send(&answer, now))
    }

    /// Sends an answer; one for which the budget has no room is lost, as in a full queue.
    fn send(&self, answer: &[u8], now: Time) -> Result<(), WireError> {
        let Some(peer) = self.answering.peer() else { return Ok(()) };
        if !self.budget.take(Purpose::Answer, ip_bytes(answer.len()), now) {
            return Ok(());
        }
        match self.socket.send_to(answer, &peer.into()) {
            Err(error) if !would_wait(&error) && !is_gone(&error) => Err(explain(&self.flow, "answering", &error)),
            // An answer that cannot be sent is one that was lost.
            _ => Ok(()),
        }
    }
}

/// Whether an error says that earlier datagrams found nobody, or that there is no room.
fn is_gone(error: &Error) -> bool {
    error.kind() == ErrorKind::ConnectionRefused || error.raw_os_error() == Some(libc::ENOBUFS)
}

impl Endpoint for Receiver {
    fn next(&self) -> Time {
        self.answering.deadline()
    }

    fn wait(&self, set: &mut PollSet) {
        set.readable(&self.socket);
    }

    fn act(&mut self, now: Time, ready: &[Interest]) -> Result<(), WireError> {
        if ready.iter().any(can_read) {
            self.receive(now)?;
        }
        match self.answering.on_timer(now) {
            Some(answer) => self.send(&answer, now),
            None => Ok(()),
        }
    }

    fn report(self: Box<Self>, report: &mut Report) {
        let Receiver { flow, bins, log: packets, .. } = *self;
        let delivered_bytes = Some(bins.into_bytes());
        report.flows.push(FlowReport { id: flow.id, delivered_bytes, packets, ..FlowReport::default() });
    }
}
