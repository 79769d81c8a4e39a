//! CoDel against the numbers and the pseudocode of RFC 8289, the fixed point of the kernel, and the laws.

use super::DESCRIPTOR;
use super::law::CoDelController;
use crate::laws::{Event, lead, mixed_lives, packet_of};
use crate::testing::{Recorder, build, limit, link, packet, params, probe};
use crate::{Discipline, DropReason, Ecn, Queue};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Amount, Span, Time};

fn codel(preset: &str, changes: &[(&str, Value)]) -> Queue<u32> {
    build(&params(&DESCRIPTOR, preset, changes), &link(10_000)).unwrap()
}

fn at(micros: u64) -> Time {
    Time::from_nanos(micros * 1000)
}

/// A queue that always holds packets 10 ms old: one arrives and one is asked for every 10 us.
struct Standing {
    queue: Queue<u32>,
    sink: Recorder,
    ecn: Ecn,
    micros: u64,
    number: u32,
}

impl Standing {
    fn new(preset: &str, changes: &[(&str, Value)], ecn: Ecn) -> Standing {
        let roomy = [&[limit(Amount::Packets(1e6))], changes].concat();
        let mut standing =
            Standing { queue: codel(preset, &roomy), sink: Recorder::default(), ecn, micros: 0, number: 0 };
        while standing.micros < 10_000 {
            standing.arrive();
        }
        standing
    }

    fn arrive(&mut self) {
        self.queue.enqueue(packet_of(0, 1500, self.number, self.ecn), at(self.micros), &mut self.sink);
        self.number += 1;
        self.micros += 10;
    }

    /// Runs for so many microseconds; returns when a packet was dropped or marked.
    fn run(&mut self, micros: u64) -> Vec<u64> {
        let until = self.micros + micros;
        let mut times = Vec::new();
        while self.micros < until {
            let signals = |sink: &Recorder| sink.drops.len() + sink.marks.len();
            let before = signals(&self.sink);
            assert!(self.queue.dequeue(at(self.micros), &mut self.sink).is_some());
            times.extend((before..signals(&self.sink)).map(|_| self.micros));
            self.arrive();
            // Each drop makes the queue shorter; here it shall stay as old as it was.
            while self.queue.packets() < 1000 {
                let micros = self.micros;
                self.micros -= 10_000 - 10;
                self.arrive();
                self.micros = micros;
            }
        }
        times
    }

    /// Empties the queue at once.
    fn drain(&mut self) {
        while self.queue.packets() > 0 {
            self.queue.dequeue(at(self.micros), &mut self.sink);
        }
        self.queue.dequeue(at(self.micros), &mut self.sink);
    }
}

/// Milliseconds after the first signal.
fn gaps(times: &[u64]) -> Vec<f64> {
    times.iter().map(|time| (time - times[0]) as f64 / 1000.0).collect()
}

fn assert_times(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        // A signal is due at some instant and sent at the next of the steps of 10 us.
        assert!((-0.001..0.0101).contains(&(found - expected)), "{found} for {expected}");
    }
}

/// Signals of a queue that stays above target: interval/sqrt(1), /sqrt(2) ... apart.
const LAW: [f64; 11] = [0.0, 100.0, 170.71, 228.45, 278.45, 323.17, 363.99, 401.79, 437.14, 470.48, 502.10];

#[test]
fn a_standing_queue_is_dropped_from_by_the_control_law() {
    let mut standing = Standing::new("rfc", &[], Ecn::NotEct);
    let times = standing.run(620_000);
    assert_eq!(times[0], 110_000, "one interval after the sojourn time was first seen above target");
    assert_times(&gaps(&times), &LAW);
    assert!(standing.sink.drops.iter().all(|(_, reason)| *reason == DropReason::Early));
    assert_eq!(probe(&standing.queue, "count"), 11.0);
    assert_eq!(probe(&standing.queue, "dropping"), 1.0);
}

