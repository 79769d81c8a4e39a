//! Round trips, told by what is acknowledged.

use crate::Ack;
use sojourn_core::Time;

/// Tells round trips apart: one ends when a segment is acknowledged that was sent after it began.
///
/// RFCs say it with sequence numbers: the round's end is the highest number sent when it began. The first
/// acknowledgement of a flow always begins a round.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Rounds {
    began: Time,
}

impl Rounds {
    /// Whether `ack` ends a round, and so belongs to the next one.
    #[inline]
    pub(crate) fn ends(&mut self, ack: &Ack) -> bool {
        let ends = ack.sent >= self.began;
        if ends {
            self.began = ack.now;
        }
        ends
    }

    /// When the present round began.
    #[inline]
    pub(crate) fn began(&self) -> Time {
        self.began
    }

    /// A round begins now, whatever was sent before.
    #[inline]
    pub(crate) fn restart(&mut self, now: Time) {
        self.began = now;
    }
}
