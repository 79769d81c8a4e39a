//! What is counted and read once per bin.

use crate::clock::Timeline;
use sojourn_core::{Span, Time};

/// Bytes that arrived in each bin.
#[derive(Debug)]
pub struct Bins {
    line: Timeline,
    bytes: Vec<u64>,
}

impl Bins {
    /// Nothing yet.
    pub fn new(line: Timeline) -> Bins {
        Bins { line, bytes: vec![0; line.bins()] }
    }

    /// `bytes` arrived at `time`; what arrives before the start or after the end does not count.
    pub fn add(&mut self, time: Time, bytes: u64) {
        if let Some(bin) = self.line.bin_of(time) {
            self.bytes[bin] += bytes;
        }
    }

    /// The bytes of each bin.
    pub fn into_bytes(self) -> Vec<u64> {
        self.bytes
    }
}

/// What a sender shows at the end of each bin.
#[derive(Debug)]
pub struct Samples {
    line: Timeline,
    /// Smoothed round-trip time in ms; none without a connection or a sample.
    pub rtt_ms: Vec<Option<f64>>,
    /// Congestion window in packets; none without a connection.
    pub cwnd_packets: Vec<Option<f64>>,
}

impl Samples {
    /// None yet.
    pub fn new(line: Timeline) -> Samples {
        Samples { line, rtt_ms: Vec::new(), cwnd_packets: Vec::new() }
    }

    /// Length of a bin.
    pub fn bin(&self) -> Span {
        self.line.bin
    }

    /// When the next one is due.
    pub fn next(&self) -> Time {
        if self.rtt_ms.len() < self.line.bins() { self.line.end_of(self.rtt_ms.len()) } else { Time::NEVER }
    }

    /// Takes a sample for every bin that is over by `now`.
    pub fn take(&mut self, now: Time, rtt: Option<Span>, cwnd_packets: Option<f64>) {
        while self.next() <= now {
            self.rtt_ms.push(rtt.map(Span::as_millis_f64));
            self.cwnd_packets.push(cwnd_packets);
        }
    }

    /// Fills up what is left of the run with nothing.
    pub fn finish(&mut self) {
        self.rtt_ms.resize(self.line.bins(), None);
        self.cwnd_packets.resize(self.line.bins(), None);
    }
}
