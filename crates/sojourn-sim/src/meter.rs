//! What is measured at a link.

use crate::Packet;
use crate::record::{ClassRecord, Known, LinkRecord, Mean, MeanMax, PhaseLinkRecord};
use crate::times::Times;
use sojourn_core::{Span, Time};
use sojourn_queue::Backlog;
use std::collections::BTreeMap;

/// Everything that only grows, so that two readings subtract to what lies between them.
#[derive(Clone, Copy, Default, Debug)]
pub struct Totals {
    /// Packets offered.
    pub arrivals: u64,
    /// Packets that left the queue for the link.
    pub departures: u64,
    /// Packets dropped by the queue, or lost on the link.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// Bytes sent on the link, its framing included.
    pub sent_bytes: u64,
    /// Integral of the packets waiting over time, in packet nanoseconds.
    pub packet_nanos: u128,
    /// Integral of the bytes waiting over time, in byte nanoseconds.
    pub byte_nanos: u128,
    /// Sum of the sojourn times of all departures, in ns.
    pub sojourn_nanos: u128,
}

/// The measuring instruments of one link.
#[derive(Debug)]
pub struct Meter {
    /// Since the start of the run.
    pub totals: Totals,
    /// As `totals` was when measuring began.
    base: Totals,
    /// Bytes of the packet then on the wire that had been sent before.
    base_partial_bytes: f64,
    since: Time,
    read_at: Time,
    /// Sums of the instants, in ns, at which packets ceased to wait, less those at which they began to, modulo 2^128. In the first
    /// each packet counts once, in the second as often as it has bytes. What still waits ceases to wait at the instant of a reading:
    /// then they are the integrals over time.
    ledger: [u128; 2],
    /// What waits since `read_at`.
    waiting: Backlog,
    /// The most of each.
    max_waiting: Backlog,
    max_sojourn: Span,
    sojourn: Times,
    /// The same of each queue inside.
    pub classes: Classes,
}

impl Meter {
    /// A meter that measures from the start, for a discipline with queues inside that have these names.
    pub fn new(classes: &[String]) -> Meter {
        Meter {
            totals: Totals::default(),
            base: Totals::default(),
            base_partial_bytes: 0.0,
            since: Time::ZERO,
            read_at: Time::ZERO,
            ledger: [0; 2],
            waiting: Backlog::default(),
            max_waiting: Backlog::default(),
            max_sojourn: Span::ZERO,
            sojourn: Times::default(),
            classes: Classes::new(classes),
        }
    }

    /// It is one of very many: its quantiles are less fine.
    pub fn shrink(&mut self) {
        self.sojourn = Times::small();
    }

    /// Whatever it is told next happens `now`.
    #[inline]
    pub fn pass(&mut self, now: Time) {
        debug_assert!(now >= self.read_at);
        self.read_at = now;
    }

    /// Accounts for the time up to `now`.
    pub fn read(&mut self, now: Time) {
        self.pass(now);
        let nanos = u128::from(now.as_nanos());
        let [packets, bytes] = self.ledger;
        self.totals.packet_nanos = packets.wrapping_add(self.waiting.packets as u128 * nanos);
        self.totals.byte_nanos = bytes.wrapping_add(u128::from(self.waiting.bytes) * nanos);
    }

    /// The time up to which it has been brought.
    pub fn read_at(&self) -> Time {
        self.read_at
    }

    /// What waits: what has arrived, less what has left or been dropped.
    pub fn waiting(&self) -> Backlog {
        self.waiting
    }

    /// A packet arrives, and waits unless it is [dropped](Meter::dropped).
    #[inline(always)]
    pub fn arrived(&mut self, bytes: u32) {
        self.totals.arrivals += 1;
        self.waiting.packets += 1;
        self.waiting.bytes += u64::from(bytes);
        let nanos = u128::from(self.read_at.as_nanos());
        self.ledger[0] = self.ledger[0].wrapping_sub(nanos);
        self.ledger[1] = self.ledger[1].wrapping_sub(nanos * u128::from(bytes));
    }

