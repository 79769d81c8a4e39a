//! Timers of flows, disciplines and network cards.

use super::tournament::Tournament;
use sojourn_core::Time;

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

/// The pending timers, which go off in the order of their times, at the same instant in the order in which they were set. Each owner
/// has one at most.
#[derive(Debug)]
pub(super) struct Timers {
    seats: Tournament<Timer>,
    /// When the first of all goes off; asked for with each event.
    next_time: Time,
    set: u64,
}

impl Timers {
    /// Owners have numbers below this.
    pub(super) const MAX_OWNERS: u32 = 1 << Timer::OWNER_BITS;

    /// None yet, for so many owners.
    pub(super) fn new(owners: usize) -> Timers {
        Timers { seats: Tournament::new(owners, Timer::NONE), next_time: Time::NEVER, set: 0 }
    }

    /// When the next one goes off; never, where there is none.
    #[inline]
    pub(super) fn next_time(&self) -> Time {
        self.next_time
    }

    /// Takes the next one, which there must be; its owner.
    #[inline]
    pub(super) fn take(&mut self) -> u32 {
        let owner = self.seats.first().owner();
        self.seats.put(owner as usize, Timer::NONE);
        self.next_time = self.seats.first().time();
        owner
    }

    /// Sets that of `owner`, in place of the one that it has.
    #[inline]
    pub(super) fn set(&mut self, owner: u32, time: Time) {
        let (seat, timer) = (owner as usize, Timer::new(time, self.set, owner));
        self.set += 1;
        if timer < self.seats.get(seat) {
            self.seats.put_earlier(seat, timer);
        } else {
            self.seats.put(seat, timer);
        }
        self.next_time = self.seats.first().time();
    }
}
