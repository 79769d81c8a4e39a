//! Prague: DCTCP for the Internet, the scalable control of L4S (draft-briscoe-iccrg-prague-congestion-control).
//!
//! 1. Alpha: once per round trip, alpha moves by the gain towards the part of segments that was marked.
//! 2. A mark leaves 1 - alpha/2 of the window, at most once per round trip.
//! 3. What was acknowledged without a mark opens the window by one segment per round trip, also in the round trip after
//!    a reduction: at equilibrium marks never cease.
//! 4. Some rounds after slow start all three go by a virtual round trip of at least 25 ms: decisions come no more often,
//!    and the increase shrinks by (round trip / virtual round trip) squared, so that flows below 25 ms are equals.
//! 5. A loss halves, as in Reno.
//! 6. Where the receiver cannot tell how many segments were marked, it is NewReno: each echo halves, and no round trip is
//!    virtual.
//! 7. With `classic_fallback`, where round-trip times tell of a classic AQM, alpha is at least so much that a mark takes 31 %
//!    of the window (`monitor.rs`).
//! 8. Segments are paced at window over round-trip time; twice that far below the slow-start threshold.
//!
//! Fractions of the window matter: pacing follows them, and the transport sees the next whole number. The steps are those
//! of the Linux module, in its order. Left out of that module: segments that shrink below 1 Mbit/s, the swing of the
//! pacing rate by 3 % at windows of up to four segments, and the window that falls by one segment per acknowledgement
//! instead of at once. After a timeout the window restarts at one segment (RFC 5681).

mod descriptor;
mod monitor;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;
pub use descriptor::DESCRIPTOR;
use descriptor::{FirstMark, Parameters, Spacing};

use crate::control::{Ack, Congestion, Control, EcnUse, Path, Signal};
use crate::rounds::Rounds;
use monitor::Monitor;
use sojourn_core::registry::{Advice, ParameterError, Params};
use sojourn_core::{Rate, Span, Stream, Time};

/// Fewest segments that may be in flight, except after a timeout: pacing, not the window, slows down below.
const MIN_WINDOW: f64 = 2.0;

/// The state of Prague.
#[derive(Clone, Debug)]
pub struct Prague {
    /// In segments, with fractions.
    window: f64,
    /// What the transport is let at least: [`MIN_WINDOW`], or one after a timeout.
    least: f64,
    threshold: f64,
    alpha: f64,
    saw_mark: bool,
    rounds: Rounds,
    /// Rounds that ended outside slow start.
    avoiding: u64,
    acked: f64,
    marked: f64,
    smoothed_rtt: Span,
    reduced_at: Option<Time>,
    /// Whether the receiver only echoes marks, each of which halves.
    classic: bool,
    /// Segments that the last mark took.
    taken: f64,
    /// Where a classic AQM is looked for.
    monitor: Option<Monitor>,
    mss_bytes: f64,
    settings: Settings,
}

/// What does not change.
#[derive(Clone, Copy, Debug)]
struct Settings {
    gain: f64,
    first_halves: bool,
    whole_rounds: bool,
    virtual_rtt: Span,
    transition: u64,
    credit: bool,
    min_rate: Option<Rate>,
    classic_fallback: bool,
}

impl Prague {
    /// A control with the given parameters.
    ///
    /// # Errors
    /// None: all combinations work.
    pub fn new(params: &Params, path: &Path, _random: Stream) -> Result<Prague, ParameterError> {
        let declared = Parameters::of(params);
        let settings = Settings {
            gain: declared.gain,
            first_halves: declared.first_mark == FirstMark::Halves,
            whole_rounds: declared.spacing == Spacing::Rounds,
            virtual_rtt: declared.virtual_rtt,
            transition: declared.transition,
            credit: declared.loss_credit,
            min_rate: declared.min_rate,
            classic_fallback: declared.classic_fallback,
        };
        Ok(Prague::begin(path.initial_window, f64::from(path.mss_bytes), settings))
    }

