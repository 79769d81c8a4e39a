//! `cake_enqueue`, `cake_dequeue` and `cake_drop` with plain containers and scans, COBALT and the hash excepted, which
//! have tests of their own.

use super::*;
use crate::Host;
use crate::cake::plan::Plan;
use crate::cobalt::law::{CobaltController, CobaltLaw, Verdict};
use proptest::prelude::*;
use sojourn_core::{Serializer, Stream};
use std::collections::{BTreeMap, VecDeque};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Set {
    None,
    Sparse,
    SparseWait,
    Bulk,
    Decaying,
}

struct Flow {
    queue: VecDeque<Packet<u32>>,
    set: Set,
    deficit: i64,
    state: CobaltController,
    hosts: (Host, Host),
}

struct Tin {
    flows: BTreeMap<u32, Flow>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    decaying: VecDeque<u32>,
    law: CobaltLaw,
    packet: Span,
    pace: Option<Serializer>,
    next: Time,
    deficit: i64,
    quantum: i64,
    flow_quantum: u64,
}

struct Linux {
    plan: &'static Plan,
    tins: Vec<Tin>,
    pace: Option<Serializer>,
    next: Time,
    failsafe: Time,
    current: usize,
    limit: u64,
    ingress: bool,
    /// Whether sending and receiving hosts share.
    hosts: (bool, bool),
    random: Stream,
    drops: Vec<u32>,
}

impl Tin {
    fn counted(&self) -> usize {
        self.flows.values().filter(|flow| matches!(flow.set, Set::Sparse | Set::SparseWait | Set::Bulk)).count()
    }

    fn bulk(&self) -> impl Iterator<Item = &Flow> {
        self.flows.values().filter(|flow| flow.set == Set::Bulk)
    }

    fn quantum_of(&self, flow: u32, hosts: (bool, bool), random: &mut Stream) -> i64 {
        let own = self.flows[&flow].hosts;
        let sources = self.bulk().filter(|flow| hosts.0 && flow.hosts.0 == own.0).count();
        let destinations = self.bulk().filter(|flow| hosts.1 && flow.hosts.1 == own.1).count();
        let load = sources.max(destinations).max(1) as u64;
        if load == 1 {
            return self.flow_quantum as i64;
        }
        ((self.flow_quantum * 65_536 / load + (random.bits() >> 48)) / 65_536) as i64
    }
}

impl Linux {
    fn new(plan: &'static str, kilobits: Option<u64>, limit: u64, ingress: bool, hosts: (bool, bool)) -> Linux {
        let plan = super::plan::plan_of(plan);
        let mut random = Stream::new(1, "queue");
        random.bits();
        let whole = kilobits.map(|kilobits| kilobits * 125);
        let rates: Vec<Option<u64>> = match whole {
            Some(whole) => plan.rates(whole).into_iter().map(Some).collect(),
            None => plan.tins.iter().map(|_| None).collect(),
        };
        let pace = |rate: u64| Serializer::new(Rate::from_bits_per_second(8 * rate.max(64)).unwrap());
        let tin = |(rate, quantum): (Option<u64>, i64)| {
            let packet = rate.map_or(Span::ZERO, |rate| Span::from_nanos(1_500_000_000_000 / rate.max(64)));
            Tin {
                flows: BTreeMap::new(),
                new: VecDeque::new(),
                old: VecDeque::new(),
                decaying: VecDeque::new(),
                law: CobaltLaw::of_cake(Span::from_micros(500), Span::from_millis(10), packet),
                packet,
                pace: rate.map(pace),
                next: Time::ZERO,
                deficit: 0,
                quantum,
                flow_quantum: rate.map_or(1514, |rate| (rate >> 12).clamp(300, 1514)),
            }
        };
        Linux {
            plan,
            tins: rates.into_iter().zip(plan.quanta()).map(tin).collect(),
            pace: whole.map(pace),
            next: Time::ZERO,
            failsafe: Time::ZERO,
            current: 0,
            limit,
            ingress,
            hosts,
            random,
            drops: Vec::new(),
        }
    }

    fn waiting(&self) -> usize {
        self.tins.iter().flat_map(|tin| tin.flows.values()).map(|flow| flow.queue.len()).sum()
    }

    fn bytes(&self, tin: usize) -> u64 {
        self.tins[tin].flows.values().map(backlog).sum()
    }

    fn advance(&mut self, tin: usize, bytes: u32, now: Time, dropped: bool) {
        let Some(pace) = &mut self.pace else { return };
        let whole = pace.transmit(bytes);
        let tin = &mut self.tins[tin];
        let own = tin.pace.as_mut().unwrap().transmit(bytes);
        if tin.next < now {
            tin.next += own;
        } else if tin.next < now + own {
            tin.next = now + own;
        }
        self.next += whole;
        if !dropped {
            self.failsafe += whole + whole / 2;
        }
    }