#[test]
fn marks_follow_the_same_law_and_reach_the_receiver() {
    let ecn = [("ecn", Value::Boolean(true))];
    let mut standing = Standing::new("rfc", &ecn, Ecn::Ect0);
    assert_times(&gaps(&standing.run(620_000)), &LAW);
    assert!(standing.sink.drops.is_empty());
    let mut standing = Standing::new("rfc", &ecn, Ecn::NotEct);
    assert_times(&gaps(&standing.run(620_000)), &LAW);
    assert!(standing.sink.marks.is_empty());
    let mut standing = Standing::new("rfc", &[], Ecn::Ect0);
    standing.run(620_000);
    assert!(standing.sink.marks.is_empty(), "ecn is off");
}

/// With a link that asks every 30 ms the time of the mark is later than when it was due.
#[test]
fn after_a_mark_ns3_counts_from_now() {
    let marks = |changes: &[(&str, Value)]| {
        let mut queue = codel("rfc", &[&[("ecn", Value::Boolean(true))], changes].concat());
        let mut sink = Recorder::default();
        for number in 0..100 {
            queue.enqueue(packet_of(0, 1500, number, Ecn::Ect1), Time::ZERO, &mut sink);
        }
        let mut times = Vec::new();
        for step in 1..18 {
            let before = sink.marks.len();
            queue.dequeue(at(step * 30_000), &mut sink);
            times.extend((before..sink.marks.len()).map(|_| step * 30));
        }
        times
    };
    // Above since 30: due at 130, then 250 (found at 150), 320.7, 378.4, 428.4 and 473.1.
    assert_eq!(marks(&[]), [150, 270, 330, 390, 450, 480]);
    // 250; 270 + 70.7; 360 + 57.7; 420 + 50; 480 + 44.7.
    assert_eq!(marks(&[("after_mark", Value::Choice("now"))]), [150, 270, 360, 420, 480]);
}

#[test]
fn a_large_backlog_may_be_dropped_from_several_times_at_once() {
    let mut queue = codel("rfc", &[]);
    let mut sink = Recorder::default();
    for number in 0..20 {
        queue.enqueue(packet(1500, number), Time::ZERO, &mut sink);
    }
    // Above target from 10 ms on; dropping state from 110 ms on; then nothing for 300 ms, in which four drops fall due:
    // at 210, 280.7, 338.4 and 388.4.
    let left: Vec<u32> =
        [10, 110, 410, 411].iter().map(|ms| queue.dequeue(at(ms * 1000), &mut sink).unwrap().body).collect();
    assert_eq!(left, [0, 2, 7, 8]);
}

#[test]
fn the_rate_is_remembered_for_16_intervals() {
    let entered = |pause: u64| {
        let mut standing = Standing::new("rfc", &[], Ecn::NotEct);
        standing.run(340_000);
        standing.drain();
        standing.micros += pause;
        for _ in 0..1000 {
            standing.arrive();
        }
        while probe(&standing.queue, "dropping") == 0.0 {
            standing.run(10);
        }
        (standing.micros, probe(&standing.queue, "count"))
    };
    // Four drops make count 4; what is handed on is how much it has grown since the state was entered.
    let (time, count) = entered(1_000_000);
    assert_eq!(count, 3.0);
    // The next drop was due at 110 + 278.45 ms.
    let edge = 388_450 + 1_600_000 - time + 1_000_000;
    assert_eq!(entered(edge - 100).1, 3.0);
    assert_eq!(entered(edge + 100).1, 1.0);
}

#[test]
fn a_state_of_one_drop_hands_nothing_on() {
    let mut standing = Standing::new("rfc", &[], Ecn::NotEct);
    for _ in 0..3 {
        assert_eq!(standing.run(140_000).len(), 1);
        assert_eq!(probe(&standing.queue, "count"), 1.0);
        standing.drain();
        for _ in 0..1000 {
            standing.arrive();
        }
    }
}

#[test]
fn one_packet_below_target_ends_it() {
    let mut queue = codel("rfc", &[]);
    let mut sink = Recorder::default();
    let mut number = 0;
    let mut offer = |queue: &mut Queue<u32>, sink: &mut Recorder, micros| {
        queue.enqueue(packet(1500, number), at(micros), sink);
        number += 1;
    };
    for _ in 0..3 {
        offer(&mut queue, &mut sink, 0);
    }
    offer(&mut queue, &mut sink, 95_001);
    for _ in 0..10 {
        offer(&mut queue, &mut sink, 99_000);
    }
    // 5 ms is not below target: above since 5 ms. At 100 ms the fourth packet is 4.999 ms old.
    for time in [5_000, 6_000, 7_000, 100_000, 106_000, 107_000, 205_999] {
        assert!(queue.dequeue(at(time), &mut sink).is_some());
        assert!(sink.drops.is_empty(), "at {time}");
    }
    queue.dequeue(at(206_000), &mut sink);
    assert_eq!(sink.drops, [(7, DropReason::Early)], "an interval after 106 ms, to the nanosecond");
}

