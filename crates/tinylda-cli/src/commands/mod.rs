//! The commands, one file each, and the functions that they share.
//!
//! A command takes its parsed arguments, calls the library and prints a result. Formulas, formats
//! and algorithms belong to the library. Start with the `run` function of a command.

mod coherence;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod documents;
pub(crate) mod eval;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod infer;
pub(crate) mod info;
pub(crate) mod input;
mod mismatch;
mod notes;
pub(crate) mod paper;
pub(crate) mod plot;
pub(crate) mod report;
pub(crate) mod split;
pub(crate) mod stop_words;
pub(crate) mod sweep;
pub(crate) mod synth;
mod texts;
mod themes;
pub(crate) mod topics;
pub(crate) mod train;
pub(crate) mod update;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;
use tinylda::Model;
use tinylda::corpus::ingest::{DetectedInput, InputKind};
use tinylda::error::Template;
use tinylda::files::TemporaryFolder;
use tinylda::format::{counted, grouped};

use crate::{args, machine};

/// Prints a result: as a JSON object or as readable lines.
fn print(json: bool, value: &Value, lines: &str) -> anyhow::Result<()> {
    if json { to_stdout(&format!("{value}\n")) } else { to_stdout(lines) }
}

/// Writes to standard output. A closed pipe (`| head`) is not an error.
fn to_stdout(text: &str) -> anyhow::Result<()> {
    let write = || {
        let mut out = stdout()?;
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(e),
            _ => Ok(()),
        }
    };
    write().context("cannot write the result to standard output, although the command itself has succeeded")
}

/// Returns standard output, or an error if the process was started without it (`>&-`). Writing to
/// it would then succeed, but the result would be lost.
fn stdout() -> std::io::Result<std::io::StdoutLock<'static>> {
    if machine::stdout_is_closed() {
        return Err(std::io::Error::other("standard output is closed"));
    }
    Ok(std::io::stdout().lock())
}

/// Error in the arguments, which leads to exit code 2.
#[derive(Debug)]
pub(crate) struct UsageError(String);

impl std::fmt::Display for UsageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// Returns a [`UsageError`] with a message.
pub(crate) fn usage(message: impl Into<String>) -> anyhow::Error {
    UsageError(message.into()).into()
}

/// Returns the warning about a checkpoint that could not be written.
fn checkpoint_warning(reason: &str) -> String {
    format!("warning: no checkpoint could be written: {reason}. Training continues and tries again later.")
}

/// Appends `more` to the name of a file.
fn append_to_name(path: &Path, more: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(more);
    name.into()
}

/// Message for a command that the user has stopped, with what remains of its work. It is printed
/// instead of an error and leads to exit code 1.
#[derive(Debug)]
pub(crate) struct StoppedByUser(pub(crate) String);

impl std::fmt::Display for StoppedByUser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StoppedByUser {}

/// Loads the model of a command that applies it to documents. If the two files were given in the
/// wrong order, the error says so.
fn load_model(path: &Path, documents: Option<&Path>) -> anyhow::Result<Model> {
    let loaded = Model::load(path);
    let is_model = |other: &Path| {
        other != Path::new("-")
            && DetectedInput::open(other).is_ok_and(|input| input.kind() == InputKind::Model)
    };
    match (loaded, documents) {
        (Err(tinylda::Error::WrongKind { .. }), Some(other)) if is_model(other) => {
            Err(usage(format!("the model comes first: give {} before {}", other.display(), path.display())))
        }
        (loaded, _) => Ok(loaded?),
    }
}

/// Describes how many passes a training took and why it ended.
fn end_of_training(passes: u32, converged: bool) -> String {
    let passes = counted(passes.into(), "pass");
    if converged { format!("converged after {passes}") } else { format!("reached the limit of {passes}") }
}

