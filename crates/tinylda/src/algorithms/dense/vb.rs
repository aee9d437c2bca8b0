//! Variational Bayes (VB), synchronous, as the paper has it.
//!
//! ```text
//! eta[k] = (phi[w,k]+beta)/(lambda[k]+W*beta) * exp(psi(theta[d,k]+alpha[k])), normalised over k
//! theta_new[d,:] += x*eta      phi_new[w,:] += x*eta      from the phi, theta, lambda of the last pass
//! ```
//! sTBP with the mean of a document's topics replaced by what a Dirichlet posterior expects of their logarithm (psi is the
//! digamma function; what it lacks of the sum over topics does not depend on k). `inner` = N renews theta up to N times a pass,
//! until it stands still, before its words' messages go to phi. `digamma` = both puts
//! `E[w,k]` = exp(psi(`phi[w,k]`+beta)) / exp(psi(`lambda[k]`+W*beta)) in the place of (`phi[w,k]`+beta)/(`lambda[k]`+W*beta): then this is the
//! VB of Blei and of Hoffman, in which topics have a posterior, too; it begins as Hoffman's does, with topics that are nearly even,
//! and settles every document anew in every pass.
//!
//! Bytes: as sTBP, and E with `digamma` = both. The paper counts K numbers per non-zero for VB's messages; they need not be stored, since what is renewed does
//! not exclude them. Cost: sTBP's, a digamma per (document, topic), and one multiply-add more for the log-likelihood.

use super::document::Frozen;
use super::gather::Gather;
use crate::algorithms::piece::PieceView;
use crate::algorithms::{Capabilities, Fault, PieceStats, Setup, Updater};
use crate::error::Result;
use crate::random::{Purpose, Random};
use crate::sections::{SectionReader, SectionWriter};
use crate::settings::Digamma;
use crate::simd::{Kernel, Lanes, digamma_less_log, exp_digamma_of, flat, flat_mut};
use crate::topics::{Matrix, Topics, stride};

pub(crate) const CAPABILITIES: Capabilities = Capabilities { matrices: 2, ..Capabilities::PLAIN };

/// So many rounds settle a document, at the most.
pub(super) const SETTLED: u32 = 100;

/// theta stands still when a topic moves by less than this on average, in tokens.
pub(super) const STILL: f64 = 1e-3;

/// What makes exp(psi) of the largest number of a row of its own size: a factor that messages do not show. Without it rows of small
/// numbers would be all zero.
fn shift(most: f32) -> f32 {
    if most > 0.0 { -digamma_less_log(most) } else { 0.0 }
}

/// t with the digamma function.
pub(super) fn weigh(kernel: Kernel, theta: &[f32], alpha: &[Lanes], inverse: &[Lanes], t: &mut [Lanes]) {
    let alpha = flat(alpha);
    let most = theta.iter().zip(alpha).map(|(theta, alpha)| theta + alpha).fold(0.0, f32::max);
    let t = &mut flat_mut(t)[..theta.len()];
    kernel.exp_digamma(theta, alpha, shift(most), flat(inverse), t);
}

/// `E[w,:]` but for its denominators is not less: products should not leave the range where a processor is fast.
const LEAST: f32 = 1e-10;

/// exp(psi(phi+beta)), row by row, each with a factor of its own.
#[derive(Debug)]
pub(super) struct Expected {
    beta: Vec<f32>,
    ones: Vec<f32>,
}

impl Expected {
    pub(crate) fn new(topics: &Topics) -> Expected {
        let count = topics.count as usize;
        Expected { beta: vec![topics.beta; count], ones: vec![1.0; count] }
    }

    /// Of a row of phi.
    pub(super) fn row(&self, kernel: Kernel, phi: &[f32], row: &mut [Lanes]) {
        let row = &mut flat_mut(row)[..self.beta.len()];
        let most = phi.iter().copied().fold(0.0, f32::max) + self.beta[0];
        kernel.exp_digamma(phi, &self.beta, shift(most), &self.ones, row);
        for v in row {
            *v = v.max(LEAST);
        }
    }
}

/// exp(-psi(lambda + W*beta)), times lambda's mean: a factor that messages do not show, and that keeps products near one.
pub(super) fn fades(topics: &Topics, to: &mut Vec<Lanes>) {
    let beta_sum = topics.beta_sum();
    let mean = (topics.lambda.iter().sum::<f64>() / f64::from(topics.count) + beta_sum) as f32;
    to.clear();
    to.resize(stride(topics.count), Lanes::ZERO);
    let count = topics.count as usize;
    for (to, &lambda) in flat_mut(to)[..count].iter_mut().zip(&topics.lambda) {
        *to = mean / exp_digamma_of((lambda + beta_sum) as f32, 0.0);
    }
}

