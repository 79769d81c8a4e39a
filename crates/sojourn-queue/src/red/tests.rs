//! RED against the numbers of its sources, against independent renderings of two of them, and against the laws of
//! every discipline.

use super::{Average, DESCRIPTOR, Ramp, Red};
use crate::testing::{Recorder, Step, build, limit, link, live, lives, packet, params, probe};
use crate::{Discipline, DropReason, Ecn, Limit, LinkProperties};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Amount, Span, Stream, Time};

/// The discipline itself, to look inside.
fn red(preset: &str, changes: &[(&str, Value)], link: &LinkProperties) -> Red<u32> {
    Red::new(&params(&DESCRIPTOR, preset, changes), link, Stream::new(1, "red")).unwrap()
}

/// The weight, from the first sample of an average that starts at zero.
fn weight(red: &mut Red<u32>) -> f64 {
    red.average.sample(1.0, None);
    red.average.value()
}

fn assert_close(found: f64, expected: f64, relative: f64) {
    assert!((found / expected - 1.0).abs() <= relative, "found {found}, expected {expected}");
}

// Automatic values.

#[test]
fn automatic_values_of_ns2() {
    // Rate in kbit/s, link delay in ms, weight, thresholds in units of 500 B.
    let table = [
        (500, 15, 7.97e-3, 5.0, 15.0),
        (4_000, 25, 1.00e-3, 5.0, 15.0),
        (10_000, 25, 4.00e-4, 6.25, 18.75),
        (100_000, 25, 4.00e-5, 62.5, 187.5),
    ];
    for (kilobits, delay, expected, min, max) in table {
        let mut link = link(kilobits);
        link.delay = Span::from_millis(delay);
        let mut red = red("ns2", &[], &link);
        assert_eq!((red.ramp.min, red.ramp.max), (min * 500.0, max * 500.0));
        assert_close(weight(&mut red), expected, 2e-3);
    }
    // Beyond 33 ms the link's delay matters: rtt 3 (0.1 s + 1/2500 s).
    let mut link = link(10_000);
    link.delay = Span::from_millis(100);
    assert_close(weight(&mut red("ns2", &[], &link)), 1.0 - (-1.0f64 / (10.0 * 0.3012 * 2500.0)).exp(), 1e-9);
}

#[test]
fn automatic_values_of_tc() {
    // limit, avpkt, max, min, Wlog.
    let table =
        [(60_000, 1000, 15_000, 5_000, 3), (600_000, 1000, 150_000, 50_000, 6), (1_500_000, 1500, 375_000, 125_000, 6)];
    for (bytes, mean, max, min, wlog) in table {
        let changes = [limit(Amount::Bytes(f64::from(bytes))), ("mean_packet", Value::Integer(mean))];
        let mut red = red("linux", &changes, &link(10_000));
        assert_eq!((red.ramp.min, red.ramp.max), (f64::from(min), f64::from(max)));
        assert_eq!(weight(&mut red), 0.5f64.powi(wlog));
        assert_eq!(red.entry.limit, Limit::Bytes(u64::try_from(bytes).unwrap()));
    }
}

/// The table of bursts in the comment of red.h: th_min/S of 32, and the burst that each weight just lets pass, or just
/// not: 35 + 1 - 32 is not quite (1 - 0.75^35)/0.25. One packet less passes in every row.
#[test]
fn bursts_of_the_kernel_s_table() {
    for (wlog, burst) in [(2, 35), (3, 39), (4, 46), (5, 57), (6, 75), (7, 101), (8, 135), (9, 190)] {
        let changes = [("min", Value::Amount(Amount::Bytes(32_000.0))), ("burst", Value::Integer(burst - 1))];
        assert_eq!(weight(&mut red("linux", &changes, &link(10_000))), 0.5f64.powi(wlog), "burst {burst}");
    }
}

#[test]
fn one_threshold_gives_the_other() {
    let amount = |bytes| Value::Amount(Amount::Bytes(bytes));
    let ramp = |preset, changes: &[_]| red(preset, changes, &link(10_000)).ramp;
    assert_eq!(ramp("linux", &[("min", amount(5000.0))]).max, 15_000.0);
    assert_eq!(ramp("linux", &[("max", amount(16_000.0))]).min, 5_333.0);
    assert_eq!(ramp("ns2", &[("min", amount(5000.0))]).max, 15_000.0);
}

