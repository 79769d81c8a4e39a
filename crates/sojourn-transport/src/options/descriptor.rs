//! What `transport` is and what can be set.

use super::{Detection, Ect};
use sojourn_core::registry::declare::{amount, choice, flag, integer, number_in, or_auto, span};
use sojourn_core::registry::{Descriptor, Form, Linux, Preset, Setting, Value};
use sojourn_core::{Amount, Span, choices, parameters};

choices! {
    /// What a transport makes of idle time.
    #[non_exhaustive]
    pub enum AfterIdle {
        /// RFC 5681 section 4.1.
        Restart = "restart",
        /// RFC 2861 as in Linux.
        Decay = "decay",
        /// Nothing: the window stays (`net.ipv4.tcp_slow_start_after_idle = 0`).
        Keep = "keep",
    }
    /// How the window gets to what the control makes of congestion.
    #[non_exhaustive]
    pub enum Reducing {
        /// In one step (RFC 5681).
        AtOnce = "at-once",
        /// In proportion to what is delivered (RFC 9937).
        Proportional = "proportional",
        /// By one segment with every second acknowledgement.
        Halving = "halving",
    }
    /// What is taken back.
    #[non_exhaustive]
    pub enum Undoing {
        /// Nothing.
        Nothing = "none",
        /// Timeouts, by timestamps.
        Timeouts = "timestamps",
        /// Timeouts and repairs, by timestamps, F-RTO and DSACK.
        All = "all",
    }
    /// Whether a SYN is exchanged before data, and what one that was sent again leaves of window, timeout and ECN.
    #[derive(Default)]
    pub enum Handshake {
        /// None: both ends know each other.
        None = "false",
        /// One segment, 3 s (RFC 5681 section 3.1, RFC 6298 rule 5.7).
        #[default]
        Rfc = "true",
        /// The initial window but after two, a round-trip time by timestamp, no ECN.
        Linux = "linux",
    }
    /// Whether selective acknowledgements are used.
    pub enum Sack {
        /// No (RFC 6582).
        None = "false",
        /// Yes (RFC 2018, RFC 6675).
        Plain = "true",
        /// And the receiver reports what came twice (RFC 2883).
        Dsack = "dsack",
    }
    /// What is sent while duplicate acknowledgements only suggest a loss.
    pub enum Disorder {
        /// Nothing.
        Nothing = "none",
        /// Two new segments (RFC 3042).
        LimitedTransmit = "limited-transmit",
        /// As much as has left the network.
        Conservation = "conservation",
    }
    /// When a window and a rate count as limited by the application.
    pub enum AppLimited {
        /// As soon as there is nothing to send (RFC 2861 section 3.1).
        Rfc = "rfc",
        /// After a round trip that did not use the window; a rate once the application writes again.
        Linux = "linux",
    }
    /// When acknowledgements go.
    pub enum AckPolicy {
        /// By a count and a delay (RFC 5681 section 4.2).
        Count = "count",
        /// As Linux 6.1 sends them.
        Linux = "linux",
    }
    /// Whose timers they are: the retransmission timer's rules, and those of pacing.
    #[derive(Default)]
    pub enum Timers {
        /// RFC 6298 with a granularity of 1 ms.
        #[default]
        Rfc = "rfc",
        /// The same with one of 10 ms.
        Ns2 = "ns2",
        /// Linux 2.6.32.
        Linux26 = "linux-2.6",
        /// Linux 6.1.
        Linux = "linux",
    }
    /// Whether ECN is negotiated, and how marks are echoed.
    #[derive(Default)]
    pub enum Feedback {
        /// No ECN.
        #[default]
        None = "false",
        /// Until the sender has reduced its window (RFC 3168).
        Classic = "true",
        /// Each mark (RFC 8257).
        Accurate = "accurate",
        /// By counting them (RFC 9768).
        AccEcn = "accecn",
        /// The same without the TCP option.
        AccEcnWithoutOption = "accecn-without-option",
        /// It is asked for, and the receiver knows RFC 3168 only.
        AccEcnToClassic = "accecn-to-classic",
        /// It is asked for, and the receiver knows no ECN.
        AccEcnToNone = "accecn-to-none",
    }
}

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        /// payload of a full segment (MSS less options)
        payload: Amount = amount(Amount::Bytes(1448.0), 1.0, true),
        /// headers of every packet on the wire; SACK blocks come on top: 20 IP + 20 TCP + 12 timestamps
        header: Amount = amount(Amount::Bytes(52.0), 1.0, true),
        /// whether a SYN is exchanged before data (false: both ends know each other), and what one that was sent again leaves: a
        /// window of one segment and a timeout of 3 s (true, RFC 5681 section 3.1, RFC 6298 rule 5.7); or initial_window, and one
        /// segment only where two were lost, the round-trip time that the SYN/ACK's timestamp tells, and no ECN, for which only
        /// the first SYN asks (linux)
        handshake: Handshake = choice(Handshake::Rfc.value()),
        /// recover with selective acknowledgements (true, RFC 6675) or with NewReno's partial ones (false, RFC 6582); dsack: the
        /// receiver also reports segments that came twice in the first SACK block (RFC 2883)
        sack: Sack = choice(Sack::Plain.value()),
        /// what is sent while duplicate acknowledgements only suggest a loss: nothing (none), one new segment for each of the
        /// first two (limited-transmit, RFC 3042), where what they report opens the window with the next cumulative
        /// acknowledgement (RFC 5681 section 3.2); or one new segment for each one that they report to have left the network,
        /// which never opens the window (conservation, Linux)
        disorder: Disorder = choice(Disorder::LimitedTransmit.value()),
        /// when the application counts as the limit, so that the window may not grow and a rate is no measure of the path: while
        /// the window is not full, and as soon as there is nothing to send (rfc, RFC 2861 section 3.1); or after a round trip in
        /// which the window was never full, nor in slow start more than half of it out at once (RFC 7661 section 4.3 takes half
        /// for enough always), and a rate once the application writes again and the window has room (linux)
        app_limited: AppLimited = choice(AppLimited::Rfc.value()),
        /// what proves a loss: three duplicate acknowledgements, or three segments received beyond it (count, RFC 5681, RFC
        /// 6675); or one received that was sent three segments later (forward, FACK of Linux before 4.15, without its learning
        /// of reordering); or a round trip and a reordering window since it was sent, when something that was sent later has
        /// arrived, which finds lost retransmissions too (rack, RFC 8985, with Linux's reordering window); rack-tlp also sends a
        /// new segment, or the last one again, where no acknowledgement has come for two round trips (tail loss probe, RFC 8985
        /// section 7)
        loss_detection: Detection = choice(Detection::Count.value()),
        /// congestion window of a new or restarted flow, in segments (RFC 6928: 10)
        initial_window: u32 = integer(10, 1..=10_000),
        /// most data the receiver lets be outstanding, in full-size packets or payload bytes
        receive_window: Amount = amount(Amount::Bytes(67_108_864.0), 1.0, true),
        /// segments per acknowledgement: 2 delays them (RFC 5681 section 4.2), 1 does not
        ack_every: u32 = integer(2, 1..=1000),
        /// longest an acknowledgement is delayed (RFC 5681: at most 500 ms)
        ack_delay: Span = span(Span::from_millis(100), Span::ZERO..=Span::from_secs(1)),
        /// when acknowledgements go: by ack_every and ack_delay, and at once where a segment is out of order, came twice or
        /// fills a gap (count, RFC 5681 section 4.2); or as Linux 6.1 sends them: the first 16 at once, then delayed by what
        /// the distance of the segments says, ack_delay at least, and while something is missing after three duplicates one
        /// for 44 or for 1 ms or a twentieth of the round-trip time (linux)
        ack_policy: AckPolicy = choice(AckPolicy::Count.value()),
        /// a round-trip sample from every acknowledgement, also of retransmissions (RFC 7323); without, Karn's rule
        timestamps: bool = flag(true),
        /// retransmission timeout before the first round-trip sample (RFC 6298: 1 s)
        initial_rto: Span = span(Span::from_secs(1), Span::from_millis(1)..=Span::from_secs(60)),
        /// smallest retransmission timeout (RFC 6298: 1 s)
        min_rto: Span = span(Span::from_secs(1), Span::ZERO..=Span::from_secs(60)),
        /// largest retransmission timeout after back-off (RFC 6298: at least 60 s)
        max_rto: Span = span(Span::from_secs(60), Span::from_secs(1)..=Span::from_secs(3600)),
        /// whose timers they are. rfc: min_rto bounds the whole timeout, which is made of the mean deviation of the times that
        /// timestamps echo (RFC 6298, RFC 7323), with a clock granularity G of 1 ms, and with a timer_tick the moment at which a
        /// timer is due is rounded up; ns2: the same with a G of 10 ms. linux-2.6: min_rto bounds the variance term, which
        /// follows the deviation's peak of each round trip and forgets it by a quarter per round trip, falling times counting for
        /// an eighth; with a timer_tick a wait is rounded up, from the tick that began last, and one tick is added. linux: also
        /// round-trip times are those of the oldest segment newly acknowledged, by SACK too, and of timestamps only where that
        /// was sent again; waits are rounded to whole 8 ticks from 63 on and to 64 from 504 on (timer wheel, since 4.8); a
        /// control that paces sends the first ten segments of a connection at once, and after a late segment the next one up to
        /// half a gap sooner, and BBR learns when the next one may go (since 4.20)
        timers: Timers = choice(Timers::Rfc.value()),
        /// whether a needless timeout is taken back: with timestamps the first acknowledgement of new data after it tells
        /// whether it answers what was sent before the retransmission (RFC 3522); then the window is what it was (RFC 4015),
        /// and what was held for lost is not sent again; all: also by what is delivered after a timeout (F-RTO, RFC 5682) and
        /// by reports of what came twice (DSACK, RFC 3708), and repairs of losses too (Linux); needs loss_detection = rack or rack-tlp
        undo: Undoing = choice(Undoing::Nothing.value()),
        /// how the window gets to what the control makes of a loss or a mark: in one step, after which nothing is sent until
        /// enough has left the network (at-once, RFC 5681, RFC 6675), or segment by segment with what is delivered
        /// (proportional, RFC 9937, in proportion to the window as in Linux), or by one segment with every second
        /// acknowledgement, and to one more than is in flight at most (halving, Linux before 3.2). Controls that follow a
        /// model of the path, such as bbr, have rules of their own
        reduction: Reducing = choice(Reducing::AtOnce.value()),
        /// what more than a retransmission timeout without sending leaves of the window: initial_window at most, with the
        /// slow-start threshold kept (restart, RFC 5681 section 4.1); half for each timeout that passed, but initial_window at
        /// least, with a threshold of 3/4 of the window at least, and half way to what was used where the application uses it
        /// in part and no acknowledgement has counted for a timeout (decay, Linux after RFC 2861); all of it (keep). Controls
        /// that follow a model of the path, such as bbr, have rules of their own
        after_idle: AfterIdle = choice(AfterIdle::Restart.value()),
        /// timers go off at whole multiples of this, the next one after they are due: a kernel's tick (10 ms in user-mode
        /// Linux), or how often a library looks at them (500 ms in libutp); 0 s is at once
        timer_tick: Span = span(Span::ZERO, Span::ZERO..=Span::from_secs(10)),
        /// spaces segments at this multiple of window over smoothed RTT; auto leaves it to the control
        pacing: Option<f64> = or_auto(&number_in(0.01..=100.0)),
        /// longest random pause, drawn uniformly, before data is sent that the window has come to allow; what it allows by the
        /// end of the pause goes at once (overhead_ of ns-2), except SYNs and fast retransmissions, which do not wait
        send_jitter: Span = span(Span::ZERO, Span::ZERO..=Span::from_secs(60)),
        /// negotiate ECN, so that data carries ECT(0) and marks are answered once per round trip, and how the receiver echoes
        /// them: on every acknowledgement until the sender has reduced its window (true, RFC 3168); on each acknowledgement
        /// whether its segments were marked, changes being acknowledged at once (accurate, RFC 8257), which dctcp needs; or by
        /// how many packets were marked so far, modulo 8, on every acknowledgement (accecn, RFC 9768), which the SYN asks for.
        /// There acknowledgements of new marks or data also carry counters of bytes, which tell how often the count went round
        /// where acknowledgements are lost, 8 B each, and then two SACK blocks at most; accecn-without-option leaves them out.
        /// Where the receiver can do less, its SYN/ACK says so, and prague and dctcp answer marks as Reno does: the sender falls
        /// back to RFC 3168 with ECT(0) (accecn-to-classic) or to no ECN (accecn-to-none)
        ecn: Feedback = choice(Feedback::None.value()),
        /// with ecn: what data carry: ECT(1) where the control is scalable (RFC 9331) and else ECT(0), or one of them whatever
        /// the control; ect1 lets any control say that it wants early marks (RITE deliverable 2.1 section 4.2.1)
        ect: Ect = choice(Ect::OfControl.value()),
    }
}

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
    parameters: &Parameters::LIST,
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
                ("ack_policy", AckPolicy::Linux.value()),
                ("min_rto", Value::Span(Span::from_millis(200))),
                ("max_rto", Value::Span(Span::from_secs(120))),
                ("handshake", Handshake::Linux.value()),
                ("timers", Timers::Linux.value()),
                ("undo", Undoing::All.value()),
                ("sack", Sack::Dsack.value()),
                ("loss_detection", Detection::RackTlp.value()),
                ("reduction", Reducing::Proportional.value()),
                ("disorder", Disorder::Conservation.value()),
                ("app_limited", AppLimited::Linux.value()),
                ("after_idle", AfterIdle::Decay.value()),
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
                // tcp_ack_update_rtt takes a timestamp where there is one; timers end with their tick; nothing is paced.
                ("timers", Timers::Linux26.value()),
                ("undo", Undoing::Timeouts.value()),
                ("sack", Sack::Dsack.value()),
                // tcp_update_scoreboard with tcp_fack = 1.
                ("loss_detection", Detection::Forward.value()),
                // tcp_cwnd_down; tcp_cwnd_reduction since 3.2.
                ("reduction", Reducing::Halving.value()),
                ("disorder", Disorder::Conservation.value()),
                ("after_idle", AfterIdle::Decay.value()),
            ],
        },
        Preset {
            name: "ns2",
            summary: "ns-2.35 Agent/TCP/Newreno: no SACK, every segment acknowledged, 2 segments to start, 40 B headers",
            values: &[
                ("payload", Value::Amount(Amount::Bytes(1460.0))),
                ("header", Value::Amount(Amount::Bytes(40.0))),
                ("sack", Sack::None.value()),
                ("initial_window", Value::Integer(2)),
                ("ack_every", Value::Integer(1)),
                ("timestamps", Value::Boolean(false)),
                ("initial_rto", Value::Span(Span::from_secs(3))),
                ("min_rto", Value::Span(Span::from_millis(200))),
                ("timers", Timers::Ns2.value()),
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
            Setting::words("ecn", &[("true", "features ecn"), ("accurate", "features ecn"), ("false", "")]),
            Setting::words(
                "loss_detection",
                &[
                    ("rack-tlp", "net.ipv4.tcp_recovery=1 net.ipv4.tcp_early_retrans=3"),
                    ("rack", "net.ipv4.tcp_recovery=1 net.ipv4.tcp_early_retrans=0"),
                    ("count", "net.ipv4.tcp_recovery=0 net.ipv4.tcp_early_retrans=0"),
                ],
            ),
            Setting::words("undo", &[("all", "net.ipv4.tcp_frto=2"), ("timestamps", "net.ipv4.tcp_frto=0")]),
            Setting::words("sack", &[("dsack", "net.ipv4.tcp_dsack=1"), ("true", "net.ipv4.tcp_dsack=0")]),
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
