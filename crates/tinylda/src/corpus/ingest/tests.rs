//! Tests of every reader with valid, unusual and invalid input.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

use proptest::prelude::*;

use super::input::Input;
use super::sorter::SortLimits;
use super::*;
use crate::corpus::{Block, Corpus};

/// Entries of a corpus as (document, word, count).
type EntryList = Vec<(u64, u32, u32)>;

/// Reads all entries of a corpus.
fn entries(path: &Path) -> EntryList {
    let corpus = Corpus::open(path).unwrap();
    let (mut reader, mut block, mut all) = (corpus.reader(), Block::default(), Vec::new());
    for i in 0..corpus.blocks() {
        reader.read(i, &mut block).unwrap();
        for (d, document) in block.iter().enumerate() {
            let d = block.first_document() + d as u64;
            all.extend(document.words.iter().zip(document.counts).map(|(&w, &x)| (d, w, x)));
        }
    }
    all
}

struct TestImport {
    import: Import,
    limits: SortLimits,
}

impl TestImport {
    fn new(import: Import) -> TestImport {
        TestImport { import, limits: SortLimits::default() }
    }

    fn run(&self, bytes: &[u8]) -> Result<(Imported, EntryList)> {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out.tlc");
        let input = Input::new(
            Box::new(std::io::Cursor::new(bytes.to_vec())),
            Path::new("input"),
            Some(bytes.len() as u64),
        )?;
        let result = self
            .import
            .run_with(DetectedInput::new(input)?, &output, self.limits, &mut |_| ControlFlow::Continue(()));
        match result {
            Ok(imported) => Ok((imported, entries(&output))),
            Err(e) => {
                let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
                assert!(left.is_empty(), "a failed import left {left:?}");
                Err(e)
            }
        }
    }
}

fn import(bytes: &[u8]) -> (Imported, EntryList) {
    TestImport::new(Import::default()).run(bytes).unwrap()
}

fn import_as(format: Format, bytes: &[u8]) -> Result<(Imported, EntryList)> {
    TestImport::new(Import { format: Some(format), ..Import::default() }).run(bytes)
}

/// Asserts that the input is refused with a message that contains all `parts`.
fn refuses(format: Option<Format>, bytes: &[u8], parts: &[&str]) {
    let text = match TestImport::new(Import { format, ..Import::default() }).run(bytes) {
        Ok(_) => panic!("accepted {:?}", String::from_utf8_lossy(bytes)),
        Err(e) => e.to_string(),
    };
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing in: {text}");
    }
}

const EXPECTED: [(u64, u32, u32); 4] = [(0, 0, 2), (0, 4, 1), (2, 1, 3), (2, 4, 9)];

#[test]
fn uci() {
    let (imported, got) = import(b"3\n5\n4\n1 1 2\n1 5 1\n3 2 3\n3 5 9\n");
    assert_eq!(got, EXPECTED);
    assert_eq!(imported.format, Format::Uci);
    assert_eq!(imported.shape, Shape { documents: 3, words: 5, nonzeros: 4, tokens: 15 });
    assert_eq!((imported.empty_documents, imported.sorted), (1, false));
    // Zero-padded header, blanks, tabs, carriage returns, blank lines, and no line end at the end
    // of the file.
    assert_eq!(
        import(b"3\r\n5\r\n000000000000000004\r\n1\t1  2\r\n 1 5 1 \r\n\r\n3 2 3\r\n3 5 9").1,
        EXPECTED
    );
    // Trailing documents without words count, as declared by the header.
    assert_eq!(import(b"9\n5\n4\n1 1 2\n1 5 1\n3 2 3\n3 5 9\n").0.shape.documents, 9);
}

#[test]
fn uci_out_of_order_and_twice() {
    let (imported, got) = import(b"3\n5\n6\n3 5 4\n1 5 1\n3 2 3\n1 1 1\n3 5 5\n1 1 1\n");
    assert_eq!(got, EXPECTED);
    assert!(imported.sorted);
    assert_eq!(imported.shape, Shape { documents: 3, words: 5, nonzeros: 4, tokens: 15 });
    // Disorder within a document does not require sorting on disk.
    let (imported, got) = import(b"3\n5\n5\n1 5 1\n1 1 2\n3 5 4\n3 2 3\n3 5 5\n");
    assert_eq!((got, imported.sorted), (EXPECTED.to_vec(), false));
}

