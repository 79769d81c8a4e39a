//! What acknowledgements echo of congestion marks.

use super::*;
use crate::options::DESCRIPTOR;
use proptest::prelude::*;
use sojourn_core::registry::{Params, Value};

const DELAY: Span = Span::from_millis(100);

fn receiver(feedback: &'static str, ack_every: u64) -> Receiver {
    let mut params = Params::new(&DESCRIPTOR, None);
    params.set("ecn", Value::Choice(feedback));
    params.set("ack_every", Value::Integer(ack_every));
    params.set("ack_delay", Value::Span(DELAY));
    params.set("handshake", Value::Choice("false"));
    Receiver::new(&Options::new(&params).unwrap(), Clock::default())
}

/// Section 3.2.2.5.1 of RFC 9768: the first mark is acknowledged at once, and then every second one, also where 8 segments share
/// an acknowledgement otherwise. Each one says how many there were, from 5 on.
#[test]
fn counted_marks_are_acknowledged_soon() {
    let mut receiver = receiver("accecn", 8);
    let mut told = Vec::new();
    for (number, marked) in (0..).zip([false, false, true, true, true, true, false, true, false, false]) {
        let segment = Segment::new(SegmentKind::Data, number, at(u64::from(number)));
        if let Some(ack) = receiver.on_data(&segment, marked, at(u64::from(number) + 10)).ack {
            told.push((ack.number, ack.ecn.ace()));
        }
    }
    assert_eq!(told, [(3, 6), (5, 0), (8, 2)]);
    let last = receiver.on_timer(at(200)).unwrap();
    assert_eq!((last.number, last.ecn.ace()), (10, 2));
}

/// Two SACK blocks stay beside the option, and a report of what came twice is one of them.
#[test]
fn counters_and_blocks_share_an_acknowledgement() {
    let mut params = Params::new(&DESCRIPTOR, DESCRIPTOR.presets.iter().find(|preset| preset.name == "linux"));
    params.set("ecn", Value::Choice("accecn"));
    params.set("ack_policy", Value::Choice("count"));
    params.set("handshake", Value::Choice("false"));
    let mut receiver = Receiver::new(&Options::new(&params).unwrap(), Clock::default());
    assert!(receiver.counts_bytes());
    let mut arrive = |number| {
        receiver.on_bytes(sojourn_queue::Ecn::Ect1, 1448);
        receiver.on_data(&Segment::new(SegmentKind::Data, number, at(1)), false, at(20)).ack.unwrap()
    };
    for number in [2, 4] {
        arrive(number);
    }
    let ack = arrive(6);
    let block = |start| Block { start, end: start + 1 };
    assert_eq!(ack.sack_blocks(), [block(6), block(4)]);
    assert_eq!(ack.counters().unwrap().ect_bytes, 1 + 3 * 1448);
    let ack = arrive(4);
    assert_eq!(ack.sack_blocks(), [block(4), block(4)]);
    assert_eq!(ack.counters().unwrap().ect_bytes, 1 + 4 * 1448);
}

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// Segment `number`, sent at as many milliseconds and 10 ms under way.
fn arrive(receiver: &mut Receiver, number: u32, marked: bool) -> Option<(u32, bool)> {
    let segment = Segment::new(SegmentKind::Data, number, at(u64::from(number)));
    receiver
        .on_data(&segment, marked, at(u64::from(number) + 10))
        .ack
        .map(|ack| (ack.number, ack.ecn.has(EcnFlags::ECE)))
}

/// RFC 8257 section 3.2: with an acknowledgement for each segment, each says what its segment carried.
#[test]
fn accurate_feedback_echoes_each_mark_once() {
    let mut receiver = receiver("accurate", 1);
    let marks = [false, true, false, true, true];
    let found: Vec<_> = (0..).zip(marks).map(|(number, marked)| arrive(&mut receiver, number, marked)).collect();
    assert_eq!(found, [Some((1, false)), Some((2, true)), Some((3, false)), Some((4, true)), Some((5, true))]);
}

/// A change sends the delayed acknowledgement first; without one, it is acknowledged at once.
#[test]
fn a_change_of_marks_is_acknowledged_at_once() {
    let mut receiver = receiver("accurate", 2);
    assert_eq!(arrive(&mut receiver, 0, false), None);
    assert_eq!(receiver.deadline(), at(110));
    assert_eq!(arrive(&mut receiver, 1, true), Some((1, false)), "what came before, without a mark");
    assert_eq!(receiver.deadline(), at(111), "the marked one is delayed in turn");
    assert_eq!(arrive(&mut receiver, 2, true), Some((3, true)));
    assert_eq!(arrive(&mut receiver, 3, false), Some((4, false)), "nothing was delayed");
    assert_eq!(receiver.deadline(), Time::NEVER);
    assert_eq!(arrive(&mut receiver, 4, true), Some((5, true)));
    assert_eq!(arrive(&mut receiver, 5, true), None);
    assert_eq!(arrive(&mut receiver, 6, false), Some((6, true)));
    let late = receiver.on_timer(at(116)).unwrap();
    assert_eq!((late.number, late.ecn.has(EcnFlags::ECE)), (7, false));
}

/// What the earlier acknowledgement says of time is of the segment it is for.
#[test]
fn the_earlier_acknowledgement_keeps_its_times() {
    let mut receiver = receiver("accurate", 2);
    receiver.on_data(&Segment::new(SegmentKind::Data, 0, at(1)), false, at(11));
    let ack = receiver.on_data(&Segment::new(SegmentKind::Data, 1, at(5)), true, at(45)).ack.unwrap();
    assert_eq!((ack.stamp, ack.delay_nanos), (at(1), 10_000_000));
    let ack = receiver.on_data(&Segment::new(SegmentKind::Data, 2, at(6)), true, at(46)).ack.unwrap();
    assert_eq!((ack.stamp, ack.delay_nanos), (at(5), 40_000_000));
}

/// A gap is acknowledged at once, and with it what was delayed.
#[test]
fn a_gap_is_shown_at_once() {
    let mut receiver = receiver("accurate", 2);
    assert_eq!(arrive(&mut receiver, 0, false), None);
    let segment = Segment::new(SegmentKind::Data, 2, at(2));
    let ack = receiver.on_data(&segment, true, at(12)).ack.unwrap();
    assert_eq!(
        (ack.number, ack.ecn.has(EcnFlags::ECE), ack.sack_blocks()),
        (1, true, &[Block { start: 2, end: 3 }][..])
    );
    assert_eq!(receiver.deadline(), Time::NEVER);
}

proptest! {
    /// In order, every segment is covered by an acknowledgement that tells of its own mark, whatever the delays.
    #[test]
    fn marks_are_counted_exactly(marks in prop::collection::vec(any::<bool>(), 1..200), ack_every in 1u64..4) {
        let mut receiver = receiver("accurate", ack_every);
        let mut told = Vec::new();
        for (number, &marked) in (0..).zip(&marks) {
            if let Some((upto, echo)) = arrive(&mut receiver, number, marked) {
                told.resize(upto as usize, echo);
            }
        }
        if let Some(last) = receiver.on_timer(Time::from_nanos(u64::MAX - 1)) {
            told.resize(last.number as usize, last.ecn.has(EcnFlags::ECE));
        }
        prop_assert_eq!(told, marks);
    }
}
