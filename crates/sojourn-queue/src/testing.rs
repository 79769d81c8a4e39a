//! What the tests of disciplines share.

pub(crate) mod flows;
pub(crate) mod shares;

use crate::{Body, Discipline, DropReason, Dscp, Ecn, FlowKey, LinkProperties, Packet, Queue, Sink};
use proptest::prelude::*;
use sojourn_core::registry::{Class, Descriptor, Holds, Members, Params, Value};
use sojourn_core::{Amount, Rate, Span, Stream, Time};

/// A link of `kilobits` kbit/s with a delay of 25 ms, for packets of 1500 B.
pub(crate) fn link(kilobits: u64) -> LinkProperties {
    LinkProperties {
        rate: Rate::from_bits_per_second(kilobits * 1000).unwrap(),
        delay: Span::from_millis(25),
        packet_bytes: 1500,
        since: Time::ZERO,
    }
}

impl Body for u32 {}

/// A packet of `bytes` bytes with a number.
pub(crate) fn packet(bytes: u32, number: u32) -> Packet<u32> {
    Packet {
        flow: 0,
        bytes,
        enqueued: Time::ZERO,
        key: FlowKey::default(),
        ecn: Ecn::NotEct,
        dscp: Dscp::default(),
        class: 0,
        body: number,
    }
}

/// `preset` of `descriptor` with some values changed.
pub(crate) fn params(descriptor: &'static Descriptor, preset: &str, changes: &[(&str, Value)]) -> Params {
    let preset = (preset != "default").then(|| descriptor.preset(preset).expect("a known preset"));
    let mut params = Params::new(descriptor, preset);
    for (name, value) in changes {
        params.set(name, *value);
    }
    match descriptor.holds {
        Holds::Nothing => {}
        Holds::One => params.child = Some(Box::new(held("droptail", &[]))),
        Holds::Classes(_) => {
            params.classes = vec![
                class(descriptor, "voice", dscp(&[46, 44]), &[], held("droptail", &[])),
                class(descriptor, "rest", Members::default(), &[], held("droptail", &[])),
            ];
        }
    }
    params
}

/// A class of `descriptor` with some values changed, whose packets wait in `queue`.
pub(crate) fn class(
    descriptor: &'static Descriptor,
    name: &str,
    members: Members,
    changes: &[(&str, Value)],
    queue: Params,
) -> Class {
    let mut params = Params::new(descriptor.class().expect("a discipline with classes"), None);
    changes.iter().for_each(|(name, value)| params.set(name, *value));
    Class { name: name.to_owned(), parent: None, members, params, queue }
}

/// A discipline to be held by another.
pub(crate) fn held(name: &str, changes: &[(&str, Value)]) -> Params {
    params(crate::find(name).expect("a known discipline"), "default", changes)
}

/// Packets with these code points.
pub(crate) fn dscp(numbers: &[u8]) -> Members {
    Members { dscp: numbers.to_vec(), ..Members::default() }
}

/// A packet of `bytes` bytes with a code point and a number.
pub(crate) fn packet_with(dscp: u8, bytes: u32, number: u32) -> Packet<u32> {
    Packet { dscp: Dscp::from_number(u64::from(dscp)).expect("six bits"), ..packet(bytes, number) }
}

/// A limit.
pub(crate) fn limit(amount: Amount) -> (&'static str, Value) {
    ("limit", Value::Amount(amount))
}

/// The queue that `params` describe, or the parameter at fault.
pub(crate) fn build(params: &Params, link: &LinkProperties) -> Result<Queue<u32>, &'static str> {
    Queue::build(params, link, Stream::new(1, "queue")).map_err(|error| error.parameter)
}

/// Counts what a discipline reports.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Recorder {
    /// Numbers of dropped packets with the reason.
    pub(crate) drops: Vec<(u32, DropReason)>,
    /// Bytes of dropped packets.
    pub(crate) dropped_bytes: u64,
    /// Numbers of marked packets.
    pub(crate) marks: Vec<u32>,
    /// Numbers of dropped and marked packets, with when they say that they came.
    pub(crate) came: Vec<(u32, Time)>,
}

