//! The documents that show a topic best, and those most like another one.
//!
//! Each list is cut back while documents go by, so what is held does not grow with them.

use std::sync::atomic::{AtomicU32, Ordering};

use super::{Mixture, Mixtures};
use crate::corpus::{BlockReader, Corpus, Vocabulary};
use crate::error::{Error, Position, Remedy, Result};
use crate::progress::ProgressCallback;

/// A document that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// Its number in the corpus, from 0.
    pub number: u64,
    /// Its tokens that the model knows.
    pub tokens: u64,
    /// What it was chosen by: its proportion of the topic, or its distance.
    pub value: f32,
}

/// The best of what goes by: at most `most`, largest keys first, and the earlier document where keys are equal.
#[derive(Debug, Clone, Default)]
struct Best {
    list: Vec<(f32, u64, u64)>,
}

impl Best {
    /// Takes one up; true where the least key that still counts may have changed.
    fn push(&mut self, item: (f32, u64, u64), most: usize) -> bool {
        self.list.push(item);
        let full = self.list.len() >= 2 * most + 16;
        if full {
            self.cut(most);
        }
        full
    }

    fn cut(&mut self, most: usize) {
        self.list.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        self.list.truncate(most);
    }

    /// The least key that counts, once there are enough.
    fn least(&self, most: usize) -> f32 {
        if most > 0 && self.list.len() >= most { self.list[most - 1].0 } else { f32::NEG_INFINITY }
    }

    fn found(mut self, most: usize, value: impl Fn(f32) -> f32) -> Vec<Found> {
        self.cut(most);
        self.list
            .into_iter()
            .map(|(key, number, tokens)| Found { number, tokens, value: value(key) })
            .collect()
    }
}

/// The documents with the largest proportion of each topic.
#[derive(Debug, Clone)]
pub struct Typical {
    /// How many of each topic.
    pub top: usize,
    /// Shorter documents (in tokens that the model knows) are passed over: a document of one word is all of one topic, and shows nothing.
    pub min_tokens: u64,
    /// Of these topics; of all where there is none.
    pub topics: Vec<u32>,
}

impl Typical {
    /// Goes through all documents. One list for each topic asked for, best first.
    pub fn find(
        &self,
        mixtures: &Mixtures<'_>,
        progress: ProgressCallback<'_>,
    ) -> Result<Vec<(u32, Vec<Found>)>> {
        let count = mixtures.model().topics();
        let topics = if self.topics.is_empty() { (0..count).collect() } else { self.topics.clone() };
        if let Some(&bad) = topics.iter().find(|&&k| k >= count) {
            return Err(Error::out_of_range("topic", bad, format!("a number from 0 to {}", count - 1)));
        }
        let most = self.top;
        let mut best = vec![Best::default(); topics.len()];
        // What is below these cannot be among the best any more; threads need not know the newest.
        let least: Vec<AtomicU32> =
            topics.iter().map(|_| AtomicU32::new(f32::NEG_INFINITY.to_bits())).collect();
        mixtures.each(
            |mixture, out: &mut Vec<(usize, (f32, u64, u64))>| {
                if mixture.tokens >= self.min_tokens.max(1) {
                    for (i, &k) in topics.iter().enumerate() {
                        let p = mixture.proportions[k as usize];
                        if p > f32::from_bits(least[i].load(Ordering::Relaxed)) {
                            out.push((i, (p, mixture.number, mixture.tokens)));
                        }
                    }
                }
                Ok(())
            },
            |found| {
                for (i, item) in found {
                    if best[i].push(item, most) {
                        least[i].store(best[i].least(most).to_bits(), Ordering::Relaxed);
                    }
                }
                Ok(())
            },
            progress,
        )?;
        Ok(topics.into_iter().zip(best).map(|(k, best)| (k, best.found(most, |p| p))).collect())
    }
}

