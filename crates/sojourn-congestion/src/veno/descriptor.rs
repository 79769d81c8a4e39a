//! What Veno is and what can be set.

use crate::reno;
use crate::reno::Arithmetic;
use crate::vegas::{BASE_RTT, BaseRtt};
use sojourn_core::registry::declare::{choice, number};
use sojourn_core::registry::{Descriptor, Form, Linux, Preset, Value};
use sojourn_core::{choices, parameters};

choices! {
    /// Words of `grain`.
    pub(super) enum Grain { Half = "half", Whole = "whole" }
    /// Words of `growth`.
    pub(super) enum Growth { ByQueue = "by-queue", Reno = "reno" }
    /// Words of `loss_of`.
    pub(super) enum LossOf { Window = "window", Flight = "flight" }
}

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        arithmetic: Arithmetic = reno::ARITHMETIC,
        /// queued segments from which the path counts as congested
        beta: f64 = number(3.0, 0.0..=1e6),
        /// part of the window that a loss leaves while the path is not congested
        chance_leaves: f64 = number(0.8, 0.5..=1.0),
        /// segments to whose multiple the queue is rounded up: half a one (Linux) or one (ns-3)
        grain: Grain = choice(Grain::Half.value()),
        /// whether the window grows at half Reno's pace while the path is congested, or always as Reno's (ns-3)
        growth: Growth = choice(Growth::ByQueue.value()),
        /// what a loss leaves a part of: the congestion window (Linux) or the data in flight (ns-3)
        loss_of: LossOf = choice(LossOf::Window.value()),
        base_rtt: BaseRtt = BASE_RTT,
    }
}

/// What `veno` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "veno",
    summary: "Reno for wireless links: a loss without a queue costs a fifth of the window instead of half",
    sources: &[
        "Fu and Liew, TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks, JSAC 21(2), 2003",
        "Linux net/ipv4/tcp_veno.c",
        "ns-3 src/internet/model/tcp-veno.cc",
    ],
    parameters: &Parameters::LIST,
    presets: &[
        Preset { name: "linux", summary: "Linux tcp_veno", values: &[("arithmetic", Value::Choice("whole"))] },
        Preset {
            name: "ns3",
            summary: "ns-3 TcpVeno, whose samples never suffice to grow more slowly",
            values: &[
                ("grain", Grain::Whole.value()),
                ("growth", Growth::Reno.value()),
                ("loss_of", LossOf::Flight.value()),
                ("base_rtt", BaseRtt::Connection.value()),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form { name: "veno", module: "tcp_veno", ..Form::PLAIN }]),
    ..Descriptor::PLAIN
};
