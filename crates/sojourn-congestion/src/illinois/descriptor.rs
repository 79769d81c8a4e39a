//! What TCP Illinois is and what can be set.

use crate::reno;
use crate::reno::Arithmetic;
use core::ops::RangeInclusive;
use sojourn_core::registry::declare::{choice, integer, number};
use sojourn_core::registry::{Descriptor, Form, Linux, Preset, Value};
use sojourn_core::{choices, parameters};

/// A part of the largest queueing delay.
const PART: RangeInclusive<f64> = 0.0..=1.0;

choices! {
    /// Words of `loss_of`.
    pub(super) enum LossOf { Window = "window", Flight = "flight" }
}

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        arithmetic: Arithmetic = reno::ARITHMETIC,
        /// segments by which the window grows in a round trip at the largest delay; at most alpha_max
        alpha_min: f64 = number(0.3, 1e-6..=1e6),
        /// the same without delay
        alpha_max: f64 = number(10.0, 1e-6..=1e6),
        /// part of the window that a loss takes at little delay; at most beta_max
        beta_min: f64 = number(0.125, PART),
        /// the same at much delay
        beta_max: f64 = number(0.5, PART),
        /// part of the largest queueing delay up to which alpha is alpha_max (eta1)
        alpha_delay: f64 = number(0.01, 0.0..=0.99),
        /// part of the largest queueing delay up to which beta is beta_min (eta2); at most beta_delay_max
        beta_delay_min: f64 = number(0.1, PART),
        /// part of the largest queueing delay from which beta is beta_max (eta3)
        beta_delay_max: f64 = number(0.8, PART),
        /// round trips of little delay before alpha is alpha_max again
        theta: u64 = integer(5, 1..=1_000_000),
        /// segments below which the window grows and shrinks as Reno's (W_thresh)
        window_threshold: f64 = number(15.0, 0.0..=1e6),
        /// what a loss takes a part of: the congestion window (Linux) or the data in flight (ns-3)
        loss_of: LossOf = choice(LossOf::Window.value()),
    }
}

/// What `illinois` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "illinois",
    summary: "best-effort TCP for fast long paths: loss says when, delay says by how much the window grows and shrinks",
    sources: &[
        "Liu, Basar and Srikant, TCP-Illinois: A Loss and Delay-Based Congestion Control Algorithm for High-Speed Networks, 2006",
        "Linux net/ipv4/tcp_illinois.c",
        "ns-3 src/internet/model/tcp-illinois.cc",
    ],
    parameters: &Parameters::LIST,
    presets: &[
        Preset { name: "linux", summary: "Linux tcp_illinois", values: &[("arithmetic", Value::Choice("whole"))] },
        Preset {
            name: "ns3",
            summary: "ns-3 TcpIllinois: follows the delay with the smallest windows too",
            values: &[("window_threshold", Value::Number(0.0)), ("loss_of", LossOf::Flight.value())],
        },
    ],
    linux: Linux::Kernel(&[Form { name: "illinois", module: "tcp_illinois", ..Form::PLAIN }]),
    ..Descriptor::PLAIN
};
