//! What BBR version 3 is and what can be set.

use sojourn_core::Span;
use sojourn_core::registry::declare::{choice, integer, number, span};
use sojourn_core::registry::{Descriptor, Linux, Preset, Value};
use sojourn_core::{choices, parameters};

choices! {
    /// Words of `ecn`.
    pub(super) enum Ecn { Loss = "loss", Alpha = "alpha" }
}

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        /// pacing gain of Startup (BBR.StartupPacingGain, 4 ln 2)
        startup_gain: f64 = number(2.77, 1.0..=10.0),
        /// pacing gain of Drain (BBR.DrainPacingGain)
        drain_gain: f64 = number(0.5, 0.01..=0.99),
        /// pacing gain of ProbeBW_DOWN
        down_gain: f64 = number(0.9, 0.01..=0.99),
        /// pacing gain of ProbeBW_UP
        up_gain: f64 = number(1.25, 1.01..=10.0),
        /// bandwidth-delay products in flight at most (BBR.DefaultCwndGain), a quarter more in ProbeBW_UP
        window_gain: f64 = number(2.0, 1.0..=10.0),
        /// part of a round trip's segments whose loss shows that a probe went too high (BBR.LossThresh)
        loss_threshold: f64 = number(0.02, 0.0..=0.5),
        /// least part of a bound that is left by a round trip with losses (BBR.Beta)
        beta: f64 = number(0.7, 0.01..=1.0),
        /// part of the long-term bound left to others while not probing (BBR.Headroom)
        headroom: f64 = number(0.15, 0.0..=0.9),
        /// separate ranges of losses in a round trip that end Startup, if they are more than loss_threshold
        /// (BBRStartupFullLossCnt)
        startup_losses: u64 = integer(6, 1..=1000),
        /// shortest time between probes for bandwidth; up to 1 s is added at random (PickProbeWait)
        probe_wait: Span = span(Span::from_secs(2), Span::from_millis(1)..=Span::from_secs(3600)),
        /// most round trips between probes, of which a path with fewer segments in flight waits as many
        /// (IsRenoCoexistenceProbeTime); at random one less
        probe_rounds: u64 = integer(63, 1..=1_000_000),
        /// how long a least round-trip time is trusted (BBR.MinRTTFilterLen)
        min_rtt_window: Span = span(Span::from_secs(10), Span::from_millis(100)..=Span::from_secs(3600)),
        /// time without a lower round-trip time after which the flow drains the path (BBR.ProbeRTTInterval)
        probe_rtt_interval: Span = span(PROBE_RTT_INTERVAL, Span::from_millis(100)..=Span::from_secs(3600)),
        /// how long the path is kept drained (BBR.ProbeRTTDuration)
        probe_rtt_duration: Span = span(Span::from_millis(200), Span::from_millis(1)..=Span::from_secs(10)),
        /// bandwidth-delay products in flight meanwhile, at least 4 segments (BBR.ProbeRTTCwndGain)
        probe_rtt_gain: f64 = number(0.5, 0.0..=1.0),
        /// part by which pacing stays below the bandwidth (BBR.PacingMarginPercent)
        pacing_margin: f64 = number(0.01, 0.0..=0.5),
        /// what an echoed mark does: counts as a loss in its round trip (loss), or data is sent ECT(1) and the part of
        /// segments that is marked, smoothed as alpha, lowers the short-term bound and ends Startup and probes (alpha,
        /// Google)
        ecn: Ecn = choice(Ecn::Loss.value()),
        /// weight of the last round trip's marked part in alpha (bbr_ecn_alpha_gain)
        ecn_gain: f64 = number(1.0 / 16.0, 0.001..=1.0),
        /// a round trip with marks takes this times alpha of the short-term bound (bbr_ecn_factor)
        ecn_factor: f64 = number(1.0 / 3.0, 0.01..=1.0),
        /// marked part that ends a probe, and Startup after 2 round trips (bbr_ecn_thresh)
        ecn_threshold: f64 = number(0.5, 0.01..=1.0),
        /// marks mean nothing before the least round-trip time was this short; 0 s is any (bbr_ecn_max_rtt_us)
        ecn_max_rtt: Span = span(Span::from_millis(5), Span::ZERO..=Span::from_secs(3600)),
    }
}

/// What `bbr3` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "bbr3",
    summary: "BBR version 3: as bbr, but probes less often, leaves headroom, and lowers its bounds when more than 2 % of a probe are lost",
    sources: &["draft-ietf-ccwg-bbr (text of August 2026)", "Google tcp_bbr.c, BBR_VERSION 3 (constants)"],
    parameters: &Parameters::LIST,
    presets: &[
        Preset {
            name: "draft",
            summary: "draft-ietf-ccwg-bbr. An echoed mark counts as a loss in its round trip",
            values: &[],
        },
        Preset {
            name: "google",
            summary: "the constants of Google's kernel on the draft's steps; its memory of aggregation differs, and its answer to marks is ecn = alpha, off there too unless the route says that marks come early",
            values: &[
                ("startup_gain", Value::Number(710.0 / 256.0)),
                ("drain_gain", Value::Number(88.0 / 256.0)),
                ("down_gain", Value::Number(232.0 / 256.0)),
                ("loss_threshold", Value::Number(5.0 / 256.0)),
                ("beta", Value::Number(180.0 / 256.0)),
                ("headroom", Value::Number(38.0 / 256.0)),
            ],
        },
    ],
    linux: Linux::Absent("BBR version 3 lives in Google's own kernel"),
    ..Descriptor::PLAIN
};

/// Flows must drain the path at like times.
pub(super) const PROBE_RTT_INTERVAL: Span = Span::from_secs(5);
