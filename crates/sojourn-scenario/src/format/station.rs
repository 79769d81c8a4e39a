//! Stations of a medium that is shared.

use crate::families::QUEUES;
use crate::form::{Form, Key, Presence, Section};
use sojourn_core::registry::Kind;
use sojourn_media::MAX_STATIONS;
use sojourn_media::wifi::MAX_STREAMS;

pub(crate) static STATION: Section = Section {
    name: "station",
    description: "A station of the access point or base station, which is the bottleneck with the medium `wifi`, `lte` or `5g`. \
                  Packets from the wire come to it through the bottleneck's queue, and its own packets wait in a queue of its own.",
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
            form: Form::Value(Kind::Integer { min: 1, max: MAX_STATIONS as u64 }),
            presence: Presence::Default("1"),
            description: "how many stations; several are called NAME-0, NAME-1 and so on, and NAME in a group means all of them",
            example: "4",
        },
        Key {
            name: "rate",
            form: Form::Text,
            presence: Presence::Optional("it has none in a cell; with `wifi`, `snr_db` says from what it is selected"),
            description: "with `wifi`, how frames are sent in both directions: a rate of 802.11b, a or g, or the MCS of 802.11n (`mcs0` to \
                          `mcs31`, which says the spatial streams as well) or ac (`mcs0` to `mcs9`)",
            example: "54 Mbit/s",
        },
        Key {
            name: "streams",
            form: Form::Value(Kind::Integer { min: 1, max: MAX_STREAMS as u64 }),
            presence: Presence::Default("1"),
            description: "spatial streams with 802.11ac, and with `snr_db` the most of them; spatial layers in a cell",
            example: "2",
        },
        Key {
            name: "loss",
            form: Form::Value(Kind::Number { min: 0.0, max: 1.0 }),
            presence: Presence::Optional("no frame is lost"),
            description: "with `wifi`, the probability that a frame of 1500 bytes is lost in the air, in both directions; longer \
                          frames are lost more often",
            example: "0.1",
        },
        Key {
            name: "weight",
            form: Form::Value(Kind::Number { min: 0.01, max: 100.0 }),
            presence: Presence::Optional("1, as much as others"),
            description: "with `wifi`, its share of the air under the scheduler `airtime`",
            example: "2",
        },
        Key {
            name: "cqi",
            form: Form::Value(Kind::Integer { min: 1, max: 15 }),
            presence: Presence::Optional("`snr_db` says it; one of the two is required in a cell"),
            description: "in a cell, the channel quality indicator, from which the size of transport blocks follows; it holds in both \
                          directions and never changes",
            example: "12",
        },
        Key {
            name: "snr_db",
            form: Form::Value(Kind::Number { min: -20.0, max: 60.0 }),
            presence: Presence::Optional("`cqi` or `rate` says it"),
            description: "the mean signal-to-noise ratio in dB, in both directions; with `wifi`, Minstrel-HT selects rates by what arrives",
            example: "18",
        },
        Key {
            name: "speed_kmh",
            form: Form::Value(Kind::Number { min: 0.0, max: 500.0 }),
            presence: Presence::Optional("0, and the channel is constant"),
            description: "beside `snr_db`, how fast the station moves in km/h, and so how fast its channel fades (Rayleigh)",
            example: "3",
        },
        Key {
            name: "shadowing_db",
            form: Form::Value(Kind::Number { min: 0.0, max: 20.0 }),
            presence: Presence::Optional("0"),
            description: "beside `speed_kmh`, standard deviation in dB of the slow fading that comes with the way, correlated over 50 m",
            example: "6",
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
