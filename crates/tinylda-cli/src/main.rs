//! `tinylda`: topic models for collections bigger than the machine's memory.
//!
//! Parse (`args`) -> one function per command (`commands`) -> exit code. Results go to standard output, everything
//! else to standard error.

mod args;
mod commands;
mod machine;
mod plot;
mod progress;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;

use args::{Cli, Command};

/// Set by Ctrl-C; the running command sees it at its next report of progress and leaves nothing half-written.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Set while a second Ctrl-C may end the process on the spot: no temporary file is open but that of a checkpoint, which the
/// next training in its folder takes away.
static MAY_EXIT: AtomicBool = AtomicBool::new(false);

fn main() -> ExitCode {
    tinylda::one_heap();
    // What the library catches becomes an error with a message of its own.
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !tinylda::panic_is_caught() {
            usual(panic);
        }
    }));
    let cli = Cli::parse();
    let quiet = cli.quiet;
    let ignored = machine::ignored_signals();
    let handled = ctrlc::set_handler(move || {
        let again = INTERRUPTED.swap(true, Ordering::Relaxed);
        if MAY_EXIT.load(Ordering::Relaxed) {
            let ui = progress::Ui::new(quiet);
            if again {
                ui.say("stopped at once: what was done since the last checkpoint is lost");
                std::process::exit(1);
            }
            ui.say("\nstopping; asked once more, it stops at once, without a checkpoint");
        }
    });
    // Without a handler Ctrl-C ends the process at once, which is safe too: files appear only when they are whole.
    drop(handled);
    machine::ignore(&ignored);
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report(&error),
    }
}

fn run(cli: &Cli) -> anyhow::Result<()> {
    let ui = progress::Ui::new(cli.quiet);
    match &cli.command {
        Command::Demo(a) => commands::demo::run(a, ui),
        Command::Import(a) => commands::import::run(a, ui),
        Command::Info(a) => commands::info::run(a, ui),
        Command::Convert(a) => commands::convert::run(a, ui),
        Command::Split(a) => commands::split::run(a, ui),
        Command::Train(a) => commands::train::run(a, ui),
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
        Command::Completions(a) => commands::completions::run(a),
    }
}

/// Says what went wrong. Wrong usage is 2, every other failure 1.
fn report(error: &anyhow::Error) -> ExitCode {
    let (text, usage) = match error.downcast_ref::<tinylda::Error>() {
        // The library's messages are whole sentences that name their cause.
        Some(known) => (known.to_string(), matches!(known, tinylda::Error::Parameter { .. })),
        None => (format!("{error:#}"), false),
    };
    // Nothing sensible is left to do where standard error is gone too.
    let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("tinylda: {text}\n"));
    ExitCode::from(if usage { 2 } else { 1 })
}
