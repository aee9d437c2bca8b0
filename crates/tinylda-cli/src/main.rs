//! The program `tinylda`: topic models for collections larger than memory.

use std::process::ExitCode;

fn main() -> ExitCode {
    tinylda_cli::main(std::env::args_os())
}
