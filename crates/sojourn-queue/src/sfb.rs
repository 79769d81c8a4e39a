//! SFB: stochastic fair BLUE (Feng, Kandlur, Saha and Shin 2001), as Linux has it.
//!
//! BLUE for flows without state for flows: one first-in first-out queue, and a Bloom filter of bins that count the
//! packets waiting of the flows that hash there, each with a probability. For each arrival, in the order of Linux:
//! 1. a full queue drops it;
//! 2. when its time has come, the second set of bins, with another hash, takes over;
//! 3. on every level, the arrival's bin lowers its probability if it is empty, raises it if it holds `target` packets
//!    or more; what counts is the least probability and the fewest packets of all levels;
//! 4. a flow that has `max` packets in every bin loses the arrival;
//! 5. a flow with a probability of 1 in every bin does not respond: it gets `penalty_rate` packets a second;
//! 6. otherwise the probability marks the arrival, or drops it if it cannot be marked. Above one half, some are
//!    dropped even if they could be marked.
//!
//! A flow that responds suffers only if every one of its bins is shared with one that does not.

mod bins;
mod descriptor;
#[cfg(test)]
mod tests;

use alloc::format;
use alloc::vec::Vec;
pub use descriptor::DESCRIPTOR;
use descriptor::Parameters;

use crate::{Discipline, DropReason, Ecn, Fifo, Limit, LinkProperties, Packet, Sink};
use alloc::collections::VecDeque;
use bins::{Bins, CERTAIN, Places, Steps};
use sojourn_core::registry::{Advice, ParameterError, Params};
use sojourn_core::{Span, Stream, Time};

/// A first-in first-out queue behind a filter of bins.
#[derive(Debug)]
pub struct Sfb<B> {
    queue: Fifo<B>,
    /// Where each packet of the queue was counted.
    counted: VecDeque<[Option<Places>; 2]>,
    sets: [Bins; 2],
    /// Which set of bins decides.
    active: usize,
    rehash: Option<Rehash>,
    penalty: Penalty,
    limit: Limit,
    max: u32,
    steps: Steps,
    ecn: bool,
    random: Stream,
}

/// When the other set of bins takes over.
#[derive(Clone, Copy, Debug)]
struct Rehash {
    interval: Span,
    /// How long before that it learns.
    warmup: Span,
    since: Time,
}

impl Rehash {
    #[inline]
    fn is_due(&self, now: Time) -> bool {
        now.since(self.since) > self.interval
    }

    #[inline]
    fn is_warming_up(&self, now: Time) -> bool {
        now.since(self.since) > self.interval.saturating_sub(self.warmup)
    }
}

/// What flows that do not respond may send: a bucket of tokens that is refilled when it is empty.
#[derive(Debug)]
struct Penalty {
    rate: f64,
    burst: u64,
    tokens: u64,
    since: Time,
}

/// Linux counts no more than this of the time since the last refill.
const LONGEST_REFILL: Span = Span::from_secs(10);

impl Penalty {
    /// Whether a packet may pass now.
    fn admits(&mut self, now: Time) -> bool {
        if self.tokens == 0 {
            let age = now.since(self.since).min(LONGEST_REFILL);
            self.tokens = ((self.rate * age.as_secs_f64()) as u64).min(self.burst);
            self.since = now;
            if self.tokens == 0 {
                return false;
            }
        }
        self.tokens -= 1;
        true
    }
}

impl<B: Copy> Sfb<B> {
    /// An empty queue with the given parameters.
    ///
    /// # Errors
    /// A limit that holds no packet, a target that the bins never reach, a warm-up as long as a hash lasts.
    pub fn new(params: &Params, link: &LinkProperties, mut random: Stream) -> Result<Self, ParameterError> {
        let declared = Parameters::of(params);
        let limit = Limit::of(params, "limit", link)?;
        let (target, max) = (declared.target, declared.max);
        if target >= max {
            return Err(ParameterError::new("target", "below max, or bins are full before they learn"));
        }
        let (interval, warmup) = (declared.rehash, declared.warmup);
        if !interval.is_zero() && warmup >= interval {
            return Err(ParameterError::new(
                "warmup",
                "below rehash: the second set of bins learns only before it takes over",
            ));
        }
        let burst = declared.penalty_burst;
        Ok(Sfb {
            queue: Fifo::default(),
            counted: VecDeque::new(),
            sets: [Bins::new(&mut random), Bins::new(&mut random)],
            active: 0,
            rehash: (!interval.is_zero()).then_some(Rehash { interval, warmup, since: link.since }),
            penalty: Penalty { rate: declared.penalty_rate, burst, tokens: burst, since: link.since },
            limit,
            max,
            steps: Steps::new(declared.increment, declared.decrement, target),
            ecn: declared.ecn,
            random,
        })
    }

