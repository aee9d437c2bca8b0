//! Online variational Bayes (OVB; Hoffman, Blei and Bach 2010).
//!
//! The algorithm processes batches of S documents and keeps no state of documents. With the topics
//! held fixed, every document of a batch is updated until it converges:
//! ```text
//! E[w,k] = exp(psi(phi[w,k]+beta)) / exp(psi(lambda[k]+W*beta))
//! eta[k] = E[w,k] * exp(psi(theta[d,k]+alpha[k])), normalized over k
//! theta[d,:] = sum x*eta, until it converges
//! ```
//! psi is the digamma function, x a count and eta a message. Then, with D documents in total and t
//! batches done:
//! ```text
//! rho = (tau0+t)^-kappa      phi = (1-rho)*phi + rho*(D/S) * sum over the batch of x*eta
//! ```
//! The initial topics are nearly uniform (`vb::initialize_nearly_uniform`), with the frequency of
//! every word taken from the corpus. Predictive perplexity on nyt at K = 100 after 30 passes: 2357;
//! 2961 with all words alike as in Hoffman's start; 2531 from the random labels of the other
//! algorithms. The factor (1-rho) is stored beside phi, so that a batch only changes the rows of
//! its own words.
//!
//! Memory: phi, E and the sums of a batch, W x K each; nothing per document. Cost: two
//! multiply-adds per (non-zero, topic) for every one of the `inner` updates, a digamma per (word of
//! the batch, topic) and per (document, topic, update). The training perplexity is a by-product,
//! computed from each document's theta and the topics that it was updated with.

use super::document::{DocumentUpdater, FrozenTopics};
use super::gather::{WordContributions, WordSums};
use super::vb::{
    ExpectedRows, INNER_TOLERANCE, MAX_INNER_UPDATES, digamma_weighting, fill_inverse_denominators,
    initialize_nearly_uniform,
};
use crate::algorithms::dense::phases::{DOCS_PER_BATCH, GROUPS, PhaseRunner, split_by_sizes};
use crate::algorithms::piece::{PieceView, StateKind};
use crate::algorithms::{Capabilities, Fault, PieceStats, Setup, Updater};
use crate::corpus::Block;
use crate::error::Result;
use crate::sections::{SectionReader, SectionWriter};
use crate::simd::{Kernel, Lanes, flat, flat_mut};
use crate::topics::{Matrix, MatrixRows, Topics, stride};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

pub(crate) const CAPABILITIES: Capabilities = Capabilities {
    matrices: 3,
    rows_per_group: 2,
    state: StateKind::Nothing,
    noisy: true,
    own_start: true,
    current_likelihood: true,
    ..Capabilities::PLAIN
};

/// The factor of phi is multiplied into the matrix when it falls below this value.
const MIN_FACTOR: f64 = 1e-12;

#[derive(Debug)]
pub(crate) struct Ovb {
    phases: PhaseRunner,
    kernel: Kernel,
    inner: u32,
    batch: u64,
    tau0: f64,
    kappa: f64,
    documents: u64,
    /// Number of batches done.
    batches: u64,
    /// Number of documents of the current batch so far.
    batch_documents: u64,
    /// phi is this factor times the matrix. lambda includes the factor.
    factor: f64,
    /// E of the words in the current batch.
    rows: Matrix,
    /// Whether the row of E is computed, by word.
    computed: Vec<bool>,
    gathered: WordSums,
    /// exp(-psi(lambda+W*beta)) for the current batch.
    inverse_denominators: Vec<Lanes>,
    /// 1/(lambda+W*beta) for the current batch, times the factor of phi.
    inverse: Vec<Lanes>,
    contributions: WordContributions,
}

impl Ovb {
    pub(crate) fn new(topics: &mut Topics, setup: &Setup) -> Result<Ovb> {
        let options = &setup.settings;
        if !setup.given_start {
            let count = f64::from(topics.count);
            initialize_nearly_uniform(topics, setup, |w| setup.word_tokens[w] as f64 / count);
        }
        Ok(Ovb {
            phases: PhaseRunner::new(&setup.word_tokens, GROUPS, &setup.threads),
            kernel: setup.kernel,
            inner: options.inner.unwrap_or(MAX_INNER_UPDATES),
            batch: options.batch_documents(),
            tau0: options.tau0_value(),
            kappa: options.kappa_value(),
            documents: setup.shape.documents,
            batches: 0,
            batch_documents: 0,
            factor: 1.0,
            rows: Matrix::zeros(topics.words(), topics.count)?,
            computed: vec![false; topics.words() as usize],
            gathered: WordSums::new(topics, &setup.word_tokens)?,
            inverse_denominators: Vec::new(),
            inverse: Vec::new(),
            contributions: WordContributions::default(),
        })
    }

