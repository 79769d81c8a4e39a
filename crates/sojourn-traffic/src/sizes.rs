//! Random sizes.

use sojourn_core::Stream;
use sojourn_scenario::Sizes;

/// Draws from a distribution of sizes.
#[derive(Debug)]
pub struct Draw {
    sizes: Sizes,
    zipf: Option<Zipf>,
    random: Stream,
}

impl Draw {
    /// Draws of `sizes` with the numbers of `random`.
    pub fn new(sizes: Sizes, random: Stream) -> Draw {
        let zipf = match sizes {
            Sizes::Zipf { most, exponent, .. } => Some(Zipf::new(most, exponent)),
            Sizes::Fixed(_) | Sizes::Pareto { .. } | Sizes::LogNormal { .. } => None,
        };
        Draw { sizes, zipf, random }
    }

    /// A size, at least one byte.
    pub fn size(&mut self) -> u64 {
        match (self.sizes, &self.zipf) {
            (Sizes::Fixed(size), _) => size,
            (Sizes::Pareto { min, max, shape }, _) => {
                // The distribution function, from 0 at the lower bound to 1 at the upper one, turned round.
                let (low, high) = (min as f64, max as f64);
                let kept = 1.0 - libm::pow(low / high, shape);
                let size = low * libm::pow(1.0 - self.random.uniform() * kept, -1.0 / shape);
                (size as u64).clamp(min, max)
            }
            (Sizes::LogNormal { median, sigma, max }, _) => {
                let size = median as f64 * libm::exp(sigma * self.random.normal());
                (size as u64).clamp(1, max)
            }
            (Sizes::Zipf { unit, .. }, Some(zipf)) => unit * zipf.rank(&mut self.random),
            (Sizes::Zipf { .. }, None) => unreachable!("a Zipf distribution was prepared"),
        }
    }
}

/// Zipf's distribution by rejection from its continuous cousin (Hoermann and Derflinger, "Rejection-inversion to
/// generate variates from monotone discrete distributions", 1996): no table, and nearly always one draw.
#[derive(Debug)]
struct Zipf {
    exponent: f64,
    most: f64,
    /// The integral up to the middle between the last rank and the one beyond, and down to where rank 1 begins.
    above: f64,
    below: f64,
    /// How far above the continuous value a rank may lie to be accepted at once.
    sure: f64,
}

impl Zipf {
    fn new(most: u64, exponent: f64) -> Zipf {
        let mut zipf = Zipf { exponent, most: most as f64, above: 0.0, below: 0.0, sure: 0.0 };
        zipf.above = zipf.integral(zipf.most + 0.5);
        zipf.below = zipf.integral(1.5) - 1.0;
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    /// x^-exponent.
    fn weight(&self, x: f64) -> f64 {
        libm::pow(x, -self.exponent)
    }

    /// The integral of the weight from 1 to x.
    fn integral(&self, x: f64) -> f64 {
        let rest = 1.0 - self.exponent;
        let log = libm::log(x);
        // Where the exponent is next to 1, its limit.
        if (rest * log).abs() < 1e-8 { log } else { libm::expm1(rest * log) / rest }
    }

    /// The x up to which the integral is `area`.
    fn inverse(&self, area: f64) -> f64 {
        let rest = 1.0 - self.exponent;
        let log = if (rest * area).abs() < 1e-8 { area } else { libm::log1p((rest * area).max(-1.0)) / rest };
        libm::exp(log)
    }

    fn rank(&self, random: &mut Stream) -> u64 {
        loop {
            let area = self.above + random.uniform() * (self.below - self.above);
            let x = self.inverse(area);
            let rank = (x + 0.5).floor().clamp(1.0, self.most);
            if rank - x <= self.sure || area >= self.integral(rank + 0.5) - self.weight(rank) {
                return rank as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(sizes: Sizes, count: usize) -> Vec<u64> {
        let mut draw = Draw::new(sizes, Stream::new(1, "sizes"));
        (0..count).map(|_| draw.size()).collect()
    }

    #[track_caller]
    fn mean_is_as_told(sizes: Sizes, tolerance: f64) {
        let drawn = draws(sizes, 400_000);
        let mean = drawn.iter().sum::<u64>() as f64 / drawn.len() as f64;
        assert!((mean / sizes.mean() - 1.0).abs() < tolerance, "{sizes:?}: {mean}, expected {}", sizes.mean());
        assert!(drawn.iter().all(|&size| (1..=sizes.largest()).contains(&size)));
    }

    #[test]
    fn means() {
        mean_is_as_told(Sizes::Fixed(1234), 1e-9);
        for shape in [0.5, 1.0, 1.2, 3.0] {
            mean_is_as_told(Sizes::Pareto { min: 10_000, max: 1_000_000, shape }, 0.01);
        }
        mean_is_as_told(Sizes::LogNormal { median: 20_000, sigma: 1.0, max: 1 << 40 }, 0.01);
        for exponent in [0.5, 1.0, 1.7, 3.0] {
            mean_is_as_told(Sizes::Zipf { unit: 100, most: 1000, exponent }, 0.02);
        }
    }

    /// Each rank as often as its weight says, within four standard deviations.
    #[test]
    fn zipf_ranks() {
        for exponent in [0.7, 1.0, 1.7] {
            let count = 200_000;
            let drawn = draws(Sizes::Zipf { unit: 1, most: 50, exponent }, count);
            let weights: Vec<f64> = (1..=50).map(|k| f64::from(k).powf(-exponent)).collect();
            let sum: f64 = weights.iter().sum();
            for (rank, weight) in (1..).zip(weights) {
                let expected = weight / sum * count as f64;
                let found = drawn.iter().filter(|&&size| size == rank).count() as f64;
                assert!((found - expected).abs() < 4.0 * expected.sqrt(), "{exponent}, {rank}: {found}, {expected}");
            }
        }
    }

    /// Half of all log-normal sizes lie below the median; the share of Pareto sizes above x is that of its formula.
    #[test]
    fn shares() {
        let count = 100_000;
        let share =
            |sizes, above: u64| draws(sizes, count).iter().filter(|&&size| size >= above).count() as f64 / count as f64;
        let normal = Sizes::LogNormal { median: 20_000, sigma: 1.5, max: 100_000 };
        assert!((share(normal, 20_000) - 0.5).abs() < 0.01);
        // ln 5 / 1.5 = 1.073 standard deviations: 14.2 % have the largest size.
        assert!((share(normal, 100_000) - 0.142).abs() < 0.005);
        let pareto = Sizes::Pareto { min: 1000, max: 100_000, shape: 1.0 };
        assert!((share(pareto, 10_000) - (0.1 - 0.01) / 0.99).abs() < 0.005);
    }
}
