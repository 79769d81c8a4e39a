//! What happened to packets at the bottleneck, and at both ends of their way.

use crate::Packet;
use sojourn_core::{Span, Time};

/// What happened to a packet: at the bottleneck's queue, or where it begins and ends.
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
    /// Its sender sent it.
    Send,
    /// It reached its receiver.
    Receive,
}

impl PacketEvent {
    /// Names in the order of the discriminants.
    pub const NAMES: [&'static str; 6] = ["arrival", "departure", "drop", "mark", "send", "receive"];
}

/// An event of a packet.
#[derive(Clone, Copy, Debug)]
pub struct PacketRow {
    /// When.
    pub time: Time,
    /// What.
    pub event: PacketEvent,
    /// Time in the queue, zero for arrivals; of a packet received, time since it was sent.
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

    /// Adds the row of a packet that a sender sends.
    #[cold]
    pub fn add_sent(&mut self, packet: &Packet, now: Time) {
        self.rows.push(PacketRow { time: now, event: PacketEvent::Send, sojourn: Span::ZERO, packet: *packet });
    }

    /// Adds the row of a packet that its receiver gets. What travels from receiver to sender has none.
    #[cold]
    pub fn add_received(&mut self, packet: &Packet, now: Time) {
        if !packet.body.kind.travels_back() {
            let sojourn = now.since(packet.body.stamp);
            self.rows.push(PacketRow { time: now, event: PacketEvent::Receive, sojourn, packet: *packet });
        }
    }

    /// Puts the rows of both ends among these, all in the order of time; at the same instant packets are first sent, then
    /// at the bottleneck, then received. A receiver's work may be done later than it happens, so among receivers the
    /// order of the flows decides.
    pub fn merge(&mut self, mut ends: PacketLog) {
        ends.rows.sort_by_key(|row| (row.time, row.packet.flow, row.packet.body.stamp, row.packet.body.number));
        let (sent, received): (Vec<_>, Vec<_>) = ends.rows.into_iter().partition(|row| row.event == PacketEvent::Send);
        let link = std::mem::replace(&mut self.rows, sent);
        self.rows.extend(link);
        self.rows.extend(received);
        self.rows.sort_by_key(|row| row.time);
    }
}
