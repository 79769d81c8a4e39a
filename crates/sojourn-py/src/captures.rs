//! `sojourn._native.read_capture`.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sojourn_capture::read;
use std::fs::File;
use std::path::PathBuf;

/// The ends of a connection: its number, its protocol, address and port of both.
type Ends<'py> = (u32, u8, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// Rows in parts, connections, packets of any kind, link types, and why the reading ended before the end of the file.
type Captured<'py> = (Vec<Bound<'py, PyBytes>>, Vec<Ends<'py>>, u64, Vec<u32>, Option<String>);

/// Reads a capture and at most so many packets of it.
#[pyfunction]
pub fn read_capture(py: Python<'_>, path: PathBuf, most: u64) -> PyResult<Captured<'_>> {
    let found = py.detach(|| File::open(path).map(|file| read::read(file, most)))?;
    let ends = |end: read::End| PyBytes::new(py, &end.to_bytes());
    let connections = found
        .connections
        .iter()
        .map(|(number, connection)| (*number, connection.protocol, ends(connection.ends[0]), ends(connection.ends[1])))
        .collect();
    // Each part is freed before the next one is copied.
    let rows = found.rows.into_iter().map(|part| PyBytes::new(py, &part)).collect();
    Ok((rows, connections, found.packets, found.links.into_iter().collect(), found.damage))
}
