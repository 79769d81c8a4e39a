//! CUBIC (RFC 9438).
//!
//! After a loss at `W_max` the window follows, for each acknowledgement of congestion avoidance,
//! 1. `W_cubic(t) = C (t - K)^3 + W_max`, read one RTT ahead and at most half a window up; K is when it is back at
//!    `W_max`;
//! 2. but no less than `W_est`, what Reno would have with the same average window (the Reno-friendly region).
//!
//! A loss keeps beta of the window; one that came at a smaller window than the one before lowers `W_max` further (fast
//! convergence). After a timeout, and where HyStart++ ended slow start without a loss, there is no `W_max`: K is 0 and
//! the function starts at the present window.
//!
//! RFC 9438 sets the window to `W_est` where that is above `W_cubic(t)`; as the window was led by `W_cubic(t + RTT)` it
//! may be larger than both and then stays.

mod descriptor;
mod jiffies;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
pub use descriptor::DESCRIPTOR;
use descriptor::{Arithmetic, Count, Friendly, IdleTime, Lookahead, Parameters, Reduce, SpareCredit, Undoes};
#[cfg(not(feature = "std"))]
use sojourn_core::Float as _;

use crate::advice;
use crate::control::{Ack, Congestion, Control, Path, Recovered, Signal, Start, Undo};
use crate::hystart::SlowStart;
use jiffies::{Holds, Jiffies, Kept};
use sojourn_core::registry::{Advice, ParameterError, Params};
use sojourn_core::{Span, Stream, Time};

/// Fewest segments that a loss leaves, and a mark as threshold (section 4.6).
const MIN_AFTER_LOSS: f64 = 2.0;
/// Fewest segments that a mark leaves as window. Linux keeps 2: slow start is back there after one acknowledgement.
const MIN_AFTER_MARK: f64 = 1.0;
/// Most growth of a window in a round trip (section 4.2); in whole segments 1 for every 2 acknowledged.
const MAX_GROWTH: f64 = 1.5;
const MIN_COUNT: f64 = 2.0;
/// Where Linux is above the cubic function it grows by one segment in so many windows.
const PLATEAU_WINDOWS: f64 = 100.0;
/// For so long after a stage began Linux takes no round-trip times (`cubictcp_acked`).
const YOUNG: Span = Span::from_secs(1);

/// The state of RFC 9438.
#[derive(Clone, Debug)]
pub struct Cubic {
    window: f64,
    threshold: f64,
    /// `W_max`; zero for none.
    max: f64,
    /// `cwnd_prior`.
    prior: f64,
    epoch: Option<Epoch>,
    /// What the last reduction changed beside the window and the threshold.
    before: Option<Box<Before>>,
    /// Acknowledged segments since the last step of a window in whole segments.
    credit: f64,
    kept: Kept,
    /// Least RTT since the last timeout.
    least_rtt: Span,
    slow_start: SlowStart,
    settings: Settings,
}

/// What section 4.9 restores.
#[derive(Clone, Debug)]
struct Before {
    max: f64,
    prior: f64,
    epoch: Option<Epoch>,
}

/// A stage of congestion avoidance.
#[derive(Clone, Debug)]
struct Epoch {
    /// `t_epoch`, moved by the time that does not count.
    began: Time,
    /// The latest acknowledgement.
    seen: Time,
    /// K in seconds.
    k: f64,
    /// `W_max`, or the window at the beginning where that was larger.
    origin: f64,
    /// `W_est`.
    estimate: f64,
    /// Acknowledged segments since the last step of an estimate in whole segments.
    credit: f64,
}

/// What does not change.
#[derive(Clone, Debug)]
struct Settings {
    scale: f64,
    beta: f64,
    /// beta after a mark.
    mark_beta: f64,
    reduce_window: bool,
    fast_convergence: bool,
    friendly: Friendly,
    smoothed_rtt: bool,
    count_acks: bool,
    whole: bool,
    jiffies: Option<Jiffies>,
    keeps_credit: bool,
    first_growth: f64,
    idle_time: IdleTime,
    undoes_all: bool,
    slow_start_limit: f64,
}

