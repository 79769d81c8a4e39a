//! Which acknowledgements are dropped.

use super::*;
use crate::cake::Cake;
use crate::{Acknowledgement, Body, Sink};
use proptest::prelude::*;
use sojourn_core::Stream;

/// A body that is an acknowledgement, or data.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Said(Option<Acknowledgement>);

impl Body for Said {
    fn acknowledgement(&self) -> Option<Acknowledgement> {
        self.0
    }
}

/// Numbers of those that were dropped as redundant.
#[derive(Default)]
struct Redundant(Vec<u32>);

impl Sink<Said> for Redundant {
    fn dropped(&mut self, packet: &Packet<Said>, reason: DropReason) {
        assert_eq!(reason, DropReason::Redundant);
        // The test numbers its packets by their size.
        self.0.push(packet.bytes - 40);
    }
    fn marked(&mut self, _packet: &Packet<Said>) {}
}

fn said(flow: u32, body: Option<Acknowledgement>, number: u32) -> Packet<Said> {
    let Packet { flow, bytes, enqueued, key, ecn, dscp, class, .. } = of_flow(flow, 40 + number, 0);
    Packet { flow, bytes, enqueued, key, ecn, dscp, class, body: Said(body) }
}

fn ack(number: u32) -> Acknowledgement {
    Acknowledgement { number, ..Acknowledgement::default() }
}

fn sack(number: u32, ranges: &[(u32, u32)]) -> Acknowledgement {
    let mut ack = ack(number);
    ack.ranges[..ranges.len()].copy_from_slice(ranges);
    ack
}

fn cake_of(filter: &'static str) -> Cake<Said> {
    let params = params(&DESCRIPTOR, "linux", &[word("ack_filter", filter), word("isolation", "flowblind")]);
    Cake::new(&params, &link(10_000), Stream::new(1, "queue")).unwrap()
}

/// Which of these packets are dropped, where they all come at once: (flow, what it says).
fn dropped(filter: &'static str, packets: &[(u32, Option<Acknowledgement>)]) -> Vec<u32> {
    let mut queue = cake_of(filter);
    let mut sink = Redundant::default();
    for (number, &(flow, body)) in (0..).zip(packets) {
        queue.enqueue(said(flow, body, number), Time::ZERO, &mut sink);
    }
    let mut left: Vec<u32> =
        std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut sink)).map(|packet| packet.bytes - 40).collect();
    assert!(left.is_sorted(), "in order");
    left.extend(&sink.0);
    left.sort_unstable();
    assert_eq!(left, (0..packets.len() as u32).collect::<Vec<_>>(), "all are sent or dropped");
    sink.0
}

/// What each filter drops of acknowledgements of one flow.
fn of_one(acks: &[Acknowledgement]) -> [Vec<u32>; 2] {
    let packets: Vec<_> = acks.iter().map(|&ack| (0, Some(ack))).collect();
    assert!(dropped("off", &packets).is_empty());
    ["normal", "aggressive"].map(|filter| dropped(filter, &packets))
}

#[test]
fn the_older_of_two_goes_and_an_aggressive_filter_leaves_one() {
    assert_eq!(of_one(&[ack(1), ack(2)]), [vec![], vec![0]]);
    assert_eq!(of_one(&[ack(1), ack(2), ack(3)]), [vec![0], vec![0, 1]]);
    assert_eq!(of_one(&[ack(1), ack(2), ack(3), ack(4), ack(5)]), [vec![0, 1, 2], vec![0, 1, 2, 3]]);
}

#[test]
fn duplicates_and_news_stay() {
    assert_eq!(of_one(&[ack(5), ack(5), ack(5), ack(5)]), [vec![], vec![]]);
    assert_eq!(of_one(&[ack(5), ack(4), ack(3)]), [vec![], vec![]], "an older one says nothing new");
    // What a new number covers may go although it was a duplicate of another.
    assert_eq!(of_one(&[ack(5), ack(5), ack(5), ack(6)]), [vec![0], vec![0]]);
}

#[test]
fn ranges_must_be_reported_again() {
    let grows = [sack(5, &[(7, 8)]), sack(5, &[(7, 9)]), sack(5, &[(7, 10)])];
    assert_eq!(of_one(&grows), [vec![0], vec![0, 1]]);
    assert_eq!(of_one(&[sack(5, &[(7, 8)]), sack(5, &[(7, 8)]), sack(5, &[(7, 8)])]), [vec![], vec![]]);
    assert_eq!(of_one(&[sack(5, &[(7, 8)]), sack(5, &[(9, 12)]), sack(5, &[(14, 15)])]), [vec![], vec![]]);
    let more = [sack(5, &[(7, 8)]), sack(5, &[(9, 10), (7, 8)]), sack(5, &[(11, 12), (9, 10), (7, 8)])];
    assert_eq!(of_one(&more), [vec![0], vec![0, 1]]);
    // As in the kernel, a number beyond a range does not count as reporting it.
    assert_eq!(of_one(&[sack(5, &[(7, 8)]), sack(5, &[(7, 8)]), ack(10)]), [vec![], vec![]]);
    assert_eq!(of_one(&[ack(5), ack(5), sack(5, &[(7, 8)])]), [vec![0], vec![0]]);
    // A duplicate that was received twice is told once (RFC 2883).
    assert_eq!(of_one(&[sack(5, &[(3, 4)]), sack(5, &[(3, 4)]), sack(6, &[(3, 4)])]), [vec![], vec![]]);
}

