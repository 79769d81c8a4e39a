//! What applications send.

use super::sizes::{COUNTS, SIZES};
use super::{Form, Key, LONGEST, MOMENT, Presence, Section, Select};
use crate::outside;
use crate::traffic::{CODEC_NAMES, MAX_RUNGS};
use sojourn_core::Span;
use sojourn_core::plugin::NameTaken;
use sojourn_core::registry::{Descriptor, Kind};

/// Kinds of traffic that do not respond to congestion, and so have no control.
pub(crate) static UNRESPONSIVE: &[&str] = &["cbr", "ping", "train", "voip", "padding", "adaptive-padding"];

pub(crate) static TRAFFIC: Select = Select {
    kinds: &[
        &BULK,
        &ON_OFF,
        &CBR,
        &PING,
        &TRAIN,
        &VOIP,
        &VIDEO,
        &TRANSFERS,
        &WEB,
        &MESSAGES,
        &PADDING,
        &ADAPTIVE_PADDING,
    ],
    added: outside::SECTIONS,
    short: None,
};

/// Lets scenarios name a kind of traffic. One that was added under the same name before gives way to it.
/// `sojourn_traffic::custom::add` is what adds one that also does something.
///
/// # Errors
/// [`NameTaken`] where a built-in kind has the name.
pub fn add_traffic(descriptor: &'static Descriptor) -> Result<(), NameTaken> {
    if TRAFFIC.kinds.iter().any(|kind| kind.name == descriptor.name) {
        return Err(NameTaken);
    }
    outside::add(descriptor)
}

/// How many connections a flow with traffic of this kind may have at once where a file does not say so.
pub(crate) fn default_connections(kind: &str) -> u32 {
    let key = TRAFFIC.kind(kind).and_then(|section| section.key("connections"));
    match key.map(|key| &key.presence) {
        Some(Presence::Default(number)) => number.parse().unwrap_or(1),
        _ => 1,
    }
}

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
    description: "on and off times, exponential or always the same; sends as bulk while on",
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
            name: "times",
            form: Form::Value(Kind::Choice(&["exponential", "fixed"])),
            presence: Presence::Default("exponential"),
            description: "whether on and off times are drawn for each flow, or always have their means; a group whose flows all come and go together has fixed ones",
            example: "\"fixed\"",
        },
        Key {
            name: "connection",
            form: Form::Value(Kind::Choice(&["kept", "fresh"])),
            presence: Presence::Default("kept"),
            description: "over what a flow sends after an off time: the connection it had, whose window is what the transport's after_idle leaves of it (kept), or a new one that knows nothing of the path, begins with a handshake and gives up what the old one had not delivered (fresh)",
            example: "\"fresh\"",
        },
    ],
    base: None,
    one_of: &[],
};

