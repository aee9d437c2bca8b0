//! `tinylda completions`: prints a completion script for a shell.

use clap::CommandFactory;

use crate::args::{Cli, CompletionsArgs};

pub(crate) fn run(a: &CompletionsArgs) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(a.shell, &mut Cli::command(), "tinylda", &mut script);
    super::to_stdout(&String::from_utf8(script)?)
}
