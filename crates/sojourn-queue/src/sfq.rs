//! SFQ: stochastic fairness queueing (McKenney 1990).
//!
//! Flows are hashed onto buckets, and buckets with packets take turns. For each arrival, in the order of Linux:
//! 1. a bucket that holds `depth` packets, or a new one beyond `flows` of them, takes no more;
//! 2. the packet joins its bucket, and an empty bucket the end of the round with one quantum of credit;
//! 3. a buffer that is over its limit drops from the longest bucket.
//!
//! A bucket sends while it has credit; without, it gets a quantum and goes to the end of the round. From time to time
//! a new hash separates flows that collided. ns-2 differs: turns are of one packet, and an arrival is refused if its
//! bucket has had its share of what is left.

mod descriptor;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;
pub use descriptor::DESCRIPTOR;
use descriptor::{Parameters, Turn};

use crate::flows::{ActiveList, End, FlowQueues, Links, Longest};
use crate::{Discipline, DropReason, FlowHash, Limit, LinkProperties, Packet, Sink, advice};
use sojourn_core::registry::{Advice, ParameterError, Params};
use sojourn_core::{Span, Stream, Time};

/// Queues of hashed flows that take turns.
#[derive(Debug)]
pub struct Sfq<B> {
    hash: FlowHash,
    queues: FlowQueues<B>,
    active: ActiveList,
    links: Links,
    flows: Vec<Flow>,
    /// Buckets by their packets; among equals the one that changed last.
    longest: Longest<(usize, u64)>,
    changes: u64,
    quantum: Quantum,
    limit: usize,
    depth: usize,
    max_flows: usize,
    overflow: Overflow,
    end: End,
    perturbation: Option<Perturbation<B>>,
}

/// What is remembered of a bucket.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// Bytes that it may send in its turn; zero or less once they are used up.
    credit: i64,
    /// When it got its latest packet more or less, as a number that grows.
    changed: u64,
}

/// What a bucket may send in a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Quantum {
    OnePacket,
    /// As long as it has credit, of which each round adds this much.
    Bytes(i64),
}

/// Who suffers where the buffer is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Overflow {
    /// The longest bucket.
    Evict,
    /// The arrival (ns-2), by a rule that knows the number of buckets.
    Refuse { buckets: usize },
}

/// The change of the hash from time to time.
#[derive(Debug)]
struct Perturbation<B> {
    period: Span,
    next: Time,
    random: Stream,
    /// Packets on their way from the old buckets to the new.
    moving: Vec<Packet<B>>,
}

impl<B: Copy> Sfq<B> {
    /// Empty buckets with the given parameters.
    ///
    /// # Errors
    /// A limit that holds no packet, or for ns-2's rule no more than one; a quantum where turns are of one packet, a
    /// change of a hash that is perfect.
    pub fn new(params: &Params, link: &LinkProperties, mut random: Stream) -> Result<Self, ParameterError> {
        let declared = Parameters::of(params);
        let hash = FlowHash::new(&mut random, declared.buckets, declared.perfect);
        let overflow = match declared.overflow {
            descriptor::Overflow::Refuse => Overflow::Refuse { buckets: declared.buckets as usize },
            descriptor::Overflow::Evict => Overflow::Evict,
        };
        Ok(Sfq {
            hash,
            queues: FlowQueues::default(),
            active: ActiveList::default(),
            links: Links::default(),
            flows: Vec::new(),
            longest: Longest::default(),
            changes: 0,
            quantum: quantum(&declared, link)?,
            limit: limit(params, link, overflow)?,
            depth: declared.depth.unwrap_or(usize::MAX),
            max_flows: declared.flows.unwrap_or(usize::MAX),
            overflow,
            end: declared.drop,
            perturbation: Perturbation::new(&declared, link, random)?,
        })
    }