    fn enqueue(&mut self, mut packet: Packet<u32>, now: Time) {
        packet.enqueued = now;
        let index = usize::from(self.plan.tin_of(packet.dscp));
        if self.bytes(index) == 0 {
            self.tins[index].next = self.tins[index].next.max(now);
            if self.waiting() == 0 && self.next < now {
                (self.next, self.failsafe) = (now, now);
            }
        }
        let hosts = (packet.key.source, packet.key.destination);
        let tin = &mut self.tins[index];
        let idle =
            || Flow { queue: VecDeque::new(), set: Set::None, deficit: 0, state: CobaltController::default(), hosts };
        let flow = tin.flows.entry(packet.flow).or_insert_with(idle);
        flow.queue.push_back(packet);
        match flow.set {
            Set::None | Set::Decaying => {
                flow.set = Set::Sparse;
                tin.decaying.retain(|&other| other != packet.flow);
                tin.new.push_back(packet.flow);
                let quantum = tin.quantum_of(packet.flow, self.hosts, &mut self.random);
                tin.flows.get_mut(&packet.flow).unwrap().deficit = quantum;
            }
            Set::SparseWait => flow.set = Set::Bulk,
            Set::Sparse | Set::Bulk => {}
        }
        while (0..self.tins.len()).map(|tin| self.bytes(tin)).sum::<u64>() > self.limit {
            self.drop(now);
        }
    }

    fn drop(&mut self, now: Time) {
        // Of equals the one whose flow's number and then whose tin's is lowest.
        let (mut longest, mut most) = ((0, 0), 0);
        let flows = self.tins.iter().flat_map(|tin| tin.flows.keys()).copied().max().unwrap();
        for flow in 0..=flows {
            for tin in 0..self.tins.len() {
                let bytes = self.tins[tin].flows.get(&flow).map_or(0, backlog);
                if bytes > most {
                    (longest, most) = ((tin, flow), bytes);
                }
            }
        }
        let tin = &mut self.tins[longest.0];
        let flow = tin.flows.get_mut(&longest.1).unwrap();
        let packet = flow.queue.pop_front().unwrap();
        flow.state.overflow(&tin.law, now);
        self.drops.push(packet.body);
        if self.ingress {
            self.advance(longest.0, packet.bytes, now, true);
        }
    }

    fn choose(&mut self, now: Time) -> usize {
        if self.pace.is_none() {
            while self.tins[self.current].deficit < 0 || self.tins[self.current].counted() == 0 {
                if self.tins[self.current].deficit <= 0 {
                    self.tins[self.current].deficit += self.tins[self.current].quantum;
                }
                self.current = (self.current + 1) % self.tins.len();
            }
            return self.current;
        }
        let (mut best, mut best_time) = (0, i64::MAX);
        for (index, tin) in self.tins.iter().enumerate().filter(|(_, tin)| tin.counted() > 0) {
            let time = tin.next.as_nanos() as i64 - now.as_nanos() as i64;
            if time <= 0 || time <= best_time {
                (best, best_time) = (index, time);
            }
        }
        best
    }

    fn dequeue(&mut self, now: Time) -> Option<u32> {
        let mut first = true;
        'begin: loop {
            if self.waiting() == 0 || (self.next > now && self.failsafe > now) {
                return None;
            }
            let index = self.choose(now);
            'retry: loop {
                let tin = &mut self.tins[index];
                let list = if first && !tin.decaying.is_empty() {
                    &tin.decaying
                } else if !tin.new.is_empty() {
                    &tin.new
                } else if !tin.old.is_empty() {
                    &tin.old
                } else {
                    &tin.decaying
                };
                first = false;
                let Some(&number) = list.front() else { continue 'begin };
                let remove = |tin: &mut Tin| {
                    for list in [&mut tin.new, &mut tin.old, &mut tin.decaying] {
                        list.retain(|&other| other != number);
                    }
                };
                let flow = tin.flows.get_mut(&number).unwrap();
                if flow.deficit <= 0 {
                    if flow.set == Set::Sparse {
                        flow.set = if flow.queue.is_empty() { Set::SparseWait } else { Set::Bulk };
                    }
                    let quantum = tin.quantum_of(number, self.hosts, &mut self.random);
                    tin.flows.get_mut(&number).unwrap().deficit += quantum;
                    remove(tin);
                    tin.old.push_back(number);
                    continue 'retry;
                }
                loop {
                    let tin = &mut self.tins[index];
                    let bulk = tin.bulk().count() as u64;
                    let flow = tin.flows.get_mut(&number).unwrap();
                    let Some(packet) = flow.queue.pop_front() else {
                        flow.state.empty(&tin.law, now);
                        let rests = flow.state.is_at_rest(now);
                        flow.set = if rests { Set::None } else { Set::Decaying };
                        remove(tin);
                        if !rests {
                            tin.decaying.push_back(number);
                        }
                        continue 'begin;
                    };
                    let ingress = if self.ingress { tin.packet * 2 * bulk } else { Span::ZERO };
                    let verdict = flow.state.judge(&tin.law.sparing(ingress), &packet, now, &mut self.random);
                    flow.deficit -= if !matches!(verdict, Verdict::Drop { .. }) || flow.queue.is_empty() || self.ingress
                    {
                        i64::from(packet.bytes)
                    } else {
                        0
                    };
                    if matches!(verdict, Verdict::Drop { .. }) && !flow.queue.is_empty() {
                        self.drops.push(packet.body);
                        if self.ingress {
                            self.tins[index].deficit -= i64::from(packet.bytes);
                            self.advance(index, packet.bytes, now, true);
                            continue 'retry;
                        }
                        continue;
                    }
                    self.tins[index].deficit -= i64::from(packet.bytes);
                    self.advance(index, packet.bytes, now, false);
                    return Some(packet.body);
                }
            }
        }
    }
}

