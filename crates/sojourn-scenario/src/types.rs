//! A scenario, resolved: every default filled in, every name looked up, every unit converted.

use crate::format::ScenarioKeys;
use crate::group::Group;
use crate::link::{Hop, Link, Route, Which, is_shared};
use crate::phase::Phase;
use crate::recording::Trace;
use sojourn_core::Span;
use sojourn_core::registry::Params;
use sojourn_media::Setup;
use std::ops::Deref;

/// A resolved scenario. Its constructor has checked it: it can be run as it is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Scenario {
    /// The keys at the top of its file, which are its own fields as well.
    pub keys: ScenarioKeys,
    /// What the user calls it.
    pub name: String,
    /// The link that all flows cross.
    pub bottleneck: Link,
    /// The return link; unlimited where absent.
    pub reverse: Option<Link>,
    /// More links, in the order of the file.
    pub hops: Vec<Hop>,
    /// Stations, where the bottleneck's medium is shared.
    pub stations: Vec<Station>,
    /// Groups of like flows.
    pub groups: Vec<Group>,
    /// What changes while a run goes on, in order of time.
    pub changes: Vec<Change>,
    /// Parts of the run that have results of their own.
    pub phases: Vec<Phase>,
}

/// What is different from an instant on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Change {
    /// Its name for overrides.
    pub name: Option<String>,
    /// When, from the start of the run; above zero and before its end.
    pub at: Span,
    /// The links concerned.
    pub links: Vec<LinkChange>,
    /// The groups concerned.
    pub groups: Vec<GroupChange>,
}

/// Another way of a group.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Rerouted {
    /// The links of its data, as the group names them then; none where it does not.
    pub path: Vec<String>,
    /// Those of its acknowledgements.
    pub back: Vec<String>,
    /// What that makes of its flows' routes, as those of [`Group`] are.
    pub routes: Vec<Route>,
}

/// A group that changes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GroupChange {
    /// Its place among the groups.
    pub group: usize,
    /// Its congestion control from then on, of the kind that it has, where the change names it.
    pub control: Option<Params>,
    /// The base round-trip time of each of its flows from then on, where the change names it.
    pub rtt: Option<Vec<Span>>,
    /// Another way from then on, where the change names one.
    pub rerouted: Option<Rerouted>,
}

/// A link that changes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LinkChange {
    /// Which one.
    pub which: Which,
    /// The keys that the change names, as the file calls them.
    pub keys: Vec<&'static str>,
    /// The link as it is from then on.
    pub link: Link,
}

impl Deref for Scenario {
    type Target = ScenarioKeys;

    fn deref(&self) -> &ScenarioKeys {
        &self.keys
    }
}

impl Scenario {
    /// Bytes on the wire of the largest packet that any group sends; what disciplines take for a full-size one.
    pub fn largest_packet_bytes(&self) -> u32 {
        self.groups.iter().map(Group::packet_bytes).max().unwrap_or(Trace::OPPORTUNITY_BYTES)
    }

    /// The air that the bottleneck and the stations share, where they do.
    pub fn air(&self) -> Option<Setup> {
        let medium = self.bottleneck.medium.as_ref().filter(|params| is_shared(params))?;
        Some(Setup::new(medium).expect("the scenario's parameters were checked"))
    }
}

/// A station of the access point or base station.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Station {
    /// Its name in the record.
    pub name: String,
    /// The name of its rate; none in a cell.
    pub rate: Option<String>,
    /// Its spatial streams, where the rate does not say.
    pub streams: u32,
    /// What that makes of it in the air.
    pub air: sojourn_media::Station,
    /// Its own link, towards the access point or base station.
    pub link: Link,
}
