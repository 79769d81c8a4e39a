//! Scenarios and recorded links that come with Sojourn.

use crate::Trace;
use std::sync::{Arc, LazyLock};

/// A scenario that comes with Sojourn.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Ready {
    /// What the command line calls it.
    pub name: &'static str,
    /// One line: the first comment of its text.
    pub summary: &'static str,
    /// The file.
    pub text: &'static str,
}

/// What the name of a trace that comes with Sojourn starts with.
pub(crate) const PREFIX: &str = "ready:";

macro_rules! scenarios {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../scenarios/", $name, ".toml")))),*]
    };
}

macro_rules! traces {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_bytes!(concat!("../scenarios/traces/", $name)))),*]
    };
}

/// One line for each file in `scenarios/`.
static SCENARIOS: &[(&str, &str)] = scenarios! {
    "first",
    "motivating-droptail",
    "motivating-red",
    "motivating-sfq",
    "controlled-delay",
    "fair-queueing",
    "cake-lower-effort",
    "host-fairness",
    "cellular",
    "access-link",
    "adsl-two-way",
    "cable-modem",
    "noisy-line",
    "on-off",
    "jitter-and-loss",
    "low-priority",
    "step-marking",
    "four-classes",
    "early-marking",
    "l4s",
    "drop-precedence",
    "heavy-hitters",
    "bbr-beside-newreno",
    "self-tuning-red",
    "unresponsive",
    "stochastic-fair-blue",
    "learned-marking",
    "overload",
    "cable-upstream",
    "load-step",
    "sudden-changes",
    "packet-sizes",
    "shortest-first",
    "slow-uplink",
    "weighted-shares",
    "turns-of-packets",
    "bbr3-and-cubic",
    "late-comers",
    "scavengers",
    "delay-based",
    "loss-tolerance",
    "long-fat-path",
    "voip-under-load",
    "backups-beside-calls",
    "gateway-and-modem",
    "leo-gateway",
    "lte-gateway",
    "home-network",
    "home-wifi",
    "parking-lot",
    "access-concentrator",
    "rrul",
    "video",
    "traffic-mix",
    "short-transfers",
    "web-pages",
    "padding",
    "wifi-home",
    "wifi-anomaly",
    "wifi-uploads",
    "lte-neighbour-download",
    "lte-own-download",
    "5g-uploads",
    "wifi-selected-rates",
};

/// One line for each file in `scenarios/traces/`.
static TRACES: &[(&str, &[u8])] = traces! {
    "synthetic-lte",
    "synthetic-umts",
    "synthetic-evdo",
};

/// All scenarios that come with Sojourn.
pub fn ready() -> &'static [Ready] {
    static READY: LazyLock<Vec<Ready>> =
        LazyLock::new(|| SCENARIOS.iter().map(|&(name, text)| Ready { name, summary: summary(text), text }).collect());
    &READY
}

fn summary(text: &'static str) -> &'static str {
    text.lines().next().and_then(|line| line.strip_prefix('#')).unwrap_or("").trim()
}

/// Names of the recorded links that come with Sojourn, without [`PREFIX`].
pub(crate) fn trace_names() -> impl Iterator<Item = &'static str> {
    TRACES.iter().map(|&(name, _)| name)
}

/// The recorded link `name`, without [`PREFIX`].
pub(crate) fn trace(name: &str) -> Option<Arc<Trace>> {
    let (name, text) = TRACES.iter().find(|(known, _)| *known == name)?;
    Some(Arc::new(Trace::read(&format!("{PREFIX}{name}"), *text).expect("tested: it is a recording")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_that_come_with_sojourn_are_read() {
        for name in trace_names() {
            assert!(trace(name).unwrap().opportunities_ms.len() > 1000);
        }
    }
}
