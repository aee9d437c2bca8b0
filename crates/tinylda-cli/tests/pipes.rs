//! Inputs that arrive through named pipes give the same results as regular files.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use common::good;

/// Time limit of a run; one that takes longer is waiting for a pipe without a writer.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Runs the program with each of `files` arriving through a named pipe `NAME.pipe`. The first bytes
/// arrive in two parts.
fn run_with_pipes(folder: &Path, arguments: &str, files: &[&str]) -> Output {
    let writers: Vec<_> = files
        .iter()
        .map(|file| {
            let pipe = format!("{file}.pipe");
            let _ = std::fs::remove_file(folder.join(&pipe));
            assert!(Command::new("mkfifo").current_dir(folder).arg(&pipe).status().unwrap().success());
            let script = format!("{{ head -c 3 {file}; sleep 0.05; tail -c +4 {file}; }} > {pipe}");
            // Its error about a closed pipe is ignored.
            let mut command = Command::new("sh");
            command.current_dir(folder).args(["-c", &script]).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    let mut program = assert_cmd::Command::cargo_bin("tinylda").unwrap();
    program.current_dir(folder).args(arguments.split_ascii_whitespace()).timeout(TIMEOUT);
    let output = program.output().unwrap();
    for mut writer in writers {
        let _ = writer.kill();
        writer.wait().unwrap();
    }
    output
}

/// Returns the standard output of a run that must succeed.
fn good_with_pipes(folder: &Path, arguments: &str, files: &[&str]) -> String {
    let output = run_with_pipes(folder, arguments, files);
    assert!(output.status.success(), "tinylda {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn bad_with_pipes(folder: &Path, arguments: &str, files: &[&str], parts: &[&str]) {
    let output = run_with_pipes(folder, arguments, files);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code().is_some_and(|code| code != 0), "tinylda {arguments}: {text}");
    for part in parts {
        assert!(text.contains(part), "tinylda {arguments}: {part:?} is missing in: {text}");
    }
}

/// Returns the tensors of a model, without the metadata, which contains the name of the corpus.
fn tensors(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    bytes[8 + header..].to_vec()
}

/// Creates a folder with the same documents in several formats, their corpus and a model.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let (mut text, mut json, mut csv) = (String::new(), String::new(), "name,text\n".to_owned());
    for i in 0..60 {
        let line = ["onion garlic butter oven sauce", "planet orbit comet rocket moon"][i % 2];
        let words: Vec<&str> = line.split(' ').collect();
        let line = format!("{line} {} {}", words[i % 5], words[i % 3]);
        writeln!(text, "{line}").unwrap();
        writeln!(json, "{{\"text\": \"{line}\"}}").unwrap();
        writeln!(csv, "d{i},\"{line}\"").unwrap();
    }
    for (name, content) in [("t.txt", &text), ("t.jsonl", &json), ("t.csv", &csv)] {
        std::fs::write(f.join(name), content).unwrap();
    }
    let gzip = std::fs::File::create(f.join("t.gz")).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(gzip, flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, text.as_bytes()).unwrap();
    gzip.finish().unwrap();
    good(f, "import t.txt -o t.tlc");
    for format in ["uci", "npz", "parquet"] {
        good(f, &format!("convert t.tlc t.{format}"));
    }
    good(f, "train t.tlc -k 2 --passes 5 -o t.model");
    folder
}

#[test]
fn r1_training_on_a_pipe_gives_the_model_of_the_file() {
    let folder = folder();
    let f = folder.path();
    for (name, format) in
        [("t.txt", "text"), ("t.jsonl", "jsonl"), ("t.csv", "csv"), ("t.gz", "text"), ("t.uci", "uci")]
    {
        good(f, &format!("train {name} -k 2 --passes 5 -o file.model"));
        let arguments = format!("train {name}.pipe -k 2 --passes 5 -o pipe.model");
        let output = run_with_pipes(f, &arguments, &[name]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && said.contains(&format!("format: {format}")), "{name}: {said}");
        assert!(said.contains("60 documents"), "{name}: {said}");
        assert!(tensors(&f.join("file.model")) == tensors(&f.join("pipe.model")), "{name}");
    }
}

#[test]
fn r1_importing_a_pipe_gives_the_corpus_of_the_file() {
    let folder = folder();
    let f = folder.path();
    for name in ["t.txt", "t.jsonl", "t.csv", "t.gz", "t.uci", "t.npz", "t.parquet"] {
        good(f, &format!("import {name} -o file.tlc"));
        good_with_pipes(f, &format!("import {name}.pipe -o pipe.tlc"), &[name]);
        assert_eq!(good(f, "convert file.tlc - --to uci"), good(f, "convert pipe.tlc - --to uci"), "{name}");
    }
}

#[test]
fn r1_a_sweep_over_a_pipe_gives_the_models_of_the_file() {
    let folder = folder();
    let f = folder.path();
    let arguments = "-k 2,3 --passes 5 --coherence u_mass";
    good(f, &format!("sweep t.txt {arguments} -o file"));
    good_with_pipes(f, &format!("sweep t.txt.pipe {arguments} -o pipe"), &["t.txt"]);
    let mut compared = 0;
    for entry in std::fs::read_dir(f.join("file/models")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "model") {
            let other = f.join("pipe/models").join(path.file_name().unwrap());
            assert!(tensors(&path) == tensors(&other), "{}", path.display());
            compared += 1;
        }
    }
    assert!(compared > 0);
}

