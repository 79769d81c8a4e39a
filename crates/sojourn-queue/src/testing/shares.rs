//! What classes get of a link that they always fill.

use super::{Recorder, class, dscp, held, packet_with, params};
use crate::{Discipline, Queue};
use proptest::prelude::*;
use sojourn_core::Time;
use sojourn_core::registry::{Descriptor, Members, Params, Value};

/// The scheduler `descriptor` with a class for each weight: the class with index i takes code point i + 1, and the last
/// one the rest.
pub(crate) fn scheduler(descriptor: &'static Descriptor, weights: &[u64], changes: &[(&str, Value)]) -> Params {
    let mut params = params(descriptor, "default", changes);
    let class = |(index, &weight): (usize, &u64)| {
        let is_last = index + 1 == weights.len();
        let members = if is_last { Members::default() } else { dscp(&[index as u8 + 1]) };
        class(descriptor, &format!("c{index}"), members, &[("weight", Value::Integer(weight))], held("droptail", &[]))
    };
    params.classes = weights.iter().enumerate().map(class).collect();
    params
}

/// Sizes of packets for each of so many classes.
pub(crate) fn sizes(classes: usize) -> impl Strategy<Value = Vec<Vec<u32>>> {
    let size = prop_oneof![Just(1500u32), Just(40), 40u32..1500];
    prop::collection::vec(prop::collection::vec(size, 1..6), classes)
}

/// What classes got.
pub(crate) struct Shares {
    /// Who sent, in order.
    pub(crate) order: Vec<usize>,
    /// Bytes of each class.
    pub(crate) sent: Vec<u64>,
    weights: Vec<u64>,
    largest: Vec<u32>,
    /// Bytes of each class after each packet.
    history: Vec<Vec<u64>>,
}

/// Serves so many packets; class i always has packets of sizes that go round `sizes[i]`.
pub(crate) fn serve(queue: &mut Queue<u32>, weights: &[u64], sizes: &[Vec<u32>], packets: usize) -> Shares {
    let mut sink = Recorder::default();
    let mut arrived = vec![0; weights.len()];
    let mut arrive = |queue: &mut Queue<u32>, class: usize| {
        let bytes = sizes[class][arrived[class] % sizes[class].len()];
        arrived[class] += 1;
        queue.enqueue(packet_with(class as u8 + 1, bytes, 0), Time::ZERO, &mut Recorder::default());
    };
    for class in 0..weights.len() {
        (0..2).for_each(|_| arrive(queue, class));
    }
    let mut shares = Shares {
        order: Vec::new(),
        sent: vec![0; weights.len()],
        weights: weights.to_vec(),
        largest: sizes.iter().map(|sizes| *sizes.iter().max().expect("a size")).collect(),
        history: vec![vec![0; weights.len()]],
    };
    for _ in 0..packets {
        let packet = queue.dequeue(Time::ZERO, &mut sink).expect("there are packets");
        let class = usize::from(packet.class);
        shares.order.push(class);
        shares.sent[class] += u64::from(packet.bytes);
        shares.history.push(shares.sent.clone());
        arrive(queue, class);
    }
    shares
}

impl Shares {
    /// Largest packet of a class per weight.
    pub(crate) fn largest_per_weight(&self, class: usize) -> f64 {
        f64::from(self.largest[class]) / self.weights[class] as f64
    }

    /// Largest packet.
    pub(crate) fn largest(&self) -> f64 {
        f64::from(*self.largest.iter().max().expect("a class"))
    }

    /// By how much the bytes per weight of two classes differ, in the stretch in which they differ most.
    pub(crate) fn range(&self, one: usize, other: usize) -> f64 {
        let per_weight = |sent: &[u64], class: usize| sent[class] as f64 / self.weights[class] as f64;
        let ahead = self.history.iter().map(|sent| per_weight(sent, one) - per_weight(sent, other));
        ahead.clone().fold(f64::MIN, f64::max) - ahead.fold(f64::MAX, f64::min)
    }

    /// How far a class ever was from its part of all bytes.
    pub(crate) fn furthest_from_ideal(&self) -> f64 {
        let weight: u64 = self.weights.iter().sum();
        let distances = self.history.iter().flat_map(|sent| {
            let total: u64 = sent.iter().sum();
            let ideal = move |own: u64| total as f64 * own as f64 / weight as f64;
            self.weights.iter().zip(sent).map(move |(&own, &sent)| (sent as f64 - ideal(own)).abs())
        });
        distances.fold(0.0, f64::max)
    }
}
