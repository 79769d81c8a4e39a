//! What can be set of it.

use sojourn_core::registry::Descriptor;
use sojourn_core::registry::declare::{choice, integer, number, span};
use sojourn_core::{Span, choices, parameters};

choices! {
    /// Words of `delays`.
    pub(super) enum Delays {
        /// Half of the round-trip time counts for each direction.
        RoundTrip = "round-trip",
        /// Each direction has its own.
        OneWay = "one-way",
    }
}

const LONGEST: Span = Span::from_secs(60);

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        /// least rate, as a part of the rate that the file gives the shaper, its base rate
        min: f64 = number(0.25, 0.001..=1.0),
        /// greatest rate, as a part of the base rate
        max: f64 = number(4.0, 1.0..=1000.0),
        /// what counts as the delay of a direction: round-trip, half of the round-trip time in both, as with `fping`; one-way,
        /// what that direction took, as with `tsping` and `irtt`
        delays: Delays = choice(Delays::RoundTrip.value()),
        /// up to so much above the baseline, on average, the rate is raised the most
        most_raise_to: Span = span(Span::from_millis(10), Span::ZERO..=LONGEST),
        /// an answer so much above the baseline is late
        late_from: Span = span(Span::from_millis(30), Span::ZERO..=LONGEST),
        /// from so much above the baseline on, on average, the rate is cut the most
        most_cut_from: Span = span(Span::from_millis(60), Span::ZERO..=LONGEST),
        /// answers that are looked at: the last ones of all reflectors
        window: usize = integer(6, 1..=1000),
        /// late answers in the window that mean bufferbloat
        late_answers: usize = integer(3, 1..=1000),
        /// part of the rate that the smallest cut leaves
        least_cut: f64 = number(0.99, 0.01..=1.0),
        /// part of the rate that the largest cut leaves
        most_cut: f64 = number(0.75, 0.01..=1.0),
        /// part of the rate that the smallest raise makes
        least_raise: f64 = number(1.0, 1.0..=10.0),
        /// part of the rate that the largest raise makes
        most_raise: f64 = number(1.04, 1.0..=10.0),
        /// part of the rate that a decay down to the base rate leaves
        decay_down: f64 = number(0.99, 0.01..=1.0),
        /// part of the rate that a decay up to the base rate makes
        decay_up: f64 = number(1.01, 1.0..=10.0),
        /// part of the rate above which the load is high
        high_load: f64 = number(0.75, 0.0..=1.0),
        /// time between two measurements of the load; at least ten packets each way at the present rates
        load_interval: Span = span(Span::from_millis(200), Span::from_millis(1)..=LONGEST),
        /// time after a cut without another one and without a raise
        cut_refractory: Span = span(Span::from_millis(300), Span::ZERO..=LONGEST),
        /// time after a change of the rate without a decay
        decay_refractory: Span = span(Span::from_secs(1), Span::ZERO..=LONGEST),
        /// part of its distance to a longer delay by which the baseline rises
        baseline_up: f64 = number(0.001, 0.0..=1.0),
        /// part of its distance to a shorter delay by which the baseline falls
        baseline_down: f64 = number(0.9, 0.0..=1.0),
    }
}

/// What it is.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "autorate",
    summary: "cuts the rate where pings are late, raises it where they are not and the load is high, and else returns to the base rate",
    sources: &["lynxthecat/cake-autorate, cake-autorate.sh and defaults.sh (94238be)"],
    parameters: &Parameters::LIST,
    ..Descriptor::PLAIN
};
