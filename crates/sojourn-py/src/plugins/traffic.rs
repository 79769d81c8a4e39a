//! Kinds of traffic written in Python.

use super::descriptor::{About, descriptor, values};
use super::{Random, call, told};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use sojourn_core::registry::{ParameterError, Params};
use sojourn_core::{Stream, Time};
use sojourn_traffic::custom::{self, Plugged, Wishes};
use sojourn_traffic::{Arrived, Surroundings};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The time of the call that is under way, and what was asked for in it.
type Asked = Arc<Mutex<(Option<Time>, Wishes)>>;

fn lock(asked: &Asked) -> MutexGuard<'_, (Option<Time>, Wishes)> {
    asked.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The flow of an application.
#[pyclass(frozen, module = "sojourn._native")]
pub struct Flow {
    #[pyo3(get)]
    payload_bytes: u32,
    #[pyo3(get)]
    connections: u32,
    asked: Asked,
}

#[pymethods]
impl Flow {
    #[pyo3(signature = (size_bytes, *, since_ns = None))]
    fn send(&self, size_bytes: &Bound<'_, PyAny>, since_ns: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let bytes = size(size_bytes)?;
        self.ask(since_ns, |wishes, since| wishes.send(bytes, since))
    }

    fn send_forever(&self) -> PyResult<()> {
        self.ask(None, |wishes, _| wishes.send_forever())
    }

    #[pyo3(signature = (size_bytes = None, connection = 0, *, since_ns = None))]
    fn connect(
        &self,
        size_bytes: Option<&Bound<'_, PyAny>>,
        connection: u32,
        since_ns: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let bytes = size_bytes.map(size).transpose()?;
        self.ask(since_ns, |wishes, since| wishes.connect(connection, bytes, since))
    }

    fn pause(&self) -> PyResult<()> {
        self.ask(None, |wishes, _| wishes.pause())
    }
}

impl Flow {
    fn ask(&self, since: Option<&Bound<'_, PyAny>>, ask: impl FnOnce(&mut Wishes, Time)) -> PyResult<()> {
        let since = since.map(|since| nanos("since_ns", since)).transpose()?;
        let (now, wishes) = &mut *lock(&self.asked);
        let Some(now) = *now else {
            return Err(PyValueError::new_err("the flow is asked to send outside of start, on_timer and on_arrived"));
        };
        ask(wishes, since.unwrap_or(now));
        Ok(())
    }
}

/// A number of bytes; what is random may have a fraction.
fn size(found: &Bound<'_, PyAny>) -> PyResult<u64> {
    whole(found).filter(|&bytes| bytes > 0).ok_or_else(|| wrong("size_bytes", found, "a number of bytes, 1 or more"))
}

/// A time as a number of nanoseconds; what is random may have a fraction.
fn nanos(name: &str, found: &Bound<'_, PyAny>) -> PyResult<Time> {
    whole(found).map(Time::from_nanos).ok_or_else(|| wrong(name, found, "a number of nanoseconds, 0 or more"))
}

fn whole(found: &Bound<'_, PyAny>) -> Option<u64> {
    let rounded =
        || found.extract().ok().filter(|real: &f64| (0.0..1e18).contains(real)).map(|real| real.round() as u64);
    found.extract().ok().or_else(rounded)
}

fn wrong(name: &str, found: &Bound<'_, PyAny>, allowed: &str) -> PyErr {
    let found = found.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
    PyValueError::new_err(format!("{name}: found {found}; allowed: {allowed}"))
}

/// The arguments of each method by name; none of a method that there is not.
#[derive(FromPyObject, Debug)]
pub struct Behaviour {
    start: Vec<String>,
    on_timer: Option<Vec<String>>,
    on_arrived: Option<Vec<String>>,
    streams: Vec<String>,
}

#[derive(Debug)]
struct Class {
    make: Py<PyAny>,
    takes: Behaviour,
}

