//! What acknowledgements and the timer say of losses, and what follows from it.

use super::ack::Heard;
use super::probe::Pending;
use super::{Sender, State, Timed};
use crate::scoreboard::{DUP_THRESH, Late};
use crate::segment::Segment;
use sojourn_congestion::{Congestion, Control, Recovered, Repair, Signal, Stage};
use sojourn_core::{Optional, Span, Time};

impl Sender {
    /// The cumulative acknowledgement moved by `acknowledged` segments.
    #[inline]
    pub(super) fn on_progress(&mut self, acknowledged: u32, now: Time) {
        self.timed_out_at = Optional::NONE;
        self.urgent = Optional::NONE;
        let restart_timer = if self.state == State::Open {
            self.end_reduction();
            if self.conserves && !self.sack {
                // tcp_remove_reno_sacks: all but one were counted when they were reported.
                self.uncredited = self.duplicates.min(acknowledged - 1);
            }
            self.reset_duplicates();
            true
        } else {
            self.progress_repair(acknowledged, now)
        };
        if self.board.outstanding() == 0 {
            self.retransmission_at = Time::NEVER;
        } else if restart_timer {
            self.retransmission_at = self.timer(now);
        }
    }

    /// The same during a repair; whether the timer is to be started again.
    #[inline(never)]
    fn progress_repair(&mut self, acknowledged: u32, now: Time) -> bool {
        let repaired = self.recover.get().is_none_or(|recover| self.board.first() >= recover);
        match self.state {
            State::Recovery if !repaired => {
                // RFC 6582 step 3: only the first partial acknowledgement restarts the timer.
                let restart_timer = self.sack || !self.restarted_timer;
                self.restarted_timer = true;
                self.on_partial(acknowledged);
                return restart_timer;
            }
            State::Recovery => {
                self.finish_repair();
                self.leave(if self.sack { Repair::Selective } else { Repair::Partial }, now);
            }
            State::Loss if repaired => {
                self.finish_repair();
                self.leave(Repair::Timeout, now);
            }
            State::Open | State::Loss | State::Handshake => {}
        }
        true
    }

    /// RFC 8985 section 6, in the order of Linux (`tcp_fastretrans_alert`): what ends, what was needless, what is lost.
    #[inline(never)]
    pub(super) fn respond_by_time(&mut self, segment: &Segment, heard: &Heard, now: Time) {
        let Heard { acknowledged, first, ref delivered, duplicates, .. } = *heard;
        self.send_lost_first();
        if heard.marks.is_some() {
            self.undo.on_marked();
        }
        let (probed, sacked) = (self.reports_probe(segment), delivered.segments > 0);
        self.judge_probe(segment, acknowledged, sacked, probed, now);
        if acknowledged > 0 {
            self.timed_out_at = Optional::NONE;
            self.urgent = Optional::NONE;
            self.urgent_rescue = Optional::NONE;
            self.probe.beyond_window = false;
        }
        let calm = self.state == State::Open && self.reduction.is_none() && self.board.is_calm();
        let late = if calm && duplicates == 0 { Late::default() } else { self.respond_in_doubt(segment, heard, now) };
        let head = self.board.first_sent();
        let old = delivered.unambiguous && acknowledged == 0 && head.is_some_and(|head| delivered.sent < head);
        if (acknowledged > 0 || old) && late.wait.is_zero() && segment.number >= first {
            self.restart_timer(now);
        }
    }

    fn respond_in_doubt(&mut self, segment: &Segment, heard: &Heard, now: Time) -> Late {
        let Heard { acknowledged, first, ref delivered, .. } = *heard;
        let repaired = acknowledged > 0 && self.recover.get().is_none_or(|recover| self.board.first() >= recover);
        match self.state {
            State::Recovery if repaired => self.end_repair(segment, Repair::Selective, now),
            State::Open if acknowledged > 0 => self.end_reduction(),
            _ => {}
        }
        let mut enters = true;
        match self.state {
            State::Recovery => {
                if acknowledged > 0 && self.undo_partly(segment, first, now) {
                    return Late::default();
                }
                self.undo_reported(now);
            }
            State::Loss => {
                if !self.undo_timeout(segment, acknowledged, delivered, now)
                    && self.recover.get().is_none_or(|recover| self.board.first() >= recover)
                {
                    self.end_repair(segment, Repair::Timeout, now);
                }
                enters = false;
            }
            State::Open | State::Handshake => self.undo_reported(now),
        }
        let late = self.judge_delivered(now);
        if self.board.has_lost() && (self.state == State::Open || (self.state == State::Loss && late.again)) {
            let flight = if enters { self.flight_size() } else { self.board.outstanding() - self.board.sacked() };
            self.enter_recovery(flight, now);
        }
        late
    }

