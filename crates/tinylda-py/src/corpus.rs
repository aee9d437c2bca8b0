//! The class `Corpus`: a corpus in a file or in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tempfile::TempPath;
use tinylda::corpus::{
    Block, BlockReader, Csr, CsrIndex, CsrValue, Details, DocumentLabels, Statistics, parse_date, split,
};
use tinylda::{CorpusBuilder, Error, Vocabulary};

use crate::call::{self, Reporter};
use crate::errors::OrRaise;

/// A corpus: documents as lists of (word, count).
#[pyclass(frozen, module = "tinylda._core")]
pub(crate) struct Corpus {
    pub(crate) corpus: Arc<tinylda::Corpus>,
    /// Temporary file with the texts of a corpus from Python strings, from which reports show the
    /// beginnings of documents.
    pub(crate) texts: Option<Arc<TemporaryTexts>>,
}

/// A temporary file with texts, which is deleted when no corpus uses it any more.
pub(crate) struct TemporaryTexts {
    /// The file; `None` only while this is dropped.
    path: Option<TempPath>,
    /// Id of the process that has created the file. A process that was forked from it has a copy of
    /// this value and must not delete the file.
    owner: u32,
}

impl TemporaryTexts {
    /// Takes over a temporary file of this process.
    pub(crate) fn new(path: TempPath) -> TemporaryTexts {
        TemporaryTexts { path: Some(path), owner: std::process::id() }
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> &Path {
        self.path.as_deref().unwrap_or(Path::new(""))
    }
}

impl Drop for TemporaryTexts {
    fn drop(&mut self) {
        if self.owner != std::process::id()
            && let Some(path) = self.path.take()
        {
            // The result is the path, which is not needed.
            let _ = path.keep();
        }
    }
}

/// Creates a temporary folder, which is deleted when the result is dropped.
pub(crate) fn temporary_folder() -> tinylda::Result<tempfile::TempDir> {
    tempfile::tempdir().map_err(|source| Error::Io {
        path: std::env::temp_dir(),
        action: "create a folder in",
        source,
    })
}

impl Corpus {
    /// Wraps a corpus without texts.
    pub(crate) fn new(corpus: tinylda::Corpus) -> Corpus {
        Corpus { corpus: Arc::new(corpus), texts: None }
    }

    /// Returns a text of every document, which `read` reads for a block of documents.
    fn document_texts<'a>(
        &'a self,
        read: impl Fn(&mut BlockReader<'a>, usize) -> tinylda::Result<Vocabulary>,
    ) -> tinylda::Result<Vec<String>> {
        let (mut reader, mut all) = (self.corpus.reader(), Vec::new());
        for i in 0..self.corpus.blocks() {
            let block = read(&mut reader, i)?;
            all.extend(texts((0..block.len() as u32).map(|d| block.get(d))));
        }
        Ok(all)
    }
}

/// Names, labels and dates of documents in memory, and the words.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct DocumentColumns {
    vocabulary: Option<Vec<String>>,
    names: Option<Vec<String>>,
    label_columns: Vec<String>,
    /// For every label column the values of every document.
    labels: Vec<Vec<Vec<String>>>,
    dates: Option<Vec<String>>,
}

impl DocumentColumns {
    /// Refuses lists whose length differs from the number of documents.
    fn check(&self, rows: usize) -> tinylda::Result<()> {
        let lengths = [
            ("document_names", self.names.as_ref().map(Vec::len)),
            ("dates", self.dates.as_ref().map(Vec::len)),
        ];
        let labels = self.labels.iter().map(|column| ("labels", Some(column.len())));
        for (name, length) in lengths.into_iter().chain(labels) {
            if let Some(length) = length.filter(|&length| length != rows) {
                return Err(Error::out_of_range(
                    name,
                    length,
                    format!("of length {rows}, the number of documents"),
                ));
            }
        }
        for (row, date) in self.dates.iter().flatten().enumerate() {
            if !date.is_empty() && parse_date(date).is_none() {
                return Err(Error::Value {
                    row: row as u64,
                    column: None,
                    found: format!("the date {date:?}"),
                    expected: "a date such as 2024-05-31, a year, or an empty text".into(),
                });
            }
        }
        Ok(())
    }
}

/// Number of rows of a matrix between two looks for a cancellation.
const ROWS_PER_CHECK: usize = 4096;