    fn begin(window: f64, mss_bytes: f64, settings: Settings) -> Prague {
        Prague {
            window,
            least: 1.0,
            threshold: f64::INFINITY,
            alpha: 0.0,
            saw_mark: false,
            rounds: Rounds::default(),
            avoiding: 0,
            acked: 0.0,
            marked: 0.0,
            smoothed_rtt: Span::ZERO,
            reduced_at: None,
            classic: false,
            taken: 0.0,
            monitor: settings.classic_fallback.then(Monitor::new),
            mss_bytes,
            settings,
        }
    }

    #[inline]
    fn in_slow_start(&self) -> bool {
        self.window() < self.threshold
    }

    /// Whether the virtual round trip counts.
    #[inline]
    fn is_independent(&self) -> bool {
        !self.in_slow_start() && self.avoiding >= self.settings.transition
    }

    /// How long nothing is decided anew, beside the round trip itself.
    #[inline]
    fn pause(&self) -> Span {
        if self.is_independent() { self.settings.virtual_rtt } else { Span::ZERO }
    }

    /// Round trip over virtual round trip.
    #[inline]
    fn shortness(&self) -> f64 {
        if self.classic || self.avoiding < self.settings.transition || self.smoothed_rtt >= self.settings.virtual_rtt {
            return 1.0;
        }
        self.smoothed_rtt.ratio(self.settings.virtual_rtt)
    }

    /// The window before which nothing is taken away.
    fn floor(&self) -> f64 {
        let rate = self.settings.min_rate.filter(|_| !self.smoothed_rtt.is_zero());
        rate.map_or(MIN_WINDOW, |rate| (rate.bytes_in(self.smoothed_rtt) / self.mss_bytes).min(MIN_WINDOW))
    }

    /// Step 1.
    #[inline]
    fn measure(&mut self, ack: &Ack) {
        self.acked += f64::from(ack.delivered);
        self.marked += f64::from(ack.marked_segments());
        let ends = ack.sent >= self.rounds.began() && ack.now.since(self.rounds.began()) >= self.pause();
        if !ends || self.acked == 0.0 {
            return;
        }
        if let Some(monitor) = self.monitor.as_mut().filter(|_| self.saw_mark) {
            monitor.on_round(ack.min_rtt);
        }
        self.alpha += self.settings.gain * (self.marked / self.acked - self.alpha);
        self.acked = 0.0;
        self.marked = 0.0;
        self.avoiding += u64::from(!self.in_slow_start());
        self.rounds.restart(ack.now);
    }

    /// The first mark of a flow: alpha tells nothing yet.
    fn on_first_mark(&mut self) {
        self.saw_mark = true;
        if self.settings.first_halves {
            self.reduce(0.5);
        } else {
            self.alpha = 1.0;
        }
    }

    /// Step 3.
    #[inline]
    fn open(&mut self, acked: f64) {
        if self.in_slow_start() {
            self.window += acked;
            return;
        }
        let shortness = self.shortness();
        let virtual_window = self.window / shortness;
        self.window += acked * shortness / virtual_window.max(1.0);
    }

    fn before_reduction(&mut self) {
        if let Some(monitor) = &mut self.monitor {
            monitor.on_reduction(self.threshold);
        }
    }

    /// Leaves `part` of the window, which ends slow start.
    fn reduce(&mut self, part: f64) {
        self.before_reduction();
        self.least = MIN_WINDOW.min(self.window());
        self.window = (self.window * part).max(self.floor().min(self.window));
        self.threshold = self.window().max(MIN_WINDOW);
    }

    /// Step 2, `least` after the last time or later.
    fn on_mark(&mut self, now: Time, least: Span) {
        if self.reduced_at.is_some_and(|at| now.since(at) < least) {
            return;
        }
        self.reduced_at = Some(now);
        let before = self.window;
        let alpha = self.monitor.as_ref().map_or(self.alpha, |monitor| monitor.alpha(self.alpha));
        self.reduce(1.0 - alpha / 2.0);
        self.taken = before - self.window;
    }

