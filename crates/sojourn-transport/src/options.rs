//! What can be set of the sender and the receiver.

mod descriptor;
mod timers;

use crate::accecn::Ability;
use sojourn_congestion::Path;
use sojourn_core::registry::{ParameterError, Params};
use sojourn_core::{Amount, Span, choices};
use std::sync::Arc;

use crate::scoreboard::DUP_THRESH;
use descriptor::Parameters;
pub use descriptor::{
    AckPolicy, AfterIdle, AppLimited, DESCRIPTOR, Disorder, Feedback, Handshake, Reducing, Sack, Timers, Undoing,
};
pub(crate) use timers::at_tick;

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
    pub handshake: Handshake,
    /// Whether selective acknowledgements are used.
    pub sack: Sack,
    /// What is sent while duplicate acknowledgements only suggest a loss.
    pub disorder: Disorder,
    /// When window and rate count as limited by the application.
    pub app_limited: AppLimited,
    /// Initial window in segments.
    pub initial_window: u32,
    /// Receive window in segments.
    pub receive_window: u32,
    /// Segments per acknowledgement.
    pub ack_every: u32,
    /// When acknowledgements go.
    pub ack_policy: AckPolicy,
    /// Whether timestamps are used.
    pub timestamps: bool,
    /// What all connections with these options look up in one place.
    pub constants: Arc<Constants>,
    /// What is taken back as needless.
    pub undo: Undoing,
    /// What proves a loss.
    pub detection: Detection,
    /// How losses and marks lower the window.
    pub reducing: Reducing,
    /// What idle time leaves of the window.
    pub idle: AfterIdle,
    /// Longest random pause before data is sent.
    pub send_jitter: Span,
    /// Whether ECN is negotiated, and how marks are echoed.
    pub ecn: Feedback,
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
        /// Time (RACK of RFC 8985).
        Rack = "rack",
        /// The same, and tails are probed (TLP, RFC 8985 section 7).
        RackTlp = "rack-tlp",
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
    pub(crate) handshake: Handshake,
    /// How the receiver echoes marks.
    pub(crate) ecn: Feedback,
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
    /// How it is made of round-trip times.
    pub timers: Timers,
    /// Unit up to which it is rounded before back-off (`usecs_to_jiffies`); zero is exact.
    pub tick: Span,
}

impl Handshake {
    /// Whether a SYN is exchanged before data.
    pub fn is_wanted(self) -> bool {
        self != Handshake::None
    }
}

impl Sack {
    /// Whether selective acknowledgements are used.
    pub fn is_used(self) -> bool {
        self != Sack::None
    }
}

impl Detection {
    /// Whether time proves losses.
    pub fn is_by_time(self) -> bool {
        matches!(self, Detection::Rack | Detection::RackTlp)
    }
}

impl Feedback {
    /// Whether ECN is negotiated.
    pub fn is_on(self) -> bool {
        self != Feedback::None
    }

    /// Whether the receiver is asked to count marks.
    pub fn counts(self) -> bool {
        use Feedback::{AccEcn, AccEcnToClassic, AccEcnToNone, AccEcnWithoutOption};
        matches!(self, AccEcn | AccEcnWithoutOption | AccEcnToClassic | AccEcnToNone)
    }

    /// Whether the receiver is asked to tell of each mark, instead of echoing until it is answered.
    pub fn is_accurate(self) -> bool {
        self == Feedback::Accurate || self.counts()
    }

    /// Whether acknowledgements that count marks carry counters of bytes, too.
    pub(crate) fn has_option(self) -> bool {
        self != Feedback::AccEcnWithoutOption
    }

    /// What the receiver can do with marks where it is asked to count them.
    pub(crate) fn peer(self) -> Ability {
        match self {
            Feedback::AccEcnToClassic => Ability::Classic,
            Feedback::AccEcnToNone => Ability::Nothing,
            _ => Ability::Counts,
        }
    }
}

impl Options {
    /// These of an end that asks for nothing: both ends know each other.
    #[must_use]
    pub fn without_handshake(mut self) -> Options {
        self.handshake = Handshake::None;
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
            timers: declared.timers,
            tick: if declared.timers == Timers::Linux { declared.timer_tick } else { Span::ZERO },
        };
        if rto.min > rto.max {
            return Err(ParameterError::new("min_rto", format!("not above max_rto, which is {}", rto.max)));
        }
        let detection = declared.loss_detection;
        if detection != Detection::Count && !declared.sack.is_used() {
            return Err(ParameterError::new(
                "loss_detection",
                "count where sack = false: the others need to know which segments have arrived (RFC 8985 section 6.1)",
            ));
        }
        let undo = declared.undo;
        if undo != Undoing::Nothing && !declared.timestamps {
            return Err(ParameterError::new("undo", "none, or timestamps or all with timestamps = true"));
        }
        if undo == Undoing::All && !detection.is_by_time() {
            return Err(ParameterError::new(
                "undo",
                "none or timestamps, or all with loss_detection = rack or rack-tlp",
            ));
        }
        let ect = declared.ect;
        if ect != Ect::OfControl && !declared.ecn.is_on() {
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
        // With SACK the scoreboard knows which segments have left the network.
        let unreported = if declared.sack.is_used() { 0 } else { u32::MAX };
        let constants = Constants {
            rto,
            timer_tick: declared.timer_tick,
            ack_delay: declared.ack_delay,
            pacing: declared.pacing,
            most_left: [
                match declared.disorder {
                    Disorder::Nothing => 0,
                    Disorder::LimitedTransmit => LIMITED_TRANSMIT,
                    Disorder::Conservation => unreported,
                },
                unreported,
            ],
            restart_window: f64::from(declared.initial_window),
            handshake: declared.handshake,
            ecn: declared.ecn,
        };
        Ok(Options {
            payload_bytes,
            header_bytes: bytes(declared.header, "header", 1000)?,
            handshake: declared.handshake,
            sack: declared.sack,
            disorder: declared.disorder,
            app_limited: declared.app_limited,
            initial_window: declared.initial_window,
            receive_window: receive_window.min(f64::from(u32::MAX / 4)) as u32,
            ack_every: declared.ack_every,
            ack_policy: declared.ack_policy,
            timestamps: declared.timestamps,
            constants: Arc::new(constants),
            undo,
            detection,
            reducing: declared.reduction,
            idle: declared.after_idle,
            send_jitter: declared.send_jitter,
            ecn: declared.ecn,
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
            sack: self.sack.is_used(),
        }
    }
}

fn bytes(amount: Amount, name: &'static str, max: u32) -> Result<u32, ParameterError> {
    match amount {
        Amount::Bytes(bytes) if (1.0..=f64::from(max)).contains(&bytes) => Ok(bytes as u32),
        _ => Err(ParameterError::new(name, format!("a size from 1 B to {max} B"))),
    }
}

/// The word of a key that is a flag, or more.
#[cfg(test)]
pub(crate) fn flag(on: bool) -> sojourn_core::registry::Value {
    sojourn_core::registry::Value::Choice(if on { "true" } else { "false" })
}
