//! Which bucket has the largest backlog.

/// Not in the heap.
const NONE: u32 = u32::MAX;

/// A heap over buckets that is put in order only as far as it is asked.
///
/// What it knows of a bucket is an upper bound of its backlog: growth is reported, shrinking is found out when the
/// bucket comes to the top. Each such discovery was paid for by packets that left, so a report or a question costs
/// O(log n) amortised, and a queue that never overflows pays next to nothing.
#[derive(Debug, Default)]
pub(crate) struct Longest {
    /// Buckets; the one with the largest bound first.
    heap: Vec<u32>,
    /// By bucket: its place in the heap and its bound.
    places: Vec<Place>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    at: u32,
    bound: u64,
}

impl Longest {
    /// `bucket` has grown to `backlog`.
    #[inline]
    pub(crate) fn grew(&mut self, bucket: u32, backlog: u64) {
        if bucket as usize >= self.places.len() {
            self.places.resize(bucket as usize + 1, Place { at: NONE, bound: 0 });
        }
        let place = &mut self.places[bucket as usize];
        if backlog > place.bound {
            place.bound = backlog;
            if place.at == NONE {
                place.at = self.heap.len() as u32;
                self.heap.push(bucket);
            }
            let at = place.at as usize;
            self.rise(at);
        }
    }

    /// The bucket with the largest backlog as `backlog` tells it; of equals the one with the lowest number, as a scan
    /// would find it. `None` where all are empty.
    pub(crate) fn find(&mut self, backlog: impl Fn(u32) -> u64) -> Option<u32> {
        loop {
            let &top = self.heap.first()?;
            let (bound, is) = (self.places[top as usize].bound, backlog(top));
            debug_assert!(is <= bound, "growth was not reported");
            if is == bound {
                return Some(top);
            }
            self.places[top as usize].bound = is;
            if is == 0 {
                self.heap.swap_remove(0);
                self.places[top as usize].at = NONE;
                if let Some(&moved) = self.heap.first() {
                    self.places[moved as usize].at = 0;
                }
            }
            self.sink();
        }
    }

    /// Whether the bucket at `a` goes above the one at `b`.
    #[inline]
    fn above(&self, a: usize, b: usize) -> bool {
        let (a, b) = (self.heap[a], self.heap[b]);
        let (bound_a, bound_b) = (self.places[a as usize].bound, self.places[b as usize].bound);
        bound_a > bound_b || (bound_a == bound_b && a < b)
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.places[self.heap[a] as usize].at = a as u32;
        self.places[self.heap[b] as usize].at = b as u32;
    }

    #[inline]
    fn rise(&mut self, mut at: usize) {
        while at > 0 && self.above(at, (at - 1) / 2) {
            self.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn sink(&mut self) {
        let mut at = 0;
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            if left >= self.heap.len() {
                return;
            }
            let child = if right < self.heap.len() && self.above(right, left) { right } else { left };
            if !self.above(child, at) {
                return;
            }
            self.swap(child, at);
            at = child;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;

    proptest! {
        #[test]
        fn finds_what_a_scan_finds(steps in prop::collection::vec((0u32..30, 0u64..20, any::<bool>()), 1..600)) {
            let mut longest = Longest::default();
            let mut backlogs = [0u64; 30];
            for (bucket, amount, ask) in steps {
                let backlog = &mut backlogs[bucket as usize];
                if amount < 8 {
                    *backlog = backlog.saturating_sub(amount * 3);
                } else {
                    *backlog += amount;
                    longest.grew(bucket, *backlog);
                }
                if ask {
                    let most = *backlogs.iter().max().unwrap();
                    let scan = (0u32..).zip(backlogs).find(|(_, backlog)| *backlog == most && most > 0);
                    prop_assert_eq!(longest.find(|bucket| backlogs[bucket as usize]), scan.map(|(bucket, _)| bucket));
                }
            }
        }
    }

    /// However many buckets have shrunk unseen: looking at them is paid for by the packets that left them.
    #[test]
    fn questions_cost_no_more_than_what_left() {
        let buckets = 10_000u32;
        let mut longest = Longest::default();
        let mut backlogs: Vec<u64> = (0..buckets).map(|bucket| 10 + u64::from(bucket % 7)).collect();
        (0..buckets).for_each(|bucket| longest.grew(bucket, backlogs[bucket as usize]));
        let (looks, mut left) = (Cell::new(0u64), 0);
        for round in 0..20_000 {
            let asked = longest.find(|bucket| {
                looks.set(looks.get() + 1);
                backlogs[bucket as usize]
            });
            backlogs[asked.unwrap() as usize] -= 1;
            backlogs[(round * 7919) % buckets as usize] -= u64::from(backlogs[(round * 7919) % buckets as usize] > 0);
            left += 2;
        }
        assert!(looks.get() <= 20_000 + left, "{} looks", looks.get());
    }
}
