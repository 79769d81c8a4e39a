//! Rates, ceilings, priorities and turns, as `sch_htb` has them.

use super::DESCRIPTOR;
use crate::testing::{Recorder, build, class, dscp, held, limit, link, packet_with, params};
use crate::{Discipline, Queue};
use proptest::prelude::*;
use sojourn_core::registry::{Members, Params, Value};
use sojourn_core::{Amount, Rate, Span, Time};

const LINK: u64 = 10_000;

fn rate(kilobits: u64) -> Value {
    Value::Rate(Rate::from_bits_per_second(kilobits * 1000).unwrap())
}

/// Classes with rates and ceilings in kbit/s and priorities; the class with index i takes code point i + 1, the last the rest.
fn settings(classes: &[(u64, u64, u64)], further: &[(&str, Value)]) -> Params {
    let mut whole = params(&DESCRIPTOR, "linux", &[]);
    let deep = held("droptail", &[limit(Amount::Packets(1e5))]);
    whole.classes = (0..)
        .zip(classes)
        .map(|(index, &(sure, ceil, prio))| {
            let own = [("rate", rate(sure)), ("ceil", rate(ceil)), ("prio", Value::Integer(prio))];
            let members = if index + 1 < classes.len() { dscp(&[index as u8 + 1]) } else { Members::default() };
            class(&DESCRIPTOR, &format!("c{index}"), members, &[&own, further].concat(), deep.clone())
        })
        .collect();
    whole
}

fn htb(classes: &[(u64, u64, u64)]) -> Queue<u32> {
    build(&settings(classes, &[("quantum", Value::Integer(1500))]), &link(LINK)).unwrap()
}

/// A link that serves classes which always have packets: the class of each packet, and when its transmission begins.
fn serve(queue: &mut Queue<u32>, backlogged: &[u8], from: Time, length: Span) -> Vec<(u8, Time)> {
    let mut sink = Recorder::default();
    let wire = link(LINK).rate.transmission(1500);
    let until = from + length;
    for &class in backlogged {
        for number in 0..(length.as_nanos() / wire.as_nanos() + 2) {
            queue.enqueue(packet_with(class + 1, 1500, number as u32), from, &mut sink);
        }
    }
    let (mut now, mut sent) = (from, Vec::new());
    while now < until {
        match queue.dequeue(now, &mut sink) {
            Some(packet) => {
                sent.push((packet.class, now));
                now += wire;
            }
            None if queue.packets() == 0 => break,
            None => now = queue.ready_at(now).filter(|&ready| ready > now).expect("something waits for its rate"),
        }
    }
    sent
}

/// Mbit/s of each of three classes.
fn rates(sent: &[(u8, Time)], length: Span) -> [f64; 3] {
    [0, 1, 2].map(|class| sent.iter().filter(|packet| packet.0 == class).count() as f64 * 0.012 / length.as_secs_f64())
}

fn shares(classes: &[(u64, u64, u64)], backlogged: &[u8]) -> [f64; 3] {
    let length = Span::from_secs(20);
    rates(&serve(&mut htb(classes), backlogged, Time::ZERO, length), length)
}

fn assert_near(found: [f64; 3], expected: [f64; 3]) {
    assert!(
        found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 0.02),
        "{found:?} {expected:?}"
    );
}

#[test]
fn each_has_its_rate_and_the_first_in_priority_borrows_the_rest() {
    let classes = [(5_000, 10_000, 0), (2_000, 10_000, 1), (1_000, 10_000, 2)];
    assert_near(shares(&classes, &[0, 1, 2]), [7.0, 2.0, 1.0]);
    assert_near(shares(&classes, &[1, 2]), [0.0, 9.0, 1.0]);
    assert_near(shares(&classes, &[2]), [0.0, 0.0, 10.0]);
}

#[test]
fn equals_borrow_in_turns() {
    assert_near(shares(&[(5_000, 10_000, 0), (2_000, 10_000, 0), (1_000, 10_000, 3)], &[0, 1, 2]), [6.0, 3.0, 1.0]);
}

#[test]
fn nobody_exceeds_the_ceiling() {
    let classes = [(5_000, 6_000, 0), (2_000, 2_500, 0), (500, 500, 1)];
    assert_near(shares(&classes, &[0, 1, 2]), [6.0, 2.5, 0.5]);
    assert_near(shares(&classes, &[2]), [0.0, 0.0, 0.5]);
}

