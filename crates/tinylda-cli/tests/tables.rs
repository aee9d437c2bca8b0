//! Matrices and tables at the command line: what the user sees, and whether other tools read what was written.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use std::path::Path;

use serde_json::Value;

use common::{bad, good};

/// A folder with tables of others in it.
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
    bad(f, "import logs.h5ad --layer x -o b.tlc", 1, &["there are: X, counts, scaled"]);
    assert!(!f.join("b.tlc").exists());
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
    bad(f, "convert a.tlc a.tlc --to uci", 2, &["another file"]);
    bad(f, "convert b.npz x.mtx", 1, &["not a tinylda corpus"]);
    good(f, "import csr.npz -o plain.tlc");
    bad(f, "convert plain.tlc x.mtx --vocab words.txt", 2, &["--vocab", "without such names"]);
}

/// scipy, pandas and polars, where the machine has them.
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
        if !python(&format!("import {module}")).is_ok_and(|p| p.status.success()) {
            eprintln!("skipped: no {module} (set TINYLDA_PYTHON to a Python that has it)");
            continue;
        }
        let output = python(script).unwrap();
        assert!(output.status.success(), "{module}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
