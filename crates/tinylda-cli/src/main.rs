//! `tinylda`: topic models for collections bigger than the machine's memory.

use std::process::ExitCode;

fn main() -> ExitCode {
    tinylda_cli::main(std::env::args_os())
}
