//! `tinylda paper`: all files are written, finished runs are reused, and failed runs do not stop
//! it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, SystemTime};

use assert_cmd::Command;
use serde_json::Value;

fn run(folder: &Path, arguments: &str) -> Output {
    let mut command = Command::cargo_bin("tinylda").unwrap();
    command.current_dir(folder).args(arguments.split_ascii_whitespace()).output().unwrap()
}

fn good(folder: &Path, arguments: &str) -> (String, String) {
    let output = run(folder, arguments);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (out, messages) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "tinylda {arguments}: {messages}");
    (out, messages)
}

fn json(folder: &Path, arguments: &str) -> Value {
    serde_json::from_str(&good(folder, arguments).0).unwrap()
}

/// Creates a folder with two small corpora.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    good(folder.path(), "-q synth -D 2600 -W 300 -K 5 --mean-length 12 --seed 1 -o one.tlc");
    good(folder.path(), "-q synth -D 150 -W 200 -K 5 --mean-length 30 --seed 2 -o two.tlc");
    folder
}

/// Returns the modification times of all files of a folder.
fn times(folder: &Path) -> BTreeMap<String, SystemTime> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|e| (e.file_name().into_string().unwrap(), e.metadata().unwrap().modified().unwrap()))
        .collect()
}

const COMMAND: &str = "paper --quick --corpus one.tlc --corpus two.tlc --topics 4,6 --passes 12 \
    --algorithms tbp,stbp --jobs 2 --threads 2 -o out";

#[test]
fn quick_writes_everything_and_resumes() {
    let folder = folder();
    let f = folder.path();
    let estimate = json(f, &format!("{COMMAND} --estimate --json"));
    // Two corpora, two algorithms and two K are trained and timed; the words and the comparison
    // with online learning use ten topics.
    assert_eq!((&estimate["runs"], &estimate["runs_left"]), (&20.into(), &20.into()));
    assert!(estimate["seconds"].as_f64().unwrap() > 0.0);
    assert!(times(&f.join("out/runs")).is_empty());
    let first = json(f, &format!("{COMMAND} --json"));
    assert_eq!(
        (&first["runs"], &first["runs_done_now"], &first["runs_failed"]),
        (&20.into(), &20.into(), &0.into())
    );
    let out = f.join("out");
    for name in ["perplexity", "time", "convergence", "words", "online"] {
        let svg = std::fs::read_to_string(out.join(format!("{name}.svg"))).unwrap();
        assert!(svg.starts_with("<svg ") && svg.contains("tbp") && !svg.contains("NaN"), "{name}");
        assert!(std::fs::read(out.join(format!("{name}.png"))).unwrap().starts_with(b"\x89PNG"));
        assert!(std::fs::read_to_string(out.join(format!("{name}.csv"))).unwrap().lines().count() > 2);
    }
    let report = std::fs::read_to_string(out.join("README.md")).unwrap();
    for part in ["## Corpora", "| one | 2,000 | 300 |", "| two | 150 | 200 |", "## Message memory, K = 4"] {
        assert!(report.contains(part), "{part}: {report}");
    }
    assert!(!report.contains("without a result"));
    let record: Value =
        serde_json::from_slice(&std::fs::read(out.join("runs/two-tbp-k4.json")).unwrap()).unwrap();
    assert_eq!(record["settings"]["topics"], 4);
    assert!(record["outcome"]["predictive_perplexity"].as_f64().unwrap() > 1.0);
    assert_eq!(record["outcome"]["history"].as_array().unwrap().len(), 12);
    let online: Value =
        serde_json::from_slice(&std::fs::read(out.join("runs/one-online-stbp-k10.online.json")).unwrap())
            .unwrap();
    let passes: Vec<u64> = online["outcome"]["stops"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stop| stop["pass"].as_u64().unwrap())
        .collect();
    assert_eq!(passes, [1, 2, 3, 5, 10, 12]);

    // Nothing is repeated, not even the split.
    let (runs, corpora) = (times(&out.join("runs")), times(&out.join("corpora")));
    std::thread::sleep(Duration::from_millis(20));
    let (_, messages) = good(f, COMMAND);
    assert!(messages.contains("all 20 runs are done"), "{messages}");
    assert_eq!((&runs, &corpora), (&times(&out.join("runs")), &times(&out.join("corpora"))));

    // Files that cannot be read, are missing or belong to other settings are created again; others
    // are not.
    let spoilt = ["two-tbp-k4.json", "one-stbp-k6.time.json"];
    std::fs::write(out.join("runs").join(spoilt[0]), b"{\"version\": \"0.1").unwrap();
    std::fs::remove_file(out.join("runs").join(spoilt[1])).unwrap();
    let (line, messages) = good(f, COMMAND);
    assert!(line.contains("20 runs, 2 of them new"), "{line}");
    assert!(messages.contains("cannot read out/runs/two-tbp-k4.json"), "{messages}");
    for (name, time) in times(&out.join("runs")) {
        assert_eq!(runs[&name] != time, spoilt.contains(&name.as_str()), "{name}");
    }
    // The result is the same, except for the times.
    let again: Value =
        serde_json::from_slice(&std::fs::read(out.join("runs").join(spoilt[0])).unwrap()).unwrap();
    assert_eq!(again["settings"], record["settings"]);
    assert_eq!(again["outcome"]["predictive_perplexity"], record["outcome"]["predictive_perplexity"]);
    let other = json(f, &format!("{COMMAND} --json --seed 2"));
    assert_eq!(other["runs_done_now"], 20);
}

