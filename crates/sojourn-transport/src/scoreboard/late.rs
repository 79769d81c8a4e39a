//! Time-based loss detection (RFC 8985): what the scoreboard knows besides, and what it judges by it.

use super::Scoreboard;
use super::record::{Mark, Record};
use sojourn_core::{Span, Time};
use std::collections::VecDeque;

/// A transmission.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Sending {
    /// When.
    pub sent: Time,
    /// Of which segment.
    pub number: u32,
}

/// What time-based detection found.
#[derive(Clone, Copy, Default, Debug)]
pub struct Late {
    /// Whether a retransmission was lost.
    pub again: bool,
    /// How long to wait until all that was sent before what was delivered is delivered or lost.
    pub wait: Span,
}

/// What an acknowledgement says besides [`Delivered`](super::Delivered), of the segments that it is the first to cover.
#[derive(Clone, Copy, Default, Debug)]
pub struct Evidence {
    /// The lowest of them that was sent once only, if any.
    pub lowest_sent_once: Option<u32>,
    /// The newest of them whose last transmission was surely delivered, and when it was sent.
    pub surely: Option<Sending>,
    /// The same of the last one looked at, of those that are acknowledged cumulatively if any is.
    pub last_surely: Option<(Time, bool)>,
    /// What was sent again after this has not been delivered: a round trip takes longer.
    doubtful_after: Time,
    /// The time that the acknowledgement echoes.
    echoed: Time,
}

/// What a scoreboard that judges by time knows besides.
#[derive(Debug, Default)]
pub(super) struct ByTime {
    /// Segments sent again, in the order of sending.
    again: VecDeque<Sending>,
    /// Every segment below was delivered, judged or sent again.
    pub(super) late_from: u32,
    /// What the present acknowledgement says.
    evidence: Evidence,
}

impl ByTime {
    /// Segment `number` is sent again.
    pub(super) fn on_sent_again(&mut self, number: u32, now: Time) {
        self.again.push_back(Sending { sent: now, number });
    }
}

impl Evidence {
    #[inline(never)]
    fn note(&mut self, number: u32, record: &Record, cumulatively: bool) {
        if record.is(Mark::Ambiguous) {
            self.note_sent_again(number, record, cumulatively);
        } else {
            self.lowest_sent_once = Some(self.lowest_sent_once.map_or(number, |lowest| lowest.min(number)));
            self.note_surely(number, record, cumulatively);
        }
    }

    /// RFC 8985 section 6.2 step 2: what was sent again may be acknowledged for its first copy.
    fn note_sent_again(&mut self, number: u32, record: &Record, cumulatively: bool) {
        let answers_earlier = cumulatively && self.echoed < record.sent();
        if record.sent() <= self.doubtful_after && !answers_earlier {
            self.note_surely(number, record, cumulatively);
        }
    }

    fn note_surely(&mut self, number: u32, record: &Record, cumulatively: bool) {
        let sending = Sending { sent: record.sent(), number };
        self.surely = Some(self.surely.map_or(sending, |newest| newest.max(sending)));
        if cumulatively || self.last_surely.is_none_or(|(_, cumulatively)| !cumulatively) {
            self.last_surely = Some((record.sent(), cumulatively));
        }
    }
}

impl Scoreboard {
    /// The same which judges by time ([`judge_late`](Scoreboard::judge_late)) instead of by SACKed segments.
    #[must_use]
    pub fn judging_by_time(mut self) -> Scoreboard {
        self.by_time = Some(Box::default());
        self
    }

    /// An acknowledgement begins that echoes `echoed`; what was sent again after `doubtful_after` it cannot answer.
    pub fn begin_evidence(&mut self, doubtful_after: Time, echoed: Time) {
        if let Some(by_time) = &mut self.by_time {
            by_time.evidence = Evidence { doubtful_after, echoed, ..Evidence::default() };
        }
    }

