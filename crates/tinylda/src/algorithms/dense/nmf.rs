//! Non-negative matrix factorisation with the Kullback-Leibler divergence (NMF; Lee and Seung 2001): x = p theta.
//!
//! ```text
//! theta[d,k] *= sum_w p[w,k]*x/(p theta)[w,d] / sum_w p[w,k]          and then, with that theta,
//! p[w,k]     *= sum_d theta[d,k]*x/(p theta)[w,d] / sum_d theta[d,k]
//! ```
//! This is TBP's update without alpha and beta, and with denominators of its own. What is kept is `phi[w,k]` = `p[w,k]` * `D[k]` with
//! `D[k]` = sum_d `theta[d,k]`, the numerators, so that phi counts tokens as it does everywhere else. The product stays the same when
//! columns of p are made to add up to one and theta takes up the factor, `g[k]` = `lambda[k]`/`D[k]`, lambda the column sums of phi;
//! then theta counts tokens, too, and a pass is
//! ```text
//! t = theta*g/lambda = theta/D     s = dot(phi[w,:], t)     theta[d,:] = t * sum (x/s)*phi[w,:]
//! t = theta/lambda                 s = dot(phi[w,:], t)     G[w,:] += (x/s)*t          at the end phi *= G
//! ```
//! sTBP with alpha = beta = 0 has lambda in place of D, and does both lines from one s. From the same start the first pass gives
//! the same theta; a test holds the two against each other. Zeros would stay zeros, so the start is that of the other algorithms
//! with alpha and beta added once, and nothing falls below 1e-12. The divergence never rises.
//!
//! Bytes: as sTBP. Cost: four multiply-adds per (non-zero, topic). alpha and beta are used besides when words of new documents are
//! predicted, where a word that no topic has would have no probability.

use super::document::{Frozen, mean};
use super::gather::Gather;
use crate::algorithms::piece::{PieceView, StateKind};
use crate::algorithms::{Capabilities, Fault, PieceStats, Setup, Updater};
use crate::error::Result;
use crate::sections::{SectionReader, SectionWriter};
use crate::simd::{Lanes, flat, flat_mut};
use crate::topics::{Topics, stride};

pub(crate) const CAPABILITIES: Capabilities =
    Capabilities { matrices: 2, state: StateKind::Theta, ..Capabilities::PLAIN };

/// Nothing becomes less.
const LEAST: f32 = 1e-12;

#[derive(Debug)]
pub(crate) struct Nmf {
    gather: Gather,
    /// alpha of the first pass, and its sum.
    alpha: Vec<Lanes>,
    alpha_sum: f64,
    /// Passes done.
    passes: u32,
    /// D, and its inverse.
    own: Vec<f64>,
    inverse: Vec<Lanes>,
}

impl Nmf {
    pub(crate) fn new(topics: &mut Topics, setup: &Setup) -> Result<Nmf> {
        let mut gather = Gather::new(topics, setup)?;
        gather.totals = Some(vec![0.0; topics.count as usize]);
        let (beta, count) = (std::mem::take(&mut topics.beta), topics.count as usize);
        for w in 0..topics.words() {
            flat_mut(topics.phi.row_mut(w))[..count].iter_mut().for_each(|phi| *phi += beta);
        }
        topics.sum_lambda();
        let alpha = std::mem::replace(&mut topics.alpha, vec![Lanes::ZERO; stride(topics.count)]);
        let alpha_sum = std::mem::take(&mut topics.alpha_sum);
        let own = topics.lambda[..count].to_vec();
        Ok(Nmf { gather, alpha, alpha_sum, passes: 0, own, inverse: Vec::new() })
    }

    fn invert(&mut self) {
        self.inverse.resize(self.alpha.len(), Lanes::ZERO);
        for (inverse, &own) in flat_mut(&mut self.inverse).iter_mut().zip(&self.own) {
            *inverse = if own > 0.0 { (1.0 / own) as f32 } else { 0.0 };
        }
    }
}

/// 1/lambda.
pub(super) fn inverse(topics: &Topics) -> Vec<Lanes> {
    let mut all = vec![Lanes::ZERO; topics.alpha.len()];
    for (to, &lambda) in flat_mut(&mut all).iter_mut().zip(&topics.lambda) {
        *to = if lambda > 0.0 { (1.0 / lambda) as f32 } else { 0.0 };
    }
    all
}

/// What theta adds up to when it has taken up its factors.
fn tokens_of(theta: &[f32], topics: &Topics, inverse: &[Lanes]) -> f64 {
    let factors = topics.lambda.iter().zip(flat(inverse));
    theta
        .iter()
        .zip(factors)
        .map(|(&v, (&lambda, &inverse))| f64::from(v) * lambda * f64::from(inverse))
        .sum()
}

impl Updater for Nmf {
    fn begin(&mut self, topics: &mut Topics) -> Result<()> {
        self.gather.begin(topics);
        self.invert();
        Ok(())
    }

    fn piece(&mut self, topics: &mut Topics, view: PieceView<'_>) -> Result<PieceStats, Fault> {
        let Nmf { gather, alpha, alpha_sum, passes, inverse: own, .. } = self;
        let (topics, first) = (&*topics, *passes == 0);
        gather
            .block(topics, view, |job, inverse| {
                let after = Frozen::new(topics, inverse);
                let before = Frozen::new(topics, own);
                let before = if first { before.with_alpha(alpha, *alpha_sum) } else { before };
                let n = job.document.tokens() as f64;
                let total = if first { n } else { tokens_of(job.theta, topics, own) };
                let likelihood = job.step.update(&before, job.document, job.theta)?;
                job.theta.iter_mut().for_each(|theta| *theta = theta.max(LEAST));
                job.step.meet(&after, job.document, job.theta)?;
                Ok(likelihood - n * libm::log(total / n))
            })
            .map(PieceStats::of)
    }

    fn end(&mut self, topics: &mut Topics) -> Result<()> {
        self.gather.end(topics, None, LEAST);
        self.passes += 1;
        if let Some(totals) = &self.gather.totals {
            self.own.copy_from_slice(totals);
        }
        Ok(())
    }

    fn log_likelihood(&mut self, topics: &Topics, view: PieceView<'_>, total: &mut f64) -> Result<(), Fault> {
        if view.first {
            self.invert();
        }
        let own = &self.inverse;
        let frozen = Frozen::new(topics, own).weighed(mean);
        *total += self.gather.look(topics, view, |job| {
            let n = job.document.tokens();
            let total = tokens_of(job.theta, topics, own);
            let likelihood = job.step.log_likelihood(&frozen, job.document, job.theta, n)?;
            Ok(likelihood - n as f64 * libm::log(total / n as f64))
        })?;
        Ok(())
    }

    fn save(&self, topics: &Topics, out: &mut SectionWriter) -> Result<()> {
        topics.save(out)?;
        out.numbers(&[self.passes])?;
        out.numbers(&self.own)?;
        self.gather.save(out)
    }

    fn restore(&mut self, topics: &mut Topics, from: &mut SectionReader) -> Result<()> {
        topics.restore(from)?;
        let mut passes: Vec<u32> = Vec::new();
        from.numbers(1, &mut passes)?;
        self.passes = passes[0];
        from.numbers(self.own.len(), &mut self.own)?;
        self.gather.restore(topics, from)?;
        self.invert();
        Ok(())
    }
}