#[pyfunction]
pub fn add_traffic(about: About, behaviour: Behaviour, make: Py<PyAny>) -> PyResult<()> {
    let descriptor = descriptor(about)?;
    let class = Arc::new(Class { make, takes: behaviour });
    let make = move |params: &Params, about: Surroundings, stream: &dyn Fn(&str) -> Stream| {
        call(|py| {
            PythonTraffic::new(py, class.clone(), params, about, stream)
                .map_err(|error| ParameterError::new("kind", told(py, &error)))
        })
    };
    custom::add(descriptor, make).map_err(|_| {
        let message = format!("traffic {:?}: a built-in kind has this name; choose another", descriptor.name);
        PyValueError::new_err(message)
    })
}

/// An application whose methods are Python's.
#[derive(Debug)]
struct PythonTraffic {
    class: Arc<Class>,
    plugin: Py<PyAny>,
    asked: Asked,
    timer: Option<Time>,
    error: Option<String>,
}

impl PythonTraffic {
    fn new(
        py: Python<'_>,
        class: Arc<Class>,
        params: &Params,
        about: Surroundings,
        stream: &dyn Fn(&str) -> Stream,
    ) -> PyResult<PythonTraffic> {
        let asked = Asked::default();
        let connections = sojourn_scenario::Traffic::Custom(params.clone()).connections();
        let flow = Flow { payload_bytes: about.payload_bytes, connections, asked: asked.clone() };
        let streams: Vec<Random> = class.takes.streams.iter().map(|name| Random::new(stream(name))).collect();
        let plugin = class.make.call1(py, (values(py, params)?, flow, streams))?;
        Ok(PythonTraffic { class, plugin, asked, timer: None, error: None })
    }

    /// Calls a method that takes `names`, and takes over what it asks for and when it wants to be called next.
    fn tell(&mut self, method: &str, names: &[String], now: Time, arrived: Option<Arrived>, wishes: &mut Wishes) {
        *lock(&self.asked) = (Some(now), Wishes::default());
        let timer = call(|py| {
            let timer = self.tell_python(py, method, names, now, arrived);
            timer.map_err(|error| told(py, &error))
        });
        match timer {
            Ok(timer) => self.timer = timer,
            Err(error) => self.error = Some(error),
        }
        *wishes = std::mem::take(&mut *lock(&self.asked)).1;
    }

    fn tell_python(
        &self,
        py: Python<'_>,
        method: &str,
        names: &[String],
        now: Time,
        arrived: Option<Arrived>,
    ) -> PyResult<Option<Time>> {
        let plugin = self.plugin.bind(py);
        let timer = intern!(py, "timer_ns");
        if method == "on_timer" {
            plugin.setattr(timer, py.None())?;
        }
        let value = |name: &String| match (name.as_str(), arrived) {
            ("connection", Some(arrived)) => arrived.connection.into_bound_py_any(py),
            ("delivered_bytes", Some(arrived)) => arrived.delivered_bytes.into_bound_py_any(py),
            _ => now.as_nanos().into_bound_py_any(py),
        };
        let arguments = names.iter().map(value).collect::<PyResult<Vec<_>>>()?;
        plugin.call_method1(method, PyTuple::new(py, arguments)?)?;
        let found = plugin.getattr(timer)?;
        if found.is_none() {
            return Ok(None);
        }
        if self.class.takes.on_timer.is_none() {
            return Err(PyValueError::new_err("timer_ns is set, and there is no method on_timer"));
        }
        nanos("timer_ns", &found).map(Some)
    }
}

impl Plugged for PythonTraffic {
    fn start(&mut self, now: Time, wishes: &mut Wishes) {
        let class = self.class.clone();
        self.tell("start", &class.takes.start, now, None, wishes);
    }

    fn on_timer(&mut self, now: Time, wishes: &mut Wishes) {
        let class = self.class.clone();
        let names = class.takes.on_timer.as_deref().expect("only those with this method have a timer");
        self.tell("on_timer", names, now, None, wishes);
    }

    fn on_arrived(&mut self, now: Time, arrived: Arrived, wishes: &mut Wishes) {
        let class = self.class.clone();
        if let Some(names) = &class.takes.on_arrived {
            self.tell("on_arrived", names, now, Some(arrived), wishes);
        }
    }

    fn timer(&self) -> Option<Time> {
        self.timer
    }

    fn take_error(&mut self) -> Option<String> {
        self.error.take()
    }
}
