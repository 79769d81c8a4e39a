//! Nimbus (Goyal et al., SIGCOMM 2022) as a scavenger.
//!
//! The paper's parts, from its preprint (arXiv 1802.08730) and the authors' code (ccp-project/nimbus):
//! 1. what others send follows from the rates at which the same packets leave and arrive: z = mu S/R - S (the cross traffic estimator);
//! 2. the rate has pulses, half a sine of mu/4 in a quarter of the time and a third of that below the mean in the rest;
//! 3. others who answer have a part in z at the pulses' frequency: elasticity is that part over the largest one up to twice the
//!    frequency, in 5 s;
//! 4. where others are not elastic, BasicDelay takes what they leave, at a queue of its own.
//!
//! The paper competes where others are elastic. A scavenger yields: it sends two segments in a round trip for a while, and then looks
//! again. Also Sojourn's own are the slow start before, and the answer to losses and marks, which BasicDelay has none to: half of the
//! rate for a round trip. That others send less than a tenth of the capacity counts as nobody, and more than nine
//! tenths as elastic, as in the authors' code. There is one pulser and no watcher: several such flows see each other's pulses.

mod descriptor;
mod meter;
mod spectrum;
#[cfg(test)]
mod tests;

pub use descriptor::DESCRIPTOR;

use crate::control::{Ack, AppLimited, Congestion, Control, Path, Signal, Start};
use crate::replayable::ReplayableRandom;
use core::f64::consts::PI;
use descriptor::Parameters;
use meter::Meter;
#[cfg(not(feature = "std"))]
use sojourn_core::Float as _;
use sojourn_core::registry::{ParameterError, Params};
use sojourn_core::{Rate, Span, Stream, Time};
use spectrum::{RATE_HZ, SAMPLES, Spectrum};

/// Time between samples.
const TICK: Span = Span::from_millis(10);
/// After a pause of so many ticks everything is measured anew.
const PAUSE_TICKS: u64 = 100;
/// A pulse is above the mean in this part of its time.
const UP: f64 = 0.25;
/// Part of the capacity below which others do not count, and above which they count as elastic (`should_switch_flow_mode`).
const ALONE: f64 = 0.1;
const CROWDED: f64 = 0.9;
/// How much a new rate of arrivals counts (`ewma_rout`).
const SMOOTHING: f64 = 0.2;
/// How long a largest rate of arrivals is kept, at least; at most twice as long.
const MEMORY: Span = Span::from_secs(30);
/// Round trips of the rate in flight at most (`send_pattern`).
const FLIGHT: f64 = 2.0;
/// Segments in flight at most where the rate is low, and while it yields.
const LEAST_FLIGHT: f64 = 4.0;
const YIELDED: f64 = 2.0;

/// The state of Nimbus.
#[derive(Clone, Debug)]
pub struct Nimbus {
    window: f64,
    segment_bits: f64,
    phase: Phase,
    /// Rates are in segments per second: without pulses, and with them.
    base: f64,
    rate: f64,
    capacity: Capacity,
    meter: Meter,
    others: Spectrum,
    latest_others: f64,
    /// When the next sample is due.
    next_tick: Time,
    rtt: Span,
    min_rtt: Span,
    /// Until when a loss bounds the base rate, and by what.
    lost_until: Time,
    bound: f64,
    random: ReplayableRandom,
    settings: Settings,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Slow start, which finds the capacity.
    Start,
    /// BasicDelay with pulses, since then.
    Fill { began: Time },
    /// It yields, until then.
    Rest { until: Time },
}

/// The rate of the bottleneck (mu).
#[derive(Clone, Debug)]
struct Capacity {
    told: Option<f64>,
    smoothed: f64,
    /// Largest rates since `began`, and in the time before.
    most: [f64; 2],
    began: Time,
}

impl Capacity {
    /// The largest rate at which packets arrived, smoothed as in the authors' code.
    fn on_rate(&mut self, received: f64, now: Time) {
        self.smoothed += SMOOTHING * (received - self.smoothed);
        if now.since(self.began) >= MEMORY {
            (self.most, self.began) = ([0.0, self.most[0]], now);
        }
        self.most[0] = self.most[0].max(self.smoothed);
    }

    fn get(&self) -> f64 {
        self.told.unwrap_or(self.most[0].max(self.most[1]))
    }
}

