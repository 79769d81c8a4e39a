//! Captures: one row for each IPv4 packet that crosses an interface.
//!
//! A file is a header of 32 bytes and rows of 48 bytes, all little-endian; `sojourn.worlds.linux.captures` reads it.
//!
//! | header | |
//! |---|---|
//! | 0 | `SJPKTS01` |
//! | 8 | u32: bytes of a row |
//! | 12 | u32: 0 |
//! | 16 | u64: start of the run, ns of CLOCK_MONOTONIC |
//! | 24 | i64: CLOCK_REALTIME less CLOCK_MONOTONIC when the capture began, ns |
//!
//! | row | |
//! |---|---|
//! | 0 | u64: time, ns of CLOCK_MONOTONIC: the kernel's own stamp (CLOCK_REALTIME) less the header's difference |
//! | 8 | u32: bytes of the packet from its IP header on; an Ethernet device and its qdisc count 14 more |
//! | 12, 16 | u32: addresses of source and destination, as numbers |
//! | 20, 22 | u16: ports of source and destination; of an echo message identifier and sequence number; 0 for other protocols and later fragments |
//! | 24 | u16: identification of the IP header |
//! | 26, 27, 28 | u8: protocol, TOS byte, TTL |
//! | 29 | u8: 0 came in, 1 left |
//! | 30 | u8: flags of TCP; 0 for others |
//! | 31 | u8: 0 |
//! | 32, 36 | u32: TCP: sequence and acknowledgement number; 0 for others |
//! | 40 | u64: UDP and ICMP: the first 8 bytes of the payload, little-endian; 0 for others |
//!
//! The kernel stamps what comes in when the device hands it over, and what leaves when it is handed to the device: behind
//! its qdisc. What a queue does to a packet therefore lies between the row of the interface that it came in by and the
//! row of the interface with the queue.

use crate::clock::{Timeline, now};
use crate::error::WireError;
use crate::plan::{CaptureDirection, CapturePlan};
use crate::poll::{Endpoint, Interest, PollSet};
use crate::report::{CaptureReport, Report};
use crate::socket::would_wait;
use crate::sys::{self, Batch, Datagram};
use socket2::{Domain, Socket, Type};
use sojourn_core::{Span, Time};
use std::fs::File;
use std::io::{BufWriter, Error, ErrorKind, Write};

/// Between two looks at what the kernel has kept.
const DRAIN_EVERY: Span = Span::from_millis(100);
/// What the kernel may keep meanwhile: a tenth of a second at 1 Gbit/s, with the kernel's own 2 KiB or so per packet.
const KEEP_BYTES: i32 = 64 << 20;
/// Packets that one system call takes, and how much of each: longest IP header, and what is looked at behind it.
const BATCH: (usize, usize) = (512, 60 + 20);

const MAGIC: &[u8; 8] = b"SJPKTS01";
const ROW_BYTES: usize = 48;

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Writes rows.
pub struct Capture {
    plan: CapturePlan,
    end: Time,
    socket: Socket,
    file: BufWriter<File>,
    batch: Batch,
    /// CLOCK_REALTIME less CLOCK_MONOTONIC.
    offset_nanos: i64,
    next: Time,
    packets: u64,
}

impl Capture {
    /// Begins to capture.
    pub fn new(plan: &CapturePlan, line: &Timeline) -> Result<Capture, WireError> {
        let socket = open(plan)?;
        let offset_nanos = sys::realtime_offset_nanos();
        let unwritable = |error: Error| {
            WireError::input(format!(
                "capture {}: the file {} cannot be written ({error})",
                plan.interface,
                plan.file.display()
            ))
        };
        let mut file = BufWriter::with_capacity(1 << 20, File::create(&plan.file).map_err(unwritable)?);
        file.write_all(&header(line.start, offset_nanos)).map_err(unwritable)?;
        Ok(Capture {
            plan: plan.clone(),
            end: line.end,
            socket,
            file,
            batch: Batch::new(BATCH.0, BATCH.1),
            offset_nanos,
            next: now() + DRAIN_EVERY,
            packets: 0,
        })
    }

