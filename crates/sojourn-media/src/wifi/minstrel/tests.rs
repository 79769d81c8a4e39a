//! Minstrel-HT against the constants and rules of Linux.

use super::*;
use std::f64::consts::PI;

/// 802.11n at 20 MHz with the long guard interval: data bits per symbol and stream.
const BITS: [u64; 8] = [26, 52, 78, 104, 156, 208, 234, 260];

fn offers(streams: u32) -> Vec<Offer> {
    let of = |streams: u32| {
        let nanos = |bits: u64| 9_600_u64.div_ceil(bits * u64::from(streams)) * 4_000;
        BITS.map(|bits| Offer { streams, nanos: nanos(bits) })
    };
    (1..=streams).flat_map(of).collect()
}

fn minstrel(streams: u32) -> Minstrel {
    Minstrel::new(&offers(streams), true, &mut Stream::new(1, "rates"))
}

/// A sender whose frames are answered with these probabilities, rate by rate, in exchanges of `frames` each millisecond.
struct Sender {
    minstrel: Minstrel,
    works: Vec<f64>,
    random: Stream,
    now: Time,
    /// Exchanges by their first rate, samples apart.
    used: Vec<u32>,
    sampled: Vec<usize>,
}

impl Sender {
    fn new(streams: u32, works: &[f64]) -> Sender {
        Sender {
            minstrel: minstrel(streams),
            works: works.to_vec(),
            random: Stream::new(2, "frames"),
            now: Time::ZERO,
            used: vec![0; works.len()],
            sampled: Vec::new(),
        }
    }

    fn send(&mut self, millis: u64) {
        for _ in 0..millis {
            self.now += Span::from_millis(1);
            let mut series = self.minstrel.choose(self.now);
            let frames = if series.samples { 1 } else { 16 };
            match series.samples {
                true => self.sampled.push(series.rate()),
                false => self.used[series.rate()] += 1,
            }
            for left in (0..7).rev() {
                let works = self.works[series.rate()];
                let answered = (0..frames).filter(|_| self.random.chance(works)).count() as u32;
                let ends = answered > 0 || left == 0;
                self.minstrel.tried(&mut series, frames, answered, ends, self.now);
                if ends {
                    break;
                }
            }
        }
    }

    /// The part of exchanges, samples apart, that began at a rate.
    fn part(&self, rate: usize) -> f64 {
        f64::from(self.used[rate]) / f64::from(self.used.iter().sum::<u32>())
    }
}

#[test]
fn coefficients_are_those_of_the_filter() {
    let a = libm::exp(-PI * 2.0_f64.sqrt() / 16.0);
    let parts = |value: f64| (value * ONE as f64).round() as i64;
    assert!((parts(2.0 * a * libm::cos(2.0_f64.sqrt() * 2.0 * PI / 16.0)) - COEFFICIENT_2).abs() <= 1);
    assert!((parts(-a * a) - COEFFICIENT_3).abs() <= 1);
    assert_eq!(COEFFICIENT_1, 1_173);
}

/// After a rate that always worked one that never does: 4096, then by the coefficients.
#[test]
fn the_average_follows_its_filter() {
    let mut rate = minstrel(1).rates[0].clone();
    let fold = |rate: &mut Rate, attempts, successes| {
        (rate.attempts, rate.successes) = (attempts, successes);
        rate.fold();
        rate.probability
    };
    assert_eq!(fold(&mut rate, 4, 4), 4_096);
    let first = (1_173 + 5_273 * 4_096 - 2_350 * 4_096) >> 12;
    assert_eq!(fold(&mut rate, 4, 0), first);
    let second = (1_173 + 5_273 * first - 2_350 * 4_096) >> 12;
    assert_eq!(fold(&mut rate, 4, 0), second);
    assert_eq!(fold(&mut rate, 0, 0), second, "nothing tried changes nothing");
}

/// Packets of 1200 bytes per second, times 100: MCS7 alone takes 148 us and 108 us beside it.
#[test]
fn throughput_counts_what_an_aggregate_shares() {
    let mut minstrel = minstrel(1);
    minstrel.rates[7].probability = ONE;
    assert_eq!(minstrel.throughput(7), 100 * (3_686 * 1_000_000 / 256_000) / ONE);
    minstrel.length = 16 * ONE + 7;
    assert_eq!(minstrel.throughput(7), 100 * (3_686 * 1_000_000 / (148_000 + 6_750)) / ONE);
    minstrel.rates[7].probability = 408;
    assert_eq!(minstrel.throughput(7), 0);
}

