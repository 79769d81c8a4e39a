//! DualPI2 against RFC 9332 and the kernel's source, and the laws.

use super::{DESCRIPTOR, Native};
use crate::laws::{lead, mixed_lives, packet_of};
use crate::testing::{Recorder, build, limit, link, params, probe};
use crate::{Discipline, DropReason, Ecn, Queue};
use crate::{Dscp, Packet};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Amount, Span, Time};

fn dualpi2(preset: &str, changes: &[(&str, Value)]) -> Queue<u32> {
    build(&params(&DESCRIPTOR, preset, changes), &link(10_000)).unwrap()
}

fn at(micros: u64) -> Time {
    Time::ZERO + Span::from_micros(micros)
}

/// Offers packets; their numbers are their index.
fn offer(queue: &mut Queue<u32>, sink: &mut Recorder, ecns: &[Ecn], bytes: u32) {
    for (number, &ecn) in (0..).zip(ecns) {
        queue.enqueue(packet_of(u32::from(ecn == Ecn::Ect1), bytes, number, ecn), Time::ZERO, sink);
    }
}

#[test]
fn the_ecn_field_chooses_the_queue() {
    let mut queue = dualpi2("rfc", &[]);
    offer(&mut queue, &mut Recorder::default(), &[Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce, Ecn::Ect1], 1500);
    assert_eq!((probe(&queue, "classic_packets"), probe(&queue, "low_packets")), (2.0, 3.0));
    let order: Vec<u32> =
        std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut Recorder::default())).map(|packet| packet.body).collect();
    assert_eq!(order, [2, 3, 4, 0, 1], "low latency first");
}

#[test]
fn both_queues_share_by_their_weights() {
    for (preset, share) in [("rfc", 1.0 / 16.0), ("linux", 0.1)] {
        let mut queue = dualpi2(preset, &[limit(Amount::Packets(1e6))]);
        let mut sink = Recorder::default();
        offer(&mut queue, &mut sink, &[vec![Ecn::NotEct; 20_000], vec![Ecn::Ect1; 20_000]].concat(), 1500);
        let classic = (0..16_000).filter(|_| queue.dequeue(Time::ZERO, &mut sink).unwrap().ecn == Ecn::NotEct).count();
        assert!((classic as f64 / 16_000.0 - share).abs() < 1e-3, "{preset}: {classic}");
    }
    // All or nothing.
    for (share, expected) in [(0.0, 0), (1.0, 100)] {
        let mut queue = dualpi2("rfc", &[("classic_share", Value::Number(share)), limit(Amount::Packets(1e6))]);
        let mut sink = Recorder::default();
        offer(&mut queue, &mut sink, &[vec![Ecn::NotEct; 200], vec![Ecn::Ect1; 200]].concat(), 1500);
        let classic = (0..100).filter(|_| queue.dequeue(Time::ZERO, &mut sink).unwrap().ecn == Ecn::NotEct).count();
        assert_eq!(classic, expected);
    }
}

/// Linux's credit with weights of 10 and 90: nine of L, one of C, and again. Only what is sent while both wait counts, and
/// a moment without packets starts it over.
#[test]
fn turns_are_counted_while_both_wait() {
    let order = |queue: &mut Queue<u32>, packets: usize| -> String {
        let mut sink = Recorder::default();
        let mut kind = || match queue.dequeue(Time::ZERO, &mut sink).unwrap().ecn {
            Ecn::NotEct => 'C',
            _ => 'L',
        };
        (0..packets).map(|_| kind()).collect()
    };
    let mut sink = Recorder::default();
    let mut queue = dualpi2("linux", &[]);
    let both = [[Ecn::NotEct; 40], [Ecn::Ect1; 40]].concat();
    offer(&mut queue, &mut sink, &both, 1500);
    assert_eq!(order(&mut queue, 25), "LLLLLLLLLCLLLLLLLLLCLLLLL");
    order(&mut queue, 55);
    assert!(queue.dequeue(Time::ZERO, &mut sink).is_none());
    // Fresh again; then five of one kind alone.
    for alone in [Ecn::Ect1, Ecn::NotEct] {
        offer(&mut queue, &mut sink, &[alone; 6], 1500);
        order(&mut queue, 5);
        offer(&mut queue, &mut sink, &both, 1500);
        assert_eq!(order(&mut queue, 11), "LLLLLLLLLCL", "{alone:?}");
        while queue.dequeue(Time::ZERO, &mut sink).is_some() {}
    }
}

