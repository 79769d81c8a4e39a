//! The format of the scenario file, as data.
//!
//! One [`Section`] for each table of the file, one [`Key`] for each of its keys. Checking, defaults, the
//! JSON Schema, the reference page and the canonical text are all derived from these; parameters of
//! disciplines, controls and the transport come from their own registries.

mod access;
mod change;
mod station;
#[cfg(test)]
mod tests;

use crate::families::{CLASS, QUEUES};
use crate::form::{Form, Key, LONGEST, Presence, Section};
use crate::form::{MOMENT, time};
use crate::group::GROUP;
use crate::link::{BOTTLENECK, HOP, REVERSE};
use crate::phase::PHASE;
use access::ACCESS;
pub(crate) use access::FILLED;
use change::CHANGE;
use sojourn_core::Span;
use sojourn_core::registry::{Descriptor, Kind};
#[cfg_attr(not(any(test, feature = "random")), allow(unused_imports))]
pub(crate) use station::STATION;

impl Section {
    /// What to say of a key that it does not have but one of its algorithms does.
    pub fn owner(&self, key: &str) -> Option<String> {
        let has = |member: &&'static Descriptor| member.class().is_some_and(|class| class.parameter(key).is_some());
        let classful: Vec<_> = QUEUES.members().filter(has).map(|member| member.name).collect();
        if std::ptr::eq(self, &CLASS) && !classful.is_empty() {
            return Some(format!("a key for the classes of {} only", classful.join(", ")));
        }
        self.keys().find_map(|sibling| {
            let Form::Algorithm(family) = &sibling.form else { return None };
            let owner = family.owners(key).next()?;
            Some(format!("a parameter of the {} {owner}, which belongs in the table `{}`", family.noun, sibling.name))
        })
    }
}

/// Largest number that TOML, JSON and Parquet agree on.
const LARGEST_INTEGER: u64 = i64::MAX as u64;
/// Most flows of a scenario, each of which has its place in a record.
pub(crate) const MAX_FLOWS_IN_ALL: u64 = 150_000;

/// The file itself.
pub(crate) static SCENARIO: Section = Section {
    name: "",
    description: "The keys at the top of the file.",
    own: &[
        Key {
            name: "name",
            form: Form::Text,
            presence: Presence::Optional("the file's name without its ending"),
            description: "what the scenario is called in records and figures",
            example: "motivating-example",
        },
        Key {
            name: "duration",
            form: Form::Value(Kind::Span { min: Span::from_millis(1), max: LONGEST }),
            presence: Presence::Required,
            description: "simulated time",
            example: "60 s",
        },
        Key {
            name: "warmup",
            form: Form::Value(time(MOMENT)),
            presence: Presence::Default("0 s"),
            description: "from when on results are measured; shorter than the duration",
            example: "10 s",
        },
        Key {
            name: "seed",
            form: Form::Value(Kind::Integer { min: 0, max: LARGEST_INTEGER }),
            presence: Presence::Default("1"),
            description: "seed of the first run",
            example: "1",
        },
        Key {
            name: "runs",
            form: Form::Value(Kind::Integer { min: 1, max: 1_000_000 }),
            presence: Presence::Default("1"),
            description: "number of runs, each with the next seed",
            example: "10",
        },
        Key {
            name: "plugins",
            form: Form::OneOrMore(&Form::Text),
            presence: Presence::Optional("only built-in algorithms and those of installed packages can be named"),
            description: "Python files with algorithms of one's own, relative to this file; they are code, so they run only with `--allow-plugins`, or where the user's own settings list them",
            example: "[\"mine.py\"]",
        },
        Key {
            name: "access",
            form: Form::Table(&ACCESS),
            presence: Presence::Optional("there are no links but those that the file describes"),
            description: "an access line, which fills the bottleneck and the return link",
            example: "{ profile = \"adsl2+\" }",
        },
        Key {
            name: "bottleneck",
            form: Form::Table(&BOTTLENECK),
            presence: Presence::RequiredWithout("access"),
            description: "the link that all flows cross",
            example: "{ rate = \"10 Mbit/s\" }",
        },
        Key {
            name: "reverse",
            form: Form::Table(&REVERSE),
            presence: Presence::Optional("acknowledgements return without limit or loss"),
            description: "the return link",
            example: "{ rate = \"1 Mbit/s\" }",
        },
        Key {
            name: "hop",
            form: Form::Tables(&HOP),
            presence: Presence::Optional("there are no other links"),
            description: "more links on the way, each with its own queue and record",
            example: "[{ name = \"gateway\", at = \"before\", rate = \"20 Mbit/s\" }]",
        },
        Key {
            name: "station",
            form: Form::Tables(&STATION),
            presence: Presence::Optional("there are none; required with a medium that stations share"),
            description: "stations of the access point or base station, with the bottleneck's medium `wifi`, `lte` or `5g`",
            example: "[{ name = \"near\", rate = \"54 Mbit/s\" }]",
        },
        Key {
            name: "group",
            form: Form::Tables(&GROUP),
            presence: Presence::Required,
            description: "groups of like flows; at least one",
            example: "[{ name = \"tcp\", control = \"newreno\", flows = 5, rtt = \"50 ms\" }]",
        },
        Key {
            name: "change",
            form: Form::Tables(&CHANGE),
            presence: Presence::Optional("links stay as they are"),
            description: "what changes while the run goes on",
            example: "[{ at = \"20 s\", bottleneck = { rate = \"5 Mbit/s\" } }]",
        },
        Key {
            name: "phase",
            form: Form::Tables(&PHASE),
            presence: Presence::Optional("there are only the results of the whole run"),
            description: "parts of the run that have results of their own",
            example: "[{ name = \"slow\", from = \"20 s\", to = \"40 s\" }]",
        },
    ],
    base: None,
    one_of: &[],
};