/// Builds a corpus from the arrays of a sparse matrix.
fn build<I: CsrIndex, V: CsrValue>(
    csr: &Csr<'_, i64, I, V>,
    columns: DocumentColumns,
    reporter: &Reporter<'_>,
) -> tinylda::Result<tinylda::Corpus> {
    columns.check(csr.rows())?;
    let mut builder = CorpusBuilder::new();
    if let Some(words) = &columns.vocabulary {
        builder = builder.vocabulary(words);
    }
    if !columns.label_columns.is_empty() {
        builder = builder.label_columns(columns.label_columns.iter().cloned());
    }
    // The labels of every document, borrowed once for all rows.
    let labels: Vec<Vec<Vec<&str>>> = if columns.labels.is_empty() {
        Vec::new()
    } else {
        let of_row =
            |row: usize| columns.labels.iter().map(|c| c[row].iter().map(String::as_str).collect()).collect();
        (0..csr.rows()).map(of_row).collect()
    };
    builder.add_csr_with(csr, |row| {
        if row % ROWS_PER_CHECK == 0 && reporter.is_cancelled() {
            return Err(Error::Interrupted);
        }
        Ok(Details {
            name: columns.names.as_ref().map(|names| names[row].as_str()),
            labels: labels.get(row).map_or(DocumentLabels::None, |labels| DocumentLabels::Columns(labels)),
            date: columns.dates.as_ref().map(|dates| dates[row].as_str()),
            ..Details::default()
        })
    })?;
    builder.build()
}

/// Calls `build` if the arrays have these types.
fn try_build<I, V>(
    py: Python<'_>,
    indptr: &PyReadonlyArray1<'_, i64>,
    indices: &Bound<'_, PyAny>,
    data: &Bound<'_, PyAny>,
    rest: &mut Option<(usize, DocumentColumns)>,
) -> PyResult<Option<Corpus>>
where
    I: CsrIndex + numpy::Element + Sync,
    V: CsrValue + numpy::Element + Sync,
{
    let (Ok(indices), Ok(data)) =
        (indices.extract::<PyReadonlyArray1<'_, I>>(), data.extract::<PyReadonlyArray1<'_, V>>())
    else {
        return Ok(None);
    };
    let Some((columns, details)) = rest.take() else { return Ok(None) };
    let contiguous = |name: &str| PyValueError::new_err(format!("{name} must be a contiguous array"));
    let csr = Csr::new(
        indptr.as_slice().map_err(|_| contiguous("indptr"))?,
        indices.as_slice().map_err(|_| contiguous("indices"))?,
        data.as_slice().map_err(|_| contiguous("data"))?,
        columns,
    );
    let corpus = call::run(py, None, |reporter| build(&csr, details, reporter))?;
    Ok(Some(Corpus::new(corpus)))
}

/// Converts text of a corpus, in which invalid parts were replaced when it was read.
fn texts<'a>(all: impl Iterator<Item = Option<&'a str>>) -> Vec<String> {
    all.map(|text| text.unwrap_or_default().to_owned()).collect()
}

