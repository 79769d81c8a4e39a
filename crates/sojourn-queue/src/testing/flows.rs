//! Lives of queues that tell flows apart.

use super::{Recorder, packet};
use crate::{Discipline, FlowKey, Packet, Queue};
use proptest::prelude::*;
use sojourn_core::{Span, Time};

/// A packet of `flow`, whose source port is its number.
pub(crate) fn packet_of(flow: u32, bytes: u32, number: u32) -> Packet<u32> {
    let key = FlowKey { source: 1.into(), destination: 2.into(), source_port: flow as u16, ..FlowKey::default() };
    Packet { flow, key, ..packet(bytes, number) }
}

/// What happens at a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FlowStep {
    /// A packet of this flow and size arrives.
    Arrive(u32, u32),
    /// The link asks.
    Ask,
    /// Microseconds pass.
    Wait(u32),
}

/// Arbitrary lives of a queue with up to `flows` flows, arrivals somewhat more frequent than departures.
pub(crate) fn flow_lives(flows: u32) -> impl Strategy<Value = Vec<FlowStep>> {
    let bytes = prop_oneof![Just(1500u32), Just(1500), 40u32..1500];
    let step = prop_oneof![
        6 => (0..flows, bytes).prop_map(|(flow, bytes)| FlowStep::Arrive(flow, bytes)),
        4 => Just(FlowStep::Ask),
        1 => (0u32..200_000).prop_map(FlowStep::Wait),
    ];
    prop::collection::vec(step, 1..400)
}

/// A packet that left or was dropped, by the number of its arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Left(u32),
    Dropped(u32),
}

/// Leads `queue` through `life`, checking after each step what holds of every discipline, then `check`.
pub(crate) fn live_flows(
    queue: &mut Queue<u32>,
    life: &[FlowStep],
    mut check: impl FnMut(&Queue<u32>),
) -> Result<Vec<Fate>, TestCaseError> {
    let (mut sink, mut now, mut fates) = (Recorder::default(), Time::ZERO, Vec::new());
    let (mut arrived, mut arrived_bytes, mut left, mut left_bytes) = (0, 0, 0, 0);
    let mut latest = [None; 64];
    for step in life {
        let (waiting, drops) = (queue.packets(), sink.drops.len());
        let mut sent = None;
        match *step {
            FlowStep::Arrive(flow, bytes) => {
                queue.enqueue(packet_of(flow, bytes, arrived), now, &mut sink);
                arrived += 1;
                arrived_bytes += u64::from(bytes);
            }
            FlowStep::Ask => {
                sent = queue.dequeue(now, &mut sink);
                if let Some(packet) = sent {
                    prop_assert!(packet.enqueued <= now);
                    prop_assert!(latest[packet.flow as usize] < Some(packet.body), "order within a flow");
                    latest[packet.flow as usize] = Some(packet.body);
                    left += 1;
                    left_bytes += u64::from(packet.bytes);
                } else {
                    prop_assert_eq!(waiting, 0, "a full queue must give a packet");
                }
            }
            FlowStep::Wait(micros) => {
                let until = now + Span::from_micros(u64::from(micros));
                while let Some(time) = queue.timer().filter(|&time| time <= until) {
                    queue.on_timer(time, &mut sink);
                }
                now = until;
            }
        }
        fates.extend(sink.drops[drops..].iter().map(|&(number, _)| Fate::Dropped(number)));
        fates.extend(sent.map(|packet| Fate::Left(packet.body)));
        prop_assert_eq!(arrived as usize, left + sink.drops.len() + queue.packets(), "packets are conserved");
        prop_assert_eq!(arrived_bytes, left_bytes + sink.dropped_bytes + queue.bytes(), "bytes are conserved");
        check(queue);
    }
    Ok(fates)
}

/// Offers packets of (flow, bytes) and drains the queue; returns the flows that left, in order, and those that were
/// dropped.
pub(crate) fn offer_flows(queue: &mut Queue<u32>, arrivals: &[(u32, u32)]) -> (Vec<u32>, Vec<u32>) {
    let mut sink = Recorder::default();
    for (number, &(flow, bytes)) in (0..).zip(arrivals) {
        queue.enqueue(packet_of(flow, bytes, number), Time::ZERO, &mut sink);
    }
    let left = std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut sink)).map(|packet| packet.flow).collect();
    (left, sink.drops.iter().map(|&(number, _)| arrivals[number as usize].0).collect())
}
