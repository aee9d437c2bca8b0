//! Belief propagation (BP), synchronous (`bp`) and asynchronous (`abp`).
//!
//! ```text
//! own[k] = x*mu[w,d](k)
//! eta[k] = (phi[w,k]-own[k]+beta)/(lambda[k]-own[k]+W*beta) * (theta[d,k]-own[k]+alpha[k])
//! mu_new[w,d](k) = eta[k]/sum(eta)
//! bp:  phi_new[w,:], theta_new[d,:], lambda_new += x*mu_new, from the values of the last pass
//! abp: phi[w,:], theta[d,:], lambda += x*(mu_new - mu), immediately;
//!      documents are visited in a random order, which is drawn once
//! ```
//! Memory: a message of K 16-bit numbers for every non-zero; phi once (abp) or twice (bp); theta.
//! Cost: about twenty-five operations per (non-zero, topic), without a division if a message is a
//! small part of its topic. The latency is dominated by the dependency of one word's message on the
//! previous one: the sum over topics, and the change of theta.
//!
//! A message changes little compared to lambda, so lambda is in f64 between documents: a document
//! changes it by the change of its theta.

use super::document::{DocumentFailure, LogSum, NotANumber};
use super::gather::WordSums;
use crate::algorithms::dense::phases::{DocumentChunk, GROUPS, PhaseRunner, split_by_sizes};
use crate::algorithms::piece::{PieceView, StateKind};
use crate::algorithms::{Capabilities, Fault, PieceStats, Setup, Updater};
use crate::corpus::Document;
use crate::error::Result;
use crate::sections::{SectionReader, SectionWriter};
use crate::simd::{ExclusionRows, Halves, Kernel, LANES, Lanes, MessageUpdate, flat, flat_mut, prefetch};
use crate::topics::{Topics, heavy_words, stride};
use std::collections::HashMap;

pub(crate) const CAPABILITIES: Capabilities =
    Capabilities { matrices: 2, state: StateKind::Messages, disk: false, ..Capabilities::PLAIN };
pub(crate) const CAPABILITIES_ASYNCHRONOUS: Capabilities =
    Capabilities { matrices: 1, shuffles: true, threads: false, ..CAPABILITIES };

/// Computes -(lambda + W*beta) and the inverse of lambda + W*beta, as the kernel expects them.
fn compute_totals(topics: &Topics, negative_total: &mut Vec<Lanes>, inverse: &mut Vec<Lanes>) {
    let beta_sum = topics.beta_sum();
    topics.inverse(inverse);
    flat_mut(inverse)[topics.lambda.len()..].fill(1.0);
    negative_total.clear();
    negative_total.resize(stride(topics.count), Lanes([-1.0; LANES]));
    for (negative_total, &lambda) in flat_mut(negative_total).iter_mut().zip(&topics.lambda) {
        *negative_total = -(lambda + beta_sum) as f32;
    }
}

/// Computes t = theta + alpha.
fn add_alpha(theta: &[f32], alpha: &[Lanes], t: &mut [Lanes]) {
    for (t, (&theta, &alpha)) in flat_mut(t).iter_mut().zip(theta.iter().zip(flat(alpha))) {
        *t = theta + alpha;
    }
}

/// Returns r = 1/sum(eta), or an error if it is not positive and finite.
fn checked_inverse(sum: f32) -> Result<f32, NotANumber> {
    let r = 1.0 / sum;
    if r.is_finite() && r > 0.0 { Ok(r) } else { Err(NotANumber(sum)) }
}

/// Buffers for the update of a document.
#[derive(Debug, Clone)]
struct BpRows {
    /// theta + alpha.
    t: Vec<Lanes>,
    new: Vec<Lanes>,
    mean: Vec<Lanes>,
    eta: Vec<Lanes>,
    /// A message before its update.
    old: Vec<Halves>,
}

impl BpRows {
    fn new(topics: u32) -> BpRows {
        let row = || vec![Lanes::ZERO; stride(topics)];
        BpRows { t: row(), new: row(), mean: row(), eta: row(), old: vec![Halves::ZERO; stride(topics)] }
    }
}

