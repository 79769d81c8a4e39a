//! One first-in first-out queue for each bucket of a flow hash.

use crate::{Fifo, FlowHash, Packet};

/// The queues behind a [`FlowHash`], with their packets and bytes counted.
///
/// A perfect hash gets a new bucket for each new flow.
#[derive(Debug)]
pub(crate) struct Buckets<B> {
    queues: Vec<Fifo<B>>,
    packets: usize,
    bytes: u64,
}

impl<B> Buckets<B> {
    /// Empty buckets, as many as `hash` has.
    pub(crate) fn new(hash: &FlowHash) -> Buckets<B> {
        let queues = std::iter::repeat_with(Fifo::default).take(hash.buckets().unwrap_or(0)).collect();
        Buckets { queues, packets: 0, bytes: 0 }
    }

    /// Packets in all buckets.
    #[inline]
    pub(crate) fn packets(&self) -> usize {
        self.packets
    }

    /// Bytes in all buckets.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Packets in `bucket`, which may be one that no packet came to yet.
    #[inline]
    pub(crate) fn packets_in(&self, bucket: usize) -> usize {
        self.queues.get(bucket).map_or(0, Fifo::packets)
    }

    /// Bytes in `bucket`.
    #[inline]
    pub(crate) fn bytes_in(&self, bucket: usize) -> u64 {
        self.queues.get(bucket).map_or(0, Fifo::bytes)
    }

    /// Packets in the bucket with the most: a search, for probes.
    pub(crate) fn most_packets(&self) -> usize {
        self.queues.iter().map(Fifo::packets).max().unwrap_or(0)
    }

    /// Bytes in the bucket with the most: a search, for probes.
    pub(crate) fn most_bytes(&self) -> u64 {
        self.queues.iter().map(Fifo::bytes).max().unwrap_or(0)
    }

    /// The packet at the head of `bucket`.
    #[inline]
    pub(crate) fn head(&self, bucket: usize) -> Option<&Packet<B>> {
        self.queues.get(bucket)?.head()
    }

    /// Adds a packet at the tail of `bucket`.
    #[inline]
    pub(crate) fn push(&mut self, bucket: usize, packet: Packet<B>) {
        if bucket >= self.queues.len() {
            self.queues.resize_with(bucket + 1, Fifo::default);
        }
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
        self.queues[bucket].push(packet);
    }

    /// Takes the packet at this end of `bucket`.
    #[inline]
    pub(crate) fn pop(&mut self, bucket: usize, end: End) -> Option<Packet<B>> {
        let queue = self.queues.get_mut(bucket)?;
        let packet = match end {
            End::Head => queue.pop(),
            End::Tail => queue.pop_tail(),
        }?;
        self.packets -= 1;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }
}

/// An end of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// The oldest packet.
    Head,
    /// The latest packet.
    Tail,
}

impl End {
    /// The words of a parameter that chooses an end.
    pub(crate) const NAMES: &'static [&'static str] = &["tail", "head"];

    /// The end that one of these words means.
    pub(crate) fn new(name: &str) -> End {
        if name == "head" { End::Head } else { End::Tail }
    }
}
