//! Round trips of a flow, told from when acknowledged segments were sent.

use crate::control::Ack;
use sojourn_core::Time;

/// When the present round trip began.
#[derive(Default, Debug)]
pub(crate) struct Rounds {
    began: Option<Time>,
}

impl Rounds {
    /// Whether `ack` is the first for a segment sent since the round began; the next round then begins.
    #[inline]
    pub(crate) fn ended(&mut self, ack: &Ack) -> bool {
        let ended = self.began.is_none_or(|began| ack.sent >= began);
        if ended {
            self.began = Some(ack.now);
        }
        ended
    }

    /// When the present round began; before the first acknowledgement the start of the run.
    #[inline]
    pub(crate) fn began(&self) -> Time {
        self.began.unwrap_or(Time::ZERO)
    }

    /// A round begins now, whatever was sent before.
    pub(crate) fn restart(&mut self, now: Time) {
        self.began = Some(now);
    }
}
