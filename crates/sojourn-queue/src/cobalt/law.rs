//! COBALT's controller for one queue: a simplified CoDel and BLUE (Linux `sch_cake.c`), whatever holds the packets.

use super::{FirstSignal, Parameters, SlowLinks};
use crate::{LinkProperties, Packet};
use alloc::format;
use sojourn_core::registry::ParameterError;
use sojourn_core::{Span, Stream, Time};

/// On slow links target is at least so many full packets' time, in halves.
const TARGET_HALF_PACKETS: u64 = 3;
/// On slow links a delay of no more than so many full packets' time is no congestion.
const GUARD_PACKETS: u64 = 4;

/// 1/sqrt of small counts in units of 2^-32 (`cobalt_cache_init`): one step of Newton's method is exact enough above.
const ROOTS: [u32; 16] = roots();

const fn roots() -> [u32; 16] {
    let mut roots = [u32::MAX; 16];
    let (mut root, mut count) = (u32::MAX, 1);
    while count < roots.len() {
        let mut steps = 0;
        while steps < 4 {
            root = newton(root, count as u32);
            steps += 1;
        }
        roots[count] = root;
        count += 1;
    }
    roots
}

/// One step of Newton's method towards 1/sqrt(count), x (3 - count x^2)/2, in the fixed point of the kernel.
const fn newton(root: u32, count: u32) -> u32 {
    let square = (root as u64 * root as u64) >> 32;
    let rest = (3u64 << 32).wrapping_sub((count as u64).wrapping_mul(square)) >> 2;
    (rest.wrapping_mul(root as u64) >> 31) as u32
}

/// What does not change: shared by all queues of a discipline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CobaltLaw {
    pub(crate) target: Span,
    pub(crate) interval: Span,
    /// Delay that is no congestion whatever the target.
    pub(crate) guard: Span,
    ecn: bool,
    increment: f64,
    decrement: f64,
    /// Delay above which BLUE's probability rises without an overflow.
    blue_above: Option<Span>,
    first_signal: FirstSignal,
}

impl CobaltLaw {
    /// The law that is `declared`, on `link`.
    pub(crate) fn new(declared: &Parameters, link: &LinkProperties) -> Result<CobaltLaw, ParameterError> {
        let (target, interval) = (declared.target, declared.interval);
        CobaltLaw::check(target, interval, "interval")?;
        let law = CobaltLaw {
            target,
            interval,
            guard: Span::ZERO,
            ecn: declared.ecn,
            increment: declared.increment,
            decrement: declared.decrement,
            blue_above: declared.blue_above,
            first_signal: declared.first_signal,
        };
        Ok(match declared.slow_links {
            SlowLinks::Stretch => law.stretched(link.rate.transmission(u64::from(link.packet_bytes))),
            SlowLinks::Ignore => law,
        })
    }

    /// The law of a queue of CAKE that sends a full packet in `packet`, which is zero where it has no rate of its own.
    pub(crate) fn of_cake(target: Span, interval: Span, packet: Span) -> CobaltLaw {
        let law = CobaltLaw {
            target,
            interval,
            guard: Span::ZERO,
            ecn: true,
            increment: 1.0 / 256.0,
            decrement: 1.0 / 4096.0,
            blue_above: None,
            first_signal: FirstSignal::NextPacket,
        };
        law.stretched(packet)
    }

    /// Refuses a target that is no less than the interval, which is called `name`.
    pub(crate) fn check(target: Span, interval: Span, name: &str) -> Result<(), ParameterError> {
        if target < interval {
            return Ok(());
        }
        let rule = format!(
            "less than {name} ({interval}): the queue is judged over an interval, which spans a whole round trip"
        );
        Err(ParameterError::new("target", rule))
    }

    /// The law where a full packet takes as long as `packet`.
    fn stretched(self, packet: Span) -> CobaltLaw {
        let target = self.target.max(packet * TARGET_HALF_PACKETS / 2);
        let interval = (self.interval + target.saturating_sub(self.target)).max(target * 2);
        CobaltLaw { target, interval, guard: packet * GUARD_PACKETS, ..self }
    }

    /// The law with no delay of up to `delay` counted either.
    pub(crate) fn sparing(self, delay: Span) -> CobaltLaw {
        CobaltLaw { guard: self.guard.max(delay), ..self }
    }
}

