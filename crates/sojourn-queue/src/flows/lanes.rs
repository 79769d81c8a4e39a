//! Where packets wait.

use crate::Packet;

/// The end of a chain.
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

#[derive(Clone, Copy, Debug)]
struct Lane {
    head: u32,
    tail: u32,
    packets: u32,
    bytes: u64,
}

#[derive(Debug)]
struct Slot<B> {
    packet: Packet<B>,
    next: u32,
}

impl Lane {
    const EMPTY: Lane = Lane { head: NONE, tail: NONE, packets: 0, bytes: 0 };
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

    /// Packets waiting in `bucket`.
    #[inline]
    pub(crate) fn packets_of(&self, bucket: u32) -> u32 {
        self.lanes.get(bucket as usize).map_or(0, |lane| lane.packets)
    }

    /// Bytes waiting in `bucket`.
    #[inline]
    pub(crate) fn bytes_of(&self, bucket: u32) -> u64 {
        self.lanes.get(bucket as usize).map_or(0, |lane| lane.bytes)
    }

    /// Adds a packet at the tail of `bucket`.
    #[inline]
    pub(crate) fn push(&mut self, bucket: u32, packet: Packet<B>) {
        let bytes = u64::from(packet.bytes);
        let slot = self.allocate(packet);
        if bucket as usize >= self.lanes.len() {
            self.lanes.resize(bucket as usize + 1, Lane::EMPTY);
        }
        let lane = &mut self.lanes[bucket as usize];
        if lane.packets == 0 {
            lane.head = slot;
        } else {
            self.pool[lane.tail as usize].next = slot;
        }
        lane.tail = slot;
        lane.packets += 1;
        lane.bytes += bytes;
        self.packets += 1;
        self.bytes += bytes;
    }

    /// Takes the packet at the head of `bucket`.
    #[inline]
    pub(crate) fn pop(&mut self, bucket: u32) -> Option<Packet<B>> {
        let lane = self.lanes.get_mut(bucket as usize).filter(|lane| lane.packets > 0)?;
        let slot = &mut self.pool[lane.head as usize];
        let (packet, next) = (slot.packet, slot.next);
        slot.next = self.free;
        self.free = lane.head;
        lane.head = next;
        lane.packets -= 1;
        lane.bytes -= u64::from(packet.bytes);
        self.packets -= 1;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// The packets of `bucket` from its head on, each with its place in the pool.
    pub(crate) fn chain(&self, bucket: u32) -> impl Iterator<Item = (u32, &Packet<B>)> {
        let lane = self.lanes.get(bucket as usize).filter(|lane| lane.packets > 0);
        let first = lane.map(|lane| (lane.head, &self.pool[lane.head as usize]));
        let mut left = lane.map_or(0, |lane| lane.packets);
        std::iter::successors(first, move |(_, slot)| {
            left -= 1;
            (left > 0).then(|| (slot.next, &self.pool[slot.next as usize]))
        })
        .map(|(place, slot)| (place, &slot.packet))
    }

    /// Takes the packet of `bucket` that is behind the one at place `before`; the head without one.
    pub(crate) fn take_after(&mut self, bucket: u32, before: Option<u32>) -> Option<Packet<B>> {
        let Some(before) = before else { return self.pop(bucket) };
        let lane = &mut self.lanes[bucket as usize];
        if before == lane.tail {
            return None;
        }
        let taken = self.pool[before as usize].next;
        let slot = &mut self.pool[taken as usize];
        let (packet, next) = (slot.packet, slot.next);
        slot.next = self.free;
        self.free = taken;
        self.pool[before as usize].next = next;
        if taken == lane.tail {
            lane.tail = before;
        }
        lane.packets -= 1;
        lane.bytes -= u64::from(packet.bytes);
        self.packets -= 1;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    #[inline]
    fn allocate(&mut self, packet: Packet<B>) -> u32 {
        let filled = Slot { packet, next: NONE };
        if self.free == NONE {
            self.pool.push(filled);
            return self.pool.len() as u32 - 1;
        }
        let slot = self.free;
        self.free = std::mem::replace(&mut self.pool[slot as usize], filled).next;
        slot
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
            (0..10).for_each(|bucket| lanes.push(bucket, packet(100 + round, bucket)));
            (0..10).for_each(|bucket| assert_eq!(lanes.pop(bucket).unwrap().body, bucket));
        }
        assert_eq!(lanes.pool.len(), 10);
    }

    proptest! {
        #[test]
        fn each_is_a_queue(steps in prop::collection::vec((0u32..6, 40u32..1500, 0usize..5), 1..500)) {
            let mut model: BTreeMap<u32, VecDeque<(u32, u32)>> = BTreeMap::new();
            let mut lanes = Lanes::default();
            for (number, (bucket, bytes, action)) in (0..).zip(steps) {
                let queue = model.entry(bucket).or_default();
                if action < 2 {
                    queue.push_back((bytes, number));
                    lanes.push(bucket, packet(bytes, number));
                } else if action == 2 {
                    let taken = lanes.pop(bucket).map(|packet| (packet.bytes, packet.body));
                    prop_assert_eq!(taken, queue.pop_front());
                } else {
                    // Any but the head: behind the second from the tail, or behind the tail.
                    let places: Vec<u32> = lanes.chain(bucket).map(|(place, _)| place).collect();
                    let before = places.len().checked_sub(action - 2);
                    let taken = before.and_then(|before| lanes.take_after(bucket, Some(places[before])));
                    let expected = before.and_then(|before| queue.remove(before + 1));
                    prop_assert_eq!(taken.map(|packet| (packet.bytes, packet.body)), expected);
                }
                for (&bucket, queue) in &model {
                    prop_assert_eq!(lanes.packets_of(bucket) as usize, queue.len());
                    let chain = lanes.chain(bucket).map(|(_, packet)| (packet.bytes, packet.body));
                    prop_assert!(chain.eq(queue.iter().copied()));
                    prop_assert_eq!(lanes.bytes_of(bucket), queue.iter().map(|(bytes, _)| u64::from(*bytes)).sum());
                }
                prop_assert_eq!(lanes.packets(), model.values().map(VecDeque::len).sum());
                prop_assert_eq!(lanes.bytes(), model.values().flatten().map(|(bytes, _)| u64::from(*bytes)).sum());
            }
        }
    }
}