    /// The repair ends with this acknowledgement.
    fn end_repair(&mut self, segment: &Segment, repair: Repair, now: Time) {
        let undone = self.undo_at_end(segment, now);
        self.finish_repair();
        if !undone {
            self.leave(repair, now);
        }
    }

    /// Tells the control that a repair has ended.
    fn leave(&mut self, repair: Repair, now: Time) {
        let flight = f64::from(self.board.outstanding());
        self.control.on_recovered(&Recovered { now, repair, flight });
    }

    fn on_partial(&mut self, acknowledged: u32) {
        if self.sack {
            return;
        }
        self.duplicates = self.duplicates.saturating_sub(acknowledged - 1);
        self.board.mark_lost(self.board.first());
        self.urgent = Optional::some(self.board.first());
    }

    pub(super) fn finish_repair(&mut self) {
        self.state = State::Open;
        self.complete_reduction();
        self.reset_duplicates();
    }

    #[inline]
    fn reset_duplicates(&mut self) {
        self.duplicates = 0;
        self.limited_sent = 0;
    }

    #[inline(never)]
    pub(super) fn on_duplicate(&mut self, now: Time) {
        match self.state {
            State::Recovery => self.duplicates += 1,
            State::Open => {
                self.duplicates += 1;
                // RFC 6582 step 1: acknowledgements of what an earlier repair sent twice prove nothing.
                let careful = self.sack || self.recover.get().is_none_or(|recover| self.board.first() > recover);
                if self.duplicates >= DUP_THRESH && careful {
                    self.enter_recovery(self.flight_size(), now);
                }
            }
            State::Loss | State::Handshake => {}
        }
    }

    #[inline(never)]
    pub(super) fn enter_recovery(&mut self, flight: u32, now: Time) {
        // Before the control hears of it: the lost segment is not in flight.
        if self.rack.is_none() {
            self.board.mark_lost(self.board.first());
        }
        // RFC 3168 section 6.1.2: a mark and a loss of the same window of data are one reason to reduce it. What was sent
        // after the reduction is the next window.
        let answered = self.marked_until.get().filter(|&end| self.board.first() < end);
        let threshold = (answered.is_none() && self.reduction.is_none()).then(|| self.kept_threshold());
        self.remember_repair(threshold, self.window(), now);
        self.probe.end = None;
        let goes_on = self.reduction.is_some();
        match answered {
            None if goes_on => self.reduce_further(flight, now),
            None => self.reduce(Signal::Loss, flight, self.board.pipe(), now),
            Some(_) => {}
        }
        self.state = State::Recovery;
        self.send_lost_first();
        self.recover = Optional::some(answered.unwrap_or(self.board.next()));
        self.rescued = false;
        self.restarted_timer = false;
        self.timed = Timed::NONE;
        if self.rack.is_some() {
            // A reduction that goes on has let something out since it began, and lets this out with the rest. A control that
            // paces its segments paces this one too (`tcp_pacing_check` in `tcp_xmit_retransmit_queue`).
            let waits = goes_on || (self.rate.is_some() && self.control.pacing_rate().is_some());
            self.urgent = self.board.next_lost().filter(|_| !waits).into();
        } else {
            self.retransmission_at = self.timer(now);
            self.urgent = Optional::some(self.board.first());
        }
    }

    /// A segment was lost that was sent after the repair began: a second indication of congestion, which lowers the
    /// window again (RFC 5681 section 4.3). Without this, a retransmission that is lost itself would let SACK
    /// repair loss after loss at an unchanged window until the timer fires.
    #[inline(never)]
    pub(super) fn reduce_again(&mut self, now: Time) {
        self.reduce(Signal::Loss, self.flight_size(), self.board.pipe(), now);
        self.state = State::Recovery;
        self.recover = Optional::some(self.board.next());
        self.rescued = false;
    }

    /// The receiver echoes a congestion mark on an acknowledgement of `acknowledged` more segments: answer
    /// once per window (RFC 3168 section 6.1.2).
    #[inline(never)]
    pub(super) fn on_echo(&mut self, acknowledged: u32, now: Time) {
        let answered = self.ecn_recover.get().is_some_and(|segment| self.board.first() <= segment);
        if self.ecn && self.state == State::Open && !answered {
            self.forbid_undo(Signal::Ecn);
            let before = self.control.window();
            self.reduce(Signal::Ecn, self.flight_size() + acknowledged, self.board.pipe(), now);
            // Some answer a loss besides (DCTCP in Linux; Prague has a credit for it), and those that make nothing of a mark
            // have answered nothing (BBR).
            let answered = !self.control.answers_both() && self.control.window() < before;
            self.marked_until = answered.then_some(self.board.next()).into();
        }
    }

