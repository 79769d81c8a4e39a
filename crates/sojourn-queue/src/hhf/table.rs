//! The flows that were caught.

use alloc::vec;
use alloc::vec::Vec;
use sojourn_core::{Span, Time};

/// Chains (HH_FLOWS_CNT). A chain holds two flows where the table has its 2048.
const CHAINS: usize = 1024;

/// Heavy flows by hash, until they are silent for long.
#[derive(Debug)]
pub(super) struct Table {
    chains: Vec<Vec<Heavy>>,
    flows: usize,
    max_flows: usize,
    evict_timeout: Span,
}

#[derive(Clone, Copy, Debug)]
struct Heavy {
    flow: u32,
    seen: Time,
}

impl Table {
    pub(super) fn new(evict_timeout: Span, max_flows: usize) -> Table {
        Table { chains: vec![Vec::new(); CHAINS], flows: 0, max_flows, evict_timeout }
    }

    /// Flows that have a place, those included that are silent and have not lost it yet.
    pub(super) fn flows(&self) -> usize {
        self.flows
    }

    /// Whether `flow`, which sends now, is heavy. Silent flows that are met on the way lose their places, but for the
    /// last one of a chain, whose place waits for the next.
    #[inline]
    pub(super) fn sees(&mut self, flow: u32, now: Time) -> bool {
        let chain = &mut self.chains[flow as usize % CHAINS];
        let mut index = 0;
        while index < chain.len() {
            let heavy = chain[index];
            let expired = now > heavy.seen + self.evict_timeout;
            if expired && index + 1 == chain.len() {
                return false;
            } else if expired {
                chain.remove(index);
                self.flows -= 1;
            } else if heavy.flow == flow {
                chain[index].seen = now;
                return true;
            } else {
                index += 1;
            }
        }
        false
    }

    /// Makes `flow` heavy, if there is a place.
    pub(super) fn admit(&mut self, flow: u32, now: Time) -> bool {
        let chain = &mut self.chains[flow as usize % CHAINS];
        let heavy = Heavy { flow, seen: now };
        if let Some(silent) = chain.iter_mut().find(|heavy| now > heavy.seen + self.evict_timeout) {
            *silent = heavy;
            return true;
        }
        if self.flows >= self.max_flows {
            return false;
        }
        chain.push(heavy);
        self.flows += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn flows_stay_while_they_send() {
        let mut table = Table::new(Span::from_secs(1), 8);
        assert!(!table.sees(5, at(0)));
        assert!(table.admit(5, at(0)));
        assert!(table.sees(5, at(900)));
        assert!(table.sees(5, at(1900)), "exactly a second is not too long");
        assert!(!table.sees(5 + 1024, at(1900)), "another one of the same chain");
        assert!(!table.sees(5, at(2901)));
        assert!(!table.sees(5, at(2901)), "being seen does not bring it back");
    }

    #[test]
    fn the_table_has_so_many_places() {
        let mut table = Table::new(Span::from_secs(1), 2);
        assert!(table.admit(1, at(0)) && table.admit(2, at(0)));
        assert!(!table.admit(3, at(0)));
        // A silent flow keeps its place until its own chain is visited.
        assert!(!table.admit(3, at(5000)));
        assert!(table.admit(1 + 1024, at(5000)), "the place of flow 1");
        assert_eq!(table.flows(), 2);
        assert!(table.sees(1 + 1024, at(5000)) && !table.sees(1, at(5000)));
    }

    #[test]
    fn silent_flows_leave_chains() {
        let mut table = Table::new(Span::from_secs(1), 9);
        for (flow, millis) in [(1, 0), (1025, 0), (2049, 5000), (3073, 0)] {
            assert!(table.admit(flow, at(millis)));
        }
        // 2049 took the place of 1, and at the time 0 of its coming 3073 met nobody silent.
        let mut chained = || {
            assert!(!table.sees(4097, at(5500)));
            table.chains[1].iter().map(|heavy| heavy.flow).collect::<Vec<_>>()
        };
        assert_eq!(chained(), [2049, 3073], "the last one stays");
        assert_eq!(table.flows(), 2);
    }
}
