//! alpha and beta learned on the way, where the user has asked for it.

use super::Training;
use crate::algo::schedule;
use crate::counts::Slot;
use crate::error::Result;
use crate::kernel::flat;
use crate::priors::{self, Documents, Histogram};

impl Training<'_> {
    /// After a pass: learns alpha and beta from what documents and topics have now.
    pub(super) fn learn(&mut self) -> Result<()> {
        let left = self.position.last - self.position.pass;
        let over = self.position.settling && left < schedule::after_learning(self.trainer.passes);
        if !self.trainer.optimize || over || !priors::due(self.position.pass) {
            return Ok(());
        }
        let count = self.trainer.topics as usize;
        let mut documents = Documents::new(self.trainer.topics);
        self.store.for_each(false, |_, document, theta| {
            documents.add(document.tokens(), theta);
            Ok(())
        })?;
        let mut alpha = flat(&self.topics.alpha)[..count].to_vec();
        documents.learn(&mut alpha, self.trainer.alpha_value());
        drop(documents);
        let (mut cells, mut lambda, mut row) = (Histogram::default(), vec![0f64; count], vec![0f32; count]);
        let mut slot = Slot::default();
        for w in 0..self.topics.words() {
            self.sweep.phi(&self.topics, w, &mut slot, &mut row)?;
            for (lambda, &n) in lambda.iter_mut().zip(&row) {
                if n > 0.0 {
                    cells.add(f64::from(n));
                    *lambda += f64::from(n);
                }
            }
        }
        let beta = priors::learn_beta(self.topics.beta, &cells, &lambda, self.topics.words());
        self.topics.set_priors(&alpha, beta);
        self.position.learned = Some((alpha, beta));
        Ok(())
    }

    /// alpha and beta as they are now.
    pub(super) fn priors(&self) -> (Vec<f32>, f32) {
        let given = || (self.trainer.alphas(), self.trainer.beta as f32);
        self.position.learned.clone().unwrap_or_else(given)
    }
}
