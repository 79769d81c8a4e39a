//! What BBR version 3 is and what can be set.

use sojourn_core::Span;
use sojourn_core::registry::{Descriptor, Kind, Linux, Parameter, Preset, Value};

/// What `bbr3` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "bbr3",
    summary: "BBR version 3: as bbr, but probes less often, leaves headroom, and lowers its bounds when more than 2 % of a probe are lost",
    sources: &["draft-ietf-ccwg-bbr (text of August 2026)", "Google tcp_bbr.c, BBR_VERSION 3 (constants)"],
    parameters: &[
        Parameter {
            name: "startup_gain",
            kind: Kind::Number { min: 1.0, max: 10.0 },
            default: Value::Number(2.77),
            description: "pacing gain of Startup (BBR.StartupPacingGain, 4 ln 2)",
        },
        Parameter {
            name: "drain_gain",
            kind: Kind::Number { min: 0.01, max: 0.99 },
            default: Value::Number(0.5),
            description: "pacing gain of Drain (BBR.DrainPacingGain)",
        },
        Parameter {
            name: "down_gain",
            kind: Kind::Number { min: 0.01, max: 0.99 },
            default: Value::Number(0.9),
            description: "pacing gain of ProbeBW_DOWN",
        },
        Parameter {
            name: "up_gain",
            kind: Kind::Number { min: 1.01, max: 10.0 },
            default: Value::Number(1.25),
            description: "pacing gain of ProbeBW_UP",
        },
        Parameter {
            name: "window_gain",
            kind: Kind::Number { min: 1.0, max: 10.0 },
            default: Value::Number(2.0),
            description: "bandwidth-delay products in flight at most (BBR.DefaultCwndGain), a quarter more in ProbeBW_UP",
        },
        Parameter {
            name: "loss_threshold",
            kind: Kind::Number { min: 0.0, max: 0.5 },
            default: Value::Number(0.02),
            description: "part of a round trip's segments whose loss shows that a probe went too high (BBR.LossThresh)",
        },
        Parameter {
            name: "beta",
            kind: Kind::Number { min: 0.01, max: 1.0 },
            default: Value::Number(0.7),
            description: "least part of a bound that is left by a round trip with losses (BBR.Beta)",
        },
        Parameter {
            name: "headroom",
            kind: Kind::Number { min: 0.0, max: 0.9 },
            default: Value::Number(0.15),
            description: "part of the long-term bound left to others while not probing (BBR.Headroom)",
        },
        Parameter {
            name: "startup_losses",
            kind: Kind::Integer { min: 1, max: 1000 },
            default: Value::Integer(6),
            description: "separate ranges of losses in a round trip that end Startup, if they are more than loss_threshold (BBRStartupFullLossCnt)",
        },
        Parameter {
            name: "probe_wait",
            kind: Kind::Span { min: Span::from_millis(1), max: Span::from_secs(3600) },
            default: Value::Span(Span::from_secs(2)),
            description: "shortest time between probes for bandwidth; up to 1 s is added at random (PickProbeWait)",
        },
        Parameter {
            name: "probe_rounds",
            kind: Kind::Integer { min: 1, max: 1_000_000 },
            default: Value::Integer(63),
            description: "most round trips between probes, of which a path with fewer segments in flight waits as many (IsRenoCoexistenceProbeTime); at random one less",
        },
        Parameter {
            name: "min_rtt_window",
            kind: Kind::Span { min: Span::from_millis(100), max: Span::from_secs(3600) },
            default: Value::Span(Span::from_secs(10)),
            description: "how long a least round-trip time is trusted (BBR.MinRTTFilterLen)",
        },
        Parameter {
            name: "probe_rtt_interval",
            kind: Kind::Span { min: Span::from_millis(100), max: Span::from_secs(3600) },
            default: Value::Span(PROBE_RTT_INTERVAL),
            description: "time without a lower round-trip time after which the flow drains the path (BBR.ProbeRTTInterval)",
        },
        Parameter {
            name: "probe_rtt_duration",
            kind: Kind::Span { min: Span::from_millis(1), max: Span::from_secs(10) },
            default: Value::Span(Span::from_millis(200)),
            description: "how long the path is kept drained (BBR.ProbeRTTDuration)",
        },
        Parameter {
            name: "probe_rtt_gain",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            default: Value::Number(0.5),
            description: "bandwidth-delay products in flight meanwhile, at least 4 segments (BBR.ProbeRTTCwndGain)",
        },
        Parameter {
            name: "pacing_margin",
            kind: Kind::Number { min: 0.0, max: 0.5 },
            default: Value::Number(0.01),
            description: "part by which pacing stays below the bandwidth (BBR.PacingMarginPercent)",
        },
        Parameter {
            name: "ecn",
            kind: Kind::Choice(&["loss", "alpha"]),
            default: Value::Choice("loss"),
            description: "what an echoed mark does: counts as a loss in its round trip (loss), or data is sent ECT(1) and the part of segments that is marked, smoothed as alpha, lowers the short-term bound and ends Startup and probes (alpha, Google)",
        },
        Parameter {
            name: "ecn_gain",
            kind: Kind::Number { min: 0.001, max: 1.0 },
            default: Value::Number(1.0 / 16.0),
            description: "weight of the last round trip's marked part in alpha (bbr_ecn_alpha_gain)",
        },
        Parameter {
            name: "ecn_factor",
            kind: Kind::Number { min: 0.01, max: 1.0 },
            default: Value::Number(1.0 / 3.0),
            description: "a round trip with marks takes this times alpha of the short-term bound (bbr_ecn_factor)",
        },
        Parameter {
            name: "ecn_threshold",
            kind: Kind::Number { min: 0.01, max: 1.0 },
            default: Value::Number(0.5),
            description: "marked part that ends a probe, and Startup after 2 round trips (bbr_ecn_thresh)",
        },
        Parameter {
            name: "ecn_max_rtt",
            kind: Kind::Span { min: Span::ZERO, max: Span::from_secs(3600) },
            default: Value::Span(Span::from_millis(5)),
            description: "marks mean nothing before the least round-trip time was this short; 0 s is any (bbr_ecn_max_rtt_us)",
        },
    ],
    presets: &[
        Preset {
            name: "draft",
            summary: "draft-ietf-ccwg-bbr; without undoing what a spurious recovery changed, which the transport does not detect. An echoed mark counts as a loss in its round trip",
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
