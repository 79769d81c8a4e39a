//! Who may send next: CSMA/CA with a back-off that freezes while the medium is busy.
//!
//! Slots are not stepped through. Each contender knows from when on it counts and how many slots are left, which gives the
//! instant at which it would send; the earliest one wins, and those at the same instant collide.

use sojourn_core::{Span, Stream, Time};

/// Contends for the medium: an access category of a device.
#[derive(Debug)]
pub struct Contender {
    /// How long the medium must be idle before it counts.
    aifs: Span,
    smallest: u32,
    largest: u32,
    /// The present contention window.
    window: u32,
    /// Slots of back-off that are left since `from`.
    slots: u32,
    /// Since when it counts.
    from: Time,
    /// Whether it has something to send.
    wants: bool,
    /// Whether it stands in the list of those that send or count.
    listed: bool,
    random: Stream,
}

impl Contender {
    /// One that waits `aifs` and draws from windows between these.
    pub fn new(aifs: Span, (smallest, largest): (u32, u32), random: Stream) -> Contender {
        Contender {
            aifs,
            smallest,
            largest,
            window: smallest,
            slots: 0,
            from: Time::ZERO,
            wants: false,
            listed: false,
            random,
        }
    }

    /// A whole number of slots, each from 0 to the window alike.
    fn draw(&mut self) {
        let choices = u64::from(self.window) + 1;
        self.slots = (((self.random.bits() >> 32) * choices) >> 32) as u32;
    }

    /// Its back-off is over at this instant, if the medium stays idle.
    fn due(&self, slot: Span) -> Time {
        self.from + slot * u64::from(self.slots)
    }

    /// The medium became busy when so many whole slots were over.
    fn freeze(&mut self, passed: u32) {
        self.slots = self.slots.saturating_sub(passed);
    }
}

/// Whole slots between two instants.
fn whole_slots(slot: Span, from: Time, to: Time) -> u32 {
    u32::try_from(to.since(from).as_nanos() / slot.as_nanos()).unwrap_or(u32::MAX)
}

/// The state of a medium that is idle, or busy until somebody says so.
#[derive(Debug)]
pub struct Contention {
    slot: Span,
    contenders: Vec<Contender>,
    /// Those that want to send or count down.
    listed: Vec<u32>,
    /// When the last exchange ended.
    idle_since: Time,
    /// What bystanders of the last exchange wait in addition.
    penalty: Span,
    /// When the next exchange begins, or the present one began.
    start: Time,
    winners: Vec<u32>,
}

impl Contention {
    /// An idle medium for these contenders.
    pub fn new(slot: Span, contenders: Vec<Contender>) -> Contention {
        Contention {
            slot,
            contenders,
            listed: Vec::new(),
            idle_since: Time::ZERO,
            penalty: Span::ZERO,
            start: Time::NEVER,
            winners: Vec::new(),
        }
    }

    /// When the next exchange begins, unless somebody comes first; or the present one began.
    pub fn start(&self) -> Time {
        self.start
    }

    /// Who begins it.
    pub fn winners(&self) -> &[u32] {
        &self.winners
    }

    /// `who` has something to send from `now` on. Whether that changes the next exchange.
    pub fn offer(&mut self, who: u32, now: Time) -> bool {
        let contender = &mut self.contenders[who as usize];
        if contender.wants {
            return false;
        }
        contender.wants = true;
        if !contender.listed {
            contender.listed = true;
            contender.slots = 0;
            contender.from = self.idle_since + self.penalty + contender.aifs;
            self.listed.push(who);
        }
        if now >= self.start {
            // The medium is busy. Who is still counting goes on afterwards; everybody else must back off.
            if contender.slots == 0 || contender.due(self.slot) <= self.start {
                contender.draw();
            } else {
                contender.freeze(whole_slots(self.slot, contender.from, self.start));
            }
            contender.from = self.start;
            return false;
        }
        if contender.due(self.slot) < now {
            contender.slots = 0;
            contender.from = now;
        }
        let due = contender.due(self.slot);
        if due > self.start {
            return false;
        }
        if due < self.start {
            self.winners.clear();
        }
        self.start = due;
        self.winners.push(who);
        true
    }

    /// The exchange ends at `end`; those who took no part wait `penalty` beside their AIFS. Winners are told
    /// [`succeeded`](Contention::succeeded) or [`failed`](Contention::failed) next, and then the medium is
    /// [free](Contention::free).
    pub fn end(&mut self, end: Time, penalty: Span) {
        let (slot, start) = (self.slot, self.start);
        // Most began to count at the same instant: one division for them.
        let mut counted = (start, 0);
        for &who in &self.listed {
            let contender = &mut self.contenders[who as usize];
            if contender.wants && contender.slots == 0 && contender.from > start {
                // It would have sent without back-off, but the medium became busy within its interframe space.
                contender.draw();
            } else {
                if contender.from != counted.0 {
                    counted = (contender.from, whole_slots(slot, contender.from, start));
                }
                contender.freeze(counted.1);
            }
            contender.from = end + penalty + contender.aifs;
        }
        self.idle_since = end;
        self.penalty = penalty;
        self.start = Time::NEVER;
        self.winners.clear();
    }

