//! What applications send.

use super::{Form, Key, LONGEST, MOMENT, Presence, Section, Select};
use crate::traffic::{CODEC_NAMES, MOST_RUNGS};
use sojourn_core::Span;
use sojourn_core::registry::Kind;

/// Kinds of traffic that do not respond to congestion, and so have no control.
pub(crate) static UNRESPONSIVE: &[&str] = &["cbr", "voip"];

pub(super) static TRAFFIC: Select = Select { kinds: &[&BULK, &ON_OFF, &CBR, &VOIP, &VIDEO, &TRANSFERS], short: None };

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
    description: "exponential on and off times; sends as bulk while on",
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
        Key {
            name: "restart",
            form: Form::Value(Kind::Boolean),
            presence: Presence::Default("true"),
            description: "whether the flow starts with a new window after an off time, or goes on with the one it had",
            example: "false",
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

static VOIP: Section = Section {
    name: "voip",
    description: "one direction of a call: a packet of speech (RTP over UDP over IPv4, 40 B of headers) for every frame, \
                  whatever happens to it; the record tells delay, jitter, loss and the quality of the call. A whole call is two groups, one in each direction",
    own: &[
        Key {
            name: "codec",
            form: Form::Value(Kind::Choice(CODEC_NAMES)),
            presence: Presence::Default("g711"),
            description: "the codec: g711 (64 kbit/s, with packet loss concealment), g729 (G.729A at 8 kbit/s with voice activity detection), \
                          opus (24 kbit/s)",
            example: "g729",
        },
        Key {
            name: "frame",
            form: Form::Value(Kind::Span { min: Span::from_micros(2500), max: Span::from_millis(120) }),
            presence: Presence::Optional("20 ms"),
            description: "speech in a packet",
            example: "30 ms",
        },
        Key {
            name: "payload",
            form: Form::Bytes { min: 1, max: 65_000 },
            presence: Presence::Optional("what the codec makes of a frame at its rate"),
            description: "coded speech in a packet, without headers",
            example: "60 B",
        },
        Key {
            name: "ie",
            form: Form::Value(Kind::Number { min: 0.0, max: 95.0 }),
            presence: Presence::Optional("the codec's in ITU-T G.113; opus has none there"),
            description: "equipment impairment factor Ie of the E-model",
            example: "11",
        },
        Key {
            name: "bpl",
            form: Form::Value(Kind::Number { min: 1.0, max: 100.0 }),
            presence: Presence::Optional("the codec's in ITU-T G.113; opus has none there"),
            description: "packet-loss robustness factor Bpl of the E-model",
            example: "19",
        },
        Key {
            name: "talk",
            form: Form::Value(SPEECH),
            presence: Presence::Optional("speaks without pause"),
            description: "mean of the exponential talk spurts; silence is not sent (ITU-T P.59: 1.004 s)",
            example: "1.004 s",
        },
        Key {
            name: "pause",
            form: Form::Value(SPEECH),
            presence: Presence::Optional("speaks without pause"),
            description: "mean of the exponential silences between talk spurts (ITU-T P.59: 1.587 s)",
            example: "1.587 s",
        },
    ],
    base: None,
    one_of: &[],
};

const SPEECH: Kind = Kind::Span { min: Span::from_millis(1), max: Span::from_secs(3600) };

static VIDEO: Section = Section {
    name: "video",
    description: "adaptive streaming over one connection: segments of equal play time, each asked for when the one before has \
                  arrived and the player's buffer has room, at the highest rate of the ladder that the throughput allows; \
                  the player starts, and resumes after a stall, with one segment in its buffer",
    own: &[
        Key {
            name: "ladder",
            form: Form::Ladder { most: MOST_RUNGS },
            presence: Presence::Default(
                "[\"145 kbit/s\", \"365 kbit/s\", \"730 kbit/s\", \"1.1 Mbit/s\", \"2 Mbit/s\", \"3 Mbit/s\", \
                 \"4.5 Mbit/s\", \"6 Mbit/s\", \"7.8 Mbit/s\"]",
            ),
            description: "rates of the video, each above the one before",
            example: "[\"1 Mbit/s\", \"3 Mbit/s\", \"6 Mbit/s\"]",
        },
        Key {
            name: "segment",
            form: Form::Value(Kind::Span { min: Span::from_millis(100), max: Span::from_secs(60) }),
            presence: Presence::Default("6 s"),
            description: "play time of a segment",
            example: "4 s",
        },
        Key {
            name: "buffer",
            form: Form::Value(Kind::Span { min: Span::from_millis(200), max: Span::from_secs(3600) }),
            presence: Presence::Default("30 s"),
            description: "play time that the player's buffer holds, at least two segments",
            example: "60 s",
        },
        Key {
            name: "samples",
            form: Form::Value(Kind::Integer { min: 1, max: 100 }),
            presence: Presence::Default("4"),
            description: "segments whose throughputs, from request to last byte, are averaged",
            example: "3",
        },
        Key {
            name: "safety",
            form: Form::Value(Kind::Number { min: 0.01, max: 1.0 }),
            presence: Presence::Default("0.9"),
            description: "share of that throughput which the rate may take",
            example: "0.8",
        },
        Key {
            name: "low_buffer_safety",
            form: Form::Value(Kind::Number { min: 0.01, max: 1.0 }),
            presence: Presence::Default("0.7"),
            description: "share of that throughput, times the segments in the buffer, which the rate may take",
            example: "0.5",
        },
    ],
    base: None,
    one_of: &[],
};

static TRANSFERS: Section = Section {
    name: "transfers",
    description: "transfers that arrive as a Poisson process of each flow, every one over a fresh connection; a flow has one \
                  connection at a time, and what arrives meanwhile waits, so give a group far more flows than transfers are \
                  under way at once. Completion times, from the arrival on, are recorded by size",
    own: &[
        Key {
            name: "interval",
            form: Form::Value(Kind::Span { min: Span::from_millis(1), max: LONGEST }),
            presence: Presence::Required,
            description: "mean time between two arrivals of a flow",
            example: "10 s",
        },
        Key {
            name: "size",
            form: Form::Select(&SIZES),
            presence: Presence::Required,
            description: "payload bytes of a transfer: a size, or a table with `kind` and its keys",
            example: "{ kind = \"pareto\", min = \"10 kB\", max = \"10 MB\", shape = 1.2 }",
        },
    ],
    base: None,
    one_of: &[],
};

static SIZES: Select = Select { kinds: &[&FIXED, &PARETO, &LOG_NORMAL, &ZIPF], short: Some(("fixed", "size")) };

/// Largest transfer, as that of a bulk flow.
const SIZE: Form = Form::Bytes { min: 1, max: 1_000_000_000_000 };

static FIXED: Section = Section {
    name: "fixed",
    description: "all of the same size",
    own: &[Key { name: "size", form: SIZE, presence: Presence::Required, description: "that size", example: "100 kB" }],
    base: None,
    one_of: &[],
};

static PARETO: Section = Section {
    name: "pareto",
    description: "Pareto between two bounds; the upper one decides the mean where the shape is near 1",
    own: &[
        Key { name: "min", form: SIZE, presence: Presence::Required, description: "smallest size", example: "10 kB" },
        Key { name: "max", form: SIZE, presence: Presence::Required, description: "largest size", example: "10 MB" },
        Key {
            name: "shape",
            form: Form::Value(Kind::Number { min: 0.1, max: 10.0 }),
            presence: Presence::Required,
            description: "exponent of the tail: the share above x falls as x^-shape",
            example: "1.2",
        },
    ],
    base: None,
    one_of: &[],
};

static LOG_NORMAL: Section = Section {
    name: "log-normal",
    description: "log-normal; what lies above the largest size has that size",
    own: &[
        Key {
            name: "median",
            form: SIZE,
            presence: Presence::Required,
            description: "half of the transfers are smaller",
            example: "20 kB",
        },
        Key {
            name: "sigma",
            form: Form::Value(Kind::Number { min: 0.0, max: 10.0 }),
            presence: Presence::Required,
            description: "standard deviation of the natural logarithm",
            example: "1.5",
        },
        Key { name: "max", form: SIZE, presence: Presence::Required, description: "largest size", example: "10 MB" },
    ],
    base: None,
    one_of: &[],
};

static ZIPF: Section = Section {
    name: "zipf",
    description: "k units, k from 1 to the largest number, with a probability that falls as k^-exponent",
    own: &[
        Key {
            name: "unit",
            form: SIZE,
            presence: Presence::Default("1448 B"),
            description: "bytes of a unit",
            example: "1448 B",
        },
        Key {
            name: "most",
            form: Form::Value(Kind::Integer { min: 1, max: 1_000_000_000 }),
            presence: Presence::Required,
            description: "largest number of units; it decides the mean where the exponent is below 2",
            example: "10000",
        },
        Key {
            name: "exponent",
            form: Form::Value(Kind::Number { min: 0.1, max: 10.0 }),
            presence: Presence::Required,
            description: "how fast the probability falls",
            example: "1.7",
        },
    ],
    base: None,
    one_of: &[],
};
