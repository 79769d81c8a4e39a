//! What a DSL modem does against impulse noise.

use sojourn_core::registry::declare::span;
use sojourn_core::registry::{Descriptor, ParameterError, Params, Preset, Value};
use sojourn_core::{Span, parameters};

parameters! {
    /// What can be set of it.
    struct Interleaving {
        /// how long the interleaver holds a packet; comes on top of the link's delay
        delay: Span = span(Span::from_millis(8), Span::ZERO..=Span::from_millis(255)),
        /// the longest burst that is corrected (INP): two symbols of 250 us. A longer one spoils all that it is interleaved
        /// with
        corrects: Span = span(Span::from_micros(500), Span::ZERO..=Span::from_millis(255)),
    }
}

pub(crate) static INTERLEAVING: Descriptor = Descriptor {
    name: "interleaving",
    summary: "a code over what an interleaver has spread in time: short bursts are corrected, and all packets wait for it",
    sources: &["RITE deliverable D2.1, section 2.1.1", "ITU-T G.992.3, clause 7", "Broadband Forum TR-176"],
    parameters: &Interleaving::LIST,
    presets: &[
        Preset {
            name: "fast",
            summary: "no interleaving: the up direction of RITE's default profile",
            values: &[("delay", Value::Span(Span::ZERO)), ("corrects", Value::Span(Span::ZERO))],
        },
        Preset { name: "default-down", summary: "8 ms: the down direction of RITE's default profile", values: &[] },
        Preset {
            name: "repair-down",
            summary: "16 ms: the down direction of RITE's repair profile",
            values: &[("delay", Value::Span(Span::from_millis(16)))],
        },
        Preset {
            name: "repair-up",
            summary: "4 ms: the up direction of RITE's repair profile",
            values: &[("delay", Value::Span(Span::from_millis(4)))],
        },
    ],
    ..Descriptor::PLAIN
};

parameters! {
    /// What can be set of it.
    struct Retransmission {
        /// what every packet waits for; comes on top of the link's delay
        delay: Span = span(Span::ZERO, Span::ZERO..=Span::from_millis(63)),
        /// from the end of a spoilt packet to the start of its retransmission
        round_trip: Span = span(Span::from_millis(4), Span::from_micros(1)..=Span::from_millis(63)),
        /// how long after its first transmission a packet may arrive (delay_max); if it cannot it is lost
        max_delay: Span = span(Span::from_millis(16), Span::from_millis(1)..=Span::from_millis(63)),
    }
}

pub(crate) static RETRANSMISSION: Descriptor = Descriptor {
    name: "retransmission",
    summary: "G.INP: what a burst has spoilt is sent again, in order and within a bounded time",
    sources: &["ITU-T G.998.4", "RITE deliverable D2.1, section 2.1.1"],
    parameters: &Retransmission::LIST,
    ..Descriptor::PLAIN
};

/// What is done against impulse noise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protection {
    /// A code over an interleaver.
    Interleaving {
        /// How long it holds a packet.
        delay: Span,
        /// The longest burst that is corrected.
        corrects: Span,
    },
    /// Spoilt packets are sent again.
    Retransmission {
        /// What every packet waits for.
        delay: Span,
        /// From the end of a spoilt packet to the start of its retransmission.
        round_trip: Span,
        /// How long after its first transmission a packet may arrive.
        max_delay: Span,
    },
}

impl Protection {
    /// The protection that parameters of one of the descriptors describe.
    ///
    /// # Errors
    /// A bound that leaves no time for a retransmission.
    pub(crate) fn new(params: &Params) -> Result<Protection, ParameterError> {
        if params.descriptor().name == INTERLEAVING.name {
            let Interleaving { delay, corrects } = Interleaving::of(params);
            return Ok(Protection::Interleaving { delay, corrects });
        }
        let Retransmission { delay, round_trip, max_delay } = Retransmission::of(params);
        if max_delay <= round_trip {
            let rule = format!("more than the round_trip of {round_trip}, or nothing is ever sent again in time");
            return Err(ParameterError::new("max_delay", rule));
        }
        Ok(Protection::Retransmission { delay, round_trip, max_delay })
    }

    /// What it adds to the delay of every packet.
    pub fn delay(self) -> Span {
        match self {
            Protection::Interleaving { delay, .. } | Protection::Retransmission { delay, .. } => delay,
        }
    }
}
