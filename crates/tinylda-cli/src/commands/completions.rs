//! `tinylda completions`

use clap::CommandFactory;

use crate::args::{Cli, Completions};

pub(crate) fn run(a: &Completions) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(a.shell, &mut Cli::command(), "tinylda", &mut script);
    super::to_stdout(&String::from_utf8(script)?)
}
