use super::*;
use crate::path_model::path::Pipe;
use crate::script::params;
use crate::{AnyControl, Unused};
use proptest::prelude::*;
use sojourn_core::registry::Value;

fn pipe() -> Pipe {
    Pipe::new(&DESCRIPTOR, "linux", &[])
}

fn bbr(pipe: &Pipe) -> &Bbr {
    let AnyControl::Bbr(control) = &pipe.control else { unreachable!("a BBR was built") };
    control
}

/// A pipe on which the flow has come to its steady state.
fn steady() -> Pipe {
    let mut pipe = pipe();
    while bbr(&pipe).mode != Mode::ProbeBandwidth {
        pipe.round(0);
    }
    pipe
}

/// Window@pace per round trip. 10 segments over 50 ms at gain 2.887, less 1 %, are 571 per second. The window takes what
/// is delivered, until it is 2.887 times 50 segments, 145, 6 for hosts and even; the rate then is 2.858 times 1000.
#[test]
fn startup_doubles() {
    assert_eq!(pipe().rounds(6), "20@572 40@1143 80@2286 152@2858 152@2858 152@2858");
}

/// Three round trips without a quarter more; then the queue drains at 88/256, and what is in flight tells when.
#[test]
fn a_full_pipe_is_drained() {
    let mut pipe = pipe();
    let modes: Vec<Mode> = (0..9)
        .map(|_| {
            pipe.round(0);
            bbr(&pipe).mode
        })
        .collect();
    use Mode::{Drain, ProbeBandwidth, Startup};
    assert_eq!(modes[..7], [Startup, Startup, Startup, Startup, Startup, Startup, Drain]);
    assert_eq!(modes[8], ProbeBandwidth);
    // One bandwidth-delay product, 50, and 6 for hosts, as Linux shows it in ssthresh.
    assert_eq!(pipe.control.slow_start_threshold(), 56.0);
}

/// Cruising ends with a least round-trip time of 50 ms; probing needs 63 + 6 + 2 in flight as well, with the next 2 that are
/// sent, or a loss; draining ends early with 50 + 6 in flight.
#[test]
fn phases_end_with_time_and_with_what_is_in_flight() {
    let mut pipe = steady();
    let AnyControl::Bbr(control) = &mut pipe.control else { unreachable!() };
    let mut ends = |phase, millis, flight, lost| {
        control.phase = phase;
        control.newly_lost = lost;
        let now = control.phase_began + Span::from_millis(millis);
        control.phase_ends(&crate::script::ack(now, flight, Span::ZERO))
    };
    assert_eq!([ends(2, 50, 50.0, 0), ends(2, 51, 50.0, 0), ends(7, 51, 500.0, 0)], [false, true, true]);
    assert_eq!([ends(0, 51, 69.0, 0), ends(0, 51, 70.0, 0), ends(0, 50, 70.0, 0)], [false, true, false]);
    assert_eq!([ends(0, 51, 10.0, 1), ends(0, 50, 10.0, 1)], [true, false]);
    assert_eq!([ends(1, 1, 57.0, 0), ends(1, 1, 56.0, 0), ends(1, 51, 57.0, 0)], [false, true, true]);
}

/// Linux (`bbr_packets_in_net_at_edt`): what leaves the network until pacing lets the next segment go is not in flight then. A
/// thousand segments per second are three in 3.9 ms.
#[test]
fn what_is_delivered_until_the_next_departure_has_left() {
    let mut pipe = steady();
    let AnyControl::Bbr(control) = &mut pipe.control else { unreachable!() };
    let held = Some(Span::from_micros(3900));
    let mut after = |phase, flight| {
        control.phase = phase;
        control.in_network(flight, held)
    };
    assert_eq!([after(1, 59.0), after(2, 59.0), after(0, 59.0), after(1, 2.0)], [56.0, 56.0, 58.0, 0.0]);
    let mut ends = |flight, held| {
        control.phase = 1;
        let now = control.phase_began + Span::from_millis(1);
        let mut ack = crate::script::ack(now, flight, Span::ZERO);
        ack.rate = Some(RateSample { held, ..RateSample::default() });
        control.phase_ends(&ack)
    };
    assert_eq!([ends(59.0, None), ends(59.0, held), ends(60.0, held)], [false, true, false]);
}

