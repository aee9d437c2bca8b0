//! Explains that a file is not of the expected kind, and names the command to run.

use std::io::Read;
use std::path::Path;

use tinylda::Error;
use tinylda::corpus::ingest::{DetectedInput, Format, InputKind};
use tinylda::error::Template;

use crate::commands::shell_quote;
use crate::parameters;

/// Number of bytes in which a null byte shows that a file is not text.
const INSPECTED_BYTES: u64 = 4096;

/// Returns the message of an error of the library. If a file is not of the expected kind, the
/// message says what it is and which command accepts it. If a file does not exist because it is the
/// value of an option, the message names the option.
pub(crate) fn describe(error: &Error) -> String {
    if let Error::Io { path, source, .. } = error
        && source.kind() == std::io::ErrorKind::NotFound
        && let Some(hint) = value_hint(crate::command_line(), path)
    {
        return format!("{}; {hint}", parameters::describe(error));
    }
    let Error::WrongKind { path, kind, .. } = error else { return parameters::describe(error) };
    let Some(remedy) = remedy(path, kind, crate::command_line()) else { return parameters::describe(error) };
    let what = Error::WrongKind { path: path.clone(), kind, hint: Template::default() };
    format!("{}; {remedy}", parameters::describe(&what))
}

/// Returns what a file is and the command to run; `None` if that is not known. `kind` is the kind
/// that was expected, and `words` is the command line.
fn remedy(path: &Path, kind: &str, words: &[String]) -> Option<String> {
    if tinylda::train::has_checkpoint(path) {
        return Some("it is a checkpoint folder; finish the training with tinylda train … --resume".into());
    }
    let found = DetectedInput::open(path).ok()?.kind();
    let train = format!("tinylda train {} -k 20 -o {}", quoted(path), named(path, "model"));
    let import = format!("tinylda import {} -o {}", quoted(path), named(path, "tlc"));
    let is = match found {
        InputKind::Model => "it is a model".to_owned(),
        InputKind::Corpus => "it is a corpus".to_owned(),
        InputKind::Data(Format::Folder) => "it is a folder".to_owned(),
        InputKind::Data(format) if is_data(path, format)? => format!("it contains data ({})", format.name()),
        _ => return None,
    };
    let command = words.get(1).map(String::as_str);
    let npz = || npz_output(words).map_or_else(|| named(path, "npz"), shell_quote);
    Some(match (found, kind) {
        (InputKind::Model, "corpus") if matches!(command, Some("convert" | "export")) => {
            format!("{is}; to write its arrays: tinylda export {} --npz {}", quoted(path), npz())
        }
        (InputKind::Corpus, "model") if command == Some("export") && has_option(words, "--npz") => {
            format!("{is}; to write its counts: tinylda convert {} {}", quoted(path), npz())
        }
        (InputKind::Corpus, _) => format!("{is}; train a model on it first: {train}"),
        (InputKind::Model, _) => format!("{is}; to print its topics: tinylda topics {}", quoted(path)),
        (_, "corpus") => format!("{is}; import it first: {import}"),
        (_, "model") => format!("{is}; train a model on it first: {train}"),
        _ => format!("{is}; import it with: {import}\nor train a model on it: {train}"),
    })
}

/// Returns whether a command line contains an option, with its value in the same word or not.
fn has_option(words: &[String], option: &str) -> bool {
    words
        .iter()
        .any(|word| word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')))
}

/// Returns the npz file that a command would write, if it would write one.
fn npz_output(words: &[String]) -> Option<&str> {
    let names = words.iter().skip(2).map(|word| word.strip_prefix("--npz=").unwrap_or(word));
    names
        .filter(|name| !name.starts_with('-'))
        .find(|name| Path::new(name).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("npz")))
}

/// Returns what the user probably meant if a file that does not exist is a number after an option
/// that takes no such value.
fn value_hint(words: &[String], path: &Path) -> Option<String> {
    let number = path.to_str().filter(|text| text.parse::<f64>().is_ok())?;
    words.windows(2).filter(|pair| pair[1] == number).find_map(|pair| match pair[0].as_str() {
        "--phrases" => Some(format!("to set the score, write --phrases={number}")),
        "--seeds" => Some(format!("did you mean --seed {number}?")),
        _ => None,
    })
}

/// Returns whether a file can be imported: it is not empty, and it is text or has a known format.
fn is_data(path: &Path, format: Format) -> Option<bool> {
    let mut start = Vec::new();
    std::fs::File::open(path).ok()?.take(INSPECTED_BYTES).read_to_end(&mut start).ok()?;
    Some(!start.is_empty() && (format != Format::Text || !start.contains(&0)))
}

/// Returns a path as a word of a command.
fn quoted(path: &Path) -> String {
    shell_quote(&path.to_string_lossy())
}

/// Returns the path with another suffix, or another name if it has that suffix already.
fn named(path: &Path, suffix: &str) -> String {
    let other = path.with_extension(suffix);
    if other == path { format!("my.{suffix}") } else { quoted(&other) }
}
