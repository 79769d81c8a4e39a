//! Phases of a run that have results of their own.

use super::{Form, Key, LONGEST, MOMENT, Presence, Section};
use sojourn_core::Span;
use sojourn_core::registry::Kind;

pub(super) static PHASE: Section = Section {
    name: "phase",
    description: "A part of the run that has results of its own in the record, beside those of the whole run. It begins at or \
                  after `warmup`, and counts what happens from `from` on and before `to`. Phases may overlap. They change \
                  nothing of the run.",
    own: &[
        Key {
            name: "name",
            form: Form::Name { reserved: &[] },
            presence: Presence::Required,
            description: "what the phase is called in records and overrides",
            example: "slow",
        },
        Key {
            name: "from",
            form: Form::Value(MOMENT),
            presence: Presence::Required,
            description: "when it begins",
            example: "20 s",
        },
        Key {
            name: "to",
            form: Form::Value(Kind::Span { min: Span::from_nanos(1), max: LONGEST }),
            presence: Presence::Required,
            description: "when it ends, at the end of the run at the latest",
            example: "40 s",
        },
        Key {
            name: "every",
            form: Form::Value(Kind::Span { min: Span::from_nanos(1), max: LONGEST }),
            presence: Presence::Optional("there is this one window"),
            description: "it begins again at this interval, to the end of the run; the results are those of all its windows \
                          together",
            example: "40 s",
        },
    ],
    base: None,
    one_of: &[],
};
