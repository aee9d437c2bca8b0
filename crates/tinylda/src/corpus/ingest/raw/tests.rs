//! Tests of raw text in every format with valid, unusual and invalid input.

use std::ops::ControlFlow;
use std::path::Path;

use proptest::prelude::*;

use crate::corpus::ingest::words::{Pipeline, StopWords, TokenRule, WordSelection};
use crate::corpus::ingest::{Format, Import, Imported, RecordOptions, TextPipeline};
use crate::corpus::{Block, Corpus, Vocabulary};
use crate::error::Result;

/// Returns an import that keeps all words.
fn every_word() -> Import {
    let words =
        TextPipeline { pipeline: Pipeline::plain(), stop: StopWords::None, ..TextPipeline::default() };
    Import { words, threads: 2, ..Import::default() }
}

/// Documents of a corpus in readable form: name, label, words, and the bytes of the text.
type Documents = Vec<(String, String, Vec<String>, String)>;

fn documents(path: &Path) -> Documents {
    let corpus = Corpus::open(path).unwrap();
    let (vocabulary, about) = (corpus.vocabulary().unwrap().unwrap(), corpus.about().unwrap());
    let (mut reader, mut block, mut all) = (corpus.reader(), Block::default(), Vec::new());
    for i in 0..corpus.blocks() {
        reader.read(i, &mut block).unwrap();
        let (names, labels) = (reader.read_names(i).unwrap(), reader.read_labels(i).unwrap());
        let places = reader.read_places(i).unwrap();
        for (d, document) in block.iter().enumerate() {
            let words = document.words.iter().zip(document.counts).map(|(&w, &x)| {
                let word = vocabulary.get(w).unwrap();
                if x == 1 { word.to_string() } else { format!("{word}*{x}") }
            });
            let text = |list: &Vocabulary| list.get(d as u32).unwrap_or_default().to_string();
            let shown = places.get(d).map_or_else(String::new, |place| {
                let mut file = std::path::PathBuf::from(&about.sources[place.source as usize].path);
                if file.is_dir() {
                    file.push(text(&names));
                }
                let bytes = std::fs::read(file).unwrap();
                let from = place.offset as usize;
                // Positions refer to the decoded text.
                let text = bytes.get(from..from + place.length as usize).unwrap_or_default();
                String::from_utf8_lossy(text).into_owned()
            });
            all.push((text(&names), labels.row(d).concat().join(" "), words.collect(), shown));
        }
    }
    all
}

fn run(import: &Import, bytes: &[u8]) -> Result<(Imported, Documents)> {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("input"), folder.path().join("out.tlc"));
    std::fs::write(&input, bytes).unwrap();
    let imported = import.run(&input, &output, &mut |_| ControlFlow::Continue(()))?;
    let all = documents(&output);
    // A stream is spooled and gives the same documents, except for the positions of the texts.
    let again = folder.path().join("again.tlc");
    import.run_on_bytes(bytes.to_vec(), "stream", &again)?;
    let others = documents(&again);
    assert!(all.iter().zip(&others).all(|(a, b)| (&a.0, &a.1, &a.2) == (&b.0, &b.1, &b.2)));
    Ok((imported, all))
}

fn refuses(import: &Import, bytes: &[u8], parts: &[&str]) {
    let text = run(import, bytes).unwrap_err().to_string();
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing in: {text}");
    }
}

fn document(name: &str, label: &str, words: &[&str], text: &str) -> (String, String, Vec<String>, String) {
    (name.into(), label.into(), words.iter().map(|&w| w.into()).collect(), text.into())
}

fn table(text: &[&str], id: Option<&str>, label: Option<&str>) -> Import {
    let records = RecordOptions {
        text_columns: text.iter().map(|&t| t.into()).collect(),
        id_column: id.map(Into::into),
        label_columns: label.map(Into::into).into_iter().collect(),
        ..RecordOptions::default()
    };
    Import { records, ..every_word() }
}

