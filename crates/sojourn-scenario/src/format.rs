//! The format of the scenario file, as data.
//!
//! One [`Section`] for each table of the file, one [`Key`] for each of its keys. Checking, defaults, the
//! JSON Schema, the reference page and the canonical text are all derived from these; parameters of
//! disciplines, controls and the transport come from their own registries.

mod access;
mod change;
mod group;
mod host;
mod link;
mod phase;
mod queue;
mod sizes;
mod station;
#[cfg(test)]
mod tests;
mod traffic;

use crate::access as lines;
use access::ACCESS;
pub(crate) use access::FILLED;
use change::CHANGE;
use group::GROUP;
pub(crate) use link::is_shared;
use link::{BOTTLENECK, HOP, REVERSE};
use phase::PHASE;
pub(crate) use queue::CLASS;
use sojourn_core::Span;
use sojourn_core::registry::{Descriptor, Holds, Kind};
#[cfg_attr(not(any(test, feature = "random")), allow(unused_imports))]
pub(crate) use station::STATION;
pub(crate) use traffic::{INTERVAL, TRAFFIC, UNRESPONSIVE, default_connections};

/// A table of the file.
#[derive(Debug)]
pub(crate) struct Section {
    /// The key of the table; the word of the kind where there is a choice of tables.
    pub name: &'static str,
    /// One or two sentences.
    pub description: &'static str,
    /// Keys of its own.
    pub own: &'static [Key],
    /// The section whose keys it has as well.
    pub base: Option<&'static Section>,
    /// Keys of which exactly one must be given.
    pub one_of: &'static [&'static str],
}

/// A key of a table.
#[derive(Debug)]
pub(crate) struct Key {
    pub name: &'static str,
    pub form: Form,
    pub presence: Presence,
    /// One sentence, without a full stop.
    pub description: &'static str,
    /// A value: as TOML writes it, or a text without its quotes.
    pub example: &'static str,
}