/// A borrower pays one packet after the other at its ceiling: 1500 B take 12 ms at 1 Mbit/s, and the bucket holds 1600 B.
#[test]
fn a_class_at_its_ceiling_says_when_it_goes_on() {
    let mut queue = htb(&[(1_000, 1_000, 0), (1_000, 10_000, 0)]);
    let times: Vec<_> =
        serve(&mut queue, &[0], Time::ZERO, Span::from_millis(40)).into_iter().map(|sent| sent.1).collect();
    // After the first there are 100 B left, after the second 1400 B are missing.
    let expected = [0, 1_200, 1_200 + 10_000, 23_200, 35_200].map(|micros| Time::ZERO + Span::from_micros(micros));
    assert_eq!(times, expected);
}

#[test]
fn a_pause_saves_no_more_than_the_burst() {
    let mut queue = htb(&[(1_000, 1_000, 0), (1_000, 10_000, 0)]);
    serve(&mut queue, &[0], Time::ZERO, Span::from_millis(40));
    serve(&mut queue, &[], Time::ZERO + Span::from_millis(40), Span::from_secs(10));
    assert_eq!(queue.packets(), 0);
    let sent = serve(&mut queue, &[0], Time::ZERO + Span::from_secs(100), Span::from_millis(20));
    assert_eq!(sent.len(), 3, "two at once and one after 11.2 ms, as at the start");
}

#[test]
fn a_turn_is_a_quantum() {
    let mut queue =
        build(&settings(&[(1, 10_000, 0), (1, 10_000, 0)], &[("quantum", Value::Integer(3000))]), &link(LINK)).unwrap();
    // The first packets are within the rates, where each class has its first turn.
    let sent = serve(&mut queue, &[0, 1], Time::ZERO, Span::from_millis(20));
    let order: String = sent.iter().skip(4).map(|packet| if packet.0 == 0 { 'A' } else { 'B' }).collect();
    assert!(order.contains("AABBAABB"), "{order}");
}

#[test]
fn a_ceiling_below_the_rate_is_refused() {
    assert_eq!(build(&settings(&[(2_000, 1_000, 0), (1, 1, 0)], &[]), &link(LINK)).err(), Some("ceil"));
}

/// Classes inside others: each with the place of that in which it lies, rate and ceiling in kbit/s, and priority. Those in which
/// none lies take code points by their place plus 1, the last of them the rest.
fn nested(classes: &[(Option<usize>, u64, u64, u64)]) -> Params {
    let plain: Vec<_> = classes.iter().map(|&(_, sure, ceil, prio)| (sure, ceil, prio)).collect();
    let mut whole = settings(&plain, &[("quantum", Value::Integer(1500))]);
    for (index, &(parent, ..)) in classes.iter().enumerate() {
        whole.classes[index].parent = parent.map(|parent| format!("c{parent}"));
    }
    for parent in classes.iter().filter_map(|class| class.0) {
        whole.classes[parent].members = Members::default();
        whole.classes[parent].queue = held("droptail", &[]);
    }
    whole
}

/// Who lies in a class of 4 of 10 Mbit/s borrows what its sibling leaves, and no more than both may have.
#[test]
fn siblings_borrow_from_each_other_first() {
    let household = (None, 4_000, 6_000, 0);
    let classes = [household, (Some(0), 1_000, 10_000, 0), (Some(0), 3_000, 10_000, 0), (None, 6_000, 10_000, 0)];
    // The leaves are 0 (of 1 Mbit/s), 1 (of 3) and 2 (the other class), with the code points 2, 3 and any other.
    let shares = |backlogged: &[u8]| {
        let mut queue: Queue<u32> = build(&nested(&classes), &link(LINK)).unwrap();
        let mut sink = Recorder::default();
        let (length, wire) = (Span::from_secs(20), link(LINK).rate.transmission(1500));
        for &leaf in backlogged {
            for number in 0..(length.as_nanos() / wire.as_nanos() + 2) {
                queue.enqueue(packet_with(leaf + 2, 1500, number as u32), Time::ZERO, &mut sink);
            }
        }
        let (mut now, mut sent) = (Time::ZERO, [0.0; 3]);
        while now < Time::ZERO + length {
            match queue.dequeue(now, &mut sink) {
                Some(packet) => {
                    sent[usize::from(packet.class)] += 0.012 / length.as_secs_f64();
                    now += wire;
                }
                None => now = queue.ready_at(now).filter(|&ready| ready > now).expect("something waits for its rate"),
            }
        }
        sent
    };
    assert_near(shares(&[0, 1, 2]), [1.0, 3.0, 6.0]);
    // The household's 4 are lent inside it before the link's.
    assert_near(shares(&[0, 2]), [4.0, 0.0, 6.0]);
    // Both together end at the household's ceiling, whatever their own.
    assert_near(shares(&[0, 1]), [2.0, 4.0, 0.0]);
    assert_near(shares(&[1]), [0.0, 6.0, 0.0]);
    assert_near(shares(&[2]), [0.0, 0.0, 10.0]);
}

