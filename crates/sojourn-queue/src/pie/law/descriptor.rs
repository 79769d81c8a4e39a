//! What a PIE law is made of, for the descriptors of the disciplines that contain one.

use core::ops::RangeInclusive;
use sojourn_core::registry::declare::{choice, flag, integer_in, number, or_auto, span, span_in, unless_auto};
use sojourn_core::registry::{Setting, Unit, Value};
use sojourn_core::{Span, choices, parameters};

const POSITIVE: RangeInclusive<Span> = Span::from_micros(1)..=Span::from_secs(100);
const POSITIVE_OR_TINY: RangeInclusive<Span> = Span::from_nanos(1)..=Span::from_secs(100);
const ANY: RangeInclusive<Span> = Span::ZERO..=Span::from_secs(100);

choices! {
    /// When the burst allowance begins to be used up.
    pub(crate) enum Begins { Arrival = "arrival", Drop = "drop" }
    /// When the burst allowance is reduced.
    pub(crate) enum Falls { Updates = "updates", Departures = "departures" }
    /// How steps are scaled.
    pub(crate) enum Tuning { Rfc8033 = "rfc8033", Rfc8034 = "rfc8034" }
    /// Where the delay comes from.
    pub(crate) enum Source { Timestamp = "timestamp", DepartureRate = "departure-rate", LinkRate = "link-rate" }
    /// How little may wait for nothing to be dropped early.
    pub(crate) enum Guard { AtMost = "at-most", Below = "below", Packets = "packets" }
    /// Whose delay has to be low for nothing to be dropped early.
    pub(crate) enum LowDelayOf { Update = "updated", Departure = "latest" }
}

parameters! {
    /// What can be set of a law.
    pub(crate) struct Parameters {
        /// queueing delay aimed at (QDELAY_REF)
        target: Span = span(Span::from_millis(15), POSITIVE),
        /// time between two computations of the drop probability (T_UPDATE)
        update: Span = span(Span::from_millis(15), POSITIVE),
        /// what an update adds to the probability for each second by which the delay exceeds target, before tuning (tc counts
        /// in sixteenths: 2)
        alpha: f64 = number(0.125, 0.0..=100.0),
        /// what an update adds for each second by which the delay has grown since the last one, before tuning (tc: 20)
        beta: f64 = number(1.25, 0.0..=1000.0),
        /// a step is divided by 2048, 512, 128, 32, 8 or 2 where the probability is below 1e-6, 1e-5 ... 0.1; from there on it
        /// is as it is and the probability ends at 1 (RFC 8033), or it is multiplied by 2, from 1 by 8, from 10 by 32, and
        /// ends at 0.85 mean_packet/64, of which no packet meets more than 0.85 (RFC 8034)
        tuning: Tuning = choice(Tuning::Rfc8033.value()),
        /// factor of the probability at an update without congestion
        decay: f64 = number(0.98, 0.0..=1.0),
        /// there is no congestion where this delay and the last are below it: 1 ns stands for no delay at all (RFC 8033
        /// section 4.2 and appendix A, Linux, ns-3), auto is half of target (RFC 8033 appendix B)
        decay_below: Option<Span> = unless_auto(&span(Span::from_nanos(1), POSITIVE_OR_TINY)),
        /// whether the probability decays while packets wait, too (Linux does not let it)
        decay_with_backlog: bool = flag(true),
        /// delay above which an update adds 0.02 more (Linux 250 ms, RFC 8034 200 ms); auto is never
        boost_above: Option<Span> = or_auto(&span_in(POSITIVE)),
        /// whether a step is at most 0.02 where the probability is 0.1 or more (optional in RFC 8033 section 5.5; Linux, ns-3,
        /// RFC 8034)
        cap: bool = flag(false),
        /// how long nothing is dropped when congestion begins (MAX_BURST)
        burst: Span = span(Span::from_millis(150), ANY),
        /// when the allowance begins to be used up: with the first arrival after quiet times (RFC 8033, Linux, ns-3), or with
        /// the first drop, until which the probability is computed as ever (RFC 8034)
        burst_begins: Begins = choice(Begins::Arrival.value()),
        /// when the burst allowance is reduced by the time that has passed: at updates, or at departures (Linux)
        burst_falls: Falls = choice(Falls::Updates.value()),
        /// whether the probability stays 0 while the burst allowance lasts (RFC 8034, ns-3), instead of rising unused
        hold: bool = flag(false),
        /// the burst allowance is restored when the probability is 0 and both delays are below half of target: at once (0), or
        /// once that has lasted longer than this since the allowance was used up (RFC 8034 1 s, ns-3 1.5 s)
        quiet: Span = span(Span::ZERO, ANY),

        /// where the delay comes from: what the latest packet to leave had waited, 0 if it left the queue empty; the bytes
        /// waiting over the departure rate, measured while 16 KB wait; or those bytes over the link's rate (RFC 8034)
        estimator: Source = choice(Source::Timestamp.value()),
        /// weight of a new measurement of the departure rate (RFC 8033 0.25, of its inverse; Linux 0.125; ns-3 0.5)
        rate_weight: f64 = number(0.25, 1e-6..=1.0),
        /// nothing is dropped early while at most (RFC 8033) or less than (Linux) the bytes of two packets of mean_packet
        /// wait, or at most two packets of any size (ns-3 with a limit in packets)
        guard: Guard = choice(Guard::AtMost.value()),
        /// nothing is dropped early while the probability is below 0.2 and this delay below half of target: that of the last
        /// update (RFC 8033), or that of the last departure (Linux)
        guard_delay: LowDelayOf = choice(LowDelayOf::Update.value()),
        /// bytes of a typical packet (MEAN_PKTSIZE), for guard and by_size; auto is the link's full-size packet
        mean_packet: Option<u32> = or_auto(&integer_in(1..=65_535)),
        /// whether a packet is dropped with the probability times its size over mean_packet (tc bytemode, RFC 8034)
        by_size: bool = flag(false),
        /// whether nothing is dropped until the probabilities since the last drop add up to 0.85, and the next packet at 8.5
        /// (optional in RFC 8033 section 5.4; Linux, RFC 8034, where with tuning rfc8034 packets that are left alone add to
        /// it, too)
        derandomize: bool = flag(false),
        /// whether ECN-capable packets are marked instead of dropped early, up to mark_p
        ecn: bool = flag(false),
        /// with ecn: probability above which ECN-capable packets are dropped all the same (mark_ecnth)
        mark_p: f64 = number(0.1, 0.0..=1.0),
    }
}

