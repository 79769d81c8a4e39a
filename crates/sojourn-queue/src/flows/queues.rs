//! The queues of flows, one for each bucket, in one pool of packets.

use crate::{DropReason, Packet, Sink};
use alloc::vec::Vec;
use sojourn_core::choices;

/// No slot.
const NONE: u32 = u32::MAX;

/// A first-in first-out queue for each bucket: chains through one pool of packets.
#[derive(Debug)]
pub(crate) struct FlowQueues<B> {
    queues: Vec<Chain>,
    pool: Vec<Slot<B>>,
    /// First of the chain of free slots.
    free: u32,
    packets: usize,
    bytes: u64,
}

/// A chain of `packets` slots; anything may stand in `head` and `tail` of an empty one.
#[derive(Clone, Copy, Debug)]
struct Chain {
    head: u32,
    tail: u32,
    packets: u32,
    bytes: u64,
}

/// A packet and its neighbours in its chain; at the ends of a chain the outer neighbour means nothing.
#[derive(Clone, Copy, Debug)]
struct Slot<B> {
    packet: Packet<B>,
    next: u32,
    previous: u32,
}

impl Chain {
    const EMPTY: Chain = Chain { head: NONE, tail: NONE, packets: 0, bytes: 0 };
}

choices! {
    /// An end of a queue.
    pub(crate) enum End {
        /// The latest packet.
        Tail = "tail",
        /// The oldest packet.
        Head = "head",
    }
}

impl<B> Default for FlowQueues<B> {
    fn default() -> Self {
        FlowQueues { queues: Vec::new(), pool: Vec::new(), free: NONE, packets: 0, bytes: 0 }
    }
}

impl<B: Copy> FlowQueues<B> {
    /// Packets waiting, in all buckets.
    #[inline]
    pub(crate) fn packets(&self) -> usize {
        self.packets
    }

    /// Bytes waiting, in all buckets.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Packets waiting in `bucket`, which may be one that no packet came to yet.
    #[inline]
    pub(crate) fn packets_of(&self, bucket: usize) -> usize {
        self.queues.get(bucket).map_or(0, |chain| chain.packets as usize)
    }

    /// Bytes waiting in `bucket`.
    #[inline]
    pub(crate) fn bytes_of(&self, bucket: usize) -> u64 {
        self.queues.get(bucket).map_or(0, |chain| chain.bytes)
    }

    /// Packets in the bucket with the most: a search, for probes.
    pub(crate) fn max_packets(&self) -> usize {
        self.queues.iter().map(|chain| chain.packets as usize).max().unwrap_or(0)
    }

    /// Bytes in the bucket with the most: a search, for probes.
    pub(crate) fn max_bytes(&self) -> u64 {
        self.queues.iter().map(|chain| chain.bytes).max().unwrap_or(0)
    }

    /// The packet at the head of `bucket`.
    #[inline]
    pub(crate) fn head(&self, bucket: usize) -> Option<&Packet<B>> {
        let chain = self.queues.get(bucket).filter(|chain| chain.packets > 0)?;
        Some(&self.pool[chain.head as usize].packet)
    }

    /// The same, to be marked there.
    #[inline]
    pub(crate) fn head_mut(&mut self, bucket: usize) -> Option<&mut Packet<B>> {
        let chain = self.queues.get(bucket).filter(|chain| chain.packets > 0)?;
        Some(&mut self.pool[chain.head as usize].packet)
    }

    /// Adds a packet at the tail of `bucket`, and gives it where it now lies. What is to be changed is best changed there: see
    /// [`Fifo::push`](crate::Fifo::push).
    #[inline]
    pub(crate) fn push(&mut self, bucket: usize, packet: &Packet<B>) -> &mut Packet<B> {
        if bucket >= self.queues.len() {
            self.queues.resize(bucket + 1, Chain::EMPTY);
        }
        let slot = self.allocate(packet, self.queues[bucket].tail);
        let chain = &mut self.queues[bucket];
        if chain.packets == 0 {
            chain.head = slot;
        } else {
            self.pool[chain.tail as usize].next = slot;
        }
        chain.tail = slot;
        chain.packets += 1;
        chain.bytes += u64::from(packet.bytes);
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
        &mut self.pool[slot as usize].packet
    }

    /// Takes the packet at this end of `bucket`.
    #[inline]
    pub(crate) fn pop(&mut self, bucket: usize, end: End) -> Option<Packet<B>> {
        let chain = self.queues.get_mut(bucket).filter(|chain| chain.packets > 0)?;
        let taken = match end {
            End::Head => chain.head,
            End::Tail => chain.tail,
        };
        let slot = &mut self.pool[taken as usize];
        match end {
            End::Head => chain.head = slot.next,
            End::Tail => chain.tail = slot.previous,
        }
        slot.next = self.free;
        self.free = taken;
        let bytes = u64::from(slot.packet.bytes);
        chain.packets -= 1;
        chain.bytes -= bytes;
        self.packets -= 1;
        self.bytes -= bytes;
        Some(slot.packet)
    }

