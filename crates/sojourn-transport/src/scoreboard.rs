//! What the sender knows of each outstanding segment (RFC 6675's scoreboard).

mod late;
mod record;
#[cfg(test)]
mod tests;

pub use late::{Evidence, Late, Sending};

use crate::segment::{Block, MAX_BLOCKS};
use late::{ByTime, late_by};
use record::{Mark, Record};
use sojourn_core::{Ring, Span, Time};

/// Duplicate acknowledgements, or SACKed segments above, that prove a loss (DupThresh).
pub const DUP_THRESH: u32 = 3;

/// What an acknowledgement changed.
#[derive(Clone, Copy, Default, Debug)]
pub struct Delivered {
    /// Segments that it is the first to cover.
    pub segments: u32,
    /// The newest of them.
    pub newest: u32,
    /// When the newest of them was last sent.
    pub sent: Time,
    /// Whether that one was sent once only.
    pub unambiguous: bool,
    /// When the first and the last of those were sent that were sent once only.
    pub once: Option<[Time; 2]>,
    /// Whether SND.UNA moved over something that was sent again.
    pub again: bool,
}

/// The outstanding segments, from the first unacknowledged one on.
#[derive(Debug, Default)]
pub struct Scoreboard {
    /// Each has the number of its segment.
    records: Ring<Record>,
    sacked: u32,
    lost: u32,
    /// Segments that were sent again and may be in flight, judged lost or not.
    retransmitted: u32,
    /// Lost segments that were not sent again.
    due: u32,
    /// Whether one SACKed segment far enough beyond proves a loss (FACK).
    forward: bool,
    /// One past the highest segment that was ever judged lost.
    lost_end: u32,
    /// No segment to retransmit lies below.
    retransmit_from: u32,
    /// What SACK blocks have said, once there were any.
    selective: Option<Box<Selective>>,
    /// How often a segment was judged lost.
    judgements: u32,
    /// Where segments are judged by time.
    by_time: Option<Box<ByTime>>,
    /// Where somebody wants to know what is judged lost one by one.
    unreported: Option<Box<Unreported>>,
}

/// Segments judged lost and not yet reported.
#[derive(Default, Debug)]
struct Unreported {
    lost: Vec<u32>,
}

/// What is known from SACK blocks besides the marks of segments.
#[derive(Debug, Default)]
struct Selective {
    /// The highest SACKed segments, descending: what lies below the last of them is lost.
    highest: [Option<u32>; DUP_THRESH as usize],
    /// All below has been judged.
    judged: u32,
    /// Every segment below was SACKed or sent twice.
    untouched_from: u32,
    /// Blocks of the previous acknowledgement, which need not be walked again.
    known: [Block; MAX_BLOCKS],
}

impl Selective {
    /// Keeps the highest SACKed numbers in descending order.
    fn note_highest(&mut self, number: u32) {
        let mut rising = Some(number);
        for place in &mut self.highest {
            if rising > *place {
                std::mem::swap(place, &mut rising);
            }
        }
    }

    /// What lies below is lost: three SACKed segments lie above it, or with `forward` the highest of them three beyond it.
    fn lost_edge(&self, forward: bool) -> Option<u32> {
        let [highest, .., third] = self.highest;
        if forward { highest.map(|highest| (highest + 1).saturating_sub(DUP_THRESH)) } else { third }
    }
}

impl Scoreboard {
    /// An empty scoreboard that keeps what it judges lost for [`take_lost`](Scoreboard::take_lost).
    pub fn reporting_losses() -> Scoreboard {
        Scoreboard { unreported: Some(Box::default()), ..Scoreboard::default() }
    }

    /// The same which takes a segment for lost as soon as one that is three beyond it was SACKed (FACK of Linux before 4.15).
    #[must_use]
    pub fn judging_forward(mut self) -> Scoreboard {
        self.forward = true;
        self
    }

    /// How often a segment was judged lost.
    #[inline]
    pub fn judgements(&self) -> u32 {
        self.judgements
    }

    /// Segments judged lost since the last call, in the order of judging; none unless they are kept.
    pub fn take_lost(&mut self) -> impl Iterator<Item = u32> {
        self.unreported.iter_mut().flat_map(|unreported| unreported.lost.drain(..))
    }

    /// The first unacknowledged segment (SND.UNA).
    #[inline]
    pub fn first(&self) -> u32 {
        self.records.first()
    }

    /// One past the last segment sent (SND.NXT).
    #[inline]
    pub fn next(&self) -> u32 {
        self.records.next()
    }

    /// Segments sent and not cumulatively acknowledged (FlightSize).
    #[inline]
    pub fn outstanding(&self) -> u32 {
        self.records.len()
    }

    /// Outstanding segments that the receiver is known to have.
    pub fn sacked(&self) -> u32 {
        self.sacked
    }

    /// Segments believed to be in the network (RFC 6675 `SetPipe`): one sent again while its first copy
    /// is not known to be lost counts twice.
    #[inline]
    pub fn pipe(&self) -> u32 {
        self.outstanding() - self.sacked - self.lost + self.retransmitted
    }

