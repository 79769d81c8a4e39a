//! Loss recovery: what is being repaired and until when, and one of two machines that find what is lost: [by count](by_count)
//! or [by time](by_time).
//!
//! A machine keeps what only it has to know. Fed with acknowledgements and timers, it marks on the scoreboard what is lost and
//! says whether a repair begins, has ended or was needless. What follows for window, control and timer is the sender's.

mod by_count;
mod by_time;
mod eifel;

use super::{Sender, Timed};
use crate::options::{Detection, Disorder, Options, Undoing};
use crate::scoreboard::{Delivered, Scoreboard};
use by_count::ByCount;
pub(super) use by_count::Guess;
use by_time::ByTime;
use eifel::Eifel;
use sojourn_congestion::{Control, Recovered, Repair, Signal, Stage};
use sojourn_core::{Optional, Span, Time};
use std::hint::select_unpredictable;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// No loss is known.
    Open,
    /// The SYN has not been answered.
    Handshake,
    /// Repairing a loss that acknowledgements showed.
    Recovery,
    /// Repairing a loss that the timer showed.
    Loss,
}

/// What an acknowledgement changed.
pub(super) struct Heard {
    /// Segments by which SND.UNA moved.
    pub(super) acknowledged: u32,
    /// SND.UNA before.
    pub(super) first: u32,
    /// What it is the first to cover.
    pub(super) delivered: Delivered,
    /// Segments that it reports to have come twice.
    pub(super) duplicates: u32,
    /// When the segments were sent that tell the longest and the shortest round-trip time (`seq_rtt_us`, `ca_rtt_us` in Linux).
    pub(super) timed: Option<[Time; 2]>,
    /// How many of the segments that it is the first to cover were marked, if it tells of marks.
    pub(super) marks: Option<u32>,
}

/// What knows of losses.
#[derive(Debug)]
pub(super) struct Recovery {
    course: Course,
    /// Whether what was selectively acknowledged is not in flight while a loss is only suspected.
    pub(super) conserves: bool,
    /// Segments known to be received of which the control does not know yet, or of which with `conserves` it never will.
    uncredited: u32,
    machine: Machine,
    /// Boxed, for few take back timeouts and no more.
    eifel: Option<Box<Eifel>>,
    /// How often something was taken back.
    #[cfg(test)]
    pub(super) taken_back: u32,
}

/// What both machines lead: how far a repair is, and what the sender is to do out of turn.
#[derive(Debug)]
struct Course {
    state: State,
    /// Duplicate acknowledgements since the last new one, less those that partial ones have taken back; by time none count.
    duplicates: u32,
    /// One past the highest segment sent when the present or last repair began.
    until: Optional,
    /// The first segment when the timer went off last, until something is acknowledged.
    timed_out_at: Optional,
    /// A segment to retransmit whatever the window says.
    urgent: Optional,
    /// The same as a probe, which says nothing of a loss.
    urgent_probe: Optional,
    /// A new segment may be sent whatever the window says.
    beyond_window: bool,
    next: Next,
}

/// What goes next upon the last acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// What is lost, then new data.
    Lost,
    /// New data before what is lost (F-RTO step 2b).
    NewFirst,
    /// New data alone: what is held for lost may only be late (`tcp_try_undo_partial`).
    NewOnly,
}

impl Course {
    /// Whether losses are under repair.
    #[inline]
    fn is_repairing(&self) -> bool {
        matches!(self.state, State::Recovery | State::Loss)
    }

    /// Whether all is acknowledged that was out when the repair began.
    fn is_over(&self, board: &Scoreboard) -> bool {
        self.until.get().is_none_or(|until| board.first() >= until)
    }
}

#[derive(Debug)]
enum Machine {
    Count(ByCount),
    Time(Box<ByTime>),
}

/// What a reduction that may be needless would be undone to.
#[derive(Clone, Copy, Debug)]
struct Before {
    /// The window.
    window: f64,
    /// The slow-start threshold; none where a mark proved congestion.
    threshold: Option<f64>,
}

