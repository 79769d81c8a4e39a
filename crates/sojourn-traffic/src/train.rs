//! Trains of packets: when each is due, and what of them arrives.

use sojourn_core::{Span, Time};
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
        Trains { train: train.clone(), begun: Time::ZERO, over: 0, sent: 0 }
    }

    /// The first packet of the first train is due at `now`.
    pub(crate) fn begin(&mut self, now: Time) {
        (self.begun, self.over, self.sent) = (now, 0, 0);
    }

    /// A packet was sent: when the next is due; never after the last.
    pub(crate) fn after_packet(&mut self) -> Time {
        self.sent += 1;
        if self.sent == self.train.packets(self.over) {
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

/// Trains that may be under way at once; of older ones what is missing is lost.
const MAX_OPEN: usize = 64;

/// The receiving end of trains: how long each took as a whole.
#[derive(Debug)]
pub struct TrainEnd {
    train: Train,
    /// Trains of which some packets have arrived and some have not, and how many have.
    open: Vec<(u32, u32)>,
    /// The first train that counts.
    base: u32,
    /// The latest train of which a packet has arrived.
    newest: Option<u32>,
    /// Whether that one is whole.
    newest_is_whole: bool,
    /// Trains that are whole, from `base` on.
    whole: u32,
    /// Sum of the times that these took, in ns.
    nanos: u128,
}

impl TrainEnd {
    /// The receiving end of trains as in `train`.
    pub fn new(train: &Train) -> TrainEnd {
        TrainEnd {
            train: train.clone(),
            open: Vec::new(),
            base: 0,
            newest: None,
            newest_is_whole: false,
            whole: 0,
            nanos: 0,
        }
    }

    /// Packet `number` has arrived, `delay` after it was sent. How long its train took, from when its first packet was due,
    /// where it is whole now and counts.
    pub fn on_packet(&mut self, number: u32, delay: Span) -> Option<Span> {
        let (index, place) = self.train.place(number);
        if self.newest.is_none_or(|newest| newest < index) {
            (self.newest, self.newest_is_whole) = (Some(index), false);
        }
        let at = match self.open.iter().position(|(open, _)| *open == index) {
            Some(at) => at,
            None => {
                if self.open.len() == MAX_OPEN {
                    self.open.remove(0);
                }
                self.open.push((index, 0));
                self.open.len() - 1
            }
        };
        self.open[at].1 += 1;
        if self.open[at].1 < self.train.packets(index) {
            return None;
        }
        self.open.remove(at);
        self.newest_is_whole |= self.newest == Some(index);
        if index < self.base {
            return None;
        }
        // Packets may overtake each other: what counts is when the last one arrives.
        let time = delay + self.train.spacing * u64::from(place);
        self.whole += 1;
        self.nanos += u128::from(time.as_nanos());
        Some(time)
    }

    /// Measures from the next train on.
    pub fn begin_measuring(&mut self) {
        self.base = self.newest.map_or(0, |newest| newest + 1);
        (self.whole, self.nanos) = (0, 0);
    }

    /// Trains that are whole, and the sum of the times that they took in ns.
    pub fn whole(&self) -> (u64, u128) {
        (u64::from(self.whole), self.nanos)
    }

    /// Trains before the latest one that are not whole.
    pub fn broken(&self) -> u64 {
        let Some(newest) = self.newest.filter(|&newest| newest >= self.base) else { return 0 };
        u64::from(newest - self.base) - u64::from(self.whole - u32::from(self.newest_is_whole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, Datagrams, Spacing};

    /// The times in ms of up to ten packets of trains that begin at 5 ms.
    fn times(count: u32, spacing_ms: u64, every_ms: Option<u64>, repeat: Option<u32>) -> Vec<u64> {
        let train = Train {
            count,
            packet_bytes: 100,
            spacing: Span::from_millis(spacing_ms),
            every: every_ms.map(Span::from_millis),
            repeat,
            large: None,
            large_every: None,
            ecn: Default::default(),
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
        let train = Train {
            count: 2,
            packet_bytes: 100,
            spacing: Span::from_millis(1),
            every: None,
            repeat: None,
            large: None,
            large_every: None,
            ecn: Default::default(),
        };
        let mut source = Datagrams::new(Spacing::Trains(Trains::new(&train)), 100);
        source.perform(Action::Endless, Time::ZERO);
        assert_eq!(source.due(Time::ZERO), Some(0));
        source.perform(Action::Pause, Time::ZERO);
        assert_eq!(source.next(), Time::NEVER);
        let later = Time::from_nanos(9_000_000);
        source.perform(Action::Endless, later);
        assert_eq!((source.due(later), source.next()), (Some(1), Time::from_nanos(10_000_000)));
    }

    /// The first of every three trains has four packets instead of two.
    fn with_large() -> Train {
        let every = Some(Span::from_millis(10));
        Train {
            count: 2,
            packet_bytes: 100,
            spacing: Span::ZERO,
            every,
            repeat: None,
            large: Some(4),
            large_every: Some(3),
            ecn: Default::default(),
        }
    }

    #[test]
    fn the_first_of_some_trains_is_large() {
        let train = with_large();
        let mut source = Datagrams::new(Spacing::Trains(Trains::new(&train)), 100);
        source.perform(Action::Endless, Time::ZERO);
        for number in 0..40 {
            let (index, place) = train.place(number);
            assert_eq!(source.next(), Time::from_nanos(10_000_000 * u64::from(index)), "packet {number}");
            assert!(place < train.packets(index));
            assert_eq!(source.due(source.next()), Some(number));
        }
        assert_eq!(
            [0, 3, 4, 5, 6, 8].map(|number| train.place(number)),
            [(0, 0), (0, 3), (1, 0), (1, 1), (2, 0), (3, 0)]
        );
        assert!((train.mean_packets() - 8.0 / 3.0).abs() < 1e-12);
    }

    /// A train counts when its last packet has come, in whatever order; one that misses a packet is broken once a later one
    /// has come.
    #[test]
    fn a_train_is_whole_or_broken() {
        let mut end = TrainEnd::new(&with_large());
        let ms = Span::from_millis;
        assert_eq!([0, 2, 1].map(|number| end.on_packet(number, ms(1))), [None; 3]);
        assert_eq!(end.on_packet(3, ms(7)), Some(ms(7)));
        assert_eq!((end.whole(), end.broken()), ((1, 7_000_000), 0));
        // Of train 1 packet 5 is lost; train 2 is lost altogether.
        assert_eq!((end.on_packet(4, ms(1)), end.broken()), (None, 0));
        assert_eq!((end.on_packet(8, ms(1)), end.broken()), (None, 2));
        end.begin_measuring();
        assert_eq!((end.whole(), end.broken()), ((0, 0), 0));
        // What was under way does not count.
        assert_eq!([9, 10, 11].map(|number| end.on_packet(number, ms(2))), [None; 3]);
        assert_eq!(end.broken(), 0);
        assert_eq!((end.on_packet(12, ms(2)), end.on_packet(13, ms(3))), (None, Some(ms(3))));
        assert_eq!((end.whole(), end.broken()), ((1, 3_000_000), 0));
    }
}
