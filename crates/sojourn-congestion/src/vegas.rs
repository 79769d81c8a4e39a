//! Vegas: congestion avoidance from round-trip times (Brakmo and Peterson 1995).
//!
//! Once per round trip:
//! 1. the round's RTT against the least RTT ever tells how many of the flow's own segments are queued;
//! 2. in slow start, more than gamma of them end it; otherwise it goes on, segment by segment;
//! 3. afterwards the window grows by one segment below alpha and shrinks by one above beta.
//!
//! Losses are found and answered as in Reno, but for what is left of the window. The base RTT is forgotten when a
//! flow comes back from idling, as in Linux, where in whole segments the window grows also when the application limits
//! sending. Differences that are not kept: ns-2 spreads its growth over the next round's acknowledgements, retransmits by a fine-grained
//! timer, and halves where that retransmission is lost too; ns-3 ends a round one acknowledgement earlier.

mod descriptor;
#[cfg(test)]
mod tests;

pub use descriptor::DESCRIPTOR;
pub(crate) use descriptor::{BASE_RTT, Backlog, BaseRtt, Loss};
use descriptor::{DecidesOn, Parameters, RoundRtt, SlowStart, SlowStartExit};
#[cfg(not(feature = "std"))]
use sojourn_core::Float as _;

use crate::control::{Ack, Congestion, Control, Path, Recovered, Signal, Start};
use crate::reno::Reno;
use crate::rounds::Rounds;
use sojourn_core::registry::{ParameterError, Params};
use sojourn_core::{Span, Stream, Time};

/// Smallest window that delay leaves.
const MIN_WINDOW: f64 = 2.0;

/// The state of Vegas.
#[derive(Clone, Debug)]
pub struct Vegas {
    pub(crate) reno: Reno,
    rounds: Rounds,
    base: Span,
    least: Span,
    sum_nanos: u64,
    samples: u64,
    /// Whether slow start grows in this round.
    grows: bool,
    /// Whether disorder or a repair keeps delay from deciding.
    suspended: bool,
    /// Whether sending has started again in that repair, so that delay decides all the same.
    restarted: bool,
    /// What a lagging decision is about.
    before: Sent,
    settings: Settings,
}

/// What a flow had and used when a round began.
#[derive(Clone, Copy, Debug)]
struct Sent {
    window: f64,
    flight: f64,
}

/// What does not change.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) alpha: f64,
    pub(crate) beta: f64,
    pub(crate) gamma: f64,
    pub(crate) least_window: f64,
    pub(crate) least_samples: u64,
    pub(crate) backlog: Backlog,
    pub(crate) mean_rtt: bool,
    pub(crate) every_other: bool,
    pub(crate) leaves_by_eighth: bool,
    pub(crate) lags: bool,
    pub(crate) loss: Loss,
    pub(crate) forgets_base: bool,
}

impl Vegas {
    /// A control with the given parameters.
    ///
    /// # Errors
    /// An alpha above beta.
    pub fn new(params: &Params, path: &Path, _random: Stream) -> Result<Vegas, ParameterError> {
        let declared = Parameters::of(params);
        let settings = Settings {
            alpha: declared.alpha,
            beta: declared.beta,
            gamma: declared.gamma,
            least_window: MIN_WINDOW,
            least_samples: declared.least_samples,
            backlog: declared.backlog,
            mean_rtt: declared.round_rtt == RoundRtt::Mean,
            every_other: declared.slow_start == SlowStart::EveryOther,
            leaves_by_eighth: declared.slow_start_exit == SlowStartExit::Eighth,
            lags: declared.decides_on == DecidesOn::RoundBefore,
            loss: declared.loss,
            forgets_base: declared.base_rtt == BaseRtt::SinceStart,
        };
        Vegas::with(settings, Reno::with(declared.arithmetic, path.initial_window))
    }

