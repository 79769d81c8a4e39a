//! Veno: Reno that asks the delay whether a loss means congestion (Fu and Liew 2003), as Linux does it.
//!
//! For each acknowledgement:
//! 1. round-trip time against the least one tells, as in Vegas, how many of the flow's segments are queued;
//! 2. with fewer than beta of them the window grows as Reno's, otherwise at half that pace;
//! 3. a loss with fewer than beta is taken for one that the medium made, and leaves 4/5; otherwise it leaves half.
//!
//! Linux counts the queue in halves, rounded up, and ns-3 in whole segments, so that 2.5 or 2 queued segments are the
//! most below a beta of 3. Both forget the least RTT of a round with every acknowledgement, so that the latest sample
//! decides, and both take the first two samples for too few. In ns-3 the number of samples is forgotten too: they are
//! always too few and the window grows as Reno's; what remains of Veno is the answer to a loss. In congestion each
//! acknowledgement opens the window by half as much; in whole segments, as in Linux, every second window of them opens it by
//! one.
//!
//! A timeout's threshold is chosen in the same way as what a loss leaves.

mod descriptor;
#[cfg(test)]
mod tests;

use crate::vegas::BaseRtt;
pub use descriptor::DESCRIPTOR;
use descriptor::{Grain, Growth, LossOf, Parameters};
#[cfg(not(feature = "std"))]
use sojourn_core::Float as _;

use crate::control::{Ack, Congestion, Control, Path, Recovered, Start};
use crate::reno::Reno;
use sojourn_core::registry::{ParameterError, Params};
use sojourn_core::{Span, Stream};

/// Samples that are too few to tell a queue.
const TOO_FEW_SAMPLES: u32 = 2;
/// Part of the window that a loss leaves in congestion.
const CONGESTION_LEAVES: f64 = 0.5;
/// Part of Reno's growth in congestion.
const CONGESTION_GROWTH: f64 = 0.5;

/// The state of Veno.
#[derive(Clone, Debug)]
pub struct Veno {
    reno: Reno,
    /// Least RTT of the connection.
    base: Span,
    /// Least RTT since the window last had a chance to grow.
    least: Span,
    samples: u32,
    /// The flow's segments in the queue.
    backlog: f64,
    beta: f64,
    grain: f64,
    chance_leaves: f64,
    grows_as_reno: bool,
    reduces_flight: bool,
    forgets_base: bool,
    /// In whole segments: whether the next window of acknowledgements in congestion opens nothing.
    waits: bool,
    /// In whole segments: whether something is out of order or under repair.
    disturbed: bool,
    /// In whole segments: whether delay decides on growth.
    decides: bool,
}

impl Veno {
    /// A control with the given parameters.
    ///
    /// # Errors
    /// None: all combinations work.
    pub fn new(params: &Params, path: &Path, _random: Stream) -> Result<Veno, ParameterError> {
        let declared = Parameters::of(params);
        Ok(Veno {
            reno: Reno::with(declared.arithmetic, path.initial_window),
            base: Span::MAX,
            least: Span::MAX,
            samples: 0,
            backlog: 0.0,
            beta: declared.beta,
            grain: if declared.grain == Grain::Half { 0.5 } else { 1.0 },
            chance_leaves: declared.chance_leaves,
            grows_as_reno: declared.growth == Growth::Reno,
            reduces_flight: declared.loss_of == LossOf::Flight,
            forgets_base: declared.base_rtt == BaseRtt::SinceStart,
            waits: false,
            disturbed: false,
            decides: true,
        })
    }

    #[inline]
    fn measure(&mut self, ack: &Ack) {
        if let Some(mut rtt) = ack.rtt {
            if self.reno.is_whole() {
                // Between instants in whole us, and never zero.
                let now = ack.now.as_nanos();
                rtt = Span::from_micros(now / 1000 - now.saturating_sub(rtt.as_nanos()) / 1000 + 1);
            }
            self.base = self.base.min(rtt);
            self.least = self.least.min(rtt);
            self.samples = self.samples.saturating_add(1);
        }
    }

