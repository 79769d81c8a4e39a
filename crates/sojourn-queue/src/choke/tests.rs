//! CHOKe against the numbers of its sources, against an independent rendering of Linux's, and against the laws of every
//! discipline.

use super::{Choke, DESCRIPTOR};
use crate::red::ageing::Ageing;
use crate::red::average::Average;
use crate::testing::flows::{Fate, FlowStep, flow_lives, live_flows, packet_of};
use crate::testing::{Recorder, build, limit, link, params, probe};
use crate::{Discipline, DropReason, Ecn};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Amount, Span, Stream, Time};

/// The discipline itself, to look inside.
fn choke(preset: &str, changes: &[(&str, Value)]) -> Choke<u32> {
    Choke::new(&params(&DESCRIPTOR, preset, changes), &link(10_000), Stream::new(1, "queue")).unwrap()
}

fn packets(name: &'static str, packets: f64) -> (&'static str, Value) {
    (name, Value::Amount(Amount::Packets(packets)))
}

fn number(name: &'static str, value: f64) -> (&'static str, Value) {
    (name, Value::Number(value))
}

/// The weight, from the first sample of an average that starts at zero.
fn weight(mut choke: Choke<u32>) -> f64 {
    choke.average.sample(1.0, None);
    choke.average.value()
}

/// A queue of one packet of each flow in `flows`, at a fixed average.
fn standing(preset: &str, average: f64, flows: impl IntoIterator<Item = u32>, changes: &[(&str, Value)]) -> Choke<u32> {
    let mut choke = choke(preset, changes);
    choke.average = Average::standing(0.0);
    for flow in flows {
        choke.enqueue(packet_of(flow, 1500, flow), Time::ZERO, &mut Recorder::default());
    }
    choke.average = Average::standing(average);
    choke
}

// Automatic values.

/// tc: max is a quarter of limit, min a third of max, burst (2 min + max)/3, in whole packets.
#[test]
fn automatic_values_of_tc() {
    // limit, max, min, Wlog for bursts of 138 and 41 packets.
    for (most, max, min, wlog) in [(1000.0, 250.0, 83.0, 6), (303.0, 75.0, 25.0, 5)] {
        let linux = || choke("linux", &[packets("limit", most)]);
        assert_eq!((linux().ramp.min, linux().ramp.max), (min, max));
        assert_eq!(weight(linux()), 0.5f64.powi(wlog));
    }
    let given = choke("linux", &[packets("min", 20.0)]).ramp;
    assert_eq!((given.min, given.max), (20.0, 60.0));
    let given = choke("linux", &[packets("max", 50.0)]).ramp;
    assert_eq!((given.min, given.max), (16.0, 50.0));
}

#[test]
fn values_of_the_paper() {
    let ramp = choke("paper", &[]).ramp;
    assert_eq!((ramp.min, ramp.max), (100.0, 200.0));
    assert!((weight(choke("paper", &[])) - 0.002).abs() < 1e-12);
}

#[test]
fn wrong_combinations_name_the_parameter() {
    let fault = |changes: &[_]| build(&params(&DESCRIPTOR, "linux", changes), &link(10_000)).err();
    assert_eq!(fault(&[]), None);
    assert_eq!(fault(&[packets("min", 50.0), packets("max", 50.0)]), Some("max"));
    assert_eq!(fault(&[packets("limit", 100.0), packets("max", 101.0)]), Some("max"));
    assert_eq!(fault(&[packets("limit", 100.0), packets("max", 100.0)]), None);
    assert_eq!(fault(&[packets("min", 30.0), ("burst", Value::Integer(5))]), Some("burst"));
    assert_eq!(fault(&[limit(Amount::Bytes(1499.0))]), Some("limit"));
}

// Matches.

#[test]
fn nothing_is_drawn_up_to_min() {
    for (average, matched) in [(99.0, 0), (100.0, 0), (100.001, 2)] {
        let (mut choke, mut sink) = (standing("paper", average, vec![7; 50], &[]), Recorder::default());
        choke.enqueue(packet_of(7, 1500, 1), Time::ZERO, &mut sink);
        assert_eq!(sink.drops.len(), matched);
        assert_eq!(choke.packets(), if matched == 0 { 51 } else { 49 });
        assert!(sink.drops.iter().all(|(_, reason)| *reason == DropReason::Early));
    }
}

