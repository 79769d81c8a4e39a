//! The receiver: what has arrived, and when and how to acknowledge it.
//!
//! Accurate ECN feedback is the state machine of RFC 8257 section 3.2: an acknowledgement covers marked segments or
//! others, never both. When the state changes while an acknowledgement is delayed, that one is sent first, in the old
//! state, and the new segment waits; where none is delayed the new segment is acknowledged at once. Only where segments
//! are missing can one acknowledgement cover both: it must not be put off, and a segment leads to one at most.
//!
//! Counted marks (RFC 9768, [`accecn`](crate::accecn)) are acknowledged at once where the packet before carried none, and every
//! second one.

mod beyond;
mod buffer;
#[cfg(test)]
mod feedback_tests;
mod linux;
#[cfg(test)]
mod linux_tests;
mod schedule;
#[cfg(test)]
mod tests;
mod waiting;

use crate::accecn::{Ability, Counts};
use crate::options::{AckPolicy, Constants, Feedback, Options, Sack};
use crate::segment::{Block, EcnFlags, MAX_BLOCKS, Segment, SegmentKind};
use crate::sender::Sender;
use crate::steering::Steering;
use beyond::Beyond;
use linux::Pace;
use schedule::{Offload, Schedule};
use sojourn_congestion::AnyControl;
use sojourn_core::{Span, Time};
use sojourn_queue::Ecn;
use std::sync::Arc;

/// What the receiver's clock shows, compared with the sender's.
#[derive(Clone, Copy, Default, Debug)]
pub struct Clock {
    /// Difference at the start of the run, in ns.
    pub offset_nanos: i64,
    /// How much faster it runs, in parts per million.
    pub skew_ppm: f64,
}

impl Clock {
    /// Its difference to the sender's clock at `now`, in ns.
    #[inline]
    fn difference_nanos(&self, now: Time) -> i64 {
        if self.skew_ppm == 0.0 {
            return self.offset_nanos;
        }
        self.offset_nanos + (now.as_nanos() as f64 * self.skew_ppm * 1e-6) as i64
    }
}

/// The state of a receiver.
#[derive(Debug)]
pub struct Receiver {
    constants: Arc<Constants>,
    ack_every: u32,
    sack: bool,
    /// Whether segments that came twice are reported (RFC 2883).
    dsack: bool,
    /// Whether each mark is echoed once.
    accurate_ecn: bool,
    /// Where marks are counted.
    counts: Option<Box<Counts>>,
    /// What its clock shows beside the sender's, where that is anything else.
    clock: Option<Box<Clock>>,
    /// Next segment expected (RCV.NXT).
    next: u32,
    /// What was received beyond or twice, where anything ever was.
    beyond: Option<Box<Beyond>>,
    /// Whether it is anything now. Asked of each segment, which is not to wait for another place in memory.
    has_gap: bool,
    /// Whether only `ack_every` and `deadline` let acknowledgements wait, and marks are echoed as RFC 3168 has it.
    is_plain: bool,
    /// Segments that wait for an acknowledgement.
    pending: u32,
    /// When they must be acknowledged.
    deadline: Time,
    /// What the last acknowledgement said.
    last_acked: u32,
    /// The time to echo (TS.Recent of RFC 7323).
    stamp: Time,
    /// One-way delay of the latest segment, in ns.
    delay_nanos: i64,
    /// What lets acknowledgements wait, where that is more than `ack_every` and `deadline`.
    schedule: Option<Box<Schedule>>,
    /// What grants the sender its window, where the receiver does.
    steering: Option<Box<Steering>>,
    /// Whether congestion marks are being echoed (RFC 3168 section 6.1.3; DCTCP.CE of RFC 8257).
    echo: bool,
    /// What a SYN was answered, once one has come.
    accepted: Option<EcnFlags>,
}

/// What was before a segment arrived.
struct Before {
    /// The next segment expected.
    next: u32,
    /// How many were received beyond it.
    beyond: u32,
    had_gap: bool,
}

/// What an arrival leads to.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Whether the segment was new.
    pub is_new: bool,
    /// The acknowledgement to send at once.
    pub ack: Option<Segment>,
}

