//! Taking back a needless timeout: detection by RFC 3522 (Eifel), response by RFC 4015, as Linux does with timestamps
//! (tcp_try_undo_loss).
//!
//! A queue that fills faster than the timer learns makes round trips longer than the timeout. What was sent is not lost,
//! only late; its acknowledgement echoes a stamp from before the retransmission.

use super::{Sender, State};
use crate::segment::Segment;
use sojourn_congestion::Control;
use sojourn_core::Time;

/// What a timeout that may be needless would be undone to.
#[derive(Debug)]
pub(super) struct Undo {
    wanted: bool,
    before: Option<Before>,
}

#[derive(Clone, Copy, Debug)]
struct Before {
    /// When the timer went off: retransmissions bear no earlier stamp.
    at: Time,
    /// The window before that.
    window: f64,
    /// The slow-start threshold before that.
    threshold: f64,
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
        let (window, threshold) = (self.window(), self.control.slow_start_threshold());
        self.undo.before = (self.state == State::Open).then_some(Before { at: now, window, threshold });
    }

    /// Takes the timeout back where `segment`, the first acknowledgement of new data after it, answers what was sent
    /// before it.
    #[inline]
    pub(super) fn undo_needless(&mut self, segment: &Segment, now: Time) {
        if self.state == State::Loss && segment.number > self.board.first() {
            self.judge_timeout(segment.stamp, now);
        }
    }

    fn judge_timeout(&mut self, echoed: Time, now: Time) {
        let Some(before) = self.undo.before.take() else { return };
        if echoed >= before.at {
            return;
        }
        let Before { window, threshold, .. } = before;
        self.control.on_undo(&sojourn_congestion::Undo { now, window, threshold });
        self.board.take_back_losses();
        self.finish_repair();
    }
}
