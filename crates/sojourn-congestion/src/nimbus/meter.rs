//! At which rate packets were sent, and at which the same packets arrived.

use alloc::boxed::Box;
use alloc::vec;
use sojourn_core::{Span, Time};

/// Marks that are kept, one per tick of 10 ms: round trips beyond 1.27 s are measured over that time.
const MARKS: usize = 128;

/// What was known at a tick.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Mark {
    /// When the newest acknowledged segment was sent.
    sent: Time,
    /// When its acknowledgement came.
    heard: Time,
    /// Segments acknowledged by then.
    delivered: u64,
}

/// Rates of the last round trip.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    marks: Box<[Mark]>,
    /// Where the next mark goes, and how many there are.
    place: usize,
    count: usize,
    /// How many marks ago the last round trip began at the last tick: where the present one is looked for first.
    ago: usize,
    newest: Mark,
}

/// Both rates, in segments per second.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Rates {
    /// S: of sending.
    pub(super) sent: f64,
    /// R: of arriving.
    pub(super) received: f64,
}

impl Meter {
    pub(super) fn new() -> Meter {
        let newest = Mark { sent: Time::ZERO, heard: Time::ZERO, delivered: 0 };
        Meter { marks: vec![newest; MARKS].into_boxed_slice(), place: 0, count: 0, ago: 0, newest }
    }

    /// Forgets all marks.
    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// `segments` more are acknowledged, the newest of which was sent at `sent`.
    pub(super) fn on_ack(&mut self, segments: u32, sent: Time, now: Time) {
        self.newest.delivered += u64::from(segments);
        self.newest.sent = self.newest.sent.max(sent);
        self.newest.heard = now;
    }

    /// The newest mark of at least `rtt` ago, where there is one.
    pub(super) fn find(&mut self, rtt: Span) -> Option<Mark> {
        let (newest, place) = (self.newest, self.place);
        let mark = |ago: usize| self.marks[(place + MARKS - ago) % MARKS];
        let is_old = |ago: usize| newest.heard.since(mark(ago).heard) >= rtt;
        // Marks are in the order of their times: from where the last one was found there are few steps either way.
        let mut ago = self.ago.min(self.count) + 1;
        while ago > 1 && is_old(ago - 1) {
            ago -= 1;
        }
        while ago <= self.count && !is_old(ago) {
            ago += 1;
        }
        let found = (ago <= self.count).then(|| mark(ago));
        self.ago = ago;
        found
    }

    /// The same, found by looking at all of them.
    #[cfg(test)]
    pub(super) fn search(&self, rtt: Span) -> Option<Mark> {
        (1..=self.count)
            .map(|ago| self.marks[(self.place + MARKS - ago) % MARKS])
            .find(|mark| self.newest.heard.since(mark.heard) >= rtt)
    }

    /// A tick has come: the rates of what was acknowledged over the last round trip of `rtt`, once that is known.
    pub(super) fn tick(&mut self, rtt: Span) -> Option<Rates> {
        let newest = self.newest;
        let first = self.find(rtt).or_else(|| (self.count == MARKS).then(|| self.marks[self.place]));
        self.marks[self.place] = newest;
        self.place = (self.place + 1) % MARKS;
        self.count = (self.count + 1).min(MARKS);
        let first = first?;
        let segments = (newest.delivered - first.delivered) as f64;
        let (sent, heard) = (newest.sent.since(first.sent), newest.heard.since(first.heard));
        (segments > 0.0 && !sent.is_zero() && !heard.is_zero())
            .then(|| Rates { sent: segments / sent.as_secs_f64(), received: segments / heard.as_secs_f64() })
    }
}
