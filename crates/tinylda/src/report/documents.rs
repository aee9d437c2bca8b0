//! What a report shows of documents, in one pass over the corpus: how much of it each topic has, the documents that show a topic best,
//! an even sample of all, and the mean topics of every label.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::corpus::Corpus;
use crate::error::Result;
use crate::infer::{Mixture, Mixtures};
use crate::progress::ProgressCallback;

/// The most typical documents of a topic, and all documents of a report, about.
const TYPICAL: usize = 5;
const DOCUMENTS: usize = 1000;
/// The least of the even sample.
const SAMPLE: usize = 250;
/// Topics that are shown of a document, and the least share of one.
const TOPICS: usize = 6;
const LEAST_SHARE: f32 = 0.02;
/// More labels than this are no labels that a page could show.
const LABELS: usize = 200;
/// Candidates of a chunk of documents, besides the best of every topic.
const MOST_CANDIDATES: usize = 64;
/// Shorter documents show nothing of a topic; in a corpus of short ones they have the mean length.
const LEAST_TOKENS: u64 = 20;

/// Documents of a chunk that a training hands over.
const CHUNK: u64 = 1024;

/// Bytes that the allocator adds to a list.
const ALLOCATION: usize = 16;

/// A document and its largest topics.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shown {
    pub(super) number: u64,
    pub(super) topics: Vec<(u32, f32)>,
}

/// The documents of each label.
#[derive(Debug, Clone)]
pub(super) struct Labels {
    pub(super) names: Vec<String>,
    pub(super) documents: Vec<u64>,
    /// Mean proportions, a row for each label.
    pub(super) shares: Vec<Vec<f64>>,
    /// The label of every shown document.
    pub(super) of_shown: Vec<Option<u32>>,
}

/// What was found.
#[derive(Debug)]
pub(super) struct Documents {
    /// Each topic's share of all tokens.
    pub(super) prevalence: Vec<f64>,
    /// By number.
    pub(super) shown: Vec<Shown>,
    /// For each topic places in `shown`, the most typical first.
    pub(super) typical: Vec<Vec<u32>>,
    pub(super) labels: Option<Labels>,
}

/// A document that may be typical of a topic.
type Candidate = (f32, Shown);

/// What a chunk of documents gives.
#[derive(Debug, Default)]
struct Part {
    /// Tokens of each topic.
    tokens: Vec<f64>,
    candidates: Vec<(usize, Candidate)>,
    sample: Vec<Shown>,
    /// Proportions of each label, and whether it has any.
    labels: HashMap<u32, Vec<f64>>,
}

impl Part {
    /// Adds a candidate of a topic. Among very many only the best `each` of every topic stay: in a corpus of short documents all
    /// of them would be candidates at first.
    fn add(&mut self, topic: usize, candidate: Candidate, each: usize) {
        self.candidates.push((topic, candidate));
        if self.candidates.len() >= 2 * each * self.tokens.len() + MOST_CANDIDATES {
            self.candidates.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| better(&a.1, &b.1)));
            let (mut of, mut count) = (usize::MAX, 0);
            self.candidates.retain(|&(topic, _)| {
                count = if topic == of { count + 1 } else { 1 };
                of = topic;
                count <= each
            });
        }
    }
}

fn largest(proportions: &[f32]) -> Vec<(u32, f32)> {
    let mut topics: Vec<(u32, f32)> =
        (0..).zip(proportions).filter(|&(_, &p)| p >= LEAST_SHARE).map(|(k, &p)| (k, p)).collect();
    topics.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    topics.truncate(TOPICS);
    topics
}

/// Best first; equal ones by number.
fn better(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    b.0.total_cmp(&a.0).then(a.1.number.cmp(&b.1.number))
}

fn cut(list: &mut Vec<Candidate>, most: usize) {
    list.sort_by(better);
    list.truncate(most);
}

