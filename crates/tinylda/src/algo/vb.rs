//! Variational Bayes (VB), synchronous, as the paper has it.
//!
//! ```text
//! eta[k] = (phi[w,k]+beta)/(lambda[k]+W*beta) * exp(psi(theta[d,k]+alpha[k])), normalised over k
//! theta_new[d,:] += x*eta      phi_new[w,:] += x*eta      from the phi, theta, lambda of the last pass
//! ```
//! sTBP with the mean of a document's topics replaced by what a Dirichlet posterior expects of their logarithm (psi is the
//! digamma function; what it lacks of the sum over topics does not depend on k). `--inner N` renews theta up to N times a pass,
//! until it stands still, before its words' messages go to phi: Blei's VB.
//!
//! Bytes: as sTBP. The paper counts K numbers per non-zero for VB's messages; they need not be stored, since what is renewed does
//! not exclude them. Cost: sTBP's, a digamma per (document, topic), and one multiply-add more for the log-likelihood.

use super::document::{Failed, Frozen};
use super::gather::Gather;
use super::{Facts, Setup, Sweep};
use crate::checkpoint::{In, Out};
use crate::error::Result;
use crate::kernel::{Kernel, Lanes, flat, flat_mut};
use crate::store::Visited;
use crate::topics::Topics;

pub(super) const FACTS: Facts =
    Facts { name: "vb", about: "Variational Bayes", matrices: 2, options: &["--inner"], ..Facts::PLAIN };

/// theta stands still when a topic moves by less than this on average, in tokens.
pub(super) const STILL: f64 = 1e-3;

/// t with the digamma function.
pub(super) fn weigh(kernel: Kernel, theta: &[f32], alpha: &[Lanes], inverse: &[Lanes], t: &mut [Lanes]) {
    kernel.exp_digamma(theta, flat(alpha), flat(inverse), &mut flat_mut(t)[..theta.len()]);
}

#[derive(Debug)]
pub(super) struct Vb {
    gather: Gather,
    inner: u32,
}

impl Vb {
    pub(super) fn new(topics: &Topics, setup: &Setup) -> Result<Vb> {
        let gather = Gather::new(topics, setup)?;
        Ok(Vb { gather, inner: setup.special.inner.unwrap_or(1) })
    }
}

impl Sweep for Vb {
    fn begin(&mut self, topics: &mut Topics) -> Result<()> {
        self.gather.begin(topics);
        Ok(())
    }

    fn block(&mut self, topics: &mut Topics, visit: Visited<'_>) -> Result<Option<f64>, (u64, Failed)> {
        let topics = &*topics;
        let stop = (self.inner, STILL * f64::from(topics.count));
        self.gather
            .block(topics, visit, |job, inverse| {
                let frozen = Frozen::new(topics, inverse);
                let tokens = job.document.tokens();
                let likelihood = job.step.log_likelihood(&frozen, job.document, job.theta, tokens)?;
                job.step.settle(&frozen.weighed(weigh), job.document, job.theta, stop)?;
                Ok(likelihood)
            })
            .map(Some)
    }

    fn end(&mut self, topics: &mut Topics) -> Result<()> {
        self.gather.end(topics, 0.0);
        Ok(())
    }

    fn save(&self, topics: &Topics, out: &mut Out) -> Result<()> {
        topics.save(out)?;
        self.gather.save(out)
    }

    fn restore(&mut self, topics: &mut Topics, from: &mut In) -> Result<()> {
        topics.restore(from)?;
        self.gather.restore(topics, from)
    }
}
