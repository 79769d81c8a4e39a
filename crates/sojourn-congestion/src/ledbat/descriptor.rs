//! What LEDBAT is and what can be set.

use super::history::Rollover;
use sojourn_core::Span;
use sojourn_core::registry::declare::{choice, flag, integer, number, number_in, or_auto, span, unless_auto};
use sojourn_core::registry::{Descriptor, Linux, Preset, Value};
use sojourn_core::{choices, parameters};

choices! {
    /// Words of `arithmetic`.
    pub(super) enum Arithmetic { Fractions = "fractions", Whole = "whole" }
    /// Words of `count`.
    pub(super) enum Count { Segments = "segments", Acks = "acks" }
    /// Words of `slow_start`.
    pub(super) enum SlowStart { Off = "off", UntilLoss = "until-loss", UntilDelay = "until-delay" }
    /// Words of `silent_periods`.
    pub(super) enum SilentPeriods { Skip = "skip", Forget = "forget" }
}

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        /// queueing delay aimed at (TARGET); the RFC allows at most 100 ms
        target: Span = span(Span::from_millis(100), Span::from_micros(100)..=Span::from_secs(10)),
        /// part of the delay at losses and marks that is aimed at where it is less than target; auto is target alone, as
        /// in the RFC
        target_part: Option<f64> = or_auto(&number_in(0.01..=1.0)),
        /// segments by which the window grows in a round trip without queueing delay (GAIN); the RFC allows at most 1,
        /// the growth of TCP
        gain: f64 = number(1.0, 1e-6..=100.0),
        /// the gain above the target, which the RFC allows to be higher; auto is gain
        decrease_gain: Option<f64> = or_auto(&number_in(1e-6..=1000.0)),
        /// segments by which the window may exceed what was in flight (ALLOWED_INCREASE); auto is no such bound, as in
        /// modules of TCP, which only ask that the window limited sending
        allowed_increase: Option<f64> = unless_auto(&number(1.0, 1e-6..=1e6)),
        /// first window in segments (INIT_CWND), but no larger than the transport's; auto is the transport's
        initial_window: Option<f64> = unless_auto(&number(2.0, 1.0..=1e6)),
        /// smallest window in segments (MIN_CWND), except after a timeout, which leaves 1
        min_window: f64 = number(2.0, 1.0..=1e6),
        /// whether the window moves in fractions of a segment, or in whole ones by a counter that a decrease sets to one
        /// acknowledgement below its top (modules of Linux and ns-2)
        arithmetic: Arithmetic = choice(Arithmetic::Fractions.value()),
        /// what a step of the window is weighted with: the acknowledged segments, or one for each acknowledgement (the
        /// RFC allows both)
        count: Count = choice(Count::Segments.value()),
        /// most segments by which one acknowledgement may shrink the window; auto is no bound. Whole arithmetic never
        /// takes more than 1
        max_decrease: Option<f64> = or_auto(&number_in(1e-6..=1e6)),
        /// whether a flow begins with slow start (RFC 5681), and whether queueing delay ends it as loss does; the RFC
        /// leaves slow start to the implementation
        slow_start: SlowStart = choice(SlowStart::Off.value()),
        /// part of target at which until-delay ends slow start (libutp: 0.9)
        slow_start_exit: f64 = number(0.9, 0.01..=10.0),
        /// minima kept for the base delay (BASE_HISTORY)
        base_history: u64 = integer(10, 1..=1000),
        /// time over which each of those minima is taken
        base_period: Span = span(Span::from_secs(60), Span::from_millis(1)..=Span::from_secs(86_400)),
        /// when a new period begins: at each full period of the clock (RFC), or at the first sample more than a period
        /// after the last beginning (modules)
        base_rollover: Rollover = choice(Rollover::Clock.value()),
        /// what periods without a sample do: nothing, as in the RFC's pseudocode, or push out a minimum each
        silent_periods: SilentPeriods = choice(SilentPeriods::Skip.value()),
        /// last samples whose minimum is the current delay (CURRENT_FILTER); 1 is no filter
        filter: u64 = integer(4, 1..=1000),
        /// whether samples older than a round trip leave the filter (RFC); modules keep them
        filter_within_rtt: bool = flag(true),
        /// granularity of delay samples, which are rounded down to it
        tick: Span = span(Span::from_nanos(1), Span::from_nanos(1)..=Span::from_secs(1)),
        /// whether the window is 1 after more than a smoothed round trip without acknowledgement
        silence_restarts: bool = flag(false),
    }
}

/// What `ledbat` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "ledbat",
    summary: "low extra delay background transport: keeps the queueing delay it sees at a target and yields to other traffic",
    sources: &[
        "RFC 6817",
        "draft-shalunov-ledbat-congestion-00",
        "TCP-LEDBAT src/tcp_ledbat.c, S. Valenti's module for Linux and for TCP-Linux in ns-2",
        "ns-3 src/internet/model/tcp-ledbat.cc",
    ],
    parameters: &Parameters::LIST,
    presets: &[
        Preset { name: "rfc", summary: "RFC 6817", values: &[] },
        Preset {
            name: "dynamic",
            summary: "RFC 6817 with a target that follows the queue: a quarter of the delay at losses. Sojourn's own",
            values: &[("target_part", Value::Number(0.25))],
        },
        Preset {
            name: "ns2",
            summary: "Valenti's module before 2012, with a target of 100 ms: whole segments, floor 1, no slow start",
            values: &[
                ("allowed_increase", Value::Auto),
                ("initial_window", Value::Auto),
                ("min_window", Value::Number(1.0)),
                ("arithmetic", Arithmetic::Whole.value()),
                ("count", Count::Acks.value()),
                ("base_history", Value::Integer(6)),
                ("base_rollover", Rollover::Elapsed.value()),
                ("filter", Value::Integer(3)),
                ("filter_within_rtt", Value::Boolean(false)),
                ("tick", Value::Span(Span::from_millis(1))),
            ],
        },
        Preset {
            name: "linux",
            summary: "Valenti's module since 2012: longer memory, and window 1 after a silent round trip",
            values: &[
                ("allowed_increase", Value::Auto),
                ("initial_window", Value::Auto),
                ("min_window", Value::Number(1.0)),
                ("arithmetic", Arithmetic::Whole.value()),
                ("count", Count::Acks.value()),
                ("base_rollover", Rollover::Elapsed.value()),
                ("filter_within_rtt", Value::Boolean(false)),
                ("tick", Value::Span(Span::from_millis(1))),
                ("silence_restarts", Value::Boolean(true)),
            ],
        },
        Preset {
            name: "ns3",
            summary: "ns-3 TcpLedbat: slow start until a loss, 9 minima and 3 samples for the 10 and 4 it is told",
            values: &[
                ("initial_window", Value::Auto),
                ("slow_start", SlowStart::UntilLoss.value()),
                ("base_history", Value::Integer(9)),
                ("base_rollover", Rollover::Elapsed.value()),
                ("filter", Value::Integer(3)),
                ("filter_within_rtt", Value::Boolean(false)),
                ("tick", Value::Span(Span::from_millis(1))),
            ],
        },
    ],
    linux: Linux::Absent("Linux has no LEDBAT"),
    low_priority: true,
    ..Descriptor::PLAIN
};
