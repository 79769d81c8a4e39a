//! Loss detection by time (RFC 8985) as Linux has it: what is lost says [`Rack`], what the tail of a transfer needs [`Probe`], and
//! what was needless [`Undo`].

mod probe;
mod rack;
mod undo;

use super::{Before, Course, Ended, Heard, Machine, Next, Recovery, State};
use crate::options::{Detection, Options, Undoing};
use crate::rtt::RttEstimator;
use crate::scoreboard::{Delivered, Late, Scoreboard};
use crate::segment::Segment;
use crate::sender::Sender;
use crate::sender::timer::Pending;
use probe::Probe;
use rack::{Rack, TIMER_SLACK};
use sojourn_congestion::{Control, Repair, Signal, Stage};
use sojourn_core::{Optional, Span, Time};
use undo::{Partly, Undo};

/// What only judging by time has to know.
#[derive(Debug)]
pub(super) struct ByTime {
    rack: Rack,
    probe: Probe,
    /// Where repairs are taken back, too.
    undo: Option<Undo>,
}

/// An acknowledgement that may tell of losses.
struct Heeded<'a> {
    segment: &'a Segment,
    heard: &'a Heard,
    /// Whether there is new data that may be sent.
    has_new: bool,
    now: Time,
}

/// What an acknowledgement shows.
#[derive(Default)]
struct Found {
    /// How the repair under way ends with it.
    ended: Option<Ended>,
    /// What of the outstanding segments is late.
    late: Late,
    /// FlightSize where a repair begins.
    enters: Option<u32>,
}

impl ByTime {
    /// Of a connection that has sent nothing.
    pub(super) fn new(options: &Options) -> ByTime {
        ByTime {
            rack: Rack::new(),
            probe: Probe::new(options.detection == Detection::RackTlp),
            undo: (options.undo == Undoing::All).then(Undo::default),
        }
    }

    /// What was sent later than this long ago may still come after a timeout.
    pub(super) fn patience(&self) -> Span {
        self.rack.patience()
    }

    /// Whether reordering is known to be common.
    pub(super) fn expects_reordering(&self) -> bool {
        self.rack.expects_reordering()
    }

    /// What was taken back is judged again.
    pub(super) fn judge_again(&mut self) {
        self.rack.judge_again();
    }

    /// Nothing is left to take back.
    pub(super) fn forget(&mut self) {
        if let Some(undo) = &mut self.undo {
            undo.forget();
        }
    }

    /// The timer has gone off, which lowers the window from what it was `before`, unless it does so no more.
    pub(super) fn on_timeout(&mut self, board: &Scoreboard, before: Option<Before>, fresh: bool) {
        if let Some(undo) = &mut self.undo {
            if let Some(before) = before {
                undo.remember(before, board, self.probe.is_again());
            }
            undo.suspect(fresh.then_some(board.next()));
        }
        self.probe.end();
    }

    /// A loss was found, which lowers the window from what it was `before`.
    fn on_loss(&mut self, before: Before, board: &Scoreboard) {
        if let Some(undo) = &mut self.undo {
            undo.remember(before, board, self.probe.is_again());
        }
        self.probe.end();
    }

    /// The order of Linux (`tcp_fastretrans_alert`): what ends, what was needless, what is lost.
    fn judge_ack(&mut self, course: &mut Course, board: &mut Scoreboard, rtt: &RttEstimator, ack: &Heeded) -> Found {
        let Heeded { segment, heard, now, .. } = *ack;
        let acknowledged = heard.acknowledged;
        let mut ended = None;
        if course.state == State::Recovery && acknowledged > 0 && course.is_over(board) {
            course.state = State::Open;
            ended = Some(self.end(segment, Repair::Selective));
        }
        let entered = course.state;
        match entered {
            State::Recovery => {
                match self.undo.as_mut().map_or(Partly::Needed, |undo| undo.partly(segment, acknowledged, board)) {
                    Partly::Needed => ended = self.reported(),
                    Partly::Waits => {
                        course.next = Next::NewOnly;
                        self.rack.note_reordering(board, heard.first);
                        return Found::default();
                    }
                    Partly::Undone(before) => {
                        self.rack.note_reordering(board, heard.first);
                        board.take_back_losses();
                        ended = Some(self.undone(before));
                    }
                }
                if ended.is_some() {
                    course.state = State::Open;
                }
            }
            State::Loss => {
                let undo = self.undo.as_mut();
                if let Some(before) = undo.and_then(|undo| undo.timeout(course, board, ack)) {
                    board.take_back_losses();
                    course.timed_out_at = Optional::NONE;
                    ended = Some(self.undone(before));
                } else if course.is_over(board) {
                    ended = Some(self.end(segment, Repair::Timeout));
                }
                if ended.is_some() {
                    course.state = State::Open;
                }
            }
            State::Open | State::Handshake => ended = ended.or_else(|| self.reported()),
        }
        let late = self.rack.judge_delivered(board, rtt, course.is_repairing(), now);
        let enters = board.has_lost() && (course.state == State::Open || (course.state == State::Loss && late.again));
        let sacked = if entered == State::Loss { board.sacked() } else { 0 };
        Found { ended, late, enters: enters.then(|| board.outstanding() - sacked) }
    }

