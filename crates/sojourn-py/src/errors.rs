//! The engine's errors as Python exceptions.

use pyo3::exceptions::{PyException, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use sojourn_scenario::{Diagnostic, Diagnostics};
use std::fmt::Display;

pyo3::create_exception!(sojourn, InputError, PyValueError, "The input is wrong; `diagnostics` says what and where.");
pyo3::create_exception!(sojourn, Interrupted, PyException, "A run was cancelled.");
pyo3::create_exception!(sojourn, PluginError, PyRuntimeError, "A plug-in failed; the text says which, where and when.");
pyo3::create_exception!(
    sojourn,
    WireError,
    PyException,
    "Endpoints on sockets failed; `fault` says whose fault it is."
);

/// An [`InputError`] with all `problems`.
pub fn input(py: Python<'_>, problems: &Diagnostics) -> PyErr {
    let error = InputError::new_err(problems.to_string());
    match diagnostics(py, problems.list()).and_then(|list| error.value(py).setattr("diagnostics", list)) {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// An [`InputError`] for the name of a ready scenario that there is not.
pub fn unnamed(py: Python<'_>, name: &str) -> PyErr {
    let error = InputError::new_err(format!("no ready scenario is called {name:?}"));
    match error.value(py).setattr("diagnostics", PyList::empty(py)) {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// A [`WireError`] that says whose fault it is.
#[cfg(target_os = "linux")]
pub fn wire(py: Python<'_>, problem: &sojourn_wire::WireError) -> PyErr {
    let error = WireError::new_err(problem.message.clone());
    match error.value(py).setattr("fault", problem.fault.name()) {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// What should not happen.
pub fn defect(error: impl Display) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

fn diagnostics<'py>(py: Python<'py>, problems: &[Diagnostic]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for problem in problems {
        let entry = PyDict::new(py);
        entry.set_item("file", &problem.file)?;
        entry.set_item("line", problem.line)?;
        entry.set_item("key", &problem.key)?;
        entry.set_item("found", &problem.found)?;
        entry.set_item("allowed", &problem.allowed)?;
        entry.set_item("nearest", &problem.nearest)?;
        entry.set_item("message", problem.message())?;
        list.append(entry)?;
    }
    Ok(list)
}