impl Cubic {
    /// A control with the given parameters.
    ///
    /// # Errors
    /// A mark that reduces more than a loss, or whole arithmetic with what only fractions can do.
    pub fn new(params: &Params, path: &Path, _random: Stream) -> Result<Cubic, ParameterError> {
        let declared = Parameters::of(params);
        let or_infinite = |count: Option<u64>| count.map_or(f64::INFINITY, |count| count as f64);
        let beta = declared.beta;
        let settings = Settings {
            scale: declared.scale,
            beta,
            mark_beta: declared.abe.unwrap_or(beta),
            reduce_window: declared.reduce == Reduce::Window,
            fast_convergence: declared.fast_convergence,
            friendly: declared.friendly,
            smoothed_rtt: declared.lookahead == Lookahead::SmoothedRtt,
            count_acks: declared.count == Count::Acks,
            whole: declared.arithmetic != Arithmetic::Fractions,
            jiffies: Jiffies::new(declared.arithmetic, declared.tick)?,
            keeps_credit: declared.spare_credit == SpareCredit::Kept,
            first_growth: or_infinite(declared.first_growth),
            idle_time: declared.idle_time,
            undoes_all: declared.undo == Undoes::All,
            slow_start_limit: or_infinite(declared.slow_start_limit),
        };
        if settings.mark_beta < settings.beta {
            return Err(ParameterError::new(
                "abe",
                format!("at least beta, which is {}: RFC 8511 reacts to a mark less than to a loss", settings.beta),
            ));
        }
        if settings.keeps_credit && !settings.whole {
            return Err(ParameterError::new(
                "spare_credit",
                "dropped where arithmetic is fractions: every acknowledgement makes its own step",
            ));
        }
        if settings.whole && settings.count_acks {
            return Err(ParameterError::new(
                "count",
                "segments where arithmetic is whole: its step comes after so many acknowledged segments",
            ));
        }
        if settings.whole && settings.friendly == Friendly::Rising {
            return Err(ParameterError::new(
                "friendly",
                "off or constant where arithmetic is whole: Linux has no switch of alpha to 1",
            ));
        }
        Ok(Cubic {
            window: path.initial_window,
            threshold: f64::INFINITY,
            max: 0.0,
            prior: 0.0,
            epoch: None,
            before: None,
            credit: 0.0,
            kept: Kept::default(),
            least_rtt: Span::MAX,
            slow_start: SlowStart::new(declared.hystart),
            settings,
        })
    }

    /// Whether Linux ignores round-trip times: in the first second of a stage.
    #[inline]
    fn is_young(&self, now: Time) -> bool {
        let settings = &self.settings;
        settings.jiffies.is_some()
            && self.epoch.as_ref().is_some_and(|epoch| settings.at_jiffy(now).since(epoch.began) < YOUNG)
    }

    /// Opens the window in slow start; returns the segments that are left for congestion avoidance.
    fn open(&mut self, ack: &Ack, acked: f64) -> f64 {
        if self.slow_start.is_over(ack, self.window) {
            // Section 4.10: no loss has set either.
            self.threshold = self.window;
            self.prior = self.window;
            return acked;
        }
        let wanted = self.slow_start.growth(acked.min(self.settings.slow_start_limit));
        let taken = wanted.min(self.threshold - self.window);
        self.window += taken;
        if taken < wanted { wanted - taken } else { 0.0 }
    }

    /// Section 4.2: time in which the application limits sending does not count.
    #[inline]
    fn keep_time(&mut self, ack: &Ack) {
        if let Some(epoch) = &mut self.epoch {
            if !ack.window_limited && self.settings.idle_time == IdleTime::LeftOut {
                epoch.began += ack.now.since(epoch.seen);
            }
            epoch.seen = ack.now;
        }
    }

    /// Sections 4.2 to 4.5, in fractions of a segment.
    fn avoid_by_fractions(&mut self, ack: &Ack, acked: f64, ahead: f64) {
        let (window, prior, max, scale) = (self.window, self.prior, self.max, self.settings.scale);
        let alpha = self.settings.alpha();
        let rising = self.settings.friendly == Friendly::Rising;
        let epoch = self.epoch.get_or_insert_with(|| Epoch::new(ack.now, window, max, scale));
        epoch.estimate += if rising && epoch.estimate >= prior { 1.0 } else { alpha } * acked / window;
        let estimate = epoch.estimate;
        let time = ack.now.since(epoch.began).as_secs_f64();
        if self.settings.friendly != Friendly::Off && epoch.at(time, scale) < estimate {
            self.window = window.max(estimate);
            return;
        }
        let target = epoch.at(time + ahead, scale).clamp(window, MAX_GROWTH * window);
        let count = if self.settings.count_acks { 1.0 } else { acked };
        let step = count * (target - window) / window;
        self.window += if max == 0.0 { step.max(acked / self.settings.first_growth) } else { step };
    }

