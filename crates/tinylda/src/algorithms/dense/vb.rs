//! Variational Bayes (VB), synchronous, as in the paper.
//!
//! ```text
//! eta[k] = (phi[w,k]+beta)/(lambda[k]+W*beta) * exp(psi(theta[d,k]+alpha[k])), normalized over k,
//!     from the phi, theta and lambda of the last pass
//! theta_new[d,:] += x*eta      phi_new[w,:] += x*eta
//! ```
//! This is sTBP with the mean of a document's topic distribution replaced by the exponential of the
//! expected logarithm under a Dirichlet posterior (psi is the digamma function; the omitted term of
//! the sum over topics does not depend on k). `inner` = N updates theta up to N times per pass,
//! until it converges, before the messages of its words are added to phi. `digamma` = both uses
//! `E[w,k]` = exp(psi(`phi[w,k]`+beta)) / exp(psi(`lambda[k]`+W*beta)) in place of
//! (`phi[w,k]`+beta)/(`lambda[k]`+W*beta). This is the VB of Blei et al. and Hoffman et al., in
//! which topics have a posterior, too. It starts like Hoffman's, with nearly uniform topics, and
//! updates every document from a uniform theta until it converges, in every pass.
//!
//! Memory: as sTBP, and E with `digamma` = both. The paper counts K numbers per non-zero for the
//! messages of VB; they need not be stored, because the updates do not exclude them. Cost: that of
//! sTBP, a digamma per (document, topic), and one more multiply-add for the log-likelihood.

use super::document::FrozenTopics;
use super::gather::Accumulator;
use crate::algorithms::piece::PieceView;
use crate::algorithms::{Capabilities, Fault, PieceStats, Setup, Updater};
use crate::error::Result;
use crate::random::{Purpose, Random};
use crate::sections::{SectionReader, SectionWriter};
use crate::settings::Digamma;
use crate::simd::{Kernel, Lanes, digamma_minus_log, exp_digamma_of, flat, flat_mut};
use crate::topics::{Matrix, Topics, stride};

pub(crate) const CAPABILITIES: Capabilities = Capabilities { matrices: 2, ..Capabilities::PLAIN };

/// Default maximum number of updates until a document converges.
pub(super) const MAX_INNER_UPDATES: u32 = 100;

/// theta has converged when an update changes a topic by less than this number of tokens on
/// average.
pub(super) const INNER_TOLERANCE: f64 = 1e-3;

/// Returns the shift of psi for which exp(psi) of the largest number of a row equals that number.
/// Messages do not depend on this factor. Without it rows of small numbers would be all zero.
fn shift(largest: f32) -> f32 {
    if largest > 0.0 { -digamma_minus_log(largest) } else { 0.0 }
}

/// Computes t with the digamma function.
pub(super) fn digamma_weighting(
    kernel: Kernel,
    theta: &[f32],
    alpha: &[Lanes],
    inverse: &[Lanes],
    t: &mut [Lanes],
) {
    let alpha = flat(alpha);
    let largest = theta.iter().zip(alpha).map(|(theta, alpha)| theta + alpha).fold(0.0, f32::max);
    let t = &mut flat_mut(t)[..theta.len()];
    kernel.exp_digamma(theta, alpha, shift(largest), flat(inverse), t);
}

/// Minimum of the numerators of `E[w,:]`, so that products avoid subnormal numbers, which
/// processors handle slowly.
const MIN_NUMERATOR: f32 = 1e-10;

/// Computes exp(psi(phi+beta)) row by row, each with its own factor.
#[derive(Debug)]
pub(super) struct ExpectedRows {
    beta: Vec<f32>,
    ones: Vec<f32>,
}

impl ExpectedRows {
    pub(crate) fn new(topics: &Topics) -> ExpectedRows {
        let count = topics.count as usize;
        ExpectedRows { beta: vec![topics.beta; count], ones: vec![1.0; count] }
    }

    /// Computes the row for a row of phi.
    pub(super) fn row(&self, kernel: Kernel, phi: &[f32], row: &mut [Lanes]) {
        let row = &mut flat_mut(row)[..self.beta.len()];
        let largest = phi.iter().copied().fold(0.0, f32::max) + self.beta[0];
        kernel.exp_digamma(phi, &self.beta, shift(largest), &self.ones, row);
        for v in row {
            *v = v.max(MIN_NUMERATOR);
        }
    }
}

/// Computes exp(-psi(lambda + W*beta)) times the mean of lambda. Messages do not depend on this
/// factor, which keeps products near one.
pub(super) fn fill_inverse_denominators(topics: &Topics, to: &mut Vec<Lanes>) {
    let beta_sum = topics.beta_sum();
    let mean = (topics.lambda.iter().sum::<f64>() / f64::from(topics.count) + beta_sum) as f32;
    to.clear();
    to.resize(stride(topics.count), Lanes::ZERO);
    let count = topics.count as usize;
    for (to, &lambda) in flat_mut(to)[..count].iter_mut().zip(&topics.lambda) {
        *to = mean / exp_digamma_of((lambda + beta_sum) as f32, 0.0);
    }
}