/// A replay gives the phase that the kernel drew.
#[test]
fn a_fixed_lot_chooses_the_phase() {
    let mut control = Bbr::new(&params(&DESCRIPTOR, "linux", &[]), &path(), Stream::new(1, "control")).unwrap();
    let phases = [0.0, 0.2, 0.99].map(|lot| {
        control.fix_random(Some(lot));
        control.enter_probe_bandwidth(Time::ZERO);
        control.phase
    });
    assert_eq!(phases, [0, 7, 2]);
}

#[test]
fn the_cycle_never_begins_with_draining() {
    let mut control = Bbr::new(&params(&DESCRIPTOR, "linux", &[]), &path(), Stream::new(1, "control")).unwrap();
    let mut seen = [0; 8];
    for _ in 0..7000 {
        control.enter_probe_bandwidth(Time::ZERO);
        seen[control.phase] += 1;
    }
    assert_eq!(seen[1], 0);
    assert!([0, 2, 3, 4, 5, 6, 7].iter().all(|&phase| (850..1150).contains(&seen[phase])), "{seen:?}");
}

fn path() -> Path {
    Path { mss_bytes: 1000, header_bytes: 52, smallest_packet_bytes: 52, initial_window: 10.0, sack: true }
}

/// Twice 50, what comes at once, and 6 for hosts, even.
#[test]
fn the_window_is_two_products_and_what_hosts_hold() {
    let mut pipe = steady();
    while bbr(&pipe).phase != 3 {
        pipe.round(0);
    }
    let extra = bbr(&pipe).extra.get();
    assert!((2.0..=4.0).contains(&extra), "{extra}");
    assert_eq!(pipe.control.window(), ((106.0 + extra) / 2.0).ceil() * 2.0);
}

/// After 10 s without a lower round-trip time 4 segments are left in flight for 200 ms and a round trip; then the window
/// is what it was.
#[test]
fn every_ten_seconds_the_path_is_emptied() {
    let mut pipe = steady();
    let mut empty: Vec<(f64, f64)> = Vec::new();
    while pipe.now < Time::ZERO + Span::from_secs(25) {
        pipe.round(0);
        let now = pipe.now.as_secs_f64();
        if pipe.control.window() == 4.0 {
            match empty.last_mut() {
                Some(last) if now - last.1 < 1.0 => last.1 = now,
                _ => empty.push((now, now)),
            }
        }
    }
    let [(first, first_end), (second, _)] = empty[..] else { panic!("{empty:?}") };
    assert!((10.0..10.3).contains(&first), "{first}");
    assert!((0.15..0.4).contains(&(first_end - first)), "{first_end}");
    assert!((10.2..10.6).contains(&(second - first)), "{second}");
    assert!((108.0..=114.0).contains(&pipe.control.window()), "{}", pipe.control.window());
    // What was sent meanwhile did not lower the bandwidth.
    assert!((pipe.shown("bandwidth_segments_per_s") - 1000.0).abs() < 20.0);
}

