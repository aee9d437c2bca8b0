//! The program `tinylda` as a library, so that other front ends can run its commands, create its
//! report page ([`page`]) and its figures ([`plot`]), and search for the number of topics
//! ([`sweep`]).
//!
//! These three modules do not print, end the process or read the environment. The rest is the
//! program: arguments are parsed (`args`), one function per command runs (`commands`), and its
//! result becomes an exit code. Results go to standard output, everything else to standard error.
//! Start with [`main`].

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod args;
mod commands;
mod experiment;
mod machine;
pub mod page;
mod parameters;
pub mod plot;
mod progress;
mod settled;
mod signals;
pub mod sweep;
mod wrong_kind;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::{CommandFactory, FromArgMatches};

use args::{Cli, Command};

/// The arguments with which [`main`] was first called.
static COMMAND_LINE: OnceLock<Vec<String>> = OnceLock::new();

/// Returns the command line, beginning with the name of the program.
fn command_line() -> &'static [String] {
    COMMAND_LINE.get().map_or(&[], Vec::as_slice)
}

/// Runs the program and returns its exit code. The first of the arguments is the program's name.
///
/// Affects the whole process: it sets the panic hook and the handler of Ctrl-C, limits the
/// allocator to one arena, and ends the process if the arguments are invalid.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    machine::use_single_malloc_arena();
    // A panic that the library catches becomes an error with its own message.
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !tinylda::error::panic_is_caught() {
            default_hook(panic);
        }
    }));
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let _ = COMMAND_LINE.set(arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect());
    let matches = Cli::command()
        .try_get_matches_from(&arguments)
        .unwrap_or_else(|error| args::tips::improve(error, Cli::command(), &arguments).exit());
    parameters::set_subcommand(matches.subcommand_name().unwrap_or_default());
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let quiet = cli.quiet;
    let ignored = machine::ignored_signals();
    let handled = ctrlc::set_handler(move || signals::handle(quiet));
    // Without a handler Ctrl-C ends the process immediately, which is safe: files are renamed to
    // their final name only when they are complete.
    drop(handled);
    machine::ignore(&ignored);
    let result = run(&cli);
    signals::claim_end();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report(&error),
    }
}

/// Returns the memory in bytes that a training uses by default: nine tenths of what is available to
/// the process, if the system reports that.
pub fn default_memory() -> Option<u64> {
    machine::available_bytes().map(|free| free - free / 10)
}

/// Parses a memory size such as `512MiB`, `1.5GB`, `800M` or `50%` (of the memory of the machine)
/// and returns it in bytes. The error says what was expected.
pub fn parse_memory(text: &str) -> Result<u64, String> {
    match args::parse_memory_size(text)? {
        args::MemorySize::Bytes(bytes) => Ok(bytes),
        args::MemorySize::Share(share) => {
            let all = machine::total_bytes();
            let all = all.ok_or("expected a size such as 2GiB: the memory of this machine is unknown")?;
            Ok((all as f64 * share) as u64)
        }
    }
}

fn run(cli: &Cli) -> anyhow::Result<()> {
    machine::release_program_pages();
    let ui = progress::Ui::new(cli.quiet);
    match &cli.command {
        Command::Demo(a) => commands::demo::run(a, ui),
        Command::Import(a) => commands::import::run(a, ui),
        Command::Info(a) => commands::info::run(a, ui),
        Command::Convert(a) => commands::convert::run(a, ui),
        Command::Split(a) => commands::split::run(a, ui),
        Command::Train(a) => commands::train::run(a, ui),
        Command::Update(a) => commands::update::run(a, ui),
        Command::Sweep(a) => commands::sweep::run(a, ui),
        Command::Topics(a) => commands::topics::run(a),
        Command::Infer(a) => commands::infer::run(a, ui),
        Command::Documents(a) => commands::documents::run(a, ui),
        Command::Eval(a) => commands::eval::run(a, ui),
        Command::Report(a) => commands::report::run(a, ui),
        Command::Plot(a) => commands::plot::run(a, ui),
        Command::Export(a) => commands::export::run(a, ui),
        Command::Synth(a) => commands::synth::run(a, ui),
        Command::Paper(a) => commands::paper::run(a, ui),
        Command::StopWords(a) => commands::stop_words::run(a),
        Command::Completions(a) => commands::completions::run(a),
    }
}

/// Prints an error and returns the exit code: 2 for invalid arguments, 1 for all other failures and
/// for commands that the user has stopped, which is stated and not called an error.
fn report(error: &anyhow::Error) -> ExitCode {
    let text = stop_statement(error).unwrap_or_else(|| format!("error: {}", message(error)));
    let text = commands::escape_message(&text);
    // If standard error cannot be written to, there is nothing left to do.
    let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{text}\n"));
    ExitCode::from(if is_usage(error) { 2 } else { 1 })
}

/// Returns the statement about a command that the user has stopped; `None` for other errors.
fn stop_statement(error: &anyhow::Error) -> Option<String> {
    if let Some(stopped) = error.downcast_ref::<commands::StoppedByUser>() {
        return Some(stopped.to_string());
    }
    let is_interrupted = matches!(error.downcast_ref(), Some(tinylda::Error::Interrupted));
    if !is_interrupted || !signals::interrupted() {
        return None;
    }
    let contexts: Vec<String> =
        error.chain().take_while(|cause| !cause.is::<tinylda::Error>()).map(ToString::to_string).collect();
    Some(if contexts.is_empty() {
        signals::STOPPED.to_owned()
    } else {
        format!("Stopped: {}", contexts.join(": "))
    })
}

/// Returns whether an error is due to invalid arguments.
fn is_usage(error: &anyhow::Error) -> bool {
    error.downcast_ref::<commands::UsageError>().is_some()
        || matches!(error.downcast_ref(), Some(tinylda::Error::Parameter { .. }))
}

/// Returns the message of an error with all its contexts, outermost first.
pub(crate) fn message(error: &anyhow::Error) -> String {
    let mut parts = Vec::new();
    for cause in error.chain() {
        match cause.downcast_ref::<tinylda::Error>() {
            // The library's messages contain their causes.
            Some(known) => {
                parts.push(wrong_kind::describe(known));
                break;
            }
            None => parts.push(cause.to_string()),
        }
    }
    parts.join(": ")
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn every_context_is_printed() {
        let known = || tinylda::Error::requires("burn_in", "{samples}");
        let error =
            Err::<(), _>(known()).context("training").context("the model is written, but").unwrap_err();
        assert_eq!(message(&error), "the model is written, but: training: --burn-in requires --samples");
        assert!(is_usage(&error));
        let error = anyhow::anyhow!("cause").context("context");
        assert_eq!(message(&error), "context: cause");
        assert!(!is_usage(&error));
        let error = commands::usage("no").context("context");
        assert_eq!(message(&error), "context: no");
        assert!(is_usage(&error));
    }
}
