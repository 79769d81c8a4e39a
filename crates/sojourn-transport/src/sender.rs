//! The sender: what to send next, when to give up waiting, and what acknowledgements mean for it.
//!
//! Losses, marks and the timer have owners: [recovery], [ecn], [timer]. What an acknowledgement does with them is told in order
//! in [ack].

mod ack;
mod burst;
mod ecn;
mod fast_path;
mod handshake;
mod idle;
mod pacing;
mod recovery;
mod reduction;
mod sending;
mod short;
#[cfg(test)]
mod tests;
mod timer;
mod usage;
mod view;

pub use burst::BurstLimits;
pub use view::{Phase, View};

use crate::kept::Kept;
use crate::options::{Detection, Options, Reducing, Timers};
use crate::rate::RateSampler;
use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;
use crate::steering::Granted;
use burst::Bursts;
use ecn::Ecn;
use fast_path::Beyond;
use idle::Idle;
use pacing::Pacing;
use recovery::Recovery;
use reduction::Reduction;
use short::Short;
use sojourn_congestion::{AnyControl, Control};
use sojourn_core::{Optional, Time};
use timer::Timer;
use usage::Usage;

/// What to put on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transmit {
    /// A connection request.
    Syn,
    /// A data segment.
    Data {
        /// Its number.
        number: u32,
        /// Its payload bytes.
        payload_bytes: u32,
        /// Whether it was sent before.
        retransmission: bool,
        /// Whether it tells the receiver that the window was reduced (RFC 3168).
        cwr: bool,
    },
}

/// The one segment whose round trip is being timed, where one is, and since when.
#[derive(Clone, Copy, Debug)]
struct Timed {
    number: Optional,
    since: Time,
}

impl Timed {
    const NONE: Timed = Timed { number: Optional::NONE, since: Time::ZERO };
}

/// Counters of a sender's life.
#[derive(Clone, Copy, Default, Debug)]
pub struct SenderCounts {
    /// Data segments sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
}

/// The state of a sender.
#[derive(Debug)]
pub struct Sender {
    payload_bytes: u32,
    last_payload_bytes: u32,
    receive_window: u32,
    timestamps: bool,
    /// Whose rules the retransmission timer follows, and pacing.
    timers: Timers,
    /// How losses and marks lower the window.
    reducing: Reducing,
    control: AnyControl,
    board: Scoreboard,
    rtt: RttEstimator,
    rate: Option<Box<RateSampler>>,
    /// Whether its acknowledgements may take the [fast path](fast_path).
    has_fast_path: bool,
    /// One past the last segment the application has to send.
    end: u32,
    recovery: Recovery,
    reduction: Kept<Reduction>,
    ecn: Ecn,
    timer: Timer,
    pacing: Pacing,
    /// Whether segments are ever spread over a round trip, but for windows of less than one.
    is_paced: bool,
    /// Without timestamps.
    timed: Timed,
    /// What the receiver grants, where it steers; the receive window follows that.
    granted: Option<Box<Granted>>,
    bursts: Option<Box<Bursts>>,
    short: Option<Box<Short>>,
    /// What is known of the next segment to be sent, until somebody asks.
    beyond: Beyond,
    /// When the first SYN was sent.
    first_syn: Time,
    syn_due: bool,
    usage: Usage,
    idle: Idle,
    counts: SenderCounts,
    /// What the control was told of, and whether that lowered its window.
    #[cfg(test)]
    told: Vec<(sojourn_congestion::Signal, bool)>,
}

