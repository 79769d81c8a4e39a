//! What can be set of the sender and the receiver.

use crate::accecn::Ability;
use crate::sender::{AfterIdle, LIMITED_TRANSMIT, Reducing, Undoing};
use sojourn_congestion::Path;
use sojourn_core::registry::{
    Descriptor, Form, Kind, Linux, Parameter, ParameterError, Params, Preset, Setting, Value,
};
use sojourn_core::{Amount, Span, Time};
use std::sync::Arc;

/// What `transport` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "transport",
    summary: "reliable sender and receiver: loss detection, recovery, timers, acknowledgements",
    sources: &[
        "RFC 5681",
        "RFC 6582",
        "RFC 6675",
        "RFC 3042",
        "RFC 6298",
        "RFC 7323",
        "RFC 3168",
        "RFC 8257",
        "RFC 9768",
        "RFC 6928",
        "RFC 3522",
        "RFC 4015",
        "RFC 2861",
        "RFC 9937",
        "Linux 6.1 and 2.6.32 net/ipv4/tcp_input.c",
        "libutp utp_internal.cpp, github.com/bittorrent/libutp, 2018",
    ],
    parameters: &[
        Parameter {
            name: "payload",
            kind: BYTES,
            default: Value::Amount(Amount::Bytes(1448.0)),
            description: "payload of a full segment (MSS less options)",
        },
        Parameter {
            name: "header",
            kind: BYTES,
            default: Value::Amount(Amount::Bytes(52.0)),
            description: "headers of every packet on the wire; SACK blocks come on top: 20 IP + 20 TCP + 12 timestamps",
        },
        Parameter {
            name: "handshake",
            kind: Kind::Boolean,
            default: Value::Boolean(true),
            description: "whether a SYN is exchanged before data",
        },
        Parameter {
            name: "sack",
            kind: Kind::Boolean,
            default: Value::Boolean(true),
            description: "recover with selective acknowledgements (RFC 6675) instead of NewReno's partial ones (RFC 6582)",
        },
        Parameter {
            name: "dsack",
            kind: Kind::Boolean,
            default: Value::Boolean(false),
            description: "the receiver reports segments that came twice in the first SACK block (RFC 2883); needs sack",
        },
        Parameter {
            name: "limited_transmit",
            kind: Kind::Boolean,
            default: Value::Boolean(true),
            description: "send one new segment for each of the first two duplicate acknowledgements (RFC 3042)",
        },
        Parameter {
            name: "disorder",
            kind: Kind::Choice(&["limited-transmit", "conservation"]),
            default: Value::Choice("limited-transmit"),
            description: "what is sent while duplicate acknowledgements only suggest a loss: as limited_transmit says, and what they report opens the window with the next cumulative acknowledgement (limited-transmit, RFC 5681 section 3.2); or one new segment for each one that they report to have left the network, which never opens the window (conservation, Linux)",
        },
        Parameter {
            name: "window_use",
            kind: Kind::Choice(&["full", "round-trip"]),
            default: Value::Choice("full"),
            description: "when a window counts as used, so that it may grow: while it is full (full, RFC 2861 section 3.1), or for a round trip after it was, and in slow start while more than half of it was out at once in a round trip (round-trip, Linux; RFC 7661 section 4.3 takes half for enough always)",
        },
        Parameter {
            name: "app_limit",
            kind: Kind::Choice(&["at-once", "at-write"]),
            default: Value::Choice("at-once"),
            description: "when a rate counts as limited by the application: as soon as there is nothing to send (at-once), or once it writes again and the window has room (at-write, Linux)",
        },
        Parameter {
            name: "loss_detection",
            kind: Kind::Choice(&["count", "forward", "time"]),
            default: Value::Choice("count"),
            description: "what proves a loss: three duplicate acknowledgements, or three segments received beyond it (count, RFC 5681, RFC 6675), or one received that was sent three segments later (forward, FACK of Linux before 4.15, without its learning of reordering), or a round trip and a reordering window since it was sent, when something that was sent later has arrived, which finds lost retransmissions too (time, RFC 8985, with Linux's reordering window)",
        },
        Parameter {
            name: "tail_probe",
            kind: Kind::Boolean,
            default: Value::Boolean(false),
            description: "send a new segment, or the last one again, where no acknowledgement has come for two round trips (tail loss probe, RFC 8985 section 7); needs loss_detection = time",
        },
        Parameter {
            name: "initial_window",
            kind: Kind::Integer { min: 1, max: 10_000 },
            default: Value::Integer(10),
            description: "congestion window of a new or restarted flow, in segments (RFC 6928: 10)",
        },
        Parameter {
            name: "receive_window",
            kind: Kind::Amount { min_packets: 1.0, whole: true },
            default: Value::Amount(Amount::Bytes(67_108_864.0)),
            description: "most data the receiver lets be outstanding, in full-size packets or payload bytes",
        },
        Parameter {
            name: "ack_every",
            kind: Kind::Integer { min: 1, max: 1000 },
            default: Value::Integer(2),
            description: "segments per acknowledgement: 2 delays them (RFC 5681 section 4.2), 1 does not",
        },
        Parameter {
            name: "ack_delay",
            kind: Kind::Span { min: Span::ZERO, max: Span::from_secs(1) },
            default: Value::Span(Span::from_millis(100)),
            description: "longest an acknowledgement is delayed (RFC 5681: at most 500 ms)",
        },
        Parameter {
            name: "ack_policy",
            kind: Kind::Choice(&["count", "linux"]),
            default: Value::Choice("count"),
            description: "when acknowledgements go: by ack_every and ack_delay, and at once where a segment is out of order, came twice or fills a gap (count, RFC 5681 section 4.2); or as Linux 6.1 sends them: the first 16 at once, then delayed by what the distance of the segments says, ack_delay at least, and while something is missing after three duplicates one for 44 or for 1 ms or a twentieth of the round-trip time (linux)",
        },
        Parameter {
            name: "timestamps",
            kind: Kind::Boolean,
            default: Value::Boolean(true),
            description: "a round-trip sample from every acknowledgement, also of retransmissions (RFC 7323); without, Karn's rule",
        },
        Parameter {
            name: "initial_rto",
            kind: Kind::Span { min: Span::from_millis(1), max: Span::from_secs(60) },
            default: Value::Span(Span::from_secs(1)),
            description: "retransmission timeout before the first round-trip sample (RFC 6298: 1 s)",
        },
        Parameter {
            name: "min_rto",
            kind: Kind::Span { min: Span::ZERO, max: Span::from_secs(60) },
            default: Value::Span(Span::from_secs(1)),
            description: "smallest retransmission timeout (RFC 6298: 1 s)",
        },
        Parameter {
            name: "max_rto",
            kind: Kind::Span { min: Span::from_secs(1), max: Span::from_secs(3600) },
            default: Value::Span(Span::from_secs(60)),
            description: "largest retransmission timeout after back-off (RFC 6298: at least 60 s)",
        },
        Parameter {
            name: "lost_syn",
            kind: Kind::Choice(&["rfc", "linux"]),
            default: Value::Choice("rfc"),
            description: "what a SYN that was sent again leaves: a window of one segment and a timeout of 3 s (rfc, RFC 5681 section 3.1, RFC 6298 rule 5.7); or initial_window, and one segment only where two were lost, the round-trip time that the SYN/ACK's timestamp tells, and no ECN, for which only the first SYN asks (linux)",
        },
        Parameter {
            name: "rto_floor",
            kind: Kind::Choice(&["total", "variance"]),
            default: Value::Choice("total"),
            description: "what min_rto bounds: the whole timeout (RFC 6298) or its variance term (Linux)",
        },
        Parameter {
            name: "rtt_variance",
            kind: Kind::Choice(&["mean", "peak"]),
            default: Value::Choice("mean"),
            description: "what the timeout makes of differing round-trip times: their mean deviation (mean, RFC 6298), or its peak of each round trip, which it forgets by a quarter per round trip, where falling times count for an eighth (peak, Linux)",
        },
        Parameter {
            name: "rtt_sample",
            kind: Kind::Choice(&["timestamp", "segment"]),
            default: Value::Choice("timestamp"),
            description: "what round-trip times are taken from: the timestamp that new data's acknowledgement echoes (RFC 7323), or when the oldest segment was sent that is newly acknowledged, also by SACK, and the timestamp only where that was sent again (Linux)",
        },
        Parameter {
            name: "undo",
            kind: Kind::Choice(&["none", "timestamps", "all"]),
            default: Value::Choice("none"),
            description: "whether a needless timeout is taken back: with timestamps the first acknowledgement of new data after it tells whether it answers what was sent before the retransmission (RFC 3522); then the window is what it was (RFC 4015), and what was held for lost is not sent again; all: also by what is delivered after a timeout (F-RTO, RFC 5682) and by reports of what came twice (DSACK, RFC 3708), and repairs of losses too (Linux); needs loss_detection = time",
        },
        Parameter {
            name: "reduction",
            kind: Kind::Choice(&["at-once", "proportional", "halving"]),
            default: Value::Choice("at-once"),
            description: "how the window gets to what the control makes of a loss or a mark: in one step, after which nothing is sent until enough has left the network (at-once, RFC 5681, RFC 6675), or segment by segment with what is delivered (proportional, RFC 9937, in proportion to the window as in Linux), or by one segment with every second acknowledgement, and to one more than is in flight at most (halving, Linux before 3.2). Controls that follow a model of the path, such as bbr, have rules of their own",
        },
        Parameter {
            name: "after_idle",
            kind: Kind::Choice(&["restart", "decay", "keep"]),
            default: Value::Choice("restart"),
            description: "what more than a retransmission timeout without sending leaves of the window: initial_window at most, with the slow-start threshold kept (restart, RFC 5681 section 4.1); half for each timeout that passed, but initial_window at least, with a threshold of 3/4 of the window at least, and half way to what was used where the application uses it in part and no acknowledgement has counted for a timeout (decay, Linux after RFC 2861); all of it (keep). Controls that follow a model of the path, such as bbr, have rules of their own",
        },
        Parameter {
            name: "clock",
            kind: Kind::Span { min: Span::from_nanos(1), max: Span::from_secs(1) },
            default: Value::Span(Span::from_millis(1)),
            description: "granularity G of the retransmission clock (RFC 6298)",
        },
        Parameter {
            name: "timer_tick",
            kind: Kind::Span { min: Span::ZERO, max: Span::from_secs(10) },
            default: Value::Span(Span::ZERO),
            description: "timers go off at whole multiples of this, the next one after they are due: a kernel's tick (10 ms in user-mode Linux), or how often a library looks at them (500 ms in libutp); 0 s is at once",
        },
        Parameter {
            name: "timer_rounding",
            kind: Kind::Choice(&["due", "ticks", "wheel"]),
            default: Value::Choice("due"),
            description: "with a timer_tick: what is rounded up to whole ticks: when a timer is due (due), or how long it waits, from the tick that began last, and one tick more (ticks), from 63 ticks on up to whole 8, from 504 on whole 64 (wheel, Linux since 4.8)",
        },
        Parameter {
            name: "pacing",
            kind: Kind::OrAuto(&Kind::Number { min: 0.01, max: 100.0 }),
            default: Value::Auto,
            description: "spaces segments at this multiple of window over smoothed RTT; auto leaves it to the control",
        },
        Parameter {
            name: "pacing_slack",
            kind: Kind::Choice(&["none", "linux", "departures"]),
            default: Value::Choice("none"),
            description: "what a control that paces its segments lets go sooner: nothing, or the first ten segments of a connection at once, and after a late segment the next one up to half a gap sooner (linux); departures also tells BBR when the next one may go, as Linux does since 4.20",
        },
        Parameter {
            name: "send_jitter",
            kind: Kind::Span { min: Span::ZERO, max: Span::from_secs(60) },
            default: Value::Span(Span::ZERO),
            description: "longest random pause, drawn uniformly, before data is sent that the window has come to allow; what it allows by the end of the pause goes at once (overhead_ of ns-2), except SYNs and fast retransmissions, which do not wait",
        },
        Parameter {
            name: "ecn",
            kind: Kind::Boolean,
            default: Value::Boolean(false),
            description: "negotiate ECN: data is sent ECT(0), marks are echoed and answered once per round trip (RFC 3168)",
        },
        Parameter {
            name: "ecn_feedback",
            kind: Kind::Choice(FEEDBACK),
            default: Value::Choice("classic"),
            description: FEEDBACK_MEANS,
        },
        Parameter {
            name: "accecn_option",
            kind: Kind::Boolean,
            default: Value::Boolean(true),
            description: "with accecn: acknowledgements of new marks or data also carry counters of bytes, which tell how often the count modulo 8 went round where acknowledgements are lost; 8 B each, and then two SACK blocks at most",
        },
        Parameter {
            name: "peer_ecn",
            kind: Kind::Choice(&["accecn", "classic", "none"]),
            default: Value::Choice("accecn"),
            description: "with accecn: what the receiver can do; where that is less, its SYN/ACK says so, the sender falls back to RFC 3168 with ECT(0), or to no ECN, and prague and dctcp answer marks as Reno does",
        },
        Parameter {
            name: "ect",
            kind: Kind::Choice(&["control", "ect0", "ect1"]),
            default: Value::Choice("control"),
            description: "with ecn: what data carry: ECT(1) where the control is scalable (RFC 9331) and else ECT(0), or one of them whatever the control; ect1 lets any control say that it wants early marks (RITE deliverable 2.1 section 4.2.1)",
        },
    ],
    presets: &[
        Preset {
            name: "rfc",
            summary: "today's standards: SACK, 10 segments to start, delayed acknowledgements",
            values: &[],
        },
        Preset {
            name: "linux",
            summary: "Linux 6.1: RTO floor 200 ms on the variance term, 40 ms delayed acknowledgements, needless timeouts taken back, proportional rate reduction, packets conserved in disorder",
            values: &[
                ("ack_delay", Value::Span(Span::from_millis(40))),
                ("ack_policy", Value::Choice("linux")),
                ("min_rto", Value::Span(Span::from_millis(200))),
                ("max_rto", Value::Span(Span::from_secs(120))),
                ("lost_syn", Value::Choice("linux")),
                ("rto_floor", Value::Choice("variance")),
                ("undo", Value::Choice("all")),
                ("dsack", Value::Boolean(true)),
                ("loss_detection", Value::Choice("time")),
                ("tail_probe", Value::Boolean(true)),
                ("rtt_variance", Value::Choice("peak")),
                ("reduction", Value::Choice("proportional")),
                ("disorder", Value::Choice("conservation")),
                ("window_use", Value::Choice("round-trip")),
                ("app_limit", Value::Choice("at-write")),
                ("after_idle", Value::Choice("decay")),
                ("rtt_sample", Value::Choice("segment")),
                ("pacing_slack", Value::Choice("departures")),
                ("timer_rounding", Value::Choice("wheel")),
            ],
        },
        Preset {
            name: "linux-2.6",
            summary: "Linux 2.6.32 (2009): 3 segments and 3 s to start, forward acknowledgements (FACK), rate halving; no probes, no detection by time, no proportional rate reduction; of what was needless only timeouts are taken back (the kernel: repairs too)",
            values: &[
                // tcp_init_cwnd and RFC 3390 for an MSS of 1448 B; 10 since 2.6.39.
                ("initial_window", Value::Integer(3)),
                // TCP_TIMEOUT_INIT; 1 s since 3.1.
                ("initial_rto", Value::Span(Span::from_secs(3))),
                ("ack_delay", Value::Span(Span::from_millis(40))),
                ("min_rto", Value::Span(Span::from_millis(200))),
                ("max_rto", Value::Span(Span::from_secs(120))),
                ("rto_floor", Value::Choice("variance")),
                ("rtt_variance", Value::Choice("peak")),
                ("undo", Value::Choice("timestamps")),
                ("dsack", Value::Boolean(true)),
                // tcp_update_scoreboard with tcp_fack = 1.
                ("loss_detection", Value::Choice("forward")),
                // tcp_cwnd_down; tcp_cwnd_reduction since 3.2.
                ("reduction", Value::Choice("halving")),
                ("disorder", Value::Choice("conservation")),
                ("after_idle", Value::Choice("decay")),
                // tcp_ack_update_rtt takes a timestamp where there is one; timers end with their tick; nothing is paced.
                ("timer_rounding", Value::Choice("ticks")),
            ],
        },
        Preset {
            name: "ns2",
            summary: "ns-2.35 Agent/TCP/Newreno: no SACK, every segment acknowledged, 2 segments to start, 40 B headers",
            values: &[
                ("payload", Value::Amount(Amount::Bytes(1460.0))),
                ("header", Value::Amount(Amount::Bytes(40.0))),
                ("sack", Value::Boolean(false)),
                ("initial_window", Value::Integer(2)),
                ("ack_every", Value::Integer(1)),
                ("timestamps", Value::Boolean(false)),
                ("initial_rto", Value::Span(Span::from_secs(3))),
                ("min_rto", Value::Span(Span::from_millis(200))),
                ("clock", Value::Span(Span::from_millis(10))),
            ],
        },
        Preset {
            name: "libutp",
            summary: "libutp over UDP and IPv4: 1382 B in packets of 1430 B, each acknowledged; timeouts of at least 1 s, looked at every 500 ms; a buffer of 1 MiB",
            values: &[
                ("payload", Value::Amount(Amount::Bytes(1382.0))),
                ("header", Value::Amount(Amount::Bytes(48.0))),
                ("initial_window", Value::Integer(1)),
                ("receive_window", Value::Amount(Amount::Bytes(1_048_576.0))),
                ("ack_every", Value::Integer(1)),
                ("initial_rto", Value::Span(Span::from_secs(3))),
                ("timer_tick", Value::Span(Span::from_millis(500))),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form {
        name: "TCP",
        settings: &[
            Setting::flag("ecn", "features ecn", ""),
            Setting::words("ecn_feedback", &[("classic", ""), ("accurate", "")]),
            Setting::words(
                "loss_detection",
                &[("time", "net.ipv4.tcp_recovery=1"), ("count", "net.ipv4.tcp_recovery=0")],
            ),
            Setting::flag("tail_probe", "net.ipv4.tcp_early_retrans=3", "net.ipv4.tcp_early_retrans=0"),
            Setting::words("undo", &[("all", "net.ipv4.tcp_frto=2"), ("timestamps", "net.ipv4.tcp_frto=0")]),
            Setting::flag("dsack", "net.ipv4.tcp_dsack=1", "net.ipv4.tcp_dsack=0"),
            Setting::words(
                "after_idle",
                &[("decay", "net.ipv4.tcp_slow_start_after_idle=1"), ("keep", "net.ipv4.tcp_slow_start_after_idle=0")],
            ),
        ],
        remarks: &[
            "with undo = timestamps it takes back needless repairs too",
            "its timers count in the kernel's ticks: 10 ms in user-mode Linux, 4 ms in Debian's own kernel",
            "a control asks for the feedback that it needs: dctcp for the accurate one",
        ],
        ..Form::PLAIN
    }]),
    ..Descriptor::PLAIN
};