/// The documents whose mix of topics is nearest to another document's.
#[derive(Debug, Clone)]
pub struct Similar {
    /// How many.
    pub top: usize,
    /// Shorter documents (in tokens that the model knows) are passed over.
    pub min_tokens: u64,
}

impl Similar {
    /// Goes through all documents but number `to` itself: those of the least Hellinger distance sqrt(1 - sum_k sqrt(p\[k\] q\[k\])),
    /// nearest first. It is 0 for the same mix, and 1 where no topic is shared.
    pub fn find(
        &self,
        mixtures: &Mixtures<'_>,
        to: u64,
        progress: ProgressCallback<'_>,
    ) -> Result<Vec<Found>> {
        let roots =
            |mixture: &Mixture<'_>| mixture.proportions.iter().map(|p| p.sqrt()).collect::<Vec<f32>>();
        let target = mixtures
            .document(to, roots)?
            .ok_or_else(|| no_document(mixtures.corpus(), &(to + 1).to_string()))?;
        let most = self.top;
        let mut best = Best::default();
        mixtures.each(
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
                    best.push(item, most);
                }
                Ok(())
            },
            progress,
        )?;
        Ok(best.found(most, |key| -key))
    }
}

fn no_document(corpus: &Corpus, asked: &str) -> Error {
    Error::Input {
        path: corpus.origin().to_path_buf(),
        position: Position::Whole,
        found: format!("no document {asked:?}"),
        expected: if corpus.has_names() {
            format!("the name of a document, or a number from 1 to {}", corpus.shape().documents)
        } else {
            format!("a number from 1 to {} (the documents have no names)", corpus.shape().documents)
        }
        .into(),
        remedy: Remedy::default(),
    }
}

/// The number (from 0) of the document of this name, or else with this number (from 1).
pub fn find_document(corpus: &Corpus, asked: &str) -> Result<u64> {
    if corpus.has_names() {
        let mut reader = corpus.reader();
        for i in 0..corpus.blocks() {
            let found = reader.read_names(i)?.iter().position(|name| name == asked);
            if let Some(within) = found {
                return Ok(corpus.block_start(i) + within as u64);
            }
        }
    }
    let number = asked.parse::<u64>().ok().filter(|n| (1..=corpus.shape().documents).contains(n));
    number.map(|n| n - 1).ok_or_else(|| no_document(corpus, asked))
}

/// The names of some documents, by their numbers from 0; empty where there are none.
pub fn names_of(corpus: &Corpus, numbers: &[u64]) -> Result<Vec<String>> {
    if !corpus.has_names() {
        return Ok(vec![String::new(); numbers.len()]);
    }
    strings_of(corpus, numbers, BlockReader::read_names)
}

/// The same of labels.
pub(crate) fn labels_of(corpus: &Corpus, numbers: &[u64]) -> Result<Vec<String>> {
    if !corpus.has_labels() {
        return Ok(vec![String::new(); numbers.len()]);
    }
    strings_of(corpus, numbers, BlockReader::read_labels)
}

/// A block is read once, whatever the order of the documents.
fn strings_of<'c>(
    corpus: &'c Corpus,
    numbers: &[u64],
    read: impl Fn(&mut BlockReader<'c>, usize) -> Result<Vocabulary>,
) -> Result<Vec<String>> {
    let mut names = vec![String::new(); numbers.len()];
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_unstable_by_key(|&at| numbers[at]);
    let (mut reader, mut loaded) = (corpus.reader(), None);
    for at in order {
        let Some(i) = corpus.block_of(numbers[at]) else { continue };
        if loaded.as_ref().is_none_or(|(block, _)| *block != i) {
            loaded = Some((i, read(&mut reader, i)?));
        }
        if let Some((_, list)) = &loaded {
            let within = (numbers[at] - corpus.block_start(i)) as u32;
            list.get(within).unwrap_or_default().clone_into(&mut names[at]);
        }
    }
    Ok(names)
}