#[test]
fn floyd_and_jacobson_s_values() {
    let mut red = red("floyd93", &[], &link(10_000));
    assert_eq!(red.ramp, Ramp { min: 5.0, max: 15.0, max_p: 0.02, gentle: false, gentle_from: 0.02, whole: false });
    assert_close(weight(&mut red), 0.002, 1e-12);
}

#[test]
fn wrong_combinations_name_the_parameter() {
    let fault = |changes: &[_]| build(&params(&DESCRIPTOR, "linux", changes), &link(10_000)).err();
    let amount = |bytes| Value::Amount(Amount::Bytes(bytes));
    assert_eq!(fault(&[]), None);
    assert_eq!(fault(&[("min", amount(3000.0)), ("max", amount(3000.0))]), Some("max"));
    assert_eq!(fault(&[("min", amount(30_000.0)), ("burst", Value::Integer(5))]), Some("burst"));
    assert_eq!(fault(&[limit(Amount::Bytes(1000.0))]), Some("limit"));
    assert_eq!(fault(&[("by_size", Value::Choice("after-spread"))]), Some("by_size"));
}

/// The attributes of ns3::RedQueueDisc: 5 and 15 packets, LInterm 50, QW 0.002, 375 packets of 500 B a second at 1.5 Mbit/s.
#[test]
fn values_of_ns3() {
    let mut red = red("ns3", &[], &link(10_000));
    assert_eq!((red.ramp.min, red.ramp.max, red.ramp.probability(10.0)), (5.0, 15.0, 0.01));
    red.average.set(8.0);
    red.average.sample(0.0, Some(Span::from_secs(1)));
    assert!((red.average.value() - 8.0 * 0.998f64.powi(376)).abs() < 1e-9, "{}", red.average.value());
    assert!(red.average.weight() == 0.002 && red.first_is_free && red.forced && !red.limit_restarts_count);
}

// The ramp.

#[test]
fn the_ramp_of_each_kind() {
    let classic = Ramp { min: 5.0, max: 15.0, max_p: 0.1, gentle: false, gentle_from: 0.1, whole: false };
    let gentle = Ramp { gentle: true, ..classic };
    for (average, in_classic, in_gentle) in
        [(4.99, 0.0, 0.0), (5.0, 0.0, 0.0), (10.0, 0.05, 0.05), (15.0, 1.0, 0.1), (22.5, 1.0, 0.55), (30.0, 1.0, 1.0)]
    {
        assert!((classic.probability(average) - in_classic).abs() < 1e-12);
        assert!((gentle.probability(average) - in_gentle).abs() < 1e-12);
    }
}

// Limits.

#[test]
fn the_limit_of_ns2_is_in_units_of_500_bytes() {
    // A weight so small that the average stays at zero, where nothing is dropped early.
    let offered = |preset, packets, changes: &[_]| {
        let still = [("weight", Value::Number(1e-9)), ("ageing", Value::Choice("none"))];
        let changes = [&[limit(Amount::Packets(packets))], &still[..], changes].concat();
        let mut queue = build(&params(&DESCRIPTOR, preset, &changes), &link(4_000)).unwrap();
        let mut sink = Recorder::default();
        for number in 0..1000 {
            queue.enqueue(packet(1500, number), Time::ZERO, &mut sink);
        }
        assert!(sink.drops.iter().all(|(_, reason)| *reason == DropReason::Overflow));
        (queue.packets(), queue.bytes())
    };
    // 200 000 B are 133.3 packets; the one that begins below the limit may enter.
    assert_eq!(offered("ns2", 400.0, &[]), (134, 201_000));
    assert_eq!(offered("ns2", 400.0, &[("limit_rule", Value::Choice("fit"))]), (133, 199_500));
    assert_eq!(offered("linux", 400.0, &[]), (400, 600_000));
    assert_eq!(offered("floyd93", 400.0, &[]), (400, 600_000));
}

// Marks.

/// Offers ECN-capable packets or others at a fixed average; returns (drops, marks, kept) of 1000.
fn mark(average: f64, ecn: Ecn, changes: &[(&str, Value)]) -> (usize, usize, usize) {
    let always = [("ecn", Value::Boolean(true)), ("spread", Value::Choice("threshold")), ("max_p", Value::Number(0.2))];
    let mut red = red("floyd93", &[&always[..], changes].concat(), &link(10_000));
    red.average = Average::standing(average);
    let mut sink = Recorder::default();
    for number in 0..1000 {
        let mut packet = packet(1500, number);
        packet.ecn = ecn;
        red.enqueue(packet, Time::ZERO, &mut sink);
    }
    (sink.drops.len(), sink.marks.len(), red.packets())
}

