//! The heavy-hitter filter against Linux's numbers, against an independent rendering of its classifier and scheduler, and
//! against the laws of every discipline.

use super::{DESCRIPTOR, HEAVY, Hhf, LIGHT, NAMES};
use crate::laws::{lead, mixed_lives};
use crate::testing::flows::packet_of;
use crate::testing::{Recorder, build, limit, link, params, probe};
use crate::{Discipline, DropReason, FlowHash, Packet};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Amount, Span, Stream, Time};
use std::collections::VecDeque;

fn hhf(changes: &[(&str, Value)]) -> Hhf<u32> {
    Hhf::new(&params(&DESCRIPTOR, "linux", changes), &link(10_000), Stream::new(1, "queue")).unwrap()
}

fn admit(bytes: u64) -> (&'static str, Value) {
    ("admit_bytes", Value::Integer(bytes))
}

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// Sends packets of 1500 B of a flow; returns the class of the last.
fn burst(hhf: &mut Hhf<u32>, flow: u32, packets: u32, now: Time) -> usize {
    let mut sink = Recorder::default();
    for number in 0..packets {
        hhf.enqueue(packet_of(flow, 1500, number), now, &mut sink);
    }
    let heavy = hhf.table.sees(hhf.hash.bucket(&packet_of(flow, 1500, 0)) as u32, now);
    if heavy { HEAVY } else { LIGHT }
}

fn drain(hhf: &mut Hhf<u32>) -> Vec<Packet<u32>> {
    let mut sink = Recorder::default();
    std::iter::from_fn(|| hhf.dequeue(Time::ZERO, &mut sink)).collect()
}

/// 131 072 B are 87 packets of 1500 B and some; within 40 ms they are 26 Mbit/s.
#[test]
fn a_flow_is_heavy_from_its_88th_packet_within_40_ms() {
    let mut queue = hhf(&[]);
    assert_eq!(queue.classes(), NAMES);
    assert_eq!(burst(&mut queue, 1, 87, at(0)), LIGHT);
    assert_eq!(burst(&mut queue, 1, 1, at(40)), HEAVY);
    assert_eq!(burst(&mut queue, 2, 87, at(40)), LIGHT);
    assert_eq!(burst(&mut queue, 2, 87, at(41)), LIGHT, "the counters have begun anew");
    let classes: Vec<_> = drain(&mut queue).iter().map(|packet| packet.class).collect();
    assert_eq!(classes.iter().filter(|&&class| usize::from(class) == HEAVY).count(), 1);
}

/// In ticks of 10 ms, 40 ms have passed only when five ticks have begun: 49.9 ms after a burst at 0.
#[test]
fn a_clock_of_ticks_is_late() {
    let micros = |micros| Time::ZERO + Span::from_micros(micros);
    let last_of_two = |later| {
        let mut queue = hhf(&[("tick", Value::Span(Span::from_millis(10)))]);
        burst(&mut queue, 1, 87, micros(9_999));
        burst(&mut queue, 1, 1, micros(later))
    };
    assert_eq!(last_of_two(49_999), HEAVY, "tick 4");
    assert_eq!(last_of_two(50_000), LIGHT, "tick 5");
}

/// At 10 Mbit/s no more than 50 000 B come in 40 ms.
#[test]
fn nobody_is_heavy_below_26_mbits() {
    let mut queue = hhf(&[]);
    for number in 0..5_000u32 {
        let now = Time::ZERO + Span::from_micros(1200) * u64::from(number);
        queue.enqueue(packet_of(1, 1500, number), now, &mut Recorder::default());
        queue.dequeue(now, &mut Recorder::default());
    }
    assert_eq!(queue.table.flows(), 0);
}

#[test]
fn a_heavy_flow_is_light_again_after_a_second_of_silence() {
    let mut queue = hhf(&[]);
    assert_eq!(burst(&mut queue, 1, 88, at(0)), HEAVY);
    assert_eq!(burst(&mut queue, 1, 1, at(1000)), HEAVY);
    assert_eq!(burst(&mut queue, 1, 1, at(2001)), LIGHT);
}

