//! Statistics of a corpus. Computing them verifies every checksum of the file.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::{Block, BlockDetails, Corpus, Shape, WordTotals};
use crate::error::{Error, Position, Result};
use crate::progress::{ProgressCallback, Step};

/// Distribution of the lengths of documents, in tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Lengths {
    /// Mean length, including empty documents.
    pub mean: f64,
    /// Median length: half of the documents are at most this long.
    pub median: u64,
    /// 99th percentile: 99 of 100 documents are at most this long.
    pub percentile_99: u64,
    /// Length of the longest document.
    pub longest: u64,
}

/// Statistics of a corpus.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Statistics {
    /// Size of the corpus.
    pub shape: Shape,
    /// Number of documents without words.
    pub empty_documents: u64,
    /// Number of words that never occur.
    pub unused_words: u64,
    /// Lengths of the documents.
    pub lengths: Lengths,
    /// Label columns, in the order of the corpus.
    pub labels: Vec<LabelStatistics>,
    /// Dates of the documents; `None` if no document has one.
    pub dates: Option<DateStatistics>,
}

/// Statistics of a label column.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LabelStatistics {
    /// Name of the column.
    pub name: String,
    /// Number of documents with at least one value.
    pub documents: u64,
    /// Number of distinct values, at most [`MAX_DISTINCT_LABELS`].
    pub distinct: u64,
}

/// Statistics of the dates of documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DateStatistics {
    /// Number of documents with a date.
    pub documents: u64,
    /// First date.
    pub first: String,
    /// Last date.
    pub last: String,
}

/// Largest number of distinct labels that are counted, so that memory does not grow with the number
/// of documents.
pub const MAX_DISTINCT_LABELS: u64 = 100_000;

/// Counts labels and dates.
#[derive(Debug)]
struct MetadataCounter {
    labels: Vec<LabelStatistics>,
    /// Hashes of the distinct values of every column.
    seen: Vec<HashSet<u64>>,
    dates: Option<DateStatistics>,
}

impl MetadataCounter {
    fn new(corpus: &Corpus) -> MetadataCounter {
        let columns = corpus.label_columns().iter();
        let column = |name: &String| LabelStatistics { name: name.clone(), documents: 0, distinct: 0 };
        MetadataCounter {
            labels: columns.clone().map(column).collect(),
            seen: columns.map(|_| HashSet::new()).collect(),
            dates: None,
        }
    }

    fn add(&mut self, details: &BlockDetails) {
        for (column, (found, seen)) in self.labels.iter_mut().zip(&mut self.seen).enumerate() {
            for d in 0..details.labels.documents() {
                let mut any = false;
                for value in details.labels.values(d, column) {
                    any = true;
                    if (seen.len() as u64) < MAX_DISTINCT_LABELS {
                        let mut hasher = DefaultHasher::new();
                        value.hash(&mut hasher);
                        seen.insert(hasher.finish());
                    }
                }
                found.documents += u64::from(any);
            }
            found.distinct = seen.len() as u64;
        }
        for date in details.dates.iter().filter(|date| !date.is_empty()) {
            let all = self.dates.get_or_insert_with(|| DateStatistics {
                documents: 0,
                first: date.into(),
                last: date.into(),
            });
            all.documents += 1;
            if date < all.first.as_str() {
                all.first = date.into();
            }
            if date > all.last.as_str() {
                all.last = date.into();
            }
        }
    }
}

impl Statistics {
    /// Computes the statistics in one pass over the corpus. `progress` receives the number of
    /// blocks done.
    pub fn of(corpus: &Corpus, progress: ProgressCallback<'_>) -> Result<Statistics> {
        let shape = corpus.shape();
        let (mut reader, mut block) = (corpus.reader(), Block::default());
        let mut found =
            WordTotals { tokens: vec![0; shape.words as usize], documents: vec![0; shape.words as usize] };
        let mut metadata = MetadataCounter::new(corpus);
        // Number of documents by length. It has one entry per distinct length, not per document.
        let mut lengths: BTreeMap<u64, u64> = BTreeMap::new();
        for i in 0..corpus.blocks() {
            reader.read(i, &mut block)?;
            metadata.add(&reader.read_details(i)?);
            for document in block.iter() {
                *lengths.entry(document.tokens()).or_default() += 1;
                for (&w, &x) in document.words.iter().zip(document.counts) {
                    found.tokens[w as usize] += u64::from(x);
                    found.documents[w as usize] += 1;
                }
            }
            if progress(Step::Blocks.at(i as u64 + 1, corpus.blocks() as u64)).is_break() {
                return Err(Error::Interrupted);
            }
        }
        corpus.vocabulary()?;
        corpus.about()?;
        if corpus.word_totals()? != found {
            return Err(Error::damaged_corpus(
                corpus.origin(),
                Position::Whole,
                "the word totals do not match the documents",
            ));
        }
        let unused_words = found.tokens.iter().filter(|&&n| n == 0).count() as u64;
        let at = |share: f64| {
            let rank = (share * shape.documents as f64).ceil().max(1.0) as u64;
            let mut seen = 0;
            lengths
                .iter()
                .find(|&(_, &documents)| {
                    seen += documents;
                    seen >= rank
                })
                .map_or(0, |(&length, _)| length)
        };
        Ok(Statistics {
            shape,
            empty_documents: lengths.get(&0).copied().unwrap_or(0),
            unused_words,
            lengths: Lengths {
                mean: shape.tokens as f64 / (shape.documents.max(1)) as f64,
                median: at(0.5),
                percentile_99: at(0.99),
                longest: lengths.keys().next_back().copied().unwrap_or(0),
            },
            labels: metadata.labels,
            dates: metadata.dates,
        })
    }
}
