//! A toy of a transport stack without I/O: a window that halves at a loss, and a timer. It depends on nothing; `tests/laws.rs`
//! puts it behind Sojourn's queues.
//!
//! Each datagram has the number of its transmission, the number of its segment, and data. An acknowledgement is the number
//! of the transmission that has arrived. Times are in ns, from any zero.

use std::collections::{BTreeMap, VecDeque};

/// Data in a full segment.
pub const SEGMENT_BYTES: u64 = 1440;
const NUMBER_BYTES: usize = 8;
/// A transmission is lost when one that left so many later has arrived (RFC 9002 section 6.1.1).
const REORDERING: u64 = 3;
const FIRST_TIMEOUT_NS: u64 = 1_000_000_000;
const LEAST_TIMEOUT_NS: u64 = 200_000_000;

fn number(datagram: &[u8], place: usize) -> u64 {
    let bytes = &datagram[place * NUMBER_BYTES..][..NUMBER_BYTES];
    u64::from_be_bytes(bytes.try_into().expect("as many bytes as a number has"))
}

/// The end that sends.
pub struct Sender {
    bytes: u64,
    next_segment: u64,
    next_transmission: u64,
    /// By transmission: its segment, and when it left.
    flying: BTreeMap<u64, (u64, u64)>,
    lost: VecDeque<u64>,
    window: f64,
    threshold: f64,
    /// Losses of earlier transmissions do not reduce the window again.
    reduced_at: u64,
    smoothed_ns: Option<u64>,
    variation_ns: u64,
    timeouts: u32,
    due_ns: u64,
}

impl Sender {
    /// One that sends so many bytes; without end where there is no number.
    pub fn new(bytes: Option<u64>) -> Sender {
        Sender {
            bytes: bytes.unwrap_or(u64::MAX),
            next_segment: 0,
            next_transmission: 0,
            flying: BTreeMap::new(),
            lost: VecDeque::new(),
            window: 10.0,
            threshold: f64::MAX,
            reduced_at: 0,
            smoothed_ns: None,
            variation_ns: 0,
            timeouts: 0,
            due_ns: 0,
        }
    }

    /// The application has so many bytes more.
    pub fn write(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// When it wants to be woken; `u64::MAX` for never.
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// The retransmission timer: nothing was acknowledged, so all that is under way is lost.
    pub fn wake(&mut self) {
        self.due_ns = u64::MAX;
        if let Some(&newest) = self.flying.keys().next_back() {
            self.timeouts += 1;
            self.reduce(newest);
            self.window = 1.0;
            self.lost.extend(std::mem::take(&mut self.flying).into_values().map(|(segment, _)| segment));
        }
    }

    /// An acknowledgement.
    pub fn receive(&mut self, now_ns: u64, datagram: &[u8]) {
        let arrived = number(datagram, 0);
        let Some((_, sent_ns)) = self.flying.remove(&arrived) else { return };
        self.measure(now_ns - sent_ns);
        self.timeouts = 0;
        self.window += if self.window < self.threshold { 1.0 } else { 1.0 / self.window };
        while let Some(entry) = self.flying.first_entry().filter(|entry| entry.key() + REORDERING <= arrived) {
            let (transmission, (segment, _)) = entry.remove_entry();
            self.lost.push_back(segment);
            self.reduce(transmission);
        }
        self.due_ns = if self.flying.is_empty() { u64::MAX } else { now_ns + self.timeout_ns() };
    }

    /// Halves the window, once for what was sent in one window (RFC 5681 section 3.1, equation 4).
    fn reduce(&mut self, transmission: u64) {
        if transmission >= self.reduced_at {
            self.threshold = (self.window / 2.0).max(2.0);
            self.window = self.threshold;
            self.reduced_at = self.next_transmission;
        }
    }

    /// Smooths round-trip times (RFC 6298 section 2).
    fn measure(&mut self, rtt_ns: u64) {
        let smoothed_ns = self.smoothed_ns.unwrap_or(rtt_ns);
        let first = self.smoothed_ns.is_none();
        self.variation_ns = if first { rtt_ns / 2 } else { (3 * self.variation_ns + smoothed_ns.abs_diff(rtt_ns)) / 4 };
        self.smoothed_ns = Some((7 * smoothed_ns + rtt_ns) / 8);
    }

    fn timeout_ns(&self) -> u64 {
        let measured_ns = self.smoothed_ns.map_or(FIRST_TIMEOUT_NS, |smoothed_ns| smoothed_ns + 4 * self.variation_ns);
        measured_ns.max(LEAST_TIMEOUT_NS) << self.timeouts.min(6)
    }

    /// The next datagram that may be sent now.
    pub fn transmit(&mut self, now_ns: u64) -> Option<Vec<u8>> {
        if self.flying.len() as f64 >= self.window.floor() {
            return None;
        }
        let segment = self.lost.pop_front().or_else(|| {
            let segment = self.next_segment;
            (segment < self.bytes.div_ceil(SEGMENT_BYTES)).then(|| self.next_segment += 1)?;
            Some(segment)
        })?;
        let data = SEGMENT_BYTES.min(self.bytes - segment * SEGMENT_BYTES) as usize;
        let mut datagram = [self.next_transmission, segment].map(u64::to_be_bytes).concat();
        datagram.resize(2 * NUMBER_BYTES + data, 0);
        self.flying.insert(self.next_transmission, (segment, now_ns));
        self.next_transmission += 1;
        if self.due_ns == u64::MAX {
            self.due_ns = now_ns + self.timeout_ns();
        }
        Some(datagram)
    }
}

/// The end that receives, and acknowledges each datagram.
#[derive(Default)]
pub struct Receiver {
    next_segment: u64,
    /// What has arrived beyond a hole, and its bytes.
    beyond: BTreeMap<u64, u64>,
    answers: VecDeque<u64>,
    delivered_bytes: u64,
}

impl Receiver {
    /// A segment.
    pub fn receive(&mut self, datagram: &[u8]) {
        self.answers.push_back(number(datagram, 0));
        let (segment, bytes) = (number(datagram, 1), datagram.len() - 2 * NUMBER_BYTES);
        if segment >= self.next_segment {
            self.beyond.insert(segment, bytes as u64);
        }
        while let Some(bytes) = self.beyond.remove(&self.next_segment) {
            self.next_segment += 1;
            self.delivered_bytes += bytes;
        }
    }

    /// The next acknowledgement.
    pub fn transmit(&mut self) -> Option<Vec<u8>> {
        self.answers.pop_front().map(|transmission| transmission.to_be_bytes().to_vec())
    }

    /// What has arrived in order.
    pub fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }
}
