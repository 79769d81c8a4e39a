//! How much padding: a rule that goes by the round-trip times of probes.
//!
//! The rule, why it is stable and where it ends is written in `docs/guide/padding.md`.

use crate::Bursts;
use sojourn_core::{Span, Time};

/// What a controller aims at and must keep to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// The queueing delay that nine probes in ten shall not exceed.
    pub target: Span,
    /// Never more packets per second.
    pub most: f64,
    /// The share of each second in which packets are sent, above 0 and at most 1.
    pub duty: f64,
}

/// Packets per second that are added to the rate before it is multiplied: no more than large packets leave the slowest
/// uplink in a second, which keeps the gain of the loop at 1 or below (120 kbit/s in packets of 1500 B).
const OFFSET: f64 = 10.0;
/// What is below this rate is nothing.
const LEAST: f64 = 2.0;
/// Most that an epoch multiplies or divides by.
const LARGEST_STEP: f64 = 4.0;
/// Least that it multiplies by. One such step too many stays above the dead band, since 1 / 1.25 is more than 0.75.
const MIN_RAISE: f64 = 1.25;
/// Down to this share of the target nothing changes.
const DEAD_BAND: f64 = 0.75;
/// Below this share of the target the link is idle, not relieved.
const IDLE: f64 = 0.125;
/// Padding helps where the delay falls to this share of what it was.
const HELPS: f64 = 0.75;
/// Epochs after which padding must have helped, more than the least raises need from nothing to 1000 packets per second,
/// and those at the highest rate.
const TRIAL_EPOCHS: u32 = 24;
const TOP_EPOCHS: u32 = 3;
/// An epoch lasts this many round trips, so that it sees a good part of a sawtooth, and at least this long.
const EPOCH_ROUND_TRIPS: u64 = 8;
const SHORTEST_EPOCH: Span = Span::from_secs(2);
/// Epochs that the rate falls after.
const REMEMBERED: usize = 3;
/// The rest after padding did not help; it doubles each time up to the longest.
const FIRST_REST: Span = Span::from_secs(60);
const LONGEST_REST: Span = Span::from_secs(3600);
/// Base round-trip times are forgotten after one to two of these.
const BASE_WINDOW: Span = Span::from_secs(300);
/// Bursts begin this often.
const BURST_EVERY: Span = Span::from_secs(1);

#[derive(Clone, Copy, PartialEq, Debug)]
enum Phase {
    /// Nothing is sent but probes.
    Watching,
    /// Padding since so many epochs, so many of them at the highest rate; what the delay was before.
    Padding { epochs: u32, at_top: u32, before: Span },
    /// Padding did not help; nothing is sent before this time.
    Resting { until: Time },
}

/// Finds the rate.
#[derive(Clone, Debug)]
pub struct Controller {
    config: Config,
    phase: Phase,
    rate: f64,
    rest: Span,
    rests: u64,
    epoch_end: Time,
    /// Round-trip times of the epoch.
    samples: Vec<Span>,
    /// Delays of the last epochs, the latest last.
    delays: Vec<Span>,
    /// Smallest round-trip times of the present window and of the one before.
    base: [Option<Span>; 2],
    base_until: Time,
}

impl Controller {
    /// A controller that has measured nothing yet.
    pub fn new(config: Config, now: Time) -> Controller {
        Controller {
            config,
            phase: Phase::Watching,
            rate: 0.0,
            rest: FIRST_REST,
            rests: 0,
            epoch_end: now + SHORTEST_EPOCH,
            samples: Vec::new(),
            delays: Vec::new(),
            base: [None; 2],
            base_until: now + BASE_WINDOW,
        }
    }

    /// A base round-trip time that is known beforehand, such as one measured while the link was idle.
    pub fn know_base(&mut self, rtt: Span) {
        self.base[0] = Some(self.base[0].map_or(rtt, |base| base.min(rtt)));
    }

    /// A probe was answered after `rtt`.
    pub fn on_answer(&mut self, rtt: Span) {
        self.know_base(rtt);
        self.samples.push(rtt);
    }

    /// When [`on_time`](Controller::on_time) wants to be called.
    pub fn deadline(&self) -> Time {
        self.epoch_end
    }

    /// Never more than `most` packets per second from now on.
    pub fn bound(&mut self, most: f64) {
        self.config.most = most;
        self.rate = self.rate.min(most);
    }