    /// Writes what the kernel has kept.
    fn drain(&mut self) -> Result<(), WireError> {
        loop {
            let count = match self.batch.receive(&self.socket) {
                Ok(count) => count,
                Err(error) if would_wait(&error) => return Ok(()),
                Err(error) => return Err(self.failed("reading", &error)),
            };
            let rows =
                self.batch.iter().filter(|(seen, _)| seen.outgoing || self.plan.direction != CaptureDirection::Out);
            for row in rows.filter_map(|(seen, bytes)| row(seen, bytes, self.offset_nanos)) {
                self.packets += 1;
                self.file.write_all(&row).map_err(|error| self.failed("writing", &error))?;
            }
            if count < BATCH.0 {
                return Ok(());
            }
        }
    }

    fn failed(&self, what: &str, error: &Error) -> WireError {
        explain(&self.plan, what, error)
    }
}

fn explain(plan: &CapturePlan, what: &str, error: &Error) -> WireError {
    WireError::failed(format!("capture {}: {what} {}: {error}", plan.interface, plan.file.display()))
}

/// A socket that gets a copy of each packet of the interface without its link header.
fn open(plan: &CapturePlan) -> Result<Socket, WireError> {
    // Without a protocol it gets nothing until it is bound, so nothing of another interface either.
    let socket = Socket::new(Domain::PACKET, Type::DGRAM, None).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => WireError::missing(format!(
            "capture {}: this user may not capture packets: that takes root or CAP_NET_RAW",
            plan.interface
        )),
        _ => explain(plan, "a socket for", &error),
    })?;
    let failed = |error: Error| explain(plan, "setting up", &error);
    sys::set(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1).map_err(failed)?;
    // The larger one takes CAP_NET_ADMIN; what is lost for want of room is counted.
    if sys::set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, KEEP_BYTES).is_err() {
        sys::set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, KEEP_BYTES).map_err(failed)?;
    }
    if plan.direction == CaptureDirection::In {
        sys::set(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1).map_err(failed)?;
    }
    let index = sys::interface_index(&plan.interface)
        .map_err(|_| WireError::failed(format!("capture {0}: there is no interface called {0:?}", plan.interface)))?;
    sys::bind_packets(&socket, index).map_err(failed)?;
    Ok(socket)
}

fn header(start: Time, offset_nanos: i64) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend((ROW_BYTES as u64).to_le_bytes());
    bytes.extend(start.as_nanos().to_le_bytes());
    bytes.extend(offset_nanos.to_le_bytes());
    bytes
}

/// The row of a packet; none if it is not IPv4.
fn row(seen: &Datagram, packet: &[u8], offset_nanos: i64) -> Option<[u8; ROW_BYTES]> {
    let first = *packet.first()?;
    let header_bytes = usize::from(first & 0xf) * 4;
    if first >> 4 != 4 || header_bytes < 20 {
        return None;
    }
    let ip = packet.get(..20)?;
    let mut row = [0; ROW_BYTES];
    let mut put = |at: usize, bytes: &[u8]| row[at..at + bytes.len()].copy_from_slice(bytes);
    let time = seen.stamp_nanos.unwrap_or_default().wrapping_add_signed(-offset_nanos);
    put(0, &time.to_le_bytes());
    put(8, &(seen.bytes as u32).to_le_bytes());
    put(12, &reversed::<4>(ip, 12)?);
    put(16, &reversed::<4>(ip, 16)?);
    put(24, &reversed::<2>(ip, 4)?);
    put(26, &[ip[9], ip[1], ip[8], u8::from(seen.outgoing)]);
    let is_first_fragment = (u16::from(ip[6]) << 8 | u16::from(ip[7])) & 0x1fff == 0;
    if let Some(behind) = packet.get(header_bytes..).filter(|_| is_first_fragment) {
        put_transport(ip[9], behind, &mut put);
    }
    Some(row)
}

/// Puts what is known of the header behind that of IP; what is cut off stays zero.
fn put_transport(protocol: u8, bytes: &[u8], put: &mut impl FnMut(usize, &[u8])) {
    let mut copy = |to: usize, from: Option<&[u8]>| from.into_iter().for_each(|bytes| put(to, bytes));
    let ports = if protocol == ICMP { 4 } else { 0 };
    if [ICMP, TCP, UDP].contains(&protocol) {
        copy(20, reversed::<2>(bytes, ports).as_ref().map(|bytes| &bytes[..]));
        copy(22, reversed::<2>(bytes, ports + 2).as_ref().map(|bytes| &bytes[..]));
    }
    if protocol == TCP {
        copy(30, bytes.get(13..14));
        copy(32, reversed::<4>(bytes, 4).as_ref().map(|bytes| &bytes[..]));
        copy(36, reversed::<4>(bytes, 8).as_ref().map(|bytes| &bytes[..]));
    } else if [ICMP, UDP].contains(&protocol) {
        copy(40, bytes.get(8..16));
    }
}

