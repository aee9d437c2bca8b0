//! A corpus in two parts, by document.

use std::ops::ControlFlow;
use std::path::Path;

use super::{Block, Corpus, CorpusWriter, Shape};
use crate::error::{Error, Result};
use crate::files::same_file;
use crate::random::{Purpose, Random};

/// The sizes of the two parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// The training part.
    pub train: Shape,
    /// The test part.
    pub test: Shape,
}

/// Draws round(`share` x documents) documents at random for `test`; the others go to `train`, both in their old order.
/// Vocabulary and names go along. `progress` is told the blocks done and may ask to stop.
pub fn split(
    corpus: &Corpus,
    share: f64,
    seed: u64,
    train: &Path,
    test: &Path,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Split> {
    if !(share > 0.0 && share < 1.0) {
        return Err(Error::Setting {
            option: "--test",
            found: share.to_string(),
            expected: "a share above 0 and below 1".into(),
            remedy: "For instance 0.5 for half of the documents.".into(),
        });
    }
    if same_file(train, test) || same_file(corpus.path(), train) || same_file(corpus.path(), test) {
        return Err(Error::Setting {
            option: "-o",
            found: format!("{} and {}", train.display(), test.display()),
            expected: "two files that differ from each other and from the input".into(),
            remedy: "Choose other names.".into(),
        });
    }
    let shape = corpus.shape();
    let mut needed = (share * shape.documents as f64).round() as u64;
    if needed == 0 || needed == shape.documents {
        return Err(Error::Setting {
            option: "--test",
            found: format!("{share} of {} documents", shape.documents),
            expected: "at least one document in each part".into(),
            remedy: "Choose another share, or a larger corpus.".into(),
        });
    }
    let vocabulary = corpus.vocabulary()?;
    let mut parts =
        [CorpusWriter::create(train, corpus.has_names())?, CorpusWriter::create(test, corpus.has_names())?];
    let mut random = Random::new(seed, Purpose::Split, 0);
    let (mut reader, mut block) = (corpus.reader(), Block::default());
    let mut left = shape.documents;
    for i in 0..corpus.blocks() {
        reader.read(i, &mut block)?;
        let names = reader.read_names(i)?;
        for (d, document) in block.iter().enumerate() {
            // Selection sampling (Knuth, algorithm S): exactly `needed` of those that are left, all choices alike.
            let chosen = random.below(left) < needed;
            left -= 1;
            needed -= u64::from(chosen);
            parts[usize::from(chosen)].push(document.words, document.counts, names.get(d as u32))?;
        }
        if progress(i as u64 + 1, corpus.blocks() as u64).is_break() {
            return Err(Error::Interrupted);
        }
    }
    let [train, test] = parts;
    // Both are on disk before either appears: half a split could let test documents into a training.
    let (train_file, train) = train.seal(shape.words, vocabulary.as_ref())?;
    let (test_file, test) = test.seal(shape.words, vocabulary.as_ref())?;
    train_file.commit()?;
    test_file.commit()?;
    Ok(Split { train, test })
}
