//! Queues in queues.

use super::{Form, Key, Nested, Presence, QUEUES, Section};
use sojourn_core::registry::Kind;

/// What a queue discipline that holds others has besides its parameters.
pub(super) static HELD: Nested = Nested {
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