    /// `who` was answered, or has given a frame up, and may have more to send. It backs off either way.
    pub fn succeeded(&mut self, who: u32, more: bool) {
        let contender = &mut self.contenders[who as usize];
        contender.window = contender.smallest;
        self.back_off(who, self.idle_since, more);
    }

    /// `who` was not answered, and knows that at `known`.
    pub fn failed(&mut self, who: u32, known: Time) {
        let contender = &mut self.contenders[who as usize];
        contender.window = (2 * contender.window + 1).min(contender.largest);
        self.back_off(who, known, true);
    }

    fn back_off(&mut self, who: u32, from: Time, more: bool) {
        let contender = &mut self.contenders[who as usize];
        contender.draw();
        contender.from = from.max(self.idle_since) + contender.aifs;
        contender.wants = more;
    }

    /// Finds who sends next. Call it when all winners have been told what became of them.
    pub fn free(&mut self) {
        let Contention { slot, contenders, listed, start, winners, .. } = self;
        listed.retain(|&who| {
            let contender = &mut contenders[who as usize];
            contender.listed = contender.wants || contender.slots > 0;
            if contender.wants {
                let due = contender.due(*slot);
                if due < *start {
                    *start = due;
                    winners.clear();
                }
                if due == *start {
                    winners.push(who);
                }
            }
            contender.listed
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: Span = Span::from_micros(9);
    const AIFS: Span = Span::from_micros(34);

    fn medium(contenders: usize) -> Contention {
        let one = |index: usize| Contender::new(AIFS, (15, 1023), Stream::new(index as u64, "back-off"));
        Contention::new(SLOT, (0..contenders).map(one).collect())
    }

    fn at(micros: u64) -> Time {
        Time::from_nanos(micros * 1000)
    }

    #[test]
    fn who_comes_to_an_idle_medium_sends_at_once() {
        let mut medium = medium(2);
        assert!(medium.offer(0, at(1000)));
        assert_eq!((medium.start(), medium.winners()), (at(1000), &[0][..]));
        // A frame that comes within the interframe space waits for its end.
        let mut early = super::tests::medium(1);
        assert!(early.offer(0, at(10)));
        assert_eq!(early.start(), at(34));
    }

    #[test]
    fn who_comes_to_a_busy_medium_backs_off() {
        let mut medium = medium(2);
        medium.offer(0, at(1000));
        assert!(!medium.offer(1, at(1100)), "the exchange goes on");
        medium.end(at(1500), Span::ZERO);
        medium.succeeded(0, false);
        medium.free();
        assert_eq!(medium.winners(), [1]);
        let slots = medium.start().since(at(1534)).as_nanos() / SLOT.as_nanos();
        assert_eq!(medium.start(), at(1534) + SLOT * slots, "whole slots after the interframe space");
        assert!(slots <= 15);
    }

    /// The post-back-off goes on without anything to send, and freezes with the medium.
    #[test]
    fn a_post_back_off_runs_down_while_idle() {
        let mut medium = medium(1);
        medium.offer(0, at(1000));
        medium.end(at(1500), Span::ZERO);
        medium.succeeded(0, false);
        medium.free();
        assert_eq!(medium.start(), Time::NEVER);
        // Far later it is over.
        medium.offer(0, at(5000));
        assert_eq!(medium.start(), at(5000));
        medium.end(at(5500), Span::ZERO);
        medium.succeeded(0, false);
        medium.free();
        // Right away it is not.
        medium.offer(0, at(5500));
        assert!(medium.start() >= at(5534));
    }

    /// What others' counters lose while one sends is the whole slots that were idle.
    #[test]
    fn counters_freeze() {
        let mut medium = medium(3);
        medium.offer(0, at(1000));
        medium.offer(1, at(1001));
        medium.offer(2, at(1001));
        medium.end(at(1500), Span::ZERO);
        medium.succeeded(0, false);
        medium.free();
        let due = |medium: &Contention, who: usize| medium.contenders[who].due(SLOT);
        let (first, last) = if due(&medium, 1) < due(&medium, 2) { (1, 2) } else { (2, 1) };
        assert_ne!(due(&medium, 1), due(&medium, 2), "these streams do not collide");
        let left = due(&medium, last).since(due(&medium, first));
        assert_eq!(medium.winners(), [first as u32]);
        let end = medium.start() + Span::from_micros(300);
        medium.end(end, Span::ZERO);
        medium.succeeded(first as u32, false);
        medium.free();
        assert_eq!(medium.start(), end + AIFS + left);
    }

    #[test]
    fn the_window_doubles_up_to_its_end() {
        let mut medium = medium(1);
        medium.offer(0, at(1000));
        let mut seen = Vec::new();
        for _ in 0..8 {
            medium.end(medium.start() + Span::from_micros(100), Span::ZERO);
            medium.failed(0, medium.idle_since);
            seen.push(medium.contenders[0].window);
            medium.free();
        }
        assert_eq!(seen, [31, 63, 127, 255, 511, 1023, 1023, 1023]);
        medium.end(medium.start() + Span::from_micros(100), Span::ZERO);
        medium.succeeded(0, true);
        assert_eq!(medium.contenders[0].window, 15);
    }
}
