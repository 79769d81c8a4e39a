//! COBALT against the kernel's source, step by step, and the laws.

use super::law::{CobaltController, CobaltLaw, Verdict};
use super::{Cobalt, DESCRIPTOR, Parameters};
use crate::laws::{Event, lead, mixed_lives, packet_of};
use crate::testing::{Recorder, build, limit, link, packet, params, probe};
use crate::{Discipline, DropReason, Ecn, Packet, Queue};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Amount, Span, Stream, Time};

fn law(preset: &str, kilobits: u64, changes: &[(&str, Value)]) -> CobaltLaw {
    CobaltLaw::new(&Parameters::of(&params(&DESCRIPTOR, preset, changes)), &link(kilobits)).unwrap()
}

/// CAKE's law on a fast link, but for its haste with the first signal.
fn patient() -> CobaltLaw {
    law("cake", 100_000, &[("first_signal", Value::Choice("interval"))])
}

fn cobalt(preset: &str, changes: &[(&str, Value)]) -> Queue<u32> {
    build(&params(&DESCRIPTOR, preset, changes), &link(100_000)).unwrap()
}

fn at(micros: u64) -> Time {
    Time::ZERO + Span::from_micros(micros)
}

/// A packet that will have waited for so many microseconds at `now`.
fn waited(now: Time, micros: u64, ecn: Ecn) -> Packet<u32> {
    Packet { enqueued: Time::from_nanos(now.as_nanos() - micros * 1000), ..packet_of(0, 1500, 0, ecn) }
}

/// cake_set_rate: a packet takes 0.12, 1.2, 12 and 48 ms.
#[test]
fn slow_links_stretch_target_and_interval() {
    let micros = Span::from_micros;
    for (kilobits, target, interval, guard) in [
        (100_000, 5_000, 100_000, 480),
        (10_000, 5_000, 100_000, 4_800),
        (1_000, 18_000, 113_000, 48_000),
        (250, 72_000, 167_000, 192_000),
        (50, 360_000, 720_000, 960_000),
    ] {
        let law = law("cake", kilobits, &[]);
        assert_eq!((law.target, law.interval, law.guard), (micros(target), micros(interval), micros(guard)));
    }
    let ns3 = law("ns3", 50, &[]);
    assert_eq!((ns3.target, ns3.interval, ns3.guard), (micros(5_000), micros(100_000), Span::ZERO));
}

/// Asks every 10 us with a packet that has waited for 10 ms, after one that has not; milliseconds of the signals after
/// the first.
fn signals(
    controller: &mut CobaltController,
    law: &CobaltLaw,
    from: u64,
    micros: u64,
    ecn: Ecn,
) -> (Vec<f64>, Vec<Verdict>) {
    let mut random = Stream::new(1, "cobalt");
    let (mut times, mut verdicts) = (Vec::new(), Vec::new());
    controller.judge(law, &waited(at(from - 10), 100, ecn), at(from - 10), &mut random);
    for step in 0..micros / 10 {
        let now = at(from + step * 10);
        let verdict = controller.judge(law, &waited(now, 10_000, ecn), now, &mut random);
        if verdict != Verdict::Pass {
            times.push((from + step * 10) as f64 / 1000.0);
            verdicts.push(verdict);
        }
    }
    let first = times[0];
    (times.iter().map(|time| time - first).collect(), verdicts)
}

/// As CoDel's, but one step ahead: count is 1 while the first signal is waited for, and 2 after it. The gaps are those of
/// the kernel's roots, computed apart from this code; the first is 70.67 ms where the law says 70.71.
#[test]
fn a_standing_queue_is_signalled_to_by_the_control_law() {
    let law = patient();
    let (times, verdicts) = signals(&mut CobaltController::default(), &law, 20_000, 500_000, Ecn::NotEct);
    let expected = [0.0, 70.67, 128.41, 178.41, 223.13, 263.95, 301.75, 337.1, 370.44];
    assert!(verdicts.iter().all(|verdict| *verdict == Verdict::Drop { marked: false }));
    for (found, expected) in times.iter().zip(expected) {
        assert!((found - expected).abs() < 0.016, "{found} for {expected}");
    }
    assert!(times.len() >= expected.len());
    let (_, marks) = signals(&mut CobaltController::default(), &law, 20_000, 300_000, Ecn::Ect0);
    assert!(marks.iter().all(|verdict| *verdict == Verdict::Mark));
    let (_, drops) =
        signals(&mut CobaltController::default(), &self::law("ns3", 100_000, &[]), 20_000, 300_000, Ecn::Ect0);
    assert!(drops.iter().all(|verdict| *verdict == Verdict::Drop { marked: false }), "ecn is off");
}

