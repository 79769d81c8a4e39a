//! The trait that every control implements, and what the transport tells it.

use alloc::string::String;
use alloc::vec::Vec;
#[cfg(not(feature = "std"))]
use sojourn_core::Float as _;
use sojourn_core::registry::{Advice, Params};
use sojourn_core::{Rate, Span, Time};

/// A congestion control: how much of a flow may be in flight.
///
/// Windows are in segments of the path's MSS and may be fractional; below one segment the transport
/// sends single segments further apart than a round trip.
pub trait Control {
    /// New data was acknowledged, cumulatively or selectively.
    fn on_ack(&mut self, ack: &Ack);

    /// Congestion was detected: a loss that starts a recovery episode, an ECN echo (at most one per
    /// round trip), or a retransmission timeout.
    fn on_congestion(&mut self, event: &Congestion);

    /// The connection was accepted, and that gave the first round-trip time.
    fn on_connected(&mut self, _now: Time, _rtt: Span) {}

    /// Whether the window that its last [`on_ack`](Control::on_ack) lowered is to be reached as after a mark: a transport that
    /// reduces in proportion then leads there, and takes what was out for the window that the reduction is of (Linux:
    /// `tcp_enter_cwr`).
    fn reduced(&self) -> bool {
        false
    }

    /// A segment was judged lost. Only controls that want rate samples hear of it: before [`on_ack`](Control::on_ack) of
    /// the acknowledgement that decided, or before [`on_congestion`](Control::on_congestion) of a timeout.
    fn on_lost(&mut self, _lost: &Lost) {}

    /// A repair ended, whichever way: see [`Recovered`]. Not called where it was needless: that is
    /// [`on_undo`](Control::on_undo).
    fn on_recovered(&mut self, _recovered: &Recovered) {}

    /// What led to the last [`on_congestion`](Control::on_congestion) turned out to be no loss: the window is to be what
    /// it was before, and what was sent since may have opened it further.
    fn on_undo(&mut self, undo: &Undo) {
        self.set_window(self.window().max(undo.window), self.slow_start_threshold().max(undo.threshold));
    }

    /// A new segment is about to be sent while nothing is outstanding, so that no acknowledgement has kept time (Linux:
    /// `CA_EVENT_TX_START`). Not called for the first segment of a connection.
    fn on_start(&mut self, start: &Start) {
        start.unused.leave_of(self);
    }

    /// Something is about to be sent while data are outstanding and none of them in flight: what was lost is repaired, and
    /// nothing else has been on its way. Linux tells its modules of this as of any other start (`CA_EVENT_TX_START`).
    fn on_restart_of_repair(&mut self, _start: &Start) {}

    /// There is less to send than the window allows. Called when sending ends for that reason, and where the transport
    /// validates windows (RFC 2861) after each retransmission timeout of such a time, then with what it leaves.
    fn on_app_limited(&mut self, limited: &AppLimited) {
        limited.unused.leave_of(self);
    }

    /// The first SYN was not answered in time: the initial window is one segment (RFC 5681 section 3.1).
    fn on_syn_lost(&mut self) {
        self.set_window(1.0, self.slow_start_threshold());
    }

    /// The receiver cannot tell how many segments were marked, as the handshake showed: each echo is one congestion event of
    /// a window of data (RFC 3168), or there will be none. Called before anything else.
    fn on_classic_feedback(&mut self) {}

    /// The connection ends: nothing is called after this.
    fn on_closed(&mut self, _now: Time) {}

    /// Sets window and slow-start threshold, in segments, where the transport decides on them and not the control, as a
    /// kernel does above its modules. A control whose window follows from a model may ignore either.
    fn set_window(&mut self, window: f64, threshold: f64);

    /// The congestion window (cwnd) in segments.
    fn window(&self) -> f64;

    /// Whether the window is too small for a segment, so that nothing more is sent until the retransmission timer has
    /// gone off, which it does also when nothing is outstanding. Other controls send single segments there.
    fn waits_for_timeout(&self) -> bool {
        false
    }

    /// The slow-start threshold (ssthresh) in segments; infinite before the first congestion.
    fn slow_start_threshold(&self) -> f64;

    /// Whether it may ever want its segments [spaced](Control::pacing_rate); asked once for each connection.
    fn is_paced(&self) -> bool {
        false
    }

    /// The rate at which the control wants its segments spaced, if it wants that and [is paced](Control::is_paced).
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// Whether [`Ack::rate`] must be filled and [`on_lost`](Control::on_lost) be called; it costs the transport some
    /// work per segment.
    fn wants_rate_samples(&self) -> bool {
        false
    }

    /// Whether it ever sends segments with less payload than an MSS: only then is
    /// [`segment_bytes`](Control::segment_bytes) looked at.
    fn sends_short_segments(&self) -> bool {
        false
    }

    /// The most payload bytes of the next new segment; an MSS where there is no such bound. Trains of segments small
    /// enough for one quantum of a fair queue leave it together, whoever waits beside them.
    fn segment_bytes(&self) -> Option<u32> {
        None
    }

    /// What it asks of the path's congestion marks.
    fn ecn(&self) -> EcnUse {
        EcnUse::Optional
    }

    /// Whether a loss counts besides a mark of the same window of data (against RFC 3168 section 6.1.2).
    fn answers_both(&self) -> bool {
        self.ecn() != EcnUse::Optional
    }

    /// Whether it leads its window itself while losses are repaired and after marks, as modules of Linux with `cong_control` do:
    /// a transport that reduces in proportion then leaves the window to it. Those that follow a model of the path do.
    fn leads_reductions(&self) -> bool {
        self.wants_rate_samples()
    }

    /// Takes the parameters of `fresh`, a control of the same kind that has been told of nothing yet. It keeps its window and
    /// what it has measured, as connections do when the parameter of a kernel's module is written. Nothing happens before the
    /// next acknowledgement or loss.
    fn retune(&mut self, _fresh: &Self)
    where
        Self: Sized,
    {
    }

    /// The parameters that [`retune`](Control::retune) leaves as they are: they matter only at the start of a connection, or give
    /// what it remembers its shape. `None` for all.
    fn fixed() -> Option<&'static [&'static str]>
    where
        Self: Sized,
    {
        None
    }

    /// What a careful user would not do with these parameters, although it is legal.
    fn advice(_params: &Params) -> Vec<Advice>
    where
        Self: Sized,
    {
        Vec::new()
    }

    /// Shows internal state, as (name, value) pairs with the unit in the name: the same names every time, NaN for what
    /// is not known.
    fn probe(&self, _visit: &mut dyn FnMut(&'static str, f64)) {}

    /// What went wrong inside since the last call; only plug-ins have code that may fail.
    fn take_error(&mut self) -> Option<String> {
        None
    }
}

/// What a control asks of congestion marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnUse {
    /// Works without them; where they are, its data is sent ECT(0) (RFC 3168).
    Optional,
    /// Cannot do without them, and needs to know of each; its data is sent ECT(0) (RFC 8257).
    Exact,
    /// The same, and its data is sent ECT(1) (RFC 9331).
    Scalable,
}

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

    /// Applies it to `control`. Whether that lowered its window.
    pub(crate) fn leave_of<C: Control + ?Sized>(self, control: &mut C) -> bool {
        let before = (control.window(), control.slow_start_threshold());
        let left = self.left(before.0, before.1);
        if left != before {
            control.set_window(left.0, left.1);
        }
        left.0 < before.0
    }

    /// `tcp_current_ssthresh`.
    fn three_quarters(window: f64) -> f64 {
        (window / 2.0).floor() + (window / 4.0).floor()
    }
}