#[test]
fn r1_documents_for_a_model_may_arrive_through_a_pipe() {
    let folder = folder();
    let f = folder.path();
    for name in ["t.txt", "t.jsonl", "t.uci"] {
        for command in ["infer t.model INPUT -o -", "documents t.model INPUT --tsv"] {
            let file = good(f, &command.replace("INPUT", name));
            let pipe = good_with_pipes(f, &command.replace("INPUT", &format!("{name}.pipe")), &[name]);
            assert_eq!(file, pipe, "{command} with {name}");
        }
    }
}

#[test]
fn r1_vocabularies_names_and_references_may_arrive_through_a_pipe() {
    let folder = folder();
    let f = folder.path();
    std::fs::write(f.join("words"), "moon\nonion\noven\ngarlic\n").unwrap();
    good(f, "import t.txt --vocabulary words -o file.tlc");
    good_with_pipes(f, "import t.txt --vocabulary words.pipe -o pipe.tlc", &["words"]);
    assert!(std::fs::read(f.join("file.tlc")).unwrap() == std::fs::read(f.join("pipe.tlc")).unwrap());
    // Both files arrive through pipes.
    good_with_pipes(f, "import t.txt.pipe --vocabulary words.pipe -o pipe.tlc", &["t.txt", "words"]);
    assert_eq!(good(f, "convert file.tlc - --to uci"), good(f, "convert pipe.tlc - --to uci"));
    // Unsorted documents are read first and named afterwards.
    std::fs::write(f.join("mixed"), "3\n2\n3\n3 1 2\n1 2 1\n2 1 5\n").unwrap();
    std::fs::write(f.join("names"), "first\nsecond\nthird\n").unwrap();
    std::fs::write(f.join("two"), "a\nb\n").unwrap();
    for input in ["mixed", "t.npz"] {
        let lines = if input == "mixed" { ("two", "names") } else { ("list", "list") };
        let many = (0..60).map(|i| format!("n{i}")).collect::<Vec<_>>().join("\n");
        std::fs::write(f.join("list"), many).unwrap();
        let words = if input == "mixed" { "--vocab two" } else { "" };
        good(f, &format!("import {input} {words} --names {} -o file.tlc", lines.1));
        let piped = words.replace("two", "two.pipe");
        let pipes: &[&str] = if input == "mixed" { &["two", "names"] } else { &["list"] };
        good_with_pipes(f, &format!("import {input} {piped} --names {}.pipe -o pipe.tlc", lines.1), pipes);
        assert!(std::fs::read(f.join("file.tlc")).unwrap() == std::fs::read(f.join("pipe.tlc")).unwrap());
    }
    let file = good(f, "eval t.model --reference t.txt --coherence c_npmi --top 5");
    let pipe =
        good_with_pipes(f, "eval t.model --reference t.txt.pipe --coherence c_npmi --top 5", &["t.txt"]);
    assert_eq!(file, pipe.replace("t.txt.pipe", "t.txt"));
}

#[test]
fn r1_corpora_and_models_in_a_pipe_are_rejected() {
    let folder = folder();
    let f = folder.path();
    let save = "to a file first";
    for arguments in [
        "train t.tlc.pipe -k 2 -o x.model",
        "sweep t.tlc.pipe -k 2 -o x",
        "infer t.model t.tlc.pipe -o -",
        "documents t.model t.tlc.pipe",
        "import t.tlc.pipe -o x.tlc",
        "import t.txt --vocabulary t.tlc.pipe -o x.tlc",
        "info t.tlc.pipe",
        "eval t.model t.tlc.pipe",
        "eval t.model --reference t.tlc.pipe --coherence u_mass",
        "convert t.tlc.pipe x.uci",
    ] {
        bad_with_pipes(f, arguments, &["t.tlc"], &["t.tlc.pipe", "a corpus in a regular file", save]);
    }
    for arguments in [
        "train t.model.pipe -k 2 -o x.model",
        "infer t.model.pipe t.txt -o -",
        "import t.txt --vocabulary t.model.pipe -o x.tlc",
        "info t.model.pipe",
        "topics t.model.pipe",
    ] {
        bad_with_pipes(f, arguments, &["t.model"], &["t.model.pipe", "a model in a regular file", save]);
    }
    let bytes = std::fs::read(f.join("t.tlc")).unwrap();
    let output = common::piped(f, "train - -k 2 -o x.model", &bytes);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && text.contains("standard input") && text.contains(save), "{text}");
    for name in ["x.model", "x.tlc", "x.uci"] {
        assert!(!f.join(name).exists(), "{name}");
    }
}
