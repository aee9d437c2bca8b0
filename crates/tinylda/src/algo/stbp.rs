//! Synchronous tiny belief propagation (sTBP).
//!
//! ```text
//! eta[k] = (phi[w,k]+beta)/(lambda[k]+W*beta) * (theta[d,k]+alpha[k]), normalised over k
//! theta_new[d,:] += x*eta      phi_new[w,:] += x*eta      from the phi, theta, lambda of the last pass
//! ```
//! computed as in `document`: `G[w,:]` gathers r*t, and at the end of the pass phi_new = (phi+beta)*G.
//!
//! Bytes: phi twice (phi and G), theta once (document d reads and writes row d only), no messages.
//! Cost: three multiply-adds per (non-zero, topic). The log-likelihood of the state before the pass is free.

use super::document::{Failed, Frozen};
use super::gather::Gather;
use super::{Facts, Setup, Sweep};
use crate::checkpoint::{In, Out};
use crate::error::Result;
use crate::store::{Keep, Visited};
use crate::topics::Topics;

pub(super) const FACTS: Facts = Facts {
    name: "stbp",
    about: "Synchronous tiny belief propagation (the paper's sTBP)",
    matrices: 2,
    keep: Keep::Theta,
    ..Facts::PLAIN
};

#[derive(Debug)]
pub(super) struct Stbp(Gather);

impl Stbp {
    pub(super) fn new(topics: &Topics, setup: &Setup) -> Result<Stbp> {
        Ok(Stbp(Gather::new(topics, setup)?))
    }
}

impl Sweep for Stbp {
    fn begin(&mut self, topics: &mut Topics) -> Result<()> {
        self.0.begin(topics);
        Ok(())
    }

    fn block(&mut self, topics: &mut Topics, visit: Visited<'_>) -> Result<Option<f64>, (u64, Failed)> {
        let topics = &*topics;
        self.0
            .block(topics, visit, |job, inverse| {
                Ok(job.step.update(&Frozen::new(topics, inverse), job.document, job.theta)?)
            })
            .map(Some)
    }

    fn end(&mut self, topics: &mut Topics) -> Result<()> {
        self.0.end(topics, None, 0.0);
        Ok(())
    }

    fn save(&self, topics: &Topics, out: &mut Out) -> Result<()> {
        topics.save(out)?;
        self.0.save(out)
    }

    fn restore(&mut self, topics: &mut Topics, from: &mut In) -> Result<()> {
        topics.restore(from)?;
        self.0.restore(topics, from)
    }
}
