//! What is sent next: as far as window and pacing let something, the choice among lost and new segments.

use super::recovery::{Guess, State};
use super::{Sender, Timed, Transmit};
use crate::options::Timers;
use sojourn_congestion::Control;
use sojourn_core::{Optional, Time};
use std::hint::select_unpredictable;

/// What goes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Choice {
    /// Nothing now.
    Nothing,
    /// The connection request.
    Syn,
    /// This segment, for the first time.
    New(u32),
    /// This segment again.
    Again(u32),
}

impl Sender {
    /// The next thing to send now; call until it returns `None`.
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        let choice = match self.poll_fast_path(now) {
            Some(choice) => choice,
            None => self.poll_any(now),
        };
        let (number, retransmission) = match choice {
            Choice::Nothing => return None,
            Choice::Syn => return Some(Transmit::Syn),
            Choice::New(number) => (number, false),
            Choice::Again(number) => (number, true),
        };
        let payload_bytes = self.payload_of(number, retransmission);
        let cwr = !retransmission && self.ecn.take_cwr();
        Some(Transmit::Data { number, payload_bytes, retransmission, cwr })
    }

    /// The same, whatever there may be to send.
    #[inline(never)]
    fn poll_any(&mut self, now: Time) -> Choice {
        if self.recovery.state() == State::Handshake {
            return if self.take_syn(now) { Choice::Syn } else { Choice::Nothing };
        }
        match self.poll_segment(now) {
            Some((number, false)) => Choice::New(number),
            Some((number, true)) => Choice::Again(number),
            None => Choice::Nothing,
        }
    }

    /// The segment to send now, as far as window and pacing let one, and whether it was sent before.
    #[inline]
    fn poll_segment(&mut self, now: Time) -> Option<(u32, bool)> {
        if self.recovery.is_urgent() || self.recovery.is_probe_urgent() {
            return self.send_urgent(now);
        }
        loop {
            let sent = self.poll_window(now);
            if sent.is_some() || self.recovery.sends_lost() || !self.recovery.end_new_first(self.board.next()) {
                return sent;
            }
        }
    }

    /// Sends what must go whatever the window says.
    #[inline(never)]
    fn send_urgent(&mut self, now: Time) -> Option<(u32, bool)> {
        if let Some(number) = self.recovery.take_urgent() {
            self.send_again(number, now);
            return Some((number, true));
        }
        let number = self.recovery.take_urgent_probe()?;
        self.rescue(number, now);
        // Linux counts the probe among what has left, and so what follows it is paced (`tcp_update_skb_after_send`).
        if self.timers == Timers::Linux {
            self.pace(now, self.window());
        }
        if let Some(reduction) = self.reduction.get_mut() {
            reduction.leave_out();
        }
        Some((number, true))
    }

    #[inline]
    fn poll_window(&mut self, now: Time) -> Option<(u32, bool)> {
        if self.bursts.is_some()
            && let Some(number) = self.continue_burst(now)
        {
            return Some((number, false));
        }
        let window = self.window();
        let flight = self.in_flight();
        // A window below one segment still sends single segments, spaced by pacing, unless the control waits.
        let full = (flight > 0 && f64::from(flight + 1) > window) || (flight == 0 && self.control.waits_for_timeout());
        let beyond_window = self.recovery.probes_beyond_window();
        if full && !beyond_window {
            self.on_window_limited(now);
            return None;
        }
        if self.pacing.holds_back(now) {
            return None;
        }
        if self.bursts.is_some() && self.defers_burst(now) {
            return None;
        }
        let choice = self.choose(now)?;
        self.pacing.on_sent(now);
        if self.bursts.is_some() {
            self.begin_burst(!choice.1, beyond_window, now);
        } else {
            self.pace(now, window);
        }
        Some(choice)
    }

    /// RFC 6675 `NextSeg`: a lost segment, else a new one, else a guess; and whether it was sent before.
    #[inline]
    fn choose(&mut self, now: Time) -> Option<(u32, bool)> {
        if self.recovery.sends_lost()
            && let Some(number) = self.board.next_lost()
        {
            self.send_again(number, now);
            return Some((number, true));
        }
        let next = self.board.next();
        let room = self.board.outstanding() < self.receive_window;
        if next < self.end && room {
            if self.board.outstanding() == 0 {
                self.start(now);
            } else if self.recovery.state() != State::Open {
                self.start_in_repair(now);
            }
            self.send_new(next, now);
            return Some((next, false));
        }
        if self.recovery.state() == State::Recovery
            && let Some(guess) = self.recovery.guess(&mut self.board)
        {
            return Some((self.send_guess(&guess, now), true));
        }
        self.on_app_limited(now);
        let in_flight = self.in_flight();
        if let Some(sampler) = &mut self.rate
            && next >= self.end
            && !self.usage.waits_for_write()
        {
            sampler.on_app_limited(in_flight);
        }
        None
    }

    #[inline(never)]
    fn send_guess(&mut self, guess: &Guess, now: Time) -> u32 {
        match *guess {
            Guess::Hole(number) => {
                self.send_again(number, now);
                number
            }
            Guess::Last(number) => {
                self.rescue(number, now);
                number
            }
        }
    }

    /// Sends `number` again, which changes no count.
    #[inline(never)]
    fn rescue(&mut self, number: u32, now: Time) {
        self.note_again(number, now);
        self.board.rescue(number, now);
    }

    /// Whether the application has more and the receiver room for it.
    #[inline]
    pub(super) fn has_new(&self) -> bool {
        self.board.next() < self.end && self.board.outstanding() < self.receive_window
    }

    #[inline(always)]
    pub(super) fn send_new(&mut self, number: u32, now: Time) {
        self.note_rate(number, now);
        self.idle.on_sent(now);
        self.board.send_new(now);
        self.usage.on_sent();
        self.note_new();
        // Chosen, not branched to: with small windows nobody can guess when the next one is timed.
        let is_timed = !self.timestamps & self.timed.number.is_none();
        self.timed.number = select_unpredictable(is_timed, Optional::some(number), self.timed.number);
        self.timed.since = select_unpredictable(is_timed, now, self.timed.since);
        self.time_new(now);
    }

    #[inline(never)]
    fn send_again(&mut self, number: u32, now: Time) {
        self.start_in_repair(now);
        self.note_again(number, now);
        self.board.retransmit(number, now);
        self.after_again(number, now);
    }

    fn note_again(&mut self, number: u32, now: Time) {
        self.note_rate(number, now);
        self.idle.on_sent(now);
        self.timed = Timed::NONE;
        self.counts.retransmissions += 1;
    }

    #[inline]
    fn note_rate(&mut self, number: u32, now: Time) {
        if self.rate.is_some() {
            self.take_note(number, now);
        }
    }

    #[inline(never)]
    fn take_note(&mut self, number: u32, now: Time) {
        let in_flight = self.in_flight();
        if let Some(sampler) = &mut self.rate {
            sampler.on_send(number, in_flight, now);
        }
    }
}
