//! HyStart of Ha and Rhee (2008), as in Linux's and ns-3's CUBIC.
//!
//! From a window of 16 on, slow start ends for good when, within a round trip,
//! 1. acknowledgements 2 ms apart or closer go on for longer than half the least RTT: the window fills the path; or
//! 2. the least of 8 or more RTTs exceeds the least RTT of all by a threshold.

use crate::Ack;
use crate::rounds::Rounds;
use sojourn_core::{Span, Time};

/// Smallest window at which it acts (`hystart_low_window`).
const MIN_WINDOW: f64 = 16.0;
/// Widest gap between acknowledgements of a train (`hystart_ack_delta`).
const TRAIN_GAP: Span = Span::from_millis(2);
/// Samples that are only gathered (`HYSTART_MIN_SAMPLES`).
const GATHERED: u32 = 8;
/// Least rise of the RTT (`HYSTART_DELAY_MIN`).
const MIN_RISE: Span = Span::from_millis(4);

/// What the implementations do not agree about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Added to the least RTT before it is divided.
    cushion: Span,
    train_divisor: u64,
    rise_divisor: u64,
    most_rise: Span,
}

/// Linux 6.1. Its cushion against segmentation offload is 256 KiB at the pacing rate, at most 1 ms: so 1 ms below
/// 2 Gbit/s. It halves the length of trains where segments are not paced.
pub(super) const LINUX: Rules =
    Rules { cushion: Span::from_millis(1), train_divisor: 2, rise_divisor: 8, most_rise: Span::from_millis(16) };

/// ns-3.37, which compares trains with the whole least RTT, and clamps that itself instead of an eighth of it.
pub(super) const NS3: Rules =
    Rules { cushion: Span::ZERO, train_divisor: 1, rise_divisor: 1, most_rise: Span::from_secs(1) };

/// The state of HyStart.
#[derive(Clone, Debug)]
pub(crate) struct Hybrid {
    rules: Rules,
    rounds: Rounds,
    /// The latest acknowledgement of the train.
    train: Time,
    /// `curr_rtt`.
    current_min: Span,
    samples: u32,
    found: bool,
}

impl Hybrid {
    pub(super) fn new(rules: Rules) -> Hybrid {
        Hybrid { rules, rounds: Rounds::default(), train: Time::ZERO, current_min: Span::MAX, samples: 0, found: false }
    }

    pub(super) fn restart(&mut self) {
        *self = Hybrid::new(self.rules);
    }

    pub(super) fn is_over(&mut self, ack: &Ack, window: f64) -> bool {
        let Some(rtt) = ack.rtt.filter(|_| !self.found) else { return false };
        if self.rounds.ends(ack) {
            self.train = ack.now;
            self.current_min = Span::MAX;
            self.samples = 0;
        }
        if window < MIN_WINDOW {
            return false;
        }
        self.found = self.train_is_long(ack) | self.delay_rose(ack, rtt);
        self.found
    }

    fn train_is_long(&mut self, ack: &Ack) -> bool {
        if ack.now.since(self.train) > TRAIN_GAP {
            return false;
        }
        self.train = ack.now;
        let most = (ack.min_rtt + self.rules.cushion) / self.rules.train_divisor;
        ack.now.since(self.rounds.began()) > most
    }

    fn delay_rose(&mut self, ack: &Ack, rtt: Span) -> bool {
        self.current_min = self.current_min.min(rtt);
        if self.samples < GATHERED {
            self.samples += 1;
            return false;
        }
        let rise = (ack.min_rtt / self.rules.rise_divisor).clamp(MIN_RISE, self.rules.most_rise);
        self.current_min > ack.min_rtt + rise
    }
}
