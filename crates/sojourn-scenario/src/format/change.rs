//! What changes while a run goes on.

use crate::form::{Form, Key, LONGEST, Part, Presence, Section};
use crate::group::GROUP;
use crate::link::{BOTTLENECK, HOP, REVERSE};
use sojourn_core::Span;
use sojourn_core::registry::Kind;

/// What of a link can change.
const OF_LINK: &[&str] = &["rate", "trace", "delay", "jitter", "loss", "policer", "shaper", "queue"];

static OF_BOTTLENECK: Part = Part { of: &BOTTLENECK, keys: OF_LINK, listed: false };
static OF_REVERSE: Part = Part { of: &REVERSE, keys: OF_LINK, listed: false };
static OF_HOP: Part = Part { of: &HOP, keys: OF_LINK, listed: true };
static OF_GROUP: Part = Part { of: &GROUP, keys: &["control", "rtt", "path", "back"], listed: true };

pub(super) static CHANGE: Section = Section {
    name: "change",
    description: "What a change does not name stays as it is. A `queue` without `kind`, a `policer` and a `shaper` keep the other \
                  parameters of the present one. A queue of the same kind is changed as by `tc qdisc change`: `droptail`, \
                  `codel`, `cobalt`, `pie`, `fq_codel`, `fq_pie` and `cake` keep their packets. Any other queue is replaced as \
                  by `tc qdisc replace`, and what waits is dropped. What a queue has worked out from the link's rate it works \
                  out again only where the change names it. Packets overtake others where a `delay` or an `rtt` becomes \
                  shorter. A control takes parameters and keeps its window. Flows join and leave by `start` and `stop`.",
    own: &[
        Key {
            name: "name",
            form: Form::Name { reserved: &[] },
            presence: Presence::Optional("overrides address it by its place in the file, from 0"),
            description: "what the change is called in overrides",
            example: "halved",
        },
        Key {
            name: "at",
            form: Form::Value(Kind::Span { min: Span::from_nanos(1), max: LONGEST }),
            presence: Presence::Required,
            description: "when it happens, before the end of the run",
            example: "20 s",
        },
        Key {
            name: "every",
            form: Form::Value(Kind::Span { min: Span::from_nanos(1), max: LONGEST }),
            presence: Presence::Optional("it happens once"),
            description: "from then on it happens again at this interval, to the end of the run; two such changes make a link \
                          whose rate goes up and down",
            example: "40 s",
        },
        Key {
            name: "bottleneck",
            form: Form::Part(&OF_BOTTLENECK),
            presence: Presence::Optional("it stays as it is"),
            description: "what changes of the bottleneck",
            example: "{ rate = \"5 Mbit/s\" }",
        },
        Key {
            name: "reverse",
            form: Form::Part(&OF_REVERSE),
            presence: Presence::Optional("it stays as it is"),
            description: "what changes of the return link",
            example: "{ loss = 0.01 }",
        },
        Key {
            name: "hop",
            form: Form::Part(&OF_HOP),
            presence: Presence::Optional("all stay as they are"),
            description: "what changes of other links, by their names",
            example: "[{ name = \"gateway\", queue = { limit = \"50 packets\" } }]",
        },
        Key {
            name: "group",
            form: Form::Part(&OF_GROUP),
            presence: Presence::Optional("all stay as they are"),
            description: "what changes of groups, by their names",
            example: "[{ name = \"ledbat\", control = { target = \"25 ms\" } }]",
        },
    ],
    base: None,
    one_of: &[],
};
