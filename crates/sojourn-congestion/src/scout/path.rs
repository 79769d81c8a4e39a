//! What scout knows of its path: base delay, capacity, noise, and the queueing delay it aims at.

#[cfg(test)]
mod tests;

use super::base::Base;
use super::singles::{self, Singles};
use super::train::{self, Sample};
use crate::control::{Ack, Path};
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
/// And where that gives too few acknowledgements: a quantum without Ethernet's bytes for each packet.
const LONGEST_TRAIN_BYTES: u32 = 1250;
/// Small trains before the capacity is believed, or others are asked.
const FEWEST: usize = 3;
/// Small trains that count.
const TRAINS: usize = 8;
/// Rates of full trains whose median counts.
const ESTIMATES: usize = 5;
/// Trains of full segments that tell a rate, where small ones do not.
const RATES: usize = 3;
/// Gaps agree up to this ratio, or up to what a stamp counts.
const ALIKE: f64 = 1.25;
const STAMP: f64 = 1e3;
/// A train that arrives at more than this part of the rate at which it was sent does not show the link's.
const MAX_OF_SENT: f64 = 0.8;
/// By how much full segments may show more capacity than small ones.
const MAX_ABOVE_TRAINS: f64 = 1.5;
/// By how much segments that are alone may show more than trains of full ones.
const MAX_ABOVE_RATE: f64 = 10.0;
const SHORTEST_DELAY: f64 = 0.1 * MILLISECOND;

/// What a small train showed, in ns: what its span has beyond a steady rate, and the gaps between its segments.
#[derive(Clone, Debug)]
struct Seen {
    rest: f64,
    gaps: Vec<f64>,
}

