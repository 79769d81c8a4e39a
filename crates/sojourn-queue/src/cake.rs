//! CAKE: a shaper over tins over queues (Linux `sch_cake.c`).
//!
//! An arrival's DSCP decides its tin (`plan`), its hash the queue there (`ways`). When the shaper lets a packet go
//! (`shaper`), the highest tin that is within its rate sends, or where none is the one that will be first; without a
//! rate, tins take turns by weight. Within the tin the flows take turns (`tin`), which are shorter the more bulk flows
//! a flow's host has, and COBALT decides at the head of the queue. Over the memory limit the longest queue of all loses
//! its head. Acknowledgements that a new one makes superfluous may be dropped on arrival (`acks`).
//!
//! Not here: `autorate-ingress`, NAT look-ups, firewall marks and filters, the splitting of super-packets (there are
//! none), several interfaces sharing a rate. Of equally long queues the kernel's heap drops from any, here it is the
//! one with the lowest number. COBALT's square root is exact, see `cobalt`.

mod acks;
mod descriptor;
mod plan;
mod shaper;
#[cfg(test)]
mod tests;
mod tin;
mod ways;

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::vec::Vec;
pub use descriptor::DESCRIPTOR;
use descriptor::Parameters;

use crate::cobalt::law::Verdict;
use crate::flows::{End, FlowQueues, Longest};
use crate::framing::Framing;
use crate::hash::FlowHash;
use crate::{Body, Discipline, DropReason, Dscp, Ecn, FlowKey, Limit, LinkProperties, Packet, Sink};
use acks::Filter;
use core::cmp::Reverse;
use descriptor::Isolation;
use plan::Plan;
use shaper::Shaper;
use sojourn_core::registry::{Advice, ParameterError, Params};
use sojourn_core::{Stream, Time};
use tin::{Setting, Tin};
use ways::{Holder, PLACES, Ways};

/// In ingress mode a delay of so many full packets' time for each bulk flow is no congestion.
const INGRESS_PACKETS: u64 = 2;

/// A shaper over tins over queues.
#[derive(Debug)]
pub struct Cake<B> {
    plan: &'static Plan,
    tin_of: [u8; 64],
    wash: bool,
    isolation: Isolation,
    hash: FlowHash,
    ways: Vec<Ways>,
    tins: Vec<Tin>,
    /// The tin that sends, where they take turns.
    current: usize,
    queues: FlowQueues<B>,
    longest: Longest<(u64, Reverse<usize>)>,
    limit: Limit,
    shaper: Shaper,
    framing: Framing,
    ingress: bool,
    ack_filter: Filter,
    random: Stream,
}

impl<B: Body> Cake<B> {
    /// Empty tins with the given parameters.
    ///
    /// # Errors
    /// A limit that holds no full-size packet, a target that is no less than the rtt, perfect queues for flows that
    /// are to share one.
    pub fn new(params: &Params, link: &LinkProperties, mut random: Stream) -> Result<Self, ParameterError> {
        let declared = Parameters::of(params);
        let plan = descriptor::plan(params);
        let (isolation, fair_hosts) = descriptor::isolation(params)?;
        let (target, interval) = descriptor::times(params)?;
        let bandwidth = descriptor::bandwidth(params);
        let rates = bandwidth.map(|rate| plan.rates(rate.bits_per_second() / 8));
        let full_packet = link.packet_bytes;
        let tin = |(index, quantum)| {
            let rate = rates.as_ref().map(|rates| rates[index]);
            Tin::new(&Setting { rate, quantum, target, interval, full_packet, fair_hosts })
        };
        let tins: Vec<Tin> = plan.quanta().into_iter().enumerate().map(tin).collect();
        Ok(Cake {
            plan,
            tin_of: core::array::from_fn(|number| Dscp::from_number(number as u64).map_or(0, |dscp| plan.tin_of(dscp))),
            wash: declared.wash,
            isolation,
            hash: FlowHash::new(&mut random, PLACES, false),
            ways: tins.iter().map(|_| Ways::new()).collect(),
            tins,
            current: 0,
            queues: FlowQueues::default(),
            longest: Longest::default(),
            limit: descriptor::limit(params, link)?,
            shaper: Shaper::new(bandwidth),
            framing: descriptor::framing(params),
            ingress: declared.ingress,
            ack_filter: descriptor::ack_filter(params),
            random,
        })
    }

