//! What a table of the file may be: its keys, what they may hold, and what may be left out.

use crate::node::Table;
use sojourn_core::Span;
use sojourn_core::registry::{Descriptor, Holds, Kind};
use std::ops::RangeInclusive;

/// Longest a run may last, and furthest a clock may be off: 10^7 s, 116 days.
pub(crate) const LONGEST: Span = Span::from_secs(10_000_000);
/// Most flows of a group: ports of 16 bits tell those of a host apart, and some room.
pub(crate) const MAX_FLOWS: u64 = 60_000;
/// Most links of a scenario.
pub(crate) const MAX_LINKS: u64 = 50_000;
/// Memory of a link with DropTail that is idle; a busy one with a queue for each flow takes ten times as much.
pub(crate) const LINK_BYTES: f64 = 12e3;
/// A time of a run.
pub(crate) const MOMENT: RangeInclusive<Span> = Span::ZERO..=LONGEST;
/// A delay on the way.
pub(crate) const PATH_DELAY: RangeInclusive<Span> = Span::ZERO..=Span::from_secs(3600);

/// A time within `bounds`.
pub(crate) const fn time(bounds: RangeInclusive<Span>) -> Kind {
    Kind::Span { min: *bounds.start(), max: *bounds.end() }
}

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
    /// An address, or all addresses that begin alike.
    Addresses,
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
    /// The key beside which the file names one of somebody else's, which is any text and may be left out.
    pub foreign_beside: Option<&'static str>,
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
    /// What most of them have in common.
    pub const PLAIN: Section = Section { name: "", description: "", own: &[], base: None, one_of: &[] };

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

impl Form {
    /// The key beside which the file names an algorithm of somebody else's, where it may.
    pub fn foreign_beside(&self) -> Option<&'static str> {
        let Form::Algorithm(family) = self else { return None };
        family.foreign_beside
    }

    /// Whether the table `siblings` names an algorithm of somebody else's.
    pub fn is_foreign(&self, siblings: &Table) -> bool {
        self.foreign_beside().is_some_and(|key| siblings.get(key).is_some())
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

    /// The members that have a parameter called `name`.
    pub fn owners(&self, name: &str) -> impl Iterator<Item = &'static str> {
        self.members().filter(move |member| member.parameter(name).is_some()).map(|member| member.name)
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