    /// The same in whole segments: so many acknowledged ones (cnt) for one more in the window.
    fn avoid_by_segments(&mut self, ack: &Ack, acked: f64, ahead: Span) {
        // Conservative slow start leaves quarters.
        self.window = self.window.floor();
        let now = self.settings.at_jiffy(ack.now);
        let mut holds =
            self.settings.jiffies.map_or(Holds::Nothing, |jiffies| self.kept.holds(self.window, now, jiffies));
        match &mut self.epoch {
            Some(epoch) => epoch.credit += acked,
            None if holds == Holds::Function => holds = Holds::Nothing,
            None => {}
        }
        if holds == Holds::Nothing {
            self.kept = Kept { window: self.window, at: now, count: self.function_count(now, acked, ahead) };
        }
        if holds != Holds::All {
            self.kept.count = self.friendly_count(self.kept.count).max(MIN_COUNT);
        }
        self.step(self.kept.count, acked);
    }

    /// Acknowledged segments for one more in the window, by the cubic function.
    fn function_count(&mut self, now: Time, acked: f64, ahead: Span) -> f64 {
        let (window, max, scale, jiffies) = (self.window, self.max, self.settings.scale, self.settings.jiffies);
        let epoch = self.epoch.get_or_insert_with(|| {
            let mut epoch = Epoch::new(now, window, max, scale);
            epoch.credit = acked;
            if jiffies.is_some() {
                epoch.k = jiffies::parts(epoch.k);
            }
            epoch
        });
        let passed = now.since(epoch.began);
        let time = match jiffies {
            Some(jiffies) => jiffies::parts((passed + jiffies.up(ahead)).as_secs_f64()),
            None => (passed + ahead).as_secs_f64(),
        };
        // Rounded towards the origin.
        let target = epoch.origin + (epoch.at(time, scale) - epoch.origin).trunc();
        let count = if target > window { (window / (target - window)).floor() } else { PLATEAU_WINDOWS * window };
        if max == 0.0 { count.min(self.settings.first_growth) } else { count }
    }

    /// The same, but no more than where Reno would be.
    fn friendly_count(&mut self, count: f64) -> f64 {
        let (window, alpha) = (self.window, self.settings.alpha());
        let Some(epoch) = self.epoch.as_mut().filter(|_| self.settings.friendly != Friendly::Off) else { return count };
        // Linux holds 8/alpha as a whole number. At one segment and a beta below about 0.2 its span is 0, and its
        // loop would not end (tcp_cubic.c, bictcp_update): there the estimate grows by what is acknowledged.
        let span = (window * (8.0 / alpha).floor() / 8.0).floor().max(1.0);
        while epoch.credit > span {
            epoch.credit -= span;
            epoch.estimate += 1.0;
        }
        if epoch.estimate > window { count.min((window / (epoch.estimate - window)).floor()) } else { count }
    }

    /// One segment more for every `count` acknowledged.
    fn step(&mut self, count: f64, acked: f64) {
        if self.settings.keeps_credit {
            self.credit += acked;
            if self.credit >= count {
                self.credit -= count;
                self.window += 1.0;
            }
            return;
        }
        // Gathered for a larger count that no longer holds: at most one segment.
        if self.credit >= count {
            self.credit = 0.0;
            self.window += 1.0;
        }
        self.credit += acked;
        let steps = (self.credit / count).floor();
        self.credit -= steps * count;
        self.window += steps;
    }

    /// Section 4.7, before a reduction.
    fn remember(&mut self) {
        let settings = &self.settings;
        let lower = settings.fast_convergence && self.window < self.max;
        self.max = settings.round(if lower { self.window * (1.0 + settings.beta) / 2.0 } else { self.window });
    }
}

impl Epoch {
    /// A stage that begins with a window of `window`, after a loss at `max`.
    fn new(now: Time, window: f64, max: f64, scale: f64) -> Epoch {
        Epoch {
            began: now,
            seen: now,
            k: if max > window { libm::cbrt((max - window) / scale) } else { 0.0 },
            origin: max.max(window),
            estimate: window,
            credit: 0.0,
        }
    }

    /// `W_cubic` after `secs` seconds.
    #[inline]
    fn at(&self, secs: f64, scale: f64) -> f64 {
        let from_k = secs - self.k;
        self.origin + scale * (from_k * from_k * from_k)
    }
}

impl Settings {
    /// `alpha_cubic`: the additive increase with which beta gives Reno's average window.
    #[inline]
    fn alpha(&self) -> f64 {
        3.0 * (1.0 - self.beta) / (1.0 + self.beta)
    }

    #[inline]
    fn round(&self, window: f64) -> f64 {
        if self.whole { window.floor() } else { window }
    }

