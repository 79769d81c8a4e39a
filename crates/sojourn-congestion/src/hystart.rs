//! Ways out of slow start before it overflows the queue: HyStart++ (RFC 9406) and its predecessor.
//!
//! A control asks one of them about each acknowledgement of slow start: may the window grow as usual, more slowly, or
//! is slow start over? The predecessor, HyStart of Ha and Rhee, is in [`hybrid`].

mod hybrid;
#[cfg(test)]
mod tests;

use crate::Ack;
use crate::rounds::Rounds;
use alloc::boxed::Box;
use hybrid::Hybrid;
use sojourn_core::Span;
use sojourn_core::choices;
use sojourn_core::registry::declare::{Field, choice};

choices! {
    /// When slow start ends before a loss.
    pub(crate) enum Hystart {
        /// Never.
        Off = "off",
        /// HyStart++.
        Rfc9406 = "rfc9406",
        /// Its predecessor as Linux has it.
        Linux = "linux",
        /// Its predecessor as ns-3 has it.
        Ns3 = "ns3",
    }
}

choices! {
    /// [`Hystart`] of a control that can only have RFC 9406's.
    pub(crate) enum Only {
        Off = "off",
        Rfc9406 = "rfc9406",
    }
}

impl From<Only> for Hystart {
    fn from(only: Only) -> Hystart {
        match only {
            Only::Off => Hystart::Off,
            Only::Rfc9406 => Hystart::Rfc9406,
        }
    }
}

/// The parameter of a control that can only have RFC 9406's.
pub(crate) const ONLY: Field<Only> = choice(Only::Off.value()).described(
    "leave slow start when the round-trip time rises: off, or HyStart++ (rfc9406), which goes with a slow_start_limit of 8, or auto where segments are paced",
);

/// The parameter of a control that can have any.
pub(crate) const ANY: Field<Hystart> = choice(Hystart::Rfc9406.value()).described(
    "leave slow start when the round-trip time rises: HyStart++ (rfc9406); or its predecessor, which also hears trains of acknowledgements and leaves at once: linux (trains longer than half the least RTT plus 0.5 ms, delay of 1/8 of it within 4 to 16 ms) or ns3 (trains longer than the least RTT, delay as large as it within 4 ms to 1 s)",
);

/// RTT samples of a round before its minimum means something (`N_RTT_SAMPLE`).
const MIN_SAMPLES: u32 = 8;
/// Bounds of a rise in RTT that matters (`MIN_RTT_THRESH`, `MAX_RTT_THRESH`).
const MIN_RISE: Span = Span::from_millis(4);
const MAX_RISE: Span = Span::from_millis(16);
/// The rise as a part of the last round's least RTT (`MIN_RTT_DIVISOR`).
const RISE_DIVISOR: u64 = 8;
/// What conservative slow start divides the growth by (`CSS_GROWTH_DIVISOR`).
const CONSERVATIVE_DIVISOR: f64 = 4.0;
/// Rounds of conservative slow start (`CSS_ROUNDS`).
const CONSERVATIVE_ROUNDS: u32 = 5;

/// What a control does in slow start. What it has to remember for that is out of the way for the rest of a connection.
#[derive(Clone, Debug)]
pub(crate) enum SlowStart {
    /// Nothing but grow.
    Standard,
    /// RFC 9406.
    PlusPlus(Box<PlusPlus>),
    /// HyStart.
    Hybrid(Box<Hybrid>),
}

/// HyStart++. Only for a flow's first slow start: later ones have a threshold.
#[derive(Clone, Debug)]
pub(crate) struct PlusPlus {
    rounds: Rounds,
    /// `lastRoundMinRTT`; [`Span::MAX`] is infinite.
    last_min: Span,
    /// `currentRoundMinRTT`.
    current_min: Span,
    /// `rttSampleCount`.
    samples: u32,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Phase {
    SlowStart,
    /// CSS, with `cssBaselineMinRtt` and the rounds that it has lasted.
    Conservative {
        baseline: Span,
        rounds: u32,
    },
    Over,
}

impl SlowStart {
    /// Slow start that ends as `hystart` says.
    pub(crate) fn new(hystart: Hystart) -> SlowStart {
        match hystart {
            Hystart::Off => SlowStart::Standard,
            Hystart::Rfc9406 => SlowStart::PlusPlus(Box::new(PlusPlus::new())),
            Hystart::Linux => SlowStart::Hybrid(Box::new(Hybrid::new(hybrid::LINUX))),
            Hystart::Ns3 => SlowStart::Hybrid(Box::new(Hybrid::new(hybrid::NS3))),
        }
    }

    /// Hears an acknowledgement of slow start; whether slow start is over.
    #[inline]
    pub(crate) fn is_over(&mut self, ack: &Ack, window: f64) -> bool {
        match self {
            SlowStart::Standard => false,
            SlowStart::PlusPlus(plus_plus) => plus_plus.is_over(ack),
            SlowStart::Hybrid(hybrid) => hybrid.is_over(ack, window),
        }
    }

    /// By how much an acknowledgement opens the window where standard slow start would by `segments`.
    #[inline]
    pub(crate) fn growth(&self, segments: f64) -> f64 {
        match self {
            SlowStart::PlusPlus(plus_plus) if matches!(plus_plus.phase, Phase::Conservative { .. }) => {
                segments / CONSERVATIVE_DIVISOR
            }
            _ => segments,
        }
    }

    /// Congestion: RFC 9406 leaves later slow starts to the threshold; HyStart is there again after a timeout.
    pub(crate) fn on_congestion(&mut self, timeout: bool) {
        match self {
            SlowStart::Standard => {}
            SlowStart::PlusPlus(plus_plus) => plus_plus.phase = Phase::Over,
            SlowStart::Hybrid(hybrid) if timeout => hybrid.restart(),
            SlowStart::Hybrid(_) => {}
        }
    }
}

impl PlusPlus {
    fn new() -> PlusPlus {
        PlusPlus {
            rounds: Rounds::default(),
            last_min: Span::MAX,
            current_min: Span::MAX,
            samples: 0,
            phase: Phase::SlowStart,
        }
    }

    fn is_over(&mut self, ack: &Ack) -> bool {
        if self.phase == Phase::Over {
            return false;
        }
        if self.rounds.ends(ack) && self.begin_round() {
            return true;
        }
        let Some(rtt) = ack.rtt else { return false };
        self.current_min = self.current_min.min(rtt);
        self.samples += 1;
        if self.samples >= MIN_SAMPLES {
            self.judge();
        }
        false
    }

    /// A new round; whether it is one more than conservative slow start lasts. The round in whose middle it began counts.
    fn begin_round(&mut self) -> bool {
        self.last_min = self.current_min;
        self.current_min = Span::MAX;
        self.samples = 0;
        if let Phase::Conservative { rounds, .. } = &mut self.phase {
            *rounds += 1;
            if *rounds == CONSERVATIVE_ROUNDS {
                self.phase = Phase::Over;
                return true;
            }
        }
        false
    }

    /// Section 4.2: a rise begins conservative slow start, a fall below where it began shows that it was spurious.
    fn judge(&mut self) {
        match self.phase {
            Phase::SlowStart if self.last_min != Span::MAX => {
                let rise = (self.last_min / RISE_DIVISOR).clamp(MIN_RISE, MAX_RISE);
                if self.current_min >= self.last_min + rise {
                    self.phase = Phase::Conservative { baseline: self.current_min, rounds: 0 };
                }
            }
            Phase::Conservative { baseline, .. } if self.current_min < baseline => self.phase = Phase::SlowStart,
            _ => {}
        }
    }
}
