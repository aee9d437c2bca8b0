//! Random division of a corpus into a training and a test part, by document.

use std::path::Path;

use super::{Block, Corpus, CorpusWriter, Shape};
use crate::error::{Error, Result};
use crate::files::same_file;
use crate::progress::{ProgressCallback, Step};
use crate::random::{Purpose, Random};

/// Sizes of the two parts of a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// Size of the training part.
    pub train: Shape,
    /// Size of the test part.
    pub test: Shape,
}

/// Splits a corpus into two corpus files.
///
/// round(`share` x documents) documents are chosen at random for `test`; the others go to `train`.
/// Both parts keep the order of documents, the vocabulary, all details of documents and metadata.
/// `progress` receives the number of blocks done.
pub fn split(
    corpus: &Corpus,
    share: f64,
    seed: u64,
    train: impl AsRef<Path>,
    test: impl AsRef<Path>,
    progress: ProgressCallback<'_>,
) -> Result<Split> {
    let (train, test) = (train.as_ref(), test.as_ref());
    if !(share > 0.0 && share < 1.0) {
        return Err(Error::out_of_range("test", share, "a share above 0 and below 1")
            .with_remedy("for example, 0.5 selects half of the documents"));
    }
    let is_input = |path| corpus.path().is_some_and(|input| same_file(input, path));
    if same_file(train, test) || is_input(train) || is_input(test) {
        let found = format!("{} and {}", train.display(), test.display());
        let expected = "two files that differ from each other and from the input";
        return Err(Error::out_of_range("output", found, expected));
    }
    let shape = corpus.shape();
    let mut needed = (share * shape.documents as f64).round() as u64;
    if needed == 0 || needed == shape.documents {
        let found = format!("{share} of {} documents", shape.documents);
        return Err(Error::out_of_range("test", found, "a share with at least one document in each part")
            .with_remedy("choose another share, or a larger corpus"));
    }
    let about = corpus.about()?;
    let create = |path| CorpusWriter::create_with(path, corpus.fields(), &about);
    let mut parts = [create(train)?, create(test)?];
    let mut random = Random::new(seed, Purpose::Split, 0);
    let (mut reader, mut block) = (corpus.reader(), Block::default());
    let mut left = shape.documents;
    for i in 0..corpus.blocks() {
        reader.read(i, &mut block)?;
        let all = reader.read_details(i)?;
        for (d, document) in block.iter().enumerate() {
            // Selection sampling (Knuth, algorithm S) chooses exactly `needed` of the remaining
            // documents, and every choice has the same probability.
            let chosen = random.below(left) < needed;
            left -= 1;
            needed -= u64::from(chosen);
            let labels = all.labels.row(d);
            parts[usize::from(chosen)].push_with(
                document.words,
                document.counts,
                all.document(d, &labels),
            )?;
        }
        if progress(Step::Blocks.at(i as u64 + 1, corpus.blocks() as u64)).is_break() {
            return Err(Error::Interrupted);
        }
    }
    let [train, test] = parts;
    let vocabulary = corpus.vocabulary()?;
    // Both files are on disk before either appears: with only half of a split, test documents could
    // end up in a training.
    let train = train.seal(shape.words, vocabulary.as_ref())?;
    let test = test.seal(shape.words, vocabulary.as_ref())?;
    Ok(Split { train: train.commit()?.shape(), test: test.commit()?.shape() })
}
