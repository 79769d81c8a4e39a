//! Impulse noise: bursts that spoil what is on the wire.

use sojourn_core::registry::declare::{Field, span};
use sojourn_core::registry::{Descriptor, ParameterError, Params, Preset, Value};
use sojourn_core::{Span, parameters};

const DAY: Span = Span::from_secs(86_400);
const CLASSES: &str = "RITE deliverable D2.1, section 2.1.1 (the classes and how long their bursts last)";

parameters! {
    /// What can be set of it.
    struct Rein {
        /// between the starts of two bursts: half a period of the mains; the first comes at a random time within it
        period: Span = span(Span::from_millis(10), Span::from_millis(1)..=Span::from_secs(1)),
        duration: Span = duration(Span::from_micros(1), Span::from_millis(1), Span::from_micros(100)),
    }
}

pub(crate) static REIN: Descriptor = Descriptor {
    name: "rein",
    summary: "repetitive electrical impulse noise: bursts under 1 ms in step with the mains",
    sources: &[CLASSES, "Broadband Forum TR-176"],
    parameters: &Rein::LIST,
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

parameters! {
    /// What can be set of it.
    struct Pein {
        interval: Span = interval(Span::from_secs(1)),
        duration: Span = duration(Span::from_millis(1), Span::from_millis(10), Span::from_millis(5)),
    }
}

pub(crate) static PEIN: Descriptor = Descriptor {
    name: "pein",
    summary: "prolonged electrical impulse noise: bursts of 1 to 10 ms at random times",
    sources: &[CLASSES],
    parameters: &Pein::LIST,
    ..Descriptor::PLAIN
};

parameters! {
    /// What can be set of it.
    struct Shine {
        interval: Span = interval(Span::from_secs(60)),
        duration: Span = duration(Span::from_millis(10), Span::from_secs(10), Span::from_millis(50)),
    }
}

pub(crate) static SHINE: Descriptor = Descriptor {
    name: "shine",
    summary: "single high impulse noise: rare bursts of more than 10 ms at random times",
    sources: &[CLASSES],
    parameters: &Shine::LIST,
    ..Descriptor::PLAIN
};

const fn duration(min: Span, max: Span, usual: Span) -> Field<Span> {
    span(usual, min..=max).described("how long each burst lasts")
}

const fn interval(usual: Span) -> Field<Span> {
    span(usual, Span::from_millis(1)..=DAY)
        .described("mean time from the end of a burst to the start of the next, exponential")
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
        let random = |interval, duration| Ok(Noise { bursts: Bursts::Random(interval), duration });
        match params.descriptor().name {
            "pein" => {
                let Pein { interval, duration } = Pein::of(params);
                random(interval, duration)
            }
            "shine" => {
                let Shine { interval, duration } = Shine::of(params);
                random(interval, duration)
            }
            _ => {
                let Rein { period, duration } = Rein::of(params);
                if duration >= period {
                    return Err(ParameterError::new("duration", format!("less than the period of {period}")));
                }
                Ok(Noise { bursts: Bursts::Periodic(period), duration })
            }
        }
    }
}