#[test]
fn matches_are_dropped_even_if_they_can_be_marked() {
    let (mut choke, mut sink) =
        (standing("paper", 150.0, [7, 7], &[("ecn", Value::Boolean(true))]), Recorder::default());
    let mut arrival = packet_of(7, 1500, 1);
    arrival.ecn = Ecn::Ect0;
    choke.enqueue(arrival, Time::ZERO, &mut sink);
    assert_eq!((sink.drops.len(), sink.marks.len(), choke.packets()), (2, 0, 1));
}

#[test]
fn an_empty_queue_has_nothing_to_draw() {
    let (mut choke, mut sink) = (standing("paper", 150.0, [], &[number("max_p", 1e-6)]), Recorder::default());
    choke.enqueue(packet_of(7, 1500, 1), Time::ZERO, &mut sink);
    assert_eq!((choke.packets(), sink.drops.len()), (1, 0));
}

/// How often an arrival of one of `flows` flows that share the queue equally is hit.
fn matches(flows: u32, draws: u64) -> f64 {
    let changes = [number("max_p", 1e-6), ("draws", Value::Integer(draws))];
    let trials = 8_000;
    let hits = (0..trials).filter(|&trial| {
        let mut choke = standing("paper", 101.0, (0..120).map(|number| number % flows), &changes);
        choke.random = Stream::new(u64::from(trial), "draw");
        let mut sink = Recorder::default();
        choke.enqueue(packet_of(trial % flows, 1500, trial), Time::ZERO, &mut sink);
        !sink.drops.is_empty()
    });
    hits.count() as f64 / f64::from(trials)
}

/// Equal flows are hit with the probability of their share; m draws hit with 1 - (1 - share)^m.
#[test]
fn the_share_of_the_queue_is_the_probability_of_a_hit() {
    for (flows, draws, expected) in [(2, 1, 0.5), (4, 1, 0.25), (10, 1, 0.1), (4, 3, 1.0 - 0.75f64.powi(3))] {
        let found = matches(flows, draws);
        assert!((found - expected).abs() < 0.02, "{flows} flows, {draws} draws: {found}");
    }
}

/// Tang, Wang and Low, theorem on throughput: among very many flows an unresponsive one gets at most 1/(e+1) = 0.269 of
/// the link, when it sends slightly more than the link carries, and nothing at all as it sends ever more.
#[test]
fn an_unresponsive_flow_gets_at_most_0_269() {
    let share = |rate: f64| {
        let mut choke = standing("paper", 101.0, 1..=1000, &[number("max_p", 1e-6), packets("limit", 5000.0)]);
        let (mut sink, mut random, mut due, mut mice) = (Recorder::default(), Stream::new(3, "order"), 0.0, 1000);
        let (mut sent, rounds) = (0, 60_000);
        for round in 0..rounds {
            due += 2.0 * rate * random.uniform();
            while due >= 1.0 {
                choke.enqueue(packet_of(0, 1500, round), Time::ZERO, &mut sink);
                due -= 1.0;
            }
            // Responsive flows fill what is free, each with one packet.
            while choke.packets() <= 1000 {
                mice = mice % 60_000 + 1;
                choke.enqueue(packet_of(mice, 1500, round), Time::ZERO, &mut sink);
            }
            let packet = choke.dequeue(Time::ZERO, &mut sink).unwrap();
            sent += u32::from(packet.flow == 0 && round >= rounds / 3);
        }
        f64::from(sent) / f64::from(rounds - rounds / 3)
    };
    let shares = [0.2, 0.6, 1.0, 1.2, 2.0, 5.0, 20.0].map(share);
    let most = shares.iter().copied().fold(0.0, f64::max);
    assert!((most - 0.269).abs() < 0.015, "{shares:?}");
    assert!(most == shares[2] || most == shares[3], "{shares:?}");
    assert!(shares[0] < 0.2 && shares[6] < 0.02, "{shares:?}");
}

// RED's part.

