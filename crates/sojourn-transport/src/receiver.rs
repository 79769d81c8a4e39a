//! The receiver: what has arrived, and when and how to acknowledge it.
//!
//! Accurate ECN feedback is the state machine of RFC 8257 section 3.2: an acknowledgement covers marked segments or
//! others, never both. When the state changes while an acknowledgement is delayed, that one is sent first, in the old
//! state, and the new segment waits; where none is delayed the new segment is acknowledged at once. Only where segments
//! are missing can one acknowledgement cover both: it must not be put off, and a segment leads to one at most.
//!
//! Counted marks (RFC 9768, [`accecn`](crate::accecn)) are acknowledged at once where the packet before carried none, and every
//! second one.
//!
//! With receive offload (GRO of Linux) segments that arrive in order within a short time, with the same mark and the same time
//! stamp in ms, are taken as one, and so acknowledged as one.

#[cfg(test)]
mod feedback_tests;
#[cfg(test)]
mod tests;

use crate::accecn::{Ability, Counts};
use crate::options::{Constants, Options, at_tick};
use crate::segment::{Block, EcnFlags, MAX_BLOCKS, Segment, SegmentKind};
use crate::sender::Sender;
use crate::steering::Steering;
use sojourn_congestion::AnyControl;
use sojourn_core::{Span, Time};
use sojourn_queue::Ecn;
use std::collections::VecDeque;
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
    /// What was received beyond, where anything ever was.
    beyond: Option<Box<Beyond>>,
    /// Whether it is anything now. Asked of each segment, which is not to wait for another place in memory.
    has_gap: bool,
    /// Whether each segment is acknowledged at once, and nothing but what TCP always says is told with it.
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
    offload: Option<Box<Offload>>,
    /// What grants the sender its window, where the receiver does.
    steering: Option<Box<Steering>>,
    /// Whether congestion marks are being echoed (RFC 3168 section 6.1.3; DCTCP.CE of RFC 8257).
    echo: bool,
    /// What a SYN was answered, once one has come.
    accepted: Option<EcnFlags>,
}

/// What was received beyond the next segment expected.
#[derive(Default, Debug)]
struct Beyond {
    /// Ascending and apart. There may be very many, and the first goes each time that a gap is filled.
    ranges: VecDeque<Block>,
    /// A segment in each of the ranges that arrived last, most recent first (RFC 2018 section 4).
    recent: [u32; MAX_BLOCKS],
}

/// Segments that are being taken as one.
#[derive(Debug)]
struct Offload {
    hold: Span,
    most: u32,
    /// How many there are.
    count: u32,
    stamp_millis: u64,
    /// When they are taken.
    until: Time,
    /// When they must be acknowledged.
    ack_at: Time,
}