const FEEDBACK: &[&str] = &["classic", "accurate", "accecn"];

const FEEDBACK_MEANS: &str = "what the receiver echoes: a mark on every acknowledgement until the sender has reduced its window (classic, RFC 3168), or on each acknowledgement whether its segments were marked, changes being acknowledged at once (accurate, RFC 8257), which dctcp needs; or on every acknowledgement how many packets were marked so far, modulo 8 (accecn, RFC 9768), which the SYN asks for";

const BYTES: Kind = Kind::Amount { min_packets: 1.0, whole: true };

/// The options of one group of flows, resolved for the packet path.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Payload bytes of a full segment.
    pub payload_bytes: u32,
    /// Header bytes of every packet, without SACK blocks.
    pub header_bytes: u32,
    /// Whether a SYN is exchanged before data.
    pub handshake: bool,
    /// Whether selective acknowledgements are used.
    pub sack: bool,
    /// Whether the receiver reports what came twice.
    pub dsack: bool,
    /// Whether packets are conserved while a loss is only suspected, instead of limited transmit.
    pub conserves: bool,
    /// Whether a window counts as used for a round trip, and in slow start by half.
    pub used_for_round_trip: bool,
    /// Whether a rate counts as limited by the application only once that writes again.
    pub limited_at_write: bool,
    /// Initial window in segments.
    pub initial_window: u32,
    /// Receive window in segments.
    pub receive_window: u32,
    /// Segments per acknowledgement.
    pub ack_every: u32,
    /// Whether acknowledgements go as Linux sends them.
    pub linux_acks: bool,
    /// Whether timestamps are used.
    pub timestamps: bool,
    /// What all connections with these options look up in one place.
    pub constants: Arc<Constants>,
    /// What is taken back as needless.
    pub undo: Undoing,
    /// What proves a loss.
    pub detection: Detection,
    /// Whether tails are probed.
    pub tail_probe: bool,
    /// How losses and marks lower the window.
    pub reducing: Reducing,
    /// What idle time leaves of the window.
    pub idle: AfterIdle,
    /// Whether round-trip times are those of segments, before those of timestamps.
    pub times_segments: bool,
    /// What a control that paces its segments lets go sooner.
    pub pacing_slack: Slack,
    /// What is rounded up to whole ticks.
    pub rounding: Rounding,
    /// Longest random pause before data is sent.
    pub send_jitter: Span,
    /// Whether ECN is negotiated.
    pub ecn: bool,
    /// Whether the receiver tells of each mark, instead of echoing until it is answered.
    pub accurate_ecn: bool,
    /// Whether it does that by counting them (RFC 9768).
    pub counts: bool,
    /// What data carry with ECN.
    pub ect: Ect,
}

