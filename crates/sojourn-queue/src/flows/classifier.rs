//! Which bucket a flow belongs to.

use crate::FlowKey;
use sojourn_core::Stream;
use sojourn_core::registry::Params;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};

/// Maps 5-tuples to buckets.
#[derive(Debug)]
pub(crate) enum Classifier {
    /// A seeded hash into so many buckets.
    Hashed {
        /// Secret of the hash: other seeds, other collisions.
        seed: u64,
        /// Number of buckets.
        buckets: u32,
    },
    /// A bucket for each flow, in the order of their first packets.
    Perfect(HashMap<FlowKey, u32, Seed>),
}

impl Classifier {
    /// The classifier that the parameters [`FLOWS`](super::FLOWS) and [`PERFECT`](super::PERFECT) describe.
    pub(crate) fn new(params: &Params, random: &mut Stream) -> Classifier {
        let seed = random.bits();
        if params.boolean("perfect") {
            Classifier::Perfect(HashMap::with_hasher(Seed(seed)))
        } else {
            Classifier::Hashed { seed, buckets: params.integer("flows") as u32 }
        }
    }

    /// The bucket of `key`.
    #[inline]
    pub(crate) fn bucket(&mut self, key: FlowKey) -> u32 {
        match self {
            // As the kernel's reciprocal_scale: the upper half of a product instead of a remainder.
            Classifier::Hashed { seed, buckets } => (((hash(*seed, key) >> 32) * u64::from(*buckets)) >> 32) as u32,
            Classifier::Perfect(known) => {
                let next = known.len() as u32;
                *known.entry(key).or_insert(next)
            }
        }
    }
}

/// 64 bits of `key` that look independent for every seed.
#[inline]
pub(crate) fn hash(seed: u64, key: FlowKey) -> u64 {
    let FlowKey { source, destination, source_port, destination_port, protocol } = key;
    let hosts = u64::from(source) | u64::from(destination) << 16;
    let ports = u64::from(source_port) | u64::from(destination_port) << 16;
    mix(mix(seed ^ (hosts | ports << 32)).wrapping_add(protocol as u64))
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection in which each bit of the input flips each bit
/// of the output with probability 1/2.
#[inline]
fn mix(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// A hasher that is the same on every run and machine; the map is never iterated.
#[derive(Clone, Debug)]
pub(crate) struct Seed(u64);

impl BuildHasher for Seed {
    type Hasher = Mixer;
    fn build_hasher(&self) -> Mixer {
        Mixer(self.0)
    }
}

/// The state of a [`Seed`]'s hasher.
pub(crate) struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = mix(self.0 ^ u64::from(byte));
        }
    }
    fn write_u16(&mut self, value: u16) {
        self.0 = mix(self.0 ^ u64::from(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Protocol;

    fn hashed(seed: u64, buckets: u32) -> Classifier {
        Classifier::Hashed { seed, buckets }
    }

    fn key(flow: u32) -> FlowKey {
        FlowKey { source: (flow >> 16) as u16, source_port: flow as u16, destination_port: 443, ..FlowKey::default() }
    }

    #[test]
    fn a_flow_stays_in_its_bucket() {
        let mut classifier = hashed(7, 1024);
        let first: Vec<u32> = (0..1000).map(|flow| classifier.bucket(key(flow))).collect();
        let again: Vec<u32> = (0..1000).map(|flow| classifier.bucket(key(flow))).collect();
        assert_eq!(first, again);
        assert!(first.iter().all(|&bucket| bucket < 1024));
    }

    /// Of 100 flows in 1024 queues 90.8 % are alone, (1 - 1/1024)^99.
    #[test]
    fn collisions_are_as_frequent_as_chance_has_it() {
        let (flows, runs) = (100u32, 2000u64);
        let mut alone = 0;
        for seed in 0..runs {
            let mut taken = vec![0u32; 1024];
            let mut classifier = hashed(seed, 1024);
            let buckets: Vec<u32> = (0..flows).map(|flow| classifier.bucket(key(flow))).collect();
            buckets.iter().for_each(|&bucket| taken[bucket as usize] += 1);
            alone += buckets.iter().filter(|&&bucket| taken[bucket as usize] == 1).count();
        }
        let share = alone as f64 / (f64::from(flows) * runs as f64);
        assert!((share - 0.9077).abs() < 0.003, "{share}");
    }

    #[test]
    fn buckets_fill_evenly_whatever_their_number() {
        for buckets in [1, 3, 10, 16, 1000] {
            let mut classifier = hashed(1, buckets);
            let mut counts = vec![0f64; buckets as usize];
            let flows = 200 * buckets;
            (0..flows).for_each(|flow| counts[classifier.bucket(key(flow)) as usize] += 1.0);
            // Chi-square over its degrees of freedom is about 1, with a standard deviation of sqrt(2/buckets).
            let chi: f64 = counts.iter().map(|count| (count - 200.0).powi(2) / 200.0).sum();
            assert!(chi < f64::from(buckets) + 6.0 * (2.0 * f64::from(buckets)).sqrt(), "{buckets}: {chi}");
        }
    }

    #[test]
    fn every_field_and_the_seed_matter() {
        let base = FlowKey { source: 1, destination: 2, source_port: 3, destination_port: 4, protocol: Protocol::Tcp };
        let others = [
            FlowKey { source: 9, ..base },
            FlowKey { destination: 9, ..base },
            FlowKey { source_port: 9, ..base },
            FlowKey { destination_port: 9, ..base },
            FlowKey { protocol: Protocol::Udp, ..base },
            base.reversed(),
        ];
        assert!(others.iter().all(|&other| hash(5, other) != hash(5, base)));
        assert_ne!(hash(6, base), hash(5, base));
    }

    #[test]
    fn perfect_isolation_has_no_collisions() {
        let mut classifier = Classifier::Perfect(HashMap::with_hasher(Seed(3)));
        let first: Vec<u32> = (0..5000).map(|flow| classifier.bucket(key(flow))).collect();
        assert_eq!(first, (0..5000).collect::<Vec<_>>());
        assert_eq!(classifier.bucket(key(17)), 17);
    }
}