/// What does not change.
#[derive(Clone, Debug)]
struct Settings {
    /// Pulses in the time of a transform.
    pulses: usize,
    pulse: f64,
    elastic: f64,
    alpha: f64,
    beta: f64,
    target: f64,
    rest: Span,
}

impl Nimbus {
    /// A control with the given parameters.
    ///
    /// # Errors
    /// None: all combinations work.
    pub fn new(params: &Params, path: &Path, random: Stream) -> Result<Nimbus, ParameterError> {
        let declared = Parameters::of(params);
        let packet_bits = f64::from(path.mss_bytes + path.header_bytes) * 8.0;
        let told = declared.capacity.map(|rate| rate.bits_per_second() as f64 / packet_bits);
        let pulses = (declared.frequency * SAMPLES as f64 / RATE_HZ).round() as usize;
        Ok(Nimbus {
            window: path.initial_window,
            segment_bits: f64::from(path.mss_bytes) * 8.0,
            phase: Phase::Start,
            base: 0.0,
            rate: 0.0,
            capacity: Capacity { told, smoothed: 0.0, most: [0.0; 2], began: Time::ZERO },
            meter: Meter::new(),
            others: Spectrum::new(pulses),
            latest_others: 0.0,
            next_tick: Time::ZERO,
            rtt: Span::ZERO,
            min_rtt: Span::MAX,
            lost_until: Time::ZERO,
            bound: 0.0,
            random: ReplayableRandom::new(random),
            settings: Settings {
                pulses,
                pulse: declared.pulse,
                elastic: declared.elastic,
                alpha: declared.alpha,
                beta: declared.beta,
                target: declared.target.as_secs_f64(),
                rest: declared.rest,
            },
        })
    }

    /// Step 1: what others send, where packets left at `sent` and arrived at `received`.
    fn others(capacity: f64, sent: f64, received: f64) -> f64 {
        (capacity * sent / received - sent).max(0.0)
    }

    /// The least rate without pulses: they go so far below it.
    fn least(&self) -> f64 {
        self.settings.pulse * self.capacity.get() * UP / (1.0 - UP)
    }

    /// Step 2: the pulse so long after they began, as a part of its height.
    fn pulse(&self, since: Span) -> f64 {
        let period = SAMPLES as f64 / RATE_HZ / self.settings.pulses as f64;
        let periods = since.as_secs_f64() / period;
        let place = periods - periods.floor();
        if place < UP {
            libm::sin(PI * place / UP)
        } else {
            -UP / (1.0 - UP) * libm::sin(PI * (place - UP) / (1.0 - UP))
        }
    }

    /// Begins to take what others leave, at `base`.
    fn fill(&mut self, base: f64, now: Time) {
        self.phase = Phase::Fill { began: now };
        self.next_tick = now + TICK;
        self.meter.clear();
        self.others.clear();
        self.base = base.max(self.least());
    }

    /// Yields for a random time.
    fn rest(&mut self, now: Time) {
        let rest = self.settings.rest;
        self.phase = Phase::Rest { until: now + rest / 2 + Span::from_nanos(self.random.below(rest.as_nanos())) };
    }

    /// The ticks that have passed.
    fn pass(&mut self, now: Time) {
        if now < self.next_tick {
            return;
        }
        let ticks = now.since(self.next_tick).as_nanos() / TICK.as_nanos() + 1;
        if ticks > PAUSE_TICKS {
            self.meter.clear();
            self.others.clear();
            self.next_tick = now + TICK;
            return;
        }
        self.next_tick += TICK * ticks;
        // Between two acknowledgements nothing changes.
        for _ in 0..ticks {
            self.tick(now);
        }
    }

    fn tick(&mut self, now: Time) {
        let Some(rates) = self.meter.tick(self.rtt) else { return };
        self.capacity.on_rate(rates.received, now);
        if !matches!(self.phase, Phase::Fill { .. }) {
            return;
        }
        let capacity = self.capacity.get();
        let others = Nimbus::others(capacity, rates.sent, rates.received);
        self.latest_others = others;
        self.others.push(others);
        // Step 4.
        let Settings { alpha, beta, target, .. } = self.settings;
        let (rtt, min_rtt) = (self.rtt.as_secs_f64(), self.min_rtt.as_secs_f64());
        let spare = capacity - rates.sent - others;
        let base = rates.sent + alpha * spare + beta * capacity / rtt * (min_rtt + target - rtt);
        let bound = if now < self.lost_until { self.bound } else { f64::INFINITY };
        self.base = base.min(bound).max(self.least());
        if self.are_elastic() {
            self.rest(now);
        }
    }