#[test]
fn a_full_table_leaves_flows_light() {
    let mut queue = hhf(&[("hh_limit", Value::Integer(1)), ("perfect", Value::Boolean(true))]);
    assert_eq!(burst(&mut queue, 1, 88, at(0)), HEAVY);
    assert_eq!(burst(&mut queue, 2, 100, at(0)), LIGHT);
}

/// New heavy and light queues, then both old: two packets for one.
#[test]
fn light_flows_get_two_packets_for_each_heavy_one() {
    let mut queue = hhf(&[("perfect", Value::Boolean(true)), admit(1000)]);
    let mut sink = Recorder::default();
    for number in 0..8 {
        queue.enqueue(packet_of(1, 1500, number), at(0), &mut sink);
    }
    for number in 8..24 {
        // Under 1000 B each, so none of them is heavy.
        queue.enqueue(packet_of(number, 750, number), at(0), &mut sink);
    }
    assert_eq!((probe_of(&queue, "heavy_packets"), probe_of(&queue, "light_packets")), (8.0, 16.0));
    let order: String = drain(&mut queue).iter().map(|packet| if packet.class == 0 { 'H' } else { 'l' }).collect();
    assert_eq!(order, "llllHllllHllllHllllHHHHH");
}

fn probe_of(queue: &Hhf<u32>, name: &str) -> f64 {
    let mut found = f64::NAN;
    queue.probe(&mut |shown, value| {
        if shown == name {
            found = value;
        }
    });
    found
}

/// The light queue goes first when it is new, the heavy one never does.
#[test]
fn only_the_light_queue_can_be_new() {
    let mut queue = hhf(&[("perfect", Value::Boolean(true)), admit(1000)]);
    let mut sink = Recorder::default();
    for number in 0..3 {
        queue.enqueue(packet_of(1, 1500, number), at(0), &mut sink);
    }
    queue.enqueue(packet_of(2, 700, 3), at(0), &mut sink);
    let mut send = |queue: &mut Hhf<u32>| queue.dequeue(at(0), &mut sink).map(|packet| packet.body);
    assert_eq!(send(&mut queue), Some(3));
    assert_eq!(send(&mut queue), Some(0));
    // Found empty while the heavy one was waiting, the light queue became old: it cannot stay new by pausing.
    queue.enqueue(packet_of(3, 700, 4), at(0), &mut Recorder::default());
    assert_eq!(send(&mut queue), Some(4));
    assert_eq!([send(&mut queue), send(&mut queue), send(&mut queue)], [Some(1), Some(2), None]);
    // The heavy one alone: its return is not preferred to the light one's.
    queue.enqueue(packet_of(1, 1500, 5), at(0), &mut Recorder::default());
    queue.enqueue(packet_of(4, 700, 6), at(0), &mut Recorder::default());
    assert_eq!([send(&mut queue), send(&mut queue)], [Some(6), Some(5)]);
}

#[test]
fn overflow_hits_the_oldest_heavy_packet() {
    let mut queue = hhf(&[("perfect", Value::Boolean(true)), admit(2000), limit(Amount::Packets(4.0))]);
    let mut sink = Recorder::default();
    // Packet 0 of flow 1 is light, 1 and 2 are heavy; those of flows 2 and 3 are light.
    for (number, flow) in (0..).zip([1, 1, 1, 2, 3]) {
        queue.enqueue(packet_of(flow, 1500, number), at(0), &mut sink);
    }
    assert_eq!(sink.drops, [(1, DropReason::Overflow)]);
    for (number, flow) in (5..).zip([4, 5, 6]) {
        queue.enqueue(packet_of(flow, 1500, number), at(0), &mut sink);
    }
    let dropped: Vec<_> = sink.drops.iter().map(|drop| drop.0).collect();
    assert_eq!(dropped, [1, 2, 0, 3], "then, with none heavy, the oldest of the others");
}

