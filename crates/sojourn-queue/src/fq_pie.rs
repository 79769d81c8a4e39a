//! FQ-PIE: a queue for each flow, each under PIE, served in turns with new flows first (Linux `sch_fq_pie`).
//!
//! Classification and turns are those of [FQ-CoDel](crate::fq_codel), the controllers those of [PIE](crate::pie): packets
//! are dropped at arrival by the probability of their own queue. A full buffer refuses the arrival; there is no fattest
//! flow to pay for it. Every update visits all queues that have been used; Linux visits at most 2048 at a time and the
//! rest right after.
//!
//! Linux's test of its memory limit counts and then ignores what exceeds it; here the limit refuses the arrival.

#[cfg(test)]
mod tests;

use crate::flows::{self, End, Lanes, Rounds};
use crate::hash::FlowHash;
use crate::pie::law::{self, Backlog, Controller, Law, Verdict};
use crate::{Discipline, DropReason, Ecn, Limit, LinkProperties, Packet, Sink};
use sojourn_core::registry::{Descriptor, Kind, Parameter, ParameterError, Params, Preset, Value};
use sojourn_core::{Amount, Span, Stream, Time};

/// "No delay" as a threshold that only zero is below.
const NO_DELAY: Value = Value::Span(Span::from_nanos(1));

/// What `fq_pie` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "fq_pie",
    summary: "a queue for each flow, served in turns with new flows first, and PIE in each",
    sources: &[
        "Linux net/sched/sch_fq_pie.c",
        "ns-3 src/traffic-control/model/fq-pie-queue-disc.cc",
        "RFC 8033",
        "RFC 8290",
    ],
    parameters: &[
        Parameter {
            name: "limit",
            kind: Kind::Amount { min_packets: 1.0, whole: true },
            default: Value::Amount(Amount::Packets(10_240.0)),
            description: "what may wait in all queues together, besides the packet on the wire: packets, bytes, or time at the link's rate",
        },
        Parameter {
            name: "memory_limit",
            kind: Kind::OrAuto(&Kind::Amount { min_packets: 1.0, whole: true }),
            default: Value::Auto,
            description: "a second limit beside the first, meant in bytes; Linux counts the kernel's buffers, up to some times the bytes on the wire that are counted here; auto is none",
        },
        flows::FLOWS,
        flows::PERFECT,
        flows::QUANTUM,
        flows::EMPTY_NEW,
        law::TARGET,
        law::UPDATE,
        law::ALPHA,
        law::BETA,
        law::TUNING,
        law::DECAY,
        law::DECAY_BELOW,
        law::DECAY_WITH_BACKLOG,
        law::BOOST_ABOVE,
        law::BURST,
        law::BURST_FALLS,
        law::HOLD,
        law::QUIET,
        law::ESTIMATOR,
        law::RATE_WEIGHT,
        law::GUARD,
        law::GUARD_DELAY,
        law::MEAN_PACKET,
        law::BY_SIZE,
        law::DERANDOMIZE,
        law::ECN,
        law::MARK_P,
    ],
    presets: &[
        Preset {
            name: "linux",
            summary: "tc fq_pie: 32 MB of memory, PIE as in tc pie",
            values: &[
                ("memory_limit", Value::Amount(Amount::Bytes(33_554_432.0))),
                ("empty_new", Value::Choice("wait-unless-alone")),
                ("decay", Value::Number(1.0 - 1.0 / 64.0)),
                ("decay_below", NO_DELAY),
                ("decay_with_backlog", Value::Boolean(false)),
                ("boost_above", Value::Span(Span::from_millis(250))),
                ("burst_falls", Value::Choice("departures")),
                ("rate_weight", Value::Number(0.125)),
                ("guard", Value::Choice("below")),
                ("guard_delay", Value::Choice("latest")),
                ("derandomize", Value::Boolean(true)),
            ],
        },
        Preset {
            name: "ns3",
            summary: "ns3::FqPieQueueDisc: PIE as in its pie, with ECN",
            values: &[
                ("decay_below", NO_DELAY),
                ("hold", Value::Boolean(true)),
                ("quiet", Value::Span(Span::from_millis(1500))),
                ("rate_weight", Value::Number(0.5)),
                ("guard", Value::Choice("packets")),
                ("mean_packet", Value::Integer(1000)),
                ("ecn", Value::Boolean(true)),
            ],
        },
    ],
};

