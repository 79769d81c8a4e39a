//! Taking back a needless reduction: detection by RFC 3522 (Eifel), RFC 5682 (F-RTO) and RFC 3708 (DSACK), response by
//! RFC 4015, as Linux does it (`tcp_try_undo_*`).
//!
//! A queue that fills faster than the timer learns makes round trips longer than the timeout, and reordering looks like
//! loss. What was sent is not lost, only late; its acknowledgement echoes a stamp from before the first retransmission, or
//! reports what came twice.

use super::{Sender, State};
use crate::options::Undoing;
use crate::scoreboard::Delivered;
use crate::segment::{Block, Segment};
use sojourn_congestion::{Control, Signal};
use sojourn_core::{Optional, Time};

/// What a reduction that may be needless would be undone to.
#[derive(Debug)]
pub(super) struct Undo {
    pub(super) rule: Undoing,
    /// What goes next upon the last acknowledgement.
    next: Next,
    /// Boxed, for only a flow that has lost something has it; kept from then on.
    memory: Option<Box<Memory>>,
    /// How often something was taken back.
    #[cfg(test)]
    pub(super) taken_back: u32,
}

/// What goes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// What is lost, then new data.
    Lost,
    /// New data before what is lost (F-RTO step 2b).
    NewFirst,
    /// New data alone: what is held for lost may only be late (`tcp_try_undo_partial`).
    NewOnly,
}

/// What was noted of losses and of what was sent again.
#[derive(Clone, Copy, Default, Debug)]
struct Memory {
    /// What the reduction would be undone to, where it may be needless.
    before: Option<Before>,
    /// Retransmissions that were not reported to be needless (`undo_retrans`); none before the first.
    due: Option<u32>,
    /// When the first retransmission of the repair was sent (`retrans_stamp`).
    first_again: Option<Time>,
    /// Needless retransmissions that were reported since the start (`dsack_dups`).
    reported: u64,
    /// F-RTO: whether the timeout may be needless, and one past the highest segment sent at step 1 or 2b.
    suspected: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Before {
    /// When the reduction was: retransmissions bear no earlier stamp.
    at: Time,
    /// The window before that.
    window: f64,
    /// The slow-start threshold before that; none where a mark proved congestion.
    threshold: Option<f64>,
    /// The first unacknowledged segment then (`undo_marker`).
    first: u32,
}

impl Undo {
    /// Undoes what `rule` says.
    pub(super) fn new(rule: Undoing) -> Undo {
        Undo {
            rule,
            next: Next::Lost,
            memory: None,
            #[cfg(test)]
            taken_back: 0,
        }
    }

    fn noted(&self) -> Memory {
        self.memory.as_deref().copied().unwrap_or_default()
    }

    fn memory(&mut self) -> &mut Memory {
        self.memory.get_or_insert_default()
    }

    /// Something is sent again.
    #[inline]
    pub(super) fn on_sent_again(&mut self, now: Time) {
        let memory = self.memory();
        memory.first_again.get_or_insert(now);
        *memory.due.get_or_insert(0) += 1;
    }

    /// A mark was echoed: the reduction is needed.
    pub(super) fn on_marked(&mut self) {
        if let Some(before) = self.memory.as_mut().and_then(|memory| memory.before.as_mut()) {
            before.threshold = None;
        }
    }

    /// Nothing is left to take back.
    fn forget(&mut self) {
        if let Some(memory) = &mut self.memory {
            memory.before = None;
        }
    }

    /// A timeout is no longer suspected to be needless.
    fn end_suspicion(&mut self) {
        if let Some(memory) = &mut self.memory {
            memory.suspected = None;
        }
    }
}

impl Sender {
    /// The timer has gone off. Where it goes off again before anything new was acknowledged, the first time counts: an
    /// earlier stamp still proves that nothing was lost; afterwards there is nothing left to take back. During a repair
    /// something is lost indeed (Linux: only out of the states Open and Disorder).
    pub(super) fn remember_timeout(&mut self, repeated: bool, again: bool, now: Time) {
        match self.undo.rule {
            Undoing::Nothing => (),
            Undoing::Timeouts if self.state == State::Loss => (),
            Undoing::Timeouts => {
                self.undo.forget();
                if self.state == State::Open {
                    self.remember(self.control.slow_start_threshold(), now);
                }
            }
            Undoing::All => {
                if !repeated {
                    self.remember(self.kept_threshold(), now);
                }
                // RFC 5682 section 2.1 step 1: no repair was under way, or the timer goes off for the same segment again.
                let fresh = self.state == State::Open || again;
                self.undo.memory().suspected = fresh.then_some(self.board.next());
                self.send_lost_first();
            }
        }
    }