#[test]
fn an_automatic_rate_is_a_part_of_that_of_the_class_above() {
    let mut whole =
        nested(&[(None, 6_000, 6_000, 0), (Some(0), 1, 10_000, 0), (Some(0), 1, 10_000, 0), (None, 4_000, 4_000, 0)]);
    for class in &mut whole.classes[1..3] {
        class.params.set("rate", Value::Auto);
    }
    let queue =
        super::TokenBuckets::new(&whole.classes, super::Tree::new(&whole.classes).unwrap(), &link(LINK)).unwrap();
    let rates: Vec<_> = queue.classes.iter().map(|class| class.assured.rate.bits_per_second() / 1000).collect();
    // The leaves, and then the class in which two of them lie.
    assert_eq!(rates, [3_000, 3_000, 4_000, 6_000]);
}

#[test]
fn trees_that_are_none_are_refused() {
    let refused = |classes: &[(Option<usize>, u64, u64, u64)], change: &dyn Fn(&mut Params)| {
        let mut whole = nested(classes);
        change(&mut whole);
        build(&whole, &link(LINK)).err()
    };
    let fine: &[_] = &[(None, 1_000, 10_000, 0), (Some(0), 1_000, 10_000, 0), (None, 1_000, 10_000, 0)];
    assert_eq!(refused(fine, &|_| ()), None);
    assert_eq!(refused(fine, &|whole| whole.classes[1].parent = Some("c9".into())), Some("parent"));
    assert_eq!(refused(fine, &|whole| whole.classes[1].parent = Some("c1".into())), Some("parent"));
    assert_eq!(refused(fine, &|whole| whole.classes[0].parent = Some("c1".into())), Some("parent"));
    assert_eq!(refused(fine, &|whole| whole.classes[0].members = dscp(&[9])), Some("name"));
    assert_eq!(refused(fine, &|whole| whole.classes[0].queue = held("codel", &[])), Some("queue"));
    // Seven classes one in the other are below the link, as in Linux; eight are not.
    let deep = |count: usize| -> Vec<_> {
        let below = (1..count).map(|index| (Some(index - 1), 1_000, 10_000, 0));
        [(None, 1_000, 10_000, 0)].into_iter().chain(below).chain([(None, 1_000, 10_000, 0)]).collect()
    };
    assert_eq!(refused(&deep(7), &|_| ()), None);
    assert_eq!(refused(&deep(8), &|_| ()), Some("parent"));
}

proptest! {
    /// Where the rates fit into the link, each class that always has packets gets its rate, less a packet of each other
    /// and its own, and never more than its ceiling and a burst and a packet.
    #[test]
    fn rates_and_ceilings_hold(
        classes in prop::collection::vec((100u64..3_000, 1.0..4.0f64, 0u64..8), 2..4),
        millis in 50u64..2_000,
    ) {
        let classes: Vec<_> =
            classes.into_iter().map(|(rate, above, prio)| (rate, ((rate as f64 * above) as u64).min(LINK), prio)).collect();
        let all: Vec<u8> = (0..classes.len() as u8).collect();
        let length = Span::from_millis(millis);
        let sent = serve(&mut htb(&classes), &all, Time::ZERO, length);
        for (class, &(rate, ceil, _)) in classes.iter().enumerate() {
            let bytes = 1500.0 * sent.iter().filter(|packet| usize::from(packet.0) == class).count() as f64;
            let at = |kilobits: u64| kilobits as f64 * 125.0 * length.as_secs_f64();
            let slack = 1500.0 * (classes.len() as f64 + 1.0);
            prop_assert!(bytes >= at(rate) - slack, "{bytes} of {}", at(rate));
            prop_assert!(bytes <= at(ceil) + 1600.0 + 1500.0, "{bytes} of {}", at(ceil));
        }
    }
}