/// What proves that a segment was lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Detection {
    /// So many that were sent later and have arrived (RFC 6675).
    Count,
    /// One that was sent so many segments later and has arrived (FACK).
    Forward,
    /// Time (RFC 8985).
    Time,
}

/// The code point of data packets with ECN (RFC 3168).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ect {
    /// The one that belongs to the control.
    OfControl,
    /// ECT(0).
    Zero,
    /// ECT(1).
    One,
}

/// What connections with the same options share, since it is seldom wanted and never changes.
#[derive(Clone, Default, Debug)]
#[non_exhaustive]
pub struct Constants {
    /// The retransmission timer's.
    pub rto: RtoOptions,
    /// Timers go off at whole multiples of this; zero is when they are due.
    pub timer_tick: Span,
    /// Longest delay of an acknowledgement.
    pub ack_delay: Span,
    /// Pacing as a multiple of window over smoothed RTT, where the user wants it.
    pub pacing: Option<f64>,
    /// For how many segments at most duplicate acknowledgements say that they have left the network: while no loss is known,
    /// and during a repair.
    pub(crate) most_left: [u32; 2],
    /// RW of RFC 5681 section 4.1 in segments, while it is below the window.
    pub(crate) restart_window: f64,
    /// What a SYN that was sent again leaves.
    pub(crate) lost_syn: LostSyn,
    /// What the receiver can do with marks.
    pub(crate) peer: Ability,
    /// Whether its acknowledgements may carry the option of counts.
    pub(crate) counts_option: bool,
}

