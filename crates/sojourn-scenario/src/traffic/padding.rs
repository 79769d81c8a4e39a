//! Padding: small datagrams that shorten a queue limited in packets.

use crate::declare::{bytes, held, integer, number, packet_rate, span, table, word};
use crate::form::LONGEST;
use sojourn_core::{Span, choices};
use std::ops::RangeInclusive;

const RATES: RangeInclusive<f64> = 0.1..=1_000_000.0;
/// From one byte of payload on: IPv4 and UDP have 28 B of headers.
const PACKET_BYTES: RangeInclusive<u64> = 29..=1500;

choices! {
    /// How far padding travels.
    pub enum Reach {
        /// To the receiver.
        Receiver = "receiver",
        /// Just past the main link of its direction.
        Bottleneck = "bottleneck",
    }
}

held! { Reach: |this| this.value() }

table! {
    /// small datagrams that take places in a queue limited in packets, and so shorten it; have no congestion control
    pub struct SteadyPadding = PADDING, "padding" => {
        /// packets per second, in bursts that within a burst
        rate: f64 = packet_rate(RATES).required("125 packets/s"),
        /// size of a packet on the wire: headers of IPv4 and UDP and at least one byte
        packet_bytes as "packet": u32 = bytes(PACKET_BYTES).or("29 B", "46 B"),
        /// packets of a burst
        burst: Option<u32> = integer(1..=1_000_000).unless("continuous", "100"),
        /// from the start of one burst to that of the next
        every: Option<Span> = span(Span::from_millis(1)..=LONGEST).unless("continuous", "1 s"),
        /// how far packets travel: to the receiver, or, with a small time to live, no further than past the main
        /// link of their direction
        reach: Reach = word().or("receiver", "bottleneck"),
    }
}

table! {
    /// padding at a rate that follows the round-trip times of probes: it shortens a long queue, stops on an idle link
    /// and gives up where it does not help
    pub struct AdaptivePadding = ADAPTIVE_PADDING, "adaptive-padding" => {
        /// queueing delay that nine probes in ten shall not exceed
        target: Span = span(Span::from_millis(1)..=Span::from_secs(60)).or("100 ms", "50 ms"),
        /// never more packets per second
        most: f64 = packet_rate(RATES).or("500 packets/s", "250 packets/s"),
        /// the share of each second in which packets are sent
        duty: f64 = number(0.1..=1.0).or("1", "0.4"),
        /// from one probe to the next; a probe has the size of a packet, and so has its answer
        probe: Span = span(Span::from_millis(10)..=Span::from_secs(1)).or("100 ms", "200 ms"),
        /// size of a packet on the wire: headers of IPv4 and UDP and at least one byte
        packet_bytes as "packet": u32 = bytes(PACKET_BYTES).or("29 B", "46 B"),
        /// how far packets travel: to the receiver, or, with a small time to live, no further than past the main
        /// link of their direction
        reach: Reach = word().or("receiver", "bottleneck"),
    }
}

impl SteadyPadding {
    /// Packets of a burst and the time from its start to that of the next, where there are bursts.
    pub fn bursts(&self) -> Option<(u32, Span)> {
        self.burst.zip(self.every)
    }
}

/// Small datagrams that shorten a queue limited in packets.
#[derive(Clone, PartialEq, Debug)]
pub enum Padding {
    /// Always as many.
    Steady(SteadyPadding),
    /// As the delay of probes demands.
    Adaptive(AdaptivePadding),
}

impl Padding {
    /// Bytes of a packet on the wire.
    pub fn packet_bytes(&self) -> u32 {
        match self {
            Padding::Steady(steady) => steady.packet_bytes,
            Padding::Adaptive(adaptive) => adaptive.packet_bytes,
        }
    }

    /// How far they travel.
    pub fn reach(&self) -> Reach {
        match self {
            Padding::Steady(steady) => steady.reach,
            Padding::Adaptive(adaptive) => adaptive.reach,
        }
    }
}
