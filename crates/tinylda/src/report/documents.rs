//! What a report shows of documents, in one pass over the corpus: how much of it each topic has, the documents that show a topic best,
//! an even sample of all, and the mean topics of every label.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::corpus::Corpus;
use crate::error::Result;
use crate::infer::Mixtures;

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

/// What the chunks read so far have given.
struct Found {
    /// Tokens of each topic.
    tokens: Vec<f64>,
    /// Candidates of each topic, more of them than are shown.
    best: Vec<Vec<Candidate>>,
    shown: Vec<Shown>,
    /// Sums of the proportions of each label's documents.
    label_sums: Vec<Vec<f64>>,
}

impl Found {
    /// Adds what a chunk of documents gives, and raises `least` to the proportion that a candidate has to exceed from now on.
    fn add(&mut self, part: Part, each: usize, least: &[AtomicU32]) {
        self.tokens.iter_mut().zip(&part.tokens).for_each(|(sum, n)| *sum += n);
        for (k, candidate) in part.candidates {
            let best = &mut self.best[k];
            best.push(candidate);
            if best.len() >= 2 * each + 16 {
                cut(best, each);
                least[k].store(best[each - 1].0.to_bits(), Ordering::Relaxed);
            }
        }
        self.shown.extend(part.sample);
        for (label, sums) in part.labels {
            self.label_sums[label as usize].iter_mut().zip(sums).for_each(|(mean, sum)| *mean += sum);
        }
    }

    fn finish(
        self,
        corpus: &Corpus,
        each: usize,
        named: Option<&[(String, u64)]>,
        ids: &HashMap<&str, u32>,
    ) -> Result<Documents> {
        let Found { tokens, mut best, mut shown, label_sums } = self;
        for list in &mut best {
            cut(list, each);
        }
        shown.extend(best.iter().flatten().map(|(_, document)| document.clone()));
        shown.sort_by_key(|document| document.number);
        shown.dedup_by_key(|document| document.number);
        let place = |number: u64| shown.partition_point(|document| document.number < number) as u32;
        let typical = best.iter().map(|list| list.iter().map(|(_, d)| place(d.number)).collect()).collect();
        let total: f64 = tokens.iter().sum();
        let even = 1.0 / tokens.len() as f64;
        let prevalence = tokens.iter().map(|n| if total > 0.0 { n / total } else { even }).collect();
        let labels = match named {
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
                    of_shown: own.iter().map(|label| ids.get(label.as_str()).copied()).collect(),
                })
            }
        };
        Ok(Documents { prevalence, shown, typical, labels })
    }
}

/// Goes through all documents.
pub(super) fn documents(
    mixtures: &Mixtures<'_>,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Documents> {
    let corpus = mixtures.corpus();
    let topics = mixtures.model().topics() as usize;
    let count = corpus.shape().documents;
    let each = (DOCUMENTS / topics).clamp(2, TYPICAL);
    let wanted = DOCUMENTS.saturating_sub(each * topics).max(SAMPLE) as u64;
    let sampled = |number: u64| count <= wanted || (number + 1) * wanted / count > number * wanted / count;
    let least_tokens = LEAST_TOKENS.min(corpus.shape().tokens / count.max(1)).max(1);
    let named = labels_of(corpus)?;
    let ids: HashMap<&str, u32> = named.iter().flatten().map(|(name, _)| name.as_str()).zip(0..).collect();

    let mut found = Found {
        tokens: vec![0.0; topics],
        best: vec![Vec::new(); topics],
        shown: Vec::new(),
        label_sums: vec![vec![0.0; topics]; ids.len()],
    };
    // What is below these cannot be among the best any more; threads need not know the newest.
    let least: Vec<AtomicU32> = (0..topics).map(|_| AtomicU32::new(0)).collect();
    mixtures.each(
        |mixture, part: &mut Part| {
            part.tokens.resize(topics, 0.0);
            for (sum, &p) in part.tokens.iter_mut().zip(mixture.proportions) {
                *sum += f64::from(p) * mixture.tokens as f64;
            }
            let mut own = None;
            let mut own = || own.get_or_insert_with(|| largest(mixture.proportions)).clone();
            let number = mixture.number;
            if mixture.tokens >= least_tokens {
                for (k, &p) in mixture.proportions.iter().enumerate() {
                    if p >= LEAST_SHARE && p > f32::from_bits(least[k].load(Ordering::Relaxed)) {
                        part.add(k, (p, Shown { number, topics: own() }), each);
                    }
                }
            }
            if sampled(number) {
                part.sample.push(Shown { number, topics: own() });
            }
            if let Some(&label) = ids.get(mixture.label) {
                let sums = part.labels.entry(label).or_insert_with(|| vec![0.0; topics]);
                sums.iter_mut().zip(mixture.proportions).for_each(|(sum, &p)| *sum += f64::from(p));
            }
            Ok(())
        },
        |part| {
            found.add(part, each, &least);
            Ok(())
        },
        progress,
    )?;
    found.finish(corpus, each, named.as_deref(), &ids)
}
