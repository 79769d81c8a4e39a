//! What a receiver acknowledges, and when.

use super::{Clock, Receiver};
use crate::options::flag;
use crate::options::{DESCRIPTOR, Options};
use crate::segment::{Block, EcnFlags, Segment, SegmentKind};
use proptest::prelude::*;
use sojourn_core::registry::{Params, Value};
use sojourn_core::{Span, Time};
use std::collections::BTreeSet;

fn receiver(changes: &[(&str, Value)], clock: Clock) -> Receiver {
    let mut params = Params::new(&DESCRIPTOR, None);
    changes.iter().for_each(|(name, value)| params.set(name, *value));
    Receiver::new(&Options::new(&params).unwrap(), clock)
}

fn prompt() -> Receiver {
    receiver(&[("ack_every", Value::Integer(1))], Clock::default())
}

fn reporting() -> Receiver {
    receiver(&[("ack_every", Value::Integer(1)), ("sack", Value::Choice("dsack"))], Clock::default())
}

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// Segment `number`, sent at `millis`.
fn data(number: u32, millis: u64) -> Segment {
    Segment::new(SegmentKind::Data, number, at(millis))
}

/// The blocks of the acknowledgement of each segment, in the order given.
fn blocks(receiver: &mut Receiver, numbers: &[u32]) -> Vec<(u32, u32)> {
    let mut last = vec![];
    for &number in numbers {
        let ack = receiver.on_data(&data(number, 0), false, at(1)).ack.unwrap();
        last = ack.sack_blocks().iter().map(|block| (block.start, block.end)).collect();
    }
    last
}

/// RFC 2018 section 4: first the block of the segment that caused it, then the most recent others.
#[test]
fn recent_blocks_come_first() {
    let mut receiver = prompt();
    assert_eq!(blocks(&mut receiver, &[0, 2]), [(2, 3)]);
    assert_eq!(blocks(&mut receiver, &[3]), [(2, 4)]);
    assert_eq!(blocks(&mut receiver, &[8]), [(8, 9), (2, 4)]);
    assert_eq!(blocks(&mut receiver, &[5]), [(5, 6), (8, 9), (2, 4)]);
    assert_eq!(blocks(&mut receiver, &[10]), [(10, 11), (5, 6), (8, 9)]);
    assert_eq!(blocks(&mut receiver, &[9]), [(8, 11), (5, 6), (2, 4)], "grown together; as many as possible");
    assert_eq!(blocks(&mut receiver, &[1]), [(8, 11), (5, 6)], "1 to 3 are acknowledged now");
    assert_eq!(blocks(&mut receiver, &[4, 7, 6]), []);
    assert_eq!(receiver.next(), 11);
}

/// RFC 2018 section 4: the block of a duplicate comes first too, as it caused the acknowledgement; RFC 2883 section 4 puts it
/// behind the report.
#[test]
fn the_block_of_a_duplicate_comes_first() {
    let mut receiver = prompt();
    assert_eq!(blocks(&mut receiver, &[2, 3, 5]), [(5, 6), (2, 4)]);
    let arrival = receiver.on_data(&data(2, 0), false, at(1));
    assert!(!arrival.is_new && arrival.ack.is_some());
    assert_eq!(blocks(&mut receiver, &[2]), [(2, 4), (5, 6)]);
    let mut reporting = reporting();
    assert_eq!(blocks(&mut reporting, &[2, 3, 5, 2]), [(2, 3), (2, 4), (5, 6)]);
}

#[test]
fn without_sack_there_are_no_blocks() {
    let mut receiver =
        receiver(&[("sack", Value::Choice("false")), ("ack_every", Value::Integer(1))], Clock::default());
    assert_eq!(blocks(&mut receiver, &[0, 2, 4]), []);
}

