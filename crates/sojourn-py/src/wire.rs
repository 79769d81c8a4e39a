//! `sojourn._native.wire`.

use crate::errors;
use pyo3::prelude::*;
use sojourn_wire::{Plan, run};

/// Runs until the plan's end or a signal.
#[pyfunction]
pub fn wire(py: Python<'_>, plan_json: &str) -> PyResult<String> {
    let plan = Plan::read(plan_json).map_err(|problem| errors::wire(py, &problem))?;
    let mut signal = None;
    let report = py.detach(|| {
        // The method itself is not general enough in its lifetime.
        #[allow(clippy::redundant_closure_for_method_calls)]
        run(&plan, &mut || match Python::attach(|py| py.check_signals()) {
            Ok(()) => true,
            Err(error) => {
                signal = Some(error);
                false
            }
        })
    });
    if let Some(error) = signal {
        return Err(error);
    }
    let report = report.map_err(|problem| errors::wire(py, &problem))?;
    serde_json::to_string(&report).map_err(errors::defect)
}
