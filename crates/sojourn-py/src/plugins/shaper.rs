//! Controllers of a gateway's shaper written in Python.

use super::descriptor::{About, descriptor, values};
use super::{call, probes, told};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use sojourn_core::registry::{ParameterError, Params};
use sojourn_core::{Rate, Span};
use sojourn_shaper::custom::{self, Plugged};
use sojourn_shaper::{BothWays, Gateway, Seen};
use std::sync::Arc;

/// The fastest that a link may be, as in a scenario.
const FASTEST: f64 = 1e12;

/// The answer to a ping.
#[pyclass(frozen, module = "sojourn._native")]
pub struct Reply(sojourn_shaper::Reply);

#[pymethods]
impl Reply {
    #[getter]
    fn at_ns(&self) -> u64 {
        self.0.at.as_nanos()
    }

    #[getter]
    fn reflector(&self) -> u32 {
        self.0.reflector
    }

    #[getter]
    fn rtt_ns(&self) -> u64 {
        (self.0.delays[0] + self.0.delays[1]).as_nanos()
    }

    #[getter]
    fn delays_ns(&self) -> (u64, u64) {
        let [forward, reverse] = self.0.delays.map(Span::as_nanos);
        (forward, reverse)
    }
}

/// The arguments of `step` by name, and whether it shows its state.
#[derive(FromPyObject, Debug)]
pub struct Behaviour {
    step: Vec<String>,
    probe: bool,
}

#[derive(Debug)]
struct Class {
    make: Py<PyAny>,
    behaviour: Behaviour,
}

#[pyfunction]
pub fn add_shaper(about: About, behaviour: Behaviour, make: Py<PyAny>) -> PyResult<()> {
    let descriptor = descriptor(about)?;
    let class = Arc::new(Class { make, behaviour });
    let make = move |params: &Params, gateway: &Gateway| {
        call(|py| {
            PythonShaper::new(py, class.clone(), params, gateway)
                .map_err(|error| ParameterError::new("kind", told(py, &error)))
        })
    };
    custom::add(descriptor, make).map_err(|_| {
        let message = format!("shaper {:?}: a built-in controller has this name; choose another", descriptor.name);
        PyValueError::new_err(message)
    })
}

/// A controller whose methods are Python's.
#[derive(Debug)]
struct PythonShaper {
    class: Arc<Class>,
    plugin: Py<PyAny>,
}

impl PythonShaper {
    fn new(py: Python<'_>, class: Arc<Class>, params: &Params, gateway: &Gateway) -> PyResult<PythonShaper> {
        let about = PyDict::new(py);
        about.set_item("base_bps", gateway.base.map(Rate::bits_per_second))?;
        about.set_item("packet_bytes", gateway.packet_bytes)?;
        let plugin = class.make.call1(py, (values(py, params)?, about, py.None()))?;
        Ok(PythonShaper { class, plugin })
    }

    fn ask(&self, py: Python<'_>, seen: &Seen<'_>) -> PyResult<BothWays<Rate>> {
        let value = |name: &String| match name.as_str() {
            "replies" => {
                let replies: Vec<Reply> = seen.replies.iter().map(|&reply| Reply(reply)).collect();
                replies.into_bound_py_any(py)
            }
            "sent_bytes" => (seen.sent_bytes[0], seen.sent_bytes[1]).into_bound_py_any(py),
            _ => seen.now.as_nanos().into_bound_py_any(py),
        };
        let arguments = self.class.behaviour.step.iter().map(value).collect::<PyResult<Vec<_>>>()?;
        let answer = self.plugin.bind(py).call_method1("step", PyTuple::new(py, arguments)?)?;
        let rates: Option<BothWays<f64>> = answer.extract().ok();
        let rates = rates.filter(|rates| rates.iter().all(|rate| (1.0..=FASTEST).contains(rate)));
        let [forward, reverse] = rates.ok_or_else(|| {
            let found = answer.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
            let allowed = "two rates from 1 to 1e12 bit/s, of the bottleneck and of the return link";
            PyValueError::new_err(format!("it returned {found}; allowed: {allowed}"))
        })?;
        let rate = |rate: f64| Rate::from_bits_per_second(rate as u64).expect("it is at least 1");
        Ok([rate(forward), rate(reverse)])
    }
}

impl Plugged for PythonShaper {
    fn step(&mut self, seen: &Seen<'_>) -> Result<BothWays<Rate>, String> {
        call(|py| self.ask(py, seen).map_err(|error| told(py, &error)))
    }

    /// Its numbers are those of both directions: the first has them.
    fn probe(&self, way: usize, visit: &mut dyn FnMut(&str, f64)) {
        if way == 0 && self.class.behaviour.probe {
            let shown = call(|py| probes(py, &self.plugin));
            shown.iter().for_each(|(name, value)| visit(name, *value));
        }
    }
}
