//! Collapsed Gibbs sampling (GS), sequential and parallel (PGS).
//!
//! ```text
//! for each token with label z, of word w in document d:
//!     subtract it from phi[w,z], theta[d,z], lambda[z]
//!     sample k with weights eta[k] = (phi[w,k]+beta)/(lambda[k]+W*beta) * (theta[d,k]+alpha[k])
//!     add it to phi[w,k], theta[d,k], lambda[k]
//! ```
//! All K weights are computed, sixteen at a time (`Kernel::sample_topic`): for some hundred topics
//! this is faster than sparse sampling or alias tables, and it is exact. With `t[k]` =
//! (`theta[d,k]`+`alpha[k]`)/(`lambda[k]`+W*beta) a weight is one multiply-add. The token is not
//! removed from the rows first; instead the weight of its own topic is corrected, since most labels
//! do not change.
//!
//! Parallel execution: documents are divided into 16 chunks and words into 16 groups. In round e,
//! chunk r processes the words of group r+e, so no two threads share a row of theta or phi. Only
//! lambda is local to each chunk within a round and merged after it. A single thread does the same,
//! so labels are bit-identical for any number of threads.
//!
//! phi is that of the last sample, or the mean of `samples` samples taken evenly after `burn_in`
//! passes.
//!
//! Memory: two bytes per token for labels; phi once, or twice if samples are averaged. Cost: one
//! multiply-add and three other operations per (token, topic). The log-likelihood is a by-product
//! of s, the sum of eta with the token itself included.

use super::document::{DocumentFailure, LogSum, NotANumber};
use crate::algorithms::dense::phases::{DocumentChunk, PhaseRunner, WordEntry, split_by_sizes};
use crate::algorithms::piece::{PieceView, StateKind};
use crate::algorithms::{Capabilities, Fault, PieceStats, Setup, Updater};
use crate::corpus::{Block, Document};
use crate::error::{Error, Result};
use crate::random::{Purpose, Random};
use crate::sections::{SectionReader, SectionWriter};
use crate::simd::{Kernel, Lanes, Token, flat, flat_mut, prefetch};
use crate::topics::{Matrix, MatrixRows, Topics, stride};

pub(crate) const CAPABILITIES: Capabilities = Capabilities {
    matrices: 1,
    rows_per_group: 1,
    state: StateKind::Labels,
    noisy: true,
    // Counts are integers stored in f32.
    max_word_tokens: Some(MAX_COUNT),
    max_topics: Some(1 << 16),
    ..Capabilities::PLAIN
};

/// Limit up to which f32 represents all integers.
const MAX_COUNT: u64 = 1 << 24;
/// Number of chunks of documents and of groups of words.
const CHUNKS: usize = 16;

#[derive(Debug)]
pub(crate) struct Gibbs {
    phases: PhaseRunner,
    kernel: Kernel,
    seed: u64,
    passes: u32,
    /// Passes after which samples are taken.
    samples: Vec<u32>,
    /// Sum of the samples taken so far, if samples are averaged.
    sum: Option<Matrix>,
    /// Number of samples taken.
    samples_taken: u32,
    /// theta of the documents being sampled.
    theta: Vec<Lanes>,
}

/// State of a chunk: theta and labels of its documents, and its local lambda.
struct ChunkState<'a> {
    theta: &'a mut [Lanes],
    labels: &'a mut [u16],
    lambda: Vec<f32>,
    inverse: Vec<Lanes>,
    change: Vec<i32>,
}

/// Buffers of a thread.
struct GibbsRows {
    t: Vec<Lanes>,
    weights: Vec<Lanes>,
}

/// Everything besides the state of a chunk that sampling needs.
struct TopicSampler<'a> {
    kernel: Kernel,
    topics: &'a FixedTopics<'a>,
    block: &'a Block,
    /// Number in the block of the first document being sampled.
    from: usize,
    seed: u64,
    pass: u32,
}

/// The parts of the topics that do not change.
struct FixedTopics<'a> {
    alpha: &'a [Lanes],
    beta: f32,
    beta_sum: f32,
    bounds: &'a [u32],
}

impl Gibbs {
    pub(crate) fn new(topics: &Topics, setup: &Setup) -> Result<Gibbs> {
        let samples = setup.settings.sampled_passes();
        let sum = if samples.len() > 1 { Some(Matrix::zeros(topics.words(), topics.count)?) } else { None };
        Ok(Gibbs {
            phases: PhaseRunner::new(&setup.word_tokens, CHUNKS, &setup.threads),
            kernel: setup.kernel,
            seed: setup.settings.seed_value(),
            passes: 0,
            samples,
            sum,
            samples_taken: 0,
            theta: Vec::new(),
        })
    }
}

