//! The linear controller of PI2 and DualPI2 (RFC 9332 appendix A), whatever holds the packets.

use core::ops::RangeInclusive;
use sojourn_core::registry::ParameterError;
use sojourn_core::registry::declare::{choice, number, span};
use sojourn_core::{Span, Stream, Time, choices, parameters};

const POSITIVE: RangeInclusive<Span> = Span::from_micros(1)..=Span::from_secs(100);

choices! {
    /// Words of `spread`.
    pub(crate) enum Spread { Recur = "recur", Random = "random" }
}

parameters! {
    /// What can be set of a law.
    pub(crate) struct Parameters {
        /// delay of Classic packets aimed at (target)
        target: Span = span(Span::from_millis(15), POSITIVE),
        /// time between two computations of the base probability p' (Tupdate)
        update: Span = span(Span::from_millis(16), POSITIVE),
        /// what an update adds to p' for each second by which the delay exceeds target, in Hz (0.1 Tupdate/RTT_max^2 with 100
        /// ms)
        alpha: f64 = number(0.16, 0.0..=1000.0),
        /// what an update adds to p' for each second by which the delay has grown since the last one, in Hz (0.3/RTT_max,
        /// which is 3.0; RFC 9332 and Linux print 3.2)
        beta: f64 = number(3.2, 0.0..=1000.0),
        /// probability of marking a scalable packet over p' (k); a Classic one is hit with p'^2
        coupling: f64 = number(2.0, 1.0..=100.0),
        /// how probabilities become decisions: by adding them up and hitting at every whole number (RFC 9332 recur), or at
        /// random (Linux; twice against p' for its square)
        spread: Spread = choice(Spread::Recur.value()),
    }
}

/// What does not change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pi2Law {
    target: f64,
    update: Span,
    alpha: f64,
    beta: f64,
    coupling: f64,
    /// Largest p'.
    max_p: f64,
}

impl Pi2Law {
    /// The law that is `declared`. `capped` says whether p' ends where
    /// all scalable packets are marked, instead of at 1.
    pub(crate) fn new(declared: &Parameters, capped: bool) -> Result<Pi2Law, ParameterError> {
        let alpha = declared.alpha;
        if alpha == 0.0 {
            let rule = "above 0: it alone draws the delay to the target; beta only resists changes";
            return Err(ParameterError::new("alpha", rule));
        }
        Ok(Pi2Law {
            target: declared.target.as_secs_f64(),
            update: declared.update,
            alpha,
            beta: declared.beta,
            coupling: declared.coupling,
            max_p: if capped { 1.0 / declared.coupling } else { 1.0 },
        })
    }
}

/// The base probability p', and when it is computed next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pi2Controller {
    law: Pi2Law,
    base: f64,
    last_delay: f64,
    next_update: Time,
}

impl Pi2Controller {
    /// A controller that begins at `since`.
    pub(crate) fn new(law: Pi2Law, since: Time) -> Pi2Controller {
        Pi2Controller { law, base: 0.0, last_delay: 0.0, next_update: since + law.update }
    }

    /// When [`update`](Pi2Controller::update) is due.
    pub(crate) fn timer(&self) -> Time {
        self.next_update
    }

    /// The periodic update; the head of the queue has waited for `delay`.
    pub(crate) fn update(&mut self, delay: Span) {
        let delay = delay.as_secs_f64();
        let step = self.law.alpha * (delay - self.law.target) + self.law.beta * (delay - self.last_delay);
        self.base = (self.base + step).clamp(0.0, self.law.max_p);
        self.last_delay = delay;
        self.next_update += self.law.update;
    }

    /// p', the base probability.
    #[inline]
    pub(crate) fn base(&self) -> f64 {
        self.base
    }

    /// p_C: the probability of dropping or marking a Classic packet.
    #[inline]
    pub(crate) fn classic(&self) -> f64 {
        self.base * self.base
    }

    /// p_CL: the probability of marking a scalable packet, of which 1 and more mean overload.
    #[inline]
    pub(crate) fn scalable(&self) -> f64 {
        self.law.coupling * self.base
    }

    /// The delay at the last update, in seconds.
    pub(crate) fn delay(&self) -> f64 {
        self.last_delay
    }
}

/// Turns probabilities into decisions.
#[derive(Debug)]
pub(crate) struct Dice {
    /// Where decisions are made at random; by adding up where not.
    random: Option<Stream>,
}

/// What the probabilities of one kind of decision have added up to since the last hit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum(f64);

impl Dice {
    /// The dice of `spread`.
    pub(crate) fn new(spread: Spread, random: Stream) -> Dice {
        Dice { random: (spread == Spread::Random).then_some(random) }
    }

    /// Yes, with this probability. RFC 9332's `recur` waits until 1 is exceeded; here 1 is enough, so that a probability
    /// of 1 hits the first packet too.
    #[inline]
    pub(crate) fn hit(&mut self, probability: f64, sum: &mut Sum) -> bool {
        if let Some(stream) = &mut self.random {
            return stream.chance(probability);
        }
        sum.0 += probability.min(1.0);
        let hit = sum.0 >= 1.0;
        if hit {
            sum.0 -= 1.0;
        }
        hit
    }

    /// Yes, with the square of `base`: at random by two draws, which needs no multiplication in hardware.
    #[inline]
    pub(crate) fn hit_square(&mut self, base: f64, sum: &mut Sum) -> bool {
        match &mut self.random {
            Some(stream) => stream.chance(base) && stream.chance(base),
            None => self.hit(base * base, sum),
        }
    }
}
