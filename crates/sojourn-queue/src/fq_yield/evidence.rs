//! What the backlog of a deferred flow says about its sender.
//!
//! While each packet waits for the deferral, a flow's backlog is the part of its window that fits into the deferral. A
//! sender that yields to delay shrinks its window and with it the backlog. A sender that waits for losses goes on to
//! grow, or at least does not shrink. Only the direction counts, so that no rate and no round-trip time need to be known.

use sojourn_core::{Span, Time};

/// A round lasts so many deferrals: one for the packets that waited when it began, one to see what came instead.
const ROUND: u64 = 2;
/// Packets of a sender that cannot yield further: RFC 6817's smallest window is 2, and one more may be on its way.
const FLOOR: usize = 3;
/// Rounds before a verdict: one that old acknowledgements still shape, one to compare with, and two that are compared.
const ROUNDS: u32 = 4;
/// Rounds in a row without yielding that a flow may show while it is probed, and once it has yielded.
const STRIKES: [u32; 2] = [2, 3];

/// What a packet that has waited for the whole deferral shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shown {
    /// Nothing yet, or nothing new.
    Nothing,
    /// The backlog has become shorter, or is as short as it can be.
    Yields,
    /// The backlog has grown, or has not become shorter in time.
    Pushes,
}

/// The backlog of a deferred flow over the last rounds, in packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    since: Time,
    /// The greatest backlog in this round.
    most: usize,
    /// Those of the last three.
    recent: [usize; 3],
    rounds: u32,
    /// That of the round to compare with.
    first: usize,
    /// The least since then.
    least: usize,
    strikes: u32,
    /// Whether the link had time left in this round, for which a flow may grow without pushing.
    leftover: bool,
}

impl Evidence {
    pub(super) fn new(now: Time) -> Evidence {
        let recent = [usize::MAX; 3];
        Evidence { since: now, most: 0, recent, rounds: 0, first: 0, least: 0, strikes: 0, leftover: false }
    }

    /// The flow got what nobody else wanted.
    #[inline]
    pub(super) fn had_leftover(&mut self) {
        self.leftover = true;
    }

    /// A packet of the flow has waited for `deferral` and leaves a backlog of `waiting` packets, itself included.
    /// `has_yielded` is whether the flow is past its probe.
    pub(super) fn observe(&mut self, waiting: usize, now: Time, deferral: Span, has_yielded: bool) -> Shown {
        self.most = self.most.max(waiting);
        if now.since(self.since) < deferral * ROUND {
            return Shown::Nothing;
        }
        let shown = self.judge(has_yielded);
        self.recent = [self.recent[1], self.recent[2], self.most];
        (self.since, self.most, self.leftover) = (now, 0, false);
        shown
    }

    /// What the round that ends now says, beside those before it.
    fn judge(&mut self, has_yielded: bool) -> Shown {
        self.rounds += 1;
        let most = self.most;
        if self.rounds <= 2 {
            (self.first, self.least) = (most, most);
            return Shown::Nothing;
        }
        let low = self.recent.into_iter().min().unwrap_or(most);
        // What is left over excuses growth, but no leap.
        let allowed = match (self.leftover, has_yielded) {
            (true, _) => low.saturating_mul(2) + FLOOR + 1,
            (false, true) => self.least + 1 + self.least / 8,
            (false, false) => self.least + 1,
        };
        if most > allowed {
            return Shown::Pushes;
        }
        let strikes = match (most < self.least, self.leftover) {
            (true, _) => false,
            (false, true) => most > low + 1 + low / 4,
            (false, false) => most > FLOOR,
        };
        self.strikes = if strikes { self.strikes + 1 } else { 0 };
        self.least = self.least.min(most);
        if self.leftover {
            self.least = self.least.max(low);
        }
        if self.strikes > STRIKES[usize::from(has_yielded)] {
            return Shown::Pushes;
        }
        let yields = most <= FLOOR || most < self.first && most == self.least;
        if yields && self.rounds >= ROUNDS { Shown::Yields } else { Shown::Nothing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFERRAL: Span = Span::from_millis(150);

    /// What rounds with these backlogs show, up to the first verdict.
    fn shown(backlogs: &[usize]) -> (Shown, usize) {
        let mut evidence = Evidence::new(Time::ZERO);
        for (round, &most) in backlogs.iter().enumerate() {
            let end = Time::ZERO + DEFERRAL * ROUND * (round as u64 + 1);
            match evidence.observe(most, end, DEFERRAL, false) {
                Shown::Nothing => {}
                verdict => return (verdict, round + 1),
            }
        }
        (Shown::Nothing, backlogs.len())
    }

    #[test]
    fn who_shrinks_yields_and_who_grows_pushes() {
        assert_eq!(shown(&[20, 18, 17, 16]), (Shown::Yields, 4));
        assert_eq!(shown(&[20, 18, 18, 19, 17]), (Shown::Yields, 5), "it may take a round longer");
        assert_eq!(shown(&[20, 10, 11, 12]), (Shown::Pushes, 4));
        assert_eq!(shown(&[20, 10, 12]), (Shown::Pushes, 3), "two packets more are enough");
    }

    #[test]
    fn the_first_round_counts_for_nothing() {
        assert_eq!(shown(&[40, 20, 21, 22]), (Shown::Pushes, 4), "a loss before the probe is no yielding");
        assert_eq!(shown(&[2, 20, 19, 18]), (Shown::Yields, 4));
    }

    #[test]
    fn who_stays_pushes_unless_nothing_less_is_possible() {
        assert_eq!(shown(&[20; 9]), (Shown::Pushes, 5));
        assert_eq!(shown(&[FLOOR; 9]), (Shown::Yields, 4));
        assert_eq!(shown(&[FLOOR + 1; 9]), (Shown::Pushes, 5));
    }

    #[test]
    fn a_round_is_as_long_as_two_deferrals() {
        let mut evidence = Evidence::new(Time::ZERO);
        let early = Time::ZERO + DEFERRAL * ROUND - Span::from_nanos(1);
        for _ in 0..100 {
            assert_eq!(evidence.observe(9, early, DEFERRAL, false), Shown::Nothing);
        }
        assert_eq!(evidence.rounds, 0);
        evidence.observe(4, early + Span::from_nanos(1), DEFERRAL, false);
        assert_eq!((evidence.rounds, evidence.recent[2]), (1, 9), "the greatest backlog counts");
    }

    /// A flow that has yielded may grow by what is left over, but not for ever.
    #[test]
    fn leftovers_excuse_growth_for_a_while() {
        let grown = |leftover: bool| {
            let mut evidence = Evidence::new(Time::ZERO);
            (1..100).find(|&round| {
                if leftover {
                    evidence.had_leftover();
                }
                let backlog = 8 + 3 * (round as usize).saturating_sub(4);
                let end = Time::ZERO + DEFERRAL * ROUND * round;
                evidence.observe(backlog, end, DEFERRAL, true) == Shown::Pushes
            })
        };
        assert_eq!(grown(false), Some(5));
        assert!((6..15).contains(&grown(true).unwrap()), "{:?}", grown(true));
    }

    #[test]
    fn leftovers_excuse_no_leap() {
        let mut evidence = Evidence::new(Time::ZERO);
        for round in 1..10 {
            evidence.had_leftover();
            let end = Time::ZERO + DEFERRAL * ROUND * round;
            assert_ne!(evidence.observe(2, end, DEFERRAL, true), Shown::Pushes);
        }
        evidence.had_leftover();
        assert_eq!(evidence.observe(50, Time::ZERO + DEFERRAL * ROUND * 10, DEFERRAL, true), Shown::Pushes);
    }
}