/// Queues for flows under proportional integral controllers.
#[derive(Debug)]
pub struct FqPie<B> {
    classifier: FlowHash,
    lanes: Lanes<B>,
    rounds: Rounds,
    controllers: Vec<Controller>,
    law: Law,
    limit: Limit,
    memory_limit: Option<Limit>,
    next_update: Time,
    random: Stream,
}

impl<B: Copy> FqPie<B> {
    /// Queues with the given parameters.
    ///
    /// # Errors
    /// A limit that holds no full-size packet, an alpha of zero, a delay that is to come from the link's rate.
    pub fn new(params: &Params, link: &LinkProperties, mut random: Stream) -> Result<Self, ParameterError> {
        if params.choice("estimator") == "link-rate" {
            let rule = "timestamp or departure-rate: a flow's queue has a share of the link's rate that nobody knows";
            return Err(ParameterError::new("estimator", rule));
        }
        let law = Law::new(params, link)?;
        Ok(FqPie {
            classifier: flows::classifier(params, &mut random),
            lanes: Lanes::default(),
            rounds: Rounds::new(params, link.packet_bytes),
            controllers: Vec::new(),
            law,
            limit: Limit::of(params, "limit", link)?,
            memory_limit: match params.is_auto("memory_limit") {
                true => None,
                false => Some(Limit::of(params, "memory_limit", link)?),
            },
            next_update: Time::ZERO + law.update(),
            random,
        })
    }

    fn has_room(&self, bytes: u32) -> bool {
        let (packets, bytes) = (self.lanes.packets() + 1, self.lanes.bytes() + u64::from(bytes));
        !self.limit.is_exceeded(packets, bytes)
            && !self.memory_limit.is_some_and(|limit| limit.is_exceeded(packets, bytes))
    }

    #[inline]
    fn backlog(&self, bucket: usize) -> Backlog {
        Backlog { packets: self.lanes.packets_of(bucket), bytes: self.lanes.bytes_of(bucket) }
    }
}

impl<B: Copy> Discipline<B> for FqPie<B> {
    #[inline]
    fn enqueue<S: Sink<B>>(&mut self, mut packet: Packet<B>, now: Time, sink: &mut S) {
        packet.enqueued = now;
        let bucket = self.classifier.bucket(&packet);
        if bucket >= self.controllers.len() {
            self.controllers.resize(bucket + 1, Controller::default());
        }
        let (room, backlog) = (self.has_room(packet.bytes), self.backlog(bucket));
        let controller = &mut self.controllers[bucket];
        if !room {
            controller.overflow();
            return sink.dropped(&packet, DropReason::Overflow);
        }
        match controller.arrival(&self.law, &packet, backlog, true, &mut self.random) {
            Verdict::Drop => return sink.dropped(&packet, DropReason::Early),
            Verdict::Mark => {
                packet.ecn = Ecn::Ce;
                sink.marked(&packet);
            }
            Verdict::Pass => {}
        }
        self.lanes.push(bucket, packet);
        self.rounds.join(bucket);
    }

    #[inline]
    fn dequeue<S: Sink<B>>(&mut self, now: Time, _sink: &mut S) -> Option<Packet<B>> {
        loop {
            let turn = self.rounds.turn()?;
            let Some(packet) = self.lanes.pop(turn.bucket, End::Head) else {
                self.rounds.found_empty(turn);
                continue;
            };
            self.rounds.sent(turn, packet.bytes);
            let backlog = self.backlog(turn.bucket);
            self.controllers[turn.bucket].departure(&self.law, &packet, backlog, now);
            return Some(packet);
        }
    }

    #[inline]
    fn packets(&self) -> usize {
        self.lanes.packets()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.lanes.bytes()
    }

    fn timer(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn on_timer<S: Sink<B>>(&mut self, _now: Time, _sink: &mut S) {
        for bucket in 0..self.controllers.len() {
            let backlog = self.backlog(bucket);
            self.controllers[bucket].update(&self.law, backlog);
        }
        self.next_update += self.law.update();
    }

    fn probe(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("new_queues", self.rounds.new_buckets() as f64);
        visit("old_queues", self.rounds.old_buckets() as f64);
        visit("max_drop_probability", self.controllers.iter().map(Controller::probability).fold(0.0, f64::max));
    }
}
