//! Adaptive RED (Floyd, Gummadi and Shenker 2001): RED that sets itself.
//!
//! Thresholds and weight follow from the link's rate and a target delay, and every half second the ramp's max_p takes a
//! step so that the average queue stays in the middle. [`red::adaptive`](crate::red) is the rule; everything else is
//! [`Red`] with all its parameters.
//!
//! The sources differ in whether max_p may move once more when it stands exactly at a bound (the paper and Linux: yes);
//! here it may.

#[cfg(test)]
mod tests;

use crate::red::adaptive::{Adaptation, Added, AutoBottom, ClockOf, GentleFrom};
use crate::red::{Red, descriptor};
use crate::{Discipline, LinkProperties, Packet, Sink};
use alloc::vec::Vec;
use sojourn_core::registry::{
    Advice, Descriptor, Form, Linux, Parameter, ParameterError, Params, Preset, Value, joined,
};
use sojourn_core::{Amount, Stream, Time};

/// RED's parameters, then those added.
static PARAMETERS: [Parameter; descriptor::Parameters::LIST.len() + Added::LIST.len()] =
    joined(&[&descriptor::Parameters::LIST, &Added::LIST]);

const ADDED_BY_NS2: &[(&str, Value)] =
    &[("clock", ClockOf::Arrivals.value()), ("bottom", Value::Auto), ("gentle_from", GentleFrom::Initial.value())];

static NS2: [(&str, Value); descriptor::NS2.len() + ADDED_BY_NS2.len()] = joined(&[descriptor::NS2, ADDED_BY_NS2]);

/// What `ared` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "ared",
    summary: "adaptive RED: its highest probability adapts to keep the average queue between the thresholds",
    sources: &[
        "Floyd, Gummadi and Shenker 2001, Adaptive RED: An Algorithm for Increasing the Robustness of RED's Active Queue Management",
        "ns-2.35 queue/red.cc (adaptive_)",
        "Linux include/net/red.h (red_adaptative_algo)",
        "ns-3 src/traffic-control/model/red-queue-disc.cc (ARED)",
    ],
    parameters: &PARAMETERS,
    presets: &[
        Preset {
            name: "floyd01",
            summary: "the paper: thresholds from a target of 5 ms, weight 1 - exp(-1/C), gentle",
            values: &[("auto_weight", descriptor::AutoWeight::Second.value())],
        },
        Preset { name: "ns2", summary: "ns-2.35 with adaptive_ 1: RED's preset ns2, steps at arrivals", values: &NS2 },
        Preset {
            name: "linux",
            summary: "tc red adaptive: RED's preset linux, steps by a timer; nothing but max_p is automatic",
            values: descriptor::LINUX,
        },
        Preset {
            name: "ns3",
            summary: "ns3::RedQueueDisc with ARED: 25 packets, thresholds in packets from packets of 500 B",
            values: &[
                ("limit", Value::Amount(Amount::Packets(25.0))),
                ("mean_packet", Value::Integer(500)),
                ("max_p", Value::Number(0.02)),
                ("auto_weight", descriptor::AutoWeight::Second.value()),
                ("forced", Value::Boolean(false)),
                ("spread", descriptor::Rule::Wait.value()),
                ("first_is_free", Value::Boolean(true)),
                ("clock", ClockOf::Arrivals.value()),
                ("bottom", Value::Auto),
                ("gentle_from", GentleFrom::Initial.value()),
                ("auto_bottom", AutoBottom::Ns3.value()),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form {
        name: "red",
        module: "sch_red",
        words: "adaptive",
        settings: descriptor::SETTINGS,
        ..Form::PLAIN
    }]),
    ..Descriptor::PLAIN
};

/// A first-in first-out queue under adaptive random early detection.
#[derive(Debug)]
pub struct Ared<B>(Red<B>);

impl<B: Copy> Ared<B> {
    /// A queue with the given parameters.
    ///
    /// # Errors
    /// What [`Red`] cannot work with, a bottom that is no less than the top.
    pub fn new(params: &Params, link: &LinkProperties, random: Stream) -> Result<Self, ParameterError> {
        let declared = Added::of(params);
        Adaptation::check(&declared)?;
        let red = Red::new(params, link, random)?;
        Ok(Ared(red.adapting(|ramp| Adaptation::new(&declared, ramp, link))))
    }
}

impl<B: Copy> Discipline<B> for Ared<B> {
    #[inline]
    fn enqueue<S: Sink<B>>(&mut self, packet: Packet<B>, now: Time, sink: &mut S) {
        self.0.enqueue(packet, now, sink);
    }

    #[inline]
    fn dequeue<S: Sink<B>>(&mut self, now: Time, sink: &mut S) -> Option<Packet<B>> {
        self.0.dequeue(now, sink)
    }

    #[inline]
    fn packets(&self) -> usize {
        self.0.packets()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    fn timer(&self) -> Option<Time> {
        self.0.timer()
    }

    fn on_timer<S: Sink<B>>(&mut self, now: Time, sink: &mut S) {
        self.0.on_timer(now, sink);
    }

    fn advice(params: &Params, link: &LinkProperties) -> Vec<Advice> {
        let mut all = <Red<B> as Discipline<B>>::advice(params, link);
        all.extend(Adaptation::advice(&Added::of(params)));
        all
    }

    fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
        self.0.probe(visit);
        visit("max_p", self.0.max_p());
    }
}
