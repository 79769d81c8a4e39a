//! What a connection has taken of its session's budget. The kernel sends by itself, so this is settled after the fact:
//! data are paid for when they are written, and what the kernel has sent beyond that (again, or in smaller segments, or
//! acknowledgements) as soon as it is seen.

use crate::budget::{Budget, Purpose};
use crate::sys::TcpInfo;
use sojourn_core::{Span, Time};

/// IP and TCP with the options that data and acknowledgements bear, at most that many.
const HEADER_BYTES: u64 = 60;
/// A connection without data: SYN, acknowledgements, FIN or reset, each sent once more.
pub const CONNECTION_BYTES: u64 = 6 * HEADER_BYTES;
/// What is written at once at least, where there is as much: two segments on Ethernet.
const MIN_WRITE_BYTES: u64 = 2 * 1448;
/// How often a connection is settled that nothing else wakes.
pub const SETTLE_EVERY: Span = Span::from_millis(20);

/// A connection's part in a budget.
#[derive(Debug)]
pub struct Account {
    budget: Budget,
    /// What the kernel may hold unsent of this connection.
    held_bytes: u64,
    /// IP bytes that were paid for.
    paid_bytes: u64,
}

/// What may be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allowance {
    /// So many bytes now.
    Bytes(u64),
    /// Nothing before that time.
    From(Time),
    /// Nothing until the kernel has sent what it holds.
    Held,
}

impl Account {
    /// The account of one of `senders` connections at once, which has not taken anything yet.
    pub fn new(budget: Budget, senders: usize) -> Account {
        Account { budget, held_bytes: budget.held_bytes() / senders.max(1) as u64, paid_bytes: 0 }
    }

    /// Whether there is a bound.
    pub fn is_bounded(&self) -> bool {
        self.budget.is_bounded()
    }

    /// What the kernel may hold unsent of this connection; none where there is no bound.
    pub fn held_bytes(&self) -> Option<u64> {
        self.is_bounded().then_some(self.held_bytes)
    }

    /// Pays for a connection, if there is room; else when there is.
    pub fn open(&mut self, now: Time) -> Result<(), Time> {
        if self.budget.take(Purpose::Data, CONNECTION_BYTES, now) {
            self.paid_bytes += CONNECTION_BYTES;
            return Ok(());
        }
        Err(self.budget.next(Purpose::Data, CONNECTION_BYTES, now).unwrap_or(now))
    }

    /// What may be written of `wanted` bytes.
    pub fn allowance(&self, info: &TcpInfo, wanted: u64, now: Time) -> Allowance {
        let least = wanted.min(MIN_WRITE_BYTES).min((self.held_bytes / 2).max(1));
        let free = self.held_bytes.saturating_sub(u64::from(info.unsent_bytes));
        if free < least {
            return Allowance::Held;
        }
        let segment = segment_bytes(info);
        if let Some(time) = self.budget.next(Purpose::Data, on_the_wire(least, segment), now) {
            return Allowance::From(time);
        }
        let room = self.budget.room(Purpose::Data, now).saturating_sub(HEADER_BYTES);
        let payload = (u128::from(room) * u128::from(segment) / u128::from(segment + HEADER_BYTES)) as u64;
        Allowance::Bytes(payload.max(least).min(free).min(wanted))
    }

    /// Pays for `bytes` that were written.
    pub fn write(&mut self, info: &TcpInfo, bytes: u64, now: Time) {
        let cost = on_the_wire(bytes, segment_bytes(info));
        self.paid_bytes += cost;
        self.budget.spend(cost, now);
    }

    /// Pays for what the kernel has sent, or will, beyond what was paid for.
    pub fn settle(&mut self, info: &TcpInfo, now: Time) {
        let sent = info.sent_bytes + u64::from(info.segments_out) * HEADER_BYTES;
        let owed = sent + on_the_wire(u64::from(info.unsent_bytes), segment_bytes(info));
        self.budget.spend(owed.saturating_sub(self.paid_bytes), now);
        self.paid_bytes = self.paid_bytes.max(owed);
    }
}

fn segment_bytes(info: &TcpInfo) -> u64 {
    u64::from(info.segment_bytes).max(1)
}

/// The rate of payload at which segments of `segment_bytes` make `rate` on the wire.
pub fn payload_rate(rate: u64, segment_bytes: u32) -> u64 {
    let segment = u64::from(segment_bytes).max(1);
    (u128::from(rate) * u128::from(segment) / u128::from(segment + HEADER_BYTES)) as u64
}

/// IP bytes of `payload_bytes` in full segments.
fn on_the_wire(payload_bytes: u64, segment_bytes: u64) -> u64 {
    payload_bytes.saturating_add(payload_bytes.div_ceil(segment_bytes).saturating_mul(HEADER_BYTES))
}
