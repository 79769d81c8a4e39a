//! The sender: what to send next, what is lost, when to give up waiting.
//!
//! Loss detection and recovery follow RFC 5681 section 3.2, RFC 6582 (without SACK) and RFC 6675 (with
//! it) in one bookkeeping: what is in flight is the outstanding segments, less those known to have left
//! the network. Without SACK each duplicate acknowledgement says that one has left, which is RFC 6582's
//! window inflation seen from the other side, and a partial acknowledgement of n segments takes n - 1
//! of them back, which is its deflation.

mod ack;
mod burst;
mod ecn;
mod fast_path;
mod idle;
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
use crate::options::{Detection, LostSyn, Options, Reducing, Slack};
use crate::rate::RateSampler;
use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;
use crate::steering::Granted;
use burst::Bursts;
use ecn::Ecn;
use fast_path::Beyond;
use idle::Idle;
use recovery::{Recovery, State};
use reduction::Reduction;
use sending::Jitter;
use short::Short;
use sojourn_congestion::{AnyControl, Control};
use sojourn_core::{Optional, Span, Stream, Time};
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
    /// Whether round-trip times are those of segments, before those of timestamps.
    times_segments: bool,
    /// How losses and marks lower the window.
    reducing: Reducing,
    pacing_slack: Slack,
    /// Whether segments are ever spread over a round trip, but for windows of less than one.
    is_paced: bool,
    control: AnyControl,
    board: Scoreboard,
    rtt: RttEstimator,
    rate: Option<Box<RateSampler>>,
    /// Whether rates count as limited by the application only once that writes again.
    limited_at_write: bool,
    /// Whether its acknowledgements may take the [fast path](fast_path).
    has_fast_path: bool,
    /// One past the last segment the application has to send.
    end: u32,
    recovery: Recovery,
    reduction: Kept<Reduction>,
    ecn: Ecn,
    timer: Timer,
    /// Without timestamps.
    timed: Timed,
    next_send_at: Time,
    jitter: Option<Box<Jitter>>,
    /// What the receiver grants, where it steers; the receive window follows that.
    granted: Option<Box<Granted>>,
    bursts: Option<Box<Bursts>>,
    short: Option<Box<Short>>,
    window_limited: bool,
    /// What is known of the next segment to be sent, until somebody asks.
    beyond: Beyond,
    usage: Usage,
    idle: Idle,
    /// When the first SYN was sent.
    first_syn: Time,
    syn_due: bool,
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
            Detection::Time => board.judging_by_time(),
        };
        let mut sender = Sender {
            payload_bytes: options.payload_bytes,
            last_payload_bytes: options.payload_bytes,
            receive_window: options.receive_window,
            timestamps: options.timestamps,
            times_segments: options.times_segments,
            reducing: if control.leads_reductions() { Reducing::AtOnce } else { options.reducing },
            pacing_slack: options.pacing_slack,
            is_paced: control.is_paced() || options.constants.pacing.is_some(),
            control,
            board,
            rtt: RttEstimator::new(options.constants.clone()),
            rate: wants_rate.then(Box::default),
            limited_at_write: options.limited_at_write,
            has_fast_path: fast_path::has_fast_path(options),
            end: 0,
            recovery: Recovery::new(options),
            reduction: Kept::default(),
            ecn: Ecn::new(options),
            timer: Timer::new(options.rounding),
            timed: Timed::NONE,
            next_send_at: Time::ZERO,
            jitter: None,
            granted: None,
            bursts: None,
            short,
            window_limited: false,
            beyond: Beyond::Unknown,
            usage: Usage::new(options.used_for_round_trip),
            idle: Idle::new(options.idle),
            first_syn: Time::NEVER,
            syn_due: options.handshake,
            counts: SenderCounts::default(),
            #[cfg(test)]
            told: Vec::new(),
        };
        // Without a handshake both ends know beforehand.
        if options.counts && !options.handshake {
            sender.agree(options.constants.peer);
        }
        sender
    }

    /// The same with random pauses of at most `longest` before data is sent.
    #[must_use]
    pub fn with_jitter(mut self, longest: Span, random: Stream) -> Sender {
        self.jitter = Some(Box::new(Jitter::new(longest, random)));
        self.has_fast_path = false;
        self
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

    /// It at the end that is connected to: it waits for a SYN, and sends when [`on_syn_ack`](Sender::on_syn_ack) says that its
    /// answer has been acknowledged.
    #[must_use]
    pub fn listening(mut self) -> Sender {
        self.recovery.set_connected(false);
        self.syn_due = false;
        self
    }

    /// When its SYN was first sent, or answered last.
    pub fn first_syn(&self) -> Time {
        self.first_syn
    }

    /// Whether the connection is not yet open.
    pub fn is_connecting(&self) -> bool {
        self.recovery.state() == State::Handshake
    }

    /// A SYN is answered `now`, which ends the connection's handshake when the answer is acknowledged. An answer that is sent
    /// again counts as a lost SYN (RFC 5681 section 3.1).
    pub fn on_syn(&mut self, now: Time) {
        if self.recovery.state() == State::Handshake {
            if self.first_syn != Time::NEVER {
                self.rtt.back_off();
            }
            self.first_syn = now;
        }
    }

    /// The connection was accepted by an answer to the SYN that was sent at `echoed`.
    pub fn on_syn_ack(&mut self, now: Time, echoed: Time) {
        if self.recovery.state() != State::Handshake {
            return;
        }
        self.recovery.set_connected(true);
        self.timer.stop();
        let sent_again = self.rtt.backoffs();
        let sent = match (sent_again, self.lost_syn()) {
            (0, _) => Some(self.first_syn),
            // Which of several SYNs was answered only the timestamp tells (Karn).
            (_, LostSyn::Linux) if self.timestamps => Some(echoed),
            _ => None,
        };
        if let Some(sent) = sent {
            let rtt = now.since(sent);
            self.rtt.observe(rtt);
            self.rtt.sample(rtt, 0, 0);
            self.control.on_connected(now, rtt);
        } else {
            self.rtt.forget_lost_syn();
        }
        let begins_with_one = match self.lost_syn() {
            LostSyn::Rfc => sent_again > 0,
            // `tcp_init_transfer` and `tcp_try_undo_spurious_syn`.
            LostSyn::Linux => sent_again > 1 && !(self.timestamps && echoed == self.first_syn),
        };
        if begins_with_one {
            self.control.on_syn_lost();
        }
    }

    fn lost_syn(&self) -> LostSyn {
        self.rtt.constants().lost_syn
    }
}