/// What a file may leave out.
#[derive(Debug)]
pub(crate) enum Presence {
    /// Nothing.
    Required,
    /// The key, which then has this value, written as an example is.
    Default(&'static str),
    /// The key; what its absence means.
    Optional(&'static str),
    /// The key, and it must where this other one is not beside it; what its absence means; why it must.
    OptionalBeside { key: &'static str, meaning: &'static str, reason: &'static str },
    /// The key where the key beside it is given.
    RequiredWithout(&'static str),
    /// The key where the key beside it has one of these kinds, and then it must; why.
    RequiredUnless { key: &'static str, kinds: &'static [&'static str], reason: &'static str },
}

/// What a key may hold.
#[derive(Debug)]
pub(crate) enum Form {
    /// What a parameter of an algorithm may hold.
    Value(Kind),
    /// A size in bytes, bounds included.
    Bytes { min: u64, max: u64 },
    /// Payload in bytes, bounds included, or in full packets of the group's transport.
    Payload { max: u64 },
    /// Packets per second.
    PacketRate { min: f64, max: f64 },
    /// A time that may be negative, at most this far from zero.
    Offset(Span),
    /// Free text.
    Text,
    /// A name that keys and records can contain, other than these.
    Name { reserved: &'static [&'static str] },
    /// A recorded link.
    Trace,
    /// A differentiated services code point.
    Dscp,
    /// The name of a group.
    Group,
    /// One value or a list of them, of the inner form.
    OneOrMore(&'static Form),
    /// Two times, the second not before the first.
    Range(Kind),
    /// Rates, each above the one before, and at most so many.
    Ladder { most: usize },
    /// One value for all flows or a list of one for each; or a table.
    PerFlow { kind: Kind, table: Option<&'static Section> },
    /// One of several tables.
    Select(&'static Select),
    /// An algorithm and its parameters.
    Algorithm(&'static Family),
    /// A table.
    Table(&'static Section),
    /// A list of tables, addressed by their names.
    Tables(&'static Section),
    /// Some keys of a table, whose others stay as they are.
    Part(&'static Part),
}

/// What may be said of a table that is there already.
#[derive(Debug)]
pub(crate) struct Part {
    pub of: &'static Section,
    pub keys: &'static [&'static str],
    /// Whether it is a list of such tables, which are told apart by their names.
    pub listed: bool,
}

/// A choice of tables by the word in their key `kind`; the word alone stands for a table with it.
#[derive(Debug)]
pub(crate) struct Select {
    pub kinds: &'static [&'static Section],
    /// Those that were added from outside, where that can be.
    pub added: Option<fn() -> Vec<&'static Section>>,
    /// The kind and key that a bare value belongs to, where a bare value is allowed.
    pub short: Option<(&'static str, &'static str)>,
}

/// Algorithms among which a file chooses.
#[derive(Debug)]
pub(crate) struct Family {
    /// What one of them is called.
    pub noun: &'static str,
    /// What all of them are called in listings.
    pub plural: &'static str,
    /// The heading of its part of the reference page.
    pub title: &'static str,
    /// Those that are built in.
    pub built_in: &'static [&'static Descriptor],
    /// Those that were added from outside, where that can be.
    pub added: Option<fn() -> Vec<&'static Descriptor>>,
    /// Whether the file names one with the key `kind`; if not there is only one.
    pub choice: bool,
    /// The one that a table without `kind` is about.
    pub default: Option<&'static str>,
    /// The key beside it whose preset it takes, where it has one of that name and the file gives none.
    pub preset_of: Option<&'static str>,
    /// The keys of those that hold others, where there are any.
    pub nested: Option<&'static Nested>,
}

/// The keys under which an algorithm holds others of its family.
#[derive(Debug)]
pub(crate) struct Nested {
    /// Of those that hold one.
    pub child: Key,
    /// Of those that hold one for each class; a list of tables.
    pub class: Key,
}

impl Section {
    /// All keys, in the order of the documentation.
    pub fn keys(&self) -> impl Iterator<Item = &'static Key> + use<> {
        self.own.iter().chain(self.base.map_or(&[][..], |base| base.own))
    }

    /// The key called `name`.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys().find(|key| key.name == name)
    }

    /// Keys of which exactly one must be given.
    pub fn exclusive(&self) -> &'static [&'static str] {
        self.base.map_or(self.one_of, |base| base.one_of)
    }
}

impl Part {
    /// Its keys, with the name where it is one of a list.
    pub fn all_keys(&self) -> impl Iterator<Item = &'static Key> + use<> {
        let (keys, listed) = (self.keys, self.listed);
        self.of.keys().filter(move |key| keys.contains(&key.name) || (listed && key.name == "name"))
    }
}

impl Select {
    /// All kinds: those that are built in, then those that were added.
    pub fn all(&self) -> impl Iterator<Item = &'static Section> + use<> {
        self.kinds.iter().copied().chain(self.added.map_or_else(Vec::new, |added| added()))
    }

    /// The kind called `name`.
    pub fn kind(&self, name: &str) -> Option<&'static Section> {
        self.all().find(|kind| kind.name == name)
    }

    /// Names of the kinds.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.all().map(|kind| kind.name)
    }
}

impl Family {
    /// All of them: those that are built in, then those that were added.
    pub fn members(&self) -> impl Iterator<Item = &'static Descriptor> + use<> {
        self.built_in.iter().copied().chain(self.added.map_or_else(Vec::new, |added| added()))
    }

    /// The member called `name`.
    pub fn member(&self, name: &str) -> Option<&'static Descriptor> {
        self.members().find(|member| member.name == name)
    }

    /// The key under which `member` holds others.
    pub fn held(&self, member: &Descriptor) -> Option<&'static Key> {
        match (member.holds, self.nested) {
            (Holds::One, Some(nested)) => Some(&nested.child),
            (Holds::Classes(_), Some(nested)) => Some(&nested.class),
            _ => None,
        }
    }

    /// The key called `name` of members that hold others.
    pub fn nested_key(&self, name: &str) -> Option<&'static Key> {
        self.nested_keys().find(|key| key.name == name)
    }

    /// The keys of members that hold others.
    pub fn nested_keys(&self) -> impl Iterator<Item = &'static Key> + use<> {
        self.nested.into_iter().flat_map(|nested| [&nested.child, &nested.class])
    }

    /// Whether any member has a parameter called `name`.
    pub fn has_parameter(&self, name: &str) -> bool {
        self.members().any(|member| member.parameter(name).is_some())
    }

    /// The key that a bare word stands for.
    pub fn word_key(&self) -> &'static str {
        if self.choice { "kind" } else { "preset" }
    }

    /// The words that may stand there.
    pub fn words(&self) -> Vec<&'static str> {
        if self.choice {
            self.members().map(|member| member.name).collect()
        } else {
            self.members().flat_map(|member| member.presets).map(|preset| preset.name).collect()
        }
    }
}

