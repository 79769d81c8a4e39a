//! The controller's formulas against RFC 8033 and, in its own fixed point, the kernel.

use super::burst::Phase;
use super::*;
use crate::pie::DESCRIPTOR;
use crate::testing::{link, packet, params};
use proptest::prelude::*;
use sojourn_core::registry::Value;

fn law(preset: &str, changes: &[(&str, Value)]) -> PieLaw {
    PieLaw::new(&Parameters::of(&params(&DESCRIPTOR, preset, changes)), &link(10_000)).unwrap()
}

/// A controller at probability `p` whose last update found `old` milliseconds and whose latest packet waited `delay`.
fn controller(p: f64, delay: f64, old: f64) -> PieController {
    PieController {
        p,
        delay: Delay { latest: Span::from_secs_f64(delay / 1000.0), ..Delay::default() },
        updated: old / 1000.0,
        burst: Burst { phase: Phase::Active, ..Burst::default() },
        ..PieController::default()
    }
}

const LONG: Backlog = Backlog { packets: 100, bytes: 150_000 };
const NOTHING: Backlog = Backlog { packets: 0, bytes: 0 };

fn updated(law: &PieLaw, p: f64, delay: f64, old: f64) -> f64 {
    let mut controller = controller(p, delay, old);
    controller.update(law, LONG);
    controller.p
}

fn assert_close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-12 + 1e-9 * expected.abs(), "found {found}, expected {expected}");
}

/// 20 ms after 18 ms with a target of 15 ms: 0.125 x 0.005 + 1.25 x 0.002 = 0.003125, divided by the table.
#[test]
fn the_table_of_scaling() {
    for (p, divisor) in [
        (0.0, 2048.0),
        (0.9e-6, 2048.0),
        (1e-6, 512.0),
        (0.9e-5, 512.0),
        (1e-5, 128.0),
        (1e-4, 32.0),
        (1e-3, 8.0),
        (1e-2, 2.0),
        (0.09, 2.0),
        (0.1, 1.0),
        (0.5, 1.0),
    ] {
        assert_close(updated(&law("rfc", &[]), p, 20.0, 18.0) - p, 0.003125 / divisor);
    }
    // RFC 8034: 0.25 x 0.010 + 2.5 x 0.002 = 0.0075 with a target of 10 ms.
    let timestamps = [("estimator", Value::Choice("timestamp"))];
    for (p, factor) in [(0.05, 0.5), (0.1, 2.0), (0.5, 2.0)] {
        assert_close(updated(&law("docsis", &timestamps), p, 20.0, 18.0) - p, 0.0075 * factor);
    }
    // Here the cap of steps up is in the way: steps down show the factors.
    for (p, factor) in [(1.0, 8.0), (9.9, 8.0), (10.0, 32.0)] {
        assert_close(updated(&law("docsis", &timestamps), p, 10.0, 11.0) - p, -0.0025 * factor);
    }
}

#[test]
fn steps_up_are_capped_from_a_tenth_on() {
    // 0.125 x 0.085 + 1.25 x 0.1 = 0.135625.
    assert_close(updated(&law("linux", &[]), 0.1, 100.0, 0.0), 0.12);
    assert_close(updated(&law("linux", &[]), 0.0999, 100.0, 0.0), 0.0999 + 0.135_625 / 2.0);
    // RFC 8033 has it among its enhancements, not in appendix A.
    assert_close(updated(&law("rfc", &[]), 0.1, 100.0, 0.0), 0.1 + 0.135_625);
    // Steps down are not: 0.125 x -0.015 + 1.25 x -0.1.
    assert_close(updated(&law("ns3", &[]), 0.5, 0.0, 100.0), 0.5 - 0.126_875);
}

#[test]
fn the_probability_stays_a_probability() {
    assert_eq!(updated(&law("rfc", &[]), 0.995, 500.0, 0.0), 1.0);
    assert_eq!(updated(&law("rfc", &[]), 0.05, 0.0, 500.0), 0.0);
    let docsis = law("docsis", &[("estimator", Value::Choice("timestamp"))]);
    assert_close(updated(&docsis, 13.59, 500.0, 0.0), 13.6);
}

