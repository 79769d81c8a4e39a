//! The list of active buckets of round robin schedulers (Shreedhar and Varghese's ActiveList), linked through the buckets.

use alloc::vec::Vec;

/// A circular list of buckets: added at the end, removed anywhere, all in constant time.
///
/// A list stores its head only. The neighbours stand in [`Links`], which lists share that never hold the same bucket: those
/// of new and old flows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ActiveList {
    /// Anything while the list is empty.
    head: u32,
    len: u32,
}

/// By bucket, its neighbours in the list that it is in; anything for those that are in none.
#[derive(Debug, Default)]
pub(crate) struct Links(Vec<Link>);

#[derive(Clone, Copy, Debug, Default)]
struct Link {
    next: u32,
    previous: u32,
}

impl ActiveList {
    /// The bucket that is served next.
    #[inline]
    pub(crate) fn head(self) -> Option<usize> {
        (self.len > 0).then_some(self.head as usize)
    }

    /// How many buckets are in the list.
    #[inline]
    pub(crate) fn len(self) -> usize {
        self.len as usize
    }

    /// Adds `bucket`, which is in no list, at the end.
    #[inline]
    pub(crate) fn push_back(&mut self, bucket: usize, Links(links): &mut Links) {
        if bucket >= links.len() {
            links.resize(bucket + 1, Link::default());
        }
        let joining = bucket as u32;
        let (head, last) = self.head().map_or((joining, joining), |head| (head as u32, links[head].previous));
        links[last as usize].next = joining;
        links[head as usize].previous = joining;
        links[bucket] = Link { next: head, previous: last };
        self.head = head;
        self.len += 1;
    }

    /// Removes `bucket`, which is in the list; if it was the head, the next bucket becomes it.
    #[inline]
    pub(crate) fn remove(&mut self, bucket: usize, Links(links): &mut Links) {
        let Link { next, previous } = links[bucket];
        links[previous as usize].next = next;
        links[next as usize].previous = previous;
        self.len -= 1;
        if self.head == bucket as u32 {
            self.head = next;
        }
    }

    /// Moves the head to the end.
    #[inline]
    pub(crate) fn rotate(&mut self, Links(links): &Links) {
        if self.len > 0 {
            self.head = links[self.head as usize].next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn active_lists_are_queues_that_rotate(steps in prop::collection::vec((0u8..3, 0usize..2, 0usize..8), 1..300)) {
            let mut links = Links::default();
            let (mut actives, mut lists) = ([ActiveList::default(); 2], [VecDeque::new(), VecDeque::new()]);
            for (step, which, bucket) in steps {
                let free = !lists.iter().any(|list| list.contains(&bucket));
                let (active, list) = (&mut actives[which], &mut lists[which]);
                match step {
                    0 if free => {
                        active.push_back(bucket, &mut links);
                        list.push_back(bucket);
                    }
                    1 if list.contains(&bucket) => {
                        active.remove(bucket, &mut links);
                        list.retain(|&member| member != bucket);
                    }
                    2 => {
                        active.rotate(&links);
                        if !list.is_empty() {
                            list.rotate_left(1);
                        }
                    }
                    _ => (),
                }
                for (active, list) in actives.iter().zip(&lists) {
                    prop_assert_eq!(active.head(), list.front().copied());
                    prop_assert_eq!(active.len(), list.len());
                }
            }
        }
    }
}