impl Receiver {
    /// A receiver that expects segment 0.
    pub fn new(options: &Options, clock: Clock) -> Receiver {
        let mut receiver = Receiver {
            ack_every: options.ack_every,
            constants: options.constants.clone(),
            sack: options.sack.is_used(),
            dsack: options.sack == Sack::Dsack,
            accurate_ecn: options.ecn == Feedback::Accurate,
            counts: None,
            clock: (clock.offset_nanos != 0 || clock.skew_ppm != 0.0).then(|| Box::new(clock)),
            next: 0,
            beyond: None,
            has_gap: false,
            is_plain: options.ack_policy == AckPolicy::Count && options.ecn != Feedback::Accurate,
            pending: 0,
            deadline: Time::NEVER,
            last_acked: 0,
            stamp: Time::ZERO,
            delay_nanos: 0,
            echo: false,
            accepted: None,
            schedule: (options.ack_policy == AckPolicy::Linux).then(|| {
                let constants = &options.constants;
                Box::new(Schedule::new(Some(Pace::new(
                    constants.ack_delay,
                    constants.timer_tick,
                    options.payload_bytes,
                ))))
            }),
            steering: None,
        };
        // Without a handshake both ends know beforehand.
        if options.ecn.counts() && options.ecn.peer() == Ability::Counts && !options.handshake.is_wanted() {
            receiver.count_marks();
        }
        receiver
    }

    /// The same with segments taken together that arrive within `hold`, `most` of them at once.
    #[must_use]
    pub fn with_offload(mut self, hold: Span, most: u32) -> Receiver {
        self.is_plain = false;
        self.schedule.get_or_insert_with(|| Box::new(Schedule::new(None))).offload = Some(Offload::new(hold, most));
        self
    }

    /// The same with `control` saying how much the sender may have in flight, told in units of 2^`scale` bytes (RFC 9840), and a
    /// `sender` that obeys.
    #[must_use]
    pub fn steering(mut self, sender: Sender, options: &Options, control: AnyControl, scale: u8) -> (Sender, Receiver) {
        let steering = Steering::new(options, control, scale);
        let sender = sender.obeying(options.payload_bytes, scale, steering.first_window());
        self.steering = Some(Box::new(steering));
        self.is_plain = false;
        (sender, self)
    }

    /// What steers.
    #[cfg(test)]
    pub(crate) fn steers(&self) -> Option<&Steering> {
        self.steering.as_deref()
    }

    /// When [`on_timer`](Receiver::on_timer) wants to be called.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// The next segment expected.
    #[inline]
    pub fn next(&self) -> u32 {
        self.next
    }

    /// A SYN arrived: accept it. One that was sent again is answered as the first one was, whose flags and timestamp are kept
    /// (Linux `tcp_check_req`).
    pub fn on_syn(&mut self, segment: &Segment, now: Time) -> Segment {
        if let Some(pace) = self.pace() {
            pace.on_syn_ack(now);
        }
        let ecn = match self.accepted {
            Some(ecn) => ecn,
            None => self.accept(segment),
        };
        Segment { ecn, ..Segment::new(SegmentKind::SynAck, 0, self.stamp) }
    }

    fn accept(&mut self, syn: &Segment) -> EcnFlags {
        let ecn = self.constants.ecn.peer().answer(syn.ecn);
        if ecn == EcnFlags::CWR && self.counts.is_none() {
            self.count_marks();
        }
        self.stamp = syn.stamp;
        self.accepted = Some(ecn);
        ecn
    }

    fn count_marks(&mut self) {
        self.accurate_ecn = true;
        self.is_plain = false;
        self.counts = Counts::start(self.constants.ecn.has_option());
    }

    /// Whether [`on_bytes`](Receiver::on_bytes) is to be called before each [`on_data`](Receiver::on_data).
    #[inline]
    pub fn counts_bytes(&self) -> bool {
        self.counts.is_some()
    }

    /// A data segment with `bytes` of payload arrives that carries `ecn`.
    #[inline(never)]
    pub fn on_bytes(&mut self, ecn: Ecn, bytes: u32) {
        if let Some(counts) = &mut self.counts {
            counts.on_bytes(ecn, bytes);
        }
    }

    /// Whether [`set_rtt`](Receiver::set_rtt) matters to when it acknowledges.
    #[inline]
    pub fn asks_for_rtt(&self) -> bool {
        let pace = self.schedule.as_ref().and_then(|schedule| schedule.pace.as_ref());
        pace.is_some_and(Pace::asks_for_data_rtt)
    }

    /// The smoothed round-trip time of the sender at the same end, whose connection this is, too (`srtt_us`).
    pub fn set_rtt_here(&mut self, rtt: Span) {
        if let Some(pace) = self.pace()
            && !rtt.is_zero()
        {
            pace.set_rtt(rtt);
        }
    }

    /// The smoothed round-trip time of the sender, which timestamps tell the receiver (RFC 7323 section 4.1).
    pub fn set_rtt(&mut self, rtt: Span) {
        if let Some(pace) = self.pace()
            && !rtt.is_zero()
        {
            pace.set_data_rtt(rtt);
        }
    }

