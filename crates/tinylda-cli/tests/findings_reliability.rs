//! Findings of outside trials about reliability, as a user meets them.

#![allow(clippy::format_collect, clippy::format_push_string, clippy::needless_for_each)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![cfg(unix)]

mod common;

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{bad, good, run};

/// Time after which a process counts as hanging. Far more than any machine needs.
const HANGS: Duration = Duration::from_secs(300);

const TEXT: &str = "red apples and green pears\nblue sky over green hills\nred paint and blue paint\n";

fn program() -> std::path::PathBuf {
    assert_cmd::cargo::cargo_bin("tinylda")
}

/// A folder with a text and the model trained on it.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.txt"), TEXT.repeat(20)).unwrap();
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Runs a line of shell with the program as `$0`.
fn shell(folder: &Path, line: &str) -> Output {
    Command::new("sh").arg("-c").arg(line).arg(program()).current_dir(folder).output().unwrap()
}

fn error_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn start(folder: &Path, arguments: &str) -> Child {
    let mut command = Command::new(program());
    command.current_dir(folder).args(arguments.split_ascii_whitespace());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Waits until a process handles SIGINT itself. Returns false if it has ended before.
fn handles_signals(child: &mut Child) -> bool {
    let (status, began) = (format!("/proc/{}/status", child.id()), Instant::now());
    while began.elapsed() < HANGS {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0");
        if u64::from_str_radix(mask.trim(), 16).unwrap_or(0) >> 1 & 1 == 1 {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("the program sets no handler");
}

fn send(child: &Child, signal: &str) {
    let sent = Command::new("kill").arg(signal).arg(child.id().to_string()).status().unwrap();
    assert!(sent.success());
}

/// Waits for the end of a process and returns its output. Standard input stays open until then.
fn wait(mut child: Child) -> Output {
    let (input, began) = (child.stdin.take(), Instant::now());
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > HANGS {
            let _ = child.kill();
            panic!("the program hangs");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(input);
    child.wait_with_output().unwrap()
}

#[test]
fn r2_resume_refuses_another_training() {
    let folder = folder();
    let f = folder.path();
    good(f, "import t.txt -o t.tlc");
    good(f, "train t.tlc -k 3 --passes 3 -o m.model");
    let model = std::fs::read(f.join("m.model")).unwrap();
    bad(
        f,
        "train t.tlc -k 2 --passes 3 -q -o m.model --resume",
        1,
        &["m.model was trained with -k 3, this run uses -k 2", "omit --resume", "choose another -o"],
    );
    bad(f, "train t.tlc -k 3 --passes 3 --seed 5 -o m.model --resume", 1, &["--seed 1", "--seed 5"]);
    std::fs::write(f.join("u.txt"), TEXT.repeat(21)).unwrap();
    bad(f, "train u.txt -k 3 --passes 3 -o m.model --resume", 1, &["trained with corpus checksum"]);
    for same in ["train t.tlc", "train t.txt"] {
        let output = run(f, &format!("{same} -k 3 --passes 3 -o m.model --resume --threads 1"));
        assert!(output.status.success(), "{}", error_text(&output));
        assert!(error_text(&output).contains("already trained with these settings"));
    }
    assert!(std::fs::read(f.join("m.model")).unwrap() == model);
}

#[test]
fn r9_signals_end_commands_that_wait_for_input() {
    let folder = folder();
    let f = folder.path();
    good(f, "train t.txt -k 2 --passes 2 -o m.model");
    assert!(Command::new("mkfifo").arg(f.join("fifo")).status().unwrap().success());
    let before = names(f);
    for command in [
        "train - -k 2 -o n.model",
        "train fifo -k 2 -o n.model",
        "import - -o n.tlc",
        "import fifo -o n.tlc",
        "infer m.model -",
        "infer m.model fifo -o n.tsv",
        "documents m.model -",
    ] {
        for signal in ["-INT", "-TERM"] {
            let mut child = start(f, command);
            if handles_signals(&mut child) {
                send(&child, signal);
            }
            let output = wait(child);
            let text = error_text(&output);
            assert_eq!(output.status.code(), Some(1), "{command}: {text}");
            assert!(text.contains("Stopped. No incomplete file was left behind."), "{command}: {text}");
            assert_eq!(names(f), before, "{command}");
        }
    }
}

#[test]
fn r9_a_second_signal_always_ends_a_training() {
    let folder = folder();
    let f = folder.path();
    good(f, "synth -D 20000 -W 2000 -K 10 --mean-length 50 -o s.tlc");
    let before = names(f);
    let mut child = start(f, "train s.tlc -k 50 --passes 100000 --tol 0 -o n.model");
    assert!(handles_signals(&mut child));
    send(&child, "-INT");
    // The first signal may already have ended it.
    let _ = Command::new("kill").arg("-INT").arg(child.id().to_string()).status();
    let output = wait(child);
    let text = error_text(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("Stopped") && !text.contains("error:"), "{text}");
    let left: Vec<String> = names(f).into_iter().filter(|name| !before.contains(name)).collect();
    assert!(left.iter().all(|name| name == "n.model.checkpoint"), "{left:?}");
}

/// A checkpoint is mentioned only if it is there: the folder may be removed during a training.
#[test]
fn r17_a_removed_checkpoint_is_not_mentioned() {
    let folder = folder();
    let f = folder.path();
    good(f, "synth -D 5000 -W 500 -K 5 --mean-length 30 -o s.tlc");
    let state = f.join("n.model.checkpoint");
    for is_replaced in [false, true] {
        let train = "train s.tlc -k 5 --passes 100000000 --tol 0 --checkpoint-every 1s -o n.model --restart";
        let mut child = start(f, train);
        assert!(handles_signals(&mut child));
        // The folder is moved as soon as it contains something. It may come again at any time.
        for attempt in 0.. {
            std::thread::sleep(Duration::from_millis(20));
            if !std::fs::read_dir(&state).is_ok_and(|mut entries| entries.next().is_some()) {
                assert!(child.try_wait().unwrap().is_none(), "the training has ended");
                continue;
            }
            std::fs::rename(&state, f.join(format!("moved-{is_replaced}-{attempt}"))).unwrap();
            let blocked = || std::fs::File::options().write(true).create_new(true).open(&state).is_ok();
            if !is_replaced || blocked() {
                break;
            }
        }
        send(&child, "-INT");
        let output = wait(child);
        let text = error_text(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        let is_mentioned = text.contains("checkpoint in") || text.contains("checkpoint is in");
        assert_eq!(is_mentioned, state.is_dir(), "{text}");
        assert_eq!(text.contains("Resume with"), state.is_dir(), "{text}");
        assert!(!is_replaced || text.contains("all progress is lost"), "{text}");
        if state.is_dir() {
            std::fs::remove_dir_all(&state).unwrap();
        } else {
            std::fs::remove_file(&state).unwrap();
        }
    }
}

#[test]
fn r14_models_do_not_depend_on_file_names() {
    let folder = folder();
    let f = folder.path();
    std::fs::copy(f.join("t.txt"), f.join("same-text.txt")).unwrap();
    good(f, "import t.txt -o c1.tlc");
    std::fs::copy(f.join("c1.tlc"), f.join("copy.tlc")).unwrap();
    for (input, output) in [("t.txt", "x1"), ("same-text.txt", "x2"), ("c1.tlc", "x3"), ("copy.tlc", "x4")] {
        good(f, &format!("train {input} -k 2 --passes 3 -o {output}.model --report {output}.html"));
    }
    let bytes = |name: &str| std::fs::read(f.join(name)).unwrap();
    for name in ["x2.model", "x3.model", "x4.model"] {
        assert!(bytes("x1.model") == bytes(name), "{name}");
    }
    // The report names the user's input.
    let page = String::from_utf8(bytes("x2.html")).unwrap();
    assert!(page.contains("same-text.txt") && !page.contains("input.tlc"));
    let info = good(f, "info x1.model");
    assert!(info.contains("trained on") && !info.contains("input.tlc"), "{info}");
}

#[test]
fn r16_an_existing_corpus_is_neither_replaced_nor_deleted() {
    let folder = folder();
    let f = folder.path();
    for name in ["m.model.input.tlc", "m.model.stdin.tlc"] {
        std::fs::write(f.join(name), "mine").unwrap();
    }
    good(f, "train t.txt -k 2 --passes 2 -o m.model");
    let output = common::piped(f, "train - -k 2 --passes 2 -o m.model", TEXT.repeat(9).as_bytes());
    assert!(output.status.success(), "{}", error_text(&output));
    assert_eq!(names(f), ["m.model", "m.model.input.tlc", "m.model.stdin.tlc", "t.txt"]);
    for name in ["m.model.input.tlc", "m.model.stdin.tlc"] {
        assert_eq!(std::fs::read(f.join(name)).unwrap(), b"mine");
    }
}

#[test]
fn r15_the_model_is_mentioned_when_its_report_fails() {
    let folder = folder();
    let f = folder.path();
    // A page has more than 20 KB, the model less.
    let output = shell(
        f,
        "trap '' XFSZ; ulimit -f 40; exec \"$0\" train t.txt -k 2 --passes 2 -o m.model --report r.html",
    );
    let text = error_text(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("the model m.model was written, but its report was not: cannot write"), "{text}");
    assert_eq!(names(f), ["m.model", "t.txt"]);
}

#[test]
fn r21_temporary_files_of_killed_processes_are_removed() {
    let folder = folder();
    let f = folder.path();
    std::fs::write(f.join(".tinylda-tmp-Ab12Cd.tmp"), "left").unwrap();
    std::fs::create_dir(f.join(".tinylda-tmp-Ef34Gh")).unwrap();
    std::fs::write(f.join(".tinylda-tmp-Ef34Gh/input.tlc"), "left").unwrap();
    good(f, "import t.txt -o t.tlc");
    assert_eq!(names(f), ["t.tlc", "t.txt"]);
    // A process is killed while it waits, with a temporary folder next to its model.
    let mut child = start(f, "train - -k 2 --passes 2 -o m.model");
    assert!(handles_signals(&mut child));
    child.kill().unwrap();
    wait(child);
    good(f, "train t.txt -k 2 --passes 2 -o m.model");
    assert_eq!(names(f), ["m.model", "t.tlc", "t.txt"]);
}

#[test]
fn r21_closed_standard_output_is_an_error() {
    let folder = folder();
    let f = folder.path();
    good(f, "train t.txt -k 2 --passes 2 -o m.model");
    good(f, "import t.txt -o t.tlc");
    for command in ["topics m.model", "info m.model", "infer m.model t.tlc", "export t.tlc --uci -"] {
        let output = shell(f, &format!("exec \"$0\" {command} >&-"));
        let text = error_text(&output);
        assert_eq!(output.status.code(), Some(1), "{command}: {text}");
        assert!(text.contains("standard output is closed"), "{command}: {text}");
        let output = shell(f, &format!("exec \"$0\" {command} >/dev/null"));
        assert!(output.status.success(), "{command}: {}", error_text(&output));
        let output = shell(f, &format!("exec \"$0\" {command} 1<>/dev/null"));
        assert!(output.status.success(), "{command}: {}", error_text(&output));
    }
}

#[test]
fn r21_the_range_of_numbers_is_stated() {
    let folder = folder();
    let f = folder.path();
    for (option, range) in
        [("--batch 99999999999999999", "1 to 1000000000000000"), ("--passes 4294967296", "1 to 4294967295")]
    {
        let output = run(f, &format!("train t.txt -k 2 --algorithm ovb {option} -o m.model"));
        let text = error_text(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(range), "{text}");
    }
}

#[test]
fn r21_a_failed_export_leaves_nothing() {
    let folder = folder();
    let f = folder.path();
    let words: Vec<String> = (0..3000).map(|w| format!("word{w} word{w}")).collect();
    std::fs::write(f.join("w.txt"), format!("{}\n", words.join(" ")).repeat(3)).unwrap();
    good(f, "import w.txt -o w.tlc --min-docs 1 --max-docs 100%");
    good(f, "train w.tlc -k 2 --passes 2 -o m.model");
    let before = names(f);
    for target in ["mallet", "csv"] {
        let line =
            format!("trap '' XFSZ; ulimit -f 16; exec \"$0\" export m.model w.tlc --to {target} -o out");
        let output = shell(f, &line);
        let text = error_text(&output);
        assert_eq!(output.status.code(), Some(1), "{target}: {text}");
        assert!(text.contains("no incomplete file was left behind"), "{target}: {text}");
        assert_eq!(names(f), before, "{target}");
        good(f, &format!("export m.model w.tlc --to {target} -o out"));
        assert!(names(&f.join("out")).len() > 1);
        std::fs::remove_dir_all(f.join("out")).unwrap();
    }
}

#[test]
fn r21_the_report_of_a_sweep_escapes_names() {
    let folder = folder();
    let f = folder.path();
    good(f, "synth -D 60 -W 40 -K 2 --mean-length 20 -o x<b>y.tlc");
    good(f, "sweep x<b>y.tlc -k 2 --repeats 1 --passes 2 -o swept");
    let report = std::fs::read_to_string(f.join("swept/report.md")).unwrap();
    assert!(report.contains("x&lt;b>y") && !report.contains("<b>"), "{report}");
}

/// An HDF5 file can claim any number of entries that were never written.
#[test]
fn r21_an_implausible_size_is_refused() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tinylda/tests/fixtures/tables");
    let good = std::fs::read(fixtures.join("dense.h5ad")).unwrap();
    let shape = |rows: u64, columns: u64| [rows.to_le_bytes(), columns.to_le_bytes()].concat();
    let (old, new) = (shape(5, 7), shape(1 << 33, 7));
    let mut bytes = good.clone();
    let found: Vec<usize> = (0..good.len() - 16).filter(|&at| good[at..at + 16] == old).collect();
    assert!(!found.is_empty());
    for at in found {
        bytes[at..at + 16].copy_from_slice(&new);
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.h5ad"), bytes).unwrap();
    bad(folder.path(), "import x.h5ad -o x.tlc", 1, &["60129542144 numbers", "plausible for a file of"]);
}
