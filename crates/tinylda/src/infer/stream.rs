//! The topics of all documents of a corpus, in order, on threads.
//!
//! Documents are cut into chunks by a rule that does not know the number of threads; each chunk becomes one result, and results are
//! handed over in order. A document's topics depend on the document and the model alone. What is held: a block of the corpus, the
//! next one, and the results of [`CHUNKS`] chunks with at most [`NUMBERS`] proportions each (or one document).

use std::ops::Range;
use std::sync::Mutex;

use rayon::prelude::*;

use super::{Inference, Inferencer, Known, Parts, Unknown};
use crate::corpus::{Block, BlockReader, Corpus, Document, Vocabulary};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::progress::{ProgressCallback, Step};
use crate::threads::pool;

/// Chunks whose results are held at once,
const CHUNKS: usize = 256;
/// and how many proportions a chunk may have.
const NUMBERS: usize = 8192;

/// Returns how many chunks are held at once, and the documents of each.
pub(crate) fn chunks(topics: u32) -> (u64, u64) {
    (CHUNKS as u64, (NUMBERS as u64 / u64::from(topics).max(1)).max(1))
}

/// The topics of one document.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Mixture<'a> {
    /// Its number in the corpus, from 0.
    pub number: u64,
    /// What it is called; empty where the corpus has no names.
    pub name: &'a str,
    /// Its label; empty where the corpus has none, or they were not asked for.
    pub label: &'a str,
    /// Its words that the model knows, by the model's ids.
    pub document: Document<'a>,
    /// Tokens of these words.
    pub tokens: u64,
    /// Tokens of words that the model does not know: left out.
    pub tokens_unknown: u64,
    /// theta\[K\]: counts that add up to `tokens`.
    pub theta: &'a [f32],
    /// p(k|d) = (theta\[k\] + alpha\[k\]) / (tokens + sum of alpha): they add up to 1. Without a known word these are the prior's.
    pub proportions: &'a [f32],
}

/// The topics of a corpus's documents, found with a model.
#[derive(Debug)]
pub struct Mixtures<'a> {
    model: &'a Model,
    corpus: &'a Corpus,
    known: Known,
    inference: Inference,
    threads: usize,
    labels: bool,
}

/// What a thread works with.
#[derive(Debug)]
struct Worker<'m> {
    inferencer: Inferencer<'m>,
    part: Parts,
    proportions: Vec<f32>,
}

/// A block of the corpus.
#[derive(Debug, Default)]
struct Read {
    block: Block,
    names: Vocabulary,
    labels: Vocabulary,
}

impl Read {
    fn fill(&mut self, reader: &mut BlockReader<'_>, i: usize, labels: bool) -> Result<()> {
        reader.read(i, &mut self.block)?;
        self.names = reader.read_names(i)?;
        if labels {
            self.labels = reader.read_labels(i)?;
        }
        Ok(())
    }
}

