//! Reads columns of text through Arrow's C stream interface, without creating Python objects.
//!
//! A capsule with such a stream is what `__arrow_c_stream__` returns: columns of polars, pyarrow
//! and pandas, relations of DuckDB, and data frames with one column have this method. Start with
//! [`TextColumn`].

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{Array, ArrayRef, LargeStringArray, StringArray, StringViewArray};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// Name that the interface requires for capsules with a stream.
const CAPSULE_NAME: &std::ffi::CStr = c"arrow_array_stream";

/// A column of texts that arrives in chunks.
pub(crate) struct TextColumn {
    chunks: ArrayStreamReader,
}

impl TextColumn {
    /// Takes the stream out of a capsule.
    pub(crate) fn open(capsule: &Bound<'_, PyCapsule>) -> PyResult<TextColumn> {
        let stream = capsule.pointer_checked(Some(CAPSULE_NAME))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: By the interface, a capsule of this name contains a valid stream. The call moves
        // the stream out and marks the one in the capsule as released.
        let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) };
        let chunks = capsule.py().detach(|| ArrayStreamReader::try_new(stream));
        Ok(TextColumn { chunks: chunks.map_err(|error| PyValueError::new_err(error.to_string()))? })
    }

    /// Returns the next chunk, or `None` at the end.
    ///
    /// The interpreter lock is free meanwhile: the producer may wait for threads of its own that
    /// need it, as DuckDB does for columns of Python objects.
    pub(crate) fn next_chunk(&mut self, py: Python<'_>) -> PyResult<Option<TextChunk>> {
        let Some(chunk) = py.detach(|| self.chunks.next()) else { return Ok(None) };
        TextChunk::new(&chunk.map_err(|error| PyValueError::new_err(error.to_string()))?).map(Some)
    }
}

impl TextColumn {
    /// Ends the stream, without the interpreter lock.
    pub(crate) fn close(self, py: Python<'_>) {
        py.detach(|| drop(self));
    }
}

/// Consecutive texts of a column, in one of Arrow's layouts.
pub(crate) enum TextChunk {
    Small(StringArray),
    Large(LargeStringArray),
    View(StringViewArray),
    /// Every text is an index into a list of distinct texts; `None` is a missing value.
    Dictionary {
        indices: Vec<Option<usize>>,
        texts: Box<TextChunk>,
    },
}

impl TextChunk {
    fn new(array: &ArrayRef) -> PyResult<TextChunk> {
        if let Some(columns) = array.as_struct_opt() {
            if columns.num_columns() != 1 {
                let found = columns.num_columns();
                return Err(PyValueError::new_err(format!("expected one column, found {found}")));
            }
            return TextChunk::new(columns.column(0));
        }
        if let Some(texts) = array.as_string_opt::<i32>() {
            return Ok(TextChunk::Small(texts.clone()));
        }
        if let Some(texts) = array.as_string_opt::<i64>() {
            return Ok(TextChunk::Large(texts.clone()));
        }
        if let Some(texts) = array.as_string_view_opt() {
            return Ok(TextChunk::View(texts.clone()));
        }
        if let Some(encoded) = array.as_any_dictionary_opt() {
            let texts = Box::new(TextChunk::new(encoded.values())?);
            // Indices cannot be normalized if there are no values.
            let known = if encoded.values().is_empty() { Vec::new() } else { encoded.normalized_keys() };
            let index = |row: usize| known.get(row).copied().filter(|_| encoded.is_valid(row));
            let indices = (0..encoded.len()).map(index).collect();
            return Ok(TextChunk::Dictionary { indices, texts });
        }
        let found = array.data_type();
        Err(PyTypeError::new_err(format!("expected a column of texts, found the type {found}")))
    }

    /// Returns the number of texts.
    pub(crate) fn len(&self) -> usize {
        match self {
            TextChunk::Small(texts) => texts.len(),
            TextChunk::Large(texts) => texts.len(),
            TextChunk::View(texts) => texts.len(),
            TextChunk::Dictionary { indices, .. } => indices.len(),
        }
    }

    /// Returns a text, or `None` for a missing value.
    pub(crate) fn get(&self, row: usize) -> Option<&str> {
        match self {
            TextChunk::Small(texts) => texts.is_valid(row).then(|| texts.value(row)),
            TextChunk::Large(texts) => texts.is_valid(row).then(|| texts.value(row)),
            TextChunk::View(texts) => texts.is_valid(row).then(|| texts.value(row)),
            TextChunk::Dictionary { indices, texts } => indices[row].and_then(|index| texts.get(index)),
        }
    }
}
