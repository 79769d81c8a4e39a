//! The first-in first-out store that most disciplines are built on.

use crate::{DropReason, LinkProperties, Packet, Sink};
use alloc::format;
use sojourn_core::registry::declare::{Field, amount};
use sojourn_core::registry::{ParameterError, Params};
use sojourn_core::{Amount, Ring};

/// Packets in order of arrival, with their bytes counted.
#[derive(Debug)]
pub struct Fifo<B> {
    packets: Ring<Packet<B>>,
    bytes: u64,
}

impl<B> Default for Fifo<B> {
    fn default() -> Self {
        Fifo { packets: Ring::default(), bytes: 0 }
    }
}

impl<B> Fifo<B> {
    /// Packets waiting.
    #[inline]
    pub fn packets(&self) -> usize {
        self.packets.len() as usize
    }

    /// Bytes waiting.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The packet at the head.
    #[inline]
    pub fn head(&self) -> Option<&Packet<B>> {
        self.packets.front()
    }
}

impl<B: Copy> Fifo<B> {
    /// The same, to be marked there.
    #[inline]
    pub fn head_mut(&mut self) -> Option<&mut Packet<B>> {
        let first = self.packets.first();
        if self.packets.is_empty() { None } else { Some(&mut self.packets[first]) }
    }

    /// Adds a packet at the tail, and gives it where it now lies. What is to be changed is best changed there: a processor waits
    /// where it reads in one piece what it has just written in several.
    #[inline]
    pub fn push(&mut self, packet: &Packet<B>) -> &mut Packet<B> {
        self.bytes += u64::from(packet.bytes);
        self.packets.push(packet)
    }

    /// Takes the packet at the head to `place`; whether there was one.
    #[inline]
    pub fn pop_to(&mut self, place: &mut Packet<B>) -> bool {
        let Some(head) = self.packets.front() else { return false };
        self.bytes -= u64::from(head.bytes);
        *place = *head;
        self.packets.remove_first();
        true
    }

    /// Takes the packet at the head.
    #[inline]
    pub fn pop(&mut self) -> Option<Packet<B>> {
        let head = self.packets.front()?;
        self.bytes -= u64::from(head.bytes);
        let packet = *head;
        self.packets.remove_first();
        Some(packet)
    }

    /// Drops the packet at the head.
    #[inline]
    pub fn drop_head<S: Sink<B>>(&mut self, reason: DropReason, sink: &mut S) {
        if let Some(packet) = self.pop() {
            sink.dropped(&packet, reason);
        }
    }
}

/// A buffer's limit. The packet being transmitted has left the buffer and does not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Limit {
    /// At most this many packets wait.
    Packets(u64),
    /// At most this many bytes wait.
    Bytes(u64),
}

/// The parameter `limit` of a discipline with one buffer.
pub(crate) const fn limit(default: Amount) -> Field<Amount> {
    amount(default, 1.0, true)
        .described("what may wait, besides the packet on the wire: packets, bytes, or time at the link's rate")
}

impl Limit {
    /// The limit that `amount` means on `link`; a time becomes the bytes sent in it.
    pub fn new(amount: Amount, link: &LinkProperties) -> Limit {
        match amount {
            Amount::Packets(packets) => Limit::Packets(packets as u64),
            bytes_or_time => Limit::Bytes(bytes_or_time.bytes(link.rate, f64::from(link.packet_bytes)) as u64),
        }
    }

    /// The limit that the parameter `name` means on `link`; it must hold a full-size packet.
    ///
    /// # Errors
    /// A limit in bytes or time that no full-size packet fits into.
    pub fn of(params: &Params, name: &'static str, link: &LinkProperties) -> Result<Limit, ParameterError> {
        Limit::new(params.read::<Amount>(name), link).for_full_packets(name, link)
    }

    /// The same limit, if a full-size packet of `link` fits; `name` is the parameter that it is of.
    ///
    /// # Errors
    /// Where none does.
    pub(crate) fn for_full_packets(self, name: &'static str, link: &LinkProperties) -> Result<Limit, ParameterError> {
        if matches!(self, Limit::Bytes(bytes) if bytes < u64::from(link.packet_bytes)) {
            let rule =
                format!("room for at least one full-size packet ({} B), or every one is dropped", link.packet_bytes);
            return Err(ParameterError::new(name, rule));
        }
        Ok(self)
    }

    /// Whether it allows more than `other`; limits of different kinds cannot be compared.
    pub fn is_above(self, other: Limit) -> bool {
        match (self, other) {
            (Limit::Packets(own), Limit::Packets(most)) | (Limit::Bytes(own), Limit::Bytes(most)) => own > most,
            _ => false,
        }
    }

    /// Whether so much is more than the limit allows.
    #[inline]
    pub fn is_exceeded(self, packets: usize, bytes: u64) -> bool {
        match self {
            Limit::Packets(limit) => packets as u64 > limit,
            Limit::Bytes(limit) => bytes > limit,
        }
    }

    /// Drops from the head of `queue` what is more than the limit allows.
    pub fn trim<B: Copy, S: Sink<B>>(self, queue: &mut Fifo<B>, sink: &mut S) {
        while self.is_exceeded(queue.packets(), queue.bytes()) {
            let Some(oldest) = queue.pop() else { break };
            sink.dropped(&oldest, DropReason::Overflow);
        }
    }

    /// Whether one more packet of `bytes` bytes fits beside what `queue` holds.
    #[inline]
    pub fn has_room<B>(self, queue: &Fifo<B>, bytes: u32) -> bool {
        !self.is_exceeded(queue.packets() + 1, queue.bytes() + u64::from(bytes))
    }
}