impl Sender {
    /// A sender that has nothing to send yet.
    pub fn new(options: &Options, control: AnyControl) -> Sender {
        let wants_rate = control.wants_rate_samples();
        let short = control.sends_short_segments().then(Box::default);
        let board = if wants_rate { Scoreboard::reporting_losses() } else { Scoreboard::default() };
        let board = match options.detection {
            Detection::Count => board,
            Detection::Forward => board.judging_forward(),
            Detection::Rack | Detection::RackTlp => board.judging_by_time(),
        };
        let mut sender = Sender {
            payload_bytes: options.payload_bytes,
            last_payload_bytes: options.payload_bytes,
            receive_window: options.receive_window,
            timestamps: options.timestamps,
            timers: options.constants.rto.timers,
            reducing: if control.leads_reductions() { Reducing::AtOnce } else { options.reducing },
            pacing: Pacing::new(),
            is_paced: control.is_paced() || options.constants.pacing.is_some(),
            control,
            board,
            rtt: RttEstimator::new(options.constants.clone()),
            rate: wants_rate.then(Box::default),
            has_fast_path: fast_path::has_fast_path(options),
            end: 0,
            recovery: Recovery::new(options),
            reduction: Kept::default(),
            ecn: Ecn::new(options),
            timer: Timer::new(),
            timed: Timed::NONE,
            granted: None,
            bursts: None,
            short,
            beyond: Beyond::Unknown,
            first_syn: Time::NEVER,
            syn_due: options.handshake.is_wanted(),
            usage: Usage::new(options.app_limited),
            idle: Idle::new(options.idle),
            counts: SenderCounts::default(),
            #[cfg(test)]
            told: Vec::new(),
        };
        // Without a handshake both ends know beforehand.
        if options.ecn.counts() && !options.handshake.is_wanted() {
            sender.agree(options.ecn.peer());
        }
        sender
    }

    /// The same for a receiver that steers, with units of 2^`scale` bytes and a window of `first` segments at first.
    pub(crate) fn obeying(mut self, payload_bytes: u32, scale: u8, first: u32) -> Sender {
        self.granted = Some(Box::new(Granted::new(payload_bytes, scale, first)));
        self.receive_window = first;
        self.has_fast_path = false;
        self
    }

    /// What its data carries as [`delay_nanos`](crate::Segment::delay_nanos): TSecr where the receiver steers.
    #[inline]
    pub fn echo_nanos(&self) -> i64 {
        match &self.granted {
            None => 0,
            Some(granted) => granted.echo_nanos(),
        }
    }

    /// The application has endless data.
    pub fn supply_forever(&mut self) {
        self.on_write();
        self.end = u32::MAX;
    }

    /// The application has `bytes` bytes, and no more ever.
    pub fn supply(&mut self, bytes: u64) {
        self.on_write();
        let bytes = bytes + self.sent_shortfall_bytes();
        let segments = bytes.div_ceil(u64::from(self.payload_bytes));
        if self.bursts.is_some() && self.board.next() == self.end {
            self.cut_supply();
        }
        self.end = segments as u32;
        self.last_payload_bytes = (bytes - (segments - 1) * u64::from(self.payload_bytes)) as u32;
    }

    /// The application stops; what was sent is still repaired.
    pub fn stop_supply(&mut self) {
        if self.board.next() < self.end {
            self.end = self.board.next();
            self.last_payload_bytes = self.payload_bytes;
        }
    }

    /// The connection ends: nothing else may be called after this.
    pub fn close(&mut self, now: Time) {
        self.control.on_closed(now);
    }

    /// One past the last segment that the application has to send; `u32::MAX` where it never ends.
    #[inline]
    pub fn end(&self) -> u32 {
        self.end
    }

    /// One past the highest segment that was sent.
    #[inline]
    pub fn sent(&self) -> u32 {
        self.board.next()
    }

    /// The congestion control.
    #[inline]
    pub fn control(&self) -> &AnyControl {
        &self.control
    }

    /// Its control takes the parameters of `fresh`, which is of the same kind ([`Control::retune`]).
    pub fn retune(&mut self, fresh: &AnyControl) {
        self.control.retune(fresh);
    }

    /// For replays: each random number that its control draws is `lot` from now on.
    pub(crate) fn fix_random(&mut self, lot: f64) {
        self.control.fix_random(Some(lot));
    }

    /// The round-trip estimator.
    #[inline]
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// Counters since the start.
    pub fn counts(&self) -> SenderCounts {
        self.counts
    }
}
