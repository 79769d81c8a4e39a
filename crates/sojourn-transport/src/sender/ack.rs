//! What an acknowledgement says: what was delivered, what follows for losses, what the control counts.

use super::Sender;
use super::recovery::{Heard, State};
use crate::options::Timers;
use crate::rate::{Present, Snapshot};
use crate::scoreboard::Delivered;
use crate::segment::{PlainAck, Segment};
use sojourn_congestion::{Ack, Control, RateSample, Signal};
use sojourn_core::{Span, Time};

/// What held before an acknowledgement.
struct Before {
    /// Segments in flight.
    flight: u32,
    state: State,
    /// Of the scoreboard.
    judgements: u32,
}

impl Sender {
    /// An acknowledgement arrived. Returns the round-trip sample that it gave the estimator, if any.
    #[inline]
    pub fn on_ack(&mut self, segment: &Segment, now: Time) -> Option<Span> {
        let plain = segment.plain();
        if let Some(found) = self.try_fast_path(plain.number, segment.reports()) {
            return self.on_fast_path(&plain, &found, now);
        }
        if self.is_plain_dupack(segment) {
            self.on_plain_dupack(now);
            return None;
        }
        self.on_any_ack(segment, now)
    }

    /// An acknowledgement arrived with data. Where it says nothing new it is no duplicate that tells of a loss (RFC 5681
    /// section 2), and only a mark that it echoes counts.
    pub fn on_ack_with_data(&mut self, segment: &Segment, now: Time) -> Option<Span> {
        if segment.number > self.board.first() || segment.blocks > 0 {
            return self.on_ack(segment, now);
        }
        if segment.number == self.board.first() && self.ecn.marks_of(segment, 0).is_some() {
            self.on_echo(0, now);
        }
        None
    }

    /// The same, whatever it says.
    #[inline(never)]
    fn on_any_ack(&mut self, segment: &Segment, now: Time) -> Option<Span> {
        if segment.number > self.board.next() {
            return None;
        }
        if let Some(granted) = &mut self.granted {
            let plain = granted.read(segment);
            self.receive_window = granted.end() - segment.number.max(self.board.first());
            return self.on_valid_ack(&plain, now);
        }
        self.on_valid_ack(segment, now)
    }

    /// The same of one that acknowledges nothing that was not sent.
    #[inline]
    fn on_valid_ack(&mut self, segment: &Segment, now: Time) -> Option<Span> {
        if segment.number < self.board.first() {
            self.on_old_ack(segment, now);
            return None;
        }
        // RFC 3522 section 3.2: before anything is counted, so that what was never lost is not counted as repaired.
        if self.recovery.state() == State::Loss {
            self.undo_needless_timeout(segment, now);
        }
        // FlightSize as the sender of the acknowledged data saw it: before the scoreboard hears.
        let flight = self.in_flight();
        let mut heard = self.hear(segment, now);
        let new = heard.delivered.segments + heard.duplicates;
        heard.marks = self.ecn.marks_of(segment, new);
        // RFC 6298 section 3 (Karn): only what was sent once tells a round-trip time. The timer of step 5.3 uses it.
        let (sample, newest) = self.sample(segment, &heard, now);
        let snapshot =
            if self.rate.is_some() { self.take_snapshot(&heard.delivered, segment.number, now) } else { None };
        // What the acknowledgement says of losses. After the sample, because the timer is started again here; before the
        // control hears, because it must know of a repair.
        let before = Before { flight, state: self.recovery.state(), judgements: self.board.judgements() };
        self.respond(segment, &heard, now);
        // Each lost segment, then the delivery with the rate over its life, which counts them (draft-ietf-ccwg-bbr).
        if self.rate.is_some() {
            self.report_losses(now);
        }
        let mut yielded = None;
        if new > 0 {
            let rate = self.rate_sample(snapshot.as_ref(), now);
            yielded = self.inform(segment, &heard, &before, newest, rate, now);
        }
        if self.is_waiting() {
            self.restart_timeout(now);
        }
        // After the acknowledgement, so that a control that counts marks has counted this one.
        if heard.marks.is_some() {
            self.on_echo(heard.acknowledged, now);
        }
        // RFC 9937 section 6.2: with what is in flight after all this.
        if self.reduction.is_some() {
            self.step_reduction(new, heard.acknowledged > 0 && self.board.judgements() == before.judgements);
        }
        if let Some(window) = yielded {
            self.start_reduction(Signal::Ecn, window);
        }
        sample
    }