    /// The queue drops `packet`.
    #[inline]
    pub fn dropped(&mut self, packet: &Packet) {
        self.lost(packet);
        self.gone(packet.bytes);
    }

    /// `packet`, which did not wait, is dropped.
    #[inline]
    pub fn lost(&mut self, packet: &Packet) {
        self.totals.drops += 1;
        if let Some(class) = self.classes.of(packet) {
            class.drops += 1;
        }
    }

    /// The queue marks `packet`.
    #[inline]
    pub fn marked(&mut self, packet: &Packet) {
        self.totals.marks += 1;
        if let Some(class) = self.classes.of(packet) {
            class.marks += 1;
        }
    }

    /// A packet does not wait any more.
    #[inline(always)]
    fn gone(&mut self, bytes: u32) {
        self.waiting.packets -= 1;
        self.waiting.bytes -= u64::from(bytes);
        let nanos = u128::from(self.read_at.as_nanos());
        self.ledger[0] = self.ledger[0].wrapping_add(nanos);
        self.ledger[1] = self.ledger[1].wrapping_add(nanos * u128::from(bytes));
    }

    /// What waits after an arrival, without what went straight to an idle link, may be the most so far.
    #[inline]
    pub fn peak(&mut self) {
        // Seldom true. As two maxima they would be computed together, which waits until both numbers have been stored.
        if self.waiting.packets > self.max_waiting.packets {
            self.max_waiting.packets = self.waiting.packets;
        }
        if self.waiting.bytes > self.max_waiting.bytes {
            self.max_waiting.bytes = self.waiting.bytes;
        }
    }

    /// `packet` leaves the queue after `sojourn`.
    #[inline(always)]
    pub fn departed(&mut self, packet: &Packet, sojourn: Span) {
        if let Some(class) = self.classes.of(packet) {
            class.departed(sojourn);
        }
        self.gone(packet.bytes);
        self.totals.departures += 1;
        self.totals.sojourn_nanos += u128::from(sojourn.as_nanos());
        self.max_sojourn = self.max_sojourn.max(sojourn);
        self.sojourn.record(sojourn);
    }

    /// Forgets what was measured so far: the warm-up is over. `partial_bytes` of the packet on the wire were sent.
    pub fn begin(&mut self, partial_bytes: f64, now: Time) {
        self.read(now);
        self.base = self.totals;
        self.base_partial_bytes = partial_bytes;
        self.since = now;
        self.max_waiting = self.waiting;
        self.max_sojourn = Span::ZERO;
        self.sojourn.clear();
        self.classes.forget();
    }

    /// What it reads, with `partial_bytes` of the packet on the wire sent.
    pub fn reading(&self, partial_bytes: f64) -> Reading {
        Reading { totals: self.totals, partial_bytes, sojourn: self.sojourn.clone() }
    }

    /// What was measured up to `now`, on a link that could have carried `capacity_bytes` and has sent
    /// `partial_bytes` of the packet on the wire.
    pub fn record(&self, capacity_bytes: f64, partial_bytes: f64, now: Time) -> LinkRecord {
        let measured = self.totals - self.base;
        let sent_bytes = measured.sent_bytes as f64 + partial_bytes - self.base_partial_bytes;
        let nanos = now.since(self.since).as_nanos() as f64;
        LinkRecord {
            utilization: utilization(sent_bytes, capacity_bytes, now.since(self.since), 1),
            queue_packets: MeanMax { mean: measured.packet_nanos as f64 / nanos, max: self.max_waiting.packets as u64 },
            queue_bytes: MeanMax { mean: measured.byte_nanos as f64 / nanos, max: self.max_waiting.bytes },
            queue_ms: Known::new(&self.sojourn, measured.sojourn_nanos).within(None, Some(self.max_sojourn)).into(),
            arrivals: measured.arrivals,
            departures: measured.departures,
            drops: measured.drops,
            marks: measured.marks,
            classes: BTreeMap::new(),
            access: None,
            drop_rate: (measured.arrivals > 0).then(|| measured.drops as f64 / measured.arrivals as f64),
        }
    }
}

