//! One file per command: arguments in, the library called, a result printed.

mod coherence;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod documents;
pub(crate) mod eval;
mod experiment;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod infer;
pub(crate) mod info;
pub(crate) mod input;
pub(crate) mod paper;
pub(crate) mod plot;
pub(crate) mod report;
pub(crate) mod split;
pub(crate) mod sweep;
pub(crate) mod synth;
mod themes;
pub(crate) mod topics;
pub(crate) mod train;

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use serde_json::Value;
use tinylda::format::grouped;

use crate::{args, machine};

/// Prints a result: the JSON object, or the lines for people.
fn print(json: bool, value: &Value, lines: &str) -> anyhow::Result<()> {
    if json { to_stdout(&format!("{value}\n")) } else { to_stdout(lines) }
}

/// Writes to standard output. A reader that has gone away (`| head`) is no failure.
fn to_stdout(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(e).context("cannot write the result to standard output (the work itself is done)")
        }
        _ => Ok(()),
    }
}

/// Arguments that cannot be used, alone or together: exit code 2.
#[derive(Debug)]
pub(crate) struct UsageError(String);

impl std::fmt::Display for UsageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// A [`UsageError`] with this message.
pub(crate) fn usage(message: impl Into<String>) -> anyhow::Error {
    UsageError(message.into()).into()
}

/// Refuses an output that would replace one of the inputs, or that is `-` where no stream makes sense.
fn check_output(option: &str, output: &Path, inputs: &[Option<&Path>]) -> anyhow::Result<()> {
    if output == Path::new("-") {
        return Err(usage(format!("{option} must be a file, not -; only text can go to standard output")));
    }
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        anyhow::bail!(
            "cannot write {option} {}: the folder {} does not exist",
            output.display(),
            folder.display()
        );
    }
    match inputs.iter().flatten().find(|input| tinylda::files::same_file(input, output)) {
        Some(input) => Err(usage(format!(
            "{option} must be another file than {}, which is read or written too",
            input.display()
        ))),
        None => Ok(()),
    }
}

/// The most memory to use: what was asked for, or nine tenths of what is free.
fn ceiling(memory: Option<args::Size>) -> anyhow::Result<Option<u64>> {
    Ok(match memory {
        Some(args::Size::Bytes(bytes)) => Some(bytes),
        Some(args::Size::Share(share)) => {
            let all = machine::total_bytes();
            let unknown = || usage("--memory must be a size in bytes: the size of the memory is not known");
            Some((all.ok_or_else(unknown)? as f64 * share) as u64)
        }
        None => machine::available_bytes().map(|free| free - free / 10),
    })
}

/// Bytes of the program itself: its code and what it has allocated before any work. Without optimization there is more code.
const PROGRAM_BYTES: u64 = if cfg!(debug_assertions) { 13 << 20 } else { 41 << 18 };

/// Refuses memory that is too little for one of the steps of a command: `planned` is the step that plans for itself, `need` what
/// the others need. The refusal states what is enough for all of them; `steps` names those that need `need`.
fn enough_for_all<T>(
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

/// A trainer that keeps the whole process within so many bytes.
fn within(trainer: tinylda::Trainer, bytes: u64) -> tinylda::Trainer {
    trainer.memory(bytes).memory_in_use(PROGRAM_BYTES).guard_process(true)
}

/// A number as it was meant: 0.1 and not 0.10000000149011612.
fn plain(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

/// A word as it can be shown in a terminal: control characters would do more than be shown.
fn visible(word: &str) -> String {
    word.chars()
        .flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<_>>() } else { vec![c] })
        .collect()
}

/// A word of a command as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+,:%@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// A path as it goes into JSON.
fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Labels and values, one pair per line, values in a column.
fn table(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    let lines: Vec<String> = rows.iter().map(|(label, value)| format!("{label:width$}  {value}\n")).collect();
    lines.concat()
}

/// The numbers of a corpus's size, for JSON.
fn shape_json(shape: tinylda::corpus::Shape) -> serde_json::Map<String, Value> {
    let mut map = serde_json::Map::new();
    map.insert("documents".into(), shape.documents.into());
    map.insert("words".into(), shape.words.into());
    map.insert("nonzeros".into(), shape.nonzeros.into());
    map.insert("tokens".into(), shape.tokens.into());
    map
}

/// The same in a sentence.
fn shape_line(shape: tinylda::corpus::Shape) -> String {
    format!(
        "{} documents, {} words, {} non-zeros, {} tokens",
        grouped(shape.documents),
        grouped(u64::from(shape.words)),
        grouped(shape.nonzeros),
        grouped(shape.tokens)
    )
}
