//! Errors of the library. Start with [`Error`] and [`Problem`].
//!
//! A message names the parameter, or the file and the position in it, then says what is wrong and
//! what to do about it. Messages begin in lower case and have no final full stop. They refer to
//! parameters by name; [`Error::describe`] spells the names as the caller does, for instance as
//! flags of a command line, and `Display` as `` `alpha` ``. A caller can also match on the
//! variants, and ask for the [parameter](Error::parameter) and the [remedy](Error::remedy).

mod template;

use std::cell::Cell;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::format::{grouped, human_bytes};
pub(crate) use template::is_name;
pub use template::{ParameterSpelling, Remedy, Template};

/// Result of the library's fallible functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A position in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Position {
    /// A line of a text file, counted from 1.
    Line(u64),
    /// A row of a table, counted from 1.
    Row(u64),
    /// A byte of a binary file, counted from 0.
    Byte(u64),
    /// The file as a whole.
    Whole,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Line(n) => write!(f, ", line {n}"),
            Position::Row(n) => write!(f, ", row {n}"),
            Position::Byte(n) => write!(f, ", byte {n}"),
            Position::Whole => Ok(()),
        }
    }
}

/// What is wrong with a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The value has the right type but is not allowed.
    OutOfRange {
        /// The value.
        found: String,
        /// Allowed values, phrased to follow "must be".
        expected: Template,
    },
    /// The value cannot be parsed.
    Parse {
        /// The text that was given.
        found: String,
        /// The expected form of the value.
        expected: Template,
    },
    /// The parameter is required here but was not given.
    Missing {
        /// The expected form of the value.
        expected: Template,
    },
    /// The parameter cannot be combined with something else that was given.
    Conflict {
        /// The other side of the conflict: a parameter or a noun phrase.
        with: Template,
    },
    /// The parameter is only valid together with certain others.
    OnlyWith {
        /// The other parameters, one of which must be given.
        with: Vec<Template>,
    },
    /// The parameter requires another one that was not given.
    Requires {
        /// The missing parameter.
        other: Template,
    },
    /// The parameter, or its value, does not work with this input or on this machine.
    Unsupported {
        /// The unsupported value; `None` if the parameter itself is unsupported.
        value: Option<String>,
        /// Reason why it is not supported.
        reason: Template,
    },
}

impl Problem {
    /// Returns the message about the parameter `name`.
    fn describe(&self, name: &str, spelling: ParameterSpelling<'_>) -> String {
        let parameter = spelling(name, None);
        match self {
            Problem::OutOfRange { found, expected } => {
                format!("{parameter} must be {}, not {found}", expected.render(spelling))
            }
            Problem::Parse { found, expected } => {
                format!("invalid value {found:?} for {parameter}: expected {}", expected.render(spelling))
            }
            Problem::Missing { expected } => {
                format!("{parameter} is missing: expected {}", expected.render(spelling))
            }
            Problem::Conflict { with } => {
                format!("{parameter} cannot be combined with {}", with.render(spelling))
            }
            Problem::OnlyWith { with } => {
                format!("{parameter} is only valid with {}", one_of(&alternatives(with, spelling)))
            }
            Problem::Requires { other } => format!("{parameter} requires {}", other.render(spelling)),
            Problem::Unsupported { value, reason } => {
                let parameter = spelling(name, value.as_deref());
                format!("{parameter} is not supported: {}", reason.render(spelling))
            }
        }
    }
}

