//! What BBR is and what can be set.

use sojourn_core::Span;
use sojourn_core::registry::declare::{choice, flag, integer, integer_in, number, or_auto, span};
use sojourn_core::registry::{Descriptor, Form, Linux, Preset, Value};
use sojourn_core::{choices, parameters};

choices! {
    /// Words of `min_rtt_renewal`.
    pub(super) enum MinRttRenewal { Lower = "lower", Equal = "equal" }
}

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        /// pacing and window gain of startup (bbr_high_gain): 2/ln 2, least that doubles the rate per round trip
        startup_gain: f64 = number(739.0 / 256.0, 1.0..=10.0),
        /// pacing gain while the queue of startup drains (bbr_drain_gain), the inverse of startup_gain
        drain_gain: f64 = number(88.0 / 256.0, 0.01..=1.0),
        /// bandwidth-delay products in flight at most in steady state (bbr_cwnd_gain)
        window_gain: f64 = number(2.0, 1.0..=10.0),
        /// round trips over which the largest delivery rate is the bandwidth (bbr_bw_rtts)
        bandwidth_rounds: u64 = integer(10, 1..=1000),
        /// how long a least round-trip time is trusted; then the flow empties the path (bbr_min_rtt_win_sec)
        min_rtt_window: Span = span(Span::from_secs(10), Span::from_millis(100)..=Span::from_secs(3600)),
        /// which round-trip time renews that trust: only a lower one (Linux), or an equal one too (ns-3), which in a
        /// simulation without jitter puts emptying the path off
        min_rtt_renewal: MinRttRenewal = choice(MinRttRenewal::Lower.value()),
        /// how long the path is kept empty, with at most 4 segments in flight (bbr_probe_rtt_mode_ms)
        probe_rtt_duration: Span = span(Span::from_millis(200), Span::from_millis(1)..=Span::from_secs(10)),
        /// the kernel's tick in which both of these are counted (10 ms in user-mode Linux, 4 ms in Debian's own kernel, 1
        /// ms in some); 0 s is exact
        tick: Span = span(Span::ZERO, Span::ZERO..=Span::from_millis(10)),
        /// part by which pacing stays below the bandwidth (bbr_pacing_margin_percent)
        pacing_margin: f64 = number(0.01, 0.0..=0.5),
        /// segments that a host hands over at once, three times of which the window has room for; auto is Linux's rule:
        /// what is paced in 1/1024 s, at least 2 from 1.2 Mbit/s on. Segments are sent one by one all the same
        quantum: Option<u64> = or_auto(&integer_in(1..=127)),
        /// look for a token-bucket policer (two intervals of like rate with a fifth lost) and keep to its rate for 48
        /// round trips (lt_bw)
        policer: bool = flag(true),
    }
}

/// What `bbr` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "bbr",
    summary: "BBR version 1: paces at the largest delivery rate of ten round trips and keeps about two bandwidth-delay products in flight, whatever is lost or marked",
    sources: &["Linux net/ipv4/tcp_bbr.c", "ns-3 src/internet/model/tcp-bbr.cc"],
    parameters: &Parameters::LIST,
    presets: &[
        Preset {
            name: "linux",
            summary: "Linux 6 tcp_bbr; departure times count where the transport tells them (timers = linux)",
            values: &[],
        },
        Preset {
            name: "ns3",
            summary: "ns-3 TcpBbr's constants; not its faults: it takes the initial window over 1 ms or one RTT for a first bandwidth, and measures aggregation in whole seconds",
            values: &[
                ("startup_gain", Value::Number(2.89)),
                ("drain_gain", Value::Number(1.0 / 2.89)),
                ("min_rtt_renewal", MinRttRenewal::Equal.value()),
                ("quantum", Value::Integer(1)),
                ("policer", Value::Boolean(false)),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form { name: "bbr", module: "tcp_bbr", ..Form::PLAIN }]),
    ..Descriptor::PLAIN
};
