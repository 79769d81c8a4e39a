//! Against queues that are formulas.

use super::*;
use proptest::prelude::*;

const BASE_MS: f64 = 40.0;

fn controller(target_ms: u64) -> Controller {
    let config = Config { target: Span::from_millis(target_ms), most: 500.0, duty: 1.0 };
    let mut controller = Controller::new(config, Time::ZERO);
    controller.know_base(Span::from_secs_f64(BASE_MS / 1e3));
    controller
}

/// Runs epochs in which all probes find the delay in ms that `queue` gives for a rate.
fn epochs(controller: &mut Controller, count: usize, queue: impl Fn(f64) -> f64) {
    for _ in 0..count {
        let rtt = Span::from_secs_f64((BASE_MS + queue(controller.rate())) / 1e3);
        (0..20).for_each(|_| controller.on_answer(rtt));
        controller.on_time(controller.deadline());
        assert!((0.0..=500.0).contains(&controller.rate()), "{controller:?}");
    }
}

/// A full buffer of 60 packets of 1500 B, `tcp` of which leave in a second where there is no padding.
fn full(tcp: f64) -> impl Fn(f64) -> f64 {
    move |rate| 60e3 / (tcp + rate)
}

/// 1.8 s at 33 packets per second: to 200 ms, which is 300 packets per second in all, of which the large ones are 33.
#[test]
fn a_full_buffer_of_packets_comes_to_the_target() {
    let mut controller = controller(200);
    epochs(&mut controller, 12, full(33.3));
    let delay = full(33.3)(controller.rate());
    assert!((150.0..=210.0).contains(&delay), "{delay} ms at {}", controller.rate());
    assert_eq!(controller.rests(), 0);
}

#[test]
fn a_short_queue_is_left_alone() {
    let mut controller = controller(200);
    epochs(&mut controller, 100, |_| 199.0);
    assert_eq!((controller.rate(), controller.rests()), (0.0, 0));
}

#[test]
fn an_idle_link_ends_it() {
    let mut controller = controller(200);
    epochs(&mut controller, 10, full(33.3));
    assert!(controller.rate() > 100.0);
    epochs(&mut controller, 2, |_| 1.0);
    assert_eq!((controller.rate(), controller.rests()), (0.0, 0));
}

/// A queue that is as long in time whatever is sent, as one limited in bytes or one that is managed.
#[test]
fn what_does_not_help_is_given_up_for_longer_and_longer() {
    let mut controller = controller(200);
    let mut rested = vec![];
    let mut last = None;
    for _ in 0..3000 {
        let before = controller.rests();
        // Now and then the queue is empty, so that the base is not forgotten.
        controller.know_base(Span::from_secs_f64(BASE_MS / 1e3));
        epochs(&mut controller, 1, |_| 600.0);
        if controller.rests() > before {
            last = Some(controller.deadline());
        } else if controller.rate() > 0.0
            && let Some(since) = last.take()
        {
            rested.push(controller.deadline().since(since).as_secs_f64().round());
        }
    }
    assert!(rested.len() >= 6, "{rested:?}");
    for pair in rested.windows(2) {
        assert!(pair[1] > 1.7 * pair[0] || pair[1] > 3500.0, "{rested:?}");
    }
    assert!(rested.iter().all(|&rest| rest < 3700.0), "an hour and an epoch at most: {rested:?}");
    // An epoch is 8 round trips of 640 ms: 60 s are 12 of them.
    assert!((55.0..70.0).contains(&rested[0]), "{rested:?}");
}

/// What helps, yet not as far as the target, goes on at the highest rate.
#[test]
fn half_a_success_is_kept() {
    let mut controller = controller(50);
    epochs(&mut controller, 40, full(33.3));
    assert_eq!((controller.rate(), controller.rests()), (500.0, 0));
}

#[test]
fn without_answers_nothing_is_sent() {
    let mut controller = controller(200);
    epochs(&mut controller, 10, full(33.3));
    controller.on_time(controller.deadline());
    assert_eq!(controller.rate(), 0.0);
}

