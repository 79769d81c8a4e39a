//! What Vegas is and what can be set.

use crate::reno;
use crate::reno::Arithmetic;
use sojourn_core::registry::declare::{Field, choice, integer, number};
use sojourn_core::registry::{Descriptor, Form, Linux, Preset, Value};
use sojourn_core::{choices, parameters};

choices! {
    /// Words of `backlog`.
    pub(crate) enum Backlog { Base = "base", Rtt = "rtt", RttHalves = "rtt-halves", Flight = "flight" }
    /// Words of `decides_on`.
    pub(super) enum DecidesOn { Present = "present", RoundBefore = "round-before" }
    /// Words of `round_rtt`.
    pub(super) enum RoundRtt { Least = "least", Mean = "mean" }
    /// Words of `slow_start`.
    pub(super) enum SlowStart { EveryRound = "every-round", EveryOther = "every-other" }
    /// Words of `slow_start_exit`.
    pub(super) enum SlowStartExit { Rate = "rate", Eighth = "eighth" }
    /// Words of `loss`.
    pub(crate) enum Loss { Half = "half", ThreeQuarters = "three-quarters", OneLess = "one-less" }
}

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        arithmetic: Arithmetic = reno::ARITHMETIC,
        /// queued segments below which the window grows by one per round trip
        alpha: f64 = number(2.0, 0.0..=1e6),
        /// queued segments above which the window shrinks by one per round trip; at least alpha
        beta: f64 = number(4.0, 0.0..=1e6),
        /// queued segments above which slow start ends
        gamma: f64 = number(1.0, 0.0..=1e6),
        /// how queued segments are told from window w, round trip r and base b: w(r - b)/b rounded down (Linux); w less w
        /// b/r rounded down (ns-3), or down to halves (Linux 2.6.22); or (r - b)/r of what is in flight, to the nearest
        /// (ns-2)
        backlog: Backlog = choice(Backlog::Base.value()),
        /// what a decision judges and moves: the present window, or what was there and in flight when the round trip
        /// before began, so that a window moves in every other round trip (Linux 2.6.22)
        decides_on: DecidesOn = choice(DecidesOn::Present.value()),
        /// the round-trip time of a round: its least sample, or the mean of all (ns-2)
        round_rtt: RoundRtt = choice(RoundRtt::Least.value()),
        /// samples that a round needs for a decision; with fewer the acknowledgement that ends it counts as Reno's
        least_samples: u64 = integer(3, 1..=1000),
        base_rtt: BaseRtt = BASE_RTT,
        /// whether slow start doubles in every round trip, or holds still in every other to measure (ns-2 and the paper)
        slow_start: SlowStart = choice(SlowStart::EveryRound.value()),
        /// the window after slow start: what the measured rate fills without a queue, and one more; or an eighth less
        /// (ns-2)
        slow_start_exit: SlowStartExit = choice(SlowStartExit::Rate.value()),
        /// what a loss leaves of the window: half (Linux), three quarters (ns-2), or the slow-start threshold but at
        /// least one less (ns-3)
        loss: Loss = choice(Loss::Half.value()),
    }
}

/// What `vegas` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "vegas",
    summary: "delay-based best-effort TCP: keeps a few of its own segments in the queue",
    sources: &[
        "Brakmo and Peterson, TCP Vegas: End to End Congestion Avoidance on a Global Internet, JSAC 13(8), 1995",
        "Linux net/ipv4/tcp_vegas.c",
        "ns-2.35 tcp/tcp-vegas.cc and tcp/linux/src/tcp_vegas.c",
        "ns-3 src/internet/model/tcp-vegas.cc",
    ],
    parameters: &Parameters::LIST,
    presets: &[
        Preset { name: "linux", summary: "Linux tcp_vegas", values: &[("arithmetic", Value::Choice("whole"))] },
        Preset {
            name: "linux-2.6.22",
            summary: "Linux 2.6.22 tcp_vegas, which ns-2.35's Agent/TCP/Linux runs: its window moves in every other round trip",
            values: &[("backlog", Backlog::RttHalves.value()), ("decides_on", DecidesOn::RoundBefore.value())],
        },
        Preset {
            name: "ns2",
            summary: "ns-2.35 Agent/TCP/Vegas: 1 and 3 segments, mean round trips, slow start in every other",
            values: &[
                ("alpha", Value::Number(1.0)),
                ("beta", Value::Number(3.0)),
                ("backlog", Backlog::Flight.value()),
                ("round_rtt", RoundRtt::Mean.value()),
                ("least_samples", Value::Integer(1)),
                ("slow_start", SlowStart::EveryOther.value()),
                ("slow_start_exit", SlowStartExit::Eighth.value()),
                ("loss", Loss::ThreeQuarters.value()),
                ("base_rtt", BaseRtt::Connection.value()),
            ],
        },
        Preset {
            name: "ns3",
            summary: "ns-3 TcpVegas: queued segments after the paper, and hardly any answer to loss",
            values: &[
                ("backlog", Backlog::Rtt.value()),
                ("loss", Loss::OneLess.value()),
                ("base_rtt", BaseRtt::Connection.value()),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form { name: "vegas", module: "tcp_vegas", ..Form::PLAIN }]),
    ..Descriptor::PLAIN
};

/// Which round trips the base RTT is the least of.
pub(crate) const BASE_RTT: Field<BaseRtt> = choice(BaseRtt::SinceStart.value()).described(
    "the base RTT: the least since data was last sent with nothing in flight, so that a pause forgets the path (Linux), or the least of the connection (ns-2, ns-3)",
);

choices! {
    /// When the base RTT is forgotten.
    pub(crate) enum BaseRtt { SinceStart = "since-start", Connection = "connection" }
}
