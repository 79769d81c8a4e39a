//! Echo probes, as ping sends them.
//!
//! The data of a request begins with when it was sent: nanoseconds of CLOCK_MONOTONIC, 64 bits, little-endian.

use crate::clock::Timeline;
use crate::error::WireError;
use crate::plan::PingPlan;
use crate::poll::{Endpoint, Interest, PollSet, can_read};
use crate::report::{PingReport, Report};
use crate::socket::would_wait;
use crate::sys::Batch;
use socket2::{Domain, Protocol, Socket, Type};
use sojourn_core::{Span, Time};
use std::io::{Error, ErrorKind};
use std::net::SocketAddrV4;

const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;
/// Type, code, checksum, identifier, sequence number (RFC 792).
const HEADER_BYTES: usize = 8;
const STAMP_BYTES: usize = 8;
/// Answers that one system call may take.
const BATCH: usize = 16;

/// Sends requests and waits for answers.
pub struct Ping {
    plan: PingPlan,
    line: Timeline,
    interval: Span,
    socket: Socket,
    /// Whether the kernel hands over the IP header, too.
    is_raw: bool,
    identifier: u16,
    next: Time,
    probes: Vec<(Time, Option<Span>)>,
    batch: Batch,
}

impl Ping {
    /// A probe; `number` is its own among those of the process.
    pub fn new(plan: &PingPlan, line: &Timeline, number: usize) -> Result<Ping, WireError> {
        let (socket, is_raw) = open(plan)?;
        let failed = |error: Error| explain(plan, "its socket", &error);
        socket.set_nonblocking(true).map_err(failed)?;
        socket.set_tos_v4(u32::from(plan.dscp << 2)).map_err(failed)?;
        socket.connect(&SocketAddrV4::new(plan.peer, 0).into()).map_err(failed)?;
        let start = Span::from_secs_f64(plan.start_s.abs());
        Ok(Ping {
            plan: plan.clone(),
            line: *line,
            interval: Span::from_secs_f64(plan.interval_s),
            socket,
            is_raw,
            identifier: (std::process::id() as usize + number) as u16,
            next: if plan.start_s < 0.0 {
                Time::ZERO + line.start.since(Time::ZERO + start)
            } else {
                line.start + start
            },
            probes: Vec::new(),
            batch: Batch::new(BATCH, 256),
        })
    }

    fn send(&mut self, now: Time) -> Result<(), WireError> {
        let sequence = self.probes.len() as u16;
        match self.socket.send(&request(self.identifier, sequence, now, self.plan.payload_bytes)) {
            Ok(_) => {}
            Err(error) if would_wait(&error) || error.raw_os_error() == Some(libc::ENOBUFS) => {}
            Err(error) => return Err(explain(&self.plan, "sending", &error)),
        }
        self.probes.push((now, None));
        Ok(())
    }

    fn receive(&mut self, now: Time) -> Result<(), WireError> {
        match self.batch.receive(&self.socket) {
            Ok(_) => {}
            // That somebody on the way could not deliver a request is no more than its loss.
            Err(error) if would_wait(&error) || is_unreachable(&error) => return Ok(()),
            Err(error) => return Err(explain(&self.plan, "receiving", &error)),
        }
        // A datagram socket has an identifier of the kernel's and gets its own answers only.
        let identifier = self.is_raw.then_some(self.identifier);
        for (_, bytes) in self.batch.iter() {
            let Some((sequence, sent)) = reply(bytes, self.is_raw, identifier) else { continue };
            let round = self.probes.iter_mut().skip(usize::from(sequence)).step_by(1 << 16);
            if let Some(probe) = round.last().filter(|probe| probe.0 == sent) {
                probe.1.get_or_insert(now.since(sent));
            }
        }
        Ok(())
    }
}

/// A socket for echo requests: one that needs no privilege where the kernel allows it, or a raw one.
fn open(plan: &PingPlan) -> Result<(Socket, bool), WireError> {
    let datagrams = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::ICMPV4));
    if let Ok(socket) = datagrams {
        return Ok((socket, false));
    }
    match Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4)) {
        Ok(socket) => Ok((socket, true)),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(WireError::missing(format!(
            "ping {:?}: this user may not send echo requests: that takes root or CAP_NET_RAW, or the user's group in net.ipv4.ping_group_range",
            plan.id
        ))),
        Err(error) => Err(explain(plan, "a socket", &error)),
    }
}

