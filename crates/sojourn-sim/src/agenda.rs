//! What happens next.
//!
//! The sources of events that are always there (links and delay lines) each have a slot in a tournament
//! tree, so that rescheduling one costs a handful of comparisons and never allocates. Flow timers,
//! which are many and rarely due, wait in a heap that takes part in the tournament as one slot. Events
//! at the same instant are taken in the order of their slots, timers in the order they were set.

use sojourn_core::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The pending events of a run.
#[derive(Debug)]
pub struct Agenda {
    /// The earliest of all.
    first: Event,
    /// Below it a complete tree, the root first: each node has the earliest event of each of its four children, and the last nodes
    /// have those of the slots. Fewer levels than with two children, and no more work in each.
    nodes: Box<[[Event; 4]]>,
    /// The node of the first slots.
    leaves: usize,
    slot_bits: u32,
    /// The instant from which on there is none.
    end: u64,
    timers: BinaryHeap<Reverse<Timer>>,
    timers_set: u64,
    timer_slot: usize,
    /// Whether the first of the timers has gone off, and the next one set may take its place.
    first_is_done: bool,
}

/// Time and slot in one number, so that the earlier of two events is their minimum. The slot takes as
/// many of the low bits as it needs.
type Event = u64;

/// No event, in whatever slot.
const NO_EVENT: Event = Event::MAX;

/// A timer as one number, for a processor would guess wrong which part of two timers decides: its time, below it how many
/// were set before, below that its owner.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Timer(u128);

impl Timer {
    const OWNER_BITS: u32 = 24;
    const ORDER_BITS: u32 = 44;
    /// The last instant that it can say; 36 years.
    const LAST: u64 = u64::MAX >> 4;

    #[inline]
    fn new(time: Time, order: u64, owner: u32) -> Timer {
        debug_assert!(owner < Agenda::MAX_OWNERS && order < 1 << Timer::ORDER_BITS);
        let rank = u128::from(time.as_nanos().min(Timer::LAST)) << Timer::ORDER_BITS | u128::from(order);
        Timer(rank << Timer::OWNER_BITS | u128::from(owner))
    }

    #[inline]
    fn time(self) -> Time {
        Time::from_nanos((self.0 >> (Timer::ORDER_BITS + Timer::OWNER_BITS)) as u64)
    }

    #[inline]
    fn owner(self) -> u32 {
        self.0 as u32 & (Agenda::MAX_OWNERS - 1)
    }
}

impl Agenda {
    /// Whoever has timers is called by a number below this.
    pub const MAX_OWNERS: u32 = 1 << Timer::OWNER_BITS;

    /// An agenda for `slots` sources, none of which has an event.
    pub fn new(slots: usize) -> Agenda {
        let slot_bits = (slots + 1).next_power_of_two().max(2).ilog2();
        let mut leaves = 0;
        let mut level = 1;
        while 4 * level <= slots {
            leaves += level;
            level *= 4;
        }
        Agenda {
            first: NO_EVENT,
            nodes: vec![[NO_EVENT; 4]; leaves + slots / 4 + 1].into(),
            leaves,
            slot_bits,
            end: NO_EVENT >> slot_bits,
            timers: BinaryHeap::new(),
            timers_set: 0,
            timer_slot: slots,
            first_is_done: false,
        }
    }

    /// The last instant that it can tell from "never".
    pub fn horizon(&self) -> Time {
        Time::from_nanos(self.end - 1)
    }

    /// The next event: its time, which is later than the agenda's horizon where there is
    /// none, and its slot, one past the sources' for a timer. It stays due until it is [set](Agenda::set)
    /// again, a timer until it is [begun](Agenda::begin_timer) and [ended](Agenda::end_timer).
    #[inline]
    pub fn next(&self) -> (Time, usize) {
        let event = self.first;
        (Time::from_nanos(event >> self.slot_bits), event as usize & ((1 << self.slot_bits) - 1))
    }

