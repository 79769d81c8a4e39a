//! What the record says of what instruments measured.

use super::*;

impl QueueMs {
    /// The distribution `times`, with exact sum and maximum.
    pub fn new(times: &Times, sum_nanos: u128, max: Span) -> QueueMs {
        QueueMs::from_parts(times.count(), sum_nanos, max, times.quantiles(OF_A_QUEUE))
    }

    /// The distribution `times`.
    pub fn of(times: &Coarse) -> QueueMs {
        QueueMs::from_parts(times.count(), times.nanos(), times.max(), times.quantiles(OF_A_QUEUE))
    }

    fn from_parts(count: u64, sum_nanos: u128, max: Span, quantiles: [Option<Span>; OF_A_QUEUE.len()]) -> QueueMs {
        if count == 0 {
            return QueueMs::default();
        }
        let [p10, p25, p50, p75, p90, p95, p99, p999] = in_ms(quantiles);
        QueueMs {
            mean: Some(sum_nanos as f64 / count as f64 / 1e6),
            p10,
            p25,
            p50,
            p75,
            p90,
            p95,
            p99,
            p999,
            max: Some(max.as_millis_f64()),
        }
    }
}

/// What of a queue's delays is told.
const OF_A_QUEUE: [f64; 8] = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999];

impl Milliseconds {
    /// The distribution `times`, with its exact sum.
    pub fn new(times: &Times, sum_nanos: u128) -> Milliseconds {
        if times.count() == 0 {
            return Milliseconds::default();
        }
        let [p50, p90, p95, p99, p999] = in_ms(times.quantiles([0.5, 0.9, 0.95, 0.99, 0.999]));
        Milliseconds { mean: Some(sum_nanos as f64 / times.count() as f64 / 1e6), p50, p90, p95, p99, p999 }
    }
}

impl DelayMs {
    /// The distribution `times`, with its exact sum and bounds.
    pub fn new(times: &Times, sum_nanos: u128, min: Span, max: Span) -> DelayMs {
        if times.count() == 0 {
            return DelayMs::default();
        }
        let Milliseconds { mean, p50, p90, p95, p99, p999 } = Milliseconds::new(times, sum_nanos);
        DelayMs { min: Some(min.as_millis_f64()), mean, p50, p90, p95, p99, p999, max: Some(max.as_millis_f64()) }
    }
}

impl VoipRecord {
    /// Of calls with one-way delays `delay` and mean `delay_mean`, of which `lost` packets were dropped; `ratings` are
    /// the calls' own.
    pub fn new(tally: &voip::Tally, delay: &Times, delay_mean: Option<f64>, lost: u64, ratings: &[f64]) -> VoipRecord {
        let mean = |of: fn(f64) -> f64| {
            (!ratings.is_empty()).then(|| ratings.iter().map(|&r| of(r)).sum::<f64>() / ratings.len() as f64)
        };
        let [min, p50, p90, p95, p99, p999, max] = in_ms(delay.quantiles([0.0, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0]));
        VoipRecord {
            delay_ms: DelayMs { min, mean: delay_mean, p50, p90, p95, p99, p999, max },
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

impl Fct {
    /// The distribution `times`.
    pub fn of(times: &Coarse) -> Fct {
        let QueueMs { mean, p50, p90, p95, p99, p999, .. } = QueueMs::of(times);
        Fct { count: times.count(), mean, p50, p90, p95, p99, p999 }
    }

    /// The distribution `times`, with its exact sum.
    pub fn new(times: &Times, sum_nanos: u128) -> Fct {
        let Milliseconds { mean, p50, p90, p95, p99, p999 } = Milliseconds::new(times, sum_nanos);
        Fct { count: times.count(), mean, p50, p90, p95, p99, p999 }
    }
}

fn in_ms<const N: usize>(times: [Option<Span>; N]) -> [Option<f64>; N] {
    times.map(|time| time.map(Span::as_millis_f64))
}