    /// Gives back what a mark has just taken, so that a loss beside it leaves half of the window and not less.
    fn credit(&mut self, now: Time) {
        let recent = self.smoothed_rtt.max(self.settings.virtual_rtt);
        if self.settings.credit && self.reduced_at.is_some_and(|at| now.since(at) < recent) {
            self.window += self.taken;
        }
        self.taken = 0.0;
    }
}

impl Control for Prague {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.smoothed_rtt = ack.smoothed_rtt;
        if self.classic {
            if ack.may_open() {
                self.open(f64::from(ack.newly_acked));
            }
            return;
        }
        if let (Some(monitor), Some(rtt)) = (&mut self.monitor, ack.rtt) {
            monitor.on_rtt(rtt);
        }
        if ack.marked && !self.saw_mark {
            self.on_first_mark();
        }
        let opening = if ack.marked { ack.unmarked.min(ack.newly_acked) } else { ack.newly_acked };
        if opening > 0 && !ack.in_recovery && ack.window_limited {
            self.open(f64::from(opening));
        }
        self.measure(ack);
        if ack.marked && !ack.in_recovery && !self.settings.whole_rounds {
            self.on_mark(ack.now, self.smoothed_rtt.max(self.pause()));
        }
    }

    /// NewReno then, but for the pacing (as `tcp_prague_reno` of the L4S team's module).
    fn on_classic_feedback(&mut self) {
        self.classic = true;
    }

    fn on_congestion(&mut self, event: &Congestion) {
        match event.signal {
            // At most one in a round trip, which may come too early and is then the last for another round trip.
            Signal::Ecn if self.classic => self.reduce(0.5),
            Signal::Ecn if self.settings.whole_rounds => self.on_mark(event.now, self.pause()),
            Signal::Ecn => {}
            Signal::Loss => {
                self.credit(event.now);
                self.reduce(0.5);
            }
            Signal::Timeout { repeated } => {
                self.before_reduction();
                if !repeated {
                    self.threshold = (self.window / 2.0).max(MIN_WINDOW);
                }
                self.window = 1.0;
                self.least = 1.0;
                self.taken = 0.0;
            }
        }
    }

    fn set_window(&mut self, window: f64, threshold: f64) {
        self.window = window;
        self.least = self.least.min(window);
        self.taken = 0.0;
        self.threshold = threshold;
    }

    #[inline]
    fn window(&self) -> f64 {
        libm::ceil(self.window.max(self.least))
    }

    #[inline]
    fn slow_start_threshold(&self) -> f64 {
        self.threshold
    }

    fn is_paced(&self) -> bool {
        true
    }

    /// Step 8.
    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        if self.smoothed_rtt.is_zero() {
            return None;
        }
        let gain = if self.window() < self.threshold / 2.0 { 2.0 } else { 1.0 };
        Some(Rate::from_bytes_over(gain * self.window * self.mss_bytes, self.smoothed_rtt))
    }

    /// `prague_cong_control` is the module's `cong_control`.
    fn leads_reductions(&self) -> bool {
        true
    }

    fn ecn(&self) -> EcnUse {
        if self.classic { EcnUse::Optional } else { EcnUse::Scalable }
    }

    fn advice(params: &Params) -> Vec<Advice> {
        let mut advice = Vec::new();
        if Parameters::of(params).virtual_rtt.is_zero() {
            let text = "flows get shares in inverse proportion to their round-trip times; 25 ms is usual";
            advice.push(Advice::new("virtual_rtt", text));
        }
        advice
    }

    fn probe(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("alpha", self.alpha);
        visit("fractional_window", self.window);
        if let Some(monitor) = &self.monitor {
            visit("classic_score", monitor.score());
        }
    }

    fn retune(&mut self, fresh: &Prague) {
        self.settings = fresh.settings;
        self.monitor = fresh.monitor.clone().map(|new| self.monitor.take().unwrap_or(new));
    }

    fn fixed() -> Option<&'static [&'static str]> {
        Some(&[])
    }
}