impl Sink<u32> for Recorder {
    fn dropped(&mut self, packet: &Packet<u32>, reason: DropReason) {
        self.drops.push((packet.body, reason));
        self.dropped_bytes += u64::from(packet.bytes);
        self.came.push((packet.body, packet.enqueued));
    }
    fn marked(&mut self, packet: &Packet<u32>) {
        self.marks.push(packet.body);
        self.came.push((packet.body, packet.enqueued));
    }
}

/// What `queue` reports and sends when so many packets with a code point arrive and leave every 4 ms.
pub(crate) fn history(queue: &mut Queue<u32>, dscp: u8, steps: &[(u32, u32)]) -> (Recorder, Vec<u32>) {
    let (mut now, mut sink, mut sent) = (Time::ZERO, Recorder::default(), Vec::new());
    for (number, &(arrivals, departures)) in (0..).zip(steps) {
        for extra in 0..arrivals {
            queue.enqueue(packet_with(dscp, 1500, number * 8 + extra), now, &mut sink);
        }
        for _ in 0..departures {
            sent.extend(queue.dequeue(now, &mut sink).map(|packet| packet.body));
        }
        now += Span::from_millis(4);
        while queue.timer().is_some_and(|due| due <= now) {
            queue.on_timer(now, &mut sink);
        }
    }
    (sink, sent)
}

/// What happens at a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// A packet of so many bytes arrives.
    Arrive(u32),
    /// The link asks.
    Ask,
    /// Microseconds pass.
    Wait(u32),
}

/// Arbitrary lives of a queue, arrivals somewhat more frequent than departures.
pub(crate) fn lives() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => prop_oneof![Just(1500u32), Just(1500), 40u32..1500].prop_map(Step::Arrive),
        4 => Just(Step::Ask),
        2 => (0u32..5_000).prop_map(Step::Wait),
        1 => (0u32..2_000_000).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 1..400)
}

/// Leads `queue` through `life`, checking after each step what holds of every discipline, then `check`.
pub(crate) fn live(
    queue: &mut Queue<u32>,
    life: &[Step],
    mut check: impl FnMut(&Queue<u32>),
) -> Result<Recorder, TestCaseError> {
    let (mut sink, mut now) = (Recorder::default(), Time::ZERO);
    let (mut arrived, mut arrived_bytes, mut left, mut left_bytes) = (0, 0, 0, 0);
    for step in life {
        match *step {
            Step::Arrive(bytes) => {
                queue.enqueue(packet(bytes, arrived), now, &mut sink);
                arrived += 1;
                arrived_bytes += u64::from(bytes);
            }
            Step::Ask => {
                let waiting = queue.packets();
                if let Some(packet) = queue.dequeue(now, &mut sink) {
                    prop_assert!(packet.enqueued <= now);
                    left += 1;
                    left_bytes += u64::from(packet.bytes);
                } else {
                    prop_assert_eq!(waiting, 0, "a full queue must give a packet");
                }
            }
            Step::Wait(micros) => now += Span::from_micros(u64::from(micros)),
        }
        prop_assert_eq!(arrived as usize, left + sink.drops.len() + queue.packets(), "packets are conserved");
        prop_assert_eq!(arrived_bytes, left_bytes + sink.dropped_bytes + queue.bytes(), "bytes are conserved");
        check(queue);
    }
    Ok(sink)
}

/// All packets of `queue`, in order.
pub(crate) fn drain(queue: &mut Queue<u32>) -> Vec<u32> {
    let mut sink = Recorder::default();
    std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut sink)).map(|packet| packet.body).collect()
}

/// The value that `queue` shows under `name`.
pub(crate) fn probe(queue: &Queue<u32>, name: &str) -> f64 {
    let mut found = None;
    queue.probe(&mut |shown, value| {
        if shown == name {
            found = Some(value);
        }
    });
    found.unwrap_or_else(|| panic!("{name} is not shown"))
}