    /// Step 2; whether the other set learns already.
    #[inline]
    fn turn_over(&mut self, now: Time) -> bool {
        let Some(rehash) = &mut self.rehash else { return false };
        if rehash.is_due(now) {
            rehash.since = now;
            self.sets[self.active].perturb(&mut self.random);
            self.active ^= 1;
        }
        rehash.is_warming_up(now)
    }

    /// Step 6: whether the arrival may enter, marked if need be.
    #[inline]
    fn draw<S: Sink<B>>(&mut self, probability: u32, packet: &mut Packet<B>, sink: &mut S) -> bool {
        let drawn = (self.random.bits() >> 48) as u32;
        if drawn >= probability {
            return true;
        }
        // So many marks mean that somebody does not respond: drops begin, at twice the excess over one half.
        let excess = probability.saturating_sub(CERTAIN / 2);
        if drawn < 2 * excess || !self.ecn || !packet.ecn.is_capable() {
            return false;
        }
        packet.ecn = Ecn::Ce;
        sink.marked(packet);
        true
    }
}

/// Bins that no flow can fill.
fn bins_beyond_limit(params: &Params, link: &LinkProperties) -> Option<Advice> {
    let declared = Parameters::of(params);
    let (limit, max) = (Limit::new(declared.limit, link), declared.max);
    matches!(limit, Limit::Packets(limit) if u64::from(max) > limit).then(|| {
        let text = "more than the limit: the buffer overflows before a bin is full, and flows that do not answer are never told \
                    from others; usual is a small part of the limit";
        Advice::new("max", text)
    })
}

/// Bins that forget faster than they learn.
fn forgetful(params: &Params) -> Option<Advice> {
    let declared = Parameters::of(params);
    let (increment, decrement) = (declared.increment, declared.decrement);
    (decrement > increment).then(|| {
        let text = format!(
            "more than increment ({increment}): a bin that is empty as often as it is long forgets what it learned, and the queue \
             grows to the limit; usual is a tenth (tc) to a sixth (Linux) of increment"
        );
        Advice::new("decrement", text)
    })
}

impl<B: Copy> Discipline<B> for Sfb<B> {
    #[inline]
    fn enqueue<S: Sink<B>>(&mut self, mut packet: Packet<B>, now: Time, sink: &mut S) {
        packet.enqueued = now;
        if !self.limit.has_room(&self.queue, packet.bytes) {
            return sink.dropped(&packet, DropReason::Overflow);
        }
        let warming_up = self.turn_over(now);
        let places = self.sets[self.active].places(&packet);
        let (probability, fewest) = self.sets[self.active].learn(places, &self.steps);
        let mut counted = [None; 2];
        counted[self.active] = Some(places);
        if fewest >= self.max {
            return sink.dropped(&packet, DropReason::Overflow);
        }
        let admitted = if probability == CERTAIN {
            if warming_up {
                let other = self.active ^ 1;
                let places = self.sets[other].places(&packet);
                self.sets[other].learn(places, &self.steps);
                counted[other] = Some(places);
            }
            self.penalty.admits(now)
        } else {
            self.draw(probability, &mut packet, sink)
        };
        if !admitted {
            return sink.dropped(&packet, DropReason::Early);
        }
        for (set, places) in self.sets.iter_mut().zip(counted) {
            set.add(places);
        }
        self.counted.push_back(counted);
        self.queue.push(&packet);
    }

    #[inline]
    fn dequeue<S: Sink<B>>(&mut self, _now: Time, _sink: &mut S) -> Option<Packet<B>> {
        let packet = self.queue.pop()?;
        for (set, places) in self.sets.iter_mut().zip(self.counted.pop_front()?) {
            set.subtract(places);
        }
        Some(packet)
    }

    #[inline]
    fn packets(&self) -> usize {
        self.queue.packets()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    fn advice(params: &Params, link: &LinkProperties) -> Vec<Advice> {
        [bins_beyond_limit(params, link), forgetful(params)].into_iter().flatten().collect()
    }

    fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
        let (greatest, mean) = self.sets[self.active].probabilities();
        visit("greatest_bin_probability", greatest);
        visit("mean_bin_probability", mean);
    }
}
