//! `sojourn._native.read_capture`.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sojourn_capture::read;

/// The ends of a connection: its number, its protocol, address and port of both.
type Ends<'py> = (u32, u8, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// Rows, connections, packets of any kind, link types, and why the reading ended before the end of the file.
type Captured<'py> = (Bound<'py, PyBytes>, Vec<Ends<'py>>, u64, Vec<u32>, Option<String>);

/// Reads a capture and at most so many packets of it.
#[pyfunction]
pub fn read_capture<'py>(py: Python<'py>, data: &[u8], most: u64) -> Captured<'py> {
    let found = py.detach(|| read::read(data, most));
    let ends = |end: read::End| PyBytes::new(py, &end.to_bytes());
    let connections = found
        .connections
        .iter()
        .map(|(number, connection)| (*number, connection.protocol, ends(connection.ends[0]), ends(connection.ends[1])))
        .collect();
    (PyBytes::new(py, &found.rows), connections, found.packets, found.links.into_iter().collect(), found.damage)
}
