//! What RED is and what can be set.

use crate::fifo::limit;
use sojourn_core::registry::declare::{
    amount_in, choice, flag, integer_in, number, number_in, or_auto, rate_or_auto, span,
};
use sojourn_core::registry::{Auto, Descriptor, Form, Linux, Parameter, Preset, Setting, Unit, Value};
use sojourn_core::{Amount, Rate, Span, choices, parameters};

/// `tc red` and its kin assume this rate where none is given.
pub(crate) const TC_BANDWIDTH: Rate = Rate::from_bits_per_second(10_000_000).expect("not zero");

/// `ns3::RedQueueDisc::LinkBandwidth` where it is not set.
const NS3_BANDWIDTH: Rate = Rate::from_bits_per_second(1_500_000).expect("not zero");

choices! {
    /// Words of `limit_counts`.
    pub(crate) enum LimitCounts { Packets = "packets", FullPackets = "full-packets", MeanPackets = "mean-packets" }
    /// Words of `limit_rule`.
    pub(crate) enum LimitRule { Fit = "fit", Below = "below" }
    /// In what the queue and its thresholds are measured.
    pub(crate) enum Measure { Packets = "packets", Bytes = "bytes" }
    /// Words of `auto_thresholds`.
    pub(crate) enum AutoThresholds { Delay = "delay", Limit = "limit" }
    /// Words of `auto_weight`.
    pub(crate) enum AutoWeight { Rtt = "rtt", Second = "second", Burst = "burst" }
    /// Words of `arithmetic`.
    pub(crate) enum Arithmetic { Real = "real", Whole = "whole" }
    /// How the gaps between drops are distributed.
    pub(crate) enum Rule {
        /// Floyd and Jacobson: p/(1 - count p).
        Uniform = "uniform",
        /// ns-2 `wait_`: nothing for 1/p arrivals, then p/(2 - count p).
        Wait = "wait",
        /// Linux: once count p reaches a number drawn in advance.
        Threshold = "threshold",
        /// p for each packet on its own.
        Independent = "none",
    }
    /// Whether large packets are more likely to be dropped.
    pub(crate) enum BySize {
        /// No.
        No = "no",
        /// p is scaled before it is spread.
        BeforeSpread = "before-spread",
        /// p is scaled after it was spread, and count is in whole units of the typical packet.
        AfterSpread = "after-spread",
    }
    /// Words of `idle_from`.
    pub(crate) enum IdleFrom { Wire = "wire", Queue = "queue" }
    /// Words of `ageing`.
    pub(crate) enum Ageing { Steps = "steps", Curve = "curve", Table = "table", None = "none" }
}