    /// The queue of `packet` in `tin`, with its hosts known.
    #[inline]
    fn flow(&mut self, tin: usize, packet: &Packet<B>) -> u32 {
        let hash = match self.isolation {
            Isolation::One => 0,
            Isolation::Hosts(ends) => host_keys(packet.key)
                .into_iter()
                .zip(ends)
                .filter(|(_, counts)| *counts)
                .fold(0, |hash, (key, _)| hash ^ upper(self.hash.bits_of(key))),
            Isolation::Flows => upper(self.hash.bits(packet)),
            Isolation::Perfect => packet.flow,
        };
        let (flow, holder) = match self.isolation {
            Isolation::Perfect => (hash, if self.tins[tin].is_active(hash) { Holder::Itself } else { Holder::Nobody }),
            _ => {
                let table = &self.tins[tin];
                self.ways[tin].find(hash, |flow| table.is_active(flow))
            }
        };
        if holder != Holder::Itself {
            self.tins[tin].grow(flow as usize + 1);
            self.seat(tin, flow, packet.key);
        }
        flow
    }

    /// Notes the hosts of `flow`, which is for flows with `key` from now on.
    fn seat(&mut self, tin: usize, flow: u32, key: FlowKey) {
        let tin = &mut self.tins[tin];
        let mut places = [0; 2];
        let ends = host_keys(key).into_iter().zip([key.source, key.destination]);
        for ((place, hosts), (key, host)) in places.iter_mut().zip(&mut tin.hosts).zip(ends) {
            if let Some(hosts) = hosts {
                *place = match self.isolation {
                    Isolation::Perfect => hosts.own_place(host),
                    _ => hosts.place(upper(self.hash.bits_of(key))),
                };
            }
        }
        tin.seat(flow, places);
    }

    /// The place in `queues` of a tin's queue.
    #[inline]
    fn bucket_of(&self, tin: usize, flow: u32) -> usize {
        flow as usize * self.tins.len() + tin
    }

    /// Drops the acknowledgement that `newest`, the last of its queue, makes superfluous.
    fn filter<S: Sink<B>>(&mut self, tin: usize, bucket: usize, newest: &Packet<B>, now: Time, sink: &mut S) {
        let others = self.queues.packets_of(bucket) - 1;
        let superseded = self.ack_filter.superseded(self.queues.chain(bucket).take(others), newest);
        let Some(packet) = superseded.and_then(|place| self.queues.take(bucket, place)) else { return };
        self.tins[tin].bytes -= u64::from(packet.bytes);
        self.tins[tin].ack_drops += 1;
        sink.dropped(&packet, DropReason::Redundant);
        if self.ingress {
            self.charge_drop(tin, self.framing.bytes(packet.bytes), now);
        }
    }

    /// A dropped packet of `bytes` bytes on the wire counts against the rates all the same.
    fn charge_drop(&mut self, tin: usize, bytes: u32, now: Time) {
        self.shaper.dropped(bytes);
        self.tins[tin].schedule.sent(bytes, now);
    }

    /// Drops from the head of the longest queue of all tins.
    #[cold]
    fn drop_from_longest<S: Sink<B>>(&mut self, now: Time, sink: &mut S) {
        let longest = self.longest.find(|bucket| match self.queues.bytes_of(bucket) {
            0 => None,
            bytes => Some((bytes, Reverse(bucket))),
        });
        let Some(bucket) = longest else { return };
        let (tin, flow) = (bucket % self.tins.len(), (bucket / self.tins.len()) as u32);
        let Some(packet) = self.queues.pop(bucket, End::Head) else { return };
        self.tins[tin].bytes -= u64::from(packet.bytes);
        self.tins[tin].overflowed(flow, now);
        sink.dropped(&packet, DropReason::Overflow);
        if self.ingress {
            self.charge_drop(tin, self.framing.bytes(packet.bytes), now);
        }
    }

