//! What CUBIC is and what can be set.

use crate::hystart;
use sojourn_core::Span;
use sojourn_core::registry::declare::{
    choice, flag, integer, integer_in, number, number_in, or_auto, span, unless_auto,
};
use sojourn_core::registry::{Descriptor, Form, Linux, Preset, Value};
use sojourn_core::{choices, parameters};

choices! {
    /// Words of `reduce`.
    pub(super) enum Reduce { Flight = "flight", Window = "window" }
    /// Words of `friendly`.
    pub(super) enum Friendly { Off = "off", Constant = "constant", Rising = "rising" }
    /// Words of `lookahead`.
    pub(super) enum Lookahead { SmoothedRtt = "smoothed-rtt", LeastRtt = "least-rtt" }
    /// Words of `count`.
    pub(super) enum Count { Segments = "segments", Acks = "acks" }
    /// Words of `arithmetic`.
    pub(super) enum Arithmetic { Fractions = "fractions", Whole = "whole", Kernel = "kernel" }
    /// Words of `spare_credit`.
    pub(super) enum SpareCredit { Dropped = "dropped", Kept = "kept" }
    /// Words of `idle_time`.
    pub(super) enum IdleTime { LeftOut = "left-out", GapsLeftOut = "gaps-left-out", Counts = "counts" }
    /// Words of `undo`.
    pub(super) enum Undoes { All = "all", Window = "window" }
}

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        /// steepness of the cubic function in segments/s^3 (C)
        scale: f64 = number(0.4, 1e-6..=1e3),
        /// part of the window that a loss leaves (beta_cubic)
        beta: f64 = number(0.7, 0.1..=0.99),
        /// part of the window that a congestion mark leaves (beta_ecn of RFC 8511: 0.85); auto is beta, as for a loss
        abe: Option<f64> = or_auto(&number_in(0.5..=0.99)),
        /// what a loss reduces: the data in flight (section 4.6) or the congestion window
        reduce: Reduce = choice(Reduce::Flight.value()),
        /// aim lower when a loss came below the previous one's window, to make room for newcomers
        fast_convergence: bool = flag(true),
        /// be at least as fast as Reno: its estimate grows by alpha_cubic in a round trip (constant), and by 1 from the
        /// window before the loss on (rising)
        friendly: Friendly = choice(Friendly::Rising.value()),
        /// how far ahead the cubic function is read: a smoothed RTT, or the least RTT since the last timeout
        lookahead: Lookahead = choice(Lookahead::SmoothedRtt.value()),
        /// what moves the window towards the cubic function: every acknowledgement (section 4.4) or every segment it
        /// covers
        count: Count = choice(Count::Acks.value()),
        /// whether the window moves in fractions of a segment, or in whole ones after so many acknowledged segments (cnt
        /// of Linux), with all quotients rounded down; kernel: the same with time in 1024ths of a second, a growth that
        /// is kept for 1/32 s while the window is the same, and no round-trip times in a stage's first second (Linux);
        /// whole and kernel always count segments
        arithmetic: Arithmetic = choice(Arithmetic::Fractions.value()),
        /// with arithmetic = kernel: the tick of the kernel's clock (10 ms in user-mode Linux, 4 ms in Debian's own
        /// kernel, 1 ms in some); 0 s is exact
        tick: Span = span(Span::ZERO, Span::ZERO..=Span::from_millis(10)),
        /// whole arithmetic: segments that were acknowledged towards a larger number than now holds make one step and are
        /// dropped, as at losses (Linux), or are kept, also over losses, and make a step with each acknowledgement (ns-3)
        spare_credit: SpareCredit = choice(SpareCredit::Dropped.value()),
        /// while no loss has shown a window to aim at: one segment more for at most so many acknowledged ones; auto is no
        /// such rule
        first_growth: Option<u64> = or_auto(&integer_in(2..=10_000)),
        /// time in which the application limited sending: none of it enters the cubic function (left-out, RFC 9438
        /// section 4.2); only that since the last segment was sent does not, where nothing is in flight any more
        /// (gaps-left-out, Linux since 4.3); all of it does (counts, ns-3)
        idle_time: IdleTime = choice(IdleTime::LeftOut.value()),
        /// what comes back when a loss turns out to be none: window, threshold and the place on the cubic function (all,
        /// RFC 9438 section 4.9), or window and threshold (window, Linux)
        undo: Undoes = choice(Undoes::All.value()),
        /// most segments by which one acknowledgement may open the window in slow start (L: 8 in RFC 9406, 1 in RFC
        /// 5681); auto is no limit
        slow_start_limit: Option<u64> = unless_auto(&integer(8, 1..=1_000_000)),
        hystart: hystart::Hystart = hystart::ANY,
    }
}

/// What `cubic` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "cubic",
    summary: "window as a cubic function of the time since the last loss: best-effort TCP of today's systems",
    sources: &["RFC 9438", "RFC 9406", "Linux 6.1 net/ipv4/tcp_cubic.c", "ns-3.37 src/internet/model/tcp-cubic.cc"],
    parameters: &Parameters::LIST,
    presets: &[
        Preset { name: "rfc", summary: "RFC 9438 with HyStart++", values: &[] },
        Preset {
            name: "abe",
            summary: "as rfc, with RFC 8511, alternative backoff with ECN: a mark leaves 0.85 of the window",
            values: &[("abe", Value::Number(0.85))],
        },
        Preset {
            name: "linux",
            summary: "Linux 6.1: whole segments, constant alpha, reduces the window; with nanoseconds instead of jiffies where tick is 0 s",
            values: &[
                ("scale", Value::Number(410.0 / 1024.0)),
                ("beta", Value::Number(717.0 / 1024.0)),
                ("reduce", Reduce::Window.value()),
                ("friendly", Friendly::Constant.value()),
                ("lookahead", Lookahead::LeastRtt.value()),
                ("count", Count::Segments.value()),
                ("arithmetic", Arithmetic::Kernel.value()),
                ("first_growth", Value::Integer(20)),
                ("idle_time", IdleTime::GapsLeftOut.value()),
                ("undo", Undoes::Window.value()),
                ("slow_start_limit", Value::Auto),
                ("hystart", Value::Choice("linux")),
            ],
        },
        Preset {
            name: "ns3",
            summary: "ns-3.37 TcpCubic: as Linux, but with exact constants, without Reno's estimate, and with credit from the plateau that later opens the window by up to a segment per acknowledgement",
            values: &[
                ("reduce", Reduce::Window.value()),
                ("friendly", Friendly::Off.value()),
                ("lookahead", Lookahead::LeastRtt.value()),
                ("count", Count::Segments.value()),
                ("arithmetic", Arithmetic::Whole.value()),
                ("spare_credit", SpareCredit::Kept.value()),
                ("first_growth", Value::Integer(20)),
                ("idle_time", IdleTime::Counts.value()),
                ("undo", Undoes::Window.value()),
                ("slow_start_limit", Value::Auto),
                ("hystart", Value::Choice("ns3")),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form { name: "cubic", module: "tcp_cubic", ..Form::PLAIN }]),
    ..Descriptor::PLAIN
};