    /// What the present acknowledgement has said since it [began](Scoreboard::begin_evidence); nothing where segments are not
    /// judged by time.
    pub fn evidence(&self) -> Evidence {
        self.by_time.as_ref().map_or(Evidence::default(), |by_time| by_time.evidence)
    }

    /// Segment `number` was delivered.
    #[inline]
    pub(super) fn note_by_time(&mut self, number: u32, record: &Record, cumulatively: bool) {
        if let Some(by_time) = &mut self.by_time {
            by_time.evidence.note(number, record, cumulatively);
        }
    }

    /// Judges by time (RFC 8985 section 6.2 step 5): what was sent before `newest`, and `patience` or more before `now`, is
    /// lost; what was sent later may still come.
    pub fn judge_late(&mut self, newest: Sending, patience: Span, now: Time) -> Late {
        let mut late = Late::default();
        let Some(mut by_time) = self.by_time.take() else { return late };
        self.judge_late_once(&mut by_time, newest, patience, now, &mut late);
        self.judge_late_again(&mut by_time.again, newest, patience, now, &mut late);
        self.by_time = Some(by_time);
        late
    }

    /// Those that were sent once: in the order of their numbers.
    fn judge_late_once(&mut self, by_time: &mut ByTime, newest: Sending, patience: Span, now: Time, late: &mut Late) {
        by_time.late_from = by_time.late_from.max(self.first());
        for number in by_time.late_from..self.next() {
            let record = &mut self.records[number];
            if !(record.is(Mark::Sacked)
                || record.is(Mark::Lost)
                || record.is(Mark::Judged)
                || record.is(Mark::Ambiguous))
            {
                let sent = record.sent();
                if (Sending { sent, number }) >= newest {
                    return;
                }
                match late_by(sent, patience, now) {
                    Some(wait) => late.wait = late.wait.max(wait),
                    None => {
                        record.put(Mark::Judged, true);
                        self.mark_lost(number);
                    }
                }
            }
            if late.wait.is_zero() {
                by_time.late_from = number + 1;
            }
        }
    }

    /// Those that were sent `again`: in the order of sending.
    fn judge_late_again(
        &mut self,
        again: &mut VecDeque<Sending>,
        newest: Sending,
        patience: Span,
        now: Time,
        late: &mut Late,
    ) {
        let mut place = 0;
        while let Some(&sending) = again.get(place) {
            if self.is_under_way(sending) {
                if sending >= newest {
                    return;
                }
                if let Some(wait) = late_by(sending.sent, patience, now) {
                    late.wait = late.wait.max(wait);
                    place += 1;
                    continue;
                }
                late.again = true;
                self.mark_lost_again(sending.number);
            }
            again.remove(place);
        }
    }

    /// Whether a transmission that was no first one is the last one of its segment, and neither delivered nor judged lost.
    fn is_under_way(&self, sending: Sending) -> bool {
        sending.number >= self.first() && {
            let record = &self.records[sending.number];
            record.sent() == sending.sent
                && !record.is(Mark::Sacked)
                && (record.is(Mark::Retransmitted) || !record.is(Mark::Lost))
        }
    }

    /// Judges the retransmission of `number` lost.
    fn mark_lost_again(&mut self, number: u32) {
        let record = &mut self.records[number];
        if record.put(Mark::Retransmitted, false) {
            self.retransmitted -= 1;
        }
        if !record.is(Mark::Lost) {
            return self.mark_lost(number);
        }
        self.judgements = self.judgements.wrapping_add(1);
        self.due += 1;
        self.retransmit_from = self.retransmit_from.min(number);
        self.lost_end = self.lost_end.max(number + 1);
        if let Some(unreported) = &mut self.unreported {
            unreported.lost.push(number);
        }
    }
}

/// How much longer to wait for what was sent at `sent`; nothing where `patience` is over.
#[inline]
pub(super) fn late_by(sent: Time, patience: Span, now: Time) -> Option<Span> {
    let wait = patience.saturating_sub(now.since(sent));
    (!wait.is_zero()).then_some(wait)
}