/// The names of all labels in the order of their bytes, with their documents; nothing where there are none or too many.
fn labels_of(corpus: &Corpus) -> Result<Option<Vec<(String, u64)>>> {
    if !corpus.has_labels() {
        return Ok(None);
    }
    let mut counts: HashMap<String, u64> = HashMap::new();
    let mut reader = corpus.reader();
    for i in 0..corpus.blocks() {
        for label in reader.read_labels(i)?.iter().filter(|label| !label.is_empty()) {
            if let Some(count) = counts.get_mut(label) {
                *count += 1;
            } else if counts.len() == LABELS {
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

/// What is looked for in the documents of a corpus.
#[derive(Debug)]
struct Criteria {
    topics: usize,
    /// Documents of the corpus.
    count: u64,
    /// Most typical documents of each topic.
    each: usize,
    /// About how many documents the even sample has.
    sample: u64,
    least_tokens: u64,
    /// Labels in the order of their bytes, with the number of their documents.
    labels: Option<Vec<(String, u64)>>,
    /// What is below these cannot be among the best any more; threads need not know the newest.
    least: Vec<AtomicU32>,
}

impl Criteria {
    fn new(corpus: &Corpus, topics: usize) -> Result<Criteria> {
        let count = corpus.shape().documents;
        let each = typical_documents(topics as u32) as usize;
        Ok(Criteria {
            topics,
            count,
            each,
            sample: DOCUMENTS.saturating_sub(each * topics).max(SAMPLE) as u64,
            least_tokens: LEAST_TOKENS.min(corpus.shape().tokens / count.max(1)).max(1),
            labels: labels_of(corpus)?,
            least: (0..topics).map(|_| AtomicU32::new(0)).collect(),
        })
    }

    fn is_sampled(&self, number: u64) -> bool {
        let (count, sample) = (self.count, self.sample);
        count <= sample || (number + 1) * sample / count > number * sample / count
    }

    /// The number of a label.
    fn label(&self, name: &str) -> Option<u32> {
        let labels = self.labels.as_ref()?;
        labels.binary_search_by(|(other, _)| other.as_str().cmp(name)).ok().map(|at| at as u32)
    }

    /// Adds a document to what its chunk gives.
    fn look_at(&self, mixture: &Mixture<'_>, part: &mut Part) {
        part.tokens.resize(self.topics, 0.0);
        for (sum, &p) in part.tokens.iter_mut().zip(mixture.proportions) {
            *sum += f64::from(p) * mixture.tokens as f64;
        }
        let mut own = None;
        let mut own = || own.get_or_insert_with(|| largest(mixture.proportions)).clone();
        let number = mixture.number;
        if mixture.tokens >= self.least_tokens {
            for (k, &p) in mixture.proportions.iter().enumerate() {
                if p >= LEAST_SHARE && p > f32::from_bits(self.least[k].load(Ordering::Relaxed)) {
                    part.add(k, (p, Shown { number, topics: own() }), self.each);
                }
            }
        }
        if self.is_sampled(number) {
            part.sample.push(Shown { number, topics: own() });
        }
        if let Some(label) = self.label(mixture.label) {
            let sums = part.labels.entry(label).or_insert_with(|| vec![0.0; self.topics]);
            sums.iter_mut().zip(mixture.proportions).for_each(|(sum, &p)| *sum += f64::from(p));
        }
    }
}

/// What the chunks read so far have given.
#[derive(Debug)]
struct DocumentSums {
    /// Tokens of each topic.
    tokens: Vec<f64>,
    /// Candidates of each topic, more of them than are shown.
    best: Vec<Vec<Candidate>>,
    shown: Vec<Shown>,
    /// Sums of the proportions of each label's documents.
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

    /// Adds what a chunk of documents gives, and raises the proportion that a candidate has to exceed from now on.
    fn add(&mut self, part: Part, criteria: &Criteria) {
        let each = criteria.each;
        self.tokens.iter_mut().zip(&part.tokens).for_each(|(sum, n)| *sum += n);
        for (k, candidate) in part.candidates {
            let best = &mut self.best[k];
            best.push(candidate);
            if best.len() >= 2 * each + 16 {
                cut(best, each);
                criteria.least[k].store(best[each - 1].0.to_bits(), Ordering::Relaxed);
            }
        }
        self.shown.extend(part.sample);
        for (label, sums) in part.labels {
            self.label_sums[label as usize].iter_mut().zip(sums).for_each(|(mean, sum)| *mean += sum);
        }
    }

    fn finish(self, corpus: &Corpus, criteria: &Criteria) -> Result<Documents> {
        let DocumentSums { tokens, mut best, mut shown, label_sums } = self;
        for list in &mut best {
            cut(list, criteria.each);
        }
        shown.extend(best.iter().flatten().map(|(_, document)| document.clone()));
        shown.sort_by_key(|document| document.number);
        shown.dedup_by_key(|document| document.number);
        let place = |number: u64| shown.partition_point(|document| document.number < number) as u32;
        let typical = best.iter().map(|list| list.iter().map(|(_, d)| place(d.number)).collect()).collect();
        let total: f64 = tokens.iter().sum();
        let even = 1.0 / tokens.len() as f64;
        let prevalence = tokens.iter().map(|n| if total > 0.0 { n / total } else { even }).collect();
        let labels = match &criteria.labels {
            None => None,
            Some(named) => {
                let numbers: Vec<u64> = shown.iter().map(|document| document.number).collect();
                let own = crate::infer::labels_of(corpus, &numbers)?;
                let mean = |(sums, (_, count)): (Vec<f64>, &(String, u64))| {
                    sums.into_iter().map(|sum| sum / *count as f64).collect()
                };
                Some(Labels {
                    names: named.iter().map(|(name, _)| name.clone()).collect(),
                    documents: named.iter().map(|(_, count)| *count).collect(),
                    shares: label_sums.into_iter().zip(named).map(mean).collect(),
                    of_shown: own.iter().map(|label| criteria.label(label)).collect(),
                })
            }
        };
        Ok(Documents { prevalence, shown, typical, labels })
    }
}

/// Infers the topics of all documents, and looks at them.
pub(super) fn documents(mixtures: &Mixtures<'_>, progress: ProgressCallback<'_>) -> Result<Documents> {
    let corpus = mixtures.corpus();
    let criteria = Criteria::new(corpus, mixtures.model().topics() as usize)?;
    let mut found = DocumentSums::new(&criteria);
    mixtures.each(
        |mixture, part: &mut Part| {
            criteria.look_at(mixture, part);
            Ok(())
        },
        |part| {
            found.add(part, &criteria);
            Ok(())
        },
        progress,
    )?;
    found.finish(corpus, &criteria)
}

/// Bytes of a document that may be shown: itself, its topics and what the allocator adds.
const CANDIDATE: u64 =
    (size_of::<(usize, Candidate)>() + TOPICS * size_of::<(u32, f32)>() + ALLOCATION) as u64;

/// Returns how many typical documents a topic has.
fn typical_documents(topics: u32) -> u64 {
    (DOCUMENTS as u64 / u64::from(topics).max(1)).clamp(2, TYPICAL as u64)
}

/// Bytes of the chunks that are held at a time while documents are inferred, and of what was found in them.
pub(super) fn parts_bytes(corpus: &Corpus, topics: u32) -> u64 {
    let (chunks, of_chunk) = crate::infer::chunks(topics);
    let documents = corpus.shape().documents;
    let candidates = 2 * typical_documents(topics) * u64::from(topics) + MOST_CANDIDATES as u64;
    // Most documents are typical of a topic or two at the most.
    let part = CANDIDATE * candidates.min(2 * of_chunk) + 8 * u64::from(topics);
    part.saturating_mul(chunks.min(documents.div_ceil(of_chunk)))
}

/// What a report shows of the documents, collected while a training hands them over
/// ([`PlannedTraining::train_to_with_documents`](crate::PlannedTraining::train_to_with_documents)).
#[derive(Debug)]
pub struct TrainedDocuments<'a> {
    corpus: &'a Corpus,
    criteria: Criteria,
    found: DocumentSums,
    /// The documents since the last chunk ended, and how many they are.
    part: Part,
    in_part: u64,
    seen: u64,
}

impl<'a> TrainedDocuments<'a> {
    /// Prepares for the documents of a corpus and a number of topics.
    pub fn new(corpus: &'a Corpus, topics: u32) -> Result<TrainedDocuments<'a>> {
        let criteria = Criteria::new(corpus, topics as usize)?;
        let found = DocumentSums::new(&criteria);
        Ok(TrainedDocuments { corpus, criteria, found, part: Part::default(), in_part: 0, seen: 0 })
    }

    /// Bytes of memory that it takes, at most.
    pub fn memory_bytes(corpus: &Corpus, topics: u32) -> u64 {
        let (documents, topics) = (corpus.shape().documents, u64::from(topics));
        let each = typical_documents(topics as u32);
        let of_topics = topics.saturating_mul(4 * each + 16).saturating_add(MOST_CANDIDATES as u64);
        let of_documents = documents.saturating_mul((1.0 / LEAST_SHARE) as u64);
        // Lists double when they grow.
        let candidates = 2 * CANDIDATE * of_topics.min(of_documents);
        let labels = if corpus.has_labels() { 2 * LABELS as u64 * topics * 8 } else { 0 };
        let sample = (2 * DOCUMENTS as u64).min(documents) * CANDIDATE;
        candidates + labels + sample + topics * 64
    }

    /// Adds a document.
    pub fn add(&mut self, mixture: &Mixture<'_>) {
        self.criteria.look_at(mixture, &mut self.part);
        self.in_part += 1;
        self.seen += 1;
        if self.in_part == CHUNK {
            self.found.add(std::mem::take(&mut self.part), &self.criteria);
            self.in_part = 0;
        }
    }

    /// Returns whether documents were added.
    pub fn is_empty(&self) -> bool {
        self.seen == 0
    }

    pub(super) fn finish(mut self) -> Result<Documents> {
        self.found.add(self.part, &self.criteria);
        self.found.finish(self.corpus, &self.criteria)
    }
}