#[test]
fn red_decides_what_does_not_match() {
    // Every arrival is of a flow of its own.
    let dropped = |average, changes: &[_]| {
        let (mut choke, mut sink) = (standing("linux", average, 1..=10, changes), Recorder::default());
        let mut left_marked = 0;
        for flow in 100..1100 {
            let mut arrival = packet_of(flow, 1500, flow);
            arrival.ecn = Ecn::Ect0;
            choke.enqueue(arrival, Time::ZERO, &mut sink);
            while choke.packets() > 10 {
                let sent = choke.dequeue(Time::ZERO, &mut sink).unwrap();
                left_marked += usize::from(sent.ecn == Ecn::Ce);
            }
        }
        while let Some(sent) = choke.dequeue(Time::ZERO, &mut sink) {
            left_marked += usize::from(sent.ecn == Ecn::Ce);
        }
        assert_eq!(left_marked, sink.marks.len());
        (sink.drops.len(), sink.marks.len())
    };
    let ecn = ("ecn", Value::Boolean(true));
    let thresholds = [packets("min", 5.0), packets("max", 15.0), number("max_p", 0.2), ecn];
    let hard = [&thresholds[..], &[("harddrop", Value::Boolean(true))]].concat();
    // At p = 0.1 gaps are uniform on 1...10.
    let (drops, marks) = dropped(10.0, &thresholds[..3]);
    assert!((165..=200).contains(&drops) && marks == 0, "{drops}");
    let (drops, marks) = dropped(10.0, &thresholds);
    assert!(drops == 0 && (165..=200).contains(&marks), "{marks}");
    assert_eq!(dropped(15.0, &thresholds), (0, 1000));
    assert_eq!(dropped(15.0, &hard), (1000, 0));
    assert_eq!(dropped(15.0, &thresholds[..3]), (1000, 0));
    let (drops, _) = dropped(15.0, &[&thresholds[..3], &[("gentle", Value::Boolean(true))]].concat());
    assert!(drops < 500, "{drops}");
}

#[test]
fn a_full_buffer_refuses() {
    let (mut choke, mut sink) = (standing("paper", 0.0, 0..300, &[]), Recorder::default());
    choke.enqueue(packet_of(1000, 40, 1), Time::ZERO, &mut sink);
    assert_eq!((sink.drops.as_slice(), choke.packets()), (&[(1, DropReason::Overflow)][..], 300));
}

/// 10 Mbit/s send 1250 packets of 1000 B a second: with a weight of 1/2, 1.6 ms of silence quarter the average.
#[test]
fn silence_ages_the_average() {
    let changes = [number("weight", 0.5), number("max_p", 1e-6), packets("min", 4.0), packets("max", 8.0)];
    let (mut choke, mut sink) = (choke("paper", &changes), Recorder::default());
    let at = |micros| Time::ZERO + Span::from_micros(micros);
    (0..9).for_each(|flow| choke.enqueue(packet_of(flow, 1500, flow), at(0), &mut sink));
    let average = choke.average.value();
    (0..9).for_each(|_| assert!(choke.dequeue(at(10), &mut sink).is_some()));
    // The wire falls silent at 1000, and asks again; the second arrival finds a packet waiting.
    assert!(choke.dequeue(at(1_000), &mut sink).is_none() && choke.dequeue(at(1_800), &mut sink).is_none());
    choke.enqueue(packet_of(10, 1500, 10), at(2_600), &mut sink);
    assert!((choke.average.value() - average / 4.0).abs() < 1e-9);
    choke.enqueue(packet_of(11, 1500, 11), at(4_200), &mut sink);
    assert!((choke.average.value() - average / 8.0 - 0.5).abs() < 1e-9);

    // A packet that is dropped leaves the wire silent.
    (0..2).for_each(|_| assert!(choke.dequeue(at(5_000), &mut sink).is_some()));
    assert!(choke.dequeue(at(5_000), &mut sink).is_none());
    choke.average = Average::new(0.5, Ageing::Curve(1250.0));
    (0..6).for_each(|_| choke.average.sample(100.0, None));
    let average = choke.average.value();
    choke.enqueue(packet_of(12, 1500, 12), at(5_800), &mut sink);
    choke.enqueue(packet_of(13, 1500, 13), at(6_600), &mut sink);
    assert_eq!((choke.packets(), sink.drops.len()), (0, 2));
    assert!((choke.average.value() - average / 4.0).abs() < 1e-9);
}

// Linux.

/// `choke_enqueue` in its whole numbers, without idle time, over packets that lie as in the store. There an average of
/// exactly max is still below it.
struct Linux {
    limit: usize,
    /// qth_min and qth_max, without their shift.
    min: u64,
    max: u64,
    max_p: f64,
    wlog: u32,
    qavg: u64,
    qcount: i64,
    qr: u64,
    packets: Vec<(u32, u32)>,
    random: Stream,
}

impl Linux {
    /// `red_random`: a whole number below (max - min)/max_p.
    fn draw(&mut self) -> u64 {
        (self.random.uniform() * (self.max - self.min) as f64 / self.max_p) as u64
    }