#[test]
fn uci_refuses() {
    let header = |h: &str| format!("{h}\n1 1 2\n1 5 1\n3 2 3\n3 5 9\n");
    for (bytes, parts) in [
        (header("2\n5\n4"), vec!["line 6", "document number 3", "1 to 2", "header's D"]),
        (header("3\n4\n4"), vec!["line 5", "word number 5", "1 to 4", "header's W"]),
        (header("3\n5\n3"), vec!["line 7", "entry 4", "3 entries"]),
        (header("3\n5\n5"), vec!["4 entries", "expected 5", "truncated"]),
        (header("-3\n5\n4"), vec!["line 1", "\"-3\"", "whole number"]),
        (header("3\n5.5\n4"), vec!["line 2", "\"5.5\""]),
        (header("3\n5\nx"), vec!["line 3", "\"x\""]),
        (header("3\n99999999999999999999999\n4"), vec!["line 2", "64 bits"]),
        (header("3\n4294967295\n4"), vec!["4294967295 words"]),
        (header("3\n4000000000\n4"), vec!["4000000000 words for 4 entries"]),
        (header("99999999999\n5\n4"), vec!["nearly all of them without words"]),
        ("3\n5\n1\n0 1 1\n".into(), vec!["line 4", "document number 0", "1 to 3"]),
        ("3\n5\n1\n1 0 1\n".into(), vec!["line 4", "word number 0"]),
        ("3\n5\n1\n1 1 0\n".into(), vec!["line 4", "count 0", "skip_zeros"]),
        ("3\n5\n1\n1 1 -2\n".into(), vec!["line 4", "negative count"]),
        ("3\n5\n1\n1 1 2.5\n".into(), vec!["line 4", "fractional count", "tf-idf"]),
        ("3\n5\n1\n1 1 5000000000\n".into(), vec!["line 4", "too large"]),
        ("3\n5\n1\n1 1\n".into(), vec!["line 4", "three numbers"]),
        ("3\n5\n1\n1 1 1 1\n".into(), vec!["line 4", "three numbers"]),
        ("3\n5\n2\n1 1 4294967295\n1 1 1\n".into(), vec!["add up to more than 4294967295"]),
        ("3\n5\n0\n".into(), vec!["no words"]),
        ("3\n5".into(), vec!["NNZ"]),
    ] {
        refuses(Some(Format::Uci), bytes.as_bytes(), &parts);
    }
    // The format is detected even if one header line is wrong.
    refuses(None, header("3\nabc\n4").as_bytes(), &["line 2", "\"abc\""]);
    refuses(None, header("3\n-5\n4").as_bytes(), &["line 2", "\"-5\""]);
    refuses(None, b"3\n5\n3\n1 1 1\n1 x 3\n2 2 2\n", &["line 5", "word number x"]);
    refuses(None, b"1 1:2\n0 4:abc 5:1\n1 2:1\n", &["line 2", "\"abc\""]);
    refuses(
        None,
        b"%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1\n",
        &["line 1", "%%MatrixMarket"],
    );
}

#[test]
fn empty_and_foreign_files() {
    refuses(None, b"", &["is empty"]);
    refuses(None, b" \n\n ", &["contains only blank lines"]);
    refuses(None, b"\x89TLC\r\n\x1a\nabc", &["already imported"]);
    refuses(None, b"abc\0def", &["binary file"]);
}