    /// The time that the kernel's clock shows.
    #[inline]
    fn at_jiffy(&self, time: Time) -> Time {
        self.jiffies.map_or(time, |jiffies| jiffies.at(time))
    }
}

impl Control for Cubic {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt
            && !self.is_young(ack.now)
        {
            self.least_rtt = self.least_rtt.min(rtt);
        }
        self.keep_time(ack);
        if !ack.may_open() {
            return;
        }
        let mut acked = f64::from(ack.newly_acked);
        if self.window < self.threshold {
            acked = self.open(ack, acked);
            if acked == 0.0 {
                return;
            }
        }
        let ahead = if self.settings.smoothed_rtt { ack.smoothed_rtt } else { self.least_rtt };
        let ahead = if ahead == Span::MAX { Span::ZERO } else { ahead };
        if self.settings.whole {
            self.avoid_by_segments(ack, acked, ahead);
        } else {
            self.avoid_by_fractions(ack, acked, ahead.as_secs_f64());
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let outstanding = if self.settings.reduce_window { self.window } else { event.flight };
        let beta = if event.signal == Signal::Ecn { self.settings.mark_beta } else { self.settings.beta };
        let kept = self.settings.round(outstanding * beta);
        let epoch = self.epoch.take();
        if self.settings.undoes_all && event.signal != (Signal::Timeout { repeated: true }) {
            self.before = Some(Box::new(Before { max: self.max, prior: self.prior, epoch }));
        }
        match event.signal {
            Signal::Loss | Signal::Ecn => {
                self.remember();
                self.prior = self.window;
                self.threshold = kept.max(MIN_AFTER_LOSS);
                self.window = if event.signal == Signal::Ecn { kept.max(MIN_AFTER_MARK) } else { self.threshold };
            }
            Signal::Timeout { repeated } => {
                if !repeated {
                    self.prior = self.window;
                    self.threshold = kept.max(MIN_AFTER_LOSS);
                }
                self.max = 0.0;
                self.window = 1.0;
                self.least_rtt = Span::MAX;
                self.kept = Kept::default();
            }
        }
        if !self.settings.keeps_credit {
            self.credit = 0.0;
        }
        self.slow_start.on_congestion(matches!(event.signal, Signal::Timeout { .. }));
    }

    fn on_recovered(&mut self, recovered: &Recovered) {
        self.window = recovered.window(self.window, self.threshold);
    }

    /// Section 4.9: it is as if nothing had happened.
    fn on_undo(&mut self, undo: &Undo) {
        self.set_window(self.window.max(undo.window), self.threshold.max(undo.threshold));
        if let Some(before) = self.before.take() {
            self.max = before.max;
            self.prior = before.prior;
            self.epoch = before.epoch;
        }
    }

    /// Section 4.2 for a time without acknowledgements (Linux: `cubictcp_cwnd_event`). A window that was
    /// lowered begins a stage of its own; Linux continues the old one.
    fn on_start(&mut self, start: &Start) {
        if let Some(epoch) = &mut self.epoch {
            match self.settings.idle_time {
                IdleTime::LeftOut => epoch.began += start.now.since(epoch.seen),
                IdleTime::GapsLeftOut => {
                    let now = self.settings.at_jiffy(start.now);
                    let sent = self
                        .settings
                        .at_jiffy(Time::from_nanos(start.now.as_nanos().saturating_sub(start.idle.as_nanos())));
                    epoch.began = now.min(epoch.began + now.since(sent));
                }
                IdleTime::Counts => {}
            }
            epoch.seen = start.now;
        }
        if start.unused.leave_of(self) && self.settings.idle_time == IdleTime::LeftOut {
            self.epoch = None;
        }
    }

    fn set_window(&mut self, window: f64, threshold: f64) {
        self.window = self.settings.round(window);
        self.threshold = threshold;
    }

    #[inline]
    fn window(&self) -> f64 {
        self.window
    }

    #[inline]
    fn slow_start_threshold(&self) -> f64 {
        self.threshold
    }

    fn advice(params: &Params) -> Vec<Advice> {
        advice::abe(params).into_iter().collect()
    }

    fn probe(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let of = |value: fn(&Epoch) -> f64| self.epoch.as_ref().map_or(f64::NAN, value);
        visit("w_max_segments", of(|epoch| epoch.origin));
        visit("w_est_segments", of(|epoch| epoch.estimate));
        visit("k_s", of(|epoch| epoch.k));
    }

    fn retune(&mut self, fresh: &Cubic) {
        self.settings = fresh.settings.clone();
    }

    fn fixed() -> Option<&'static [&'static str]> {
        Some(&["arithmetic", "tick", "hystart"])
    }
}