/// In milliseconds from when the delay is above target, if packets come every 10 us.
fn first_signal(law: &CobaltLaw) -> f64 {
    let mut controller = CobaltController::default();
    let mut random = Stream::new(1, "cobalt");
    let mut judge =
        |micros, delay| controller.judge(law, &waited(at(micros), delay, Ecn::NotEct), at(micros), &mut random);
    assert_eq!(judge(50_000, 5_000), Verdict::Pass, "not above target");
    let later = (0..).find(|step| judge(60_000 + 10 * step, 5_001) == Verdict::Drop { marked: false });
    later.unwrap() as f64 / 100.0
}

/// cobalt_vars_init leaves the reciprocal root at zero, so the first signal is due at once; ns-3 begins with one.
#[test]
fn a_new_queue_is_hasty_in_linux() {
    assert_eq!(first_signal(&law("cake", 100_000, &[])), 0.01);
    assert_eq!(first_signal(&law("ns3", 100_000, &[])), 100.0);
    assert_eq!(first_signal(&patient()), 100.0);
}

/// ... and only a new one: once the count has moved there is a root.
#[test]
fn an_old_queue_waits_for_an_interval() {
    let law = law("cake", 100_000, &[]);
    let mut controller = CobaltController::default();
    signals(&mut controller, &law, 20_000, 10_000, Ecn::NotEct);
    let mut random = Stream::new(1, "cobalt");
    let mut judge =
        |micros, delay| controller.judge(&law, &waited(at(micros), delay, Ecn::NotEct), at(micros), &mut random);
    judge(2_000_000, 100);
    assert_eq!(judge(2_050_000, 9_000), Verdict::Pass);
    assert_eq!(judge(2_149_999, 9_000), Verdict::Pass);
    assert_eq!(judge(2_150_000, 9_000), Verdict::Drop { marked: false });
}

/// After more than an interval without packets the time of the next signal has passed, and `schedule` in
/// cobalt_should_drop says so although the dropping state has just set it anew.
#[test]
fn after_a_pause_the_first_signal_does_not_wait() {
    let law = patient();
    for (pause, verdict) in [(90_000, Verdict::Pass), (110_000, Verdict::Drop { marked: false })] {
        let mut controller = CobaltController::default();
        let mut random = Stream::new(1, "cobalt");
        let mut judge =
            |micros, delay| controller.judge(&law, &waited(at(micros), delay, Ecn::NotEct), at(micros), &mut random);
        judge(50_000, 100);
        assert_eq!(judge(50_000 + pause, 9_000), Verdict::Pass);
        assert_eq!(judge(50_010 + pause, 9_000), verdict, "{pause}");
    }
}

/// Counts of up to 15 have the roots of four Newton steps, further ones that of one step from the one before.
#[test]
fn roots_are_close() {
    let law = patient();
    let (times, _) = signals(&mut CobaltController::default(), &law, 20_000, 2_000_000, Ecn::NotEct);
    for (number, gap) in times.windows(2).map(|pair| pair[1] - pair[0]).enumerate() {
        let expected = 100.0 / f64::from(number as u32 + 2).sqrt();
        assert!((gap - expected).abs() < 0.02 + 0.001 * expected, "{gap} for {expected}");
    }
}

#[test]
fn no_delay_of_four_packets_counts_on_a_slow_link() {
    // 12 ms a packet: target is 18 ms, but up to 48 ms are no congestion.
    let law = law("cake", 1_000, &[]);
    for (delay, dropping) in [(48_000, false), (48_001, true)] {
        let mut controller = CobaltController::default();
        controller.judge(&law, &waited(at(100_000), delay, Ecn::NotEct), at(100_000), &mut Stream::new(1, "cobalt"));
        assert_eq!(controller.is_dropping(), dropping);
    }
}