#[test]
fn it_decays_without_congestion() {
    // From 0.5, with no delay twice: 0.5 - 0.125 x 0.015 = 0.498125, times the factor.
    for (preset, delay, backlog, factor) in [
        ("rfc", 0.0, LONG, 0.98),
        ("ns3", 0.0, LONG, 0.98),
        ("linux", 0.0, NOTHING, 63.0 / 64.0),
        ("linux", 0.0, LONG, 1.0),
    ] {
        let mut controller = controller(0.5, delay, delay);
        controller.update(&law(preset, &[]), backlog);
        assert_close(controller.p, 0.498_125 * factor);
    }
    // RFC 8033 appendix B: below half of target is enough; twice. In appendix A there must be no delay at all.
    let appendix_b = law("rfc", &[("decay_below", Value::Auto)]);
    assert_close(updated(&appendix_b, 0.5, 7.0, 7.0), (0.5 - 0.125 * 0.008) * 0.98);
    assert_close(updated(&appendix_b, 0.5, 7.5, 7.5), 0.5 - 0.125 * 0.0075);
    assert_close(updated(&appendix_b, 0.5, 7.0, 8.0), 0.5 - 0.125 * 0.008 - 1.25 * 0.001);
    for preset in ["rfc", "ns3"] {
        assert_close(updated(&law(preset, &[]), 0.5, 7.0, 7.0), 0.5 - 0.125 * 0.008);
    }
}

#[test]
fn very_long_delays_are_answered_faster() {
    let step = 0.125 * 0.236 / 8.0;
    assert_close(updated(&law("linux", &[]), 0.005, 251.0, 251.0), 0.005 + step + 0.02);
    assert_close(updated(&law("rfc", &[]), 0.005, 251.0, 251.0), 0.005 + step);
    assert_close(updated(&law("linux", &[]), 0.005, 250.0, 250.0), 0.005 + 0.125 * 0.235 / 8.0);
}

/// 15 ms an update: ten updates of protection.
#[test]
fn bursts_are_protected_for_so_long() {
    let mut random = Stream::new(1, "pie");
    for (preset, updates) in [("rfc", 10), ("ns3", 10)] {
        let law = law(preset, &[("estimator", Value::Choice("timestamp"))]);
        let mut controller = PieController::default();
        controller.arrival(&law, &packet(1500, 0), LONG, true, &mut random);
        assert_eq!(controller.burst(&law), law.burst.allowance);
        let mut protected = 0;
        while controller.burst.phase != Phase::Active {
            controller.delay.latest = Span::from_secs_f64(0.1);
            controller.update(&law, LONG);
            assert!(!law.burst.hold || controller.p == 0.0, "held");
            protected += 1;
        }
        assert_eq!(protected, updates, "{preset}");
        assert_eq!(controller.p > 0.0, preset == "rfc");
    }
}

/// RFC 8034's states: INACTIVE until a third of the buffer has waited, QUIESCENT until a packet is dropped, ACTIVE then.
#[test]
fn in_docsis_a_drop_begins_the_protection() {
    let law = law("docsis", &[("estimator", Value::Choice("timestamp"))]);
    let (mut random, mut controller) = (Stream::new(1, "pie"), PieController::default());
    let long = |controller: &mut PieController| {
        controller.delay.latest = Span::from_secs_f64(0.05);
        controller.update(&law, LONG);
    };
    // The probability is computed from the start.
    (0..100).for_each(|_| long(&mut controller));
    assert!(controller.p > 0.5, "{}", controller.p);
    let mut arrives =
        |controller: &mut PieController, wakes| controller.arrival(&law, &packet(1500, 0), LONG, wakes, &mut random);
    assert!((0..100).all(|_| arrives(&mut controller, false) == Verdict::Pass));
    assert_eq!(controller.burst.phase, Phase::Waiting);
    assert!((0..100).any(|_| arrives(&mut controller, true) == Verdict::Drop));
    assert_eq!(controller.burst.phase, Phase::Protected(law.burst.allowance));
    // 142 ms at 16 ms: nine updates, during which it is 0.
    for _ in 0..9 {
        assert!(matches!(controller.burst.phase, Phase::Protected(_)));
        assert!((0..100).all(|_| arrives(&mut controller, true) == Verdict::Pass));
        long(&mut controller);
        assert_eq!(controller.p, 0.0);
    }
    assert_eq!(controller.burst.phase, Phase::Active);
    // A quiet moment, and the next drop is protected again; more than a second of them in a row, and it sleeps.
    let quiet = |controller: &mut PieController| {
        (controller.p, controller.delay.latest, controller.updated) = (0.0, Span::ZERO, 0.0);
        controller.update(&law, NOTHING);
    };
    quiet(&mut controller);
    assert_eq!(controller.burst.phase, Phase::Ready);
    (0..62).for_each(|_| quiet(&mut controller));
    long(&mut controller);
    (0..62).for_each(|_| quiet(&mut controller));
    assert_eq!(controller.burst.phase, Phase::Ready);
    quiet(&mut controller);
    assert_eq!(controller.burst.phase, Phase::Waiting);
}

