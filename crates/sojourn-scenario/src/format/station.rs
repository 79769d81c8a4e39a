//! Stations of a medium that is shared.

use super::{Form, Key, Presence, QUEUES, Section};
use sojourn_core::registry::Kind;
use sojourn_media::wifi::{MOST_STATIONS, MOST_STREAMS};

pub(crate) static STATION: Section = Section {
    name: "station",
    description: "A station of the access point, which is the bottleneck with the medium `wifi`. Packets from the wire come to it \
                  through the bottleneck's queue, and its own packets wait in a queue of its own.",
    own: &[
        Key {
            name: "name",
            form: Form::Name { reserved: &["bottleneck", "reverse", "all", "total"] },
            presence: Presence::Required,
            description: "what the station is called in groups, records and overrides",
            example: "near",
        },
        Key {
            name: "count",
            form: Form::Value(Kind::Integer { min: 1, max: MOST_STATIONS as u64 }),
            presence: Presence::Default("1"),
            description: "how many stations; several are called NAME-0, NAME-1 and so on, and NAME in a group means all of them",
            example: "4",
        },
        Key {
            name: "rate",
            form: Form::Text,
            presence: Presence::Required,
            description: "how frames are sent in both directions: a rate of 802.11b, a or g, or the MCS of 802.11n (`mcs0` to \
                          `mcs31`, which says the spatial streams as well) or ac (`mcs0` to `mcs9`)",
            example: "54 Mbit/s",
        },
        Key {
            name: "streams",
            form: Form::Value(Kind::Integer { min: 1, max: MOST_STREAMS as u64 }),
            presence: Presence::Default("1"),
            description: "spatial streams with 802.11ac",
            example: "2",
        },
        Key {
            name: "loss",
            form: Form::Value(Kind::Number { min: 0.0, max: 1.0 }),
            presence: Presence::Default("0"),
            description: "probability that a frame of 1500 bytes is lost in the air, in both directions; longer frames are lost \
                          more often",
            example: "0.1",
        },
        Key {
            name: "weight",
            form: Form::Value(Kind::Number { min: 0.01, max: 100.0 }),
            presence: Presence::Default("1"),
            description: "its share of the air under the scheduler `airtime`",
            example: "2",
        },
        Key {
            name: "queue",
            form: Form::Algorithm(&QUEUES),
            presence: Presence::Default("droptail"),
            description: "the station's own queue: a discipline, or a table with `kind`, `preset` and parameters",
            example: "{ kind = \"droptail\", limit = \"500 packets\" }",
        },
    ],
    base: None,
    one_of: &[],
};
