//! COBALT: CoDel and BLUE alternate, the controller of CAKE, here with a first-in first-out queue (Linux `sch_cake.c`,
//! ns-3 `CobaltQueueDisc`).
//!
//! A simplified CoDel signals at interval/sqrt(count) while the delay is above target; when it no longer is, count falls
//! as it rose instead of being forgotten. BLUE adds a probability of dropping that rises with overflows and falls when
//! the queue runs empty, for flows that answer to nothing else. `law` is the algorithm.
//!
//! 1/sqrt(count) is kept in fixed point of 32 bits, by four Newton steps for counts below 16 and one above. In Linux it is
//! zero in a new queue instead of one, so that the first signal does not wait for an interval (`first_signal`), although
//! a comment there says that it should. ns-3's threshold for ECT(1) packets is not here.

pub(crate) mod law;
#[cfg(test)]
mod tests;

use crate::fifo::limit;
use crate::{Discipline, DropReason, Ecn, Fifo, Limit, LinkProperties, Packet, Sink, advice};
use alloc::vec::Vec;
use law::{CobaltController, CobaltLaw, Verdict};
use sojourn_core::registry::declare::{choice, flag, number, or_auto, span, span_in};
use sojourn_core::registry::{Advice, Descriptor, Linux, ParameterError, Params, Preset, Value};
use sojourn_core::{Amount, Span, Stream, Time, choices, parameters};

choices! {
    /// Words of `drop`.
    pub(crate) enum Drop { Head = "head", Tail = "tail" }
    /// Words of `slow_links`.
    pub(crate) enum SlowLinks { Stretch = "stretch", Ignore = "ignore" }
    /// When a queue that has never signalled does so.
    pub(crate) enum FirstSignal {
        /// With the next packet after the one that was above target.
        NextPacket = "next-packet",
        /// When the delay has been above target for an interval.
        Interval = "interval",
    }
}

parameters! {
    /// What can be set.
    pub(crate) struct Parameters {
        limit: Amount = limit(Amount::Bytes(4_194_304.0)),
        /// which packet a full buffer drops: the oldest (head, CAKE) or the arrival (tail, ns-3)
        drop: Drop = choice(Drop::Head.value()),
        /// acceptable standing queue, as sojourn time; tc cake sets it to a twentieth of rtt
        target: Span = span(Span::from_millis(5), Span::from_nanos(1)..=Span::from_secs(1000)),
        /// time above target before the first signal, and between the first two (tc cake rtt)
        interval: Span = span(Span::from_millis(100), Span::from_nanos(2)..=Span::from_secs(10_000)),
        /// where a packet takes long: target is at least 1.5 full packets' time, interval grows by as much and is at least
        /// twice target, and no delay of up to 4 full packets' time counts (CAKE with a rate); or nothing of this (ns-3)
        slow_links: SlowLinks = choice(SlowLinks::Stretch.value()),
        /// whether CoDel marks ECN-capable packets instead of dropping them; BLUE always drops
        ecn: bool = flag(true),
        /// what an overflow adds to BLUE's probability, at most once in target
        increment: f64 = number(1.0 / 256.0, 0.0..=1.0),
        /// what an empty queue takes from BLUE's probability, at most once in target
        decrement: f64 = number(1.0 / 4096.0, 0.0..=1.0),
        /// delay above which BLUE's probability rises as with an overflow (ns-3 BlueThreshold); auto is never
        blue_above: Option<Span> = or_auto(&span_in(Span::ZERO..=Span::from_secs(1000))),
        /// when a queue that has never signalled does so: with the next packet after the first above target (Linux), or after
        /// interval (ns-3)
        first_signal: FirstSignal = choice(FirstSignal::NextPacket.value()),
        /// whether the last packet of the queue is sent instead of dropped (CAKE does so, ns-3 does not)
        spare_last: bool = flag(true),
    }
}

