//! Shared part of the synchronous algorithms whose messages are products, `eta[k]` ~ `row[w,k]` *
//! `t[d,k]`: documents are updated with the topics held fixed (`document`), and their contributions
//! to words are accumulated as `G[w,:]` += r * `t[d,:]`.
//!
//! Memory: phi and G, W x K each, and t of the documents being updated. Start reading at
//! [`Accumulator::update_piece`].

use super::document::{DocumentFailure, DocumentUpdater};
use crate::algorithms::dense::phases::{DocumentChunk, GROUPS, PhaseRunner, WordEntry, split_by_sizes};
use crate::algorithms::piece::PieceView;
use crate::algorithms::{Fault, Setup};
use crate::corpus::Document;
use crate::error::Result;
use crate::sections::{SectionReader, SectionWriter};
use crate::simd::{Kernel, Lanes, flat, flat_mut};
use crate::topics::{Matrix, Topics, heavy_words, stride};

/// Sums of rows by word, computed on threads. Heavy words are summed in f64.
#[derive(Debug)]
pub(crate) struct WordSums {
    pub(crate) rows: Matrix,
    /// Heavy words, with the sums moved out of their rows before these grow too large to add to.
    heavy: Vec<(u32, Vec<f64>)>,
}

impl WordSums {
    pub(crate) fn new(topics: &Topics, word_tokens: &[u64]) -> Result<WordSums> {
        let width = topics.lambda.len();
        let heavy = heavy_words(word_tokens).map(|w| (w, vec![0.0; width])).collect();
        Ok(WordSums { rows: Matrix::zeros(topics.words(), topics.count)?, heavy })
    }

    pub(crate) fn clear(&mut self, phases: &PhaseRunner) {
        phases.for_each_group(&mut self.rows, |_, mut part| {
            part.iter_mut().for_each(|(_, row)| row.fill(Lanes::ZERO));
        });
        for (_, sums) in &mut self.heavy {
            sums.fill(0.0);
        }
    }

    /// Calls `add(entry, row)` for every non-zero of the documents loaded in `phases`.
    pub(crate) fn add(&mut self, phases: &PhaseRunner, add: impl Fn(&WordEntry, &mut [Lanes]) + Sync) {
        phases.process_words(&mut self.rows, |part, entries| {
            entries.for_each(|entry| add(entry, part.row_mut(entry.word)));
        });
        for (w, sums) in &mut self.heavy {
            let row = self.rows.row_mut(*w);
            for (sum, &g) in sums.iter_mut().zip(flat(row)) {
                *sum += f64::from(g);
            }
            row.fill(Lanes::ZERO);
        }
    }

    /// Completes the rows, after the last documents.
    pub(crate) fn finish(&mut self) {
        for (w, sums) in &self.heavy {
            for (g, &sum) in flat_mut(self.rows.row_mut(*w)).iter_mut().zip(sums) {
                *g = sum as f32;
            }
        }
    }

    /// Clears the sums of heavy words, after the caller has cleared the rows.
    pub(crate) fn clear_heavy(&mut self) {
        self.heavy.iter_mut().for_each(|(_, sums)| sums.fill(0.0));
    }

    pub(crate) fn save(&self, out: &mut SectionWriter) -> Result<()> {
        self.rows.save(out)?;
        self.heavy.iter().try_for_each(|(_, sums)| out.numbers(sums))
    }

    pub(crate) fn restore(&mut self, from: &mut SectionReader) -> Result<()> {
        self.rows.restore(from)?;
        self.heavy.iter_mut().try_for_each(|(_, sums)| from.numbers(sums.len(), sums))
    }
}

/// Contributions of documents to their words: t of each document and r of each non-zero.
#[derive(Debug, Default)]
pub(crate) struct WordContributions {
    stride: usize,
    t: Vec<Lanes>,
    r: Vec<f32>,
}

/// The contributions that one chunk writes.
#[derive(Debug)]
pub(crate) struct ChunkContributions<'a> {
    t: std::slice::ChunksExactMut<'a, Lanes>,
    r: &'a mut [f32],
}

