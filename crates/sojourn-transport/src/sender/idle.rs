//! What time without sending leaves of the window.
//!
//! RFC 5681 section 4.1: after more than a retransmission timeout without data, cwnd is RW = min(IW, cwnd) at most, and
//! ssthresh stays. Linux (`tcp_slow_start_after_idle`, after RFC 2861): cwnd is halved once for each timeout that passed
//! instead of going to RW at once, ssthresh becomes 3/4 of the window where that is more, and a window that is in use only in
//! part for a timeout moves half way to what was used.

use super::Sender;
use super::recovery::State;
use crate::options::AfterIdle;
use sojourn_congestion::{AppLimited, Control, Start, Unused};
use sojourn_core::{Span, Time};
use std::hint::select_unpredictable;

/// When the window was used last.
#[derive(Debug)]
pub(super) struct Idle {
    rule: AfterIdle,
    /// When data was last sent; [`Time::NEVER`] before.
    sent: Time,
    /// `snd_cwnd_stamp`: when the window was last used up, or last lowered for not being so.
    used_up: Time,
    /// `snd_cwnd_used`: most segments outstanding since.
    most_used: u32,
}

impl Idle {
    /// For a connection that has sent nothing.
    pub(super) fn new(rule: AfterIdle) -> Idle {
        Idle { rule, sent: Time::NEVER, used_up: Time::ZERO, most_used: 0 }
    }

    /// A segment is sent.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time) {
        self.sent = now;
    }

    /// An acknowledgement counted for the window, which Linux takes for its use (`snd_cwnd_stamp` in `tcp_cong_avoid`).
    #[inline]
    pub(super) fn on_acknowledged(&mut self, now: Time) {
        self.used_up = now;
    }

    /// The window was used.
    #[inline]
    pub(super) fn on_used(&mut self, now: Time) {
        self.used_up = now;
        self.most_used = 0;
    }

    /// The same where it `was`.
    #[inline]
    pub(super) fn on_used_if(&mut self, was: bool, now: Time) {
        self.used_up = select_unpredictable(was, now, self.used_up);
        self.most_used = select_unpredictable(was, 0, self.most_used);
    }

    /// What `idle` time since the last segment leaves of the window, with a retransmission timeout of `timeout` and the restart
    /// window `window`.
    fn unused(&self, idle: Span, timeout: Span, window: f64) -> Unused {
        if idle <= timeout {
            return Unused::Keep;
        }
        match self.rule {
            AfterIdle::Keep => Unused::Keep,
            AfterIdle::Restart => Unused::Restart { window },
            AfterIdle::Decay => {
                let times = (idle.as_nanos() - 1) / timeout.as_nanos().max(1);
                Unused::Halve { window, times: u32::try_from(times).unwrap_or(u32::MAX) }
            }
        }
    }
}

impl Sender {
    /// A new segment is about to be sent while nothing is outstanding.
    #[inline(never)]
    pub(super) fn start(&mut self, now: Time) {
        if self.idle.sent == Time::NEVER {
            return;
        }
        let (idle, timeout) = (now.since(self.idle.sent), self.rtt.timeout());
        let app_limited = self.is_app_limited();
        let unused = self.idle.unused(idle, timeout, self.rtt.constants().restart_window);
        self.control.on_start(&Start { now, idle, timeout, app_limited, unused });
        if unused != Unused::Keep {
            self.idle.used_up = now;
            self.idle.most_used = 0;
        }
    }

    /// The application writes: the rate of what is in flight was limited by it where all was sent and the window has room
    /// (`tcp_rate_check_app_limited`).
    pub(super) fn on_write(&mut self) {
        if !self.usage.waits_for_write() || self.rate.is_none() {
            return;
        }
        let in_flight = self.in_flight();
        let room = f64::from(in_flight) < self.window() && self.board.next() >= self.end && !self.board.has_due();
        if let Some(sampler) = &mut self.rate
            && room
        {
            sampler.on_app_limited(in_flight);
        }
    }

    /// Whether the application limits sending: where rates are measured, whether it limits theirs.
    fn is_app_limited(&self) -> bool {
        match &self.rate {
            Some(sampler) if self.usage.waits_for_write() => sampler.is_app_limited(),
            _ => !self.usage.is_limited(),
        }
    }

    /// Something is about to be sent in a repair; where nothing is in flight, sending starts again.
    #[inline(never)]
    pub(super) fn start_in_repair(&mut self, now: Time) {
        if self.in_flight() > 0 || self.idle.sent == Time::NEVER {
            return;
        }
        let (idle, timeout) = (now.since(self.idle.sent), self.rtt.timeout());
        let app_limited = self.is_app_limited();
        self.control.on_restart_of_repair(&Start { now, idle, timeout, app_limited, unused: Unused::Keep });
    }

    /// There is nothing to send although the window lets more be sent, or the receiver has no room for it.
    #[inline(never)]
    pub(super) fn on_app_limited(&mut self, now: Time) {
        let begins = self.usage.take_limited();
        let unused = if self.notes_use(false) { self.validate(now) } else { Unused::Keep };
        if begins || unused != Unused::Keep {
            self.control.on_app_limited(&AppLimited { now, unused });
        }
    }

    /// The host takes no more now: the window is not used (Linux).
    pub fn on_held_back(&mut self, now: Time) {
        self.on_app_limited(now);
    }

    /// RFC 2861 as in Linux (`tcp_cwnd_validate`), where the window is not used.
    fn validate(&mut self, now: Time) -> Unused {
        if self.idle.rule != AfterIdle::Decay {
            return Unused::Keep;
        }
        self.idle.most_used = self.idle.most_used.max(self.board.outstanding());
        if now.since(self.idle.used_up) < self.rtt.timeout() {
            return Unused::Keep;
        }
        let used = f64::from(std::mem::take(&mut self.idle.most_used)).max(self.rtt.constants().restart_window);
        self.idle.used_up = now;
        if self.recovery.state() == State::Open { Unused::Average { used } } else { Unused::Keep }
    }
}
