//! WRED against the numbers of its sources, against an independent rendering of ns-2's, and against the laws of every
//! discipline.

use super::{DESCRIPTOR, LEVELS, NAMES, Wred};
use crate::red::average::Average;
use crate::testing::{Recorder, build, limit, link, packet, params, probe};
use crate::{Discipline, DropReason, Dscp, Ecn, Packet};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Amount, Span, Stream, Time};

/// The discipline itself, to look inside.
fn wred(preset: &str, changes: &[(&str, Value)]) -> Wred<u32> {
    Wred::new(&params(&DESCRIPTOR, preset, changes), &link(10_000), Stream::new(1, "queue")).unwrap()
}

fn packets(name: &'static str, packets: f64) -> (&'static str, Value) {
    (name, Value::Amount(Amount::Packets(packets)))
}

/// A packet of AF41, AF42 or AF43.
fn of_level(level: usize, bytes: u32, number: u32) -> Packet<u32> {
    Packet { dscp: Dscp::from_name(["af41", "af42", "af43"][level]).unwrap(), ..packet(bytes, number) }
}

/// Offers packets of these precedences at once.
fn offer(wred: &mut Wred<u32>, levels: &[usize]) -> Recorder {
    let mut sink = Recorder::default();
    for (number, &level) in (0..).zip(levels) {
        wred.enqueue(of_level(level, 1500, number), Time::ZERO, &mut sink);
    }
    sink
}

fn averages(wred: &Wred<u32>) -> [f64; LEVELS] {
    [0, 1, 2].map(|level| wred.average(level))
}

/// The averages of the moment, which nothing is dropped for.
fn of_the_moment(average: &'static str) -> Wred<u32> {
    let mut changes = vec![("average", Value::Choice(average)), ("weight", Value::Number(1.0))];
    for name in ["max_green", "max_yellow", "max_red", "min_green", "min_yellow", "min_red"] {
        changes.push(packets(name, if name.starts_with("max") { 2e6 } else { 1e6 }));
    }
    wred("default", &changes)
}

// Precedences.

#[test]
fn precedences_are_the_second_digit_of_af() {
    let named = |wred: &Wred<u32>, wanted: usize| -> Vec<_> {
        let is_wanted = |number: u8| usize::from(wred.level_of[usize::from(number)]) == wanted;
        Dscp::NAMES.iter().filter(|&&(_, number)| is_wanted(number)).map(|&(name, _)| name).collect()
    };
    let default = wred("default", &[]);
    assert_eq!(named(&default, 1), ["af12", "af22", "af32", "af42"]);
    assert_eq!(named(&default, 2), ["le", "cs1", "af13", "af23", "af33", "af43"]);
    assert!(named(&default, 0).starts_with(&["default", "af11"]) && named(&default, 0).contains(&"ef"));
    let cisco = wred("cisco", &[]);
    assert_eq!(named(&cisco, 0), ["af11", "af21", "af31", "af41"]);
    assert!(named(&cisco, 2).contains(&"default"));
    let yellow = wred("default", &[("others", Value::Choice("yellow"))]);
    assert_eq!(yellow.level_of.iter().filter(|&&level| level == 1).count(), 64 - 4 - 6);
}

#[test]
fn packets_say_their_precedence() {
    let (mut wred, mut sink) = (wred("default", &[]), Recorder::default());
    assert_eq!(wred.classes(), NAMES);
    for (number, level) in (0..).zip([2, 0, 1]) {
        wred.enqueue(of_level(level, 1500, number), Time::ZERO, &mut sink);
    }
    let left: Vec<_> = std::iter::from_fn(|| wred.dequeue(Time::ZERO, &mut sink)).collect();
    assert_eq!(left.iter().map(|packet| (packet.body, packet.class)).collect::<Vec<_>>(), [(0, 2), (1, 0), (2, 1)]);
}

// Automatic and preset values.