#[test]
fn ecn_marks_what_it_may() {
    let harddrop = ("harddrop", Value::Boolean(true));
    let nodrop = ("nodrop", Value::Boolean(true));
    let (drops, marks, kept) = mark(10.0, Ecn::Ect0, &[]);
    assert!(drops == 0 && (165..=200).contains(&marks) && kept == 1000, "p is 0.1, mean gap 5.5: {marks}");
    let (drops, marks, _) = mark(10.0, Ecn::NotEct, &[]);
    assert!((165..=200).contains(&drops) && marks == 0, "{drops}");
    assert_eq!(mark(10.0, Ecn::NotEct, &[nodrop]), (0, 0, 1000));
    assert_eq!(mark(30.0, Ecn::Ect1, &[]), (0, 1000, 1000));
    assert_eq!(mark(30.0, Ecn::Ect1, &[harddrop]), (1000, 0, 0));
    assert_eq!(mark(30.0, Ecn::NotEct, &[]), (1000, 0, 0));
    assert_eq!(mark(4.0, Ecn::Ect0, &[]), (0, 0, 1000));
    // ns-2 drops from mark_p on.
    let mark_p = ("mark_p", Value::Number(0.05));
    let (drops, marks, _) = mark(10.0, Ecn::Ect0, &[mark_p]);
    assert!(drops > 0 && marks == 0, "p is 0.1");
    let (drops, marks, _) = mark(7.0, Ecn::Ect0, &[mark_p]);
    assert!(drops == 0 && marks > 0, "p is 0.04");
}

// Independent renderings of the sources.

/// ns-2.35's `enque` and `deque` step by step, with its loops and its integers.
struct Ns2 {
    ptc: f64,
    w: f64,
    min: f64,
    max: f64,
    limit: u64,
    average: f64,
    count_bytes: u64,
    old: bool,
    idle_start: Option<Time>,
    random: Stream,
}

impl Ns2 {
    fn arrive(&mut self, q: u64, size: u64, now: Time) -> bool {
        let idle = self.idle_start.take().map_or(0.0, |start| now.since(start).as_secs_f64());
        let m = (self.ptc * idle) as u64;
        for _ in 0..m.min(2_000_000) {
            self.average *= 1.0 - self.w;
        }
        self.average = self.average * (1.0 - self.w) + self.w * q as f64;
        self.count_bytes += size;
        let mut dropped = false;
        if self.average >= self.min && q > 1 {
            if self.old {
                dropped = self.test(size);
            } else {
                self.count_bytes = size;
                self.old = true;
            }
        } else {
            self.old = false;
        }
        if q >= self.limit {
            self.count_bytes = 0;
            dropped = true;
        }
        dropped
    }

    fn test(&mut self, size: u64) -> bool {
        let (max_p, range) = (0.1, self.max - self.min);
        let p = if self.average < self.max {
            max_p * (self.average / range - self.min / range)
        } else {
            (1.0 - max_p) / self.max * self.average + 2.0 * max_p - 1.0
        };
        let p = p.min(1.0);
        let c = (self.count_bytes / 500) as f64;
        let mut spread = if c * p < 1.0 {
            0.0
        } else if c * p < 2.0 {
            p / (2.0 - c * p)
        } else {
            1.0
        };
        if spread < 1.0 {
            spread = spread * size as f64 / 500.0;
        }
        let hit = self.random.uniform() < spread;
        if hit {
            self.count_bytes = 0;
        }
        hit
    }
}

/// Linux's `red_calc_qavg` in its fixed point, with the table that `tc` fills.
struct LinuxAverage {
    qavg: u64,
    wlog: u32,
    cell_log: u32,
    table: [u8; 256],
}

impl LinuxAverage {
    fn new(wlog: u32, xmit_ticks: f64) -> LinuxAverage {
        let slope = -(1.0 - 1.0 / f64::from(1 << wlog)).ln() / xmit_ticks;
        let longest = 31.0 / slope;
        let cell_log = (0..32).find(|&log| longest / f64::from(1 << log) < 512.0).unwrap();
        let mut table = [0; 256];
        for (cell, entry) in (0u32..).zip(table.iter_mut()).skip(1) {
            *entry = (f64::from(cell << cell_log) * slope).min(31.0) as u8;
        }
        table[255] = 31;
        LinuxAverage { qavg: 0, wlog, cell_log, table }
    }

