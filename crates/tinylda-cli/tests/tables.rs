//! Matrices and tables on the command line: output for the user, and files that other tools can
//! read.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use std::path::Path;

use serde_json::Value;
use tinylda::table::{Cell, Column, Table, TableFormat};

use common::{bad, good, piped, run};

/// Creates a folder with tables from other programs.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tinylda/tests/fixtures/tables");
    for name in ["csr.npz", "logs.h5ad", "zstd.parquet", "lists.parquet"] {
        std::fs::copy(fixtures.join(name), folder.path().join(name)).unwrap();
    }
    folder
}

#[test]
fn tables_are_imported() {
    let folder = folder();
    let f = folder.path();
    for (arguments, format, documents) in [
        ("csr.npz", "npz", 5),
        ("logs.h5ad --layer counts", "h5ad", 5),
        ("zstd.parquet", "parquet", 3),
        ("lists.parquet --tokens-column tokens --id-column name", "parquet", 4),
    ] {
        let text = good(f, &format!("import {arguments} -o a.tlc --json"));
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((value["format"].as_str(), value["documents"].as_u64()), (Some(format), Some(documents)));
    }
    bad(f, "import logs.h5ad -o b.tlc", 1, &["fractional value", "--layer counts"]);
    bad(f, "import csr.npz --layer counts -o b.tlc", 2, &["--layer"]);
    bad(f, "import logs.h5ad --layer x -o b.tlc", 1, &["available: X, counts, scaled"]);
    assert!(!f.join("b.tlc").exists());
}

/// Writes articles as a Parquet table, with their texts, names, sections and numbers of reads.
fn articles(folder: &Path) {
    let columns = [
        Column::text("id"),
        Column::text("story").optional(),
        Column::text("section"),
        Column::whole("read"),
    ];
    let mut table = Table::create(folder.join("articles.parquet"), TableFormat::Parquet, &columns).unwrap();
    for i in 0..60 {
        let text = [
            "the rain and the storm of a cloud with snow in the wind ",
            "the goal of the match for a coach and the team in this league ",
        ][i % 2];
        let (id, text) = (format!("a{i}"), text.repeat(3));
        let text = if i == 59 { Cell::Missing } else { Cell::Text(&text) };
        let section = Cell::Text(["weather", "sports"][i % 2]);
        table.row(&[Cell::Text(&id), text, section, Cell::Whole(7)]).unwrap();
    }
    table.finish().unwrap();
}

#[test]
fn texts_in_a_table() {
    let folder = folder();
    let f = folder.path();
    articles(f);
    let options = "--text-column story --id-column id --label-column section";
    let text = good(f, &format!("import articles.parquet {options} -o a.tlc --json"));
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((value["documents"].as_u64(), value["empty_documents"].as_u64()), (Some(60), Some(1)));
    assert!(value["left_out"]["stop_words"].as_u64() > Some(0), "{value}");
    good(f, "train articles.parquet --text-column 2 -k 2 --passes 20 -o two.model");
    let topics = good(f, &format!("infer two.model articles.parquet {options} --top 1"));
    let row = |d: usize| topics.lines().nth(d).unwrap().split('\t').map(String::from).collect::<Vec<_>>();
    assert_eq!(
        (row(2)[1].as_str(), row(4)[2] == row(2)[2], row(3)[2] == row(2)[2]),
        ("a1", true, false),
        "{topics}"
    );
    // Documents that are not a corpus yet.
    let typical = good(f, &format!("documents two.model articles.parquet {options} --top 1 --min-tokens 5"));
    assert!(typical.contains("a0 (document 1, ") && typical.contains("a1 (document 2, "), "{typical}");
    let same = |input: &str| good(f, &format!("documents two.model {input} --min-tokens 5 --tsv"));
    assert_eq!(same(&format!("articles.parquet {options}")), same("a.tlc"));
    bad(
        f,
        "documents two.model a.tlc --text-column story",
        2,
        &["--text-column is only valid with data to import; a.tlc is a corpus file"],
    );
    // The column is found by its usual name.
    good(f, "import articles.parquet -o c.tlc");
    bad(
        f,
        "import articles.parquet --text-column read -o b.tlc",
        1,
        &["\"read\"", "whole number", "expected text"],
    );
    bad(
        f,
        "import articles.parquet --text-column body -o b.tlc",
        1,
        &["no column \"body\"", "\"story\" (text)"],
    );
    bad(f, "train articles.parquet --text-column story --text-field x -k 2 -o b.model", 2, &["--text-field"]);
    assert!(!f.join("b.tlc").exists());
}

