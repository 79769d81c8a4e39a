//! Which receiver's packets a device sends next.

use super::aql::Aql;
use sojourn_core::Span;
use std::collections::VecDeque;

/// Deficit round robin over receivers in units of air time, as Linux's mac80211 does it (`ieee80211_next_txq`): who owes air
/// time goes to the end with another quantum, and who becomes active comes first.
#[derive(Debug)]
pub struct AirtimeDrr {
    /// Receivers with something to send, the next one first.
    active: VecDeque<usize>,
    is_active: Vec<bool>,
    /// Air time that each may still use, in ns.
    deficits: Vec<i64>,
    quanta: Vec<i64>,
}

/// What a receiver of weight 1 gets for a round (IEEE80211_DEFAULT_AIRTIME_WEIGHT, in us).
const QUANTUM: Span = Span::from_micros(256);

impl AirtimeDrr {
    /// No receiver has anything; `weights` are their shares.
    pub fn new(weights: impl Iterator<Item = f64>) -> AirtimeDrr {
        let quanta: Vec<i64> = weights.map(|weight| (QUANTUM.mul_f64(weight).as_nanos() as i64).max(1)).collect();
        AirtimeDrr {
            active: VecDeque::new(),
            is_active: vec![false; quanta.len()],
            deficits: vec![0; quanta.len()],
            quanta,
        }
    }

    /// There is something for `receiver`.
    pub fn wake(&mut self, receiver: usize) {
        if !std::mem::replace(&mut self.is_active[receiver], true) {
            self.active.push_front(receiver);
        }
    }

    /// Whose turn it is.
    pub fn next(&mut self) -> Option<usize> {
        self.skip_rounds();
        loop {
            let &receiver = self.active.front()?;
            if self.deficits[receiver] >= 0 {
                return Some(receiver);
            }
            self.deficits[receiver] += self.quanta[receiver];
            self.active.rotate_left(1);
        }
    }

    /// Whose turn it is among those whom `aql` admits, where a device's firmware holds `total`. What it holds of a receiver
    /// counts as used.
    pub fn next_admitted(&mut self, aql: &Aql, total: Span) -> Option<usize> {
        let AirtimeDrr { active, deficits, quanta, .. } = self;
        let admits = |one: usize| aql.admits(one, total);
        let owed = |deficits: &[i64], one: usize| aql.pending(one).as_nanos() as i64 - deficits[one];
        // Rounds that give no admitted receiver its turn are done at once.
        let rounds = |&one: &usize| owed(deficits, one).max(0) / quanta[one];
        let rounds = active.iter().filter(|&&one| admits(one)).map(rounds).min()?;
        for &one in active.iter() {
            let enough = (owed(deficits, one).max(0) + quanta[one] - 1) / quanta[one];
            deficits[one] += rounds.min(enough) * quanta[one];
        }
        loop {
            let &receiver = active.front()?;
            let owes = owed(deficits, receiver) > 0;
            if !owes && admits(receiver) {
                return Some(receiver);
            }
            if owes {
                deficits[receiver] += quanta[receiver];
            }
            active.rotate_left(1);
        }
    }

    /// Where everybody owes many quanta, all rounds but the last that change nothing are done at once.
    fn skip_rounds(&mut self) {
        let rounds = |&one: &usize| (-self.deficits[one]).max(0) / self.quanta[one];
        let Some(rounds @ 1..) = self.active.iter().map(rounds).min() else { return };
        for &one in &self.active {
            self.deficits[one] += rounds * self.quanta[one];
        }
    }

    /// There is nothing for the receiver whose turn it is.
    pub fn sleep(&mut self) {
        if let Some(receiver) = self.active.pop_front() {
            self.is_active[receiver] = false;
        }
    }

    /// `receiver` has used the air, to send or to receive.
    pub fn charge(&mut self, receiver: usize, time: Span) {
        self.deficits[receiver] -= time.as_nanos() as i64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serves `drr` so many times at `costs` in us, and gives the air time of each receiver in us.
    fn served(drr: &mut AirtimeDrr, costs: &[u64], times: usize) -> Vec<u64> {
        let mut air = vec![0; costs.len()];
        for _ in 0..times {
            let next = drr.next().expect("all are active");
            drr.charge(next, Span::from_micros(costs[next]));
            air[next] += costs[next];
        }
        air
    }

    #[test]
    fn air_time_is_shared_by_weight() {
        for weights in [[1.0, 1.0, 1.0], [1.0, 2.0, 5.0]] {
            let mut drr = AirtimeDrr::new(weights.into_iter());
            (0..3).for_each(|receiver| drr.wake(receiver));
            let air = served(&mut drr, &[200, 3_900, 1_500], 30_000);
            let (total, all): (u64, f64) = (air.iter().sum(), weights.iter().sum());
            for (air, weight) in air.iter().zip(weights) {
                let share = *air as f64 / total as f64;
                assert!((share - weight / all).abs() < 0.002, "{weights:?}: {air}");
            }
        }
    }

    #[test]
    fn who_becomes_active_comes_first() {
        let mut drr = AirtimeDrr::new([1.0; 3].into_iter());
        drr.wake(0);
        drr.wake(1);
        served(&mut drr, &[100, 100, 100], 50);
        drr.wake(2);
        assert_eq!(drr.next(), Some(2));
        drr.sleep();
        assert_ne!(drr.next(), Some(2));
    }

    /// A debt of hours is not paid round by round.
    #[test]
    fn long_debts_cost_no_time() {
        let mut drr = AirtimeDrr::new([1.0, 1.0].into_iter());
        drr.charge(0, Span::from_secs(10_000_000));
        drr.charge(1, Span::from_secs(9_000_000));
        drr.wake(0);
        drr.wake(1);
        assert_eq!(drr.next(), Some(1));
        assert!(drr.deficits[1] < 256_000 && drr.deficits[0] < -900_000_000_000);
    }

    #[test]
    fn nobody_has_a_turn_where_nothing_waits() {
        let mut drr = AirtimeDrr::new([1.0].into_iter());
        assert_eq!(drr.next(), None);
        drr.wake(0);
        drr.sleep();
        assert_eq!(drr.next(), None);
    }
}
