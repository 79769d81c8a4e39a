//! Links: the bottleneck, the return link and the hops.

use super::{
    DIRECTION, FRAMINGS, Form, Key, MEDIA, NOISES, PATH_DELAY, PROTECTIONS, Presence, QUEUES, Section, Select,
};
use crate::EcnRemark;
use crate::node::Table;
use sojourn_core::registry::Kind;

pub(crate) static BOTTLENECK: Section = Section {
    name: "bottleneck",
    description: "The link that all flows cross, and the queue before it.",
    own: &[],
    base: Some(&LINK),
    one_of: &[],
};

pub(crate) static REVERSE: Section = Section {
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
            description: "how fast the link sends what is on the wire, `framing` included",
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
            name: "framing",
            form: Form::Algorithm(&FRAMINGS),
            presence: Presence::Optional("packets are on the wire as IP sees them"),
            description: "what a packet occupies on the wire: a word, or a table with `preset` and what differs from it; queues \
                          count bytes as IP sees them",
            example: "pppoe-llcsnap",
        },
        Key {
            name: "medium",
            form: Form::Algorithm(&MEDIA),
            presence: Presence::Optional("the wire is the link's own, as with `dedicated`"),
            description: "how the link comes to send: a kind, or a table with `kind`, `preset` and parameters; beside one that \
                          stations share (`wifi`, `lte`, `5g`) there is neither `rate` nor `trace`, and the others go with `rate` only",
            example: "docsis",
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
            name: "noise",
            form: Form::Algorithm(&NOISES),
            presence: beside_rate("no noise"),
            description: "impulse noise, which spoils the packets that are on the wire: a kind, or a table with `kind`, `preset` \
                          and parameters",
            example: "{ kind = \"rein\", preset = \"60hz\" }",
        },
        Key {
            name: "protection",
            form: Form::Algorithm(&PROTECTIONS),
            presence: beside_rate("a spoilt packet is lost"),
            description: "what is done against noise, and the delay that it costs: a kind, or a table with `kind`, `preset` and \
                          parameters",
            example: "{ kind = \"interleaving\", delay = \"8 ms\" }",
        },
        Key {
            name: "policer",
            form: Form::Table(&POLICER),
            presence: Presence::Optional("no policer"),
            description: "what drops, before the queue, packets beyond a rate and a burst",
            example: "{ rate = \"8 Mbit/s\", burst = \"50 kB\" }",
        },
        Key {
            name: "shaper",
            form: Form::Table(&SHAPER),
            presence: Presence::Optional("the link sends whatever its rate allows"),
            description: "what keeps packets in the queue so that no more than a rate and a burst leaves",
            example: "{ rate = \"8 Mbit/s\", burst = \"500 kB\" }",
        },
        Key {
            name: "remark",
            form: Form::Table(&REMARK),
            presence: Presence::Optional("packets keep their code points"),
            description: "what is written into the headers of packets that arrive, before the queue sees them",
            example: "{ dscp = \"default\", ecn = \"bleached\" }",
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

static POLICER: Section = Section {
    name: "policer",
    description: "A token bucket that drops a packet for which it has too few tokens, as tc's `police` does; a packet larger than \
                  the burst never passes. It is full at the start, and counts bytes as IP sees them.",
    own: &[BUCKET_RATE, BUCKET_BURST],
    base: None,
    one_of: &[],
};

static SHAPER: Section = Section {
    name: "shaper",
    description: "A token bucket that lets packets go, at the link's own rate, while it has tokens; the last one may leave it in debt, \
                  as with tc's `htb`, since nobody looks into a queue ahead of it. It is full at the start, and counts \
                  bytes as IP sees them.",
    own: &[BUCKET_RATE, BUCKET_BURST],
    base: None,
    one_of: &[],
};

static REMARK: Section = Section {
    name: "remark",
    description: "What a router on the way writes into the headers of all packets, acknowledgements as well.",
    own: &[
        Key {
            name: "dscp",
            form: Form::Dscp,
            presence: Presence::Optional("each packet keeps its own"),
            description: "the differentiated services code point of all packets from here on",
            example: "default",
        },
        Key {
            name: "ecn",
            form: Form::Value(Kind::Choice(EcnRemark::NAMES)),
            presence: Presence::Optional("each packet keeps its own"),
            description: "what becomes of the ECN field (RFC 3168): bleached clears it, with ect0 ECT(1) becomes ECT(0), and with \
                          unmarked CE becomes ECT(0), so that marks made before are lost",
            example: "bleached",
        },
    ],
    base: None,
    one_of: &[],
};

const BUCKET_RATE: Key = Key {
    name: "rate",
    form: Form::Value(Kind::Rate),
    presence: Presence::Required,
    description: "how fast tokens come, and so what passes in the long run",
    example: "8 Mbit/s",
};

const BUCKET_BURST: Key = Key {
    name: "burst",
    form: Form::Bytes { min: 1, max: 1_000_000_000_000 },
    presence: Presence::Required,
    description: "how many bytes of tokens it holds, and so what may pass at once",
    example: "50 kB",
};

/// Whether the table of a link gives it a medium that stations share, so that it has no rate of its own.
pub(crate) fn is_shared(link: &Table) -> bool {
    let Some(medium) = link.get("medium") else { return false };
    let word = medium.as_text().or_else(|| medium.as_table()?.get("kind")?.as_text());
    word.is_some_and(|word| sojourn_media::NAMES.contains(&word))
}

const fn beside_rate(meaning: &'static str) -> Presence {
    Presence::OptionalBeside { key: "rate", meaning, reason: "a recorded link holds already what its wire did" }
}

static JITTER: Select =
    Select { kinds: &[&UNIFORM_JITTER, &NORMAL_JITTER], added: None, short: Some(("uniform", "max")) };

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

pub(crate) static HOP: Section = Section {
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
