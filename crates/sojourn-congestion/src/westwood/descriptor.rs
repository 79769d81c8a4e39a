//! What Westwood+ is and what can be set.

use crate::newreno;
use crate::newreno::Count;
use crate::reno;
use crate::reno::Arithmetic;
use sojourn_core::Span;
use sojourn_core::registry::declare::{choice, span};
use sojourn_core::registry::{Descriptor, Form, Linux, Preset, Value};
use sojourn_core::{choices, parameters};

choices! {
    /// Words of `sampling`.
    pub(super) enum Sampling { Elapsed = "elapsed", Rtt = "rtt" }
    /// Words of `filter`.
    pub(super) enum Filter { None = "none", TwoStage = "two-stage", Tustin = "tustin" }
    /// Words of `apply`.
    pub(super) enum Apply { AtLoss = "at-loss", AfterRepair = "after-repair" }
    /// Words of `least_rtt`.
    pub(super) enum LeastRtt { SinceTimeout = "since-timeout", Ever = "ever" }
}

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        slow_start_limit: Option<u64> = newreno::SLOW_START_LIMIT,
        count: Count = newreno::COUNT,
        arithmetic: Arithmetic = reno::ARITHMETIC,
        /// over what time segments are counted for a sample of bandwidth: until the first acknowledgement more than an
        /// RTT after the last sample (elapsed, Linux), or for one RTT from an acknowledgement on (rtt, ns-3)
        sampling: Sampling = choice(Sampling::Elapsed.value()),
        /// shortest time of a sample (TCP_WESTWOOD_RTT_MIN)
        min_interval: Span = span(Span::from_millis(50), Span::ZERO..=Span::from_secs(10)),
        /// low-pass filter of the samples: two stages that keep 7/8 each, the first sample filling both (Linux), or 0.9
        /// of the estimate and 0.1 of the mean of the last two samples, from zero on (tustin, ns-3)
        filter: Filter = choice(Filter::TwoStage.value()),
        /// the kernel's tick in which times are counted, with whole bytes per tick as bandwidth (10 ms in user-mode
        /// Linux); 0 s is exact
        tick: Span = span(Span::ZERO, Span::ZERO..=Span::from_secs(1)),
        /// when the estimate sets threshold and window: the threshold at once, and the window no more than that until
        /// losses are repaired or a round trip after a mark, and then as much (ns-3); or both only then, until when they
        /// are half the window (Linux)
        apply: Apply = choice(Apply::AfterRepair.value()),
        /// least RTT since the last timeout, so that a longer path is learnt (Linux), or of the connection
        least_rtt: LeastRtt = choice(LeastRtt::SinceTimeout.value()),
    }
}

/// What `westwood` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "westwood",
    summary: "Westwood+: Reno that answers a loss with measured bandwidth times least RTT, made for lossy links",
    sources: &["Linux 6.1 net/ipv4/tcp_westwood.c", "ns-3.37 src/internet/model/tcp-westwood.cc"],
    parameters: &Parameters::LIST,
    presets: &[
        Preset {
            name: "linux",
            summary: "Linux 6.1 westwood, with nanoseconds instead of jiffies where tick is 0 s",
            values: &[("slow_start_limit", Value::Auto), ("arithmetic", Value::Choice("whole"))],
        },
        Preset {
            name: "ns3",
            summary: "ns-3.37 TcpWestwood with ProtocolType WestwoodPlus, on NewReno's growth per acknowledgement",
            values: &[
                ("count", Value::Choice("acks")),
                ("sampling", Sampling::Rtt.value()),
                ("min_interval", Value::Span(Span::ZERO)),
                ("filter", Filter::Tustin.value()),
                ("apply", Apply::AtLoss.value()),
                ("least_rtt", LeastRtt::Ever.value()),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form { name: "westwood", module: "tcp_westwood", ..Form::PLAIN }]),
    ..Descriptor::PLAIN
};
