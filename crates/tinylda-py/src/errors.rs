//! Turns errors of the library into Python exceptions.
//!
//! The classes are defined in `tinylda/errors.py`. Messages spell parameters as Python keywords:
//! `memory="2GiB"`. Start with [`to_python`].

use std::io::ErrorKind;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tinylda::Error;
use tinylda::error::Position;

/// Keywords whose name differs from the library's parameter.
const KEYWORDS: &[(&str, &str)] = &[
    ("topics", "k"),
    ("text_column", "text"),
    ("text_field", "text"),
    ("id_column", "id"),
    ("id_field", "id"),
    ("label_column", "label"),
    ("label_field", "label"),
    ("date_column", "date"),
    ("date_field", "date"),
    ("tokens_column", "tokens"),
    ("vocab", "vocabulary_file"),
    ("names", "names_file"),
    ("label_from", "label_from_folder"),
    ("keep_case", "lowercase"),
    ("fold_accents", "strip_accents"),
    ("topic", "topics"),
    ("top", "n"),
    ("lambda", "weight"),
    // Details of documents in memory, whose library parameters are files.
    ("document_names", "names"),
];

/// Spells a parameter as a keyword argument, with its value if there is one.
pub(crate) fn keyword(name: &str, value: Option<&str>) -> String {
    match (name, value) {
        ("restart", _) => return "resume=\"restart\"".into(),
        ("resume", None) => return "resume=True".into(),
        ("keep_case", Some("true")) => return "lowercase=False".into(),
        // The package does not have this option.
        ("inference", Some(value)) => return format!("the command line and --inference {value}"),
        _ => {}
    }
    let name = KEYWORDS.iter().find(|(other, _)| *other == name).map_or(name, |(_, keyword)| keyword);
    match value {
        None => name.to_owned(),
        Some("true") => format!("{name}=True"),
        Some("false") => format!("{name}=False"),
        Some(value) if value.parse::<f64>().is_ok() => format!("{name}={value}"),
        Some(value) => format!("{name}={value:?}"),
    }
}

/// Name of the exception class for an error, in `tinylda.errors`.
fn class_name(error: &Error) -> &'static str {
    match error {
        Error::Parameter { .. } => "ParameterError",
        Error::NoKnownWords { .. } => "NoWordsError",
        Error::Input { .. } | Error::Value { .. } => "InputError",
        Error::Damaged { .. } | Error::WrongKind { .. } | Error::Version { .. } => "FileFormatError",
        Error::Memory { .. } | Error::Allocation { .. } => "MemoryLimitError",
        Error::Numeric { .. } => "NumericError",
        Error::Interrupted | Error::Stopped { .. } | Error::NotSaved { .. } => "StoppedError",
        Error::ModelMismatch { .. }
        | Error::CheckpointMismatch { .. }
        | Error::CheckpointExists { .. }
        | Error::FolderInUse { .. } => "CheckpointError",
        _ => "TinyldaError",
    }
}

/// Sets the attributes of an exception that follow from the error.
fn attributes(error: &Error, fields: &Bound<'_, PyDict>) -> PyResult<()> {
    if let Some(name) = error.parameter() {
        fields.set_item("parameter", keyword(name, None))?;
    }
    if let Some(remedy) = error.remedy() {
        fields.set_item("remedy", remedy.render(&keyword))?;
    }
    let position = match error {
        Error::Input { position, .. } | Error::Damaged { position, .. } => Some(*position),
        Error::Value { row, .. } => Some(Position::Row(*row)),
        _ => None,
    };
    match position {
        Some(Position::Line(n)) => fields.set_item("line", n)?,
        Some(Position::Row(n)) => fields.set_item("row", n)?,
        Some(Position::Byte(n)) => fields.set_item("byte", n)?,
        _ => {}
    }
    match error {
        Error::Input { path, .. }
        | Error::NoKnownWords { path, .. }
        | Error::Damaged { path, .. }
        | Error::WrongKind { path, .. }
        | Error::Version { path, .. }
        | Error::ModelMismatch { path, .. }
        | Error::CheckpointMismatch { path, .. }
        | Error::CheckpointExists { path }
        | Error::FolderInUse { path } => fields.set_item("path", path)?,
        Error::Stopped { path, passes } | Error::NotSaved { path, passes, .. } => {
            fields.set_item("path", path)?;
            fields.set_item("passes", passes)?;
        }
        Error::Value { column, .. } => fields.set_item("column", *column)?,
        Error::Memory { need, have, .. } => {
            fields.set_item("needed", need)?;
            fields.set_item("available", have)?;
        }
        Error::Allocation { bytes, .. } => fields.set_item("needed", bytes)?,
        _ => {}
    }
    Ok(())
}

/// Returns the message of an error of the library, with keywords instead of parameter names.
pub(crate) fn describe(error: &Error) -> String {
    // Words are named by a file if a file is imported, else by a list.
    let about_file = error.parameter() == Some("vocab");
    let message = error.describe(&|name, value| match name {
        "vocab" if !about_file => "vocabulary or vocabulary_file".into(),
        _ => keyword(name, value),
    });
    // Data in memory has no name to give.
    message.strip_prefix("<memory>: ").map(str::to_owned).unwrap_or(message)
}

/// Returns the code of an error of the operating system, from which Python selects the subclass,
/// such as `FileNotFoundError`.
fn os_error_code(source: &std::io::Error) -> Option<i32> {
    source.raw_os_error().or(match source.kind() {
        ErrorKind::NotFound => Some(libc::ENOENT),
        ErrorKind::PermissionDenied => Some(libc::EACCES),
        ErrorKind::AlreadyExists => Some(libc::EEXIST),
        ErrorKind::IsADirectory => Some(libc::EISDIR),
        ErrorKind::NotADirectory => Some(libc::ENOTDIR),
        ErrorKind::StorageFull => Some(libc::ENOSPC),
        _ => None,
    })
}

/// Converts an error of the library to an exception.
pub(crate) fn to_python(py: Python<'_>, error: &Error) -> PyErr {
    let message = describe(error);
    if let Error::Io { path, source, .. } = error {
        return match os_error_code(source) {
            Some(code) => PyOSError::new_err((code, message, path.clone())),
            None => PyOSError::new_err(message),
        };
    }
    let create = || -> PyResult<PyErr> {
        let fields = PyDict::new(py);
        attributes(error, &fields)?;
        let class = py.import("tinylda.errors")?.getattr(class_name(error))?;
        Ok(PyErr::from_value(class.call((&message,), Some(&fields))?))
    };
    create().unwrap_or_else(|error| error)
}

/// Conversion of the library's results.
pub(crate) trait OrRaise<T> {
    /// Returns the value, or the error as a Python exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for tinylda::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| to_python(py, &error))
    }
}
