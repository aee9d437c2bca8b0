//! Belief propagation (BP), synchronous (`bp`) and asynchronous (`abp`).
//!
//! ```text
//! own[k] = x*mu[w,d](k)      eta[k] = (phi[w,k]-own+beta)/(lambda[k]-own+W*beta) * (theta[d,k]-own+alpha[k])
//! mu_new[w,d](k) = eta[k]/sum(eta)
//! bp:  phi_new[w,:], theta_new[d,:], lambda_new += x*mu_new, all from the last pass's
//! abp: phi[w,:], theta[d,:], lambda += x*(mu_new - mu), at once; documents in a random order drawn once
//! ```
//! Bytes: a message of K numbers, two bytes each, for every non-zero, in memory; phi once (abp) or twice (bp); theta.
//! Cost: about twenty-five operations per (non-zero, topic), without a division where a message is a small part of its topic. What takes the
//! time is the chain from one word's message to the next one's: the sum over topics, and what changes of theta.
//!
//! Messages change by little against lambda, so lambda is in f64 between documents: a document changes it by what its theta
//! changes.

use super::document::{Failed, LogSum, NotANumber};
use super::gather::Sums;
use crate::algorithms::dense::phases::{GROUPS, Phases, Run, shares};
use crate::algorithms::piece::{PieceView, StateKind};
use crate::algorithms::{Capabilities, Fault, PieceStats, Setup, Updater};
use crate::corpus::Document;
use crate::error::Result;
use crate::sections::{SectionReader, SectionWriter};
use crate::simd::{Excluded, Halves, Kernel, LANES, Lanes, Renewed, flat, flat_mut, prefetch};
use crate::topics::{Topics, heavy_words, stride};
use std::collections::HashMap;

pub(crate) const CAPABILITIES: Capabilities =
    Capabilities { matrices: 2, state: StateKind::Messages, disk: false, ..Capabilities::PLAIN };
pub(crate) const CAPABILITIES_ASYNCHRONOUS: Capabilities =
    Capabilities { matrices: 1, shuffles: true, threads: false, ..CAPABILITIES };

/// -(lambda + W*beta) and its inverse, as the kernel wants them.
fn totals(topics: &Topics, less: &mut Vec<Lanes>, inverse: &mut Vec<Lanes>) {
    let beta_sum = topics.beta_sum();
    topics.inverse(inverse);
    flat_mut(inverse)[topics.lambda.len()..].fill(1.0);
    less.clear();
    less.resize(stride(topics.count), Lanes([-1.0; LANES]));
    for (less, &lambda) in flat_mut(less).iter_mut().zip(&topics.lambda) {
        *less = -(lambda + beta_sum) as f32;
    }
}

/// theta + alpha.
fn smoothed(theta: &[f32], alpha: &[Lanes], t: &mut [Lanes]) {
    for (t, (&theta, &alpha)) in flat_mut(t).iter_mut().zip(theta.iter().zip(flat(alpha))) {
        *t = theta + alpha;
    }
}

/// r = 1/sum(eta), where that is a number.
fn inverse_of(sum: f32) -> Result<f32, NotANumber> {
    let r = 1.0 / sum;
    if r.is_finite() && r > 0.0 { Ok(r) } else { Err(NotANumber(sum)) }
}

/// Scratch rows of a document.
#[derive(Debug, Clone)]
struct Rows {
    /// theta + alpha.
    t: Vec<Lanes>,
    new: Vec<Lanes>,
    mean: Vec<Lanes>,
    eta: Vec<Lanes>,
    /// A message before it is renewed.
    old: Vec<Halves>,
}

impl Rows {
    fn new(topics: u32) -> Rows {
        let row = || vec![Lanes::ZERO; stride(topics)];
        Rows { t: row(), new: row(), mean: row(), eta: row(), old: vec![Halves::ZERO; stride(topics)] }
    }
}

/// Synchronous.
#[derive(Debug)]
pub(crate) struct Bp {
    phases: Phases,
    kernel: Kernel,
    sums: Sums,
    less: Vec<Lanes>,
    inverse: Vec<Lanes>,
}