    /// Tells the control of what an acknowledgement is the first to cover. Returns the window before, where it reduced that by
    /// itself and only a stepwise reduction leads there.
    #[inline(always)]
    fn inform(
        &mut self,
        segment: &Segment,
        heard: &Heard,
        before: &Before,
        newest: Option<Span>,
        rate: Option<RateSample>,
        now: Time,
    ) -> Option<f64> {
        let Heard { acknowledged, ref delivered, duplicates, marks, .. } = *heard;
        let new = delivered.segments + duplicates;
        let newly_acked = self.recovery.credit(acknowledged, delivered.segments, new);
        // RFC 5681 section 3.2: the acknowledgement that ends a repair sets the window and opens nothing; after a
        // stepwise reduction the window is there already, and it counts like any other (Linux).
        let repaired = before.state == State::Recovery && !self.stepwise();
        let in_recovery = repaired || self.recovery.state() == State::Recovery || self.reduction.is_some();
        if acknowledged > 0 && !in_recovery {
            self.idle.on_acknowledged(now);
        }
        let window = self.stepwise().then(|| self.control.window());
        let orderly = self.recovery.state() == State::Open
            && self.reduction.is_none()
            && self.board.is_calm()
            && !(marks.is_some() && self.ecn.is_on());
        let measured = self.measured(&segment.plain(), new, delivered.sent, newest, now);
        self.control.on_ack(&Ack {
            newly_acked,
            advanced: acknowledged,
            selective: segment.blocks > 0,
            flight: f64::from(before.flight),
            in_recovery,
            orderly,
            marked: marks.is_some(),
            unmarked: new - marks.unwrap_or(new),
            rate,
            ..measured
        });
        window.filter(|window| self.control.window() < *window && self.control.reduced())
    }

    /// What the control is told of an acknowledgement of `new` segments, as on the fast path, the last one sent at `sent`.
    #[inline(always)]
    pub(super) fn measured(&self, ack: &PlainAck, new: u32, sent: Time, newest: Option<Span>, now: Time) -> Ack {
        Ack {
            now,
            newly_acked: new,
            delivered: new,
            advanced: new,
            outstanding: self.board.outstanding(),
            selective: false,
            flight: 0.0,
            window_limited: self.uses_window(),
            in_recovery: false,
            orderly: true,
            rtt: newest,
            smoothed_rtt: self.rtt.smoothed(),
            min_rtt: self.rtt.min(),
            max_rtt: self.rtt.max(),
            one_way_delay_nanos: Some(ack.delay_nanos),
            sent,
            echoed: ack.stamp,
            marked: false,
            unmarked: 0,
            rate: None,
        }
    }

    /// Enters what `segment` covers into the scoreboard.
    #[inline]
    fn hear(&mut self, segment: &Segment, now: Time) -> Heard {
        if self.recovery.is_by_time() {
            return self.hear_by_time(segment, now);
        }
        let first = self.board.first();
        let acknowledged = segment.number.saturating_sub(first);
        let mut delivered = Delivered::default();
        let timed = self.enter(segment, &mut delivered);
        Heard { acknowledged, first, delivered, duplicates: 0, timed, marks: None }
    }

    /// Enters cumulative acknowledgement and SACK blocks. What it returns is [`Heard::timed`].
    #[inline]
    pub(super) fn enter(&mut self, segment: &Segment, delivered: &mut Delivered) -> Option<[Time; 2]> {
        self.board.acknowledge(segment.number, delivered);
        let in_order = delivered.once.take().filter(|_| !delivered.again);
        if segment.blocks > 0 {
            self.board.sack(segment.sack_blocks(), delivered);
        }
        let behind_hole = delivered.once;
        let [first, _] = in_order.or(behind_hole)?;
        let [_, last] = behind_hole.or(in_order)?;
        Some([first, last])
    }

    /// An acknowledgement arrived after a later one. What it says of received segments may be new all the same.
    #[inline(never)]
    fn on_old_ack(&mut self, segment: &Segment, now: Time) {
        if segment.blocks > 0 && self.recovery.is_by_time() {
            let mut heard = self.hear_by_time(segment, now);
            heard.marks = self.ecn.old_marks_of(segment);
            self.respond_by_time(segment, &heard, now);
            self.report_losses(now);
        }
    }

    /// What the machine of loss recovery makes of it.
    #[inline(always)]
    fn respond(&mut self, segment: &Segment, heard: &Heard, now: Time) {
        if self.recovery.is_by_time() {
            self.respond_by_time(segment, heard, now);
        } else {
            self.respond_by_count(heard.acknowledged, heard.delivered.segments, now);
        }
    }

