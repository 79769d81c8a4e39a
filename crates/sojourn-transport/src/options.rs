//! What can be set of the sender and the receiver.

mod descriptor;

use crate::accecn::Ability;
use sojourn_congestion::Path;
use sojourn_core::registry::{ParameterError, Params};
use sojourn_core::{Amount, Span, Time, choices};
use std::sync::Arc;

use crate::scoreboard::DUP_THRESH;
use descriptor::{AckPolicy, AppLimit, Disorder, Feedback, Parameters, RtoFloor, RttSample, RttVariance, WindowUse};
pub use descriptor::{AfterIdle, DESCRIPTOR, Reducing, Undoing};

/// Most duplicate acknowledgements that limited transmit answers (RFC 3042).
const LIMITED_TRANSMIT: u32 = DUP_THRESH - 1;

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

choices! {
    /// What proves that a segment was lost.
    #[non_exhaustive]
    pub enum Detection {
        /// So many that were sent later and have arrived (RFC 6675).
        Count = "count",
        /// One that was sent so many segments later and has arrived (FACK).
        Forward = "forward",
        /// Time (RFC 8985).
        Time = "time",
    }
}

choices! {
    /// The code point of data packets with ECN (RFC 3168).
    pub enum Ect {
        /// The one that belongs to the control.
        OfControl = "control",
        /// ECT(0).
        Zero = "ect0",
        /// ECT(1).
        One = "ect1",
    }
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

choices! {
    /// What a SYN that was sent again leaves of window, timeout and ECN (`lost_syn`).
    #[derive(Default)]
    pub(crate) enum LostSyn {
        /// One segment, 3 s (RFC 5681 section 3.1, RFC 6298 rule 5.7).
        #[default]
        Rfc = "rfc",
        /// The initial window but after two, a round-trip time by timestamp, no ECN.
        Linux = "linux",
    }
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

choices! {
    /// What of a timer is rounded up to whole ticks (`timer_rounding`).
    pub enum Rounding {
        /// When it is due.
        Due = "due",
        /// How long it waits.
        Ticks = "ticks",
        /// The same, and long waits to 8 or 64 ticks of the clock, as Linux's timer wheel does.
        Wheel = "wheel",
    }
}

choices! {
    /// What a control that paces its segments lets go sooner (`pacing_slack`).
    pub enum Slack {
        /// Nothing.
        None = "none",
        /// The first segments, and those after a late one.
        Linux = "linux",
        /// The same, and it hears when the next segment goes.
        Departures = "departures",
    }
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
        let declared = Parameters::of(params);
        let payload_bytes = bytes(declared.payload, "payload", 65_000)?;
        let rto = RtoOptions {
            initial: declared.initial_rto,
            min: declared.min_rto,
            max: declared.max_rto,
            floor_on_variance: declared.rto_floor == RtoFloor::Variance,
            clock: declared.clock,
            peak: declared.rtt_variance == RttVariance::Peak,
            tick: if declared.timer_rounding == Rounding::Wheel { declared.timer_tick } else { Span::ZERO },
        };
        if rto.min > rto.max {
            return Err(ParameterError::new("min_rto", format!("not above max_rto, which is {}", rto.max)));
        }
        if declared.dsack && !declared.sack {
            return Err(ParameterError::new("dsack", "false where sack = false: its reports are SACK blocks"));
        }
        let detection = declared.loss_detection;
        if detection != Detection::Count && !declared.sack {
            return Err(ParameterError::new(
                "loss_detection",
                "count where sack = false: the others need to know which segments have arrived (RFC 8985 section 6.1)",
            ));
        }
        let by_time = detection == Detection::Time;
        if declared.tail_probe && !by_time {
            return Err(ParameterError::new(
                "tail_probe",
                "false where loss_detection is not time: what a probe finds is repaired by time (RFC 8985 section 7)",
            ));
        }
        let undo = declared.undo;
        if undo != Undoing::Nothing && !declared.timestamps {
            return Err(ParameterError::new("undo", "none, or timestamps or all with timestamps = true"));
        }
        if undo == Undoing::All && !by_time {
            return Err(ParameterError::new("undo", "none or timestamps, or all with loss_detection = time"));
        }
        let conserves = declared.disorder == Disorder::Conservation;
        if conserves && !declared.limited_transmit {
            return Err(ParameterError::new(
                "limited_transmit",
                "true where disorder is conservation: each segment that has left the network lets a new one go",
            ));
        }
        let counts = declared.ecn_feedback == Feedback::AccEcn;
        let accurate_ecn = declared.ecn_feedback != Feedback::Classic;
        if accurate_ecn && !declared.ecn {
            return Err(ParameterError::new(
                "ecn_feedback",
                "classic, or another one with ecn = true: there are no marks to echo",
            ));
        }
        let (counts_option, peer) = counting(&declared, counts)?;
        let ect = declared.ect;
        if ect != Ect::OfControl && !declared.ecn {
            return Err(ParameterError::new("ect", "control, or ect0 or ect1 with ecn = true"));
        }
        let receive_window = match declared.receive_window {
            Amount::Packets(packets) => packets,
            Amount::Bytes(bytes) => (bytes / f64::from(payload_bytes)).floor(),
            Amount::Time(_) => return Err(ParameterError::new("receive_window", "an amount in packets or bytes")),
        };
        if receive_window < 1.0 {
            return Err(ParameterError::new("receive_window", format!("at least one segment of {payload_bytes} B")));
        }
        let (sack, initial_window) = (declared.sack, declared.initial_window);
        let constants = Constants {
            rto,
            timer_tick: declared.timer_tick,
            ack_delay: declared.ack_delay,
            pacing: declared.pacing,
            most_left: [
                match (conserves, sack) {
                    (false, _) => u32::from(declared.limited_transmit) * LIMITED_TRANSMIT,
                    (true, true) => 0,
                    (true, false) => u32::MAX,
                },
                if sack { 0 } else { u32::MAX },
            ],
            restart_window: f64::from(initial_window),
            lost_syn: declared.lost_syn,
            peer,
            counts_option,
        };
        Ok(Options {
            payload_bytes,
            header_bytes: bytes(declared.header, "header", 1000)?,
            handshake: declared.handshake,
            sack,
            dsack: declared.dsack,
            conserves,
            used_for_round_trip: declared.window_use == WindowUse::RoundTrip,
            limited_at_write: declared.app_limit == AppLimit::AtWrite,
            initial_window,
            receive_window: receive_window.min(f64::from(u32::MAX / 4)) as u32,
            ack_every: declared.ack_every,
            linux_acks: declared.ack_policy == AckPolicy::Linux,
            timestamps: declared.timestamps,
            constants: Arc::new(constants),
            undo,
            detection,
            tail_probe: declared.tail_probe,
            reducing: declared.reduction,
            idle: declared.after_idle,
            times_segments: declared.rtt_sample == RttSample::Segment,
            pacing_slack: declared.pacing_slack,
            rounding: declared.timer_rounding,
            send_jitter: declared.send_jitter,
            ecn: declared.ecn,
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
fn counting(declared: &Parameters, counts: bool) -> Result<(bool, Ability), ParameterError> {
    let peer = declared.peer_ecn;
    if peer != Ability::Counts && !counts {
        return Err(ParameterError::new("peer_ecn", "accecn, or less with ecn_feedback = accecn, which is asked for"));
    }
    let option = declared.accecn_option;
    if !option && !counts {
        return Err(ParameterError::new("accecn_option", "true, or false with ecn_feedback = accecn"));
    }
    Ok((option, peer))
}

fn bytes(amount: Amount, name: &'static str, max: u32) -> Result<u32, ParameterError> {
    match amount {
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
