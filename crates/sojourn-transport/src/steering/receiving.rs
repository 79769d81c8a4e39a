//! The receiver's side: what arrives, as a control sees it, and the window that follows.

use super::{NO_ECHO, WINDOW_BITS, apart};
use crate::options::Options;
use crate::rtt::RttEstimator;
use crate::segment::Segment;
use sojourn_congestion::{Ack, AnyControl, Congestion, Control, Signal, Stage, Start, Unused};
use sojourn_core::{Span, Time};

/// The largest value of the window field.
const MOST_UNITS: u64 = u16::MAX as u64;

/// The state of a receiver that steers.
#[derive(Debug)]
pub(crate) struct Steering {
    control: AnyControl,
    payload_bytes: u64,
    scale: u8,
    /// fc.WND: what the receive buffer and the window's field have room for.
    buffer_bytes: u64,
    rtt: RttEstimator,
    /// The latest TSecr, which has given its sample.
    echoed: i64,
    /// One past RCV.HGH.
    highest: u32,
    /// TSV.HGH: when that segment was sent.
    highest_sent: Time,
    /// When a loss or mark last counted.
    reduced: Option<Time>,
    round: Round,
    /// What the receiver's clock shows, of which 48 bits travel.
    clock: i64,
    /// The last acknowledgement.
    said: Said,
}

/// What an acknowledgement said.
#[derive(Clone, Copy, Debug)]
struct Said {
    /// Its TSval.
    stamp: i64,
    /// The next segment expected.
    number: u32,
    /// The right edge of the window, in bytes.
    edge: u64,
}

/// A round trip: it ends with the first segment that was sent after the acknowledgement with which it began had arrived.
#[derive(Debug)]
struct Round {
    /// That acknowledgement.
    began: Said,
    /// Segments that the sender had out at most in the round before.
    flight: u32,
    /// Whether it used its window in the round before.
    limited: bool,
}

impl Said {
    /// Before the first acknowledgement.
    const NOTHING: Said = Said { stamp: NO_ECHO, number: 0, edge: 0 };
}

impl Steering {
    /// For a connection with `options` whose window is told in units of 2^`scale` bytes. The control begins with what the SYN/ACK
    /// grants.
    pub(crate) fn new(options: &Options, control: AnyControl, scale: u8) -> Steering {
        let payload_bytes = u64::from(options.payload_bytes);
        let buffer_bytes = (u64::from(options.receive_window) * payload_bytes).min(MOST_UNITS << scale);
        let mut steering = Steering {
            control,
            payload_bytes,
            scale,
            buffer_bytes,
            rtt: RttEstimator::new(options.constants.clone()),
            echoed: NO_ECHO,
            highest: 0,
            highest_sent: Time::ZERO,
            reduced: None,
            round: Round { began: Said::NOTHING, flight: 0, limited: true },
            clock: 0,
            said: Said::NOTHING,
        };
        steering.said.edge = steering.granted_bytes().next_multiple_of(1 << scale);
        steering.round = Round { began: steering.said, flight: steering.first_window(), limited: true };
        steering
    }

    /// The whole segments of the first window.
    pub(crate) fn first_window(&self) -> u32 {
        (self.said.edge / self.payload_bytes) as u32
    }

    /// The receiver's clock shows `nanos`.
    pub(crate) fn set_clock(&mut self, nanos: i64) {
        self.clock = nanos;
    }

    /// A data segment has arrived and is stored; `has_gap` where some before others are missing.
    pub(crate) fn on_data(&mut self, arrived: &Segment, is_new: bool, has_gap: bool, marked: bool, now: Time) {
        let rtt = self.measure(arrived.delay_nanos, now);
        self.end_round(arrived.delay_nanos);
        // Section 4.3.
        let retransmitted = arrived.number + 1 < self.highest && arrived.stamp > self.highest_sent;
        if retransmitted {
            self.reduce(Signal::Loss, now);
        } else if marked {
            self.reduce(Signal::Ecn, now);
        }
        if is_new {
            self.control.on_ack(&self.delivery(arrived, rtt, has_gap, marked, now));
        }
        if arrived.number >= self.highest {
            (self.highest, self.highest_sent) = (arrived.number + 1, arrived.stamp);
        }
    }

