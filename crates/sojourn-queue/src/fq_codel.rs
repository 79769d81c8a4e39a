//! FQ-CoDel: a queue for each flow, each under CoDel, served in turns with new flows first (RFC 8290).
//!
//! An arrival is hashed to its queue, which joins the new ones unless it is waiting already. If that exceeds the limit,
//! the queue with the most bytes loses packets from its head: half of its bytes, but no more than a batch. The link is
//! given to the new queues, then to the old ones, a quantum of bytes each; CoDel decides at the head.
//!
//! Linux drops one batch whatever it brought; here batches follow until the limit holds, which differs only where a
//! limit in bytes meets queues of very small packets.

#[cfg(test)]
mod tests;

use crate::codel::law::{self, CoDelController, CoDelLaw, Source};
use crate::flows::{self, EmptyNew, End, FlowQueues, FlowScheduler, Longest, Turns};
use crate::hash::FlowHash;
use crate::{Discipline, DropReason, Limit, LinkProperties, Packet, Sink, advice};
use alloc::vec::Vec;
use core::cmp::Reverse;
use sojourn_core::registry::declare::{choice, flag};
use sojourn_core::registry::{
    Advice, Auto, Descriptor, Form, Linux, Parameter, ParameterError, Params, Preset, Setting, Unit, Value, joined,
};
use sojourn_core::{Amount, Stream, Time, choices, parameters};

choices! {
    /// Where the bytes are counted below which CoDel is silent.
    enum MinBytesIn { All = "all", Queue = "queue" }
}

parameters! {
    /// What can be set.
    struct Parameters {
        limit: Amount = flows::limit_of_all(Amount::Packets(10_240.0)),
        memory_limit: Option<Amount> = flows::MEMORY_LIMIT,
        drop_batch: u32 = flows::DROP_BATCH,
        /// whether packets dropped over the limit are added to the queue's CoDel count, so that it signals faster when it next
        /// does (Linux)
        overflow_counts: bool = flag(false),
        /// where CoDel counts the bytes that min_bytes refers to: in all queues together (Linux) or in the flow's own (ns-3)
        min_bytes_in: MinBytesIn = choice(MinBytesIn::All.value()),
        ecn: bool = law::ecn(true),
    }
}

static PARAMETERS: [Parameter; Turns::LIST.len() + Parameters::LIST.len() + law::Parameters::LIST.len()] =
    joined(&[&Parameters::LIST, &Turns::LIST, &law::Parameters::LIST]);

/// What `fq_codel` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "fq_codel",
    summary: "a queue for each flow, served in turns with new flows first, and CoDel in each",
    sources: &["RFC 8290", "Linux net/sched/sch_fq_codel.c", "ns-3 src/traffic-control/model/fq-codel-queue-disc.cc"],
    parameters: &PARAMETERS,
    presets: &[
        Preset {
            name: "rfc",
            summary: "RFC 8290: 1024 queues, quantum 1514 B, 10240 packets",
            values: &[("quantum", Value::Integer(1514))],
        },
        Preset {
            name: "linux",
            summary: "tc fq_codel: 32 MB of memory, quantum of the MTU, overflows count",
            values: &[
                ("memory_limit", Value::Amount(Amount::Bytes(33_554_432.0))),
                ("empty_new", EmptyNew::WaitUnlessAlone.value()),
                ("overflow_counts", Value::Boolean(true)),
                ("root", law::Root::Newton.value()),
                ("clock", law::Clock::Ticks.value()),
            ],
        },
        Preset {
            name: "ns3",
            summary: "ns3::FqCoDelQueueDisc: CoDel as in its codel, on each queue's own bytes",
            values: &[
                ("min_bytes", Value::Integer(1499)),
                ("min_bytes_in", MinBytesIn::Queue.value()),
                ("after_mark", law::AfterMark::Now.value()),
                ("root", law::Root::Newton.value()),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form {
        name: "fq_codel",
        module: "sch_fq_codel",
        settings: &[
            Setting::option("limit", "limit", Unit::Packets),
            Setting::option("memory_limit", "memory_limit", Unit::Bytes),
            Setting::option("flows", "flows", Unit::Number),
            Setting::auto("quantum", "quantum", Unit::Number, Auto::FullPacket),
            Setting::option("drop_batch", "drop_batch", Unit::Number),
            Setting::option("target", "target", Unit::Micros),
            Setting::option("interval", "interval", Unit::Micros),
            Setting::flag("ecn", "ecn", "noecn"),
            Setting::auto("ce_threshold", "ce_threshold", Unit::Micros, Auto::Omit),
        ],
        remarks: &[flows::MEMORY_LIMIT_IN_LINUX, "it counts time in units of 1024 ns"],
        ..Form::PLAIN
    }]),
    ..Descriptor::PLAIN
};

/// Queues for flows under controlled delay.
#[derive(Debug)]
pub struct FqCoDel<B> {
    classifier: FlowHash,
    queues: FlowQueues<B>,
    /// Buckets by their bytes; among equals the one with the lowest number, as Linux's scan finds it.
    longest: Longest<(u64, Reverse<usize>)>,
    scheduler: FlowScheduler,
    controllers: Vec<CoDelController>,
    law: CoDelLaw,
    min_bytes_in: MinBytesIn,
    limit: Limit,
    memory_limit: Option<Limit>,
    drop_batch: u32,
    overflow_counts: bool,
}