/// A limit in bytes may cost as many small packets as a large one needs.
#[test]
fn a_limit_in_bytes_holds_for_every_arrival() {
    let (mut queue, mut sink) = (hhf(&[limit(Amount::Bytes(2000.0))]), Recorder::default());
    (0..20).for_each(|number| queue.enqueue(packet_of(1, 100, number), at(0), &mut sink));
    queue.enqueue(packet_of(1, 1500, 20), at(0), &mut sink);
    assert_eq!(sink.drops.iter().map(|drop| drop.0).collect::<Vec<_>>(), (0..15).collect::<Vec<_>>());
    assert_eq!(queue.bytes(), 2000);
}

#[test]
fn a_limit_that_holds_nothing_is_refused() {
    let fault = |amount| build(&params(&DESCRIPTOR, "linux", &[limit(amount)]), &link(10_000)).err();
    assert_eq!(fault(Amount::Bytes(1499.0)), Some("limit"));
    assert_eq!(fault(Amount::Bytes(1500.0)), None);
}

/// `sch_hhf` step by step: valid bits, chains, and two lists of buckets with deficits in bytes.
struct Linux {
    hash: FlowHash,
    arrays: [[Option<u64>; 1024]; 4],
    reset: Time,
    flows: Vec<VecDeque<(u32, Time)>>,
    current: usize,
    most: usize,
    admit: u64,
    buckets: [VecDeque<(u32, u32)>; 2],
    deficits: [i64; 2],
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    limit: usize,
}

impl Linux {
    const WEIGHTS: [i64; 2] = [1, 2];

    fn new(admit: u64, most: usize, limit: usize) -> Linux {
        Linux {
            hash: FlowHash::new(&mut Stream::new(1, "queue"), u32::MAX, false),
            arrays: [[None; 1024]; 4],
            reset: Time::ZERO,
            flows: vec![VecDeque::new(); 1024],
            current: 0,
            most,
            admit,
            buckets: Default::default(),
            deficits: [0; 2],
            new: VecDeque::new(),
            old: VecDeque::new(),
            limit,
        }
    }

    fn seek(&mut self, hash: u32, now: Time) -> bool {
        let head = &mut self.flows[(hash & 0x3ff) as usize];
        let mut i = 0;
        while i < head.len() {
            if head[i].1 + Span::from_secs(1) < now {
                if i == head.len() - 1 {
                    return false;
                }
                head.remove(i);
                self.current -= 1;
            } else if head[i].0 == hash {
                head[i].1 = now;
                return true;
            } else {
                i += 1;
            }
        }
        false
    }

    fn alloc(&mut self, hash: u32, now: Time) -> bool {
        let head = &mut self.flows[(hash & 0x3ff) as usize];
        for flow in head.iter_mut() {
            if flow.1 + Span::from_secs(1) < now {
                *flow = (hash, now);
                return true;
            }
        }
        if self.current >= self.most {
            return false;
        }
        self.current += 1;
        head.push_back((hash, now));
        true
    }

    fn classify(&mut self, packet: &Packet<u32>, now: Time) -> usize {
        if self.reset + Span::from_millis(40) < now {
            self.arrays = [[None; 1024]; 4];
            self.reset = now;
        }
        let hash = self.hash.bucket(packet) as u32;
        if self.seek(hash, now) {
            return HEAVY;
        }
        let (mut rest, mut xorsum, mut positions) = (hash, 0, [0; 4]);
        for position in &mut positions[..3] {
            *position = (rest & 0x3ff) as usize;
            xorsum ^= *position;
            rest >>= 10;
        }
        positions[3] = xorsum ^ rest as usize;
        let mut least = u64::MAX;
        for (array, position) in self.arrays.iter_mut().zip(positions) {
            let value = *array[position].get_or_insert(0) + u64::from(packet.bytes);
            least = least.min(value);
        }
        if least > self.admit {
            return if self.alloc(hash, now) { HEAVY } else { LIGHT };
        }
        for (array, position) in self.arrays.iter_mut().zip(positions) {
            if array[position] < Some(least) {
                array[position] = Some(least);
            }
        }
        LIGHT
    }

