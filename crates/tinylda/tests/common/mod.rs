//! Helpers shared by several tests.
#![allow(dead_code, reason = "each test uses a part")]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use tinylda::corpus::CorpusWriter;
use tinylda::corpus::ingest::words::Pipeline;
use tinylda::corpus::{About, Details, DocumentFields, Source, Statistics, Synth, TextPlace};
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
    let about = About { pipeline: Some(pipeline), sources };
    let fields = DocumentFields { names: true, labels: true, places: true };
    let mut writer = CorpusWriter::create_with(path, fields, &about).unwrap();
    for d in 0..40u32 {
        let words: Vec<u32> = (0..d % 7).map(|i| i * 13 + d % 5).collect();
        let counts: Vec<u32> = words.iter().map(|&w| 1 + w % 4).collect();
        let (name, label) = (format!("document-{d}"), format!("class {}", d % 3));
        let place =
            TextPlace { source: 0, offset: (u64::from(d) << 30) + u64::from(d % 4), length: 1000 + d };
        let details = Details { name: Some(&name), label: Some(&label), place: Some(place) };
        writer.push_with(&words, &counts, details).unwrap();
    }
    let mut vocabulary = Vocabulary::new();
    for w in 0..100 {
        vocabulary.push(&format!("wört{w}"));
    }
    writer.finish(100, Some(&vocabulary)).unwrap();
}

/// Reads a whole corpus file and verifies it.
pub(crate) fn verify(path: &Path) -> tinylda::Result<Statistics> {
    Statistics::of(&Corpus::open(path)?, &mut |_| ControlFlow::Continue(()))
}
