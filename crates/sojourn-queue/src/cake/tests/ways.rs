//! The table in which each flow may lie at eight places.

use super::*;
use crate::cake::ways::{Counts, Holder, Hosts, Ways};
use proptest::prelude::*;
use std::collections::BTreeSet;

#[test]
fn eight_flows_of_a_set_do_not_collide() {
    let mut ways = Ways::new();
    let mut active = BTreeSet::new();
    // All eight want place 13: they get 13, 14, 15, and then 8 to 12.
    for (index, place) in (0..).zip([13, 14, 15, 8, 9, 10, 11, 12]) {
        let hash = 13 + index * 1024;
        assert_eq!(ways.find(hash, |place| active.contains(&place)), (place, Holder::Nobody));
        active.insert(place);
    }
    assert_eq!(ways.counts(), Counts { hits: 0, misses: 8, collisions: 0 });
    for (index, place) in (0..).zip([13, 14, 15, 8, 9, 10, 11, 12]) {
        assert_eq!(ways.find(13 + index * 1024, |place| active.contains(&place)), (place, Holder::Itself));
    }
    assert_eq!(ways.counts(), Counts { hits: 7, misses: 8, collisions: 0 });
    // The ninth has to share, with whoever has its own place. That one is a stranger there from now on.
    assert_eq!(ways.find(13 + 8 * 1024, |place| active.contains(&place)), (13, Holder::Another));
    assert_eq!(ways.find(13, |place| active.contains(&place)), (13, Holder::Another));
    assert_eq!(ways.counts().collisions, 2);
}

#[test]
fn a_flow_finds_its_place_again_until_another_takes_it() {
    let mut ways = Ways::new();
    assert_eq!(ways.find(1024, |_| false), (0, Holder::Nobody));
    assert_eq!(ways.find(1024, |_| false), (0, Holder::Nobody));
    assert_eq!(ways.counts(), Counts { hits: 0, misses: 1, collisions: 0 }, "it came back to its own place");
    assert_eq!(ways.find(2048, |place| place == 0), (1, Holder::Nobody));
    assert_eq!(ways.find(2048, |_| false), (1, Holder::Nobody), "although place 0 is free now");
    assert_eq!(ways.find(3072, |place| place == 0), (1, Holder::Nobody));
    assert_eq!(ways.find(2048, |place| place <= 1), (2, Holder::Nobody));
}

#[test]
fn a_host_with_bulk_flows_keeps_its_place() {
    let mut hosts = Hosts::default();
    assert_eq!(hosts.place(5), 5);
    hosts.add(5);
    assert_eq!(hosts.place(5 + 1024), 6);
    assert_eq!(hosts.place(5 + 2048), 6, "nobody counts on place 6");
    hosts.add(6);
    assert_eq!([hosts.place(5), hosts.place(5 + 2048), hosts.place(5 + 1024)], [5, 6, 7]);
    hosts.remove(5);
    hosts.remove(5);
    assert_eq!((hosts.bulk_flows(5), hosts.bulk_flows(6)), (0, 1));
}

/// Of 400 flows at once a plain hash onto 1024 queues leaves 68 % alone; here it is all of them but very few.
#[test]
fn collisions_are_rare() {
    let mut queue = cake(&[word("isolation", "flows")]);
    let mut sink = Recorder::default();
    (0..400).for_each(|flow| queue.enqueue(of_flow(flow, 1500, flow), Time::ZERO, &mut sink));
    assert_eq!(probe(&queue, "best_effort.way_misses") + probe(&queue, "best_effort.way_collisions"), 400.0);
    assert!(probe(&queue, "best_effort.way_collisions") <= 4.0);
    assert_eq!(probe(&queue, "best_effort.sparse_flows"), 400.0 - probe(&queue, "best_effort.way_collisions"));
}

proptest! {
    /// A flow is where its hash may be, found again while active, and apart from others unless its set is full.
    #[test]
    fn places_are_as_a_search_would_find(steps in prop::collection::vec((0u32..40, any::<bool>()), 1..400)) {
        let mut ways = Ways::new();
        // Forty hashes on three sets; who holds which place.
        let mut holders = std::collections::BTreeMap::new();
        for (number, leaves) in steps {
            let hash = number % 24 + number * 1024;
            let (place, holder) = ways.find(hash, |place| holders.contains_key(&place));
            prop_assert_eq!(place / 8, hash % 1024 / 8);
            let full = (0..8).all(|way| holders.contains_key(&(place / 8 * 8 + way)));
            match holder {
                Holder::Itself => prop_assert_eq!(holders.get(&place), Some(&hash)),
                Holder::Nobody => prop_assert!(!holders.contains_key(&place)),
                Holder::Another => prop_assert!(full && place == hash % 1024 && holders[&place] != hash),
            }
            holders.insert(place, hash);
            if leaves {
                holders.remove(&place);
            }
        }
    }
}