/// How a repair ends.
#[derive(Clone, Copy, Debug)]
enum Ended {
    /// All that was lost has arrived.
    Repaired(Repair),
    /// It was needless.
    Undone(Before),
}

impl Recovery {
    /// Of a connection that has sent nothing.
    pub(super) fn new(options: &Options) -> Recovery {
        let state = if options.handshake.is_wanted() { State::Handshake } else { State::Open };
        Recovery {
            course: Course {
                state,
                duplicates: 0,
                until: Optional::NONE,
                timed_out_at: Optional::NONE,
                urgent: Optional::NONE,
                urgent_probe: Optional::NONE,
                beyond_window: false,
                next: Next::Lost,
            },
            conserves: options.disorder == Disorder::Conservation,
            uncredited: 0,
            machine: match options.detection {
                Detection::Rack | Detection::RackTlp => Machine::Time(Box::new(ByTime::new(options))),
                Detection::Count | Detection::Forward => Machine::Count(ByCount::new(options.sack.is_used())),
            },
            eifel: (options.undo == Undoing::Timeouts).then(Box::default),
            #[cfg(test)]
            taken_back: 0,
        }
    }

    #[inline]
    pub(super) fn state(&self) -> State {
        self.course.state
    }

    /// The connection is opened, or waits until it is.
    pub(super) fn set_connected(&mut self, connected: bool) {
        self.course.state = if connected { State::Open } else { State::Handshake };
    }

    /// Whether losses are under repair.
    #[inline]
    pub(super) fn is_repairing(&self) -> bool {
        self.course.is_repairing()
    }

    /// Whether lost segments are found by time.
    #[inline]
    pub(super) fn is_by_time(&self) -> bool {
        matches!(self.machine, Machine::Time(_))
    }

    /// Whether something asks no window: also a probe, be it a retransmission (RFC 8985 section 7.3).
    #[cfg(test)]
    pub(super) fn is_beyond_window(&self) -> bool {
        self.is_urgent() || self.is_probe_urgent() || self.course.beyond_window
    }

    /// Not zero where a loss is known or suspected, or the control does not know of all that was delivered.
    #[inline(always)]
    pub(super) fn suspicion(&self) -> u32 {
        self.course.state as u32 | self.course.duplicates | self.uncredited
    }

    /// Whether a lost segment is to be sent again whatever the window says.
    #[inline(always)]
    pub(super) fn is_urgent(&self) -> bool {
        !self.course.urgent.is_none()
    }

    /// The same of the last one, as a probe.
    #[inline(always)]
    pub(super) fn is_probe_urgent(&self) -> bool {
        !self.course.urgent_probe.is_none()
    }

    /// That segment, which is sent now.
    pub(super) fn take_urgent(&mut self) -> Option<u32> {
        self.course.urgent.take()
    }

    /// The probe, which is sent now.
    pub(super) fn take_urgent_probe(&mut self) -> Option<u32> {
        self.course.urgent_probe.take()
    }

    /// Whether what is lost may be sent.
    #[inline]
    pub(super) fn sends_lost(&self) -> bool {
        self.course.next == Next::Lost
    }

    /// An input that allows what is lost to be sent.
    pub(super) fn send_lost_first(&mut self) {
        self.course.next = Next::Lost;
    }

    /// Whether a new segment is sent as a probe, whatever the window says.
    #[inline]
    pub(super) fn probes_beyond_window(&self) -> bool {
        self.course.beyond_window
    }

    #[inline]
    fn by_time(&self) -> Option<&ByTime> {
        match &self.machine {
            Machine::Count(_) => None,
            Machine::Time(time) => Some(time),
        }
    }

    #[inline]
    fn by_time_mut(&mut self) -> Option<&mut ByTime> {
        match &mut self.machine {
            Machine::Count(_) => None,
            Machine::Time(time) => Some(time),
        }
    }

    /// The control is told of congestion.
    pub(super) fn on_told(&mut self) {
        if let Machine::Count(count) = &mut self.machine {
            count.on_told();
        }
    }

    /// A mark was answered, which nothing takes back.
    pub(super) fn forbid_undo(&mut self) {
        if let Some(eifel) = &mut self.eifel {
            eifel.forget();
        }
        if let Some(time) = self.by_time_mut() {
            time.forget();
        }
    }

