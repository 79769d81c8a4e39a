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
        &[$(($name, {
            const TEXT: &[u8] = include_bytes!(concat!("../scenarios/traces/", $name));
            static STEPS: [u8; step_bytes(TEXT)] = steps(TEXT);
            &STEPS
        })),*]
    };
}

/// The ms from each opportunity of a recording to the next, in a byte each: a fifth of the text, which a page in a browser
/// fetches. [`FAR`] stands for as many ms that lead to no opportunity yet.
#[allow(long_running_const_eval, reason = "as many steps as there are letters in the files")]
const fn steps<const N: usize>(text: &[u8]) -> [u8; N] {
    let mut steps = [0; N];
    let (mut place, mut byte, mut before) = (0, 0, 0);
    while place < text.len() {
        let (time, next) = number(text, place);
        let mut step = time - before;
        while step >= FAR as u64 {
            steps[byte] = FAR;
            step -= FAR as u64;
            byte += 1;
        }
        steps[byte] = step as u8;
        byte += 1;
        (place, before) = (next, time);
    }
    steps
}

/// How many bytes [`steps`] makes of a recording.
#[allow(long_running_const_eval, reason = "as many steps as there are letters in the files")]
const fn step_bytes(text: &[u8]) -> usize {
    let (mut place, mut bytes, mut before) = (0, 0, 0);
    while place < text.len() {
        let (time, next) = number(text, place);
        bytes += 1 + ((time - before) / FAR as u64) as usize;
        (place, before) = (next, time);
    }
    bytes
}

/// A step that leads to no opportunity yet.
const FAR: u8 = u8::MAX;

/// The number in the line that starts at `place`, and where the next line starts.
const fn number(text: &[u8], mut place: usize) -> (u64, usize) {
    let mut number = 0;
    while place < text.len() && text[place] != b'\n' {
        assert!(text[place].is_ascii_digit(), "a recording that comes with Sojourn has one number per line");
        number = 10 * number + (text[place] - b'0') as u64;
        place += 1;
    }
    (number, place + 1)
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
    let (name, steps) = TRACES.iter().find(|(known, _)| *known == name)?;
    let mut now_ms = 0;
    let after = |&step: &u8| {
        now_ms += u64::from(step);
        (step != FAR).then_some(now_ms)
    };
    let opportunities_ms = steps.iter().filter_map(after).collect();
    Some(Arc::new(Trace { name: format!("{PREFIX}{name}"), opportunities_ms }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is embedded is what the files say.
    #[test]
    fn recordings_are_those_of_the_files() {
        for name in trace_names() {
            let path = format!("{}/scenarios/traces/{name}", env!("CARGO_MANIFEST_DIR"));
            let text = std::fs::read(path).unwrap();
            let read = Trace::read(&format!("{PREFIX}{name}"), text.as_slice()).expect("a valid recording");
            assert_eq!(*trace(name).unwrap(), read);
        }
    }

    #[test]
    fn long_gaps_take_several_steps() {
        const TEXT: &[u8] = b"0\n3\n3\n258\n1000\n";
        let steps = steps::<{ step_bytes(TEXT) }>(TEXT);
        assert_eq!(steps, [0, 3, 0, FAR, 0, FAR, FAR, 232]);
    }
}
