//! Tail loss probes (RFC 8985 section 7) and the timer that they share with retransmission.

use super::rack::TIMER_SLACK;
use super::{Sender, State};
use crate::options::{Rounding, at_tick};
use crate::segment::Segment;
use sojourn_congestion::{Signal, Stage};
use sojourn_core::{Optional, Span, Time};

/// Levels of the timer wheel beside the last one, and how many ticks the first holds (`LVL_DEPTH`, `LVL_SIZE`).
const WHEEL_LEVELS: u32 = 8;
const FIRST_BUCKETS: u64 = 63;

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

/// The state of section 7.1.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    wanted: bool,
    /// TLP.end_seq: one past the highest segment sent when the probe was.
    pub(super) end: Option<u32>,
    /// TLP.is_retrans.
    pub(super) again: bool,
    /// A new segment may be sent whatever the window says.
    pub(super) beyond_window: bool,
}

impl Probe {
    /// Probes if `wanted`.
    pub(super) fn new(wanted: bool) -> Probe {
        Probe { wanted, ..Probe::default() }
    }
}

/// Ticks after which a timer goes off that is started at the tick `now` for `ticks`, in the timer wheel of Linux
/// (`calc_wheel_index`): each of its levels has an eighth of the resolution of the one before and begins where that one's
/// buckets do not suffice. Nothing goes off early, so the next bucket is taken.
fn wheel_expiry(now: u64, ticks: u64) -> u64 {
    let level = (0..WHEEL_LEVELS).find(|level| ticks < FIRST_BUCKETS << (3 * level)).unwrap_or(WHEEL_LEVELS);
    let resolution = 3 * level;
    (((now + ticks) >> resolution) + 1) << resolution
}

impl Sender {
    /// Starts the timer at `now`, for `wait`.
    pub(super) fn arm(&mut self, pending: Pending, now: Time, wait: Span) {
        self.retransmission_at = self.expiry(now, wait);
        self.pending = pending;
    }

    /// When a timer goes off that is started at `now` for `wait`.
    #[inline]
    pub(super) fn expiry(&self, now: Time, wait: Span) -> Time {
        let tick = self.rtt.constants().timer_tick;
        if tick.is_zero() || self.rounding == Rounding::Due {
            return at_tick(now + wait, tick);
        }
        let began = now.as_nanos() / tick.as_nanos();
        let ticks = wait.as_nanos().div_ceil(tick.as_nanos());
        let due = if self.rounding == Rounding::Wheel { wheel_expiry(began, ticks) } else { began + ticks + 1 };
        Time::from_nanos(due.saturating_mul(tick.as_nanos()))
    }

    /// Starts the retransmission timer (RFC 6298 rules 5.1 and 5.3), which counts from the first segment's transmission where
    /// something else was waited for.
    pub(super) fn rearm(&mut self, now: Time) {
        if self.board.outstanding() == 0 {
            self.retransmission_at = Time::NEVER;
            self.pending = Pending::Retransmission;
            return;
        }
        let since = match (self.pending, self.board.first_sent()) {
            (Pending::Probe | Pending::Reordering, Some(sent)) => sent,
            _ => now,
        };
        let wait = self.rtt.timeout().saturating_sub(now.since(since)).max(Span::from_nanos(1));
        self.arm(Pending::Retransmission, now, wait);
    }

    /// Section 7.2: starts the probe timer in place of the retransmission timer; whether it did. The latter would wait for
    /// `timeout`.
    #[inline]
    pub(super) fn schedule_probe(&mut self, timeout: Span, now: Time) -> bool {
        // Only where no loss is suspected.
        let calm = self.state == State::Open && (self.reduction.is_some() || self.board.is_calm());
        if !self.probe.wanted || !calm || self.board.outstanding() == 0 {
            return false;
        }
        let smoothed = self.rtt.smoothed();
        // TLP_calc_PTO. Where one segment is out, its acknowledgement may be delayed (WCDelAckT).
        let wait = match (smoothed.is_zero(), self.board.outstanding()) {
            (true, _) => self.rtt.timeout(),
            (false, 1) => smoothed * 2 + self.rtt.floor(),
            (false, _) => smoothed * 2 + TIMER_SLACK,
        };
        self.arm(Pending::Probe, now, wait.min(timeout));
        true
    }

    /// Restarts the timer after progress: the probe timer, or the retransmission timer.
    #[inline(never)]
    pub(super) fn restart_timer(&mut self, now: Time) {
        if !self.schedule_probe(self.rtt.timeout(), now) {
            self.rearm(now);
        }
    }

    /// New data was sent, with something outstanding before where not `first`.
    #[inline(never)]
    pub(super) fn restart_timer_for_new(&mut self, first: bool, now: Time) {
        let rearms = first || self.pending == Pending::Probe;
        let probes = self.probe.wanted && {
            let passed = self.board.first_sent().map_or(Span::ZERO, |sent| now.since(sent));
            let left = self.rtt.timeout().saturating_sub(passed);
            self.schedule_probe(if left.is_zero() { Span::MAX } else { left }, now)
        };
        if rearms && !probes {
            self.rearm(now);
        }
    }

    /// Section 7.3: sends a new segment, or the last one again, unless a probe is out.
    pub(super) fn on_probe_timer(&mut self, now: Time) {
        if self.probe.end.is_none() {
            let next = self.board.next();
            let has_new = self.has_new();
            self.probe.again = !has_new;
            if has_new {
                self.probe.beyond_window = true;
                self.probe.end = Some(next + 1);
            } else {
                self.urgent_rescue = Optional::some(next - 1);
                self.probe.end = Some(next);
            }
            self.pending = Pending::Retransmission;
        }
        self.rearm(now);
    }

    /// Section 7.4.2. `duplicate` says that the acknowledgement reports the probe to have come twice.
    pub(super) fn judge_probe(
        &mut self,
        segment: &Segment,
        acknowledged: u32,
        sacked: bool,
        duplicate: bool,
        now: Time,
    ) {
        let Some(end) = self.probe.end else { return };
        if segment.number < end {
            return;
        }
        if !self.probe.again || duplicate {
            // It was new data, or both copies arrived.
            self.probe.end = None;
        } else if segment.number > end {
            // The probe filled a hole: answer the loss once (TLP_invoke_congestion_control).
            self.probe.end = None;
            if self.state == State::Open && self.reduction.is_none() {
                self.tell(Signal::Loss, Stage::Repaired, self.flight_size(), self.board.pipe(), now);
                // RFC 3168 section 6.1.2, as for any other reduction.
                self.ecn_recover = Optional::some(self.board.next());
                self.owes_cwr = self.ecn;
            }
        } else if acknowledged == 0 && !sacked {
            // A duplicate acknowledgement without SACK: both copies arrived.
            self.probe.end = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux (`calc_wheel_index`): below 63 ticks the next one, from there on whole 8 ticks of the clock, from 504 on whole 64.
    #[test]
    fn long_waits_end_with_a_bucket_of_the_wheel() {
        let found = [(10, 5), (10, 62), (10, 63), (17, 63), (10, 503), (10, 504), (63, 504), (0, 4031), (0, 4032)];
        let expected = [16, 73, 80, 88, 520, 576, 576, 4032, 4096];
        assert_eq!(found.map(|(now, ticks)| wheel_expiry(now, ticks)), expected);
    }
}
