use super::*;
use crate::path_model::path::Pipe;
use crate::script::params;
use crate::{AnyControl, Unused};
use proptest::prelude::*;
use sojourn_core::registry::Value;

fn pipe() -> Pipe {
    Pipe::new(&DESCRIPTOR, "draft", &[])
}

pub(super) fn bbr(pipe: &Pipe) -> &Bbr3 {
    let AnyControl::Bbr3(control) = &pipe.control else { unreachable!("a BBR 3 was built") };
    control
}

pub(super) fn bbr_mut(pipe: &mut Pipe) -> &mut Bbr3 {
    let AnyControl::Bbr3(control) = &mut pipe.control else { unreachable!("a BBR 3 was built") };
    control
}

/// A pipe on which the flow has just come to `state`.
pub(super) fn at(state: State) -> Pipe {
    let mut pipe = pipe();
    go_to(&mut pipe, state);
    pipe
}

pub(super) fn go_to(pipe: &mut Pipe, state: State) {
    for _ in 0..200 {
        if bbr(pipe).state == state {
            return;
        }
        pipe.round(0);
    }
    panic!("never came to {state:?}");
}

/// The states that `rounds` round trips end in, each as often as it is repeated.
fn states(pipe: &mut Pipe, rounds: u32) -> Vec<(State, u32)> {
    let mut states: Vec<(State, u32)> = Vec::new();
    for _ in 0..rounds {
        pipe.round(0);
        let state = bbr(pipe).state;
        match states.last_mut() {
            Some(last) if last.0 == state => last.1 += 1,
            _ => states.push((state, 1)),
        }
    }
    states
}

/// A loss of a segment sent with `tx_in_flight` in flight, of which `lost` are lost by now.
fn lose(pipe: &mut Pipe, tx_in_flight: u32, lost: u64) {
    let lost = Lost {
        now: pipe.now,
        tx_in_flight,
        lost,
        prior_delivered: pipe.delivered,
        total_delivered: pipe.delivered,
        new_range: true,
        app_limited: false,
    };
    pipe.control.on_lost(&lost);
}

/// Window@pace per round trip: 10 segments over 50 ms at gain 2.77 are 554 per second; the window goes to two
/// bandwidth-delay products and what comes sooner than the bandwidth of the round trip before explains.
#[test]
fn startup_doubles() {
    assert_eq!(pipe().rounds(6), "20@554 40@1097 80@2194 104@2742 104@2742 104@2742");
}

#[test]
fn startup_ends_after_three_round_trips_without_growth() {
    use State::{Cruise, Down, Drain, Startup};
    let states = states(&mut pipe(), 9);
    assert_eq!(states[0], (Startup, 6));
    assert!(states[1..].iter().all(|(state, _)| matches!(state, Drain | Down | Cruise)), "{states:?}");
}

/// 6 separate losses in a round trip of repair, and more than 2 %: the bound is what was delivered.
#[test]
fn startup_ends_with_losses() {
    let after = |lost| {
        let mut pipe = pipe();
        (0..3).for_each(|_| pipe.round(0));
        pipe.round(lost);
        pipe.round(lost);
        (bbr(&pipe).state == State::Startup, bbr(&pipe).bounds.long_term)
    };
    assert_eq!(after(2), (true, f64::INFINITY));
    let (starting, bound) = after(6);
    assert!(!starting && (50.0..110.0).contains(&bound), "{bound}");
}

/// Without SACK a round trip shows one loss at most, and that one is enough.
#[test]
fn without_sack_one_loss_ends_startup() {
    let mut pipe = Pipe::without_sack(&DESCRIPTOR, "draft", &[], false);
    (0..3).for_each(|_| pipe.round(0));
    pipe.round(1);
    assert_ne!(bbr(&pipe).state, State::Startup);
}

#[test]
fn draining_takes_three_round_trips_at_most() {
    let mut pipe = pipe();
    (0..4).for_each(|_| pipe.round(0));
    let control = bbr_mut(&mut pipe);
    control.state = State::Drain;
    control.full.ever = true;
    control.drain_began = control.rounds.count();
    let sample = |pipe: &mut Pipe, prior| {
        pipe.delivered += 1;
        let sample = RateSample {
            delivered: 50,
            interval: Span::from_millis(50),
            prior_delivered: prior,
            total_delivered: pipe.delivered,
            newly_delivered: 1,
            lost: 0,
            tx_in_flight: 90,
            in_flight: 90,
            held: None,
            repairing: false,
            app_limited: false,
        };
        pipe.ack(Some(Span::from_millis(50)), 90, sample);
        bbr(pipe).state
    };
    for _ in 0..3 {
        let prior = pipe.delivered;
        assert_eq!(sample(&mut pipe, prior), State::Drain);
    }
    let prior = pipe.delivered;
    assert_eq!(sample(&mut pipe, prior), State::Down);
}