/// An error of the library.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused to open, read or write a file.
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Attempted action: `open`, `read`, `write`, …
        action: &'static str,
        /// The error that the system reported.
        source: std::io::Error,
    },
    /// An input file contains something that cannot be understood.
    Input {
        /// The file.
        path: PathBuf,
        /// Position in the file.
        position: Position,
        /// The content that was found. If `expected` is empty, a statement about the file that
        /// follows its name: `is empty`.
        found: String,
        /// The content that was expected. May be empty.
        expected: Template,
        /// What the user can do about the error.
        remedy: Remedy,
    },
    /// A corpus, model or checkpoint file is damaged or truncated.
    Damaged {
        /// The file.
        path: PathBuf,
        /// `corpus`, `model` or `checkpoint`.
        kind: &'static str,
        /// Position in the file.
        position: Position,
        /// Description of the damage.
        found: String,
    },
    /// No document contains a word of the given vocabulary, or of the vocabulary of a model.
    NoKnownWords {
        /// The input.
        path: PathBuf,
        /// Number of documents.
        documents: u64,
    },
    /// A file is not of the expected kind.
    WrongKind {
        /// The file.
        path: PathBuf,
        /// The expected kind: `corpus` or `model`.
        kind: &'static str,
        /// What the file seems to be, and what to do with it. May be empty.
        hint: Template,
    },
    /// A file has a format version that this version of the library cannot read.
    Version {
        /// The file.
        path: PathBuf,
        /// `corpus`, `model` or `checkpoint`.
        kind: &'static str,
        /// The version of the file.
        found: u32,
        /// The newest version that can be read.
        supported: u32,
    },
    /// A parameter has a value that is not possible, alone or together with others.
    Parameter {
        /// The parameter's name.
        name: &'static str,
        /// What is wrong with the parameter.
        problem: Problem,
        /// What the user can do about the error.
        remedy: Remedy,
    },
    /// An entry of a matrix or of a document in memory is not a valid count. Rows are documents and
    /// columns are words.
    Value {
        /// The row, counted from 0.
        row: u64,
        /// The column, counted from 0; `None` if its index is negative.
        column: Option<u64>,
        /// The value that was found.
        found: String,
        /// The value that was expected.
        expected: String,
    },
    /// The operation needs more memory than it may use.
    Memory {
        /// Bytes needed.
        need: u64,
        /// Bytes that may be used.
        have: u64,
        /// Changes that would reduce the memory needed.
        remedy: Remedy,
    },
    /// The system refused to allocate memory.
    Allocation {
        /// Bytes requested.
        bytes: u64,
        /// What the user can do about the error.
        remedy: Remedy,
    },
    /// A computation exceeded the range of its number type.
    Numeric {
        /// The document, counted from 1.
        document: u64,
        /// The computation, phrased to follow "numeric overflow in".
        phase: &'static str,
        /// The offending value.
        found: String,
        /// What the user can do about the error.
        remedy: Remedy,
    },
    /// The caller asked to stop, and nothing was written.
    Interrupted,
    /// The caller asked to stop, and a checkpoint was written.
    Stopped {
        /// The folder of the checkpoint.
        path: PathBuf,
        /// Number of completed passes.
        passes: u32,
    },
    /// The caller asked to stop, but the checkpoint could not be written.
    NotSaved {
        /// The folder for checkpoints.
        path: PathBuf,
        /// Number of completed passes.
        passes: u32,
        /// Number of completed passes in the last checkpoint; `None` if there is none.
        saved: Option<u32>,
        /// Reason why the checkpoint could not be written.
        source: Box<Error>,
    },
    /// A model file exists that was trained with other settings or on another corpus.
    ModelMismatch {
        /// The model file.
        path: PathBuf,
        /// The setting that differs: a parameter, or a noun phrase.
        setting: Template,
        /// Its value in the model; `None` if it was not set.
        found: Option<String>,
        /// Its value in this run; `None` if it is not set.
        wanted: Option<String>,
    },
    /// A checkpoint was created with other settings.
    CheckpointMismatch {
        /// The folder of the checkpoint.
        path: PathBuf,
        /// The setting that differs: a parameter, or a noun phrase.
        setting: Template,
        /// Its value in the checkpoint; `None` if it was not set.
        found: Option<String>,
        /// Its value in this run; `None` if it is not set.
        wanted: Option<String>,
    },
    /// The folder contains the checkpoint of an unfinished training, and the caller chose neither
    /// to resume nor to discard it.
    CheckpointExists {
        /// The folder of the checkpoint.
        path: PathBuf,
    },
    /// Another process uses the folder.
    FolderInUse {
        /// The folder.
        path: PathBuf,
    },
    /// Another rank of a distributed training has failed.
    Rank {
        /// The number of the rank, counted from 0.
        rank: usize,
        /// The message of its error.
        message: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe(&template::quoted))
    }
}

/// No error has a separate source: a message contains that of the operating system, if any.
impl std::error::Error for Error {}

