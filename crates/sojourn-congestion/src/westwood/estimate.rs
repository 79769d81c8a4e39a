//! The bandwidth that acknowledgements show.

use super::descriptor::{Filter, Parameters, Sampling};
use crate::Ack;
#[cfg(not(feature = "std"))]
use sojourn_core::Float as _;
use sojourn_core::{Span, Time};

/// Weight of the old value in each of Linux's two stages (`westwood_do_filter`).
const STAGE_WEIGHT: f64 = 7.0 / 8.0;
/// Weight of the old value in ns-3's filter by Tustin's approximation.
const TUSTIN_WEIGHT: f64 = 0.9;

/// A filtered estimate, in segments per second.
#[derive(Clone, Debug)]
pub(super) struct Bandwidth {
    /// Since when segments are counted.
    began: Option<Time>,
    /// ns-3: for how long.
    interval: Span,
    segments: f64,
    /// Linux: segments counted by duplicate acknowledgements, which a later one covers (`accounted`).
    accounted: u32,
    estimate: f64,
    /// Linux: the first stage. ns-3: the last sample.
    previous: f64,
    sampling: Sampling,
    filter: Filter,
    least_interval: Span,
    ticks: Option<Ticks>,
}

/// Whole bytes per tick, as Linux reckons.
#[derive(Clone, Copy, Debug)]
struct Ticks {
    tick: Span,
    segment_bytes: f64,
}

impl Ticks {
    /// Whole ticks from one time to another.
    fn between(self, began: Time, now: Time) -> Span {
        let at = |time: Time| time.as_nanos() / self.tick.as_nanos();
        self.tick * (at(now) - at(began))
    }

    /// A round-trip time in whole ticks, rounded up.
    fn up(self, rtt: Span) -> Span {
        self.tick * rtt.as_nanos().div_ceil(self.tick.as_nanos())
    }

    /// Whole bytes per tick, in segments per second.
    fn rounded(self, segments_per_second: f64) -> f64 {
        let bytes_per_tick = self.segment_bytes * self.tick.as_secs_f64();
        // What is whole but for the arithmetic of fractions stays.
        (segments_per_second * bytes_per_tick + 1e-6).floor() / bytes_per_tick
    }
}

impl Bandwidth {
    pub(super) fn new(declared: &Parameters, segment_bytes: u32) -> Bandwidth {
        Bandwidth {
            began: None,
            interval: Span::ZERO,
            segments: 0.0,
            accounted: 0,
            estimate: 0.0,
            previous: 0.0,
            sampling: declared.sampling,
            filter: declared.filter,
            least_interval: declared.min_interval,
            ticks: (!declared.tick.is_zero())
                .then(|| Ticks { tick: declared.tick, segment_bytes: f64::from(segment_bytes) }),
        }
    }

    pub(super) fn segments_per_second(&self) -> f64 {
        self.estimate
    }

    /// Segments that fill a path with a least round-trip time of `least`.
    pub(super) fn fills(&self, least: Span) -> f64 {
        match self.ticks {
            None => self.estimate * least.as_secs_f64(),
            Some(ticks) => (self.estimate * ticks.up(least).as_secs_f64() + 1e-6).floor(),
        }
    }

    /// In this arithmetic.
    fn rounded(&self, estimate: f64) -> f64 {
        self.ticks.map_or(estimate, |ticks| ticks.rounded(estimate))
    }

    /// Counts an acknowledgement; `rtt` is the sample of the one before.
    #[inline]
    pub(super) fn on_ack(&mut self, ack: &Ack, rtt: Option<Span>) {
        match self.sampling {
            Sampling::Elapsed => self.count_elapsed(ack, rtt),
            Sampling::Rtt => self.count_rtt(ack),
        }
    }

    fn count_elapsed(&mut self, ack: &Ack, rtt: Option<Span>) {
        let Some(began) = self.began else {
            // The time counts from the first segment on, the segments only after those acknowledged first.
            self.began = Some(ack.sent);
            if self.ticks.is_some() {
                // Linux counts from what this one acknowledges (`first_ack`), and so takes it for a duplicate.
                (self.segments, self.accounted) = (1.0, 1);
            }
            return;
        };
        let elapsed = self.ticks.map_or(ack.now.since(began), |ticks| ticks.between(began, ack.now));
        let rtt = rtt.map(|rtt| self.ticks.map_or(rtt, |ticks| ticks.up(rtt)));
        if rtt.is_some_and(|rtt| elapsed > rtt.max(self.least_interval)) {
            self.sample(elapsed);
            self.began = Some(ack.now);
        }
        self.segments += f64::from(if self.ticks.is_some() { self.count_advance(ack) } else { ack.delivered });
    }

    /// What Linux takes an acknowledgement for (`westwood_acked_count`): a duplicate one is worth a segment, which is left out
    /// where a later one covers several. Those that are predicted, without SACK, count as they are (`westwood_fast_bw`).
    fn count_advance(&mut self, ack: &Ack) -> u32 {
        match ack.advanced {
            0 => {
                self.accounted += 1;
                1
            }
            advanced if advanced > 1 && (ack.selective || ack.marked) => {
                if self.accounted >= advanced {
                    self.accounted -= advanced;
                    1
                } else {
                    advanced - core::mem::take(&mut self.accounted)
                }
            }
            advanced => advanced,
        }
    }

    fn count_rtt(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        if self.began.is_some_and(|began| ack.now.since(began) >= self.interval) {
            self.sample(self.interval);
            self.began = None;
        }
        self.segments += f64::from(ack.delivered);
        if self.began.is_none() {
            self.began = Some(ack.now);
            self.interval = rtt.max(self.least_interval);
        }
    }

    /// The segments that were counted took `time`.
    fn sample(&mut self, time: Span) {
        let sample = self.rounded(self.segments / time.as_secs_f64());
        self.segments = 0.0;
        match self.filter {
            Filter::None => self.estimate = sample,
            Filter::TwoStage if self.previous == 0.0 && self.estimate == 0.0 => {
                self.previous = sample;
                self.estimate = sample;
            }
            Filter::TwoStage => {
                self.previous = self.rounded(STAGE_WEIGHT * self.previous + (1.0 - STAGE_WEIGHT) * sample);
                self.estimate = self.rounded(STAGE_WEIGHT * self.estimate + (1.0 - STAGE_WEIGHT) * self.previous);
            }
            Filter::Tustin => {
                let mean = (sample + self.previous) / 2.0;
                self.estimate = TUSTIN_WEIGHT * self.estimate + (1.0 - TUSTIN_WEIGHT) * mean;
                self.previous = sample;
            }
        }
    }
}
