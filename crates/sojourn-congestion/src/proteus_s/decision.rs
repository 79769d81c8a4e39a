//! Which rate comes next (`PccVivaceSender`).

use crate::replayable::ReplayableRandom;

/// Pairs of intervals in PROBING, one at a higher and one at a lower rate (`kNumIntervalGroupsInProbingScavenger`).
const PAIRS: usize = 2;
/// Intervals of PROBING that are judged together.
pub(super) const PROBED: usize = 2 * PAIRS;
/// Part by which PROBING goes up and down (`kProbingStepSize`).
const STEP: f64 = 0.05;
/// The first bound of a change, as a part of the rate, and by how much it grows with each change that was bounded
/// (`kInitialMaxStepSize`, `kIncrementalStepSize`).
const FIRST_BOUND: f64 = 0.05;
const BOUND_STEP: f64 = 0.05;
/// A direction that is kept makes changes larger by this power of half its rounds (`kRateChangeAmplifyExponent`).
const AMPLIFY: f64 = 1.2;
/// Least change, in bit/s (`kMinRateChange`).
const LEAST_CHANGE: f64 = 500e3;
/// Bits per second in one unit of a gradient of utility (`kMegabit`, which the authors use both ways).
const MEGABIT: f64 = 1024.0 * 1024.0;

/// The states of the authors' code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    Starting,
    Probing,
    DecisionMade,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Direction {
    Increase,
    Decrease,
}

/// The rate of an interval and what came of it.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(super) struct Judged {
    pub(super) rate: f64,
    pub(super) utility: f64,
}

/// The state machine. Rates are in bit/s.
#[derive(Clone, Debug)]
pub(super) struct RateControl {
    pub(super) mode: Mode,
    /// The rate around which PROBING probes, and at which the other states send.
    pub(super) rate: f64,
    pub(super) min: f64,
    direction: Direction,
    rounds: u32,
    latest: Judged,
    /// Changes that were bounded, less those that were not (`incremental_rate_change_step_allowance_`).
    allowance: u32,
    random: ReplayableRandom,
}

/// What a pair says: its better interval is the faster one, or not.
fn wanted(pair: &[Judged]) -> Direction {
    let faster = pair[0].rate > pair[1].rate;
    let better = pair[0].utility > pair[1].utility;
    if faster == better { Direction::Increase } else { Direction::Decrease }
}

fn better(pair: &[Judged]) -> Judged {
    if pair[0].utility > pair[1].utility { pair[0] } else { pair[1] }
}

impl RateControl {
    pub(super) fn new(rate: f64, min: f64, random: ReplayableRandom) -> RateControl {
        RateControl {
            mode: Mode::Starting,
            rate,
            min,
            direction: Direction::Increase,
            rounds: 1,
            latest: Judged::default(),
            allowance: 0,
            random,
        }
    }

    /// The last interval that a decision went by.
    pub(super) fn latest(&self) -> Judged {
        self.latest
    }

    /// How many intervals are judged together.
    pub(super) fn intervals(&self) -> usize {
        if self.mode == Mode::Probing { PROBED } else { 1 }
    }

    /// The rate of the next interval, after `sent` that are to be judged: in PROBING which of a pair goes first is random
    /// (`MaybeSetSendingRate`).
    pub(super) fn next_rate(&mut self, sent: usize) -> f64 {
        if self.mode != Mode::Probing || sent >= PROBED {
            return self.rate;
        }
        let increase =
            if sent.is_multiple_of(2) { self.random.chance(0.5) } else { self.direction == Direction::Decrease };
        self.direction = if increase { Direction::Increase } else { Direction::Decrease };
        self.rate * self.step()
    }

    fn step(&self) -> f64 {
        if self.direction == Direction::Increase { 1.0 + STEP } else { 1.0 - STEP }
    }

    /// `PccVivaceSender::OnUtilityAvailable`.
    pub(super) fn decide(&mut self, judged: &[Judged]) {
        match self.mode {
            Mode::Starting if judged[0].utility > self.latest.utility => {
                self.rate *= 2.0;
                self.latest = judged[0];
                self.rounds += 1;
            }
            Mode::Starting => self.leave_starting(),
            Mode::Probing => self.end_probing(judged),
            Mode::DecisionMade if self.keeps_direction(judged[0]) => {
                self.rounds += 1;
                self.advance(judged);
                self.latest = judged[0];
            }
            Mode::DecisionMade => self.turn_back(judged),
        }
    }

    /// Back to the last rate that was good (`PccSender::EnterProbing`).
    pub(super) fn leave_starting(&mut self) {
        self.rate *= 0.5;
        self.mode = Mode::Probing;
        self.rounds = 1;
    }