#[test]
fn thresholds_of_the_presets() {
    let ramps = |preset| {
        wred(preset, &[])
            .levels
            .map(|level| (level.ramp.min, level.ramp.max, level.ramp.probability(level.ramp.max - 1e-9)))
    };
    let shown = |preset: &'static str| ramps(preset).map(|(min, max, p)| (min, max, (p * 1000.0).round()));
    assert_eq!(shown("ns2"), [(20.0, 40.0, 20.0), (10.0, 20.0, 100.0), (5.0, 10.0, 200.0)]);
    assert_eq!(shown("default"), shown("ns2"));
    assert_eq!(shown("linux"), [20.0, 40.0, 60.0].map(|p| (15_360.0, 46_080.0, p)));
    assert_eq!(shown("cisco"), [32.0, 28.0, 24.0].map(|min| (min, 40.0, 100.0)));
}

/// tc: 20 + 1 - 15.36 <= (1 - (7/8)^20) 8 = 7.4, but above 4.0 for 1/4.
#[test]
fn weights_of_the_presets() {
    let weight = |preset| {
        wred(preset, &[]).levels.map(|mut level| {
            level.average.sample(1.0, None);
            level.average.value()
        })
    };
    assert_eq!(weight("linux"), [0.125; LEVELS]);
    assert_eq!(weight("cisco"), [1.0 / 512.0; LEVELS]);
    assert!(weight("ns2").iter().all(|weight| (weight - 0.002).abs() < 1e-12));
}

#[test]
fn wrong_combinations_name_the_parameter() {
    let fault = |changes: &[_]| build(&params(&DESCRIPTOR, "ns2", changes), &link(10_000)).err();
    assert_eq!(fault(&[]), None);
    assert_eq!(fault(&[packets("max_green", 20.0)]), Some("max_green"));
    assert_eq!(fault(&[packets("min_yellow", 20.0)]), Some("max_yellow"));
    assert_eq!(fault(&[packets("min_red", 11.0)]), Some("max_red"));
    assert_eq!(fault(&[limit(Amount::Bytes(1499.0))]), Some("limit"));
}

// Averages.

/// Two green, three yellow and one red, and then one of each that sees them.
#[test]
fn what_each_average_counts() {
    let seen = |average| {
        let mut wred = of_the_moment(average);
        offer(&mut wred, &[0, 0, 1, 1, 1, 2]);
        // Red first: its arrival counts for nobody's average but its own.
        let red = {
            offer(&mut wred, &[2]);
            wred.average(2)
        };
        let yellow = {
            offer(&mut wred, &[1]);
            wred.average(1)
        };
        let green = {
            offer(&mut wred, &[0]);
            wred.average(0)
        };
        [green, yellow, red]
    };
    assert_eq!(seen("shared"), [8.0, 7.0, 6.0]);
    assert_eq!(seen("own"), [2.0, 3.0, 1.0]);
    assert_eq!(seen("better"), [2.0, 5.0, 6.0]);
    // Averages of others are those that their own last arrivals saw: 1 of green, 2 of yellow; then 1 and 3.
    assert_eq!(seen("sum"), [2.0, 3.0 + 1.0, 1.0 + 2.0 + 1.0]);
}

/// Clark and Fang: an "in" packet's arrival moves the average of all, an "out" packet's not that of "in".
#[test]
fn better_packets_move_the_averages_below() {
    let mut wred = of_the_moment("better");
    offer(&mut wred, &[0, 0]);
    assert_eq!(averages(&wred), [1.0, 1.0, 1.0]);
    offer(&mut wred, &[2, 2]);
    assert_eq!(averages(&wred), [1.0, 1.0, 3.0]);
    offer(&mut wred, &[1]);
    assert_eq!(averages(&wred), [1.0, 2.0, 4.0]);
}

#[test]
fn a_sum_leaves_out_the_idle() {
    let mut wred = of_the_moment("sum");
    let mut sink = Recorder::default();
    offer(&mut wred, &[0, 0, 0, 2]);
    assert_eq!(averages(&wred), [2.0, 2.0, 2.0]);
    for _ in 0..3 {
        wred.dequeue(Time::ZERO, &mut sink);
    }
    assert_eq!(averages(&wred), [2.0, 0.0, 0.0], "nothing green waits, so its average is not counted");
}