    /// Tells the control of congestion noticed with `flight` segments out, `pipe` of them in the network.
    pub(super) fn reduce(&mut self, signal: Signal, flight: u32, pipe: u32, now: Time) {
        let before = self.window();
        self.tell(signal, Stage::New, flight, pipe, now);
        // RFC 3168 section 6.1.2: whatever the reason, the receiver hears of it and stops echoing.
        self.ecn_recover = Optional::some(self.board.next());
        self.owes_cwr = self.ecn && self.decoder.is_none();
        self.start_reduction(signal, before);
    }

    /// A loss is found in the middle of a reduction: that goes on, and only a control that answers both signals may lower what
    /// it goes to (Linux, `tcp_enter_recovery`).
    #[inline(never)]
    fn reduce_further(&mut self, flight: u32, now: Time) {
        if self.control.answers_both() {
            self.tell(Signal::Loss, Stage::Reducing { window: self.window() }, flight, self.board.pipe(), now);
        }
    }

    /// Tells the control of congestion.
    pub(super) fn tell(&mut self, signal: Signal, stage: Stage, flight: u32, pipe: u32, now: Time) {
        self.limited_sent = 0;
        self.marked_until = Optional::NONE;
        let (flight, pipe, smoothed_rtt) = (f64::from(flight), f64::from(pipe), self.rtt.smoothed());
        #[cfg(test)]
        let whole = self.control.window();
        self.control.on_congestion(&Congestion { now, signal, flight, pipe, smoothed_rtt, stage });
        #[cfg(test)]
        self.told.push((signal, self.control.window() < whole));
    }

    /// FlightSize of RFC 5681 equation 4, without the segments of limited transmit.
    ///
    /// The RFC counts all that is not cumulatively acknowledged. While a repair waits for a retransmission that was
    /// lost too, SACK lets new data flow behind it for as long as the timer runs, and that count grows far beyond
    /// the window. What has left the network is therefore left out during a repair, as pipe does (RFC 6675).
    pub(super) fn flight_size(&self) -> u32 {
        match self.state {
            State::Open | State::Handshake => self.board.outstanding().saturating_sub(self.limited_sent),
            State::Recovery | State::Loss => self.in_flight(),
        }
    }

    /// When the retransmission timer goes off that is started at `now`.
    #[inline]
    pub(super) fn timer(&self, now: Time) -> Time {
        self.expiry(now, self.rtt.timeout())
    }

    /// Whether nothing is outstanding and the control waits for the timer all the same.
    #[inline]
    pub(super) fn is_waiting(&self) -> bool {
        self.board.outstanding() == 0 && self.control.waits_for_timeout()
    }

    /// A time that [`deadline`](Sender::deadline) named has come.
    pub fn on_timer(&mut self, now: Time) {
        if now < self.retransmission_at {
            return;
        }
        self.send_lost_first();
        match self.pending {
            Pending::Retransmission => self.on_retransmission_timer(now),
            Pending::Probe => self.on_probe_timer(now),
            Pending::Reordering => self.on_reordering_timer(now),
        }
    }

    /// RFC 6298 section 5, rules 5.4 to 5.6.
    fn on_retransmission_timer(&mut self, now: Time) {
        if self.state != State::Handshake && self.board.outstanding() == 0 {
            self.retransmission_at = Time::NEVER;
            return self.reduce(Signal::Timeout { repeated: false }, 0, 0, now);
        }
        self.counts.timeouts += 1;
        self.rtt.back_off();
        self.retransmission_at = self.timer(now);
        if self.state == State::Handshake {
            self.syn_due = true;
            return;
        }
        // Within a repair or a reduction Linux keeps the threshold too: it was set for this window of data.
        let reduced = self.state == State::Recovery || (self.state == State::Open && self.reduction.is_some());
        let again = self.timed_out_at.get() == Some(self.board.first());
        let repeated = again || (self.stepwise() && reduced);
        // What was in flight before all of it is taken for lost.
        let (flight, pipe) = (self.flight_size(), self.board.pipe());
        // RFC 8985 section 6.3: what was sent less than a round trip ago may still come.
        self.board.mark_all_lost(self.rack.as_ref().map_or(Span::ZERO, |rack| rack.patience()), now);
        self.remember_timeout(repeated, again, now);
        self.report_losses(now);
        self.reduce(Signal::Timeout { repeated }, flight, pipe, now);
        if self.board.pipe() > 0 {
            let window = f64::from(self.board.pipe() + 1);
            self.control.set_window(window, self.control.slow_start_threshold());
        }
        self.probe.end = None;
        self.timed_out_at = Optional::some(self.board.first());
        self.state = State::Loss;
        self.recover = Optional::some(self.board.next());
        self.reset_duplicates();
        self.urgent = Optional::NONE;
        self.urgent_rescue = Optional::NONE;
        self.timed = Timed::NONE;
    }
}
