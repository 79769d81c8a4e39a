//! What a channel carries.

use super::*;
use sojourn_core::Span;

const N: Air = Air::plain(Standard::N);

fn quality(mean_db: f64, streams: u32) -> Quality {
    Quality { mean_db, speed_kmh: 0.0, shadowing_db: 0.0, streams }
}

fn best(mean_db: f64, streams: u32) -> Option<u64> {
    quality(mean_db, streams).best_mode(&N).map(|mode| mode.rate().bits_per_second())
}

/// The lowest MCS needs about 4 dB, the highest about 24, and a second stream 3 dB more, which it is worth only then.
#[test]
fn better_channels_carry_more() {
    assert_eq!(best(3.0, 1), None);
    assert_eq!(best(5.0, 1), Some(6_500_000));
    assert_eq!(best(40.0, 1), Some(65_000_000));
    assert_eq!(best(40.0, 2), Some(130_000_000));
    assert_eq!(best(5.0, 2), Some(6_500_000));
    let rates: Vec<_> = (2..45).filter_map(|db| best(f64::from(db), 2)).collect();
    assert!(rates.is_sorted() && rates.len() >= 40, "{rates:?}");
}

/// Both directions of a constant channel are alike, and a station's fading is its own.
#[test]
fn both_directions_have_one_channel() {
    let fading = Quality { speed_kmh: 5.0, shadowing_db: 6.0, ..quality(20.0, 1) };
    let station = |quality| Station {
        mode: N.mode("mcs0", 1).expect("there is one"),
        quality: Some(quality),
        loss: 0.0,
        weight: 1.0,
    };
    let all = Selected::of_all(&N, &[station(fading), station(fading), station(quality(20.0, 1))], |device, name| {
        Stream::new(device as u64, name)
    });
    let snr = |place: usize, millis: u64| {
        all[place].as_ref().expect("it is selected").channel.snr(Time::ZERO + Span::from_millis(millis))
    };
    for millis in [0, 7, 100, 12_345] {
        assert_eq!(snr(0, millis), snr(3, millis));
        assert_ne!(snr(0, millis), snr(1, millis));
        assert!((snr(2, millis) - 100.0).abs() < 1e-9);
    }
    assert_ne!(snr(0, 0), snr(0, 1_000));
}
