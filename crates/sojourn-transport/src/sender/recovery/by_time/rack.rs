//! Time-based loss detection (RFC 8985, RACK) with the reordering window of Linux (`tcp_recovery.c`).
//!
//! What was sent before something that has been delivered is lost when a round-trip time and the reordering window have
//! passed since, also where it is a retransmission. Field names of the RFC stand beside those here.

use crate::rtt::RttEstimator;
use crate::scoreboard::{DUP_THRESH, Delivered, Evidence, Late, Scoreboard, Sending};
use sojourn_core::{Span, Time};

/// Recoveries that a larger reordering window lasts (RACK.reo_wnd_persist).
const PERSISTS: u32 = 16;
/// Most segments that reordering is taken for (`tcp_max_reordering`).
const MAX_REORDERING: u32 = 300;
/// Most quarters of the least round-trip time in the reordering window (RACK.reo_wnd_mult).
const MAX_STEPS: u64 = 255;
/// Added to what the timers of loss detection wait for (`TCP_TIMEOUT_MIN_US`).
pub(super) const TIMER_SLACK: Span = Span::from_millis(2);

/// The state of RFC 8985 section 5.2.
#[derive(Debug)]
pub(super) struct Rack {
    /// RACK.xmit_ts and RACK.end_seq, once something was delivered.
    newest: Option<Sending>,
    /// RACK.rtt.
    rtt: Span,
    /// Whether something was delivered since segments were last judged.
    advanced: bool,
    /// RACK.reordering_seen.
    seen: bool,
    /// Segments by which one may be late without being lost (`reordering`).
    degree: u32,
    /// RACK.reo_wnd_mult.
    steps: u64,
    /// RACK.reo_wnd_persist.
    persist: u32,
    /// Whether a needless retransmission was reported that may be due to reordering.
    duplicate: bool,
    /// Everything that was sent before a step counts for that (RACK.dsack_round).
    stepped: Time,
}

impl Rack {
    /// Of a connection that has sent nothing.
    pub(super) fn new() -> Rack {
        Rack {
            newest: None,
            rtt: Span::ZERO,
            advanced: false,
            seen: false,
            degree: DUP_THRESH,
            steps: 1,
            persist: 0,
            duplicate: false,
            stepped: Time::ZERO,
        }
    }

    /// Section 6.2 steps 2 and 3: the newest segment that was delivered, and its round-trip time.
    fn advance(&mut self, evidence: &Evidence, now: Time) {
        let (Some(surely), Some((last, _))) = (evidence.surely, evidence.last_surely) else { return };
        self.newest = self.newest.max(Some(surely));
        self.rtt = now.since(last);
        self.advanced = true;
    }

    /// Section 6.2 step 4, which widens the reordering window after needless retransmissions. The acknowledgement is the
    /// first for something that was sent at `sent`.
    fn adapt(&mut self, sent: Time, now: Time) {
        if sent < self.stepped {
            self.duplicate = false;
        }
        if std::mem::take(&mut self.duplicate) {
            self.steps = (self.steps + 1).min(MAX_STEPS);
            self.persist = PERSISTS;
            self.stepped = now;
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// A repair ended without being taken back.
    pub(super) fn on_repaired(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// A repair was taken back because all retransmissions were needless.
    pub(super) fn on_needless(&mut self) {
        self.persist = (self.persist + 1).min(PERSISTS);
    }

    /// A needless retransmission was reported.
    pub(super) fn on_duplicate(&mut self) {
        self.duplicate |= self.seen;
    }

    /// Whether needless retransmissions have widened the reordering window, or are about to.
    #[cfg(test)]
    pub(super) fn widened(&self) -> bool {
        self.steps > 1 || self.duplicate
    }

    /// What was taken back is judged again.
    pub(super) fn judge_again(&mut self) {
        self.advanced = true;
    }

    /// What was sent later than this long ago may still come after a timeout.
    pub(super) fn patience(&self) -> Span {
        self.rtt
    }

    /// Whether the congestion window may grow with what is delivered out of order: reordering is known to be common.
    pub(super) fn expects_reordering(&self) -> bool {
        self.degree > DUP_THRESH
    }

    /// Section 6.2 steps 1 to 4. `sacked_end` is one past the highest segment that was known to have arrived behind a hole
    /// before.
    #[inline]
    pub(super) fn note_delivered(&mut self, board: &Scoreboard, delivered: &Delivered, sacked_end: u32, now: Time) {
        let evidence = board.evidence();
        self.advance(&evidence, now);
        if delivered.segments > 0 {
            self.adapt(delivered.sent, now);
        }
        if let Some(lowest) = evidence.lowest_sent_once
            && lowest < sacked_end
        {
            self.note_reordering(board, lowest);
        }
    }

    /// Segment `late`, or what follows it, was delivered after higher ones (`tcp_check_sack_reordering`).
    pub(super) fn note_reordering(&mut self, board: &Scoreboard, late: u32) {
        let behind = board.sacked_end().saturating_sub(late);
        if behind > 0 {
            self.seen = true;
            self.degree = self.degree.max(behind.min(MAX_REORDERING));
        }
    }

    /// Section 6.2 step 4: how long a segment may be late.
    fn window(&self, board: &Scoreboard, rtt: &RttEstimator, repairing: bool) -> Span {
        if !self.seen && (repairing || board.sacked() >= self.degree) {
            return Span::ZERO;
        }
        (rtt.min() / 4 * self.steps).min(rtt.smoothed())
    }

    /// Section 6.2 step 5. Whether a retransmission was found lost, and how long to wait for others.
    pub(super) fn judge(&self, board: &mut Scoreboard, rtt: &RttEstimator, repairing: bool, now: Time) -> Late {
        let Some(newest) = self.newest else { return Late::default() };
        let patience = self.rtt + self.window(board, rtt, repairing);
        board.judge_late(newest, patience, now)
    }

    /// The same upon an acknowledgement: where something was delivered since.
    pub(super) fn judge_delivered(
        &mut self,
        board: &mut Scoreboard,
        rtt: &RttEstimator,
        repairing: bool,
        now: Time,
    ) -> Late {
        if std::mem::take(&mut self.advanced) { self.judge(board, rtt, repairing, now) } else { Late::default() }
    }
}
