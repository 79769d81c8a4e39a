//! Parameters in the units of the algorithm, and the rules that compute what was left to them.

use super::ageing::{Ageing, Table};
use super::average::Average;
use super::descriptor::{
    self, Arithmetic, AutoThresholds, AutoWeight, BySize, LimitCounts, LimitRule, Parameters, Rule,
};
use super::spread::Spread;
use super::{Entry, Measure, Ramp};
use crate::{Limit, LinkProperties};
use alloc::format;
#[cfg(not(feature = "std"))]
use sojourn_core::Float as _;
use sojourn_core::registry::ParameterError;
use sojourn_core::{Amount, Rate};

/// ns-2 `initialize_params`: thresholds in typical packets.
mod ns2 {
    /// Smallest automatic min threshold, in packets.
    pub(super) const MIN_THRESHOLD: f64 = 5.0;
    /// Shortest round-trip time that the weight is made for, in seconds.
    pub(super) const MIN_RTT: f64 = 0.1;
    /// Round-trip time over the link's delay and one transmission time.
    pub(super) const RTT_PER_LINK_DELAY: f64 = 3.0;
    /// Time constant of the average, in round-trip times.
    pub(super) const RTTS_REMEMBERED: f64 = 10.0;
}

/// The automatic max threshold over the min threshold; ns-2, Adaptive RED and tc agree.
const MAX_OVER_MIN: f64 = 3.0;
/// tc: the hard limit over the automatic max threshold.
const LIMIT_OVER_MAX: f64 = 4.0;
/// tc: most halvings of the weight that are tried.
const MAX_HALVINGS: i32 = 32;

/// Everything computed that the discipline is made of.
pub(crate) struct Setup {
    pub(crate) unit: Measure,
    pub(crate) entry: Entry,
    pub(crate) ramp: Ramp,
    pub(crate) average: Average,
    pub(crate) spread: Spread,
}

/// The parameters with the link that they are for.
struct Context<'a> {
    declared: &'a Parameters,
    link: &'a LinkProperties,
    unit: Measure,
    mean_packet: f64,
}

/// Computes all that is `declared`, on `link`.
pub(crate) fn setup(declared: &Parameters, link: &LinkProperties) -> Result<Setup, ParameterError> {
    let mean_packet = f64::from(declared.mean_packet.unwrap_or(link.packet_bytes));
    let context = Context { declared, link, unit: declared.unit, mean_packet };
    let entry = context.entry()?;
    let ramp = context.ramp(entry.limit)?;
    let average = context.average(&ramp)?;
    let spread = context.spread(&ramp)?;
    Ok(Setup { unit: declared.unit, entry, ramp, average, spread })
}