static MESSAGES: Section = Section {
    name: "messages",
    description: "messages of one size at a constant interval over one connection, as games and remote terminals send them; \
                  each is written at its time, whatever has become of those before. Completion times, from the writing \
                  of a message to the arrival of its last byte in order, are recorded",
    own: &[
        Key {
            name: "size",
            form: Form::Bytes { min: 1, max: 1_000_000_000 },
            presence: Presence::Required,
            description: "payload bytes of a message",
            example: "100 B",
        },
        Key {
            name: "every",
            form: Form::Value(Kind::Span { min: Span::from_micros(1), max: LONGEST }),
            presence: Presence::Required,
            description: "from one message to the next",
            example: "100 ms",
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
        DATAGRAM_ECT,
    ],
    base: None,
    one_of: &[],
};

static PING: Section = Section {
    name: "ping",
    description: "small packets at a constant interval that the receiver sends back: their round-trip times, and how many round \
                  trips fit into a minute, are in the record. Has no congestion control",
    own: &[
        Key {
            name: "every",
            form: Form::Value(Kind::Span { min: Span::from_millis(1), max: LONGEST }),
            presence: Presence::Default("200 ms"),
            description: "from one packet to the next",
            example: "100 ms",
        },
        Key {
            name: "packet",
            form: Form::Bytes { min: 40, max: 65_535 },
            presence: Presence::Default("84 B"),
            description: "size of a packet on the wire, both ways; the default is that of the command ping",
            example: "64 B",
        },
    ],
    base: None,
    one_of: &[],
};

static TRAIN: Section = Section {
    name: "train",
    description: "trains of packets of one size at exact times, whatever happens to them, as probes of a path or video frame \
                  by frame send them; the record tells how long each train takes as a whole, and how many are not whole. Has no \
                  congestion control",
    own: &[
        Key {
            name: "count",
            form: Form::Value(Kind::Integer { min: 1, max: 1_000_000 }),
            presence: Presence::Required,
            description: "packets of a train",
            example: "6",
        },
        Key {
            name: "packet",
            form: Form::Bytes { min: 40, max: 65_535 },
            presence: Presence::Default("1500 B"),
            description: "size of a packet on the wire",
            example: "150 B",
        },
        DATAGRAM_ECT,
        Key {
            name: "spacing",
            form: Form::Value(MOMENT),
            presence: Presence::Default("0 s"),
            description: "from one packet of a train to the next; with zero they are sent back to back",
            example: "1 ms",
        },
        Key {
            name: "every",
            form: Form::Value(Kind::Span { min: Span::from_micros(1), max: LONGEST }),
            presence: Presence::Optional("one train alone"),
            description: "from the start of a train to that of the next",
            example: "250 ms",
        },
        Key {
            name: "repeat",
            form: Form::Value(Kind::Integer { min: 1, max: 1_000_000_000 }),
            presence: Presence::OptionalBeside {
                key: "every",
                meaning: "trains until the flow stops",
                reason: "a train is repeated at an interval",
            },
            description: "how many trains there are",
            example: "8",
        },
        Key {
            name: "large",
            form: Form::Value(Kind::Integer { min: 1, max: 1_000_000 }),
            presence: Presence::OptionalBeside {
                key: "large_every",
                meaning: "all have `count`",
                reason: "it is what some of the trains have",
            },
            description: "packets of the first of every `large_every` trains, as of the frames of video that need no other",
            example: "60",
        },
        Key {
            name: "large_every",
            form: Form::Value(Kind::Integer { min: 2, max: 1_000_000 }),
            presence: Presence::OptionalBeside {
                key: "large",
                meaning: "all have `count`",
                reason: "it says which trains are large",
            },
            description: "from one large train to the next, in trains",
            example: "30",
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
            name: "telr_db",
            form: Form::Value(Kind::Number { min: 5.0, max: 65.0 }),
            presence: Presence::Default("65"),
            description: "talker echo loudness rating TELR of the E-model in dB: how much quieter than the voice its echo is \
                          (the default is that of ITU-T G.107, with an echo canceller)",
            example: "45",
        },
        Key {
            name: "wepl_db",
            form: Form::Value(Kind::Number { min: 5.0, max: 110.0 }),
            presence: Presence::Default("110"),
            description: "weighted echo path loss WEPL of the E-model in dB: how much quieter the voice is when it comes a second \
                          time (the default is that of ITU-T G.107)",
            example: "50",
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
            form: Form::Ladder { most: MAX_RUNGS },
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
    description: "transfers that arrive as a Poisson process of each flow, every one over a fresh connection; what arrives when \
                  all connections of the flow are busy waits for the first that is not. Completion times, from the \
                  arrival on, are recorded by size",
    own: &[
        Key {
            name: "interval",
            form: Form::Value(INTERVAL),
            presence: Presence::Optional("follows from `load`"),
            description: "mean time between two arrivals of a flow",
            example: "10 s",
        },
        Key {
            name: "load",
            form: Form::Value(Kind::Number { min: 0.0, max: 1000.0 }),
            presence: Presence::Optional("follows from `interval`"),
            description: "payload that all flows of the group want to send, as a share of the rate of the main link of \
                          their direction, or of its mean rate; above 0 and at most 1",
            example: "0.5",
        },
        Key {
            name: "size",
            form: Form::Select(&SIZES),
            presence: Presence::Required,
            description: "payload bytes of a transfer: a size, or a table with `kind` and its keys",
            example: "{ kind = \"pareto\", min = \"10 kB\", max = \"10 MB\", shape = 1.2 }",
        },
        Key {
            name: "connections",
            form: Form::Value(AT_ONCE),
            presence: Presence::Default("1"),
            description: "how many connections a flow may have at once; a hundred are enough for nearly any load that the \
                          link can carry",
            example: "100",
        },
    ],
    base: None,
    one_of: &["interval", "load"],
};

/// Mean times between arrivals.
pub(crate) const INTERVAL: Kind = Kind::Span { min: Span::from_micros(1), max: LONGEST };

/// How many connections a flow may have at once.
const AT_ONCE: Kind = Kind::Integer { min: 1, max: 10_000 };

static WEB: Section = Section {
    name: "web",
    description: "pages of a browser, one after the other: the first object of a page comes alone, then the others over as many \
                  connections as are allowed; every object is asked for by a packet that crosses the network to the sender. \
                  Page times, from the first request to the last byte, and those of the objects are recorded",
    own: &[
        Key {
            name: "objects",
            form: Form::Select(&COUNTS),
            presence: Presence::Required,
            description: "how many objects a page has: a number, or a table with `kind` and its keys",
            example: "10",
        },
        Key {
            name: "size",
            form: Form::Select(&SIZES),
            presence: Presence::Required,
            description: "payload bytes of an object: a size, or a table with `kind` and its keys",
            example: "{ kind = \"log-normal\", median = \"10 kB\", sigma = 1.5, max = \"5 MB\" }",
        },
        Key {
            name: "connections",
            form: Form::Value(AT_ONCE),
            presence: Presence::Default("6"),
            description: "how many connections fetch objects at once; with 1 they come in sequence",
            example: "1",
        },
        Key {
            name: "reuse",
            form: Form::Value(Kind::Boolean),
            presence: Presence::Default("true"),
            description: "whether a connection is kept for further objects of its page, which then fill whole packets; if not \
                          every object has a fresh one",
            example: "false",
        },
        Key {
            name: "request",
            form: Form::Bytes { min: 0, max: 60_000 },
            presence: Presence::Default("400 B"),
            description: "payload bytes of a request",
            example: "700 B",
        },
        Key {
            name: "think",
            form: Form::Value(MOMENT),
            presence: Presence::Default("0 s"),
            description: "mean of the exponential times between the end of a page and the first request of the next; with zero \
                          pages come back to back",
            example: "5 s",
        },
    ],
    base: None,
    one_of: &[],
};

static PADDING: Section = Section {
    name: "padding",
    description: "small datagrams that take places in a queue limited in packets, and so shorten it; have no congestion control",
    own: &[
        Key {
            name: "rate",
            form: PADDING_RATE,
            presence: Presence::Required,
            description: "packets per second, in bursts that within a burst",
            example: "125 packets/s",
        },
        PADDING_PACKET,
        Key {
            name: "burst",
            form: Form::Value(Kind::Integer { min: 1, max: 1_000_000 }),
            presence: Presence::Optional("continuous"),
            description: "packets of a burst",
            example: "100",
        },
        Key {
            name: "every",
            form: Form::Value(Kind::Span { min: Span::from_millis(1), max: LONGEST }),
            presence: Presence::Optional("continuous"),
            description: "from the start of one burst to that of the next",
            example: "1 s",
        },
        PADDING_REACH,
    ],
    base: None,
    one_of: &[],
};

static ADAPTIVE_PADDING: Section = Section {
    name: "adaptive-padding",
    description: "padding at a rate that follows the round-trip times of probes: it shortens a long queue, stops on an idle link \
                  and gives up where it does not help",
    own: &[
        Key {
            name: "target",
            form: Form::Value(Kind::Span { min: Span::from_millis(1), max: Span::from_secs(60) }),
            presence: Presence::Default("100 ms"),
            description: "queueing delay that nine probes in ten shall not exceed",
            example: "50 ms",
        },
        Key {
            name: "most",
            form: PADDING_RATE,
            presence: Presence::Default("500 packets/s"),
            description: "never more packets per second",
            example: "250 packets/s",
        },
        Key {
            name: "duty",
            form: Form::Value(Kind::Number { min: 0.1, max: 1.0 }),
            presence: Presence::Default("1"),
            description: "the share of each second in which packets are sent",
            example: "0.4",
        },
        Key {
            name: "probe",
            form: Form::Value(Kind::Span { min: Span::from_millis(10), max: Span::from_secs(1) }),
            presence: Presence::Default("100 ms"),
            description: "from one probe to the next; a probe has the size of a packet, and so has its answer",
            example: "200 ms",
        },
        PADDING_PACKET,
        PADDING_REACH,
    ],
    base: None,
    one_of: &[],
};

const DATAGRAM_ECT: Key = Key {
    name: "ect",
    form: Form::Value(Kind::Choice(&["ect0", "ect1"])),
    presence: Presence::Optional("its packets are not ECN-capable"),
    description: "the ECN code point that its packets carry although nothing heeds their marks",
    example: "ect1",
};

const PADDING_RATE: Form = Form::PacketRate { min: 0.1, max: 1_000_000.0 };

const PADDING_PACKET: Key = Key {
    name: "packet",
    form: Form::Bytes { min: 29, max: 1500 },
    presence: Presence::Default("29 B"),
    description: "size of a packet on the wire: headers of IPv4 and UDP and at least one byte",
    example: "46 B",
};

const PADDING_REACH: Key = Key {
    name: "reach",
    form: Form::Value(Kind::Choice(&["receiver", "bottleneck"])),
    presence: Presence::Default("receiver"),
    description: "how far packets travel: to the receiver, or, with a small time to live, no further than past the main \
                  link of their direction",
    example: "bottleneck",
};