#[test]
fn zeros_can_be_skipped() {
    let skip =
        |format| TestImport::new(Import { format: Some(format), skip_zeros: true, ..Import::default() });
    assert_eq!(skip(Format::Uci).run(b"3\n5\n2\n1 1 0\n1 5 1\n").unwrap().1, [(0, 4, 1)]);
    assert_eq!(skip(Format::LdaC).run(b"2 0:0 4:1\n").unwrap().1, [(0, 4, 1)]);
    let mtx = b"%%MatrixMarket matrix coordinate integer general\n3 5 2\n1 1 0\n1 5 1\n";
    assert_eq!(skip(Format::MatrixMarket).run(mtx).unwrap().1, [(0, 4, 1)]);
}

#[test]
fn matrix_market() {
    let body = "3 5 4\n3 5 9\n1 1 2\n3 2 3\n1 5 1\n";
    let (imported, got) = import(
        format!("%%MatrixMarket matrix coordinate integer general\n% a comment\n%\n{body}").as_bytes(),
    );
    assert_eq!((got.as_slice(), imported.format), (&EXPECTED[..], Format::MatrixMarket));
    let real = body.replace("5 9", "5 9.0").replace("1 1 2", "1 1 2e0");
    assert_eq!(
        import(format!("%%matrixmarket MATRIX coordinate Real general\n{real}").as_bytes()).1,
        EXPECTED
    );
    let pattern = import(b"%%MatrixMarket matrix coordinate pattern general\n3 5 2\n1 5\n3 2\n").1;
    assert_eq!(pattern, [(0, 4, 1), (2, 1, 1)]);
    // A word-major matrix, as in single-cell data: the documents are the columns.
    let columns = TestImport::new(Import { transpose: true, ..Import::default() });
    let (imported, got) = columns
        .run(b"%%MatrixMarket matrix coordinate integer general\n5 3 4\n1 1 2\n2 3 3\n5 1 1\n5 3 9\n")
        .unwrap();
    assert_eq!((got.as_slice(), imported.sorted, imported.shape.documents), (&EXPECTED[..], true, 3));
}

#[test]
fn matrix_market_refuses() {
    let banner = "%%MatrixMarket matrix coordinate integer general\n";
    for (bytes, parts) in [
        ("%%MatrixMarket matrix array real general\n3 5\n1\n".to_string(), vec!["line 1", "coordinate"]),
        ("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n".into(), vec!["line 1"]),
        (
            "%%MatrixMarket matrix coordinate integer symmetric\n1 1 1\n1 1 1\n".into(),
            vec!["line 1", "general"],
        ),
        (banner.into(), vec!["no size line"]),
        (format!("{banner}3 5\n"), vec!["line 2", "size line"]),
        (format!("{banner}3 5 1\n4 1 1\n"), vec!["line 3", "row \"4\"", "1 to 3"]),
        (format!("{banner}3 5 1\n1 6 1\n"), vec!["line 3", "column \"6\"", "1 to 5"]),
        (format!("{banner}3 5 1\n1 1\n"), vec!["line 3", "value"]),
        (format!("{banner}3 5 1\n1 1 1 1\n"), vec!["line 3", "three fields"]),
        (format!("{banner}3 5 1\n1 1 0\n"), vec!["line 3", "skip_zeros"]),
        (format!("{banner}3 5 1\n1 1 -1\n"), vec!["line 3", "negative"]),
        (format!("{banner}3 5 1\n1 1 1\n1 2 1\n"), vec!["line 4", "1 entries"]),
        (format!("{banner}3 5 2\n1 1 1\n"), vec!["1 entries", "truncated"]),
        (format!("{banner}3 9999999999 1\n1 1 1\n"), vec!["line 2", "9999999999 words"]),
    ] {
        refuses(None, bytes.as_bytes(), &parts);
    }
}

#[test]
fn pairs() {
    let (imported, got) = import(b"+1 1:2 5:1\n-1\n0.5 2:3 5:9 # a comment\n# only a comment\n");
    assert_eq!((got.as_slice(), imported.format), (&EXPECTED[..], Format::SvmLight));
    assert_eq!(import(b"1 qid:3 1:2 5:1\n0\n7 5:9.0 2:3\n").1, EXPECTED);
    let (imported, got) = import(b"2 0:2 4:1\n0\n2 1:3 4:9\n");
    assert_eq!((got.as_slice(), imported.format), (&EXPECTED[..], Format::LdaC));
    assert_eq!(imported.shape.documents, 3);
    let zero = TestImport::new(Import { first_id: Some(0), ..Import::default() });
    assert_eq!(zero.run(b"1 0:2 4:1\n1\n1 1:3 4:9\n").unwrap().1, EXPECTED);
}