#[pymethods]
impl Corpus {
    /// Opens a corpus file.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Corpus> {
        py.detach(|| tinylda::Corpus::open(path)).or_raise(py).map(Corpus::new)
    }

    /// Reads a corpus from the bytes of a corpus file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &Bound<'_, PyBytes>) -> PyResult<Corpus> {
        let bytes: Arc<[u8]> = bytes.as_bytes().into();
        py.detach(|| tinylda::Corpus::from_bytes(bytes)).or_raise(py).map(Corpus::new)
    }

    /// Builds a corpus in memory from the arrays of a CSR matrix.
    #[staticmethod]
    fn from_csr(
        py: Python<'_>,
        indptr: PyReadonlyArray1<'_, i64>,
        indices: &Bound<'_, PyAny>,
        data: &Bound<'_, PyAny>,
        columns: usize,
        details: DocumentColumns,
    ) -> PyResult<Corpus> {
        let mut rest = Some((columns, details));
        macro_rules! try_types {
            ($($value:ty)*) => {$(
                if let Some(corpus) = try_build::<i32, $value>(py, &indptr, indices, data, &mut rest)? {
                    return Ok(corpus);
                }
                if let Some(corpus) = try_build::<i64, $value>(py, &indptr, indices, data, &mut rest)? {
                    return Ok(corpus);
                }
            )*};
        }
        try_types!(i64 i32 f64 f32 u64 u32 u8);
        Err(PyTypeError::new_err("indices must be int32 or int64, and data integers or floats"))
    }

    /// Returns the bytes of a corpus file with this corpus.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.corpus.to_bytes()).or_raise(py)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes the corpus to a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.corpus.save(path)).or_raise(py)
    }

    /// Path of the corpus file; `None` for a corpus in memory.
    #[getter]
    fn path(&self) -> Option<PathBuf> {
        self.corpus.path().map(std::path::Path::to_path_buf)
    }

    /// Numbers of documents, words, non-zeros and tokens.
    #[getter]
    fn shape(&self) -> (u64, u32, u64, u64) {
        let shape = self.corpus.shape();
        (shape.documents, shape.words, shape.nonzeros, shape.tokens)
    }

    /// Fingerprint of the corpus file.
    #[getter]
    fn fingerprint(&self) -> String {
        self.corpus.fingerprint()
    }

    /// Identifier of the content, which does not depend on file names.
    #[getter]
    fn content_id(&self) -> String {
        self.corpus.content_id()
    }

    /// Bytes of the corpus in memory.
    #[getter]
    fn memory_bytes(&self) -> u64 {
        self.corpus.memory_bytes()
    }

    /// Names of the label columns.
    #[getter]
    fn label_columns(&self) -> Vec<String> {
        self.corpus.label_columns().to_vec()
    }

    /// Whether the documents have names.
    #[getter]
    fn has_names(&self) -> bool {
        self.corpus.has_names()
    }

    /// Whether the documents have dates.
    #[getter]
    fn has_dates(&self) -> bool {
        self.corpus.has_dates()
    }

    /// The words, in the order of their numbers; `None` if they have no names.
    fn vocabulary(&self, py: Python<'_>) -> PyResult<Option<Vec<String>>> {
        let vocabulary = py.detach(|| self.corpus.vocabulary()).or_raise(py)?;
        Ok(vocabulary.map(|words| texts((0..words.len() as u32).map(|w| words.get(w)))))
    }

    /// Names of all documents.
    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        py.detach(|| self.document_texts(BlockReader::read_names)).or_raise(py)
    }

    /// Dates of all documents; empty texts for documents without one.
    fn dates(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        py.detach(|| self.document_texts(BlockReader::read_dates)).or_raise(py)
    }

    /// Labels of all documents in one label column, given by its number.
    fn labels(&self, py: Python<'_>, column: usize) -> PyResult<Vec<Vec<String>>> {
        py.detach(|| {
            let (mut reader, mut block, mut all) = (self.corpus.reader(), Block::default(), Vec::new());
            for i in 0..self.corpus.blocks() {
                reader.read(i, &mut block)?;
                let labels = reader.read_labels(i)?;
                all.extend(
                    (0..block.documents()).map(|d| labels.values(d, column).map(str::to_owned).collect()),
                );
            }
            Ok(all)
        })
        .or_raise(py)
    }

    /// Statistics of document lengths and words, as a dictionary.
    fn statistics<'py>(
        &self,
        py: Python<'py>,
        listener: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let corpus = &self.corpus;
        let found =
            call::run(py, listener, |reporter| Statistics::of(corpus, &mut |p| reporter.progress(p)))?;
        let out = PyDict::new(py);
        out.set_item("mean_length", found.lengths.mean)?;
        out.set_item("median_length", found.lengths.median)?;
        out.set_item("longest", found.lengths.longest)?;
        Ok(out)
    }

    /// The corpus as a CSR matrix: indptr, indices, data.
    #[allow(clippy::type_complexity, reason = "the three arrays of a CSR matrix")]
    fn to_csr<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<i32>>)> {
        let corpus = &self.corpus;
        let (indptr, indices, data) = call::run(py, None, |reporter| {
            let shape = corpus.shape();
            let mut indptr: Vec<i64> = Vec::with_capacity(shape.documents as usize + 1);
            let mut indices: Vec<i32> = Vec::with_capacity(shape.nonzeros as usize);
            let mut data: Vec<i32> = Vec::with_capacity(shape.nonzeros as usize);
            indptr.push(0);
            let (mut reader, mut block) = (corpus.reader(), Block::default());
            for i in 0..corpus.blocks() {
                if reporter.is_cancelled() {
                    return Err(Error::Interrupted);
                }
                reader.read(i, &mut block)?;
                for document in block.iter() {
                    indices.extend(document.words.iter().map(|&w| w.cast_signed()));
                    for &count in document.counts {
                        data.push(i32::try_from(count).map_err(|_| Error::Value {
                            row: indptr.len() as u64 - 1,
                            column: None,
                            found: format!("the count {count}"),
                            expected: format!("at most {}", i32::MAX),
                        })?);
                    }
                    indptr.push((indices.len() as u64).cast_signed());
                }
            }
            Ok((indptr, indices, data))
        })?;
        Ok((PyArray1::from_vec(py, indptr), PyArray1::from_vec(py, indices), PyArray1::from_vec(py, data)))
    }

    /// Divides the documents at random into a training and a test part, in memory or in files.
    fn split(
        &self,
        py: Python<'_>,
        share: f64,
        seed: u64,
        train: Option<PathBuf>,
        test: Option<PathBuf>,
    ) -> PyResult<(Corpus, Corpus)> {
        let corpus = &self.corpus;
        let parts = call::run(py, None, |reporter| {
            let folder = temporary_folder()?;
            let file =
                |given: &Option<PathBuf>, name| given.clone().unwrap_or_else(|| folder.path().join(name));
            let paths = [file(&train, "train.tlc"), file(&test, "test.tlc")];
            split(corpus, share, seed, &paths[0], &paths[1], &mut |p| reporter.progress(p))?;
            let open = |given: &Option<PathBuf>, path: &PathBuf| -> tinylda::Result<tinylda::Corpus> {
                let written = tinylda::Corpus::open(path)?;
                if given.is_some() { Ok(written) } else { tinylda::Corpus::from_bytes(written.to_bytes()?) }
            };
            Ok((open(&train, &paths[0])?, open(&test, &paths[1])?))
        })?;
        Ok((Corpus::new(parts.0), Corpus::new(parts.1)))
    }
}
