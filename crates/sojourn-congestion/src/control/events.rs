//! What the transport tells a control: acknowledgements, losses, starts, ends.

#[cfg(not(feature = "std"))]
use sojourn_core::Float as _;
use sojourn_core::{Span, Time};

/// What a control may know of its path before the first packet.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Payload bytes of a full segment.
    pub mss_bytes: u32,
    /// Bytes of headers that every packet has beside its payload, as the network counts them.
    pub header_bytes: u32,
    /// Bytes of the smallest packet, as the network counts them: one with less payload is filled up.
    pub smallest_packet_bytes: u32,
    /// Initial window of the transport, in segments.
    pub initial_window: f64,
    /// Whether the receiver acknowledges selectively, so that several losses of a round trip can be told.
    pub sack: bool,
}

/// An acknowledgement of new data.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// The time it arrived.
    pub now: Time,
    /// Segments that this acknowledgement is the first to cover, cumulatively or by SACK. Zero while duplicate
    /// acknowledgements only suggest a loss: what they report is counted with the acknowledgement that decides.
    pub newly_acked: u32,
    /// The same also while a loss is only suspected: what controls measure by.
    pub delivered: u32,
    /// Segments by which the first unacknowledged one (SND.UNA) moved.
    pub advanced: u32,
    /// Segments outstanding after it: SND.NXT - SND.UNA.
    pub outstanding: u32,
    /// Whether it reports segments that arrived behind a hole (SACK).
    pub selective: bool,
    /// Segments in flight just before it arrived.
    pub flight: f64,
    /// Whether the congestion window, rather than the application or the receiver, limited sending.
    pub window_limited: bool,
    /// Whether the transport is repairing a loss.
    pub in_recovery: bool,
    /// Whether all that is known to have arrived came in order and nothing is known to be lost, after this acknowledgement
    /// (Linux's state Open).
    pub orderly: bool,
    /// Round-trip time of the newest segment that it is the first to cover, where that was sent once only (Karn). That
    /// segment did not wait for a delayed acknowledgement's second one; the oldest, whose time a timestamp echoes, did.
    pub rtt: Option<Span>,
    /// Smoothed round-trip time of the retransmission timer, with what acknowledgements were delayed; zero before the
    /// first sample.
    pub smoothed_rtt: Span,
    /// Smallest [`rtt`](Ack::rtt) of the connection; [`Span::MAX`] before the first.
    pub min_rtt: Span,
    /// Largest [`rtt`](Ack::rtt) of the connection; zero before the first.
    pub max_rtt: Span,
    /// One-way delay of the segment that caused it, in nanoseconds: difference between the
    /// receiver's clock and the sender's, so that it includes an unknown offset and may be negative.
    pub one_way_delay_nanos: Option<i64>,
    /// When the newest segment it covers was sent.
    pub sent: Time,
    /// The time that the receiver echoes (RFC 7323): when the oldest segment of a delayed acknowledgement was sent, or,
    /// behind a hole, the last one before it.
    pub echoed: Time,
    /// Whether the receiver told of a congestion mark on it.
    pub marked: bool,
    /// Where it told of marks by counting them: how many of the [`delivered`](Ack::delivered) segments had none.
    pub unmarked: u32,
    /// Delivery rate over the life of the newest segment, for controls that ask for it.
    pub rate: Option<RateSample>,
}

impl Ack {
    /// How many of the [`delivered`](Ack::delivered) segments were marked, as far as it tells: all of them where it echoes marks.
    #[inline]
    pub fn marked_segments(&self) -> u32 {
        if self.marked { self.delivered.saturating_sub(self.unmarked) } else { 0 }
    }

    /// Whether it may open a window that grows with what is acknowledged: new data, no loss under repair, no mark
    /// (RFC 3168 section 6.1.2), and a window that was used.
    #[inline]
    pub(crate) fn may_open(&self) -> bool {
        self.newly_acked > 0 && !self.in_recovery && !self.marked && self.window_limited
    }
}

