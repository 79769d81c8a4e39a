//! RED: random early detection (Floyd and Jacobson 1993).
//!
//! For each arrival, in the order of the paper's figure 2:
//! 1. the average queue is computed, idle time included;
//! 2. below min the packet is queued, above max (gentle: 2 max) it is dropped;
//! 3. in between a ramp gives a probability p_b, which is spread to p_a so that drops come evenly, and a random number
//!    decides;
//! 4. a full buffer drops whatever the average says.
//!
//! With ECN, early drops mark where they may (RFC 3168). The implementations in use differ at nearly every step; the
//! presets `ns2`, `linux` and `floyd93` say how.

pub(crate) mod adaptive;
pub(crate) mod advice;
pub(crate) mod ageing;
pub(crate) mod average;
pub(crate) mod descriptor;
mod number;
pub(crate) mod setup;
pub(crate) mod spread;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;
pub use descriptor::DESCRIPTOR;
pub(crate) use descriptor::{IdleFrom, Measure, Parameters};

use crate::{Discipline, DropReason, Ecn, Fifo, Limit, LinkProperties, Packet, Sink};
use adaptive::Adaptation;
use average::Average;
use sojourn_core::registry::{Advice, ParameterError, Params};
use sojourn_core::{Stream, Time};
use spread::Spread;

/// A first-in first-out queue under random early detection.
#[derive(Debug)]
pub struct Red<B> {
    queue: Fifo<B>,
    unit: Measure,
    entry: Entry,
    ramp: Ramp,
    average: Average,
    spread: Spread,
    adaptation: Option<Adaptation>,
    marking: Marking,
    first_is_free: bool,
    forced: bool,
    limit_restarts_count: bool,
    idle_when_empty: bool,
    idle_since: Option<Time>,
    random: Stream,
}

impl<B: Copy> Red<B> {
    /// A queue with the given parameters.
    ///
    /// # Errors
    /// A limit that holds no packet, thresholds in the wrong order, a burst that no weight lets pass.
    pub fn new(params: &Params, link: &LinkProperties, random: Stream) -> Result<Self, ParameterError> {
        let declared = Parameters::of(params);
        let setup = setup::setup(&declared, link)?;
        Ok(Red {
            queue: Fifo::default(),
            unit: setup.unit,
            entry: setup.entry,
            ramp: setup.ramp,
            average: setup.average,
            spread: setup.spread,
            adaptation: None,
            marking: Marking::new(&declared),
            first_is_free: declared.first_is_free,
            forced: declared.forced,
            limit_restarts_count: declared.limit_restarts_count,
            idle_when_empty: declared.idle_from == IdleFrom::Queue,
            idle_since: Some(link.since),
            random,
        })
    }

    /// The same queue whose ramp adapts itself.
    pub(crate) fn adapting(mut self, adaptation: impl FnOnce(&Ramp) -> Adaptation) -> Self {
        self.adaptation = Some(adaptation(&self.ramp));
        self
    }

    /// The largest probability below the max threshold, which adaptation moves.
    pub(crate) fn max_p(&self) -> f64 {
        self.ramp.max_p
    }

    /// Steps 2 and 3: what the average has in store for an arrival of `bytes` bytes that finds `waiting` in the queue.
    #[inline]
    fn on_arrival(&mut self, waiting: f64, bytes: u32) -> Verdict {
        let average = self.average.value();
        if average < self.ramp.min || (self.first_is_free && waiting <= 1.0) {
            self.spread.leave();
            return Verdict::Pass;
        }
        if self.forced && self.ramp.is_above(average) {
            self.spread.force();
            return Verdict::Forced;
        }
        if self.first_is_free && self.spread.is_outside() {
            self.spread.arm(bytes);
            return Verdict::Pass;
        }
        let probability = self.ramp.probability(average);
        if self.spread.test(probability, bytes, &mut self.random) { Verdict::Early(probability) } else { Verdict::Pass }
    }
}

impl<B: Copy> Discipline<B> for Red<B> {
    #[inline]
    fn enqueue<S: Sink<B>>(&mut self, mut packet: Packet<B>, now: Time, sink: &mut S) {
        let waiting = self.unit.measure(&self.queue);
        self.average.sample(waiting, self.idle_since.map(|since| now.since(since)));
        if let Some(adaptation) = &mut self.adaptation {
            adaptation.arrival(self.average.value(), now, &mut self.ramp);
        }
        let verdict = self.on_arrival(waiting, packet.bytes);
        let action = self.marking.act(verdict, packet.ecn);

        if self.entry.is_full(&self.queue, packet.bytes) {
            if self.limit_restarts_count {
                self.spread.restart();
            }
            sink.dropped(packet.arrived(now), DropReason::Overflow);
        } else if action == Action::Drop {
            sink.dropped(packet.arrived(now), DropReason::Early);
        } else {
            if action == Action::Mark {
                packet.ecn = Ecn::Ce;
                sink.marked(packet.arrived(now));
            }
            self.queue.push(&packet).enqueued = now;
            self.idle_since = None;
            return;
        }
        // Idle time up to now is in the average; it goes on if it did.
        self.idle_since = self.idle_since.map(|_| now);
    }

    #[inline]
    fn dequeue<S: Sink<B>>(&mut self, now: Time, _sink: &mut S) -> Option<Packet<B>> {
        // Either none is left or, where that counts, this one is the last.
        let idle = self.queue.packets() <= usize::from(self.idle_when_empty);
        if idle && self.idle_since.is_none() {
            self.idle_since = Some(now);
        }
        self.queue.pop()
    }