#[test]
fn lines() {
    let (imported, all) = run(&every_word(), b"\xef\xbb\xbfa b a\r\n\nb").unwrap();
    assert_eq!((imported.format, imported.empty_documents), (Format::Text, 1));
    assert_eq!(
        all,
        [document("", "", &["a*2", "b"], "a b a"), document("", "", &[], ""), document("", "", &["b"], "b")]
    );
}

#[test]
fn tables() {
    let csv = b"id,Class,text\n1,x,\"a, \"\"b\"\"\nc\"\n2,y,d e\n\n";
    let expected =
        [document("1", "x", &["a", "b", "c"], "a, \"\"b\"\"\nc"), document("2", "y", &["d", "e"], "d e")];
    assert_eq!(run(&table(&["text"], Some("ID"), Some("class")), csv).unwrap().1, expected);
    // The text column is detected by its name.
    let (imported, all) = run(&every_word(), csv).unwrap();
    assert_eq!((imported.format, all.len()), (Format::Csv, 2));
    let tsv = b"d1\tC01\tone two\nd2\tC02\tit's \"three\"\n";
    let expected = [
        document("d1", "C01", &["one", "two"], "one two"),
        document("d2", "C02", &["it's", "three"], "it's \"three\""),
    ];
    assert_eq!(run(&table(&["3"], Some("1"), Some("2")), tsv).unwrap().1, expected);
    let both = run(&table(&["2", "3"], None, None), tsv).unwrap().1;
    assert_eq!(both[0].2, ["c01", "one", "two"]);
    let semicolons = run(&table(&["text"], None, None), b"n;text\n1;a,b\n").unwrap().1;
    assert_eq!(semicolons[0].2, ["a", "b"]);

    refuses(
        &table(&["body"], None, None),
        b"id,text\n1,a\n",
        &["text_column", "\"body\"", "\"id\", \"text\""],
    );
    refuses(&table(&["3"], None, None), b"1,a\n", &["text_column", "a number from 1 to 2"]);
    let ragged = b"id,text,x\n1,a,x\n2,b\n3\n4,c,x,y\n5,d,x\n";
    let (imported, all) = run(&table(&["text"], None, None), ragged).unwrap();
    assert_eq!(all.iter().map(|d| d.2.concat()).collect::<Vec<_>>(), ["a", "b", "d"]);
    let notes = imported.inputs[0].records;
    assert_eq!((notes.short_rows.count, notes.short_rows.first_line), (1, 3));
    assert_eq!((notes.skipped_rows.count, notes.skipped_rows.first_line), (2, 4));
    let mut strict = table(&["text"], None, None);
    strict.records.strict = true;
    refuses(&strict, b"id,text\n1,a\n2,b,c\n", &["line 3", "3 columns", "expected 2"]);
    refuses(
        &table(&["text"], None, None),
        b"id,text\n1,a\n2,\"b\n3,c\n",
        &["line 3", "never closed", "quotes=no"],
    );
    refuses(&every_word(), b"a1\tb b\nc1\td d\n", &["text_column", "missing", "format=text"]);
}

