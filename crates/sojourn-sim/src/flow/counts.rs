//! What is counted of a flow's packets.

use crate::Packet;
use sojourn_core::{Span, Time};
use sojourn_transport::{Segment, SegmentKind};

/// Counters that only grow.
#[derive(Clone, Copy, Default, Debug)]
pub struct Counts {
    /// Packets of either direction that entered the network.
    pub entered: u64,
    /// Packets of either direction that reached an endpoint.
    pub left: u64,
    /// Packets of either direction that were dropped.
    pub lost: u64,
    /// Data packets sent.
    pub sent: u64,
    /// Data packets dropped.
    pub drops: u64,
    /// Acknowledgements dropped.
    pub lost_acks: u64,
    /// SYNs and SYN-ACKs dropped.
    pub lost_syns: u64,
    /// Packets sent that are neither data nor acknowledgements.
    pub others: u64,
    /// Data packets marked.
    pub marks: u64,
    /// Payload bytes that the receiver got for the first time.
    pub delivered_bytes: u64,
    /// Sum of round-trip samples, in ns.
    pub rtt_nanos: u128,
    /// Their number.
    pub rtt_samples: u64,
    /// Sum of true one-way delays of data packets, in ns.
    pub delay_nanos: u128,
    /// Their number.
    pub delay_samples: u64,
}

impl Counts {
    /// A packet was dropped.
    #[inline]
    pub(super) fn on_drop(&mut self, packet: &Packet) {
        self.lost += 1;
        self.drops += u64::from(is_data(&packet.body));
        self.lost_acks += u64::from(packet.body.kind == SegmentKind::Ack);
        self.lost_syns += u64::from(matches!(packet.body.kind, SegmentKind::Syn | SegmentKind::SynAck));
    }

    /// A packet was marked.
    #[inline]
    pub fn on_mark(&mut self, packet: &Packet) {
        self.marks += u64::from(is_data(&packet.body));
    }

    /// A round-trip time was measured.
    #[inline]
    pub fn on_rtt(&mut self, rtt: Span) {
        self.rtt_nanos += u128::from(rtt.as_nanos());
        self.rtt_samples += 1;
    }

    /// A segment with so much payload reached its receiver at `at`.
    #[inline]
    pub(super) fn on_arrival(&mut self, packet: &Packet, payload_bytes: u32, is_new: bool, at: Time) {
        self.on_delay(at.since(packet.body.stamp));
        if is_new {
            self.delivered_bytes += u64::from(payload_bytes);
        }
    }

    /// A data packet reached its receiver.
    #[inline]
    pub fn on_delay(&mut self, delay: Span) {
        self.delay_nanos += u128::from(delay.as_nanos());
        self.delay_samples += 1;
    }
}

/// Whether it carries what the application sends: not an acknowledgement, not a handshake.
#[inline]
pub fn is_data(segment: &Segment) -> bool {
    matches!(segment.kind, SegmentKind::Data | SegmentKind::DataAck | SegmentKind::Datagram | SegmentKind::Ping)
}