    fn enqueue(&mut self, packet: &Packet<u32>, now: Time) -> Option<u32> {
        let bucket = self.classify(packet, now);
        self.buckets[bucket].push_back((packet.body, packet.bytes));
        if !self.new.contains(&bucket) && !self.old.contains(&bucket) {
            if bucket == HEAVY {
                self.old.push_back(bucket);
            } else {
                self.new.push_back(bucket);
            }
            self.deficits[bucket] = Self::WEIGHTS[bucket] * 1500;
        }
        if self.buckets[0].len() + self.buckets[1].len() <= self.limit {
            return None;
        }
        let bucket = if self.buckets[HEAVY].is_empty() { LIGHT } else { HEAVY };
        self.buckets[bucket].pop_front().map(|packet| packet.0)
    }

    fn dequeue(&mut self) -> Option<u32> {
        loop {
            let is_new = !self.new.is_empty();
            let bucket = *if is_new { &self.new } else { &self.old }.front()?;
            if self.deficits[bucket] <= 0 {
                self.deficits[bucket] += Self::WEIGHTS[bucket] * 1500;
                if is_new {
                    self.new.pop_front()
                } else {
                    self.old.pop_front()
                };
                self.old.push_back(bucket);
                continue;
            }
            let Some((number, bytes)) = self.buckets[bucket].pop_front() else {
                if is_new {
                    self.new.pop_front()
                } else {
                    self.old.pop_front()
                };
                if is_new && !self.old.is_empty() {
                    self.old.push_back(bucket);
                }
                continue;
            };
            self.deficits[bucket] -= i64::from(bytes);
            return Some(number);
        }
    }
}

/// Bursts of so many packets of a flow and size, so many departures, and a pause in milliseconds.
fn lives() -> impl Strategy<Value = Vec<(u32, u32, u32, u32, u64)>> {
    let bytes = prop_oneof![Just(1500u32), 40u32..1500];
    let pause = prop_oneof![3 => Just(0u64), 3 => 0u64..30, 1 => 0u64..3000];
    prop::collection::vec((0u32..12, 0u32..15, bytes, 0u32..15, pause), 1..100)
}

proptest! {
    /// Packet by packet, with the same hash.
    #[test]
    fn does_as_linux_does(life in lives(), admit_bytes in 500u64..20_000, most in 1usize..6, room in 1u32..60) {
        let changes = [admit(admit_bytes), ("hh_limit", Value::Integer(most as u64)), limit(Amount::Packets(f64::from(room)))];
        let (mut queue, mut linux) = (hhf(&changes), Linux::new(admit_bytes, most, room as usize));
        let (mut now, mut sink, mut number) = (Time::ZERO, Recorder::default(), 0);
        for (flow, arrivals, bytes, departures, pause) in life {
            for _ in 0..arrivals {
                let (packet, drops) = (packet_of(flow, bytes, number), sink.drops.len());
                queue.enqueue(packet, now, &mut sink);
                let dropped = linux.enqueue(&packet, now);
                prop_assert_eq!(sink.drops[drops..].first().map(|drop| drop.0), dropped);
                number += 1;
            }
            for _ in 0..departures {
                let sent = queue.dequeue(now, &mut sink).map(|packet| packet.body);
                prop_assert_eq!(sent, linux.dequeue());
            }
            now += Span::from_millis(pause);
        }
    }

    #[test]
    fn limits_hold_and_classes_keep_their_order(life in mixed_lives(), admit_bytes in 1u64..200_000, most in 1u32..60) {
        let changes = [admit(admit_bytes), limit(Amount::Packets(f64::from(most)))];
        let mut queue = build(&params(&DESCRIPTOR, "linux", &changes), &link(10_000)).unwrap();
        lead(&mut queue, &life, |queue| {
            assert!(queue.packets() <= most as usize);
            assert_eq!(probe(queue, "heavy_packets") + probe(queue, "light_packets"), queue.packets() as f64);
        })?;
    }
}
