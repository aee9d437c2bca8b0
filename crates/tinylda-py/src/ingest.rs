//! Imports files and Python strings into a corpus. Start with [`import`] and [`write_texts`].

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyString};
use tempfile::NamedTempFile;
use tinylda::corpus::ingest::words::{
    DocumentLimit, LanguageSource, Pipeline, Segmentation, StopWords, TokenRule, WordSelection,
};
use tinylda::corpus::ingest::{
    DetectedInput, Format, Import, Imported, InputKind, RecordOptions, TableColumns, TextPipeline,
};
use tinylda::{Error, Vocabulary};

use crate::arrow::TextColumn;
use crate::call;
use crate::corpus::{Corpus, TemporaryTexts, temporary_folder};
use crate::errors::OrRaise;
use crate::model::Model;
use crate::python_code;

// Keys of text, name and date in the records of `write_texts`. Labels have other names.
const TEXT: &str = "__text__";
const ID: &str = "__id__";
const DATE: &str = "__date__";

/// Options for turning text into words, as the Python layer passes them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of the Python layer")]
pub(crate) struct WordOptions {
    language: Option<Vec<String>>,
    stop_words: Option<Vec<String>>,
    token_pattern: Option<String>,
    lowercase: bool,
    strip_accents: bool,
    min_length: Option<u32>,
    max_length: Option<u32>,
    numbers: bool,
    noise: bool,
    segmentation: Option<String>,
    stem: Option<String>,
    min_docs: Option<u64>,
    max_docs: Option<f64>,
    max_docs_is_fraction: bool,
    max_words: Option<u32>,
    phrases: Option<f64>,
    vocabulary: Option<Vec<String>>,
}

impl WordOptions {
    fn pipeline(self) -> tinylda::Result<TextPipeline> {
        let default = Pipeline::default();
        let segmentation = match self.segmentation.as_deref() {
            None | Some("auto") => default.segmentation,
            Some("dictionary") => Segmentation::Dictionary,
            Some("spaces") => Segmentation::Spaces,
            Some("none") => Segmentation::None,
            Some(other) => {
                let expected = "auto, dictionary, spaces or none";
                return Err(Error::out_of_range("segmentation", other, expected));
            }
        };
        let selection = WordSelection {
            min_docs: self.min_docs,
            max_docs: self.max_docs.map(|limit| {
                if self.max_docs_is_fraction {
                    DocumentLimit::Fraction(limit)
                } else {
                    DocumentLimit::Count(limit as u64)
                }
            }),
            max_words: self.max_words,
            phrases: self.phrases,
        };
        let vocabulary: Option<Vocabulary> = self.vocabulary.map(|words| words.into_iter().collect());
        if vocabulary.is_some() && selection != WordSelection::default() {
            return Err(Error::conflict("vocabulary", "{min_docs}, {max_docs}, {max_words} or {phrases}")
                .with_remedy("all words of a given vocabulary are kept"));
        }
        Ok(TextPipeline {
            pipeline: Pipeline {
                tokens: self.token_pattern.map_or(TokenRule::Unicode, TokenRule::Pattern),
                keep_case: !self.lowercase,
                fold_accents: self.strip_accents,
                min_length: self.min_length.unwrap_or(default.min_length),
                max_length: self.max_length.unwrap_or(default.max_length),
                keep_numbers: self.numbers,
                drop_noise: !self.noise,
                segmentation,
                stem: self.stem,
                ..default
            },
            languages: self.language,
            fixed_segmentation: !matches!(self.segmentation.as_deref(), None | Some("auto")),
            stop: self.stop_words.map_or(StopWords::Auto, |lists| {
                if lists.is_empty() { StopWords::None } else { StopWords::Lists(lists) }
            }),
            selection,
            vocabulary,
        })
    }
}