/// A repair keeps what is in flight for a round trip, then lets it grow, and ends where it began.
#[test]
fn a_loss_is_repaired_with_as_much_as_arrives() {
    let mut pipe = steady();
    while bbr(&pipe).phase != 3 {
        pipe.round(0);
    }
    let before = pipe.control.window();
    let flight = 50;
    pipe.signal(Signal::Loss, flight);
    let lost = Lost {
        now: pipe.now,
        tx_in_flight: flight,
        lost: 1,
        prior_delivered: pipe.delivered,
        total_delivered: pipe.delivered,
        new_range: true,
        app_limited: false,
    };
    pipe.control.on_lost(&lost);
    let sample = |pipe: &mut Pipe, prior, newly, in_flight, repairing| {
        pipe.now += Span::from_millis(u64::from(newly));
        pipe.delivered += u64::from(newly);
        let total_delivered = pipe.delivered;
        let sample = RateSample {
            delivered: 50,
            interval: Span::from_millis(50),
            prior_delivered: prior,
            total_delivered,
            newly_delivered: newly,
            lost: 1,
            tx_in_flight: 50,
            in_flight,
            held: None,
            repairing,
            app_limited: false,
        };
        pipe.ack(None, 50, sample);
        pipe.control.window()
    };
    let prior = pipe.delivered - 50;
    assert_eq!(sample(&mut pipe, prior, 1, 48, true), 49.0);
    assert_eq!(sample(&mut pipe, prior, 2, 47, true), 49.0);
    let next = pipe.delivered;
    assert_eq!(sample(&mut pipe, next, 3, 46, true), 52.0);
    assert!(before > 52.0);
    assert_eq!(sample(&mut pipe, next, 2, 40, false), before);
}

#[test]
fn a_timeout_leaves_one_segment_until_it_is_repaired() {
    let mut pipe = steady();
    let before = pipe.control.window();
    pipe.signal(Signal::Timeout { repeated: false }, 50);
    assert_eq!(pipe.control.window(), 1.0);
    pipe.signal(Signal::Timeout { repeated: true }, 1);
    pipe.round(0);
    assert!(pipe.control.window() >= before, "{}", pipe.control.window());
}

#[test]
fn marks_change_nothing() {
    let mut pipe = steady();
    let before = pipe.text();
    pipe.signal(Signal::Ecn, 50);
    assert_eq!(pipe.text(), before);
}

/// What an idle application leaves undone says nothing of the path, unless it is more than was known.
#[test]
fn slow_applications_do_not_lower_the_bandwidth() {
    let mut pipe = steady();
    let known = pipe.shown("bandwidth_segments_per_s");
    pipe.app_limited = true;
    pipe.bandwidth = 300.0;
    pipe.rounds(30);
    assert_eq!(pipe.shown("bandwidth_segments_per_s"), known);
    pipe.bandwidth = 1200.0;
    pipe.rounds(10);
    assert!(pipe.shown("bandwidth_segments_per_s") > known);
    pipe.app_limited = false;
    pipe.bandwidth = 300.0;
    pipe.rounds(12);
    assert!((pipe.shown("bandwidth_segments_per_s") - 300.0).abs() < 1.0);
}

#[test]
fn an_idle_flow_goes_on_at_its_bandwidth() {
    let mut pipe = steady();
    while bbr(&pipe).phase != 0 {
        pipe.round(0);
    }
    assert!(pipe.text().ends_with("@1237"), "{}", pipe.text());
    let window = pipe.control.window();
    pipe.start(Span::from_secs(2));
    assert_eq!(pipe.text(), format!("{window}@990"));
    // Idleness emptied the path: no need to do it again.
    pipe.now += Span::from_secs(11);
    pipe.round(0);
    assert_ne!(bbr(&pipe).mode, Mode::ProbeRtt);
}

#[test]
fn a_lost_syn_leaves_one_segment_to_begin_with() {
    let mut pipe = pipe();
    pipe.control.on_syn_lost();
    assert_eq!(pipe.control.window(), 1.0);
}

