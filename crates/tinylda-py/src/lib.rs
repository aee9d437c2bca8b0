//! The extension module `tinylda._core` of the Python package.
//!
//! It is a thin layer over the library: classes that hold a corpus or a model, and functions that
//! run its operations without the interpreter lock. Names, defaults, documentation and everything
//! about other Python packages are in `python/tinylda`. Start with `call`.

#![allow(missing_docs, reason = "the Python layer documents the API")]
#![allow(clippy::needless_pass_by_value, reason = "arguments from Python are passed by value")]

mod allocator;
mod arrow;
mod call;
mod corpus;
mod errors;
mod ingest;
mod model;
mod python_code;
mod sweep;
mod train;

use std::ffi::OsString;
use std::process::ExitCode;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Runs the program `tinylda` with these arguments, the first of which is its name. Returns the
/// exit code.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    let code = py.detach(|| tinylda_cli::main(arguments));
    // The type has no accessor: a successful run has code 0, and no other code is equal to it.
    (0..=u8::MAX).find(|&n| ExitCode::from(n) == code).unwrap_or(1)
}

/// Returns the memory in bytes that tinylda uses by default.
#[pyfunction]
fn default_memory() -> Option<u64> {
    tinylda_cli::default_memory()
}

/// Parses a memory size such as `2GiB` or `50%`, as the program does. Returns bytes.
#[pyfunction]
fn parse_memory(text: &str) -> PyResult<u64> {
    tinylda_cli::parse_memory(text).map_err(PyValueError::new_err)
}

/// Returns the number of threads that can run at the same time: the cores that this process may
/// use, and no more than its CPU quota.
#[pyfunction]
fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Spells a parameter of the library as a keyword argument, as messages do.
#[pyfunction]
#[pyo3(signature = (name, value=None))]
fn keyword(name: &str, value: Option<&str>) -> String {
    errors::keyword(name, value)
}

#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::corpus::Corpus;
    #[pymodule_export]
    use super::ingest::{TextFile, import, import_for_model, write_texts};
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::sweep::sweep;
    #[pymodule_export]
    use super::train::{plan, settings, train};
    #[pymodule_export]
    use super::{available_threads, default_memory, keyword, main, parse_memory};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
