//! Timers of flows, disciplines and network cards.

use super::tournament::Tournament;
use sojourn_core::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A timer as one number, for a processor would guess wrong which part of two timers decides: its time, below it how many
/// were set before, below that its owner.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Timer(u128);

impl Timer {
    const OWNER_BITS: u32 = 24;
    const ORDER_BITS: u32 = 44;
    /// The last instant that it can say; 36 years.
    const LAST: u64 = u64::MAX >> 4;
    /// Later than every timer.
    const NONE: Timer = Timer(u128::MAX);

    #[inline]
    fn new(time: Time, order: u64, owner: u32) -> Timer {
        debug_assert!(owner < Timers::MAX_OWNERS && order < 1 << Timer::ORDER_BITS);
        let rank = u128::from(time.as_nanos().min(Timer::LAST)) << Timer::ORDER_BITS | u128::from(order);
        Timer(rank << Timer::OWNER_BITS | u128::from(owner))
    }

    /// When it goes off; never, where it is none.
    #[inline]
    fn time(self) -> Time {
        let nanos = (self.0 >> (Timer::ORDER_BITS + Timer::OWNER_BITS)) as u64;
        if self.is_none() { Time::NEVER } else { Time::from_nanos(nanos) }
    }

    /// By half of it: a processor waits where it reads in one piece what it has just written in two.
    #[inline]
    fn is_none(self) -> bool {
        (self.0 >> 64) as u64 == u64::MAX
    }

    #[inline]
    fn owner(self) -> u32 {
        self.0 as u32 & (Timers::MAX_OWNERS - 1)
    }
}

/// The pending timers, which go off in the order of their times, at the same instant in the order in which they were set.
///
/// A paced flow sets one for each packet, so each of the first owners has a seat in a tournament for its earliest timer. Its other
/// timers wait in a heap, as all timers of further owners do. The first of the heap has a seat, too.
#[derive(Debug)]
pub(super) struct Timers {
    seats: Tournament<Timer>,
    /// When the first of all goes off; asked for with each event.
    next_time: Time,
    heap: BinaryHeap<Reverse<Timer>>,
    set: u64,
}

/// The seat of the heap's first timer.
const OF_HEAP: usize = 0;

impl Timers {
    /// Owners have numbers below this.
    pub(super) const MAX_OWNERS: u32 = 1 << Timer::OWNER_BITS;
    /// Most seats: with more, the way through the tree is as long as that through the heap.
    const MOST_SEATS: usize = 1 << 12;

    /// None yet, for so many owners.
    pub(super) fn new(owners: usize) -> Timers {
        let seats = (owners + 1).min(Timers::MOST_SEATS);
        Timers { seats: Tournament::new(seats, Timer::NONE), next_time: Time::NEVER, heap: BinaryHeap::new(), set: 0 }
    }

    /// When the next one goes off; never, where there is none.
    #[inline]
    pub(super) fn next_time(&self) -> Time {
        self.next_time
    }

    /// Takes the next one, which there must be; its owner.
    #[inline]
    pub(super) fn take(&mut self) -> u32 {
        let first = self.seats.first();
        match seat(first.owner()) {
            own if self.seats.get(own) == Some(first) => self.seats.put(own, Timer::NONE),
            _ => self.leave_heap(),
        }
        self.next_time = self.seats.first().time();
        first.owner()
    }

    /// Adds one of `owner`.
    #[inline]
    pub(super) fn add(&mut self, owner: u32, time: Time) {
        let timer = Timer::new(time, self.set, owner);
        self.set += 1;
        self.next_time = self.next_time.min(timer.time());
        let Some(before) = self.seats.get(seat(owner)) else { return self.enter_heap(timer) };
        if !before.is_none() {
            self.enter_heap(timer.max(before));
        }
        self.seats.put_earlier(seat(owner), timer);
    }

    #[inline(never)]
    fn enter_heap(&mut self, timer: Timer) {
        self.heap.push(Reverse(timer));
        self.seats.put_earlier(OF_HEAP, timer);
    }

    #[inline(never)]
    fn leave_heap(&mut self) {
        self.heap.pop();
        self.seats.put(OF_HEAP, self.heap.peek().map_or(Timer::NONE, |Reverse(first)| *first));
    }
}

/// The seat of `owner`, if there is such a seat.
#[inline]
fn seat(owner: u32) -> usize {
    owner as usize + 1
}
