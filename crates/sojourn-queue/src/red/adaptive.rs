//! The adaptation of Adaptive RED (Floyd, Gummadi and Shenker 2001): the ramp's max_p moves so that the average queue
//! stays in the middle of it.

use super::Ramp;
use crate::LinkProperties;
use alloc::format;
use alloc::vec::Vec;
use sojourn_core::registry::declare::{choice, number, span, unless_auto};
use sojourn_core::registry::{Advice, ParameterError};
use sojourn_core::{Span, Time, choices, parameters};

choices! {
    /// Words of `clock`.
    pub(crate) enum ClockOf { Timer = "timer", Arrivals = "arrivals" }
    /// Words of `auto_bottom`.
    pub(crate) enum AutoBottom { Window = "window", Ns3 = "ns3" }
    /// Words of `gentle_from`.
    pub(crate) enum GentleFrom { Now = "now", Initial = "initial" }
}

parameters! {
    /// What Adaptive RED adds to RED.
    pub(crate) struct Added {
        /// time between two steps of max_p (interval_)
        interval: Span = span(Span::from_millis(500), Span::from_millis(1)..=Span::from_secs(1000)),
        /// when a step is taken: at regular times, idle time considered (the paper, Linux), or at the first arrival later than
        /// interval after the last step that was taken (ns-2, ns-3)
        clock: ClockOf = choice(ClockOf::Timer.value()),
        /// what a step up adds to max_p, but no more than a quarter of it: when the average is in the upper 40 % of the ramp
        /// (alpha_)
        alpha: f64 = number(0.01, 0.0..=1.0),
        /// factor of max_p in a step down: when the average is in the lower 40 % of the ramp or below it (beta_)
        beta: f64 = number(0.9, 0.0..=1.0),
        /// max_p above which there is no step up (top_)
        top: f64 = number(0.5, 0.0..=1.0),
        /// max_p below which there is no step down (bottom_)
        bottom: Option<f64> = unless_auto(&number(0.01, 0.0..=1.0)),
        /// the rule for auto, at most 0.01: one over the packets of 1000 B that the link sends in 0.1 s (ns-2), or what ns-3
        /// makes of it with packets of 500 B, multiplying by 0.1 s instead of dividing
        auto_bottom: AutoBottom = choice(AutoBottom::Window.value()),
        /// the probability from which the gentle part of the ramp rises to 1: max_p as it is now, so that the ramp has no step
        /// (the paper), or as it was at the start (ns-2, ns-3, where an average that once passed max may stay there)
        gentle_from: GentleFrom = choice(GentleFrom::Now.value()),
    }
}

/// The band that the average shall be in is this share of the ramp away from either end.
const BAND: f64 = 0.4;
/// A step up is no more than this share of max_p.
const LARGEST_STEP: f64 = 0.25;
/// Largest step up and largest step down that are recommended (ns-3 `SetAredAlpha`, `SetAredBeta`).
const ALPHA: f64 = 0.01;
const MIN_BETA: f64 = 0.83;
/// The automatic lower bound on slow links.
const BOTTOM: f64 = 0.01;

/// What moves max_p, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Adaptation {
    interval: Span,
    alpha: f64,
    beta: f64,
    top: f64,
    bottom: f64,
    low: f64,
    high: f64,
    clock: Clock,
    /// Whether the gentle part of the ramp goes with max_p.
    moves_gentle: bool,
}

/// When max_p may move.
#[derive(Clone, Copy, Debug)]
enum Clock {
    /// At the first arrival later than an interval after it last moved.
    Arrivals(Time),
    /// At this time, and every interval after it.
    Timer(Time),
}

impl Adaptation {
    /// The adaptation that is `declared`, for a ramp on `link`.
    pub(crate) fn new(declared: &Added, ramp: &Ramp, link: &LinkProperties) -> Adaptation {
        let interval = declared.interval;
        let bits = link.rate.bits_per_second() as f64;
        let bottom = match (declared.bottom, declared.auto_bottom) {
            (Some(bottom), _) => bottom,
            // One over the packets of 1000 B that a round trip of 0.1 s holds.
            (None, AutoBottom::Window) => BOTTOM.min(80_000.0 / bits),
            // 8 bits, mean packets of 500 B, times 0.1 s.
            (None, AutoBottom::Ns3) => BOTTOM.min(400.0 / bits),
        };
        let part = BAND * (ramp.max - ramp.min);
        Adaptation {
            interval,
            alpha: declared.alpha,
            beta: declared.beta,
            top: declared.top,
            bottom,
            low: ramp.min + part,
            high: ramp.max - part,
            clock: match declared.clock {
                ClockOf::Timer => Clock::Timer(link.since + interval),
                ClockOf::Arrivals => Clock::Arrivals(link.since),
            },
            moves_gentle: declared.gentle_from == GentleFrom::Now,
        }
    }

    /// Refuses what cannot work, whatever the ramp.
    pub(crate) fn check(declared: &Added) -> Result<(), ParameterError> {
        let top = declared.top;
        if declared.bottom.is_some_and(|bottom| bottom >= top) {
            let rule = format!("less than top ({top}): max_p moves between the two");
            return Err(ParameterError::new("bottom", rule));
        }
        Ok(())
    }

    /// Steps that are larger than what ns-3 warns of.
    pub(crate) fn advice(declared: &Added) -> Vec<Advice> {
        let (alpha, beta) = (declared.alpha, declared.beta);
        let text = "so that one step moves the average from one side of its band to the other, and it swings";
        let up = (alpha > ALPHA).then(|| {
            Advice::new(
                "alpha",
                format!("above {ALPHA}, {text}; usual is {ALPHA} or a quarter of max_p if that is less"),
            )
        });
        let down = (beta < MIN_BETA).then(|| Advice::new("beta", format!("below {MIN_BETA}, {text}; usual is 0.9")));
        up.into_iter().chain(down).collect()
    }

    /// A packet has arrived and the average is new.
    #[inline]
    pub(super) fn arrival(&mut self, average: f64, now: Time, ramp: &mut Ramp) {
        let Clock::Arrivals(last) = self.clock else { return };
        if now > last + self.interval && self.adapt(average, ramp) {
            self.clock = Clock::Arrivals(now);
        }
    }

    /// When the timer goes off, if there is one.
    pub(super) fn timer(&self) -> Option<Time> {
        match self.clock {
            Clock::Arrivals(_) => None,
            Clock::Timer(next) => Some(next),
        }
    }

    /// The timer has gone off.
    pub(super) fn on_timer(&mut self, average: f64, now: Time, ramp: &mut Ramp) {
        self.adapt(average, ramp);
        self.clock = Clock::Timer(now + self.interval);
    }

    /// One step of additive increase or multiplicative decrease; whether there was one.
    fn adapt(&self, average: f64, ramp: &mut Ramp) -> bool {
        if average > self.high && ramp.max_p <= self.top {
            ramp.max_p += self.alpha.min(LARGEST_STEP * ramp.max_p);
        } else if average < self.low && ramp.max_p >= self.bottom {
            ramp.max_p *= self.beta;
        } else {
            return false;
        }
        if self.moves_gentle {
            ramp.gentle_from = ramp.max_p;
        }
        true
    }
}
