//! Startup and Drain: whether the pipe is full, and when what filled it has drained.

use super::{Bbr3, Seen, State};

/// Growth of the delivery rate that shows that the pipe is not yet full.
const FULL_GROWTH: f64 = 1.25;
/// Round trips without it that show that it is.
const FULL_ROUNDS: u32 = 3;
/// Most round trips in Drain.
const DRAIN_ROUNDS: u64 = 3;

impl Bbr3 {
    /// `CheckFullBWReached()`.
    #[inline]
    pub(super) fn check_full(&mut self, seen: &Seen<'_>) {
        if self.full.now || !self.rounds.starts() || seen.app_limited {
            return;
        }
        if seen.rate >= self.full.bandwidth * FULL_GROWTH {
            self.full.restart(seen.rate);
            return;
        }
        self.full.rounds += 1;
        self.full.now = self.full.rounds >= FULL_ROUNDS;
        self.full.ever |= self.full.now;
    }

    /// `CheckStartupDone()`.
    #[inline]
    pub(super) fn check_startup_done(&mut self, seen: &Seen<'_>) {
        if self.state != State::Startup {
            return;
        }
        if self.startup_loses_much(seen) {
            self.end_startup();
        }
        if self.full.ever {
            self.forget_marks();
            self.state = State::Drain;
            self.drain_began = self.rounds.count();
        }
    }

    /// Congestion shows that the pipe is full.
    pub(super) fn end_startup(&mut self) {
        self.full.now = true;
        self.full.ever = true;
        self.bounds.long_term = self.product(self.bandwidth, 1.0).max(self.bounds.latest_in_flight);
    }

    /// `CheckDrainDone()`.
    #[inline]
    pub(super) fn check_drain_done(&mut self, seen: &Seen<'_>) {
        if self.state == State::Drain
            && (seen.in_flight <= self.in_flight_at(self.bandwidth)
                || self.rounds.count() > self.drain_began + DRAIN_ROUNDS)
        {
            self.start_down(seen.now);
        }
    }
}
