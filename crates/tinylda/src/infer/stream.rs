//! Infers the topic mixtures of all documents of a corpus on several threads.
//!
//! Start reading at [`Mixtures::for_each`]. This module must not know what its callers do with the
//! mixtures.
//!
//! Documents are divided into chunks independently of the number of threads. Each chunk gives one
//! result, and results are delivered in order. The topics of a document depend only on the document
//! and the model. Memory holds two blocks of the corpus, the current and the next one, and the
//! results of [`CHUNKS_IN_FLIGHT`] chunks with at most [`PROPORTIONS_PER_CHUNK`] proportions each
//! (or one document).

use std::ops::Range;
use std::sync::Mutex;

use rayon::prelude::*;

use super::{DocumentBuffer, Inference, Inferencer, UnknownWords, VocabularyMap};
use crate::corpus::{Block, BlockReader, Corpus, Document, LabelTable, MetadataColumns, Vocabulary};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::progress::{ProgressCallback, Step};
use crate::threads::pool;

/// Maximum number of chunks whose results are in memory at the same time.
const CHUNKS_IN_FLIGHT: usize = 64;
/// Maximum number of proportions in a chunk, unless it has a single document.
const PROPORTIONS_PER_CHUNK: usize = 8192;

/// Returns the maximum number of chunks in memory and the maximum number of documents per chunk.
pub(crate) fn chunk_limits(topics: u32) -> (u64, u64) {
    (CHUNKS_IN_FLIGHT as u64, (PROPORTIONS_PER_CHUNK as u64 / u64::from(topics).max(1)).max(1))
}

/// The topic mixture of one document.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Mixture<'a> {
    /// Number of the document in the corpus, from 0.
    pub number: u64,
    /// Name of the document; empty if the corpus has no names.
    pub name: &'a str,
    /// Values of every label column of the corpus; no columns if labels were not requested.
    pub labels: &'a [Vec<&'a str>],
    /// Date of the document; empty if it has none or labels were not requested.
    pub date: &'a str,
    /// The words that the model knows, as ids of the model.
    pub document: Document<'a>,
    /// Number of tokens of known words.
    pub tokens: u64,
    /// Number of tokens of words that the model does not know. They are ignored. It includes the
    /// words that the import of the text has dropped because they were not in a given vocabulary.
    pub tokens_unknown: u64,
    /// theta\[K\]: counts that add up to `tokens`.
    pub theta: &'a [f32],
    /// p(k|d) = (theta\[k\] + alpha\[k\]) / (tokens + sum of alpha). They add up to 1. For a
    /// document without known words they are those of the prior.
    pub proportions: &'a [f32],
}

/// Infers the topic mixtures of the documents of a corpus with a model.
#[derive(Debug)]
pub struct Mixtures<'a> {
    model: &'a Model,
    corpus: &'a Corpus,
    known: VocabularyMap,
    inference: Inference,
    threads: usize,
    labels: bool,
}

/// The state of a worker thread.
#[derive(Debug)]
struct InferenceWorker<'m> {
    inferencer: Inferencer<'m>,
    buffer: DocumentBuffer,
    proportions: Vec<f32>,
}

/// A block of the corpus with the names, labels and dates of its documents.
#[derive(Debug, Default)]
struct LoadedBlock {
    block: Block,
    names: Vocabulary,
    labels: LabelTable,
    dates: Vocabulary,
    tokens_unknown: Vec<u32>,
}

impl LoadedBlock {
    fn load(&mut self, reader: &mut BlockReader<'_>, i: usize, labels: bool) -> Result<()> {
        reader.read(i, &mut self.block)?;
        self.names = reader.read_names(i)?;
        self.tokens_unknown = reader.read_tokens_unknown(i)?;
        if labels {
            self.labels = reader.read_labels(i)?;
            self.dates = reader.read_dates(i)?;
        }
        Ok(())
    }
}

