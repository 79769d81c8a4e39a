//! The format of the scenario file, as data.
//!
//! One [`Section`] for each table of the file, one [`Key`] for each of its keys. Checking, defaults, the
//! JSON Schema, the reference page and the canonical text are all derived from these; parameters of
//! disciplines, controls and the transport come from their own registries.

use sojourn_core::Span;
use sojourn_core::registry::{Descriptor, Kind};

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
    /// The key where the key beside it has this kind, and then it must; why.
    RequiredUnless { key: &'static str, kind: &'static str, reason: &'static str },
}

/// What a key may hold.
#[derive(Debug)]
pub(crate) enum Form {
    /// What a parameter of an algorithm may hold.
    Value(Kind),
    /// A size in bytes, bounds included.
    Bytes { min: u64, max: u64 },
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
    /// Two times, the second not before the first.
    Range(Kind),
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
}

/// A choice of tables by the word in their key `kind`; the word alone stands for a table with it.
#[derive(Debug)]
pub(crate) struct Select {
    pub kinds: &'static [&'static Section],
    /// The kind and key that a bare value belongs to, where a bare value is allowed.
    pub short: Option<(&'static str, &'static str)>,
}

/// Algorithms among which a file chooses.
#[derive(Debug)]
pub(crate) struct Family {
    /// What one of them is called.
    pub noun: &'static str,
    /// All of them.
    pub members: &'static [&'static Descriptor],
    /// Whether the file names one with the key `kind`; if not there is only one.
    pub choice: bool,
    /// The one that a table without `kind` is about.
    pub default: Option<&'static str>,
    /// The key beside it whose preset it takes, where it has one of that name and the file gives none.
    pub preset_of: Option<&'static str>,
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

impl Select {
    /// The kind called `name`.
    pub fn kind(&self, name: &str) -> Option<&'static Section> {
        self.kinds.iter().copied().find(|kind| kind.name == name)
    }

    /// Names of the kinds.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.kinds.iter().map(|kind| kind.name)
    }
}

impl Family {
    /// The member called `name`.
    pub fn member(&self, name: &str) -> Option<&'static Descriptor> {
        self.members.iter().copied().find(|member| member.name == name)
    }

    /// The key that a bare word stands for.
    pub fn word_key(&self) -> &'static str {
        if self.choice { "kind" } else { "preset" }
    }

    /// The words that may stand there.
    pub fn words(&self) -> Vec<&'static str> {
        if self.choice {
            self.members.iter().map(|member| member.name).collect()
        } else {
            self.members.iter().flat_map(|member| member.presets).map(|preset| preset.name).collect()
        }
    }
}

/// Queue disciplines.
pub(crate) static QUEUES: Family = Family {
    noun: "queue discipline",
    members: sojourn_queue::DESCRIPTORS,
    choice: true,
    default: Some("droptail"),
    preset_of: None,
};

/// Congestion controls.
pub(crate) static CONTROLS: Family = Family {
    noun: "congestion control",
    members: sojourn_congestion::DESCRIPTORS,
    choice: true,
    default: None,
    preset_of: Some("transport"),
};

/// The transport.
pub(crate) static TRANSPORTS: Family = Family {
    noun: "transport",
    members: &[&sojourn_transport::DESCRIPTOR],
    choice: false,
    default: Some("transport"),
    preset_of: None,
};

const HOUR: Span = Span::from_secs(3600);
/// Longest a run may last, and furthest a clock may be off: 10^7 s, 116 days.
pub(crate) const LONGEST: Span = Span::from_secs(10_000_000);
const PATH_DELAY: Kind = Kind::Span { min: Span::ZERO, max: HOUR };
const MOMENT: Kind = Kind::Span { min: Span::ZERO, max: LONGEST };
/// Largest number that TOML, JSON and Parquet agree on.
const LARGEST_INTEGER: u64 = i64::MAX as u64;
/// Most flows of a scenario: ports of 16 bits tell them apart, and some room.
pub(crate) const MOST_FLOWS: u64 = 60_000;

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
            name: "bottleneck",
            form: Form::Table(&BOTTLENECK),
            presence: Presence::Required,
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
            name: "group",
            form: Form::Tables(&GROUP),
            presence: Presence::Required,
            description: "groups of like flows; at least one",
            example: "[{ name = \"tcp\", control = \"newreno\", flows = 5, rtt = \"50 ms\" }]",
        },
    ],
    base: None,
    one_of: &[],
};

static BOTTLENECK: Section = Section {
    name: "bottleneck",
    description: "The link that all flows cross, and the queue before it.",
    own: &[],
    base: Some(&LINK),
    one_of: &[],
};

static REVERSE: Section = Section {
    name: "reverse",
    description: "The return link: it carries the acknowledgements of forward groups and the data of reverse ones. \
                  Without this section the return path is unlimited.",
    own: &[],
    base: Some(&LINK),
    one_of: &[],
};

