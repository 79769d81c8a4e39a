//! Who is in turn: circles of buckets, one of which is at the head.

/// A circle of buckets that can be joined at the end and left anywhere, all in constant time.
///
/// A circle keeps no more than its head. The neighbours stand in [`Links`], which circles share that have no member in
/// common: new and old buckets, or sparse, bulk and decaying ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Circle {
    /// Anything where there are no members.
    head: u32,
    members: u32,
}

/// By bucket, its neighbours in the circle that it is in; anything for those that are in none.
#[derive(Debug, Default)]
pub(crate) struct Links(Vec<Link>);

#[derive(Clone, Copy, Debug, Default)]
struct Link {
    next: u32,
    previous: u32,
}

impl Circle {
    /// Who is next.
    #[inline]
    pub(crate) fn head(self) -> Option<usize> {
        (self.members > 0).then_some(self.head as usize)
    }

    /// How many are in the circle.
    #[inline]
    pub(crate) fn members(self) -> usize {
        self.members as usize
    }

    /// `bucket`, which is in no circle, becomes the last of this one.
    #[inline]
    pub(crate) fn join(&mut self, bucket: usize, Links(links): &mut Links) {
        if bucket >= links.len() {
            links.resize(bucket + 1, Link::default());
        }
        let joining = bucket as u32;
        let (head, last) = self.head().map_or((joining, joining), |head| (head as u32, links[head].previous));
        links[last as usize].next = joining;
        links[head as usize].previous = joining;
        links[bucket] = Link { next: head, previous: last };
        self.head = head;
        self.members += 1;
    }

    /// `bucket`, which is a member, leaves; if it was next, its follower is.
    #[inline]
    pub(crate) fn leave(&mut self, bucket: usize, Links(links): &mut Links) {
        let Link { next, previous } = links[bucket];
        links[previous as usize].next = next;
        links[next as usize].previous = previous;
        self.members -= 1;
        if self.head == bucket as u32 {
            self.head = next;
        }
    }

    /// The turn passes on: who was next is the last of the circle.
    #[inline]
    pub(crate) fn advance(&mut self, Links(links): &Links) {
        if self.members > 0 {
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
        fn circles_are_lists_that_turn(steps in prop::collection::vec((0u8..3, 0usize..2, 0usize..8), 1..300)) {
            let mut links = Links::default();
            let (mut circles, mut lists) = ([Circle::default(); 2], [VecDeque::new(), VecDeque::new()]);
            for (step, which, bucket) in steps {
                let free = !lists.iter().any(|list| list.contains(&bucket));
                let (circle, list) = (&mut circles[which], &mut lists[which]);
                match step {
                    0 if free => {
                        circle.join(bucket, &mut links);
                        list.push_back(bucket);
                    }
                    1 if list.contains(&bucket) => {
                        circle.leave(bucket, &mut links);
                        list.retain(|&member| member != bucket);
                    }
                    2 => {
                        circle.advance(&links);
                        if !list.is_empty() {
                            list.rotate_left(1);
                        }
                    }
                    _ => (),
                }
                for (circle, list) in circles.iter().zip(&lists) {
                    prop_assert_eq!(circle.head(), list.front().copied());
                    prop_assert_eq!(circle.members(), list.len());
                }
            }
        }
    }
}
