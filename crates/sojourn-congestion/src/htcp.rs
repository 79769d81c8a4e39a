//! H-TCP: a loss-based control that grows faster the longer it has lost nothing (Leith and Shorten 2004), as Linux does it.
//!
//! 1. Up to a second after a repair the window grows by alpha 1 and shrinks by beta 1/2, as Reno's. After D seconds more the
//!    factor of the growth is 1 + 10 D + (D/2)^2.
//! 2. RTT scaling divides the factor by 100 ms over the least RTT, within 1/2 and 10, so that flows with unequal RTTs grow
//!    alike; it never falls below 1.
//! 3. A loss leaves beta of the window, the least RTT over the largest within 1/2 and 0.8, so that the queue just empties. It
//!    is 1/2 where the throughput reached between two losses differs by more than a fifth from that of the time before.
//! 4. alpha is 2 (1 - beta) times the factor, so that flows with another beta get the same share.
//!
//! With whole arithmetic beta counts in 128ths, alpha changes where the window does, and times are whole milliseconds: Linux
//! with a clock of 1000 Hz. Otherwise alpha follows time with each acknowledgement.

mod descriptor;
#[cfg(test)]
mod tests;

pub use descriptor::DESCRIPTOR;
use descriptor::Parameters;
#[cfg(not(feature = "std"))]
use sojourn_core::Float as _;

use crate::control::{Ack, Congestion, Control, Path, Recovered, Undo};
use crate::reno::Reno;
use sojourn_core::registry::{ParameterError, Params};
use sojourn_core::{Span, Stream, Time};

/// What a loss leaves of Reno's window.
const RENO_BETA: f64 = 0.5;
/// Whole parts of one in which Linux reckons alpha and beta.
const PARTS: f64 = 128.0;
/// Parts of one in which Linux reckons the scale of the RTT.
const SCALE_PARTS: f64 = 8.0;
/// The RTT whose growth is not scaled, in ms, and the bounds of the scale.
const REFERENCE_RTT_MS: f64 = 100.0;
const SCALE: (f64, f64) = (0.5, 10.0);
/// Growth of the factor with the seconds D beyond the first: 10 D + (D/2)^2.
const LINEAR: f64 = 10.0;
/// The largest RTT rises by at most so much at once; a longer one is taken for chance.
const MAX_RTT_STEP: Span = Span::from_millis(20);
/// Smallest least RTT with which beta follows the RTTs.
const MIN_ADAPTIVE_RTT: Span = Span::from_millis(10);
/// What a loss leaves of the difference between the largest and the least RTT.
const RTT_MEMORY: f64 = 0.95;
/// How far the throughputs before two losses may be apart for beta to follow the RTTs.
const SAME_THROUGHPUT: (f64, f64) = (0.8, 1.2);
/// Weight of a new sample in the mean of the throughput.
const SAMPLE_WEIGHT: f64 = 0.25;
/// Least RTTs after a repair during which each sample of the throughput counts alone.
const FRESH_ROUNDS: f64 = 3.0;

/// The state of H-TCP.
#[derive(Clone, Debug)]
pub struct Htcp {
    reno: Reno,
    /// Segments by which the window grows in a round trip.
    alpha: f64,
    /// What a loss leaves of the window.
    beta: f64,
    /// Whether there has been a loss since beta was last reset, so that the next one may follow the RTTs.
    adapts: bool,
    rtt: Range,
    /// When the last repair ended, or congestion was detected.
    quiet_since: Time,
    /// What that was before the congestion that is being repaired.
    quiet_before: Option<Time>,
    throughput: Throughput,
    settings: Settings,
}

/// Least and largest RTT; nothing and zero before the first sample.
#[derive(Clone, Copy, Debug)]
struct Range {
    least: Option<Span>,
    largest: Span,
}

/// Throughput in segments per second.
#[derive(Clone, Debug)]
struct Throughput {
    /// Segments acknowledged since `from`.
    segments: f64,
    from: Time,
    mean: f64,
    /// The largest mean since the last repair, and the one that the last congestion found.
    most: f64,
    reached: f64,
}

/// What does not change.
#[derive(Clone, Debug)]
struct Settings {
    low_speed: Span,
    max_beta: f64,
    adapts_beta: bool,
    scales_rtt: bool,
    watches_throughput: bool,
}