/// RFC 8034 adds up before it asks whether to leave the packet alone, RFC 8033 and Linux after it.
#[test]
fn packets_left_alone_count_in_docsis() {
    for (preset, accumulated) in [("docsis", 5.0 * 0.1 * 1500.0 / 1024.0), ("linux", 0.0)] {
        let mut controller = controller(0.1, 0.0, 0.0);
        let mut random = Stream::new(1, "pie");
        for _ in 0..5 {
            assert!(!controller.is_hit(&law(preset, &[]), 1500, false, LONG, &mut random));
        }
        assert_close(controller.accumulated, accumulated);
    }
}

#[test]
fn in_linux_departures_use_up_the_allowance() {
    let law = law("linux", &[]);
    let mut random = Stream::new(1, "pie");
    let mut controller = PieController::default();
    controller.arrival(&law, &packet(1500, 0), LONG, true, &mut random);
    controller.delay.latest = Span::from_secs_f64(0.1);
    controller.update(&law, LONG);
    let at = |ms| Time::ZERO + Span::from_millis(ms);
    controller.departure(&law, &packet(1500, 0), LONG, at(100));
    controller.update(&law, LONG);
    assert_eq!(controller.burst(&law), Span::from_millis(150));
    controller.departure(&law, &packet(1500, 0), LONG, at(149));
    assert_eq!(controller.burst(&law), Span::from_millis(101));
    controller.departure(&law, &packet(1500, 0), LONG, at(250));
    assert_eq!(controller.burst.phase, Phase::Active);
}

/// When it is calm again the allowance comes back: at once, or after a while.
#[test]
fn the_allowance_is_restored() {
    for (preset, expected) in [("rfc", 1), ("linux", 1), ("ns3", 101)] {
        let law = law(preset, &[("estimator", Value::Choice("timestamp"))]);
        let mut calm = controller(0.0, 0.0, 0.0);
        let mut updates = 0;
        while calm.burst.phase != Phase::Waiting {
            calm.update(&law, NOTHING);
            updates += 1;
        }
        assert_eq!(updates, expected, "{preset}");
        // None of the three conditions may fail.
        for (p, delay, old) in
            [(0.3, 0.0, 0.0), (0.0, law.probability.target * 500.0, 0.0), (0.0, 0.0, law.probability.target * 500.0)]
        {
            let mut busy = controller(p, delay, old);
            busy.update(&law, NOTHING);
            assert_eq!(
                (busy.burst.phase, busy.burst.quiet_for),
                (Phase::Active, Span::ZERO),
                "{preset} {p} {delay} {old}"
            );
        }
    }
}

#[test]
fn quiet_times_have_to_be_without_a_break() {
    let law = law("ns3", &[]);
    let mut controller = controller(0.0, 0.0, 0.0);
    for _ in 0..100 {
        controller.update(&law, NOTHING);
    }
    controller.delay.latest = Span::from_secs_f64(0.1);
    controller.update(&law, LONG);
    controller.p = 0.0;
    for _ in 0..100 {
        controller.delay.latest = Span::ZERO;
        controller.p = 0.0;
        controller.update(&law, NOTHING);
    }
    assert_eq!(controller.burst.phase, Phase::Active);
}