    /// A repair of losses or of a timeout ends with this acknowledgement.
    fn end(&mut self, segment: &Segment, repair: Repair) -> Ended {
        let Some(undo) = &mut self.undo else { return Ended::Repaired(repair) };
        if let Some(before) = undo.may_undo(segment) {
            return self.undone(before);
        }
        // What it lowered stays known: all that it sent again may yet be reported to be needless.
        self.rack.on_repaired();
        Ended::Repaired(repair)
    }

    /// All retransmissions were reported to be needless (`tcp_try_undo_dsack`).
    fn reported(&mut self) -> Option<Ended> {
        let before = self.undo.as_ref().and_then(Undo::all_needless)?;
        self.rack.on_needless();
        Some(self.undone(before))
    }

    fn undone(&mut self, before: Before) -> Ended {
        self.forget();
        self.rack.judge_again();
        Ended::Undone(before)
    }
}

impl Recovery {
    /// The new data of F-RTO step 2b has been sent, all below `next`, or none could be; whether what is lost may be sent now.
    #[inline(never)]
    pub(in crate::sender) fn end_new_first(&mut self, next: u32) -> bool {
        if self.course.next != Next::NewFirst {
            return false;
        }
        self.course.next = Next::Lost;
        if let Some(undo) = self.by_time_mut().and_then(|time| time.undo.as_mut()) {
            undo.end_new_first(next);
        }
        true
    }

    /// Whether needless retransmissions have widened the reordering window, or are about to.
    #[cfg(test)]
    pub(in crate::sender) fn is_widened(&self) -> bool {
        self.by_time().is_some_and(|time| time.rack.widened())
    }
}

impl Sender {
    /// Enters what `segment` covers into the scoreboard, with all that judging by time wants to know.
    #[inline(never)]
    pub(in crate::sender) fn hear_by_time(&mut self, segment: &Segment, now: Time) -> Heard {
        let (first, sacked_end) = (self.board.first(), self.board.sacked_end());
        let acknowledged = segment.number.saturating_sub(first);
        let doubtful_after = Time::from_nanos(now.as_nanos().saturating_sub(self.rtt.min().as_nanos()));
        self.board.begin_evidence(doubtful_after, segment.stamp);
        let mut delivered = Delivered::default();
        let timed = self.enter(segment, &mut delivered);
        let mut duplicates = 0;
        if let Machine::Time(time) = &mut self.recovery.machine {
            if segment.blocks > 0
                && let Some(undo) = &mut time.undo
                && let Some(block) = undo.duplicates(segment, self.receive_window, self.counts.retransmissions)
            {
                duplicates = block.end - block.start;
                if duplicates > 1 || !time.probe.ends_with(&block) {
                    time.rack.on_duplicate();
                }
                undo.on_duplicates(&block, first, &self.board);
            }
            time.rack.note_delivered(&self.board, &delivered, sacked_end, now);
        }
        Heard { acknowledged, first, delivered, duplicates, timed, marks: None }
    }