#[test]
fn the_low_queue_s_own_marking() {
    let micros = Span::from_micros;
    let ramp = Native::Ramp { from: micros(800), width: micros(400) };
    let step = Native::Step { above: micros(1000) };
    for (delay, by_ramp, by_step) in [
        (0, 0.0, 0.0),
        (800, 0.0, 0.0),
        (900, 0.25, 0.0),
        (1000, 0.5, 0.0),
        (1001, 0.5025, 1.0),
        (1200, 1.0, 1.0),
        (9000, 1.0, 1.0),
    ] {
        assert!((ramp.probability(micros(delay)) - by_ramp).abs() < 1e-12, "{delay}");
        assert_eq!(step.probability(micros(delay)), by_step, "{delay}");
    }
}

/// On a slow link a packet alone in the L queue has waited long through no fault of its own.
#[test]
fn a_lone_packet_is_not_marked_but_in_linux() {
    for (preset, waiting, bytes, marks) in
        [("rfc", 1, 1500, 0), ("rfc", 2, 1500, 1), ("rfc", 2, 100, 1), ("linux", 1, 1500, 1)]
    {
        let mut queue = dualpi2(preset, &[]);
        let mut sink = Recorder::default();
        offer(&mut queue, &mut sink, &vec![Ecn::Ect1; waiting], bytes);
        let left = queue.dequeue(at(5_000), &mut sink).unwrap();
        assert_eq!((sink.marks.len(), left.ecn == Ecn::Ce), (marks, marks > 0), "{preset} {waiting}");
    }
}

/// In Linux, of six packets the last two leave less than two full-size ones behind. RFC 9332 knows no such rule.
#[test]
fn nothing_is_coupled_while_little_waits() {
    for (ecn, spare, signals) in [
        (Ecn::Ect1, 2, [0, 4]),
        (Ecn::Ect0, 2, [0, 4]),
        (Ecn::NotEct, 2, [4, 0]),
        (Ecn::Ect1, 0, [0, 6]),
        (Ecn::Ect0, 0, [0, 6]),
        (Ecn::NotEct, 0, [6, 0]),
    ] {
        let gains =
            [("alpha", Value::Number(1.0)), ("beta", Value::Number(0.0)), ("overload", Value::Choice("overflow"))];
        let changes = [("coupling", Value::Number(1.0)), ("spare", Value::Integer(spare))];
        let mut queue = dualpi2("rfc", &[&gains[..], &changes].concat());
        let mut sink = Recorder::default();
        queue.enqueue(packet_of(0, 1500, 9, Ecn::NotEct), Time::ZERO, &mut sink);
        let now = at(2_000_000);
        queue.on_timer(now, &mut sink);
        queue.dequeue(now, &mut sink);
        assert_eq!(probe(&queue, "base_probability"), 1.0);
        for number in 0..6 {
            queue.enqueue(packet_of(0, 1500, number, ecn), now, &mut sink);
        }
        while queue.dequeue(now, &mut sink).is_some() {}
        let ours = |number: &u32| *number < 6;
        let drops = sink.drops.iter().filter(|(number, _)| ours(number)).count();
        assert_eq!([drops, sink.marks.iter().filter(|number| ours(number)).count()], signals, "{ecn:?} {spare}");
    }
}

/// Brings p' to a value and lets 4000 packets of either queue leave young; shares of (drops, marks) of C and of L.
fn fates(base: f64, classic: Ecn, changes: &[(&str, Value)]) -> [f64; 4] {
    let gains = [limit(Amount::Packets(1e6)), ("alpha", Value::Number(1.0)), ("beta", Value::Number(0.0))];
    let mut queue = dualpi2("linux", &[&gains[..], changes].concat());
    let mut sink = Recorder::default();
    queue.enqueue(packet_of(0, 1500, 0, Ecn::NotEct), Time::ZERO, &mut sink);
    let now = Time::ZERO + Span::from_secs_f64(base + 0.015);
    queue.on_timer(now, &mut sink);
    queue.dequeue(now, &mut sink);
    for number in 1..8_001 {
        let ecn = if number <= 4_000 { classic } else { Ecn::Ect1 };
        queue.enqueue(packet_of(0, 1500, number, ecn), now, &mut sink);
    }
    while queue.packets() > 0 {
        queue.dequeue(now, &mut sink);
    }
    let share = |numbers: Vec<u32>, low: bool| {
        numbers.iter().filter(|&&number| (number > 4_000) == low).count() as f64 / 4_000.0
    };
    let drops = || sink.drops.iter().map(|drop| drop.0).collect::<Vec<_>>();
    [share(drops(), false), share(sink.marks.clone(), false), share(drops(), true), share(sink.marks.clone(), true)]
}