impl ChunkContributions<'_> {
    /// Stores t and r of the next document.
    pub(crate) fn record(&mut self, updater: &DocumentUpdater) {
        let (last_t, last_r) = updater.last_ratios();
        if let Some(t) = self.t.next() {
            t.copy_from_slice(last_t);
        }
        let (head, tail) = std::mem::take(&mut self.r).split_at_mut(last_r.len());
        head.copy_from_slice(last_r);
        self.r = tail;
    }

    /// Skips the next document, which has no words.
    pub(crate) fn skip(&mut self) {
        self.t.next();
    }
}

impl WordContributions {
    /// Allocates space for the documents loaded in `phases` and returns it by chunk.
    pub(crate) fn split_by_chunk(
        &mut self,
        phases: &PhaseRunner,
        stride: usize,
    ) -> Vec<ChunkContributions<'_>> {
        let sizes = || phases.chunks().iter().map(DocumentChunk::size);
        self.stride = stride;
        self.t.resize(sizes().map(|(documents, _, _)| documents * stride).sum(), Lanes::ZERO);
        self.r.resize(sizes().map(|(_, nonzeros, _)| nonzeros).sum(), 0.0);
        let t = split_by_sizes(&mut self.t, sizes().map(|(documents, _, _)| documents * stride));
        let r = split_by_sizes(&mut self.r, sizes().map(|(_, nonzeros, _)| nonzeros));
        t.into_iter().zip(r).map(|(t, r)| ChunkContributions { t: t.chunks_exact_mut(stride), r }).collect()
    }

    /// Computes G += r * t, word by word.
    pub(crate) fn gather(&self, phases: &PhaseRunner, kernel: Kernel, to: &mut WordSums) {
        to.add(phases, |entry, row| {
            let from = entry.document as usize * self.stride;
            kernel.axpy(self.r[entry.nonzero as usize], &self.t[from..from + self.stride], row);
        });
    }
}

/// Updates documents and accumulates their contributions to words.
#[derive(Debug)]
pub(crate) struct Accumulator {
    phases: PhaseRunner,
    kernel: Kernel,
    inverse: Vec<Lanes>,
    gathered: WordSums,
    contributions: WordContributions,
    /// Sum of theta over all documents, if it is needed.
    pub(crate) totals: Option<Vec<f64>>,
}

/// A document to be updated, with its theta and buffers.
pub(crate) struct UpdateTask<'a, 'b> {
    pub(crate) updater: &'a mut DocumentUpdater,
    pub(crate) document: Document<'b>,
    pub(crate) theta: &'a mut [f32],
}

impl Accumulator {
    pub(crate) fn new(topics: &Topics, setup: &Setup) -> Result<Accumulator> {
        Ok(Accumulator {
            phases: PhaseRunner::new(&setup.word_tokens, GROUPS, &setup.threads),
            kernel: setup.kernel,
            inverse: Vec::new(),
            gathered: WordSums::new(topics, &setup.word_tokens)?,
            contributions: WordContributions::default(),
            totals: None,
        })
    }

    /// Calls `each(word, row)` for every row of a matrix, on threads.
    pub(crate) fn for_each_row(&self, matrix: &mut Matrix, each: impl Fn(u32, &mut [Lanes]) + Sync) {
        self.phases.for_each_group(matrix, |_, mut part| part.iter_mut().for_each(|(w, row)| each(w, row)));
    }

    /// Prepares a pass.
    pub(crate) fn begin(&mut self, topics: &Topics) {
        topics.inverse(&mut self.inverse);
        self.gathered.clear(&self.phases);
        if let Some(totals) = &mut self.totals {
            totals.fill(0.0);
        }
    }

