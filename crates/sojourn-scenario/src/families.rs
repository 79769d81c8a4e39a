//! The families of algorithms among which a file chooses.

use crate::access as lines;
use crate::form::{Family, Form, Key, Nested, Presence, Section};
use sojourn_core::registry::Kind;

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
    foreign_beside: None,
    nested: Some(&HELD),
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
    foreign_beside: Some("stack"),
    nested: None,
};

/// Those of them that a receiver can run: RFC 9840 is about these, and others need to know what only a sender knows.
pub(crate) static RECEIVER_CONTROLS: Family = Family {
    built_in: &[&sojourn_congestion::ledbat::DESCRIPTOR, &sojourn_congestion::ledbatpp::DESCRIPTOR],
    added: None,
    foreign_beside: None,
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
    foreign_beside: None,
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
    foreign_beside: None,
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
    foreign_beside: None,
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
    foreign_beside: None,
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
    foreign_beside: None,
    nested: None,
};

/// Controllers of a gateway's shapers.
pub(crate) static SHAPERS: Family = Family {
    noun: "shaper's controller",
    plural: "shapers",
    title: "Controllers of a gateway's shapers",
    built_in: sojourn_shaper::DESCRIPTORS,
    added: Some(sojourn_shaper::custom::descriptors),
    choice: true,
    default: None,
    preset_of: None,
    foreign_beside: None,
    nested: None,
};

/// All families, in the order of listings and of the documentation.
pub(crate) static FAMILIES: [&Family; 8] =
    [&QUEUES, &CONTROLS, &SHAPERS, &TRANSPORTS, &FRAMINGS, &MEDIA, &NOISES, &PROTECTIONS];

/// What a queue discipline that holds others has besides its parameters.
static HELD: Nested = Nested {
    child: Key {
        name: "child",
        form: Form::Algorithm(&QUEUES),
        presence: Presence::Required,
        description: "the queue discipline inside: a kind, or a table as for `queue`",
        example: "{ kind = \"codel\", ecn = true }",
    },
    class: Key {
        name: "class",
        form: Form::Tables(&CLASS),
        presence: Presence::Optional("the discipline's own, where it has any (`prio`); otherwise required"),
        description: "classes of packets, each with a queue of its own; exactly one takes what no other takes",
        example: "[{ name = \"voice\", dscp = [\"ef\", \"va\"] }, { name = \"rest\" }]",
    },
};

pub(crate) static CLASS: Section = Section {
    name: "class",
    description: "A class of packets of a discipline that has any, with a queue of its own. It takes the packets to which \
                  `dscp`, `precedence` or `groups` applies; exactly one class has none of the three and takes the \
                  others. A packet that two classes would take, one by its code point and one by its group, belongs to \
                  the first of them.",
    own: &[
        Key {
            name: "name",
            form: Form::Name { reserved: &["all", "total"] },
            presence: Presence::Required,
            description: "what the class is called in records and overrides",
            example: "voice",
        },
        Key {
            name: "dscp",
            form: Form::OneOrMore(&Form::Dscp),
            presence: Presence::Optional("no code point"),
            description: "differentiated services code points of its packets",
            example: "[\"ef\", \"va\"]",
        },
        Key {
            name: "precedence",
            form: Form::OneOrMore(&Form::Value(Kind::Integer { min: 0, max: 7 })),
            presence: Presence::Optional("no precedence"),
            description: "the upper three bits of their code points",
            example: "[5, 6, 7]",
        },
        Key {
            name: "groups",
            form: Form::OneOrMore(&Form::Group),
            presence: Presence::Optional("no group"),
            description: "the groups whose data and acknowledgements they are",
            example: "[\"tcp\"]",
        },
        Key {
            name: "parent",
            form: Form::Text,
            presence: Presence::Optional("it lies in none, and borrows from the link"),
            description: "the class of the same `htb` in which it lies, and from which it borrows; that one has no packets of its \
                          own, and neither a queue nor a row in the record",
            example: "household",
        },
        Key {
            name: "queue",
            form: Form::Algorithm(&QUEUES),
            presence: Presence::Default("droptail"),
            description: "the queue of the class: a discipline, or a table with `kind`, `preset` and parameters; limits in \
                          time are at the rate of the whole link",
            example: "{ kind = \"codel\", ecn = true }",
        },
    ],
    base: None,
    one_of: &[],
};
