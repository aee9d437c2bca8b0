//! `tinylda sweep`: the number of topics is found, results are reused, and they do not depend on
//! the number of threads.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use common::{bad, good, run};
use serde_json::Value;

/// Creates a folder with a corpus of ten topics.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let synth = "-q synth -D 1500 -W 400 -K 10 --mean-length 60 --concentration 50 --seed 3 -o ten.tlc";
    good(folder.path(), synth);
    folder
}

fn json(folder: &Path, arguments: &str) -> Value {
    serde_json::from_str(&good(folder, arguments)).unwrap()
}

/// Returns sweep.csv without its last columns, threads and times, which depend on the machine.
fn numbers(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("sweep.csv")).unwrap();
    text.lines().map(|line| line.rsplitn(4, ',').last().unwrap().to_owned()).collect()
}

/// Returns when every run was saved.
fn times(folder: &Path) -> BTreeMap<String, SystemTime> {
    let entries = std::fs::read_dir(folder.join("runs")).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|e| (e.file_name().into_string().unwrap(), e.metadata().unwrap().modified().unwrap()))
        .collect()
}

#[test]
fn number_of_topics_is_found_with_any_threads() {
    let folder = folder();
    let f = folder.path();
    let command = "-q sweep ten.tlc -k 20,2,10,5,10 --repeats 2 --passes 40";
    let first = json(f, &format!("{command} --threads 1 --json"));
    assert!([10, 20].contains(&first["best"].as_u64().unwrap()), "{first}");
    assert_eq!((&first["runs"], &first["runs_done_now"]), (&8.into(), &8.into()));
    assert_eq!(first["documents_held_out"], 300);
    let rows = first["rows"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["topics"].as_u64().unwrap()).collect::<Vec<_>>(), [2, 5, 10, 20]);
    assert_eq!(rows.iter().filter(|row| row["best"] == true).count(), 1);
    for name in ["stability", "diversity", "coherence"] {
        assert!(rows.iter().all(|row| row[name].as_f64().is_some_and(|v| v <= 1.0)), "{name}: {first}");
    }
    // Two runs that find the true topics agree.
    assert!(rows[2]["stability"].as_f64().unwrap() > 0.5, "{first}");
    let out = f.join("ten.sweep");
    let svg = std::fs::read_to_string(out.join("sweep.svg")).unwrap();
    assert!(svg.contains("best K") && svg.contains("Stability") && !svg.contains("NaN"));
    assert!(std::fs::read(out.join("sweep.png")).unwrap().starts_with(b"\x89PNG"));
    let report = std::fs::read_to_string(out.join("report.md")).unwrap();
    assert!(report.contains(first["reason"].as_str().unwrap()), "{report}");

    // The best model equals that of `train` on the same documents, and the values equal those of
    // `eval`.
    let (k, seed) = (first["best"].as_u64().unwrap(), first["model_seed"].as_u64().unwrap());
    good(f, &format!("-q train ten.sweep/parts/train.tlc -k {k} --seed {seed} --passes 40 -o own.model"));
    assert!(std::fs::read(f.join("own.model")).unwrap() == std::fs::read(out.join("best.model")).unwrap());
    let eval = json(f, "-q eval ten.sweep/best.model ten.sweep/parts/test.tlc --json");
    let perplexity = eval["predictive_perplexity"].as_f64().unwrap().to_string();
    let line = numbers(&out).into_iter().find(|line| line.starts_with(&format!("{k},{seed},"))).unwrap();
    assert_eq!(line.split(',').nth(2), Some(perplexity.as_str()));
    // There is one model per K.
    assert_eq!(std::fs::read_dir(out.join("models")).unwrap().count(), 4);

    let second = json(f, &format!("{command} --threads 2 --memory 300MiB -o two --json"));
    assert_eq!(numbers(&out), numbers(&f.join("two")));
    assert_eq!(second["reason"], first["reason"]);
    let table = good(f, &format!("{command} --threads 2"));
    for part in [" ± ", "c_npmi", "* K = ", "tinylda topics ten.sweep/best.model"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let tsv = good(f, &format!("{command} --tsv --coherence u_mass"));
    assert!(tsv.starts_with("topics\tbest\truns\t") && tsv.contains("u_mass") && tsv.lines().count() == 5);
}

