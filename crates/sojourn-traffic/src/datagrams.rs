//! Packets at a constant rate or at exact times, whatever happens to them.

use super::{Action, Trains};
use sojourn_core::{Serializer, Span, Time};
use sojourn_transport::SegmentKind;

/// A source of packets of one size.
#[derive(Debug)]
pub struct Datagrams {
    spacing: Spacing,
    kind: SegmentKind,
    packet_bytes: u32,
    next: Time,
    number: u32,
}

/// What lies between two packets.
#[derive(Debug)]
pub enum Spacing {
    /// The time that one takes at a rate; the remainder of each division goes into the next.
    Rate(Serializer),
    /// So much time.
    Every(Span),
    /// What trains say.
    Trains(Trains),
}

impl Datagrams {
    /// A source of packets of `packet_bytes` on the wire that is silent as yet.
    pub fn new(spacing: Spacing, packet_bytes: u32) -> Datagrams {
        Datagrams { spacing, kind: SegmentKind::Datagram, packet_bytes, next: Time::NEVER, number: 0 }
    }

    /// One whose packets the receiver sends back.
    pub fn pings(every: Span, packet_bytes: u32) -> Datagrams {
        Datagrams { kind: SegmentKind::Ping, ..Datagrams::new(Spacing::Every(every), packet_bytes) }
    }

    /// What its packets are.
    #[inline]
    pub fn kind(&self) -> SegmentKind {
        self.kind
    }

    /// Bytes of each packet on the wire.
    #[inline]
    pub fn packet_bytes(&self) -> u32 {
        self.packet_bytes
    }

    /// When the next packet is sent.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// Does what the application asks.
    pub fn perform(&mut self, action: Action, now: Time) {
        self.next = match action {
            Action::Nothing => return,
            Action::Pause => Time::NEVER,
            Action::Endless => {
                if let Spacing::Trains(trains) = &mut self.spacing {
                    trains.begin(now);
                }
                now
            }
            Action::Supply { .. } | Action::Connect { .. } | Action::Fetch(_) => {
                unreachable!("datagrams come at a rate, not in transfers")
            }
        };
    }

    /// The number of the packet that is due, if one is.
    #[inline]
    pub fn due(&mut self, now: Time) -> Option<u32> {
        if self.next > now {
            return None;
        }
        self.next = match &mut self.spacing {
            Spacing::Rate(serializer) => now + serializer.transmit(self.packet_bytes),
            Spacing::Every(span) => now + *span,
            Spacing::Trains(trains) => trains.after_packet(),
        };
        self.number += 1;
        Some(self.number - 1)
    }
}