/// Constructors for problems with parameters. [`with_remedy`](Error::with_remedy) adds a remedy.
#[allow(clippy::needless_pass_by_value, reason = "constructors take values as they come")]
impl Error {
    /// Returns the error for a parameter whose value is not allowed: "alpha must be `expected`, not
    /// `found`".
    pub fn out_of_range(name: &'static str, found: impl ToString, expected: impl Into<Template>) -> Error {
        Error::problem(name, Problem::OutOfRange { found: found.to_string(), expected: expected.into() })
    }

    /// Returns the error for a parameter whose value cannot be parsed: "invalid value "`found`" for
    /// glob: expected `expected`".
    pub fn parse(name: &'static str, found: impl ToString, expected: impl Into<Template>) -> Error {
        Error::problem(name, Problem::Parse { found: found.to_string(), expected: expected.into() })
    }

    /// Returns the error for a required parameter that was not given: "text_column is missing:
    /// expected `expected`".
    pub fn missing(name: &'static str, expected: impl Into<Template>) -> Error {
        Error::problem(name, Problem::Missing { expected: expected.into() })
    }

    /// Returns the error for parameters that exclude each other: "optimize cannot be combined with
    /// `with`".
    pub fn conflict(name: &'static str, with: impl Into<Template>) -> Error {
        Error::problem(name, Problem::Conflict { with: with.into() })
    }

    /// Returns the error for a parameter that is only valid with certain others: "kappa is only
    /// valid with `with`".
    pub fn only_with(name: &'static str, with: impl IntoIterator<Item: Into<Template>>) -> Error {
        Error::problem(name, Problem::OnlyWith { with: with.into_iter().map(Into::into).collect() })
    }

    /// Returns the error for a parameter that requires another one: "burn_in requires `other`".
    pub fn requires(name: &'static str, other: impl Into<Template>) -> Error {
        Error::problem(name, Problem::Requires { other: other.into() })
    }

    /// Returns the error for a parameter that does not work with this input or on this machine:
    /// "threads is not supported: `reason`".
    pub fn unsupported(name: &'static str, reason: impl Into<Template>) -> Error {
        Error::problem(name, Problem::Unsupported { value: None, reason: reason.into() })
    }

    /// Returns the error for a value of a parameter that does not work with this input or on this
    /// machine: "algorithm=gibbs is not supported: `reason`".
    pub fn unsupported_value(name: &'static str, value: impl ToString, reason: impl Into<Template>) -> Error {
        Error::problem(name, Problem::Unsupported { value: Some(value.to_string()), reason: reason.into() })
    }

    fn problem(name: &'static str, problem: Problem) -> Error {
        Error::Parameter { name, problem, remedy: Remedy::default() }
    }

    /// Replaces the remedy of the error. Variants without a `remedy` field are returned unchanged.
    #[must_use]
    pub fn with_remedy(mut self, with: impl Into<Remedy>) -> Error {
        if let Error::Input { remedy, .. }
        | Error::Parameter { remedy, .. }
        | Error::Memory { remedy, .. }
        | Error::Allocation { remedy, .. }
        | Error::Numeric { remedy, .. } = &mut self
        {
            *remedy = with.into();
        }
        self
    }
}

impl Error {
    /// Returns the message and the remedy, with parameters spelled the caller's way.
    pub fn describe(&self, spelling: ParameterSpelling<'_>) -> String {
        let message = self.message(spelling);
        match self.remedy() {
            None => message,
            Some(remedy) => {
                let separator = if remedy.is_sentence() { ". " } else { "; " };
                format!("{message}{separator}{}", remedy.render(spelling))
            }
        }
    }

    /// Returns the name of the parameter that the error is about, if any.
    pub fn parameter(&self) -> Option<&str> {
        match self {
            Error::Parameter { name, .. } => Some(name),
            Error::Memory { .. } => Some("memory"),
            Error::CheckpointMismatch { setting, .. } | Error::ModelMismatch { setting, .. } => {
                setting.as_parameter()
            }
            _ => None,
        }
    }