    /// Computes the values that the documents of a batch share.
    fn prepare_batch(&mut self, topics: &Topics) {
        fill_inverse_denominators(topics, &mut self.inverse_denominators);
        topics.inverse(&mut self.inverse);
        // The rows of phi do not include their factor.
        for v in flat_mut(&mut self.inverse) {
            *v = (f64::from(*v) * self.factor) as f32;
        }
    }

    /// Updates documents of one batch, and accumulates their contributions if `gather` is set.
    /// Returns their log-likelihood.
    fn update_documents(
        &mut self,
        topics: &Topics,
        block: &Block,
        range: Range<usize>,
        gather: bool,
    ) -> Result<f64, Fault> {
        let Ovb {
            phases,
            kernel,
            rows,
            computed,
            contributions,
            inverse_denominators,
            inverse,
            gathered,
            factor,
            ..
        } = self;
        let (count, stride, kernel) = (topics.count as usize, stride(topics.count), *kernel);
        phases.load(block, range);
        // Compute E of words that are new in this batch.
        let marks = phases.bounds().windows(2).map(|ends| (ends[1] - ends[0]) as usize);
        let marks: Vec<Mutex<&mut [bool]>> =
            split_by_sizes(computed, marks).into_iter().map(Mutex::new).collect();
        let (factor, beta) = (*factor as f32, topics.beta);
        let (bounds, chunks) = (phases.bounds(), phases.chunks());
        let expected = ExpectedRows::new(topics);
        phases.for_each_group(rows, |group, mut part| {
            let mut phi = Vec::new();
            let mut computed = marks[group].lock().unwrap_or_else(PoisonError::into_inner);
            for entry in chunks.iter().flat_map(|chunk| chunk.group_entries(group)) {
                let computed = &mut computed[(entry.word - bounds[group]) as usize];
                if !std::mem::replace(computed, true) {
                    let own = flat(topics.phi.row(entry.word)).iter();
                    phi.clear();
                    phi.extend(own.map(|phi| phi * factor));
                    expected.row(kernel, &phi, part.row_mut(entry.word));
                }
            }
        });
        let plain = FrozenTopics::new(topics, inverse).with_beta(beta / factor);
        let frozen = plain.with_rows(rows, inverse_denominators).with_weighting(digamma_weighting);
        let stop = (self.inner, INNER_TOLERANCE * f64::from(topics.count));
        let sum = phases.process_documents(
            contributions.split_by_chunk(phases, stride),
            || (DocumentUpdater::new(topics.count, kernel), vec![0f32; count]),
            |chunk, mut contributions, (updater, theta)| {
                let mut sum = 0f64;
                for (number, document) in chunk.iter(block) {
                    if document.words.is_empty() {
                        contributions.skip();
                        continue;
                    }
                    let n = document.tokens();
                    theta.fill(n as f32 / count as f32);
                    let settled = updater.converge(&frozen, document, theta, stop);
                    contributions.record(updater);
                    sum += settled
                        .and_then(|()| updater.log_likelihood(&plain, document, theta, n))
                        .map_err(|bad| (number, bad.into()))?;
                }
                Ok(sum)
            },
        )?;
        if gather {
            contributions.gather(phases, kernel, gathered);
        }
        Ok(sum)
    }

