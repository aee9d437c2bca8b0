//! Every way the library can fail, in one closed enum.
//!
//! A message names the file and the line or byte, what was found, what was expected, and what to do.
//! The program prints it as it is; a caller in Rust can match on the variant.

use std::cell::Cell;
use std::fmt;
use std::path::{Path, PathBuf};

/// What every fallible function of the library returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Where in a file something was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A line of a text file, counted from 1.
    Line(u64),
    /// A row of a table, counted from 1.
    Row(u64),
    /// A byte of a binary file, counted from 0.
    Byte(u64),
    /// The file as a whole.
    Whole,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(n) => write!(f, ", line {n}"),
            Place::Row(n) => write!(f, ", row {n}"),
            Place::Byte(n) => write!(f, ", byte {n}"),
            Place::Whole => Ok(()),
        }
    }
}

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused to open, read or write a file.
    #[error("cannot {action} {}: {source}{}", path.display(), remedy_for(source))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried: `open`, `read`, `write`, …
        action: &'static str,
        /// The system's own word.
        source: std::io::Error,
    },
    /// An input file holds something that cannot be understood.
    #[error("{}{place}: found {found}; expected {expected}. {remedy}", path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// Where in it.
        place: Place,
        /// What stands there.
        found: String,
        /// What should.
        expected: String,
        /// What the user can do about it.
        remedy: String,
    },
    /// A corpus, model or checkpoint file that is damaged, or was cut short.
    #[error("{}{place}: the {kind} file is damaged: {found}. {}", path.display(), remedy_for_damage(kind))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// `corpus`, `model` or `checkpoint`.
        kind: &'static str,
        /// Where in it.
        place: Place,
        /// What is wrong there.
        found: String,
    },
    /// A file of another kind than the one asked for.
    #[error("{}: this is not a tinylda {kind} file{hint}", path.display())]
    WrongKind {
        /// The file.
        path: PathBuf,
        /// `corpus` or `model`.
        kind: &'static str,
        /// What it seems to be, and what to do, or nothing.
        hint: String,
    },
    /// A file written by a newer program.
    #[error(
        "{}: the {kind} file has format version {found}, and this program reads up to version {supported}. \
         {}",
        path.display(),
        remedy_for_version(kind)
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// `corpus` or `model`.
        kind: &'static str,
        /// The version in the file.
        found: u32,
        /// The newest version that this program knows.
        supported: u32,
    },
    /// An option with a value that makes no sense.
    #[error("{option} is {found}; expected {expected}. {remedy}")]
    Setting {
        /// The option's name, as on the command line.
        option: &'static str,
        /// The value given.
        found: String,
        /// What values are possible.
        expected: String,
        /// What the user can do about it.
        remedy: String,
    },
    /// The work would need more memory than there is.
    #[error(
        "training needs about {} of memory and {} can be used. {remedy}",
        crate::plan::human_bytes(*need),
        crate::plan::human_bytes(*have)
    )]
    Memory {
        /// Bytes needed.
        need: u64,
        /// Bytes that may be used.
        have: u64,
        /// What would make it fit.
        remedy: String,
    },
    /// A computation left the range of its numbers.
    #[error(
        "the numbers of document {document} left the range of 32-bit floats in {phase} ({found}). {remedy}"
    )]
    Numeric {
        /// The document, counted from 1.
        document: u64,
        /// Which computation.
        phase: &'static str,
        /// The offending value.
        found: String,
        /// What the user can do about it.
        remedy: &'static str,
    },
    /// The caller asked to stop.
    #[error("interrupted: nothing was written")]
    Interrupted,
    /// The caller asked to stop, and what was done so far is in a checkpoint.
    #[error("stopped with {passes} whole passes done. All that was done is kept in {}.", path.display())]
    Stopped {
        /// The folder of the checkpoint.
        path: PathBuf,
        /// Whole passes done.
        passes: u32,
    },
    /// A checkpoint of another training.
    #[error(
        "{}: this checkpoint is of another training: {what} was {found} there and is {wanted} here. \
         Use the same to go on, or another folder (--checkpoint), or --restart to begin anew.",
        path.display()
    )]
    Other {
        /// The folder of the checkpoint.
        path: PathBuf,
        /// The setting that differs.
        what: String,
        /// The checkpoint's.
        found: String,
        /// What was asked for.
        wanted: String,
    },
    /// A checkpoint where none is to be continued.
    #[error(
        "{}: here is the checkpoint of a training that has not ended. \
         Add --resume to go on with it, or --restart to throw it away and begin anew.",
        path.display()
    )]
    Unfinished {
        /// The folder of the checkpoint.
        path: PathBuf,
    },
    /// Another process has the folder.
    #[error("{}: another training is using this folder. Wait for it, or give another output (-o) and folder (--checkpoint).", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
}

fn remedy_for_version(kind: &str) -> &'static str {
    if kind == "checkpoint" {
        "Go on with the tinylda that wrote it, or begin anew with --restart."
    } else {
        "Install a newer tinylda, or make the file again with this one."
    }
}

fn remedy_for_damage(kind: &str) -> &'static str {
    if kind == "checkpoint" {
        "Restore it from a copy, or begin anew with --restart."
    } else {
        "Make it again, or restore it from a copy."
    }
}

/// One more sentence for the failures that users meet most.
fn remedy_for(source: &std::io::Error) -> &'static str {
    use std::io::ErrorKind as Kind;
    match source.kind() {
        Kind::NotFound => ". Check the name and that the folder exists.",
        Kind::PermissionDenied => ". Check the permissions, or choose another folder.",
        Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => {
            ". Free some space, or choose a folder on another disk; nothing half-written was left behind."
        }
        Kind::ReadOnlyFilesystem => ". Choose a folder that can be written to.",
        Kind::AlreadyExists | Kind::NotADirectory => ". There is a file of that name: choose another folder.",
        Kind::IsADirectory => ". This is a folder: name a file.",
        _ => "",
    }
}

impl Error {
    /// An error of the operating system on `path`, as a function for `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error + use<> {
        let path = path.to_path_buf();
        move |source| Error::Io { path, action, source }
    }

    /// A damaged corpus file.
    pub(crate) fn damaged_corpus(path: &Path, place: Place, found: impl Into<String>) -> Error {
        Error::Damaged { path: path.to_path_buf(), kind: "corpus", place, found: found.into() }
    }

    /// A damaged file of a checkpoint.
    pub(crate) fn damaged_checkpoint(path: &Path, place: Place, found: impl Into<String>) -> Error {
        Error::Damaged { path: path.to_path_buf(), kind: "checkpoint", place, found: found.into() }
    }

    /// A damaged model file.
    pub(crate) fn damaged_model(path: &Path, place: Place, found: impl Into<String>) -> Error {
        Error::Damaged { path: path.to_path_buf(), kind: "model", place, found: found.into() }
    }
}

thread_local! {
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread is caught now, and becomes an [`Error`]: a panic hook may ask, and keep silent. The library sets no hook
/// of its own, since a process has only one.
pub fn panic_is_caught() -> bool {
    CAUGHT.get()
}

/// Calls what may panic, since it is not ours; nothing where it does. What it has changed must not be used then.
#[cfg(feature = "parquet")]
pub(crate) fn caught<T>(call: impl FnOnce() -> T) -> Option<T> {
    let before = CAUGHT.replace(true);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
    CAUGHT.set(before);
    result.ok()
}