impl Htcp {
    /// A control with the given parameters.
    ///
    /// # Errors
    /// None.
    pub fn new(params: &Params, path: &Path, _random: Stream) -> Result<Htcp, ParameterError> {
        let declared = Parameters::of(params);
        Ok(Htcp {
            reno: Reno::with(declared.arithmetic, path.initial_window),
            alpha: 1.0,
            beta: RENO_BETA,
            adapts: false,
            rtt: Range { least: None, largest: Span::ZERO },
            quiet_since: Time::ZERO,
            quiet_before: None,
            throughput: Throughput { segments: 0.0, from: Time::ZERO, mean: 0.0, most: 0.0, reached: 0.0 },
            settings: Settings {
                low_speed: declared.low_speed,
                max_beta: declared.beta_max,
                adapts_beta: declared.adaptive_backoff,
                scales_rtt: declared.rtt_scaling,
                watches_throughput: declared.bandwidth_switch,
            },
        })
    }

    /// Rounded down in parts of one where arithmetic is whole.
    fn in_parts(&self, number: f64, parts: f64) -> f64 {
        // What is whole but for the arithmetic of fractions stays.
        if self.reno.is_whole() { (number * parts + 1e-6).floor() / parts } else { number }
    }

    /// A time in ms, whole ones where arithmetic is.
    fn millis(&self, span: Span) -> f64 {
        self.in_parts(span.as_nanos() as f64 / 1e6, 1.0)
    }

    fn measure(&mut self, ack: &Ack) {
        let Some(mut rtt) = ack.rtt else { return };
        if self.reno.is_whole() {
            // As the kernel makes jiffies of microseconds: rounded up.
            rtt = Span::from_millis(rtt.as_nanos().div_ceil(1_000_000));
        }
        let least = self.rtt.least.unwrap_or_else(|| {
            // The connection began when its first segment was sent.
            self.quiet_since = self.quiet_since.max(ack.sent);
            self.throughput.from = self.throughput.from.max(ack.sent);
            rtt
        });
        let least = least.min(rtt);
        self.rtt.least = Some(least);
        if ack.orderly {
            self.rtt.largest = self.rtt.largest.max(least);
            if rtt <= self.rtt.largest + MAX_RTT_STEP {
                self.rtt.largest = self.rtt.largest.max(rtt);
            }
        }
    }

    /// Samples the throughput once a window and a round trip.
    fn sample_throughput(&mut self, ack: &Ack) {
        let quiet_ms = self.millis(ack.now.since(self.quiet_since));
        if ack.in_recovery {
            self.throughput.segments = 0.0;
            self.throughput.from = ack.now;
            return;
        }
        self.throughput.segments += f64::from(ack.delivered);
        let Some(least) = self.rtt.least else { return };
        let taken = ack.now.since(self.throughput.from);
        let window = self.reno.window - self.in_parts(self.alpha, 1.0).max(1.0);
        if self.throughput.segments < window || taken < least || taken.is_zero() {
            return;
        }
        let sample = self.in_parts(1e3 * self.throughput.segments / self.millis(taken).max(1e-6), 1.0);
        let rounds = self.in_parts(quiet_ms / self.millis(least).max(1e-6), 1.0);
        if rounds <= FRESH_ROUNDS {
            self.throughput.mean = sample;
            self.throughput.most = sample;
        } else {
            let mean = self.throughput.mean + SAMPLE_WEIGHT * (sample - self.throughput.mean);
            self.throughput.mean = self.in_parts(mean, 1.0);
            self.throughput.most = self.throughput.most.max(self.throughput.mean);
        }
        self.throughput.segments = 0.0;
        self.throughput.from = ack.now;
    }

    /// Step 3, at congestion.
    fn update_beta(&mut self) {
        if self.settings.watches_throughput {
            let (most, before) = (self.throughput.most, self.throughput.reached);
            self.throughput.reached = most;
            if most < SAME_THROUGHPUT.0 * before || most > SAME_THROUGHPUT.1 * before {
                self.beta = RENO_BETA;
                self.adapts = false;
                return;
            }
        }
        match self.rtt.least {
            Some(least) if self.adapts && self.settings.adapts_beta && least > MIN_ADAPTIVE_RTT => {
                let most = self.in_parts(self.settings.max_beta, PARTS).max(RENO_BETA);
                self.beta = self.in_parts(least.ratio(self.rtt.largest.max(least)), PARTS).clamp(RENO_BETA, most);
            }
            _ => {
                self.beta = RENO_BETA;
                self.adapts = true;
            }
        }
    }

