//! Finds the documents that are typical of a topic, and those that are similar to another document.
//!
//! Start reading at [`TypicalDocuments`] and [`SimilarDocuments`]. The lists are truncated while
//! documents are processed, so that memory does not grow with the number of documents.

use std::sync::atomic::{AtomicU32, Ordering};

use super::{Mixture, Mixtures};
use crate::corpus::{BlockReader, Corpus, LabelTable, Vocabulary};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::progress::ProgressCallback;

/// A document in a ranked list.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct RankedDocument {
    /// Number of the document in the corpus, from 0.
    pub number: u64,
    /// Number of tokens of words that the model knows.
    pub tokens: u64,
    /// The value by which the document is ranked: its proportion of the topic, or its distance.
    pub value: f32,
}

/// Collects the documents with the largest keys as (key, number, tokens). Ties are won by the
/// document with the lower number.
#[derive(Debug, Clone, Default)]
struct TopDocuments {
    list: Vec<(f32, u64, u64)>,
}

impl TopDocuments {
    /// Adds a document. Returns true if the list was truncated, which may have raised
    /// [`min_key`](TopDocuments::min_key).
    fn push(&mut self, item: (f32, u64, u64), limit: usize) -> bool {
        self.list.push(item);
        let full = self.list.len() >= 2 * limit + 16;
        if full {
            self.truncate(limit);
        }
        full
    }

    fn truncate(&mut self, limit: usize) {
        self.list.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        self.list.truncate(limit);
    }

    /// Returns the smallest key that can still enter the list, once the list is full.
    fn min_key(&self, limit: usize) -> f32 {
        if limit > 0 && self.list.len() >= limit { self.list[limit - 1].0 } else { f32::NEG_INFINITY }
    }

    /// Returns the best documents, best first. `value` converts a key.
    fn into_ranked(mut self, limit: usize, value: impl Fn(f32) -> f32) -> Vec<RankedDocument> {
        self.truncate(limit);
        self.list
            .into_iter()
            .map(|(key, number, tokens)| RankedDocument { number, tokens, value: value(key) })
            .collect()
    }
}

/// Finds the documents with the largest proportion of each topic.
#[derive(Debug, Clone)]
pub struct TypicalDocuments {
    /// Number of documents per topic.
    pub top: usize,
    /// Minimum number of known tokens. Very short documents are almost entirely of one topic and
    /// therefore not informative.
    pub min_tokens: u64,
    /// The topics; empty for all topics.
    pub topics: Vec<u32>,
}

impl TypicalDocuments {
    /// Checks whether the model has the requested topics. [`find`](TypicalDocuments::find) does
    /// this first.
    pub fn check(&self, model: &Model) -> Result<()> {
        let count = model.topics();
        match self.topics.iter().find(|&&k| k >= count) {
            Some(unknown) => {
                Err(Error::out_of_range("topic", unknown, format!("a number from 0 to {}", count - 1)))
            }
            None => Ok(()),
        }
    }

    /// Infers all documents. Returns each requested topic with its documents, best first.
    pub fn find(
        &self,
        mixtures: &Mixtures<'_>,
        progress: ProgressCallback<'_>,
    ) -> Result<Vec<(u32, Vec<RankedDocument>)>> {
        let count = mixtures.model().topics();
        self.check(mixtures.model())?;
        let topics = if self.topics.is_empty() { (0..count).collect() } else { self.topics.clone() };
        let limit = self.top;
        let mut best = vec![TopDocuments::default(); topics.len()];
        // Documents with proportions up to these cannot enter the lists. Relaxed order suffices: an
        // outdated threshold only lets more candidates through.
        let thresholds: Vec<AtomicU32> =
            topics.iter().map(|_| AtomicU32::new(f32::NEG_INFINITY.to_bits())).collect();
        mixtures.for_each(
            |mixture, out: &mut Vec<(usize, (f32, u64, u64))>| {
                if mixture.tokens >= self.min_tokens.max(1) {
                    for (i, &k) in topics.iter().enumerate() {
                        let p = mixture.proportions[k as usize];
                        if p > f32::from_bits(thresholds[i].load(Ordering::Relaxed)) {
                            out.push((i, (p, mixture.number, mixture.tokens)));
                        }
                    }
                }
                Ok(())
            },
            |found| {
                for (i, item) in found {
                    if best[i].push(item, limit) {
                        thresholds[i].store(best[i].min_key(limit).to_bits(), Ordering::Relaxed);
                    }
                }
                Ok(())
            },
            progress,
        )?;
        Ok(topics.into_iter().zip(best).map(|(k, best)| (k, best.into_ranked(limit, |p| p))).collect())
    }
}

/// Finds the documents whose topic mixtures are most similar to that of a given document.
#[derive(Debug, Clone)]
pub struct SimilarDocuments {
    /// Number of documents.
    pub top: usize,
    /// Minimum number of known tokens.
    pub min_tokens: u64,
}

