//! What scout knows of its path: base delay, capacity, noise, and the queueing delay it aims at.

use super::train::{self, Sample};
use crate::control::Path;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Nanoseconds in a second, and in a millisecond.
pub(super) const SECOND: f64 = 1e9;
pub(super) const MILLISECOND: f64 = 1e6;
/// Payload of a small segment, where the network does not fill it up: with its headers, four fit into the smallest quantum
/// in use (300 bytes).
const SMALL_BYTES: u32 = 20;
/// What a small train may be in all: half the quantum that most fair queues have, a full packet. The other half is for bytes
/// that the queue counts and a sender does not know of (Ethernet's, a tunnel's), and for smaller quanta.
const TRAIN_BYTES: u32 = 750;
const MINUTE_NANOS: u64 = 60_000_000_000;
/// Minutes whose minima make the base delay.
const BASE_MINUTES: usize = 10;
/// Small trains whose median is the capacity.
const ESTIMATES: usize = 5;
/// By how much full segments may show more capacity than small ones.
const MAX_ABOVE_TRAINS: f64 = 1.5;
const SHORTEST_DELAY: f64 = 0.1 * MILLISECOND;

/// What is known of a path. Times are in ns, rates in bit/s.
#[derive(Clone, Debug)]
pub(super) struct PathKnowledge {
    target: f64,
    mss: f64,
    small: u32,
    header: f64,
    wire_bits: f64,
    minima: VecDeque<u64>,
    minute: Option<u64>,
    base: Option<u64>,
    estimates: VecDeque<f64>,
    by_trains: f64,
    by_rate: f64,
    /// Zero before it is known.
    pub(super) capacity: f64,
    noise: Option<f64>,
    /// The queueing delay aimed at: less than [`longest_delay`](Self::longest_delay) after losses at short queues.
    pub(super) delay: f64,
}

/// The payload of a small segment, which is not less than what its packet has in any case.
fn small_bytes(path: &Path) -> u32 {
    SMALL_BYTES.max(path.smallest_packet_bytes.saturating_sub(path.header_bytes)).min(path.mss_bytes)
}

impl PathKnowledge {
    pub(super) fn new(target: f64, path: &Path) -> PathKnowledge {
        let (mss, header) = (f64::from(path.mss_bytes), f64::from(path.header_bytes));
        PathKnowledge {
            target,
            mss,
            small: small_bytes(path),
            header,
            wire_bits: 8.0 * (mss + header),
            minima: VecDeque::with_capacity(BASE_MINUTES),
            minute: None,
            base: None,
            estimates: VecDeque::with_capacity(ESTIMATES),
            by_trains: 0.0,
            by_rate: 0.0,
            capacity: 0.0,
            noise: None,
            delay: target,
        }
    }

    /// Takes the target of `fresh`; what losses at short queues took of the delay aimed at stays taken.
    pub(super) fn retune(&mut self, fresh: &PathKnowledge) {
        let moved = self.delay + (fresh.target - self.target);
        self.delay = if self.delay < self.target { self.delay.min(fresh.target) } else { moved };
        self.target = fresh.target;
    }

    /// Packets of a small train: no more than half a quantum holds.
    pub(super) fn small_train(&self) -> u32 {
        let packet_bytes = (f64::from(self.small) + self.header).max(1.0) as u32;
        (TRAIN_BYTES / packet_bytes).clamp(*train::SMALL.start(), *train::SMALL.end())
    }

    /// Payload bytes of a small segment.
    pub(super) fn small_bytes(&self) -> u32 {
        self.small
    }

    /// Bits of payload in a full segment.
    pub(super) fn payload_bits(&self) -> f64 {
        8.0 * self.mss
    }

    /// The rate of full segments' payload, where packets have this rate.
    pub(super) fn payload_rate(&self, rate: f64) -> f64 {
        (rate * self.mss / (self.mss + self.header)).max(1.0)
    }

    /// The rate of so many full segments in a time.
    #[inline]
    pub(super) fn rate(&self, segments: f64, nanos: f64) -> f64 {
        segments * self.wire_bits * SECOND / nanos
    }

    /// A round-trip time was measured.
    #[inline]
    pub(super) fn hear_base(&mut self, rtt: u64, now: u64) {
        let minute = now / MINUTE_NANOS;
        if self.minute.is_none_or(|last| minute > last) {
            if self.minima.len() == BASE_MINUTES {
                self.minima.pop_front();
            }
            self.minima.push_back(rtt);
            self.minute = Some(minute);
            self.base = self.minima.iter().copied().min();
        } else if let Some(last) = self.minima.back_mut()
            && rtt < *last
        {
            *last = rtt;
            self.base = self.base.min(Some(rtt));
        }
    }

