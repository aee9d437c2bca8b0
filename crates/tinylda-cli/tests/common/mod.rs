//! Runs the program as a user does.
#![allow(dead_code, reason = "not every test needs all")]

use std::path::Path;
use std::process::Output;

use assert_cmd::Command;

pub(crate) fn run(folder: &Path, arguments: &str) -> Output {
    let mut command = Command::cargo_bin("tinylda").unwrap();
    command.current_dir(folder).args(arguments.split_ascii_whitespace()).output().unwrap()
}

/// Runs a command with bytes on standard input.
pub(crate) fn piped(folder: &Path, arguments: &str, bytes: &[u8]) -> Output {
    let mut command = Command::cargo_bin("tinylda").unwrap();
    command.current_dir(folder).args(arguments.split_ascii_whitespace()).write_stdin(bytes).output().unwrap()
}

/// Returns the standard output of a command that must succeed.
pub(crate) fn good(folder: &Path, arguments: &str) -> String {
    let output = run(folder, arguments);
    assert!(output.status.success(), "tinylda {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a command that must fail with an exit code, print nothing on standard output, and print all
/// of `parts` on standard error.
pub(crate) fn bad(folder: &Path, arguments: &str, code: i32, parts: &[&str]) {
    let output = run(folder, arguments);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "tinylda {arguments}: {text}");
    for part in parts {
        assert!(text.contains(part), "tinylda {arguments}: {part:?} is missing in: {text}");
    }
    assert!(output.stdout.is_empty() && !text.contains("panicked"), "tinylda {arguments}: {text}");
}