/// The state of one queue's controller.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CobaltController {
    count: u32,
    dropping: bool,
    /// When the next signal is due or, without one, when the count falls by one.
    next: Time,
    /// BLUE's probability.
    p: f64,
    /// When it last moved.
    blue_moved: Time,
    /// 1/sqrt(count) in units of 2^-32; zero before the count first moved.
    inverse_root: u32,
}

/// What becomes of a packet at the head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Pass,
    Mark,
    /// BLUE drops it, whether or not CoDel has marked it just before: a last packet that is spared goes with that mark.
    Drop {
        /// Whether CoDel has.
        marked: bool,
    },
}

impl CobaltController {
    /// A packet had to be dropped for want of room (`cobalt_queue_full`).
    pub(crate) fn overflow(&mut self, law: &CobaltLaw, now: Time) {
        self.raise_blue(law, now);
        self.dropping = true;
        self.next = now;
        self.count = self.count.max(1);
    }

    /// The queue was asked and is empty (`cobalt_queue_empty`).
    pub(crate) fn empty(&mut self, law: &CobaltLaw, now: Time) {
        if self.p > 0.0 && now.since(self.blue_moved) > law.target {
            self.p = (self.p - law.decrement).max(0.0);
            self.blue_moved = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.next {
            self.forget_one(law);
        }
    }

    /// A packet is at the head of the queue (`cobalt_should_drop`).
    #[inline]
    pub(crate) fn judge<B>(&mut self, law: &CobaltLaw, packet: &Packet<B>, now: Time, random: &mut Stream) -> Verdict {
        let sojourn = now.since(packet.enqueued);
        let due = self.count > 0 && now >= self.next;
        // As it was before a dropping state that begins here moves it (Linux, ns-3).
        let mut late = now > self.next;
        if sojourn > law.target && sojourn > law.guard {
            if !self.dropping {
                self.dropping = true;
                self.next = self.after(law, now);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }

        let mut verdict = Verdict::Pass;
        if due && self.dropping {
            verdict = if law.ecn && packet.ecn.is_capable() { Verdict::Mark } else { Verdict::Drop { marked: false } };
            self.count = self.count.saturating_add(1);
            self.step();
            self.next = self.after(law, self.next);
            late = now > self.next;
        } else if due {
            while self.count > 0 && now >= self.next {
                self.forget_one(law);
            }
            late = now > self.next;
        }

        if law.blue_above.is_some_and(|threshold| sojourn > threshold) {
            self.raise_blue(law, now);
        }
        // BLUE is for flows that do not answer, which might not answer marks either: it drops.
        if self.p > 0.0 && random.chance(self.p) {
            verdict = Verdict::Drop { marked: verdict == Verdict::Mark };
        }

        // Without a count, `next` is when the state of the queue was last of interest.
        if self.count == 0 {
            self.next = now + law.interval;
        } else if late && !matches!(verdict, Verdict::Drop { .. }) {
            self.next = now;
        }
        verdict
    }

    fn raise_blue(&mut self, law: &CobaltLaw, now: Time) {
        if now.since(self.blue_moved) > law.target {
            self.p = (self.p + law.increment).min(1.0);
            self.blue_moved = now;
        }
    }

    fn forget_one(&mut self, law: &CobaltLaw) {
        self.count -= 1;
        self.step();
        self.next = self.after(law, self.next);
    }

    /// The control law: `from` plus interval/sqrt(count), and a whole interval for a count of 0.
    fn after(&self, law: &CobaltLaw, from: Time) -> Time {
        let root = match (self.inverse_root, law.first_signal) {
            (0, FirstSignal::Interval) => u32::MAX,
            (root, _) => root,
        };
        from + Span::from_nanos(((u128::from(law.interval.as_nanos()) * u128::from(root)) >> 32) as u64)
    }

    /// The count has moved by one (`cobalt_invsqrt`).
    fn step(&mut self) {
        self.inverse_root = match ROOTS.get(self.count as usize) {
            Some(&root) => root,
            None => newton(self.inverse_root, self.count),
        };
    }

    /// Whether nothing is left of past congestion: no count, no probability, and `next` has come.
    pub(crate) fn is_at_rest(&self, now: Time) -> bool {
        self.p == 0.0 && self.count == 0 && now >= self.next
    }

    /// CoDel's count.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// BLUE's probability.
    pub(crate) fn blue(&self) -> f64 {
        self.p
    }

    /// Whether the delay was above target when last looked at.
    pub(crate) fn is_dropping(&self) -> bool {
        self.dropping
    }
}
