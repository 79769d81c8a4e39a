//! Controls, disciplines, traffic and controllers of shapers written in Python. What they look like from there: `python/sojourn/plugins.py`.

mod control;
mod descriptor;
mod queue;
mod random;
mod shaper;
mod traffic;

pub use control::{Ack, Congestion, Recovered, Started, add_control};
pub use queue::{Packet, add_discipline};
pub use random::Random;
pub use shaper::{Reply, add_shaper};
pub use traffic::{Flow, add_traffic};

use pyo3::exceptions::PyTimeoutError;
use pyo3::prelude::*;
use sojourn_core::registry::{Origin, Params};
use sojourn_scenario::{Scenario, Traffic};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Longest that one call of a plug-in may take.
const PATIENCE: Duration = Duration::from_secs(10);

thread_local! {
    /// Calls of plug-ins on this thread, counted when they begin and when they end: odd during one.
    static CALLS: Arc<AtomicU64> = Arc::default();
}

/// Takes all plug-ins of this name off the lists; scenarios that were read before keep theirs.
#[pyfunction]
pub fn remove_plugin(name: &str) {
    sojourn_congestion::custom::remove(name);
    sojourn_queue::custom::remove(name);
    sojourn_traffic::custom::remove(name);
    sojourn_shaper::custom::remove(name);
}

/// Whether any queue, control, traffic or controller of shapers of a scenario is a plug-in.
pub fn are_used(scenario: &Scenario) -> bool {
    let links =
        [&scenario.bottleneck].into_iter().chain(&scenario.reverse).chain(scenario.hops.iter().map(|hop| &hop.link));
    let controls = scenario.groups.iter().filter_map(|group| group.control.as_ref());
    let shaper = scenario.shaper.iter().map(|shaper| &shaper.controller);
    links.map(|link| &link.queue).chain(controls).chain(shaper).any(is_plugin)
        || scenario.groups.iter().any(|group| matches!(group.traffic, Traffic::Custom(_)))
}

fn is_plugin(params: &Params) -> bool {
    params.descriptor().origin != Origin::BuiltIn || params.held().any(is_plugin)
}

/// Calls a plug-in, and lets a [`Watch`] see that it does.
fn call<R>(what: impl FnOnce(Python<'_>) -> R) -> R {
    let count = || CALLS.with(|calls| calls.fetch_add(1, Ordering::Relaxed));
    count();
    let answer = Python::attach(what);
    count();
    answer
}

/// Ends a call of a plug-in that takes too long.
pub struct Watch {
    calls: Arc<AtomicU64>,
    /// Of the thread that is watched, as Python counts threads.
    thread: u64,
    seen: u64,
    since: Instant,
}

impl Watch {
    /// Watches the present thread.
    pub fn this_thread(py: Python<'_>) -> PyResult<Watch> {
        let thread = py.import("threading")?.call_method0("get_ident")?.extract()?;
        Ok(Watch { calls: CALLS.with(Arc::clone), thread, seen: 0, since: Instant::now() })
    }

    /// Raises an exception in a call that has lasted too long; to be called now and then.
    pub fn look(&mut self, py: Python<'_>) -> PyResult<()> {
        let calls = self.calls.load(Ordering::Relaxed);
        if calls != self.seen || calls.is_multiple_of(2) {
            (self.seen, self.since) = (calls, Instant::now());
        } else if self.since.elapsed() > PATIENCE {
            self.since = Instant::now();
            self.end_call(py)?;
        }
        Ok(())
    }

    /// Raises an exception in the call that is under way, if one is. What Python offers for that has no safe binding.
    pub fn end_call(&self, py: Python<'_>) -> PyResult<()> {
        if self.calls.load(Ordering::Relaxed).is_multiple_of(2) {
            return Ok(());
        }
        let ctypes = py.import("ctypes")?;
        let set = ctypes.getattr("pythonapi")?.getattr("PyThreadState_SetAsyncExc")?;
        let exception = ctypes.getattr("py_object")?.call1((py.get_type::<PyTimeoutError>(),))?;
        set.call1((ctypes.getattr("c_ulong")?.call1((self.thread,))?, exception))?;
        Ok(())
    }
}

/// What a Python exception says, with the lines of the plug-in that raised it.
fn told(py: Python<'_>, error: &PyErr) -> String {
    let trace = error.traceback(py).and_then(|trace| trace.format().ok());
    if error.is_instance_of::<PyTimeoutError>(py)
        && error.value(py).str().is_ok_and(|text| text.is_empty().unwrap_or(true))
    {
        return format!("no answer within {} s; is there a loop that does not end?", PATIENCE.as_secs());
    }
    let what = error.value(py).str().map_or_else(|_| "?".to_owned(), |text| text.to_string());
    let kind = error.get_type(py).name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
    let text = if what.is_empty() { kind } else { format!("{kind}: {what}") };
    trace.map_or_else(|| text.clone(), |trace| format!("{text}\n{}", trace.trim_end()))
}

/// The numbers that the method `probe` of a plug-in shows.
fn probes(py: Python<'_>, plugin: &Py<PyAny>) -> Vec<(String, f64)> {
    plugin
        .bind(py)
        .call_method0("probe")
        .and_then(|shown| shown.call_method0("items")?.extract_items())
        .unwrap_or_default()
}

trait Items {
    fn extract_items(&self) -> PyResult<Vec<(String, f64)>>;
}

impl Items for Bound<'_, PyAny> {
    fn extract_items(&self) -> PyResult<Vec<(String, f64)>> {
        self.try_iter()?.map(|item| item?.extract()).collect()
    }
}
