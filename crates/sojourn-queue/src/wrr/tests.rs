//! Rounds of packets.

use super::{DESCRIPTOR, WeightedRoundRobin};
use crate::classful::{ClassScheduler, ClassSet};
use crate::testing::shares::{Shares, scheduler, serve};
use crate::testing::{Recorder, build, link, packet_with};
use crate::{Discipline, Queue};
use proptest::prelude::*;
use sojourn_core::Time;

/// A class for each weight; the class with index i takes code point i + 1, the last one the rest.
fn wrr(weights: &[u64]) -> Queue<u32> {
    build(&scheduler(&DESCRIPTOR, weights, &[]), &link(10_000)).unwrap()
}

/// The classes that send, in order, when packets of the classes `arrivals` wait.
fn order(queue: &mut Queue<u32>, arrivals: &[u8]) -> Vec<u8> {
    let mut sink = Recorder::default();
    for (number, class) in (0..).zip(arrivals) {
        queue.enqueue(packet_with(class + 1, 1000, number), Time::ZERO, &mut sink);
    }
    std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut sink)).map(|packet| packet.class).collect()
}

#[test]
fn a_turn_is_as_many_packets_as_the_weight_says() {
    let arrivals = [[2u8; 8], [1; 8], [0; 8]].concat();
    let rounds = [0, 0, 0, 1, 2, 2, 0, 0, 0, 1, 2, 2, 0, 0, 1, 2, 2, 1, 2, 2, 1, 1, 1, 1];
    assert_eq!(order(&mut wrr(&[3, 1, 2]), &arrivals), rounds);
}

#[test]
fn a_class_that_runs_empty_loses_the_rest_of_its_turn() {
    let mut turns = WeightedRoundRobin::new([5, 1].into_iter());
    let mut both = ClassSet::default();
    both.insert(0);
    both.insert(1);
    assert_eq!(turns.next(both), 0);
    turns.sent(0, 1000);
    turns.emptied(0);
    turns.backlogged(0);
    assert_eq!(turns.next(both), 1, "though it has a packet again, and four to go");
    turns.sent(1, 1000);
    turns.emptied(1);
    // The others' leaving does not end its turn.
    assert_eq!(turns.next(both), 0);
    turns.sent(0, 1000);
    turns.emptied(1);
    assert_eq!(turns.next(both), 0);
    // A class that gives nothing has had its turn.
    turns.gave_nothing(0);
    assert_eq!(turns.next(both), 1);
}

#[test]
fn an_idle_class_is_not_waited_for() {
    assert_eq!(order(&mut wrr(&[2, 9, 1]), &[2, 2, 2, 0, 0, 0]), [0, 0, 2, 0, 2, 2]);
}

#[test]
fn the_class_with_larger_packets_gets_more_of_the_link() {
    let Shares { sent, .. } = serve(&mut wrr(&[1, 1]), &[1, 1], &[vec![1500], vec![150]], 1000);
    assert_eq!(sent, [750_000, 75_000]);
}

proptest! {
    /// In packets the shares are those of the weights, within a turn.
    #[test]
    fn packets_are_shared_by_weight(
        weights in prop::collection::vec(1u64..20, 2..6),
        packets in 1usize..400,
    ) {
        let sizes = vec![vec![100]; weights.len()];
        let shares = serve(&mut wrr(&weights), &weights, &sizes, packets);
        for (one, own) in weights.iter().enumerate() {
            for (other, its) in weights.iter().enumerate() {
                // In any stretch: one may have a whole turn while the other has none.
                let bound = 100.0 * (1.0 + 1.0);
                prop_assert!(shares.range(one, other) <= bound, "{own} {its}: {}", shares.range(one, other));
            }
        }
    }
}
