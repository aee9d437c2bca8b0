//! Online variational Bayes (OVB; Hoffman, Blei and Bach 2010).
//!
//! Batches of S documents, each looked at once and forgotten. With the topics held fixed every document of a batch is settled:
//! ```text
//! E[w,k] = exp(psi(phi[w,k]+beta)) / exp(psi(lambda[k]+W*beta))
//! eta[k] = E[w,k] * exp(psi(theta[d,k]+alpha[k])), normalised over k;  theta[d,:] = sum x*eta, until it stands still
//! ```
//! then, with D documents in all and t batches done,
//! ```text
//! rho = (tau0+t)^-kappa      phi = (1-rho)*phi + rho*(D/S) * sum over the batch of x*eta
//! ```
//! It begins with topics that are nearly even (`vb::nearly_even`), with every word as often as the corpus has it: measured (nyt, K = 100, after 30
//! passes), predictive perplexity 2357; 2961 with all words alike as Hoffman has it, 2531 from the labels that other algorithms begin with.
//! The factor (1-rho) is kept beside phi, so that a batch touches the rows of its own words only.
//!
//! Bytes: phi, E and what a batch gathers, W x K each; nothing is kept of documents. Cost: two multiply-adds per (non-zero,
//! topic) for every round of `inner`, a digamma per (word of the batch, topic) and (document, topic, round).
//! The training perplexity is taken on the way, from each document's theta and the topics that it has met.

use super::document::{DocumentStep, Frozen};
use super::gather::{Left, Sums};
use super::vb::{Expected, SETTLED, STILL, fades, nearly_even, weigh};
use crate::algorithms::dense::phases::{DOCS_PER_BATCH, GROUPS, Phases, shares};
use crate::algorithms::piece::{PieceView, StateKind};
use crate::algorithms::{Capabilities, Fault, PieceStats, Setup, Updater};
use crate::corpus::Block;
use crate::error::Result;
use crate::sections::{SectionReader, SectionWriter};
use crate::simd::{Kernel, Lanes, flat, flat_mut};
use crate::topics::{Matrix, Part, Topics, stride};
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

/// Where phi's factor has become this small it is multiplied in.
const SMALL: f64 = 1e-12;

#[derive(Debug)]
pub(crate) struct Ovb {
    phases: Phases,
    kernel: Kernel,
    inner: u32,
    batch: u64,
    tau0: f64,
    kappa: f64,
    documents: u64,
    /// Batches done.
    batches: u64,
    /// Documents of the batch under way.
    seen: u64,
    /// phi is this times what the matrix says; lambda is whole.
    factor: f64,
    /// E, where the batch has met the word.
    rows: Matrix,
    met: Vec<bool>,
    gathered: Sums,
    /// exp(-psi(lambda+W*beta)), and 1/(lambda+W*beta), of this batch.
    fade: Vec<Lanes>,
    inverse: Vec<Lanes>,
    left: Left,
}

impl Ovb {
    pub(crate) fn new(topics: &mut Topics, setup: &Setup) -> Result<Ovb> {
        let options = &setup.settings;
        if !setup.given_start {
            let count = f64::from(topics.count);
            nearly_even(topics, setup, |w| setup.word_tokens[w] as f64 / count);
        }
        Ok(Ovb {
            phases: Phases::new(&setup.word_tokens, GROUPS, &setup.threads),
            kernel: setup.kernel,
            inner: options.inner.unwrap_or(SETTLED),
            batch: options.batch.unwrap_or(1024),
            tau0: options.tau0.unwrap_or(1024.0),
            kappa: options.kappa.unwrap_or(0.5),
            documents: setup.documents,
            batches: 0,
            seen: 0,
            factor: 1.0,
            rows: Matrix::zeros(topics.words(), topics.count)?,
            met: vec![false; topics.words() as usize],
            gathered: Sums::new(topics, &setup.word_tokens)?,
            fade: Vec::new(),
            inverse: Vec::new(),
            left: Left::default(),
        })
    }