/// Count falls by one whenever a signal would have been due, while the delay is below target.
#[test]
fn the_count_fades_as_it_grew() {
    let law = patient();
    let mut controller = CobaltController::default();
    let (times, _) = signals(&mut controller, &law, 20_000, 101_000 + 71_000, Ecn::NotEct);
    assert_eq!((times.len(), controller.count()), (2, 3));
    // The last was due at 190.67 ms; the next ones at 248.40, then with count 2 at 319.07, with count 1 at 419.07.
    let mut random = Stream::new(1, "cobalt");
    for (micros, count) in
        [(248_000, 3), (249_000, 2), (319_000, 2), (320_000, 1), (419_000, 1), (420_500, 0), (900_000, 0)]
    {
        let verdict = controller.judge(&law, &waited(at(micros), 100, Ecn::NotEct), at(micros), &mut random);
        assert_eq!((verdict, controller.count()), (Verdict::Pass, count), "at {micros}");
    }
}

#[test]
fn a_long_pause_is_caught_up_with_at_once() {
    let law = law("cake", 100_000, &[]);
    let mut controller = CobaltController::default();
    signals(&mut controller, &law, 20_000, 400_000, Ecn::NotEct);
    assert!(controller.count() > 5);
    controller.judge(&law, &waited(at(9_000_000), 100, Ecn::NotEct), at(9_000_000), &mut Stream::new(1, "cobalt"));
    assert_eq!(controller.count(), 0);
}

#[test]
fn an_empty_queue_forgets_one_at_a_time() {
    let law = patient();
    let mut controller = CobaltController::default();
    signals(&mut controller, &law, 20_000, 172_000, Ecn::NotEct);
    assert_eq!(controller.count(), 3);
    controller.empty(&law, at(248_000));
    assert_eq!((controller.count(), controller.is_dropping()), (3, false));
    controller.empty(&law, at(900_000));
    assert_eq!(controller.count(), 2);
    controller.empty(&law, at(900_000));
    assert_eq!(controller.count(), 1);
}

/// BLUE: 1/256 up with an overflow, 1/4096 down with an empty queue, at most once in target.
#[test]
fn blue_moves_with_overflows_and_silence() {
    let law = law("cake", 100_000, &[]);
    let mut controller = CobaltController::default();
    for (micros, steps) in [(5_000, 0.0), (5_001, 1.0), (10_001, 1.0), (10_002, 2.0)] {
        controller.overflow(&law, at(micros));
        assert_eq!(controller.blue(), steps / 256.0, "{micros}");
        assert!(controller.is_dropping() && controller.count() == 1);
    }
    for (micros, steps) in [(15_002, 0.0), (15_003, 1.0), (15_004, 1.0), (30_000, 2.0)] {
        controller.empty(&law, at(micros));
        assert_eq!(controller.blue(), 2.0 / 256.0 - steps / 4096.0, "{micros}");
    }
    for step in 0..10_000 {
        controller.overflow(&law, at(1_000_000 + 6_000 * step));
    }
    assert_eq!(controller.blue(), 1.0);
    for step in 0..10_000 {
        controller.empty(&law, at(1_000_000_000 + 6_000 * step));
    }
    assert_eq!(controller.blue(), 0.0);
}

#[test]
fn blue_drops_what_codel_would_mark() {
    let law = law("cake", 100_000, &[("increment", Value::Number(1.0))]);
    let mut controller = CobaltController::default();
    controller.overflow(&law, at(10_000));
    let mut random = Stream::new(1, "cobalt");
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1] {
        let verdict = controller.judge(&law, &waited(at(20_000), 10_000, ecn), at(20_000), &mut random);
        assert!(matches!(verdict, Verdict::Drop { .. }), "{verdict:?}");
    }
}

