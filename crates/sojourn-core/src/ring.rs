//! A queue whose entries are found by their numbers.

use crate::memory::make_room;
use alloc::boxed::Box;
use core::ops::{Index, IndexMut};

/// A first-in first-out queue that numbers what it holds. Each entry lies at the place of its number among a power of two of
/// places, so it is found without asking where the ring begins: less work than a queue that may begin anywhere, at both ends of
/// which every packet and every segment is. Numbers wrap around.
#[derive(Debug)]
pub struct Ring<T> {
    /// None before the first entry.
    places: Box<[T]>,
    first: u32,
    next: u32,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Ring { places: Box::default(), first: 0, next: 0 }
    }
}

impl<T> Ring<T> {
    /// The number of the first entry; where there is none, that of the next.
    #[inline]
    pub fn first(&self) -> u32 {
        self.first
    }

    /// The number of the next entry.
    #[inline]
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Entries.
    #[inline]
    pub fn len(&self) -> u32 {
        self.next.wrapping_sub(self.first)
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == self.next
    }

    /// The first entry, where there is one.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.is_empty() { None } else { Some(&self.places[self.place(self.first)]) }
    }

    /// Removes the first entry; there must be one.
    #[inline]
    pub fn remove_first(&mut self) {
        debug_assert!(!self.is_empty());
        self.first = self.first.wrapping_add(1);
    }

    /// Removes the entries below `number`, which lies in the ring or just beyond.
    #[inline]
    pub fn remove_below(&mut self, number: u32) {
        debug_assert!(number.wrapping_sub(self.first) <= self.len());
        self.first = number;
    }

    /// All entries in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).map(|index| &self[self.first.wrapping_add(index)])
    }

    #[inline]
    fn place(&self, number: u32) -> usize {
        number as usize & self.places.len().wrapping_sub(1)
    }
}

impl<T: Copy> Ring<T> {
    /// Places of the smallest ring.
    const FEW: usize = 4;

    /// Adds an entry, read where it lies once there is room; where it now lies.
    #[inline]
    pub fn push(&mut self, entry: &T) -> &mut T {
        if self.len() as usize == self.places.len() {
            self.grow(*entry);
        }
        let place = self.place(self.next);
        self.next = self.next.wrapping_add(1);
        let place = &mut self.places[place];
        *place = *entry;
        place
    }

    /// Twice the places, or the first ones, which all hold `any`. Among twice as many an entry lies where it lay, or as far behind
    /// as there were places: with all of them copied behind themselves it is there, and a large ring stays where it is in memory.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, any: T) {
        if self.places.is_empty() {
            self.places = alloc::vec![any; Self::FEW].into();
            return;
        }
        let mut places = core::mem::take(&mut self.places).into_vec();
        let more = places.len();
        make_room(&mut places, more);
        places.extend_from_within(..);
        self.places = places.into();
    }
}

impl<T> Index<u32> for Ring<T> {
    type Output = T;

    /// The entry with this number, which the ring must hold.
    #[inline]
    fn index(&self, number: u32) -> &T {
        debug_assert!(number.wrapping_sub(self.first) < self.len(), "{number} is not in the ring");
        &self.places[self.place(number)]
    }
}

impl<T> IndexMut<u32> for Ring<T> {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut T {
        debug_assert!(number.wrapping_sub(self.first) < self.len(), "{number} is not in the ring");
        let place = self.place(number);
        &mut self.places[place]
    }
}

#[cfg(test)]
mod tests {
    use super::Ring;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// It is the library's queue with numbers, also where these begin anew.
        #[test]
        fn entries_keep_order_and_numbers(steps in prop::collection::vec(0u32..5, 0..300), start: u32) {
            let mut ring = Ring { first: start, next: start, ..Ring::default() };
            let mut model = VecDeque::new();
            for step in steps {
                if step > 1 {
                    let number = ring.next();
                    ring.push(&(number, step));
                    model.push_back((number, step));
                } else if model.pop_front().is_some() {
                    ring.remove_first();
                }
                prop_assert_eq!(ring.front(), model.front());
                prop_assert_eq!(ring.len() as usize, model.len());
                prop_assert_eq!(ring.is_empty(), model.is_empty());
                prop_assert!(ring.iter().eq(model.iter()));
                for &(number, step) in &model {
                    prop_assert_eq!(ring[number], (number, step));
                    ring[number].1 = step;
                }
            }
        }
    }
}
