//! The bridge to Python: a handful of functions that take and give data.

use pyo3::prelude::*;

#[pymodule]
mod _core {}
