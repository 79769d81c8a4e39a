//! The burst allowance: how long nothing is dropped when congestion begins (RFC 8033 section 4.4, RFC 8034 appendix A).

use super::descriptor::{Begins, Falls, Parameters};
use sojourn_core::{Span, Time};

/// The rules of the allowance.
#[derive(Clone, Copy, Debug)]
pub(super) struct BurstLaw {
    /// The whole allowance (MAX_BURST).
    pub(super) allowance: Span,
    begins: Begins,
    falls: Falls,
    /// Whether the probability stays zero while the allowance lasts (RFC 8034, ns-3).
    pub(super) hold: bool,
    /// How long calm has to last before the allowance is restored; zero means at once.
    quiet: Span,
}

/// The state of one queue's allowance.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Burst {
    pub(super) phase: Phase,
    pub(super) quiet_for: Span,
    pub(super) last_departure: Option<Time>,
}

/// Where a queue stands with bursts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// There is no congestion; the next arrival, or drop, gets the whole allowance.
    Waiting,
    /// There may be congestion, and the next drop gets the whole allowance (RFC 8034's QUIESCENT).
    Ready,
    /// Nothing is dropped for so long.
    Protected(Span),
    /// The allowance is used up.
    Active,
}

impl BurstLaw {
    pub(super) fn new(declared: &Parameters) -> BurstLaw {
        BurstLaw {
            allowance: declared.burst,
            begins: declared.burst_begins,
            falls: declared.burst_falls,
            hold: declared.hold,
            quiet: declared.quiet,
        }
    }

    fn protected(&self) -> Phase {
        if self.allowance.is_zero() { Phase::Active } else { Phase::Protected(self.allowance) }
    }
}

impl Default for Burst {
    fn default() -> Self {
        Burst { phase: Phase::Waiting, quiet_for: Span::ZERO, last_departure: None }
    }
}

impl Burst {
    /// A packet arrives while enough waits for the controller to become active.
    #[inline]
    pub(super) fn wake(&mut self, law: &BurstLaw) {
        if self.phase == Phase::Waiting {
            self.phase = if law.begins == Begins::Drop { Phase::Ready } else { law.protected() };
        }
    }

    /// Whether packets may be dropped.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Ready | Phase::Active)
    }

    /// A packet was dropped or marked.
    #[inline]
    pub(super) fn signalled(&mut self, law: &BurstLaw) {
        if self.phase == Phase::Ready {
            self.phase = law.protected();
        }
    }

    /// Whether the probability is held at zero.
    pub(super) fn holds_probability(&self, law: &BurstLaw) -> bool {
        match self.phase {
            Phase::Waiting => law.begins == Begins::Arrival,
            Phase::Protected(_) => law.hold,
            Phase::Ready | Phase::Active => false,
        }
    }

    /// A packet leaves at `now`.
    #[inline]
    pub(super) fn departure(&mut self, law: &BurstLaw, now: Time) {
        if law.falls == Falls::Departures {
            let elapsed = self.last_departure.map_or(Span::ZERO, |last| now.since(last));
            self.last_departure = Some(now);
            self.reduce(elapsed);
        }
    }

    /// An update, `interval` after the last; `calm` says whether there is no congestion. Calm for long enough restores the
    /// allowance.
    pub(super) fn update(&mut self, law: &BurstLaw, calm: bool, interval: Span) {
        if law.falls == Falls::Updates {
            self.reduce(interval);
        }
        match law.begins {
            Begins::Drop => self.settle_by_drops(law, calm, interval),
            Begins::Arrival => self.settle(law, calm, interval),
        }
        if !calm || self.phase == Phase::Waiting {
            self.quiet_for = Span::ZERO;
        }
        if calm {
            self.last_departure = None;
        }
    }

    #[inline]
    fn reduce(&mut self, elapsed: Span) {
        if let Phase::Protected(left) = self.phase {
            let left = left.saturating_sub(elapsed);
            self.phase = if left.is_zero() { Phase::Active } else { Phase::Protected(left) };
        }
    }

    fn settle(&mut self, law: &BurstLaw, calm: bool, interval: Span) {
        if law.quiet.is_zero() {
            if calm {
                self.phase = Phase::Waiting;
            }
        } else if calm && self.phase == Phase::Active {
            self.count_quiet(law, interval);
        }
    }

    /// The three states of RFC 8034.
    fn settle_by_drops(&mut self, law: &BurstLaw, calm: bool, interval: Span) {
        if calm && self.phase == Phase::Active {
            self.phase = Phase::Ready;
            self.quiet_for = Span::ZERO;
        } else if calm && self.phase == Phase::Ready {
            self.count_quiet(law, interval);
        }
    }

    fn count_quiet(&mut self, law: &BurstLaw, interval: Span) {
        self.quiet_for += interval;
        if self.quiet_for > law.quiet {
            self.phase = Phase::Waiting;
        }
    }

    /// The allowance that is left.
    pub(super) fn left(&self, law: &BurstLaw) -> Span {
        match self.phase {
            Phase::Waiting | Phase::Ready => law.allowance,
            Phase::Protected(left) => left,
            Phase::Active => Span::ZERO,
        }
    }
}