    /// A repair begins, of a loss at `window`.
    pub(super) fn remember_repair(&mut self, threshold: Option<f64>, window: f64, now: Time) {
        if self.undoes() {
            self.remember(0.0, now);
            if let Some(before) = &mut self.undo.memory().before {
                (before.window, before.threshold) = (window, threshold);
            }
        }
    }

    /// `tcp_init_undo`.
    fn remember(&mut self, threshold: f64, now: Time) {
        let first = self.board.first();
        let before = Before { at: now, window: self.window(), threshold: Some(threshold), first };
        let probe = u32::from(self.probe.end.is_some() && self.probe.again);
        let due = Some(self.board.retransmitted() + probe).filter(|&due| due > 0);
        let nothing_again = self.board.retransmitted() == 0 && !self.board.was_sent_again(first);
        let memory = self.undo.memory();
        (memory.before, memory.due) = (Some(before), due);
        if nothing_again {
            memory.first_again = None;
        }
    }

    /// The threshold that is worth keeping: at least 3/4 of the window (`tcp_current_ssthresh`).
    pub(super) fn kept_threshold(&self) -> f64 {
        let (window, threshold) = (self.window(), self.control.slow_start_threshold());
        if self.reduction.is_some() {
            threshold
        } else {
            threshold.max((window / 2.0).floor() + (window / 4.0).floor())
        }
    }

    /// Takes a timeout back where `segment`, the first acknowledgement of new data after it, answers what was sent
    /// before it.
    #[inline(never)]
    pub(super) fn undo_needless(&mut self, segment: &Segment, now: Time) {
        if self.undo.rule == Undoing::Timeouts && segment.number > self.board.first() {
            let Some(before) = self.undo.memory.as_mut().and_then(|memory| memory.before.take()) else { return };
            if segment.stamp < before.at {
                self.undo_to(before, true, now);
                self.finish_repair();
            }
        }
    }

    /// The control gets back what it had; where `losses`, what is held for lost is not.
    fn undo_to(&mut self, before: Before, losses: bool, now: Time) {
        self.undo.forget();
        #[cfg(test)]
        (self.undo.taken_back += 1);
        if losses {
            self.board.take_back_losses();
        }
        // A window that a reduction led until now is the control's again.
        self.reduction.set(None);
        if let Some(threshold) = before.threshold {
            self.control.on_undo(&sojourn_congestion::Undo { now, window: before.window, threshold });
        }
        if let Some(rack) = &mut self.rack {
            rack.judge_again();
        }
    }

    /// Whether the acknowledgement answers what was sent before the first retransmission, or nothing was sent again
    /// (`tcp_packet_delayed`).
    fn is_late(&self, segment: &Segment) -> bool {
        self.timestamps && self.undo.noted().first_again.is_none_or(|again| segment.stamp < again)
    }

    /// `tcp_may_undo`: what a repair in doubt goes back to.
    fn may_undo(&self, segment: &Segment) -> Option<Before> {
        let noted = self.undo.noted();
        noted.before.filter(|_| noted.due == Some(0) || self.is_late(segment))
    }

    /// A repair of losses or of a timeout would end with this acknowledgement; whether it was needless.
    pub(super) fn undo_at_end(&mut self, segment: &Segment, now: Time) -> bool {
        if !self.undoes() {
            return false;
        }
        if let Some(before) = self.may_undo(segment) {
            self.undo_to(before, false, now);
            return true;
        }
        // What it lowered stays known: all that it sent again may yet be reported to be needless.
        if let Some(rack) = &mut self.rack {
            rack.on_repaired();
        }
        false
    }

    /// A repair is under way, and `first` was unacknowledged before this acknowledgement of more; whether nothing is to be
    /// judged or sent again upon it (`tcp_try_undo_partial`), because retransmissions under way keep the repair open.
    pub(super) fn undo_partly(&mut self, segment: &Segment, first: u32, now: Time) -> bool {
        let Some(before) = self.undo.noted().before.filter(|_| self.undoes() && self.is_late(segment)) else {
            return false;
        };
        self.note_reordering(first);
        if self.board.retransmitted() > 0 {
            self.undo.next = Next::NewOnly;
            return true;
        }
        self.undo_to(before, true, now);
        self.finish_repair();
        false
    }