/// Options for reading files, as the Python layer passes them.
#[derive(FromPyObject, Clone)]
#[pyo3(from_item_all)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of the Python layer")]
pub(crate) struct FileOptions {
    format: Option<String>,
    text: Vec<String>,
    id: Option<String>,
    label: Vec<String>,
    date: Option<String>,
    tokens: Option<String>,
    doc_column: Option<String>,
    word_column: Option<String>,
    count_column: Option<String>,
    label_separator: Option<String>,
    label_from_folder: bool,
    glob: Option<String>,
    encoding: Option<String>,
    delimiter: Option<String>,
    header: Option<bool>,
    quotes: bool,
    strict: bool,
    first_id: Option<u32>,
    skip_zeros: bool,
    vocabulary_file: Option<PathBuf>,
    names_file: Option<PathBuf>,
    transpose: bool,
    layer: Option<String>,
    /// Ignore options for words if the input consists of words already.
    words_if_text: bool,
    threads: usize,
    memory: Option<u64>,
}

/// Where records have the text, name, labels and date of a document: in columns of tables or in
/// fields of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RecordParts {
    columns: bool,
    fields: bool,
}

impl RecordParts {
    /// Returns the parts of inputs in these formats; `None` if the formats do not tell, for example
    /// if one is an archive.
    fn of_formats(formats: impl Iterator<Item = Option<Format>>) -> Option<RecordParts> {
        let mut parts = RecordParts { columns: false, fields: false };
        for format in formats {
            parts.fields |= matches!(format, Some(Format::JsonLines | Format::Json));
            parts.columns |= matches!(format, Some(Format::Csv | Format::Parquet));
        }
        Some(parts).filter(|parts| parts.columns || parts.fields)
    }
}

impl FileOptions {
    /// Returns the import of these inputs. `parts` replaces what their formats tell.
    fn import(
        self,
        inputs: &[DetectedInput],
        parts: Option<RecordParts>,
        words: TextPipeline,
    ) -> tinylda::Result<Import> {
        let find = |name: &str| Format::ALL.into_iter().find(|format| format.name() == name);
        let format = match self.format.as_deref() {
            None => None,
            Some(name) => Some(find(name).ok_or_else(|| {
                let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
                Error::out_of_range("format", format!("{name:?}"), format!("one of {}", names.join(", ")))
            })?),
        };
        let delimiter = match self.delimiter.as_deref().map(str::as_bytes) {
            None => None,
            Some(&[byte]) if byte.is_ascii() => Some(byte),
            Some(_) => {
                let found = format!("{:?}", self.delimiter.unwrap_or_default());
                return Err(Error::out_of_range("delimiter", found, "one ASCII character"));
            }
        };
        let detected = inputs.iter().map(|input| match input.kind() {
            InputKind::Data(detected) => Some(format.unwrap_or(detected)),
            _ => format,
        });
        let parts = parts.or_else(|| RecordParts::of_formats(detected)).unwrap_or_else(|| {
            let fields = inputs.iter().any(|input| looks_like_json(input.path()));
            RecordParts { columns: !fields, fields }
        });
        let mut records = RecordOptions {
            delimiter,
            header: self.header,
            no_quotes: !self.quotes,
            label_separator: self.label_separator,
            folder_labels: self.label_from_folder,
            glob: self.glob,
            encoding: self.encoding,
            strict: self.strict,
            ..RecordOptions::default()
        };
        let mut columns = TableColumns {
            tokens: self.tokens,
            document: self.doc_column,
            word: self.word_column,
            count: self.count_column,
            ..TableColumns::default()
        };
        if columns.tokens.is_some() {
            columns.id = self.id;
        } else {
            if parts.fields {
                (records.text_fields, records.label_fields) = (self.text.clone(), self.label.clone());
                (records.id_field, records.date_field) = (self.id.clone(), self.date.clone());
            }
            if parts.columns {
                (records.text_columns, records.label_columns) = (self.text, self.label);
                (records.id_column, records.date_column) = (self.id, self.date);
            }
        }
        Ok(Import {
            format,
            vocabulary: self.vocabulary_file,
            names: self.names_file,
            transpose: self.transpose,
            first_id: self.first_id,
            skip_zeros: self.skip_zeros,
            layer: self.layer,
            columns,
            records,
            words,
            words_if_text: self.words_if_text,
            threads: self.threads,
            memory: self.memory,
            ..Import::default()
        })
    }
}