/// A delivery-rate sample and what else is known of the life of the newest segment that an acknowledgement covers
/// (draft-ietf-ccwg-bbr, "Delivery Rate Samples"). Its RS.rtt is [`Ack::rtt`].
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct RateSample {
    /// Segments delivered over `interval` (RS.delivered).
    pub delivered: u32,
    /// The longer of the send and acknowledgement intervals; zero where that is shorter than the least round-trip
    /// time, which proves that the sample is wrong.
    pub interval: Span,
    /// Segments delivered on the connection when the newest segment was sent (RS.prior_delivered).
    pub prior_delivered: u64,
    /// Segments delivered on the connection by now (C.delivered).
    pub total_delivered: u64,
    /// Segments that this acknowledgement is the first to cover (RS.newly_acked). Unlike [`Ack::newly_acked`] also
    /// while a loss is only suspected.
    pub newly_delivered: u32,
    /// Segments judged lost over the life of the newest segment (RS.lost).
    pub lost: u64,
    /// Segments in flight when the newest segment had been sent, with it (RS.tx_in_flight).
    pub tx_in_flight: u32,
    /// Segments in flight after this acknowledgement (C.inflight).
    pub in_flight: u32,
    /// How long pacing still holds back the next segment (EDT of Linux), where the transport says so.
    pub held: Option<Span>,
    /// Whether the transport is repairing losses, also those that a timeout showed, after this acknowledgement.
    pub repairing: bool,
    /// Whether the application, not the network, limited the sample (RS.is_app_limited).
    pub app_limited: bool,
}

impl RateSample {
    /// The delivery rate in segments per second; zero where it is not known.
    #[inline]
    pub fn per_second(&self) -> f64 {
        if self.interval.is_zero() { 0.0 } else { f64::from(self.delivered) / self.interval.as_secs_f64() }
    }
}

/// A segment that was judged lost.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lost {
    /// The time of the judgement.
    pub now: Time,
    /// Segments in flight when it had been sent, with it (P.tx_in_flight).
    pub tx_in_flight: u32,
    /// Segments judged lost since it was sent, with it.
    pub lost: u64,
    /// Segments delivered on the connection when it was sent (P.delivered).
    pub prior_delivered: u64,
    /// Segments delivered on the connection by now (C.delivered).
    pub total_delivered: u64,
    /// Whether the segment before it was not the one judged lost just before: a new range of losses.
    pub new_range: bool,
    /// Whether the application limited sending when it was sent (P.is_app_limited).
    pub app_limited: bool,
}

/// A congestion signal.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Congestion {
    /// The time it was detected.
    pub now: Time,
    /// What was seen.
    pub signal: Signal,
    /// Segments in flight when it was detected (FlightSize of RFC 5681), those that arrived behind a hole included.
    pub flight: f64,
    /// The same without those that are known to have arrived or to be lost (pipe of RFC 6675).
    pub pipe: f64,
    /// Smoothed round-trip time; zero before the first sample.
    pub smoothed_rtt: Span,
    /// What has been done about it.
    pub stage: Stage,
}

/// What a transport has done about congestion when it tells of it.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub enum Stage {
    /// Nothing.
    #[default]
    New,
    /// It is in the middle of a reduction that a mark began, which has left a window of so many segments by now.
    Reducing {
        /// cwnd of Linux.
        window: f64,
    },
    /// It has repaired the loss by a tail loss probe (RFC 8985 section 7.4), which is over with this.
    Repaired,
}

/// What was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// Duplicate acknowledgements or SACK information show a loss.
    Loss,
    /// The receiver echoed a CE mark (RFC 3168).
    Ecn,
    /// The retransmission timer fired; `repeated` for the same segment's second and later times.
    Timeout {
        /// Whether the threshold stays: the timer had already fired for this segment (RFC 5681 equation 4's exception), or
        /// a transport that reduces in proportion had reduced for this window of data.
        repeated: bool,
    },
}

