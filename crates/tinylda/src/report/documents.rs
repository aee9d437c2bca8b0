//! Selects the documents of a report in one pass over the corpus: the documents that are typical of
//! a topic, an evenly spaced sample, and the mean proportions of every label.
//!
//! Start reading at [`documents`] for inference and at [`TrainedDocuments`] for documents that come
//! from a training. This module must not know how the data is written.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::corpus::{Corpus, MAX_CHUNKS};
use crate::error::Result;
use crate::infer::{DocumentDetails, Mixture, Mixtures};
use crate::progress::ProgressCallback;

/// Maximum number of typical documents of a topic.
const MAX_TYPICAL: usize = 5;
/// Approximate number of documents of a report.
const TARGET_DOCUMENTS: usize = 1000;
/// Minimum size of the evenly spaced sample.
const MIN_SAMPLE: usize = 250;
/// Maximum number of topics that are shown of a document.
const TOPICS_PER_DOCUMENT: usize = 6;
/// Smallest proportion of a topic that is shown of a document.
const MIN_SHARE: f32 = 0.02;
/// Maximum number of distinct labels of a column. A column with more labels is not shown.
const MAX_LABELS: usize = 200;
/// Number of candidates of a chunk of documents that are kept in addition to the best of every
/// topic.
const MAX_CANDIDATES: usize = 64;
/// Minimum number of tokens of a typical document, or the mean length of a document if that is
/// less.
const MIN_TOKENS: u64 = 20;

/// Number of documents per chunk while a training delivers them.
const DOCUMENTS_PER_CHUNK: u64 = 1024;

/// A document and its largest topics.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ShownDocument {
    pub(super) number: u64,
    pub(super) topics: LargestTopics,
}

/// The largest topics of a document with their proportions, largest first.
///
/// They are not on the heap: many small allocations of documents that are kept for long, among
/// those of documents that are not, would leave memory that cannot be reused.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LargestTopics {
    length: u8,
    entries: [(u32, f32); TOPICS_PER_DOCUMENT],
}

impl LargestTopics {
    fn new(proportions: &[f32]) -> LargestTopics {
        let mut topics = LargestTopics { length: 0, entries: [(0, 0.0); TOPICS_PER_DOCUMENT] };
        for (k, &p) in (0..).zip(proportions).filter(|&(_, &p)| p >= MIN_SHARE) {
            // Among equals, the topic with the lower number comes first.
            let at = topics.as_slice().partition_point(|&(_, other)| other >= p);
            if at < TOPICS_PER_DOCUMENT {
                topics.length = topics.length.saturating_add(1).min(TOPICS_PER_DOCUMENT as u8);
                topics.entries[at..].rotate_right(1);
                topics.entries[at] = (k, p);
            }
        }
        topics
    }

    pub(super) fn as_slice(&self) -> &[(u32, f32)] {
        &self.entries[..usize::from(self.length)]
    }
}

/// A label of a column and the number of its documents.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CountedLabel {
    /// Number of the label column, from 0.
    pub(super) column: usize,
    pub(super) name: String,
    pub(super) documents: u64,
}

/// A label column that a report does not show, because it has too many distinct labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OmittedLabels {
    /// Name of the label column.
    pub column: String,
    /// Largest number of distinct labels that a report shows.
    pub limit: usize,
}

/// The labels of a corpus with the mean proportions of their documents.
#[derive(Debug, Clone)]
pub(super) struct LabelFindings {
    pub(super) labels: Vec<CountedLabel>,
    /// Mean proportions of the documents of each label, one row per label.
    pub(super) shares: Vec<Vec<f64>>,
    /// The labels of every shown document, as indices into `labels`.
    pub(super) of_shown: Vec<Vec<u32>>,
}

/// The documents and shares that a report shows.
#[derive(Debug)]
pub(super) struct DocumentFindings {
    /// The shown documents in ascending order of their numbers.
    pub(super) shown: Vec<ShownDocument>,
    /// For each topic the indices in `shown` of its typical documents, the most typical first.
    pub(super) typical: Vec<Vec<u32>>,
    pub(super) labels: Option<LabelFindings>,
    /// Label columns that are not shown.
    pub(super) omitted_labels: Vec<OmittedLabels>,
}

/// A document that may be typical of a topic.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    /// Proportion of the topic in the document.
    proportion: f32,
    document: ShownDocument,
}

/// The findings of a chunk of documents.
#[derive(Debug, Default)]
struct ChunkFindings {
    candidates: Vec<(usize, Candidate)>,
    sample: Vec<ShownDocument>,
    /// Sums of the proportions of each label that occurs in the chunk.
    labels: HashMap<u32, Vec<f64>>,
}

