//! The format of the scenario file, as data.
//!
//! One [`Section`] for each table of the file, one [`Key`](crate::form::Key) for each of its keys. Checking, defaults, the
//! JSON Schema, the reference page and the canonical text are all derived from these; parameters of
//! disciplines, controls and the transport come from their own registries.

mod access;
mod change;
mod station;
#[cfg(test)]
mod tests;

use crate::declare::{Elsewhere, elsewhere, inner, integer, span, table, texts};
use crate::families::{CLASS, QUEUES};
use crate::form::{Form, LONGEST, MOMENT, Section};
use crate::group::GROUP;
use crate::link::{BOTTLENECK, HOP, REVERSE};
use crate::phase::PHASE;
use crate::shaper::{SHAPER, Shaper};
use access::ACCESS;
pub(crate) use access::FILLED;
use change::CHANGE;
use sojourn_core::Span;
use sojourn_core::registry::Descriptor;
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

table! {
    /// The keys at the top of the file.
    pub struct ScenarioKeys = SCENARIO, "" => {
        /// what the scenario is called in records and figures
        name: Elsewhere = elsewhere(Form::Text).absent("the file's name without its ending", "motivating-example"),
        /// simulated time
        duration: Span = span(Span::from_millis(1)..=LONGEST).required("60 s"),
        /// from when on results are measured; shorter than the duration
        warmup: Span = span(MOMENT).or("0 s", "10 s"),
        /// seed of the first run
        seed: u64 = integer(0..=LARGEST_INTEGER).or("1", "1"),
        /// number of runs, each with the next seed
        runs: u32 = integer(1..=1_000_000).or("1", "10"),
        /// Python files with algorithms of one's own, relative to this file; they are code, so they run only with
        /// `--allow-plugins`, or where the user's own settings list them
        plugins: Vec<String> = texts()
            .absent("only built-in algorithms and those of installed packages can be named", "[\"mine.py\"]"),
        /// keys whose value is not known, each with the range in which it may be; a run takes the value that the file
        /// gives, `sojourn whatif` and `sojourn tune` all of the range
        unknown: Vec<String> = texts()
            .absent("all values are known", "[\"bottleneck.queue.limit=40..200 packets\"]"),
        /// an access line, which fills the bottleneck and the return link
        access: Elsewhere = elsewhere(Form::Table(&ACCESS))
            .absent("there are no links but those that the file describes", "{ profile = \"adsl2+\" }"),
        /// the link that all flows cross
        bottleneck: Elsewhere = elsewhere(Form::Table(&BOTTLENECK))
            .required_without("access", "{ rate = \"10 Mbit/s\" }"),
        /// the return link
        reverse: Elsewhere = elsewhere(Form::Table(&REVERSE))
            .absent("acknowledgements return without limit or loss", "{ rate = \"1 Mbit/s\" }"),
        /// more links on the way, each with its own queue and record
        hop: Elsewhere = elsewhere(Form::Tables(&HOP))
            .absent("there are no other links", "[{ name = \"gateway\", at = \"before\", rate = \"20 Mbit/s\" }]"),
        /// stations of the access point or base station, with the bottleneck's medium `wifi`, `lte` or `5g`
        station: Elsewhere = elsewhere(Form::Tables(&STATION)).absent(
            "there are none; required with a medium that stations share",
            "[{ name = \"near\", rate = \"54 Mbit/s\" }]",
        ),
        /// what follows a line whose rate varies with the rates of a gateway's shapers
        shaper: Option<Shaper> = inner(&SHAPER)
            .unless("links send at the rates of the file", "{ controller = \"autorate\", pings = \"reflectors\" }"),
        /// groups of like flows; at least one
        group: Elsewhere = elsewhere(Form::Tables(&GROUP))
            .required("[{ name = \"tcp\", control = \"newreno\", flows = 5, rtt = \"50 ms\" }]"),
        /// what changes while the run goes on
        change: Elsewhere = elsewhere(Form::Tables(&CHANGE))
            .absent("links stay as they are", "[{ at = \"20 s\", bottleneck = { rate = \"5 Mbit/s\" } }]"),
        /// parts of the run that have results of their own
        phase: Elsewhere = elsewhere(Form::Tables(&PHASE)).absent(
            "there are only the results of the whole run",
            "[{ name = \"slow\", from = \"20 s\", to = \"40 s\" }]",
        ),
    }
}
