//! Parameters in the units of the algorithm, and the rules that compute what was left to them.

use super::ageing::{Ageing, Table};
use super::average::Average;
use super::spread::{BySize, Rule, Spread};
use super::{Entry, Ramp, Unit};
use crate::{Limit, LinkProperties};
use alloc::format;
#[cfg(not(feature = "std"))]
use sojourn_core::Float as _;
use sojourn_core::registry::{ParameterError, Params, Value};
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
    pub(crate) unit: Unit,
    pub(crate) entry: Entry,
    pub(crate) ramp: Ramp,
    pub(crate) average: Average,
    pub(crate) spread: Spread,
}

/// The parameters with the link that they are for.
struct Context<'a> {
    params: &'a Params,
    link: &'a LinkProperties,
    unit: Unit,
    mean_packet: f64,
}

/// Computes all that `params` mean on `link`.
pub(crate) fn setup(params: &Params, link: &LinkProperties) -> Result<Setup, ParameterError> {
    let mean_packet = match params.get("mean_packet") {
        Value::Integer(bytes) => bytes as f64,
        _ => f64::from(link.packet_bytes),
    };
    let unit = if params.choice("unit") == "bytes" { Unit::Bytes } else { Unit::Packets };
    let context = Context { params, link, unit, mean_packet };
    let entry = context.entry()?;
    let ramp = context.ramp(entry.limit)?;
    let average = context.average(&ramp)?;
    let spread = context.spread(&ramp)?;
    Ok(Setup { unit, entry, ramp, average, spread })
}

impl Context<'_> {
    /// Typical packets that `rate` sends in a second (ptc).
    fn packets_per_second(&self, rate: Rate) -> f64 {
        rate.bytes_per_second() / self.mean_packet
    }

    /// `bytes` in the unit that thresholds are measured in.
    fn in_unit(&self, bytes: f64) -> f64 {
        match self.unit {
            Unit::Bytes => bytes,
            Unit::Packets => bytes / self.mean_packet,
        }
    }

    /// A threshold that the user gave, if so.
    fn threshold(&self, name: &str) -> Option<f64> {
        match self.params.get(name) {
            Value::Amount(amount) => Some(self.in_unit(amount.bytes(self.link.rate, self.mean_packet))),
            _ => None,
        }
    }

    fn limit(&self) -> Limit {
        let amount = self.params.amount("limit");
        let packet = match self.params.choice("limit_counts") {
            "full-packets" => f64::from(self.link.packet_bytes),
            "mean-packets" => self.mean_packet,
            _ => return Limit::new(amount, self.link),
        };
        Limit::new(Amount::Bytes(amount.bytes(self.link.rate, packet)), self.link)
    }

    fn entry(&self) -> Result<Entry, ParameterError> {
        let limit = self.limit();
        let overshoot = self.params.choice("limit_rule") == "below";
        let limit = if overshoot { limit } else { limit.for_full_packets("limit", self.link)? };
        Ok(Entry { limit, overshoot })
    }

    fn ramp(&self, limit: Limit) -> Result<Ramp, ParameterError> {
        let (min, max) = (self.threshold("min"), self.threshold("max"));
        let (auto_min, auto_max) = match self.params.choice("auto_thresholds") {
            "limit" => self.thresholds_from_limit(limit, min, max),
            _ => self.thresholds_from_delay(min),
        };
        let ramp = Ramp {
            min: min.unwrap_or(auto_min),
            max: max.unwrap_or(auto_max),
            max_p: self.params.number("max_p"),
            gentle: self.params.boolean("gentle"),
            gentle_from: self.params.number("max_p"),
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
        let target = self.params.span("target_delay").as_secs_f64() * self.packets_per_second(self.link.rate);
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
        self.params.choice("arithmetic") == "whole"
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
        Ok(match (self.params.get("weight"), self.params.choice("auto_weight")) {
            (Value::Number(weight), _) => weight,
            (_, "burst") => self.weight_from_burst(ramp)?,
            (_, "second") => one_minus_exp(1.0 / packets),
            _ => {
                let rtt = ns2::RTT_PER_LINK_DELAY * (self.link.delay.as_secs_f64() + 1.0 / packets);
                one_minus_exp(1.0 / (ns2::RTTS_REMEMBERED * rtt.max(ns2::MIN_RTT) * packets))
            }
        })
    }

    /// tc `tc_red_eval_ewma`: the largest W = 2^-n with burst + 1 - min/avpkt <= (1 - (1-W)^burst)/W.
    fn weight_from_burst(&self, ramp: &Ramp) -> Result<f64, ParameterError> {
        let (min, max) = match self.unit {
            Unit::Bytes => (ramp.min / self.mean_packet, ramp.max / self.mean_packet),
            Unit::Packets => (ramp.min, ramp.max),
        };
        let burst = match self.params.get("burst") {
            Value::Integer(packets) => packets as f64,
            _ => ((2.0 * min + max) / 3.0).floor(),
        };
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
        let rate = match self.params.get("bandwidth") {
            Value::Rate(rate) => rate,
            _ => self.link.rate,
        };
        let packets = self.packets_per_second(rate);
        Ok(match self.params.choice("ageing") {
            "steps" => Ageing::Steps(packets),
            "curve" => Ageing::Curve(packets),
            "table" if weight < 1.0 => Ageing::Table(
                Table::new(weight, rate.bytes_per_second(), self.mean_packet)
                    .ok_or_else(|| ParameterError::new("bandwidth", "a rate whose idle table tc can compute"))?,
            ),
            _ => Ageing::None,
        })
    }

    fn spread(&self, ramp: &Ramp) -> Result<Spread, ParameterError> {
        let rule = match self.params.choice("spread") {
            "uniform" => Rule::Uniform,
            "wait" => Rule::Wait,
            "threshold" => Rule::Threshold,
            _ => Rule::Independent,
        };
        let by_size = match self.params.choice("by_size") {
            "before-spread" => BySize::Before,
            "after-spread" => BySize::After,
            _ => BySize::No,
        };
        if rule == Rule::Threshold && by_size == BySize::After {
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
