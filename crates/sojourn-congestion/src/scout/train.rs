//! A train: an exact number of packets, and what became of each.

use super::base;
use crate::control::Ack;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

/// Packets of a train of small segments: as many as one quantum of a fair queue holds, and three gaps need.
pub(super) const SMALL: RangeInclusive<u32> = 4..=20;
/// Packets of the train of full segments that measures a path where small ones are lost in noise.
pub(super) const FIRST: u32 = 10;
/// A train lasts so many times the noise, or longer.
pub(super) const NOISES: f64 = 4.0;
/// Packets of a train of full segments, at least and at most.
pub(super) const SHORTEST: u32 = 4;
pub(super) const LONGEST: u32 = 64;

/// What a train is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// Small segments, which one quantum of a fair queue holds: they leave at the link's rate, whoever waits.
    Small,
    /// Full segments back to back, where small ones tell no capacity.
    First,
    /// Full segments at the link's rate: what delays the last ones is somebody else's.
    Full,
}

/// An acknowledgement of a train's packets, in ns and segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// When its segment came to the receiver, on the receiver's clock if that tells the time; else when it came itself.
    came: i64,
    sent: u64,
    pub(super) delay: i64,
    /// Segments of the train acknowledged so far.
    pub(super) acked: u32,
    /// Of which with this acknowledgement.
    pub(super) newly: u32,
}

impl Sample {
    /// How much later it came; below zero where the clock was set back.
    pub(super) fn after(&self, earlier: &Sample) -> i64 {
        self.came.wrapping_sub(earlier.came)
    }

    /// How much later its newest segment was sent.
    pub(super) fn sent_after(&self, earlier: &Sample) -> i64 {
        self.sent.wrapping_sub(earlier.sent) as i64
    }
}

/// A train that is under way.
#[derive(Clone, Debug)]
pub(super) struct Train {
    pub(super) purpose: Purpose,
    pub(super) packets: u32,
    acked: u32,
    pub(super) lossy: bool,
    samples: Vec<Sample>,
}

impl Train {
    pub(super) fn new(purpose: Purpose, packets: u32) -> Train {
        Train { purpose, packets, acked: 0, lossy: false, samples: Vec::with_capacity(packets as usize) }
    }

    /// Some of it was acknowledged, with a delay or without.
    pub(super) fn on_ack(&mut self, ack: &Ack, delay: Option<i64>) {
        self.acked = self.acked.saturating_add(ack.newly_acked);
        if let Some(delay) = delay.filter(|_| !self.lossy) {
            let sent = ack.sent.as_nanos();
            let came = base::one_way(ack).map_or(ack.now.as_nanos() as i64, |nanos| nanos.wrapping_add(sent as i64));
            self.samples.push(Sample { came, sent, delay, acked: self.acked, newly: ack.newly_acked });
        }
    }

    /// Packets that are not acknowledged.
    pub(super) fn left(&self) -> u32 {
        self.packets.saturating_sub(self.acked)
    }

    /// The most segments that one acknowledgement covered.
    pub(super) fn at_once(&self) -> u32 {
        self.samples.iter().map(|sample| sample.newly).max().unwrap_or(1)
    }

    /// All acknowledgements, until one was lost.
    pub(super) fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// The shortest of the first two delays.
    pub(super) fn head_delay(&self) -> f64 {
        self.samples().iter().take(2).map(|sample| sample.delay).min().unwrap_or(0) as f64
    }

    /// The mean delay of the last quarter.
    pub(super) fn tail_delay(&self) -> f64 {
        let samples = self.samples();
        let last = &samples[samples.len() - (samples.len() / 4).max(1).min(samples.len())..];
        last.iter().map(|sample| sample.delay).sum::<i64>() as f64 / last.len().max(1) as f64
    }
}
