use super::*;

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

/// Equation 3 with one part at the pulses' frequency of 5 Hz and one beside it: the elasticity is the ratio of their heights.
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

/// Equation 1 on a link of 96 Mbit/s: sending 24 and arriving at 16, others have 120; arriving as sent at half of the link, the rest.
#[test]
fn what_others_send() {
    assert_eq!(Nimbus::others(96.0, 24.0, 16.0), 120.0);
    assert_eq!(Nimbus::others(96.0, 48.0, 48.0), 48.0);
    assert_eq!(Nimbus::others(96.0, 96.0, 96.0), 0.0);
}
