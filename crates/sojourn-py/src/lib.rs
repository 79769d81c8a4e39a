//! The engine as the Python module `sojourn._native`. What it offers is described where Python looks
//! for it, in `python/sojourn/_native.pyi`.

#![allow(clippy::needless_pass_by_value, reason = "PyO3 hands over owned values")]

mod captures;
mod columns;
mod errors;
mod padding;
mod plugins;
mod receivers;
mod replay;
mod run;
mod scenario;
mod senders;
#[cfg(target_os = "linux")]
mod shell;
#[cfg(target_os = "linux")]
mod wire;

use errors::{InputError, Interrupted, PluginError, WireError};
use pyo3::prelude::*;

#[pyfunction]
fn catalogue() -> String {
    sojourn_scenario::catalogue().to_string()
}

#[pyfunction]
fn metrics() -> PyResult<String> {
    serde_json::to_string(&sojourn_sim::metrics()).map_err(errors::defect)
}

#[pyfunction]
fn schema() -> PyResult<String> {
    serde_json::to_string_pretty(&sojourn_scenario::schema()).map_err(errors::defect)
}

#[pyfunction]
fn seconds(py: Python<'_>, what: &str, text: &str) -> PyResult<f64> {
    let span = sojourn_scenario::read_time(what, text).map_err(|problems| errors::input(py, &problems))?;
    Ok(span.as_secs_f64())
}

#[pyfunction]
fn quantity(text: &str) -> Option<(f64, &'static str)> {
    sojourn_scenario::read_quantity(text)
}

#[pyfunction]
fn code_point(name: &str) -> Option<u8> {
    sojourn_scenario::read_code_point(name)
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("__build__", env!("SOJOURN_BUILD"))?;
    module.add("InputError", module.py().get_type::<InputError>())?;
    module.add("Interrupted", module.py().get_type::<Interrupted>())?;
    module.add("PluginError", module.py().get_type::<PluginError>())?;
    module.add("WireError", module.py().get_type::<WireError>())?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<padding::Padding>()?;
    module.add_class::<run::Run>()?;
    module.add_function(wrap_pyfunction!(captures::read_capture, module)?)?;
    module.add_class::<plugins::Ack>()?;
    module.add_class::<plugins::Congestion>()?;
    module.add_class::<plugins::Recovered>()?;
    module.add_class::<plugins::Started>()?;
    module.add_class::<plugins::Packet>()?;
    module.add_class::<plugins::Random>()?;
    module.add_class::<plugins::Flow>()?;
    module.add_class::<plugins::Reply>()?;
    module.add_function(wrap_pyfunction!(plugins::add_control, module)?)?;
    module.add_function(wrap_pyfunction!(plugins::add_discipline, module)?)?;
    module.add_function(wrap_pyfunction!(plugins::add_traffic, module)?)?;
    module.add_function(wrap_pyfunction!(plugins::add_shaper, module)?)?;
    module.add_function(wrap_pyfunction!(plugins::remove_plugin, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue, module)?)?;
    module.add_function(wrap_pyfunction!(metrics, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(seconds, module)?)?;
    module.add_function(wrap_pyfunction!(quantity, module)?)?;
    module.add_function(wrap_pyfunction!(code_point, module)?)?;
    module.add_function(wrap_pyfunction!(replay::replay, module)?)?;
    module.add_function(wrap_pyfunction!(senders::replay_sender, module)?)?;
    module.add_function(wrap_pyfunction!(receivers::replay_receiver, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::load, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::load_json, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::load_ready, module)?)?;
    #[cfg(target_os = "linux")]
    module.add_function(wrap_pyfunction!(wire::wire, module)?)?;
    #[cfg(target_os = "linux")]
    module.add_function(wrap_pyfunction!(shell::shell, module)?)?;
    Ok(())
}
