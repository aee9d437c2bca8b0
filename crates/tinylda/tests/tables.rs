//! Matrices and tables of others: are they read as they are meant, is every wrong one refused in plain words, and do corpora that are
//! converted come back the same? The fixtures are made by `fixtures/tables/make.py`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tinylda::corpus::ingest::{Format, Import, Imported, ParquetRecords, TableColumns};
use tinylda::corpus::{CorpusFormat, convert, save_names, save_vocabulary};
use tinylda::{Block, Corpus, CorpusWriter, Error, Vocabulary};

type Entries = Vec<(u64, u32, u32)>;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tables").join(name)
}

struct Read {
    imported: Imported,
    entries: Entries,
    names: Vec<String>,
    words: Vec<String>,
}

fn read_corpus(path: &Path) -> (Entries, Vec<String>, Vec<String>) {
    let corpus = Corpus::open(path).unwrap();
    let (mut reader, mut block) = (corpus.reader(), Block::default());
    let (mut entries, mut names) = (Vec::new(), Vec::new());
    for i in 0..corpus.blocks() {
        reader.read(i, &mut block).unwrap();
        names.extend(reader.read_names(i).unwrap().iter().map(String::from));
        for (d, document) in block.iter().enumerate() {
            let d = block.first_document() + d as u64;
            entries.extend(document.words.iter().zip(document.counts).map(|(&w, &x)| (d, w, x)));
        }
    }
    let words =
        corpus.vocabulary().unwrap().map(|v| v.iter().map(String::from).collect()).unwrap_or_default();
    (entries, names, words)
}

fn import(import: &Import, input: &Path) -> Result<Read, Error> {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.tlc");
    match import.run(input, &output, &mut |_| ControlFlow::Continue(())) {
        Ok(imported) => {
            let (entries, names, words) = read_corpus(&output);
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
            Ok(Read { imported, entries, names, words })
        }
        Err(e) => {
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "a failed import left a file");
            Err(e)
        }
    }
}

