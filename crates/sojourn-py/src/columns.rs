//! Columns of tables as Python takes them: name, dtype in numpy notation, little-endian bytes, categories.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// One column.
pub type Column<'py> = (&'static str, &'static str, Bound<'py, PyBytes>, Option<Vec<String>>);

/// A value with a fixed little-endian form.
pub trait Value: Copy {
    /// In numpy notation.
    const DTYPE: &'static str;
    /// Adds its bytes.
    fn write(self, bytes: &mut Vec<u8>);
}

macro_rules! value {
    ($($kind:ty: $dtype:literal),*) => {
        $(impl Value for $kind {
            const DTYPE: &'static str = $dtype;
            fn write(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }
        })*
    };
}

value!(u8: "<u1", u32: "<u4", u64: "<u8", f64: "<f8");

/// A column of plain values.
pub fn plain<'py, T: Value>(
    py: Python<'py>,
    name: &'static str,
    values: impl ExactSizeIterator<Item = T>,
) -> Column<'py> {
    let mut bytes = Vec::with_capacity(values.len() * size_of::<T>());
    values.for_each(|value| value.write(&mut bytes));
    (name, T::DTYPE, PyBytes::new(py, &bytes), None)
}

/// A column of codes into `categories`.
pub fn coded<'py, T: Value>(
    py: Python<'py>,
    name: &'static str,
    codes: impl ExactSizeIterator<Item = T>,
    categories: impl IntoIterator<Item = impl Into<String>>,
) -> Column<'py> {
    let (name, dtype, bytes, _) = plain(py, name, codes);
    (name, dtype, bytes, Some(categories.into_iter().map(Into::into).collect()))
}