#[test]
fn nothing_is_dropped_while_little_waits() {
    let hit = |preset: &str, delay, old, p, packets: usize, bytes| {
        let mut controller = controller(p, delay, old);
        let law = law(preset, &[("derandomize", Value::Boolean(false))]);
        let mut random = Stream::new(1, "pie");
        let backlog = Backlog { packets, bytes };
        (0..100).any(|_| controller.is_hit(&law, 1500, false, backlog, &mut random))
    };
    // Preset; latest delay, updated delay, probability, packets, bytes; is anything dropped?
    for (preset, delay, old, p, packets, bytes, expected) in [
        ("rfc", 20.0, 20.0, 0.9, 3, 3001, true),
        ("rfc", 20.0, 20.0, 0.9, 2, 3000, false),
        ("linux", 20.0, 20.0, 0.9, 2, 3000, true),
        ("linux", 20.0, 20.0, 0.9, 2, 2999, false),
        ("ns3", 20.0, 20.0, 0.9, 2, 9000, false),
        ("ns3", 20.0, 20.0, 0.9, 3, 120, true),
        ("rfc", 20.0, 7.4, 0.19, 9, 9000, false),
        ("rfc", 20.0, 7.5, 0.19, 9, 9000, true),
        ("rfc", 20.0, 7.4, 0.2, 9, 9000, true),
        ("linux", 20.0, 7.4, 0.19, 9, 9000, true),
        ("linux", 7.4, 20.0, 0.19, 9, 9000, false),
    ] {
        assert_eq!(
            hit(preset, delay, old, p, packets, bytes),
            expected,
            "{preset} {delay} {old} {p} {packets} {bytes}"
        );
    }
}

/// Arrivals between drops at a fixed probability.
fn gaps(law: &PieLaw, p: f64, bytes: u32) -> Vec<u32> {
    let mut random = Stream::new(5, "pie");
    let mut controller = controller(p, 20.0, 20.0);
    let (mut gaps, mut gap) = (Vec::new(), 0);
    for _ in 0..200_000 {
        gap += 1;
        if controller.arrival(law, &packet(bytes, 0), LONG, true, &mut random) == Verdict::Drop {
            gaps.push(gap);
            gap = 0;
        }
    }
    gaps
}

fn mean(gaps: &[u32]) -> f64 {
    gaps.iter().map(|&gap| f64::from(gap)).sum::<f64>() / gaps.len() as f64
}

#[test]
fn drops_come_at_the_rate_of_the_probability() {
    let random = gaps(&law("rfc", &[]), 0.02, 1500);
    assert!((mean(&random) - 50.0).abs() < 2.5, "{}", mean(&random));
    // De-randomised: 84 arrivals are spared, the 85th and those that follow are tested.
    let spread = gaps(&law("linux", &[]), 0.01, 1500);
    assert!((mean(&spread) - 184.0).abs() < 6.0, "{}", mean(&spread));
    assert_eq!(*spread.iter().min().unwrap(), 85);
    assert!(spread.iter().all(|&gap| gap <= 851), "8.5 in steps of 0.01");
}

/// A probability so small that only the upper bound of 8.5 lets a packet be dropped.
#[test]
fn accumulated_probabilities_force_a_drop_at_the_upper_bound() {
    let law = law("linux", &[]);
    let mut random = Stream::new(5, "pie");
    let mut controller = controller(0.0001, 20.0, 20.0);
    controller.accumulated = 8.4998;
    assert!(!controller.is_hit(&law, 1500, false, LONG, &mut random));
    assert!(controller.is_hit(&law, 1500, false, LONG, &mut random));
    controller.overflow();
    assert_eq!(controller.accumulated, 0.0);
    controller.accumulated = 0.8;
    controller.p = 0.0;
    controller.is_hit(&law, 1500, false, LONG, &mut random);
    assert_eq!(controller.accumulated, 0.0, "a probability of 0 starts over");
}

/// RFC 8034 lets the probability exceed 1 for the sake of small packets, but no packet meets more than 0.85.
#[test]
fn no_packet_of_docsis_is_sure_to_be_dropped() {
    for (preset, p, bytes, mean_gap) in
        [("docsis", 5.0, 1024, 1.0 / 0.85), ("docsis", 5.0, 512, 1.0 / 0.85), ("linux", 1.0, 1500, 1.0)]
    {
        let found = mean(&gaps(&law(preset, &[]), p, bytes));
        assert!((found - mean_gap).abs() < 0.01, "{preset} {p} {bytes}: {found}");
    }
}

