//! Rounds of bytes.

use super::{ChargeAfterwards, DESCRIPTOR, Dwrr};
use crate::classful::{ClassScheduler, ClassSet};
use crate::testing::shares::{scheduler, serve, sizes};
use crate::testing::{Recorder, build, held, link, packet_with, params, probe};
use crate::{Discipline, Queue};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Span, Time};
use std::collections::VecDeque;

fn dwrr(weights: &[u64], quantum: u64) -> Queue<u32> {
    let changes = [("quantum", Value::Integer(quantum))];
    build(&scheduler(&DESCRIPTOR, weights, &changes), &link(10_000)).unwrap()
}

fn all(classes: usize) -> ClassSet {
    let mut set = ClassSet::default();
    (0..classes).for_each(|class| set.insert(class));
    set
}

/// Lets each class send packets of its size for ever; returns who sends, and the counter it has then.
fn serve_by(scheduler: &mut ChargeAfterwards, sizes: &[u32], times: usize) -> Vec<(usize, i64)> {
    let mut order = Vec::new();
    for _ in 0..times {
        let class = scheduler.next(all(sizes.len()));
        scheduler.sent(class, sizes[class]);
        order.push((class, scheduler.deficits[class]));
    }
    order
}

#[test]
fn what_was_sent_too_much_is_lacking_in_the_next_turn() {
    let mut queue = ChargeAfterwards::new([1000, 2000].into_iter());
    let order = serve_by(&mut queue, &[600, 1500], 8);
    assert_eq!(
        order,
        [(0, 400), (0, -200), (1, 500), (1, -1000), (0, 200), (0, -400), (1, -500), (0, 0)],
        "1000 - 600 is left, then 200 owed; 2000 and then 1000 for the other"
    );
    // Nothing left and nothing owed is the end of the turn.
    assert_eq!(queue.next(all(2)), 1);
}

#[test]
fn a_class_that_runs_empty_starts_from_zero() {
    let mut queue = ChargeAfterwards::new([1000, 1000].into_iter());
    serve_by(&mut queue, &[100, 100], 1);
    assert_eq!(queue.deficits, [900, 0]);
    queue.emptied(0);
    assert_eq!(queue.deficits, [0, 0]);
    assert_eq!(queue.next(all(2)), 1, "and its turn is over");
    queue.sent(1, 1500);
    queue.emptied(1);
    assert_eq!(queue.deficits[1], 0, "debts are forgotten as well");
}

#[test]
fn a_class_that_gives_nothing_saves_nothing_up() {
    let mut queue = ChargeAfterwards::new([1000, 1000].into_iter());
    for _ in 0..5 {
        let class = queue.next(all(2));
        queue.gave_nothing(class);
    }
    assert_eq!(queue.deficits, [0, 0]);
    assert_eq!(serve_by(&mut queue, &[1500, 1500], 1), [(1, -500)]);
    queue.gave_nothing(1);
    assert_eq!(queue.deficits[1], -500, "and is forgiven nothing");
}

#[test]
fn the_quantum_is_a_full_size_packet_unless_given() {
    let queue = |changes: &[(&str, Value)]| build(&scheduler(&DESCRIPTOR, &[2, 1], changes), &link(10_000)).unwrap();
    let sent = |mut queue: Queue<u32>| serve(&mut queue, &[2, 1], &[vec![500], vec![500]], 18).order;
    let packets = |runs: &[(usize, usize)]| -> Vec<usize> {
        runs.iter().flat_map(|&(class, packets)| vec![class; packets]).collect()
    };
    assert_eq!(sent(queue(&[])), packets(&[(0, 6), (1, 3), (0, 6), (1, 3)]));
    assert_eq!(
        sent(queue(&[("quantum", Value::Integer(500))]))[..9],
        packets(&[(0, 2), (1, 1), (0, 2), (1, 1), (0, 2), (1, 1)])
    );
}

#[test]
fn a_quantum_below_a_packet_is_unwise() {
    let advised = |bytes| {
        let advice = <Dwrr<u32> as Discipline<u32>>::advice(
            &params(&DESCRIPTOR, "default", &[("quantum", Value::Integer(bytes))]),
            &link(10_000),
        );
        advice.iter().map(|advice| advice.parameter).collect::<Vec<_>>()
    };
    assert_eq!(advised(1499), ["quantum"]);
    assert!(advised(1500).is_empty());
}

proptest! {
    /// Shreedhar and Varghese's bound, for any stretch of time in which two classes have packets.
    #[test]
    fn bytes_are_shared_by_weight_within_a_quantum(
        weights in prop::collection::vec(1u64..10, 2..5),
        quantum in 1u64..4000,
        sizes in sizes(5),
        packets in 1usize..300,
    ) {
        let shares = serve(&mut dwrr(&weights, quantum), &weights, &sizes[..weights.len()], packets);
        for one in 0..weights.len() {
            for other in 0..weights.len() {
                let bound = quantum as f64 + shares.largest_per_weight(one) + shares.largest_per_weight(other);
                prop_assert!(shares.range(one, other) <= bound, "{} of {bound}", shares.range(one, other));
            }
        }
    }
}

// Linux.