    /// The tin that may send; there is a packet in one of them.
    #[inline]
    fn choose_tin(&mut self, now: Time) -> usize {
        if self.shaper.shapes() { self.scheduled_tin(now) } else { self.tin_in_turn() }
    }

    /// The highest tin within its rate, or the one that will be first.
    fn scheduled_tin(&self, now: Time) -> usize {
        let waiting = self.tins.iter().enumerate().filter(|(_, tin)| tin.waits());
        let mut best = (0, Time::NEVER);
        for (index, tin) in waiting {
            let next = tin.schedule.next();
            if next <= now || next <= best.1 {
                best = (index, next);
            }
        }
        best.0
    }

    /// The tin whose turn it is, by weight. A turn that was begun in debt is passed on with a quantum more.
    fn tin_in_turn(&mut self) -> usize {
        self.pass_turns();
        loop {
            let tin = &mut self.tins[self.current];
            if tin.deficit >= 0 && tin.waits() {
                return self.current;
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.quantum;
            }
            self.current += 1;
            if self.current == self.tins.len() {
                self.current = 0;
            }
        }
    }

    /// Where one tin alone waits, its turn comes round until it is out of debt, and changes no other that is not in debt: as many
    /// turns at once as that takes.
    fn pass_turns(&mut self) {
        let (before, rest) = self.tins.split_at_mut(self.current);
        let [tin, after @ ..] = rest else { return };
        let changes = |other: &Tin| other.waits() || other.deficit <= 0;
        if tin.waits() && tin.deficit < 0 && !before.iter().chain(&*after).any(changes) {
            tin.deficit += tin.quantum;
            // Mostly one turn is enough, and needs no division.
            if tin.deficit < 0 {
                let turns = (tin.quantum - 1 - tin.deficit) / tin.quantum;
                tin.deficit += turns * tin.quantum;
            }
        }
    }

    /// The queue of a tin whose head is sent next, and is charged for; `None` if the flow whose turn it was had no packet.
    fn prepare<S: Sink<B>>(
        &mut self,
        index: usize,
        look_at_decaying: &mut bool,
        now: Time,
        sink: &mut S,
    ) -> Option<usize> {
        loop {
            let (queues, tins) = (&self.queues, self.tins.len());
            let holds = |flow| queues.packets_of(flow as usize * tins + index) > 0;
            let flow = self.tins[index].turn(look_at_decaying, holds, &mut self.random)?;
            let bucket = self.bucket_of(index, flow);
            loop {
                let is_last = self.queues.packets_of(bucket) == 1;
                let Some(packet) = self.queues.head_mut(bucket) else { break };
                let bytes = self.framing.bytes(packet.bytes);
                let tin = &mut self.tins[index];
                tin.bytes -= u64::from(packet.bytes);
                let sparing;
                let law = if self.ingress {
                    sparing = tin.law.sparing(tin.packet_time * INGRESS_PACKETS * u64::from(tin.census.bulk));
                    &sparing
                } else {
                    &tin.law
                };
                match tin.flows[flow as usize].controller.judge(law, packet, now, &mut self.random) {
                    Verdict::Drop { .. } if !is_last => {
                        self.queues.drop_head(bucket, DropReason::Early, sink);
                        if self.ingress {
                            tin.charge(flow, bytes);
                            self.charge_drop(index, bytes, now);
                            break;
                        }
                        continue;
                    }
                    Verdict::Mark | Verdict::Drop { marked: true } => {
                        packet.ecn = Ecn::Ce;
                        sink.marked(packet);
                    }
                    Verdict::Drop { marked: false } | Verdict::Pass => {}
                }
                tin.charge(flow, bytes);
                tin.schedule.sent(bytes, now);
                self.shaper.sent(bytes);
                return Some(bucket);
            }
            if self.queues.packets_of(bucket) == 0 {
                self.tins[index].found_empty(flow, now);
                return None;
            }
        }
    }
}

/// The keys of a flow's hosts alone: the sending one's and the receiving one's.
fn host_keys(key: FlowKey) -> [FlowKey; 2] {
    [
        FlowKey { source: key.source, ..FlowKey::default() },
        FlowKey { destination: key.destination, ..FlowKey::default() },
    ]
}

