//! Matrices and tables of others: are they read as they are meant, is every wrong one refused in plain words, and do corpora that are
//! converted come back the same? The fixtures are made by `fixtures/tables/make.py`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tinylda::corpus::ingest::words::StopWords;
use tinylda::corpus::ingest::{Compression, Format, Import, Imported, Parts, TableColumns, TextPipeline};
use tinylda::corpus::{Block, CorpusWriter};
use tinylda::corpus::{CorpusFormat, convert, save_names, save_vocabulary};
use tinylda::table::{Cell, Column, Table, TableFormat};
use tinylda::{Corpus, Error, Vocabulary};

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
    refuses(&layer("counts"), "csr.npz", &["`layer`", "npz", "format=h5ad"]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("words.txt");
    std::fs::write(&path, "a\nb\nc\nd\ne\n").unwrap();
    let vocabulary = Import { vocabulary: Some(path), ..Import::default() };
    refuses(&vocabulary, "csr.npz", &["5 words", "expected 7", "`transpose`"]);
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
    refuses(&Import::default(), "logs.h5ad", &["\"X\"", "fractional value", "layer=counts"]);
    refuses(&layer("scaled"), "logs.h5ad", &["\"layers/scaled\"", "layer=counts"]);
    refuses(&Import::default(), "raw.h5ad", &["fractional value", "layer=raw"]);
    refuses(&layer("spliced"), "logs.h5ad", &["no matrix \"layers/spliced\"", "X, counts, scaled"]);
    refuses(
        &Import { transpose: true, ..Import::default() },
        "csc.h5ad",
        &["`transpose` cannot be combined with h5ad input"],
    );
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

/// Texts in these columns; all words are kept.
fn texts(text: &[&str], id: Option<&str>, label: Option<&str>) -> Import {
    let parts = Parts {
        text_columns: text.iter().map(|&t| t.into()).collect(),
        id_column: id.map(Into::into),
        label_column: label.map(Into::into),
        ..Parts::default()
    };
    let words = TextPipeline { stop: StopWords::None, ..TextPipeline::default() };
    Import { parts, words, threads: 2, ..Import::default() }
}

/// The bytes of the corpora of a Parquet file, and of JSON lines from a stream: neither has places of texts.
fn both(table: &Import, path: &Path, json: &str) -> [Vec<u8>; 2] {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.tlc");
    let done = table.run(path, &output, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(done.format, Format::Parquet);
    let first = std::fs::read(&output).unwrap();
    let parts = Parts {
        id_field: table.parts.id_column.as_ref().map(|_| "id".into()),
        label_field: table.parts.label_column.as_ref().map(|_| "label".into()),
        text_fields: vec!["text".into()],
        ..Parts::default()
    };
    let lines = Import { parts, ..table.clone() };
    let done = lines.run_on_bytes(json.as_bytes().to_vec(), "json", &output).unwrap();
    assert_eq!(done.format, Format::JsonLines);
    [first, std::fs::read(&output).unwrap()]
}

#[test]
fn texts_are_those_of_json_lines() {
    let json = "{\"text\": \"one two\", \"id\": 7, \"label\": \"p\"}\n\
                {\"text\": null, \"id\": 8, \"label\": \"q\"}\n{\"text\": \"three\", \"id\": 9, \"label\": null}\n";
    for options in [
        texts(&["text"], Some("id"), Some("label")),
        texts(&[], Some("ID"), Some("Label")),
        texts(&["1"], Some("2"), Some("3")),
        texts(&[], None, None),
    ] {
        let [table, lines] = both(&options, &fixture("texts.parquet"), json);
        assert!(table == lines, "{:?}", options.parts);
    }
    let read = good(&texts(&["text", "label"], Some("id"), None), "texts.parquet");
    assert_eq!((read.names.join(" "), read.words.join(" ")), ("7 8 9".into(), "one p q three two".into()));
    assert_eq!(good(&texts(&[], None, None), "texts.parquet").imported.empty_documents, 1);
    // Every codec; the words' column as texts.
    let json: String = [("d0", "w0"), ("d0", "w4"), ("d2", "w1"), ("d2", "w4"), ("d2", "w6"), ("d4", "w3")]
        .map(|(id, text)| format!("{{\"id\": \"{id}\", \"text\": \"{text}\"}}\n"))
        .concat();
    for name in ["snappy", "gzip", "zstd", "lz4", "pages2", "polars"] {
        let path = fixture(&format!("{name}.parquet"));
        let [table, lines] = both(&texts(&["word"], Some("document"), None), &path, &json);
        assert!(table == lines, "{name}");
    }
}

/// Writes a table in a format.
fn table(path: &Path, format: TableFormat, columns: &[Column], rows: &[Vec<Cell<'_>>]) {
    let mut table = Table::create(path, format, columns).unwrap();
    for row in rows {
        table.row(row).unwrap();
    }
    table.finish().unwrap();
}

#[test]
fn many_texts_and_long_ones() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let columns = [Column::whole("id"), Column::text("text").optional(), Column::text("label").optional()];
    // Several batches and groups of rows; one text is longer than a batch.
    let long = "long longer ".repeat(200_000);
    let all: Vec<String> =
        (0..30_000).map(|i| format!("w{} w{} and {i}", i % 7, i % 11).repeat(1 + i % 120)).collect();
    let rows: Vec<Vec<Cell<'_>>> = (0..30_000)
        .map(|i| {
            let text = match i {
                500 => Cell::Text(&long),
                _ if i % 9 == 4 => Cell::Missing,
                _ => Cell::Text(&all[i]),
            };
            vec![Cell::Whole(i as u64), text, if i % 2 == 0 { Cell::Missing } else { Cell::Text("odd") }]
        })
        .collect();
    table(&at("t.parquet"), TableFormat::Parquet, &columns, &rows);
    table(&at("t.jsonl"), TableFormat::JsonLines, &columns, &rows);
    let json = std::fs::read_to_string(at("t.jsonl")).unwrap();
    let [table_bytes, lines] = both(&texts(&[], Some("id"), Some("label")), &at("t.parquet"), &json);
    assert!(table_bytes == lines);
    let one = Import { threads: 1, ..texts(&[], Some("id"), Some("label")) };
    assert!(both(&one, &at("t.parquet"), &json)[0] == lines);

    let too_long = "a ".repeat(33 << 20);
    let rows = [vec![Cell::Text("fine")], vec![Cell::Text(&too_long)]];
    table(&at("long.parquet"), TableFormat::Parquet, &[Column::text("any")], &rows);
    let text = import(&texts(&[], None, None), &at("long.parquet")).err().unwrap().to_string();
    assert!(text.contains("long.parquet, row 2") && text.contains("longer than 64 MiB"), "{text}");
    table(
        &at("none.parquet"),
        TableFormat::Parquet,
        &[Column::text("any").optional()],
        &[vec![Cell::Missing]],
    );
    let text = import(&texts(&[], None, None), &at("none.parquet")).err().unwrap().to_string();
    assert!(text.contains("1 documents without a single word"), "{text}");
}

#[test]
fn texts_are_refused_in_plain_words() {
    let refused = |options: Import, name: &str, parts: &[&str]| refuses(&options, name, parts);
    refused(
        texts(&["body"], None, None),
        "texts.parquet",
        &["no column \"body\"", "text_column", "\"text\" (text)"],
    );
    refused(texts(&["4"], None, None), "texts.parquet", &["no column \"4\""]);
    refused(
        texts(&["id"], None, None),
        "texts.parquet",
        &["expected text, found the column \"id\", which holds: whole number", "text_column"],
    );
    refused(texts(&["text"], Some("x"), None), "texts.parquet", &["no column \"x\"", "id_column"]);
    refused(texts(&["text"], None, Some("x")), "texts.parquet", &["no column \"x\"", "label_column"]);
    refused(texts(&[], None, Some("name")), "lists.parquet", &["label_column", "only texts have labels"]);
    refused(texts(&[], None, None), "lists.parquet", &["`stop_words` cannot be combined", "words already"]);
    refused(texts(&["name"], None, None), "csr.npz", &["text_column"]);
    let named = Import {
        columns: TableColumns { word: Some("word".into()), ..TableColumns::default() },
        ..texts(&["word"], None, None)
    };
    refused(named, "zstd.parquet", &["`text_column` cannot be combined with `doc_column`"]);
    let parts = Parts { delimiter: Some(b';'), ..Parts::default() };
    refused(Import { parts, ..Import::default() }, "texts.parquet", &["`delimiter`"]);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let write = |columns: &[&str]| {
        let columns: Vec<Column> = columns.iter().map(|&name| Column::text(name)).collect();
        let row: Vec<Cell<'_>> = columns.iter().map(|_| Cell::Text("some words")).collect();
        table(&path, TableFormat::Parquet, &columns, &[row]);
    };
    write(&["name", "story"]);
    let text = import(&texts(&[], None, None), &path).err().unwrap().to_string();
    assert!(text.contains("\"name\" (text), \"story\" (text)") && text.contains("text_column"), "{text}");
    assert_eq!(import(&texts(&[], Some("name"), None), &path).unwrap().words, ["some", "words"]);
    // What is not UTF-8 is replaced, or refused with its row.
    let bytes = std::fs::read(fixture("texts.parquet")).unwrap();
    let mut wrong = bytes.clone();
    for at in 0..bytes.len() - 7 {
        if &bytes[at..at + 7] == b"one two" {
            wrong[at] = 0xff;
        }
    }
    assert_ne!(bytes, wrong);
    std::fs::write(&path, wrong).unwrap();
    let read = import(&texts(&["text"], None, None), &path).unwrap();
    assert_eq!((read.imported.dropped.unwrap().replaced, read.words.join(" ")), (1, "ne three two".into()));
    let mut strict = texts(&["text"], None, None);
    strict.parts.strict = true;
    let text = import(&strict, &path).err().unwrap().to_string();
    assert!(text.contains("t.parquet, row 1: ") && text.contains("found bytes that are not UTF-8"), "{text}");
}

/// Packed, or from a stream: the same corpus as from the file.
#[test]
fn packed_and_piped() {
    use std::io::Write;
    for (name, options) in [
        ("csc.npz", Import { transpose: true, ..Import::default() }),
        ("logs.h5ad", layer("counts")),
        ("zstd.parquet", Import::default()),
        ("lists.parquet", columns(TableColumns { id: Some("name".into()), ..TableColumns::default() })),
        ("texts.parquet", texts(&["text"], Some("id"), None)),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let bytes = std::fs::read(fixture(name)).unwrap();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(&bytes).unwrap();
        let gzip = gzip.finish().unwrap();
        let zstd = ruzstd::encoding::compress_to_vec(&bytes[..], ruzstd::encoding::CompressionLevel::Fastest);
        let go = |input: &Path| options.run(input, at("out.tlc"), &mut |_| ControlFlow::Continue(()));
        go(&fixture(name)).unwrap();
        let expected = std::fs::read(at("out.tlc")).unwrap();
        for (packed, compression) in [(&gzip, Compression::Gzip), (&zstd, Compression::Zstd)] {
            std::fs::write(at("packed"), packed).unwrap();
            assert_eq!(go(&at("packed")).unwrap().compression, compression, "{name}");
            assert!(std::fs::read(at("out.tlc")).unwrap() == expected, "{name}");
            options.run_on_bytes(packed.clone(), "stream", at("out.tlc")).unwrap();
            assert!(std::fs::read(at("out.tlc")).unwrap() == expected, "{name}");
            std::fs::write(at("packed"), &packed[..packed.len() / 2]).unwrap();
            let text = go(&at("packed")).unwrap_err().to_string();
            assert!(text.contains("packed, byte") && text.contains(compression.name()), "{name}: {text}");
        }
        options.run_on_bytes(bytes.clone(), "stream", at("out.tlc")).unwrap();
        assert!(std::fs::read(at("out.tlc")).unwrap() == expected, "{name}");
        // Errors call it what the user does.
        let text =
            options.run_on_bytes(bytes[..bytes.len() / 2].to_vec(), "stream", at("x.tlc")).unwrap_err();
        assert!(text.to_string().starts_with("stream: "), "{name}: {text}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "something was left behind");
    }
}

#[test]
fn tables_are_refused_in_plain_words() {
    let named =
        |tokens: &str| columns(TableColumns { tokens: Some(tokens.into()), ..TableColumns::default() });
    refuses(
        &named("words"),
        "lists.parquet",
        &["no column \"words\"", "`tokens_column`", "\"tokens\" (list of texts)", "\"n\" (real number)"],
    );
    refuses(&named("n"), "lists.parquet", &["\"n\", which holds: real number", "list of texts"]);
    let count = TableColumns { count: Some("word".into()), ..TableColumns::default() };
    refuses(&columns(count), "zstd.parquet", &["\"word\", which holds: text", "whole number or real number"]);
    let id = TableColumns { id: Some("text".into()), ..TableColumns::default() };
    refuses(&columns(id), "numbers.parquet", &["no column \"text\"", "id_column"]);
    refuses(
        &Import::default(),
        "torn.parquet",
        &["apart from each other", "sort the table by the column \"document\""],
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
        "texts.parquet",
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
        let corpus = Corpus::open(at("a.tlc")).unwrap();
        let (entries, names, words) = read_corpus(&at("a.tlc"));
        if named {
            prop_assert!(save_names(&corpus, at("names")).unwrap() && save_vocabulary(&corpus, at("words")).unwrap());
        }
        for format in CorpusFormat::ALL {
            let path = at(&format!("b.{}", format.name()));
            convert(&corpus, &path, format, &mut |_| ControlFlow::Continue(())).unwrap();
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