    /// What the control may count of `delivered` segments, of which `received` are no repeats: a suspected loss opens no
    /// window. What is delivered meanwhile waits for the next cumulative acknowledgement (RFC 5681 section 3.1, RFC 3042), or
    /// never counts (Linux, also where duplicate acknowledgements without SACK reported it), unless reordering is common and
    /// something has newly come (`tcp_may_raise_cwnd`).
    #[inline]
    pub(super) fn credit(&mut self, acknowledged: u32, received: u32, delivered: u32) -> u32 {
        if self.conserves {
            let known = std::mem::take(&mut self.uncredited);
            let reordered = received > 0 && self.by_time().is_some_and(ByTime::expects_reordering);
            return if acknowledged > 0 || reordered { delivered - known } else { 0 };
        }
        if acknowledged == 0 && self.course.state == State::Open {
            self.uncredited += delivered;
            return 0;
        }
        delivered + std::mem::take(&mut self.uncredited)
    }
}

impl Sender {
    /// Segments believed to be in the network.
    #[inline]
    pub(super) fn in_flight(&self) -> u32 {
        let repairing = self.recovery.is_repairing();
        // Numbers to choose from, not branches: flows in all states take turns.
        let (pipe, outstanding) = (self.board.pipe(), self.board.outstanding());
        let believed = select_unpredictable(repairing | self.recovery.conserves, pipe, outstanding);
        let most_left = self.rtt.constants().most_left[usize::from(repairing)];
        believed.saturating_sub(self.recovery.course.duplicates.min(most_left))
    }

    /// FlightSize of RFC 5681 equation 4, without the segments of limited transmit.
    ///
    /// The RFC counts all that is not cumulatively acknowledged. While a repair waits for a retransmission that was
    /// lost too, SACK lets new data flow behind it for as long as the timer runs, and that count grows far beyond
    /// the window. What has left the network is therefore left out during a repair, as pipe does (RFC 6675).
    pub(super) fn flight_size(&self) -> u32 {
        if self.recovery.is_repairing() {
            return self.in_flight();
        }
        match &self.recovery.machine {
            Machine::Count(count) => count.flight_size(self.board.outstanding()),
            Machine::Time(_) => self.board.outstanding(),
        }
    }

    /// A new segment was sent.
    #[inline(always)]
    pub(super) fn note_new(&mut self) {
        // One branch: during a repair there are duplicates, too.
        if (self.recovery.course.duplicates > 0) & (self.recovery.state() == State::Open) {
            self.note_limited();
        }
    }

    /// The timer that belongs to a new segment.
    #[inline(always)]
    pub(super) fn time_new(&mut self, now: Time) {
        if self.recovery.is_by_time() {
            self.time_new_by_time(now);
        } else if self.timer.at() == Time::NEVER {
            self.restart_timeout(now);
        }
    }

    /// Segment `number` is sent again, as lost.
    pub(super) fn after_again(&mut self, number: u32, now: Time) {
        if self.recovery.is_by_time() {
            self.after_again_by_time(number, now);
        }
    }

    /// A repair begins, of a loss that acknowledgements showed with `flight` segments out.
    fn begin_repair(&mut self, flight: u32, now: Time) {
        // RFC 3168 section 6.1.2: a mark and a loss of the same window of data are one reason to reduce it. What was sent
        // after the reduction is the next window.
        let answered = self.ecn.answered(self.board.first());
        match answered {
            None if self.reduction.is_some() => self.reduce_further(flight, now),
            None => self.reduce(Signal::Loss, flight, self.board.pipe(), now),
            Some(_) => {}
        }
        let course = &mut self.recovery.course;
        course.state = State::Recovery;
        course.until = Optional::some(answered.unwrap_or(self.board.next()));
        self.timed = Timed::NONE;
    }

    /// A repair has ended.
    fn end_repair(&mut self, ended: Ended, now: Time) {
        match ended {
            Ended::Undone(before) => self.undo_to(before, now),
            Ended::Repaired(repair) => {
                self.complete_reduction();
                let flight = f64::from(self.board.outstanding());
                self.control.on_recovered(&Recovered { now, repair, flight });
            }
        }
    }

