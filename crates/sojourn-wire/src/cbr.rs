//! Datagrams that nobody acknowledges: at a constant rate, the packets of a call, or padding.
//!
//! A datagram carries its number (32 bits) and when it was sent (64 bits, nanoseconds of CLOCK_MONOTONIC), little-endian,
//! and zeros up to its size; a shorter one as much of this as fits. Receivers count bytes, whatever they are.

use crate::bins::Bins;
use crate::clock::Timeline;
use crate::error::WireError;
use crate::plan::FlowPlan;
use crate::poll::{Endpoint, Interest, PollSet, can_read};
use crate::report::{FlowReport, Report};
use crate::socket::{bind, connect, explain, open, would_wait};
use crate::sys::Batch;
use crate::tables;
use socket2::{Socket, Type};
use sojourn_core::{Serializer, Time};
use sojourn_scenario::Traffic;
use sojourn_traffic::{Action, Application, Datagrams, Padding, Spacing};
use std::io::{Error, ErrorKind};

/// IPv4 and UDP.
const HEADER_BYTES: u32 = 28;
/// Number and time.
const STAMP_BYTES: usize = 12;

/// What says when a datagram goes.
enum Source {
    Datagrams(Datagrams),
    Padding(Box<Padding>),
}

impl Source {
    /// The source of `traffic`, silent as yet.
    fn new(traffic: &Traffic) -> Source {
        match traffic {
            Traffic::Cbr { rate, packet_bytes } => {
                Source::Datagrams(Datagrams::new(Spacing::Rate(Serializer::new(*rate)), *packet_bytes))
            }
            Traffic::Voip(voip) => Source::Datagrams(Datagrams::new(Spacing::Every(voip.frame), voip.packet_bytes())),
            Traffic::Padding(padding) => Source::Padding(Box::new(Padding::new(padding))),
            other => unreachable!("{other:?} does not go over datagrams"),
        }
    }

    /// Bytes of each packet on the wire.
    fn packet_bytes(&self) -> u32 {
        match self {
            Source::Datagrams(datagrams) => datagrams.packet_bytes(),
            Source::Padding(padding) => padding.packet_bytes(),
        }
    }

    fn next(&self) -> Time {
        match self {
            Source::Datagrams(datagrams) => datagrams.next(),
            Source::Padding(padding) => padding.next(),
        }
    }

    fn perform(&mut self, action: Action, now: Time) {
        match self {
            Source::Datagrams(datagrams) => datagrams.perform(action, now),
            Source::Padding(padding) => padding.perform(action, now),
        }
    }

    /// The number of the datagram that is due, if one is.
    fn due(&mut self, now: Time) -> Option<u32> {
        match self {
            Source::Datagrams(datagrams) => datagrams.due(now),
            Source::Padding(padding) => padding.due(now).map(|(_, number)| number),
        }
    }
}

/// Sends datagrams.
pub struct Sender {
    flow: FlowPlan,
    socket: Socket,
    application: Application,
    source: Source,
    packet: Vec<u8>,
    sent_bytes: u64,
    problem: Option<String>,
}

impl Sender {
    /// A sender of `flow`.
    pub fn new(flow: &FlowPlan, line: &Timeline) -> Result<Sender, WireError> {
        let group = tables::group(flow)?;
        let source = Source::new(&group.traffic);
        let socket = open(flow, Type::DGRAM, 0)?;
        bind(flow, &socket, 0)?;
        connect(flow, &socket)?;
        let payload_bytes = source.packet_bytes().saturating_sub(HEADER_BYTES);
        Ok(Sender {
            application: tables::application(flow, &group.traffic, payload_bytes, flow.life(line)),
            flow: flow.clone(),
            socket,
            source,
            packet: vec![0; payload_bytes as usize],
            sent_bytes: 0,
            problem: None,
        })
    }

    fn send(&mut self, number: u32, now: Time) -> Result<(), WireError> {
        let mut stamp = [0; STAMP_BYTES];
        stamp[..4].copy_from_slice(&number.to_le_bytes());
        stamp[4..].copy_from_slice(&now.as_nanos().to_le_bytes());
        let fitting = self.packet.len().min(STAMP_BYTES);
        self.packet[..fitting].copy_from_slice(&stamp[..fitting]);
        match self.socket.send(&self.packet) {
            Ok(bytes) => self.sent_bytes += bytes as u64,
            // What the kernel has no room for is lost, as in a full queue.
            Err(error) if would_wait(&error) || error.raw_os_error() == Some(libc::ENOBUFS) => {}
            // An earlier datagram found nobody: this one may.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => self.note(&error),
            Err(error) => return Err(explain(&self.flow, "sending", &error)),
        }
        Ok(())
    }

    fn note(&mut self, error: &Error) {
        self.problem.get_or_insert_with(|| explain(&self.flow, "sending", error).message);
    }
}

impl Endpoint for Sender {
    fn next(&self) -> Time {
        self.application.next.min(self.source.next())
    }

    fn wait(&self, _set: &mut PollSet) {}

    fn act(&mut self, now: Time, _ready: &[Interest]) -> Result<(), WireError> {
        // Each at its own time and in its turn, however late this is: waking up takes a moment that must not add up.
        while self.next() <= now {
            let at = self.next();
            if self.application.next <= at {
                let action = self.application.act(at);
                self.source.perform(action, at);
            } else if let Some(number) = self.source.due(at) {
                self.send(number, now)?;
            }
        }
        Ok(())
    }

    fn report(self: Box<Self>, report: &mut Report) {
        let Sender { flow, sent_bytes, problem, .. } = *self;
        report.flows.push(FlowReport { id: flow.id, sent_bytes: Some(sent_bytes), problem, ..FlowReport::default() });
    }
}

/// Counts datagrams.
pub struct Receiver {
    flow: FlowPlan,
    socket: Socket,
    batch: Batch,
    bins: Bins,
}

/// Datagrams that one system call may take, and the bytes of each that are kept.
const BATCH: (usize, usize) = (64, 64);

impl Receiver {
    /// A receiver of `flow`.
    pub fn new(flow: &FlowPlan, line: &Timeline) -> Result<Receiver, WireError> {
        let socket = open(flow, Type::DGRAM, 0)?;
        bind(flow, &socket, flow.port)?;
        Ok(Receiver { flow: flow.clone(), socket, batch: Batch::new(BATCH.0, BATCH.1), bins: Bins::new(*line) })
    }
}

impl Endpoint for Receiver {
    fn next(&self) -> Time {
        Time::NEVER
    }

    fn wait(&self, set: &mut PollSet) {
        set.readable(&self.socket);
    }

    fn act(&mut self, now: Time, ready: &[Interest]) -> Result<(), WireError> {
        if !ready.iter().any(can_read) {
            return Ok(());
        }
        match self.batch.receive(&self.socket) {
            Ok(_) => {}
            Err(error) if would_wait(&error) => return Ok(()),
            Err(error) => return Err(explain(&self.flow, "receiving", &error)),
        }
        for (seen, _) in self.batch.iter() {
            if seen.from.is_some_and(|from| *from.ip() == self.flow.peer) {
                self.bins.add(now, seen.bytes as u64);
            }
        }
        Ok(())
    }

    fn report(self: Box<Self>, report: &mut Report) {
        let delivered_bytes = Some(self.bins.into_bytes());
        report.flows.push(FlowReport { id: self.flow.id, delivered_bytes, ..FlowReport::default() });
    }
}
