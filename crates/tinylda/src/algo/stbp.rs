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

use super::document::{DocumentStep, Frozen, NotANumber};
use crate::corpus::Document;
use crate::error::Result;
use crate::kernel::{Kernel, Lanes, flat, flat_mut};
use crate::topics::{Matrix, Topics};

#[derive(Debug)]
pub(crate) struct Stbp {
    step: DocumentStep,
    inverse: Vec<Lanes>,
    gathered: Matrix,
}

impl Stbp {
    pub(crate) fn new(topics: &Topics, kernel: Kernel) -> Result<Stbp> {
        Ok(Stbp {
            step: DocumentStep::new(topics.count, kernel),
            inverse: Vec::new(),
            gathered: Matrix::zeros(topics.words(), topics.count)?,
        })
    }

    pub(crate) fn begin(&mut self, topics: &Topics) {
        topics.inverse(&mut self.inverse);
        self.gathered.clear();
    }

    pub(crate) fn document(
        &mut self,
        topics: &Topics,
        document: Document<'_>,
        theta: &mut [f32],
    ) -> Result<f64, NotANumber> {
        self.step.update(&Frozen::new(topics, &self.inverse), document, theta, Some(&mut self.gathered))
    }

    pub(crate) fn end(&mut self, topics: &mut Topics) {
        let beta = topics.beta;
        for w in 0..topics.words() {
            for (phi, &g) in flat_mut(topics.phi.row_mut(w)).iter_mut().zip(flat(self.gathered.row(w))) {
                *phi = (*phi + beta) * g;
            }
        }
        topics.sum_lambda();
    }
}
