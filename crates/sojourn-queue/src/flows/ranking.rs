//! The bucket with the greatest key: a binary heap whose keys may change, with an index of where each bucket is.

use super::Subset;
use alloc::vec::Vec;

/// Buckets with keys, the greatest key on top; changes cost the logarithm of the number of members.
///
/// Keys must differ, so that who is first is never an accident of the heap.
#[derive(Debug)]
pub(crate) struct Ranking<K> {
    heap: Vec<(K, u32)>,
    /// Where in `heap` each bucket is; `ABSENT` if nowhere.
    places: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;

impl<K> Default for Ranking<K> {
    fn default() -> Self {
        Ranking { heap: Vec::new(), places: Vec::new() }
    }
}

impl<K: Ord + Copy> Ranking<K> {
    /// The bucket with the greatest key, with it.
    #[inline]
    pub(crate) fn first(&self) -> Option<(usize, K)> {
        self.heap.first().map(|&(key, bucket)| (bucket as usize, key))
    }

    /// Gives `bucket` the key `key`, as a new member or in place of its old one.
    #[inline]
    pub(crate) fn set(&mut self, bucket: usize, key: K) {
        if bucket >= self.places.len() {
            self.places.resize(bucket + 1, ABSENT);
        }
        let mut place = self.places[bucket] as usize;
        if self.places[bucket] == ABSENT {
            place = self.heap.len();
            self.heap.push((key, bucket as u32));
            self.places[bucket] = place as u32;
        } else {
            self.heap[place].0 = key;
        }
        self.settle(place);
    }

    /// Takes out `bucket`, if it is a member.
    #[inline]
    pub(crate) fn remove(&mut self, bucket: usize) {
        let Some(&place) = self.places.get(bucket).filter(|&&place| place != ABSENT) else { return };
        self.places[bucket] = ABSENT;
        self.heap.swap_remove(place as usize);
        if let Some(&(_, moved)) = self.heap.get(place as usize) {
            self.places[moved as usize] = place;
            self.settle(place as usize);
        }
    }

    /// Moves the entry at `place` up or down to where it belongs.
    #[inline]
    fn settle(&mut self, mut place: usize) {
        while place > 0 && self.heap[place].0 > self.heap[(place - 1) / 2].0 {
            self.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
        loop {
            let mut child = 2 * place + 1;
            if child >= self.heap.len() {
                return;
            }
            if child + 1 < self.heap.len() && self.heap[child + 1].0 > self.heap[child].0 {
                child += 1;
            }
            if self.heap[child].0 <= self.heap[place].0 {
                return;
            }
            self.swap(place, child);
            place = child;
        }
    }

    #[inline]
    fn swap(&mut self, one: usize, other: usize) {
        self.heap.swap(one, other);
        self.places[self.heap[one].1 as usize] = one as u32;
        self.places[self.heap[other].1 as usize] = other as u32;
    }
}

/// The bucket with the greatest key, computed only when it is needed: for the longest queue at an overflow.
///
/// The heap holds upper bounds of the keys. Growth is noted and ranked at the next search; shrinking is noticed when the
/// bucket reaches the top. A bucket that grows often between two searches is ranked once, and each correction is paid for
/// by the departure that made the key smaller. So a search costs amortised logarithmic time, and a buffer that never
/// overflows costs next to nothing.
#[derive(Debug)]
pub(crate) struct Longest<K> {
    bounds: Ranking<K>,
    grown: Subset,
}

impl<K> Default for Longest<K> {
    fn default() -> Self {
        Longest { bounds: Ranking::default(), grown: Subset::default() }
    }
}

impl<K: Ord + Copy> Longest<K> {
    /// `bucket` has a key that is greater than before, or its first.
    #[inline]
    pub(crate) fn grew(&mut self, bucket: usize) {
        self.grown.insert(bucket);
    }

    /// The bucket with the greatest key; `key` tells it, `None` of empty ones.
    pub(crate) fn find(&mut self, key: impl Fn(usize) -> Option<K>) -> Option<usize> {
        self.grown.retain(|bucket| {
            match key(bucket) {
                Some(key) => self.bounds.set(bucket, key),
                None => self.bounds.remove(bucket),
            }
            false
        });
        loop {
            let (bucket, bound) = self.bounds.first()?;
            match key(bucket) {
                Some(key) if key == bound => return Some(bucket),
                Some(key) => {
                    debug_assert!(key < bound, "growth was not noted");
                    self.bounds.set(bucket, key);
                }
                None => self.bounds.remove(bucket),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn the_first_is_the_greatest(steps in prop::collection::vec((0usize..20, prop::option::of(0u32..50)), 1..300)) {
            let (mut ranking, mut keys) = (Ranking::default(), BTreeMap::new());
            for (bucket, key) in steps {
                match key {
                    Some(key) => {
                        ranking.set(bucket, (key, bucket));
                        keys.insert(bucket, key);
                    }
                    None => {
                        ranking.remove(bucket);
                        keys.remove(&bucket);
                    }
                }
                let expected = keys.iter().map(|(&bucket, &key)| (key, bucket)).max();
                prop_assert_eq!(ranking.first().map(|(_, key)| key), expected);
                prop_assert_eq!(ranking.first().map(|(bucket, _)| bucket), expected.map(|(_, bucket)| bucket));
            }
        }

        #[test]
        fn the_longest_is_what_a_scan_finds(steps in prop::collection::vec((0usize..30, 0u64..20, any::<bool>()), 1..600)) {
            let mut longest = Longest::default();
            let mut backlogs = [0u64; 30];
            for (bucket, amount, ask) in steps {
                if amount < 8 {
                    backlogs[bucket] = backlogs[bucket].saturating_sub(amount * 3);
                } else {
                    backlogs[bucket] += amount;
                    longest.grew(bucket);
                }
                if ask {
                    let scan = (0..30).filter(|&bucket| backlogs[bucket] > 0).max_by_key(|&bucket| (backlogs[bucket], bucket));
                    let found = longest.find(|bucket| (backlogs[bucket] > 0).then_some((backlogs[bucket], bucket)));
                    prop_assert_eq!(found, scan);
                }
            }
        }
    }

    /// However many buckets have shrunk unseen: looking at them is paid for by the packets that left them.
    #[test]
    fn searches_cost_no_more_than_arrivals_and_departures() {
        let buckets = 10_000;
        let mut longest = Longest::default();
        let mut backlogs: Vec<usize> = (0..buckets).map(|bucket| 10 + bucket % 7).collect();
        (0..buckets).for_each(|bucket| longest.grew(bucket));
        let (looks, mut left) = (Cell::new(0), 0);
        for round in 0..20_000 {
            let asked = longest.find(|bucket| {
                looks.set(looks.get() + 1);
                (backlogs[bucket] > 0).then_some((backlogs[bucket], bucket))
            });
            backlogs[asked.unwrap()] -= 1;
            let other = &mut backlogs[(round * 7919) % buckets];
            left += 1 + usize::from(*other > 0);
            *other = other.saturating_sub(1);
        }
        assert!(looks.get() <= buckets + 20_000 + left, "{} looks", looks.get());
    }
}
