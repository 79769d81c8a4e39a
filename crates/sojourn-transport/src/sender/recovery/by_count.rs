//! Loss detection by count: three duplicate acknowledgements (RFC 5681 section 3.2), and what RFC 6582 (without SACK) or RFC 6675
//! (with it) make of those and of partial acknowledgements.
//!
//! Both are one bookkeeping: what is in flight is the outstanding segments, less those known to have left the network. Without
//! SACK each duplicate acknowledgement says that one has left, which is RFC 6582's window inflation seen from the other side,
//! and a partial acknowledgement of n segments takes n - 1 of them back, which is its deflation.

use super::{Course, Ended, Machine, Recovery, State};
use crate::scoreboard::{DUP_THRESH, Scoreboard};
use crate::sender::Sender;
use sojourn_congestion::{Repair, Signal};
use sojourn_core::{Optional, Time};

/// What only counting has to know.
#[derive(Debug)]
pub(super) struct ByCount {
    sack: bool,
    /// New segments sent by limited transmit since the last new acknowledgement.
    limited_sent: u32,
    /// Whether RFC 6675's one rescue of this recovery was used.
    rescued: bool,
    /// Whether a partial acknowledgement of this recovery has restarted the timer.
    restarted_timer: bool,
}

/// What a cumulative acknowledgement means for the repair under way.
enum Progress {
    /// Nothing: the timer starts again.
    Onward,
    /// Not even that.
    Partial,
    /// It has ended.
    Ended(Repair),
}

impl ByCount {
    /// Of a connection that has sent nothing.
    pub(super) fn new(sack: bool) -> ByCount {
        ByCount { sack, limited_sent: 0, rescued: false, restarted_timer: false }
    }

    /// FlightSize while nothing is repaired.
    pub(super) fn flight_size(&self, outstanding: u32) -> u32 {
        outstanding.saturating_sub(self.limited_sent)
    }

    #[inline]
    pub(super) fn reset_duplicates(&mut self, course: &mut Course) {
        course.duplicates = 0;
        self.limited_sent = 0;
    }

    /// The control is told of congestion: what follows is sent by another window.
    pub(super) fn on_told(&mut self) {
        self.limited_sent = 0;
    }

    /// The cumulative acknowledgement moved by `acknowledged` segments.
    #[inline]
    fn on_progress(&mut self, course: &mut Course, board: &mut Scoreboard, acknowledged: u32) -> Progress {
        course.timed_out_at = Optional::NONE;
        course.urgent = Optional::NONE;
        if course.state == State::Open {
            self.reset_duplicates(course);
            return Progress::Onward;
        }
        self.progress_repair(course, board, acknowledged)
    }

    /// The same during a repair.
    #[inline(never)]
    fn progress_repair(&mut self, course: &mut Course, board: &mut Scoreboard, acknowledged: u32) -> Progress {
        let repair = match (course.state, course.is_over(board)) {
            (State::Recovery, false) => {
                // RFC 6582 step 3: only the first partial acknowledgement restarts the timer.
                let restarts = self.sack || !std::mem::replace(&mut self.restarted_timer, true);
                if !self.sack {
                    course.duplicates = course.duplicates.saturating_sub(acknowledged - 1);
                    board.mark_lost(board.first());
                    course.urgent = Optional::some(board.first());
                }
                return if restarts { Progress::Onward } else { Progress::Partial };
            }
            (State::Recovery, true) if self.sack => Repair::Selective,
            (State::Recovery, true) => Repair::Partial,
            (State::Loss, true) => Repair::Timeout,
            (State::Open | State::Loss | State::Handshake, _) => return Progress::Onward,
        };
        course.state = State::Open;
        self.reset_duplicates(course);
        Progress::Ended(repair)
    }

    /// A duplicate acknowledgement; whether it shows a loss.
    #[inline]
    fn on_duplicate(&self, course: &mut Course, board: &Scoreboard) -> bool {
        let open = course.state == State::Open;
        if !open && course.state != State::Recovery {
            return false;
        }
        course.duplicates += 1;
        // RFC 6582 step 1: acknowledgements of what an earlier repair sent twice prove nothing.
        let careful = self.sack || course.until.get().is_none_or(|until| board.first() > until);
        open && course.duplicates >= DUP_THRESH && careful
    }

    /// A hole that may be lost, or once per recovery the last segment (RFC 6675 `NextSeg` rules 3 and 4).
    fn guess(&mut self, board: &mut Scoreboard) -> Option<Guess> {
        if !self.sack {
            return None;
        }
        if let Some(number) = board.next_hole() {
            return Some(Guess::Hole(number));
        }
        if self.rescued {
            return None;
        }
        let number = board.next_rescue()?;
        self.rescued = true;
        Some(Guess::Last(number))
    }
}