impl<'a> Mixtures<'a> {
    /// With the algorithm's own way to find topics, on one thread.
    pub fn new(model: &'a Model, corpus: &'a Corpus) -> Result<Mixtures<'a>> {
        let known = Known::new(model, corpus)?;
        Ok(Mixtures { model, corpus, known, inference: Inference::Own, threads: 1, labels: false })
    }

    /// How the topics are found.
    #[must_use]
    pub fn inference(self, inference: Inference) -> Mixtures<'a> {
        Mixtures { inference, ..self }
    }

    /// On how many threads. The result does not depend on it.
    #[must_use]
    pub fn threads(self, threads: usize) -> Mixtures<'a> {
        Mixtures { threads, ..self }
    }

    /// With the documents' labels.
    #[must_use]
    pub fn with_labels(self) -> Mixtures<'a> {
        Mixtures { labels: true, ..self }
    }

    /// The corpus.
    pub fn corpus(&self) -> &'a Corpus {
        self.corpus
    }
    /// The model.
    pub fn model(&self) -> &'a Model {
        self.model
    }
    /// Which words the model knows.
    pub fn known(&self) -> &Known {
        &self.known
    }
    /// What the model does not know of the corpus.
    pub fn unknown(&self) -> Result<Unknown> {
        self.known.unknown(self.corpus)
    }

    /// Every document, in order. `work` puts what is wanted of a document into the result of its chunk, on any thread; `take` gets
    /// the results in order. `progress` is told the documents done and may ask to stop.
    pub fn each<R: Default + Send>(
        &self,
        work: impl Fn(&Mixture<'_>, &mut R) -> Result<()> + Sync,
        mut take: impl FnMut(R) -> Result<()>,
        progress: ProgressCallback<'_>,
    ) -> Result<()> {
        let pool = pool(self.threads)?;
        let first = Inferencer::new(self.model, self.inference)?;
        let workers: Vec<Mutex<Worker<'_>>> =
            (0..pool.current_num_threads()).map(|_| Mutex::new(Worker::new(first.twin()))).collect();
        drop(first);
        let total = self.corpus.shape().documents;
        let most = (NUMBERS / self.model.topics() as usize).max(1);
        let mut reader = self.corpus.reader();
        let (mut now, mut next) = (Read::default(), Read::default());
        let mut read = |i: usize, to: &mut Read| -> Result<()> {
            if i < reader.blocks() {
                to.fill(&mut reader, i, self.labels)?;
            }
            Ok(())
        };
        read(0, &mut now)?;
        for i in 0..self.corpus.blocks() {
            let block = &now.block;
            let chunks: Vec<Range<usize>> = block.runs().into_iter().flat_map(|run| cut(run, most)).collect();
            let mut ahead = Some(&mut next);
            for some in chunks.chunks(CHUNKS) {
                let compute = || -> Result<Vec<R>> {
                    some.par_iter()
                        .map(|chunk| {
                            let place = rayon::current_thread_index().unwrap_or(0);
                            // A thread that panicked would have taken the process with it.
                            let mut worker =
                                workers[place].lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                            let mut result = R::default();
                            for d in chunk.clone() {
                                self.one(&mut worker, &now, d, |mixture| work(mixture, &mut result))?;
                            }
                            Ok(result)
                        })
                        .collect()
                };
                // The next block is read while this one is worked on.
                let results = match ahead.take() {
                    Some(to) => {
                        let (results, done) = pool.install(|| rayon::join(compute, || read(i + 1, to)));
                        done.and(results)?
                    }
                    None => pool.install(compute)?,
                };
                for result in results {
                    take(result)?;
                }
                let done = some.last().map_or(0, |chunk| block.first_document() + chunk.end as u64);
                if progress(Step::Documents.at(done, total)).is_break() {
                    return Err(Error::Interrupted);
                }
            }
            if let Some(to) = ahead {
                read(i + 1, to)?;
            }
            std::mem::swap(&mut now, &mut next);
        }
        Ok(())
    }

    /// Document number `d` alone.
    pub fn document<T>(&self, d: u64, use_it: impl FnOnce(&Mixture<'_>) -> T) -> Result<Option<T>> {
        let mut worker = Worker::new(Inferencer::new(self.model, self.inference)?);
        let mut read = Read::default();
        let Some(i) = self.corpus.block_of(d) else { return Ok(None) };
        read.fill(&mut self.corpus.reader(), i, self.labels)?;
        let within = (d - read.block.first_document()) as usize;
        let mut found = None;
        self.one(&mut worker, &read, within, |mixture| {
            found = Some(use_it(mixture));
            Ok(())
        })?;
        Ok(found)
    }

    fn one(
        &self,
        worker: &mut Worker<'_>,
        Read { block, names, labels }: &Read,
        d: usize,
        work: impl FnOnce(&Mixture<'_>) -> Result<()>,
    ) -> Result<()> {
        let Worker { inferencer, part, proportions } = worker;
        let number = block.first_document() + d as u64;
        let tokens_unknown = self.known.part(block.document(d), part);
        let document = part.document();
        let tokens = document.tokens();
        let theta = if tokens > 0 { inferencer.theta(number, document)? } else { inferencer.none() };
        let alpha = self.model.alpha();
        let total = tokens as f64 + alpha.iter().map(|&a| f64::from(a)).sum::<f64>();
        proportions.clear();
        proportions
            .extend(theta.iter().zip(alpha).map(|(&n, &a)| ((f64::from(n) + f64::from(a)) / total) as f32));
        let name = names.get(d as u32).unwrap_or_default();
        let label = labels.get(d as u32).unwrap_or_default();
        work(&Mixture { number, name, label, document, tokens, tokens_unknown, theta, proportions })
    }
}

impl<'m> Worker<'m> {
    fn new(inferencer: Inferencer<'m>) -> Worker<'m> {
        Worker { inferencer, part: Parts::default(), proportions: Vec::new() }
    }
}

/// A range in parts of at most so many.
fn cut(range: Range<usize>, most: usize) -> impl Iterator<Item = Range<usize>> {
    range.clone().step_by(most).map(move |from| from..(from + most).min(range.end))
}
