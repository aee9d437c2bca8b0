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

/// A candidate of a chunk. A chunk stores its documents only once, since most of them are
/// candidates of several topics.
#[derive(Debug, Clone, Copy)]
struct ChunkCandidate {
    topic: u32,
    /// Proportion of the topic in the document.
    proportion: f32,
    /// Index in the documents of the chunk.
    document: u32,
}

/// The findings of a chunk of documents.
#[derive(Debug, Default)]
struct ChunkFindings {
    candidates: Vec<ChunkCandidate>,
    /// The documents of the candidates in ascending order of their numbers.
    documents: Vec<ShownDocument>,
    sample: Vec<ShownDocument>,
    /// Sums of the proportions of each label that occurs in the chunk.
    labels: HashMap<u32, Vec<f64>>,
}

impl ChunkFindings {
    /// Adds a document as a candidate of a topic. The candidates of a document come one after the
    /// other. If there are very many, only the best of every topic are kept: in a corpus of short
    /// documents all of them would be candidates at first.
    fn add(&mut self, topic: usize, proportion: f32, document: ShownDocument, criteria: &Criteria) {
        if self.candidates.len() >= max_candidates(criteria.per_topic, criteria.topics) {
            self.keep_best(criteria.per_topic);
        }
        if self.documents.last().is_none_or(|last| last.number != document.number) {
            self.documents.push(document);
        }
        let index = self.documents.len() as u32 - 1;
        self.candidates.push(ChunkCandidate { topic: topic as u32, proportion, document: index });
    }

    /// Keeps the `per_topic` best candidates of every topic and their documents, in lists without
    /// spare capacity.
    fn keep_best(&mut self, per_topic: usize) {
        // The documents are in order, so that ties are resolved by document number.
        self.candidates.sort_unstable_by(|a, b| {
            let by_proportion = b.proportion.total_cmp(&a.proportion);
            a.topic.cmp(&b.topic).then(by_proportion).then(a.document.cmp(&b.document))
        });
        let (mut of, mut count) = (u32::MAX, 0);
        self.candidates.retain(|candidate| {
            count = if candidate.topic == of { count + 1 } else { 1 };
            of = candidate.topic;
            count <= per_topic
        });
        self.candidates.shrink_to_fit();
        let mut indices = vec![u32::MAX; self.documents.len()];
        for candidate in &self.candidates {
            indices[candidate.document as usize] = 0;
        }
        for (index, used) in indices.iter_mut().filter(|index| **index == 0).zip(0..) {
            *index = used;
        }
        for candidate in &mut self.candidates {
            candidate.document = indices[candidate.document as usize];
        }
        let mut index = indices.iter();
        self.documents.retain(|_| index.next().is_some_and(|&index| index != u32::MAX));
        self.documents.shrink_to_fit();
    }
}