/// RFC 5681 section 4.2: every second segment, or after the delay.
#[test]
fn delayed_acknowledgements() {
    let mut receiver = receiver(&[], Clock::default());
    assert!(receiver.on_data(&data(0, 0), false, at(10)).ack.is_none());
    assert_eq!(receiver.deadline(), at(110));
    assert_eq!(receiver.on_data(&data(1, 0), false, at(20)).ack.unwrap().number, 2);
    assert_eq!(receiver.deadline(), Time::NEVER);
    assert!(receiver.on_data(&data(2, 0), false, at(30)).ack.is_none());
    assert!(receiver.on_timer(at(129)).is_none());
    assert_eq!(receiver.on_timer(at(130)).unwrap().number, 3);
    assert_eq!(receiver.deadline(), Time::NEVER);
}

/// RFC 5681 section 4.2: at once when out of order, twice, or filling a gap; also if one was being delayed.
#[test]
fn disorder_is_acknowledged_at_once() {
    let mut receiver = receiver(&[], Clock::default());
    let mut number = |number, millis| receiver.on_data(&data(number, 0), false, at(millis)).ack.map(|ack| ack.number);
    assert_eq!(number(0, 0), None);
    assert_eq!(number(2, 1), Some(1), "a gap");
    assert_eq!(number(4, 2), Some(1), "another");
    assert_eq!(number(1, 3), Some(3), "fills one");
    assert_eq!(number(3, 4), Some(5), "fills the other");
    assert_eq!(number(4, 5), Some(5), "a duplicate");
    assert_eq!(number(5, 6), None, "in order");
    assert_eq!(number(0, 7), Some(6), "an old duplicate");
    assert_eq!(receiver.deadline(), Time::NEVER);
}

/// RFC 7323 section 4.3: the time of the earliest segment not acknowledged yet; of the segment that fills a
/// gap; never of one out of order.
#[test]
fn which_time_is_echoed() {
    let mut receiver = receiver(&[], Clock::default());
    assert!(receiver.on_data(&data(0, 10), false, at(60)).ack.is_none());
    assert_eq!(receiver.on_data(&data(1, 12), false, at(62)).ack.unwrap().stamp, at(10), "delayed: the earlier");
    assert!(receiver.on_data(&data(2, 20), false, at(70)).ack.is_none());
    assert_eq!(
        receiver.on_data(&data(4, 24), false, at(74)).ack.unwrap().stamp,
        at(20),
        "out of order: the last in order"
    );
    assert_eq!(receiver.on_data(&data(3, 40), false, at(90)).ack.unwrap().stamp, at(40), "a gap filled");
    assert!(receiver.on_data(&data(5, 50), false, at(100)).ack.is_none());
    assert_eq!(receiver.on_data(&data(5, 55), false, at(105)).ack.unwrap().stamp, at(50), "a duplicate");
}

/// RFC 3168 section 6.1.3: echoed from the mark until CWR, and again if that segment is marked itself.
#[test]
fn echo_until_told() {
    let mut receiver = prompt();
    let mut echo = |number, marked, cwr| {
        let segment = Segment { ecn: EcnFlags::when(cwr, EcnFlags::CWR), ..data(number, 0) };
        receiver.on_data(&segment, marked, at(1)).ack.unwrap().ecn.has(EcnFlags::ECE)
    };
    assert!(!echo(0, false, false));
    assert!(echo(1, true, false));
    assert!(echo(2, false, false));
    assert!(!echo(3, false, true));
    assert!(!echo(4, false, false));
    assert!(echo(5, true, true));
    assert!(echo(6, false, false));
}

/// True one-way delays, as clocks see them that are apart and drift.
#[test]
fn one_way_delays() {
    let ack = |clock| receiver(&[("ack_every", Value::Integer(1))], clock).on_data(&data(0, 1000), false, at(1040)).ack;
    let delay = |offset_nanos, skew_ppm| ack(Clock { offset_nanos, skew_ppm }).unwrap().delay_nanos;
    assert_eq!(delay(0, 0.0), 40_000_000);
    assert_eq!(delay(-3_000_000_000, 0.0), -2_960_000_000);
    assert_eq!(delay(0, 100.0), 40_000_000 + 104_000);
    assert_eq!(delay(7, -100.0), 40_000_007 - 104_000);
}