impl ChunkFindings {
    /// Adds a candidate of a topic. If there are very many, only the best of every topic are kept:
    /// in a corpus of short documents all of them would be candidates at first.
    fn add(&mut self, topic: usize, candidate: Candidate, criteria: &Criteria) {
        let per_topic = criteria.per_topic;
        self.candidates.push((topic, candidate));
        if self.candidates.len() >= 2 * per_topic * criteria.topics + MAX_CANDIDATES {
            self.candidates.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| best_first(&a.1, &b.1)));
            let (mut of, mut count) = (usize::MAX, 0);
            self.candidates.retain(|&(topic, _)| {
                count = if topic == of { count + 1 } else { 1 };
                of = topic;
                count <= per_topic
            });
        }
    }
}

/// Orders candidates by descending proportion, ties by document number.
fn best_first(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    b.proportion.total_cmp(&a.proportion).then(a.document.number.cmp(&b.document.number))
}

/// Sorts a list, best first, and truncates it.
fn keep_best(list: &mut Vec<Candidate>, count: usize) {
    list.sort_by(best_first);
    list.truncate(count);
}

/// Counts the documents of every label. Returns the labels in the order of their columns and in
/// byte order, and the columns with more than [`MAX_LABELS`] labels, which are omitted.
fn count_labels(corpus: &Corpus) -> Result<(Vec<CountedLabel>, Vec<OmittedLabels>)> {
    let names = corpus.label_columns();
    let mut columns: Vec<Option<HashMap<String, u64>>> = vec![Some(HashMap::new()); names.len()];
    let mut reader = corpus.reader();
    for i in 0..corpus.blocks() {
        if columns.iter().all(Option::is_none) {
            break;
        }
        let labels = reader.read_labels(i)?;
        for (column, counted) in columns.iter_mut().enumerate() {
            for label in (0..labels.documents()).flat_map(|d| labels.values(d, column)) {
                let Some(counts) = counted else { break };
                if let Some(count) = counts.get_mut(label) {
                    *count += 1;
                } else if counts.len() == MAX_LABELS {
                    *counted = None;
                } else {
                    counts.insert(label.to_owned(), 1);
                }
            }
        }
    }
    let (mut labels, mut omitted) = (Vec::new(), Vec::new());
    for (column, counted) in columns.into_iter().enumerate() {
        match counted {
            Some(counts) => labels.extend(counts.into_iter().map(|(name, documents)| CountedLabel {
                column,
                name,
                documents,
            })),
            None => omitted.push(OmittedLabels { column: names[column].clone(), limit: MAX_LABELS }),
        }
    }
    labels.sort_unstable();
    Ok((labels, omitted))
}

/// The criteria for the selection of documents.
#[derive(Debug)]
struct Criteria {
    topics: usize,
    /// Number of documents of the corpus.
    count: u64,
    /// Number of typical documents of each topic.
    per_topic: usize,
    /// Approximate number of documents of the evenly spaced sample.
    sample: u64,
    min_tokens: u64,
    /// Labels in the order of their columns and in byte order.
    labels: Vec<CountedLabel>,
    omitted_labels: Vec<OmittedLabels>,
    /// Proportion of each topic that a candidate must exceed, as bits of an f32. Threads may use
    /// outdated values, which only let more candidates through.
    thresholds: Vec<AtomicU32>,
}

impl Criteria {
    fn new(corpus: &Corpus, topics: usize) -> Result<Criteria> {
        let count = corpus.shape().documents;
        let per_topic = typical_documents(topics as u32) as usize;
        let (labels, omitted_labels) = count_labels(corpus)?;
        Ok(Criteria {
            topics,
            count,
            per_topic,
            sample: TARGET_DOCUMENTS.saturating_sub(per_topic * topics).max(MIN_SAMPLE) as u64,
            min_tokens: MIN_TOKENS.min(corpus.shape().tokens / count.max(1)).max(1),
            labels,
            omitted_labels,
            thresholds: (0..topics).map(|_| AtomicU32::new(0)).collect(),
        })
    }

    /// Returns whether a document belongs to the evenly spaced sample.
    fn is_sampled(&self, number: u64) -> bool {
        let (count, sample) = (self.count, self.sample);
        count <= sample || (number + 1) * sample / count > number * sample / count
    }

    /// Returns the index of a label.
    fn label(&self, column: usize, name: &str) -> Option<u32> {
        let order = |label: &CountedLabel| (label.column, label.name.as_str()).cmp(&(column, name));
        self.labels.binary_search_by(order).ok().map(|at| at as u32)
    }