    #[inline]
    fn next_bytes(&self) -> Option<u32> {
        self.queue.head().map(|packet| packet.bytes)
    }

    #[inline]
    fn packets(&self) -> usize {
        self.queue.packets()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    fn timer(&self) -> Option<Time> {
        self.adaptation.as_ref().and_then(Adaptation::timer)
    }

    fn on_timer<S: Sink<B>>(&mut self, now: Time, _sink: &mut S) {
        let average = self.average.aged(self.idle_since.map(|since| now.since(since)));
        if let Some(adaptation) = &mut self.adaptation {
            adaptation.on_timer(average, now, &mut self.ramp);
        }
    }

    fn advice(params: &Params, link: &LinkProperties) -> Vec<Advice> {
        let declared = Parameters::of(params);
        let red = setup::setup(&declared, link);
        let mut all = red.map_or_else(|_| Vec::new(), |setup| advice::advice(&declared, &setup, "max", link));
        all.extend(advice::short_target_delay(&declared, link));
        all
    }

    fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
        let average = self.average.value();
        match self.unit {
            Measure::Packets => visit("average_packets", average),
            Measure::Bytes => visit("average_bytes", average),
        }
        visit("drop_probability", self.ramp.probability(average));
    }
}

impl Measure {
    #[inline]
    fn measure<B>(self, queue: &Fifo<B>) -> f64 {
        match self {
            Measure::Packets => queue.packets() as f64,
            Measure::Bytes => queue.bytes() as f64,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Measure::Packets => "packets",
            Measure::Bytes => "bytes",
        }
    }
}

/// The hard limit: who may enter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub(crate) limit: Limit,
    /// Whether the last packet to enter may exceed a limit in bytes.
    overshoot: bool,
}

impl Entry {
    #[inline]
    fn is_full<B>(self, queue: &Fifo<B>, bytes: u32) -> bool {
        match self.limit {
            Limit::Bytes(limit) if self.overshoot => queue.bytes() >= limit,
            limit => !limit.has_room(queue, bytes),
        }
    }
}

/// The base probability p_b as a function of the average.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Ramp {
    pub(crate) min: f64,
    pub(crate) max: f64,
    max_p: f64,
    gentle: bool,
    /// Where the gentle part begins: max_p, unless that has moved and left it behind.
    gentle_from: f64,
    /// Whether only whole packets or bytes above min count (Linux).
    whole: bool,
}

impl Ramp {
    /// Whether the average is where every packet is dropped.
    #[inline]
    pub(crate) fn is_above(&self, average: f64) -> bool {
        average >= if self.gentle { 2.0 * self.max } else { self.max }
    }

    /// What `average` has in store for an arrival of `bytes` bytes: RED without the exceptions that [`Red`] knows.
    #[inline]
    pub(crate) fn verdict(&self, average: f64, bytes: u32, spread: &mut Spread, random: &mut Stream) -> Verdict {
        if average < self.min {
            spread.leave();
            return Verdict::Pass;
        }
        if self.is_above(average) {
            spread.force();
            return Verdict::Forced;
        }
        let probability = self.probability(average);
        if spread.test(probability, bytes, random) { Verdict::Early(probability) } else { Verdict::Pass }
    }

    /// From 0 at min to max_p at max; then 1, or with `gentle` from max_p on to 1 at 2 max.
    #[inline]
    pub(crate) fn probability(&self, average: f64) -> f64 {
        if average < self.min {
            0.0
        } else if average < self.max {
            let above = average - self.min;
            // Not negative: what a number loses on its way to an integer is what `floor` would take.
            self.max_p * (if self.whole { above as i64 as f64 } else { above }) / (self.max - self.min)
        } else if self.gentle {
            (self.gentle_from + (1.0 - self.gentle_from) * (average - self.max) / self.max).min(1.0)
        } else {
            1.0
        }
    }
}

/// What the average has in store for an arrival.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Verdict {
    /// Nothing.
    Pass,
    /// Chosen at random at this base probability.
    Early(f64),
    /// The average is above the ramp.
    Forced,
}

/// What happens to an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    Pass,
    Mark,
    Drop,
}

/// When a mark replaces a drop.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Marking {
    ecn: bool,
    harddrop: bool,
    nodrop: bool,
    below: f64,
}

impl Marking {
    /// What is `declared` of marking.
    pub(crate) fn new(declared: &Parameters) -> Marking {
        Marking {
            ecn: declared.ecn,
            harddrop: declared.harddrop,
            nodrop: declared.nodrop,
            below: declared.mark_p.unwrap_or(f64::INFINITY),
        }
    }

    /// What a verdict means for a packet with this ECN field.
    #[inline]
    pub(crate) fn act(&self, verdict: Verdict, ecn: Ecn) -> Action {
        let probability = match verdict {
            Verdict::Pass => return Action::Pass,
            Verdict::Early(probability) => probability,
            Verdict::Forced => 1.0,
        };
        if !self.ecn || (self.harddrop && verdict == Verdict::Forced) {
            Action::Drop
        } else if ecn.is_capable() && probability < self.below {
            Action::Mark
        } else if self.nodrop && !ecn.is_capable() {
            Action::Pass
        } else {
            Action::Drop
        }
    }
}
