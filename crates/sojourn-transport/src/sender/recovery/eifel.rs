//! Taking back a needless timeout: detection by RFC 3522 (Eifel), response by RFC 4015.
//!
//! A queue that fills faster than the timer learns makes round trips longer than the timeout. What was sent is not lost, only
//! late; its acknowledgement echoes a stamp from before the retransmission.

use super::{Before, Ended, Machine, Recovery, State};
use crate::segment::Segment;
use crate::sender::Sender;
use sojourn_core::Time;

/// The last timeout, where it may be needless.
#[derive(Default, Debug)]
pub(super) struct Eifel {
    /// When it was, since when retransmissions bear no earlier stamp.
    timeout: Option<(Time, Before)>,
}

impl Eifel {
    /// The timer has gone off. Where it goes off again before anything new was acknowledged, the first time counts: an
    /// earlier stamp still proves that nothing was lost; afterwards there is nothing left to take back. During a repair
    /// something is lost indeed (Linux: only out of the states Open and Disorder).
    pub(super) fn on_timeout(&mut self, state: State, before: Before, now: Time) {
        if state != State::Loss {
            self.timeout = (state == State::Open).then_some((now, before));
        }
    }

    /// A mark was echoed: the reduction is needed.
    pub(super) fn on_marked(&mut self) {
        if let Some((_, before)) = &mut self.timeout {
            before.threshold = None;
        }
    }

    /// Nothing is left to take back.
    pub(super) fn forget(&mut self) {
        self.timeout = None;
    }
}

impl Sender {
    /// Takes a timeout back where `segment`, the first acknowledgement of new data after it, answers what was sent
    /// before it.
    #[inline(never)]
    pub(in crate::sender) fn undo_needless_timeout(&mut self, segment: &Segment, now: Time) {
        let Recovery { course, machine, eifel: Some(eifel), .. } = &mut self.recovery else { return };
        if segment.number <= self.board.first() {
            return;
        }
        let Some((_, before)) = eifel.timeout.take().filter(|(at, _)| segment.stamp < *at) else { return };
        self.board.take_back_losses();
        course.state = State::Open;
        match machine {
            Machine::Count(count) => count.reset_duplicates(course),
            Machine::Time(time) => time.judge_again(),
        }
        self.end_repair(Ended::Undone(before), now);
    }
}
