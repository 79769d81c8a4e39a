//! What a sending host does between a connection and its access link.

use super::{Form, Key, Presence, Section, Select};
use sojourn_core::Span;
use sojourn_core::registry::Kind;

pub(super) static HOST: Select = Select { kinds: &[&LINUX], added: None, short: None };

static LINUX: Section = Section {
    name: "linux",
    description: "TCP small queues of Linux since 3.6: no connection has more waiting in its own host than it sends in a short time",
    own: &[
        Key {
            name: "small_queue",
            form: Form::Value(Kind::Span { min: Span::ZERO, max: Span::from_secs(1) }),
            presence: Presence::Default("1 ms"),
            description: "how much of a connection may wait for the access link, as a time at the rate at which it would be \
                          paced: 2 windows per smoothed round trip below half of the slow-start threshold, 1.2 above",
            example: "2 ms",
        },
        Key {
            name: "small_queue_packets",
            form: Form::Value(Kind::Integer { min: 1, max: 10_000 }),
            presence: Presence::Default("2"),
            description: "so many packets may wait in any case",
            example: "4",
        },
    ],
    base: None,
    one_of: &[],
};