#[test]
fn the_square_and_the_coupling() {
    let overflow = [("overload", Value::Choice("overflow"))];
    let coupled = [("coupling", Value::Number(3.0))];
    // p', C's code point; shares of drops and marks of C, of L.
    for (base, classic, changes, expected) in [
        (0.2, Ecn::NotEct, &[][..], [0.04, 0.0, 0.0, 0.4]),
        (0.2, Ecn::Ect0, &[], [0.0, 0.04, 0.0, 0.4]),
        (0.3, Ecn::NotEct, &coupled, [0.09, 0.0, 0.0, 0.9]),
        // Overload: all of L that is not dropped is marked, ECN protects nobody.
        (0.6, Ecn::NotEct, &[], [0.36, 0.0, 0.36, 0.64]),
        (0.6, Ecn::Ect0, &[], [0.36, 0.0, 0.36, 0.64]),
        // Or p' ends at 1/k.
        (0.6, Ecn::NotEct, &overflow, [0.25, 0.0, 0.0, 1.0]),
        (0.6, Ecn::Ect0, &overflow, [0.0, 0.25, 0.0, 1.0]),
    ] {
        let found = fates(base, classic, changes);
        let near = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 0.025);
        assert!(near, "{base} {classic:?} {changes:?}: {found:?}");
    }
    // The RFC's recur is exact.
    let recur = [("spread", Value::Choice("recur"))];
    let found = fates(0.2, Ecn::NotEct, &recur);
    assert!((found[0] - 0.04).abs() < 0.001 && (found[3] - 0.4).abs() < 0.001, "{found:?}");
}

#[test]
fn the_longer_delay_is_controlled() {
    for (delay_of, millis) in [("longer", 16.0), ("classic", 6.0)] {
        let mut queue = dualpi2("rfc", &[("delay_of", Value::Choice(delay_of))]);
        let mut sink = Recorder::default();
        queue.enqueue(packet_of(0, 1500, 0, Ecn::Ect1), Time::ZERO, &mut sink);
        queue.enqueue(packet_of(0, 1500, 1, Ecn::NotEct), at(10_000), &mut sink);
        queue.on_timer(at(16_000), &mut sink);
        assert!((probe(&queue, "delay_ms") - millis).abs() < 1e-9);
    }
}

#[test]
fn both_queues_share_one_limit() {
    let mut queue = dualpi2("rfc", &[limit(Amount::Packets(3.0))]);
    let mut sink = Recorder::default();
    offer(&mut queue, &mut sink, &[Ecn::NotEct, Ecn::Ect1, Ecn::NotEct, Ecn::Ect1, Ecn::NotEct], 1500);
    assert_eq!(sink.drops, [(3, DropReason::Overflow), (4, DropReason::Overflow)]);
    // Room for a full-size packet is needed even by a small one.
    let mut queue = dualpi2("rfc", &[limit(Amount::Bytes(3000.0))]);
    offer(&mut queue, &mut sink, &[Ecn::NotEct; 40], 100);
    assert_eq!(queue.packets(), 16);
    // 250 ms at 10 Mbit/s are 312 500 B.
    let mut queue = dualpi2("rfc", &[]);
    offer(&mut queue, &mut sink, &[Ecn::NotEct; 300], 1500);
    assert_eq!(queue.packets(), 208);
}