#[test]
fn idle_time_is_that_of_the_packets_counted() {
    for (average, ages) in [("shared", false), ("own", true), ("better", true), ("sum", true)] {
        let mut wred = wred("ns2", &[("average", Value::Choice(average)), packets("limit", 1000.0)]);
        let mut sink = Recorder::default();
        offer(&mut wred, &[0, 0, 0, 2, 2]);
        for _ in 0..3 {
            wred.dequeue(Time::ZERO, &mut sink);
        }
        wred.levels.iter_mut().for_each(|level| level.average.set(10.0));
        // A second without green packets, while red ones wait: 833 packets of 1500 B at 10 Mbit/s.
        wred.enqueue(of_level(0, 1500, 9), Time::ZERO + Span::from_secs(1), &mut sink);
        let expected = if ages { 10.0 * 0.998f64.powi(834) } else { 10.0 * 0.998 + 2.0 * 0.002 };
        assert!((wred.average(0) - expected).abs() < 1e-9, "{average} {}", wred.average(0));
    }
}

// Limits.

#[test]
fn the_limit_of_linux_is_for_each_precedence() {
    let still = [("weight", Value::Number(1e-9)), ("ageing", Value::Choice("none"))];
    let mut linux = wred("linux", &still);
    let sink = offer(&mut linux, &[[2; 50], [1; 50], [0; 50]].concat());
    // 61 440 B are 40 packets.
    assert_eq!(linux.levels.each_ref().map(|level| level.packets), [40, 40, 40]);
    assert!(sink.drops.iter().all(|&(_, reason)| reason == DropReason::Overflow));
    let mut ns2 = wred("ns2", &[("weight", Value::Number(1e-9))]);
    offer(&mut ns2, &[[2; 30], [1; 30], [0; 30]].concat());
    assert_eq!(ns2.levels.each_ref().map(|level| level.packets), [0, 20, 30]);
}

#[test]
fn an_arrival_that_finds_no_room_is_sampled_or_not() {
    for (full_is_sampled, expected) in [(true, 2.0), (false, 1.0)] {
        let full = ("full_is_sampled", Value::Boolean(full_is_sampled));
        let mut wred = wred("default", &[packets("limit", 2.0), ("weight", Value::Number(1.0)), full]);
        let sink = offer(&mut wred, &[0, 0, 0]);
        assert_eq!(sink.drops, [(2, DropReason::Overflow)]);
        assert_eq!(wred.average(0), expected);
    }
}

// Decisions.

/// Of 1000 arrivals at a fixed average: drops or marks of each precedence.
fn hits(average: f64, ecn: Ecn, changes: &[(&str, Value)]) -> [(usize, usize); LEVELS] {
    [0, 1, 2].map(|level| {
        let mut wred = wred("default", changes);
        wred.levels.iter_mut().for_each(|level| level.average = Average::standing(average));
        let mut sink = Recorder::default();
        for number in 0..1000 {
            wred.enqueue(Packet { ecn, ..of_level(level, 1500, number) }, Time::ZERO, &mut sink);
        }
        (sink.drops.len(), sink.marks.len())
    })
}

#[test]
fn the_worse_are_dropped_first() {
    let drops = |average| hits(average, Ecn::NotEct, &[]).map(|(drops, _)| drops);
    assert_eq!(drops(4.9), [0, 0, 0]);
    let [green, yellow, red] = drops(7.5);
    assert!(green == 0 && yellow == 0 && (170..=210).contains(&red), "p is 0.1, the mean gap 5.5 or 5: {red}");
    let [green, yellow, red] = drops(15.0);
    assert!(green == 0 && (85..=110).contains(&yellow) && red == 1000, "p is 0.05: {yellow}");
    let [green, yellow, red] = drops(30.0);
    assert!((17..=23).contains(&green) && yellow == 1000 && red == 1000, "p is 0.01: {green}");
    assert_eq!(drops(40.0), [1000; LEVELS]);
    let [_, _, red] = hits(15.0, Ecn::NotEct, &[("gentle", Value::Boolean(true))]);
    assert!(red.0 < 1000, "gentle: p is 0.6 at 1.5 max");
}

#[test]
fn ecn_marks_what_it_may() {
    let marks = ("ecn", Value::Boolean(true));
    let [green, yellow, red] = hits(15.0, Ecn::Ect0, &[marks]);
    assert!(green == (0, 0) && yellow.0 == 0 && (85..=110).contains(&yellow.1) && red == (0, 1000));
    let [_, _, red] = hits(15.0, Ecn::Ect0, &[marks, ("harddrop", Value::Boolean(true))]);
    assert_eq!(red, (1000, 0));
}

