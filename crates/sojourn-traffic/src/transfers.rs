//! Transfers that arrive at random, each over a connection of its own.

use super::sizes::Draw;
use super::{Action, Activity, Answer, Completed};
use sojourn_core::{Span, Stream, Time};
use std::collections::VecDeque;

/// A Poisson process of transfers, of which one is under way at a time.
#[derive(Debug)]
pub struct Transfers {
    interval: Span,
    sizes: Draw,
    /// Draws times; sizes have a stream of their own, so that neither changes the other.
    arrivals: Stream,
    arrival: Time,
    /// When those that wait arrived.
    waiting: VecDeque<Time>,
    under_way: Option<Transfer>,
    /// Bytes of all transfers so far.
    total_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Transfer {
    arrived: Time,
    bytes: u64,
}

impl Transfers {
    /// Arrivals every `interval` in the mean, with sizes from `sizes`.
    pub fn new(interval: Span, sizes: Draw, arrivals: Stream) -> Transfers {
        Transfers {
            interval,
            sizes,
            arrivals,
            arrival: Time::NEVER,
            waiting: VecDeque::new(),
            under_way: None,
            total_bytes: 0,
        }
    }

    fn draw_arrival(&mut self, now: Time) {
        self.arrival = now + Span::from_secs_f64(self.arrivals.exponential(self.interval.as_secs_f64()));
    }

    /// Begins the transfer that waits longest, where none is under way.
    fn begin(&mut self) -> Action {
        if self.under_way.is_some() {
            return Action::Nothing;
        }
        let Some(arrived) = self.waiting.pop_front() else { return Action::Nothing };
        let bytes = self.sizes.size();
        self.under_way = Some(Transfer { arrived, bytes });
        self.total_bytes += bytes;
        Action::Connect(bytes)
    }
}

impl Activity for Transfers {
    fn start(&mut self, now: Time) -> Answer {
        self.draw_arrival(now);
        Answer::new(Action::Nothing, self.arrival)
    }

    fn on_time(&mut self, now: Time) -> Answer {
        self.waiting.push_back(now);
        self.draw_arrival(now);
        Answer::new(self.begin(), self.arrival)
    }

    fn on_arrived(&mut self, now: Time, delivered_bytes: u64) -> Option<Answer> {
        // A transfer that was stopped is not whole.
        let whole = self.under_way.take().filter(|_| delivered_bytes == self.total_bytes);
        let completed = whole.map(|Transfer { arrived, bytes }| Completed { time: now.since(arrived), bytes });
        Some(Answer { completed, ..Answer::new(self.begin(), self.arrival) })
    }
}