    /// Returns what the user can do about the error, if that is known.
    pub fn remedy(&self) -> Option<Remedy> {
        let remedy = match self {
            Error::Io { source, .. } => Remedy::from(remedy_for_io(source)),
            Error::Input { remedy, .. }
            | Error::WrongKind { hint: remedy, .. }
            | Error::Parameter { remedy, .. }
            | Error::Memory { remedy, .. }
            | Error::Allocation { remedy, .. }
            | Error::Numeric { remedy, .. } => remedy.clone(),
            Error::Damaged { kind: "checkpoint", .. } => {
                "restore it from a copy, or discard it with {restart}".into()
            }
            Error::Damaged { .. } => "restore it from a copy, or create it again".into(),
            Error::Version { kind: "checkpoint", .. } => {
                "resume with the version of tinylda that wrote it, or discard it with {restart}".into()
            }
            Error::Version { .. } => "upgrade tinylda, or create the file again with this version".into(),
            Error::NotSaved { source, .. } => source.remedy().unwrap_or_default(),
            Error::ModelMismatch { .. } => {
                "omit {resume} to train it again and replace it, or choose another {output}".into()
            }
            Error::CheckpointMismatch { .. } => {
                "resume with the same settings, discard the checkpoint with {restart}, or choose another \
                 folder with {checkpoint}"
                    .into()
            }
            Error::CheckpointExists { .. } => {
                "continue it with {resume}, or discard it with {restart}".into()
            }
            Error::FolderInUse { .. } => {
                "wait until it ends, or choose another {output} and another {checkpoint} folder".into()
            }
            Error::NoKnownWords { .. } => "check the language and the column or field of the text".into(),
            Error::Value { .. } | Error::Interrupted | Error::Stopped { .. } | Error::Rank { .. } => {
                Remedy::default()
            }
        };
        Some(remedy).filter(|remedy| !remedy.is_empty())
    }

    /// Returns the message without the remedy.
    fn message(&self, spelling: ParameterSpelling<'_>) -> String {
        match self {
            Error::Io { path, action, source } if source.kind() == std::io::ErrorKind::IsADirectory => {
                format!("cannot {action} {}: it is a folder", path.display())
            }
            Error::Io { path, action, source } => format!("cannot {action} {}: {source}", path.display()),
            Error::Input { path, position: Position::Whole, found, expected, .. } if expected.is_empty() => {
                format!("{} {found}", path.display())
            }
            Error::Input { path, position, found, expected, .. } if expected.is_empty() => {
                format!("{}{position}: {found}", path.display())
            }
            Error::Input { path, position, found, expected, .. } => {
                format!("{}{position}: expected {}, found {found}", path.display(), expected.render(spelling))
            }
            Error::NoKnownWords { path, documents: 1 } => {
                format!("{} has one document, which contains no word of the vocabulary", path.display())
            }
            Error::NoKnownWords { path, documents } => format!(
                "{} has {} documents, none of which contains a word of the vocabulary",
                path.display(),
                grouped(*documents)
            ),
            Error::Damaged { path, kind, position, found } => {
                format!("{}{position}: the {kind} file is damaged: {found}", path.display())
            }
            Error::WrongKind { path, kind, .. } => format!("{} is not a tinylda {kind} file", path.display()),
            Error::Version { path, kind, found, supported } => {
                let path = path.display();
                format!(
                    "{path}: {kind} format version {found} is not supported, only up to version {supported}"
                )
            }
            Error::Parameter { name, problem, .. } => problem.describe(name, spelling),
            Error::Value { row, column, found, expected } => {
                let column = column.map(|column| format!(", column {column}")).unwrap_or_default();
                format!("row {row}{column} (counted from 0): expected {expected}, found {found}")
            }
            Error::Memory { need, have, .. } => {
                let (need, have) = (human_bytes(*need), human_bytes(*have));
                format!("not enough memory: about {need} needed, {have} available")
            }
            Error::Allocation { bytes, .. } => format!("cannot allocate {} of memory", human_bytes(*bytes)),
            Error::Numeric { document, phase, found, .. } => {
                format!("document {document}: numeric overflow in {phase} ({found})")
            }
            Error::Interrupted => "interrupted, nothing was written".to_owned(),
            Error::Stopped { path, passes } => {
                let plural = if *passes == 1 { "" } else { "es" };
                format!("stopped after {passes} pass{plural}, with a checkpoint in {}", path.display())
            }
            Error::NotSaved { path, passes, saved, source } => {
                let plural = if *passes == 1 { "" } else { "es" };
                let (reason, lost) = (source.message(spelling), lost_progress(path, *passes, *saved));
                format!(
                    "stopped after {passes} pass{plural}, but the checkpoint could not be written: {reason}; {lost}"
                )
            }
            Error::ModelMismatch { path, setting, found, wanted } => {
                let difference = differing(setting, found.as_deref(), wanted.as_deref(), spelling);
                format!("{} was trained {difference}", path.display())
            }
            Error::CheckpointMismatch { path, setting, found, wanted } => {
                let difference = differing(setting, found.as_deref(), wanted.as_deref(), spelling);
                format!("{}: the checkpoint was created {difference}", path.display())
            }
            Error::CheckpointExists { path } => {
                format!("{}: the folder contains the checkpoint of an unfinished training", path.display())
            }
            Error::FolderInUse { path } => {
                format!("{}: another training is using this folder", path.display())
            }
            Error::Rank { rank, message } => format!("rank {rank} has failed: {message}"),
        }
    }