/// ns-2.35's `redQueue::enque` and `updateREDStateVar` in mode RIO-C, with its loops.
struct Ns2 {
    lengths: [i64; LEVELS],
    averages: [f64; LEVELS],
    counts: [f64; LEVELS],
    idle: [bool; LEVELS],
    idle_time: [Time; LEVELS],
    random: Stream,
}

impl Ns2 {
    const MIN: [f64; LEVELS] = [20.0, 10.0, 5.0];
    const MAX: [f64; LEVELS] = [40.0, 20.0, 10.0];
    const MAX_P: [f64; LEVELS] = [0.02, 0.1, 0.2];

    fn new(random: Stream) -> Ns2 {
        Ns2 {
            lengths: [0; LEVELS],
            averages: [0.0; LEVELS],
            counts: [-1.0; LEVELS],
            idle: [true; LEVELS],
            idle_time: [Time::ZERO; LEVELS],
            random,
        }
    }

    /// Whether a packet of precedence `prec` is dropped.
    fn enque(&mut self, prec: usize, weight: f64, now: Time) -> bool {
        if self.lengths.iter().sum::<i64>() > 50 - 1 {
            return true;
        }
        for i in prec..LEVELS {
            let mut m = 0;
            if self.idle[i] {
                m = (10e6 / (8.0 * 1500.0) * now.since(self.idle_time[i]).as_secs_f64()) as u64;
                // Idle time that was counted is not counted again.
                self.idle_time[i] = now;
            }
            for _ in 0..=m {
                self.averages[i] *= 1.0 - weight;
            }
            for j in 0..=i {
                self.averages[i] += weight * self.lengths[j] as f64;
            }
        }
        let average = self.averages[prec];
        let dropped = if average < Self::MIN[prec] {
            self.counts[prec] = -1.0;
            false
        } else if average < Self::MAX[prec] {
            self.counts[prec] += 1.0;
            let pb = Self::MAX_P[prec] * (average - Self::MIN[prec]) / (Self::MAX[prec] - Self::MIN[prec]);
            let pa = pb / (1.0 - self.counts[prec] * pb);
            // Beyond certainty ns-2's quotient is negative.
            let hit = self.random.uniform() < pa || pa < 0.0;
            if hit {
                self.counts[prec] = 0.0;
            }
            hit
        } else {
            self.counts[prec] = 0.0;
            true
        };
        if !dropped {
            self.lengths[prec] += 1;
            (prec..LEVELS).for_each(|i| self.idle[i] = false);
        }
        dropped
    }

    fn deque(&mut self, prec: usize, now: Time) {
        self.lengths[prec] -= 1;
        if self.lengths[prec] != 0 || self.lengths[..prec].iter().any(|&length| length != 0) {
            return;
        }
        for i in prec..LEVELS {
            if self.lengths[i] != 0 {
                break;
            }
            self.idle[i] = true;
            self.idle_time[i] = now;
        }
    }
}

/// A burst of packets of one precedence, so many departures, and a pause in microseconds.
fn lives() -> impl Strategy<Value = Vec<(usize, usize, usize, u32)>> {
    let pause = prop_oneof![4 => Just(0u32), 2 => 0u32..20_000, 1 => 0u32..2_000_000];
    prop::collection::vec((0..LEVELS, 0usize..30, 0usize..30, pause), 1..80)
}

proptest! {
    /// Decision by decision, with the same random numbers.
    #[test]
    fn decides_as_ns2_does(life in lives(), weight in prop_oneof![Just(0.002), 0.01f64..1.0]) {
        let mut wred = wred("ns2", &[("weight", Value::Number(weight))]);
        let mut ns2 = Ns2::new(Stream::new(1, "queue"));
        let (mut now, mut sink, mut number) = (Time::ZERO, Recorder::default(), 0);
        for (level, arrivals, departures, pause) in life {
            for _ in 0..arrivals {
                let before = sink.drops.len();
                wred.enqueue(of_level(level, 1500, number), now, &mut sink);
                prop_assert_eq!(sink.drops.len() > before, ns2.enque(level, weight, now));
                number += 1;
            }
            for _ in 0..departures {
                let Some(packet) = wred.dequeue(now, &mut sink) else { break };
                ns2.deque(usize::from(packet.class), now);
            }
            for level in 0..LEVELS {
                prop_assert!((wred.average(level) - ns2.averages[level]).abs() < 1e-6);
            }
            now += Span::from_micros(u64::from(pause));
        }
    }
}

