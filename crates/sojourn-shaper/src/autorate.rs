//! The rule of cake-autorate (lynxthecat/cake-autorate, `cake-autorate.sh` and `defaults.sh`, 94238be of August 2026).
//!
//! At each answer of a reflector, for each direction:
//! 1. the delay's distance from the reflector's baseline enters a window of the last answers of all reflectors. The baseline
//!    falls fast and rises slowly;
//! 2. where enough answers of the window are late, the rate is cut, the more the later they are on average;
//! 3. otherwise, where the load is high, the rate is raised, the less the later they are, once for each measurement of the load;
//! 4. otherwise the rate decays towards its base.
//!
//! A refractory period follows a cut, in which it is neither cut nor raised; decay has one of its own, which every change of the
//! rate begins. Without answers nothing changes.
//!
//! Left out: the pause of pings on an idle line, least rates during one or during a stall (off by default), the replacement of
//! reflectors that misbehave, and answers that are read half a second late.

mod descriptor;
#[cfg(test)]
mod tests;

pub use descriptor::DESCRIPTOR;
use descriptor::{Delays, Parameters};

use crate::{BothWays, Controller, Gateway, Reply, Seen};
use sojourn_core::registry::{ParameterError, Params};
use sojourn_core::{Rate, Span, Time};

/// The baseline of a reflector before its first answer, in s.
const FIRST_BASELINE: f64 = 0.1;
/// Packets that the interval between two measurements of the load holds at least.
const PACKETS_MEASURED: f64 = 10.0;

/// The state of the rule.
#[derive(Clone, Debug)]
pub struct Autorate {
    settings: Parameters,
    ways: BothWays<Way>,
    /// One for each reflector that has answered, in s.
    baselines: Vec<BothWays<f64>>,
    /// The place in the window of the next answer.
    place: usize,
    /// When the load was measured last.
    measured: Time,
}

/// One direction.
#[derive(Clone, Debug)]
struct Way {
    /// In bit/s.
    rate: f64,
    base: f64,
    packet_bits: f64,
    /// The last answers: how far above the baseline, in s, and whether that was late.
    window: Vec<(f64, bool)>,
    /// What the shaper had sent at the last measurement.
    sent_bytes: u64,
    /// Whole percents of the rate that were in use at the last measurement.
    load_percent: f64,
    /// Whether the load has been measured since the rate was last raised.
    is_measured: bool,
    cut_at: Time,
    decayed_at: Time,
}

/// Delays in s above which something happens, with what the shaper's own packet takes.
struct Thresholds {
    most_raise: f64,
    late: f64,
    most_cut: f64,
}

impl Autorate {
    /// A rule with the given parameters.
    ///
    /// # Errors
    /// More late answers than the window has.
    pub fn new(params: &Params, gateway: &Gateway) -> Result<Autorate, ParameterError> {
        let settings = Parameters::of(params);
        if settings.late_answers > settings.window {
            let rule = format!("at most {}, the answers in the window", settings.window);
            return Err(ParameterError::new("late_answers", rule));
        }
        let way = |index: usize| {
            let base = gateway.base[index].bits_per_second() as f64;
            Way {
                rate: base,
                base,
                packet_bits: f64::from(gateway.packet_bytes[index]) * 8.0,
                window: vec![(0.0, false); settings.window],
                sent_bytes: 0,
                load_percent: 0.0,
                is_measured: false,
                cut_at: Time::ZERO,
                decayed_at: Time::ZERO,
            }
        };
        let ways = [way(0), way(1)];
        Ok(Autorate { settings, ways, baselines: Vec::new(), place: 0, measured: Time::ZERO })
    }

    /// Measures the load where that is due. On slow lines the interval holds several packets.
    fn measure(&mut self, seen: &Seen<'_>) {
        let packets = self.ways.iter().map(|way| way.packet_bits / way.rate).sum::<f64>();
        let elapsed = seen.now.since(self.measured);
        if elapsed < self.settings.load_interval.max(Span::from_secs_f64(PACKETS_MEASURED * packets)) {
            return;
        }
        self.measured = seen.now;
        for (way, sent_bytes) in self.ways.iter_mut().zip(seen.sent_bytes) {
            let achieved = (sent_bytes - way.sent_bytes) as f64 * 8.0 / elapsed.as_secs_f64();
            way.sent_bytes = sent_bytes;
            way.load_percent = (100.0 * achieved / way.rate).floor();
            way.is_measured = true;
        }
    }

