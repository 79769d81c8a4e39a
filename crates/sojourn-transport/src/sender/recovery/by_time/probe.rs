//! Tail loss probes (RFC 8985 section 7).

use super::rack::TIMER_SLACK;
use super::{Course, Machine, Recovery, State};
use crate::segment::{Block, Segment};
use crate::sender::Sender;
use crate::sender::timer::Pending;
use sojourn_core::{Optional, Span, Time};

/// The state of section 7.1.
#[derive(Debug)]
pub(super) struct Probe {
    wanted: bool,
    /// TLP.end_seq: one past the highest segment sent when the probe was.
    end: Option<u32>,
    /// TLP.is_retrans.
    again: bool,
}

impl Probe {
    /// Probes if `wanted`.
    pub(super) fn new(wanted: bool) -> Probe {
        Probe { wanted, end: None, again: false }
    }

    /// Whether a segment is out again as a probe.
    pub(super) fn is_again(&self) -> bool {
        self.end.is_some() && self.again
    }

    /// Whether a probe ends where `block` does.
    pub(super) fn ends_with(&self, block: &Block) -> bool {
        self.end == Some(block.end)
    }

    /// Nothing is waited for any more: losses are repaired.
    pub(super) fn end(&mut self) {
        self.end = None;
    }

    /// Section 7.3: a new segment, or the last one again, goes unless a probe is out; all below `next` was sent.
    fn fire(&mut self, course: &mut Course, next: u32, has_new: bool) -> bool {
        if self.end.is_some() {
            return false;
        }
        self.again = !has_new;
        if has_new {
            course.beyond_window = true;
            self.end = Some(next + 1);
        } else {
            course.urgent_probe = Optional::some(next - 1);
            self.end = Some(next);
        }
        true
    }

    /// Section 7.4.2: whether the probe has filled a hole. `covers` says that the acknowledgement is the first for something,
    /// `twice` that it may report the probe to have come twice.
    pub(super) fn judge(&mut self, segment: &Segment, covers: bool, twice: bool) -> bool {
        let Some(end) = self.end else { return false };
        if segment.number < end {
            return false;
        }
        let reported = |block: &Block| block.end == end && block.start < segment.number;
        // New data, or both copies arrived; or neither.
        let both = !self.again || (twice && segment.sack_blocks().first().is_some_and(reported));
        let fills = !both && segment.number > end;
        // A duplicate acknowledgement without SACK says that both copies arrived.
        if both || fills || !covers {
            self.end = None;
        }
        fills
    }
}

impl Sender {
    /// Section 7.2: how long to wait for a probe in place of the retransmission timeout.
    #[inline(always)]
    fn probe_timeout(&self) -> Option<Span> {
        // Only where no loss is suspected.
        let calm = self.recovery.state() == State::Open && (self.reduction.is_some() || self.board.is_calm());
        if !self.recovery.probes_tails() || !calm {
            return None;
        }
        let smoothed = self.rtt.smoothed();
        // TLP_calc_PTO. Where one segment is out, its acknowledgement may be delayed (WCDelAckT).
        match (self.board.outstanding(), smoothed.is_zero()) {
            (0, _) => None,
            (_, true) => Some(self.rtt.timeout()),
            (1, false) => Some(smoothed * 2 + self.rtt.floor()),
            (_, false) => Some(smoothed * 2 + TIMER_SLACK),
        }
    }

    /// Restarts the timer after progress: the probe timer, or the retransmission timer.
    #[inline(never)]
    pub(super) fn restart_timer(&mut self, now: Time) {
        match self.probe_timeout() {
            Some(wait) => self.arm(Pending::Probe, now, wait.min(self.rtt.timeout())),
            None => self.rearm(now),
        }
    }

    /// New data was sent, with something outstanding before where not `first`.
    #[inline(never)]
    pub(super) fn restart_timer_for_new(&mut self, first: bool, now: Time) {
        if let Some(wait) = self.probe_timeout() {
            let passed = self.board.first_sent().map_or(Span::ZERO, |sent| now.since(sent));
            let left = self.rtt.timeout().saturating_sub(passed);
            self.arm(Pending::Probe, now, if left.is_zero() { wait } else { wait.min(left) });
        } else if first || self.timer.pending() == Pending::Probe {
            self.rearm(now);
        }
    }

    /// The probe timer has gone off.
    pub(in crate::sender) fn on_probe_timer(&mut self, now: Time) {
        let (next, has_new) = (self.board.next(), self.has_new());
        let Recovery { course, machine: Machine::Time(time), .. } = &mut self.recovery else { return };
        if time.probe.fire(course, next, has_new) {
            self.timer.set_pending(Pending::Retransmission);
        }
        self.rearm(now);
    }
}

impl Recovery {
    #[inline]
    fn probes_tails(&self) -> bool {
        self.by_time().is_some_and(|time| time.probe.wanted)
    }
}