#[test]
fn a_refused_packet_starts_the_accumulation_over() {
    use crate::{Discipline, pie::Pie, testing::Recorder};
    let mut pie = Pie::new(&params(&DESCRIPTOR, "ns3", &[]), &link(10_000), Stream::new(1, "pie")).unwrap();
    for number in 0..26 {
        pie.controller.accumulated = 0.5;
        pie.enqueue(packet(40, number), Time::ZERO, &mut Recorder::default());
    }
    assert_eq!(pie.controller.accumulated, 0.0);
}

#[test]
fn without_a_rate_nothing_is_known() {
    let law = law("rfc", &[("estimator", Value::Choice("departure-rate"))]);
    let mut unknown = controller(0.0, 0.0, 0.0);
    unknown.update(&law, NOTHING);
    assert_eq!(unknown.burst.phase, Phase::Active);
    // Once it is known calm is believed, and the rate measured anew.
    for step in 0..30u64 {
        unknown.departure(&law, &packet(1500, 0), LONG, Time::ZERO + Span::from_micros(1200 * step));
    }
    unknown.update(&law, NOTHING);
    assert_eq!(unknown.burst.phase, Phase::Waiting);
    assert_eq!(unknown.delay.rate.bytes_per_second(), None);
}

#[test]
fn the_latest_delay_is_that_of_an_update_where_departures_have_none() {
    let law = law("linux", &[("estimator", Value::Choice("link-rate")), ("derandomize", Value::Boolean(false))]);
    let mut controller = controller(0.1, 0.0, 0.0);
    let mut random = Stream::new(1, "pie");
    assert!((0..200).all(|_| !controller.is_hit(&law, 1500, false, LONG, &mut random)));
    controller.update(&law, LONG);
    assert!((0..200).any(|_| controller.is_hit(&law, 1500, false, LONG, &mut random)));
}

#[test]
fn idle_time_uses_up_no_allowance_in_linux() {
    let law = law("linux", &[]);
    let mut random = Stream::new(1, "pie");
    let mut controller = PieController::default();
    controller.departure(&law, &packet(1500, 0), NOTHING, Time::ZERO);
    controller.update(&law, NOTHING);
    controller.arrival(&law, &packet(1500, 0), LONG, true, &mut random);
    controller.departure(&law, &packet(1500, 0), LONG, Time::ZERO + Span::from_secs(10));
    assert_eq!(controller.burst(&law), Span::from_millis(150));
}

#[test]
fn small_packets_are_spared_by_their_size() {
    let law = law("rfc", &[("by_size", Value::Boolean(true))]);
    assert!((mean(&gaps(&law, 0.1, 1500)) - 10.0).abs() < 0.5);
    assert!((mean(&gaps(&law, 0.1, 150)) - 100.0).abs() < 10.0);
}

#[test]
fn marks_replace_drops_up_to_a_tenth() {
    let verdict = |p, ecn, on| {
        let law = law("rfc", &[("ecn", Value::Boolean(on))]);
        let mut random = Stream::new(1, "pie");
        let mut controller = controller(p, 20.0, 20.0);
        let packet = Packet { ecn, ..packet(1500, 0) };
        (0..1000)
            .map(|_| controller.arrival(&law, &packet, LONG, true, &mut random))
            .find(|verdict| *verdict != Verdict::Pass)
            .unwrap()
    };
    use crate::Ecn::{Ect0, Ect1, NotEct};
    assert_eq!(verdict(0.1, Ect0, true), Verdict::Mark);
    assert_eq!(verdict(0.1, Ect1, true), Verdict::Mark);
    assert_eq!(verdict(0.11, Ect0, true), Verdict::Drop);
    assert_eq!(verdict(0.1, NotEct, true), Verdict::Drop);
    assert_eq!(verdict(0.1, Ect0, false), Verdict::Drop);
}