/// What a SYN that was sent again leaves of window, timeout and ECN (`lost_syn`).
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum LostSyn {
    /// One segment, 3 s (RFC 5681 section 3.1, RFC 6298 rule 5.7).
    #[default]
    Rfc,
    /// The initial window but after two, a round-trip time by timestamp, no ECN.
    Linux,
}

/// The constants of RFC 6298.
#[derive(Clone, Copy, Default, Debug)]
#[non_exhaustive]
pub struct RtoOptions {
    /// Before the first sample.
    pub initial: Span,
    /// Smallest value.
    pub min: Span,
    /// Largest value after back-off.
    pub max: Span,
    /// Whether `min` bounds the variance term only, as in Linux.
    pub floor_on_variance: bool,
    /// Clock granularity G.
    pub clock: Span,
    /// Whether the peak of the deviation counts, as in Linux.
    pub peak: bool,
    /// Unit up to which it is rounded before back-off (`usecs_to_jiffies`); zero is exact.
    pub tick: Span,
}

/// What of a timer is rounded up to whole ticks (`timer_rounding`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rounding {
    /// When it is due.
    Due,
    /// How long it waits.
    Ticks,
    /// The same, and long waits to 8 or 64 ticks of the clock, as Linux's timer wheel does.
    Wheel,
}