    /// Step 1.
    #[inline]
    fn judge(&mut self) {
        if self.samples > TOO_FEW_SAMPLES && (self.least < Span::MAX || self.reno.is_whole()) {
            let window = self.reno.window.floor();
            // Linux takes a round trip that was not measured for endless.
            let out =
                if self.least < Span::MAX { window * nanos(self.base) / nanos(self.least) / self.grain } else { 0.0 };
            self.backlog = window - out.floor() * self.grain;
        }
        self.least = Span::MAX;
    }

    /// Linux: in disorder and repairs it is Reno, and the least RTT is forgotten when they are over (`tcp_veno_state`).
    fn heed(&mut self, ack: &Ack) {
        let was_disturbed = core::mem::replace(&mut self.disturbed, !ack.orderly);
        if was_disturbed && ack.orderly {
            self.decides = true;
            self.least = Span::MAX;
        } else if !was_disturbed && !ack.orderly {
            self.decides = false;
        }
    }

    /// Linux: `tcp_veno_init`, but for the samples, which it goes on counting.
    fn start(&mut self) {
        if self.forgets_base {
            self.base = Span::MAX;
        }
        self.least = Span::MAX;
        self.waits = false;
        self.decides = true;
    }

    /// Linux in congestion: one segment more for every second window of `acked` segments.
    fn grow_every_other(&mut self, acked: f64) {
        let window = self.reno.window;
        match self.reno.credit() {
            Some(credit) if *credit >= window => {
                *credit = 0.0;
                self.waits = !self.waits;
                self.reno.window += f64::from(u8::from(self.waits));
            }
            Some(credit) => *credit += acked,
            None => {}
        }
    }

    #[inline]
    fn is_congested(&self) -> bool {
        self.backlog >= self.beta
    }
}

fn nanos(span: Span) -> f64 {
    span.as_nanos() as f64
}

impl Control for Veno {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.measure(ack);
        if self.reno.is_whole() {
            self.heed(ack);
        } else if ack.in_recovery {
            self.least = Span::MAX;
        }
        if !ack.may_open() {
            return;
        }
        let acked = f64::from(ack.newly_acked);
        if !self.decides {
            return self.reno.grow(acked);
        }
        self.judge();
        if !self.is_congested() || self.grows_as_reno || (self.reno.is_whole() && self.samples <= TOO_FEW_SAMPLES) {
            self.reno.grow(acked);
        } else if self.reno.is_whole() {
            let in_slow_start = self.reno.in_slow_start();
            let left = self.reno.slow_start(acked);
            if left > 0.0 || !in_slow_start {
                self.grow_every_other(left);
            }
        } else {
            self.reno.grow(if self.reno.in_slow_start() { acked } else { acked * CONGESTION_GROWTH });
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let outstanding = if self.reduces_flight { event.flight } else { self.reno.window };
        let leaves = if self.is_congested() { CONGESTION_LEAVES } else { self.chance_leaves };
        self.reno.reduce(event.signal, outstanding * leaves);
        if self.reno.is_whole() {
            (self.disturbed, self.decides) = (true, false);
        } else {
            self.least = Span::MAX;
        }
    }

    fn on_recovered(&mut self, recovered: &Recovered) {
        self.reno.recovered(recovered);
    }

    fn on_start(&mut self, start: &Start) {
        start.unused.leave_of(self);
        self.start();
    }

    fn on_restart_of_repair(&mut self, _start: &Start) {
        if self.reno.is_whole() {
            self.start();
        }
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
        visit("backlog_segments", self.backlog);
        visit("base_rtt_ms", if self.base < Span::MAX { self.base.as_millis_f64() } else { f64::NAN });
    }

    fn retune(&mut self, fresh: &Veno) {
        (self.beta, self.grain, self.chance_leaves) = (fresh.beta, fresh.grain, fresh.chance_leaves);
        self.grows_as_reno = fresh.grows_as_reno;
        self.reduces_flight = fresh.reduces_flight;
        self.forgets_base = fresh.forgets_base;
    }

    fn fixed() -> Option<&'static [&'static str]> {
        Some(&["arithmetic"])
    }
}
