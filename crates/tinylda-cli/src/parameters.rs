//! Replaces the library's parameter names in messages with the flags of the command line.
//!
//! The argument of a parameter has the parameter's name as its id. Its flag is looked up in the
//! definition of the running command, so that `topics` is `-k` for `train` and `--topics` for
//! `plot`, and `tolerance` is `--tol`. Start with [`describe`].

use std::sync::OnceLock;

use clap::{Arg, Command, CommandFactory};
use tinylda::error::Template;

use crate::args::Cli;
use crate::commands::shell_quote;

/// Name of the running subcommand.
static SUBCOMMAND: OnceLock<String> = OnceLock::new();

/// Sets the subcommand whose flags are used in messages. Only the first call has an effect.
pub(crate) fn set_subcommand(name: &str) {
    let _ = SUBCOMMAND.set(name.to_owned());
}

/// Returns the message of an error of the library, with flags instead of parameter names.
pub(crate) fn describe(error: &tinylda::Error) -> String {
    let all = Cli::command();
    error.describe(&|name, value| spell(&all, running(), name, value))
}

/// Returns a text of the library, with flags instead of parameter names.
pub(crate) fn render(text: &Template) -> String {
    let all = Cli::command();
    text.render(&|name, value| spell(&all, running(), name, value))
}

fn running() -> &'static str {
    SUBCOMMAND.get().map_or("", String::as_str)
}

/// Spells a parameter as a flag: `--memory 2GiB`, `-k`, `OUTPUT`.
fn spell(all: &Command, running: &str, name: &str, value: Option<&str>) -> String {
    let argument = argument(all, running, name);
    let flag = argument.map_or_else(|| format!("--{}", name.replace('_', "-")), flag);
    let takes_value = argument.is_none_or(|argument| argument.get_action().takes_values());
    match value.filter(|&value| takes_value || value != "true") {
        Some(value) => format!("{flag} {}", shell_quote(value)),
        None => flag,
    }
}

/// Finds the argument of a parameter, in the running subcommand or else in any other.
fn argument<'a>(all: &'a Command, running: &str, name: &str) -> Option<&'a Arg> {
    let of = |command: &'a Command| command.get_arguments().find(|argument| argument.get_id() == name);
    all.find_subcommand(running).and_then(of).or_else(|| all.get_subcommands().find_map(of))
}

/// Returns the flag of an argument: short if it has one, else long, else the name of a positional.
fn flag(argument: &Arg) -> String {
    match (argument.get_short(), argument.get_long()) {
        (Some(short), _) => format!("-{short}"),
        (None, Some(long)) => format!("--{long}"),
        (None, None) => argument.get_id().as_str().to_uppercase(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn parameters_become_flags_of_the_running_command() {
        let all = Cli::command();
        for (running, name, value, text) in [
            ("train", "topics", Some("20"), "-k 20"),
            ("synth", "topics", None, "-K"),
            ("plot", "topics", None, "--topics"),
            ("train", "output", None, "-o"),
            ("convert", "output", None, "OUTPUT"),
            ("train", "tolerance", Some("0"), "--tol 0"),
            ("train", "document_state", Some("none"), "--document-state none"),
            ("train", "burn_in", None, "--burn-in"),
            ("train", "optimize", Some("true"), "--optimize"),
            ("train", "text_field", Some("a b"), "--text-field 'a b'"),
            ("", "memory", Some("2GiB"), "--memory 2GiB"),
            ("train", "unheard_of", Some("1"), "--unheard-of 1"),
        ] {
            assert_eq!(spell(&all, running, name, value), text);
        }
    }

    #[test]
    fn every_parameter_of_the_library_has_a_flag() {
        /// Arguments of functions that the program does not call or always passes, and Cargo
        /// features, all of which it enables.
        const INTERNAL: [&str; 9] =
            ["columns", "compression", "data", "indptr", "labels", "parquet", "row", "settings", "text"];
        let mut names: BTreeSet<String> =
            tinylda::settings::SETTINGS.iter().map(|setting| setting.name.to_owned()).collect();
        parameters_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tinylda/src"), &mut names);
        assert!(
            names.len() > 30 && names.contains("memory") && names.contains("kappa") && names.contains("seed"),
            "{names:?}"
        );
        let all = Cli::command();
        let unknown: Vec<&String> = names
            .iter()
            .filter(|name| !INTERNAL.contains(&name.as_str()) && argument(&all, "", name).is_none())
            .collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    /// Adds the parameters that the messages in the sources of a folder refer to.
    fn parameters_in(folder: &Path, names: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                parameters_in(&path, names);
            } else if path.extension().is_some_and(|ending| ending == "rs") && !path.ends_with("tests.rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                // Markers in tests, and in the module that defines them, are examples.
                let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
                if !path.ends_with("error/template.rs") {
                    names.extend(named(text));
                }
            }
        }
    }

    /// Returns the parameters that the errors of a source are about or refer to in string literals.
    fn named(source: &str) -> Vec<String> {
        const CONSTRUCTORS: [&str; 8] = [
            "out_of_range",
            "parse",
            "missing",
            "conflict",
            "only_with",
            "requires",
            "unsupported",
            "unsupported_value",
        ];
        let mut names = Vec::new();
        for constructor in CONSTRUCTORS {
            for call in source.split(&format!("{constructor}(")).skip(1) {
                let quoted = call.trim_start().strip_prefix('"').and_then(|rest| rest.split_once('"'));
                names.extend(quoted.filter(|(name, _)| is_name(name)).map(|(name, _)| name.to_owned()));
            }
        }
        for (before, literal) in literals(source) {
            // In a format string a name in braces is a variable, and a marker has double braces.
            let is_format = before.trim_end().rsplit(|c: char| !"!(,&._".contains(c) && !c.is_alphanumeric());
            let is_format = is_format.take(2).any(|word| word.contains("!("));
            let (open, close) = if is_format { ("{{", "}}") } else { ("{", "}") };
            for marker in literal.split(open).skip(1) {
                let Some((marker, _)) = marker.split_once(close) else { continue };
                let name = marker.split('=').next().unwrap_or_default();
                names.extend(is_name(name).then(|| name.to_owned()));
            }
        }
        names
    }

    fn is_name(text: &str) -> bool {
        text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    }

    /// Returns the string literals of a source, each with the code before it.
    fn literals(source: &str) -> Vec<(String, String)> {
        let code: Vec<&str> = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let code = code.join("\n").replace("'\"'", "' '").replace("\\\"", "'");
        let parts: Vec<&str> = code.split('"').collect();
        parts.chunks(2).filter_map(|pair| Some((pair[0].to_owned(), (*pair.get(1)?).to_owned()))).collect()
    }
}