#[test]
fn pairs_refuse() {
    refuses(Some(Format::SvmLight), b"1 0:1\n", &["line 1", "word id \"0\"", "first_id=0"]);
    refuses(Some(Format::SvmLight), b"1 1:1\n1:2 3:4\n", &["line 2", "label"]);
    refuses(Some(Format::SvmLight), b"1 1:1\n\n", &["line 2", "empty line"]);
    refuses(Some(Format::SvmLight), b"1 1:0.25\n", &["line 1", "fractional"]);
    refuses(Some(Format::SvmLight), b"1 1:-1\n", &["line 1", "negative"]);
    refuses(Some(Format::SvmLight), b"1 1\n", &["line 1", "id:count"]);
    refuses(Some(Format::LdaC), b"2 0:1\n", &["line 1", "1 pairs", "expected 2"]);
    refuses(Some(Format::LdaC), b"x 0:1\n", &["line 1", "number of different words"]);
    refuses(Some(Format::LdaC), b"1 4294967295:1\n", &["line 1", "word id"]);
    refuses(Some(Format::SvmLight), b"1 4000000000:1\n", &["line 1", "a word id of 4000000000"]);
}

#[cfg(feature = "text")]
#[test]
fn text() {
    let pipeline = words::Pipeline::plain();
    let words = TextPipeline { pipeline, stop: words::StopWords::None, ..TextPipeline::default() };
    let all = TestImport::new(Import { words, ..Import::default() });
    let (imported, got) =
        all.run("The cat's cat, the DOG 42!\n\nÉcole école 3D — naïve\n".as_bytes()).unwrap();
    assert_eq!(imported.format, Format::Text);
    assert_eq!(imported.shape, Shape { documents: 3, words: 7, nonzeros: 7, tokens: 9 });
    // Ids are in the order of the bytes of the words: 3d, cat, cat's, dog, naïve, the, école.
    assert_eq!(got, [(0, 1, 1), (0, 2, 1), (0, 3, 1), (0, 5, 2), (2, 0, 1), (2, 4, 1), (2, 6, 2)]);
    refuses(Some(Format::Text), b"12 34\n", &["all words of the document were dropped"]);
}

#[test]
fn options_that_do_not_fit_are_refused() {
    for (import, option) in [
        (Import { transpose: true, ..Import::default() }, "`transpose`"),
        (Import { first_id: Some(0), ..Import::default() }, "`first_id`"),
    ] {
        let text = TestImport::new(import).run(b"1\n1\n1\n1 1 1\n").unwrap_err().to_string();
        assert!(text.starts_with(option), "{text}");
    }
}