    /// Drops the packet at the head of `bucket`.
    #[inline]
    pub(crate) fn drop_head<S: Sink<B>>(&mut self, bucket: usize, reason: DropReason, sink: &mut S) {
        if let Some(packet) = self.pop(bucket, End::Head) {
            sink.dropped(&packet, reason);
        }
    }

    /// The packets of `bucket` from its head on, each with its place in the pool.
    pub(crate) fn chain(&self, bucket: usize) -> impl Iterator<Item = (u32, &Packet<B>)> {
        let chain = self.queues.get(bucket).copied().unwrap_or(Chain::EMPTY);
        let mut place = chain.head;
        (0..chain.packets).map(move |_| {
            let at = place;
            let slot = &self.pool[at as usize];
            place = slot.next;
            (at, &slot.packet)
        })
    }

    /// Takes the packet of `bucket` at `place` in the pool.
    pub(crate) fn take(&mut self, bucket: usize, place: u32) -> Option<Packet<B>> {
        let chain = self.queues[bucket];
        if place == chain.head {
            return self.pop(bucket, End::Head);
        }
        if place == chain.tail {
            return self.pop(bucket, End::Tail);
        }
        let Slot { packet, next, previous } = self.pool[place as usize];
        self.pool[previous as usize].next = next;
        self.pool[next as usize].previous = previous;
        self.pool[place as usize].next = self.free;
        self.free = place;
        self.queues[bucket].packets -= 1;
        self.queues[bucket].bytes -= u64::from(packet.bytes);
        self.packets -= 1;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// A slot with this content: a free one if there is any, filled in place.
    #[inline]
    fn allocate(&mut self, packet: &Packet<B>, previous: u32) -> u32 {
        let Some(slot) = self.pool.get_mut(self.free as usize) else {
            self.pool.push(Slot { packet: *packet, next: NONE, previous });
            return self.pool.len() as u32 - 1;
        };
        let place = core::mem::replace(&mut self.free, slot.next);
        slot.packet = *packet;
        slot.previous = previous;
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::packet;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, VecDeque};

    #[test]
    fn the_pool_is_as_large_as_the_most_that_waited() {
        let mut queues = FlowQueues::default();
        for round in 0..1000u32 {
            (0..10).for_each(|bucket| {
                queues.push(bucket, &packet(100 + round, bucket as u32));
            });
            (0..10).for_each(|bucket| assert_eq!(queues.pop(bucket, End::Head).unwrap().body, bucket as u32));
        }
        assert_eq!(queues.pool.len(), 10);
    }

    /// What is done to a bucket.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Push(u32),
        Pop(End),
        /// The packet so many behind the head.
        Take(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
        let step = prop_oneof![
            4 => (40u32..1500).prop_map(Step::Push),
            2 => Just(Step::Pop(End::Head)),
            1 => Just(Step::Pop(End::Tail)),
            1 => (0usize..5).prop_map(Step::Take),
        ];
        prop::collection::vec((0usize..6, step), 1..500)
    }

    proptest! {
        #[test]
        fn each_is_a_queue(steps in steps()) {
            let mut model: BTreeMap<usize, VecDeque<(u32, u32)>> = BTreeMap::new();
            let mut queues = FlowQueues::default();
            for (number, (bucket, step)) in (0..).zip(steps) {
                let queue = model.entry(bucket).or_default();
                match step {
                    Step::Push(bytes) => {
                        queue.push_back((bytes, number));
                        queues.push(bucket, &packet(bytes, number));
                    }
                    Step::Pop(end) => {
                        let taken = queues.pop(bucket, end).map(|packet| (packet.bytes, packet.body));
                        prop_assert_eq!(taken, if end == End::Head { queue.pop_front() } else { queue.pop_back() });
                    }
                    Step::Take(index) => {
                        let place = queues.chain(bucket).map(|(place, _)| place).nth(index);
                        let taken = place.and_then(|place| queues.take(bucket, place));
                        prop_assert_eq!(taken.map(|packet| (packet.bytes, packet.body)), queue.remove(index));
                    }
                }
                let chain = queues.chain(bucket).map(|(_, packet)| (packet.bytes, packet.body));
                prop_assert!(chain.eq(queue.iter().copied()));
                let bytes_of = |queue: &VecDeque<(u32, u32)>| queue.iter().map(|(bytes, _)| u64::from(*bytes)).sum::<u64>();
                for (&bucket, queue) in &model {
                    prop_assert_eq!(queues.packets_of(bucket), queue.len());
                    prop_assert_eq!(queues.bytes_of(bucket), bytes_of(queue));
                    prop_assert_eq!(queues.head(bucket).map(|packet| packet.body), queue.front().map(|&(_, number)| number));
                }
                prop_assert_eq!(queues.packets(), model.values().map(VecDeque::len).sum::<usize>());
                prop_assert_eq!(queues.bytes(), model.values().map(bytes_of).sum::<u64>());
                prop_assert_eq!(queues.max_packets(), model.values().map(VecDeque::len).max().unwrap());
                prop_assert_eq!(queues.max_bytes(), model.values().map(bytes_of).max().unwrap());
            }
        }
    }
}