/// The queue of one flow, as CoDel sees it.
struct FlowQueue<'a, B> {
    queues: &'a mut FlowQueues<B>,
    bucket: usize,
    min_bytes_in: MinBytesIn,
}

impl<B: Copy> Source<B> for FlowQueue<'_, B> {
    #[inline]
    fn head(&self) -> Option<&Packet<B>> {
        self.queues.head(self.bucket)
    }
    #[inline]
    fn head_mut(&mut self) -> Option<&mut Packet<B>> {
        self.queues.head_mut(self.bucket)
    }
    #[inline]
    fn take(&mut self) -> Option<Packet<B>> {
        self.queues.pop(self.bucket, End::Head)
    }
    #[inline]
    fn backlog(&self) -> u64 {
        match self.min_bytes_in {
            MinBytesIn::All => self.queues.bytes(),
            MinBytesIn::Queue => self.queues.bytes_of(self.bucket),
        }
    }
}

impl<B: Copy> FqCoDel<B> {
    /// Queues with the given parameters.
    ///
    /// # Errors
    /// A limit that holds no full-size packet, a target that is no less than the interval.
    pub fn new(params: &Params, link: &LinkProperties, mut random: Stream) -> Result<Self, ParameterError> {
        let (declared, turns) = (Parameters::of(params), Turns::of(params));
        Ok(FqCoDel {
            classifier: turns.classifier(&mut random),
            queues: FlowQueues::default(),
            longest: Longest::default(),
            scheduler: FlowScheduler::new(&turns, link.packet_bytes),
            controllers: Vec::new(),
            law: CoDelLaw::new(&law::Parameters::of(params), declared.ecn, link.packet_bytes)?,
            min_bytes_in: declared.min_bytes_in,
            limit: Limit::of(params, "limit", link)?,
            memory_limit: flows::memory_limit(params, link)?,
            drop_batch: declared.drop_batch,
            overflow_counts: declared.overflow_counts,
        })
    }

    fn is_too_full(&self) -> bool {
        let (packets, bytes) = (self.queues.packets(), self.queues.bytes());
        self.limit.is_exceeded(packets, bytes)
            || self.memory_limit.is_some_and(|limit| limit.is_exceeded(packets, bytes))
    }

    #[cold]
    fn drop_from_longest<S: Sink<B>>(&mut self, sink: &mut S) {
        let dropped = flows::drop_from_longest(&mut self.queues, &mut self.longest, self.drop_batch, sink);
        if let Some((bucket, packets)) = dropped.filter(|_| self.overflow_counts) {
            self.controllers[bucket].count_overflow(packets);
        }
    }
}

impl<B: Copy> Discipline<B> for FqCoDel<B> {
    #[inline]
    fn enqueue<S: Sink<B>>(&mut self, packet: Packet<B>, now: Time, sink: &mut S) {
        let bucket = self.classifier.bucket(&packet);
        if bucket >= self.controllers.len() {
            self.controllers.resize(bucket + 1, CoDelController::default());
        }
        self.queues.push(bucket, &packet).enqueued = now;
        self.longest.grew(bucket);
        self.scheduler.activate(bucket);
        while self.is_too_full() {
            self.drop_from_longest(sink);
        }
    }

    #[inline]
    fn dequeue<S: Sink<B>>(&mut self, now: Time, sink: &mut S) -> Option<Packet<B>> {
        loop {
            let flow = self.scheduler.next()?;
            let controller = &mut self.controllers[flow.bucket];
            let mut flow_queue =
                FlowQueue { queues: &mut self.queues, bucket: flow.bucket, min_bytes_in: self.min_bytes_in };
            controller.prepare(&self.law, &mut flow_queue, now, sink);
            match self.queues.head(flow.bucket) {
                Some(packet) => {
                    self.scheduler.charge(flow, packet.bytes);
                    return self.queues.pop(flow.bucket, End::Head);
                }
                None => self.scheduler.found_empty(flow),
            }
        }
    }

    /// As in Linux, which cannot change the number of queues; of what is too much goes whose turn it is.
    fn retune<S: Sink<B>>(&mut self, fresh: Self, now: Time, sink: &mut S) -> Option<Self> {
        if !self.classifier.is_like(&fresh.classifier) {
            return Some(fresh);
        }
        (self.law, self.min_bytes_in, self.limit) = (fresh.law, fresh.min_bytes_in, fresh.limit);
        (self.memory_limit, self.drop_batch) = (fresh.memory_limit, fresh.drop_batch);
        self.overflow_counts = fresh.overflow_counts;
        self.scheduler.retune(&fresh.scheduler);
        while self.is_too_full() {
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

    fn marks(params: &Params) -> bool {
        law::marks(params)
    }

    fn advice(params: &Params, link: &LinkProperties) -> Vec<Advice> {
        advice::controlled_flows(params, link, advice::long_target(params))
    }

    fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
        visit("new_queues", self.scheduler.new_flows() as f64);
        visit("old_queues", self.scheduler.old_flows() as f64);
    }
}
