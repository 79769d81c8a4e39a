//! Westwood+: Reno whose losses are answered with the bandwidth that was measured (Linux, ns-3).
//!
//! Acknowledged segments over about a round trip are a bandwidth sample, and a low-pass filter makes an estimate of the
//! samples. The window grows as Reno's. After a loss the threshold is what keeps the path just full: estimated bandwidth
//! times least RTT.
//!
//! Duplicate acknowledgements also tell of a delivered segment, and later the cumulative one tells again. Linux keeps
//! books to count each once; here acknowledgements say how many segments they are the first to cover.

mod descriptor;
mod estimate;
#[cfg(test)]
mod tests;

pub use descriptor::DESCRIPTOR;

use crate::control::{Ack, Congestion, Control, Path, Recovered, Signal, Undo};
use crate::newreno::{Growth, count_segments_where_whole};
use crate::reno::{MIN_THRESHOLD, Reno};
use descriptor::{Apply, LeastRtt, Parameters};
use estimate::Bandwidth;
use sojourn_core::registry::{ParameterError, Params};
use sojourn_core::{Span, Stream, Time};

/// The state of Westwood+.
#[derive(Clone, Debug)]
pub struct Westwood {
    reno: Reno,
    bandwidth: Bandwidth,
    least_rtt: Option<Span>,
    /// The latest RTT sample. In fractions an acknowledgement is judged by that of the one before.
    rtt: Option<Span>,
    repair: Repair,
    growth: Growth,
    after_repair: bool,
    forgets_rtt: bool,
}

/// Whether the estimate waits to be applied.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Repair {
    None,
    /// Until losses are repaired.
    Losses,
    /// Until what was sent after a mark was answered is acknowledged.
    Mark(Time),
}

impl Westwood {
    /// A control with the given parameters.
    ///
    /// # Errors
    /// Whole segments with what only fractions can do.
    pub fn new(params: &Params, path: &Path, _random: Stream) -> Result<Westwood, ParameterError> {
        let declared = Parameters::of(params);
        count_segments_where_whole(declared.arithmetic, declared.count)?;
        Ok(Westwood {
            reno: Reno::with(declared.arithmetic, path.initial_window),
            bandwidth: Bandwidth::new(&declared, path.mss_bytes),
            least_rtt: None,
            rtt: None,
            repair: Repair::None,
            growth: Growth::new(declared.slow_start_limit, declared.count),
            after_repair: declared.apply == Apply::AfterRepair,
            forgets_rtt: declared.least_rtt == LeastRtt::SinceTimeout,
        })
    }

    /// Segments that just fill the path.
    fn pipe(&self) -> f64 {
        let least = self.least_rtt.unwrap_or(Span::ZERO);
        self.bandwidth.fills(least).max(MIN_THRESHOLD)
    }

    /// The repair ended: Linux asks for the estimate only now.
    fn apply(&mut self) {
        if self.after_repair {
            self.reno.threshold = self.reno.rounded(self.pipe());
        }
    }

    /// The window meets the threshold, unless that was given up meanwhile (Linux's `tcp_end_cwnd_reduction`).
    fn settle(&mut self) {
        if self.reno.threshold.is_finite() {
            self.reno.window = self.reno.threshold;
        }
    }

    #[inline]
    fn is_repaired(&self, ack: &Ack) -> bool {
        match self.repair {
            Repair::None => false,
            Repair::Losses => !ack.in_recovery,
            Repair::Mark(answered) => !ack.in_recovery && ack.sent >= answered,
        }
    }
}

impl Control for Westwood {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        // Linux 6.1.192 hears of the acknowledgement after its sample, earlier kernels before.
        let present = ack.rtt.or(self.rtt);
        let rtt = if self.reno.is_whole() { present } else { self.rtt };
        self.bandwidth.on_ack(ack, rtt);
        if let Some(rtt) = rtt.or(present) {
            self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        self.rtt = present;
        if self.is_repaired(ack) {
            self.repair = Repair::None;
            self.apply();
            self.settle();
        }
        if !ack.may_open() {
            return;
        }
        self.growth.open(&mut self.reno, f64::from(ack.newly_acked));
    }

    fn on_congestion(&mut self, event: &Congestion) {
        match event.signal {
            Signal::Loss | Signal::Ecn => {
                // Linux: Reno's half meanwhile.
                let kept = if self.after_repair { self.reno.window / 2.0 } else { self.pipe() };
                let before = self.reno.window;
                self.reno.reduce(event.signal, kept);
                self.reno.window = self.reno.threshold.min(before.max(MIN_THRESHOLD));
                self.repair = if event.signal == Signal::Loss { Repair::Losses } else { Repair::Mark(event.now) };
            }
            Signal::Timeout { repeated } => {
                self.reno.reduce(event.signal, self.pipe());
                if !repeated && self.forgets_rtt {
                    self.least_rtt = None;
                }
                self.repair = Repair::None;
            }
        }
    }

    fn on_recovered(&mut self, recovered: &Recovered) {
        if self.repair == Repair::Losses {
            self.repair = Repair::None;
            self.apply();
            self.settle();
        }
        self.reno.recovered(recovered);
    }

    fn on_undo(&mut self, undo: &Undo) {
        self.repair = Repair::None;
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
        visit("bandwidth_segments_per_s", self.bandwidth.segments_per_second());
        visit("pipe_segments", self.pipe());
    }

    fn retune(&mut self, fresh: &Westwood) {
        self.growth = fresh.growth.clone();
        (self.after_repair, self.forgets_rtt) = (fresh.after_repair, fresh.forgets_rtt);
    }

    fn fixed() -> Option<&'static [&'static str]> {
        Some(&["arithmetic", "sampling", "min_interval", "filter", "tick"])
    }
}
