//! Marks: what both ends can do with them, what acknowledgements say of them, and the answer once per window (RFC 3168, RFC 9768).

use super::recovery::State;
use super::{Sender, Time};
use crate::accecn::{Ability, Decoder};
use crate::options::Options;
use crate::segment::{EcnFlags, Segment};
use sojourn_congestion::{Control, Signal};
use sojourn_core::Optional;

/// What is known of marks.
#[derive(Debug)]
pub(super) struct Ecn {
    /// Whether data may carry ECN, as far as is known.
    on: bool,
    /// Whether the receiver is asked to count marks, and what is known of its counters.
    asks_counts: bool,
    decoder: Option<Box<Decoder>>,
    /// No further response before this segment is acknowledged: the first that may carry CWR.
    recover: Optional,
    /// One past the highest segment sent when a mark reduced the window, where nothing else has since: the loss of one of
    /// them is no second reason.
    marked_until: Optional,
    owes_cwr: bool,
}

impl Ecn {
    /// Where nothing was agreed.
    pub(super) fn new(options: &Options) -> Ecn {
        Ecn {
            on: options.ecn.is_on(),
            asks_counts: options.ecn.counts(),
            decoder: None,
            recover: Optional::NONE,
            marked_until: Optional::NONE,
            owes_cwr: false,
        }
    }

    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    /// Whether segment `first`, which is lost, was sent before a mark reduced the window: then one past all that was.
    pub(super) fn answered(&self, first: u32) -> Option<u32> {
        self.marked_until.get().filter(|&end| first < end)
    }

    /// The control is told of congestion.
    pub(super) fn on_told(&mut self) {
        self.marked_until = Optional::NONE;
    }

    /// RFC 3168 section 6.1.2: whatever the reason why the window was reduced before `next` is sent, the receiver hears of it
    /// and stops echoing.
    pub(super) fn on_reduced(&mut self, next: u32) {
        self.recover = Optional::some(next);
        self.owes_cwr = self.on && self.decoder.is_none();
    }

    /// Whether the data segment that is sent now says that the window was reduced.
    #[inline(always)]
    pub(super) fn take_cwr(&mut self) -> bool {
        std::mem::take(&mut self.owes_cwr)
    }

    /// How many of the `new` segments that an acknowledgement is the first to cover were marked, if it tells of marks: all of
    /// them where it echoes a mark, and else as many as its counters have grown by.
    #[inline]
    pub(super) fn marks_of(&mut self, segment: &Segment, new: u32) -> Option<u32> {
        match &mut self.decoder {
            None => segment.ecn.has(EcnFlags::ECE).then_some(new),
            Some(counts) => Some(counts.decode(segment, new).min(new)).filter(|&marked| marked > 0),
        }
    }

    /// Whether an acknowledgement that came after a later one tells of marks: counts on it are superseded (RFC 9768 section
    /// 3.2.2.1).
    pub(super) fn old_marks_of(&self, segment: &Segment) -> Option<u32> {
        (self.decoder.is_none() && segment.ecn.has(EcnFlags::ECE)).then_some(0)
    }
}

impl Sender {
    /// The ECN flags of its SYN (RFC 3168 section 6.1.1, RFC 9768 section 3.1.1). Linux sends a SYN again without them, since
    /// they may be why it was dropped (`tcp_ecn_clear_syn`).
    pub fn asks(&self) -> EcnFlags {
        let ecn = self.ecn.on && !(self.rtt.backoffs() > 0 && self.connects_as_linux());
        match (ecn, self.ecn.asks_counts) {
            (false, _) => EcnFlags::NONE,
            (true, false) => EcnFlags::of_ace(0b011),
            (true, true) => EcnFlags::ALL,
        }
    }

    /// The SYN/ACK carries the flags `answer`: what both ends can do with marks, where that is not what was asked for, or counts.
    pub fn on_answer(&mut self, answer: EcnFlags) -> Option<Ability> {
        let is_refused = self.ecn.on && !self.ecn.asks_counts && !answer.has(EcnFlags::ECE);
        if self.recovery.state() != State::Handshake || !(self.ecn.asks_counts || is_refused) {
            return None;
        }
        let agreed = if is_refused { Ability::Nothing } else { Ability::agreed(answer) };
        self.agree(agreed);
        Some(agreed)
    }

    /// Both ends can do no more with marks than `ability` says.
    pub(super) fn agree(&mut self, ability: Ability) {
        if ability == Ability::Counts {
            self.ecn.decoder = Decoder::start(self.payload_bytes);
        } else {
            self.ecn.on = ability == Ability::Classic;
            self.control.on_classic_feedback();
        }
    }

    /// The ECN flags of its data, but for CWR. Where marks are counted they are its own counter r.cep, which stays at its first
    /// value since acknowledgements are not ECN-capable.
    pub fn data_flags(&self) -> EcnFlags {
        if self.ecn.decoder.is_some() { EcnFlags::FIRST_COUNT } else { EcnFlags::NONE }
    }

    /// Whether its data may carry ECN, as far as is known.
    pub fn uses_ecn(&self) -> bool {
        self.ecn.on
    }

    /// The receiver echoes a congestion mark on an acknowledgement of `acknowledged` more segments: answer
    /// once per window (RFC 3168 section 6.1.2).
    #[inline(never)]
    pub(super) fn on_echo(&mut self, acknowledged: u32, now: Time) {
        let answered = self.ecn.recover.get().is_some_and(|segment| self.board.first() <= segment);
        if self.ecn.on && self.recovery.state() == State::Open && !answered {
            self.recovery.forbid_undo();
            let before = self.control.window();
            self.reduce(Signal::Ecn, self.flight_size() + acknowledged, self.board.pipe(), now);
            // Some answer a loss besides (DCTCP in Linux; Prague has a credit for it), and those that make nothing of a mark
            // have answered nothing (BBR).
            let answered = !self.control.answers_both() && self.control.window() < before;
            self.ecn.marked_until = answered.then_some(self.board.next()).into();
        }
    }
}
