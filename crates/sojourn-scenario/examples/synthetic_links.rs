//! Writes a recorded link of `scenarios/traces` to stdout, always the same: `cargo run --example synthetic_links NAME`.
//!
//! The model is that of Winstein, Sivaraman and Balakrishnan, "Stochastic forecasts achieve high
//! throughput and low delay over cellular networks" (NSDI 2013), section 3.1: chances to send are a
//! Poisson process whose rate wanders in Brownian motion; at zero it stays until it escapes. They come
//! in the radio's transmission intervals, so that all that fall into one come at its start.

use sojourn_core::Stream;

/// A link to make. Rates are in packets of 1500 bytes per second.
pub struct Link {
    /// The file's name, and that of its random numbers.
    pub name: &'static str,
    /// Picked among the first twenty for statistics near those of recorded links (scenarios/traces/README.md).
    seed: u64,
    length_ms: u64,
    /// Length of a transmission interval.
    interval_ms: f64,
    /// The rate wanders by this in a second (standard deviation).
    wander: f64,
    /// Mean number of escapes from an outage per second.
    escapes: f64,
    /// Highest rate, where it is reflected. Chosen, so that the mean rate is near a recorded one.
    ceiling: f64,
}

/// All links that come with Sojourn. Those of 3G wander as recorded ones do: by the mean square of the difference of
/// neighbouring seconds, less what is Poisson's, times 3/2.
pub const LINKS: [Link; 3] = [
    // The paper's own numbers. A subframe of LTE takes 1 ms.
    Link {
        name: "synthetic-lte",
        seed: 3,
        length_ms: 60_000,
        interval_ms: 1.0,
        wander: 200.0,
        escapes: 1.0,
        ceiling: 800.0,
    },
    // UMTS release 99 sends in blocks of at least 10 ms.
    Link {
        name: "synthetic-umts",
        seed: 18,
        length_ms: 120_000,
        interval_ms: 10.0,
        wander: 65.0,
        escapes: 4.0,
        ceiling: 400.0,
    },
    // A subpacket of EVDO takes a slot in four of 5/3 ms.
    Link {
        name: "synthetic-evdo",
        seed: 1,
        length_ms: 180_000,
        interval_ms: 20.0 / 3.0,
        wander: 24.0,
        escapes: 4.0,
        ceiling: 110.0,
    },
];

/// How often the rate moves: a whole number of all transmission intervals.
const STEP_MS: u64 = 20;

impl Link {
    /// Times of all chances to send, in ms.
    pub fn opportunities(&self) -> Vec<u64> {
        let mut random = Stream::new(self.seed, self.name);
        let mut rate = self.ceiling / 2.0;
        let mut times = Vec::new();
        for start_ms in (0..self.length_ms).step_by(STEP_MS as usize) {
            rate = self.wander(rate, STEP_MS as f64 / 1000.0, &mut random);
            self.chances(rate, start_ms, &mut random, &mut times);
        }
        // The last time is the length of the recording.
        times.push(self.length_ms);
        times
    }

    fn wander(&self, rate: f64, seconds: f64, random: &mut Stream) -> f64 {
        let step = self.wander * seconds.sqrt() * random.normal();
        if rate == 0.0 {
            return if random.chance(self.escapes * seconds) { step.abs() } else { 0.0 };
        }
        let moved = rate + step;
        let reflected = if moved > self.ceiling { 2.0 * self.ceiling - moved } else { moved };
        reflected.max(0.0)
    }

    /// Poisson times in one step from `start_ms` on, each at the start of its transmission interval.
    fn chances(&self, rate: f64, start_ms: u64, random: &mut Stream, times: &mut Vec<u64>) {
        if rate == 0.0 {
            return;
        }
        let mut offset_ms = random.exponential(1000.0 / rate);
        while offset_ms < STEP_MS as f64 {
            let interval = (offset_ms / self.interval_ms).floor();
            times.push(start_ms + (interval * self.interval_ms) as u64);
            offset_ms += random.exponential(1000.0 / rate);
        }
    }
}

fn main() {
    let name = std::env::args().nth(1).unwrap_or_default();
    let Some(link) = LINKS.iter().find(|link| link.name == name) else {
        let names: Vec<_> = LINKS.iter().map(|link| link.name).collect();
        eprintln!("found {name:?}; allowed: {}", names.join(", "));
        std::process::exit(2);
    };
    for time in link.opportunities() {
        println!("{time}");
    }
}
