use super::*;
use crate::script::{Script, ack, params};
use crate::{AnyControl, Unused};
use alloc::vec::Vec;
use proptest::prelude::*;

/// Samples of `seconds` of what others send: `mean`, a part of `height` at `hz`, and one of `other` at 7.4 Hz.
fn spectrum(mean: f64, height: f64, hz: f64, other: f64, seconds: f64) -> Spectrum {
    let mut spectrum = Spectrum::new(25);
    for sample in 0..(seconds * RATE_HZ) as u32 {
        let time = f64::from(sample) / RATE_HZ;
        let wave = |hz: f64, phase: f64| libm::sin(2.0 * PI * hz * time + phase);
        spectrum.push(mean + height * wave(hz, 0.3) + other * wave(7.4, 1.1));
    }
    spectrum
}

/// With one part at the pulses' frequency of 5 Hz and one beside it: the elasticity is the ratio of their heights.
#[test]
fn elasticity_is_a_ratio_of_heights() {
    for (height, other, expected) in [(3.0, 1.0, 3.0), (2.0, 4.0, 0.5), (0.5, 0.25, 2.0)] {
        for seconds in [5.0, 12.34] {
            let found = spectrum(100.0, height, 5.0, other, seconds).elasticity().unwrap();
            assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
        }
    }
}

/// Without a part at 5 Hz there is no elasticity, whatever the mean; nor where others swing at another frequency.
#[test]
fn others_that_do_not_answer_have_none() {
    assert!(spectrum(100.0, 0.0, 5.0, 1.0, 6.0).elasticity().unwrap() < 1e-6);
    assert!(spectrum(100.0, 5.0, 6.2, 1.0, 6.0).elasticity().unwrap() < 1e-6);
    // 3 Hz is below the band that is looked at, and in no bin of it.
    assert!(spectrum(100.0, 5.0, 3.0, 1.0, 6.0).elasticity().unwrap() < 1e-6);
}

/// It is the ratio of exact magnitudes, the largest of which is none other than that of the largest sum of squares.
#[test]
fn elasticity_is_that_of_all_magnitudes() {
    let mut random = Stream::new(2, "samples");
    let mut spectrum = Spectrum::new(25);
    for _ in 0..3 * SAMPLES {
        spectrum.push(random.uniform() * 1e4);
        let magnitudes: Vec<f64> = spectrum.magnitudes().collect();
        let largest = magnitudes[1..].iter().copied().fold(0.0, f64::max);
        assert!(spectrum.elasticity().is_none_or(|found| found == magnitudes[0] / largest));
    }
}

/// Before 5 s nothing is known; the mean is that of the last 5 s.
#[test]
fn a_transform_takes_five_seconds() {
    assert_eq!(spectrum(1.0, 1.0, 5.0, 1.0, 4.99).elasticity(), None);
    let full = spectrum(7.0, 1.0, 5.0, 1.0, 5.0);
    assert!((full.mean().unwrap() - 7.0).abs() < 1e-9);
    let mut cleared = full;
    cleared.clear();
    assert_eq!(cleared.mean(), None);
}

/// The transform is that of the definition, after a million samples too.
#[test]
fn a_sliding_transform_stays_exact() {
    let mut random = Stream::new(1, "samples");
    let mut spectrum = Spectrum::new(25);
    let mut samples = alloc::collections::VecDeque::new();
    for _ in 0..1_000_000 {
        let sample = random.uniform() * 1e4;
        spectrum.push(sample);
        samples.push_back(sample);
        if samples.len() > SAMPLES {
            samples.pop_front();
        }
    }
    let magnitude = |k: usize| {
        let (mut real, mut imaginary) = (0.0, 0.0);
        for (place, sample) in samples.iter().enumerate() {
            let angle = -2.0 * PI * (k * place) as f64 / SAMPLES as f64;
            real += sample * libm::cos(angle);
            imaginary += sample * libm::sin(angle);
        }
        libm::hypot(real, imaginary)
    };
    let expected = magnitude(25) / (26..50).map(magnitude).fold(0.0, f64::max);
    let found = spectrum.elasticity().unwrap();
    assert!((found / expected - 1.0).abs() < 1e-6, "{found}, not {expected}");
}

/// z = mu S/R - S on a link of 96 Mbit/s: sending 24 and arriving at 16, others have 120; arriving as sent at half of the link, the rest.
#[test]
fn what_others_send() {
    assert_eq!(Nimbus::others(96.0, 24.0, 16.0), 120.0);
    assert_eq!(Nimbus::others(96.0, 48.0, 48.0), 48.0);
    assert_eq!(Nimbus::others(96.0, 96.0, 96.0), 0.0);
}