/// Returns whether an error is about a column where the input has fields.
fn asks_for_fields(error: &Error) -> bool {
    let is_field = |name: &str| ["text_field", "id_field", "label_field", "date_field"].contains(&name);
    error.parameter().is_some_and(is_field)
        || error.remedy().is_some_and(|remedy| remedy.suggestions().any(|(name, _)| is_field(name)))
}

/// Names the parameter for the corpus file as the Python layer does.
fn with_output_keyword(error: Error) -> Error {
    match error {
        Error::Parameter { name: "output", problem, remedy } => {
            Error::Parameter { name: "to", problem, remedy }
        }
        other => other,
    }
}

/// Names the argument `texts` instead of the temporary file with the texts.
fn about_texts(mut error: Error, texts: Option<&TemporaryTexts>) -> Error {
    if let Error::Input { path, .. } | Error::NoKnownWords { path, .. } = &mut error
        && texts.is_some_and(|texts| texts.path() == path)
    {
        *path = "texts".into();
    }
    error
}

/// Returns whether a file is JSON by its name, compressed or not.
fn looks_like_json(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    name.split('.').skip(1).any(|part| matches!(part, "json" | "jsonl" | "ndjson"))
}

/// Returns what an import did, as a dictionary.
fn summary<'py>(py: Python<'py>, done: &Imported) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("format", done.format.name())?;
    out.set_item("empty_documents", done.empty_documents)?;
    let inputs = PyList::empty(py);
    for notes in &done.inputs {
        let input = PyDict::new(py);
        input.set_item("path", &notes.path)?;
        input.set_item("format", notes.format.name())?;
        input.set_item("encodings", &notes.encodings)?;
        if let Some(table) = notes.table.as_ref().or(notes.fields.as_ref()) {
            input.set_item("text", &table.text)?;
            input.set_item("id", &table.id)?;
            input.set_item("labels", &table.labels)?;
            input.set_item("date", &table.date)?;
        }
        input.set_item("skipped_files", notes.skipped_files.count)?;
        let examples: Vec<(&str, &str)> = notes
            .skipped_files
            .examples
            .iter()
            .map(|file| (file.name.as_str(), file.found.as_str()))
            .collect();
        input.set_item("skipped_examples", examples)?;
        input.set_item("skipped_rows", notes.records.skipped_rows.count)?;
        input.set_item("short_rows", notes.records.short_rows.count)?;
        input.set_item("records_without_text", notes.records.records_without_text.count)?;
        input.set_item("bytes_replaced", notes.replaced)?;
        inputs.append(input)?;
    }
    out.set_item("inputs", inputs)?;
    if let Some(dropped) = &done.dropped {
        let languages = &dropped.languages;
        out.set_item("languages", languages.languages.iter().map(|(code, _)| code).collect::<Vec<_>>())?;
        out.set_item("language_detected", languages.source == LanguageSource::Detected)?;
        out.set_item("language_unknown", languages.source == LanguageSource::Unknown)?;
        out.set_item("cut_into_characters", languages.cut_into_characters)?;
        out.set_item("tokens", dropped.tokens)?;
        let counts = PyDict::new(py);
        for (name, count) in [
            ("stop_words", dropped.stop),
            ("numbers", dropped.numbers),
            ("short", dropped.short),
            ("long", dropped.long),
            ("noise", dropped.noise),
            ("rare", dropped.rare.1),
            ("frequent", dropped.frequent.1),
            ("beyond_max_words", dropped.over_limit.1),
            ("not_in_vocabulary", dropped.unknown),
        ] {
            counts.set_item(name, count)?;
        }
        out.set_item("dropped", counts)?;
        out.set_item("documents_with_replaced_bytes", dropped.replaced)?;
        let words = |list: &[tinylda::corpus::ingest::words::WordOccurrences]| -> Vec<String> {
            list.iter().map(|word| word.word.clone()).collect()
        };
        out.set_item("frequent_stop_words", words(&dropped.stop_words))?;
        out.set_item("frequent_words", words(&dropped.common_words))?;
        out.set_item("min_docs", dropped.min_docs)?;
        out.set_item("phrases", dropped.phrases)?;
    }
    if let Some(dates) = &done.dates {
        out.set_item("dates_unreadable", dates.unreadable)?;
    }
    Ok(out)
}

