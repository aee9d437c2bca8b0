//! Learning alpha and beta during training, if the user asks for it.
//!
//! Decides when to learn and collects the counts; the estimation itself is in `priors`.

use super::position::LearnedPriors;
use super::run::Training;
use crate::error::Result;
use crate::priors::{self, DocumentHistograms, Histogram};
use crate::simd::flat;

impl Training<'_> {
    /// Learns alpha and beta from the documents and topics after a pass, if learning is due.
    pub(super) fn learn_priors(&mut self) -> Result<()> {
        let left = self.position.last - self.position.pass;
        let over = self.position.refining && !self.schedule.learns_with(left);
        if !self.trainer.settings.optimizes() || over || !priors::is_due(self.position.pass) {
            return Ok(());
        }
        let count = self.trainer.settings.topic_count() as usize;
        let mut documents = DocumentHistograms::new(self.trainer.settings.topic_count());
        self.store.for_each(false, |_, document, theta| {
            documents.add(document.tokens(), theta);
            Ok(())
        })?;
        let mut alpha = flat(&self.topics.alpha)[..count].to_vec();
        documents.learn(&mut alpha, self.trainer.settings.alpha_value());
        drop(documents);
        let (mut cells, mut lambda, mut row) = (Histogram::default(), vec![0f64; count], vec![0f32; count]);
        for w in 0..self.topics.words() {
            self.updater.topic_row(&self.topics, w, &mut row)?;
            for (lambda, &n) in lambda.iter_mut().zip(&row) {
                if n > 0.0 {
                    cells.add(f64::from(n));
                    *lambda += f64::from(n);
                }
            }
        }
        let beta = priors::learn_beta(self.topics.beta, &cells, &lambda, self.topics.words());
        self.topics.set_priors(&alpha, beta);
        self.position.learned = Some(LearnedPriors { alpha, beta });
        Ok(())
    }

    /// Returns the current alpha and beta.
    pub(super) fn priors(&self) -> LearnedPriors {
        let given = || LearnedPriors {
            alpha: self.trainer.alphas(),
            beta: self.trainer.settings.beta_value() as f32,
        };
        self.position.learned.clone().unwrap_or_else(given)
    }
}