/// Returns the number of candidates of a chunk at which those that are not among the best are
/// removed.
fn max_candidates(per_topic: usize, topics: usize) -> usize {
    (2 * per_topic).saturating_mul(topics).saturating_add(MAX_CANDIDATES)
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

/// The labels of a corpus.
#[derive(Debug, Default)]
struct LabelCounts {
    /// The labels in the order of their columns and in byte order.
    labels: Vec<CountedLabel>,
    /// Columns with more than [`MAX_LABELS`] labels.
    omitted: Vec<OmittedLabels>,
    /// Largest number of values of a block, those of omitted columns not all included.
    most_values: u64,
}

/// Counts the documents of every label. Columns with more than [`MAX_LABELS`] labels are omitted.
fn count_labels(corpus: &Corpus) -> Result<LabelCounts> {
    let names = corpus.label_columns();
    let mut columns: Vec<Option<HashMap<String, u64>>> = vec![Some(HashMap::new()); names.len()];
    let mut reader = corpus.reader();
    let mut found = LabelCounts::default();
    for i in 0..corpus.blocks() {
        if columns.iter().all(Option::is_none) {
            break;
        }
        let labels = reader.read_labels(i)?;
        let mut values = 0;
        for (column, counted) in columns.iter_mut().enumerate() {
            for label in (0..labels.documents()).flat_map(|d| labels.values(d, column)) {
                let Some(counts) = counted else { break };
                values += 1;
                if let Some(count) = counts.get_mut(label) {
                    *count += 1;
                } else if counts.len() == MAX_LABELS {
                    *counted = None;
                } else {
                    counts.insert(label.to_owned(), 1);
                }
            }
        }
        found.most_values = found.most_values.max(values);
    }
    for (column, counted) in columns.into_iter().enumerate() {
        match counted {
            Some(counts) => found.labels.extend(counts.into_iter().map(|(name, documents)| CountedLabel {
                column,
                name,
                documents,
            })),
            None => {
                found.omitted.push(OmittedLabels { column: names[column].clone(), limit: MAX_LABELS });
            }
        }
    }
    found.labels.sort_unstable();
    Ok(found)
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
        let LabelCounts { labels, omitted: omitted_labels, .. } = count_labels(corpus)?;
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
                    chunk.add(k, p, ShownDocument { number, topics: largest() }, self);
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
        for candidate in chunk.candidates {
            let k = candidate.topic as usize;
            let best = &mut self.best[k];
            let document = chunk.documents[candidate.document as usize];
            best.push(Candidate { proportion: candidate.proportion, document });
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
    mixtures.for_each_with(
        |mixture, chunk: &mut ChunkFindings| {
            criteria.add_document(mixture, chunk);
            Ok(())
        },
        |chunk| chunk.keep_best(criteria.per_topic),
        |chunk| {
            found.add(chunk, &criteria);
            Ok(())
        },
        progress,
    )?;
    found.finish(corpus, &criteria)
}

/// Bytes of a candidate.
const CANDIDATE_BYTES: u64 = size_of::<Candidate>() as u64;
/// Bytes of a candidate of a chunk, without its document.
const CHUNK_CANDIDATE_BYTES: u64 = size_of::<ChunkCandidate>() as u64;
/// Bytes of a document of a chunk.
const DOCUMENT_BYTES: u64 = size_of::<ShownDocument>() as u64;
/// Maximum number of topics of which a document is a candidate.
const TOPICS_PER_CANDIDATE: u64 = (1.0 / MIN_SHARE) as u64;
/// Bytes of a label of a chunk apart from its sums: the entry of a hash table that is half full,
/// and the overhead of an allocation.
const LABEL_BYTES: u64 = 96;

/// Returns the number of typical documents of a topic.
fn typical_documents(topics: u32) -> u64 {
    (TARGET_DOCUMENTS as u64 / u64::from(topics).max(1)).clamp(2, MAX_TYPICAL as u64)
}

/// Returns the memory in bytes of the findings of all chunks that are in memory at the same time
/// during inference on `threads` threads.
pub(super) fn chunk_buffer_bytes(corpus: &Corpus, topics: u32, threads: u64) -> Result<u64> {
    let (max_chunks, per_chunk) = crate::infer::chunk_limits(topics);
    let (topics, per_topic) = (u64::from(topics), typical_documents(topics));
    // The chunks in memory belong to one block, which is divided for the threads before.
    let block = corpus.largest_block_documents();
    let chunks = max_chunks.min(block.div_ceil(per_chunk) + MAX_CHUNKS);
    let documents = block.min(chunks.saturating_mul(per_chunk));
    let of_documents = documents.saturating_mul(topics.min(TOPICS_PER_CANDIDATE));
    let candidates = per_topic.saturating_mul(topics).saturating_mul(chunks).min(of_documents);
    let counted = count_labels(corpus)?;
    let labels = (counted.labels.len() as u64).saturating_mul(chunks).min(counted.most_values);
    let parts = [
        CHUNK_CANDIDATE_BYTES.saturating_mul(candidates),
        DOCUMENT_BYTES.saturating_mul(candidates.min(documents)),
        labels.saturating_mul(LABEL_BYTES.saturating_add(8 * topics)),
        size_of::<ChunkFindings>() as u64 * chunks,
        growing_chunk_bytes(topics, per_topic, per_chunk).saturating_mul(threads),
    ];
    Ok(parts.into_iter().fold(0, u64::saturating_add))
}

/// Returns the maximum memory in bytes of a chunk of `documents` documents while documents are
/// added to it.
fn growing_chunk_bytes(topics: u64, per_topic: u64, documents: u64) -> u64 {
    let candidates = max_candidates(per_topic as usize, topics as usize) as u64;
    let candidates = candidates.min(documents.saturating_mul(TOPICS_PER_CANDIDATE));
    // A growing list doubles its capacity.
    2 * (CHUNK_CANDIDATE_BYTES * candidates + DOCUMENT_BYTES * candidates.min(documents))
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
        let topic_candidates = topics.saturating_mul(2 * per_topic + 16);
        let document_candidates = documents.saturating_mul(TOPICS_PER_CANDIDATE);
        // A growing list doubles its capacity.
        let best = 2 * CANDIDATE_BYTES * topic_candidates.min(document_candidates);
        let chunk = growing_chunk_bytes(topics, per_topic, documents.min(DOCUMENTS_PER_CHUNK));
        let labels = corpus.label_columns().len() as u64 * 2 * MAX_LABELS as u64 * topics * 8;
        let sample = (2 * TARGET_DOCUMENTS as u64).min(documents) * CANDIDATE_BYTES;
        // The names and labels of a block are read while those of the last one are in memory.
        let details = corpus.largest_details_bytes(2);
        best + chunk + labels + sample + details + topics * 64
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
    fn chunks_keep_the_best_candidates_and_their_documents() {
        let criteria = Criteria {
            topics: 2,
            count: 0,
            per_topic: 2,
            sample: 0,
            min_tokens: 1,
            labels: Vec::new(),
            omitted_labels: Vec::new(),
            thresholds: Vec::new(),
        };
        let document = |number: u64| ShownDocument { number, topics: LargestTopics::new(&[]) };
        let mut chunk = ChunkFindings::default();
        // The best documents of topic 0 are 998 and 999, those of topic 1 are 0 and 1.
        for number in 0..1000 {
            let p = (number / 2) as f32 / 1000.0;
            chunk.add(0, p, document(number), &criteria);
            chunk.add(1, 1.0 - p, document(number), &criteria);
            assert!(chunk.candidates.len() <= max_candidates(2, 2) && chunk.documents.len() <= 72);
        }
        chunk.keep_best(2);
        let found: Vec<(u32, u64)> =
            chunk.candidates.iter().map(|c| (c.topic, chunk.documents[c.document as usize].number)).collect();
        assert_eq!(found, [(0, 998), (0, 999), (1, 0), (1, 1)]);
        assert_eq!(chunk.documents.len(), 4);
    }

    #[test]
    fn largest_topics_are_sorted() {
        let topics = LargestTopics::new(&[0.1, 0.01, 0.3, 0.1, 0.05, 0.1, 0.06, 0.04, 0.2]);
        assert_eq!(topics.as_slice(), [(2, 0.3), (8, 0.2), (0, 0.1), (3, 0.1), (5, 0.1), (6, 0.06)]);
        assert_eq!(LargestTopics::new(&[0.01, 0.5]).as_slice(), [(1, 0.5)]);
        assert!(LargestTopics::new(&[0.01]).as_slice().is_empty());
    }
}