/// One probe in ten may be late: nine decide.
#[test]
fn a_late_probe_is_no_queue() {
    let mut controller = controller(100);
    for _ in 0..18 {
        controller.on_answer(Span::from_millis(50));
    }
    (0..2).for_each(|_| controller.on_answer(Span::from_millis(900)));
    controller.on_time(controller.deadline());
    assert_eq!(controller.rate(), 0.0);
}

#[test]
fn bursts_have_their_share_of_the_packets() {
    let config = Config { target: Span::from_millis(100), most: 500.0, duty: 0.4 };
    let mut controller = Controller::new(config, Time::ZERO);
    controller.know_base(Span::from_millis(40));
    epochs(&mut controller, 20, full(33.3));
    let packets = controller.bursts().unwrap().packets;
    assert_eq!(f64::from(packets), (controller.rate() * 0.4).round());
}

/// A base that has risen is forgotten after ten minutes at the latest.
#[test]
fn a_longer_path_becomes_the_base() {
    let mut controller = controller(100);
    for _ in 0..1000 {
        controller.on_answer(Span::from_millis(300));
        controller.on_time(controller.deadline());
        if controller.deadline() > Time::ZERO + Span::from_secs(610) {
            break;
        }
    }
    assert_eq!(controller.base(), Some(Span::from_millis(300)));
}

#[test]
fn a_new_bound_holds_at_once() {
    let mut controller = controller(200);
    epochs(&mut controller, 12, full(33.3));
    assert!(controller.rate() > 100.0);
    controller.bound(50.0);
    assert_eq!(controller.rate(), 50.0);
    epochs(&mut controller, 1, full(33.3));
    assert_eq!(controller.rate(), 50.0);
}

// By hand, with a target of 200 ms and a base of 40 ms unless said otherwise.

fn with(target_ms: u64, most: f64, duty: f64) -> Controller {
    let mut controller = Controller::new(Config { target: Span::from_millis(target_ms), most, duty }, Time::ZERO);
    controller.know_base(Span::from_secs_f64(BASE_MS / 1e3));
    controller
}

/// Epochs in which all probes find these delays in ms; the rate after each.
fn rates(controller: &mut Controller, delays: &[f64]) -> Vec<f64> {
    let epoch = |&delay: &f64| {
        (0..20).for_each(|_| controller.on_answer(Span::from_secs_f64((BASE_MS + delay) / 1e3)));
        controller.on_time(controller.deadline());
        (controller.rate() * 1e6).round() / 1e6
    };
    delays.iter().map(epoch).collect()
}

/// (rate + 10) delay/target - 10, by at least 5/4 and at most 4 times.
#[test]
fn steps_of_the_rate() {
    let mut controller = controller(200);
    assert_eq!(rates(&mut controller, &[200.0, 400.0, 300.0, 201.0, 2000.0]), [0.0, 10.0, 20.0, 27.5, 140.0]);
    // Three epochs are remembered, and the highest counts: 60 ms are 0.3 of the target; 160 ms are in the dead band.
    assert_eq!(rates(&mut controller, &[30.0, 60.0]), [140.0, 140.0]);
    assert_eq!(rates(&mut controller, &[30.0]), [35.0]);
    assert_eq!(rates(&mut controller, &[160.0, 160.0, 160.0]), [35.0; 3]);
    assert_eq!(rates(&mut controller, &[140.0, 140.0, 140.0]), [35.0, 35.0, 21.5]);
    // 30 ms are less than a quarter of it, which is the largest step down.
    assert_eq!(rates(&mut controller, &[2000.0, 30.0, 30.0, 30.0]), [116.0, 116.0, 116.0, 21.5]);
}

