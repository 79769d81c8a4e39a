//! One row per packet at the bottleneck.

use crate::Packet;
use sojourn_core::{Span, Time};

/// What happened to a packet at the bottleneck's queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum PacketEvent {
    /// It arrived.
    Arrival,
    /// It left the queue for the link.
    Departure,
    /// It was dropped.
    Drop,
    /// It was marked.
    Mark,
}

impl PacketEvent {
    /// Names in the order of the discriminants.
    pub const NAMES: [&'static str; 4] = ["arrival", "departure", "drop", "mark"];
}

/// An event of a packet.
#[derive(Clone, Copy, Debug)]
pub struct PacketRow {
    /// When.
    pub time: Time,
    /// What.
    pub event: PacketEvent,
    /// Time in the queue; zero for arrivals.
    pub sojourn: Span,
    /// The packet.
    pub packet: Packet,
}

/// All events of a run, in order.
#[derive(Default, Debug)]
pub struct PacketLog {
    /// The events.
    pub rows: Vec<PacketRow>,
}

impl PacketLog {
    /// Adds an event.
    pub fn add(&mut self, event: PacketEvent, packet: &Packet, now: Time) {
        let sojourn = if event == PacketEvent::Arrival { Span::ZERO } else { now.since(packet.enqueued) };
        self.rows.push(PacketRow { time: now, event, sojourn, packet: *packet });
    }
}