/// What fits into 6 ms with a contention of 67, 139, 283, 571, 1147 and 2299 us.
#[test]
fn tries_fit_into_a_segment() {
    let mut minstrel = minstrel(1);
    for (rate, reservation, tries) in [(0, 0, 3), (7, 0, 5), (7, RESERVATION_MICROS, 5), (0, RESERVATION_MICROS, 3)] {
        minstrel.rates[rate].probability = ONE;
        assert_eq!(minstrel.tries(rate, reservation), tries, "{rate} {reservation}");
    }
    minstrel.rates[7].probability = 818;
    assert_eq!(minstrel.tries(7, 0), FEW_TRIES);
    // An aggregate of 32 takes 4.7 ms: two fill the segment.
    minstrel.rates[7].probability = ONE;
    minstrel.length = 32 * ONE;
    assert_eq!(minstrel.tries(7, 0), 2);
}

/// The best rate is that of most frames, not of most answers: half of MCS7's are more than all of MCS3's.
#[test]
fn the_best_rate_is_found() {
    for (works, best) in [
        ([1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0], 3),
        ([1.0, 1.0, 1.0, 1.0, 0.2, 0.3, 0.4, 0.5], 7),
        ([1.0, 0.9, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0], 1),
        ([1.0; 8], 7),
        ([0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], 0),
    ] {
        let mut sender = Sender::new(1, &works);
        sender.send(1_000);
        sender.used.fill(0);
        sender.send(4_000);
        assert!(sender.part(best) > 0.8, "{works:?}: {:?}", sender.used);
    }
}

/// It follows a channel that changes, downwards within two updates, and upwards within a second.
#[test]
fn it_follows_the_channel() {
    let mut sender = Sender::new(2, &[1.0; 16]);
    sender.send(2_000);
    assert_eq!(sender.minstrel.best(), 15);
    sender.works = [vec![1.0; 4], vec![0.0; 12]].concat();
    sender.send(300);
    assert!(sender.minstrel.best() < 4, "{}", sender.minstrel.best());
    sender.send(700);
    assert_eq!(sender.minstrel.best(), 3);
    sender.works = vec![1.0; 16];
    sender.send(1_000);
    assert_eq!(sender.minstrel.best(), 15);
}

/// One frame each 20 ms, and rates that are slower than all in use are never sampled.
#[test]
fn samples_are_rare_and_useful() {
    let works = [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0];
    let mut sender = Sender::new(1, &works);
    sender.send(1_000);
    sender.sampled.clear();
    sender.send(2_000);
    assert!((60..=100).contains(&sender.sampled.len()), "{}", sender.sampled.len());
    assert!(sender.sampled.iter().all(|&rate| rate >= 3), "{:?}", sender.sampled);
    assert!((4..8).all(|rate| sender.sampled.contains(&rate)), "each faster one is tried: {:?}", sender.sampled);
}

/// Another rate is tried once, then the second best and the surest.
#[test]
fn a_sample_is_tried_once() {
    let mut sender = Sender::new(1, &[1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    sender.send(1_000);
    let mut now = sender.now;
    let mut series = loop {
        now += Span::from_millis(5);
        let mut series = sender.minstrel.choose(now);
        if series.samples {
            break series;
        }
        let answered = if series.rate() < 4 { 16 } else { 0 };
        sender.minstrel.tried(&mut series, 16, answered, true, now);
    };
    assert!(!series.falls_back());
    let sampled = series.rate();
    sender.minstrel.tried(&mut series, 1, 0, false, now);
    assert!(series.falls_back() && series.rate() != sampled);
    assert_eq!(series.rate(), sender.minstrel.best[1]);
    let tries = series.tries[1];
    (0..tries).for_each(|_| sender.minstrel.tried(&mut series, 1, 0, false, now));
    assert_eq!(series.rate(), sender.minstrel.surest);
    (0..200).for_each(|_| sender.minstrel.tried(&mut series, 1, 0, false, now));
    assert_eq!(series.rate(), sender.minstrel.surest, "the last rate is tried on");
}

/// Where two streams come to nothing at once, one is used before the next update.
#[test]
fn sudden_death_of_a_second_stream() {
    let mut sender = Sender::new(2, &[1.0; 16]);
    sender.send(2_000);
    // Just after an update; a few aggregates of 16 at two streams are more than 30 frames.
    while sender.minstrel.rates[15].attempts > 0 {
        sender.send(1);
    }
    sender.works[8..].fill(0.0);
    sender.send(4);
    assert!(sender.minstrel.best() < 8, "{}", sender.minstrel.best());
}

/// The surest rate has fewer streams than the best.
#[test]
fn the_surest_rate_has_fewer_streams() {
    let mut sender = Sender::new(2, &[1.0; 16]);
    sender.send(2_000);
    assert_eq!((sender.minstrel.best(), sender.minstrel.surest), (15, 7));
}