    /// The same from settings, for controls that build on Vegas.
    pub(crate) fn with(settings: Settings, reno: Reno) -> Result<Vegas, ParameterError> {
        if settings.alpha > settings.beta {
            return Err(ParameterError::new(
                "alpha",
                "must not exceed beta: the window would have to grow and to shrink for the same queue",
            ));
        }
        Ok(Vegas {
            before: Sent { window: reno.window, flight: reno.window },
            reno,
            rounds: Rounds::default(),
            base: Span::MAX,
            least: Span::MAX,
            sum_nanos: 0,
            samples: 0,
            // The paper doubles first and then looks.
            grows: true,
            suspended: false,
            restarted: false,
            settings,
        })
    }

    /// Takes an acknowledgement's round-trip time; whether a round ends with it.
    #[inline]
    pub(crate) fn measure(&mut self, ack: &Ack) -> bool {
        if let Some(rtt) = ack.rtt {
            self.base = self.base.min(rtt);
            self.least = self.least.min(rtt);
            self.sum_nanos += rtt.as_nanos();
            self.samples += 1;
        }
        self.rounds.ends(ack)
    }

    /// Linux: whether delay decides on the window. In disorder and repairs it grows as Reno's, and a round begins when they
    /// are over (`tcp_vegas_state`). What arrives out of order decides nothing.
    fn judges(&mut self, ack: &Ack) -> bool {
        let resumes = ack.orderly && core::mem::replace(&mut self.suspended, !ack.orderly);
        self.suspended = !ack.orderly;
        if resumes {
            self.forget_round();
            self.rounds.restart(ack.now);
            self.between(ack);
            self.restarted = false;
        } else if self.suspended && ack.may_open() {
            // The round that has begun lasts for as long as the repair, because it ends beyond all that was sent before.
            if self.restarted { self.between(ack) } else { self.reno.grow(f64::from(ack.newly_acked)) }
        }
        !resumes && !self.suspended && ack.newly_acked > 0
    }

    /// The present round ends.
    pub(crate) fn forget_round(&mut self) {
        self.least = Span::MAX;
        self.sum_nanos = 0;
        self.samples = 0;
    }

    /// The round's RTT over the base RTT; nothing where the round had too few samples.
    fn stretch(&self) -> Option<f64> {
        if self.samples < self.settings.least_samples {
            return None;
        }
        let rtt = if self.settings.mean_rtt { Span::from_nanos(self.sum_nanos / self.samples) } else { self.least };
        Some(rtt.ratio(self.base))
    }

    /// Step 1: the flow's segments in the queue, whole, of a window of `window` segments.
    fn backlog(&self, stretch: f64, window: f64, flight: f64) -> f64 {
        match self.settings.backlog {
            Backlog::Base => (window * (stretch - 1.0)).floor(),
            Backlog::Rtt => window - (window / stretch).floor(),
            Backlog::RttHalves => window - (2.0 * window / stretch).floor() / 2.0,
            Backlog::Flight => (flight * (1.0 - 1.0 / stretch)).round(),
        }
    }

    /// Steps 2 and 3, at the end of a round.
    pub(crate) fn step(&mut self, ack: &Ack) {
        let present = Sent { window: self.reno.window, flight: ack.flight };
        let before = core::mem::replace(&mut self.before, present);
        match self.stretch() {
            Some(stretch) if self.settings.lags => self.decide(stretch, before.window, before.flight, ack),
            Some(stretch) => {
                self.decide(stretch, present.window, present.window, ack);
                self.keep_threshold();
            }
            None => self.grow_as_reno(ack),
        }
        self.forget_round();
    }

    /// Linux: after a decision the threshold is at least 3/4 of the window (`tcp_current_ssthresh`).
    fn keep_threshold(&mut self) {
        let reno = &mut self.reno;
        if reno.is_whole() {
            reno.threshold = reno.threshold.max((reno.window / 2.0).floor() + (reno.window / 4.0).floor());
        }
    }

