//! A tin: its flows, whose turn it is among them, and what it may send (`cake_dequeue`).
//!
//! Flows take turns by DRR++. One that comes is sparse and goes before all others until it has used up its quantum;
//! then it is bulk. One that is found empty leaves, or stays as decaying while its controller remembers congestion. A
//! flow that paused while it owed bytes waits among the bulk ones, but counts as sparse until its next packet comes.

use super::shaper::Schedule;
use super::ways::Hosts;
use crate::cobalt::law::{CobaltController, CobaltLaw};
use alloc::vec::Vec;
use core::hint::select_unpredictable;
use sojourn_core::{Rate, Span, Stream, Time};

/// Bounds of a flow's quantum in bytes, and the part of a second in which it is sent at the tin's rate.
const QUANTUM: (u64, u64) = (300, 1514);
const QUANTA_PER_SECOND: u64 = 4096;
/// The least rate that is reckoned with, in bytes per second.
const MIN_RATE: u64 = 64;

/// The end of a list.
const NONE: u32 = u32::MAX;

/// Where a flow stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standing {
    /// In no list.
    Idle,
    /// In the list of sparse flows.
    Sparse,
    /// Counted as sparse, but in the list of bulk flows.
    SparseWaiting,
    /// In the list of bulk flows.
    Bulk,
    /// Empty, in the list of decaying flows.
    Decaying,
}

/// A queue's state but for its packets.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) controller: CobaltController,
    deficit: i32,
    standing: Standing,
    next: u32,
    previous: u32,
    /// Places of its hosts.
    hosts: [u32; 2],
}

impl Default for Flow {
    fn default() -> Flow {
        Flow {
            controller: CobaltController::default(),
            deficit: 0,
            standing: Standing::Idle,
            next: NONE,
            previous: NONE,
            hosts: [0; 2],
        }
    }
}

/// `first`, where that is a flow, and otherwise `second`.
#[inline]
fn or(first: u32, second: u32) -> u32 {
    // Chosen, not branched to: whether a flow has just come cannot be guessed.
    select_unpredictable(first == NONE, second, first)
}

/// Flows in order, chained through themselves: each is in at most one list.
#[derive(Debug)]
struct List {
    head: u32,
    tail: u32,
}

impl List {
    const EMPTY: List = List { head: NONE, tail: NONE };

    fn push(&mut self, flow: u32, flows: &mut [Flow]) {
        (flows[flow as usize].previous, flows[flow as usize].next) = (self.tail, NONE);
        match self.tail {
            NONE => self.head = flow,
            tail => flows[tail as usize].next = flow,
        }
        self.tail = flow;
    }

    fn remove(&mut self, flow: u32, flows: &mut [Flow]) {
        let Flow { previous, next, .. } = flows[flow as usize];
        match previous {
            NONE => self.head = next,
            previous => flows[previous as usize].next = next,
        }
        match next {
            NONE => self.tail = previous,
            next => flows[next as usize].previous = previous,
        }
    }
}

/// How many flows stand where.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Census {
    pub(super) sparse: u32,
    pub(super) bulk: u32,
    pub(super) decaying: u32,
    /// Those that BLUE drops from.
    pub(super) unresponsive: u32,
}

/// A class of packets.
#[derive(Debug)]
pub(super) struct Tin {
    /// COBALT with the target and interval of this tin's rate.
    pub(super) law: CobaltLaw,
    /// Time of a full packet at this tin's rate.
    pub(super) packet_time: Span,
    pub(super) schedule: Schedule,
    /// Bytes of its turn, and what is left of it.
    pub(super) quantum: i64,
    pub(super) deficit: i64,
    pub(super) bytes: u64,
    pub(super) ack_drops: u64,
    pub(super) census: Census,
    pub(super) flows: Vec<Flow>,
    flow_quantum: u32,
    sparse: List,
    bulk: List,
    decaying: List,
    /// The tables of sending and receiving hosts, where these share fairly.
    pub(super) hosts: [Option<Hosts>; 2],
}

/// What a tin is made for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    /// Bytes per second before its priority ends; without it the link is unlimited.
    pub(super) rate: Option<u64>,
    /// Bytes of its turn.
    pub(super) quantum: i64,
    pub(super) target: Span,
    pub(super) interval: Span,
    /// Bytes of a full packet.
    pub(super) full_packet: u32,
    /// Whether sending and receiving hosts share fairly.
    pub(super) fair_hosts: [bool; 2],
}

