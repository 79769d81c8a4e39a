//! When a receiver acknowledges as Linux 6.1 does, by the functions of the kernel's source.

use super::*;
use crate::options::DESCRIPTOR;
use crate::segment::SegmentKind;
use proptest::prelude::*;
use sojourn_core::registry::{Params, Value};

const RTT: u64 = 40_000;

fn at(micros: u64) -> Time {
    Time::from_nanos(micros * 1000)
}

fn data(number: u32) -> Segment {
    Segment::new(SegmentKind::Data, number, Time::ZERO)
}

/// A receiver of Linux that answered a SYN at 0, with the next segment due after `RTT`.
fn receiver(changes: &[(&str, Value)]) -> Receiver {
    let mut params = Params::new(&DESCRIPTOR, DESCRIPTOR.presets.iter().find(|preset| preset.name == "linux"));
    changes.iter().for_each(|(name, value)| params.set(name, *value));
    let mut receiver = Receiver::new(&Options::new(&params).unwrap(), Clock::default());
    receiver.on_syn(&Segment::new(SegmentKind::Syn, 0, Time::ZERO), at(0));
    receiver
}

/// What the acknowledgements of `numbers`, one every `gap` from `start` on, ask for, with their times; those by timer as well.
fn run(receiver: &mut Receiver, numbers: &[u32], start: u64, gap: u64) -> Vec<(u64, u32)> {
    let mut told = Vec::new();
    for (index, &number) in (0..).zip(numbers) {
        let now = at(start + index * gap);
        told.extend(expire(receiver, now));
        let ack = receiver.on_data(&data(number), false, now).ack;
        told.extend(ack.map(|ack| (start + index * gap, ack.number)));
    }
    told
}

/// Acknowledgements by timer before `now`.
fn expire(receiver: &mut Receiver, now: Time) -> Vec<(u64, u32)> {
    let mut told = Vec::new();
    while receiver.deadline() <= now {
        let due = receiver.deadline();
        told.extend(receiver.on_timer(due).map(|ack| (due.as_nanos() / 1000, ack.number)));
    }
    told
}

fn numbers(told: &[(u64, u32)]) -> Vec<u32> {
    told.iter().map(|&(_, number)| number).collect()
}

/// `tcp_event_data_recv`: 16 acknowledgements at once, then one for two segments; one segment alone waits 40 ms.
#[test]
fn the_first_sixteen_are_acknowledged_at_once() {
    let mut receiver = receiver(&[]);
    let told = run(&mut receiver, &(0..21).collect::<Vec<_>>(), RTT, 10);
    assert_eq!(numbers(&told), (1..=16).chain([18, 20]).collect::<Vec<_>>());
    assert_eq!(expire(&mut receiver, at(1_000_000)), [(RTT + 200 + 40_000, 21)]);
}

/// The delay follows the distance of the segments: 30 ms make 20 + 30 = 50 ms, which the round-trip time bounds, here to 40 ms
/// (`tcp_send_delayed_ack`); with one of 200 ms it is 20 + 30, then 25 + 30, then 27.5 + 30.
#[test]
fn the_delay_follows_the_distance() {
    let wait = |rtt: u64, last: u32| {
        let mut receiver = receiver(&[]);
        run(&mut receiver, &(0..16).collect::<Vec<_>>(), rtt, 10);
        let start = rtt + 150 + 30_000;
        run(&mut receiver, &(16..=last).collect::<Vec<_>>(), start, 30_000);
        receiver.deadline().as_nanos() / 1000 - start - u64::from(last - 16) * 30_000
    };
    assert_eq!(wait(RTT, 16), 40_000);
    assert_eq!(wait(200_000, 16), 50_000);
    assert_eq!(wait(200_000, 18), 57_500);
}

/// `tcp_data_queue`: something that came before makes 16 acknowledgements quick, and is reported.
#[test]
fn what_came_before_is_answered_quickly() {
    let mut receiver = receiver(&[]);
    run(&mut receiver, &(0..32).collect::<Vec<_>>(), RTT, 10);
    let ack = receiver.on_data(&data(3), false, at(RTT + 400)).ack.unwrap();
    assert_eq!((ack.number, ack.sack_blocks()), (32, &[Block { start: 3, end: 4 }][..]));
    let told = run(&mut receiver, &(32..50).collect::<Vec<_>>(), RTT + 500, 10);
    assert_eq!(numbers(&told), (33..=48).chain([50]).collect::<Vec<_>>());
}

/// `__tcp_ack_snd_check`: three duplicates at once, then one for 1 ms, or for a twentieth of a short round-trip time, or for
/// 44; the one that fills all gaps at once.
#[test]
fn duplicates_are_compressed() {
    let told = |rtt: u64, gap: u64| {
        let mut receiver = receiver(&[]);
        run(&mut receiver, &(0..32).collect::<Vec<_>>(), rtt, 10);
        let start = rtt + 1000;
        let mut told = run(&mut receiver, &(33..132).collect::<Vec<_>>(), start, gap);
        told.extend(run(&mut receiver, &[32], start + 99 * gap, gap));
        told.iter().map(|&(time, number)| ((time - start), number)).collect::<Vec<_>>()
    };
    let slow = told(RTT, 100);
    assert_eq!(slow[..5], [(0, 32), (100, 32), (200, 32), (1400, 32), (2500, 32)]);
    assert_eq!(slow.last(), Some(&(9900, 132)));
    let near = told(10_000, 100);
    assert_eq!(near[..5], [(0, 32), (100, 32), (200, 32), (900, 32), (1500, 32)]);
    let fast = told(RTT, 10);
    // 44 wait, the next one goes.
    assert_eq!(fast, [(0, 32), (10, 32), (20, 32), (470, 32), (920, 32), (990, 132)]);
}