    /// Decides on a window of `about` segments, of which `used` were sent in a round trip.
    fn decide(&mut self, stretch: f64, about: f64, used: f64, ack: &Ack) {
        let settings = &self.settings;
        let backlog = self.backlog(stretch, used, ack.flight);
        let reno = &mut self.reno;
        if reno.in_slow_start() {
            self.grows = !self.grows || !settings.every_other;
            if !self.grows {
                return;
            }
            if backlog <= settings.gamma {
                self.slow_start(ack);
            } else if settings.leaves_by_eighth {
                reno.window = (reno.window * 7.0 / 8.0).max(settings.least_window);
                reno.threshold = MIN_WINDOW;
            } else {
                reno.window = reno.window.min((used / stretch).floor() + 1.0).max(settings.least_window);
                reno.threshold = reno.window;
            }
            return;
        }
        let wanted = if backlog > settings.beta {
            about - 1.0
        } else if backlog < settings.alpha {
            about + 1.0
        } else {
            about
        };
        let step = (wanted - reno.window).clamp(-1.0, 1.0);
        if step < 0.0 {
            reno.window = (reno.window + step).max(settings.least_window.min(reno.window));
            reno.threshold = reno.threshold.min(reno.window);
        } else if ack.window_limited || reno.is_whole() {
            reno.window += step;
        }
    }

    /// Between the ends of rounds only slow start moves the window.
    #[inline]
    pub(crate) fn between(&mut self, ack: &Ack) {
        if self.grows && self.reno.in_slow_start() {
            self.slow_start(ack);
        }
    }

    #[inline]
    fn grow_as_reno(&mut self, ack: &Ack) {
        if ack.window_limited && !ack.marked {
            self.reno.grow(f64::from(ack.newly_acked));
        }
    }

    /// Slow start, which in Linux goes on also where the application limits sending.
    #[inline]
    fn slow_start(&mut self, ack: &Ack) {
        if self.reno.is_whole() {
            self.reno.slow_start(f64::from(ack.newly_acked));
        } else {
            self.grow_as_reno(ack);
        }
    }

    /// A loss or a timeout makes the round's samples worthless.
    pub(crate) fn restart_round(&mut self, event: &Congestion) {
        self.forget_round();
        self.rounds.restart(event.now);
    }

    /// Sending starts again: what was measured of the round before is old, and in Linux the base RTT is too
    /// (`tcp_vegas_init`).
    pub(crate) fn start(&mut self, now: Time) {
        if self.settings.forgets_base {
            self.base = Span::MAX;
        }
        self.before = Sent { window: self.reno.window, flight: self.reno.window };
        self.rounds.restart(now);
        self.forget_round();
    }

    pub(crate) fn show(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let millis = |span: Span| if span < Span::MAX { span.as_millis_f64() } else { f64::NAN };
        visit("base_rtt_ms", millis(self.base));
        visit("round_least_rtt_ms", millis(self.least));
        // The segments in the queue (the RFCs' and papers' diff) as the window and the round's least RTT give them.
        let known = self.least < Span::MAX;
        visit(
            "backlog_segments",
            if known { self.reno.window * (1.0 - self.base.ratio(self.least)) } else { f64::NAN },
        );
    }
}

impl Control for Vegas {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        let ended = self.measure(ack);
        if self.reno.is_whole() && !self.judges(ack) {
            return;
        }
        if ack.in_recovery {
            self.forget_round();
        } else if ended {
            self.step(ack);
        } else {
            self.between(ack);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let window = self.reno.window;
        let kept = match (self.settings.loss, event.signal) {
            (Loss::OneLess, _) => self.reno.threshold.min(window - 1.0),
            (Loss::ThreeQuarters, Signal::Loss | Signal::Ecn) => window * 3.0 / 4.0,
            (Loss::ThreeQuarters | Loss::Half, _) => window / 2.0,
        };
        self.reno.reduce(event.signal, kept);
        self.restart_round(event);
        self.restarted = false;
    }

    fn on_recovered(&mut self, recovered: &Recovered) {
        self.reno.recovered(recovered);
    }

    fn on_start(&mut self, start: &Start) {
        start.unused.leave_of(self);
        self.start(start.now);
    }

    fn on_restart_of_repair(&mut self, start: &Start) {
        if self.reno.is_whole() {
            self.start(start.now);
            self.restarted = true;
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
        self.show(visit);
    }

    fn retune(&mut self, fresh: &Vegas) {
        self.settings = fresh.settings.clone();
    }

    fn fixed() -> Option<&'static [&'static str]> {
        Some(&["arithmetic"])
    }
}
