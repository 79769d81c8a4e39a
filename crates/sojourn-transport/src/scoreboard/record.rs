//! What is known of one segment.

use sojourn_core::Time;

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MARKS: [Mark; 5] = [Mark::Sacked, Mark::Lost, Mark::Retransmitted, Mark::Judged, Mark::Ambiguous];

    proptest! {
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