/// `tcp_sack_new_ofo_skb`: where a third block begins, or the third one goes on, what waits is told first.
#[test]
fn a_block_is_told_before_it_is_forgotten() {
    let mut receiver = receiver(&[]);
    run(&mut receiver, &(0..32).collect::<Vec<_>>(), RTT, 10);
    let start = RTT + 1000;
    let told = run(&mut receiver, &[33, 34, 35, 36, 38, 39, 41, 42, 37, 43], start, 10);
    // The fourth and the two of the second block wait until 41 begins a third one; 42 waits until 37 goes on with the third.
    assert_eq!(told, [(start, 32), (start + 10, 32), (start + 20, 32), (start + 60, 32)]);
}

/// A first mark makes two acknowledgements quick, and CWR one (`__tcp_ecn_check_ce`, `tcp_ecn_accept_cwr`).
#[test]
fn a_mark_is_answered_at_once() {
    let mut receiver = receiver(&[("ecn", Value::Choice("true"))]);
    run(&mut receiver, &(0..32).collect::<Vec<_>>(), RTT, 10);
    let mut now = RTT + 1000;
    let mut arrive = |number: u32, marked: bool, ecn: EcnFlags| {
        now += 10;
        receiver.on_data(&Segment { ecn, ..data(number) }, marked, at(now)).ack.map(|ack| ack.ecn.has(EcnFlags::ECE))
    };
    assert_eq!(arrive(32, true, EcnFlags::default()), Some(true));
    assert_eq!(arrive(33, false, EcnFlags::default()), Some(true));
    assert_eq!(arrive(34, true, EcnFlags::default()), None, "marks are being echoed already");
    assert_eq!(arrive(35, false, EcnFlags::default()), Some(true));
    assert_eq!(arrive(36, false, EcnFlags::CWR), Some(false));
}

/// `dctcp_ece_ack_update`: where the mark changes, what waits is acknowledged in the old state, and the new one at once.
#[test]
fn accurate_feedback_sends_both() {
    let mut receiver = receiver(&[("ecn", Value::Choice("accurate"))]);
    run(&mut receiver, &(0..33).collect::<Vec<_>>(), RTT, 10);
    let now = at(RTT + 1000);
    let before = receiver.on_data(&data(33), true, now).ack.unwrap();
    assert_eq!((before.number, before.ecn.has(EcnFlags::ECE)), (33, false));
    assert_eq!(receiver.deadline(), now);
    let after = receiver.on_timer(now).unwrap();
    assert_eq!((after.number, after.ecn.has(EcnFlags::ECE)), (34, true));
}

/// A long pause makes 16 acknowledgements quick again (more than the timeout, here 40 + 200 ms).
#[test]
fn a_pause_makes_it_quick_again() {
    let after = |pause: u64| {
        let mut receiver = receiver(&[]);
        run(&mut receiver, &(0..32).collect::<Vec<_>>(), RTT, 10);
        receiver.on_data(&data(32), false, at(RTT + 310 + pause)).ack.is_some()
    };
    assert!(!after(240_000));
    assert!(after(240_001));
}

proptest! {
    /// Whatever came before: with nothing missing, the second of two segments is acknowledged when it comes, at once or as soon as
    /// it has been read (`__tcp_ack_snd_check`, `tcp_cleanup_rbuf`).
    #[test]
    fn two_in_order_never_wait(
        steps in prop::collection::vec((prop_oneof![1u64..2_000, 20_000u64..90_000], prop::bool::weighted(0.05)), 200..400),
    ) {
        let mut receiver = receiver(&[]);
        let (mut now, mut asked) = (RTT, 0);
        for (step, (gap, swaps)) in (0u32..).zip(steps) {
            // Two segments a step, sometimes the second one first.
            for number in [2 * step + u32::from(swaps), 2 * step + 1 - u32::from(swaps)] {
                now += gap;
                receiver.set_rtt(Span::from_micros(RTT));
                let is_whole = number == receiver.next();
                asked = expire(&mut receiver, at(now)).last().map_or(asked, |&(_, number)| number);
                asked = receiver.on_data(&data(number), false, at(now)).ack.map_or(asked, |ack| ack.number);
                prop_assert!(!is_whole || receiver.next() - asked < 2, "segment {}, {} acknowledged", number, asked);
            }
        }
    }

    /// Whatever comes and whenever, all that has come in order is acknowledged once the timers have gone off, and nothing waits.
    #[test]
    fn nothing_stays_unacknowledged(
        accurate: bool,
        arrivals in prop::collection::vec((0u32..6, any::<bool>(), any::<bool>(), 0u64..80_000), 1..120),
    ) {
        let feedback = Value::Choice(if accurate { "accurate" } else { "true" });
        let mut receiver = receiver(&[("ecn", feedback)]);
        let (mut now, mut told) = (RTT, 0);
        for (ahead, marked, cwr, gap) in arrivals {
            now += gap;
            told = expire(&mut receiver, at(now)).last().map_or(told, |&(_, number)| number);
            let number = if ahead == 5 { receiver.next().saturating_sub(3) } else { receiver.next() + ahead / 2 * 2 };
            let segment = Segment { ecn: EcnFlags::when(cwr, EcnFlags::CWR), ..data(number) };
            told = receiver.on_data(&segment, marked, at(now)).ack.map_or(told, |ack| ack.number);
        }
        told = expire(&mut receiver, at(now + 1_000_000)).last().map_or(told, |&(_, number)| number);
        prop_assert_eq!(told, receiver.next());
        prop_assert_eq!(receiver.deadline(), Time::NEVER);
    }
}
