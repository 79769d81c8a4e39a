//! Impulse noise: bursts that spoil what is on the wire.

use sojourn_core::Span;
use sojourn_core::registry::{Descriptor, Kind, Parameter, ParameterError, Params, Preset, Value};

const DAY: Span = Span::from_secs(86_400);
const CLASSES: &str = "RITE deliverable D2.1, section 2.1.1 (the classes and how long their bursts last)";

pub(crate) static REIN: Descriptor = Descriptor {
    name: "rein",
    summary: "repetitive electrical impulse noise: bursts under 1 ms in step with the mains",
    sources: &[CLASSES, "Broadband Forum TR-176"],
    parameters: &[
        Parameter {
            name: "period",
            kind: Kind::Span { min: Span::from_millis(1), max: Span::from_secs(1) },
            default: Value::Span(Span::from_millis(10)),
            description: "between the starts of two bursts: half a period of the mains; the first comes at a random time within it",
        },
        duration(Span::from_micros(1), Span::from_millis(1), Span::from_micros(100)),
    ],
    presets: &[
        Preset { name: "50hz", summary: "mains of 50 Hz: 100 bursts a second", values: &[] },
        Preset {
            name: "60hz",
            summary: "mains of 60 Hz: 120 bursts a second",
            values: &[("period", Value::Span(Span::from_nanos(8_333_333)))],
        },
    ],
    ..Descriptor::PLAIN
};

pub(crate) static PEIN: Descriptor = Descriptor {
    name: "pein",
    summary: "prolonged electrical impulse noise: bursts of 1 to 10 ms at random times",
    sources: &[CLASSES],
    parameters: &[
        interval(Span::from_secs(1)),
        duration(Span::from_millis(1), Span::from_millis(10), Span::from_millis(5)),
    ],
    ..Descriptor::PLAIN
};

pub(crate) static SHINE: Descriptor = Descriptor {
    name: "shine",
    summary: "single high impulse noise: rare bursts of more than 10 ms at random times",
    sources: &[CLASSES],
    parameters: &[
        interval(Span::from_secs(60)),
        duration(Span::from_millis(10), Span::from_secs(10), Span::from_millis(50)),
    ],
    ..Descriptor::PLAIN
};

const fn duration(min: Span, max: Span, usual: Span) -> Parameter {
    Parameter {
        name: "duration",
        kind: Kind::Span { min, max },
        default: Value::Span(usual),
        description: "how long each burst lasts",
    }
}

const fn interval(usual: Span) -> Parameter {
    Parameter {
        name: "interval",
        kind: Kind::Span { min: Span::from_millis(1), max: DAY },
        default: Value::Span(usual),
        description: "mean time from the end of a burst to the start of the next, exponential",
    }
}

/// Impulse noise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Noise {
    /// When bursts come.
    pub bursts: Bursts,
    /// How long each lasts.
    pub duration: Span,
}

/// When bursts come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bursts {
    /// Their starts are this far apart.
    Periodic(Span),
    /// This mean time lies between the end of one and the start of the next.
    Random(Span),
}

impl Noise {
    /// The noise that parameters of one of the descriptors describe.
    ///
    /// # Errors
    /// A burst that lasts until the next.
    pub(crate) fn new(params: &Params) -> Result<Noise, ParameterError> {
        let duration = params.span("duration");
        if params.descriptor().name != REIN.name {
            return Ok(Noise { bursts: Bursts::Random(params.span("interval")), duration });
        }
        let period = params.span("period");
        if duration >= period {
            return Err(ParameterError::new("duration", format!("less than the period of {period}")));
        }
        Ok(Noise { bursts: Bursts::Periodic(period), duration })
    }
}
