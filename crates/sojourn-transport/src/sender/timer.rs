//! The one timer of a sender, which waits for the retransmission timeout or, where losses are found by time, for something that
//! comes before it.

use super::Sender;
use sojourn_congestion::Control;
use sojourn_core::{Span, Time};

/// What the timer waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pending {
    /// The retransmission timeout (RFC 6298).
    Retransmission,
    /// The probe timeout (PTO).
    Probe,
    /// The end of the reordering window.
    Reordering,
}

/// When it goes off, and for what.
#[derive(Debug)]
pub(super) struct Timer {
    at: Time,
    pending: Pending,
}

impl Timer {
    /// One that is not running.
    pub(super) fn new() -> Timer {
        Timer { at: Time::NEVER, pending: Pending::Retransmission }
    }

    /// When it goes off; [`Time::NEVER`] where it is not running.
    #[inline(always)]
    pub(super) fn at(&self) -> Time {
        self.at
    }

    /// What it waits for, or did last.
    #[inline]
    pub(super) fn pending(&self) -> Pending {
        self.pending
    }

    /// What it waits for from now on, although it goes off when it did.
    pub(super) fn set_pending(&mut self, pending: Pending) {
        self.pending = pending;
    }

    /// It does not go off.
    #[inline]
    pub(super) fn stop(&mut self) {
        self.at = Time::NEVER;
    }
}

impl Sender {
    /// When [`on_timer`](Sender::on_timer) or [`poll_transmit`](Sender::poll_transmit) wants to be called.
    #[inline]
    pub fn deadline(&self, now: Time) -> Time {
        if self.pacing.next_at() > now { self.timer.at.min(self.pacing.next_at()) } else { self.timer.at }
    }

    /// Whether a time that [`deadline`](Sender::deadline) named has come.
    #[inline]
    pub fn is_due(&self, now: Time) -> bool {
        self.timer.at <= now || self.pacing.next_at() == now
    }

    /// A time that [`deadline`](Sender::deadline) named has come.
    pub fn on_timer(&mut self, now: Time) {
        if now < self.timer.at {
            return;
        }
        self.recovery.send_lost_first();
        match self.timer.pending {
            Pending::Retransmission => self.on_retransmission_timer(now),
            Pending::Probe => self.on_probe_timer(now),
            Pending::Reordering => self.on_reordering_timer(now),
        }
    }

    /// Starts the timer anew for a whole retransmission timeout, or what it waits for in its place.
    #[inline]
    pub(super) fn restart_timeout(&mut self, now: Time) {
        self.timer.at = self.timers.expiry(now, self.rtt.timeout(), self.rtt.constants().timer_tick);
    }

    /// Starts the timer at `now`, for `wait`.
    pub(super) fn arm(&mut self, pending: Pending, now: Time, wait: Span) {
        self.timer.at = self.timers.expiry(now, wait, self.rtt.constants().timer_tick);
        self.timer.pending = pending;
    }

    /// Starts the retransmission timer (RFC 6298 rules 5.1 and 5.3), which counts from the first segment's transmission where
    /// something else was waited for.
    pub(super) fn rearm(&mut self, now: Time) {
        if self.board.outstanding() == 0 {
            self.timer.stop();
            self.timer.pending = Pending::Retransmission;
            return;
        }
        let since = match (self.timer.pending, self.board.first_sent()) {
            (Pending::Probe | Pending::Reordering, Some(sent)) => sent,
            _ => now,
        };
        let wait = self.rtt.timeout().saturating_sub(now.since(since)).max(Span::from_nanos(1));
        self.arm(Pending::Retransmission, now, wait);
    }

    /// Whether nothing is outstanding and the control waits for the timer all the same.
    #[inline]
    pub(super) fn is_waiting(&self) -> bool {
        self.board.outstanding() == 0 && self.control.waits_for_timeout()
    }
}
