//! What can be set of Prague.

use sojourn_core::registry::declare::{choice, flag, integer, number, rate_or_auto, span};
use sojourn_core::registry::{Descriptor, Linux, Preset, Value};
use sojourn_core::{Rate, Span};
use sojourn_core::{choices, parameters};

choices! {
    /// Words of `first_mark`.
    pub(super) enum FirstMark { Alpha = "alpha", Halves = "halves" }
    /// Words of `spacing`.
    pub(super) enum Spacing { Time = "time", Rounds = "rounds" }
}

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        /// weight of the last round's marked part in alpha (g)
        gain: f64 = number(1.0 / 16.0, 1.0 / 1024.0..=1.0),
        /// what a flow's first mark does: sets alpha to 1, or halves the window and leaves alpha to grow from 0
        first_mark: FirstMark = choice(FirstMark::Alpha.value()),
        /// round-trip time that flows with a shorter one behave as if they had (RTT_VIRT_MIN); 0 s is none
        virtual_rtt: Span = span(Span::from_millis(25), Span::ZERO..=Span::from_millis(100)),
        /// rounds outside slow start after which the virtual round trip counts
        transition: u64 = integer(500, 0..=1_000_000),
        /// how far apart reductions are at least: a virtual round trip, or as many whole round trips as last that long
        /// (the module hears of marks once per round trip)
        spacing: Spacing = choice(Spacing::Time.value()),
        /// whether a loss within a (virtual) round trip of a mark first gives back what the mark took
        loss_credit: bool = flag(true),
        /// payload rate down to which the window's fractions, and pacing with them, may fall below two segments; auto
        /// keeps two
        min_rate: Option<Rate> = rate_or_auto(),
        /// whether it looks for a classic AQM in the deviation and the length of round-trip times (RFC 9331 section 4.3), and
        /// answers its marks about as Reno does (`prague_ecn_fallback` of the Linux module, where it is off)
        classic_fallback: bool = flag(false),
    }
}

/// What `prague` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "prague",
    summary: "DCTCP for the Internet: ECT(1), little dependence on the round-trip time, paced fractional windows; for L4S queues",
    sources: &[
        "draft-briscoe-iccrg-prague-congestion-control-04, through implementations of it",
        "RFC 9331",
        "L4STeam Linux net/ipv4/tcp_prague.c 0.7, 0.6",
        "arXiv:1911.00710",
        "Chromium quiche prague_sender.cc",
    ],
    parameters: &Parameters::LIST,
    presets: &[
        Preset { name: "draft", summary: "draft 04, as Chromium has it with Reno's increase", values: &[] },
        Preset {
            name: "linux",
            summary: "the L4S team's Linux module 0.7: virtual round trip after 4 rounds, down to 100 kbit/s",
            values: &[
                ("first_mark", FirstMark::Halves.value()),
                ("transition", Value::Integer(4)),
                ("spacing", Spacing::Rounds.value()),
                ("loss_credit", Value::Boolean(false)),
                ("min_rate", Value::Rate(MIN_RATE)),
            ],
        },
    ],
    linux: Linux::Absent("Prague lives in the L4S team's own kernel"),
    ..Descriptor::PLAIN
};

/// `MINIMUM_RATE` of the module.
const MIN_RATE: Rate = match Rate::from_bits_per_second(100_000) {
    Some(rate) => rate,
    None => unreachable!(),
};
