//! Non-negative matrix factorization with the Kullback-Leibler divergence (NMF; Lee and Seung
//! 2001): x = p theta, that is `x[w,d]` = sum_k `p[w,k]*theta[d,k]`, with the word factors p and
//! the document factors theta.
//!
//! ```text
//! theta[d,k] *= sum_w p[w,k]*x/(p theta)[w,d] / sum_w p[w,k]          then, with this theta,
//! p[w,k]     *= sum_d theta[d,k]*x/(p theta)[w,d] / sum_d theta[d,k]
//! ```
//! This is TBP's update without alpha and beta, and with different denominators. The algorithm
//! stores `phi[w,k]` = `p[w,k]` * `D[k]` with `D[k]` = sum_d `theta[d,k]`, the numerators, so that
//! phi counts tokens as in all other algorithms. The product does not change when the columns of p
//! are normalized and theta absorbs the factor `g[k]` = `lambda[k]`/`D[k]`, where lambda are the
//! column sums of phi. Then theta counts tokens, too, and a pass is
//! ```text
//! t = theta*g/lambda = theta/D     s = dot(phi[w,:], t)     theta[d,:] = t * sum (x/s)*phi[w,:]
//! t = theta/lambda                 s = dot(phi[w,:], t)     G[w,:] += (x/s)*t
//! at the end of the pass, phi *= G
//! ```
//! sTBP with alpha = beta = 0 has lambda in place of D and computes both lines from the same s.
//! From the same start the first pass gives the same theta; a test compares the two. Zeros would
//! stay zero, so the start is that of the other algorithms with alpha and beta added once, and no
//! value falls below 1e-12. The divergence never increases.
//!
//! Memory: as sTBP. Cost: four multiply-adds per (non-zero, topic). alpha and beta are also used to
//! predict words of new documents, since a word that no topic has would have no probability.

use super::document::{FrozenTopics, mean_weighting};
use super::gather::Accumulator;
use crate::algorithms::piece::{PieceView, StateKind};
use crate::algorithms::{Capabilities, Fault, PieceStats, Setup, Updater};
use crate::error::Result;
use crate::sections::{SectionReader, SectionWriter};
use crate::simd::{Lanes, flat, flat_mut};
use crate::topics::{Topics, stride};

pub(crate) const CAPABILITIES: Capabilities =
    Capabilities { matrices: 2, state: StateKind::Theta, ..Capabilities::PLAIN };

/// Minimum of all values.
const MIN_VALUE: f32 = 1e-12;

#[derive(Debug)]
pub(crate) struct Nmf {
    accumulator: Accumulator,
    /// alpha, for the first pass.
    alpha: Vec<Lanes>,
    /// Sum of alpha.
    alpha_sum: f64,
    /// Number of passes done.
    passes: u32,
    /// Denominators D of the current phi.
    denominators: Vec<f64>,
    /// Inverse of D.
    inverse: Vec<Lanes>,
}

impl Nmf {
    pub(crate) fn new(topics: &mut Topics, setup: &Setup) -> Result<Nmf> {
        let mut accumulator = Accumulator::new(topics, setup)?;
        accumulator.totals = Some(vec![0.0; topics.count as usize]);
        let (beta, count) = (std::mem::take(&mut topics.beta), topics.count as usize);
        for w in 0..topics.words() {
            flat_mut(topics.phi.row_mut(w))[..count].iter_mut().for_each(|phi| *phi += beta);
        }
        topics.sum_lambda();
        let alpha = std::mem::replace(&mut topics.alpha, vec![Lanes::ZERO; stride(topics.count)]);
        let alpha_sum = std::mem::take(&mut topics.alpha_sum);
        let denominators = topics.lambda[..count].to_vec();
        Ok(Nmf { accumulator, alpha, alpha_sum, passes: 0, denominators, inverse: Vec::new() })
    }