// Laws.

fn presets() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["default", "ns2", "linux", "cisco"])
}

proptest! {
    /// Packets leave in the order in which they came, whatever their precedence, and every one is accounted for.
    #[test]
    fn one_queue_within_its_limits(preset in presets(), life in lives(), scope in prop::sample::select(vec!["shared", "own", "better", "sum"])) {
        let mut wred = wred(preset, &[("average", Value::Choice(scope))]);
        let (mut now, mut sink, mut number, mut left, mut last) = (Time::ZERO, Recorder::default(), 0, 0, None);
        for (level, arrivals, departures, pause) in life {
            for _ in 0..arrivals {
                wred.enqueue(of_level(level, 1500, number), now, &mut sink);
                number += 1;
            }
            for _ in 0..departures {
                let packet = wred.dequeue(now, &mut sink);
                prop_assert_eq!(packet.is_none(), wred.packets() == 0 && packet.is_none());
                let Some(packet) = packet else { break };
                prop_assert!(Some(packet.body) > last);
                last = Some(packet.body);
                left += 1;
            }
            prop_assert_eq!(number as usize, left + sink.drops.len() + wred.packets());
            prop_assert_eq!(wred.levels.iter().map(|level| level.packets).sum::<usize>(), wred.packets());
            prop_assert_eq!(wred.levels.iter().map(|level| level.bytes).sum::<u64>(), wred.bytes());
            for level in &wred.levels {
                let (packets, bytes) = if wred.limit_of_level { (level.packets, level.bytes) } else { (wred.packets(), wred.bytes()) };
                let holds = !wred.limit.is_exceeded(packets, bytes);
                prop_assert!(holds);
            }
            now += Span::from_micros(u64::from(pause));
        }
    }

    /// At the same average a worse precedence is never spared more.
    #[test]
    fn precedences_are_in_order(preset in presets(), average in 0.0f64..60.0) {
        let wred = wred(preset, &[]);
        let scale = if preset == "linux" { 1000.0 } else { 1.0 };
        let [green, yellow, red] = wred.levels.each_ref().map(|level| level.ramp.probability(average * scale));
        prop_assert!(green <= yellow && yellow <= red);
    }
}

/// All of one precedence: it is RED, decision by decision.
#[test]
fn with_one_precedence_it_is_red() {
    for average in ["shared", "own", "better", "sum"] {
        let common = [("weight", Value::Number(0.02)), packets("limit", 100.0)];
        let mut one = wred("default", &[&common[..], &[("average", Value::Choice(average))]].concat());
        let same =
            [("gentle", Value::Boolean(false)), ("idle_from", Value::Choice("queue")), ("max_p", Value::Number(0.02))];
        let red = [&common[..], &same, &[packets("min", 20.0), packets("max", 40.0)]].concat();
        let mut red = build(&params(&crate::red::DESCRIPTOR, "default", &red), &link(10_000)).unwrap();
        let (mut ours, mut theirs) = (Recorder::default(), Recorder::default());
        for number in 0..20_000 {
            let now = Time::ZERO + Span::from_millis(u64::from(number));
            one.enqueue(packet(1500, number), now, &mut ours);
            red.enqueue(packet(1500, number), now, &mut theirs);
            if number % 40 > 2 {
                one.dequeue(now, &mut ours);
                red.dequeue(now, &mut theirs);
            }
            if number % 4000 == 0 {
                while one.dequeue(now, &mut ours).is_some() && red.dequeue(now, &mut theirs).is_some() {}
            }
        }
        assert_eq!(ours.drops, theirs.drops);
        assert!(ours.drops.len() > 100);
        let mut shown = 0.0;
        one.probe(&mut |name, value| {
            if name == "green_average_packets" {
                shown = value;
            }
        });
        assert_eq!(shown, probe(&red, "average_packets"));
    }
}