#[test]
fn delays_come_from_where_they_should() {
    let after = |estimator| {
        let law = law("rfc", &[("estimator", Value::Choice(estimator))]);
        let mut controller = controller(0.0, 0.0, 0.0);
        // Packets of 1500 B leave every 2.4 ms, half of the link's rate, after waiting 30 ms.
        for step in 0..100u64 {
            let now = Time::ZERO + Span::from_micros(100_000 + 2_400 * step);
            let enqueued = Time::from_nanos(now.as_nanos() - 30_000_000);
            let leaving = Packet { enqueued, ..packet(1500, 0) };
            controller.departure(&law, &leaving, LONG, now);
        }
        controller.update(&law, LONG);
        controller.delay() * 1000.0
    };
    assert_close(after("timestamp"), 30.0);
    // 150 000 B over 625 000 B/s, or over 1 250 000 B/s.
    assert_close(after("departure-rate"), 240.0);
    assert_close(after("link-rate"), 120.0);
    // A packet that leaves nothing behind has met no queue.
    let law = law("rfc", &[]);
    let mut controller = controller(0.0, 50.0, 50.0);
    controller.departure(&law, &packet(1500, 0), NOTHING, Time::ZERO + Span::from_secs(1));
    assert_eq!(controller.delay.latest, Span::ZERO);
}

/// `pie_calculate_probability` with timestamps, in the kernel's integers: ticks of 64 ns and 2^56 - 1 for certainty.
struct Linux {
    prob: u64,
    qdelay_old: u64,
}

impl Linux {
    const MAX: u64 = u64::MAX >> 8;

    fn update(&mut self, qdelay: u64, backlog: u64) {
        const TICKS: u64 = 15_625_000;
        let target = 15_000_000 >> 6;
        let mut decays = !(qdelay == 0 && backlog != 0);
        let mut alpha = (2 * (Self::MAX / TICKS)) >> 4;
        let mut beta = (20 * (Self::MAX / TICKS)) >> 4;
        if self.prob < Self::MAX / 10 {
            alpha >>= 1;
            beta >>= 1;
            let mut power = 100;
            while self.prob < Self::MAX / power && power <= 1_000_000 {
                alpha >>= 2;
                beta >>= 2;
                power *= 10;
            }
        }
        let mut delta = (alpha.wrapping_mul(qdelay.wrapping_sub(target)))
            .wrapping_add(beta.wrapping_mul(qdelay.wrapping_sub(self.qdelay_old))) as i64;
        if delta > (Self::MAX / 50) as i64 && self.prob >= Self::MAX / 10 {
            delta = (Self::MAX / 100 * 2) as i64;
        }
        if qdelay > 250_000_000 >> 6 {
            delta += (Self::MAX / 50) as i64;
        }
        let next = self.prob as i64 + delta;
        // The kernel lets the probability exceed certainty until it would wrap; nothing depends on it here.
        if next > Self::MAX as i64 {
            decays = false;
        }
        self.prob = next.clamp(0, Self::MAX as i64) as u64;
        if qdelay == 0 && self.qdelay_old == 0 && decays {
            self.prob -= self.prob / 64;
        }
        self.qdelay_old = qdelay;
    }
}

proptest! {
    #[test]
    fn computes_as_linux_does(
        start in prop_oneof![Just(0.0), 1e-7f64..1e-3, 1e-3f64..1.0],
        delays in prop::collection::vec(prop_oneof![1 => Just(0u64), 6 => 1u64..60_000, 1 => 1u64..400_000], 1..60),
    ) {
        let law = law("linux", &[]);
        let mut linux = Linux { prob: (start * Linux::MAX as f64) as u64, qdelay_old: 0 };
        for micros in delays {
            // One step at a time, from the same probability: rounding might tip the scale differently.
            let mut controller = controller(linux.prob as f64 / Linux::MAX as f64, micros as f64 / 1000.0, linux.qdelay_old as f64 * 64e-6);
            let backlog = if micros == 0 { NOTHING } else { LONG };
            controller.update(&law, backlog);
            linux.update((micros * 1000) >> 6, backlog.bytes);
            let found = linux.prob as f64 / Linux::MAX as f64;
            prop_assert!((controller.p - found).abs() < 1e-6 + 1e-4 * found, "{} {}", controller.p, found);
        }
    }

    #[test]
    fn longer_delays_never_lower_the_probability(
        preset in prop::sample::select(vec!["rfc", "linux", "ns3", "docsis"]),
        p in 0.0f64..1.0,
        old in 0.0f64..300.0,
        delays in prop::collection::vec(0.0f64..400.0, 2),
    ) {
        let law = law(preset, &[("estimator", Value::Choice("timestamp"))]);
        let (short, long) = (delays[0].min(delays[1]), delays[0].max(delays[1]));
        prop_assert!(updated(&law, p, short, old) <= updated(&law, p, long, old));
    }
}