/// What a control that paces its segments lets go sooner (`pacing_slack`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slack {
    /// Nothing.
    None,
    /// The first segments, and those after a late one.
    Linux,
    /// The same, and it hears when the next segment goes.
    Departures,
}

impl Options {
    /// These of an end that asks for nothing: both ends know each other.
    #[must_use]
    pub fn without_handshake(mut self) -> Options {
        self.handshake = false;
        self
    }

    /// Reads the options of a group.
    ///
    /// # Errors
    /// Timers that contradict each other, or a payload given in something else than bytes.
    pub fn new(params: &Params) -> Result<Options, ParameterError> {
        let payload_bytes = bytes(params, "payload", 65_000)?;
        let rto = RtoOptions {
            initial: params.span("initial_rto"),
            min: params.span("min_rto"),
            max: params.span("max_rto"),
            floor_on_variance: params.choice("rto_floor") == "variance",
            clock: params.span("clock"),
            peak: params.choice("rtt_variance") == "peak",
            tick: if params.choice("timer_rounding") == "wheel" { params.span("timer_tick") } else { Span::ZERO },
        };
        if rto.min > rto.max {
            return Err(ParameterError::new("min_rto", format!("not above max_rto, which is {}", rto.max)));
        }
        if params.boolean("dsack") && !params.boolean("sack") {
            return Err(ParameterError::new("dsack", "false where sack = false: its reports are SACK blocks"));
        }
        let detection = match params.choice("loss_detection") {
            "count" => Detection::Count,
            "forward" => Detection::Forward,
            _ => Detection::Time,
        };
        if detection != Detection::Count && !params.boolean("sack") {
            return Err(ParameterError::new(
                "loss_detection",
                "count where sack = false: the others need to know which segments have arrived (RFC 8985 section 6.1)",
            ));
        }
        let by_time = detection == Detection::Time;
        if params.boolean("tail_probe") && !by_time {
            return Err(ParameterError::new(
                "tail_probe",
                "false where loss_detection is not time: what a probe finds is repaired by time (RFC 8985 section 7)",
            ));
        }
        let undo = match params.choice("undo") {
            "none" => Undoing::Nothing,
            "timestamps" => Undoing::Timeouts,
            _ => Undoing::All,
        };
        if undo != Undoing::Nothing && !params.boolean("timestamps") {
            return Err(ParameterError::new("undo", "none, or timestamps or all with timestamps = true"));
        }
        if undo == Undoing::All && !by_time {
            return Err(ParameterError::new("undo", "none or timestamps, or all with loss_detection = time"));
        }
        let conserves = params.choice("disorder") == "conservation";
        if conserves && !params.boolean("limited_transmit") {
            return Err(ParameterError::new(
                "limited_transmit",
                "true where disorder is conservation: each segment that has left the network lets a new one go",
            ));
        }
        let counts = params.choice("ecn_feedback") == "accecn";
        let accurate_ecn = params.choice("ecn_feedback") != "classic";
        if accurate_ecn && !params.boolean("ecn") {
            return Err(ParameterError::new(
                "ecn_feedback",
                "classic, or another one with ecn = true: there are no marks to echo",
            ));
        }
        let (counts_option, peer) = counting(params, counts)?;
        let ect = match params.choice("ect") {
            "ect0" => Ect::Zero,
            "ect1" => Ect::One,
            _ => Ect::OfControl,
        };
        if ect != Ect::OfControl && !params.boolean("ecn") {
            return Err(ParameterError::new("ect", "control, or ect0 or ect1 with ecn = true"));
        }
        let receive_window = match params.amount("receive_window") {
            Amount::Packets(packets) => packets,
            Amount::Bytes(bytes) => (bytes / f64::from(payload_bytes)).floor(),
            Amount::Time(_) => return Err(ParameterError::new("receive_window", "an amount in packets or bytes")),
        };
        if receive_window < 1.0 {
            return Err(ParameterError::new("receive_window", format!("at least one segment of {payload_bytes} B")));
        }
        let (sack, initial_window) = (params.boolean("sack"), params.integer("initial_window") as u32);
        let constants = Constants {
            rto,
            timer_tick: params.span("timer_tick"),
            ack_delay: params.span("ack_delay"),
            pacing: (!params.is_auto("pacing")).then(|| params.number("pacing")),
            most_left: [
                match (conserves, sack) {
                    (false, _) => u32::from(params.boolean("limited_transmit")) * LIMITED_TRANSMIT,
                    (true, true) => 0,
                    (true, false) => u32::MAX,
                },
                if sack { 0 } else { u32::MAX },
            ],
            restart_window: f64::from(initial_window),
            lost_syn: if params.choice("lost_syn") == "linux" { LostSyn::Linux } else { LostSyn::Rfc },
            peer,
            counts_option,
        };
        Ok(Options {
            payload_bytes,
            header_bytes: bytes(params, "header", 1000)?,
            handshake: params.boolean("handshake"),
            sack,
            dsack: params.boolean("dsack"),
            conserves,
            used_for_round_trip: params.choice("window_use") == "round-trip",
            limited_at_write: params.choice("app_limit") == "at-write",
            initial_window,
            receive_window: receive_window.min(f64::from(u32::MAX / 4)) as u32,
            ack_every: params.integer("ack_every") as u32,
            linux_acks: params.choice("ack_policy") == "linux",
            timestamps: params.boolean("timestamps"),
            constants: Arc::new(constants),
            undo,
            detection,
            tail_probe: params.boolean("tail_probe"),
            reducing: match params.choice("reduction") {
                "at-once" => Reducing::AtOnce,
                "proportional" => Reducing::Proportional,
                _ => Reducing::Halving,
            },
            idle: match params.choice("after_idle") {
                "restart" => AfterIdle::Restart,
                "decay" => AfterIdle::Decay,
                _ => AfterIdle::Keep,
            },
            times_segments: params.choice("rtt_sample") == "segment",
            pacing_slack: match params.choice("pacing_slack") {
                "none" => Slack::None,
                "linux" => Slack::Linux,
                _ => Slack::Departures,
            },
            rounding: match params.choice("timer_rounding") {
                "due" => Rounding::Due,
                "ticks" => Rounding::Ticks,
                _ => Rounding::Wheel,
            },
            send_jitter: params.span("send_jitter"),
            ecn: params.boolean("ecn"),
            accurate_ecn,
            counts,
            ect,
        })
    }

