//! Probing for bandwidth: the cycle of DOWN, CRUISE, REFILL and UP.

use super::{Bbr3, Seen, State};
#[cfg(not(feature = "std"))]
use sojourn_core::Float as _;
use sojourn_core::{Span, Time};

/// What may be added to the wait at random.
const WAIT_SPREAD: Span = Span::from_secs(1);
/// Most doublings of the long-term bound's growth.
const MAX_DOUBLINGS: u32 = 30;

/// What acknowledgements tell of the probe (BBR.ack_phase).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Acks {
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// The state of the cycle.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Probing {
    acks: Acks,
    /// BBR.is_bw_probe_sample.
    pub(super) samples: bool,
    /// BBR.prev_probe_too_high.
    pub(super) too_high: bool,
    /// BBR.prev_probe_precautionary.
    precautionary: bool,
    /// BBR.rounds_since_probe_up.
    pub(super) rounds_since_up: u64,
    /// BBR.bw_probe_wait.
    wait: Span,
    /// BBR.cycle_stamp.
    began: Time,
    /// BBR.bw_probe_up_rounds.
    up_rounds: u32,
    /// BBR.bw_probe_up_acked.
    up_acked: f64,
    /// BBR.probe_up_acked_per_inc; used in UP only, where it is set.
    up_acked_per_step: f64,
}

impl Probing {
    #[cfg(test)]
    pub(super) fn up_acked_per_step(&self) -> f64 {
        self.up_acked_per_step
    }

    /// No more is sent to probe; what is acknowledged may still be a probe.
    pub(super) fn stop(&mut self) {
        self.acks = Acks::ProbeStopping;
    }
}

impl Bbr3 {
    /// `StartProbeBW_DOWN()` with `PickProbeWait()`.
    pub(super) fn start_down(&mut self, now: Time) {
        self.bounds.forget_signals();
        self.forget_marks();
        self.probing.rounds_since_up = self.random.bits() & 1;
        self.probing.wait = self.settings.probe_wait + WAIT_SPREAD.mul_f64(self.random.uniform());
        self.probing.began = now;
        self.probing.stop();
        self.rounds.restart(self.delivered);
        self.state = State::Down;
    }

    /// `StartProbeBW_REFILL()`; the bound's growth begins with so many doublings.
    fn start_refill(&mut self, doublings: u32) {
        self.bounds.forget_short_term();
        self.probing.up_rounds = doublings.min(MAX_DOUBLINGS);
        self.probing.up_acked = 0.0;
        self.probing.precautionary = false;
        self.probing.acks = Acks::Refilling;
        self.rounds.restart(self.delivered);
        self.state = State::Refill;
    }

    /// `StartProbeBW_UP()`.
    pub(super) fn start_up(&mut self, rate: f64) {
        self.probing.acks = Acks::ProbeStarting;
        self.rounds.restart(self.delivered);
        self.full.restart(rate);
        self.state = State::Up;
        self.raise_slope();
    }

    /// `UpdateProbeBWCyclePhase()`.
    #[inline]
    pub(super) fn update_cycle(&mut self, seen: &Seen<'_>) {
        if !self.full.ever || self.adapt_long_term(seen) {
            return;
        }
        let state = self.state;
        if matches!(state, State::Down | State::Cruise)
            && let Some(doublings) = self.next_probe(seen)
        {
            self.start_refill(doublings);
            return;
        }
        match state {
            State::Down if self.is_time_to_cruise(seen) => self.state = State::Cruise,
            State::Refill if self.rounds.starts() => {
                self.probing.samples = true;
                self.start_up(seen.rate);
            }
            State::Up if self.is_time_to_go_down(seen) => {
                self.probing.too_high = false;
                self.start_down(seen.now);
            }
            _ => {}
        }
    }

    /// With how many doublings the next probe begins, if its time has come.
    #[inline]
    fn next_probe(&self, seen: &Seen<'_>) -> Option<u32> {
        let after_marks = if self.marks.is_some() { self.probe_after_marks(seen) } else { None };
        after_marks.or_else(|| self.is_time_to_probe(seen.now).then_some(0))
    }

    /// `IsTimeToProbeBW()`.
    #[inline]
    fn is_time_to_probe(&self, now: Time) -> bool {
        // Reno's time scale: as many round trips as segments are in flight.
        let rounds = self.target_in_flight().min(self.settings.probe_rounds);
        now > self.probing.began + self.probing.wait || self.probing.rounds_since_up as f64 >= rounds
    }

    /// `IsTimeToCruise()`.
    #[inline]
    fn is_time_to_cruise(&self, seen: &Seen<'_>) -> bool {
        seen.in_flight <= self.with_headroom() && seen.in_flight <= self.in_flight_at(self.max_bandwidth.get())
    }

    /// `IsTimeToGoDown()`.
    #[inline]
    fn is_time_to_go_down(&mut self, seen: &Seen<'_>) -> bool {
        if self.probing.too_high && seen.in_flight >= self.bounds.long_term {
            self.probing.precautionary = true;
            return true;
        }
        if self.is_bounded() {
            self.full.restart(seen.rate);
            return false;
        }
        self.full.now
    }

    /// Whether the long-term bound keeps the flow from sending.
    #[inline]
    fn is_bounded(&self) -> bool {
        (self.window_used[0] || self.window_used[1]) && self.window >= self.bounds.long_term
    }

    /// `AdaptLongTermModel()`: whether that began another phase.
    #[inline]
    fn adapt_long_term(&mut self, seen: &Seen<'_>) -> bool {
        let round_starts = self.rounds.starts();
        if self.probing.acks == Acks::ProbeStarting && round_starts {
            self.probing.acks = Acks::ProbeFeedback;
        }
        if self.probing.acks == Acks::ProbeStopping && round_starts {
            self.probing.samples = false;
            self.probing.acks = Acks::Init;
            if self.state.probes_bandwidth() && !seen.app_limited {
                self.max_bandwidth.advance();
            }
            if self.state.probes_bandwidth() && self.probing.precautionary && !self.probing.too_high {
                self.start_refill(0);
                return true;
            }
        }
        let tx_in_flight = f64::from(seen.sample.tx_in_flight);
        if self.marks.is_some() && self.probing.samples && self.marks_are_too_many(seen) {
            self.handle_too_high((!seen.app_limited).then_some(tx_in_flight), seen.now);
        } else if self.bounds.long_term < f64::INFINITY && !self.sample_is_too_high(seen) {
            self.bounds.long_term = self.bounds.long_term.max(tx_in_flight);
            if self.state == State::Up {
                self.raise_long_term(f64::from(seen.sample.newly_delivered));
            }
        }
        false
    }

    /// `ProbeInflightLongtermUpward()`.
    #[inline]
    fn raise_long_term(&mut self, newly: f64) {
        if !self.is_bounded() {
            return;
        }
        self.probing.up_acked += newly;
        let steps = (self.probing.up_acked / self.probing.up_acked_per_step).floor();
        self.probing.up_acked -= steps * self.probing.up_acked_per_step;
        self.bounds.long_term += steps;
        if self.rounds.starts() {
            self.raise_slope();
        }
    }

    /// `RaiseInflightLongtermSlope()`.
    fn raise_slope(&mut self) {
        let growth = f64::from(1u32 << self.probing.up_rounds);
        self.probing.up_rounds = (self.probing.up_rounds + 1).min(MAX_DOUBLINGS);
        self.probing.up_acked_per_step = (self.window / growth).max(1.0);
    }
}