/// The share of `capacity_bytes`, what a link can send in `time`, that it sent; `time` is `windows` pieces together.
///
/// A transmission ends on a whole nanosecond, and what that cuts off is added to the next one. So at either end of a
/// window up to one nanosecond's bytes count too early or too late, and a link that was never idle may seem to have sent
/// more than it can. What is above 1 by so little is 1; more would be a fault, and stays visible.
pub fn utilization(sent_bytes: f64, capacity_bytes: f64, time: Span, windows: usize) -> Option<f64> {
    let share = (capacity_bytes > 0.0).then(|| sent_bytes / capacity_bytes)?;
    let rounding = 2.0 * windows as f64 / time.as_nanos() as f64;
    Some(if (1.0..1.0 + rounding).contains(&share) { 1.0 } else { share })
}

/// What a link's instruments read at an instant, or what they measured between two readings.
#[derive(Clone, Default, Debug)]
pub struct Reading {
    /// Everything that only grows.
    pub totals: Totals,
    /// Bytes of the packet on the wire that have been sent and are not in the totals.
    pub partial_bytes: f64,
    /// Sojourn times.
    pub sojourn: Times,
}

impl Reading {
    /// Adds what was measured between two readings, which have no end of the warm-up between them.
    pub fn add_since(&mut self, later: &Reading, earlier: &Reading) {
        self.totals = self.totals + (later.totals - earlier.totals);
        self.partial_bytes += later.partial_bytes - earlier.partial_bytes;
        self.sojourn.add_since(&later.sojourn, &earlier.sojourn);
    }

    /// What was measured in `time`, as the record tells it of a phase, on a link with this utilization.
    pub fn record(&self, utilization: Option<f64>, time: Span) -> PhaseLinkRecord {
        let totals = &self.totals;
        PhaseLinkRecord {
            utilization,
            queue_packets: Mean { mean: totals.packet_nanos as f64 / time.as_nanos() as f64 },
            queue_ms: Known::new(&self.sojourn, totals.sojourn_nanos).into(),
            arrivals: totals.arrivals,
            departures: totals.departures,
            drops: totals.drops,
            marks: totals.marks,
            drop_rate: (totals.arrivals > 0).then(|| totals.drops as f64 / totals.arrivals as f64),
        }
    }
}

/// The instruments of the queues inside a discipline, where it has any.
#[derive(Default, Debug)]
pub struct Classes {
    meters: Vec<ClassMeter>,
    /// Those of classes that a discipline before had.
    past: BTreeMap<String, ClassMeter>,
}

impl Classes {
    fn new(names: &[String]) -> Classes {
        Classes { meters: names.iter().map(|_| ClassMeter::default()).collect(), past: BTreeMap::new() }
    }

    /// Those of the queue inside that holds `packet`, where it is in one.
    #[inline]
    fn of(&mut self, packet: &Packet) -> Option<&mut ClassMeter> {
        self.meters.get_mut(usize::from(packet.class))
    }

    /// The queues inside, which had these names, give way to others.
    pub fn change(&mut self, before: Vec<String>, after: Vec<String>) {
        self.past.extend(before.into_iter().zip(self.meters.drain(..)));
        let mut kept = |name: String| self.past.remove(&name).unwrap_or_default();
        self.meters = after.into_iter().map(&mut kept).collect();
    }

    /// The warm-up is over.
    fn forget(&mut self) {
        self.meters.fill_with(ClassMeter::default);
        self.past.clear();
    }