    fn update_inverse(&mut self) {
        self.inverse.resize(self.alpha.len(), Lanes::ZERO);
        for (inverse, &d) in flat_mut(&mut self.inverse).iter_mut().zip(&self.denominators) {
            *inverse = if d > 0.0 { (1.0 / d) as f32 } else { 0.0 };
        }
    }
}

/// Returns 1/lambda.
pub(super) fn inverse(topics: &Topics) -> Vec<Lanes> {
    let mut all = vec![Lanes::ZERO; topics.alpha.len()];
    for (to, &lambda) in flat_mut(&mut all).iter_mut().zip(&topics.lambda) {
        *to = if lambda > 0.0 { (1.0 / lambda) as f32 } else { 0.0 };
    }
    all
}

/// Returns the sum of theta after it has absorbed the factors g.
fn rescaled_tokens(theta: &[f32], topics: &Topics, inverse: &[Lanes]) -> f64 {
    let factors = topics.lambda.iter().zip(flat(inverse));
    theta
        .iter()
        .zip(factors)
        .map(|(&v, (&lambda, &inverse))| f64::from(v) * lambda * f64::from(inverse))
        .sum()
}

impl Updater for Nmf {
    fn begin(&mut self, topics: &mut Topics) -> Result<()> {
        self.accumulator.begin(topics);
        self.update_inverse();
        Ok(())
    }

    fn piece(&mut self, topics: &mut Topics, view: PieceView<'_>) -> Result<PieceStats, Fault> {
        let Nmf { accumulator, alpha, alpha_sum, passes, inverse: inverse_d, .. } = self;
        let (topics, first) = (&*topics, *passes == 0);
        accumulator
            .update_piece(topics, view, |task, inverse| {
                let after = FrozenTopics::new(topics, inverse);
                let before = FrozenTopics::new(topics, inverse_d);
                let before = if first { before.with_alpha(alpha, *alpha_sum) } else { before };
                let n = task.document.tokens() as f64;
                let total = if first { n } else { rescaled_tokens(task.theta, topics, inverse_d) };
                let likelihood = task.updater.update_with_likelihood(&before, task.document, task.theta)?;
                task.theta.iter_mut().for_each(|theta| *theta = theta.max(MIN_VALUE));
                task.updater.compute_ratios(&after, task.document, task.theta)?;
                Ok(likelihood - n * libm::log(total / n))
            })
            .map(PieceStats::of)
    }

    fn end(&mut self, topics: &mut Topics) -> Result<()> {
        self.accumulator.end(topics, None, MIN_VALUE);
        self.passes += 1;
        if let Some(totals) = &self.accumulator.totals {
            self.denominators.copy_from_slice(totals);
        }
        Ok(())
    }

    fn log_likelihood(&mut self, topics: &Topics, view: PieceView<'_>) -> Result<f64, Fault> {
        if view.first {
            self.update_inverse();
        }
        let inverse_d = &self.inverse;
        let frozen = FrozenTopics::new(topics, inverse_d).with_weighting(mean_weighting);
        self.accumulator.evaluate_piece(topics, view, |task| {
            let n = task.document.tokens();
            let total = rescaled_tokens(task.theta, topics, inverse_d);
            let likelihood = task.updater.log_likelihood(&frozen, task.document, task.theta, n)?;
            Ok(likelihood - n as f64 * libm::log(total / n as f64))
        })
    }

    fn finish(&mut self) {
        self.accumulator.free_buffers();
    }

    fn save(&self, topics: &Topics, out: &mut SectionWriter) -> Result<()> {
        topics.save(out)?;
        out.numbers(&[self.passes])?;
        out.numbers(&self.denominators)?;
        self.accumulator.save(out)
    }

    fn restore(&mut self, topics: &mut Topics, from: &mut SectionReader) -> Result<()> {
        topics.restore(from)?;
        let mut passes: Vec<u32> = Vec::new();
        from.numbers(1, &mut passes)?;
        self.passes = passes[0];
        from.numbers(self.denominators.len(), &mut self.denominators)?;
        self.accumulator.restore(topics, from)?;
        self.update_inverse();
        Ok(())
    }
}