/// Runs an import, which `prepare` returns for open inputs. Without `output`, the corpus is in
/// memory.
fn run<'py>(
    py: Python<'py>,
    prepare: impl Fn(&[DetectedInput], Option<RecordParts>) -> tinylda::Result<Import> + Sync,
    inputs: &[PathBuf],
    output: Option<&Path>,
    texts: Option<Arc<TemporaryTexts>>,
    listener: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Corpus, Bound<'py, PyDict>)> {
    let (corpus, done) = call::run(py, listener, |reporter| {
        let folder = temporary_folder()?;
        let temporary = folder.path().join("corpus.tlc");
        let mut attempt = |parts: Option<RecordParts>| {
            let detected = inputs.iter().map(DetectedInput::open).collect::<tinylda::Result<Vec<_>>>()?;
            let import = prepare(&detected, parts)?;
            let done = import.run_all(detected, output.unwrap_or(&temporary), &mut |p| reporter.progress(p));
            done.map_err(with_output_keyword).map_err(|error| about_texts(error, texts.as_deref()))
        };
        let done = match attempt(None) {
            // What an archive or a folder contains is only known when it is read.
            Err(error) if asks_for_fields(&error) => {
                attempt(Some(RecordParts { columns: false, fields: true }))?
            }
            other => other?,
        };
        let corpus = if let Some(path) = output {
            tinylda::Corpus::open(path)?
        } else {
            let read = std::fs::read(&temporary);
            let read = read.map_err(|source| Error::Io { path: temporary, action: "read", source })?;
            tinylda::Corpus::from_bytes(read)?
        };
        Ok((corpus, done))
    })?;
    Ok((Corpus { corpus: Arc::new(corpus), texts }, summary(py, &done)?))
}

/// Imports files into a corpus, in a file or in memory. Returns the corpus and what was done.
#[pyfunction]
#[pyo3(name = "import_")]
pub(crate) fn import<'py>(
    py: Python<'py>,
    inputs: Vec<PathBuf>,
    output: Option<PathBuf>,
    files: FileOptions,
    words: WordOptions,
    listener: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Corpus, Bound<'py, PyDict>)> {
    let words = words.pipeline().or_raise(py)?;
    let prepare = |detected: &[DetectedInput], parts| files.clone().import(detected, parts, words.clone());
    run(py, prepare, &inputs, output.as_deref(), None, listener)
}

/// Imports files as for a model, with its words.
#[pyfunction]
pub(crate) fn import_for_model<'py>(
    py: Python<'py>,
    inputs: Vec<PathBuf>,
    files: FileOptions,
    model: &Model,
    listener: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Corpus, Bound<'py, PyDict>)> {
    let words = words_of(model).or_raise(py)?;
    let prepare = |detected: &[DetectedInput], parts| files.clone().import(detected, parts, words.clone());
    run(py, prepare, &inputs, None, None, listener)
}

/// Returns the options that process text as for a model.
fn words_of(model: &Model) -> tinylda::Result<TextPipeline> {
    let vocabulary = model.model.vocabulary().cloned().ok_or_else(|| {
        Error::unsupported("documents", "the model has no vocabulary to compare text with")
            .with_remedy("give a matrix or a corpus instead of texts")
    })?;
    Ok(TextPipeline::existing(model.model.pipeline(), vocabulary))
}

/// Resources of an import of texts.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ImportResources {
    threads: usize,
    memory: Option<u64>,
    /// Corpus file to write; `None` for a corpus in memory.
    output: Option<PathBuf>,
}