#[test]
fn finished_runs_are_reused() {
    let folder = folder();
    let f = folder.path();
    let out = f.join("out");
    let command = "sweep ten.tlc --passes 15 --threads 2 -o out --json";
    let other = "sweep ten.tlc --passes 16 --optimize -k 3 -o out";
    good(f, &format!("{command} -k 3,6 --repeats 2"));
    let (all, before) = (numbers(&out), times(&out));
    assert_eq!(before.len(), 4);
    std::thread::sleep(Duration::from_millis(20));
    // One result is missing, another one cannot be read.
    std::fs::remove_file(out.join("runs/k3-s2.json")).unwrap();
    std::fs::write(out.join("runs/k6-s1.json"), b"{\"settings\": ").unwrap();
    // A missing model is trained again.
    std::fs::remove_dir_all(out.join("models")).unwrap();
    let again = json(f, &format!("{command} -k 3,6 --repeats 2"));
    assert_eq!(again["runs_done_now"], 2);
    assert_eq!(numbers(&out), all);
    let now = times(&out);
    for (name, redone) in
        [("k3-s1.json", false), ("k3-s2.json", true), ("k6-s1.json", true), ("k6-s2.json", false)]
    {
        assert_eq!(before[name] != now[name], redone, "{name}");
    }
    assert!(out.join("best.model").exists());
    // A model without evaluation is evaluated, but not trained again.
    let file = out.join("runs/k3-s1.json");
    let mut record: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    good(f, "-q train out/parts/train.tlc -k 3 --passes 15 -o out/models/k3-s1.model");
    record["measures"] = Value::Null;
    record["training"]["seconds"] = 12345.0.into();
    std::fs::write(&file, record.to_string()).unwrap();
    good(f, &format!("{command} -k 3,6 --repeats 2"));
    assert_eq!(numbers(&out), all);
    assert!(std::fs::read_to_string(out.join("sweep.csv")).unwrap().contains(",12345,"));
    // More K and more repeats are added; the table contains all.
    let more = json(f, &format!("{command} -k 4 --repeats 3"));
    assert_eq!((&more["runs"], &more["runs_done_now"]), (&7.into(), &3.into()));
    assert!(all.iter().all(|line| numbers(&out).contains(line)));
    // Results of other settings are not added.
    bad(f, other, 2, &["its results: the default of --optimize, --passes 15 (only", "another -o"]);
    good(f, "-q synth -D 100 -W 400 -K 10 --seed 4 -o other.tlc");
    bad(f, "-q sweep other.tlc --passes 15 -k 3 -o out", 2, &["the same documents"]);
}

#[test]
fn one_run_per_k() {
    let folder = folder();
    let f = folder.path();
    // The data is imported, and the folder is named after it.
    let synth = "-q synth -D 300 -W 200 -K 4 --mean-length 30 --format uci -o words.txt";
    good(f, synth);
    let table = good(f, "-q sweep words.txt -k 4 --repeats 1 --passes 10");
    for part in ["Only one K", "--repeats", "words.sweep/best.model"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    assert!(!std::fs::read_to_string(f.join("words.sweep/sweep.svg")).unwrap().contains("Stability"));
    assert!(f.join("words.sweep/corpus.tlc").exists());
    let again = json(f, "-q sweep words.txt -k 4 --repeats 1 --passes 10 --json");
    assert_eq!(again["runs_done_now"], 0);
    assert!(again["rows"][0]["stability"].is_null());
}

#[test]
fn invalid_arguments_are_reported_before_any_work() {
    let folder = folder();
    let f = folder.path();
    good(f, "-q synth -D 2 -W 50 -K 2 -o two.tlc");
    std::fs::write(f.join("short.txt"), "2\n2\n2\n1 1 1\n2 2 1\n").unwrap();
    std::fs::write(f.join("file"), "").unwrap();
    for (arguments, part) in [
        ("sweep ten.tlc -o out", "--topics"),
        ("sweep ten.tlc -k , -o out", "expected a number such as 20"),
        ("sweep ten.tlc -k 0 -o out", "expected a number such as 20"),
        ("sweep ten.tlc -k 5,many -o out", "many"),
        ("sweep ten.tlc -k 5 --repeats 0 -o out", "expected a whole number from 1 to 1000"),
        ("sweep ten.tlc -k 5 --coherence cake -o out", "possible values"),
        ("sweep ten.tlc -k 5,100000000 -o out", "at most"),
        ("sweep ten.tlc -k 5 --algorithm stbp --active 3 -o out", "--active"),
        ("sweep two.tlc -k 2 -o out2", "at least one document in each part"),
        ("sweep short.txt --format uci --test 0.5 -k 1 -o out3", "three tokens"),
        ("sweep ten.tlc -k 5 -o file", "not the file file"),
    ] {
        let output = run(f, arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {text}");
        assert!(text.contains(part) && !text.contains("panicked"), "{arguments}: {text}");
    }
    bad(f, "-q sweep ten.tlc -k 5 --memory 1MiB -o out", 1, &["--memory"]);
    assert!(!f.join("out/sweep.json").exists());
}