/// What is paced in 1/1024 s, at least 2 segments from 1.2 Mbit/s on.
#[test]
fn hosts_hold_more_at_high_rates() {
    let quantum = |bits: f64| {
        let mut control = Bbr::new(&params(&DESCRIPTOR, "linux", &[]), &path(), Stream::new(1, "control")).unwrap();
        control.pacing.follow(bits / 8000.0, true);
        control.quantum()
    };
    assert_eq!([1e6, 1.2e6, 10e6, 40e6, 100e6, 10e9].map(quantum), [1.0, 2.0, 2.0, 4.0, 12.0, 65.0]);
    let set = params(&DESCRIPTOR, "linux", &[("quantum", Value::Integer(7))]);
    assert_eq!(Bbr::new(&set, &path(), Stream::new(1, "control")).unwrap().quantum(), 7.0);
}

/// Round trips of 50 ms that deliver 50 segments, of which `lose` are lost at the end.
fn police(policer: &mut Policer, from: u64, rounds: u64, lose: u64) -> bool {
    let mut ended = false;
    for round in from..from + rounds {
        let seen = |lost, losses, round_starts| Observation {
            now: Time::ZERO + Span::from_millis(50) * round,
            delivered: 50 * round,
            lost,
            losses,
            round_starts,
            app_limited: false,
            steady: true,
        };
        ended |= policer.observe(&seen(lose * round, false, true), 1000.0);
        ended |= policer.observe(&seen(lose * (round + 1), lose > 0, false), 1000.0);
    }
    ended
}

/// The first loss begins an interval, the fourth round trip ends it; two of like rate prove a policer, whose rate is kept
/// for 48 round trips.
#[test]
fn a_policer_is_found_and_believed_for_a_while() {
    let mut policer = Policer::default();
    police(&mut policer, 0, 8, 12);
    assert_eq!(policer.rate(), None);
    police(&mut policer, 8, 1, 12);
    assert_eq!(policer.rate(), Some(1000.0));
    assert!(!police(&mut policer, 9, 47, 12));
    assert!(policer.rate().is_some());
    assert!(police(&mut policer, 56, 1, 12));
    assert_eq!(policer.rate(), None);
}

#[test]
fn less_than_a_fifth_lost_is_no_policer() {
    let mut policer = Policer::default();
    police(&mut policer, 0, 60, 9);
    assert_eq!(policer.rate(), None);
    // 50/256 of what is delivered.
    police(&mut policer, 60, 30, 10);
    assert_eq!(policer.rate(), Some(1000.0));
}

#[test]
fn the_policer_can_be_left_out() {
    let lossy = |policer| {
        let mut pipe = Pipe::new(&DESCRIPTOR, "linux", &[("policer", Value::Boolean(policer))]);
        (0..40).for_each(|_| pipe.round(pipe.control.window() as u32 / 4));
        bbr(&pipe).policer.rate().is_some()
    };
    assert_eq!([true, false].map(lossy), [true, false]);
}

/// ns-3 takes an equal round-trip time for news, so an even path is never emptied.
#[test]
fn equal_round_trip_times_may_count() {
    let emptied = |preset| {
        let mut pipe = Pipe::new(&DESCRIPTOR, preset, &[]);
        while pipe.now < Time::ZERO + Span::from_secs(30) {
            pipe.round(0);
            if bbr(&pipe).mode == Mode::ProbeRtt {
                return true;
            }
        }
        false
    };
    assert_eq!(["linux", "ns3"].map(emptied), [true, false]);
}

proptest! {
    /// The window is finite and at least 1, and nothing opens it by more than what is delivered, but the end of a repair
    /// or of an emptied path, which bring back a window that was there before; the same events give the same numbers.
    #[test]
    fn it_stays_within_bounds(
        events in prop::collection::vec((0u32..12, 0u32..40, 10.0..5000.0f64), 1..80),
    ) {
        let lead = || {
            let mut pipe = pipe();
            let mut shown = Vec::new();
            let mut largest = pipe.control.window();
            for &(event, lose, bandwidth) in &events {
                let before = pipe.control.window();
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
                assert!(window >= 1.0 && window <= 2.0 * largest.max(before) + 4.0, "{event}: {before} {window}");
                largest = largest.max(window);
                shown.push((window.to_bits(), pipe.control.pacing_rate()));
            }
            shown
        };
        prop_assert_eq!(lead(), lead());
    }
}

