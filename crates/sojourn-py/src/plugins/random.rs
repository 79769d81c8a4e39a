//! A random stream of the run, for plug-ins.

use pyo3::prelude::*;
use sojourn_core::Stream;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A random stream that depends on the run's seed and on whose it is, and on nothing else.
#[pyclass(frozen, module = "sojourn._native")]
pub struct Random {
    stream: Mutex<Stream>,
}

impl Random {
    /// One that draws from `stream`.
    pub fn new(stream: Stream) -> Random {
        Random { stream: Mutex::new(stream) }
    }

    fn stream(&self) -> MutexGuard<'_, Stream> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Random {
    fn bits(&self) -> u64 {
        self.stream().bits()
    }

    #[pyo3(signature = (low = 0.0, high = 1.0))]
    fn uniform(&self, low: f64, high: f64) -> f64 {
        self.stream().uniform_between(low, high)
    }

    fn exponential(&self, mean: f64) -> f64 {
        self.stream().exponential(mean)
    }

    fn normal(&self) -> f64 {
        self.stream().normal()
    }

    fn chance(&self, probability: f64) -> bool {
        self.stream().chance(probability)
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Random {
        Random::new(self.stream().clone())
    }
}