    /// Returns the error for an input that cannot be used. `statement` follows the file's name:
    /// `is empty`.
    pub(crate) fn unusable_input(
        path: &Path,
        statement: impl Into<String>,
        remedy: impl Into<Remedy>,
    ) -> Error {
        Error::Input {
            path: path.to_path_buf(),
            position: Position::Whole,
            found: statement.into(),
            expected: Template::default(),
            remedy: remedy.into(),
        }
    }

    /// Returns a function for `map_err` that turns an error of the operating system into one about
    /// `path`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error + use<> {
        let path = path.to_path_buf();
        move |source| Error::Io { path, action, source }
    }

    /// Returns the error for a damaged corpus file.
    pub(crate) fn damaged_corpus(path: &Path, position: Position, found: impl Into<String>) -> Error {
        Error::Damaged { path: path.to_path_buf(), kind: "corpus", position, found: found.into() }
    }

    /// Returns the error for a damaged checkpoint file.
    pub(crate) fn damaged_checkpoint(path: &Path, position: Position, found: impl Into<String>) -> Error {
        Error::Damaged { path: path.to_path_buf(), kind: "checkpoint", position, found: found.into() }
    }

    /// Returns the error for a damaged model file.
    pub(crate) fn damaged_model(path: &Path, position: Position, found: impl Into<String>) -> Error {
        Error::Damaged { path: path.to_path_buf(), kind: "model", position, found: found.into() }
    }
}

/// Returns what is lost if a training ends after `passes` passes without a new checkpoint. `saved`
/// is the pass of the last checkpoint in the folder `path`.
fn lost_progress(path: &Path, passes: u32, saved: Option<u32>) -> String {
    match saved {
        None => "all progress is lost, since there is no earlier checkpoint".to_owned(),
        Some(pass) if pass == passes => format!(
            "the progress of this pass is lost; the last checkpoint, after pass {pass}, is in {}",
            path.display()
        ),
        Some(pass) => {
            format!("the progress since pass {pass} is lost; the last checkpoint is in {}", path.display())
        }
    }
}

/// Describes a setting that differs, phrased to follow "was created".
fn differing(
    setting: &Template,
    found: Option<&str>,
    wanted: Option<&str>,
    spelling: ParameterSpelling<'_>,
) -> String {
    // Without a list there is no checksum of it.
    let list = setting.render(spelling);
    let list = list.strip_suffix(" checksum").filter(|_| found.is_none() || wanted.is_none());
    let set = |value| list.map_or_else(|| with_value(setting, value, spelling), str::to_owned);
    let before = if found.is_some() { "with" } else { "without" };
    let now = if wanted.is_some() { "this run uses" } else { "this run does not use" };
    format!("{before} {}, {now} {}", set(found), set(wanted))
}