/// A number of the network's byte order in the file's.
fn reversed<const BYTES: usize>(bytes: &[u8], at: usize) -> Option<[u8; BYTES]> {
    let mut number: [u8; BYTES] = bytes.get(at..at + BYTES)?.try_into().ok()?;
    number.reverse();
    Some(number)
}

impl Endpoint for Capture {
    fn next(&self) -> Time {
        self.next
    }

    /// It looks at its socket now and then, so that not every packet wakes it.
    fn wait(&self, _set: &mut PollSet) {}

    fn act(&mut self, now: Time, _ready: &[Interest]) -> Result<(), WireError> {
        self.drain()?;
        self.next = (now + DRAIN_EVERY).min(self.end);
        if now >= self.end {
            self.next = Time::NEVER;
            self.file.flush().map_err(|error| self.failed("writing", &error))?;
        }
        Ok(())
    }

    fn report(self: Box<Self>, report: &mut Report) {
        let lost = sys::packets_lost(&self.socket).unwrap_or_default();
        let file = self.plan.file.display().to_string();
        report.captures.push(CaptureReport { file, packets: self.packets, lost });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ip(protocol: u8, behind: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; 20];
        packet[0] = 0x45;
        packet[1] = 0x23;
        packet[4..6].copy_from_slice(&0x1234u16.to_be_bytes());
        packet[8] = 63;
        packet[9] = protocol;
        packet[12..16].copy_from_slice(&[10, 0, 1, 1]);
        packet[16..20].copy_from_slice(&[10, 0, 2, 1]);
        packet.extend(behind);
        packet
    }

    fn number(row: &[u8], at: usize, bytes: usize) -> u64 {
        row[at..at + bytes].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
    }

    #[test]
    fn a_row_says_what_the_packet_says() {
        let mut tcp = vec![0; 20];
        tcp[..2].copy_from_slice(&5000u16.to_be_bytes());
        tcp[2..4].copy_from_slice(&80u16.to_be_bytes());
        tcp[4..8].copy_from_slice(&0xdead_beef_u32.to_be_bytes());
        tcp[8..12].copy_from_slice(&7u32.to_be_bytes());
        tcp[13] = 0x18;
        let seen = Datagram { bytes: 1500, stamp_nanos: Some(1_000), outgoing: true, ..Datagram::default() };
        let row = row(&seen, &ip(TCP, &tcp), 400).expect("a row");
        let found = [
            (0, 8),
            (8, 4),
            (12, 4),
            (16, 4),
            (20, 2),
            (22, 2),
            (24, 2),
            (26, 1),
            (27, 1),
            (28, 1),
            (29, 1),
            (30, 1),
            (32, 4),
            (36, 4),
            (40, 8),
        ]
        .map(|(at, bytes)| number(&row, at, bytes));
        assert_eq!(
            found,
            [600, 1500, 0x0a00_0101, 0x0a00_0201, 5000, 80, 0x1234, 6, 0x23, 63, 1, 0x18, 0xdead_beef, 7, 0]
        );
    }

    #[test]
    fn datagrams_and_echoes_have_their_payload() {
        let behind = [0, 1, 0, 2, 0, 3, 0, 4, 9, 0, 0, 0, 0, 0, 0, 1];
        let seen = Datagram { bytes: 36, stamp_nanos: Some(0), ..Datagram::default() };
        for (protocol, ports) in [(UDP, (1, 2)), (ICMP, (3, 4))] {
            let row = row(&seen, &ip(protocol, &behind), 0).expect("a row");
            assert_eq!((number(&row, 20, 2), number(&row, 22, 2)), ports);
            assert_eq!(number(&row, 40, 8), 1 << 56 | 9);
        }
        assert!(row(&seen, &[0x60; 40], 0).is_none(), "IPv6");
    }

    proptest! {
        #[test]
        fn no_packet_upsets_the_parser(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = row(&Datagram::default(), &bytes, 5);
        }

        #[test]
        fn no_ip_packet_does_either(protocol in prop::sample::select(vec![ICMP, TCP, UDP, 99]), behind in prop::collection::vec(any::<u8>(), 0..40)) {
            prop_assert!(row(&Datagram::default(), &ip(protocol, &behind), 0).is_some());
        }
    }
}
