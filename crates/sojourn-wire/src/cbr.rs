//! Datagrams that nobody acknowledges: at a constant rate, in trains, the packets of a call, or padding.
//!
//! A datagram carries the plan's token (64 bits) where there is one, its number (32 bits) and when it was sent (64 bits,
//! nanoseconds of CLOCK_MONOTONIC), little-endian, and zeros up to its size; a shorter one as much of this as fits. A
//! receiver counts bytes. With a token it counts what begins with it, or with what a shorter one has of it, from the
//! port that the first such datagram came from.
//!
//! A sender that wakes late makes up for [`LATE`]; what was due before is skipped and counted. So one that was stopped,
//! or held up by a busy machine, goes on at its rate and sends nothing at once that it has missed. The session's budget
//! has the same effect: where there is no room the datagram is skipped.

use crate::bins::Bins;
use crate::budget::{Budget, Purpose};
use crate::clock::Timeline;
use crate::error::WireError;
use crate::log::{Name, PacketLog};
use crate::plan::FlowPlan;
use crate::poll::{Endpoint, Interest, PollSet, can_read};
use crate::report::{FlowReport, Report};
use crate::socket::{UDP_HEADER_BYTES, bind, connect, explain, ip_bytes, open, would_wait};
use crate::sys::Batch;
use crate::tables;
use socket2::{Socket, Type};
use sojourn_core::{Serializer, Span, Time};
use sojourn_scenario::Traffic;
use sojourn_traffic::{Action, Application, Datagrams, Padding, Spacing, Trains};
use std::io::{Error, ErrorKind};
use std::net::SocketAddrV4;

/// What a sender may be late by without skipping anything.
const LATE: Span = Span::from_millis(10);
const TOKEN_BYTES: usize = 8;

/// What says when a datagram goes.
enum Source {
    Datagrams(Datagrams),
    Padding(Box<Padding>),
}

