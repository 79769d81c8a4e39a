//! What a sending host does between a connection and its access link.

use super::{Form, Key, Presence, Section, Select};
use sojourn_core::Span;
use sojourn_core::registry::Kind;

pub(super) static HOST: Select = Select { kinds: &[&LINUX], added: None, short: None };

static LINUX: Section = Section {
    name: "linux",
    description: "TCP small queues of Linux since 3.6: no connection has more waiting in its own host than it sends in a short time. \
                  Where asked for, segments leave in bursts, which the network card cuts (TSO), the receiver takes \
                  together what arrives together (GRO), and a queue discipline waits before a network card",
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
            description: "so many packets may wait in any case, or bursts of the present length",
            example: "4",
        },
        Key {
            name: "burst",
            form: Form::Value(Kind::Integer { min: 1, max: 1000 }),
            presence: Presence::Default("1"),
            description: "most segments that are handed to the network card at once, half of the window at most; Linux: 45 of \
                          1448 B, which are 64 KiB. A shorter burst waits where the next acknowledgement is due within 1 ms",
            example: "45",
        },
        Key {
            name: "burst_time",
            form: Form::Value(Kind::Span { min: Span::ZERO, max: Span::from_secs(1) }),
            presence: Presence::Default("977 us"),
            description: "a burst is what is sent in this time at the rate of small_queue, or at the control's own (tcp_pacing_shift, \
                          2^-10 s), and more where the base RTT is below 16 ms",
            example: "500 us",
        },
        Key {
            name: "burst_least",
            form: Form::Value(Kind::Integer { min: 1, max: 1000 }),
            presence: Presence::Default("2"),
            description: "segments of the shortest burst where window and data allow it (tcp_min_tso_segs)",
            example: "1",
        },
        Key {
            name: "pacing",
            form: Form::Value(Kind::Choice(&["control", "fq"])),
            presence: Presence::Default("control"),
            description: "what is paced, burst by burst: controls that ask for it (control), or every connection, by the \
                          host's queue discipline fq at the rate of small_queue (fq)",
            example: "fq",
        },
        Key {
            name: "receive_offload",
            form: Form::Value(Kind::Span { min: Span::ZERO, max: Span::from_secs(1) }),
            presence: Presence::Default("0 s"),
            description: "for how long the receiver waits for more of a burst, that is for segments in order that were sent in the \
                          same millisecond, to take and acknowledge them as one; 0 s: not at all",
            example: "50 us",
        },
        Key {
            name: "qdisc",
            form: Form::Value(Kind::Choice(&["none", "pfifo_fast", "codel", "fq_codel"])),
            presence: Presence::Default("none"),
            description: "what waits before the network card: an endless FIFO, which is all in the card (none), or a queue discipline \
                          with Linux's constants, from which the card takes what it has room for",
            example: "fq_codel",
        },
        Key {
            name: "ring",
            form: Form::Value(Kind::Integer { min: 1, max: 65_536 }),
            presence: Presence::Optional("256"),
            description: "most packets that the card takes from the qdisc",
            example: "64",
        },
        Key {
            name: "byte_limits",
            form: Form::Value(Kind::Boolean),
            presence: Presence::Optional("true"),
            description: "whether the card takes no more bytes from the qdisc than keep it busy (BQL of Linux since 3.3)",
            example: "false",
        },
        Key {
            name: "completions",
            form: Form::Value(Kind::Span { min: Span::ZERO, max: Span::from_secs(1) }),
            presence: Presence::Optional("0 s"),
            description: "how long after the first packet the card reports what it has sent (interrupt coalescing, as ethtool's \
                          tx-usecs): only then does the card take more, and does a connection that was held back go on",
            example: "50 us",
        },
    ],
    base: None,
    one_of: &[],
};
