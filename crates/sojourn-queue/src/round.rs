//! The round of a round robin: a circle of buckets, one of which is next.

/// A circle of indices that can be joined at the end and left anywhere, all in constant time.
#[derive(Debug, Default)]
pub(crate) struct Round {
    links: Vec<Link>,
    head: Option<usize>,
    members: usize,
}

/// The neighbours of a member; anything for others.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    next: usize,
    previous: usize,
}

impl Round {
    /// Who is next.
    #[inline]
    pub(crate) fn head(&self) -> Option<usize> {
        self.head
    }

    /// How many are in the round.
    #[inline]
    pub(crate) fn members(&self) -> usize {
        self.members
    }

    /// `index`, which is not a member, becomes the last of the round.
    #[inline]
    pub(crate) fn join(&mut self, index: usize) {
        if index >= self.links.len() {
            self.links.resize(index + 1, Link::default());
        }
        self.members += 1;
        let Some(head) = self.head else {
            self.links[index] = Link { next: index, previous: index };
            self.head = Some(index);
            return;
        };
        let last = self.links[head].previous;
        self.links[index] = Link { next: head, previous: last };
        self.links[last].next = index;
        self.links[head].previous = index;
    }

    /// `index`, which is a member, leaves; if it was next, its follower is.
    #[inline]
    pub(crate) fn leave(&mut self, index: usize) {
        let Link { next, previous } = self.links[index];
        self.links[previous].next = next;
        self.links[next].previous = previous;
        self.members -= 1;
        if self.members == 0 {
            self.head = None;
        } else if self.head == Some(index) {
            self.head = Some(next);
        }
    }

    /// The turn passes on: who was next is the last of the round.
    #[inline]
    pub(crate) fn advance(&mut self) {
        self.head = self.head.map(|head| self.links[head].next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn a_round_is_a_list_that_turns(steps in prop::collection::vec((0u8..3, 0usize..8), 1..200)) {
            let (mut round, mut list) = (Round::default(), VecDeque::new());
            for (step, index) in steps {
                match step {
                    0 if !list.contains(&index) => {
                        round.join(index);
                        list.push_back(index);
                    }
                    1 if list.contains(&index) => {
                        round.leave(index);
                        list.retain(|&member| member != index);
                    }
                    2 if !list.is_empty() => {
                        round.advance();
                        list.rotate_left(1);
                    }
                    _ => (),
                }
                prop_assert_eq!(round.head(), list.front().copied());
                prop_assert_eq!(round.members(), list.len());
            }
        }
    }
}
