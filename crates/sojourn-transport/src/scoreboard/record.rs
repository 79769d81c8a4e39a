//! What is known of one segment, and of all that are outstanding.

use sojourn_core::Time;
use std::ops::{Index, IndexMut};

/// When a segment was last sent, and what has happened to it since: one word, for this is what most of a sender's memory holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record(u64);

/// What may have happened to a segment.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mark {
    Sacked,
    Lost,
    /// It was sent again, and that copy may be in flight.
    Retransmitted,
    /// Its last transmission was judged lost by time, which is final, also where that is taken back (Linux takes it off its
    /// list of transmissions in the order of time).
    Judged,
    /// It was ever sent twice, so that its round-trip time is ambiguous (Karn).
    Ambiguous,
}

impl Record {
    /// The bits below the time: one for each [`Mark`]. What is left tells 18 years.
    const MARK_BITS: u32 = 5;

    /// What was sent `now`, and no more is known of it.
    #[inline]
    pub(super) fn new(now: Time) -> Record {
        debug_assert!(now.as_nanos() >> (u64::BITS - Record::MARK_BITS) == 0);
        Record(now.as_nanos() << Record::MARK_BITS)
    }

    /// When it was last sent.
    #[inline]
    pub(super) fn sent(self) -> Time {
        Time::from_nanos(self.0 >> Record::MARK_BITS)
    }

    /// It is sent once more.
    pub(super) fn send_again(&mut self, now: Time) {
        self.0 = Record::new(now).0 | (self.0 & ((1 << Record::MARK_BITS) - 1));
        self.put(Mark::Ambiguous, true);
    }

    /// Whether `mark` is on it.
    #[inline]
    pub(super) fn is(self, mark: Mark) -> bool {
        self.0 >> mark as u32 & 1 == 1
    }

    /// Puts `mark` on it, or takes it off; whether it was on it.
    #[inline]
    pub(super) fn put(&mut self, mark: Mark, on: bool) -> bool {
        let was = self.is(mark);
        self.0 = self.0 & !(1 << mark as u32) | u64::from(on) << mark as u32;
        was
    }

    /// Whether it is judged lost, and was not sent again since.
    #[inline]
    pub(super) fn is_due(self) -> bool {
        self.is(Mark::Lost) && !self.is(Mark::Retransmitted)
    }

    /// Whether it was neither received nor sent twice.
    #[inline]
    pub(super) fn is_untouched(self) -> bool {
        !self.is(Mark::Sacked) && !self.is(Mark::Ambiguous)
    }

    /// Whether it was sent, and no more is known of it than perhaps a judgement that was taken back.
    #[inline]
    pub(super) fn is_plain(self) -> bool {
        self.0 & ((1 << Record::MARK_BITS) - 1) & !(1 << Mark::Judged as u32) == 0
    }
}

/// The records of the outstanding segments, each at the place of its number in a ring of a power of two of them: it is found
/// without asking where the ring begins.
#[derive(Debug, Default)]
pub(super) struct Records {
    /// None before the first segment.
    places: Box<[Record]>,
    first: u32,
    next: u32,
}

impl Records {
    /// Places of the smallest ring.
    const FEW: usize = 4;

    /// The first outstanding segment, or where there is none the next one.
    #[inline]
    pub(super) fn first(&self) -> u32 {
        self.first
    }

    /// One past the last outstanding segment.
    #[inline]
    pub(super) fn next(&self) -> u32 {
        self.next
    }

    /// How many are outstanding.
    #[inline]
    pub(super) fn count(&self) -> u32 {
        self.next - self.first
    }

    /// The next segment is outstanding.
    #[inline]
    pub(super) fn push(&mut self, record: Record) {
        if self.count() as usize == self.places.len() {
            self.grow();
        }
        let place = self.place(self.next);
        self.places[place] = record;
        self.next += 1;
    }

    /// The first segment is no longer outstanding.
    #[inline]
    pub(super) fn remove_first(&mut self) {
        debug_assert!(self.first < self.next);
        self.first += 1;
    }

    /// All of them in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Record> {
        (self.first..self.next).map(|number| &self[number])
    }

    #[inline]
    fn place(&self, number: u32) -> usize {
        number as usize & self.places.len().wrapping_sub(1)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let places = (2 * self.places.len()).max(Records::FEW);
        let mut grown = Records { places: vec![Record(0); places].into(), ..*self };
        for number in self.first..self.next {
            grown[number] = self[number];
        }
        *self = grown;
    }
}

impl Index<u32> for Records {
    type Output = Record;

    #[inline]
    fn index(&self, number: u32) -> &Record {
        debug_assert!(self.first <= number && number < self.next, "{number} is not outstanding");
        &self.places[self.place(number)]
    }
}

impl IndexMut<u32> for Records {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut Record {
        debug_assert!(self.first <= number && number < self.next, "{number} is not outstanding");
        let place = self.place(number);
        &mut self.places[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MARKS: [Mark; 5] = [Mark::Sacked, Mark::Lost, Mark::Retransmitted, Mark::Judged, Mark::Ambiguous];

    proptest! {
        /// The ring against a queue.
        #[test]
        fn each_record_is_at_its_number(steps in prop::collection::vec(any::<bool>(), 0..200)) {
            let (mut records, mut expected) = (Records::default(), std::collections::VecDeque::new());
            for (at, sends) in steps.into_iter().enumerate() {
                if sends || expected.is_empty() {
                    expected.push_back((records.next(), at as u64));
                    records.push(Record::new(Time::from_nanos(at as u64)));
                } else {
                    expected.pop_front();
                    records.remove_first();
                }
                prop_assert_eq!(records.count() as usize, expected.len());
                prop_assert_eq!(records.first(), expected.front().map_or(records.next(), |&(number, _)| number));
                for &(number, at) in &expected {
                    prop_assert_eq!(records[number].sent().as_nanos(), at);
                }
                let all: Vec<u64> = records.iter().map(|record| record.sent().as_nanos()).collect();
                prop_assert_eq!(all, expected.iter().map(|&(_, at)| at).collect::<Vec<_>>());
            }
        }

        /// Times and marks do not touch each other.
        #[test]
        fn a_word_is_a_time_and_marks(
            first in 0u64..1 << 59, again in 0u64..1 << 59, steps in prop::collection::vec((0usize..5, any::<bool>()), 0..20),
        ) {
            let mut record = Record::new(Time::from_nanos(first));
            let mut expected = [false; 5];
            prop_assert!(record.is_plain());
            for (mark, on) in steps {
                prop_assert_eq!(record.put(MARKS[mark], on), std::mem::replace(&mut expected[mark], on));
                prop_assert_eq!(MARKS.map(|mark| record.is(mark)), expected);
                prop_assert_eq!(record.sent(), Time::from_nanos(first));
                let [sacked, lost, retransmitted, _, ambiguous] = expected;
                prop_assert_eq!(record.is_plain(), !(sacked || lost || retransmitted || ambiguous));
                prop_assert_eq!(record.is_due(), lost && !retransmitted);
                prop_assert_eq!(record.is_untouched(), !sacked && !ambiguous);
            }
            record.send_again(Time::from_nanos(again));
            expected[4] = true;
            prop_assert_eq!((MARKS.map(|mark| record.is(mark)), record.sent()), (expected, Time::from_nanos(again)));
        }
    }
}
