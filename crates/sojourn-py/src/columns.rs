//! Columns of tables as Python takes them: name, dtype in numpy notation, little-endian bytes, categories.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sojourn_capture::Value;

/// One column.
pub type Column<'py> = (&'static str, &'static str, Bound<'py, PyBytes>, Option<Vec<String>>);

/// A column for Python.
pub fn given(py: Python<'_>, column: sojourn_capture::Column) -> Column<'_> {
    (column.name, column.dtype, PyBytes::new(py, &column.values), column.categories)
}

/// A column of plain values.
pub fn plain<'py, T: Value>(
    py: Python<'py>,
    name: &'static str,
    values: impl ExactSizeIterator<Item = T>,
) -> Column<'py> {
    given(py, sojourn_capture::plain(name, values))
}

/// A column of codes into `categories`.
pub fn coded<'py, T: Value>(
    py: Python<'py>,
    name: &'static str,
    codes: impl ExactSizeIterator<Item = T>,
    categories: impl IntoIterator<Item = impl Into<String>>,
) -> Column<'py> {
    given(py, sojourn_capture::coded(name, codes, categories))
}