/// Synchronous belief propagation.
#[derive(Debug)]
pub(crate) struct Bp {
    phases: PhaseRunner,
    kernel: Kernel,
    sums: WordSums,
    negative_total: Vec<Lanes>,
    inverse: Vec<Lanes>,
}

impl Bp {
    pub(crate) fn new(topics: &Topics, setup: &Setup) -> Result<Bp> {
        Ok(Bp {
            phases: PhaseRunner::new(&setup.word_tokens, GROUPS, &setup.threads),
            kernel: setup.kernel,
            sums: WordSums::new(topics, &setup.word_tokens)?,
            negative_total: Vec::new(),
            inverse: Vec::new(),
        })
    }

    /// Updates the messages and theta of a document. Returns its log-likelihood before the update.
    fn document(
        &self,
        topics: &Topics,
        document: Document<'_>,
        (theta, messages): (&mut [f32], &mut [Halves]),
        rows: &mut BpRows,
    ) -> Result<f64, NotANumber> {
        let stride = self.negative_total.len();
        add_alpha(theta, &topics.alpha, &mut rows.t);
        rows.new.fill(Lanes::ZERO);
        super::document::mean_weighting(self.kernel, theta, &topics.alpha, &self.inverse, &mut rows.mean);
        let smooth = topics.beta * self.kernel.sum(&rows.mean);
        let least = topics.beta_sum() as f32;
        let mut log_sum = LogSum::new();
        let words = document.words.iter().zip(document.counts);
        for (i, ((&w, &x), message)) in words.zip(messages.chunks_exact_mut(stride)).enumerate() {
            if let Some(&ahead) = document.words.get(i + super::document::PREFETCH_DISTANCE) {
                prefetch(topics.phi.row(ahead));
            }
            let phi = topics.phi.row(w);
            log_sum.add(x, self.kernel.dot(phi, &rows.mean) + smooth);
            let from = ExclusionRows {
                phi,
                t: &rows.t,
                negative_total: &self.negative_total,
                inverse: &self.inverse,
                least,
            };
            let sum = self.kernel.exclude(&mut rows.eta, from, message, x as f32, topics.beta);
            self.kernel.replace(message, &rows.eta, checked_inverse(sum)?, x as f32, &mut rows.new);
        }
        theta.copy_from_slice(&flat(&rows.new)[..theta.len()]);
        let n = document.tokens() as f64;
        Ok(log_sum.total() - n * libm::log(n + topics.alpha_sum))
    }
}

impl Updater for Bp {
    fn begin(&mut self, topics: &mut Topics) -> Result<()> {
        compute_totals(topics, &mut self.negative_total, &mut self.inverse);
        self.sums.clear(&self.phases);
        Ok(())
    }

    fn piece(&mut self, topics: &mut Topics, view: PieceView<'_>) -> Result<PieceStats, Fault> {
        let topics = &*topics;
        let (block, kept) = view.into_rows();
        let (count, stride) = (topics.count as usize, stride(topics.count));
        let (mut theta, mut messages) = kept.theta_and_messages();
        let mut sum = 0f64;
        for range in PhaseRunner::batches(block) {
            self.phases.load(block, range.clone());
            let nonzeros: usize = self.phases.chunks().iter().map(|chunk| chunk.size().1).sum();
            let (now, later) = theta.split_at_mut(range.len() * count);
            let (own, others) = messages.split_at_mut(nonzeros * stride);
            (theta, messages) = (later, others);
            let sizes = || self.phases.chunks().iter().map(DocumentChunk::size);
            let of_chunks = split_by_sizes(now, sizes().map(|(documents, _, _)| documents * count))
                .into_iter()
                .zip(split_by_sizes(&mut *own, sizes().map(|(_, nonzeros, _)| nonzeros * stride)))
                .collect();
            sum += self.phases.process_documents(
                of_chunks,
                || BpRows::new(topics.count),
                |chunk, (theta, mut messages), rows| {
                    let mut sum = 0f64;
                    for ((number, document), theta) in chunk.iter(block).zip(theta.chunks_exact_mut(count)) {
                        let (own, rest) =
                            std::mem::take(&mut messages).split_at_mut(document.words.len() * stride);
                        messages = rest;
                        if !document.words.is_empty() {
                            sum += self
                                .document(topics, document, (theta, own), rows)
                                .map_err(|bad| (number, bad.into()))?;
                        }
                    }
                    Ok(sum)
                },
            )?;
            let (own, kernel) = (&*own, self.kernel);
            self.sums.add(&self.phases, |entry, row| {
                let from = entry.nonzero as usize * stride;
                kernel.axpy_halves(entry.count as f32, &own[from..from + stride], row);
            });
        }
        Ok(PieceStats::of(sum))
    }