/// What `cobalt` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "cobalt",
    summary: "CAKE's controller: CoDel whose count fades, and BLUE against flows that do not answer",
    sources: &["Linux net/sched/sch_cake.c", "ns-3 src/traffic-control/model/cobalt-queue-disc.cc"],
    parameters: &Parameters::LIST,
    presets: &[
        Preset { name: "cake", summary: "one queue of tc cake with a rate: 4 MB, rtt 100 ms", values: &[] },
        Preset {
            name: "ns3",
            summary: "ns3::CobaltQueueDisc: 1.5 MB, no ECN, BLUE above 400 ms",
            values: &[
                ("limit", Value::Amount(Amount::Bytes(1_500_000.0))),
                ("drop", Drop::Tail.value()),
                ("slow_links", SlowLinks::Ignore.value()),
                ("ecn", Value::Boolean(false)),
                ("blue_above", Value::Span(Span::from_millis(400))),
                ("first_signal", FirstSignal::Interval.value()),
                ("spare_last", Value::Boolean(false)),
            ],
        },
    ],
    linux: Linux::Absent("Linux has COBALT only inside cake"),
    ..Descriptor::PLAIN
};

/// A first-in first-out queue under COBALT.
#[derive(Debug)]
pub struct Cobalt<B> {
    queue: Fifo<B>,
    limit: Limit,
    drop_head: bool,
    spare_last: bool,
    law: CobaltLaw,
    controller: CobaltController,
    random: Stream,
}

impl<B: Copy> Cobalt<B> {
    /// A queue with the given parameters.
    ///
    /// # Errors
    /// A limit that holds no full-size packet, a target that is no less than the interval.
    pub fn new(params: &Params, link: &LinkProperties, random: Stream) -> Result<Self, ParameterError> {
        let declared = Parameters::of(params);
        Ok(Cobalt {
            queue: Fifo::default(),
            limit: Limit::of(params, "limit", link)?,
            drop_head: declared.drop == Drop::Head,
            spare_last: declared.spare_last,
            law: CobaltLaw::new(&declared, link)?,
            controller: CobaltController::default(),
            random,
        })
    }
}

impl<B: Copy> Discipline<B> for Cobalt<B> {
    #[inline]
    fn enqueue<S: Sink<B>>(&mut self, mut packet: Packet<B>, now: Time, sink: &mut S) {
        if !self.drop_head && !self.limit.has_room(&self.queue, packet.bytes) {
            self.controller.overflow(&self.law, now);
            return sink.dropped(packet.arrived(now), DropReason::Overflow);
        }
        self.queue.push(&packet).enqueued = now;
        while self.limit.is_exceeded(self.queue.packets(), self.queue.bytes()) {
            let Some(oldest) = self.queue.pop() else { break };
            self.controller.overflow(&self.law, now);
            sink.dropped(&oldest, DropReason::Overflow);
        }
    }

    #[inline]
    fn dequeue<S: Sink<B>>(&mut self, now: Time, sink: &mut S) -> Option<Packet<B>> {
        loop {
            let is_spared = self.spare_last && self.queue.packets() == 1;
            let Some(packet) = self.queue.head_mut() else { break };
            match self.controller.judge(&self.law, packet, now, &mut self.random) {
                Verdict::Drop { .. } if !is_spared => {
                    self.queue.drop_head(DropReason::Early, sink);
                    continue;
                }
                Verdict::Mark | Verdict::Drop { marked: true } => {
                    packet.ecn = Ecn::Ce;
                    sink.marked(packet);
                }
                Verdict::Drop { marked: false } | Verdict::Pass => {}
            }
            return self.queue.pop();
        }
        self.controller.empty(&self.law, now);
        None
    }

    fn retune<S: Sink<B>>(&mut self, fresh: Self, _now: Time, sink: &mut S) -> Option<Self> {
        (self.limit, self.law) = (fresh.limit, fresh.law);
        (self.drop_head, self.spare_last) = (fresh.drop_head, fresh.spare_last);
        self.limit.trim(&mut self.queue, sink);
        None
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
        let declared = Parameters::of(params);
        let ignores_rate = declared.slow_links == SlowLinks::Ignore;
        let short_target = ignores_rate.then(|| advice::short_target(params, link)).flatten();
        [short_target, advice::long_target(params), advice::limit_below_target(params, link)]
            .into_iter()
            .flatten()
            .collect()
    }

    fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
        visit("dropping", f64::from(u8::from(self.controller.is_dropping())));
        visit("count", f64::from(self.controller.count()));
        visit("blue_probability", self.controller.blue());
    }
}