    /// What was measured in each; those of now have these names.
    pub fn records(&self, names: Vec<String>) -> BTreeMap<String, ClassRecord> {
        let past = self.past.iter().map(|(name, meter)| (name.clone(), meter.record()));
        past.chain(names.into_iter().zip(self.meters.iter().map(ClassMeter::record))).collect()
    }
}

/// What is measured of a queue inside a discipline, in the measured part.
#[derive(Default, Debug)]
pub struct ClassMeter {
    /// Packets that left the queue for the link.
    pub departures: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    nanos: u128,
    max: Span,
    sojourn: Times,
}

impl ClassMeter {
    /// A packet leaves the queue after `sojourn`.
    #[inline(never)]
    fn departed(&mut self, sojourn: Span) {
        self.departures += 1;
        self.nanos += u128::from(sojourn.as_nanos());
        self.max = self.max.max(sojourn);
        self.sojourn.record(sojourn);
    }

    /// What was measured.
    pub fn record(&self) -> ClassRecord {
        ClassRecord {
            queue_ms: Known::new(&self.sojourn, self.nanos).within(None, Some(self.max)).into(),
            departures: self.departures,
            drops: self.drops,
            marks: self.marks,
        }
    }
}

impl std::ops::Add for Totals {
    type Output = Totals;

    fn add(self, more: Totals) -> Totals {
        Totals {
            arrivals: self.arrivals + more.arrivals,
            departures: self.departures + more.departures,
            drops: self.drops + more.drops,
            marks: self.marks + more.marks,
            sent_bytes: self.sent_bytes + more.sent_bytes,
            packet_nanos: self.packet_nanos + more.packet_nanos,
            byte_nanos: self.byte_nanos + more.byte_nanos,
            sojourn_nanos: self.sojourn_nanos + more.sojourn_nanos,
        }
    }
}

impl std::ops::Sub for Totals {
    type Output = Totals;

    fn sub(self, earlier: Totals) -> Totals {
        Totals {
            arrivals: self.arrivals - earlier.arrivals,
            departures: self.departures - earlier.departures,
            drops: self.drops - earlier.drops,
            marks: self.marks - earlier.marks,
            sent_bytes: self.sent_bytes - earlier.sent_bytes,
            packet_nanos: self.packet_nanos - earlier.packet_nanos,
            byte_nanos: self.byte_nanos - earlier.byte_nanos,
            sojourn_nanos: self.sojourn_nanos - earlier.sojourn_nanos,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sojourn_transport::{Segment, SegmentKind};

    proptest! {
        /// The integrals are those of what waits, however often they are read: what comes, leaves or is dropped, later and later.
        #[test]
        fn integrals_are_those_of_what_waits(steps in prop::collection::vec((0u32..5, 0u64..2_000_000_000, 40u32..1500), 0..100)) {
            let mut meter = Meter::new(&[]);
            let packet = |bytes| Packet::new(0, bytes, Segment::new(SegmentKind::Data, 0, Time::ZERO));
            let mut waiting = std::collections::VecDeque::new();
            let (mut now, mut packet_nanos, mut byte_nanos) = (Time::ZERO, 0, 0);
            for (what, later, bytes) in steps {
                packet_nanos += waiting.len() as u128 * u128::from(later);
                byte_nanos += waiting.iter().copied().map(u128::from).sum::<u128>() * u128::from(later);
                now += Span::from_nanos(later);
                meter.pass(now);
                match (what, waiting.front().copied()) {
                    (0 | 1, _) => {
                        meter.arrived(bytes);
                        waiting.push_back(bytes);
                    }
                    (2, Some(first)) => {
                        meter.departed(&packet(first), Span::ZERO);
                        waiting.pop_front();
                    }
                    (3, Some(first)) => {
                        meter.dropped(&packet(first));
                        waiting.pop_front();
                    }
                    _ => meter.read(now),
                }
            }
            meter.read(now);
            prop_assert_eq!((meter.totals.packet_nanos, meter.totals.byte_nanos), (packet_nanos, byte_nanos));
        }
    }
}