    /// What a control may know of a path with these options.
    pub fn path(&self) -> Path {
        Path {
            mss_bytes: self.payload_bytes,
            header_bytes: self.header_bytes,
            smallest_packet_bytes: self.header_bytes,
            initial_window: f64::from(self.initial_window),
            sack: self.sack,
        }
    }
}

/// Whether acknowledgements may carry the option with counts, and what the receiver can do with marks.
fn counting(params: &Params, counts: bool) -> Result<(bool, Ability), ParameterError> {
    let peer = match params.choice("peer_ecn") {
        "none" => Ability::Nothing,
        "classic" => Ability::Classic,
        _ => Ability::Counts,
    };
    if peer != Ability::Counts && !counts {
        return Err(ParameterError::new("peer_ecn", "accecn, or less with ecn_feedback = accecn, which is asked for"));
    }
    let option = params.boolean("accecn_option");
    if !option && !counts {
        return Err(ParameterError::new("accecn_option", "true, or false with ecn_feedback = accecn"));
    }
    Ok((option, peer))
}

fn bytes(params: &Params, name: &'static str, max: u32) -> Result<u32, ParameterError> {
    match params.amount(name) {
        Amount::Bytes(bytes) if (1.0..=f64::from(max)).contains(&bytes) => Ok(bytes as u32),
        _ => Err(ParameterError::new(name, format!("a size from 1 B to {max} B"))),
    }
}

/// The moment at which a timer that is due at `due` goes off: the first whole multiple of `tick` that is not earlier.
#[inline]
pub(crate) fn at_tick(due: Time, tick: Span) -> Time {
    match tick.as_nanos() {
        0 => due,
        tick => Time::from_nanos(due.as_nanos().div_ceil(tick).saturating_mul(tick)),
    }
}