    /// Steps 1, 2 and 4.
    fn update_alpha(&mut self, now: Time) {
        let beyond_ms = self.millis(now.since(self.quiet_since).saturating_sub(self.settings.low_speed));
        let seconds = beyond_ms / 1e3;
        let mut factor = self.in_parts(1.0 + LINEAR * seconds + (seconds / 2.0) * (seconds / 2.0), 1.0);
        if let Some(least) = self.rtt.least.filter(|_| self.settings.scales_rtt) {
            let scale = self.in_parts(REFERENCE_RTT_MS / self.millis(least).max(1e-6), SCALE_PARTS);
            factor = self.in_parts(factor / scale.clamp(SCALE.0, SCALE.1), 1.0);
        }
        self.alpha = 2.0 * factor.max(1.0) * (1.0 - self.beta);
    }

    fn grow(&mut self, ack: &Ack) {
        let acked = f64::from(ack.newly_acked);
        if self.reno.in_slow_start() {
            if self.reno.is_whole() {
                self.reno.slow_start(acked);
            } else {
                self.reno.grow(acked);
            }
            return;
        }
        if self.reno.is_whole() {
            return self.step_whole(acked, ack.now);
        }
        self.update_alpha(ack.now);
        self.reno.grow(self.alpha * acked);
    }

    /// In whole segments: what was acknowledged before is worth alpha each, and begins anew with each step.
    fn step_whole(&mut self, acked: f64, now: Time) {
        let (window, alpha) = (self.reno.window, self.alpha);
        let Some(credit) = self.reno.credit() else { return };
        if (*credit * alpha + 1e-6).floor() < window {
            *credit += acked;
            return;
        }
        *credit = 0.0;
        self.reno.window += 1.0;
        self.update_alpha(now);
    }
}

impl Control for Htcp {
    fn on_ack(&mut self, ack: &Ack) {
        self.measure(ack);
        if self.settings.watches_throughput {
            self.sample_throughput(ack);
        }
        if ack.may_open() {
            self.grow(ack);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.update_beta();
        self.update_alpha(event.now);
        if let Some(least) = self.rtt.least.filter(|&least| self.rtt.largest > least) {
            let span = (self.rtt.largest - least).mul_f64(RTT_MEMORY);
            let whole = Span::from_millis(span.as_nanos() / 1_000_000);
            self.rtt.largest = least + if self.reno.is_whole() { whole } else { span };
        }
        self.reno.reduce(event.signal, self.reno.window * self.beta);
        self.quiet_before = Some(self.quiet_since);
        self.quiet_since = event.now;
        self.throughput.segments = 0.0;
        self.throughput.from = event.now;
    }

    fn on_recovered(&mut self, recovered: &Recovered) {
        self.reno.recovered(recovered);
        if self.quiet_before.take().is_some() {
            self.quiet_since = recovered.now;
        }
    }

    fn on_undo(&mut self, undo: &Undo) {
        // Linux notes the largest RTT and the throughput too, but only when they have changed already.
        self.quiet_since = self.quiet_before.take().unwrap_or(self.quiet_since);
        self.set_window(self.reno.window.max(undo.window), self.reno.threshold.max(undo.threshold));
    }

    fn set_window(&mut self, window: f64, threshold: f64) {
        self.reno.set(window, threshold);
    }

    #[inline]
    fn window(&self) -> f64 {
        self.reno.window
    }

    #[inline]
    fn slow_start_threshold(&self) -> f64 {
        self.reno.threshold
    }

    fn probe(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("alpha_segments", self.alpha);
        visit("beta", self.beta);
    }

    fn retune(&mut self, fresh: &Htcp) {
        self.settings = fresh.settings.clone();
    }

    fn fixed() -> Option<&'static [&'static str]> {
        Some(&["arithmetic"])
    }
}