    /// Padding packets per second while they are sent; zero for none.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The bursts in which they are sent, where they are not continuous.
    pub fn bursts(&self) -> Option<Bursts> {
        let packets = (self.rate * self.config.duty * BURST_EVERY.as_secs_f64()).round().max(1.0) as u32;
        (self.config.duty < 1.0).then_some(Bursts { packets, every: BURST_EVERY })
    }

    /// How often padding was given up since it did not help.
    pub fn rests(&self) -> u64 {
        self.rests
    }

    /// Ends the epoch, where its time has come. A probe without an answer by now is no measurement: where there was none
    /// at all, nothing is sent.
    pub fn on_time(&mut self, now: Time) {
        if now < self.epoch_end {
            return;
        }
        let rtt = self.ninth_decile();
        match rtt.zip(self.base()) {
            Some((rtt, base)) => self.decide(rtt.saturating_sub(base), now),
            None => self.watch(),
        }
        self.samples.clear();
        let round_trips = Span::from_nanos(EPOCH_ROUND_TRIPS * rtt.unwrap_or(Span::ZERO).as_nanos());
        self.epoch_end = now + round_trips.max(SHORTEST_EPOCH);
        if now >= self.base_until {
            self.base = [None, self.base[0].or(self.base[1])];
            self.base_until = now + BASE_WINDOW;
        }
    }

    fn base(&self) -> Option<Span> {
        self.base.into_iter().flatten().min()
    }

    /// The round-trip time that nine in ten of the epoch do not exceed.
    fn ninth_decile(&mut self) -> Option<Span> {
        self.samples.sort_unstable();
        let rank = (self.samples.len() * 9).div_ceil(10);
        self.samples.get(rank.checked_sub(1)?).copied()
    }

    fn decide(&mut self, delay: Span, now: Time) {
        if self.delays.len() == REMEMBERED {
            self.delays.remove(0);
        }
        self.delays.push(delay);
        match self.phase {
            Phase::Resting { until } if now < until => {}
            Phase::Resting { .. } | Phase::Watching => {
                self.phase = Phase::Watching;
                if delay > self.config.target {
                    self.phase = Phase::Padding { epochs: 0, at_top: 0, before: self.highest() };
                    self.raise(delay);
                }
            }
            Phase::Padding { epochs, at_top, before } => self.go_on(delay, epochs + 1, at_top, before, now),
        }
    }

    fn go_on(&mut self, delay: Span, epochs: u32, at_top: u32, before: Span, now: Time) {
        let target = self.config.target;
        let at_top = if self.rate >= self.config.most { at_top + 1 } else { 0 };
        let tried = epochs >= TRIAL_EPOCHS || at_top >= TOP_EPOCHS;
        if tried && delay > target && delay > before.mul_f64(HELPS) {
            return self.give_up(now);
        }
        if tried {
            // It helps: the next rest, should there be one, is short again.
            self.rest = FIRST_REST;
        }
        if self.highest_of(2) < target.mul_f64(IDLE) {
            return self.watch();
        }
        self.phase = Phase::Padding { epochs, at_top, before };
        if delay > target {
            self.raise(delay);
        } else if self.highest() < target.mul_f64(DEAD_BAND) {
            self.adjust(self.highest());
        }
        if self.rate < LEAST {
            self.watch();
        }
    }

    /// More, since `delay` is above the target.
    fn raise(&mut self, delay: Span) {
        self.adjust(delay.max(self.config.target.mul_f64(MIN_RAISE)));
    }

    /// Changes the rate so that in a full queue limited in packets `delay` becomes the target.
    fn adjust(&mut self, delay: Span) {
        let factor = delay.ratio(self.config.target).clamp(1.0 / LARGEST_STEP, LARGEST_STEP);
        self.rate = ((self.rate + OFFSET) * factor - OFFSET).clamp(0.0, self.config.most);
    }

    fn watch(&mut self) {
        self.rate = 0.0;
        self.delays.clear();
        if !matches!(self.phase, Phase::Resting { .. }) {
            self.phase = Phase::Watching;
        }
    }

    fn give_up(&mut self, now: Time) {
        self.rate = 0.0;
        self.rests += 1;
        self.delays.clear();
        self.phase = Phase::Resting { until: now + self.rest };
        self.rest = (self.rest + self.rest).min(LONGEST_REST);
    }

    /// The highest delay of the epochs that are remembered.
    fn highest(&self) -> Span {
        self.highest_of(REMEMBERED)
    }

    fn highest_of(&self, epochs: usize) -> Span {
        self.delays.iter().rev().take(epochs).copied().max().unwrap_or(Span::ZERO)
    }
}

#[cfg(test)]
mod tests;