    /// RFC 8985 section 6: what an acknowledgement says of losses, and what follows.
    #[inline(never)]
    pub(in crate::sender) fn respond_by_time(&mut self, segment: &Segment, heard: &Heard, now: Time) {
        let Heard { acknowledged, first, ref delivered, duplicates, .. } = *heard;
        let Recovery { course, machine: Machine::Time(time), eifel, .. } = &mut self.recovery else { return };
        course.next = Next::Lost;
        if heard.marks.is_some() {
            if let Some(undo) = &mut time.undo {
                undo.on_marked();
            }
            if let Some(eifel) = eifel {
                eifel.on_marked();
            }
        }
        let filled = time.probe.judge(segment, acknowledged > 0 || delivered.segments > 0, time.undo.is_some());
        if acknowledged > 0 {
            course.timed_out_at = Optional::NONE;
            course.urgent = Optional::NONE;
            course.urgent_probe = Optional::NONE;
            course.beyond_window = false;
        }
        if filled && self.recovery.state() == State::Open && self.reduction.is_none() {
            self.answer_probe(now);
        }
        let calm = self.recovery.state() == State::Open && self.reduction.is_none() && self.board.is_calm();
        let late = if calm && duplicates == 0 { Late::default() } else { self.respond_in_doubt(segment, heard, now) };
        let head = self.board.first_sent();
        let old = delivered.unambiguous && acknowledged == 0 && head.is_some_and(|head| delivered.sent < head);
        if (acknowledged > 0 || old) && late.wait.is_zero() && segment.number >= first {
            self.restart_timer(now);
        }
    }

    /// The same where a loss is known or suspected, or something came twice.
    fn respond_in_doubt(&mut self, segment: &Segment, heard: &Heard, now: Time) -> Late {
        if self.recovery.state() == State::Open && heard.acknowledged > 0 {
            self.end_reduction();
        }
        let has_new = self.has_new();
        let Recovery { course, machine: Machine::Time(time), .. } = &mut self.recovery else { return Late::default() };
        let ack = Heeded { segment, heard, has_new, now };
        let Found { ended, late, enters } = time.judge_ack(course, &mut self.board, &self.rtt, &ack);
        if let Some(ended) = ended {
            self.end_repair(ended, now);
        }
        if !late.wait.is_zero() {
            let wait = (late.wait + TIMER_SLACK).min(self.rtt.timeout());
            self.arm(Pending::Reordering, now, wait);
        }
        if let Some(flight) = enters {
            self.enter_by_time(flight, now);
        }
        late
    }

    /// A probe has filled a hole: the loss is answered once (TLP_invoke_congestion_control).
    fn answer_probe(&mut self, now: Time) {
        self.tell(Signal::Loss, Stage::Repaired, self.flight_size(), self.board.pipe(), now);
        self.ecn.on_reduced(self.board.next());
    }

    /// A loss was found with `flight` segments out.
    fn enter_by_time(&mut self, flight: u32, now: Time) {
        let goes_on = self.reduction.is_some();
        self.recovery.send_lost_first();
        let threshold = (self.ecn.answered(self.board.first()).is_none() && !goes_on).then(|| self.kept_threshold());
        let before = Before { window: self.window(), threshold };
        if let Machine::Time(time) = &mut self.recovery.machine {
            time.on_loss(before, &self.board);
        }
        self.begin_repair(flight, now);
        // A reduction that goes on has let something out since it began, and lets this out with the rest. A control that
        // paces its segments paces this one too (`tcp_pacing_check` in `tcp_xmit_retransmit_queue`).
        let waits = goes_on || (self.rate.is_some() && self.control.pacing_rate().is_some());
        self.recovery.course.urgent = self.board.next_lost().filter(|_| !waits).into();
    }

    /// Section 6.3: the reordering window is over.
    pub(in crate::sender) fn on_reordering_timer(&mut self, now: Time) {
        let Recovery { course, machine: Machine::Time(time), .. } = &mut self.recovery else { return };
        let (before, judgements) = (self.board.pipe(), self.board.judgements());
        time.rack.judge(&mut self.board, &self.rtt, course.is_repairing(), now);
        if self.board.pipe() != before {
            self.report_losses(now);
            if self.recovery.state() != State::Recovery {
                self.enter_by_time(self.board.outstanding() - self.board.sacked(), now);
                self.step_reduction(1, judgements == self.board.judgements());
            }
        }
        self.rearm(now);
    }

    /// The timer that belongs to a new segment.
    #[inline(never)]
    pub(super) fn time_new_by_time(&mut self, now: Time) {
        // The retransmission timer of a probe has been started.
        if !std::mem::take(&mut self.recovery.course.beyond_window) {
            self.restart_timer_for_new(self.board.outstanding() == 1, now);
        }
    }

    /// Segment `number` is sent again, as lost.
    pub(super) fn after_again_by_time(&mut self, number: u32, now: Time) {
        if let Some(undo) = self.recovery.by_time_mut().and_then(|time| time.undo.as_mut()) {
            undo.on_sent_again(now);
        }
        if number == self.board.first() && self.timer.pending() != Pending::Reordering {
            self.timer.set_pending(Pending::Retransmission);
            self.rearm(now);
        }
    }
}
