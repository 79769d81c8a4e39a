//! The spectrum of what others send, and the elasticity that follows from it.

use alloc::boxed::Box;
use alloc::vec;
use core::f64::consts::PI;

/// Samples of a transform: 5 s.
pub(super) const SAMPLES: usize = 500;
/// Samples of a second.
pub(super) const RATE_HZ: f64 = 100.0;

/// The Fourier transform of the last samples at the frequency of the pulses and at those from there to twice that, kept up to
/// date with each sample (sliding discrete Fourier transform). A whole number of pulses fits into the samples, so their
/// mean has no part in it.
#[derive(Clone, Debug)]
pub(super) struct Spectrum {
    samples: Box<[f64]>,
    /// Where the next sample goes.
    place: usize,
    /// How many there are.
    count: usize,
    sum: f64,
    bins: Bins,
}

/// The frequencies: real and imaginary parts apart, so that a processor takes several of them at once.
#[derive(Clone, Debug)]
struct Bins {
    /// exp(2 pi i k/N).
    turns: [Box<[f64]>; 2],
    values: [Box<[f64]>; 2],
}

impl Bins {
    /// Nothing at all at any frequency.
    fn clear(&mut self) {
        self.values.iter_mut().for_each(|part| part.fill(0.0));
    }

    /// The oldest sample goes, one larger by `change` comes, and what all have turns by the time of a sample.
    fn push(&mut self, change: f64) {
        let ([cosines, sines], [reals, imaginaries]) = (&self.turns, &mut self.values);
        for (((real, imaginary), cosine), sine) in reals.iter_mut().zip(imaginaries).zip(cosines).zip(sines) {
            let changed = *real + change;
            (*real, *imaginary) = (changed * cosine - *imaginary * sine, changed * sine + *imaginary * cosine);
        }
    }

    /// Real and imaginary parts, from the lowest frequency on.
    fn values(&self) -> impl Iterator<Item = (f64, f64)> {
        let [reals, imaginaries] = &self.values;
        reals.iter().copied().zip(imaginaries.iter().copied())
    }
}

impl Spectrum {
    /// With pulses of which `pulses` fit into the samples.
    pub(super) fn new(pulses: usize) -> Spectrum {
        let turns = |part: fn(f64) -> f64| -> Box<[f64]> {
            (pulses..2 * pulses).map(|k| part(2.0 * PI * k as f64 / SAMPLES as f64)).collect()
        };
        let zeros = || vec![0.0; pulses].into_boxed_slice();
        Spectrum {
            samples: vec![0.0; SAMPLES].into_boxed_slice(),
            place: 0,
            count: 0,
            sum: 0.0,
            bins: Bins { turns: [turns(libm::cos), turns(libm::sin)], values: [zeros(), zeros()] },
        }
    }

    /// All magnitudes, from that at the pulses' frequency on.
    #[cfg(test)]
    pub(super) fn magnitudes(&self) -> impl Iterator<Item = f64> {
        self.bins.values().map(|(real, imaginary)| libm::hypot(real, imaginary))
    }

    /// Forgets all samples.
    pub(super) fn clear(&mut self) {
        if self.count == 0 {
            return;
        }
        self.samples.fill(0.0);
        (self.place, self.count, self.sum) = (0, 0, 0.0);
        self.bins.clear();
    }

    /// Takes a sample, in place of the oldest.
    pub(super) fn push(&mut self, sample: f64) {
        let change = sample - core::mem::replace(&mut self.samples[self.place], sample);
        self.place = (self.place + 1) % SAMPLES;
        self.count = (self.count + 1).min(SAMPLES);
        self.sum += change;
        self.bins.push(change);
    }

    /// The mean of the samples, once there are enough.
    pub(super) fn mean(&self) -> Option<f64> {
        (self.count == SAMPLES).then(|| self.sum / SAMPLES as f64)
    }

    /// Elasticity: the part at the pulses' frequency over the largest between that and twice that, once there are enough samples.
    pub(super) fn elasticity(&self) -> Option<f64> {
        if self.count < SAMPLES {
            return None;
        }
        let square = |(real, imaginary): (f64, f64)| real * real + imaginary * imaginary;
        let magnitude = |(real, imaginary): (f64, f64)| libm::hypot(real, imaginary);
        let mut values = self.bins.values();
        let pulses = magnitude(values.next()?);
        // Of the others the exact magnitude, which costs most, is asked of those that may be the largest.
        let enough = 0.999_999 * self.bins.values().skip(1).map(square).fold(0.0, f64::max);
        let largest = values.filter(|value| square(*value) >= enough).map(magnitude).fold(0.0, f64::max);
        Some(pulses / largest.max(f64::MIN_POSITIVE))
    }
}