    fn end(&mut self, topics: &mut Topics) -> Result<()> {
        self.sums.finish();
        std::mem::swap(&mut topics.phi, &mut self.sums.rows);
        topics.sum_lambda();
        Ok(())
    }

    fn finish(&mut self) {
        self.phases.free_buffers();
    }

    fn save(&self, topics: &Topics, out: &mut SectionWriter) -> Result<()> {
        topics.save(out)?;
        self.sums.save(out)
    }

    fn restore(&mut self, topics: &mut Topics, from: &mut SectionReader) -> Result<()> {
        topics.restore(from)?;
        self.sums.restore(from)?;
        compute_totals(topics, &mut self.negative_total, &mut self.inverse);
        Ok(())
    }
}

/// Asynchronous belief propagation.
#[derive(Debug)]
pub(crate) struct Abp {
    kernel: Kernel,
    negative_total: Vec<Lanes>,
    inverse: Vec<Lanes>,
    rows: BpRows,
    heavy_words: Vec<u32>,
    /// Rows of heavy words in f64; phi has their rounded copies.
    heavy: HashMap<u32, Vec<f64>>,
}

impl Abp {
    pub(crate) fn new(topics: &Topics, setup: &Setup) -> Abp {
        let wide = |w| flat(topics.phi.row(w)).iter().map(|&v| f64::from(v)).collect();
        let heavy_words: Vec<u32> = heavy_words(&setup.word_tokens).collect();
        Abp {
            kernel: setup.kernel,
            negative_total: Vec::new(),
            inverse: Vec::new(),
            rows: BpRows::new(topics.count),
            heavy: heavy_words.iter().map(|&w| (w, wide(w))).collect(),
            heavy_words,
        }
    }

    /// Updates the messages and theta of a document, and the topics.
    fn document(
        &mut self,
        topics: &mut Topics,
        document: Document<'_>,
        theta: &mut [f32],
        messages: &mut [Halves],
    ) -> Result<(), NotANumber> {
        compute_totals(topics, &mut self.negative_total, &mut self.inverse);
        let least = topics.beta_sum() as f32;
        let Abp { kernel, negative_total, inverse, rows, heavy, .. } = self;
        add_alpha(theta, &topics.alpha, &mut rows.t);
        let (mut from, end) = (0, document.words.len());
        while from < end {
            // The words up to the next heavy word, or a heavy word alone.
            let light = if heavy.is_empty() {
                end
            } else {
                document.words[from..].iter().take_while(|w| !heavy.contains_key(w)).count()
            };
            let to = if light == 0 { from + 1 } else { end.min(from + light) };
            let (phi, stride) = topics.phi.all_mut();
            let message = &mut messages[from * stride..to * stride];
            let wide = if light == 0 { heavy.get_mut(&document.words[from]) } else { None };
            if wide.is_some() {
                rows.old.copy_from_slice(message);
            }
            let update = MessageUpdate {
                phi,
                stride,
                words: &document.words[from..to],
                counts: &document.counts[from..to],
                messages: &mut *message,
                t: &mut rows.t,
                negative_total,
                eta: &mut rows.eta,
                inverse,
                least,
                beta: topics.beta,
            };
            kernel.update_messages(update).map_err(NotANumber)?;
            if let Some(wide) = wide {
                // The changes of the row are summed in f64.
                let x = f64::from(document.counts[from]);
                let row = flat_mut(topics.phi.row_mut(document.words[from])).iter_mut().zip(wide);
                let messages =
                    message.iter().flat_map(Halves::iter).zip(rows.old.iter().flat_map(Halves::iter));
                for ((narrow, wide), (new, old)) in row.zip(messages) {
                    *wide = (*wide + x * (f64::from(new) - f64::from(old))).max(0.0);
                    *narrow = *wide as f32;
                }
            }
            from = to;
        }
        let new = flat(&rows.t).iter().zip(flat(&topics.alpha)).map(|(&t, &alpha)| (t - alpha).max(0.0));
        for ((theta, new), lambda) in theta.iter_mut().zip(new).zip(&mut topics.lambda) {
            *lambda += f64::from(new) - f64::from(*theta);
            *theta = new;
        }
        Ok(())
    }
}