#[test]
fn exactly_the_target_is_not_below_it() {
    let first = |micros| {
        let mut queue = codel("rfc", &[]);
        let mut sink = Recorder::default();
        for number in 0..10 {
            queue.enqueue(packet(1500, number), Time::ZERO, &mut sink);
        }
        for time in [micros, 105_000] {
            queue.dequeue(at(time), &mut sink);
        }
        sink.drops.len()
    };
    assert_eq!((first(4_999), first(5_000), first(5_001)), (0, 1, 0));
}

/// At 2 Mbit/s and less a full packet takes longer than target: only the guard protects such a link.
#[test]
fn nothing_is_dropped_while_no_more_than_min_bytes_would_remain() {
    let drops = |preset, changes: &[(&str, Value)], waiting: u32| {
        let mut queue = codel(preset, changes);
        let mut sink = Recorder::default();
        for number in 0..400 {
            queue.enqueue(packet(1500, number), at(u64::from(number) * 12_000), &mut sink);
            if number >= waiting {
                queue.dequeue(at(u64::from(number) * 12_000), &mut sink);
            }
        }
        sink.drops.len()
    };
    // One packet remains when one is taken: 1500 B, not more than a full-size packet. ns-3 says less than 1500.
    assert_eq!(drops("rfc", &[], 1), 0);
    assert_eq!(drops("linux", &[], 1), 0);
    assert!(drops("ns3", &[], 1) > 0);
    assert!(drops("rfc", &[], 2) > 0);
    assert_eq!(drops("rfc", &[("min_bytes", Value::Integer(3000))], 2), 0);
    assert!(drops("rfc", &[("min_bytes", Value::Integer(2999))], 2) > 0);
}

#[test]
fn the_second_threshold_marks_at_once() {
    let marks = |changes: &[(&str, Value)], micros, ecn| {
        let threshold = [("ce_threshold", Value::Span(Span::from_millis(1)))];
        let mut queue = codel("rfc", &[&threshold, changes].concat());
        let mut sink = Recorder::default();
        queue.enqueue(packet_of(0, 1500, 0, ecn), Time::ZERO, &mut sink);
        let left = queue.dequeue(Time::from_nanos(micros), &mut sink).unwrap().ecn;
        (sink.marks.len(), left)
    };
    let ect1 = [("ce_threshold_for", Value::Choice("ect1"))];
    // What waited, whom it may mark, what becomes of each code point.
    for (nanos, changes, before, expected) in [
        (1_000_000, &[][..], Ecn::Ect0, (0, Ecn::Ect0)),
        (1_000_001, &[], Ecn::Ect0, (1, Ecn::Ce)),
        (1_000_001, &[], Ecn::Ect1, (1, Ecn::Ce)),
        (1_000_001, &[], Ecn::NotEct, (0, Ecn::NotEct)),
        (1_000_001, &[], Ecn::Ce, (0, Ecn::Ce)),
        (1_000_001, &ect1, Ecn::Ect0, (0, Ecn::Ect0)),
        (1_000_001, &ect1, Ecn::Ect1, (1, Ecn::Ce)),
    ] {
        assert_eq!(marks(changes, nanos, before), expected, "{nanos} {changes:?} {before:?}");
    }
}

/// The kernel's rec_inv_sqrt after a fresh start and for counts 2, 3, ..., computed apart from this code. The second gap
/// is 50 ms where the law says 70.7.
#[test]
fn newton_steps_as_in_the_kernel() {
    let mut expected = vec![0.0];
    for inverse_root in [65_535, 32_769, 36_864, 31_968, 28_935, 26_481, 24_588, 23_037, 21_746] {
        expected.push(expected.last().unwrap() + 100.0 * f64::from(inverse_root) / 65_536.0);
    }
    let by_nanosecond = [("clock", Value::Choice("nanoseconds"))];
    let times = gaps(&Standing::new("linux", &by_nanosecond, Ecn::NotEct).run(110_000 + 440_000));
    assert_times(&times, &expected);
}