    /// Section 4.2.1: the first segment that echoes a TSval tells the round-trip time since. A sender that had paused tells how long
    /// it did, which is no round trip.
    fn measure(&mut self, echo: i64, now: Time) -> Option<Span> {
        if echo == NO_ECHO || (self.echoed != NO_ECHO && apart(echo, self.echoed) <= 0) {
            return None;
        }
        self.echoed = echo;
        let rtt = Span::from_nanos(apart(self.clock, echo).max(1) as u64);
        let timeout = self.rtt.timeout();
        if rtt > timeout && !self.rtt.smoothed().is_zero() {
            self.control.on_start(&Start { now, idle: rtt, timeout, app_limited: true, unused: Unused::Keep });
            return None;
        }
        self.rtt.observe(rtt);
        self.rtt.sample(rtt, self.highest, self.highest);
        Some(rtt)
    }

    /// A segment that echoes `echo` has come: the round is over if that was said after the round began. The sender used the window
    /// where no further segment would have fitted in.
    fn end_round(&mut self, echo: i64) {
        let began = self.round.began;
        if echo == NO_ECHO || (began.stamp != NO_ECHO && apart(echo, began.stamp) <= 0) {
            return;
        }
        let room = (u64::from(self.highest) + 1) * self.payload_bytes;
        let flight = self.highest.saturating_sub(began.number).max(1);
        self.round = Round { began: self.said, flight, limited: room > began.edge };
    }

    /// Once per round trip (section 4.3).
    fn reduce(&mut self, signal: Signal, now: Time) {
        let smoothed_rtt = self.rtt.smoothed();
        if self.reduced.is_some_and(|reduced| now.since(reduced) < smoothed_rtt) {
            return;
        }
        self.reduced = Some(now);
        let flight = f64::from(self.round.flight);
        self.control.on_congestion(&Congestion { now, signal, flight, pipe: flight, smoothed_rtt, stage: Stage::New });
    }

    /// What the control is told of a new segment. The repair of a loss lasts as long as a gap does.
    fn delivery(&self, arrived: &Segment, rtt: Option<Span>, has_gap: bool, marked: bool, now: Time) -> Ack {
        let flight = self.round.flight;
        Ack {
            now,
            newly_acked: 1,
            delivered: 1,
            advanced: u32::from(!has_gap),
            outstanding: flight,
            selective: has_gap,
            flight: f64::from(flight),
            window_limited: self.round.limited,
            in_recovery: has_gap,
            orderly: !has_gap,
            rtt,
            smoothed_rtt: self.rtt.smoothed(),
            min_rtt: self.rtt.min(),
            max_rtt: self.rtt.max(),
            one_way_delay_nanos: Some(self.clock - arrived.stamp.as_nanos() as i64),
            sent: arrived.stamp,
            echoed: arrived.stamp,
            marked,
            unmarked: 0,
            rate: None,
        }
    }

    /// min(fc.WND, rl.WND), and never less than a segment: a sender that may send nothing is never heard again.
    fn granted_bytes(&self) -> u64 {
        let wanted = (self.control.window() * self.payload_bytes as f64) as u64;
        wanted.min(self.buffer_bytes).max(self.payload_bytes)
    }

    /// Writes window and clock into an acknowledgement.
    pub(crate) fn write(&mut self, ack: &mut Segment) {
        let left = u64::from(ack.number) * self.payload_bytes;
        // Section 4.1.1: what was granted stays so. Whole units are more than that rather than less: less would take a part back,
        // and leave one segment of a window of two.
        let edge = self.said.edge.max(left + self.granted_bytes());
        let units = (edge - left).div_ceil(1 << self.scale);
        let stamp = (self.clock << WINDOW_BITS) >> WINDOW_BITS;
        self.said = Said { stamp, number: ack.number, edge: left + (units << self.scale) };
        ack.delay_nanos = (self.clock << WINDOW_BITS) | units as i64;
    }

    /// The control that says what is granted.
    #[cfg(test)]
    pub(crate) fn control(&self) -> &AnyControl {
        &self.control
    }

    /// Up to which byte the sender may send.
    #[cfg(test)]
    pub(crate) fn edge(&self) -> u64 {
        self.said.edge
    }
}