/// Texts of documents in a temporary file, as JSON lines.
#[pyclass(frozen, module = "tinylda._core")]
pub(crate) struct TextFile {
    path: Arc<TemporaryTexts>,
    documents: u64,
    label_columns: Vec<String>,
    has_names: bool,
    has_dates: bool,
}

#[pymethods]
impl TextFile {
    /// Number of documents.
    #[getter]
    fn documents(&self) -> u64 {
        self.documents
    }

    /// Imports the texts into a corpus, in a file or in memory. With a model, they are processed as
    /// for that model.
    #[pyo3(name = "import_")]
    fn import<'py>(
        &self,
        py: Python<'py>,
        words: Option<WordOptions>,
        model: Option<PyRef<'py, Model>>,
        resources: ImportResources,
        listener: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Corpus, Bound<'py, PyDict>)> {
        let words = match (words, model) {
            (Some(words), _) => words.pipeline(),
            (None, Some(model)) => words_of(&model),
            (None, None) => Ok(TextPipeline::default()),
        };
        let import = Import {
            format: Some(Format::JsonLines),
            records: RecordOptions {
                text_fields: vec![TEXT.into()],
                id_field: self.has_names.then(|| ID.into()),
                label_fields: self.label_columns.clone(),
                date_field: self.has_dates.then(|| DATE.into()),
                ..RecordOptions::default()
            },
            words: words.or_raise(py)?,
            threads: resources.threads,
            memory: resources.memory,
            ..Import::default()
        };
        run(
            py,
            |_, _| Ok(import.clone()),
            &[self.path.path().to_path_buf()],
            resources.output.as_deref(),
            Some(Arc::clone(&self.path)),
            listener,
        )
    }
}

/// Returns the exception for a value that should be a text.
fn not_a_text(what: &str, row: u64, found: impl std::fmt::Display) -> PyErr {
    PyTypeError::new_err(format!(
        "{what} of document {row} (counted from 0): expected a str, found {found}; replace or drop missing values"
    ))
}

/// Returns the text of a Python string, or an exception that names the document.
fn text_of<'a>(value: &'a Bound<'_, PyAny>, row: u64, what: &str) -> PyResult<std::borrow::Cow<'a, str>> {
    let Ok(text) = value.cast::<PyString>() else {
        return Err(not_a_text(what, row, value.get_type().name()?));
    };
    text.to_cow().map_err(|_| {
        PyValueError::new_err(format!(
            "{what} of document {row} (counted from 0) contains a lone surrogate, which is not text; \
             use text.encode(\"utf-8\", \"replace\").decode()"
        ))
    })
}

/// Writes a JSON string.
fn write_json(out: &mut impl Write, text: &str) -> std::io::Result<()> {
    serde_json::to_writer(out, text).map_err(std::io::Error::from)
}

/// Columns of documents besides their texts, as iterators of Python values.
struct DetailIterators<'py> {
    names: Option<Bound<'py, PyAny>>,
    dates: Option<Bound<'py, PyAny>>,
    labels: Vec<(String, Bound<'py, PyAny>)>,
}

impl DetailIterators<'_> {
    /// Writes the details of the next document.
    fn write(&self, out: &mut impl Write, row: u64) -> PyResult<()> {
        for (key, what, values) in [(ID, "the name", &self.names), (DATE, "the date", &self.dates)] {
            let Some(values) = values else { continue };
            let value = next(values, row, what)?;
            write!(out, ",\"{key}\":")?;
            write_json(out, &text_of(&value, row, what)?)?;
        }
        for (column, values) in &self.labels {
            let value = next(values, row, "the label")?;
            out.write_all(b",")?;
            write_json(out, column)?;
            out.write_all(b":[")?;
            for (i, label) in value.try_iter()?.enumerate() {
                if i > 0 {
                    out.write_all(b",")?;
                }
                write_json(out, &text_of(&label?, row, "the label")?)?;
            }
            out.write_all(b"]")?;
        }
        Ok(())
    }
}

