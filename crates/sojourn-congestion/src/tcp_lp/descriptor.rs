//! What TCP-LP is and what can be set.

use crate::newreno::Halve;
use crate::reno::Arithmetic;
use crate::{newreno, reno};
use sojourn_core::Span;
use sojourn_core::registry::declare::{choice, flag, integer, number, span, unless_auto};
use sojourn_core::registry::{Descriptor, Form, Linux, Preset, Value, joined};
use sojourn_core::{choices, parameters};

/// What the module does, wherever it runs.
const MODULE: &[(&str, Value)] = &[
    ("indicates_from", IndicatesFrom::Start.value()),
    ("once_per_rtt", Value::Boolean(false)),
    ("indicates", Indicates::Reached.value()),
    ("extremes", Extremes::Reset.value()),
    ("greatest", Greatest::Second.value()),
    ("resume", Resume::SlowStart.value()),
    ("halve", Value::Choice("window")),
    ("tick", Value::Span(Span::from_millis(1))),
    ("registers", Registers::Bits32.value()),
];

/// What the kernel adds: its timestamps, its arithmetic, the order of its steps.
const KERNEL: &[(&str, Value)] = &[
    ("delay_from", DelayFrom::Echo.value()),
    ("remote_clock", RemoteClock::Estimated.value()),
    ("clock_offset", Value::Auto),
    ("arithmetic", Value::Choice("whole")),
    ("indication", Indication::GrowsToo.value()),
];

static LINUX: [(&str, Value); MODULE.len() + KERNEL.len()] = joined(&[MODULE, KERNEL]);

choices! {
    /// Words of `indicates_from`.
    pub(super) enum IndicatesFrom { FirstLoss = "first-loss", Start = "start" }
    /// Words of `indicates`.
    pub(super) enum Indicates { Above = "above", Reached = "reached" }
    /// Words of `extremes`.
    pub(super) enum Extremes { Keep = "keep", Reset = "reset" }
    /// Words of `greatest`.
    pub(super) enum Greatest { Highest = "highest", Second = "second" }
    /// Words of `indication`.
    pub(super) enum Indication { Cuts = "cuts", GrowsToo = "grows-too" }
    /// Words of `resume`.
    pub(super) enum Resume { Avoidance = "avoidance", SlowStart = "slow-start" }
    /// Words of `inference_holds`.
    pub(super) enum InferenceHolds { Growth = "growth", Avoidance = "avoidance" }
    /// Words of `delay_from`.
    pub(super) enum DelayFrom { Segment = "segment", Echo = "echo" }
    /// Words of `remote_clock`.
    pub(super) enum RemoteClock { Known = "known", Estimated = "estimated" }
    /// Words of `registers`.
    pub(super) enum Registers { Wide = "wide", Bits32 = "32-bit" }
}

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        arithmetic: Arithmetic = reno::ARITHMETIC,
        /// part of the range from least to greatest one-way delay, in hundredths, beyond which the smoothed delay
        /// indicates congestion (delta)
        threshold: f64 = number(0.15, 0.01..=1.0),
        /// samples over which one-way delay is smoothed: a new one weighs 1/smoothing (gamma = 1/8)
        smoothing: u64 = integer(8, 1..=1024),
        /// round trips after an indication during which the window does not grow and another indication leaves one
        /// segment (inference phase)
        inference: f64 = number(3.0, 0.0..=1000.0),
        /// since when indications count: slow start learns the range of delays until the first loss (paper), or from the
        /// first sample on (modules)
        indicates_from: IndicatesFrom = choice(IndicatesFrom::FirstLoss.value()),
        /// whether indications within a round trip after a reaction, or after a loss, are ignored (paper); modules react
        /// to each
        once_per_rtt: bool = flag(true),
        /// whether the smoothed delay must exceed the threshold or reach it (Linux)
        indicates: Indicates = choice(Indicates::Above.value()),
        /// what an indication does to least and greatest delay: nothing (paper), or they become the smoothed delay and
        /// twice that (modules)
        extremes: Extremes = choice(Extremes::Keep.value()),
        /// the greatest delay: the highest seen (paper), or the highest but one (modules)
        greatest: Greatest = choice(Greatest::Highest.value()),
        /// whether the acknowledgement with which the inference phase begins only lowers the window, or then opens it
        /// like any other (Linux)
        indication: Indication = choice(Indication::Cuts.value()),
        /// how a window grows after an indication: by one segment per round trip (paper), or as the slow-start threshold
        /// says, which modules leave where it was
        resume: Resume = choice(Resume::Avoidance.value()),
        /// what the inference phase stops: all growth, or only congestion avoidance and not slow start (ns-3)
        inference_holds: InferenceHolds = choice(InferenceHolds::Growth.value()),
        halve: Halve = newreno::HALVE,
        /// what one-way delay counts from: when the segment that was acknowledged was sent, or the time that the
        /// acknowledgement echoes (RFC 7323), which stays that of the last segment before a hole until the hole is filled
        /// (modules)
        delay_from: DelayFrom = choice(DelayFrom::Segment.value()),
        /// granularity of the timestamps whose difference is the one-way delay; modules have 1 ms
        tick: Span = span(Span::from_nanos(1), Span::from_nanos(1)..=Span::from_secs(1)),
        /// whether the rate of the receiver's timestamps is known, or estimated from every two acknowledgements as in
        /// Linux, where it errs when they are about a tick apart
        remote_clock: RemoteClock = choice(RemoteClock::Known.value()),
        /// time by which the receiver's timestamps are ahead; auto is any 32-bit number of ticks at random, as Linux
        /// gives every connection since 4.10
        clock_offset: Option<Span> = unless_auto(&span(Span::ZERO, Span::ZERO..=Span::from_secs(4_294_967))),
        /// whether sums of delays are exact, or wrap in unsigned 32-bit registers as in modules
        registers: Registers = choice(Registers::Wide.value()),
    }
}