    /// The control gets back what it had `before`.
    fn undo_to(&mut self, before: Before, now: Time) {
        #[cfg(test)]
        (self.recovery.taken_back += 1);
        // A window that a reduction led until now is the control's again.
        self.reduction.set(None);
        if let Some(threshold) = before.threshold {
            self.control.on_undo(&sojourn_congestion::Undo { now, window: before.window, threshold });
        }
    }

    /// RFC 6298 section 5, rules 5.4 to 5.6.
    pub(super) fn on_retransmission_timer(&mut self, now: Time) {
        let state = self.recovery.state();
        if state != State::Handshake && self.board.outstanding() == 0 {
            self.timer.stop();
            return self.reduce(Signal::Timeout { repeated: false }, 0, 0, now);
        }
        self.counts.timeouts += 1;
        self.rtt.back_off();
        self.restart_timeout(now);
        if state == State::Handshake {
            self.syn_due = true;
            return;
        }
        // Within a repair or a reduction Linux keeps the threshold too: it was set for this window of data.
        let reduced = state == State::Recovery || (state == State::Open && self.reduction.is_some());
        let again = self.recovery.course.timed_out_at.get() == Some(self.board.first());
        let repeated = again || (self.stepwise() && reduced);
        // What was in flight before all of it is taken for lost.
        let (flight, pipe) = (self.flight_size(), self.board.pipe());
        // RFC 8985 section 6.3: what was sent less than a round trip ago may still come.
        let patience = self.recovery.by_time().map_or(Span::ZERO, ByTime::patience);
        self.board.mark_all_lost(patience, now);
        self.note_timeout(again, repeated, now);
        self.report_losses(now);
        self.reduce(Signal::Timeout { repeated }, flight, pipe, now);
        if self.board.pipe() > 0 {
            let window = f64::from(self.board.pipe() + 1);
            self.control.set_window(window, self.control.slow_start_threshold());
        }
        self.timed = Timed::NONE;
    }

    /// The timer has gone off for the first segment, `again` before anything was acknowledged; with `repeated` the control has
    /// answered that already.
    fn note_timeout(&mut self, again: bool, repeated: bool, now: Time) {
        let window = self.window();
        let kept = Before { window, threshold: Some(self.kept_threshold()) };
        let (threshold, board) = (self.control.slow_start_threshold(), &self.board);
        let Recovery { course, machine, eifel, .. } = &mut self.recovery;
        if let Some(eifel) = eifel {
            eifel.on_timeout(course.state, Before { window, threshold: Some(threshold) }, now);
        }
        match machine {
            Machine::Count(count) => count.reset_duplicates(course),
            Machine::Time(time) => {
                // RFC 5682 section 2.1 step 1: no repair was under way, or the timer goes off for the same segment again.
                let fresh = course.state == State::Open || again;
                time.on_timeout(board, (!repeated).then_some(kept), fresh);
                course.next = Next::Lost;
            }
        }
        course.state = State::Loss;
        course.until = Optional::some(board.next());
        course.timed_out_at = Optional::some(board.first());
        course.urgent = Optional::NONE;
        course.urgent_probe = Optional::NONE;
    }

    /// The threshold that is worth keeping: at least 3/4 of the window (`tcp_current_ssthresh`).
    fn kept_threshold(&self) -> f64 {
        let (window, threshold) = (self.window(), self.control.slow_start_threshold());
        if self.reduction.is_some() {
            threshold
        } else {
            threshold.max((window / 2.0).floor() + (window / 4.0).floor())
        }
    }

    /// A loss is found in the middle of a reduction: that goes on, and only a control that answers both signals may lower what
    /// it goes to (Linux, `tcp_enter_recovery`).
    #[inline(never)]
    fn reduce_further(&mut self, flight: u32, now: Time) {
        if self.control.answers_both() {
            self.tell(Signal::Loss, Stage::Reducing { window: self.window() }, flight, self.board.pipe(), now);
        }
    }
}