#[test]
fn less_than_two_packets_a_second_are_none() {
    let mut controller = controller(200);
    assert_eq!(rates(&mut controller, &[400.0, 300.0]), [10.0, 20.0]);
    assert_eq!(rates(&mut controller, &[78.0, 78.0, 78.0]), [20.0, 20.0, 0.0], "30 times 0.39 less 10 is 1.7");
}

#[test]
fn one_epoch_without_a_queue_is_not_the_end() {
    let mut controller = controller(200);
    assert_eq!(rates(&mut controller, &[2000.0, 10.0]), [30.0, 30.0]);
    assert_eq!(rates(&mut controller, &[10.0]), [0.0]);
}

/// Nine in ten of 11 probes are 10 of them.
#[test]
fn the_ninth_decile_counts() {
    let after = |low: usize| {
        let mut controller = controller(200);
        (0..low).for_each(|_| controller.on_answer(Span::from_millis(50)));
        (low..11).for_each(|_| controller.on_answer(Span::from_millis(440)));
        controller.on_time(controller.deadline());
        controller.rate()
    };
    assert_eq!((after(9), after(10)), (10.0, 0.0));
}

/// From 20 by 3 to 500 are four raises; three epochs at the top show that it does not help.
#[test]
fn a_trial_ends_at_the_top_or_after_24_epochs() {
    let mut controller = controller(200);
    assert_eq!(rates(&mut controller, &[600.0; 6]), [20.0, 80.0, 260.0, 500.0, 500.0, 500.0]);
    assert_eq!(controller.rests(), 0);
    assert_eq!(rates(&mut controller, &[600.0]), [0.0]);
    assert_eq!(controller.rests(), 1);

    let mut slow = with(200, 1e5, 1.0);
    rates(&mut slow, &[201.0; 24]);
    assert_eq!(slow.rests(), 0);
    rates(&mut slow, &[201.0]);
    assert_eq!(slow.rests(), 1);
}

#[test]
fn epochs_at_the_top_are_counted_anew_after_it_was_left() {
    let mut controller = controller(200);
    rates(&mut controller, &[600.0; 6]);
    assert_eq!(rates(&mut controller, &[100.0; 3]), [500.0, 500.0, 245.0]);
    assert_eq!(rates(&mut controller, &[600.0; 3]), [500.0; 3]);
    assert_eq!(controller.rests(), 0);
    assert_eq!(rates(&mut controller, &[600.0]), [0.0]);
}

/// What is below the target is no failure, even where it was there before.
#[test]
fn a_trial_below_the_target_succeeds() {
    let mut controller = with(200, 10.0, 1.0);
    assert_eq!(rates(&mut controller, &[210.0, 300.0, 300.0]), [2.5, 8.75, 10.0]);
    assert_eq!(rates(&mut controller, &[190.0; 4]), [10.0; 4]);
    assert_eq!(controller.rests(), 0);
}

/// Epochs of 2 s: 60 s are 30 of them, and the last one may begin again. Without answers it rests on.
#[test]
fn a_rest_lasts_a_minute() {
    let mut controller = with(100, 10.0, 1.0);
    assert_eq!(rates(&mut controller, &[200.0; 4]), [10.0, 10.0, 10.0, 0.0]);
    assert_eq!(controller.rests(), 1);
    rates(&mut controller, &[200.0; 10]);
    controller.on_time(controller.deadline());
    assert_eq!(rates(&mut controller, &[200.0; 18]), [0.0; 18]);
    assert_eq!(rates(&mut controller, &[200.0]), [10.0]);
}

/// What it was before is the highest delay of the last epochs, also of those of a rest: 400 is less than 0.75 of 600.
#[test]
fn before_is_the_highest_of_the_last_epochs() {
    let mut controller = with(100, 10.0, 1.0);
    rates(&mut controller, &[600.0; 4]);
    assert_eq!(controller.rests(), 1);
    // Epochs of 8 times 640 ms: the twelfth ends after a minute.
    assert_eq!(rates(&mut controller, &[600.0; 11]), [0.0; 11]);
    assert_eq!(rates(&mut controller, &[300.0; 4]), [10.0; 4]);
    assert_eq!(rates(&mut controller, &[400.0; 4]), [10.0; 4]);
    assert_eq!(controller.rests(), 1);
    // It helped, so that the next rest is a short one: 12 epochs again.
    assert_eq!(rates(&mut controller, &[600.0]), [0.0]);
    assert_eq!(rates(&mut controller, &[600.0; 12])[10..], [0.0, 10.0]);
}