impl Tin {
    /// An empty tin (`cake_set_rate`).
    pub(super) fn new(setting: &Setting) -> Tin {
        let rate = setting.rate.and_then(|rate| Rate::from_bits_per_second(rate.max(MIN_RATE) * 8));
        let packet_time = rate.map_or(Span::ZERO, |rate| rate.transmission(u64::from(setting.full_packet)));
        let flow_quantum =
            setting.rate.map_or(QUANTUM.1, |rate| (rate / QUANTA_PER_SECOND).clamp(QUANTUM.0, QUANTUM.1));
        Tin {
            law: CobaltLaw::of_cake(setting.target, setting.interval, packet_time),
            packet_time,
            schedule: Schedule::new(rate),
            quantum: setting.quantum,
            deficit: 0,
            bytes: 0,
            ack_drops: 0,
            census: Census::default(),
            flows: Vec::new(),
            flow_quantum: flow_quantum as u32,
            sparse: List::EMPTY,
            bulk: List::EMPTY,
            decaying: List::EMPTY,
            hosts: setting.fair_hosts.map(|fair| fair.then(Hosts::default)),
        }
    }

    /// Its rate and what follows from it are those of `fresh` from now on.
    pub(super) fn retune(&mut self, fresh: &Tin) {
        (self.law, self.packet_time) = (fresh.law, fresh.packet_time);
        (self.quantum, self.flow_quantum) = (fresh.quantum, fresh.flow_quantum);
        self.schedule.retune(&fresh.schedule);
    }

    /// Bytes of a turn of a flow that is alone among its hosts' flows.
    #[cfg(test)]
    pub(super) fn flow_quantum(&self) -> u32 {
        self.flow_quantum
    }

    /// Whether any flow waits for a turn; it may turn out to be empty.
    #[inline]
    pub(super) fn waits(&self) -> bool {
        self.census.sparse + self.census.bulk > 0
    }

    /// Whether `flow` is in a list.
    #[inline]
    pub(super) fn is_active(&self, flow: u32) -> bool {
        self.flows.get(flow as usize).is_some_and(|flow| flow.standing != Standing::Idle)
    }

    /// There are to be at least so many flows.
    #[inline]
    pub(super) fn grow(&mut self, flows: usize) {
        if flows > self.flows.len() {
            self.flows.resize(flows, Flow::default());
        }
    }

    /// The queue of `flow` is for flows between hosts at these places from now on.
    pub(super) fn seat(&mut self, flow: u32, places: [u32; 2]) {
        let is_bulk = self.flows[flow as usize].standing == Standing::Bulk;
        if is_bulk {
            self.count_for_hosts(flow, Hosts::remove);
        }
        self.flows[flow as usize].hosts = places;
        if is_bulk {
            self.count_for_hosts(flow, Hosts::add);
        }
    }

    /// A packet for `flow` came.
    #[inline]
    pub(super) fn arrived(&mut self, flow: u32, random: &mut Stream) {
        match self.flows[flow as usize].standing {
            Standing::Sparse | Standing::Bulk => return,
            Standing::SparseWaiting => {
                self.flows[flow as usize].standing = Standing::Bulk;
                self.census.sparse -= 1;
                self.census.bulk += 1;
                return self.count_for_hosts(flow, Hosts::add);
            }
            Standing::Decaying => {
                self.census.decaying -= 1;
                self.decaying.remove(flow, &mut self.flows);
            }
            Standing::Idle => {}
        }
        self.sparse.push(flow, &mut self.flows);
        self.census.sparse += 1;
        self.flows[flow as usize].standing = Standing::Sparse;
        self.flows[flow as usize].deficit = self.quantum_of(flow, random);
    }

