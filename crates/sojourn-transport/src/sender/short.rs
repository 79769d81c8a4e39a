//! Segments with less payload than an MSS: for controls that send trains of small packets, and for applications that write
//! messages, the last segment of which is sent at once.
//!
//! Numbers count segments, so a short one stays as short when it is sent again, and what it leaves of a finite supply
//! moves to the end.

use super::Sender;
use sojourn_congestion::Control;
use std::collections::VecDeque;

/// The short segments of a sender. By how many bytes a segment falls short of an MSS is its shortfall.
#[derive(Debug, Default)]
pub(super) struct Short {
    /// Number and payload bytes of those that may have to be sent again, ascending.
    outstanding: VecDeque<(u32, u32)>,
    /// The shortfall of all that were acknowledged.
    acknowledged_bytes: u64,
    /// The shortfall of all that were sent.
    sent_bytes: u64,
}

impl Short {
    fn payload_of(&self, number: u32) -> Option<u32> {
        let place = self.outstanding.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        Some(self.outstanding[place].1)
    }

    /// Notes a segment that is sent for the first time, while those below `first` are acknowledged.
    fn note(&mut self, number: u32, payload_bytes: u32, first: u32, mss_bytes: u32) {
        self.acknowledged_bytes = self.acknowledged(first, mss_bytes);
        let below = self.outstanding.partition_point(|(number, _)| *number < first);
        self.outstanding.drain(..below);
        self.outstanding.push_back((number, payload_bytes));
        self.sent_bytes += u64::from(mss_bytes - payload_bytes);
    }

    /// The shortfall of all below `first`.
    fn acknowledged(&self, first: u32, mss_bytes: u32) -> u64 {
        let newly = self.outstanding.iter().take_while(|(number, _)| *number < first);
        self.acknowledged_bytes + newly.map(|(_, payload_bytes)| u64::from(mss_bytes - payload_bytes)).sum::<u64>()
    }
}

impl Sender {
    /// The payload of `number`, which is about to be sent.
    #[inline]
    pub(super) fn payload_of(&mut self, number: u32, retransmission: bool) -> u32 {
        let whole = if number + 1 == self.end { self.last_payload_bytes } else { self.payload_bytes };
        if self.short.is_none() { whole } else { self.shortened(number, retransmission, whole) }
    }

    #[inline(never)]
    fn shortened(&mut self, number: u32, retransmission: bool, whole: u32) -> u32 {
        let Some(short) = &mut self.short else { return whole };
        if retransmission {
            return short.payload_of(number).unwrap_or(whole);
        }
        let payload_bytes = self.control.segment_bytes().map_or(whole, |most| most.clamp(1, whole));
        if payload_bytes < self.payload_bytes {
            short.note(number, payload_bytes, self.board.first(), self.payload_bytes);
        }
        if payload_bytes < whole {
            self.postpone(self.payload_bytes - payload_bytes);
        }
        payload_bytes
    }

    /// Moves the `shortfall_bytes` of a segment to the end of a finite supply.
    fn postpone(&mut self, shortfall_bytes: u32) {
        if self.end == u32::MAX {
            return;
        }
        let last = self.last_payload_bytes + shortfall_bytes;
        let more = u32::from(last > self.payload_bytes);
        self.end += more;
        self.last_payload_bytes = last - more * self.payload_bytes;
    }

    /// Lets a supply that ends within a segment go on later: a segment that was sent short stays so, and what comes next
    /// has the next one (TCP_NODELAY).
    pub fn with_short_segments(mut self) -> Sender {
        self.short.get_or_insert_default();
        self
    }

    /// Payload bytes of all segments below `number`, which were sent; those below what was acknowledged as well.
    pub fn bytes_below(&self, number: u32) -> u64 {
        u64::from(number) * u64::from(self.payload_bytes) - self.shortfall_below_bytes(number)
    }

    /// By how many bytes the segments below `number`, which is not below what was acknowledged, fall short of full ones.
    fn shortfall_below_bytes(&self, number: u32) -> u64 {
        self.short.as_ref().map_or(0, |short| short.acknowledged(number, self.payload_bytes))
    }

    /// By how many bytes all that was sent falls short of full segments.
    pub(super) fn sent_shortfall_bytes(&self) -> u64 {
        self.short.as_ref().map_or(0, |short| short.sent_bytes)
    }

    /// The same of all that was cumulatively acknowledged.
    pub fn acknowledged_shortfall_bytes(&self) -> u64 {
        self.shortfall_below_bytes(self.board.first())
    }
}