/// Queue disciplines.
pub(crate) static QUEUES: Family = Family {
    noun: "queue discipline",
    plural: "queues",
    title: "Queue disciplines",
    built_in: sojourn_queue::DESCRIPTORS,
    added: Some(sojourn_queue::custom::descriptors),
    choice: true,
    default: Some("droptail"),
    preset_of: None,
    nested: Some(&queue::HELD),
};

/// Congestion controls.
pub(crate) static CONTROLS: Family = Family {
    noun: "congestion control",
    plural: "controls",
    title: "Congestion controls",
    built_in: sojourn_congestion::DESCRIPTORS,
    added: Some(sojourn_congestion::custom::descriptors),
    choice: true,
    default: None,
    preset_of: Some("transport"),
    nested: None,
};

/// Those of them that a receiver can run: RFC 9840 is about these, and others need to know what only a sender knows.
pub(crate) static RECEIVER_CONTROLS: Family = Family {
    built_in: &[&sojourn_congestion::ledbat::DESCRIPTOR, &sojourn_congestion::ledbatpp::DESCRIPTOR],
    added: None,
    ..CONTROLS
};

/// The transport.
pub(crate) static TRANSPORTS: Family = Family {
    noun: "transport",
    plural: "transports",
    title: "Transport",
    built_in: &[&sojourn_transport::DESCRIPTOR],
    added: None,
    choice: false,
    default: Some("transport"),
    preset_of: None,
    nested: None,
};

/// What links make of packets.
pub(crate) static FRAMINGS: Family = Family {
    noun: "framing",
    plural: "framings",
    title: "Framing",
    built_in: &[&sojourn_queue::framing::DESCRIPTOR],
    added: None,
    choice: false,
    default: Some("framing"),
    preset_of: None,
    nested: None,
};

/// How links come to send.
pub(crate) static MEDIA: Family = Family {
    noun: "medium",
    plural: "media",
    title: "Media",
    built_in: &[
        &lines::DEDICATED,
        &lines::DOCSIS,
        &lines::GPON,
        &sojourn_media::wifi::DESCRIPTOR,
        &sojourn_media::cell::LTE,
        &sojourn_media::cell::NR,
    ],
    added: None,
    choice: true,
    default: Some("dedicated"),
    preset_of: None,
    nested: None,
};

/// Impulse noise.
pub(crate) static NOISES: Family = Family {
    noun: "noise",
    plural: "noises",
    title: "Noise",
    built_in: &[&lines::REIN, &lines::PEIN, &lines::SHINE],
    added: None,
    choice: true,
    default: None,
    preset_of: None,
    nested: None,
};

/// What is done against impulse noise.
pub(crate) static PROTECTIONS: Family = Family {
    noun: "protection",
    plural: "protections",
    title: "Protection from noise",
    built_in: &[&lines::INTERLEAVING, &lines::RETRANSMISSION],
    added: None,
    choice: true,
    default: None,
    preset_of: None,
    nested: None,
};

/// All families, in the order of listings and of the documentation.
pub(crate) static FAMILIES: [&Family; 7] = [&QUEUES, &CONTROLS, &TRANSPORTS, &FRAMINGS, &MEDIA, &NOISES, &PROTECTIONS];

const HOUR: Span = Span::from_secs(3600);
/// Longest a run may last, and furthest a clock may be off: 10^7 s, 116 days.
pub(crate) const LONGEST: Span = Span::from_secs(10_000_000);
const PATH_DELAY: Kind = Kind::Span { min: Span::ZERO, max: HOUR };
const MOMENT: Kind = Kind::Span { min: Span::ZERO, max: LONGEST };
/// Largest number that TOML, JSON and Parquet agree on.
const LARGEST_INTEGER: u64 = i64::MAX as u64;
/// Most flows of a group: ports of 16 bits tell those of a host apart, and some room.
pub(crate) const MAX_FLOWS: u64 = 60_000;
/// Most flows of a scenario, each of which has its place in a record.
pub(crate) const MAX_FLOWS_IN_ALL: u64 = 150_000;

const DIRECTION: Kind = Kind::Choice(&["forward", "reverse"]);

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
            form: Form::Value(MOMENT),
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
