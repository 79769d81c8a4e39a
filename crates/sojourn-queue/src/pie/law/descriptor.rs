//! What a PIE law is made of, for the descriptors of the disciplines that contain one.

use sojourn_core::Span;
use sojourn_core::registry::{Kind, Parameter, Setting, Unit, Value};

const POSITIVE: Kind = Kind::Span { min: Span::from_micros(1), max: Span::from_secs(100) };
const POSITIVE_OR_TINY: Kind = Kind::Span { min: Span::from_nanos(1), max: Span::from_secs(100) };
const ANY: Kind = Kind::Span { min: Span::ZERO, max: Span::from_secs(100) };

/// How the probability and the burst allowance move.
pub(crate) const CONTROLLER: &[Parameter] = &[
    Parameter {
        name: "target",
        kind: POSITIVE,
        default: Value::Span(Span::from_millis(15)),
        description: "queueing delay aimed at (QDELAY_REF)",
    },
    Parameter {
        name: "update",
        kind: POSITIVE,
        default: Value::Span(Span::from_millis(15)),
        description: "time between two computations of the drop probability (T_UPDATE)",
    },
    Parameter {
        name: "alpha",
        kind: Kind::Number { min: 0.0, max: 100.0 },
        default: Value::Number(0.125),
        description: "what an update adds to the probability for each second by which the delay exceeds target, before tuning (tc counts in sixteenths: 2)",
    },
    Parameter {
        name: "beta",
        kind: Kind::Number { min: 0.0, max: 1000.0 },
        default: Value::Number(1.25),
        description: "what an update adds for each second by which the delay has grown since the last one, before tuning (tc: 20)",
    },
    Parameter {
        name: "tuning",
        kind: Kind::Choice(&["rfc8033", "rfc8034"]),
        default: Value::Choice("rfc8033"),
        description: "a step is divided by 2048, 512, 128, 32, 8 or 2 where the probability is below 1e-6, 1e-5 ... 0.1; from there on it is as it is and the probability ends at 1 (RFC 8033), or it is multiplied by 2, from 1 by 8, from 10 by 32, and ends at 0.85 mean_packet/64, of which no packet meets more than 0.85 (RFC 8034)",
    },
    Parameter {
        name: "decay",
        kind: Kind::Number { min: 0.0, max: 1.0 },
        default: Value::Number(0.98),
        description: "factor of the probability at an update without congestion",
    },
    Parameter {
        name: "decay_below",
        kind: Kind::OrAuto(&POSITIVE_OR_TINY),
        default: Value::Span(Span::from_nanos(1)),
        description: "there is no congestion where this delay and the last are below it: 1 ns stands for no delay at all (RFC 8033 section 4.2 and appendix A, Linux, ns-3), auto is half of target (RFC 8033 appendix B)",
    },
    Parameter {
        name: "decay_with_backlog",
        kind: Kind::Boolean,
        default: Value::Boolean(true),
        description: "whether the probability decays while packets wait, too (Linux does not let it)",
    },
    Parameter {
        name: "boost_above",
        kind: Kind::OrAuto(&POSITIVE),
        default: Value::Auto,
        description: "delay above which an update adds 0.02 more (Linux 250 ms, RFC 8034 200 ms); auto is never",
    },
    Parameter {
        name: "cap",
        kind: Kind::Boolean,
        default: Value::Boolean(false),
        description: "whether a step is at most 0.02 where the probability is 0.1 or more (optional in RFC 8033 section 5.5; Linux, ns-3, RFC 8034)",
    },
    Parameter {
        name: "burst",
        kind: ANY,
        default: Value::Span(Span::from_millis(150)),
        description: "how long nothing is dropped when congestion begins (MAX_BURST)",
    },
    Parameter {
        name: "burst_begins",
        kind: Kind::Choice(&["arrival", "drop"]),
        default: Value::Choice("arrival"),
        description: "when the allowance begins to be used up: with the first arrival after quiet times (RFC 8033, Linux, ns-3), or with the first drop, until which the probability is computed as ever (RFC 8034)",
    },
    Parameter {
        name: "burst_falls",
        kind: Kind::Choice(&["updates", "departures"]),
        default: Value::Choice("updates"),
        description: "when the burst allowance is reduced by the time that has passed: at updates, or at departures (Linux)",
    },
    Parameter {
        name: "hold",
        kind: Kind::Boolean,
        default: Value::Boolean(false),
        description: "whether the probability stays 0 while the burst allowance lasts (RFC 8034, ns-3), instead of rising unused",
    },
    Parameter {
        name: "quiet",
        kind: ANY,
        default: Value::Span(Span::ZERO),
        description: "the burst allowance is restored when the probability is 0 and both delays are below half of target: at once (0), or once that has lasted longer than this since the allowance was used up (RFC 8034 1 s, ns-3 1.5 s)",
    },
];

