//! How long a run took by the clock of the machine.

/// A running stopwatch.
#[derive(Debug)]
pub struct Stopwatch(#[cfg(not(all(target_family = "wasm", target_os = "unknown")))] std::time::Instant);

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
impl Stopwatch {
    /// Starts one.
    pub fn start() -> Stopwatch {
        Stopwatch(std::time::Instant::now())
    }

    /// Seconds since its start.
    pub fn elapsed_s(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

/// A module in a browser has no clock: reading one would panic. There no time passes.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
impl Stopwatch {
    /// Starts one.
    pub fn start() -> Stopwatch {
        Stopwatch()
    }

    /// Zero.
    pub fn elapsed_s(&self) -> f64 {
        0.0
    }
}
