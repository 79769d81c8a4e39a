//! Whether the window is used, so that acknowledgements may open it.
//!
//! RFC 2861 section 3.1 lets a window grow only while it is full. Linux (`tcp_cwnd_validate`, `tcp_is_cwnd_limited`) looks
//! each time that new segments were sent or would have been: a window that was full counts as used for a round trip, and
//! one that was not keeps the most segments that were out at once, which suffice in slow start where they are more than
//! half of it. RFC 7661 section 4.3 takes half of the window for enough in congestion avoidance too.

use super::Sender;
use crate::options::AppLimited;
use sojourn_congestion::Control;
use sojourn_core::Time;

/// What was used of the window in the present round trip.
#[derive(Debug)]
pub(super) struct Usage {
    app_limited: AppLimited,
    /// Whether it was full when sending last came to a stop.
    limited: bool,
    /// Whether new segments were sent since sending last came to a stop.
    sent: bool,
    /// `is_cwnd_limited`.
    full: bool,
    /// `max_packets_out`.
    most_out: u32,
    /// `cwnd_usage_seq`: the round trip ends when all below is acknowledged.
    until: u32,
}

impl Usage {
    /// Of a connection that has sent nothing.
    pub(super) fn new(app_limited: AppLimited) -> Usage {
        Usage { app_limited, limited: false, sent: false, full: false, most_out: 0, until: 0 }
    }

    /// Whether a rate counts as limited by the application only once that writes again.
    pub(super) fn waits_for_write(&self) -> bool {
        self.app_limited == AppLimited::Linux
    }

    /// Whether the window lets nothing more be sent.
    pub(super) fn is_limited(&self) -> bool {
        self.limited
    }

    /// The window lets more be sent; whether it did not before.
    pub(super) fn take_limited(&mut self) -> bool {
        std::mem::take(&mut self.limited)
    }

    /// A new segment is sent.
    #[inline]
    pub(super) fn on_sent(&mut self) {
        self.sent = true;
    }
}

impl Sender {
    /// Whether the window counts as used.
    #[inline(always)]
    pub(super) fn uses_window(&self) -> bool {
        if self.usage.app_limited == AppLimited::Linux { self.used_window() } else { self.usage.limited }
    }

    /// Whether it was used in this round trip.
    #[inline(never)]
    fn used_window(&self) -> bool {
        let window = self.control.window();
        self.usage.full || (window < self.control.slow_start_threshold() && window < f64::from(2 * self.usage.most_out))
    }

    /// The window does not let more be sent.
    #[inline]
    pub(super) fn on_window_limited(&mut self, now: Time) {
        self.usage.limited = true;
        if self.usage.app_limited == AppLimited::Rfc {
            return self.idle.on_used(now);
        }
        // Linux does not look where there is nothing that could be sent.
        if (self.usage.sent || self.board.next() < self.end) && !self.notes_use(true) {
            self.idle.on_used(now);
        }
    }

    /// Sending comes to a stop, because the window is `full` or before the next segment may go.
    #[inline(always)]
    pub(super) fn on_stop(&mut self, full: bool, now: Time) {
        if self.usage.app_limited == AppLimited::Rfc {
            self.usage.limited |= full;
            self.idle.on_used_if(full, now);
        } else if full {
            self.on_window_limited(now);
        }
    }

    /// Sending comes to a stop, with a window that is `full`; whether it is not used.
    #[inline(never)]
    pub(super) fn notes_use(&mut self, full: bool) -> bool {
        if self.usage.app_limited == AppLimited::Rfc {
            return !full;
        }
        let sent = std::mem::take(&mut self.usage.sent);
        if !sent && !full {
            return false;
        }
        let out = self.board.outstanding();
        let full = full || f64::from(self.in_flight()) >= self.window().floor();
        let usage = &mut self.usage;
        if self.board.first() >= usage.until || full || (!usage.full && out > usage.most_out) {
            usage.full = full;
            usage.most_out = out;
            usage.until = self.board.next();
        }
        !self.uses_window()
    }
}
