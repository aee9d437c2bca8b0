//! Selects the documents of a report in one pass over the corpus: the share of each topic, the
//! documents that are typical of a topic, an evenly spaced sample, and the mean proportions of
//! every label.
//!
//! Start reading at [`documents`] for inference and at [`TrainedDocuments`] for documents that come
//! from a training. This module must not know how the data is written.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::corpus::Corpus;
use crate::error::Result;
use crate::infer::{Mixture, Mixtures};
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
/// Maximum number of distinct labels. With more, labels are not shown.
const MAX_LABELS: usize = 200;
/// Number of candidates of a chunk of documents that are kept in addition to the best of every
/// topic.
const MAX_CANDIDATES: usize = 64;
/// Minimum number of tokens of a typical document, or the mean length of a document if that is
/// less.
const MIN_TOKENS: u64 = 20;

/// Number of documents per chunk while a training delivers them.
const DOCUMENTS_PER_CHUNK: u64 = 1024;

/// Bytes that the allocator adds to an allocation.
const ALLOCATION_OVERHEAD: usize = 16;

/// A document and its largest topics.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShownDocument {
    pub(super) number: u64,
    pub(super) topics: Vec<(u32, f32)>,
}

/// The labels of a corpus with the mean proportions of their documents.
#[derive(Debug, Clone)]
pub(super) struct LabelFindings {
    pub(super) names: Vec<String>,
    pub(super) documents: Vec<u64>,
    /// Mean proportions of the documents of each label, one row per label.
    pub(super) shares: Vec<Vec<f64>>,
    /// The label of every shown document, as an index into `names`.
    pub(super) of_shown: Vec<Option<u32>>,
}

/// The documents and shares that a report shows.
#[derive(Debug)]
pub(super) struct DocumentFindings {
    /// Share of each topic in all tokens.
    pub(super) prevalence: Vec<f64>,
    /// The shown documents in ascending order of their numbers.
    pub(super) shown: Vec<ShownDocument>,
    /// For each topic the indices in `shown` of its typical documents, the most typical first.
    pub(super) typical: Vec<Vec<u32>>,
    pub(super) labels: Option<LabelFindings>,
}

/// A document that may be typical of a topic.
#[derive(Debug, Clone)]
struct Candidate {
    /// Proportion of the topic in the document.
    proportion: f32,
    document: ShownDocument,
}

/// The findings of a chunk of documents.
#[derive(Debug, Default)]
struct ChunkFindings {
    /// Expected number of tokens of each topic.
    tokens: Vec<f64>,
    candidates: Vec<(usize, Candidate)>,
    sample: Vec<ShownDocument>,
    /// Sums of the proportions of each label that occurs in the chunk.
    labels: HashMap<u32, Vec<f64>>,
}