    /// Applies a finished batch to the topics.
    fn apply_batch(&mut self, topics: &mut Topics) {
        if self.batch_documents == 0 {
            return;
        }
        self.batches += 1;
        let rho = libm::pow(self.tau0 + self.batches as f64, -self.kappa).min(1.0);
        let share = rho * self.documents as f64 / self.batch_documents as f64;
        self.factor *= 1.0 - rho;
        topics.lambda.iter_mut().for_each(|lambda| *lambda *= 1.0 - rho);
        if self.factor < MIN_FACTOR {
            let factor = self.factor as f32;
            self.phases.for_each_group(&mut topics.phi, |_, mut part| {
                part.iter_mut().for_each(|(_, row)| flat_mut(row).iter_mut().for_each(|v| *v *= factor));
            });
            self.factor = 1.0;
        }
        self.gathered.finish();
        // phi += share/factor * E*G for the words of the batch. lambda is summed by group, in
        // order.
        let Ovb { phases, rows, computed, gathered, factor, .. } = self;
        let (rows, computed, of_phi) = (&*rows, &*computed, (share / *factor) as f32);
        let count = topics.count as usize;
        let sums: Vec<Mutex<Vec<f64>>> = (0..GROUPS).map(|_| Mutex::new(vec![0.0; count])).collect();
        phases.for_each_group_pair(
            &mut topics.phi,
            &mut gathered.rows,
            |group, mut phi: MatrixRows<'_>, mut gathered| {
                let mut sum = sums[group].lock().unwrap_or_else(PoisonError::into_inner);
                for ((w, phi), (_, gathered)) in phi.iter_mut().zip(gathered.iter_mut()) {
                    if computed[w as usize] {
                        let row = flat(rows.row(w)).iter().zip(flat_mut(gathered));
                        for ((phi, sum), (&e, g)) in flat_mut(phi).iter_mut().zip(&mut *sum).zip(row) {
                            let one = e * std::mem::take(g);
                            *phi += of_phi * one;
                            *sum += f64::from(one);
                        }
                    }
                }
            },
        );
        for sum in sums {
            let sum = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
            for (lambda, more) in topics.lambda.iter_mut().zip(sum) {
                *lambda += share * more;
            }
        }
        self.computed.fill(false);
        self.gathered.clear_heavy();
        self.batch_documents = 0;
        self.prepare_batch(topics);
    }
}

impl Updater for Ovb {
    fn begin(&mut self, topics: &mut Topics) -> Result<()> {
        self.prepare_batch(topics);
        Ok(())
    }

    fn piece(&mut self, topics: &mut Topics, view: PieceView<'_>) -> Result<PieceStats, Fault> {
        let (block, _) = view.into_rows();
        let (mut from, mut sum) = (0, 0f64);
        while from < block.documents() {
            let most = (self.batch - self.batch_documents).min(DOCS_PER_BATCH as u64) as usize;
            let to = (from + most).min(block.documents());
            sum += self.update_documents(topics, block, from..to, true)?;
            self.batch_documents += (to - from) as u64;
            from = to;
            if self.batch_documents == self.batch {
                self.apply_batch(topics);
            }
        }
        Ok(PieceStats::of(sum))
    }

    fn end(&mut self, topics: &mut Topics) -> Result<()> {
        self.apply_batch(topics);
        Ok(())
    }

    fn log_likelihood(&mut self, topics: &Topics, view: PieceView<'_>) -> Result<f64, Fault> {
        if view.first {
            self.computed.fill(false);
            self.prepare_batch(topics);
        }
        let (block, _) = view.into_rows();
        PhaseRunner::batches(block)
            .try_fold(0f64, |sum, range| Ok(sum + self.update_documents(topics, block, range, false)?))
    }

    fn topic_row(&mut self, topics: &Topics, word: u32, to: &mut [f32]) -> Result<()> {
        let factor = self.factor as f32;
        let row = flat(topics.phi.row(word));
        to.iter_mut().zip(row).for_each(|(to, &phi)| *to = phi * factor);
        Ok(())
    }

    fn finish(&mut self) {
        self.phases.free_buffers();
        self.contributions = WordContributions::default();
    }

    fn save(&self, topics: &Topics, out: &mut SectionWriter) -> Result<()> {
        topics.save(out)?;
        out.numbers(&[self.batches, self.batch_documents])?;
        out.numbers(&[self.factor])?;
        out.numbers(&self.computed.iter().map(|&computed| u8::from(computed)).collect::<Vec<u8>>())?;
        self.rows.save(out)?;
        self.gathered.save(out)
    }

    fn restore(&mut self, topics: &mut Topics, from: &mut SectionReader) -> Result<()> {
        topics.restore(from)?;
        let (mut numbers, mut factor, mut computed) =
            (Vec::<u64>::new(), Vec::<f64>::new(), Vec::<u8>::new());
        from.numbers(2, &mut numbers)?;
        (self.batches, self.batch_documents) = (numbers[0], numbers[1]);
        from.numbers(1, &mut factor)?;
        self.factor = factor[0];
        if self.batch_documents >= self.batch || !(self.factor > 0.0 && self.factor <= 1.0) {
            return Err(from.damaged("its batch position is not possible"));
        }
        from.numbers(self.computed.len(), &mut computed)?;
        self.computed = computed.into_iter().map(|computed| computed != 0).collect();
        self.rows.restore(from)?;
        self.gathered.restore(from)?;
        self.prepare_batch(topics);
        Ok(())
    }
}
