//! What CDG is and what can be set.

use crate::reno;
use crate::reno::Arithmetic;
use sojourn_core::Span;
use sojourn_core::registry::declare::{choice, flag, integer, number, span, unless_auto};
use sojourn_core::registry::{Descriptor, Form, Linux, Preset, Value};
use sojourn_core::{choices, parameters};

choices! {
    /// Words of `first_samples`.
    pub(super) enum FirstSamples { Zeros = "zeros", Extrapolate = "extrapolate" }
    /// Words of `slow_start_gradient`.
    pub(super) enum SlowStartGradient { Latest = "latest", Average = "average" }
    /// Words of `shadow`.
    pub(super) enum Shadow { Off = "off", UntilEmpty = "until-empty", Keep = "keep" }
    /// Words of `repairs`.
    pub(super) enum Repairs { Count = "count", LeftOut = "left-out" }
    /// Words of `first_round`.
    pub(super) enum FirstRound { Data = "data", Handshake = "handshake" }
    /// Words of `hystart`.
    pub(super) enum Hystart { Off = "off", Train = "train", Delay = "delay", Both = "both" }
}

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        arithmetic: Arithmetic = reno::ARITHMETIC,
        /// what a gradient's back-off leaves of the window (beta)
        backoff: f64 = number(0.7, 0.01..=1.0),
        /// what a loss leaves of the window
        loss_backoff: f64 = number(0.5, 0.01..=1.0),
        /// average gradient g per round trip at which the flow backs off with probability 1 - 1/e (G): it does so with 1
        /// - exp(-g/G)
        scale: Span = span(Span::from_millis(3), Span::from_nanos(1)..=Span::from_secs(10)),
        /// gradients that are averaged
        samples: u64 = integer(8, 1..=256),
        /// how fewer gradients than samples are averaged: as if the missing ones were zero, or over those that are there
        /// (Linux)
        first_samples: FirstSamples = choice(FirstSamples::Zeros.value()),
        /// whether slow start looks at the latest gradient first, or at the average as later (Linux)
        slow_start_gradient: SlowStartGradient = choice(SlowStartGradient::Latest.value()),
        /// sum of gradients that does not yet count as a change of the queue (Linux: 32 us)
        noise: Span = span(Span::ZERO, Span::ZERO..=Span::from_secs(1)),
        /// back-offs without a falling queue after which gradients are ignored, as others do not back off; auto is never,
        /// for scavengers
        ineffective: Option<u64> = unless_auto(&integer(5, 1..=1_000_000)),
        /// back-offs that are then ignored before they count again; auto is until the queue falls (Linux)
        hold: Option<u64> = unless_auto(&integer(5, 1..=1_000_000)),
        /// the window that losses alone would have left and that a loss restores in part: none, forgotten when the queue
        /// empties, or kept (Linux)
        shadow: Shadow = choice(Shadow::UntilEmpty.value()),
        /// whether a loss leaves the window where gradients say that the queue is not full
        tolerance: bool = flag(true),
        /// what becomes of the round-trip times that are measured while a loss is repaired: they are a part of the round
        /// that ends after it, or only what the next round is compared with, and what is known of the queue is forgotten
        /// (Linux)
        repairs: Repairs = choice(Repairs::Count.value()),
        /// whether the first round has the round-trip times of data alone, or the handshake's too (Linux, of the side
        /// that connects)
        first_round: FirstRound = choice(FirstRound::Data.value()),
        /// what ends slow start before gradients do: trains of acknowledgements of half the least RTT, a round's RTT
        /// above 9/8 of it, or either (Linux)
        hystart: Hystart = choice(Hystart::Off.value()),
        /// granularity of round-trip times, which are rounded down to it
        tick: Span = span(Span::from_nanos(1), Span::from_nanos(1)..=Span::from_secs(1)),
    }
}

/// What `cdg` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "cdg",
    summary: "CAIA delay gradient: backs off at random where round-trip times rise from round to round, without any delay threshold",
    sources: &[
        "Hayes and Armitage, Revisiting TCP Congestion Control using Delay Gradients, IFIP Networking 2011",
        "FreeBSD sys/netinet/cc/cc_cdg.c",
        "Linux net/ipv4/tcp_cdg.c",
    ],
    parameters: &Parameters::LIST,
    presets: &[
        Preset { name: "paper", summary: "the authors' rules with exact round-trip times", values: &[] },
        Preset {
            name: "freebsd",
            summary: "FreeBSD cc_cdg, by the authors, with a clock of 1000 Hz",
            values: &[("tick", Value::Span(Span::from_millis(1)))],
        },
        Preset {
            name: "linux",
            summary: "Linux tcp_cdg: backs off to 724/1024, averages over what is there, hybrid slow start, no loss tolerance",
            values: &[
                ("backoff", Value::Number(724.0 / 1024.0)),
                ("scale", Value::Span(Span::from_nanos(2_976_190))),
                ("first_samples", FirstSamples::Extrapolate.value()),
                ("slow_start_gradient", SlowStartGradient::Average.value()),
                ("noise", Value::Span(Span::from_micros(32))),
                ("hold", Value::Auto),
                ("shadow", Shadow::Keep.value()),
                ("tolerance", Value::Boolean(false)),
                ("repairs", Repairs::LeftOut.value()),
                ("first_round", FirstRound::Handshake.value()),
                ("hystart", Hystart::Both.value()),
                ("tick", Value::Span(Span::from_micros(1))),
                ("arithmetic", Value::Choice("whole")),
            ],
        },
        Preset {
            name: "scavenger",
            summary: "Linux tcp_cdg as its authors advise for background traffic: without its heuristics for coexistence",
            values: &[
                ("backoff", Value::Number(724.0 / 1024.0)),
                ("scale", Value::Span(Span::from_nanos(2_976_190))),
                ("first_samples", FirstSamples::Extrapolate.value()),
                ("slow_start_gradient", SlowStartGradient::Average.value()),
                ("noise", Value::Span(Span::from_micros(32))),
                ("ineffective", Value::Auto),
                ("hold", Value::Auto),
                ("shadow", Shadow::Off.value()),
                ("tolerance", Value::Boolean(false)),
                ("repairs", Repairs::LeftOut.value()),
                ("first_round", FirstRound::Handshake.value()),
                ("hystart", Hystart::Both.value()),
                ("tick", Value::Span(Span::from_micros(1))),
                ("arithmetic", Value::Choice("whole")),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form { name: "cdg", module: "tcp_cdg", ..Form::PLAIN }]),
    ..Descriptor::PLAIN
};