impl Bp {
    pub(crate) fn new(topics: &Topics, setup: &Setup) -> Result<Bp> {
        Ok(Bp {
            phases: Phases::new(&setup.word_tokens, GROUPS, &setup.threads),
            kernel: setup.kernel,
            sums: Sums::new(topics, &setup.word_tokens)?,
            less: Vec::new(),
            inverse: Vec::new(),
        })
    }

    /// One document: its messages and theta are renewed. Returns its log-likelihood as it was.
    fn document(
        &self,
        topics: &Topics,
        document: Document<'_>,
        (theta, messages): (&mut [f32], &mut [Halves]),
        rows: &mut Rows,
    ) -> Result<f64, NotANumber> {
        let stride = self.less.len();
        smoothed(theta, &topics.alpha, &mut rows.t);
        rows.new.fill(Lanes::ZERO);
        super::document::mean(self.kernel, theta, &topics.alpha, &self.inverse, &mut rows.mean);
        let smooth = topics.beta * self.kernel.sum(&rows.mean);
        let least = topics.beta_sum() as f32;
        let mut log_sum = LogSum::new();
        let words = document.words.iter().zip(document.counts);
        for (i, ((&w, &x), message)) in words.zip(messages.chunks_exact_mut(stride)).enumerate() {
            if let Some(&ahead) = document.words.get(i + super::document::AHEAD) {
                prefetch(topics.phi.row(ahead));
            }
            let phi = topics.phi.row(w);
            log_sum.add(x, self.kernel.dot(phi, &rows.mean) + smooth);
            let from = Excluded { phi, t: &rows.t, less: &self.less, inverse: &self.inverse, least };
            let sum = self.kernel.exclude(&mut rows.eta, from, message, x as f32, topics.beta);
            self.kernel.replace(message, &rows.eta, inverse_of(sum)?, x as f32, &mut rows.new);
        }
        theta.copy_from_slice(&flat(&rows.new)[..theta.len()]);
        let n = document.tokens() as f64;
        Ok(log_sum.total() - n * libm::log(n + topics.alpha_sum))
    }
}

impl Updater for Bp {
    fn begin(&mut self, topics: &mut Topics) -> Result<()> {
        totals(topics, &mut self.less, &mut self.inverse);
        self.sums.clear(&self.phases);
        Ok(())
    }