/// What `tcp_lp` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "tcp_lp",
    summary: "TCP Low Priority: Reno that takes growing one-way delay as early congestion, halves, watches, and stops at one segment",
    sources: &[
        "Kuzmanovic and Knightly, TCP-LP: A Distributed Algorithm for Low Priority Data Transfer, INFOCOM 2003",
        "Linux 6.1 net/ipv4/tcp_lp.c",
        "ns-3 src/internet/model/tcp-lp.cc",
    ],
    parameters: &Parameters::LIST,
    presets: &[
        Preset { name: "paper", summary: "Kuzmanovic and Knightly", values: &[] },
        Preset {
            name: "linux",
            summary: "Linux tcp_lp: milliseconds with a random offset in 32 bits, extremes reset by every indication",
            values: &LINUX,
        },
        Preset {
            name: "ns2",
            summary: "ns-2.35 Agent/TCP/Linux with the module of Linux 2.6.22: both ends read one clock, and no duplicate acknowledgement, which would echo an old time, reaches the module",
            values: MODULE,
        },
        Preset {
            name: "ns3",
            summary: "ns-3 TcpLp: as Linux, but with one clock, an indication only above the threshold, and slow start during inference",
            values: &[
                ("indicates_from", IndicatesFrom::Start.value()),
                ("once_per_rtt", Value::Boolean(false)),
                ("extremes", Extremes::Reset.value()),
                ("greatest", Greatest::Second.value()),
                ("resume", Resume::SlowStart.value()),
                ("inference_holds", InferenceHolds::Avoidance.value()),
                ("halve", Value::Choice("pipe")),
                ("delay_from", DelayFrom::Echo.value()),
                ("tick", Value::Span(Span::from_millis(1))),
                ("registers", Registers::Bits32.value()),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form { name: "lp", module: "tcp_lp", ..Form::PLAIN }]),
    low_priority: true,
    ..Descriptor::PLAIN
};