/// Computes theta of a chunk's documents from their labels. Returns the part of the log-likelihood
/// that normalizes the sums of weights to probabilities.
fn count_labels(
    chunk: &DocumentChunk,
    block: &Block,
    theta: &mut [Lanes],
    labels: &[u16],
    alpha_sum: f64,
) -> Result<f64, Fault> {
    theta.fill(Lanes::ZERO);
    let width = theta.len() / chunk.documents.len().max(1);
    let (mut labels, mut less) = (labels, 0f64);
    for ((number, document), theta) in chunk.iter(block).zip(theta.chunks_exact_mut(width.max(1))) {
        let n = document.tokens();
        check_token_count(number, n).map_err(|bad| (number, bad))?;
        let (own, rest) = labels.split_at(n as usize);
        labels = rest;
        let theta = flat_mut(theta);
        for &z in own {
            theta[usize::from(z)] += 1.0;
        }
        less -= n as f64 * libm::log(n as f64 + alpha_sum);
    }
    Ok(less)
}

/// Returns an error if a document has too many tokens to count one by one in f32.
fn check_token_count(number: u64, tokens: u64) -> Result<(), DocumentFailure> {
    if tokens < MAX_COUNT {
        return Ok(());
    }
    let reason = format!(
        "document {} has {tokens} tokens, and documents must have fewer than {MAX_COUNT}",
        number + 1
    );
    let error = Error::unsupported_value("algorithm", "gibbs", reason).with_remedy(
        "remove the document, train with {algorithm=tbp} or {algorithm=atbp}, or infer with {inference=same}",
    );
    Err(error.into())
}

impl TopicSampler<'_> {
    /// Samples new labels for a chunk's tokens of a group of words.
    fn sample_cell(
        &self,
        chunk: &DocumentChunk,
        entries: &[WordEntry],
        own: &mut ChunkState<'_>,
        phi: &mut MatrixRows<'_>,
        rows: &mut GibbsRows,
    ) -> Result<f64, Fault> {
        let FixedTopics { alpha, beta, beta_sum, bounds } = *self.topics;
        let stride = rows.t.len();
        let first = chunk.documents.start - self.from;
        let group = bounds.partition_point(|&bound| bound <= entries[0].word) as u64;
        let flat_alpha = flat(alpha);
        let mut log_sum = LogSum::new();
        let ChunkState { theta, labels, lambda, inverse, change } = own;
        for of_document in entries.chunk_by(|a, b| a.document == b.document) {
            let d = of_document[0].document as usize;
            let number = self.block.number(self.from + d);
            let key = u64::from(self.pass) * CHUNKS as u64 + group - 1;
            let mut random = Random::new(self.seed, Purpose::TokenTopic, number ^ key << 40);
            let theta = &mut theta[(d - first) * stride..(d - first + 1) * stride];
            for (((t, theta), alpha), inverse) in rows.t.iter_mut().zip(&*theta).zip(alpha).zip(&*inverse) {
                for i in 0..t.0.len() {
                    t.0[i] = (theta.0[i] + alpha.0[i]) * inverse.0[i];
                }
            }
            for (i, entry) in of_document.iter().enumerate() {
                if let Some(ahead) = of_document.get(i + 2) {
                    prefetch(phi.row_mut(ahead.word));
                }
                let row = phi.row_mut(entry.word);
                let from = entry.token as usize;
                for (i, label) in labels[from..from + entry.count as usize].iter_mut().enumerate() {
                    let z = usize::from(*label);
                    let theta = flat_mut(theta);
                    let weight = (flat(row)[z] - 1.0 + beta) * (theta[z] - 1.0 + flat_alpha[z])
                        / (lambda[z] - 1.0 + beta_sum);
                    let token = Token { own: z, weight, u: random.unit() as f32 };
                    let (k, s) = self.kernel.sample_topic(row, &rows.t, beta, token, &mut rows.weights);
                    if i == 0 {
                        if !(s.is_finite() && s > 0.0) {
                            return Err((number, NotANumber(s).into()));
                        }
                        log_sum.add(entry.count, s);
                    }
                    if k == z {
                        continue;
                    }
                    *label = k as u16;
                    let t = flat_mut(&mut rows.t);
                    for (k, one) in [(z, -1.0f32), (k, 1.0)] {
                        flat_mut(row)[k] += one;
                        theta[k] += one;
                        lambda[k] += one;
                        change[k] += one as i32;
                        let inverted = 1.0 / (lambda[k] + beta_sum);
                        flat_mut(inverse)[k] = inverted;
                        t[k] = (theta[k] + flat_alpha[k]) * inverted;
                    }
                }
            }
        }
        Ok(log_sum.total())
    }
}

