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
use sojourn_core::registry::{Advice, Descriptor, Kind, Linux, Parameter, ParameterError, Params, Preset, Value};
use sojourn_core::{Amount, Span, Stream, Time};

/// What `cobalt` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "cobalt",
    summary: "CAKE's controller: CoDel whose count fades, and BLUE against flows that do not answer",
    sources: &["Linux net/sched/sch_cake.c", "ns-3 src/traffic-control/model/cobalt-queue-disc.cc"],
    parameters: &[
        limit(Amount::Bytes(4_194_304.0)).parameter("limit"),
        Parameter {
            name: "drop",
            kind: Kind::Choice(&["head", "tail"]),
            default: Value::Choice("head"),
            description: "which packet a full buffer drops: the oldest (head, CAKE) or the arrival (tail, ns-3)",
        },
        Parameter {
            name: "target",
            kind: Kind::Span { min: Span::from_nanos(1), max: Span::from_secs(1000) },
            default: Value::Span(Span::from_millis(5)),
            description: "acceptable standing queue, as sojourn time; tc cake sets it to a twentieth of rtt",
        },
        Parameter {
            name: "interval",
            kind: Kind::Span { min: Span::from_nanos(2), max: Span::from_secs(10_000) },
            default: Value::Span(Span::from_millis(100)),
            description: "time above target before the first signal, and between the first two (tc cake rtt)",
        },
        Parameter {
            name: "slow_links",
            kind: Kind::Choice(&["stretch", "ignore"]),
            default: Value::Choice("stretch"),
            description: "where a packet takes long: target is at least 1.5 full packets' time, interval grows by as much and is at least twice target, and no delay of up to 4 full packets' time counts (CAKE with a rate); or nothing of this (ns-3)",
        },
        Parameter {
            name: "ecn",
            kind: Kind::Boolean,
            default: Value::Boolean(true),
            description: "whether CoDel marks ECN-capable packets instead of dropping them; BLUE always drops",
        },
        Parameter {
            name: "increment",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            default: Value::Number(1.0 / 256.0),
            description: "what an overflow adds to BLUE's probability, at most once in target",
        },
        Parameter {
            name: "decrement",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            default: Value::Number(1.0 / 4096.0),
            description: "what an empty queue takes from BLUE's probability, at most once in target",
        },
        Parameter {
            name: "blue_above",
            kind: Kind::OrAuto(&Kind::Span { min: Span::ZERO, max: Span::from_secs(1000) }),
            default: Value::Auto,
            description: "delay above which BLUE's probability rises as with an overflow (ns-3 BlueThreshold); auto is never",
        },
        Parameter {
            name: "first_signal",
            kind: Kind::Choice(&["next-packet", "interval"]),
            default: Value::Choice("next-packet"),
            description: "when a queue that has never signalled does so: with the next packet after the first above target (Linux), or after interval (ns-3)",
        },
        Parameter {
            name: "spare_last",
            kind: Kind::Boolean,
            default: Value::Boolean(true),
            description: "whether the last packet of the queue is sent instead of dropped (CAKE does so, ns-3 does not)",
        },
    ],
    presets: &[
        Preset { name: "cake", summary: "one queue of tc cake with a rate: 4 MB, rtt 100 ms", values: &[] },
        Preset {
            name: "ns3",
            summary: "ns3::CobaltQueueDisc: 1.5 MB, no ECN, BLUE above 400 ms",
            values: &[
                ("limit", Value::Amount(Amount::Bytes(1_500_000.0))),
                ("drop", Value::Choice("tail")),
                ("slow_links", Value::Choice("ignore")),
                ("ecn", Value::Boolean(false)),
                ("blue_above", Value::Span(Span::from_millis(400))),
                ("first_signal", Value::Choice("interval")),
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
        Ok(Cobalt {
            queue: Fifo::default(),
            limit: Limit::of(params, "limit", link)?,
            drop_head: params.choice("drop") == "head",
            spare_last: params.boolean("spare_last"),
            law: CobaltLaw::new(params, link)?,
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
        let ignores_rate = params.choice("slow_links") == "ignore";
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