fn good(options: &Import, name: &str) -> Read {
    import(options, &fixture(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn refuses(options: &Import, name: &str, parts: &[&str]) {
    let text = match import(options, &fixture(name)) {
        Ok(_) => panic!("{name} was accepted"),
        Err(e) => e.to_string(),
    };
    for part in parts {
        assert!(text.contains(part), "{name}: {part:?} is missing in: {text}");
    }
}

fn columns(columns: TableColumns) -> Import {
    Import { columns, ..Import::default() }
}

fn layer(name: &str) -> Import {
    Import { layer: Some(name.into()), ..Import::default() }
}

const EXPECTED: [(u64, u32, u32); 6] = [(0, 0, 2), (0, 4, 1), (2, 1, 3), (2, 4, 9), (2, 6, 300), (4, 3, 1)];

#[test]
fn sparse_matrices_of_scipy() {
    for name in ["csr.npz", "csc.npz", "coo.npz"] {
        let read = good(&Import::default(), name);
        assert_eq!(read.entries, EXPECTED, "{name}");
        assert_eq!((read.imported.format, read.imported.shape.words), (Format::Npz, 7));
        assert_eq!((read.imported.shape.documents, read.imported.empty_documents), (5, 2));
        // Column by column is word by word: only that goes through the sort.
        assert_eq!(read.imported.sorted, name == "csc.npz");
        let turned = good(&Import { transpose: true, ..Import::default() }, name);
        let mut expected: Entries = EXPECTED.iter().map(|&(d, w, x)| (u64::from(w), d as u32, x)).collect();
        expected.sort_unstable();
        assert_eq!(turned.entries, expected, "{name}");
    }
}

#[test]
fn sparse_matrices_are_refused_in_plain_words() {
    refuses(&Import::default(), "bsr.npz", &["\"bsr\"", "csr, csc or coo", "X.tocsr()"]);
    refuses(&Import::default(), "fractions.npz", &["fractional value 0.5", "raw counts"]);
    refuses(&Import::default(), "other.npz", &["no array \"format\" (there are: a)", "save_npz"]);
    refuses(&layer("counts"), "csr.npz", &["--layer", "npz", "h5ad"]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("words.txt");
    std::fs::write(&path, "a\nb\nc\nd\ne\n").unwrap();
    let vocabulary = Import { vocabulary: Some(path), ..Import::default() };
    refuses(&vocabulary, "csr.npz", &["5 words", "expected 7", "--transpose"]);
    refuses(&Import { format: Some(Format::Npz), ..Import::default() }, "lists.parquet", &["parquet", "npz"]);
}

#[test]
fn cells_of_anndata() {
    for (name, options) in [
        ("csc.h5ad", Import::default()),
        ("dense.h5ad", Import::default()),
        ("latest.h5ad", Import::default()),
        ("logs.h5ad", layer("counts")),
        ("raw.h5ad", layer("raw")),
    ] {
        let read = good(&options, name);
        assert_eq!(read.entries, EXPECTED, "{name}");
        assert_eq!(read.names, ["cell0", "cell1", "cell2", "cell3", "cell4"], "{name}");
        assert_eq!(read.words, ["A", "B", "A-1", "D", "E", "F", "G"], "{name}");
        assert_eq!((read.imported.format, read.imported.empty_documents), (Format::H5ad, 2));
    }
}

#[test]
fn cells_without_counts_are_told_where_the_counts_are() {
    refuses(&Import::default(), "logs.h5ad", &["\"X\"", "fractional value", "--layer counts"]);
    refuses(&layer("scaled"), "logs.h5ad", &["\"layers/scaled\"", "--layer counts"]);
    refuses(&Import::default(), "raw.h5ad", &["fractional value", "--layer raw"]);
    refuses(&layer("spliced"), "logs.h5ad", &["no matrix \"layers/spliced\"", "X, counts, scaled"]);
    refuses(&Import { transpose: true, ..Import::default() }, "csc.h5ad", &["--transpose", "Leave it out"]);
}

#[test]
fn rows_of_document_word_and_count() {
    for name in ["snappy", "gzip", "zstd", "lz4", "pages2", "polars"] {
        let read = good(&Import::default(), &format!("{name}.parquet"));
        assert_eq!(read.names, ["d0", "d2", "d4"], "{name}");
        assert_eq!(read.words, ["w0", "w4", "w1", "w6", "w3"], "{name}");
        assert_eq!(
            read.entries,
            [(0, 0, 2), (0, 1, 1), (1, 1, 9), (1, 2, 3), (1, 3, 300), (2, 4, 1)],
            "{name}"
        );
    }
    // Numbers are taken as such, in any order.
    let read = good(&Import::default(), "numbers.parquet");
    assert_eq!(read.entries, EXPECTED);
    assert!(read.names.is_empty() && read.words.is_empty() && read.imported.sorted);
    // Without counts every row is one.
    let named = TableColumns {
        document: Some("name".into()),
        word: Some("name".into()),
        count: None,
        ..TableColumns::default()
    };
    assert_eq!(good(&columns(named), "lists.parquet").entries, [(0, 0, 1), (1, 1, 1), (2, 2, 1), (3, 3, 1)]);
}

#[test]
fn lists_of_words() {
    for name in ["lists.parquet", "lists-polars.parquet"] {
        for options in [
            columns(TableColumns { id: Some("name".into()), ..TableColumns::default() }),
            columns(TableColumns {
                tokens: Some("tokens".into()),
                id: Some("name".into()),
                ..TableColumns::default()
            }),
        ] {
            let read = good(&options, name);
            assert_eq!(read.entries, [(0, 0, 2), (0, 1, 1), (3, 0, 1), (3, 2, 1)], "{name}");
            assert_eq!(
                (read.names, read.words),
                (["x", "y", "z", "t"].map(String::from).into(), ["a", "b", "c"].map(String::from).into())
            );
        }
        assert!(good(&Import::default(), name).names.is_empty());
    }
}

#[test]
fn texts_with_names_and_labels() {
    let records =
        ParquetRecords::open(&fixture("texts.parquet"), Some("text"), Some("id"), Some("label")).unwrap();
    assert_eq!(records.rows(), 3);
    let all: Vec<_> = records.map(|r| r.map(|r| (r.text, r.id, r.label)).unwrap()).collect();
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        all,
        [
            ("one two".into(), some("7"), some("p")),
            (String::new(), some("8"), some("q")),
            ("three".into(), some("9"), None)
        ]
    );
    let text = ParquetRecords::open(&fixture("texts.parquet"), None, None, None).unwrap_err().to_string();
    assert!(text.contains("--text-column") && text.contains("\"label\" (text)"), "{text}");
}

#[test]
fn tables_are_refused_in_plain_words() {
    let named =
        |tokens: &str| columns(TableColumns { tokens: Some(tokens.into()), ..TableColumns::default() });
    refuses(
        &named("words"),
        "lists.parquet",
        &["no column \"words\"", "--tokens-column", "\"tokens\" (list of texts)", "\"n\" (real number)"],
    );
    refuses(&named("n"), "lists.parquet", &["\"n\", which holds: real number", "list of texts"]);
    let count = TableColumns { count: Some("word".into()), ..TableColumns::default() };
    refuses(&columns(count), "zstd.parquet", &["\"word\", which holds: text", "whole number or real number"]);
    refuses(&Import::default(), "texts.parquet", &["\"text\" (text)", "--tokens-column", "--doc-column"]);
    refuses(
        &Import::default(),
        "torn.parquet",
        &["apart from each other", "Sort the table by the column \"document\""],
    );
    refuses(&Import::default(), "brotli.parquet", &["BROTLI", "snappy, gzip, zstd or lz4"]);
    let fractions = TableColumns {
        document: Some("name".into()),
        word: Some("name".into()),
        count: Some("n".into()),
        ..TableColumns::default()
    };
    refuses(
        &columns(fractions),
        "lists.parquet",
        &["the count 1.5 in row 1 of the column \"n\"", "raw counts"],
    );
}

#[test]
fn cut_and_changed_files_are_errors_or_read_and_never_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input");
    let mut counts = [0u32; 2];
    let mut try_one = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let result = import(&Import::default(), &path);
        if let Err(e) = &result {
            assert!(!e.to_string().is_empty());
        }
        counts[usize::from(result.is_ok())] += 1;
        result.is_ok()
    };
    for name in [
        "csr.npz",
        "csc.npz",
        "coo.npz",
        "csc.h5ad",
        "dense.h5ad",
        "latest.h5ad",
        "zstd.parquet",
        "snappy.parquet",
        "lz4.parquet",
        "pages2.parquet",
        "lists.parquet",
        "numbers.parquet",
    ] {
        let bytes = std::fs::read(fixture(name)).unwrap();
        let step = (bytes.len() / 40).max(1);
        for at in (0..bytes.len()).step_by(step) {
            // An HDF5 file may end in room that nothing uses.
            let accepted = try_one(&bytes[..at]);
            assert!(!accepted || name.ends_with("h5ad"), "{name} cut at {at} was accepted");
        }
        for at in (0..bytes.len()).step_by((bytes.len() / 100).max(1)) {
            for change in [0xff, 0x01] {
                let mut changed = bytes.clone();
                changed[at] ^= change;
                try_one(&changed);
            }
        }
    }
    assert!(counts[0] > 500 && counts[1] > 500, "{counts:?}");
}

fn write(path: &Path, documents: &[Vec<(u32, u32)>], words: u32, named: bool) {
    let mut writer = CorpusWriter::create(path, named).unwrap();
    for (d, document) in documents.iter().enumerate() {
        let (words, counts): (Vec<u32>, Vec<u32>) = document.iter().copied().unzip();
        writer.push(&words, &counts, named.then(|| format!("document {d}")).as_deref()).unwrap();
    }
    let mut vocabulary = Vocabulary::new();
    (0..words).for_each(|w| vocabulary.push(&format!("word {w}")));
    writer.finish(words, named.then_some(&vocabulary)).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn what_is_converted_comes_back(
        documents in prop::collection::vec(prop::collection::btree_map(0u32..50, 1u32..=u32::MAX, 0..8), 1..30),
        named: bool,
    ) {
        let documents: Vec<Vec<(u32, u32)>> = documents.into_iter().map(|d| d.into_iter().collect()).collect();
        prop_assume!(documents.iter().any(|d| !d.is_empty()));
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        write(&at("a.tlc"), &documents, 50, named);
        let corpus = Corpus::open(&at("a.tlc")).unwrap();
        let (entries, names, words) = read_corpus(&at("a.tlc"));
        if named {
            prop_assert!(save_names(&corpus, &at("names")).unwrap() && save_vocabulary(&corpus, &at("words")).unwrap());
        }
        for format in CorpusFormat::ALL {
            let path = at(&format!("b.{}", format.name()));
            convert(&corpus, &path, format, &mut |_, _| ControlFlow::Continue(())).unwrap();
            let table = format == CorpusFormat::Parquet;
            let options = Import {
                vocabulary: (named && !table).then(|| at("words")),
                names: (named && !table).then(|| at("names")),
                format: Some(match format {
                    CorpusFormat::Uci => Format::Uci,
                    CorpusFormat::MatrixMarket => Format::MatrixMarket,
                    CorpusFormat::SvmLight => Format::SvmLight,
                    CorpusFormat::LdaC => Format::LdaC,
                    CorpusFormat::Npz => Format::Npz,
                    CorpusFormat::Parquet => Format::Parquet,
                }),
                ..Import::default()
            };
            let read = import(&options, &path).unwrap();
            if table && named {
                // By name: those without words, and words that never occur, are not in a table.
                let by_name = |entries: &Entries, names: &[String], words: &[String]| {
                    let mut all: Vec<_> = entries
                        .iter()
                        .map(|&(d, w, x)| (names[d as usize].clone(), words[w as usize].clone(), x))
                        .collect();
                    all.sort();
                    all
                };
                prop_assert_eq!(
                    by_name(&read.entries, &read.names, &read.words),
                    by_name(&entries, &names, &words)
                );
            } else {
                prop_assert_eq!(&read.entries, &entries, "{}", format.name());
                prop_assert!(table || (read.names == names && read.words == words));
            }
        }
    }

    #[test]
    fn any_bytes_behind_a_magic_are_no_harm(kind in 0usize..3, bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let magics: [(&[u8], &[u8]); 3] = [(b"PK\x03\x04", b""), (b"\x89HDF\r\n\x1a\n", b""), (b"PAR1", b"PAR1")];
        let (head, tail) = magics[kind];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("input");
        std::fs::write(&path, [head, &bytes, tail].concat()).unwrap();
        prop_assert!(import(&Import::default(), &path).is_err());
    }
}