fn explain(plan: &PingPlan, what: &str, error: &Error) -> WireError {
    let PingPlan { id, peer, .. } = plan;
    if is_unreachable(error) {
        return WireError::failed(format!("ping {id:?}: there is no route to {peer}"));
    }
    WireError::failed(format!("ping {id:?}: {what}: {error}"))
}

fn is_unreachable(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable | ErrorKind::ConnectionRefused)
}

/// An echo request with `payload_bytes` of data.
fn request(identifier: u16, sequence: u16, now: Time, payload_bytes: u16) -> Vec<u8> {
    let mut packet = vec![0; HEADER_BYTES + usize::from(payload_bytes)];
    packet[0] = ECHO_REQUEST;
    packet[4..6].copy_from_slice(&identifier.to_be_bytes());
    packet[6..8].copy_from_slice(&sequence.to_be_bytes());
    packet[HEADER_BYTES..][..STAMP_BYTES].copy_from_slice(&now.as_nanos().to_le_bytes());
    let sum = checksum(&packet);
    packet[2..4].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// Sequence number and time of sending in an answer to `identifier`, where `bytes` is one.
fn reply(bytes: &[u8], has_ip_header: bool, identifier: Option<u16>) -> Option<(u16, Time)> {
    let header_bytes = if has_ip_header { usize::from(bytes.first()? & 0xf) * 4 } else { 0 };
    let packet = bytes.get(header_bytes..)?;
    let (header, data) = packet.split_first_chunk::<HEADER_BYTES>()?;
    let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    if header[0] != ECHO_REPLY || identifier.is_some_and(|identifier| identifier != word(4)) {
        return None;
    }
    let stamp = data.first_chunk::<STAMP_BYTES>()?;
    Some((word(6), Time::from_nanos(u64::from_le_bytes(*stamp))))
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from));
    let mut sum: u32 = words.sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

impl Endpoint for Ping {
    fn next(&self) -> Time {
        if self.next < self.line.end { self.next } else { Time::NEVER }
    }

    fn wait(&self, set: &mut PollSet) {
        set.readable(&self.socket);
    }

    fn act(&mut self, now: Time, ready: &[Interest]) -> Result<(), WireError> {
        if ready.iter().any(can_read) {
            self.receive(now)?;
        }
        // One who wakes late sends one request, and none to make up for those it has missed.
        if self.next() <= now {
            self.send(now)?;
            while self.next <= now {
                self.next += self.interval;
            }
        }
        Ok(())
    }

    fn report(self: Box<Self>, report: &mut Report) {
        let Ping { plan, line, mut probes, .. } = *self;
        // On one path answers keep their order: those after the last one may still have come.
        let decided = probes.iter().rposition(|(_, rtt)| rtt.is_some()).map_or(0, |last| last + 1);
        let undecided = probes.split_off(decided).len() as u64;
        let since_start = |time: Time| time.as_secs_f64() - line.start.as_secs_f64();
        report.pings.push(PingReport {
            id: plan.id,
            sent_s: probes.iter().map(|(sent, _)| since_start(*sent)).collect(),
            rtt_ms: probes.iter().map(|(_, rtt)| rtt.map(Span::as_millis_f64)).collect(),
            undecided,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The example of RFC 1071 section 3: the sum is ddf2.
    #[test]
    fn the_checksum_is_that_of_the_rfc() {
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        assert_eq!(checksum(&[0xff]), 0x00ff);
    }

    #[test]
    fn an_answer_is_its_request_with_another_type() {
        let now = Time::from_nanos(123_456_789);
        let mut packet = request(7, 9, now, 56);
        assert_eq!(packet.len(), 64);
        assert_eq!(checksum(&packet), 0, "the sum over a packet with its checksum");
        assert_eq!(reply(&packet, false, Some(7)), None, "a request");
        packet[0] = ECHO_REPLY;
        assert_eq!(reply(&packet, false, Some(7)), Some((9, now)));
        assert_eq!(reply(&packet, false, Some(8)), None, "another's");
        let with_header = [&[0x45][..], &[0; 19], &packet].concat();
        assert_eq!(reply(&with_header, true, Some(7)), Some((9, now)));
    }

    proptest! {
        #[test]
        fn no_packet_upsets_the_parser(bytes in prop::collection::vec(any::<u8>(), 0..100), raw: bool) {
            let _ = reply(&bytes, raw, Some(7));
        }
    }
}