    /// What was known of the path when the newest segment was sent, for the rate since then.
    #[inline(never)]
    fn take_snapshot(&mut self, delivered: &Delivered, acknowledged: u32, now: Time) -> Option<Snapshot> {
        let sampler = self.rate.as_mut().filter(|_| delivered.segments > 0)?;
        sampler.on_delivered(delivered.segments, delivered.newest, acknowledged, now)
    }

    #[inline]
    fn rate_sample(&mut self, snapshot: Option<&Snapshot>, now: Time) -> Option<RateSample> {
        self.sample_since(snapshot?, now)
    }

    #[inline(never)]
    fn sample_since(&mut self, snapshot: &Snapshot, now: Time) -> Option<RateSample> {
        let present = self.present(now);
        Some(self.rate.as_mut()?.sample(snapshot, &present))
    }

    /// What a rate sample says of the end of an acknowledgement.
    #[inline]
    pub(super) fn present(&self, now: Time) -> Present {
        let repairing = self.recovery.is_repairing();
        let held = (self.timers == Timers::Linux).then(|| self.pacing.next_at().since(now));
        Present { now, in_flight: self.in_flight(), held, min_rtt: self.rtt.min(), repairing }
    }

    /// Tells a control that wants rate samples of each segment that was judged lost.
    #[inline(never)]
    pub(super) fn report_losses(&mut self, now: Time) {
        if let Some(sampler) = &mut self.rate {
            for number in self.board.take_lost() {
                self.control.on_lost(&sampler.on_lost(number, now));
            }
        }
    }

    /// Feeds the estimator. Returns the sample that it got, and the round-trip time that the control hears of.
    #[inline(always)]
    fn sample(&mut self, segment: &Segment, heard: &Heard, now: Time) -> (Option<Span>, Option<Span>) {
        if self.timers == Timers::Linux {
            return self.sample_segments(segment, heard, now);
        }
        let newest = heard.delivered.unambiguous.then(|| now.since(heard.delivered.sent));
        (self.sample_rtt(&segment.plain(), heard.acknowledged, newest, now), newest)
    }

    /// Feeds the estimator. A timestamp echoes when the oldest segment of a delayed acknowledgement was sent, so that
    /// the timeout allows for the delay (RFC 7323 section 4.3); a control is told the time of the `newest` one,
    /// which did not wait at the receiver, and the extremes are of these.
    #[inline(always)]
    pub(super) fn sample_rtt(
        &mut self,
        ack: &PlainAck,
        acknowledged: u32,
        newest: Option<Span>,
        now: Time,
    ) -> Option<Span> {
        if let Some(rtt) = newest {
            self.rtt.observe(rtt);
        }
        let rtt = if self.timestamps && acknowledged > 0 { Some(now.since(ack.stamp)) } else { newest };
        let is_timed = self.timed.number.get().is_some_and(|number| number < ack.number);
        let sample = match (self.timestamps, is_timed) {
            (true, _) => rtt,
            (false, true) => self.take_timed(now),
            (false, false) => None,
        };
        if let Some(sample) = sample {
            self.rtt.sample(sample, self.board.first(), self.board.next());
        }
        rtt
    }

    /// As Linux feeds the estimator (`tcp_ack_update_rtt`): with the time since the oldest segment that it newly covers was
    /// sent, and where that was sent again, with the timestamp's, which counts in ms. Returns that, and what the control hears.
    fn sample_segments(&mut self, segment: &Segment, heard: &Heard, now: Time) -> (Option<Span>, Option<Span>) {
        let (sample, newest) = match heard.timed {
            Some([oldest, newest]) => (now.since(oldest), now.since(newest)),
            None if self.timestamps && heard.acknowledged > 0 => {
                let millis = |time: Time| time.as_nanos() / Span::from_millis(1).as_nanos();
                let echoed = Span::from_millis((millis(now) - millis(segment.stamp).min(millis(now))).max(1));
                (echoed, echoed)
            }
            None => return (None, None),
        };
        self.rtt.observe(newest);
        self.rtt.sample(sample, self.board.first(), self.board.next());
        (Some(sample), Some(newest))
    }

    /// The round trip of the one segment that was being timed and is acknowledged.
    #[inline(never)]
    fn take_timed(&mut self, now: Time) -> Option<Span> {
        self.timed.number.take().map(|_| now.since(self.timed.since))
    }
}