/// When packets that came at 0 are asked for at these times, in ns: which of them is dropped.
fn dropped_at(preset: &str, asked: &[u64]) -> Vec<u32> {
    let mut queue = codel(preset, &[]);
    let mut sink = Recorder::default();
    (0..10).for_each(|number| queue.enqueue(packet(1500, number), Time::ZERO, &mut sink));
    for &nanos in asked {
        queue.dequeue(Time::from_nanos(nanos), &mut sink);
    }
    sink.drops.iter().map(|drop| drop.0).collect()
}

/// codel_get_time: 5 ms are 4882 ticks of 1024 ns, 100 ms are 97656; above for that long is not enough.
#[test]
fn linux_counts_in_ticks() {
    const TICK: u64 = 1024;
    let over = (4882 + 97_656) * TICK;
    assert_eq!(
        dropped_at("linux", &[4882 * TICK, over + TICK - 1]),
        [0u32; 0],
        "still the tick that ends the interval"
    );
    assert_eq!(dropped_at("linux", &[4882 * TICK, over + TICK]), [1]);
    assert_eq!(dropped_at("linux", &[4882 * TICK - 1, over + TICK]), [0u32; 0], "not above target");
    assert_eq!(dropped_at("rfc", &[5_000_000, 104_999_999]), [0u32; 0]);
    assert_eq!(dropped_at("rfc", &[5_000_000, 105_000_000]), [1]);
    assert_eq!(dropped_at("rfc", &[4_999_999, 105_000_000]), [0u32; 0]);
}

/// Gaps are whole ticks too: the second signal is due 50 ms after the first, 48,829 ticks of which a part is cut off.
#[test]
fn gaps_are_whole_ticks_in_linux() {
    let first = (4882 + 97_656 + 1) * 1024;
    let root = 65_535;
    let due = first + ((97_656 * root) >> 16) * 1024;
    let drops = |asked| dropped_at("linux", &[4882 * 1024, first, asked]);
    assert_eq!(drops(due - 1), [1]);
    assert_eq!(drops(due), [1, 3]);
}

#[test]
fn a_fresh_start_forgets_the_root() {
    let mut standing = Standing::new("linux", &[], Ecn::NotEct);
    standing.run(500_000);
    standing.drain();
    standing.micros += 3_000_000;
    for _ in 0..1000 {
        standing.arrive();
    }
    assert_times(&gaps(&standing.run(250_000)), &[0.0, 100.0]);
}

#[test]
fn overflows_count_only_where_they_are_told() {
    let mut controller = CoDelController::default();
    controller.count_overflow(5);
    assert_eq!(controller.count(), 5);
    // The full buffer of plain CoDel does not touch the control law.
    let mut queue = codel("linux", &[limit(Amount::Packets(3.0))]);
    let mut sink = Recorder::default();
    for number in 0..5 {
        queue.enqueue(packet(1500, number), Time::ZERO, &mut sink);
    }
    assert_eq!(sink.drops, [(3, DropReason::Overflow), (4, DropReason::Overflow)]);
    assert_eq!(probe(&queue, "count"), 0.0);
}

#[test]
fn wrong_combinations_name_the_parameter() {
    let fault = |changes: &[_]| build(&params(&DESCRIPTOR, "rfc", changes), &link(10_000)).err();
    let ms = |ms| Value::Span(Span::from_millis(ms));
    assert_eq!(fault(&[]), None);
    assert_eq!(fault(&[("target", ms(100))]), Some("target"));
    assert_eq!(fault(&[("target", ms(99))]), None);
    assert_eq!(fault(&[("interval", ms(4))]), Some("target"));
    assert_eq!(fault(&[limit(Amount::Bytes(1499.0))]), Some("limit"));
}

/// RFC 8289 sections 5.3 to 5.6 as they are written: signed times, zero for "not above".
#[derive(Default)]
struct Rfc {
    queue: std::collections::VecDeque<(u32, i64, i64)>,
    bytes: i64,
    first_above_time: i64,
    drop_next: i64,
    count: i64,
    lastcount: i64,
    dropping: bool,
    drops: Vec<u32>,
}