/// What Linux's PIE has otherwise than RFC 8033.
pub(crate) const LINUX: &[(&str, Value)] = &[
    ("decay", Value::Number(1.0 - 1.0 / 64.0)),
    ("decay_with_backlog", Value::Boolean(false)),
    ("boost_above", Value::Span(Span::from_millis(250))),
    ("cap", Value::Boolean(true)),
    ("burst_falls", Falls::Departures.value()),
    ("rate_weight", Value::Number(0.125)),
    ("guard", Guard::Below.value()),
    ("guard_delay", LowDelayOf::Departure.value()),
    ("derandomize", Value::Boolean(true)),
];

/// What ns-3's PIE has otherwise than RFC 8033.
pub(crate) const NS3: &[(&str, Value)] = &[
    ("cap", Value::Boolean(true)),
    ("hold", Value::Boolean(true)),
    ("quiet", Value::Span(Span::from_millis(1500))),
    ("rate_weight", Value::Number(0.5)),
    ("guard", Guard::Packets.value()),
    ("mean_packet", Value::Integer(1000)),
];

/// How `tc` is told.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting::option("target", "target", Unit::Micros),
    Setting::option("update", "tupdate", Unit::Micros),
    Setting::option("alpha", "alpha", Unit::Sixteenths),
    Setting::option("beta", "beta", Unit::Sixteenths),
    Setting::flag("by_size", "bytemode", "nobytemode"),
    Setting::flag("ecn", "ecn", "noecn"),
    Setting::words("estimator", &[("timestamp", "no_dq_rate_estimator"), ("departure-rate", "dq_rate_estimator")]),
];

/// What a Linux user is to know of `update`.
pub(crate) const UPDATE_IN_LINUX: &str = "the time between updates is rounded up to the kernel's ticks: 10 ms in user-mode Linux, 4 ms in Debian's own kernel";