impl Offload {
    /// Whether `segment` may be taken with those before it.
    fn gathers(&self, segment: &Segment) -> bool {
        self.count > 0 && self.count < self.most && self.stamp_millis == segment.stamp.as_nanos() / 1_000_000
    }
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
            sack: options.sack,
            dsack: options.dsack,
            accurate_ecn: options.accurate_ecn && !options.counts,
            counts: None,
            clock: (clock.offset_nanos != 0 || clock.skew_ppm != 0.0).then(|| Box::new(clock)),
            next: 0,
            beyond: None,
            has_gap: false,
            is_plain: options.ack_every <= 1 && !options.dsack && (options.counts || !options.accurate_ecn),
            pending: 0,
            deadline: Time::NEVER,
            last_acked: 0,
            stamp: Time::ZERO,
            delay_nanos: 0,
            echo: false,
            accepted: None,
            offload: None,
            steering: None,
        };
        // Without a handshake both ends know beforehand.
        if options.counts && options.constants.peer == Ability::Counts && !options.handshake {
            receiver.count_marks();
        }
        receiver
    }

    /// The same with segments taken together that arrive within `hold`, `most` of them at once.
    #[must_use]
    pub fn with_offload(mut self, hold: Span, most: u32) -> Receiver {
        self.is_plain = false;
        self.offload =
            Some(Box::new(Offload { hold, most, count: 0, stamp_millis: 0, until: Time::NEVER, ack_at: Time::NEVER }));
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
    pub fn on_syn(&mut self, segment: &Segment) -> Segment {
        let ecn = match self.accepted {
            Some(ecn) => ecn,
            None => self.accept(segment),
        };
        Segment { ecn, ..Segment::new(SegmentKind::SynAck, 0, self.stamp) }
    }

    fn accept(&mut self, syn: &Segment) -> EcnFlags {
        let ecn = self.constants.peer.answer(syn.ecn);
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
        self.counts = Counts::start(self.constants.counts_option);
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

    /// A data segment arrived, `marked` if it carries CE.
    #[inline(always)]
    pub fn on_data(&mut self, segment: &Segment, marked: bool, now: Time) -> Arrival {
        if !self.is_plain {
            return self.on_any_data(segment, marked, now);
        }
        debug_assert!(self.next == self.last_acked && self.pending == 0 && self.deadline == Time::NEVER);
        self.delay_nanos = self.delay_of(segment, now);
        self.echo = marked || (self.echo && !segment.ecn.has(EcnFlags::CWR));
        if segment.number == self.next {
            self.stamp = segment.stamp;
        }
        let is_new = self.take(segment.number);
        self.last_acked = self.next;
        Arrival { is_new, ack: Some(self.plain_ack()) }
    }

    /// One-way delay of `segment`, which arrives `now`, in ns.
    #[inline(always)]
    fn delay_of(&self, segment: &Segment, now: Time) -> i64 {
        let difference = self.clock.as_ref().map_or(0, |clock| clock.difference_nanos(now));
        now.as_nanos() as i64 - segment.stamp.as_nanos() as i64 + difference
    }

    /// The same, whatever has arrived before.
    #[inline(never)]
    fn on_any_data(&mut self, segment: &Segment, marked: bool, now: Time) -> Arrival {
        self.tell_time(now);
        let counted = self.counts.as_mut().map(|counts| counts.on_packet(marked, self.echo));
        let mark_changes = self.accurate_ecn && counted.is_none() && marked != self.echo;
        let mark_is_due = counted == Some(true);
        let mut earlier = (mark_changes && self.pending > 0).then(|| self.acknowledge());
        if self.offload.is_some() && earlier.is_none() {
            earlier = self.end_gathering(segment, marked);
        }
        self.delay_nanos = self.delay_of(segment, now);
        self.echo = marked || (self.echo && !segment.ecn.has(EcnFlags::CWR) && !self.accurate_ecn);
        let had_gap = self.has_gap;
        let is_new = self.take(segment.number);
        if is_new && segment.number == self.last_acked {
            self.stamp = segment.stamp;
        }
        self.pending += 1;
        if let Some(steering) = &mut self.steering {
            steering.on_data(segment, is_new, self.has_gap, marked, now);
        }
        // RFC 5681 section 4.2: at once when out of order, duplicate, or filling a gap.
        let out_of_order = had_gap || self.has_gap || !is_new;
        if !out_of_order && !mark_changes && !mark_is_due && self.offload.is_some() {
            self.gather(segment, now);
            return Arrival { is_new, ack: earlier };
        }
        if out_of_order || (earlier.is_none() && (mark_changes || mark_is_due || self.pending >= self.ack_every)) {
            let mut ack = self.acknowledge();
            if self.dsack && !is_new {
                report_duplicate(&mut ack, segment.number);
            }
            return Arrival { is_new, ack: Some(ack) };
        }
        if self.deadline == Time::NEVER {
            self.deadline = self.latest_answer(now);
        }
        Arrival { is_new, ack: earlier }
    }

    /// The delayed acknowledgement is due.
    pub fn on_timer(&mut self, now: Time) -> Option<Segment> {
        if self.deadline > now || (self.offload.is_some() && !self.takes_gathered(now)) {
            return None;
        }
        self.tell_time(now);
        Some(self.acknowledge())
    }

    /// What steers learns what the clock shows.
    #[inline]
    fn tell_time(&mut self, now: Time) {
        if let Some(steering) = &mut self.steering {
            let difference = self.clock.as_ref().map_or(0, |clock| clock.difference_nanos(now));
            steering.set_clock(now.as_nanos() as i64 + difference);
        }
    }

    /// What was gathered is taken before `segment` where that does not belong to it; the acknowledgement that this leads to.
    #[inline(never)]
    fn end_gathering(&mut self, segment: &Segment, marked: bool) -> Option<Segment> {
        let offload = self.offload.as_mut().filter(|offload| offload.count > 0)?;
        if segment.number == self.next && marked == self.echo && offload.gathers(segment) {
            return None;
        }
        offload.count = 0;
        self.deadline = offload.ack_at;
        (self.pending >= self.ack_every).then(|| self.acknowledge())
    }

    /// When what arrives `now` must be acknowledged.
    fn latest_answer(&self, now: Time) -> Time {
        at_tick(now + self.constants.ack_delay, self.constants.timer_tick)
    }

    /// A segment that arrived in order waits for others.
    #[inline(never)]
    fn gather(&mut self, segment: &Segment, now: Time) {
        let latest = self.latest_answer(now);
        let Some(offload) = &mut self.offload else { return };
        if offload.count == 0 {
            offload.stamp_millis = segment.stamp.as_nanos() / 1_000_000;
            offload.until = now + offload.hold;
            if self.pending == 1 {
                offload.ack_at = latest;
            }
        }
        offload.count += 1;
        self.deadline = offload.until.min(offload.ack_at);
    }

    /// A time has come; whether what was gathered is to be acknowledged now.
    #[inline(never)]
    fn takes_gathered(&mut self, now: Time) -> bool {
        let Some(offload) = &mut self.offload else { return true };
        offload.count = 0;
        self.deadline = offload.ack_at;
        self.pending >= self.ack_every || offload.ack_at <= now
    }

    /// Stores `number`; whether it was new.
    #[inline(always)]
    fn take(&mut self, number: u32) -> bool {
        if number != self.next || self.has_gap {
            return self.take_any(number);
        }
        self.next += 1;
        true
    }

    /// The same where something is missing.
    #[inline(never)]
    fn take_any(&mut self, number: u32) -> bool {
        if number > self.next {
            self.has_gap = true;
            return self.beyond.get_or_insert_default().take(number, self.sack);
        }
        number == self.next && self.fill()
    }

    /// Takes the next segment where something is missing.
    #[inline(never)]
    fn fill(&mut self) -> bool {
        self.next += 1;
        if let Some(beyond) = &mut self.beyond
            && beyond.ranges.front().is_some_and(|range| range.start == self.next)
        {
            self.next = beyond.ranges.pop_front().map_or(self.next, |range| range.end);
            self.has_gap = !beyond.ranges.is_empty();
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
        self.pending = 0;
        self.deadline = Time::NEVER;
        if let Some(offload) = &mut self.offload {
            offload.count = 0;
            offload.ack_at = Time::NEVER;
        }
        self.last_acked = self.next;
        ack
    }
}

impl Beyond {
    /// Stores `number`; whether it was new. Which ranges are recent is noted where they are `told`.
    #[inline]
    fn take(&mut self, number: u32, told: bool) -> bool {
        // Most go on where the last range ends.
        if let Some(last) = self.ranges.back_mut()
            && last.end == number
        {
            last.end += 1;
        } else if !self.enter(number) {
            return false;
        }
        if told {
            self.note_recent(number);
        }
        true
    }

    /// Puts `number` into the ranges; whether it was new.
    #[inline(never)]
    fn enter(&mut self, number: u32) -> bool {
        let after = self.ranges.partition_point(|range| range.start <= number);
        let before = after.checked_sub(1);
        if before.is_some_and(|index| number < self.ranges[index].end) {
            return false;
        }
        let extends = before.filter(|&index| self.ranges[index].end == number);
        let meets = self.ranges.get(after).is_some_and(|range| range.start == number + 1);
        match (extends, meets) {
            (Some(index), true) => {
                self.ranges[index].end = self.ranges[after].end;
                self.ranges.remove(after);
            }
            (Some(index), false) => self.ranges[index].end += 1,
            (None, true) => self.ranges[after].start = number,
            (None, false) => self.ranges.insert(after, Block { start: number, end: number + 1 }),
        }
        true
    }

    /// Puts the range of `number` first among the recent ones.
    #[inline(never)]
    fn note_recent(&mut self, number: u32) {
        let same = |other: &u32| self.range_of(*other).is_some_and(|range| range.start <= number && number < range.end);
        let place = self.recent.iter().position(same).unwrap_or(MAX_BLOCKS - 1);
        self.recent[..=place].rotate_right(1);
        self.recent[0] = number;
    }

    fn range_of(&self, number: u32) -> Option<Block> {
        let after = self.ranges.partition_point(|range| range.start <= number);
        let range = *self.ranges.get(after.checked_sub(1)?)?;
        (number < range.end).then_some(range)
    }

    /// It as SACK blocks, and how many they are.
    fn blocks(&self) -> ([Block; MAX_BLOCKS], u8) {
        let (mut blocks, mut count) = ([Block::default(); MAX_BLOCKS], 0);
        let recent = self.recent.iter().filter_map(|&number| self.range_of(number));
        // RFC 2018 section 4: as many as possible, although the recent ones may have grown together.
        for range in recent.chain(self.ranges.iter().rev().copied()) {
            if count == MAX_BLOCKS {
                break;
            }
            if !blocks[..count].contains(&range) {
                blocks[count] = range;
                count += 1;
            }
        }
        (blocks, count as u8)
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