    fn end_probing(&mut self, judged: &[Judged]) {
        match self.agreed(judged) {
            Some(direction) => {
                self.direction = direction;
                for pair in judged.chunks_exact(2).filter(|pair| wanted(pair) == direction) {
                    self.latest = better(pair);
                }
                self.rate *= self.step();
                self.rounds = 1;
                self.advance(judged);
            }
            None => self.rounds += 1,
        }
        if (self.rounds > 1 || self.mode == Mode::DecisionMade) && self.rate <= self.min {
            self.rate = self.min;
            self.allowance = 0;
            self.rounds = 1;
            self.mode = Mode::Starting;
        }
    }

    /// The direction of all pairs, or down where most say so (`CanMakeDecision`, `SetRateChangeDirection`); none where the
    /// application had too little to send.
    fn agreed(&self, judged: &[Judged]) -> Option<Direction> {
        if judged.len() < PROBED {
            return None;
        }
        let down = judged.chunks_exact(2).filter(|pair| wanted(pair) == Direction::Decrease).count();
        match down {
            0 => Some(Direction::Increase),
            _ if down > PAIRS / 2 => Some(Direction::Decrease),
            _ => None,
        }
    }

    fn keeps_direction(&self, now: Judged) -> bool {
        let pair = [now, self.latest];
        now.utility != self.latest.utility && now.rate != self.latest.rate && wanted(&pair) == self.direction
    }

    /// `EnterDecisionMade`, once the round is counted.
    fn advance(&mut self, judged: &[Judged]) {
        let change = self.change(judged);
        self.rate += if self.direction == Direction::Increase { change } else { -change };
        self.mode = Mode::DecisionMade;
        if self.rate < self.min {
            self.rate = self.min;
            self.mode = Mode::Probing;
            self.rounds = 1;
            self.allowance = 0;
        }
    }

    /// The last change is taken back (`PccVivaceSender::EnterProbing`).
    fn turn_back(&mut self, judged: &[Judged]) {
        self.rounds = 1;
        let change = self.change(judged);
        self.rate -= if self.direction == Direction::Increase { change } else { -change };
        if self.rate < self.min {
            self.rate = self.min;
            self.allowance = 0;
        }
        self.mode = Mode::Probing;
    }

    /// `ComputeRateChange`: along the gradient of utility, faster the longer a direction is kept, within a bound that grows.
    fn change(&mut self, judged: &[Judged]) -> f64 {
        let (rates, utilities) = if self.mode == Mode::Probing {
            let agreeing = judged.chunks_exact(2).filter(|pair| wanted(pair) == self.direction);
            let differences = agreeing.map(|pair| (pair[0].utility - pair[1].utility).abs()).sum::<f64>();
            (judged[0].rate - judged[1].rate, differences / PAIRS as f64)
        } else {
            (judged[0].rate - self.latest.rate, judged[0].utility - self.latest.utility)
        };
        let mut change = match rates.abs() {
            // The authors assert that this is never so.
            0.0 => 0.0,
            rates => MEGABIT * utilities.abs() / rates * MEGABIT,
        };
        if self.mode == Mode::DecisionMade {
            change *= libm::pow(f64::from(u32::div_ceil(self.rounds, 2)), AMPLIFY);
        } else {
            self.allowance = 0;
        }
        let bound = self.rate * (FIRST_BOUND + BOUND_STEP * f64::from(self.allowance));
        if change > bound {
            change = bound;
            self.allowance += 1;
        } else {
            self.allowance = self.allowance.saturating_sub(1);
        }
        change.max(LEAST_CHANGE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::Stream;

    fn control(mode: Mode, rate: f64) -> RateControl {
        let mut control = RateControl::new(rate, 500e3, ReplayableRandom::new(Stream::new(1, "control")));
        control.mode = mode;
        control
    }

    fn judged(rate: f64, utility: f64) -> Judged {
        Judged { rate, utility }
    }

    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} instead of {expected}");
    }

    #[test]
    fn starting_doubles_while_utility_grows() {
        let mut control = control(Mode::Starting, 1e6);
        control.decide(&[judged(1e6, 1.0)]);
        control.decide(&[judged(2e6, 1.8)]);
        assert_eq!((control.mode, control.rate), (Mode::Starting, 4e6));
        control.decide(&[judged(4e6, 1.7)]);
        assert_eq!((control.mode, control.rate), (Mode::Probing, 2e6));
    }