/// A start in which words have nearly the same share of every topic, a tenth more or less: so many tokens of each as `of(word)` says.
/// Where topics have a posterior, labels would hold words that are rare where they fall: digammas make little of topics that do
/// not have a word yet.
pub(super) fn nearly_even(topics: &mut Topics, setup: &Setup, of: impl Fn(usize) -> f64) {
    let count = topics.count as usize;
    for w in 0..topics.words() {
        let mut random = Random::new(setup.settings.seed_value(), Purpose::Even, u64::from(w));
        let each = of(w as usize);
        for phi in &mut flat_mut(topics.phi.row_mut(w))[..count] {
            // Twelve numbers from 0 to 1 add up to 6, more or less 1.
            let noise = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
            *phi = (each * (1.0 + 0.1 * noise)) as f32;
        }
    }
    topics.sum_lambda();
}

/// exp(psi(phi+beta)) of all words, for documents that are new: rows in place of phi, and the fades that go with them.
pub(super) fn expected(topics: &Topics, kernel: Kernel) -> Result<(Matrix, Vec<Lanes>)> {
    let mut fade = Vec::new();
    fades(topics, &mut fade);
    let expected = Expected::new(topics);
    let mut rows = Matrix::zeros(topics.words(), topics.count)?;
    for w in 0..topics.words() {
        expected.row(kernel, flat(topics.phi.row(w)), rows.row_mut(w));
    }
    Ok((rows, fade))
}

#[derive(Debug)]
pub(crate) struct Vb {
    gather: Gather,
    kernel: Kernel,
    inner: u32,
    /// E, with both digammas; and what goes with it.
    rows: Option<Matrix>,
    fade: Vec<Lanes>,
}

impl Vb {
    pub(crate) fn new(topics: &mut Topics, setup: &Setup) -> Result<Vb> {
        let gather = Gather::new(topics, setup)?;
        let both = setup.settings.digamma == Some(Digamma::Both);
        let rows = if both { Some(Matrix::zeros(topics.words(), topics.count)?) } else { None };
        let inner = setup.settings.inner.unwrap_or(if both { SETTLED } else { 1 });
        if both && !setup.given_start {
            nearly_even(topics, setup, |_| 1.0);
        }
        Ok(Vb { gather, kernel: setup.kernel, inner, rows, fade: Vec::new() })
    }
}

impl Vb {
    /// E of all words, where topics have a posterior.
    fn weigh_topics(&mut self, topics: &Topics) {
        if let Some(rows) = &mut self.rows {
            let (kernel, expected) = (self.kernel, Expected::new(topics));
            self.gather.rows(rows, |w, row| expected.row(kernel, flat(topics.phi.row(w)), row));
            fades(topics, &mut self.fade);
        }
    }
}

impl Updater for Vb {
    fn begin(&mut self, topics: &mut Topics) -> Result<()> {
        self.gather.begin(topics);
        self.weigh_topics(topics);
        Ok(())
    }

    fn piece(&mut self, topics: &mut Topics, view: PieceView<'_>) -> Result<PieceStats, Fault> {
        let topics = &*topics;
        let (rows, fade) = (self.rows.as_ref(), &self.fade);
        let stop = (self.inner, STILL * f64::from(topics.count));
        self.gather
            .block(topics, view, |job, inverse| {
                let frozen = Frozen::new(topics, inverse);
                let tokens = job.document.tokens();
                let likelihood = job.step.log_likelihood(&frozen, job.document, job.theta, tokens)?;
                let renewed = match rows {
                    Some(rows) => {
                        // What posteriors of topics expect changes much at first; an old theta would hold documents back.
                        job.theta.fill(tokens as f32 / job.theta.len() as f32);
                        frozen.with_rows(rows, fade)
                    }
                    None => frozen,
                };
                job.step.settle(&renewed.weighed(weigh), job.document, job.theta, stop)?;
                Ok(likelihood)
            })
            .map(PieceStats::of)
    }

    fn end(&mut self, topics: &mut Topics) -> Result<()> {
        self.gather.end(topics, self.rows.as_ref(), 0.0);
        Ok(())
    }

    fn save(&self, topics: &Topics, out: &mut SectionWriter) -> Result<()> {
        topics.save(out)?;
        self.gather.save(out)
    }

    fn restore(&mut self, topics: &mut Topics, from: &mut SectionReader) -> Result<()> {
        topics.restore(from)?;
        self.gather.restore(topics, from)?;
        self.weigh_topics(topics);
        Ok(())
    }
}