/// A pulse of 0.2 s: half a sine for 50 ms, and a third of its height the other way for 150 ms. Its mean is zero.
#[test]
fn pulses() {
    let Script { control: AnyControl::Nimbus(control), .. } = Script::new(&params(&DESCRIPTOR, "paper", &[])) else {
        unreachable!("a Nimbus was built")
    };
    let at = |millis: u64| control.pulse(Span::from_millis(millis));
    for (millis, height) in [(0, 0.0), (25, 1.0), (50, 0.0), (125, -1.0 / 3.0), (200, 0.0), (1025, 1.0)] {
        assert!((at(millis) - height).abs() < 1e-9, "{millis} ms: {}", at(millis));
    }
    let mean = (0..200_000).map(|micros| control.pulse(Span::from_micros(micros))).sum::<f64>() / 200e3;
    assert!(mean.abs() < 1e-6, "{mean}");
}

/// S and R of a round trip: 10 segments sent within 40 ms that arrive within 80 ms; nothing before a round trip is over.
#[test]
fn rates_of_the_same_segments() {
    let mut meter = Meter::new();
    let at = |millis: u64| Time::ZERO + Span::from_millis(millis);
    let mut found = Vec::new();
    for segment in 0..21 {
        meter.on_ack(1, at(100 + 4 * segment), at(200 + 8 * segment));
        if segment % 5 == 0 {
            found.push(meter.tick(Span::from_millis(80)));
        }
    }
    assert_eq!(found[..2], [None, None]);
    for rates in &found[2..] {
        let rates = rates.unwrap();
        assert!((rates.sent - 250.0).abs() < 1e-9 && (rates.received - 125.0).abs() < 1e-9, "{rates:?}");
    }
    meter.clear();
    assert_eq!(meter.tick(Span::from_millis(80)), None);
}

/// A largest rate is kept for half a minute at least, and a minute at most.
#[test]
fn the_capacity_is_forgotten() {
    let mut capacity = Capacity { told: None, smoothed: 100.0, most: [100.0, 0.0], began: Time::ZERO };
    let mut at = |seconds: u64| {
        capacity.on_rate(10.0, Time::ZERO + Span::from_secs(seconds));
        capacity.get()
    };
    for second in 1..=59 {
        assert_eq!(at(second), 100.0, "{second} s");
    }
    let last = (60..=91).map(at).last();
    assert!(last.unwrap() < 11.0);
}

proptest! {
    /// Whatever comes: windows and rates are finite, and something may always be sent.
    #[test]
    fn any_path(events in prop::collection::vec((0u64..40, 0u32..5, 0u64..300, 0u8..40), 1..600)) {
        let mut script = Script::new(&params(&DESCRIPTOR, "paper", &[]));
        for (millis, delivered, queue, what) in events {
            script.now += Span::from_millis(millis);
            match what {
                0 => script.congestion(Signal::Loss),
                1 => script.congestion(Signal::Timeout { repeated: millis % 2 == 0 }),
                2 => script.start(Span::from_millis(100 * queue), Unused::Keep),
                3 => script.now += Span::from_secs(queue),
                _ => {
                    let ack = ack(script.now, script.window(), Span::from_millis(queue));
                    script.control.on_ack(&Ack { delivered, newly_acked: delivered, ..ack });
                }
            }
            let (window, rate) = (script.window(), script.control.pacing_rate());
            prop_assert!(window.is_finite() && window >= 1.0, "{window}");
            prop_assert!(rate.is_none_or(|rate| rate.bits_per_second() >= 1));
        }
    }
}

proptest! {
    /// Whatever the round trips, and after pauses: the mark is the one that a search through all of them finds.
    #[test]
    fn the_mark_of_a_round_trip_ago_is_found(
        steps in prop::collection::vec((0u64..60, 1u64..2000, 0u32..40), 1..400),
    ) {
        let (mut meter, mut now) = (Meter::new(), Time::ZERO);
        for (pause, rtt, event) in steps {
            now += Span::from_millis(pause);
            if event == 0 {
                meter.clear();
            }
            if event % 2 == 0 {
                meter.on_ack(1, now, now);
            }
            let rtt = Span::from_millis(rtt);
            prop_assert_eq!(meter.find(rtt), meter.search(rtt));
            meter.tick(rtt);
        }
    }
}
