//! DRR: deficit round robin (Shreedhar and Varghese 1995).
//!
//! Flows are hashed onto buckets. A bucket's turn adds one quantum to its deficit counter, and it sends as long as the
//! packet at its head is not larger than the counter; what is left is kept for the next turn, unless the bucket is
//! empty. A buffer that is over its limit drops from the bucket with the most bytes, the arrival included.
//!
//! Among buckets with equally many bytes the one whose turn comes first is hit, as in ns-2. One thing is not as in
//! ns-2: there a bucket that an overflow empties during its turn stays marked as having had its quantum, and waits
//! for one more round when it comes back. That needs a fattest bucket of one packet, which the preset's limit of
//! 25,000 B over 10 buckets rules out.

mod descriptor;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;
pub use descriptor::DESCRIPTOR;
use descriptor::Parameters;

use crate::flows::{ActiveList, End, FlowQueues, Links, Longest};
use crate::{Discipline, DropReason, FlowHash, Limit, LinkProperties, Packet, Sink, advice};
use core::cmp::Reverse;
use sojourn_core::registry::{Advice, ParameterError, Params};
use sojourn_core::{Stream, Time};

/// Queues of hashed flows that take turns of equally many bytes.
#[derive(Debug)]
pub struct Drr<B> {
    hash: FlowHash,
    queues: FlowQueues<B>,
    active: ActiveList,
    links: Links,
    flows: Vec<Flow>,
    /// Whether the bucket at the head of the round has had its quantum.
    in_turn: bool,
    /// Places at the end of the round given so far.
    places: u64,
    /// Buckets by their bytes; among equals the one whose turn comes first.
    fattest: Longest<(u64, Reverse<u64>)>,
    quantum: u64,
    limit: Limit,
    end: End,
}

/// What is remembered of a bucket while it is in the round.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// The deficit counter: bytes that the bucket may send.
    deficit: u64,
    /// Its place in the order of turns.
    place: u64,
}

impl<B: Copy> Drr<B> {
    /// Empty buckets with the given parameters.
    ///
    /// # Errors
    /// A limit that holds no packet.
    pub fn new(params: &Params, link: &LinkProperties, mut random: Stream) -> Result<Self, ParameterError> {
        let declared = Parameters::of(params);
        let hash = FlowHash::new(&mut random, declared.buckets, declared.perfect);
        Ok(Drr {
            hash,
            queues: FlowQueues::default(),
            active: ActiveList::default(),
            links: Links::default(),
            flows: Vec::new(),
            in_turn: false,
            places: 0,
            fattest: Longest::default(),
            quantum: u64::from(declared.quantum.unwrap_or(link.packet_bytes)),
            limit: Limit::of(params, "limit", link)?,
            end: declared.drop,
        })
    }

    /// A bucket joins the round, without any deficit.
    #[inline]
    fn join(&mut self, bucket: usize) {
        if bucket >= self.flows.len() {
            self.flows.resize(bucket + 1, Flow::default());
        }
        self.places += 1;
        self.flows[bucket] = Flow { deficit: 0, place: self.places };
        self.active.push_back(bucket, &mut self.links);
    }

    /// The bucket at the head of the round goes to its end.
    #[inline]
    fn end_turn(&mut self, bucket: usize) {
        self.places += 1;
        self.flows[bucket].place = self.places;
        self.active.rotate(&self.links);
        self.in_turn = false;
    }

    /// `bucket` lost a packet: it leaves the round if it was the last.
    #[inline]
    fn shrink(&mut self, bucket: usize) {
        if self.queues.packets_of(bucket) > 0 {
            return;
        }
        if self.active.head() == Some(bucket) {
            self.in_turn = false;
        }
        self.active.remove(bucket, &mut self.links);
    }

    /// Drops a packet of the bucket with the most bytes.
    fn drop_of_fattest<S: Sink<B>>(&mut self, sink: &mut S) -> Option<()> {
        let (queues, flows) = (&self.queues, &self.flows);
        let fattest = self.fattest.find(|bucket| match queues.bytes_of(bucket) {
            0 => None,
            bytes => Some((bytes, Reverse(flows[bucket].place))),
        })?;
        sink.dropped(&self.queues.pop(fattest, self.end)?, DropReason::Overflow);
        self.shrink(fattest);
        Some(())
    }
}

impl<B: Copy> Discipline<B> for Drr<B> {
    #[inline]
    fn enqueue<S: Sink<B>>(&mut self, mut packet: Packet<B>, now: Time, sink: &mut S) {
        packet.enqueued = now;
        let bucket = self.hash.bucket(&packet);
        self.queues.push(bucket, &packet);
        if self.queues.packets_of(bucket) == 1 {
            self.join(bucket);
        }
        self.fattest.grew(bucket);
        while self.limit.is_exceeded(self.queues.packets(), self.queues.bytes()) && self.drop_of_fattest(sink).is_some()
        {
        }
    }

    #[inline]
    fn dequeue<S: Sink<B>>(&mut self, _now: Time, _sink: &mut S) -> Option<Packet<B>> {
        loop {
            let bucket = self.active.head()?;
            let bytes = u64::from(self.queues.head(bucket)?.bytes);
            let flow = &mut self.flows[bucket];
            if !self.in_turn {
                flow.deficit += self.quantum;
                self.in_turn = true;
            }
            if bytes <= flow.deficit {
                flow.deficit -= bytes;
                let packet = self.queues.pop(bucket, End::Head);
                self.shrink(bucket);
                return packet;
            }
            self.end_turn(bucket);
        }
    }

    #[inline]
    fn packets(&self) -> usize {
        self.queues.packets()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.queues.bytes()
    }

    fn advice(params: &Params, link: &LinkProperties) -> Vec<Advice> {
        [advice::small_quantum(params, link), advice::few_buckets(params, "buckets")].into_iter().flatten().collect()
    }

    fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
        visit("active_buckets", self.active.len() as f64);
        visit("fattest_bucket_bytes", self.queues.max_bytes() as f64);
    }
}
