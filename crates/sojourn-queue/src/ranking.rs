//! Who is first among many whose keys change: a binary heap that knows where each index is.

/// Indices with keys, the greatest key on top; changes cost the logarithm of the number of members.
///
/// Keys must differ, so that who is first is never an accident of the heap.
#[derive(Debug)]
pub(crate) struct Ranking<K> {
    heap: Vec<(K, u32)>,
    /// Where in `heap` each index is; `ABSENT` if nowhere.
    places: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;

impl<K> Default for Ranking<K> {
    fn default() -> Self {
        Ranking { heap: Vec::new(), places: Vec::new() }
    }
}

impl<K: Ord + Copy> Ranking<K> {
    /// The index with the greatest key, with it.
    #[inline]
    pub(crate) fn first(&self) -> Option<(usize, K)> {
        self.heap.first().map(|&(key, index)| (index as usize, key))
    }

    /// Gives `index` the key `key`, as a new member or in place of its old one.
    #[inline]
    pub(crate) fn set(&mut self, index: usize, key: K) {
        if index >= self.places.len() {
            self.places.resize(index + 1, ABSENT);
        }
        let mut place = self.places[index] as usize;
        if self.places[index] == ABSENT {
            place = self.heap.len();
            self.heap.push((key, index as u32));
            self.places[index] = place as u32;
        } else {
            self.heap[place].0 = key;
        }
        self.settle(place);
    }

    /// Takes out `index`, if it is a member.
    #[inline]
    pub(crate) fn remove(&mut self, index: usize) {
        let Some(&place) = self.places.get(index).filter(|&&place| place != ABSENT) else { return };
        self.places[index] = ABSENT;
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

/// A ranking that is seldom asked, as who pays for an overflow: changes are noted, and ranked when it is.
///
/// However often an index changes in between, it is ranked once. Nothing is done in a buffer that never overflows.
#[derive(Debug)]
pub(crate) struct LateRanking<K> {
    ranking: Ranking<K>,
    changed: Vec<u32>,
    is_changed: Vec<bool>,
}

impl<K> Default for LateRanking<K> {
    fn default() -> Self {
        LateRanking { ranking: Ranking::default(), changed: Vec::new(), is_changed: Vec::new() }
    }
}

impl<K: Ord + Copy> LateRanking<K> {
    /// The key of `index` changed, or it is a member no more.
    #[inline]
    pub(crate) fn note(&mut self, index: usize) {
        if index >= self.is_changed.len() {
            self.is_changed.resize(index + 1, false);
        }
        if !self.is_changed[index] {
            self.is_changed[index] = true;
            self.changed.push(index as u32);
        }
    }

    /// The index with the greatest key; `key` gives the keys of members.
    pub(crate) fn first(&mut self, key: impl Fn(usize) -> Option<K>) -> Option<usize> {
        for index in self.changed.drain(..).map(|index| index as usize) {
            self.is_changed[index] = false;
            match key(index) {
                Some(key) => self.ranking.set(index, key),
                None => self.ranking.remove(index),
            }
        }
        self.ranking.first().map(|(index, _)| index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn the_first_is_the_greatest(steps in prop::collection::vec((0usize..20, prop::option::of(0u32..50)), 1..300)) {
            let (mut ranking, mut keys) = (Ranking::default(), BTreeMap::new());
            for (index, key) in steps {
                match key {
                    Some(key) => {
                        ranking.set(index, (key, index));
                        keys.insert(index, key);
                    }
                    None => {
                        ranking.remove(index);
                        keys.remove(&index);
                    }
                }
                let expected = keys.iter().map(|(&index, &key)| (key, index)).max();
                prop_assert_eq!(ranking.first().map(|(_, key)| key), expected);
                prop_assert_eq!(ranking.first().map(|(index, _)| index), expected.map(|(_, index)| index));
            }
        }

        #[test]
        fn a_late_ranking_is_never_wrong(steps in prop::collection::vec((0usize..20, prop::option::of(0u32..50), any::<bool>()), 1..300)) {
            let (mut ranking, mut keys) = (LateRanking::default(), BTreeMap::new());
            for (index, key, ask) in steps {
                match key {
                    Some(key) => keys.insert(index, key),
                    None => keys.remove(&index),
                };
                ranking.note(index);
                if ask {
                    let expected = keys.iter().map(|(&index, &key)| (key, index)).max();
                    let found = ranking.first(|index| Some((*keys.get(&index)?, index)));
                    prop_assert_eq!(found, expected.map(|(_, index)| index));
                }
            }
        }
    }
}
