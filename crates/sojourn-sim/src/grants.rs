//! Links whose packets wait for a grant: the upstream of cable and of passive optical networks.
//!
//! A modem asks for room for what has arrived, and learns some time later when it may send. The grants are kept beside
//! the queue, one for each packet that waits, so it does not matter which packet the discipline sends under one: a modem
//! asks for bytes, not for packets. Where packets are dropped after they were asked for, the latest grants go unused.

use sojourn_core::{Span, Time};
use sojourn_scenario::Medium;
use std::collections::VecDeque;

/// The grants of a link.
#[derive(Debug)]
pub struct Grants {
    medium: Medium,
    /// The latest request, and when what it asked for may be sent.
    latest: (Time, Time),
    /// From when on each waiting packet may be sent, in order.
    from: VecDeque<Time>,
}

/// The first multiple of `step` that is not before `time`.
fn at_step(time: Time, step: Span) -> Time {
    Time::from_nanos(time.as_nanos().div_ceil(step.as_nanos()) * step.as_nanos())
}

impl Grants {
    /// No packet waits.
    pub fn new(medium: Medium) -> Grants {
        Grants { medium, latest: (Time::ZERO, Time::ZERO), from: VecDeque::new() }
    }

    /// From when on a packet may be sent that arrives `now`.
    fn grant(&mut self, now: Time) -> Time {
        match self.medium {
            Medium::Docsis { interval, delay, single } => {
                let (requested, granted) = self.latest;
                let request = if !single || now > granted {
                    at_step(now, interval)
                } else if now <= requested {
                    // It is part of the request that has still to go out.
                    requested
                } else {
                    // One is unanswered: the next goes with what it grants.
                    granted
                };
                if request > requested || granted == Time::ZERO {
                    self.latest = (request, at_step(request + delay, interval));
                }
                self.latest.1
            }
            Medium::Gpon { frame, cycle, delay } => at_step(at_step(now, frame), cycle) + delay,
        }
    }

    /// `packets` wait `now`: asks for those that have come, gives up what those that are gone had.
    #[inline]
    pub fn on_backlog(&mut self, packets: usize, now: Time) {
        while self.from.len() < packets {
            let grant = self.grant(now);
            self.from.push_back(grant);
        }
        self.from.truncate(packets);
    }

    /// From when on the first packet may be sent.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.from.front().copied()
    }

    /// A packet is sent.
    #[inline]
    pub fn take(&mut self) {
        self.from.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn micros(micros: u64) -> Time {
        Time::from_nanos(micros * 1_000)
    }

    fn docsis(single: bool) -> Grants {
        Grants::new(Medium::Docsis { interval: Span::from_millis(2), delay: Span::from_millis(4), single })
    }

    fn gpon() -> Grants {
        let frame = Span::from_micros(125);
        Grants::new(Medium::Gpon { frame, cycle: frame * 16, delay: frame * 4 })
    }

    /// Grants of packets that arrive at these times, in us.
    fn granted(grants: &mut Grants, arrivals: &[u64]) -> Vec<u64> {
        arrivals.iter().map(|&at| grants.grant(micros(at)).as_nanos() / 1000).collect()
    }

    #[test]
    fn a_modem_asks_at_the_start_of_an_interval() {
        let arrivals = [0, 1, 1_999, 2_000, 2_001, 10_500];
        assert_eq!(granted(&mut docsis(false), &arrivals), [4_000, 6_000, 6_000, 6_000, 8_000, 16_000]);
    }

    /// The first request goes out at 2 ms; what comes before its grant at 6 ms is asked for then, and so on.
    #[test]
    fn a_modem_with_one_request_waits_for_the_answer() {
        let arrivals = [1, 1_000, 2_000, 2_001, 5_000, 6_000, 6_001, 10_500, 30_001];
        let expected = [6_000, 6_000, 6_000, 10_000, 10_000, 10_000, 14_000, 18_000, 36_000];
        // 10.5 ms is after the grant at 10 ms, at which the request for 6.001 ms went out, so it goes with that of 14 ms.
        assert_eq!(granted(&mut docsis(true), &arrivals), expected);
    }

    #[test]
    fn an_onu_is_allocated_room_after_the_cycle_in_which_it_reports() {
        assert_eq!(granted(&mut gpon(), &[0, 1, 1_999, 2_000, 2_001]), [500, 2_500, 2_500, 2_500, 4_500]);
    }

    #[test]
    fn what_is_dropped_gives_up_the_latest_grants() {
        let mut grants = docsis(false);
        grants.on_backlog(2, micros(1));
        grants.on_backlog(3, micros(2_001));
        assert_eq!(grants.from, [6_000, 6_000, 8_000].map(micros));
        grants.take();
        grants.on_backlog(1, micros(6_000));
        assert_eq!(grants.from, [micros(6_000)]);
        grants.on_backlog(0, micros(6_000));
        assert_eq!(grants.next(), None);
    }

    proptest! {
        /// Least and most latency, and no grant before an earlier one.
        #[test]
        fn grants_come_in_order_and_within_their_bounds(mut arrivals in prop::collection::vec(0u64..50_000, 1..50)) {
            arrivals.sort_unstable();
            for (mut grants, least, most) in [(docsis(false), 4_000, 6_000), (docsis(true), 4_000, 10_000), (gpon(), 500, 2_500)] {
                let times = granted(&mut grants, &arrivals);
                for (arrival, time) in arrivals.iter().zip(&times) {
                    let wait = time - arrival;
                    prop_assert!((least..=most).contains(&wait), "{wait} at {arrival}");
                }
                prop_assert!(times.is_sorted());
            }
        }
    }
}
