//! The fast path: an acknowledgement covers the first outstanding segments, each sent once, reports nothing else, and nothing
//! is under suspicion. What [`Sender::on_ack`] does then is known beforehand, and is done without asking again. So is what it does
//! upon a duplicate that reports nothing else, and what [`Sender::poll_transmit`] does where only window and pacing
//! say whether the next segment goes.

use super::Sender;
use super::recovery::State;
use super::sending::Choice;
use crate::options::{Disorder, Options, Reducing, Timers};
use crate::segment::{PlainAck, Segment};
use sojourn_congestion::{Ack, Control};
use sojourn_core::{Span, Time};

/// What an acknowledgement on the fast path finds.
pub(super) struct FastPath {
    /// Segments in flight before it.
    flight: u32,
    /// How many it covers.
    covered: u32,
    /// When the last of them was sent.
    sent: Time,
}

/// What is known of a segment beyond the one that has just been sent.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Beyond {
    /// Nothing.
    #[default]
    Unknown,
    /// The window has no room for it.
    Full,
    /// Pacing lets it go later.
    Paced,
}

/// Whether acknowledgements of a sender with `options` may take the fast path: no loss detection or round trips as Linux has
/// them, no window that follows what is delivered. What else lets segments go than the window takes that away too: pauses, bursts, a receiver that
/// steers.
pub(super) fn has_fast_path(options: &Options) -> bool {
    !options.detection.is_by_time()
        && options.reducing == Reducing::AtOnce
        && options.disorder != Disorder::Conservation
        && !options.ecn.counts()
        && options.constants.rto.timers != Timers::Linux
}

impl Sender {
    /// Enters into the scoreboard that all below `number` has arrived, where that is all that an acknowledgement
    /// [reports](Segment::reports), and the fast path is open.
    #[inline(always)]
    pub(super) fn try_fast_path(&mut self, number: u32, reports: u32) -> Option<FastPath> {
        if !self.has_fast_path {
            return None;
        }
        // One number and one branch: flows that are at ease and others take turns.
        let suspicion = self.recovery.suspicion() | self.board.unrest();
        if suspicion | reports != 0 {
            return None;
        }
        let covered = number.saturating_sub(self.board.first());
        // A rate is sampled here over the life of one segment only.
        if covered == 0 || (covered > 1 && self.rate.is_some()) {
            return None;
        }
        let flight = self.board.outstanding();
        let sent = self.board.acknowledge_calm(number)?;
        Some(FastPath { flight, covered, sent })
    }

    /// What follows from an acknowledgement on the fast path, which [`on_ack`](Sender::on_ack) explains step by step.
    #[inline(always)]
    pub(super) fn on_fast_path(&mut self, plain: &PlainAck, found: &FastPath, now: Time) -> Option<Span> {
        debug_assert!(self.reduction.is_none() && self.recovery.is_calm(&self.board));
        let newest = Some(now.since(found.sent));
        let sample = self.sample_rtt(plain, found.covered, newest, now);
        self.restart_timeout(now);
        self.idle.on_acknowledged(now);
        let measured = self.measured(plain, found.covered, found.sent, newest, now);
        let mut ack = Ack { flight: f64::from(found.flight), ..measured };
        if self.rate.is_some() {
            self.sample_fast_path(&mut ack);
        }
        self.control.on_ack(&ack);
        sample
    }

    /// The rate over the life of the one segment that `ack` covers. Written where it is read: what has just been written in
    /// pieces must not be moved as a whole.
    #[inline(never)]
    fn sample_fast_path(&mut self, ack: &mut Ack) {
        let present = self.present(ack.now);
        if let Some(sampler) = &mut self.rate {
            let snapshot = sampler.on_first_delivered(ack.now);
            ack.rate = Some(sampler.sample(&snapshot, &present));
        }
    }

    /// Whether `segment` says no more than that something has arrived which is not the first segment outstanding.
    #[inline(always)]
    pub(super) fn is_plain_dupack(&self, segment: &Segment) -> bool {
        self.has_fast_path && segment.number == self.board.first() && segment.reports() == 0
    }

    /// What follows from that: as it delivers nothing that is known, only what it may say of a loss.
    #[inline(never)]
    pub(super) fn on_plain_dupack(&mut self, now: Time) {
        self.respond_by_count(0, 0, now);
        if self.rate.is_some() {
            self.report_losses(now);
        }
        if self.is_waiting() {
            self.restart_timeout(now);
        }
    }

    /// What is sent now, where only window and pacing say whether a new segment goes; `None` where anything else does.
    #[inline(always)]
    pub(super) fn poll_fast_path(&mut self, now: Time) -> Option<Choice> {
        if !self.has_fast_path || self.recovery.is_urgent() {
            return None;
        }
        // Nothing is in flight before the connection is open either.
        let flight = self.in_flight();
        if flight == 0 {
            return None;
        }
        debug_assert!(!self.recovery.is_by_time() && self.recovery.state() != State::Handshake);
        let window = self.control.window();
        let full = f64::from(flight + 1) > window;
        // One branch: which of the two holds a paced flow back is hard to guess.
        if full | (now < self.pacing.next_at()) {
            self.on_stop(full, now);
            return Some(Choice::Nothing);
        }
        if !self.has_new() || self.board.has_due() {
            return None;
        }
        let next = self.board.next();
        self.send_new(next, now);
        self.pace(now, window);
        // One more is in flight now, so it is known what the next call finds.
        self.beyond = if f64::from(flight + 2) > window {
            Beyond::Full
        } else if now < self.pacing.next_at() {
            Beyond::Paced
        } else {
            Beyond::Unknown
        };
        Some(Choice::New(next))
    }

    /// Whether [`poll_transmit`](Sender::poll_transmit) gives nothing more at the instant at which it has just given something,
    /// as far as that is known already. If so, what it does then has been done.
    #[inline(always)]
    pub fn is_spent(&mut self, now: Time) -> bool {
        match std::mem::take(&mut self.beyond) {
            Beyond::Unknown => return false,
            Beyond::Full => self.on_window_limited(now),
            Beyond::Paced => {}
        }
        true
    }
}