/// Without answers what was before is forgotten: 250 is more than 0.75 of 300.
#[test]
fn silence_makes_a_new_beginning() {
    let mut controller = with(200, 10.0, 1.0);
    rates(&mut controller, &[600.0; 2]);
    controller.on_time(controller.deadline());
    assert_eq!(controller.rate(), 0.0);
    assert_eq!(rates(&mut controller, &[300.0; 4]), [5.0, 10.0, 10.0, 10.0]);
    assert_eq!(controller.rests(), 0);
    rates(&mut controller, &[250.0]);
    assert_eq!(controller.rests(), 1);
}

/// Two windows without answers are no reason to forget the base.
#[test]
fn a_base_is_forgotten_for_another_only() {
    let mut controller = controller(200);
    controller.know_base(Span::from_millis(60));
    (0..400).for_each(|_| controller.on_time(controller.deadline()));
    assert_eq!(rates(&mut controller, &[400.0]), [10.0], "40 ms still");
}

/// A base holds for a window of 300 s after the one that it was measured in: 40 ms, at 310 s.
#[test]
fn a_window_lasts_five_minutes() {
    let mut controller = controller(200);
    (0..155).for_each(|_| controller.on_time(controller.deadline()));
    assert_eq!(rates(&mut controller, &[260.0; 2]), [3.0, 6.9]);
}

#[test]
fn a_burst_has_whole_packets() {
    let packets = |delay: f64, duty| {
        let mut controller = with(200, 500.0, duty);
        rates(&mut controller, &[delay]);
        controller.bursts().map(|bursts| bursts.packets)
    };
    assert_eq!(packets(250.0, 0.1), Some(1), "2.5 a second in a tenth of it");
    assert_eq!(packets(340.0, 0.5), Some(4), "3.5 are rounded");
    assert_eq!(packets(340.0, 1.0), None);
}

proptest! {
    /// From any uplink of 120 kbit/s or more and any buffer the target is met within 24 epochs, where the highest rate
    /// allows it, and then kept.
    #[test]
    fn converges(tcp in 10.0..80.0f64, packets in 20.0..300.0f64, target_ms in 50u64..500) {
        let queue = |rate: f64| packets * 1e3 / (tcp + rate);
        prop_assume!(queue(0.0) > target_ms as f64 && queue(450.0) < target_ms as f64);
        let mut controller = controller(target_ms);
        epochs(&mut controller, 24, queue);
        for _ in 0..20 {
            epochs(&mut controller, 1, queue);
            let delay = queue(controller.rate());
            prop_assert!(delay <= target_ms as f64 * 1.02, "{} ms at {}", delay, controller.rate());
            prop_assert!(delay >= target_ms as f64 * 0.74 || controller.rate() == 0.0, "{} at {}", delay, controller.rate());
        }
    }

    /// Whatever is measured, the rate is within its bounds and time goes on.
    #[test]
    fn bounds(delays in prop::collection::vec(prop::collection::vec(0u64..10_000, 0..5), 1..200), most in 1.0..1e4f64) {
        let config = Config { target: Span::from_millis(100), most, duty: 0.5 };
        let mut controller = Controller::new(config, Time::ZERO);
        for epoch in delays {
            epoch.into_iter().for_each(|millis| controller.on_answer(Span::from_millis(millis)));
            let now = controller.deadline();
            controller.on_time(now);
            prop_assert!(controller.deadline() >= now + SHORTEST_EPOCH);
            prop_assert!((0.0..=most).contains(&controller.rate()));
        }
    }
}
