//! The trait that every control implements, and what the transport tells it.

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

    /// A segment was judged lost. Only controls that want rate samples hear of it: before [`on_ack`](Control::on_ack) of
    /// the acknowledgement that decided, or before [`on_congestion`](Control::on_congestion) of a timeout.
    fn on_lost(&mut self, _lost: &Lost) {}

    /// Loss recovery ended with `flight` segments still in flight.
    fn on_recovered(&mut self, _flight: f64) {}

    /// The flow was idle and starts again: the window is back at `initial_window` segments.
    fn on_restart(&mut self, initial_window: f64);

    /// The congestion window (cwnd) in segments.
    fn window(&self) -> f64;

    /// Whether the window is too small for a segment, so that nothing more is sent until the retransmission timer has
    /// gone off, which it does also when nothing is outstanding. Other controls send single segments there.
    fn waits_for_timeout(&self) -> bool {
        false
    }

    /// The slow-start threshold (ssthresh) in segments; infinite before the first congestion.
    fn slow_start_threshold(&self) -> f64;

    /// The rate at which the control wants its segments spaced, if it wants that.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// Whether [`Ack::rate`] must be filled and [`on_lost`](Control::on_lost) be called; it costs the transport some
    /// work per segment.
    fn wants_rate_samples(&self) -> bool {
        false
    }

    /// What it asks of the path's congestion marks.
    fn ecn(&self) -> EcnUse {
        EcnUse::Optional
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
    /// Segments in flight just before it arrived.
    pub flight: f64,
    /// Whether the congestion window, rather than the application or the receiver, limited sending.
    pub window_limited: bool,
    /// Whether the transport is repairing a loss.
    pub in_recovery: bool,
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
    /// Whether the receiver echoed a congestion mark on it.
    pub marked: bool,
    /// Delivery rate over the life of the newest segment, for controls that ask for it.
    pub rate: Option<RateSample>,
}

impl Ack {
    /// Whether it may open a window that grows with what is acknowledged: new data, no loss under repair, no mark
    /// (RFC 3168 section 6.1.2), and a window that was used.
    #[inline]
    pub(crate) fn may_open(&self) -> bool {
        self.newly_acked > 0 && !self.in_recovery && !self.marked && self.window_limited
    }
}

/// A delivery-rate sample and what else is known of the life of the newest segment that an acknowledgement covers
/// (draft-ietf-ccwg-bbr, "Delivery Rate Samples"). Its RS.rtt is [`Ack::rtt`].
#[derive(Clone, Copy, PartialEq, Debug)]
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
        /// Whether the timer had already fired for this segment (RFC 5681 equation 4's exception).
        repeated: bool,
    },
}
