//! When what has arrived is acknowledged: at once, or with what comes later.

use super::linux::{self, Pace};
use super::schedule::Offload;
use super::{Before, Receiver};
use crate::options::at_tick;
use crate::segment::Segment;
use sojourn_core::Time;
use std::cmp::Ordering;

impl Receiver {
    /// What an arrival is answered after an `earlier` acknowledgement that it has led to.
    pub(super) fn answer(&mut self, at_once: bool, earlier: Option<Segment>, now: Time) -> Option<Segment> {
        let follows = earlier.is_some();
        match self.pace() {
            // Linux sends both.
            Some(pace) if at_once && follows => pace.follow(now),
            _ if at_once => return Some(self.acknowledge()),
            _ => (),
        }
        self.delay(now);
        earlier
    }

    /// What sets the pace of acknowledgements learns of an arrival.
    pub(super) fn pace_after(&mut self, number: u32, before: &Before, is_new: bool, now: Time) {
        let is_outside = number + 1 < self.last_acked;
        let Some(pace) = self.pace() else { return };
        match number.cmp(&before.next) {
            Ordering::Less => pace.on_old(is_outside),
            Ordering::Equal => pace.on_next(now),
            Ordering::Greater => (),
        }
        if is_new {
            // One out of order is looked at before it is there (tcp_data_queue_ofo), one in order afterwards.
            pace.on_new(before.beyond + u32::from(number == before.next), now);
        }
        if number == before.next {
            // It is looked at after each segment that is read; those beyond a gap follow at the same time.
            pace.on_read(number + 1, now);
        }
        pace.hold(before.beyond + u32::from(is_new));
    }

    /// Whether Linux acknowledges now (`__tcp_ack_snd_check`), after a segment before which there was a gap if it `had_gap`.
    pub(super) fn is_due_in_linux(&mut self, had_gap: bool, now: Time) -> bool {
        let (next, has_gap) = (self.next, self.has_gap);
        if (had_gap && !has_gap) || (has_gap && !self.sack) {
            return true;
        }
        let is_enough = next - self.last_acked >= self.ack_every;
        let Some(pace) = self.pace() else { return true };
        if is_enough && !pace.has_shrunk() {
            return true;
        }
        pace.is_quick() || if has_gap { !pace.compresses(next, now) } else { !pace.delays(now) }
    }

    /// Whether Linux acknowledges once the application has read what follows `before`, for which it had not yet done so
    /// (`tcp_cleanup_rbuf`). The acknowledgement then tells of the room in the emptied buffer.
    pub(super) fn is_due_when_read(&mut self, before: u32) -> bool {
        let is_enough = self.next - self.last_acked >= self.ack_every;
        let beyond = self.count_beyond();
        let is_due = is_enough && self.next > before;
        if let Some(pace) = self.pace().filter(|_| is_due) {
            pace.hold(beyond);
        }
        is_due
    }

    pub(super) fn offload(&mut self) -> Option<&mut Offload> {
        self.schedule.as_mut()?.offload.as_mut()
    }

    pub(super) fn pace(&mut self) -> Option<&mut Pace> {
        self.schedule.as_mut()?.pace.as_mut()
    }

    /// Whether an acknowledgement waits for a second segment.
    pub(super) fn is_delaying(&mut self) -> bool {
        self.pending > 0 && self.pace().is_none_or(|pace| pace.is_delaying())
    }

    /// What was gathered is taken before `segment` where that does not belong to it; the acknowledgement that this leads to.
    #[inline(never)]
    pub(super) fn end_gathering(&mut self, segment: &Segment, marked: bool, now: Time) -> Option<Segment> {
        let belongs = segment.number == self.next && marked == self.echo;
        let is_enough = self.pending >= self.ack_every;
        let schedule = self.schedule.as_mut()?;
        let offload = schedule.offload.as_ref()?;
        if !offload.is_gathering() || (belongs && !offload.ends_before(segment)) {
            return None;
        }
        let is_due = schedule.takes(is_enough, now);
        self.deadline = schedule.deadline();
        is_due.then(|| self.acknowledge())
    }

    /// Whether duplicates wait whose blocks may not be told again, since `number` puts another one before them
    /// (`tcp_sack_new_ofo_skb`).
    pub(super) fn forgets_block(&mut self, number: u32) -> bool {
        let waits = number > self.next && self.pace().is_some_and(|pace| pace.compressed() > 0);
        waits && self.beyond.as_ref().is_some_and(|beyond| beyond.place_of(number) >= linux::BLOCKS_EXPECTED)
    }

    /// The acknowledgement of what arrives `now` waits.
    pub(super) fn delay(&mut self, now: Time) {
        if self.pace().is_none() {
            let latest = self.latest_answer(now);
            match &mut self.schedule {
                None => self.deadline = self.deadline.min(latest),
                Some(schedule) => schedule.delay(latest),
            }
        }
        if let Some(schedule) = &self.schedule {
            self.deadline = schedule.deadline();
        }
    }

    /// When what arrives `now` must be acknowledged.
    pub(super) fn latest_answer(&self, now: Time) -> Time {
        at_tick(now + self.constants.ack_delay, self.constants.timer_tick)
    }

    /// A segment that arrived in order waits for others.
    #[inline(never)]
    pub(super) fn gather(&mut self, segment: &Segment, now: Time) {
        let latest = self.latest_answer(now);
        let Some(schedule) = &mut self.schedule else { return };
        schedule.gather(segment, latest, now);
        self.deadline = schedule.deadline();
    }
}