impl Updater for Abp {
    fn piece(&mut self, topics: &mut Topics, view: PieceView<'_>) -> Result<PieceStats, Fault> {
        view.for_each_with_messages(|document, theta, messages| {
            Ok(self.document(topics, document, theta, messages)?)
        })?;
        Ok(PieceStats::default())
    }

    fn save(&self, topics: &Topics, out: &mut SectionWriter) -> Result<()> {
        topics.save(out)?;
        self.heavy_words.iter().filter_map(|w| self.heavy.get(w)).try_for_each(|row| out.numbers(row))
    }

    fn restore(&mut self, topics: &mut Topics, from: &mut SectionReader) -> Result<()> {
        topics.restore(from)?;
        for w in &self.heavy_words {
            if let Some(row) = self.heavy.get_mut(w) {
                from.numbers(row.len(), row)?;
            }
        }
        Ok(())
    }
}

/// Inference for new documents: the same messages with phi held fixed, so that a message is only
/// excluded from theta.
#[derive(Debug, Clone)]
pub(super) struct BpInference<'m> {
    topics: &'m Topics,
    kernel: Kernel,
    inverse: Vec<Lanes>,
    theta: Vec<Lanes>,
    messages: Vec<Lanes>,
    eta: Vec<Lanes>,
}

impl<'m> BpInference<'m> {
    pub(crate) fn new(topics: &'m Topics, kernel: Kernel) -> BpInference<'m> {
        let mut inverse = Vec::new();
        topics.inverse(&mut inverse);
        let row = || vec![Lanes::ZERO; stride(topics.count)];
        BpInference { topics, kernel, inverse, theta: row(), messages: Vec::new(), eta: row() }
    }
}

impl crate::algorithms::DocumentInference for BpInference<'_> {
    fn boxed_clone<'a>(&self) -> Box<dyn crate::algorithms::DocumentInference + 'a>
    where
        Self: 'a,
    {
        Box::new(self.clone())
    }

    fn theta(&mut self, _: u64, document: Document<'_>, theta: &mut [f32]) -> Result<(), DocumentFailure> {
        let BpInference { topics, kernel, inverse, theta: now, messages, eta } = self;
        let (n, stride) = (theta.len(), now.len());
        let even = 1.0 / n as f32;
        messages.clear();
        messages.resize(document.words.len() * stride, Lanes::ZERO);
        for message in messages.chunks_exact_mut(stride) {
            flat_mut(message)[..n].fill(even);
        }
        flat_mut(now)[..n].copy_from_slice(theta);
        let tolerance = super::document::THETA_TOLERANCE * document.tokens() as f64;
        for _ in 0..super::document::MAX_ITERATIONS {
            for ((&w, &x), message) in
                document.words.iter().zip(document.counts).zip(messages.chunks_exact_mut(stride))
            {
                let x = x as f32;
                let phi = flat(topics.phi.row(w)).iter().zip(flat(inverse));
                let old = flat(message).iter().zip(flat(now)).zip(flat(&topics.alpha));
                for (eta, ((&phi, &inverse), ((&old, &theta), &alpha))) in
                    flat_mut(eta).iter_mut().zip(phi.zip(old))
                {
                    *eta = (phi + topics.beta) * inverse * ((theta - x * old).max(0.0) + alpha);
                }
                let r = checked_inverse(kernel.sum(eta))?;
                for ((old, &eta), theta) in flat_mut(message).iter_mut().zip(flat(eta)).zip(flat_mut(now)) {
                    let new = eta * r;
                    *theta = (*theta + x * (new - *old)).max(0.0);
                    *old = new;
                }
            }
            let moved: f64 = theta.iter().zip(flat(now)).map(|(a, b)| f64::from((a - b).abs())).sum();
            theta.copy_from_slice(&flat(now)[..n]);
            if moved < tolerance {
                break;
            }
        }
        Ok(())
    }
}