/// A packet of a class, or the link asks.
#[derive(Clone, Copy, Debug)]
enum Step {
    Arrive(usize, u32),
    Ask,
}

fn steps(classes: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..classes, 40u32..1500).prop_map(|(class, bytes)| Step::Arrive(class, bytes)),
        2 => Just(Step::Ask),
    ];
    prop::collection::vec(step, 1..300)
}

/// `drr_enqueue` and `drr_dequeue` over plain queues without limits.
struct Linux {
    quanta: Vec<u64>,
    deficits: Vec<u64>,
    queues: Vec<VecDeque<(u32, u32)>>,
    active: VecDeque<usize>,
}

impl Linux {
    fn enqueue(&mut self, class: usize, bytes: u32, number: u32) {
        if self.queues[class].is_empty() {
            self.active.push_back(class);
            self.deficits[class] = self.quanta[class];
        }
        self.queues[class].push_back((bytes, number));
    }

    fn dequeue(&mut self) -> Option<u32> {
        loop {
            let class = *self.active.front()?;
            let bytes = u64::from(self.queues[class][0].0);
            if bytes <= self.deficits[class] {
                self.deficits[class] -= bytes;
                let (_, number) = self.queues[class].pop_front()?;
                if self.queues[class].is_empty() {
                    self.active.pop_front();
                }
                return Some(number);
            }
            self.deficits[class] += self.quanta[class];
            self.active.rotate_left(1);
        }
    }
}

/// Classes of `kind` with these weights under the preset.
fn linux(weights: &[u64], quantum: u64, kind: &str) -> Queue<u32> {
    let changes = [("quantum", Value::Integer(quantum)), ("turns", Value::Choice("ahead"))];
    let mut params = scheduler(&DESCRIPTOR, weights, &changes);
    params.classes.iter_mut().for_each(|class| class.queue = held(kind, &[]));
    build(&params, &link(10_000)).unwrap()
}

/// Droptail shows its next packet. CoDel does not, so its packets are kept; it drops none while there is no delay.
fn follows_linux(kind: &str, weights: &[u64], quantum: u64, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut queue = linux(weights, quantum, kind);
    let classes = weights.len();
    let mut kernel = Linux {
        quanta: weights.iter().map(|weight| weight * quantum).collect(),
        deficits: vec![0; classes],
        queues: vec![VecDeque::new(); classes],
        active: VecDeque::new(),
    };
    let mut sink = Recorder::default();
    let mut waiting = 0;
    for (number, &step) in (0u32..).zip(steps) {
        if let Step::Arrive(class, bytes) = step {
            kernel.enqueue(class, bytes, number);
            queue.enqueue(packet_with(class as u8 + 1, bytes, number), Time::ZERO, &mut sink);
            waiting += 1;
        } else {
            let packet = queue.dequeue(Time::ZERO, &mut sink).map(|packet| packet.body);
            prop_assert_eq!(packet, kernel.dequeue());
            waiting -= usize::from(packet.is_some());
        }
        prop_assert_eq!(queue.packets(), waiting);
        prop_assert_eq!(queue.bytes(), kernel.queues.iter().flatten().map(|&(bytes, _)| u64::from(bytes)).sum::<u64>());
        prop_assert_eq!(queue.ready_at(Time::ZERO).is_some(), waiting > 0);
        let shown: f64 = (0..classes).map(|class| probe(&queue, &format!("c{class}.packets"))).sum();
        prop_assert_eq!(shown, waiting as f64);
    }
    Ok(())
}

proptest! {
    #[test]
    fn turns_ahead_are_those_of_linux(weights in prop::collection::vec(1u64..4, 3), quantum in 1u64..3000, steps in steps(3)) {
        follows_linux("droptail", &weights, quantum, &steps)?;
        follows_linux("codel", &weights, quantum, &steps)?;
    }
}

/// CoDel decides when its packet is taken out, not when it leaves: 200 ms later a drop was due.
#[test]
fn an_aqm_inside_decides_too_early() {
    let at = |millis| Time::ZERO + Span::from_millis(millis);
    let run = |turns| {
        let changes = [("quantum", Value::Integer(1500)), ("turns", Value::Choice(turns))];
        let mut params = scheduler(&DESCRIPTOR, &[1, 1], &changes);
        params.classes.iter_mut().for_each(|class| class.queue = held("codel", &[]));
        let (mut queue, mut sink) = (build(&params, &link(10_000)).unwrap(), Recorder::default());
        (0..20).for_each(|number| queue.enqueue(packet_with(1, 1000, number), at(0), &mut sink));
        queue.enqueue(packet_with(2, 1500, 20), at(0), &mut sink);
        let sent = |queue: &mut Queue<u32>, sink: &mut Recorder, millis| queue.dequeue(at(millis), sink).unwrap().body;
        // The second ask finds a counter of 500 for 1000 bytes, so that packet 1 is kept while the other class sends.
        let order = [0, 10, 210].map(|millis| sent(&mut queue, &mut sink, millis));
        (order, sink.drops.len())
    };
    assert_eq!(run("ahead"), ([0, 20, 1], 0));
    assert_eq!(run("afterwards"), ([0, 1, 20], 0), "a class sends while its counter is above zero");
}
