//! FQ-PIE: a queue for each flow, each under PIE, served in turns with new flows first (Linux `sch_fq_pie`).
//!
//! Classification and turns are those of [FQ-CoDel](crate::fq_codel), the controllers those of [PIE](crate::pie): packets
//! are dropped at arrival by the probability of their own queue. A full buffer refuses the arrival in Linux; in ns-3 the
//! queue with the most bytes pays for it. Linux's update goes through all queues, 2048 at a time; here it leaves out those
//! whose last update changed nothing and that have not changed since, for which it would change nothing again.
//!
//! Linux's test of its memory limit counts and then ignores what exceeds it; here the limit refuses the arrival.

#[cfg(test)]
mod tests;

use crate::flows::{self, EmptyNew, End, FlowQueues, FlowScheduler, Longest, Subset, Turns};
use crate::hash::FlowHash;
use crate::pie::law::{self, PieController, PieLaw, Verdict};
use crate::{Backlog, Discipline, DropReason, Ecn, Limit, LinkProperties, Packet, Sink, advice};
use alloc::vec::Vec;
use core::cmp::Reverse;
use sojourn_core::registry::declare::choice;
use sojourn_core::registry::{
    Advice, Auto, Descriptor, Form, Linux, Parameter, ParameterError, Params, Preset, Setting, Unit, Value, joined,
};
use sojourn_core::{Amount, Stream, Time, choices, parameters};

choices! {
    /// Words of `overflow`.
    enum Overflow { Refuse = "refuse", Longest = "longest" }
}

parameters! {
    /// What can be set.
    struct Own {
        limit: Amount = flows::limit_of_all(Amount::Packets(10_240.0)),
        memory_limit: Option<Amount> = flows::MEMORY_LIMIT,
        /// what a full buffer does: it refuses the arrival (Linux), or drops from the head of the queue with the most bytes,
        /// as FQ-CoDel does (ns-3)
        overflow: Overflow = choice(Overflow::Refuse.value()),
        drop_batch: u32 = flows::DROP_BATCH,
    }
}

static PARAMETERS: [Parameter; Own::LIST.len() + Turns::LIST.len() + law::Parameters::LIST.len()] =
    joined(&[&Own::LIST, &Turns::LIST, &law::Parameters::LIST]);

const OWN_OF_LINUX: &[(&str, Value)] =
    &[("memory_limit", Value::Amount(Amount::Bytes(33_554_432.0))), ("empty_new", EmptyNew::WaitUnlessAlone.value())];

static LINUX: [(&str, Value); OWN_OF_LINUX.len() + law::LINUX.len()] = joined(&[OWN_OF_LINUX, law::LINUX]);

static NS3: [(&str, Value); 2 + law::NS3.len()] =
    joined(&[&[("overflow", Overflow::Longest.value())], law::NS3, &[("ecn", Value::Boolean(true))]]);

const OWN_SETTINGS: &[Setting] = &[
    Setting::option("limit", "limit", Unit::Packets),
    Setting::option("memory_limit", "memory_limit", Unit::Bytes),
    Setting::option("flows", "flows", Unit::Number),
    Setting::auto("quantum", "quantum", Unit::Number, Auto::FullPacket),
];

static SETTINGS: [Setting; OWN_SETTINGS.len() + law::SETTINGS.len() + 1] =
    joined(&[OWN_SETTINGS, law::SETTINGS, &[Setting::option("mark_p", "ecn_prob", Unit::Percent)]]);

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
    parameters: &PARAMETERS,
    presets: &[
        Preset { name: "linux", summary: "tc fq_pie: 32 MB of memory, PIE as in tc pie", values: &LINUX },
        Preset {
            name: "ns3",
            summary: "ns3::FqPieQueueDisc: ECN, the longest queue pays for an overflow, PIE as in its pie",
            values: &NS3,
        },
    ],
    linux: Linux::Kernel(&[Form {
        name: "fq_pie",
        module: "sch_fq_pie",
        settings: &SETTINGS,
        remarks: &[flows::MEMORY_LIMIT_IN_LINUX, law::UPDATE_IN_LINUX],
        ..Form::PLAIN
    }]),
    ..Descriptor::PLAIN
};