#[test]
fn vocabulary_and_names() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let uci = b"2\n3\n2\n1 1 2\n2 3 1\n";
    let with = |vocabulary: Option<&[u8]>, names: Option<&[u8]>, data: &[u8]| {
        let import = Import {
            vocabulary: vocabulary.map(|bytes| file("vocab", bytes)),
            names: names.map(|bytes| file("names", bytes)),
            ..Import::default()
        };
        let output = folder.path().join("out.tlc");
        import.run_on_bytes(data.to_vec(), "input", &output).map(|_| Corpus::open(&output).unwrap())
    };
    let corpus = with(Some(b"cat\r\ndog\nmouse"), Some(b"first\nsecond\n"), uci).unwrap();
    let vocabulary = corpus.vocabulary().unwrap().unwrap();
    assert_eq!(vocabulary.iter().collect::<Vec<_>>(), ["cat", "dog", "mouse"]);
    assert_eq!(corpus.reader().read_names(0).unwrap().iter().collect::<Vec<_>>(), ["first", "second"]);
    // Names stay with their documents if these arrive out of order.
    let corpus = with(None, Some(b"first\nsecond\n"), b"2\n3\n2\n2 3 1\n1 1 2\n").unwrap();
    assert_eq!(corpus.reader().read_names(0).unwrap().iter().collect::<Vec<_>>(), ["first", "second"]);

    let refused = |vocabulary: Option<&[u8]>, names: Option<&[u8]>, parts: &[&str]| {
        let text = with(vocabulary, names, uci).unwrap_err().to_string();
        for part in parts {
            assert!(text.contains(part), "{part:?} is missing in: {text}");
        }
    };
    refused(Some(b"cat\ndog\n"), None, &["vocab", "2 words", "expected 3"]);
    refused(Some(b"cat\ndog\nmouse\nbird\n"), None, &["4 words", "expected 3"]);
    refused(Some(b"cat\ndog\ncat\n"), None, &["line 3", "\"cat\" a second time", "line 1"]);
    refused(Some(b"cat\n\xff\xfe\nmouse\n"), None, &["line 2", "not UTF-8"]);
    refused(Some(b"cat\n\nmouse\n"), None, &["line 2", "empty line"]);
    refused(Some(b""), None, &["an empty file"]);
    refused(None, Some(b"first\n"), &["names", "1 names", "a name for every document"]);
    refused(None, Some(b"first\nsecond\nthird\n"), &["line 3", "an extra name"]);
}

#[cfg(feature = "compression")]
#[test]
fn compressed_by_content() {
    let plain = b"3\n5\n4\n1 1 2\n1 5 1\n3 2 3\n3 5 9\n";
    let gzip = |bytes: &[u8]| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    };
    let bzip2 = |bytes: &[u8]| {
        let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    };
    let zstd =
        |bytes: &[u8]| ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest);
    // The file was made by the xz program, since the decoder's crate is used without its encoder.
    let xz = include_bytes!("../../../tests/fixtures/small.xz").to_vec();
    let (first, second) = plain.split_at(11);
    for (whole, halves, compression) in [
        (gzip(plain), [gzip(first), gzip(second)].concat(), Compression::Gzip),
        (bzip2(plain), [bzip2(first), bzip2(second)].concat(), Compression::Bzip2),
        (
            zstd(plain),
            [zstd(first), b"\x50\x2a\x4d\x18\x03\0\0\0abc".to_vec(), zstd(second)].concat(),
            Compression::Zstd,
        ),
        (xz.clone(), xz, Compression::Xz),
    ] {
        for bytes in [&whole, &halves] {
            let (imported, got) = import(bytes);
            assert_eq!((got.as_slice(), imported.compression), (&EXPECTED[..], compression));
        }
        // Truncated data is refused and never taken for complete data.
        for cut in 1..whole.len() {
            assert!(import_as(Format::Uci, &whole[..cut]).is_err(), "{compression:?} cut at {cut}");
        }
        let mut flipped = whole.clone();
        let middle = whole.len() / 2;
        flipped[middle] ^= 0x10;
        assert!(import_as(Format::Uci, &flipped).is_err(), "{compression:?} flipped");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The corpus does not depend on the order of entries or on the memory limit.
    #[test]
    fn any_order_gives_the_same_corpus(
        mut entries in prop::collection::vec((0u64..30, 0u32..20, 1u32..5), 1..200),
        memory in 1usize..40,
        fan_in in 2usize..5,
    ) {
        let text = |entries: &[(u64, u32, u32)]| {
            let mut text = format!("30\n20\n{}\n", entries.len()).into_bytes();
            for (d, w, x) in entries {
                writeln!(text, "{} {} {x}", d + 1, w + 1).unwrap();
            }
            text
        };
        let limited = TestImport { import: Import::default(), limits: SortLimits { entries: memory, fan_in, ..SortLimits::default() } };
        let shuffled = limited.run(&text(&entries)).unwrap();
        entries.sort_unstable();
        let sorted = import(&text(&entries));
        prop_assert_eq!(shuffled.1, sorted.1);
        prop_assert_eq!(shuffled.0.shape, sorted.0.shape);
        prop_assert_eq!(shuffled.0.empty_documents, sorted.0.empty_documents);
    }

    /// No input makes a reader panic, and what is accepted can be read back.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(prop_oneof![Just(b' '), Just(b'\n'), Just(b':'), b'0'..=b'9', any::<u8>()], 0..200)) {
        for format in Format::ALL.map(Some).into_iter().chain([None]) {
            let _ = TestImport::new(Import { format, ..Import::default() }).run(&bytes);
        }
        for banner in ["%%MatrixMarket matrix coordinate integer general\n", "3\n3\n3\n"] {
            let _ = import_as(if banner.len() > 9 { Format::MatrixMarket } else { Format::Uci }, &[banner.as_bytes(), &bytes].concat());
        }
        for magic in [&b"\x1f\x8b\x08"[..], b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0", b"BZh9"] {
            let _ = TestImport::new(Import::default()).run(&[magic, &bytes].concat());
        }
    }
}