#[test]
fn json_lines() {
    let json =
        b"{\"id\":7,\"a\":{\"b\":\"one \\u00e9\"},\"tags\":[\"x\",\"y\"]}\n\n{\"id\":8,\"a\":{\"b\":null}}\n";
    let records = RecordOptions {
        text_fields: vec!["a.b".into()],
        id_field: Some("id".into()),
        label_fields: vec!["tags".into()],
        ..RecordOptions::default()
    };
    let import = Import { records, ..every_word() };
    let all = run(&import, json).unwrap().1;
    assert_eq!(
        (&all[0].0[..], &all[0].1[..], &all[0].2[..]),
        ("7", "x y", &["one".to_string(), "é".to_string()][..])
    );
    assert!(all[0].3.starts_with("{\"id\":7"));
    assert!(all[1].2.is_empty());
    assert_eq!(run(&every_word(), b"{\"text\":\"a b\"}\n").unwrap().0.format, Format::JsonLines);
    let (imported, all) = run(&every_word(), b"{\"id\":1,\"body\":\"a b\"}\n{\"id\":2}\n").unwrap();
    let notes = &imported.inputs[0];
    assert_eq!((all.len(), &notes.fields.as_ref().unwrap().text[..]), (1, &["body".to_string()][..]));
    assert_eq!(
        (notes.records.records_without_text.count, notes.records.records_without_text.first_line),
        (1, 2)
    );
    let mut strict = every_word();
    strict.records.strict = true;
    refuses(
        &strict,
        b"{\"body\":\"a b\"}\n{\"id\":2}\n",
        &["line 2", "expected the field \"body\"", "id", "text_field"],
    );
    refuses(&every_word(), b"{\"x\":\"a\",\"y\":1}\n", &["text_field", "missing", "\"x\", \"y\""]);
    refuses(&import, b"{\"a\":{\"b\":\"x\"}}\n{\"a\":\n", &["line 2", "JSON"]);
    refuses(&import, b"{\"a\":{\"b\":{\"c\":1}}}\n", &["text_field=a.b.NAME"]);
}

#[test]
fn mallet_and_vowpal_wabbit() {
    let import = Import { format: Some(Format::Mallet), ..every_word() };
    let all = run(&import, b"d1 en one two\nd2\tde\tdrei\n").unwrap().1;
    assert_eq!(
        all,
        [document("d1", "en", &["one", "two"], "one two"), document("d2", "de", &["drei"], "drei")]
    );
    let (imported, all) = run(&every_word(), b"1 'd1 |t c++:2 new_york |u b\n-1 0.5 'd2|t x\n").unwrap();
    assert_eq!(imported.format, Format::VowpalWabbit);
    assert_eq!(
        (&all[0].0[..], &all[0].1[..], &all[0].2[..]),
        ("d1", "1", &["b".into(), "c++*2".into(), "new_york".to_string()][..])
    );
    assert_eq!((&all[1].0[..], &all[1].1[..]), ("d2", "-1"));
    refuses(&every_word(), b"1 |t a:0.5\n", &["line 1", "weights"]);
}

#[test]
fn folders() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("texts");
    std::fs::create_dir_all(root.join("b/deep")).unwrap();
    for (name, text) in
        [("z.txt", "last"), ("b/deep/x.txt", "deep\nwater"), ("a.md", "mark"), (".hidden", "no")]
    {
        std::fs::write(root.join(name), text).unwrap();
    }
    let output = folder.path().join("out.tlc");
    let go = |import: &Import| import.run(&root, &output, &mut |_| ControlFlow::Continue(()));
    assert_eq!(go(&every_word()).unwrap().format, Format::Folder);
    let expected = [
        document("a.md", "", &["mark"], "mark"),
        document("b/deep/x.txt", "", &["deep", "water"], "deep\nwater"),
        document("z.txt", "", &["last"], "last"),
    ];
    assert_eq!(documents(&output), expected);
    let only = |glob: &str| Import {
        records: RecordOptions { glob: Some(glob.into()), ..RecordOptions::default() },
        ..every_word()
    };
    go(&only("*.txt")).unwrap();
    assert_eq!(documents(&output), expected[1..]);
    assert!(go(&only("*.pdf")).unwrap_err().to_string().contains("no file with a matching name"));
    assert!(go(&only("[")).unwrap_err().to_string().contains("glob"));
    std::fs::write(root.join("picture"), b"\x89P\0G").unwrap();
    let skipped = &go(&every_word()).unwrap().inputs[0].skipped_files;
    assert_eq!((skipped.count, &skipped.examples[0].name[..]), (1, "picture"));
    assert_eq!(documents(&output), expected);
    let mut strict = every_word();
    strict.records.strict = true;
    let text = go(&strict).unwrap_err().to_string();
    assert!(text.contains("picture") && text.contains("binary"), "{text}");
}