    /// A data segment arrived, `marked` if it carries CE.
    #[inline(always)]
    pub fn on_data(&mut self, segment: &Segment, marked: bool, now: Time) -> Arrival {
        if !self.is_plain || self.has_gap || segment.number != self.next {
            return self.on_any_data(segment, marked, now);
        }
        self.delay_nanos = self.delay_of(segment, now);
        self.echo = marked || (self.echo && !segment.ecn.has(EcnFlags::CWR));
        if segment.number == self.last_acked {
            self.stamp = segment.stamp;
        }
        self.next += 1;
        self.pending += 1;
        if self.pending < self.ack_every {
            self.deadline = self.deadline.min(self.latest_answer(now));
            return Arrival { is_new: true, ack: None };
        }
        self.pending = 0;
        self.deadline = Time::NEVER;
        self.last_acked = self.next;
        Arrival { is_new: true, ack: Some(self.plain_ack()) }
    }

    /// One-way delay of `segment`, which arrives `now`, in ns.
    #[inline(always)]
    fn delay_of(&self, segment: &Segment, now: Time) -> i64 {
        let difference = self.clock.as_ref().map_or(0, |clock| clock.difference_nanos(now));
        now.as_nanos() as i64 - segment.stamp.as_nanos() as i64 + difference
    }

    /// A data segment arrived that is not the next one of a plain receiver, or after which something is missing.
    #[inline(never)]
    fn on_any_data(&mut self, segment: &Segment, marked: bool, now: Time) -> Arrival {
        self.tell_time(now);
        // Linux looks at nothing else of a segment that ends before what it has asked for (tcp_validate_incoming).
        let is_outside = self.pace().is_some() && segment.number + 1 < self.last_acked;
        let marked = marked && !is_outside;
        let has_cwr = segment.ecn.has(EcnFlags::CWR) && !is_outside;
        let counted = self.counts.as_mut().map(|counts| counts.on_packet(marked, self.echo));
        let mark_changes = self.accurate_ecn && counted.is_none() && marked != self.echo;
        let mark_is_due = counted == Some(true);
        let mut earlier = (mark_changes && self.is_delaying()).then(|| self.acknowledge());
        if self.schedule.is_some() && earlier.is_none() {
            earlier = self.end_gathering(segment, marked, now);
        }
        self.delay_nanos = self.delay_of(segment, now);
        if marked
            && !self.echo
            && !self.accurate_ecn
            && let Some(pace) = self.pace()
        {
            pace.on_first_mark();
        }
        self.echo = marked || (self.echo && !has_cwr && !self.accurate_ecn);
        let told = self.forgets_block(segment.number).then(|| {
            let is_new = self.beyond.as_ref().is_none_or(|beyond| !beyond.has(segment.number));
            self.note_repetition(segment.number, is_new);
            self.acknowledge()
        });
        let before = Before { next: self.next, beyond: self.count_beyond(), had_gap: self.has_gap };
        let is_new = self.take(segment.number);
        if is_new && segment.number == self.last_acked {
            self.stamp = segment.stamp;
        }
        self.pending += 1;
        if told.is_none() {
            self.note_repetition(segment.number, is_new);
        }
        if let Some(steering) = &mut self.steering {
            steering.on_data(segment, is_new, self.has_gap, marked, now);
        }
        self.pace_after(segment.number, &before, is_new, now);
        if told.is_some() {
            return Arrival { is_new, ack: told };
        }
        // With CWR the sender's window may be one segment now (tcp_ecn_accept_cwr).
        let asks = has_cwr && self.counts.is_none() && self.pace().is_some();
        let has_news = mark_changes || mark_is_due || asks;
        let out_of_order = before.had_gap || self.has_gap || !is_new;
        if !out_of_order && !has_news && self.offload().is_some() {
            self.gather(segment, now);
            return Arrival { is_new, ack: earlier };
        }
        let at_once = match self.pace() {
            Some(_) => has_news || self.is_due_in_linux(before.had_gap, now) || self.is_due_when_read(before.next),
            // RFC 5681 section 4.2: out of order, duplicate, or filling a gap. There one acknowledgement does.
            None => out_of_order || (earlier.is_none() && (has_news || self.pending >= self.ack_every)),
        };
        let ack = self.answer(at_once, earlier, now);
        let beyond = self.count_beyond();
        if let Some(pace) = self.pace() {
            pace.hold(beyond);
        }
        Arrival { is_new, ack }
    }