    /// An answer has come.
    fn on_reply(&mut self, reply: &Reply) {
        let Autorate { settings, ways, baselines, place, .. } = self;
        let reflector = reply.reflector as usize;
        if baselines.len() <= reflector {
            baselines.resize(reflector + 1, [FIRST_BASELINE; 2]);
        }
        let delays = match settings.delays {
            Delays::OneWay => reply.delays.map(Span::as_secs_f64),
            Delays::RoundTrip => [(reply.delays[0] + reply.delays[1]).as_secs_f64() / 2.0; 2],
        };
        for ((way, delay), baseline) in ways.iter_mut().zip(delays).zip(&mut baselines[reflector]) {
            let part = if delay >= *baseline { settings.baseline_up } else { settings.baseline_down };
            *baseline = part * delay + (1.0 - part) * *baseline;
            let above = delay - *baseline;
            let thresholds = way.thresholds(settings);
            way.window[*place] = (above, above > thresholds.late);
            way.decide(&thresholds, settings, reply.at);
        }
        *place = (*place + 1) % settings.window;
    }
}

impl Way {
    fn thresholds(&self, settings: &Parameters) -> Thresholds {
        let packet = self.packet_bits / self.rate;
        let threshold = |span: Span| span.as_secs_f64() + packet;
        Thresholds {
            most_raise: threshold(settings.most_raise_to),
            late: threshold(settings.late_from),
            most_cut: threshold(settings.most_cut_from),
        }
    }

    /// The mean of the window, in s.
    fn mean_above(&self) -> f64 {
        self.window.iter().map(|(above, _)| above).sum::<f64>() / self.window.len() as f64
    }

    /// Steps 2 to 4 at an answer.
    fn decide(&mut self, thresholds: &Thresholds, settings: &Parameters, now: Time) {
        let late = self.window.iter().filter(|(_, is_late)| *is_late).count();
        let recovered = now > self.cut_at + settings.cut_refractory;
        let (before, above) = (self.rate, self.mean_above());
        if late >= settings.late_answers {
            if !recovered {
                return;
            }
            let part = part_of(above, thresholds.late, thresholds.most_cut);
            self.rate *= settings.least_cut - part * (settings.least_cut - settings.most_cut);
            (self.cut_at, self.decayed_at) = (now, now);
        } else if self.load_percent > (100.0 * settings.high_load).round() {
            if !recovered || !self.is_measured {
                return;
            }
            let part = 1.0 - part_of(above, thresholds.most_raise, thresholds.late);
            self.rate *= settings.least_raise + part * (settings.most_raise - settings.least_raise);
            (self.is_measured, self.decayed_at) = (false, now);
        } else if now > self.decayed_at + settings.decay_refractory {
            self.rate = if self.rate > self.base {
                (before * settings.decay_down).max(self.base)
            } else {
                (before * settings.decay_up).min(self.base)
            };
            self.decayed_at = now;
        }
        self.rate = self.rate.clamp(settings.min * self.base, settings.max * self.base);
    }
}

/// How far `value` is on its way from `low` to `high`, from 0 to 1.
fn part_of(value: f64, low: f64, high: f64) -> f64 {
    if high <= low { 1.0 } else { ((value - low) / (high - low)).clamp(0.0, 1.0) }
}

impl Controller for Autorate {
    fn step(&mut self, seen: &Seen<'_>) -> BothWays<Rate> {
        self.measure(seen);
        seen.replies.iter().for_each(|reply| self.on_reply(reply));
        self.ways.each_ref().map(|way| Rate::from_bits_per_second((way.rate as u64).max(1)).expect("it is not 0"))
    }

    fn probe(&self, way: usize, visit: &mut dyn FnMut(&str, f64)) {
        let way = &self.ways[way];
        visit("delay_above_baseline_ms", way.mean_above() * 1e3);
        visit("load_percent", way.load_percent);
    }
}