/// Initializes phi with nearly uniform topics: each count is `of(word)` with a standard deviation
/// of 10 percent. If topics have a posterior, random labels would tie rare words to their initial
/// topics, because the digamma function gives little weight to topics that do not have a word yet.
pub(super) fn initialize_nearly_uniform(topics: &mut Topics, setup: &Setup, of: impl Fn(usize) -> f64) {
    let count = topics.count as usize;
    for w in 0..topics.words() {
        let mut random = Random::new(setup.settings.seed_value(), Purpose::InitialPhi, u64::from(w));
        let each = of(w as usize);
        for phi in &mut flat_mut(topics.phi.row_mut(w))[..count] {
            // Twelve uniform numbers from 0 to 1 sum to 6 with a standard deviation of 1.
            let noise = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
            *phi = (each * (1.0 + 0.1 * noise)) as f32;
        }
    }
    topics.sum_lambda();
}

/// Computes exp(psi(phi+beta)) of all words in place of phi, and the matching inverse denominators,
/// for the inference of new documents.
pub(super) fn expected_rows(topics: &Topics, kernel: Kernel) -> Result<(Matrix, Vec<Lanes>)> {
    let mut inverse_denominators = Vec::new();
    fill_inverse_denominators(topics, &mut inverse_denominators);
    let expected = ExpectedRows::new(topics);
    let mut rows = Matrix::zeros(topics.words(), topics.count)?;
    for w in 0..topics.words() {
        expected.row(kernel, flat(topics.phi.row(w)), rows.row_mut(w));
    }
    Ok((rows, inverse_denominators))
}

#[derive(Debug)]
pub(crate) struct Vb {
    accumulator: Accumulator,
    kernel: Kernel,
    inner: u32,
    /// E, if the digamma function is applied to both parameters.
    rows: Option<Matrix>,
    /// Inverse denominators of E.
    inverse_denominators: Vec<Lanes>,
}

impl Vb {
    pub(crate) fn new(topics: &mut Topics, setup: &Setup) -> Result<Vb> {
        let accumulator = Accumulator::new(topics, setup)?;
        let both = setup.settings.digamma_parameters() == Digamma::Both;
        let rows = if both { Some(Matrix::zeros(topics.words(), topics.count)?) } else { None };
        let inner = setup.settings.inner.unwrap_or(if both { MAX_INNER_UPDATES } else { 1 });
        if both && !setup.given_start {
            initialize_nearly_uniform(topics, setup, |_| 1.0);
        }
        Ok(Vb { accumulator, kernel: setup.kernel, inner, rows, inverse_denominators: Vec::new() })
    }
}

impl Vb {
    /// Computes E of all words, if topics have a posterior.
    fn update_expected(&mut self, topics: &Topics) {
        if let Some(rows) = &mut self.rows {
            let (kernel, expected) = (self.kernel, ExpectedRows::new(topics));
            self.accumulator.for_each_row(rows, |w, row| expected.row(kernel, flat(topics.phi.row(w)), row));
            fill_inverse_denominators(topics, &mut self.inverse_denominators);
        }
    }
}

impl Updater for Vb {
    fn begin(&mut self, topics: &mut Topics) -> Result<()> {
        self.accumulator.begin(topics);
        self.update_expected(topics);
        Ok(())
    }

    fn piece(&mut self, topics: &mut Topics, view: PieceView<'_>) -> Result<PieceStats, Fault> {
        let topics = &*topics;
        let (rows, inverse_denominators) = (self.rows.as_ref(), &self.inverse_denominators);
        let stop = (self.inner, INNER_TOLERANCE * f64::from(topics.count));
        self.accumulator
            .update_piece(topics, view, |task, inverse| {
                let frozen = FrozenTopics::new(topics, inverse);
                let tokens = task.document.tokens();
                let likelihood = task.updater.log_likelihood(&frozen, task.document, task.theta, tokens)?;
                let renewed = match rows {
                    Some(rows) => {
                        // E changes much in the first passes, and an old theta would slow the
                        // documents down.
                        task.theta.fill(tokens as f32 / task.theta.len() as f32);
                        frozen.with_rows(rows, inverse_denominators)
                    }
                    None => frozen,
                };
                task.updater.converge(
                    &renewed.with_weighting(digamma_weighting),
                    task.document,
                    task.theta,
                    stop,
                )?;
                Ok(likelihood)
            })
            .map(PieceStats::of)
    }

    fn end(&mut self, topics: &mut Topics) -> Result<()> {
        self.accumulator.end(topics, self.rows.as_ref(), 0.0);
        Ok(())
    }

    fn finish(&mut self) {
        self.accumulator.free_buffers();
    }

    fn save(&self, topics: &Topics, out: &mut SectionWriter) -> Result<()> {
        topics.save(out)?;
        self.accumulator.save(out)
    }

    fn restore(&mut self, topics: &mut Topics, from: &mut SectionReader) -> Result<()> {
        topics.restore(from)?;
        self.accumulator.restore(topics, from)?;
        self.update_expected(topics);
        Ok(())
    }
}
