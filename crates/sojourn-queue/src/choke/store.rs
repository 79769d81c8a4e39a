//! A queue that gives any of its packets at random and can lose it, in constant time.

use crate::Packet;
use alloc::vec::Vec;

/// Packets in order of arrival, side by side in memory in no order at all.
///
/// A removed packet's place is taken by the last one in memory, so that there are no holes and every number below
/// [`packets`](Store::packets) is a packet: a draw is uniform with one random number. Linux keeps a ring with holes
/// instead, draws up to three times and then takes the head.
#[derive(Debug)]
pub(super) struct Store<B> {
    entries: Vec<Entry<B>>,
    head: usize,
    tail: usize,
    bytes: u64,
}

/// A packet with its neighbours in the order of arrival; `NONE` at the ends.
#[derive(Debug)]
struct Entry<B> {
    packet: Packet<B>,
    next: usize,
    previous: usize,
}

const NONE: usize = usize::MAX;

impl<B> Default for Store<B> {
    fn default() -> Self {
        Store { entries: Vec::new(), head: NONE, tail: NONE, bytes: 0 }
    }
}

impl<B: Copy> Store<B> {
    /// Packets waiting.
    #[inline]
    pub(super) fn packets(&self) -> usize {
        self.entries.len()
    }

    /// Bytes waiting.
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The packet with a number below [`packets`](Store::packets); numbers change with every removal.
    #[inline]
    pub(super) fn get(&self, number: usize) -> &Packet<B> {
        &self.entries[number].packet
    }

    /// Adds a packet at the tail.
    #[inline]
    pub(super) fn push(&mut self, packet: Packet<B>) {
        self.bytes += u64::from(packet.bytes);
        let number = self.entries.len();
        self.entries.push(Entry { packet, next: NONE, previous: self.tail });
        let previous = core::mem::replace(&mut self.tail, number);
        *self.link_to_next(previous) = number;
    }

    /// Takes the packet at the head.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Packet<B>> {
        (self.head != NONE).then(|| self.remove(self.head))
    }

    /// Takes the packet with this number.
    #[inline]
    pub(super) fn remove(&mut self, number: usize) -> Packet<B> {
        let Entry { next, previous, .. } = self.entries[number];
        *self.link_to_next(previous) = next;
        *self.link_to_previous(next) = previous;
        let removed = self.entries.swap_remove(number).packet;
        if let Some(&Entry { next, previous, .. }) = self.entries.get(number) {
            *self.link_to_next(previous) = number;
            *self.link_to_previous(next) = number;
        }
        self.bytes -= u64::from(removed.bytes);
        removed
    }

    /// Where the follower of `previous` is noted.
    #[inline]
    fn link_to_next(&mut self, previous: usize) -> &mut usize {
        if previous == NONE { &mut self.head } else { &mut self.entries[previous].next }
    }

    /// Where the predecessor of `next` is noted.
    #[inline]
    fn link_to_previous(&mut self, next: usize) -> &mut usize {
        if next == NONE { &mut self.tail } else { &mut self.entries[next].previous }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::packet;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_store_is_a_list_that_loses_packets(steps in prop::collection::vec((0u8..4, 0usize..1000), 1..300)) {
            let (mut store, mut list) = (Store::default(), Vec::new());
            for (number, (step, at)) in (0u32..).zip(steps) {
                match step {
                    0 | 1 => {
                        store.push(packet(40 + number, number));
                        list.push(number);
                    }
                    2 => {
                        let first = (!list.is_empty()).then(|| list.remove(0));
                        prop_assert_eq!(store.pop().map(|packet| packet.body), first);
                    }
                    _ if !list.is_empty() => {
                        let drawn = at % store.packets();
                        let expected = store.get(drawn).body;
                        prop_assert_eq!(store.remove(drawn).body, expected);
                        let place = list.iter().position(|&body| body == expected);
                        list.remove(place.expect("every number is a packet"));
                    }
                    _ => (),
                }
                prop_assert_eq!(store.packets(), list.len());
                prop_assert_eq!(store.bytes(), list.iter().map(|&number| u64::from(40 + number)).sum::<u64>());
            }
            prop_assert_eq!(std::iter::from_fn(|| store.pop()).map(|packet| packet.body).collect::<Vec<_>>(), list);
        }
    }
}