proptest! {
    /// A receiver that acknowledges each segment and tells nothing special decides like any other.
    #[test]
    fn the_plain_way_is_the_general_way(
        sack in any::<bool>(), arrivals in prop::collection::vec((-3i64..6, any::<[bool; 2]>()), 1..60),
    ) {
        let options = [("ack_every", Value::Integer(1)), ("sack", flag(sack))];
        let [mut plain, mut general] = [(); 2].map(|()| receiver(&options, Clock::default()));
        prop_assert!(plain.is_plain);
        general.is_plain = false;
        for (millis, (offset, [marked, cwr])) in (0..).zip(arrivals) {
            let number = (i64::from(plain.next()) + offset).max(0) as u32;
            let segment = Segment { ecn: EcnFlags::when(cwr, EcnFlags::CWR), ..data(number, millis) };
            let arrivals = [&mut plain, &mut general].map(|receiver| {
                format!("{:?}", receiver.on_data(&segment, marked, at(millis + 5)))
            });
            prop_assert_eq!(&arrivals[0], &arrivals[1]);
            prop_assert_eq!((plain.next(), plain.deadline()), (general.next(), general.deadline()));
        }
    }

    /// Against a set of numbers: what is expected next, what is new, and every block.
    #[test]
    fn ranges_are_what_was_received(numbers in prop::collection::vec(0u32..40, 1..200)) {
        let mut receiver = prompt();
        let mut got = BTreeSet::new();
        for number in numbers {
            let arrival = receiver.on_data(&data(number, 0), false, at(1));
            prop_assert_eq!(arrival.is_new, got.insert(number));
            let ack = arrival.ack.unwrap();
            let next = (0..).find(|number| !got.contains(number)).unwrap();
            prop_assert_eq!(ack.number, next);
            prop_assert_eq!(receiver.next(), next);
            let mut ranges: Vec<Block> = vec![];
            for &number in got.range(next..) {
                match ranges.last_mut() {
                    Some(range) if range.end == number => range.end += 1,
                    _ => ranges.push(Block { start: number, end: number + 1 }),
                }
            }
            prop_assert_eq!(ack.sack_blocks().len(), ranges.len().min(3));
            for (index, block) in ack.sack_blocks().iter().enumerate() {
                prop_assert!(ranges.contains(block));
                prop_assert!(!ack.sack_blocks()[..index].contains(block), "each once");
            }
            if number > next && arrival.is_new {
                let first = ack.sack_blocks()[0];
                prop_assert!(first.start <= number && number < first.end);
            }
        }
    }

    /// An acknowledgement is never later than the delay after the first segment it covers.
    #[test]
    fn no_acknowledgement_is_late(gaps in prop::collection::vec(0u64..200, 1..100), every in 1u64..6) {
        let mut receiver = receiver(&[("ack_every", Value::Integer(every))], Clock::default());
        let (mut now, mut waiting) = (Time::ZERO, vec![]);
        for (number, gap) in gaps.into_iter().enumerate() {
            let next = now + Span::from_millis(gap);
            if receiver.deadline() <= next {
                let due = receiver.deadline();
                prop_assert!(receiver.on_timer(due).is_some());
                prop_assert!(due.since(waiting[0]) <= Span::from_millis(100));
                waiting.clear();
            }
            now = next;
            waiting.push(now);
            if receiver.on_data(&data(number as u32, 0), false, now).ack.is_some() {
                prop_assert_eq!(waiting.len() as u64, every);
                waiting.clear();
            }
            prop_assert!(waiting.len() < every as usize);
        }
    }
}

/// A delayed acknowledgement waits for the next tick of the clock.
#[test]
fn an_acknowledgement_is_sent_at_a_tick() {
    let mut receiver = receiver(&[("timer_tick", Value::Span(Span::from_millis(30)))], Clock::default());
    assert!(receiver.on_data(&data(0, 0), false, at(50)).ack.is_none());
    assert_eq!(receiver.deadline(), at(150), "100 ms later, which is a tick");
    assert!(receiver.on_timer(at(150)).is_some());
    assert!(receiver.on_data(&data(1, 0), false, at(151)).ack.is_none());
    assert_eq!(receiver.deadline(), at(270));
}

