use super::*;
use proptest::prelude::*;

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// The first value that may still be remembered, by hand: a new largest one counts at once, and one that is too old
/// leaves the best of what came after it.
#[test]
fn the_largest_value_of_ten_rounds() {
    let mut filter = WindowedMax::default();
    let mut shown = Vec::new();
    let samples =
        [(0, 100.0), (1, 90.0), (3, 80.0), (6, 70.0), (9, 60.0), (10, 60.0), (11, 50.0), (14, 50.0), (17, 50.0)];
    for (round, value) in samples {
        filter.update(10, round, value);
        shown.push(filter.get());
    }
    // 100 of round 0 counts until round 10; then the best of the second quarter, then of the second half. That 60 was
    // larger than 50 is forgotten, because a better one was remembered at its time.
    assert_eq!(shown, [100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 80.0, 70.0, 50.0]);
}

#[test]
fn two_slots_remember_the_present_and_the_previous_one() {
    let mut filter = TwoSlots::default();
    filter.update(5.0);
    filter.advance();
    filter.update(3.0);
    filter.update(2.0);
    assert_eq!(filter.get(), 5.0);
    filter.advance();
    assert_eq!(filter.get(), 3.0);
    filter.advance();
    assert_eq!(filter.get(), 0.0);
}

proptest! {
    /// Samples that need not be rounded are passed over, and no others.
    #[test]
    fn two_slots_round_what_may_be_larger(samples in prop::collection::vec((0.0..9.0f64, 1u32..24), 1..50)) {
        let mut filters = [TwoSlots::default(); 2];
        for (value, most) in samples {
            let most = f64::from(most) / 2.0;
            filters[0].update_rounded_up(value, most);
            filters[1].update(value.ceil().min(most));
            prop_assert_eq!(filters[0].get(), filters[1].get());
        }
    }

    /// It is a value of the window, at least the newest, at most the largest.
    #[test]
    fn a_windowed_maximum_is_within_its_window(
        window in 1u64..20,
        samples in prop::collection::vec((0u64..4, 0.0..1000.0f64), 1..200),
    ) {
        let mut filter = WindowedMax::default();
        let mut seen: Vec<(u64, f64)> = Vec::new();
        let mut time = 0;
        for (step, value) in samples {
            time += step;
            filter.update(window, time, value);
            seen.push((time, value));
            let recent = || seen.iter().filter(|(then, _)| time - then <= window).map(|&(_, value)| value);
            let largest = recent().fold(0.0, f64::max);
            prop_assert!(recent().any(|value| value == filter.get()));
            prop_assert!((value..=largest).contains(&filter.get()));
        }
    }

    /// While values rise it is exact.
    #[test]
    fn rising_values_count_at_once(steps in prop::collection::vec((0u64..4, 0.0..10.0f64), 1..100)) {
        let (mut filter, mut time, mut value) = (WindowedMax::default(), 0, 0.0);
        for (step, rise) in steps {
            time += step;
            value += rise;
            filter.update(10, time, value);
            prop_assert_eq!(filter.get(), value);
        }
    }
}

#[test]
fn a_round_ends_with_what_was_sent_after_it_began() {
    let mut rounds = PacketTimedRounds::default();
    let starts = |rounds: &mut PacketTimedRounds, prior, total| {
        rounds.on_ack(prior, total);
        rounds.starts()
    };
    assert!(starts(&mut rounds, 0, 2));
    assert!(!starts(&mut rounds, 0, 4));
    assert!(!starts(&mut rounds, 1, 6));
    assert!(starts(&mut rounds, 2, 8));
    assert_eq!(rounds.count(), 2);
    rounds.restart(20);
    assert!(!starts(&mut rounds, 19, 22));
    assert!(starts(&mut rounds, 20, 24));
    rounds.pass();
    assert!(!rounds.starts());
}

#[test]
fn a_least_round_trip_time_expires() {
    let mut least = LeastRtt::new(Span::from_secs(10));
    assert!(!least.expired(at(1_000_000)));
    least.set(Span::from_millis(40), at(5_000));
    assert!(!least.expired(at(15_000)));
    assert!(least.expired(at(15_001)));
    least.renew(at(15_001));
    assert!(!least.expired(at(25_001)));
    assert_eq!(least.get(), Some(Span::from_millis(40)));
}

/// 100 segments per second: one each 10 ms is no excess but itself; five at once are, and while they last.
#[test]
fn aggregation_is_what_bandwidth_does_not_explain() {
    let mut aggregation = Aggregation::default();
    assert_eq!(aggregation.excess(1.0, 100.0, at(10)), 1.0);
    assert_eq!(aggregation.excess(1.0, 100.0, at(20)), 1.0);
    assert_eq!(aggregation.excess(5.0, 100.0, at(30)), 5.0);
    assert!((aggregation.excess(2.0, 100.0, at(40)) - 6.0).abs() < 1e-9);
    assert_eq!(aggregation.excess(1.0, 100.0, at(200)), 1.0);
}

#[test]
fn what_is_sent_while_the_path_is_kept_empty_is_muted() {
    let mut muted = Muted::default();
    assert!(!muted.covers(0));
    muted.extend(100, 4);
    muted.extend(102, 4);
    assert_eq!([99, 100, 104, 106, 107].map(|prior| muted.covers(prior)), [false, true, true, true, false]);
    muted.extend(500, 4);
    assert_eq!([100, 499, 500, 504, 505].map(|prior| muted.covers(prior)), [false, false, true, true, false]);
}

/// 10 segments of 1000 B at gain 2: over 1 ms at first, over the first RTT once it is known, and then only upward.
#[test]
fn pacing_rises_until_the_pipe_is_full() {
    let mut pacing = Pacing::new(1000, 10.0, 2.0);
    assert_eq!(pacing.rate().bits_per_second(), 160_000_000);
    pacing.begin(Span::ZERO, 10.0, 2.0);
    pacing.begin(Span::from_millis(40), 10.0, 2.0);
    pacing.begin(Span::from_millis(10), 10.0, 2.0);
    assert_eq!(pacing.rate().bits_per_second(), 4_000_000);
    pacing.follow(400.0, false);
    assert_eq!(pacing.rate().bits_per_second(), 4_000_000);
    pacing.follow(600.0, false);
    assert_eq!(pacing.rate().bits_per_second(), 4_800_000);
    pacing.follow(400.0, true);
    assert_eq!(pacing.rate().bits_per_second(), 3_200_000);
    pacing.follow(0.0, true);
    assert_eq!(pacing.rate().bits_per_second(), 1);
}
