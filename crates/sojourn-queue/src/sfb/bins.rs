//! The bins: levels of counters and probabilities, on each of which a flow has one.

use crate::{FlowHash, Packet};
use alloc::boxed::Box;
use sojourn_core::Stream;

/// Levels of the filter (SFB_LEVELS).
pub(super) const LEVELS: usize = 8;
/// Bins of a level (SFB_NUMBUCKETS), as bits of the hash (SFB_BUCKET_SHIFT).
const BIN_BITS: u32 = 4;
const BINS: usize = 1 << BIN_BITS;
/// A probability of one (SFB_MAX_PROB).
pub(super) const CERTAIN: u32 = 0xffff;

/// The bins of a flow: `BIN_BITS` bits for each level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Places(u32);

impl Places {
    /// The flow's bin on each level.
    #[inline]
    fn bins(self) -> impl Iterator<Item = usize> {
        (0..LEVELS).map(move |level| (self.0 >> (BIN_BITS * level as u32)) as usize & (BINS - 1))
    }

    /// The levels on which both have the same bin.
    #[cfg(test)]
    pub(super) fn shared_with(self, other: Places) -> Vec<usize> {
        let pairs = self.bins().zip(other.bins()).enumerate();
        pairs.filter(|(_, (ours, theirs))| ours == theirs).map(|(level, _)| level).collect()
    }
}

/// How probabilities learn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    increment: u32,
    decrement: u32,
    /// Packets in a bin from which on its probability grows.
    target: u32,
}

impl Steps {
    /// Steps of these sizes, rounded to 1/65535 as tc does.
    pub(super) fn new(increment: f64, decrement: f64, target: u32) -> Steps {
        let fixed = |probability: f64| (probability * f64::from(CERTAIN) + 0.5) as u32;
        Steps { increment: fixed(increment), decrement: fixed(decrement), target }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    packets: u32,
    probability: u32,
}

/// A set of bins with its hash.
#[derive(Debug)]
pub(super) struct Bins {
    hash: FlowHash,
    levels: Box<[[Bin; BINS]; LEVELS]>,
}

impl Bins {
    /// Empty bins that have learned nothing.
    pub(super) fn new(random: &mut Stream) -> Bins {
        Bins { hash: FlowHash::new(random, 1, false), levels: Box::default() }
    }

    /// A new hash for the flows to come; what was learned stays, and fades.
    pub(super) fn perturb(&mut self, random: &mut Stream) {
        self.hash.perturb(random);
    }

    /// The bins of the flow of `packet`.
    #[inline]
    pub(super) fn places<B>(&self, packet: &Packet<B>) -> Places {
        Places(self.hash.bits(packet) as u32)
    }

    /// A packet arrives at `places`: the least probability there, after the change, and the fewest packets.
    #[inline]
    pub(super) fn learn(&mut self, places: Places, steps: &Steps) -> (u32, u32) {
        let (mut probability, mut packets) = (CERTAIN, u32::MAX);
        for (level, place) in self.levels.iter_mut().zip(places.bins()) {
            let bin = &mut level[place];
            if bin.packets == 0 {
                bin.probability = bin.probability.saturating_sub(steps.decrement);
            } else if bin.packets >= steps.target {
                bin.probability = (bin.probability + steps.increment).min(CERTAIN);
            }
            probability = probability.min(bin.probability);
            packets = packets.min(bin.packets);
        }
        (probability, packets)
    }

    /// A packet enters the queue.
    #[inline]
    pub(super) fn add(&mut self, places: Option<Places>) {
        for (level, place) in self.levels.iter_mut().zip(places.into_iter().flat_map(Places::bins)) {
            level[place].packets += 1;
        }
    }

    /// A packet leaves the queue.
    #[inline]
    pub(super) fn subtract(&mut self, places: Option<Places>) {
        for (level, place) in self.levels.iter_mut().zip(places.into_iter().flat_map(Places::bins)) {
            level[place].packets -= 1;
        }
    }

    /// The greatest probability of all bins and their mean.
    pub(super) fn probabilities(&self) -> (f64, f64) {
        let all = self.levels.iter().flatten().map(|bin| f64::from(bin.probability) / f64::from(CERTAIN));
        (all.clone().fold(0.0, f64::max), all.sum::<f64>() / (LEVELS * BINS) as f64)
    }

    /// Packets counted on each level.
    #[cfg(test)]
    pub(super) fn packets(&self) -> [u32; LEVELS] {
        self.levels.map(|level| level.iter().map(|bin| bin.packets).sum())
    }

    /// Gives the bins of `packet` a probability.
    #[cfg(test)]
    pub(super) fn teach<B>(&mut self, packet: &Packet<B>, probability: f64) {
        let places = self.places(packet);
        for (level, place) in self.levels.iter_mut().zip(places.bins()) {
            level[place].probability = (probability * f64::from(CERTAIN)) as u32;
        }
    }
}
