//! How fast the window moves to what the control makes of a loss or a mark: by proportional rate reduction (RFC 9937), or by
//! rate halving (Linux before 3.2, `tcp_cwnd_down`).
//!
//! The control answers congestion at once; its window is the ssthresh of the RFC from then on. Until what was outstanding then
//! has been acknowledged, another window stands in for it, which follows what is delivered: as many segments leave as the
//! reduction's share of those that arrived, or one for every second acknowledgement. Loss detection is the same as without.

use super::Sender;
use crate::options::Reducing;
use sojourn_congestion::{Congestion, Control, Signal, Stage};
use sojourn_core::Time;

/// A reduction under way. Counts are in segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Reduction {
    /// What the window is reduced from: RecoverFS, for which Linux takes cwnd (`prior_cwnd`).
    pub(super) before: u32,
    /// Delivered since (prr_delivered).
    pub(super) delivered: u32,
    /// Transmissions of the connection when it began; all later ones are prr_out.
    pub(super) sent_before: u64,
    /// cwnd.
    window: u32,
    /// One past the highest segment sent when it began.
    until: u32,
    /// Rate halving: whether the next acknowledgement lowers the window.
    second: bool,
}

/// An acknowledgement, as a reduction sees it. Counts are in segments.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// Newly delivered, cumulatively or by SACK (DeliveredData).
    delivered: u32,
    /// Sent since the reduction began (prr_out).
    out: u64,
    /// In the network after the acknowledgement.
    pipe: u32,
    /// What the control allows (ssthresh).
    threshold: u32,
    /// Whether SND.UNA advanced and nothing more was found lost (SafeACK).
    safe: bool,
}

impl Reduction {
    /// One from a window of `before` segments; nothing has been acknowledged since.
    fn new(before: u32, sent_before: u64, until: u32) -> Reduction {
        // Below one segment there is still one to send.
        let before = before.max(1);
        Reduction { before, delivered: 0, sent_before, window: before, until, second: false }
    }

    /// RFC 9937 section 6.2, "on every ACK".
    fn on_ack(&mut self, step: &Step) {
        // Linux: what delivers nothing leaves cwnd as it is.
        if step.delivered == 0 {
            return;
        }
        self.delivered += step.delivered;
        let (delivered, out) = (i64::from(self.delivered), step.out as i64);
        let (pipe, threshold) = (i64::from(step.pipe), i64::from(step.threshold));
        let allowed = if pipe > threshold {
            // SndCnt = CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out
            (delivered * threshold + i64::from(self.before) - 1) / i64::from(self.before) - out
        } else {
            // The reduction bound: as much as was delivered, one more where that is safe, and never beyond ssthresh.
            let bound = (delivered - out).max(i64::from(step.delivered)) + i64::from(step.safe);
            bound.min(threshold - pipe)
        };
        // The fast retransmission goes out whatever is allowed.
        let allowed = allowed.max(i64::from(out == 0));
        self.window = u32::try_from(pipe + allowed.max(0)).unwrap_or(u32::MAX);
    }
}

impl Reduction {
    /// A probe that was just sent does not count as sent (Linux, `tcp_send_loss_probe`).
    pub(super) fn leave_out(&mut self) {
        self.sent_before += 1;
    }

    /// `tcp_cwnd_down`. Its lower bound is ssthresh; Reno of those kernels goes on to half of that.
    fn halve(&mut self, step: &Step) {
        if step.delivered == 0 {
            return;
        }
        self.delivered += step.delivered;
        if self.second && self.window > step.threshold {
            self.window -= 1;
        }
        self.second = !self.second;
        self.window = self.window.min(step.pipe + 1);
    }
}

impl Sender {
    /// The congestion window (cwnd) in segments: the control's, or what a reduction has left of the one before.
    #[inline]
    pub fn window(&self) -> f64 {
        match self.reduction.get() {
            Some(reduction) => f64::from(reduction.window),
            None => self.control.window(),
        }
    }

    /// Tells the control of congestion noticed with `flight` segments out, `pipe` of them in the network.
    pub(super) fn reduce(&mut self, signal: Signal, flight: u32, pipe: u32, now: Time) {
        let before = self.window();
        self.tell(signal, Stage::New, flight, pipe, now);
        self.ecn.on_reduced(self.board.next());
        self.start_reduction(signal, before);
    }