parameters! {
    /// All parameters of RED; those of Adaptive RED begin with them.
    pub(crate) struct Parameters {
        limit: Amount = limit(Amount::Packets(1000.0)),
        /// what a limit in packets stands for: packets of any size, or the bytes of that many full-size packets (Linux: the
        /// child is a bfifo) or of that many packets of mean_packet bytes (ns-2)
        limit_counts: LimitCounts = choice(LimitCounts::Packets.value()),
        /// who may enter: an arrival that fits, or any arrival while what waits is below the limit, which it may then exceed
        /// (ns-2)
        limit_rule: LimitRule = choice(LimitRule::Fit.value()),
        /// whether an overflow restarts the count of arrivals since the last drop (ns-2 does, Linux does not)
        limit_restarts_count: bool = flag(true),
        /// in what the queue, its average and the thresholds are measured
        unit: Measure = choice(Measure::Packets.value()),
        /// bytes of a typical packet (avpkt, mean_pktsize): what a threshold in packets, an idle transmission time and a
        /// scaled drop refer to; auto is the link's full-size packet
        mean_packet: Option<u32> = or_auto(&integer_in(1..=65_535)),
        /// average queue at which dropping begins (min_th)
        min: Option<Amount> = or_auto(&amount_in(0.0, false)),
        /// average queue at which the drop probability reaches max_p (max_th); auto is 3 times min where min is given
        max: Option<Amount> = or_auto(&amount_in(0.0, false)),
        /// the rule for auto: min is half of target_delay's worth of packets but at least 5 and max 3 times min (ns-2,
        /// Adaptive RED), or max is a quarter of limit and min a third of max (tc)
        auto_thresholds: AutoThresholds = choice(AutoThresholds::Delay.value()),
        /// queueing delay aimed at by the rule delay (targetdelay_)
        target_delay: Span = span(Span::from_millis(5), Span::from_micros(1)..=Span::from_secs(10)),
        /// drop probability as the average reaches max
        max_p: f64 = number(0.1, 1e-6..=1.0),
        /// weight of a new sample in the average (w_q); 1 is the queue of the moment
        weight: Option<f64> = or_auto(&number_in(1e-9..=1.0)),
        /// the rule for auto, with C typical packets a second: 1 - exp(-1/(10 rtt C)) with rtt of 0.1 s or, if longer, 3 times
        /// the link's delay (ns-2, q_weight_ -1), 1 - exp(-1/C) (Adaptive RED), or the largest power of 1/2 that lets a burst
        /// pass (tc)
        auto_weight: AutoWeight = choice(AutoWeight::Rtt.value()),
        /// packets of a burst that the rule burst lets pass; auto is (2 min + max)/(3 mean_packet)
        burst: Option<u32> = or_auto(&integer_in(1..=10_000_000)),
        /// how averages are computed: as real numbers, or as Linux does, in whole units of the weight, of which whole packets
        /// or bytes are forgotten and count above min; a weight must then be a power of 1/2
        arithmetic: Arithmetic = choice(Arithmetic::Real.value()),
        /// whether the probability rises on from max_p at max to 1 at 2 max, instead of jumping to 1
        gentle: bool = flag(true),
        /// whether every arrival is dropped once the probability is 1; if not the spreading still decides (ns-2 with
        /// use_mark_p_)
        forced: bool = flag(true),
        /// gaps between drops at probability p: uniform from 1 to 1/p by p/(1 - count p) (Floyd and Jacobson, method 2), from
        /// 1/p to 2/p (ns-2 wait_), uniform by one random number for each gap (Linux), or geometric (method 1)
        spread: Rule = choice(Rule::Uniform.value()),
        /// whether the probability is multiplied by size/mean_packet: not at all (RFC 7141 advises so), before the spreading
        /// (Floyd and Jacobson), or after it and with count in units of mean_packet (ns-2 bytes_)
        by_size: BySize = choice(BySize::No.value()),
        /// whether the first arrival above min passes without a test, as does any that finds no more than one unit waiting
        /// (ns-2)
        first_is_free: bool = flag(false),
        /// when idle time begins: when the wire falls silent (ns-2, Linux) or when nothing waits any more (Floyd and Jacobson)
        idle_from: IdleFrom = choice(IdleFrom::Wire.value()),
        /// the average after m idle transmission times: (1-w)^m in whole packets and then the sample (ns-2), (1-w)^m with a
        /// real m and no sample (Floyd and Jacobson), the table of powers of 1/2 that tc computes (Linux), or only the sample
        ageing: Ageing = choice(Ageing::Steps.value()),
        /// rate at which idle time is counted in packets; auto is the link's
        bandwidth: Option<Rate> = rate_or_auto(),
        /// whether ECN-capable packets are marked instead of dropped early
        ecn: bool = flag(false),
        /// with ecn: whether forced drops hit ECN-capable packets too (tc harddrop)
        harddrop: bool = flag(false),
        /// with ecn: whether packets that cannot be marked pass instead of being dropped early (tc nodrop)
        nodrop: bool = flag(false),
        /// with ecn: probability from which on ECN-capable packets are dropped all the same (ns-2 mark_p_); auto is never
        mark_p: Option<f64> = or_auto(&number_in(0.0..=1.0)),
    }
}

/// The parameter `name` of RED, for its kin.
pub(crate) const fn of_red(name: &str) -> Parameter {
    Parameter::of(&Parameters::LIST, name)
}

/// What ns-2's RED has otherwise.
pub(crate) const NS2: &[(&str, Value)] = &[
    ("limit", Value::Amount(Amount::Packets(50.0))),
    ("limit_counts", LimitCounts::MeanPackets.value()),
    ("limit_rule", LimitRule::Below.value()),
    ("unit", Measure::Bytes.value()),
    ("mean_packet", Value::Integer(500)),
    ("forced", Value::Boolean(false)),
    ("spread", Rule::Wait.value()),
    ("by_size", BySize::AfterSpread.value()),
    ("first_is_free", Value::Boolean(true)),
    ("mark_p", Value::Number(0.1)),
];

