//! Named random streams.

#[cfg(not(feature = "std"))]
use crate::Float as _;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// One source of randomness of a run, derived from the run's seed and a name.
///
/// Streams with different names are independent, so adding a probe or a flow leaves the numbers
/// that every other part of the run draws as they were. The generator (xoshiro256++) and all
/// transcendental functions (`libm`) are the same on every platform.
#[derive(Clone, Debug)]
pub struct Stream {
    generator: Xoshiro256PlusPlus,
}

impl Stream {
    /// The stream `name` of the run with seed `seed`.
    pub fn new(seed: u64, name: &str) -> Stream {
        Stream { generator: Xoshiro256PlusPlus::seed_from_u64(fold(seed, name)) }
    }

    /// In its place one for each part of whatever it belongs to.
    pub fn into_parts(mut self) -> Parts {
        Parts { seed: self.bits() }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Uniform in [0, 1), with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in [low, high).
    pub fn uniform_between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Exponential with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        // 1 - u lies in (0, 1], where the logarithm is finite.
        -mean * libm::log(1.0 - self.uniform())
    }

    /// Normal with mean 0 and standard deviation 1 (Box and Muller 1958, cosine branch).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(1.0 - self.uniform())).sqrt();
        radius * libm::cos(core::f64::consts::TAU * self.uniform())
    }

    /// True with probability `probability`.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }
}

/// Streams of the parts of something that had one: by name, so that another part leaves the others' numbers alone.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    seed: u64,
}

impl Parts {
    /// The stream of the part `name`.
    pub fn stream(self, name: &str) -> Stream {
        Stream::new(self.seed, name)
    }
}

/// FNV-1a over the seed's bytes and the name: a stable 64-bit name for a stream.
fn fold(seed: u64, name: &str) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    seed.to_le_bytes()
        .iter()
        .chain(name.as_bytes())
        .fold(OFFSET, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_reproducible_and_apart() {
        let draw = |seed, name| Stream::new(seed, name).bits();
        assert_eq!(draw(1, "red"), draw(1, "red"));
        assert_ne!(draw(1, "red"), draw(2, "red"));
        assert_ne!(draw(1, "red"), draw(1, "start"));
    }

    #[test]
    fn parts_have_streams_of_their_own() {
        let draw = |seed, whole, part| Stream::new(seed, whole).into_parts().stream(part).bits();
        assert_eq!(draw(1, "queue", "voice"), draw(1, "queue", "voice"));
        assert_ne!(draw(1, "queue", "voice"), draw(1, "queue", "video"));
        assert_ne!(draw(1, "queue", "voice"), draw(2, "queue", "voice"));
        assert_ne!(draw(1, "queue", "voice"), draw(1, "reverse", "voice"));
    }

    #[test]
    fn first_draws_never_change() {
        // A change here changes every published number: it needs a new major version.
        let mut stream = Stream::new(1, "test");
        let bits: Vec<u64> = (0..2).map(|_| stream.bits()).collect();
        assert_eq!(bits, FIRST_BITS);
    }

    const FIRST_BITS: [u64; 2] = [255_412_430_100_149_336, 16_946_038_442_679_555_668];

    #[test]
    fn moments_are_right() {
        let mut stream = Stream::new(7, "moments");
        let n = 200_000;
        let mean = |draw: &mut dyn FnMut() -> f64| (0..n).map(|_| draw()).sum::<f64>() / f64::from(n);
        assert!((mean(&mut || stream.uniform()) - 0.5).abs() < 0.005);
        assert!((mean(&mut || stream.exponential(3.0)) - 3.0).abs() < 0.05);
        assert!(mean(&mut || stream.normal()).abs() < 0.02);
        assert!((mean(&mut || stream.normal().powi(2)) - 1.0).abs() < 0.02);
    }
}