/// Copies the global lambda to a chunk.
fn copy_lambda(lambda: &[f64], beta_sum: f32, own: &mut ChunkState<'_>) {
    for (own, &lambda) in own.lambda.iter_mut().zip(lambda) {
        *own = lambda as f32;
    }
    for (inverse, &lambda) in flat_mut(&mut own.inverse).iter_mut().zip(&own.lambda) {
        *inverse = 1.0 / (lambda + beta_sum);
    }
}

impl Updater for Gibbs {
    fn piece(&mut self, topics: &mut Topics, view: PieceView<'_>) -> Result<PieceStats, Fault> {
        let Gibbs { phases, kernel, seed, passes, theta, .. } = self;
        let (block, kept) = view.into_rows();
        let mut labels = kept.labels();
        let (stride, width) = (stride(topics.count), topics.lambda.len());
        let (alpha_sum, beta_sum) = (topics.alpha_sum, topics.beta_sum() as f32);
        let Topics { phi, lambda, alpha, beta, .. } = topics;
        let mut sum = 0f64;
        for range in PhaseRunner::batches(block) {
            phases.load(block, range.clone());
            let sizes = || phases.chunks().iter().map(DocumentChunk::size);
            let tokens = sizes().map(|(_, _, tokens)| tokens).sum();
            let (now, later) = std::mem::take(&mut labels).split_at_mut(tokens);
            labels = later;
            theta.resize(range.len() * stride, Lanes::ZERO);
            let mut own: Vec<ChunkState<'_>> =
                split_by_sizes(theta, sizes().map(|(documents, _, _)| documents * stride))
                    .into_iter()
                    .zip(split_by_sizes(now, sizes().map(|(_, _, tokens)| tokens)))
                    .map(|(theta, labels)| ChunkState {
                        theta,
                        labels,
                        lambda: vec![0.0; width],
                        inverse: vec![Lanes::ZERO; stride],
                        change: vec![0; width],
                    })
                    .collect();
            let one_by_one = own.iter_mut().collect();
            sum += phases.process_documents(
                one_by_one,
                || (),
                |chunk, own: &mut ChunkState<'_>, ()| {
                    count_labels(chunk, block, own.theta, own.labels, alpha_sum)
                },
            )?;
            for own in &mut own {
                copy_lambda(lambda, beta_sum, own);
            }
            let fixed = FixedTopics { alpha, beta: *beta, beta_sum, bounds: phases.bounds() };
            let sampler = TopicSampler {
                kernel: *kernel,
                topics: &fixed,
                block,
                from: range.start,
                seed: *seed,
                pass: *passes,
            };
            sum += phases.process_diagonals(
                phi,
                &mut own,
                || GibbsRows { t: vec![Lanes::ZERO; stride], weights: vec![Lanes::ZERO; stride] },
                |chunk, entries, own, part, rows| sampler.sample_cell(chunk, entries, own, part, rows),
                |own| {
                    for own in own.iter_mut() {
                        for (lambda, change) in lambda.iter_mut().zip(&mut own.change) {
                            *lambda += f64::from(std::mem::take(change));
                        }
                    }
                    for own in own {
                        copy_lambda(lambda, beta_sum, own);
                    }
                },
            )?;
        }
        Ok(PieceStats::of(sum))
    }

    fn end(&mut self, topics: &mut Topics) -> Result<()> {
        self.passes += 1;
        if let Some(sum) = self.sum.as_mut().filter(|_| self.samples.contains(&self.passes)) {
            self.samples_taken += 1;
            self.phases.for_each_group_pair(sum, &mut topics.phi, |_, mut sum, mut phi| {
                for ((_, sum), (_, phi)) in sum.iter_mut().zip(phi.iter_mut()) {
                    flat_mut(sum).iter_mut().zip(flat(phi)).for_each(|(sum, &phi)| *sum += phi);
                }
            });
        }
        Ok(())
    }

    fn topic_row(&mut self, topics: &Topics, word: u32, to: &mut [f32]) -> Result<()> {
        match &self.sum {
            Some(sum) if self.samples_taken > 0 => {
                let row = flat(sum.row(word));
                to.iter_mut().zip(row).for_each(|(to, &sum)| *to = sum / self.samples_taken as f32);
            }
            _ => to.copy_from_slice(&flat(topics.phi.row(word))[..to.len()]),
        }
        Ok(())
    }

    fn finish(&mut self) {
        self.phases.free_buffers();
        self.theta = Vec::new();
    }

    fn save(&self, topics: &Topics, out: &mut SectionWriter) -> Result<()> {
        topics.save(out)?;
        out.numbers(&[self.passes, self.samples_taken])?;
        self.sum.iter().try_for_each(|sum| sum.save(out))
    }

    fn restore(&mut self, topics: &mut Topics, from: &mut SectionReader) -> Result<()> {
        topics.restore(from)?;
        let mut numbers: Vec<u32> = Vec::new();
        from.numbers(2, &mut numbers)?;
        (self.passes, self.samples_taken) = (numbers[0], numbers[1]);
        self.sum.iter_mut().try_for_each(|sum| sum.restore(from))
    }
}

