//! What can be seen of a sender from outside.

use super::Sender;
use super::recovery::State;
use sojourn_congestion::Control;
use sojourn_core::{Rate, Span};

/// Where a sender's window stands, by the names of RFC 5681 and RFC 9002.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// The connection is not open.
    Handshake,
    /// The window is below ssthresh.
    SlowStart,
    /// It is not.
    CongestionAvoidance,
    /// A loss that acknowledgements showed is repaired, or the window is being reduced.
    Recovery,
    /// A loss that the timer showed is repaired.
    Loss,
}

/// What a sender believes at an instant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct View {
    /// The first unacknowledged segment (SND.UNA).
    pub first: u32,
    /// One past the highest segment sent (SND.NXT).
    pub next: u32,
    /// Segments above `first` that were selectively acknowledged.
    pub sacked: u32,
    /// How often a segment was judged lost.
    pub judgements: u32,
    /// Where the window stands.
    pub phase: Phase,
    /// The congestion window in bytes.
    pub window_bytes: f64,
    /// ssthresh in bytes.
    pub threshold_bytes: f64,
    /// Payload bytes believed to be in the network.
    pub in_flight_bytes: u64,
    /// SRTT, zero before the first sample.
    pub smoothed_rtt: Span,
    /// RTTVAR.
    pub rtt_variance: Span,
    /// The least round-trip time, [`Span::MAX`] before the first sample.
    pub min_rtt: Span,
    /// What the control paces at, where it does.
    pub pacing_rate: Option<Rate>,
    /// Retransmission timeouts so far.
    pub timeouts: u64,
}

impl Sender {
    /// What it believes now.
    pub fn view(&self) -> View {
        let bytes = f64::from(self.payload_bytes);
        let (window, threshold) = (self.window(), self.control.slow_start_threshold());
        let phase = match self.recovery.state() {
            State::Handshake => Phase::Handshake,
            State::Recovery => Phase::Recovery,
            State::Loss => Phase::Loss,
            State::Open if self.reduction.is_some() => Phase::Recovery,
            State::Open if window < threshold => Phase::SlowStart,
            State::Open => Phase::CongestionAvoidance,
        };
        View {
            first: self.board.first(),
            next: self.board.next(),
            sacked: self.board.sacked(),
            judgements: self.board.judgements(),
            phase,
            window_bytes: window * bytes,
            threshold_bytes: threshold * bytes,
            in_flight_bytes: u64::from(self.in_flight()) * u64::from(self.payload_bytes),
            smoothed_rtt: self.rtt.smoothed(),
            rtt_variance: self.rtt.variance(),
            min_rtt: self.rtt.min(),
            pacing_rate: self.control.pacing_rate(),
            timeouts: self.counts.timeouts,
        }
    }

    /// Whether the outstanding segment `number` was selectively acknowledged, and whether it is taken for lost and was not sent
    /// again since.
    pub fn fate(&self, number: u32) -> (bool, bool) {
        self.board.fate(number)
    }
}