/// Linux `cobalt_should_drop` marks the packet before it asks BLUE, and `cake_dequeue` sends the last packet of a queue
/// whatever was decided: with the mark.
#[test]
fn a_last_packet_that_blue_would_drop_keeps_the_mark() {
    let changes = [("increment", Value::Number(1.0)), limit(Amount::Packets(1.0))];
    for (ecn, sent) in [(Ecn::Ect0, Ecn::Ce), (Ecn::NotEct, Ecn::NotEct)] {
        let mut queue = cobalt("cake", &changes);
        let mut sink = Recorder::default();
        for number in 0..2 {
            queue.enqueue(packet_of(number, 1500, number, ecn), at(10_000), &mut sink);
        }
        assert_eq!((sink.drops.len(), probe(&queue, "blue_probability")), (1, 1.0), "the overflow");
        let last = queue.dequeue(at(220_000), &mut sink).expect("the last packet is sent");
        assert_eq!((last.ecn, sink.marks.len()), (sent, usize::from(sent == Ecn::Ce)));
    }
}

#[test]
fn in_ns3_a_very_long_delay_raises_blue() {
    for (preset, delay, raised) in [("ns3", 400_000, false), ("ns3", 400_001, true), ("cake", 900_000, false)] {
        let mut controller = CobaltController::default();
        let packet = waited(at(1_000_000), delay, Ecn::NotEct);
        controller.judge(&law(preset, 100_000, &[]), &packet, at(1_000_000), &mut Stream::new(1, "cobalt"));
        assert_eq!(controller.blue() > 0.0, raised, "{preset} {delay}");
    }
}

#[test]
fn a_full_buffer_drops_at_either_end() {
    for (preset, dropped) in [("cake", [0, 1]), ("ns3", [3, 4])] {
        let mut queue = cobalt(preset, &[limit(Amount::Packets(3.0))]);
        let mut sink = Recorder::default();
        for number in 0..5 {
            queue.enqueue(packet(1500, number), at(10_000), &mut sink);
        }
        assert_eq!(sink.drops, dropped.map(|number| (number, DropReason::Overflow)));
        assert_eq!(probe(&queue, "blue_probability"), 1.0 / 256.0);
        assert_eq!(probe(&queue, "dropping"), 1.0);
    }
}

#[test]
fn the_last_packet_is_spared_in_cake() {
    for (preset, sent) in [("cake", Some(4)), ("ns3", None)] {
        let changes = [limit(Amount::Packets(3.0)), ("drop", Value::Choice("head")), ("increment", Value::Number(1.0))];
        let mut queue = cobalt(preset, &changes);
        let mut sink = Recorder::default();
        for number in 0..5 {
            queue.enqueue(packet(1500, number), at(10_000), &mut sink);
        }
        assert_eq!(queue.dequeue(at(10_001), &mut sink).map(|packet| packet.body), sent, "{preset}");
    }
}

#[test]
fn asking_an_empty_queue_tells_the_controller() {
    let mut cobalt = Cobalt::<u32>::new(&params(&DESCRIPTOR, "cake", &[]), &link(10_000), Stream::new(1, "q")).unwrap();
    let mut sink = Recorder::default();
    cobalt.controller.overflow(&cobalt.law, at(10_000));
    assert!(cobalt.dequeue(at(20_000), &mut sink).is_none());
    assert!(!cobalt.controller.is_dropping() && cobalt.controller.blue() < 1.0 / 256.0);
}

#[test]
fn wrong_combinations_name_the_parameter() {
    let fault = |changes: &[_]| build(&params(&DESCRIPTOR, "cake", changes), &link(10_000)).err();
    assert_eq!(fault(&[]), None);
    assert_eq!(fault(&[("target", Value::Span(Span::from_millis(100)))]), Some("target"));
    assert_eq!(fault(&[limit(Amount::Bytes(1000.0))]), Some("limit"));
}

proptest! {
    #[test]
    fn limits_and_bounds_hold(preset in prop::sample::select(vec!["cake", "ns3"]), packets in 1u32..60, life in mixed_lives()) {
        let mut queue = cobalt(preset, &[limit(Amount::Packets(f64::from(packets)))]);
        // Long phases under load, so that counts grow and fade.
        let life: Vec<Event> = life.iter().flat_map(|&event| [event, Event::Burst(0, 3), Event::Serve(3, 2_000)]).collect();
        lead(&mut queue, &life, |queue| {
            assert!(queue.packets() <= packets as usize);
            assert!((0.0..=1.0).contains(&probe(queue, "blue_probability")));
        })?;
    }
}