    /// Step 3: whether others answer. Nothing is known before the samples are complete.
    fn are_elastic(&self) -> bool {
        let capacity = self.capacity.get();
        self.others.mean().is_some_and(|mean| {
            // The spectrum, which costs most, is looked at last.
            let answer = || self.others.elasticity().is_some_and(|elasticity| elasticity >= self.settings.elastic);
            mean >= ALONE * capacity && (mean > CROWDED * capacity || answer())
        })
    }

    /// Rate and window of the phase.
    fn follow(&mut self, now: Time) {
        match self.phase {
            Phase::Start => {}
            Phase::Rest { .. } => self.window = YIELDED,
            Phase::Fill { began } => {
                self.rate = self.base + self.settings.pulse * self.capacity.get() * self.pulse(now.since(began));
                // A segment in a round trip.
                self.rate = self.rate.max(1.0 / self.rtt.as_secs_f64());
                self.window = (FLIGHT * self.base.max(self.rate) * self.rtt.as_secs_f64()).max(LEAST_FLIGHT);
            }
        }
    }
}

impl Control for Nimbus {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt.filter(|rtt| !rtt.is_zero()) {
            (self.rtt, self.min_rtt) = (rtt, self.min_rtt.min(rtt));
        }
        if self.rtt.is_zero() {
            return;
        }
        self.meter.on_ack(ack.delivered, ack.sent, ack.now);
        self.pass(ack.now);
        match self.phase {
            Phase::Start => {
                if self.rtt.as_secs_f64() > self.min_rtt.as_secs_f64() + self.settings.target {
                    self.fill(self.capacity.smoothed, ack.now);
                } else if ack.window_limited && !ack.in_recovery {
                    self.window += f64::from(ack.newly_acked);
                }
            }
            Phase::Rest { until } if ack.now >= until => self.fill(0.0, ack.now),
            Phase::Rest { .. } | Phase::Fill { .. } => {}
        }
        self.follow(ack.now);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if matches!(event.signal, Signal::Timeout { .. }) {
            self.rest(event.now);
            self.window = 1.0;
            return;
        }
        match self.phase {
            Phase::Start => self.fill(self.capacity.smoothed / 2.0, event.now),
            Phase::Fill { .. } if event.now >= self.lost_until => {
                self.bound = self.base / 2.0;
                self.lost_until = event.now + event.smoothed_rtt;
                self.base = self.bound.max(self.least());
            }
            Phase::Fill { .. } | Phase::Rest { .. } => {}
        }
        self.follow(event.now);
    }

    /// A pause is no answer of others: what was measured before does not count.
    fn on_start(&mut self, start: &Start) {
        if let Phase::Fill { .. } = self.phase {
            self.fill(self.base.min(self.capacity.get()), start.now);
        }
    }

    /// The rate stays.
    fn on_app_limited(&mut self, _limited: &AppLimited) {}

    /// Until the next acknowledgement.
    fn set_window(&mut self, window: f64, _threshold: f64) {
        self.window = window;
    }

    #[inline]
    fn window(&self) -> f64 {
        self.window
    }

    #[inline]
    fn slow_start_threshold(&self) -> f64 {
        f64::INFINITY
    }

    fn is_paced(&self) -> bool {
        true
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let paced = matches!(self.phase, Phase::Fill { .. });
        Rate::from_bits_per_second((self.rate * self.segment_bits).max(1.0) as u64).filter(|_| paced)
    }

    fn leads_reductions(&self) -> bool {
        true
    }

    fn probe(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let mbps = |rate: f64| rate * self.segment_bits / 1e6;
        visit("rate_mbps", mbps(self.base));
        visit("capacity_mbps", mbps(self.capacity.get()));
        visit("others_mbps", mbps(self.latest_others));
        visit("elasticity", self.others.elasticity().unwrap_or(f64::NAN));
        visit("yields", f64::from(u8::from(matches!(self.phase, Phase::Rest { .. }))));
    }

    fn retune(&mut self, fresh: &Nimbus) {
        self.settings = Settings { pulses: self.settings.pulses, ..fresh.settings.clone() };
        self.capacity.told = fresh.capacity.told;
    }

    fn fixed() -> Option<&'static [&'static str]> {
        Some(&["frequency"])
    }
}
