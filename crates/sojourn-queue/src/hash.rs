//! Flows to buckets: the seeded hash of every discipline that keeps several queues.

use crate::{FlowKey, Packet, Protocol};
use sojourn_core::Stream;

/// Sends the packets of one flow to one bucket.
///
/// Routers hash the 5-tuple with a secret of their own, so that flows collide, which ones nobody can tell beforehand,
/// and the same seed lets the same ones collide again. A `perfect` hash isolates flows instead: each has the bucket of
/// its own index, however many there are.
#[derive(Clone, Debug)]
pub struct FlowHash {
    seed: u64,
    /// `None` for one bucket per flow.
    buckets: Option<u32>,
}

impl FlowHash {
    /// A hash with a seed from `random` onto `buckets` buckets or, if `perfect`, onto as many as there are flows.
    pub fn new(random: &mut Stream, buckets: u32, perfect: bool) -> FlowHash {
        FlowHash { seed: random.bits(), buckets: (!perfect).then_some(buckets) }
    }

    /// Whether it has as many buckets as `other`.
    pub fn is_like(&self, other: &FlowHash) -> bool {
        self.buckets == other.buckets
    }

    /// The bucket of `packet`: below the number of buckets, or its flow's index if perfect.
    #[inline]
    pub fn bucket<B>(&self, packet: &Packet<B>) -> usize {
        match self.buckets {
            None => packet.flow as usize,
            // The upper bits, scaled (Lemire 2019): fair for any number of buckets.
            Some(buckets) => (((self.bits(packet) >> 32) * u64::from(buckets)) >> 32) as usize,
        }
    }

    /// The 64 bits behind the bucket, for disciplines that cut several hashes from them.
    #[inline]
    pub fn bits<B>(&self, packet: &Packet<B>) -> u64 {
        hash(packet.key, self.seed)
    }

    /// The 64 bits of any other key, such as that of one host.
    #[inline]
    pub fn bits_of(&self, key: FlowKey) -> u64 {
        hash(key, self.seed)
    }

    /// A new seed: flows that collided are apart, and others collide.
    pub fn perturb(&mut self, random: &mut Stream) {
        self.seed = random.bits();
    }
}

/// 64 bits of `key` that depend on `seed`.
#[inline]
fn hash(key: FlowKey, seed: u64) -> u64 {
    let protocol: u64 = match key.protocol {
        Protocol::Tcp => 6,
        Protocol::Udp => 17,
    };
    let (source, destination) = (u64::from(key.source.number()), u64::from(key.destination.number()));
    let addresses = ((source & 0xffff) << 16) | (destination & 0xffff);
    // Nothing for the first 65,536 hosts.
    let beyond = (source >> 16 << 16) | (destination >> 16 << 8);
    let ports = (u64::from(key.source_port) << 16) | u64::from(key.destination_port);
    mix(mix(((addresses << 32) | ports) ^ seed) ^ protocol ^ beyond)
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood 2014, after Stafford's variant 13): every bit of the input
/// changes half of those of the output.
#[inline]
const fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Host;
    use crate::testing::packet;

    /// A packet of the `flow`th of several flows between two hosts.
    fn of_flow(flow: u32) -> Packet<u32> {
        let mut packet = packet(1500, 0);
        packet.flow = flow;
        packet.key =
            FlowKey { source: 1.into(), destination: 2.into(), source_port: flow as u16, ..FlowKey::default() };
        packet
    }

    /// How many of `flows` flows share their bucket with none, as a mean over many seeds.
    fn alone(flows: u32, buckets: u32) -> f64 {
        let mut random = Stream::new(1, "hash");
        let seeds = 300;
        let mut alone = 0;
        for _ in 0..seeds {
            let hash = FlowHash::new(&mut random, buckets, false);
            let mut members = vec![0; buckets as usize];
            for flow in 0..flows {
                members[hash.bucket(&of_flow(flow))] += 1;
            }
            alone += members.iter().filter(|&&members| members == 1).count();
        }
        alone as f64 / f64::from(seeds * flows)
    }

    /// Every flow is alone with probability (1 - 1/buckets)^(flows - 1).
    #[test]
    fn collisions_are_those_of_chance() {
        assert!((alone(100, 1024) - 0.908).abs() < 0.006, "{}", alone(100, 1024));
        assert!((alone(10, 16) - 0.559).abs() < 0.03, "{}", alone(10, 16));
        assert!((alone(10, 10) - 0.387).abs() < 0.03, "{}", alone(10, 10));
    }

    #[test]
    fn the_seed_decides_and_perturbing_changes_it() {
        let buckets = |hash: &FlowHash| (0..50).map(|flow| hash.bucket(&of_flow(flow))).collect::<Vec<_>>();
        let draw = |seed| FlowHash::new(&mut Stream::new(seed, "hash"), 1024, false);
        assert_eq!(buckets(&draw(1)), buckets(&draw(1)));
        assert_ne!(buckets(&draw(1)), buckets(&draw(2)));
        let mut hash = draw(1);
        hash.perturb(&mut Stream::new(3, "hash"));
        assert_ne!(buckets(&hash), buckets(&draw(1)));
    }

    #[test]
    fn every_field_of_the_key_counts() {
        let changes: [fn(&mut FlowKey); 7] = [
            |key| key.source = 9.into(),
            |key| key.source = Host::new(65_537),
            |key| key.destination = Host::new(65_538),
            |key| key.destination = 9.into(),
            |key| key.source_port = 9,
            |key| key.destination_port = 9,
            |key| key.protocol = Protocol::Udp,
        ];
        let hash = FlowHash::new(&mut Stream::new(1, "hash"), 1 << 30, false);
        for change in changes {
            let mut changed = of_flow(1);
            change(&mut changed.key);
            assert_ne!(hash.bucket(&of_flow(1)), hash.bucket(&changed), "{:?}", changed.key);
        }
    }

    #[test]
    fn a_perfect_hash_isolates_flows() {
        let hash = FlowHash::new(&mut Stream::new(1, "hash"), 4, true);
        assert_eq!((0..100).map(|flow| hash.bucket(&of_flow(flow))).collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
    }
}