/// Rejects an output that would replace one of the inputs, and `-` for files that are not text.
fn check_output(option: &str, output: &Path, inputs: &[Option<&Path>]) -> anyhow::Result<()> {
    if output == Path::new("-") {
        return Err(usage(format!("{option} must be a file, not -; only text can go to standard output")));
    }
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        anyhow::bail!(
            "cannot write {option} {}: the folder {} does not exist; create it first",
            output.display(),
            folder.display()
        );
    }
    if inputs.iter().flatten().any(|input| tinylda::files::same_file(input, output)) {
        return Err(usage(format!(
            "{option} {} would overwrite another input or output; choose another name",
            output.display()
        )));
    }
    Ok(())
}

/// Rejects the name of a report with the suffix of another format, such as .pdf.
fn check_report_name(option: &str, path: &Path) -> anyhow::Result<()> {
    let is_html = path
        .extension()
        .is_none_or(|ending| ending.eq_ignore_ascii_case("html") || ending.eq_ignore_ascii_case("htm"));
    if is_html {
        return Ok(());
    }
    Err(usage(format!("{option} must be a name that ends in .html, not {}", path.display())))
}

/// Returns the number of the topic with a name, or with a number.
fn topic_number(model: &Model, name_or_number: &str) -> tinylda::Result<u32> {
    let names = &model.training().topic_names;
    if let Some((k, _)) = names.iter().find(|(_, name)| name == name_or_number) {
        return Ok(*k);
    }
    let number = name_or_number.trim().parse().ok().filter(|&k| k < model.topics());
    number.ok_or_else(|| {
        let expected = Template::from(format!("a number from 0 to {}", model.topics() - 1));
        let named: Vec<&str> = names.iter().map(|(_, name)| name.as_str()).collect();
        let expected = if named.is_empty() {
            expected
        } else {
            expected.text(format!(" or one of {}", named.join(", ")))
        };
        tinylda::Error::out_of_range("topic", name_or_number, expected)
    })
}

/// Returns the name of a topic in parentheses, after a space; empty if it has none.
fn topic_name_suffix(model: &Model, k: u32) -> String {
    model.topic_name(k).map_or_else(String::new, |name| format!(" ({})", escape_control(name)))
}

/// Returns the memory limit in bytes: the given one, or 90% of the free memory.
fn memory_limit(memory: Option<args::MemorySize>) -> anyhow::Result<Option<u64>> {
    Ok(match memory {
        Some(args::MemorySize::Bytes(bytes)) => Some(bytes),
        Some(args::MemorySize::Share(share)) => {
            let all = machine::total_bytes();
            let unknown =
                || usage("--memory must be a size such as 2GiB: the total memory of this machine is unknown");
            Some((all.ok_or_else(unknown)? as f64 * share) as u64)
        }
        None => crate::default_memory(),
    })
}

/// Memory of the program itself in bytes: its code and what it allocates before any work. There is
/// more code without optimization.
pub(crate) const PROGRAM_BYTES: u64 = if cfg!(debug_assertions) { 11 << 20 } else { 29 << 18 };

/// Memory of the program itself in bytes in commands that import, train and evaluate, one after the
/// other.
pub(crate) const PROGRAM_BYTES_WITH_IMPORT: u64 = if cfg!(debug_assertions) { 15 << 20 } else { 41 << 18 };

/// Adds the memory of the program itself and a safety margin to the memory of a step.
fn with_program(bytes: u64) -> u64 {
    with_margin(PROGRAM_BYTES + bytes)
}

/// Adds a safety margin of 1/32 to the memory of a process.
pub(crate) fn with_margin(bytes: u64) -> u64 {
    bytes + bytes / 32
}

