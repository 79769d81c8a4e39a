//! Taking back a needless timeout: detection by RFC 3522 (Eifel), response by RFC 4015, as Linux does with timestamps
//! (tcp_try_undo_loss).
//!
//! A queue that fills faster than the timer learns makes round trips longer than the timeout. What was sent is not lost,
//! only late; its acknowledgement echoes a stamp from before the retransmission.

use super::{Sender, State};
use crate::segment::Segment;
use sojourn_congestion::AnyControl;
use sojourn_core::Time;

/// What a timeout that may be needless would be undone to.
#[derive(Debug)]
pub(super) struct Undo {
    wanted: bool,
    before: Option<Box<Before>>,
}

#[derive(Debug)]
struct Before {
    /// When the timer went off: retransmissions bear no earlier stamp.
    at: Time,
    /// The control before it heard of that.
    control: AnyControl,
}

impl Undo {
    /// Undoes nothing unless it is `wanted`.
    pub(super) fn new(wanted: bool) -> Undo {
        Undo { wanted, before: None }
    }
}

impl Sender {
    /// The timer has gone off. Where it goes off again before anything new was acknowledged, the first time counts: an
    /// earlier stamp still proves that nothing was lost; afterwards there is nothing left to take back. During a repair
    /// something is lost indeed (Linux: only out of the states Open and Disorder).
    pub(super) fn remember(&mut self, now: Time) {
        if !self.undo.wanted || self.state == State::Loss {
            return;
        }
        let before = || Box::new(Before { at: now, control: self.control.clone() });
        self.undo.before = (self.state == State::Open).then(before);
    }

    /// Takes the timeout back where `segment`, the first acknowledgement of new data after it, answers what was sent
    /// before it.
    #[inline]
    pub(super) fn undo_needless(&mut self, segment: &Segment) {
        if self.state == State::Loss && segment.number > self.board.first() {
            self.judge_timeout(segment.stamp);
        }
    }

    fn judge_timeout(&mut self, echoed: Time) {
        let Some(before) = self.undo.before.take() else { return };
        if echoed >= before.at {
            return;
        }
        self.control = before.control;
        self.board.take_back_losses();
        self.finish_repair();
    }
}