    fn arrive(&mut self, flow: u32, number: u32) -> Vec<Fate> {
        self.qavg = self.qavg + self.packets.len() as u64 - (self.qavg >> self.wlog);
        if self.qavg <= self.min << self.wlog {
            self.qcount = -1;
        } else {
            if !self.packets.is_empty() {
                let index = (self.random.uniform() * self.packets.len() as f64) as usize;
                if self.packets[index].1 == flow {
                    return vec![Fate::Dropped(self.packets.swap_remove(index).0), Fate::Dropped(number)];
                }
            }
            if self.qavg >= self.max << self.wlog {
                self.qcount = -1;
                return vec![Fate::Dropped(number)];
            }
            self.qcount += 1;
            let above = (self.qavg - (self.min << self.wlog)) >> self.wlog;
            if self.qcount == 0 {
                self.qr = self.draw();
            } else if above * self.qcount as u64 >= self.qr {
                self.qcount = 0;
                self.qr = self.draw();
                return vec![Fate::Dropped(number)];
            }
        }
        if self.packets.len() == self.limit {
            return vec![Fate::Dropped(number)];
        }
        self.packets.push((number, flow));
        vec![]
    }

    fn ask(&mut self) -> Option<Fate> {
        let oldest = (0..self.packets.len()).min_by_key(|&index| self.packets[index].0)?;
        Some(Fate::Left(self.packets.swap_remove(oldest).0))
    }
}

proptest! {
    #[test]
    fn decides_as_linux_does(
        life in flow_lives(6), most in 20u32..60, min in 1u32..9, range in 2u32..12, max_p in 0.1f64..1.0, wlog in 0u32..5,
    ) {
        let changes = [
            packets("limit", f64::from(most)),
            packets("min", f64::from(min)),
            packets("max", f64::from(min + range)),
            number("max_p", max_p),
            number("weight", 1.0 / f64::from(1 << wlog)),
            ("ageing", Value::Choice("none")),
        ];
        let fates = live_flows(&mut build(&params(&DESCRIPTOR, "linux", &changes), &link(10_000)).unwrap(), &life, |_| ())?;
        let mut linux = Linux {
            limit: most as usize,
            min: u64::from(min), max: u64::from(min + range), max_p, wlog,
            qavg: 0,
            qcount: -1,
            qr: 0,
            packets: Vec::new(),
            random: Stream::new(1, "queue"),
        };
        let mut number = 0;
        let expected: Vec<Fate> = life.iter().flat_map(|step| match *step {
            FlowStep::Arrive(flow, _) => { number += 1; linux.arrive(flow, number - 1) }
            FlowStep::Ask => linux.ask().into_iter().collect(),
            FlowStep::Wait(_) => vec![],
        }).collect();
        prop_assert_eq!(fates, expected);
    }
}

#[test]
fn linux_wants_a_power_of_one_half() {
    let built = |preset, weight| build(&params(&DESCRIPTOR, preset, &[number("weight", weight)]), &link(10_000)).err();
    assert_eq!(built("linux", 0.3), Some("weight"));
    assert_eq!(built("linux", 0.25), None);
    assert_eq!(built("paper", 0.3), None);
}

// Laws.

proptest! {
    #[test]
    fn limits_hold_and_nothing_is_lost(
        paper: bool, weight in 0.01f64..1.0, min in 1u32..10, draws in 1u64..4, life in flow_lives(8),
        amount in prop_oneof![
            (20u32..40).prop_map(|packets| Amount::Packets(f64::from(packets))),
            (1500u32..40_000).prop_map(|bytes| Amount::Bytes(f64::from(bytes))),
        ],
    ) {
        let min = f64::from(min);
        let changes = [
            limit(amount),
            packets("min", min),
            packets("max", 2.0 * min),
            number("weight", weight),
            ("arithmetic", Value::Choice("real")),
            ("draws", Value::Integer(draws)),
        ];
        let params = params(&DESCRIPTOR, if paper { "paper" } else { "linux" }, &changes);
        let run = || live_flows(&mut build(&params, &link(10_000)).unwrap(), &life, |queue| {
            match amount {
                Amount::Packets(packets) => assert!(queue.packets() as f64 <= packets),
                amount => assert!(queue.bytes() as f64 <= amount.bytes(link(10_000).rate, 1500.0)),
            }
            assert!((0.0..=1.0).contains(&probe(queue, "drop_probability")));
        });
        prop_assert_eq!(run()?, run()?, "the same stream makes the same decisions");
    }
}
