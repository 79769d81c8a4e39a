//! What H-TCP is and what can be set.

use crate::reno;
use crate::reno::Arithmetic;
use sojourn_core::Span;
use sojourn_core::parameters;
use sojourn_core::registry::declare::{flag, number, span};
use sojourn_core::registry::{Descriptor, Form, Linux, Preset, Value};

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        arithmetic: Arithmetic = reno::ARITHMETIC,
        /// time since the last repair in which the window grows as Reno's (Delta_L)
        low_speed: Span = span(Span::from_secs(1), Span::ZERO..=Span::from_secs(1_000)),
        /// most of the window that a loss leaves; the least is 1/2
        beta_max: f64 = number(0.8, 0.5..=1.0),
        /// whether what a loss leaves follows the RTTs; otherwise it is 1/2
        adaptive_backoff: bool = flag(true),
        /// whether growth is reckoned for an RTT of 100 ms, so that flows with unequal RTTs grow alike
        rtt_scaling: bool = flag(true),
        /// whether a loss leaves 1/2 where the throughput has changed by more than a fifth since the one before
        bandwidth_switch: bool = flag(true),
    }
}

/// What `htcp` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "htcp",
    summary: "best-effort TCP for fast long paths: the window grows faster the longer nothing was lost, and shrinks by the RTTs",
    sources: &[
        "Leith and Shorten, H-TCP: TCP for high-speed and long-distance networks, PFLDnet 2004",
        "draft-leith-tcp-htcp-06",
        "Linux net/ipv4/tcp_htcp.c",
        "FreeBSD sys/netinet/cc/cc_htcp.c",
    ],
    parameters: &Parameters::LIST,
    presets: &[
        Preset {
            name: "linux",
            summary: "Linux tcp_htcp with a clock of 1000 Hz",
            values: &[("arithmetic", Value::Choice("whole"))],
        },
        Preset {
            name: "freebsd",
            summary: "FreeBSD cc_htcp as it comes: the growth only, without adaptive backoff and RTT scaling",
            values: &[
                ("adaptive_backoff", Value::Boolean(false)),
                ("rtt_scaling", Value::Boolean(false)),
                ("bandwidth_switch", Value::Boolean(false)),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form { name: "htcp", module: "tcp_htcp", ..Form::PLAIN }]),
    ..Descriptor::PLAIN
};