/// A segment that may be lost.
pub(in crate::sender) enum Guess {
    /// A hole.
    Hole(u32),
    /// The last one, whose sending changes no count.
    Last(u32),
}

impl Recovery {
    /// What may be sent again in a repair although it is not known to be lost.
    #[inline(never)]
    pub(in crate::sender) fn guess(&mut self, board: &mut Scoreboard) -> Option<Guess> {
        match &mut self.machine {
            Machine::Count(count) if self.course.state == State::Recovery => count.guess(board),
            _ => None,
        }
    }

    /// Whether nothing is left of a loss or a suspicion, as the fast path takes it for granted.
    pub(in crate::sender) fn is_calm(&self, board: &Scoreboard) -> bool {
        let Recovery { course: Course { until, timed_out_at, urgent, .. }, machine: Machine::Count(count), .. } = self
        else {
            return false;
        };
        let judged = until.get().is_some_and(|until| board.lost_end() > until);
        timed_out_at.is_none() && urgent.is_none() && count.limited_sent == 0 && !judged
    }

    /// Whether the rescue of this recovery was used.
    #[cfg(test)]
    pub(in crate::sender) fn rescued(&self) -> bool {
        matches!(&self.machine, Machine::Count(count) if count.rescued)
    }
}

impl Sender {
    /// RFC 5681 section 3.2, RFC 6582 section 3.2, RFC 6675 section 5. SND.UNA moved by `acknowledged` segments, and `delivered` are
    /// covered for the first time.
    #[inline]
    pub(in crate::sender) fn respond_by_count(&mut self, acknowledged: u32, delivered: u32, now: Time) {
        let Recovery { course, machine: Machine::Count(count), conserves, uncredited, .. } = &mut self.recovery else {
            return;
        };
        let before = course.state;
        let mut shown = false;
        if acknowledged > 0 {
            if *conserves && before == State::Open && !count.sack {
                // tcp_remove_reno_sacks: all but one were counted when they were reported.
                *uncredited = course.duplicates.min(acknowledged - 1);
            }
            let progress = count.on_progress(course, &mut self.board, acknowledged);
            if before == State::Open {
                self.end_reduction();
            }
            self.follow(&progress, now);
        } else if self.board.outstanding() > 0 && (!count.sack || delivered > 0) {
            if let (Some(sampler), false) = (&mut self.rate, count.sack) {
                sampler.on_duplicate(now);
            }
            shown = count.on_duplicate(course, &self.board);
        }
        // RFC 6675 section 5 asks at the next duplicate acknowledgement, but there may never be one.
        if shown || (self.recovery.state() == State::Open && self.board.has_lost()) {
            let flight =
                if before == State::Open { self.flight_size() } else { self.board.outstanding() - self.board.sacked() };
            self.enter_by_count(flight, now);
        }
        if self.recovery.course.until.get().is_some_and(|until| self.board.lost_end() > until) {
            self.reduce_again(now);
        }
    }

    /// What follows from a cumulative acknowledgement for the timer and a repair.
    #[inline]
    fn follow(&mut self, progress: &Progress, now: Time) {
        if let Progress::Ended(repair) = *progress {
            self.end_repair(Ended::Repaired(repair), now);
        }
        if self.board.outstanding() == 0 {
            self.timer.stop();
        } else if !matches!(progress, Progress::Partial) {
            self.restart_timeout(now);
        }
    }

    /// Duplicate acknowledgements have shown that the first segment is lost.
    #[inline(never)]
    fn enter_by_count(&mut self, flight: u32, now: Time) {
        // Before the control hears of it: the lost segment is not in flight.
        self.board.mark_lost(self.board.first());
        self.begin_repair(flight, now);
        let Recovery { course, machine: Machine::Count(count), .. } = &mut self.recovery else { return };
        count.rescued = false;
        count.restarted_timer = false;
        course.urgent = Optional::some(self.board.first());
        self.restart_timeout(now);
    }

    /// A segment was lost that was sent after the repair began: a second indication of congestion, which lowers the
    /// window again (RFC 5681 section 4.3). Without this, a retransmission that is lost itself would let SACK
    /// repair loss after loss at an unchanged window until the timer fires.
    #[inline(never)]
    fn reduce_again(&mut self, now: Time) {
        self.reduce(Signal::Loss, self.flight_size(), self.board.pipe(), now);
        let Recovery { course, machine: Machine::Count(count), .. } = &mut self.recovery else { return };
        course.state = State::Recovery;
        course.until = Optional::some(self.board.next());
        count.rescued = false;
    }

    /// New data was sent after duplicate acknowledgements: whether by limited transmit.
    #[inline(never)]
    pub(super) fn note_limited(&mut self) {
        let beyond = f64::from(self.board.outstanding()) > self.window();
        if let Machine::Count(count) = &mut self.recovery.machine {
            count.limited_sent += u32::from(beyond);
        }
    }
}
