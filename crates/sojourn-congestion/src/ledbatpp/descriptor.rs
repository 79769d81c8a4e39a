//! What LEDBAT++ is and what can be set.

use sojourn_core::Span;
use sojourn_core::parameters;
use sojourn_core::registry::declare::{flag, integer, number, number_in, or_auto, span};
use sojourn_core::registry::{Descriptor, Linux, Preset, Value};

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        /// queueing delay of the round trip aimed at (TARGET)
        target: Span = span(Span::from_millis(60), Span::from_micros(100)..=Span::from_secs(10)),
        /// first window in segments, but no larger than the transport's; auto is the transport's
        initial_window: Option<f64> = or_auto(&number_in(1.0..=1e6)),
        /// most by which GAIN is reduced: GAIN = 1/min(gain_divisor, ceil(2 target/base delay))
        gain_divisor: u64 = integer(16, 1..=1000),
        /// part of the window by which a round trip at twice the target reduces it (the draft's constant of the
        /// multiplicative decrease), never more than half of the window
        decrease: f64 = number(1.0, 0.0..=1000.0),
        /// smallest window in segments, which slowdowns have too; a timeout leaves 1
        min_window: f64 = number(2.0, 1.0..=1e6),
        /// part of target at which queueing delay ends the first slow start
        slow_start_exit: f64 = number(0.75, 0.01..=10.0),
        /// whether the flow slows down from time to time to find the base delay
        slowdowns: bool = flag(true),
        /// round trips between the end of the first slow start and the first slowdown
        first_slowdown: f64 = number(2.0, 0.0..=1e6),
        /// round trips that the window stays at its smallest in a slowdown, before slow start brings it back
        slowdown_length: f64 = number(2.0, 0.0..=1000.0),
        /// time from the end of a slowdown to the next one, over the time that it took until the window was back: 9 costs
        /// at most a tenth of the capacity
        slowdown_interval: f64 = number(9.0, 0.0..=1e6),
        /// minima of a minute each that are kept for the base delay (BASE_HISTORY)
        base_history: u64 = integer(10, 1..=1000),
        /// last samples whose minimum is the current delay (CURRENT_FILTER)
        filter: u64 = integer(4, 1..=1000),
    }
}

/// What `ledbatpp` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "ledbatpp",
    summary: "LEDBAT++: LEDBAT on round-trip delay, with multiplicative decrease and slowdowns that let newcomers see the empty path",
    sources: &["draft-irtf-iccrg-ledbat-plus-plus", "RFC 6817", "RFC 9840"],
    parameters: &Parameters::LIST,
    presets: &[
        Preset { name: "draft", summary: "draft-irtf-iccrg-ledbat-plus-plus", values: &[] },
        Preset {
            name: "draft-01",
            summary: "revision 01 of the draft, section 4.1: a first window of 2 segments",
            values: &[("initial_window", Value::Number(2.0))],
        },
    ],
    linux: Linux::Absent("Linux has no LEDBAT++"),
    low_priority: true,
    ..Descriptor::PLAIN
};
