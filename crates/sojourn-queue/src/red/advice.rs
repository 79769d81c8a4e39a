//! What RED advises against, for all disciplines that contain it.

use super::descriptor::{AutoThresholds, AutoWeight, Measure, Parameters};
use super::setup::Setup;
use crate::{Limit, LinkProperties, advice};
use alloc::format;
use alloc::vec::Vec;
use sojourn_core::registry::Advice;

/// `tc` warns from this weight down that a burst is too large (Wlog 10).
const SMALL_WEIGHT: f64 = 1.0 / 1024.0;

/// Advice on what is `declared`, which were computed to `setup` and call RED's max `max`.
pub(crate) fn advice(declared: &Parameters, setup: &Setup, max: &'static str, link: &LinkProperties) -> Vec<Advice> {
    [near_thresholds(setup, max), max_beyond_limit(setup, max, link), large_burst(declared, setup)]
        .into_iter()
        .flatten()
        .collect()
}

/// A ramp so steep that the average jumps over it. With a weight of 1 it is a step, as meant for DCTCP.
fn near_thresholds(setup: &Setup, max: &'static str) -> Option<Advice> {
    let (min, ramp_max) = (setup.ramp.min, setup.ramp.max);
    (ramp_max < 2.0 * min && setup.average.weight() < 1.0).then(|| {
        let text = format!(
            "less than twice min ({min} {}): within a burst the average passes from no drops to all, and flows back off \
             together; usual is 3 times min, at least 2 times",
            setup.unit.name()
        );
        Advice::new(max, text)
    })
}

/// Thresholds that the queue is too short for.
fn max_beyond_limit(setup: &Setup, max: &'static str, link: &LinkProperties) -> Option<Advice> {
    let limit = match (setup.entry.limit, setup.unit) {
        (Limit::Packets(packets), Measure::Packets) => packets as f64,
        (Limit::Packets(packets), Measure::Bytes) => packets as f64 * f64::from(link.packet_bytes),
        (Limit::Bytes(bytes), Measure::Packets) => bytes as f64 / f64::from(link.packet_bytes),
        (Limit::Bytes(bytes), Measure::Bytes) => bytes as f64,
    };
    (setup.ramp.max > limit).then(|| {
        let (threshold, unit) = (setup.ramp.max, setup.unit.name());
        let text = format!(
            "{threshold:.0} {unit}, more than the limit ({limit:.0} {unit}): the buffer overflows before the average gets there, \
             and most losses are not early; usual is a quarter of the limit"
        );
        Advice::new(max, text)
    })
}

/// An average that hardly moves.
fn large_burst(declared: &Parameters, setup: &Setup) -> Option<Advice> {
    let computed = declared.weight.is_none() && declared.auto_weight == AutoWeight::Burst;
    (computed && setup.average.weight() <= SMALL_WEIGHT).then(|| {
        let text = format!(
            "so large that a sample weighs {} only: the average follows the queue after thousands of packets, long after it \
             overflowed; usual is (2 min + max)/3, in packets",
            setup.average.weight()
        );
        Advice::new("burst", text)
    })
}

/// A target delay below what the smallest automatic thresholds amount to.
pub(crate) fn short_target_delay(declared: &Parameters, link: &LinkProperties) -> Option<Advice> {
    let by_delay = declared.min.is_none() && declared.auto_thresholds == AutoThresholds::Delay;
    let packet = advice::packet_time(link);
    (by_delay && declared.target_delay < packet).then(|| {
        let text = format!(
            "a full-size packet alone takes {packet} at this rate, and min is never less than 5 packets: the delay will be \
             many times the target"
        );
        Advice::new("target_delay", text)
    })
}
