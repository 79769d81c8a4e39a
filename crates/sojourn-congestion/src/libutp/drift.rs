//! libutp's estimate of how fast two clocks drift apart, and the delay it adds for it.

use sojourn_core::{Span, Time};

/// Over how long delays are averaged.
const SLOT: Span = Span::from_secs(5);
/// Drift per slot that is still believed to be honest.
const HONEST_NANOS: i64 = 200_000_000;
/// What part of the rest becomes a penalty.
const PENALTY_DIVISOR: i64 = 7;
/// How many parts of eight the former estimate keeps.
const KEPT: i64 = 7;

/// Average delays of slots of 5 s, and the rolling average of their differences.
#[derive(Clone, Debug)]
pub(super) struct Drift {
    /// The first sample: all others are kept relative to it.
    origin: Option<i64>,
    slot_ends: Time,
    sum: i64,
    samples: i64,
    average: i64,
    per_slot: i64,
}

impl Drift {
    pub(super) fn new() -> Drift {
        Drift { origin: None, slot_ends: Time::ZERO, sum: 0, samples: 0, average: 0, per_slot: 0 }
    }

    /// A delay was measured.
    pub(super) fn sample(&mut self, delay_nanos: i64, now: Time) {
        let origin = *self.origin.get_or_insert_with(|| {
            self.slot_ends = now + SLOT;
            delay_nanos
        });
        self.sum += delay_nanos - origin;
        self.samples += 1;
        if now > self.slot_ends {
            let average = self.sum / self.samples;
            self.per_slot = (self.per_slot * KEPT + (average - self.average)) / (KEPT + 1);
            self.average = average;
            self.slot_ends += SLOT;
            (self.sum, self.samples) = (0, 0);
        }
    }

    /// The delay to add.
    pub(super) fn penalty_nanos(&self) -> i64 {
        (-self.per_slot - HONEST_NANOS).max(0) / PENALTY_DIVISOR
    }
}