    /// ns-2: whether `bucket` had its share: half of the places that are left, or `limit`/`buckets` packets once fewer
    /// places than buckets are left.
    #[inline]
    fn is_refused(&self, bucket: usize) -> bool {
        let Overflow::Refuse { buckets } = self.overflow else { return false };
        let used = self.queues.packets_of(bucket);
        let left = self.limit - self.queues.packets();
        used >= left / 2 || (left < buckets && used > self.limit / buckets)
    }

    /// Steps 1 and 2, for arrivals and for packets that a new hash moves.
    #[inline]
    fn admit<S: Sink<B>>(&mut self, bucket: usize, packet: Packet<B>, sink: &mut S) {
        let used = self.queues.packets_of(bucket);
        if used == 0 && self.active.len() >= self.max_flows {
            return sink.dropped(&packet, DropReason::Overflow);
        }
        if used >= self.depth {
            match self.end {
                End::Tail => sink.dropped(&packet, DropReason::Overflow),
                End::Head => self.replace_oldest(bucket, packet, sink),
            }
            return;
        }
        self.queues.push(bucket, &packet);
        self.note_change(bucket);
        self.longest.grew(bucket);
        if used == 0 {
            self.active.push_back(bucket, &mut self.links);
            if let Quantum::Bytes(quantum) = self.quantum {
                self.flows[bucket].credit = quantum;
            }
        }
    }

    /// `bucket` has a packet more or less.
    #[inline]
    fn note_change(&mut self, bucket: usize) {
        if bucket >= self.flows.len() {
            self.flows.resize(bucket + 1, Flow::default());
        }
        self.changes += 1;
        self.flows[bucket].changed = self.changes;
    }

    /// The oldest packet of `bucket` makes room for `packet`.
    fn replace_oldest<S: Sink<B>>(&mut self, bucket: usize, packet: Packet<B>, sink: &mut S) {
        if let Some(oldest) = self.queues.pop(bucket, End::Head) {
            sink.dropped(&oldest, DropReason::Overflow);
        }
        self.queues.push(bucket, &packet);
    }

    /// Drops a packet of `bucket`, which stays in the round.
    fn evict<S: Sink<B>>(&mut self, bucket: usize, sink: &mut S) {
        if let Some(victim) = self.queues.pop(bucket, self.end) {
            sink.dropped(&victim, DropReason::Overflow);
        }
        self.note_change(bucket);
    }

    /// Step 3: drops a packet of the longest bucket or, if all hold one packet, of the next in the round.
    fn evict_longest<S: Sink<B>>(&mut self, sink: &mut S) {
        let (queues, flows) = (&self.queues, &self.flows);
        let longest = self.longest.find(|bucket| match queues.packets_of(bucket) {
            0 => None,
            packets => Some((packets, flows[bucket].changed)),
        });
        match longest {
            Some(bucket) if self.queues.packets_of(bucket) > 1 => self.evict(bucket, sink),
            _ => {
                let Some(bucket) = self.active.head() else { return };
                self.evict(bucket, sink);
                self.active.remove(bucket, &mut self.links);
            }
        }
    }

    /// The bucket whose turn it is.
    #[inline]
    fn next(&mut self) -> Option<usize> {
        let mut bucket = self.active.head()?;
        if let Quantum::Bytes(quantum) = self.quantum {
            while self.flows[bucket].credit <= 0 {
                self.flows[bucket].credit += quantum;
                self.active.rotate(&self.links);
                bucket = self.active.head()?;
            }
        }
        Some(bucket)
    }
}

impl<B: Copy> Discipline<B> for Sfq<B> {
    #[inline]
    fn enqueue<S: Sink<B>>(&mut self, mut packet: Packet<B>, now: Time, sink: &mut S) {
        packet.enqueued = now;
        let bucket = self.hash.bucket(&packet);
        if self.is_refused(bucket) {
            return sink.dropped(&packet, DropReason::Overflow);
        }
        self.admit(bucket, packet, sink);
        if self.queues.packets() > self.limit {
            self.evict_longest(sink);
        }
    }