    /// The base round-trip time; zero before the first one.
    #[inline]
    pub(super) fn base(&self) -> f64 {
        self.base.unwrap_or(0) as f64
    }

    /// The noise of delays; zero before the first train.
    #[inline]
    pub(super) fn noise(&self) -> f64 {
        self.noise.unwrap_or(0.0)
    }

    /// Time of a full packet on the link; zero before the capacity is known.
    #[inline]
    pub(super) fn packet(&self) -> f64 {
        if self.capacity > 0.0 { self.wire_bits * SECOND / self.capacity } else { 0.0 }
    }

    /// By how much a full segment's own time on the link is longer than a small one's, whose delay the base is.
    #[inline]
    pub(super) fn own(&self) -> f64 {
        self.packet() * (self.mss - f64::from(self.small)) / (self.mss + self.header)
    }

    /// The queueing delay in a round-trip time, of which `own` is the segment's own.
    #[inline]
    pub(super) fn waited(&self, rtt: f64, own: f64) -> f64 {
        (rtt - self.base() - own - self.noise()).max(0.0)
    }

    /// The longest queueing delay to aim at.
    #[inline]
    pub(super) fn longest_delay(&self) -> f64 {
        self.target + self.packet()
    }

    /// The queueing delay from which on a train at rest says that somebody has a backlog.
    pub(super) fn bound(&self) -> f64 {
        0.5 * self.delay + self.noise()
    }

    /// The window that fills the path without a queue.
    #[inline]
    pub(super) fn full_window(&self) -> f64 {
        (self.capacity * self.base() / SECOND / self.wire_bits).max(2.0)
    }

    /// Full packets that take so long.
    pub(super) fn packets_in(&self, nanos: f64, most: f64) -> u32 {
        (self.capacity * nanos / SECOND / self.wire_bits).min(most) as u32
    }

    /// A small train has been acknowledged.
    pub(super) fn on_small_train(&mut self, samples: &[Sample]) {
        let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return };
        let (span, sent_span) = (last.after(first), last.sent_after(first));
        let mut gaps: Vec<f64> = samples
            .windows(2)
            .filter(|pair| pair[1].newly > 0)
            .map(|pair| pair[1].after(&pair[0]) as f64 / f64::from(pair[1].newly))
            .collect();
        gaps.sort_unstable_by(f64::total_cmp);
        // What was not sent back to back says nothing.
        if gaps.len() < 3 || 2 * sent_span > span {
            return;
        }
        let gap = gaps[gaps.len() / 4];
        let steady = gap * f64::from(last.acked - first.acked);
        let rest = (span as f64 - steady).max(0.0);
        self.noise = Some(self.noise.map_or(rest, |noise| noise + (rest - noise) / 8.0));
        if gap <= 0.0 || steady < rest {
            return;
        }
        if self.estimates.len() == ESTIMATES {
            self.estimates.pop_front();
        }
        self.estimates.push_back(8.0 * (f64::from(self.small) + self.header) * SECOND / gap);
        let mut ordered: Vec<f64> = self.estimates.iter().copied().collect();
        ordered.sort_unstable_by(f64::total_cmp);
        self.by_trains = ordered[ordered.len() / 2];
        self.settle();
    }

    /// A train of full segments back to back has been acknowledged.
    pub(super) fn on_first_train(&mut self, samples: &[Sample]) {
        let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return };
        if last.after(first) > 0 && last.acked > first.acked {
            self.by_rate = self.rate(f64::from(last.acked - first.acked), last.after(first) as f64);
            self.settle();
        }
    }

    /// Full segments were delivered at `rate` for a round trip.
    pub(super) fn on_rate(&mut self, rate: f64) {
        if rate > self.by_rate {
            self.by_rate = rate.min(1.05 * self.by_rate);
            self.settle();
        }
    }

    /// A loss after packets had waited so long.
    pub(super) fn on_loss(&mut self, waited: f64) {
        self.delay = self.delay.min(0.5 * waited).max(self.packet()).max(SHORTEST_DELAY);
    }

    /// A round trip has passed since [`on_loss`](Self::on_loss), perhaps.
    pub(super) fn on_round(&mut self) {
        self.delay = (1.01 * self.delay).min(self.longest_delay());
    }

    /// Full segments may show more than small ones, whose headers weigh more on some links, but not much more.
    fn settle(&mut self) {
        let trusted = self.by_trains <= self.by_rate && self.by_rate <= MAX_ABOVE_TRAINS * self.by_trains;
        if self.by_trains > 0.0 && !trusted {
            self.by_rate = self.by_trains;
        }
        let was_known = self.capacity > 0.0;
        self.capacity = self.by_rate;
        self.delay = if was_known { self.delay.min(self.longest_delay()) } else { self.longest_delay() };
    }
}