/// What is known of a path. Times are in ns, rates in bit/s.
#[derive(Clone, Debug)]
pub(super) struct PathKnowledge {
    target: f64,
    mss: f64,
    small: u32,
    header: f64,
    wire_bits: f64,
    base: Base,
    /// The last small trains.
    trains: VecDeque<Seen>,
    /// The most segments that one acknowledgement of each of the last trains covered.
    counts: VecDeque<u32>,
    /// Whether the last small train gave too few acknowledgements, and the next one is longer.
    longer: bool,
    /// Packets and delays of the last small trains that one acknowledgement covered.
    lone: VecDeque<(u32, i64)>,
    /// Rates of the last trains of full segments, where small ones tell nothing.
    rates: VecDeque<f64>,
    pub(super) singles: Singles,
    by_trains: f64,
    by_rate: f64,
    /// Zero before it is known.
    pub(super) capacity: f64,
    noise: f64,
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
            base: Base::default(),
            trains: VecDeque::with_capacity(TRAINS),
            counts: VecDeque::with_capacity(TRAINS),
            longer: false,
            lone: VecDeque::new(),
            rates: VecDeque::with_capacity(ESTIMATES),
            singles: Singles::default(),
            by_trains: 0.0,
            by_rate: 0.0,
            capacity: 0.0,
            noise: 0.0,
            delay: target,
        }
    }

    /// Takes the target of `fresh`; what losses at short queues took of the delay aimed at stays taken.
    pub(super) fn retune(&mut self, fresh: &PathKnowledge) {
        let moved = self.delay + (fresh.target - self.target);
        self.delay = if self.delay < self.target { self.delay.min(fresh.target) } else { moved };
        self.target = fresh.target;
    }

    /// Packets of a small train: no more than half a quantum holds, unless that gives one acknowledgement only.
    pub(super) fn small_train(&self) -> u32 {
        let packet_bytes = (f64::from(self.small) + self.header).max(1.0) as u32;
        let (shortest, longest) = (*train::SMALL.start(), *train::SMALL.end());
        let usual = (TRAIN_BYTES / packet_bytes).clamp(shortest, longest);
        let most = (LONGEST_TRAIN_BYTES / packet_bytes).min(longest);
        if self.longer { usual.max(most) } else { usual }
    }

    /// Segments that one acknowledgement covers: the most in the last trains.
    pub(super) fn at_once(&self) -> u32 {
        self.counts.iter().copied().max().unwrap_or(1)
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

    /// The delay that an acknowledgement shows, in ns.
    #[inline]
    pub(super) fn delay_of(&mut self, ack: &Ack) -> Option<i64> {
        self.base.delay_of(ack)
    }

    /// The base round-trip time; zero before the first one.
    #[inline]
    pub(super) fn base(&self) -> f64 {
        self.base.rtt()
    }

    /// The noise of delays; zero before the first train.
    #[inline]
    pub(super) fn noise(&self) -> f64 {
        self.noise
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

    /// The queueing delay in a delay, of which `own` is the segment's own.
    #[inline]
    pub(super) fn waited(&self, delay: f64, own: f64) -> f64 {
        (delay - self.base.delay() - own - self.noise()).max(0.0)
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

    /// The window that fills the path without a queue: with what noise holds in each direction, and what waits for one
    /// acknowledgement at the receiver.
    #[inline]
    pub(super) fn full_window(&self) -> f64 {
        let on_the_way = self.capacity * (self.base() + 2.0 * self.noise) / SECOND / self.wire_bits;
        on_the_way.max(2.0) + f64::from(self.at_once())
    }

    /// Full packets that take so long.
    pub(super) fn packets_in(&self, nanos: f64, most: f64) -> u32 {
        (self.capacity * nanos / SECOND / self.wire_bits).min(most) as u32
    }

    /// A train was acknowledged, so many segments at once at most.
    pub(super) fn on_count(&mut self, most: u32) {
        keep(&mut self.counts, most.min(train::LONGEST / 2), TRAINS);
    }

    /// Whether small trains tell the capacity.
    pub(super) fn is_clear(&self) -> bool {
        self.by_trains > 0.0
    }

    /// Whether small trains have been found not to tell it.
    pub(super) fn is_unclear(&self) -> bool {
        !self.is_clear() && !self.is_open()
    }

    /// Whether more small trains may tell it.
    pub(super) fn is_open(&self) -> bool {
        !self.is_clear() && (self.longer || (1..FEWEST).contains(&self.trains.len()))
    }

    /// Whether enough trains of full segments told a rate.
    pub(super) fn has_rates(&self) -> bool {
        self.rates.len() >= RATES
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
        let segments = last.acked - first.acked;
        let too_few = gaps.is_empty() || (gaps.len() < 3 && segments < 4);
        // Where a longer one does not help either, the next is short again.
        self.longer ^= too_few;
        if too_few || 2 * sent_span > span {
            return;
        }
        let steady = gaps[gaps.len() / 4] * f64::from(segments);
        let rest = (span as f64 - steady).max(0.0);
        keep(&mut self.trains, Seen { rest, gaps }, TRAINS);
        self.noise = self.trains.iter().map(|train| train.rest).fold(0.0, f64::max);
        self.by_trains = self.told_by_trains();
        self.settle();
    }

    /// The capacity on which many gaps agree: noise makes gaps longer or none, and rarely alike.
    fn told_by_trains(&self) -> f64 {
        let gaps = || self.trains.iter().flat_map(|train| train.gaps.iter().copied());
        let (low, high) = (quantile(gaps(), 1, 8), quantile(gaps(), 3, 8));
        let bound = (ALIKE * low).max(low + STAMP);
        if self.trains.len() < FEWEST || low <= 0.0 || high > bound {
            return 0.0;
        }
        let alike = gaps().filter(|gap| (low..=bound).contains(gap));
        let (count, sum) = alike.fold((0.0, 0.0), |(count, sum), gap| (count + 1.0, sum + gap));
        8.0 * (f64::from(self.small) + self.header) * SECOND * count / sum
    }

    /// A train of full segments that was sent faster than the link, or so was meant, has been acknowledged. Whether it tells
    /// the rate.
    pub(super) fn on_first_train(&mut self, samples: &[Sample], longest: bool) -> bool {
        let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return false };
        let (span, sent_span) = (last.after(first) as f64, last.sent_after(first) as f64);
        let tells = span > 0.0 && last.acked > first.acked && sent_span < MAX_OF_SENT * span;
        if !tells || !(longest || span >= train::NOISES * self.noise) {
            return false;
        }
        let rate = self.rate(f64::from(last.acked - first.acked), span);
        keep(&mut self.rates, rate, ESTIMATES);
        self.by_rate = quantile(self.rates.iter().copied(), 1, 2);
        self.settle();
        true
    }

    /// A segment that was alone has been acknowledged.
    pub(super) fn on_single(&mut self, delay: i64, full: bool) {
        self.singles.hear(delay, full);
        self.settle();
    }

    /// Whether the rate of full segments is the capacity, and not what segments that were alone showed more.
    pub(super) fn is_by_rate(&self) -> bool {
        self.by_rate >= self.least()
    }

    /// The queueing delay of a small train that was acknowledged at once, whose last segment waited for those before it: beyond that
    /// of the earliest train of as many packets.
    pub(super) fn waited_as_one(&mut self, packets: u32, delay: i64) -> f64 {
        keep(&mut self.lone, (packets, delay), singles::KEPT);
        let alike = self.lone.iter().filter(|(of, _)| *of == packets);
        let earliest = alike.map(|(_, delay)| *delay).min().unwrap_or(delay);
        ((delay - earliest) as f64 - self.noise).max(0.0)
    }

    /// The least capacity by which full segments that are alone can be as early as they are: a fair queue sends one at once,
    /// whoever waits. Beyond ten times the rate of a train it makes no difference.
    fn least(&self) -> f64 {
        let bits = 8.0 * (self.mss - f64::from(self.small));
        self.singles.longer_by().map_or(0.0, |nanos| bits * SECOND / nanos).min(MAX_ABOVE_RATE * self.by_rate)
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
        self.settle();
    }

    /// Full segments may show more than small ones, whose headers weigh more on some links, but not much more.
    fn settle(&mut self) {
        let trusted = self.by_trains <= self.by_rate && self.by_rate <= MAX_ABOVE_TRAINS * self.by_trains;
        if self.by_trains > 0.0 && !trusted {
            self.by_rate = self.by_trains;
        }
        let was_known = self.capacity > 0.0;
        self.capacity = if self.is_clear() { self.by_rate } else { self.by_rate.max(self.least()) };
        self.delay = if was_known { self.delay.min(self.longest_delay()) } else { self.longest_delay() };
    }
}

/// Keeps the last `most` values.
fn keep<T>(values: &mut VecDeque<T>, value: T, most: usize) {
    if values.len() == most {
        values.pop_front();
    }
    values.push_back(value);
}

/// The value at place `part`/`of` of all in order; zero of none.
fn quantile(values: impl Iterator<Item = f64>, part: usize, of: usize) -> f64 {
    let mut ordered: Vec<f64> = values.collect();
    ordered.sort_unstable_by(f64::total_cmp);
    ordered.get(ordered.len() * part / of).copied().unwrap_or(0.0)
}