impl ChunkFindings {
    /// Adds a candidate of a topic. If there are very many, only the best `per_topic` of every
    /// topic are kept: in a corpus of short documents all of them would be candidates at first.
    fn add(&mut self, topic: usize, candidate: Candidate, per_topic: usize) {
        self.candidates.push((topic, candidate));
        if self.candidates.len() >= 2 * per_topic * self.tokens.len() + MAX_CANDIDATES {
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

/// Returns the largest topics of a document, largest first.
fn largest_topics(proportions: &[f32]) -> Vec<(u32, f32)> {
    let mut topics: Vec<(u32, f32)> =
        (0..).zip(proportions).filter(|&(_, &p)| p >= MIN_SHARE).map(|(k, &p)| (k, p)).collect();
    topics.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    topics.truncate(TOPICS_PER_DOCUMENT);
    topics
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

/// Returns all labels in byte order with the number of their documents, or `None` if there are none
/// or more than [`MAX_LABELS`].
fn count_labels(corpus: &Corpus) -> Result<Option<Vec<(String, u64)>>> {
    if !corpus.has_labels() {
        return Ok(None);
    }
    let mut counts: HashMap<String, u64> = HashMap::new();
    let mut reader = corpus.reader();
    for i in 0..corpus.blocks() {
        for label in reader.read_labels(i)?.iter().filter(|label| !label.is_empty()) {
            if let Some(count) = counts.get_mut(label) {
                *count += 1;
            } else if counts.len() == MAX_LABELS {
                return Ok(None);
            } else {
                counts.insert(label.to_owned(), 1);
            }
        }
    }
    let mut labels: Vec<(String, u64)> = counts.into_iter().collect();
    labels.sort_unstable();
    Ok((!labels.is_empty()).then_some(labels))
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
    /// Labels in byte order with the number of their documents.
    labels: Option<Vec<(String, u64)>>,
    /// Proportion of each topic that a candidate must exceed, as bits of an f32. Threads may use
    /// outdated values, which only let more candidates through.
    thresholds: Vec<AtomicU32>,
}

impl Criteria {
    fn new(corpus: &Corpus, topics: usize) -> Result<Criteria> {
        let count = corpus.shape().documents;
        let per_topic = typical_documents(topics as u32) as usize;
        Ok(Criteria {
            topics,
            count,
            per_topic,
            sample: TARGET_DOCUMENTS.saturating_sub(per_topic * topics).max(MIN_SAMPLE) as u64,
            min_tokens: MIN_TOKENS.min(corpus.shape().tokens / count.max(1)).max(1),
            labels: count_labels(corpus)?,
            thresholds: (0..topics).map(|_| AtomicU32::new(0)).collect(),
        })
    }

    /// Returns whether a document belongs to the evenly spaced sample.
    fn is_sampled(&self, number: u64) -> bool {
        let (count, sample) = (self.count, self.sample);
        count <= sample || (number + 1) * sample / count > number * sample / count
    }

    /// Returns the index of a label.
    fn label(&self, name: &str) -> Option<u32> {
        let labels = self.labels.as_ref()?;
        labels.binary_search_by(|(other, _)| other.as_str().cmp(name)).ok().map(|at| at as u32)
    }

    /// Adds a document to the findings of its chunk.
    fn add_document(&self, mixture: &Mixture<'_>, chunk: &mut ChunkFindings) {
        chunk.tokens.resize(self.topics, 0.0);
        for (sum, &p) in chunk.tokens.iter_mut().zip(mixture.proportions) {
            *sum += f64::from(p) * mixture.tokens as f64;
        }
        let mut largest = None;
        let mut largest = || largest.get_or_insert_with(|| largest_topics(mixture.proportions)).clone();
        let number = mixture.number;
        if mixture.tokens >= self.min_tokens {
            for (k, &p) in mixture.proportions.iter().enumerate() {
                if p >= MIN_SHARE && p > f32::from_bits(self.thresholds[k].load(Ordering::Relaxed)) {
                    let document = ShownDocument { number, topics: largest() };
                    chunk.add(k, Candidate { proportion: p, document }, self.per_topic);
                }
            }
        }
        if self.is_sampled(number) {
            chunk.sample.push(ShownDocument { number, topics: largest() });
        }
        if let Some(label) = self.label(mixture.label) {
            let sums = chunk.labels.entry(label).or_insert_with(|| vec![0.0; self.topics]);
            sums.iter_mut().zip(mixture.proportions).for_each(|(sum, &p)| *sum += f64::from(p));
        }
    }
}

/// The findings of all chunks so far.
#[derive(Debug)]
struct DocumentSums {
    /// Expected number of tokens of each topic.
    tokens: Vec<f64>,
    /// Candidates of each topic, more than are shown.
    best: Vec<Vec<Candidate>>,
    shown: Vec<ShownDocument>,
    /// Sums of the proportions of the documents of each label.
    label_sums: Vec<Vec<f64>>,
}

impl DocumentSums {
    fn new(criteria: &Criteria) -> DocumentSums {
        let labels = criteria.labels.as_ref().map_or(0, Vec::len);
        DocumentSums {
            tokens: vec![0.0; criteria.topics],
            best: vec![Vec::new(); criteria.topics],
            shown: Vec::new(),
            label_sums: vec![vec![0.0; criteria.topics]; labels],
        }
    }

    /// Adds the findings of a chunk and raises the thresholds for later candidates.
    fn add(&mut self, chunk: ChunkFindings, criteria: &Criteria) {
        let per_topic = criteria.per_topic;
        self.tokens.iter_mut().zip(&chunk.tokens).for_each(|(sum, n)| *sum += n);
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
        let DocumentSums { tokens, mut best, mut shown, label_sums } = self;
        for list in &mut best {
            keep_best(list, criteria.per_topic);
        }
        shown.extend(best.iter().flatten().map(|candidate| candidate.document.clone()));
        shown.sort_by_key(|document| document.number);
        shown.dedup_by_key(|document| document.number);
        let place = |number: u64| shown.partition_point(|document| document.number < number) as u32;
        let typical =
            best.iter().map(|list| list.iter().map(|c| place(c.document.number)).collect()).collect();
        let total: f64 = tokens.iter().sum();
        let even = 1.0 / tokens.len() as f64;
        let prevalence = tokens.iter().map(|n| if total > 0.0 { n / total } else { even }).collect();
        let labels = match &criteria.labels {
            None => None,
            Some(named) => {
                let numbers: Vec<u64> = shown.iter().map(|document| document.number).collect();
                let shown_labels = crate::infer::document_labels(corpus, &numbers)?;
                let mean = |(sums, (_, count)): (Vec<f64>, &(String, u64))| {
                    sums.into_iter().map(|sum| sum / *count as f64).collect()
                };
                Some(LabelFindings {
                    names: named.iter().map(|(name, _)| name.clone()).collect(),
                    documents: named.iter().map(|(_, count)| *count).collect(),
                    shares: label_sums.into_iter().zip(named).map(mean).collect(),
                    of_shown: shown_labels.iter().map(|label| criteria.label(label)).collect(),
                })
            }
        };
        Ok(DocumentFindings { prevalence, shown, typical, labels })
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

/// Bytes of a candidate: the entry itself, its topics and the overhead of the allocator.
const CANDIDATE_BYTES: u64 = (size_of::<(usize, Candidate)>()
    + TOPICS_PER_DOCUMENT * size_of::<(u32, f32)>()
    + ALLOCATION_OVERHEAD) as u64;

/// Returns the number of typical documents of a topic.
fn typical_documents(topics: u32) -> u64 {
    (TARGET_DOCUMENTS as u64 / u64::from(topics).max(1)).clamp(2, MAX_TYPICAL as u64)
}

/// Returns the memory in bytes of the findings of all chunks that are in memory at the same time
/// during inference.
pub(super) fn chunk_buffer_bytes(corpus: &Corpus, topics: u32) -> u64 {
    let (chunks, per_chunk) = crate::infer::chunk_limits(topics);
    let documents = corpus.shape().documents;
    let candidates = 2 * typical_documents(topics) * u64::from(topics) + MAX_CANDIDATES as u64;
    // Most documents are candidates of at most two topics.
    let chunk = CANDIDATE_BYTES * candidates.min(2 * per_chunk) + 8 * u64::from(topics);
    chunk.saturating_mul(chunks.min(documents.div_ceil(per_chunk)))
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
        let labels = if corpus.has_labels() { 2 * MAX_LABELS as u64 * topics * 8 } else { 0 };
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