/// Inference for new documents: labels are sampled with phi held fixed, and theta is the mean of
/// samples.
#[derive(Debug, Clone)]
pub(super) struct GibbsInference<'m> {
    topics: &'m Topics,
    kernel: Kernel,
    inverse: Vec<Lanes>,
    theta: Vec<Lanes>,
    t: Vec<Lanes>,
    weights: Vec<Lanes>,
    labels: Vec<u32>,
}

/// Number of passes over the tokens of a new document.
const NEW_PASSES: u32 = 100;
/// Number of final passes over a new document that are averaged.
const NEW_SAMPLES: u32 = 50;

impl<'m> GibbsInference<'m> {
    pub(crate) fn new(topics: &'m Topics, kernel: Kernel) -> GibbsInference<'m> {
        let mut inverse = Vec::new();
        topics.inverse(&mut inverse);
        let row = || vec![Lanes::ZERO; stride(topics.count)];
        GibbsInference { topics, kernel, inverse, theta: row(), t: row(), weights: row(), labels: Vec::new() }
    }
}

impl crate::algorithms::DocumentInference for GibbsInference<'_> {
    fn boxed_clone<'a>(&self) -> Box<dyn crate::algorithms::DocumentInference + 'a>
    where
        Self: 'a,
    {
        Box::new(self.clone())
    }

    fn theta(&mut self, d: u64, document: Document<'_>, theta: &mut [f32]) -> Result<(), DocumentFailure> {
        check_token_count(d, document.tokens())?;
        let GibbsInference { topics, kernel, inverse, theta: counts, t, weights, labels } = self;
        // Independent of the random numbers of training, but the same every time.
        let mut random = Random::new(0, Purpose::TokenTopic, d);
        labels.clear();
        counts.fill(Lanes::ZERO);
        for _ in 0..document.tokens() {
            let k = random.below(u64::from(topics.count)) as u32;
            flat_mut(counts)[k as usize] += 1.0;
            labels.push(k);
        }
        super::document::mean_weighting(*kernel, &flat(counts)[..theta.len()], &topics.alpha, inverse, t);
        theta.fill(0.0);
        for pass in 0..NEW_PASSES {
            let mut labels = labels.iter_mut();
            for (&w, &x) in document.words.iter().zip(document.counts) {
                let phi = topics.phi.row(w);
                for label in labels.by_ref().take(x as usize) {
                    let z = *label as usize;
                    let weight_of =
                        |count: f32, k: usize| (count + flat(&topics.alpha)[k]) * flat(inverse)[k];
                    let weight = (flat(phi)[z] + topics.beta) * weight_of(flat(counts)[z] - 1.0, z);
                    let token = Token { own: z, weight, u: random.unit() as f32 };
                    let (k, s) = kernel.sample_topic(phi, t, topics.beta, token, weights);
                    if !(s.is_finite() && s > 0.0) {
                        return Err(NotANumber(s).into());
                    }
                    if k != z {
                        *label = k as u32;
                        for (k, one) in [(z, -1.0), (k, 1.0)] {
                            flat_mut(counts)[k] += one;
                            flat_mut(t)[k] = weight_of(flat(counts)[k], k);
                        }
                    }
                }
            }
            if pass >= NEW_PASSES - NEW_SAMPLES {
                let share = 1.0 / NEW_SAMPLES as f32;
                theta.iter_mut().zip(flat(counts)).for_each(|(theta, &n)| *theta += n * share);
            }
        }
        Ok(())
    }
}