    /// The timer that is due next goes off; its owner. Until [`end_timer`](Agenda::end_timer) the time of the next event
    /// is not known.
    #[inline]
    pub fn begin_timer(&mut self) -> u32 {
        self.first_is_done = true;
        self.timers.peek().expect("the timers' slot is due").0.owner()
    }

    /// All that follows from the timer has been done.
    #[inline]
    pub fn end_timer(&mut self) {
        if std::mem::take(&mut self.first_is_done) {
            self.timers.pop();
        }
        self.set(self.timer_slot, self.timers.peek().map_or(Time::NEVER, |Reverse(timer)| timer.time()));
    }

    /// Gives the source in `slot` its next event; [`Time::NEVER`] for none.
    #[inline]
    pub fn set(&mut self, slot: usize, time: Time) {
        let nanos = time.as_nanos();
        let mut earliest = if nanos < self.end { nanos << self.slot_bits | slot as Event } else { NO_EVENT };
        let (mut node, mut child) = (self.leaves + slot / 4, slot % 4);
        loop {
            let children = &mut self.nodes[node];
            children[child] = earliest;
            let [one, two, three, four] = *children;
            earliest = one.min(two).min(three.min(four));
            if node == 0 {
                break;
            }
            (node, child) = ((node - 1) / 4, (node - 1) % 4);
        }
        self.first = earliest;
    }

    /// Adds a timer for `owner`: in place of the one that has just gone off, which is mostly the same one's.
    #[inline]
    pub fn add_timer(&mut self, owner: u32, time: Time) {
        let timer = Reverse(Timer::new(time, self.timers_set, owner));
        self.timers_set += 1;
        if std::mem::take(&mut self.first_is_done)
            && let Some(mut first) = self.timers.peek_mut()
        {
            *first = timer;
            return;
        }
        self.timers.push(timer);
        if self.timers.peek().is_some_and(|Reverse(first)| first.time() == time) {
            self.set(self.timer_slot, time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_in_order(
            slots in 1usize..40,
            changes in prop::collection::vec((any::<prop::sample::Index>(), 0u64..1000, any::<bool>()), 1..200),
            mut again in prop::collection::vec(prop::collection::vec(0u64..1000, 0..3), 0..100),
        ) {
            let mut agenda = Agenda::new(slots);
            let mut times = vec![u64::MAX; slots];
            let mut timers = vec![];
            let mut set = changes.len() as u32;
            for (order, (index, time, is_timer)) in changes.into_iter().enumerate() {
                if is_timer {
                    agenda.add_timer(order as u32, Time::from_nanos(time));
                    timers.push((time, order as u32));
                } else {
                    let slot = index.index(slots);
                    agenda.set(slot, Time::from_nanos(time));
                    times[slot] = time;
                }
            }
            loop {
                // Of those at the same time the one set first.
                timers.sort_unstable();
                let earliest = times.iter().copied().min().unwrap();
                let timer = timers.first().map_or(u64::MAX, |timer| timer.0);
                if earliest.min(timer) == u64::MAX {
                    prop_assert!(agenda.next().0 > agenda.horizon());
                    break;
                }
                prop_assert_eq!(agenda.next().0, Time::from_nanos(earliest.min(timer)));
                if earliest <= timer {
                    let slot = times.iter().position(|&time| time == earliest).unwrap();
                    prop_assert_eq!(agenda.next().1, slot);
                    times[slot] = u64::MAX;
                    agenda.set(slot, Time::NEVER);
                } else {
                    prop_assert_eq!(agenda.next().1, slots);
                    let (time, owner) = timers.remove(0);
                    prop_assert_eq!(agenda.begin_timer(), owner);
                    // What goes off may set others.
                    for later in again.pop().unwrap_or_default() {
                        agenda.add_timer(set, Time::from_nanos(time + later));
                        timers.push((time + later, set));
                        set += 1;
                    }
                    agenda.end_timer();
                }
            }
        }
    }
}