#[test]
fn bad_bytes() {
    let (imported, all) = run(&every_word(), b"caf\xe9 noir\nplain\n").unwrap();
    assert_eq!(imported.dropped.unwrap().replaced, 0);
    assert_eq!(imported.inputs[0].encodings, [("windows-1252".to_string(), 1)]);
    assert_eq!(all[0].2, ["café", "noir"]);
    // Text that is mostly valid UTF-8 is damaged UTF-8.
    let (imported, all) = run(&every_word(), b"caf\xc3\xa9 no\xc3\xafr\ncaf\xe9 noir\n").unwrap();
    assert_eq!((imported.dropped.unwrap().replaced, imported.inputs[0].encodings.len()), (1, 0));
    assert_eq!(all[1].2, ["caf", "noir"]);
    let strict =
        Import { records: RecordOptions { strict: true, ..RecordOptions::default() }, ..every_word() };
    refuses(&strict, b"plain\ncaf\xe9 noir\n", &["line 2", "UTF-8", "encoding"]);
    refuses(&every_word(), b"a\nb\0c\n", &["binary"]);
    refuses(&Import { format: Some(Format::Text), ..every_word() }, b"a\nb\0c\n", &["line 2", "zero byte"]);
    let (imported, all) = run(&every_word(), b"\xff\xfea\0 \0b\0\n\0").unwrap();
    assert_eq!(imported.inputs[0].encodings, [("UTF-16LE".to_string(), 1)]);
    assert_eq!(all[0].2, ["a", "b"]);
    refuses(&every_word(), b" \n", &["contains only blank lines"]);
}

#[test]
fn words_are_chosen_and_the_rest_is_told() {
    let text = "the cat sat 12\nthe dog sat\nthe new york cat\n".repeat(10);
    let words = TextPipeline {
        stop: StopWords::Lists(vec!["en".into()]),
        selection: WordSelection { min_docs: Some(11), ..WordSelection::default() },
        ..TextPipeline::default()
    };
    let (imported, all) = run(&Import { words, ..every_word() }, text.as_bytes()).unwrap();
    let dropped = imported.dropped.unwrap();
    assert_eq!((dropped.tokens, dropped.stop, dropped.numbers), (110, 30, 10));
    assert_eq!((dropped.rare, imported.shape.words), ((3, 30), 2));
    assert_eq!((dropped.stop_words[0].word.as_str(), dropped.stop_words[0].count), ("the", 30));
    assert_eq!((dropped.common_words[0].word.as_str(), dropped.common_words[0].count), ("cat", 20));
    assert_eq!(all[0].2, ["cat", "sat"]);
    // A given vocabulary keeps its order.
    let mut vocabulary = Vocabulary::new();
    for w in ["york", "cat"] {
        vocabulary.push(w);
    }
    let words =
        TextPipeline { stop: StopWords::None, vocabulary: Some(vocabulary), ..TextPipeline::default() };
    let (imported, all) = run(&Import { words, ..every_word() }, text.as_bytes()).unwrap();
    assert_eq!((imported.shape.words, imported.dropped.unwrap().unknown), (2, 70));
    assert_eq!(all[2].2, ["york", "cat"]);
}

#[test]
fn phrases_and_stems() {
    let text = "new york streets\nnew ideas\ncar of york\n".repeat(20);
    let selection = WordSelection { phrases: Some(0.2), ..WordSelection::default() };
    for (phrase_words, expected) in [(2, &["new_york", "street"][..]), (3, &["new_york_street"])] {
        let pipeline = Pipeline { stem: Some("en".into()), phrase_words, ..Pipeline::default() };
        let words = TextPipeline { stop: StopWords::None, pipeline, selection, ..TextPipeline::default() };
        let (imported, all) = run(&Import { words, ..every_word() }, text.as_bytes()).unwrap();
        assert!(imported.dropped.unwrap().phrases > 0);
        assert_eq!(all[0].2, expected, "{all:?}");
    }
}

