//! Findings of a hostile trial of the import: long records, ragged tables, titles, refusals.

#![allow(clippy::format_collect, clippy::format_push_string, clippy::needless_for_each)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use std::path::Path;

use serde_json::Value;

use common::{bad, good, piped, run};

const A: &str = "apple banana cherry fruit";
const B: &str = "engine wheel motor road";
const OPTIONS: &str = "-o x.tlc --min-docs 1 --language none --json";

/// Writes a file and imports it. Returns the JSON and the messages of the import.
fn import(folder: &Path, name: &str, bytes: &[u8], options: &str) -> (Value, String) {
    std::fs::write(folder.join(name), bytes).unwrap();
    read(&run(folder, &format!("import {name} {OPTIONS} {options}")), name)
}

fn read(output: &std::process::Output, name: &str) -> (Value, String) {
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(output.status.success(), "{name}: {said}");
    (serde_json::from_slice(&output.stdout).unwrap(), said)
}

/// Writes a file whose import must be refused with all of `parts`.
fn refused(folder: &Path, name: &str, bytes: &[u8], options: &str, parts: &[&str]) {
    std::fs::write(folder.join(name), bytes).unwrap();
    bad(folder, &format!("import {name} {OPTIONS} {options}"), 1, parts);
    assert!(!folder.join("x.tlc").exists(), "{name}");
}

/// Returns `count` rows of a number, a section and a text.
fn rows(count: usize, delimiter: char) -> String {
    (0..count)
        .map(|i| format!("{i}{delimiter}sports news{delimiter}{}\n", if i % 2 == 0 { A } else { B }))
        .collect()
}

#[test]
fn d1_a_long_field_before_the_text_does_not_hide_it() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let long = "lorem ipsum ".repeat(25_000);
    let record = |text: &str| format!("{{\"raw\":\"{long}\",\"id\":1,\"text\":\"{text}\"}}");
    let short = |text: &str| format!("{{\"id\":1,\"text\":\"{text}\"}}");
    let lines = [A, B, A].map(record).join("\n");
    let array = format!("[{}]", [A, B, A].map(record).join(",\n"));
    let noted = format!("{{\"note\":\"{long}\",\"docs\":[{}]}}", [A, B, A].map(short).join(","));
    let inner = format!("{{\"docs\":[{}]}}", [A, B, A].map(record).join(","));
    for (name, text) in [("a.jsonl", &lines), ("a.json", &array), ("n.json", &noted), ("i.json", &inner)] {
        for options in ["", "--text-field text"] {
            let (found, said) = import(f, name, text.as_bytes(), options);
            assert_eq!(found["documents"], 3, "{name} {options}: {said}");
            assert_eq!(found["tokens"], 12, "{name} {options}: {said}");
            assert!(said.contains("fields: text \"text\""), "{name} {options}: {said}");
        }
    }
    let (found, _) = import(f, "l.jsonl", lines.as_bytes(), "--format jsonl");
    assert_eq!(found["tokens"], 12);
    // A field that is still not there is not replaced by the only field that is.
    let huge = "lorem ipsum ".repeat(120_000);
    let text = format!("{{\"raw\":\"{huge}\",\"text\":\"{A}\"}}\n{{\"raw\":\"x\",\"text\":\"{B}\"}}\n");
    std::fs::write(f.join("h.jsonl"), text).unwrap();
    bad(f, &format!("import h.jsonl {OPTIONS} --memory 40MiB"), 2, &["--text-field is missing", "\"raw\""]);
    let command = format!("import h.jsonl {OPTIONS} --memory 40MiB --text-field text");
    assert_eq!(read(&run(f, &command), "h.jsonl").0["tokens"], 8);
}

#[test]
fn d2_d3_ragged_and_long_rows_do_not_make_a_table_plain_text() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let ragged = format!("id,section,text\n{}", rows(40, ',')).replacen("\n5,", "\n5,pear,", 1);
    let command = format!("import - {OPTIONS}");
    let (found, said) = read(&piped(f, &command, ragged.as_bytes()), "ragged");
    assert_eq!(found["inputs"][0]["format"], "csv", "{said}");
    assert_eq!((&found["documents"], &found["tokens"]), (&39.into(), &156.into()), "{said}");
    assert!(said.contains("warning: 1 row with more or fewer columns"), "{said}");
    let long = format!("id,text\n1,\"{}\"\n2,{B}\n", format!("{A} ").repeat(12_000));
    assert_eq!(import(f, "long.txt", long.as_bytes(), "").0["documents"], 2);
}