    fn sample(&mut self, backlog: u64, idle: Option<Span>) {
        let Some(idle) = idle else {
            self.qavg = self.qavg + backlog - (self.qavg >> self.wlog);
            return;
        };
        let micros = (idle.as_nanos() / 1000).min(255 << self.cell_log);
        let shift = self.table[(micros >> self.cell_log) as usize & 255];
        let loss = (self.qavg * micros) >> self.cell_log;
        let half = self.qavg >> 1;
        self.qavg = match shift {
            0 if loss < half => self.qavg - loss,
            0 => half,
            _ => self.qavg >> shift,
        };
    }
}

/// Leads a queue and an observer through a life: `arrive` is told what waits, the size, the time, the idle time and
/// whether the packet was dropped, and sees the queue afterwards.
fn shadow(
    mut red: Red<u32>,
    life: &[Step],
    mut arrive: impl FnMut(u64, u32, Time, Option<Span>, bool, &Red<u32>) -> Result<(), TestCaseError>,
    mut silent: impl FnMut(Time),
) -> Result<(), TestCaseError> {
    let (mut sink, mut now, mut idle_since) = (Recorder::default(), Time::ZERO, Some(Time::ZERO));
    for step in life {
        match *step {
            Step::Arrive(bytes) => {
                let (waiting, drops) = (red.bytes(), sink.drops.len());
                red.enqueue(packet(bytes, 0), now, &mut sink);
                let dropped = sink.drops.len() > drops;
                arrive(waiting, bytes, now, idle_since.map(|since| now.since(since)), dropped, &red)?;
                idle_since = idle_since.filter(|_| dropped).map(|_| now);
            }
            Step::Ask => {
                if red.dequeue(now, &mut sink).is_none() && idle_since.is_none() {
                    idle_since = Some(now);
                    silent(now);
                }
            }
            Step::Wait(micros) => now += Span::from_micros(u64::from(micros)),
        }
    }
    Ok(())
}

/// Lives of bursts, so that averages reach the ramp, and of silence, so that they age.
fn busy_lives() -> impl Strategy<Value = Vec<Step>> {
    (lives(), 1usize..150, 5usize..80).prop_map(|(life, burst, phase)| {
        let mut busy = Vec::new();
        for steps in life.chunks(phase) {
            busy.extend(vec![Step::Arrive(1500); burst]);
            busy.extend(steps.iter().flat_map(|&step| [step, Step::Arrive(1500), Step::Ask, Step::Arrive(576)]));
            busy.extend(vec![Step::Ask; burst + 2 * steps.len()]);
            busy.extend(steps);
        }
        busy
    })
}

proptest! {
    /// Decision by decision, with the same random numbers.
    #[test]
    fn decides_as_ns2_does(life in busy_lives(), weight in prop_oneof![Just(None), (0.01f64..0.5).prop_map(Some)]) {
        let rate = link(4_000);
        let mut changes = vec![limit(Amount::Packets(200.0))];
        changes.extend(weight.map(|weight| ("weight", Value::Number(weight))));
        let red = red("ns2", &changes, &rate);
        let ns2 = std::cell::RefCell::new(Ns2 {
            ptc: 1000.0,
            w: weight.unwrap_or(1.0 - (-1.0f64 / 1000.0).exp()),
            min: 2500.0,
            max: 7500.0,
            limit: 100_000,
            average: 0.0,
            count_bytes: 0,
            old: false,
            idle_start: Some(Time::ZERO),
            random: Stream::new(1, "red"),
        });
        shadow(
            red,
            &life,
            |waiting, bytes, now, _, dropped, red| {
                let mut ns2 = ns2.borrow_mut();
                let was_idle = ns2.idle_start.is_some();
                prop_assert_eq!(ns2.arrive(waiting, u64::from(bytes), now), dropped);
                prop_assert!((ns2.average - red.average.value()).abs() < 1e-6 * (1.0 + ns2.average));
                if dropped && was_idle {
                    // The link asks again at once.
                    ns2.idle_start = Some(now);
                }
                Ok(())
            },
            |now| ns2.borrow_mut().idle_start = Some(now),
        )?;
    }

    /// To the bit.
    #[test]
    fn averages_as_linux_does(life in busy_lives()) {
        // 800 us are 12500 ticks; limit 60000 makes Wlog 3.
        let red = red("linux", &[limit(Amount::Bytes(60_000.0)), ("arithmetic", Value::Choice("whole"))], &link(4_000));
        let mut linux = LinuxAverage::new(3, 12_500.0);
        shadow(
            red,
            &life,
            |waiting, _, _, idle, _, red| {
                linux.sample(waiting, idle);
                prop_assert_eq!(linux.qavg as f64 / 8.0, red.average.value());
                Ok(())
            },
            |_| (),
        )?;
    }
}

