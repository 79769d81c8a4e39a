//! Finds out whether a token bucket polices the flow, and at what rate (`bbr_lt_bw_sampling`).

use sojourn_core::{Span, Time};

/// Fewest round trips of a sampling interval (`bbr_lt_intvl_min_rtts`); four times as many are too long.
const MIN_ROUNDS: u32 = 4;
/// Lost segments per delivered one of a policed flow (`bbr_lt_loss_thresh`).
const LOSS: f64 = 50.0 / 256.0;
/// Two intervals' rates are the same when they differ by at most this part (`bbr_lt_bw_ratio`) ...
const SAME_RATIO: f64 = 1.0 / 8.0;
/// ... or by this many bytes per second (`bbr_lt_bw_diff`, 4 kbit/s).
const SAME_BYTES_PER_SECOND: f64 = 500.0;
/// Round trips for which the rate is used (`bbr_lt_bw_max_rtts`).
const USED_ROUNDS: u32 = 48;
/// Shortest interval.
const MIN_INTERVAL: Span = Span::from_millis(1);

/// What an acknowledgement, or a timeout, says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation {
    /// When segments were last delivered.
    pub(super) now: Time,
    /// Segments delivered on the connection.
    pub(super) delivered: u64,
    /// Segments lost on the connection.
    pub(super) lost: u64,
    /// Whether it shows losses.
    pub(super) losses: bool,
    /// Whether it begins a round trip.
    pub(super) round_starts: bool,
    /// Whether the application limited the sample.
    pub(super) app_limited: bool,
    /// Whether the control is in its steady state.
    pub(super) steady: bool,
}

/// The long-term sampler.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Policer {
    sampling: bool,
    /// Segments per second of the last lossy interval; zero before.
    rate: f64,
    in_use: bool,
    rounds: u32,
    since: Time,
    delivered: u64,
    lost: u64,
}

impl Policer {
    /// Segments per second that a policer lets through, where one was found.
    #[inline]
    pub(super) fn rate(&self) -> Option<f64> {
        self.in_use.then_some(self.rate)
    }

    /// Forgets all.
    pub(super) fn reset(&mut self) {
        *self = Policer::default();
    }

    /// Whether a rate was used for long enough, so that probing begins anew.
    #[inline]
    pub(super) fn observe(&mut self, seen: &Observation, segment_bytes: f64) -> bool {
        if self.in_use {
            self.rounds += u32::from(seen.steady && seen.round_starts);
            let enough = self.rounds >= USED_ROUNDS;
            if enough {
                self.reset();
            }
            return enough;
        }
        if !self.sampling {
            // Only the first loss shows that the bucket is empty.
            if !seen.losses {
                return false;
            }
            self.sampling = true;
            self.begin(seen);
        }
        if seen.app_limited {
            self.reset();
            return false;
        }
        self.rounds += u32::from(seen.round_starts);
        if self.rounds > 4 * MIN_ROUNDS {
            self.reset();
        } else if self.rounds >= MIN_ROUNDS && seen.losses {
            self.close(seen, segment_bytes);
        }
        false
    }

    fn begin(&mut self, seen: &Observation) {
        self.since = seen.now;
        self.delivered = seen.delivered;
        self.lost = seen.lost;
        self.rounds = 0;
    }

    /// The interval may end here: at a loss, so that the bucket is empty again.
    fn close(&mut self, seen: &Observation, segment_bytes: f64) {
        let delivered = (seen.delivered - self.delivered) as f64;
        let lost = (seen.lost - self.lost) as f64;
        let interval = seen.now.since(self.since);
        if delivered == 0.0 || lost < LOSS * delivered || interval < MIN_INTERVAL {
            return;
        }
        let rate = delivered / interval.as_secs_f64();
        let difference = (rate - self.rate).abs();
        let same = difference <= SAME_RATIO * self.rate || difference * segment_bytes <= SAME_BYTES_PER_SECOND;
        if self.rate > 0.0 && same {
            self.rate = (self.rate + rate) / 2.0;
            self.in_use = true;
            self.rounds = 0;
        } else {
            self.rate = rate;
            self.begin(seen);
        }
    }
}
