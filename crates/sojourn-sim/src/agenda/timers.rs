//! Timers of flows, disciplines and network cards.

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

/// Seats, or groups below, of a group of the tree.
const WAYS: usize = 4;

/// The pending timers, which go off in the order of their times, at the same instant in the order in which they were set.
///
/// A paced flow sets one for each packet, so each of the first owners has a seat in a tournament tree for its earliest timer.
/// Its other timers wait in a heap, as all those of further owners do; the first of the heap has a seat, too.
#[derive(Debug)]
pub(super) struct Timers {
    /// A complete tree with the root first: in a group lie four seats, or the earliest timers of the four groups below.
    groups: Box<[[Timer; WAYS]]>,
    /// Of the first group with seats.
    first_seats: usize,
    first: Timer,
    heap: BinaryHeap<Reverse<Timer>>,
    set: u64,
}

impl Timers {
    /// Owners have numbers below this.
    pub(super) const MAX_OWNERS: u32 = 1 << Timer::OWNER_BITS;
    /// Most seats: with more, the way through the tree is as long as that through the heap.
    const MOST_SEATS: usize = 1 << 12;

    /// None yet, for so many owners.
    pub(super) fn new(owners: usize) -> Timers {
        let seats = (owners + 1).min(Timers::MOST_SEATS);
        let (mut first_seats, mut lowest) = (0, 1);
        while WAYS * lowest < seats {
            first_seats += lowest;
            lowest *= WAYS;
        }
        let groups = vec![[Timer::NONE; WAYS]; first_seats + lowest].into();
        Timers { groups, first_seats, first: Timer::NONE, heap: BinaryHeap::new(), set: 0 }
    }

    /// Group and place of the seat of `owner`, if it has one.
    #[cfg_attr(not(target_family = "wasm"), inline)]
    fn seat(&self, owner: u32) -> Option<(usize, usize)> {
        let seat = owner as usize + 1;
        let group = self.first_seats + seat / WAYS;
        (group < self.groups.len()).then_some((group, seat % WAYS))
    }

    /// When the next one goes off; never, where there is none.
    #[inline]
    pub(super) fn next_time(&self) -> Time {
        self.first.time()
    }

    /// Takes the next one, which there must be; its owner.
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub(super) fn take(&mut self) -> u32 {
        let owner = self.first.owner();
        match self.seat(owner) {
            Some((group, place)) if self.groups[group][place] == self.first => self.put((group, place), Timer::NONE),
            _ => self.leave_heap(),
        }
        owner
    }

    /// Adds one of `owner`.
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub(super) fn add(&mut self, owner: u32, time: Time) {
        let timer = Timer::new(time, self.set, owner);
        self.set += 1;
        let Some((group, place)) = self.seat(owner) else { return self.enter_heap(timer) };
        let before = self.groups[group][place];
        if !before.is_none() {
            self.enter_heap(timer.max(before));
        }
        self.put_earlier((group, place), timer);
    }

    #[inline(never)]
    fn enter_heap(&mut self, timer: Timer) {
        self.heap.push(Reverse(timer));
        self.put_earlier((self.first_seats, 0), timer);
    }

    #[inline(never)]
    fn leave_heap(&mut self) {
        self.heap.pop();
        self.put((self.first_seats, 0), self.heap.peek().map_or(Timer::NONE, |Reverse(first)| *first));
    }

    /// Gives a seat its timer.
    #[cfg_attr(not(target_family = "wasm"), inline)]
    fn put(&mut self, (mut group, mut place): (usize, usize), timer: Timer) {
        let mut earliest = timer;
        loop {
            self.groups[group][place] = earliest;
            let [one, two, three, four] = self.groups[group];
            earliest = one.min(two).min(three.min(four));
            if group == 0 {
                break;
            }
            (group, place) = above(group);
        }
        self.first = earliest;
    }

    /// Gives a seat a timer, if that is earlier than what the seat has: then no other seat need be looked at.
    #[cfg_attr(not(target_family = "wasm"), inline)]
    fn put_earlier(&mut self, (mut group, mut place): (usize, usize), timer: Timer) {
        loop {
            let node = &mut self.groups[group][place];
            *node = timer.min(*node);
            if group == 0 {
                break;
            }
            (group, place) = above(group);
        }
        self.first = timer.min(self.first);
    }
}

/// Group and place of the earliest timer of `group` in the one above.
#[cfg_attr(not(target_family = "wasm"), inline)]
fn above(group: usize) -> (usize, usize) {
    ((group - 1) / WAYS, (group - 1) % WAYS)
}
