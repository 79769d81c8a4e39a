//! Trains of packets: when each is due.

use sojourn_core::Time;
use sojourn_scenario::Train;

/// The times of the packets of trains. Every one is reckoned from the start of the first, so that nothing adds up.
#[derive(Debug)]
pub struct Trains {
    train: Train,
    begun: Time,
    /// Trains that are over.
    over: u32,
    /// Packets of the present train that were sent.
    sent: u32,
}

impl Trains {
    /// Trains as in `train` that have not begun.
    pub fn new(train: &Train) -> Trains {
        Trains { train: *train, begun: Time::ZERO, over: 0, sent: 0 }
    }

    /// The first packet of the first train is due at `now`.
    pub(crate) fn begin(&mut self, now: Time) {
        (self.begun, self.over, self.sent) = (now, 0, 0);
    }

    /// A packet was sent: when the next is due; never after the last.
    pub(crate) fn after_packet(&mut self) -> Time {
        self.sent += 1;
        if self.sent == self.train.count {
            self.sent = 0;
            self.over += 1;
        }
        let is_last = self.train.repeat.is_some_and(|repeat| self.over >= repeat);
        match self.train.every {
            _ if is_last => Time::NEVER,
            None if self.over > 0 => Time::NEVER,
            None => self.begun + self.train.spacing * u64::from(self.sent),
            Some(every) => self.begun + every * u64::from(self.over) + self.train.spacing * u64::from(self.sent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, Datagrams, Spacing};
    use sojourn_core::Span;

    /// The times in ms of up to ten packets of trains that begin at 5 ms.
    fn times(count: u32, spacing_ms: u64, every_ms: Option<u64>, repeat: Option<u32>) -> Vec<u64> {
        let train = Train {
            count,
            packet_bytes: 100,
            spacing: Span::from_millis(spacing_ms),
            every: every_ms.map(Span::from_millis),
            repeat,
        };
        let mut source = Datagrams::new(Spacing::Trains(Trains::new(&train)), train.packet_bytes);
        assert_eq!(source.next(), Time::NEVER, "silent before it begins");
        source.perform(Action::Endless, Time::from_nanos(5_000_000));
        let mut times = Vec::new();
        while source.next() < Time::NEVER && times.len() < 10 {
            let now = source.next();
            times.push(now.as_nanos() / 1_000_000);
            assert_eq!(source.due(now), Some(times.len() as u32 - 1));
        }
        times
    }

    #[test]
    fn a_train_alone_has_its_packets_and_no_more() {
        assert_eq!(times(3, 2, None, None), [5, 7, 9]);
        assert_eq!(times(3, 0, None, None), [5, 5, 5]);
        assert_eq!(times(1, 2, None, None), [5]);
    }

    #[test]
    fn trains_come_again_at_their_interval() {
        assert_eq!(times(3, 1, Some(10), Some(2)), [5, 6, 7, 15, 16, 17]);
        assert_eq!(times(2, 0, Some(10), Some(3)), [5, 5, 15, 15, 25, 25]);
        assert_eq!(times(1, 0, Some(3), None), [5, 8, 11, 14, 17, 20, 23, 26, 29, 32]);
    }

    #[test]
    fn a_pause_ends_a_train_and_a_start_begins_the_first_anew() {
        let train = Train { count: 2, packet_bytes: 100, spacing: Span::from_millis(1), every: None, repeat: None };
        let mut source = Datagrams::new(Spacing::Trains(Trains::new(&train)), 100);
        source.perform(Action::Endless, Time::ZERO);
        assert_eq!(source.due(Time::ZERO), Some(0));
        source.perform(Action::Pause, Time::ZERO);
        assert_eq!(source.next(), Time::NEVER);
        let later = Time::from_nanos(9_000_000);
        source.perform(Action::Endless, later);
        assert_eq!((source.due(later), source.next()), (Some(1), Time::from_nanos(10_000_000)));
    }
}