/// Packets marked NQB wait in L whatever their ECN field says, and are marked only where they can be.
#[test]
fn nqb_packets_wait_in_the_low_queue() {
    for (nqb, classes) in [(false, [1, 1, 1]), (true, [1, 0, 0])] {
        let mut queue = dualpi2("linux", &[("nqb", Value::Boolean(nqb))]);
        let mut sink = Recorder::default();
        for (number, dscp, ecn) in [(0, 46, Ecn::NotEct), (1, 45, Ecn::NotEct), (2, 45, Ecn::Ect0)] {
            let dscp = Dscp::from_number(dscp).unwrap();
            queue.enqueue(Packet { dscp, ..packet_of(0, 1500, number, ecn) }, Time::ZERO, &mut sink);
        }
        let mut left: Vec<_> = std::iter::from_fn(|| queue.dequeue(at(5_000), &mut sink))
            .map(|packet| (packet.body, packet.class))
            .collect();
        left.sort_unstable();
        assert_eq!(left.iter().map(|packet| packet.1).collect::<Vec<_>>(), classes);
        assert_eq!(sink.marks, if nqb { vec![2] } else { vec![] });
    }
}

/// At 100 Mbit/s ten full-size packets take the critical 1.2 ms. The eleventh and those after it go to the C queue, while a
/// small packet of another flow does not.
#[test]
fn a_burst_overflows_into_the_classic_queue() {
    for (protection, [low, classic]) in [("off", [31.0, 0.0]), ("docsis", [11.0, 20.0])] {
        let params = params(&DESCRIPTOR, "rfc", &[("protection", Value::Choice(protection))]);
        let mut queue = build(&params, &link(100_000)).unwrap();
        let mut sink = Recorder::default();
        for number in 0..30 {
            queue.enqueue(packet_of(1, 1500, number, Ecn::Ect1), Time::ZERO, &mut sink);
        }
        queue.enqueue(packet_of(2, 100, 30, Ecn::Ect1), Time::ZERO, &mut sink);
        assert_eq!([probe(&queue, "low_packets"), probe(&queue, "classic_packets")], [low, classic], "{protection}");
        let left: Vec<_> =
            std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut sink)).map(|packet| packet.body).collect();
        let (others, ours): (Vec<u32>, Vec<u32>) = left.iter().partition(|&&number| number == 30);
        assert_eq!(others, [30]);
        assert!(ours.is_sorted(), "both queues keep the order: {ours:?}");
    }
}

#[test]
fn wrong_combinations_name_the_parameter() {
    let fault = |changes: &[_]| build(&params(&DESCRIPTOR, "rfc", changes), &link(10_000)).err();
    assert_eq!(fault(&[]), None);
    assert_eq!(fault(&[("alpha", Value::Number(0.0))]), Some("alpha"));
    assert_eq!(fault(&[limit(Amount::Bytes(1000.0))]), Some("limit"));
}

proptest! {
    #[test]
    fn limits_hold(preset in prop::sample::select(vec!["rfc", "linux"]), packets in 1u32..60, life in mixed_lives()) {
        let mut queue = dualpi2(preset, &[limit(Amount::Packets(f64::from(packets)))]);
        // The order within a flow holds within each queue; here a flow may change its code point on the way.
        let life: Vec<_> = life
            .into_iter()
            .map(|event| match event {
                crate::laws::Event::Arrive(flow, bytes, _) => {
                    crate::laws::Event::Arrive(flow, bytes, if flow % 2 == 1 { Ecn::Ect1 } else { Ecn::NotEct })
                }
                crate::laws::Event::Burst(flow, packets) => crate::laws::Event::Burst(flow - flow % 2, packets),
                other => other,
            })
            .collect();
        lead(&mut queue, &life, |queue| assert!(queue.packets() <= packets as usize))?;
    }
    /// Whoever is sent to the C queue keeps its place among the flow's packets there, and nothing is lost on the way.
    #[test]
    fn protection_keeps_the_laws(preset in prop::sample::select(vec!["rfc", "linux"]), life in mixed_lives()) {
        let protected = [("protection", Value::Choice("docsis")), ("nqb", Value::Boolean(true))];
        lead(&mut dualpi2(preset, &protected), &life, |_| ())?;
    }

    /// Where nothing is critical, protection changes nothing.
    #[test]
    fn who_is_not_blamed_is_not_touched(life in mixed_lives()) {
        let idle = [
            ("protection", Value::Choice("docsis")),
            ("critical_delay", Value::Span(Span::from_secs(10))),
            ("nqb", Value::Boolean(true)),
        ];
        let run = |changes| lead(&mut dualpi2("rfc", changes), &life, |_| ());
        prop_assert_eq!(run(&[])?, run(&idle)?);
    }
}
