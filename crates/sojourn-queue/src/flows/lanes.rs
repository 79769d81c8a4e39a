//! Where packets wait.

use crate::Packet;

/// No slot.
const NONE: u32 = u32::MAX;

/// A first-in first-out queue for each bucket: chains through one pool of packets.
#[derive(Debug)]
pub(crate) struct Lanes<B> {
    lanes: Vec<Lane>,
    pool: Vec<Slot<B>>,
    /// First of the chain of free slots.
    free: u32,
    packets: usize,
    bytes: u64,
}

/// A chain of `packets` slots; anything may stand in `head` and `tail` of an empty one.
#[derive(Clone, Copy, Debug)]
struct Lane {
    head: u32,
    tail: u32,
    packets: u32,
    bytes: u64,
}

/// A packet and its neighbours in its lane; those of the outermost slots mean nothing.
#[derive(Debug)]
struct Slot<B> {
    packet: Packet<B>,
    next: u32,
    previous: u32,
}

impl Lane {
    const EMPTY: Lane = Lane { head: NONE, tail: NONE, packets: 0, bytes: 0 };
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

impl<B> Default for Lanes<B> {
    fn default() -> Self {
        Lanes { lanes: Vec::new(), pool: Vec::new(), free: NONE, packets: 0, bytes: 0 }
    }
}

impl<B: Copy> Lanes<B> {
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
        self.lanes.get(bucket).map_or(0, |lane| lane.packets as usize)
    }

    /// Bytes waiting in `bucket`.
    #[inline]
    pub(crate) fn bytes_of(&self, bucket: usize) -> u64 {
        self.lanes.get(bucket).map_or(0, |lane| lane.bytes)
    }

    /// Packets in the bucket with the most: a search, for probes.
    pub(crate) fn most_packets(&self) -> usize {
        self.lanes.iter().map(|lane| lane.packets as usize).max().unwrap_or(0)
    }

    /// Bytes in the bucket with the most: a search, for probes.
    pub(crate) fn most_bytes(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.bytes).max().unwrap_or(0)
    }

    /// The packet at the head of `bucket`.
    #[inline]
    pub(crate) fn head(&self, bucket: usize) -> Option<&Packet<B>> {
        let lane = self.lanes.get(bucket).filter(|lane| lane.packets > 0)?;
        Some(&self.pool[lane.head as usize].packet)
    }

    /// Adds a packet at the tail of `bucket`.
    #[inline]
    pub(crate) fn push(&mut self, bucket: usize, packet: Packet<B>) {
        if bucket >= self.lanes.len() {
            self.lanes.resize(bucket + 1, Lane::EMPTY);
        }
        let slot = self.allocate(Slot { packet, next: NONE, previous: self.lanes[bucket].tail });
        let lane = &mut self.lanes[bucket];
        if lane.packets == 0 {
            lane.head = slot;
        } else {
            self.pool[lane.tail as usize].next = slot;
        }
        lane.tail = slot;
        lane.packets += 1;
        lane.bytes += u64::from(packet.bytes);
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
    }

    /// Takes the packet at this end of `bucket`.
    #[inline]
    pub(crate) fn pop(&mut self, bucket: usize, end: End) -> Option<Packet<B>> {
        let lane = self.lanes.get_mut(bucket).filter(|lane| lane.packets > 0)?;
        let taken = match end {
            End::Head => lane.head,
            End::Tail => lane.tail,
        };
        let slot = &mut self.pool[taken as usize];
        match end {
            End::Head => lane.head = slot.next,
            End::Tail => lane.tail = slot.previous,
        }
        slot.next = self.free;
        self.free = taken;
        let bytes = u64::from(slot.packet.bytes);
        lane.packets -= 1;
        lane.bytes -= bytes;
        self.packets -= 1;
        self.bytes -= bytes;
        Some(slot.packet)
    }

    /// The place of `slot` in the pool: a free one if there is any.
    #[inline]
    fn allocate(&mut self, slot: Slot<B>) -> u32 {
        if self.free == NONE {
            self.pool.push(slot);
            return self.pool.len() as u32 - 1;
        }
        let place = self.free;
        self.free = std::mem::replace(&mut self.pool[place as usize], slot).next;
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
        let mut lanes = Lanes::default();
        for round in 0..1000u32 {
            (0..10).for_each(|bucket| lanes.push(bucket, packet(100 + round, bucket as u32)));
            (0..10).for_each(|bucket| assert_eq!(lanes.pop(bucket, End::Head).unwrap().body, bucket as u32));
        }
        assert_eq!(lanes.pool.len(), 10);
    }

    /// What is done to a bucket.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Push(u32),
        Pop(End),
    }

    fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
        let step = prop_oneof![
            4 => (40u32..1500).prop_map(Step::Push),
            2 => Just(Step::Pop(End::Head)),
            1 => Just(Step::Pop(End::Tail)),
        ];
        prop::collection::vec((0usize..6, step), 1..500)
    }

    proptest! {
        #[test]
        fn each_is_a_queue(steps in steps()) {
            let mut model: BTreeMap<usize, VecDeque<(u32, u32)>> = BTreeMap::new();
            let mut lanes = Lanes::default();
            for (number, (bucket, step)) in (0..).zip(steps) {
                let queue = model.entry(bucket).or_default();
                match step {
                    Step::Push(bytes) => {
                        queue.push_back((bytes, number));
                        lanes.push(bucket, packet(bytes, number));
                    }
                    Step::Pop(end) => {
                        let taken = lanes.pop(bucket, end).map(|packet| (packet.bytes, packet.body));
                        prop_assert_eq!(taken, if end == End::Head { queue.pop_front() } else { queue.pop_back() });
                    }
                }
                let bytes_of = |queue: &VecDeque<(u32, u32)>| queue.iter().map(|(bytes, _)| u64::from(*bytes)).sum::<u64>();
                for (&bucket, queue) in &model {
                    prop_assert_eq!(lanes.packets_of(bucket), queue.len());
                    prop_assert_eq!(lanes.bytes_of(bucket), bytes_of(queue));
                    prop_assert_eq!(lanes.head(bucket).map(|packet| packet.body), queue.front().map(|&(_, number)| number));
                }
                prop_assert_eq!(lanes.packets(), model.values().map(VecDeque::len).sum::<usize>());
                prop_assert_eq!(lanes.bytes(), model.values().map(bytes_of).sum::<u64>());
                prop_assert_eq!(lanes.most_packets(), model.values().map(VecDeque::len).max().unwrap());
                prop_assert_eq!(lanes.most_bytes(), model.values().map(bytes_of).max().unwrap());
            }
        }
    }
}