    /// Updates the documents of a piece: `each(task, inverse)` updates one, and leaves t and r for
    /// its words in the step. Returns the sum of its results.
    pub(crate) fn update_piece(
        &mut self,
        topics: &Topics,
        view: PieceView<'_>,
        each: impl Fn(UpdateTask<'_, '_>, &[Lanes]) -> Result<f64, DocumentFailure> + Sync + Send,
    ) -> Result<f64, Fault> {
        let (block, kept) = view.into_rows();
        let (count, stride) = (topics.count as usize, stride(topics.count));
        let mut sum = 0f64;
        let mut theta = kept.theta();
        for range in PhaseRunner::batches(block) {
            let (now, rest) = theta.split_at_mut(range.len() * count);
            theta = rest;
            let Accumulator { phases, contributions, inverse, kernel, gathered, totals } = self;
            phases.load(block, range);
            let of_theta = phases.chunks().iter().map(|chunk| chunk.size().0 * count);
            let own = split_by_sizes(&mut *now, of_theta)
                .into_iter()
                .zip(contributions.split_by_chunk(phases, stride))
                .collect();
            sum += phases.process_documents(
                own,
                || DocumentUpdater::new(topics.count, *kernel),
                |chunk, (theta, mut contributions), updater| {
                    let mut sum = 0f64;
                    for ((number, document), theta) in chunk.iter(block).zip(theta.chunks_exact_mut(count)) {
                        if document.words.is_empty() {
                            contributions.skip();
                            continue;
                        }
                        sum += each(UpdateTask { updater: &mut *updater, document, theta }, inverse)
                            .map_err(|bad| (number, bad))?;
                        contributions.record(updater);
                    }
                    Ok(sum)
                },
            )?;
            contributions.gather(phases, *kernel, gathered);
            if let Some(totals) = totals {
                for theta in now.chunks_exact(count) {
                    totals.iter_mut().zip(theta).for_each(|(sum, &v)| *sum += f64::from(v));
                }
            }
        }
        Ok(sum)
    }

    /// Frees the buffers of a piece. The sums stay, since a checkpoint may still need them.
    pub(crate) fn free_buffers(&mut self) {
        self.phases.free_buffers();
        self.contributions = WordContributions::default();
    }

    /// Calls `each` for every document of a piece without accumulating anything. Returns the sum of
    /// its results.
    pub(crate) fn evaluate_piece(
        &mut self,
        topics: &Topics,
        view: PieceView<'_>,
        each: impl Fn(UpdateTask<'_, '_>) -> Result<f64, DocumentFailure> + Sync + Send,
    ) -> Result<f64, Fault> {
        let (block, kept) = view.into_rows();
        let (count, mut theta, mut sum) = (topics.count as usize, kept.theta(), 0f64);
        for range in PhaseRunner::batches(block) {
            let (now, rest) = theta.split_at_mut(range.len() * count);
            theta = rest;
            let Accumulator { phases, kernel, .. } = self;
            phases.load(block, range);
            let own = split_by_sizes(now, phases.chunks().iter().map(|chunk| chunk.size().0 * count));
            sum += phases.process_documents(
                own,
                || DocumentUpdater::new(topics.count, *kernel),
                |chunk, theta, updater| {
                    let documents = chunk.iter(block).zip(theta.chunks_exact_mut(count));
                    documents.filter(|((_, document), _)| !document.words.is_empty()).try_fold(
                        0f64,
                        |sum, ((number, document), theta)| {
                            let more = each(UpdateTask { updater: &mut *updater, document, theta });
                            more.map(|more| sum + more).map_err(|bad| (number, bad))
                        },
                    )
                },
            )?;
        }
        Ok(sum)
    }

    /// Finishes a pass: phi = rows * G, with phi + beta if no rows are given. No entry is below
    /// `minimum`.
    pub(crate) fn end(&mut self, topics: &mut Topics, rows: Option<&Matrix>, minimum: f32) {
        self.gathered.finish();
        let (beta, count) = (topics.beta, topics.count as usize);
        self.phases.for_each_group_pair(
            &mut topics.phi,
            &mut self.gathered.rows,
            |_, mut phi, mut gathered| {
                for ((w, phi), (_, gathered)) in phi.iter_mut().zip(gathered.iter_mut()) {
                    let phi = &mut flat_mut(phi)[..count];
                    match rows {
                        None => phi.iter_mut().for_each(|phi| *phi += beta),
                        Some(rows) => phi.copy_from_slice(&flat(rows.row(w))[..count]),
                    }
                    for (phi, &g) in phi.iter_mut().zip(flat(gathered)) {
                        *phi = (*phi * g).max(minimum);
                    }
                }
            },
        );
        topics.sum_lambda();
    }

    pub(crate) fn save(&self, out: &mut SectionWriter) -> Result<()> {
        self.gathered.save(out)?;
        self.totals.iter().try_for_each(|totals| out.numbers(totals))
    }

    pub(crate) fn restore(&mut self, topics: &Topics, from: &mut SectionReader) -> Result<()> {
        self.gathered.restore(from)?;
        if let Some(totals) = &mut self.totals {
            from.numbers(totals.len(), totals)?;
        }
        topics.inverse(&mut self.inverse);
        Ok(())
    }
}