    /// The same at any stage of a reduction.
    pub(super) fn tell(&mut self, signal: Signal, stage: Stage, flight: u32, pipe: u32, now: Time) {
        self.recovery.on_told();
        self.ecn.on_told();
        let (flight, pipe, smoothed_rtt) = (f64::from(flight), f64::from(pipe), self.rtt.smoothed());
        #[cfg(test)]
        let whole = self.control.window();
        self.control.on_congestion(&Congestion { now, signal, flight, pipe, smoothed_rtt, stage });
        #[cfg(test)]
        self.told.push((signal, self.control.window() < whole));
    }

    /// The control has answered `signal`, at a window of `before` segments.
    #[inline(never)]
    pub(super) fn start_reduction(&mut self, signal: Signal, before: f64) {
        // After a timeout nothing is in flight that could keep a rate. A control that leaves its window has answered, too.
        let by_rate = self.stepwise() && !matches!(signal, Signal::Timeout { .. }) && self.control.window() <= before;
        let begun = by_rate.then(|| Reduction::new(before as u32, self.transmissions(), self.board.next()));
        self.reduction.set(begun);
    }

    /// Ends a reduction without a repair once what was sent after it began has been acknowledged: the control's window
    /// counts again.
    #[inline]
    pub(super) fn end_reduction(&mut self) {
        if self.reduction.get().is_some_and(|reduction| self.board.first() > reduction.until) {
            self.complete_reduction();
        }
    }

    /// An acknowledgement newly delivered `delivered` segments; `safe`: SND.UNA advanced and nothing more was found lost.
    #[inline(never)]
    pub(super) fn step_reduction(&mut self, delivered: u32, safe: bool) {
        let Some(mut reduction) = self.reduction.get() else { return };
        let step = Step {
            delivered,
            out: self.transmissions() - reduction.sent_before,
            pipe: self.in_flight(),
            threshold: self.control.window().max(1.0) as u32,
            safe,
        };
        if self.reducing == Reducing::Halving {
            reduction.halve(&step);
        } else {
            reduction.on_ack(&step);
        }
        self.reduction.set(Some(reduction));
    }

    /// The control's window counts again: where rate halving went below it, no more than that is left (`tcp_complete_cwr`).
    #[inline(never)]
    pub(super) fn complete_reduction(&mut self) {
        let Some(reduction) = self.reduction.take() else { return };
        if self.reducing == Reducing::Halving {
            let window = self.control.window().min(f64::from(reduction.window));
            self.control.set_window(window, self.control.slow_start_threshold());
        }
    }

    /// Whether losses and marks lower the window step by step.
    #[inline]
    pub(super) fn stepwise(&self) -> bool {
        self.reducing != Reducing::AtOnce
    }

    /// Data segments sent, again or for the first time.
    pub(super) fn transmissions(&self) -> u64 {
        u64::from(self.board.next()) + self.counts.retransmissions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The window after an acknowledgement of a reduction from 20 segments to 10, of which 8 were delivered before and `out`
    /// sent.
    fn window(delivered: u32, out: u64, pipe: u32, safe: bool) -> u32 {
        let mut reduction = Reduction { delivered: 8, ..Reduction::new(20, 0, 100) };
        reduction.on_ack(&Step { delivered, out, pipe, threshold: 10, safe });
        reduction.window
    }

    /// RFC 9937 section 6.2: the reduction bound lets at least as many go as were just delivered, although more than was
    /// delivered has been sent.
    #[test]
    fn what_is_delivered_may_be_sent() {
        assert_eq!(window(2, 12, 5, false), 7);
        assert_eq!(window(2, 12, 5, true), 8);
        assert_eq!(window(2, 12, 9, true), 10);
    }

    /// The fast retransmission goes out with a full pipe.
    #[test]
    fn the_first_retransmission_waits_for_nothing() {
        assert_eq!(window(1, 0, 10, false), 11);
        assert_eq!(window(1, 1, 10, false), 10);
    }

    /// Linux (`tcp_cwnd_reduction`): what delivers nothing leaves the window.
    #[test]
    fn what_delivers_nothing_leaves_the_window() {
        assert_eq!(window(0, 4, 5, true), 20);
    }
}