impl Rfc {
    const TARGET: i64 = 5_000_000;
    const INTERVAL: i64 = 100_000_000;

    fn dodequeue(&mut self, now: i64) -> (Option<u32>, bool) {
        let Some((number, size, stamp)) = self.queue.pop_front() else {
            self.first_above_time = 0;
            return (None, false);
        };
        self.bytes -= size;
        if now - stamp < Self::TARGET || self.bytes <= 1500 {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + Self::INTERVAL;
        } else if now >= self.first_above_time {
            return (Some(number), true);
        }
        (Some(number), false)
    }

    fn control_law(&self, time: i64) -> i64 {
        time + (Self::INTERVAL as f64 / (self.count as f64).sqrt()).round() as i64
    }

    fn deque(&mut self, now: i64) -> Option<u32> {
        let (mut packet, mut ok_to_drop) = self.dodequeue(now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                self.drops.extend(packet);
                self.count += 1;
                (packet, ok_to_drop) = self.dodequeue(now);
                if !ok_to_drop {
                    self.dropping = false;
                } else {
                    self.drop_next = self.control_law(self.drop_next);
                }
            }
        } else if ok_to_drop {
            self.drops.extend(packet);
            (packet, _) = self.dodequeue(now);
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            if delta > 1 && now - self.drop_next < 16 * Self::INTERVAL {
                self.count = delta;
            }
            self.drop_next = self.control_law(now);
            self.lastcount = self.count;
        }
        packet
    }
}

/// Lives with standing queues that last for many intervals.
fn standing_lives() -> impl Strategy<Value = Vec<Event>> {
    let phase = (1u32..60, 1u32..40, 100u32..30_000);
    prop::collection::vec((phase, mixed_lives()), 1..6).prop_map(|phases| {
        let mut all = Vec::new();
        for ((burst, rounds, micros), life) in phases {
            for _ in 0..rounds {
                all.extend([Event::Burst(0, burst / 8 + 1), Event::Serve(burst / 6 + 1, micros)]);
            }
            all.extend(&life[..life.len().min(30)]);
        }
        all
    })
}

proptest! {
    #[test]
    fn decides_as_the_rfc_does(life in standing_lives()) {
        let mut queue = codel("rfc", &[limit(Amount::Packets(1e6))]);
        let outcome = lead(&mut queue, &life, |_| ())?;
        // The same life for the RFC.
        let (mut rfc, mut now, mut number, mut sent) = (Rfc::default(), 1i64, 0, Vec::new());
        let mut arrive = |rfc: &mut Rfc, bytes: u32, now| {
            rfc.queue.push_back((number, i64::from(bytes), now));
            rfc.bytes += i64::from(bytes);
            number += 1;
        };
        let mut ask = |rfc: &mut Rfc, now| sent.extend(rfc.deque(now));
        for event in &life {
            match *event {
                Event::Arrive(_, bytes, _) => arrive(&mut rfc, bytes, now),
                Event::Burst(_, packets) => (0..packets).for_each(|_| arrive(&mut rfc, 1500, now)),
                Event::Ask => ask(&mut rfc, now),
                Event::Serve(times, micros) => for _ in 0..times {
                    ask(&mut rfc, now);
                    now += i64::from(micros) * 1000;
                },
                Event::Wait(micros) => now += i64::from(micros) * 1000,
            }
        }
        while !rfc.queue.is_empty() {
            ask(&mut rfc, now);
            now += 100_000;
        }
        prop_assert_eq!(outcome.sink.drops.iter().map(|drop| drop.0).collect::<Vec<_>>(), rfc.drops);
        prop_assert_eq!(outcome.sent.iter().map(|sent| sent.0).collect::<Vec<_>>(), sent);
    }

    #[test]
    fn limits_hold(preset in prop::sample::select(vec!["rfc", "linux", "ns3"]), packets in 1u32..50, life in mixed_lives()) {
        let mut queue = codel(preset, &[limit(Amount::Packets(f64::from(packets)))]);
        lead(&mut queue, &life, |queue| assert!(queue.packets() <= packets as usize))?;
    }
}
