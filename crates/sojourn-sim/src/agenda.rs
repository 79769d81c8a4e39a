//! What happens next.
//!
//! The sources of events that are always there (links and delay lines) each have a slot in a tournament
//! tree, so that rescheduling one costs a handful of comparisons and never allocates. [Timers](timers) have a tree of
//! their own. Events at the same instant are taken in the order of their slots, timers after them in the order they were set.

mod timers;
mod tournament;

use sojourn_core::Time;
use timers::Timers;
use tournament::Tournament;

/// The pending events of a run.
#[derive(Debug)]
pub struct Agenda {
    slots: Tournament<Event>,
    slot_bits: u32,
    /// The instant from which on there is none.
    end: u64,
    timers: Timers,
    timer_slot: usize,
}

/// Time and slot in one number, so that the earlier of two events is their minimum. The slot takes as
/// many of the low bits as it needs.
type Event = u64;

/// No event, in whatever slot.
const NO_EVENT: Event = Event::MAX;

impl Agenda {
    /// Whoever has timers is called by a number below this.
    pub const MAX_OWNERS: u32 = Timers::MAX_OWNERS;

    /// An agenda for `slots` sources and `owners` of timers, none of which has an event.
    pub fn new(slots: usize, owners: usize) -> Agenda {
        let slot_bits = slots.next_power_of_two().max(2).ilog2();
        Agenda {
            slots: Tournament::new(slots, NO_EVENT),
            slot_bits,
            end: NO_EVENT >> slot_bits,
            timers: Timers::new(owners),
            timer_slot: slots,
        }
    }

    /// The last instant that it can tell from "never".
    pub fn horizon(&self) -> Time {
        Time::from_nanos(self.end - 1)
    }

    /// The next event: its time, which is later than the agenda's horizon where there is
    /// none, and its slot, one past the sources' for a timer. It stays due until it is [set](Agenda::set)
    /// again, a timer until it is [taken](Agenda::take_timer).
    #[inline]
    pub fn next(&self) -> (Time, usize) {
        let event = self.slots.first();
        let (time, slot) = (Time::from_nanos(event >> self.slot_bits), event as usize & ((1 << self.slot_bits) - 1));
        let timer = self.timers.next_time();
        if timer < time { (timer, self.timer_slot) } else { (time, slot) }
    }

    /// The timer that is due next goes off; its owner.
    #[inline]
    pub fn take_timer(&mut self) -> u32 {
        self.timers.take()
    }

    /// Gives the source in `slot` its next event; [`Time::NEVER`] for none.
    #[inline]
    pub fn set(&mut self, slot: usize, time: Time) {
        let nanos = time.as_nanos();
        self.slots.put(slot, if nanos < self.end { nanos << self.slot_bits | slot as Event } else { NO_EVENT });
    }

    /// Sets the timer of `owner`, in place of the one that it has.
    #[inline]
    pub fn set_timer(&mut self, owner: u32, time: Time) {
        self.timers.set(owner, time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OWNERS: u32 = 6;

    proptest! {
        #[test]
        fn events_come_in_order(
            slots in 1usize..40,
            changes in prop::collection::vec((any::<prop::sample::Index>(), 0u64..1000, any::<bool>()), 1..200),
            mut again in prop::collection::vec(prop::collection::vec((0..OWNERS, 0u64..1000), 0..3), 0..100),
        ) {
            let mut agenda = Agenda::new(slots, OWNERS as usize);
            let mut times = vec![u64::MAX; slots];
            let mut timers: Vec<(u64, u64, u32)> = vec![];
            let mut set = 0;
            for (index, time, is_timer) in changes {
                if is_timer {
                    let owner = index.index(OWNERS as usize) as u32;
                    agenda.set_timer(owner, Time::from_nanos(time));
                    timers.retain(|&(_, _, other)| other != owner);
                    timers.push((time, set, owner));
                    set += 1;
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
                    let (time, _, owner) = timers.remove(0);
                    prop_assert_eq!(agenda.take_timer(), owner);
                    // What goes off may set others, of its own and of other owners.
                    for (other, later) in again.pop().unwrap_or_default() {
                        agenda.set_timer(other, Time::from_nanos(time + later));
                        timers.retain(|&(_, _, owner)| owner != other);
                        timers.push((time + later, set, other));
                        set += 1;
                    }
                }
            }
        }
    }
}
