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
    bins: Box<[Bin]>,
}

/// One frequency.
#[derive(Clone, Copy, Debug)]
struct Bin {
    /// exp(2 pi i k/N).
    turn: [f64; 2],
    value: [f64; 2],
}

impl Bin {
    fn magnitude(&self) -> f64 {
        libm::hypot(self.value[0], self.value[1])
    }
}

impl Spectrum {
    /// With pulses of which `pulses` fit into the samples.
    pub(super) fn new(pulses: usize) -> Spectrum {
        let bin = |k: usize| {
            let angle = 2.0 * PI * k as f64 / SAMPLES as f64;
            Bin { turn: [libm::cos(angle), libm::sin(angle)], value: [0.0; 2] }
        };
        Spectrum {
            samples: vec![0.0; SAMPLES].into_boxed_slice(),
            place: 0,
            count: 0,
            sum: 0.0,
            bins: (pulses..2 * pulses).map(bin).collect(),
        }
    }

    /// Forgets all samples.
    pub(super) fn clear(&mut self) {
        self.samples.fill(0.0);
        (self.place, self.count, self.sum) = (0, 0, 0.0);
        for bin in &mut self.bins {
            bin.value = [0.0; 2];
        }
    }

    /// Takes a sample, in place of the oldest.
    pub(super) fn push(&mut self, sample: f64) {
        let change = sample - core::mem::replace(&mut self.samples[self.place], sample);
        self.place = (self.place + 1) % SAMPLES;
        self.count = (self.count + 1).min(SAMPLES);
        self.sum += change;
        for Bin { turn, value } in &mut self.bins {
            let real = value[0] + change;
            *value = [real * turn[0] - value[1] * turn[1], real * turn[1] + value[1] * turn[0]];
        }
    }

    /// The mean of the samples, once there are enough.
    pub(super) fn mean(&self) -> Option<f64> {
        (self.count == SAMPLES).then(|| self.sum / SAMPLES as f64)
    }

    /// Elasticity: the part at the pulses' frequency over the largest between that and twice that, once there are enough samples.
    pub(super) fn elasticity(&self) -> Option<f64> {
        let (pulses, others) = self.bins.split_first()?;
        let most = others.iter().map(Bin::magnitude).fold(0.0, f64::max);
        (self.count == SAMPLES).then(|| pulses.magnitude() / most.max(f64::MIN_POSITIVE))
    }
}
