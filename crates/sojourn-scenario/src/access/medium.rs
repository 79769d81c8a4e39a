//! How a link comes to send: always, or when the far end grants it.

use sojourn_core::registry::declare::{choice, integer, span};
use sojourn_core::registry::{Descriptor, Params, Preset, Value};
use sojourn_core::{Span, choices, parameters};

/// A GPON frame (ITU-T G.984.3).
const FRAME: Span = Span::from_micros(125);

pub(crate) static DEDICATED: Descriptor = Descriptor {
    name: "dedicated",
    summary: "a wire of its own: a packet goes out when the wire is free",
    sources: &["DSL and Ethernet; the way down in cable and PON"],
    ..Descriptor::PLAIN
};

choices! {
    /// Words of `requests`.
    enum Requests { Multiple = "multiple", Single = "single" }
}

parameters! {
    /// What can be set of it.
    struct Docsis {
        /// the time that a MAP describes; requests go out and grants begin at the start of one
        map_interval: Span = span(Span::from_millis(2), Span::from_micros(100)..=Span::from_secs(1)),
        /// from a request to the earliest interval that may grant it: the way to the CMTS and back, its work, and the MAP's
        /// lead; two intervals are every other MAP
        grant_delay: Span = span(Span::from_millis(4), Span::ZERO..=Span::from_secs(1)),
        /// multiple: a request in each interval with new packets (DOCSIS 3.0); single: none while one is unanswered, the next
        /// goes with the granted packets
        requests: Requests = choice(Requests::Multiple.value()),
    }
}

pub(crate) static DOCSIS: Descriptor = Descriptor {
    name: "docsis",
    summary: "upstream of a cable modem: a packet is requested, granted in a later MAP, and then sent; nobody else is on the channel",
    sources: &["CableLabs MULPI (DOCSIS 3.0 and 3.1)", "RITE deliverable D2.1, section 2.1.2", "draft-white-tsvwg-lld"],
    parameters: &Docsis::LIST,
    presets: &[Preset {
        name: "low-latency",
        summary: "the MAP interval of Low Latency DOCSIS",
        values: &[
            ("map_interval", Value::Span(Span::from_millis(1))),
            ("grant_delay", Value::Span(Span::from_millis(2))),
        ],
    }],
    ..Descriptor::PLAIN
};

parameters! {
    /// What can be set of it.
    struct Gpon {
        /// frames of 125 us between two allocations; each goes by the reports until then
        cycle_frames: u64 = integer(16, 1..=800),
        /// frames from the end of a cycle until its allocation takes effect: the calculation and the way to the ONU
        grant_frames: u64 = integer(4, 0..=800),
    }
}

pub(crate) static GPON: Descriptor = Descriptor {
    name: "gpon",
    summary: "upstream of a passive optical network: a packet is reported in the next frame, and allocated room in the next cycle; nobody else is on the fibre",
    sources: &["ITU-T G.984.3, clauses 7.4 and 8.4 (status reporting)", "RITE deliverable D2.1, section 2.1.3"],
    parameters: &Gpon::LIST,
    ..Descriptor::PLAIN
};

/// How a link comes to send, where it has to wait for a grant. Times are reckoned from the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Medium {
    /// Request and grant.
    Docsis {
        /// The time that a MAP describes.
        interval: Span,
        /// From a request to the earliest start of an interval that may grant it.
        delay: Span,
        /// Whether a request waits for the answer to the one before.
        single: bool,
    },
    /// Status reports and allocations.
    Gpon {
        /// Between two reports.
        frame: Span,
        /// Between two allocations.
        cycle: Span,
        /// From the end of a cycle until its allocation takes effect.
        delay: Span,
    },
}

impl Medium {
    /// The medium that parameters of one of the descriptors describe; `None` for a dedicated one.
    pub(crate) fn new(params: &Params) -> Option<Medium> {
        match params.descriptor().name {
            "docsis" => {
                let Docsis { map_interval, grant_delay, requests } = Docsis::of(params);
                let single = requests == Requests::Single;
                Some(Medium::Docsis { interval: map_interval, delay: grant_delay, single })
            }
            "gpon" => {
                let Gpon { cycle_frames, grant_frames } = Gpon::of(params);
                Some(Medium::Gpon { frame: FRAME, cycle: FRAME * cycle_frames, delay: FRAME * grant_frames })
            }
            _ => None,
        }
    }
}
