//! What was needless: detection by RFC 5682 (F-RTO) and RFC 3708 (DSACK) besides RFC 3522 (Eifel), for repairs of losses as well as
//! of timeouts, response by RFC 4015, as Linux does it (`tcp_try_undo_*`).
//!
//! Reordering looks like loss. What was sent is not lost, only late; its acknowledgement echoes a stamp from before the first
//! retransmission, or reports what came twice.

use super::{Before, Course, Heeded, Next};
use crate::scoreboard::Scoreboard;
use crate::segment::{Block, Segment};
use sojourn_core::Time;

/// What was noted of losses and of what was sent again.
#[derive(Default, Debug)]
pub(super) struct Undo {
    /// What the reduction would be undone to, where it may be needless.
    before: Option<Before>,
    /// The first unacknowledged segment then (`undo_marker`).
    marker: u32,
    /// Retransmissions that were not reported to be needless (`undo_retrans`); none before the first.
    due: Option<u32>,
    /// When the first retransmission of the repair was sent (`retrans_stamp`).
    first_again: Option<Time>,
    /// Needless retransmissions that were reported since the start (`dsack_dups`).
    reported: u64,
    /// F-RTO: whether the timeout may be needless, and one past the highest segment sent at step 1 or 2b.
    suspected: Option<u32>,
}

/// What an acknowledgement in the middle of a repair says of it.
pub(super) enum Partly {
    /// No more than that something is repaired.
    Needed,
    /// It may be needless, and nothing is to be judged or sent again until its retransmissions under way have been answered.
    Waits,
    /// It was needless.
    Undone(Before),
}

impl Undo {
    /// Something is sent again.
    pub(super) fn on_sent_again(&mut self, now: Time) {
        self.first_again.get_or_insert(now);
        *self.due.get_or_insert(0) += 1;
    }

    /// A mark was echoed: the reduction is needed.
    pub(super) fn on_marked(&mut self) {
        if let Some(before) = &mut self.before {
            before.threshold = None;
        }
    }

    /// Nothing is left to take back.
    pub(super) fn forget(&mut self) {
        self.before = None;
    }

    /// A timeout may be needless, and all below `end` was sent by then; or it is no longer suspected to be.
    pub(super) fn suspect(&mut self, end: Option<u32>) {
        self.suspected = end;
    }

    /// The window is lowered from what it was `before`, while the last segment is out again as a `probe` or not
    /// (`tcp_init_undo`).
    pub(super) fn remember(&mut self, before: Before, board: &Scoreboard, probe: bool) {
        (self.before, self.marker) = (Some(before), board.first());
        self.due = Some(board.retransmitted() + u32::from(probe)).filter(|&due| due > 0);
        if board.retransmitted() == 0 && !board.was_sent_again(board.first()) {
            self.first_again = None;
        }
    }

    /// Whether the acknowledgement answers what was sent before the first retransmission, or nothing was sent again
    /// (`tcp_packet_delayed`).
    fn is_late(&self, segment: &Segment) -> bool {
        self.first_again.is_none_or(|again| segment.stamp < again)
    }

    /// `tcp_may_undo`: what a repair in doubt goes back to.
    pub(super) fn may_undo(&self, segment: &Segment) -> Option<Before> {
        self.before.filter(|_| self.due == Some(0) || self.is_late(segment))
    }

    /// The same where all retransmissions were reported to be needless.
    pub(super) fn all_needless(&self) -> Option<Before> {
        self.before.filter(|_| self.due == Some(0))
    }

    /// A repair is under way upon an acknowledgement of so many more segments (`tcp_try_undo_partial`).
    pub(super) fn partly(&self, segment: &Segment, acknowledged: u32, board: &Scoreboard) -> Partly {
        match self.before.filter(|_| acknowledged > 0 && self.is_late(segment)) {
            None => Partly::Needed,
            Some(_) if board.retransmitted() > 0 => Partly::Waits,
            Some(before) => Partly::Undone(before),
        }
    }

    /// RFC 5682 section 3.1, and the timestamps of a timeout's first acknowledgements (`tcp_process_loss`): what it goes back to
    /// where it was needless.
    pub(super) fn timeout(&mut self, course: &mut Course, board: &Scoreboard, ack: &Heeded) -> Option<Before> {
        let Heeded { segment, heard, has_new, .. } = *ack;
        let acknowledged = heard.acknowledged;
        if acknowledged > 0
            && let Some(before) = self.may_undo(segment)
        {
            self.suspected = None;
            return Some(before);
        }
        let end = self.suspected?;
        // Step 3b: what was never sent again was delivered.
        if self.before.is_some() && board.evidence().lowest_sent_once.is_some_and(|lowest| lowest < end) {
            self.suspected = None;
            return self.before;
        }
        if board.next() > end {
            // Step 3a: the loss was real.
            if heard.delivered.segments > acknowledged || acknowledged == 0 {
                self.suspected = None;
            }
        } else if acknowledged > 0 && !course.is_over(board) {
            // Step 2b: try new data. Nothing new was sent since the timer went off, so that the end of the repair is right
            // already.
            if has_new {
                course.next = Next::NewFirst;
            } else {
                self.suspected = None;
            }
        }
        None
    }

    /// The new data of F-RTO step 2b has been sent, all below `next`, or none could be.
    pub(super) fn end_new_first(&mut self, next: u32) {
        if self.suspected.is_some_and(|end| next <= end) {
            self.suspected = None;
        }
    }

    /// A block that reports what came twice (RFC 2883 section 4), below the cumulative acknowledgement or within the next
    /// block, of `most` segments at most. It is believed where so many of the `retransmissions` were not reported yet.
    pub(super) fn duplicates(&mut self, segment: &Segment, most: u32, retransmissions: u64) -> Option<Block> {
        let [block, rest @ ..] = segment.sack_blocks() else { return None };
        let within = |other: &Block| block.start >= other.start && block.end <= other.end;
        if block.start >= block.end || !(block.start < segment.number || rest.first().is_some_and(within)) {
            return None;
        }
        let count = block.end - block.start;
        if count > most {
            return None;
        }
        self.reported += u64::from(count);
        (self.reported <= retransmissions).then_some(*block)
    }

    /// What `block` covers came twice; all below `first` was acknowledged before.
    pub(super) fn on_duplicates(&mut self, block: &Block, first: u32, board: &Scoreboard) {
        let known = block.end <= first || (block.start >= board.first() && block.end <= board.next());
        if self.before.is_some() && known && block.end > self.marker {
            self.due = self.due.map(|due| due.saturating_sub(block.end - block.start));
        }
    }
}
