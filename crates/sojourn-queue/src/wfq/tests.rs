//! Shares against the ideal.

use super::{DESCRIPTOR, StartTimeFair, UNITS};
use crate::Queue;
use crate::classful::{ClassScheduler, ClassSet};
use crate::testing::shares::{scheduler, serve, sizes};
use crate::testing::{build, link};
use proptest::prelude::*;

fn wfq(weights: &[u64]) -> Queue<u32> {
    build(&scheduler(&DESCRIPTOR, weights, &[]), &link(10_000)).unwrap()
}

fn all(classes: usize) -> ClassSet {
    let mut set = ClassSet::default();
    (0..classes).for_each(|class| set.insert(class));
    set
}

/// Start times in bytes of a class of weight 1.
fn starts(turns: &StartTimeFair) -> Vec<u64> {
    turns.starts.iter().map(|start| (start / UNITS) as u64).collect()
}

#[test]
fn the_smallest_start_goes_first() {
    let mut turns = StartTimeFair::new([1, 2, 1].into_iter());
    (0..3).for_each(|class| turns.backlogged(class));
    let sizes = [1000, 1500, 300];
    let send = |turns: &mut StartTimeFair| {
        let class = turns.next(all(3));
        turns.sent(class, sizes[class]);
        class
    };
    let order: Vec<_> = (0..3).map(|_| send(&mut turns)).collect();
    assert_eq!((order, starts(&turns)), (vec![0, 1, 2], vec![1000, 750, 300]), "in the order of the file from zero on");
    let order: Vec<_> = (0..5).map(|_| send(&mut turns)).collect();
    assert_eq!((order, starts(&turns)), (vec![2, 2, 1, 2, 0], vec![2000, 1500, 1200]));
    assert_eq!(turns.clock, 1000 * UNITS, "the start of the packet sent last");
}

#[test]
fn who_comes_later_starts_now() {
    let mut turns = StartTimeFair::new([1, 1, 1].into_iter());
    turns.backlogged(0);
    (0..10).for_each(|_| turns.sent(0, 1000));
    turns.backlogged(1);
    assert_eq!(starts(&turns), [10_000, 9000, 0], "not at zero: nothing is made up for");
    turns.sent(1, 500);
    turns.emptied(1);
    turns.backlogged(1);
    assert_eq!(starts(&turns), [10_000, 9500, 0], "nor can it start anew by pausing");
    // Who gave nothing is as one who comes later.
    turns.sent(1, 700);
    turns.gave_nothing(2);
    assert_eq!(starts(&turns), [10_000, 10_200, 9500]);
}

#[test]
fn debts_end_with_the_busy_period() {
    let mut turns = StartTimeFair::new([1, 1].into_iter());
    turns.backlogged(0);
    turns.sent(0, 9000);
    turns.backlogged(1);
    turns.sent(1, 10);
    turns.emptied(1);
    turns.emptied(0);
    (0..2).for_each(|class| turns.backlogged(class));
    assert_eq!(starts(&turns), [9000, 9000]);
}

#[test]
fn a_small_weight_does_not_wait_for_its_own_packet() {
    // A voice packet of weight 1 beside bulk of weight 9 that waits already: second at the latest.
    let mut turns = StartTimeFair::new([9, 1].into_iter());
    turns.backlogged(0);
    (0..100).for_each(|_| turns.sent(0, 1500));
    turns.backlogged(1);
    assert_eq!(turns.next(all(2)), 1);
}

proptest! {
    /// Goyal, Vin and Cheng's bound, for any stretch of time in which two classes have packets.
    #[test]
    fn bytes_are_shared_by_weight_within_a_packet(
        weights in prop::collection::vec(1u64..10, 2..5),
        sizes in sizes(5),
        packets in 1usize..300,
    ) {
        let shares = serve(&mut wfq(&weights), &weights, &sizes[..weights.len()], packets);
        for one in 0..weights.len() {
            for other in 0..weights.len() {
                let bound = shares.largest_per_weight(one) + shares.largest_per_weight(other);
                prop_assert!(shares.range(one, other) <= bound + 1e-6, "{} of {bound}", shares.range(one, other));
            }
        }
    }

    /// With two classes that have packets from the start, neither is ever further than a largest packet from what the
    /// fluid ideal has sent.
    #[test]
    fn nobody_is_more_than_a_packet_from_the_ideal(
        weights in prop::collection::vec(1u64..10, 2..=2),
        sizes in sizes(2),
        packets in 1usize..300,
    ) {
        let shares = serve(&mut wfq(&weights), &weights, &sizes, packets);
        prop_assert!(shares.furthest_from_ideal() <= shares.largest() + 1e-6, "{}", shares.furthest_from_ideal());
    }
}
