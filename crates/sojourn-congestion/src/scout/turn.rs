//! A turn: scout sends, and counts what speaks for somebody else's backlog.

use super::path::PathKnowledge;
use crate::control::Ack;
use alloc::collections::VecDeque;
use sojourn_core::Stream;

/// Queueing delays of which the least counts for the window.
const RECENT: usize = 4;
/// Rounds without evidence after which a turn has become old.
const OLD: u32 = 20;
/// Quiet rounds after which the window may grow again to where it met a queue.
const QUIET: u32 = 4;
/// Fewest segments of a round whose rate counts.
const COUNTED: u32 = 16;

/// A turn that lasts. Times are in ns.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    /// Evidence that somebody else has a backlog.
    pub(super) score: f64,
    /// The random part of the patience.
    luck: f64,
    ends: f64,
    /// Rounds without evidence.
    age: u32,
    quiet: u32,
    /// Whether it has met a queue or a loss, and grows more slowly.
    regaining: bool,
    recent: VecDeque<f64>,
    round: Round,
}

#[derive(Clone, Copy, Default, Debug)]
struct Round {
    began: u64,
    acked: u32,
    waited: f64,
    samples: u32,
    lost: bool,
}

impl Round {
    /// The mean queueing delay.
    fn waited(&self) -> Option<f64> {
        (self.samples > 0).then(|| self.waited / f64::from(self.samples))
    }
}

/// What a round says of the turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// It goes on.
    Stays,
    /// Others are to have a chance.
    TurnEnds,
    /// Somebody else has a backlog.
    Yields,
}

impl Turn {
    /// A turn that begins now, and lasts about `length`.
    pub(super) fn new(now: u64, length: f64, random: &mut Stream) -> Turn {
        let luck = random.uniform_between(2.0, 18.0);
        Turn {
            score: 0.0,
            luck,
            ends: now as f64 + random.uniform_between(0.5, 1.5) * length,
            age: 0,
            quiet: QUIET,
            regaining: false,
            recent: VecDeque::with_capacity(RECENT),
            round: Round { began: now, ..Round::default() },
        }
    }

    /// Whether it has lasted without evidence.
    pub(super) fn is_old(&self) -> bool {
        self.age >= OLD
    }

    /// An acknowledgement, with the queueing delay that it shows. Whether it ends a round.
    #[inline]
    pub(super) fn on_ack(&mut self, ack: &Ack, waited: Option<f64>) -> bool {
        self.round.acked += ack.newly_acked;
        if let Some(waited) = waited {
            self.round.waited += waited;
            self.round.samples += 1;
            if self.recent.len() == RECENT {
                self.recent.pop_front();
            }
            self.recent.push_back(waited);
        }
        let now = ack.now.as_nanos();
        ack.sent.as_nanos() >= self.round.began && self.round.samples > 0 && now > self.round.began
    }

    /// The least of the last queueing delays; none before the first.
    #[inline]
    fn least(&self) -> Option<f64> {
        self.recent.iter().copied().reduce(f64::min)
    }

    /// Moves window and threshold.
    #[inline]
    pub(super) fn adjust(&mut self, ack: &Ack, path: &PathKnowledge, window: &mut f64, threshold: &mut f64) {
        let Some(waited) = self.least().filter(|_| !ack.in_recovery && ack.newly_acked > 0) else { return };
        let acked = f64::from(ack.newly_acked);
        if *window < *threshold {
            if waited > path.bound() {
                *window = (*window * path.base() / (path.base() + waited)).max(1.0);
                *threshold = *window;
                self.regaining = true;
                self.quiet = 0;
            } else if ack.window_limited {
                *window = (*window + if self.regaining { 0.25 * acked } else { acked }).min(*threshold);
            }
        } else if waited > path.delay + path.noise() {
            let over = (waited - path.delay - path.noise()) / (path.base() + waited);
            *window = (*window - over * acked.min(*window)).max(1.0);
            *threshold = *window;
        } else if ack.window_limited {
            *window += (1.0 - waited / (path.delay + path.noise())) * acked / *window;
        }
    }

    /// A round has ended.
    pub(super) fn judge(&mut self, now: u64, path: &mut PathKnowledge, window: f64, threshold: &mut f64) -> Outcome {
        let waited = self.round.waited().unwrap_or(0.0);
        let rate = path.rate(f64::from(self.round.acked), (now - self.round.began) as f64);
        let mut evidence = (waited / (path.delay + path.noise()) - 1.5).clamp(-1.0, 2.0);
        if waited > 0.5 * path.delay || self.round.lost {
            evidence = evidence.max(((0.8 - rate / path.capacity) / 0.2).clamp(-1.0, 2.0));
        }
        self.score = (self.score + evidence).max(0.0);
        if self.round.acked >= COUNTED {
            path.on_rate(rate);
        }
        self.age += u32::from(self.score <= 0.0);
        self.quiet = if waited < 0.5 * path.bound() { self.quiet + 1 } else { 0 };
        if self.quiet >= QUIET {
            *threshold = threshold.max(1.25 * window).min(path.full_window());
        }
        path.on_round();
        self.round = Round { began: now, ..Round::default() };
        if now as f64 >= self.ends {
            Outcome::TurnEnds
        } else if self.score >= self.luck + (0.25 * f64::from(self.age)).min(8.0) {
            Outcome::Yields
        } else {
            Outcome::Stays
        }
    }

    /// A loss or a mark.
    pub(super) fn lose(&mut self, path: &mut PathKnowledge, window: &mut f64, threshold: &mut f64) {
        let waited = self.round.waited().unwrap_or(path.delay);
        *threshold = threshold.min(*window * path.base() / (path.base() + waited)).max(1.0);
        *window = (*window * if waited <= 1.5 * path.delay { 0.7 } else { 0.5 }).max(1.0);
        path.on_loss(waited);
        self.regaining = true;
        self.round.lost = true;
        self.score += if self.is_old() { 2.0 } else { 4.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script;
    use sojourn_core::{Span, Time};

    /// 0.1, 0.2 and 0.6 ms in the mean.
    #[test]
    fn the_delay_of_a_round_is_the_mean() {
        let mut turn = Turn::new(1, 30e9, &mut Stream::new(1, "turn"));
        for waited in [2e5, 1e5, 6e5] {
            turn.on_ack(&Ack { newly_acked: 8, ..script::ack(Time::from_nanos(1), 10.0, Span::ZERO) }, Some(waited));
        }
        assert_eq!((turn.round.waited(), turn.round.acked), (Some(3e5), 24));
        assert_eq!(Round::default().waited(), None);
    }
}