/// A word-major matrix whose first word is in the first and the last of very many documents begins
/// in order and must still be sorted.
#[test]
fn a_gap_is_no_reason_to_refuse() {
    let mut text = String::from(
        "%%MatrixMarket matrix coordinate integer general\n25000000 2 250002\n1 1 1\n25000000 1 1\n",
    );
    for d in (0..25_000_000).step_by(100) {
        std::fmt::Write::write_fmt(&mut text, format_args!("{} 2 1\n", d + 1)).unwrap();
    }
    let (imported, got) = import(text.as_bytes());
    assert_eq!(
        (imported.shape.documents, imported.shape.nonzeros, imported.sorted),
        (25_000_000, 250_002, true)
    );
    assert_eq!((got[0], got[1], got[250_001]), ((0, 0, 1), (0, 1, 1), (24_999_999, 0, 1)));
}

#[test]
fn duplicates_do_not_pile_up() {
    let text = format!("1\n2\n2500000\n{}{}", "1 2 1\n".repeat(1_250_000), "1 1 1\n".repeat(1_250_000));
    assert_eq!(import(text.as_bytes()).1, [(0, 0, 1_250_000), (0, 1, 1_250_000)]);
}

/// The sort of an import in any order needs little memory, and the result does not depend on it. A
/// vocabulary or a line that does not fit is refused with the memory that suffices.
#[test]
fn r6_counts_fit_into_the_memory_or_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("input"), folder.path().join("out.tlc"));
    let run = |mib: u64| {
        let import = Import { memory: Some(mib << 20), memory_in_use: 10 << 20, ..Import::default() };
        import
            .run(&input, &output, &mut |_| ControlFlow::Continue(()))
            .map(|_| std::fs::read(&output).unwrap())
    };
    let stated = |mib: u64| -> u64 {
        let error = run(mib).unwrap_err().to_string();
        let stated = error.split("memory=").nth(1).and_then(|rest| rest.split("MiB").next());
        stated.unwrap_or_else(|| panic!("{error}")).parse().unwrap()
    };
    let mut unsorted = "2000\n3000\n60000\n".to_owned();
    for i in 0..60_000u64 {
        let entry = format!("{} {} 1\n", i * 7919 % 2000 + 1, i * 104_729 % 3000 + 1);
        unsorted.push_str(&entry);
    }
    std::fs::write(&input, &unsorted).unwrap();
    let least = stated(1);
    assert!(least < 24, "{least}");
    assert!(run(least).unwrap() == run(1000).unwrap());
    // Many words.
    std::fs::write(&input, "2\n9000000\n2\n1 1 1\n2 9000000 1\n").unwrap();
    let least = stated(24);
    assert!((160..400).contains(&least), "{least}");
    run(least).unwrap();
    // A long line.
    let pairs = (1..600_000).map(|i| format!("{i}:1")).collect::<Vec<_>>().join(" ");
    std::fs::write(&input, format!("-1 1:1\n-1 {pairs}\n")).unwrap();
    let least = stated(32);
    run(least).unwrap();
}
