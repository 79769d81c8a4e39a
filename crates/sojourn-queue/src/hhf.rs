//! HHF: the heavy-hitter filter (Linux `sch_hhf`, Lam and Dukkipati 2013; Estan and Varghese 2002).
//!
//! Two first-in first-out queues: one for flows that were seen to send much, one for all others. For each arrival:
//! 1. a flow in the table of heavy ones is heavy;
//! 2. for others, four counters by four hashes of the flow are looked up. If all of them, with this packet, are above
//!    a threshold, the flow is heavy from now on, and its bytes are counted no more;
//! 3. else each counter is raised to the least of the sums, and no further (conservative update);
//! 4. a full buffer drops the oldest heavy packet, or the oldest of all where there is none.
//!
//! Counters begin anew after a while, and a flow leaves the table when it was silent for long. The two queues take turns as
//! in FQ-CoDel, the light one with more bytes for each, and the heavy one never counts as new. Nothing is dropped
//! early or marked. A flow may overtake itself when it becomes heavy while packets of it wait among the light ones.
//!
//! The kernel counts time in ticks of its clock, of which there are 100 to 1000 in a second; here it is exact unless `tick`
//! says otherwise.

mod filter;
mod table;
#[cfg(test)]
mod tests;

use crate::fifo::limit;
use crate::flows::{self, EmptyNew, FlowScheduler, PERFECT};
use crate::{Discipline, DropReason, Fifo, FlowHash, Limit, LinkProperties, Packet, Sink};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use filter::Filter;
use sojourn_core::registry::declare::{integer, span};
use sojourn_core::registry::{Advice, Auto, Descriptor, Form, Linux, ParameterError, Params, Preset, Setting, Unit};
use sojourn_core::{Amount, Span, Stream, Time, parameters};
use table::Table;

const NAMES: [&str; 2] = ["heavy", "light"];
const HEAVY: usize = 0;
const LIGHT: usize = 1;

const MAX_TIME: Span = Span::from_secs(1000);

parameters! {
    /// What can be set.
    struct Parameters {
        /// what may wait in both queues together, besides the packet on the wire: packets, bytes, or time at the link's rate
        limit: Amount = limit(Amount::Packets(1000.0)),
        /// bytes that the heavy queue may send in its turn; auto is the link's full-size packet
        quantum: Option<u32> = flows::QUANTUM,
        /// quanta that the queue of the others may send in its turn
        non_hh_weight: u32 = integer(2, 1..=1000),
        /// bytes within reset_timeout above which a flow is heavy; the default is 26 Mbit/s
        admit_bytes: u32 = integer(131_072, 1..=u32::MAX as u64),
        /// time after which the counters begin anew
        reset_timeout: Span = span(Span::from_millis(40), Span::from_micros(1)..=MAX_TIME),
        /// silence after which a flow is no longer heavy
        evict_timeout: Span = span(Span::from_secs(1), Span::from_micros(1)..=MAX_TIME),
        /// how finely time is counted for reset_timeout and evict_timeout; Linux counts ticks of 1 to 10 ms, 4 ms on most
        /// hosts
        tick: Span = span(Span::from_nanos(1), Span::from_nanos(1)..=Span::from_secs(1)),
        /// most heavy flows at a time; further ones stay with the others
        hh_limit: usize = integer(2048, 1..=65_536),
        /// whether the flow's number stands for its hash, so that up to 1024 flows have counters of their own; for study, no
        /// implementation does so
        perfect: bool = PERFECT,
    }
}

/// What `hhf` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "hhf",
    summary: "heavy-hitter filter: flows that send much share a queue of their own with less weight",
    sources: &[
        "Linux net/sched/sch_hhf.c",
        "Estan and Varghese 2002, New Directions in Traffic Measurement and Accounting",
    ],
    parameters: &Parameters::LIST,
    presets: &[Preset { name: "linux", summary: "sch_hhf's defaults, which are those here", values: &[] }],
    linux: Linux::Kernel(&[Form {
        name: "hhf",
        module: "sch_hhf",
        settings: &[
            Setting::option("limit", "limit", Unit::Packets),
            Setting::auto("quantum", "quantum", Unit::Number, Auto::FullPacket),
            Setting::option("non_hh_weight", "non_hh_weight", Unit::Number),
            Setting::option("admit_bytes", "admit_bytes", Unit::Number),
            Setting::option("reset_timeout", "reset_timeout", Unit::Micros),
            Setting::option("evict_timeout", "evict_timeout", Unit::Micros),
            Setting::option("hh_limit", "hh_limit", Unit::Number),
        ],
        ..Form::PLAIN
    }]),
    ..Descriptor::PLAIN
};