#[test]
fn d4_d7_titles_and_blank_lines_before_a_table_are_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let table = format!("id\tsection\ttext\n{}", rows(300, '\t'));
    let titled = format!("Reviews export\n{table}");
    for (name, text, before) in [
        ("t.tsv", titled.clone(), 1),
        ("t.txt", titled.clone(), 1),
        ("comma.csv", format!("Reviews, by section\n\n{}", table.replace('\t', ",")), 1),
        ("blank.csv", format!("\n \n{}", table.replace('\t', ",")), 0),
        ("sep.csv", format!("sep=;\r\n{}", table.replace('\t', ";")), 0),
        ("words.tsv", table.replace("banana", "banana, pear,"), 0),
    ] {
        let (found, said) = import(f, name, text.as_bytes(), "");
        assert_eq!(found["documents"], 300, "{name}: {said}");
        assert_eq!(found["inputs"][0]["rows_before_table"], before, "{name}: {said}");
        assert_eq!(found["inputs"][0]["text_columns"][0], "text", "{name}: {said}");
        assert_eq!(
            said.contains("warning: 1 row before the table was skipped"),
            before == 1,
            "{name}: {said}"
        );
    }
    std::fs::remove_file(f.join("x.tlc")).unwrap();
    refused(f, "t.tsv", titled.as_bytes(), "--strict", &["t.tsv, line 1", "--strict"]);
}

#[test]
fn d5_d6_an_input_of_which_most_is_skipped_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let wide: String = (0..500).map(|_| "apple, banana\n").collect();
    let parts =
        ["500 of 500 rows with more or fewer columns", "which has 1; line 2 is the first", "quote texts"];
    refused(f, "a.csv", format!("text\n{wide}").as_bytes(), "", &parts);
    let half = format!("text\n{A}\n{A}\n{B}, {A}\n{B}, {A}\n");
    assert_eq!(import(f, "half.csv", half.as_bytes(), "").0["documents"], 2);
    std::fs::remove_file(f.join("x.tlc")).unwrap();
    let others = "{\"body\":\"apple\"}\n".repeat(100);
    let lines = format!("{{\"text\":\"{A}\"}}\n{others}");
    let parts = ["100 of 101 records without the field \"text\"", "line 2 is the first", "--text-field"];
    refused(f, "a.jsonl", lines.as_bytes(), "--text-field text", &parts);
    std::fs::write(f.join("words"), "apple\nbanana\n").unwrap();
    bad(f, "import a.jsonl -o x.tlc --text-field text --vocabulary words", 1, &parts);
    // A title does not hide the table.
    let titled = format!("Export of reviews 2024\nid,text\n{}", format!("1,{A}\n2,{B}\n").repeat(250));
    assert_eq!(import(f, "t.csv", titled.as_bytes(), "").0["documents"], 500);
}

#[test]
fn d8_the_stated_memory_suffices_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let page: String = (0..100_000).map(|i| format!("<p class=x>{A} {} w{}</p>\n", B, i % 999)).collect();
    let page = format!("<html><head><title>x</title></head><body>{page}</body></html>");
    let escaped =
        format!("{{\"text\":\"{}\"}}\n", format!("{A} ").repeat(80_000) + &"caf\\u00e9 ".repeat(400_000));
    let later = format!("{} <br> &amp; caf\u{e9} ", format!("{A} ").repeat(400_000));
    std::fs::create_dir(f.join("folder")).unwrap();
    std::fs::write(f.join("folder/a.txt"), &later).unwrap();
    let array = format!("[{{\"n\":1,\"text\":\"{A}\"}},{}]", escaped.trim());
    for (name, text) in [
        ("a.html", &page),
        ("a.jsonl", &escaped),
        ("b.jsonl", &format!("{{\"text\":\"{A}\"}}\n{escaped}")),
        ("a.json", &array),
        ("a.txt", &later),
        ("folder", &String::new()),
    ] {
        if !text.is_empty() {
            std::fs::write(f.join(name), text).unwrap();
        }
        let command = |mib: u64| format!("import {name} {OPTIONS} --threads 1 --memory {mib}MiB");
        let output = run(f, &command(32));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{name}");
        let stated = error.rsplit("--memory ").next().and_then(|rest| rest.split("MiB").next());
        let stated: u64 = stated.unwrap().parse().unwrap_or_else(|_| panic!("{name}: {error}"));
        let (found, _) = read(&run(f, &command(stated)), name);
        let peak = found["peak_rss_bytes"].as_u64().unwrap_or(stated << 20) >> 20;
        assert!(peak <= stated && stated < 3 * peak + 20, "{name}: {stated} MiB stated, {peak} MiB used");
    }
}