#[test]
fn failed_run_is_a_gap() {
    let folder = folder();
    let f = folder.path();
    // K = 100,000 exceeds the number of tokens, K = 4 does not.
    let command = "paper --corpus two.tlc --topics 4,100000 --passes 3 --algorithms stbp -o out --json";
    let value = json(f, command);
    assert_eq!((&value["runs"], &value["runs_failed"]), (&6.into(), &2.into()));
    let report = std::fs::read_to_string(f.join("out/README.md")).unwrap();
    assert!(report.contains("## Runs without a result") && report.contains("two stbp K=100000"), "{report}");
    assert!(report.contains("| – |"), "{report}");
    // The failed run is repeated, the others are not.
    let value = json(f, command);
    assert_eq!((&value["runs_done_now"], &value["runs_failed"]), (&0.into(), &2.into()));
    // Too little memory is detected before any work.
    let value = json(
        f,
        "paper --corpus two.tlc --topics 4 --passes 3 --algorithms tbp -o small --memory 1MiB --json",
    );
    assert!(value["runs_failed"].as_u64().unwrap() >= 2, "{value}");
    let report = std::fs::read_to_string(f.join("small/README.md")).unwrap();
    assert!(report.contains("--memory"), "{report}");
}

#[test]
fn invalid_arguments_are_reported() {
    let folder = folder();
    let f = folder.path();
    std::fs::create_dir(f.join("more")).unwrap();
    std::fs::copy(f.join("two.tlc"), f.join("more/two.tlc")).unwrap();
    for (arguments, part) in [
        ("paper --corpus two.tlc --algorithms tbp,cake -o out", "possible values"),
        ("paper --corpus two.tlc --topics 0 -o out", "expected a whole number of at least 1"),
        ("paper --corpus two.tlc --corpus more/two.tlc -o out", "two corpora have the name two"),
        ("paper -o out", "--corpus"),
    ] {
        let output = run(f, arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {text}");
        assert!(text.contains(part), "{arguments}: {text}");
    }
}

#[test]
fn snapshots_of_a_training() {
    let folder = folder();
    let f = folder.path();
    good(f, "-q train two.tlc -k 3 --passes 6 --tol 0 -o plain.model");
    good(f, "-q train two.tlc -k 3 --passes 6 --tol 0 --snapshots 2,4 -o seen.model");
    assert!(std::fs::read(f.join("plain.model")).unwrap() == std::fs::read(f.join("seen.model")).unwrap());
    let names: Vec<String> = times(&f.join("seen.model.snapshots")).into_keys().collect();
    assert_eq!(names, ["pass-00002.model", "pass-00004.model"]);
    let info = json(f, "info seen.model.snapshots/pass-00002.model --json");
    assert_eq!(info["passes"], 2);
}
