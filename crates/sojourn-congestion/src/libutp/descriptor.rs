//! What libutp's control is and what can be set.

use sojourn_core::Span;
use sojourn_core::parameters;
use sojourn_core::registry::declare::{flag, integer, number, span};
use sojourn_core::registry::{Descriptor, Form, Linux, Preset};

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        /// queueing delay aimed at (CCONTROL_TARGET)
        target: Span = span(Span::from_millis(100), Span::from_micros(100)..=Span::from_secs(10)),
        /// bytes by which the window grows in a round trip without queueing delay (MAX_CWND_INCREASE_BYTES_PER_RTT)
        gain_bytes: f64 = number(3000.0, 1.0..=1e9),
        /// smallest window in bytes (MIN_WINDOW_SIZE); below a packet the flow waits for the transport's timeout
        min_window_bytes: u64 = integer(10, 1..=1_000_000_000),
        /// largest window in bytes, and the first slow-start threshold (opt_sndbuf)
        send_buffer_bytes: u64 = integer(1024 * 1024, 1500..=100_000_000_000),
        /// whether a flow begins with slow start, which in libutp adds at least one packet per round trip
        slow_start: bool = flag(true),
        /// part of target at which queueing delay ends slow start
        slow_start_exit: f64 = number(0.9, 0.01..=10.0),
        /// time after a halving in which losses are not answered (MAX_WINDOW_DECAY)
        decay_interval: Span = span(Span::from_millis(100), Span::ZERO..=Span::from_secs(10)),
        /// time since the window last limited sending after which it no longer grows outside slow start
        rate_limit_after: Span = span(Span::from_secs(1), Span::ZERO..=Span::from_secs(3600)),
        /// minima of a minute each that are kept for the base delay (DELAY_BASE_HISTORY)
        base_history: u64 = integer(13, 1..=1000),
        /// last samples whose minimum is the queueing delay (CUR_DELAY_SIZE)
        filter: u64 = integer(3, 1..=1000),
        /// whether the base delay is raised by up to 10 ms when that of the way back falls, and to what the round-trip
        /// time allows
        skew_correction: bool = flag(true),
        /// whether a delay that falls by more than 200 ms in 5 s, as no honest clock's does, counts as extra delay
        drift_penalty: bool = flag(true),
    }
}

/// What `libutp` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "libutp",
    summary: "LEDBAT as BitTorrent's library does it: in bytes, about twice RFC 6817's gain, wary of drifting clocks",
    sources: &["libutp utp_internal.cpp, github.com/bittorrent/libutp, 2018", "BEP 29, uTorrent transport protocol"],
    parameters: &Parameters::LIST,
    presets: &[Preset { name: "libutp", summary: "the library as published", values: &[] }],
    linux: Linux::Program(Form { name: "libutp", module: "", ..Form::PLAIN }),
    low_priority: true,
    ..Descriptor::PLAIN
};