#[test]
fn d10_d11_what_is_no_json_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let first = format!("{{\"text\":\"{A}\"}}\n{{\"text\":\"{B}\"}}\n");
    for (name, text, parts) in [
        (
            "q.json",
            format!("{{'text':'{A}'}}\n{{'text':'{B}'}}\n"),
            &["line 1", "single quote", "byte 2"][..],
        ),
        ("c.json", format!("// reviews\n[{{\"text\":\"{A}\"}}]\n"), &["line 1", "JSON has no comments"]),
        ("p.jsonl", format!("{A}\n{B}\n"), &["line 1", "expected a JSON object"]),
        (
            "s.jsonl",
            format!("{first}{{\"text\":\"a \\ud800 b\"}}\n"),
            &["line 3", "half of a surrogate pair"],
        ),
        ("e.jsonl", format!("{first}{{\"text\":\"a\",\"n\":1e400}}\n"), &["line 3", "the number 1e400"]),
        (
            "n.jsonl",
            format!("{first}{{\"text\":\"a\",\"n\":NaN}}\n"),
            &["line 3", "NaN, which is no value", "byte 17"],
        ),
        ("i.jsonl", format!("{first}{{\"n\":-Infinity,\"text\":\"a\"}}\n"), &["line 3", "Infinity"]),
        (
            "m.json",
            format!("[{{\"text\":\"{A}\"}},\n{{\"n\":\n NaN}}]\n"),
            &["line 3", "NaN", "byte 8 of the record"],
        ),
        ("o.jsonl", format!("{first}{{\"text\":\"a\",\n\"n\":1}}\n"), &["line 3", "--format json"]),
    ] {
        refused(f, name, text.as_bytes(), "", parts);
    }
    let (found, _) = import(f, "p.json", format!("{A}\n{B}\n").as_bytes(), "--format text");
    assert_eq!(found["documents"], 2);
}

#[test]
fn d12_skipped_data_is_reported_with_quiet() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    std::fs::create_dir(f.join("texts")).unwrap();
    for (name, text) in [("a.txt", A.as_bytes()), ("b.txt", B.as_bytes()), ("c.txt", b"\0\x01\x02")] {
        std::fs::write(f.join("texts").join(name), text).unwrap();
    }
    std::fs::write(f.join("a.csv"), format!("id,text\n1,{A}\n2,{B}\n3,{B}, {A}\n")).unwrap();
    for (input, parts) in [
        ("texts", "warning: 1 file was skipped: c.txt (a binary file)"),
        ("a.csv", "warning: 1 row with more or fewer columns than the first row was skipped"),
    ] {
        let output = run(f, &format!("-q import {input} -o x.tlc --min-docs 1 --language none"));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && said.starts_with(parts), "{said}");
        assert!(!said.contains("format:"), "{said}");
    }
    std::fs::remove_file(f.join("texts/c.txt")).unwrap();
    let output = run(f, "-q import texts -o x.tlc --min-docs 1 --language none");
    assert!(output.stderr.is_empty());
}

#[test]
fn u5_carriage_returns_end_lines_and_one_huge_line_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    for (name, text) in [
        ("cr.txt", format!("{A}\r{B}\r{A}\r")),
        ("cr.csv", format!("id,text\r1,{A}\r2,{B}\r3,{A}")),
        ("cr.jsonl", format!("{{\"text\":\"{A}\"}}\r{{\"text\":\"{B}\"}}\r{{\"text\":\"{A}\"}}\r")),
    ] {
        let (found, said) = import(f, name, text.as_bytes(), "");
        assert_eq!((&found["documents"], &found["tokens"]), (&3.into(), &12.into()), "{name}: {said}");
        assert!(said.contains("line ends: CR") && !said.contains("single document"), "{name}: {said}");
    }
    let huge = format!("{A} {B} ").repeat(50_000);
    for name in ["huge.txt", "huge"] {
        let (found, said) = import(f, name, huge.as_bytes(), "");
        assert_eq!((&found["documents"], &found["tokens"]), (&1.into(), &400_000.into()), "{name}: {said}");
        assert!(said.contains("warning: the input is a single document, and topics need many"), "{said}");
    }
    let output = run(f, "train huge.txt -k 2 --passes 2 --min-docs 1 -o m.model");
    assert!(String::from_utf8_lossy(&output.stderr).contains("warning: the input is a single document"));
}

#[test]
fn d13_messages() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    std::fs::write(f.join("a.txt"), format!("{A}\n{B}\n").repeat(10)).unwrap();
    std::fs::write(f.join("other.txt"), "zebra\n").unwrap();
    std::fs::write(f.join("seeds.txt"), "apple\n").unwrap();
    let said = |arguments: &str| String::from_utf8(run(f, arguments).stderr).unwrap();
    let one = said("import other.txt -o o.tlc --min-docs 1 --language none");
    assert!(one.contains("1 token in the text"), "{one}");
    good(f, "-q import a.txt -o a.tlc --language none");
    good(f, "-q train a.tlc -k 2 --passes 3 -o a.model");
    let error = said("report a.model o.tlc -o r.html");
    assert!(!error.contains("reference"), "{error}");
    #[cfg(unix)]
    {
        let mut command = assert_cmd::Command::cargo_bin("tinylda").unwrap();
        command.current_dir(f).env("TMPDIR", "/nonexist").args(["infer", "a.model", "-"]).write_stdin(A);
        let error = String::from_utf8(command.output().unwrap().stderr).unwrap();
        assert!(error.contains("set TMPDIR to a folder"), "{error}");
        let name = "a\u{1b}[31m.txt";
        let mut command = assert_cmd::Command::cargo_bin("tinylda").unwrap();
        command.current_dir(f).args(["import", name, "-o", "x.tlc"]);
        let error = String::from_utf8(command.output().unwrap().stderr).unwrap();
        assert!(error.contains("a\\u{1b}[31m.txt") && !error.contains('\u{1b}'), "{error}");
    }
}