    #[inline]
    fn dequeue<S: Sink<B>>(&mut self, _now: Time, _sink: &mut S) -> Option<Packet<B>> {
        let bucket = self.next()?;
        let packet = self.queues.pop(bucket, End::Head)?;
        self.note_change(bucket);
        if self.queues.packets_of(bucket) == 0 {
            self.active.remove(bucket, &mut self.links);
        } else {
            match self.quantum {
                Quantum::OnePacket => self.active.rotate(&self.links),
                Quantum::Bytes(_) => self.flows[bucket].credit -= i64::from(packet.bytes),
            }
        }
        Some(packet)
    }

    #[inline]
    fn packets(&self) -> usize {
        self.queues.packets()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.queues.bytes()
    }

    fn timer(&self) -> Option<Time> {
        self.perturbation.as_ref().map(|perturbation| perturbation.next)
    }

    /// A new hash. Waiting packets move to their new buckets, so that no flow is reordered.
    fn on_timer<S: Sink<B>>(&mut self, now: Time, sink: &mut S) {
        let Some(mut perturbation) = self.perturbation.take() else { return };
        perturbation.next = now + perturbation.period;
        self.hash.perturb(&mut perturbation.random);
        while let Some(bucket) = self.active.head() {
            while let Some(packet) = self.queues.pop(bucket, End::Head) {
                perturbation.moving.push(packet);
            }
            self.note_change(bucket);
            self.active.remove(bucket, &mut self.links);
        }
        for packet in perturbation.moving.drain(..) {
            self.admit(self.hash.bucket(&packet), packet, sink);
        }
        self.perturbation = Some(perturbation);
    }

    fn advice(params: &Params, link: &LinkProperties) -> Vec<Advice> {
        let declared = Parameters::of(params);
        let fixed = declared.perturb.is_zero();
        let few_buckets = fixed.then(|| advice::few_buckets(params, "buckets")).flatten();
        [advice::small_quantum(params, link), few_buckets].into_iter().flatten().collect()
    }

    fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
        visit("active_buckets", self.active.len() as f64);
        visit("longest_bucket_packets", self.queues.max_packets() as f64);
    }
}

impl<B> Perturbation<B> {
    fn new(
        declared: &Parameters,
        link: &LinkProperties,
        random: Stream,
    ) -> Result<Option<Perturbation<B>>, ParameterError> {
        let period = declared.perturb;
        if period.is_zero() {
            return Ok(None);
        }
        if declared.perfect {
            return Err(ParameterError::new(
                "perturb",
                "0 s where `perfect` is on: flows that never collide need no new hash",
            ));
        }
        Ok(Some(Perturbation { period, next: link.since + period, random, moving: Vec::new() }))
    }
}

/// SFQ counts packets: a limit in bytes or time is that of so many full-size packets.
fn limit(params: &Params, link: &LinkProperties, overflow: Overflow) -> Result<usize, ParameterError> {
    let packets = match Limit::of(params, "limit", link)? {
        Limit::Packets(packets) => packets,
        Limit::Bytes(bytes) => bytes / u64::from(link.packet_bytes),
    };
    if packets < 2 && matches!(overflow, Overflow::Refuse { .. }) {
        let rule = "at least 2 packets where overflow is refuse: a bucket gets half of what is left";
        return Err(ParameterError::new("limit", rule));
    }
    Ok(packets as usize)
}

fn quantum(declared: &Parameters, link: &LinkProperties) -> Result<Quantum, ParameterError> {
    match (declared.turn, declared.quantum) {
        (Turn::Packet, None) => Ok(Quantum::OnePacket),
        (Turn::Packet, Some(_)) => {
            Err(ParameterError::new("quantum", "auto where turn is packet: turns are not counted in bytes"))
        }
        (Turn::Bytes, bytes) => Ok(Quantum::Bytes(i64::from(bytes.unwrap_or(link.packet_bytes)))),
    }
}