/// GRO: what arrives in order within 2 ms and was sent in the same millisecond is acknowledged once, when the time is over.
/// Something older, out of order, or differently marked ends it at once; one segment alone waits for a delayed acknowledgement.
#[test]
fn offload_acknowledges_a_burst_once() {
    let micros = |micros: u64| Time::from_nanos(micros * 1000);
    let options = [("ack_delay", Value::Span(Span::from_millis(40)))];
    let new = || receiver(&options, Clock::default()).with_offload(Span::from_millis(2), 45);

    let mut burst = new();
    for number in 0..5 {
        let arrival = burst.on_data(&data(number, 0), false, micros(10_000 + u64::from(number) * 100));
        assert!(arrival.is_new && arrival.ack.is_none());
    }
    assert_eq!(burst.deadline(), micros(12_000));
    assert_eq!(burst.on_timer(micros(12_000)).map(|ack| ack.number), Some(5));
    assert_eq!(burst.deadline(), Time::NEVER);

    let mut apart = new();
    assert!(apart.on_data(&data(0, 0), false, micros(10_000)).ack.is_none());
    assert!(apart.on_data(&data(1, 0), false, micros(10_100)).ack.is_none());
    assert_eq!(apart.on_data(&data(2, 1), false, micros(10_200)).ack.map(|ack| ack.number), Some(2));
    assert!(apart.on_timer(micros(12_200)).is_none());
    assert_eq!(apart.deadline(), micros(50_200));
    assert_eq!(apart.on_timer(micros(50_200)).map(|ack| ack.number), Some(3));

    let mut disordered = new();
    assert!(disordered.on_data(&data(0, 0), false, micros(10_000)).ack.is_none());
    assert_eq!(disordered.on_data(&data(2, 0), false, micros(10_100)).ack.map(|ack| ack.number), Some(1));
    assert_eq!(disordered.on_data(&data(1, 0), false, micros(10_200)).ack.map(|ack| ack.number), Some(3));

    let mut full = receiver(&options, Clock::default()).with_offload(Span::from_millis(2), 3);
    let acks: Vec<_> = (0..7)
        .filter_map(|number| full.on_data(&data(number, 0), false, micros(10_000)).ack)
        .map(|ack| ack.number)
        .collect();
    assert_eq!(acks, [3, 6]);
}

proptest! {
    /// The fast path of a segment in order takes and answers as the general one does, and leaves the same behind.
    #[test]
    fn the_short_way_is_the_general_way(
        ack_every in 1u64..3,
        accurate: bool,
        dsack: bool,
        arrivals in prop::collection::vec((0u32..4, any::<bool>(), any::<bool>(), 0u64..30), 1..80),
    ) {
        let feedback = Value::Choice(if accurate { "accurate" } else { "true" });
        let changes = [
            ("ack_every", Value::Integer(ack_every)),
            ("ecn", feedback),
            ("sack", Value::Choice(if dsack { "dsack" } else { "true" })),
        ];
        let [mut short, mut general] = [(); 2].map(|()| receiver(&changes, Clock { offset_nanos: 5, skew_ppm: 20.0 }));
        for (step, (ahead, marked, cwr, late)) in arrivals.into_iter().enumerate() {
            let millis = 40 + 10 * step as u64;
            // Mostly the next one, now and then one before it or behind a hole.
            let number = if ahead == 3 { short.next().saturating_sub(1) } else { short.next() + ahead / 2 * 2 };
            let segment = Segment { ecn: EcnFlags::when(cwr, EcnFlags::CWR), ..data(number, millis - late) };
            let arrived = [short.on_data(&segment, marked, at(millis)), general.on_any_data(&segment, marked, at(millis))];
            let [short_arrival, general_arrival] = arrived.map(|arrival| format!("{arrival:?}"));
            prop_assert_eq!(short_arrival, general_arrival);
            prop_assert_eq!(format!("{short:?}"), format!("{general:?}"));
        }
    }
}