impl Context<'_> {
    /// Typical packets that `rate` sends in a second (ptc).
    fn packets_per_second(&self, rate: Rate) -> f64 {
        rate.bytes_per_second() / self.mean_packet
    }

    /// `bytes` in the unit that thresholds are measured in.
    fn in_unit(&self, bytes: f64) -> f64 {
        match self.unit {
            Measure::Bytes => bytes,
            Measure::Packets => bytes / self.mean_packet,
        }
    }

    /// A threshold that the user gave, if so.
    fn threshold(&self, given: Option<Amount>) -> Option<f64> {
        Some(self.in_unit(given?.bytes(self.link.rate, self.mean_packet)))
    }

    fn limit(&self) -> Limit {
        let amount = self.declared.limit;
        let packet = match self.declared.limit_counts {
            LimitCounts::FullPackets => f64::from(self.link.packet_bytes),
            LimitCounts::MeanPackets => self.mean_packet,
            LimitCounts::Packets => return Limit::new(amount, self.link),
        };
        Limit::new(Amount::Bytes(amount.bytes(self.link.rate, packet)), self.link)
    }

    fn entry(&self) -> Result<Entry, ParameterError> {
        let limit = self.limit();
        let overshoot = self.declared.limit_rule == LimitRule::Below;
        let limit = if overshoot { limit } else { limit.for_full_packets("limit", self.link)? };
        Ok(Entry { limit, overshoot })
    }

    fn ramp(&self, limit: Limit) -> Result<Ramp, ParameterError> {
        let (min, max) = (self.threshold(self.declared.min), self.threshold(self.declared.max));
        let (auto_min, auto_max) = match self.declared.auto_thresholds {
            AutoThresholds::Limit => self.thresholds_from_limit(limit, min, max),
            AutoThresholds::Delay => self.thresholds_from_delay(min),
        };
        let ramp = Ramp {
            min: min.unwrap_or(auto_min),
            max: max.unwrap_or(auto_max),
            max_p: self.declared.max_p,
            gentle: self.declared.gentle,
            gentle_from: self.declared.max_p,
            whole: self.is_whole(),
        };
        if ramp.min < ramp.max {
            Ok(ramp)
        } else {
            let unit = self.unit.name();
            let rule = format!("max above min; here min is {} and max {} {unit}", ramp.min, ramp.max);
            Err(ParameterError::new("max", rule))
        }
    }

    /// ns-2 `initialize_params` and section 4 of Adaptive RED.
    fn thresholds_from_delay(&self, min: Option<f64>) -> (f64, f64) {
        let target = self.declared.target_delay.as_secs_f64() * self.packets_per_second(self.link.rate);
        let auto = self.in_unit((target / 2.0).max(ns2::MIN_THRESHOLD) * self.mean_packet);
        (auto, min.unwrap_or(auto) * MAX_OVER_MIN)
    }

    /// tc `red_parse_opt` in its whole bytes, `choke_parse_opt` in its whole packets.
    fn thresholds_from_limit(&self, limit: Limit, min: Option<f64>, max: Option<f64>) -> (f64, f64) {
        let limit = match limit {
            Limit::Packets(packets) => packets as f64 * self.mean_packet,
            Limit::Bytes(bytes) => bytes as f64,
        };
        let auto_max = min.map_or(self.in_unit(limit / LIMIT_OVER_MAX).floor(), |min| min * MAX_OVER_MIN);
        ((max.unwrap_or(auto_max) / MAX_OVER_MIN).floor(), auto_max)
    }

    /// Whether it computes as Linux does.
    fn is_whole(&self) -> bool {
        self.declared.arithmetic == Arithmetic::Whole
    }

    fn average(&self, ramp: &Ramp) -> Result<Average, ParameterError> {
        let weight = self.weight(ramp)?;
        let ageing = self.ageing(weight)?;
        if !self.is_whole() {
            return Ok(Average::new(weight, ageing));
        }
        (0..MAX_HALVINGS).find(|&log| libm::exp2(f64::from(-log)) == weight).map_or_else(
            || {
                let rule = "a power of 1/2, as Linux has it (1, 0.5, 0.25 to 2^-31), or arithmetic real";
                Err(ParameterError::new("weight", rule))
            },
            |log| Ok(Average::whole(log as u32, ageing)),
        )
    }

    fn weight(&self, ramp: &Ramp) -> Result<f64, ParameterError> {
        let packets = self.packets_per_second(self.link.rate);
        Ok(match (self.declared.weight, self.declared.auto_weight) {
            (Some(weight), _) => weight,
            (None, AutoWeight::Burst) => self.weight_from_burst(ramp)?,
            (None, AutoWeight::Second) => one_minus_exp(1.0 / packets),
            (None, AutoWeight::Rtt) => {
                let rtt = ns2::RTT_PER_LINK_DELAY * (self.link.delay.as_secs_f64() + 1.0 / packets);
                one_minus_exp(1.0 / (ns2::RTTS_REMEMBERED * rtt.max(ns2::MIN_RTT) * packets))
            }
        })
    }

    /// tc `tc_red_eval_ewma`: the largest W = 2^-n with burst + 1 - min/avpkt <= (1 - (1-W)^burst)/W.
    fn weight_from_burst(&self, ramp: &Ramp) -> Result<f64, ParameterError> {
        let (min, max) = match self.unit {
            Measure::Bytes => (ramp.min / self.mean_packet, ramp.max / self.mean_packet),
            Measure::Packets => (ramp.min, ramp.max),
        };
        let burst = self.declared.burst.map_or(((2.0 * min + max) / 3.0).floor(), f64::from);
        let needed = burst + 1.0 - min;
        if needed < 1.0 {
            let rule = format!("at least {} packets, or the average never reaches min within a burst", min.ceil());
            return Err(ParameterError::new("burst", rule));
        }
        (1..MAX_HALVINGS)
            .map(|halvings| libm::exp2(f64::from(-halvings)))
            .find(|weight| needed <= (1.0 - libm::pow(1.0 - weight, burst)) / weight)
            .ok_or_else(|| ParameterError::new("burst", "a burst that a weight of at least 2^-31 lets pass"))
    }

    fn ageing(&self, weight: f64) -> Result<Ageing, ParameterError> {
        let rate = self.declared.bandwidth.unwrap_or(self.link.rate);
        let packets = self.packets_per_second(rate);
        Ok(match self.declared.ageing {
            descriptor::Ageing::Steps => Ageing::Steps(packets),
            descriptor::Ageing::Curve => Ageing::Curve(packets),
            descriptor::Ageing::Table if weight < 1.0 => Ageing::Table(
                Table::new(weight, rate.bytes_per_second(), self.mean_packet)
                    .ok_or_else(|| ParameterError::new("bandwidth", "a rate whose idle table tc can compute"))?,
            ),
            descriptor::Ageing::Table | descriptor::Ageing::None => Ageing::None,
        })
    }

    fn spread(&self, ramp: &Ramp) -> Result<Spread, ParameterError> {
        let (rule, by_size) = (self.declared.spread, self.declared.by_size);
        if rule == Rule::Threshold && by_size == BySize::AfterSpread {
            return Err(ParameterError::new("by_size", "no or before-spread, where spread is threshold"));
        }
        let spread = Spread::new(rule, by_size, self.mean_packet as u32);
        Ok(if self.is_whole() { spread.cut_to(ramp.max_p / (ramp.max - ramp.min)) } else { spread })
    }
}

/// 1 - exp(-x).
fn one_minus_exp(x: f64) -> f64 {
    -libm::expm1(-x)
}