static LINK: Section = Section {
    name: "link",
    description: "A link.",
    own: &[
        Key {
            name: "rate",
            form: Form::Value(Kind::Rate),
            presence: Presence::Optional("the link follows `trace`"),
            description: "how fast the link sends",
            example: "10 Mbit/s",
        },
        Key {
            name: "trace",
            form: Form::Trace,
            presence: Presence::Optional("the link has a fixed `rate`"),
            description: "a recorded link: a file, relative to the scenario's folder, with one time in whole ms per line \
                          and chance to send 1500 bytes; it repeats at its end; `ready:NAME` is a trace that comes with Sojourn",
            example: "ready:synthetic-lte",
        },
        Key {
            name: "delay",
            form: Form::Value(PATH_DELAY),
            presence: Presence::Default("0 s"),
            description: "one-way propagation delay, in addition to each group's own path",
            example: "5 ms",
        },
        Key {
            name: "jitter",
            form: Form::Select(&JITTER),
            presence: Presence::Optional("no jitter"),
            description: "random delay after transmission; a time alone is uniform from zero to it",
            example: "10 ms",
        },
        Key {
            name: "loss",
            form: Form::Value(Kind::Number { min: 0.0, max: 1.0 }),
            presence: Presence::Default("0"),
            description: "probability that a packet is lost after transmission",
            example: "0.01",
        },
        Key {
            name: "queue",
            form: Form::Algorithm(&QUEUES),
            presence: Presence::Default("droptail"),
            description: "the queue before the link: a discipline, or a table with `kind`, `preset` and parameters",
            example: "{ kind = \"droptail\", limit = \"500 packets\" }",
        },
    ],
    base: None,
    one_of: &["rate", "trace"],
};

static JITTER: Select = Select { kinds: &[&UNIFORM_JITTER, &NORMAL_JITTER], short: Some(("uniform", "max")) };

static UNIFORM_JITTER: Section = Section {
    name: "uniform",
    description: "uniform from zero to a maximum",
    own: &[
        Key {
            name: "max",
            form: Form::Value(PATH_DELAY),
            presence: Presence::Required,
            description: "longest additional delay",
            example: "10 ms",
        },
        REORDER,
    ],
    base: None,
    one_of: &[],
};

static NORMAL_JITTER: Section = Section {
    name: "normal",
    description: "normal, cut off at zero",
    own: &[
        Key {
            name: "mean",
            form: Form::Value(PATH_DELAY),
            presence: Presence::Required,
            description: "mean of the additional delay",
            example: "5 ms",
        },
        Key {
            name: "sd",
            form: Form::Value(PATH_DELAY),
            presence: Presence::Required,
            description: "standard deviation of the additional delay",
            example: "1 ms",
        },
        REORDER,
    ],
    base: None,
    one_of: &[],
};

const REORDER: Key = Key {
    name: "reorder",
    form: Form::Value(Kind::Boolean),
    presence: Presence::Default("false"),
    description: "whether a packet may overtake an earlier one; if not, it waits for it",
    example: "true",
};

static HOP: Section = Section {
    name: "hop",
    description: "One more link beside the bottleneck or the return link, in the order of the file.",
    own: &[
        Key {
            name: "name",
            form: Form::Name { reserved: &["bottleneck", "reverse"] },
            presence: Presence::Required,
            description: "what the link is called in records and overrides",
            example: "gateway",
        },
        Key {
            name: "at",
            form: Form::Value(Kind::Choice(&["before", "after"])),
            presence: Presence::Required,
            description: "whether packets cross it before or after the bottleneck (or the return link)",
            example: "before",
        },
        Key {
            name: "direction",
            form: Form::Value(DIRECTION),
            presence: Presence::Default("forward"),
            description: "which way its packets travel: with the bottleneck, or with the return link",
            example: "reverse",
        },
    ],
    base: Some(&LINK),
    one_of: &[],
};

const DIRECTION: Kind = Kind::Choice(&["forward", "reverse"]);