/// A hash of 32 bits, as the kernel has.
#[inline]
fn upper(bits: u64) -> u32 {
    (bits >> 32) as u32
}

impl<B: Body> Discipline<B> for Cake<B> {
    #[inline]
    fn enqueue<S: Sink<B>>(&mut self, packet: Packet<B>, now: Time, sink: &mut S) {
        let class = self.tin_of[usize::from(packet.dscp.number())];
        let index = usize::from(class);
        let flow = self.flow(index, &packet);
        let bucket = self.bucket_of(index, flow);
        let tin = &mut self.tins[index];
        if tin.bytes == 0 {
            tin.schedule.wake(now);
            if self.queues.packets() == 0 {
                self.shaper.wake(now);
            }
        }
        tin.bytes += u64::from(packet.bytes);
        let waiting = self.queues.push(bucket, &packet);
        (waiting.enqueued, waiting.class) = (now, class);
        if self.wash {
            waiting.dscp = Dscp::DEFAULT;
        }
        if self.ack_filter != Filter::Off {
            self.filter(index, bucket, &packet, now, sink);
        }
        self.longest.grew(bucket);
        self.tins[index].arrived(flow, &mut self.random);
        while self.limit.is_exceeded(self.queues.packets(), self.queues.bytes()) {
            self.drop_from_longest(now, sink);
        }
    }

    #[inline]
    fn dequeue<S: Sink<B>>(&mut self, now: Time, sink: &mut S) -> Option<Packet<B>> {
        // Each time a packet is wanted, one decaying flow is looked at first, so that all of them come to rest.
        let mut look_at_decaying = true;
        while self.queues.packets() > 0 && self.shaper.ready() <= now {
            let tin = self.choose_tin(now);
            if let Some(bucket) = self.prepare(tin, &mut look_at_decaying, now, sink) {
                return self.queues.pop(bucket, End::Head);
            }
        }
        None
    }

    /// As in Linux, which can change the tins as well: here others take their place. A lower limit is kept from the next
    /// arrival on.
    fn retune<S: Sink<B>>(&mut self, fresh: Self, _now: Time, _sink: &mut S) -> Option<Self> {
        let fair = |tins: &[Tin]| tins[0].hosts.each_ref().map(Option::is_some);
        let same = core::ptr::eq(self.plan, fresh.plan) && self.isolation == fresh.isolation;
        if !same || fair(&self.tins) != fair(&fresh.tins) {
            return Some(fresh);
        }
        self.tins.iter_mut().zip(&fresh.tins).for_each(|(tin, fresh)| tin.retune(fresh));
        self.shaper.retune(fresh.shaper);
        (self.wash, self.tin_of, self.limit, self.framing) = (fresh.wash, fresh.tin_of, fresh.limit, fresh.framing);
        (self.ingress, self.ack_filter) = (fresh.ingress, fresh.ack_filter);
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

    #[inline]
    fn ready_at(&self, now: Time) -> Option<Time> {
        (self.queues.packets() > 0).then(|| self.shaper.ready().max(now))
    }

    fn classes(&self) -> Vec<String> {
        self.plan.tins.iter().map(|label| label.name.to_owned()).collect()
    }

    fn advice(params: &Params, link: &LinkProperties) -> Vec<Advice> {
        descriptor::advice(params, link)
    }

    fn marks(_params: &Params) -> bool {
        // COBALT marks whatever may be marked; nothing switches that off.
        true
    }

    fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
        for ((label, tin), ways) in self.plan.tins.iter().zip(&self.tins).zip(&self.ways) {
            visit(label.sparse, f64::from(tin.census.sparse));
            visit(label.bulk, f64::from(tin.census.bulk));
            visit(label.decaying, f64::from(tin.census.decaying));
            visit(label.unresponsive, f64::from(tin.census.unresponsive));
            visit(label.bytes, tin.bytes as f64);
            let counts = ways.counts();
            visit(label.way_hits, counts.hits as f64);
            visit(label.way_misses, counts.misses as f64);
            visit(label.way_collisions, counts.collisions as f64);
            visit(label.ack_drops, tin.ack_drops as f64);
        }
    }
}