    fn piece(&mut self, topics: &mut Topics, view: PieceView<'_>) -> Result<PieceStats, Fault> {
        let topics = &*topics;
        let (block, kept) = view.open();
        let (count, stride) = (topics.count as usize, stride(topics.count));
        let (mut theta, mut messages) = kept.theta_and_messages();
        let mut sum = 0f64;
        for range in Phases::ranges(block) {
            self.phases.take_up(block, range.clone());
            let nonzeros: usize = self.phases.runs().iter().map(|run| run.size().1).sum();
            let (now, later) = theta.split_at_mut(range.len() * count);
            let (own, others) = messages.split_at_mut(nonzeros * stride);
            (theta, messages) = (later, others);
            let sizes = || self.phases.runs().iter().map(Run::size);
            let of_runs = shares(now, sizes().map(|(documents, _, _)| documents * count))
                .into_iter()
                .zip(shares(&mut *own, sizes().map(|(_, nonzeros, _)| nonzeros * stride)))
                .collect();
            sum += self.phases.documents(
                of_runs,
                || Rows::new(topics.count),
                |run, (theta, mut messages), rows| {
                    let mut sum = 0f64;
                    for ((number, document), theta) in run.iter(block).zip(theta.chunks_exact_mut(count)) {
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

    fn save(&self, topics: &Topics, out: &mut SectionWriter) -> Result<()> {
        topics.save(out)?;
        self.sums.save(out)
    }

    fn restore(&mut self, topics: &mut Topics, from: &mut SectionReader) -> Result<()> {
        topics.restore(from)?;
        self.sums.restore(from)?;
        totals(topics, &mut self.less, &mut self.inverse);
        Ok(())
    }
}

/// Asynchronous.
#[derive(Debug)]
pub(crate) struct Abp {
    kernel: Kernel,
    less: Vec<Lanes>,
    inverse: Vec<Lanes>,
    rows: Rows,
    heavy_words: Vec<u32>,
    /// Rows of heavy words; phi has their rounded copies.
    heavy: HashMap<u32, Vec<f64>>,
}

impl Abp {
    pub(crate) fn new(topics: &Topics, setup: &Setup) -> Abp {
        let wide = |w| flat(topics.phi.row(w)).iter().map(|&v| f64::from(v)).collect();
        let heavy_words: Vec<u32> = heavy_words(&setup.word_tokens).collect();
        Abp {
            kernel: setup.kernel,
            less: Vec::new(),
            inverse: Vec::new(),
            rows: Rows::new(topics.count),
            heavy: heavy_words.iter().map(|&w| (w, wide(w))).collect(),
            heavy_words,
        }
    }

    fn document(
        &mut self,
        topics: &mut Topics,
        document: Document<'_>,
        theta: &mut [f32],
        messages: &mut [Halves],
    ) -> Result<(), NotANumber> {
        totals(topics, &mut self.less, &mut self.inverse);
        let least = topics.beta_sum() as f32;
        let Abp { kernel, less, inverse, rows, heavy, .. } = self;
        smoothed(theta, &topics.alpha, &mut rows.t);
        let (mut from, end) = (0, document.words.len());
        while from < end {
            // As many as there are up to a heavy word, or that alone.
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
            let renewed = Renewed {
                phi,
                stride,
                words: &document.words[from..to],
                counts: &document.counts[from..to],
                messages: &mut *message,
                t: &mut rows.t,
                less,
                eta: &mut rows.eta,
                inverse,
                least,
                beta: topics.beta,
            };
            kernel.renew(renewed).map_err(NotANumber)?;
            if let Some(wide) = wide {
                // What changes of the row is added up in f64.
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
        view.each_with_messages(|document, theta, messages| {
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

/// New documents: the same messages, phi held fixed, so that only theta excludes its own.
#[derive(Debug, Clone)]
pub(super) struct NewDocuments<'m> {
    topics: &'m Topics,
    kernel: Kernel,
    inverse: Vec<Lanes>,
    theta: Vec<Lanes>,
    messages: Vec<Lanes>,
    eta: Vec<Lanes>,
}

impl<'m> NewDocuments<'m> {
    pub(crate) fn new(topics: &'m Topics, kernel: Kernel) -> NewDocuments<'m> {
        let mut inverse = Vec::new();
        topics.inverse(&mut inverse);
        let row = || vec![Lanes::ZERO; stride(topics.count)];
        NewDocuments { topics, kernel, inverse, theta: row(), messages: Vec::new(), eta: row() }
    }
}

impl crate::algorithms::NewDocuments for NewDocuments<'_> {
    fn twin<'a>(&self) -> Box<dyn crate::algorithms::NewDocuments + 'a>
    where
        Self: 'a,
    {
        Box::new(self.clone())
    }

    fn theta(&mut self, _: u64, document: Document<'_>, theta: &mut [f32]) -> Result<(), Failed> {
        let NewDocuments { topics, kernel, inverse, theta: now, messages, eta } = self;
        let (n, stride) = (theta.len(), now.len());
        let even = 1.0 / n as f32;
        messages.clear();
        messages.resize(document.words.len() * stride, Lanes::ZERO);
        for message in messages.chunks_exact_mut(stride) {
            flat_mut(message)[..n].fill(even);
        }
        flat_mut(now)[..n].copy_from_slice(theta);
        let still = super::document::STILL * document.tokens() as f64;
        for _ in 0..super::document::ITERATIONS {
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
                let r = inverse_of(kernel.sum(eta))?;
                for ((old, &eta), theta) in flat_mut(message).iter_mut().zip(flat(eta)).zip(flat_mut(now)) {
                    let new = eta * r;
                    *theta = (*theta + x * (new - *old)).max(0.0);
                    *old = new;
                }
            }
            let moved: f64 = theta.iter().zip(flat(now)).map(|(a, b)| f64::from((a - b).abs())).sum();
            theta.copy_from_slice(&flat(now)[..n]);
            if moved < still {
                break;
            }
        }
        Ok(())
    }
}
