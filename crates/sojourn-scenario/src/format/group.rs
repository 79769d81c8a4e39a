//! Groups of flows.

use super::RECEIVER_CONTROLS;
use super::host::HOST;
use super::traffic::{TRAFFIC, UNRESPONSIVE};
use super::{CONTROLS, DIRECTION, Form, Key, LONGEST, MAX_FLOWS, MOMENT, PATH_DELAY, Presence, Section, TRANSPORTS};
use sojourn_core::registry::Kind;

pub(super) static GROUP: Section = Section {
    name: "group",
    description: "A group of flows that differ only in their round-trip and start times.",
    own: &[
        Key {
            name: "name",
            form: Form::Name { reserved: &["all", "total"] },
            presence: Presence::Required,
            description: "what the group is called in records and overrides; its random streams follow the name",
            example: "tcp",
        },
        Key {
            name: "title",
            form: Form::Text,
            presence: Presence::Optional("the name"),
            description: "what tables and figures call the group; changes no number",
            example: "Backups",
        },
        Key {
            name: "flows",
            form: Form::Value(Kind::Integer { min: 1, max: MAX_FLOWS }),
            presence: Presence::Default("1"),
            description: "how many flows; at most 150000 in all groups together",
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
                kinds: UNRESPONSIVE,
                reason: "such traffic sends at its rate whatever happens",
            },
            description: "the congestion control, or a table with `kind`, `preset` and parameters; without a preset it takes \
                          the one named as the transport's preset where it has such a one, otherwise its own defaults",
            example: "{ kind = \"newreno\", preset = \"linux\" }",
        },
        Key {
            name: "receiver_control",
            form: Form::Algorithm(&RECEIVER_CONTROLS),
            presence: Presence::OptionalBeside {
                key: "control",
                meaning: "the receive window is the buffer of the transport",
                reason: "it steers a sender that has a window",
            },
            description: "the control by whose window the receiver steers the sender (rLEDBAT, RFC 9840): `ledbat` or \
                          `ledbatpp`, or a table with `kind`, `preset` and parameters; presets as for `control`. The sender \
                          keeps its own control, and the smaller of both windows counts",
            example: "ledbatpp",
        },
        Key {
            name: "window_scale",
            form: Form::Value(Kind::Integer { min: 0, max: 14 }),
            presence: Presence::OptionalBeside {
                key: "receiver_control",
                meaning: "7, as Linux has with a buffer of up to 6 MiB",
                reason: "otherwise the window is told as it is",
            },
            description: "acknowledgements tell the window in units of two to the power of this, in bytes (RFC 7323): units \
                          larger than a segment leave the receiver little to steer with",
            example: "10",
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
            form: Form::PerFlow { kind: MOMENT, table: Some(&RANDOM_TIMES) },
            presence: Presence::Optional(
                "0 s for a flow alone; where several flows have none, each starts at a random time of the first 0.1 s, or of \
                 the first hundredth of a run shorter than 10 s, and before half of the time to its `stop`",
            ),
            description: "when the flows start; a list gives each flow its own time, a table draws random times",
            example: "{ uniform = [\"0 s\", \"0.1 s\"] }",
        },
        Key {
            name: "stop",
            form: Form::PerFlow { kind: MOMENT, table: Some(&RANDOM_TIMES) },
            presence: Presence::Optional("at the end of the run"),
            description: "when the flows stop sending new data; one time, a list, or a table as for `start`",
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
            name: "connections_of",
            form: Form::Text,
            presence: Presence::Optional("connections of its own"),
            description: "the group on whose connections its data travels, the other way; acknowledgements of either go with \
                          data of the other. Both groups have the same `flows`, `rtt`, `transport` and `station`, opposite \
                          directions, and traffic that keeps its connection",
            example: "upload",
        },
        Key {
            name: "enters",
            form: Form::Text,
            presence: Presence::Optional("the first link of its direction"),
            description: "the link at which its data enters the network: the name of a hop of its direction, `bottleneck` or \
                          `reverse`; it crosses none of those before. Its acknowledgements cross all links of the way back",
            example: "second",
        },
        Key {
            name: "station",
            form: Form::OneOrMore(&Form::Text),
            presence: Presence::Optional("there are no stations; required where there are some"),
            description: "the station that its flows go to or come from; a list, or a name of several, is dealt out to the flows",
            example: "near",
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
            name: "hosts",
            form: Form::Value(Kind::Integer { min: 1, max: MAX_FLOWS }),
            presence: Presence::Optional("one for each flow"),
            description: "how many hosts send the group's data: its flows are dealt out to them in turn, and to no other \
                          group's; disciplines that share among hosts act on it",
            example: "2",
        },
        Key {
            name: "receiver_hosts",
            form: Form::Value(Kind::Integer { min: 1, max: MAX_FLOWS }),
            presence: Presence::Optional("one for each flow"),
            description: "how many hosts receive the group's data, dealt out likewise; what matters behind a home gateway \
                          for downloads",
            example: "2",
        },
        Key {
            name: "access_rate",
            form: Form::Value(Kind::Rate),
            presence: Presence::Optional("unlimited"),
            description: "rate of each flow's own access link before the first shared link",
            example: "100 Mbit/s",
        },
        Key {
            name: "host",
            form: Form::Select(&HOST),
            presence: Presence::OptionalBeside {
                key: "access_rate",
                meaning: "the access link has an endless buffer, which a connection fills with all of its window",
                reason: "without an access link nothing waits in a host",
            },
            description: "what the sending host does between a connection and its access link; a connection that it holds \
                          back does not count its window as used",
            example: "linux",
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

static RANDOM_TIMES: Section = Section {
    name: "times",
    description: "A table in place of a time draws one for each flow",
    own: &[Key {
        name: "uniform",
        form: Form::Range(MOMENT),
        presence: Presence::Required,
        description: "each flow draws its own time between these two",
        example: "[\"0 s\", \"0.1 s\"]",
    }],
    base: None,
    one_of: &[],
};