/// DOWN, CRUISE, one round trip of REFILL, UP until three round trips did not deliver more. Between two probes lie 2 to 3
/// seconds, or as many round trips as segments fill the path.
#[test]
fn the_cycle_waits_for_others() {
    let cycle = |rtt_ms: u64| {
        let mut pipe = Pipe::new(
            &DESCRIPTOR,
            "draft",
            &[
                ("probe_rtt_interval", Value::Span(Span::from_secs(3600))),
                ("min_rtt_window", Value::Span(Span::from_secs(3600))),
            ],
        );
        pipe.rtt = Span::from_millis(rtt_ms);
        pipe.control.on_connected(pipe.now, pipe.rtt);
        go_to(&mut pipe, State::Up);
        go_to(&mut pipe, State::Down);
        let (began, mut rounds) = (pipe.now, 0);
        let mut order = vec![State::Down];
        while *order.last().unwrap() != State::Up {
            pipe.round(0);
            rounds += 1;
            if bbr(&pipe).state != *order.last().unwrap() {
                order.push(bbr(&pipe).state);
            }
        }
        assert_eq!(order, [State::Down, State::Cruise, State::Refill, State::Up]);
        (rounds, pipe.now.since(began).as_secs_f64())
    };
    let (rounds, _) = cycle(20);
    assert!((19..24).contains(&rounds), "{rounds}");
    let (_, seconds) = cycle(200);
    assert!((1.8..3.8).contains(&seconds), "{seconds}");
}

/// UP ends after three round trips that deliver no more.
#[test]
fn a_probe_ends_at_a_plateau() {
    let mut pipe = at(State::Up);
    let states = states(&mut pipe, 5);
    assert!(matches!(states[0], (State::Up, 2 | 3)), "{states:?}");
    assert_eq!(states[1].0, State::Down);
}

/// 100 in flight may lose 2. The third loss shows that 98.0 was as much as fitted: 99 before it, of which 2 % are 1.98,
/// and 2 were lost already. Never below 0.7 of what is aimed at.
#[test]
fn a_probe_that_loses_sets_the_long_term_bound() {
    let mut pipe = at(State::Up);
    assert_eq!(bbr(&pipe).bounds.long_term, f64::INFINITY);
    lose(&mut pipe, 100, 1);
    lose(&mut pipe, 100, 2);
    assert_eq!(bbr(&pipe).state, State::Up);
    lose(&mut pipe, 100, 3);
    assert_eq!(bbr(&pipe).state, State::Down);
    assert_eq!(bbr(&pipe).bounds.long_term, 99.0);
    lose(&mut pipe, 60, 30);
    assert_eq!(bbr(&pipe).bounds.long_term, 99.0, "a probe is answered once");

    let mut pipe = at(State::Up);
    lose(&mut pipe, 20, 1);
    let target = bbr(&pipe).target_in_flight();
    assert!((bbr(&pipe).bounds.long_term - 0.7 * target).abs() < 1e-9);
    assert!((49.0..52.0).contains(&target), "{target}");
}

#[test]
fn the_bound_is_where_losses_pass_the_threshold() {
    let pipe = at(State::Up);
    // (0.02 * 199 - 2) / 0.98 = 2.02 segments after 199.
    assert!((bbr(&pipe).in_flight_at_loss(3.0, 200.0) - (199.0 + 1.98 / 0.98)).abs() < 1e-9);
    assert_eq!(bbr(&pipe).in_flight_at_loss(9.0, 100.0), 99.0);
}

/// The probe after one that lost goes no higher than the bound; if that is harmless, another follows at once.
#[test]
fn the_next_probe_is_careful() {
    let mut pipe = at(State::Up);
    lose(&mut pipe, 56, 3);
    assert_eq!(bbr(&pipe).bounds.long_term, 55.0);
    assert!(bbr(&pipe).probing.too_high);
    go_to(&mut pipe, State::Cruise);
    // 0.85 of the bound while others may use the rest.
    pipe.round(0);
    let bound = bbr(&pipe).bounds.long_term;
    assert!((pipe.control.window() - bound * 0.85).abs() < 1e-9, "{bound}");
    go_to(&mut pipe, State::Up);
    let states = states(&mut pipe, 4);
    let order: Vec<State> = states.iter().map(|&(state, _)| state).collect();
    assert!(order.starts_with(&[State::Down, State::Refill]), "{states:?}");
    assert!(!bbr(&pipe).probing.too_high);
}