/// The corpus is the same whether counts go to disk and the text is read twice, or everything stays
/// in memory and the text is read once.
#[test]
fn little_memory_gives_the_same_corpus() {
    let text: String = (0..9_000u64)
        .map(|d| {
            (0..16).fold(String::new(), |line, i| format!("{line} w{:x}", (d * 16 + i).pow(2) % 150_001))
                + " running york\n"
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.txt");
    std::fs::write(&input, text).unwrap();
    for (phrases, stem) in [(None, None), (Some(0.5), Some("en".to_string()))] {
        let mut first: Option<Vec<u8>> = None;
        for (threads, memory, spills) in
            [(2, None, false), (1, Some(21 << 20), true), (2, Some(21 << 20), true)]
        {
            let words = TextPipeline {
                stop: StopWords::None,
                pipeline: Pipeline { stem: stem.clone(), phrase_words: 3, ..Pipeline::plain() },
                selection: WordSelection { min_docs: Some(2), phrases, ..WordSelection::default() },
                ..TextPipeline::default()
            };
            let import = Import { format: Some(Format::Text), words, threads, memory, ..Import::default() };
            let output = folder.path().join("out.tlc");
            let done = import.run(&input, &output, &mut |_| ControlFlow::Continue(())).unwrap();
            assert_eq!(done.dropped.unwrap().spilled > 0, spills);
            let bytes = std::fs::read(&output).unwrap();
            assert!(first.get_or_insert_with(|| bytes.clone()) == &bytes, "{threads} {memory:?} {phrases:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The corpus does not depend on threads, memory or the number of batches, and its counts equal
    /// those of a plain loop.
    #[test]
    fn the_same_corpus_however_it_is_made(list in prop::collection::vec("[a-e \u{e9}]{0,12}", 1..400), stem in any::<bool>()) {
        let mut text: String = list.join("\n") + "\n";
        // The text spans more than one batch.
        while text.len() < 2 << 20 {
            text.push_str(&text.clone());
        }
        let folder = tempfile::tempdir().unwrap();
        let input = folder.path().join("in");
        std::fs::write(&input, &text).unwrap();
        let pipeline = Pipeline { tokens: TokenRule::Pattern(r"\w+".into()), stem: stem.then(|| "en".into()), ..Pipeline::default() };
        let words = TextPipeline { stop: StopWords::None, pipeline, selection: WordSelection { min_docs: Some(1), ..WordSelection::default() }, ..TextPipeline::default() };
        let mut first = None;
        for threads in [1, 3] {
            let output = folder.path().join("out.tlc");
            let import = Import { format: Some(Format::Text), words: words.clone(), threads, memory: Some(21 << 20), ..Import::default() };
            match import.run(&input, &output, &mut |_| ControlFlow::Continue(())) {
                Ok(done) => {
                    let tokens: usize = text.lines().map(|line| line.split_ascii_whitespace().count()).sum();
                    prop_assert_eq!(done.shape.tokens, tokens as u64);
                    let bytes = std::fs::read(&output).unwrap();
                    prop_assert!(first.get_or_insert_with(|| bytes.clone()) == &bytes);
                }
                Err(e) => prop_assert!(text.trim().is_empty(), "{e}"),
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(prop_oneof![Just(b'"'), Just(b'\n'), Just(b','), Just(b'|'), Just(b'{'), any::<u8>()], 0..120)) {
        for format in [
            Format::Text, Format::Csv, Format::JsonLines, Format::Json, Format::Mallet, Format::VowpalWabbit,
        ] {
            let _ = run(&Import { format: Some(format), ..every_word() }, &bytes);
            let _ = run(&Import { format: Some(Format::Csv), ..table(&["1"], Some("2"), None) }, &bytes);
        }
    }
}

/// Returns the bytes of the corpus that an import makes of a file.
fn corpus_bytes(import: &Import, input: &Path) -> Result<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.tlc");
    import.run(input, &output, &mut |_| ControlFlow::Continue(()))?;
    Ok(std::fs::read(output).unwrap())
}

/// Documents that are longer than a chunk, with many different words, and short ones between them.
fn long_and_short_documents() -> String {
    let mut text = String::new();
    for i in 0..6u32 {
        for j in 0..60_000u32 {
            let word = if j % 3 == 0 { j } else { (i * 17 + j * j) % 50_000 };
            let word = format!("w{word:x}");
            text.push_str(&word);
            text.push_str(if j % 50 == 0 { "é new york " } else { " " });
        }
        text.push_str("\nshort new york\n\n");
    }
    text
}

/// The corpus does not depend on memory and threads, also if tables are emptied inside of a
/// document.
#[test]
fn r6_memory_and_threads_do_not_change_the_corpus() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("input");
    std::fs::write(&input, long_and_short_documents()).unwrap();
    for phrases in [None, Some(0.3)] {
        let mut import = every_word();
        import.words.selection.phrases = phrases;
        let expected = corpus_bytes(&Import { threads: 1, ..import.clone() }, &input).unwrap();
        for (threads, mib) in [(1, 17), (1, 24), (3, 24), (16, 40), (2, 400)] {
            let import = Import { threads, memory: Some(mib << 20), ..import.clone() };
            match corpus_bytes(&import, &input) {
                Ok(bytes) => assert!(bytes == expected, "{threads} threads, {mib} MiB"),
                Err(error) => assert!(mib < 40 && error.to_string().contains("memory"), "{mib}: {error}"),
            }
        }
    }
}

/// A document that does not fit is refused with its line and the memory that suffices for it.
#[test]
fn r6_a_long_document_is_refused_with_the_memory_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("input");
    let long = "some words of a long document ".repeat(900_000);
    let csv = format!("id,text\n1,short\n2,\"{long}\"\n3,other words\n");
    let json = format!("{{\"text\":\"short\"}}\n{{\"text\":\"{long}\"}}\n");
    let texts = [(format!("short\n{long}\nother words\n"), "line 2"), (csv, "line 3"), (json, "line 2")];
    for (text, line) in texts {
        std::fs::write(&input, text).unwrap();
        let import = |mib: u64| Import { memory: Some(mib << 20), memory_in_use: 5 << 20, ..every_word() };
        let error = corpus_bytes(&import(24), &input).unwrap_err().to_string();
        assert!(error.contains(line) && error.contains("24.0 MiB"), "{error}");
        let stated = error.split("memory=").nth(1).and_then(|rest| rest.split("MiB").next()).unwrap();
        corpus_bytes(&import(stated.parse().unwrap()), &input).unwrap();
    }
}

/// A folder's file that does not fit is named.
#[test]
fn r6_a_long_file_of_a_folder_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let texts = folder.path().join("texts");
    std::fs::create_dir(&texts).unwrap();
    std::fs::write(texts.join("a.txt"), "short").unwrap();
    std::fs::write(texts.join("b.txt"), "long words ".repeat(2_000_000)).unwrap();
    let import = |mib: u64| Import { memory: Some(mib << 20), ..every_word() };
    let error = corpus_bytes(&import(20), &texts).unwrap_err().to_string();
    assert!(error.contains("b.txt") && error.contains("20.0 MiB"), "{error}");
    corpus_bytes(&import(200), &texts).unwrap();
}

/// The message about a vocabulary that does not fit names the limit that the user gave.
#[test]
fn r18_the_message_names_the_given_memory() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("input");
    let words: Vec<String> = (0..200_000).map(|i| format!("word{i}")).collect();
    std::fs::write(&input, words.chunks(1000).map(|line| line.join(" ") + "\n").collect::<String>()).unwrap();
    let import = |mib: u64| Import { memory: Some(mib << 20), ..every_word() };
    let error = corpus_bytes(&import(20), &input).unwrap_err().to_string();
    assert!(error.contains("20.0 MiB available") && error.contains("200,000"), "{error}");
    assert!(error.contains("min_docs") && error.contains("max_words"), "{error}");
    let stated = error.split("memory=").nth(1).and_then(|rest| rest.split("MiB").next()).unwrap();
    corpus_bytes(&import(stated.parse().unwrap()), &input).unwrap();
}