    /// Before a batch: what its documents share.
    fn invert(&mut self, topics: &Topics) {
        fades(topics, &mut self.fade);
        topics.inverse(&mut self.inverse);
        // Rows of phi are without their factor.
        for v in flat_mut(&mut self.inverse) {
            *v = (f64::from(*v) * self.factor) as f32;
        }
    }

    /// Documents of one batch. Returns their log-likelihood.
    fn some(
        &mut self,
        topics: &Topics,
        block: &Block,
        range: Range<usize>,
        gather: bool,
    ) -> Result<f64, Fault> {
        let Ovb { phases, kernel, rows, met, left, fade, inverse, gathered, factor, .. } = self;
        let (count, stride, kernel) = (topics.count as usize, stride(topics.count), *kernel);
        phases.take_up(block, range);
        // E of words that the batch has not met yet.
        let marks = phases.bounds().windows(2).map(|ends| (ends[1] - ends[0]) as usize);
        let marks: Vec<Mutex<&mut [bool]>> = shares(met, marks).into_iter().map(Mutex::new).collect();
        let (factor, beta) = (*factor as f32, topics.beta);
        let (bounds, runs) = (phases.bounds(), phases.runs());
        let expected = Expected::new(topics);
        phases.rows(rows, |group, mut part| {
            let mut phi = Vec::new();
            let mut met = marks[group].lock().unwrap_or_else(PoisonError::into_inner);
            for entry in runs.iter().flat_map(|run| run.list(group)) {
                let met = &mut met[(entry.word - bounds[group]) as usize];
                if !std::mem::replace(met, true) {
                    let own = flat(topics.phi.row(entry.word)).iter();
                    phi.clear();
                    phi.extend(own.map(|phi| phi * factor));
                    expected.row(kernel, &phi, part.row_mut(entry.word));
                }
            }
        });
        let plain = Frozen::new(topics, inverse).with_beta(beta / factor);
        let frozen = plain.with_rows(rows, fade).weighed(weigh);
        let stop = (self.inner, STILL * f64::from(topics.count));
        let sum = phases.documents(
            left.shares(phases, stride),
            || (DocumentStep::new(topics.count, kernel), vec![0f32; count]),
            |run, mut left, (step, theta)| {
                let mut sum = 0f64;
                for (number, document) in run.iter(block) {
                    if document.words.is_empty() {
                        left.pass();
                        continue;
                    }
                    let n = document.tokens();
                    theta.fill(n as f32 / count as f32);
                    let settled = step.settle(&frozen, document, theta, stop);
                    left.take(step);
                    sum += settled
                        .and_then(|()| step.log_likelihood(&plain, document, theta, n))
                        .map_err(|bad| (number, bad.into()))?;
                }
                Ok(sum)
            },
        )?;
        if gather {
            left.gather(phases, kernel, gathered);
        }
        Ok(sum)
    }

    /// The batch is done: the topics take it up.
    fn learn(&mut self, topics: &mut Topics) {
        if self.seen == 0 {
            return;
        }
        self.batches += 1;
        let rho = libm::pow(self.tau0 + self.batches as f64, -self.kappa).min(1.0);
        let share = rho * self.documents as f64 / self.seen as f64;
        self.factor *= 1.0 - rho;
        topics.lambda.iter_mut().for_each(|lambda| *lambda *= 1.0 - rho);
        if self.factor < SMALL {
            let factor = self.factor as f32;
            self.phases.rows(&mut topics.phi, |_, mut part| {
                part.iter_mut().for_each(|(_, row)| flat_mut(row).iter_mut().for_each(|v| *v *= factor));
            });
            self.factor = 1.0;
        }
        self.gathered.finish();
        // phi += share/factor * E*G where the batch has met a word; lambda by groups, in order.
        let Ovb { phases, rows, met, gathered, factor, .. } = self;
        let (rows, met, of_phi) = (&*rows, &*met, (share / *factor) as f32);
        let count = topics.count as usize;
        let sums: Vec<Mutex<Vec<f64>>> = (0..GROUPS).map(|_| Mutex::new(vec![0.0; count])).collect();
        phases.rows_of_two(&mut topics.phi, &mut gathered.rows, |group, mut phi: Part<'_>, mut gathered| {
            let mut sum = sums[group].lock().unwrap_or_else(PoisonError::into_inner);
            for ((w, phi), (_, gathered)) in phi.iter_mut().zip(gathered.iter_mut()) {
                if met[w as usize] {
                    let row = flat(rows.row(w)).iter().zip(flat_mut(gathered));
                    for ((phi, sum), (&e, g)) in flat_mut(phi).iter_mut().zip(&mut *sum).zip(row) {
                        let one = e * std::mem::take(g);
                        *phi += of_phi * one;
                        *sum += f64::from(one);
                    }
                }
            }
        });
        for sum in sums {
            let sum = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
            for (lambda, more) in topics.lambda.iter_mut().zip(sum) {
                *lambda += share * more;
            }
        }
        self.met.fill(false);
        self.gathered.forget();
        self.seen = 0;
        self.invert(topics);
    }
}

