//! When the next segment may go: pacing, and random pauses of the sending host.

use super::Sender;
use crate::options::Timers;
use sojourn_congestion::Control;
use sojourn_core::{Span, Stream, Time};

/// Random pauses of the sending host.
#[derive(Debug)]
struct Jitter {
    longest: Span,
    random: Stream,
    /// When data was last sent; `None` while a pause lasts, and until something is sent after it.
    burst: Option<Time>,
}

impl Jitter {
    /// The pause that begins as data may be sent at `now`, unless one has begun since data was last sent.
    #[inline(never)]
    fn pause(&mut self, now: Time) -> Option<Span> {
        self.burst.take_if(|burst| *burst < now)?;
        Some(self.longest.mul_f64(self.random.uniform()))
    }
}

/// Segments of a connection that go at once.
const UNPACED: u64 = 10;

/// What holds back the next segment.
#[derive(Debug)]
pub(super) struct Pacing {
    next_at: Time,
    jitter: Option<Box<Jitter>>,
}

impl Pacing {
    /// Of a connection that has sent nothing.
    pub(super) fn new() -> Pacing {
        Pacing { next_at: Time::ZERO, jitter: None }
    }

    /// Before this nothing goes that has to wait for anything.
    #[inline(always)]
    pub(super) fn next_at(&self) -> Time {
        self.next_at
    }

    /// Data may be sent at `now`, unless a pause begins; whether nothing may go yet.
    #[inline]
    pub(super) fn holds_back(&mut self, now: Time) -> bool {
        if let Some(jitter) = &mut self.jitter
            && let Some(pause) = jitter.pause(now)
        {
            self.next_at = self.next_at.max(now + pause);
        }
        now < self.next_at
    }

    /// Data is sent, after which a pause may begin.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time) {
        if let Some(jitter) = &mut self.jitter {
            jitter.burst = Some(now);
        }
    }
}

impl Sender {
    /// The same with random pauses of at most `longest` before data is sent.
    #[must_use]
    pub fn with_jitter(mut self, longest: Span, random: Stream) -> Sender {
        self.pacing.jitter = Some(Box::new(Jitter { longest, random, burst: None }));
        self.has_fast_path = false;
        self
    }

    /// Sets the earliest time of the next segment.
    #[inline(always)]
    pub(super) fn pace(&mut self, now: Time, window: f64) {
        // Nearly all windows are of at least a segment, and most flows are not paced.
        if self.is_paced || window < 1.0 {
            self.set_gap(now, window);
        }
    }

    #[inline]
    fn set_gap(&mut self, now: Time, window: f64) {
        if let Some(gap) = self.gap(window) {
            self.leave_gap(gap, self.control.pacing_rate().is_some(), now);
        }
    }

    /// A gap after what is sent now; where it `shrinks`, as Linux shortens it (`tcp_update_skb_after_send`).
    #[inline]
    pub(super) fn leave_gap(&mut self, gap: Span, shrinks: bool, now: Time) {
        let slack = shrinks && self.timers == Timers::Linux;
        self.pacing.next_at = now + if slack { self.slackened(gap, now) } else { gap };
    }

    #[inline(never)]
    fn slackened(&self, gap: Span, now: Time) -> Span {
        if self.transmissions() < UNPACED {
            return Span::ZERO;
        }
        gap - (gap / 2).min(now.since(self.pacing.next_at))
    }

    /// The gap after one segment, where there is to be one.
    #[inline(always)]
    pub(super) fn gap(&self, window: f64) -> Option<Span> {
        if let Some(rate) = self.control.pacing_rate() {
            Some(rate.transmission(u64::from(self.payload_bytes)))
        } else if window < 1.0 {
            Some(self.rtt.smoothed().mul_f64(1.0 / window))
        } else {
            self.rtt.constants().pacing.map(|gain| self.rtt.smoothed().mul_f64(1.0 / (gain * window)))
        }
    }
}