/// Linux counts how long the least round-trip time is trusted and how long the path is kept empty in its ticks: 10 s from 45 ms
/// on are over with the tick at 10.05 s, and 200 ms from there on with that at 10.26 s.
#[test]
fn times_end_with_the_kernels_ticks() {
    let at = |millis| Time::ZERO + Span::from_millis(millis);
    for (tick, trusted, emptied) in [(0, 10_046, 10_247), (10, 10_050, 10_260)] {
        let pipe = Pipe::new(&DESCRIPTOR, "linux", &[("tick", Value::Span(Span::from_millis(tick)))]);
        let mut bbr = bbr(&pipe).clone();
        bbr.on_connected(at(45), Span::from_millis(40));
        let sample = RateSample { in_flight: 4, total_delivered: 100, ..RateSample::default() };
        let begins = (10_000..10_100).find(|&now| {
            bbr.update_least_rtt(at(now), None, &sample);
            bbr.mode == Mode::ProbeRtt
        });
        let ends = (trusted..trusted + 300).find(|&now| {
            bbr.check_probe_rtt_done(at(now));
            bbr.mode != Mode::ProbeRtt
        });
        assert_eq!((begins, ends), (Some(trusted), Some(emptied)), "a tick of {tick} ms");
    }
}

/// What is sent while the path is kept empty says nothing of its bandwidth.
#[test]
fn an_emptied_path_is_not_measured() {
    let mut pipe = steady();
    while bbr(&pipe).mode != Mode::ProbeRtt {
        pipe.round(0);
    }
    pipe.round(0);
    assert!(bbr(&pipe).muted.covers(pipe.delivered));
}

/// Linux `bbr_cwnd_event` and the draft's `HandleRestartFromIdle()`: what kept the path empty for long enough was the
/// pause itself, so that the window is back before data is sent.
#[test]
fn a_pause_ends_the_emptying_of_the_path() {
    let mut pipe = steady();
    while bbr(&pipe).mode != Mode::ProbeRtt {
        pipe.round(0);
    }
    while bbr(&pipe).probe_rtt_ends.is_none() {
        pipe.round(0);
    }
    let narrow = pipe.control.window();
    pipe.now += Span::from_secs(2);
    pipe.start(Span::from_secs(2));
    assert_ne!(bbr(&pipe).mode, Mode::ProbeRtt);
    assert!(pipe.control.window() > 4.0 * narrow, "{} of {narrow}", pipe.control.window());
}

/// A pause that the window made, not the application, is none (`tp->app_limited`).
#[test]
fn waiting_for_the_window_is_no_pause() {
    let mut pipe = steady();
    let before = pipe.text();
    let unused = Unused::Keep;
    let idle = Span::from_secs(2);
    pipe.control.on_start(&Start { now: pipe.now, idle, timeout: idle, app_limited: false, unused });
    assert_eq!(pipe.text(), before);
    assert!(!bbr(&pipe).idle_restart);
}

/// Round-trip times are differences of a clock of microseconds: 50,000.9 us that begin at 0.8 us are 50,001 of them, and such
/// that begin at 0.0 us are 50,000.
#[test]
fn the_least_round_trip_is_one_of_a_clock_of_microseconds() {
    for (began, micros) in [(800, 50_001), (0, 50_000)] {
        let mut control = bbr(&pipe()).clone();
        let rtt = Span::from_nanos(50_000_900);
        let now = Time::from_nanos(1_000_000_000 + began) + rtt;
        control.least_rtt.set(Span::from_nanos(50_000_500), now);
        control.update_least_rtt(now, Some(rtt), &RateSample::default());
        let least = if micros == 50_000 { Span::from_micros(50_000) } else { Span::from_nanos(50_000_500) };
        assert_eq!(control.least_rtt.get(), Some(least));
    }
}