#[test]
fn an_echo_of_a_mark_is_not_lost() {
    let echo = |number| Acknowledgement { ece: true, ..ack(number) };
    assert_eq!(of_one(&[ack(1), ack(2), echo(3)]), [vec![0], vec![0]], "2 stays: only 3 echoes");
    assert_eq!(of_one(&[ack(1), echo(2), echo(3)]), [vec![], vec![1]], "the first echo begins anew");
    assert_eq!(of_one(&[echo(1), ack(2), ack(3), ack(4)]), [vec![1], vec![1, 2]]);
    assert_eq!(of_one(&[ack(1), echo(2)]), [vec![], vec![]]);
    assert_eq!(of_one(&[echo(1), echo(2), echo(3)]), [vec![0], vec![0, 1]]);
}

#[test]
fn a_later_timestamp_is_not_dropped_for_an_earlier_one() {
    let stamped = |number, nanos| Acknowledgement { stamp: Time::from_nanos(nanos), ..ack(number) };
    assert_eq!(of_one(&[stamped(1, 9), stamped(2, 9), stamped(3, 8)]), [vec![], vec![0]]);
    assert_eq!(of_one(&[stamped(1, 9), stamped(2, 9), stamped(3, 9)]), [vec![0], vec![0, 1]]);
}

#[test]
fn data_and_other_flows_stay_and_do_not_hide() {
    let (a, b) = (|number| (0, Some(ack(number))), |number| (1, Some(ack(number))));
    let mixed = [a(1), b(1), (0, None), a(2), b(2), (1, None), a(3)];
    assert_eq!(dropped("normal", &mixed), [0]);
    assert_eq!(dropped("aggressive", &[a(1), b(1), a(2)]), [0; 0], "it is not right before the new one");
    assert_eq!(dropped("aggressive", &[a(1), (0, None)]), [0; 0], "data is no acknowledgement");
    assert_eq!(dropped("normal", &[a(1), b(2), a(3), b(4), a(5), b(6), b(7)]), [0, 1, 3]);
}

#[test]
fn dropped_acknowledgements_are_counted() {
    let mut queue = cake_of("aggressive");
    (0..5).for_each(|number| queue.enqueue(said(0, Some(ack(number)), number), Time::ZERO, &mut Redundant::default()));
    let mut shown = Vec::new();
    let names = ["best_effort.bytes", "best_effort.ack_drops"];
    queue.probe(&mut |name, value| shown.extend(names.contains(&name).then_some(value)));
    assert_eq!((shown, queue.packets(), queue.bytes()), (vec![44.0, 4.0], 1, 44));
}

/// At 1 Mbit/s: 40 B dropped and 41 B sent take 320 and 328 us, but the failsafe clock counts only what was sent, by half
/// more.
#[test]
fn dropped_acknowledgements_count_in_ingress_mode() {
    let ready = |ingress| {
        let changes = [word("ack_filter", "aggressive"), bandwidth(1_000), ("ingress", Value::Boolean(ingress))];
        let mut queue: Cake<Said> =
            Cake::new(&params(&DESCRIPTOR, "linux", &changes), &link(10_000), Stream::new(1, "queue")).unwrap();
        let mut sink = Redundant::default();
        (0..2).for_each(|number| queue.enqueue(said(0, Some(ack(number)), number), at(1_000), &mut sink));
        let first = queue.dequeue(at(1_000), &mut sink);
        assert_eq!((first.map(|packet| packet.bytes), sink.0.len()), (Some(41), 1));
        queue.enqueue(said(0, Some(ack(9)), 9), at(1_001), &mut sink);
        queue.ready_at(at(1_001))
    };
    assert_eq!(ready(false), Some(at(1_328)));
    assert_eq!(ready(true), Some(at(1_492)));
}

proptest! {
    /// Whatever comes: what the receiver of the acknowledgements learns in the end is the same.
    #[test]
    fn nothing_is_lost_that_matters(
        steps in prop::collection::vec((0u32..3, 0u32..3, any::<bool>(), 0u32..4), 1..100),
        filter in prop::sample::select(vec!["normal", "aggressive"]),
    ) {
        let mut queue = cake_of(filter);
        let (mut sink, mut said_last, mut heard) = (Redundant::default(), [0; 3], [0; 3]);
        let (mut marks_said, mut marks_heard) = ([false; 3], [false; 3]);
        for (number, (flow, progress, ece, sends)) in (0..).zip(steps) {
            said_last[flow as usize] += progress;
            marks_said[flow as usize] |= ece;
            let ack = Acknowledgement { ece, ..ack(said_last[flow as usize]) };
            queue.enqueue(said(flow, Some(ack), number), Time::ZERO, &mut sink);
            if sends == 0
                && let Some(packet) = queue.dequeue(Time::ZERO, &mut sink) {
                    heard[packet.flow as usize] = packet.body.0.unwrap().number;
                    marks_heard[packet.flow as usize] |= packet.body.0.unwrap().ece;
                }
        }
        while let Some(packet) = queue.dequeue(Time::ZERO, &mut sink) {
            heard[packet.flow as usize] = packet.body.0.unwrap().number;
            marks_heard[packet.flow as usize] |= packet.body.0.unwrap().ece;
        }
        prop_assert_eq!(heard, said_last);
        prop_assert_eq!(marks_heard, marks_said);
    }
}