#[test]
fn tables_from_a_stream_or_compressed() {
    let folder = folder();
    let f = folder.path();
    articles(f);
    for arguments in
        ["csr.npz", "logs.h5ad --layer counts", "zstd.parquet", "articles.parquet --text-column story"]
    {
        let (name, options) = arguments.split_once(' ').unwrap_or((arguments, ""));
        good(f, &format!("import {arguments} -o file.tlc"));
        let read = |name: &str| std::fs::read(f.join(name)).unwrap();
        let output = piped(f, &format!("import - {options} -o piped.tlc -q"), &read(name));
        assert!(output.status.success() && output.stderr.is_empty(), "{name}: {output:?}");
        assert!(read("file.tlc") == read("piped.tlc"), "{name}");
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut packed, &read(name)).unwrap();
        std::fs::write(f.join("packed.gz"), packed.finish().unwrap()).unwrap();
        let output = run(f, &format!("import packed.gz {options} -o packed.tlc"));
        assert!(String::from_utf8_lossy(&output.stderr).contains(", gzip"), "{name}: {output:?}");
        assert!(read("file.tlc") == read("packed.tlc"), "{name}");
        let half = read(name).len() / 2;
        let output = piped(f, &format!("import - {options} -o broken.tlc"), &read(name)[..half]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("error: standard input: expected"), "{name}: {said}");
    }
    let hidden =
        |e: std::io::Result<std::fs::DirEntry>| e.unwrap().file_name().to_string_lossy().starts_with('.');
    assert!(!std::fs::read_dir(f).unwrap().any(hidden), "something was left behind");
}

/// If the Parquet reader panics, the user sees only an error.
#[test]
fn damage_is_reported_once() {
    let folder = folder();
    let f = folder.path();
    let mut bytes = std::fs::read(f.join("zstd.parquet")).unwrap();
    bytes[12] ^= 0x40;
    std::fs::write(f.join("damaged.parquet"), bytes).unwrap();
    for options in ["", "--text-column document"] {
        bad(
            f,
            &format!("import damaged.parquet {options} -o a.tlc"),
            1,
            &["damaged.parquet", "damaged or truncated"],
        );
    }
}

#[test]
fn a_corpus_is_converted() {
    let folder = folder();
    let f = folder.path();
    good(f, "import logs.h5ad --layer counts -o a.tlc -q");
    assert_eq!(good(f, "convert a.tlc - --to ldac"), "2 0:2 4:1\n0\n3 1:3 4:9 6:300\n0\n1 3:1\n");
    assert_eq!(good(f, "convert a.tlc - --to svmlight").lines().next(), Some("0 1:2 5:1"));
    let head = "%%MatrixMarket matrix coordinate integer general\n5 7 6\n1 1 2\n";
    assert!(good(f, "convert a.tlc - --to mtx").starts_with(head));
    let text = good(f, "convert a.tlc b.npz --vocab words.txt --names cells.txt --json");
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((value["format"].as_str(), value["nonzeros"].as_u64()), (Some("npz"), Some(6)));
    assert_eq!(std::fs::read_to_string(f.join("words.txt")).unwrap(), "A\nB\nA-1\nD\nE\nF\nG\n");
    good(f, "import b.npz --vocab words.txt --names cells.txt -o c.tlc");
    let bytes = |name: &str| std::fs::read(f.join(name)).unwrap();
    assert_eq!(bytes("a.tlc"), bytes("c.tlc"));
    bad(f, "convert a.tlc b.txt", 2, &["--to", "uci, mtx"]);
    bad(f, "convert a.tlc - --to npz", 2, &["a file"]);
    bad(f, "convert a.tlc a.tlc --to uci", 2, &["would overwrite"]);
    bad(f, "convert b.npz x.mtx", 1, &["not a tinylda corpus"]);
    good(f, "import csr.npz -o plain.tlc");
    bad(f, "convert plain.tlc x.mtx --vocab words.txt", 2, &["--vocab", "no vocabulary"]);
}

/// Reads the files with scipy, pandas and polars, if they are installed.
#[test]
fn other_tools_read_what_was_written() {
    let folder = folder();
    let f = folder.path();
    good(f, "import logs.h5ad --layer counts -o a.tlc");
    good(f, "convert a.tlc b.npz");
    good(f, "convert a.tlc b.parquet");
    let python = std::env::var("TINYLDA_PYTHON").unwrap_or_else(|_| "python3".into());
    for (module, script) in [
        (
            "scipy",
            "import scipy.sparse as s; x = s.load_npz('b.npz'); assert x.shape == (5, 7) and x.sum() == 316, x; \
             assert x.format == 'csr' and x[2, 6] == 300 and x.has_sorted_indices",
        ),
        (
            "pandas, pyarrow",
            "import pandas as p; t = p.read_parquet('b.parquet'); assert list(t.columns) == ['document', 'word', 'count']; \
             assert list(t.loc[0]) == ['cell0', 'A', 2] and t['count'].sum() == 316",
        ),
        (
            "polars",
            "import polars as p; t = p.read_parquet('b.parquet'); assert t.shape == (6, 3) and t['count'].sum() == 316; \
             assert t['word'].to_list() == ['A', 'E', 'B', 'E', 'G', 'D']",
        ),
    ] {
        let python =
            |script: &str| std::process::Command::new(&python).current_dir(f).args(["-c", script]).output();
        if !python(&format!("import {module}, os; os._exit(0)")).is_ok_and(|p| p.status.success()) {
            eprintln!("skipped: no {module} (set TINYLDA_PYTHON to a Python that has it)");
            continue;
        }
        // Without the interpreter's shutdown: pyarrow's thread pool sometimes aborts in it.
        let output = python(&format!("{script}; import os; os._exit(0)")).unwrap();
        assert!(output.status.success(), "{module}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
