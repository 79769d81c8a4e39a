//! Sending over a recorded link.

use sojourn_core::{Span, Time};
use sojourn_scenario::Trace;
use std::sync::Arc;

/// The place in a recording that a link has reached.
///
/// Each opportunity carries up to 1500 bytes at its instant. What a packet leaves of an opportunity goes
/// to the packets behind it, if they are already waiting, and a packet that finds too little continues
/// in the next opportunity. Opportunities that find nothing to send are lost. The recording repeats.
#[derive(Debug)]
pub struct Opportunities {
    trace: Arc<Trace>,
    period: Span,
    /// Start of the present repetition.
    base: Time,
    /// Next unused opportunity of it.
    index: usize,
    /// What is left of the opportunity at `credit_at`.
    credit_bytes: u32,
    credit_at: Time,
}

impl Opportunities {
    /// The start of `trace`, which begins at `since`.
    pub fn new(trace: Arc<Trace>, since: Time) -> Opportunities {
        let period = trace.period();
        Opportunities { trace, period, base: since, index: 0, credit_bytes: 0, credit_at: Time::NEVER }
    }

    /// When a packet of `bytes` bytes, first in line at `now`, has been sent.
    pub fn transmit(&mut self, bytes: u32, now: Time) -> Time {
        if self.credit_at != now {
            self.credit_bytes = 0;
            self.skip_to(now);
        }
        let mut sent_at = now;
        while self.credit_bytes < bytes {
            sent_at = self.next();
            self.credit_bytes += Trace::OPPORTUNITY_BYTES;
        }
        self.credit_bytes -= bytes;
        self.credit_at = sent_at;
        sent_at
    }

    fn peek(&self) -> Time {
        self.base + Span::from_millis(self.trace.opportunities_ms[self.index])
    }

    fn next(&mut self) -> Time {
        let time = self.peek();
        self.index += 1;
        if self.index == self.trace.opportunities_ms.len() {
            self.index = 0;
            self.base += self.period;
        }
        time
    }

    /// Loses the opportunities before `now`.
    fn skip_to(&mut self, now: Time) {
        // An opportunity at `now` itself, even as the last of a repetition, can still be used.
        let repetitions = now.since(self.base).as_nanos().saturating_sub(1) / self.period.as_nanos();
        if repetitions > 0 {
            self.base += self.period * repetitions;
            self.index = 0;
        }
        let into_ms = now.since(self.base).as_nanos().div_ceil(1_000_000);
        let from = &self.trace.opportunities_ms[self.index..];
        self.index += from.partition_point(|&ms| ms < into_ms);
    }

    /// Bytes that `trace`, which began at [`Time::ZERO`], could carry from `from` on and before `to`.
    pub fn capacity_bytes(trace: &Trace, from: Time, to: Time) -> f64 {
        let before = |time: Time| {
            let period = trace.period().as_nanos();
            let repetitions = time.as_nanos().saturating_sub(1) / period;
            let within_ms = (time.as_nanos() - repetitions * period).div_ceil(1_000_000);
            let partial = trace.opportunities_ms.partition_point(|&ms| ms < within_ms);
            repetitions * trace.opportunities_ms.len() as u64 + partial as u64
        };
        (before(to) - before(from)) as f64 * f64::from(Trace::OPPORTUNITY_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn link(opportunities_ms: &[u64]) -> Opportunities {
        let trace = Trace { name: "test".into(), opportunities_ms: opportunities_ms.to_vec() };
        Opportunities::new(Arc::new(trace), Time::ZERO)
    }

    #[test]
    fn one_full_packet_per_opportunity() {
        let mut link = link(&[2, 5, 5, 10]);
        assert_eq!(link.transmit(1500, at(0)), at(2));
        assert_eq!(link.transmit(1500, at(2)), at(5));
        assert_eq!(link.transmit(1500, at(5)), at(5));
        assert_eq!(link.transmit(1500, at(5)), at(10));
    }

    #[test]
    fn the_recording_repeats() {
        let mut link = link(&[2, 10]);
        let sent: Vec<Time> = (0..5)
            .scan(at(0), |now, _| {
                *now = link.transmit(1500, *now);
                Some(*now)
            })
            .collect();
        assert_eq!(sent, [2, 10, 12, 20, 22].map(at));
    }

    #[test]
    fn small_packets_share_and_large_ones_continue() {
        let mut link = link(&[2, 5, 9]);
        assert_eq!(link.transmit(1000, at(0)), at(2));
        assert_eq!(link.transmit(400, at(2)), at(2));
        assert_eq!(link.transmit(1000, at(2)), at(5));
        assert_eq!(link.transmit(600, at(5)), at(5));
        assert_eq!(link.transmit(1, at(5)), at(9));
    }

    #[test]
    fn what_nobody_waits_for_is_lost() {
        let mut link = link(&[2, 5, 9]);
        assert_eq!(link.transmit(1000, at(0)), at(2));
        // The rest of the opportunity at 2 ms and the one at 5 ms passed unused.
        assert_eq!(link.transmit(1500, at(6)), at(9));
        assert_eq!(link.transmit(1500, at(100)), at(101));
    }

    #[test]
    fn capacity_counts_opportunities() {
        let trace = Trace { name: "test".into(), opportunities_ms: vec![2, 5, 5, 10] };
        let bytes = |from, to| Opportunities::capacity_bytes(&trace, at(from), at(to)) / 1500.0;
        assert_eq!(bytes(0, 10), 3.0);
        assert_eq!(bytes(0, 11), 4.0);
        assert_eq!(bytes(0, 20), 7.0);
        assert_eq!(bytes(5, 6), 2.0);
        assert_eq!(bytes(6, 10), 0.0);
        assert_eq!(bytes(0, 1000), 399.0);
    }
}