/// Renders a setting with its value, if it has one.
fn with_value(setting: &Template, value: Option<&str>, spelling: ParameterSpelling<'_>) -> String {
    match (setting.as_parameter(), value) {
        (Some(name), value) => spelling(name, value),
        (None, Some(value)) => format!("{} {value}", setting.render(spelling)),
        (None, None) => setting.render(spelling),
    }
}

/// Renders alternatives. If several in succession are values of the same parameter, and the values
/// come last in its spelling, only the first one names it: `--algorithm vb`, `ovb`.
fn alternatives(all: &[Template], spelling: ParameterSpelling<'_>) -> Vec<String> {
    let mut before: Option<String> = None;
    let render = |other: &Template| {
        let text = other.render(spelling);
        let value = other.as_parameter().and_then(|_| other.suggestions().find_map(|(_, value)| value));
        let stem = value.and_then(|value| text.strip_suffix(value)).map(str::to_owned);
        let is_repeated = stem.is_some() && stem == before;
        before = stem;
        value.filter(|_| is_repeated).map_or_else(|| text.clone(), str::to_owned)
    };
    all.iter().map(render).collect()
}

/// Joins alternatives: `a`, `a or b`, `a, b or c`.
fn one_of(all: &[String]) -> String {
    match all {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// Returns the remedy for the most frequent errors of the operating system; empty for others.
fn remedy_for_io(source: &std::io::Error) -> &'static str {
    use std::io::ErrorKind as Kind;
    match source.kind() {
        Kind::NotFound => "check the name and that the folder exists",
        Kind::PermissionDenied => "check the permissions, or choose another folder",
        Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => {
            "free some space, or choose a folder on another disk; no incomplete file was left behind"
        }
        Kind::ReadOnlyFilesystem => "choose a folder that can be written to",
        Kind::AlreadyExists => "a file with that name exists, choose another folder",
        Kind::NotADirectory => "the name of a file ends without a slash; its folder must not be a file",
        Kind::IsADirectory => "specify a file",
        _ => "",
    }
}

thread_local! {
    static PANIC_IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether a panic of this thread would currently be caught and become an [`Error`].
///
/// A panic hook can call this function to suppress its message. The library does not install a
/// hook, since a process has only one.
pub fn panic_is_caught() -> bool {
    PANIC_IS_CAUGHT.get()
}

/// Calls third-party code that may panic. Returns `None` if it does; values that the code was
/// modifying must not be used then.
#[cfg(feature = "parquet")]
pub(crate) fn catch_panic<T>(call: impl FnOnce() -> T) -> Option<T> {
    let before = PANIC_IS_CAUGHT.replace(true);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
    PANIC_IS_CAUGHT.set(before);
    result.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spells parameters like a caller other than the library.
    fn option(name: &str, value: Option<&str>) -> String {
        let option = format!("/{name}");
        value.map_or(option.clone(), |value| format!("{option}:{value}"))
    }

    #[test]
    fn every_kind_of_problem_has_its_own_message() {
        let algorithms = ["{algorithm=vb}", "{algorithm=ovb}"];
        for (error, text) in [
            (Error::out_of_range("topics", 0, "at least 1"), "/topics must be at least 1, not 0"),
            (
                Error::parse("glob", "[", "a pattern such as *.txt"),
                "invalid value \"[\" for /glob: expected a pattern such as *.txt",
            ),
            (
                Error::missing("text_column", "the name of a column"),
                "/text_column is missing: expected the name of a column",
            ),
            (Error::conflict("resume", "{restart}"), "/resume cannot be combined with /restart"),
            (Error::only_with("kappa", [algorithms[1]]), "/kappa is only valid with /algorithm:ovb"),
            (Error::only_with("inner", algorithms), "/inner is only valid with /algorithm:vb or ovb"),
            (
                Error::only_with("x", ["{memory}", "{topics}", "{topics=2}", "text", "{seed=3}"]),
                "/x is only valid with /memory, /topics, /topics:2, text or /seed:3",
            ),
            (Error::requires("burn_in", "{samples}"), "/burn_in requires /samples"),
            (Error::unsupported("threads", "no thread"), "/threads is not supported: no thread"),
            (
                Error::unsupported_value("instructions", "avx2", "the processor lacks them"),
                "/instructions:avx2 is not supported: the processor lacks them",
            ),
        ] {
            assert_eq!(error.describe(&option), text);
            assert!(error.parameter().is_some() && error.remedy().is_none());
        }
        // The values are not the last part of the library's own spelling.
        let text = "`inner` is only valid with `algorithm=vb` or `algorithm=ovb`";
        assert_eq!(Error::only_with("inner", algorithms).to_string(), text);
    }

    #[test]
    fn the_remedy_comes_last() {
        let error = Error::out_of_range("burn_in", 9, "less than {passes}").with_remedy("use {burn_in=4}");
        assert_eq!(error.to_string(), "`burn_in` must be less than `passes`, not 9; use `burn_in=4`");
        assert_eq!(error.describe(&option), "/burn_in must be less than /passes, not 9; use /burn_in:4");
        let remedy = error.remedy().unwrap();
        assert_eq!(remedy.suggestions().collect::<Vec<_>>(), [("burn_in", Some("4"))]);
        let error = Error::requires("a", "{b}").with_remedy("Two sentences. Here.");
        assert_eq!(error.to_string(), "`a` requires `b`. Two sentences. Here.");
    }

    #[test]
    fn user_data_is_no_template() {
        let error = Error::out_of_range("layer", "{memory}", Template::from("one of ").text("{seed}"));
        assert_eq!(error.describe(&option), "/layer must be one of {seed}, not {memory}");
        let error = Error::Input {
            path: "{memory}".into(),
            position: Position::Line(3),
            found: "{seed}".into(),
            expected: "a number".into(),
            remedy: "use {format=text}".into(),
        };
        let text = "{memory}, line 3: expected a number, found {seed}; use /format:text";
        assert_eq!(error.describe(&option), text);
    }

    #[test]
    fn a_statement_follows_the_name_of_the_file() {
        let error = Error::unusable_input(Path::new("a.txt"), "is empty", "choose another {format}");
        assert_eq!(error.describe(&option), "a.txt is empty; choose another /format");
        let error = Error::Input {
            path: "seeds.txt".into(),
            position: Position::Line(2),
            found: "none of these words is in the corpus: a".into(),
            expected: Template::default(),
            remedy: Remedy::default(),
        };
        assert_eq!(error.to_string(), "seeds.txt, line 2: none of these words is in the corpus: a");
    }

    #[test]
    fn a_checkpoint_that_differs_shows_both_values() {
        let error = |setting: &str, found: Option<&str>, wanted: Option<&str>| Error::CheckpointMismatch {
            path: "m".into(),
            setting: setting.into(),
            found: found.map(str::to_owned),
            wanted: wanted.map(str::to_owned),
        };
        let differs = error("{seed}", Some("1"), Some("2"));
        let text = differs.describe(&option);
        assert!(text.starts_with("m: the checkpoint was created with /seed:1, this run uses /seed:2; "));
        assert!(text.contains("/restart") && text.contains("/checkpoint"), "{text}");
        assert_eq!(differs.parameter(), Some("seed"));
        let text = error("{seeds} checksum", None, Some("3f")).describe(&option);
        assert!(text.contains("created without /seeds, this run uses /seeds;"), "{text}");
        let text = error("{seeds} checksum", Some("3f"), None).describe(&option);
        assert!(text.contains("created with /seeds, this run does not use /seeds;"), "{text}");
        let text = error("{seeds} checksum", Some("3f"), Some("4a")).describe(&option);
        assert!(text.contains("with /seeds checksum 3f, this run uses /seeds checksum 4a;"), "{text}");
        let text = error("{optimize}", Some("true"), None).describe(&option);
        assert!(text.contains("created with /optimize:true, this run does not use /optimize;"), "{text}");
    }

    #[test]
    fn messages_about_memory_name_both_sizes() {
        let error = Error::Memory { need: 3 << 20, have: 1 << 20, remedy: "use {memory=3MiB}".into() };
        let text = "not enough memory: about 3.0 MiB needed, 1.0 MiB available; use /memory:3MiB";
        assert_eq!(error.describe(&option), text);
        let error = Error::Allocation { bytes: 1 << 30, remedy: Remedy::default() };
        assert_eq!(error.to_string(), "cannot allocate 1.0 GiB of memory");
    }
}