impl DetailIterators<'_> {
    /// Refuses details that are left when all texts have been read.
    fn check_end(&self, documents: u64) -> PyResult<()> {
        let labels = self.labels.iter().map(|(_, values)| ("labels", Some(values)));
        let details = [("names", self.names.as_ref()), ("dates", self.dates.as_ref())];
        for (what, values) in details.into_iter().chain(labels) {
            let Some(values) = values else { continue };
            // An iterator may never end.
            let mut more = 0;
            while more < MAX_COUNTED_DETAILS && python_code::next_item(values)?.is_some() {
                more += 1;
            }
            if more > 0 {
                let least = if more < MAX_COUNTED_DETAILS { "" } else { "at least " };
                return Err(PyValueError::new_err(format!(
                    "{what} must have one value for each of the {documents} texts, not {least}{}",
                    documents + more
                )));
            }
        }
        Ok(())
    }
}

/// Returns the next value of an iterator of details.
fn next<'py>(values: &Bound<'py, PyAny>, row: u64, what: &str) -> PyResult<Bound<'py, PyAny>> {
    python_code::next_item(values)?.ok_or_else(|| {
        PyValueError::new_err(format!(
            "{what} of document {row} (counted from 0) is missing: there are more texts"
        ))
    })
}

/// Number of surplus details up to which they are counted for a message.
const MAX_COUNTED_DETAILS: u64 = 1_000_000;
/// Number of documents between two looks for signals.
const DOCUMENTS_PER_CHECK: u64 = 1024;

/// Writes documents as JSON lines, and looks for signals.
struct TextWriter<'py, W: Write> {
    py: Python<'py>,
    out: W,
    details: DetailIterators<'py>,
    documents: u64,
}

impl<W: Write> TextWriter<'_, W> {
    /// Writes the next document.
    fn push(&mut self, text: &str) -> PyResult<()> {
        write!(self.out, "{{\"{TEXT}\":")?;
        write_json(&mut self.out, text)?;
        self.details.write(&mut self.out, self.documents)?;
        self.out.write_all(b"}\n")?;
        self.documents += 1;
        if self.documents.is_multiple_of(DOCUMENTS_PER_CHECK) {
            self.py.check_signals()?;
        }
        Ok(())
    }
}

/// Writes texts to a temporary file. `texts` is an iterable of strings, or a capsule with an Arrow
/// stream. `labels` contains pairs of a column and an iterator of lists of labels.
#[pyfunction]
pub(crate) fn write_texts<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
    names: Option<Bound<'py, PyAny>>,
    labels: Vec<(String, Bound<'py, PyAny>)>,
    dates: Option<Bound<'py, PyAny>>,
) -> PyResult<TextFile> {
    let file: NamedTempFile =
        tempfile::Builder::new().prefix("tinylda-texts-").suffix(".jsonl").tempfile()?;
    let (file, path) = file.into_parts();
    let out = BufWriter::with_capacity(1 << 18, file);
    let label_columns = labels.iter().map(|(name, _)| name.clone()).collect();
    let details = DetailIterators { names, dates, labels };
    let mut writer = TextWriter { py, out, details, documents: 0 };
    if let Ok(capsule) = texts.cast::<PyCapsule>() {
        let mut column = TextColumn::open(capsule)?;
        while let Some(chunk) = column.next_chunk(py)? {
            for row in 0..chunk.len() {
                let text = chunk.get(row);
                writer
                    .push(text.ok_or_else(|| not_a_text("the text", writer.documents, "a missing value"))?)?;
            }
        }
        column.close(py);
    } else {
        let texts = texts.try_iter()?.into_any();
        while let Some(text) = python_code::next_item(&texts)? {
            writer.push(&text_of(&text, writer.documents, "the text")?)?;
        }
    }
    writer.details.check_end(writer.documents)?;
    writer.out.flush()?;
    let TextWriter { details, documents, .. } = writer;
    let (has_names, has_dates) = (details.names.is_some(), details.dates.is_some());
    Ok(TextFile { path: Arc::new(TemporaryTexts::new(path)), documents, label_columns, has_names, has_dates })
}