impl SimilarDocuments {
    /// Infers all documents and returns those nearest to document number `to`, nearest first,
    /// without that document itself.
    ///
    /// The distance is the Hellinger distance sqrt(1 - sum_k sqrt(p\[k\] q\[k\])): 0 for equal
    /// mixtures, 1 for mixtures that share no topic.
    pub fn find(
        &self,
        mixtures: &Mixtures<'_>,
        to: u64,
        progress: ProgressCallback<'_>,
    ) -> Result<Vec<RankedDocument>> {
        let roots =
            |mixture: &Mixture<'_>| mixture.proportions.iter().map(|p| p.sqrt()).collect::<Vec<f32>>();
        let target = mixtures
            .document(to, roots)?
            .ok_or_else(|| document_not_found(mixtures.corpus(), &(to + 1).to_string()))?;
        let limit = self.top;
        let mut best = TopDocuments::default();
        mixtures.for_each(
            |mixture, out: &mut Vec<(f32, u64, u64)>| {
                if mixture.number != to && mixture.tokens >= self.min_tokens.max(1) {
                    let shared: f64 = mixture
                        .proportions
                        .iter()
                        .zip(&target)
                        .map(|(p, &root)| f64::from(p.sqrt()) * f64::from(root))
                        .sum();
                    let distance = (1.0 - shared).max(0.0).sqrt() as f32;
                    out.push((-distance, mixture.number, mixture.tokens));
                }
                Ok(())
            },
            |found| {
                for item in found {
                    best.push(item, limit);
                }
                Ok(())
            },
            progress,
        )?;
        Ok(best.into_ranked(limit, |key| -key))
    }
}

fn document_not_found(corpus: &Corpus, name_or_number: &str) -> Error {
    let documents = corpus.shape().documents;
    let remedy = if corpus.has_names() {
        format!("pass a name or a number from 1 to {documents}")
    } else {
        format!("pass a number from 1 to {documents}, since the documents have no names")
    };
    Error::unusable_input(corpus.origin(), format!("contains no document {name_or_number:?}"), remedy)
}

/// Returns the number (from 0) of the document with this name, or else with this number (from 1).
pub fn find_document(corpus: &Corpus, name_or_number: &str) -> Result<u64> {
    if corpus.has_names() {
        let mut reader = corpus.reader();
        for i in 0..corpus.blocks() {
            let found = reader.read_names(i)?.iter().position(|name| name == name_or_number);
            if let Some(within) = found {
                return Ok(corpus.block_start(i) + within as u64);
            }
        }
    }
    let number = name_or_number.parse::<u64>().ok().filter(|n| (1..=corpus.shape().documents).contains(n));
    number.map(|n| n - 1).ok_or_else(|| document_not_found(corpus, name_or_number))
}

/// Returns the number of documents with this name.
pub fn count_documents_named(corpus: &Corpus, name: &str) -> Result<u64> {
    let mut count = 0;
    if corpus.has_names() {
        let mut reader = corpus.reader();
        for i in 0..corpus.blocks() {
            count += reader.read_names(i)?.iter().filter(|other| *other == name).count() as u64;
        }
    }
    Ok(count)
}

/// Name, labels and date of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentDetails {
    /// Name; empty if there is none.
    pub name: String,
    /// Values of every label column of the corpus.
    pub labels: Vec<Vec<String>>,
    /// Date as ISO 8601 text; empty if there is none.
    pub date: String,
}

/// Returns the names of the documents with these numbers (from 0). Names are empty if the corpus
/// has none.
pub fn document_names(corpus: &Corpus, numbers: &[u64]) -> Result<Vec<String>> {
    if !corpus.has_names() {
        return Ok(vec![String::new(); numbers.len()]);
    }
    read_documents(corpus, numbers, BlockReader::read_names, |names: &Vocabulary, d| {
        names.get(d as u32).unwrap_or_default().to_owned()
    })
}

/// Returns the names, labels and dates of the documents with these numbers (from 0).
pub fn document_details(corpus: &Corpus, numbers: &[u64]) -> Result<Vec<DocumentDetails>> {
    read_documents(
        corpus,
        numbers,
        |reader, i| Ok((reader.read_names(i)?, reader.read_labels(i)?, reader.read_dates(i)?)),
        |(names, labels, dates): &(Vocabulary, LabelTable, Vocabulary), d| {
            let text = |list: &Vocabulary| list.get(d as u32).unwrap_or_default().to_owned();
            let values = |column| labels.values(d, column).map(str::to_owned).collect();
            DocumentDetails {
                name: text(names),
                labels: (0..labels.columns()).map(values).collect(),
                date: text(dates),
            }
        },
    )
}

/// Reads something about each of these documents. `read` loads it for a block, and `get` returns
/// that of a document of the block. Every block is read once, whatever the order of the documents.
fn read_documents<'c, B, T: Clone + Default>(
    corpus: &'c Corpus,
    numbers: &[u64],
    read: impl Fn(&mut BlockReader<'c>, usize) -> Result<B>,
    get: impl Fn(&B, usize) -> T,
) -> Result<Vec<T>> {
    let mut found = vec![T::default(); numbers.len()];
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_unstable_by_key(|&at| numbers[at]);
    let (mut reader, mut loaded) = (corpus.reader(), None);
    for at in order {
        let Some(i) = corpus.block_of(numbers[at]) else { continue };
        if loaded.as_ref().is_none_or(|(block, _)| *block != i) {
            loaded = Some((i, read(&mut reader, i)?));
        }
        if let Some((_, block)) = &loaded {
            found[at] = get(block, (numbers[at] - corpus.block_start(i)) as usize);
        }
    }
    Ok(found)
}
