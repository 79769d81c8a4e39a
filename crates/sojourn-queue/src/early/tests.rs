//! Who is marked, and that nothing else changes.

use super::{DESCRIPTOR, Early};
use crate::laws::{lead, mixed_lives};
use crate::testing::{Recorder, build, held, link, packet, params, probe};
use crate::{Discipline, Ecn, Packet, Queue};
use proptest::prelude::*;
use sojourn_core::registry::{Params, Value};
use sojourn_core::{Amount, Span, Stream, Time};

const ALL: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

fn early(child: Params, changes: &[(&str, Value)]) -> Params {
    let mut params = params(&DESCRIPTOR, "default", changes);
    params.child = Some(Box::new(child));
    params
}

fn threshold(amount: Amount) -> (&'static str, Value) {
    ("threshold", Value::Amount(amount))
}

/// Lets packets with these ECN fields wait for so long; the fields with which they leave, and the numbers of those that
/// were reported as marked.
fn leave(queue: &mut Queue<u32>, fields: &[Ecn], wait: Span) -> (Vec<Ecn>, Vec<u32>) {
    let mut sink = Recorder::default();
    for (number, &ecn) in (0..).zip(fields) {
        queue.enqueue(Packet { ecn, ..packet(1500, number) }, Time::ZERO, &mut sink);
    }
    let now = Time::ZERO + wait;
    let fields = std::iter::from_fn(|| queue.dequeue(now, &mut sink)).map(|packet| packet.ecn).collect();
    (fields, sink.marks)
}

#[test]
fn those_with_ect1_are_marked_above_the_threshold() {
    let queue = |marks| {
        let changes = [threshold(Amount::Time(Span::from_millis(2))), ("marks", Value::Choice(marks))];
        build(&early(held("droptail", &[]), &changes), &link(10_000)).unwrap()
    };
    let marked = vec![Ecn::NotEct, Ecn::Ce, Ecn::Ect0, Ecn::Ce];
    assert_eq!(leave(&mut queue("ect1"), &ALL, Span::from_millis(2)), (ALL.to_vec(), vec![]), "not at it");
    assert_eq!(leave(&mut queue("ect1"), &ALL, Span::from_nanos(2_000_001)), (marked, vec![1]));
    let marked = vec![Ecn::NotEct, Ecn::Ce, Ecn::Ce, Ecn::Ce];
    let mut both = queue("ect");
    assert_eq!(leave(&mut both, &ALL, Span::from_millis(3)), (marked, vec![1, 2]), "CE is not marked again");
    assert_eq!(probe(&both, "early_marks"), 2.0);
}

#[test]
fn a_threshold_may_be_what_is_left_behind() {
    let numbers = |amount| {
        let mut queue = build(&early(held("droptail", &[]), &[threshold(amount)]), &link(10_000)).unwrap();
        leave(&mut queue, &[Ecn::Ect1; 5], Span::from_secs(1)).1
    };
    assert_eq!(numbers(Amount::Packets(2.0)), [0, 1]);
    assert_eq!(numbers(Amount::Packets(0.0)), [0, 1, 2, 3]);
    assert_eq!(numbers(Amount::Bytes(4499.0)), [0, 1]);
    assert_eq!(numbers(Amount::Bytes(4500.0)), [0]);
}

#[test]
fn there_must_be_one_inside() {
    let mut nothing = params(&DESCRIPTOR, "default", &[]);
    nothing.child = None;
    assert_eq!(build(&nothing, &link(10_000)).err(), Some("child"));
    let deep = (0..3).fold(held("droptail", &[]), |inner, _| early(inner, &[]));
    assert!(build(&deep, &link(10_000)).is_ok());
    assert_eq!(build(&early(deep, &[]), &link(10_000)).err(), Some("child"));
}

#[test]
fn advice_on_the_discipline_inside() {
    let advised = |child: Params, time| {
        let params = early(child, &[threshold(Amount::Time(Span::from_millis(time)))]);
        let advice = <Early<u32> as Discipline<u32>>::advice(&params, &link(10_000));
        advice.iter().map(|advice| advice.parameter).collect::<Vec<_>>()
    };
    let codel = |ecn| held("codel", &[("ecn", Value::Boolean(ecn)), ("target", Value::Span(Span::from_millis(5)))]);
    assert!(advised(codel(true), 4).is_empty());
    assert_eq!(advised(codel(true), 5), ["threshold"]);
    assert_eq!(advised(codel(false), 4), ["marks"]);
    assert_eq!(advised(codel(false), 9), ["threshold", "marks"]);
    assert!(advised(held("droptail", &[]), 4).is_empty());
}

proptest! {
    /// Above a threshold that is never reached, or for senders without ECT(1), it is what it holds: the same packets
    /// leave at the same times, the same ones are dropped and marked.
    #[test]
    fn all_else_is_decided_inside(
        name in prop::sample::select(vec!["codel", "red", "pie", "pi2", "fq_codel", "sfq", "cake"]),
        life in mixed_lives(),
    ) {
        let never = [threshold(Amount::Time(Span::from_secs(1_000_000)))];
        let params = early(held(name, &[]), &never);
        let random = Stream::new(1, "queue");
        let mut alone: Queue<u32> = Queue::build(&held(name, &[]), &link(4_000), random.clone().into_parts().stream("child")).unwrap();
        let mut inside: Queue<u32> = Queue::build(&params, &link(4_000), random).unwrap();
        prop_assert_eq!(lead(&mut inside, &life, |_| ())?, lead(&mut alone, &life, |_| ())?);
    }

    /// Marks leave the queue itself as it is: a threshold of zero changes no packet's time.
    #[test]
    fn marks_delay_nobody(life in mixed_lives()) {
        let at_once = [threshold(Amount::Time(Span::ZERO)), ("marks", Value::Choice("ect"))];
        let run = |params: &Params| lead(&mut build(params, &link(4_000)).unwrap(), &life, |_| ());
        let (early, plain) = (run(&early(held("codel", &[]), &at_once))?, run(&held("codel", &[]))?);
        prop_assert_eq!(early.sent, plain.sent);
        prop_assert_eq!(early.sink.drops, plain.sink.drops);
    }
}