/// Two queues, one of them for heavy hitters.
#[derive(Debug)]
pub struct Hhf<B> {
    queues: [Fifo<B>; 2],
    limit: Limit,
    /// Counts what a queue sends in units of a byte over its weight, so that both have the same quantum.
    scheduler: FlowScheduler,
    prices: [u32; 2],
    hash: FlowHash,
    table: Table,
    filter: Filter,
    tick: Span,
}

impl<B: Copy> Hhf<B> {
    /// Empty queues with the given parameters.
    ///
    /// # Errors
    /// A limit that holds no full-size packet.
    pub fn new(params: &Params, link: &LinkProperties, mut random: Stream) -> Result<Self, ParameterError> {
        let declared = Parameters::of(params);
        let weight = declared.non_hh_weight;
        let quantum = declared.quantum.unwrap_or(link.packet_bytes);
        Ok(Hhf {
            queues: Default::default(),
            limit: Limit::of(params, "limit", link)?,
            scheduler: FlowScheduler::with(i64::from(quantum) * i64::from(weight), EmptyNew::WaitUnlessAlone),
            prices: [weight, 1],
            hash: FlowHash::new(&mut random, u32::MAX, declared.perfect),
            table: Table::new(declared.evict_timeout, declared.hh_limit),
            tick: declared.tick,
            filter: Filter::new(declared.reset_timeout, u64::from(declared.admit_bytes)),
        })
    }

    /// Steps 1 to 3.
    #[inline]
    fn classify(&mut self, packet: &Packet<B>, now: Time) -> usize {
        let now = Time::from_nanos(now.as_nanos() - now.as_nanos() % self.tick.as_nanos());
        self.filter.refresh(now);
        let flow = self.hash.bucket(packet) as u32;
        if self.table.sees(flow, now) {
            return HEAVY;
        }
        if !self.filter.catches(flow, packet.bytes) {
            return LIGHT;
        }
        if self.table.admit(flow, now) { HEAVY } else { LIGHT }
    }

    /// Step 4.
    #[cold]
    fn drop_oldest<S: Sink<B>>(&mut self, sink: &mut S) {
        let [heavy, light] = &mut self.queues;
        if let Some(packet) = heavy.pop().or_else(|| light.pop()) {
            sink.dropped(&packet, DropReason::Overflow);
        }
    }
}

impl<B: Copy> Discipline<B> for Hhf<B> {
    #[inline]
    fn enqueue<S: Sink<B>>(&mut self, mut packet: Packet<B>, now: Time, sink: &mut S) {
        packet.enqueued = now;
        let class = self.classify(&packet, now);
        packet.class = class as u8;
        self.queues[class].push(&packet);
        if class == HEAVY {
            self.scheduler.activate_old(HEAVY);
        } else {
            self.scheduler.activate(LIGHT);
        }
        while self.limit.is_exceeded(self.packets(), self.bytes()) {
            self.drop_oldest(sink);
        }
    }

    #[inline]
    fn dequeue<S: Sink<B>>(&mut self, _now: Time, _sink: &mut S) -> Option<Packet<B>> {
        loop {
            let flow = self.scheduler.next()?;
            let class = flow.bucket;
            let Some(packet) = self.queues[class].pop() else {
                self.scheduler.found_empty(flow);
                continue;
            };
            self.scheduler.charge(flow, packet.bytes * self.prices[class]);
            return Some(packet);
        }
    }

    #[inline]
    fn packets(&self) -> usize {
        self.queues.iter().map(Fifo::packets).sum()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.queues.iter().map(Fifo::bytes).sum()
    }

    fn classes(&self) -> Vec<String> {
        NAMES.map(String::from).to_vec()
    }

    fn advice(params: &Params, link: &LinkProperties) -> Vec<Advice> {
        let declared = Parameters::of(params);
        let reset_timeout = declared.reset_timeout;
        let most = link.rate.bytes_in(reset_timeout);
        if f64::from(declared.admit_bytes) < most {
            return Vec::new();
        }
        let text = format!(
            "the link itself sends no more than {most:.0} B in reset_timeout ({reset_timeout}), so no flow that lasts is ever called heavy, \
             and all share one queue; usual is a small part of the link's rate"
        );
        vec![Advice::new("admit_bytes", text)]
    }

    fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
        visit("heavy_flows", self.table.flows() as f64);
        visit("heavy_packets", self.queues[HEAVY].packets() as f64);
        visit("light_packets", self.queues[LIGHT].packets() as f64);
    }
}