    /// The flow whose turn it is. One that has used up its quantum gets another and goes behind the bulk flows; it is
    /// one of them if it still holds packets.
    #[inline]
    pub(super) fn turn(
        &mut self,
        look_at_decaying: &mut bool,
        holds: impl Fn(u32) -> bool,
        random: &mut Stream,
    ) -> Option<u32> {
        loop {
            let (waiting, decaying) = (or(self.sparse.head, self.bulk.head), self.decaying.head);
            let flow = if core::mem::take(look_at_decaying) { or(decaying, waiting) } else { or(waiting, decaying) };
            if flow == NONE {
                return None;
            }
            if self.flows[flow as usize].deficit > 0 {
                return Some(flow);
            }
            self.leave(flow);
            if self.flows[flow as usize].standing == Standing::Sparse {
                if holds(flow) {
                    self.flows[flow as usize].standing = Standing::Bulk;
                    self.census.sparse -= 1;
                    self.census.bulk += 1;
                    self.count_for_hosts(flow, Hosts::add);
                } else {
                    self.flows[flow as usize].standing = Standing::SparseWaiting;
                }
            }
            self.flows[flow as usize].deficit += self.quantum_of(flow, random);
            self.bulk.push(flow, &mut self.flows);
        }
    }

    /// `flow` was given a turn and is empty. It stays to decay until nothing is left of past congestion.
    pub(super) fn found_empty(&mut self, flow: u32, now: Time) {
        let controller = &mut self.flows[flow as usize].controller;
        let was_unresponsive = controller.blue() > 0.0;
        controller.empty(&self.law, now);
        self.census.unresponsive -= u32::from(was_unresponsive && controller.blue() == 0.0);
        let is_at_rest = controller.is_at_rest(now);

        self.leave(flow);
        match self.flows[flow as usize].standing {
            Standing::Sparse | Standing::SparseWaiting => self.census.sparse -= 1,
            Standing::Bulk => {
                self.census.bulk -= 1;
                self.count_for_hosts(flow, Hosts::remove);
            }
            Standing::Decaying => self.census.decaying -= 1,
            Standing::Idle => unreachable!("only flows in a list get a turn"),
        }
        if is_at_rest {
            self.flows[flow as usize].standing = Standing::Idle;
        } else {
            self.flows[flow as usize].standing = Standing::Decaying;
            self.census.decaying += 1;
            self.decaying.push(flow, &mut self.flows);
        }
    }

    /// A packet of `flow` was dropped for want of room.
    pub(super) fn overflowed(&mut self, flow: u32, now: Time) {
        let controller = &mut self.flows[flow as usize].controller;
        let was_quiet = controller.blue() == 0.0;
        controller.overflow(&self.law, now);
        self.census.unresponsive += u32::from(was_quiet && controller.blue() > 0.0);
    }

    /// `flow` has used `bytes` bytes on the wire of its turn and of the tin's.
    #[inline]
    pub(super) fn charge(&mut self, flow: u32, bytes: u32) {
        self.flows[flow as usize].deficit -= bytes as i32;
        self.deficit -= i64::from(bytes);
    }

    /// `flow` leaves the list it is in.
    #[inline]
    fn leave(&mut self, flow: u32) {
        let list = match self.flows[flow as usize].standing {
            Standing::Sparse => &mut self.sparse,
            Standing::Decaying => &mut self.decaying,
            Standing::SparseWaiting | Standing::Bulk | Standing::Idle => &mut self.bulk,
        };
        list.remove(flow, &mut self.flows);
    }

    /// The quantum of `flow`: its part of its busier host's, rounded up or down at random so that it is exact on
    /// average (`cake_get_flow_quantum`).
    #[inline]
    fn quantum_of(&self, flow: u32, random: &mut Stream) -> i32 {
        let places = self.flows[flow as usize].hosts;
        let load = |(hosts, place): (&Option<Hosts>, u32)| hosts.as_ref().map_or(0, |hosts| hosts.bulk_flows(place));
        let load = self.hosts.iter().zip(places).map(load).max().unwrap_or(0);
        if load <= 1 {
            return self.flow_quantum as i32;
        }
        let part = (u64::from(self.flow_quantum) << 16) / u64::from(load);
        ((part + (random.bits() >> 48)) >> 16) as i32
    }

    /// Lets each host of `flow` whose flows are counted count it in or out.
    #[inline]
    fn count_for_hosts(&mut self, flow: u32, count: impl Fn(&mut Hosts, u32)) {
        let places = self.flows[flow as usize].hosts;
        for (hosts, place) in self.hosts.iter_mut().zip(places) {
            if let Some(hosts) = hosts {
                count(hosts, place);
            }
        }
    }
}