    /// Each pair has a higher and a lower rate, and which comes first differs.
    #[test]
    fn probing_in_pairs() {
        let mut control = control(Mode::Probing, 10e6);
        let mut firsts = [0; 2];
        for _ in 0..50 {
            let rates = [0, 1, 2, 3, 4].map(|sent| control.next_rate(sent));
            for pair in rates[..4].chunks_exact(2) {
                near(pair[0] + pair[1], 20e6);
                near((pair[0] - pair[1]).abs(), 1e6);
                firsts[usize::from(pair[0] > pair[1])] += 1;
            }
            assert_eq!(rates[4], 10e6, "what fills the time until all is known");
        }
        assert!(firsts.iter().all(|count| *count > 30), "{firsts:?}");
    }

    fn probed(low: [f64; 2], high: [f64; 2]) -> [Judged; PROBED] {
        [judged(19e6, low[0]), judged(21e6, high[0]), judged(21e6, high[1]), judged(19e6, low[1])]
    }

    /// Both pairs say up: 21 Mbit/s, and from there along the gradient, by a twentieth at most.
    #[test]
    fn a_decision_of_all_pairs() {
        let mut control = control(Mode::Probing, 20e6);
        control.decide(&probed([1.0, 1.0], [5.0, 6.0]));
        assert_eq!(control.mode, Mode::DecisionMade);
        near(control.rate, 21e6 * 1.05);
        assert_eq!((control.latest, control.allowance), (judged(21e6, 6.0), 1));
        // Utilities that differ by 0.9 and 1.1 over 2 Mbit/s: 2^20 * 1 / 2e6 * 2^20 = 550 kbit/s.
        control.mode = Mode::Probing;
        control.rate = 20e6;
        control.decide(&probed([1.0, 1.0], [1.9, 2.1]));
        near(control.rate, 21e6 + MEGABIT * MEGABIT / 2e6);
        assert_eq!(control.allowance, 0);
    }

    #[test]
    fn pairs_that_disagree_decide_nothing() {
        let mut control = control(Mode::Probing, 20e6);
        control.decide(&probed([1.0, 3.0], [2.0, 2.0]));
        assert_eq!((control.mode, control.rate, control.rounds), (Mode::Probing, 20e6, 2));
        // An application that had too little to send.
        control.decide(&probed([1.0, 1.0], [2.0, 2.0])[..3]);
        assert_eq!((control.mode, control.rate, control.rounds), (Mode::Probing, 20e6, 3));
    }

    /// Down while that helps, in steps whose bound grows by a twentieth; then one step back.
    #[test]
    fn moving_and_turning_back() {
        let mut control = control(Mode::Probing, 20e6);
        control.decide(&probed([9.0, 9.0], [1.0, 1.0]));
        let mut rate = 19e6 * 0.95;
        near(control.rate, rate);
        for step in 2..5 {
            control.decide(&[judged(control.rate, 9.0 * f64::from(step))]);
            rate *= 1.0 - 0.05 * f64::from(step);
            near(control.rate, rate);
            assert_eq!((control.mode, control.rounds), (Mode::DecisionMade, step as u32));
        }
        let latest = control.latest.utility;
        control.decide(&[judged(control.rate, latest - 100.0)]);
        assert_eq!((control.mode, control.rounds), (Mode::Probing, 1));
        near(control.rate, rate * 1.25);
    }

    /// Half a unit of utility for 20 Mbit/s: 2^20 * 0.5 / 20e6 * 2^20 = 27.5 kbit/s, which 500 kbit/s stand in for; 40 times
    /// the gradient is more than that, and it counts for more with each round that keeps the direction.
    #[test]
    fn changes_follow_the_gradient() {
        let mut control = control(Mode::DecisionMade, 100e6);
        control.latest = judged(80e6, 1.0);
        assert_eq!(control.change(&[judged(100e6, 1.5)]), 500e3);
        near(control.change(&[judged(100e6, 21.0)]), MEGABIT * MEGABIT * 1e-6);
        control.rounds = 3;
        near(control.change(&[judged(100e6, 21.0)]), MEGABIT * MEGABIT * 1e-6 * f64::powf(2.0, 1.2));
        // No difference of rates: the least change.
        assert_eq!(control.change(&[judged(80e6, 21.0)]), 500e3);
    }

    /// At the least rate it stays in PROBING for a round, and then begins again.
    #[test]
    fn the_least_rate() {
        let mut control = control(Mode::Probing, 0.6e6);
        control.decide(&probed([2.0, 2.0], [1.0, 1.0]));
        assert_eq!((control.mode, control.rate), (Mode::Probing, 0.5e6));
        control.decide(&probed([2.0, 1.0], [1.0, 2.0]));
        assert_eq!((control.mode, control.rate), (Mode::Starting, 0.5e6));
        // Without growth of utility it goes on from half of that.
        control.decide(&[judged(0.5e6, 0.0)]);
        assert_eq!((control.mode, control.rate), (Mode::Probing, 0.25e6));
    }
}
