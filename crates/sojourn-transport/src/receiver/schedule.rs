//! What lets acknowledgements wait, where that is more than a count and a time.
//!
//! With receive offload (GRO of Linux) segments that arrive in order within a short time, with the same mark and the same time
//! stamp in ms, are taken as one, and so acknowledged as one.

use super::linux::Pace;
use crate::segment::Segment;
use sojourn_core::{Span, Time};

/// When acknowledgements go.
#[derive(Debug)]
pub(super) struct Schedule {
    pub(super) offload: Option<Offload>,
    /// Where they go as Linux's do.
    pub(super) pace: Option<Pace>,
    /// When the next one goes at the latest, where it does not.
    ack_at: Time,
}

/// Segments that are being taken as one.
#[derive(Debug)]
pub(super) struct Offload {
    hold: Span,
    most: u32,
    /// How many there are.
    count: u32,
    stamp_millis: u64,
    /// When they are taken.
    until: Time,
}

impl Offload {
    /// Segments taken together that arrive within `hold`, `most` of them at once.
    pub(super) fn new(hold: Span, most: u32) -> Offload {
        Offload { hold, most, count: 0, stamp_millis: 0, until: Time::NEVER }
    }

    /// Whether there are any, to which `segment` does not belong.
    pub(super) fn ends_before(&self, segment: &Segment) -> bool {
        self.count > 0 && (self.count >= self.most || self.stamp_millis != millis(segment))
    }

    /// Whether there are any.
    pub(super) fn is_gathering(&self) -> bool {
        self.count > 0
    }
}

impl Schedule {
    pub(super) fn new(pace: Option<Pace>) -> Schedule {
        Schedule { offload: None, pace, ack_at: Time::NEVER }
    }

    /// `segment` waits for others, and its acknowledgement until `latest`.
    pub(super) fn gather(&mut self, segment: &Segment, latest: Time, now: Time) {
        self.ack_at = self.ack_at.min(latest);
        let Some(offload) = &mut self.offload else { return };
        if offload.count == 0 {
            offload.stamp_millis = millis(segment);
            offload.until = now + offload.hold;
        }
        offload.count += 1;
    }

    /// What was gathered is taken; whether it is acknowledged at once, as it is where it `is_enough`.
    pub(super) fn takes(&mut self, is_enough: bool, now: Time) -> bool {
        if let Some(offload) = &mut self.offload {
            (offload.count, offload.until) = (0, Time::NEVER);
        }
        is_enough || self.pace.as_mut().is_some_and(|pace| pace.is_quick() || !pace.delays(now))
    }

    /// The acknowledgement waits until `latest`.
    pub(super) fn delay(&mut self, latest: Time) {
        self.ack_at = self.ack_at.min(latest);
    }

    /// When [`on_timer`](Schedule::on_timer) wants to be called.
    pub(super) fn deadline(&self) -> Time {
        let taken_at = self.offload.as_ref().map_or(Time::NEVER, |offload| offload.until);
        taken_at.min(self.pace.as_ref().map_or(self.ack_at, Pace::deadline))
    }

    /// A time has come; whether an acknowledgement goes.
    pub(super) fn on_timer(&mut self, is_enough: bool, now: Time) -> bool {
        let is_taken = self.offload.as_ref().is_some_and(|offload| offload.until <= now);
        (is_taken && self.takes(is_enough, now))
            || self.pace.as_mut().map_or(self.ack_at <= now, |pace| pace.on_timer(now))
    }

    /// An acknowledgement is sent that asks for `next`.
    pub(super) fn on_sent(&mut self, next: u32) {
        self.ack_at = Time::NEVER;
        if let Some(offload) = &mut self.offload {
            (offload.count, offload.until) = (0, Time::NEVER);
        }
        if let Some(pace) = &mut self.pace {
            pace.on_sent(next);
        }
    }
}

fn millis(segment: &Segment) -> u64 {
    segment.stamp.as_nanos() / 1_000_000
}
