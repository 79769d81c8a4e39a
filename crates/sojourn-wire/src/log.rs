//! The packets that one end of a flow sent or received, one by one, where the plan asks for them.

use crate::clock::Timeline;
use crate::error::WireError;
use crate::plan::{FlowPlan, Role};
use crate::socket::explain;
use crate::sys::{self, Datagram};
use serde::Serialize;
use socket2::Socket;
use sojourn_core::Time;

/// The ECN field that says congestion experienced (RFC 3168), in the TOS byte.
const CE: u8 = 3;

/// What tells a packet of a flow from all others: the sender's number for it, and when it was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Name {
    /// A segment's number is that of each of its retransmissions.
    pub number: u32,
    /// By the sender's clock.
    pub stamp: Time,
}

/// A list for each column; those of arrivals are empty at the end that sends.
#[derive(Serialize, Debug)]
pub struct PacketLog {
    /// Start of the run, ns of this host's CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// When each was sent, ns of the sender's CLOCK_MONOTONIC.
    pub stamp_ns: Vec<u64>,
    /// The sender's number for it.
    pub number: Vec<u32>,
    /// As an IP packet.
    pub size_bytes: Vec<u32>,
    /// When the kernel got it, ns of the receiver's CLOCK_MONOTONIC.
    pub arrived_ns: Vec<u64>,
    /// Whether it came with a congestion mark: 1 or 0.
    pub marked: Vec<u8>,
    /// Packets for which there was no room.
    pub unlogged: u64,
    #[serde(skip)]
    room: usize,
    #[serde(skip)]
    realtime_offset_nanos: i64,
}

impl PacketLog {
    /// The log of one end of `flow`, where its plan wants one; `socket` gives the marks and times of what arrives.
    pub fn of(flow: &FlowPlan, line: &Timeline, socket: &Socket) -> Result<Option<Box<PacketLog>>, WireError> {
        if flow.logged_packets == 0 {
            return Ok(None);
        }
        if flow.role == Role::Receive {
            let ask = |level, name| sys::set(socket, level, name, 1);
            ask(libc::IPPROTO_IP, libc::IP_RECVTOS)
                .and_then(|()| ask(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS))
                .map_err(|error| explain(flow, "setting up its socket", &error))?;
        }
        Ok(Some(Box::new(PacketLog {
            start_ns: line.start.as_nanos(),
            stamp_ns: Vec::new(),
            number: Vec::new(),
            size_bytes: Vec::new(),
            arrived_ns: Vec::new(),
            marked: Vec::new(),
            unlogged: 0,
            room: flow.logged_packets as usize,
            realtime_offset_nanos: sys::realtime_offset_nanos(),
        })))
    }

    /// A packet was sent.
    pub fn on_sent(&mut self, name: Name, ip_bytes: u64) {
        if self.stamp_ns.len() == self.room {
            self.unlogged += 1;
            return;
        }
        self.stamp_ns.push(name.stamp.as_nanos());
        self.number.push(name.number);
        self.size_bytes.push(ip_bytes as u32);
    }

    /// A packet arrived, which the loop has seen at `now`.
    pub fn on_arrived(&mut self, name: Name, ip_bytes: u64, seen: &Datagram, now: Time) {
        if self.stamp_ns.len() < self.room {
            let stamped = seen.stamp_nanos.map(|nanos| nanos.wrapping_add_signed(-self.realtime_offset_nanos));
            self.arrived_ns.push(stamped.unwrap_or(now.as_nanos()));
            self.marked.push(u8::from(is_marked(seen)));
        }
        self.on_sent(name, ip_bytes);
    }
}

/// Whether a datagram came with a congestion mark, where its socket asked for that.
pub fn is_marked(seen: &Datagram) -> bool {
    seen.tos.is_some_and(|tos| tos & CE == CE)
}