/// Rejects a memory limit that is too low for one of the steps of a command.
///
/// `planned` is the result of the step that plans for itself, `need` the memory that the other
/// steps need, and `have` the limit. The error states how much is enough for all steps; `steps`
/// names those that need `need`.
pub(crate) fn check_memory_for_all_steps<T>(
    planned: tinylda::Result<T>,
    need: u64,
    have: Option<u64>,
    steps: &str,
) -> tinylda::Result<T> {
    let too_little = |have| tinylda::Error::Memory {
        need,
        have,
        remedy: format!("it would fit with {{memory={}MiB}} ({steps})", need.div_ceil(1 << 20)).into(),
    };
    match (planned, have) {
        (Err(tinylda::Error::Memory { need: other, have, .. }), _) if other < need => Err(too_little(have)),
        (Ok(_), Some(have)) if have < need => Err(too_little(have)),
        (planned, _) => planned,
    }
}

/// Makes a trainer keep the whole process within `bytes`.
fn with_memory_limit(trainer: tinylda::Trainer, bytes: u64) -> tinylda::Trainer {
    trainer.memory(bytes).memory_in_use(PROGRAM_BYTES).guard_process(Some(0))
}

/// Converts to the shortest decimal number: 0.1 and not 0.10000000149011612.
fn plain(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

/// Escapes control characters, which a terminal would interpret.
fn escape_control(word: &str) -> String {
    escape_chars(word, char::is_control)
}

/// Escapes control characters in a message, except for line ends.
pub(crate) fn escape_message(text: &str) -> String {
    escape_chars(text, |c| c.is_control() && c != '\n')
}

fn escape_chars(text: &str, escapes: impl Fn(char) -> bool) -> String {
    text.chars()
        .flat_map(|c| if escapes(c) { c.escape_default().collect::<Vec<_>>() } else { vec![c] })
        .collect()
}

/// Creates a temporary folder in the folder of the system for temporary files.
pub(crate) fn temporary_folder() -> anyhow::Result<TemporaryFolder> {
    let parent = std::env::temp_dir();
    TemporaryFolder::new_in(&parent).map_err(|error| {
        let name = if cfg!(windows) { "TMP" } else { "TMPDIR" };
        anyhow::anyhow!(
            "cannot create a temporary folder in {}: {error}; set {name} to a folder that can be written to",
            parent.display()
        )
    })
}

/// Escapes a text, so that it cannot be taken for Markdown or HTML.
pub(crate) fn escape_markdown(text: &str) -> String {
    let mut out = String::new();
    for c in escape_control(text).chars() {
        match c {
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            c => out.push(c),
        }
    }
    out
}

/// Quotes a word of a command for a shell, if necessary.
pub(crate) fn shell_quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+,:%@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Converts a path to a string, for JSON.
pub(crate) fn path_string(path: &Path) -> String {
    path.display().to_string()
}

/// Returns the name of several inputs: `a.txt and 2 more`.
fn input_name(first: &Path, more: &[PathBuf]) -> String {
    let first = if first == Path::new("-") { "standard input".into() } else { path_string(first) };
    first + &and_more(more.len())
}

/// Returns how many follow after what is named: ` and 2 more`; empty for none.
fn and_more(more: usize) -> String {
    if more == 0 { String::new() } else { format!(" and {} more", grouped(more as u64)) }
}

/// Formats labels and values, one pair per line, with the values aligned.
fn table(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    let lines: Vec<String> = rows.iter().map(|(label, value)| format!("{label:width$}  {value}\n")).collect();
    lines.concat()
}

/// Returns the size of a corpus as JSON.
fn shape_json(shape: tinylda::corpus::Shape) -> serde_json::Map<String, Value> {
    let mut map = serde_json::Map::new();
    map.insert("documents".into(), shape.documents.into());
    map.insert("words".into(), shape.words.into());
    map.insert("nonzeros".into(), shape.nonzeros.into());
    map.insert("tokens".into(), shape.tokens.into());
    map
}

/// Returns the size of a corpus as a readable text.
fn shape_line(shape: tinylda::corpus::Shape) -> String {
    format!(
        "{}, {}, {}, {}",
        counted(shape.documents, "document"),
        counted(u64::from(shape.words), "word"),
        counted(shape.nonzeros, "non-zero"),
        counted(shape.tokens, "token")
    )
}
