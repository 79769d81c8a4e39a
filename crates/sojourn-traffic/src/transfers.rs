//! Transfers that arrive at random, each over a connection of its own.

use super::sizes::Draw;
use super::{Action, Activity, Answer, Arrived, Completed};
use sojourn_core::{Span, Stream, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A Poisson process of transfers, of which as many are under way at a time as there are connections.
#[derive(Debug)]
pub struct Transfers {
    interval: Span,
    sizes: Draw,
    /// Draws times; sizes have a stream of their own, so that neither changes the other.
    arrivals: Stream,
    arrival: Time,
    /// When those that wait arrived.
    waiting: VecDeque<Time>,
    connections: Vec<Connection>,
    /// Those that are free: the one with the lowest number is taken first.
    free: BinaryHeap<Reverse<u32>>,
}

#[derive(Clone, Default, Debug)]
struct Connection {
    under_way: Option<Transfer>,
    /// Bytes of all its transfers so far.
    total_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Transfer {
    arrived: Time,
    begun: Time,
    bytes: u64,
}

impl Transfers {
    /// Arrivals every `interval` in the mean, with sizes from `sizes`, over so many `connections` at once.
    pub fn new(interval: Span, sizes: Draw, connections: u32, arrivals: Stream) -> Transfers {
        Transfers {
            interval,
            sizes,
            arrivals,
            arrival: Time::NEVER,
            waiting: VecDeque::new(),
            connections: vec![Connection::default(); connections as usize],
            free: (0..connections).map(Reverse).collect(),
        }
    }

    fn draw_arrival(&mut self, now: Time) {
        self.arrival = now + Span::from_secs_f64(self.arrivals.exponential(self.interval.as_secs_f64()));
    }

    /// Begins the transfer that waits longest, where a connection is free.
    fn begin(&mut self, now: Time) -> Action {
        if self.free.is_empty() || self.waiting.is_empty() {
            return Action::Nothing;
        }
        let (Some(Reverse(connection)), Some(arrived)) = (self.free.pop(), self.waiting.pop_front()) else {
            unreachable!("both were there");
        };
        let bytes = self.sizes.size();
        let taken = &mut self.connections[connection as usize];
        taken.under_way = Some(Transfer { arrived, begun: now, bytes });
        taken.total_bytes += bytes;
        Action::Connect { connection, bytes: Some(bytes) }
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
        Answer::new(self.begin(now), self.arrival)
    }

    fn on_arrived(&mut self, now: Time, arrived: Arrived) -> Option<Answer> {
        let connection = &mut self.connections[arrived.connection as usize];
        // A transfer that was stopped is not whole.
        let whole = connection.under_way.take().filter(|_| arrived.delivered_bytes == connection.total_bytes);
        let completed = whole.map(|Transfer { arrived, begun, bytes }| Completed {
            time: now.since(arrived),
            bytes,
            waited: begun.since(arrived),
        });
        self.free.push(Reverse(arrived.connection));
        Some(Answer { completed, ..Answer::new(self.begin(now), self.arrival) })
    }
}