    /// Adds a document to the findings of its chunk.
    fn add_document(&self, mixture: &Mixture<'_>, chunk: &mut ChunkFindings) {
        let mut largest = None;
        let mut largest = || *largest.get_or_insert_with(|| LargestTopics::new(mixture.proportions));
        let number = mixture.number;
        if mixture.tokens >= self.min_tokens {
            for (k, &p) in mixture.proportions.iter().enumerate() {
                if p >= MIN_SHARE && p > f32::from_bits(self.thresholds[k].load(Ordering::Relaxed)) {
                    let document = ShownDocument { number, topics: largest() };
                    chunk.add(k, Candidate { proportion: p, document }, self);
                }
            }
        }
        if self.is_sampled(number) {
            chunk.sample.push(ShownDocument { number, topics: largest() });
        }
        for (column, values) in mixture.labels.iter().enumerate() {
            for label in values.iter().filter_map(|value| self.label(column, value)) {
                let sums = chunk.labels.entry(label).or_insert_with(|| vec![0.0; self.topics]);
                sums.iter_mut().zip(mixture.proportions).for_each(|(sum, &p)| *sum += f64::from(p));
            }
        }
    }
}

/// The findings of all chunks so far.
#[derive(Debug)]
struct DocumentSums {
    /// Candidates of each topic, more than are shown.
    best: Vec<Vec<Candidate>>,
    shown: Vec<ShownDocument>,
    /// Sums of the proportions of the documents of each label.
    label_sums: Vec<Vec<f64>>,
}

impl DocumentSums {
    fn new(criteria: &Criteria) -> DocumentSums {
        let labels = criteria.labels.len();
        DocumentSums {
            best: vec![Vec::new(); criteria.topics],
            shown: Vec::new(),
            label_sums: vec![vec![0.0; criteria.topics]; labels],
        }
    }

    /// Adds the findings of a chunk and raises the thresholds for later candidates.
    fn add(&mut self, chunk: ChunkFindings, criteria: &Criteria) {
        let per_topic = criteria.per_topic;
        for (k, candidate) in chunk.candidates {
            let best = &mut self.best[k];
            best.push(candidate);
            if best.len() >= 2 * per_topic + 16 {
                keep_best(best, per_topic);
                criteria.thresholds[k].store(best[per_topic - 1].proportion.to_bits(), Ordering::Relaxed);
            }
        }
        self.shown.extend(chunk.sample);
        for (label, sums) in chunk.labels {
            self.label_sums[label as usize].iter_mut().zip(sums).for_each(|(mean, sum)| *mean += sum);
        }
    }

    /// Selects the shown documents and computes the means.
    fn finish(self, corpus: &Corpus, criteria: &Criteria) -> Result<DocumentFindings> {
        let DocumentSums { mut best, mut shown, label_sums } = self;
        for list in &mut best {
            keep_best(list, criteria.per_topic);
        }
        shown.extend(best.iter().flatten().map(|candidate| candidate.document));
        shown.sort_by_key(|document| document.number);
        shown.dedup_by_key(|document| document.number);
        let place = |number: u64| shown.partition_point(|document| document.number < number) as u32;
        let typical =
            best.iter().map(|list| list.iter().map(|c| place(c.document.number)).collect()).collect();
        let mut labels = None;
        if !criteria.labels.is_empty() {
            let numbers: Vec<u64> = shown.iter().map(|document| document.number).collect();
            let details = crate::infer::document_details(corpus, &numbers)?;
            let of_document = |details: &DocumentDetails| {
                let columns = details.labels.iter().enumerate();
                let all = columns.flat_map(|(column, values)| values.iter().map(move |v| (column, v)));
                all.filter_map(|(column, value)| criteria.label(column, value)).collect()
            };
            let mean = |(sums, label): (Vec<f64>, &CountedLabel)| {
                sums.into_iter().map(|sum| sum / label.documents as f64).collect()
            };
            labels = Some(LabelFindings {
                labels: criteria.labels.clone(),
                shares: label_sums.into_iter().zip(&criteria.labels).map(mean).collect(),
                of_shown: details.iter().map(of_document).collect(),
            });
        }
        let omitted_labels = criteria.omitted_labels.clone();
        Ok(DocumentFindings { shown, typical, labels, omitted_labels })
    }
}

/// Infers the topics of all documents and selects those that the report shows.
pub(super) fn documents(mixtures: &Mixtures<'_>, progress: ProgressCallback<'_>) -> Result<DocumentFindings> {
    let corpus = mixtures.corpus();
    let criteria = Criteria::new(corpus, mixtures.model().topics() as usize)?;
    let mut found = DocumentSums::new(&criteria);
    mixtures.for_each(
        |mixture, chunk: &mut ChunkFindings| {
            criteria.add_document(mixture, chunk);
            Ok(())
        },
        |chunk| {
            found.add(chunk, &criteria);
            Ok(())
        },
        progress,
    )?;
    found.finish(corpus, &criteria)
}