static GROUP: Section = Section {
    name: "group",
    description: "A group of flows that differ only in their round-trip and start times.",
    own: &[
        Key {
            name: "name",
            form: Form::Name { reserved: &["all", "total"] },
            presence: Presence::Required,
            description: "what the group is called in records and overrides",
            example: "tcp",
        },
        Key {
            name: "flows",
            form: Form::Value(Kind::Integer { min: 1, max: MOST_FLOWS }),
            presence: Presence::Default("1"),
            description: "how many flows; at most 60000 in all groups together",
            example: "5",
        },
        Key {
            name: "rtt",
            form: Form::PerFlow { kind: PATH_DELAY, table: None },
            presence: Presence::Required,
            description: "base round-trip time, without the links' own delays; a list gives each flow its own",
            example: "[\"20 ms\", \"50 ms\"]",
        },
        Key {
            name: "control",
            form: Form::Algorithm(&CONTROLS),
            presence: Presence::RequiredUnless {
                key: "traffic",
                kind: "cbr",
                reason: "cbr traffic sends at its rate whatever happens",
            },
            description: "the congestion control, or a table with `kind`, `preset` and parameters; without a preset it takes \
                          the one named as the transport's preset where it has such a one, otherwise its own defaults",
            example: "{ kind = \"newreno\", preset = \"linux\" }",
        },
        Key {
            name: "transport",
            form: Form::Algorithm(&TRANSPORTS),
            presence: Presence::Default("rfc"),
            description: "the preset of sender and receiver, or a table with `preset` and options",
            example: "{ preset = \"ns2\", sack = true }",
        },
        Key {
            name: "traffic",
            form: Form::Select(&TRAFFIC),
            presence: Presence::Default("bulk"),
            description: "what the application sends: a kind, or a table with `kind` and its keys",
            example: "{ kind = \"on-off\", on = \"2 s\", off = \"1 s\" }",
        },
        Key {
            name: "start",
            form: Form::PerFlow { kind: MOMENT, table: Some(&RANDOM_START) },
            presence: Presence::Default("0 s"),
            description: "when the flows start; a list gives each flow its own time, a table draws random times",
            example: "{ uniform = [\"0 s\", \"0.1 s\"] }",
        },
        Key {
            name: "stop",
            form: Form::Value(MOMENT),
            presence: Presence::Optional("at the end of the run"),
            description: "when the flows stop sending new data",
            example: "30 s",
        },
        Key {
            name: "direction",
            form: Form::Value(DIRECTION),
            presence: Presence::Default("forward"),
            description: "which way data travels: over the bottleneck, or over the return link",
            example: "reverse",
        },
        Key {
            name: "dscp",
            form: Form::Dscp,
            presence: Presence::Default("default"),
            description: "differentiated services code point of its packets, a name or a number from 0 to 63; \
                          class-aware disciplines act on it",
            example: "le",
        },
        Key {
            name: "access_rate",
            form: Form::Value(Kind::Rate),
            presence: Presence::Optional("unlimited"),
            description: "rate of each flow's own access link before the first shared link",
            example: "100 Mbit/s",
        },
        Key {
            name: "clock_offset",
            form: Form::Offset(LONGEST),
            presence: Presence::Default("0 s"),
            description: "receiver's clock minus sender's clock at the start of the run",
            example: "-5 s",
        },
        Key {
            name: "clock_skew_ppm",
            form: Form::Value(Kind::Number { min: -10_000.0, max: 10_000.0 }),
            presence: Presence::Default("0"),
            description: "how much faster the receiver's clock runs than the sender's, in parts per million",
            example: "100",
        },
    ],
    base: None,
    one_of: &[],
};

static RANDOM_START: Section = Section {
    name: "start",
    description: "random start times",
    own: &[Key {
        name: "uniform",
        form: Form::Range(MOMENT),
        presence: Presence::Required,
        description: "each flow starts at a random time between these two",
        example: "[\"0 s\", \"0.1 s\"]",
    }],
    base: None,
    one_of: &[],
};

static TRAFFIC: Select = Select { kinds: &[&BULK, &ON_OFF, &CBR], short: None };

static BULK: Section = Section {
    name: "bulk",
    description: "always has data, or sends one transfer of a given size whose completion time is recorded",
    own: &[Key {
        name: "size",
        form: Form::Bytes { min: 1, max: 1_000_000_000_000_000 },
        presence: Presence::Optional("without end"),
        description: "payload bytes to send",
        example: "1 MB",
    }],
    base: None,
    one_of: &[],
};

static ON_OFF: Section = Section {
    name: "on-off",
    description: "exponential on and off times; sends as bulk while on, and starts with a new window after an off time",
    own: &[
        Key {
            name: "on",
            form: Form::Value(Kind::Span { min: Span::from_millis(1), max: LONGEST }),
            presence: Presence::Default("1 s"),
            description: "mean of the on times",
            example: "2 s",
        },
        Key {
            name: "off",
            form: Form::Value(MOMENT),
            presence: Presence::Default("1 s"),
            description: "mean of the off times; with zero the flow is always on, which is bulk",
            example: "1 s",
        },
    ],
    base: None,
    one_of: &[],
};

static CBR: Section = Section {
    name: "cbr",
    description: "packets of one size at a constant rate, whatever happens to them; has no congestion control",
    own: &[
        Key {
            name: "rate",
            form: Form::Value(Kind::Rate),
            presence: Presence::Required,
            description: "rate on the wire",
            example: "64 kbit/s",
        },
        Key {
            name: "packet",
            form: Form::Bytes { min: 40, max: 65_535 },
            presence: Presence::Default("1500 B"),
            description: "size of a packet on the wire",
            example: "200 B",
        },
    ],
    base: None,
    one_of: &[],
};
