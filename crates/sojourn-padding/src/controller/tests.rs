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