/// Queues for flows under proportional integral controllers.
#[derive(Debug)]
pub struct FqPie<B> {
    classifier: FlowHash,
    queues: FlowQueues<B>,
    /// Where a full buffer drops from the longest queue.
    longest: Option<Longest<(u64, Reverse<usize>)>>,
    drop_batch: u32,
    scheduler: FlowScheduler,
    controllers: Vec<PieController>,
    /// Those that an update may change.
    unsettled: Subset,
    law: PieLaw,
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
        let (declared, own, turns) = (law::Parameters::of(params), Own::of(params), Turns::of(params));
        if declared.estimator == law::Source::LinkRate {
            let rule = "timestamp or departure-rate: a flow's queue has a share of the link's rate that nobody knows";
            return Err(ParameterError::new("estimator", rule));
        }
        let law = PieLaw::new(&declared, link)?;
        Ok(FqPie {
            classifier: turns.classifier(&mut random),
            queues: FlowQueues::default(),
            longest: (own.overflow == Overflow::Longest).then(Longest::default),
            drop_batch: own.drop_batch,
            scheduler: FlowScheduler::new(&turns, link.packet_bytes),
            controllers: Vec::new(),
            unsettled: Subset::default(),
            law,
            limit: Limit::of(params, "limit", link)?,
            memory_limit: flows::memory_limit(params, link)?,
            next_update: link.since + law.update(),
            random,
        })
    }

    fn exceeds(&self, packets: usize, bytes: u64) -> bool {
        self.limit.is_exceeded(packets, bytes)
            || self.memory_limit.is_some_and(|limit| limit.is_exceeded(packets, bytes))
    }
}

/// What waits in `bucket`.
#[inline]
fn backlog<B: Copy>(queues: &FlowQueues<B>, bucket: usize) -> Backlog {
    Backlog { packets: queues.packets_of(bucket), bytes: queues.bytes_of(bucket) }
}

impl<B: Copy> Discipline<B> for FqPie<B> {
    #[inline]
    fn enqueue<S: Sink<B>>(&mut self, mut packet: Packet<B>, now: Time, sink: &mut S) {
        packet.enqueued = now;
        let bucket = self.classifier.bucket(&packet);
        if bucket >= self.controllers.len() {
            self.controllers.resize(bucket + 1, PieController::default());
        }
        self.unsettled.insert(bucket);
        let full = self.exceeds(self.queues.packets() + 1, self.queues.bytes() + u64::from(packet.bytes));
        let backlog = backlog(&self.queues, bucket);
        let controller = &mut self.controllers[bucket];
        if full && self.longest.is_none() {
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
        self.queues.push(bucket, &packet);
        self.scheduler.activate(bucket);
        if let Some(mut longest) = self.longest.take() {
            longest.grew(bucket);
            while self.exceeds(self.queues.packets(), self.queues.bytes()) {
                let dropped = flows::drop_from_longest(&mut self.queues, &mut longest, self.drop_batch, sink);
                self.unsettled.insert(dropped.expect("what exceeds a limit is not empty").0);
            }
            self.longest = Some(longest);
        }
    }

    #[inline]
    fn dequeue<S: Sink<B>>(&mut self, now: Time, _sink: &mut S) -> Option<Packet<B>> {
        loop {
            let flow = self.scheduler.next()?;
            let Some(packet) = self.queues.pop(flow.bucket, End::Head) else {
                self.scheduler.found_empty(flow);
                continue;
            };
            self.scheduler.charge(flow, packet.bytes);
            self.unsettled.insert(flow.bucket);
            let backlog = backlog(&self.queues, flow.bucket);
            self.controllers[flow.bucket].departure(&self.law, &packet, backlog, now);
            return Some(packet);
        }
    }

    /// As in Linux, which cannot change the number of queues; of what is too much goes whose turn it is.
    fn retune<S: Sink<B>>(&mut self, fresh: Self, now: Time, sink: &mut S) -> Option<Self> {
        if !self.classifier.is_like(&fresh.classifier) || self.longest.is_some() != fresh.longest.is_some() {
            return Some(fresh);
        }
        (self.law, self.limit, self.memory_limit) = (fresh.law, fresh.limit, fresh.memory_limit);
        self.drop_batch = fresh.drop_batch;
        self.scheduler.retune(&fresh.scheduler);
        while self.exceeds(self.queues.packets(), self.queues.bytes()) {
            let Some(packet) = self.dequeue(now, sink) else { break };
            sink.dropped(&packet, DropReason::Overflow);
        }
        None
    }

    #[inline]
    fn packets(&self) -> usize {
        self.queues.packets()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.queues.bytes()
    }

    fn timer(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn on_timer<S: Sink<B>>(&mut self, _now: Time, _sink: &mut S) {
        self.unsettled.retain(|bucket| {
            let controller = &mut self.controllers[bucket];
            let before = *controller;
            controller.update(&self.law, backlog(&self.queues, bucket));
            *controller != before
        });
        self.next_update += self.law.update();
    }

    fn advice(params: &Params, link: &LinkProperties) -> Vec<Advice> {
        advice::controlled_flows(params, link, advice::slow_updates(params))
    }

    fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
        visit("new_queues", self.scheduler.new_flows() as f64);
        visit("old_queues", self.scheduler.old_flows() as f64);
        visit("max_drop_probability", self.controllers.iter().map(PieController::probability).fold(0.0, f64::max));
    }
}
