//! Writes the recorded link `scenarios/traces/synthetic-lte` to stdout, always the same.
//!
//! The model is that of Winstein, Sivaraman and Balakrishnan, "Stochastic forecasts achieve high
//! throughput and low delay over cellular networks" (NSDI 2013), section 3.1: chances to send are a
//! Poisson process whose rate wanders in Brownian motion of 200 packets/s per root second; at zero it
//! stays until it escapes, once a second on average. The ceiling of the rate is chosen, not measured.

use sojourn_core::Stream;

/// Picked among the first ten for outages of at most 3 s and a mean rate of 4 to 5 Mbit/s.
const SEED: u64 = 3;
/// Length of the recording.
const LENGTH_MS: u64 = 60_000;
/// The rate wanders by this in a second (standard deviation, packets per second).
const WANDER: f64 = 200.0;
/// Mean number of escapes from an outage per second.
const ESCAPES: f64 = 1.0;
/// Highest rate in packets per second.
const CEILING: f64 = 800.0;
/// The rate at the start.
const START: f64 = 400.0;
/// How often the rate moves.
const STEP_MS: u64 = 20;

/// Times of all chances to send, in ms.
pub fn opportunities() -> Vec<u64> {
    let mut random = Stream::new(SEED, "synthetic-lte");
    let mut rate = START;
    let mut times = Vec::new();
    let mut step = 0;
    while step * STEP_MS < LENGTH_MS {
        rate = wander(rate, STEP_MS as f64 / 1000.0, &mut random);
        chances(rate, step * STEP_MS, &mut random, &mut times);
        step += 1;
    }
    // The last time is the length of the recording.
    times.push(LENGTH_MS);
    times
}

fn wander(rate: f64, seconds: f64, random: &mut Stream) -> f64 {
    let step = WANDER * seconds.sqrt() * random.normal();
    if rate == 0.0 {
        return if random.chance(ESCAPES * seconds) { step.abs() } else { 0.0 };
    }
    let moved = rate + step;
    let reflected = if moved > CEILING { 2.0 * CEILING - moved } else { moved };
    reflected.max(0.0)
}

/// Poisson times in one step from `start_ms` on.
fn chances(rate: f64, start_ms: u64, random: &mut Stream, times: &mut Vec<u64>) {
    if rate == 0.0 {
        return;
    }
    let mut offset_ms = random.exponential(1000.0 / rate);
    while offset_ms < STEP_MS as f64 {
        times.push(start_ms + offset_ms as u64);
        offset_ms += random.exponential(1000.0 / rate);
    }
}

fn main() {
    for time in opportunities() {
        println!("{time}");
    }
}
