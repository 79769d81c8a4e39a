//! Turns of bytes.

use super::{ByteTurns, DESCRIPTOR, Dwrr};
use crate::classful::{Set, Turns};
use crate::testing::shares::{scheduler, serve, sizes};
use crate::testing::{build, link, params};
use crate::{Discipline, Queue};
use proptest::prelude::*;
use sojourn_core::registry::Value;

fn dwrr(weights: &[u64], quantum: u64) -> Queue<u32> {
    let changes = [("quantum", Value::Integer(quantum))];
    build(&scheduler(&DESCRIPTOR, weights, &changes), &link(10_000)).unwrap()
}

fn all(classes: usize) -> Set {
    let mut set = Set::default();
    (0..classes).for_each(|class| set.insert(class));
    set
}

/// Lets each class send packets of its size for ever; returns who sends, and the counter it has then.
fn turns(turns: &mut ByteTurns, sizes: &[u32], times: usize) -> Vec<(usize, i64)> {
    let mut order = Vec::new();
    for _ in 0..times {
        let class = turns.next(all(sizes.len()));
        turns.sent(class, sizes[class]);
        order.push((class, turns.deficits[class]));
    }
    order
}

#[test]
fn what_was_sent_too_much_is_lacking_in_the_next_turn() {
    let mut queue = ByteTurns::new([1000, 2000].into_iter());
    let order = turns(&mut queue, &[600, 1500], 8);
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
    let mut queue = ByteTurns::new([1000, 1000].into_iter());
    turns(&mut queue, &[100, 100], 1);
    assert_eq!(queue.deficits, [900, 0]);
    queue.left(0);
    assert_eq!(queue.deficits, [0, 0]);
    assert_eq!(queue.next(all(2)), 1, "and its turn is over");
    queue.sent(1, 1500);
    queue.left(1);
    assert_eq!(queue.deficits[1], 0, "debts are forgotten as well");
}

#[test]
fn a_class_that_gives_nothing_saves_nothing_up() {
    let mut queue = ByteTurns::new([1000, 1000].into_iter());
    for _ in 0..5 {
        let class = queue.next(all(2));
        queue.passed(class);
    }
    assert_eq!(queue.deficits, [0, 0]);
    assert_eq!(turns(&mut queue, &[1500, 1500], 1), [(1, -500)]);
    queue.passed(1);
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
