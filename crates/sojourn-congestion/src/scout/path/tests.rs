//! Worked numbers of what is known of a path.

use super::super::{DESCRIPTOR, Scout};
use super::*;
use crate::script::params;
use sojourn_core::Stream;

const MS: f64 = 1e6;

fn scout() -> Scout {
    let path = Path { mss_bytes: 1448, header_bytes: 52, smallest_packet_bytes: 52, initial_window: 10.0, sack: true };
    Scout::new(&params(&DESCRIPTOR, "default", &[]), &path, Stream::new(1, "path")).unwrap()
}

fn with_gaps(gaps: &[f64]) -> PathKnowledge {
    let mut path = scout().path;
    for _ in 0..4 {
        path.trains.push_back(Seen { rest: 0.0, gaps: gaps.to_vec() });
    }
    path
}

/// 72 bytes in 0.1 ms are 5.76 Mbit/s, also where noise makes five of nine gaps longer; not where it makes six so, or takes
/// two away.
#[test]
fn gaps_that_agree_tell_the_capacity() {
    let told = |gaps: &[f64]| with_gaps(&gaps.iter().map(|gap| gap * MS).collect::<Vec<f64>>()).told_by_trains();
    assert_eq!(told(&[0.1, 0.7, 0.1, 0.9, 0.1, 2.0, 0.1, 0.5, 0.3]), 5.76e6);
    assert_eq!(told(&[0.1, 0.7, 0.1, 0.9, 0.1, 2.0, 0.4, 0.5, 0.3]), 0.0);
    assert_eq!(told(&[0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.0, 0.0]), 0.0);
}

/// 2.4 us are two or three in stamps of a microsecond.
#[test]
fn gaps_of_few_microseconds_agree_within_what_a_stamp_counts() {
    assert_eq!(with_gaps(&[2e3, 2e3, 3e3, 2e3, 3e3]).told_by_trains(), 240e6);
}

/// Its last segment waited for the others of the train: what counts is by how much one is later than the earliest.
#[test]
fn a_train_of_one_acknowledgement_waited_beyond_the_earliest() {
    let mut path = scout().path;
    assert_eq!([60, 61, 59, 60].map(|millis| path.waited_as_one(10, millis * 1_000_000) / MS), [0.0, 1.0, 0.0, 1.0]);
    path.noise = 0.25 * MS;
    assert_eq!(path.waited_as_one(10, 61_000_000), 1.75 * MS);
    assert_eq!(path.waited_as_one(17, 70_000_000), 0.0);
}

/// A second of noise asks for a train of four seconds; 1/200 of a pause of 8 s are 40 ms, 13 packets at 4 Mbit/s.
#[test]
fn noise_lengthens_a_train_to_a_part_of_the_longest_pause_at_most() {
    let mut scout = scout();
    (scout.path.capacity, scout.path.noise, scout.settings.longest_pause) = (4e6, 1000.0 * MS, 8000.0 * MS);
    scout.send_full_train();
    assert_eq!(scout.window, 12.0);
}