/// A repair that ended.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Recovered {
    /// The time.
    pub now: Time,
    /// What was repaired.
    pub repair: Repair,
    /// Segments still outstanding (FlightSize of RFC 5681).
    pub flight: f64,
}

/// What was repaired, and with what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repair {
    /// Losses, by partial acknowledgements: the full acknowledgement leaves little in flight.
    Partial,
    /// Losses, with a scoreboard that kept what is in flight at the window (RFC 6675).
    Selective,
    /// All that was outstanding when the retransmission timer went off.
    Timeout,
}

impl Recovered {
    /// The window at the end of a repair that began with a reduction to `threshold`: RFC 6582 section 3.2 step 3 (1)
    /// allows one segment more than is in flight after partial acknowledgements, which would otherwise let a window go
    /// at once; with a scoreboard, and after a timeout, `window` is what is right already.
    #[inline]
    pub(crate) fn window(&self, window: f64, threshold: f64) -> f64 {
        match self.repair {
            Repair::Partial => threshold.min(self.flight.max(1.0) + 1.0),
            Repair::Selective | Repair::Timeout => window,
        }
    }
}

/// What a needless reduction is taken back to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Undo {
    /// The time.
    pub now: Time,
    /// The window before it, in segments.
    pub window: f64,
    /// The slow-start threshold before it, in segments.
    pub threshold: f64,
}

/// Sending starts again.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Start {
    /// The time.
    pub now: Time,
    /// Since the last segment was sent.
    pub idle: Span,
    /// The retransmission timeout.
    pub timeout: Span,
    /// Whether the application, rather than the window, had stopped sending.
    pub app_limited: bool,
    /// What the transport leaves of the window.
    pub unused: Unused,
}

/// The application, or the receiver, limits sending.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AppLimited {
    /// The time.
    pub now: Time,
    /// What the transport leaves of the window.
    pub unused: Unused,
}

/// What a transport leaves of a window that was not used for a while.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum Unused {
    /// All of it.
    Keep,
    /// RFC 5681 section 4.1: cwnd is at most RW, and ssthresh stays.
    Restart {
        /// RW in segments.
        window: f64,
    },
    /// RFC 2861 section 3.2 as in Linux (`tcp_cwnd_restart`): cwnd is halved once for each timeout that passed, but not
    /// below RW; ssthresh is at least 3/4 of what it was.
    Halve {
        /// RW in segments.
        window: f64,
        /// Timeouts that have passed.
        times: u32,
    },
    /// RFC 2861 section 3.2 as in Linux (`tcp_cwnd_application_limited`): cwnd is the mean of itself and what was used,
    /// or RW where that is more; ssthresh is at least 3/4 of what it was.
    Average {
        /// RW or what was used, in segments, whichever is more.
        used: f64,
    },
}

impl Unused {
    /// What it leaves of a window and of a slow-start threshold.
    pub fn left(self, window: f64, threshold: f64) -> (f64, f64) {
        match self {
            Unused::Restart { window: restart } => (window.min(restart), threshold),
            Unused::Halve { window: restart, times } => {
                let restart = restart.min(window);
                let mut left = window;
                for _ in 0..times {
                    if left <= restart {
                        break;
                    }
                    left = (left / 2.0).floor();
                }
                (left.max(restart), threshold.max(Unused::three_quarters(window)))
            }
            Unused::Average { used } if used < window => {
                (((window + used) / 2.0).floor(), threshold.max(Unused::three_quarters(window)))
            }
            Unused::Keep | Unused::Average { .. } => (window, threshold),
        }
    }

    /// `tcp_current_ssthresh`.
    fn three_quarters(window: f64) -> f64 {
        (window / 2.0).floor() + (window / 4.0).floor()
    }
}