impl<'a> Mixtures<'a> {
    /// Prepares inference by the method of the model's algorithm, on one thread.
    pub fn new(model: &'a Model, corpus: &'a Corpus) -> Result<Mixtures<'a>> {
        let known = VocabularyMap::new(model, corpus)?;
        Ok(Mixtures { model, corpus, known, inference: Inference::Own, threads: 1, labels: false })
    }

    /// Sets the inference method.
    #[must_use]
    pub fn inference(self, inference: Inference) -> Mixtures<'a> {
        Mixtures { inference, ..self }
    }

    /// Sets the number of threads. The results do not depend on it.
    #[must_use]
    pub fn threads(self, threads: usize) -> Mixtures<'a> {
        Mixtures { threads, ..self }
    }

    /// Also reads the labels and dates of the documents.
    #[must_use]
    pub fn with_labels(self) -> Mixtures<'a> {
        Mixtures { labels: true, ..self }
    }

    /// Returns the columns of tables for the labels and dates that are read.
    pub(crate) fn metadata_columns(&self) -> MetadataColumns {
        if self.labels { MetadataColumns::of(self.corpus) } else { MetadataColumns::default() }
    }

    /// Returns the corpus.
    pub fn corpus(&self) -> &'a Corpus {
        self.corpus
    }
    /// Returns the model.
    pub fn model(&self) -> &'a Model {
        self.model
    }
    /// Returns the mapping of the corpus's words to the model's words.
    pub fn known(&self) -> &VocabularyMap {
        &self.known
    }
    /// Counts the words of the corpus that the model does not know.
    pub fn unknown(&self) -> Result<UnknownWords> {
        self.known.unknown(self.corpus)
    }

    /// Infers every document. `work` runs on any thread and adds a document to the result of its
    /// chunk; documents of a chunk come in order. `take` receives the results of the chunks in
    /// order, on the caller's thread. `progress` receives the number of finished documents and can
    /// cancel.
    pub fn for_each<R: Default + Send>(
        &self,
        work: impl Fn(&Mixture<'_>, &mut R) -> Result<()> + Sync,
        take: impl FnMut(R) -> Result<()>,
        progress: ProgressCallback<'_>,
    ) -> Result<()> {
        self.for_each_with(work, |_| (), take, progress)
    }

    /// Like [`for_each`](Mixtures::for_each). `finish` runs on the result of a chunk after its last
    /// document, on the same thread, and can make it smaller: the results of many chunks are in
    /// memory at the same time.
    pub(crate) fn for_each_with<R: Default + Send>(
        &self,
        work: impl Fn(&Mixture<'_>, &mut R) -> Result<()> + Sync,
        finish: impl Fn(&mut R) + Sync,
        mut take: impl FnMut(R) -> Result<()>,
        progress: ProgressCallback<'_>,
    ) -> Result<()> {
        let pool = pool(self.threads)?;
        let first = Inferencer::new(self.model, self.inference)?;
        let workers: Vec<Mutex<InferenceWorker<'_>>> = (0..pool.current_num_threads())
            .map(|_| Mutex::new(InferenceWorker::new(first.clone_for_thread())))
            .collect();
        drop(first);
        let total = self.corpus.shape().documents;
        let documents_per_chunk = (PROPORTIONS_PER_CHUNK / self.model.topics() as usize).max(1);
        let mut reader = self.corpus.reader();
        let (mut current, mut next) = (LoadedBlock::default(), LoadedBlock::default());
        let mut read = |i: usize, to: &mut LoadedBlock| -> Result<()> {
            if i < reader.blocks() {
                to.load(&mut reader, i, self.labels)?;
            }
            Ok(())
        };
        read(0, &mut current)?;
        for i in 0..self.corpus.blocks() {
            let block = &current.block;
            let chunks: Vec<Range<usize>> =
                block.chunks().into_iter().flat_map(|run| split_range(run, documents_per_chunk)).collect();
            let mut prefetch = Some(&mut next);
            for batch in chunks.chunks(CHUNKS_IN_FLIGHT) {
                let compute = || -> Result<Vec<R>> {
                    batch
                        .par_iter()
                        .map(|chunk| {
                            let thread = rayon::current_thread_index().unwrap_or(0);
                            // A poisoned lock is harmless: rayon propagates the panic to the
                            // caller.
                            let mut worker =
                                workers[thread].lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                            let mut result = R::default();
                            for d in chunk.clone() {
                                self.infer_document(&mut worker, &current, d, |mixture| {
                                    work(mixture, &mut result)
                                })?;
                            }
                            finish(&mut result);
                            Ok(result)
                        })
                        .collect()
                };
                // Read the next block while this one is processed.
                let results = match prefetch.take() {
                    Some(to) => {
                        let (results, done) = pool.install(|| rayon::join(compute, || read(i + 1, to)));
                        done.and(results)?
                    }
                    None => pool.install(compute)?,
                };
                for result in results {
                    take(result)?;
                }
                let done = batch.last().map_or(0, |chunk| block.first_document() + chunk.end as u64);
                if progress(Step::Documents.at(done, total)).is_break() {
                    return Err(Error::Interrupted);
                }
            }
            if let Some(to) = prefetch {
                read(i + 1, to)?;
            }
            std::mem::swap(&mut current, &mut next);
        }
        Ok(())
    }

    /// Infers document number `d` (from 0) only. Returns `None` if there is no such document.
    pub fn document<T>(&self, d: u64, f: impl FnOnce(&Mixture<'_>) -> T) -> Result<Option<T>> {
        let mut worker = InferenceWorker::new(Inferencer::new(self.model, self.inference)?);
        let mut read = LoadedBlock::default();
        let Some(i) = self.corpus.block_of(d) else { return Ok(None) };
        read.load(&mut self.corpus.reader(), i, self.labels)?;
        let within = (d - read.block.first_document()) as usize;
        let mut found = None;
        self.infer_document(&mut worker, &read, within, |mixture| {
            found = Some(f(mixture));
            Ok(())
        })?;
        Ok(found)
    }

    fn infer_document(
        &self,
        worker: &mut InferenceWorker<'_>,
        loaded: &LoadedBlock,
        d: usize,
        work: impl FnOnce(&Mixture<'_>) -> Result<()>,
    ) -> Result<()> {
        let InferenceWorker { inferencer, buffer, proportions } = worker;
        let block = &loaded.block;
        let number = block.first_document() + d as u64;
        let dropped = loaded.tokens_unknown.get(d).copied().unwrap_or(0);
        let tokens_unknown = u64::from(dropped) + self.known.known_words(block.document(d), buffer);
        let document = buffer.document();
        let tokens = document.tokens();
        let theta = if tokens > 0 { inferencer.theta(number, document)? } else { inferencer.empty_theta() };
        let alpha = self.model.alpha();
        let total = tokens as f64 + alpha.iter().map(|&a| f64::from(a)).sum::<f64>();
        fill_proportions(theta, alpha, total, proportions);
        let labels = loaded.labels.row(d);
        work(&Mixture {
            number,
            name: loaded.names.get(d as u32).unwrap_or_default(),
            labels: &labels,
            date: loaded.dates.get(d as u32).unwrap_or_default(),
            document,
            tokens,
            tokens_unknown,
            theta,
            proportions,
        })
    }
}

/// Replaces `proportions` with (theta\[k\] + alpha\[k\]) / total.
pub(crate) fn fill_proportions(theta: &[f32], alpha: &[f32], total: f64, proportions: &mut Vec<f32>) {
    let counts = theta.iter().zip(alpha);
    proportions.clear();
    proportions.extend(counts.map(|(&n, &a)| ((f64::from(n) + f64::from(a)) / total) as f32));
}

impl<'m> InferenceWorker<'m> {
    fn new(inferencer: Inferencer<'m>) -> InferenceWorker<'m> {
        InferenceWorker { inferencer, buffer: DocumentBuffer::default(), proportions: Vec::new() }
    }
}

/// Splits a range into parts of at most `max_length` elements.
fn split_range(range: Range<usize>, max_length: usize) -> impl Iterator<Item = Range<usize>> {
    range.clone().step_by(max_length).map(move |from| from..(from + max_length).min(range.end))
}