impl Source {
    /// The source of `traffic`, silent as yet.
    fn new(traffic: &Traffic) -> Source {
        match traffic {
            Traffic::Cbr(cbr) => {
                Source::Datagrams(Datagrams::new(Spacing::Rate(Serializer::new(cbr.rate)), cbr.packet_bytes))
            }
            Traffic::Train(train) => {
                Source::Datagrams(Datagrams::new(Spacing::Trains(Trains::new(train)), train.packet_bytes))
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
    budget: Budget,
    application: Application,
    source: Source,
    packet: Vec<u8>,
    sent_bytes: u64,
    skipped_packets: u64,
    log: Option<Box<PacketLog>>,
    problem: Option<String>,
}

impl Sender {
    /// A sender of `flow`.
    pub fn new(flow: &FlowPlan, line: &Timeline, budget: Budget) -> Result<Sender, WireError> {
        let group = tables::group(flow)?;
        let source = Source::new(&group.traffic);
        let socket = open(flow, Type::DGRAM, 0)?;
        bind(flow, &socket, 0)?;
        connect(flow, &socket)?;
        let payload_bytes = source.packet_bytes().saturating_sub(UDP_HEADER_BYTES);
        Ok(Sender {
            application: tables::application(flow, &group.traffic, payload_bytes, flow.life(line)),
            flow: flow.clone(),
            log: PacketLog::of(flow, line, &socket)?,
            socket,
            budget,
            source,
            packet: vec![0; payload_bytes as usize],
            sent_bytes: 0,
            skipped_packets: 0,
            problem: None,
        })
    }

    fn send(&mut self, number: u32, now: Time) -> Result<(), WireError> {
        let token = self.flow.token.map(u64::to_le_bytes);
        if let Some(log) = &mut self.log {
            log.on_sent(Name { number, stamp: now }, ip_bytes(self.packet.len()));
        }
        let stamp = token.iter().flatten().copied().chain(number.to_le_bytes()).chain(now.as_nanos().to_le_bytes());
        self.packet.iter_mut().zip(stamp).for_each(|(place, byte)| *place = byte);
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
        // Each at its own time and in its turn: waking up takes a moment that must not add up.
        while self.next() <= now {
            let at = self.next();
            if self.application.next <= at {
                let action = self.application.act(at);
                self.source.perform(action, at);
            } else if let Some(number) = self.source.due(at) {
                let is_skipped = at + LATE < now || !self.budget.take(Purpose::Data, ip_bytes(self.packet.len()), now);
                if is_skipped {
                    self.skipped_packets += 1;
                } else {
                    self.send(number, now)?;
                }
            }
        }
        Ok(())
    }

    fn report(self: Box<Self>, report: &mut Report) {
        let Sender { flow, sent_bytes, skipped_packets, log, problem, .. } = *self;
        report.flows.push(FlowReport {
            id: flow.id,
            sent_bytes: Some(sent_bytes),
            skipped_packets: Some(skipped_packets),
            packets: log,
            problem,
            ..FlowReport::default()
        });
    }
}

/// Counts datagrams.
pub struct Receiver {
    flow: FlowPlan,
    socket: Socket,
    batch: Batch,
    bins: Bins,
    log: Option<Box<PacketLog>>,
    /// Where the first datagram with the token came from.
    sender: Option<SocketAddrV4>,
}

/// Datagrams that one system call may take, and the bytes of each that are kept.
const BATCH: (usize, usize) = (64, 64);

impl Receiver {
    /// A receiver of `flow`.
    pub fn new(flow: &FlowPlan, line: &Timeline) -> Result<Receiver, WireError> {
        let socket = open(flow, Type::DGRAM, 0)?;
        bind(flow, &socket, flow.port)?;
        Ok(Receiver {
            flow: flow.clone(),
            log: PacketLog::of(flow, line, &socket)?,
            socket,
            batch: Batch::new(BATCH.0, BATCH.1),
            bins: Bins::new(*line),
            sender: None,
        })
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
        for (seen, bytes) in self.batch.iter() {
            let Some(from) = seen.from.filter(|from| *from.ip() == self.flow.peer) else { continue };
            if let Some(token) = self.flow.token {
                let shown = bytes.len().min(TOKEN_BYTES);
                if bytes[..shown] != token.to_le_bytes()[..shown] || *self.sender.get_or_insert(from) != from {
                    continue;
                }
            }
            self.bins.add(now, seen.bytes as u64);
            let name = name(bytes, self.flow.token.map_or(0, |_| TOKEN_BYTES));
            if let (Some(log), Some(name)) = (&mut self.log, name) {
                log.on_arrived(name, ip_bytes(seen.bytes), seen, now);
            }
        }
        Ok(())
    }

    fn report(self: Box<Self>, report: &mut Report) {
        let Receiver { flow, bins, log: packets, .. } = *self;
        let delivered_bytes = Some(bins.into_bytes());
        report.flows.push(FlowReport { id: flow.id, delivered_bytes, packets, ..FlowReport::default() });
    }
}

/// What a datagram says of itself behind its token of `token_bytes`, where it is long enough for that.
fn name(bytes: &[u8], token_bytes: usize) -> Option<Name> {
    let (number, rest) = bytes.get(token_bytes..)?.split_first_chunk()?;
    let stamp = Time::from_nanos(u64::from_le_bytes(*rest.first_chunk()?));
    Some(Name { number: u32::from_le_bytes(*number), stamp })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// What a sender of `traffic` sends and skips that acts at some times, in ms from its start.
    fn acted(traffic: &serde_json::Value, times_ms: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
        let receiver = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
        let port = receiver.local_addr().expect("its address").port();
        let flow = json!({"id": 0, "role": "send", "kind": "cbr", "local": "127.0.0.1", "peer": "127.0.0.1",
            "port": port, "traffic": traffic});
        let flow: FlowPlan = serde_json::from_value(flow).expect("a flow");
        let start = Time::from_nanos(1_000_000_000);
        let line = Timeline { start, end: start + Span::from_secs(1000), bin: Span::from_secs(1) };
        let mut sender = Sender::new(&flow, &line, Budget::UNBOUNDED).expect("a sender");
        let packet_bytes = sender.packet.len() as u64;
        let act = |at: u64| {
            sender.act(start + Span::from_millis(at), &[]).expect("it acts");
            (sender.sent_bytes / packet_bytes, sender.skipped_packets)
        };
        times_ms.map(act).collect()
    }

    /// Each is stopped for 6 s: of what it has missed it sends the last 10 ms, counts the rest, and goes on at its rate.
    #[test]
    fn who_was_stopped_sends_nothing_that_is_late() {
        let sources: [(_, f64); 5] = [
            (json!({"kind": "cbr", "rate": "8 Mbit/s", "packet": "1000 B"}), 1.0),
            (json!({"kind": "train", "count": 10, "packet": "1000 B", "every": "10 ms"}), 1.0),
            (json!({"kind": "voip", "frame": "10 ms"}), 0.1),
            (json!({"kind": "padding", "rate": "2000 packets/s", "packet": "100 B"}), 2.0),
            (
                json!({"kind": "padding", "rate": "4000 packets/s", "packet": "100 B", "burst": 1000, "every": "300 ms"}),
                4.0,
            ),
        ];
        for (traffic, per_ms) in sources {
            let seen = acted(&traffic, (0..=100).chain(6105..=6205));
            let [(before, none), (after, skipped)] = [seen[100], seen[101]];
            assert_eq!(none, 0, "{traffic}: nothing was late");
            assert!(after - before <= (10.0 * per_ms) as u64 + 1, "{traffic}: {} at once", after - before);
            // Half of the time of bursts and more is pauses.
            assert!(skipped as f64 > 0.4 * 5990.0 * per_ms.min(1000.0 / 300.0), "{traffic}: {skipped} skipped");
            let (last, still_skipped) = seen[201];
            assert!((last - after) as f64 <= 100.0 * per_ms + 1.0 && still_skipped == skipped, "{traffic}");
        }
    }
}