    /// Notes that segment [`next`](Scoreboard::next) is sent.
    #[inline]
    pub fn send_new(&mut self, now: Time) {
        self.records.push(&Record::new(now));
    }

    /// Notes that `number` is sent again.
    pub fn retransmit(&mut self, number: u32, now: Time) {
        self.rescue(number, now);
        let record = &mut self.records[number];
        if !record.is(Mark::Sacked) && !record.put(Mark::Retransmitted, true) {
            self.retransmitted += 1;
            self.due -= u32::from(record.is(Mark::Lost));
        }
    }

    /// Notes that `number` is sent again as a rescue, which changes no count (RFC 6675 `NextSeg` rule 4).
    pub fn rescue(&mut self, number: u32, now: Time) {
        self.records[number].send_again(now);
        if let Some(by_time) = &mut self.by_time {
            by_time.on_sent_again(number, now);
        }
    }

    /// Removes all below `number` from a [calm](Scoreboard::is_calm) board where they were sent once and others are outstanding;
    /// when the last of them was sent. There must be one.
    #[inline]
    pub fn acknowledge_calm(&mut self, number: u32) -> Option<Time> {
        if number >= self.next() || (self.first()..number).any(|below| self.records[below].is(Mark::Ambiguous)) {
            return None;
        }
        let sent = self.records[number - 1].sent();
        self.records.remove_below(number);
        Some(sent)
    }

    /// Removes all below `number`, which must not lie beyond [`next`](Scoreboard::next).
    #[inline]
    pub fn acknowledge(&mut self, number: u32, delivered: &mut Delivered) {
        while self.first() < number {
            let first = self.first();
            let record = self.records[first];
            self.records.remove_first();
            if record.is_plain() {
                delivered.note(first, &record);
                self.note_by_time(first, &record, true);
            } else {
                self.acknowledge_marked(first, &record, delivered);
            }
        }
    }

    /// Segment `number` is acknowledged, to which more has happened than that it was sent.
    #[inline(never)]
    fn acknowledge_marked(&mut self, number: u32, record: &Record, delivered: &mut Delivered) {
        delivered.again |= record.is(Mark::Ambiguous);
        if record.is(Mark::Sacked) {
            self.sacked -= 1;
        } else {
            delivered.note(number, record);
            self.note_by_time(number, record, true);
        }
        self.lost -= u32::from(record.is(Mark::Lost));
        self.retransmitted -= u32::from(record.is(Mark::Retransmitted));
        self.due -= u32::from(record.is_due());
    }

    /// Marks what `blocks` cover as received and judges the segments below (RFC 6675 `IsLost`).
    #[inline(never)]
    pub fn sack(&mut self, blocks: &[Block], delivered: &mut Delivered) {
        // Taken out and put back, so that segments can be marked meanwhile.
        let mut selective = self.selective.take().unwrap_or_default();
        for block in blocks {
            self.sack_block(*block, &mut selective, delivered);
        }
        selective.known = [Block::default(); MAX_BLOCKS];
        let next = self.next();
        for (known, block) in selective.known.iter_mut().zip(blocks) {
            *known = Block { start: block.start, end: block.end.min(next) };
        }
        if self.by_time.is_none()
            && let Some(edge) = selective.lost_edge(self.forward)
        {
            for number in selective.judged.max(self.first())..edge.min(next) {
                self.mark_lost(number);
            }
            selective.judged = selective.judged.max(edge);
        }
        self.selective = Some(selective);
    }

    fn sack_block(&mut self, block: Block, selective: &mut Selective, delivered: &mut Delivered) {
        let known = selective.known.iter().find(|known| known.start == block.start).map_or(0, |known| known.end);
        for number in known.max(block.start).max(self.first())..block.end.min(self.next()) {
            let record = &mut self.records[number];
            if record.put(Mark::Sacked, true) {
                continue;
            }
            self.sacked += 1;
            self.due -= u32::from(record.is_due());
            self.lost -= u32::from(record.put(Mark::Lost, false));
            self.retransmitted -= u32::from(record.put(Mark::Retransmitted, false));
            delivered.note(number, record);
            let record = *record;
            self.note_by_time(number, &record, false);
            selective.note_highest(number);
        }
    }

    /// Whether any outstanding segment is judged lost; then the first one is.
    #[inline]
    pub fn has_lost(&self) -> bool {
        self.lost > 0
    }

    /// Whether the outstanding segment `number` was SACKed, and whether it is judged lost and was not sent again since.
    pub fn fate(&self, number: u32) -> (bool, bool) {
        let record = &self.records[number];
        (record.is(Mark::Sacked), record.is_due())
    }

    /// Judges `number` lost unless it has been SACKed or judged before.
    pub fn mark_lost(&mut self, number: u32) {
        let record = &mut self.records[number];
        if record.is(Mark::Sacked) || record.put(Mark::Lost, true) {
            return;
        }
        self.lost += 1;
        self.judgements = self.judgements.wrapping_add(1);
        self.lost_end = self.lost_end.max(number + 1);
        if let Some(unreported) = &mut self.unreported {
            unreported.lost.push(number);
        }
        if !record.is(Mark::Retransmitted) {
            self.due += 1;
            self.retransmit_from = self.retransmit_from.min(number);
        }
    }

