//! Helpers shared by several tests.
#![allow(dead_code, reason = "each test uses a part")]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use tinylda::corpus::CorpusWriter;
use tinylda::corpus::ingest::words::Pipeline;
use tinylda::corpus::{About, Details, DocumentFields, DocumentLabels, Source, Statistics, Synth, TextPlace};
use tinylda::{Corpus, CorpusBuilder, Event, Vocabulary};

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

pub(crate) fn go_on(_: Event<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Builds a corpus in memory from documents as (word, count) lists.
pub(crate) fn corpus_of(words: u32, documents: &[Vec<(u32, u32)>]) -> Corpus {
    let mut builder = CorpusBuilder::new().words(words);
    for document in documents {
        builder.add_document(document).unwrap();
    }
    builder.build().unwrap()
}

/// Draws a synthetic corpus in memory.
pub(crate) fn synthetic(settings: &Synth) -> Corpus {
    let mut drawn = settings.prepare(&mut |_| ControlFlow::Continue(())).unwrap();
    drawn.corpus(&settings.vocabulary(), &mut |_| ControlFlow::Continue(())).unwrap()
}

/// Writes the corpus of the format tests, with names, a vocabulary, an empty document, and counts
/// and ids of every size.
pub(crate) fn write_small(path: &Path) {
    let mut writer = CorpusWriter::create(path, true).unwrap();
    for d in 0..40u32 {
        let words: Vec<u32> = (0..d % 7).map(|i| i * 13 + d % 5).collect();
        let counts: Vec<u32> = words.iter().map(|&w| if w == 1 { 70_000 } else { 1 + w % 4 }).collect();
        writer.push(&words, &counts, Some(&format!("document-{d}-\u{e9}"))).unwrap();
    }
    let mut vocabulary = Vocabulary::new();
    for w in 0..100 {
        vocabulary.push(&format!("wört{w}"));
    }
    writer.finish(100, Some(&vocabulary)).unwrap();
}

/// Writes the corpus of the format tests with all parts of version 2: labels, places and metadata.
pub(crate) fn write_small_with_details(path: &Path) {
    let pipeline = Pipeline { stem: Some("de".into()), stop_words: vec!["und".into()], ..Pipeline::plain() };
    let sources = vec![Source { path: "texts/ä.csv".into(), format: "csv".into(), ..Source::default() }];
    let about = About { pipeline: Some(pipeline), sources, ..About::default() };
    let fields = DocumentFields {
        names: true,
        label_columns: vec!["label".into()],
        places: true,
        ..DocumentFields::default()
    };
    let mut writer = CorpusWriter::create_with(path, fields, &about).unwrap();
    for d in 0..40u32 {
        let words: Vec<u32> = (0..d % 7).map(|i| i * 13 + d % 5).collect();
        let counts: Vec<u32> = words.iter().map(|&w| 1 + w % 4).collect();
        let (name, label) = (format!("document-{d}"), format!("class {}", d % 3));
        let place =
            TextPlace { source: 0, offset: (u64::from(d) << 30) + u64::from(d % 4), length: 1000 + d };
        let details = Details {
            name: Some(&name),
            labels: DocumentLabels::One(&label),
            place: Some(place),
            ..Details::default()
        };
        writer.push_with(&words, &counts, details).unwrap();
    }
    let mut vocabulary = Vocabulary::new();
    for w in 0..100 {
        vocabulary.push(&format!("wört{w}"));
    }
    writer.finish(100, Some(&vocabulary)).unwrap();
}

/// Writes the corpus of the format tests with all parts of version 3: two label columns with any
/// number of values, dates of every precision, checksums and unknown tokens.
pub(crate) fn write_small_with_columns(path: &Path) {
    let sources = vec![Source { path: "texts".into(), format: "folder".into(), ..Source::default() }];
    let about = About { sources, ..About::default() };
    let fields = DocumentFields {
        names: true,
        label_columns: vec!["section".into(), "författare".into()],
        multiple_labels: true,
        dates: true,
        places: true,
        checksums: true,
        tokens_unknown: true,
    };
    let mut writer = CorpusWriter::create_with(path, fields, &about).unwrap();
    for d in 0..40u32 {
        let words: Vec<u32> = (0..d % 7).map(|i| i * 13 + d % 5).collect();
        let counts: Vec<u32> = words.iter().map(|&w| 1 + w % 4).collect();
        let name = format!("document-{d}.txt");
        let authors: Vec<String> = (0..d % 4).map(|i| format!("Å {}", i + d % 3)).collect();
        let section = ["news", "sport", "", "culture"][d as usize % 4];
        let labels = [
            Some(section).filter(|section| !section.is_empty()).into_iter().collect(),
            authors.iter().map(String::as_str).collect(),
        ];
        let date = ["1999", "1999-02", "1999-02-03", "1999-02-03T04:05:06Z", ""][d as usize % 5];
        let details = Details {
            name: Some(&name),
            labels: DocumentLabels::Columns(&labels),
            date: Some(date),
            place: Some(TextPlace { source: 0, offset: 3, length: 1000 + d }),
            checksum: Some(d.wrapping_mul(0x9e37_79b9)),
            tokens_unknown: Some(d % 6),
        };
        writer.push_with(&words, &counts, details).unwrap();
    }
    writer.finish(100, None).unwrap();
}

/// Reads a whole corpus file and verifies it.
pub(crate) fn verify(path: &Path) -> tinylda::Result<Statistics> {
    Statistics::of(&Corpus::open(path)?, &mut |_| ControlFlow::Continue(()))
}