    /// All retransmissions were reported to be needless (`tcp_try_undo_dsack`).
    pub(super) fn undo_reported(&mut self, now: Time) {
        if self.undo.noted().due != Some(0) || !self.undoes() {
            return;
        }
        let Some(before) = self.undo.noted().before else { return };
        if let Some(rack) = &mut self.rack {
            rack.on_needless();
        }
        self.undo_to(before, false, now);
        if self.state == State::Recovery {
            self.finish_repair();
        }
    }

    /// RFC 5682 section 3.1, and the timestamps of a timeout's first acknowledgements (`tcp_process_loss`). Whether the
    /// repair of the timeout is over because it was needless.
    pub(super) fn undo_timeout(
        &mut self,
        segment: &Segment,
        acknowledged: u32,
        delivered: &Delivered,
        now: Time,
    ) -> bool {
        if !self.undoes() {
            return false;
        }
        let repaired = self.recover.get().is_some_and(|recover| self.board.first() >= recover);
        if acknowledged > 0
            && let Some(before) = self.may_undo(segment)
        {
            return self.end_needless_timeout(before, now);
        }
        let Some(end) = self.undo.noted().suspected else { return false };
        // Step 3b: what was never sent again was delivered.
        if self.board.evidence().lowest_sent_once.is_some_and(|lowest| lowest < end)
            && let Some(before) = self.undo.noted().before
        {
            return self.end_needless_timeout(before, now);
        }
        if self.board.next() > end {
            // Step 3a: the loss was real.
            if delivered.segments > acknowledged || acknowledged == 0 {
                self.undo.end_suspicion();
            }
        } else if acknowledged > 0 && !repaired {
            // Step 2b: try new data. Nothing new was sent since the timer went off, so that `recover` is right already.
            if self.has_new() {
                self.undo.next = Next::NewFirst;
            } else {
                self.undo.end_suspicion();
            }
        }
        false
    }

    fn end_needless_timeout(&mut self, before: Before, now: Time) -> bool {
        self.undo.end_suspicion();
        self.undo_to(before, true, now);
        self.timed_out_at = Optional::NONE;
        self.finish_repair();
        true
    }

    /// Whether what is lost may be sent.
    #[inline]
    pub(super) fn sends_lost(&self) -> bool {
        self.undo.next == Next::Lost
    }

    /// An input that allows what is lost to be sent.
    #[inline]
    pub(super) fn send_lost_first(&mut self) {
        self.undo.next = Next::Lost;
    }

    /// The new data of F-RTO step 2b has been sent, or none could be; whether what is lost may be sent now.
    #[inline(never)]
    pub(super) fn end_new_first(&mut self) -> bool {
        if self.undo.next != Next::NewFirst {
            return false;
        }
        self.send_lost_first();
        if self.undo.noted().suspected.is_some_and(|end| self.board.next() <= end) {
            self.undo.end_suspicion();
        }
        true
    }

    /// A block that reports what came twice (RFC 2883 section 4): below the cumulative acknowledgement, or within the next
    /// block. Segments that it covers where they are believed to be retransmissions.
    pub(super) fn duplicates_reported(&mut self, segment: &Segment, first: u32) -> u32 {
        let [block, rest @ ..] = segment.sack_blocks() else { return 0 };
        let within = |other: &Block| block.start >= other.start && block.end <= other.end;
        if !self.undoes()
            || block.start >= block.end
            || !(block.start < segment.number || rest.first().is_some_and(within))
        {
            return 0;
        }
        let count = block.end - block.start;
        if count > self.receive_window {
            return 0;
        }
        let memory = self.undo.memory();
        memory.reported += u64::from(count);
        if memory.reported > self.counts.retransmissions {
            return 0;
        }
        let of_probe = count == 1 && self.probe.end == Some(block.end);
        if let Some(rack) = &mut self.rack
            && !of_probe
        {
            rack.on_duplicate();
        }
        let known = block.end <= first || (block.start >= self.board.first() && block.end <= self.board.next());
        let memory = self.undo.memory();
        if let (Some(before), Some(due)) = (&memory.before, &mut memory.due)
            && known
            && block.end > before.first
        {
            *due = due.saturating_sub(count);
        }
        count
    }

    /// Whether the block of duplicates of `segment` ends where the probe did.
    pub(super) fn reports_probe(&self, segment: &Segment) -> bool {
        self.undoes()
            && segment
                .sack_blocks()
                .first()
                .is_some_and(|block| self.probe.end == Some(block.end) && block.start < segment.number)
    }

    /// The signal is a mark, which nothing takes back.
    pub(super) fn forbid_undo(&mut self, signal: Signal) {
        if signal == Signal::Ecn {
            self.undo.on_marked();
            self.undo.forget();
        }
    }
}
