//! When the next packet may leave (`cake_advance_shaper`).
//!
//! The shaper is a clock in virtual time: each packet moves it on by the time that the packet takes, and while it is
//! ahead of now nothing may leave. There is no bucket of tokens and so no burst, except what a late link has to make
//! up for.

use sojourn_core::{Rate, Serializer, Time};

/// The clock of the whole discipline, and a slower one that drops do not move.
#[derive(Debug)]
pub(super) struct Shaper {
    pace: Option<Serializer>,
    next: Time,
    /// Keeps two thirds of the rate flowing where drops are charged too.
    failsafe: Time,
}

impl Shaper {
    /// A shaper to `rate`, or none.
    pub(super) fn new(rate: Option<Rate>) -> Shaper {
        Shaper { pace: rate.map(Serializer::new), next: Time::ZERO, failsafe: Time::ZERO }
    }

    /// Its rate is that of `fresh` from now on.
    pub(super) fn retune(&mut self, fresh: Shaper) {
        self.pace = fresh.pace;
    }

    /// Whether there is a rate to keep.
    #[inline]
    pub(super) fn shapes(&self) -> bool {
        self.pace.is_some()
    }

    /// When the next packet may leave.
    #[inline]
    pub(super) fn ready(&self) -> Time {
        self.next.min(self.failsafe)
    }

    /// A packet comes after a time without any: what was not sent then is not made up for.
    #[inline]
    pub(super) fn wake(&mut self, now: Time) {
        if self.next < now {
            self.next = now;
            self.failsafe = now;
        }
    }

    /// A packet of `bytes` bytes on the wire was sent.
    #[inline]
    pub(super) fn sent(&mut self, bytes: u32) {
        let Some(pace) = &mut self.pace else { return };
        let time = pace.transmit(bytes);
        self.next += time;
        self.failsafe += time + time / 2;
    }

    /// A packet of `bytes` bytes has crossed the link before and was dropped.
    pub(super) fn dropped(&mut self, bytes: u32) {
        if let Some(pace) = &mut self.pace {
            self.next += pace.transmit(bytes);
        }
    }
}

/// The clock of a tin, which says whether the tin is within its rate.
#[derive(Debug)]
pub(super) struct Schedule {
    pace: Option<Serializer>,
    next: Time,
}

impl Schedule {
    /// The schedule of a tin with `rate`, if it has any.
    pub(super) fn new(rate: Option<Rate>) -> Schedule {
        Schedule { pace: rate.map(Serializer::new), next: Time::ZERO }
    }

    /// Its rate is that of `fresh` from now on.
    pub(super) fn retune(&mut self, fresh: &Schedule) {
        self.pace = fresh.pace.as_ref().map(|pace| Serializer::new(pace.rate()));
    }

    /// When the tin has sent no more than its rate.
    #[inline]
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// A packet comes into an empty tin.
    #[inline]
    pub(super) fn wake(&mut self, now: Time) {
        self.next = self.next.max(now);
    }

    /// The tin sent `bytes` bytes on the wire. A tin that is behind may catch up; one that got more than its rate,
    /// because nobody else wanted it, does not owe more than one packet for that.
    #[inline]
    pub(super) fn sent(&mut self, bytes: u32, now: Time) {
        let Some(pace) = &mut self.pace else { return };
        let time = pace.transmit(bytes);
        if self.next < now {
            self.next += time;
        } else {
            self.next = self.next.max(now + time);
        }
    }
}
