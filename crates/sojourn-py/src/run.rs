//! `sojourn._native.Run`.

use crate::columns::{Column, given};
use crate::errors;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sojourn_scenario::Scenario;
use sojourn_sim::{Outcome, PacketLog};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

#[pyclass(frozen, module = "sojourn._native")]
pub struct Run {
    scenario: Arc<Scenario>,
    outcome: Outcome,
}

#[pymethods]
impl Run {
    #[getter]
    fn seed(&self) -> u64 {
        self.outcome.record.seed
    }

    fn record(&self) -> PyResult<String> {
        serde_json::to_string(&self.outcome.record).map_err(errors::defect)
    }

    fn measured(&self) -> PyResult<String> {
        let mut record = self.outcome.record.clone();
        record.flows.clear();
        serde_json::to_string(&record).map_err(errors::defect)
    }

    fn table<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Vec<Column<'py>>> {
        let columns = sojourn_capture::table(&self.scenario, &self.outcome, name).map_err(PyValueError::new_err)?;
        Ok(columns.into_iter().map(|column| given(py, column)).collect())
    }

    fn write_pcap(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let packets = self.packets()?;
        py.detach(|| {
            let mut file = BufWriter::new(File::create(path)?);
            sojourn_capture::write(&mut file, &self.scenario, packets)?;
            file.flush()
        })?;
        Ok(())
    }

    fn write_qlogs(&self, py: Python<'_>, directory: PathBuf) -> PyResult<usize> {
        let decisions = self.outcome.decisions.as_ref();
        let log = decisions.ok_or_else(|| PyValueError::new_err("no decisions were kept"))?;
        Ok(py.detach(|| sojourn_capture::write_qlogs(&directory, &self.scenario, self.seed(), log))?)
    }
}

impl Run {
    /// A run of `scenario`.
    pub fn new(scenario: Arc<Scenario>, outcome: Outcome) -> Run {
        Run { scenario, outcome }
    }

    fn packets(&self) -> PyResult<&PacketLog> {
        self.outcome.packets.as_ref().ok_or_else(|| PyValueError::new_err("no packets were kept"))
    }
}