/// While the bound holds a probe back its growth doubles each round trip.
#[test]
fn the_long_term_bound_grows_faster_and_faster() {
    let mut pipe = at(State::Refill);
    pipe.bandwidth = 100_000.0;
    bbr_mut(&mut pipe).bounds.long_term = 40.0;
    go_to(&mut pipe, State::Up);
    let mut bounds = vec![bbr(&pipe).bounds.long_term];
    for _ in 0..4 {
        pipe.round(0);
        bounds.push(bbr(&pipe).bounds.long_term);
    }
    assert_eq!(bbr(&pipe).state, State::Up);
    assert_eq!(bounds[1..5], [52.0, 56.0, 64.0, 80.0]);
}

/// Otherwise losses lower the short-term bounds once a round trip: to what was delivered, or 0.7 of what they were.
#[test]
fn losses_while_cruising_count_until_the_next_probe() {
    let mut pipe = at(State::Cruise);
    let window = pipe.control.window();
    let bandwidth = bbr(&pipe).max_bandwidth.get();
    pipe.bandwidth = 100.0;
    pipe.round(1);
    pipe.round(1);
    let bounds = bbr(&pipe).bounds;
    assert!(
        (bounds.bandwidth - 0.7 * bandwidth).abs() < 0.31 * bandwidth && bounds.bandwidth < bandwidth,
        "{bounds:?}"
    );
    assert!(bounds.short_term < window, "{bounds:?}");
    pipe.round(1);
    assert!(bbr(&pipe).bounds.bandwidth <= bounds.bandwidth);
    go_to(&mut pipe, State::Refill);
    assert_eq!(bbr(&pipe).bounds.bandwidth, f64::INFINITY);
    assert_eq!(bbr(&pipe).bounds.short_term, f64::INFINITY);
}

/// Exactly: no more than 30 % in a round trip.
#[test]
fn a_round_trip_of_losses_takes_no_more_than_beta_allows() {
    let mut pipe = at(State::Cruise);
    let control = bbr_mut(&mut pipe);
    control.window = 100.0;
    control.bounds.latest_bandwidth = 300.0;
    control.bounds.latest_in_flight = 20.0;
    let most = control.max_bandwidth.get();
    control.lower_short_term();
    assert_eq!((control.bounds.bandwidth, control.bounds.short_term), (0.7 * most, 70.0));
    control.lower_short_term();
    assert_eq!(control.bounds.short_term, 0.7 * 70.0);
    control.bounds.latest_bandwidth = 900.0;
    control.bounds.latest_in_flight = 48.0;
    control.lower_short_term();
    assert_eq!((control.bounds.bandwidth, control.bounds.short_term), (900.0, 48.0));
}

/// After 5 s without a lower round-trip time half a product is left in flight for 200 ms; then the clock of probing
/// begins anew, in CRUISE.
#[test]
fn every_five_seconds_the_path_is_drained() {
    let mut pipe = pipe();
    let mut began = Vec::new();
    let mut before = State::Startup;
    while pipe.now < Time::ZERO + Span::from_secs(17) {
        pipe.round(0);
        let state = bbr(&pipe).state;
        if state == State::ProbeRtt {
            assert!((4.0..=26.0).contains(&pipe.control.window()), "{}", pipe.control.window());
            if before != State::ProbeRtt {
                began.push(pipe.now.as_secs_f64());
            }
        } else if before == State::ProbeRtt {
            assert_eq!(state, State::Cruise);
        }
        before = state;
    }
    assert_eq!(began.len(), 3, "{began:?}");
    assert!(began.windows(2).all(|pair| (5.2..5.7).contains(&(pair[1] - pair[0]))), "{began:?}");
}

#[test]
fn a_timeout_leaves_one_segment_until_it_is_repaired() {
    let mut pipe = at(State::Cruise);
    let before = pipe.control.window();
    pipe.signal(Signal::Timeout { repeated: false }, 50);
    assert_eq!(pipe.control.window(), 1.0);
    pipe.round(0);
    assert!(pipe.control.window() >= before.min(50.0), "{}", pipe.control.window());
}

/// Marks must count as congestion: as a loss in their round trip.
#[test]
fn marks_lower_the_short_term_bounds() {
    let mut pipe = at(State::Cruise);
    pipe.signal(Signal::Ecn, 50);
    pipe.round(0);
    pipe.round(0);
    assert!(bbr(&pipe).bounds.short_term < f64::INFINITY);
}

#[test]
fn an_idle_flow_goes_on_at_its_bandwidth() {
    let mut pipe = at(State::Up);
    pipe.start(Span::from_secs(2));
    assert!(pipe.text().ends_with("@990"), "{}", pipe.text());
    pipe.now += Span::from_secs(6);
    pipe.round(0);
    assert_ne!(bbr(&pipe).state, State::ProbeRtt);
}

#[test]
fn a_lost_syn_leaves_one_segment_to_begin_with() {
    let mut pipe = pipe();
    pipe.control.on_syn_lost();
    assert_eq!(pipe.control.window(), 1.0);
}

