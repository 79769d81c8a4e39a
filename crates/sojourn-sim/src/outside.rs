//! Packets of real programs: they come from outside, cross the scenario's links as all others do, and leave again.

use crate::Packet;
use sojourn_core::Time;
use sojourn_queue::{Dscp, Ecn, FlowKey};

/// What the network sees of a packet from outside.
#[derive(Clone, Copy, Debug)]
pub struct OutsidePacket {
    /// The caller's number of it, which comes back with its fate. Small numbers that are used again cost the least memory.
    pub token: u32,
    /// Bytes on the wire.
    pub bytes: u32,
    /// Those of them that are payload.
    pub payload_bytes: u32,
    /// What a router would hash.
    pub key: FlowKey,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its code point.
    pub dscp: Dscp,
}

/// What became of a packet from outside.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// The caller's number.
    pub token: u32,
    /// When.
    pub at: Time,
    /// What its header says now, where it has arrived; nothing where it was lost.
    pub arrived: Option<(Ecn, Dscp)>,
}

/// What has happened to a flow up to an instant; everything only grows.
#[derive(Clone, Copy, Debug)]
pub struct Glimpse {
    /// Payload bytes that have arrived.
    pub delivered_bytes: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// The sum of the times in the queue of the direction's main link, in ns, and their number.
    pub waited: (u128, u64),
}

/// The endpoint of packets from outside.
#[derive(Default, Debug)]
pub struct Outside {
    payload_bytes: Vec<u32>,
    departures: Vec<Departure>,
}

impl Outside {
    /// A packet enters.
    pub fn enter(&mut self, packet: &OutsidePacket) {
        let place = packet.token as usize;
        if place >= self.payload_bytes.len() {
            self.payload_bytes.resize(place + 1, 0);
        }
        self.payload_bytes[place] = packet.payload_bytes;
    }

    /// A packet has reached the other side at `at`. Its payload bytes.
    pub fn on_arrival(&mut self, packet: &Packet, at: Time) -> u32 {
        let token = packet.body.number;
        self.departures.push(Departure { token, at, arrived: Some((packet.ecn, packet.dscp)) });
        self.payload_bytes[token as usize]
    }

    /// A packet was lost.
    pub fn on_drop(&mut self, packet: &Packet) {
        self.departures.push(Departure { token: packet.body.number, at: Time::NEVER, arrived: None });
    }

    /// What has become of packets since this was asked before, in order, added to `all`.
    pub fn take(&mut self, all: &mut Vec<Departure>) {
        all.append(&mut self.departures);
    }
}
