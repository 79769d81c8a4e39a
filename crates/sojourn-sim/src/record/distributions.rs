//! Distributions of times in ms, and what the record says of what instruments measured.

use super::metric::{COUNT, MS, Measured, Metric, Unit, below};
use super::{VideoRecord, VoipRecord};
use crate::times::{Coarse, Times};
use serde::Serialize;
use sojourn_core::Span;
use sojourn_traffic::{e_model, video, voip};

/// What is known of times; each kind of distribution keeps a part of it.
#[derive(Clone, Copy, Default)]
pub struct Known {
    count: u64,
    mean: Option<f64>,
    min: Option<f64>,
    p10: Option<f64>,
    p25: Option<f64>,
    p50: Option<f64>,
    p75: Option<f64>,
    p90: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
    p999: Option<f64>,
    max: Option<f64>,
}

const FRACTIONS: [f64; 8] = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999];

impl Known {
    /// Of `times`, with their exact sum.
    pub fn new(times: &Times, sum_nanos: u128) -> Known {
        Known::from_parts(times.count(), sum_nanos, times.quantiles(FRACTIONS))
    }

    /// The same with exact bounds.
    pub fn within(self, min: Option<Span>, max: Option<Span>) -> Known {
        let bound = |time: Option<Span>| time.filter(|_| self.count > 0).map(Span::as_millis_f64);
        Known { min: bound(min), max: bound(max), ..self }
    }

    fn from_parts(count: u64, sum_nanos: u128, quantiles: [Option<Span>; FRACTIONS.len()]) -> Known {
        let [p10, p25, p50, p75, p90, p95, p99, p999] = quantiles.map(|time| time.map(Span::as_millis_f64));
        let mean = (count > 0).then(|| sum_nanos as f64 / count as f64 / 1e6);
        Known { count, mean, min: None, p10, p25, p50, p75, p90, p95, p99, p999, max: None }
    }
}

impl From<&Coarse> for Known {
    fn from(times: &Coarse) -> Known {
        let known = Known::from_parts(times.count(), times.nanos(), times.quantiles(FRACTIONS));
        known.within(None, Some(times.max()))
    }
}

macro_rules! type_of {
    (count) => { u64 };
    ($part:ident) => { Option<f64> };
}

macro_rules! unit_of {
    (count) => {
        COUNT
    };
    ($part:ident) => {
        MS
    };
}

#[rustfmt::skip]
macro_rules! words {
    (count) => { "number" };
    (mean) => { "mean" };
    (min) => { "minimum" };
    (p10) => { "10th percentile" };
    (p25) => { "25th percentile" };
    (p50) => { "50th percentile" };
    (p75) => { "75th percentile" };
    (p90) => { "90th percentile" };
    (p95) => { "95th percentile" };
    (p99) => { "99th percentile" };
    (p999) => { "99.9th percentile" };
    (max) => { "maximum" };
}

macro_rules! distributions {
    ($($(#[doc = $about:literal])+ $name:ident: $($part:ident)+;)+) => {$(
        $(#[doc = $about])+
        #[derive(Clone, Copy, Default, Serialize, Debug)]
        #[non_exhaustive]
        pub struct $name {$(
            #[doc = words!($part)]
            pub $part: type_of!($part),
        )+}

        impl From<Known> for $name {
            fn from(known: Known) -> $name {
                $name { $($part: known.$part),+ }
            }
        }

        impl Measured for $name {
            fn declare(path: &str, _: Unit, meaning: &str, all: &mut Vec<Metric>) {$(
                let words = format!("{meaning}: {}", words!($part));
                f64::declare(&below(path, stringify!($part)), unit_of!($part), &words, all);
            )+}
        }
    )+};
}

distributions! {
    /// Sojourn times, or others of which the lower part counts too.
    QueueMs: mean p10 p25 p50 p75 p90 p95 p99 p999 max;
    /// Round-trip times, or sojourn times of a part of the run.
    Milliseconds: mean p10 p25 p50 p75 p90 p95 p99 p999;
    /// One-way delays.
    DelayMs: min mean p50 p90 p95 p99 p999 max;
    /// Completion times in the measured part.
    Fct: count mean p50 p90 p95 p99 p999;
}

/// A time average, in its field's unit.
#[derive(Clone, Copy, Serialize, Debug)]
#[non_exhaustive]
pub struct Mean {
    /// Time average.
    pub mean: f64,
}

impl Measured for Mean {
    fn declare(path: &str, unit: Unit, meaning: &str, all: &mut Vec<Metric>) {
        f64::declare(&below(path, "mean"), unit, &format!("{meaning}: mean"), all);
    }
}

/// A time average and a maximum, in their field's unit.
#[derive(Clone, Copy, Serialize, Debug)]
#[non_exhaustive]
pub struct MeanMax {
    /// Time average.
    pub mean: f64,
    /// Maximum.
    pub max: u64,
}

impl Measured for MeanMax {
    fn declare(path: &str, unit: Unit, meaning: &str, all: &mut Vec<Metric>) {
        Mean::declare(path, unit, meaning, all);
        u64::declare(&below(path, "max"), unit, &format!("{meaning}: maximum"), all);
    }
}

impl VoipRecord {
    /// Of calls with one-way delays `delay` and mean `delay_mean`, of which `lost` packets were dropped; `ratings` are
    /// the calls' own.
    pub fn new(tally: &voip::Tally, delay: &Times, delay_mean: Option<f64>, lost: u64, ratings: &[f64]) -> VoipRecord {
        let mean = |of: fn(f64) -> f64| {
            (!ratings.is_empty()).then(|| ratings.iter().map(|&r| of(r)).sum::<f64>() / ratings.len() as f64)
        };
        let [min, max] = delay.quantiles([0.0, 1.0]);
        VoipRecord {
            delay_ms: DelayMs { mean: delay_mean, ..Known::new(delay, 0).within(min, max).into() },
            jitter_ms: tally.mean(tally.jitter),
            loss: tally.share(lost, lost),
            late: tally.share(tally.late, lost),
            mouth_to_ear_ms: tally.mean(tally.mouth_to_ear),
            r_factor: mean(|r| r),
            mos: mean(e_model::opinion),
        }
    }
}

impl VideoRecord {
    /// Of streams with `tally`.
    pub fn new(tally: &video::Tally) -> VideoRecord {
        VideoRecord {
            rate_mbps: (tally.segments > 0).then(|| tally.rates as f64 / tally.segments as f64 / 1e6),
            switches: tally.switches,
            stalls: tally.stalls,
            stall_s: tally.stalled.as_secs_f64(),
            startup_ms: (tally.started > 0).then(|| tally.startup.as_millis_f64() / tally.started as f64),
        }
    }
}