/// What is paced in a millisecond, from 2 segments to 64 KiB; the window has room for three of them, and for 4 segments.
#[test]
fn hosts_hold_more_at_high_rates() {
    let mut control = pipe().control;
    let AnyControl::Bbr3(control) = &mut control else { unreachable!() };
    let quanta = [1e3, 4e3, 1e6].map(|rate| {
        control.pacing.follow(rate, true);
        control.quantum()
    });
    assert_eq!(quanta, [2.0, 4.0, 65.536]);
    control.pacing.follow(1e3, true);
    assert_eq!([1.0, 5.0, 7.0].map(|segments| control.budget(segments)), [6.0, 6.0, 7.0]);
    control.state = State::Up;
    assert_eq!(control.budget(7.0), 9.0);
}

#[test]
fn windows_of_the_round_trip_time_must_cover_each_other() {
    let set = params(&DESCRIPTOR, "draft", &[("min_rtt_window", Value::Span(Span::from_secs(4)))]);
    let path = Path { mss_bytes: 1000, header_bytes: 52, smallest_packet_bytes: 52, initial_window: 10.0, sack: true };
    let error = Bbr3::new(&set, &path, Stream::new(1, "control")).unwrap_err();
    assert_eq!(error.parameter, "min_rtt_window");
    assert!(error.rule.contains("probe_rtt_interval, which is 5 s"), "{}", error.rule);
}

#[test]
fn draining_at_other_times_than_others_is_unwise() {
    assert!(Bbr3::advice(&params(&DESCRIPTOR, "draft", &[])).is_empty());
    let set = params(&DESCRIPTOR, "draft", &[("probe_rtt_interval", Value::Span(Span::from_secs(4)))]);
    assert_eq!(Bbr3::advice(&set)[0].parameter, "probe_rtt_interval");
}

proptest! {
    /// The window is finite and at least 1, after an acknowledgement at least 4; the same events give the same numbers.
    #[test]
    fn it_stays_within_bounds(
        events in prop::collection::vec((0u32..12, 0u32..40, 10.0..5000.0f64), 1..80),
    ) {
        let lead = || {
            let mut pipe = pipe();
            let mut shown = Vec::new();
            for &(event, lose, bandwidth) in &events {
                match event {
                    0 => pipe.signal(Signal::Timeout { repeated: false }, 10),
                    1 => pipe.signal(Signal::Ecn, 10),
                    2 => pipe.start(Span::from_secs(2)),
                    3 => pipe.bandwidth = bandwidth,
                    4 => pipe.round(lose),
                    5 => pipe.now += Span::from_secs(u64::from(lose)),
                    _ => pipe.round(0),
                }
                let window = pipe.control.window();
                assert!(window.is_finite() && window >= if event >= 6 { 4.0 } else { 1.0 }, "{event}: {window}");
                let bounds = bbr(&pipe).bounds;
                assert!(bounds.long_term >= 0.0 && bounds.short_term > 0.0, "{bounds:?}");
                shown.push((window.to_bits(), pipe.control.pacing_rate()));
            }
            shown
        };
        prop_assert_eq!(lead(), lead());
    }
}

/// A bandwidth is remembered for the present and the last cycle of probing.
#[test]
fn a_slower_path_is_learnt_after_two_cycles() {
    let mut pipe = at(State::Cruise);
    pipe.bandwidth = 300.0;
    for _ in 0..3 {
        go_to(&mut pipe, State::Up);
        go_to(&mut pipe, State::Cruise);
    }
    assert!((pipe.shown("bandwidth_segments_per_s") - 300.0).abs() < 1.0);
}

/// Linux `bbr_cwnd_event` and the draft's `HandleRestartFromIdle()`: what kept the path empty for long enough was the
/// pause itself, so that the window is back before data is sent.
#[test]
fn a_pause_ends_the_emptying_of_the_path() {
    let mut pipe = at(State::Up);
    while bbr(&pipe).state != State::ProbeRtt {
        pipe.round(0);
    }
    while bbr(&pipe).probe_rtt_ends.is_none() {
        pipe.round(0);
    }
    let narrow = pipe.control.window();
    pipe.now += Span::from_secs(2);
    pipe.start(Span::from_secs(2));
    assert_ne!(bbr(&pipe).state, State::ProbeRtt);
    assert!(pipe.control.window() > 4.0 * narrow, "{} of {narrow}", pipe.control.window());
}

/// A pause that the window made, not the application, is none (`tp->app_limited`).
#[test]
fn waiting_for_the_window_is_no_pause() {
    let mut pipe = at(State::Up);
    let before = pipe.text();
    let unused = Unused::Keep;
    let idle = Span::from_secs(2);
    pipe.control.on_start(&Start { now: pipe.now, idle, timeout: idle, app_limited: false, unused });
    assert_eq!(pipe.text(), before);
    assert!(!bbr(&pipe).idle_restart);
}
