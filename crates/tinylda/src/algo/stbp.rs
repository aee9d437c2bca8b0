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
use crate::checkpoint::{In, Out};
use crate::corpus::Document;
use crate::error::Result;
use crate::kernel::{Kernel, Lanes, flat, flat_mut};
use crate::topics::{Matrix, Topics, heavy_words};

#[derive(Debug)]
pub(crate) struct Stbp {
    step: DocumentStep,
    inverse: Vec<Lanes>,
    gathered: Matrix,
    /// Heavy words, with what was moved out of their rows of G before it grew too large to add to.
    heavy: Vec<(u32, Vec<f64>)>,
    documents: u64,
}

/// Documents after which the heavy words' rows of G are emptied.
const EMPTY_EVERY: u64 = 1 << 12;

impl Stbp {
    pub(crate) fn new(topics: &Topics, word_tokens: &[u64], kernel: Kernel) -> Result<Stbp> {
        let width = topics.lambda.len();
        let heavy = heavy_words(word_tokens).map(|w| (w, vec![0.0; width]));
        Ok(Stbp {
            step: DocumentStep::new(topics.count, kernel),
            inverse: Vec::new(),
            gathered: Matrix::zeros(topics.words(), topics.count)?,
            heavy: heavy.collect(),
            documents: 0,
        })
    }

    pub(crate) fn begin(&mut self, topics: &Topics) {
        topics.inverse(&mut self.inverse);
        self.gathered.clear();
        for (_, sums) in &mut self.heavy {
            sums.fill(0.0);
        }
    }

    fn empty_heavy(&mut self) {
        for (w, sums) in &mut self.heavy {
            let row = self.gathered.row_mut(*w);
            for (sum, &g) in sums.iter_mut().zip(flat(row)) {
                *sum += f64::from(g);
            }
            row.fill(Lanes::ZERO);
        }
    }

    pub(crate) fn document(
        &mut self,
        topics: &Topics,
        document: Document<'_>,
        theta: &mut [f32],
    ) -> Result<f64, NotANumber> {
        self.documents += 1;
        if self.documents.is_multiple_of(EMPTY_EVERY) {
            self.empty_heavy();
        }
        self.step.update(&Frozen::new(topics, &self.inverse), document, theta, Some(&mut self.gathered))
    }

    pub(crate) fn save(&self, out: &mut Out) -> Result<()> {
        out.numbers(&[self.documents])?;
        self.gathered.save(out)?;
        self.heavy.iter().try_for_each(|(_, sums)| out.numbers(sums))
    }

    pub(crate) fn restore(&mut self, topics: &Topics, from: &mut In) -> Result<()> {
        let mut documents = Vec::new();
        from.numbers(1, &mut documents)?;
        self.documents = documents[0];
        self.gathered.restore(from)?;
        for (_, sums) in &mut self.heavy {
            from.numbers(sums.len(), sums)?;
        }
        topics.inverse(&mut self.inverse);
        Ok(())
    }

    pub(crate) fn end(&mut self, topics: &mut Topics) {
        self.empty_heavy();
        for (w, sums) in &self.heavy {
            for (g, &sum) in flat_mut(self.gathered.row_mut(*w)).iter_mut().zip(sums) {
                *g = sum as f32;
            }
        }
        let beta = topics.beta;
        for w in 0..topics.words() {
            for (phi, &g) in flat_mut(topics.phi.row_mut(w)).iter_mut().zip(flat(self.gathered.row(w))) {
                *phi = (*phi + beta) * g;
            }
        }
        topics.sum_lambda();
    }
}
