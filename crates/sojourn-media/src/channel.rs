//! What a station's channel does over time.
//!
//! It is a function of time, made of random waves when a run begins: who else sends, and when, changes nothing in it.

use sojourn_core::Stream;
use std::f64::consts::TAU;

/// Waves of which Rayleigh fading and shadowing are made.
const SCATTERERS: usize = 12;
const HILLS: usize = 24;
/// The way after which shadowing is correlated by 1/e (Gudmundson, 1991, found 40 m to 500 m; 3GPP TR 36.814 has 50 m in
/// macro cells).
const CORRELATION_M: f64 = 50.0;
const LIGHT_M_PER_S: f64 = 299_792_458.0;

/// A wave: how often it goes round, in Hz or per metre, and where it begins, in rounds.
#[derive(Clone, Copy, Debug)]
struct Wave {
    frequency: f64,
    phase: f64,
}

impl Wave {
    /// Its angle at `x`.
    fn angle(&self, x: f64) -> f64 {
        let rounds = self.frequency * x + self.phase;
        TAU * (rounds - libm::floor(rounds))
    }
}

/// Slow fading over the way that a station has come: normal in dB, with an exponential correlation.
#[derive(Clone, Debug)]
pub(crate) struct Shadowing {
    sd_db: f64,
    speed_m_per_s: f64,
    hills: [Wave; HILLS],
}

impl Shadowing {
    /// With standard deviation `sd_db`. An exponential correlation has a spectrum of Cauchy's shape, from which the waves
    /// are drawn.
    pub fn new(sd_db: f64, speed_m_per_s: f64, random: &mut Stream) -> Shadowing {
        let hills = std::array::from_fn(|index| {
            let place = (index as f64 + random.uniform()) / HILLS as f64;
            let frequency = libm::tan(std::f64::consts::PI * (place - 0.5)) / (TAU * CORRELATION_M);
            Wave { frequency, phase: random.uniform() }
        });
        Shadowing { sd_db, speed_m_per_s, hills }
    }

    fn db(&self, seconds: f64) -> f64 {
        let x = self.speed_m_per_s * seconds;
        let sum: f64 = self.hills.iter().map(|wave| libm::cos(wave.angle(x))).sum();
        self.sd_db * libm::sqrt(2.0 / HILLS as f64) * sum
    }
}

/// A channel that fades: Rayleigh's, by Clarke's model of many scatterers around a moving station, times shadowing. Each
/// antenna has fading of its own, and the receiver adds up what they get.
#[derive(Clone, Debug)]
pub(crate) struct Fading {
    mean_db: f64,
    /// Of each antenna.
    scatterers: Vec<[Wave; SCATTERERS]>,
    shadowing: Shadowing,
}

impl Fading {
    /// Around a mean SNR of `mean_db`, of all `antennas` together and without shadowing, on a carrier of `carrier_hz`.
    pub fn new(mean_db: f64, antennas: u32, carrier_hz: f64, shadowing: Shadowing, random: &mut Stream) -> Fading {
        let doppler = shadowing.speed_m_per_s * carrier_hz / LIGHT_M_PER_S;
        let mut scatterer = |index| {
            let angle = TAU * (index as f64 + random.uniform()) / SCATTERERS as f64;
            Wave { frequency: doppler * libm::cos(angle), phase: random.uniform() }
        };
        let scatterers = (0..antennas).map(|_| std::array::from_fn(&mut scatterer)).collect();
        Fading { mean_db, scatterers, shadowing }
    }

    /// The SNR, as a ratio.
    pub fn snr(&self, seconds: f64) -> f64 {
        let gain = |antenna: &[Wave; SCATTERERS]| {
            let (mut real, mut imaginary) = (0.0, 0.0);
            for wave in antenna {
                let (sine, cosine) = libm::sincos(wave.angle(seconds));
                real += cosine;
                imaginary += sine;
            }
            (real * real + imaginary * imaginary) / SCATTERERS as f64
        };
        let mean = self.scatterers.iter().map(gain).sum::<f64>() / self.scatterers.len() as f64;
        mean * libm::pow(10.0, (self.mean_db + self.shadowing.db(seconds)) / 10.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fading(seed: u64, sd_db: f64, speed: f64) -> Fading {
        let shadowing = Shadowing::new(sd_db, speed, &mut Stream::new(seed, "shadowing"));
        Fading::new(0.0, 1, 2e9, shadowing, &mut Stream::new(seed, "fading"))
    }

    /// Rayleigh: the power is exponential, with mean 1, so that it is below 0.1 in 1 - exp(-0.1) of the time.
    #[test]
    fn the_power_of_rayleigh_fading_is_exponential() {
        let powers: Vec<f64> = (0..200)
            .flat_map(|seed| {
                let fading = fading(seed, 0.0, 20.0);
                (0..200).map(move |index| fading.snr(f64::from(index) * 0.037))
            })
            .collect();
        let mean = powers.iter().sum::<f64>() / powers.len() as f64;
        let below = |level: f64| powers.iter().filter(|&&power| power < level).count() as f64 / powers.len() as f64;
        assert!((mean - 1.0).abs() < 0.03, "{mean}");
        for level in [0.01, 0.1, 1.0, 3.0] {
            let expected = 1.0 - libm::exp(-level);
            assert!((below(level) / expected - 1.0).abs() < 0.1, "{level}: {} and {expected}", below(level));
        }
    }

    /// Clarke: the amplitude's correlation over a time t is J0(2 pi f t), which is first zero at 2.405.
    #[test]
    fn fading_is_as_fast_as_the_station() {
        let correlation = |rounds: f64| {
            let of = |seed| {
                let fading = fading(seed, 0.0, 15.0);
                let doppler = 15.0 * 2e9 / LIGHT_M_PER_S;
                let at = |t: f64| {
                    fading.scatterers[0].iter().fold((0.0, 0.0), |(re, im), wave| {
                        let (sine, cosine) = libm::sincos(wave.angle(t));
                        (re + cosine, im + sine)
                    })
                };
                let ((a, b), (c, d)) = (at(1.0), at(1.0 + rounds / (TAU * doppler)));
                (a * c + b * d) / SCATTERERS as f64
            };
            (0..4_000).map(of).sum::<f64>() / 4_000.0
        };
        for (rounds, bessel) in [(0.0, 1.0), (1.0, 0.7652), (2.405, 0.0), (3.83, -0.4028)] {
            assert!((correlation(rounds) - bessel).abs() < 0.05, "{rounds}: {}", correlation(rounds));
        }
    }

    #[test]
    fn shadowing_is_correlated_over_the_way() {
        let both = |metres: f64| {
            let pairs: Vec<_> = (0..4_000)
                .map(|seed| {
                    let shadowing = Shadowing::new(6.0, 1.0, &mut Stream::new(seed, "shadowing"));
                    (shadowing.db(10.0), shadowing.db(10.0 + metres))
                })
                .collect();
            let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len() as f64;
            (libm::sqrt(mean(|(a, _)| a * a)), mean(|(a, b)| a * b) / 36.0)
        };
        for (metres, expected) in [(0.0, 1.0), (25.0, 0.6065), (50.0, 0.3679), (150.0, 0.0498)] {
            let (sd, correlation) = both(metres);
            assert!((sd - 6.0).abs() < 0.2 && (correlation - expected).abs() < 0.05, "{metres}: {sd}, {correlation}");
        }
    }
}