impl Updater for Ovb {
    fn begin(&mut self, topics: &mut Topics) -> Result<()> {
        self.invert(topics);
        Ok(())
    }

    fn piece(&mut self, topics: &mut Topics, view: PieceView<'_>) -> Result<PieceStats, Fault> {
        let (block, _) = view.open();
        let (mut from, mut sum) = (0, 0f64);
        while from < block.documents() {
            let most = (self.batch - self.seen).min(DOCS_PER_BATCH as u64) as usize;
            let to = (from + most).min(block.documents());
            sum += self.some(topics, block, from..to, true)?;
            self.seen += (to - from) as u64;
            from = to;
            if self.seen == self.batch {
                self.learn(topics);
            }
        }
        Ok(PieceStats::of(sum))
    }

    fn end(&mut self, topics: &mut Topics) -> Result<()> {
        self.learn(topics);
        Ok(())
    }

    fn log_likelihood(&mut self, topics: &Topics, view: PieceView<'_>, total: &mut f64) -> Result<(), Fault> {
        if view.first {
            self.met.fill(false);
            self.invert(topics);
        }
        let (block, _) = view.open();
        *total += Phases::ranges(block)
            .try_fold(0f64, |sum, range| Ok(sum + self.some(topics, block, range, false)?))?;
        Ok(())
    }

    fn topic_row(&mut self, topics: &Topics, word: u32, to: &mut [f32]) -> Result<()> {
        let factor = self.factor as f32;
        let row = flat(topics.phi.row(word));
        to.iter_mut().zip(row).for_each(|(to, &phi)| *to = phi * factor);
        Ok(())
    }

    fn save(&self, topics: &Topics, out: &mut SectionWriter) -> Result<()> {
        topics.save(out)?;
        out.numbers(&[self.batches, self.seen])?;
        out.numbers(&[self.factor])?;
        out.numbers(&self.met.iter().map(|&met| u8::from(met)).collect::<Vec<u8>>())?;
        self.rows.save(out)?;
        self.gathered.save(out)
    }

    fn restore(&mut self, topics: &mut Topics, from: &mut SectionReader) -> Result<()> {
        topics.restore(from)?;
        let (mut numbers, mut factor, mut met) = (Vec::<u64>::new(), Vec::<f64>::new(), Vec::<u8>::new());
        from.numbers(2, &mut numbers)?;
        (self.batches, self.seen) = (numbers[0], numbers[1]);
        from.numbers(1, &mut factor)?;
        self.factor = factor[0];
        if self.seen >= self.batch || !(self.factor > 0.0 && self.factor <= 1.0) {
            return Err(from.damaged("it is in a batch that cannot be"));
        }
        from.numbers(self.met.len(), &mut met)?;
        self.met = met.into_iter().map(|met| met != 0).collect();
        self.rows.restore(from)?;
        self.gathered.restore(from)?;
        self.invert(topics);
        Ok(())
    }
}
