//! SQF: shortest queue first (Bonald and Muscariello 2009; Carofiglio and Muscariello 2010).
//!
//! Each flow has a queue, and the one with the fewest bytes sends. A buffer that is over its limit drops from the queue
//! with the most bytes, the arrival included. Flows that send less than their share, such as voice and the start of a
//! transfer, find their queue empty and so have priority, without being classified. A long queue waits as long as
//! shorter ones last: nothing guards it against starvation but that they get long too.
//!
//! Among equally long queues, the one that was served (or became busy) the longest ago is served first, and is the one
//! that pays for an overflow; the papers leave this open. The packet on the wire does not count.

mod descriptor;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;
pub use descriptor::DESCRIPTOR;
use descriptor::Parameters;

use crate::flows::{End, FlowQueues, Longest, Ranking};
use crate::{Discipline, DropReason, FlowHash, Limit, LinkProperties, Packet, Sink, advice};
use core::cmp::Reverse;
use sojourn_core::registry::{Advice, ParameterError, Params};
use sojourn_core::{Stream, Time};

/// Queues of hashed flows, the shortest of which is served.
#[derive(Debug)]
pub struct Sqf<B> {
    hash: FlowHash,
    queues: FlowQueues<B>,
    /// When each bucket was served last, or became busy, as a number that grows.
    served: Vec<u64>,
    services: u64,
    shortest: Ranking<Reverse<(u64, u64)>>,
    longest: Longest<(u64, Reverse<u64>)>,
    limit: Limit,
    end: End,
}

impl<B: Copy> Sqf<B> {
    /// Empty queues with the given parameters.
    ///
    /// # Errors
    /// A limit that holds no packet.
    pub fn new(params: &Params, link: &LinkProperties, mut random: Stream) -> Result<Self, ParameterError> {
        let declared = Parameters::of(params);
        let hash = FlowHash::new(&mut random, declared.buckets, declared.perfect);
        Ok(Sqf {
            hash,
            queues: FlowQueues::default(),
            served: Vec::new(),
            services: 0,
            shortest: Ranking::default(),
            longest: Longest::default(),
            limit: Limit::of(params, "limit", link)?,
            end: declared.drop,
        })
    }

    /// `bucket` is served or becomes busy.
    #[inline]
    fn note_service(&mut self, bucket: usize) {
        if bucket >= self.served.len() {
            self.served.resize(bucket + 1, 0);
        }
        self.services += 1;
        self.served[bucket] = self.services;
    }

    /// `bucket` has a packet more or less.
    #[inline]
    fn rank(&mut self, bucket: usize) {
        match self.queues.bytes_of(bucket) {
            0 => self.shortest.remove(bucket),
            bytes => self.shortest.set(bucket, Reverse((bytes, self.served[bucket]))),
        }
    }

    /// Drops a packet of the queue with the most bytes.
    fn drop_of_longest<S: Sink<B>>(&mut self, sink: &mut S) -> Option<()> {
        let (queues, served) = (&self.queues, &self.served);
        let longest = self.longest.find(|bucket| match queues.bytes_of(bucket) {
            0 => None,
            bytes => Some((bytes, Reverse(served[bucket]))),
        })?;
        sink.dropped(&self.queues.pop(longest, self.end)?, DropReason::Overflow);
        self.rank(longest);
        Some(())
    }
}

impl<B: Copy> Discipline<B> for Sqf<B> {
    #[inline]
    fn enqueue<S: Sink<B>>(&mut self, mut packet: Packet<B>, now: Time, sink: &mut S) {
        packet.enqueued = now;
        let bucket = self.hash.bucket(&packet);
        if self.queues.packets_of(bucket) == 0 {
            self.note_service(bucket);
        }
        self.queues.push(bucket, &packet);
        self.rank(bucket);
        self.longest.grew(bucket);
        while self.limit.is_exceeded(self.queues.packets(), self.queues.bytes()) && self.drop_of_longest(sink).is_some()
        {
        }
    }

    #[inline]
    fn dequeue<S: Sink<B>>(&mut self, _now: Time, _sink: &mut S) -> Option<Packet<B>> {
        let (shortest, _) = self.shortest.first()?;
        let packet = self.queues.pop(shortest, End::Head);
        self.note_service(shortest);
        self.rank(shortest);
        packet
    }

    #[inline]
    fn packets(&self) -> usize {
        self.queues.packets()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.queues.bytes()
    }

    fn advice(params: &Params, _link: &LinkProperties) -> Vec<Advice> {
        advice::few_buckets(params, "buckets").into_iter().collect()
    }

    fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
        visit("shortest_bucket_bytes", self.shortest.first().map_or(0, |(_, Reverse((bytes, _)))| bytes) as f64);
        visit("longest_bucket_bytes", self.queues.max_bytes() as f64);
    }
}