fn backlog(flow: &Flow) -> u64 {
    flow.queue.iter().map(|packet| u64::from(packet.bytes)).sum()
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Arrive { flow: u32, bytes: u32, packets: u32 },
    Ask(u32),
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let size = || prop_oneof![Just(1500u32), 40u32..1500];
    let step = prop_oneof![
        6 => (0u32..12, size(), 1u32..4).prop_map(|(flow, bytes, packets)| Step::Arrive { flow, bytes, packets }),
        1 => (0u32..3, size(), 1u32..60).prop_map(|(flow, bytes, packets)| Step::Arrive { flow, bytes, packets }),
        4 => (1u32..6).prop_map(Step::Ask),
        2 => (0u64..3_000).prop_map(Step::Wait),
        1 => (0u64..60_000).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 1..250)
}

proptest! {
    #[test]
    fn schedules_and_drops_as_linux_does(
        steps in steps(),
        plan in prop::sample::select(vec!["besteffort", "diffserv3", "diffserv4", "diffserv8"]),
        kilobits in prop::option::of(500u64..50_000),
        memory in 10_000u32..200_000,
        ingress: bool,
        (isolation, hosts) in prop::sample::select(vec![
            ("flows", (false, false)),
            ("dual-srchost", (true, false)),
            ("dual-dsthost", (false, true)),
            ("triple-isolate", (true, true)),
        ]),
    ) {
        let mut changes = vec![
            PERFECT,
            word("diffserv", plan),
            word("isolation", isolation),
            ("rtt", Value::Span(Span::from_millis(10))),
            ("memlimit", Value::Amount(Amount::Bytes(f64::from(memory)))),
            ("ingress", Value::Boolean(ingress)),
        ];
        changes.extend(kilobits.map(bandwidth));
        let mut queue = cake(&changes);
        let mut linux = Linux::new(plan, kilobits, u64::from(memory), ingress, hosts);
        let (mut sink, mut now, mut number) = (Recorder::default(), Time::ZERO, 0);
        for step in steps {
            match step {
                Step::Arrive { flow, bytes, packets } => {
                    for _ in 0..packets {
                        // Twelve flows from three hosts to four, in four classes.
                        let dscp = ["default", "le", "ef", "af41"][flow as usize % 4];
                        let packet = of_hosts(flow, ((flow % 3) as u16, (flow * flow % 4) as u16), bytes, number);
                        number += 1;
                        queue.enqueue(with_dscp(packet, dscp), now, &mut sink);
                        linux.enqueue(with_dscp(packet, dscp), now);
                    }
                }
                Step::Ask(times) => {
                    for _ in 0..times {
                        let sent = queue.dequeue(now, &mut sink).map(|packet| packet.body);
                        prop_assert_eq!(sent, linux.dequeue(now));
                    }
                }
                Step::Wait(micros) => now += Span::from_micros(micros),
            }
            prop_assert_eq!(sink.drops.iter().map(|drop| drop.0).collect::<Vec<_>>(), linux.drops.clone());
            let ready = (linux.waiting() > 0).then_some(linux.next.min(linux.failsafe).max(now));
            prop_assert_eq!(queue.ready_at(now), ready);
            prop_assert!(queue.bytes() <= u64::from(memory));
            for (index, tin) in linux.tins.iter().enumerate() {
                let count = |set| tin.flows.values().filter(|flow| flow.set == set).count() as f64;
                let label = &linux.plan.tins[index];
                prop_assert_eq!(probe(&queue, label.sparse), count(Set::Sparse) + count(Set::SparseWait));
                prop_assert_eq!(probe(&queue, label.bulk), count(Set::Bulk));
                prop_assert_eq!(probe(&queue, label.decaying), count(Set::Decaying));
                let blue = tin.flows.values().filter(|flow| flow.state.blue() > 0.0).count() as f64;
                prop_assert_eq!(probe(&queue, label.unresponsive), blue);
            }
        }
    }
}