// Laws.

fn presets() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["default", "ns2", "ns3", "linux", "floyd93"])
}

fn limits() -> impl Strategy<Value = Amount> {
    prop_oneof![
        (15u32..200).prop_map(|packets| Amount::Packets(f64::from(packets))),
        (20_000u32..200_000).prop_map(|bytes| Amount::Bytes(f64::from(bytes))),
    ]
}

proptest! {
    #[test]
    fn limits_hold_and_nothing_is_lost(preset in presets(), amount in limits(), life in busy_lives()) {
        let link = link(4_000);
        let changes = [limit(amount), ("auto_weight", Value::Choice("second"))];
        let entry = red(preset, &changes, &link).entry;
        let mut queue = build(&params(&DESCRIPTOR, preset, &changes), &link).unwrap();
        live(&mut queue, &life, |queue| match entry.limit {
            Limit::Packets(packets) => assert!(queue.packets() as u64 <= packets),
            Limit::Bytes(bytes) if entry.overshoot => assert!(queue.bytes() < bytes + 1500),
            Limit::Bytes(bytes) => assert!(queue.bytes() <= bytes),
        })?;
    }

    #[test]
    fn the_average_stays_within_what_the_queue_was(preset in presets(), life in busy_lives()) {
        let mut queue = build(&params(&DESCRIPTOR, preset, &[]), &link(4_000)).unwrap();
        let name = if matches!(preset, "ns2" | "linux") { "average_bytes" } else { "average_packets" };
        let mut most = 0.0f64;
        live(&mut queue, &life, |queue| {
            let average = probe(queue, name);
            assert!((0.0..=most.max(1e-9) * (1.0 + 1e-9)).contains(&average), "{average} above {most}");
            let probability = probe(queue, "drop_probability");
            assert!((0.0..=1.0).contains(&probability));
            most = most.max(if name == "average_bytes" { queue.bytes() as f64 } else { queue.packets() as f64 });
        })?;
    }

    #[test]
    fn the_ramp_never_falls(min in 0.0f64..50.0, range in 0.1f64..100.0, max_p in 0.001f64..1.0, gentle: bool) {
        let ramp = Ramp { min, max: min + range, max_p, gentle, gentle_from: max_p, whole: false };
        let mut last = 0.0;
        for step in 0..1000 {
            let average = 3.0 * (min + range) * f64::from(step) / 1000.0;
            let probability = ramp.probability(average);
            prop_assert!(probability >= last - 1e-12 && probability <= 1.0);
            prop_assert!(!ramp.is_above(average) || probability > 1.0 - 1e-12);
            last = probability;
        }
        prop_assert_eq!(last, 1.0);
    }

    #[test]
    fn the_same_stream_makes_the_same_decisions(preset in presets(), life in busy_lives()) {
        let run = || {
            let params = params(&DESCRIPTOR, preset, &[("weight", Value::Number(0.1))]);
            live(&mut build(&params, &link(4_000)).unwrap(), &life, |_| ())
        };
        prop_assert_eq!(run()?, run()?);
    }
}

/// A standing queue of 10 packets between 5 and 15: 1 packet in 100 or, spread evenly, in about 51.
#[test]
fn a_standing_queue_is_dropped_at_the_rate_of_its_ramp() {
    let rate_of = |preset, changes: &[_]| {
        let mut queue = build(&params(&DESCRIPTOR, preset, changes), &link(10_000)).unwrap();
        let mut sink = Recorder::default();
        let arrivals = 400_000;
        for number in 0..arrivals {
            queue.enqueue(packet(1500, number), Time::ZERO, &mut sink);
            if queue.packets() > 10 {
                queue.dequeue(Time::ZERO, &mut sink);
            }
        }
        sink.drops.len() as f64 / f64::from(arrivals)
    };
    assert_close(rate_of("floyd93", &[("spread", Value::Choice("none"))]), 0.01, 0.1);
    assert_close(rate_of("floyd93", &[]), 1.0 / 50.0, 0.05);
    assert_close(rate_of("floyd93", &[("spread", Value::Choice("threshold"))]), 1.0 / 50.5, 0.05);
    assert_close(rate_of("floyd93", &[("spread", Value::Choice("wait"))]), 1.0 / 150.0, 0.05);
}
