//! Runs Python code from Rust so that a process ends cleanly while a daemon thread is in it.
//!
//! Before Python 3.14, an interpreter that ends lets a daemon thread exit where it waits for the
//! interpreter lock. That unwinds the stack of the thread, and a process aborts if it reaches a
//! function of Rust that Python has called. Here the thread waits for the end of the process
//! instead, as PyO3 does where it takes the lock itself. Start with [`call`] and [`next_item`].

use std::hint::black_box;
use std::time::Duration;

use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

// PyO3 declares these functions as ones that never unwind. The optimizer merges the declarations,
// and must not see which function is called.
unsafe extern "C-unwind" {
    fn PyObject_Call(
        callable: *mut PyObject,
        arguments: *mut PyObject,
        keywords: *mut PyObject,
    ) -> *mut PyObject;
    fn PyIter_Next(iterator: *mut PyObject) -> *mut PyObject;
}

type CallFunction = unsafe extern "C-unwind" fn(*mut PyObject, *mut PyObject, *mut PyObject) -> *mut PyObject;
type NextFunction = unsafe extern "C-unwind" fn(*mut PyObject) -> *mut PyObject;

/// Waits forever when the stack of the thread is unwound.
struct WaitForEndOfProcess;

impl Drop for WaitForEndOfProcess {
    fn drop(&mut self) {
        loop {
            std::thread::sleep(Duration::from_secs(3600));
        }
    }
}

/// Calls a Python function.
pub(crate) fn call<'py>(
    function: &Bound<'py, PyAny>,
    arguments: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    let guard = WaitForEndOfProcess;
    // SAFETY: both objects are alive, the interpreter lock is held, and arguments are a tuple.
    let result = unsafe {
        black_box(PyObject_Call as CallFunction)(function.as_ptr(), arguments.as_ptr(), std::ptr::null_mut())
    };
    std::mem::forget(guard);
    // SAFETY: the result is a new reference, or null if there is an exception.
    unsafe { Bound::from_owned_ptr_or_err(function.py(), result) }
}

/// Returns the next item of an iterator, or `None` at its end. Objects that are no iterators raise.
pub(crate) fn next_item<'py>(iterator: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = iterator.py();
    let iterator = iterator.try_iter()?;
    let guard = WaitForEndOfProcess;
    // SAFETY: the object is an iterator, and the interpreter lock is held.
    let item = unsafe { black_box(PyIter_Next as NextFunction)(iterator.as_ptr()) };
    std::mem::forget(guard);
    // SAFETY: the item is a new reference, or null at the end and if there is an exception.
    match unsafe { Bound::from_owned_ptr_or_opt(py, item) } {
        None => PyErr::take(py).map_or(Ok(None), Err),
        item => Ok(item),
    }
}
