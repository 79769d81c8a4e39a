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

/// Four trains of 1 ms that nothing disturbed tell the capacity; not where the other four had 2 ms of noise, since what is
/// steady by chance is shorter than that.
#[test]
fn trains_shorter_than_the_noise_tell_nothing() {
    let mut path = scout().path;
    for rest in [0.0, 2.0 * MS].repeat(4) {
        path.trains.push_back(Seen { steady: MS, rest, gap: 0.1 * MS });
    }
    path.noise = 0.5 * MS;
    // 72 bytes in 0.1 ms.
    assert_eq!(path.told_by_trains(), 5.76e6);
    path.noise = 2.0 * MS;
    assert_eq!(path.told_by_trains(), 0.0);
}

/// The receiver's timer may have held back each of them: what counts is by how much one is later than the earliest.
#[test]
fn a_train_of_one_acknowledgement_waited_beyond_the_earliest() {
    let mut path = scout().path;
    assert_eq!([60, 61, 59, 60].map(|millis| path.waited_as_one(millis * 1_000_000) / MS), [0.0, 1.0, 0.0, 1.0]);
    path.noise = 0.25 * MS;
    assert_eq!(path.waited_as_one(61_000_000), 1.75 * MS);
}

/// A second of noise asks for a train of four seconds; 1/200 of a pause of 8 s are 40 ms, 13 packets at 4 Mbit/s.
#[test]
fn noise_lengthens_a_train_to_a_part_of_the_longest_pause_at_most() {
    let mut scout = scout();
    (scout.path.capacity, scout.path.noise, scout.settings.longest_pause) = (4e6, 1000.0 * MS, 8000.0 * MS);
    scout.send_full_train();
    assert_eq!(scout.window, 12.0);
}
