//! DropTail against its sources and against the laws of every discipline.

use super::DESCRIPTOR;
use crate::testing::{Recorder, Step, build, drain, limit, link, live, lives, packet, params};
use crate::{Discipline, DropReason};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Amount, Span, Time};

/// Offers packets of the given sizes to a new queue; returns what it holds and what it dropped.
fn offer(preset: &str, changes: &[(&str, Value)], sizes: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut queue = build(&params(&DESCRIPTOR, preset, changes), &link(10_000)).unwrap();
    let mut sink = Recorder::default();
    for (number, &size) in (0..).zip(sizes) {
        queue.enqueue(packet(size, number), Time::ZERO, &mut sink);
    }
    assert!(sink.drops.iter().all(|(_, reason)| *reason == DropReason::Overflow));
    (drain(&mut queue), sink.drops.iter().map(|(number, _)| *number).collect())
}

const HEAD: (&str, Value) = ("drop", Value::Choice("head"));

#[test]
fn a_packet_limit_counts_packets_of_any_size() {
    let three = limit(Amount::Packets(3.0));
    assert_eq!(offer("default", &[three], &[40, 1500, 40, 40, 1500]), (vec![0, 1, 2], vec![3, 4]));
}

#[test]
fn ns2_keeps_the_last_place_empty() {
    let three = limit(Amount::Packets(3.0));
    assert_eq!(offer("ns2", &[three], &[1500; 4]), (vec![0, 1], vec![2, 3]));
    assert_eq!(offer("ns2", &[], &[1500; 60]).0.len(), 49);
}

#[test]
fn a_byte_limit_takes_what_fits_exactly() {
    let bytes = limit(Amount::Bytes(3000.0));
    assert_eq!(offer("default", &[bytes], &[1500, 1500, 1]), (vec![0, 1], vec![2]));
    // What is small may still fit after what is large did not.
    assert_eq!(offer("default", &[bytes], &[1500, 1000, 1000, 500]), (vec![0, 1, 3], vec![2]));
}

#[test]
fn room_for_a_full_packet_refuses_small_ones_as_well() {
    const FULL: (&str, Value) = ("room", Value::Choice("full-packet"));
    let bytes = limit(Amount::Bytes(3000.0));
    // 1500 B are left for the second packet, 1499 B and less for those that follow.
    assert_eq!(offer("default", &[bytes, FULL], &[1500, 1, 40, 1500]), (vec![0, 1], vec![2, 3]));
    assert_eq!(offer("default", &[bytes, FULL, HEAD], &[1500, 1, 40, 1500]), (vec![1, 2, 3], vec![0]));
}

#[test]
fn room_for_a_full_packet_means_nothing_where_packets_are_counted() {
    let full = ("room", Value::Choice("full-packet"));
    assert_eq!(build(&params(&DESCRIPTOR, "default", &[full]), &link(10_000)).err(), Some("room"));
}

#[test]
fn a_time_limit_is_the_bytes_sent_in_it() {
    // 10 Mbit/s send 1250 B in a millisecond: 12 ms are 10 full-size packets.
    let time = limit(Amount::Time(Span::from_millis(12)));
    assert_eq!(offer("default", &[time], &[1500; 12]).0.len(), 10);
}

#[test]
fn head_drop_makes_room_at_the_head() {
    let three = limit(Amount::Packets(3.0));
    assert_eq!(offer("default", &[three, HEAD], &[1500; 5]), (vec![2, 3, 4], vec![0, 1]));
    // One large arrival may need the room of several small packets, but not more than that.
    let bytes = limit(Amount::Bytes(2000.0));
    assert_eq!(offer("default", &[bytes, HEAD], &[500, 500, 500, 500, 1000]), (vec![2, 3, 4], vec![0, 1]));
}

#[test]
fn head_drop_of_what_never_fits_drops_all() {
    let bytes = limit(Amount::Bytes(1500.0));
    assert_eq!(offer("default", &[bytes, HEAD], &[500, 500, 1501]), (vec![], vec![0, 1, 2]));
}

#[test]
fn packets_remember_when_they_came() {
    let mut queue = build(&params(&DESCRIPTOR, "default", &[]), &link(10_000)).unwrap();
    let mut sink = Recorder::default();
    queue.enqueue(packet(1500, 0), Time::from_nanos(7), &mut sink);
    assert_eq!(queue.dequeue(Time::from_nanos(9), &mut sink).unwrap().enqueued, Time::from_nanos(7));
    assert!(queue.dequeue(Time::from_nanos(9), &mut sink).is_none());
}

#[test]
fn limits_that_hold_nothing_are_refused() {
    let fault = |preset, amount| build(&params(&DESCRIPTOR, preset, &[limit(amount)]), &link(10_000)).err();
    assert_eq!(fault("default", Amount::Bytes(1499.0)), Some("limit"));
    assert_eq!(fault("default", Amount::Bytes(1500.0)), None);
    assert_eq!(fault("default", Amount::Time(Span::from_millis(1))), Some("limit"));
    assert_eq!(fault("ns2", Amount::Packets(1.0)), Some("limit"));
    assert_eq!(fault("default", Amount::Packets(1.0)), None);
}

fn amounts() -> impl Strategy<Value = Amount> {
    prop_oneof![
        (2u32..60).prop_map(|packets| Amount::Packets(f64::from(packets))),
        (1500u32..60_000).prop_map(|bytes| Amount::Bytes(f64::from(bytes))),
    ]
}

proptest! {
    #[test]
    fn limits_hold_and_nothing_is_lost(amount in amounts(), head: bool, reserve in 0u64..2, life in lives()) {
        let drop = Value::Choice(if head { "head" } else { "tail" });
        let changes = [limit(amount), ("drop", drop), ("reserve", Value::Integer(reserve))];
        let mut queue = build(&params(&DESCRIPTOR, "default", &changes), &link(10_000)).unwrap();
        live(&mut queue, &life, |queue| match amount {
            Amount::Packets(packets) => assert!(queue.packets() as u64 + reserve <= packets as u64),
            Amount::Bytes(bytes) => assert!(queue.bytes() as f64 <= bytes),
            Amount::Time(_) => unreachable!(),
        })?;
    }

    #[test]
    fn packets_leave_in_the_order_they_came(head: bool, sizes in prop::collection::vec(40u32..1500, 1..100)) {
        let drop = Value::Choice(if head { "head" } else { "tail" });
        let (kept, dropped) = offer("default", &[limit(Amount::Packets(10.0)), ("drop", drop)], &sizes);
        prop_assert!(kept.is_sorted());
        prop_assert!(dropped.is_sorted());
        prop_assert_eq!(kept.len(), sizes.len().min(10));
    }

    #[test]
    fn nothing_is_dropped_below_the_limit(life in lives()) {
        let mut queue = build(&params(&DESCRIPTOR, "default", &[]), &link(10_000)).unwrap();
        let arrivals = life.iter().filter(|step| matches!(step, Step::Arrive(_))).count();
        prop_assert!(arrivals <= 1000);
        let sink = live(&mut queue, &life, |_| ())?;
        prop_assert!(sink.drops.is_empty());
    }
}