/// Bytes of a candidate.
const CANDIDATE_BYTES: u64 = size_of::<(usize, Candidate)>() as u64;

/// Returns the number of typical documents of a topic.
fn typical_documents(topics: u32) -> u64 {
    (TARGET_DOCUMENTS as u64 / u64::from(topics).max(1)).clamp(2, MAX_TYPICAL as u64)
}

/// Returns the memory in bytes of the findings of all chunks that are in memory at the same time
/// during inference.
pub(super) fn chunk_buffer_bytes(corpus: &Corpus, topics: u32) -> u64 {
    let (max_chunks, per_chunk) = crate::infer::chunk_limits(topics);
    // The chunks in memory belong to one block, which is divided for the threads before.
    let documents = corpus.largest_block_documents();
    let chunks = max_chunks.min(documents.div_ceil(per_chunk) + MAX_CHUNKS);
    let per_topic = 2 * typical_documents(topics) * u64::from(topics) + MAX_CANDIDATES as u64;
    // Most documents are candidates of at most two topics.
    let candidates =
        per_topic.saturating_mul(chunks).min(2 * documents.min(chunks.saturating_mul(per_chunk)));
    // A growing list doubles its capacity.
    (2 * CANDIDATE_BYTES).saturating_mul(candidates).saturating_add(8 * u64::from(topics) * chunks)
}

/// Collects the documents of a report while a training delivers them
/// ([`PlannedTraining::train_to_with_documents`](crate::PlannedTraining::train_to_with_documents)).
#[derive(Debug)]
pub struct TrainedDocuments<'a> {
    corpus: &'a Corpus,
    criteria: Criteria,
    found: DocumentSums,
    /// Findings of the documents since the end of the last chunk.
    chunk: ChunkFindings,
    /// Number of documents so far.
    seen: u64,
}

impl<'a> TrainedDocuments<'a> {
    /// Prepares for the documents of a corpus. `topics` is the number of topics.
    pub fn new(corpus: &'a Corpus, topics: u32) -> Result<TrainedDocuments<'a>> {
        let criteria = Criteria::new(corpus, topics as usize)?;
        let found = DocumentSums::new(&criteria);
        Ok(TrainedDocuments { corpus, criteria, found, chunk: ChunkFindings::default(), seen: 0 })
    }

    /// Returns an upper bound of the bytes of memory that a [`TrainedDocuments`] takes.
    pub fn memory_bytes(corpus: &Corpus, topics: u32) -> u64 {
        let (documents, topics) = (corpus.shape().documents, u64::from(topics));
        let per_topic = typical_documents(topics as u32);
        let topic_candidates =
            topics.saturating_mul(4 * per_topic + 16).saturating_add(MAX_CANDIDATES as u64);
        let document_candidates = documents.saturating_mul((1.0 / MIN_SHARE) as u64);
        // A growing list doubles its capacity.
        let candidates = 2 * CANDIDATE_BYTES * topic_candidates.min(document_candidates);
        let labels = corpus.label_columns().len() as u64 * 2 * MAX_LABELS as u64 * topics * 8;
        let sample = (2 * TARGET_DOCUMENTS as u64).min(documents) * CANDIDATE_BYTES;
        candidates + labels + sample + topics * 64
    }

    /// Adds a document.
    pub fn add(&mut self, mixture: &Mixture<'_>) {
        self.criteria.add_document(mixture, &mut self.chunk);
        self.seen += 1;
        if self.seen.is_multiple_of(DOCUMENTS_PER_CHUNK) {
            self.found.add(std::mem::take(&mut self.chunk), &self.criteria);
        }
    }

    /// Returns true if no document was added.
    pub fn is_empty(&self) -> bool {
        self.seen == 0
    }

    /// Returns the findings.
    pub(super) fn finish(mut self) -> Result<DocumentFindings> {
        self.found.add(self.chunk, &self.criteria);
        self.found.finish(self.corpus, &self.criteria)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_topics_are_sorted() {
        let topics = LargestTopics::new(&[0.1, 0.01, 0.3, 0.1, 0.05, 0.1, 0.06, 0.04, 0.2]);
        assert_eq!(topics.as_slice(), [(2, 0.3), (8, 0.2), (0, 0.1), (3, 0.1), (5, 0.1), (6, 0.06)]);
        assert_eq!(LargestTopics::new(&[0.01, 0.5]).as_slice(), [(1, 0.5)]);
        assert!(LargestTopics::new(&[0.01]).as_slice().is_empty());
    }
}