    /// The last segment that came twice is reported, unless another one comes before an acknowledgement goes.
    fn note_repetition(&mut self, number: u32, is_new: bool) {
        if !self.dsack {
            return;
        }
        if !is_new {
            self.beyond.get_or_insert_default().came_twice = Some(number);
        } else if let Some(beyond) = &mut self.beyond {
            beyond.came_twice = None;
        }
    }

    /// A time has come at which an acknowledgement may be due.
    pub fn on_timer(&mut self, now: Time) -> Option<Segment> {
        if self.deadline > now {
            return None;
        }
        let is_enough = self.pending >= self.ack_every;
        if let Some(schedule) = &mut self.schedule
            && !schedule.on_timer(is_enough, now)
        {
            self.deadline = schedule.deadline();
            return None;
        }
        self.tell_time(now);
        Some(self.acknowledge())
    }

    /// The acknowledgement that goes with data which leaves `now` the other way on the same connection: it tells what has come,
    /// whether that waits to be acknowledged or not.
    pub fn on_data_sent(&mut self, now: Time) -> Segment {
        let is_due = self.pending > 0;
        if let Some(pace) = self.pace() {
            pace.sends_along(is_due);
        }
        let ack = self.acknowledge();
        self.note_data_sent(now);
        ack
    }

    /// Data leaves `now` the other way, and an acknowledgement made before with it.
    pub fn note_data_sent(&mut self, now: Time) {
        if let Some(pace) = self.pace() {
            pace.on_data_sent(now);
        }
    }

    /// What steers learns what the clock shows.
    #[inline]
    fn tell_time(&mut self, now: Time) {
        if let Some(steering) = &mut self.steering {
            let difference = self.clock.as_ref().map_or(0, |clock| clock.difference_nanos(now));
            steering.set_clock(now.as_nanos() as i64 + difference);
        }
    }

    /// How many segments have come beyond the next one expected.
    fn count_beyond(&self) -> u32 {
        if self.has_gap { self.beyond.as_ref().map_or(0, |beyond| beyond.count()) } else { 0 }
    }

    /// Stores `number`; whether it was new.
    #[inline(always)]
    fn take(&mut self, number: u32) -> bool {
        if number > self.next {
            self.has_gap = true;
            return self.beyond.get_or_insert_default().take(number, self.sack);
        }
        number == self.next && self.fill()
    }

    /// Takes the next segment, and what was received beyond it.
    #[inline(always)]
    fn fill(&mut self) -> bool {
        self.next += 1;
        if self.has_gap
            && let Some(beyond) = &mut self.beyond
            && let Some(end) = beyond.end_from(self.next)
        {
            self.next = end;
            self.has_gap = !beyond.is_empty();
        }
        true
    }

    /// What every acknowledgement says.
    #[inline(always)]
    fn plain_ack(&self) -> Segment {
        let (sack, blocks) = if self.sack && self.has_gap { self.blocks() } else { Default::default() };
        let ecn = EcnFlags::when(self.echo, EcnFlags::ECE);
        let (number, stamp, delay_nanos) = (self.next, self.stamp, self.delay_nanos);
        Segment { kind: SegmentKind::Ack, ecn, blocks, number, stamp, delay_nanos, sack }
    }

    /// What was received beyond the next segment expected, as SACK blocks, and how many they are.
    #[inline(never)]
    fn blocks(&self) -> ([Block; MAX_BLOCKS], u8) {
        self.beyond.as_ref().map_or_else(Default::default, |beyond| beyond.blocks())
    }

    #[inline(always)]
    fn acknowledge(&mut self) -> Segment {
        let mut ack = self.plain_ack();
        if let Some(counts) = &mut self.counts {
            counts.write(&mut ack);
        }
        if let Some(steering) = &mut self.steering {
            steering.write(&mut ack);
        }
        if self.dsack
            && let Some(number) = self.beyond.as_mut().and_then(|beyond| beyond.came_twice.take())
        {
            report_duplicate(&mut ack, number);
        }
        self.pending = 0;
        self.deadline = Time::NEVER;
        if let Some(schedule) = &mut self.schedule {
            schedule.on_sent(self.next);
        }
        self.last_acked = self.next;
        ack
    }
}

/// RFC 2883 section 4: the first block reports segment `number`, which came again; the others make room.
fn report_duplicate(ack: &mut Segment, number: u32) {
    // The place of the option of counts stays its own.
    let room = MAX_BLOCKS - usize::from(ack.counters().is_some());
    ack.sack[..room].rotate_right(1);
    ack.sack[0] = Block { start: number, end: number + 1 };
    ack.blocks = (ack.blocks + 1).min(room as u8);
}