    /// One past the highest segment that was ever judged lost by itself.
    #[inline]
    pub fn lost_end(&self) -> u32 {
        self.lost_end
    }

    /// Judges what has not been SACKed lost, also what was sent again (after a timeout): the first segment, and of the others
    /// what was sent `patience` or more before `now`.
    pub fn mark_all_lost(&mut self, patience: Span, now: Time) {
        let first = self.first();
        for number in first..self.next() {
            let record = &mut self.records[number];
            if record.is(Mark::Sacked) || (number > first && late_by(record.sent(), patience, now).is_some()) {
                continue;
            }
            // What was sent again is lost a second time.
            if let Some(unreported) = &mut self.unreported
                && !record.is_due()
            {
                unreported.lost.push(number);
            }
            record.put(Mark::Lost, true);
            record.put(Mark::Retransmitted, false);
            self.judgements = self.judgements.wrapping_add(1);
        }
        let count = |what: &dyn Fn(&Record) -> bool| self.records.iter().filter(|record| what(record)).count() as u32;
        self.lost = count(&|record| record.is(Mark::Lost));
        self.retransmitted = count(&|record| record.is(Mark::Retransmitted));
        self.due = count(&|record| record.is_due());
        self.retransmit_from = self.first();
    }

    /// One past the highest segment that is known to have arrived behind a hole; the first unacknowledged one where none is.
    #[inline]
    pub fn sacked_end(&self) -> u32 {
        match self.highest_sacked() {
            Some(highest) if self.sacked > 0 => highest + 1,
            _ => self.first(),
        }
    }

    /// Whether nothing is known to have left the network out of order, nor sent again.
    #[inline]
    pub fn is_calm(&self) -> bool {
        self.unrest() == 0
    }

    /// Not zero where anything is.
    #[inline]
    pub fn unrest(&self) -> u32 {
        self.sacked | self.lost | self.retransmitted
    }

    /// When the first unacknowledged segment was last sent.
    #[inline]
    pub fn first_sent(&self) -> Option<Time> {
        (self.outstanding() > 0).then(|| self.records[self.first()].sent())
    }

    /// Segments sent again whose last copy is believed to be in the network.
    #[inline]
    pub fn retransmitted(&self) -> u32 {
        self.retransmitted
    }

    /// Whether segment `number`, which is outstanding, was ever sent twice.
    pub fn was_sent_again(&self, number: u32) -> bool {
        self.records[number].is(Mark::Ambiguous)
    }

    /// Judges nothing lost any more: what was sent again is in the network twice.
    pub fn take_back_losses(&mut self) {
        for number in self.first()..self.next() {
            self.records[number].put(Mark::Lost, false);
        }
        self.lost = 0;
        self.due = 0;
        if let Some(by_time) = &mut self.by_time {
            by_time.late_from = self.records.first();
        }
        if let Some(unreported) = &mut self.unreported {
            unreported.lost.clear();
        }
    }

    /// Whether anything is lost that was not sent again.
    #[inline]
    pub fn has_due(&self) -> bool {
        self.due > 0
    }

    /// The lowest lost segment that has not been sent again (RFC 6675 `NextSeg` rule 1).
    #[inline]
    pub fn next_lost(&mut self) -> Option<u32> {
        if self.due == 0 {
            return None;
        }
        let from = self.retransmit_from.max(self.first());
        let found = (from..self.next()).find(|number| self.records[*number].is_due());
        self.retransmit_from = found.unwrap_or(self.next());
        found
    }

    /// The highest segment that was ever SACKed.
    #[inline]
    fn highest_sacked(&self) -> Option<u32> {
        self.selective.as_ref()?.highest[0]
    }

    /// The lowest hole below the highest SACKed segment that was sent once (RFC 6675 `NextSeg` rule 3).
    pub fn next_hole(&mut self) -> Option<u32> {
        let (first, end) = (self.first(), self.highest_sacked()?.min(self.next()));
        let selective = self.selective.as_mut()?;
        let from = selective.untouched_from.max(first);
        let found = (from..end).find(|number| self.records[*number].is_untouched());
        selective.untouched_from = found.unwrap_or(end).max(from);
        found
    }

    /// The last outstanding segment, unless it was received or sent twice (RFC 6675 `NextSeg` rule 4, which
    /// would also send a lower segment a third time).
    pub fn next_rescue(&self) -> Option<u32> {
        let last = (self.first()..self.next()).next_back()?;
        self.records[last].is_untouched().then_some(last)
    }
}

impl Delivered {
    #[inline]
    fn note(&mut self, number: u32, record: &Record) {
        self.segments += 1;
        if record.sent() >= self.sent {
            self.newest = number;
            self.sent = record.sent();
            self.unambiguous = !record.is(Mark::Ambiguous);
        }
        if !record.is(Mark::Ambiguous) {
            let [first, last] = self.once.unwrap_or([record.sent(); 2]);
            self.once = Some([first.min(record.sent()), last.max(record.sent())]);
        }
    }
}