/// What Linux's RED has otherwise.
pub(crate) const LINUX: &[(&str, Value)] = &[
    ("limit_counts", LimitCounts::FullPackets.value()),
    ("limit_restarts_count", Value::Boolean(false)),
    ("unit", Measure::Bytes.value()),
    ("mean_packet", Value::Integer(1000)),
    ("auto_thresholds", AutoThresholds::Limit.value()),
    ("max_p", Value::Number(0.02)),
    ("auto_weight", AutoWeight::Burst.value()),
    ("gentle", Value::Boolean(false)),
    ("spread", Rule::Threshold.value()),
    ("ageing", Ageing::Table.value()),
    ("bandwidth", Value::Rate(TC_BANDWIDTH)),
];

/// How `tc red` is told.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting::option("limit", "limit", Unit::BytesOfFullPackets),
    Setting::auto("min", "min", Unit::BytesOfMeanPackets, Auto::Omit),
    Setting::auto("max", "max", Unit::BytesOfMeanPackets, Auto::Omit),
    Setting::option("mean_packet", "avpkt", Unit::Number),
    Setting::auto("burst", "burst", Unit::Number, Auto::Omit),
    Setting::option("max_p", "probability", Unit::Number),
    Setting::auto("bandwidth", "bandwidth", Unit::Rate, Auto::LinkRate),
    Setting::flag("ecn", "ecn", ""),
    Setting::flag("harddrop", "harddrop", ""),
    Setting::flag("nodrop", "nodrop", ""),
];

/// What `red` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "red",
    summary: "random early detection: drops or marks at random while the average queue is long",
    sources: &[
        "Floyd and Jacobson 1993, Random Early Detection Gateways for Congestion Avoidance",
        "Floyd, Gummadi and Shenker 2001, Adaptive RED",
        "RFC 3168",
        "Linux net/sched/sch_red.c and include/net/red.h",
        "iproute2 tc/q_red.c and tc/tc_red.c",
        "ns-2.35 queue/red.cc",
        "ns-3 src/traffic-control/model/red-queue-disc.cc",
    ],
    parameters: &Parameters::LIST,
    presets: &[
        Preset {
            name: "ns2",
            summary: "ns-2.35: automatic thresholds and weight, everything in bytes of a 500 B packet",
            values: NS2,
        },
        Preset {
            name: "linux",
            summary: "tc red with avpkt 1000: thresholds from limit, weight from burst, no gentle region. Linux's average has whole bytes, so that it is up to a byte higher; arithmetic whole is the same to the bit",
            values: LINUX,
        },
        Preset {
            name: "ns3",
            summary: "ns3::RedQueueDisc: 25 packets, thresholds of 5 and 15, idle time counted in packets of 500 B at 1.5 Mbit/s whatever the link. There the count of arrivals runs on through forced drops",
            values: &[
                ("limit", Value::Amount(Amount::Packets(25.0))),
                ("limit_restarts_count", Value::Boolean(false)),
                ("mean_packet", Value::Integer(500)),
                ("min", Value::Amount(Amount::Packets(5.0))),
                ("max", Value::Amount(Amount::Packets(15.0))),
                ("max_p", Value::Number(0.02)),
                ("weight", Value::Number(0.002)),
                ("spread", Rule::Wait.value()),
                ("first_is_free", Value::Boolean(true)),
                ("bandwidth", Value::Rate(NS3_BANDWIDTH)),
                ("harddrop", Value::Boolean(true)),
            ],
        },
        Preset {
            name: "floyd93",
            summary: "Floyd and Jacobson 1993: 5 and 15 packets, weight 0.002, at most 1 in 50",
            values: &[
                ("min", Value::Amount(Amount::Packets(5.0))),
                ("max", Value::Amount(Amount::Packets(15.0))),
                ("max_p", Value::Number(0.02)),
                ("weight", Value::Number(0.002)),
                ("gentle", Value::Boolean(false)),
                ("idle_from", IdleFrom::Queue.value()),
                ("ageing", Ageing::Curve.value()),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form { name: "red", module: "sch_red", settings: SETTINGS, ..Form::PLAIN }]),
    ..Descriptor::PLAIN
};