/// How delay is measured, and what becomes of an arrival.
pub(crate) const ARRIVALS: &[Parameter] = &[
    Parameter {
        name: "estimator",
        kind: Kind::Choice(&["timestamp", "departure-rate", "link-rate"]),
        default: Value::Choice("timestamp"),
        description: "where the delay comes from: what the latest packet to leave had waited, 0 if it left the queue empty; the bytes waiting over the departure rate, measured while 16 KB wait; or those bytes over the link's rate (RFC 8034)",
    },
    Parameter {
        name: "rate_weight",
        kind: Kind::Number { min: 1e-6, max: 1.0 },
        default: Value::Number(0.25),
        description: "weight of a new measurement of the departure rate (RFC 8033 0.25, of its inverse; Linux 0.125; ns-3 0.5)",
    },
    Parameter {
        name: "guard",
        kind: Kind::Choice(&["at-most", "below", "packets"]),
        default: Value::Choice("at-most"),
        description: "nothing is dropped early while at most (RFC 8033) or less than (Linux) the bytes of two packets of mean_packet wait, or at most two packets of any size (ns-3 with a limit in packets)",
    },
    Parameter {
        name: "guard_delay",
        kind: Kind::Choice(&["updated", "latest"]),
        default: Value::Choice("updated"),
        description: "nothing is dropped early while the probability is below 0.2 and this delay below half of target: that of the last update (RFC 8033), or that of the last departure (Linux)",
    },
    Parameter {
        name: "mean_packet",
        kind: Kind::OrAuto(&Kind::Integer { min: 1, max: 65_535 }),
        default: Value::Auto,
        description: "bytes of a typical packet (MEAN_PKTSIZE), for guard and by_size; auto is the link's full-size packet",
    },
    Parameter {
        name: "by_size",
        kind: Kind::Boolean,
        default: Value::Boolean(false),
        description: "whether a packet is dropped with the probability times its size over mean_packet (tc bytemode, RFC 8034)",
    },
    Parameter {
        name: "derandomize",
        kind: Kind::Boolean,
        default: Value::Boolean(false),
        description: "whether nothing is dropped until the probabilities since the last drop add up to 0.85, and the next packet at 8.5 (optional in RFC 8033 section 5.4; Linux, RFC 8034, where with tuning rfc8034 packets that are left alone add to it, too)",
    },
    Parameter {
        name: "ecn",
        kind: Kind::Boolean,
        default: Value::Boolean(false),
        description: "whether ECN-capable packets are marked instead of dropped early, up to mark_p",
    },
    Parameter {
        name: "mark_p",
        kind: Kind::Number { min: 0.0, max: 1.0 },
        default: Value::Number(0.1),
        description: "with ecn: probability above which ECN-capable packets are dropped all the same (mark_ecnth)",
    },
];

/// What Linux's PIE has otherwise than RFC 8033.
pub(crate) const LINUX: &[(&str, Value)] = &[
    ("decay", Value::Number(1.0 - 1.0 / 64.0)),
    ("decay_with_backlog", Value::Boolean(false)),
    ("boost_above", Value::Span(Span::from_millis(250))),
    ("cap", Value::Boolean(true)),
    ("burst_falls", Value::Choice("departures")),
    ("rate_weight", Value::Number(0.125)),
    ("guard", Value::Choice("below")),
    ("guard_delay", Value::Choice("latest")),
    ("derandomize", Value::Boolean(true)),
];

/// What ns-3's PIE has otherwise than RFC 8033.
pub(crate) const NS3: &[(&str, Value)] = &[
    ("cap", Value::Boolean(true)),
    ("hold", Value::Boolean(true)),
    ("quiet", Value::Span(Span::from_millis(1500))),
    ("rate_weight", Value::Number(0.5)),
    ("guard", Value::Choice("packets")),
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
